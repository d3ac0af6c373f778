//! Findings that do not stop a parser.
//!
//! A parser returns what it could read and pushes everything else here. Each finding has a [`Severity`], the name of
//! the *rule* that it breaks (kebab-case, described in `docs/`), and an [`Error`] that says what is wrong and where.

use crate::Error;
use alloc::vec::Vec;
use core::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the file is valid.
    Note,
    /// Unusual; the file most likely works.
    Warning,
    /// The file is damaged, or a loader will reject it.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The name of the rule, such as `module-hash`.
    pub rule: &'static str,
    /// What was found, and where.
    pub error: Error,
}

/// The findings of one file. At most [`Diagnostics::LIMIT`] of them are kept; the others are only counted.
///
/// ```
/// use unshade_core::{Diagnostics, Error, ErrorKind};
///
/// let mut diagnostics = Diagnostics::new();
/// diagnostics.error("module-hash", Error::new(ErrorKind::BadChecksum, 0x40, "HASH does not match"));
/// assert!(diagnostics.has_errors());
/// assert_eq!(diagnostics.iter().next().unwrap().rule, "module-hash");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
    suppressed: usize,
}

impl Diagnostics {
    /// Maximum number of findings kept: enough to see a pattern, few enough that a hostile file can't exhaust memory.
    pub const LIMIT: usize = 1_000;

    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding. Beyond the limit it is only counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.errors = self.errors.saturating_add(1),
            Severity::Warning => self.warnings = self.warnings.saturating_add(1),
            Severity::Note => {}
        }
        if self.list.len() < Self::LIMIT {
            self.list.push(diagnostic);
        } else {
            self.suppressed = self.suppressed.saturating_add(1);
        }
    }

    /// Adds an error that breaks `rule`.
    pub fn error(&mut self, rule: &'static str, error: Error) {
        self.push(Diagnostic { severity: Severity::Error, rule, error });
    }

    /// Adds a warning that breaks `rule`.
    pub fn warning(&mut self, rule: &'static str, error: Error) {
        self.push(Diagnostic { severity: Severity::Warning, rule, error });
    }

    /// Adds a note about `rule`.
    pub fn note(&mut self, rule: &'static str, error: Error) {
        self.push(Diagnostic { severity: Severity::Note, rule, error });
    }

    /// Returns the value of `result`, or adds its error to the findings.
    pub fn take<T>(&mut self, rule: &'static str, result: crate::Result<T>) -> Option<T> {
        result.map_err(|error| self.error(rule, error)).ok()
    }

    /// Moves the findings of another list to the end of this one.
    pub fn append(&mut self, other: Diagnostics) {
        let suppressed = other.suppressed;
        // `push` counts the findings that `other` kept. What remains are the ones that `other` only counted.
        let (mut errors, mut warnings) = (other.errors, other.warnings);
        for diagnostic in other.list {
            match diagnostic.severity {
                Severity::Error => errors = errors.saturating_sub(1),
                Severity::Warning => warnings = warnings.saturating_sub(1),
                Severity::Note => {}
            }
            self.push(diagnostic);
        }
        self.errors = self.errors.saturating_add(errors);
        self.warnings = self.warnings.saturating_add(warnings);
        self.suppressed = self.suppressed.saturating_add(suppressed);
    }

    /// Returns the findings, in the order in which they were added.
    pub fn iter(&self) -> core::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Sorts by file offset. Findings at the same offset keep their order.
    pub fn sort_by_offset(&mut self) {
        self.list.sort_by_key(|diagnostic| diagnostic.error.offset());
    }

    /// Returns whether there are no findings of any severity.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of findings kept.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the number of errors, including those that were not kept.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Returns the number of warnings, including those that were not kept.
    pub fn warnings(&self) -> usize {
        self.warnings
    }

    /// Returns the number of findings that were counted but not kept.
    pub fn suppressed(&self) -> usize {
        self.suppressed
    }

    /// Returns whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = core::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn sample(offset: u64) -> Error {
        Error::new(ErrorKind::BadValue, offset, "bad")
    }

    #[test]
    fn bounded_and_counted() {
        let mut diagnostics = Diagnostics::new();
        for offset in 0..1_500 {
            diagnostics.error("rule", sample(offset));
        }
        assert_eq!(diagnostics.len(), Diagnostics::LIMIT);
        assert_eq!((diagnostics.errors(), diagnostics.suppressed()), (1_500, 500));

        let mut all = Diagnostics::new();
        all.warning("other", sample(7));
        all.append(diagnostics);
        assert_eq!((all.errors(), all.warnings(), all.suppressed()), (1_500, 1, 501));
    }

    #[test]
    fn sorted_by_offset() {
        let mut diagnostics = Diagnostics::new();
        diagnostics.error("b", sample(9));
        diagnostics.note("a", sample(3));
        diagnostics.sort_by_offset();
        assert_eq!(diagnostics.iter().map(|d| d.rule).collect::<Vec<_>>(), ["a", "b"]);
    }
}
