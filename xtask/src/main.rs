//! The one entry to every check and development job of this repository: `cargo xtask COMMAND`.
//!
//! One file (or folder) per command; [`sh`] holds what they share: finding the workspace, running programs.

mod bench;
mod ci;
mod codegen;
mod conformance;
mod corpus;
mod fuzz;
mod protocol;
mod sh;
mod web;
mod web_test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks and development jobs of unshade.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure the program beside its peers, on the same input in turn.
    Bench(bench::Args),
    #[command(hide = true)]
    PeakMemory(bench::PeakMemoryArgs),
    /// Run every check: formatting, lints, documentation, tests.
    Ci(ci::Args),
    /// Write what is made from the tables of instruction sets.
    Codegen(codegen::Args),
    /// Compare what is read with what is known to be right, over every real file at hand.
    Conformance(conformance::Args),
    /// Download and verify the public packages whose GPU programs the conformance run reads.
    Corpus(corpus::Args),
    /// Fuzz the parsers with coverage feedback, on the stable toolchain.
    Fuzz(fuzz::Args),
    /// Put the page together for a static host, with the module that it runs.
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
