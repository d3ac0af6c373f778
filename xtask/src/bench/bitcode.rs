//! LLVM assembly printed and assembled, compared with LLVM 14: small modules, a large module, a whole library, a single
//! function of it, and memory.
//!
//! The small modules are functions of MLX, evenly spread over the library; the large module is 500 of them, linked with
//! `llvm-link-14`. Work *in process* is compared with `peers/llvm.c`, which uses LLVM's library: it needs a C compiler and
//! the development files of LLVM 14.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use unshade::metallib::Library;

use super::{Times, in_turn, large_library, milliseconds, peak_memory, program, ratio, target, verdict};
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
    met &= in_process(&folder, &library, &large, runs)?;
    met &= assembler(&folder, &library, runs)?;
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

/// Measures one large module on a single thread, without writing output: time and memory of whole processes.
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
    let memory = peak_memory(&ours)?;
    let most = 4 * size + 16_000_000;
    met &= verdict(
        "peak resident memory",
        &sh::megabytes(memory),
        &format!("at most {}", sh::megabytes(most)),
        memory <= most,
    );
    Ok(met)
}

/// Measures printing and assembling without processes: the example program of the crate, and the peer in C.
fn in_process(folder: &Path, library: &Path, large: &Path, runs: usize) -> Result<bool> {
    let peer = folder.join("llvm");
    let source = sh::root().join("xtask/peers/llvm.c");
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-I/usr/lib/llvm-14/include", "-L/usr/lib/llvm-14/lib"]).arg(source);
    sh::capture(compile.args(["-lLLVM-14", "-o"]).arg(&peer))
        .context("the peer needs a C compiler and the development files of LLVM 14")?;
    let mut build = sh::cargo();
    build.args(["build", "--release", "--quiet", "--package", "unshade-llvm", "--example", "in_process"]);
    sh::capture(&mut build)?;
    let ours = target().join("release/examples/in_process");
    let small = modules(&folder.join("sample"), library, SAMPLED)?;
    let texts = assembly(&small)?;
    let large_text = assembly(&[large.to_owned()])?;
    let mut met = true;
    let tasks: [(&str, &str, &[PathBuf], f64); 4] = [
        ("print small modules, in process", "print", &small, 8.0),
        ("print a large module, in process", "print", &[large.to_owned()], 10.0),
        ("assemble small modules, in process", "assemble", &texts, 0.0),
        ("assemble a large module, in process", "assemble", &large_text, 0.0),
    ];
    for (what, verb, files, least) in tasks {
        let seconds = |program: &Path| -> Result<Duration> {
            let output = sh::capture(Command::new(program).arg(verb).args(files))?.stdout;
            let text = String::from_utf8(output)?;
            let seconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
            Ok(Duration::from_secs_f64(seconds.context("no time was printed")?))
        };
        let (mut own, mut other) = (Times(Vec::new()), Times(Vec::new()));
        for _ in 0..runs {
            own.0.push(seconds(&ours)?);
            other.0.push(seconds(&peer)?);
        }
        let times = ratio(&own, &other);
        let aim = if least > 0.0 { format!("at least {least} x") } else { "no target".to_owned() };
        met &= verdict(what, &format!("{times:.1} x"), &aim, times >= least);
    }
    Ok(met)
}

/// Writes the text of modules beside them, and returns its paths.
fn assembly(modules: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let one = |module: &PathBuf| {
        let path = module.with_extension("ll");
        if !path.exists() {
            sh::capture(Command::new(PEER).arg(module).arg("-o").arg(&path))?;
        }
        Ok(path)
    };
    modules.iter().map(one).collect()
}

/// Measures assembling the text of a small module, as whole processes.
fn assembler(folder: &Path, library: &Path, runs: usize) -> Result<bool> {
    let texts = assembly(&modules(&folder.join("sample"), library, SAMPLED)?)?;
    let mut sized: Vec<(u64, &PathBuf)> = Vec::new();
    for text in &texts {
        sized.push((fs::metadata(text)?.len(), text));
    }
    sized.sort();
    let &(size, text) = sized.get(sized.len() / 2).context("the library has no functions")?;
    println!("input: {} ({})", text.display(), sh::megabytes(size));
    let output = folder.join("assembled.bc");
    let mut ours = program();
    ours.env("RAYON_NUM_THREADS", "1").arg("asm").arg(text).arg("--force").arg("-o").arg(&output);
    let mut theirs = Command::new("llvm-as-14");
    theirs.arg(text).arg("-o").arg(&output);
    let times = in_turn(&mut [&mut ours, &mut theirs], runs)?;
    let processes = ratio(&times[0], &times[1]);
    Ok(verdict(
        "assemble the small module of median size, whole process",
        &format!("{processes:.1} x"),
        "at least 5 x",
        processes >= 5.0,
    ))
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
