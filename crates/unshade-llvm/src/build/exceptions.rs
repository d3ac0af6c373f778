//! Calls that may throw and what handles it, jumps to addresses, and variable arguments.

use super::{CallOptions, FunctionBuilder};
use crate::ids::{BlockId, Slice, TypeId, ValueId};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::Operand;
use alloc::vec::Vec;
use unshade_core::Result;

impl FunctionBuilder<'_> {
    /// Builds `invoke`: a call that goes on at one block when it returns and at another when it throws.
    ///
    /// # Errors
    /// As [`FunctionBuilder::call_with`], or if there is no such block.
    pub fn invoke(
        &mut self,
        function_type: TypeId,
        callee: ValueId,
        arguments: &[Operand],
        normal: BlockId,
        unwind: BlockId,
        options: &CallOptions,
    ) -> Result<ValueId> {
        let (detail, result) = self.call_parts(Opcode::Invoke, function_type, callee, arguments, options)?;
        let mut operands = alloc::vec![Operand::value(callee)];
        operands.extend_from_slice(arguments);
        operands.extend([Operand::block(normal), Operand::block(unwind)]);
        self.append(Instruction { detail, ..Instruction::new(Opcode::Invoke, result) }, operands)
    }

    /// Builds `landingpad`, the first instruction of a block that an `invoke` unwinds to. Clauses are values to catch,
    /// or, with `true`, arrays to filter.
    ///
    /// # Errors
    /// If other instructions are before it, or it has neither clauses nor cleanup.
    pub fn landing_pad(&mut self, ty: TypeId, cleanup: bool, clauses: &[(ValueId, bool)]) -> Result<ValueId> {
        if self.current.is_some() && !self.is_at_start() {
            return self.fail_in(Opcode::LandingPad, "it is at the start of its block");
        }
        if !self.is_sized(ty) || (clauses.is_empty() && !cleanup) {
            return self.fail_types(Opcode::LandingPad, "it has a type, and a clause or cleanup", &[ty]);
        }
        for &(clause, is_filter) in clauses {
            let found = self.type_of(clause)?;
            let types = &self.module.module.types;
            let fits = match is_filter {
                true => matches!(types.get(found), Type::Array { .. }),
                false => types.is_pointer(found),
            };
            if !fits || !self.is_constant(clause) {
                return self.fail_types(
                    Opcode::LandingPad,
                    "a clause is a constant pointer or array",
                    &[found],
                );
            }
        }
        let kinds = clauses.iter().map(|&(_, is_filter)| u32::from(is_filter));
        let slice = Slice::extend(&mut self.body.indices, kinds);
        let values: Vec<ValueId> = clauses.iter().map(|&(value, _)| value).collect();
        let (detail, extra) = (slice.start, u32::from(cleanup));
        self.append_of(Instruction { detail, extra, ..Instruction::new(Opcode::LandingPad, ty) }, &values)
    }

    /// Builds `resume`: throws what a landing pad caught.
    ///
    /// # Errors
    /// If there is no such value.
    pub fn resume(&mut self, value: ValueId) -> Result<()> {
        let ty = self.type_of(value)?;
        if !self.is_sized(ty) {
            return self.fail_types(Opcode::Resume, "a type without a size", &[ty]);
        }
        let void = self.void();
        self.append_of(Instruction::new(Opcode::Resume, void), &[value]).map(drop)
    }

    /// Builds `indirectbr`: a jump to an address, which is that of one of these blocks.
    ///
    /// # Errors
    /// If the address is no pointer, or there is no such block.
    pub fn indirect_br(&mut self, address: ValueId, blocks: &[BlockId]) -> Result<()> {
        let ty = self.type_of(address)?;
        if !self.module.module.types.is_pointer(ty) {
            return self.fail_types(Opcode::IndirectBr, "the address is no pointer", &[ty]);
        }
        let mut operands = alloc::vec![Operand::value(address)];
        operands.extend(blocks.iter().map(|&block| Operand::block(block)));
        let void = self.void();
        self.append(Instruction::new(Opcode::IndirectBr, void), operands).map(drop)
    }

    /// Builds `va_arg`: the next variable argument.
    ///
    /// # Errors
    /// If the list is no pointer, or the type has no size.
    pub fn va_arg(&mut self, list: ValueId, ty: TypeId) -> Result<ValueId> {
        let found = self.type_of(list)?;
        if !self.module.module.types.is_pointer(found) || !self.is_sized(ty) {
            return self.fail_types(
                Opcode::VaArg,
                "the list is no pointer, or the type has no size",
                &[found, ty],
            );
        }
        self.append_of(Instruction::new(Opcode::VaArg, ty), &[list])
    }
}
