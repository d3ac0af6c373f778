//! The order in which LLVM 14 goes through a hash table of strings: that of its buckets, which shows in files.
//!
//! There are 16 buckets at first, and twice as many whenever more than three quarters would be taken. A string goes to the
//! bucket of its hash, or the next free one at distances that grow by one.
//!
//! Knowledge: `StringMap.cpp` and `DJB.h` of LLVM 14.

use alloc::vec::Vec;

const FIRST_BUCKETS: usize = 16;

/// Returns the indices of distinct strings, which were added in this order, in the order of their buckets.
pub(super) fn order(strings: &[&[u8]]) -> Vec<usize> {
    let mut buckets: Vec<Option<usize>> = alloc::vec![None; FIRST_BUCKETS];
    let hash_of = |at: usize| hash(strings.get(at).copied().unwrap_or_default());
    for at in 0..strings.len() {
        insert(&mut buckets, at, hash_of(at));
        if (at + 1) * 4 > buckets.len() * 3 {
            let mut larger = alloc::vec![None; buckets.len() * 2];
            for old in buckets.into_iter().flatten() {
                insert(&mut larger, old, hash_of(old));
            }
            buckets = larger;
        }
    }
    buckets.into_iter().flatten().collect()
}

fn insert(buckets: &mut [Option<usize>], item: usize, hash: u32) {
    let mask = buckets.len() - 1;
    let mut at = hash as usize & mask;
    for step in 1..=buckets.len() {
        match buckets.get_mut(at) {
            Some(slot @ None) => {
                *slot = Some(item);
                return;
            }
            _ => at = (at + step) & mask,
        }
    }
}

fn hash(string: &[u8]) -> u32 {
    string.iter().fold(0u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_one_bucket_follow_each_other() {
        // All are in bucket 1 of 16.
        assert_eq!(order(&[b"a", b"q", b"1", b"b"]), [0, 1, 3, 2]);
    }

    #[test]
    fn every_string_is_there_once() {
        let names: Vec<Vec<u8>> = (0..1000u32).map(|n| n.to_string().into_bytes()).collect();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let mut order = order(&names);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
    use alloc::string::ToString;
}
