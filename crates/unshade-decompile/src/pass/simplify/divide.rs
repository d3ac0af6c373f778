//! Quotients and remainders out of what compilers make of them.

use super::Rewriter;
use crate::ir::{Id, Op};

impl Rewriter<'_> {
    pub(super) fn adds_quotient(&mut self, a: Id, b: Id) -> Option<Id> {
        self.divided_signed(a, b)
            .or_else(|| self.divided_signed(b, a))
            .or_else(|| self.remainder(a, b))
            .or_else(|| self.remainder(b, a))
    }

    /// The upper half of a product with a magic number, shifted to the right, is a quotient. With `m` the number, `s` the
    /// shift and `d` the divisor, that holds for all numbers of 32 bits if `m * d - 2^(32 + s)` is at least 0 and at most
    /// `2^s` (Granlund and Montgomery, "Division by Invariant Integers using Multiplication").
    pub(super) fn divided(&mut self, high: Id, shift: u64) -> Option<Id> {
        let product = self.input(high, 0);
        if self.op(high) != Op::High || self.op(product) != Op::Mul || self.width(high) != 32 || shift >= 32 {
            return None;
        }
        let (factor, magic) = (self.input(product, 0), self.num(self.input(product, 1))?);
        if self.op(factor) != Op::ZeroExtend || magic < 1 << 16 || magic >> 32 != 0 {
            return None;
        }
        let power = 1_u128 << (32 + shift);
        let divisor = power.div_ceil(u128::from(magic));
        let found = [divisor, divisor.saturating_sub(1)].into_iter().find(|divisor| {
            (u128::from(magic) * divisor).checked_sub(power).is_some_and(|rest| rest <= 1 << shift)
        })?;
        self.quotient(Op::Udiv, factor, found)
    }

    /// The same with a sign: `(mulhi(x, m) >> s) + (mulhi(x, m) >>> 31)`.
    fn divided_signed(&mut self, a: Id, b: Id) -> Option<Id> {
        let (high, shift) = match self.op(a) {
            Op::Sar => (self.input(a, 0), self.num(self.input(a, 1))?),
            _ => (a, 0),
        };
        let product = self.input(high, 0);
        if self.op(high) != Op::High || self.op(product) != Op::Mul || self.width(high) != 32 || shift >= 31 {
            return None;
        }
        let is_sign = |this: &Self| {
            let double = this.input(b, 0);
            this.op(b) == Op::Shr && double == high && this.num(this.input(b, 1)) == Some(31)
                || this.op(b) == Op::High
                    && this.op(double) == Op::Mul
                    && this.op(this.input(double, 0)) == Op::ZeroExtend
                    && this.input(this.input(double, 0), 0) == high
                    && this.num(this.input(double, 1)) == Some(2)
        };
        let (factor, magic) = (self.input(product, 0), self.num(self.input(product, 1))?);
        if !is_sign(self) || self.op(factor) != Op::SignExtend || !(1 << 16..1 << 31).contains(&magic) {
            return None;
        }
        let power = 1_u128 << (32 + shift);
        let divisor = power / u128::from(magic);
        let found = [divisor, divisor + 1].into_iter().find(|divisor| {
            (u128::from(magic) * divisor)
                .checked_sub(power)
                .is_some_and(|rest| rest >= 1 && rest <= 1 << (shift + 1))
        })?;
        self.quotient(Op::Sdiv, factor, found)
    }

    /// A number that was widened to be multiplied, divided by what the product stands for.
    fn quotient(&mut self, op: Op, widened: Id, divisor: u128) -> Option<Id> {
        let number = self.input(widened, 0);
        if !(3..1 << 31).contains(&divisor) || self.width(number) != 32 {
            return None;
        }
        let divisor = self.constant(u64::try_from(divisor).ok()?, 32);
        Some(self.make(op, 32, &[number, divisor]))
    }

    /// `x - x / d * d`, in the forms that it is given.
    fn remainder(&mut self, product: Id, number: Id) -> Option<Id> {
        if self.op(product) != Op::Mul {
            return None;
        }
        let (quotient, factor) = (self.input(product, 0), self.num(self.input(product, 1))?);
        let op = match self.op(quotient) {
            Op::Udiv => Op::Urem,
            Op::Sdiv => Op::Srem,
            _ => return None,
        };
        let divisor = self.num(self.input(quotient, 1))?;
        let is_negated = factor.wrapping_add(divisor) & 0xffff_ffff == 0;
        (is_negated && self.input(quotient, 0) == number && self.width(number) == 32).then(|| {
            let divisor = self.constant(divisor, 32);
            self.make(op, 32, &[number, divisor])
        })
    }
}
