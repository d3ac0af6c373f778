//! Divisions of a 64-bit number by a constant, and of a constant by such a number.
//!
//! A compiler multiplies by the scaled reciprocal of a constant and shifts, in 32-bit halves. The quotient is often never
//! there as one number, only the remainder. But all of it is computed from one number: the *leaf*, on which every path
//! from the result meets. The results for a few numbers suggest the constant, and all trials must agree with it.

use super::{QuotientSearch, Replacements};
use crate::ir::evaluate::{Expression, operate};
use crate::ir::{Function, Intrinsic, Op, ValueId, ValueMap};
use std::collections::BinaryHeap;

/// Maximum number of values between the result and the leaf.
const MAX_BETWEEN: usize = 160;

/// Maximum number of leaves to try for one result.
const MAX_LEAVES: usize = 3;

/// A division of a leaf and a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByConstant {
    op: Op,
    constant: u64,
    /// Whether the constant is the dividend.
    is_dividend: bool,
}

impl ByConstant {
    /// Returns the result for a number; `None` if it is undefined.
    fn value(self, number: u64) -> Option<u64> {
        let inputs = if self.is_dividend { [self.constant, number] } else { [number, self.constant] };
        operate(self.op, &inputs, 64, 64)
    }

    /// Returns the operator of the division.
    pub(super) fn op(self) -> Op {
        self.op
    }

    /// Returns the inputs of the division.
    pub(super) fn inputs(self, function: &mut Function, leaf: ValueId) -> Vec<ValueId> {
        let constant = function.constant(self.constant, 64);
        if self.is_dividend { vec![constant, leaf] } else { vec![leaf, constant] }
    }
}

impl QuotientSearch<'_> {
    /// Replaces a 64-bit value that is a division of the one number that it is computed from.
    pub(super) fn search_leaf(&mut self, root: ValueId, found: &mut Replacements) {
        let is_root = matches!(
            self.function.op(root),
            Op::Add | Op::Sub | Op::Concat | Op::Shr | Op::Sar | Op::Select | Op::Phi
        );
        if self.function.width(root) != 64 || !is_root {
            return;
        }
        self.rank();
        let mut heap = BinaryHeap::from([(self.ranks[root], root)]);
        let mut seen = vec![root];
        let mut parts = Vec::new();
        let (mut is_division, mut tried) = (false, 0);
        while let Some((_, id)) = heap.pop() {
            self.steps = self.steps.saturating_sub(1);
            if heap.is_empty() && id != root && is_division && self.function.width(id) == 64 {
                if let Some(division) = self.division_of(root, id) {
                    return found.leaves.push((root, id, division));
                }
                tried += 1;
            }
            parts.clear();
            let is_inner = self.parts(id, &mut parts).is_some();
            if !is_inner || tried >= MAX_LEAVES || seen.len() > MAX_BETWEEN || self.steps == 0 {
                return;
            }
            is_division |= self.is_division_step(id);
            for part in parts.drain(..) {
                if self.function.number(part).is_none() && !seen.contains(&part) {
                    seen.push(part);
                    heap.push((self.ranks[part], part));
                }
            }
        }
    }

    /// Returns whether an operation is typical of a division: the upper half of a product, or an estimate.
    pub(super) fn is_division_step(&self, id: ValueId) -> bool {
        match self.function.op(id) {
            Op::High => self.function.op(self.function.input(id, 0)) == Op::Mul,
            Op::Call(Intrinsic::MultiplyHigh) => true,
            _ => self.is_estimate(id),
        }
    }

    /// Ranks values so that each is above those that it is computed from.
    fn rank(&mut self) {
        if !self.ranks.is_empty() {
            return;
        }
        const UNRANKED: u32 = u32::MAX;
        let count = self.function.values.len();
        let mut ranks = ValueMap::filled(UNRANKED, count);
        let mut next = 0;
        let mut stack: Vec<(ValueId, bool)> = Vec::new();
        let mut parts = Vec::new();
        for id in self.function.values.keys() {
            stack.push((id, false));
            while let Some((id, is_done)) = stack.pop() {
                if ranks[id] != UNRANKED {
                    continue;
                }
                if is_done {
                    ranks[id] = next;
                    next += 1;
                    continue;
                }
                stack.push((id, true));
                parts.clear();
                if self.parts(id, &mut parts).is_some() {
                    stack.extend(
                        parts.iter().filter(|part| ranks[**part] == UNRANKED).map(|part| (*part, false)),
                    );
                }
            }
        }
        self.ranks = ranks;
    }

    fn division_of(&mut self, root: ValueId, leaf: ValueId) -> Option<ByConstant> {
        let expression = self.expression(root, &[leaf])?;
        if let Some(known) = self.cache.leaves.get(&expression) {
            return *known;
        }
        let found = self.try_constants(&expression)?;
        self.cache.leaves.insert(expression, found);
        found
    }

    /// Finds the division that an expression of one leaf equals; the outer `None` means that the budget is exhausted.
    fn try_constants(&mut self, expression: &Expression) -> Option<Option<ByConstant>> {
        let numbers: Vec<u64> = self.pairs(64, false).iter().flatten().copied().collect();
        let mut value = |number: u64| {
            self.budget = self.budget.checked_sub(1)?;
            Some(expression.value(&[number], &mut self.cache.values))
        };
        let mut suggested = Vec::new();
        let signed = i64::MAX.cast_unsigned();
        if let (Some(unsigned), Some(positive)) = (value(u64::MAX)?, value(signed)?) {
            let by = |op, constant| ByConstant { op, constant, is_dividend: false };
            let of = |op, constant| ByConstant { op, constant, is_dividend: true };
            if let Some(constant) = u64::MAX.checked_div(unsigned) {
                suggested.push(by(Op::Udiv, constant));
            }
            let divisor = i64::MAX.checked_div(positive.cast_signed()).map(i64::cast_unsigned);
            suggested.extend(divisor.map(|constant| by(Op::Sdiv, constant)));
            suggested.extend([of(Op::Urem, unsigned), of(Op::Srem, positive)]);
            // What the remainder leaves are multiples of the constant.
            let mut divisor = 0;
            for number in numbers.iter().map(|number| number >> 1).filter(|number| number >> 40 != 0).take(12)
            {
                divisor = gcd(divisor, number.wrapping_sub(value(number)??));
            }
            suggested.extend([by(Op::Urem, divisor), by(Op::Srem, divisor)]);
        }
        if let Some(one) = value(1)? {
            let dividend = |op| ByConstant { op, constant: one, is_dividend: true };
            suggested.extend([dividend(Op::Udiv), dividend(Op::Sdiv)]);
        }
        suggested.retain(|division| division.constant > 1);
        for division in suggested {
            let constant = division.constant;
            let multiples = numbers.iter().take(80).map(|number| (number / constant).wrapping_mul(constant));
            let near = multiples.flat_map(|number| [number.wrapping_sub(1), number, number.wrapping_add(1)]);
            let mut fits = true;
            for number in numbers.iter().copied().chain(near) {
                let Some(wanted) = division.value(number) else { continue };
                if value(number)? != Some(wanted) {
                    fits = false;
                    break;
                }
            }
            if fits {
                return Some(Some(division));
            }
        }
        Some(None)
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::{Cache, run};
    use crate::ir::dominators::Graph;
    use crate::ir::{BlockId, End, Function, NO_ADDRESS, Op, Space, ValueId};

    /// Makes a function that stores what `make` computes from a parameter, and returns what it stores afterwards.
    fn stored(make: impl FnOnce(&mut Function, ValueId) -> ValueId) -> (Op, Option<u64>) {
        let mut function = Function::default();
        let block = function.block(0);
        let x = function.raw(Op::Parameter(0), 64, block, NO_ADDRESS, &[]);
        let value = make(&mut function, x);
        let address = function.raw(Op::Parameter(8), 64, block, NO_ADDRESS, &[]);
        function.add(Op::Store(Space::Generic), 0, block, NO_ADDRESS, &[address, value]);
        function.blocks[BlockId::ENTRY].end = End::Return;
        let graph = Graph::new(&function);
        run(&mut function, &graph, &mut Cache::default());
        let value = function.input(function.blocks[BlockId::ENTRY].effects[0], 1);
        (function.op(value), function.number(function.input(value, 1)))
    }

    #[test]
    fn the_upper_half_of_a_product_is_a_quotient() {
        // x / 10 = (x * 0xcccccccccccccccd >> 64) >> 3, for every x.
        let quotient = |magic: u64| {
            stored(|function, x| {
                let magic = function.constant(magic, 64);
                let call = Op::Call(crate::ir::Intrinsic::MultiplyHigh);
                let high = function.raw(call, 64, BlockId::ENTRY, NO_ADDRESS, &[x, magic]);
                let shift = function.constant(3, 32);
                function.raw(Op::Shr, 64, BlockId::ENTRY, NO_ADDRESS, &[high, shift])
            })
        };
        assert_eq!(quotient(0xcccc_cccc_cccc_cccd), (Op::Udiv, Some(10)));
        assert_eq!(quotient(0xcccc_cccc_cccc_cccf).0, Op::Shr);
    }
}
