//! Prints constants and operands.

use super::text::{push_escaped_as, push_signed, push_wide};
use super::{Bodies, Dialect, Entity, LONG_TYPE, Printer, links, symbols};
use crate::body::FunctionBody;
use crate::constants::{Constant, Constants, Expression};
use crate::ids::{BlockId, Slice, TypeId, ValueId};
use crate::instruction::{Opcode, predicate};
use crate::module::Module;
use crate::types::Type;
use crate::value::{Value, ValueKind};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::token::Token;
use unshade_core::{TokenKind, TokenSink};

/// Maximum number of elements of nested constants that are printed: a base, and a number for each element that the
/// module stores. Nested constants in hostile files can double the text at each level.
const BASE_ELEMENTS: u64 = 1 << 19;
const PRINTED_PER_STORED: u64 = 64;

/// Maximum number of casts and element pointers around each other that are folded; a cycle of them has no end.
const MAX_FOLDED: usize = 1 << 10;

/// The limits of the constants being written.
#[derive(Default)]
pub(super) struct ConstantNesting {
    /// The constants with operands that are being written.
    open: BTreeSet<ValueId>,
    /// The number of elements that may still be written.
    left: u64,
}

impl ConstantNesting {
    /// Creates the limits for the constants of a module.
    pub(super) fn new(constants: &Constants) -> Self {
        let mut nesting = Self { open: BTreeSet::new(), left: BASE_ELEMENTS };
        nesting.allow(constants);
        nesting
    }

    /// Raises the limits for the constants of a function.
    pub(super) fn allow(&mut self, constants: &Constants) {
        self.left = self.left.saturating_add(constants.stored_elements().saturating_mul(PRINTED_PER_STORED));
    }
}

/// A constant whose operands are being written.
struct OpenConstant<'c> {
    id: ValueId,
    operands: &'c [ValueId],
    /// The number of operands that were written.
    written: usize,
    /// The operand before which `inrange` is written.
    in_range: Option<usize>,
    end: End<'c>,
}

/// The operands of a constant, the one before which `inrange` is written, and what follows them.
type Opened<'c> = (&'c [ValueId], Option<usize>, End<'c>);

/// What follows the operands of a constant.
enum End<'c> {
    /// The bracket of an aggregate.
    Bracket(&'static str),
    /// The rest of an expression, which has a type.
    Expression(&'c Expression, TypeId, Option<ValueId>),
}

/// Fast-math flags with their bits, in the order in which they are written.
pub(crate) const FAST_MATH: [(u32, &str); 7] = [
    (1 << 7, " reassoc"),
    (1 << 1, " nnan"),
    (1 << 2, " ninf"),
    (1 << 3, " nsz"),
    (1 << 4, " arcp"),
    (1 << 5, " contract"),
    (1 << 6, " afn"),
];
const ALL_FAST_MATH: u32 = 0b1111_1110;

/// Removes casts between pointers and element pointers with zero indices, which LLVM folds once pointers are opaque.
pub(super) fn folded(module: &Module<'_>, body: Option<&FunctionBody>, mut id: ValueId) -> ValueId {
    let types = &module.types;
    for _ in 0..MAX_FOLDED {
        let Some((Constant::Expression(index), constants)) = module.constant(body, id) else { break };
        let Some(expression) = constants.expression(index) else { break };
        let Some((&first, indices)) = constants.values(expression.operands).split_first() else { break };
        let from = module.value(body, first).map_or(TypeId::NONE, |value| value.ty);
        let pointer = types.is_pointer(from);
        let folds = match expression.opcode {
            Opcode::BitCast => pointer,
            Opcode::GetElementPtr => {
                pointer
                    && expression.bounds.is_empty()
                    && indices.iter().all(|&index| is_zero(module, body, index))
            }
            _ => false,
        };
        if !folds {
            break;
        }
        id = first;
    }
    id
}

fn is_zero(module: &Module<'_>, body: Option<&FunctionBody>, id: ValueId) -> bool {
    match module.constant(body, id) {
        Some((Constant::Null | Constant::Integer(0), _)) => true,
        Some((Constant::Float(bits), _)) => bits == 0,
        _ => false,
    }
}

impl<'m, S: TokenSink> Printer<'m, '_, '_, S> {
    /// Writes a value without its type.
    #[inline]
    pub(super) fn value(&mut self, body: Option<&FunctionBody>, id: ValueId) {
        if let Some((cached, text)) = self.locals.get(id).or_else(|| self.symbols.get(id))
            && !text.is_empty()
        {
            let link = links::of_value(cached, self.locals.function, id);
            return self.sink.token(Token { kind: cached.kind, text, link });
        }
        self.slow_value(body, id);
    }

    #[cold]
    fn slow_value(&mut self, body: Option<&FunctionBody>, id: ValueId) {
        self.nested_value(body, id);
    }

    /// Writes the type of a value.
    #[inline]
    pub(super) fn type_of(&mut self, body: Option<&FunctionBody>, id: ValueId) {
        let ty = self.module.value(body, id).map_or(TypeId::NONE, |value| value.ty);
        self.ty(ty);
    }

    /// Writes a value with its type.
    #[inline]
    pub(super) fn typed_value(&mut self, body: Option<&FunctionBody>, id: ValueId) {
        if let Some((cached, text)) = self.locals.get(id).or_else(|| self.symbols.get(id))
            && !text.is_empty()
        {
            let of_type = self.types.spaced(cached.ty);
            if of_type.len() <= LONG_TYPE {
                let ty = Entity::Type(cached.ty).reference();
                self.sink.token(Token { kind: TokenKind::Type, text: of_type, link: ty });
                let link = links::of_value(cached, self.locals.function, id);
                return self.sink.token(Token { kind: cached.kind, text, link });
            }
        }
        self.type_of(body, id);
        self.punctuation(" ");
        self.value(body, id);
    }

    fn nested_value(&mut self, body: Option<&FunctionBody>, id: ValueId) {
        let module = self.module;
        let id = if self.rules.opaque_pointers { self.folded(body, id) } else { id };
        let Some(value) = module.value(body, id) else { return self.out(TokenKind::Text, "<badref>") };
        if !matches!(value.kind, ValueKind::Constant(_)) {
            let cached = self.locals.get(id).or_else(|| self.symbols.get(id));
            let Some((cached, text)) = cached.filter(|(_, text)| !text.is_empty()) else {
                return self.out(TokenKind::Text, "<badref>");
            };
            let link = links::of_value(cached, self.locals.function, id);
            return self.sink.token(Token { kind: cached.kind, text, link });
        }
        self.nested_constant(body, id);
    }

    /// Writes a constant. Those with operands are on a list, because they may nest deep.
    fn nested_constant<'c>(&mut self, body: Option<&'c FunctionBody>, id: ValueId)
    where
        'm: 'c,
    {
        let mut open = Vec::new();
        self.begin_constant(body, id, &mut open);
        while let Some(constant) = open.last_mut() {
            let at = constant.written;
            let Some(&operand) = constant.operands.get(at).filter(|_| self.nesting.left > 0) else {
                if let Some(constant) = open.pop() {
                    if at < constant.operands.len() {
                        self.unprintable("<too many constants>", "constants are longer than the file allows");
                    }
                    self.nesting.open.remove(&constant.id);
                    self.end_constant(body, &constant.end);
                }
                continue;
            };
            constant.written += 1;
            if at > 0 {
                self.punctuation(", ");
            }
            if constant.in_range == Some(at) {
                self.keyword("inrange ");
            }
            self.type_of(body, operand);
            self.punctuation(" ");
            let folded = if self.rules.opaque_pointers { self.folded(body, operand) } else { operand };
            match self.module.value(body, folded).map(|value| value.kind) {
                Some(ValueKind::Constant(_)) => self.begin_constant(body, folded, &mut open),
                _ => self.nested_value(body, folded),
            }
        }
    }

    /// Writes a constant, or its beginning if it has operands.
    fn begin_constant<'c>(
        &mut self,
        body: Option<&'c FunctionBody>,
        id: ValueId,
        open: &mut Vec<OpenConstant<'c>>,
    ) where
        'm: 'c,
    {
        let module: &'c Module<'_> = self.module;
        let (Some(value), Some((constant, constants))) = (module.value(body, id), module.constant(body, id))
        else {
            return;
        };
        if self.nesting.left == 0 {
            return self.unprintable("<too many constants>", "constants are longer than the file allows");
        }
        self.nesting.left -= 1;
        if let Some(element) = self.splat_element(body, value.ty, constant, constants) {
            return self.splat(body, element, constants);
        }
        let opened = match constant {
            Constant::Aggregate(elements) => self.begin_aggregate(body, value, constants.values(elements)),
            Constant::Expression(index) => {
                constants.expression(index).map(|one| self.begin_expression(body, value.ty, one, constants))
            }
            _ => return self.constant(body, value, constant, constants),
        };
        let Some((operands, in_range, end)) = opened else { return };
        if !self.nesting.open.insert(id) {
            self.unprintable("<constant within itself>", "a constant contains itself");
            return self.end_constant(body, &end);
        }
        open.push(OpenConstant { id, operands, written: 0, in_range, end });
    }

    /// Writes what follows the operands of a constant.
    fn end_constant(&mut self, body: Option<&FunctionBody>, end: &End<'_>) {
        match *end {
            End::Bracket(text) => self.punctuation(text),
            End::Expression(expression, ty, mask) => {
                if expression.opcode.is_cast() {
                    self.keyword(" to ");
                    self.ty(ty);
                }
                if let Some(mask) = mask {
                    self.shuffle_mask(body, mask);
                }
                self.punctuation(")");
            }
        }
    }

    /// Returns the constant, with its type, that all elements of a vector are, if LLVM writes the vector as `splat`:
    /// a number other than zero.
    fn splat_element(
        &self,
        body: Option<&FunctionBody>,
        ty: TypeId,
        constant: Constant,
        constants: &Constants,
    ) -> Option<(TypeId, Constant)> {
        let Type::Vector { element, .. } = self.module.types.get(ty) else { return None };
        let stored = matches!(constant, Constant::Integer(_) | Constant::Float(_));
        if self.rules.dialect != Dialect::Llvm22 && !stored {
            return None;
        }
        let found = match constant {
            // Since LLVM 20 a vector may be stored as one element.
            _ if stored => constant,
            Constant::Data(words) => {
                let (&first, rest) = constants.words(words).split_first()?;
                if rest.iter().any(|&word| word != first) {
                    return None;
                }
                match self.module.types.is_float(element) {
                    true => Constant::Float(first),
                    false => Constant::Integer(first),
                }
            }
            Constant::Aggregate(values) => self.repeated(body, constants.values(values))?,
            Constant::Expression(index) => {
                let expression = constants.expression(index)?;
                self.scalable_splat(body, expression, constants)?
            }
            _ => return None,
        };
        let is_number = matches!(
            found,
            Constant::Integer(_) | Constant::Float(_) | Constant::WideInteger(_) | Constant::WideFloat(_)
        );
        let is_zero = match found {
            Constant::Integer(number) | Constant::Float(number) => number == 0,
            Constant::WideInteger(words) | Constant::WideFloat(words) => {
                constants.words(words).iter().all(|&word| word == 0)
            }
            _ => true,
        };
        (is_number && (stored || !is_zero)).then_some((element, found))
    }

    /// Returns the constant that all values are.
    fn repeated(&self, body: Option<&FunctionBody>, values: &[ValueId]) -> Option<Constant> {
        let (&first, rest) = values.split_first()?;
        let (constant, _) = self.module.constant(body, first)?;
        let same = |&id: &ValueId| {
            id == first || self.module.constant(body, id).is_some_and(|(other, _)| other == constant)
        };
        rest.iter().all(same).then_some(constant)
    }

    /// Returns the number that a shuffle of the first element of a vector repeats, the only form that a constant
    /// scalable vector has.
    fn scalable_splat(
        &self,
        body: Option<&FunctionBody>,
        expression: &Expression,
        constants: &Constants,
    ) -> Option<Constant> {
        let &[vector, _, mask] = constants.values(expression.operands) else { return None };
        if expression.opcode != Opcode::ShuffleVector || !self.is_zero(body, mask) {
            return None;
        }
        let (Constant::Expression(index), constants) = self.module.constant(body, vector)? else {
            return None;
        };
        let insertion = constants.expression(index)?;
        let &[_, element, at] = constants.values(insertion.operands) else { return None };
        if insertion.opcode != Opcode::InsertElement || !self.is_zero(body, at) {
            return None;
        }
        self.module.constant(body, element).map(|(constant, _)| constant)
    }

    fn splat(
        &mut self,
        body: Option<&FunctionBody>,
        (ty, element): (TypeId, Constant),
        constants: &Constants,
    ) {
        self.keyword("splat ");
        self.punctuation("(");
        self.spaced_type(ty);
        self.constant(body, Value { kind: ValueKind::Unresolved, ty }, element, constants);
        self.punctuation(")");
    }

    /// Writes a constant without operands that are constants themselves.
    fn constant(
        &mut self,
        body: Option<&FunctionBody>,
        value: Value,
        constant: Constant,
        constants: &Constants,
    ) {
        let types = &self.module.types;
        match constant {
            Constant::WideInteger(words) => {
                let bits = if let Type::Integer(width) = types.get(value.ty) { width } else { 64 };
                self.built(TokenKind::Number, |text| push_wide(text, constants.words(words), bits, true));
            }
            Constant::WideFloat(words) => {
                let ty = types.get(value.ty);
                self.built(TokenKind::Number, |text| {
                    super::float::push_wide_float(text, ty, constants.words(words));
                });
            }
            Constant::Data(words) => self.data(value.ty, constants.words(words)),
            Constant::Text(bytes) => self.text_constant(value.ty, constants.bytes(bytes)),
            Constant::Assembly(index) => self.assembly(constants, index),
            Constant::BlockAddress { function, block } => self.block_address(body, function, block),
            Constant::DsoLocalEquivalent(global) => {
                self.keyword("dso_local_equivalent ");
                self.symbol(global);
            }
            Constant::NoCfi(global) => {
                self.keyword("no_cfi ");
                self.symbol(global);
            }
            plain => {
                let types = &self.module.types;
                self.scratch.clear();
                symbols::push_plain_constant(
                    &mut self.scratch,
                    types,
                    &value,
                    plain,
                    self.rules.label_comments,
                );
                self.sink.put(TokenKind::Number, &self.scratch);
            }
        }
    }

    /// As [`folded`].
    pub(super) fn folded(&self, body: Option<&FunctionBody>, id: ValueId) -> ValueId {
        folded(self.module, body, id)
    }

    fn is_zero(&self, body: Option<&FunctionBody>, id: ValueId) -> bool {
        is_zero(self.module, body, id)
    }

    /// Returns the single word for an aggregate whose elements are all zero, `undef` or `poison`.
    fn uniform(&self, body: Option<&FunctionBody>, elements: &[ValueId]) -> Option<&'static str> {
        if elements.iter().all(|&id| self.is_zero(body, id)) {
            return Some("zeroinitializer");
        }
        let all = |wanted: Constant| {
            let is = |&id: &ValueId| {
                self.module.constant(body, id).is_some_and(|(constant, _)| constant == wanted)
            };
            elements.iter().all(is)
        };
        if all(Constant::Poison) {
            Some("poison")
        } else if all(Constant::Undef) {
            Some("undef")
        } else {
            None
        }
    }

    /// Writes an aggregate that is one word or a string; else its opening bracket, and returns the rest.
    fn begin_aggregate<'c>(
        &mut self,
        body: Option<&FunctionBody>,
        value: Value,
        elements: &'c [ValueId],
    ) -> Option<Opened<'c>> {
        if let Some(word) = self.uniform(body, elements) {
            self.out(TokenKind::Number, word);
            return None;
        }
        let (open, close) = match self.module.types.get(value.ty) {
            Type::Struct(structure) if structure.packed => ("<{ ", " }>"),
            Type::Struct(_) => ("{ ", " }"),
            Type::Vector { .. } => ("<", ">"),
            Type::Array { element, .. } => {
                if self.byte_array(body, element, elements) {
                    return None;
                }
                ("[", "]")
            }
            _ => ("[", "]"),
        };
        self.punctuation(open);
        Some((elements, None, End::Bracket(close)))
    }

    /// Writes an array of bytes as a string; returns whether it is one.
    fn byte_array(&mut self, body: Option<&FunctionBody>, element: TypeId, elements: &[ValueId]) -> bool {
        if self.module.types.get(element) != Type::Integer(8) {
            return false;
        }
        let byte = |&id: &ValueId| match self.module.constant(body, id)?.0 {
            Constant::Null => Some(0),
            Constant::Integer(number) => Some(number.to_le_bytes()[0]),
            _ => None,
        };
        let Some(bytes) = elements.iter().map(byte).collect::<Option<Vec<u8>>>() else {
            return false;
        };
        self.string_constant(&bytes);
        true
    }

    fn string_constant(&mut self, bytes: &[u8]) {
        let old = self.rules.label_comments;
        self.built(TokenKind::String, |text| {
            text.push_str("c\"");
            push_escaped_as(text, bytes, old);
            text.push('"');
        });
    }

    fn text_constant(&mut self, ty: TypeId, bytes: &[u8]) {
        let types = &self.module.types;
        if types.child(ty, 0).is_none_or(|element| types.get(element) == Type::Integer(8)) {
            if bytes.iter().all(|&byte| byte == 0) {
                return self.out(TokenKind::Number, "zeroinitializer");
            }
            return self.string_constant(bytes);
        }
        let words: Vec<u64> = bytes.iter().map(|&byte| u64::from(byte)).collect();
        self.data(ty, &words);
    }

    /// Writes elements that are stored as numbers.
    fn data(&mut self, ty: TypeId, words: &[u64]) {
        let types = &self.module.types;
        let Some(element) = types.child(ty, 0) else {
            return self.unprintable("<bad data>", "the elements of a constant have no type");
        };
        if words.iter().all(|&word| word == 0) {
            return self.out(TokenKind::Number, "zeroinitializer");
        }
        let vector = matches!(types.get(ty), Type::Vector { .. });
        if !vector && types.get(element) == Type::Integer(8) {
            let bytes: Vec<u8> = words.iter().map(|word| word.to_le_bytes()[0]).collect();
            return self.string_constant(&bytes);
        }
        self.punctuation(if vector { "<" } else { "[" });
        for (at, &word) in words.iter().enumerate() {
            if at > 0 {
                self.punctuation(", ");
            }
            self.ty(element);
            self.punctuation(" ");
            self.scratch.clear();
            if types.is_float(element) {
                super::float::push_float(
                    &mut self.scratch,
                    types.get(element),
                    word,
                    self.rules.label_comments,
                );
            } else {
                symbols::push_integer(&mut self.scratch, types, element, word);
            }
            self.sink.put(TokenKind::Number, &self.scratch);
        }
        self.punctuation(if vector { ">" } else { "]" });
    }

    fn assembly(&mut self, constants: &Constants, index: u32) {
        let Some(assembly) = constants.assembly(index) else { return };
        self.keyword("asm ");
        for (bit, word) in [(0, "sideeffect "), (1, "alignstack "), (2, "inteldialect "), (3, "unwind ")] {
            if assembly.flags >> bit & 1 != 0 {
                self.keyword(word);
            }
        }
        self.quoted(constants.bytes(assembly.text));
        self.punctuation(", ");
        self.quoted(constants.bytes(assembly.constraints));
    }

    /// Returns the text of a block of another function, whose values are numbered only for this.
    fn label_elsewhere(&self, function: usize, block: BlockId) -> Option<String> {
        let label = |body: &FunctionBody| super::function::label_of(self.module, body, block);
        match &self.bodies {
            Bodies::Upgraded(bodies) => bodies.get(function)?.as_ref().map(label),
            Bodies::FromFile(_) | Bodies::Checked => self.module.body(function).ok().as_ref().map(label),
        }
    }

    fn block_address(&mut self, body: Option<&FunctionBody>, function: ValueId, block: BlockId) {
        self.keyword("blockaddress");
        self.punctuation("(");
        self.symbol(function);
        self.punctuation(", ");
        let index = match self.module.value(None, function).map(|value| value.kind) {
            Some(ValueKind::Function(index)) => index,
            _ => u32::MAX,
        };
        if body.is_some_and(|body| body.function == index) {
            self.block(block);
        } else {
            let text = self.label_elsewhere(index as usize, block);
            let text = text.as_deref().unwrap_or("<badref>");
            let link = Entity::Block { function: index, id: block }.reference();
            self.sink.token(Token { kind: TokenKind::Label, text, link });
        }
        self.punctuation(")");
    }

    /// Writes an expression up to its operands, and returns the rest.
    fn begin_expression<'c>(
        &mut self,
        body: Option<&FunctionBody>,
        ty: TypeId,
        expression: &'c Expression,
        constants: &'c Constants,
    ) -> Opened<'c> {
        let opcode = expression.opcode;
        self.keyword(opcode.mnemonic());
        if !matches!(opcode, Opcode::ICmp | Opcode::FCmp) {
            self.operation_flags(opcode, expression.flags);
        } else {
            self.punctuation(" ");
            self.keyword(predicate(expression.flags).unwrap_or("unknown"));
        }
        if !expression.bounds.is_empty() {
            self.range_bounds(constants, expression.bounds);
        }
        self.punctuation(" (");
        if opcode == Opcode::GetElementPtr {
            self.ty(expression.ty);
            self.punctuation(", ");
        }
        let operands = constants.values(expression.operands);
        let shown = match opcode {
            Opcode::ShuffleVector => operands.len().min(2),
            // Trailing discriminators that are zero are omitted.
            Opcode::PtrAuth => {
                2 + operands.iter().skip(2).rposition(|&id| !self.is_zero(body, id)).map_or(0, |at| at + 1)
            }
            _ => operands.len(),
        };
        // LLVM 19 has `inrange` for byte ranges only, and drops it on indices.
        let in_range =
            (expression.in_range != 0 && !self.rules.opaque_pointers).then_some(expression.in_range as usize);
        let mask = operands.get(2).copied().filter(|_| opcode == Opcode::ShuffleVector);
        (operands.get(..shown).unwrap_or(operands), in_range, End::Expression(expression, ty, mask))
    }

    fn range_bounds(&mut self, constants: &Constants, bounds: Slice) {
        let &[low, high] = constants.words(bounds) else { return };
        self.built(TokenKind::Keyword, |text| {
            text.push_str(" inrange(");
            push_signed(text, low as i64);
            text.push_str(", ");
            push_signed(text, high as i64);
            text.push(')');
        });
    }

    /// Writes the flags after a mnemonic: `nuw`, `exact`, `inbounds` and the like.
    #[inline]
    pub(super) fn operation_flags(&mut self, opcode: Opcode, flags: u32) {
        if flags == 0 {
            return;
        }
        if opcode.may_wrap() {
            if flags & 1 != 0 {
                self.keyword(" nuw");
            }
            if flags & 2 != 0 {
                self.keyword(" nsw");
            }
        } else if opcode.may_be_exact() {
            if flags & 1 != 0 {
                self.keyword(" exact");
            }
        } else if opcode == Opcode::GetElementPtr {
            self.pointer_flags(flags);
        } else {
            self.newer_flags(opcode, flags);
        }
    }

    fn pointer_flags(&mut self, flags: u32) {
        if flags & 1 != 0 {
            self.keyword(" inbounds");
        } else if flags & 2 != 0 && self.rules.opaque_pointers {
            self.keyword(" nusw");
        }
        if flags & 4 != 0 && self.rules.opaque_pointers {
            self.keyword(" nuw");
        }
    }

    /// Writes flags that were added after LLVM 14, in all dialects: older files do not have them.
    fn newer_flags(&mut self, opcode: Opcode, flags: u32) {
        match opcode {
            Opcode::Or if flags & 1 != 0 => self.keyword(" disjoint"),
            Opcode::ICmp if flags & 1 != 0 => self.keyword(" samesign"),
            Opcode::FpTrunc | Opcode::FpExt => self.fast_math(flags),
            Opcode::ZExt | Opcode::UiToFp if flags & 1 != 0 => self.keyword(" nneg"),
            Opcode::Trunc => {
                if flags & 1 != 0 {
                    self.keyword(" nuw");
                }
                if flags & 2 != 0 {
                    self.keyword(" nsw");
                }
            }
            _ => {}
        }
    }

    /// Writes fast-math flags as stored; before LLVM 6 bit 0 means all of them.
    pub(super) fn fast_math(&mut self, flags: u32) {
        if flags & 0xFF == 0 {
            return;
        }
        if flags & 1 != 0 || flags & ALL_FAST_MATH == ALL_FAST_MATH {
            return self.keyword(" fast");
        }
        for (bit, word) in FAST_MATH {
            if flags & bit != 0 {
                self.keyword(word);
            }
        }
    }

    /// Writes the mask of a `shufflevector`, which has its own syntax.
    pub(super) fn shuffle_mask(&mut self, body: Option<&FunctionBody>, mask: ValueId) {
        let module = self.module;
        self.punctuation(", ");
        if self.rules.dialect == Dialect::Dxc {
            return self.typed_value(body, mask);
        }
        self.type_of(body, mask);
        self.punctuation(" ");
        let undefined = self.rules.undefined_mask;
        let Some((constant, constants)) = module.constant(body, mask) else {
            return self.value(body, mask);
        };
        let elements: Vec<Option<u64>> = match constant {
            Constant::Null => return self.out(TokenKind::Number, "zeroinitializer"),
            Constant::Undef | Constant::Poison => return self.out(TokenKind::Number, undefined),
            Constant::Data(words) => constants.words(words).iter().map(|&word| Some(word)).collect(),
            Constant::Aggregate(values) => {
                constants.values(values).iter().map(|&id| module.integer(body, id)).collect()
            }
            _ => return self.value(body, mask),
        };
        if elements.iter().all(|&element| element == Some(0)) {
            return self.out(TokenKind::Number, "zeroinitializer");
        }
        if elements.iter().all(Option::is_none) {
            return self.out(TokenKind::Number, undefined);
        }
        self.punctuation("<");
        for (at, element) in elements.into_iter().enumerate() {
            self.out(TokenKind::Type, if at > 0 { ", i32 " } else { "i32 " });
            match element {
                Some(number) => self.number(number & 0xFFFF_FFFF),
                None => self.out(TokenKind::Number, undefined),
            }
        }
        self.punctuation(">");
    }
}
