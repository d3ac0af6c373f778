//! Floats of 16 bits: a sign, five bits of exponent, ten of fraction (IEEE 754 binary16).

/// Returns the number with the bits of a half. A NaN keeps only its sign.
///
/// ```
/// use unshade_core::half::half_to_double;
///
/// assert_eq!(half_to_double(0x3c00), 1.0);
/// assert_eq!(half_to_double(0x8001), -(0.5_f64.powi(24)));
/// assert_eq!(half_to_double(0x7c00), f64::INFINITY);
/// ```
#[must_use]
pub fn half_to_double(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * power(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * power(exponent.wrapping_sub(25)),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// Returns 2 to the power of an exponent in the range of normal doubles.
fn power(exponent: i32) -> f64 {
    f64::from_bits(u64::from(exponent.wrapping_add(1023).cast_unsigned()).wrapping_shl(52))
}
