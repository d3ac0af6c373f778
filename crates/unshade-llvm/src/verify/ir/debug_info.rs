//! Debug-info nodes of a module: the kinds of their operands, tags, flags and expressions.
//!
//! LLVM drops the debug information of a module in which one of these rules is broken, with a warning.
//!
//! Knowledge: LLVM's source-level debugging documentation; the DWARF 5 standard; what LLVM 14 and 19 drop.

use super::context::Context;
use super::debug_nodes::{ENUMERATION, OPERANDS, Takes, is_definition, is_type};
use super::findings::{Findings, Place};
use super::metadata_view::View;
use crate::body::FunctionBody;
use crate::debug_info::{NodeKind, modern_expression};
use crate::ids::MetadataId;
use crate::metadata::Metadata;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

pub(super) const RULE: &str = "ir-debug-info";

/// DWARF tags that rules name.
mod tag {
    pub(super) const ARRAY: u64 = 0x01;
    pub(super) const CLASS: u64 = 0x02;
    pub(super) const POINTER: u64 = 0x0f;
    pub(super) const REFERENCE: u64 = 0x10;
    pub(super) const STRING: u64 = 0x12;
    pub(super) const STRUCTURE: u64 = 0x13;
    pub(super) const UNION: u64 = 0x17;
    pub(super) const POINTER_TO_MEMBER: u64 = 0x1f;
    pub(super) const SET: u64 = 0x20;
    pub(super) const BASE: u64 = 0x24;
    pub(super) const VARIANT_PART: u64 = 0x33;
    pub(super) const UNSPECIFIED: u64 = 0x3b;
    pub(super) const RVALUE_REFERENCE: u64 = 0x42;
    pub(super) const NAMELIST: u64 = 0x2b;
    /// Derived types: pointer, reference, pointer to member, rvalue reference, and so on.
    pub(super) const DERIVED: [u64; 18] = [
        0x0d, 0x0f, 0x10, 0x16, 0x1c, 0x1f, 0x20, 0x26, 0x2a, 0x2f, 0x30, 0x33, 0x35, 0x37, 0x42, 0x47, 0x4b, 0x34,
    ];
    /// Derived types beyond those of DWARF 5's numbering above: immutable, template alias, dwarf extensions.
    pub(super) const DERIVED_LATER: [u64; 3] = [0x43, 0x4300, 0x46];
}

/// Flags of nodes.
mod flag {
    pub(super) const BLOCK_BY_REFERENCE: u64 = 1 << 4;
    pub(super) const VECTOR: u64 = 1 << 11;
    pub(super) const LVALUE_REFERENCE: u64 = 1 << 13;
    pub(super) const RVALUE_REFERENCE: u64 = 1 << 14;
    pub(super) const BY_VALUE: u64 = 1 << 22;
    pub(super) const BY_REFERENCE: u64 = 1 << 23;
    pub(super) const ALL_CALLS: u64 = 1 << 29;
}

impl Context<'_, '_> {
    /// Checks the debug-info nodes of the module, or of a body.
    pub(super) fn check_debug_info(&self, body: Option<&FunctionBody>, findings: &mut Findings) {
        // Nodes of LLVM 3.8 and earlier have another form, which LLVM upgrades.
        if self.module.metadata.old_strings || (1..8).contains(&self.generation) {
            return;
        }
        let table = body.map_or(&self.module.metadata, |body| &body.metadata);
        let mut known = BTreeMap::new();
        for (id, entry) in table.iter() {
            let Metadata::Node(node) = entry else { continue };
            if matches!(node.kind, NodeKind::Tuple) {
                continue;
            }
            findings.enter(Place::Metadata(id));
            let mut check = NodeCheck { context: self, body, view: View { table, node }, known: &mut known, findings };
            check.operands();
            check.node();
        }
    }
}

/// Checks one node.
struct NodeCheck<'n, 'c, 'm, 'a> {
    context: &'c Context<'m, 'a>,
    body: Option<&'c FunctionBody>,
    view: View<'c>,
    /// Which operands are what positions take, so that a list that many nodes share is checked once.
    known: &'n mut BTreeMap<(MetadataId, Takes), bool>,
    findings: &'n mut Findings,
}

impl NodeCheck<'_, '_, '_, '_> {
    /// Checks that every operand is what its position takes.
    fn operands(&mut self) {
        let kind = self.view.node.kind;
        let rows = OPERANDS.iter().filter(|(of, ..)| *of == kind);
        for &(_, at, takes) in rows {
            if !self.operand_fits(takes, self.view.reference(usize::from(at))) {
                let found = alloc::format!("operand {at}, which takes {takes:?}");
                self.findings.add_found(RULE, "a node has an operand of another kind", found);
            }
        }
        if kind != NodeKind::Location && kind != NodeKind::ArgList {
            let holds = self.view.references().flatten().all(|id| self.context.node_kind(self.body, id) != Some(NodeKind::Location));
            self.findings.require(holds, RULE, "a node holds a location");
        }
    }

    fn operand_fits(&mut self, takes: Takes, operand: Option<MetadataId>) -> bool {
        let Some(id) = operand else { return self.context.operand_fits(self.body, takes, None) };
        let (context, body) = (self.context, self.body);
        *self.known.entry((id, takes)).or_insert_with(|| context.operand_fits(body, takes, operand))
    }

    fn node(&mut self) {
        match self.view.node.kind {
            NodeKind::Location => self.scope_is_definition(0),
            NodeKind::LexicalBlock | NodeKind::LexicalBlockFile => self.scope_is_definition(1),
            NodeKind::Subrange => self.subrange(),
            NodeKind::GenericSubrange => {
                let one = self.view.reference(0).is_none() || self.view.reference(2).is_none();
                self.findings.require(one, RULE, "a subrange has a count and an upper bound");
                let ends = self.view.reference(0).is_some() || self.view.reference(2).is_some();
                let open = self.context.generation >= 15;
                self.findings.require(ends || open, RULE, "a generic subrange has neither count nor upper bound");
                let bounds = self.view.reference(1).is_some() && self.view.reference(3).is_some();
                self.findings.require(bounds, RULE, "a generic subrange has a lower bound and a stride");
            }
            NodeKind::BasicType => {
                let known = matches!(self.view.number(0), tag::BASE | tag::UNSPECIFIED | tag::STRING);
                self.findings.require(known, RULE, "a basic type has another tag");
            }
            NodeKind::StringType => {
                self.findings.require(self.view.number(0) == tag::STRING, RULE, "a string type has another tag");
            }
            NodeKind::DerivedType => self.derived_type(),
            NodeKind::CompositeType => self.composite_type(),
            NodeKind::SubroutineType => reference_flags(self.view.number(0), self.findings),
            NodeKind::File => self.file(),
            NodeKind::CompileUnit => self.unit(),
            NodeKind::Subprogram => self.subprogram(),
            NodeKind::Expression => {
                let elements = modern_expression(self.view.table.numbers(self.view.node));
                self.findings.require(is_expression(&elements), RULE, "an expression is invalid");
            }
            NodeKind::Module => {
                let named = self.view.reference(2).is_some();
                self.findings.require(named, RULE, "a module has no name");
            }
            NodeKind::TemplateValue => {
                let known = matches!(self.view.number(0), 0x30 | 0x4106 | 0x4107);
                self.findings.require(known, RULE, "a template parameter has another tag");
            }
            NodeKind::LocalVariable => {
                let of_function = self.view.reference(3).and_then(|id| self.context.node_kind(self.body, id));
                let holds = of_function != Some(NodeKind::SubroutineType);
                self.findings.require(holds, RULE, "a variable has the type of a function");
            }
            NodeKind::GlobalVariable => {
                let typed = self.view.reference(3).is_some() || self.view.number(2) == 0;
                self.findings.require(typed, RULE, "a defined variable has no type");
            }
            NodeKind::GlobalVariableExpression => self.global_fragment(),
            NodeKind::Macro => {
                let known = matches!(self.view.number(0), 1 | 2);
                self.findings.require(known, RULE, "a macro is neither defined nor undefined");
                self.findings.require(self.view.reference(0).is_some(), RULE, "a macro has no name");
            }
            NodeKind::MacroFile => {
                self.findings.require(self.view.number(0) == 3, RULE, "a file of macros has another type");
            }
            NodeKind::ImportedEntity => {
                let known = matches!(self.view.number(0), 0x08 | 0x3a);
                self.findings.require(known, RULE, "an imported entity has another tag");
            }
            _ => {}
        }
    }

    fn scope_is_definition(&mut self, at: usize) {
        let scope = self.view.reference(at).and_then(|id| self.context.view_of(self.body, id, NodeKind::Subprogram));
        let defines = scope.is_none_or(|scope| is_definition(&scope));
        self.findings.require(defines, RULE, "a scope leads to the declaration of a subprogram");
    }

    fn subrange(&mut self) {
        // Of old forms, count and lower bound are numbers.
        let counts = self.view.number(0) & 1 != 0 || self.view.reference(0).is_some();
        let one = !(counts && self.view.reference(2).is_some());
        self.findings.require(one, RULE, "a subrange has a count and an upper bound");
        let bounded = self.context.generation >= 15 || counts || self.view.reference(2).is_some();
        self.findings.require(bounded, RULE, "a subrange has neither count nor upper bound");
        let count = self.view.reference(0).and_then(|id| self.context.metadata_integer(self.body, id));
        let fits = count.is_none_or(|count| count.cast_signed() >= -1);
        self.findings.require(fits, RULE, "a subrange has a negative count");
    }

    fn derived_type(&mut self) {
        let own = self.view.number(0);
        let known = tag::DERIVED.contains(&own) || tag::DERIVED_LATER.contains(&own);
        self.findings.require(known, RULE, "a derived type has another tag");
        if own == tag::POINTER_TO_MEMBER {
            let class = self.view.reference(4);
            let fits = class.is_none_or(|id| self.context.node_kind(self.body, id).is_some_and(is_type));
            self.findings.require(fits, RULE, "a pointer to members of something that is no type");
        }
        if own == tag::SET
            && let Some(base) = self.view.reference(3).and_then(|id| self.context.view(self.body, id))
        {
            let fits = match base.node.kind {
                NodeKind::CompositeType => base.number(0) == ENUMERATION,
                // Encodings: 2 boolean, 5 to 8 signed and unsigned.
                NodeKind::BasicType => matches!(base.number(3), 2 | 5..=8),
                _ => false,
            };
            self.findings.require(fits, RULE, "a set of something that is neither enumeration nor integer");
        }
        if self.view.number(6) != 0 {
            let fits = matches!(own, tag::POINTER | tag::REFERENCE | tag::RVALUE_REFERENCE);
            self.findings.require(fits, RULE, "an address space of something that is no pointer");
        }
    }

    fn composite_type(&mut self) {
        let own = self.view.number(0);
        let known = matches!(
            own,
            tag::ARRAY | tag::CLASS | ENUMERATION | tag::STRUCTURE | tag::UNION | tag::VARIANT_PART | tag::NAMELIST
        );
        self.findings.require(known, RULE, "a composite type has another tag");
        let flags = self.view.number(5);
        reference_flags(flags, self.findings);
        self.findings.require(flags & flag::BLOCK_BY_REFERENCE == 0, RULE, "a composite type has an obsolete flag");
        let both = flag::BY_VALUE | flag::BY_REFERENCE;
        self.findings.require(flags & both != both, RULE, "a type is passed by value and by reference");
        if flags & flag::VECTOR != 0 {
            let elements = self.view.reference(4).and_then(|id| self.context.view_of(self.body, id, NodeKind::Tuple));
            let members = elements.map(|tuple| tuple.references().take(2).collect::<Vec<_>>()).unwrap_or_default();
            let one = match members.as_slice() {
                &[Some(id)] => self.context.node_kind(self.body, id) == Some(NodeKind::Subrange),
                _ => false,
            };
            self.findings.require(one, RULE, "a vector has not one subrange");
        }
        let array_only = (9..13).any(|at| self.view.reference(at).is_some());
        self.findings.require(!array_only || own == tag::ARRAY, RULE, "a type that is no array has data of an array");
        let varies = self.view.reference(8).is_none() || own == tag::VARIANT_PART;
        self.findings.require(varies, RULE, "a discriminator of something that has no variants");
        if own == tag::ARRAY && self.context.generation >= 15 {
            self.findings.require(self.view.reference(3).is_some(), RULE, "an array has no type of elements");
        }
    }

    fn global_fragment(&mut self) {
        let expression = self.view.reference(1).and_then(|id| self.context.view(self.body, id));
        let elements = expression.map(|view| short_expression(&view)).unwrap_or_default();
        let bits = self.view.reference(0).and_then(|id| self.context.variable_bits(self.body, id));
        let (Some((offset, size)), Some(bits)) = (fragment(&elements), bits) else { return };
        let inside = offset.saturating_add(size) <= bits;
        self.findings.require(inside, RULE, "a fragment is outside of its variable");
        self.findings.require(size != bits, RULE, "a fragment is the whole variable");
    }

    fn file(&mut self) {
        let Some(checksum) = self.view.reference(2).and_then(|id| self.context.metadata_text(self.body, id)) else { return };
        let digits = match self.view.number(0) {
            1 => 32,
            2 => 40,
            3 => 64,
            _ => {
                self.findings.require(self.view.number(0) == 0, RULE, "a checksum of an unknown kind");
                return;
            }
        };
        self.findings.require(checksum.len() == digits, RULE, "a checksum has another length");
        self.findings.require(checksum.iter().all(u8::is_ascii_hexdigit), RULE, "a checksum is no hexadecimal number");
    }

    fn unit(&mut self) {
        self.findings.require(self.view.node.distinct, RULE, "a unit is not distinct");
        self.findings.require(self.view.number(3) <= 3, RULE, "a unit has an unknown kind of emission");
        let file = self.view.reference(0).and_then(|id| self.context.view_of(self.body, id, NodeKind::File));
        let name = file.and_then(|file| file.reference(0)).and_then(|id| self.context.metadata_text(self.body, id));
        let named = file.is_none() || name.is_some_and(|name| !name.is_empty());
        self.findings.require(named, RULE, "a unit has a file without a name");
    }

    fn subprogram(&mut self) {
        let has_line = self.view.number(0) == 0 || self.view.reference(0).is_some();
        self.findings.require(has_line, RULE, "a line without a file");
        let ty = self.view.reference(4).and_then(|id| self.context.node_kind(self.body, id));
        let fits = self.view.reference(4).is_none() || ty == Some(NodeKind::SubroutineType);
        self.findings.require(fits, RULE, "a subprogram has a type that is none of functions");
        reference_flags(self.view.number(4), self.findings);
        let (unit, declaration) = (self.view.reference(5), self.view.reference(6));
        if is_definition(&self.view) {
            self.findings.require(self.view.node.distinct, RULE, "the definition of a subprogram is not distinct");
            self.findings.require(unit.is_some(), RULE, "the definition of a subprogram has no unit");
        } else {
            self.findings.require(unit.is_none(), RULE, "the declaration of a subprogram has a unit");
            let single = declaration.is_none() || self.context.generation < 18;
            self.findings.require(single, RULE, "the declaration of a subprogram has a declaration");
            let describes = self.view.number(4) & flag::ALL_CALLS != 0;
            self.findings.require(!describes, RULE, "the declaration of a subprogram describes its calls");
        }
    }
}

fn reference_flags(flags: u64, findings: &mut Findings) {
    let both = flag::LVALUE_REFERENCE | flag::RVALUE_REFERENCE;
    findings.require(flags & both != both, RULE, "flags of references conflict");
}

/// Operations of expressions that rules name.
mod operation {
    pub(super) const SWAP: u64 = 0x16;
    pub(super) const STACK_VALUE: u64 = 0x9f;
    pub(super) const FRAGMENT: u64 = 0x1000;
    pub(super) const ENTRY_VALUE: u64 = 0x1003;
    pub(super) const ARGUMENT: u64 = 0x1005;
}

/// Returns the number of words of an operation; none if it is not allowed.
fn operation_size(operation: u64) -> Option<usize> {
    Some(match operation {
        0x06 | 0x12..=0x14 | 0x16..=0x1c | 0x1d..=0x22 | 0x24..=0x27 | 0x29..=0x2e | 0x30..=0x6f | 0x96 | 0x97 | 0x9f => 1,
        0x10 | 0x11 | 0x23 | 0x70..=0x8f | 0x90 | 0x94 | 0xa8 | 0xa9 => 2,
        0x92 => 3,
        0x1000 | 0x1001 => 3,
        0x1002 | 0x1003 | 0x1005 => 2,
        0x1004 => 1,
        0x1006 | 0x1007 => 3,
        _ => return None,
    })
}

/// Returns whether the elements of an expression are valid.
pub(super) fn is_expression(elements: &[u64]) -> bool {
    let mut rest = elements;
    let mut is_first = true;
    while let Some(&operation) = rest.first() {
        let Some((words, after)) = operation_size(operation).and_then(|size| rest.split_at_checked(size)) else {
            return false;
        };
        let holds = match operation {
            operation::FRAGMENT => after.is_empty(),
            operation::STACK_VALUE => after.is_empty() || after.first() == Some(&operation::FRAGMENT),
            operation::SWAP => elements.len() > 1,
            operation::ENTRY_VALUE => {
                // It may follow the operation that selects argument 0.
                let follows = is_first || elements.get(..2) == Some(&[operation::ARGUMENT, 0]);
                let at = elements.len().saturating_sub(rest.len());
                follows && at <= 2 && words.get(1) == Some(&1)
            }
            _ => true,
        };
        if !holds {
            return false;
        }
        rest = after;
        is_first = false;
    }
    true
}

/// Returns the elements of an expression that other nodes share; none if it is so long that looking at it for each of
/// them would take too long. No compiler writes such.
pub(super) fn short_expression(view: &View<'_>) -> Vec<u64> {
    const MAX_ELEMENTS: usize = 256;
    let numbers = view.table.numbers(view.node);
    if numbers.len() > MAX_ELEMENTS { Vec::new() } else { modern_expression(numbers) }
}

/// Returns the offset and size in bits of the fragment that an expression describes.
pub(super) fn fragment(elements: &[u64]) -> Option<(u64, u64)> {
    let mut rest = elements;
    while let Some(&operation) = rest.first() {
        let (words, after) = rest.split_at_checked(operation_size(operation)?)?;
        if let &[operation::FRAGMENT, offset, size] = words {
            return Some((offset, size));
        }
        rest = after;
    }
    None
}

/// Returns whether an expression begins with a value at the entry of the function.
pub(super) fn is_entry_value(elements: &[u64]) -> bool {
    elements.contains(&operation::ENTRY_VALUE)
}

impl Context<'_, '_> {
    /// Returns the size of a variable in bits, from its type.
    pub(super) fn variable_bits(&self, body: Option<&FunctionBody>, variable: MetadataId) -> Option<u64> {
        let view = self.view(body, variable)?;
        let mut ty = view.reference(3)?;
        for _ in 0..64 {
            let view = self.view(body, ty)?;
            let size = match view.node.kind {
                NodeKind::BasicType => view.number(1),
                NodeKind::DerivedType | NodeKind::CompositeType => view.number(2),
                _ => return None,
            };
            if size != 0 {
                return Some(size);
            }
            if view.node.kind != NodeKind::DerivedType {
                return None;
            }
            ty = view.reference(3)?;
        }
        None
    }
}
