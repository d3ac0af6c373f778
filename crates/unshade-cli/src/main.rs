//! The program `unshade`: opens any compiled GPU program.
//!
//! One file a subcommand in [`commands`]; around them [`args`] (the command line), [`input`] (files, standard input,
//! what is inside of them), [`output`] (standard output, files that are written), [`paint`] (colour and layout) and
//! [`progress`].

mod args;
mod commands;
mod input;
mod output;
mod paint;
mod progress;

use clap::Parser;
use std::process::ExitCode;

/// How a command ended when nothing went wrong with the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit status 0.
    Done,
    /// Exit status 1: a difference, nothing found, or a check that failed.
    Finding,
    /// Exit status 2: an input could not be read; the others were.
    Unreadable,
}

impl Outcome {
    /// The outcome of two things done one after the other: the worse one.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unreadable, _) | (_, Self::Unreadable) => Self::Unreadable,
            (Self::Finding, _) | (_, Self::Finding) => Self::Finding,
            _ => Self::Done,
        }
    }
}

fn main() -> ExitCode {
    let args = args::Args::parse();
    args.global.color.write_global();
    match commands::run(args) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Finding) => ExitCode::from(1),
        Ok(Outcome::Unreadable) => ExitCode::from(2),
        // A reader that has seen enough (`| head`) is no failure.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("{}: {error:#}", paint::error("unshade"));
            ExitCode::from(2)
        }
    }
}
