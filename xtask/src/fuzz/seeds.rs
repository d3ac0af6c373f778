//! The inputs that fuzzing starts from: our own fixtures, and the small files of the corpus at `UNSHADE_CORPUS`.
//!
//! Every target gets all of them: libFuzzer keeps those that reach something new and forgets the others. A seed is
//! named by its hash, so that copying again changes nothing.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::sh;

/// Copies every seed of at most `max_len` bytes to the folder `corpus` and says how many there are.
pub(crate) fn copy(corpus: &Path, max_len: u64) -> Result<usize> {
    fs::create_dir_all(corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let mut count = 0;
    let fixtures = sh::root().join("tests/fixtures");
    if fixtures.is_dir() {
        copy_folder(&fixtures, corpus, max_len, &mut count)?;
    }
    if let Some(shared) = sh::env_path("UNSHADE_CORPUS") {
        copy_folder(&shared, corpus, max_len, &mut count)
            .context("in the folder that UNSHADE_CORPUS names")?;
    }
    Ok(count)
}

fn copy_folder(folder: &Path, corpus: &Path, max_len: u64, count: &mut usize) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&path, corpus, max_len, count)?;
        } else if kind.is_file() && entry.metadata()?.len() <= max_len {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = sh::sha256_hex(&bytes);
            let seed = corpus.join(&name[..40]);
            if !seed.exists() {
                fs::write(&seed, &bytes).with_context(|| format!("cannot write {}", seed.display()))?;
            }
            *count += 1;
        }
    }
    Ok(())
}
