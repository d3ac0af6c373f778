//! Splits LLVM assembly into tokens.
//!
//! Names and strings keep their escapes (`\XX`) until they are needed. A word, number or string directly before a
//! colon is a label; the fields of debug-info nodes (`line: 3`) are labels too. `!` is a token of its own unless a
//! name follows. Comments run from `;` to the end of the line.
//!
//! Knowledge: LLVM's language reference (14 and 19), and what `llvm-as` accepts.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use memchr::memchr;

/// A name or string as it is written, between its quotes if it has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text<'t>(&'t [u8]);

impl<'t> Text<'t> {
    /// Returns the bytes that the text means: `\XX` is a byte in hexadecimal, `\\` a backslash.
    pub(super) fn bytes(self) -> Cow<'t, [u8]> {
        if !self.0.contains(&b'\\') {
            return Cow::Borrowed(self.0);
        }
        let mut bytes = Vec::with_capacity(self.0.len());
        let mut rest = self.0;
        while let Some((&first, tail)) = rest.split_first() {
            let escaped = match (first, tail) {
                (b'\\', [b'\\', ..]) => Some((b'\\', 1)),
                (b'\\', [high, low, ..]) => {
                    digit(*high).zip(digit(*low)).map(|(high, low)| (high << 4 | low, 2))
                }
                _ => None,
            };
            let (byte, skipped) = escaped.unwrap_or((first, 0));
            bytes.push(byte);
            rest = tail.get(skipped..).unwrap_or_default();
        }
        Cow::Owned(bytes)
    }
}

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// The end of the text.
    End,
    /// A keyword, a type such as `i32`, or any other bare word.
    Word(&'t [u8]),
    /// A name or number before a colon.
    Label(Text<'t>),
    /// `@name`
    Global(Text<'t>),
    /// `@5`
    GlobalNumber(u32),
    /// `%name`
    Local(Text<'t>),
    /// `%5`
    LocalNumber(u32),
    /// `$name`
    Comdat(Text<'t>),
    /// `!name`
    Metadata(Text<'t>),
    /// `#5`
    AttributeGroup(u32),
    /// `#name`
    DebugRecord(&'t [u8]),
    /// `^5`
    Summary(u32),
    /// A decimal integer, with its sign.
    Integer(&'t [u8]),
    /// A decimal floating-point number.
    Float(&'t [u8]),
    /// A hexadecimal number with its prefix: `0x`, `0xK`, `0xL`, `0xM`, `0xH`, `0xR`, `u0x` or `s0x`.
    Hexadecimal(&'t [u8]),
    /// `"text"`
    Text(Text<'t>),
    /// `...`
    Dots,
    /// Any of `= , * ( ) [ ] { } < > ! | : /`
    Punctuation(u8),
    /// What can't be a token.
    Unknown,
}

/// Reads tokens from a text.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'t> {
    text: &'t [u8],
    position: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { text, position: 0 }
    }

    /// Returns the position after the last token.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Goes on at a position.
    pub(super) fn set_position(&mut self, position: usize) {
        self.position = position;
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// Returns the next token.
    pub(super) fn token(&mut self) -> Token<'t> {
        let mut token = Token::End;
        self.next(&mut token);
        token
    }

    /// Reads the next token into `token`, where the parser needs it, and returns the position of its first byte.
    pub(super) fn next(&mut self, token: &mut Token<'t>) -> usize {
        let text = self.text;
        let mut start = self.position;
        let first = loop {
            match text.get(start) {
                None => {
                    self.position = start;
                    *token = Token::End;
                    return start;
                }
                // Most tokens follow one space or none.
                Some(b' ' | b'\n' | b'\t' | b'\r' | 0) => start += 1,
                Some(b';') => {
                    let rest = text.get(start..).unwrap_or_default();
                    start += memchr(b'\n', rest).unwrap_or(rest.len());
                }
                Some(&first) => break first,
            }
        };
        // What most of a text is: words, locals, punctuation and integers.
        match first {
            b'a'..=b'z' if !matches!(first, b'u' | b's') || text.get(start + 1) != Some(&b'0') => {
                let end = name_end(text, start + 1);
                let word = text.get(start..end).unwrap_or_default();
                self.position = end;
                if text.get(end) == Some(&b':') {
                    self.position = end + 1;
                    *token = Token::Label(Text(word));
                } else {
                    *token = Token::Word(self.keyword(word));
                }
            }
            b'=' | b',' | b'*' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'|' | b':'
            | b'/' => {
                self.position = start + 1;
                *token = Token::Punctuation(first);
            }
            b'%' if text.get(start + 1).is_some_and(|&next| is_name_start(next)) => {
                let end = name_end(text, start + 1);
                self.position = end;
                *token = Token::Local(Text(text.get(start + 1..end).unwrap_or_default()));
            }
            b'0'..=b'9' => {
                let end = digits_end(text, start + 1);
                match text.get(end) {
                    Some(&next) if is_name(next) || next == b':' => *token = self.rare(first, start),
                    _ => {
                        self.position = end;
                        *token = Token::Integer(text.get(start..end).unwrap_or_default());
                    }
                }
            }
            _ => *token = self.rare(first, start),
        }
        start
    }

    /// Reads a token that starts with `first`, at `start`.
    fn rare(&mut self, first: u8, start: usize) -> Token<'t> {
        self.position = start;
        let token = match first {
            b'@' => self.sigil(Token::Global, Token::GlobalNumber),
            b'%' => self.sigil(Token::Local, Token::LocalNumber),
            b'$' if self.peek(1).is_some_and(|next| next == b'"' || is_name_start(next)) => self.comdat(),
            b'#' if self.peek(1).is_some_and(is_name_start) => {
                self.position += 1;
                Token::DebugRecord(self.take_name())
            }
            b'#' => self.numbered(Token::AttributeGroup),
            b'^' => self.numbered(Token::Summary),
            b'!' if self.peek(1).is_some_and(|next| is_name_start(next) || next == b'\\') => {
                self.position += 1;
                Token::Metadata(Text(self.take_while(|byte| is_name(byte) || byte == b'\\')))
            }
            b'!' => {
                self.position += 1;
                Token::Punctuation(b'!')
            }
            b'"' => match self.quoted() {
                Some(text) if self.eat_colon() => match text.bytes().contains(&0) {
                    true => Token::Unknown,
                    false => Token::Label(text),
                },
                Some(text) => Token::Text(text),
                None => Token::Unknown,
            },
            b'.' if self.rest().starts_with(b"...") => {
                self.position += 3;
                Token::Dots
            }
            b'0'..=b'9' | b'-' | b'+' => self.number(),
            _ if is_name_start(first) => self.word(),
            _ => Token::Unknown,
        };
        if matches!(token, Token::Unknown) {
            self.position = self.position.max(start + 1);
        }
        token
    }

    #[inline(always)]
    fn rest(&self) -> &'t [u8] {
        self.text.get(self.position..).unwrap_or_default()
    }

    #[inline(always)]
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.position + ahead).copied()
    }

    fn since(&self, start: usize) -> &'t [u8] {
        self.text.get(start..self.position).unwrap_or_default()
    }

    #[inline(always)]
    fn take_while(&mut self, accepts: impl Fn(u8) -> bool) -> &'t [u8] {
        let rest = self.rest();
        let count = rest.iter().position(|&byte| !accepts(byte)).unwrap_or(rest.len());
        self.position += count;
        rest.get(..count).unwrap_or_default()
    }

    fn take_name(&mut self) -> &'t [u8] {
        let start = self.position;
        self.position = name_end(self.text, start);
        self.since(start)
    }

    fn eat_colon(&mut self) -> bool {
        let is_colon = self.peek(0) == Some(b':');
        self.position += usize::from(is_colon);
        is_colon
    }

    /// Reads a string that starts at a quote.
    fn quoted(&mut self) -> Option<Text<'t>> {
        self.position += 1;
        let rest = self.rest();
        let Some(end) = memchr(b'"', rest) else {
            self.position += rest.len();
            return None;
        };
        self.position += end + 1;
        rest.get(..end).map(Text)
    }

    /// Reads what follows `@` or `%`: a name, a quoted name or a number.
    #[inline(always)]
    fn sigil(&mut self, named: fn(Text<'t>) -> Token<'t>, numbered: fn(u32) -> Token<'t>) -> Token<'t> {
        match self.peek(1) {
            Some(b'"') => {
                self.position += 1;
                match self.quoted() {
                    // A name can't have a null byte.
                    Some(name) if !name.bytes().contains(&0) => named(name),
                    _ => Token::Unknown,
                }
            }
            Some(b'0'..=b'9') => self.numbered(numbered),
            Some(next) if is_name_start(next) => {
                self.position += 1;
                named(Text(self.take_name()))
            }
            _ => Token::Unknown,
        }
    }

    fn comdat(&mut self) -> Token<'t> {
        let start = self.position;
        self.position += 1;
        if self.peek(0) == Some(b'"') {
            return self.quoted().map_or(Token::Unknown, Token::Comdat);
        }
        let name = self.take_name();
        if self.eat_colon() {
            let whole = self.text.get(start..self.position - 1).unwrap_or_default();
            return Token::Label(Text(whole));
        }
        Token::Comdat(Text(name))
    }

    #[inline(always)]
    fn numbered(&mut self, make: fn(u32) -> Token<'t>) -> Token<'t> {
        self.position += 1;
        let start = self.position;
        self.position = digits_end(self.text, start);
        let digits = self.since(start);
        match parse_u64(digits).and_then(|number| u32::try_from(number).ok()) {
            Some(number) if !digits.is_empty() => make(number),
            _ => Token::Unknown,
        }
    }

    fn word(&mut self) -> Token<'t> {
        let word = self.take_name();
        if self.eat_colon() {
            return Token::Label(Text(word));
        }
        let word = self.keyword(word);
        match word {
            [b'u' | b's', b'0', b'x', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
                match digits.iter().all(u8::is_ascii_hexdigit) {
                    true => Token::Hexadecimal(word),
                    false => Token::Unknown,
                }
            }
            _ => Token::Word(word),
        }
    }

    /// Returns the keyword that bytes of a name begin with, and goes back to its end: an integer type ends after its
    /// digits, and others before anything but letters, digits and underscores.
    #[inline(always)]
    fn keyword(&mut self, word: &'t [u8]) -> &'t [u8] {
        let is_integer = matches!(word, [b'i', b'0'..=b'9', ..]);
        let ends =
            |byte: &u8| if is_integer { !byte.is_ascii_digit() } else { matches!(byte, b'$' | b'.' | b'-') };
        let end = word.iter().skip(1).position(ends).map_or(word.len(), |at| at + 1);
        self.position -= word.len() - end;
        word.get(..end).unwrap_or(word)
    }

    /// Reads a number, or a label that starts like one.
    fn number(&mut self) -> Token<'t> {
        let start = self.position;
        self.position += usize::from(matches!(self.peek(0), Some(b'-' | b'+')));
        if self.rest().starts_with(b"0x") && self.position == start {
            self.position += 2;
            self.position += usize::from(matches!(self.peek(0), Some(b'K' | b'L' | b'M' | b'H' | b'R')));
            let _ = self.take_while(|byte| byte.is_ascii_hexdigit());
            return Token::Hexadecimal(self.since(start));
        }
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let label_end = match self.peek(0) {
            Some(byte) if is_name(byte) => {
                self.rest().iter().position(|&byte| !is_name(byte)).unwrap_or(self.rest().len())
            }
            _ => 0,
        };
        if self.peek(label_end) == Some(b':') && self.text.get(start) != Some(&b'+') {
            self.position += label_end + 1;
            return Token::Label(Text(self.text.get(start..self.position - 1).unwrap_or_default()));
        }
        if digits.is_empty() {
            return Token::Unknown;
        }
        if self.peek(0) != Some(b'.') {
            return Token::Integer(self.since(start));
        }
        self.position += 1;
        let _ = self.take_while(|byte| byte.is_ascii_digit());
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.peek(1), Some(b'-' | b'+')));
            if self.peek(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
                self.position += 1 + sign;
                let _ = self.take_while(|byte| byte.is_ascii_digit());
            }
        }
        Token::Float(self.since(start))
    }
}

/// Returns the end of the name that goes on at a position.
#[inline(always)]
fn name_end(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_name(byte)) {
        at += 1;
    }
    at
}

/// Returns the end of the digits that go on at a position.
#[inline(always)]
fn digits_end(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

const fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'$' | b'.' | b'_' | b'-')
}

/// Whether each byte can be part of a name: a table, because a lexer does little else than to ask.
#[allow(clippy::indexing_slicing, reason = "evaluated when this is compiled")]
const NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = is_name_start(byte as u8) || (byte as u8).is_ascii_digit();
        byte += 1;
    }
    table
};

#[inline(always)]
fn is_name(byte: u8) -> bool {
    NAME_BYTES.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Returns the value of a hexadecimal digit.
pub(super) fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Parses an unsigned decimal number of at most 64 bits.
pub(crate) fn parse_u64(digits: &[u8]) -> Option<u64> {
    // Up to 19 digits can't overflow.
    let (first, rest) = digits.split_at_checked(19).unwrap_or((digits, &[]));
    let mut number = 0u64;
    for &byte in first {
        let digit = byte.wrapping_sub(b'0');
        if digit >= 10 {
            return None;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    rest.iter().try_fold(number, |number, &byte| {
        let digit = byte.checked_sub(b'0').filter(|&digit| digit < 10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text.as_bytes());
        let mut tokens = Vec::new();
        loop {
            match lexer.token() {
                Token::End => return tokens,
                token => tokens.push(token),
            }
        }
    }

    #[test]
    fn names_and_numbers() {
        assert_eq!(
            tokens("@a.b %5 $x !air.version !5 #3 %\"a\\22b\""),
            [
                Token::Global(Text(b"a.b")),
                Token::LocalNumber(5),
                Token::Comdat(Text(b"x")),
                Token::Metadata(Text(b"air.version")),
                Token::Punctuation(b'!'),
                Token::Integer(b"5"),
                Token::AttributeGroup(3),
                Token::Local(Text(b"a\\22b")),
            ]
        );
        assert_eq!(&*Text(b"a\\22\\\\b\\").bytes(), b"a\"\\b\\");
    }

    #[test]
    fn numbers_and_labels() {
        assert_eq!(
            tokens("-7 1.5e+3 0xH3C00 u0xFF s0x1: u0xG u0x1G 12: if.then: \"x y\": -a: 1.: ... ; c\n2"),
            [
                Token::Integer(b"-7"),
                Token::Float(b"1.5e+3"),
                Token::Hexadecimal(b"0xH3C00"),
                Token::Hexadecimal(b"u0xFF"),
                Token::Label(Text(b"s0x1")),
                Token::Word(b"u0xG"),
                Token::Unknown,
                Token::Label(Text(b"12")),
                Token::Label(Text(b"if.then")),
                Token::Label(Text(b"x y")),
                Token::Label(Text(b"-a")),
                Token::Label(Text(b"1.")),
                Token::Dots,
                Token::Integer(b"2"),
            ]
        );
    }

    #[test]
    fn keywords_end_before_other_signs() {
        assert_eq!(
            tokens("i16-1 i8x double-1.0 i: a.b: ret"),
            [
                Token::Word(b"i16"),
                Token::Integer(b"-1"),
                Token::Word(b"i8"),
                Token::Word(b"x"),
                Token::Word(b"double"),
                Token::Float(b"-1.0"),
                Token::Label(Text(b"i")),
                Token::Label(Text(b"a.b")),
                Token::Word(b"ret"),
            ]
        );
    }

    #[test]
    fn damaged_text_ends() {
        for text in ["\"abc", "@", "%", "\u{7f}", "#x", "^99999999999", "-", "0x"] {
            let _ = tokens(text);
        }
    }
}
