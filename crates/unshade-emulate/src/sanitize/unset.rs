//! Which bytes of a memory were never written.

/// One bit per byte: 1 if it was never written.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnsetBytes(Vec<u64>);

impl UnsetBytes {
    /// Returns the state of a new memory.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(vec![u64::MAX; bytes.div_ceil(64)])
    }

    /// Returns whether none of the bytes was written. If some were, the others may be padding.
    pub(crate) fn are_unset(&self, start: usize, bytes: usize) -> bool {
        bytes > 0
            && (start..start.saturating_add(bytes))
                .all(|byte| self.0.get(byte / 64).is_some_and(|bits| bits >> (byte & 63) & 1 != 0))
    }

    /// Returns whether none of the bytes was written, and they can't be the padding of a structure, which follows a written
    /// member in the same 8 bytes. Programs copy structures word by word.
    pub(crate) fn are_unset_data(&self, start: usize, bytes: usize) -> bool {
        let group = start & !7;
        let follows_data = bytes == 4 && start > group && !self.are_unset(group, start - group);
        self.are_unset(start, bytes) && !follows_data
    }

    /// Notes that bytes are written.
    pub(crate) fn set(&mut self, start: usize, bytes: usize) {
        for byte in start..start.saturating_add(bytes) {
            if let Some(bits) = self.0.get_mut(byte / 64) {
                *bits &= !(1 << (byte & 63));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_set_one_by_one() {
        let mut unset = UnsetBytes::new(100);
        assert!(unset.are_unset(60, 8));
        unset.set(63, 2);
        assert!(!unset.are_unset(60, 8));
        assert!(!unset.are_unset(63, 1));
        assert!(unset.are_unset(65, 4));
        unset.set(24, 1);
        assert!(!unset.are_unset_data(28, 4));
        assert!(unset.are_unset_data(36, 4));
        // Beyond the end nothing is unset.
        assert!(!unset.are_unset(1000, 1));
    }
}
