//! Reads calls, branches and exception handling.

use super::{BodyReader, Fields, code};
use crate::body::{Bundle, Call, FunctionBody};
use crate::constants::Constant;
use crate::ids::{AttributeListId, MetadataId, Slice, TypeId, ValueId, narrow, unrotate};
use crate::instruction::Opcode;
use crate::types::Type;
use crate::value::{Operand, Value, ValueKind};
use alloc::vec::Vec;

/// The upper half of the first operand of old `switch` records, which hold their case values in the record.
const SWITCH_MAGIC: u64 = 0x4B5;
/// Marks an operand of a bundle that is metadata, since LLVM 22.
const BUNDLE_METADATA: u64 = 0x8000_0000;
/// Maximum number of cases that a range of an old `switch` expands to.
const MAX_SWITCH_RANGE: u64 = 1 << 16;

impl BodyReader<'_, '_> {
    pub(super) fn branch(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let then = self.block_operand(fields.next()?)?;
        let operands = if fields.is_empty() {
            self.operands(&[then])
        } else {
            let otherwise = self.block_operand(fields.next()?)?;
            let condition = self.untyped(&mut fields, self.types.bit)?;
            self.operands(&[Operand::value(condition), then, otherwise])
        };
        self.push(self.plain(Opcode::Br, self.types.void, operands));
        Some(())
    }

    pub(super) fn switch(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let first = fields.next()?;
        if first >> 16 == SWITCH_MAGIC {
            return self.switch_with_constants(fields);
        }
        let ty = self.ty(first)?;
        let condition = self.untyped(&mut fields, ty)?;
        let default = self.block_operand(fields.next()?)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(condition));
        self.body.operands.push(default);
        while fields.len() >= 2 {
            // Case values are constants, stored as absolute value numbers.
            let value = Operand::value(ValueId(narrow(fields.next()?)));
            let block = self.block_operand(fields.next()?)?;
            self.body.operands.push(value);
            self.body.operands.push(block);
        }
        self.finish_switch(start);
        Some(())
    }

    pub(super) fn finish_switch(&mut self, start: usize) {
        let count = narrow(self.body.operands.len().wrapping_sub(start) as u64);
        let operands = Slice { start: narrow(start as u64), count };
        self.push(self.plain(Opcode::Switch, self.types.void, operands));
    }

    /// Reads LLVM 3.2's form of `switch`: `[magic, type, condition, default, cases, (items, (single, low, high?)…,
    /// block)…]`.
    pub(super) fn switch_with_constants(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let ty = self.ty(fields.next()?)?;
        let Type::Integer(width) = self.module.types.get(ty) else { return None };
        if width > 64 {
            return None;
        }
        let condition = self.untyped(&mut fields, ty)?;
        let default = self.block_operand(fields.next()?)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(condition));
        self.body.operands.push(default);
        for _ in 0..fields.next()? {
            let mut case_values = Vec::new();
            for _ in 0..fields.next()? {
                let single = fields.next()? != 0;
                let low = unrotate(fields.next()?);
                let high = if single { low } else { unrotate(fields.next()?) };
                if high.wrapping_sub(low) > MAX_SWITCH_RANGE {
                    return None;
                }
                case_values.extend(low..=high);
            }
            let block = self.block_operand(fields.next()?)?;
            for case_value in case_values {
                let value = self.add_constant(Constant::Integer(case_value), ty);
                self.body.operands.push(Operand::value(value));
                self.body.operands.push(block);
            }
        }
        self.finish_switch(start);
        Some(())
    }

    /// Adds a constant that has no number in the file.
    pub(super) fn add_constant(&mut self, constant: Constant, ty: TypeId) -> ValueId {
        let kind = ValueKind::Constant(self.body.constants.add(constant));
        let id = FunctionBody::UNNUMBERED.saturating_add(narrow(self.body.unnumbered.len() as u64));
        self.body.unnumbered.push(Value { kind, ty });
        ValueId(id)
    }

    pub(super) fn indirect_branch(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let ty = self.ty(fields.next()?)?;
        let address = self.untyped(&mut fields, ty)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(address));
        while let Some(stored) = fields.next() {
            let block = self.block_operand(stored)?;
            self.body.operands.push(block);
        }
        let count = narrow(self.body.operands.len().wrapping_sub(start) as u64);
        let operands = Slice { start: narrow(start as u64), count };
        self.push(self.plain(Opcode::IndirectBr, self.types.void, operands));
        Some(())
    }

    pub(super) fn bundle(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let tag = narrow(fields.next()?);
        let start = narrow(self.body.operands.len() as u64);
        let mut count = 0u32;
        while !fields.is_empty() {
            let operand = if fields.values.first() == Some(&BUNDLE_METADATA) {
                fields.next()?;
                Operand::metadata(MetadataId(self.absolute(fields.next()?)))
            } else {
                Operand::value(self.typed(&mut fields)?.0)
            };
            self.body.operands.push(operand);
            count = count.wrapping_add(1);
        }
        self.bundles.push(Bundle { tag, operands: Slice { start, count } });
        Some(())
    }

    pub(super) fn finish_call(&mut self, attributes: u64, function_type: TypeId, convention: u32, tail: u8) -> u32 {
        let bundles = core::mem::take(&mut self.bundles);
        let bundles = Slice::extend(&mut self.body.bundles, bundles);
        let attributes = self.module.attribute_list(attributes).unwrap_or(AttributeListId::NONE);
        let index = narrow(self.body.calls.len() as u64);
        self.body.calls.push(Call { attributes, function_type, convention, tail, bundles });
        index
    }

    /// Returns the function type of a call: the stored type, or that of the callee.
    pub(super) fn callee_type(&self, explicit: Option<TypeId>, callee: TypeId) -> Option<TypeId> {
        let ty = match explicit {
            Some(ty) => ty,
            None => self.module.types.pointee(callee)?,
        };
        self.module.types.is_function(ty).then_some(ty)
    }

    /// Appends the arguments of a call to the operands, and returns the type of its result.
    pub(super) fn arguments(&mut self, fields: &mut Fields<'_>, function_type: TypeId) -> Option<TypeId> {
        let module = self.module;
        let Type::Function { result, parameters, variadic } = module.types.get(function_type) else {
            return None;
        };
        for &ty in module.types.elements(parameters) {
            let operand = match module.types.get(ty) {
                Type::Metadata => {
                    let id = self.absolute(fields.next()?);
                    Operand::metadata(MetadataId(id))
                }
                Type::Label => self.block_operand(fields.next()?)?,
                _ => Operand::value(self.untyped(fields, ty)?),
            };
            self.body.operands.push(operand);
        }
        if variadic {
            while !fields.is_empty() {
                let (value, _) = self.typed(fields)?;
                self.body.operands.push(Operand::value(value));
            }
        }
        fields.is_empty().then_some(result)
    }

    pub(super) fn call(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let attributes = fields.next()?;
        let bits = fields.next()?;
        let flags = if bits >> 17 & 1 != 0 { fields.next()? } else { 0 };
        let explicit = if bits >> 15 & 1 != 0 { Some(self.ty(fields.next()?)?) } else { None };
        let (callee, callee_type) = self.typed(&mut fields)?;
        let function_type = self.callee_type(explicit, callee_type)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(callee));
        let ty = self.arguments(&mut fields, function_type)?;
        let tail = (bits & 1) | (bits >> 14 & 1) << 1 | (bits >> 16 & 1) << 2;
        let convention = narrow((bits & 0x7FF) >> 1);
        let detail = self.finish_call(attributes, function_type, convention, tail.to_le_bytes()[0]);
        let mut instruction = self.plain(Opcode::Call, ty, self.operands_from(start));
        instruction.flags = (flags & 0xFFFF) as u16;
        instruction.detail = detail;
        self.push(instruction);
        Some(())
    }

    pub(super) fn invoke(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let attributes = fields.next()?;
        let bits = fields.next()?;
        let normal = self.block_operand(fields.next()?)?;
        let unwind = self.block_operand(fields.next()?)?;
        let explicit = if bits >> 13 & 1 != 0 { Some(self.ty(fields.next()?)?) } else { None };
        let (callee, callee_type) = self.typed(&mut fields)?;
        let function_type = self.callee_type(explicit, callee_type)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(callee));
        let ty = self.arguments(&mut fields, function_type)?;
        self.body.operands.push(normal);
        self.body.operands.push(unwind);
        let detail = self.finish_call(attributes, function_type, narrow(bits & 0x3FF), 0);
        let mut instruction = self.plain(Opcode::Invoke, ty, self.operands_from(start));
        instruction.detail = detail;
        self.push(instruction);
        Some(())
    }

    pub(super) fn call_branch(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let attributes = fields.next()?;
        let bits = fields.next()?;
        let default = self.block_operand(fields.next()?)?;
        let mut indirect = Vec::new();
        for _ in 0..fields.next()? {
            indirect.push(self.block_operand(fields.next()?)?);
        }
        let explicit = if bits >> 15 & 1 != 0 { Some(self.ty(fields.next()?)?) } else { None };
        let (callee, callee_type) = self.typed(&mut fields)?;
        let function_type = self.callee_type(explicit, callee_type)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(callee));
        let ty = self.arguments(&mut fields, function_type)?;
        self.body.operands.push(default);
        self.body.operands.extend_from_slice(&indirect);
        let detail = self.finish_call(attributes, function_type, narrow((bits & 0x7FF) >> 1), 0);
        let mut instruction = self.plain(Opcode::CallBr, ty, self.operands_from(start));
        instruction.detail = detail;
        instruction.extra = narrow(indirect.len() as u64);
        self.push(instruction);
        Some(())
    }

    pub(super) fn va_arg(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let list_type = self.ty(fields.next()?)?;
        let list = self.untyped(&mut fields, list_type)?;
        let ty = self.ty(fields.next()?)?;
        let operands = self.operands(&[Operand::value(list)]);
        self.push(self.plain(Opcode::VaArg, ty, operands));
        Some(())
    }

    pub(super) fn landing_pad(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let ty = self.ty(fields.next()?)?;
        if code == code::LANDINGPAD_OLD {
            let (personality, _) = self.typed(&mut fields)?;
            self.body.personality.get_or_insert(personality);
        }
        let cleanup = fields.next()?;
        let clauses = fields.next()?;
        let start = self.body.operands.len();
        let kinds = narrow(self.body.indices.len() as u64);
        for _ in 0..clauses {
            let kind = narrow(fields.next()?);
            let (value, _) = self.typed(&mut fields)?;
            self.body.indices.push(kind);
            self.body.operands.push(Operand::value(value));
        }
        let mut instruction = self.plain(Opcode::LandingPad, ty, self.operands_from(start));
        instruction.detail = kinds;
        instruction.extra = u32::from(cleanup != 0);
        self.push(instruction);
        Some(())
    }

    pub(super) fn pad_return(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let pad = self.untyped(&mut fields, self.types.token)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(pad));
        if let Some(stored) = fields.next() {
            let block = self.block_operand(stored)?;
            self.body.operands.push(block);
        }
        let opcode = if code == code::CLEANUPRET { Opcode::CleanupRet } else { Opcode::CatchRet };
        self.push(self.plain(opcode, self.types.void, self.operands_from(start)));
        Some(())
    }

    pub(super) fn pad(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let parent = self.untyped(&mut fields, self.types.token)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(parent));
        for _ in 0..fields.next()? {
            let (value, _) = self.typed(&mut fields)?;
            self.body.operands.push(Operand::value(value));
        }
        let opcode = if code == code::CLEANUPPAD { Opcode::CleanupPad } else { Opcode::CatchPad };
        self.push(self.plain(opcode, self.types.token, self.operands_from(start)));
        Some(())
    }

    pub(super) fn catch_switch(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let parent = self.untyped(&mut fields, self.types.token)?;
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(parent));
        for _ in 0..fields.next()? {
            let block = self.block_operand(fields.next()?)?;
            self.body.operands.push(block);
        }
        let unwinds = !fields.is_empty();
        if unwinds {
            let block = self.block_operand(fields.next()?)?;
            self.body.operands.push(block);
        }
        let mut instruction = self.plain(Opcode::CatchSwitch, self.types.token, self.operands_from(start));
        instruction.detail = u32::from(unwinds);
        self.push(instruction);
        Some(())
    }
}
