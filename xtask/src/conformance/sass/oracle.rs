//! nvdisasm 11.2 as the oracle of single instruction words of sm_35.
//!
//! nvdisasm prints nothing but error addresses if any word is invalid: those words are recorded and replaced, and
//! nvdisasm is run again. It rejects a whole bundle if scheduling words are among its instructions, so such words are
//! left out.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use unshade::sass::Instruction;
use unshade::sass::table::Isa;

use super::Tally;
use crate::sh;

const SCHEDULE: u64 = 0x0800_0000_0000_0000;
const SCHEDULE_MASK: u64 = 0xf800_0000_0000_0003;
const NOP: u64 = 0x8580_0000_001c_3c02;

/// Number of words that are passed to nvdisasm at once.
const BATCH: usize = 40_000;

/// An installed nvdisasm.
pub(super) struct Oracle {
    program: PathBuf,
}

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
    /// Finds nvdisasm in `UNSHADE_NVDISASM` or on the `PATH`.
    pub(super) fn find() -> Option<Self> {
        let program = sh::env_path("UNSHADE_NVDISASM").or_else(|| {
            let path = env::var_os("PATH")?;
            env::split_paths(&path).map(|folder| folder.join("nvdisasm")).find(|program| program.is_file())
        })?;
        Some(Self { program })
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
            let theirs = self.texts(batch)?;
            for (index, (&word, theirs)) in batch.iter().zip(&theirs).enumerate() {
                let address = address_of(index);
                let ours =
                    Instruction::decode(isa, u128::from(word)).map(|instruction| instruction.text(address));
                let same = ours.is_some() == theirs.is_some();
                comparison.valid.count(same, || format!("{word:016x} {ours:?} | {theirs:?}"));
                let Some(theirs) = theirs else { continue };
                if let Some(ours) = &ours {
                    let same = ours.trim_end() == theirs;
                    comparison.texts.count(same, || format!("{word:016x} {ours} | {theirs}"));
                }
                seen(word, theirs);
            }
        }
        Ok(())
    }

    /// Returns the text of each word at its address; invalid words have none.
    fn texts(&self, words: &[u64]) -> Result<Vec<Option<String>>> {
        let folder = env::temp_dir().join(format!("unshade-words-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let listing = self.listing(words, &folder.join("words.bin"));
        fs::remove_dir_all(&folder)?;
        let (listing, valid) = listing?;
        let mut texts = vec![None; words.len()];
        for line in listing.lines() {
            let Some((address, text)) =
                line.trim_start().strip_prefix("/*").and_then(|rest| rest.split_once("*/"))
            else {
                continue;
            };
            let (Ok(address), Some((text, _))) = (u64::from_str_radix(address, 16), text.split_once(';'))
            else {
                continue;
            };
            let index = index_of(address).filter(|index| valid.get(*index) == Some(&true));
            if let Some(entry) = index.and_then(|index| texts.get_mut(index)) {
                *entry = Some(with_our_registers(text.trim()));
            }
        }
        Ok(texts)
    }

    /// Returns the listing in which invalid words are replaced, and which words are valid.
    fn listing(&self, words: &[u64], path: &Path) -> Result<(String, Vec<bool>)> {
        let mut bundles: Vec<u64> = words
            .chunks(7)
            .flat_map(|chunk| {
                [SCHEDULE].into_iter().chain(chunk.iter().copied()).chain(vec![NOP; 7 - chunk.len()])
            })
            .collect();
        let mut valid = vec![true; words.len()];
        loop {
            let bytes: Vec<u8> = bundles.iter().flat_map(|word| word.to_le_bytes()).collect();
            fs::write(path, bytes)?;
            let output =
                Command::new(&self.program).args(["-b", "SM35", "-hex", "-ndf"]).arg(path).output()?;
            if output.status.success() && !output.stdout.is_empty() {
                return Ok((String::from_utf8(output.stdout)?, valid));
            }
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            let mut is_new = false;
            for address in message.lines().filter_map(|line| line.split("at address 0x").nth(1)) {
                let address = u64::from_str_radix(address.trim(), 16)?;
                let index = index_of(address).context("an unexpected address")?;
                is_new |= std::mem::replace(valid.get_mut(index).context("an unexpected address")?, false);
                *bundles.get_mut(usize::try_from(address / 8)?).context("an unexpected address")? = NOP;
            }
            if !is_new {
                bail!("{}: {message}", self.program.display());
            }
        }
    }
}

/// Returns nvdisasm's text with our names of the registers that do not exist. A compare-and-swap reads one or two registers
/// after another: we print `RZ` for the registers after `RZ`, and `R256` for the second after `R254`. nvdisasm prints
/// `???255` for both, in a column that depends on the other lines.
fn with_our_registers(text: &str) -> String {
    const UNKNOWN: &str = "???255";
    let Some((start, rest)) = text.split_once(UNKNOWN) else { return text.to_owned() };
    let is_second = start.contains(".64") && start.trim_end().ends_with(" R254,");
    let name = if is_second { "R256" } else { "RZ" };
    format!("{} {name}{}", start.trim_end(), with_our_registers(rest))
}

/// Returns the address of an instruction in bundles of seven.
fn address_of(index: usize) -> u64 {
    let index = index as u64;
    (index / 7 * 8 + index % 7 + 1) * 8
}

/// Returns the index of the instruction at an address; `None` for scheduling words.
fn index_of(address: u64) -> Option<usize> {
    let slot = address / 8;
    usize::try_from(slot / 8 * 7 + (slot % 8).checked_sub(1)?).ok()
}
