//! A safe, zero-copy parser of flatbuffers.
//!
//! It only knows the wire format (tables, vtables, vectors, strings); [`schema`](super::schema) gives the slots their
//! meaning. Positions are byte offsets from the start of the flatbuffer, errors have absolute file offsets. Nothing is
//! copied or allocated, and every number from the file is checked before it is used.
//!
//! Source: <https://flatbuffers.dev/internals/>.

use alloc::format;
use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, FourCc, Result};

/// Maximum number of slots in a vtable. The largest known table has 15. Without a limit, many small tables that share a
/// vtable of 32,766 slots would take time out of proportion to their size.
pub const MAX_SLOTS: usize = 64;

/// The size in bytes of an offset, of a vector's count and of a string's length.
pub const WORD: usize = 4;

/// The bytes of one flatbuffer.
#[derive(Clone, Copy)]
pub struct FlatBuffer<'a> {
    data: &'a [u8],
    base: u64,
}

/// Prints the range, not the data.
impl fmt::Debug for FlatBuffer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlatBuffer").field("range", &self.range(0, self.data.len())).finish_non_exhaustive()
    }
}

impl<'a> FlatBuffer<'a> {
    /// Creates a flatbuffer from `data`, which is at offset `base` in the file.
    pub fn new(data: &'a [u8], base: u64) -> Self {
        Self { data, base }
    }

    /// Returns all bytes.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Returns the file offset of the first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns the file offset of a position.
    pub fn offset_of(&self, position: usize) -> u64 {
        self.base.saturating_add(position as u64)
    }

    /// Returns the file range of `count` bytes from a position.
    pub fn range(&self, position: usize, count: usize) -> Range<u64> {
        self.offset_of(position)..self.offset_of(position.saturating_add(count))
    }

    /// Returns the file identifier: four letters after the root offset that identify the schema.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if there are fewer than 8 bytes.
    pub fn identifier(&self) -> Result<FourCc> {
        self.array(WORD).map(FourCc)
    }

    /// Returns the root table.
    ///
    /// # Errors
    /// As [`FlatBuffer::target`] and [`FlatBuffer::table`].
    pub fn root(&self) -> Result<Table<'a>> {
        self.table(self.target(0)?)
    }

    /// Returns `count` bytes at a position.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if the flatbuffer ends too early.
    #[inline]
    pub fn bytes(&self, position: usize, count: usize) -> Result<&'a [u8]> {
        position
            .checked_add(count)
            .and_then(|end| self.data.get(position..end))
            .ok_or_else(|| self.too_short(position, count))
    }

    #[inline]
    fn array<const N: usize>(&self, position: usize) -> Result<[u8; N]> {
        match self.data.get(position..).and_then(<[u8]>::first_chunk) {
            Some(chunk) => Ok(*chunk),
            None => Err(self.too_short(position, N)),
        }
    }

    /// Returns a byte.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] if the flatbuffer ends too early.
    #[inline]
    pub fn u8(&self, position: usize) -> Result<u8> {
        self.array::<1>(position).map(|[byte]| byte)
    }

    /// Returns a 16-bit number.
    ///
    /// # Errors
    /// As [`FlatBuffer::u8`].
    #[inline]
    pub fn u16(&self, position: usize) -> Result<u16> {
        self.array(position).map(u16::from_le_bytes)
    }

    /// Returns a 32-bit number.
    ///
    /// # Errors
    /// As [`FlatBuffer::u8`].
    #[inline]
    pub fn u32(&self, position: usize) -> Result<u32> {
        self.array(position).map(u32::from_le_bytes)
    }

    /// Returns a 64-bit number.
    ///
    /// # Errors
    /// As [`FlatBuffer::u8`].
    #[inline]
    pub fn u64(&self, position: usize) -> Result<u64> {
        self.array(position).map(u64::from_le_bytes)
    }

    /// Follows the offset at a position: an unsigned number, relative to that position.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if it leads out of the flatbuffer, [`ErrorKind::BadValue`] if it is 0, which would
    /// make it point to itself.
    #[inline]
    pub fn target(&self, position: usize) -> Result<usize> {
        let offset = self.u32(position)?;
        match position.checked_add(offset as usize) {
            _ if offset == 0 => Err(self.fault(ErrorKind::BadValue, position, "offset points to itself")),
            Some(target) if target < self.data.len() => Ok(target),
            _ => Err(self
                .fault(ErrorKind::OutOfRange, position, "offset leads out of the flatbuffer")
                .expected(format!("less than {:#x} bytes", self.data.len().saturating_sub(position)))
                .found(format!("{offset:#x}"))),
        }
    }

    /// Returns the table at a position.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] or [`ErrorKind::Truncated`] if the table or its vtable is not inside the
    /// flatbuffer, [`ErrorKind::BadValue`] if their sizes are impossible, [`ErrorKind::Limit`] if there are more than
    /// [`MAX_SLOTS`] slots.
    #[inline]
    pub fn table(&self, position: usize) -> Result<Table<'a>> {
        // Signed, and subtracted: the vtable usually precedes the table, but a shared one can be anywhere.
        let back = self.u32(position)?.cast_signed() as i64;
        let vtable = i64::try_from(position)
            .ok()
            .and_then(|position| position.checked_sub(back))
            .and_then(|vtable| usize::try_from(vtable).ok())
            .filter(|&vtable| vtable < self.data.len())
            .ok_or_else(|| {
                self.fault(ErrorKind::OutOfRange, position, "vtable is outside the flatbuffer")
                    .found(format!("{back} bytes before the table"))
            })?;
        let vtable_size = usize::from(self.u16(vtable)?);
        if vtable_size < WORD || !vtable_size.is_multiple_of(2) {
            return Err(self
                .fault(ErrorKind::BadValue, vtable, "invalid size of a vtable")
                .expected("an even number of at least 4")
                .found(format!("{vtable_size}")));
        }
        if vtable_size > MAX_SLOTS.saturating_add(2).saturating_mul(2) {
            return Err(self
                .fault(ErrorKind::Limit, vtable, "too many slots in a vtable")
                .expected(format!("at most {MAX_SLOTS}")));
        }
        let header = self.bytes(vtable, vtable_size)?;
        let inline_size = usize::from(self.u16(vtable.saturating_add(2))?);
        if inline_size < WORD {
            return Err(self
                .fault(ErrorKind::BadValue, vtable.saturating_add(2), "invalid size of a table")
                .expected("at least 4 bytes")
                .found(format!("{inline_size}")));
        }
        self.bytes(position, inline_size)?;
        let entries = header.get(WORD..).unwrap_or_default();
        Ok(Table { buffer: *self, position, vtable, entries, inline_size })
    }

    /// Returns the vector at a position: a 32-bit count, and that many elements of `element_size` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if the elements reach beyond the end.
    #[inline]
    pub fn vector(&self, position: usize, element_size: usize) -> Result<Vector<'a>> {
        let count = self.u32(position)? as usize;
        let first = position.saturating_add(WORD);
        let elements = count
            .checked_mul(element_size)
            .and_then(|size| first.checked_add(size))
            .and_then(|end| self.data.get(first..end));
        match elements {
            Some(elements) => Ok(Vector { buffer: *self, first, count, element_size, elements }),
            None => Err(self
                .fault(ErrorKind::OutOfRange, position, "vector reaches beyond the end of the flatbuffer")
                .expected(format!("at most {:#x} bytes", self.data.len().saturating_sub(first)))
                .found(format!("{count} elements of {element_size} bytes"))),
        }
    }

    /// Returns the string at a position, without its terminating NUL.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if it reaches beyond the end, [`ErrorKind::BadValue`] if it has no NUL.
    #[inline]
    pub fn string(&self, position: usize) -> Result<&'a [u8]> {
        let text = self.vector(position, 1)?.elements;
        let end = position.saturating_add(WORD).saturating_add(text.len());
        match self.u8(end)? {
            0 => Ok(text),
            _ => Err(self.fault(ErrorKind::BadValue, end, "string without a terminating NUL")),
        }
    }

    #[cold]
    pub(super) fn fault(&self, kind: ErrorKind, position: usize, message: &'static str) -> Error {
        Error::new(kind, self.offset_of(position), message)
    }

    #[cold]
    fn too_short(&self, position: usize, wanted: usize) -> Error {
        self.fault(ErrorKind::Truncated, position, "unexpected end of the flatbuffer")
            .expected(format!("{wanted} bytes"))
            .found(format!("{}", self.data.len().saturating_sub(position)))
    }
}

/// A table: optional fields, located by the slots of a vtable.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    buffer: FlatBuffer<'a>,
    position: usize,
    vtable: usize,
    entries: &'a [u8],
    inline_size: usize,
}

impl<'a> Table<'a> {
    /// Returns the flatbuffer that contains the table.
    pub fn buffer(&self) -> FlatBuffer<'a> {
        self.buffer
    }

    /// Returns the position of the table.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the position of its vtable.
    pub fn vtable(&self) -> usize {
        self.vtable
    }

    /// Returns the size of the vtable in bytes.
    pub fn vtable_size(&self) -> usize {
        self.entries.len().saturating_add(WORD)
    }

    /// Returns the size of the table itself in bytes, without the targets of its fields.
    pub fn inline_size(&self) -> usize {
        self.inline_size
    }

    /// Returns the number of slots in the vtable.
    pub fn slot_count(&self) -> usize {
        self.entries.len() / 2
    }

    /// Returns the offset of a slot's field in the table; 0 if the field is absent. Slots count from 0: slot `n` is at
    /// byte `4 + 2n` of the vtable.
    #[inline]
    pub fn entry(&self, slot: usize) -> usize {
        let at = slot.saturating_mul(2);
        match self.entries.get(at..).and_then(<[u8]>::first_chunk) {
            Some(entry) => usize::from(u16::from_le_bytes(*entry)),
            None => 0,
        }
    }

    /// Returns the position of a slot's field, which has `width` bytes; [`None`] if the field is absent.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if the field is not inside the table.
    #[inline]
    pub fn field(&self, slot: usize, width: usize) -> Result<Option<usize>> {
        let entry = self.entry(slot);
        if entry == 0 {
            return Ok(None);
        }
        if entry < WORD || entry.saturating_add(width) > self.inline_size {
            let at = self.vtable.saturating_add(WORD).saturating_add(slot.saturating_mul(2));
            return Err(self
                .buffer
                .fault(ErrorKind::OutOfRange, at, "field is outside its table")
                .expected(format!("{width} bytes from 4 to {}", self.inline_size))
                .found(format!("offset {entry}")));
        }
        Ok(Some(self.position.saturating_add(entry)))
    }

    /// Returns the position of a slot's field, and the bytes up to the next field or the end of the table: the most
    /// that is known about a field of unknown kind.
    pub fn extent(&self, slot: usize) -> Result<Option<(usize, &'a [u8])>> {
        let Some(position) = self.field(slot, 1)? else { return Ok(None) };
        let entry = self.entry(slot);
        let next = (0..self.slot_count()).map(|other| self.entry(other)).filter(|&other| other > entry).min();
        let end = next.unwrap_or(self.inline_size).min(self.inline_size);
        Ok(Some((position, self.buffer.bytes(position, end.saturating_sub(entry))?)))
    }
}

/// A vector whose elements are inside the flatbuffer.
#[derive(Clone, Copy)]
pub struct Vector<'a> {
    buffer: FlatBuffer<'a>,
    first: usize,
    count: usize,
    element_size: usize,
    elements: &'a [u8],
}

/// Prints the shape, not the elements.
impl fmt::Debug for Vector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vector")
            .field("first", &self.first)
            .field("count", &self.count)
            .field("element_size", &self.element_size)
            .finish_non_exhaustive()
    }
}

impl<'a> Vector<'a> {
    /// Returns the flatbuffer that contains the vector.
    pub fn buffer(&self) -> FlatBuffer<'a> {
        self.buffer
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the bytes of all elements.
    pub fn elements(&self) -> &'a [u8] {
        self.elements
    }

    /// Returns the position of an element; [`None`] if the index is out of bounds.
    #[inline]
    pub fn position(&self, index: usize) -> Option<usize> {
        (index < self.count).then(|| self.first.saturating_add(index.saturating_mul(self.element_size)))
    }

    /// Returns the positions of all elements.
    pub fn positions(&self) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        let (first, size) = (self.first, self.element_size);
        (0..self.count).map(move |index| first.saturating_add(index.saturating_mul(size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    /// Returns a flatbuffer whose root table has a 32-bit field in slot 0 and a string in slot 2.
    fn sample() -> Vec<u8> {
        let mut data = Vec::new();
        data.extend(18u32.to_le_bytes());
        data.extend(b"TEST");
        for entry in [10u16, 12, 4, 0, 8] {
            data.extend(entry.to_le_bytes());
        }
        data.extend(10u32.to_le_bytes());
        data.extend(7u32.to_le_bytes());
        data.extend(4u32.to_le_bytes());
        data.extend(2u32.to_le_bytes());
        data.extend(b"ab\0");
        data
    }

    #[test]
    fn tables_and_strings_are_found() {
        let data = sample();
        let buffer = FlatBuffer::new(&data, 0x1000);
        assert_eq!(buffer.identifier().unwrap(), FourCc(*b"TEST"));
        let root = buffer.root().unwrap();
        assert_eq!((root.position(), root.vtable(), root.inline_size(), root.slot_count()), (18, 8, 12, 3));
        assert_eq!(buffer.u32(root.field(0, 4).unwrap().unwrap()).unwrap(), 7);
        assert_eq!(root.field(1, 4).unwrap(), None);
        assert_eq!(root.field(99, 4).unwrap(), None);
        let at = buffer.target(root.field(2, 4).unwrap().unwrap()).unwrap();
        assert_eq!(buffer.string(at).unwrap(), b"ab");
        assert_eq!(root.extent(0).unwrap().unwrap().1, 7u32.to_le_bytes());
    }

    #[test]
    fn errors_have_file_offsets() {
        let mut data = sample();
        data[26..30].copy_from_slice(&0xffff_ffffu32.to_le_bytes());
        let buffer = FlatBuffer::new(&data, 0x1000);
        assert_eq!(
            buffer.target(26).unwrap_err().to_string(),
            "offset leads out of the flatbuffer: expected less than 0xb bytes, found 0xffffffff (at offset 0x101a)"
        );
        assert_eq!(buffer.vector(26, 8).unwrap_err().kind(), ErrorKind::OutOfRange);
        data[8] = 11;
        assert_eq!(FlatBuffer::new(&data, 0).root().unwrap_err().kind(), ErrorKind::BadValue);
        data[8..10].copy_from_slice(&0xfffeu16.to_le_bytes());
        assert_eq!(FlatBuffer::new(&data, 0).root().unwrap_err().kind(), ErrorKind::Limit);
        data[18..22].copy_from_slice(&(-90i32).to_le_bytes());
        assert_eq!(FlatBuffer::new(&data, 0).root().unwrap_err().kind(), ErrorKind::OutOfRange);
    }
}
