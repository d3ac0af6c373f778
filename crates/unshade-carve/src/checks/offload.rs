//! Detects bundles of device code by their first bytes. [`crate::offload`] describes the layouts.

use crate::fields::Fields;

/// The first bytes of a bundle of `clang-offload-bundler`.
pub(crate) const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The first bytes of a compressed bundle of `clang-offload-bundler`.
pub(crate) const COMPRESSED_MAGIC: &[u8] = b"CCOB";
/// The first bytes of a binary of `clang-offload-packager`.
pub(crate) const BINARY_MAGIC: &[u8] = &[0x10, 0xff, 0x10, 0xad];

/// A kind of bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bundle {
    /// Of `clang-offload-bundler`.
    Plain,
    /// Of `clang-offload-bundler -compress`.
    Compressed,
    /// Of `clang-offload-packager`.
    Binary,
}

impl Bundle {
    /// Returns the kind of bundle that the bytes begin like.
    pub(crate) fn of(data: &[u8]) -> Option<Self> {
        let fields = Fields::little(data);
        if data.starts_with(BINARY_MAGIC) {
            return matches!(fields.u32(4)?, 1 | 2).then_some(Self::Binary);
        }
        if data.starts_with(COMPRESSED_MAGIC) {
            return (matches!(fields.u16(4)?, 1..=3) && fields.u16(6)? <= 1).then_some(Self::Compressed);
        }
        // In a text bundle, text follows the magic number, which is no plausible count.
        let count = data.strip_prefix(BUNDLE_MAGIC).and_then(|rest| Fields::little(rest).u64(0))?;
        (count <= data.len() as u64).then_some(Self::Plain)
    }
}
