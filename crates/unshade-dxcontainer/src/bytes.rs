//! Text and raw bytes, and the arithmetic of the parts' sizes.

use alloc::vec::Vec;
pub use unshade_core::bytes::{Bytes, Text};

/// A length as the format's 32-bit number; what is longer than every file becomes the largest number, which the
/// container's own limit refuses.
pub(crate) fn len32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Rounds up to a multiple of 4.
pub(crate) fn align4(length: usize) -> usize {
    length.checked_next_multiple_of(4).unwrap_or(length)
}

/// Fills up to a multiple of 4.
pub(crate) fn pad4(out: &mut Vec<u8>, fill: u8) {
    out.resize(align4(out.len()), fill);
}
