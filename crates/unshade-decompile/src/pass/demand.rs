//! Which bits matter: those of its inputs that a value depends on, backwards from effects and branches.
//!
//! Code compiled with -G keeps a number of 16 bits in the lower half of a register and leaves the upper half as it is:
//! `PRMT R12, R9, 0x7610, R12` depends on what R12 was before, although nothing uses these bits.

use crate::ir::fold::masked;
use crate::ir::{Function, IdVec, Intrinsic, Op, ValueId, ValueMap};

/// Returns the bits that effects and branches need of each value, backwards from them. `passes` says whether a value that
/// matters depends on an input at all, by its index.
pub fn needed(function: &Function, passes: &dyn Fn(ValueId, usize) -> bool) -> ValueMap<u64> {
    let mut needed = IdVec::filled(0, function.values.len());
    let mut list: Vec<(ValueId, u64)> = Vec::new();
    for block in &function.blocks {
        let effects = block.effects.iter().copied().filter(|effect| function.is_kept(*effect));
        let end = block.end.input().map(|input| function.resolve(input));
        list.extend(effects.chain(end).map(|id| (id, u64::MAX)));
    }
    while let Some((id, bits)) = list.pop() {
        if bits & !needed[id] == 0 {
            continue;
        }
        needed[id] |= bits;
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input != ValueId::NONE && passes(id, index) {
                list.push((input, of_input(function, id, index, needed[id])));
            }
        }
    }
    needed
}

/// Returns the bits of an input that the bits in `mask` of a value depend on; all, if that isn't known.
fn of_input(function: &Function, id: ValueId, index: usize, mask: u64) -> u64 {
    let number = |index: usize| function.number(function.input(id, index));
    let width = |index: usize| function.width(function.input(id, index));
    let mask = masked(mask, function.width(id));
    match (function.op(id), index) {
        (Op::Phi | Op::Copy | Op::Or | Op::Xor | Op::Not | Op::Low | Op::ZeroExtend, _) => mask,
        (Op::Select, 1 | 2) => mask,
        (Op::And, 0) => mask & number(1).unwrap_or(u64::MAX),
        (Op::And, _) => mask & number(0).unwrap_or(u64::MAX),
        (Op::High, 0) => mask.unbounded_shl(width(0).saturating_sub(function.width(id)).into()),
        (Op::Concat, 0) => mask.unbounded_shr(width(1).into()),
        (Op::Concat, _) => masked(mask, width(1)),
        (Op::SignExtend, 0) => match mask.unbounded_shr(width(0).into()) {
            0 => mask,
            _ => masked(mask, width(0)) | 1 << (width(0) - 1),
        },
        // Carries go upwards only.
        (Op::Add | Op::Sub | Op::Mul | Op::Neg, _) => u64::MAX.unbounded_shr(mask.leading_zeros()),
        (Op::Shl, 0) => number(1).map_or(u64::MAX, |by| mask.unbounded_shr(by.try_into().unwrap_or(64))),
        (Op::Shr, 0) => number(1).map_or(u64::MAX, |by| mask.unbounded_shl(by.try_into().unwrap_or(64))),
        (Op::Call(Intrinsic::PermuteBytes), 0 | 1) => {
            number(2).map_or(u64::MAX, |selector| permuted(selector, 4 * index as u64, mask))
        }
        _ => u64::MAX,
    }
}

/// Returns the bits of the four bytes from number `first` on that a permutation needs for some bits of its result.
fn permuted(selector: u64, first: u64, mask: u64) -> u64 {
    let places = (0..4).filter(|place| mask >> (8 * place) & 0xff != 0);
    let chosen = places.map(|place| selector >> (4 * place) & 7);
    let inside = chosen.filter_map(|byte| byte.checked_sub(first)).filter(|byte| *byte < 4);
    inside.fold(0, |bits, byte| bits | 0xff << (8 * byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::NO_ADDRESS;

    #[test]
    fn the_upper_half_of_a_replaced_register_is_not_needed() {
        let mut function = Function::default();
        let block = function.block(0);
        let mut make = |op, width, inputs: &[ValueId]| function.add(op, width, block, NO_ADDRESS, inputs);
        let (new, old) = (make(Op::Parameter(0), 32, &[]), make(Op::Parameter(4), 32, &[]));
        let selector = make(Op::Constant(0x7610), 32, &[]);
        let replaced = make(Op::Call(Intrinsic::PermuteBytes), 32, &[new, old, selector]);
        let half = make(Op::Low, 16, &[replaced]);
        let wide = make(Op::SignExtend, 32, &[half]);
        let needed = |id, index, mask| of_input(&function, id, index, mask);
        assert_eq!(needed(wide, 0, u64::MAX), 0xffff);
        assert_eq!(needed(half, 0, u64::MAX), 0xffff);
        assert_eq!((needed(replaced, 0, 0xffff), needed(replaced, 1, 0xffff)), (0xffff, 0));
        assert_eq!((needed(replaced, 0, u64::MAX), needed(replaced, 1, u64::MAX)), (0xffff, 0xffff_0000));
    }
}
