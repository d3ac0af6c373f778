//! Parses values: constants of every form, and references to symbols and to values of the function.
//!
//! A constant is kept in LLVM's [canonical form](crate::rules::Canonical), because that decides its record.

use super::Version;
use super::error::Parsed;
use super::lexer::Token;
use super::parser::Parser;
use super::uses::Use;
use crate::constants::{Constant, NewConstant, NewExpression};
use crate::fold::Folder;
use crate::ids::{BlockId, TypeId, ValueId, narrow};
use crate::instruction::{Opcode, predicate};
use crate::rules::{self, Canonical};
use crate::types::Type;
use alloc::vec::Vec;

/// The constant expressions that LLVM 19 still has.
const LATER_EXPRESSIONS: &[Opcode] = &[
    Opcode::Add,
    Opcode::Sub,
    Opcode::Mul,
    Opcode::Xor,
    Opcode::GetElementPtr,
    Opcode::Trunc,
    Opcode::PtrToInt,
    Opcode::IntToPtr,
    Opcode::BitCast,
    Opcode::AddrSpaceCast,
    Opcode::ExtractElement,
    Opcode::InsertElement,
    Opcode::ShuffleVector,
    Opcode::PtrAuth,
];

/// The flags of inline assembly, by bit.
const ASSEMBLY_FLAGS: [(&str, u32); 4] =
    [("sideeffect", 1), ("alignstack", 2), ("inteldialect", 4), ("unwind", 8)];

impl Parser<'_> {
    /// Parses a value of type `ty` that is a constant or symbol.
    pub(super) fn constant_value(&mut self, ty: TypeId) -> Parsed<ValueId> {
        if matches!(self.token, Token::Local(_) | Token::LocalNumber(_)) {
            return self.fault("a value of a function can't be used here");
        }
        self.value(ty)
    }

    /// Parses a type and a constant of it.
    pub(super) fn typed_constant(&mut self) -> Parsed<ValueId> {
        let ty = self.ty()?;
        self.constant_value(ty)
    }

    /// Parses a value of type `ty`.
    pub(super) fn value(&mut self, ty: TypeId) -> Parsed<ValueId> {
        match self.token {
            Token::Local(_) | Token::LocalNumber(_) => self.local_value(ty),
            Token::Global(_) | Token::GlobalNumber(_) => self.symbol_reference(ty),
            Token::Hexadecimal(text) if text.first() == Some(&b'0') => self.float(ty),
            Token::Integer(_) | Token::Hexadecimal(_) => self.integer(ty),
            Token::Float(_) => self.float(ty),
            Token::Punctuation(b'{' | b'[' | b'<') => self.nested(|parser| parser.aggregate(ty)),
            Token::Word(word) => self.word_value(word, ty),
            _ => self.fault("expected a value"),
        }
    }

    fn word_value(&mut self, word: &[u8], ty: TypeId) -> Parsed<ValueId> {
        let of = self.module.types.get(ty);
        let plain = match word {
            b"true" | b"false" => return self.integer(ty),
            b"undef" => Some((NewConstant::Undef, true)),
            b"poison" => Some((NewConstant::Poison, true)),
            b"zeroinitializer" => Some((NewConstant::Null, rules::has_zero(&self.module.types, ty))),
            b"null" => Some((NewConstant::Null, self.module.types.is_pointer(ty))),
            b"none" => Some((NewConstant::Null, of == Type::Token)),
            _ => None,
        };
        if let Some((new, fits)) = plain {
            if !fits || matches!(of, Type::Void | Type::Function { .. } | Type::Label | Type::Metadata) {
                let message = alloc::format!("constant of an invalid type '{}'", self.shown_type(ty));
                return self.fault(message);
            }
            self.advance();
            return Ok(self.constant(ty, &new));
        }
        match word {
            b"c" if matches!(self.peek(), Token::Text(_)) => {
                self.advance();
                self.text_constant(ty)
            }
            b"asm" => self.inline_assembly(ty),
            b"blockaddress" => self.block_address(ty),
            b"dso_local_equivalent" | b"no_cfi" => self.function_alias(ty),
            b"splat" => self.splat(ty),
            _ => {
                let (value, found) = self.nested(Self::untyped_expression)?;
                if found != ty {
                    let (found, ty) = (self.shown_type(found), self.shown_type(ty));
                    return self.fault(alloc::format!(
                        "constant expression is of type '{found}' but used as '{ty}'"
                    ));
                }
                Ok(value)
            }
        }
    }

    /// Returns the constant with this content and type, which is added if it is new.
    pub(super) fn constant(&mut self, ty: TypeId, new: &NewConstant<'_>) -> ValueId {
        let (id, added) = self.constants.intern(&mut self.module, ty, new);
        if let Some(index) = added {
            self.note_constant(index);
        }
        id
    }

    /// Makes constants, folded.
    pub(super) fn fold<T>(&mut self, make: impl FnOnce(&mut Folder<'_, '_>) -> T) -> T {
        let mut folder =
            Folder::new(&mut self.module, &mut self.constants, self.version, &mut self.fold_budget);
        let made = make(&mut folder);
        self.folded_too_early |= folder.depends_on_undefined;
        for index in folder.added {
            self.note_constant(index);
        }
        made
    }

    /// Notes when the operands of a new constant were set.
    fn note_constant(&mut self, index: u32) {
        let now = self.uses.tick();
        self.uses.order.constants.push(now);
        self.positions.constants.push(self.at);
        let operands = self.module.constants.content(index).operands().to_vec();
        for (operand, value) in (0u32..).zip(operands) {
            self.note_use(value, Use::Element { constant: index, operand });
        }
    }

    /// Parses `c"…"`, at the string.
    fn text_constant(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let at = self.at;
        let text = self.string()?;
        let byte = self.module.types.find(Type::Integer(8));
        match self.module.types.get(ty) {
            Type::Array { count, element } if count == text.len() as u64 && Some(element) == byte => {
                if text.iter().all(|&byte| byte == 0) {
                    return Ok(self.constant(ty, &NewConstant::Null));
                }
                Ok(self.constant(ty, &NewConstant::Text(&text)))
            }
            _ => self.fault_at(at, "a string is an array of as many i8"),
        }
    }

    /// Parses `[…]`, `{…}`, `<{…}>` or `<…>`.
    fn aggregate(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let at = self.at;
        let packed = self.is(b'<') && self.peek() == Token::Punctuation(b'{');
        let (close, of) = match self.token {
            Token::Punctuation(b'[') => (b']', self.module.types.get(ty)),
            Token::Punctuation(b'{') => (b'}', self.module.types.get(ty)),
            _ if packed => {
                self.advance();
                (b'}', self.module.types.get(ty))
            }
            _ => (b'>', self.module.types.get(ty)),
        };
        self.advance();
        let mut elements = Vec::new();
        self.list(close, |parser| {
            elements.push(parser.typed_constant()?);
            Ok(())
        })?;
        if packed {
            self.expect(b'>')?;
        }
        let count = elements.len() as u64;
        let fits = match (close, of) {
            (b']', Type::Array { count: wanted, .. }) => wanted == count,
            (b'>', Type::Vector { count: wanted, scalable: false, .. }) => u64::from(wanted) == count,
            (b'}', Type::Struct(structure)) => {
                structure.packed == packed && structure.fields.len() as u64 == count
            }
            _ => false,
        };
        let is_empty_array = close == b']' && count == 0;
        let fits = fits
            && (0..)
                .zip(&elements)
                .all(|(at, &element)| self.module.types.child(ty, at) == Some(self.type_of(element)));
        if !fits {
            let message = alloc::format!("elements don't fit the type '{}'", self.shown_type(ty));
            return self.fault_at(at, message);
        }
        if is_empty_array {
            return Ok(self.constant(ty, &NewConstant::Undef));
        }
        Ok(self.aggregate_of(ty, &elements))
    }

    /// Returns the aggregate of these elements in its canonical form.
    pub(super) fn aggregate_of(&mut self, ty: TypeId, elements: &[ValueId]) -> ValueId {
        let form = Canonical::of(&self.module, self.version, ty, elements);
        self.constant(ty, &form.content(elements))
    }

    /// Parses `splat (type value)`.
    fn splat(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let start = self.at;
        self.advance();
        self.expect(b'(')?;
        let at = self.at;
        let value = self.nested(Self::typed_constant)?;
        self.expect(b')')?;
        let Type::Vector { count, element, .. } = self.module.types.get(ty) else {
            return self.fault_at(start, "splat is a constant of a vector type");
        };
        if element != self.type_of(value) {
            return self.fault_at(at, "splat has the element type of its vector");
        }
        if count as usize > self.text_size().max(1 << 16) {
            return self.fault("splat of too many elements");
        }
        Ok(self.fold(|folder| folder.splat_of_any_size(ty, value)))
    }

    /// Parses `asm flags "text", "constraints"`.
    fn inline_assembly(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let at = self.at;
        self.advance();
        let words = ASSEMBLY_FLAGS.map(|(word, _)| word);
        let mut flags = 0;
        while let Some(at) = self.eat_one_of(&words) {
            flags |= ASSEMBLY_FLAGS.get(at).map_or(0, |&(_, bit)| bit);
        }
        let text = self.string()?;
        self.expect(b',')?;
        let constraints = self.string()?;
        let function_type = self.function.as_ref().map_or(TypeId::NONE, |function| function.called_type);
        self.check_assembly(function_type, &constraints, at)?;
        let new = NewConstant::Assembly { text: &text, constraints: &constraints, flags, function_type };
        Ok(self.constant(ty, &new))
    }

    /// Parses `blockaddress(@function, %block)`.
    fn block_address(&mut self, ty: TypeId) -> Parsed<ValueId> {
        self.advance();
        self.expect(b'(')?;
        let function = self.symbol_of_any_type()?;
        self.expect(b',')?;
        let (label, at) = (self.token, self.at);
        if !matches!(label, Token::Local(_) | Token::LocalNumber(_)) {
            return self.fault("expected the name of a block");
        }
        self.advance();
        self.expect(b')')?;
        let number = self.label_number(function, label, at);
        let address = self.constant(ty, &NewConstant::BlockAddress { function, block: BlockId(number) });
        self.note_block_address(address, function, label);
        Ok(address)
    }

    /// Parses `dso_local_equivalent @f` or `no_cfi @f`.
    fn function_alias(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let is_equivalent = self.eat_word("dso_local_equivalent");
        if !is_equivalent {
            self.expect_word("no_cfi")?;
        }
        let name = self.token;
        let symbol = self.symbol_reference(ty)?;
        if !is_equivalent {
            return Ok(self.constant(ty, &NewConstant::NoCfi(symbol)));
        }
        let equivalent = self.constant(ty, &NewConstant::DsoLocalEquivalent(symbol));
        self.note_equivalent(equivalent, symbol, name);
        Ok(equivalent)
    }

    /// Parses a constant expression and returns it with its type.
    pub(super) fn untyped_expression(&mut self) -> Parsed<(ValueId, TypeId)> {
        let at = self.at;
        let Token::Word(word) = self.token else { return self.fault("expected a value") };
        let known = self.keywords.opcodes.get(word).filter(|&opcode| opcode != Opcode::PtrToAddr);
        let Some(opcode) = known else { return self.fault("expected a value") };
        self.advance();
        if self.version == Version::Llvm19
            && !LATER_EXPRESSIONS.contains(&opcode)
            && opcode as u8 >= Opcode::FNeg as u8
        {
            let message = alloc::format!("{} constexprs are no longer supported", opcode.mnemonic());
            return self.fault_at(at, message);
        }
        match opcode {
            Opcode::GetElementPtr => self.element_pointer_expression(),
            opcode if opcode.is_cast() => self.cast_expression(opcode),
            Opcode::ICmp | Opcode::FCmp => {
                let flags = self.predicate(opcode)?;
                self.expression(opcode, flags)
            }
            opcode if opcode.is_binary() => {
                let flags = u32::from(self.operation_flags(opcode));
                self.expression(opcode, flags)
            }
            Opcode::ExtractValue | Opcode::InsertValue => self.folded_aggregate(opcode),
            Opcode::Select
            | Opcode::ExtractElement
            | Opcode::InsertElement
            | Opcode::ShuffleVector
            | Opcode::FNeg => self.expression(opcode, 0),
            Opcode::PtrAuth => self.signed_pointer(),
            _ => self.fault_at(at, "not a constant expression"),
        }
    }

    /// Parses `extractvalue` or `insertvalue` of constants, which always fold to a constant.
    fn folded_aggregate(&mut self, opcode: Opcode) -> Parsed<(ValueId, TypeId)> {
        let at = self.at;
        self.expect(b'(')?;
        let aggregate = self.typed_constant()?;
        let mut inserted = None;
        if opcode == Opcode::InsertValue {
            self.expect(b',')?;
            inserted = Some(self.typed_constant()?);
        }
        let mut indices = Vec::new();
        while self.eat(b',') {
            indices.push(self.u32()?);
        }
        self.expect(b')')?;
        let folded = match inserted {
            None => self.fold(|folder| folder.extract_value(aggregate, &indices)),
            Some(inserted) => self.fold(|folder| folder.insert_value(aggregate, inserted, &indices)),
        };
        match folded {
            Some(value) => Ok((value, self.type_of(value))),
            None => self.fault_at(at, alloc::format!("invalid indices for {}", opcode.mnemonic())),
        }
    }

    /// Parses the predicate of a comparison.
    pub(super) fn predicate(&mut self, opcode: Opcode) -> Parsed<u32> {
        let numbers = if opcode == Opcode::FCmp { 0..16 } else { 32..42 };
        for number in numbers {
            if predicate(number).is_some_and(|name| self.is_word(name)) {
                self.advance();
                return Ok(number);
            }
        }
        self.fault("expected the predicate of a comparison")
    }

    fn cast_expression(&mut self, opcode: Opcode) -> Parsed<(ValueId, TypeId)> {
        let at = self.at;
        let flags = u32::from(self.operation_flags(opcode));
        self.expect(b'(')?;
        let value = self.typed_constant()?;
        self.expect_word("to")?;
        let ty = self.ty()?;
        self.expect(b')')?;
        let from = self.type_of(value);
        self.check_cast(opcode, from, ty, at)?;
        let new =
            NewExpression { opcode, flags, ty: TypeId::NONE, in_range: 0, bounds: &[], operands: &[value] };
        Ok((self.fold(|folder| folder.expression(ty, &new)), ty))
    }

    /// Parses `(pointer, key, discriminator, address)` of `ptrauth`, of which the last two may be missing.
    fn signed_pointer(&mut self) -> Parsed<(ValueId, TypeId)> {
        let mut operands = Vec::new();
        let words = [32, 64].map(|width| self.module.types.intern(Type::Integer(width)));
        let address = self.module.types.intern(Type::OpaquePointer { address_space: 0 });
        self.expect(b'(')?;
        self.list(b')', |parser| {
            let at = parser.at;
            let operand = parser.typed_constant()?;
            let ty = parser.type_of(operand);
            let is_number = parser.module.integer(None, operand).is_some();
            let [key, discriminator] = words;
            let message = match operands.len() {
                0 | 3 if !parser.module.types.is_pointer(ty) => {
                    "a signed pointer and its address are pointers"
                }
                1 if ty != key || !is_number => "the key of a signed pointer is an i32",
                2 if ty != discriminator || !is_number => "the discriminator of a signed pointer is an i64",
                4.. => "too many operands of ptrauth",
                _ => "",
            };
            operands.push(operand);
            if message.is_empty() { Ok(()) } else { parser.fault_at(at, message) }
        })?;
        let &[pointer, _, ..] = operands.as_slice() else {
            return self.fault("a signed pointer has a key");
        };
        let [_, discriminator] = words;
        for (at, ty) in [(2, discriminator), (3, address)] {
            if operands.len() == at {
                operands.push(self.constant(ty, &NewConstant::Null));
            }
        }
        let new = NewExpression {
            opcode: Opcode::PtrAuth,
            flags: 0,
            ty: TypeId::NONE,
            in_range: 0,
            bounds: &[],
            operands: &operands,
        };
        let ty = self.type_of(pointer);
        Ok((self.constant(ty, &NewConstant::Expression(new)), ty))
    }

    /// Parses `(type value, type value, …)` and applies an operation to it.
    fn expression(&mut self, opcode: Opcode, flags: u32) -> Parsed<(ValueId, TypeId)> {
        let at = self.at;
        self.expect(b'(')?;
        let mut operands = Vec::new();
        self.list(b')', |parser| {
            operands.push(parser.typed_constant()?);
            Ok(())
        })?;
        if let (Opcode::ShuffleVector, Some(&mask)) = (opcode, operands.get(2)) {
            let mask = self.shuffle_mask(mask);
            operands.truncate(2);
            operands.push(mask);
        }
        let Some(ty) = self.result_type(opcode, &operands) else {
            return self.fault_at(at, "operands don't fit the operation");
        };
        let of = match opcode {
            Opcode::ICmp | Opcode::FCmp => self.type_of(operands.first().copied().unwrap_or(ValueId::NONE)),
            _ => TypeId::NONE,
        };
        let new = NewExpression { opcode, flags, ty: of, in_range: 0, bounds: &[], operands: &operands };
        Ok((self.fold(|folder| folder.expression(ty, &new)), ty))
    }

    /// Returns the mask of a `shufflevector` as LLVM writes it: what is left open is poison, in LLVM 14 undefined.
    pub(super) fn shuffle_mask(&mut self, mask: ValueId) -> ValueId {
        let open = match self.version {
            Version::Llvm14 => NewConstant::Undef,
            Version::Llvm19 => NewConstant::Poison,
            Version::Dxc => return mask,
        };
        let is_open = |constant| matches!(constant, Constant::Undef | Constant::Poison);
        let Some(constant) = self.module.constant(None, mask).map(|(constant, _)| constant) else {
            return mask;
        };
        let ty = self.type_of(mask);
        if is_open(constant) {
            return self.constant(ty, &open);
        }
        let Constant::Aggregate(elements) = constant else { return mask };
        let mut elements = self.module.constants.values(elements).to_vec();
        let mut count = 0;
        for element in &mut elements {
            if self.module.constant(None, *element).is_some_and(|(constant, _)| is_open(constant)) {
                *element = self.constant(self.type_of(*element), &open);
                count += 1;
            }
        }
        match count {
            0 => mask,
            count if count == elements.len() => self.constant(ty, &open),
            _ => self.constant(ty, &NewConstant::Aggregate(&elements)),
        }
    }

    fn element_pointer_expression(&mut self) -> Parsed<(ValueId, TypeId)> {
        let mut flags = 0;
        let mut bounds = Vec::new();
        loop {
            match self.eat_one_of(&["inbounds", "nusw", "nuw", "inrange"]) {
                // `inbounds` implies `nusw`, from LLVM 19 on.
                Some(0) => flags |= if self.version == Version::Llvm19 { 3 } else { 1 },
                Some(1) => flags |= 2,
                Some(2) => flags |= 4,
                Some(_) => {
                    self.expect(b'(')?;
                    let at = self.at;
                    self.range_bounds(64, &mut bounds)?;
                    if bounds.first().map(|start| start.cast_signed())
                        >= bounds.get(1).map(|end| end.cast_signed())
                    {
                        return self.fault_at(at, "expected end to be larger than start");
                    }
                    self.expect(b')')?;
                }
                None => break,
            }
        }
        self.expect(b'(')?;
        let source = self.ty()?;
        let at = self.at;
        let (mut operands, mut in_range) = (Vec::new(), 0);
        self.expect(b',')?;
        self.list(b')', |parser| {
            if parser.version != Version::Llvm19 && parser.eat_word("inrange") {
                in_range = narrow(operands.len() as u64);
            }
            operands.push(parser.typed_constant()?);
            Ok(())
        })?;
        let Some(ty) = self.element_pointer_type(source, &operands) else {
            return self.fault_at(at, "invalid operands of getelementptr");
        };
        let new = NewExpression {
            opcode: Opcode::GetElementPtr,
            flags,
            ty: source,
            in_range,
            bounds: &bounds,
            operands: &operands,
        };
        Ok((self.fold(|folder| folder.expression(ty, &new)), ty))
    }
}
