//! An encoder of bytes that records the positions of numbers.
//!
//! Mutation by field needs these positions: a change of a count or an offset reaches more of a parser than a change of
//! a random byte.

use std::ops::Range;

/// Bytes under construction.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    fields: Vec<Range<usize>>,
}

/// A number that is already in the bytes and whose value is set later.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    offset: usize,
    width: usize,
}

impl Encoder {
    /// Returns the number of bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes, and the positions of the numbers in them.
    pub fn finish(self) -> (Vec<u8>, Vec<Range<usize>>) {
        (self.bytes, self.fields)
    }

    /// Adds bytes that are not a number.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds zeros.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// Adds zeros up to a multiple of `alignment`.
    pub fn align(&mut self, alignment: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(alignment), 0);
    }

    /// Adds a string and a NUL.
    pub fn c_string(&mut self, text: &[u8]) {
        self.raw(text);
        self.zeros(1);
    }

    /// Adds a byte.
    pub fn u8(&mut self, value: u8) {
        self.number(u64::from(value), 1);
    }

    /// Adds a 16-bit number.
    pub fn u16(&mut self, value: u16) {
        self.number(u64::from(value), 2);
    }

    /// Adds a 32-bit number.
    pub fn u32(&mut self, value: u32) {
        self.number(u64::from(value), 4);
    }

    /// Adds a 64-bit number.
    pub fn u64(&mut self, value: u64) {
        self.number(value, 8);
    }

    /// Adds a big-endian 32-bit number.
    pub fn u32_be(&mut self, value: u32) {
        self.u32(value.swap_bytes());
    }

    /// Adds a number of `width` bytes whose value is set later.
    pub fn later(&mut self, width: usize) -> Slot {
        let slot = Slot { offset: self.len(), width };
        self.number(0, width);
        slot
    }

    /// Sets the value of a number.
    ///
    /// # Panics
    /// If the value does not fit.
    pub fn set(&mut self, slot: Slot, value: usize) {
        let bytes = (value as u64).to_le_bytes();
        let (low, high) = bytes.split_at(slot.width);
        assert!(high.iter().all(|byte| *byte == 0), "{value} does not fit into {} bytes", slot.width);
        self.bytes[slot.offset..][..slot.width].copy_from_slice(low);
    }

    /// Overwrites existing bytes.
    pub fn overwrite(&mut self, offset: usize, bytes: &[u8]) {
        self.bytes[offset..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Adds the bytes and positions of another encoder.
    pub fn append(&mut self, other: Encoder) {
        let base = self.len();
        self.fields.extend(other.fields.into_iter().map(|field| base + field.start..base + field.end));
        self.bytes.extend(other.bytes);
    }

    fn number(&mut self, value: u64, width: usize) {
        self.fields.push(self.len()..self.len() + width);
        self.bytes.extend_from_slice(&value.to_le_bytes()[..width]);
    }
}
