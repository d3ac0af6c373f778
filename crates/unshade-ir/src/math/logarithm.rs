//! Logarithms: an exponent, and a polynomial of the fraction less one.

use super::polynomial;
use std::f32::consts::{LN_2, LOG2_E, LOG10_E};

/// Returns a normal number with the same fraction, and the exponent that was added to it.
fn normal(x: f32) -> (f32, f32) {
    if x < f32::MIN_POSITIVE { (x * 8_388_608.0, -23.0) } else { (x, 0.0) }
}

/// Returns the exponent of a normal number in units of the last place, so that the rest begins at a number with certain
/// bits; and the rest, less one.
fn split(x: f32, start: u32) -> (f32, f32) {
    let exponent = x.to_bits().wrapping_sub(start) & 0xff80_0000;
    (exponent.cast_signed() as f32, f32::from_bits(x.to_bits().wrapping_sub(exponent)) - 1.0)
}

/// Replaces the result for zeros, infinities, NaNs and negative numbers.
fn with_limits(x: f32, result: f32) -> f32 {
    if x == 0.0 {
        f32::NEG_INFINITY
    } else if x.to_bits() >= 0x7f80_0000 {
        x.mul_add(f32::INFINITY, f32::INFINITY)
    } else {
        result
    }
}

/// The weight of the last place of an exponent.
const UNIT: f32 = 1.1920929e-7;

pub(super) fn logf(x: f32) -> f32 {
    let (x, added) = normal(x);
    let (exponent, rest) = split(x, 0x3f2a_aaab);
    let series = polynomial(
        rest,
        [
            -0.13018857,
            0.1408461,
            -0.12148628,
            0.1398061,
            -0.16684236,
            0.200123,
            -0.249_996_69,
            0.333_331_82,
            -0.5,
        ],
    );
    let near = rest.mul_add(rest * series, rest);
    with_limits(x, exponent.mul_add(UNIT, added).mul_add(LN_2, near))
}

pub(super) fn log10f(x: f32) -> f32 {
    logf(x) * LOG10_E
}

pub(super) fn log2f(x: f32) -> f32 {
    let (x, added) = normal(x);
    let (exponent, rest) = split(x, 0x3f35_04f3);
    let series = polynomial(
        rest,
        [
            0.09702014,
            -0.16845393,
            0.1716887,
            -0.17900948,
            0.20512372,
            -0.24046533,
            0.28857115,
            -0.36067417,
            0.4808982,
            -0.7213475,
        ],
    );
    let near = rest.mul_add(LOG2_E, rest * (rest * series));
    with_limits(x, exponent.mul_add(UNIT, added) + near)
}

pub(super) fn log1pf(x: f32) -> f32 {
    if x.to_bits() >= 0x7f80_0000 {
        if x == 0.0 {
            return -0.0;
        }
        if x.to_bits().cast_signed() > 0xbf80_0000_u32.cast_signed() {
            return x.mul_add(f32::INFINITY, f32::INFINITY);
        }
    }
    // Cut off, not rounded: the sum of doubles is exact enough, because its last bit is odd if it is not exact.
    let sum = cut(x);
    let exponent = sum.to_bits().wrapping_sub(0x3f40_0000) & 0xff80_0000;
    let scale = f32::from_bits(0x4080_0000_u32.wrapping_sub(exponent));
    let rest = f32::from_bits(x.to_bits().wrapping_sub(exponent)) + scale.mul_add(0.25, -1.0);
    let series = polynomial(
        rest,
        [
            -0.045348614,
            0.105468884,
            -0.13229704,
            0.14491446,
            -0.16641565,
            0.19988868,
            -0.250_001_97,
            0.3333351,
            -0.5,
        ],
    );
    let near = rest.mul_add(rest * series, rest);
    (exponent.cast_signed() as f32 * UNIT).mul_add(LN_2, near)
}

/// Returns the sum of a number and one, rounded towards zero.
fn cut(x: f32) -> f32 {
    let sum = f64::from(x) + 1.0;
    let near = sum as f32;
    // What the sum of doubles lacks.
    let lacking = f64::from(x) - (sum - 1.0);
    let over = f64::from(near) - sum - lacking;
    match near {
        near if near > 0.0 && over > 0.0 => near.next_down(),
        near if near < 0.0 && over < 0.0 => near.next_up(),
        near => near,
    }
}
