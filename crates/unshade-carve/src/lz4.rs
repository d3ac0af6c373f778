//! Unpacks frames of LZ4.
//!
//! | part | contents, little-endian |
//! |---|---|
//! | header | u32 `0x184D2204`; u8 flags: bits 6 and 7 version 1, bit 5 blocks are independent, bit 4 blocks have checksums, bit 3 size, bit 2 checksum of the contents, bit 0 dictionary; u8: bits 4 to 6 maximum size of a block, 4 to 7 for 64 KiB to 4 MiB; u64 size and u32 dictionary as the flags say; u8 checksum of the header |
//! | block | u32 size, with bit 31 if it is stored; the data; u32 checksum as the flags say |
//! | end | u32 0; u32 checksum of the contents as the flags say |
//!
//! A frame in the legacy format is u32 `0x184C2102`, then blocks of u32 size and data, each of which unpacks to 8 MiB, the
//! last one to less. It ends before the first number that is no size of a block.
//!
//! Checksums are XXH32. The output is the window, so blocks may refer to earlier ones without a copy. The frame decoder
//! of `lz4_flex`, which unpacks the blocks, is not used: it takes a frame that breaks off between two blocks for a whole
//! one. Source: *LZ4 Frame Format Description* 1.6.4, and `lz4 -l`.

use crate::checks::compressed::{LZ4_LEGACY, is_legacy_size};
use crate::fields::Fields;
use crate::stream::{Decoder, Step};

/// The number of bytes before a block that it may refer to.
const WINDOW: usize = 64 << 10;

/// The maximum size of a block of a legacy frame.
const LEGACY_BLOCK: usize = 8 << 20;

/// Maximum ratio of a block's size to its compressed size.
const RATIO: usize = 255;

/// The header of a frame.
#[derive(Clone, Copy)]
struct Header {
    flags: u8,
    /// The maximum size of a block.
    block: usize,
    is_legacy: bool,
}

/// A decoder of one frame.
#[derive(Default)]
pub(crate) struct Unlz4 {
    header: Option<Header>,
    /// Where the contents of the frame begin in the output.
    start: usize,
}

impl Unlz4 {
    fn has(&self, bit: u8) -> bool {
        self.header.is_some_and(|header| header.flags >> bit & 1 != 0)
    }

    /// Reads the header, and returns its size.
    fn read_header(&mut self, input: &[u8], start: usize) -> Option<Result<usize, &'static str>> {
        let fields = Fields::little(input);
        self.start = start;
        if fields.u32(0)? == LZ4_LEGACY {
            // Blocks are independent.
            self.header = Some(Header { flags: 1 << 5, block: LEGACY_BLOCK, is_legacy: true });
            return Some(Ok(4));
        }
        let flags = fields.u8(4)?;
        let block = match fields.u8(5)? >> 4 & 7 {
            4 => 64 << 10,
            5 => 256 << 10,
            6 => 1 << 20,
            7 => 4 << 20,
            _ => return Some(Err("the header is invalid")),
        };
        if flags >> 6 != 1 {
            return Some(Err("the version is not 1"));
        }
        if flags & 1 != 0 {
            return Some(Err("it needs a dictionary"));
        }
        let size = if flags & 8 == 0 { 6 } else { 14 };
        let stated = fields.u8(size)?;
        if u32::from(stated) != checksum(input.get(4..size)?) >> 8 & 0xff {
            return Some(Err("the checksum of the header does not match"));
        }
        self.header = Some(Header { flags, block, is_legacy: false });
        Some(Ok(size.saturating_add(1)))
    }

    /// Reads a block or the end of the frame.
    fn read_block(&self, input: &[u8], output: &mut Vec<u8>) -> Option<Result<Step, &'static str>> {
        const STORED: u32 = 1 << 31;
        let fields = Fields::little(input);
        let head = fields.u32(0)?;
        if head == 0 {
            let contents = output.get(self.start..).unwrap_or_default();
            let has_checksum = self.has(2);
            if has_checksum && fields.u32(4)? != checksum(contents) {
                return Some(Err("the checksum does not match"));
            }
            return Some(Ok(Step { consumed: if has_checksum { 8 } else { 4 }, finished: true }));
        }
        let size = u64::from(head & !STORED);
        if size > self.room() as u64 {
            return Some(Err("a block is larger than the frame allows"));
        }
        let packed = fields.bytes(4, size)?;
        let mut consumed = packed.len().saturating_add(4);
        if self.has(4) {
            if fields.u32(consumed)? != checksum(packed) {
                return Some(Err("the checksum of a block does not match"));
            }
            consumed = consumed.saturating_add(4);
        }
        if head & STORED == 0 {
            if !self.unpack(packed, output) {
                return Some(Err("a block can't be unpacked"));
            }
        } else {
            output.extend(packed);
        }
        Some(Ok(Step { consumed, finished: false }))
    }

    /// Reads a block of a legacy frame, or its end.
    fn read_legacy_block(&self, input: &[u8], output: &mut Vec<u8>) -> Option<Result<Step, &'static str>> {
        let fields = Fields::little(input);
        if input.is_empty() || fields.u32(0).is_some_and(|size| !is_legacy_size(size)) {
            return Some(Ok(Step { consumed: 0, finished: true }));
        }
        let packed = fields.bytes(4, u64::from(fields.u32(0)?))?;
        if !self.unpack(packed, output) {
            return Some(Err("a block can't be unpacked"));
        }
        Some(Ok(Step { consumed: packed.len().saturating_add(4), finished: false }))
    }

    /// Unpacks a block, and returns whether it is sound.
    fn unpack(&self, packed: &[u8], output: &mut Vec<u8>) -> bool {
        let before = output.len();
        // Many small blocks must not clear the memory of large ones.
        let room = self.room().min(packed.len().saturating_mul(RATIO));
        output.resize(before.saturating_add(room), 0);
        let (earlier, room) = output.split_at_mut(before);
        // An independent block refers to nothing.
        let window = if self.has(5) { before } else { self.start.max(before.saturating_sub(WINDOW)) };
        let window = earlier.get(window..).unwrap_or_default();
        let size = lz4_flex::block::decompress_into_with_dict(packed, room, window);
        output.truncate(before.saturating_add(size.as_ref().map_or(0, |&size| size)));
        size.is_ok()
    }
}

impl Decoder for Unlz4 {
    fn room(&self) -> usize {
        self.header.map_or(1, |header| header.block)
    }

    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Step, String> {
        let step = match self.header {
            None => self
                .read_header(input, output.len())
                .map(|size| size.map(|consumed| Step { consumed, finished: false })),
            Some(header) if header.is_legacy => self.read_legacy_block(input, output),
            Some(_) => self.read_block(input, output),
        };
        match step {
            Some(step) => step.map_err(|fault| format!("the LZ4 data is damaged: {fault}")),
            None => Err("the LZ4 data is cut off".into()),
        }
    }
}

/// Returns the XXH32 of some bytes, with seed 0.
fn checksum(data: &[u8]) -> u32 {
    const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];
    let [p1, p2, p3, p4, p5] = PRIMES;
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let mut lanes = [p1.wrapping_add(p2), p2, 0, p1.wrapping_neg()];
    let mut stripes = data.chunks_exact(16);
    for stripe in &mut stripes {
        for (lane, bytes) in lanes.iter_mut().zip(stripe.chunks_exact(4)) {
            *lane = lane.wrapping_add(word(bytes).wrapping_mul(p2)).rotate_left(13).wrapping_mul(p1);
        }
    }
    let mut hash = if data.len() < 16 {
        p5
    } else {
        let turns = [1, 7, 12, 18];
        lanes.iter().zip(turns).fold(0_u32, |sum, (lane, turn)| sum.wrapping_add(lane.rotate_left(turn)))
    };
    // The length modulo 2^32.
    #[allow(clippy::cast_possible_truncation)]
    let length = data.len() as u32;
    hash = hash.wrapping_add(length);
    let mut words = stripes.remainder().chunks_exact(4);
    for bytes in &mut words {
        hash = hash.wrapping_add(word(bytes).wrapping_mul(p3)).rotate_left(17).wrapping_mul(p4);
    }
    for &byte in words.remainder() {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(p5)).rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(p2);
    hash = (hash ^ hash >> 13).wrapping_mul(p3);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums() {
        // From the tests of xxHash.
        assert_eq!(checksum(b""), 0x02cc_5d05);
        assert_eq!(checksum(b"a"), 0x550d_7456);
        assert_eq!(checksum(b"Nobody inspects the spammish repetition"), 0xe229_3b2f);
    }
}
