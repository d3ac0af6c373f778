//! An attempt to match a text with one encoding.

use alloc::format;
use alloc::vec::Vec;

use super::Furthest;
use crate::print;
use crate::table::{Field, INVALID, Isa, Piece};

/// The bits fixed so far.
#[derive(Clone, Copy)]
pub(super) struct Bits {
    pub mask: u128,
    pub value: u128,
}

impl Bits {
    /// Adds a field's value; `None` if it contradicts bits fixed before.
    pub(super) fn with(self, field: &Field, number: u64) -> Option<Self> {
        let mask = field.placed(u64::MAX);
        let value = field.placed(number);
        let common = self.mask & mask;
        (self.value & common == value & common)
            .then_some(Self { mask: self.mask | mask, value: self.value | value })
    }

    /// Adds the zero register, whose text is also that of the number `plus` before it, to which `plus` is added.
    pub(super) fn with_zero(self, field: &Field, zero: u64, plus: u64) -> Option<Self> {
        self.with(field, zero).or_else(|| self.with(field, zero.wrapping_sub(plus)))
    }
}

/// An attempt to match the text with one encoding.
pub(super) struct Attempt<'a> {
    pub isa: &'static Isa,
    pub text: &'a str,
    pub address: u64,
    /// The word that the text was printed from, or 0.
    pub kept: u128,
    pub furthest: &'a mut Furthest,
    pub steps: u32,
}

/// The maximum number of matching steps per encoding.
const MAX_STEPS: u32 = 20_000;

impl<'a> Attempt<'a> {
    pub(super) fn pieces(&mut self, pieces: &[Piece], at: usize, bits: Bits) -> Option<Bits> {
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS {
            return None;
        }
        let Some((piece, rest)) = pieces.split_first() else {
            let end = self.skip(at);
            if end == self.text.len() {
                return Some(bits);
            }
            self.furthest.expected(end, "");
            return None;
        };
        match *piece {
            Piece::Mnemonic(text) | Piece::Text(text) => {
                let next = self.literal(self.isa.text(text), at)?;
                self.pieces(rest, next, bits)
            }
            Piece::Modifier(index) => {
                let field = self.isa.fields.get(usize::from(index))?;
                self.modifier(field, at, bits, |attempt, next, bits| attempt.pieces(rest, next, bits))
            }
            Piece::Operand(index) => {
                let operand = self.isa.operands.get(usize::from(index))?;
                self.operand(operand, at, bits, |attempt, next, bits| attempt.pieces(rest, next, bits))
            }
        }
    }

    pub(super) fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or("")
    }

    pub(super) fn skip(&self, at: usize) -> usize {
        let rest = self.rest(at);
        at.saturating_add(rest.len()).saturating_sub(rest.trim_start().len())
    }

    /// Matches literal text; a space in it matches any white space.
    pub(super) fn literal(&mut self, literal: &str, at: usize) -> Option<usize> {
        let mut position = at;
        for character in literal.chars() {
            if character == ' ' {
                position = self.skip(position);
                continue;
            }
            if character == ',' {
                position = self.skip(position);
            }
            if !self.rest(position).starts_with(character) {
                self.furthest.expected(position, &format!("'{}'", literal.trim()));
                return None;
            }
            position = position.saturating_add(character.len_utf8());
        }
        Some(position)
    }

    /// Tries each spelling that matches, longest first, until the rest of the text matches too.
    pub(super) fn modifier(
        &mut self,
        field: &Field,
        at: usize,
        bits: Bits,
        mut follow: impl FnMut(&mut Self, usize, Bits) -> Option<Bits>,
    ) -> Option<Bits> {
        let modifier = self.isa.modifiers.get(usize::from(field.modifier))?;
        let start = usize::from(field.order);
        let count = 1_usize.checked_shl(u32::from(field.width))?;
        let order = self.isa.orders.get(start..start.checked_add(count)?)?;
        let mut fitting: Vec<(usize, u64)> = Vec::new();
        for (number, value) in (0_u64..).zip(order).filter(|entry| *entry.1 != INVALID) {
            let spelling = modifier.values.get(usize::from(*value)).map_or("", |value| value.1);
            if let Some(length) = self.spelled(spelling, at) {
                fitting.push((length, number));
            }
            if !spelling.trim().is_empty() {
                self.furthest.expected(at, spelling.trim());
            }
        }
        fitting.sort_by_key(|entry| core::cmp::Reverse(entry.0));
        for (length, number) in fitting {
            let found =
                bits.with(field, number).and_then(|bits| follow(self, at.saturating_add(length), bits));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Returns the length of a spelling if it matches as a whole word.
    fn spelled(&self, spelling: &str, at: usize) -> Option<usize> {
        let rest = self.rest(at);
        let after = rest.strip_prefix(spelling)?;
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let is_whole = !spelling.ends_with(is_word) || !after.starts_with(is_word);
        // Two-letter spellings without a dot may be followed by another one directly.
        (is_whole || spelling.len() == 2 && !spelling.starts_with('.')).then_some(spelling.len())
    }

    pub(super) fn field(&self, part: u16) -> Option<&'static Field> {
        self.isa.fields.get(usize::from(part))
    }

    /// Sets a field to a value, or records the expectation if the value does not fit.
    pub(super) fn put(&mut self, part: u16, value: i64, at: usize, bits: Bits) -> Option<Bits> {
        let field = self.field(part)?;
        let shift = u32::from(field.shift);
        let raw = value.wrapping_shr(shift);
        if raw.wrapping_shl(shift) != value {
            self.furthest.expected(at, &format!("a multiple of {:#x}", 1_u64.wrapping_shl(shift)));
            return None;
        }
        let unused = 64_u32.saturating_sub(u32::from(field.width));
        let kept = if field.signed {
            raw.wrapping_shl(unused).wrapping_shr(unused)
        } else {
            raw.cast_unsigned().wrapping_shl(unused).wrapping_shr(unused).cast_signed()
        };
        if kept != raw {
            let sign = if field.signed { "signed" } else { "unsigned" };
            self.furthest.expected(at, &format!("a {sign} {}-bit number", field.width));
            return None;
        }
        bits.with(field, raw.cast_unsigned())
    }

    /// Sets the encoded upper bits of a floating-point number; the lower ones must be zero.
    pub(super) fn put_bits(&mut self, part: u16, number: u64, at: usize, bits: Bits) -> Option<Bits> {
        let field = self.field(part)?;
        let raw = number.wrapping_shr(u32::from(field.shift));
        if raw.wrapping_shl(u32::from(field.shift)) != number {
            self.furthest.expected(at, &format!("a number whose lowest {} bits are zero", field.shift));
            return None;
        }
        bits.with(field, raw)
    }

    pub(super) fn flag(&mut self, part: u16, set: bool, bits: Bits) -> Option<Bits> {
        match self.field(part) {
            Some(field) => bits.with(field, u64::from(set)),
            None => (!set).then_some(bits),
        }
    }

    pub(super) fn strip(&self, text: &str, at: usize) -> Option<usize> {
        self.rest(at).starts_with(text).then(|| at.saturating_add(text.len()))
    }

    /// Returns the end of an expression that a linker inserts, and the number before that: the addend.
    pub(super) fn inserted(&self, at: usize) -> Option<(usize, i64)> {
        print::inserted_expression(self.rest(at)).map(|(length, addend)| (at.saturating_add(length), addend))
    }

    pub(super) fn integer(&mut self, at: usize) -> Option<(usize, i64)> {
        let negative = self.strip("-", at);
        let position = negative.unwrap_or(at);
        let Some(position) = self.strip("0x", position) else {
            self.furthest.expected(at, "a hexadecimal number");
            return None;
        };
        let rest = self.rest(position);
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let value = u64::from_str_radix(rest.get(..digits)?, 16).ok()?.cast_signed();
        let value = if negative.is_some() { value.wrapping_neg() } else { value };
        Some((position.saturating_add(digits), value))
    }
}
