//! Words of chips from Maxwell on, compared with nvdisasm: text, validity, and the way back from fields and from text.
//!
//! The lists `words-modern/sm_80.tsv.gz` have a word, its text and, if the text depends on it, its address. With an
//! nvdisasm that knows the chip, mutants of the words are compared as well: single bits, pairs of bits within modifiers, one to
//! three bits anywhere. Their scheduling information is neutral, because nvdisasm checks it by the class of operation.
//!
//! nvdisasm prints many spaces before the names of registers and scoreboards that do not exist. They do not count, and
//! for the registers after RZ, `???255` is the same as our RZ.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use unshade::sass::instruction::encode;
use unshade::sass::table::Isa;
use unshade::sass::{Instruction, assemble, control, isa};
use unshade_tests::mutate::Random;

use super::oracle::with_our_registers;
use super::packages::{self, Found};
use super::{Tally, fault_of_text};
use super::{life, listings, random};
use crate::nvdisasm::{self, Oracle};
use crate::{codegen, sh};

/// The bits of a chip's words that mutants change.
#[derive(Clone, Copy)]
struct Bits {
    /// The lowest bit of scheduling information, or the number of bits if that is elsewhere.
    end: u32,
    /// Neutral scheduling information: no scoreboard is released or waited for.
    neutral: u128,
    /// The lowest bit of modifiers and predicates.
    modifiers: usize,
}

impl Bits {
    /// The scheduling information of Maxwell and Pascal is not part of the words.
    fn of(isa: &Isa) -> Self {
        let end = isa.control.map_or(64, |control| u32::from(control.stall.0));
        if isa.word_bytes > 8 {
            Self { end, neutral: control::neutral(isa), modifiers: 72 }
        } else {
            Self { end, neutral: 0, modifiers: 20 }
        }
    }
}

/// The number of mutants of a chip for each word of a row.
const MUTANTS_PER_ROW_WORD: usize = 10_000;

/// The number of words read at once.
const BATCH: usize = 200_000;

/// A word with its text and address.
pub(super) struct Listed {
    pub(super) word: u128,
    pub(super) text: String,
    pub(super) address: u64,
}

/// Compares the chips that have a list or code in packages. `sample` is a number of mutants per chip.
pub(super) fn run(
    corpus: &Path,
    tables: &BTreeMap<u32, &'static Isa>,
    chosen: &[u32],
    packages: &BTreeMap<u32, Found>,
    sample: usize,
) -> Result<u64> {
    let mut wrong = 0;
    for (&chip, &table) in tables {
        if chip < 50 || !(chosen.is_empty() || chosen.contains(&chip)) {
            continue;
        }
        let path = corpus.join(format!("words-modern/sm_{chip}.tsv.gz"));
        let mut words: Vec<u128> = Vec::new();
        if path.is_file() {
            let list = listed(&path)?;
            let mut results = Results::default();
            results.compare(table, &list);
            wrong += results.report(&format!("sm_{chip} words"));
            words.extend(list.iter().map(|listed| listed.word));
        } else {
            println!("sm_{chip}: no list of words");
        }
        let found = packages.get(&chip);
        words.extend(found.into_iter().flat_map(|found| &found.words));
        let Some(program) = nvdisasm::find_for(chip)? else {
            println!("sm_{chip} mutants: skipped, no nvdisasm knows the chip");
            continue;
        };
        let oracle = Oracle::new(program.clone(), chip)?;
        if let Some(found) = found {
            println!("sm_{chip}: {} bytes of code in packages", found.code);
            let mut results = Results::default();
            for batch in found.words.chunks(BATCH) {
                results.compare(table, &packages::listed(&oracle, batch)?);
            }
            wrong += results.report(&format!("sm_{chip} words of packages"));
            wrong += listings::compare_with(&program, chip, &found.cubins())?;
            wrong += life::compare_with(&program, chip, &found.cubins())?;
        }
        wrong += compare_rows(table, chip, &oracle, sample.div_ceil(MUTANTS_PER_ROW_WORD))?;
        if !words.is_empty() {
            wrong += compare_mutants(table, chip, &words, &oracle, sample)?;
        }
    }
    Ok(wrong)
}

/// Returns the tables of all chips as they are in `isa/nvidia` now, by chip.
pub(super) fn tables() -> Result<BTreeMap<u32, &'static Isa>> {
    let isa = codegen::load(sh::root())?;
    let mut tables = BTreeMap::new();
    for family in isa_gen::packed::Family::all(&isa) {
        let read = isa::load(family.pack(&isa)).context("packed tables can be read")?;
        for (generation, table) in family.generations.iter().zip(read) {
            tables.extend(generation.architectures.iter().map(|chip| (*chip, table)));
        }
    }
    Ok(tables)
}

/// Returns the words in the list of a generation; none if there is no list.
pub(super) fn words(corpus: &Path, generation: &str) -> Result<Vec<u128>> {
    let path = corpus.join(format!("words-modern/{generation}.tsv.gz"));
    Ok(if path.is_file() {
        listed(&path)?.into_iter().map(|listed| listed.word).collect()
    } else {
        Vec::new()
    })
}

fn listed(path: &Path) -> Result<Vec<Listed>> {
    let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
    let mut words = Vec::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line?;
        let mut columns = line.split('\t');
        let (Some(word), Some(text)) = (columns.next(), columns.next()) else { continue };
        let address = columns.next().map_or("0", |address| address.trim_start_matches("0x"));
        words.push(Listed {
            word: u128::from_str_radix(word, 16)?,
            text: text.trim_end().to_owned(),
            address: u64::from_str_radix(address, 16)?,
        });
    }
    Ok(words)
}

/// The results of words whose texts are known.
#[derive(Default)]
struct Results {
    texts: Tally,
    fields: Tally,
    assembled: Tally,
}

impl Results {
    fn compare(&mut self, isa: &'static Isa, words: &[Listed]) {
        for Listed { word, text: theirs, address } in words {
            let instruction = Instruction::decode(isa, *word);
            let ours = instruction.map(|instruction| instruction.text(*address)).unwrap_or_default();
            self.texts.count(is_same(&ours, theirs), || format!("{word:032x} {ours} | {theirs}"));
            // Data among the code of a package that both refuse.
            if instruction.is_none() && theirs.is_empty() {
                continue;
            }
            let made =
                instruction.map(|instruction| encode(isa, instruction.encoding, &instruction.values()));
            self.fields.count(made == Some(*word), || format!("{word:032x} {made:x?}"));
            let made = assemble::instruction(isa, &ours, *address, *word);
            self.assembled.count(made.as_ref() == Ok(word), || format!("{word:032x} {ours}: {made:x?}"));
        }
    }

    fn report(&self, what: &str) -> u64 {
        self.texts.report(&format!("{what}, text equal to nvdisasm"))
            + self.fields.report(&format!("{what} encoded from their fields"))
            + self.assembled.report(&format!("{what} assembled from their text"))
    }
}

/// The results for words that need not be instructions.
#[derive(Default)]
struct Changed {
    texts: Tally,
    valid: Tally,
    fields: Tally,
    assembled: Tally,
}

impl Changed {
    fn compare(&mut self, isa: &'static Isa, oracle: &Oracle, words: &[u128]) -> Result<()> {
        for (word, answer) in words.iter().zip(oracle.read(words)?) {
            let instruction = Instruction::decode(isa, *word);
            let ours = instruction.map(|instruction| instruction.text(answer.address));
            let theirs = answer.text;
            let is_valid = ours.is_some() == theirs.is_some();
            self.valid.count(is_valid, || format!("{word:032x} {ours:?} | {theirs:?}"));
            if let (Some(ours), Some(theirs)) = (&ours, &theirs) {
                self.texts.count(is_same(ours, theirs), || format!("{word:032x} {ours} | {theirs}"));
            }
            if let Some(instruction) = instruction {
                let made = encode(isa, instruction.encoding, &instruction.values());
                self.fields.count(made == *word, || format!("{word:032x} {made:x?}"));
                let text = instruction.text(answer.address);
                let fault = fault_of_text(isa, &text, answer.address, *word);
                self.assembled.count(fault.is_none(), || fault.unwrap_or_default());
            }
        }
        Ok(())
    }

    fn report(&self, what: &str) -> u64 {
        self.texts.report(&format!("{what}, text equal to nvdisasm"))
            + self.valid.report(&format!("{what}, validity equal to nvdisasm"))
            + self.fields.report(&format!("{what} encoded from their fields"))
            + self.assembled.report(&format!("{what} whose text assembles to a word with this text"))
    }
}

/// Compares mutants of words.
fn compare_mutants(
    isa: &'static Isa,
    chip: u32,
    words: &[u128],
    oracle: &Oracle,
    count: usize,
) -> Result<u64> {
    let mut results = Changed::default();
    let bits = Bits::of(isa);
    let mut random = Random::new(u64::from(chip));
    let mut left = count;
    while left > 0 {
        let mutants: Vec<u128> = (0..left.min(BATCH)).map(|_| mutant(words, bits, &mut random)).collect();
        left -= mutants.len();
        results.compare(isa, oracle, &mutants)?;
    }
    Ok(results.report(&format!("sm_{chip} mutants")))
}

/// Compares words of every row of a table: `count` of each, with random bits where the row fixes none. So each row that a chip
/// has from the one it is based on is read as well.
fn compare_rows(isa: &'static Isa, chip: u32, oracle: &Oracle, count: usize) -> Result<u64> {
    let mut results = Changed::default();
    let Bits { end, neutral, .. } = Bits::of(isa);
    let mut random = Random::new(u64::from(chip));
    let mut words = Vec::new();
    for encoding in isa.encodings {
        for _ in 0..count {
            words.push(random::of_row(encoding, &mut random) & ((1 << end) - 1) | neutral);
        }
    }
    for words in words.chunks(BATCH) {
        results.compare(isa, oracle, words)?;
    }
    Ok(results.report(&format!("sm_{chip} words of every row")))
}

/// Returns whether texts are the same but for names of registers that do not exist.
fn is_same(ours: &str, theirs: &str) -> bool {
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_same_folded = || [folded(theirs), folded(&with_our_registers(theirs))].contains(&folded(ours));
    ours.trim_end() == theirs || theirs.contains("???") && is_same_folded()
}

/// Changes a word in one of three ways.
fn mutant(words: &[u128], bits: Bits, random: &mut Random) -> u128 {
    let Bits { end, neutral, modifiers } = bits;
    let end = end as usize;
    let word = words[random.below(words.len())];
    let anywhere = |word: u128, random: &mut Random| word ^ 1 << random.below(end);
    let mutated = match random.below(3) {
        0 => anywhere(word, random),
        1 => (0..2).fold(word, |word, _| word ^ 1 << (modifiers + random.below(end - modifiers))),
        _ => (0..=random.below(3)).fold(word, |word, _| anywhere(word, random)),
    };
    mutated & ((1 << end) - 1) | neutral
}
