//! The error type of all format crates.
//!
//! An error says *what* is wrong ([`Error::message`]), *where* (a path of names such as
//! `function 3 "vs_main"` › `tag VERS`, and the absolute file offset), what was *expected* and *found*, and a
//! *hint* where there is one. Modelled on `wasmparser`'s `BinaryReaderError`, with a public kind.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

/// The result of all parsers.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The category of an [`Error`], for callers that react to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The data ends too early.
    Truncated,
    /// The data is not of this format.
    BadMagic,
    /// A value that the format does not allow.
    BadValue,
    /// An offset, size or index that is out of bounds.
    OutOfRange,
    /// A checksum that does not match.
    BadChecksum,
    /// Apparently well-formed, but of a kind that is not supported.
    Unsupported,
    /// A limit that guards against hostile input was reached.
    Limit,
    /// The system can't read the file.
    Unreadable,
}

/// A fault in a file. Pointer-sized, so that `Result<u32>` stays small in hot loops.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Parts>);

#[derive(Clone, PartialEq, Eq)]
struct Parts {
    kind: ErrorKind,
    message: Cow<'static, str>,
    offset: Option<u64>,
    /// Innermost name first, because [`Error::within`] is called while the error propagates outwards.
    path: Vec<Cow<'static, str>>,
    expected: Option<Cow<'static, str>>,
    found: Option<Cow<'static, str>>,
    hint: Option<Cow<'static, str>>,
}

impl Error {
    /// Creates an error at an absolute file offset.
    ///
    /// ```
    /// use unshade_core::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::BadValue, 0x1a4, "bad version")
    ///     .expected("1")
    ///     .found("7")
    ///     .within("header");
    /// assert_eq!(error.to_string(), "header: bad version: expected 1, found 7 (at offset 0x1a4)");
    /// assert_eq!(error.offset(), Some(0x1a4));
    /// ```
    #[cold]
    pub fn new(kind: ErrorKind, offset: u64, message: impl Into<Cow<'static, str>>) -> Self {
        Self::build(kind, Some(offset), message.into())
    }

    /// Creates an error without a file offset.
    #[cold]
    pub fn without_offset(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self::build(kind, None, message.into())
    }

    fn build(kind: ErrorKind, offset: Option<u64>, message: Cow<'static, str>) -> Self {
        Self(Box::new(Parts {
            kind,
            message,
            offset,
            path: Vec::new(),
            expected: None,
            found: None,
            hint: None,
        }))
    }

    /// Sets what was expected.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<Cow<'static, str>>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    /// Sets what was found instead.
    #[must_use]
    pub fn found(mut self, found: impl Into<Cow<'static, str>>) -> Self {
        self.0.found = Some(found.into());
        self
    }

    /// Sets a hint: what the user can do, or what probably happened.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the name of the enclosing structure to the front of the path.
    #[must_use]
    pub fn within(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(name.into());
        self
    }

    /// Returns the category.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns what is wrong, without the path, offset, expectation or hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the absolute file offset, if there is one.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns the names of the enclosing structures, outermost first.
    pub fn path(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.path.iter().rev().map(AsRef::as_ref)
    }

    /// Returns what was expected, if known.
    pub fn expectation(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    /// Returns what was found, if known.
    pub fn finding(&self) -> Option<&str> {
        self.0.found.as_deref()
    }

    /// Returns the hint, if there is one.
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in self.path() {
            write!(f, "{name}: ")?;
        }
        f.write_str(self.message())?;
        match (self.expectation(), self.finding()) {
            (Some(expected), Some(found)) => write!(f, ": expected {expected}, found {found}")?,
            (Some(expected), None) => write!(f, ": expected {expected}")?,
            (None, Some(found)) => write!(f, ": found {found}")?,
            (None, None) => {}
        }
        if let Some(offset) = self.offset() {
            write!(f, " (at offset {offset:#x})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind())
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn errors_and_results_are_pointer_sized() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn path_starts_with_the_outermost_name() {
        let error = Error::new(ErrorKind::Truncated, 16, "tag ends early")
            .within("tag VERS")
            .within("function 3 \"vs_main\"");
        assert_eq!(error.to_string(), "function 3 \"vs_main\": tag VERS: tag ends early (at offset 0x10)");
        assert_eq!(error.path().collect::<Vec<_>>(), ["function 3 \"vs_main\"", "tag VERS"]);
    }
}
