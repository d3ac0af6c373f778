//! Which orderings and types atomic operations take.

use crate::ids::TypeId;
use crate::instruction::{ATOMIC_OPERATIONS, Opcode};
use crate::types::{Type, TypeTable};
use crate::write::Version;
use alloc::string::{String, ToString};

/// The orderings of atomic operations by number.
mod ordering {
    pub(super) const UNORDERED: u64 = 1;
    pub(super) const MONOTONIC: u64 = 2;
    pub(super) const ACQUIRE: u64 = 3;
    pub(super) const RELEASE: u64 = 4;
    pub(super) const ACQUIRE_RELEASE: u64 = 5;
}

/// The operations of `atomicrmw`, by number: what type they take.
const EXCHANGE: u16 = 0;
const FLOAT_OPERATIONS: core::ops::RangeInclusive<u16> = 11..=14;

/// Checks the orderings of `cmpxchg`; the error says what is wrong.
pub(crate) fn check_exchange(success: u64, failure: u64) -> Result<(), &'static str> {
    if success == ordering::UNORDERED {
        return Err("invalid cmpxchg success ordering");
    }
    match failure {
        ordering::UNORDERED | ordering::RELEASE | ordering::ACQUIRE_RELEASE => {
            Err("invalid cmpxchg failure ordering")
        }
        _ => Ok(()),
    }
}

/// Checks the ordering of an atomic load or store.
pub(crate) fn check_access(opcode: Opcode, found: u64) -> Result<(), String> {
    let (name, refused) = match opcode {
        Opcode::Load => ("load", [ordering::RELEASE, ordering::ACQUIRE_RELEASE]),
        _ => ("store", [ordering::ACQUIRE, ordering::ACQUIRE_RELEASE]),
    };
    match refused.contains(&found) {
        true => Err(alloc::format!("atomic {name} cannot use this ordering")),
        false => Ok(()),
    }
}

/// Checks the ordering of a fence.
pub(crate) fn check_fence(found: u64) -> Result<(), &'static str> {
    match found {
        ordering::UNORDERED => Err("fence cannot be unordered"),
        ordering::MONOTONIC => Err("fence cannot be monotonic"),
        _ => Ok(()),
    }
}

/// Checks the type that an operation of `atomicrmw` works on.
pub(crate) fn check_atomic_operation(
    types: &TypeTable,
    version: Version,
    operation: u16,
    ty: TypeId,
) -> Result<(), String> {
    let of = types.get(ty);
    if matches!(of, Type::Vector { scalable: true, .. }) {
        return Err(String::from("atomicrmw operand may not be scalable"));
    }
    let is_float = types.is_float(ty);
    let is_pointer = types.is_pointer(ty) && !version.has_typed_pointers();
    let (fits, wanted) = match operation {
        EXCHANGE => {
            (is_float || is_pointer || matches!(of, Type::Integer(_)), "an integer or floating point type")
        }
        operation if FLOAT_OPERATIONS.contains(&operation) => (is_float, "a floating point type"),
        _ => (matches!(of, Type::Integer(_)), "an integer"),
    };
    if fits {
        return Ok(());
    }
    let name = ATOMIC_OPERATIONS.get(usize::from(operation)).copied().unwrap_or("").to_string();
    Err(alloc::format!("atomicrmw {name} operand must be {wanted}"))
}
