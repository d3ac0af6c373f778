//! Exponentials, and the hyperbolic functions made of them.
//!
//! The power of two of a sum is a product: that of the integral part is an exponent, and the machine has that of the
//! rest.

use super::machine::exp2;
use super::{polynomial, with_sign};
use std::f32::consts::{LN_2, LOG2_10, LOG2_E};

pub(super) fn expf(x: f32) -> f32 {
    scaled(x, 0.00572498, LOG2_E, 1.925963e-8)
}

pub(super) fn exp10f(x: f32) -> f32 {
    scaled(x, 0.013_182_254_5, LOG2_10, 7.059537e-8)
}

/// Returns a power of two: the exponent is the number times a factor, of which the upper and the lower part are given,
/// and its quotient by 252.
fn scaled(x: f32, quotient: f32, upper: f32, lower: f32) -> f32 {
    let clamped = x.mul_add(quotient, 0.5);
    let clamped = if clamped > 0.0 { clamped.min(1.0) } else { 0.0 };
    // The integral part of the exponent is in the lowest bits: a fused product and sum, rounded down.
    let whole = ((f64::from(clamped) * 252.0).floor() + 12_582_913.0) as f32;
    let rest = x.mul_add(lower, x.mul_add(upper, -(whole + -12_583_039.0)));
    f32::from_bits(whole.to_bits() << 23) * exp2(rest)
}

pub(super) fn exp2f(x: f32) -> f32 {
    if x < -126.0 {
        let root = exp2(x * 0.5);
        root * root
    } else {
        exp2(x)
    }
}

pub(super) fn expm1f(x: f32) -> f32 {
    let whole = if x.abs() < 0.41 { 0.0 } else { (x * LOG2_E).round_ties_even() };
    let is_last = whole == 128.0;
    let exponent = if is_last { whole - 1.0 } else { whole };
    let rest = (-whole).mul_add(1.4286068e-6, (-whole).mul_add(0.693_145_75, x));
    let power = exp2f(exponent);
    let series = polynomial(rest, [0.0013879507, 0.008382413, 0.04166783, 0.16666397, 0.499_999_94]);
    let sum = (rest * series).mul_add(rest, rest).mul_add(power, power - 1.0);
    if x == 0.0 {
        x + x
    } else if exponent < -25.0 {
        -1.0
    } else if exponent > 128.0 {
        f32::INFINITY
    } else if is_last {
        sum + sum
    } else {
        sum
    }
}

/// Returns a quarter of the exponential function.
fn quarter(x: f32) -> f32 {
    power_of_e(x, 12_583_037.0)
}

/// Returns a power of e, divided by a power of two that the bias contains.
pub(super) fn power_of_e(x: f32, bias: f32) -> f32 {
    let whole = (x * LOG2_E).trunc();
    let whole = if whole.abs() > 126.0 { 126.0_f32.copysign(whole) } else { whole };
    let rest = whole.mul_add(1.9046542e-9, whole.mul_add(-LN_2, x));
    f32::from_bits((whole + bias).to_bits() << 23) * exp2(rest * LOG2_E)
}

/// Returns the exponential function of the negated number, divided by two, given a quarter of that of the number.
fn half_reciprocal(quarter: f32) -> f32 {
    let is_small = quarter.abs() < f32::MIN_POSITIVE;
    let scaled = if is_small { quarter * 16_777_216.0 } else { quarter };
    1.0 / scaled * if is_small { 2_097_152.0 } else { 0.125 }
}

pub(super) fn sinhf(x: f32) -> f32 {
    let magnitude = x.abs();
    if magnitude >= 1.0 {
        let quarter = quarter(magnitude);
        let sum = quarter.mul_add(2.0, -half_reciprocal(quarter));
        return with_sign(if magnitude >= 90.0 { f32::INFINITY } else { sum }, x);
    }
    let square = x * x;
    let series = polynomial(square, [2.816951e-6, 0.0001983616, 0.00833335, 0.16666667]);
    x.mul_add(square * series, x)
}

pub(super) fn coshf(x: f32) -> f32 {
    let quarter = quarter(x.abs());
    let sum = quarter.mul_add(2.0, half_reciprocal(quarter));
    if x.abs() >= 90.0 { f32::INFINITY } else { sum }
}

pub(super) fn tanhf(x: f32) -> f32 {
    let magnitude = x.abs();
    if magnitude >= 0.6 {
        let far = (1.0 / (exp2(magnitude * 2.88539) + 1.0)).mul_add(-2.0, 1.0);
        return with_sign(if magnitude >= 9.010914 { 1.0 } else { far }, x);
    }
    let square = x * x;
    let series = polynomial(square, [0.015739683, -0.052303962, 0.13315298, -0.333_327_68]);
    series.mul_add(square, 0.0).mul_add(x, x)
}
