//! Text and raw bytes, and arithmetic on sizes.

use alloc::vec::Vec;
pub use unshade_core::bytes::{Bytes, Text};

/// Converts a length to the format's 32-bit type. Lengths that do not fit saturate; the container's size limit
/// rejects them.
pub(crate) fn len32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Rounds up to a multiple of 4.
pub(crate) fn align4(length: usize) -> usize {
    length.checked_next_multiple_of(4).unwrap_or(length)
}

/// Pads to a multiple of 4.
pub(crate) fn pad4(out: &mut Vec<u8>, fill: u8) {
    out.resize(align4(out.len()), fill);
}
