//! Quotients and remainders by constants, from the sequences that compilers emit for them.
//!
//! These are no rules of algebra: the divisor is searched for, by its reciprocal or by the bits that a sequence keeps.

use super::Rewriter;
use crate::ir::fold::masked;
use crate::ir::{Op, ValueId};

impl Rewriter<'_> {
    pub(super) fn adds_quotient(&mut self, a: ValueId, b: ValueId) -> Option<ValueId> {
        self.divided_signed(a, b)
            .or_else(|| self.divided_signed(b, a))
            .or_else(|| self.remainder(a, b))
            .or_else(|| self.remainder(b, a))
    }

    /// Recognises the upper half of a product with a magic number, shifted right, as a quotient. With the magic
    /// number `m`, the shift `s` and the divisor `d`, it is one for all 32-bit numbers if `0 <= m * d - 2^(32 + s) <=
    /// 2^s` (Granlund and Montgomery, "Division by Invariant Integers using Multiplication").
    pub(super) fn divided(&mut self, high: ValueId, shift: u64) -> Option<ValueId> {
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

    /// Recognises the signed form: `(mulhi(x, m) >> s) + (mulhi(x, m) >>> 31)`.
    fn divided_signed(&mut self, a: ValueId, b: ValueId) -> Option<ValueId> {
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

    /// Returns the quotient of a value that was widened for the multiplication.
    fn quotient(&mut self, op: Op, widened: ValueId, divisor: u128) -> Option<ValueId> {
        let number = self.input(widened, 0);
        if !(3..1 << 31).contains(&divisor) || self.width(number) != 32 {
            return None;
        }
        let divisor = self.constant(u64::try_from(divisor).ok()?, 32);
        Some(self.make(op, 32, &[number, divisor]))
    }

    /// Recognises a signed value that is rounded towards zero and shifted right as a quotient by a power of two.
    pub(super) fn shifted_quotient(&mut self, width: u8, sum: ValueId, shift: u64) -> Option<ValueId> {
        let number = self.rounded_to_zero(width, sum, shift)?;
        let divisor = self.constant(1 << shift, width);
        Some(self.make(Op::Sdiv, width, &[number, divisor]))
    }

    /// Recognises the same with its low bits masked as the quotient multiplied again.
    pub(super) fn masked_quotient(&mut self, width: u8, sum: ValueId, mask: u64) -> Option<ValueId> {
        let shift = u64::from(mask.trailing_zeros());
        if masked(u64::MAX << (shift & 63), width) != mask {
            return None;
        }
        let number = self.rounded_to_zero(width, sum, shift)?;
        let divisor = self.constant(1 << shift, width);
        let quotient = self.make(Op::Sdiv, width, &[number, divisor]);
        Some(self.make(Op::Mul, width, &[quotient, divisor]))
    }

    /// Returns the value to which `2^shift - 1` is added if it is negative.
    fn rounded_to_zero(&self, width: u8, sum: ValueId, shift: u64) -> Option<ValueId> {
        if self.op(sum) != Op::Add || !matches!(width, 32 | 64) || !(1..31).contains(&shift) {
            return None;
        }
        let (a, b) = (self.input(sum, 0), self.input(sum, 1));
        [(a, b), (b, a)]
            .into_iter()
            .find_map(|(number, bias)| self.is_bias(number, bias, shift).then_some(number))
    }

    /// Returns whether a value is `2^shift - 1` if another is negative, and otherwise 0.
    fn is_bias(&self, number: ValueId, bias: ValueId, shift: u64) -> bool {
        if self.op(bias) == Op::ZeroExtend {
            return self.is_bias(number, self.input(bias, 0), shift);
        }
        let source = self.input(bias, 0);
        let is_top = self.op(bias) == Op::Shr
            && self.num(self.input(bias, 1)) == Some(u64::from(self.width(bias)) - shift);
        is_top && (self.is_sign_of(number, source) || shift == 1 && self.has_sign_of(number, source))
    }

    /// Returns whether all bits of a value are the sign of a number.
    fn is_sign_of(&self, number: ValueId, id: ValueId) -> bool {
        self.op(id) == Op::Sar
            && self.num(self.input(id, 1)) == Some(u64::from(self.width(id)) - 1)
            && self.has_sign_of(number, self.input(id, 0))
    }

    /// Returns whether a value has the highest bit of a number: it is the same value, or its upper half.
    fn has_sign_of(&self, number: ValueId, id: ValueId) -> bool {
        id == number || self.op(id) == Op::High && self.input(id, 0) == number
    }

    /// Recognises the forms of `x - x / d * d`.
    fn remainder(&mut self, product: ValueId, number: ValueId) -> Option<ValueId> {
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
