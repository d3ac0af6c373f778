//! Lines and words.
//!
//! A table is lines. `#` at a word's start opens a comment. A line that begins with white space belongs to the one above
//! that does not. Words are separated by white space; a word in quotes may hold any.

use crate::{Error, Result};

/// A line with its indented ones.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The line that is not indented.
    pub head: Line<'a>,
    /// The indented lines below it.
    pub body: Vec<Line<'a>>,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// Its text without white space at the ends and without a comment.
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// Its words. Those in quotes keep the opening quote, so that they can be told apart.
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

    /// The first word and what follows it.
    pub fn split(&self) -> (&'a str, &'a str) {
        match self.text.split_once(char::is_whitespace) {
            Some((first, rest)) => (first, rest.trim()),
            None => (self.text, ""),
        }
    }
}

/// A table's blocks.
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
            return Err(error(file, line.number, "an indented line with nothing above it"));
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

/// An error at a line.
pub fn error(file: &str, line: usize, message: impl Into<String>) -> Error {
    Error { file: file.to_owned(), line, message: message.into() }
}

/// A number: decimal, or with `0x` or `0b`.
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
