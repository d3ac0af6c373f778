//! The numbers of attribute groups and lists.
//!
//! A group is a set of attributes at an index; a list is a sequence of groups: that of the function, of the result,
//! and of the parameters. Lists are numbered in the order of their use, groups in the order of the lists.

use crate::attributes::{Attribute, Attributes, index};
use crate::ids::{AttributeListId, AttributeSetId};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A set of attributes at an index.
pub(in crate::write) type Group = (u32, AttributeSetId);

/// The numbers of attribute groups and lists.
#[derive(Default)]
pub(in crate::write) struct AttributeNumbers {
    /// The groups by number.
    pub(in crate::write) groups: Vec<Group>,
    group_ids: BTreeMap<Group, u32>,
    /// The numbers of the groups of each list.
    pub(in crate::write) lists: Vec<Vec<u64>>,
    list_ids: BTreeMap<Vec<Group>, u32>,
    /// The number plus one of each list of the module.
    known: Vec<u32>,
    /// Whether the group of the function comes last, as in LLVM 3.7.
    function_last: bool,
}

impl AttributeNumbers {
    /// Creates an empty table.
    pub(super) fn new(function_last: bool) -> Self {
        Self { function_last, ..Self::default() }
    }

    /// Numbers a list of the module. `visit` gets each attribute of each new group.
    pub(super) fn add<E>(
        &mut self,
        attributes: &Attributes,
        list: AttributeListId,
        visit: impl FnMut(&Attribute) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.known.get(list.index()).is_some_and(|&id| id != 0) || attributes.list(list).is_empty() {
            return Ok(());
        }
        let id = self.add_groups(attributes, attributes.list(list).to_vec(), visit)?;
        if self.known.len() <= list.index() {
            self.known.resize(list.index() + 1, 0);
        }
        if let Some(known) = self.known.get_mut(list.index()) {
            *known = id;
        }
        Ok(())
    }

    /// Numbers the list that consists of a set of attributes of a function or variable.
    pub(super) fn add_set<E>(
        &mut self,
        attributes: &Attributes,
        set: AttributeSetId,
        visit: impl FnMut(&Attribute) -> Result<(), E>,
    ) -> Result<(), E> {
        if attributes.set(set).is_empty() {
            return Ok(());
        }
        self.add_groups(attributes, alloc::vec![(index::FUNCTION, set)], visit).map(|_| ())
    }

    fn add_groups<E>(
        &mut self,
        attributes: &Attributes,
        mut groups: Vec<Group>,
        mut visit: impl FnMut(&Attribute) -> Result<(), E>,
    ) -> Result<u32, E> {
        groups.retain(|&(_, set)| !attributes.set(set).is_empty());
        // The function comes first or last; the result precedes the parameters.
        let first = u32::from(!self.function_last);
        groups.sort_by_key(|&(index, _)| index.wrapping_add(first));
        if let Some(&id) = self.list_ids.get(&groups) {
            return Ok(id);
        }
        let mut numbers = Vec::with_capacity(groups.len());
        for group in &groups {
            let next = self.groups.len() as u32 + 1;
            let number = *self.group_ids.entry(*group).or_insert(next);
            if number == next {
                self.groups.push(*group);
                attributes.set(group.1).iter().try_for_each(&mut visit)?;
            }
            numbers.push(u64::from(number));
        }
        self.lists.push(numbers);
        let id = self.lists.len() as u32;
        self.list_ids.insert(groups, id);
        Ok(id)
    }

    /// Returns the number of a list plus one, or 0 for an empty list.
    #[inline]
    pub(in crate::write) fn list(&self, list: AttributeListId) -> u64 {
        self.known.get(list.index()).map_or(0, |&id| id.into())
    }

    /// Returns the number plus one of the list that consists of a set.
    pub(in crate::write) fn list_of_set(&self, set: AttributeSetId) -> u64 {
        self.list_ids.get(&[(index::FUNCTION, set)][..]).map_or(0, |&id| id.into())
    }
}
