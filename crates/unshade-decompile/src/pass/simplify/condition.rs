//! Comparisons and boolean operators.

use super::Rewriter;
use super::integer::WINDOW;
use crate::ir::fold::{fold, masked, signed};
use crate::ir::{Op, ValueId};

impl Rewriter<'_> {
    pub(super) fn comparison(&mut self, op: Op, a: ValueId, b: ValueId, y: Option<u64>) -> Option<ValueId> {
        // Thread and block indices are small, so their sign does not matter.
        let is_small = |this: &Self, id: ValueId| match this.op(id) {
            Op::Special(special) => special.is_small(),
            Op::Constant(number) => number < 1 << 31,
            _ => false,
        };
        if matches!(op, Op::SignedLess | Op::SignedLessEqual) && is_small(self, a) && is_small(self, b) {
            let op = if op == Op::SignedLess { Op::Less } else { Op::LessEqual };
            return Some(self.make(op, 1, &[a, b]));
        }
        if op == Op::Carry && self.is_window(a) && y.is_some_and(|y| y < WINDOW) {
            return Some(self.constant(0, 1));
        }
        if matches!(op, Op::SignedBorrow | Op::Carry | Op::SignedCarry) {
            return (y == Some(0)).then(|| self.constant(0, 1));
        }
        if a == b {
            let holds = matches!(op, Op::Equal | Op::LessEqual | Op::SignedLessEqual);
            return Some(self.constant(u64::from(holds), 1));
        }
        let is_equality = matches!(op, Op::Equal | Op::NotEqual);
        if is_equality && y == Some(0) && self.op(a) == Op::Sub {
            let (left, right) = (self.input(a, 0), self.input(a, 1));
            return Some(self.make(op, 1, &[left, right]));
        }
        if is_equality && y == Some(0) && self.op(a) == Op::Xor {
            let (left, right) = (self.input(a, 0), self.input(a, 1));
            return Some(self.make(op, 1, &[left, right]));
        }
        // A choice between constants, compared with a constant: a condition.
        if self.op(a) == Op::Select
            && let Some(y) = y
            && let (Some(yes), Some(no)) = (self.num(self.input(a, 1)), self.num(self.input(a, 2)))
        {
            let condition = self.input(a, 0);
            let holds = [yes, no].map(|number| fold(op, &[number, y], self.width(a), 1) == Some(1));
            return Some(match holds {
                [true, true] => self.constant(1, 1),
                [false, false] => self.constant(0, 1),
                [true, false] => condition,
                [false, true] => self.make(Op::BoolNot, 1, &[condition]),
            });
        }
        if is_equality && self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 1 {
            let condition = self.input(a, 0);
            let holds = match y? {
                0 => op == Op::NotEqual,
                1 => op == Op::Equal,
                _ => return None,
            };
            return Some(if holds { condition } else { self.make(Op::BoolNot, 1, &[condition]) });
        }
        // An extended number compared with one that fits the narrow type.
        if self.op(a) == Op::ZeroExtend
            && is_equality
            && let Some(y) = y
            && y <= masked(u64::MAX, self.width(self.input(a, 0)))
        {
            let inner = self.input(a, 0);
            let number = self.constant(y, self.width(inner));
            return Some(self.make(op, 1, &[inner, number]));
        }
        // A single boolean at some bit.
        if is_equality
            && let Some(y) = y
            && self.op(a) == Op::Shl
            && let Some(shift) = self.num(self.input(a, 1)).filter(|shift| *shift < u64::from(self.width(a)))
            && y.trailing_zeros() >= shift as u32
        {
            let inner = self.input(a, 0);
            let bits = self.possible(inner, 4);
            if masked(bits << shift, self.width(a)) >> shift == bits {
                let number = self.constant(y >> shift, self.width(inner));
                return Some(self.make(op, 1, &[inner, number]));
            }
        }
        if let Some(found) = self.narrower(op, a, b) {
            return Some(found);
        }
        match (op, y) {
            (Op::Less, Some(1)) => {
                let zero = self.constant(0, self.width(a));
                Some(self.make(Op::Equal, 1, &[a, zero]))
            }
            (Op::Less, Some(0)) => Some(self.constant(0, 1)),
            _ if self.num(a) == Some(0) && op == Op::Less => Some(self.make(Op::NotEqual, 1, &[b, a])),
            _ if self.num(a) == Some(0) && op == Op::LessEqual => Some(self.constant(1, 1)),
            _ => None,
        }
    }

    /// Narrows a comparison of values that were widened in the same way.
    fn narrower(&mut self, op: Op, a: ValueId, b: ValueId) -> Option<ValueId> {
        let extension = match op {
            Op::SignedLess | Op::SignedLessEqual => Op::SignExtend,
            Op::Less | Op::LessEqual => Op::ZeroExtend,
            _ => match (self.op(a), self.op(b)) {
                (Op::SignExtend, _) | (_, Op::SignExtend) => Op::SignExtend,
                _ => Op::ZeroExtend,
            },
        };
        let wide = self.width(a);
        let source = |this: &Self, id: ValueId| (this.op(id) == extension).then(|| this.input(id, 0));
        let width = source(self, a).or_else(|| source(self, b)).map(|id| self.width(id))?;
        if width < 8 {
            return None;
        }
        let narrow = |this: &mut Self, id: ValueId| match this.num(id) {
            Some(number) => {
                let back = match extension {
                    Op::SignExtend => masked(signed(number, width).cast_unsigned(), wide),
                    _ => masked(number, width),
                };
                (back == number).then(|| this.constant(number, width))
            }
            None => source(this, id).filter(|id| this.width(*id) == width),
        };
        let left = narrow(self, a)?;
        let right = narrow(self, b)?;
        Some(self.make(op, 1, &[left, right]))
    }

    pub(super) fn truth(&mut self, op: Op, a: ValueId, b: ValueId, y: Option<u64>) -> Option<ValueId> {
        match (op, y) {
            (Op::BoolAnd, Some(1)) | (Op::BoolOr | Op::BoolXor, Some(0)) => return Some(a),
            (Op::BoolAnd, Some(0)) | (Op::BoolOr, Some(1)) => return Some(b),
            (Op::BoolXor, Some(1)) => return Some(self.make(Op::BoolNot, 1, &[a])),
            _ => {}
        }
        if op == Op::BoolNot {
            if self.op(a) == Op::BoolNot {
                return Some(self.input(a, 0));
            }
            if let Some((other, swapped)) = self.op(a).contrary() {
                let (left, right) = (self.input(a, 0), self.input(a, 1));
                let inputs = if swapped { [right, left] } else { [left, right] };
                return Some(self.make(other, 1, &inputs));
            }
            // De Morgan, if both operands are comparisons that can be negated.
            if matches!(self.op(a), Op::BoolAnd | Op::BoolOr) {
                let (left, right) = (self.input(a, 0), self.input(a, 1));
                let turns =
                    |this: &Self, id| this.op(id).contrary().is_some() || matches!(this.op(id), Op::BoolNot);
                if turns(self, left) && turns(self, right) {
                    let left = self.make(Op::BoolNot, 1, &[left]);
                    let right = self.make(Op::BoolNot, 1, &[right]);
                    let other = if self.op(a) == Op::BoolAnd { Op::BoolOr } else { Op::BoolAnd };
                    return Some(self.make(other, 1, &[left, right]));
                }
            }
            return None;
        }
        if a == b {
            return Some(if op == Op::BoolXor { self.constant(0, 1) } else { a });
        }
        let is_contrary = self.op(a) == Op::BoolNot && self.input(a, 0) == b
            || self.op(b) == Op::BoolNot && self.input(b, 0) == a;
        if is_contrary {
            return Some(self.constant(u64::from(op != Op::BoolAnd), 1));
        }
        // `a || !a && b` is `a || b`.
        for (one, other) in [(a, b), (b, a)] {
            let inner = if op == Op::BoolOr { Op::BoolAnd } else { Op::BoolOr };
            if op != Op::BoolXor && self.op(other) == inner {
                for (first, second) in [(0, 1), (1, 0)] {
                    let part = self.input(other, first);
                    if part == one {
                        return Some(one);
                    }
                    if self.op(part) == Op::BoolNot && self.input(part, 0) == one {
                        let rest = self.input(other, second);
                        return Some(self.make(op, 1, &[one, rest]));
                    }
                }
            }
        }
        match op {
            Op::BoolOr => self.less_or_equal(a, b).or_else(|| self.less_or_equal(b, a)),
            Op::BoolAnd => self.less_and_unequal(a, b).or_else(|| self.less_and_unequal(b, a)),
            _ => None,
        }
    }

    /// Recognises `a < b || a == b`.
    fn less_or_equal(&mut self, less: ValueId, equal: ValueId) -> Option<ValueId> {
        let op = match self.op(less) {
            Op::Less => Op::LessEqual,
            Op::SignedLess => Op::SignedLessEqual,
            _ => return None,
        };
        (self.op(equal) == Op::Equal).then(|| self.compare_shared_operands(op, less, equal))?
    }

    /// Recognises `a <= b && a != b`.
    fn less_and_unequal(&mut self, less: ValueId, unequal: ValueId) -> Option<ValueId> {
        let op = match self.op(less) {
            Op::LessEqual => Op::Less,
            Op::SignedLessEqual => Op::SignedLess,
            _ => return None,
        };
        (self.op(unequal) == Op::NotEqual).then(|| self.compare_shared_operands(op, less, unequal))?
    }

    /// Returns a comparison of the two operands that two comparisons share.
    fn compare_shared_operands(&mut self, op: Op, one: ValueId, other: ValueId) -> Option<ValueId> {
        let (a, b) = (self.input(one, 0), self.input(one, 1));
        let (x, y) = (self.input(other, 0), self.input(other, 1));
        (a == x && b == y || a == y && b == x).then(|| self.make(op, 1, &[a, b]))
    }
}
