//! Parses memory instructions: `alloca`, loads, stores, fences and atomic operations.

use super::Version;
use super::error::Parsed;
use super::lexer::Token;
use super::parser::Parser;
use crate::ids::{TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Memory, ORDERINGS, Opcode, atomic_operations};
use crate::types::Type;
use crate::value::Operand;
use crate::write::fixed_names::SCOPES;
use alloc::vec::Vec;

/// The number of the scope of the whole system.
const SYSTEM: u32 = 1;

impl Parser<'_> {
    pub(super) fn alloca(&mut self) -> Parsed<Instruction> {
        let flags = u16::from(self.eat_word("inalloca")) | u16::from(self.eat_word("swifterror")) << 1;
        let at = self.at;
        let ty = self.ty()?;
        self.check_size(ty, "cannot allocate a type without a size", at)?;
        let mut size = None;
        let mut alignment = 0;
        let mut address_space = None;
        while self.is(b',') && !matches!(self.peek(), Token::Metadata(_)) {
            self.advance();
            if address_space.is_some() {
                return self.fault("expected metadata after comma");
            }
            if self.eat_word("align") {
                alignment = self.alignment()?;
            } else if self.is_word("addrspace") {
                address_space = Some(self.address_space()?);
            } else if size.is_none() && alignment == 0 {
                size = Some(self.typed_operand()?);
            } else {
                return self.fault("expected metadata after comma");
            }
        }
        if size.is_none() {
            let word = self.module.types.intern(Type::Integer(32));
            let one = self.constant(word, &crate::constants::NewConstant::Integer(1));
            self.push_operand(Operand::value(one))?;
        }
        // LLVM 3.7 keeps that there is no alignment.
        if alignment == 0 && self.version != Version::Dxc {
            let bytes = self.module.data_layout.preferred_alignment(&self.module.types, ty);
            alignment = self.alignment_of(bytes.max(1).next_power_of_two(), self.at)?;
        }
        // The data layout does not say where a variable of a text is.
        let address_space = address_space.unwrap_or(0);
        let pointer = self.pointer_to(ty, address_space);
        let extra = Memory::new(u64::from(alignment), 0, 0).0;
        Ok(Instruction { flags, detail: ty.0, extra, ..Instruction::new(Opcode::Alloca, pointer) })
    }

    pub(super) fn load(&mut self) -> Parsed<Instruction> {
        let atomic = self.eat_word("atomic");
        let flags = u16::from(self.eat_word("volatile"));
        let at = self.at;
        let ty = self.ty()?;
        self.check_size(ty, "loading a type without a size", at)?;
        self.expect(b',')?;
        self.pointer_operand(ty)?;
        self.access(Opcode::Load, atomic, flags, ty, ty)
    }

    pub(super) fn store(&mut self) -> Parsed<Instruction> {
        let atomic = self.eat_word("atomic");
        let flags = u16::from(self.eat_word("volatile"));
        let at = self.at;
        let (_, ty) = self.typed_operand()?;
        self.check_size(ty, "storing a type without a size", at)?;
        self.expect(b',')?;
        self.pointer_operand(ty)?;
        let void = self.void();
        self.access(Opcode::Store, atomic, flags, void, ty)
    }

    /// Parses a pointer operand, which in typed form points to `pointee`.
    fn pointer_operand(&mut self, pointee: TypeId) -> Parsed<ValueId> {
        let at = self.at;
        let (value, ty) = self.typed_operand()?;
        let fits = match self.module.types.get(ty) {
            Type::Pointer { pointee: of, .. } => of == pointee,
            Type::OpaquePointer { .. } => true,
            _ => false,
        };
        if fits { Ok(value) } else { self.fault_at(at, "pointer operand does not fit the type of the value") }
    }

    /// Parses scope, ordering and alignment of a load or store.
    fn access(
        &mut self,
        opcode: Opcode,
        atomic: bool,
        flags: u16,
        result: TypeId,
        ty: TypeId,
    ) -> Parsed<Instruction> {
        let (mut scope, mut ordering) = (SYSTEM, 0);
        if atomic {
            scope = self.scope()?;
            let at = self.at;
            ordering = self.ordering()?;
            self.check_access(opcode, ordering, at)?;
        }
        let alignment = self.access_alignment(ty)?;
        let extra = Memory::new(alignment, ordering, 0).0;
        Ok(Instruction { flags, detail: scope, extra, ..Instruction::new(opcode, result) })
    }

    /// Parses `, align n`, or returns the alignment that the type needs; as exponent plus one, 0 for none.
    fn access_alignment(&mut self, ty: TypeId) -> Parsed<u64> {
        if self.is(b',') && self.peek() == Token::Word(b"align") {
            self.advance();
            self.advance();
            return Ok(u64::from(self.alignment()?));
        }
        if self.version == Version::Dxc {
            return Ok(0);
        }
        let bytes = self.module.data_layout.required_alignment(&self.module.types, ty).max(1);
        Ok(u64::from(bytes.trailing_zeros()) + 1)
    }

    /// Parses `syncscope("…")`, the whole system if it is absent.
    fn scope(&mut self) -> Parsed<u32> {
        if !self.eat_word("syncscope") {
            return Ok(if self.eat_word("singlethread") { 0 } else { SYSTEM });
        }
        self.expect(b'(')?;
        let name = self.string()?;
        self.expect(b')')?;
        self.add_scopes();
        if let Some(known) = self.module.sync_scopes.iter().position(|known| *known == name) {
            return Ok(narrow(known as u64));
        }
        self.module.sync_scopes.push(name);
        Ok(narrow(self.module.sync_scopes.len() as u64 - 1))
    }

    fn ordering(&mut self) -> Parsed<u64> {
        match self.eat_one_of(&ORDERINGS) {
            Some(ordering @ 1..) => Ok(ordering as u64),
            _ => {
                self.fault("expected an ordering: unordered, monotonic, acquire, release, acq_rel or seq_cst")
            }
        }
    }

    pub(super) fn fence(&mut self) -> Parsed<Instruction> {
        let detail = self.scope()?;
        let at = self.at;
        let ordering = self.ordering()?;
        self.check_fence(ordering, at)?;
        let extra = Memory::new(0, ordering, 0).0;
        let void = self.void();
        Ok(Instruction { detail, extra, ..Instruction::new(Opcode::Fence, void) })
    }

    pub(super) fn compare_exchange(&mut self) -> Parsed<Instruction> {
        let weak = u16::from(self.eat_word("weak")) << 1;
        let flags = weak | u16::from(self.eat_word("volatile"));
        self.typed_operand()?;
        self.expect(b',')?;
        let (_, ty) = self.typed_operand()?;
        self.expect(b',')?;
        self.typed_operand()?;
        let detail = self.scope()?;
        let (success, failure) = (self.ordering()?, self.ordering()?);
        self.check_exchange(success, failure, self.at)?;
        let alignment = self.exchange_alignment(ty)?;
        let bit = self.module.types.intern(Type::Integer(1));
        let pair = self.module.types.intern_literal(&[ty, bit]);
        let extra = Memory::new(alignment, success, failure).0;
        Ok(Instruction { flags, detail, extra, ..Instruction::new(Opcode::CmpXchg, pair) })
    }

    pub(super) fn atomic_operation(&mut self) -> Parsed<Instruction> {
        let volatile = u16::from(self.eat_word("volatile"));
        let Some(operation) = self.eat_one_of(atomic_operations(self.version)) else {
            return self.fault("expected an atomic operation");
        };
        let flags = volatile | u16::from(operation.to_le_bytes()[0]) << 8;
        self.typed_operand()?;
        self.expect(b',')?;
        let at = self.at;
        let (_, ty) = self.typed_operand()?;
        let detail = self.scope()?;
        let ordering = self.ordering()?;
        self.check_atomic_operation(flags >> 8, ty, at)?;
        let alignment = self.exchange_alignment(ty)?;
        let extra = Memory::new(alignment, ordering, 0).0;
        Ok(Instruction { flags, detail, extra, ..Instruction::new(Opcode::AtomicRmw, ty) })
    }

    /// Parses `, align n`, or returns the size of the type; as exponent plus one.
    fn exchange_alignment(&mut self, ty: TypeId) -> Parsed<u64> {
        if self.is(b',') && self.peek() == Token::Word(b"align") {
            return self.access_alignment(ty);
        }
        if self.version == Version::Dxc {
            return Ok(0);
        }
        let bytes = self.module.data_layout.store_size(&self.module.types, ty).max(1);
        Ok(u64::from(bytes.next_power_of_two().trailing_zeros()) + 1)
    }

    /// Adds the scopes that every module has.
    pub(super) fn add_scopes(&mut self) {
        if self.module.sync_scopes.is_empty() {
            self.module.sync_scopes = SCOPES.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
        }
    }
}
