//! Decompresses Zstandard frames (RFC 8878) into memory.
//!
//! The output is the window: the decoder copies matches from what it has already written, so nothing is copied twice.
//! That and copies of 16 bytes make it about twice as fast as a decoder that keeps a window of its own. A window
//! of any size is accepted. Frames that need a dictionary are refused. Checksums are compared.
//!
//! | function | for |
//! |---|---|
//! | [`decode`], [`decode_into`] | a frame whose decompressed size is known |
//! | [`Decoder::step`] | a frame of unknown size, in memory that grows with the output |
//!
//! Frames are treated as hostile: nothing panics, and there is never more memory than the caller permits, apart from
//! 200 KB.
//!
//! ```
//! // A magic number, a window of 1 KiB, one last block: a run of 1,000 bytes.
//! let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x43, 0x1f, 0, b'x'];
//! assert_eq!(unshade_zstd::decode(&frame, 1_000)?, [b'x'; 1_000]);
//! assert!(unshade_zstd::decode(&frame, 999).is_err());
//! # Ok::<(), unshade_zstd::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `bits` | readers of bits |
//! | `checksum` | XXH64 |
//! | `fse` | tables of finite state entropy |
//! | `huffman` | literals |
//! | `sequences` | copies |
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)
)]

extern crate alloc;

mod bits;
mod checksum;
mod error;
mod fse;
mod huffman;
mod sequences;
#[cfg(test)]
mod tests;

pub use error::Error;

use alloc::vec::Vec;
use huffman::Codes;
use sequences::Sequences;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The maximum decompressed size of a block.
const MAX_BLOCK: usize = 128 << 10;

/// The number of bytes that copies may write or read after the end.
const SLACK: usize = 32;

/// Decompresses the frame at the start of `data`. The result has at most `size` bytes, for which memory is reserved.
///
/// # Errors
/// The frame is damaged, needs a dictionary or decompresses to more than `size` bytes.
pub fn decode(data: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    let mut output = Vec::new();
    let size = decode_into(data, size, &mut output)?;
    output.truncate(size);
    Ok(output)
}

/// Decompresses as [`decode`] does into memory that earlier frames have used, which is faster than new memory. Returns
/// the number of bytes; what follows them in `buffer` has no meaning.
///
/// # Errors
/// Same as [`decode`].
pub fn decode_into(data: &[u8], size: usize, buffer: &mut Vec<u8>) -> Result<usize, Error> {
    let more = size.saturating_add(SLACK).saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| Error::Memory)?;
    let mut at = 0;
    Decoder::new().blocks(data, buffer, &mut at, size, usize::MAX)?;
    Ok(at)
}

/// What a step of a decoder did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of consumed bytes of the input.
    pub consumed: usize,
    /// Whether the frame is complete.
    pub is_finished: bool,
}

/// A decoder of one frame.
pub struct Decoder {
    /// The frame's header, once it is read.
    header: Option<Header>,
    /// Where the frame starts in the output.
    start: usize,
    codes: Codes,
    sequences: Sequences,
    /// The literals of a block, and [`SLACK`].
    literals: Vec<u8>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// The spare capacity of the output that a step needs.
    pub const ROOM: usize = MAX_BLOCK + SLACK;

    /// Creates a decoder for one frame.
    pub fn new() -> Self {
        Self {
            header: None,
            start: 0,
            codes: Codes::new(),
            sequences: Sequences::new(),
            literals: Vec::new(),
        }
    }

    /// Decompresses blocks into the spare capacity of `output` as long as that is at least [`Decoder::ROOM`], and until
    /// the frame is complete. `input` is the rest of the frame, and may continue after it. What earlier steps
    /// have written must still be in `output`.
    ///
    /// # Errors
    /// The frame is damaged, cut off, or needs a dictionary. The blocks before the fault are in `output`.
    pub fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, Error> {
        let capacity = output.capacity();
        let Some(last) = capacity.checked_sub(Self::ROOM) else {
            return Ok(Step { consumed: 0, is_finished: false });
        };
        let mut at = output.len();
        let step = self.blocks(input, output, &mut at, capacity.saturating_sub(SLACK), last);
        output.truncate(at);
        step
    }

    /// Decompresses blocks to `output` at `at`, and moves that on. They start at most at `last` and end at most at `end`.
    fn blocks(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
        at: &mut usize,
        end: usize,
        last: usize,
    ) -> Result<Step, Error> {
        let mut rest = input;
        let header = match self.header {
            Some(header) => header,
            None => {
                let header = Header::read(&mut rest)?;
                self.start = *at;
                self.header = Some(header);
                header
            }
        };
        let stated_end = header.content.map(|content| self.start.saturating_add(content));
        let end = stated_end.map_or(end, |stated| stated.min(end));
        let mut is_finished = false;
        while !is_finished && *at <= last {
            let block_end = at.saturating_add(header.max_block).min(end);
            is_finished = self.block(&mut rest, output, at, block_end)?;
        }
        if is_finished {
            if stated_end.is_some_and(|stated| stated != *at) {
                return Err(Error::Content);
            }
            if header.has_checksum {
                let (stated, after) = rest.split_first_chunk().ok_or(Error::Checksum)?;
                let content = output.get(self.start..*at).unwrap_or_default();
                if checksum::checksum(content) != u32::from_le_bytes(*stated) {
                    return Err(Error::Mismatch);
                }
                rest = after;
            }
        }
        Ok(Step { consumed: input.len().saturating_sub(rest.len()), is_finished })
    }

    /// Decompresses one block from the start of `input` to `output` at `at`, and moves both on. The block may end at
    /// most at `end`. Returns whether it is the last.
    fn block(
        &mut self,
        input: &mut &[u8],
        output: &mut Vec<u8>,
        at: &mut usize,
        end: usize,
    ) -> Result<bool, Error> {
        let ([a, b, c], rest) = input.split_first_chunk().ok_or(Error::BlockHeader)?;
        let header = u32::from_le_bytes([*a, *b, *c, 0]);
        let size = (header >> 3) as usize;
        if size > MAX_BLOCK {
            return Err(Error::BlockHeader);
        }
        let kind = header >> 1 & 3;
        let (block, rest) = rest.split_at_checked(if kind == 1 { 1 } else { size }).ok_or(Error::Block)?;
        match kind {
            0 | 1 => {
                let block_end = at.saturating_add(size);
                if block_end > end {
                    return Err(Error::Size);
                }
                output.resize(output.len().max(block_end), 0);
                let target = output.get_mut(*at..block_end).ok_or(Error::Size)?;
                match block {
                    [byte] if kind == 1 => target.fill(*byte),
                    _ => target.copy_from_slice(block),
                }
                *at = block_end;
            }
            2 => {
                let (count, sequences) = self.read_literals(block)?;
                // Only what the block can fill, so that it is still in the processor's cache then.
                let end = end.saturating_add(SLACK);
                output.resize(output.len().max(end), 0);
                let frame = output.get_mut(self.start..end).ok_or(Error::Size)?;
                let frame_at = at.saturating_sub(self.start);
                let size = self.sequences.decode(sequences, &self.literals, count, frame, frame_at)?;
                *at = self.start.saturating_add(size);
            }
            _ => return Err(Error::BlockHeader),
        }
        *input = rest;
        Ok(header & 1 == 1)
    }

    /// Reads the literals of a block. Returns their number, and the rest of the block.
    fn read_literals<'a>(&mut self, block: &'a [u8]) -> Result<(usize, &'a [u8]), Error> {
        let first = *block.first().ok_or(Error::Literals)?;
        let format = first >> 2 & 3;
        let (kind, is_packed) = (first & 3, first & 2 != 0);
        let header_size = match (is_packed, format) {
            (false, 0 | 2) => 1,
            (false, 1) => 2,
            (false, _) | (true, 0 | 1) => 3,
            (true, 2) => 4,
            (true, _) => 5,
        };
        let (header, rest) = block.split_at_checked(header_size).ok_or(Error::Literals)?;
        let bits = header.iter().rev().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let number = |shift: u32, size: u32| (bits >> shift & 0xf_ffff & !(u64::MAX << size)) as usize;
        if !is_packed {
            let count = if header_size == 1 { number(3, 5) } else { number(4, 20) };
            let literals = reserve(&mut self.literals, count)?;
            let stored = if kind == 1 { 1 } else { count };
            let (bytes, rest) = rest.split_at_checked(stored).ok_or(Error::Literals)?;
            match bytes {
                [byte] if kind == 1 => literals.fill(*byte),
                _ => literals.copy_from_slice(bytes),
            }
            return Ok((count, rest));
        }
        let width = match format {
            0 | 1 => 10,
            2 => 14,
            _ => 18,
        };
        let (count, packed_size) = (number(4, width), number(4_u32.wrapping_add(width), width));
        let literals = reserve(&mut self.literals, count)?;
        let (mut packed, rest) = rest.split_at_checked(packed_size).ok_or(Error::Literals)?;
        if kind == 2 {
            let size = self.codes.read(packed)?;
            packed = packed.get(size..).unwrap_or_default();
        } else if !self.codes.is_set() {
            return Err(Error::Literals);
        }
        if format == 0 {
            self.codes.decode_one(packed, literals)?;
        } else {
            self.codes.decode_four(packed, literals)?;
        }
        Ok((count, rest))
    }
}

/// Returns memory for this number of literals, after which there is [`SLACK`].
fn reserve(literals: &mut Vec<u8>, count: usize) -> Result<&mut [u8], Error> {
    if count > MAX_BLOCK {
        return Err(Error::Literals);
    }
    literals.resize(literals.len().max(count.saturating_add(SLACK)), 0);
    literals.get_mut(..count).ok_or(Error::Literals)
}

/// What the header of a frame states.
#[derive(Clone, Copy)]
struct Header {
    /// The maximum decompressed size of its blocks.
    max_block: usize,
    /// The decompressed size.
    content: Option<usize>,
    has_checksum: bool,
}

impl Header {
    /// Reads the header at the start of `data`, and drops it from it.
    fn read(data: &mut &[u8]) -> Result<Self, Error> {
        let rest = data.strip_prefix(&MAGIC).ok_or(Error::Header)?;
        let (descriptor, rest) = rest.split_first().ok_or(Error::Header)?;
        if descriptor & 8 != 0 {
            return Err(Error::Header);
        }
        let is_single = descriptor & 0x20 != 0;
        let dictionary_size = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied().unwrap_or(0);
        let (content_size, content_base) = match descriptor >> 6 {
            0 => (usize::from(is_single), 0),
            1 => (2, 256),
            2 => (4, 0),
            _ => (8, 0),
        };
        let (window, rest) = rest.split_at_checked(usize::from(!is_single)).ok_or(Error::Header)?;
        let (dictionary, rest) = rest.split_at_checked(dictionary_size).ok_or(Error::Header)?;
        if dictionary.iter().any(|byte| *byte != 0) {
            return Err(Error::Dictionary);
        }
        let (content, rest) = rest.split_at_checked(content_size).ok_or(Error::Header)?;
        *data = rest;
        let number = content.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let content = usize::try_from(number).unwrap_or(usize::MAX).saturating_add(content_base);
        let window = match window.first() {
            Some(window) => {
                let base = 1_u64 << (window >> 3).wrapping_add(10);
                base.wrapping_add((base >> 3).wrapping_mul(u64::from(window & 7)))
            }
            None => content as u64,
        };
        Ok(Self {
            max_block: usize::try_from(window).unwrap_or(usize::MAX).min(MAX_BLOCK),
            content: (content_size > 0).then_some(content),
            has_checksum: descriptor & 4 != 0,
        })
    }
}
