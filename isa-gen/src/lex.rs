//! Lines and words of a table.
//!
//! `#` at the start of a word starts a comment. An indented line belongs to the preceding line that is not indented.
//! Words are separated by white space; a quoted word may contain spaces.

use crate::{Error, Result};

/// A line with the indented lines below it.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The unindented line.
    pub head: Line<'a>,
    /// The indented lines below it.
    pub body: Vec<Line<'a>>,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The line number, from 1.
    pub number: usize,
    /// The text without comment and surrounding white space.
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// Returns the words. Quoted words keep the opening quote, to distinguish them.
    pub fn words(&self) -> Vec<&'a str> {
        let mut words = Vec::new();
        let mut rest = self.text.trim_start();
        while !rest.is_empty() {
            let end = if let Some(quoted) = rest.strip_prefix('"') {
                let end = quoted.find('"').map_or(rest.len(), |end| end + 1);
                words.push(&rest[..end]);
                (end + 1).min(rest.len())
            } else {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                words.push(&rest[..end]);
                end
            };
            rest = rest[end..].trim_start();
        }
        words
    }

    /// Returns the first word, and the rest of the line.
    pub fn split(&self) -> (&'a str, &'a str) {
        match self.text.split_once(char::is_whitespace) {
            Some((first, rest)) => (first, rest.trim()),
            None => (self.text, ""),
        }
    }
}

/// Splits a table into blocks.
///
/// # Errors
///
/// If the first line is indented.
pub fn blocks<'a>(file: &str, text: &'a str) -> Result<Vec<Block<'a>>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let content = without_comment(raw).trim_end();
        if content.trim().is_empty() {
            continue;
        }
        let line = Line { number: index + 1, text: content.trim_start() };
        if !content.starts_with(char::is_whitespace) {
            blocks.push(Block { head: line, body: Vec::new() });
        } else if let Some(block) = blocks.last_mut() {
            block.body.push(line);
        } else {
            return Err(error(file, line.number, "indented line without a preceding unindented line"));
        }
    }
    Ok(blocks)
}

fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let mut before = ' ';
    for (index, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '#' if !quoted && before.is_whitespace() => return &line[..index],
            _ => {}
        }
        before = character;
    }
    line
}

/// Creates an error at a line.
pub fn error(file: &str, line: usize, message: impl Into<String>) -> Error {
    Error { file: file.to_owned(), line, message: message.into() }
}

/// Parses a number: decimal, or with prefix `0x` or `0b`.
pub fn number(text: &str) -> Option<u128> {
    let digits = text.replace('_', "");
    if let Some(hex) = digits.strip_prefix("0x") {
        u128::from_str_radix(hex, 16).ok()
    } else if let Some(binary) = digits.strip_prefix("0b") {
        u128::from_str_radix(binary, 2).ok()
    } else {
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_words() {
        let text = "head \"two words\" x # comment\n  one\n\n  two \"# not one\"\nnext";
        let blocks = blocks("t", text).unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[0].head.words(), ["head", "\"two words", "x"]);
        assert_eq!(blocks[0].body[1].words(), ["two", "\"# not one"]);
        assert_eq!(number("0x1_0"), Some(16));
    }
}
