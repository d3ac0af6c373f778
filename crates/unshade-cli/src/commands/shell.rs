//! `unshade completions`.

use crate::Outcome;
use crate::args::Args;
use crate::output::Stdout;
use anyhow::Result;
use clap::CommandFactory;
use std::io::Write;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Outcome> {
    // The generator panics if a write fails, so write to memory first.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "unshade", &mut script);
    let mut stdout = Stdout::new(false);
    stdout.write_all(&script)?;
    stdout.finish()?;
    Ok(Outcome::Done)
}
