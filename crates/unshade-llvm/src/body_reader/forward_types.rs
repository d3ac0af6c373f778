//! The types that forward references carry, by value number.
//!
//! Every operand of a phi that is defined later has one, so adding is quick; only few are looked up.

use crate::hash::{Hash, HashIndex};
use crate::ids::{TypeId, narrow};
use alloc::vec::Vec;

/// The types of values that are not defined yet.
#[derive(Default)]
pub(super) struct ForwardTypes {
    list: Vec<(u32, TypeId)>,
    index: HashIndex,
}

impl ForwardTypes {
    /// Sets the type of a value.
    pub(super) fn insert(&mut self, id: u32, ty: TypeId) {
        match self.find(id) {
            Some(at) => self.list.get_mut(at as usize).into_iter().for_each(|entry| entry.1 = ty),
            None => {
                let at = narrow(self.list.len() as u64);
                self.list.push((id, ty));
                let list = &self.list;
                self.index.insert(hash(id), at, |at| list.get(at as usize).map_or(0, |&(id, _)| hash(id)));
            }
        }
    }

    /// Returns the type of a value.
    pub(super) fn get(&self, id: u32) -> Option<TypeId> {
        self.list.get(self.find(id)? as usize).map(|&(_, ty)| ty)
    }

    /// Returns all values and their types.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, TypeId)> + '_ {
        self.list.iter().copied()
    }

    fn find(&self, id: u32) -> Option<u32> {
        self.index.find(hash(id), |at| self.list.get(at as usize).is_some_and(|&(other, _)| other == id))
    }
}

fn hash(id: u32) -> u64 {
    Hash::new().word(id.into()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_type_of_a_value_counts() {
        let mut types = ForwardTypes::default();
        for round in 0..2 {
            for id in (0..1_000).rev() {
                types.insert(id, TypeId(id + round));
            }
        }
        assert_eq!((types.get(7), types.get(1_000)), (Some(TypeId(8)), None));
        assert_eq!(types.iter().count(), 1_000);
    }
}
