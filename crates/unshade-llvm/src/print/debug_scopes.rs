//! Checks that debug locations are in the subprogram of their function, and what is attached to variables.
//!
//! Knowledge: the messages of `llvm-dis` 14 and 19 when they drop debug info.

use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::global::Symbol;
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// Reports a function whose locations are not in the subprogram attached to it. LLVM drops the debug info of the
/// whole module in that case.
pub(super) fn check(module: &Module<'_>, body: &FunctionBody, findings: &mut Diagnostics) {
    let Some(function) = module.functions.get(body.function as usize) else { return };
    let Some(kind) = module.metadata_kind(b"dbg") else { return };
    let mut attached = function.symbol.attachments.iter().chain(&body.function_attachments);
    let Some(&(_, own)) = attached.find(|(attached, _)| *attached == kind) else { return };
    let scopes = Scopes { module, body };
    let mut last = MetadataId::NONE;
    let of_instructions = body.locations.iter().map(|location| (location.scope, location.inlined_at));
    for (scope, inlined_at) in of_instructions.chain(scopes.of_loops()) {
        let scope = scopes.outermost(scope, inlined_at);
        if scope == last {
            continue;
        }
        last = scope;
        if scopes.subprogram(scope).is_some_and(|subprogram| subprogram != own) {
            let name = alloc::string::String::from_utf8_lossy(&function.symbol.name).into_owned();
            let message =
                "debug location is in a subprogram other than its function's; LLVM drops all debug info";
            findings.warning(
                "llvm-debug-scope",
                Error::without_offset(ErrorKind::BadValue, message).within(name),
            );
            return;
        }
    }
}

/// Reports a variable whose debug info is no global variable expression. LLVM drops the debug info of the whole module
/// in that case.
pub(super) fn check_variable(module: &Module<'_>, symbol: &Symbol, findings: &mut Diagnostics) {
    if symbol.attachments.is_empty() {
        return;
    }
    let Some(kind) = module.metadata_kind(b"dbg") else { return };
    let is_other = |id: MetadataId| match module.metadata.get(id) {
        Some(Metadata::Node(node)) => node.kind != NodeKind::GlobalVariableExpression,
        _ => true,
    };
    if symbol.attachments.iter().any(|&(attached, id)| attached == kind && is_other(id)) {
        let name = alloc::string::String::from_utf8_lossy(&symbol.name).into_owned();
        let message = "debug info of a variable is no global variable expression; LLVM drops all debug info";
        findings
            .warning("llvm-debug-variable", Error::without_offset(ErrorKind::BadValue, message).within(name));
    }
}

/// Indices of the references of a location node.
const SCOPE: usize = 0;
const INLINED_AT: usize = 1;

/// Finds the subprogram that a location is in.
struct Scopes<'s, 'a> {
    module: &'s Module<'a>,
    body: &'s FunctionBody,
}

impl Scopes<'_, '_> {
    /// Maximum nesting depth of scopes; deeper nesting is a cycle.
    const DEPTH: u32 = 10_000;

    fn node(&self, id: MetadataId) -> Option<(Node, &MetadataTable)> {
        match self.module.metadata(Some(self.body), id)? {
            (Metadata::Node(node), table) => Some((node, table)),
            _ => None,
        }
    }

    fn reference(&self, id: MetadataId, at: usize) -> Option<MetadataId> {
        let (node, table) = self.node(id)?;
        Some(MetadataId(narrow(table.references(node).get(at)?.checked_sub(1)?)))
    }

    /// Returns the scope and inlined-at location of every location in `llvm.loop` metadata.
    fn of_loops(&self) -> impl Iterator<Item = (MetadataId, MetadataId)> {
        let kind = self.module.metadata_kind(b"llvm.loop");
        let attached = self.body.attached.iter().filter(move |(attached, _)| Some(*attached) == kind);
        let tuples = attached.filter_map(|&(_, id)| self.node(id));
        let operands = tuples.flat_map(|(node, table)| table.references(node));
        let locations = operands.filter_map(|reference| Some(MetadataId(narrow(reference.checked_sub(1)?))));
        locations.filter(|&id| self.node(id).is_some_and(|(node, _)| node.kind == NodeKind::Location)).map(
            |id| {
                let inlined_at = self.reference(id, INLINED_AT);
                (
                    self.reference(id, SCOPE).unwrap_or(MetadataId::NONE),
                    inlined_at.unwrap_or(MetadataId::NONE),
                )
            },
        )
    }

    /// Follows inlined-at locations to the scope in the function itself.
    fn outermost(&self, scope: MetadataId, inlined_at: MetadataId) -> MetadataId {
        let (mut scope, mut call) = (scope, Some(inlined_at).filter(|&id| id != MetadataId::NONE));
        for _ in 0..Self::DEPTH {
            let Some(location) = call else { break };
            scope = self.reference(location, SCOPE).unwrap_or(MetadataId::NONE);
            call = self.reference(location, INLINED_AT);
        }
        scope
    }

    fn subprogram(&self, mut scope: MetadataId) -> Option<MetadataId> {
        const PARENT: usize = 1;
        for _ in 0..Self::DEPTH {
            match self.node(scope)?.0.kind {
                NodeKind::Subprogram => return Some(scope),
                NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => {
                    scope = self.reference(scope, PARENT)?;
                }
                _ => return None,
            }
        }
        None
    }
}
