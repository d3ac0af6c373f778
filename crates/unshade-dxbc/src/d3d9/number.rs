//! Floats in the `%.9g` format of FXC's C library: nine digits, which identify every float, without trailing zeros,
//! with exponents of three digits.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

/// Number of significant digits.
const DIGITS: usize = 9;

/// Spellings of infinities and NaNs.
const SPECIAL: [(u32, &str); 5] = [
    (0x7f80_0000, "1.#INF"),
    (0xff80_0000, "-1.#INF"),
    (0xffc0_0000, "-1.#IND"),
    (0x7fc0_0000, "1.#QNAN"),
    (0xffff_ffff, "-1.#QNAN"),
];

/// Appends a float.
pub(super) fn write_float(out: &mut String, bits: u32) {
    let value = f32::from_bits(bits);
    if !value.is_finite() {
        let exact = SPECIAL.iter().find(|(known, _)| *known == bits);
        let name =
            exact.map_or(if value.is_sign_negative() { "-1.#QNAN" } else { "1.#QNAN" }, |(_, name)| *name);
        out.push_str(name);
        return;
    }
    let scientific = format!("{:.*e}", DIGITS.saturating_sub(1), f64::from(value));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = i32::try_from(DIGITS).unwrap_or(i32::MAX);
    // Writing to a string can't fail.
    if (-4..digits).contains(&exponent) {
        let after = usize::try_from(digits.saturating_sub(1).saturating_sub(exponent)).unwrap_or(0);
        out.push_str(without_zeros(&format!("{:.after$}", f64::from(value))));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{}e{sign}{:03}", without_zeros(mantissa), exponent.unsigned_abs());
    }
}

/// Removes trailing zeros.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Returns the bits of a float in this format or in hexadecimal.
pub(super) fn parse_float(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok();
    }
    if let Some((bits, _)) = SPECIAL.iter().find(|(_, name)| *name == text) {
        return Some(*bits);
    }
    let is_number = text.starts_with(|character: char| matches!(character, '-' | '+' | '.' | '0'..='9'));
    text.parse().ok().filter(|_| is_number).map(f32::to_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_fxc_writes_them() {
        for (bits, text) in [
            (0x3dcc_cccd, "0.100000001"),
            (0x3eaa_aaab, "0.333333343"),
            (0xcb80_0001, "-16777218"),
            (0x8000_0000, "-0"),
            (1, "1.40129846e-045"),
            (0x7f7f_ffff, "3.40282347e+038"),
            (0x7f80_0000, "1.#INF"),
            (0xffc0_0000, "-1.#IND"),
            (0x38d1_b717, "9.99999975e-005"),
            (0x3a83_126f, "0.00100000005"),
            (0x4974_2400, "1000000"),
            (0x4e6e_6b28, "1e+009"),
            (0x3f9e_0652, "1.23456788"),
        ] {
            let mut out = String::new();
            write_float(&mut out, bits);
            assert_eq!(out, text);
            assert_eq!(parse_float(text), Some(bits));
        }
        assert_eq!(parse_float("inf"), None);
        assert_eq!(parse_float("0x7f800001"), Some(0x7f80_0001));
    }
}
