//! Evaluation of expressions for given values of their leaves.

use super::fold::{fold, masked, signed};
use super::hash::FastMap;
use super::math::{self, machine};
use super::{Function, Intrinsic, Number, Op, Rounding, ValueId};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

/// Returns the result of an operator for numbers; `widths` are those of its inputs. `None` for operators without a
/// value of their own, and where C leaves the result undefined.
pub fn operate(op: Op, inputs: &[u64], width: u8, out: u8) -> Option<u64> {
    if let Some(value) = fold(op, inputs, width, out) {
        return Some(value);
    }
    let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
    let truth = u64::from;
    if let Op::Call(call) = op {
        return called(call, inputs);
    }
    Some(match (op, width) {
        (Op::Sdiv | Op::Srem, _) => {
            let (a, b) = (signed(at(0), width), signed(at(1), width));
            let quotient = a.checked_div(b).filter(|quotient| fits(*quotient, width))?;
            masked((if op == Op::Sdiv { quotient } else { a % b }).cast_unsigned(), out)
        }
        (Op::FloatAbs, _) => at(0) & !(1 << (width - 1)),
        (Op::FloatNegate, _) => at(0) ^ 1 << (width - 1),
        (Op::UnsignedToFloat, _) => float(at(0) as f64, at(0) as f32, out),
        (Op::SignedToFloat, _) => float(signed(at(0), width) as f64, signed(at(0), width) as f32, out),
        (Op::FloatConvert, 32) => quiet(f64::from(single(at(0)))),
        (Op::FloatConvert, _) => narrow(f64::from_bits(at(0)) as f32),
        (_, 32) => {
            let (a, b) = (single(at(0)), single(at(1)));
            narrow(match op {
                Op::FloatAdd => a + b,
                Op::FloatSub => a - b,
                Op::FloatMul => a * b,
                Op::FloatDiv => a / b,
                Op::FloatSqrt => a.sqrt(),
                _ => return compared(op, f64::from(a), f64::from(b)).map(truth),
            })
        }
        (_, 64) => {
            let (a, b) = (f64::from_bits(at(0)), f64::from_bits(at(1)));
            let result = match op {
                Op::FloatAdd => a + b,
                Op::FloatSub => a - b,
                Op::FloatMul => a * b,
                Op::FloatDiv => a / b,
                Op::FloatSqrt => a.sqrt(),
                _ => return compared(op, a, b).map(truth),
            };
            machine::wide_bits(result, inputs)
        }
        _ => return None,
    })
}

/// Returns whether a signed number has at most so many bits.
fn fits(number: i64, width: u8) -> bool {
    signed(number.cast_unsigned(), width) == number
}

fn narrow(value: f32) -> u64 {
    u64::from(machine::bits(value))
}

/// Returns the bits of a converted double, with NaNs made quiet.
fn quiet(value: f64) -> u64 {
    machine::wide_bits(value, &[value.to_bits()])
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn float(wide: f64, narrow: f32, out: u8) -> u64 {
    if out == 64 { wide.to_bits() } else { u64::from(narrow.to_bits()) }
}

fn compared(op: Op, a: f64, b: f64) -> Option<bool> {
    Some(match op {
        Op::FloatEqual => a == b,
        Op::FloatNotEqual => a != b,
        Op::FloatLess => a < b,
        Op::FloatLessEqual => a <= b,
        Op::FloatNan => a.is_nan(),
        _ => return None,
    })
}

/// Evaluates pure intrinsics, those that occur in divisions, roots and mathematical functions.
fn called(call: Intrinsic, inputs: &[u64]) -> Option<u64> {
    use Number::{F32, F64, I32, I64, U32, U64};
    use Rounding::{Down, Nearest, Up, Zero};
    let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
    let wide = |index: usize| f64::from_bits(at(index));
    Some(match call {
        Intrinsic::Fma(F32, Nearest) => narrow(single(at(0)).mul_add(single(at(1)), single(at(2)))),
        Intrinsic::Fma(F64, Nearest) => machine::wide_bits(wide(0).mul_add(wide(1), wide(2)), inputs),
        Intrinsic::Add(ty, _) | Intrinsic::Multiply(ty, _) | Intrinsic::Fma(ty, _) => {
            directed(call, ty, inputs)?
        }
        Intrinsic::Math(function, ty) => math::unary(function, ty, at(0))?,
        Intrinsic::Math2(function, ty) => math::binary(function, ty, at(0), at(1))?,
        Intrinsic::Log2 => math::approximate_log2(at(0)),
        Intrinsic::Sine => narrow(machine::sine(single(at(0)))),
        Intrinsic::Cosine => narrow(machine::cosine(single(at(0)))),
        Intrinsic::Convert(U32 | U64, F32, Up) => narrow(above(at(0))),
        Intrinsic::Convert(I64, F32, Up) if at(0) < 1 << 63 => narrow(above(at(0))),
        Intrinsic::Convert(I32, F32, Up) if at(0) < 1 << 31 => narrow(above(at(0))),
        Intrinsic::Convert(U32, F32, Zero | Down) | Intrinsic::Convert(U64, F32, Zero) => {
            narrow(below(at(0)))
        }
        Intrinsic::Convert(F32, I32 | U32, _) if single(at(0)).is_nan() => 0,
        Intrinsic::Convert(F32, U32, mode) => u64::from(rounded(single(at(0)).into(), mode) as u32),
        Intrinsic::Convert(F32, I32, mode) => {
            u64::from((rounded(single(at(0)).into(), mode) as i32).cast_unsigned())
        }
        Intrinsic::Convert(F64, I32, _) if wide(0).is_nan() => 1 << 31,
        Intrinsic::Convert(F64, I32, mode) => u64::from((rounded(wide(0), mode) as i32).cast_unsigned()),
        Intrinsic::Convert(F32, U64, Zero) if !single(at(0)).is_nan() => single(at(0)) as u64,
        Intrinsic::Round(F32, mode) => narrow(rounded(single(at(0)).into(), mode) as f32),
        Intrinsic::Round(F64, mode) => quiet(rounded(wide(0), mode)),
        Intrinsic::FlushToZero => u64::from(machine::flushed(single(at(0))).to_bits()),
        Intrinsic::Saturate if single(at(0)) > 0.0 => narrow(single(at(0)).min(1.0)),
        Intrinsic::Saturate => 0,
        Intrinsic::MultiplyHigh => ((u128::from(at(0)) * u128::from(at(1))) >> 64) as u64,
        Intrinsic::ReciprocalHigh => machine::reciprocal_high(at(0)),
        Intrinsic::ReciprocalSqrtHigh => machine::reciprocal_sqrt_high(at(0)),
        Intrinsic::PermuteBytes => permuted(at(0), at(1), at(2)),
        Intrinsic::SelectBytes if at(3) == 0 => permuted(at(0), at(1), at(2)),
        Intrinsic::Abs(I32) => u64::from((at(0) as i32).unsigned_abs()),
        Intrinsic::Abs(I64) => at(0).cast_signed().unsigned_abs(),
        Intrinsic::Min(U32 | U64) => at(0).min(at(1)),
        Intrinsic::Max(U32 | U64) => at(0).max(at(1)),
        Intrinsic::Min(I32) => u64::from((at(0) as i32).min(at(1) as i32).cast_unsigned()),
        Intrinsic::Min(I64) => at(0).cast_signed().min(at(1).cast_signed()).cast_unsigned(),
        Intrinsic::Max(I64) => at(0).cast_signed().max(at(1).cast_signed()).cast_unsigned(),
        Intrinsic::Max(I32) => u64::from((at(0) as i32).max(at(1) as i32).cast_unsigned()),
        Intrinsic::Min(F32) => narrow(smaller(single(at(0)).into(), single(at(1)).into(), false) as f32),
        Intrinsic::Min(F64) => quiet(smaller(wide(0), wide(1), false)),
        Intrinsic::Max(F64) => quiet(smaller(wide(0), wide(1), true)),
        Intrinsic::Max(F32) => narrow(smaller(single(at(0)).into(), single(at(1)).into(), true) as f32),
        _ => return None,
    })
}

/// Rounds to an integer.
fn rounded(value: f64, mode: Rounding) -> f64 {
    match mode {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::Zero => value.trunc(),
    }
}

/// Returns the minimum or maximum. Numbers win over NaNs; minus zero is less than zero.
fn smaller(a: f64, b: f64, larger: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() { b } else { a };
    }
    let is_first = if a == b { a.is_sign_negative() } else { a < b };
    if is_first == larger { b } else { a }
}

/// Computes a sum, a product or a fused operation with a rounding mode.
fn directed(call: Intrinsic, ty: Number, inputs: &[u64]) -> Option<u64> {
    Some(match ty {
        Number::F32 => {
            let bits = u32::try_from(arithmetic::<Single>(call, inputs)?).ok()?;
            narrow(f32::from_bits(bits))
        }
        Number::F64 => {
            let bits = u64::try_from(arithmetic::<Double>(call, inputs)?).ok()?;
            machine::wide_bits(f64::from_bits(bits), inputs)
        }
        _ => return None,
    })
}

fn arithmetic<F: Float>(call: Intrinsic, inputs: &[u64]) -> Option<u128> {
    let at = |index: usize| F::from_bits(u128::from(inputs.get(index).copied().unwrap_or(0)));
    let (Intrinsic::Add(_, mode) | Intrinsic::Multiply(_, mode) | Intrinsic::Fma(_, mode)) = call else {
        return None;
    };
    let mode = match mode {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
        Rounding::Zero => Round::TowardZero,
    };
    let result = match call {
        Intrinsic::Add(..) => at(0).add_r(at(1), mode),
        Intrinsic::Multiply(..) => at(0).mul_r(at(1), mode),
        _ => at(0).mul_add_r(at(1), at(2), mode),
    };
    Some(result.value.to_bits())
}

/// Returns four of the eight bytes of two words; bit 3 of a nibble of the selector replicates the byte's sign.
fn permuted(a: u64, b: u64, selector: u64) -> u64 {
    let both = b << 32 | a & 0xffff_ffff;
    (0..4).fold(0, |word, index| {
        let nibble = selector >> (4 * index) & 15;
        let byte = both >> (8 * (nibble & 7)) & 0xff;
        let byte = if nibble & 8 == 0 { byte } else { (byte >> 7) * 0xff };
        word | byte << (8 * index)
    })
}

/// Returns the nearest float not below a number.
fn above(number: u64) -> f32 {
    let near = number as f32;
    if (near as u128) < u128::from(number) { near.next_up() } else { near }
}

/// Returns the nearest float not above a number.
fn below(number: u64) -> f32 {
    let near = number as f32;
    if near as u128 > u128::from(number) { near.next_down() } else { near }
}

/// Maximum number of values in an expression.
const MAX_VALUES: usize = 160;

/// Maximum number of inputs of a value in an expression.
const MAX_INPUTS: usize = 6;

/// An expression: its values in topological order, down to leaves that are given numbers. Equal expressions give
/// equal results for equal numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    /// Number of leaves.
    leaves: usize,
    operations: Vec<Operation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Operation {
    op: Op,
    width: u8,
    out: u8,
    count: u8,
    /// Indices of leaves and operations.
    inputs: [u16; MAX_INPUTS],
}

impl Expression {
    /// Creates the expression of a value. `inputs` appends the inputs of a value to a list and returns its operator,
    /// or `None` if it is unknown.
    pub fn new(
        function: &Function,
        root: ValueId,
        leaves: &[ValueId],
        inputs: &dyn Fn(ValueId, &mut Vec<ValueId>) -> Option<Op>,
    ) -> Option<Self> {
        let mut found = Self { leaves: leaves.len(), operations: Vec::new() };
        let mut indices: FastMap<ValueId, u16> =
            (0..).zip(leaves).map(|(index, leaf)| (*leaf, index)).collect();
        let mut stack = vec![(root, false)];
        let mut parts = Vec::new();
        while let Some((id, is_done)) = stack.pop() {
            if indices.contains_key(&id) {
                continue;
            }
            parts.clear();
            let op = inputs(id, &mut parts)?;
            if !is_done {
                if stack.len() + found.operations.len() > MAX_VALUES || parts.len() > MAX_INPUTS {
                    return None;
                }
                stack.push((id, true));
                stack.extend(
                    parts.iter().filter(|part| !indices.contains_key(part)).map(|part| (*part, false)),
                );
                continue;
            }
            let width = parts.first().map_or(0, |first| function.width(*first));
            let mut inputs = [0; MAX_INPUTS];
            for (input, part) in inputs.iter_mut().zip(&parts) {
                *input = *indices.get(part)?;
            }
            indices.insert(id, u16::try_from(found.leaves + found.operations.len()).ok()?);
            let out = function.width(id);
            found.operations.push(Operation { op, width, out, count: parts.len() as u8, inputs });
        }
        Some(found)
    }

    /// Evaluates it; `values` is reused memory. The side of a select that is not taken need not have a value.
    pub fn value(&self, numbers: &[u64], values: &mut Vec<Option<u64>>) -> Option<u64> {
        values.clear();
        values.extend(numbers.iter().take(self.leaves).map(|number| Some(*number)));
        for operation in &self.operations {
            let at = |index: usize| values.get(usize::from(operation.inputs[index])).copied().flatten();
            let value = match operation.op {
                Op::Constant(number) => Some(number),
                Op::Select => at(0).and_then(|holds| at(if holds & 1 != 0 { 1 } else { 2 })),
                op => {
                    let count = usize::from(operation.count);
                    let mut inputs = [0; MAX_INPUTS];
                    let mut is_whole = true;
                    for (index, input) in inputs.iter_mut().enumerate().take(count) {
                        match at(index) {
                            Some(value) => *input = value,
                            None => is_whole = false,
                        }
                    }
                    if is_whole {
                        operate(op, &inputs[..count], operation.width, operation.out)
                    } else {
                        None
                    }
                }
            };
            values.push(value.map(|value| masked(value, operation.out)));
        }
        values.last().copied().flatten()
    }
}
