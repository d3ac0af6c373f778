//! The blocks of constants, of the module and of functions.

use super::block_info::ConstantLayout;
use super::source::Key;
use super::stream::{Layout, Shape, bits_for, is_char6, sign_extended_64};
use super::tables::active;
use super::{Version, Writer, unsupported};
use crate::bitstream::Scalar::{Char6, Fixed, Literal};
use crate::bitstream::Tail;
use crate::blocks;
use crate::constants::{Assembly, Constant, Constants, Expression, code};
use crate::ids::{TypeId, ValueId, rotate};
use crate::instruction::Opcode;
use crate::types::Type;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Result};

/// The abbreviations of the module's constants.
struct ModuleLayouts {
    aggregate: Layout,
    string: Layout,
    ascii: Layout,
    char6: Layout,
}

impl Writer<'_, '_> {
    /// Writes the constants of the module.
    pub(super) fn module_constants(&mut self) -> Result<()> {
        let range = self.numbering.module_constants();
        if range.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::CONSTANTS, 4, self.layouts.constants.len());
        let element = Fixed(bits_for(range.end + 1));
        let mut define =
            |code: u32, element| self.stream.define(&Shape(&[Literal(code.into())], Tail::Array(element)));
        let layouts = ModuleLayouts {
            aggregate: define(code::AGGREGATE, element),
            string: define(code::STRING, Fixed(8)),
            ascii: define(code::CSTRING, Fixed(7)),
            char6: define(code::CSTRING, Char6),
        };
        self.constant_records(range, Some(&layouts))?;
        self.stream.leave()
    }

    /// Writes the constants of a function.
    pub(super) fn function_constants(&mut self, range: Range<usize>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.stream.enter(blocks::CONSTANTS, 4, self.layouts.constants.len());
        self.constant_records(range, None)?;
        self.stream.leave()
    }

    fn constant_records(&mut self, range: Range<usize>, layouts: Option<&ModuleLayouts>) -> Result<()> {
        let mut last = TypeId::NONE;
        let mut record = Vec::new();
        for number in range {
            let Some((key, ty)) = self.numbering.numbered(number) else { continue };
            if ty != last {
                last = ty;
                let layout = self.layouts.of_constant(ConstantLayout::SetType);
                self.stream.record_as(layout, code::SETTYPE, &[self.numbering.ty(ty)?]);
            }
            record.clear();
            self.constant(key, ty, layouts, &mut record)?;
        }
        Ok(())
    }

    fn constant(
        &mut self,
        key: Key,
        ty: TypeId,
        layouts: Option<&ModuleLayouts>,
        record: &mut Vec<u64>,
    ) -> Result<()> {
        let source = &self.numbering.source;
        let value = source.value(key)?;
        let Some((constant, constants)) = source.constant(key, value) else {
            return Err(Error::without_offset(
                ErrorKind::BadValue,
                "a value that is no constant is used as one",
            ));
        };
        let is_integer = matches!(source.types.get(source.types.scalar(ty)), Type::Integer(_));
        let is_wrong = match constant {
            Constant::Integer(_) | Constant::WideInteger(_) => !is_integer,
            Constant::Float(_) | Constant::WideFloat(_) => !source.types.is_float(ty),
            _ => false,
        };
        if is_wrong {
            return Err(Error::without_offset(
                ErrorKind::BadValue,
                "constant number is not of a type of numbers",
            ));
        }
        let is_number = matches!(
            constant,
            Constant::Integer(1..) | Constant::WideInteger(_) | Constant::Float(1..) | Constant::WideFloat(_)
        );
        if is_number && matches!(source.types.get(ty), Type::Vector { .. }) {
            return Err(unsupported("a number as a vector can't be written in the form of this version"));
        }
        let code = match constant {
            Constant::Null | Constant::Integer(0) | Constant::Float(0) => code::NULL,
            Constant::Poison if self.version == Version::Dxc => {
                return Err(unsupported("poison can't be written in the form of this version"));
            }
            Constant::Poison => code::POISON,
            Constant::Undef => code::UNDEF,
            Constant::Integer(value) => {
                record.push(rotate(value));
                let layout = self.layouts.of_constant(ConstantLayout::Integer);
                self.stream.record_as(layout, code::INTEGER, record);
                return Ok(());
            }
            Constant::WideInteger(words) => {
                record.extend(active(constants.words(words)).iter().map(|&word| rotate(word)));
                code::WIDE_INTEGER
            }
            Constant::Float(bits) => {
                record.push(bits);
                code::FLOAT
            }
            Constant::WideFloat(words) => {
                record.extend_from_slice(constants.words(words));
                code::FLOAT
            }
            Constant::Aggregate(elements) => {
                for &element in constants.values(elements) {
                    record.push(self.numbering.value(key.scope, element)?.into());
                }
                let layout = layouts.map(|layouts| &layouts.aggregate);
                self.stream.record_as(layout, code::AGGREGATE, record);
                return Ok(());
            }
            Constant::Data(words) => match self.is_text(ty) {
                true => {
                    let text: Vec<u8> =
                        constants.words(words).iter().map(|&word| word.to_le_bytes()[0]).collect();
                    self.text(&text, layouts, record);
                    return Ok(());
                }
                false => {
                    record.extend_from_slice(constants.words(words));
                    code::DATA
                }
            },
            Constant::Text(text) => {
                self.text(constants.bytes(text), layouts, record);
                return Ok(());
            }
            Constant::Expression(index) => match constants.expression(index) {
                Some(expression) => return self.expression(key, ty, expression, constants, record),
                None => return Err(Error::without_offset(ErrorKind::OutOfRange, "constant does not exist")),
            },
            Constant::Assembly(index) => {
                if let Some(assembly) = constants.assembly(index) {
                    self.assembly(ty, assembly, constants, record)?;
                }
                code::INLINEASM
            }
            Constant::BlockAddress { function, block } => {
                self.typed(key, function, record)?;
                record.push(block.0.into());
                code::BLOCKADDRESS
            }
            Constant::DsoLocalEquivalent(symbol) => {
                self.typed(key, symbol, record)?;
                code::DSO_LOCAL_EQUIVALENT
            }
            Constant::NoCfi(symbol) => {
                self.typed(key, symbol, record)?;
                code::NO_CFI
            }
        };
        self.stream.record(code, record);
        Ok(())
    }

    /// Returns whether a type is an array of bytes.
    fn is_text(&self, ty: TypeId) -> bool {
        let types = &self.numbering.source.types;
        match types.get(ty) {
            Type::Array { element, .. } => types.get(element) == Type::Integer(8),
            _ => false,
        }
    }

    /// Writes an array of bytes: without its last one if that is the only zero.
    fn text(&mut self, text: &[u8], layouts: Option<&ModuleLayouts>, record: &mut Vec<u64>) {
        let (code, text, layout) = match text.split_last() {
            Some((0, text)) if !text.contains(&0) => {
                let layout = layouts.and_then(|layouts| {
                    if text.iter().all(|&byte| is_char6(byte)) {
                        Some(&layouts.char6)
                    } else {
                        text.is_ascii().then_some(&layouts.ascii)
                    }
                });
                (code::CSTRING, text, layout)
            }
            _ => (code::STRING, text, layouts.map(|layouts| &layouts.string)),
        };
        record.extend(text.iter().map(|&byte| u64::from(byte)));
        self.stream.record_as(layout, code, record);
    }

    /// Appends the type and the number of an operand of a constant.
    fn typed(&self, user: Key, id: ValueId, record: &mut Vec<u64>) -> Result<()> {
        let key = self.numbering.source.value_key(user.scope, id)?;
        let ty = self.numbering.source.value(key)?.ty;
        record.extend([self.numbering.ty(ty)?, self.numbering.value_of_key(key)?.into()]);
        Ok(())
    }

    fn assembly(
        &self,
        ty: TypeId,
        assembly: &Assembly,
        constants: &Constants,
        record: &mut Vec<u64>,
    ) -> Result<()> {
        let of_pointer = || self.numbering.source.types.pointee(ty);
        let Some(function) = Some(assembly.function_type).filter(|ty| ty.is_some()).or_else(of_pointer)
        else {
            return Err(unsupported("inline assembly without a function type can't be written"));
        };
        record.extend([self.numbering.ty(function)?, assembly.flags.into()]);
        for text in [assembly.text, assembly.constraints] {
            let text = constants.bytes(text);
            record.push(text.len() as u64);
            record.extend(text.iter().map(|&byte| sign_extended_64(byte)));
        }
        Ok(())
    }

    fn expression(
        &mut self,
        key: Key,
        ty: TypeId,
        expression: &Expression,
        constants: &Constants,
        record: &mut Vec<u64>,
    ) -> Result<()> {
        let operands = constants.values(expression.operands);
        let number = |at: usize| -> Result<u64> {
            let missing =
                || Error::without_offset(ErrorKind::BadValue, "constant expression lacks an operand");
            Ok(self.numbering.value(key.scope, *operands.get(at).ok_or_else(missing)?)?.into())
        };
        let operand = |at: usize| operands.get(at).copied().unwrap_or(ValueId::NONE);
        let flags = u64::from(expression.flags);
        let code = match expression.opcode {
            opcode if opcode.is_cast() => {
                record.push(opcode.cast_number().unwrap_or(0));
                self.typed(key, operand(0), record)?;
                let layout = self.layouts.of_constant(ConstantLayout::Cast).filter(|_| flags == 0);
                record.extend((flags != 0).then_some(flags));
                self.stream.record_as(layout, code::CE_CAST, record);
                return Ok(());
            }
            opcode if opcode.is_binary() => {
                record.extend([opcode.binary_number().unwrap_or(0), number(0)?, number(1)?]);
                record.extend((flags != 0).then_some(flags));
                code::CE_BINOP
            }
            Opcode::FNeg => {
                record.extend([0, number(0)?]);
                record.extend((flags != 0).then_some(flags));
                code::CE_UNOP
            }
            Opcode::GetElementPtr => {
                let code = self.element_pointer(ty, expression, constants, record)?;
                for &operand in operands {
                    self.typed(key, operand, record)?;
                }
                code
            }
            Opcode::Select => {
                record.extend([number(0)?, number(1)?, number(2)?]);
                code::CE_SELECT
            }
            Opcode::ExtractElement => {
                self.typed(key, operand(0), record)?;
                self.typed(key, operand(1), record)?;
                code::CE_EXTRACTELT
            }
            Opcode::InsertElement => {
                record.extend([number(0)?, number(1)?]);
                self.typed(key, operand(2), record)?;
                code::CE_INSERTELT
            }
            Opcode::ShuffleVector => {
                let source = &self.numbering.source;
                let first = source.value(source.value_key(key.scope, operand(0))?)?.ty;
                let code = if first == ty {
                    code::CE_SHUFFLEVEC
                } else {
                    record.push(self.numbering.ty(first)?);
                    code::CE_SHUFVEC_EX
                };
                record.extend([number(0)?, number(1)?, number(2)?]);
                code
            }
            Opcode::ICmp | Opcode::FCmp => {
                let source = &self.numbering.source;
                let first = source.value(source.value_key(key.scope, operand(0))?)?.ty;
                if expression.ty.is_some() && expression.ty != first {
                    let message = "type of a constant comparison differs from that of its operands";
                    return Err(Error::without_offset(ErrorKind::BadValue, message));
                }
                record.extend([self.numbering.ty(first)?, number(0)?, number(1)?, flags]);
                code::CE_CMP
            }
            Opcode::PtrAuth => {
                if self.version.has_typed_pointers() || operands.len() > 4 {
                    return Err(unsupported("a signed pointer can't be written in the form of this version"));
                }
                record.extend([number(0)?, number(1)?, number(2)?, number(3)?]);
                code::PTRAUTH
            }
            _ => {
                return Err(Error::without_offset(
                    ErrorKind::BadValue,
                    "constant expression of an unknown operation",
                ));
            }
        };
        self.stream.record(code, record);
        Ok(())
    }

    /// Begins the record of a constant `getelementptr`, and returns its code.
    fn element_pointer(
        &self,
        ty: TypeId,
        expression: &Expression,
        constants: &Constants,
        record: &mut Vec<u64>,
    ) -> Result<u32> {
        record.push(self.numbering.ty(expression.ty)?);
        let flags = u64::from(expression.flags);
        let bounds = constants.words(expression.bounds);
        if self.version.has_typed_pointers() {
            if !bounds.is_empty() || flags > 1 {
                return Err(unsupported(
                    "flags of a constant getelementptr can't be written in the form of this version",
                ));
            }
            return Ok(match expression.in_range.checked_sub(1) {
                Some(index) => {
                    record.push(u64::from(index) << 1 | flags);
                    code::CE_GEP_WITH_INRANGE_INDEX
                }
                None if flags == 1 => code::CE_INBOUNDS_GEP,
                None => code::CE_GEP_OLD,
            });
        }
        if expression.in_range != 0 {
            return Err(unsupported("an inrange index can't be written in the form of this version"));
        }
        record.push(flags);
        Ok(match bounds {
            [] => code::CE_GEP,
            bounds => {
                // The bounds are offsets in bytes, as wide as pointers into the address space.
                let source = &self.numbering.source;
                let space = source.types.address_space(ty).unwrap_or(0);
                record.push(source.module.data_layout.pointer_bits(space));
                record.extend(bounds.iter().map(|&bound| rotate(bound)));
                code::CE_GEP_WITH_INRANGE
            }
        })
    }
}
