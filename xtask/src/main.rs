//! The single entry point for all checks and development tasks of this repository: `cargo xtask COMMAND`.
//!
//! There is one file (or folder) per command; [`sh`] has shared functions for finding the workspace and running
//! programs.

#[cfg(unix)]
mod bench;
mod ci;
mod codegen;
#[cfg(unix)]
mod conformance;
#[cfg(unix)]
mod corpus;
mod dist;
mod fuzz;
mod intrinsics;
mod learn;
mod licences;
mod loader_files;
mod nvdisasm;
mod package;
mod package_files;
mod page;
mod protocol;
// On other systems the omitted commands leave some functions unused.
#[cfg_attr(not(unix), allow(dead_code))]
mod sh;
mod web;
mod web_test;
mod workspace;

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
    /// Measure the program and comparable programs, alternately on the same input.
    #[cfg(unix)]
    Bench(bench::Args),
    #[cfg(unix)]
    #[command(hide = true)]
    PeakMemory(bench::PeakMemoryArgs),
    /// Run every check: formatting, lints, documentation, tests.
    Ci(ci::Args),
    /// Generate the files that derive from the instruction-set tables, and the files of every package.
    Codegen(codegen::Args),
    /// Compare results with known correct ones, for every real file available.
    #[cfg(unix)]
    Conformance(conformance::Args),
    /// Download and verify the public packages whose GPU programs the conformance run reads.
    #[cfg(unix)]
    Corpus(corpus::Args),
    /// Build the program for distribution: small, stripped, and on Linux without shared libraries.
    Dist(dist::Args),
    /// Fuzz the parsers with coverage feedback, on the stable toolchain.
    Fuzz(fuzz::Args),
    /// Generate the attributes of target intrinsics from what LLVM's programs print.
    Intrinsics(intrinsics::Args),
    /// Learn how a chip encodes instructions from words and nvdisasm, and draft rows of tables.
    Learn(learn::Args),
    /// Check the licences and the sources of all dependencies against deny.toml.
    Licences(licences::Args),
    /// Write test files for the loaders of Apple and Microsoft, with the expected results.
    LoaderFiles(loader_files::Args),
    /// Pack every crate for crates.io, then build and test the program from the packages alone.
    Package(package::Args),
    /// Build the page for a static host, with its WebAssembly module.
    Web(web::Args),
    #[cfg(unix)]
    #[command(hide = true)]
    RunVerbs(conformance::metal::mutants::VerbsArgs),
    /// Test the page of the Explorer in Chromium.
    WebTest(web_test::Args),
}

impl Command {
    /// Returns whether the command runs long enough, or measures, so that an optimised build pays off. All other
    /// commands share the builds of `cargo test`.
    fn needs_release(&self) -> bool {
        match self {
            #[cfg(unix)]
            Self::Bench(_) | Self::Corpus(_) | Self::PeakMemory(_) | Self::RunVerbs(_) => true,
            #[cfg(unix)]
            Self::Conformance(args) => args.needs_release(),
            Self::Learn(_) => true,
            _ => false,
        }
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let result = match command {
        _ if cfg!(debug_assertions) && command.needs_release() => sh::run_in_release(),
        #[cfg(unix)]
        Command::Bench(args) => bench::run(&args),
        Command::Ci(args) => ci::run(&args),
        Command::Codegen(args) => codegen::run(&args),
        #[cfg(unix)]
        Command::PeakMemory(args) => bench::run_peak_memory(&args),
        #[cfg(unix)]
        Command::Conformance(args) => conformance::run(&args),
        #[cfg(unix)]
        Command::Corpus(args) => corpus::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Intrinsics(args) => intrinsics::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Licences(args) => licences::run(&args),
        Command::LoaderFiles(args) => loader_files::run(&args),
        Command::Package(args) => package::run(&args),
        #[cfg(unix)]
        Command::RunVerbs(args) => conformance::metal::mutants::run_verbs(&args),
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
