//! Choices between vectors that hold floats in some lanes and integers in others.
//!
//! Token programs have no types, and FXC puts what it likes into one register. The language has one type for a vector, and
//! bits of integers in a vector of floats are denormal numbers, which FXC makes zero where it computes with constants. So
//! such a choice becomes two:
//!
//! ```text
//! select.2 c, (f, 3), (g, 4)    →    vector (select c, f, g), (select c, 3, 4)
//! ```

use crate::ir::shader::vector;
use crate::ir::{Function, Op, ValueId};

/// Bits of a float without its sign.
const MAGNITUDE: u64 = 0x7fff_ffff;

/// The least bits of a normal number.
const NORMAL: u64 = 0x0080_0000;

/// Maximum number of choices that a lane is followed through.
const MAX_DEPTH: usize = 8;

/// Splits the choices of a function. Returns whether there were any.
pub fn run(function: &mut Function) -> bool {
    let mut has_changed = false;
    for id in function.values.keys().collect::<Vec<_>>() {
        if function.op(id) == Op::Select && function.width(id) == 32 && !function.is_replaced(id) {
            has_changed |= split(function, id);
        }
    }
    if has_changed {
        vector::refold(function);
    }
    has_changed
}

/// Splits a choice if it has lanes of both kinds.
fn split(function: &mut Function, id: ValueId) -> bool {
    let count = function.lanes(id);
    if !(2..=4).contains(&count) {
        return false;
    }
    let inputs = [0, 1, 2].map(|index| function.input(id, index));
    let (block, address) = (function.values[id].block, function.values[id].address);
    let mut lanes = Vec::new();
    for lane in 0..count as u8 {
        lanes.push(inputs.map(|input| vector::lane(function, block, address, input, lane)));
    }
    let is_integer = |parts: &[ValueId; 3]| parts[1..].iter().any(|part| is_integer(function, (*part, 0), 0));
    let (integers, others): (Vec<usize>, Vec<usize>) =
        (0..lanes.len()).partition(|lane| is_integer(&lanes[*lane]));
    if integers.is_empty() || others.is_empty() {
        return false;
    }
    let mut chosen = vec![ValueId::NONE; lanes.len()];
    for group in [integers, others] {
        let parts = [0, 1, 2].map(|index| {
            let scalars: Vec<ValueId> = group.iter().map(|lane| lanes[*lane][index]).collect();
            vector::gather(function, block, address, &scalars)
        });
        let choice = function.add(Op::Select, 32, block, address, &parts);
        let lanes = parts.iter().map(|part| function.lanes(*part)).max().unwrap_or(1);
        let choice = function.with_lanes(choice, lanes);
        for (position, lane) in (0..).zip(group) {
            chosen[lane] = vector::lane(function, block, address, choice, position);
        }
    }
    let whole = vector::gather(function, block, address, &chosen);
    let whole = vector::broadcast(function, block, address, whole, count);
    function.replace(id, whole);
    true
}

/// Returns whether a lane of a value is a constant whose bits are those of an integer, or a choice of one. These are small
/// numbers and all ones.
fn is_integer(function: &Function, (id, lane): (ValueId, u8), depth: usize) -> bool {
    let (id, lane) = vector::origin(function, id, lane);
    match function.op(id) {
        Op::Constant(bits) => {
            let bits = bits & 0xffff_ffff;
            (1..NORMAL).contains(&(bits & MAGNITUDE)) || bits == 0xffff_ffff
        }
        Op::Select if depth < MAX_DEPTH => {
            [1, 2].into_iter().any(|side| is_integer(function, (function.input(id, side), lane), depth + 1))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockId, NO_ADDRESS};

    #[test]
    fn floats_and_integers_are_chosen_apart() {
        let mut function = Function::default();
        let block = BlockId::ENTRY;
        let condition = function.raw(Op::Undefined, 1, block, NO_ADDRESS, &[]);
        let constants = [0x3f80_0000, 3, 0x4000_0000, 4].map(|bits| function.constant(bits, 32));
        let pair = |function: &mut Function, a: usize| {
            let pair = function.raw(Op::Vector, 32, block, NO_ADDRESS, &constants[a..a + 2]);
            function.with_lanes(pair, 2)
        };
        let (first, second) = (pair(&mut function, 0), pair(&mut function, 2));
        let choice = function.raw(Op::Select, 32, block, NO_ADDRESS, &[condition, first, second]);
        let choice = function.with_lanes(choice, 2);
        assert!(run(&mut function));
        let whole = function.resolve(choice);
        assert_eq!(function.op(whole), Op::Vector);
        for (index, numbers) in [[0x3f80_0000, 0x4000_0000], [3, 4]].into_iter().enumerate() {
            let part = function.input(whole, index);
            assert_eq!(function.op(part), Op::Select);
            assert_eq!([1, 2].map(|side| function.number(function.input(part, side)).unwrap()), numbers);
        }
        assert!(!run(&mut function));
    }
}
