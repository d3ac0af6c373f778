//! The error function, the normal distribution, remainders.

use super::exponential::power_of_e;
use super::machine::{NAN, exp2, flushed};
use super::{polynomial, with_sign};
use std::f32::consts::FRAC_1_SQRT_2;

/// The error function: a polynomial of the square near zero, and a power of two of a polynomial elsewhere.
pub(super) fn erff(x: f32) -> f32 {
    let magnitude = x.abs();
    if magnitude >= 1.00296 {
        let series = polynomial(
            magnitude,
            [
                1.6425845e-5,
                -0.000_468_021_05,
                0.005264764,
                -0.034303077,
                0.1532937,
                0.916_313_05,
                0.628_299_83,
            ],
        );
        return with_sign(1.0 - exp2(series.mul_add(-magnitude, -magnitude)), x);
    }
    let series = polynomial(
        x * x,
        [
            8.483_494_5e-5,
            -0.000_821_309_16,
            0.005213489,
            -0.026868774,
            0.11284005,
            -0.376_126_65,
            0.128_379_15,
        ],
    );
    series.mul_add(x, x)
}

/// One less the error function: a power of e, times a rational function. The argument of its polynomial is the quotient
/// of the number less four and the number plus four.
pub(super) fn erfcf(x: f32) -> f32 {
    let magnitude = x.abs();
    let value = if magnitude > 10.055 { 0.0 } else { near_complement(magnitude) };
    if x < 0.0 { 2.0 - value } else { value }
}

/// Returns the complement of the error function of a positive number that is not large.
fn near_complement(x: f32) -> f32 {
    let inverse = flushed(1.0 / (x + 4.0));
    let near = (x - 4.0) * inverse;
    let lacking = (-near).mul_add(x, (near + 1.0).mul_add(-4.0, x));
    let series = polynomial(
        inverse.mul_add(lacking, near),
        [
            0.0008912171,
            0.007045788,
            -0.015866896,
            0.036429625,
            -0.06664343,
            0.09381453,
            -0.10099056,
            0.068094,
            0.015377387,
            -0.13962108,
            1.2329952,
        ],
    );
    let inverse = flushed(1.0 / x.mul_add(2.0, 1.0));
    let near = series * inverse;
    let quotient = inverse.mul_add((near * -2.0).mul_add(x, series) - near, near);
    let square = x * x;
    let power = power_of_e(-square, 12_583_039.0);
    quotient * power.mul_add(x.mul_add(-x, square), power)
}

/// The distribution function of the normal distribution, by the complement of the error function. Far below zero, what
/// its argument lacks is multiplied by the derivative.
pub(super) fn normcdff(x: f32) -> f32 {
    let x = if x.abs() > 14.5 { 14.5_f32.copysign(x) } else { x };
    let near = x * -FRAC_1_SQRT_2;
    let rest = x.mul_add(-1.210_161_75e-8, x.mul_add(-FRAC_1_SQRT_2, -near));
    let sum = near + rest;
    let value = erfcf(sum);
    let corrected = if x < -1.0 {
        let lacking = rest + (near - sum);
        lacking.mul_add(value * (sum * -2.0), value)
    } else {
        value
    };
    corrected * 0.5
}

/// Returns the bits of the remainder of a division, which is exact. A NaN has the sign of the dividend.
pub(super) fn fmodf(x: f32, y: f32) -> u32 {
    let remainder = x % y;
    if remainder.is_nan() { NAN | x.to_bits() & 1 << 31 } else { remainder.to_bits() }
}
