//! Buffers text of a roughly known size in large pages, if the system has them.
//!
//! The text of a module is several times larger than the module. For megabytes of text, half of the program's system
//! time is spent on providing pages of 4 kB one by one; pages of 2 MB avoid that.

use memmap2::MmapMut;
use std::io;
use unshade::core::{Token, TokenSink};

/// Minimum size for large pages.
const MIN: usize = 1 << 21;

/// A growing text in memory of its own.
pub(crate) struct LargeText {
    map: MmapMut,
    len: usize,
}

impl LargeText {
    /// Reserves memory for a text of about this size; for a small one, or without memory, it reserves nothing.
    pub(crate) fn new(capacity: usize) -> Option<Self> {
        if capacity < MIN { None } else { Some(Self { map: pages(capacity).ok()?, len: 0 }) }
    }

    /// Returns the text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.map.get(..self.len).unwrap_or_default()
    }

    #[inline]
    fn push(&mut self, text: &[u8]) {
        let end = self.len + text.len();
        if end > self.map.len() {
            self.grow(end);
        }
        self.map[self.len..end].copy_from_slice(text);
        self.len = end;
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        let mut larger = pages(least.max(self.map.len() * 2)).expect("there is memory for the text");
        larger[..self.len].copy_from_slice(&self.map[..self.len]);
        self.map = larger;
    }
}

fn pages(size: usize) -> io::Result<MmapMut> {
    let map = MmapMut::map_anon(size.next_multiple_of(MIN))?;
    // If there are no large pages, small ones are used.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}

impl TokenSink for LargeText {
    #[inline]
    fn token(&mut self, token: Token<'_>) {
        self.push(token.text.as_bytes());
    }

    fn mark(&self) -> usize {
        self.len
    }

    fn truncate(&mut self, mark: usize) {
        self.len = self.len.min(mark);
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = String::new();
        write(&mut part);
        let (old, added) = (self.len, part.len());
        // Appending makes room; the bytes are overwritten below.
        self.push(part.as_bytes());
        self.map.copy_within(mark..old, mark + added);
        self.map[mark..mark + added].copy_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade::core::TokenKind;

    #[test]
    fn grows_and_takes_late_parts() {
        assert!(LargeText::new(100).is_none());
        let mut text = LargeText::new(MIN).unwrap();
        let mut plain = String::new();
        for sink in [&mut text as &mut dyn TokenSink, &mut plain] {
            sink.put(TokenKind::Text, "head\n");
            let mark = sink.mark();
            for _ in 0..MIN / 4 {
                sink.put(TokenKind::Text, "seven b");
            }
            sink.insert(mark, &mut |sink| sink.put(TokenKind::Text, "late\n"));
            sink.put(TokenKind::Text, "cut");
            let end = sink.mark() - 3;
            sink.truncate(end);
        }
        assert!(text.as_bytes() == plain.as_bytes());
    }
}
