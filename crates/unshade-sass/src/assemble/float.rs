//! Floating-point numbers in the text of an instruction.

use super::attempt::Attempt;
use crate::table::{Kind, Operand};
use unshade_core::half::half_to_double;

impl Attempt<'_> {
    /// The text does not show the payload of a NaN: use that of the original word if it is a NaN of the same sign.
    pub(super) fn with_payload(&self, operand: &Operand, number: u64) -> u64 {
        let Some(field) = self.field(operand.value) else { return number };
        let old = field.value(self.kept).cast_unsigned();
        let (exponent, sign) = match operand.kind {
            Kind::Float64 => (0x7ff_u64 << 52, 1_u64 << 63),
            Kind::Float16 => (0x1f << 10, 1 << 15),
            _ => (0xff << 23, 1 << 31),
        };
        let is_nan = |bits: u64| bits & exponent == exponent && bits & !exponent & !sign != 0;
        let quiet = (exponent >> 1) & !exponent;
        let same =
            (old ^ number) & sign == 0 && (operand.kind != Kind::Float64 || (old ^ number) & quiet == 0);
        if is_nan(number) && is_nan(old) && same { old } else { number }
    }

    /// Matches a floating-point number; returns its bits, including those that are not encoded.
    pub(super) fn float(&mut self, operand: &Operand, at: usize) -> Option<(usize, u64)> {
        let rest = self.rest(at);
        let special = ["+INF", "-INF", "+QNAN", "-QNAN", "+SNAN", "-SNAN"]
            .into_iter()
            .find(|name| rest.starts_with(name));
        let (length, value) = match special {
            Some(name) => (name.len(), special_float(name)),
            None => {
                let part = |(index, byte): (usize, u8)| {
                    let before = index.checked_sub(1).and_then(|index| rest.as_bytes().get(index)).copied();
                    byte.is_ascii_digit()
                        || byte == b'.'
                            && rest.as_bytes().get(index.saturating_add(1)).is_some_and(u8::is_ascii_digit)
                        || byte == b'e'
                        || matches!(byte, b'+' | b'-') && (index == 0 || before == Some(b'e'))
                };
                let length = rest.bytes().enumerate().take_while(|entry| part(*entry)).count();
                match rest.get(..length)?.parse::<f64>() {
                    Ok(value) => (length, value),
                    Err(_) => {
                        self.furthest.expected(at, "a number");
                        return None;
                    }
                }
            }
        };
        let bits = match operand.kind {
            Kind::Float64 => value.to_bits(),
            Kind::Float16 => u64::from(half_bits(value)?),
            _ => u64::from(single_bits(value)),
        };
        // Infinities, NaNs and minus zero have a trailing space, even before a modifier.
        let space = rest.get(length..).is_some_and(|rest| rest.starts_with(" ."));
        Some((at.saturating_add(length).saturating_add(usize::from(space)), bits))
    }
}

fn special_float(name: &str) -> f64 {
    let sign = u64::from(name.starts_with('-')).wrapping_shl(63);
    let magnitude = match name.get(1..) {
        Some("INF") => 0x7ff0 << 48,
        Some("SNAN") => 0x7ff4 << 48,
        _ => 0x7ff8 << 48,
    };
    f64::from_bits(sign | magnitude)
}

/// Rounds to the nearest single. NaNs keep their sign only.
fn single_bits(value: f64) -> u32 {
    if value.is_nan() {
        return if value.is_sign_negative() { 0xffc0_0000 } else { 0x7fc0_0000 };
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest single")]
    let single = value as f32;
    single.to_bits()
}

/// Returns the half that is equal to a number, if there is one.
fn half_bits(value: f64) -> Option<u16> {
    (0..=u16::MAX).find(|bits| {
        let half = half_to_double(*bits);
        half.to_bits() == value.to_bits()
            || half.is_nan() && value.is_nan() && half.is_sign_negative() == value.is_sign_negative()
    })
}
