//! The text of types, formatted once, and the order of the struct definitions at the head of a module.
//!
//! LLVM lists identified structs in the order in which it visits them: globals, aliases, functions with their
//! instructions, named metadata; nested types depth first. Unnamed structs are numbered in that order.

use super::constants::folded;
use super::text::{push_escaped, push_name, push_number};
use crate::attributes::Attribute;
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::debug_info::NodeKind;
use crate::global::Function;
use crate::ids::{AttributeListId, MetadataId, Slice, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::metadata::{Metadata, MetadataTable, Node};
use crate::module::Module;
use crate::types::{StructType, Type, TypeTable};
use crate::value::OperandKind;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Maximum size of the text of a type: nested types can double the text at each level.
const MAX_TEXT: usize = 1 << 24;
/// Maximum size of the text of all types and of all bodies of structs: a base, and a number for each entry of the table.
const MAX_ALL_TEXT: usize = 1 << 25;
const MAX_TEXT_PER_ENTRY: usize = 1 << 10;
/// Maximum nesting depth of types.
const MAX_DEPTH: u32 = 64;
/// The text of a type that can't be written.
const UNKNOWN: &str = "<unknown type>";

/// Returns the text of one type, for a message.
pub(crate) fn type_text(types: &TypeTable, id: TypeId) -> String {
    String::from(TypeTexts::new(types, &[], false).get(id))
}

/// The texts of all types of a module, and of the bodies of structs.
pub(super) struct TypeTexts {
    pool: String,
    /// The text of each type, followed by a space, in the pool; empty if it is not formatted yet.
    texts: Vec<Slice>,
    opaque_pointers: bool,
    /// The size of the pool from which on texts are cut.
    limit: usize,
    /// Whether a limit cut a text.
    pub(super) is_cut: bool,
}

/// Returns the range of a text without the space after it.
fn unspaced(text: Slice) -> Range<usize> {
    Slice { count: text.count.wrapping_sub(1), ..text }.range()
}

impl TypeTexts {
    /// Formats all types. If some structs are unnamed, `order` has the identified structs in the order of
    /// [`StructFinder`].
    pub(super) fn new(types: &TypeTable, order: &[TypeId], opaque_pointers: bool) -> Self {
        let mut numbers = Vec::new();
        let mut next = 0u64;
        for &id in order {
            if let Type::Struct(StructType { name: None, literal: false, .. }) = types.get(id) {
                numbers.resize(types.len(), None);
                if let Some(slot) = numbers.get_mut(id.index()) {
                    *slot = Some(next);
                    next += 1;
                }
            }
        }
        let texts = vec![Slice::default(); types.len()];
        let limit = MAX_ALL_TEXT.saturating_add(types.entries().saturating_mul(MAX_TEXT_PER_ENTRY));
        let pool = String::with_capacity(types.len() * 16);
        let mut texts = Self { pool, texts, opaque_pointers, limit, is_cut: false };
        let writer = TypeWriter { types, numbers: &numbers, opaque_pointers };
        for at in 0..types.len() {
            texts.write(&writer, TypeId(narrow(at as u64)), 0);
        }
        texts
    }

    /// Returns the text of a type.
    #[inline]
    pub(super) fn get(&self, id: TypeId) -> &str {
        let text = self.texts.get(id.index()).and_then(|text| self.pool.get(unspaced(*text)));
        text.unwrap_or(UNKNOWN)
    }

    /// Returns the text of a type followed by a space.
    #[inline]
    pub(super) fn spaced(&self, id: TypeId) -> &str {
        self.texts.get(id.index()).and_then(|text| self.pool.get(text.range())).unwrap_or("<unknown type> ")
    }

    /// Returns the text of the body of a struct that [`TypeTexts::structs`] returned.
    pub(super) fn body(&self, body: Slice) -> &str {
        self.pool.get(body.range()).unwrap_or(UNKNOWN)
    }

    /// Returns the identified structs of `order` and their bodies, unnamed structs first. All types are formatted
    /// by then, so the numbers of unnamed structs are not needed.
    pub(super) fn structs(&mut self, types: &TypeTable, order: &[TypeId]) -> Vec<(TypeId, Slice)> {
        let writer = TypeWriter { types, numbers: &[], opaque_pointers: self.opaque_pointers };
        let mut list = Vec::new();
        for named in [false, true] {
            for &id in order {
                let Type::Struct(structure) = types.get(id) else { continue };
                if structure.literal || structure.name.is_some() != named {
                    continue;
                }
                let start = self.pool.len();
                if start > self.limit {
                    self.cut(start);
                } else {
                    self.write_body(&writer, structure, start);
                }
                list.push((id, self.since(start)));
            }
        }
        list
    }

    /// Formats a type and those that it has, unless it is already formatted.
    fn write(&mut self, writer: &TypeWriter<'_>, id: TypeId, depth: u32) {
        match self.texts.get(id.index()) {
            Some(text) if text.is_empty() => {}
            _ => return,
        }
        let is_limited = depth > MAX_DEPTH || self.pool.len() > self.limit;
        if !is_limited {
            let (part, list) = writer.parts(id);
            for &part in part.iter().chain(list) {
                self.write(writer, part, depth + 1);
            }
        }
        let start = self.pool.len();
        if is_limited {
            self.cut(start);
        } else {
            self.write_type(writer, id, start);
        }
        if self.pool.len() - start > MAX_TEXT {
            self.cut(start);
        }
        self.pool.push(' ');
        let text = self.since(start);
        if let Some(slot) = self.texts.get_mut(id.index()) {
            *slot = text;
        }
    }

    /// Appends the text of a type.
    fn push(&mut self, id: TypeId) {
        match self.texts.get(id.index()) {
            Some(text) if !text.is_empty() => self.pool.extend_from_within(unspaced(*text)),
            _ => self.pool.push_str(UNKNOWN),
        }
    }

    /// Appends the texts of types, as long as what starts at `start` is not too long.
    fn push_list(&mut self, ids: &[TypeId], start: usize) {
        for (at, &id) in ids.iter().enumerate() {
            if at > 0 {
                self.pool.push_str(", ");
            }
            self.push(id);
            if self.pool.len() - start > MAX_TEXT {
                self.is_cut = true;
                return;
            }
        }
    }

    /// Returns the part of the pool from `start` on.
    fn since(&self, start: usize) -> Slice {
        Slice { start: narrow(start as u64), count: narrow((self.pool.len() - start) as u64) }
    }

    /// Replaces what starts at `start`, a text that is too long or nests too deep.
    fn cut(&mut self, start: usize) {
        self.pool.truncate(start);
        self.pool.push_str(UNKNOWN);
        self.is_cut = true;
    }

    /// Appends the text of a type whose parts are formatted. It starts at `start`.
    fn write_type(&mut self, writer: &TypeWriter<'_>, id: TypeId, start: usize) {
        match writer.types.get(id) {
            Type::Integer(width) => {
                self.pool.push('i');
                push_number(&mut self.pool, u64::from(width));
            }
            Type::Pointer { address_space, .. } | Type::OpaquePointer { address_space }
                if writer.opaque_pointers || matches!(writer.types.get(id), Type::OpaquePointer { .. }) =>
            {
                self.pool.push_str("ptr");
                if address_space != 0 {
                    push_address_space(&mut self.pool, address_space);
                }
            }
            Type::Pointer { pointee, address_space } => {
                self.push(pointee);
                if address_space != 0 {
                    push_address_space(&mut self.pool, address_space);
                }
                self.pool.push('*');
            }
            Type::Function { result, parameters, variadic } => {
                self.push(result);
                self.pool.push_str(" (");
                self.push_list(writer.types.elements(parameters), start);
                if variadic {
                    self.pool.push_str(if parameters.is_empty() { "..." } else { ", ..." });
                }
                self.pool.push(')');
            }
            Type::Struct(structure) => self.write_struct(writer, id, structure, start),
            Type::Array { count, element } => {
                self.pool.push('[');
                push_number(&mut self.pool, count);
                self.pool.push_str(" x ");
                self.push(element);
                self.pool.push(']');
            }
            Type::Vector { count, element, scalable } => {
                self.pool.push_str(if scalable { "<vscale x " } else { "<" });
                push_number(&mut self.pool, u64::from(count));
                self.pool.push_str(" x ");
                self.push(element);
                self.pool.push('>');
            }
            Type::Target { name, types, numbers } => {
                self.pool.push_str("target(\"");
                push_escaped(&mut self.pool, writer.types.name(name));
                self.pool.push('"');
                for &id in writer.types.elements(types) {
                    self.pool.push_str(", ");
                    self.push(id);
                }
                for &number in writer.types.numbers(numbers) {
                    self.pool.push_str(", ");
                    push_number(&mut self.pool, u64::from(number));
                }
                self.pool.push(')');
            }
            simple => self.pool.push_str(simple_name(simple)),
        }
    }

    fn write_struct(&mut self, writer: &TypeWriter<'_>, id: TypeId, structure: StructType, start: usize) {
        if structure.literal {
            return self.write_body(writer, structure, start);
        }
        self.pool.push('%');
        if let Some(name) = structure.name {
            push_name(&mut self.pool, writer.types.name(name));
            return;
        }
        match writer.numbers.get(id.index()).copied().flatten() {
            Some(number) => push_number(&mut self.pool, number),
            None => {
                // LLVM writes an address here; the type id is just as unique and is reproducible.
                self.pool.push_str("\"type ");
                push_number(&mut self.pool, u64::from(id.0));
                self.pool.push('"');
            }
        }
    }

    fn write_body(&mut self, writer: &TypeWriter<'_>, structure: StructType, start: usize) {
        if structure.opaque {
            self.pool.push_str("opaque");
            return;
        }
        if structure.packed {
            self.pool.push('<');
        }
        if structure.fields.is_empty() {
            self.pool.push_str("{}");
        } else {
            self.pool.push_str("{ ");
            self.push_list(writer.types.elements(structure.fields), start);
            self.pool.push_str(" }");
        }
        if structure.packed {
            self.pool.push('>');
        }
    }
}

struct TypeWriter<'t> {
    types: &'t TypeTable,
    numbers: &'t [Option<u64>],
    opaque_pointers: bool,
}

impl<'t> TypeWriter<'t> {
    /// Returns the types whose texts are parts of the text of a type.
    fn parts(&self, id: TypeId) -> (Option<TypeId>, &'t [TypeId]) {
        match self.types.get(id) {
            Type::Pointer { pointee, .. } if !self.opaque_pointers => (Some(pointee), &[]),
            Type::Function { result, parameters, .. } => (Some(result), self.types.elements(parameters)),
            Type::Struct(StructType { literal: true, fields, .. }) => (None, self.types.elements(fields)),
            Type::Array { element, .. } | Type::Vector { element, .. } => (Some(element), &[]),
            Type::Target { types, .. } => (None, self.types.elements(types)),
            _ => (None, &[]),
        }
    }
}

fn push_address_space(text: &mut String, address_space: u32) {
    text.push_str(" addrspace(");
    push_number(text, u64::from(address_space));
    text.push(')');
}

fn simple_name(ty: Type) -> &'static str {
    match ty {
        Type::Void => "void",
        Type::Half => "half",
        Type::BFloat => "bfloat",
        Type::Float => "float",
        Type::Double => "double",
        Type::X86Fp80 => "x86_fp80",
        Type::Fp128 => "fp128",
        Type::PpcFp128 => "ppc_fp128",
        Type::Label => "label",
        Type::Metadata => "metadata",
        Type::X86Mmx => "x86_mmx",
        Type::X86Amx => "x86_amx",
        Type::Token => "token",
        _ => UNKNOWN,
    }
}

/// Finds the identified structs of a module in the order in which LLVM lists them.
///
/// Functions are visited one by one, right after they are read, while they are in the CPU's cache.
pub(super) struct StructFinder<'m, 'a> {
    module: &'m Module<'a>,
    opaque_pointers: bool,
    /// Whether metadata operands are visited in LLVM 3.7's order.
    old_operands: bool,
    /// The number of identified structs not visited yet; at zero the search is complete.
    missing: usize,
    types: Vec<bool>,
    values: Vec<bool>,
    local_values: Vec<bool>,
    /// The marks of values that an upgrade added to the module.
    added_values: Vec<bool>,
    nodes: Vec<bool>,
    local_nodes: Vec<bool>,
    order: Vec<TypeId>,
}

/// Marks an entry and returns whether it was marked before; entries out of range count as marked.
fn mark(marks: &mut [bool], at: usize) -> bool {
    marks.get_mut(at).is_none_or(|mark| core::mem::replace(mark, true))
}

impl<'m, 'a> StructFinder<'m, 'a> {
    /// Visits global variables and aliases.
    pub(super) fn new(module: &'m Module<'a>, opaque_pointers: bool, old_operands: bool) -> Self {
        let identified = (0..module.types.len())
            .filter(
                |&at| matches!(module.types.get(TypeId(narrow(at as u64))), Type::Struct(s) if !s.literal),
            )
            .count();
        let mut finder = Self {
            module,
            opaque_pointers,
            old_operands,
            missing: identified,
            types: vec![false; module.types.len()],
            values: vec![false; module.values.len()],
            local_values: Vec::new(),
            added_values: vec![false; module.upgrade_values.len()],
            nodes: vec![false; module.metadata.len()],
            local_nodes: Vec::new(),
            order: Vec::new(),
        };
        for global in &module.globals {
            finder.visit_type(global.symbol.ty);
            if let Some(value) = global.initializer {
                finder.visit_value(None, value);
            }
        }
        for alias in &module.aliases {
            finder.visit_type(alias.symbol.ty);
            if !alias.indirect {
                finder.visit_value(None, alias.target);
            }
        }
        finder
    }

    /// Returns whether all identified structs have been visited.
    pub(super) fn is_done(&self) -> bool {
        self.missing == 0
    }

    /// Returns whether there are unnamed structs, which are numbered in this order.
    pub(super) fn needs_numbers(&self) -> bool {
        let unnamed = |at: usize| matches!(self.module.types.get(TypeId(narrow(at as u64))), Type::Struct(s) if !s.literal && s.name.is_none());
        (0..self.module.types.len()).any(unnamed)
    }

    /// Visits a function, without its body.
    pub(super) fn visit_function(&mut self, function: &Function) {
        if self.missing == 0 {
            return;
        }
        self.visit_type(function.symbol.ty);
        self.visit_attributes(function.attributes, function.symbol.ty);
        for value in [function.personality, function.prefix, function.prologue].into_iter().flatten() {
            self.visit_value(None, value);
        }
    }

    /// Visits named metadata, and returns the structs in order.
    pub(super) fn finish(mut self) -> Vec<TypeId> {
        for named in &self.module.named_metadata {
            for &node in &named.nodes {
                if self.missing > 0 {
                    self.visit_node(None, node);
                }
            }
        }
        self.order
    }

    /// Visits the body of the function visited last.
    pub(super) fn visit_body(&mut self, body: &FunctionBody) {
        if self.missing == 0 {
            return;
        }
        self.local_values.clear();
        self.local_values.resize(body.values.len(), false);
        self.local_nodes.clear();
        self.local_nodes.resize(body.metadata.len(), false);
        let mut attachments = body.attachments.iter().peekable();
        for (at, instruction) in (0u32..).zip(&body.instructions) {
            self.visit_instruction(body, instruction);
            while let Some((_, list)) = attachments.next_if(|(of, _)| *of == at) {
                for &(_, node) in list.of(&body.attached) {
                    self.visit_node(Some(body), node);
                }
            }
            if self.missing == 0 {
                return;
            }
        }
    }

    #[inline]
    fn visit_instruction(&mut self, body: &FunctionBody, instruction: &Instruction) {
        self.visit_type(instruction.ty);
        for operand in body.operands_of(instruction) {
            match operand.kind() {
                // Most operands are results of instructions, which are visited where they are defined.
                OperandKind::Value(id) if body.is_result(id) => {}
                OperandKind::Value(id) => self.visit_value(Some(body), id),
                OperandKind::Metadata(id) => match self.module.metadata(Some(body), id) {
                    Some((Metadata::Value { value, .. }, _)) => self.visit_value(Some(body), value),
                    _ => self.visit_node(Some(body), id),
                },
                OperandKind::Block(_) => {}
            }
        }
        match instruction.opcode {
            Opcode::GetElementPtr | Opcode::Alloca => self.visit_type(TypeId(instruction.detail)),
            Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
                if let Some(call) = body.calls.get(instruction.detail as usize) {
                    self.visit_attributes(call.attributes, call.function_type);
                }
            }
            _ => {}
        }
    }

    fn visit_attributes(&mut self, list: AttributeListId, function: TypeId) {
        let module = self.module;
        for &(index, set) in module.attributes.list(list) {
            for attribute in module.attributes.set(set) {
                match *attribute {
                    Attribute::Type(_, Some(ty)) => self.visit_type(ty),
                    // In old files the type is the pointee of the parameter.
                    Attribute::Type(_, None) if self.opaque_pointers => {
                        let Type::Function { parameters, .. } = module.types.get(function) else { continue };
                        let parameter = index.checked_sub(1).map(|at| at as usize);
                        let ty = parameter.and_then(|at| module.types.elements(parameters).get(at));
                        if let Some(pointee) = ty.and_then(|&ty| module.types.pointee(ty)) {
                            self.visit_type(pointee);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    #[inline]
    fn visit_type(&mut self, id: TypeId) {
        if !mark(&mut self.types, id.index()) {
            self.visit_new_type(id);
        }
    }

    fn visit_new_type(&mut self, id: TypeId) {
        let types = &self.module.types;
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let mut parts: &[TypeId] = &[];
            let mut single = None;
            match types.get(id) {
                Type::Struct(structure) => {
                    if !structure.literal {
                        self.missing -= 1;
                    }
                    self.order.push(id);
                    parts = types.elements(structure.fields);
                }
                Type::Function { result, parameters, .. } => {
                    parts = types.elements(parameters);
                    single = Some(result);
                }
                Type::Pointer { pointee, .. } if !self.opaque_pointers => single = Some(pointee),
                Type::Array { element, .. } | Type::Vector { element, .. } => single = Some(element),
                Type::Target { types: parameters, .. } => parts = types.elements(parameters),
                _ => {}
            }
            for &part in parts.iter().rev().chain(single.iter()) {
                if !mark(&mut self.types, part.index()) {
                    pending.push(part);
                }
            }
        }
    }

    /// Visits a constant and its operands; other values are visited where they are defined.
    #[inline]
    fn visit_value(&mut self, body: Option<&FunctionBody>, id: ValueId) {
        if !self.mark_value(id) {
            self.visit_new_value(body, id);
        }
    }

    /// Marks a value and returns whether it was marked before.
    #[inline]
    fn mark_value(&mut self, id: ValueId) -> bool {
        let added = id.0.checked_sub(Module::UPGRADE_BASE).map(|at| at as usize);
        if let Some(added) = added.filter(|&at| at < self.added_values.len()) {
            return mark(&mut self.added_values, added);
        }
        match id.index().checked_sub(self.values.len()) {
            None => mark(&mut self.values, id.index()),
            Some(local) => mark(&mut self.local_values, local),
        }
    }

    fn visit_new_value(&mut self, body: Option<&FunctionBody>, id: ValueId) {
        let mut pending = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            // What folds away has no types.
            let folded = if self.opaque_pointers { folded(self.module, body, id) } else { id };
            if folded == id || !self.mark_value(folded) {
                self.visit_constant(body, folded, &mut pending);
            }
            next = loop {
                match pending.pop() {
                    Some(id) if self.mark_value(id) => {}
                    other => break other,
                }
            };
        }
    }

    fn visit_constant(&mut self, body: Option<&FunctionBody>, id: ValueId, pending: &mut Vec<ValueId>) {
        if let Some((constant, constants)) = self.module.constant(body, id) {
            if let Some(value) = self.module.value(body, id) {
                self.visit_type(value.ty);
            }
            match constant {
                Constant::Aggregate(slice) => pending.extend(constants.values(slice).iter().rev()),
                Constant::Expression(index) => {
                    if let Some(expression) = constants.expression(index) {
                        if expression.opcode == Opcode::GetElementPtr {
                            self.visit_type(expression.ty);
                        }
                        pending.extend(constants.values(expression.operands).iter().rev());
                    }
                }
                _ => {}
            }
        }
    }

    #[inline]
    fn visit_node(&mut self, body: Option<&FunctionBody>, id: MetadataId) {
        if !self.mark_node(id) {
            self.visit_new_node(body, id);
        }
    }

    /// Marks a node and returns whether it was marked before.
    #[inline]
    fn mark_node(&mut self, id: MetadataId) -> bool {
        match id.index().checked_sub(self.nodes.len()) {
            None => mark(&mut self.nodes, id.index()),
            Some(local) => mark(&mut self.local_nodes, local),
        }
    }

    fn visit_new_node<'b>(&mut self, body: Option<&'b FunctionBody>, id: MetadataId)
    where
        'm: 'b,
    {
        // A stack of nodes with their next operand, which gives the order of a recursion.
        let mut stack: Vec<(Node, &'b MetadataTable, usize)> = Vec::new();
        self.enter_node(body, id, &mut stack);
        while let Some((node, table, next)) = stack.last_mut() {
            let Some(reference) = table.operand(*node, *next, self.old_operands) else {
                stack.pop();
                continue;
            };
            *next += 1;
            let Some(reference) = reference.checked_sub(1) else { continue };
            let id = MetadataId(narrow(reference));
            match self.module.metadata(body, id) {
                Some((Metadata::Value { value, .. }, _)) => self.visit_value(body, value),
                Some((Metadata::Node(_), _)) if !self.mark_node(id) => {
                    self.enter_node(body, id, &mut stack);
                }
                _ => {}
            }
        }
    }

    fn enter_node<'b>(
        &self,
        body: Option<&'b FunctionBody>,
        id: MetadataId,
        stack: &mut Vec<(Node, &'b MetadataTable, usize)>,
    ) where
        'm: 'b,
    {
        if let Some((Metadata::Node(node), table)) = self.module.metadata(body, id)
            && node.kind != NodeKind::Expression
        {
            stack.push((node, table, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_double_are_cut() {
        let mut types = TypeTable::default();
        let mut last = types.intern(Type::Integer(32));
        for _ in 0..60 {
            last = types.intern_struct(&[last, last], false);
        }
        let texts = TypeTexts::new(&types, &[], false);
        assert!(texts.is_cut);
        assert!(texts.pool.len() < 3 * MAX_ALL_TEXT, "{}", texts.pool.len());
        assert_eq!(texts.get(TypeId(1)), "{ i32, i32 }");
        assert_eq!(texts.get(last), UNKNOWN);
    }
}
