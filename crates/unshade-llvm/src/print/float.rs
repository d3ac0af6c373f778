//! Floating-point constants.
//!
//! `float` and `double` are written with six digits if that reads back as the same `double`, else as the
//! hexadecimal bits of the `double`; the other types always as hexadecimal bits after a letter.

use super::text::{push_hex, push_short_hex};
use crate::types::Type;
use alloc::string::String;
use core::fmt::Write;

/// Appends a constant of at most 64 bits.
pub(crate) fn push_float(text: &mut String, ty: Type, bits: u64, old: bool) {
    match ty {
        Type::Half => {
            text.push_str("0xH");
            push_hex(text, bits, 4);
        }
        Type::BFloat => {
            text.push_str("0xR");
            push_hex(text, bits, 4);
        }
        Type::Float => push_double(text, widen(bits as u32), old),
        _ => push_double(text, bits, old),
    }
}

/// Appends a constant of more than 64 bits, from its words as stored.
pub(crate) fn push_wide_float(text: &mut String, ty: Type, words: &[u64]) {
    let &[first, second] = words else { return };
    match ty {
        Type::X86Fp80 => {
            // Stored with the sign and exponent in front.
            text.push_str("0xK");
            push_hex(text, first >> 48, 4);
            push_hex(text, first << 16 | second & 0xFFFF, 16);
        }
        _ => {
            text.push_str(if ty == Type::Fp128 { "0xL" } else { "0xM" });
            push_hex(text, first, 16);
            push_hex(text, second, 16);
        }
    }
}

/// The bits of the `double` that a `float` equals; payloads of NaNs keep their place.
fn widen(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        sign | 0x7FF << 52 | u64::from(bits & 0x7F_FFFF) << 29
    } else {
        f64::from(value).to_bits()
    }
}

fn push_double(text: &mut String, bits: u64, old: bool) {
    let value = f64::from_bits(bits);
    if value.is_finite() {
        let start = text.len();
        if push_decimal(text, value, old).is_some() {
            return;
        }
        text.truncate(start);
    }
    text.push_str("0x");
    push_short_hex(text, bits);
}

/// Six significant digits, a zero behind them, and an exponent of at least two digits; LLVM 3.7 (`old`) took seven
/// significant digits.
fn push_decimal(text: &mut String, value: f64, old: bool) -> Option<()> {
    let mut digits = String::new();
    let precision = if old { 6 } else { 5 };
    write!(digits, "{value:.precision$e}").ok()?;
    if digits.parse::<f64>().ok()?.to_bits() != value.to_bits() {
        return None;
    }
    let (mantissa, exponent) = digits.split_once('e')?;
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    text.push_str(mantissa);
    text.push_str(if old { "e" } else { "0e" });
    text.push(sign);
    if exponent.len() < 2 {
        text.push('0');
    }
    text.push_str(exponent);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: f32) -> String {
        let mut text = String::new();
        push_float(&mut text, Type::Float, u64::from(value.to_bits()), false);
        text
    }

    #[test]
    fn short_numbers_are_decimal() {
        assert_eq!(float(1.0), "1.000000e+00");
        assert_eq!(float(-0.0), "-0.000000e+00");
        assert_eq!(float(0.1), "0x3FB99999A0000000");
        assert_eq!(float(1.5e8), "1.500000e+08");
        assert_eq!(float(f32::INFINITY), "0x7FF0000000000000");
        assert_eq!(float(f32::from_bits(0x7F80_0001)), "0x7FF0000020000000");
        let mut text = String::new();
        push_float(&mut text, Type::Double, 0x12345, false);
        assert_eq!(text, "3.684000e-319");
        text.clear();
        push_float(&mut text, Type::Double, 0.2734375f64.to_bits(), true);
        assert_eq!(text, "2.734375e-01");
    }
}
