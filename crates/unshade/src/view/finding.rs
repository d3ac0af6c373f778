//! A finding of a check.

use serde::Serialize;
use unshade_core::{Diagnostic, Error};

/// A finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingView {
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// The rule, to be looked up in `docs/verify.md`.
    pub rule: String,
    /// Where, from the outside in: names of parts of the file.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// The offset in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What to do, or what probably happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl FindingView {
    /// A finding that an error is.
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
