//! The records of instructions.
//!
//! Operands are stored relative to the number of the next value, in 32 bits. One that is not defined yet is followed
//! by its type, if the type does not follow from the instruction.

use super::block_info::InstructionLayout;
use super::operands::block_count;
use super::source::Scope;
use super::{Version, Writer, unsupported};
use crate::body::{Call, FunctionBody};
use crate::body_reader::code;
use crate::ids::{TypeId, rotate};
use crate::instruction::{Instruction, Opcode, atomic_operations};
use crate::types::Type;
use crate::value::{Operand, OperandKind};
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// The state of writing one instruction.
struct Record<'w, 'b> {
    scope: Scope,
    body: &'b FunctionBody,
    operands: &'b [Operand],
    /// The number of the next value.
    next: u32,
    fields: &'w mut Vec<u64>,
}

fn malformed() -> Error {
    Error::without_offset(ErrorKind::BadValue, "instruction lacks an operand")
}

/// Returns whether an instruction, or one of its flags, is newer than a version.
fn is_newer(instruction: &Instruction, version: Version) -> bool {
    let flags = instruction.flags;
    let is_14 = version.has_typed_pointers();
    match instruction.opcode {
        Opcode::PtrToAddr => true,
        Opcode::AtomicRmw => usize::from(flags >> 8) >= atomic_operations(version).len(),
        Opcode::ICmp | Opcode::FpTrunc | Opcode::FpExt => flags != 0,
        Opcode::Or | Opcode::Trunc | Opcode::ZExt | Opcode::UiToFp => is_14 && flags != 0,
        Opcode::GetElementPtr => is_14 && flags > 1,
        _ => false,
    }
}

impl Writer<'_, '_> {
    /// Writes an instruction. `next` is the number of the next value.
    pub(super) fn instruction(
        &mut self,
        scope: Scope,
        body: &FunctionBody,
        instruction: &Instruction,
        next: u32,
        fields: &mut Vec<u64>,
    ) -> Result<()> {
        if is_newer(instruction, self.version) {
            return Err(unsupported("an instruction has what can't be written in the form of this version"));
        }
        if self.version == Version::Dxc {
            super::dxc::check_instruction(body, instruction)?;
        }
        let operands = body.operands_of(instruction);
        let mut record = Record { scope, body, operands, next, fields };
        if let Opcode::Call | Opcode::Invoke | Opcode::CallBr = instruction.opcode {
            let call = body.calls.get(instruction.detail as usize).ok_or_else(malformed)?;
            self.bundles(&mut record, call)?;
            let code = self.call(&mut record, instruction, call)?;
            self.stream.record(code, record.fields);
            return Ok(());
        }
        let (code, layout) = if instruction.opcode.is_terminator() {
            self.terminator(&mut record, instruction)?
        } else {
            match instruction.opcode {
                Opcode::Alloca
                | Opcode::Load
                | Opcode::Store
                | Opcode::Fence
                | Opcode::CmpXchg
                | Opcode::AtomicRmw
                | Opcode::GetElementPtr => self.memory(&mut record, instruction)?,
                _ => self.operation(&mut record, instruction)?,
            }
        };
        let layout = layout.and_then(|layout| self.layouts.of_instruction(layout));
        self.stream.record_as(layout, code, record.fields);
        Ok(())
    }

    /// Appends the relative number of an operand, and its type if it is not defined yet. Returns whether it is.
    fn operand(&self, record: &mut Record<'_, '_>, operand: Operand) -> Result<bool> {
        let id = operand.as_value().ok_or_else(malformed)?;
        let key = self.numbering.source.value_key(record.scope, id)?;
        let number = self.numbering.value_of_key(key)?;
        record.fields.push(record.next.wrapping_sub(number).into());
        if number < record.next {
            return Ok(true);
        }
        let ty = self.numbering.source.value(key)?.ty;
        record.fields.push(self.numbering.ty(ty)?);
        Ok(false)
    }

    fn typed_at(&self, record: &mut Record<'_, '_>, at: usize) -> Result<bool> {
        let operand = *record.operands.get(at).ok_or_else(malformed)?;
        self.operand(record, operand)
    }

    /// Appends the relative number of an operand, whose type follows from the instruction.
    fn untyped(&self, record: &mut Record<'_, '_>, operand: Operand) -> Result<()> {
        let number = match operand.kind() {
            OperandKind::Value(id) => self.numbering.value(record.scope, id)?,
            OperandKind::Metadata(id) => {
                let number = self.numbering.metadata_number(record.scope, id)?;
                u32::try_from(number - 1).unwrap_or(u32::MAX)
            }
            OperandKind::Block(block) => {
                record.fields.push(block.0.into());
                return Ok(());
            }
        };
        record.fields.push(record.next.wrapping_sub(number).into());
        Ok(())
    }

    fn untyped_at(&self, record: &mut Record<'_, '_>, at: usize) -> Result<()> {
        let operand = *record.operands.get(at).ok_or_else(malformed)?;
        self.untyped(record, operand)
    }

    /// Appends the number of a block.
    fn block_at(&self, record: &mut Record<'_, '_>, at: usize) -> Result<()> {
        let block = record.operands.get(at).and_then(|operand| operand.as_block()).ok_or_else(malformed)?;
        if block.index() >= record.body.blocks.len() {
            return Err(Error::without_offset(ErrorKind::OutOfRange, "a block that does not exist is used"));
        }
        record.fields.push(block.0.into());
        Ok(())
    }

    fn type_of(&self, record: &Record<'_, '_>, at: usize) -> Result<TypeId> {
        let id = record.operands.get(at).and_then(|operand| operand.as_value()).ok_or_else(malformed)?;
        let source = &self.numbering.source;
        Ok(source.value(source.value_key(record.scope, id)?)?.ty)
    }

    /// Writes the operand bundles of a call, as records before its own.
    fn bundles(&mut self, record: &mut Record<'_, '_>, call: &Call) -> Result<()> {
        for bundle in call.bundles.of(&record.body.bundles) {
            record.fields.push(self.tags.number(bundle.tag)?);
            for &operand in bundle.operands.of(&record.body.operands) {
                if matches!(operand.kind(), OperandKind::Metadata(_)) {
                    return Err(unsupported(
                        "metadata in an operand bundle can't be written in the form of this version",
                    ));
                }
                self.operand(record, operand)?;
            }
            self.stream.record(code::OPERAND_BUNDLE, record.fields);
            record.fields.clear();
        }
        Ok(())
    }

    fn call(&self, record: &mut Record<'_, '_>, instruction: &Instruction, call: &Call) -> Result<u32> {
        let attributes = self.numbering.attributes.list(call.attributes);
        let convention = u64::from(call.convention);
        let function_type = self.numbering.ty(call.function_type)?;
        let blocks = block_count(instruction);
        let arguments =
            record.operands.len().checked_sub(blocks).filter(|&end| end > 0).ok_or_else(malformed)?;
        let code = match instruction.opcode {
            Opcode::Invoke => {
                record.fields.extend([attributes, convention | 1 << 13]);
                self.block_at(record, arguments)?;
                self.block_at(record, arguments + 1)?;
                code::INVOKE
            }
            Opcode::CallBr => {
                record.fields.extend([attributes, convention << 1 | 1 << 15]);
                self.block_at(record, arguments)?;
                record.fields.push(instruction.extra.into());
                for at in arguments + 1..record.operands.len() {
                    self.block_at(record, at)?;
                }
                code::CALLBR
            }
            _ => {
                let [tail, must_tail, no_tail] = [0, 1, 2].map(|bit| u64::from(call.tail >> bit & 1));
                let flags = u64::from(instruction.flags);
                let bits = convention << 1
                    | tail
                    | must_tail
                    | must_tail << 14
                    | 1 << 15
                    | no_tail << 16
                    | u64::from(flags != 0) << 17;
                record.fields.extend([attributes, bits]);
                record.fields.extend((flags != 0).then_some(flags));
                code::CALL
            }
        };
        record.fields.push(function_type);
        self.typed_at(record, 0)?;
        let Type::Function { parameters, .. } = self.numbering.source.types.get(call.function_type) else {
            return Err(Error::without_offset(ErrorKind::BadValue, "type of a call is no function type"));
        };
        let arguments = record.operands.get(1..arguments).unwrap_or_default();
        for (at, &argument) in arguments.iter().enumerate() {
            if at < parameters.len() {
                self.untyped(record, argument)?;
            } else {
                self.operand(record, argument)?;
            }
        }
        Ok(code)
    }

    fn terminator(
        &self,
        record: &mut Record<'_, '_>,
        instruction: &Instruction,
    ) -> Result<(u32, Option<InstructionLayout>)> {
        let count = record.operands.len();
        Ok(match instruction.opcode {
            Opcode::Ret if count == 0 => (code::RET, Some(InstructionLayout::ReturnVoid)),
            Opcode::Ret => {
                let is_known = self.typed_at(record, 0)?;
                (code::RET, is_known.then_some(InstructionLayout::Return))
            }
            Opcode::Br => {
                if count == 1 {
                    self.block_at(record, 0)?;
                } else {
                    self.block_at(record, 1)?;
                    self.block_at(record, 2)?;
                    self.untyped_at(record, 0)?;
                }
                (code::BR, None)
            }
            Opcode::Switch => {
                let ty = self.type_of(record, 0)?;
                record.fields.push(self.numbering.ty(ty)?);
                self.untyped_at(record, 0)?;
                self.block_at(record, 1)?;
                for at in (2..count).step_by(2) {
                    let id = record
                        .operands
                        .get(at)
                        .and_then(|operand| operand.as_value())
                        .ok_or_else(malformed)?;
                    record.fields.push(self.numbering.value(record.scope, id)?.into());
                    self.block_at(record, at + 1)?;
                }
                (code::SWITCH, None)
            }
            Opcode::IndirectBr => {
                let ty = self.type_of(record, 0)?;
                record.fields.push(self.numbering.ty(ty)?);
                self.untyped_at(record, 0)?;
                (1..count).try_for_each(|at| self.block_at(record, at))?;
                (code::INDIRECTBR, None)
            }
            Opcode::Resume => {
                self.typed_at(record, 0)?;
                (code::RESUME, None)
            }
            Opcode::Unreachable => (code::UNREACHABLE, Some(InstructionLayout::Unreachable)),
            Opcode::CleanupRet | Opcode::CatchRet => {
                self.untyped_at(record, 0)?;
                (1..count).try_for_each(|at| self.block_at(record, at))?;
                (
                    if instruction.opcode == Opcode::CleanupRet { code::CLEANUPRET } else { code::CATCHRET },
                    None,
                )
            }
            Opcode::CatchSwitch => {
                self.untyped_at(record, 0)?;
                let unwinds = usize::from(instruction.detail != 0);
                record.fields.push((count.saturating_sub(1 + unwinds)) as u64);
                (1..count).try_for_each(|at| self.block_at(record, at))?;
                (code::CATCHSWITCH, None)
            }
            _ => return Err(unsupported("an instruction of an unknown operation can't be written")),
        })
    }

    fn memory(
        &self,
        record: &mut Record<'_, '_>,
        instruction: &Instruction,
    ) -> Result<(u32, Option<InstructionLayout>)> {
        let memory = instruction.memory();
        let alignment = memory.alignment().map_or(0, |exponent| u64::from(exponent) + 1);
        let ordering = u64::from(memory.ordering());
        let is_volatile = u64::from(instruction.flags & 1);
        let is_atomic = ordering != 0;
        Ok(match instruction.opcode {
            Opcode::Alloca => {
                self.alloca(record, instruction, alignment)?;
                (code::ALLOCA, None)
            }
            Opcode::GetElementPtr => {
                record
                    .fields
                    .extend([instruction.flags.into(), self.numbering.ty(TypeId(instruction.detail))?]);
                for at in 0..record.operands.len() {
                    self.typed_at(record, at)?;
                }
                (code::GEP, Some(InstructionLayout::ElementPointer))
            }
            Opcode::Load => {
                let is_known = self.typed_at(record, 0)?;
                record.fields.extend([self.numbering.ty(instruction.ty)?, alignment, is_volatile]);
                if is_atomic {
                    record.fields.extend([ordering, self.scopes.number(instruction.detail)?]);
                    (code::LOADATOMIC, None)
                } else {
                    (code::LOAD, is_known.then_some(InstructionLayout::Load))
                }
            }
            Opcode::Store => {
                self.typed_at(record, 1)?;
                self.typed_at(record, 0)?;
                record.fields.extend([alignment, is_volatile]);
                if is_atomic {
                    record.fields.extend([ordering, self.scopes.number(instruction.detail)?]);
                    (code::STOREATOMIC, None)
                } else {
                    (code::STORE, None)
                }
            }
            Opcode::Fence => {
                record.fields.extend([ordering, self.scopes.number(instruction.detail)?]);
                (code::FENCE, None)
            }
            Opcode::CmpXchg => {
                self.typed_at(record, 0)?;
                self.typed_at(record, 1)?;
                self.untyped_at(record, 2)?;
                let is_weak = u64::from(instruction.flags >> 1 & 1);
                let scope = self.scopes.number(instruction.detail)?;
                record.fields.extend([is_volatile, ordering, scope, memory.failure().into(), is_weak]);
                record.fields.extend((self.version != Version::Dxc).then_some(alignment));
                (code::CMPXCHG, None)
            }
            _ => {
                let is_old = self.version == Version::Dxc;
                self.typed_at(record, 0)?;
                if is_old {
                    self.untyped_at(record, 1)?;
                } else {
                    self.typed_at(record, 1)?;
                }
                let operation = u64::from(instruction.flags >> 8);
                let scope = self.scopes.number(instruction.detail)?;
                record.fields.extend([operation, is_volatile, ordering, scope]);
                record.fields.extend((!is_old).then_some(alignment));
                (if is_old { code::ATOMICRMW_OLD } else { code::ATOMICRMW }, None)
            }
        })
    }

    /// Appends the fields of an `alloca`. Bits of the last one: 0 to 4 and 8 to 10 alignment, 5 `inalloca`, 6 the type
    /// is that of the variable, 7 `swifterror`.
    fn alloca(&self, record: &mut Record<'_, '_>, instruction: &Instruction, alignment: u64) -> Result<()> {
        let size = record.operands.first().and_then(|operand| operand.as_value()).ok_or_else(malformed)?;
        let size_type = self.type_of(record, 0)?;
        let flags = u64::from(instruction.flags);
        let packed =
            alignment & 31 | (flags & 1) << 5 | 1 << 6 | (flags >> 1 & 1) << 7 | (alignment >> 5) << 8;
        record.fields.extend([
            self.numbering.ty(TypeId(instruction.detail))?,
            self.numbering.ty(size_type)?,
            self.numbering.value(record.scope, size)?.into(),
            packed,
        ]);
        let source = &self.numbering.source;
        let space = source.types.address_space(instruction.ty).unwrap_or(0);
        if space != source.module.data_layout.alloca_address_space() {
            if self.version.has_typed_pointers() {
                return Err(unsupported(
                    "alloca in another address space can't be written in the form of this version",
                ));
            }
            record.fields.push(space.into());
        }
        Ok(())
    }

    fn operation(
        &self,
        record: &mut Record<'_, '_>,
        instruction: &Instruction,
    ) -> Result<(u32, Option<InstructionLayout>)> {
        let flags = u64::from(instruction.flags);
        let has_flags = flags != 0;
        let opcode = instruction.opcode;
        let result = self.numbering.ty(instruction.ty)?;
        let either = |plain, with_flags| Some(if has_flags { with_flags } else { plain });
        let mut is_known = false;
        let (code, layout) = match opcode {
            _ if opcode.is_cast() => {
                is_known = self.typed_at(record, 0)?;
                record.fields.extend([result, opcode.cast_number().unwrap_or(0)]);
                (code::CAST, either(InstructionLayout::Cast, InstructionLayout::CastFlags))
            }
            _ if opcode.is_binary() => {
                is_known = self.typed_at(record, 0)?;
                self.untyped_at(record, 1)?;
                record.fields.push(opcode.binary_number().unwrap_or(0));
                (code::BINOP, either(InstructionLayout::Binary, InstructionLayout::BinaryFlags))
            }
            Opcode::FNeg => {
                is_known = self.typed_at(record, 0)?;
                record.fields.push(0);
                (code::UNOP, either(InstructionLayout::Unary, InstructionLayout::UnaryFlags))
            }
            Opcode::ICmp | Opcode::FCmp => {
                self.typed_at(record, 0)?;
                self.untyped_at(record, 1)?;
                record.fields.push(instruction.detail.into());
                (code::CMP2, None)
            }
            Opcode::Phi => {
                self.phi(record, result)?;
                (code::PHI, None)
            }
            Opcode::Select => {
                self.typed_at(record, 1)?;
                self.untyped_at(record, 2)?;
                self.typed_at(record, 0)?;
                (code::VSELECT, None)
            }
            _ => return Ok((self.element(record, instruction, result)?, None)),
        };
        record.fields.extend(has_flags.then_some(flags));
        Ok((code, layout.filter(|_| is_known)))
    }

    fn phi(&self, record: &mut Record<'_, '_>, result: u64) -> Result<()> {
        record.fields.push(result);
        for at in (0..record.operands.len()).step_by(2) {
            let id = record.operands.get(at).and_then(|operand| operand.as_value()).ok_or_else(malformed)?;
            let number = self.numbering.value(record.scope, id)?;
            let distance = i64::from(record.next) - i64::from(number);
            record.fields.push(rotate(distance as u64));
            self.block_at(record, at + 1)?;
        }
        Ok(())
    }

    /// Appends the fields of instructions on elements of vectors and aggregates, of pads, and of the rest; returns
    /// the code.
    fn element(&self, record: &mut Record<'_, '_>, instruction: &Instruction, result: u64) -> Result<u32> {
        let indices = || {
            let start = instruction.detail as usize;
            let indices = record.body.indices.get(start..start.saturating_add(instruction.extra as usize));
            indices.unwrap_or_default().iter().map(|&index| u64::from(index))
        };
        Ok(match instruction.opcode {
            Opcode::ExtractElement => {
                self.typed_at(record, 0)?;
                self.typed_at(record, 1)?;
                code::EXTRACTELT
            }
            Opcode::InsertElement => {
                self.typed_at(record, 0)?;
                self.untyped_at(record, 1)?;
                self.typed_at(record, 2)?;
                code::INSERTELT
            }
            Opcode::ShuffleVector => {
                self.typed_at(record, 0)?;
                self.untyped_at(record, 1)?;
                if self.version == Version::Dxc {
                    self.untyped_at(record, 2)?;
                } else {
                    self.typed_at(record, 2)?;
                }
                code::SHUFFLEVEC
            }
            Opcode::ExtractValue => {
                let indices: Vec<u64> = indices().collect();
                self.typed_at(record, 0)?;
                record.fields.extend(indices);
                code::EXTRACTVAL
            }
            Opcode::InsertValue => {
                let indices: Vec<u64> = indices().collect();
                self.typed_at(record, 0)?;
                self.typed_at(record, 1)?;
                record.fields.extend(indices);
                code::INSERTVAL
            }
            Opcode::Freeze => {
                self.typed_at(record, 0)?;
                code::FREEZE
            }
            Opcode::VaArg => {
                let ty = self.type_of(record, 0)?;
                record.fields.push(self.numbering.ty(ty)?);
                self.untyped_at(record, 0)?;
                record.fields.push(result);
                code::VAARG
            }
            Opcode::LandingPad => {
                record.fields.extend([result, (instruction.extra & 1).into(), record.operands.len() as u64]);
                for at in 0..record.operands.len() {
                    let kind = record.body.indices.get(instruction.detail as usize + at).copied();
                    record.fields.push(kind.ok_or_else(malformed)?.into());
                    self.typed_at(record, at)?;
                }
                code::LANDINGPAD
            }
            Opcode::CatchPad | Opcode::CleanupPad => {
                self.untyped_at(record, 0)?;
                record.fields.push((record.operands.len() as u64).saturating_sub(1));
                for at in 1..record.operands.len() {
                    self.typed_at(record, at)?;
                }
                if instruction.opcode == Opcode::CatchPad { code::CATCHPAD } else { code::CLEANUPPAD }
            }
            _ => return Err(unsupported("an instruction of an unknown operation can't be written")),
        })
    }
}
