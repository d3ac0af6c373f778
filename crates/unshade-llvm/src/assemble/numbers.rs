//! Numbers of a text as constants hold them: integers of any width, and floating-point numbers.

use super::error::Parsed;
use super::lexer::{Token, digit, parse_u64};
use super::parser::Parser;
use crate::constants::NewConstant;
use crate::ids::{TypeId, ValueId};
use crate::rules::{extend_sign, wide_integer};
use crate::types::Type;
use alloc::vec;
use alloc::vec::Vec;

impl Parser<'_> {
    /// Parses an integer as words of `width` bits in total, least significant first; unused bits repeat the sign.
    pub(super) fn integer_words(&mut self, width: u32) -> Parsed<Vec<u64>> {
        let size = width.div_ceil(64).max(1) as usize;
        let mut words = match self.token {
            Token::Integer(text) => decimal_words(text, size),
            Token::Hexadecimal(text) if matches!(text.first(), Some(b'u' | b's')) => {
                hexadecimal_words(text, size)
            }
            Token::Word(b"true") => vec![1; 1],
            Token::Word(b"false") => vec![0; 1],
            _ => return self.fault("expected an integer"),
        };
        words.resize(size, 0);
        self.advance();
        extend_sign(&mut words, width);
        Ok(words)
    }

    /// Parses an integer constant of type `ty`.
    pub(super) fn integer(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let Type::Integer(width) = self.module.types.get(ty) else {
            let message = alloc::format!("integer constant of type '{}'", self.shown_type(ty));
            return self.fault(message);
        };
        if let (Token::Integer(text), 1..=64) = (self.token, width)
            && let Some(word) = small_integer(text)
        {
            self.advance();
            let mut words = [word];
            extend_sign(&mut words, width);
            return Ok(self.integer_constant(ty, width, &words));
        }
        let words = self.integer_words(width)?;
        Ok(self.integer_constant(ty, width, &words))
    }

    /// Returns an integer constant; its words repeat the sign in unused bits.
    fn integer_constant(&mut self, ty: TypeId, width: u32, words: &[u64]) -> ValueId {
        if words.iter().all(|&word| word == 0) {
            return self.constant(ty, &NewConstant::Null);
        }
        match words {
            &[word] => self.constant(ty, &NewConstant::Integer(word)),
            words => self.constant(ty, &NewConstant::WideInteger(&wide_integer(words, width))),
        }
    }

    /// Parses a floating-point constant of type `ty`.
    pub(super) fn float(&mut self, ty: TypeId) -> Parsed<ValueId> {
        let of = self.module.types.get(ty);
        let bits = match self.token {
            Token::Float(text) => self.decimal_float(text, of)?,
            Token::Hexadecimal(text) => self.hexadecimal_float(text, of)?,
            _ => return self.fault("expected a floating-point number"),
        };
        self.advance();
        let new = match bits.as_slice() {
            [0] | [0, 0] => NewConstant::Null,
            &[bits] => NewConstant::Float(bits),
            words => NewConstant::WideFloat(words),
        };
        Ok(self.constant(ty, &new))
    }

    fn decimal_float(&self, text: &[u8], of: Type) -> Parsed<Vec<u64>> {
        let Some(number) = core::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) else {
            return self.fault("malformed floating-point number");
        };
        self.narrowed(number.to_bits(), of)
    }

    /// Returns the bits of a `double` as a number of another type that can hold it exactly.
    fn narrowed(&self, bits: u64, of: Type) -> Parsed<Vec<u64>> {
        let narrowed = match of {
            Type::Double => Some(bits),
            Type::Float => narrow_float(bits, 8, 23),
            Type::Half => narrow_float(bits, 5, 10),
            Type::BFloat => narrow_float(bits, 8, 7),
            _ => None,
        };
        match narrowed {
            Some(bits) => Ok(vec![bits]),
            None => self.fault("floating-point constant is invalid for its type"),
        }
    }

    fn hexadecimal_float(&self, text: &[u8], of: Type) -> Parsed<Vec<u64>> {
        let digits = |text: &[u8]| {
            let next = |value: u64, &byte: &u8| {
                let value = value.checked_mul(16)?;
                Some(value | u64::from(digit(byte)?))
            };
            text.iter().try_fold(0u64, next)
        };
        let (prefix, rest) = text.split_at_checked(3).unwrap_or((text, &[]));
        let split = |at: usize| {
            // Numbers with fewer digits than the first part have only the second.
            let (first, second) = if rest.len() < at { (&[][..], rest) } else { rest.split_at_checked(at)? };
            (second.len() <= 16).then_some(())?;
            Some((digits(first)?, digits(second)?))
        };
        let words = match (prefix, of) {
            (b"0xK", Type::X86Fp80) => split(4).map(|(top, low)| vec![top << 48 | low >> 16, low & 0xFFFF]),
            (b"0xL", Type::Fp128) | (b"0xM", Type::PpcFp128) => split(16).map(|(low, high)| vec![low, high]),
            (b"0xH", Type::Half) | (b"0xR", Type::BFloat) if rest.len() <= 4 => {
                digits(rest).map(|bits| vec![bits])
            }
            _ => match text.strip_prefix(b"0x").and_then(digits) {
                Some(bits) => return self.narrowed(bits, of),
                None => None,
            },
        };
        match words {
            Some(words) => Ok(words),
            None => self.fault("hexadecimal floating-point constant is invalid for its type"),
        }
    }
}

/// Returns a decimal integer of at most 64 bits, negative ones as two's complement.
fn small_integer(text: &[u8]) -> Option<u64> {
    match text.split_first() {
        Some((b'-', digits)) => parse_u64(digits).map(u64::wrapping_neg),
        Some((b'+', digits)) => parse_u64(digits),
        _ => parse_u64(text),
    }
}

/// Returns the words of a decimal integer, negative ones as two's complement of `size` words.
pub(super) fn decimal_words(text: &[u8], size: usize) -> Vec<u64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        Some((b'+', digits)) => (false, digits),
        _ => (false, text),
    };
    let mut words = match parse_u64(digits) {
        Some(word) => vec![word],
        None => wide_words(digits, size),
    };
    words.resize(size, 0);
    if negative {
        let mut carry = true;
        for word in &mut words {
            let (negated, overflow) = (!*word).overflowing_add(u64::from(carry));
            (*word, carry) = (negated, overflow);
        }
    }
    words
}

/// Returns the lowest `size` words of a decimal number.
fn wide_words(digits: &[u8], size: usize) -> Vec<u64> {
    let mut words = vec![0u64; size];
    for chunk in digits.chunks(18) {
        let scale = chunk.iter().fold(1u64, |scale, _| scale.wrapping_mul(10));
        let mut carry = u128::from(parse_u64(chunk).unwrap_or(0));
        for word in &mut words {
            let product = u128::from(*word) * u128::from(scale) + carry;
            (*word, carry) = (product as u64, product >> 64);
        }
    }
    words
}

/// Returns the words of `u0x…` or `s0x…`. The latter repeats the highest bit that is set, so it is never positive.
pub(super) fn hexadecimal_words(text: &[u8], size: usize) -> Vec<u64> {
    let digits = text.get(3..).unwrap_or_default();
    let mut words = vec![0u64; size];
    for (at, value) in digits.iter().rev().filter_map(|&byte| digit(byte)).enumerate() {
        if let Some(word) = words.get_mut(at / 16) {
            *word |= u64::from(value) << (at % 16 * 4);
        }
    }
    if text.first() == Some(&b's') {
        let values = digits.iter().filter_map(|&byte| digit(byte));
        let active = values.fold(0, |bits, value| match bits {
            0 => (u8::BITS - value.leading_zeros()) as usize,
            bits => bits + 4,
        });
        for bit in (active..size * 64).filter(|_| active > 0) {
            if let Some(word) = words.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }
    words
}

/// Returns the bits of a `double` as a smaller number with so many exponent and mantissa bits, if that is exact.
fn narrow_float(bits: u64, exponent_bits: u32, mantissa_bits: u32) -> Option<u64> {
    let sign = (bits >> 63) << (exponent_bits + mantissa_bits);
    let exponent = (bits >> 52 & 0x7FF) as i64;
    let mantissa = bits & ((1 << 52) - 1);
    let dropped = 52 - mantissa_bits;
    let largest = (1i64 << exponent_bits) - 1;
    if exponent == 0x7FF {
        // Infinities, and what is not a number with its payload.
        let exact = mantissa & ((1 << dropped) - 1) == 0;
        return exact.then_some(sign | (largest as u64) << mantissa_bits | mantissa >> dropped);
    }
    if exponent == 0 && mantissa == 0 {
        return Some(sign);
    }
    let unbiased = exponent - 1023 + (largest >> 1);
    if exponent == 0 || unbiased >= largest {
        return None;
    }
    if unbiased > 0 {
        let exact = mantissa & ((1 << dropped) - 1) == 0;
        return exact.then_some(sign | (unbiased as u64) << mantissa_bits | mantissa >> dropped);
    }
    // Subnormal: the leading one becomes a bit of the mantissa.
    let shift = i64::from(dropped) + 1 - unbiased;
    let full = mantissa | 1 << 52;
    let shift = u32::try_from(shift).ok().filter(|&shift| shift < 64)?;
    (full & ((1 << shift) - 1) == 0).then_some(sign | full >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats() {
        for number in [0.0f32, -0.0, 1.0, 0.1, 1e-45, 1.1754942e-38, f32::MAX, f32::INFINITY, -1.5e-40] {
            assert_eq!(
                narrow_float(f64::from(number).to_bits(), 8, 23),
                Some(u64::from(number.to_bits())),
                "{number}"
            );
        }
        assert_eq!(narrow_float(0.1f64.to_bits(), 8, 23), None);
        assert_eq!(narrow_float(1e300f64.to_bits(), 8, 23), None);
        assert_eq!(narrow_float(1.0f64.to_bits(), 5, 10), Some(0x3C00));
        assert_eq!(narrow_float(5.960_464_477_539_063e-8f64.to_bits(), 5, 10), Some(1));
    }

    #[test]
    fn integers() {
        assert_eq!(decimal_words(b"-1", 2), [u64::MAX, u64::MAX]);
        assert_eq!(decimal_words(b"18446744073709551616", 2), [0, 1]);
        assert_eq!(decimal_words(b"340282366920938463463374607431768211455", 2), [u64::MAX, u64::MAX]);
        assert_eq!(hexadecimal_words(b"s0xF0", 1), [u64::MAX - 15]);
        let mut words = [255];
        extend_sign(&mut words, 8);
        assert_eq!(words, [u64::MAX]);
    }
}
