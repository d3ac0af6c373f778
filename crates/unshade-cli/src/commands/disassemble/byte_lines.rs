//! Prints the bytes that each line was decoded from in front of the line.
//!
//! Each line is `offset bytes text`, with the offset in the file and at most a few bytes. Records of bitcode are not
//! aligned: neighbouring records may share the first and the last byte.

use std::fmt::Write;
use std::ops::Range;
use unshade::core::{Token, TokenKind, TokenSink};

/// Maximum number of bytes shown.
const SHOWN: usize = 8;
/// Number of hexadecimal digits of an offset, as in `unshade dump`.
const DIGITS: usize = 8;

/// Passes tokens on and adds a column before each line.
pub(super) struct ByteLines<'b, S> {
    /// The destination of the text.
    pub(super) sink: S,
    bytes: &'b [u8],
    base: u64,
    /// The bytes that the next line is decoded from.
    range: Range<u64>,
    begins: bool,
}

impl<'b, S: TokenSink> ByteLines<'b, S> {
    /// Creates the filter for a module whose bytes begin at offset `base` of the file.
    pub(super) fn new(bytes: &'b [u8], base: u64, sink: S) -> Self {
        Self { sink, bytes, base, range: 0..0, begins: true }
    }

    fn column(&mut self) {
        // The later lines of an instruction have the same bytes as its first.
        let range = std::mem::take(&mut self.range);
        let place = |offset: u64| usize::try_from(offset.checked_sub(self.base)?).ok();
        let bytes =
            place(range.start).zip(place(range.end)).and_then(|(start, end)| self.bytes.get(start..end));
        let bytes = bytes.unwrap_or_default();
        let width = SHOWN * 3 + 2;
        if bytes.is_empty() {
            return self.sink.put(TokenKind::Space, &" ".repeat(DIGITS + 2 + width));
        }
        let mut shown = String::new();
        for byte in bytes.iter().take(SHOWN) {
            let _ = write!(shown, "{byte:02x} ");
        }
        if bytes.len() > SHOWN {
            shown.push('…');
        }
        self.sink.put(TokenKind::Address, &format!("{:0DIGITS$x}", range.start));
        self.sink.put(TokenKind::Space, "  ");
        self.sink.put(TokenKind::Comment, &format!("{shown:<width$}"));
    }
}

impl<S: TokenSink> TokenSink for ByteLines<'_, S> {
    fn token(&mut self, token: Token<'_>) {
        for (at, text) in token.text.split('\n').enumerate() {
            if at > 0 {
                self.sink.put(TokenKind::Space, "\n");
                self.begins = true;
            }
            if text.is_empty() {
                continue;
            }
            if std::mem::take(&mut self.begins) {
                self.column();
            }
            self.sink.token(Token { text, ..token });
        }
    }

    fn source(&mut self, range: Range<u64>) {
        self.range = range;
    }

    fn wants_sources(&self) -> bool {
        true
    }

    fn mark(&self) -> usize {
        self.sink.mark()
    }

    fn truncate(&mut self, mark: usize) {
        self.sink.truncate(mark);
        self.begins = true;
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let (bytes, base) = (self.bytes, self.base);
        self.sink.insert(mark, &mut |sink| write(&mut ByteLines::new(bytes, base, sink)));
    }
}
