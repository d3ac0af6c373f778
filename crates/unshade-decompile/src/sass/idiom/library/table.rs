//! The functions to recognise: one row per function.
//!
//! A row names two constants of the function's code, one near its operands and one near its result, so that code
//! without both costs nothing, and the operator that replaces the function. Its formula is that of the evaluator:
//! [`crate::ir::math`].

use std::{f32, f64};

use crate::ir::evaluate::operate;
use crate::ir::fold::masked;
use crate::ir::math::{MathFunction, MathFunction2};
use crate::ir::{Intrinsic, Number, Op};

/// A constant: its bits, and their number.
pub(super) type Constant = (u64, u8);

/// A function of the library.
#[derive(Clone, Copy, Debug)]
pub(super) struct LibraryFunction {
    /// Its operator.
    pub op: Op,
    /// Number of operands.
    pub operands: usize,
    /// Bits of the operands and of the result.
    pub width: u8,
    /// Constants in its formula, the one that is farther from the result first.
    pub constants: [Constant; 2],
}

impl LibraryFunction {
    /// Returns the result.
    pub(super) fn value(&self, operands: &[u64]) -> Option<u64> {
        operate(self.op, operands, self.width, self.width).map(|value| masked(value, self.width))
    }
}

const fn bits(constant: f32) -> Constant {
    (constant.to_bits() as u64, 32)
}

const fn wide_bits(constant: f64) -> Constant {
    (constant.to_bits(), 64)
}

const fn word(constant: u32) -> Constant {
    (constant as u64, 32)
}

const fn function(call: Intrinsic, operands: usize, width: u8, constants: [Constant; 2]) -> LibraryFunction {
    LibraryFunction { op: Op::Call(call), operands, width, constants }
}

const fn approximation(call: Intrinsic, first: f32, second: f32) -> LibraryFunction {
    function(call, 1, 32, [bits(first), bits(second)])
}

const fn single(name: MathFunction, first: f32, second: f32) -> LibraryFunction {
    approximation(Intrinsic::Math(name, Number::F32), first, second)
}

const fn single_pair(name: MathFunction2, first: Constant, second: Constant) -> LibraryFunction {
    function(Intrinsic::Math2(name, Number::F32), 2, 32, [first, second])
}

const fn double(name: MathFunction, first: Constant, second: Constant) -> LibraryFunction {
    function(Intrinsic::Math(name, Number::F64), 1, 64, [first, second])
}

const fn double_pair(name: MathFunction2, first: Constant, second: Constant) -> LibraryFunction {
    function(Intrinsic::Math2(name, Number::F64), 2, 64, [first, second])
}

/// All functions.
pub(super) const FUNCTIONS: &[LibraryFunction] = &[
    single(MathFunction::Exp, 0.00572498, 1.925_963e-8),
    single(MathFunction::Exp10, 0.013_182_254_5, 7.059_537e-8),
    single(MathFunction::Exp2, -126.0, 0.5),
    single(MathFunction::ExpM1, 0.0013879507, -25.0),
    single(MathFunction::Log, -0.13018857, f32::consts::LN_2),
    single(MathFunction::Log10, -0.13018857, f32::consts::LOG10_E),
    single(MathFunction::Log2, 0.09702014, f32::consts::LOG2_E),
    approximation(Intrinsic::Log2, -24.0, 16_777_216.0),
    single(MathFunction::Log1P, -0.045348614, f32::consts::LN_2),
    single(MathFunction::Sine, 2.427958e-5, -0.166_666_63),
    single(MathFunction::Cosine, 2.427958e-5, -0.166_666_63),
    single(MathFunction::Tangent, 0.009338379, 0.000_490_966_95),
    single(MathFunction::HyperbolicSine, 2.816951e-6, 90.0),
    single(MathFunction::HyperbolicCosine, 90.0, 0.125),
    single(MathFunction::HyperbolicTangent, 0.015739683, 0.6),
    single(MathFunction::ArcSine, 0.05175138, f32::consts::FRAC_PI_2),
    single(MathFunction::ArcCosine, 0.05175138, f32::consts::FRAC_PI_2),
    single(MathFunction::ArcTangent, -0.823_362_95, f32::consts::FRAC_PI_2),
    single(MathFunction::ReciprocalRoot, 4096.0, 16_777_216.0),
    single(MathFunction::CubeRoot, -0.333_333_34, 0.333_333_34),
    single(MathFunction::Error, 8.483_494_5e-5, 1.002_96),
    single(MathFunction::ErrorComplement, 1.2329952, 10.055),
    single(MathFunction::NormalDistribution, 1.2329952, 10.055),
    single(MathFunction::SinePi, 1.509958e-7, -0.166_666_63),
    single(MathFunction::CosinePi, 1.509958e-7, -0.166_666_63),
    single_pair(MathFunction2::Remainder, bits(1.421_085_5e-14), word(0x0080_0000)),
    single_pair(MathFunction2::Power, bits(0.0023337002), bits(7.629_394_5e-6)),
    single_pair(MathFunction2::ArcTangent, bits(-0.823_362_95), bits(f32::consts::FRAC_PI_2)),
    single_pair(MathFunction2::Hypotenuse, word(0xfe00_0000), word(0x7e80_0000)),
    double(MathFunction::Exp, wide_bits(2.502232253650299e-8), word(0x4087_4800)),
    double(MathFunction::Exp2, wide_bits(2.502232253650299e-8), word(0x4090_cc00)),
    double(MathFunction::Exp10, wide_bits(2.8037281277851704e-18), word(0x4074_39b8)),
    double(MathFunction::ExpM1, wide_bits(2.0900320002536536e-9), word(0x4086_2e43)),
    double(MathFunction::Log, wide_bits(0.08333333333333331), wide_bits(f64::consts::LN_2)),
    double(MathFunction::Log2, wide_bits(2.0355273740931033e-17), wide_bits(f64::consts::LOG2_E)),
    double(MathFunction::Log10, wide_bits(1.098319650216765e-17), wide_bits(f64::consts::LOG10_E)),
    double(MathFunction::Log1P, wide_bits(0.08333333333332996), wide_bits(f64::consts::LN_2)),
    double(MathFunction::Sine, wide_bits(-0.16666666666666663), wide_bits(-0.5)),
    double(MathFunction::Cosine, wide_bits(-0.16666666666666663), wide_bits(-0.5)),
    double(MathFunction::Tangent, wide_bits(0.3333333333333338), word(0x41e0_0000)),
    double(MathFunction::HyperbolicSine, wide_bits(0.16666666666666669), wide_bits(710.475860073944)),
    double(MathFunction::HyperbolicCosine, wide_bits(2.502232253650299e-8), word(0x4086_33cf)),
    double(MathFunction::HyperbolicTangent, wide_bits(-0.33333333333333304), wide_bits(0.6554117889404296)),
    double(MathFunction::ArcSine, wide_bits(0.1666666666667375), word(0x3fe2_6666)),
    double(MathFunction::ArcCosine, wide_bits(0.1666666666667375), word(0x3fe2_6666)),
    double(MathFunction::ArcTangent, wide_bits(-0.3333333333333186), wide_bits(f64::consts::FRAC_PI_2)),
    double(MathFunction::CubeRoot, bits(0.333_333_34), wide_bits(18_014_398_509_481_984.0)),
    double(MathFunction::ReciprocalRoot, wide_bits(0.375), wide_bits(134_217_728.0)),
    double(MathFunction::Error, wide_bits(0.5000000000000006), wide_bits(5.9215871957945065)),
    double(MathFunction::ErrorComplement, wide_bits(1.2329951186255526), word(0x403b_4000)),
    double_pair(MathFunction2::Power, wide_bits(-2.4550373211645616e-18), word(0x4086_232b)),
    double_pair(MathFunction2::ArcTangent, wide_bits(-0.3333333333333186), wide_bits(f64::consts::FRAC_PI_2)),
    double_pair(MathFunction2::Hypotenuse, word(0x7fd0_0000), wide_bits(0.375)),
    LibraryFunction {
        op: Op::FloatSqrt,
        operands: 1,
        width: 64,
        constants: [wide_bits(0.375), word(0x7ca0_0000)],
    },
];
