//! Recorded listings: tokens packed into bytes.
//!
//! A listing may have some million tokens. A token is a byte of kind and flags, its link if it has one, its length, and its
//! text. Other records end a line, or name the bytes of the file that the next tokens were decoded from. An index of
//! lines is made at the end. Entities, whose numbers in the printer may have 64 bits, are renumbered in the order of their
//! first use.

use super::response::{ByteRange, Line, Position, TokenEntry};
use crate::quantity::utf16_length;
use crate::view::FindingView;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use unshade_core::token::Link;
use unshade_core::{Token, TokenKind, TokenSink};

/// The maximum size of the records; a longer listing is cut off.
pub(super) const MAX_RECORDED: usize = 64 << 20;

/// The bits of a record's first byte that are its kind.
const KIND: u8 = 0x3f;
const IS_REFERENCE: u8 = 0x40;
const IS_DEFINITION: u8 = 0x80;

/// Begins a block of the function that is drawn: twice its number, plus one if it has a label.
const BLOCK: u8 = 0x3c;
/// Adds a range that the line was decoded from: start and length.
const ALSO: u8 = 0x3d;
/// Ends a line.
const LINE_END: u8 = 0x3e;
/// Names the range that the next tokens were decoded from: start and length.
const SOURCE: u8 = 0x3f;

/// Kinds of tokens in the order of their numbers.
const KINDS: [(TokenKind, &str); 14] = [
    (TokenKind::Space, "space"),
    (TokenKind::Punctuation, "punctuation"),
    (TokenKind::Keyword, "keyword"),
    (TokenKind::Type, "type"),
    (TokenKind::Function, "function"),
    (TokenKind::Variable, "variable"),
    (TokenKind::Register, "register"),
    (TokenKind::Label, "label"),
    (TokenKind::Attribute, "attribute"),
    (TokenKind::Number, "number"),
    (TokenKind::String, "string"),
    (TokenKind::Address, "address"),
    (TokenKind::Comment, "comment"),
    (TokenKind::Text, "text"),
];

/// The names of kinds in the order of their numbers.
pub(super) const KIND_NAMES: [&str; KINDS.len()] = {
    let mut names = [""; KINDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KINDS[at].1;
        at += 1;
    }
    names
};

fn kind_number(kind: TokenKind) -> u8 {
    let place = KINDS.iter().position(|known| known.0 == kind).unwrap_or(KINDS.len() - 1);
    place as u8
}

/// The maximum number of listings that are kept, if they are not too large.
const MAX_KEPT: usize = 16;

/// A printed listing.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) lines: Lines,
    pub(super) findings: Vec<FindingView>,
}

type Key = (u32, Option<u32>, String);

/// The last listings.
#[derive(Debug, Default)]
pub(super) struct Kept(VecDeque<(Key, Arc<Printed>)>);

impl Kept {
    pub(super) fn get(&mut self, key: &Key) -> Option<Arc<Printed>> {
        let at = self.0.iter().position(|kept| kept.0 == *key)?;
        let kept = self.0.remove(at)?;
        let printed = Arc::clone(&kept.1);
        self.0.push_front(kept);
        Some(printed)
    }

    /// Keeps a listing, and those before it as long as they fit.
    pub(super) fn put(&mut self, key: Key, printed: Arc<Printed>) {
        self.0.push_front((key, printed));
        let mut weight = 0usize;
        let fits = self.0.iter().take(MAX_KEPT).take_while(|(_, printed)| {
            weight = weight.saturating_add(printed.lines.weight());
            weight <= MAX_RECORDED
        });
        let count = fits.count().max(1);
        self.0.truncate(count);
    }
}

/// Returns the lines of a short listing, such as a declaration.
pub(super) fn lines_of(write: impl FnOnce(&mut Recorder)) -> Vec<Line> {
    let mut recorder = Recorder::default();
    write(&mut recorder);
    recorder.finish().some(0, super::MAX_LINES)
}

/// Records tokens.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    records: Vec<u8>,
    entities: HashMap<u64, u32>,
    is_cut: bool,
}

impl Recorder {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.records.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.records.push(number as u8);
    }

    /// Adds a range that the current line was decoded from.
    pub(super) fn also(&mut self, range: Range<u64>) {
        if self.records.len() <= MAX_RECORDED {
            self.records.push(ALSO);
            self.number(range.start);
            self.number(range.end.saturating_sub(range.start));
        }
    }

    /// Begins a block, with its label or without.
    pub(super) fn block(&mut self, block: u32, has_label: bool) {
        self.records.push(BLOCK);
        self.number(u64::from(block) << 1 | u64::from(has_label));
    }

    fn piece(&mut self, kind: u8, text: &str, link: Option<Link>) {
        if text.is_empty() {
            return;
        }
        let flag = match link {
            None => 0,
            Some(Link::Reference(_)) => IS_REFERENCE,
            Some(Link::Definition(_)) => IS_DEFINITION,
        };
        self.records.push(kind | flag);
        if let Some(Link::Reference(entity) | Link::Definition(entity)) = link {
            let next = u32::try_from(self.entities.len()).unwrap_or(u32::MAX);
            let number = *self.entities.entry(entity).or_insert(next);
            self.number(number.into());
        }
        self.number(text.len() as u64);
        self.records.extend_from_slice(text.as_bytes());
    }

    /// The lines.
    pub(super) fn finish(self) -> Lines {
        let (mut lines, mut also) = (Vec::new(), Vec::new());
        let mut reader = Records { records: &self.records, at: 0 };
        let (mut source, mut range, mut start, mut has_tokens) = ((0, 0), (0, 0), 0usize, false);
        while let Some(record) = reader.next() {
            match record {
                Record::Source(begin, length) => source = (begin, length),
                Record::Also(begin, length) => also.push((lines.len() as u32, (begin, length))),
                Record::Block(..) => {}
                Record::Token { .. } => {
                    if !std::mem::replace(&mut has_tokens, true) {
                        range = source;
                    }
                }
                Record::LineEnd => {
                    lines.push(LineStart { at: start as u32, range });
                    (start, range, has_tokens) = (reader.at, (0, 0), false);
                }
            }
        }
        if has_tokens {
            lines.push(LineStart { at: start as u32, range });
        }
        Lines { records: self.records, lines, also, is_cut: self.is_cut }
    }
}

impl TokenSink for Recorder {
    fn token(&mut self, token: Token<'_>) {
        if self.records.len() > MAX_RECORDED {
            self.is_cut = true;
            return;
        }
        let kind = kind_number(token.kind);
        let mut parts = token.text.split('\n');
        self.piece(kind, parts.next().unwrap_or_default(), token.link);
        for part in parts {
            self.records.push(LINE_END);
            self.piece(kind, part, token.link);
        }
    }

    fn source(&mut self, range: Range<u64>) {
        if self.records.len() <= MAX_RECORDED {
            self.records.push(SOURCE);
            self.number(range.start);
            self.number(range.end.saturating_sub(range.start));
        }
    }

    fn wants_sources(&self) -> bool {
        true
    }

    fn mark(&self) -> usize {
        self.records.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.records.truncate(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self { entities: std::mem::take(&mut self.entities), ..Self::default() };
        write(&mut part);
        part.source(0..0);
        self.entities = part.entities;
        self.is_cut |= part.is_cut;
        let mark = mark.min(self.records.len());
        self.records.splice(mark..mark, part.records);
    }
}

#[derive(Clone, Copy, Debug)]
enum Record<'t> {
    Token { kind: u8, link: Option<Link>, text: &'t str },
    LineEnd,
    Source(u64, u64),
    Also(u64, u64),
    Block(u32, bool),
}

/// Reads records.
struct Records<'t> {
    records: &'t [u8],
    at: usize,
}

impl Records<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.records.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Record<'t>;

    fn next(&mut self) -> Option<Record<'t>> {
        let first = *self.records.get(self.at)?;
        self.at += 1;
        match first & KIND {
            LINE_END => Some(Record::LineEnd),
            SOURCE => Some(Record::Source(self.number()?, self.number()?)),
            ALSO => Some(Record::Also(self.number()?, self.number()?)),
            BLOCK => {
                let number = self.number()?;
                Some(Record::Block(u32::try_from(number >> 1).ok()?, number & 1 == 1))
            }
            kind => {
                let link = match first & !KIND {
                    0 => None,
                    IS_REFERENCE => Some(Link::Reference(self.number()?)),
                    _ => Some(Link::Definition(self.number()?)),
                };
                let length = usize::try_from(self.number()?).ok()?;
                let text = self.records.get(self.at..self.at.checked_add(length)?)?;
                self.at += length;
                Some(Record::Token { kind, link, text: std::str::from_utf8(text).ok()? })
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct LineStart {
    /// The offset of its first record.
    at: u32,
    /// Start and length in the file.
    range: (u64, u64),
}

impl LineStart {
    fn range(&self) -> Option<ByteRange> {
        byte_range(self.range)
    }
}

/// A range that is not empty, from its start and length.
fn byte_range((start, length): (u64, u64)) -> Option<ByteRange> {
    (length > 0).then(|| [start, start.saturating_add(length)])
}

/// The lines of a listing.
#[derive(Debug, Default)]
pub(super) struct Lines {
    records: Vec<u8>,
    lines: Vec<LineStart>,
    /// Further ranges that lines were decoded from, by line.
    also: Vec<(u32, (u64, u64))>,
    /// Whether the listing was cut off.
    pub(super) is_cut: bool,
}

impl Lines {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// How much memory they take.
    pub(super) fn weight(&self) -> usize {
        self.records.len() + size_of_val(&*self.lines) + size_of_val(&*self.also)
    }

    fn records_of(&self, line: usize) -> impl Iterator<Item = Record<'_>> {
        let at = self.lines.get(line).map_or(self.records.len(), |line| line.at as usize);
        Records { records: &self.records, at }.take_while(|record| !matches!(record, Record::LineEnd))
    }

    /// Returns a line; an empty one after the last.
    pub(super) fn line(&self, line: usize) -> Line {
        let tokens = self.records_of(line).filter_map(|record| match record {
            Record::Token { kind, link, text } => {
                let kind = KINDS.get(usize::from(kind)).map_or("text", |known| known.1);
                Some(match link {
                    None => TokenEntry::Plain(kind, text.to_owned()),
                    Some(link) => TokenEntry::Linked(kind, text.to_owned(), link_number(link)),
                })
            }
            _ => None,
        });
        let also = self.also_of(line).filter_map(|(_, range)| byte_range(*range)).collect();
        Line { tokens: tokens.collect(), range: self.lines.get(line).and_then(LineStart::range), also }
    }

    fn also_of(&self, line: usize) -> impl Iterator<Item = &(u32, (u64, u64))> {
        let from = self.also.partition_point(|(at, _)| (*at as usize) < line);
        self.also.iter().skip(from).take_while(move |(at, _)| *at as usize == line)
    }

    /// Returns the blocks, each with its first line and whether that has a label.
    pub(super) fn blocks(&self) -> Vec<(u32, usize, bool)> {
        let (mut blocks, mut line) = (Vec::new(), 0usize);
        for record in (Records { records: &self.records, at: 0 }) {
            match record {
                Record::Block(block, has_label) => blocks.push((block, line, has_label)),
                Record::LineEnd => line += 1,
                _ => {}
            }
        }
        blocks
    }

    /// Some lines, from one on.
    pub(super) fn some(&self, from: usize, count: usize) -> Vec<Line> {
        (from..self.len()).take(count).map(|line| self.line(line)).collect()
    }

    /// Calls `visit` with the text of each line.
    pub(super) fn each_text(&self, mut visit: impl FnMut(usize, &str)) {
        let mut text = String::new();
        for line in 0..self.len() {
            text.clear();
            self.push_text(line, &mut text);
            visit(line, &text);
        }
    }

    /// Returns the text of a line.
    pub(super) fn text_of(&self, line: usize) -> String {
        let mut text = String::new();
        self.push_text(line, &mut text);
        text
    }

    fn push_text(&self, line: usize, text: &mut String) {
        for record in self.records_of(line) {
            if let Record::Token { text: part, .. } = record {
                text.push_str(part);
            }
        }
    }

    /// Puts all of it into a sink.
    pub(super) fn replay(&self, sink: &mut dyn TokenSink) {
        for record in (Records { records: &self.records, at: 0 }) {
            match record {
                Record::Token { kind, link, text } => {
                    let kind = KINDS.get(usize::from(kind)).map_or(TokenKind::Text, |known| known.0);
                    sink.token(Token { kind, text, link });
                }
                Record::LineEnd => sink.put(TokenKind::Space, "\n"),
                Record::Source(start, length) => sink.source(start..start.saturating_add(length)),
                Record::Also(..) | Record::Block(..) => {}
            }
        }
    }

    /// Puts the lines that were decoded from these bytes into a sink.
    pub(super) fn replay_range(&self, bytes: &Range<u64>, sink: &mut dyn TokenSink) {
        let is_inside = |[start, end]: ByteRange| bytes.start <= start && end <= bytes.end;
        for line in (0..self.len()).filter(|line| self.range(*line).is_some_and(is_inside)) {
            for record in self.records_of(line) {
                if let Record::Token { kind, link, text } = record {
                    let kind = KINDS.get(usize::from(kind)).map_or(TokenKind::Text, |known| known.0);
                    sink.token(Token { kind, text, link });
                }
            }
            sink.put(TokenKind::Space, "\n");
        }
    }

    /// All of it as text.
    pub(super) fn text(&self) -> String {
        let mut all = String::new();
        self.each_text(|_, text| {
            all.push_str(text);
            all.push('\n');
        });
        all
    }

    /// Returns the bytes of a line.
    pub(super) fn range(&self, line: usize) -> Option<ByteRange> {
        self.lines.get(line)?.range()
    }

    /// The line with the fewest bytes that holds this one; of several such the first.
    pub(super) fn at(&self, offset: u64) -> Option<usize> {
        let first = (0..).zip(self.lines.iter().map(|line| line.range));
        let besides = self.also.iter().map(|(line, range)| (*line as usize, *range));
        let held = first.chain(besides).filter(|(_, range)| {
            byte_range(*range).is_some_and(|[start, end]| (start..end).contains(&offset))
        });
        held.min_by_key(|(at, (_, length))| (*length, *at)).map(|(at, _)| at)
    }

    /// Calls `visit` for each token that defines (`true`) or refers to an entity, in order.
    pub(super) fn each_link(&self, entity: u64, mut visit: impl FnMut(Position, bool)) {
        let (mut line, mut column) = (0u32, 0u32);
        for record in (Records { records: &self.records, at: 0 }) {
            match record {
                Record::LineEnd => (line, column) = (line.saturating_add(1), 0),
                Record::Source(..) | Record::Also(..) | Record::Block(..) => {}
                Record::Token { link, text, .. } => {
                    let length = utf16_length(text);
                    match link {
                        Some(Link::Definition(number)) if number == entity => {
                            visit(Position { line, column, length }, true);
                        }
                        Some(Link::Reference(number)) if number == entity => {
                            visit(Position { line, column, length }, false);
                        }
                        _ => {}
                    }
                    column = column.saturating_add(length);
                }
            }
        }
    }
}

/// Returns the number of a link in a response.
fn link_number(link: Link) -> i64 {
    match link {
        Link::Reference(number) => number.cast_signed(),
        Link::Definition(number) => -number.cast_signed() - 1,
    }
}

/// The entity of a link in a request.
pub(super) fn entity(link: i64) -> u64 {
    if link < 0 { (-(link + 1)).cast_unsigned() } else { link.cast_unsigned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token<'a>(kind: TokenKind, text: &'a str, link: Option<Link>) -> Token<'a> {
        Token { kind, text, link }
    }

    #[test]
    fn lines_ranges_and_links() {
        let mut recorder = Recorder::default();
        recorder.put(TokenKind::Keyword, "define\n");
        let mark = recorder.mark();
        recorder.source(100..104);
        recorder.put(TokenKind::Space, "  ");
        recorder.token(token(TokenKind::Register, "%0", Some(Link::Definition(u64::MAX))));
        recorder.put(TokenKind::Punctuation, " = call\n    é ");
        recorder.token(token(TokenKind::Register, "%0", Some(Link::Reference(u64::MAX))));
        recorder.source(0..0);
        recorder.put(TokenKind::Punctuation, "\n}\n");
        recorder.insert(mark, &mut |sink| sink.put(TokenKind::Comment, "; late\n"));
        let lines = recorder.finish();
        assert_eq!(lines.text(), "define\n; late\n  %0 = call\n    é %0\n}\n");
        let ranges: Vec<_> = (0..lines.len()).map(|line| lines.range(line)).collect();
        assert_eq!(ranges, [None, None, Some([100, 104]), Some([100, 104]), None]);
        assert_eq!((lines.at(103), lines.at(104)), (Some(2), None));
        let mut links = Vec::new();
        lines.each_link(entity(-1), |place, is_definition| links.push((place, is_definition)));
        let position = |line, column| Position { line, column, length: 2 };
        assert_eq!(links, [(position(2, 2), true), (position(3, 6), false)]);
        assert_eq!(lines.line(3).tokens[1], TokenEntry::Linked("register", "%0".into(), 0));
        assert_eq!(lines.line(2).tokens[1], TokenEntry::Linked("register", "%0".into(), -1));
    }

    #[test]
    fn lines_of_several_ranges_and_blocks() {
        let mut recorder = Recorder::default();
        recorder.put(TokenKind::Text, "{\n");
        recorder.block(0, false);
        recorder.source(8..24);
        recorder.also(40..48);
        recorder.put(TokenKind::Text, "a\n");
        recorder.source(24..32);
        recorder.block(3, true);
        recorder.put(TokenKind::Text, "b\n");
        let lines = recorder.finish();
        assert_eq!(
            (lines.at(16), lines.at(44), lines.at(30), lines.at(36)),
            (Some(1), Some(1), Some(2), None)
        );
        assert_eq!((lines.line(1).also, lines.line(2).also), (vec![[40, 48]], vec![]));
        assert_eq!(lines.blocks(), [(0, 1, false), (3, 2, true)]);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let mut recorder = Recorder::default();
        let line = "x".repeat(1 << 20) + "\n";
        (0..80).for_each(|_| recorder.put(TokenKind::Text, &line));
        let lines = recorder.finish();
        assert!(lines.is_cut && lines.len() < 70 && lines.weight() < MAX_RECORDED + (2 << 20));
    }
}
