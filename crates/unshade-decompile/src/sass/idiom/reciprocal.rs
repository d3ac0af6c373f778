//! 32-bit quotients by a variable divisor, computed with a reciprocal of the divisor.
//!
//! A machine without a divide instruction multiplies the dividend with an approximate reciprocal, which it gets from a
//! single-precision one, and corrects the estimate of the quotient by the remainder, twice. Releases of the compiler
//! whose sequences differ are left to [`quotient`](super::quotient).

use crate::ir::{Intrinsic, Number, Op, ValueId};
use crate::pass::simplify::Rewriter;

impl Rewriter<'_> {
    /// Recognises 32-bit quotients by a variable divisor that was compared with 0. A machine without a divide
    /// instruction multiplies with a reciprocal and corrects the quotient twice by the remainder. A signed quotient
    /// is that of the absolute values, with the sign of `n ^ d`.
    pub(super) fn quotient_by_value(&mut self) -> Option<ValueId> {
        let [condition, yes, no] = [0, 1, 2].map(|index| self.input(self.id, index));
        let divisor = self.input(condition, 0);
        if self.op(condition) != Op::Equal || self.num(self.input(condition, 1)) != Some(0) {
            return None;
        }
        if let Some(number) = self.divided_by(no, divisor) {
            let quotient = self.make(Op::Udiv, 32, &[number, divisor]);
            return Some(self.make(Op::Select, 32, &[condition, yes, quotient]));
        }
        if let Some(number) = self.left_by(no, divisor) {
            let rest = self.make(Op::Urem, 32, &[number, divisor]);
            return Some(self.make(Op::Select, 32, &[condition, yes, rest]));
        }
        // A signed one.
        let (sign, plus, minus) = (self.input(no, 0), self.input(no, 1), self.input(no, 2));
        if self.op(no) != Op::Select || self.op(minus) != Op::Neg || self.input(minus, 0) != plus {
            return None;
        }
        let signs = self.input(sign, 1);
        if self.op(sign) != Op::SignedLessEqual || self.num(self.input(sign, 0)) != Some(0) {
            return None;
        }
        let amount = self.divisor_of(plus)?;
        // The remainder has the sign of the dividend.
        if self.is_amount(amount, divisor)
            && self.left_by(plus, amount).is_some_and(|found| self.is_amount(found, signs))
        {
            let rest = self.make(Op::Srem, 32, &[signs, divisor]);
            return Some(self.make(Op::Select, 32, &[condition, yes, rest]));
        }
        if self.op(signs) != Op::Xor {
            return None;
        }
        let (a, b) = (self.input(signs, 0), self.input(signs, 1));
        let number = if a == divisor {
            b
        } else if b == divisor {
            a
        } else {
            return None;
        };
        let is_right = self.is_amount(amount, divisor)
            && self.divided_by(plus, amount).is_some_and(|found| self.is_amount(found, number));
        if !is_right {
            return None;
        }
        let quotient = self.make(Op::Sdiv, 32, &[number, divisor]);
        Some(self.make(Op::Select, 32, &[condition, yes, quotient]))
    }

    fn is_amount(&self, id: ValueId, of: ValueId) -> bool {
        self.op(id) == Op::Call(Intrinsic::Abs(Number::I32)) && self.input(id, 0) == of
    }

    /// Returns the divisor of a correction step: `d <= r ? q + 1 : q`.
    fn divisor_of(&self, quotient: ValueId) -> Option<ValueId> {
        let condition = self.input(quotient, 0);
        let is_step = self.op(quotient) == Op::Select && self.op(condition) == Op::LessEqual;
        is_step.then(|| self.input(condition, 0))
    }

    /// Splits a correction step into the quotient before it and the remainder.
    fn corrected(&self, quotient: ValueId, divisor: ValueId) -> Option<(ValueId, ValueId)> {
        let (condition, more, before) =
            (self.input(quotient, 0), self.input(quotient, 1), self.input(quotient, 2));
        let is_step = self.divisor_of(quotient) == Some(divisor)
            && self.op(more) == Op::Add
            && self.input(more, 0) == before
            && self.num(self.input(more, 1)) == Some(1);
        is_step.then(|| (before, self.input(condition, 1)))
    }

    /// Returns the dividend of a quotient that was computed in this way.
    fn divided_by(&self, quotient: ValueId, divisor: ValueId) -> Option<ValueId> {
        let (second, rest) = self.corrected(quotient, divisor)?;
        let (first, left) = self.corrected(second, divisor)?;
        // The first step subtracts the divisor from the remainder if it increments the quotient.
        let less = self.input(rest, 1);
        let is_rest = self.op(rest) == Op::Select
            && self.input(rest, 0) == self.input(second, 0)
            && self.input(rest, 2) == left
            && self.op(less) == Op::Sub
            && self.input(less, 0) == left
            && self.input(less, 1) == divisor;
        let product = self.input(left, 1);
        let number = self.input(left, 0);
        if !is_rest || self.op(left) != Op::Sub || !self.is_product(product, first, divisor) {
            return None;
        }
        self.guesses(first, number, divisor).then_some(number)
    }

    /// Returns the dividend of a remainder: the remainder of the first estimate, from which the divisor is subtracted
    /// twice if it still fits.
    fn left_by(&self, rest: ValueId, divisor: ValueId) -> Option<ValueId> {
        let step = |id: ValueId| {
            let (less, before) = (self.input(id, 1), self.input(id, 2));
            let is_step = self.divisor_of(id) == Some(divisor)
                && self.input(self.input(id, 0), 1) == before
                && self.op(less) == Op::Sub
                && self.input(less, 0) == before
                && self.input(less, 1) == divisor;
            is_step.then_some(before)
        };
        let left = step(step(rest)?)?;
        let (number, product) = (self.input(left, 0), self.input(left, 1));
        if self.op(left) != Op::Sub || self.op(product) != Op::Mul {
            return None;
        }
        let (a, b) = (self.input(product, 0), self.input(product, 1));
        let first = if a == divisor {
            b
        } else if b == divisor {
            a
        } else {
            return None;
        };
        self.guesses(first, number, divisor).then_some(number)
    }

    /// Returns whether the first estimate of a quotient is the upper half of the dividend times a reciprocal of the
    /// divisor.
    fn guesses(&self, first: ValueId, number: ValueId, divisor: ValueId) -> bool {
        let Some((x, y)) = self.upper_factors(first) else { return false };
        let reciprocal = match (x == number, y == number) {
            (true, _) => y,
            (_, true) => x,
            _ => return false,
        };
        self.op(reciprocal) == Op::Add
            && [(0, 1), (1, 0)].into_iter().any(|(one, other)| {
                let guess = self.input(reciprocal, other);
                let Some((x, y)) = self.upper_factors(self.input(reciprocal, one)) else { return false };
                let error = if x == guess { y } else { x };
                (x == guess || y == guess)
                    && self.is_error(error, guess, divisor)
                    && self.is_reciprocal(guess, divisor)
            })
    }

    fn is_product(&self, id: ValueId, a: ValueId, b: ValueId) -> bool {
        let (x, y) = (self.input(id, 0), self.input(id, 1));
        self.op(id) == Op::Mul && (x == a && y == b || x == b && y == a)
    }

    /// Returns the factors of the unsigned product whose upper half this is.
    fn upper_factors(&self, id: ValueId) -> Option<(ValueId, ValueId)> {
        let product = self.input(id, 0);
        let (a, b) = (self.input(product, 0), self.input(product, 1));
        let is_product = self.op(id) == Op::High
            && self.op(product) == Op::Mul
            && self.op(a) == Op::ZeroExtend
            && self.op(b) == Op::ZeroExtend;
        is_product.then(|| (self.input(a, 0), self.input(b, 0)))
    }

    /// Recognises `-(guess * divisor)`.
    fn is_error(&self, id: ValueId, guess: ValueId, divisor: ValueId) -> bool {
        match self.op(id) {
            Op::Neg => self.is_product(self.input(id, 0), guess, divisor),
            Op::Mul => [(0, 1), (1, 0)].into_iter().any(|(one, other)| {
                let (negative, plain) = (self.input(id, one), self.input(id, other));
                self.op(negative) == Op::Neg
                    && (plain == guess && self.input(negative, 0) == divisor
                        || plain == divisor && self.input(negative, 0) == guess)
            }),
            _ => false,
        }
    }

    /// Returns whether a value is the floating-point reciprocal of another, times slightly less than 2^32.
    fn is_reciprocal(&self, id: ValueId, of: ValueId) -> bool {
        let mut at = id;
        let mut is_scaled = false;
        for _ in 0..10 {
            let first = self.input(at, 0);
            at = match self.op(at) {
                Op::Add => {
                    is_scaled = self.num(self.input(at, 1)) == Some(0x0fff_fffe);
                    first
                }
                Op::FloatDiv => self.input(at, 1),
                Op::Call(_) | Op::UnsignedToFloat | Op::SignedToFloat | Op::ZeroExtend | Op::SignExtend => {
                    first
                }
                _ => return false,
            };
            if at == of {
                return is_scaled;
            }
        }
        false
    }
}
