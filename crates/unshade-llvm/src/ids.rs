//! Ids and slices of pools: four and eight bytes in place of pointers.

use alloc::vec::Vec;
use core::ops::Range;

macro_rules! id {
    ($(#[$doc:meta] $name:ident)*) => {
        $(
            #[$doc]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub struct $name(pub u32);

            impl $name {
                /// The id that means "none".
                pub const NONE: Self = Self(u32::MAX);

                /// Returns the id as an index.
                #[inline(always)]
                pub fn index(self) -> usize {
                    self.0 as usize
                }

                /// Returns whether it is not "none".
                pub fn is_some(self) -> bool {
                    self != Self::NONE
                }
            }
        )*
    };
}

id! {
    /// A type, as an index into [`crate::TypeTable`].
    TypeId
    /// A value: module-level values first, then those of the function.
    ValueId
    /// A basic block of a function.
    BlockId
    /// A metadata string, value or node: module-level ones first, then those of the function.
    MetadataId
    /// A list of attribute sets: of a function, its result and its parameters.
    AttributeListId
    /// A set of attributes.
    AttributeSetId
}

/// A contiguous range of entries in a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The first entry.
    pub start: u32,
    /// The number of entries.
    pub count: u32,
}

impl Slice {
    /// Returns the entries; empty if the range is outside of the pool.
    #[inline(always)]
    pub fn of<T>(self, pool: &[T]) -> &[T] {
        let start = self.start as usize;
        pool.get(start..start.wrapping_add(self.count as usize)).unwrap_or_default()
    }

    /// Returns the range in the pool.
    #[inline]
    pub(crate) fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start.wrapping_add(self.count as usize)
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Returns whether there are no entries.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Appends entries to a pool and returns their range.
    pub(crate) fn extend<T>(pool: &mut Vec<T>, entries: impl IntoIterator<Item = T>) -> Self {
        let start = pool.len();
        pool.extend(entries);
        Self { start: narrow(start as u64), count: narrow(pool.len().saturating_sub(start) as u64) }
    }
}

/// Narrows a number from a file to 32 bits; what does not fit becomes the id that means "none", which is outside
/// of every table.
#[inline(always)]
pub(crate) fn narrow(value: u64) -> u32 {
    if value > u64::from(u32::MAX) { u32::MAX } else { (value & 0xFFFF_FFFF) as u32 }
}

/// Decodes a signed VBR number, whose sign is in the lowest bit: integer constants and signed relative ids.
#[inline(always)]
pub(crate) fn unrotate(value: u64) -> u64 {
    if value & 1 == 0 {
        value >> 1
    } else if value == 1 {
        1 << 63
    } else {
        (value >> 1).wrapping_neg()
    }
}

/// Encodes a signed number as [`unrotate`] decodes it.
pub(crate) fn rotate(value: u64) -> u64 {
    if value >> 63 == 0 { value << 1 } else { value.wrapping_neg() << 1 | 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs() {
        for value in [0, 3, -3i64 as u64, i64::MIN as u64] {
            assert_eq!(unrotate(rotate(value)), value);
        }
        assert_eq!(unrotate(6), 3);
        assert_eq!(unrotate(7) as i64, -3);
        assert_eq!(unrotate(1) as i64, i64::MIN);
        assert_eq!(narrow(1 << 40), u32::MAX);
    }

    #[test]
    fn slices_of_other_pools_are_empty() {
        let slice = Slice { start: 3, count: u32::MAX };
        assert!(slice.of(&[1, 2, 3, 4]).is_empty());
    }
}
