//! Debug information of a function: its subprogram, the locations of its instructions, and what describes variables.
//!
//! Variables are described by calls of `llvm.dbg.value` and the like, or by the records that LLVM 19 writes in their
//! place; the rules are the same.
//!
//! Knowledge: LLVM's source-level debugging documentation; what LLVM 14 and 19 drop.

use super::attribute_kinds::kind;
use super::body::BodyCheck;
use super::calls::CallParts;
use super::context::Context;
use super::debug_info::{RULE, fragment, is_entry_value, short_expression};
use super::findings::Place;
use super::scopes::Scopes;
use crate::body::{DebugRecord, Location};
use crate::debug_info::NodeKind;
use crate::global::Linkage;
use crate::ids::{MetadataId, ValueId, narrow};
use crate::instruction::Instruction;
use crate::metadata::Metadata;
use crate::value::{OperandKind, ValueKind};
use alloc::collections::BTreeMap;

/// Codes of debug records.
mod code {
    pub(super) const DECLARE: u32 = 62;
    pub(super) const ASSIGN: u32 = 63;
    pub(super) const VALUE_SIMPLE: u32 = 64;
    pub(super) const LABEL: u32 = 65;
}

/// What is known of the debug information of the function being checked.
#[derive(Debug, Default)]
pub(super) struct DebugState {
    /// The subprogram of the function.
    pub(super) subprogram: Option<MetadataId>,
    pub(super) scopes: Scopes,
    /// The scope of the last location, which most following ones share.
    last: Option<(MetadataId, MetadataId)>,
    /// The variable of each argument and inlined-at location.
    arguments: BTreeMap<(u64, MetadataId), MetadataId>,
}

/// A description of a variable: by a call or a record.
struct Description {
    /// What holds the value; an empty tuple or nothing for none.
    value: Option<MetadataId>,
    variable: Option<MetadataId>,
    expression: Option<MetadataId>,
    location: Option<Location>,
    is_declare: bool,
}

impl Context<'_, '_> {
    /// Returns the subprogram among the attachments of a function.
    pub(super) fn subprogram_among(&self, attachments: &[(u32, MetadataId)]) -> Option<MetadataId> {
        let kind = self.module.metadata_kind(b"dbg")?;
        attachments.iter().find(|(attached, _)| *attached == kind).map(|&(_, id)| id)
    }
}

impl BodyCheck<'_, '_, '_> {
    /// Checks the attachments of the function and finds its subprogram.
    pub(super) fn function_metadata(&mut self) {
        self.findings.enter(Place::Function(self.body.function as usize));
        self.function_attachments();
        self.context.check_debug_info(Some(self.body), self.findings);
        if !self.context.has_debug_info {
            return;
        }
        self.debug.subprogram = self.context.subprogram_among(&self.body.function_attachments);
    }

    /// Checks the location of an instruction.
    pub(super) fn locations(&mut self, of: &Instruction) {
        if of.location == 0 || self.debug.subprogram.is_none() {
            return;
        }
        let location = self.body.locations.get((of.location as usize).saturating_sub(1)).copied();
        let Some(location) = location else { return };
        if self.debug.last == Some((location.scope, location.inlined_at)) {
            return;
        }
        self.debug.last = Some((location.scope, location.inlined_at));
        self.check_location(&location);
    }

    /// Checks that a location is in the subprogram of the function.
    pub(super) fn check_location(&mut self, location: &Location) {
        let (context, body) = (self.context, self.body);
        let outermost = if location.inlined_at.is_some() {
            self.debug.scopes.outermost(context, body, location.inlined_at)
        } else {
            Some(location.scope)
        };
        let own = self.debug.scopes.subprogram(context, body, location.scope);
        self.require(own.is_some(), RULE, "the scope of a location is no subprogram or block");
        let subprogram = outermost.and_then(|scope| self.debug.scopes.subprogram(context, body, scope));
        let same = subprogram.is_none() || subprogram == self.debug.subprogram;
        self.require(same, RULE, "a location is in another subprogram than its function");
    }

    /// Checks a location that is a node.
    pub(super) fn check_location_node(&mut self, id: MetadataId) {
        let Some(location) = self.location_node(id) else { return };
        if self.debug.subprogram.is_some() {
            self.check_location(&location);
        }
    }

    fn location_node(&self, id: MetadataId) -> Option<Location> {
        let view = self.context.view(Some(self.body), id).filter(|view| view.node.kind == NodeKind::Location)?;
        Some(Location {
            line: narrow(view.number(0)),
            column: narrow(view.number(1)),
            scope: view.reference(0).unwrap_or(MetadataId::NONE),
            inlined_at: view.reference(1).unwrap_or(MetadataId::NONE),
            implicit: view.number(2) != 0,
            atom_group: view.number(3),
            atom_rank: view.number(4).to_le_bytes()[0],
        })
    }

    /// Checks calls of debug intrinsics.
    pub(super) fn debug_call(&mut self, name: &str, of: &Instruction, parts: &CallParts<'_>) {
        if !self.context.has_debug_info {
            return;
        }
        let metadata = |at: usize| match parts.arguments.get(at).map(|argument| argument.kind()) {
            Some(OperandKind::Metadata(id)) => Some(id),
            _ => None,
        };
        let location = self.body.locations.get((of.location as usize).wrapping_sub(1)).copied();
        if name == "dbg.label" {
            self.label(metadata(0), location);
            return;
        }
        // Before LLVM 6, `llvm.dbg.value` had an offset; before LLVM 3.5 there was no expression.
        let shift = usize::from(parts.arguments.len() == 4 && name == "dbg.value");
        if parts.arguments.len() < 3 {
            return;
        }
        let description = Description {
            value: metadata(0),
            variable: metadata(1_usize.saturating_add(shift)),
            expression: metadata(2_usize.saturating_add(shift)),
            location,
            is_declare: name == "dbg.declare",
        };
        self.describe(&description);
        if name == "dbg.assign" {
            self.assignment(metadata(3), metadata(4), metadata(5));
        }
    }

    /// Checks the debug records of the body.
    pub(super) fn debug_records(&mut self) {
        if !self.context.has_debug_info {
            return;
        }
        for record in &self.body.debug_records {
            self.enter(record.before);
            self.debug_record(record);
        }
    }

    fn debug_record(&mut self, record: &DebugRecord) {
        let operand = |at: usize| record.operands.get(at).map(|&id| MetadataId(narrow(id)));
        let location = operand(0).and_then(|id| self.location_node(id));
        self.require(location.is_some(), RULE, "a debug record has no location");
        if record.code == code::LABEL {
            self.label(operand(1), location);
            return;
        }
        let simple = record.code == code::VALUE_SIMPLE;
        let description = Description {
            value: if simple { None } else { operand(3) },
            variable: operand(1),
            expression: operand(2),
            location,
            is_declare: record.code == code::DECLARE,
        };
        if simple {
            let id = operand(3).map_or(ValueId::NONE, |id| ValueId(id.0));
            let exists = self.context.value(Some(self.body), id).is_some();
            self.require(exists, RULE, "a debug record describes a value that does not exist");
        }
        self.describe_parts(&description, simple);
        if record.code == code::ASSIGN {
            self.assignment(operand(4), operand(6), operand(5));
        }
    }

    fn describe(&mut self, of: &Description) {
        self.describe_parts(of, false);
        self.require(of.location.is_some(), RULE, "the description of a variable has no location");
    }

    fn describe_parts(&mut self, of: &Description, has_value: bool) {
        let context = self.context;
        let body = Some(self.body);
        let fits = has_value || of.value.is_some_and(|id| match context.metadata_entry(body, id) {
            Some((Metadata::Value { .. }, _)) => true,
            Some((Metadata::Node(node), _)) => {
                node.kind == NodeKind::ArgList && !of.is_declare
                    || (node.kind == NodeKind::Tuple && node.references == 0)
            }
            _ => false,
        });
        self.require(fits, RULE, "the description of a variable has no value or address");
        let variable = of.variable.filter(|&id| context.node_kind(body, id) == Some(NodeKind::LocalVariable));
        self.require(variable.is_some(), RULE, "the description of a variable has no variable");
        let expression = of.expression.and_then(|id| context.view(body, id));
        let expression = expression.filter(|view| view.node.kind == NodeKind::Expression);
        self.require(expression.is_some(), RULE, "the description of a variable has no expression");
        if let (Some(variable), Some(expression)) = (variable, expression) {
            let elements = short_expression(&expression);
            self.entry_value(of, &elements);
            self.fragment(variable, &elements);
            self.variable_scope(variable, of.location.as_ref());
            self.argument_variable(variable, of.location.as_ref(), &elements);
        }
    }

    fn entry_value(&mut self, of: &Description, elements: &[u64]) {
        if !is_entry_value(elements) || self.context.generation < 14 {
            return;
        }
        let value = of.value.and_then(|id| self.context.metadata_value(Some(self.body), id));
        let argument = value.and_then(|id| match self.body.value(id)?.kind {
            ValueKind::Argument(at) => Some(at as usize),
            _ => None,
        });
        let function = self.context.module.functions.get(self.body.function as usize);
        let is_async = argument.zip(function).is_some_and(|(at, function)| {
            self.context.parameter_has(function.attributes, at, kind::SWIFT_ASYNC)
        });
        self.require(is_async, RULE, "an entry value of something that is no swiftasync parameter");
    }

    fn fragment(&mut self, variable: MetadataId, elements: &[u64]) {
        let (Some((offset, size)), Some(bits)) = (fragment(elements), self.context.variable_bits(Some(self.body), variable)) else {
            return;
        };
        let inside = offset.saturating_add(size) <= bits;
        self.require(inside, RULE, "a fragment is outside of its variable");
        self.require(size != bits, RULE, "a fragment is the whole variable");
    }

    /// Checks that a variable and the location of its description are in one subprogram.
    fn variable_scope(&mut self, variable: MetadataId, location: Option<&Location>) {
        let (context, body) = (self.context, self.body);
        let scope = context.view(Some(body), variable).and_then(|view| view.reference(0));
        let (Some(scope), Some(location)) = (scope, location) else { return };
        let of_variable = self.debug.scopes.subprogram(context, body, scope);
        let of_location = self.debug.scopes.subprogram(context, body, location.scope);
        let same = of_variable == of_location || of_variable.is_none() || of_location.is_none();
        self.require(same, RULE, "a variable and the location of its description are in different subprograms");
    }

    /// Checks that no two variables are the same argument of one function.
    fn argument_variable(&mut self, variable: MetadataId, location: Option<&Location>, elements: &[u64]) {
        let Some(view) = self.context.view(Some(self.body), variable) else { return };
        let (number, Some(location)) = (view.number(1), location) else { return };
        // Inlined code is not checked, and neither is a fragment.
        if number == 0 || location.inlined_at.is_some() || self.debug.subprogram.is_none() || !elements.is_empty() {
            return;
        }
        let first = *self.debug.arguments.entry((number, location.inlined_at)).or_insert(variable);
        self.require(first == variable, RULE, "two variables are the same argument");
    }

    fn label(&mut self, label: Option<MetadataId>, location: Option<Location>) {
        let (context, body) = (self.context, self.body);
        let view = label.and_then(|id| context.view(Some(body), id)).filter(|view| view.node.kind == NodeKind::Label);
        self.require(view.is_some(), RULE, "the description of a label has no label");
        self.require(location.is_some(), RULE, "the description of a label has no location");
        let (Some(scope), Some(location)) = (view.and_then(|view| view.reference(0)), location) else { return };
        let of_label = self.debug.scopes.subprogram(context, body, scope);
        let of_location = self.debug.scopes.subprogram(context, body, location.scope);
        self.require(of_label == of_location, RULE, "a label and its location are in different subprograms");
    }

    fn assignment(&mut self, id: Option<MetadataId>, address: Option<MetadataId>, expression: Option<MetadataId>) {
        let (context, body) = (self.context, Some(self.body));
        let kind = |id: Option<MetadataId>| id.and_then(|id| context.node_kind(body, id));
        self.require(kind(id) == Some(NodeKind::AssignId), RULE, "an assignment has no id");
        let is_value = address.is_some_and(|id| match context.metadata_entry(body, id) {
            Some((Metadata::Value { .. }, _)) => true,
            Some((Metadata::Node(node), _)) => node.kind == NodeKind::Tuple && node.references == 0,
            _ => false,
        });
        let has_expression = kind(expression) == Some(NodeKind::Expression);
        // The order of the last two differs between calls and records.
        let swapped = kind(address) == Some(NodeKind::Expression);
        self.require(is_value || swapped, RULE, "an assignment has no address");
        self.require(has_expression || swapped, RULE, "an assignment has no expression for its address");
    }

    /// Remembers a call whose callee may be inlined and that has no location.
    pub(super) fn unlocated_call(&mut self, of: &Instruction, parts: &CallParts<'_>) {
        if of.location != 0 || self.debug.subprogram.is_none() {
            return;
        }
        let Some(function) = parts.function else { return };
        let direct = matches!(self.context.value(None, parts.callee).map(|value| value.kind), Some(ValueKind::Function(_)));
        let Some(callee) = self.context.module.functions.get(function).filter(|_| direct) else { return };
        // LLVM 15 and later don't require it of functions that another module may define differently.
        let odr = matches!(callee.symbol.linkage, Linkage::LinkOnceOdr | Linkage::WeakOdr);
        let replaced = super::globals::is_interposable(callee.symbol.linkage) || (odr && self.context.generation >= 15);
        if !callee.declaration && !replaced {
            self.unlocated.push((self.body.function, self.index, narrow(function as u64)));
        }
    }

    /// Checks attachments of the function: its subprogram and its profile.
    fn function_attachments(&mut self) {
        let context = self.context;
        let attachments = &self.body.function_attachments;
        let count = |name: &[u8]| {
            let kind = context.module.metadata_kind(name);
            attachments.iter().filter(|(attached, _)| Some(*attached) == kind).count()
        };
        let (subprograms, profiles) = (count(b"dbg"), count(b"prof"));
        self.require(profiles <= 1, "ir-metadata", "a function has several profiles");
        self.require(count(b"kcfi_type") <= 1, "ir-metadata", "a function has several types for control-flow checks");
        if let Some(kind) = context.module.metadata_kind(b"kcfi_type") {
            for &(_, id) in attachments.iter().filter(|(attached, _)| *attached == kind) {
                context.type_check(Some(self.body), id, self.findings);
            }
        }
        self.function_profile();
        if !context.has_debug_info {
            return;
        }
        self.require(subprograms <= 1, RULE, "a function has several subprograms");
        let Some(id) = context.subprogram_among(attachments) else { return };
        let view = context.view_of(Some(self.body), id, NodeKind::Subprogram);
        self.require(view.is_some(), RULE, "the debug information of a function is no subprogram");
        if let Some(view) = view {
            let distinct = view.node.distinct || context.module.metadata.old_strings;
            self.require(distinct, RULE, "the subprogram of a definition is not distinct");
        }
    }
}
