//! `cargo xtask conformance witness`: which forms of instructions have a witness of their semantics that does not come from
//! the tables in `isa/`.
//!
//! It compiles the programs of `tests/fixtures/nvidia/witness/instructions.txt` with ptxas 11.2, beside the nvcc that
//! `UNSHADE_NVCC` names, counts the forms in the corpus, changes instructions of every witness, and compares the compiled
//! programs and `docs/isa-witnesses.md` with what it finds. Forms without a witness are looked for in the packages
//! ([`recompiled`]). `--write` rewrites both.

mod census;
mod compile;
mod coverage;
mod page;
mod recompiled;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use unshade_tests::witness::kernel::{self, Compiled};
use unshade_tests::witness::rows;

use crate::sh;

/// The first line of the compiled programs.
const HEADING: &str = "# Compiled from instructions.txt by `cargo xtask conformance witness --write`: see tests/src/witness/kernel.rs.\n";

pub(super) fn run(write: bool) -> Result<()> {
    let compiled = programs(write)?;
    println!("programs: {}", compiled.len());
    println!(
        "constants of ptxas: {}",
        compiled.iter().flat_map(|compiled| &compiled.folded).flatten().count()
    );
    let census = census::all()?;
    if census.is_empty() {
        println!("skipped: there are no cubins, so that no forms can be counted");
        return Ok(());
    }
    let mut coverage = coverage::all(&compiled)?;
    if let Some(ptxas) = ptxas() {
        let has_none = |form: &str| coverage.get(form).is_none_or(|known| known.kinds.is_empty());
        let wanted: BTreeSet<&str> =
            census.keys().map(String::as_str).filter(|form| has_none(form)).collect();
        for form in with_scratch(|scratch| recompiled::forms(&ptxas, scratch, &wanted))? {
            coverage.entry(form).or_default().kinds.insert(coverage::RECOMPILED);
        }
    }
    let text = page::text(&census, &coverage);
    text.lines().filter(|line| line.ends_with(" % |")).for_each(|line| println!("{line}"));
    update(&sh::root().join("docs/isa-witnesses.md"), &text, write)
}

/// Returns the path of ptxas beside the nvcc of the environment.
fn ptxas() -> Option<PathBuf> {
    Some(sh::env_path("UNSHADE_NVCC")?.with_file_name("ptxas"))
}

/// Runs a function with an empty folder, which is removed afterwards.
fn with_scratch<T>(run: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let scratch = std::env::temp_dir().join(format!("unshade-witness-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let result = run(&scratch);
    let _ = fs::remove_dir_all(&scratch);
    result
}

/// Returns the compiled programs: those that ptxas makes now, or without it those of the tests.
fn programs(write: bool) -> Result<Vec<Compiled>> {
    let Some(ptxas) = ptxas() else {
        println!("skipped: UNSHADE_NVCC does not name nvcc 11.2, so that nothing is compiled again");
        return Ok(kernel::all());
    };
    let compiled = with_scratch(|scratch| compile::all(&ptxas, scratch))?;
    let text: String = compiled.iter().map(|compiled| format!("{compiled}\n")).collect();
    update(&rows::folder().join("sm_35.txt"), &(HEADING.to_owned() + &text), write)?;
    Ok(compiled)
}

/// Writes a file, or checks that it is up to date.
fn update(path: &Path, text: &str, write: bool) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    if !write {
        bail!("{} is out of date; run `cargo xtask conformance witness --write`", path.display());
    }
    Ok(fs::write(path, text)?)
}
