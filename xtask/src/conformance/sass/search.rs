//! A systematic search for words of sm_35 that we read differently from nvdisasm 11.2.
//!
//! Random words rarely show a row that fixes a bit which in truth is a modifier, or the reverse. This search starts
//! from a few words of every encoding and changes what encodings may be wrong about:
//!
//! - *neighbours*: every single bit, and every pair of bits that are not part of an operand's number,
//! - *corners*: all fields at once, each at a value that nvdisasm may treat as a special case; in half of the words, most
//!   fields are zero, in some with all registers `RZ`, because one operation can be a special case of another,
//! - *opcodes*: every value of the bits that select an encoding, with the other bits of real words,
//! - *second generation*: single bits of words with modifiers that no earlier step started from,
//! - *mutants*: one to three random bits of real words.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use unshade::sass::instruction::{Fields, encode, fields};
use unshade::sass::table::{Encoding, Isa, Kind, NONE};
use unshade::sass::{Instruction, isa};

use super::oracle::{Comparison, Oracle, is_scheduling};
use super::words::ListedWord;
use crate::conformance::sleigh::mixed;

/// The bits that select a list of encodings in `sm_35.isa`.
const OPCODE: u64 = 0xffc0_0000_0000_0003;

/// How many words each step compares.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// Start words per encoding, of those in the list and of those that are made.
    pub(super) starts: usize,
    /// Corner words per encoding.
    pub(super) corners: usize,
    /// Words per value of the opcode bits.
    pub(super) opcodes: usize,
    /// Start words of the second generation.
    pub(super) second: usize,
    /// Mutants.
    pub(super) mutants: usize,
}

/// Runs all steps, and returns the number of differences.
pub(super) fn run(oracle: &Oracle, rows: &[ListedWord], sizes: Sizes) -> Result<u64> {
    let isa = isa::by_architecture(35).context("the table of sm_35")?;
    let real: Vec<u64> = rows.iter().filter_map(|row| u64::try_from(row.word).ok()).collect();
    let mut search =
        Search { oracle, isa, asked: HashSet::new(), shapes: HashMap::new(), random: Random(35) };
    let starts = search.starts(&real, sizes.starts);
    let neighbours = starts.iter().flat_map(|word| neighbours(isa, *word)).collect();
    let mut wrong = search.step("neighbours of words of every encoding", neighbours)?;
    let corners = search.corners(sizes.corners);
    wrong += search.step("corners of every encoding", corners)?;
    let opcodes = search.opcodes(&real, sizes.opcodes);
    wrong += search.step("all opcodes", opcodes)?;
    let second = search.second(sizes.second);
    wrong += search.step("second generation of single-bit flips", second)?;
    let mutants = search.mutants(&real, sizes.mutants);
    wrong += search.step("mutants of real words", mutants)?;
    Ok(wrong)
}

struct Search<'a> {
    oracle: &'a Oracle,
    isa: &'static Isa,
    /// Words that were compared.
    asked: HashSet<u64>,
    /// For each shape of a text, the first word that has it, and whether a step started from it.
    shapes: HashMap<String, (u64, bool)>,
    random: Random,
}

impl Search<'_> {
    /// Compares words that were not compared before.
    fn step(&mut self, what: &str, words: Vec<u64>) -> Result<u64> {
        let Self { asked, shapes, .. } = self;
        let new: Vec<u64> =
            words.into_iter().filter(|word| !is_scheduling(*word) && asked.insert(*word)).collect();
        let mut comparison = Comparison::default();
        self.oracle.compare(self.isa, &new, &mut comparison, |word, text| {
            shapes.entry(shape(text)).or_insert((word, false));
        })?;
        Ok(comparison.report(what))
    }

    /// Returns words of every encoding: real ones, and ones with random fields.
    fn starts(&mut self, real: &[u64], count: usize) -> Vec<u64> {
        let mut found: HashMap<(u128, u128), usize> = HashMap::new();
        let mut starts = Vec::new();
        for &word in real {
            let Some(instruction) = Instruction::decode(self.isa, u128::from(word)) else { continue };
            let kept = found.entry((instruction.encoding.mask, instruction.encoding.value)).or_default();
            if *kept < count {
                *kept += 1;
                starts.push(word);
            }
        }
        for encoding in self.isa.encodings {
            let random = &mut self.random;
            starts.extend((0..count).map(|_| made(self.isa, encoding, |width| random.bits(width))));
        }
        for word in &starts {
            if let Some(instruction) = Instruction::decode(self.isa, u128::from(*word)) {
                self.shapes.insert(shape(&instruction.text(0)), (*word, true));
            }
        }
        starts
    }

    /// Returns words whose fields are zero, one, all ones, a power of two, or anything.
    fn corners(&mut self, count: usize) -> Vec<u64> {
        let Self { isa, random, .. } = self;
        let all = isa.encodings.iter().flat_map(|encoding| (0..count).map(move |index| (encoding, index)));
        all.map(|(encoding, index)| {
            let kinds = if index % 2 == 0 { 6 } else { 12 };
            let all_zero_registers = index % 4 == 3;
            made(isa, encoding, |width| match random.below(kinds) {
                _ if all_zero_registers && width == 8 => u64::MAX,
                0 => 1 << random.below(u64::from(width.max(1))),
                1 => random.bits(width),
                2 => 1,
                3 | 4 => u64::MAX,
                _ => 0,
            })
        })
        .collect()
    }

    /// Returns words with every value of the opcode bits.
    fn opcodes(&mut self, real: &[u64], count: usize) -> Vec<u64> {
        let mut words = Vec::new();
        for opcode in 0..1_u64 << OPCODE.count_ones() {
            let opcode = (opcode & 3) | (opcode >> 2) << 54;
            words.extend((0..count).map(|_| self.random.pick(real) & !OPCODE | opcode));
        }
        words
    }

    /// Returns the single-bit flips of words that show new modifiers.
    fn second(&mut self, count: usize) -> Vec<u64> {
        let mut starts: Vec<u64> =
            self.shapes.values().filter(|(_, started)| !started).map(|(word, _)| *word).collect();
        starts.sort_unstable();
        let step = starts.len().div_ceil(count.max(1)).max(1);
        starts.iter().step_by(step).flat_map(|word| (0..64).map(move |bit| word ^ 1 << bit)).collect()
    }

    /// Returns real words with one to three bits flipped.
    fn mutants(&mut self, real: &[u64], count: usize) -> Vec<u64> {
        let random = &mut self.random;
        let mutant =
            |_| (0..=random.below(3)).fold(random.pick(real), |word, _| word ^ 1 << random.below(64));
        (0..count).map(mutant).collect()
    }
}

/// Returns a word of an encoding, with each field as `choose` says for its width. The guard is `PT`.
fn made(isa: &'static Isa, encoding: &'static Encoding, mut choose: impl FnMut(u8) -> u64) -> u64 {
    let mut values: Vec<u64> = Vec::new();
    for field in fields(isa, encoding) {
        values.push(match isa.text(field.slot) {
            "guard" if field.width == 1 => 0,
            "guard" => 7,
            _ => choose(field.width),
        });
    }
    let ignored = u128::from(choose(64));
    u64::try_from(encode(isa, encoding, &Fields { values, ignored })).unwrap_or(0)
}

/// Returns a word with one bit flipped, or with two that do not belong to an operand's number.
fn neighbours(isa: &'static Isa, word: u64) -> Vec<u64> {
    let mut words: Vec<u64> = (0..64).map(|bit| word ^ 1 << bit).collect();
    words.push(word);
    let Some(instruction) = Instruction::decode(isa, u128::from(word)) else { return words };
    let mut others = instruction.encoding.ignored;
    for operand in instruction.operands() {
        let numbers = [operand.value, operand.base, operand.offset, operand.bank];
        let parts = numbers.into_iter().chain((operand.kind == Kind::Guard).then_some(operand.not));
        for field in parts.filter(|part| *part != NONE).filter_map(|part| isa.fields.get(usize::from(part))) {
            others |= field.placed(u64::MAX);
        }
    }
    let bits: Vec<u32> = (2..54).filter(|bit| others >> bit & 1 == 0).collect();
    for (index, first) in bits.iter().enumerate() {
        words.extend(bits.iter().skip(index + 1).map(|second| word ^ 1 << first ^ 1 << second));
    }
    words
}

/// Returns a text without its guard and its numbers.
fn shape(text: &str) -> String {
    let (mnemonic, operands) = match text.split_once(' ') {
        Some((guard, rest)) if guard.starts_with('@') => rest.split_once(' ').unwrap_or((rest, "")),
        Some(parts) => parts,
        None => (text, ""),
    };
    let mut shape = mnemonic.to_owned();
    shape.extend(operands.chars().filter(|c| !c.is_ascii_hexdigit()));
    shape
}

/// A generator of numbers that are the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Returns a number of so many bits.
    fn bits(&mut self, width: u8) -> u64 {
        self.next().checked_shr(64 - u32::from(width.min(64))).unwrap_or(0)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn pick(&mut self, words: &[u64]) -> u64 {
        let index = usize::try_from(self.below(words.len() as u64)).unwrap_or(0);
        words.get(index).copied().unwrap_or(0)
    }
}
