//! Bits of a Zstandard block, forwards and backwards.

use crate::Error;

/// Reads bits from the first byte on, lowest bit first: the descriptions of FSE tables.
pub(crate) struct Forward<'a> {
    data: &'a [u8],
    /// The number of bits that have been read.
    position: usize,
}

impl<'a> Forward<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }

    /// Returns the next `count` bits, at most 16, without reading them. Bits after the end are 0.
    pub(crate) fn peek(&self, count: u32) -> u32 {
        let rest = self.data.get(self.position >> 3..).unwrap_or_default();
        let mut word = 0_u32;
        for (index, byte) in (0_u32..).zip(rest.iter().take(4)) {
            word |= u32::from(*byte) << index.wrapping_mul(8);
        }
        let word = word >> (self.position & 7);
        word & 1_u32.wrapping_shl(count).wrapping_sub(1)
    }

    pub(crate) fn skip(&mut self, count: u32) {
        self.position = self.position.saturating_add(count as usize);
    }

    pub(crate) fn read(&mut self, count: u32) -> u32 {
        let bits = self.peek(count);
        self.skip(count);
        bits
    }

    /// Returns the number of bytes that have been read, the last of them perhaps in part.
    pub(crate) fn bytes_read(&self) -> Result<usize, Error> {
        let size = self.position.div_ceil(8);
        if size <= self.data.len() { Ok(size) } else { Err(Error::Table) }
    }
}

/// Reads bits from the last byte on, highest bit first: Huffman codes and sequences. The highest set bit of the last
/// byte marks the start.
///
/// [`Backward::refill`] makes at least 57 bits available. Bits before the first byte are 0, and make
/// [`Backward::left`] negative.
pub(crate) struct Backward<'a> {
    data: &'a [u8],
    /// The next bits, the first of them in the highest bit.
    word: u64,
    /// The number of bits that have not been read; negative if there were too few.
    left: isize,
}

impl<'a> Backward<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Result<Self, Error> {
        let last = data.last().copied().filter(|last| *last != 0).ok_or(Error::Bits)?;
        let bits =
            data.len().checked_mul(8).and_then(|bits| isize::try_from(bits).ok()).ok_or(Error::Bits)?;
        let marker = last.leading_zeros().wrapping_add(1) as isize;
        let mut reader = Self { data, word: 0, left: bits.wrapping_sub(marker) };
        reader.refill();
        Ok(reader)
    }

    /// Returns the number of bits that have not been read; negative if more were read than there are.
    pub(crate) fn left(&self) -> isize {
        self.left
    }

    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        let left = self.left.max(0).unsigned_abs();
        let end = left.div_ceil(8);
        let unused = u32::try_from(end.wrapping_mul(8).wrapping_sub(left) & 7).unwrap_or(0);
        let eight = end.checked_sub(8).and_then(|start| self.data.get(start..)?.first_chunk());
        let word = match eight {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => self.first_bytes(end),
        };
        self.word = word.wrapping_shl(unused);
    }

    /// Returns the first `size` bytes, fewer than eight, as the highest bytes of a word.
    #[cold]
    fn first_bytes(&self, size: usize) -> u64 {
        let mut word = 0;
        for byte in self.data.get(..size).unwrap_or_default().iter().rev() {
            word = word << 8 | u64::from(*byte);
        }
        // The bytes are in order; the first of them must be below the highest of the word.
        let empty = u32::try_from(8_usize.saturating_sub(size) & 7).unwrap_or(0);
        if size == 0 { 0 } else { word.wrapping_shl(empty.wrapping_mul(8)) }
    }

    /// Returns the next bits without reading them; `count` is 1 to 32.
    #[inline(always)]
    pub(crate) fn peek(&self, count: u32) -> usize {
        (self.word >> (64_u32.wrapping_sub(count) & 63) & 0xffff_ffff) as usize
    }

    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        self.word = self.word.wrapping_shl(count);
        self.left = self.left.wrapping_sub(count as isize);
    }

    /// Reads `count` bits, 0 to 32.
    #[inline(always)]
    pub(crate) fn read(&mut self, count: u32) -> u32 {
        let bits = (self.word >> 1) >> (63_u32.wrapping_sub(count) & 63);
        self.skip(count);
        (bits & 0xffff_ffff) as u32
    }
}
