//! A cursor over bytes that knows its absolute file offset.
//!
//! A [`Reader`] is three words and `Copy`. Nested formats (metallib → bitcode, archive → metallib) get a reader of
//! a part, whose errors still give offsets of the *file*. The model is `wasmparser`'s `BinaryReader`.

use crate::{Error, ErrorKind, FourCc, Result};
use alloc::format;
use core::ops::Range;

/// A position in a run of bytes that stands at a known offset of a file.
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
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    data: &'a [u8],
    position: usize,
    /// The file offset of `data[0]`.
    base: u64,
}

impl<'a> Reader<'a> {
    /// Reads bytes that stand at the start of a file.
    pub fn new(data: &'a [u8]) -> Self {
        Self::at(data, 0)
    }

    /// Reads bytes that stand at `base` in a file.
    pub fn at(data: &'a [u8], base: u64) -> Self {
        Self { data, position: 0, base }
    }

    /// The absolute file offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.base.saturating_add(self.position as u64)
    }

    /// The absolute file offset of the first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The number of bytes already read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// All bytes, read or not.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The bytes not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.data.get(self.position..).unwrap_or_default()
    }

    /// The number of bytes not yet read.
    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.position)
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The file range of the bytes not yet read.
    pub fn range(&self) -> Range<u64> {
        self.offset()..self.base.saturating_add(self.data.len() as u64)
    }

    /// The next `count` bytes.
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

    /// The next `count` bytes, where `count` is a number from the file.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    pub fn bytes_u64(&mut self, count: u64) -> Result<&'a [u8]> {
        match usize::try_from(count) {
            Ok(count) => self.bytes(count),
            Err(_) => Err(self.truncated(count)),
        }
    }

    /// The next `count` bytes as a reader of their own, with file offsets kept.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    pub fn split(&mut self, count: u64) -> Result<Reader<'a>> {
        let base = self.offset();
        Ok(Reader::at(self.bytes_u64(count)?, base))
    }

    /// A reader of `size` bytes that start `start` bytes after the first byte of this one; the position stays.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if that range is not inside of the data.
    pub fn part(&self, start: u64, size: u64) -> Result<Reader<'a>> {
        let outside = || {
            Error::new(
                ErrorKind::OutOfRange,
                self.base.saturating_add(start),
                "range lies outside of its container",
            )
            .expected(format!("at most {:#x} bytes in all", self.data.len()))
            .found(format!("{size:#x} bytes from {start:#x}"))
        };
        let end = start.checked_add(size).ok_or_else(outside)?;
        let (from, to) = match (usize::try_from(start), usize::try_from(end)) {
            (Ok(from), Ok(to)) => (from, to),
            _ => return Err(outside()),
        };
        let data = self.data.get(from..to).ok_or_else(outside)?;
        Ok(Reader::at(data, self.base.saturating_add(start)))
    }

    /// Passes over `count` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    pub fn skip(&mut self, count: u64) -> Result<()> {
        self.bytes_u64(count).map(|_| ())
    }

    /// The next `N` bytes as an array.
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

    /// The next `N` bytes as a borrowed array.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer.
    pub fn array_ref<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        match self.rest().first_chunk::<N>() {
            Some(chunk) => {
                self.position = self.position.saturating_add(N);
                Ok(chunk)
            }
            None => Err(self.truncated(N as u64)),
        }
    }

    /// The next byte.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] at the end.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A little-endian 16-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 2 bytes remain.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// A little-endian 32-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 4 bytes remain.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A little-endian 64-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 8 bytes remain.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A big-endian 32-bit number.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 4 bytes remain.
    pub fn u32_be(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A four-character code.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if fewer than 4 bytes remain.
    #[inline]
    pub fn fourcc(&mut self) -> Result<FourCc> {
        self.array().map(FourCc)
    }

    /// A C string: the bytes up to a NUL, which is passed over and not part of the result.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there is no NUL.
    pub fn c_string(&mut self) -> Result<&'a [u8]> {
        let rest = self.rest();
        match rest.iter().position(|&byte| byte == 0) {
            Some(length) => {
                self.position = self.position.saturating_add(length).saturating_add(1);
                Ok(rest.get(..length).unwrap_or_default())
            }
            None => Err(Error::new(ErrorKind::Truncated, self.offset(), "string without a terminating NUL")),
        }
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
    fn a_failed_read_consumes_nothing() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert!(reader.u32().is_err());
        assert_eq!(reader.u16().unwrap(), 0x0201);
        assert!(reader.c_string().is_err());
        assert_eq!(reader.u8().unwrap(), 3);
    }
}
