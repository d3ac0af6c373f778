//! A table from names to numbers.

use crate::hash::{Hash, HashIndex};
use crate::ids::{Slice, narrow};
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
}
