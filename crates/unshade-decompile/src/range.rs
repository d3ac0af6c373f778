//! The largest number that an integer can be.

use crate::ir::fold::masked;
use crate::ir::{Function, Op, ValueId};

/// Maximum depth of operations to look at.
const MAX_DEPTH: u32 = 6;

/// Returns a bound of a value as an unsigned number.
pub fn largest(function: &Function, id: ValueId) -> u64 {
    bound(function, id, MAX_DEPTH)
}

fn bound(function: &Function, id: ValueId, depth: u32) -> u64 {
    let all = masked(u64::MAX, function.width(id));
    let Some(depth) = depth.checked_sub(1) else { return all };
    let input = |index: usize| function.input(id, index);
    let of = |index: usize| match input(index) {
        ValueId::NONE => u64::MAX,
        input => bound(function, input, depth),
    };
    let number = function.inputs(id).get(1).and_then(|input| function.number(*input));
    let found = match (function.op(id), number) {
        (Op::Constant(number), _) => Some(number),
        (Op::Special(special), _) => special.most(),
        (Op::ZeroExtend, _) => Some(of(0)),
        (Op::And, _) => Some(of(0).min(of(1))),
        (Op::Add, _) => of(0).checked_add(of(1)),
        (Op::Mul, _) => of(0).checked_mul(of(1)),
        (Op::Shl, Some(shift)) if shift < 64 => of(0).checked_mul(1 << shift),
        (Op::Shr, Some(shift)) if shift < 64 => Some(of(0) >> shift),
        (Op::Udiv, Some(divisor)) => of(0).checked_div(divisor),
        (Op::Urem, Some(divisor)) => divisor.checked_sub(1),
        (Op::Select, _) => Some(of(1).max(of(2))),
        _ => None,
    };
    found.filter(|found| *found <= all).unwrap_or(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Axis, BlockId, NO_ADDRESS, Special};

    #[test]
    fn bounds_follow_operations() {
        let mut function = Function::default();
        function.block(0);
        let mut make = |op, inputs: &[ValueId]| function.raw(op, 32, BlockId::ENTRY, NO_ADDRESS, inputs);
        let thread = make(Op::Special(Special::ThreadIndex(Axis::X)), &[]);
        let block = make(Op::Special(Special::BlockIndex(Axis::X)), &[]);
        let sixteen = make(Op::Constant(16), &[]);
        let product = make(Op::Mul, &[thread, sixteen]);
        let sum = make(Op::Add, &[product, sixteen]);
        let wrapping = make(Op::Mul, &[block, sixteen]);
        let rest = make(Op::Urem, &[wrapping, sixteen]);
        let masked = make(Op::And, &[block, sum]);
        for (value, expected) in
            [(sum, 1023 * 16 + 16), (wrapping, u64::from(u32::MAX)), (rest, 15), (masked, 1023 * 16 + 16)]
        {
            assert_eq!(largest(&function, value), expected);
        }
    }
}
