//! 64-bit products, and the upper halves of 128-bit products.

use super::Pairs;
use crate::ir::{Intrinsic, Op, Value, ValueId};

impl Pairs<'_> {
    /// Recognises `a * b` below and `high(a * b) + a * d + c * b` above.
    pub(super) fn product(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let (a, b) = match self.op(low) {
            Op::Mul => (self.input(low, 0), self.input(low, 1)),
            _ => return None,
        };
        let mut terms = self.terms(high);
        let whole = terms.iter().position(|term| {
            let whole = self.input(*term, 0);
            self.op(*term) == Op::High && self.op(whole) == Op::Mul && self.is_low_of(whole, low) && {
                let is_unsigned = |id| matches!(self.op(id), Op::ZeroExtend | Op::Constant(_));
                is_unsigned(self.input(whole, 0)) && is_unsigned(self.input(whole, 1))
            }
        })?;
        terms.swap_remove(whole);
        let (mut c, mut d) = (ValueId::NONE, ValueId::NONE);
        for term in terms {
            if self.op(term) != Op::Mul {
                return None;
            }
            let (x, y) = (self.input(term, 0), self.input(term, 1));
            if d == ValueId::NONE && (x == a || y == a) {
                d = if x == a { y } else { x };
            } else if (x == b || y == b) && c == ValueId::NONE {
                c = if x == b { y } else { x };
            } else {
                return None;
            }
        }
        // For a square, both mixed products are the same value.
        let zero = self.function.constant(0, 32);
        let (c, d) = (if c == ValueId::NONE { zero } else { c }, if d == ValueId::NONE { zero } else { d });
        let left = self.make(like, Op::Concat, 64, &[c, a]);
        let right = self.make(like, Op::Concat, 64, &[d, b]);
        Some(self.make(like, Op::Mul, 64, &[left, right]))
    }

    /// Recognises the upper 64 bits of the product of two 64-bit values, computed from the products of their halves:
    /// with `t = xl * yl >> 32` and `u = xl * yh + t`, it is `xh * yh + (u >> 32) + (xh * yl + low(u) >> 32)`.
    pub(super) fn high_product(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        if self.op(low) != Op::Add {
            return None;
        }
        let terms = self.terms(high);
        let [_, _, _] = terms[..] else { return None };
        let carries = |this: &Self, id: ValueId| {
            (this.op(id) == Op::ZeroExtend).then(|| this.input(id, 0)).filter(|id| this.width(*id) == 1)
        };
        let carry =
            terms.iter().find_map(|term| carries(self, *term).filter(|it| self.is_carry(*it, low)))?;
        let top = *terms.iter().find(|term| carries(self, **term).is_none())?;
        let (xh, yh) = self.upper_product(top)?;
        // The middle: the carries of both mixed products into the upper half.
        let middle = [0, 1].into_iter().find_map(|index| {
            let other = self.input(low, 1 - index);
            (self.is_product(other, xh, yh)).then(|| self.input(low, index))
        })?;
        let part = terms.iter().find_map(|term| {
            let either = carries(self, *term).filter(|it| *it != carry)?;
            self.carry_of_three(either, middle)
        })?;
        let last = if self.input(middle, 0) == part { self.input(middle, 1) } else { self.input(middle, 0) };
        let last = carries(self, last)?;
        // `part` is `high(xh * yl) + t'`; try all assignments of the factors.
        for index in [0, 1] {
            let (mixed, rest) = (self.input(part, index), self.input(part, 1 - index));
            let Some((a, b)) = self.upper_product(mixed) else { continue };
            for (x, y, p, q) in [(xh, yh, a, b), (xh, yh, b, a), (yh, xh, a, b), (yh, xh, b, a)] {
                // `p` is the upper half of one factor, `q` the lower half of the other.
                if !self.is_same(p, x) {
                    continue;
                }
                if let Some(lower) = self.lower_factor(rest, last, (x, y), q) {
                    let [x, lower, y, q] = [x, lower, y, q].map(|id| self.narrow(id));
                    let first = self.make(like, Op::Concat, 64, &[x, lower]);
                    let second = self.make(like, Op::Concat, 64, &[y, q]);
                    let op = Op::Call(Intrinsic::MultiplyHigh);
                    return Some(self.make(like, op, 64, &[first, second]));
                }
            }
        }
        None
    }

    /// Returns the lower half of the factor with the upper half `x`, if the rest is `high(xl * yh) + carry`, and the
    /// last carry is that of `x * q` plus the lower parts of `xl * yh` and `high(xl * q)`.
    fn lower_factor(
        &self,
        rest: ValueId,
        last: ValueId,
        (x, y): (ValueId, ValueId),
        q: ValueId,
    ) -> Option<ValueId> {
        if self.op(rest) != Op::Add || self.op(last) != Op::Carry {
            return None;
        }
        let (mixed, carry) = [(0, 1), (1, 0)].into_iter().find_map(|(one, other)| {
            let carry = self.input(rest, other);
            let is_carry = self.op(carry) == Op::ZeroExtend && self.op(self.input(carry, 0)) == Op::Carry;
            is_carry.then(|| (self.input(rest, one), self.input(carry, 0)))
        })?;
        let (a, b) = self.upper_product(mixed)?;
        let lower = match (self.is_same(a, y), self.is_same(b, y)) {
            (true, _) => b,
            (_, true) => a,
            _ => return None,
        };
        let is_bottom = |id: ValueId| {
            self.upper_product(id).is_some_and(|(a, b)| {
                self.is_same(a, lower) && self.is_same(b, q) || self.is_same(b, lower) && self.is_same(a, q)
            })
        };
        let is_sum = |a: ValueId, b: ValueId| self.is_product(a, lower, y) && is_bottom(b);
        let (a, b) = (self.input(carry, 0), self.input(carry, 1));
        if !is_sum(a, b) && !is_sum(b, a) {
            return None;
        }
        let (a, b) = (self.input(last, 0), self.input(last, 1));
        let ends = |a: ValueId, b: ValueId| {
            let (c, d) = (self.input(b, 0), self.input(b, 1));
            self.is_product(a, x, q) && self.op(b) == Op::Add && (is_sum(c, d) || is_sum(d, c))
        };
        (ends(a, b) || ends(b, a)).then_some(lower)
    }

    /// Returns the factors of the unsigned product whose upper half this is.
    fn upper_product(&self, id: ValueId) -> Option<(ValueId, ValueId)> {
        let whole = self.input(id, 0);
        if self.op(id) != Op::High || self.op(whole) != Op::Mul {
            return None;
        }
        let inner = |id: ValueId| match self.op(id) {
            Op::ZeroExtend if self.width(self.input(id, 0)) == 32 => Some(self.input(id, 0)),
            Op::Constant(number) if number >> 32 == 0 => Some(id),
            _ => None,
        };
        Some((inner(self.input(whole, 0))?, inner(self.input(whole, 1))?))
    }

    fn is_product(&self, id: ValueId, a: ValueId, b: ValueId) -> bool {
        let (x, y) = (self.input(id, 0), self.input(id, 1));
        self.op(id) == Op::Mul
            && (self.is_same(x, a) && self.is_same(y, b) || self.is_same(x, b) && self.is_same(y, a))
    }

    /// Returns whether two are the same value or constant.
    fn is_same(&self, a: ValueId, b: ValueId) -> bool {
        a == b || self.number(a).is_some() && self.number(a) == self.number(b)
    }

    /// Narrows a widened constant to a half.
    fn narrow(&mut self, id: ValueId) -> ValueId {
        match self.number(id) {
            Some(number) if self.width(id) == 64 => self.function.constant(number, 32),
            _ => id,
        }
    }
}
