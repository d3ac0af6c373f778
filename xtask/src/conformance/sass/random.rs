//! Random words of every chip: none may stop the decoder, the printer, the encoder or the assembler.
//!
//! A third of the words has random bits; the others have the fixed bits of a random row of the table, half of them with one to
//! three bits flipped. What decodes is printed and encoded again from its fields; of every fourth word, the text is
//! assembled, which must lead to a word with the same text.

use std::collections::BTreeMap;

use rayon::prelude::*;
use unshade::sass::instruction::encode;
use unshade::sass::table::{Encoding, Isa};
use unshade::sass::{Instruction, print};
use unshade_tests::mutate::Random;

use super::{Tally, fault_of_text};

/// The number of words of a thread's job.
const JOB: u64 = 100_000;

/// Every which word is assembled from its text.
const ASSEMBLED: u64 = 4;

/// The counts of a job.
#[derive(Default)]
struct Counts {
    decoded: u64,
    assembled: u64,
    /// What is wrong with a word.
    faults: Vec<String>,
}

/// Reads `count` words of each chip, or of those that are chosen. Returns the number of differences.
pub(super) fn run(tables: &BTreeMap<u32, &'static Isa>, chosen: &[u32], count: u64) -> u64 {
    let mut wrong = 0;
    for (chip, isa) in tables.iter().filter(|(chip, _)| chosen.is_empty() || chosen.contains(chip)) {
        let jobs: Vec<Counts> =
            (0..count.div_ceil(JOB)).into_par_iter().map(|job| read(isa, job, JOB.min(count))).collect();
        let mut tally = Tally::default();
        let mut assembled = 0;
        for job in jobs {
            assembled += job.assembled;
            tally.right += job.decoded - job.faults.len() as u64;
            job.faults.into_iter().for_each(|fault| tally.count(false, || fault));
        }
        println!("sm_{chip} random words: {count}, {assembled} of them assembled from their text");
        wrong +=
            tally.report(&format!("sm_{chip} random words that are instructions, printed and encoded again"));
    }
    wrong
}

fn read(isa: &'static Isa, job: u64, count: u64) -> Counts {
    let mut random = Random::new(job + 1);
    let mut counts = Counts::default();
    let mut text = String::new();
    for number in 0..count {
        let word = word(isa, &mut random);
        let Some(instruction) = Instruction::decode(isa, word) else { continue };
        counts.decoded += 1;
        let address = number * isa.word_bytes as u64;
        text.clear();
        print::instruction(&instruction, address, &mut text);
        let made = encode(isa, instruction.encoding, &instruction.values());
        if made != word {
            counts.faults.push(format!("{word:032x} {text}: {made:032x}"));
        } else if number.is_multiple_of(ASSEMBLED) {
            counts.assembled += 1;
            counts.faults.extend(fault_of_text(isa, &text, address, word));
        }
    }
    counts
}

/// Returns a random word, of the bits that instructions have.
fn word(isa: &Isa, random: &mut Random) -> u128 {
    let kind = random.below(3);
    let mut word = match kind {
        0 => bits(random),
        _ => of_row(&isa.encodings[random.below(isa.encodings.len())], random),
    };
    if kind > 1 {
        word = (0..=random.below(3)).fold(word, |word, _| word ^ 1 << random.below(128));
    }
    // Those of a scheduling word are above those of the instruction.
    let above = if isa.has_bundles() { u32::from(isa.schedule.code_bits) } else { 0 };
    word & u128::MAX >> (128 - 8 * isa.word_bytes as u32 - above)
}

/// Returns a word with random bits where a row fixes none.
pub(super) fn of_row(encoding: &Encoding, random: &mut Random) -> u128 {
    bits(random) & !encoding.mask | encoding.value
}

fn bits(random: &mut Random) -> u128 {
    u128::from(random.number()) << 64 | u128::from(random.number())
}
