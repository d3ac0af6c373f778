//! Reads numbers at known offsets, in either byte order. A missing number is `None`, not an error.
//!
//! Detecting a container means many checks that mostly fail, so they have to be cheap. [`unshade_core::Reader`], whose
//! errors have messages, is for reading after detection.

/// Bytes with numbers at known offsets.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    data: &'a [u8],
    big_endian: bool,
}

impl<'a> Fields<'a> {
    /// Creates a reader of little-endian numbers.
    pub(crate) fn little(data: &'a [u8]) -> Self {
        Self { data, big_endian: false }
    }

    /// Creates a reader of big-endian numbers.
    pub(crate) fn big(data: &'a [u8]) -> Self {
        Self { data, big_endian: true }
    }

    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..)?.first_chunk::<N>().copied()
    }

    /// Returns the byte at an offset.
    pub(crate) fn u8(self, at: usize) -> Option<u8> {
        self.data.get(at).copied()
    }

    /// Returns the 16-bit number at an offset.
    pub(crate) fn u16(self, at: usize) -> Option<u16> {
        let bytes = self.array(at)?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    /// Returns the 32-bit number at an offset.
    pub(crate) fn u32(self, at: usize) -> Option<u32> {
        let bytes = self.array(at)?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// Returns the 64-bit number at an offset.
    pub(crate) fn u64(self, at: usize) -> Option<u64> {
        let bytes = self.array(at)?;
        Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// Returns a number that is 64 or 32 bits wide.
    pub(crate) fn word(self, at: usize, is_64: bool) -> Option<u64> {
        if is_64 { self.u64(at) } else { self.u32(at).map(u64::from) }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(self) -> usize {
        self.data.len()
    }

    /// Returns `size` bytes from an offset.
    pub(crate) fn bytes(self, at: u64, size: u64) -> Option<&'a [u8]> {
        let end = usize::try_from(at.checked_add(size)?).ok()?;
        self.data.get(usize::try_from(at).ok()?..end)
    }

    /// Returns the bytes from an offset up to a NUL, at most `limit`.
    pub(crate) fn c_string(self, at: u64, limit: usize) -> Option<&'a [u8]> {
        let rest = self.data.get(usize::try_from(at).ok()?..)?;
        let rest = rest.get(..limit).unwrap_or(rest);
        Some(rest.get(..memchr::memchr(0, rest).unwrap_or(rest.len())).unwrap_or_default())
    }
}

/// Adds a distance from a file to an offset; saturates on overflow, which is beyond any end.
pub(crate) fn offset(at: usize, distance: u64) -> usize {
    at.saturating_add(usize::try_from(distance).unwrap_or(usize::MAX))
}
