//! Whether debug locations are where they can be.
//!
//! Knowledge: the effect of `llvm-dis` 14 and 19, which print what they find wrong when they drop debug info.

use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::ids::{MetadataId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// Looks at whether the locations of a body are in the subprogram that its function is said to be. Where they are
/// not, LLVM drops the debug info of the whole module.
pub(super) fn check(module: &Module<'_>, body: &FunctionBody, findings: &mut Diagnostics) {
    let Some(function) = module.functions.get(body.function as usize) else { return };
    let Some((kind, _)) = module.metadata_kinds.iter().find(|(_, name)| name == b"dbg") else { return };
    let mut attached = function.symbol.attachments.iter().chain(&body.function_attachments);
    let Some(&(_, own)) = attached.find(|(attached, _)| attached == kind) else { return };
    let scopes = Scopes { module, body };
    let mut last = MetadataId::NONE;
    for location in &body.locations {
        let scope = scopes.outermost(location.scope, location.inlined_at);
        if scope == last {
            continue;
        }
        last = scope;
        if scopes.subprogram(scope).is_some_and(|subprogram| subprogram != own) {
            let name = alloc::string::String::from_utf8_lossy(&function.symbol.name).into_owned();
            let message =
                "a location is in another subprogram than its function, for which LLVM drops all debug info";
            findings.warning(
                "llvm-debug-scope",
                Error::without_offset(ErrorKind::BadValue, message).within(name),
            );
            return;
        }
    }
}

/// Walks from a location to the subprogram that it is in.
struct Scopes<'s, 'a> {
    module: &'s Module<'a>,
    body: &'s FunctionBody,
}

impl Scopes<'_, '_> {
    /// Scopes nest less deep than this; more is a cycle.
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

    /// The scope of the call that was inlined last, which is the function's own.
    fn outermost(&self, scope: MetadataId, inlined_at: MetadataId) -> MetadataId {
        const SCOPE: usize = 0;
        const INLINED_AT: usize = 1;
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
