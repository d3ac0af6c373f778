//! The program `unshade`: opens any compiled GPU program.
//!
//! [`main`] is the whole program, so a program with one more format is a file that describes the format and a `main`
//! that registers it (`examples/made_up`).
//!
//! There is one file per subcommand in `commands`. Around them are `args` (the command line), `input` (files, standard
//! input and their contents), `output` (standard output, written files), `layout` and `paint` (columns and colour) and
//! `progress`.

mod args;
mod commands;
mod input;
mod layout;
mod output;
mod paint;
mod progress;
mod runner;

use clap::Parser;
use std::process::ExitCode;

/// The outcome of a command that ran without an error of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit status 0.
    Done = 0,
    /// Exit status 1: a difference, nothing found, or a check that failed.
    Finding = 1,
    /// Exit status 2: misuse, or an unreadable input; the other inputs were read.
    Unreadable = 2,
}

impl Outcome {
    /// Returns the outcome of two consecutive actions: the worse one.
    pub(crate) fn and(self, other: Self) -> Self {
        if self as u8 > other as u8 { self } else { other }
    }

    /// Reports an error on standard error.
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
        anstream::eprintln!("{}", Self::message_of(error));
        Self::without_error(error)
    }

    /// Returns the line that reports an error.
    pub(crate) fn message_of(error: &anyhow::Error) -> String {
        format!("{}: {error:#}", paint::error("unshade"))
    }

    /// Returns the outcome of an error that is reported elsewhere.
    pub(crate) fn without_error(error: &anyhow::Error) -> Self {
        if error.is::<input::NothingFound>() { Self::Finding } else { Self::Unreadable }
    }
}

/// Runs the command line.
pub fn main() -> ExitCode {
    let args = args::Args::parse();
    args.global.color.write_global();
    let outcome = match commands::run(args) {
        Ok(outcome) => outcome,
        // A reader that closes the pipe early (`| head`) is not an error.
        Err(error) if output::is_broken_pipe(&error) => Outcome::Done,
        Err(error) => Outcome::of_error(&error),
    };
    ExitCode::from(outcome as u8)
}
