//! Constants (`CONSTANTS_BLOCK_ID`), of a module or of one function.
//!
//! `SETTYPE` sets the type of the constants that follow; every other record defines the next value. Operands are
//! absolute value numbers and may be forward references, so they are stored as ids and resolved on use.
//!
//! Knowledge: `ConstantsCodes` of LLVM's `LLVMBitCodes.h` (3.2 to 19).

use crate::bitstream::{self, Cursor, Entry, Record};
use crate::ids::{BlockId, Slice, TypeId, ValueId, narrow, unrotate};
use crate::instruction::Opcode;
use crate::types::{Type, TypeTable};
use crate::value::{Value, ValueKind};
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Result};

mod interning;

pub(crate) use interning::{NewConstant, NewExpression};

/// A constant; its [`Value`] holds its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// The zero value of any type: `0`, `null`, `none`, `zeroinitializer`.
    Null,
    /// `undef`
    Undef,
    /// `poison`
    Poison,
    /// An integer of at most 64 bits, sign-extended as stored.
    Integer(u64),
    /// A wider integer: words in [`Constants::words`], least significant first.
    WideInteger(Slice),
    /// The bits of a `half`, `bfloat`, `float` or `double`.
    Float(u64),
    /// The words of a floating-point number of more than 64 bits, as stored.
    WideFloat(Slice),
    /// Elements of an array, struct or vector: values in [`Constants::values`].
    Aggregate(Slice),
    /// Elements of an array or vector of integers or floats: their bits in [`Constants::words`].
    Data(Slice),
    /// An array of bytes, in [`Constants::bytes`].
    Text(Slice),
    /// An operation, in [`Constants::expression`].
    Expression(u32),
    /// Inline assembly, in [`Constants::assembly`].
    Assembly(u32),
    /// The address of a block of a function.
    BlockAddress {
        /// The function.
        function: ValueId,
        /// The block.
        block: BlockId,
    },
    /// `dso_local_equivalent`
    DsoLocalEquivalent(ValueId),
    /// `no_cfi`
    NoCfi(ValueId),
}

/// A constant expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The operation; may be [`Opcode::PtrAuth`].
    pub opcode: Opcode,
    /// Flags as stored: `nuw` 1 and `nsw` 2, `exact` 1, `inbounds` 1 (further bits as of LLVM 19), the predicate
    /// of a comparison.
    pub flags: u32,
    /// The source element type of `getelementptr`, or the type of a comparison's operands.
    pub ty: TypeId,
    /// The index marked `inrange`, plus one; 0 if there is none.
    pub in_range: u32,
    /// The bounds of `inrange` as LLVM 19 stores them, in [`Constants::words`]: low and high.
    pub bounds: Slice,
    /// The operands, in [`Constants::values`].
    pub operands: Slice,
}

/// Inline assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The instructions, in [`Constants::bytes`].
    pub text: Slice,
    /// The constraints, in [`Constants::bytes`].
    pub constraints: Slice,
    /// Bits: 0 `sideeffect`, 1 `alignstack`, 2 `inteldialect`, 3 `unwind`.
    pub flags: u32,
    /// The type of the function that it is called as; none where neither the record nor the pointer to it has it.
    pub function_type: TypeId,
}

/// The constants of a module or function.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    list: Vec<Constant>,
    values: Vec<ValueId>,
    words: Vec<u64>,
    bytes: Vec<u8>,
    expressions: Vec<Expression>,
    assembly: Vec<Assembly>,
}

pub(crate) mod code {
    pub(crate) const SETTYPE: u32 = 1;
    pub(crate) const NULL: u32 = 2;
    pub(crate) const UNDEF: u32 = 3;
    pub(crate) const INTEGER: u32 = 4;
    pub(crate) const WIDE_INTEGER: u32 = 5;
    pub(crate) const FLOAT: u32 = 6;
    pub(crate) const AGGREGATE: u32 = 7;
    pub(crate) const STRING: u32 = 8;
    pub(crate) const CSTRING: u32 = 9;
    pub(crate) const CE_BINOP: u32 = 10;
    pub(crate) const CE_CAST: u32 = 11;
    pub(crate) const CE_GEP_OLD: u32 = 12;
    pub(crate) const CE_SELECT: u32 = 13;
    pub(crate) const CE_EXTRACTELT: u32 = 14;
    pub(crate) const CE_INSERTELT: u32 = 15;
    pub(crate) const CE_SHUFFLEVEC: u32 = 16;
    pub(crate) const CE_CMP: u32 = 17;
    pub(crate) const INLINEASM_OLD: u32 = 18;
    pub(crate) const CE_SHUFVEC_EX: u32 = 19;
    pub(crate) const CE_INBOUNDS_GEP: u32 = 20;
    pub(crate) const BLOCKADDRESS: u32 = 21;
    pub(crate) const DATA: u32 = 22;
    pub(crate) const INLINEASM_OLD2: u32 = 23;
    pub(crate) const CE_GEP_WITH_INRANGE_INDEX: u32 = 24;
    pub(crate) const CE_UNOP: u32 = 25;
    pub(crate) const POISON: u32 = 26;
    pub(crate) const DSO_LOCAL_EQUIVALENT: u32 = 27;
    pub(crate) const INLINEASM_OLD3: u32 = 28;
    pub(crate) const NO_CFI: u32 = 29;
    pub(crate) const INLINEASM: u32 = 30;
    pub(crate) const CE_GEP_WITH_INRANGE: u32 = 31;
    pub(crate) const CE_GEP: u32 = 32;
    pub(crate) const PTRAUTH: u32 = 33;
    pub(crate) const PTRAUTH2: u32 = 34;
}

/// Returns whether a record of this code defines the next value.
pub(crate) fn is_entry(code: u32) -> bool {
    code != code::SETTYPE
}

impl Constants {
    /// Returns the constant with this index, which [`ValueKind::Constant`] holds.
    #[inline]
    pub fn get(&self, index: u32) -> Constant {
        self.list.get(index as usize).copied().unwrap_or(Constant::Undef)
    }

    /// Returns the values of an aggregate or expression.
    #[inline]
    pub fn values(&self, slice: Slice) -> &[ValueId] {
        slice.of(&self.values)
    }

    /// Returns the words of data, wide integers and wide floating-point numbers.
    #[inline]
    pub fn words(&self, slice: Slice) -> &[u64] {
        slice.of(&self.words)
    }

    /// Returns the bytes of a text.
    #[inline]
    pub fn bytes(&self, slice: Slice) -> &[u8] {
        slice.of(&self.bytes)
    }

    /// Returns an expression.
    pub fn expression(&self, index: u32) -> Option<&Expression> {
        self.expressions.get(index as usize)
    }

    /// Returns inline assembly.
    pub fn assembly(&self, index: u32) -> Option<&Assembly> {
        self.assembly.get(index as usize)
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.values.clear();
        self.words.clear();
        self.bytes.clear();
        self.expressions.clear();
        self.assembly.clear();
    }

    /// Returns the number of constants and their operands.
    pub(crate) fn stored_elements(&self) -> u64 {
        (self.list.len() as u64).saturating_add(self.values.len() as u64)
    }

    /// Adds a constant and returns its index.
    pub(crate) fn add(&mut self, constant: Constant) -> u32 {
        let index = narrow(self.list.len() as u64);
        self.list.push(constant);
        index
    }

    /// Creates an aggregate, without adding it to the list.
    pub(crate) fn aggregate(&mut self, elements: &[ValueId]) -> Constant {
        Constant::Aggregate(Slice::extend(&mut self.values, elements.iter().copied()))
    }

    /// Returns whether a value is an operand of an aggregate or expression.
    pub(crate) fn uses(&self, id: ValueId) -> bool {
        self.values.contains(&id)
    }

    /// Returns whether there are addresses of blocks.
    pub(crate) fn has_block_addresses(&self) -> bool {
        self.list.iter().any(|constant| matches!(constant, Constant::BlockAddress { .. }))
    }

    /// Returns all expressions.
    pub(crate) fn expressions(&self) -> &[Expression] {
        &self.expressions
    }

    /// Returns all inline assembly.
    pub(crate) fn all_assembly(&self) -> &[Assembly] {
        &self.assembly
    }

    /// Creates a cast of a value, without adding it to the list.
    pub(crate) fn cast(&mut self, opcode: Opcode, of: ValueId) -> Constant {
        let operands = Slice::extend(&mut self.values, [of]);
        self.add_expression(Expression {
            opcode,
            flags: 0,
            ty: TypeId::NONE,
            in_range: 0,
            bounds: Slice::default(),
            operands,
        })
    }

    /// Creates inline assembly, without adding it to the list.
    pub(crate) fn add_assembly(
        &mut self,
        text: &[u8],
        constraints: &[u8],
        flags: u32,
        function_type: TypeId,
    ) -> Constant {
        let text = Slice::extend(&mut self.bytes, text.iter().copied());
        let constraints = Slice::extend(&mut self.bytes, constraints.iter().copied());
        let index = narrow(self.assembly.len() as u64);
        self.assembly.push(Assembly { text, constraints, flags, function_type });
        Constant::Assembly(index)
    }

    /// Replaces the text of inline assembly.
    pub(crate) fn set_assembly(&mut self, index: u32, text: &[u8]) {
        let text = Slice::extend(&mut self.bytes, text.iter().copied());
        if let Some(assembly) = self.assembly.get_mut(index as usize) {
            assembly.text = text;
        }
    }

    pub(crate) fn add_words(&mut self, words: &[u64]) -> Slice {
        Slice::extend(&mut self.words, words.iter().copied())
    }

    /// Reads the block that `cursor` is at, and appends the values to `values`.
    ///
    /// # Errors
    /// If the stream is damaged. Records that can't be decoded become `undef` and are reported in `findings`.
    pub(crate) fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: u32,
        types: &TypeTable,
        values: &mut Vec<Value>,
        findings: &mut Diagnostics,
    ) -> Result<()> {
        cursor.enter_block(block)?;
        self.list.reserve(32);
        let mut record = Record::default();
        let mut ty = types.find(Type::Integer(32)).unwrap_or(TypeId::NONE);
        loop {
            match cursor.advance_entry()? {
                Entry::EndBlock => return Ok(()),
                Entry::Block(_) => cursor.skip_block()?,
                Entry::Record(id) => {
                    cursor.read_record(id, &mut record)?;
                    if !is_entry(record.code) {
                        ty = TypeId(record.values.first().map_or(u32::MAX, |&id| narrow(id)));
                        if matches!(types.get(ty), Type::Void | Type::Unknown) {
                            let message = "constants have type void or an unknown type";
                            findings.error("llvm-constant", Error::new(ErrorKind::BadValue, record.offset, message));
                        }
                        continue;
                    }
                    let constant = self.decode(&record, ty, types).unwrap_or_else(|| {
                        let error = Error::new(ErrorKind::BadValue, record.offset, "constant can't be read")
                            .found(alloc::format!("code {} of {} operands", record.code, record.values.len()));
                        findings.error("llvm-constant", error);
                        Constant::Undef
                    });
                    values.push(Value { kind: ValueKind::Constant(self.add(constant)), ty });
                }
            }
        }
    }

    fn decode(&mut self, record: &Record, ty: TypeId, types: &TypeTable) -> Option<Constant> {
        let values = record.values.as_slice();
        let value = |at: usize| values.get(at).map(|&id| ValueId(narrow(id)));
        let constant = match record.code {
            code::NULL if matches!(types.get(ty), Type::Function { .. } | Type::Label | Type::Void) => return None,
            code::NULL => Constant::Null,
            code::UNDEF => Constant::Undef,
            code::POISON => Constant::Poison,
            code::INTEGER => Constant::Integer(unrotate(*values.first()?)),
            code::WIDE_INTEGER => {
                Constant::WideInteger(Slice::extend(&mut self.words, values.iter().map(|&word| unrotate(word))))
            }
            code::FLOAT => match types.get(types.scalar(ty)) {
                Type::Half | Type::BFloat => Constant::Float(*values.first()? & 0xFFFF),
                Type::Float => Constant::Float(*values.first()? & 0xFFFF_FFFF),
                Type::Double => Constant::Float(*values.first()?),
                _ => Constant::WideFloat(self.add_words(values.get(..2)?)),
            },
            code::AGGREGATE => {
                let elements = values.iter().map(|&id| ValueId(narrow(id)));
                Constant::Aggregate(Slice::extend(&mut self.values, elements))
            }
            code::DATA => Constant::Data(self.add_words(values)),
            code::STRING => Constant::Text(self.add_bytes(values)),
            code::CSTRING => {
                let mut text = self.add_bytes(values);
                self.bytes.push(0);
                text.count = text.count.saturating_add(1);
                Constant::Text(text)
            }
            code::BLOCKADDRESS => {
                Constant::BlockAddress { function: value(1)?, block: BlockId(narrow(*values.get(2)?)) }
            }
            code::DSO_LOCAL_EQUIVALENT => Constant::DsoLocalEquivalent(value(1)?),
            code::NO_CFI => Constant::NoCfi(value(1)?),
            code::INLINEASM_OLD | code::INLINEASM_OLD2 | code::INLINEASM_OLD3 => {
                self.assembly_of(values, types.pointee(ty).unwrap_or(TypeId::NONE))?
            }
            code::INLINEASM => {
                let (&function_type, rest) = values.split_first()?;
                self.assembly_of(rest, TypeId(narrow(function_type)))?
            }
            _ => self.expression_of(record, ty, types)?,
        };
        Some(constant)
    }

    fn add_bytes(&mut self, characters: &[u64]) -> Slice {
        Slice::extend(&mut self.bytes, bitstream::characters(characters))
    }

    /// Decodes inline assembly: flags, length and text, length and constraints.
    fn assembly_of(&mut self, values: &[u64], function_type: TypeId) -> Option<Constant> {
        let (&flags, rest) = values.split_first()?;
        let (&length, rest) = rest.split_first()?;
        let (text, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let (&length, rest) = rest.split_first()?;
        let constraints = rest.get(..usize::try_from(length).ok()?)?;
        let text = self.add_bytes(text);
        let constraints = self.add_bytes(constraints);
        let index = narrow(self.assembly.len() as u64);
        self.assembly.push(Assembly { text, constraints, flags: narrow(flags), function_type });
        Some(Constant::Assembly(index))
    }

    fn expression_of(&mut self, record: &Record, ty: TypeId, types: &TypeTable) -> Option<Constant> {
        let values = record.values.as_slice();
        let at = |index: usize| values.get(index).map(|&id| narrow(id));
        let mut flags = 0;
        let mut operand_type = TypeId::NONE;
        let (opcode, operands): (Opcode, &[u32]) = match record.code {
            code::CE_UNOP => (Opcode::FNeg, &[at(1)?]),
            code::CE_BINOP => {
                flags = at(3).unwrap_or(0);
                (Opcode::binary(*values.first()?, types.is_float(ty))?, &[at(1)?, at(2)?])
            }
            code::CE_CAST => {
                flags = at(3).unwrap_or(0);
                (Opcode::cast(*values.first()?)?, &[at(2)?])
            }
            code::CE_SELECT => (Opcode::Select, &[at(0)?, at(1)?, at(2)?]),
            code::CE_EXTRACTELT => (Opcode::ExtractElement, &[at(1)?, at(if values.len() == 4 { 3 } else { 2 })?]),
            code::CE_INSERTELT => {
                (Opcode::InsertElement, &[at(0)?, at(1)?, at(if values.len() == 4 { 3 } else { 2 })?])
            }
            code::CE_SHUFFLEVEC => (Opcode::ShuffleVector, &[at(0)?, at(1)?, at(2)?]),
            code::CE_SHUFVEC_EX => (Opcode::ShuffleVector, &[at(1)?, at(2)?, at(3)?]),
            code::CE_CMP => {
                operand_type = TypeId(at(0)?);
                flags = at(3)?;
                let opcode = if types.is_float(operand_type) { Opcode::FCmp } else { Opcode::ICmp };
                (opcode, &[at(1)?, at(2)?])
            }
            code::PTRAUTH => (Opcode::PtrAuth, &[at(0)?, at(1)?, at(2)?, at(3)?]),
            code::PTRAUTH2 => (Opcode::PtrAuth, &[at(0)?, at(1)?, at(2)?, at(3)?, at(4)?]),
            code::CE_GEP_OLD
            | code::CE_INBOUNDS_GEP
            | code::CE_GEP_WITH_INRANGE_INDEX
            | code::CE_GEP_WITH_INRANGE
            | code::CE_GEP => return self.element_pointer(record, types),
            _ => return None,
        };
        let operands = Slice::extend(&mut self.values, operands.iter().map(|&id| ValueId(id)));
        Some(self.add_expression(Expression {
            opcode,
            flags,
            ty: operand_type,
            in_range: 0,
            bounds: Slice::default(),
            operands,
        }))
    }

    fn add_expression(&mut self, expression: Expression) -> Constant {
        let index = narrow(self.expressions.len() as u64);
        self.expressions.push(expression);
        Constant::Expression(index)
    }

    /// Decodes `[type?, flags?, range?, (type, value)…]`. The source element type is present if the number of
    /// operands is odd, and always in the newer forms.
    fn element_pointer(&mut self, record: &Record, types: &TypeTable) -> Option<Constant> {
        let mut rest = record.values.as_slice();
        let mut pop = || {
            let (&first, tail) = rest.split_first()?;
            rest = tail;
            Some(first)
        };
        let newer = matches!(
            record.code,
            code::CE_GEP_WITH_INRANGE_INDEX | code::CE_GEP_WITH_INRANGE | code::CE_GEP
        );
        let mut source = None;
        if newer || record.values.len() % 2 == 1 {
            source = Some(TypeId(narrow(pop()?)));
        }
        let mut flags = u32::from(record.code == code::CE_INBOUNDS_GEP);
        let mut in_range = 0;
        let mut bounds = Slice::default();
        match record.code {
            code::CE_GEP_WITH_INRANGE_INDEX => {
                let packed = pop()?;
                flags = narrow(packed & 1);
                in_range = narrow(packed >> 1).saturating_add(1);
            }
            code::CE_GEP => flags = narrow(pop()?),
            code::CE_GEP_WITH_INRANGE => {
                flags = narrow(pop()?);
                let width = pop()?;
                if width > 64 {
                    return None;
                }
                let words = [unrotate(pop()?), unrotate(pop()?)];
                bounds = self.add_words(&words);
            }
            _ => {}
        }
        if rest.len() < 2 || !rest.len().is_multiple_of(2) {
            return None;
        }
        let first_type = TypeId(narrow(*rest.first()?));
        let ty = match source {
            Some(ty) => ty,
            None => types.pointee(types.scalar(first_type))?,
        };
        let operands = rest.chunks_exact(2).filter_map(|pair| pair.get(1)).map(|&id| ValueId(narrow(id)));
        let operands = Slice::extend(&mut self.values, operands);
        Some(self.add_expression(Expression {
            opcode: Opcode::GetElementPtr,
            flags,
            ty,
            in_range,
            bounds,
            operands,
        }))
    }
}
