//! The inverse trigonometric functions.

use super::{polynomial, with_sign};
use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Returns the inverse sine of a magnitude up to a half, or half of the inverse cosine of a larger one.
fn folded_sine(magnitude: f32) -> (f32, bool) {
    let is_far = magnitude > 0.57;
    let x = if is_far { ((1.0 - magnitude) * 0.5).sqrt() } else { magnitude };
    let square = x * x;
    let series = polynomial(square, [0.05175138, 0.018166976, 0.04675686, 0.07484657, 0.16667014]);
    (x.mul_add(square * series, x), is_far)
}

pub(super) fn asinf(x: f32) -> f32 {
    let (angle, is_far) = folded_sine(x.abs());
    let angle = if is_far { angle.mul_add(-2.0, FRAC_PI_2) } else { angle };
    if angle.is_nan() { angle } else { with_sign(angle, x) }
}

pub(super) fn acosf(x: f32) -> f32 {
    let (angle, is_far) = folded_sine(x.abs());
    let angle = if is_far { angle + angle } else { FRAC_PI_2 - angle };
    if x < 0.0 { PI - angle } else { angle }
}

/// Returns the inverse tangent of a number up to one: the number and a rational function.
fn near_tangent(x: f32) -> f32 {
    let square = x * x;
    let upper = square * polynomial(square, [-0.823_362_95, -5.674867, -6.565555]) * x;
    let lower = square.mul_add(square.mul_add(square + 11.335388, 28.842468), 19.69667);
    upper.mul_add(1.0 / lower, x)
}

pub(super) fn atanf(x: f32) -> f32 {
    let magnitude = x.abs();
    let is_far = magnitude > 1.0;
    let angle = near_tangent(if is_far { 1.0 / magnitude } else { magnitude });
    let angle = if is_far { FRAC_PI_2 - angle } else { angle };
    if x.is_nan() { angle } else { with_sign(angle, x) }
}

pub(super) fn atan2f(y: f32, x: f32) -> f32 {
    let (height, width) = (y.abs(), x.abs());
    let is_left = x.is_sign_negative();
    if height == 0.0 && width == 0.0 {
        return with_sign(if is_left { PI } else { 0.0 }, y);
    }
    if height == f32::INFINITY && width == f32::INFINITY {
        return with_sign(if is_left { 2.356_194_5 } else { FRAC_PI_4 }, y);
    }
    if (width + height).is_nan() {
        return f32::NAN;
    }
    let angle = near_tangent(width.min(height) / width.max(height));
    let angle = if width < height { FRAC_PI_2 - angle } else { angle };
    with_sign(if is_left { PI - angle } else { angle }, y)
}
