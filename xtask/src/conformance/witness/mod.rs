//! `cargo xtask conformance witness`: which forms of instructions have a witness of their semantics that does not come from
//! the tables in `isa/`.
//!
//! It compiles the programs of `tests/fixtures/nvidia/witness/instructions.txt` with ptxas 11.2, beside the nvcc that
//! `UNSHADE_NVCC` names, counts the forms in the corpus, changes instructions of every witness, and compares the compiled
//! programs and `docs/isa-witnesses.md` with what it finds. `--write` rewrites both.

mod census;
mod compile;
mod coverage;
mod page;

use std::fs;
use std::path::Path;

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
    let text = page::text(&census, &coverage::all(&compiled)?);
    text.lines().filter(|line| line.ends_with(" % |")).for_each(|line| println!("{line}"));
    update(&sh::root().join("docs/isa-witnesses.md"), &text, write)
}

/// Returns the compiled programs: those that ptxas makes now, or without it those of the tests.
fn programs(write: bool) -> Result<Vec<Compiled>> {
    let Some(nvcc) = sh::env_path("UNSHADE_NVCC") else {
        println!("skipped: UNSHADE_NVCC does not name nvcc 11.2, so that nothing is compiled again");
        return Ok(kernel::all());
    };
    let ptxas = nvcc.parent().unwrap_or(Path::new("")).join("ptxas");
    let scratch = std::env::temp_dir().join(format!("unshade-witness-{}", std::process::id()));
    fs::create_dir_all(&scratch)?;
    let compiled = compile::all(&ptxas, &scratch);
    let _ = fs::remove_dir_all(&scratch);
    let compiled = compiled?;
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
