//! Extensions and halves.

use super::Rewriter;
use super::integer::DEPTH;
use crate::ir::{Op, ValueId};

impl Rewriter<'_> {
    pub(super) fn extension(&mut self, op: Op, width: u8, a: ValueId) -> Option<ValueId> {
        let inner_op = self.op(a);
        let inner = self.input(a, 0);
        match op {
            Op::ZeroExtend | Op::SignExtend | Op::Low if self.width(a) == width => return Some(a),
            // The start of the local or shared window in the generic address space.
            Op::ZeroExtend
                if width == 64 && matches!(inner_op, Op::Special(special) if special.window().is_some()) =>
            {
                return Some(self.make(inner_op, 64, &[]));
            }
            Op::ZeroExtend if width == 64 && self.width(a) == 32 && self.is_in_window(a) => {
                let offset = self.num(self.input(a, 1))?;
                let offset = self.constant(offset, 64);
                let window = self.make(Op::ZeroExtend, 64, &[inner]);
                return Some(self.make(Op::Add, 64, &[window, offset]));
            }
            Op::SignExtend if matches!(inner_op, Op::Special(special) if special.is_small()) => {
                return Some(self.make(Op::ZeroExtend, width, &[a]));
            }
            Op::ZeroExtend | Op::SignExtend if width == 64 && matches!(inner_op, Op::Shl | Op::Mul) => {
                return self.wide_product(inner_op, inner, self.input(a, 1));
            }
            Op::ZeroExtend | Op::SignExtend if inner_op == Op::ZeroExtend => {
                return Some(self.make(Op::ZeroExtend, width, &[inner]));
            }
            Op::SignExtend if inner_op == Op::SignExtend => {
                return Some(self.make(Op::SignExtend, width, &[inner]));
            }
            Op::Low if matches!(inner_op, Op::ZeroExtend | Op::SignExtend) => {
                return Some(match self.width(inner).cmp(&width) {
                    std::cmp::Ordering::Equal => inner,
                    std::cmp::Ordering::Greater => self.make(Op::Low, width, &[inner]),
                    std::cmp::Ordering::Less => self.make(inner_op, width, &[inner]),
                });
            }
            Op::Low if inner_op == Op::Low => return Some(self.make(Op::Low, width, &[inner])),
            Op::Low if inner_op == Op::Concat => {
                let low = self.input(a, 1);
                return match self.width(low).cmp(&width) {
                    std::cmp::Ordering::Equal => Some(low),
                    std::cmp::Ordering::Greater => Some(self.make(Op::Low, width, &[low])),
                    std::cmp::Ordering::Less => None,
                };
            }
            Op::Low if inner_op == Op::Select => return self.low_of_choice(width, a),
            Op::Low if width == 32 => return self.low_of_wide(a),
            // The carry of a product with a power of two.
            Op::High
                if inner_op == Op::Mul
                    && width == 32
                    && matches!(self.op(inner), Op::ZeroExtend | Op::SignExtend)
                    && self.width(self.input(inner, 0)) == 32 =>
            {
                let factor = self.num(self.input(a, 1))?;
                if !factor.is_power_of_two() || !(2..1 << 32).contains(&factor) {
                    return None;
                }
                let amount = self.constant(32 - u64::from(factor.trailing_zeros()), 32);
                let shift = if self.op(inner) == Op::ZeroExtend { Op::Shr } else { Op::Sar };
                let source = self.input(inner, 0);
                return Some(self.make(shift, 32, &[source, amount]));
            }
            Op::High if inner_op == Op::Concat && self.width(self.input(a, 1)) == width => {
                return Some(inner);
            }
            Op::High if inner_op == Op::ZeroExtend && self.width(inner) <= width => {
                return Some(self.constant(0, width));
            }
            Op::High if inner_op == Op::SignExtend && self.width(inner) == width && width == 32 => {
                let top = self.constant(31, 32);
                return Some(self.make(Op::Sar, width, &[inner, top]));
            }
            // A left shift of a value with a zero lower half.
            Op::High
                if inner_op == Op::Shl
                    && width == 32
                    && self.op(inner) == Op::Concat
                    && self.num(self.input(inner, 1)) == Some(0) =>
            {
                let (upper, amount) = (self.input(inner, 0), self.input(a, 1));
                return Some(self.make(Op::Shl, 32, &[upper, amount]));
            }
            _ => {}
        }
        None
    }

    /// Returns the 64-bit form of a 32-bit product with a constant, or of a shift, that loses no bits and has no sign.
    fn wide_product(&mut self, op: Op, source: ValueId, number: ValueId) -> Option<ValueId> {
        let factor = match self.num(number)? {
            shift @ 0..31 if op == Op::Shl => 1 << shift,
            factor if op == Op::Mul => factor,
            _ => return None,
        };
        let most = self.possible(source, DEPTH).checked_mul(factor)?;
        if self.width(source) != 32 || most > i32::MAX as u64 {
            return None;
        }
        let wide = self.make(Op::ZeroExtend, 64, &[source]);
        let factor = self.constant(factor, 64);
        Some(self.make(Op::Mul, 64, &[wide, factor]))
    }

    /// Moves taking the lower half into a select whose sides are plainly made of halves.
    fn low_of_choice(&mut self, width: u8, choice: ValueId) -> Option<ValueId> {
        let is_plain = |id: ValueId| {
            let at = if self.op(id) == Op::Neg { self.input(id, 0) } else { id };
            matches!(self.op(at), Op::ZeroExtend | Op::SignExtend | Op::Constant(_) | Op::Concat)
        };
        let (condition, yes, no) = (self.input(choice, 0), self.input(choice, 1), self.input(choice, 2));
        if !is_plain(yes) || !is_plain(no) {
            return None;
        }
        let sides = [yes, no].map(|side| self.make(Op::Low, width, &[side]));
        Some(self.make(Op::Select, width, &[condition, sides[0], sides[1]]))
    }

    /// Narrows an operation of which only the lower half is used.
    fn low_of_wide(&mut self, wide: ValueId) -> Option<ValueId> {
        let op = self.op(wide);
        let (a, b) = (self.input(wide, 0), self.input(wide, 1));
        match op {
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor => {
                let is_narrow = |this: &Self, id| {
                    matches!(this.op(id), Op::ZeroExtend | Op::SignExtend | Op::Constant(_) | Op::Concat)
                };
                if !is_narrow(self, a) || !is_narrow(self, b) {
                    return None;
                }
                let low = self.make(Op::Low, 32, &[a]);
                let other = self.make(Op::Low, 32, &[b]);
                Some(self.make(op, 32, &[low, other]))
            }
            Op::Neg if matches!(self.op(a), Op::ZeroExtend | Op::SignExtend | Op::Concat | Op::Select) => {
                let low = self.make(Op::Low, 32, &[a]);
                Some(self.make(Op::Neg, 32, &[low]))
            }
            Op::Shr if self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 32 => {
                let inner = self.input(a, 0);
                Some(self.make(Op::Shr, 32, &[inner, b]))
            }
            _ => None,
        }
    }
}
