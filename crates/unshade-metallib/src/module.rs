//! Bitcode modules in the wrapper that Darwin uses.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | `0x0B17C0DE` |
//! | 4 | u32 | version, 0 |
//! | 8 | u32 | offset of the bitcode, 20 |
//! | 12 | u32 | size of the bitcode |
//! | 16 | u32 | CPU type, `0xFFFFFFFF` |
//!
//! The bitcode (`BC C0 DE`) follows, and zeros up to a multiple of 16 bytes. `MDSZ` and `HASH` cover wrapper and
//! padding. In a file without `MDSZ`, the size is that in the wrapper, rounded up; the distance to the next module is
//! *not* the size, because some files have a stray byte between two modules.

use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The wrapper's magic number.
pub const WRAPPER_MAGIC: u32 = 0x0b17_c0de;

/// The size of the wrapper.
pub const WRAPPER_SIZE: u64 = 20;

/// The first bytes of bare bitcode.
pub const BITCODE_MAGIC: [u8; 4] = *b"BC\xc0\xde";

/// Modules are padded to a multiple of this.
const ALIGNMENT: u64 = 16;

/// The wrapper of a module's bitcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// 0 in every real file.
    pub version: u32,
    /// The offset of the bitcode from the start of the wrapper.
    pub offset: u32,
    /// The size of the bitcode.
    pub size: u32,
    /// `0xFFFFFFFF` for AIR.
    pub cpu_type: u32,
}

impl Wrapper {
    /// Reads the wrapper at the reader's position.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] or [`ErrorKind::Truncated`].
    pub fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let offset = reader.offset();
        let magic = reader.u32()?;
        if magic != WRAPPER_MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, offset, "not a wrapped bitcode module")
                .expected(alloc::format!("{WRAPPER_MAGIC:#010x}"))
                .found(alloc::format!("{magic:#010x}")));
        }
        Ok(Self {
            version: reader.u32()?,
            offset: reader.u32()?,
            size: reader.u32()?,
            cpu_type: reader.u32()?,
        })
    }

    /// Returns the size of wrapper and bitcode, rounded up to 16 bytes.
    pub fn padded_size(&self) -> u64 {
        u64::from(self.offset).saturating_add(u64::from(self.size)).next_multiple_of(ALIGNMENT)
    }
}

/// Returns the bitcode of a module if its wrapper and padding are exactly those that [`wrap`] writes.
pub fn canonical_bitcode(module: &[u8]) -> Option<&[u8]> {
    let wrapper = Wrapper::read(&mut Reader::new(module)).ok()?;
    let end = WRAPPER_SIZE.checked_add(wrapper.size.into()).and_then(|end| usize::try_from(end).ok())?;
    let canonical = Wrapper { version: 0, offset: 20, size: wrapper.size, cpu_type: u32::MAX };
    let padding = module.get(end..)?;
    let is_canonical = wrapper == canonical
        && module.len() as u64 == wrapper.padded_size()
        && padding.iter().all(|byte| *byte == 0);
    if is_canonical { module.get(20..end) } else { None }
}

/// Adds the wrapper and padding to bitcode.
///
/// # Errors
/// [`ErrorKind::Limit`] if the bitcode is 4 GiB or more.
pub fn wrap(bitcode: &[u8]) -> Result<Vec<u8>> {
    let size = u32::try_from(bitcode.len())
        .map_err(|_| Error::without_offset(ErrorKind::Limit, "bitcode is too large for its wrapper"))?;
    let wrapper = Wrapper { version: 0, offset: 20, size, cpu_type: u32::MAX };
    let mut module = Vec::new();
    for number in [WRAPPER_MAGIC, wrapper.version, wrapper.offset, wrapper.size, wrapper.cpu_type] {
        module.extend_from_slice(&number.to_le_bytes());
    }
    module.extend_from_slice(bitcode);
    module.resize(usize::try_from(wrapper.padded_size()).unwrap_or(module.len()), 0);
    Ok(module)
}

/// A module: wrapper, bitcode and padding.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    data: Reader<'a>,
}

impl<'a> Module<'a> {
    /// Returns the module of a known size at `offset` in `section`.
    pub(crate) fn sized(section: &Reader<'a>, offset: u64, size: u64) -> Result<Self> {
        Ok(Self { data: section.part(offset, size)? })
    }

    /// Returns the module at `offset` in `section`, with its size taken from the wrapper.
    pub(crate) fn measured(section: &Reader<'a>, offset: u64) -> Result<Self> {
        let rest = (section.data().len() as u64).saturating_sub(offset);
        let mut reader = section.part(offset, rest)?;
        let wrapper = Wrapper::read(&mut reader).map_err(|error| {
            error.hint("the function has no MDSZ, so the size must come from the wrapper of the module")
        })?;
        // The last module may end before its padding does.
        Self::sized(section, offset, wrapper.padded_size().min(rest))
    }

    /// Returns all bytes, including wrapper and padding: the input of `HASH`.
    pub fn bytes(&self) -> &'a [u8] {
        self.data.data()
    }

    /// Returns the range in the file.
    pub fn range(&self) -> Range<u64> {
        self.data.range()
    }

    /// Returns the wrapper.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] or [`ErrorKind::Truncated`].
    pub fn wrapper(&self) -> Result<Wrapper> {
        Wrapper::read(&mut self.data.clone())
    }

    /// Returns the bitcode without wrapper and padding.
    ///
    /// # Errors
    /// If the wrapper is malformed or points outside the module.
    pub fn bitcode(&self) -> Result<Reader<'a>> {
        if self.bytes().starts_with(&BITCODE_MAGIC) {
            return Ok(self.data);
        }
        let wrapper = self.wrapper()?;
        self.data
            .part(u64::from(wrapper.offset), u64::from(wrapper.size))
            .map_err(|e| e.within("bitcode wrapper"))
    }

    /// Computes the SHA-256 of all bytes.
    pub fn sha256(&self) -> unshade_sha256::Hash {
        unshade_sha256::digest(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_bitcode_can_be_unwrapped() {
        for size in 0..40 {
            let mut bitcode = BITCODE_MAGIC.to_vec();
            bitcode.resize(4 + size, 7);
            let module = wrap(&bitcode).unwrap();
            assert!(module.len().is_multiple_of(16) && module.len() < bitcode.len() + 36);
            assert_eq!(canonical_bitcode(&module), Some(&bitcode[..]));
        }
        let mut module = wrap(b"BC\xc0\xde").unwrap();
        *module.last_mut().unwrap() = 1;
        assert_eq!(canonical_bitcode(&module), None);
    }
}
