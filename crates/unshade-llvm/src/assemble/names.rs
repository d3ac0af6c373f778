//! Tables of names and numbers.

use crate::hash::{Hash, HashIndex};
use crate::ids::{Slice, narrow};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Names, each with what it stands for.
#[derive(Clone, Debug)]
pub(super) struct NameTable<T> {
    bytes: Vec<u8>,
    entries: Vec<(Slice, T)>,
    index: HashIndex,
}

impl<T> Default for NameTable<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), entries: Vec::new(), index: HashIndex::default() }
    }
}

impl<T: Copy> NameTable<T> {
    /// Returns what a name stands for.
    pub(super) fn get(&self, name: &[u8]) -> Option<T> {
        let at = self.index.find(Hash::new().bytes(name).0, |at| self.name(at) == name)?;
        self.entries.get(at as usize).map(|&(_, value)| value)
    }

    /// Adds a name that is not in the table.
    pub(super) fn insert(&mut self, name: &[u8], value: T) {
        let at = narrow(self.entries.len() as u64);
        let slice = Slice::extend(&mut self.bytes, name.iter().copied());
        self.entries.push((slice, value));
        let mut index = core::mem::take(&mut self.index);
        index.insert(Hash::new().bytes(name).0, at, |at| Hash::new().bytes(self.name(at)).0);
        self.index = index;
    }

    fn name(&self, at: u32) -> &[u8] {
        self.entries.get(at as usize).map_or(&[], |(name, _)| name.of(&self.bytes))
    }
}

/// Numbers, each with what it stands for. Numbers are mostly consecutive.
#[derive(Clone, Debug)]
pub(super) struct NumberTable<T> {
    dense: Vec<Option<T>>,
    others: BTreeMap<u32, T>,
}

/// The largest gap between numbers that is stored as such.
const MAX_GAP: usize = 1024;

impl<T> Default for NumberTable<T> {
    fn default() -> Self {
        Self { dense: Vec::new(), others: BTreeMap::new() }
    }
}

impl<T: Copy> NumberTable<T> {
    /// Returns what a number stands for.
    pub(super) fn get(&self, number: u32) -> Option<T> {
        match self.dense.get(number as usize) {
            Some(value) => *value,
            None => self.others.get(&number).copied(),
        }
    }

    /// Sets what a number stands for.
    pub(super) fn insert(&mut self, number: u32, value: T) {
        let at = number as usize;
        if at >= self.dense.len().saturating_add(MAX_GAP) {
            self.others.insert(number, value);
            return;
        }
        if at >= self.dense.len() {
            self.dense.resize(at + 1, None);
            while let Some(entry) = self.others.first_entry().filter(|entry| *entry.key() <= number) {
                let (number, value) = entry.remove_entry();
                self.dense.splice(number as usize..=number as usize, [Some(value)]).for_each(drop);
            }
        }
        if let Some(slot) = self.dense.get_mut(at) {
            *slot = Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names() {
        let mut table = NameTable::default();
        for name in 0..100u32 {
            table.insert(&name.to_le_bytes(), name);
        }
        assert_eq!(table.get(&7u32.to_le_bytes()), Some(7));
        assert_eq!(table.get(&99u32.to_le_bytes()), Some(99));
        assert_eq!(table.get(b"x"), None);
    }

    #[test]
    fn finds_numbers() {
        let mut table = NumberTable::default();
        for number in [0, 1, 5, 5_000_000, 1_500, 1_020, 2, 3_000, 2_000] {
            table.insert(number, number * 2);
        }
        for number in [0, 1, 5, 5_000_000, 1_500, 1_020, 2, 3_000, 2_000] {
            assert_eq!(table.get(number), Some(number * 2));
        }
        assert_eq!((table.get(3), table.get(4_000_000)), (None, None));
    }
}
