//! Reads a file as a tree.
//!
//! Each item is written again as it is read. If that doesn't give its bits, the item keeps them.

use super::write::{self, Abbreviation, Scopes};
use super::{Bits, Block, Definition, Item, NO_CODE, Part, RecordBits, RecordItem, Stream, Tree, Wrapper, position};
use crate::bitstream::{
    BitReader, BitWriter, Cursor, FREE_OPERANDS, MAGIC, Scalar, Tail, WRAPPER_MAGIC, WRAPPER_SIZE, read_definition,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Result};

/// What is wrong with an item.
type Fault = (ErrorKind, &'static str);

type Blob = Box<[u8]>;

impl Tree {
    /// Reads a file. `base` is its offset in the file that it is part of, for errors.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] if there is no stream; others if a block, a definition or a record can't be read, with its
    /// offset.
    pub fn read(bytes: &[u8], base: u64) -> Result<Self> {
        let mut at = 0;
        let mut parts = Vec::new();
        let mut has_stream = false;
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let offset = base.saturating_add(at as u64);
            match wrapper(rest) {
                Some((wrapper, content)) => {
                    let inside = rest.get(content.clone()).unwrap_or_default();
                    let gap = (wrapper.offset as usize).saturating_sub(WRAPPER_SIZE);
                    let content_base = offset.saturating_add(content.start as u64);
                    let content_parts = of_wrapper(inside, gap, content_base, &mut has_stream)?;
                    parts.push(Part::Wrapper(Wrapper { content: content_parts, ..wrapper }));
                    at = at.saturating_add(content.end);
                }
                None => at = at.saturating_add(part(rest, offset, &mut parts, &mut has_stream)?),
            }
        }
        if !has_stream {
            return Err(Error::new(ErrorKind::BadMagic, base, "not LLVM bitcode")
                .expected("42 43 c0 de or de c0 17 0b"));
        }
        Ok(Self { parts })
    }
}

/// Reads the header of a wrapper; returns it and where its content is.
fn wrapper(bytes: &[u8]) -> Option<(Wrapper, Range<usize>)> {
    let header = bytes.get(..WRAPPER_SIZE).filter(|header| header.starts_with(&WRAPPER_MAGIC))?;
    let word = |at: usize| header.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    let (version, offset, size, cpu_type) = (word(4)?, word(8)?, word(12)?, word(16)?);
    let start = usize::try_from(offset).ok().filter(|start| (WRAPPER_SIZE..=bytes.len()).contains(start))?;
    let stated = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
    let end = stated.min(bytes.len());
    let size = (end != stated).then_some(size);
    Some((Wrapper { version, offset, size, cpu_type, content: Vec::new() }, WRAPPER_SIZE..end))
}

/// Reads the content of a wrapper, after a gap of bytes.
fn of_wrapper(bytes: &[u8], gap: usize, base: u64, has_stream: &mut bool) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    if gap > 0 {
        parts.push(Part::Bytes(bytes.get(..gap).unwrap_or(bytes).to_vec()));
    }
    let mut at = gap;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        at = at.saturating_add(part(rest, base.saturating_add(at as u64), &mut parts, has_stream)?);
    }
    Ok(parts)
}

/// Reads a stream, or bytes up to the next that could be one; returns their number.
fn part(bytes: &[u8], base: u64, parts: &mut Vec<Part>, has_stream: &mut bool) -> Result<usize> {
    if bytes.starts_with(&MAGIC) {
        *has_stream = true;
        let (stream, size) = Reading::new(bytes, base).stream()?;
        parts.push(Part::Stream(stream));
        return Ok(size);
    }
    // Modules follow each other with zeros at most between them.
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let size = if zeros > 0 { zeros } else { bytes.len() };
    parts.push(Part::Bytes(bytes.get(..size).unwrap_or(bytes).to_vec()));
    Ok(size)
}

/// A stream that is being read.
struct Reading<'a> {
    bits: BitReader<'a>,
    base: u64,
    scopes: Scopes,
    /// Number of operands of no bits that may still come: hostile arrays of them cost a file nothing.
    budget: usize,
    /// An item as we write it.
    written: BitWriter,
}

impl<'a> Reading<'a> {
    fn new(bytes: &'a [u8], base: u64) -> Self {
        let budget = bytes.len().saturating_mul(8).saturating_add(FREE_OPERANDS);
        Self { bits: BitReader::new(bytes, 32), base, scopes: Scopes::default(), budget, written: BitWriter::new() }
    }

    /// Reads the blocks; returns the number of bytes up to the end of the last one, too.
    fn stream(mut self) -> Result<(Stream, usize)> {
        let mut blocks = Vec::new();
        let size = self.bits.data().len();
        loop {
            let start = self.bits.position();
            let mut ahead = self.bits;
            if ahead.remaining() < 32 || ahead.fixed57(2) != 1 {
                return Ok((Stream { blocks }, (start >> 3).min(size)));
            }
            self.bits = ahead;
            blocks.push(self.block(start)?);
        }
    }

    #[cold]
    fn error(&self, start: usize, (kind, message): Fault) -> Error {
        let error = Error::new(kind, self.base.saturating_add((start >> 3) as u64), message);
        match self.scopes.block() {
            Some(block) => error.within(format!("block {block}")),
            None => error,
        }
    }

    /// Fails if more was read than there is.
    fn check(&self, start: usize) -> Result<()> {
        if self.bits.overrun() {
            return Err(self.error(start, (ErrorKind::Truncated, "bitstream ends inside an item")));
        }
        Ok(())
    }

    /// Reads a block whose abbreviation id was read; `start` is where that is.
    fn block(&mut self, start: usize) -> Result<Block> {
        let id = self.bits.variable(8);
        let width = self.bits.variable(4);
        self.bits.align();
        let header_end = self.bits.position();
        let words = self.bits.fixed(32);
        self.check(start)?;
        let Ok(id) = u32::try_from(id) else {
            return Err(self.error(start, (ErrorKind::BadValue, "block with an impossible id")));
        };
        let Some(width) = u32::try_from(width).ok().filter(|width| (2..=32).contains(width)) else {
            let fault = (ErrorKind::BadValue, "abbreviation width of a block is not in 2..=32");
            return Err(self.error(start, fault));
        };
        if self.scopes.depth() >= Cursor::MAX_DEPTH {
            return Err(self.error(start, (ErrorKind::Limit, "blocks nest too deeply")));
        }
        let mut block = Block::new(id, width);
        let outer_width = self.scopes.width();
        block.header = self.spelling(start..header_end, outer_width, |to| write::header(to, outer_width, id, width));
        self.scopes.enter(id, width);
        let body = self.bits.position();
        self.items(&mut block)?;
        let actual = self.bits.position().saturating_sub(body).div_ceil(32);
        block.words = u32::try_from(words).ok().filter(|words| *words as usize != actual);
        Ok(block)
    }

    /// Reads the items of a block and its end.
    fn items(&mut self, block: &mut Block) -> Result<()> {
        loop {
            let start = self.bits.position();
            let id = self.bits.fixed57(block.width);
            self.check(start)?;
            let item = match id {
                0 => {
                    // Of a stream whose size is no multiple of four bytes, the last padding is cut off.
                    self.bits.align();
                    let width = block.width;
                    block.end = self.spelling(start..self.bits.position(), width, |to| write::end(to, width));
                    self.scopes.leave();
                    return Ok(());
                }
                1 => Item::Block(Box::new(self.block(start)?)),
                2 => Item::Definition(Box::new(self.definition(start, block.width)?)),
                id => self.record(start, u32::try_from(id).unwrap_or(u32::MAX), block)?,
            };
            block.items.push(item);
        }
    }

    fn definition(&mut self, start: usize, width: u32) -> Result<Definition> {
        let mut scalars = Vec::new();
        let tail = read_definition(&mut self.bits, &mut scalars).map_err(|fault| self.error(start, fault))?;
        self.check(start)?;
        let mut definition = Definition::new(scalars, tail);
        definition.spelling =
            self.spelling(start..self.bits.position(), width, |to| write::definition(to, width, &definition));
        self.scopes.define(&definition).map_err(|fault| self.error(start, fault))?;
        Ok(definition)
    }

    fn record(&mut self, start: usize, id: u32, block: &mut Block) -> Result<Item> {
        let abbreviation = self.scopes.abbreviation(id).map_err(|fault| self.error(start, fault))?;
        let first = block.operands.len();
        let read = match abbreviation.as_deref() {
            None => self.unabbreviated(&mut block.operands).map(|code| (code, None)),
            Some(definition) => self.abbreviated(definition, &mut block.operands),
        };
        let (code, blob) = read.map_err(|fault| self.error(start, fault))?;
        self.check(start)?;
        let operands = block.operands.get(first..).unwrap_or_default();
        let range = start..self.bits.position();
        let bits = self.spelling(range, block.width, |to| {
            // What can't be written in this way has a spelling that nobody else would choose.
            let _ = write::record(to, block.width, id, abbreviation.as_deref(), code, operands, blob.as_deref());
        });
        let spelling = bits.map(|bits| {
            let abbreviation = abbreviation.as_deref().map(|one| (one.scalars.clone(), one.tail));
            Box::new(RecordBits { bits: *bits, abbreviation })
        });
        self.scopes.see_record(code, operands);
        let (first, count) = (position(first), position(operands.len()));
        Ok(Item::Record(RecordItem { abbreviation: id, code, start: first, count, blob, spelling }))
    }

    fn unabbreviated(&mut self, operands: &mut Vec<u64>) -> Result<u32, Fault> {
        let code = code(self.bits.variable(6))?;
        let count = self.bits.variable(6);
        if count > self.bits.remaining() as u64 / 6 {
            return Err((ErrorKind::Truncated, "record is longer than the stream"));
        }
        let count = usize::try_from(count).unwrap_or(0);
        operands.extend((0..count).map(|_| self.bits.variable(6)));
        Ok(code)
    }

    fn abbreviated(
        &mut self,
        definition: &Abbreviation,
        operands: &mut Vec<u64>,
    ) -> Result<(u32, Option<Blob>), Fault> {
        let mut scalars = definition.scalars.iter();
        let code = scalars.next().map_or(Ok(NO_CODE), |scalar| code(scalar.read(&mut self.bits)))?;
        self.count_free(definition.free)?;
        operands.extend(scalars.map(|scalar| scalar.read(&mut self.bits)));
        match definition.tail {
            Tail::None => {}
            Tail::Array(element) => self.array(element, operands)?,
            Tail::Blob => return Ok((code, Some(self.blob()?))),
        }
        Ok((code, None))
    }

    fn array(&mut self, element: Scalar, operands: &mut Vec<u64>) -> Result<(), Fault> {
        let count = self.bits.variable(6);
        if count > self.bits.remaining() as u64 {
            return Err((ErrorKind::Truncated, "array is longer than the stream"));
        }
        let count = usize::try_from(count).unwrap_or(0);
        if element.is_free() {
            self.count_free(count)?;
        }
        operands.extend((0..count).map(|_| element.read(&mut self.bits)));
        Ok(())
    }

    fn blob(&mut self) -> Result<Blob, Fault> {
        let size = usize::try_from(self.bits.variable(6)).unwrap_or(usize::MAX);
        self.bits.align();
        let start = self.bits.position() >> 3;
        let end = start.saturating_add(size);
        let bytes = self.bits.data().get(start..end).ok_or((ErrorKind::Truncated, "blob is longer than the stream"))?;
        self.bits.seek(end.saturating_mul(8));
        self.bits.align();
        Ok(bytes.into())
    }

    fn count_free(&mut self, operands: usize) -> Result<(), Fault> {
        let too_many = (ErrorKind::Limit, "more operands of no bits than the file has bits");
        self.budget = self.budget.checked_sub(operands).ok_or(too_many)?;
        Ok(())
    }

    /// Returns the bits of a range, which begin with an id of `width` bits, unless `write` writes the same.
    fn spelling(
        &mut self,
        range: Range<usize>,
        width: u32,
        write: impl FnOnce(&mut BitWriter),
    ) -> Option<Box<Bits>> {
        let phase = range.start & 31;
        let count = range.end.saturating_sub(range.start);
        self.written.reset(phase);
        write(&mut self.written);
        let ends = self.written.position() == phase.saturating_add(count);
        let written = self.written.padded();
        let (mut ours, mut theirs) = (BitReader::new(written, phase), BitReader::new(self.bits.data(), range.start));
        if ends && chunks(count).all(|width| ours.fixed57(width) == theirs.fixed57(width)) {
            return None;
        }
        let mut copy = BitWriter::new();
        let mut bits = BitReader::new(self.bits.data(), range.start);
        for width in chunks(count) {
            copy.fixed(bits.fixed57(width), width);
        }
        Some(Box::new(Bits { bytes: copy.finish(), count, phase, width }))
    }
}

/// Divides a number of bits into widths of at most 56.
fn chunks(count: usize) -> impl Iterator<Item = u32> {
    let width = move |chunk: usize| count.saturating_sub(chunk.saturating_mul(56)).min(56);
    (0..count.div_ceil(56)).map(move |chunk| u32::try_from(width(chunk)).unwrap_or(56))
}

fn code(code: u64) -> Result<u32, Fault> {
    u32::try_from(code).ok().filter(|code| *code != NO_CODE).ok_or((ErrorKind::BadValue, "record with an impossible code"))
}
