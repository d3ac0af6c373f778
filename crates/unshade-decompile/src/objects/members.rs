//! The types of objects, from the accesses of each.

use super::Object;
use crate::ir::{Function, Member, Module, Op, ValueId};
use crate::layout::{self, Accesses};
use crate::types::{Type, Types, constants};

/// Maximum number of dimensions of an array.
const MAX_RANK: usize = 4;

/// Returns the type of an access as a member has it; [`Type::Void`] if it can be of any.
pub(super) fn type_of(function: &Function, types: &Types, id: ValueId, bytes: u32) -> Type {
    let value = match function.op(id) {
        Op::Store(_) => function.input(id, 1),
        _ => id,
    };
    let number = Type::Integer((bytes * 8) as u8, false);
    match (function.op(id), types.of[value]) {
        (Op::Call(call), _) => match Type::of_operand(call.input(1)) {
            Type::Void => number,
            ty => ty,
        },
        _ if matches!(function.op(value), Op::Constant(_) | Op::Undefined) => Type::Void,
        (_, Type::Bool | Type::Void | Type::Vector(..) | Type::Structure(_)) => number,
        (_, ty) => ty,
    }
}

/// Returns the type that a constant looks like, if one is stored; [`Type::Void`] for none.
pub(super) fn hint(function: &Function, id: ValueId) -> Type {
    match function.op(id) {
        Op::Store(_) => constants::hint(function, function.input(id, 1)),
        _ => Type::Void,
    }
}

/// Returns the member that an object without known type is.
pub(super) fn of_object(
    module: &mut Module<'_>,
    object: &Object,
    name: String,
    list: Vec<layout::Access>,
    is_aggregate: bool,
) -> Option<Member> {
    let size = object.end - object.start;
    let accesses = Accesses { list, strides: Vec::new() };
    let element = accesses.number();
    let member = |ty, counts| Some(Member { name: name.clone(), offset: object.start, ty, counts });
    let Some(element) = element.filter(|element| !is_aggregate && size.is_multiple_of(bytes_of(*element)))
    else {
        return structure(module, object, name, &accesses);
    };
    let bytes = bytes_of(element);
    if object.unit == 0 {
        return member(element, if size == bytes { Vec::new() } else { vec![size / bytes] });
    }
    if object.unit != bytes {
        return structure(module, object, name.clone(), &accesses)
            .or_else(|| member(element, vec![size / bytes]));
    }
    member(element, counts(&accesses, bytes, size))
}

/// Returns the dimensions of an array, from the scales of its indices.
fn counts(accesses: &Accesses, bytes: u32, size: u32) -> Vec<u32> {
    let mut scales: Vec<u64> =
        accesses.list.iter().flat_map(|access| access.scales.iter().copied()).collect();
    scales.sort_unstable();
    scales.dedup();
    let is_regular = scales.windows(2).all(|pair| pair[1].is_multiple_of(pair[0]))
        && scales.first() == Some(&u64::from(bytes))
        && scales.last().is_some_and(|last| u64::from(size).is_multiple_of(*last) && *last < u64::from(size));
    if !is_regular || scales.len() > MAX_RANK {
        return vec![size / bytes];
    }
    let ends = scales.iter().skip(1).copied().chain([u64::from(size)]);
    let mut counts: Vec<u32> = scales.iter().zip(ends).map(|(scale, end)| (end / scale) as u32).collect();
    counts.reverse();
    counts
}

/// Returns a structure, or an array of structures.
fn structure(module: &mut Module<'_>, object: &Object, name: String, accesses: &Accesses) -> Option<Member> {
    let size = object.end - object.start;
    let found = match object.unit {
        0 => accesses.whole(size)?,
        _ => accesses.structure()?,
    };
    if found.size == 0 || !size.is_multiple_of(found.size) {
        return None;
    }
    let count = size / found.size;
    if object.unit == 0 && count != 1 {
        return None;
    }
    let counts = if object.unit == 0 { Vec::new() } else { vec![count] };
    let id = layout::declared(module, found);
    Some(Member { name, offset: object.start, ty: Type::Structure(id), counts })
}

fn bytes_of(ty: Type) -> u32 {
    u32::from(ty.bits()).max(8) / 8
}
