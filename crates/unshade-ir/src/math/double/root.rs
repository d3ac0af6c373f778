//! Roots.

use super::{high, power_of_two, reciprocal, with_exponent, with_sign};
use crate::math::machine::{exp2, log2, reciprocal_sqrt_high};

/// Returns the reciprocal of the square root of a positive normal number: the machine's approximation, and one step of
/// third order.
fn inverse(x: f64) -> f64 {
    let near = f64::from_bits(reciprocal_sqrt_high(x.to_bits() >> 32) << 32);
    let error = (-x).mul_add(near * near, 1.0);
    error.mul_add(0.375, 0.5).mul_add(near * error, near)
}

pub(super) fn rsqrt(x: f64) -> f64 {
    if x == 0.0 {
        f64::INFINITY.copysign(x)
    } else if x.is_nan() || x < 0.0 {
        f64::NAN
    } else if x == f64::INFINITY {
        0.0
    } else if x.is_normal() {
        inverse(x)
    } else {
        inverse(x * power_of_two(54)) * power_of_two(27)
    }
}

/// The cube root: an approximation by logarithms of floats, and one step of third order.
pub(super) fn cbrt(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x + x;
    }
    let magnitude = x.abs();
    let is_small = !magnitude.is_normal();
    let normal = if is_small { magnitude * power_of_two(54) } else { magnitude };
    let exponent = (high(normal) >> 20).cast_signed() - 1022;
    let third = (exponent as f32 * 0.333_333_34).round_ties_even() as i32;
    let x3 = with_exponent(normal, -3 * third);
    let near = f64::from(exp2(log2(x3 as f32) * 0.333_333_34));
    let square = near * near;
    let inverse = reciprocal(near.mul_add(with_exponent(square, 1), x3));
    let step = inverse * (-near).mul_add(square, x3);
    let root = near.mul_add(step, near);
    with_sign(with_exponent(root, third - if is_small { 18 } else { 0 }), x)
}

pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let (small, large) = if x.to_bits() < y.to_bits() { (x, y) } else { (y, x) };
    if small == f64::INFINITY || large == f64::INFINITY {
        return f64::INFINITY;
    }
    if small == 0.0 {
        return large;
    }
    let exponent = high(large) & 0xffc0_0000;
    let scale = f64::from_bits(u64::from(0x7fd0_0000 - exponent) << 32);
    let (large, small) = (large * scale, small * scale);
    let square = large.mul_add(large, small * small);
    square * inverse(square.min(f64::MAX)) * f64::from_bits(u64::from(exponent | 0x0010_0000) << 32)
}
