//! `cargo xtask bench SUITE`: compares unshade with another program on the same input, alternating between them.
//!
//! Because machines are noisy, a claim is a ratio: the programs run alternately, many times, and the result is the
//! ratio of the medians. Absolute times are the best of all warm runs.

mod bitcode;
mod decompile;
mod dxbc;
mod dxcontainer;
mod hlsl;
mod metallib;
mod metallib_write;
mod nv;
mod sass;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};

use crate::{corpus, sh};

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to measure.
    #[arg(value_enum)]
    suite: Suite,
    /// Number of warm runs of each program.
    #[arg(long, default_value_t = 20)]
    runs: usize,
}

/// The suites.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Suite {
    Bitcode,
    Decompile,
    Dxbc,
    #[value(alias = "dx")]
    Dxcontainer,
    Hlsl,
    Metallib,
    MetallibWrite,
    Nv,
    Sass,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let status = sh::cargo().args(["build", "--release", "--quiet", "--package", "unshade-cli"]).status()?;
    ensure!(status.success(), "building unshade failed");
    match args.suite {
        Suite::Bitcode => bitcode::run(args.runs),
        Suite::Decompile => decompile::run(args.runs),
        Suite::Dxbc => dxbc::run(args.runs),
        Suite::Dxcontainer => dxcontainer::run(args.runs),
        Suite::Hlsl => hlsl::run(args.runs),
        Suite::Metallib => metallib::run(args.runs),
        Suite::MetallibWrite => metallib_write::run(args.runs),
        Suite::Nv => nv::run(args.runs),
        Suite::Sass => sass::run(args.runs),
    }
}

/// Returns a command that runs the unshade that was built.
fn program() -> Command {
    Command::new(target().join("release/unshade"))
}

/// Returns the folder of what cargo builds.
fn target() -> PathBuf {
    let target = sh::env_path("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    if target.is_relative() { sh::root().join(target) } else { target }
}

/// The times of many runs.
struct Times(Vec<Duration>);

impl Times {
    fn best(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }

    fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}

/// Returns how much longer the second took than the first: the median of the ratios of consecutive runs.
fn ratio(ours: &Times, theirs: &Times) -> f64 {
    let pairs = ours.0.iter().zip(&theirs.0);
    let mut ratios: Vec<f64> =
        pairs.map(|(ours, theirs)| theirs.as_secs_f64() / ours.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs the commands alternately, once to warm up and then `runs` times. Returns the times of each.
fn in_turn(commands: &mut [&mut Command], runs: usize) -> Result<Vec<Times>> {
    let mut times: Vec<Times> = commands.iter().map(|_| Times(Vec::new())).collect();
    for round in 0..=runs {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            let started = Instant::now();
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
            let elapsed = started.elapsed();
            let status = status.with_context(|| format!("cannot start `{}`", sh::shown(command)))?;
            ensure!(status.success(), "`{}` failed", sh::shown(command));
            if round > 0 {
                times.0.push(elapsed);
            }
        }
    }
    Ok(times)
}

/// Returns the peak memory of a program in bytes, including mapped files. The system reports the peak of *any* child,
/// so a new process of ours runs only this program.
fn peak_memory(command: &Command) -> Result<u64> {
    let mut measure = Command::new(std::env::current_exe()?);
    measure.arg("peak-memory").arg(command.get_program()).args(command.get_args());
    let output = sh::capture(&mut measure)?;
    String::from_utf8(output.stdout)?.trim().parse().context("the measuring process did not print a number")
}

/// Options of `cargo xtask peak-memory`, which `bench` uses.
#[derive(clap::Args)]
pub(crate) struct PeakMemoryArgs {
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs a program and prints its peak memory in bytes.
pub(crate) fn run_peak_memory(args: &PeakMemoryArgs) -> Result<()> {
    let [program, arguments @ ..] = args.command.as_slice() else { bail!("no program") };
    let mut command = Command::new(program);
    let status = command.args(arguments).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "`{}` failed", sh::shown(&command));
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // Linux reports kilobytes, macOS bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    println!("{}", u64::try_from(usage.max_rss())? * unit);
    Ok(())
}

/// Returns the largest library in any package: 147 MB, 17,248 functions.
fn large_library() -> Result<PathBuf> {
    Ok(unpacked(("mlx-metal", "0.32.4-py3-none-macosx_14"))?.join("mlx/lib/mlx.metallib"))
}

/// Returns the folder of a wheel's members, unpacking it if necessary.
fn unpacked((name, part): (&str, &str)) -> Result<PathBuf> {
    corpus::unpack(&corpus::cached_package(name, part)?)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Prints a figure with its target.
fn verdict(what: &str, figure: &str, aim: &str, met: bool) -> bool {
    println!("{} {what:<46} {figure:>18}   {aim}", if met { "ok  " } else { "MISS" });
    met
}
