//! The string table: the names of symbols, one after the other.
//!
//! A string that was added before is not added again, but a part of another string is.

use crate::hash::{Hash, HashIndex};
use crate::ids::narrow;
use alloc::vec::Vec;

/// A string table.
#[derive(Default)]
pub(super) struct StringTable {
    bytes: Vec<u8>,
    /// The offset and size of each string.
    strings: Vec<(u32, u32)>,
    index: HashIndex,
}

impl StringTable {
    /// Returns the bytes of the table.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn get(&self, (offset, size): (u32, u32)) -> &[u8] {
        self.bytes.get(offset as usize..offset as usize + size as usize).unwrap_or_default()
    }

    /// Returns the offset of a string, which is added unless it was before.
    pub(super) fn add(&mut self, string: &[u8]) -> u32 {
        let hash = |string: &[u8]| Hash::new().bytes(string).0;
        let at = |id: u32| self.strings.get(id as usize).copied().unwrap_or_default();
        if let Some(id) = self.index.find(hash(string), |id| self.get(at(id)) == string) {
            return at(id).0;
        }
        let (offset, size) = (narrow(self.bytes.len() as u64), narrow(string.len() as u64));
        let id = narrow(self.strings.len() as u64);
        self.bytes.extend_from_slice(string);
        self.strings.push((offset, size));
        let mut index = core::mem::take(&mut self.index);
        index.insert(hash(string), id, |id| {
            hash(self.get(self.strings.get(id as usize).copied().unwrap_or_default()))
        });
        self.index = index;
        offset
    }
}
