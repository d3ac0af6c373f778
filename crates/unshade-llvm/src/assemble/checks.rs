//! Reports constants and instructions that are not valid besides their syntax: by the [rules](crate::rules) that text
//! and builder share.

use super::error::Parsed;
use super::parser::Parser;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::rules;
use alloc::string::ToString;
use alloc::vec::Vec;

impl Parser<'_> {
    /// Checks that a cast is valid.
    pub(super) fn check_cast(&self, opcode: Opcode, from: TypeId, to: TypeId, at: usize) -> Parsed<()> {
        if rules::is_cast_valid(&self.module.types, opcode, from, to) {
            return Ok(());
        }
        let (from, to) = (self.shown_type(from), self.shown_type(to));
        self.fault_at(at, alloc::format!("invalid cast opcode for cast from '{from}' to '{to}'"))
    }

    /// Checks the orderings of `cmpxchg`.
    pub(super) fn check_exchange(&self, success: u64, failure: u64, at: usize) -> Parsed<()> {
        self.checked(rules::check_exchange(success, failure), at)
    }

    /// Checks the ordering of an atomic load or store.
    pub(super) fn check_access(&self, opcode: Opcode, found: u64, at: usize) -> Parsed<()> {
        self.checked(rules::check_access(opcode, found), at)
    }

    /// Checks the ordering of a fence.
    pub(super) fn check_fence(&self, found: u64, at: usize) -> Parsed<()> {
        self.checked(rules::check_fence(found), at)
    }

    /// Checks the type that an operation of `atomicrmw` works on.
    pub(super) fn check_atomic_operation(&self, operation: u16, ty: TypeId, at: usize) -> Parsed<()> {
        self.checked(rules::check_atomic_operation(&self.module.types, self.version, operation, ty), at)
    }

    /// Checks the constraints of inline assembly that is called as a function of this type.
    pub(super) fn check_assembly(&self, function: TypeId, constraints: &[u8], at: usize) -> Parsed<()> {
        self.checked(rules::check_assembly(&self.module.types, self.version, function, constraints), at)
    }

    /// Returns the result of a check at a position.
    fn checked<E: ToString>(&self, check: Result<(), E>, at: usize) -> Parsed<()> {
        check.or_else(|message| self.fault_at(at, message))
    }

    /// Returns the type of the result of an operation on constants or values, if the operands fit it.
    pub(super) fn result_type(&mut self, opcode: Opcode, operands: &[ValueId]) -> Option<TypeId> {
        let types: Vec<TypeId> = operands.iter().map(|&operand| self.type_of(operand)).collect();
        rules::result_type(&mut self.module.types, opcode, &types)
    }

    /// Returns the type of a `getelementptr`, if its operands fit.
    pub(super) fn element_pointer_type(&mut self, source: TypeId, operands: &[ValueId]) -> Option<TypeId> {
        let body = self.function.as_ref().map(|function| &function.body);
        rules::element_pointer_type(&mut self.module, body, source, operands)
    }

    /// Checks that values of a type can be in memory.
    pub(super) fn check_size(&self, ty: TypeId, message: &str, at: usize) -> Parsed<()> {
        match rules::has_size(&self.module.types, self.version, ty) {
            true => Ok(()),
            false => self.fault_at(at, message),
        }
    }
}
