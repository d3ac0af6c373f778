//! Decompression of Zstandard frames (RFC 8878) into memory.
//!
//! The programs of a library have a gigabyte and more, and listing them takes as long as their decompression. Since
//! the whole output is wanted, it is the window as well, and nothing is copied twice; that and copies of 16 bytes
//! make this two to three times as fast as a decoder for streams. A window of any size is accepted. A frame that
//! needs a dictionary is refused. Checksums are not compared: NVIDIA's frames have none.
//!
//! | module | thing |
//! |---|---|
//! | `bits` | readers of bits |
//! | `fse` | tables of finite state entropy |
//! | `huffman` | literals |
//! | `sequences` | copies |

mod bits;
mod fse;
mod huffman;
mod sequences;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use huffman::Codes;
use sequences::Sequences;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The maximum decompressed size of a block.
const MAX_BLOCK: usize = 128 << 10;

/// The number of bytes that copies may write or read after the end.
const SLACK: usize = 32;

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Header,
    Dictionary,
    BlockHeader,
    Block,
    Literals,
    Table,
    Bits,
    Huffman,
    Sequences,
    Size,
    Checksum,
}

impl Fault {
    /// Returns a description, to follow "damaged Zstandard data: ".
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Header => "the frame header is truncated or has a wrong magic number",
            Self::Dictionary => "the frame needs a dictionary",
            Self::BlockHeader => "a block header is truncated or invalid",
            Self::Block => "a block is truncated",
            Self::Literals => "the literals of a block are truncated or invalid",
            Self::Table => "a table of probabilities is invalid",
            Self::Bits => "a stream of bits is empty or has no end",
            Self::Huffman => "the Huffman codes of a block are invalid",
            Self::Sequences => "the sequences of a block are invalid",
            Self::Checksum => "the checksum is truncated",
            Self::Size => "it decompresses to more than the stated size",
        }
    }
}

/// Decompresses the frame at the start of `data`. The result has at most `size` bytes, for which memory is
/// reserved.
pub(crate) fn decode(data: &[u8], size: usize) -> Result<Vec<u8>, Fault> {
    let (has_checksum, mut rest) = frame_header(data)?;
    let mut decoder = Decoder {
        codes: Codes::new(),
        sequences: Sequences::new(),
        literals: vec![0; MAX_BLOCK.saturating_add(SLACK)].into_boxed_slice(),
    };
    let mut output = Vec::with_capacity(size.saturating_add(SLACK));
    let mut at = 0_usize;
    loop {
        let ([a, b, c], after) = rest.split_first_chunk::<3>().ok_or(Fault::BlockHeader)?;
        let header = u32::from_le_bytes([*a, *b, *c, 0]);
        let block_size = (header >> 3) as usize;
        if block_size > MAX_BLOCK {
            return Err(Fault::BlockHeader);
        }
        // Only what the block can fill, so that it is still in the processor's cache then.
        output.resize(at.saturating_add(MAX_BLOCK).min(size).saturating_add(SLACK), 0);
        let is_run = header >> 1 & 3 == 1;
        let stored = if is_run { 1 } else { block_size };
        let (block, after) = after.split_at_checked(stored).ok_or(Fault::Block)?;
        rest = after;
        at = match header >> 1 & 3 {
            0 | 1 => {
                let end = at.saturating_add(block_size);
                if end > size {
                    return Err(Fault::Size);
                }
                let target = output.get_mut(at..end).ok_or(Fault::Size)?;
                match block {
                    [byte] if is_run => target.fill(*byte),
                    _ => target.copy_from_slice(block),
                }
                end
            }
            2 => decoder.block(block, &mut output, at)?,
            _ => return Err(Fault::BlockHeader),
        };
        if header & 1 == 1 {
            if has_checksum && rest.len() < 4 {
                return Err(Fault::Checksum);
            }
            output.truncate(at);
            return Ok(output);
        }
    }
}

/// Reads the header of a frame. Returns whether it ends with a checksum, and its blocks.
fn frame_header(data: &[u8]) -> Result<(bool, &[u8]), Fault> {
    let rest = data.strip_prefix(&MAGIC).ok_or(Fault::Header)?;
    let (descriptor, rest) = rest.split_first().ok_or(Fault::Header)?;
    if descriptor & 8 != 0 {
        return Err(Fault::Header);
    }
    let is_single = descriptor & 0x20 != 0;
    let window = usize::from(!is_single);
    let dictionary_size = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied().unwrap_or(0);
    let content = match descriptor >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let (_, rest) = rest.split_at_checked(window).ok_or(Fault::Header)?;
    let (dictionary, rest) = rest.split_at_checked(dictionary_size).ok_or(Fault::Header)?;
    if dictionary.iter().any(|byte| *byte != 0) {
        return Err(Fault::Dictionary);
    }
    let blocks = rest.get(content..).ok_or(Fault::Header)?;
    Ok((descriptor & 4 != 0, blocks))
}

/// What a block takes from earlier ones.
struct Decoder {
    codes: Codes,
    sequences: Sequences,
    /// The literals of a block, and [`SLACK`].
    literals: Box<[u8]>,
}

impl Decoder {
    /// Decodes a compressed block to `output` from `at` on. Returns where it ends.
    fn block(&mut self, block: &[u8], output: &mut [u8], at: usize) -> Result<usize, Fault> {
        let (count, rest) = self.read_literals(block)?;
        self.sequences.decode(rest, &self.literals, count, output, at)
    }

    /// Reads the literals of a block. Returns their number, and the rest of the block.
    fn read_literals<'a>(&mut self, block: &'a [u8]) -> Result<(usize, &'a [u8]), Fault> {
        let first = *block.first().ok_or(Fault::Literals)?;
        let format = first >> 2 & 3;
        let (kind, is_packed) = (first & 3, first & 2 != 0);
        let header_size = match (is_packed, format) {
            (false, 0 | 2) => 1,
            (false, 1) => 2,
            (false, _) | (true, 0 | 1) => 3,
            (true, 2) => 4,
            (true, _) => 5,
        };
        let (header, rest) = block.split_at_checked(header_size).ok_or(Fault::Literals)?;
        let bits = header.iter().rev().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let number = |shift: u32, size: u32| (bits >> shift & 0xf_ffff & !(u64::MAX << size)) as usize;
        if !is_packed {
            let count = if header_size == 1 { number(3, 5) } else { number(4, 20) };
            let literals = self.literals.get_mut(..count).filter(|_| count <= MAX_BLOCK);
            let literals = literals.ok_or(Fault::Literals)?;
            let stored = if kind == 1 { 1 } else { count };
            let (bytes, rest) = rest.split_at_checked(stored).ok_or(Fault::Literals)?;
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
        let literals = self.literals.get_mut(..count).filter(|_| count <= MAX_BLOCK);
        let literals = literals.ok_or(Fault::Literals)?;
        let (mut packed, rest) = rest.split_at_checked(packed_size).ok_or(Fault::Literals)?;
        if kind == 2 {
            let size = self.codes.read(packed)?;
            packed = packed.get(size..).unwrap_or_default();
        } else if !self.codes.is_set() {
            return Err(Fault::Literals);
        }
        if format == 0 {
            self.codes.decode_one(packed, literals)?;
        } else {
            self.codes.decode_four(packed, literals)?;
        }
        Ok((count, rest))
    }
}
