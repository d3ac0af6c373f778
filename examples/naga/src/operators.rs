//! Operators and conversions. Integer operations have a result for all operands, as WGSL says: a division by zero
//! gives the dividend, shifts count modulo the width, conversions are to the nearest number of the type.

use crate::error::{Result, unsupported};
use crate::lower::Lower;
use crate::target::{Function, Target};
use crate::types::{Shape, scalar_type};
use naga::{
    BinaryOperator, DerivativeAxis, DerivativeControl, Expression, Handle, Literal, RelationalFunction,
    Scalar, ScalarKind, UnaryOperator,
};
use unshade_llvm::ValueId;
use unshade_llvm::build::{FloatPredicate, IntPredicate};
use unshade_llvm::instruction::Opcode;

/// A comparison: of floats, of signed and of unsigned integers.
type Comparison = (BinaryOperator, FloatPredicate, IntPredicate, IntPredicate);

const COMPARISONS: [Comparison; 6] = [
    (BinaryOperator::Equal, FloatPredicate::Oeq, IntPredicate::Eq, IntPredicate::Eq),
    (BinaryOperator::NotEqual, FloatPredicate::Une, IntPredicate::Ne, IntPredicate::Ne),
    (BinaryOperator::Less, FloatPredicate::Olt, IntPredicate::Slt, IntPredicate::Ult),
    (BinaryOperator::LessEqual, FloatPredicate::Ole, IntPredicate::Sle, IntPredicate::Ule),
    (BinaryOperator::Greater, FloatPredicate::Ogt, IntPredicate::Sgt, IntPredicate::Ugt),
    (BinaryOperator::GreaterEqual, FloatPredicate::Oge, IntPredicate::Sge, IntPredicate::Uge),
];

/// Operators that are one instruction: of floats and of others.
const INSTRUCTIONS: [(BinaryOperator, Option<Opcode>, Option<Opcode>); 9] = [
    (BinaryOperator::Add, Some(Opcode::FAdd), Some(Opcode::Add)),
    (BinaryOperator::Subtract, Some(Opcode::FSub), Some(Opcode::Sub)),
    (BinaryOperator::Multiply, Some(Opcode::FMul), Some(Opcode::Mul)),
    (BinaryOperator::Divide, Some(Opcode::FDiv), None),
    (BinaryOperator::And, None, Some(Opcode::And)),
    (BinaryOperator::InclusiveOr, None, Some(Opcode::Or)),
    (BinaryOperator::ExclusiveOr, None, Some(Opcode::Xor)),
    (BinaryOperator::LogicalAnd, None, Some(Opcode::And)),
    (BinaryOperator::LogicalOr, None, Some(Opcode::Or)),
];

impl<'m, T: Target<'m>> Lower<'m, '_, T> {
    /// Builds an operator with one operand.
    pub fn unary(&mut self, operator: UnaryOperator, operand: Handle<Expression>) -> Result<Vec<ValueId>> {
        let scalar = self.scalar(operand)?;
        let mut results = Vec::new();
        for value in self.values(operand)? {
            results.push(match operator {
                UnaryOperator::Negate => self.negate(scalar, value)?,
                UnaryOperator::LogicalNot => {
                    let yes = self.b.const_bool(true);
                    self.b.xor(value, yes)?
                }
                UnaryOperator::BitwiseNot => {
                    let ones = self.integer(scalar, -1)?;
                    self.b.xor(value, ones)?
                }
            });
        }
        Ok(results)
    }

    /// Negates a number.
    pub fn negate(&mut self, scalar: Scalar, value: ValueId) -> Result<ValueId> {
        match scalar.kind {
            // DXIL has no `fneg`; this is its form, which both targets read.
            ScalarKind::Float => {
                let zero = self.float(scalar, -0.0)?;
                Ok(self.b.fsub(zero, value)?)
            }
            _ => {
                let zero = self.integer(scalar, 0)?;
                Ok(self.b.sub(zero, value)?)
            }
        }
    }

    /// Builds an operator with two operands.
    pub fn binary(
        &mut self,
        operator: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<Vec<ValueId>> {
        let (left_shape, right_shape, scalar) = (self.shape(left)?, self.shape(right)?, self.scalar(left)?);
        let (a, b) = (self.values(left)?, self.values(right)?);
        if operator == BinaryOperator::Multiply {
            match (left_shape, right_shape) {
                (Shape::Matrix(_, columns, rows), Shape::Vector(..)) => {
                    return self.matrix_product(scalar, &a, &b, rows, columns, 1);
                }
                (Shape::Vector(_, count), Shape::Matrix(_, columns, _)) => {
                    return self.matrix_product(scalar, &a, &b, 1, count, columns);
                }
                (Shape::Matrix(_, inner, rows), Shape::Matrix(_, columns, _)) => {
                    return self.matrix_product(scalar, &a, &b, rows, inner, columns);
                }
                _ => {}
            }
        }
        let count = a.len().max(b.len());
        let mut results = Vec::with_capacity(count);
        for at in 0..count {
            // A scalar beside a vector or matrix is used for each element.
            let left = a[if a.len() == 1 { 0 } else { at }];
            let right = b[if b.len() == 1 { 0 } else { at }];
            results.push(self.binary_scalar(operator, scalar, left, right)?);
        }
        Ok(results)
    }

    /// Builds an operator with two scalars.
    pub fn binary_scalar(
        &mut self,
        operator: BinaryOperator,
        scalar: Scalar,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId> {
        let is_float = scalar.kind == ScalarKind::Float;
        if let Some(&(_, float, signed, unsigned)) = COMPARISONS.iter().find(|row| row.0 == operator) {
            return Ok(match scalar.kind {
                ScalarKind::Float => self.b.fcmp(float, left, right)?,
                ScalarKind::Sint => self.b.icmp(signed, left, right)?,
                _ => self.b.icmp(unsigned, left, right)?,
            });
        }
        let row = INSTRUCTIONS.iter().find(|row| row.0 == operator);
        if let Some(opcode) = row.and_then(|row| if is_float { row.1 } else { row.2 }) {
            return Ok(self.b.binary(opcode, left, right)?);
        }
        match operator {
            BinaryOperator::Modulo if is_float => {
                let quotient = self.b.fdiv(left, right)?;
                let whole = self.function(Function::Trunc, scalar, &[quotient])?;
                let product = self.b.fmul(right, whole)?;
                Ok(self.b.fsub(left, product)?)
            }
            BinaryOperator::Divide | BinaryOperator::Modulo => self.divide(operator, scalar, left, right),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                self.shift(operator, scalar, left, right)
            }
            _ => unsupported(format!("{operator:?} of {}", crate::types::scalar_name(scalar))),
        }
    }

    /// Divides integers: by 1 instead of what has no quotient.
    fn divide(
        &mut self,
        operator: BinaryOperator,
        scalar: Scalar,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId> {
        let is_signed = scalar.kind == ScalarKind::Sint;
        let right = match self.has_quotients(right) {
            true => right,
            false => self.divisor(scalar, left, right)?,
        };
        Ok(match (operator, is_signed) {
            (BinaryOperator::Divide, true) => self.b.sdiv(left, right)?,
            (BinaryOperator::Divide, false) => self.b.udiv(left, right)?,
            (_, true) => self.b.srem(left, right)?,
            (_, false) => self.b.urem(left, right)?,
        })
    }

    /// Returns whether a divisor is a constant by which all numbers can be divided: neither 0 nor -1.
    fn has_quotients(&self, right: ValueId) -> bool {
        self.b.module().integer(None, right).is_some_and(|number| (1..1 << 15).contains(&number))
    }

    /// Returns the divisor, or 1 if there is no quotient.
    fn divisor(&mut self, scalar: Scalar, left: ValueId, right: ValueId) -> Result<ValueId> {
        let (zero, one) = (self.integer(scalar, 0)?, self.integer(scalar, 1)?);
        let mut has_none = self.b.icmp(IntPredicate::Eq, right, zero)?;
        if scalar.kind == ScalarKind::Sint {
            let least = self.integer(scalar, -(1 << (u32::from(scalar.width) * 8 - 1)))?;
            let minus = self.integer(scalar, -1)?;
            let is_least = self.b.icmp(IntPredicate::Eq, left, least)?;
            let is_minus = self.b.icmp(IntPredicate::Eq, right, minus)?;
            let overflows = self.b.and(is_least, is_minus)?;
            has_none = self.b.or(has_none, overflows)?;
        }
        Ok(self.b.select(has_none, one, right)?)
    }

    /// Shifts an integer; the count is an `i32`, modulo the width.
    fn shift(
        &mut self,
        operator: BinaryOperator,
        scalar: Scalar,
        left: ValueId,
        right: ValueId,
    ) -> Result<ValueId> {
        let ty = scalar_type(&mut self.b, scalar)?;
        let right = match scalar.width {
            4 => right,
            8 => self.b.zext(right, ty)?,
            _ => self.b.trunc(right, ty)?,
        };
        let mask = self.integer(scalar, i128::from(scalar.width) * 8 - 1)?;
        let right = self.b.and(right, mask)?;
        Ok(match (operator, scalar.kind) {
            (BinaryOperator::ShiftLeft, _) => self.b.shl(left, right)?,
            (_, ScalarKind::Sint) => self.b.ashr(left, right)?,
            _ => self.b.lshr(left, right)?,
        })
    }

    /// Multiplies a matrix of `rows` and `inner` columns with one of `inner` rows and `columns`; elements are listed
    /// by columns. A vector is a matrix of one row or column.
    pub fn matrix_product(
        &mut self,
        scalar: Scalar,
        left: &[ValueId],
        right: &[ValueId],
        rows: u8,
        inner: u8,
        columns: u8,
    ) -> Result<Vec<ValueId>> {
        let (rows, inner, columns) = (usize::from(rows), usize::from(inner), usize::from(columns));
        let mut results = Vec::with_capacity(rows * columns);
        for column in 0..columns {
            for row in 0..rows {
                let of_row: Vec<ValueId> = (0..inner).map(|at| left[at * rows + row]).collect();
                let of_column = &right[column * inner..(column + 1) * inner];
                results.push(self.dot(scalar, &of_row, of_column)?);
            }
        }
        Ok(results)
    }

    /// Returns the sum of the products of elements.
    pub fn dot(&mut self, scalar: Scalar, left: &[ValueId], right: &[ValueId]) -> Result<ValueId> {
        let mut sum = None;
        for (&a, &b) in left.iter().zip(right) {
            let product = self.binary_scalar(BinaryOperator::Multiply, scalar, a, b)?;
            sum = Some(match sum {
                None => product,
                Some(sum) => self.binary_scalar(BinaryOperator::Add, scalar, sum, product)?,
            });
        }
        match sum {
            Some(sum) => Ok(sum),
            None => unsupported("a product of no numbers"),
        }
    }

    /// Builds a selection by one condition, or one for each element.
    pub fn select(
        &mut self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<Vec<ValueId>> {
        let conditions = self.values(condition)?;
        let (accept, reject) = (self.values(accept)?, self.values(reject)?);
        let mut results = Vec::with_capacity(accept.len());
        for (at, (&yes, &no)) in accept.iter().zip(&reject).enumerate() {
            let condition = conditions[if conditions.len() == 1 { 0 } else { at }];
            results.push(self.b.select(condition, yes, no)?);
        }
        Ok(results)
    }

    /// Builds `all`, `any`, or a question about floats.
    pub fn relational(
        &mut self,
        function: RelationalFunction,
        argument: Handle<Expression>,
    ) -> Result<Vec<ValueId>> {
        let (scalar, values) = (self.scalar(argument)?, self.values(argument)?);
        let mut results: Vec<ValueId> = Vec::new();
        for value in values {
            let joined = match (function, results.pop()) {
                (RelationalFunction::All, Some(before)) => self.b.and(before, value)?,
                (RelationalFunction::Any, Some(before)) => self.b.or(before, value)?,
                (RelationalFunction::All | RelationalFunction::Any, None) => value,
                (RelationalFunction::IsNan, before) => {
                    results.extend(before);
                    self.b.fcmp(FloatPredicate::Uno, value, value)?
                }
                (RelationalFunction::IsInf, before) => {
                    results.extend(before);
                    let size = self.function(Function::Abs, scalar, &[value])?;
                    let infinity = self.float(scalar, f64::INFINITY)?;
                    self.b.fcmp(FloatPredicate::Oeq, size, infinity)?
                }
            };
            results.push(joined);
        }
        Ok(results)
    }

    /// Converts a value, or takes its bits as another type.
    pub fn convert(
        &mut self,
        operand: Handle<Expression>,
        kind: ScalarKind,
        width: Option<u8>,
    ) -> Result<Vec<ValueId>> {
        let from = self.scalar(operand)?;
        let to = Scalar { kind, width: width.unwrap_or(from.width) };
        let mut results = Vec::new();
        for value in self.values(operand)? {
            results.push(match width {
                Some(_) => self.convert_scalar(value, from, to)?,
                None => self.reinterpret(value, from, to)?,
            });
        }
        Ok(results)
    }

    /// Takes the bits of a number as another type of the same width.
    pub fn reinterpret(&mut self, value: ValueId, from: Scalar, to: Scalar) -> Result<ValueId> {
        let (old, new) = (scalar_type(&mut self.b, from)?, scalar_type(&mut self.b, to)?);
        Ok(if old == new { value } else { self.b.bitcast(value, new)? })
    }

    /// Converts a number or truth value.
    pub fn convert_scalar(&mut self, value: ValueId, from: Scalar, to: Scalar) -> Result<ValueId> {
        use ScalarKind::{Bool, Float, Sint, Uint};
        let ty = scalar_type(&mut self.b, to)?;
        match (from.kind, to.kind) {
            (Bool, Bool) => Ok(value),
            (Bool, Float) => {
                let (one, zero) = (self.float(to, 1.0)?, self.float(to, 0.0)?);
                Ok(self.b.select(value, one, zero)?)
            }
            (Bool, _) => Ok(self.b.zext(value, ty)?),
            (Float, Bool) => {
                let zero = self.float(from, 0.0)?;
                Ok(self.b.fcmp(FloatPredicate::Une, value, zero)?)
            }
            (_, Bool) => {
                let zero = self.integer(from, 0)?;
                Ok(self.b.icmp(IntPredicate::Ne, value, zero)?)
            }
            (Float, Sint | Uint) => {
                let (least, most) = naga::proc::min_max_float_representable_by(from, to);
                let (least, most) = (literal_number(least), literal_number(most));
                let (least, most) = (self.float(from, least)?, self.float(from, most)?);
                let value = self.function(Function::Max, from, &[value, least])?;
                let value = self.function(Function::Min, from, &[value, most])?;
                self.target.convert(&mut self.b, value, from, to)
            }
            (Sint | Uint, Sint | Uint) => Ok(match (from.width, to.width, from.kind) {
                (old, new, _) if old == new => value,
                (old, new, _) if old > new => self.b.trunc(value, ty)?,
                (_, _, Sint) => self.b.sext(value, ty)?,
                _ => self.b.zext(value, ty)?,
            }),
            _ if from == to => Ok(value),
            _ => self.target.convert(&mut self.b, value, from, to),
        }
    }

    /// Builds derivatives of each element.
    pub fn derivative(
        &mut self,
        axis: DerivativeAxis,
        control: DerivativeControl,
        operand: Handle<Expression>,
    ) -> Result<Vec<ValueId>> {
        let scalar = self.scalar(operand)?;
        let mut results = Vec::new();
        for value in self.values(operand)? {
            if axis != DerivativeAxis::Width {
                results.push(self.target.derivative(&mut self.b, axis, control, value)?);
                continue;
            }
            let mut sizes = Vec::new();
            for axis in [DerivativeAxis::X, DerivativeAxis::Y] {
                let derivative = self.target.derivative(&mut self.b, axis, control, value)?;
                sizes.push(self.function(Function::Abs, scalar, &[derivative])?);
            }
            results.push(self.b.fadd(sizes[0], sizes[1])?);
        }
        Ok(results)
    }
}

fn literal_number(literal: Literal) -> f64 {
    match literal {
        Literal::F64(number) => number,
        Literal::F32(number) => f64::from(number),
        Literal::F16(number) => number.to_f64(),
        _ => 0.0,
    }
}
