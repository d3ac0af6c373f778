//! The single entry point for all checks and development tasks of this repository: `cargo xtask COMMAND`.
//!
//! There is one file (or folder) per command; [`sh`] has shared functions for finding the workspace and running
//! programs.

mod bench;
mod ci;
mod codegen;
mod conformance;
mod corpus;
mod fuzz;
mod sh;
mod web;
mod web_test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks and development tasks of unshade.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure unshade, alternating with other programs on the same input.
    Bench(bench::Args),
    #[command(hide = true)]
    PeakMemory(bench::PeakMemoryArgs),
    /// Run every check: formatting, lints, documentation, tests.
    Ci(ci::Args),
    /// Generate files from the tables of instruction sets.
    Codegen(codegen::Args),
    /// Compare results with references, for every real file available.
    Conformance(conformance::Args),
    /// Download and verify the public packages with GPU programs for the conformance checks.
    Corpus(corpus::Args),
    /// Fuzz the parsers with coverage feedback, on the stable toolchain.
    Fuzz(fuzz::Args),
    /// Build the page and its WebAssembly module for a static host.
    Web(web::Args),
    /// Test the page of the Explorer in Chromium.
    WebTest(web_test::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Bench(args) => bench::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Codegen(args) => codegen::run(&args),
        Command::PeakMemory(args) => bench::run_peak_memory(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Corpus(args) => corpus::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Web(args) => web::run(&args),
        Command::WebTest(args) => web_test::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
