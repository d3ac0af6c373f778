//! Immediate values as text.
//!
//! FXC writes floats with six digits after the point, whatever is lost. Integers up to ten thousand are decimal,
//! others hexadecimal. Values of no known type are shown as integers if they look so, else as floats, but
//! denormals, infinities and what is no number in hexadecimal. Text that is to be assembled again has as many digits
//! as are needed instead.

use super::Dialect;
use alloc::string::String;
use core::fmt::Write;

/// How the values of an operand are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    Float,
    Integer,
    Guessed,
}

impl Looks {
    /// Those of an operand's letter.
    pub(crate) fn of(letter: u8) -> Self {
        match letter {
            b'f' => Self::Float,
            b'm' | b'd' => Self::Guessed,
            _ => Self::Integer,
        }
    }
}

/// The greatest magnitude that is written in decimal.
const DECIMAL: i32 = 10_000;

pub(crate) fn write_value(out: &mut String, value: u32, looks: Looks, dialect: Dialect) {
    match looks {
        Looks::Float => write_float(out, value, dialect),
        Looks::Integer => write_integer(out, value),
        Looks::Guessed => {
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
    // Writing to a string can't fail.
    let _ = if (-DECIMAL..=DECIMAL).contains(&number) {
        write!(out, "{number}")
    } else {
        write!(out, "0x{value:08x}")
    };
}

/// What the C library of FXC writes for what is no finite number.
fn special(is_infinite: bool, is_negative: bool, is_indefinite: bool) -> &'static str {
    match (is_infinite, is_negative) {
        (true, false) => "1.#INF00",
        (true, true) => "-1.#INF00",
        (false, false) => "1.#QNAN0",
        (false, true) if is_indefinite => "-1.#IND00",
        (false, true) => "-1.#QNAN0",
    }
}

/// What the default result of an operation that has none looks like.
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
    // In the other dialect these may not be denormals, which FXC flushes: both print alike.
    let _ = write!(out, "{value:.6}");
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

    fn text(value: u32, looks: Looks, dialect: Dialect) -> String {
        let mut out = String::new();
        write_value(&mut out, value, looks, dialect);
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
            assert_eq!(text(value, Looks::Float, Dialect::Fxc), float);
            assert_eq!(text(value, Looks::Integer, Dialect::Fxc), integer);
            assert_eq!(text(value, Looks::Guessed, Dialect::Fxc), guessed);
        }
    }

    #[test]
    fn exactly() {
        assert_eq!(text(0x3f80_0000, Looks::Float, Dialect::Exact), "1.000000");
        assert_eq!(text(0x3eaa_aaab, Looks::Float, Dialect::Exact), "0.33333334");
        assert_eq!(text(5, Looks::Float, Dialect::Exact), "7e-45");
        assert_eq!(text(0x7f80_0000, Looks::Float, Dialect::Exact), "0x7f800000");
    }
}
