//! Compares one set of modules with one other program.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use rayon::prelude::*;

use super::oracle::{Oracle, STDIN, Verdict};
use super::ours::{self, Failure, Printed};
use super::{Contest, Input};
use crate::sh;

/// The criteria for a set to pass.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    /// The minimum percentage of identical texts, among the modules that the other program accepts without a warning.
    pub(super) identical: f64,
    /// How unshade must treat modules that the other program rejects or warns about.
    pub(super) refused: Refused,
}

/// How unshade must treat modules that the other program rejects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Print them: they are useful, and only the other program considers them invalid.
    Printed,
    /// Report errors, with or without a text: the modules are invalid.
    Told,
    /// Anything but crash: the other program may be too old for them.
    Any,
}

impl Expected {
    /// All texts must be identical, and rejected modules must be printed.
    pub(super) const ALL: Self = Self { identical: 100.0, refused: Refused::Printed };
    /// Modules for which unshade was not tuned: at least 99.2 % were identical from the start.
    pub(super) const C: Self = Self { identical: 99.0, refused: Refused::Printed };
    /// Modules of many front ends: all texts must be identical. Some outputs of tests are no modules.
    pub(super) const FRONT_ENDS: Self = Self { identical: 100.0, refused: Refused::Any };
    /// LLVM's tests, compared with the newest version: what it rejects is invalid on purpose. The percentage of
    /// identical texts is only measured, because the tests contain the output of twenty years of LLVM.
    pub(super) const TESTS: Self = Self { identical: 0.0, refused: Refused::Told };
    /// LLVM's tests, compared with an older version, which also rejects newer modules.
    pub(super) const LATER_TESTS: Self = Self { identical: 0.0, refused: Refused::Any };
}

/// The result of unshade for a module without a text to compare with.
pub(super) enum Alone {
    /// Printed without findings.
    Silent,
    /// Printed as far as possible, with a finding.
    Findings(String),
    /// Not printed.
    Failed(Failure),
}

/// The result of comparing a module.
pub(super) enum Outcome {
    Identical {
        /// Our finding for a module that the other program accepts silently.
        finding: Option<String>,
    },
    Different {
        /// The first line that differs.
        theirs: String,
        ours: String,
        /// Whether `llvm-as` accepts our text; absent if it was not asked, or does not accept the other text.
        assembles: Option<bool>,
    },
    /// The other program accepts the module, but unshade does not.
    Failed(Failure),
    /// The other program drops what it considers invalid, with a warning.
    Warned { message: String, ours: Alone, same_as_keeping: bool },
    /// The other program rejects the module.
    Refused { message: String, ours: Alone },
}

/// The results for a set.
pub(super) struct Group {
    pub(super) set: &'static str,
    pub(super) program: &'static str,
    pub(super) expected: Expected,
    pub(super) outcomes: Vec<(String, Outcome)>,
}

/// Compares all modules of a set. `keeping` is a program that keeps what `oracle` drops with a warning; those modules
/// are compared with its text.
pub(super) fn compare(contest: &Contest<'_>, oracle: &Oracle, keeping: Option<&Oracle>) -> Result<Group> {
    let one = |input: &Input| {
        let outcome = beside(input, oracle, keeping).with_context(|| input.name.clone())?;
        Ok((input.name.clone(), outcome))
    };
    let outcomes = contest.inputs.par_iter().map(one).collect::<Result<_>>()?;
    Ok(Group { set: contest.set, program: oracle.program, expected: contest.expected, outcomes })
}

fn beside(input: &Input, oracle: &Oracle, keeping: Option<&Oracle>) -> Result<Outcome> {
    let bytes = input.bytes()?;
    let verdict = oracle.verdict(&bytes)?;
    let ours = ours::print(bytes.clone(), oracle.dialect, Some(STDIN));
    let Verdict { text: Some(hash), message } = verdict else {
        return Ok(Outcome::Refused { message: verdict.message, ours: without_reference(ours) });
    };
    // LLVM accepts a file without a module, and prints nothing.
    if hash == sh::sha256_hex(b"") {
        return Ok(Outcome::Refused { message: "no module".to_owned(), ours: without_reference(ours) });
    }
    if !message.is_empty() {
        let same_as_keeping = match keeping {
            Some(keeping) => same_text(keeping, &bytes)?,
            None => false,
        };
        return Ok(Outcome::Warned { message, ours: without_reference(ours), same_as_keeping });
    }
    let (ours, findings) = match ours {
        Ok(printed) => (printed.text, printed.findings),
        Err(failure) => return Ok(Outcome::Failed(failure)),
    };
    if sh::sha256_hex(ours.as_bytes()) == hash {
        return Ok(Outcome::Identical { finding: findings.into_iter().next() });
    }
    let theirs = oracle.text(&bytes)?;
    let outcome = first_difference(&theirs, &ours);
    let Outcome::Different { theirs: their_line, ours: our_line, .. } = outcome else { return Ok(outcome) };
    let assembles = match oracle.assembles(&theirs)? {
        true => Some(oracle.assembles(&ours)?),
        false => None,
    };
    Ok(Outcome::Different { theirs: their_line, ours: our_line, assembles })
}

fn without_reference(ours: Result<Printed, Failure>) -> Alone {
    match ours {
        Ok(printed) => match printed.findings.into_iter().next() {
            Some(finding) => Alone::Findings(finding),
            None => Alone::Silent,
        },
        Err(failure) => Alone::Failed(failure),
    }
}

/// Returns whether our text equals that of a program that accepts the module silently.
fn same_text(oracle: &Oracle, bytes: &[u8]) -> Result<bool> {
    let verdict = oracle.verdict(bytes)?;
    let ours = ours::print(bytes.to_vec(), oracle.dialect, Some(STDIN));
    let hash = ours.ok().map(|printed| sh::sha256_hex(printed.text.as_bytes()));
    Ok(verdict.message.is_empty() && verdict.text.is_some() && verdict.text == hash)
}

/// Returns the first lines of two texts that differ, shortened to the surroundings of the difference.
pub(super) fn first_difference(theirs: &str, ours: &str) -> Outcome {
    let end = "(end of the text)";
    let (mut their_lines, mut our_lines) = (theirs.lines(), ours.lines());
    loop {
        let (their, our) = match (their_lines.next(), our_lines.next()) {
            (None, None) => ("(another line ending)", "(another line ending)"),
            (their, our) if their == our => continue,
            (their, our) => (their.unwrap_or(end), our.unwrap_or(end)),
        };
        let (theirs, ours) = around_difference(their, our);
        return Outcome::Different { theirs, ours, assembles: None };
    }
}

/// Returns the surroundings of the first difference of two lines.
fn around_difference(theirs: &str, ours: &str) -> (String, String) {
    const BEFORE: usize = 60;
    const BEHIND: usize = 80;
    let same = theirs.chars().zip(ours.chars()).take_while(|(one, other)| one == other).count();
    let window = |line: &str| {
        let cut = if same > BEFORE { "…" } else { "" };
        let part: String = line.chars().skip(same.saturating_sub(BEFORE)).take(BEFORE + BEHIND).collect();
        format!("{cut}{part}")
    };
    (window(theirs), window(ours))
}

/// Masks the numbers and names in a line, so that causes can be grouped.
pub(super) fn masked(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    let is_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '$');
    while let Some(c) = chars.next() {
        text.push(c);
        if matches!(c, '%' | '@') {
            while chars.next_if(is_name).is_some() {}
        } else if c.is_ascii_digit() {
            text.pop();
            text.push('#');
            while chars.next_if(char::is_ascii_digit).is_some() {}
        }
    }
    text
}

impl Group {
    /// Returns the number of modules with an outcome.
    pub(super) fn count(&self, is: impl Fn(&Outcome) -> bool) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| is(outcome)).count()
    }

    /// Returns the percentage of identical texts among those that can be compared.
    pub(super) fn share(&self) -> f64 {
        let identical = self.count(|outcome| matches!(outcome, Outcome::Identical { .. }));
        let compared = self.count(Outcome::is_compared);
        if compared == 0 { 100.0 } else { identical as f64 * 100.0 / compared as f64 }
    }

    /// Returns the criteria that are not met.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let of = format!("{} beside {}", self.set, self.program);
        if self.share() < self.expected.identical {
            faults.push(format!(
                "{of}: {:.2} % identical, expected {} %",
                self.share(),
                self.expected.identical
            ));
        }
        let crashes = self.count(|outcome| outcome.failure().is_some_and(Failure::is_fatal));
        if crashes > 0 {
            faults.push(format!("{of}: {crashes} crashes"));
        }
        let unprinted = self.count(|outcome| match outcome {
            Outcome::Warned { ours, .. } | Outcome::Refused { ours, .. } => matches!(ours, Alone::Failed(_)),
            _ => false,
        });
        if unprinted > 0 && self.expected.refused == Refused::Printed {
            faults.push(format!("{of}: {unprinted} modules that it rejects are not printed by unshade"));
        }
        let silent = self.count(|outcome| matches!(outcome, Outcome::Refused { ours: Alone::Silent, .. }));
        if silent > 0 && self.expected.refused == Refused::Told {
            faults.push(format!("{of}: {silent} modules that it rejects are printed without a finding"));
        }
        let complaints = self.count(|outcome| matches!(outcome, Outcome::Identical { finding: Some(_) }));
        // Tests are invalid on purpose, some in ways that a given version does not detect.
        if complaints > 0 && self.expected.refused == Refused::Printed {
            faults.push(format!("{of}: {complaints} valid modules have findings"));
        }
        let unassembled =
            self.count(|outcome| matches!(outcome, Outcome::Different { assembles: Some(false), .. }));
        if unassembled > 0 && self.expected.identical >= 100.0 {
            faults.push(format!("{of}: {unassembled} of our texts are rejected by llvm-as"));
        }
        faults
    }

    /// Returns the names of all modules with an outcome.
    pub(super) fn names(&self, is: impl Fn(&Outcome) -> bool) -> BTreeSet<&str> {
        self.outcomes.iter().filter(|(_, outcome)| is(outcome)).map(|(name, _)| name.as_str()).collect()
    }
}

impl Outcome {
    /// Returns whether there are two texts, or should be.
    pub(super) fn is_compared(&self) -> bool {
        matches!(self, Self::Identical { .. } | Self::Different { .. } | Self::Failed(_))
    }

    /// Returns why there is no text of ours, if there is none.
    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Warned { ours: Alone::Failed(failure), .. }
            | Self::Refused { ours: Alone::Failed(failure), .. } => Some(failure),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{around_difference, masked};

    #[test]
    fn names_and_numbers_are_masked() {
        assert_eq!(masked("  %a.1 = load i32, ptr @x, align 4"), "  % = load i#, ptr @, align #");
    }

    #[test]
    fn long_lines_are_cut() {
        let (theirs, ours) = around_difference(&format!("{}x", "-".repeat(100)), &"-".repeat(100));
        assert_eq!(theirs.chars().count(), 62);
        assert!(theirs.ends_with("-x") && ours.ends_with("--"));
    }
}
