//! Functions that put several numbers into an `u32`, take them out, and multiply them there.

use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::math::Arguments;
use crate::target::{Function, Target};
use naga::{BinaryOperator, MathFunction, Scalar};
use unshade_llvm::ValueId;

/// What a word holds.
#[derive(Clone, Copy)]
struct Layout {
    /// The number of numbers.
    count: u32,
    /// The type of the unpacked numbers.
    scalar: Scalar,
    /// Whether the packed ones are signed.
    is_signed: bool,
    form: Form,
}

/// What the packed numbers are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Fractions of the largest integer.
    Normalized,
    /// `f16`
    Half,
    /// The low bits of integers.
    Integer,
    /// Integers, the nearest ones that fit.
    Clamped,
}

/// Functions: whether it packs, number of numbers, type, whether they are signed, form.
const FUNCTIONS: [(MathFunction, bool, u32, Scalar, bool, Form); 16] = [
    (MathFunction::Pack4x8snorm, true, 4, Scalar::F32, true, Form::Normalized),
    (MathFunction::Pack4x8unorm, true, 4, Scalar::F32, false, Form::Normalized),
    (MathFunction::Pack2x16snorm, true, 2, Scalar::F32, true, Form::Normalized),
    (MathFunction::Pack2x16unorm, true, 2, Scalar::F32, false, Form::Normalized),
    (MathFunction::Pack2x16float, true, 2, Scalar::F32, false, Form::Half),
    (MathFunction::Pack4xI8, true, 4, Scalar::I32, true, Form::Integer),
    (MathFunction::Pack4xU8, true, 4, Scalar::U32, false, Form::Integer),
    (MathFunction::Pack4xI8Clamp, true, 4, Scalar::I32, true, Form::Clamped),
    (MathFunction::Pack4xU8Clamp, true, 4, Scalar::U32, false, Form::Clamped),
    (MathFunction::Unpack4x8snorm, false, 4, Scalar::F32, true, Form::Normalized),
    (MathFunction::Unpack4x8unorm, false, 4, Scalar::F32, false, Form::Normalized),
    (MathFunction::Unpack2x16snorm, false, 2, Scalar::F32, true, Form::Normalized),
    (MathFunction::Unpack2x16unorm, false, 2, Scalar::F32, false, Form::Normalized),
    (MathFunction::Unpack2x16float, false, 2, Scalar::F32, false, Form::Half),
    (MathFunction::Unpack4xI8, false, 4, Scalar::I32, true, Form::Integer),
    (MathFunction::Unpack4xU8, false, 4, Scalar::U32, false, Form::Integer),
];

impl Layout {
    fn bits(self) -> u32 {
        32 / self.count
    }

    /// Returns the smallest and the largest packed integer.
    fn range(self) -> (i128, i128) {
        match self.is_signed {
            true => (-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1),
            false => (0, (1 << self.bits()) - 1),
        }
    }
}

impl<'m, T: Target<'m>> Lower<'m, '_, T> {
    /// Builds functions of packed numbers; `None` for others.
    pub(crate) fn packing(
        &mut self,
        function: MathFunction,
        arguments: &Arguments,
    ) -> Result<Option<Vec<ValueId>>> {
        let dot = match function {
            MathFunction::Dot4I8Packed => Some(Scalar::I32),
            MathFunction::Dot4U8Packed => Some(Scalar::U32),
            _ => None,
        };
        if let (Some(scalar), &[x], &[y]) = (dot, arguments.get(0), arguments.get(1)) {
            let is_signed = scalar == Scalar::I32;
            let layout = Layout { count: 4, scalar, is_signed, form: Form::Integer };
            let (x, y) = (self.unpack(layout, x)?, self.unpack(layout, y)?);
            return Ok(Some(vec![self.dot(scalar, &x, &y)?]));
        }
        let Some(&(_, packs, count, scalar, is_signed, form)) =
            FUNCTIONS.iter().find(|row| row.0 == function)
        else {
            return Ok(None);
        };
        let layout = Layout { count, scalar, is_signed, form };
        Ok(Some(match (packs, arguments.get(0)) {
            (true, values) => vec![self.pack(layout, values)?],
            (false, &[word]) => self.unpack(layout, word)?,
            _ => return Err(Error::new("a packed word that is none")),
        }))
    }

    fn pack(&mut self, layout: Layout, values: &[ValueId]) -> Result<ValueId> {
        let (_, most) = layout.range();
        let mask =
            self.word(u32::try_from(if layout.is_signed { most * 2 + 1 } else { most }).unwrap_or(u32::MAX))?;
        let mut packed = self.word(0)?;
        for (at, &value) in (0..).zip(values) {
            let number = self.pack_number(layout, value)?;
            let number = self.b.and(number, mask)?;
            let shift = self.word(at * layout.bits())?;
            let number = self.b.shl(number, shift)?;
            packed = self.b.or(packed, number)?;
        }
        Ok(packed)
    }

    fn pack_number(&mut self, layout: Layout, value: ValueId) -> Result<ValueId> {
        let (least, most) = layout.range();
        let integer = if layout.is_signed { Scalar::I32 } else { Scalar::U32 };
        match layout.form {
            Form::Integer => Ok(value),
            Form::Clamped => {
                let (least, most) = (self.integer(integer, least)?, self.integer(integer, most)?);
                self.clamp(layout.scalar, value, least, most)
            }
            Form::Normalized => {
                let low = self.float(Scalar::F32, if layout.is_signed { -1.0 } else { 0.0 })?;
                let (high, scale) = (self.float(Scalar::F32, 1.0)?, self.float(Scalar::F32, most as f64)?);
                let value = self.clamp(Scalar::F32, value, low, high)?;
                let value = self.b.fmul(value, scale)?;
                let value = self.function(Function::RoundEven, Scalar::F32, &[value])?;
                self.target.convert(&mut self.b, value, Scalar::F32, integer)
            }
            Form::Half => self.target.half_bits(&mut self.b, value),
        }
    }

    fn unpack(&mut self, layout: Layout, word: ValueId) -> Result<Vec<ValueId>> {
        let integer = if layout.is_signed { Scalar::I32 } else { Scalar::U32 };
        let mut values = Vec::new();
        for at in 0..layout.count {
            // To the top, then down to the bottom with or without the sign.
            let (up, down) = (self.word(32 - (at + 1) * layout.bits())?, self.word(32 - layout.bits())?);
            let number = self.b.shl(word, up)?;
            let number = self.binary_scalar(BinaryOperator::ShiftRight, integer, number, down)?;
            values.push(match layout.form {
                Form::Integer | Form::Clamped => number,
                Form::Normalized => {
                    let number = self.target.convert(&mut self.b, number, integer, Scalar::F32)?;
                    let scale = self.float(Scalar::F32, layout.range().1 as f64)?;
                    let number = self.b.fdiv(number, scale)?;
                    let least = self.float(Scalar::F32, -1.0)?;
                    match layout.is_signed {
                        true => self.function(Function::Max, Scalar::F32, &[number, least])?,
                        false => number,
                    }
                }
                Form::Half => self.target.half_value(&mut self.b, number)?,
            });
        }
        Ok(values)
    }
}
