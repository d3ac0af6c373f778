//! A cursor that records which bytes of a part were read.
//!
//! The code that parses a part is its only description. The parser reads through a [`Cursor`], and every read
//! *claims* its bytes. Bytes without a claim are bytes that nothing refers to. With names, the claims form the
//! outline of the part, which therefore always agrees with the parser.
//!
//! The tables of a hostile part may refer to the same bytes many times. [`Trace`] limits the total that is read to a
//! budget in proportion to the size of the part.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

use crate::bytes::Text;
use crate::scalar::{Record, Scalar, Shown};

/// Maximum number of bytes to read, relative to the size of the part: tables share strings and types, but only a few
/// times.
const BUDGET_RATIO: u64 = 8;

/// Number of bytes that may be read of any part, however small.
const BUDGET_FLOOR: u64 = 4096;

/// A named field that was read.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) range: Range<u64>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: Shown,
    pub(crate) meaning: String,
    pub(crate) group: bool,
}

/// The record of what was read from a part.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The claimed ranges; adjacent ones are merged.
    claims: Vec<Range<u64>>,
    /// The named fields, if they are recorded.
    spans: Option<Vec<Span>>,
    budget: u64,
}

impl Trace {
    /// Creates a trace that records claims only.
    pub(crate) fn new(size: usize) -> Self {
        let budget = (size as u64).saturating_mul(BUDGET_RATIO).saturating_add(BUDGET_FLOOR);
        Self { claims: Vec::new(), spans: None, budget }
    }

    /// Creates a trace that also records names.
    pub(crate) fn with_spans(size: usize) -> Self {
        Self { spans: Some(Vec::new()), ..Self::new(size) }
    }

    /// Returns the named fields.
    pub(crate) fn into_spans(self) -> Vec<Span> {
        self.spans.unwrap_or_default()
    }

    fn claim(&mut self, range: Range<u64>) -> Result<()> {
        let size = range.end.saturating_sub(range.start);
        self.budget = self.budget.checked_sub(size).ok_or_else(|| {
            Error::new(ErrorKind::Limit, range.start, "tables of the part refer to the same bytes too often")
        })?;
        match self.claims.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ if size > 0 => self.claims.push(range),
            _ => {}
        }
        Ok(())
    }

    /// Returns the ranges inside `whole` without a claim.
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
    /// Creates a cursor at the start of a part.
    pub(crate) fn new(part: Reader<'a>, trace: &'t mut Trace) -> Self {
        Self { part, reader: part, trace }
    }

    /// Returns the file offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// Returns the remaining bytes without claiming them.
    pub(crate) fn peek(&self) -> &'a [u8] {
        self.reader.rest()
    }

    /// Returns the number of remaining bytes.
    pub(crate) fn remaining(&self) -> usize {
        self.reader.remaining()
    }

    /// Returns the size of the part.
    pub(crate) fn part_size(&self) -> usize {
        self.part.data().len()
    }

    /// Returns a cursor at an offset in the part that can read up to the end of the part.
    pub(crate) fn at(&mut self, offset: u32) -> Result<Cursor<'a, '_>> {
        let size = (self.part.data().len() as u64).checked_sub(u64::from(offset)).ok_or_else(|| {
            Error::new(ErrorKind::OutOfRange, self.part.base(), "offset is outside of the part")
                .expected(format!("at most {:#x}", self.part.data().len()))
                .found(format!("{offset:#x}"))
        })?;
        let reader = self.part.part(u64::from(offset), size)?;
        Ok(Cursor { part: self.part, reader, trace: self.trace })
    }

    /// Splits off the next `size` bytes as a cursor of their own.
    pub(crate) fn split(&mut self, size: u64) -> Result<Cursor<'a, '_>> {
        let reader = self.reader.split(size)?;
        Ok(Cursor { part: reader, reader, trace: self.trace })
    }

    /// Reads with `read`, and records the claim.
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

    /// Reads a number.
    pub(crate) fn scalar<T: Scalar>(&mut self, name: impl Into<Cow<'static, str>>) -> Result<T> {
        self.take(name, T::get, T::show)
    }

    /// Reads bytes; `name` is their name in the outline.
    pub(crate) fn bytes(&mut self, size: usize, name: impl Into<Cow<'static, str>>) -> Result<&'a [u8]> {
        self.take(name, |reader| reader.bytes(size), |_| (Shown::Bytes, String::new()))
    }

    /// Reads all remaining bytes.
    pub(crate) fn rest(&mut self, name: impl Into<Cow<'static, str>>) -> Result<&'a [u8]> {
        self.bytes(self.remaining(), name)
    }

    /// Reads a C string.
    pub(crate) fn text(&mut self, name: impl Into<Cow<'static, str>>) -> Result<Text> {
        self.take(name, |reader| reader.c_string().map(Text::from), |_| (Shown::Text, String::new()))
    }

    /// Reads the C string at an offset in the part.
    pub(crate) fn text_at(&mut self, offset: u32, name: impl Into<Cow<'static, str>>) -> Result<Text> {
        self.at(offset)?.text(name)
    }

    /// Reads text of a known size.
    pub(crate) fn text_of(&mut self, size: usize, name: impl Into<Cow<'static, str>>) -> Result<Text> {
        self.take(name, |reader| reader.bytes(size).map(Text::from), |_| (Shown::Text, String::new()))
    }

    /// Reads a group of consecutive fields.
    pub(crate) fn group<T>(
        &mut self,
        name: impl FnOnce() -> Cow<'static, str>,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let start = self.reader.offset();
        // The group precedes its fields, so that of two spans of the same size it is the outer one.
        let index = self.trace.spans.as_ref().map(Vec::len);
        if let Some(spans) = &mut self.trace.spans {
            let name = name();
            let range = start..start;
            spans.push(Span { range, name, value: Shown::None, meaning: String::new(), group: true });
        }
        let result = read(self);
        let end = self.reader.offset();
        if let Some(span) = index.and_then(|index| self.trace.spans.as_mut()?.get_mut(index)) {
            span.range.end = end;
        }
        result
    }

    /// Reads a record, as a group.
    pub(crate) fn record<T: Record>(&mut self, name: &'static str) -> Result<T> {
        self.group(|| name.into(), T::read)
    }

    /// Reads `count` consecutive records. Checks that the part is large enough before it allocates.
    pub(crate) fn table<T: Record>(&mut self, count: u32, name: &str) -> Result<Vec<T>> {
        self.check_count(count, T::SIZE)?;
        (0..count).map(|index| self.group(|| format!("{name} {index}").into(), T::read)).collect()
    }

    /// Reads `count` consecutive numbers.
    pub(crate) fn scalars<T: Scalar>(&mut self, count: u32, name: &'static str) -> Result<Vec<T>> {
        self.check_count(count, T::SIZE)?;
        (0..count).map(|_| self.scalar(name)).collect()
    }

    /// Fails if the part has fewer than `count` entries of `size` bytes left.
    pub(crate) fn check_count(&self, count: u32, size: usize) -> Result<()> {
        let wanted = u64::from(count).saturating_mul(size as u64);
        if wanted > self.remaining() as u64 {
            return Err(Error::new(
                ErrorKind::Truncated,
                self.offset(),
                "table extends past the end of its part",
            )
            .expected(format!("{count} entries of {size} bytes"))
            .found(format!("{} bytes", self.remaining())));
        }
        Ok(())
    }

    /// Returns the unclaimed ranges of the part: offset in the part, and bytes.
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

/// Parses a whole part with `read`.
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
    fn gaps_are_the_unclaimed_ranges() {
        let data = [0u8; 16];
        let mut trace = Trace::new(data.len());
        let mut cursor = Cursor::new(Reader::at(&data, 0x100), &mut trace);
        cursor.scalar::<u32>("a").unwrap();
        cursor.at(8).unwrap().scalar::<u16>("b").unwrap();
        let gaps: Vec<_> = cursor.gaps().into_iter().map(|(offset, bytes)| (offset, bytes.len())).collect();
        assert_eq!(gaps, [(4, 4), (10, 6)]);
    }

    #[test]
    fn reading_the_same_bytes_too_often_fails() {
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
    fn counts_are_checked_against_the_remaining_bytes() {
        let data = [0u8; 64];
        let read = |cursor: &mut Cursor<'_, '_>| cursor.scalars::<u32>(u32::MAX, "n");
        assert_eq!(read_part(Reader::new(&data), read).unwrap_err().kind(), ErrorKind::Truncated);
    }
}
