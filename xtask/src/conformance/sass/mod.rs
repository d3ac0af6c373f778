//! `cargo xtask conformance sass`: every word and every listing at hand, beside what other tools read there.
//!
//! Real files come from `$UNSHADE_CORPUS/cuda`: word lists (`words/*.tsv.gz`), cubins and cuobjdump's listings of them.
//! With nvdisasm 11.2 on the `PATH`, or in `UNSHADE_NVDISASM`, random words and single-bit flips are compared as well.

mod envydis;
mod flips;
mod listings;
mod words;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::sh;

/// How many of something are as they should be.
#[derive(Default)]
struct Tally {
    right: u64,
    wrong: u64,
}

impl Tally {
    /// Counts one, and shows the first few that are wrong.
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

pub(super) fn run(sample: Option<usize>) -> Result<()> {
    let Some(corpus) = corpus() else {
        bail!("UNSHADE_CORPUS/cuda is not there");
    };
    let mut wrong = words::sm_35(&corpus)?;
    wrong += envydis::sm_30(&corpus)?;
    wrong += listings::run(&corpus)?;
    wrong += flips::run(&corpus, sample.unwrap_or(2_000))?;
    if wrong > 0 {
        bail!("{wrong} differ");
    }
    Ok(())
}

/// Every distinct word of the lists of a generation; none if there is no list.
pub(super) fn distinct_words(generation: &str) -> Result<Option<Vec<u64>>> {
    let Some(folder) = corpus().map(|folder| folder.join("words")).filter(|folder| folder.is_dir()) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(generation) && name.ends_with(".tsv.gz") {
            found.extend(words::rows(&path)?.into_iter().filter_map(|row| u64::try_from(row.word).ok()));
        }
    }
    Ok((!found.is_empty()).then_some(found))
}

/// The folder of CUDA files.
fn corpus() -> Option<PathBuf> {
    let folder = sh::env_path("UNSHADE_CORPUS")?.join("cuda");
    folder.is_dir().then_some(folder)
}
