//! A cursor over bytes that knows its absolute file offset.
//!
//! A [`Reader`] is small and `Copy`. Nested formats (metallib → bitcode, archive → metallib) get a reader of a part,
//! whose errors still give offsets in the *file*. Modelled on `wasmparser`'s `BinaryReader`.

use crate::{Error, ErrorKind, FourCc, Result};
use alloc::format;
use core::fmt;
use core::ops::Range;

/// A position in a slice of bytes whose file offset is known.
///
/// ```
/// use unshade_core::Reader;
///
/// let mut reader = Reader::at(&[1, 0, 2, 0, 0, 0], 0x100);
/// assert_eq!(reader.u16()?, 1);
/// assert_eq!(reader.offset(), 0x102);
/// assert_eq!(reader.u32()?, 2);
/// let error = reader.u8().unwrap_err();
/// assert_eq!(error.to_string(), "unexpected end of data: expected 1 byte, found 0 (at offset 0x106)");
/// # Ok::<(), unshade_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    data: &'a [u8],
    position: usize,
    /// The file offset of `data[0]`.
    base: u64,
}

/// Prints the offsets, not the data.
impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("offset", &format_args!("{:#x}", self.offset()))
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// Creates a reader of bytes that start at file offset 0.
    #[inline]
    pub fn new(data: &'a [u8]) -> Self {
        Self::at(data, 0)
    }

    /// Creates a reader of bytes that start at file offset `base`.
    #[inline]
    pub fn at(data: &'a [u8], base: u64) -> Self {
        Self { data, position: 0, base }
    }

    /// Returns the absolute file offset of the next byte.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base.saturating_add(self.position as u64)
    }

    /// Returns the absolute file offset of the first byte.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns the number of bytes already read.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns all bytes, read or not.
    #[inline]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Returns the bytes not yet read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.data.get(self.position..).unwrap_or_default()
    }

    /// Returns the number of bytes not yet read.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.position)
    }

    /// Returns whether all bytes were read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Returns the file range of the bytes not yet read.
    pub fn range(&self) -> Range<u64> {
        self.offset()..self.base.saturating_add(self.data.len() as u64)
    }

    /// Reads the next `count` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer; nothing is consumed then.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest().get(..count) {
            Some(bytes) => {
                self.position = self.position.saturating_add(count);
                Ok(bytes)
            }
            None => Err(self.truncated(count as u64)),
        }
    }

    /// Reads the next `count` bytes, where `count` is a number from the file.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    #[inline]
    pub fn bytes_u64(&mut self, count: u64) -> Result<&'a [u8]> {
        match usize::try_from(count) {
            Ok(count) => self.bytes(count),
            Err(_) => Err(self.truncated(count)),
        }
    }

    /// Reads the next `count` bytes as a separate reader that keeps file offsets.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    #[inline]
    pub fn split(&mut self, count: u64) -> Result<Reader<'a>> {
        let base = self.offset();
        Ok(Reader::at(self.bytes_u64(count)?, base))
    }

    /// Returns a reader of `size` bytes that start `start` bytes after the first byte of this one. Does not move the
    /// position.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if that range is not inside the data.
    #[inline]
    pub fn part(&self, start: u64, size: u64) -> Result<Reader<'a>> {
        let outside = || self.outside(start, size);
        let end = start.checked_add(size).ok_or_else(outside)?;
        let (from, to) = match (usize::try_from(start), usize::try_from(end)) {
            (Ok(from), Ok(to)) => (from, to),
            _ => return Err(outside()),
        };
        let data = self.data.get(from..to).ok_or_else(outside)?;
        Ok(Reader::at(data, self.base.saturating_add(start)))
    }

    /// Skips `count` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    #[inline]
    pub fn skip(&mut self, count: u64) -> Result<()> {
        self.bytes_u64(count).map(|_| ())
    }

    /// Reads the next `N` bytes as an array.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest().first_chunk::<N>() {
            Some(chunk) => {
                self.position = self.position.saturating_add(N);
                Ok(*chunk)
            }
            None => Err(self.truncated(N as u64)),
        }
    }

    /// Reads the next `N` bytes as a borrowed array.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    #[inline]
    pub fn array_ref<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        match self.rest().first_chunk::<N>() {
            Some(chunk) => {
                self.position = self.position.saturating_add(N);
                Ok(chunk)
            }
            None => Err(self.truncated(N as u64)),
        }
    }

    /// Reads the next byte.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] at the end.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads a little-endian 16-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 2 bytes remain.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads a little-endian 32-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 4 bytes remain.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a little-endian 64-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 8 bytes remain.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a big-endian 32-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 4 bytes remain.
    #[inline]
    pub fn u32_be(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads a four-character code.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 4 bytes remain.
    #[inline]
    pub fn fourcc(&mut self) -> Result<FourCc> {
        self.array().map(FourCc)
    }

    /// Reads a C string: the bytes up to a NUL, which is consumed but not returned.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there is no NUL.
    pub fn c_string(&mut self) -> Result<&'a [u8]> {
        // Names of C++ have hundreds of bytes; this search reads vectors of them.
        let found = memchr::memchr(0, self.rest()).and_then(|size| self.rest().split_at_checked(size));
        let Some((string, _)) = found else {
            return Err(Error::new(ErrorKind::Truncated, self.offset(), "string without a terminating NUL"));
        };
        self.position = self.position.saturating_add(string.len()).saturating_add(1);
        Ok(string)
    }

    #[cold]
    fn outside(&self, start: u64, size: u64) -> Error {
        let offset = self.base.saturating_add(start);
        Error::new(ErrorKind::OutOfRange, offset, "range is outside its container")
            .expected(format!("a range within {:#x} bytes", self.data.len()))
            .found(format!("{size:#x} bytes from {start:#x}"))
    }

    #[cold]
    fn truncated(&self, wanted: u64) -> Error {
        Error::new(ErrorKind::Truncated, self.offset(), "unexpected end of data")
            .expected(if wanted == 1 { "1 byte".into() } else { format!("{wanted} bytes") })
            .found(format!("{}", self.remaining()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_stay_absolute_in_parts() {
        let data = [0u8; 32];
        let mut outer = Reader::at(&data, 100);
        outer.skip(8).unwrap();
        let mut inner = outer.split(8).unwrap();
        assert_eq!((inner.offset(), outer.offset()), (108, 116));
        inner.skip(6).unwrap();
        assert_eq!(inner.u32().unwrap_err().offset(), Some(114));
        assert_eq!(outer.part(30, 2).unwrap().range(), 130..132);
    }

    #[test]
    fn ranges_that_overflow_are_refused() {
        let reader = Reader::at(&[0; 8], u64::MAX - 4);
        for (start, size) in [(u64::MAX, 1), (0, u64::MAX), (9, 0), (8, 1), (u64::MAX, u64::MAX)] {
            assert_eq!(reader.part(start, size).unwrap_err().kind(), ErrorKind::OutOfRange);
        }
        assert!(reader.part(8, 0).is_ok());
    }

    #[test]
    fn debug_output_does_not_depend_on_the_size_of_the_data() {
        let text = format!("{:?}", Reader::at(&[0xab; 4_096], 0x100));
        assert_eq!(text, "Reader { offset: 0x100, remaining: 4096, .. }");
    }

    #[test]
    fn a_failed_read_consumes_nothing() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert!(reader.u32().is_err());
        assert_eq!(reader.u16().unwrap(), 0x0201);
        assert!(reader.c_string().is_err());
        assert_eq!(reader.u8().unwrap(), 3);
    }
}
