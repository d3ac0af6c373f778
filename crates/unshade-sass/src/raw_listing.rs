//! Listings as `cuobjdump -sass` prints them: an instruction per line, and its word in a comment.
//!
//! ```text
//!         /*0010*/              @P0 EXIT ;                        /* 0x000000000000094d */
//!                                                                 /* 0x000fea0003800000 */
//! ```
//!
//! A space precedes the semicolon of an instruction with scheduling information; padding has none. Of Kepler, it never does.
//!
//! The words of all functions of a cubin are in one column, two spaces after the longest instruction (of Kepler, each function
//! has its own column). So the lines of a function are made first ([`Function::raw_lines`]), and printed when the column is
//! known ([`RawLines::put`]).

use alloc::string::String;
use alloc::vec::Vec;

use unshade_core::token::Link;
use unshade_core::{Token, TokenKind, TokenSink};

use crate::control;
use crate::listing::{Comments, Counter, Function, MNEMONIC_COLUMN, Word, put_comments, spaces, unknown};
use crate::number::halves;
use crate::print;

/// The size of text chunks passed to a plain-text sink.
const CHUNK: usize = 1 << 14;

/// Returns the column of the mnemonic: cuobjdump shifts it where an address has more than four digits.
fn mnemonic_column(address: u64) -> usize {
    // A digit more for every four bits above the lowest sixteen.
    let above = address.wrapping_shr(16).checked_ilog2().map_or(0, |log| log.div_euclid(4).saturating_add(1));
    MNEMONIC_COLUMN.saturating_add(above as usize)
}

/// The lines of a function.
pub struct RawLines<'a> {
    function: Function<'a>,
    recorded: Recorded,
    column: usize,
}

/// The instructions of the lines: only their text, or with the kinds and links of their tokens.
enum Recorded {
    Text(TextRecord),
    Tokens(Record),
}

impl<'a> Function<'a> {
    /// Makes the lines of the function. A sink of plain text needs no kinds of tokens.
    pub fn raw_lines(&self, is_plain_text: bool) -> RawLines<'a> {
        let (column, recorded) = if is_plain_text {
            let mut text = TextRecord::default();
            (self.record(&mut text, TextRecord::guard), Recorded::Text(text))
        } else {
            let mut tokens = Record::default();
            (self.record(&mut tokens, Record::guard), Recorded::Tokens(tokens))
        };
        RawLines { function: *self, recorded, column }
    }

    /// Prints the lines of the function, with the words in its own column or in `least_column`.
    pub fn raw<S: TokenSink + ?Sized>(&self, least_column: usize, sink: &mut S) {
        self.raw_lines(sink.is_plain_text()).put(least_column, &[], sink);
    }

    /// Returns the column of the words in a listing of this function alone.
    pub fn word_column(&self) -> usize {
        self.record(&mut Counter(0), |_| 0)
    }

    /// Records the text of all instructions, and returns the column of the words after them.
    fn record<R: TokenSink + Lines>(&self, record: &mut R, guard_of: impl Fn(&R) -> usize) -> usize {
        let mut widest = 0;
        for (address, word) in self.words() {
            let guard = match word {
                Word::Schedule(_) => 0,
                Word::Instruction(instruction) => {
                    print::instruction(&instruction, address, record);
                    let is_code = !control::is_padding(self.isa, instruction.word);
                    record.put(TokenKind::Punctuation, if is_code { " ;" } else { ";" });
                    guard_of(record)
                }
                // cuobjdump prints nothing but the word where it knows no text for it.
                Word::Unknown(_) if self.isa.word_bytes > 8 => 0,
                Word::Unknown(bits) => {
                    unknown(bits, record);
                    0
                }
            };
            widest = widest.max(mnemonic_column(address).saturating_add(record.end_line(guard)));
        }
        widest.saturating_add(2)
    }
}

impl RawLines<'_> {
    /// Returns the least column of the words.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Prints the lines, with comments before instructions. The words are in their own column or in `least_column`.
    pub fn put<S: TokenSink + ?Sized>(&self, least_column: usize, comments: Comments<'_>, sink: &mut S) {
        let column = self.column.max(least_column);
        match &self.recorded {
            Recorded::Text(record) => self.put_text(record, column, comments, sink),
            Recorded::Tokens(record) => {
                for ((address, word), line) in self.words().zip(record.lines()) {
                    self.function.source(address, sink);
                    put_comments(comments, address, sink);
                    self.put_line((address, word), line.guard, line.width, column, sink, |sink| {
                        line.replay(sink);
                    });
                }
            }
        }
    }

    /// Prints to a sink that ignores kinds and links of tokens, in large chunks.
    fn put_text<S: TokenSink + ?Sized>(
        &self,
        record: &TextRecord,
        column: usize,
        comments: Comments<'_>,
        sink: &mut S,
    ) {
        let mut start = 0;
        let mut out = String::with_capacity(CHUNK.saturating_mul(2));
        for ((address, word), &(guard, end)) in self.words().zip(&record.lines) {
            let (guard, end) = (usize::from(guard), end as usize);
            let line = record.text.get(start..end).unwrap_or("");
            start = end;
            put_comments(comments, address, &mut out);
            self.put_line((address, word), guard, line.len(), column, &mut out, |out| out.push_str(line));
            if out.len() >= CHUNK {
                sink.put(TokenKind::Text, &out);
                out.clear();
            }
        }
        sink.put(TokenKind::Text, &out);
    }

    /// Returns the addresses and words.
    fn words(&self) -> impl Iterator<Item = (u64, u128)> + use<'_> {
        let Function { isa, bytes, address, .. } = self.function;
        let words = bytes.chunks_exact(isa.word_bytes.max(1)).zip(0_u64..);
        words.map(move |(bytes, index)| {
            (address.wrapping_add(index.wrapping_mul(isa.word_bytes as u64)), isa.word(bytes).unwrap_or(0))
        })
    }

    /// Prints a line. One without an instruction has a scheduling word, or a word without a text.
    fn put_line<S: TokenSink + ?Sized>(
        &self,
        (address, word): (u64, u128),
        guard: usize,
        width: usize,
        column: usize,
        sink: &mut S,
        text: impl FnOnce(&mut S),
    ) {
        let used = match width {
            0 => 0,
            _ => {
                let start = mnemonic_column(address).saturating_sub(guard);
                self.function.put_address(address, start, sink);
                text(sink);
                start.saturating_add(width)
            }
        };
        spaces(column.saturating_sub(used), sink);
        let [low, high] = halves(word);
        word_comment(low, sink);
        sink.put(TokenKind::Space, "\n");
        if self.function.isa.word_bytes > 8 {
            spaces(column, sink);
            word_comment(high, sink);
            sink.put(TokenKind::Space, "\n");
        }
    }
}

/// Prints a word in a comment.
fn word_comment<S: TokenSink + ?Sized>(word: u64, sink: &mut S) {
    let mut text = *b"/* 0x0000000000000000 */";
    for (digit, place) in text.iter_mut().skip(5).take(16).zip((0..16_u32).rev()) {
        let number = usize::try_from(word.wrapping_shr(place.wrapping_mul(4)) & 15).unwrap_or(0);
        *digit = b"0123456789abcdef".get(number).copied().unwrap_or(b'0');
    }
    sink.put(TokenKind::Comment, core::str::from_utf8(&text).unwrap_or(""));
}

/// Tokens of many lines, recorded until the width of the column is known.
#[derive(Default)]
struct Record {
    text: String,
    /// Kind, link, and end in `text` of each token.
    tokens: Vec<(TokenKind, Option<Link>, usize)>,
    /// For each line: end in `tokens`, width of the guard, end in `text`.
    ends: Vec<(usize, usize, usize)>,
}

/// A line of a [`Record`].
struct RecordedLine<'a> {
    text: &'a str,
    tokens: &'a [(TokenKind, Option<Link>, usize)],
    start: usize,
    guard: usize,
    width: usize,
}

/// A recorder of lines.
trait Lines {
    /// Ends the line, and returns its length.
    fn end_line(&mut self, guard: usize) -> usize;
}

/// Returns the width of a line's guard, including the space after it. A guard of the uniform datapath starts in the column of
/// mnemonics, as if it were none.
fn guard_of(line: &str) -> usize {
    let Some(guard) = line.strip_prefix('@') else { return 0 };
    if guard.trim_start_matches('!').starts_with('U') {
        return 0;
    }
    line.find(' ').map_or(0, |end| end.saturating_add(1))
}

/// The text of many lines.
#[derive(Default)]
struct TextRecord {
    text: String,
    /// For each line: width of the guard, end in `text`.
    lines: Vec<(u8, u32)>,
}

impl TextRecord {
    fn guard(&self) -> usize {
        let start = self.lines.last().map_or(0, |line| line.1 as usize);
        guard_of(self.text.get(start..).unwrap_or(""))
    }
}

impl Lines for TextRecord {
    fn end_line(&mut self, guard: usize) -> usize {
        let start = self.lines.last().map_or(0, |line| line.1 as usize);
        let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.lines.push((u8::try_from(guard).unwrap_or(u8::MAX), end));
        self.text.len().saturating_sub(start)
    }
}

impl TokenSink for TextRecord {
    #[inline]
    fn token(&mut self, token: Token<'_>) {
        self.text.push_str(token.text);
    }

    fn mark(&self) -> usize {
        self.text.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.text.truncate(mark);
    }

    fn insert(&mut self, _mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        write(self);
    }
}

impl Record {
    /// Returns the width of the guard of the current line, including the space after it.
    fn guard(&self) -> usize {
        let start = self.ends.last().map_or(0, |end| end.2);
        guard_of(self.text.get(start..).unwrap_or(""))
    }

    fn lines(&self) -> impl Iterator<Item = RecordedLine<'_>> {
        let mut previous = (0, 0);
        self.ends.iter().map(move |&(tokens, guard, end)| {
            let (first, start) = core::mem::replace(&mut previous, (tokens, end));
            RecordedLine {
                text: &self.text,
                tokens: self.tokens.get(first..tokens).unwrap_or(&[]),
                start,
                guard,
                width: end.saturating_sub(start),
            }
        })
    }
}

impl Lines for Record {
    fn end_line(&mut self, guard: usize) -> usize {
        let start = self.ends.last().map_or(0, |end| end.2);
        self.ends.push((self.tokens.len(), guard, self.text.len()));
        self.text.len().saturating_sub(start)
    }
}

impl RecordedLine<'_> {
    fn replay<S: TokenSink + ?Sized>(&self, sink: &mut S) {
        let mut start = self.start;
        for &(kind, link, end) in self.tokens {
            sink.token(Token { kind, text: self.text.get(start..end).unwrap_or(""), link });
            start = end;
        }
    }
}

impl TokenSink for Record {
    #[inline]
    fn token(&mut self, token: Token<'_>) {
        self.text.push_str(token.text);
        self.tokens.push((token.kind, token.link, self.text.len()));
    }

    fn mark(&self) -> usize {
        self.tokens.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.tokens.truncate(mark);
        self.text.truncate(self.tokens.last().map_or(0, |token| token.2));
    }

    fn insert(&mut self, _mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        write(self);
    }
}

impl Lines for Counter {
    fn end_line(&mut self, _guard: usize) -> usize {
        core::mem::take(&mut self.0)
    }
}
