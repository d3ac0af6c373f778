//! Checks whether a Metal library loads on a given OS, and if not, why. The rules about modules also hold for loose ones.
//!
//! [`LibraryFacts`] holds what a loader looks at. [`RULES`] is the table of its requirements, each with its source and
//! certainty. [`check`] applies the table to a [`Target`]. Apple documents none of this: each rule says whether it is
//! known, measured or inferred, and a finding quotes the loader's message where that is known.
//!
//! Metal checks at two times. A fault of the library as a whole makes `makeLibrary` fail; a fault of a function appears
//! when a pipeline is made from it ([`Step`]).
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

use facts::Container;
pub use facts::{Group, LibraryFacts, ModuleFacts, Pointers, Triple};
pub use releases::{RELEASES, Release};
pub use rules::RULES;
pub use target::Target;

use serde::Serialize;
use std::collections::BTreeSet;
use unshade_metallib::header::{Platform, Version};

/// The time at which a rule is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// When the library is loaded. A fault makes all of its functions unavailable.
    Load,
    /// When a pipeline is made from a function. A fault does not affect other functions.
    Pipeline,
}

/// How certain a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Documented by Apple, or known from the loader's messages or code.
    Known,
    /// Tested on a real system.
    Measured,
    /// Concluded from real files and from the other rules.
    Inferred,
}

impl Certainty {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Measured => "measured",
            Self::Inferred => "inferred",
        }
    }
}

/// A requirement of the loader.
#[derive(Debug)]
pub struct Rule {
    /// Name, which is a heading in `docs/check.md`.
    pub name: &'static str,
    /// The requirement as a sentence.
    pub says: &'static str,
    /// When it is enforced.
    pub step: Step,
    /// How certain it is.
    pub certainty: Certainty,
    /// Where the knowledge comes from.
    pub source: &'static str,
    judge: Judge,
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
enum Judge {
    /// The file of a library. The rule does not apply to loose modules.
    Container(fn(&Container, &LibraryFacts, Target) -> Judgement),
    /// The functions and their modules.
    Functions(fn(&LibraryFacts, Target) -> Judgement),
}

/// Whether a library satisfies a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It does.
    Pass,
    /// The file alone does not say, or the loader's behaviour is unknown.
    Unclear,
    /// It does not.
    Fail,
}

/// The result of a rule for one library and one target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Judgement {
    status: Status,
    found: String,
    expected: String,
    /// The loader's message, if known.
    message: Option<String>,
    hint: Option<String>,
}

/// The result of a rule, with the rule's properties.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// Whether the library satisfies it.
    pub status: Status,
    /// When it is enforced.
    pub step: Step,
    /// How certain the rule is.
    pub certainty: Certainty,
    /// Where the knowledge comes from.
    pub source: &'static str,
    /// What is in the library.
    pub found: String,
    /// What the target accepts; empty if there is nothing to compare with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// The loader's own message, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The result of all rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every rule is satisfied.
    Loads,
    /// No rule is broken, but some are unclear.
    Unclear,
    /// It loads, but pipelines can't be made from some functions.
    Partly,
    /// It does not load.
    Refused,
}

impl Outcome {
    /// Returns whether a rule is broken.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Partly | Self::Refused)
    }
}

/// The result of checking a library for a target.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The target.
    pub target: Target,
    /// The result of all rules.
    pub outcome: Outcome,
    /// The result of each rule, in the order of [`RULES`].
    pub findings: Vec<Finding>,
}

/// Applies every rule to a library and a target; to loose modules, those about modules.
pub fn check(facts: &LibraryFacts, target: Target) -> Report {
    let judge = |rule: &Rule| match rule.judge {
        Judge::Container(judge) => facts.container.as_ref().map(|container| judge(container, facts, target)),
        Judge::Functions(judge) => Some(judge(facts, target)),
    };
    let finding = |rule: &Rule| {
        let Judgement { status, found, expected, message, hint } = judge(rule)?;
        let Rule { name, step, certainty, source, .. } = *rule;
        Some(Finding { rule: name, status, step, certainty, source, found, expected, message, hint })
    };
    let findings: Vec<Finding> = RULES.iter().filter_map(finding).collect();
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

/// Returns the oldest version of a platform's OS on which no rule is broken, or `None` if no known version qualifies.
pub fn minimum(facts: &LibraryFacts, platform: Platform) -> Option<Target> {
    let releases = RELEASES.iter().filter_map(|release| release.os(platform));
    let triples = facts.triples.keys().filter(|triple| triple.platform == platform);
    let named: BTreeSet<Version> = releases
        .chain(triples.filter_map(|triple| triple.version))
        .chain(facts.container.and_then(|container| container.header.os_version()))
        .collect();
    let targets = named.into_iter().map(|version| Target { platform, version });
    targets.into_iter().find(|&target| !check(facts, target).outcome.is_failure())
}

/// Returns the platform and OS that a library was built for: the newest in its modules, or that of its header if that
/// is newer or the modules name none.
pub fn made_for(facts: &LibraryFacts) -> Option<Target> {
    let triples = facts.triples.keys().filter_map(|triple| Some((triple.version?, triple.platform)));
    let header = facts.container.map(|container| container.header);
    let header = header.and_then(|header| Some((header.os_version()?, header.platform())));
    let newest = triples.filter(|(_, platform)| *platform != Platform::UNKNOWN).max();
    let (version, platform) = match (newest, header) {
        (Some(module), Some(header)) if module.1 == header.1 => module.max(header),
        (Some(module), _) => module,
        (None, header) => header?,
    };
    (platform != Platform::UNKNOWN).then_some(Target { platform, version })
}

impl Finding {
    /// Returns whether another finding says the same about the whole library that this one says about functions.
    pub fn is_implied_by(&self, other: &Self) -> bool {
        other.status == self.status && self.rule.strip_prefix("function-") == Some(other.rule)
    }
}
