//! Metadata that is attached to functions and global variables.
//!
//! Knowledge: the Language Reference on metadata of globals; what LLVM 14 and 19 refuse.

use super::attachments::RULE;
use super::context::Context;
use super::debug_info;
use super::findings::{Findings, Place};
use super::metadata_view::View;
use crate::body::FunctionBody;
use crate::debug_info::NodeKind;
use crate::global::Symbol;
use crate::ids::MetadataId;
use crate::metadata::Metadata;

/// The numbers of the kinds that rules name, in this file.
struct Kinds {
    debug: Option<u32>,
    profile: Option<u32>,
    absolute: Option<u32>,
    associated: Option<u32>,
    type_check: Option<u32>,
}

impl Context<'_, '_> {
    fn symbol_kinds(&self) -> Kinds {
        Kinds {
            debug: self.module.metadata_kind(b"dbg"),
            profile: self.module.metadata_kind(b"prof"),
            absolute: self.module.metadata_kind(b"absolute_symbol"),
            associated: self.module.metadata_kind(b"associated"),
            type_check: self.module.metadata_kind(b"kcfi_type"),
        }
    }

    /// Checks metadata that is attached to declarations and global variables.
    pub(super) fn check_symbol_metadata(&self, findings: &mut Findings) {
        let kinds = self.symbol_kinds();
        for (index, global) in self.module.globals.iter().enumerate() {
            findings.enter(Place::Global(index));
            for &(kind, id) in &global.symbol.attachments {
                if Some(kind) == kinds.debug && self.generation >= 5 {
                    let fits = self.node_kind(None, id) == Some(NodeKind::GlobalVariableExpression);
                    findings.require(fits, debug_info::RULE, "the debug information of a variable is another node");
                }
                self.symbol_attachment(&kinds, &global.symbol, kind, id, findings);
            }
        }
        for (index, function) in self.module.functions.iter().enumerate() {
            findings.enter(Place::Function(index));
            for &(kind, id) in &function.symbol.attachments {
                self.declaration_attachment(&kinds, kind, id, findings);
                self.symbol_attachment(&kinds, &function.symbol, kind, id, findings);
            }
            let is_debug = |(kind, _): &&(u32, MetadataId)| Some(*kind) == kinds.debug;
            let count = function.symbol.attachments.iter().filter(is_debug).count();
            findings.require(count <= 1, debug_info::RULE, "a function has several subprograms");
        }
    }

    fn declaration_attachment(&self, kinds: &Kinds, kind: u32, id: MetadataId, findings: &mut Findings) {
        if Some(kind) == kinds.profile {
            findings.require(false, RULE, "a declaration has a profile");
        }
        if Some(kind) == kinds.debug && self.has_debug_info {
            let view = self.view_of(None, id, NodeKind::Subprogram);
            findings.require(view.is_some(), debug_info::RULE, "the debug information of a function is no subprogram");
            let unique = view.is_none_or(|view| !view.node.distinct);
            findings.require(unique, debug_info::RULE, "the subprogram of a declaration is distinct");
        }
    }

    fn symbol_attachment(&self, kinds: &Kinds, symbol: &Symbol, kind: u32, id: MetadataId, findings: &mut Findings) {
        if Some(kind) == kinds.absolute {
            let fits = self.view(None, id).is_some_and(|view| self.is_address_range(&view, symbol));
            findings.require(fits, RULE, "the range of an absolute symbol is no pair of addresses");
        } else if Some(kind) == kinds.associated {
            self.associated(symbol, id, findings);
        } else if Some(kind) == kinds.type_check {
            self.type_check(None, id, findings);
        }
    }

    /// Returns whether a node is pairs of integers as wide as the address of a symbol.
    fn is_address_range(&self, view: &View<'_>, symbol: &Symbol) -> bool {
        let bits = self.module.data_layout.pointer_bits(symbol.address_space);
        let count = view.node.references;
        let are_addresses = view.references().all(|bound| {
            let value = bound.and_then(|id| self.metadata_value(None, id));
            value.is_some_and(|value| {
                let ty = self.type_of(None, value);
                self.is_immediate(None, value) && self.is_integer(ty) && self.bits(ty) == bits
            })
        });
        count >= 2 && count.is_multiple_of(2) && are_addresses
    }

    fn associated(&self, symbol: &Symbol, id: MetadataId, findings: &mut Findings) {
        let view = self.view(None, id).filter(|view| view.node.references == 1);
        let value = view.and_then(|view| view.reference(0)).and_then(|id| self.metadata_value(None, id));
        let target = value.map(|value| self.stripped(None, value));
        let is_pointer = value.is_some_and(|value| self.is_pointer(self.type_of(None, value)));
        findings.require(is_pointer, RULE, "what a symbol is associated with is no pointer");
        findings.require(target != Some(symbol.value), RULE, "a symbol is associated with itself");
    }

    /// Checks the type of a function for checks of control flow: one `i32`.
    pub(super) fn type_check(&self, body: Option<&FunctionBody>, id: MetadataId, findings: &mut Findings) {
        let view = self.view(body, id).filter(|view| view.node.references == 1);
        let value = view.and_then(|view| view.reference(0)).and_then(|id| self.metadata_value(body, id));
        let fits = value.is_some_and(|value| {
            self.is_immediate(body, value) && self.is_integer_of(self.type_of(body, value), 32)
        });
        findings.require(fits, RULE, "the type of a function for control-flow checks is not one i32");
    }

    /// Checks that metadata wraps values that exist.
    pub(super) fn check_metadata_values(&self, findings: &mut Findings) {
        for (id, entry) in self.module.metadata.iter() {
            if let Metadata::Value { value, .. } = entry
                && self.value(None, value).is_none()
            {
                findings.enter(Place::Metadata(id));
                findings.require(false, RULE, "metadata wraps a value that the module does not have");
            }
        }
    }
}
