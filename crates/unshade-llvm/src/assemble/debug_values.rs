//! Parses the values of fields of debug info: numbers, booleans, and the names of DWARF constants and flags.

use super::error::Parsed;
use super::lexer::{Token, parse_u64};
use super::numbers::{decimal_words, hexadecimal_words};
use super::parser::{Parser, shown};
use crate::constants::NewConstant;
use crate::dwarf::{self, Names};
use crate::ids::{TypeId, ValueId};
use crate::types::Type;
use alloc::string::String;
use alloc::vec::Vec;

/// The largest number of digits of an integer of any width.
const MAX_DIGITS: usize = 4096;

/// An integer in the width that it needs.
pub(super) struct WrittenInteger {
    /// Whether its highest bit is a sign: it is written with `-` or as `s0x…`.
    pub(super) signed: bool,
    /// The number of bits.
    pub(super) width: u32,
    /// Its words, least significant first; signed ones repeat the sign in unused bits.
    words: Vec<u64>,
}

impl WrittenInteger {
    /// Returns the words that a file stores: those up to the last that is not zero, without the sign in unused bits.
    pub(super) fn stored(&self) -> Vec<u64> {
        let mut words = self.words.clone();
        words.truncate(self.width.div_ceil(64) as usize);
        if let (Some(last), used @ 1..) = (words.last_mut(), self.width % 64) {
            *last &= (1 << used) - 1;
        }
        while words.len() > 1 && words.last() == Some(&0) {
            words.pop();
        }
        words
    }

    /// Returns whether the highest bit of an enumerator is set, by its numbers: bits, width, words.
    pub(super) fn is_negative(numbers: &[u64]) -> bool {
        let Some(highest) = numbers.get(1).and_then(|width| width.checked_sub(1)) else { return false };
        let word = usize::try_from(highest / 64).ok().and_then(|at| numbers.get(at.saturating_add(2)));
        word.is_some_and(|word| word >> (highest % 64) & 1 != 0)
    }

    fn u64(&self) -> Option<u64> {
        let (&low, high) = self.words.split_first()?;
        high.iter().all(|&word| word == 0).then_some(low)
    }

    fn i64(&self) -> Option<i64> {
        if self.signed {
            let (&low, high) = self.words.split_first()?;
            let sign = if low >> 63 != 0 { u64::MAX } else { 0 };
            return high.iter().all(|&word| word == sign).then_some(low as i64);
        }
        i64::try_from(self.u64()?).ok()
    }
}

impl Parser<'_> {
    /// Parses an integer of any width.
    pub(super) fn written_integer(&mut self, expected: &str) -> Parsed<WrittenInteger> {
        let text = match self.token {
            Token::Integer(text) => text,
            Token::Hexadecimal(text) if matches!(text, [b'u' | b's', ..]) && text.len() > 3 => text,
            _ => return self.fault(expected),
        };
        if text.len() > MAX_DIGITS {
            return self.fault(alloc::format!("an integer of more than {MAX_DIGITS} digits"));
        }
        let size = text.len().div_ceil(16) + 1;
        let is_hexadecimal = matches!(text.first(), Some(b'u' | b's'));
        let mut words =
            if is_hexadecimal { hexadecimal_words(text, size) } else { decimal_words(text, size) };
        let signed = matches!(text.first(), Some(b'-' | b's'));
        let width = if is_hexadecimal || !signed {
            if signed {
                // The sign is the highest bit that is set.
                words = hexadecimal_words(&[b"u", text.get(1..).unwrap_or_default()].concat(), size);
            }
            let width = active_bits(&words).max(1);
            if signed {
                fill_above(&mut words, width);
            }
            width
        } else {
            let inverted: Vec<u64> = words.iter().map(|word| !word).collect();
            if words.last().is_some_and(|word| word >> 63 != 0) { active_bits(&inverted) + 1 } else { 1 }
        };
        self.advance();
        Ok(WrittenInteger { signed, width, words })
    }

    /// Parses an unsigned number of at most `limit`.
    pub(super) fn limited(&mut self, label: &str, limit: u64) -> Parsed<u64> {
        let at = self.at;
        let number = match self.token {
            // Most numbers are short.
            Token::Integer(text) if text.len() < 19 && text.first() != Some(&b'-') => {
                self.advance();
                parse_u64(text)
            }
            Token::Integer([b'0'..=b'9', ..]) | Token::Hexadecimal([b'u', ..]) => {
                self.written_integer("expected an unsigned integer")?.u64()
            }
            _ => return self.fault("expected an unsigned integer"),
        };
        match number.filter(|&number| number <= limit) {
            Some(number) => Ok(number),
            None => {
                self.fault_at(at, alloc::format!("value for '{label}' is too large, the limit is {limit}"))
            }
        }
    }

    /// Parses a signed number within limits, and returns it as two's complement.
    pub(super) fn signed(&mut self, label: &str, least: i64, most: i64) -> Parsed<u64> {
        let at = self.at;
        let number = self.written_integer("expected a signed integer")?;
        match number.i64().filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(number as u64),
            None => self.fault_at(at, alloc::format!("value for '{label}' is not from {least} to {most}")),
        }
    }

    /// Parses `true` or `false`.
    pub(super) fn boolean(&mut self) -> Parsed<bool> {
        match self.eat_one_of(&["false", "true"]) {
            Some(at) => Ok(at == 1),
            None => self.fault("expected 'true' or 'false'"),
        }
    }

    /// Parses the name of a DWARF constant.
    pub(super) fn dwarf_name(&mut self, names: Names, word: &[u8]) -> Parsed<u64> {
        let is_known = |number: &u32| !self.version.has_typed_pointers() || !dwarf::is_later(word, *number);
        match dwarf::number_before_22(names, word).filter(is_known) {
            Some(number) => {
                self.advance();
                Ok(u64::from(number))
            }
            None => self.fault(alloc::format!("unknown DWARF constant '{}'", shown(word))),
        }
    }

    /// Parses the name of a DWARF constant, or its number.
    pub(super) fn named_number(&mut self, label: &str, names: Names, limit: u64) -> Parsed<u64> {
        match self.token {
            Token::Word(word) => self.dwarf_name(names, word),
            _ => self.limited(label, limit),
        }
    }

    /// Parses a word of a list, or its number if that may be written.
    pub(super) fn word_number(&mut self, label: &str, words: &[&str], or_number: bool) -> Parsed<u64> {
        if or_number && matches!(self.token, Token::Integer(_) | Token::Hexadecimal(_)) {
            return self.limited(label, words.len().saturating_sub(1) as u64);
        }
        match self.eat_one_of(words) {
            Some(at) => Ok(at as u64),
            None => {
                let known: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
                let known: String = known.join(", ");
                self.fault(alloc::format!("invalid '{label}': expected one of {known}"))
            }
        }
    }

    /// Parses `DIFlagA | DIFlagB`.
    pub(super) fn flags(&mut self) -> Parsed<u64> {
        self.flag_words(|word| {
            let of_field = |names: &[&str; 4], shift: u32| {
                let at = names.iter().position(|name| !name.is_empty() && name.as_bytes() == word)?;
                Some((at as u32) << shift)
            };
            let (both, name) = dwarf::DI_INDIRECT_VIRTUAL_BASE;
            of_field(&dwarf::DI_ACCESS, 0)
                .or_else(|| of_field(&dwarf::DI_INHERITANCE, 16))
                .or_else(|| (name.as_bytes() == word).then_some(both))
                .or_else(|| dwarf::number(dwarf::DI_FLAGS_BEFORE_22, word))
        })
    }

    /// Parses `DISPFlagA | DISPFlagB`.
    pub(super) fn subprogram_flags(&mut self) -> Parsed<u64> {
        self.flag_words(|word| dwarf::number(dwarf::SUBPROGRAM_FLAGS, word))
    }

    fn flag_words(&mut self, number_of: impl Fn(&[u8]) -> Option<u32>) -> Parsed<u64> {
        let mut flags = 0;
        loop {
            flags |= match self.token {
                Token::Word(word) => match number_of(word) {
                    Some(flag) => {
                        self.advance();
                        u64::from(flag)
                    }
                    None => return self.fault(alloc::format!("unknown flag '{}'", shown(word))),
                },
                _ => self.limited("flags", u64::from(u32::MAX))?,
            };
            if !self.eat(b'|') {
                return Ok(flags);
            }
        }
    }

    /// Returns an `i64` constant.
    pub(super) fn long_constant(&mut self, number: u64) -> (TypeId, ValueId) {
        let ty = self.module.types.intern(Type::Integer(64));
        let new = if number == 0 { NewConstant::Null } else { NewConstant::Integer(number) };
        (ty, self.constant(ty, &new))
    }
}

/// Returns the number of bits up to the highest that is set.
fn active_bits(words: &[u64]) -> u32 {
    let highest = words.iter().rposition(|&word| word != 0);
    let bits = |at: usize| words.get(at).map_or(0, |word| 64 - word.leading_zeros());
    highest.map_or(0, |at| u32::try_from(at * 64).unwrap_or(u32::MAX).saturating_add(bits(at)))
}

/// Sets all bits from `width` on.
fn fill_above(words: &mut [u64], width: u32) {
    for (at, word) in (0u32..).zip(words) {
        let start = at.saturating_mul(64);
        *word |= match width.checked_sub(start) {
            None | Some(0) => u64::MAX,
            Some(below) => u64::MAX.checked_shl(below).unwrap_or(0),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!(active_bits(&[0, 1, 0]), 65);
        assert_eq!(active_bits(&[0]), 0);
        let mut words = [3, 0];
        fill_above(&mut words, 2);
        assert_eq!(words, [u64::MAX, u64::MAX]);
    }
}
