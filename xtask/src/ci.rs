//! `cargo xtask ci`: the checks that every change must pass, the fastest first.

use std::env;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Options of `cargo xtask ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Skip `cargo test`, for callers that have already run it.
    #[arg(long)]
    skip_tests: bool,
}

/// One check: its name, the command, and advice for when it fails.
struct CheckStep {
    name: &'static str,
    command: Command,
    advice: &'static str,
}

/// Runs the checks, stopping at the first failure.
pub(crate) fn run(args: &Args) -> Result<()> {
    let started = Instant::now();
    let steps = steps(args.skip_tests);
    let mut times = Vec::new();
    for mut step in steps {
        let shown = sh::shown(&step.command);
        eprintln!("ci: {}: {shown}", step.name);
        let step_started = Instant::now();
        let status = step.command.status().with_context(|| format!("cannot start `{shown}`"))?;
        let time = sh::seconds(step_started.elapsed());
        if !status.success() {
            bail!("{} failed after {time}: {}", step.name, step.advice);
        }
        eprintln!("ci: {}: passed in {time}", step.name);
        times.push((step.name, time));
    }
    for (name, time) in &times {
        eprintln!("ci: {time:>9}  {name}");
    }
    eprintln!("ci: all {} steps passed in {}", times.len(), sh::seconds(started.elapsed()));
    Ok(())
}

fn steps(skip_tests: bool) -> Vec<CheckStep> {
    let mut steps = vec![
        CheckStep {
            name: "format",
            command: cargo(&["fmt", "--all", "--check"]),
            advice: "run `cargo fmt --all` (rustfmt comes with `rustup component add rustfmt`)",
        },
        CheckStep {
            name: "format of examples",
            command: cargo(&["fmt", "--manifest-path", "examples/naga/Cargo.toml", "--check"]),
            advice: "run `cargo fmt --manifest-path examples/naga/Cargo.toml`",
        },
        // The fuzz package is outside the workspace, because only instrumented builds of it are useful.
        CheckStep {
            name: "format of fuzz",
            command: cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]),
            advice: "run `cargo fmt --manifest-path fuzz/Cargo.toml`",
        },
        CheckStep {
            name: "lints",
            command: cargo(&["clippy", "--workspace", "--all-targets", "--", "-Dwarnings"]),
            advice: "fix what clippy printed above (clippy comes with `rustup component add clippy`)",
        },
        CheckStep {
            name: "documentation",
            command: with_env(cargo(&["doc", "--workspace", "--no-deps"]), "RUSTDOCFLAGS", "-Dwarnings"),
            advice: "fix what rustdoc printed above",
        },
        CheckStep {
            name: "generated files",
            command: xtask(&["codegen", "--check"]),
            advice: "run `cargo xtask codegen`",
        },
        CheckStep {
            name: "licences",
            command: xtask(&["licences"]),
            advice: "replace the dependency, or allow its licence in deny.toml and say why",
        },
        CheckStep {
            name: "fuzz targets",
            command: check_fuzz(),
            advice: "every target in fuzz/fuzz_targets needs its function in tests/src/fuzz_targets.rs",
        },
    ];
    if !skip_tests {
        steps.push(CheckStep {
            name: "tests",
            command: cargo(&["test", "--workspace"]),
            advice: "see the failing tests above",
        });
    }
    steps.push(CheckStep {
        name: "packages",
        command: xtask(&["package"]),
        advice: "what a crate embeds has to be in its own folder; manifests are described in CONTRIBUTING.md",
    });
    steps
}

/// Type-checks the fuzz package without a C++ compiler. With the path of a library, libfuzzer-sys does not build its
/// own; because a check never links, the file need not exist.
fn check_fuzz() -> Command {
    let command = cargo(&["check", "--manifest-path", "fuzz/Cargo.toml", "--bins"]);
    with_env(command, "CUSTOM_LIBFUZZER_PATH", "target/libfuzzer.a")
}

/// Runs another command of this program.
fn xtask(args: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap_or_else(|_| "cargo-xtask".into()));
    command.current_dir(sh::root()).args(args);
    command
}

fn cargo(args: &[&str]) -> Command {
    let mut command = sh::cargo();
    command.args(args);
    command
}

fn with_env(mut command: Command, name: &str, value: &str) -> Command {
    command.env(name, value);
    command
}
