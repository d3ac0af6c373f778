//! Reads memory instructions: `getelementptr`, `alloca`, loads, stores, fences and atomic operations.

use super::{BodyReader, Fields, code};
use crate::ids::{Slice, TypeId, ValueId, narrow};
use crate::instruction::{Memory, Opcode};
use crate::types::Type;
use crate::value::Operand;
use unshade_core::{Error, ErrorKind};

/// Checks a stored alignment, which is the exponent plus one: at most 4 GiB.
fn checked_alignment(stored: u64) -> Option<u64> {
    const MOST: u64 = 33;
    (stored <= MOST).then_some(stored)
}

impl BodyReader<'_, '_> {
    pub(super) fn element_pointer(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let mut flags = u64::from(code == code::INBOUNDS_GEP_OLD);
        let mut source = None;
        if code == code::GEP {
            flags = fields.next()?;
            source = Some(self.ty(fields.next()?)?);
        }
        let (base, base_type) = self.typed(&mut fields)?;
        let types = &self.module.types;
        let source = match source {
            Some(source) => source,
            None => types.pointee(types.scalar(base_type))?,
        };
        let start = self.body.operands.len();
        self.body.operands.push(Operand::value(base));
        let mut element = source;
        let mut first = true;
        let mut lanes = self.lanes(base_type);
        while !fields.is_empty() {
            let (index, index_type) = self.typed(&mut fields)?;
            self.body.operands.push(Operand::value(index));
            lanes = lanes.or_else(|| self.lanes(index_type));
            if !first {
                element = self.index_type_by(element, index).unwrap_or(TypeId::NONE);
            }
            first = false;
        }
        let count = narrow(self.body.operands.len().wrapping_sub(start) as u64);
        let operands = Slice { start: narrow(start as u64), count };
        let ty = self.pointer_result(base_type, element, lanes).or_else(|| self.mistyped_pointer(base_type))?;
        let mut instruction = self.plain(Opcode::GetElementPtr, ty, operands);
        instruction.flags = (flags & 0xFFFF) as u16;
        instruction.detail = source.0;
        self.push(instruction);
        Some(())
    }

    /// Returns the type of the base for a `getelementptr` whose result type the file lacks; only a damaged file
    /// lacks it.
    #[cold]
    fn mistyped_pointer(&mut self, base: TypeId) -> Option<TypeId> {
        self.module.types.address_space(base)?;
        let error = Error::without_offset(ErrorKind::BadValue, "result type of getelementptr is not in the type table");
        self.body.diagnostics.error("llvm-function", error);
        Some(base)
    }

    /// Returns the number of elements of a vector, and whether it is scalable.
    pub(super) fn lanes(&self, ty: TypeId) -> Option<(u32, bool)> {
        match self.module.types.get(ty) {
            Type::Vector { count, scalable, .. } => Some((count, scalable)),
            _ => None,
        }
    }

    /// Returns the type that an index of `getelementptr` selects.
    pub(super) fn index_type_by(&self, ty: TypeId, index: ValueId) -> Option<TypeId> {
        match self.module.types.get(ty) {
            Type::Struct(_) => self.module.types.child(ty, self.module.integer(Some(self.body), index)?),
            _ => self.module.types.child(ty, 0),
        }
    }

    pub(super) fn pointer_result(&self, base: TypeId, element: TypeId, lanes: Option<(u32, bool)>) -> Option<TypeId> {
        let types = &self.module.types;
        let scalar = match types.get(types.scalar(base)) {
            Type::Pointer { address_space, .. } => {
                types.find(Type::Pointer { pointee: element, address_space })?
            }
            Type::OpaquePointer { .. } => types.scalar(base),
            _ => return None,
        };
        match lanes {
            Some((count, scalable)) => types.find(Type::Vector { count, element: scalar, scalable }),
            None => Some(scalar),
        }
    }

    pub(super) fn load(&mut self, mut fields: Fields<'_>, atomic: bool) -> Option<()> {
        let (pointer, pointer_type) = self.typed(&mut fields)?;
        let rest = if atomic { 4 } else { 2 };
        let ty = match fields.len().checked_sub(rest)? {
            0 => self.module.types.pointee(pointer_type)?,
            1 => self.ty(fields.next()?)?,
            _ => return None,
        };
        let alignment = fields.next()?;
        let volatile = fields.next()?;
        let ordering = fields.next().unwrap_or(0);
        let operands = self.operands(&[Operand::value(pointer)]);
        let mut instruction = self.plain(Opcode::Load, ty, operands);
        instruction.flags = u16::from(volatile != 0);
        instruction.extra = Memory::new(checked_alignment(alignment)?, ordering, 0).0;
        instruction.detail = fields.next().map_or(1, narrow);
        self.push(instruction);
        Some(())
    }

    pub(super) fn store(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let (pointer, pointer_type) = self.typed(&mut fields)?;
        let value = match code {
            code::STORE | code::STOREATOMIC => self.typed(&mut fields)?.0,
            _ => {
                let ty = self.module.types.pointee(pointer_type)?;
                self.untyped(&mut fields, ty)?
            }
        };
        let alignment = fields.next()?;
        let volatile = fields.next()?;
        let ordering = fields.next().unwrap_or(0);
        let operands = self.operands(&[Operand::value(value), Operand::value(pointer)]);
        let mut instruction = self.plain(Opcode::Store, self.types.void, operands);
        instruction.flags = u16::from(volatile != 0);
        instruction.extra = Memory::new(checked_alignment(alignment)?, ordering, 0).0;
        instruction.detail = fields.next().map_or(1, narrow);
        self.push(instruction);
        Some(())
    }

    /// Reads `alloca`. Bits of the last operand: 0 to 4 and 8 to 10 alignment, 5 `inalloca`, 6 the type is that of
    /// the variable, not of the pointer, 7 `swifterror`.
    pub(super) fn alloca(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let mut ty = self.ty(fields.next()?)?;
        let _size_type = fields.next()?;
        let size = ValueId(narrow(fields.next()?));
        let packed = fields.next()?;
        let types = &self.module.types;
        let result;
        if packed & 1 << 6 != 0 {
            let address_space =
                fields.next().map_or_else(|| self.module.data_layout.alloca_address_space(), narrow);
            result = types
                .find(Type::Pointer { pointee: ty, address_space })
                .or_else(|| types.find(Type::OpaquePointer { address_space }))?;
        } else {
            result = ty;
            ty = types.pointee(ty)?;
        }
        let operands = self.operands(&[Operand::value(size)]);
        let mut instruction = self.plain(Opcode::Alloca, result, operands);
        instruction.flags = u16::from(packed & 1 << 5 != 0) | u16::from(packed & 1 << 7 != 0) << 1;
        instruction.detail = ty.0;
        instruction.extra = Memory::new(checked_alignment((packed & 31) | (packed >> 8 & 7) << 5)?, 0, 0).0;
        self.push(instruction);
        Some(())
    }

    pub(super) fn fence(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let ordering = fields.next()?;
        let mut instruction = self.plain(Opcode::Fence, self.types.void, Slice::default());
        instruction.extra = Memory::new(0, ordering, 0).0;
        instruction.detail = narrow(fields.next()?);
        self.push(instruction);
        Some(())
    }

    pub(super) fn compare_exchange(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let length = fields.len();
        let (pointer, pointer_type) = self.typed(&mut fields)?;
        let (expected, ty) = match code {
            code::CMPXCHG => self.typed(&mut fields)?,
            _ => {
                let ty = self.module.types.pointee(pointer_type)?;
                (self.untyped(&mut fields, ty)?, ty)
            }
        };
        let new = self.untyped(&mut fields, ty)?;
        let volatile = fields.next()?;
        let success = fields.next()?;
        let scope = fields.next()?;
        let failure = match fields.next().filter(|_| code == code::CMPXCHG || length >= 7) {
            Some(failure) => failure,
            // The strongest ordering that is valid on failure.
            None => match success {
                4 => 2,
                5 => 3,
                other => other,
            },
        };
        // A failed exchange stores nothing, so it can't release.
        if !matches!(success, 2..=6) || !matches!(failure, 2 | 3 | 6) {
            return None;
        }
        let weak = fields.next().unwrap_or(0);
        let alignment = fields.next().unwrap_or(0);
        let pair = self.module.types.find_literal(&[ty, self.types.bit])?;
        let operands =
            self.operands(&[Operand::value(pointer), Operand::value(expected), Operand::value(new)]);
        let mut instruction = self.plain(Opcode::CmpXchg, pair, operands);
        instruction.flags = u16::from(volatile != 0) | u16::from(weak != 0) << 1;
        instruction.detail = narrow(scope);
        instruction.extra = Memory::new(checked_alignment(alignment)?, success, failure).0;
        if code == code::CMPXCHG_OLD && length < 8 {
            // Before LLVM 3.6 the result was the loaded value without the success bit.
            let result = self.push_unnumbered(instruction);
            let operands = self.operands(&[Operand::value(result)]);
            let start = narrow(self.body.indices.len() as u64);
            self.body.indices.push(0);
            let mut instruction = self.plain(Opcode::ExtractValue, ty, operands);
            (instruction.detail, instruction.extra) = (start, 1);
            self.push(instruction);
        } else {
            self.push(instruction);
        }
        Some(())
    }

    pub(super) fn atomic_operation(&mut self, mut fields: Fields<'_>, code: u32) -> Option<()> {
        let (pointer, pointer_type) = self.typed(&mut fields)?;
        let (value, ty) = match code {
            code::ATOMICRMW => self.typed(&mut fields)?,
            _ => {
                let ty = self.module.types.pointee(pointer_type)?;
                (self.untyped(&mut fields, ty)?, ty)
            }
        };
        let operation = fields.next()?;
        let volatile = fields.next()?;
        let ordering = fields.next()?;
        let scope = fields.next()?;
        let alignment = fields.next().unwrap_or(0);
        if operation > 255 {
            return None;
        }
        let operands = self.operands(&[Operand::value(pointer), Operand::value(value)]);
        let mut instruction = self.plain(Opcode::AtomicRmw, ty, operands);
        instruction.flags = u16::from(volatile != 0) | u16::from(operation.to_le_bytes()[0]) << 8;
        instruction.detail = narrow(scope);
        instruction.extra = Memory::new(checked_alignment(alignment)?, ordering, 0).0;
        self.push(instruction);
        Some(())
    }
}
