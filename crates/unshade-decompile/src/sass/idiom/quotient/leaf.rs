//! Divisions of a number by a constant, and of a constant by a number.
//!
//! A compiler multiplies by the scaled reciprocal of a constant and shifts; with 64 bits, in 32-bit halves. The quotient is
//! often never there as one number, only the remainder. But all of it is computed from one number: the *leaf*, on which
//! every path from the result meets. The results for a few numbers suggest the constant, and all trials must agree with it.
//! The error of a product with a reciprocal grows with the number, and is largest just below a multiple of the divisor: so the
//! trials include the numbers around the largest multiples.

use super::{QuotientSearch, Replacements, is_estimate, parts_of};
use crate::ir::dominators::Graph;
use crate::ir::evaluate::{Expression, operate};
use crate::ir::fold::{masked, signed};
use crate::ir::{Function, Intrinsic, Op, ValueId, ValueMap};

/// Maximum number of values between the result and the leaf.
const MAX_BETWEEN: usize = 160;

/// Maximum number of leaves to try for one result.
const MAX_LEAVES: usize = 3;

/// A division of a leaf and a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByConstant {
    op: Op,
    width: u8,
    constant: u64,
    /// Whether the constant is the dividend.
    is_dividend: bool,
}

/// A 64-bit quotient by a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct WideDivision {
    quotient: ValueId,
    /// The dividend.
    leaf: ValueId,
    division: ByConstant,
}

impl ByConstant {
    /// Returns the result for a number; `None` if it is undefined.
    fn value(self, number: u64) -> Option<u64> {
        let inputs = if self.is_dividend { [self.constant, number] } else { [number, self.constant] };
        operate(self.op, &inputs, self.width, self.width).map(|value| masked(value, self.width))
    }

    /// Returns the numbers around multiples of the constant: the largest ones, and some others.
    fn critical(self, numbers: &[u64]) -> Vec<u64> {
        let most = masked(u64::MAX, self.width);
        let size = signed(self.constant, self.width).unsigned_abs().min(self.constant);
        let multiple = |number: u64| number / size * size;
        let largest = [most, most >> 1].into_iter().flat_map(|end| (0..3).map(move |index| (end, index)));
        let largest = largest.map(|(end, index)| multiple(end).wrapping_sub(size.wrapping_mul(index)));
        let others = numbers.iter().take(80).map(|number| multiple(*number));
        let near = |number: u64| [number.wrapping_sub(1), number, number.wrapping_add(1)];
        // Of negative numbers, those with the largest magnitude.
        let both = largest.chain(others).flat_map(near).flat_map(|number| [number, number.wrapping_neg()]);
        both.map(|number| masked(number, self.width)).collect()
    }

    /// Returns the operator of the division.
    pub(super) fn op(self) -> Op {
        self.op
    }

    /// Returns the inputs of the division.
    pub(super) fn inputs(self, function: &mut Function, leaf: ValueId) -> Vec<ValueId> {
        let constant = function.constant(self.constant, self.width);
        if self.is_dividend { vec![constant, leaf] } else { vec![leaf, constant] }
    }
}

impl QuotientSearch<'_> {
    /// Replaces a value that is a division of the one number that it is computed from.
    pub(super) fn search_leaf(&mut self, root: ValueId, found: &mut Replacements) {
        let width = self.function.width(root);
        let is_root = match self.function.op(root) {
            Op::Add | Op::Sub | Op::Shr | Op::Sar | Op::Select | Op::Phi => matches!(width, 32 | 64),
            Op::Concat => width == 64,
            Op::High => width == 32,
            _ => false,
        };
        if !is_root {
            return;
        }
        let origins = self.origins.get_or_insert_with(|| Origins::new(self.function, self.graph));
        let leaves = origins.leaves(root).filter(|leaf| self.function.width(*leaf) == width);
        for leaf in leaves.take(MAX_LEAVES).collect::<Vec<_>>() {
            if let Some(division) = self.division_of(root, leaf) {
                return found.leaves.push((root, leaf, division));
            }
        }
        if width == 32 {
            found.values.extend(self.upper_half(root));
        }
    }

    /// Recognises the upper half of a 64-bit division by a constant that the function has: sums of several use the
    /// halves one by one.
    fn upper_half(&mut self, root: ValueId) -> Option<(ValueId, Op, Vec<ValueId>)> {
        if self.wide_divisions.is_none() {
            let all = self.function.values.keys().filter_map(|id| self.wide_division(id));
            self.wide_divisions = Some(all.collect());
        }
        let origins = self.origins.as_ref()?;
        let is_leaf = |known: &&WideDivision| origins.leaves(root).any(|leaf| leaf == known.leaf);
        let known = self.wide_divisions.iter().flatten().filter(is_leaf);
        let known: Vec<WideDivision> = known.copied().take(MAX_LEAVES).collect();
        let division = known.into_iter().find(|known| self.is_upper_half(root, known))?;
        Some((root, Op::High, vec![division.quotient]))
    }

    /// Returns a value as a 64-bit quotient by a constant.
    fn wide_division(&self, quotient: ValueId) -> Option<WideDivision> {
        let op = self.function.op(quotient);
        let is_quotient = matches!(op, Op::Udiv | Op::Sdiv) && self.function.width(quotient) == 64;
        if !is_quotient || self.function.is_replaced(quotient) {
            return None;
        }
        let constant = self.function.number(self.function.input(quotient, 1)).filter(|number| *number > 1)?;
        let division = ByConstant { op, width: 64, constant, is_dividend: false };
        Some(WideDivision { quotient, leaf: self.function.input(quotient, 0), division })
    }

    /// Returns whether a value is the upper half of a quotient.
    fn is_upper_half(&mut self, root: ValueId, known: &WideDivision) -> bool {
        let Some(expression) = self.expression(root, &[known.leaf]) else { return false };
        let numbers: Vec<u64> = self.pairs(64, false).iter().flatten().copied().collect();
        for number in numbers.iter().copied().chain(known.division.critical(&numbers)) {
            let wanted = known.division.value(number).map(|quotient| quotient >> 32);
            if wanted.is_some() && expression.value(&[number], &mut self.cache.values) != wanted {
                return false;
            }
        }
        true
    }

    fn division_of(&mut self, root: ValueId, leaf: ValueId) -> Option<ByConstant> {
        let expression = self.expression(root, &[leaf])?;
        if let Some(known) = self.cache.leaves.get(&expression) {
            return *known;
        }
        let found = self.try_constants(&expression, self.function.width(root));
        self.cache.leaves.insert(expression, found);
        found
    }

    /// Finds the division that an expression of one leaf equals.
    fn try_constants(&mut self, expression: &Expression, width: u8) -> Option<ByConstant> {
        let numbers: Vec<u64> = self.pairs(width, false).iter().flatten().copied().collect();
        let mut value = |number: u64| expression.value(&[number], &mut self.cache.values);
        let by = |op, constant| ByConstant { op, width, constant, is_dividend: false };
        let of = |op, constant| ByConstant { op, width, constant, is_dividend: true };
        let mut suggested = Vec::new();
        let (most, positive) = (masked(u64::MAX, width), masked(u64::MAX, width) >> 1);
        if let (Some(unsigned), Some(result)) = (value(most), value(positive)) {
            suggested.extend(most.checked_div(unsigned).map(|constant| by(Op::Udiv, constant)));
            let divisor = positive.cast_signed().checked_div(signed(result, width));
            suggested.extend(divisor.map(|constant| by(Op::Sdiv, masked(constant.cast_unsigned(), width))));
            suggested.extend([of(Op::Urem, unsigned), of(Op::Srem, result)]);
            // What the remainder leaves are multiples of the constant.
            let mut divisor = 0;
            let is_large = |number: &u64| number >> (width - 24) != 0;
            for number in numbers.iter().map(|number| number >> 1).filter(is_large).take(12) {
                divisor = gcd(divisor, masked(number.wrapping_sub(value(number)?), width));
            }
            suggested.extend([by(Op::Urem, divisor), by(Op::Srem, divisor)]);
        }
        if let Some(one) = value(1) {
            suggested.extend([of(Op::Udiv, one), of(Op::Sdiv, one)]);
        }
        suggested.retain(|division| division.constant > 1);
        for division in suggested {
            let mut fits = true;
            for number in numbers.iter().copied().chain(division.critical(&numbers)) {
                let Some(wanted) = division.value(number) else { continue };
                if value(number) != Some(wanted) {
                    fits = false;
                    break;
                }
            }
            if fits {
                return Some(division);
            }
        }
        None
    }
}

/// What values are computed from.
pub(super) struct Origins {
    /// The nearest value that all paths from the inputs pass, or none: the immediate dominator in the graph of inputs.
    nearest: ValueMap<ValueId>,
    /// The number of such values above each other.
    depth: ValueMap<u32>,
    /// The most steps of a division on a path to the value.
    steps: ValueMap<u32>,
}

impl Origins {
    fn new(function: &Function, graph: &Graph) -> Self {
        let count = function.values.len();
        let mut origins = Self {
            nearest: ValueMap::filled(ValueId::NONE, count),
            depth: ValueMap::filled(0, count),
            steps: ValueMap::filled(0, count),
        };
        let mut is_done = ValueMap::filled(false, count);
        // Without optimization, a compiler estimates the reciprocal of a constant, too.
        let mut is_constant: ValueMap<bool> =
            function.values.keys().map(|id| function.number(id).is_some()).collect();
        let mut stack: Vec<(ValueId, bool)> = Vec::new();
        let mut parts = Vec::new();
        for id in function.values.keys() {
            stack.push((id, false));
            while let Some((id, has_inputs)) = stack.pop() {
                if is_done[id] {
                    continue;
                }
                parts.clear();
                let is_inner = parts_of(function, graph, id, &mut parts).is_some();
                parts.retain(|part| !is_constant[*part]);
                if has_inputs || !is_inner {
                    is_done[id] = true;
                    is_constant[id] |= is_inner && parts.is_empty();
                    if is_inner {
                        origins.add(id, &parts, is_division_step(function, id));
                    }
                    continue;
                }
                stack.push((id, true));
                stack.extend(parts.iter().filter(|part| !is_done[**part]).map(|part| (*part, false)));
            }
        }
        origins
    }

    /// Adds a value that is computed from others, which may include itself: a loop has no value before it.
    fn add(&mut self, id: ValueId, parts: &[ValueId], is_step: bool) {
        let Some((first, rest)) = parts.split_first() else { return };
        let nearest = rest.iter().fold(*first, |a, b| self.common(a, *b));
        self.nearest[id] = if nearest == id { ValueId::NONE } else { nearest };
        self.depth[id] = if nearest == ValueId::NONE { 0 } else { self.depth[nearest] + 1 };
        let most = parts.iter().map(|part| self.steps[*part]).max().unwrap_or(0);
        self.steps[id] = most.saturating_add(u32::from(is_step));
    }

    /// Returns the nearest value that all paths from two values pass, if it is not too far.
    fn common(&self, mut a: ValueId, mut b: ValueId) -> ValueId {
        for _ in 0..MAX_BETWEEN {
            if a == b || a == ValueId::NONE || b == ValueId::NONE {
                break;
            }
            if self.depth[a] >= self.depth[b] {
                a = self.nearest[a];
            } else {
                b = self.nearest[b];
            }
        }
        if a == b { a } else { ValueId::NONE }
    }

    /// Returns the values that all paths from a result pass, nearest first, with a step of a division between.
    fn leaves(&self, root: ValueId) -> impl Iterator<Item = ValueId> {
        let next = move |id: &ValueId| Some(self.nearest[*id]).filter(|id| *id != ValueId::NONE);
        let all = std::iter::successors(next(&root), next);
        all.take(MAX_BETWEEN).filter(move |leaf| self.steps[*leaf] < self.steps[root])
    }
}

/// Returns whether an operation is typical of a division: the upper half of a product, or an estimate.
pub(super) fn is_division_step(function: &Function, id: ValueId) -> bool {
    match function.op(id) {
        Op::High => function.op(function.input(id, 0)) == Op::Mul,
        Op::Call(Intrinsic::MultiplyHigh) => true,
        _ => is_estimate(function, id),
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
