//! Describes a finding of a check.

use serde::{Deserialize, Serialize};
use unshade_core::{Diagnostic, Error};

/// Describes a finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingView {
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The rule, which `docs/verify.md` describes.
    pub rule: String,
    /// Path to the fault: names of parts of the file, outermost first.
    pub path: Vec<String>,
    /// Description of the fault.
    pub message: String,
    /// Offset in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What to do, or the probable cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl FindingView {
    /// Converts an error to a finding.
    pub fn from_error(severity: impl ToString, rule: &str, error: &Error) -> Self {
        Self {
            severity: severity.to_string(),
            rule: rule.to_owned(),
            path: error.path().map(str::to_owned).collect(),
            message: error.message().to_owned(),
            offset: error.offset(),
            expected: error.expectation().map(str::to_owned),
            found: error.finding().map(str::to_owned),
            hint: error.advice().map(str::to_owned),
        }
    }
}

impl From<&Diagnostic> for FindingView {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self::from_error(diagnostic.severity, diagnostic.rule, &diagnostic.error)
    }
}
