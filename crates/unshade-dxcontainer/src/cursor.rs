//! Reading a part while noting what stands where.
//!
//! A part is described once, by its reader. The reader goes over the bytes with a [`Cursor`]; what it takes is
//! *claimed*: the claims say which bytes of a part nothing points at, and with names they are the part's outline.
//! That way the outline can't disagree with the reader, and a new field is named in one place.
//!
//! A part whose tables point at the same bytes over and over would be read over and over; [`Trace`] bounds that by a
//! budget in proportion to the part.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

use crate::bytes::Text;
use crate::scalar::{Record, Scalar, Shown};

/// Bytes that may be read are at most this many times those of the part: tables share strings and types, but not
/// without end.
const BUDGET_RATIO: u64 = 8;

/// Bytes that may be read of any part, however small.
const BUDGET_FLOOR: u64 = 4096;

/// One named thing that a reader took.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) range: Range<u64>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: Shown,
    pub(crate) meaning: String,
    pub(crate) group: bool,
}

/// What a reader took of a part.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The ranges that were taken, neighbours joined.
    claims: Vec<Range<u64>>,
    /// The named spans, if somebody wants them.
    spans: Option<Vec<Span>>,
    budget: u64,
}

impl Trace {
    /// Notes claims only.
    pub(crate) fn new(size: usize) -> Self {
        let budget = (size as u64).saturating_mul(BUDGET_RATIO).saturating_add(BUDGET_FLOOR);
        Self { claims: Vec::new(), spans: None, budget }
    }

    /// Notes names as well.
    pub(crate) fn with_spans(size: usize) -> Self {
        Self { spans: Some(Vec::new()), ..Self::new(size) }
    }

    /// The named spans.
    pub(crate) fn into_spans(self) -> Vec<Span> {
        self.spans.unwrap_or_default()
    }

    fn claim(&mut self, range: Range<u64>) -> Result<()> {
        let size = range.end.saturating_sub(range.start);
        self.budget = self.budget.checked_sub(size).ok_or_else(|| {
            Error::new(ErrorKind::Limit, range.start, "tables of the part point at the same bytes too often")
        })?;
        match self.claims.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ if size > 0 => self.claims.push(range),
            _ => {}
        }
        Ok(())
    }

    /// The runs inside of `whole` that nothing claimed.
    fn gaps(&self, whole: Range<u64>) -> Vec<Range<u64>> {
        let mut claims = self.claims.clone();
        claims.sort_by_key(|claim| claim.start);
        let mut gaps = Vec::new();
        let mut at = whole.start;
        for claim in claims.into_iter().filter(|claim| claim.start < whole.end && claim.end > whole.start) {
            if claim.start > at {
                gaps.push(at..claim.start);
            }
            at = at.max(claim.end);
        }
        if at < whole.end {
            gaps.push(at..whole.end);
        }
        gaps
    }
}

/// A position in a part.
#[derive(Debug)]
pub(crate) struct Cursor<'a, 't> {
    /// The whole part.
    part: Reader<'a>,
    reader: Reader<'a>,
    trace: &'t mut Trace,
}

impl<'a, 't> Cursor<'a, 't> {
    /// Starts at the first byte of a part.
    pub(crate) fn new(part: Reader<'a>, trace: &'t mut Trace) -> Self {
        Self { part, reader: part, trace }
    }

    /// The file offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The bytes that are left, not taken.
    pub(crate) fn peek(&self) -> &'a [u8] {
        self.reader.rest()
    }

    /// How many bytes are left.
    pub(crate) fn remaining(&self) -> usize {
        self.reader.remaining()
    }

    /// The size of the part.
    pub(crate) fn part_size(&self) -> usize {
        self.part.data().len()
    }

    /// A cursor at an offset from the part's first byte; it may go to the part's end.
    pub(crate) fn at(&mut self, offset: u32) -> Result<Cursor<'a, '_>> {
        let size = (self.part.data().len() as u64).checked_sub(u64::from(offset)).ok_or_else(|| {
            Error::new(ErrorKind::OutOfRange, self.part.base(), "offset lies outside of the part")
                .expected(format!("at most {:#x}", self.part.data().len()))
                .found(format!("{offset:#x}"))
        })?;
        let reader = self.part.part(u64::from(offset), size)?;
        Ok(Cursor { part: self.part, reader, trace: self.trace })
    }

    /// A cursor over the next `size` bytes as a part of their own.
    pub(crate) fn split(&mut self, size: u64) -> Result<Cursor<'a, '_>> {
        let reader = self.reader.split(size)?;
        Ok(Cursor { part: reader, reader, trace: self.trace })
    }

    /// Reads with `read` and notes what it took.
    fn take<T>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T>,
        show: impl FnOnce(&T) -> (Shown, String),
    ) -> Result<T> {
        let start = self.reader.offset();
        let value = read(&mut self.reader)?;
        let range = start..self.reader.offset();
        self.trace.claim(range.clone())?;
        if let Some(spans) = &mut self.trace.spans {
            let (shown, meaning) = show(&value);
            spans.push(Span { range, name: name.into(), value: shown, meaning, group: false });
        }
        Ok(value)
    }

    /// A number.
    pub(crate) fn scalar<T: Scalar>(&mut self, name: impl Into<Cow<'static, str>>) -> Result<T> {
        self.take(name, T::get, T::show)
    }

    /// Bytes; what nobody describes is named as the outline names it.
    pub(crate) fn bytes(&mut self, size: usize, name: impl Into<Cow<'static, str>>) -> Result<&'a [u8]> {
        self.take(name, |reader| reader.bytes(size), |_| (Shown::Bytes, String::new()))
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self, name: impl Into<Cow<'static, str>>) -> Result<&'a [u8]> {
        self.bytes(self.remaining(), name)
    }

    /// A C string.
    pub(crate) fn text(&mut self, name: impl Into<Cow<'static, str>>) -> Result<Text> {
        self.take(name, |reader| reader.c_string().map(Text::from), |_| (Shown::Text, String::new()))
    }

    /// The C string at an offset from the part's first byte.
    pub(crate) fn text_at(&mut self, offset: u32, name: impl Into<Cow<'static, str>>) -> Result<Text> {
        self.at(offset)?.text(name)
    }

    /// Text of a known size.
    pub(crate) fn text_of(&mut self, size: usize, name: impl Into<Cow<'static, str>>) -> Result<Text> {
        self.take(name, |reader| reader.bytes(size).map(Text::from), |_| (Shown::Text, String::new()))
    }

    /// A group of fields that stand one after the other.
    pub(crate) fn group<T>(
        &mut self,
        name: impl FnOnce() -> Cow<'static, str>,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let start = self.reader.offset();
        // The group stands before its fields, so that of two spans of the same size it is the outer one.
        let place = self.trace.spans.as_ref().map(Vec::len);
        if let Some(spans) = &mut self.trace.spans {
            let name = name();
            let range = start..start;
            spans.push(Span { range, name, value: Shown::None, meaning: String::new(), group: true });
        }
        let result = read(self);
        let end = self.reader.offset();
        if let Some(span) = place.and_then(|place| self.trace.spans.as_mut()?.get_mut(place)) {
            span.range.end = end;
        }
        result
    }

    /// A record, as a group.
    pub(crate) fn record<T: Record>(&mut self, name: &'static str) -> Result<T> {
        self.group(|| name.into(), T::read)
    }

    /// So many records one after the other. There is a record's worth of bytes for each before anything is allocated.
    pub(crate) fn table<T: Record>(&mut self, count: u32, name: &str) -> Result<Vec<T>> {
        self.check_count(count, T::SIZE)?;
        (0..count).map(|index| self.group(|| format!("{name} {index}").into(), T::read)).collect()
    }

    /// So many numbers one after the other.
    pub(crate) fn scalars<T: Scalar>(&mut self, count: u32, name: &'static str) -> Result<Vec<T>> {
        self.check_count(count, T::SIZE)?;
        (0..count).map(|_| self.scalar(name)).collect()
    }

    /// Refuses a count of things that can't be there.
    pub(crate) fn check_count(&self, count: u32, size: usize) -> Result<()> {
        let wanted = u64::from(count).saturating_mul(size as u64);
        if wanted > self.remaining() as u64 {
            return Err(Error::new(ErrorKind::Truncated, self.offset(), "table leaves its part")
                .expected(format!("{count} entries of {size} bytes"))
                .found(format!("{} bytes", self.remaining())));
        }
        Ok(())
    }

    /// The runs of the part that nothing claimed, as offsets in the part, with their bytes.
    pub(crate) fn gaps(&self) -> Vec<(u32, &'a [u8])> {
        let base = self.part.base();
        let gaps = self.trace.gaps(self.part.range());
        let bytes = |gap: &Range<u64>| {
            let start = gap.start.saturating_sub(base);
            let part = self.part.part(start, gap.end.saturating_sub(gap.start)).ok()?;
            Some((u32::try_from(start).ok()?, part.data()))
        };
        gaps.iter().filter_map(bytes).collect()
    }
}

/// Reads a whole part with `read`.
pub(crate) fn read_part<'a, T>(
    part: Reader<'a>,
    read: impl FnOnce(&mut Cursor<'a, '_>) -> Result<T>,
) -> Result<T> {
    let mut trace = Trace::new(part.data().len());
    read(&mut Cursor::new(part, &mut trace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_nothing_claimed() {
        let data = [0u8; 16];
        let mut trace = Trace::new(data.len());
        let mut cursor = Cursor::new(Reader::at(&data, 0x100), &mut trace);
        cursor.scalar::<u32>("a").unwrap();
        cursor.at(8).unwrap().scalar::<u16>("b").unwrap();
        let gaps: Vec<_> = cursor.gaps().into_iter().map(|(offset, bytes)| (offset, bytes.len())).collect();
        assert_eq!(gaps, [(4, 4), (10, 6)]);
    }

    #[test]
    fn reading_the_same_bytes_without_end_is_refused() {
        let data = [0u8; 64];
        let read = |cursor: &mut Cursor<'_, '_>| {
            for _ in 0..10_000 {
                cursor.at(0)?.bytes(64, "again")?;
            }
            Ok(())
        };
        assert_eq!(read_part(Reader::new(&data), read).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn counts_are_held_against_the_bytes_there_are() {
        let data = [0u8; 64];
        let read = |cursor: &mut Cursor<'_, '_>| cursor.scalars::<u32>(u32::MAX, "n");
        assert_eq!(read_part(Reader::new(&data), read).unwrap_err().kind(), ErrorKind::Truncated);
    }
}
