//! A cursor over assembly text.

use alloc::format;
use alloc::string::String;
use unshade_core::{Error, ErrorKind, Result};

/// Text that is being parsed.
pub(crate) struct Text<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// Returns the remaining text.
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    /// Skips white space and comments; returns the remaining text.
    pub(crate) fn skip(&mut self) -> &'a str {
        loop {
            let rest = self
                .rest()
                .trim_start_matches(|character: char| character.is_whitespace() || character == '\0');
            self.position = self.text.len().saturating_sub(rest.len());
            // FXC writes `#line` if there is debug information.
            let comment = if rest.starts_with("//") || rest.starts_with("#line ") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end.saturating_add(2))
            } else {
                return rest;
            };
            self.position = self.position.saturating_add(comment);
        }
    }

    /// Returns whether nothing but white space and comments remains.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.skip().is_empty()
    }

    /// Skips white space and comments, then consumes `expected` if it is next.
    pub(crate) fn eat(&mut self, expected: &str) -> bool {
        let found = self.skip().starts_with(expected);
        if found {
            self.position = self.position.saturating_add(expected.len());
        }
        found
    }

    /// Consumes `expected` if it is next, with nothing before it.
    pub(crate) fn eat_here(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.position = self.position.saturating_add(expected.len());
        }
        found
    }

    /// Consumes `expected`, or fails.
    pub(crate) fn expect(&mut self, expected: &str) -> Result<()> {
        if self.eat(expected) { Ok(()) } else { Err(self.unexpected(format!("\"{expected}\""))) }
    }

    /// Skips white space and comments, then consumes the characters up to the first that does not belong.
    pub(crate) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        self.skip();
        self.take_here(belongs)
    }

    /// Consumes the characters up to the first that does not belong.
    pub(crate) fn take_here(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
        self.position = self.position.saturating_add(length);
        rest.get(..length).unwrap_or_default()
    }

    /// Reads a word of letters, digits and underscores.
    pub(crate) fn word(&mut self) -> &'a str {
        self.take_while(is_word)
    }

    /// Reads a whole number, decimal or hexadecimal.
    pub(crate) fn number(&mut self) -> Result<u64> {
        let word = self.word();
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        parsed.map_err(|_| self.unexpected_word("a number", word))
    }

    /// Reads a 32-bit number.
    pub(crate) fn number32(&mut self) -> Result<u32> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.unexpected_word("a 32-bit number", &format!("{number}")))
    }

    /// Reads tokens in angle brackets, if they are next.
    pub(crate) fn tokens(&mut self) -> Result<Option<alloc::vec::Vec<u32>>> {
        if !self.rest().starts_with("<0x") {
            return Ok(None);
        }
        self.eat_here("<");
        let mut tokens = alloc::vec::Vec::new();
        loop {
            tokens.push(self.number32()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(">")?;
        Ok(Some(tokens))
    }

    /// Returns the error that something else was expected here.
    #[cold]
    pub(crate) fn unexpected(&self, expected: impl Into<String>) -> Error {
        let found: String = self.rest().chars().take_while(|character| *character != '\n').take(20).collect();
        let found = if found.is_empty() { String::from("the end of the line") } else { format!("{found:?}") };
        self.error(expected.into(), found)
    }

    /// Returns the error that a word is not the expected one.
    #[cold]
    pub(crate) fn unexpected_word(&self, expected: &str, word: &str) -> Error {
        let word: String = word.chars().take(40).collect();
        self.error(String::from(expected), format!("{word:?}"))
    }

    fn error(&self, expected: String, found: String) -> Error {
        let before = self.text.get(..self.position).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        Error::new(ErrorKind::BadValue, self.position as u64, "the text can't be assembled")
            .expected(expected)
            .found(found)
            .within(format!("line {line}"))
    }
}

/// Returns whether a character is part of words.
pub(crate) fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
