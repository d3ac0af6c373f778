//! Immediate values as text.
//!
//! FXC writes floats with six digits after the point, whatever precision is lost. It writes integers up to ten
//! thousand in decimal and others in hexadecimal. It shows values of unknown type as integers if they are small, as
//! hexadecimal if they would be denormals, infinities or NaNs, and as floats otherwise. The exact dialect writes as
//! many digits as are needed.

use super::Dialect;
use crate::operand::byte;
use alloc::string::String;
use core::fmt::Write;

/// The number format of an operand's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImmediateFormat {
    Float,
    Integer,
    Guessed,
}

impl ImmediateFormat {
    /// Returns the format for an operand's letter.
    pub(crate) fn of(letter: u8) -> Self {
        match letter {
            b'f' => Self::Float,
            b'm' | b'd' => Self::Guessed,
            _ => Self::Integer,
        }
    }
}

/// The largest magnitude that is written in decimal.
const DECIMAL: i32 = 10_000;

pub(crate) fn write_value(out: &mut String, value: u32, format: ImmediateFormat, dialect: Dialect) {
    match format {
        ImmediateFormat::Float => write_float(out, value, dialect),
        ImmediateFormat::Integer => write_integer(out, value),
        ImmediateFormat::Guessed => {
            let number = value.cast_signed();
            let exponent = value >> 23 & 0xff;
            let zero = value == 1 << 31;
            if (-DECIMAL..=DECIMAL).contains(&number) || !zero && matches!(exponent, 0 | 0xff) {
                write_integer(out, value);
            } else {
                write_float(out, value, dialect);
            }
        }
    }
}

fn write_integer(out: &mut String, value: u32) {
    let number = value.cast_signed();
    if (-DECIMAL..=DECIMAL).contains(&number) {
        if number < 0 {
            out.push('-');
        }
        write_decimal(out, number.unsigned_abs().into());
    } else {
        write_hexadecimal(out, value);
    }
}

/// Appends `0x` and eight digits.
fn write_hexadecimal(out: &mut String, value: u32) {
    let mut text = *b"0x00000000";
    for (digit, shift) in text.iter_mut().rev().take(8).zip([0, 4, 8, 12, 16, 20, 24, 28]) {
        let number = byte(value, shift, 4);
        *digit = if number < 10 {
            b'0'.saturating_add(number)
        } else {
            b'a'.saturating_add(number.wrapping_sub(10))
        };
    }
    out.push_str(core::str::from_utf8(&text).unwrap_or_default());
}

/// Appends a decimal number. Listings consist of numbers, and the standard library's formatting is slower.
pub(super) fn write_decimal(out: &mut String, mut number: u64) {
    const LONGEST: usize = 20;
    if let Ok(digit @ 0..10) = u8::try_from(number) {
        out.push(char::from(b'0'.saturating_add(digit)));
        return;
    }
    let mut digits = [0u8; LONGEST];
    let mut length = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0'.saturating_add(u8::try_from(number % 10).unwrap_or(0));
        length = usize::saturating_add(length, 1);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let written = digits.get(LONGEST.saturating_sub(length)..).unwrap_or_default();
    out.push_str(core::str::from_utf8(written).unwrap_or_default());
}

/// Appends a finite float with six digits after the point, rounded to nearest, ties to even.
fn write_six_digits(out: &mut String, value: f32) {
    const MILLION: u64 = 1_000_000;
    let bits = value.to_bits();
    let fraction = u64::from(bits & 0x7f_ffff);
    let exponent = bits >> 23 & 0xff;
    // The value is `mantissa` · 2^-`shift`; a product with a million has at most 44 bits.
    let (mantissa, shift) = match exponent {
        0 => (fraction, 149),
        _ => (fraction | 1 << 23, 150u32.saturating_sub(exponent)),
    };
    // From here on values are whole and may be long.
    if exponent >= 150 {
        let _ = write!(out, "{value:.6}");
        return;
    }
    let product = mantissa.saturating_mul(MILLION);
    let whole = product.checked_shr(shift).unwrap_or(0);
    let rest = product.wrapping_sub(whole.checked_shl(shift).unwrap_or(0));
    let half = 1u64.checked_shl(shift.saturating_sub(1)).unwrap_or(u64::MAX);
    let is_up = shift > 0 && (rest > half || rest == half && whole % 2 == 1);
    let rounded = whole.saturating_add(is_up.into());
    if value.is_sign_negative() {
        out.push('-');
    }
    write_decimal(out, rounded / MILLION);
    // The leading one preserves the zeros of the fraction, and the point takes its place.
    let start = out.len();
    write_decimal(out, MILLION.saturating_add(rounded % MILLION));
    out.replace_range(start..start.saturating_add(1), ".");
}

/// Returns the spelling of infinities and NaNs in FXC's C library.
fn special(is_infinite: bool, is_negative: bool, is_indefinite: bool) -> &'static str {
    match (is_infinite, is_negative) {
        (true, false) => "1.#INF00",
        (true, true) => "-1.#INF00",
        (false, false) => "1.#QNAN0",
        (false, true) if is_indefinite => "-1.#IND00",
        (false, true) => "-1.#QNAN0",
    }
}

/// The default NaN: the result of an invalid operation.
const INDEFINITE: u32 = 0xffc0_0000;

pub(crate) fn write_float(out: &mut String, bits: u32, dialect: Dialect) {
    let value = f32::from_bits(bits);
    let start = out.len();
    if !value.is_finite() {
        match dialect {
            Dialect::Fxc => {
                out.push_str(special(value.is_infinite(), value.is_sign_negative(), bits == INDEFINITE));
            }
            Dialect::Exact => {
                let _ = write!(out, "0x{bits:08x}");
            }
        }
        return;
    }
    // The exact dialect only gets here for values that are not denormals, which FXC flushes, so both print alike.
    write_six_digits(out, value);
    let written = out.get(start..).unwrap_or_default();
    if dialect == Dialect::Exact && written.parse().map(f32::to_bits) != Ok(bits) {
        out.truncate(start);
        let _ = write!(out, "{value:?}");
    }
}

const INDEFINITE_DOUBLE: u64 = 0xfff8_0000_0000_0000;

pub(crate) fn write_double(out: &mut String, bits: u64, dialect: Dialect) {
    let value = f64::from_bits(bits);
    let start = out.len();
    if !value.is_finite() && dialect == Dialect::Exact {
        let _ = write!(out, "0x{bits:016x}l");
        return;
    }
    if value.is_finite() {
        let _ = write!(out, "{value:.6}");
        let written = out.get(start..).unwrap_or_default();
        if dialect == Dialect::Exact && written.parse().map(f64::to_bits) != Ok(bits) {
            out.truncate(start);
            let _ = write!(out, "{value:?}");
        }
    } else {
        out.push_str(special(value.is_infinite(), value.is_sign_negative(), bits == INDEFINITE_DOUBLE));
    }
    out.push('l');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: u32, format: ImmediateFormat, dialect: Dialect) -> String {
        let mut out = String::new();
        write_value(&mut out, value, format, dialect);
        out
    }

    #[test]
    fn as_fxc_writes_them() {
        for (value, float, integer, guessed) in [
            (0, "0.000000", "0", "0"),
            (0x3f80_0000, "1.000000", "0x3f800000", "1.000000"),
            (0x8000_0000, "-0.000000", "0x80000000", "-0.000000"),
            (0xffff_ffff, "-1.#QNAN0", "-1", "-1"),
            (0xffc0_0000, "-1.#IND00", "0xffc00000", "0xffc00000"),
            (10_001, "0.000000", "0x00002711", "0x00002711"),
            (0x3c00_0000, "0.007812", "0x3c000000", "0.007812"),
            (0x4f00_0000, "2147483648.000000", "0x4f000000", "2147483648.000000"),
        ] {
            assert_eq!(text(value, ImmediateFormat::Float, Dialect::Fxc), float);
            assert_eq!(text(value, ImmediateFormat::Integer, Dialect::Fxc), integer);
            assert_eq!(text(value, ImmediateFormat::Guessed, Dialect::Fxc), guessed);
        }
    }

    #[test]
    fn six_digits_are_those_of_the_standard_library() {
        let ours = |bits: u32| {
            let mut out = String::new();
            write_six_digits(&mut out, f32::from_bits(bits));
            out
        };
        let edges = (0..=u32::from(u8::MAX)).flat_map(|exponent| {
            let of = move |fraction: u32| [exponent << 23 | fraction, 1 << 31 | exponent << 23 | fraction];
            [0, 1, 0x40_0000, 0x7f_ffff].into_iter().flat_map(of)
        });
        // A Lehmer random number generator.
        let random = (0..200_000).scan(1u64, |state, _| {
            *state = *state * 48_271 % 0x7fff_ffff;
            u32::try_from(*state << 1 & 0xffff_ffff).ok()
        });
        // In between, values half-way between two texts.
        let ties = (1..4_096u16).map(|number| (f32::from(number) / 128.0 / 1_024.0).to_bits());
        for bits in edges.chain(random).chain(ties).filter(|bits| f32::from_bits(*bits).is_finite()) {
            assert_eq!(ours(bits), alloc::format!("{:.6}", f32::from_bits(bits)), "{bits:#x}");
        }
    }

    #[test]
    fn exactly() {
        assert_eq!(text(0x3f80_0000, ImmediateFormat::Float, Dialect::Exact), "1.000000");
        assert_eq!(text(0x3eaa_aaab, ImmediateFormat::Float, Dialect::Exact), "0.33333334");
        assert_eq!(text(5, ImmediateFormat::Float, Dialect::Exact), "7e-45");
        assert_eq!(text(0x7f80_0000, ImmediateFormat::Float, Dialect::Exact), "0x7f800000");
    }
}
