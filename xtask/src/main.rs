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
mod licences;
mod loader_files;
mod package;
mod package_files;
mod protocol;
// The commands that are left out elsewhere use the rest of it.
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
    /// Measure the program beside its peers, on the same input in turn.
    #[cfg(unix)]
    Bench(bench::Args),
    #[cfg(unix)]
    #[command(hide = true)]
    PeakMemory(bench::PeakMemoryArgs),
    /// Run every check: formatting, lints, documentation, tests.
    Ci(ci::Args),
    /// Write what is made from the tables of instruction sets, and the files that every package carries.
    Codegen(codegen::Args),
    /// Compare what is read with what is known to be right, over every real file at hand.
    #[cfg(unix)]
    Conformance(conformance::Args),
    /// Download and verify the public packages whose GPU programs the conformance run reads.
    #[cfg(unix)]
    Corpus(corpus::Args),
    /// Build the program for others: small, stripped, and on Linux without any library of the system.
    Dist(dist::Args),
    /// Fuzz the parsers with coverage feedback, on the stable toolchain.
    Fuzz(fuzz::Args),
    /// Check the licences and the sources of all dependencies against deny.toml.
    Licences(licences::Args),
    /// Write files of ours for the loaders of Apple and Microsoft, with what those should say.
    LoaderFiles(loader_files::Args),
    /// Pack every crate for crates.io, and build and try the program from the packages alone.
    Package(package::Args),
    /// Put the page together for a static host, with the module that it runs.
    Web(web::Args),
    /// Test the page of the Explorer in Chromium.
    WebTest(web_test::Args),
}

impl Command {
    /// Whether the command works for long enough, or measures, so that a build with optimisations is worth its time. All
    /// other commands share the builds of `cargo test`.
    fn needs_release(&self) -> bool {
        match self {
            #[cfg(unix)]
            Self::Bench(_) | Self::Conformance(_) | Self::Corpus(_) | Self::PeakMemory(_) => true,
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
        Command::Licences(args) => licences::run(&args),
        Command::LoaderFiles(args) => loader_files::run(&args),
        Command::Package(args) => package::run(&args),
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
