//! `cargo xtask fuzz`: coverage-guided fuzzing on the stable toolchain.
//!
//! `cargo fuzz` uses a nightly compiler, but needs only what stable has as well: LLVM's coverage pass (`-Cpasses`),
//! libFuzzer (included as source in the crate libfuzzer-sys), and a binary per target, in `fuzz/fuzz_targets`. There
//! is no address sanitizer: fuzzing finds panics, overflows, timeouts and memory use, which is what can go wrong in
//! safe Rust.

mod output;
mod seeds;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use self::output::Progress;
use crate::sh;

/// Flags of the instrumented build: edge counters (and a table of their addresses), which show libFuzzer which edges an
/// input reached, and traced comparisons, which show it which constants to try. `fuzz/Cargo.toml` enables assertions
/// and overflow checks.
const RUSTFLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// Default number of runs per target.
const DEFAULT_RUNS: u64 = 1_000_000;
/// Timeout per input in seconds.
const TIMEOUT: u64 = 10;
/// Memory limit in megabytes.
const RSS_LIMIT: u64 = 1024;
/// Interval between progress reports.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz metallib --seconds 60\n  \
                        cargo xtask fuzz metallib --input fuzz/artifacts/metallib/crash-…\n\nExit status: 0 if \
                        nothing was found, 1 on a finding or an error.")]
pub(crate) struct Args {
    /// Targets to run, by their file names in fuzz/fuzz_targets [default: all].
    targets: Vec<String>,
    /// Number of inputs to try per target [default: 1000000, or unlimited if --seconds is given].
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Duration per target in seconds.
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// Chips whose instruction sets `sass` and `sass_text` try, separated by commas [default: all].
    #[arg(long, value_name = "CHIPS")]
    chips: Option<String>,
    /// Run a single input, such as a finding, and show the result.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "seconds"])]
    input: Option<PathBuf>,
}

/// Builds the targets and runs each in turn.
pub(crate) fn run(args: &Args) -> Result<()> {
    let fuzz = sh::root().join("fuzz");
    let targets = selected(&fuzz, &args.targets)?;
    let binaries = build(&fuzz, &targets)?;
    if let Some(input) = &args.input {
        ensure!(targets.len() == 1, "--input needs one target: `cargo xtask fuzz TARGET --input FILE`");
        return run_input(&binaries.join(&targets[0]), input);
    }

    let mut findings = Vec::new();
    for target in &targets {
        let corpus = fuzz.join("corpus").join(target);
        let seeds = seeds::copy(target, &corpus)?;
        println!("{target}: {seeds} seeds");
        let artifacts = fuzz.join("artifacts").join(target);
        let command = command(target, &binaries, &corpus, &artifacts, args)?;
        findings.extend(run_target(target, command)?);
    }
    ensure!(
        findings.is_empty(),
        "{} of {} targets have findings. To reproduce them:\n  {}",
        findings.len(),
        targets.len(),
        findings.join("\n  ")
    );
    Ok(())
}

/// Returns the targets to run: the requested ones, or all.
fn selected(fuzz: &Path, asked: &[String]) -> Result<Vec<String>> {
    let dir = fuzz.join("fuzz_targets");
    let mut all = Vec::new();
    for entry in fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(stem) = path.file_stem()
        {
            all.push(stem.to_string_lossy().into_owned());
        }
    }
    all.sort();
    if let Some(unknown) = asked.iter().find(|name| !all.contains(name)) {
        bail!("unknown fuzz target `{unknown}`; the targets are: {}", all.join(", "));
    }
    Ok(if asked.is_empty() { all } else { asked.to_vec() })
}

/// Builds the targets with instrumentation. Returns the folder of the binaries.
fn build(fuzz: &Path, targets: &[String]) -> Result<PathBuf> {
    let host = host_triple()?;
    let target_dir = fuzz.join("target");
    let mut command = sh::cargo();
    command
        .args(["build", "--release", "--manifest-path"])
        .arg(fuzz.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir)
        // Naming a target, even the host, keeps these flags away from build scripts, which would not link with them.
        .args(["--target", &host])
        .env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\u{1f}"));
    for target in targets {
        command.args(["--bin", target]);
    }
    println!("building {} with coverage instrumentation", targets.join(", "));
    let status = command.status().context("cannot start cargo")?;
    ensure!(
        status.success(),
        "building the fuzz targets failed. Each needs a [[bin]] in fuzz/Cargo.toml and a function in \
         tests/src/fuzz_targets.rs; libFuzzer needs a C++ compiler (g++ or clang++)"
    );
    Ok(target_dir.join(host).join("release"))
}

fn host_triple() -> Result<String> {
    let output = sh::capture(Command::new("rustc").arg("-vV"))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("`rustc -vV` names no host")
}

/// Runs one input, with output to the terminal.
fn run_input(binary: &Path, input: &Path) -> Result<()> {
    ensure!(input.is_file(), "{} is not a file", input.display());
    let status = Command::new(binary)
        .args(limits())
        .arg(input)
        .status()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    ensure!(status.success(), "{} is a finding ({status})", input.display());
    println!("{}: nothing found", input.display());
    Ok(())
}

/// Returns the command that fuzzes a target from `corpus` and writes findings to `artifacts`.
fn command(target: &str, binaries: &Path, corpus: &Path, artifacts: &Path, args: &Args) -> Result<Command> {
    fs::create_dir_all(artifacts).with_context(|| format!("cannot make {}", artifacts.display()))?;
    let mut command = Command::new(binaries.join(target));
    command.args(limits()).arg("-print_final_stats=1").arg(format!("-max_len={}", seeds::max_len(target)));
    if let Some(chips) = &args.chips {
        command.env("UNSHADE_FUZZ_CHIPS", chips);
    }
    if let Some(seconds) = args.seconds {
        command.arg(format!("-max_total_time={seconds}"));
    }
    if let Some(runs) = args.runs.or(args.seconds.is_none().then_some(DEFAULT_RUNS)) {
        command.arg(format!("-runs={runs}"));
    }
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(corpus).env("RUST_BACKTRACE", "1");
    Ok(command)
}

/// Fuzzes a target. Returns the command that reproduces the finding, if any.
fn run_target(target: &str, mut command: Command) -> Result<Option<String>> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", sh::shown(&command)))?;
    let mut progress = Progress::new();
    let mut reported = Instant::now();
    if let Some(stderr) = child.stderr.take() {
        // Lossy, because the fuzzer prints bytes of the inputs.
        for line in BufReader::new(stderr).split(b'\n') {
            progress.line(&String::from_utf8_lossy(&line?));
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                println!("{target}: {progress} so far");
            }
        }
    }
    let status = child.wait()?;

    if status.success() {
        println!("{target}: {progress}, no findings");
        return Ok(None);
    }
    println!("{target}: {progress}, FINDING ({status})\n{}", progress.tail());
    let input = progress.artifact().unwrap_or("FILE");
    Ok(Some(format!("cargo xtask fuzz {target} --input {input}")))
}

/// Returns the limits for every run of an input.
fn limits() -> [String; 2] {
    [format!("-timeout={TIMEOUT}"), format!("-rss_limit_mb={RSS_LIMIT}")]
}
