//! `cargo xtask ci`: the checks that every change passes, in the order in which they are quickest to fail.

use std::env;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::sh;

/// Options of `cargo xtask ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave out `cargo test`, for a caller that has run it already.
    #[arg(long)]
    skip_tests: bool,
}

/// One check: what it is called, the command, and what to do when it fails.
struct Step {
    name: &'static str,
    command: Command,
    advice: &'static str,
}

/// Runs the checks and stops at the first that fails.
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

fn steps(skip_tests: bool) -> Vec<Step> {
    let mut steps = vec![
        Step {
            name: "format",
            command: cargo(&["fmt", "--all", "--check"]),
            advice: "run `cargo fmt --all` (rustfmt comes with `rustup component add rustfmt`)",
        },
        // The fuzz package is outside of the workspace, because only instrumented builds of it make sense.
        Step {
            name: "format of fuzz",
            command: cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]),
            advice: "run `cargo fmt --manifest-path fuzz/Cargo.toml`",
        },
        Step {
            name: "lints",
            command: cargo(&["clippy", "--workspace", "--all-targets", "--", "-Dwarnings"]),
            advice: "mend what clippy printed above (clippy comes with `rustup component add clippy`)",
        },
        Step {
            name: "documentation",
            command: with_env(cargo(&["doc", "--workspace", "--no-deps"]), "RUSTDOCFLAGS", "-Dwarnings"),
            advice: "mend what rustdoc printed above",
        },
        Step {
            name: "generated files",
            command: xtask(&["codegen", "--check"]),
            advice: "run `cargo xtask codegen`",
        },
        Step {
            name: "licences",
            command: xtask(&["licences"]),
            advice: "replace the dependency, or allow its licence in deny.toml and say why",
        },
        Step {
            name: "fuzz targets",
            command: check_fuzz(),
            advice: "every target in fuzz/fuzz_targets needs its function in tests/src/fuzz_targets.rs",
        },
    ];
    if !skip_tests {
        steps.push(Step {
            name: "tests",
            command: cargo(&["test", "--workspace"]),
            advice: "the failing tests are named above",
        });
    }
    steps.push(Step {
        name: "packages",
        command: xtask(&["package"]),
        advice: "what a crate embeds has to be in its own folder; manifests are described in CONTRIBUTING.md",
    });
    steps
}

/// Type-checks the fuzz package without a C++ compiler: the path of a library keeps libfuzzer-sys from building its
/// own, and as a check never links, nobody misses the file.
fn check_fuzz() -> Command {
    let command = cargo(&["check", "--manifest-path", "fuzz/Cargo.toml", "--bins"]);
    with_env(command, "CUSTOM_LIBFUZZER_PATH", "target/libfuzzer.a")
}

/// Another command of this program.
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
