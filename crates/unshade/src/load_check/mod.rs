//! Will a Metal library load on a given OS, and if not, why?
//!
//! [`LibraryFacts`] are what a loader looks at; [`RULES`] is the table of what it asks of them, each with its source
//! and how sure it is; [`check`] applies the table to a [`Target`]. Apple documents none of this: rules say themselves
//! whether they are known, measured or inferred, and where a message of the loader is known, a finding has its words.
//!
//! Metal refuses in two steps. What is wrong with the library as a whole ends `makeLibrary`; what is wrong with a
//! function shows when a pipeline is made of it ([`Step`]).
//!
//! ```
//! use unshade::load_check::{LibraryFacts, Outcome, Target, check, minimum};
//! use unshade::metallib::{Library, Platform};
//!
//! let bytes = include_bytes!("../../../../tests/fixtures/metallib/linker_1_2_7.metallib");
//! let facts = LibraryFacts::read(&Library::parse(bytes)?);
//! assert_eq!(check(&facts, "macos-14.0".parse()?).outcome, Outcome::Loads);
//! assert_eq!(check(&facts, "macos-13.0".parse()?).outcome, Outcome::Refused);
//! assert_eq!(minimum(&facts, Platform::MACOS).unwrap().to_string(), "macOS 14.0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod facts;
mod releases;
mod rules;
mod target;

pub use facts::{Group, LibraryFacts, ModuleFacts, Pointers, Triple};
pub use releases::{RELEASES, Release};
pub use rules::RULES;
pub use target::Target;

use serde::Serialize;
use std::collections::BTreeSet;
use unshade_metallib::header::{Platform, Version};

/// When a rule is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// When the library is loaded: none of its functions can be had.
    Load,
    /// When a pipeline is made of a function: the others are not concerned.
    Pipeline,
}

/// How sure a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Told by Apple, by the loader's own message, or by its code.
    Known,
    /// Tried out by somebody on a real system.
    Measured,
    /// Concluded from real files and from the other rules.
    Inferred,
}

impl Certainty {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Measured => "measured",
            Self::Inferred => "inferred",
        }
    }
}

/// What a loader asks of a library.
#[derive(Debug)]
pub struct Rule {
    /// Its name, a heading of `docs/check.md`.
    pub name: &'static str,
    /// What it says.
    pub says: &'static str,
    /// When it is enforced.
    pub step: Step,
    /// How sure it is.
    pub certainty: Certainty,
    /// Where it is known from.
    pub source: &'static str,
    judge: fn(&LibraryFacts, Target) -> Judgement,
}

/// Whether a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is.
    Pass,
    /// It can't be told from the file alone, or nobody knows what the loader does.
    Unclear,
    /// It is not.
    Fail,
}

/// What a rule comes to for one library and one target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Judgement {
    status: Status,
    found: String,
    expected: String,
    /// What the loader says, where its words are known.
    message: Option<String>,
    hint: Option<String>,
}

/// What a rule comes to.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// Whether it is kept.
    pub status: Status,
    /// When it is enforced.
    pub step: Step,
    /// How sure the rule is.
    pub certainty: Certainty,
    /// Where it is known from.
    pub source: &'static str,
    /// What is in the library.
    pub found: String,
    /// What the target takes; empty if there is nothing to compare with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What the loader says, in its own words, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What all rules come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every rule is kept.
    Loads,
    /// No rule is broken, but some can't be judged.
    Unclear,
    /// It loads, but pipelines can't be made of some functions.
    Partly,
    /// It does not load.
    Refused,
}

impl Outcome {
    /// Whether a rule is broken.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Partly | Self::Refused)
    }
}

/// What became of a library and a target.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The target.
    pub target: Target,
    /// What all rules come to.
    pub outcome: Outcome,
    /// What each comes to, in the order of [`RULES`].
    pub findings: Vec<Finding>,
}

/// Applies every rule.
pub fn check(facts: &LibraryFacts, target: Target) -> Report {
    let findings: Vec<Finding> = RULES
        .iter()
        .map(|rule| {
            let Judgement { status, found, expected, message, hint } = (rule.judge)(facts, target);
            let Rule { name, step, certainty, source, .. } = *rule;
            Finding { rule: name, status, step, certainty, source, found, expected, message, hint }
        })
        .collect();
    let breaks = |step| findings.iter().any(|finding| finding.status == Status::Fail && finding.step == step);
    let outcome = if breaks(Step::Load) {
        Outcome::Refused
    } else if breaks(Step::Pipeline) {
        Outcome::Partly
    } else if findings.iter().any(|finding| finding.status == Status::Unclear) {
        Outcome::Unclear
    } else {
        Outcome::Loads
    };
    Report { target, outcome, findings }
}

/// The oldest version of a platform's OS on which no rule is broken; `None` if there is none that is known.
pub fn minimum(facts: &LibraryFacts, platform: Platform) -> Option<Target> {
    let releases = RELEASES.iter().filter_map(|release| release.os(platform));
    let triples = facts.triples.keys().filter(|triple| triple.platform == platform);
    let named: BTreeSet<Version> = releases
        .chain(triples.filter_map(|triple| triple.version))
        .chain(facts.header.os_version())
        .collect();
    let targets = named.into_iter().map(|version| Target { platform, version });
    targets.into_iter().find(|&target| !check(facts, target).outcome.is_failure())
}

/// The platform and OS that a library was made for: the newest that its modules name, or its header, whose OS may be
/// newer than theirs.
pub fn made_for(facts: &LibraryFacts) -> Option<Target> {
    let triples = facts.triples.keys().filter_map(|triple| Some((triple.version?, triple.platform)));
    let header = facts.header.os_version().map(|version| (version, facts.header.platform()));
    let newest = triples.filter(|(_, platform)| *platform != Platform::UNKNOWN).max();
    let (version, platform) = match (newest, header) {
        (Some(module), Some(header)) if module.1 == header.1 => module.max(header),
        (Some(module), _) => module,
        (None, header) => header?,
    };
    (platform != Platform::UNKNOWN).then_some(Target { platform, version })
}

impl Finding {
    /// Whether another rule says the same of the whole library that this one says of functions.
    pub fn is_told_by(&self, other: &Self) -> bool {
        other.status == self.status && self.rule.strip_prefix("function-") == Some(other.rule)
    }
}
