//! Writes the bits of a stream, least significant first.

use alloc::vec::Vec;

/// Bits that are being written. Positions count from the first bit.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// The last bits, fewer than 32.
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// Creates a writer of no bits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all bits, and begins with `phase` zeros: what is aligned is as if that many were before it.
    pub(crate) fn reset(&mut self, phase: usize) {
        self.bytes.clear();
        (self.pending, self.count) = (0, 0);
        self.zeros(phase);
    }

    /// Returns the number of bits.
    pub fn position(&self) -> usize {
        self.bytes.len().saturating_mul(8).saturating_add(self.count as usize)
    }

    /// Appends the lowest `width` bits of a number, at most 64.
    #[inline]
    pub fn fixed(&mut self, value: u64, width: u32) -> &mut Self {
        if width > 32 {
            self.up_to_32(value, 32);
            self.up_to_32(value >> 32, width.saturating_sub(32).min(32));
        } else {
            self.up_to_32(value, width);
        }
        self
    }

    #[inline]
    fn up_to_32(&mut self, value: u64, width: u32) {
        let mask = (1u64 << width).wrapping_sub(1);
        // At most 31 bits are pending.
        self.pending |= (value & mask) << self.count;
        self.count = self.count.saturating_add(width);
        if self.count >= 32 {
            let [first, second, third, fourth, ..] = self.pending.to_le_bytes();
            self.bytes.extend_from_slice(&[first, second, third, fourth]);
            self.pending >>= 32;
            self.count = self.count.saturating_sub(32);
        }
    }

    /// Moves the pending bits that are whole bytes to the others.
    fn flush(&mut self) {
        while self.count >= 8 {
            self.bytes.push((self.pending & 0xff) as u8);
            self.pending >>= 8;
            self.count = self.count.saturating_sub(8);
        }
    }

    /// Appends a number in as few groups of `width` bits as it takes; the top bit of each but the last is set. A group of
    /// one bit or none has no room for a number, and is always one group.
    #[inline]
    pub fn variable(&mut self, mut value: u64, width: u32) -> &mut Self {
        if width < 2 {
            return self.fixed(0, width);
        }
        let payload = width.saturating_sub(1).min(63);
        let more = 1u64 << payload;
        while value >= more {
            self.fixed(value & more.wrapping_sub(1) | more, width);
            value >>= payload;
        }
        self.fixed(value, width)
    }

    /// Appends zeros.
    pub(crate) fn zeros(&mut self, mut count: usize) {
        while count > 0 {
            let some = u32::try_from(count.min(32)).unwrap_or(32);
            self.fixed(0, some);
            count = count.saturating_sub(some as usize);
        }
    }

    /// Appends zeros up to a multiple of 32 bits.
    pub fn align(&mut self) -> &mut Self {
        self.zeros(self.position().wrapping_neg() & 31);
        self
    }

    /// Appends whole bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.flush();
        if self.count == 0 {
            self.bytes.extend_from_slice(bytes);
        } else {
            for byte in bytes {
                self.fixed(u64::from(*byte), 8);
            }
        }
    }

    /// Appends the first `count` bits of bytes.
    pub(crate) fn bits(&mut self, bytes: &[u8], count: usize) {
        let (whole, rest) = (count >> 3, u32::try_from(count & 7).unwrap_or(0));
        self.bytes(bytes.get(..whole).unwrap_or(bytes));
        if rest > 0 {
            self.fixed(u64::from(bytes.get(whole).copied().unwrap_or(0)), rest);
        }
    }

    /// Overwrites 32 bits at a position that is a multiple of 8.
    pub(crate) fn set_word(&mut self, position: usize, word: u32) {
        self.flush();
        let start = position >> 3;
        if let Some(place) = self.bytes.get_mut(start..start.saturating_add(4)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Overwrites 32 bits at any position, all of them in whole bytes that were written.
    pub(crate) fn patch(&mut self, position: usize, word: u32) {
        self.flush();
        let (start, shift) = (position >> 3, position & 7);
        let mask = u64::from(u32::MAX) << shift;
        let bits = u64::from(word) << shift;
        for (at, byte) in self.bytes.iter_mut().skip(start).take(5).enumerate() {
            let of = |word: u64| word.to_le_bytes().get(at).copied().unwrap_or(0);
            *byte = *byte & !of(mask) | of(bits);
        }
    }

    /// Fills the last byte up with zeros, and returns all. Nothing can be appended after it.
    pub(crate) fn padded(&mut self) -> &[u8] {
        self.flush();
        if self.count > 0 {
            self.bytes.push((self.pending & 0xff) as u8);
            self.count = 0;
        }
        &self.bytes
    }

    /// Returns the bytes; bits that are missing from the last one are zero.
    pub fn finish(mut self) -> Vec<u8> {
        self.padded();
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::BitReader;
    use super::*;

    /// Numbers of every width are read as they were written.
    #[test]
    fn numbers_are_read_as_written() {
        let values = [0, 1, 5, 31, 32, 1 << 20, u64::from(u32::MAX), 1 << 40, u64::MAX];
        let mut writer = BitWriter::new();
        for width in 1..=64 {
            for value in values {
                writer.fixed(value, width);
            }
        }
        for width in 2..=32 {
            for value in values {
                writer.variable(value, width);
            }
        }
        writer.bytes(b"text");
        writer.align();
        let position = writer.position();
        writer.fixed(0, 32);
        writer.set_word(position, 0xdead_beef);
        let bytes = writer.finish();
        let mut reader = BitReader::new(&bytes, 0);
        for width in 1..=64 {
            let mask = u64::MAX >> (64 - width);
            values.iter().for_each(|value| assert_eq!(reader.fixed(width), value & mask, "{width}"));
        }
        for width in 2..=32 {
            values.iter().for_each(|value| assert_eq!(reader.variable(width), *value, "{width}"));
        }
        assert_eq!([0; 4].map(|_| reader.fixed(8) as u8), *b"text");
        reader.align();
        assert_eq!(reader.fixed(32), 0xdead_beef);
        assert_eq!(reader.remaining(), 0);
    }
}
