//! Exponentials, and the hyperbolic functions made of them: a polynomial near zero, and an exponent.

use super::{
    LN_2_REST, high, polynomial, power_of_two, reciprocal, shifted, with_exponent, with_sign,
    without_logarithms,
};
use crate::math::machine;
use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};

/// Returns a power of e for a number near zero.
fn near_zero(x: f64) -> f64 {
    polynomial(
        x,
        [
            2.502232253650299e-8,
            2.763090348817311e-7,
            2.755751454588244e-6,
            2.4801491039099165e-5,
            0.00019841269589115497,
            0.001388888894591638,
            0.008333333333455043,
            0.041666666666519754,
            0.16666666666666477,
            0.5000000000000012,
            1.0,
            1.0,
        ],
    )
}

/// Returns the product of a number near one and a power of two, which may be subnormal. The result for large exponents
/// depends on the original number.
///
/// The limits are for the upper half of that number, taken as a float: up to the first one, the product is normal, and
/// from the second one on, it is zero or infinite.
fn scaled(fraction: f64, exponent: i32, x: f64, limits: [f32; 2]) -> f64 {
    let magnitude = f32::from_bits(high(x)).abs();
    if magnitude < limits[0] {
        with_exponent(fraction, exponent)
    } else if magnitude < limits[1] {
        scaled_twice(fraction, exponent)
    } else if x < 0.0 {
        0.0
    } else {
        x + f64::INFINITY
    }
}

/// Returns the product of a number near one and a power of two, which may be subnormal.
fn scaled_twice(fraction: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    with_exponent(fraction, half) * power_of_two(exponent - half)
}

pub(super) fn exp(x: f64) -> f64 {
    let (exponent, whole) = shifted(x, LOG2_E);
    scaled(near_zero(without_logarithms(x, whole)), exponent, x, [4.191793, 4.227539])
}

/// Returns a power of e that does not overflow.
pub(super) fn small_power(x: f64) -> f64 {
    let (exponent, whole) = shifted(x, LOG2_E);
    scaled_twice(near_zero(without_logarithms(x, whole)), exponent)
}

pub(super) fn exp2(x: f64) -> f64 {
    let (exponent, whole) = shifted(x, 1.0);
    let rest = x - whole;
    let rest = rest.mul_add(LN_2, rest * LN_2_REST);
    scaled(near_zero(rest), exponent, x, [4.498047, 4.5249023])
}

pub(super) fn exp10(x: f64) -> f64 {
    let (exponent, whole) = shifted(x, LOG2_10);
    let rest = whole.mul_add(2.8037281277851704e-18, whole.mul_add(-LOG10_2, x));
    let rest = rest.mul_add(std::f64::consts::LN_10, rest * -2.1707562233822494e-16);
    scaled(near_zero(rest), exponent, x, [3.800442, 3.8160229])
}

/// Returns a power of e less one, divided by a power of two whose exponent is zero or one.
fn less_one(x: f64, divisor: i32) -> f64 {
    let (exponent, whole) = shifted(x, LOG2_E);
    let is_near = high(x) << 1 < 0x7fb3_e647;
    let (exponent, rest) = if is_near { (0, x) } else { (exponent - divisor, without_logarithms(x, whole)) };
    let is_last = exponent == 1024;
    let power = power_of_two(if is_last { exponent - 1 } else { exponent });
    let series = polynomial(
        rest,
        [
            2.0900320002536536e-9,
            2.5118162590908232e-8,
            2.7557338697780046e-7,
            2.755722422687505e-6,
            2.4801587233770713e-5,
            0.00019841269897009385,
            0.0013888888888929842,
            0.008333333333321891,
            0.04166666666666661,
            0.1666666666666667,
            0.5,
        ],
    );
    let subtracted = power_of_two(-divisor);
    let sum = rest.mul_add(rest * series, rest).mul_add(power, power - subtracted);
    if is_last { sum + sum } else { sum }
}

pub(super) fn expm1(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    // The limits are for upper halves.
    let half = high(x).cast_signed();
    if half >= 0x4086_2e43 {
        return f64::INFINITY;
    }
    if half < 0 && high(x) >= 0xc04a_8000 {
        return -1.0;
    }
    if high(x) << 1 == 0 { x } else { less_one(x, 0) }
}

pub(super) fn sinh(x: f64) -> f64 {
    let magnitude = x.abs();
    if high(magnitude) < 0x3ff0_0000 {
        let square = magnitude * magnitude;
        let series = polynomial(
            square,
            [
                7.75874880215053e-13,
                1.6057259768605444e-10,
                2.5052123136725876e-8,
                2.755731915707185e-6,
                0.00019841269841431873,
                0.008333333333333148,
                0.16666666666666669,
            ],
        );
        return with_sign(magnitude.mul_add(square * series, magnitude), x);
    }
    let half = less_one(magnitude, 1);
    let sum = half + half / half.mul_add(2.0, 1.0);
    with_sign(if magnitude >= 710.475860073944 { f64::INFINITY } else { sum }, x)
}

pub(super) fn cosh(x: f64) -> f64 {
    let magnitude = x.abs();
    if high(magnitude) >= 0x4086_33cf {
        return if x.is_nan() { x } else { f64::INFINITY };
    }
    let (exponent, whole) = shifted(magnitude, LOG2_E);
    let power = near_zero(without_logarithms(magnitude, whole));
    let quarter = with_exponent(power, exponent - 2);
    let half = reciprocal(quarter).mul_add(0.0625, quarter);
    half + half
}

/// The parts of a power of e.
pub(super) struct Power {
    /// What is left of the exponent after a multiple of the logarithm of two.
    pub rest: f64,
    /// The factor by which the power of the rest, less one, exceeds the rest.
    pub factor: f64,
    /// The power of two, which flushes.
    pub of_two: f64,
}

/// Returns the parts of a power of e, given the exponent of two.
pub(super) fn split_power(x: f64, rounded: f32) -> Power {
    let rest = (-f64::from(rounded)).mul_add(LN_2, x);
    let series = polynomial(
        rest,
        [
            2.506210197447926e-8,
            2.762626470761021e-7,
            2.7557381798574225e-6,
            2.4801504596442702e-5,
            0.00019841269746984988,
            0.0013888888932264757,
            0.008333333333377164,
            0.041666666666573884,
            0.16666666666666607,
            0.5000000000000006,
        ],
    );
    Power { rest, factor: rest * series, of_two: f64::from(machine::exp2(rounded)) }
}

pub(super) fn tanh(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude >= 0.6554117889404296 {
        if high(magnitude) > 0x4033_0fc1 {
            return with_sign(1.0, x);
        }
        let doubled = magnitude + magnitude;
        let exponent = (doubled as f32 * std::f32::consts::LOG2_E).round_ties_even();
        let Power { rest, factor, of_two } = split_power(doubled, exponent);
        let less_one = rest.mul_add(factor, rest);
        let sum = 2.0 - (-less_one).mul_add(of_two, 1.0 - of_two);
        return with_sign(reciprocal(sum).mul_add(-2.0, 1.0), x);
    }
    let square = x * x;
    let series = polynomial(
        square,
        [
            -1.596017517389285e-5,
            7.709297689027866e-5,
            -0.00022870121144856145,
            0.000586488194620488,
            -0.001455047543504545,
            0.0035920144108182715,
            -0.008863225224458907,
            0.021869487987893173,
            -0.05396825395322091,
            0.1333333333331715,
            -0.33333333333333304,
            0.0,
        ],
    );
    x.mul_add(series, x)
}
