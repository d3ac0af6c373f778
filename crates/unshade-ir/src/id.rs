//! Typed indices of the parts of a function, and lists that they index.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index type.
pub trait Key: Copy + Eq {
    /// Returns the key with an index.
    fn from_index(index: usize) -> Self;

    /// Returns the index.
    fn index(self) -> usize;
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The absence of one.
            pub const NONE: Self = Self(u32::MAX);

            /// Returns the key with a number.
            pub const fn new(number: u32) -> Self {
                Self(number)
            }

            /// Returns the number.
            #[inline]
            pub const fn number(self) -> u32 {
                self.0
            }
        }

        impl Key for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

keys! {
    /// A value of a function.
    ValueId
    /// A block of a function.
    BlockId
    /// The name of a variable, a texture or a surface.
    SymbolId
    /// A comment for an instruction that could not be lifted.
    NoteId
    /// An access of a texture or surface.
    ImageId
    /// A device function that a function calls.
    CalleeId
    /// A structure type.
    StructureId
    /// A structure type of a shader.
    StructId
    /// A resource of a shader.
    ResourceId
    /// A variable of a shader.
    VariableId
    /// A type of a program in Metal.
    TypeId
}

impl Default for TypeId {
    fn default() -> Self {
        Self::NONE
    }
}

impl BlockId {
    /// The entry of every function.
    pub const ENTRY: Self = Self(0);
}

/// A list that keys of one type index.
pub struct IdVec<K, T> {
    entries: Vec<T>,
    key: PhantomData<fn(K) -> K>,
}

/// An entry for each value.
pub type ValueMap<T> = IdVec<ValueId, T>;

/// An entry for each block.
pub type BlockMap<T> = IdVec<BlockId, T>;

impl<K: Key, T> IdVec<K, T> {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), key: PhantomData }
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the keys in order. The list may grow meanwhile.
    #[inline]
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, T> {
        (0..self.entries.len()).map(K::from_index)
    }

    /// Returns the entries in order.
    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// Returns the entries in order, to change them.
    #[inline]
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// Returns the keys and entries in order.
    #[inline]
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (K, &T)> {
        self.entries.iter().enumerate().map(|(index, entry)| (K::from_index(index), entry))
    }

    /// Returns an entry, or `None` if there is none with this key.
    #[inline]
    pub fn get(&self, key: K) -> Option<&T> {
        self.entries.get(key.index())
    }

    /// Returns an entry to change, or `None` if there is none with this key.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.entries.get_mut(key.index())
    }

    /// Returns whether there is an entry with this key.
    #[inline]
    pub fn contains_key(&self, key: K) -> bool {
        key.index() < self.entries.len()
    }

    /// Appends an entry, and returns its key.
    #[inline]
    pub fn push(&mut self, entry: T) -> K {
        self.entries.push(entry);
        K::from_index(self.entries.len() - 1)
    }

    /// Reserves memory for more entries.
    pub fn reserve(&mut self, count: usize) {
        self.entries.reserve(count);
    }

    /// Removes all entries from an index on.
    pub fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl<K: Key, T: Clone> IdVec<K, T> {
    /// Creates a list of equal entries.
    pub fn filled(entry: T, count: usize) -> Self {
        Self { entries: vec![entry; count], key: PhantomData }
    }

    /// Changes the length; new entries are equal.
    pub fn resize(&mut self, count: usize, entry: T) {
        self.entries.resize(count, entry);
    }

    /// Sets all entries.
    pub fn fill(&mut self, entry: T) {
        self.entries.fill(entry);
    }
}

impl<K: Key, T> Index<K> for IdVec<K, T> {
    type Output = T;

    #[inline]
    fn index(&self, key: K) -> &T {
        &self.entries[key.index()]
    }
}

impl<K: Key, T> IndexMut<K> for IdVec<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        &mut self.entries[key.index()]
    }
}

impl<K, T> Default for IdVec<K, T> {
    fn default() -> Self {
        Self { entries: Vec::new(), key: PhantomData }
    }
}

impl<K, T: Clone> Clone for IdVec<K, T> {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone(), key: PhantomData }
    }
}

impl<K, T: std::fmt::Debug> std::fmt::Debug for IdVec<K, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.entries.fmt(f)
    }
}

impl<K: Key, T> Extend<T> for IdVec<K, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, entries: I) {
        self.entries.extend(entries);
    }
}

impl<K: Key, T> FromIterator<T> for IdVec<K, T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect(), key: PhantomData }
    }
}

impl<'a, K: Key, T> IntoIterator for &'a IdVec<K, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

impl<'a, K: Key, T> IntoIterator for &'a mut IdVec<K, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter_mut()
    }
}

impl<K: Key, T> IntoIterator for IdVec<K, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
