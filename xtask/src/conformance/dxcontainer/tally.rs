//! Counts of what is the same, by name, with the causes of what is not; and the check of files that counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use rayon::prelude::*;

/// Maximum number of causes to print for each name, and of failures.
const SHOWN: usize = 12;

/// The results for one name.
#[derive(Default)]
struct Row {
    same: u64,
    of: u64,
    /// By cause: the number of containers, and one of them.
    causes: BTreeMap<String, (u64, String)>,
}

/// The results for all names.
#[derive(Default)]
pub(super) struct Tally(BTreeMap<String, Row>);

impl Tally {
    /// Counts a container for a name.
    pub(super) fn count(&mut self, of: &str, same: bool, container: &str, cause: impl FnOnce() -> String) {
        let row = self.0.entry(of.into()).or_default();
        row.of += 1;
        row.same += u64::from(same);
        if !same {
            row.causes.entry(cause()).or_insert_with(|| (0, container.into())).0 += 1;
        }
    }

    /// Adds the counts of other containers.
    pub(super) fn add(mut self, other: Self) -> Self {
        for (of, found) in other.0 {
            let row = self.0.entry(of).or_default();
            row.same += found.same;
            row.of += found.of;
            for (cause, (count, container)) in found.causes {
                row.causes.entry(cause).or_insert_with(|| (0, container)).0 += count;
            }
        }
        self
    }

    /// Prints a line for each name, and its most frequent causes.
    pub(super) fn print(&self) {
        for (of, row) in &self.0 {
            let percent = row.same as f64 / row.of.max(1) as f64 * 100.0;
            println!("{of:16} {} of {} the same ({percent:.2} %)", row.same, row.of);
            let mut causes: Vec<_> = row.causes.iter().collect();
            causes.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
            for (cause, (count, container)) in causes.into_iter().take(SHOWN) {
                println!("    {count:5} × {cause} ({container})");
            }
        }
    }
}

/// The results of all containers.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) tally: Tally,
    /// Containers without DXIL.
    pub(super) without_program: u64,
    /// Containers that can't be checked, with the reason.
    failed: Vec<String>,
}

impl Counts {
    /// Calls `container` with the name and the bytes of each container among files.
    pub(super) fn of_files(
        files: &[(String, PathBuf)],
        container: impl Fn(&mut Self, &str, &[u8]) -> Result<()> + Sync,
    ) -> Self {
        let counts = files.par_iter().map(|(name, path)| Self::of_file(name, path, &container));
        counts.reduce(Self::default, Self::add)
    }

    /// Prints the failures, and returns an error if there are any.
    pub(super) fn finish(&self, verb: &str) -> Result<()> {
        for failed in self.failed.iter().take(SHOWN) {
            println!("failed: {failed}");
        }
        ensure!(self.failed.is_empty(), "{} containers cannot be {verb}", self.failed.len());
        Ok(())
    }

    fn of_file(name: &str, path: &Path, container: impl Fn(&mut Self, &str, &[u8]) -> Result<()>) -> Self {
        let mut counts = Self::default();
        let Ok(data) = std::fs::read(path) else { return counts };
        if data.starts_with(b"DXBC")
            && let Err(error) = container(&mut counts, name, &data)
        {
            counts.failed.push(format!("{name}: {error:#}"));
        }
        counts
    }

    fn add(mut self, other: Self) -> Self {
        self.tally = self.tally.add(other.tally);
        self.without_program += other.without_program;
        self.failed.extend(other.failed);
        self
    }
}
