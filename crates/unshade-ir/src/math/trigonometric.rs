//! Sine, cosine and tangent.
//!
//! The number is reduced to a multiple of a quarter turn and a rest: with three parts of a quarter turn, and for large
//! numbers with as many bits of two by pi as needed (Payne and Hanek, "Radian Reduction for Trigonometric Functions",
//! 1983). Polynomials of the rest follow.

use super::polynomial;

/// The bits of two by pi after the point, lowest word first.
const TWO_BY_PI: [u32; 6] = [0x3c43_9041, 0xdb62_9599, 0xf534_ddc0, 0xfc27_57d1, 0x4e44_1529, 0xa2f9_836e];

/// A quarter turn, rounded down.
const QUARTER: f32 = f32::from_bits(0x3fc9_0fda);

/// The largest number that the first reduction is for.
const LARGE: f32 = 105_615.0;

pub(super) fn sinf(x: f32) -> f32 {
    let (quarters, rest) = reduced(x);
    wave(quarters, rest)
}

pub(super) fn cosf(x: f32) -> f32 {
    let (quarters, rest) = reduced(x);
    wave(quarters.wrapping_add(1), rest)
}

pub(super) fn sinpif(x: f32) -> f32 {
    let (quarters, rest) = reduced_half_turns(x);
    if x.trunc() == x { x * 0.0 } else { wave(quarters, rest) }
}

pub(super) fn cospif(x: f32) -> f32 {
    let x = if x.abs() > 16_777_216.0 { x * 0.0 } else { x };
    let (quarters, rest) = reduced_half_turns(x);
    wave(quarters.wrapping_add(1), rest)
}

/// Returns the nearest number of quarter turns of a number of half turns, and the rest as an angle.
fn reduced_half_turns(x: f32) -> (i32, f32) {
    /// Half a turn, rounded down.
    const HALF: f32 = f32::from_bits(0x4049_0fda);
    let quarters = (x + x).round_ties_even();
    let rest = (-quarters).mul_add(0.5, x);
    (quarters as i32, rest.mul_add(HALF, rest * 1.509958e-7))
}

pub(super) fn tanf(x: f32) -> f32 {
    let (quarters, rest) = reduced(x);
    let square = rest * rest;
    let series =
        polynomial(square, [0.009338379, 0.0032653809, 0.024291992, 0.053466797, 0.13337791, 0.3333323]);
    let near = if rest.abs() == 0.000_490_966_95 { rest } else { series.mul_add(square * rest, rest) };
    if quarters & 1 == 1 { -(1.0 / near) } else { near }
}

/// Returns the sine of a number of quarter turns and a rest.
fn wave(quarters: i32, rest: f32) -> f32 {
    let square = rest * rest;
    let (first, factor) = if quarters & 1 == 0 {
        (polynomial(square, [-0.000_195_746_59, 0.008_332_703, -0.166_666_63]), rest)
    } else {
        (polynomial(square, [2.427958e-5, -0.001_388_786, 0.041_666_728, -0.499_999_97]), 1.0)
    };
    let value = first.mul_add(factor.mul_add(square, 0.0), factor);
    if quarters & 2 == 0 { value } else { value.mul_add(-1.0, 0.0) }
}

/// Returns the number of quarter turns that is nearest, and the rest.
fn reduced(x: f32) -> (i32, f32) {
    if x.is_infinite() {
        return (0, f32::NAN);
    }
    if x.abs() > LARGE {
        return reduced_far(x);
    }
    let quarters = (x * 0.636_619_75).round_ties_even() as i32;
    let count = quarters as f32;
    let rest = count.mul_add(-7.549_789_4e-8, count.mul_add(-QUARTER, x));
    (quarters, count.mul_add(-5.390_303e-15, rest))
}

/// Returns the same for a large number.
fn reduced_far(x: f32) -> (i32, f32) {
    let fraction = u64::from(x.to_bits() << 8 | 1 << 31);
    let mut product = [0_u32; 8];
    let mut carry = 0;
    for (word, factor) in product[1..].iter_mut().zip(TWO_BY_PI) {
        let sum = fraction * u64::from(factor) + carry;
        *word = sum as u32;
        carry = sum >> 32;
    }
    product[7] = carry as u32;
    let exponent = (x.to_bits() >> 23 & 0xff).wrapping_sub(128);
    let first = (exponent >> 5 & 3) as usize;
    let word = |index: usize| u128::from(product[index - first]);
    // The word with the quarters, and two below it.
    let window = word(7) << 64 | word(6) << 32 | word(5);
    let window = (window << (exponent & 31) >> 32) as u64;
    let after_point = window << 2;
    let is_upper = after_point >> 63 != 0;
    let quarters = ((window >> 62) as i32) + i32::from(is_upper);
    // The nearest multiple may be above.
    let rest = (after_point.cast_signed()).unsigned_abs().cast_signed();
    let rest = (rest as f64 * 8.515303950216387e-20) as f32;
    let is_negative = x.is_sign_negative();
    (if is_negative { -quarters } else { quarters }, if is_upper != is_negative { -rest } else { rest })
}
