//! Errors: what can't be compiled, and where in the source it is.

use naga::Span;
use std::fmt;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// What can't be compiled.
#[derive(Debug)]
pub struct Error {
    message: String,
    span: Span,
}

impl Error {
    /// Creates an error without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: Span::UNDEFINED }
    }

    /// Says where it is, if that is not known from the inside.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        if !self.span.is_defined() {
            self.span = span;
        }
        self
    }

    /// Returns what can't be compiled.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the message with the line and column in the source.
    pub fn text(&self, path: &str, source: &str) -> String {
        // A span may come from a source that naga made itself.
        let in_source = self.span.to_range().is_some_and(|range| source.get(range).is_some());
        match in_source {
            true => {
                let place = self.span.location(source);
                format!("{path}:{}:{}: {}", place.line_number, place.line_position, self.message)
            }
            false => format!("{path}: {}", self.message),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<unshade_core::Error> for Error {
    fn from(error: unshade_core::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// Returns the error of a construct that is not in the subset.
pub fn unsupported<T>(what: impl fmt::Display) -> Result<T> {
    Err(Error::new(format!("{what}: not supported")))
}
