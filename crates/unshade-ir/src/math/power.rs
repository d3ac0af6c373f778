//! Powers: the logarithm of the base with twice the precision, times the exponent, to the power of e.

use super::exponential::power_of_e;
use super::polynomial;
use std::f32::consts::SQRT_2;

pub(super) fn powf(x: f32, y: f32) -> f32 {
    if x == 1.0 || y == 0.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f32::NAN;
    }
    let is_odd = (y - 2.0 * (y * 0.5).trunc()).abs() == 1.0;
    let flips = x < 0.0 && is_odd;
    if x.is_infinite() && !y.is_infinite() {
        let value = if y >= 0.0 { f32::INFINITY } else { 0.0 };
        return if flips { -value } else { value };
    }
    if y.is_infinite() {
        let grows = (x.abs() > 1.0) == (y > 0.0);
        return if x == -1.0 {
            1.0
        } else if grows {
            f32::INFINITY
        } else {
            0.0
        };
    }
    if x == 0.0 {
        let value = if y < 0.0 { f32::INFINITY } else { 0.0 };
        return if is_odd { value.copysign(x) } else { value };
    }
    if x < 0.0 && y.trunc() != y {
        return f32::NAN;
    }
    let power = power_of_magnitude(x.abs(), y);
    if flips { -power } else { power }
}

/// Returns a power of a positive finite number.
fn power_of_magnitude(x: f32, y: f32) -> f32 {
    let (high, low) = logarithm(x);
    // Very large exponents are reduced, so that no product overflows.
    let y = if y.abs() > 1e34 { y * 0.000_122_070_31 } else { y };
    let product = high * y;
    let error = low.mul_add(y, high.mul_add(y, -product));
    let error = 0.0_f32.mul_add(high, error);
    let (sum, rest) = two_sum(product, error);
    // Just below the largest exponent, the result must not overflow before its correction.
    let is_last = sum.to_bits() == 0x42b1_7218;
    let (sum, rest) =
        if is_last { (f32::from_bits(0x42b1_7217), rest + 7.629_394_5e-6) } else { (sum, rest) };
    let power = power_of_e(sum, 12_583_039.0);
    if power == f32::INFINITY { power } else { rest.mul_add(power, power) }
}

/// Returns the natural logarithm of a positive finite number as a sum of two.
fn logarithm(x: f32) -> (f32, f32) {
    let is_small = x < f32::MIN_POSITIVE;
    let normal = if is_small { x * 16_777_216.0 } else { x };
    let exponent = if is_small { -151.0 } else { -127.0 } + (normal.to_bits() >> 23) as f32;
    let fraction = f32::from_bits(normal.to_bits() & 0x007f_ffff | 0x3f80_0000);
    let (fraction, exponent) =
        if fraction > SQRT_2 { (fraction * 0.5, exponent + 1.0) } else { (fraction, exponent) };
    // Twice the inverse hyperbolic tangent of (f - 1) / (f + 1).
    let (below, inverse) = (fraction - 1.0, 1.0 / (fraction + 1.0));
    let quotient = inverse * (below + below);
    let square = quotient * quotient;
    let lacking = below - quotient;
    let lacking = inverse * (-below).mul_add(quotient, lacking + lacking);
    let series = quotient * (square * polynomial(square, [0.0023337002, 0.012492987, 0.08333347]));
    let sum = quotient + series;
    let rest = lacking + (series + (quotient - sum));
    let (high, low) = two_sum(sum, rest);
    let upper = exponent * 0.693_145_75;
    let total = high + upper;
    let rest = exponent * 1.4286068e-6 + (low + (high + (upper - total)));
    two_sum(total, rest)
}

/// Returns the sum of a number and a smaller one, and what the sum lacks.
fn two_sum(large: f32, small: f32) -> (f32, f32) {
    let sum = large + small;
    (sum, small + (large - sum))
}
