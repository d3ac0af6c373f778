//! The functions to recognise: one row per function.
//!
//! A row names constants that only occur in the function, so that functions without any of them cost nothing, and the
//! operator that replaces the function. Its formula is that of the evaluator: [`crate::ir::math`].

use crate::ir::evaluate::operate;
use crate::ir::fold::masked;
use crate::ir::math::{MathFunction, MathFunction2};
use crate::ir::{Intrinsic, Number, Op};

/// A function of the library.
#[derive(Clone, Copy, Debug)]
pub(super) struct LibraryFunction {
    /// Its operator.
    pub op: Op,
    /// Number of operands.
    pub operands: usize,
    /// Bits of the operands and of the result.
    pub width: u8,
    /// A constant in its formula.
    pub anchor: u64,
}

impl LibraryFunction {
    /// Returns the result.
    pub(super) fn value(&self, operands: &[u64]) -> Option<u64> {
        operate(self.op, operands, self.width, self.width).map(|value| masked(value, self.width))
    }
}

const fn single(function: MathFunction, anchor: f32) -> LibraryFunction {
    let op = Op::Call(Intrinsic::Math(function, Number::F32));
    LibraryFunction { op, operands: 1, width: 32, anchor: anchor.to_bits() as u64 }
}

const fn binary(function: MathFunction2, anchor: u32) -> LibraryFunction {
    let op = Op::Call(Intrinsic::Math2(function, Number::F32));
    LibraryFunction { op, operands: 2, width: 32, anchor: anchor as u64 }
}

const fn double(op: Op, anchor: f64) -> LibraryFunction {
    LibraryFunction { op, operands: 1, width: 64, anchor: anchor.to_bits() }
}

const fn double_math(function: MathFunction, anchor: f64) -> LibraryFunction {
    double(Op::Call(Intrinsic::Math(function, Number::F64)), anchor)
}

const fn approximation(call: Intrinsic, anchor: f32) -> LibraryFunction {
    LibraryFunction { op: Op::Call(call), operands: 1, width: 32, anchor: anchor.to_bits() as u64 }
}

/// All functions.
pub(super) const FUNCTIONS: &[LibraryFunction] = &[
    single(MathFunction::Exp, 0.00572498),
    single(MathFunction::Exp10, 0.013_182_254_5),
    single(MathFunction::Exp2, -126.0),
    single(MathFunction::ExpM1, 0.0013879507),
    single(MathFunction::Log, -0.13018857),
    single(MathFunction::Log10, -0.13018857),
    single(MathFunction::Log2, 0.09702014),
    approximation(Intrinsic::Log2, -24.0),
    single(MathFunction::Log1P, -0.045348614),
    single(MathFunction::Sine, 2.427958e-5),
    single(MathFunction::Cosine, 2.427958e-5),
    single(MathFunction::Tangent, 0.009338379),
    single(MathFunction::HyperbolicSine, 2.816951e-6),
    single(MathFunction::HyperbolicCosine, 90.0),
    single(MathFunction::HyperbolicTangent, 0.015739683),
    single(MathFunction::ArcSine, 0.05175138),
    single(MathFunction::ArcCosine, 0.05175138),
    single(MathFunction::ArcTangent, -0.823_362_95),
    single(MathFunction::ReciprocalRoot, 4096.0),
    single(MathFunction::CubeRoot, -0.333_333_34),
    single(MathFunction::Error, 8.483_494_5e-5),
    binary(MathFunction2::Power, 0.0023337002_f32.to_bits()),
    binary(MathFunction2::ArcTangent, (-0.823_362_95_f32).to_bits()),
    binary(MathFunction2::Hypotenuse, 0xfe00_0000),
    double_math(MathFunction::Exp, 2.502232253650299e-8),
    double_math(MathFunction::ReciprocalRoot, 0.375),
    double(Op::FloatSqrt, 0.375),
];
