//! What is wrong with a text, and where.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

/// A mistake in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// Where it is: the number of bytes before it.
    pub position: usize,
    /// The line, from 1 on.
    pub line: usize,
    /// The column, in characters from 1 on.
    pub column: usize,
    /// The text of the line.
    pub line_text: String,
}

/// The longest part of a line that is quoted, in bytes.
const MAX_QUOTED: usize = 4096;

impl SyntaxError {
    pub(super) fn new(text: &[u8], fault: Fault) -> Self {
        let (position, message) = *fault.0;
        let position = position.min(text.len());
        let before = text.get(..position).unwrap_or_default();
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let tail = text.get(start..).unwrap_or_default();
        let end = tail.iter().position(|&byte| byte == b'\n').unwrap_or(tail.len());
        let line = tail.get(..end.min(MAX_QUOTED)).unwrap_or_default();
        let ahead = String::from_utf8_lossy(text.get(start..position).unwrap_or_default());
        Self {
            message,
            position,
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            column: ahead.chars().count() + 1,
            line_text: String::from_utf8_lossy(line).into_owned(),
        }
    }
}

impl fmt::Display for SyntaxError {
    /// Writes `line:column: error: message`, the line, and a caret below the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: error: {}", self.line, self.column, self.message)?;
        writeln!(f, "{}", self.line_text.replace('\t', " "))?;
        write!(f, "{:>width$}", '^', width = self.column)
    }
}

impl core::error::Error for SyntaxError {}

/// A mistake before its line is known: its position and what is wrong. All functions of the parser return it, so it is a
/// pointer.
#[derive(Clone, Debug)]
pub(super) struct Fault(Box<(usize, String)>);

impl Fault {
    pub(super) fn new(position: usize, message: String) -> Self {
        Self(Box::new((position, message)))
    }
}

/// The result of parsing a part of a text.
pub(super) type Parsed<T> = Result<T, Fault>;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn shows_the_line() {
        let error = SyntaxError::new(b"a\nret i32 x\nb", Fault::new(10, "bad".into()));
        assert_eq!(error.to_string(), "2:9: error: bad\nret i32 x\n        ^");
    }
}
