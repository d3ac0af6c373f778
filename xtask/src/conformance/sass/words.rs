//! Word lists: tab-separated `hex, count, address, text`, compressed with gzip.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use unshade::sass::instruction::encode;
use unshade::sass::{Instruction, assemble, isa};

use super::Tally;

/// A line of a word list.
pub(super) struct ListedWord {
    pub(super) word: u128,
    pub(super) count: u64,
    pub(super) address: u64,
    pub(super) text: String,
}

/// Returns all lines of a list.
pub(super) fn rows(path: &Path) -> Result<Vec<ListedWord>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut rows = Vec::new();
    for line in BufReader::new(GzDecoder::new(file)).lines().skip(1) {
        let line = line?;
        let mut parts = line.splitn(4, '\t');
        let mut next = || parts.next().context("a list has four columns");
        rows.push(ListedWord {
            word: u128::from_str_radix(next()?, 16)?,
            count: next()?.parse()?,
            address: u64::from_str_radix(next()?, 16)?,
            text: next()?.to_owned(),
        });
    }
    Ok(rows)
}

/// Compares texts with those of nvdisasm 11.2; also encodes words from their fields and assembles them from their
/// texts.
pub(super) fn sm_35(corpus: &Path) -> Result<u64> {
    let isa = isa::by_architecture(35).context("the table of sm_35")?;
    let rows = rows(&corpus.join("words/sm_35.nvdisasm-11.2.tsv.gz"))?;
    let (mut texts, mut fields, mut assembled) = (Tally::default(), Tally::default(), Tally::default());
    for row in &rows {
        let instruction = Instruction::decode(isa, row.word);
        let text = instruction.map(|instruction| instruction.text(row.address)).unwrap_or_default();
        // The list has no trailing spaces.
        texts.count(text.trim_end() == row.text, || format!("{:016x} {text} | {}", row.word, row.text));
        round_trips(isa, row, &text, &mut fields, &mut assembled);
    }
    Ok(texts.report("sm_35 words, text equal to nvdisasm 11.2")
        + fields.report("sm_35 words encoded from their fields")
        + assembled.report("sm_35 words assembled from their text"))
}

/// Checks that a word can be encoded from its fields, and assembled from its text and its meaningless bits.
pub(super) fn round_trips(
    isa: &'static unshade::sass::table::Isa,
    row: &ListedWord,
    text: &str,
    fields: &mut Tally,
    assembled: &mut Tally,
) {
    let instruction = Instruction::decode(isa, row.word);
    let made = instruction.map(|instruction| encode(isa, instruction.encoding, &instruction.values()));
    fields.count(made == Some(row.word), || format!("{:016x} {made:x?}", row.word));
    let made = assemble::instruction(isa, text, row.address, row.word);
    assembled.count(made.as_ref() == Ok(&row.word), || format!("{:016x} {text}: {made:x?}", row.word));
}
