//! A position in a line of text, and the words, numbers and names that follow it.

use std::fmt::{Display, Formatter};

/// Why a text is no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    line: usize,
    column: usize,
    message: String,
}

impl Display for TextError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for TextError {}

type Result<T> = std::result::Result<T, TextError>;

/// A line and a column, from 1 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    line: usize,
    column: usize,
}

impl Place {
    /// The start of the text.
    pub(super) const START: Self = Self { line: 1, column: 1 };

    pub(super) fn error(self, message: impl Into<String>) -> TextError {
        TextError { line: self.line, column: self.column, message: message.into() }
    }
}

/// A position in a line. Spaces before a word are skipped; a semicolon starts a comment.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// Offset in bytes.
    at: usize,
    line: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, line: usize) -> Self {
        let mut cursor = Self { text, at: 0, line };
        cursor.skip();
        cursor
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.skip();
    }

    fn place(&self) -> Place {
        Place { line: self.line, column: self.text[..self.at].chars().count() + 1 }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> TextError {
        self.place().error(message)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest().is_empty() || self.is_at(";")
    }

    pub(super) fn is_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Fails unless the line ends here.
    pub(super) fn end(&self) -> Result<()> {
        if self.is_at_end() { Ok(()) } else { Err(self.error("expected the end of the line")) }
    }

    /// Takes a text if it is next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let is_next = self.is_at(text);
        if is_next {
            self.advance(text.len());
        }
        is_next
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) { Ok(()) } else { Err(self.error(format!("expected `{text}`"))) }
    }

    /// Takes letters, digits, underscores and dots; empty if there are none.
    pub(super) fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.advance(word.len());
        word
    }

    /// Takes a word if it is next.
    pub(super) fn take_word(&mut self, wanted: &str) -> bool {
        let mut after = self.clone();
        let is_next = after.word() == wanted;
        if is_next {
            *self = after;
        }
        is_next
    }

    pub(super) fn keyword(&mut self, wanted: &str) -> Result<()> {
        if self.take_word(wanted) { Ok(()) } else { Err(self.error(format!("expected `{wanted}`"))) }
    }

    /// Takes a word that names one of several things.
    pub(super) fn member<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> Result<T> {
        let start = self.clone();
        let word = self.word();
        find(word).ok_or_else(|| start.error(format!("expected {what}")))
    }

    /// Takes a number, decimal or with `0x`.
    pub(super) fn number(&mut self) -> Result<u64> {
        let start = self.clone();
        let word = self.word();
        let number = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.map_err(|_| start.error("expected a number"))
    }

    /// Takes a number of a smaller type.
    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Result<T> {
        let start = self.clone();
        let number = self.number()?;
        T::try_from(number).map_err(|_| start.error("the number is too large"))
    }

    /// Takes a number with a sign.
    pub(super) fn signed(&mut self) -> Result<i64> {
        let start = self.clone();
        let is_negative = self.eat("-");
        let number = self.number()?;
        let found = if is_negative { 0_i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() };
        found.ok_or_else(|| start.error("the number is too large"))
    }

    /// Takes the digits of bytes: `0100ff`.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>> {
        let start = self.clone();
        let digits = self.word().as_bytes();
        let digit = |digit: u8| char::from(digit).to_digit(16);
        let byte = |pair: &[u8]| match pair {
            [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        bytes.filter(|bytes| !bytes.is_empty()).ok_or_else(|| start.error("expected the digits of bytes"))
    }

    /// Takes text in quotation marks.
    pub(super) fn quoted(&mut self) -> Result<String> {
        let start = self.clone();
        if !self.is_at("\"") {
            return Err(self.error("expected a text in quotation marks"));
        }
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.advance(offset + 1);
                    return Ok(text);
                }
                '\\' => {
                    let escaped = match chars.next() {
                        Some((_, 'n')) => Some('\n'),
                        Some((_, c @ ('"' | '\\'))) => Some(c),
                        Some((_, 'u')) => {
                            let digits = chars.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}');
                            u32::from_str_radix(&digits.collect::<String>(), 16).ok().and_then(char::from_u32)
                        }
                        _ => None,
                    };
                    text.push(escaped.ok_or_else(|| start.error("the text has an unknown escape"))?);
                }
                c => text.push(c),
            }
        }
        Err(start.error("the text has no end"))
    }

    /// Takes items with commas between them.
    pub(super) fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Takes a letter and a number if they are next: `v3`.
    pub(super) fn numbered(&mut self, letter: char) -> Option<(u32, Place)> {
        let mut after = self.clone();
        let digits = after.word().strip_prefix(letter)?;
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| is_number)?;
        let place = self.place();
        *self = after;
        Some((number, place))
    }

    /// Takes the name of a block: `b3`.
    pub(super) fn block(&mut self) -> Result<(u32, Place)> {
        let start = self.clone();
        self.numbered('b').ok_or_else(|| start.error("expected a block"))
    }

    /// Takes a reference to one of the first `count` entries of a table: `s0`.
    pub(super) fn reference(&mut self, letter: char, count: usize) -> Result<u32> {
        let start = self.clone();
        let (number, _) =
            self.numbered(letter).ok_or_else(|| start.error(format!("expected `{letter}` and a number")))?;
        if number as usize >= count {
            return Err(start.error(format!("there is no {letter}{number}")));
        }
        Ok(number)
    }

    /// Takes the name of the next entry of a table.
    pub(super) fn entry(&mut self, letter: char, number: usize) -> Result<&mut Self> {
        let start = self.clone();
        match self.numbered(letter) {
            Some((found, _)) if found as usize == number => Ok(self),
            _ => Err(start.error(format!("expected `{letter}{number}`"))),
        }
    }

    /// Takes the address of an instruction: `@0x18`.
    pub(super) fn address(&mut self) -> Result<Option<u32>> {
        if !self.eat("@") {
            return Ok(None);
        }
        let start = self.clone();
        let digits = self.word().strip_prefix("0x");
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.map(Some).ok_or_else(|| start.error("expected a number in hexadecimal"))
    }
}
