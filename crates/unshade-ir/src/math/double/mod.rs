//! The functions of doubles.
//!
//! The machine approximates the upper half of a reciprocal and of that of a square root; the other approximations are
//! made of sums and products, most of them fused.

mod exponential;
mod inverse;
mod logarithm;
mod other;
mod power;
mod root;
mod trigonometric;

use super::machine::{self, reciprocal_high, wide_bits};
use super::{MathFunction, MathFunction2};
use std::f64::consts::LN_2;

/// What the logarithm of two exceeds its double by.
const LN_2_REST: f64 = 2.3190468138462996e-17;

/// What a quarter turn exceeds its double by.
const QUARTER_REST: f64 = 6.123233995736766e-17;

/// The sum with this number is rounded to an integer, which is in its lower half.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The NaN that was a float.
const FLOAT_NAN: f64 = f64::from_bits(0x7fff_ffff_e000_0000);

/// Returns the bits of a function of one number.
pub(super) fn unary(function: MathFunction, x: f64) -> Option<u64> {
    let formula = match function {
        MathFunction::Exp => exponential::exp,
        MathFunction::Exp2 => exponential::exp2,
        MathFunction::Exp10 => exponential::exp10,
        MathFunction::ExpM1 => exponential::expm1,
        MathFunction::Log => logarithm::log,
        MathFunction::Log2 => logarithm::log2,
        MathFunction::Log10 => logarithm::log10,
        MathFunction::Log1P => logarithm::log1p,
        MathFunction::Sine => trigonometric::sin,
        MathFunction::Cosine => trigonometric::cos,
        MathFunction::Tangent => trigonometric::tan,
        MathFunction::HyperbolicSine => exponential::sinh,
        MathFunction::HyperbolicCosine => exponential::cosh,
        MathFunction::HyperbolicTangent => exponential::tanh,
        MathFunction::ArcSine => inverse::asin,
        MathFunction::ArcCosine => inverse::acos,
        MathFunction::ArcTangent => inverse::atan,
        MathFunction::CubeRoot => root::cbrt,
        MathFunction::ReciprocalRoot => root::rsqrt,
        MathFunction::Error => other::erf,
        MathFunction::ErrorComplement => other::erfc,
        MathFunction::NormalDistribution | MathFunction::SinePi | MathFunction::CosinePi => return None,
    };
    let value = formula(x);
    Some(match function {
        MathFunction::Error if x.is_nan() => with_sign(FLOAT_NAN, x).to_bits(),
        // It is subtracted, which changes its sign.
        MathFunction::ArcCosine if value.is_nan() && x < 0.0 => machine::WIDE_NAN ^ 1 << 63,
        _ => wide_bits(value, &[x.to_bits()]),
    })
}

/// Returns the bits of a function of two numbers.
pub(super) fn binary(function: MathFunction2, x: f64, y: f64) -> Option<u64> {
    let formula = match function {
        MathFunction2::Power => power::pow,
        MathFunction2::ArcTangent => inverse::atan2,
        MathFunction2::Hypotenuse => root::hypot,
        MathFunction2::Remainder => return None,
    };
    let operands = match function {
        // Their formulas begin with the magnitudes.
        MathFunction2::ArcTangent | MathFunction2::Hypotenuse => [y.abs(), x.abs()],
        _ => [x, y],
    };
    Some(wide_bits(formula(x, y), &operands.map(f64::to_bits)))
}

/// Returns the value of a polynomial, with fused operations; the coefficient of the highest power is the first.
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let [first, rest @ ..] = coefficients.as_slice() else { return 0.0 };
    rest.iter().fold(*first, |sum, coefficient| sum.mul_add(x, *coefficient))
}

/// Returns the reciprocal of a normal number: the machine's approximation, and one step of third order.
fn reciprocal(x: f64) -> f64 {
    refined(x, f64::from_bits(reciprocal_high(x.to_bits() >> 32) << 32))
}

/// Returns the reciprocal of a number, given an approximation.
fn refined(x: f64, near: f64) -> f64 {
    let error = (-x).mul_add(near, 1.0);
    near.mul_add(error.mul_add(error, error), near)
}

/// Returns the upper half of a number.
fn high(x: f64) -> u32 {
    (x.to_bits() >> 32) as u32
}

/// Returns a number with another exponent: it is multiplied by a power of two, unless that overflows.
fn with_exponent(x: f64, difference: i32) -> f64 {
    f64::from_bits(x.to_bits().wrapping_add((difference as u64) << 52))
}

/// Returns a power of two whose exponent is that of a normal number.
fn power_of_two(exponent: i32) -> f64 {
    with_exponent(1.0, exponent)
}

/// Returns the nearest integer, and the same as a number.
fn shifted(x: f64, factor: f64) -> (i32, f64) {
    let sum = x.mul_add(factor, SHIFT);
    (sum.to_bits() as i32, sum - SHIFT)
}

/// Returns what is left of a number after a multiple of the logarithm of two.
fn without_logarithms(x: f64, count: f64) -> f64 {
    count.mul_add(-LN_2_REST, count.mul_add(-LN_2, x))
}

/// Returns the magnitude of one number with the sign of another, or with its own minus.
fn with_sign(magnitude: f64, sign: f64) -> f64 {
    f64::from_bits(magnitude.to_bits() | sign.to_bits() & 1 << 63)
}
