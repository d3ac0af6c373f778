//! Single-bit flips of words, compared with nvdisasm 11.2: valid or not, and the text.

use anyhow::{Context, Result};
use unshade::sass::isa;

use super::oracle::{Comparison, Oracle, is_scheduling};
use super::words::ListedWord;

/// Compares the flips of a number of words, spread over the list.
pub(super) fn run(oracle: &Oracle, rows: &[ListedWord], count: usize) -> Result<u64> {
    let isa = isa::by_architecture(35).context("the table of sm_35")?;
    let step = (rows.len() / count.max(1)).max(1);
    let mut flipped = Vec::new();
    for row in rows.iter().step_by(step).take(count) {
        let word = u64::try_from(row.word)?;
        flipped.extend((0..64).map(|bit| word ^ 1 << bit).filter(|word| !is_scheduling(*word)));
    }
    let mut comparison = Comparison::default();
    oracle.compare(isa, &flipped, &mut comparison, |_, _| ())?;
    Ok(comparison.report("single-bit flips"))
}
