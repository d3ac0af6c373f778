//! Number formatting as in NVIDIA's tools.

use core::fmt::Write;

/// A short text on the stack.
pub(crate) struct ShortText {
    bytes: [u8; 48],
    length: usize,
}

impl ShortText {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; 48], length: 0 }
    }

    /// Returns the text.
    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or("")
    }

    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        if let Some(end) = self.bytes.get_mut(self.length) {
            *end = byte;
            self.length = self.length.saturating_add(1);
        }
    }

    /// Appends hexadecimal digits, at least `least` of them.
    #[inline]
    pub(crate) fn push_digits(&mut self, value: u64, least: u32) {
        let digits = (64_u32.saturating_sub(value.leading_zeros())).div_ceil(4).max(least).max(1);
        for index in (0..digits).rev() {
            let digit = value.wrapping_shr(index.wrapping_mul(4)) & 15;
            self.push(b"0123456789abcdef".get(usize::try_from(digit).unwrap_or(0)).copied().unwrap_or(b'0'));
        }
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        text.bytes().for_each(|byte| self.push(byte));
        Ok(())
    }
}

/// Returns the low and the high half of a word.
#[expect(clippy::cast_possible_truncation, reason = "splits the word in halves")]
pub(crate) fn halves(word: u128) -> [u64; 2] {
    [word as u64, word.wrapping_shr(64) as u64]
}

/// Formats what nvdisasm prints for the last register or predicate of a field where it is not valid: `???255`, `???7`.
pub(crate) fn refused(width: u8) -> ShortText {
    let mut text = ShortText::new();
    let _ = write!(text, "???{}", 1_u64.wrapping_shl(u32::from(width)).wrapping_sub(1));
    text
}

/// Formats a hexadecimal number: `0x10`, `-0x8`.
#[inline]
pub(crate) fn hex(value: i64) -> ShortText {
    let mut text = ShortText::new();
    if value < 0 {
        text.push(b'-');
    }
    text.push(b'0');
    text.push(b'x');
    text.push_digits(value.unsigned_abs(), 1);
    text
}

/// Formats a floating-point number as nvdisasm does: with C's `%.20g`, or `%.20e` from 1e9 on. Infinities, NaNs and minus
/// zero have a trailing space.
pub(crate) fn float(value: f64) -> ShortText {
    let mut text = ShortText::new();
    let sign = if value.is_sign_negative() { "-" } else { "+" };
    // The highest bit of the mantissa is set in quiet NaNs.
    let quiet = value.to_bits() & 1 << 51 != 0;
    let _ = if value.is_nan() {
        write!(text, "{sign}{}NAN ", if quiet { 'Q' } else { 'S' })
    } else if value.is_infinite() {
        write!(text, "{sign}INF ")
    } else if value == 0.0 {
        write!(text, "{}", if value.is_sign_negative() { "-0.0 " } else { "0" })
    } else if value.abs() >= 1e9 {
        scientific(value, &mut text)
    } else {
        general(value, &mut text)
    };
    text
}

/// Formats with `%.20e`.
fn scientific(value: f64, text: &mut ShortText) -> core::fmt::Result {
    let mut digits = ShortText::new();
    write!(digits, "{value:.20e}")?;
    let (mantissa, exponent) = digits.as_str().split_once('e').unwrap_or(("0", "0"));
    write!(text, "{mantissa}e+{exponent:0>2}")
}

/// Formats with `%.20g`, for nonzero numbers below 1e20.
fn general(value: f64, text: &mut ShortText) -> core::fmt::Result {
    // Like C, Rust rounds the exact value: d.ddd…e±x with 20 digits.
    let mut scientific = ShortText::new();
    write!(scientific, "{:.19e}", value.abs())?;
    let (mantissa, exponent) = scientific.as_str().split_once('e').unwrap_or(("0", "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value < 0.0 {
        text.push(b'-');
    }
    let kept = mantissa.trim_end_matches('0').trim_end_matches('.');
    if exponent < -4 {
        return write!(text, "{kept}e-{:02}", exponent.unsigned_abs());
    }
    let mut digits = kept.bytes().filter(u8::is_ascii_digit);
    if exponent < 0 {
        text.write_str("0.")?;
        (1..exponent.unsigned_abs()).for_each(|_| text.push(b'0'));
    } else {
        (0..=exponent).for_each(|_| text.push(digits.next().unwrap_or(b'0')));
        let mut rest = digits.clone().peekable();
        if rest.peek().is_none() {
            return Ok(());
        }
        text.push(b'.');
    }
    digits.for_each(|digit| text.push(digit));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_core::half::half_to_double;

    #[test]
    fn floats_match_printf() {
        for (value, text) in [
            (f64::from(f32::from_bits(1)), "1.4012984643248170709e-45"),
            (f64::from(f32::from_bits(0x3dcd_0000)), "0.10009765625"),
            (10000.0, "10000"),
            (0.5, "0.5"),
            (1e9, "1.00000000000000000000e+09"),
            (999_999_999.0, "999999999"),
            (-2.0, "-2"),
            (-0.0, "-0.0 "),
            (f64::INFINITY, "+INF "),
            (0.0001220703125, "0.0001220703125"),
            (1.52587890625e-5, "1.52587890625e-05"),
            (half_to_double(0x3c00), "1"),
            (half_to_double(1), "5.9604644775390625e-08"),
        ] {
            assert_eq!(float(value).as_str(), text);
        }
        assert_eq!(hex(-0x1f).as_str(), "-0x1f");
    }
}
