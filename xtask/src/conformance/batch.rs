//! Programs that do many jobs, one line of output each, and that some jobs end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rayon::prelude::*;

use super::hlsl::oracle::follow;
use crate::sh;

/// Number of jobs of a process.
const BATCH: usize = 100;

/// How long a job may take. What takes longer has an end that depends on invented inputs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What became of a job.
pub(super) enum Outcome {
    /// What the program says.
    Said(String),
    Crashed,
    TimedOut,
}

/// Does jobs, which are pairs of files, with the program that `start` gets ready, and `extra` arguments.
pub(super) fn run(
    start: impl Fn() -> Command + Sync,
    extra: &[&str],
    jobs: &[(PathBuf, PathBuf)],
    folder: &Path,
) -> Result<Vec<Outcome>> {
    let batches: Vec<Vec<Outcome>> =
        jobs.par_chunks(BATCH).map(|jobs| batch(&start, extra, jobs, folder)).collect::<Result<_>>()?;
    Ok(batches.into_iter().flatten().collect())
}

fn batch(
    start: &impl Fn() -> Command,
    extra: &[&str],
    jobs: &[(PathBuf, PathBuf)],
    folder: &Path,
) -> Result<Vec<Outcome>> {
    let list = folder.join(sh::temporary("jobs").file_name().context("a name")?);
    let lines = jobs.iter().map(|(one, other)| format!("{}\t{}\n", one.display(), other.display()));
    std::fs::write(&list, lines.collect::<String>())?;
    let mut outcomes = Vec::new();
    while outcomes.len() < jobs.len() {
        let before = outcomes.len();
        let mut command = start();
        command.arg(&list).arg(before.to_string()).args(extra);
        process(&mut command, &mut outcomes)?;
        ensure!(outcomes.len() > before, "`{}` does nothing", sh::shown(&command));
    }
    Ok(outcomes)
}

/// Runs one process until it ends, and adds the outcomes of the jobs that it did, the last of which may have ended it.
fn process(command: &mut Command, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let has_ended = follow(child, PATIENCE, |line| {
        let number = outcomes.len().to_string();
        let (found, said) = line.split_once(' ').unwrap_or((line, ""));
        ensure!(found.trim_end() == number, "`{}` instead of job {number}", line.trim_end());
        let is_whole = line.ends_with('\n');
        outcomes.push(if is_whole { Outcome::Said(said.trim_end().into()) } else { Outcome::Crashed });
        Ok(())
    })?;
    if !has_ended {
        outcomes.push(Outcome::TimedOut);
    }
    Ok(())
}
