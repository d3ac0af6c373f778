//! 64-bit comparisons.

use super::Pairs;
use crate::ir::{Op, Value, ValueId};

impl Pairs<'_> {
    /// Recognises a comparison of upper halves that continues one of the lower halves.
    pub fn comparison(&mut self, id: ValueId) -> Option<ValueId> {
        let like = self.function.values[id];
        let (a, b) = (self.input(id, 0), self.input(id, 1));
        match like.op {
            // Upper halves smaller, or their difference smaller than the borrow.
            Op::BoolOr => {
                let (first, second) =
                    if self.op(a) == Op::Less && self.op(b) == Op::Less { (a, b) } else { return None };
                self.less(like, first, second).or_else(|| self.less(like, second, first))
            }
            // The sign of the difference, corrected by both overflows.
            Op::BoolXor => self.signed_less(like, a, b).or_else(|| self.signed_less(like, b, a)),
            Op::BoolAnd => self.equal(like, a, b).or_else(|| self.equal(like, b, a)),
            _ => None,
        }
    }

    /// Returns the lower halves of `!(b <= a)`, the borrow.
    fn borrow(&self, id: ValueId) -> Option<(ValueId, ValueId)> {
        let mut at = id;
        if self.op(at) == Op::ZeroExtend {
            at = self.input(at, 0);
        }
        match self.op(at) {
            Op::Less => Some((self.input(at, 0), self.input(at, 1))),
            Op::BoolNot if self.op(self.input(at, 0)) == Op::LessEqual => {
                let inner = self.input(at, 0);
                Some((self.input(inner, 1), self.input(inner, 0)))
            }
            _ => None,
        }
    }

    fn wide(&mut self, like: Value, op: Op, highs: (ValueId, ValueId), lows: (ValueId, ValueId)) -> ValueId {
        let left = self.make(like, Op::Concat, 64, &[highs.0, lows.0]);
        let right = self.make(like, Op::Concat, 64, &[highs.1, lows.1]);
        self.make(like, op, 1, &[left, right])
    }

    fn less(&mut self, like: Value, upper: ValueId, rest: ValueId) -> Option<ValueId> {
        let (x, y) = (self.input(upper, 0), self.input(upper, 1));
        let (difference, borrow) = (self.input(rest, 0), self.input(rest, 1));
        let lows = self.borrow(borrow)?;
        self.is_difference(difference, x, y).then(|| self.wide(like, Op::Less, (x, y), lows))
    }

    fn is_difference(&self, id: ValueId, x: ValueId, y: ValueId) -> bool {
        match self.op(id) {
            Op::Sub => self.input(id, 0) == x && self.input(id, 1) == y,
            Op::Add => {
                self.input(id, 0) == x
                    && matches!((self.number(self.input(id, 1)), self.number(y)),
                (Some(sum), Some(y)) if sum.wrapping_add(y) & 0xffff_ffff == 0)
            }
            Op::Neg => self.number(x) == Some(0) && self.input(id, 0) == y,
            _ => id == x && self.number(y) == Some(0),
        }
    }

    fn signed_less(&mut self, like: Value, sign: ValueId, overflow: ValueId) -> Option<ValueId> {
        if self.op(sign) != Op::SignedLess || self.number(self.input(sign, 1)) != Some(0) {
            return None;
        }
        let rest = self.input(sign, 0);
        if self.op(rest) != Op::Sub {
            return None;
        }
        let lows = self.borrow(self.input(rest, 1))?;
        let difference = self.input(rest, 0);
        let borrow = self.input(rest, 1);
        let is_second = |id| {
            self.op(id) == Op::SignedBorrow && self.input(id, 0) == difference && self.input(id, 1) == borrow
        };
        if is_second(overflow) {
            let zero = self.function.constant(0, 32);
            return Some(self.wide(like, Op::SignedLess, (difference, zero), lows));
        }
        if self.op(overflow) != Op::BoolXor {
            return None;
        }
        let (one, two) = (self.input(overflow, 0), self.input(overflow, 1));
        for (first, second) in [(one, two), (two, one)] {
            if self.op(first) == Op::SignedBorrow && is_second(second) {
                let (x, y) = (self.input(first, 0), self.input(first, 1));
                if self.is_difference(difference, x, y) {
                    return Some(self.wide(like, Op::SignedLess, (x, y), lows));
                }
            }
        }
        None
    }

    /// Recognises `x - y - borrow == 0` above and `a == b` below.
    fn equal(&mut self, like: Value, upper: ValueId, lower: ValueId) -> Option<ValueId> {
        if self.op(upper) != Op::Equal || self.op(lower) != Op::Equal {
            return None;
        }
        let (a, b) = (self.input(lower, 0), self.input(lower, 1));
        let (x, y) = (self.input(upper, 0), self.input(upper, 1));
        let (difference, borrow) = if self.number(y) == Some(0) && self.op(x) == Op::Sub {
            (self.input(x, 0), self.input(x, 1))
        } else {
            (x, y)
        };
        let lows = self.borrow(borrow)?;
        let is_same = lows == (a, b) || lows == (b, a);
        let is_difference = self.number(b) == Some(0) && self.is_difference(a, lows.0, lows.1);
        if !is_same && !is_difference {
            return None;
        }
        let zero = self.function.constant(0, 32);
        let highs = match self.op(difference) {
            Op::Sub => (self.input(difference, 0), self.input(difference, 1)),
            _ => (difference, zero),
        };
        Some(self.wide(like, Op::Equal, highs, lows))
    }
}
