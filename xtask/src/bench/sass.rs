//! Machine code: the disassembler on one thread, and whole cubins compared with `nvdisasm -c`.
//!
//! The cubins come from `$UNSHADE_CORPUS/cuda`. nvdisasm is the first of `UNSHADE_NVDISASM` and `PATH` that knows the chip; both
//! programs run once for each cubin that it reads.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use unshade::core::{Diagnostics, Reader};
use unshade::nv::Cubin;
use unshade::sass_listing::{self, SassOptions};

use super::{in_turn, program, verdict};
use crate::{nvdisasm, sh};

/// Target: the speed relative to nvdisasm.
const TIMES: f64 = 50.0;

/// Target: megabytes of text per second, on one thread.
const MEGABYTES: f64 = 100.0;

/// Folders with the cubins of a family.
struct Family {
    name: &'static str,
    folders: &'static [&'static str],
}

const FAMILIES: [Family; 3] = [
    Family { name: "Kepler", folders: &["sm_35"] },
    Family { name: "Maxwell and Pascal", folders: &["sm_52", "sm_60", "sm_61", "kernels/sm_50"] },
    Family {
        name: "Volta to Blackwell",
        folders: &["sm_70", "kernels/sm_70", "kernels/sm_86", "kernels/sm_90", "kernels/sm_120"],
    },
];

pub(crate) fn run(runs: usize) -> Result<()> {
    let corpus = sh::env_path("UNSHADE_CORPUS").context("UNSHADE_CORPUS is not set")?.join("cuda");
    let mut is_met = true;
    for family in FAMILIES {
        let cubins = cubins(&corpus, family.folders)?;
        ensure!(!cubins.is_empty(), "there are no cubins of {} in {}", family.name, corpus.display());
        is_met &= steady(family.name, &cubins)?;
        is_met &= beside_nvdisasm(family.name, &cubins, runs)?;
    }
    ensure!(is_met, "a target was missed");
    Ok(())
}

/// A cubin and its chip.
struct Input {
    path: PathBuf,
    bytes: Vec<u8>,
    chip: u32,
}

fn cubins(corpus: &Path, folders: &[&str]) -> Result<Vec<Input>> {
    let mut paths = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(corpus.join(folder)).into_iter().flatten() {
            paths.push(entry?.path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path)?;
        let chip = Cubin::read(Reader::new(&bytes))?.arch();
        Ok(Input { path, bytes, chip })
    };
    paths.into_iter().map(read).collect()
}

/// Measures decoding and printing on one thread.
fn steady(family: &str, cubins: &[Input]) -> Result<bool> {
    let options = SassOptions { raw: true, ..SassOptions::default() };
    let mut best = f64::MAX;
    let (mut code, mut size) = (0, 0);
    let mut text = String::new();
    for _ in 0..10 {
        (code, size) = (0, 0);
        let start = Instant::now();
        for input in cubins {
            let cubin = Cubin::read(Reader::new(&input.bytes))?;
            code += cubin.code_sections().map(|section| section.size).sum::<u64>();
            text.clear();
            sass_listing::cubin(&cubin, &|_| true, options, &mut Diagnostics::new(), &mut text);
            size += text.len();
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let rate = size as f64 / 1e6 / best;
    let what = format!("{family}: text of {} of code, one thread", sh::megabytes(code));
    let figure = format!("{rate:.0} MB/s");
    Ok(verdict(&what, &figure, &format!("at least {MEGABYTES:.0} MB/s"), rate >= MEGABYTES))
}

/// Measures both programs as processes, one for each cubin.
fn beside_nvdisasm(family: &str, cubins: &[Input], runs: usize) -> Result<bool> {
    let ours = program().get_program().to_string_lossy().into_owned();
    let (mut our_lines, mut their_lines) = (Vec::new(), Vec::new());
    let mut found = BTreeMap::new();
    for input in cubins {
        if let Entry::Vacant(entry) = found.entry(input.chip) {
            entry.insert(nvdisasm::find_for(input.chip)?);
        }
        let Some(nvdisasm) = found.get(&input.chip).and_then(Option::as_ref) else {
            println!("{family}: not compared, no nvdisasm knows sm_{}", input.chip);
            return Ok(true);
        };
        let mut tried = Command::new(nvdisasm);
        tried.arg("-c").arg(&input.path).stdout(Stdio::null()).stderr(Stdio::null());
        if !tried.status().is_ok_and(|status| status.success()) {
            continue;
        }
        let path = input.path.display();
        our_lines.push(format!("'{ours}' dis --raw '{path}'"));
        their_lines.push(format!("'{}' -c '{path}'", nvdisasm.display()));
    }
    let count = our_lines.len();
    if count == 0 {
        println!("{family}: not compared, nvdisasm reads none of the cubins");
        return Ok(true);
    }
    let command = |lines: Vec<String>| {
        let mut command = Command::new("sh");
        command.args(["-c", &lines.join(" && ")]);
        command
    };
    let times = in_turn(&mut [&mut command(our_lines), &mut command(their_lines)], runs.min(5))?;
    let ratio = times[1].median().as_secs_f64() / times[0].median().as_secs_f64();
    let what = format!("{family}: {count} cubins as processes, vs. nvdisasm");
    let figure = format!("{ratio:.0} times as fast");
    Ok(verdict(&what, &figure, &format!("at least {TIMES:.0}"), ratio >= TIMES))
}
