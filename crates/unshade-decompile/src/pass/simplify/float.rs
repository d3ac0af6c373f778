//! Floating point: sign changes by bitwise operations.

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

    /// Simplifies inputs of floating-point operations whose sign is changed by bitwise operations.
    pub(super) fn floats(&mut self, op: Op) -> Option<ValueId> {
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
        let (a, b) = (self.input(self.id, 0), self.input(self.id, 1));
        let width = self.function.width(self.id);
        match op {
            Op::FloatEqual if a == b && self.num(a) == Some(0) => Some(self.constant(1, 1)),
            Op::FloatAdd if self.num(b) == Some(1_u64 << ((width.max(1) - 1) & 63)) => Some(a),
            Op::FloatNegate if self.op(a) == Op::FloatNegate => Some(self.input(a, 0)),
            Op::FloatAbs if matches!(self.op(a), Op::FloatNegate | Op::FloatAbs) => {
                let inner = self.input(a, 0);
                Some(self.make(Op::FloatAbs, width, &[inner]))
            }
            // A round trip: every float is exact as a double.
            Op::FloatConvert if width == 32 && self.op(a) == Op::FloatConvert => {
                let inner = self.input(a, 0);
                (self.width(inner) == 32).then_some(inner)
            }
            Op::FloatConvert
                if width == 32
                    && matches!(self.op(a), Op::FloatNegate | Op::FloatAbs)
                    && self.op(self.input(a, 0)) == Op::FloatConvert =>
            {
                let inner = self.input(self.input(a, 0), 0);
                let sign = self.op(a);
                (self.width(inner) == 32).then(|| self.make(sign, 32, &[inner]))
            }
            Op::FloatAdd if self.op(b) == Op::FloatNegate => {
                let inner = self.input(b, 0);
                Some(self.make(Op::FloatSub, width, &[a, inner]))
            }
            Op::FloatAdd if self.op(a) == Op::FloatNegate && self.op(b) != Op::FloatNegate => {
                let inner = self.input(a, 0);
                Some(self.make(Op::FloatSub, width, &[b, inner]))
            }
            _ => None,
        }
    }
}
