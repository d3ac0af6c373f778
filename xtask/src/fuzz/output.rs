//! Parses the output of libFuzzer line by line:
//!
//! ```text
//! #1024   pulse  cov: 212 ft: 388 corp: 24/11Kb lim: 4096 exec/s: 512 rss: 41Mb
//! stat::number_of_executed_units: 1000000
//! artifact_prefix='…/'; Test unit written to …/crash-da39a3ee
//! ```
//!
//! Everything else (panic messages, stacks) only matters if there is a finding; then the last lines are kept.

use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;

/// Number of last lines that are kept for a finding.
const TAIL: usize = 40;

/// The state of a run.
pub(crate) struct Progress {
    started: Instant,
    executions: u64,
    edges: u64,
    features: u64,
    artifact: Option<String>,
    tail: VecDeque<String>,
}

impl Progress {
    /// Creates a run that starts now.
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            executions: 0,
            edges: 0,
            features: 0,
            artifact: None,
            tail: VecDeque::new(),
        }
    }

    /// Processes one line.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some((name, value)) = line.strip_prefix("stat::").and_then(|stat| stat.split_once(':')) {
            if name == "number_of_executed_units" {
                self.executions = value.trim().parse().unwrap_or(self.executions);
            }
            return;
        }
        if line.starts_with('#') && line.contains(" cov: ") {
            self.status(line);
            return;
        }
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.artifact = Some(path.trim().to_owned());
        }
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(line.to_owned());
    }

    /// Parses a status line: `#executions EVENT name: value name: value …`.
    fn status(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        if let Some(executions) = words.next().and_then(|word| word.strip_prefix('#')?.parse().ok()) {
            self.executions = executions;
        }
        while let Some(word) = words.next() {
            let field = match word {
                "cov:" => &mut self.edges,
                "ft:" => &mut self.features,
                _ => continue,
            };
            if let Some(value) = words.next().and_then(|value| value.parse().ok()) {
                *field = value;
            }
        }
    }

    /// Returns the path of the input that caused a finding, if one was written.
    pub(crate) fn artifact(&self) -> Option<&str> {
        self.artifact.as_deref()
    }

    /// Returns the last lines that are not statistics, for a finding.
    pub(crate) fn tail(&self) -> String {
        self.tail.iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executions, edges, features, .. } = self;
        let per_second = self.executions as f64 / self.started.elapsed().as_secs_f64().max(f64::EPSILON);
        write!(f, "{executions} executions, {edges} edges, {features} features, {per_second:.0} exec/s")
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, TAIL};

    #[test]
    fn statistics_are_parsed() {
        let mut progress = Progress::new();
        progress.line("INFO: Seed: 12");
        progress.line("#2\tINITED cov: 3 ft: 4 corp: 1/1b exec/s: 0 rss: 26Mb");
        progress.line(
            "#4096\tNEW    cov: 212 ft: 388 corp: 24/11Kb lim: 43 exec/s: 2048 rss: 41Mb L: 12/43 MS: 1 X-",
        );
        assert!(progress.to_string().starts_with("4096 executions, 212 edges, 388 features, "));
        progress.line("stat::number_of_executed_units: 5000");
        progress.line("stat::average_exec_per_sec:     2500");
        assert!(progress.to_string().starts_with("5000 executions, 212 edges, 388 features, "));
        assert_eq!(progress.artifact(), None);
        assert_eq!(progress.tail(), "  | INFO: Seed: 12");
    }

    #[test]
    fn the_artifact_is_recognised() {
        let mut progress = Progress::new();
        progress.line("artifact_prefix='a/'; Test unit written to a/crash-12");
        assert_eq!(progress.artifact(), Some("a/crash-12"));
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut progress = Progress::new();
        for number in 0..TAIL + 2 {
            progress.line(&number.to_string());
        }
        assert!(progress.tail().starts_with("  | 2\n"));
    }
}
