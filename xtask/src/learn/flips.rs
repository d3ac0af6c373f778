//! Learning rows by flipping bits.
//!
//! 1. Flip bits as long as the text shows more: optional operands, suffixes, parts of addresses.
//! 2. Flip every bit of the word that is reached. Bits that change one value and nothing else are a *number*.
//! 3. Flip all pairs of the other bits. Bits that depend on each other are a *choice*: all their combinations are read.
//! 4. Where a choice changes operands or mnemonic, each of its shapes is a row of its own, learned in the same way.
//! 5. Numbers of all ones and all zero show what is hidden then.
//!
//! Bits of scheduling information are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::Result;

use super::questions::Line;
use super::row::{Choice, Float, FloatKind, Hidden, Row, float_of, number_in, with_number};
use super::text::{Attribute, Attributes, Class, Text};
use crate::nvdisasm::Answer;

/// Maximum number of times that flips show more.
const MAX_STEPS: usize = 8;

/// Maximum number of bits of a choice.
const MAX_CHOICE: usize = 12;

/// Maximum number of choices between rows that are nested.
const MAX_DEPTH: usize = 5;

/// Maximum number of rows per opcode.
const MAX_ROWS: usize = 30;

/// Maximum number of words to read per opcode before the last row.
const MAX_WORDS: usize = 60_000;

/// A text, and the address it was read at.
#[derive(Clone, Debug)]
struct Reading {
    text: Text,
    address: u64,
}

/// Learns the rows of one opcode.
pub(super) struct Learner<'a> {
    line: &'a Line,
    /// The bits that may be flipped.
    bits: Range<u32>,
    /// The rows that were learned.
    pub rows: Vec<Row>,
    /// The number of words that were read.
    words: usize,
    /// Whether no row was left out.
    pub is_complete: bool,
}

impl<'a> Learner<'a> {
    pub(super) fn new(line: &'a Line, bits: Range<u32>) -> Self {
        Self { line, bits, rows: Vec::new(), words: 0, is_complete: true }
    }

    /// Learns the rows of words that agree in some bits. `words` are examples.
    pub(super) fn learn(&mut self, words: &[u128], mask: u128) -> Result<()> {
        self.learn_row(words, mask, 0)
    }

    fn read(&mut self, words: &[u128]) -> Result<Vec<Option<Reading>>> {
        self.words += words.len();
        let answers = self.line.read(words)?;
        let reading = |answer: Answer| {
            let text = Text::parse(&answer.text?);
            Some(Reading { text, address: answer.address })
        };
        Ok(answers.into_iter().map(reading).collect())
    }

    fn learn_row(&mut self, words: &[u128], mask: u128, depth: usize) -> Result<()> {
        if self.rows.len() >= MAX_ROWS || self.words > MAX_WORDS {
            self.is_complete = false;
            return Ok(());
        }
        let readings = self.read(words)?;
        let found = words.iter().zip(readings).filter_map(|(word, reading)| Some((*word, reading?)));
        let Some((base, reading)) = found.max_by_key(|(_, reading)| shown(&reading.text)) else {
            return Ok(());
        };
        let free: Vec<u32> = self.bits.clone().filter(|bit| mask >> bit & 1 == 0).collect();
        let (base, text) = self.show_more(base, reading.text, &free)?;
        let mut row = Row {
            mask,
            value: base & mask,
            base,
            text,
            numbers: BTreeMap::new(),
            floats: BTreeMap::new(),
            choices: Vec::new(),
            ignored: BTreeSet::new(),
            hidden: Vec::new(),
            notes: Vec::new(),
        };
        self.find_numbers(&mut row, &free)?;
        for _ in 0..2 {
            self.settle(&mut row)?;
            self.find_numbers(&mut row, &free)?;
        }
        self.find_choices(&mut row, &free)?;
        let is_structural = |choice: &Choice| {
            choice.values.iter().flatten().any(|changed| changed.keys().any(|name| name.is_structure()))
        };
        match row.choices.iter().find(|choice| is_structural(choice)) {
            Some(choice) if depth < MAX_DEPTH => self.learn_shapes(&row, choice, depth),
            found => {
                if let Some(choice) = found {
                    row.notes.push(format!("bits {:?} choose between shapes", choice.bits));
                }
                row.value = row.base & row.mask;
                self.find_hidden(&mut row)?;
                self.rows.push(row);
                Ok(())
            }
        }
    }

    /// Flips bits as long as the text shows more: all that do so by themselves, or as many of these as go together.
    fn show_more(&mut self, mut base: u128, mut text: Text, free: &[u32]) -> Result<(u128, Text)> {
        for _ in 0..MAX_STEPS {
            let words: Vec<u128> = free.iter().map(|bit| base ^ 1 << bit).collect();
            let more = self.texts_with_more(&words, &text)?;
            // The one that shows most comes first.
            let mut all = base;
            let joined = more.iter().map(|(word, _)| {
                all ^= base ^ word;
                all
            });
            let joined: Vec<u128> = joined.collect();
            let more = self.texts_with_more(&joined, &text)?;
            let Some(next) = more.into_iter().next() else { break };
            (base, text) = next;
        }
        Ok((base, text))
    }

    /// Returns the words with all operands of a text that show more than it; first the one that shows most.
    fn texts_with_more(&mut self, words: &[u128], text: &Text) -> Result<Vec<(u128, Text)>> {
        let readings = self.read(words)?;
        let more = words.iter().zip(readings).filter_map(|(word, reading)| {
            let next = reading?.text;
            (shown(&next) > shown(text) && has_operands(&next, text)).then_some((*word, next))
        });
        let mut more: Vec<(u128, Text)> = more.collect();
        more.sort_by_key(|(_, next)| std::cmp::Reverse(shown(next)));
        Ok(more)
    }

    /// Finds the bits of numbers.
    fn find_numbers(&mut self, row: &mut Row, free: &[u32]) -> Result<()> {
        // The base twice, because numbers that depend on the address differ.
        let mut words = vec![row.base, row.base];
        words.extend(free.iter().map(|bit| row.base ^ 1 << bit));
        let readings = self.read(&words)?;
        let [Some(first), Some(second), flips @ ..] = readings.as_slice() else { return Ok(()) };
        row.numbers.clear();
        row.floats.clear();
        row.text = first.text.clone();
        let before = first.text.attributes();
        let mut float_bits: BTreeMap<Attribute, Vec<u32>> = BTreeMap::new();
        for (bit, flip) in free.iter().zip(flips) {
            let Some(flip) = flip else { continue };
            let is_relative = |attribute: &Attribute| {
                first.text.value(*attribute).map(|value| value.number)
                    != second.text.value(*attribute).map(|value| value.number)
            };
            let changed = changes(&before, &flip.text.attributes());
            let changed: Vec<Attribute> =
                changed.into_keys().filter(|attribute| !is_relative(attribute)).collect();
            let relative = before.keys().copied().find(is_relative);
            let attribute = match (changed.as_slice(), relative) {
                ([attribute @ (Attribute::Guard | Attribute::Value(..))], _) => *attribute,
                ([], Some(attribute)) => attribute,
                _ => continue,
            };
            if first.text.value(attribute).is_some_and(|value| value.class == Class::Float) {
                float_bits.entry(attribute).or_default().push(*bit);
                continue;
            }
            let is_relative = is_relative(&attribute);
            let (Some(old), Some(new)) =
                (number_at(first, attribute, is_relative), number_at(flip, attribute, is_relative))
            else {
                continue;
            };
            if old != new {
                let weight = if row.base >> bit & 1 == 1 { old - new } else { new - old };
                let number = row.numbers.entry(attribute).or_default();
                number.is_relative = is_relative;
                number.weights.insert(*bit, weight);
            }
        }
        for (attribute, number) in &mut row.numbers {
            let set = number.weights.iter().filter(|(bit, _)| row.base >> **bit & 1 == 1);
            let set: i128 = set.map(|(_, weight)| weight).sum();
            number.constant = number_at(first, *attribute, number.is_relative).unwrap_or(0) - set;
        }
        for (attribute, bits) in float_bits {
            let theirs = first.text.value(attribute).and_then(|value| float_of(&value.text));
            let kinds = [FloatKind::Single, FloatKind::Half, FloatKind::Double];
            let float = kinds.into_iter().map(|kind| Float { bits: bits.clone(), kind }).find(|float| {
                let ours = float.value(row.base);
                theirs.is_some_and(|theirs| (ours - theirs).abs() <= theirs.abs() * 1e-12)
            });
            match float {
                Some(float) => _ = row.floats.insert(attribute, float),
                None => row.notes.push(format!("{attribute:?} is a number of an unknown format")),
            }
        }
        Ok(())
    }

    /// Sets numbers to values whose neighbours are ordinary, if the word stays of the same shape.
    fn settle(&mut self, row: &mut Row) -> Result<()> {
        let mut word = row.base;
        for (place, (attribute, number)) in row.numbers.iter().enumerate() {
            let bits: Vec<u32> = number.weights.keys().copied().collect();
            let ordinary = match (attribute, row.text.value(*attribute).map(|value| value.class)) {
                (Attribute::Guard, _) | (_, Some(Class::Predicate | Class::UniformPredicate)) => 1,
                (_, Some(Class::Register | Class::UniformRegister)) => 0x12 + place as u128 % 8,
                _ if bits.len() >= 5 => 0x1a,
                _ => continue,
            };
            // An inverted predicate counts down.
            let is_inverted = number.weights.values().all(|weight| *weight < 0);
            word = with_number(word, &bits, if is_inverted { !ordinary } else { ordinary });
        }
        if let [Some(reading)] = self.read(&[word])?.as_slice()
            && reading.text.shape() == row.text.shape()
        {
            row.base = word;
        }
        Ok(())
    }

    /// Finds the bits that are no numbers.
    fn find_choices(&mut self, row: &mut Row, free: &[u32]) -> Result<()> {
        let is_number = |bit: &u32| {
            row.numbers.values().any(|number| number.weights.contains_key(bit))
                || row.floats.values().any(|float| float.bits.contains(bit))
        };
        let bits: Vec<u32> = free.iter().copied().filter(|bit| !is_number(bit)).collect();
        for members in self.dependent_bits(row, &bits)? {
            if members.len() > MAX_CHOICE {
                row.notes.push(format!("bits {members:?} depend on each other"));
            }
            let members = &members[..members.len().min(MAX_CHOICE)];
            let words: Vec<u128> =
                (0..1 << members.len()).map(|number| with_number(row.base, members, number)).collect();
            let texts = self.read(&words)?.into_iter().map(|reading| Some(reading?.text)).collect();
            let choice = choice(&row.text, members, texts);
            let is_valid = choice.values.iter().all(Option::is_some);
            let is_ignored = choice.values.iter().flatten().all(Attributes::is_empty);
            let own = number_in(row.base, members);
            let is_fixed =
                (0..choice.values.len()).all(|number| choice.values[number].is_none() || number == own);
            if is_valid && is_ignored {
                row.ignored.extend(members);
            } else if is_fixed {
                row.mask |= members.iter().fold(0, |mask, bit| mask | 1 << bit);
            } else {
                row.choices.push(choice);
            }
        }
        row.choices.sort_by_key(|choice| choice.span);
        Ok(())
    }

    /// Groups bits: those in different groups have independent effects on the text.
    fn dependent_bits(&mut self, row: &Row, bits: &[u32]) -> Result<Vec<Vec<u32>>> {
        let flip = |bits: &[u32]| bits.iter().fold(row.base, |word, bit| word ^ 1 << bit);
        let single: Vec<u128> = bits.iter().map(|bit| flip(&[*bit])).collect();
        let single = self.read(&single)?;
        let before = row.text.attributes();
        let single: Vec<Option<Change>> =
            single.into_iter().map(|found| Some(Change::new(&before, &found?.text))).collect();
        // Two bits that change nothing are not expected to change something together.
        let is_same = |place: usize| single[place].as_ref().is_some_and(|one| one.attributes.is_empty());
        let pairs = (0..bits.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
        let pairs: Vec<(usize, usize)> =
            pairs.filter(|&(first, second)| !(is_same(first) && is_same(second))).collect();
        let both: Vec<u128> =
            pairs.iter().map(|&(first, second)| flip(&[bits[first], bits[second]])).collect();
        let both = self.read(&both)?;
        let mut group: Vec<usize> = (0..bits.len()).collect();
        for (&(first, second), found) in pairs.iter().zip(&both) {
            let expected = match (&single[first], &single[second]) {
                (Some(one), Some(other)) => combined(&row.text, one, other),
                _ => None,
            };
            let found = found.as_ref().map(|found| changes(&before, &found.text.attributes()));
            if expected != found {
                let (old, new) = (group[first], group[second]);
                group.iter_mut().filter(|group| **group == old).for_each(|group| *group = new);
            }
        }
        let mut members: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (bit, group) in bits.iter().zip(group) {
            members.entry(group).or_default().push(*bit);
        }
        Ok(members.into_values().collect())
    }

    /// Learns each shape that a choice has.
    fn learn_shapes(&mut self, row: &Row, choice: &Choice, depth: usize) -> Result<()> {
        let mut shapes: BTreeMap<Attributes, Vec<usize>> = BTreeMap::new();
        for (number, changed) in choice.values.iter().enumerate() {
            let Some(changed) = changed else { continue };
            let structure = changed.iter().filter(|entry| entry.0.is_structure());
            let structure = structure.map(|(name, value)| (*name, value.clone())).collect();
            shapes.entry(structure).or_default().push(number);
        }
        for numbers in shapes.into_values() {
            let common = numbers.iter().fold(usize::MAX, |all, number| all & number)
                | !numbers.iter().fold(0, |any, number| any | number);
            let is_cube = numbers.len() == 1 << (!common & ((1 << choice.bits.len()) - 1)).count_ones();
            let parts: &[usize] = if is_cube { &numbers[..1] } else { &numbers };
            for number in parts {
                let word = with_number(row.base, &choice.bits, *number as u128);
                let fixed = choice.bits.iter().enumerate();
                let fixed = fixed.filter(|(place, _)| !is_cube || common >> place & 1 == 1);
                let mask = fixed.fold(row.mask, |mask, (_, bit)| mask | 1 << bit);
                self.learn_row(&[word], mask, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Finds what numbers of all ones and all zero hide.
    fn find_hidden(&mut self, row: &mut Row) -> Result<()> {
        // `!PT` is never hidden.
        let negations = row.choices.iter().filter_map(|choice| Some((choice, choice.sign()?)));
        let plain = negations.filter(|(_, sign)| sign.mark == '!').fold(row.base, |word, (choice, sign)| {
            with_number(word, &choice.bits, u128::from(sign.is_inverse))
        });
        let values: Vec<(Attribute, bool)> =
            row.numbers.keys().flat_map(|attribute| [(*attribute, false), (*attribute, true)]).collect();
        let special = values.iter().map(|(attribute, is_ones)| {
            let bits: Vec<u32> = row.numbers[attribute].weights.keys().copied().collect();
            with_number(plain, &bits, if *is_ones { u128::MAX } else { 0 })
        });
        let words: Vec<u128> = [plain].into_iter().chain(special).collect();
        let mut readings = self.read(&words)?.into_iter();
        let Some(Some(Reading { text: base, .. })) = readings.next() else { return Ok(()) };
        for ((attribute, is_ones), reading) in values.into_iter().zip(readings) {
            let what = if is_ones { "ones" } else { "zero" };
            let Some(Reading { text, .. }) = reading else {
                row.notes.push(format!("{attribute:?}: invalid if it is all {what}"));
                continue;
            };
            if text.mnemonic != base.mnemonic || text.suffixes != base.suffixes {
                let name = format!("{}{}", text.mnemonic, text.suffixes.concat());
                row.notes.push(format!("{attribute:?}: {name} if it is all {what}"));
            } else if attribute != Attribute::Guard && text.shape() != base.shape() {
                let is_operand = text.operands.len() != base.operands.len();
                row.hidden.push(Hidden { attribute, is_ones, is_operand });
            }
        }
        Ok(())
    }
}

/// Returns how much a text shows.
fn shown(text: &Text) -> usize {
    let values: usize = text.operands.iter().map(|operand| 8 * operand.values.len() + 4).sum();
    values + text.suffixes.len() + usize::from(text.guard.number != 7)
}

/// Returns whether a text has the operands of another one, which may have more values now.
fn has_operands(text: &Text, other: &Text) -> bool {
    let head = |shape: &str| shape.chars().next();
    let mut rest = text.operands.iter();
    text.mnemonic == other.mnemonic
        && other.operands.iter().all(|operand| {
            rest.any(|new| {
                new.shape == operand.shape
                    || new.shape.len() > operand.shape.len() && head(&new.shape) == head(&operand.shape)
            })
        })
}

/// Returns the number of a register or an integer, or of the guard.
fn number_at(reading: &Reading, attribute: Attribute, is_relative: bool) -> Option<i128> {
    if attribute == Attribute::Guard {
        return Some(reading.text.guard.number);
    }
    let number = reading.text.value(attribute)?.number;
    Some(if is_relative { number - i128::from(reading.address) } else { number })
}

/// Returns the attributes that differ; those that are gone are empty.
fn changes(before: &Attributes, after: &Attributes) -> Attributes {
    let new = after.iter().filter(|(name, value)| before.get(name) != Some(value));
    let gone = before.keys().filter(|name| !after.contains_key(name));
    new.map(|(name, value)| (*name, value.clone())).chain(gone.map(|name| (*name, String::new()))).collect()
}

/// What a flip changes in a text.
struct Change {
    attributes: Attributes,
    /// The suffixes after it.
    suffixes: Vec<String>,
}

impl Change {
    /// Returns the change from a text with some attributes.
    fn new(before: &Attributes, after: &Text) -> Self {
        Self { attributes: changes(before, &after.attributes()), suffixes: after.suffixes.clone() }
    }
}

/// Returns what two independent changes of a text change together; `None` if these concern the same attribute.
fn combined(base: &Text, one: &Change, other: &Change) -> Option<Attributes> {
    let is_shared = |name: &Attribute| *name != Attribute::Suffixes && other.attributes.contains_key(name);
    if one.attributes.keys().any(is_shared) {
        return None;
    }
    let mut all: Attributes =
        one.attributes.iter().chain(&other.attributes).map(|(name, value)| (*name, value.clone())).collect();
    let suffixes = merged(&base.suffixes, &one.suffixes, &other.suffixes)?;
    if suffixes != base.suffixes {
        all.insert(Attribute::Suffixes, suffixes.concat());
    }
    Some(all)
}

/// A replacement of some elements of a list: the first one, the end, the new ones.
type Edit<'a> = (usize, usize, &'a [String]);

/// Returns the smallest replacement that turns one list into another.
fn edit<'a>(old: &[String], new: &'a [String]) -> Edit<'a> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let limit = old.len().min(new.len()) - start;
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count().min(limit);
    (start, old.len() - same, &new[start..new.len() - same])
}

/// Makes two replacements in a list; `None` if they overlap or their order is not known.
fn merged(base: &[String], one: &[String], other: &[String]) -> Option<Vec<String>> {
    if one == base || other == base {
        return Some(if one == base { other } else { one }.to_vec());
    }
    let (mut first, mut second) = (edit(base, one), edit(base, other));
    if (first.0, first.1) > (second.0, second.1) {
        std::mem::swap(&mut first, &mut second);
    }
    let is_known = first.1 <= second.0 && (first.0, first.1) != (second.0, second.1);
    let parts = [&base[..first.0], first.2, base.get(first.1..second.0)?, second.2, &base[second.1..]];
    is_known.then(|| parts.concat())
}

/// Creates a choice from the texts of all numbers in its bits.
fn choice(base: &Text, bits: &[u32], texts: Vec<Option<Text>>) -> Choice {
    let before = base.attributes();
    let edits = texts.iter().flatten().map(|text| edit(&base.suffixes, &text.suffixes));
    let edits = edits.filter(|(start, end, new)| start != end || !new.is_empty());
    let span = edits.map(|(start, end, _)| (start, end)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let span = span.unwrap_or((0, 0));
    let after = base.suffixes.len() - span.1;
    let own = |text: &Option<Text>| {
        let text = text.as_ref()?;
        text.suffixes.get(span.0..text.suffixes.len().checked_sub(after)?).map(<[String]>::to_vec)
    };
    Choice {
        bits: bits.to_vec(),
        suffixes: texts.iter().map(|text| own(text).unwrap_or_default()).collect(),
        values: texts.into_iter().map(|text| Some(changes(&before, &text?.attributes()))).collect(),
        span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn independent_suffixes_are_merged() {
        let base = list(".E .64");
        assert_eq!(merged(&base, &list(".64"), &list(".E .128")), Some(list(".128")));
        assert_eq!(merged(&base, &list(".E .EF .64"), &list(".E .64 .SYS")), Some(list(".E .EF .64 .SYS")));
        assert_eq!(merged(&base, &list(".E .EF .64"), &list(".E .LU .64")), None);
    }

    #[test]
    fn changes_of_different_attributes_are_independent() {
        let base = Text::parse("FADD.RM R1, R2, R3");
        let before = base.attributes();
        let change = |text: &str| Change::new(&before, &Text::parse(text));
        let both = combined(&base, &change("FADD.RM R1, -R2, R3"), &change("FADD R1, R2, R3"));
        assert_eq!(both, Some(change("FADD R1, -R2, R3").attributes));
        let other = combined(&base, &change("FADD.RM R4, R2, R3"), &change("FADD.RM R5, R2, R3"));
        assert_eq!(other, None);
    }
}
