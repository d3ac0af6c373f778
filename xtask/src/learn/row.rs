//! A learned row: the bits of one form of an operation, and the text that they give.

use std::collections::{BTreeMap, BTreeSet};

use super::text::{Attribute, Attributes, Class, Text};

/// What is known of the words that have some fixed bits.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The fixed bits and their values.
    pub mask: u128,
    pub value: u128,
    /// A word of the row whose text shows as much as possible, and this text.
    pub base: u128,
    pub text: Text,
    /// Registers and integers, and the number of the guard.
    pub numbers: BTreeMap<Attribute, Number>,
    pub floats: BTreeMap<Attribute, Float>,
    pub choices: Vec<Choice>,
    /// Bits that change nothing.
    pub ignored: BTreeSet<u32>,
    pub hidden: Vec<Hidden>,
    /// What the row can't express.
    pub notes: Vec<String>,
}

/// A number: a constant and what each bit adds.
#[derive(Clone, Debug, Default)]
pub(super) struct Number {
    pub constant: i128,
    pub weights: BTreeMap<u32, i128>,
    /// Whether the instruction's address is added.
    pub is_relative: bool,
}

/// A floating-point number: its bits, lowest first.
#[derive(Clone, Debug)]
pub(super) struct Float {
    pub bits: Vec<u32>,
    pub kind: FloatKind,
}

/// The format of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FloatKind {
    Half,
    /// Single precision; bits that are missing are the lowest.
    Single,
    /// Double precision; bits that are missing are the lowest.
    Double,
}

/// Bits with a joint meaning other than a number.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub bits: Vec<u32>,
    /// For each number in the bits, the attributes that differ from the base; `None` if the word is invalid.
    pub values: Vec<Option<Attributes>>,
    /// The suffixes of the base that the choice replaces: first and end.
    pub span: (usize, usize),
    /// For each number, what it replaces them with.
    pub suffixes: Vec<Vec<String>>,
}

/// The sign of an operand that one bit gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignBit {
    pub operand: usize,
    pub mark: char,
    /// Whether the operand has the sign if the bit is 0.
    pub is_inverse: bool,
}

impl Choice {
    /// Returns whether the choice only negates the guard.
    pub(super) fn is_guard_not(&self) -> bool {
        let mut changed = self.values.iter().flatten().flat_map(|changed| changed.keys());
        self.bits.len() == 1 && changed.all(|name| *name == Attribute::GuardNot)
    }

    /// Returns the sign, if the choice is that of a sign and nothing else.
    pub(super) fn sign(&self) -> Option<SignBit> {
        let [Some(zero), Some(one)] = self.values.as_slice() else { return None };
        let (changed, other) = if one.is_empty() { (zero, one) } else { (one, zero) };
        let (Attribute::Sign(operand, mark), value) = changed.first_key_value()? else { return None };
        let is_sign = changed.len() == 1 && other.is_empty();
        // The base has the sign if the other value of the bit removes it.
        let is_inverse = one.is_empty() == (value == "true");
        is_sign.then_some(SignBit { operand: *operand, mark: *mark, is_inverse })
    }
}

/// A number that is not printed if its bits are all ones or all zero.
#[derive(Clone, Debug)]
pub(super) struct Hidden {
    pub attribute: Attribute,
    pub is_ones: bool,
    /// Whether the whole operand is hidden.
    pub is_operand: bool,
}

impl Row {
    /// Returns whether a word has the fixed bits.
    pub(super) fn matches(&self, word: u128) -> bool {
        word & self.mask == self.value
    }

    /// Returns the text of a word at an address; `None` if it is invalid.
    pub(super) fn read(&self, word: u128, address: u64) -> Option<Text> {
        let mut text = self.text.clone();
        for (attribute, number) in &self.numbers {
            let value = number.value(word, address);
            match (attribute, self.text.value(*attribute).map(|value| value.class)) {
                (Attribute::Guard, _) => text.guard.number = value,
                (_, Some(class)) => text.set(*attribute, &number_text(class, value, number.weights.len())),
                _ => {}
            }
        }
        for (attribute, float) in &self.floats {
            text.set(*attribute, &format!("{:?}", float.value(word)));
        }
        let mut edits = Vec::new();
        for choice in &self.choices {
            let number = number_in(word, &choice.bits);
            for (attribute, value) in choice.values.get(number)?.as_ref()? {
                text.set(*attribute, value);
            }
            edits.push((choice.span, &choice.suffixes[number]));
        }
        // From the end on, so that places stay valid.
        for ((start, end), new) in edits.into_iter().rev() {
            if start <= end && end <= text.suffixes.len() {
                text.suffixes.splice(start..end, new.iter().cloned());
            }
        }
        self.hide(word, &mut text);
        Some(text)
    }

    /// Removes what special numbers hide.
    fn hide(&self, word: u128, text: &mut Text) {
        for hidden in self.hidden.iter().rev() {
            let Some(number) = self.numbers.get(&hidden.attribute) else { continue };
            let special = if hidden.is_ones { 1 } else { 0 };
            if number.weights.keys().any(|bit| word >> bit & 1 != special) {
                continue;
            }
            let Attribute::Value(operand, value) = hidden.attribute else { continue };
            if hidden.is_operand {
                if text.operands.get(operand).is_some_and(|operand| !operand.signs.contains('!')) {
                    text.operands.remove(operand);
                }
            } else if let Some(operand) = text.operands.get_mut(operand) {
                operand.remove_value(value);
            }
        }
    }
}

impl super::text::Operand {
    /// Removes a value with the plus sign before or after it.
    fn remove_value(&mut self, value: usize) {
        let Some((at, _)) = self.shape.match_indices('#').nth(value) else { return };
        let (before, after) = self.shape.split_at(at);
        let (before, after) = match (before.strip_suffix('+'), after.strip_prefix("#+")) {
            (Some(before), _) => (before, &after[1..]),
            (None, Some(after)) => (before, after),
            (None, None) => return,
        };
        self.shape = format!("{before}{after}");
        self.values.remove(value);
    }
}

impl Number {
    fn value(&self, word: u128, address: u64) -> i128 {
        let set = self.weights.iter().filter(|(bit, _)| word >> **bit & 1 == 1);
        let address = if self.is_relative { i128::from(address) } else { 0 };
        self.constant + address + set.map(|(_, weight)| weight).sum::<i128>()
    }
}

impl Float {
    /// Returns the number in a word.
    pub(super) fn value(&self, word: u128) -> f64 {
        let bits = number_in(word, &self.bits) as u64;
        let missing = |width: usize| width.saturating_sub(self.bits.len());
        match self.kind {
            FloatKind::Half => half(bits),
            FloatKind::Single => f64::from(f32::from_bits((bits << missing(32)) as u32)),
            FloatKind::Double => f64::from_bits(bits << missing(64)),
        }
    }
}

/// Returns the value of a half-precision number.
fn half(bits: u64) -> f64 {
    let magnitude = match (bits >> 10 & 31, bits & 0x3ff) {
        (0, fraction) => fraction as f64 * 2.0_f64.powi(-24),
        (31, 0) => f64::INFINITY,
        (31, _) => f64::NAN,
        (exponent, fraction) => (1024 + fraction) as f64 * 2.0_f64.powi(exponent as i32 - 25),
    };
    if bits >> 15 & 1 == 1 { -magnitude } else { magnitude }
}

/// Returns a number as nvdisasm prints it. `bits` is the size of its field.
fn number_text(class: Class, number: i128, bits: usize) -> String {
    let last = (1_i128 << bits) - 1;
    match class {
        Class::Register if number == 255 => String::from("RZ"),
        Class::UniformRegister if number == last => String::from("URZ"),
        Class::Predicate if number == 7 => String::from("PT"),
        Class::UniformPredicate if number == 7 => String::from("UPT"),
        Class::Register => format!("R{number}"),
        Class::UniformRegister => format!("UR{number}"),
        Class::Predicate => format!("P{number}"),
        Class::UniformPredicate => format!("UP{number}"),
        Class::Barrier => format!("B{number}"),
        Class::Scoreboard => format!("SB{number}"),
        Class::Integer | Class::Float if number < 0 => format!("-{:#x}", -number),
        Class::Integer | Class::Float => format!("{number:#x}"),
    }
}

/// Returns whether a text that a row gives is the text that the oracle prints. Floating-point numbers need only be equal,
/// and reuse flags, which scheduling information determines, are not compared.
pub(super) fn is_same(ours: &Text, theirs: &Text) -> bool {
    let plain = |text: &Text| {
        let mut text = text.clone();
        for operand in &mut text.operands {
            operand.is_reused = false;
            for value in operand.values.iter_mut().filter(|value| value.class == Class::Float) {
                value.text = float_of(&value.text).map_or_else(|| value.text.clone(), |x| format!("{x:?}"));
            }
        }
        text.to_string()
    };
    plain(ours) == plain(theirs)
}

/// Parses a floating-point number; all NaNs are one.
pub(super) fn float_of(text: &str) -> Option<f64> {
    let (sign, name) =
        text.strip_prefix('-').map_or((1.0, text.trim_start_matches('+')), |rest| (-1.0, rest));
    match name {
        "INF" | "inf" => Some(sign * f64::INFINITY),
        "QNAN" | "SNAN" | "NaN" => Some(f64::NAN),
        name => name.parse::<f64>().ok().map(|number| sign * number),
    }
}

/// Returns the number in some bits of a word, lowest first.
pub(super) fn number_in(word: u128, bits: &[u32]) -> usize {
    bits.iter().enumerate().fold(0, |number, (place, bit)| number | ((word >> bit & 1) as usize) << place)
}

/// Returns a word with a number in some bits.
pub(super) fn with_number(word: u128, bits: &[u32], number: u128) -> u128 {
    bits.iter().enumerate().fold(word, |word, (place, bit)| word & !(1 << bit) | (number >> place & 1) << bit)
}
