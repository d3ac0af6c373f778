//! Decoded instructions.
//!
//! The decoder uses some bits of the word to look up candidate encodings, and takes the first one whose fixed bits
//! match; candidates are sorted from most to least specific. An [`Instruction`] is then just the word and its
//! encoding: fields are extracted on demand, so decoding is cheap.

use alloc::string::String;
use alloc::vec::Vec;

use crate::print;
use crate::table::{Encoding, Field, INVALID, Isa, NONE, Operand, Operation};

/// A word with its encoding.
#[derive(Clone, Copy)]
pub struct Instruction {
    /// The instruction set.
    pub isa: &'static Isa,
    /// Its encoding: the meaning of its bits.
    pub encoding: &'static Encoding,
    /// The word.
    pub word: u128,
}

/// The values of all fields of an instruction, in the order of the encoding's fields, and its unused bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Raw values, neither shifted nor sign-extended.
    pub values: Vec<u64>,
    /// Bits without a meaning, in their position.
    pub ignored: u128,
}

impl Instruction {
    /// Decodes a word; `None` if no encoding matches.
    pub fn decode(isa: &'static Isa, word: u128) -> Option<Self> {
        let encoding = encodings(isa, word).next()?;
        let instruction = Self { isa, encoding, word };
        (!encoding.checked || instruction.has_valid_modifiers()).then_some(instruction)
    }

    /// Decodes a word into which a linker inserts a number, by the number's lowest bit; `None` if no encoding matches.
    /// Encodings for which that number must be zero do not count: they are special cases of others.
    pub fn decode_before_linking(isa: &'static Isa, word: u128, lowest_bit: u8) -> Option<Self> {
        let mut found = encodings(isa, word).map(|encoding| Self { isa, encoding, word });
        found.find(|instruction| {
            let mut operands = instruction.operands();
            operands.any(|operand| print::inserted_bit(instruction, operand) == Some(lowest_bit))
                && instruction.has_valid_modifiers()
        })
    }

    fn has_valid_modifiers(&self) -> bool {
        self.fields().all(|field| field.modifier == NONE || self.choice(field).is_some())
    }

    /// Returns the operation.
    pub fn operation(&self) -> &'static Operation {
        static UNKNOWN: Operation = Operation {
            name: "",
            mnemonic: "",
            meaning: "",
            flow: crate::table::Flow::Next,
            program: NONE,
            operands: &[],
            modifiers: &[],
        };
        self.isa.operations.get(usize::from(self.encoding.operation)).unwrap_or(&UNKNOWN)
    }

    /// Returns the fields.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        fields(self.isa, self.encoding)
    }

    /// Returns the operands.
    pub fn operands(&self) -> impl Iterator<Item = &'static Operand> + use<> {
        let isa = self.isa;
        slice(isa.lists, self.encoding.operands)
            .iter()
            .filter_map(|index| isa.operands.get(usize::from(*index)))
    }

    /// Returns the operand in a slot.
    pub fn operand(&self, slot: &str) -> Option<&'static Operand> {
        self.operands().find(|operand| self.isa.text(operand.slot) == slot)
    }

    /// Returns the name of the value of a modifier, by slot: `rz` for `rnd`.
    pub fn modifier(&self, slot: &str) -> Option<&'static str> {
        let field =
            self.fields().find(|field| field.modifier != NONE && self.isa.text(field.slot) == slot)?;
        self.modifier_value(field).map(|value| value.0)
    }

    /// Returns name and spelling of the value that a modifier field selects.
    #[inline]
    pub(crate) fn modifier_value(&self, field: &Field) -> Option<(&'static str, &'static str)> {
        let modifier = self.isa.modifiers.get(usize::from(field.modifier))?;
        modifier.values.get(usize::from(self.choice(field)?)).copied()
    }

    /// Returns the index of the value that a modifier field selects; `None` if its bits are invalid.
    #[inline]
    pub fn choice(&self, field: &Field) -> Option<u16> {
        let index = usize::from(field.order).checked_add(usize::try_from(field.raw(self.word)).ok()?)?;
        self.isa.orders.get(index).copied().filter(|value| *value != INVALID)
    }

    /// Returns a field by its index in the tables.
    #[inline]
    pub(crate) fn field(&self, index: u16) -> Option<&'static Field> {
        self.isa.fields.get(usize::from(index))
    }

    /// Returns the value of a part of an operand, shifted and sign-extended; 0 if the operand does not have this
    /// part.
    #[inline]
    pub fn number(&self, part: u16) -> i64 {
        self.field(part).map_or(0, |field| field.value(self.word))
    }

    /// Returns whether a one-bit part of an operand is set.
    #[inline]
    pub fn flag(&self, part: u16) -> bool {
        part != NONE && self.number(part) != 0
    }

    /// Returns whether an operand's register stays in the cache for the next instruction.
    #[inline]
    pub fn is_reused(&self, operand: &Operand) -> bool {
        let is_enabled = |control: crate::table::Control| {
            self.isa.has_bundles() || bits(self.word, control.r#yield.0, 1) == 1
        };
        operand.reuse != NONE && self.flag(operand.reuse) && self.isa.control.is_some_and(is_enabled)
    }

    /// Returns the values of all fields, from which [`encode`] restores the word.
    pub fn values(&self) -> Fields {
        Fields {
            values: self.fields().map(|field| field.raw(self.word)).collect(),
            ignored: self.word & self.encoding.ignored,
        }
    }

    /// Returns its text at an address, without a semicolon.
    pub fn text(&self, address: u64) -> String {
        let mut text = String::new();
        print::instruction(self, address, &mut text);
        text
    }
}

/// Returns the encodings whose fixed bits match, from most to least specific.
#[inline]
fn encodings(isa: &'static Isa, word: u128) -> impl Iterator<Item = &'static Encoding> {
    let start = isa.buckets.get(isa.bucket(word)).map_or(usize::MAX, |start| usize::from(*start));
    // An index out of range ends the list.
    let candidates = isa.candidates.get(start..).unwrap_or_default().iter();
    candidates
        .map_while(|candidate| isa.encodings.get(usize::from(*candidate)))
        .filter(move |encoding| encoding.matches(word))
}

/// Returns the fields of an encoding.
pub fn fields(isa: &'static Isa, encoding: &Encoding) -> impl Iterator<Item = &'static Field> + use<> {
    slice(isa.lists, encoding.fields).iter().filter_map(|index| isa.fields.get(usize::from(*index)))
}

/// Returns the word with these field values.
pub fn encode(isa: &'static Isa, encoding: &Encoding, values: &Fields) -> u128 {
    let mut word = encoding.value | values.ignored & encoding.ignored;
    for (field, value) in fields(isa, encoding).zip(&values.values) {
        word |= field.placed(*value);
    }
    word
}

impl Isa {
    /// Returns the number in the index bits of a word.
    #[inline]
    pub(crate) fn bucket(&self, word: u128) -> usize {
        let mut bucket = 0_usize;
        let mut at = 0_u32;
        for &(low, count) in self.index {
            bucket |= usize::try_from(bits(word, low, count)).unwrap_or(0).wrapping_shl(at);
            at = at.wrapping_add(u32::from(count));
        }
        bucket
    }

    /// Returns whether the scheduling information of an instruction is in a word before it, with that of others. In this
    /// crate it is in the bits above those of the instruction.
    #[inline]
    pub fn has_bundles(&self) -> bool {
        self.schedule.every != 0 && self.control.is_some()
    }

    /// Returns a string of the tables.
    pub fn text(&self, index: u16) -> &'static str {
        self.texts.get(usize::from(index)).copied().unwrap_or("")
    }

    /// Reads a little-endian word; `None` if there are not enough bytes.
    pub fn word(&self, bytes: &[u8]) -> Option<u128> {
        let bytes = bytes.get(..self.word_bytes)?;
        match bytes.len() {
            16 => bytes.try_into().ok().map(u128::from_le_bytes),
            8 => bytes.try_into().ok().map(|bytes| u128::from(u64::from_le_bytes(bytes))),
            _ => None,
        }
    }
}

impl Field {
    /// Returns the raw value of the field in a word.
    #[inline]
    pub fn raw(&self, word: u128) -> u64 {
        let [first, second, third] = self.ranges;
        let mut number = bits(word, first.0, first.1);
        if second.1 != 0 {
            number |= bits(word, second.0, second.1).wrapping_shl(u32::from(first.1));
            if third.1 != 0 {
                number |= bits(word, third.0, third.1)
                    .wrapping_shl(u32::from(first.1).wrapping_add(u32::from(second.1)));
            }
        }
        number
    }

    /// Returns the value of the field in a word, sign-extended and shifted.
    #[inline]
    pub fn value(&self, word: u128) -> i64 {
        let raw = self.raw(word);
        let extended = if self.signed {
            let unused = 64_u32.saturating_sub(u32::from(self.width));
            raw.wrapping_shl(unused).cast_signed().wrapping_shr(unused)
        } else {
            raw.cast_signed()
        };
        extended.wrapping_shl(u32::from(self.shift))
    }

    /// Returns a word that has this field set, and all other bits zero.
    pub fn placed(&self, number: u64) -> u128 {
        let mut word = 0;
        let mut rest = number;
        for &(low, count) in &self.ranges {
            let part = bits(u128::from(rest), 0, count);
            word |= u128::from(part).wrapping_shl(u32::from(low));
            rest = rest.checked_shr(u32::from(count)).unwrap_or(0);
        }
        word
    }
}

/// Returns `count` bits from bit `low` on, at most 64.
#[inline(always)]
fn bits(word: u128, low: u8, count: u8) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "keeps the lowest 64 bits")]
    let low_part = word.wrapping_shr(u32::from(low)) as u64;
    match 1_u64.checked_shl(u32::from(count)) {
        Some(end) => low_part & end.wrapping_sub(1),
        None => low_part,
    }
}

pub(crate) fn slice<T>(all: &[T], (start, count): (u16, u16)) -> &[T] {
    let start = usize::from(start);
    all.get(start..start.saturating_add(usize::from(count))).unwrap_or(&[])
}
