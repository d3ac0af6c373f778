//! Sums, products, bitwise operations, shifts.

use super::Rewriter;
use crate::ir::fold::{fold, masked, signed};
use crate::ir::{Intrinsic, Number, Op, ValueId};

/// The size of a memory window, in bytes.
pub(super) const WINDOW: u64 = 1 << 24;

/// Maximum depth of the search for possible bits.
pub(super) const DEPTH: u32 = 8;

impl Rewriter<'_> {
    /// Returns whether it is the start of the local or shared window in the generic address space.
    pub(super) fn is_window(&self, id: ValueId) -> bool {
        matches!(self.op(id), Op::Special(special) if special.window().is_some()) && self.width(id) == 32
    }

    /// Returns whether it is an address inside such a window: its start plus a constant. Windows are aligned to their
    /// size, so the sum has no carry.
    pub(super) fn is_in_window(&self, sum: ValueId) -> bool {
        self.op(sum) == Op::Add
            && self.is_window(self.input(sum, 0))
            && self.num(self.input(sum, 1)).is_some_and(|offset| offset < WINDOW)
    }

    #[expect(clippy::too_many_arguments, reason = "an operator, its inputs, and what is known of them")]
    pub(super) fn integer(
        &mut self,
        op: Op,
        width: u8,
        a: ValueId,
        b: ValueId,
        x: Option<u64>,
        y: Option<u64>,
        reassociate: bool,
    ) -> Option<ValueId> {
        let ones = masked(u64::MAX, width);
        match (op, y) {
            (Op::Add | Op::Or | Op::Xor | Op::Sub | Op::Shl | Op::Shr | Op::Sar, Some(0)) => return Some(a),
            (Op::Mul | Op::And, Some(0)) => return Some(b),
            (Op::Mul, Some(1)) => return Some(a),
            (Op::And, Some(y)) if y == ones => return Some(a),
            (Op::Or, Some(y)) if y == ones => return Some(b),
            (Op::Xor, Some(y)) if y == ones => return Some(self.make(Op::Not, width, &[a])),
            (Op::Sub, Some(y)) if reassociate => {
                let negated = self.constant(y.wrapping_neg(), width);
                return Some(self.make(Op::Add, width, &[a, negated]));
            }
            (Op::Mul, Some(y)) if y == ones && reassociate => return Some(self.make(Op::Neg, width, &[a])),
            _ => {}
        }
        let is_double = |this: &Self, inner: Op| this.op(a) == inner && this.num(this.input(a, 1)).is_some();
        match op {
            Op::Sub if a == b => return Some(self.constant(0, width)),
            // Windows are aligned to their size.
            Op::Or if y.is_some_and(|y| y < WINDOW) && self.is_window(a) => {
                return Some(self.make(Op::Add, width, &[a, b]));
            }
            Op::Sub if x == Some(0) && reassociate => return Some(self.make(Op::Neg, width, &[b])),
            Op::And | Op::Or if a == b => return Some(a),
            // Windows are aligned to their size, so the low bits are the address inside.
            Op::And if y.is_some_and(|y| y < WINDOW) && self.is_window(a) => {
                return Some(self.constant(0, width));
            }
            Op::Or if y.is_some_and(|y| y < WINDOW) && self.is_in_window(a) => {
                let (window, offset) = (self.input(a, 0), self.num(self.input(a, 1))?);
                let offset = self.constant(offset | y?, width);
                return Some(self.make(Op::Add, width, &[window, offset]));
            }
            Op::Xor if a == b => return Some(self.constant(0, width)),
            Op::Xor if y.is_none() && (self.op(a) == Op::Xor || self.op(b) == Op::Xor) => {
                return self.without_pairs(width, a, b);
            }
            Op::Neg if self.op(a) == Op::Neg => return Some(self.input(a, 0)),
            Op::Not if self.op(a) == Op::Not => return Some(self.input(a, 0)),
            Op::Neg if self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 1 => {
                let condition = self.input(a, 0);
                let (yes, no) = (self.constant(ones, width), self.constant(0, width));
                return Some(self.make(Op::Select, width, &[condition, yes, no]));
            }
            Op::Mul if self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 1 && y.is_some() => {
                let condition = self.input(a, 0);
                let no = self.constant(0, width);
                return Some(self.make(Op::Select, width, &[condition, b, no]));
            }
            Op::Add if width == 64 && a == b => {
                let two = self.constant(2, width);
                return Some(self.make(Op::Mul, width, &[a, two]));
            }
            Op::Add if reassociate && width == 32 && y.is_none() && self.adds_quotient(a, b).is_some() => {
                return self.adds_quotient(a, b);
            }
            Op::Add if reassociate && is_double(self, Op::Add) && y.is_some() => {
                let inner = self.input(a, 0);
                let sum = self.num(self.input(a, 1))?.wrapping_add(y?);
                let sum = self.constant(sum, width);
                return Some(self.make(Op::Add, width, &[inner, sum]));
            }
            // Constants move outwards, where they combine with others.
            Op::Add if reassociate && width == 64 && self.op(b) == Op::Add && y.is_none() => {
                let (inner, offset) = (self.input(b, 0), self.input(b, 1));
                if self.num(offset).is_some() {
                    let sum = self.make(Op::Add, width, &[a, inner]);
                    return Some(self.make(Op::Add, width, &[sum, offset]));
                }
            }
            Op::Add if reassociate && width == 64 && is_double(self, Op::Add) => {
                let (inner, offset) = (self.input(a, 0), self.input(a, 1));
                let sum = self.make(Op::Add, width, &[inner, b]);
                return Some(self.make(Op::Add, width, &[sum, offset]));
            }
            Op::Add if reassociate && self.op(b) == Op::Neg => {
                let inner = self.input(b, 0);
                return Some(self.make(Op::Sub, width, &[a, inner]));
            }
            Op::Add if reassociate && self.op(a) == Op::Neg && y.is_none() => {
                let inner = self.input(a, 0);
                return Some(self.make(Op::Sub, width, &[b, inner]));
            }
            Op::And | Op::Or | Op::Xor | Op::Mul if is_double(self, op) && y.is_some() => {
                let inner = self.input(a, 0);
                let both = fold(op, &[self.num(self.input(a, 1))?, y?], width, width)?;
                let both = self.constant(both, width);
                return Some(self.make(op, width, &[inner, both]));
            }
            Op::And if y.is_some() && self.op(a) == Op::Select && self.num(self.input(a, 1)).is_some() => {
                let (condition, no) = (self.input(a, 0), self.num(self.input(a, 2))?);
                let yes = self.constant(self.num(self.input(a, 1))? & y?, width);
                let no = self.constant(no & y?, width);
                return Some(self.make(Op::Select, width, &[condition, yes, no]));
            }
            Op::And if y.is_some() => {
                let number = y?;
                return self
                    .without_window(width, a, b)
                    .or_else(|| self.masked(width, a, b, number))
                    .or_else(|| self.masked_quotient(width, a, number));
            }
            // Without a sign.
            Op::Sar if self.possible(a, DEPTH) <= ones >> 1 => {
                return Some(self.make(Op::Shr, width, &[a, b]));
            }
            Op::Sar if y.is_some() => return self.shifted_quotient(width, a, y?),
            Op::Shl | Op::Shr => return self.shift(op, width, a, b, reassociate),
            _ => {}
        }
        None
    }

    pub(super) fn shift(
        &mut self,
        op: Op,
        width: u8,
        a: ValueId,
        b: ValueId,
        reassociate: bool,
    ) -> Option<ValueId> {
        // An amount that is clamped to the width: larger shifts give zero anyway.
        if self.op(b) == Op::Select {
            let (condition, most, amount) = (self.input(b, 0), self.input(b, 1), self.input(b, 2));
            if self.op(condition) == Op::Less
                && self.num(most).is_some_and(|most| most >= u64::from(width))
                && self.input(condition, 1) == amount
                && self.num(self.input(condition, 0)) == self.num(most)
            {
                return Some(self.make(op, width, &[a, amount]));
            }
        }
        if self.op(b) == Op::Call(Intrinsic::Min(Number::U32))
            && self.num(self.input(b, 1)).is_some_and(|most| most >= u64::from(width))
        {
            let amount = self.input(b, 0);
            return Some(self.make(op, width, &[a, amount]));
        }
        let amount = self.num(b)?;
        if op == Op::Shr && self.possible(a, DEPTH).checked_shr(amount as u32).unwrap_or(0) == 0 {
            return Some(self.constant(0, width));
        }
        if op == Op::Shr
            && reassociate
            && let Some(found) = self.divided(a, amount)
        {
            return Some(found);
        }
        if op == Op::Shl && reassociate && width == 64 && amount < 64 {
            let factor = self.constant(1 << amount, 64);
            return Some(self.make(Op::Mul, 64, &[a, factor]));
        }
        if self.op(a) == op
            && let Some(first) = self.num(self.input(a, 1))
            && first + amount < u64::from(width)
        {
            let inner = self.input(a, 0);
            let sum = self.constant(first + amount, self.width(b));
            return Some(self.make(op, width, &[inner, sum]));
        }
        None
    }

    /// Returns the bits that may be set in a value.
    pub(super) fn possible(&self, id: ValueId, depth: u32) -> u64 {
        let all = masked(u64::MAX, self.width(id));
        if depth == 0 {
            return all;
        }
        let (a, b) = (self.input(id, 0), self.input(id, 1));
        let inner = |id| self.possible(id, depth - 1);
        match (self.op(id), self.num(b)) {
            (Op::Constant(number), _) => number,
            (Op::Special(special), _) => special.most().unwrap_or(all),
            (Op::ZeroExtend, _) => inner(a),
            (Op::And, _) => inner(a) & inner(b),
            (Op::Or | Op::Xor, _) => inner(a) | inner(b),
            (Op::Shl, Some(shift)) if shift < 64 => inner(a) << shift & all,
            (Op::Shr, Some(shift)) if shift < 64 => inner(a) >> shift,
            // Multiples have the lowest bits of the factor, and no bits above the product of the largest numbers.
            (Op::Mul, Some(factor)) if factor > 0 => match inner(a).checked_mul(factor) {
                Some(most) if most <= all => filled(most) & u64::MAX << factor.trailing_zeros(),
                _ => all & u64::MAX << factor.trailing_zeros(),
            },
            (Op::Low, _) => inner(a) & all,
            _ => all,
        }
    }

    /// Returns the offset in a memory window for the low bits of an address in it: windows are aligned to their size.
    fn without_window(&mut self, width: u8, address: ValueId, mask: ValueId) -> Option<ValueId> {
        if self.op(address) != Op::Add || self.num(mask).is_none_or(|mask| mask >= WINDOW) {
            return None;
        }
        let (one, other) = (self.input(address, 0), self.input(address, 1));
        let offset = match (self.is_window(one), self.is_window(other)) {
            (true, _) => other,
            (_, true) => one,
            _ => return None,
        };
        Some(self.make(Op::And, width, &[offset, mask]))
    }

    /// Simplifies a masked value: removes parts without any masked bits, and the mask if it keeps all bits.
    fn masked(&mut self, width: u8, a: ValueId, mask: ValueId, bits: u64) -> Option<ValueId> {
        if self.possible(a, DEPTH) & !bits == 0 {
            return Some(a);
        }
        if let Some((source, shift)) = self.unshifted(width, a, bits) {
            let kept = self.constant(bits >> shift, width);
            let inner = self.make(Op::And, width, &[source, kept]);
            let amount = self.constant(shift, 32);
            return Some(self.make(Op::Shl, width, &[inner, amount]));
        }
        if !matches!(self.op(a), Op::Or | Op::Xor) {
            return None;
        }
        for (one, other) in [(0, 1), (1, 0)] {
            let (part, rest) = (self.input(a, one), self.input(a, other));
            if self.possible(part, DEPTH) & bits == 0 {
                return Some(self.make(Op::And, width, &[rest, mask]));
            }
        }
        None
    }

    /// Returns a value and a shift whose result is a value as far as its bits are kept: `x - 1` and 2 of `(x << 2) - 4`
    /// if the two lowest bits are not kept.
    fn unshifted(&mut self, width: u8, id: ValueId, kept: u64) -> Option<(ValueId, u64)> {
        let (a, b) = (self.input(id, 0), self.num(self.input(id, 1))?);
        match self.op(id) {
            Op::Shl if (1..u64::from(width)).contains(&b) => Some((a, b)),
            Op::Mul if b != 0 && b.is_multiple_of(2) => {
                let shift = b.trailing_zeros();
                let factor = signed(b, width) >> shift;
                let factor = self.constant(masked(factor.cast_unsigned(), width), width);
                Some((self.make(Op::Mul, width, &[a, factor]), shift.into()))
            }
            Op::Add if self.op(a) == Op::Shl => {
                let shift =
                    self.num(self.input(a, 1)).filter(|shift| (1..u64::from(width)).contains(shift))?;
                if (b | kept).trailing_zeros() < shift as u32 {
                    return None;
                }
                // The upper bits of the quotient are shifted out.
                let offset = signed(b, width) >> shift;
                let offset = self.constant(masked(offset.cast_unsigned(), width), width);
                let source = self.input(a, 0);
                Some((self.make(Op::Add, width, &[source, offset]), shift))
            }
            _ => None,
        }
    }
}

/// Returns a number with all bits below the highest one of another number.
fn filled(number: u64) -> u64 {
    u64::MAX.checked_shr(number.leading_zeros()).unwrap_or(0)
}
