//! The functions of WGSL: those of each element, geometry, and integers as bits; packing has a file of its own.

use crate::error::{Error, Result, unsupported};
use crate::lower::Lower;
use crate::target::{Function, Target};
use crate::types::Shape;
use naga::{BinaryOperator, Expression, Handle, MathFunction, Scalar, ScalarKind};
use unshade_llvm::ValueId;
use unshade_llvm::build::{FloatPredicate, IntPredicate};

/// Functions that a target has for each element.
const DIRECT: [(MathFunction, Function); 32] = [
    (MathFunction::Min, Function::Min),
    (MathFunction::Max, Function::Max),
    (MathFunction::Saturate, Function::Saturate),
    (MathFunction::Cos, Function::Cos),
    (MathFunction::Cosh, Function::Cosh),
    (MathFunction::Sin, Function::Sin),
    (MathFunction::Sinh, Function::Sinh),
    (MathFunction::Tan, Function::Tan),
    (MathFunction::Tanh, Function::Tanh),
    (MathFunction::Acos, Function::Acos),
    (MathFunction::Asin, Function::Asin),
    (MathFunction::Atan, Function::Atan),
    (MathFunction::Atan2, Function::Atan2),
    (MathFunction::Asinh, Function::Asinh),
    (MathFunction::Acosh, Function::Acosh),
    (MathFunction::Atanh, Function::Atanh),
    (MathFunction::Ceil, Function::Ceil),
    (MathFunction::Floor, Function::Floor),
    (MathFunction::Round, Function::RoundEven),
    (MathFunction::Trunc, Function::Trunc),
    (MathFunction::Exp, Function::Exp),
    (MathFunction::Exp2, Function::Exp2),
    (MathFunction::Log, Function::Log),
    (MathFunction::Log2, Function::Log2),
    (MathFunction::Pow, Function::Pow),
    (MathFunction::Fma, Function::Fma),
    (MathFunction::Sqrt, Function::Sqrt),
    (MathFunction::InverseSqrt, Function::Rsqrt),
    (MathFunction::CountTrailingZeros, Function::CountTrailingZeros),
    (MathFunction::CountLeadingZeros, Function::CountLeadingZeros),
    (MathFunction::CountOneBits, Function::CountOnes),
    (MathFunction::ReverseBits, Function::ReverseBits),
];

/// The arguments of a function.
pub(crate) struct Arguments {
    pub(crate) shape: Shape,
    pub(crate) scalar: Scalar,
    pub(crate) values: Vec<Vec<ValueId>>,
}

impl Arguments {
    /// Returns an argument.
    pub(crate) fn get(&self, at: usize) -> &[ValueId] {
        self.values.get(at).map_or(&[], Vec::as_slice)
    }

    /// Returns an element of each argument; a scalar is used for each element.
    fn element(&self, at: usize) -> Vec<ValueId> {
        self.values.iter().map(|values| values[if values.len() == 1 { 0 } else { at }]).collect()
    }
}

impl<'m, T: Target<'m>> Lower<'m, '_, T> {
    /// Builds a function of WGSL.
    pub fn math(&mut self, function: MathFunction, handles: &[Handle<Expression>]) -> Result<Vec<ValueId>> {
        let Some(&first) = handles.first() else { return Err(Error::new("a function without arguments")) };
        let (shape, scalar) = (self.shape(first)?, self.scalar(first)?);
        let mut values = Vec::new();
        for &handle in handles {
            values.push(self.values(handle)?);
        }
        let arguments = Arguments { shape, scalar, values };
        if let Some(results) = self.geometry(function, &arguments)? {
            return Ok(results);
        }
        if let Some(results) = self.packing(function, &arguments)? {
            return Ok(results);
        }
        let count = arguments.values.iter().map(Vec::len).max().unwrap_or(0);
        let mut results = Vec::with_capacity(count);
        for at in 0..count {
            results.push(self.element_function(function, scalar, &arguments.element(at))?);
        }
        match results.iter().map(Vec::len).max() {
            // A struct of two vectors: all first members, then all second ones.
            Some(2) => {
                let (first, second): (Vec<_>, Vec<_>) = results.iter().map(|pair| (pair[0], pair[1])).unzip();
                Ok([first, second].concat())
            }
            _ => Ok(results.concat()),
        }
    }

    /// Calls a function that a target has, or builds it from others.
    pub fn function(&mut self, function: Function, scalar: Scalar, operands: &[ValueId]) -> Result<ValueId> {
        if let Some(value) = self.target.call(&mut self.b, function, scalar, operands)? {
            return Ok(value);
        }
        let is_float = scalar.kind == ScalarKind::Float;
        match (function, operands) {
            (Function::Abs, &[_]) if scalar.kind == ScalarKind::Uint => Ok(operands[0]),
            (Function::Abs, &[x]) if !is_float => {
                let minus = self.negate(scalar, x)?;
                self.function(Function::Max, scalar, &[x, minus])
            }
            (Function::Exp, &[x]) => {
                let factor = self.float(scalar, std::f64::consts::LOG2_E)?;
                let power = self.b.fmul(x, factor)?;
                self.function(Function::Exp2, scalar, &[power])
            }
            (Function::Log, &[x]) => {
                let log = self.function(Function::Log2, scalar, &[x])?;
                let factor = self.float(scalar, std::f64::consts::LN_2)?;
                Ok(self.b.fmul(log, factor)?)
            }
            (Function::Pow, &[x, y]) => {
                let log = self.function(Function::Log2, scalar, &[x])?;
                let power = self.b.fmul(log, y)?;
                self.function(Function::Exp2, scalar, &[power])
            }
            (Function::Rsqrt, &[x]) => {
                let (one, root) = (self.float(scalar, 1.0)?, self.function(Function::Sqrt, scalar, &[x])?);
                Ok(self.b.fdiv(one, root)?)
            }
            (Function::Fma, &[x, y, z]) => {
                let product = self.b.fmul(x, y)?;
                Ok(self.b.fadd(product, z)?)
            }
            (Function::Saturate, &[x]) => {
                let (zero, one) = (self.float(scalar, 0.0)?, self.float(scalar, 1.0)?);
                self.clamp(scalar, x, zero, one)
            }
            (Function::Asinh | Function::Acosh, &[x]) => {
                let one = self.float(scalar, if function == Function::Asinh { 1.0 } else { -1.0 })?;
                let square = self.b.fmul(x, x)?;
                let sum = self.b.fadd(square, one)?;
                let root = self.function(Function::Sqrt, scalar, &[sum])?;
                let sum = self.b.fadd(x, root)?;
                self.function(Function::Log, scalar, &[sum])
            }
            (Function::Atanh, &[x]) => {
                let one = self.float(scalar, 1.0)?;
                let (above, below) = (self.b.fadd(one, x)?, self.b.fsub(one, x)?);
                let quotient = self.b.fdiv(above, below)?;
                let log = self.function(Function::Log, scalar, &[quotient])?;
                let half = self.float(scalar, 0.5)?;
                Ok(self.b.fmul(log, half)?)
            }
            (Function::Atan2, &[y, x]) => self.atan2(scalar, y, x),
            _ => unsupported(format!("{function:?} of {}", crate::types::scalar_name(scalar))),
        }
    }

    /// Builds the angle of a point from the arcus tangent.
    fn atan2(&mut self, scalar: Scalar, y: ValueId, x: ValueId) -> Result<ValueId> {
        let quotient = self.b.fdiv(y, x)?;
        let angle = self.function(Function::Atan, scalar, &[quotient])?;
        let (zero, pi) = (self.float(scalar, 0.0)?, self.float(scalar, std::f64::consts::PI)?);
        let (up, down) = (self.b.fadd(angle, pi)?, self.b.fsub(angle, pi)?);
        let is_up = self.b.fcmp(FloatPredicate::Oge, y, zero)?;
        let turned = self.b.select(is_up, up, down)?;
        let is_left = self.b.fcmp(FloatPredicate::Olt, x, zero)?;
        let angle = self.b.select(is_left, turned, angle)?;
        let right = self.float(scalar, std::f64::consts::FRAC_PI_2)?;
        let left = self.float(scalar, -std::f64::consts::FRAC_PI_2)?;
        let vertical = self.b.select(is_up, right, left)?;
        let is_vertical = self.b.fcmp(FloatPredicate::Oeq, x, zero)?;
        let angle = self.b.select(is_vertical, vertical, angle)?;
        let is_flat = self.b.fcmp(FloatPredicate::Oeq, y, zero)?;
        let is_origin = self.b.and(is_vertical, is_flat)?;
        Ok(self.b.select(is_origin, zero, angle)?)
    }

    /// Builds a number that is not below or above two others.
    pub fn clamp(&mut self, scalar: Scalar, x: ValueId, least: ValueId, most: ValueId) -> Result<ValueId> {
        let above = self.function(Function::Max, scalar, &[x, least])?;
        self.function(Function::Min, scalar, &[above, most])
    }

    /// Builds a function of one element; `modf` and `frexp` give two.
    fn element_function(
        &mut self,
        function: MathFunction,
        scalar: Scalar,
        x: &[ValueId],
    ) -> Result<Vec<ValueId>> {
        if let Some(&(_, direct)) = DIRECT.iter().find(|row| row.0 == function) {
            return Ok(vec![self.function(direct, scalar, x)?]);
        }
        Ok(vec![match (function, x) {
            (MathFunction::Abs, &[x]) => self.function(Function::Abs, scalar, &[x])?,
            (MathFunction::Clamp, &[x, least, most]) => self.clamp(scalar, x, least, most)?,
            (MathFunction::Radians, &[x]) => self.scaled(scalar, x, std::f64::consts::PI / 180.0)?,
            (MathFunction::Degrees, &[x]) => self.scaled(scalar, x, 180.0 / std::f64::consts::PI)?,
            (MathFunction::Fract, &[x]) => {
                let floor = self.function(Function::Floor, scalar, &[x])?;
                self.b.fsub(x, floor)?
            }
            (MathFunction::Modf, &[x]) => {
                let whole = self.function(Function::Trunc, scalar, &[x])?;
                return Ok(vec![self.b.fsub(x, whole)?, whole]);
            }
            (MathFunction::Frexp, &[x]) => return self.frexp(scalar, x),
            (MathFunction::Ldexp, &[x, exponent]) => self.ldexp(scalar, x, exponent)?,
            (MathFunction::Sign, &[x]) => self.sign(scalar, x)?,
            (MathFunction::Mix, &[x, y, a]) => {
                let one = self.float(scalar, 1.0)?;
                let rest = self.b.fsub(one, a)?;
                let (x, y) = (self.b.fmul(x, rest)?, self.b.fmul(y, a)?);
                self.b.fadd(x, y)?
            }
            (MathFunction::Step, &[edge, x]) => {
                let (zero, one) = (self.float(scalar, 0.0)?, self.float(scalar, 1.0)?);
                let is_below = self.b.fcmp(FloatPredicate::Olt, x, edge)?;
                self.b.select(is_below, zero, one)?
            }
            (MathFunction::SmoothStep, &[low, high, x]) => self.smooth_step(scalar, low, high, x)?,
            (MathFunction::QuantizeToF16, &[x]) => {
                let bits = self.target.half_bits(&mut self.b, x)?;
                self.target.half_value(&mut self.b, bits)?
            }
            (MathFunction::ExtractBits, &[x, offset, count]) => {
                self.extract_bits(scalar, x, offset, count)?
            }
            (MathFunction::InsertBits, &[x, new, offset, count]) => {
                self.insert_bits(scalar, x, new, offset, count)?
            }
            (MathFunction::FirstTrailingBit, &[x]) => {
                let zeros = self.function(Function::CountTrailingZeros, scalar, &[x])?;
                let (zero, none) = (self.integer(scalar, 0)?, self.integer(scalar, -1)?);
                let is_zero = self.b.icmp(IntPredicate::Eq, x, zero)?;
                self.b.select(is_zero, none, zeros)?
            }
            (MathFunction::FirstLeadingBit, &[x]) => self.first_leading_bit(scalar, x)?,
            _ => return unsupported(format!("the function {function:?}")),
        }])
    }

    fn scaled(&mut self, scalar: Scalar, x: ValueId, factor: f64) -> Result<ValueId> {
        let factor = self.float(scalar, factor)?;
        Ok(self.b.fmul(x, factor)?)
    }

    fn sign(&mut self, scalar: Scalar, x: ValueId) -> Result<ValueId> {
        let (zero, one, minus) = if scalar.kind == ScalarKind::Float {
            (self.float(scalar, 0.0)?, self.float(scalar, 1.0)?, self.float(scalar, -1.0)?)
        } else {
            (self.integer(scalar, 0)?, self.integer(scalar, 1)?, self.integer(scalar, -1)?)
        };
        let is_above = self.binary_scalar(BinaryOperator::Greater, scalar, x, zero)?;
        let is_below = self.binary_scalar(BinaryOperator::Less, scalar, x, zero)?;
        let rest = self.b.select(is_below, minus, zero)?;
        Ok(self.b.select(is_above, one, rest)?)
    }

    fn smooth_step(&mut self, scalar: Scalar, low: ValueId, high: ValueId, x: ValueId) -> Result<ValueId> {
        let (above, range) = (self.b.fsub(x, low)?, self.b.fsub(high, low)?);
        let t = self.b.fdiv(above, range)?;
        let t = self.function(Function::Saturate, scalar, &[t])?;
        let (two, three) = (self.float(scalar, 2.0)?, self.float(scalar, 3.0)?);
        let twice = self.b.fmul(two, t)?;
        let rest = self.b.fsub(three, twice)?;
        let square = self.b.fmul(t, t)?;
        Ok(self.b.fmul(square, rest)?)
    }

    /// Splits a number into a fraction from a half to one and the power of two that it is multiplied with.
    fn frexp(&mut self, scalar: Scalar, x: ValueId) -> Result<Vec<ValueId>> {
        if scalar.width != 4 {
            return unsupported("frexp of other numbers than f32");
        }
        let (uint, int) = (Scalar::U32, self.b.integer(32)?);
        // Numbers below the smallest normal one are made larger first.
        let size = self.function(Function::Abs, scalar, &[x])?;
        let (normal, scale) = (self.float(scalar, f64::from(f32::MIN_POSITIVE))?, 2f64.powi(24));
        let is_small = self.b.fcmp(FloatPredicate::Olt, size, normal)?;
        let scaled = self.scaled(scalar, x, scale)?;
        let bits = self.b.select(is_small, scaled, x)?;
        let bits = self.reinterpret(bits, scalar, uint)?;
        let (shift, mask) = (self.word(23)?, self.word(255)?);
        let field = self.b.lshr(bits, shift)?;
        let field = self.b.and(field, mask)?;
        let (bias, small_bias) = (self.word(126)?, self.word(126 + 24)?);
        let bias = self.b.select(is_small, small_bias, bias)?;
        let exponent = self.b.sub(field, bias)?;
        let (keep, half) = (self.b.const_int(int, 0x807F_FFFF_u32)?, self.word(0x3F00_0000)?);
        let fraction = self.b.and(bits, keep)?;
        let fraction = self.b.or(fraction, half)?;
        let fraction = self.reinterpret(fraction, uint, scalar)?;
        // Zero, infinity and what is no number have no exponent.
        let zero = self.float(scalar, 0.0)?;
        let is_zero = self.b.fcmp(FloatPredicate::Oeq, x, zero)?;
        let is_special = self.b.icmp(IntPredicate::Eq, field, mask)?;
        let is_kept = self.b.or(is_zero, is_special)?;
        let none = self.word(0)?;
        Ok(vec![self.b.select(is_kept, x, fraction)?, self.b.select(is_kept, none, exponent)?])
    }

    /// Multiplies with a power of two, in two steps so that the power is a number itself.
    fn ldexp(&mut self, scalar: Scalar, x: ValueId, exponent: ValueId) -> Result<ValueId> {
        let (least, most) = (self.integer(Scalar::I32, -252)?, self.integer(Scalar::I32, 254)?);
        let exponent = self.clamp(Scalar::I32, exponent, least, most)?;
        let one = self.word(1)?;
        let first = self.b.ashr(exponent, one)?;
        let second = self.b.sub(exponent, first)?;
        let mut result = x;
        for part in [first, second] {
            let part = self.target.convert(&mut self.b, part, Scalar::I32, scalar)?;
            let power = self.function(Function::Exp2, scalar, &[part])?;
            result = self.b.fmul(result, power)?;
        }
        Ok(result)
    }

    /// Returns the offset and number of bits that exist.
    fn bit_range(&mut self, offset: ValueId, count: ValueId) -> Result<(ValueId, ValueId)> {
        let width = self.word(32)?;
        let offset = self.function(Function::Min, Scalar::U32, &[offset, width])?;
        let rest = self.b.sub(width, offset)?;
        let count = self.function(Function::Min, Scalar::U32, &[count, rest])?;
        Ok((offset, count))
    }

    fn extract_bits(
        &mut self,
        scalar: Scalar,
        x: ValueId,
        offset: ValueId,
        count: ValueId,
    ) -> Result<ValueId> {
        let (offset, count) = self.bit_range(offset, count)?;
        let (width, zero) = (self.word(32)?, self.word(0)?);
        let left = self.b.sub(width, offset)?;
        let left = self.b.sub(left, count)?;
        let right = self.b.sub(width, count)?;
        let shifted = self.binary_scalar(BinaryOperator::ShiftLeft, scalar, x, left)?;
        let shifted = self.binary_scalar(BinaryOperator::ShiftRight, scalar, shifted, right)?;
        let is_none = self.b.icmp(IntPredicate::Eq, count, zero)?;
        Ok(self.b.select(is_none, zero, shifted)?)
    }

    fn insert_bits(
        &mut self,
        scalar: Scalar,
        x: ValueId,
        new: ValueId,
        offset: ValueId,
        count: ValueId,
    ) -> Result<ValueId> {
        let (offset, count) = self.bit_range(offset, count)?;
        let (width, zero, ones) = (self.word(32)?, self.word(0)?, self.integer(scalar, -1)?);
        let right = self.b.sub(width, count)?;
        let mask = self.binary_scalar(BinaryOperator::ShiftRight, Scalar::U32, ones, right)?;
        let mask = self.binary_scalar(BinaryOperator::ShiftLeft, Scalar::U32, mask, offset)?;
        let is_none = self.b.icmp(IntPredicate::Eq, count, zero)?;
        let mask = self.b.select(is_none, zero, mask)?;
        let new = self.binary_scalar(BinaryOperator::ShiftLeft, Scalar::U32, new, offset)?;
        let inserted = self.b.and(new, mask)?;
        let others = self.b.xor(mask, ones)?;
        let kept = self.b.and(x, others)?;
        Ok(self.b.or(kept, inserted)?)
    }

    fn first_leading_bit(&mut self, scalar: Scalar, x: ValueId) -> Result<ValueId> {
        let (zero, top) = (self.integer(scalar, 0)?, self.integer(scalar, i128::from(scalar.width) * 8 - 1)?);
        // The first bit that differs from the sign.
        let bits = if scalar.kind == ScalarKind::Sint {
            let sign = self.b.ashr(x, top)?;
            self.b.xor(x, sign)?
        } else {
            x
        };
        let zeros = self.function(Function::CountLeadingZeros, scalar, &[bits])?;
        let (found, none) = (self.b.sub(top, zeros)?, self.integer(scalar, -1)?);
        let is_none = self.b.icmp(IntPredicate::Eq, bits, zero)?;
        Ok(self.b.select(is_none, none, found)?)
    }

    /// Builds functions of whole vectors and matrices; `None` for others.
    fn geometry(&mut self, function: MathFunction, arguments: &Arguments) -> Result<Option<Vec<ValueId>>> {
        let (scalar, x, y) = (arguments.scalar, arguments.get(0), arguments.get(1));
        Ok(Some(match function {
            MathFunction::Dot => vec![self.dot(scalar, x, y)?],
            MathFunction::Length => vec![self.length(scalar, x)?],
            MathFunction::Distance => {
                let between = self.each(BinaryOperator::Subtract, scalar, x, y)?;
                vec![self.length(scalar, &between)?]
            }
            MathFunction::Normalize => {
                let square = self.dot(scalar, x, x)?;
                let factor = self.function(Function::Rsqrt, scalar, &[square])?;
                self.each(BinaryOperator::Multiply, scalar, x, &[factor])?
            }
            MathFunction::Cross => {
                let mut results = Vec::new();
                for (a, b) in [(1, 2), (2, 0), (0, 1)] {
                    let (left, right) = (self.b.fmul(x[a], y[b])?, self.b.fmul(x[b], y[a])?);
                    results.push(self.b.fsub(left, right)?);
                }
                results
            }
            MathFunction::FaceForward => {
                let (towards, zero) = (self.dot(scalar, y, arguments.get(2))?, self.float(scalar, 0.0)?);
                let is_kept = self.b.fcmp(FloatPredicate::Olt, towards, zero)?;
                let mut results = Vec::new();
                for &x in x {
                    let minus = self.negate(scalar, x)?;
                    results.push(self.b.select(is_kept, x, minus)?);
                }
                results
            }
            MathFunction::Reflect => {
                let (product, two) = (self.dot(scalar, y, x)?, self.float(scalar, 2.0)?);
                let factor = self.b.fmul(two, product)?;
                let along = self.each(BinaryOperator::Multiply, scalar, y, &[factor])?;
                self.each(BinaryOperator::Subtract, scalar, x, &along)?
            }
            MathFunction::Refract => self.refract(scalar, x, y, arguments.get(2))?,
            MathFunction::Transpose => match arguments.shape {
                Shape::Matrix(_, columns, rows) => {
                    let (columns, rows) = (usize::from(columns), usize::from(rows));
                    (0..rows).flat_map(|row| (0..columns).map(move |at| x[at * rows + row])).collect()
                }
                _ => return unsupported("the transpose of no matrix"),
            },
            MathFunction::Determinant => vec![self.determinant(x)?],
            MathFunction::Outer => {
                let mut results = Vec::new();
                for &y in y {
                    results.extend(self.each(BinaryOperator::Multiply, scalar, x, &[y])?);
                }
                results
            }
            MathFunction::Inverse => return unsupported("the inverse of a matrix"),
            _ => return Ok(None),
        }))
    }

    /// Builds an operator for each element; a single right operand is used for each.
    fn each(
        &mut self,
        operator: BinaryOperator,
        scalar: Scalar,
        left: &[ValueId],
        right: &[ValueId],
    ) -> Result<Vec<ValueId>> {
        let right = |at: usize| right[if right.len() == 1 { 0 } else { at }];
        let elements = left.iter().enumerate();
        elements.map(|(at, &left)| self.binary_scalar(operator, scalar, left, right(at))).collect()
    }

    fn length(&mut self, scalar: Scalar, x: &[ValueId]) -> Result<ValueId> {
        match x {
            &[x] => self.function(Function::Abs, scalar, &[x]),
            x => {
                let square = self.dot(scalar, x, x)?;
                self.function(Function::Sqrt, scalar, &[square])
            }
        }
    }

    fn refract(
        &mut self,
        scalar: Scalar,
        x: &[ValueId],
        normal: &[ValueId],
        ratio: &[ValueId],
    ) -> Result<Vec<ValueId>> {
        let &[ratio] = ratio else { return Err(Error::new("refract takes one ratio")) };
        let (one, zero) = (self.float(scalar, 1.0)?, self.float(scalar, 0.0)?);
        let cosine = self.dot(scalar, normal, x)?;
        let square = self.b.fmul(cosine, cosine)?;
        let sine = self.b.fsub(one, square)?;
        let ratio_square = self.b.fmul(ratio, ratio)?;
        let product = self.b.fmul(ratio_square, sine)?;
        let k = self.b.fsub(one, product)?;
        let is_total = self.b.fcmp(FloatPredicate::Olt, k, zero)?;
        let root = self.function(Function::Sqrt, scalar, &[k])?;
        let along = self.b.fmul(ratio, cosine)?;
        let along = self.b.fadd(along, root)?;
        let mut results = Vec::new();
        for (&x, &normal) in x.iter().zip(normal) {
            let (x, normal) = (self.b.fmul(ratio, x)?, self.b.fmul(along, normal)?);
            let refracted = self.b.fsub(x, normal)?;
            results.push(self.b.select(is_total, zero, refracted)?);
        }
        Ok(results)
    }

    /// Builds a determinant by its first column.
    fn determinant(&mut self, matrix: &[ValueId]) -> Result<ValueId> {
        let size = matrix.len().isqrt();
        if size <= 1 {
            return matrix.first().copied().ok_or_else(|| Error::new("a matrix without elements"));
        }
        let mut sum = None;
        for row in 0..size {
            let mut minor = Vec::new();
            for column in 1..size {
                minor.extend((0..size).filter(|&at| at != row).map(|at| matrix[column * size + at]));
            }
            let of_minor = self.determinant(&minor)?;
            let product = self.b.fmul(matrix[row], of_minor)?;
            sum = Some(match sum {
                None => product,
                Some(sum) if row % 2 == 0 => self.b.fadd(sum, product)?,
                Some(sum) => self.b.fsub(sum, product)?,
            });
        }
        sum.ok_or_else(|| Error::new("a matrix without elements"))
    }
}
