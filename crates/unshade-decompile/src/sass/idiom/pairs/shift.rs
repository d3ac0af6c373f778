//! 64-bit shifts.

use super::{LowPart, Pairs};
use crate::ir::{Op, Value, ValueId};

/// Maximum depth of sums that are compared.
const MAX_DEPTH: u32 = 4;

impl Pairs<'_> {
    /// Recognises the halves of a shifted value: for a left shift `high(x << n)` and `low(x) << n`; for a right shift
    /// `high(x) >> n` and `low(x >> n)`.
    pub(super) fn shift(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        if self.op(high) == Op::High && self.op(low) == Op::Shl {
            let whole = self.input(high, 0);
            if self.op(whole) == Op::Shl
                && self.amount(self.input(whole, 1)) == self.amount(self.input(low, 1))
            {
                let source = self.input(whole, 0);
                let is_low = self.low_is(source, self.input(low, 0));
                return is_low.then_some(whole);
            }
        }
        if self.op(low) == Op::Low && matches!(self.op(high), Op::Shr | Op::Sar) {
            let whole = self.input(low, 0);
            let is_same = matches!(self.op(whole), Op::Shr | Op::Sar)
                && self.amount(self.input(whole, 1)) == self.amount(self.input(high, 1))
                && self.high_is(self.input(whole, 0), self.input(high, 0));
            if is_same {
                let inputs = [self.input(whole, 0), self.input(whole, 1)];
                let op = self.op(high);
                return Some(self.make(like, op, 64, &inputs));
            }
        }
        None
    }

    pub(super) fn amount(&self, id: ValueId) -> LowPart {
        self.number(id).map_or(LowPart::Value(id), LowPart::Number)
    }

    fn low_is(&self, whole: ValueId, low: ValueId) -> bool {
        match self.op(whole) {
            Op::Concat => self.input(whole, 1) == low,
            Op::ZeroExtend | Op::SignExtend => self.input(whole, 0) == low,
            _ => self.op(low) == Op::Low && self.input(low, 0) == whole,
        }
    }

    fn high_is(&self, whole: ValueId, high: ValueId) -> bool {
        match self.op(whole) {
            Op::Concat => self.input(whole, 0) == high,
            Op::ZeroExtend => self.number(high) == Some(0),
            _ => self.op(high) == Op::High && self.input(high, 0) == whole,
        }
    }

    /// Returns what a value is a power-of-two multiple of, and the exponent.
    pub fn scaled(&self, id: ValueId) -> Option<(ValueId, u64)> {
        let number = self.number(self.input(id, 1))?;
        let shift = match self.op(id) {
            Op::Shl => number,
            Op::Mul if number.is_power_of_two() => u64::from(number.trailing_zeros()),
            _ => return None,
        };
        (1..32).contains(&shift).then(|| (self.input(id, 0), shift))
    }

    /// If the upper half has the bits that a shifted lower half loses, returns with which extension, the value before
    /// the shift, and by how much it is shifted: `x >> 30` above and `x << 2` below are the halves of `zext(x) << 2`.
    pub fn lost(&self, high: ValueId, low: ValueId) -> Option<(Op, ValueId, u64)> {
        let source = self.input(high, 0);
        let extension = match self.op(high) {
            Op::Shr => Op::ZeroExtend,
            Op::Sar => Op::SignExtend,
            Op::Select => {
                let (source, shift) = self.scaled(low).filter(|scaled| scaled.1 == 1)?;
                return self.is_sign(high, source).then_some((Op::SignExtend, source, shift));
            }
            _ => return None,
        };
        let kept = self.number(self.input(high, 1)).filter(|kept| (1..32).contains(kept))?;
        let shift = 32 - kept;
        self.is_shifted(low, source, shift, MAX_DEPTH).then_some((extension, source, shift))
    }

    /// Returns whether a 32-bit value is another one shifted to the left, where both may be simplified: `x << 5` is
    /// `(x << 3) << 2`.
    fn is_shifted(&self, id: ValueId, source: ValueId, shift: u64, depth: u32) -> bool {
        if self.width(id) != 32 || self.width(source) != 32 || depth == 0 {
            return false;
        }
        if let (Some(number), Some(source)) = (self.number(id), self.number(source)) {
            return number == source << shift & 0xffff_ffff;
        }
        let (base, factor) = self.multiple(id);
        let (source_base, source_factor) = self.multiple(source);
        let shifted = source_factor << shift & 0xffff_ffff;
        if factor == shifted && base == source_base || factor == 1 << shift && base == source {
            return true;
        }
        let is_sum = self.op(id) == Op::Add && self.op(source) == Op::Add;
        is_sum
            && [(0, 1), (1, 0)].into_iter().any(|(one, other)| {
                self.is_shifted(self.input(id, 0), self.input(source, one), shift, depth - 1)
                    && self.is_shifted(self.input(id, 1), self.input(source, other), shift, depth - 1)
            })
    }

    /// Returns what a value is a constant multiple of, and the factor.
    fn multiple(&self, id: ValueId) -> (ValueId, u64) {
        match (self.op(id), self.number(self.input(id, 1))) {
            (Op::Shl, Some(shift)) if shift < 32 => (self.input(id, 0), 1 << shift),
            (Op::Mul, Some(factor)) => (self.input(id, 0), factor),
            _ => (id, 1),
        }
    }

    /// Recognises left shifts by a constant: `(h << n) + (l >> 32 - n)` above, `l << n` below.
    pub(super) fn shift_left(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let (source, shift) = self.scaled(low)?;
        if !matches!(self.op(high), Op::Add | Op::Or | Op::Xor) {
            return None;
        }
        for (one, other) in [(0, 1), (1, 0)] {
            let (upper, lost) = (self.input(high, one), self.input(high, other));
            let Some((upper, same)) = self.scaled(upper) else { continue };
            if same == shift && self.lost(lost, low) == Some((Op::ZeroExtend, source, shift)) {
                let whole = self.make(like, Op::Concat, 64, &[upper, source]);
                let amount = self.function.constant(shift, 32);
                return Some(self.make(like, Op::Shl, 64, &[whole, amount]));
            }
        }
        None
    }

    /// Recognises right shifts by a constant: `h >> n` above, `(h << 32 - n) + (l >> n)` below.
    pub(super) fn shift_right(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let (op, upper) = (self.op(high), self.input(high, 0));
        let shift = self.number(self.input(high, 1)).filter(|shift| (1..32).contains(shift))?;
        if !matches!(op, Op::Shr | Op::Sar) || !matches!(self.op(low), Op::Add | Op::Or | Op::Xor) {
            return None;
        }
        for (one, other) in [(0, 1), (1, 0)] {
            let (lost, lower) = (self.input(low, one), self.input(low, other));
            if self.scaled(lost) == Some((upper, 32 - shift))
                && self.op(lower) == Op::Shr
                && self.is_number(lower, 1, shift)
            {
                let whole = self.make(like, Op::Concat, 64, &[upper, self.input(lower, 0)]);
                let amount = self.function.constant(shift, 32);
                return Some(self.make(like, op, 64, &[whole, amount]));
            }
        }
        None
    }

    /// Recognises right shifts by a value: `n <= 32 ? (l >> n) + (h << 32 - n) : h >> n - 32` below and `h >> n`
    /// above; left shifts have both halves exchanged.
    pub(super) fn shift_by_value(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let (op, choice, plain) = match (self.op(high), self.op(low)) {
            (Op::Shr | Op::Sar, Op::Select) => (self.op(high), low, high),
            (Op::Select, Op::Shl) => (Op::Shl, high, low),
            _ => return None,
        };
        let (outer, amount) = (self.input(plain, 0), self.input(plain, 1));
        let (condition, yes, no) = (self.input(choice, 0), self.input(choice, 1), self.input(choice, 2));
        let (near, far) = match self.op(condition) {
            Op::LessEqual if self.is_number(condition, 1, 32) && self.input(condition, 0) == amount => {
                (yes, no)
            }
            Op::Less if self.is_number(condition, 0, 32) && self.input(condition, 1) == amount => (no, yes),
            _ => return None,
        };
        let beyond = self.input(far, 1);
        let is_far = self.op(far) == op
            && self.input(far, 0) == outer
            && self.input(beyond, 0) == amount
            && match self.op(beyond) {
                Op::Add => self.is_number(beyond, 1, 0xffff_ffe0),
                Op::Sub => self.is_number(beyond, 1, 32),
                _ => false,
            };
        if !is_far || !matches!(self.op(near), Op::Add | Op::Or) {
            return None;
        }
        let (back, forth) = if op == Op::Shl { (Op::Shl, Op::Shr) } else { (Op::Shr, Op::Shl) };
        for (one, other) in [(0, 1), (1, 0)] {
            let (inner, over) = (self.input(near, one), self.input(near, other));
            let rest = self.input(over, 1);
            if self.op(inner) == back
                && self.input(inner, 1) == amount
                && self.op(over) == forth
                && self.input(over, 0) == outer
                && self.op(rest) == Op::Sub
                && self.is_number(rest, 0, 32)
                && self.input(rest, 1) == amount
            {
                let other = self.input(inner, 0);
                // The bits that cross over come from the half of the plain shift; for a left shift that is the lower
                // one.
                let pair = if op == Op::Shl { [other, outer] } else { [outer, other] };
                let whole = self.make(like, Op::Concat, 64, &pair);
                return Some(self.make(like, op, 64, &[whole, amount]));
            }
        }
        None
    }

    fn is_number(&self, id: ValueId, index: usize, number: u64) -> bool {
        self.number(self.input(id, index)) == Some(number)
    }
}
