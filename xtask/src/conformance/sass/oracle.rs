//! Comparison of single instruction words of sm_35 with nvdisasm 11.2.
//!
//! nvdisasm rejects a whole bundle if scheduling words are among its instructions, so such words are left out.

use anyhow::Result;
use unshade::sass::Instruction;
use unshade::sass::table::Isa;

use super::Tally;
use crate::nvdisasm;

const SCHEDULE: u64 = 0x0800_0000_0000_0000;
const SCHEDULE_MASK: u64 = 0xf800_0000_0000_0003;

/// Number of words that are compared at once.
const BATCH: usize = 40_000;

/// An installed nvdisasm.
pub(super) struct Oracle(nvdisasm::Oracle);

/// The results of a comparison.
#[derive(Default)]
pub(super) struct Comparison {
    valid: Tally,
    texts: Tally,
}

impl Comparison {
    /// Prints the counts, and returns the number of differences.
    pub(super) fn report(&self, what: &str) -> u64 {
        self.texts.report(&format!("{what}, text equal to nvdisasm 11.2"))
            + self.valid.report(&format!("{what}, validity equal to nvdisasm 11.2"))
    }
}

/// Returns whether a word is a scheduling word by its bits, so that nvdisasm cannot be asked about it.
pub(super) fn is_scheduling(word: u64) -> bool {
    word & SCHEDULE_MASK == SCHEDULE
}

impl Oracle {
    /// Finds nvdisasm; `None` if it is not installed.
    pub(super) fn find() -> Result<Option<Self>> {
        nvdisasm::find_for(35)?.map(|program| Ok(Self(nvdisasm::Oracle::new(program, 35)?))).transpose()
    }

    /// Compares our reading of words with nvdisasm's. Calls `seen` with each word that nvdisasm reads, and its text.
    pub(super) fn compare(
        &self,
        isa: &'static Isa,
        words: &[u64],
        comparison: &mut Comparison,
        mut seen: impl FnMut(u64, &str),
    ) -> Result<()> {
        for batch in words.chunks(BATCH) {
            let wide: Vec<u128> = batch.iter().map(|word| u128::from(*word)).collect();
            for (&word, answer) in batch.iter().zip(self.0.read(&wide)?) {
                let theirs = answer.text.as_deref().map(with_our_registers);
                let ours = Instruction::decode(isa, u128::from(word));
                let ours = ours.map(|instruction| instruction.text(answer.address));
                let same = ours.is_some() == theirs.is_some();
                comparison.valid.count(same, || format!("{word:016x} {ours:?} | {theirs:?}"));
                let Some(theirs) = theirs else { continue };
                if let Some(ours) = &ours {
                    let same = ours.trim_end() == theirs;
                    comparison.texts.count(same, || format!("{word:016x} {ours} | {theirs}"));
                }
                seen(word, &theirs);
            }
        }
        Ok(())
    }
}

/// Returns nvdisasm's text with our names of the registers that do not exist. A compare-and-swap reads one or two registers
/// after another: we print `RZ` for the registers after `RZ`, and `R256` for the second after `R254`. nvdisasm prints
/// `???255` for both, in a column that depends on the other lines.
pub(super) fn with_our_registers(text: &str) -> String {
    const UNKNOWN: &str = "???255";
    let Some((start, rest)) = text.split_once(UNKNOWN) else { return text.to_owned() };
    let is_second = start.contains(".64") && start.trim_end().ends_with(" R254,");
    let name = if is_second { "R256" } else { "RZ" };
    format!("{} {name}{}", start.trim_end(), with_our_registers(rest))
}
