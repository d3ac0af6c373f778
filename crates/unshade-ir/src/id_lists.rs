//! Lists by value, stored contiguously: users, uses.

use super::{Key, ValueId};

/// A list for each of several values.
#[derive(Debug)]
pub struct IdLists<T> {
    /// The start of each list, and the end of the last one.
    start: Vec<u32>,
    entries: Vec<T>,
}

impl<T: Copy> IdLists<T> {
    /// Creates `count` lists from entries with the number of their list; entries of a list keep their order.
    pub fn new(count: usize, given: &[(ValueId, T)]) -> Self {
        let mut start = vec![0_u32; count + 1];
        for (id, _) in given {
            start[id.index() + 1] += 1;
        }
        for index in 0..count {
            start[index + 1] += start[index];
        }
        let mut next = start.clone();
        let mut entries: Vec<T> = given.iter().map(|entry| entry.1).collect();
        for (id, entry) in given {
            let slot = &mut next[id.index()];
            entries[*slot as usize] = *entry;
            *slot += 1;
        }
        Self { start, entries }
    }

    /// Returns the list of a value.
    pub fn of(&self, id: ValueId) -> &[T] {
        &self.entries[self.start[id.index()] as usize..self.start[id.index() + 1] as usize]
    }
}

/// Returns the value of a key in a short list of pairs, adding a default if the key is missing.
pub fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let index = list.iter().position(|pair| pair.0 == key).unwrap_or(list.len());
    if index == list.len() {
        list.push((key, V::default()));
    }
    &mut list[index].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_list_keep_their_order() {
        let given = [(2, 'a'), (0, 'b'), (2, 'c'), (2, 'd')].map(|(id, entry)| (ValueId::new(id), entry));
        let rows = IdLists::new(4, &given);
        let lists: Vec<String> = (0..4).map(|id| rows.of(ValueId::new(id)).iter().collect()).collect();
        assert_eq!(lists, ["b", "", "acd", ""]);
    }
}
