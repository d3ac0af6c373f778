//! LLVM assembly compared with `llvm-dis-14`: a large module, a whole library, a single function of it, and memory.
//!
//! The large module consists of 500 functions of MLX, evenly spread over the library and linked with `llvm-link-14`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use unshade::metallib::Library;

use super::{in_turn, large_library, milliseconds, peak_memory, program, ratio, verdict};
use crate::sh;

/// The program for comparison.
const PEER: &str = "llvm-dis-14";
/// Number of functions in the large module.
const LINKED: usize = 500;
/// Number of functions that are passed to `llvm-dis` one by one.
const SAMPLED: usize = 1_000;

pub(crate) fn run(runs: usize) -> Result<()> {
    let folder = sh::root().join("target/bench/bitcode");
    fs::create_dir_all(&folder)?;
    let library = large_library()?;
    let large = linked(&folder, &library)?;
    let mut met = large_module(&large, runs)?;
    met &= whole_library(&folder, &library)?;
    let mut one = program();
    one.args(["dis", "--raw"]).arg(&library).arg(function_name(&library)?);
    let times = &in_turn(&mut [&mut one], runs)?[0];
    let best = times.best();
    met &= verdict(
        "a single function of the library, best",
        &milliseconds(best),
        "under 15 ms",
        best < Duration::from_millis(15),
    );
    ensure!(met, "not every target was met");
    Ok(())
}

/// Measures one large module on a single thread, without writing output: whole processes, then the work without
/// startup.
fn large_module(large: &Path, runs: usize) -> Result<bool> {
    let size = fs::metadata(large)?.len();
    println!("input: {} ({})", large.display(), sh::megabytes(size));
    let mut ours = program();
    ours.env("RAYON_NUM_THREADS", "1").args(["dis", "--raw"]).arg(large);
    let mut theirs = Command::new(PEER);
    theirs.arg(large).args(["-o", "-"]);
    let times = in_turn(&mut [&mut ours, &mut theirs], runs)?;
    println!(
        "     ours {}, {PEER} {}, medians of whole processes",
        milliseconds(times[0].median()),
        milliseconds(times[1].median())
    );
    let processes = ratio(&times[0], &times[1]);
    let mut met = verdict(
        "large module, whole process",
        &format!("{processes:.1} x"),
        "aim 10 x, at least 6 x",
        processes >= 6.0,
    );
    let alone = without_start(large, runs)?;
    met &= verdict(
        "large module, the work alone",
        &format!("{alone:.1} x"),
        "aim 10 x, at least 6 x",
        alone >= 6.0,
    );
    let memory = peak_memory(&ours)?;
    let most = 10 * size + 16_000_000;
    met &= verdict(
        "peak resident memory",
        &sh::megabytes(memory),
        &format!("at most {}", sh::megabytes(most)),
        memory <= most,
    );
    Ok(met)
}

/// Measures parsing and printing in memory, compared with `llvm-dis` minus its startup time. The measurement is an
/// example program of the crate, built with optimisation, because xtask may be built without. It prints the rates, and
/// the median of the ratios last.
fn without_start(large: &Path, runs: usize) -> Result<f64> {
    let mut speed = sh::cargo();
    speed.args(["run", "--release", "--quiet", "--package", "unshade-llvm", "--example", "speed", "--"]);
    speed.arg(large).args(["--program", PEER, "--rounds"]).arg(runs.to_string());
    let output = String::from_utf8(sh::capture(&mut speed)?.stdout)?;
    output.lines().for_each(|line| println!("     {line}"));
    let ratio = output.lines().last().and_then(|line| line.split_whitespace().last()?.parse().ok());
    ratio.context("the example printed no ratio")
}

/// Measures disassembling the whole library to files with two threads, and `llvm-dis` on a sample, one process per
/// function.
fn whole_library(folder: &Path, library: &Path) -> Result<bool> {
    let output = folder.join("library");
    let mut ours = Vec::new();
    let mut count = 0;
    for round in 0..3 {
        let output = output.join(round.to_string());
        let mut command = program();
        command.env("RAYON_NUM_THREADS", "2").args(["dis", "--raw"]).arg(library).arg("-o").arg(&output);
        fs::create_dir_all(&output)?;
        let started = Instant::now();
        sh::capture(&mut command)?;
        ours.push(started.elapsed());
        count = fs::read_dir(&output)?.count();
    }
    let samples = modules(&folder.join("sample"), library, SAMPLED)?;
    let started = Instant::now();
    for sample in &samples {
        sh::capture(Command::new(PEER).arg(sample))?;
    }
    let each = started.elapsed().as_secs_f64() / samples.len() as f64;
    fs::remove_dir_all(&output)?;
    let best = ours.into_iter().min().unwrap_or_default();
    let times = each * count as f64 / best.as_secs_f64();
    println!(
        "     {count} functions to files in {} (best of 3); {PEER} takes {:.1} ms for each of {}",
        sh::seconds(best),
        each * 1e3,
        samples.len()
    );
    Ok(verdict(
        "library to files, compared with a process per function",
        &format!("{times:.0} x"),
        "at least 100 x",
        times >= 100.0,
    ))
}

/// Writes the modules of `count` functions, evenly spread over a library, to files.
fn modules(folder: &Path, library: &Path, count: usize) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let data = fs::read(library)?;
    let parsed = Library::parse(&data)?;
    let functions: Vec<_> = parsed.functions().map_while(Result::ok).collect();
    let step = (functions.len() / count).max(1);
    let mut paths = Vec::new();
    for function in functions.iter().step_by(step).take(count) {
        let Some(module) = parsed.module(function)? else { continue };
        let path = folder.join(format!("{}.bc", function.index));
        fs::write(&path, module.bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

/// Returns the large module, linking it if necessary.
fn linked(folder: &Path, library: &Path) -> Result<PathBuf> {
    let path = folder.join("linked.bc");
    if !path.exists() {
        let modules = modules(&folder.join("linked"), library, LINKED)?;
        let mut link = Command::new("llvm-link-14");
        sh::capture(link.args(&modules).arg("-o").arg(&path))
            .context("the large module needs llvm-link-14")?;
    }
    Ok(path)
}

/// Returns the name of the function in the middle of a library.
fn function_name(library: &Path) -> Result<String> {
    let data = fs::read(library)?;
    let parsed = Library::parse(&data)?;
    let functions: Vec<_> = parsed.functions().map_while(Result::ok).collect();
    let name = functions.get(functions.len() / 2).and_then(|function| function.name);
    Ok(String::from_utf8(name.context("a function without a name")?.to_vec())?)
}
