//! Signs of floating-point numbers that are changed by bitwise operations, and flushes of what cannot be subnormal.
//!
//! Neither is in the table of rules: the first is about an input of any operation on floats, the second looks through any
//! number of changes of sign.

use super::Rewriter;
use crate::ir::math::RECIPROCAL_ROOT;
use crate::ir::{Intrinsic, Op, ValueId};

/// Maximum number of operations to look through for a value that may be subnormal.
const MAX_DEPTH: usize = 4;

/// The bits of 1.
const ONE: u64 = 0x3f80_0000;

impl Rewriter<'_> {
    /// Removes a flush of a value that cannot be subnormal.
    pub(super) fn flushed(&mut self, float: ValueId) -> Option<ValueId> {
        match self.op(float) {
            Op::Constant(bits) if f32::from_bits(bits as u32).is_subnormal() => {
                Some(self.constant(bits & 1 << 31, 32))
            }
            _ if self.is_no_subnormal(float, MAX_DEPTH) => Some(float),
            Op::FloatNegate | Op::FloatAbs => {
                let inner = self.input(float, 0);
                let inner = self.flushed(inner)?;
                Some(self.make(self.op(float), 32, &[inner]))
            }
            _ => None,
        }
    }

    /// Returns whether a float is known not to be subnormal.
    fn is_no_subnormal(&self, float: ValueId, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let is_none = |index: usize| self.is_no_subnormal(self.input(float, index), depth);
        match self.op(float) {
            Op::Constant(bits) => !f32::from_bits(bits as u32).is_subnormal(),
            _ if self.is_from_integer(float) => true,
            Op::Call(RECIPROCAL_ROOT | Intrinsic::Log2) => true,
            Op::Call(Intrinsic::FlushToZero | Intrinsic::HalfToFloat) => true,
            Op::FloatNegate | Op::FloatAbs => is_none(0),
            // A sum has no bits below those of a number of at least 2 to the power of -60 by 48 places or more.
            Op::FloatAdd | Op::FloatSub => (0..2).any(|index| {
                let number = self.num(self.input(float, index)).map(|bits| f32::from_bits(bits as u32));
                number.is_some_and(|number| number.abs() >= 2.0_f32.powi(-60))
            }),
            // Integers are at most 2 to the power of 64.
            Op::FloatDiv => {
                self.num(self.input(float, 0)) == Some(ONE) && self.is_from_integer(self.input(float, 1))
            }
            Op::Select => is_none(1) && is_none(2) || self.scales_subnormals(float),
            _ => false,
        }
    }

    fn is_from_integer(&self, float: ValueId) -> bool {
        match self.op(float) {
            Op::SignedToFloat | Op::UnsignedToFloat => true,
            Op::Call(Intrinsic::Convert(from, ..)) => !from.is_float(),
            _ => false,
        }
    }

    /// Returns whether this is `fabsf(x) < FLT_MIN ? x * 0x1p24f : x`.
    fn scales_subnormals(&self, select: ValueId) -> bool {
        let [condition, scaled, x] = [0, 1, 2].map(|index| self.input(select, index));
        let amount = self.input(condition, 0);
        self.op(condition) == Op::FloatLess
            && self.num(self.input(condition, 1)) == Some(f32::MIN_POSITIVE.to_bits().into())
            && self.op(amount) == Op::FloatAbs
            && self.input(amount, 0) == x
            && self.op(scaled) == Op::FloatMul
            && self.input(scaled, 0) == x
            && self.num(self.input(scaled, 1)) == Some(16_777_216.0_f32.to_bits().into())
    }

    /// Makes bitwise operations on the sign of a floating-point input those on floats.
    pub(super) fn change_signs(&mut self, op: Op) {
        for index in 0..self.function.inputs(self.id).len() {
            if !op.takes_float(index) {
                continue;
            }
            let input = self.input(self.id, index);
            if input == ValueId::NONE || !matches!(self.op(input), Op::And | Op::Xor | Op::Or) {
                continue;
            }
            let width = self.width(input);
            let sign = 1_u64 << ((width - 1) & 63);
            let mask = self.num(self.input(input, 1));
            let inner = self.input(input, 0);
            let replacement = match self.op(input) {
                Op::And if mask == Some(sign - 1) => self.make(Op::FloatAbs, width, &[inner]),
                Op::Xor if mask == Some(sign) => self.make(Op::FloatNegate, width, &[inner]),
                _ => continue,
            };
            self.function.set_input(self.id, index, replacement);
        }
    }
}
