//! LLVM's hash table of strings, whose order shows in files.
//!
//! It has open addressing with quadratic probing: 16 buckets at first, and twice as many whenever more than three quarters
//! would be taken. Strings are listed by bucket, so that their order depends on the hash function, and where buckets
//! collide on the order in which they were added.
//!
//! Knowledge: LLVM's `StringMap.cpp` and `DJB.h` (14 and 19).

use super::Version;
use crate::ids::narrow;
use alloc::vec::Vec;

/// The number of buckets of a table with its first string.
const FIRST_SIZE: usize = 16;

/// A hash table: what each string stands for, with its hash.
pub(crate) struct StringMap<T> {
    /// The index of an entry plus one, or 0.
    buckets: Vec<u32>,
    entries: Vec<(u32, T)>,
}

impl<T: Copy> StringMap<T> {
    pub(crate) fn new() -> Self {
        Self { buckets: Vec::new(), entries: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns what the strings stand for, in the order of their buckets.
    pub(crate) fn listed(&self) -> impl Iterator<Item = T> + '_ {
        let taken = self.buckets.iter().filter_map(|&taken| (taken as usize).checked_sub(1));
        taken.filter_map(|at| self.entries.get(at).map(|&(_, entry)| entry))
    }

    /// Adds an entry for a string with this hash, which is not in the table.
    pub(crate) fn add(&mut self, hash: u32, entry: T) {
        if self.buckets.is_empty() {
            self.buckets.resize(FIRST_SIZE, 0);
        }
        self.entries.push((hash, entry));
        let taken = narrow(self.entries.len() as u64);
        place(&mut self.buckets, hash, taken);
        if self.entries.len() * 4 > self.buckets.len() * 3 {
            let mut larger = alloc::vec![0; self.buckets.len() * 2];
            for &taken in self.buckets.iter().filter(|&&taken| taken != 0) {
                let hash = self.entries.get(taken as usize - 1).map_or(0, |&(hash, _)| hash);
                place(&mut larger, hash, taken);
            }
            self.buckets = larger;
        }
    }
}

/// Puts an entry into the first free bucket for its hash.
fn place(buckets: &mut [u32], hash: u32, taken: u32) {
    let mask = buckets.len() - 1;
    let mut at = hash as usize & mask;
    let mut step = 1;
    while let Some(bucket) = buckets.get_mut(at) {
        if *bucket == 0 {
            *bucket = taken;
            return;
        }
        at = (at + step) & mask;
        step += 1;
    }
}

/// Returns the hash function of a version.
pub(crate) fn hash_of(version: Version) -> fn(&[u8]) -> u32 {
    match version {
        Version::Llvm14 | Version::Dxc => djb,
        Version::Llvm19 => |name| (super::xxh3::hash(name) & 0xFFFF_FFFF) as u32,
    }
}

/// Bernstein's hash.
fn djb(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of entries by the order of their buckets.
    fn order(hashes: &[u32]) -> Vec<u32> {
        let mut table = StringMap::new();
        for (at, &hash) in (0u32..).zip(hashes) {
            table.add(hash, at);
        }
        table.listed().collect()
    }

    #[test]
    fn entries_are_listed_by_bucket() {
        assert_eq!(order(&[5, 3, 9]), [1, 0, 2]);
        // Collisions go one further, then three, then six.
        assert_eq!(order(&[1, 1, 1, 2]), [0, 1, 3, 2]);
        // The thirteenth entry makes the table grow to 32 buckets.
        let mut hashes: Vec<u32> = (16..29).collect();
        hashes[0] = 0;
        assert_eq!(order(&hashes)[..2], [0, 1]);
        assert_eq!(order(&hashes[..12])[..3], [0, 1, 2]);
    }

    #[test]
    fn hash_of_14() {
        assert_eq!(djb(b""), 0);
        assert_eq!(djb(b"ab"), 97 * 33 + 98);
    }
}
