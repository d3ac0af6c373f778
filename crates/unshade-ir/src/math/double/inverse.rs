//! The inverse trigonometric functions.

use super::{QUARTER_REST, high, polynomial, reciprocal, with_exponent, with_sign};
use crate::math::machine::reciprocal_sqrt_high;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Returns the factor by which the inverse sine of a number exceeds one, given the number's square.
fn sine_series(square: f64) -> f64 {
    polynomial(
        square,
        [
            0.06259798167646803,
            -0.07620591484676952,
            0.06686894879337643,
            -0.01787828218369301,
            0.01745227928732326,
            0.0100042275424558,
            0.01418108777515123,
            0.01733194598980628,
            0.02237350511593569,
            0.03038188875134962,
            0.04464285849810986,
            0.0749999999834227,
            0.1666666666667375,
        ],
    ) * square
}

/// Returns the square root of a normal number: the machine's approximation, and Newton's steps. Not all results are
/// correctly rounded.
fn root(x: f64) -> f64 {
    let inverse = f64::from_bits(reciprocal_sqrt_high(x.to_bits() >> 32) << 32);
    let half = with_exponent(inverse, -1);
    let near = x * inverse;
    let near = half.mul_add((-near).mul_add(near, x), near);
    let half = half.mul_add((-inverse).mul_add(near, 1.0), half);
    half.mul_add((-near).mul_add(near, x), near)
}

pub(super) fn asin(x: f64) -> f64 {
    if f32::from_bits(high(x)).abs() < 1.76875 {
        return x.mul_add(sine_series(x * x), x);
    }
    let square = x.abs().mul_add(-0.5, 0.5);
    let doubled = -2.0 * if square == 0.0 { square } else { root(square) };
    let angle = sine_series(square).mul_add(doubled, QUARTER_REST) + (doubled + FRAC_PI_4) + FRAC_PI_4;
    if square < 0.0 { f64::NAN } else { with_sign(angle, x) }
}

pub(super) fn acos(x: f64) -> f64 {
    let magnitude = x.abs();
    let is_negative = x.is_sign_negative();
    if high(magnitude) < 0x3fe2_6666 {
        let square = x * x;
        let angle = sine_series(square).mul_add(magnitude, magnitude);
        return if is_negative {
            angle + QUARTER_REST + FRAC_PI_2
        } else {
            FRAC_PI_2 - (angle - QUARTER_REST)
        };
    }
    let below = 1.0 - magnitude;
    if below < 0.0 || x.is_nan() {
        return f64::NAN;
    }
    let angle = if below == 0.0 { 0.0 } else { half_angle(below) };
    if is_negative { PI - (angle - 2.0 * QUARTER_REST) } else { angle }
}

/// Returns the inverse cosine of one less a number.
fn half_angle(x: f64) -> f64 {
    let doubled = with_exponent(root(with_exponent(x, -1)), 1);
    let series = polynomial(
        x,
        [
            2.751918949311172e-6,
            -1.5951212865388395e-6,
            6.118529412726973e-6,
            6.928343859556241e-6,
            1.9480663162164715e-5,
            4.503196545530714e-5,
            0.00010911426300865435,
            0.00027113554445344455,
            0.0006991300615525486,
            0.0018988715243469585,
            0.005580357142924968,
            0.018749999999999475,
            0.083_333_333_333_333_33,
        ],
    );
    doubled.mul_add(x * series, doubled)
}

/// Returns the inverse tangent of a number up to one.
fn near_tangent(x: f64) -> f64 {
    let square = x * x;
    let series = polynomial(
        square,
        [
            -2.0258553044438358e-5,
            0.0002230224034575851,
            -0.0011640717779930576,
            0.0038559749383629918,
            -0.009184559218716548,
            0.01697803583459733,
            -0.025826796814495994,
            0.03406781108271512,
            -0.04092638242050997,
            0.046739496199157994,
            -0.05239233005460132,
            0.05877307772179085,
            -0.06665860363351257,
            0.07692212930586784,
            -0.09090901235400523,
            0.11111110678749424,
            -0.14285714271334815,
            0.1999999999975502,
            -0.3333333333333186,
        ],
    );
    (square * series).mul_add(x, x)
}

pub(super) fn atan(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude > 1.0 {
        let inverse = if magnitude == f64::INFINITY { 0.0 } else { reciprocal(magnitude) };
        return with_sign(FRAC_PI_2 - near_tangent(inverse), x);
    }
    with_sign(near_tangent(magnitude), x)
}

pub(super) fn atan2(y: f64, x: f64) -> f64 {
    let (height, width) = (y.abs(), x.abs());
    let is_left = x.is_sign_negative();
    if height == 0.0 && width == 0.0 {
        return with_sign(if is_left { PI } else { 0.0 }, y);
    }
    if height == f64::INFINITY && width == f64::INFINITY {
        return with_sign(if is_left { 3.0 * FRAC_PI_4 } else { FRAC_PI_4 }, y);
    }
    if (width + height).is_nan() {
        return f64::NAN;
    }
    let angle = near_tangent(width.min(height) / width.max(height));
    let angle = if width < height { FRAC_PI_2 - angle } else { angle };
    with_sign(if is_left { PI - angle } else { angle }, y)
}
