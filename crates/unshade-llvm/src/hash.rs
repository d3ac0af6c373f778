//! An open-addressing hash index from content to id, for uniquing without `std`.
//!
//! The caller keeps the content, compares it and hashes it; the index holds ids only. It grows with the number of
//! insertions, never with a count that a file claims.

use alloc::vec::Vec;

/// Maps hashes to ids that the caller assigned.
#[derive(Clone, Debug, Default)]
pub(crate) struct HashIndex {
    /// Id plus one; zero is a free slot.
    slots: Vec<u32>,
    used: usize,
}

impl HashIndex {
    /// Creates an index for half as many ids as it has slots, a power of two.
    pub(crate) fn with_slots(slots: usize) -> Self {
        Self { slots: alloc::vec![0; slots.next_power_of_two()], used: 0 }
    }

    /// Returns the id whose content `same` accepts.
    pub(crate) fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = spread(hash) & mask;
        loop {
            match *self.slots.get(at)? {
                0 => return None,
                taken if same(taken.wrapping_sub(1)) => return Some(taken.wrapping_sub(1)),
                _ => at = at.wrapping_add(1) & mask,
            }
        }
    }

    /// Inserts an id whose content is not in the index yet; `rehash` returns the hash of an id inserted earlier.
    pub(crate) fn insert(&mut self, hash: u64, id: u32, rehash: impl Fn(u32) -> u64) {
        if self.used.saturating_mul(2) >= self.slots.len() {
            let size = self.slots.len().saturating_mul(2).max(16);
            let old = core::mem::replace(&mut self.slots, alloc::vec![0; size]);
            for taken in old.into_iter().filter(|&taken| taken != 0) {
                self.place(rehash(taken.wrapping_sub(1)), taken);
            }
        }
        self.place(hash, id.wrapping_add(1));
        self.used = self.used.saturating_add(1);
    }

    fn place(&mut self, hash: u64, taken: u32) {
        let Some(mask) = self.slots.len().checked_sub(1) else { return };
        let mut at = spread(hash) & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == 0 {
                *slot = taken;
                return;
            }
            at = at.wrapping_add(1) & mask;
        }
    }
}

fn spread(hash: u64) -> usize {
    usize::try_from(hash >> 32 ^ hash & 0xFFFF_FFFF).unwrap_or(0)
}

/// A hash of a sequence of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(pub(crate) u64);

impl Hash {
    /// Starts an empty hash.
    pub(crate) fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// Mixes in a word.
    #[must_use]
    pub(crate) fn word(self, word: u64) -> Self {
        Self((self.0.rotate_left(5) ^ word).wrapping_mul(0x517C_C1B7_2722_0A95))
    }

    /// Mixes in bytes.
    #[must_use]
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let hash = words.iter().fold(self.word(bytes.len() as u64), |hash, word| hash.word(u64::from_le_bytes(*word)));
        hash.word(rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_inserted() {
        let content: Vec<u64> = (0..1_000).map(|n| n * n).collect();
        let hash = |n: u32| Hash::new().word(content[n as usize]).0;
        let mut index = HashIndex::default();
        for n in 0..1_000 {
            assert_eq!(index.find(hash(n), |m| content[m as usize] == content[n as usize]), None);
            index.insert(hash(n), n, hash);
        }
        for n in 0..1_000 {
            assert_eq!(index.find(hash(n), |m| content[m as usize] == content[n as usize]), Some(n));
        }
    }
}
