//! Signs of floating-point numbers that are changed by bitwise operations, and flushes of what cannot be subnormal.
//!
//! Neither is in the table of rules: the first is about an input of any operation on floats, the second looks through any
//! number of changes of sign.

use super::Rewriter;
use crate::ir::{Intrinsic, Op, ValueId};

impl Rewriter<'_> {
    /// Removes a flush of a value that cannot be subnormal.
    pub(super) fn flushed(&mut self, float: ValueId) -> Option<ValueId> {
        match self.op(float) {
            Op::Constant(bits) if f32::from_bits(bits as u32).is_subnormal() => {
                Some(self.constant(bits & 1 << 31, 32))
            }
            Op::Constant(_) | Op::SignedToFloat | Op::UnsignedToFloat => Some(float),
            Op::Call(Intrinsic::FlushToZero | Intrinsic::HalfToFloat) => Some(float),
            Op::FloatNegate | Op::FloatAbs => {
                let inner = self.input(float, 0);
                let inner = self.flushed(inner)?;
                Some(self.make(self.op(float), 32, &[inner]))
            }
            _ => None,
        }
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
