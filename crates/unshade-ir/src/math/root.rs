//! Roots.

use super::machine::{exp2, log2, reciprocal_sqrt};

/// The cube root: an approximation by logarithms, and one of Newton's steps.
pub(super) fn cbrtf(x: f32) -> f32 {
    if x + x == x {
        return x + x;
    }
    let magnitude = x.abs();
    let is_small = magnitude < f32::MIN_POSITIVE;
    let exponent = log2(if is_small { magnitude * 16_777_216.0 } else { magnitude });
    let root = exp2(if is_small { exponent - 24.0 } else { exponent } * 0.333_333_34);
    let error = (1.0 / (root * root)).mul_add(-magnitude, root);
    let root = error.mul_add(-0.333_333_34, root);
    if x.is_sign_negative() { -root } else { root }
}

pub(super) fn rsqrtf(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { reciprocal_sqrt(x * 16_777_216.0) * 4096.0 } else { reciprocal_sqrt(x) }
}

pub(super) fn hypotf(x: f32, y: f32) -> f32 {
    let (x, y) = (x.abs(), y.abs());
    let small = f32::from_bits(x.to_bits().min(y.to_bits()));
    let large = f32::from_bits(x.to_bits().max(y.to_bits()));
    if small == f32::INFINITY || large == f32::INFINITY {
        return f32::INFINITY;
    }
    if small == 0.0 {
        return large;
    }
    let exponent = large.to_bits() & 0xfe00_0000;
    let scale = f32::from_bits(0x7e80_0000_u32.wrapping_sub(exponent));
    let (large, small) = (large * scale, small * scale);
    f32::from_bits(exponent | 0x0080_0000) * large.mul_add(large, small * small).sqrt()
}
