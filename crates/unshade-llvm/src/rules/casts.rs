//! Which casts are valid, of those that LLVM 14 and 19 have.

use crate::ids::TypeId;
use crate::instruction::Opcode;
use crate::types::{Type, TypeTable};

/// Returns whether a cast from one type to another is valid.
pub(crate) fn is_cast_valid(types: &TypeTable, opcode: Opcode, from: TypeId, to: TypeId) -> bool {
    let lanes = |ty| match types.get(ty) {
        Type::Vector { count, scalable, .. } => Some((count, scalable)),
        _ => None,
    };
    let scalars = (types.get(types.scalar(from)), types.get(types.scalar(to)));
    let same_lanes = lanes(from) == lanes(to);
    let is_float = |ty: Type| ty.float_bits().is_some();
    match (opcode, scalars) {
        (Opcode::Trunc, (Type::Integer(from), Type::Integer(to))) => same_lanes && from > to,
        (Opcode::ZExt | Opcode::SExt, (Type::Integer(from), Type::Integer(to))) => same_lanes && from < to,
        (Opcode::FpTrunc, (from, to)) => same_lanes && from.float_bits() > to.float_bits() && is_float(to),
        (Opcode::FpExt, (from, to)) => same_lanes && from.float_bits() < to.float_bits() && is_float(from),
        (Opcode::UiToFp | Opcode::SiToFp, (Type::Integer(_), to)) => same_lanes && is_float(to),
        (Opcode::FpToUi | Opcode::FpToSi, (from, Type::Integer(_))) => same_lanes && is_float(from),
        (Opcode::PtrToInt, (_, Type::Integer(_))) => same_lanes && types.address_space(from).is_some(),
        (Opcode::IntToPtr, (Type::Integer(_), _)) => same_lanes && types.address_space(to).is_some(),
        (Opcode::AddrSpaceCast, _) => {
            let spaces = types.address_space(from).zip(types.address_space(to));
            same_lanes && spaces.is_some_and(|(from, to)| from != to)
        }
        (Opcode::BitCast, _) => is_bitcast_valid(types, from, to, same_lanes),
        _ => false,
    }
}

fn is_bitcast_valid(types: &TypeTable, from: TypeId, to: TypeId, same_lanes: bool) -> bool {
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
            let bits = primitive_bits(types, from);
            let is_aggregate = matches!(types.get(from), Type::Struct(_) | Type::Array { .. });
            (from == to && !is_aggregate) || (bits.is_some() && bits == primitive_bits(types, to))
        }
        _ => false,
    }
}

/// Returns the size in bits of a number or a vector of numbers, and whether it is scalable.
fn primitive_bits(types: &TypeTable, ty: TypeId) -> Option<(u64, bool)> {
    let scalar = |ty: Type| ty.number_bits().map(u64::from);
    match types.get(ty) {
        Type::Vector { count, element, scalable } => {
            Some((scalar(types.get(element))?.saturating_mul(u64::from(count)), scalable))
        }
        other => Some((scalar(other)?, false)),
    }
}
