//! The answers of a report: entries with a key each, in blocks that are compressed on their own, so that a page unpacks
//! only what it shows.
//!
//! Answers are JSON, or bytes. Lines of listings are most of a report. They are packed by columns, which compress to half
//! the size of JSON: kinds of tokens, their texts, links, and ranges. The lines of the columns follow the JSON of the answer.
//!
//! | column | content |
//! |---|---|
//! | kinds | a byte per token: its kind, 0x40 for a reference, 0x80 for a definition; 0x3f ends a line |
//! | texts | the texts of tokens, each ended by a newline |
//! | links | of tokens with a link, the entity as the difference to the one before |
//! | ranges | of each line the number of ranges, then of each the start as the difference to the end before, and the length |
//!
//! Numbers are LEB128; differences have their sign in the lowest bit.

use super::super::recorder::KIND_NAMES;
use super::super::{Line, TokenEntry};
use serde::Serialize;

/// Compresses a block.
pub type Pack = fn(&[u8]) -> Vec<u8>;

/// The keys of a block with the sizes of their entries.
pub(super) type Keys = Vec<(String, usize)>;

/// The size at which a block is complete.
const BLOCK: usize = 512 << 10;

const IS_REFERENCE: u8 = 0x40;
const IS_DEFINITION: u8 = 0x80;
const LINE_END: u8 = 0x3f;

/// Entries in compressed blocks.
pub(super) struct Archive {
    pack: Pack,
    budget: usize,
    /// The size of the blocks.
    used: usize,
    blocks: Vec<Vec<u8>>,
    keys: Vec<Keys>,
    open: Vec<u8>,
    open_keys: Keys,
    /// Keys of entries that there was no room for.
    dropped: Vec<String>,
    is_full: bool,
}

impl Archive {
    pub(super) fn new(budget: usize, pack: Pack) -> Self {
        Self {
            pack,
            budget,
            used: 0,
            blocks: Vec::new(),
            keys: Vec::new(),
            open: Vec::new(),
            open_keys: Vec::new(),
            dropped: Vec::new(),
            is_full: false,
        }
    }

    /// Returns whether there was no room for an entry. Nothing is added afterwards.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the keys of entries that there was no room for.
    pub(super) fn dropped(&self) -> &[String] {
        &self.dropped
    }

    pub(super) fn put(&mut self, key: String, entry: &[u8]) {
        if self.is_full {
            return;
        }
        self.open_keys.push((key, entry.len()));
        self.open.extend_from_slice(entry);
        if self.open.len() >= BLOCK {
            self.end_block();
        }
    }

    /// Completes the block, or drops it if there is no room for it.
    pub(super) fn end_block(&mut self) {
        let (bytes, keys) = (std::mem::take(&mut self.open), std::mem::take(&mut self.open_keys));
        if keys.is_empty() {
            return;
        }
        let packed = (self.pack)(&bytes);
        if self.used.saturating_add(packed.len()) > self.budget {
            self.is_full = true;
            self.dropped.extend(keys.into_iter().map(|(key, _)| key));
            return;
        }
        self.used += packed.len();
        self.blocks.push(packed);
        self.keys.push(keys);
    }

    /// Returns the compressor, the keys of each block with the sizes of their entries, and the blocks.
    pub(super) fn finish(mut self) -> (Pack, Vec<Keys>, Vec<Vec<u8>>) {
        self.end_block();
        (self.pack, self.keys, self.blocks)
    }
}

/// Returns an answer and its lines as an entry.
pub(super) fn with_lines<'l>(answer: &impl Serialize, lines: impl Iterator<Item = &'l Line>) -> Vec<u8> {
    let json = serde_json::to_vec(answer).unwrap_or_default();
    let mut columns = Columns::default();
    lines.for_each(|line| columns.line(line));
    let mut entry = Vec::new();
    for part in [&json, &columns.kinds, &columns.texts, &columns.links, &columns.ranges] {
        number(part.len() as u64, &mut entry);
    }
    for part in [&json, &columns.kinds, &columns.texts, &columns.links, &columns.ranges] {
        entry.extend_from_slice(part);
    }
    entry
}

#[derive(Default)]
struct Columns {
    kinds: Vec<u8>,
    texts: Vec<u8>,
    links: Vec<u8>,
    ranges: Vec<u8>,
    last_link: i64,
    last_end: u64,
}

impl Columns {
    fn line(&mut self, line: &Line) {
        for token in &line.tokens {
            let (kind, text, link) = match token {
                TokenEntry::Plain(kind, text) => (kind, text, None),
                TokenEntry::Linked(kind, text, link) => (kind, text, Some(*link)),
            };
            let place = KIND_NAMES.iter().position(|known| known == kind).unwrap_or(KIND_NAMES.len() - 1);
            let flag = match link {
                None => 0,
                Some(link) if link < 0 => IS_DEFINITION,
                Some(_) => IS_REFERENCE,
            };
            self.kinds.push(place as u8 | flag);
            self.texts.extend_from_slice(text.as_bytes());
            self.texts.push(b'\n');
            if let Some(link) = link {
                let entity = if link < 0 { -(link + 1) } else { link };
                difference(entity.wrapping_sub(self.last_link), &mut self.links);
                self.last_link = entity;
            }
        }
        self.kinds.push(LINE_END);
        let ranges = line.range.iter().chain(&line.also);
        number(ranges.clone().count() as u64, &mut self.ranges);
        for [start, end] in ranges {
            difference(start.wrapping_sub(self.last_end).cast_signed(), &mut self.ranges);
            number(end.saturating_sub(*start), &mut self.ranges);
            self.last_end = *end;
        }
    }
}

fn number(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn difference(value: i64, into: &mut Vec<u8>) {
    number((value << 1 ^ value >> 63).cast_unsigned(), into);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_without_room_ends_the_archive() {
        let mut archive = Archive::new(BLOCK + 10, |bytes| bytes.to_vec());
        let entry = vec![7; BLOCK / 2];
        for number in 0..5 {
            archive.put(number.to_string(), &entry);
        }
        assert!(archive.is_full());
        assert_eq!(archive.dropped(), ["2", "3"]);
        let (_, keys, blocks) = archive.finish();
        assert_eq!((keys.len(), blocks.len(), blocks[0].len()), (1, 1, BLOCK));
        assert_eq!(keys[0], [("0".to_owned(), BLOCK / 2), ("1".to_owned(), BLOCK / 2)]);
    }

    #[test]
    fn lines_by_columns() {
        let line = Line {
            tokens: vec![
                TokenEntry::Plain("keyword", "ret".into()),
                TokenEntry::Linked("register", "%1".into(), -3),
                TokenEntry::Linked("register", "%0".into(), 1),
            ],
            range: Some([300, 304]),
            also: vec![[200, 201]],
        };
        let entry = with_lines(&1, [&line, &Line::default()].into_iter());
        let kinds = [2, 6 | IS_DEFINITION, 6 | IS_REFERENCE, LINE_END, LINE_END];
        let ranges = [2, 0xd8, 4, 4, 0xcf, 1, 1, 0];
        assert_eq!(entry[..5], [1, 5, 10, 2, 8]);
        assert_eq!(entry[5..], [&b"1"[..], &kinds, b"ret\n%1\n%0\n", &[4, 1], &ranges].concat());
    }
}
