//! The LLVM bitstream container: blocks, records and abbreviations.
//!
//! A stream is a sequence of bits, least significant first. Every item starts with an abbreviation id whose width
//! the enclosing block sets: 0 ends the block (and aligns to 32 bits), 1 enters a block (block id vbr8, new
//! abbreviation width vbr4, align to 32 bits, length in 32-bit words), 2 defines an abbreviation, 3 is an
//! unabbreviated record (code, count and operands, all vbr6), and every higher id is an abbreviation of this
//! block. Block 0 (`BLOCKINFO`) defines abbreviations for other blocks. A Darwin wrapper (`0x0B17C0DE`, version,
//! offset, size, CPU type) may precede the stream.
//!
//! Knowledge: LLVM's *Bitcode File Format* manual; observation of real AIR and DXIL files (operands of zero bits,
//! sizes that are not a multiple of four bytes).
//!
//! No memory is allocated for a length that a file claims until that much data has been read. Operands of no bits cost
//! a file nothing, so a cursor limits their number by the number of bits that it has read.

mod abbreviation;
mod bit_reader;
mod bit_writer;

pub use abbreviation::{Abbreviations, Scalar, Tail};
pub(crate) use abbreviation::{Definition, MAX_ABBREVIATIONS, char6_value, read_definition};
pub(crate) use bit_reader::BitReader;
pub use bit_writer::BitWriter;

use abbreviation::char6;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Result};

/// The first four bytes of a stream: `BC` and `C0 DE`.
pub const MAGIC: [u8; 4] = *b"BC\xC0\xDE";
/// The first four bytes of Darwin's wrapper.
pub const WRAPPER_MAGIC: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];

/// The block that defines abbreviations for other blocks.
const BLOCKINFO: u32 = 0;
/// The size of a wrapper's header: five words.
pub(crate) const WRAPPER_SIZE: usize = 20;

/// Number of operands of no bits that may be read in addition to one per bit.
pub(crate) const FREE_OPERANDS: usize = 1 << 10;
/// Abbreviations of more operands than this are searched for operands of no bits; real ones have fewer than 20.
const MANY_OPERANDS: usize = 32;

/// Where the stream of a file lies: after the wrapper, if there is one, and no longer than the wrapper says.
///
/// # Errors
/// [`ErrorKind::BadMagic`] if this is not bitcode, [`ErrorKind::OutOfRange`] if the wrapper's offset is outside of
/// the file.
pub fn locate(bytes: &[u8], base: u64) -> Result<Range<usize>> {
    if bytes.starts_with(&MAGIC) {
        return Ok(0..bytes.len());
    }
    if !bytes.starts_with(&WRAPPER_MAGIC) {
        return Err(Error::new(ErrorKind::BadMagic, base, "not LLVM bitcode")
            .expected("42 43 c0 de or de c0 17 0b"));
    }
    let word = |at: usize| -> Option<usize> {
        let field = bytes.get(at..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_le_bytes(*field)).ok()
    };
    let outside = || Error::new(ErrorKind::OutOfRange, base, "the offset in the wrapper is outside of the file");
    let start = word(8).ok_or_else(outside)?;
    let size = word(12).ok_or_else(outside)?;
    // If the wrapper claims more than the file holds, read what is there: a record that is cut off is reported
    // when it is read.
    let end = start.saturating_add(size).min(bytes.len());
    match bytes.get(start..end) {
        Some(stream) if stream.starts_with(&MAGIC) => Ok(start..end),
        Some(_) => {
            Err(Error::new(ErrorKind::BadMagic, base.saturating_add(start as u64), "no bitcode at the offset in the wrapper"))
        }
        None => Err(outside()),
    }
}

/// Returns the characters that operands of a record have, one each.
pub(crate) fn characters(operands: &[u64]) -> impl ExactSizeIterator<Item = u8> {
    operands.iter().map(|&operand| operand.to_le_bytes()[0])
}

/// Returns the text that operands of a record have.
pub(crate) fn text(operands: &[u64]) -> Vec<u8> {
    characters(operands).collect()
}

/// Returns whether operands of a record are the characters of a text.
pub(crate) fn is_text(operands: &[u64], text: &[u8]) -> bool {
    text.len() == operands.len() && text.iter().map(|&byte| u64::from(byte)).eq(operands.iter().copied())
}

/// What comes next in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The end of the current block; the cursor is after it.
    EndBlock,
    /// A block with this id, not yet entered.
    Block(u32),
    /// A record with this abbreviation id, not yet read: see [`Cursor::read_record`].
    Record(u32),
}

/// A record: code and operands. The buffers are reused from record to record.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The record's code.
    pub code: u32,
    /// The operands, without the bytes of a blob.
    pub values: Operands,
    /// The bytes of a blob, as a range of the stream.
    pub blob: Range<usize>,
    /// The file offset of the record.
    pub offset: u64,
}

/// The operands of a record, a slice of a buffer that only grows.
#[derive(Clone, Debug, Default)]
pub struct Operands {
    buffer: Vec<u64>,
    count: usize,
}

impl Operands {
    /// Returns the operands.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u64] {
        self.buffer.get(..self.count).unwrap_or_default()
    }

    /// Makes room for the first operands and returns their slots, to be filled.
    #[inline(always)]
    fn start(&mut self, count: usize) -> &mut [u64] {
        self.count = 0;
        self.add(count)
    }

    /// Adds `more` operands and returns their slots, to be filled.
    #[inline(always)]
    fn add(&mut self, more: usize) -> &mut [u64] {
        let start = self.count;
        self.count = start.saturating_add(more);
        if self.count > self.buffer.len() {
            self.buffer.resize(self.count.saturating_add(32), 0);
        }
        self.buffer.get_mut(start..self.count).unwrap_or_default()
    }
}

impl core::ops::Deref for Operands {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        self.as_slice()
    }
}

/// The state of the enclosing block, restored when a block ends.
#[derive(Clone, Debug)]
struct EnclosingBlock {
    width: u32,
    abbreviations: Vec<u32>,
}

/// The header and the content of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockBytes<'a> {
    pub(crate) bytes: &'a [u8],
    /// The number of bits before it in its first byte.
    pub(crate) shift: usize,
    /// The first bit after the block.
    end: usize,
    /// Number of operands of no bits that were read before it.
    free_operands: usize,
}

/// A position in a bitstream.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bits: BitReader<'a>,
    /// The file offset of the stream.
    base: u64,
    width: u32,
    current: Vec<u32>,
    enclosing: Vec<EnclosingBlock>,
    abbreviations: Arc<Abbreviations>,
    /// A buffer for the records of [`Cursor::for_records`].
    record: Record,
    /// The position of the first bit, plus the number of bits that were skipped.
    origin: usize,
    /// Number of operands of no bits that were read, as far as they are counted.
    free_operands: usize,
}

impl<'a> Cursor<'a> {
    /// Maximum nesting depth of blocks. LLVM's own writer reaches four.
    pub const MAX_DEPTH: usize = 32;

    /// Creates a cursor at the first item after the magic number of a stream.
    pub fn new(stream: &'a [u8], base: u64) -> Self {
        Self {
            bits: BitReader::new(stream, 32),
            base,
            width: 2,
            current: Vec::new(),
            enclosing: Vec::with_capacity(4),
            abbreviations: Arc::default(),
            record: Record::default(),
            origin: 32,
            free_operands: 0,
        }
    }

    /// Creates a cursor of the same stream at `position`, which [`Cursor::position`] returned just before the
    /// block was entered, with the abbreviations known at that point.
    #[must_use]
    pub fn resume(stream: &'a [u8], base: u64, abbreviations: &Arc<Abbreviations>, position: usize) -> Self {
        Self {
            bits: BitReader::new(stream, position),
            origin: position,
            abbreviations: Arc::clone(abbreviations),
            ..Self::new(stream, base)
        }
    }

    /// Returns all abbreviations defined so far.
    pub fn abbreviations(&self) -> &Arc<Abbreviations> {
        &self.abbreviations
    }

    /// Replaces the abbreviations of a cursor that has none.
    pub(crate) fn set_abbreviations(&mut self, abbreviations: Arc<Abbreviations>) {
        self.abbreviations = abbreviations;
    }

    /// Returns the header and the content of the block that [`Cursor::advance_entry`] returned, as long as the header says
    /// that it is.
    pub(crate) fn block_bytes(&self) -> Option<BlockBytes<'a>> {
        let mut bits = self.bits;
        let (start, shift) = (bits.position() >> 3, bits.position() & 7);
        bits.variable(4);
        bits.align();
        let words = usize::try_from(bits.fixed(32)).ok()?;
        let end = (bits.position() >> 3).saturating_add(words.saturating_mul(4));
        let bytes = self.data().get(start..end)?;
        Some(BlockBytes { bytes, shift, end: end.saturating_mul(8), free_operands: self.free_operands })
    }

    /// Returns whether a block that was read ended where its header says, and had nothing that counts.
    pub(crate) fn is_after(&self, block: &BlockBytes<'_>) -> bool {
        self.position() == block.end && self.free_operands == block.free_operands
    }

    /// Goes on after a block as if it was read.
    pub(crate) fn pass(&mut self, block: &BlockBytes<'_>) {
        self.bits.seek(block.end);
    }

    /// Returns the bytes of the stream.
    pub fn data(&self) -> &'a [u8] {
        self.bits.data()
    }

    /// Returns the position of the next bit.
    pub fn position(&self) -> usize {
        self.bits.position()
    }

    /// The file offset of the stream.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The first bit of the record that [`Cursor::advance_entry`] announced.
    pub(crate) fn record_position(&self) -> usize {
        self.position().saturating_sub(self.width as usize)
    }

    /// The first bit of the block that [`Cursor::advance_entry`] announced, if its id is one of LLVM's.
    pub(crate) fn block_position(&self) -> usize {
        // The id takes eight bits.
        self.record_position().saturating_sub(8)
    }

    /// The file offset of the byte that holds the next bit.
    pub fn offset(&self) -> u64 {
        self.base.saturating_add((self.bits.position() >> 3) as u64)
    }

    /// Returns the file offset of the byte that holds the first bit of the item that [`Cursor::advance_entry`]
    /// returned last.
    pub fn item_offset(&self) -> u64 {
        let start = self.position().saturating_sub(self.width as usize);
        self.base.saturating_add((start >> 3) as u64)
    }

    /// Returns the file offset after the byte that holds the last bit read.
    pub fn end_offset(&self) -> u64 {
        self.base.saturating_add(self.position().div_ceil(8) as u64)
    }

    /// Returns whether fewer than 32 bits are left, too few for another block.
    pub fn at_end(&self) -> bool {
        self.bits.remaining() < 32
    }

    #[cold]
    fn error(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind, self.offset(), message)
    }

    fn check(&self) -> Result<()> {
        if self.bits.overrun() { Err(self.error(ErrorKind::Truncated, "bitstream ends inside an item")) } else { Ok(()) }
    }

    /// Skips to a later bit.
    fn skip_to(&mut self, position: usize) {
        self.origin = self.origin.saturating_add(position.saturating_sub(self.position()));
        self.bits.seek(position);
    }

    /// Counts operands that take no bits. Without a limit, a file could have many arrays of them, each as long as the
    /// file.
    #[inline]
    fn count_free(&mut self, operands: usize) -> Result<()> {
        if operands == 0 {
            return Ok(());
        }
        self.free_operands = self.free_operands.saturating_add(operands);
        let read = self.position().saturating_sub(self.origin);
        if self.free_operands > read.saturating_add(FREE_OPERANDS) {
            return Err(self.error(ErrorKind::Limit, "more operands of no bits than bits were read"));
        }
        Ok(())
    }

    /// Reads the abbreviation id of the next item.
    #[inline(always)]
    fn read_abbreviation_id(&mut self) -> Result<u32> {
        // `enter_block` has checked that the width is at most 32 bits.
        let id = self.bits.fixed57(self.width);
        if self.bits.overrun() {
            return Err(self.error(ErrorKind::Truncated, "bitstream ends inside a block"));
        }
        Ok(u32::try_from(id).unwrap_or(u32::MAX))
    }

    fn leave_block(&mut self) -> Result<()> {
        self.bits.align();
        match self.enclosing.pop() {
            Some(outer) => {
                self.width = outer.width;
                self.current = outer.abbreviations;
                Ok(())
            }
            None => Err(self.error(ErrorKind::BadValue, "END_BLOCK outside of any block")),
        }
    }

    /// Reads up to the next block or record, or to the end of the block, and returns which it is. Abbreviations defined on the way are added.
    ///
    /// # Errors
    /// If the stream ends or an abbreviation is malformed.
    #[inline(always)]
    pub fn advance_entry(&mut self) -> Result<Entry> {
        match self.read_abbreviation_id()? {
            id @ 3.. => Ok(Entry::Record(id)),
            id => self.advance_special(id),
        }
    }

    /// Continues [`Cursor::advance_entry`] with an item that is not a record.
    fn advance_special(&mut self, mut abbreviation: u32) -> Result<Entry> {
        loop {
            match abbreviation {
                0 => {
                    self.leave_block()?;
                    return Ok(Entry::EndBlock);
                }
                1 => {
                    let block = self.bits.variable(8);
                    self.check()?;
                    return Ok(Entry::Block(u32::try_from(block).unwrap_or(u32::MAX)));
                }
                2 => {
                    let definition = self.define_abbreviation()?;
                    self.current.push(definition);
                }
                id => return Ok(Entry::Record(id)),
            }
            abbreviation = self.read_abbreviation_id()?;
        }
    }

    /// Enters the block that [`Cursor::advance_entry`] returned.
    ///
    /// # Errors
    /// If the block's header is malformed, or blocks nest too deeply.
    pub fn enter_block(&mut self, block: u32) -> Result<()> {
        self.enter_sized_block(block).map(|_| ())
    }

    /// Enters a block and returns its size in bits: what its header claims, but no more than is left.
    ///
    /// # Errors
    /// As [`Cursor::enter_block`].
    pub fn enter_sized_block(&mut self, block: u32) -> Result<usize> {
        let (width, words) = self.block_header()?;
        if !(2..=32).contains(&width) {
            return Err(self.error(ErrorKind::BadValue, "abbreviation width of a block is not in 2..=32"));
        }
        if self.enclosing.len() >= Self::MAX_DEPTH {
            return Err(self.error(ErrorKind::Limit, "blocks nest too deeply"));
        }
        let mut inherited = Vec::with_capacity(16);
        inherited.extend(self.abbreviations.of_block(block));
        let abbreviations = core::mem::replace(&mut self.current, inherited);
        self.enclosing.push(EnclosingBlock { width: self.width, abbreviations });
        self.width = width;
        Ok(words.saturating_mul(32).min(self.bits.remaining()))
    }

    /// Enters the block that [`Cursor::advance_entry`] returned, calls `take` for each of its records, and skips
    /// the blocks in it.
    ///
    /// # Errors
    /// If the stream is damaged, or the first error that `take` returns.
    pub fn for_records(&mut self, block: u32, mut take: impl FnMut(&Self, &Record) -> Result<()>) -> Result<()> {
        self.enter_block(block)?;
        let mut record = core::mem::take(&mut self.record);
        loop {
            match self.advance_entry()? {
                Entry::EndBlock => break,
                Entry::Block(_) => self.skip_block()?,
                Entry::Record(id) => {
                    self.read_record(id, &mut record)?;
                    take(self, &record)?;
                }
            }
        }
        self.record = record;
        Ok(())
    }

    /// Skips the block that [`Cursor::advance_entry`] returned.
    ///
    /// # Errors
    /// If its length reaches past the end of the stream.
    pub fn skip_block(&mut self) -> Result<()> {
        let (_, words) = self.block_header()?;
        let bits = words.saturating_mul(32);
        if bits > self.bits.remaining() {
            return Err(self.error(ErrorKind::Truncated, "block is longer than the stream"));
        }
        self.skip_to(self.position().saturating_add(bits));
        Ok(())
    }

    fn block_header(&mut self) -> Result<(u32, usize)> {
        let width = self.bits.variable(4);
        self.bits.align();
        let words = self.bits.fixed(32);
        self.check()?;
        Ok((u32::try_from(width).unwrap_or(u32::MAX), usize::try_from(words).unwrap_or(usize::MAX)))
    }

    /// Reads the `BLOCKINFO` block that [`Cursor::advance_entry`] returned.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn read_block_info(&mut self) -> Result<()> {
        self.enter_block(BLOCKINFO)?;
        Arc::make_mut(&mut self.abbreviations).reserve();
        let mut record = Record::default();
        let mut target = None;
        loop {
            match self.read_abbreviation_id()? {
                0 => return self.leave_block(),
                1 => {
                    self.bits.variable(8);
                    self.skip_block()?;
                }
                // Definitions here belong to the block that SETBID named last, not to BLOCKINFO.
                2 => {
                    let definition = self.define_abbreviation()?;
                    let Some(block) = target else {
                        return Err(self.error(ErrorKind::BadValue, "abbreviation in BLOCKINFO before SETBID"));
                    };
                    if !Arc::make_mut(&mut self.abbreviations).add_to_block(block, definition) {
                        return Err(self.error(ErrorKind::Limit, "too many abbreviations in BLOCKINFO"));
                    }
                }
                id => {
                    self.read_record(id, &mut record)?;
                    if let (1, Some(&block)) = (record.code, record.values.first()) {
                        target = u32::try_from(block).ok();
                    }
                }
            }
        }
    }

    fn define_abbreviation(&mut self) -> Result<u32> {
        match Arc::make_mut(&mut self.abbreviations).define(&mut self.bits) {
            Ok(definition) => Ok(definition),
            Err((kind, message)) => Err(self.error(kind, message)),
        }
    }

    /// Reads the record that [`Cursor::advance_entry`] returned.
    ///
    /// # Errors
    /// If the abbreviation is unknown or the stream ends early.
    #[inline]
    pub fn read_record(&mut self, id: u32, record: &mut Record) -> Result<()> {
        record.values.count = 0;
        record.blob = 0..0;
        record.offset = self.offset();
        if id == 3 { self.read_unabbreviated(record) } else { self.read_abbreviated(id, record) }
    }

    fn read_unabbreviated(&mut self, record: &mut Record) -> Result<()> {
        let mut bits = self.bits;
        record.code = u32::try_from(bits.variable(6)).unwrap_or(u32::MAX);
        let count = bits.variable(6);
        if count > bits.remaining() as u64 / 6 {
            return Err(self.error(ErrorKind::Truncated, "record is longer than the stream"));
        }
        for slot in record.values.start(usize::try_from(count).unwrap_or(0)) {
            *slot = bits.variable(6);
        }
        self.bits = bits;
        self.check()
    }

    fn read_abbreviated(&mut self, id: u32, record: &mut Record) -> Result<()> {
        let index = usize::try_from(id).unwrap_or(usize::MAX).wrapping_sub(4);
        let abbreviations = &self.abbreviations;
        let definition = self.current.get(index).and_then(|&at| abbreviations.definition(at));
        let Some(definition) = definition else {
            return Err(self.error(ErrorKind::BadValue, "record with an unknown abbreviation"));
        };
        let (scalars, tail) = (abbreviations.scalars(definition), definition.tail);
        let free = if scalars.len() > MANY_OPERANDS {
            scalars.iter().filter(|scalar| scalar.is_free()).count()
        } else {
            0
        };
        let mut bits = self.bits;
        match scalars.split_first() {
            Some((first, rest)) => {
                record.code = u32::try_from(first.read(&mut bits)).unwrap_or(u32::MAX);
                for (slot, scalar) in record.values.start(rest.len()).iter_mut().zip(rest) {
                    *slot = scalar.read(&mut bits);
                }
            }
            None if tail == Tail::None => {
                return Err(self.error(ErrorKind::BadValue, "abbreviation without operands"));
            }
            None => record.code = u32::MAX,
        }
        self.bits = bits;
        self.count_free(free)?;
        match tail {
            Tail::None => self.check(),
            Tail::Array(element) => self.read_array(element, record),
            Tail::Blob => self.read_blob(record),
        }
    }

    fn read_array(&mut self, element: Scalar, record: &mut Record) -> Result<()> {
        let mut bits = self.bits;
        let count = bits.variable(6);
        // An element takes at least one bit; elements of no bits are held to the same limit, and counted.
        if count > bits.remaining() as u64 {
            return Err(self.error(ErrorKind::Truncated, "array is longer than the stream"));
        }
        let count = usize::try_from(count).unwrap_or(0);
        if element.is_free() {
            self.count_free(count)?;
        }
        let slots = record.values.add(count);
        match element {
            Scalar::Fixed(width) if width <= 57 => slots.iter_mut().for_each(|slot| *slot = bits.fixed57(width)),
            Scalar::Variable(6) => slots.iter_mut().for_each(|slot| *slot = bits.variable(6)),
            Scalar::Char6 => slots.iter_mut().for_each(|slot| *slot = u64::from(char6(bits.fixed57(6)))),
            element => slots.iter_mut().for_each(|slot| *slot = element.read(&mut bits)),
        }
        self.bits = bits;
        self.check()
    }

    fn read_blob(&mut self, record: &mut Record) -> Result<()> {
        let size = usize::try_from(self.bits.variable(6)).unwrap_or(usize::MAX);
        self.bits.align();
        let start = self.position() >> 3;
        let end = start.saturating_add(size);
        if end > self.data().len() {
            return Err(self.error(ErrorKind::Truncated, "blob is longer than the stream"));
        }
        record.blob = start..end;
        self.skip_to(end.saturating_mul(8));
        self.bits.align();
        self.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> BitWriter {
        let mut bits = BitWriter::new();
        bits.bytes(&MAGIC);
        bits
    }

    #[test]
    fn zero_width_operands_and_all_encodings() {
        let mut bits = stream();
        bits.fixed(1, 2).variable(8, 8).variable(3, 4).align().fixed(0, 32);
        // Literal 7, Fixed(0), VBR(0), VBR(6), Array of Char6.
        bits.fixed(2, 3).variable(6, 5).fixed(1, 1).variable(7, 8).fixed(0, 1).fixed(1, 3).variable(0, 5);
        bits.fixed(0, 1).fixed(2, 3).variable(0, 5).fixed(0, 1).fixed(2, 3).variable(6, 5);
        bits.fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(4, 3);
        bits.fixed(4, 3).variable(1 << 40, 6).variable(2, 6).fixed(0, 6).fixed(63, 6);
        bits.fixed(3, 3).variable(9, 6).variable(2, 6).variable(u64::MAX, 6).variable(31, 6);
        bits.fixed(0, 3).align();

        let bytes = bits.finish();
        let mut cursor = Cursor::new(&bytes, 0);
        assert_eq!(cursor.advance_entry().unwrap(), Entry::Block(8));
        cursor.enter_block(8).unwrap();
        let mut record = Record::default();
        let Entry::Record(id) = cursor.advance_entry().unwrap() else { panic!() };
        cursor.read_record(id, &mut record).unwrap();
        assert_eq!((record.code, record.values.as_slice()), (7, &[0, 0, 1 << 40, 97, 95][..]));
        let Entry::Record(id) = cursor.advance_entry().unwrap() else { panic!() };
        cursor.read_record(id, &mut record).unwrap();
        assert_eq!((record.code, record.values.as_slice()), (9, &[u64::MAX, 31][..]));
        assert_eq!(cursor.advance_entry().unwrap(), Entry::EndBlock);
        assert!(cursor.at_end());
    }

    /// Returns a module of 32768 records of one abbreviation, each with an array of `count` elements. The layout of an
    /// element is given in nine bits.
    fn module_of_arrays(element: u64, count: u64) -> Vec<u8> {
        let mut bits = stream();
        bits.fixed(1, 2).variable(8, 8).variable(3, 4).align().fixed(1 << 20, 32);
        bits.fixed(2, 3).variable(3, 5).fixed(1, 1).variable(1000, 8).fixed(0, 1).fixed(3, 3).fixed(element, 9);
        for _ in 0..1 << 15 {
            bits.fixed(4, 3).variable(count, 6);
        }
        bits.fixed(0, 3).align();
        bits.finish()
    }

    #[test]
    fn operands_of_no_bits_are_limited_by_the_size_of_the_file() {
        let (fixed, variable, literal) = (1 << 1, 2 << 1, 7 << 1 | 1);
        for element in [fixed, variable, literal] {
            // Without a limit, these are eight billion elements.
            let module = module_of_arrays(element, 1 << 18);
            let error = crate::Module::parse(&module, 0).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            // Short arrays do no harm.
            assert!(crate::Module::parse(&module_of_arrays(element, 3), 0).is_ok());
        }
        // An abbreviation of 4000 operands of no bits, and sixteen records of it.
        let mut bits = stream();
        bits.fixed(1, 2).variable(8, 8).variable(3, 4).align().fixed(1 << 20, 32);
        bits.fixed(2, 3).variable(4001, 5).fixed(1, 1).variable(1000, 8);
        for _ in 0..4000 {
            bits.fixed(fixed, 9);
        }
        for _ in 0..16 {
            bits.fixed(4, 3);
        }
        bits.fixed(0, 3).align();
        let error = crate::Module::parse(&bits.finish(), 0).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }

    #[test]
    fn lengths_past_the_end_are_refused() {
        let mut bits = stream();
        bits.fixed(1, 2).variable(8, 8).variable(2, 4).align().fixed(1 << 30, 32);
        bits.fixed(3, 2).variable(1, 6).variable(u64::from(u32::MAX), 6);
        let bytes = bits.finish();
        let mut cursor = Cursor::new(&bytes, 0x100);
        cursor.advance_entry().unwrap();
        assert_eq!(cursor.clone().skip_block().unwrap_err().kind(), ErrorKind::Truncated);
        cursor.enter_block(8).unwrap();
        let Entry::Record(id) = cursor.advance_entry().unwrap() else { panic!() };
        let error = cursor.read_record(id, &mut Record::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
        assert!(error.offset().unwrap() > 0x100);
    }

    #[test]
    fn wrapper() {
        let mut file = WRAPPER_MAGIC.to_vec();
        for field in [0u32, 20, 6, u32::MAX] {
            file.extend(field.to_le_bytes());
        }
        file.extend(MAGIC);
        file.extend([1, 2, 3]);
        assert_eq!(locate(&file, 0).unwrap(), 20..26);
        assert_eq!(locate(&file[..12], 0).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert_eq!(locate(b"MTLB", 0).unwrap_err().kind(), ErrorKind::BadMagic);
    }
}
