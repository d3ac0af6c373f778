//! The error of all format crates: pointer-sized, public in its parts.
//!
//! An error says *what* is wrong ([`Error::message`]), *where* (a path of names such as
//! `function 3 "vs_main"` › `tag VERS`, and the absolute file offset), what was *expected* and *found*, and a
//! *hint* where there is one. The model is `wasmparser`'s `BinaryReaderError`, with its kind made public.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

/// The result of everything that reads.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What sort of fault an [`Error`] tells of, for callers that act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before the thing does.
    Truncated,
    /// Not a file of this format at all.
    BadMagic,
    /// A value that the format does not allow.
    BadValue,
    /// An offset, size or index that points outside of what it indexes.
    OutOfRange,
    /// A checksum that does not match.
    BadChecksum,
    /// Well-formed as far as can be seen, but of a kind that is not read.
    Unsupported,
    /// A named limit that guards against hostile input was reached.
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
    /// Innermost name first, as [`Error::within`] is called on the way out.
    path: Vec<Cow<'static, str>>,
    expected: Option<Cow<'static, str>>,
    found: Option<Cow<'static, str>>,
    hint: Option<Cow<'static, str>>,
}

impl Error {
    /// A fault at an absolute file offset.
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

    /// A fault that belongs to no place in a file.
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

    /// Says what was expected.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<Cow<'static, str>>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    /// Says what was found in its place.
    #[must_use]
    pub fn found(mut self, found: impl Into<Cow<'static, str>>) -> Self {
        self.0.found = Some(found.into());
        self
    }

    /// Says what the user may do, or what probably happened.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Puts the name of the surrounding thing before the path.
    #[must_use]
    pub fn within(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(name.into());
        self
    }

    /// What sort of fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is wrong, without place, expectation or hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The absolute offset in the file, where the fault has one.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The names of the surrounding things, outermost first.
    pub fn path(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.path.iter().rev().map(AsRef::as_ref)
    }

    /// What was expected, where it can be said.
    pub fn expectation(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    /// What was found, where it can be said.
    pub fn finding(&self) -> Option<&str> {
        self.0.found.as_deref()
    }

    /// What to do about it, where something can be done.
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
    fn one_word() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn path_reads_from_the_outside_in() {
        let error = Error::new(ErrorKind::Truncated, 16, "tag ends early")
            .within("tag VERS")
            .within("function 3 \"vs_main\"");
        assert_eq!(error.to_string(), "function 3 \"vs_main\": tag VERS: tag ends early (at offset 0x10)");
        assert_eq!(error.path().collect::<Vec<_>>(), ["function 3 \"vs_main\"", "tag VERS"]);
    }
}
