//! Powers: the logarithm of the base with twice the precision, times the exponent, to the power of e.

use super::exponential::exp;
use super::logarithm::split;
use super::{LN_2_REST, high, polynomial, reciprocal, with_exponent};
use std::f64::consts::LN_2;

pub(super) fn pow(x: f64, y: f64) -> f64 {
    if x == 1.0 || y == 0.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return x + y;
    }
    if y.is_infinite() {
        let grows = (x.abs() > 1.0) == (y > 0.0);
        return if x == -1.0 {
            1.0
        } else if grows {
            f64::INFINITY
        } else {
            0.0
        };
    }
    let is_odd = (y - 2.0 * (y * 0.5).trunc()).abs() == 1.0;
    let flips = x.is_sign_negative() && is_odd;
    let power = if x == 0.0 {
        if y < 0.0 { f64::INFINITY } else { 0.0 }
    } else if x.is_infinite() {
        if y < 0.0 { 0.0 } else { f64::INFINITY }
    } else if x < 0.0 && y.trunc() != y {
        return f64::NAN;
    } else {
        power_of_magnitude(x.abs(), y)
    };
    if flips { -power } else { power }
}

/// Returns a power of a positive finite number.
fn power_of_magnitude(x: f64, y: f64) -> f64 {
    let (log, rest) = logarithm(x);
    // Very large exponents are reduced, so that no product overflows.
    let is_large = high(y) << 1 > 0xfdff_ffff;
    let y = if is_large { f64::from_bits(y.to_bits() & 0xff0f_ffff_ffff_ffff) } else { y };
    let product = log * y;
    let error = rest.mul_add(y, log.mul_add(y, -product));
    let (sum, rest) = two_sum(product, error);
    let power = exp(sum);
    if power == f64::INFINITY { power } else { rest.mul_add(power, power) }
}

/// Returns the natural logarithm of a positive finite number as a sum of two.
fn logarithm(x: f64) -> (f64, f64) {
    let (exponent, fraction) = split(x);
    // Twice the inverse hyperbolic tangent of (f - 1) / (f + 1).
    let (quotient, lacking) = quotient(fraction - 1.0, reciprocal(fraction + 1.0));
    let square = quotient * quotient;
    let (cube, cube_rest) = cube(quotient, lacking, square);
    let series = polynomial(
        square,
        [
            1.0109501899597673e-6,
            4.043636205277137e-6,
            1.8783065870784382e-5,
            8.877820186630203e-5,
            0.0004340277860504996,
            0.002232142856960391,
            0.012500000000001945,
        ],
    );
    let twelfth = 0.083_333_333_333_333_33;
    let near = square.mul_add(series, twelfth);
    let rest = square.mul_add(series, twelfth - near) + 0.0 + -2.4550373211645616e-18;
    let (series, rest) = two_sum(near, rest);
    let product = series * cube;
    let error = series.mul_add(cube_rest, series.mul_add(cube, -product));
    let (product, error) = two_sum(product, rest.mul_add(cube, error));
    let (sum, rest) = two_sum(quotient, product);
    let (sum, rest) = two_sum(sum, lacking + (error + rest));
    let total = exponent.mul_add(LN_2, sum);
    let rounded = (-exponent).mul_add(LN_2, total) - sum;
    two_sum(total, exponent.mul_add(LN_2_REST, rest - rounded))
}

/// Returns twice the quotient of two numbers, given the reciprocal of their sum and of two, and what it lacks.
fn quotient(below: f64, inverse: f64) -> (f64, f64) {
    let near = inverse.mul_add(below, inverse * below);
    let lacking = below - near;
    (near, inverse * (-below).mul_add(near, lacking + lacking))
}

/// Returns the cube of a sum of two numbers as such a sum, given the square of the first.
fn cube(large: f64, small: f64, square: f64) -> (f64, f64) {
    let cube = large * square;
    let square_rest = large.mul_add(with_exponent(small, 1), large.mul_add(large, -square));
    let cube_rest = small.mul_add(square, large.mul_add(square, -cube));
    (cube, large.mul_add(square_rest, cube_rest))
}

/// Returns the sum of a number and a smaller one, and what the sum lacks.
fn two_sum(large: f64, small: f64) -> (f64, f64) {
    let sum = large + small;
    (sum, small + (large - sum))
}
