//! What is readable and yet makes no sense: LLVM refuses such files, here they are printed with a finding.
//!
//! Only what costs next to nothing is looked at; this is no verifier.
//!
//! Knowledge: the effect of `llvm-dis` 14 and 19 on the invalid files in LLVM's own tests.

use crate::attributes::Attribute;
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::ids::{AttributeSetId, MetadataId, TypeId, ValueId, narrow};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use crate::types::Type;
use alloc::collections::BTreeMap;
use unshade_core::{Diagnostics, Error, ErrorKind};

/// Alignments are powers of two up to the 32nd; they are stored plus one.
pub(crate) const HIGHEST_ALIGNMENT: u8 = 33;

/// The numbers of orderings that no value can be exchanged with.
const NOT_ATOMIC: u64 = 0;
const UNORDERED: u64 = 1;
const RELEASE: u64 = 4;
const ACQUIRE_RELEASE: u64 = 5;

/// Looks at the tables of a module.
pub(crate) fn module(module: &Module<'_>, findings: &mut Diagnostics) {
    let globals = module.globals.iter().map(|global| &global.symbol);
    for symbol in globals.chain(module.functions.iter().map(|function| &function.symbol)) {
        if symbol.comdat.is_some_and(|comdat| comdat as usize >= module.comdats.len()) {
            tell(findings, "llvm-comdat", "a symbol is of a comdat that does not exist", &symbol.name);
        }
        if symbol.alignment > HIGHEST_ALIGNMENT {
            tell(findings, "llvm-alignment", "alignment of more than 2^32", &symbol.name);
        }
    }
    if let Some(component) = odd_alignment(&module.data_layout_text) {
        tell(findings, "llvm-data-layout", "alignment that is no power of two", component);
    }
    for set in 0..module.attributes.set_count() {
        for attribute in module.attributes.set(AttributeSetId(narrow(set as u64))) {
            let kind = match *attribute {
                Attribute::Flag(kind) | Attribute::Integer(kind, _) | Attribute::Type(kind, _) => kind,
                Attribute::Text { .. } | Attribute::Ranges { .. } => continue,
            };
            if crate::attribute_names::name(kind).is_none() {
                let error = Error::without_offset(ErrorKind::Unsupported, "attribute of an unknown kind");
                findings.error("llvm-attribute", error.found(alloc::format!("{kind}")));
            }
        }
    }
}

/// The first component of a data layout (`i64:32:64`) with an alignment that is no power of two.
fn odd_alignment(layout: &[u8]) -> Option<&[u8]> {
    layout.split(|&c| c == b'-').find(|component| {
        // The alignments follow the width, and for pointers the size; those of functions and the stack have neither.
        let skip = match component.first() {
            Some(b'i' | b'f' | b'v' | b'a') => 1,
            Some(b'p') => 2,
            Some(b'F' | b'S') => 0,
            _ => return false,
        };
        let alignments = component.split(|&c| c == b':').skip(skip).take(2);
        let digits = alignments.filter_map(|part| core::str::from_utf8(part).ok());
        let bits = digits.filter_map(|part| part.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok());
        bits.into_iter().any(|bits: u64| bits != 0 && !bits.is_power_of_two())
    })
}

fn tell(findings: &mut Diagnostics, rule: &'static str, message: &'static str, name: &[u8]) {
    let name = alloc::string::String::from_utf8_lossy(name).into_owned();
    findings.error(rule, Error::without_offset(ErrorKind::OutOfRange, message).within(name));
}

/// Whether constants of a type make sense.
pub(crate) fn has_constants(ty: Type) -> bool {
    !matches!(ty, Type::Void | Type::Label | Type::Function { .. })
}

/// Whether values may be compared and exchanged with these orderings.
pub(crate) fn exchanges(success: u64, failure: u64) -> bool {
    !matches!(success, NOT_ATOMIC | UNORDERED)
        && !matches!(failure, NOT_ATOMIC | UNORDERED | RELEASE | ACQUIRE_RELEASE)
}

/// Looks at a body and at what was said of values in it before they were defined.
pub(crate) fn body(body: &mut FunctionBody, ahead: &BTreeMap<u32, TypeId>) {
    let defined = u64::from(body.value_base).saturating_add(body.values.len() as u64);
    if ahead.keys().next_back().is_some_and(|&id| u64::from(id) >= defined) {
        let error = Error::without_offset(ErrorKind::OutOfRange, "a value is used that nothing defines");
        body.diagnostics.error("llvm-unresolved", error);
    }
    if body.blocks.is_empty() {
        let error = Error::without_offset(ErrorKind::BadValue, "a body without a block");
        body.diagnostics.error("llvm-function", error);
    }
    let wrong = |(&id, &ty): (&u32, &TypeId)| body.value(ValueId(id)).is_some_and(|value| value.ty != ty);
    if let Some((id, _)) = ahead.iter().find(|&entry| wrong(entry)) {
        let message = "a value is defined with another type than it was used with before";
        let error = Error::without_offset(ErrorKind::BadValue, message).found(alloc::format!("value {id}"));
        body.diagnostics.error("llvm-ahead-type", error);
    }
    let wrong = |entry: Metadata| match entry {
        Metadata::Value { value, ty } => body.value(value).is_some_and(|value| value.ty != ty),
        _ => false,
    };
    if body.metadata.iter().any(|(_, entry)| wrong(entry)) {
        let message = "metadata names a value by another type than it has";
        body.diagnostics.error("llvm-ahead-type", Error::without_offset(ErrorKind::BadValue, message));
    }
}

/// Looks at whether the locations of a body are in the subprogram that its function is said to be. Where they are
/// not, LLVM drops the debug info of the whole module.
pub(crate) fn debug_scopes(module: &Module<'_>, body: &FunctionBody, findings: &mut Diagnostics) {
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
            let message = "a location is in another subprogram than its function, for which LLVM drops all debug info";
            findings.warning("llvm-debug-scope", Error::without_offset(ErrorKind::BadValue, message).within(name));
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
                NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => scope = self.reference(scope, PARENT)?,
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{exchanges, odd_alignment};

    #[test]
    fn alignments_of_data_layouts() {
        assert_eq!(odd_alignment(b"e-p:64:64:64-i1:8:32-f64:64-v16:16-a:0:64-n8:16:32-S128"), None);
        assert_eq!(odd_alignment(b"e-Fi64-p270:32:32"), None);
        assert_eq!(odd_alignment(b"e-Fi24"), Some(&b"Fi24"[..]));
        assert_eq!(odd_alignment(b"e-i64:32:48"), Some(&b"i64:32:48"[..]));
    }

    #[test]
    fn orderings_of_exchanges() {
        assert!(exchanges(5, 3) && exchanges(2, 2) && exchanges(6, 6));
        assert!(!exchanges(1, 2) && !exchanges(6, 4) && !exchanges(6, 5) && !exchanges(6, 0));
    }
}
