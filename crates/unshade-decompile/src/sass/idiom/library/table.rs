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
    /// A constant in its formula: its bits, and their number.
    pub anchor: (u64, u8),
}

impl LibraryFunction {
    /// Returns the result.
    pub(super) fn value(&self, operands: &[u64]) -> Option<u64> {
        operate(self.op, operands, self.width, self.width).map(|value| masked(value, self.width))
    }
}

const fn bits(anchor: f32) -> (u64, u8) {
    (anchor.to_bits() as u64, 32)
}

const fn wide_bits(anchor: f64) -> (u64, u8) {
    (anchor.to_bits(), 64)
}

const fn approximation(call: Intrinsic, anchor: f32) -> LibraryFunction {
    LibraryFunction { op: Op::Call(call), operands: 1, width: 32, anchor: bits(anchor) }
}

const fn single(function: MathFunction, anchor: f32) -> LibraryFunction {
    approximation(Intrinsic::Math(function, Number::F32), anchor)
}

const fn single_pair(function: MathFunction2, anchor: u32) -> LibraryFunction {
    let op = Op::Call(Intrinsic::Math2(function, Number::F32));
    LibraryFunction { op, operands: 2, width: 32, anchor: (anchor as u64, 32) }
}

const fn double(function: MathFunction, anchor: f64) -> LibraryFunction {
    double_at(function, wide_bits(anchor))
}

const fn double_at(function: MathFunction, anchor: (u64, u8)) -> LibraryFunction {
    let op = Op::Call(Intrinsic::Math(function, Number::F64));
    LibraryFunction { op, operands: 1, width: 64, anchor }
}

const fn double_pair(function: MathFunction2, anchor: (u64, u8)) -> LibraryFunction {
    let op = Op::Call(Intrinsic::Math2(function, Number::F64));
    LibraryFunction { op, operands: 2, width: 64, anchor }
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
    single(MathFunction::ErrorComplement, 1.2329952),
    single(MathFunction::NormalDistribution, 1.2329952),
    single(MathFunction::SinePi, 1.509958e-7),
    single(MathFunction::CosinePi, 1.509958e-7),
    single_pair(MathFunction2::Remainder, 1.421_085_5e-14_f32.to_bits()),
    single_pair(MathFunction2::Power, 0.0023337002_f32.to_bits()),
    single_pair(MathFunction2::ArcTangent, (-0.823_362_95_f32).to_bits()),
    single_pair(MathFunction2::Hypotenuse, 0xfe00_0000),
    double(MathFunction::Exp, 2.502232253650299e-8),
    double(MathFunction::Exp2, 2.502232253650299e-8),
    double(MathFunction::Exp10, 2.8037281277851704e-18),
    double(MathFunction::ExpM1, 2.0900320002536536e-9),
    double(MathFunction::Log, 0.08333333333333331),
    double(MathFunction::Log2, 2.0355273740931033e-17),
    double(MathFunction::Log10, 1.098319650216765e-17),
    double(MathFunction::Log1P, 0.08333333333332996),
    double(MathFunction::Sine, -0.16666666666666663),
    double(MathFunction::Cosine, -0.16666666666666663),
    double(MathFunction::Tangent, 0.3333333333333338),
    double(MathFunction::HyperbolicSine, 0.16666666666666669),
    double(MathFunction::HyperbolicCosine, 2.502232253650299e-8),
    double(MathFunction::HyperbolicTangent, -0.33333333333333304),
    double(MathFunction::ArcSine, 0.1666666666667375),
    double(MathFunction::ArcCosine, 0.1666666666667375),
    double(MathFunction::ArcTangent, -0.3333333333333186),
    double_at(MathFunction::CubeRoot, bits(0.333_333_34)),
    double(MathFunction::ReciprocalRoot, 0.375),
    double(MathFunction::Error, 0.5000000000000006),
    double(MathFunction::ErrorComplement, 1.2329951186255526),
    double_pair(MathFunction2::Power, wide_bits(-2.4550373211645616e-18)),
    double_pair(MathFunction2::ArcTangent, wide_bits(-0.3333333333333186)),
    double_pair(MathFunction2::Hypotenuse, (0x7fd0_0000, 32)),
    LibraryFunction { op: Op::FloatSqrt, operands: 1, width: 64, anchor: wide_bits(0.375) },
];
