//! The lexical grammar of C, HLSL and Metal: comments, literals, names, punctuation.

/// Returns whether a name can begin with a character.
pub(crate) fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

/// The kind of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lexeme {
    /// White space.
    Space,
    /// A comment, or its part in a line.
    Comment,
    /// A literal in quotes.
    String,
    /// A number with its suffix.
    Number,
    /// A name or keyword.
    Word,
    /// Punctuation.
    Mark,
}

/// Returns the kind and the length of what the text begins with; none at its end.
pub(crate) fn next(text: &str, is_in_comment: bool) -> Option<(Lexeme, usize)> {
    let first = text.chars().next()?;
    let run = |is_inside: fn(char) -> bool| text.find(|c| !is_inside(c)).unwrap_or(text.len());
    if is_in_comment || text.starts_with("/*") {
        let from = if is_in_comment { 0 } else { 2 };
        let end = text.get(from..).and_then(|rest| rest.find("*/")).map_or(text.len(), |at| from + at + 2);
        return Some((Lexeme::Comment, end));
    }
    if text.starts_with("//") {
        return Some((Lexeme::Comment, text.len()));
    }
    Some(match first {
        c if c.is_whitespace() => (Lexeme::Space, run(char::is_whitespace)),
        '"' | '\'' => (Lexeme::String, quoted(text, first)),
        '0'..='9' => (Lexeme::Number, number(text)),
        c if is_name_start(c) => (Lexeme::Word, run(|c| c.is_alphanumeric() || c == '_' || c == '$')),
        _ if text.starts_with("->") || text.starts_with("::") => (Lexeme::Mark, 2),
        c => (Lexeme::Mark, c.len_utf8()),
    })
}

/// The length of a literal in quotes, to the end of the line if it has no end.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + c.len_utf8();
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

/// Returns the length of a number, with its suffix. A sign belongs to it after the letter of an exponent.
fn number(text: &str) -> usize {
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let mut last = '0';
    for (at, c) in text.char_indices() {
        let is_exponent = if is_hex { matches!(last, 'p' | 'P') } else { matches!(last, 'e' | 'E') };
        if !(c.is_ascii_alphanumeric() || c == '.' || matches!(c, '+' | '-') && is_exponent) {
            return at;
        }
        last = c;
    }
    text.len()
}
