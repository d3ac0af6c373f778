//! Sine, cosine and tangent.
//!
//! The number is reduced to a multiple of a quarter turn and a rest: with three parts of a quarter turn, and for large
//! numbers with as many bits of two by pi as needed (Payne and Hanek, "Radian Reduction for Trigonometric Functions",
//! 1983). Polynomials of the rest follow.

use super::{polynomial, reciprocal};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// The bits of two by pi after the point, lowest word first, and those before.
const TWO_BY_PI: [u64; 19] = [
    0x6bfb_5fb1_1f8d_5d08,
    0x3d07_39f7_8a52_92ea,
    0x7527_bac7_ebe5_f17b,
    0x4f46_3f66_9e5f_ea2d,
    0x6d36_7ecf_27cb_09b7,
    0xef2f_118b_5a0a_6d1f,
    0x1ff8_97ff_de05_980f,
    0x9c84_5f8b_bdf9_283b,
    0x3991_d639_8353_39f4,
    0xe99c_7026_b45f_7e41,
    0xe882_35f5_2ebb_4484,
    0xfe1d_eb1c_b129_a73e,
    0x0649_2eea_09d1_921c,
    0xb724_6e3a_424d_d2e0,
    0xfe51_63ab_debb_c561,
    0xdb62_9599_3c43_9041,
    0xfc27_57d1_f534_ddc0,
    0xa2f9_836e_4e44_1529,
    0,
];

/// Pi by four, as a fraction of 64 bits.
const EIGHTH: u64 = 0xc90f_daa2_2168_c235;

/// The smallest number that the second reduction is for: 2^31.
const LARGE: f64 = 2_147_483_648.0;

pub(super) fn sin(x: f64) -> f64 {
    let (quarters, rest) = reduced(x);
    wave(quarters, rest)
}

pub(super) fn cos(x: f64) -> f64 {
    let (quarters, rest) = reduced(x);
    wave(quarters.wrapping_add(1), rest)
}

pub(super) fn tan(x: f64) -> f64 {
    let (quarters, rest) = reduced(x);
    let square = rest * rest;
    let series = polynomial(
        square,
        [
            9.80062872032863e-6,
            -2.4279526494179897e-5,
            4.864417313093716e-5,
            -2.5640012693782273e-5,
            6.722398433088007e-5,
            8.355928731821164e-5,
            0.00024375039850848564,
            0.0005888648775485667,
            0.001456045484467204,
            0.003592100888585718,
            0.008863237921861371,
            0.02186948839933789,
            0.053968253972902704,
            0.13333333333325342,
            0.3333333333333338,
        ],
    );
    let factor = square * series;
    let near = factor.mul_add(rest, rest);
    if quarters & 1 == 0 {
        return near;
    }
    let lacking = factor.mul_add(rest, rest - near);
    let inverse = reciprocal(near);
    let error = (-lacking).mul_add(inverse, (-near).mul_add(inverse, 1.0));
    (-inverse).mul_add(error, -inverse)
}

/// Returns the sine of a number of quarter turns and a rest.
fn wave(quarters: i32, rest: f64) -> f64 {
    let square = rest * rest;
    let value = if quarters & 1 == 0 {
        let series = polynomial(
            square,
            [
                1.5903078570611027e-10,
                -2.5050911383645487e-8,
                2.755731498463003e-6,
                -0.0001984126983447703,
                0.008333333333329349,
                -0.16666666666666663,
                0.0,
            ],
        );
        series.mul_add(rest, rest)
    } else {
        polynomial(
            square,
            [
                -1.1367817304626284e-11,
                2.08758833785978e-9,
                -2.7557315542999557e-7,
                2.4801587293618683e-5,
                -0.0013888888888880667,
                0.04166666666666664,
                -0.5,
                1.0,
            ],
        )
    };
    if quarters & 2 == 0 { value } else { -value }
}

/// Returns the number of quarter turns that is nearest, and the rest.
fn reduced(x: f64) -> (i32, f64) {
    if !x.is_finite() {
        return (0, f64::NAN);
    }
    if x.abs() >= LARGE {
        return reduced_far(x);
    }
    let quarters = (x * FRAC_2_PI).round_ties_even() as i32;
    let count = -f64::from(quarters);
    let rest = count.mul_add(6.123233995736757e-17, count.mul_add(FRAC_PI_2, x));
    (quarters, count.mul_add(8.478427660368898e-32, rest))
}

/// Returns the same for a large number.
fn reduced_far(x: f64) -> (i32, f64) {
    let exponent = (x.to_bits() >> 52 & 0x7ff) as u32 - 1024;
    // The word with the quarters, and two below it.
    let [high, middle, low] = product(x.to_bits() << 11 | 1 << 63, (exponent >> 6) as usize);
    let shift = exponent & 63;
    let upper = (u128::from(high) << 64 | u128::from(middle)) << shift;
    let window = upper | u128::from(low) << shift >> 64;
    let fraction = window << 2;
    let is_upper = fraction >> 127 != 0;
    let quarters = (window >> 126) as i32 + i32::from(is_upper);
    let is_negative = x.is_sign_negative();
    // The nearest multiple may be above.
    let magnitude = angle(if is_upper { fraction.wrapping_neg() } else { fraction });
    let rest = if is_upper == is_negative { magnitude } else { -magnitude };
    (if is_negative { -quarters } else { quarters }, rest)
}

/// Returns the product of a number and the part of two by pi that determines its quarter turns: its upper words.
fn product(fraction: u64, skipped: usize) -> [u64; 3] {
    let mut words = [0; 3];
    let mut carry = 0;
    let last = TWO_BY_PI.len().saturating_sub(skipped);
    let factors = TWO_BY_PI.get(last.saturating_sub(4)..last).unwrap_or_default();
    for factor in factors {
        let sum = u128::from(fraction) * u128::from(*factor) + carry;
        words = [sum as u64, words[0], words[1]];
        carry = sum >> 64;
    }
    words
}

/// Returns the angle that is a fraction of a quarter turn, rounded.
fn angle(fraction: u128) -> f64 {
    let zeros = ((fraction >> 64) as u64).leading_zeros();
    let normal = (fraction << zeros >> 64) as u64;
    let product = u128::from(normal) * u128::from(EIGHTH);
    let is_short = product >> 127 == 0 && product >> 64 != 0;
    let product = if is_short { product << 1 } else { product };
    // Rounded twice.
    let rounded = ((((product >> 64) as u64).wrapping_add(1) >> 10) + 1) >> 1;
    let exponent = 0x3fe_u64.wrapping_sub(u64::from(zeros + u32::from(is_short)));
    f64::from_bits(rounded.wrapping_add(exponent << 52))
}
