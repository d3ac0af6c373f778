//! `cargo xtask conformance sass`: compares every available word and listing with the output of other tools.
//!
//! Real files come from `$UNSHADE_CORPUS/cuda`: word lists (`words/*.tsv.gz`), and cubins with listings of cuobjdump.
//! If an nvdisasm that knows the chip is on the `PATH` or in `UNSHADE_NVDISASM`, single-bit flips of words are compared as well,
//! and the words of a systematic search for rows that are wrong. `UNSHADE_NVDISASM` can name several programs, separated by
//! colons: 13.5 for chips from Turing on, 12.8 for Maxwell to Volta, 11.2 for Kepler. With `--packages`, the code in any files
//! is compared as well. Random words need no other tool.

mod chips;
mod envydis;
mod flips;
mod life;
mod listings;
mod oracle;
mod packages;
mod random;
mod search;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use unshade::sass::table::Isa;
use unshade::sass::{Instruction, assemble};

use crate::sh;

/// The number of correct and wrong results.
#[derive(Default)]
struct Tally {
    right: u64,
    wrong: u64,
}

impl Tally {
    /// Counts a result, and prints the first few wrong ones.
    fn count(&mut self, right: bool, show: impl FnOnce() -> String) {
        const SHOWN: u64 = 8;
        if right {
            self.right += 1;
        } else {
            if self.wrong < SHOWN {
                println!("  {}", show());
            }
            self.wrong += 1;
        }
    }

    fn report(&self, what: &str) -> u64 {
        println!("{what}: {} of {}", self.right, self.right + self.wrong);
        self.wrong
    }
}

/// Assembles the text of a word. Returns what is wrong if that does not lead to a word with the same text; several words may
/// have it.
fn fault_of_text(isa: &'static Isa, text: &str, address: u64, word: u128) -> Option<String> {
    let made = assemble::instruction(isa, text, address, word);
    let again = made.as_ref().ok().and_then(|word| Instruction::decode(isa, *word));
    let is_same = again.is_some_and(|again| again.text(address) == text);
    (!is_same).then(|| format!("{word:032x} {text}: {made:x?}"))
}

/// What is compared.
pub(super) struct Options<'a> {
    /// The number of mutants per chip, divided by a hundred.
    pub(super) sample: usize,
    /// The chips; none for all.
    pub(super) chips: &'a [u32],
    /// Files with machine code, and folders of them.
    pub(super) packages: &'a [PathBuf],
    /// The number of bytes of code per chip whose listings are compared.
    pub(super) listings: u64,
    /// The number of random words per chip.
    pub(super) random: u64,
}

/// Compares all chips, or those that are chosen, and the code in packages.
pub(super) fn run(options: &Options<'_>) -> Result<()> {
    let Some(corpus) = corpus() else {
        bail!("UNSHADE_CORPUS/cuda does not exist");
    };
    let &Options { sample, chips, packages, listings, random } = options;
    let tables = chips::tables()?;
    let mut wrong = random::run(&tables, chips, random);
    if chips.is_empty() {
        wrong += words::sm_35(&corpus)?;
        wrong += envydis::sm_30(&corpus)?;
        wrong += listings::run(&corpus)?;
        wrong += sm_35_oracle(&corpus, sample)?;
    }
    let found = packages::find(packages, chips, listings)?;
    wrong += chips::run(&corpus, &tables, chips, &found, sample * 100)?;
    if wrong > 0 {
        bail!("{wrong} differences");
    }
    Ok(())
}

/// Compares flips of `sample` words, and the words of a search in proportion, with nvdisasm 11.2.
fn sm_35_oracle(corpus: &Path, sample: usize) -> Result<u64> {
    let Some(oracle) = oracle::Oracle::find()? else {
        println!("flips and search: skipped, nvdisasm is not installed");
        return Ok(0);
    };
    let rows = words::rows(&corpus.join("words/sm_35.nvdisasm-11.2.tsv.gz"))?;
    let sizes = search::Sizes {
        starts: sample.div_ceil(500),
        corners: sample / 2,
        opcodes: sample.div_ceil(32),
        second: sample * 10,
        mutants: sample * 250,
    };
    Ok(flips::run(&oracle, &rows, sample)? + search::run(&oracle, &rows, sizes)?)
}

/// Returns all distinct words in the lists of a generation; none if there is no list.
pub(super) fn distinct_words(generation: &str) -> Result<Option<Vec<u128>>> {
    let Some(corpus) = corpus() else { return Ok(None) };
    let mut found = chips::words(&corpus, generation)?;
    let folder = corpus.join("words");
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(generation) && name.ends_with(".tsv.gz") {
            found.extend(words::rows(&path)?.into_iter().map(|row| row.word));
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// Returns the folder of CUDA files.
fn corpus() -> Option<PathBuf> {
    let folder = sh::env_path("UNSHADE_CORPUS")?.join("cuda");
    folder.is_dir().then_some(folder)
}
