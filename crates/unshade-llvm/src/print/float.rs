//! Formats floating-point constants.
//!
//! `float` and `double` are written with six significant digits if that reads back as the same `double`, else as
//! the bits of the `double` in hexadecimal. Other types are always written as a letter and their bits in
//! hexadecimal.

use super::text::{push_hex, push_short_hex};
use crate::types::Type;
use alloc::string::String;
use alloc::vec::Vec;
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
            // Sign and exponent are stored first.
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

/// Returns the bits of the `double` equal to a `float`; the payload of a NaN is kept.
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

/// Appends six significant digits, a zero, and an exponent of at least two digits; LLVM 3.7 (`old`) writes seven
/// significant digits. Returns `None` if the text would not read back as the same number.
fn push_decimal(text: &mut String, value: f64, old: bool) -> Option<()> {
    let mut digits = String::new();
    if old {
        write!(digits, "{value:.6e}").ok()?;
    } else if is_short(value) {
        write!(digits, "{value:.5e}").ok()?;
    } else {
        let (number, exponent) = llvm_digits(value);
        let sign = if value.is_sign_negative() { "-" } else { "" };
        write!(digits, "{sign}{}.{:05}e{exponent}", number / 100_000, number % 100_000).ok()?;
    }
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

/// Splits a number into an odd significand and a power of two.
fn odd_significand(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let stored = (bits >> 52 & 0x7FF) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (significand, exponent) =
        if stored == 0 { (fraction, -1074) } else { (fraction | 1 << 52, stored - 1075) };
    let zeros = significand.trailing_zeros().min(63);
    (significand >> zeros, exponent + zeros as i32)
}

/// Returns whether six decimal digits represent a number exactly, so that nothing is rounded.
fn is_short(value: f64) -> bool {
    let (significand, exponent) = odd_significand(value);
    match exponent {
        0.. => value.abs() < (1u64 << 53) as f64,
        // It has as many digits after the point in decimal as in binary.
        -8.. => significand.saturating_mul(5u64.pow(exponent.unsigned_abs())) < 1_000_000,
        _ => significand == 0,
    }
}

/// Returns six digits of a number as LLVM computes them, and the exponent of the first digit.
///
/// LLVM first truncates the exact number to about six digits and then rounds the rest. So it converts the `double`
/// closest to 1e-12, which is slightly smaller, to 9.99999e-13, and in the end writes it in hexadecimal.
fn llvm_digits(value: f64) -> (u64, i32) {
    const DIGITS: u32 = 6;
    /// The number of bits that LLVM assumes for six decimal digits.
    const BITS: u32 = (DIGITS * 196).div_ceil(59);
    let (significand, binary) = odd_significand(value);
    let mut number = BigInteger::new(significand);
    let mut exponent = binary.min(0);
    let factor = if binary > 0 { 2 } else { 5 };
    for_power_factors(binary.unsigned_abs(), factor, |factor| number.multiply(factor));
    let removable = number.bits().saturating_sub(BITS) * 59 / 196;
    for_power_factors(removable, 10, |divisor| number.divide(divisor));
    exponent += removable as i32;
    let mut digits = number.low();
    let count = digits.checked_ilog10().map_or(1, |log| log + 1);
    if count > DIGITS {
        let dropped = 10u64.pow(count - DIGITS);
        digits = (digits + dropped / 2) / dropped;
    } else {
        digits *= 10u64.pow(DIGITS - count);
    }
    exponent += count as i32 - 1;
    if digits == 10u64.pow(DIGITS) {
        return (digits / 10, exponent + 1);
    }
    (digits, exponent)
}

/// Calls `step` with factors below 2^32 whose product is a power of `base`.
fn for_power_factors(mut exponent: u32, base: u32, mut step: impl FnMut(u32)) {
    let most = u32::MAX.ilog(base);
    while exponent > 0 {
        let part = exponent.min(most);
        step(base.pow(part));
        exponent -= part;
    }
}

/// An integer of any size, as 32-bit digits, least significant first.
struct BigInteger {
    digits: Vec<u32>,
}

impl BigInteger {
    fn new(number: u64) -> Self {
        let mut big = Self { digits: Vec::from([number as u32, (number >> 32) as u32]) };
        big.trim();
        big
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
    }

    fn multiply(&mut self, by: u32) {
        let mut carry = 0;
        for digit in &mut self.digits {
            let product = u64::from(*digit) * u64::from(by) + carry;
            *digit = product as u32;
            carry = product >> 32;
        }
        if carry > 0 {
            self.digits.push(carry as u32);
        }
    }

    fn divide(&mut self, by: u32) {
        let mut rest = 0;
        for digit in self.digits.iter_mut().rev() {
            let part = rest << 32 | u64::from(*digit);
            *digit = (part / u64::from(by)) as u32;
            rest = part % u64::from(by);
        }
        self.trim();
    }

    /// Returns the number of bits without leading zeros.
    fn bits(&self) -> u32 {
        let last = self.digits.last().map_or(0, |last| 32 - last.leading_zeros());
        (self.digits.len().saturating_sub(1) as u32) * 32 + last
    }

    /// Returns the low 64 bits.
    fn low(&self) -> u64 {
        let digit = |at: usize| u64::from(self.digits.get(at).copied().unwrap_or(0));
        digit(0) | digit(1) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: f32) -> String {
        let mut text = String::new();
        push_float(&mut text, Type::Float, u64::from(value.to_bits()), false);
        text
    }

    fn double(value: f64) -> String {
        let mut text = String::new();
        push_float(&mut text, Type::Double, value.to_bits(), false);
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
        // The first of these is slightly smaller than its six digits, so LLVM writes it in hexadecimal.
        assert_eq!(double(1e-12), "0x3D719799812DEA11");
        assert_eq!(double(1e99), "0x547D42AEA2879F2E");
        assert_eq!(double(1e-10), "1.000000e-10");
        assert_eq!(double(0.1), "1.000000e-01");
        assert_eq!(double(-1e22), "-1.000000e+22");
        assert_eq!(double(123_456.0), "1.234560e+05");
        assert_eq!(double(f64::MAX), "0x7FEFFFFFFFFFFFFF");
        let mut text = String::new();
        push_float(&mut text, Type::Double, 0x12345, false);
        assert_eq!(text, "3.684000e-319");
        text.clear();
        push_float(&mut text, Type::Double, 0.2734375f64.to_bits(), true);
        assert_eq!(text, "2.734375e-01");
    }
}
