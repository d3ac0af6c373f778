//! The program `unshade`: opens any compiled GPU program.
//!
//! [`main`] is all of it, so that a program with one more format is a file that describes the format and a `main` that
//! registers it (`examples/made_up`).
//!
//! There is one file per subcommand in `commands`; around them `args` (the command line), `input` (files, standard input,
//! what is inside of them), `output` (standard output, files that are written), `layout` and `paint` (columns and colour)
//! and `progress`.

mod args;
mod commands;
mod input;
mod large_text;
mod layout;
mod output;
mod paint;
mod progress;
mod runner;

use clap::Parser;
use std::process::ExitCode;

/// How a command ended when nothing went wrong with the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit status 0.
    Done = 0,
    /// Exit status 1: a difference, nothing found, or a check that failed.
    Finding = 1,
    /// Exit status 2: misuse, or an input that could not be read; the others were.
    Unreadable = 2,
}

impl Outcome {
    /// The outcome of two things done one after the other: the worse one.
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
        // A reader that has seen enough (`| head`) is no failure.
        Err(error) if output::is_broken_pipe(&error) => Outcome::Done,
        Err(error) => Outcome::of_error(&error),
    };
    ExitCode::from(outcome as u8)
}
