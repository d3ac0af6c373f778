//! Exclusive ors whose operands cancel each other.
//!
//! Compilers exchange registers by three exclusive ors, also those of 64-bit values. What is left are trees with the same
//! operand twice. The rules of algebra have only trees of one size, so this searches them.

use super::Rewriter;
use crate::ir::{Op, ValueId};

/// Maximum number of operands of a tree.
const MAX_OPERANDS: usize = 8;

impl Rewriter<'_> {
    /// Returns an exclusive or without the operands that it has twice. That of values made of halves is made of halves if
    /// each half is a single value.
    pub(super) fn without_pairs(&mut self, width: u8, a: ValueId, b: ValueId) -> Option<ValueId> {
        let all = self.operands(&[a, b])?;
        let left = cancelled(&all);
        if left.len() < all.len() {
            return Some(match left[..] {
                [] => self.constant(0, width),
                [first, ref rest @ ..] => {
                    rest.iter().fold(first, |sum, operand| self.make(Op::Xor, width, &[sum, *operand]))
                }
            });
        }
        let is_pair = |id: &ValueId| self.op(*id) == Op::Concat && self.width(self.input(*id, 0)) == 32;
        if width != 64 || all.len() < 3 || !all.iter().all(is_pair) {
            return None;
        }
        let halves = [0, 1].map(|index| {
            let halves: Vec<ValueId> = all.iter().map(|pair| self.input(*pair, index)).collect();
            match cancelled(&self.operands(&halves)?)[..] {
                [single] => Some(single),
                _ => None,
            }
        });
        let [Some(high), Some(low)] = halves else { return None };
        Some(self.make(Op::Concat, 64, &[high, low]))
    }

    /// Returns the operands of a tree of exclusive ors, from those of its root; `None` if there are too many.
    fn operands(&self, roots: &[ValueId]) -> Option<Vec<ValueId>> {
        let mut operands = Vec::with_capacity(MAX_OPERANDS);
        let mut open = roots.to_vec();
        while let Some(id) = open.pop() {
            if self.op(id) == Op::Xor {
                open.extend([self.input(id, 1), self.input(id, 0)]);
            } else {
                operands.push(id);
            }
            if open.len() + operands.len() > MAX_OPERANDS {
                return None;
            }
        }
        Some(operands)
    }
}

/// Returns the values that are in a list an odd number of times, in order.
fn cancelled(all: &[ValueId]) -> Vec<ValueId> {
    let mut left: Vec<ValueId> = Vec::with_capacity(all.len());
    for id in all {
        match left.iter().position(|other| other == id) {
            Some(index) => {
                left.remove(index);
            }
            None => left.push(*id),
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use crate::ir::{BlockId, End, Function, NO_ADDRESS, Op, Space, ValueId};
    use crate::pass::after_all;
    use crate::pass::idiom::Idioms;

    /// Stores what `make` computes from four parameters, and returns what is stored after all passes, by word.
    fn stored(make: impl FnOnce(&mut Function, [ValueId; 4]) -> ValueId) -> Vec<Op> {
        let mut function = Function::default();
        let block = function.block(0);
        let parameter = |function: &mut Function, offset| {
            function.raw(Op::Parameter(offset), 32, BlockId::ENTRY, NO_ADDRESS, &[])
        };
        let given = [0, 4, 8, 12].map(|offset| parameter(&mut function, offset));
        let value = make(&mut function, given);
        let address = function.raw(Op::Parameter(16), 64, block, NO_ADDRESS, &[]);
        function.add(Op::Store(Space::Generic), 0, block, NO_ADDRESS, &[address, value]);
        function.blocks[block].end = End::Return;
        let function = after_all(function, &mut Idioms::default());
        let stores = function.blocks[BlockId::ENTRY].effects.iter();
        stores.map(|store| function.op(function.input(*store, 1))).collect()
    }

    #[test]
    fn operands_cancel_each_other() {
        let stored = stored(|function, [a, b, c, _]| {
            let mut xor = |a, b| function.raw(Op::Xor, 32, BlockId::ENTRY, NO_ADDRESS, &[a, b]);
            let (one, other) = (xor(a, b), xor(c, b));
            let both = xor(one, other);
            xor(both, c)
        });
        assert_eq!(stored, [Op::Parameter(0)]);
    }

    #[test]
    fn exchanged_halves_are_the_other_value() {
        let stored = stored(|function, [a, b, _, d]| {
            let mut make = |op, width, a, b| function.raw(op, width, BlockId::ENTRY, NO_ADDRESS, &[a, b]);
            let (x, y) = (make(Op::Concat, 64, a, a), make(Op::Concat, 64, b, b));
            let high = make(Op::Xor, 32, a, b);
            let high = make(Op::Xor, 32, high, d);
            let third = make(Op::Concat, 64, high, b);
            let both = make(Op::Xor, 64, x, y);
            make(Op::Xor, 64, both, third)
        });
        assert_eq!(stored, [Op::Parameter(0), Op::Parameter(12)]);
    }
}
