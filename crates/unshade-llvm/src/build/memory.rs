//! Memory instructions: `alloca`, loads, stores, addresses, and atomic operations.

use super::{FunctionBuilder, Version, refused};
use crate::ids::{TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Memory, Opcode};
use crate::rules;
use crate::types::Type;
use alloc::vec::Vec;
use unshade_core::Result;

/// The largest alignment: 4 GiB.
const MAX_ALIGNMENT: u64 = 1 << 32;
/// The number of the scope of the whole system.
const SYSTEM: u32 = 1;

/// The ordering of an atomic operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ordering {
    #[default]
    NotAtomic,
    Unordered,
    Monotonic,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access<'s> {
    /// The alignment in bytes [default: what the type needs].
    pub alignment: Option<u64>,
    /// Whether the access is volatile.
    pub volatile: bool,
    /// The ordering; not atomic by default.
    pub ordering: Ordering,
    /// The scope of an atomic access [default: the whole system].
    pub scope: Option<&'s str>,
}

/// The operation of `atomicrmw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtomicOperation {
    Exchange,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    FAdd,
    FSub,
    FMax,
    FMin,
    UIncWrap,
    UDecWrap,
}

/// Returns the exponent plus one of an alignment in bytes.
pub(super) fn alignment(bytes: u64) -> Result<u8> {
    match bytes.is_power_of_two() && bytes <= MAX_ALIGNMENT {
        true => Ok(bytes.trailing_zeros().to_le_bytes()[0] + 1),
        false => refused("an alignment is a power of two of at most 4 GiB"),
    }
}

/// Returns the flags of `getelementptr inbounds`: it implies `nusw` from LLVM 19 on.
pub(super) fn in_bounds(version: Version) -> u16 {
    match version {
        Version::Llvm14 | Version::Dxc => 1,
        Version::Llvm19 => 3,
    }
}

impl FunctionBuilder<'_> {
    /// Builds `alloca`: memory for one value until the function returns.
    ///
    /// # Errors
    /// If the type has no size.
    pub fn alloca(&mut self, ty: TypeId) -> Result<ValueId> {
        let word = self.module.module.types.intern(Type::Integer(32));
        let one = self.const_int(word, 1)?;
        self.alloca_array(ty, one, None)
    }

    /// Builds `alloca` of so many values, with an alignment in bytes [default: the preferred one of the type].
    ///
    /// # Errors
    /// If the type has no size, the count is no integer, or the alignment is not valid.
    pub fn alloca_array(&mut self, ty: TypeId, count: ValueId, align: Option<u64>) -> Result<ValueId> {
        if !self.is_sized(ty) {
            return self.fail_types(Opcode::Alloca, "a type without a size", &[ty]);
        }
        let count_type = self.type_of(count)?;
        if !matches!(self.module.module.types.get(count_type), Type::Integer(_)) {
            return self.fail_types(Opcode::Alloca, "a count is an integer", &[count_type]);
        }
        let module = &self.module.module;
        let bytes = align.unwrap_or_else(|| {
            module.data_layout.preferred_alignment(&module.types, ty).max(1).next_power_of_two()
        });
        let extra = Memory::new(u64::from(alignment(bytes)?), 0, 0).0;
        let space = module.data_layout.alloca_address_space();
        let pointer = self.pointer(ty, space)?;
        let parts = Instruction { detail: ty.0, extra, ..Instruction::new(Opcode::Alloca, pointer) };
        self.append_of(parts, &[count])
    }

    /// Builds `load` of a value of type `ty`.
    ///
    /// # Errors
    /// If the operand is no pointer to it.
    pub fn load(&mut self, ty: TypeId, pointer: ValueId) -> Result<ValueId> {
        self.load_with(ty, pointer, &Access::default())
    }

    /// Builds `load`, possibly aligned, volatile or atomic.
    ///
    /// # Errors
    /// If the operand is no pointer to the type, or the access is not valid.
    pub fn load_with(&mut self, ty: TypeId, pointer: ValueId, access: &Access<'_>) -> Result<ValueId> {
        self.check_pointer(Opcode::Load, pointer, ty)?;
        let parts = self.access(Instruction::new(Opcode::Load, ty), ty, access)?;
        self.append_of(parts, &[pointer])
    }

    /// Builds `store`.
    ///
    /// # Errors
    /// If the second operand is no pointer to the type of the first.
    pub fn store(&mut self, value: ValueId, pointer: ValueId) -> Result<()> {
        self.store_with(value, pointer, &Access::default())
    }

    /// Builds `store`, possibly aligned, volatile or atomic.
    ///
    /// # Errors
    /// If the second operand is no pointer to the type of the first, or the access is not valid.
    pub fn store_with(&mut self, value: ValueId, pointer: ValueId, access: &Access<'_>) -> Result<()> {
        let ty = self.type_of(value)?;
        self.check_pointer(Opcode::Store, pointer, ty)?;
        let void = self.void();
        let parts = self.access(Instruction::new(Opcode::Store, void), ty, access)?;
        self.append_of(parts, &[value, pointer]).map(drop)
    }

    /// Checks that a value is a pointer to a type.
    fn check_pointer(&self, opcode: Opcode, pointer: ValueId, pointee: TypeId) -> Result<()> {
        let ty = self.type_of(pointer)?;
        let types = &self.module.module.types;
        let fits = types.is_pointer(ty) && types.pointee(ty).is_none_or(|of| of == pointee);
        if !fits {
            return self.fail_types(
                opcode,
                "the operand is no pointer to the type of the value",
                &[ty, pointee],
            );
        }
        match self.is_sized(pointee) {
            true => Ok(()),
            false => self.fail_types(opcode, "a type without a size", &[pointee]),
        }
    }

    /// Adds alignment, ordering and scope to a load or store of a value of type `ty`.
    fn access(&mut self, parts: Instruction, ty: TypeId, access: &Access<'_>) -> Result<Instruction> {
        let ordering = access.ordering as u64;
        let mut detail = SYSTEM;
        if access.ordering != Ordering::NotAtomic {
            detail = self.scope(access.scope);
            if let Err(message) = rules::check_access(parts.opcode, ordering) {
                return self.fail_in(parts.opcode, message);
            }
            self.check_atomic_type(parts.opcode, ty)?;
        } else if access.scope.is_some() {
            return self.fail_in(parts.opcode, "only an atomic access has a scope");
        }
        let module = &self.module.module;
        let needed = || module.data_layout.required_alignment(&module.types, ty).max(1).next_power_of_two();
        let bytes = access.alignment.unwrap_or_else(needed);
        let extra = Memory::new(u64::from(alignment(bytes)?), ordering, 0).0;
        Ok(Instruction { flags: u16::from(access.volatile), detail, extra, ..parts })
    }

    /// Checks that values of a type can be accessed as one: integers, floating-point numbers and pointers whose size
    /// is a power of two of at least 8 bits.
    fn check_atomic_type(&self, opcode: Opcode, ty: TypeId) -> Result<()> {
        let types = &self.module.module.types;
        let is_number = types.is_float(ty) && types.scalar(ty) == ty;
        let fits = match types.get(ty) {
            Type::Integer(width) => width >= 8 && width.is_power_of_two(),
            Type::X86Fp80 => false,
            _ => is_number || types.is_pointer(ty),
        };
        match fits {
            true => Ok(()),
            false => self.fail_types(opcode, "the type can't be accessed atomically", &[ty]),
        }
    }

    /// Returns the number of a synchronisation scope.
    fn scope(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else { return SYSTEM };
        let scopes = &mut self.module.module.sync_scopes;
        if let Some(known) = scopes.iter().position(|known| known == name.as_bytes()) {
            return narrow(known as u64);
        }
        scopes.push(name.as_bytes().to_vec());
        narrow(scopes.len() as u64 - 1)
    }

    /// Builds `getelementptr inbounds`: the address of an element. The first index counts values of type `source`,
    /// the others select in it.
    ///
    /// # Errors
    /// If the pointer points to another type, or an index selects nothing.
    pub fn element_ptr(&mut self, source: TypeId, pointer: ValueId, indices: &[ValueId]) -> Result<ValueId> {
        self.element_ptr_with_flags(source, pointer, indices, in_bounds(self.module.version))
    }

    /// Builds `getelementptr` with flags: `inbounds` 1, and from LLVM 19 on `nusw` 2 and `nuw` 4.
    ///
    /// # Errors
    /// If the pointer points to another type, or an index selects nothing.
    pub fn element_ptr_with_flags(
        &mut self,
        source: TypeId,
        pointer: ValueId,
        indices: &[ValueId],
        flags: u16,
    ) -> Result<ValueId> {
        let known = if self.module.version.has_typed_pointers() { 1 } else { 7 };
        if flags & !known != 0 {
            return self.fail_in(Opcode::GetElementPtr, "unknown flags");
        }
        let mut operands = alloc::vec![pointer];
        operands.extend_from_slice(indices);
        let types: Vec<TypeId> = operands.iter().map(|&id| self.type_of(id)).collect::<Result<_>>()?;
        if !self.is_sized(source) {
            return self.fail_types(Opcode::GetElementPtr, "a type without a size", &[source]);
        }
        let module = &mut self.module.module;
        match rules::element_pointer_type(module, Some(&self.body), source, &operands) {
            Some(ty) => {
                let parts =
                    Instruction { flags, detail: source.0, ..Instruction::new(Opcode::GetElementPtr, ty) };
                self.append_of(parts, &operands)
            }
            None => self.fail_types(Opcode::GetElementPtr, "the operands don't fit the source type", &types),
        }
    }

    /// Builds the address of a field of a struct.
    ///
    /// # Errors
    /// If the pointer does not point to the struct, or it has no such field.
    pub fn field_ptr(&mut self, source: TypeId, pointer: ValueId, field: u32) -> Result<ValueId> {
        let word = self.module.module.types.intern(Type::Integer(32));
        let (zero, field) = (self.const_int(word, 0)?, self.const_int(word, i128::from(field))?);
        self.element_ptr(source, pointer, &[zero, field])
    }

    /// Builds `fence`.
    ///
    /// # Errors
    /// If the ordering is weaker than acquire or release.
    pub fn fence(&mut self, ordering: Ordering, scope: Option<&str>) -> Result<()> {
        if ordering == Ordering::NotAtomic {
            return self.fail_in(Opcode::Fence, "a fence has an ordering");
        }
        if let Err(message) = rules::check_fence(ordering as u64) {
            return self.fail_in(Opcode::Fence, message);
        }
        let (detail, void) = (self.scope(scope), self.void());
        let extra = Memory::new(0, ordering as u64, 0).0;
        self.append(Instruction { detail, extra, ..Instruction::new(Opcode::Fence, void) }, Vec::new())
            .map(drop)
    }

    /// Builds `atomicrmw`, whose result is the value before the operation.
    ///
    /// # Errors
    /// If the types don't fit, or the access has no ordering.
    pub fn atomic_rmw(
        &mut self,
        operation: AtomicOperation,
        pointer: ValueId,
        value: ValueId,
        access: &Access<'_>,
    ) -> Result<ValueId> {
        let ty = self.type_of(value)?;
        self.check_pointer(Opcode::AtomicRmw, pointer, ty)?;
        let types = &self.module.module.types;
        let check = rules::check_atomic_operation(types, self.module.version, operation as u16, ty);
        if let Err(message) = check {
            return self.fail_in(Opcode::AtomicRmw, message);
        }
        self.check_atomic_type(Opcode::AtomicRmw, ty)?;
        let later = [AtomicOperation::FMax, AtomicOperation::FMin];
        let later = later.contains(&operation) || operation as u16 > AtomicOperation::FMin as u16;
        if later && self.module.version.has_typed_pointers() {
            return self.fail_in(Opcode::AtomicRmw, "LLVM 14 has no such operation");
        }
        if matches!(access.ordering, Ordering::NotAtomic | Ordering::Unordered) {
            return self.fail_in(Opcode::AtomicRmw, "the ordering is too weak");
        }
        let flags = u16::from(access.volatile) | (operation as u16) << 8;
        let (detail, extra) =
            (self.scope(access.scope), self.exchange_memory(ty, access, Ordering::NotAtomic)?);
        self.append_of(
            Instruction { flags, detail, extra, ..Instruction::new(Opcode::AtomicRmw, ty) },
            &[pointer, value],
        )
    }

    /// Builds `cmpxchg`, whose result is the value before it and whether it was the expected one. The ordering of the
    /// access is that of success.
    ///
    /// # Errors
    /// If the types don't fit, or an ordering is too weak.
    pub fn compare_exchange(
        &mut self,
        pointer: ValueId,
        expected: ValueId,
        new: ValueId,
        access: &Access<'_>,
        on_failure: Ordering,
        weak: bool,
    ) -> Result<ValueId> {
        let ty = self.type_of(expected)?;
        self.check_pointer(Opcode::CmpXchg, pointer, ty)?;
        let new_type = self.type_of(new)?;
        if new_type != ty {
            return self.fail_types(Opcode::CmpXchg, "the values differ in type", &[ty, new_type]);
        }
        let types = &self.module.module.types;
        if !matches!(types.get(ty), Type::Integer(_)) && !types.is_pointer(ty) {
            return self.fail_types(Opcode::CmpXchg, "the values are no integers or pointers", &[ty]);
        }
        self.check_atomic_type(Opcode::CmpXchg, ty)?;
        if access.ordering == Ordering::NotAtomic || on_failure == Ordering::NotAtomic {
            return self.fail_in(Opcode::CmpXchg, "the ordering is too weak");
        }
        if let Err(message) = rules::check_exchange(access.ordering as u64, on_failure as u64) {
            return self.fail_in(Opcode::CmpXchg, message);
        }
        let extra = self.exchange_memory(ty, access, on_failure)?;
        let detail = self.scope(access.scope);
        let bit = self.module.module.types.intern(Type::Integer(1));
        let pair = self.module.module.types.intern_literal(&[ty, bit]);
        let flags = u16::from(access.volatile) | u16::from(weak) << 1;
        let parts = Instruction { flags, detail, extra, ..Instruction::new(Opcode::CmpXchg, pair) };
        self.append_of(parts, &[pointer, expected, new])
    }

    fn exchange_memory(&self, ty: TypeId, access: &Access<'_>, on_failure: Ordering) -> Result<u32> {
        let module = &self.module.module;
        let size = || module.data_layout.store_size(&module.types, ty).max(1).next_power_of_two();
        let bytes = access.alignment.unwrap_or_else(size);
        Ok(Memory::new(u64::from(alignment(bytes)?), access.ordering as u64, on_failure as u64).0)
    }
}
