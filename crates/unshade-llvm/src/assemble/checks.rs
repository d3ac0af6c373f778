//! What makes a constant or instruction valid besides its syntax: types of casts, of memory accesses, of indices.
//!
//! Knowledge: LLVM's language reference; `llvm-as` refuses the same.

use super::error::Parsed;
use super::parser::Parser;
use crate::constants::Constant;
use crate::ids::{TypeId, ValueId};
use crate::instruction::Opcode;
use crate::types::Type;

/// The orderings of atomic operations by number.
mod ordering {
    pub(super) const UNORDERED: u64 = 1;
    pub(super) const ACQUIRE: u64 = 3;
    pub(super) const RELEASE: u64 = 4;
    pub(super) const ACQUIRE_RELEASE: u64 = 5;
}

/// The operations of `atomicrmw`, by number: what type they take.
const EXCHANGE: u16 = 0;
const FLOAT_OPERATIONS: core::ops::RangeInclusive<u16> = 11..=14;

impl Parser<'_> {
    /// Checks that a cast is valid.
    pub(super) fn check_cast(&self, opcode: Opcode, from: TypeId, to: TypeId, at: usize) -> Parsed<()> {
        if self.is_cast_valid(opcode, from, to) {
            return Ok(());
        }
        let (from, to) = (self.shown_type(from), self.shown_type(to));
        self.fault_at(at, alloc::format!("invalid cast opcode for cast from '{from}' to '{to}'"))
    }

    fn is_cast_valid(&self, opcode: Opcode, from: TypeId, to: TypeId) -> bool {
        let types = &self.module.types;
        let lanes = |ty| match types.get(ty) {
            Type::Vector { count, scalable, .. } => Some((count, scalable)),
            _ => None,
        };
        let scalars = (types.get(types.scalar(from)), types.get(types.scalar(to)));
        let same_lanes = lanes(from) == lanes(to);
        let is_float = |ty: Type| self.float_bits(ty).is_some();
        match (opcode, scalars) {
            (Opcode::Trunc, (Type::Integer(from), Type::Integer(to))) => same_lanes && from > to,
            (Opcode::ZExt | Opcode::SExt, (Type::Integer(from), Type::Integer(to))) => {
                same_lanes && from < to
            }
            (Opcode::FpTrunc, (from, to)) => {
                same_lanes && self.float_bits(from) > self.float_bits(to) && is_float(to)
            }
            (Opcode::FpExt, (from, to)) => {
                same_lanes && self.float_bits(from) < self.float_bits(to) && is_float(from)
            }
            (Opcode::UiToFp | Opcode::SiToFp, (Type::Integer(_), to)) => same_lanes && is_float(to),
            (Opcode::FpToUi | Opcode::FpToSi, (from, Type::Integer(_))) => same_lanes && is_float(from),
            (Opcode::PtrToInt, (_, Type::Integer(_))) => same_lanes && types.address_space(from).is_some(),
            (Opcode::IntToPtr, (Type::Integer(_), _)) => same_lanes && types.address_space(to).is_some(),
            (Opcode::AddrSpaceCast, _) => {
                let spaces = types.address_space(from).zip(types.address_space(to));
                same_lanes && spaces.is_some_and(|(from, to)| from != to)
            }
            (Opcode::BitCast, _) => self.is_bitcast_valid(from, to, same_lanes),
            _ => false,
        }
    }

    fn is_bitcast_valid(&self, from: TypeId, to: TypeId, same_lanes: bool) -> bool {
        let types = &self.module.types;
        match (types.address_space(from), types.address_space(to)) {
            (Some(from_space), Some(to_space)) => {
                // A vector of one pointer and a pointer are the same size.
                let is_one = |ty| matches!(types.get(ty), Type::Vector { count: 1, scalable: false, .. });
                from_space == to_space
                    && (same_lanes
                        || is_one(from) && types.is_pointer(to)
                        || is_one(to) && types.is_pointer(from))
            }
            (None, None) => {
                let bits = self.primitive_bits(from);
                from == to || (bits.is_some() && bits == self.primitive_bits(to))
            }
            _ => false,
        }
    }

    fn float_bits(&self, ty: Type) -> Option<u32> {
        match ty {
            Type::Half | Type::BFloat => Some(16),
            Type::Float => Some(32),
            Type::Double => Some(64),
            Type::X86Fp80 => Some(80),
            Type::Fp128 | Type::PpcFp128 => Some(128),
            _ => None,
        }
    }

    /// Returns the size in bits of a number or a vector of numbers, and whether it is scalable.
    fn primitive_bits(&self, ty: TypeId) -> Option<(u64, bool)> {
        let scalar = |ty: Type| match ty {
            Type::Integer(bits) => Some(u64::from(bits)),
            Type::X86Mmx => Some(64),
            Type::X86Amx => Some(8192),
            other => self.float_bits(other).map(u64::from),
        };
        match self.module.types.get(ty) {
            Type::Vector { count, element, scalable } => {
                Some((scalar(self.module.types.get(element))?.saturating_mul(u64::from(count)), scalable))
            }
            other => Some((scalar(other)?, false)),
        }
    }

    /// Checks the orderings of `cmpxchg`.
    pub(super) fn check_exchange(&self, success: u64, failure: u64, at: usize) -> Parsed<()> {
        if success == ordering::UNORDERED {
            return self.fault_at(at, "invalid cmpxchg success ordering");
        }
        if matches!(failure, ordering::UNORDERED | ordering::RELEASE | ordering::ACQUIRE_RELEASE) {
            return self.fault_at(at, "invalid cmpxchg failure ordering");
        }
        Ok(())
    }

    /// Checks the ordering of an atomic load or store.
    pub(super) fn check_access(&self, opcode: Opcode, found: u64, at: usize) -> Parsed<()> {
        let (name, refused) = match opcode {
            Opcode::Load => ("load", [ordering::RELEASE, ordering::ACQUIRE_RELEASE]),
            _ => ("store", [ordering::ACQUIRE, ordering::ACQUIRE_RELEASE]),
        };
        if refused.contains(&found) {
            return self.fault_at(at, alloc::format!("atomic {name} cannot use this ordering"));
        }
        Ok(())
    }

    /// Checks the ordering of a fence.
    pub(super) fn check_fence(&self, found: u64, at: usize) -> Parsed<()> {
        match found {
            ordering::UNORDERED => self.fault_at(at, "fence cannot be unordered"),
            2 => self.fault_at(at, "fence cannot be monotonic"),
            _ => Ok(()),
        }
    }

    /// Checks the type that an operation of `atomicrmw` works on.
    pub(super) fn check_atomic_operation(&self, operation: u16, ty: TypeId, at: usize) -> Parsed<()> {
        let of = self.module.types.get(ty);
        let is_float = self.module.types.is_float(ty);
        let name = crate::instruction::ATOMIC_OPERATIONS.get(usize::from(operation)).copied().unwrap_or("");
        let is_pointer = self.module.types.is_pointer(ty) && self.version != super::Version::Llvm14;
        let (fits, wanted) = match operation {
            EXCHANGE => (
                is_float || is_pointer || matches!(of, Type::Integer(_)),
                "an integer or floating point type",
            ),
            operation if FLOAT_OPERATIONS.contains(&operation) => (is_float, "a floating point type"),
            _ => (matches!(of, Type::Integer(_)), "an integer"),
        };
        if !fits {
            return self.fault_at(at, alloc::format!("atomicrmw {name} operand must be {wanted}"));
        }
        Ok(())
    }

    /// Checks that a variable can have a type.
    pub(super) fn check_sized(&self, ty: TypeId, message: &str, at: usize) -> Parsed<()> {
        match self.module.types.get(ty) {
            Type::Function { .. } | Type::Void | Type::Label | Type::Metadata | Type::Token => {
                self.fault_at(at, message)
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a value can select a field of a struct: a constant `i32`, or a vector of equal ones.
    pub(super) fn selects_field(&self, index: ValueId) -> bool {
        let ty = self.type_of(index);
        let word = self.module.types.scalar(ty);
        if self.module.types.get(word) != Type::Integer(32) {
            return false;
        }
        match self.module.constant(None, index) {
            Some((Constant::Aggregate(values), constants)) => all_equal(constants.values(values)),
            Some((Constant::Data(words), constants)) => all_equal(constants.words(words)),
            Some((constant, _)) => matches!(constant, Constant::Integer(_) | Constant::Null),
            None => false,
        }
    }
}

fn all_equal<T: PartialEq>(list: &[T]) -> bool {
    list.windows(2).all(|pair| matches!(pair, [one, two] if one == two))
}
