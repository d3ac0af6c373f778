//! Logarithms: an exponent, and the inverse hyperbolic tangent of the quotient of the fraction less one and the
//! fraction plus one.

use super::{LN_2_REST, polynomial, power_of_two, reciprocal, with_exponent};
use std::f64::consts::{LN_2, LOG2_E, LOG10_E};

/// Returns the exponent of a positive finite number, and the rest, which is from about 0.7 to 1.4.
pub(super) fn split(x: f64) -> (f64, f64) {
    let is_small = x < f64::MIN_POSITIVE;
    let normal = if is_small { x * power_of_two(54) } else { x };
    let exponent = (normal.to_bits() >> 52) as i32 - if is_small { 1077 } else { 1023 };
    let fraction = f64::from_bits(normal.to_bits() & ((1 << 52) - 1) | 1.0_f64.to_bits());
    if super::high(fraction) >= 0x3ff6_a09f {
        (f64::from(exponent + 1), with_exponent(fraction, -1))
    } else {
        (f64::from(exponent), fraction)
    }
}

pub(super) fn log(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if !(x > 0.0 && x < f64::INFINITY) {
        return x.mul_add(f64::INFINITY, f64::INFINITY);
    }
    let (exponent, fraction) = split(x);
    let below = fraction - 1.0;
    let inverse = reciprocal(fraction + 1.0);
    let near = inverse.mul_add(below, inverse * below);
    let square = near * near;
    let lacking = below - near;
    let lacking = inverse * (-below).mul_add(near, lacking + lacking);
    let series = polynomial(
        square,
        [
            1.0263276909458365e-6,
            4.036488625710656e-6,
            1.8784407018835667e-5,
            8.877807196497797e-5,
            0.00043402779293201976,
            0.0022321428567665586,
            0.012500000000004514,
            0.08333333333333331,
        ],
    );
    let sum = exponent.mul_add(LN_2, near);
    let rounded = (-exponent).mul_add(LN_2, sum) - near;
    let rest = near.mul_add(square * series, lacking) - rounded;
    sum + exponent.mul_add(LN_2_REST, rest)
}

pub(super) fn log2(x: f64) -> f64 {
    let log = log(x);
    log.mul_add(LOG2_E, log * 2.0355273740931033e-17)
}

pub(super) fn log10(x: f64) -> f64 {
    let log = log(x);
    log.mul_add(LOG10_E, log * 1.098319650216765e-17)
}

pub(super) fn log1p(x: f64) -> f64 {
    let is_far = x.is_sign_positive() && super::high(x) >= 0x3fe5_5555;
    let is_below = x.is_sign_negative() && super::high(x) >= 0xbfd9_9999;
    if is_far || is_below {
        return log(x + 1.0);
    }
    let lacking = x * (x / (x + 2.0));
    let near = x - lacking;
    let square = near * near;
    let series = polynomial(
        square,
        [
            1.1592593968945531e-6,
            3.941356435158717e-6,
            1.881270924625768e-5,
            8.87736089951566e-5,
            0.0004340281868625582,
            0.0022321428379086373,
            0.012500000000436613,
            0.08333333333332996,
        ],
    );
    x + near.mul_add(square * series, -lacking)
}
