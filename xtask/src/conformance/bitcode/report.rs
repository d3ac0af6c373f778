//! The printed results: the causes of differences in each group, then a summary with a line per group.
//!
//! Every module that differs, is rejected or causes a warning is also listed in `target/conformance/bitcode.tsv`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};

use super::compare::{Alone, Group, Outcome, masked};
use super::ours::Failure;
use crate::sh;

/// Maximum number of causes printed per group, the most frequent first; the file has all.
const CAUSES: usize = 25;

/// The results collected for the end.
#[derive(Default)]
pub(super) struct Report {
    lines: Vec<String>,
    faults: Vec<String>,
    modules: String,
}

impl Report {
    /// Prints the differences of groups and stores their summary lines.
    pub(super) fn add(&mut self, groups: impl IntoIterator<Item = Group>) -> Result<()> {
        for group in groups {
            let line = line(&group);
            println!("{line}");
            self.lines.push(line);
            print_causes(&group);
            for (name, outcome) in &group.outcomes {
                if let Some(cause) = cause(outcome) {
                    let cause = cause.replace('\n', " | ");
                    writeln!(self.modules, "{}\t{}\t{name}\t{cause}", group.set, group.program)?;
                }
            }
            self.faults.extend(group.faults());
        }
        Ok(())
    }

    /// Prints the summary. Returns the criteria that are not met.
    pub(super) fn finish(self) -> Result<Vec<String>> {
        let folder = sh::root().join("target/conformance");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(folder.join("bitcode.tsv"), &self.modules).context("cannot write the list of modules")?;
        println!(
            "\n{:<9} {:<12} {:>7} {:>9} {:>9} {:>9} {:>7} {:>7} {:>8}",
            "set", "program", "modules", "compared", "identical", "different", "warned", "refused", "share"
        );
        for line in &self.lines {
            println!("{line}");
        }
        println!("list of all modules that are not identical: target/conformance/bitcode.tsv");
        println!(
            "texts that are identical to those of llvm-dis need no check with llvm-as, so it only checked the others"
        );
        Ok(self.faults)
    }
}

fn line(group: &Group) -> String {
    let refused = group.count(|outcome| matches!(outcome, Outcome::Refused { .. }));
    let warned = group.count(|outcome| matches!(outcome, Outcome::Warned { .. }));
    let compared = group.count(Outcome::is_compared);
    let identical = group.count(|outcome| matches!(outcome, Outcome::Identical { .. }));
    format!(
        "{:<9} {:<12} {:>7} {compared:>9} {identical:>9} {:>9} {warned:>7} {refused:>7} {:>6.2} %",
        group.set,
        group.program,
        group.outcomes.len(),
        compared - identical,
        group.share(),
    )
}

/// Prints the causes, the most frequent first.
fn print_causes(group: &Group) {
    let mut causes = BTreeMap::<String, (usize, &str, String)>::new();
    for (name, outcome) in &group.outcomes {
        if let Some(cause) = cause(outcome) {
            let entry = causes.entry(masked(&cause)).or_insert_with(|| (0, name, cause));
            entry.0 += 1;
        }
    }
    let mut causes: Vec<_> = causes.into_values().collect();
    causes.sort_by(|one, other| other.0.cmp(&one.0).then(one.2.cmp(&other.2)));
    for (count, name, cause) in causes.iter().take(CAUSES) {
        println!("  {count} such as {name}:");
        for line in cause.lines() {
            println!("    {line}");
        }
    }
    if let Some(rest) = causes.get(CAUSES..).filter(|rest| !rest.is_empty()) {
        let modules: usize = rest.iter().map(|(count, ..)| count).sum();
        println!("  {} more causes for {modules} modules", rest.len());
    }
    print_refused(group);
    print_assembled(group);
}

/// Prints how unshade treats the modules that the other program rejects.
fn print_refused(group: &Group) {
    let count = |is: fn(&Alone) -> bool| {
        group.count(|outcome| matches!(outcome, Outcome::Refused { ours, .. } if is(ours)))
    };
    let refused = count(|_| true);
    if refused > 0 {
        println!(
            "  of the {refused} that it refuses, we refuse {} with an error, print {} with a finding and {} with nothing \
             to say; {} crashes or hangs",
            count(|ours| matches!(ours, Alone::Failed(Failure::Refused(_)))),
            count(|ours| matches!(ours, Alone::Findings(_))),
            count(|ours| matches!(ours, Alone::Silent)),
            count(|ours| matches!(ours, Alone::Failed(failure) if failure.is_fatal())),
        );
    }
}

fn print_assembled(group: &Group) {
    let asked = |outcome: &Outcome| matches!(outcome, Outcome::Different { assembles: Some(_), .. });
    let accepted = |outcome: &Outcome| matches!(outcome, Outcome::Different { assembles: Some(true), .. });
    let refused = |outcome: &Outcome| matches!(outcome, Outcome::Different { assembles: Some(false), .. });
    if group.count(asked) > 0 {
        println!("  llvm-as accepts {} of our {} different texts", group.count(accepted), group.count(asked));
        for name in group.names(refused).into_iter().take(CAUSES) {
            println!("    rejected: {name}");
        }
    }
}

/// Describes why a module is not identical.
fn cause(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Identical { finding } => {
            finding.as_ref().map(|finding| format!("identical; ours complains: {finding}"))
        }
        Outcome::Different { theirs, ours, .. } => Some(format!("theirs: {theirs}\nours:   {ours}")),
        Outcome::Failed(failure) => Some(format!("ours: {}", failed(failure))),
        Outcome::Warned { message, ours, same_as_keeping } => {
            let same = match same_as_keeping {
                true => "; our llvm-19 text is that of llvm-dis-19 -disable-auto-upgrade-debug-info",
                false => "",
            };
            Some(format!("warned:  {message}\nours:    {}{same}", alone(ours)))
        }
        Outcome::Refused { message, ours } => {
            Some(format!("refused: {}\nours:    {}", message_or_nothing(message), alone(ours)))
        }
    }
}

fn message_or_nothing(message: &str) -> &str {
    if message.is_empty() { "(without a message)" } else { message }
}

fn alone(ours: &Alone) -> String {
    match ours {
        Alone::Silent => "printed, nothing to say".to_owned(),
        Alone::Findings(first) => format!("printed, with {first}"),
        Alone::Failed(failure) => failed(failure),
    }
}

fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Refused(error) => format!("error: {error}"),
        Failure::Crash(message) => format!("CRASH: {message}"),
        Failure::Hang => "HANG".to_owned(),
    }
}
