//! Parts whose pieces are at explicit offsets: root signatures, signatures, resource definitions.
//!
//! Such a part keeps the offsets that were read, so that it is written back unchanged whatever tool laid it out; the
//! `lay_out` method of each part assigns new offsets. [`Slack`] holds what no piece covers: padding of one byte
//! value, and bytes that nothing refers to.

use crate::bytes::{Bytes, len32};
use crate::scalar::{Hex32, model};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Maximum size of a part relative to its contents ...
const MAX_SPARSENESS: usize = 16;

/// ... and in bytes, before its offsets count as an error.
const SPARSE_FLOOR: usize = 1 << 12;

/// The padding byte of FXC and vkd3d.
pub(crate) const FXC_FILL: u8 = 0xab;

model! {
    /// Bytes that nothing in the part refers to.
    pub struct Extra {
        /// Their offset in the part.
        pub offset: Hex32 => "Offset",
        /// The bytes.
        pub bytes: Bytes => "Bytes",
    }
}

model! {
    /// The bytes between and after the pieces of a part.
    pub struct Slack {
        /// The size of the part.
        pub size: u32 => "Size",
        /// The padding byte.
        pub fill: u8 => "Fill",
        /// Bytes that are not padding.
        pub extra: Vec<Extra> => "Extra",
    }
}

impl Slack {
    /// Creates the slack of a part that has only padding.
    pub fn new(size: usize, fill: u8) -> Self {
        Self { size: len32(size), fill, extra: Vec::new() }
    }

    /// Returns the number of bytes with an unknown purpose.
    pub(crate) fn extra_bytes(&self) -> usize {
        self.extra.iter().fold(0, |sum, extra| sum.saturating_add(extra.bytes.0.len()))
    }

    /// Creates the slack of a part of `size` bytes from its unclaimed ranges.
    pub(crate) fn from_gaps(size: usize, gaps: &[(u32, &[u8])]) -> Self {
        let all = |fill: u8| gaps.iter().any(|(_, bytes)| bytes.iter().all(|byte| *byte == fill));
        let fill = if all(FXC_FILL) { FXC_FILL } else { 0 };
        let unknown = gaps.iter().filter(|(_, bytes)| bytes.iter().any(|byte| *byte != fill));
        let extra =
            unknown.map(|(offset, bytes)| Extra { offset: Hex32(*offset), bytes: Bytes::from(*bytes) });
        Self { size: len32(size), fill, extra: extra.collect() }
    }
}

/// Pieces and their offsets.
#[derive(Debug, Default)]
pub(crate) struct Image {
    pieces: Vec<(u32, Vec<u8>)>,
}

impl Image {
    /// Puts a piece at an offset.
    pub(crate) fn put(&mut self, offset: u32, bytes: Vec<u8>) {
        self.pieces.push((offset, bytes));
    }

    /// Puts a NUL-terminated string at an offset.
    pub(crate) fn put_text(&mut self, offset: u32, text: &[u8]) {
        let mut bytes = text.to_vec();
        bytes.push(0);
        self.put(offset, bytes);
    }

    /// Writes the part.
    pub(crate) fn finish(mut self, slack: &Slack) -> Result<Vec<u8>> {
        self.pieces.extend(slack.extra.iter().map(|extra| (extra.offset.0, extra.bytes.0.clone())));
        let content = self.pieces.iter().fold(0usize, |sum, (_, bytes)| sum.saturating_add(bytes.len()));
        let size = slack.size as usize;
        if size > content.saturating_mul(MAX_SPARSENESS).saturating_add(SPARSE_FLOOR) {
            return Err(Error::without_offset(ErrorKind::Limit, "offsets of the part are too far apart")
                .found(format!("{size} bytes for a content of {content}")));
        }
        let mut out = vec![slack.fill; size];
        let mut taken = vec![false; size];
        for (offset, bytes) in &self.pieces {
            let range = *offset as usize..(*offset as usize).saturating_add(bytes.len());
            let (Some(target), Some(marks)) = (out.get_mut(range.clone()), taken.get_mut(range.clone()))
            else {
                return Err(misplaced("piece is outside of its part", *offset)
                    .expected(format!("an end of at most {size:#x}"))
                    .found(format!("{:#x}", range.end)));
            };
            for ((old, new), taken) in target.iter_mut().zip(bytes).zip(marks) {
                if *taken && *old != *new {
                    return Err(misplaced("pieces of the part overlap", *offset));
                }
                *old = *new;
                *taken = true;
            }
        }
        Ok(out)
    }
}

fn misplaced(what: &'static str, offset: u32) -> Error {
    Error::without_offset(ErrorKind::BadValue, what)
        .within(format!("offset {offset:#x}"))
        .hint("remove the offsets so that new ones are assigned")
}

/// Assigns consecutive offsets.
#[derive(Debug)]
pub(crate) struct Layout {
    next: u32,
}

impl Layout {
    pub(crate) fn starting_at(next: u32) -> Self {
        Self { next }
    }

    /// Returns the offset of the next `size` bytes.
    pub(crate) fn take(&mut self, size: usize) -> u32 {
        let at = self.next;
        self.next = self.next.saturating_add(len32(size));
        at
    }

    /// Returns the offset of the next NUL-terminated string.
    pub(crate) fn text(&mut self, text: &[u8]) -> u32 {
        self.take(text.len().saturating_add(1))
    }

    /// Aligns the next offset to 4.
    pub(crate) fn align(&mut self) {
        self.next = self.next.checked_next_multiple_of(4).unwrap_or(self.next);
    }

    /// Returns the next offset.
    pub(crate) fn end(&self) -> usize {
        self.next as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_pieces_are_rejected() {
        let slack = Slack::new(8, 0xab);
        let build = |pieces: &[(u32, &[u8])]| {
            let mut image = Image::default();
            for (offset, bytes) in pieces {
                image.put(*offset, bytes.to_vec());
            }
            image.finish(&slack)
        };
        assert_eq!(build(&[(0, b"ab"), (1, b"bc")]).unwrap(), b"abc\xab\xab\xab\xab\xab");
        assert!(build(&[(0, b"ab"), (1, b"x")]).is_err());
        assert!(build(&[(7, b"ab")]).is_err());
        assert!(Image::default().finish(&Slack::new(1 << 30, 0)).is_err());
    }
}
