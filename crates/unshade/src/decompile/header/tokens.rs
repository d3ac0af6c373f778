//! The tokens of a C header: comments are dropped, lines of the preprocessor obeyed as far as they define names.
//!
//! `#define NAME …` replaces the name from there on. Other lines of the preprocessor are ignored: a header is read as if
//! all its conditions held.

use std::collections::HashMap;

/// Maximum number of tokens that a defined name stands for.
const MAX_REPLACED: usize = 64;

/// Maximum number of tokens of a header.
pub(super) const MAX_TOKENS: usize = 1 << 20;

/// A token with its line, which starts at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub text: &'a str,
    pub line: u32,
}

impl Token<'_> {
    /// Returns whether it is an identifier or a keyword.
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }
}

/// Splits a header into tokens, at most [`MAX_TOKENS`].
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut defined: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut found = Vec::new();
    while let Some(token) = lexer.token() {
        if found.len() >= MAX_TOKENS {
            break;
        }
        if token.text == "#" {
            lexer.define(&mut defined);
            continue;
        }
        match defined.get(token.text) {
            Some(replaced) => {
                found.extend(replaced.iter().map(|text| Token { text, line: token.line }));
            }
            None => found.push(token),
        }
    }
    found
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Lexer<'a> {
    /// Returns the next token. Texts in quotes are one token.
    fn token(&mut self) -> Option<Token<'a>> {
        self.skip_space(false);
        let first = self.rest.chars().next()?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match first {
            c if is_part(c) => self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()),
            '"' | '\'' => self.quoted(first),
            ':' if self.rest.starts_with("::") => 2,
            '<' if self.rest.starts_with("<<") => 2,
            c => c.len_utf8(),
        };
        let (text, rest) = self.rest.split_at(length);
        let token = Token { text, line: self.line };
        self.line = self.line.saturating_add(lines(text));
        self.rest = rest;
        Some(token)
    }

    /// Returns the length of a text in quotes.
    fn quoted(&self, quote: char) -> usize {
        let mut is_escaped = false;
        for (index, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '\n' => return index,
                c if c == quote => return index + 1,
                _ => {}
            }
        }
        self.rest.len()
    }

    /// Skips spaces and comments, up to the end of the line if `stops` is set.
    fn skip_space(&mut self, stops: bool) {
        loop {
            let skipped = match self.rest.as_bytes() {
                [b'\n', ..] if stops => return,
                [b'\\', b'\n', ..] => 2,
                [b'\\', b'\r', b'\n', ..] => 3,
                [b'/', b'/', ..] => self.rest.find('\n').unwrap_or(self.rest.len()),
                [b'/', b'*', ..] => self.rest.find("*/").map_or(self.rest.len(), |end| end + 2),
                [c, ..] if c.is_ascii_whitespace() => 1,
                _ => return,
            };
            let (space, rest) = self.rest.split_at(skipped);
            self.line = self.line.saturating_add(lines(space));
            self.rest = rest;
        }
    }

    /// Reads the rest of a line of the preprocessor.
    fn define(&mut self, defined: &mut HashMap<&'a str, Vec<&'a str>>) {
        let mut words = Vec::new();
        let mut has_parameters = false;
        loop {
            let before = self.rest.len();
            self.skip_space(true);
            if self.rest.is_empty() || self.rest.starts_with('\n') {
                break;
            }
            let is_adjacent = before == self.rest.len();
            let Some(token) = self.token() else { break };
            has_parameters |= words.len() == 2 && is_adjacent && token.text == "(";
            words.push(token.text);
        }
        match words.as_slice() {
            ["define", name, replaced @ ..] if !has_parameters => {
                let replaced = replaced.iter().flat_map(|word| match defined.get(word) {
                    Some(others) => others.clone(),
                    None => vec![*word],
                });
                let replaced: Vec<&str> = replaced.take(MAX_REPLACED).collect();
                defined.insert(name, replaced);
            }
            ["undef", name, ..] => {
                defined.remove(name);
            }
            _ => {}
        }
    }
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_comments_dropped() {
        let text = "#define N 4 // four\n#define M (N * 2)\n#define F(x) x\n/* a\n b */ int a[N], \\\n b[M]; \"x y\" F";
        let found: Vec<(&str, u32)> = tokens(text).iter().map(|token| (token.text, token.line)).collect();
        let words = "int a [ 4 ] ,".split(' ').map(|word| (word, 5));
        let more = "b [ ( 4 * 2 ) ] ;".split(' ').map(|word| (word, 6));
        let expected: Vec<(&str, u32)> = words.chain(more).chain([("\"x y\"", 6), ("F", 6)]).collect();
        assert_eq!(found, expected);
    }
}
