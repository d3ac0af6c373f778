//! The LLVM bitstream container: blocks, records and abbreviations.
//!
//! A stream is a sequence of bits, least significant first. Every item starts with an abbreviation number whose
//! width the surrounding block sets: 0 ends the block (then aligned to 32 bits), 1 enters a block (id vbr8, new
//! width vbr4, align 32, length in 32-bit words), 2 defines an abbreviation, 3 is an unabbreviated record (code,
//! count and operands, all vbr6), and every higher number stands for an abbreviation of this block. Block 0
//! (`BLOCKINFO`) defines abbreviations on behalf of other blocks. A Darwin wrapper (`0x0B17C0DE`, version,
//! offset, size, CPU) may stand before the stream.
//!
//! Knowledge: LLVM's *Bitcode File Format* manual; the behaviour of real AIR and DXIL files (widths of zero bits,
//! sizes that are no multiple of four bytes) by observation.
//!
//! [`Cursor`] keeps nothing but a bit position: a read loads eight bytes and shifts, which costs one load and no
//! branch. Reads past the end yield zero and set a flag which every record checks once; so that the hot loop has
//! no error path. No length that a file claims is ever allocated before it was read.

use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Result};

/// `BC C0 DE` with a leading `B`, the first four bytes of a stream.
pub const MAGIC: [u8; 4] = *b"BC\xC0\xDE";
/// The first four bytes of Darwin's wrapper.
pub const WRAPPER_MAGIC: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];

/// The block that describes abbreviations of other blocks.
const BLOCKINFO: u32 = 0;
/// How many abbreviations a file may define in all: real files have a few dozen.
const MAX_ABBREVIATIONS: usize = 1 << 16;
/// How many operands one abbreviation may have.
const MAX_ABBREVIATION_OPERANDS: u64 = 1 << 12;

/// Where the stream of a file lies: after the wrapper, if there is one, and no longer than the wrapper says.
///
/// # Errors
/// [`ErrorKind::BadMagic`] if this is no bitcode, [`ErrorKind::OutOfRange`] if the wrapper points outside.
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
    let outside = || Error::new(ErrorKind::OutOfRange, base, "the wrapper's offset lies outside of the file");
    let start = word(8).ok_or_else(outside)?;
    let size = word(12).ok_or_else(outside)?;
    // A wrapper that claims more than there is: take what there is, the records will tell.
    let end = start.saturating_add(size).min(bytes.len());
    match bytes.get(start..end) {
        Some(stream) if stream.starts_with(&MAGIC) => Ok(start..end),
        Some(_) => {
            Err(Error::new(ErrorKind::BadMagic, base.saturating_add(start as u64), "no bitcode in the wrapper"))
        }
        None => Err(outside()),
    }
}

/// One operand of an abbreviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    Literal(u64),
    Fixed(u32),
    Vbr(u32),
    Char6,
    /// The operand after this one is the element.
    Array,
    Blob,
}

/// The operands of one abbreviation, as a range of [`Abbreviations::operands`].
#[derive(Clone, Copy, Debug)]
struct Definition {
    start: u32,
    count: u32,
}

/// All abbreviations that were met, and those that `BLOCKINFO` assigns to blocks.
#[derive(Clone, Debug, Default)]
pub struct Abbreviations {
    operands: Vec<Operand>,
    definitions: Vec<Definition>,
    block_info: Vec<(u32, Vec<u32>)>,
}

impl Abbreviations {
    fn of_block(&self, block: u32) -> &[u32] {
        self.block_info.iter().find(|(id, _)| *id == block).map_or(&[], |(_, list)| list)
    }

    fn add_to_block(&mut self, block: u32, definition: u32) {
        match self.block_info.iter_mut().find(|(id, _)| *id == block) {
            Some((_, list)) => list.push(definition),
            None => self.block_info.push((block, alloc::vec![definition])),
        }
    }
}

/// What comes next in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The end of the current block; it has been left.
    EndBlock,
    /// A block of this id, not yet entered.
    Block(u32),
    /// A record, to be read with [`Cursor::read_record`].
    Record(u32),
}

/// One record: its code and operands. The buffers are reused from record to record.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// The record's code.
    pub code: u32,
    /// The operands; bytes of a blob are not among them.
    pub values: Vec<u64>,
    /// The bytes of a blob, as a range of the stream.
    pub blob: Range<usize>,
    /// The file offset of the record.
    pub offset: u64,
}

/// What has to be restored when a block ends.
#[derive(Clone, Debug)]
struct Scope {
    width: u32,
    abbreviations: Vec<u32>,
}

/// A position in a bitstream.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    data: &'a [u8],
    /// The next bit.
    position: usize,
    /// The first bit that is not there.
    end: usize,
    /// The file offset of `data[0]`.
    base: u64,
    overrun: bool,
    width: u32,
    current: Vec<u32>,
    scopes: Vec<Scope>,
    abbreviations: Abbreviations,
}

impl<'a> Cursor<'a> {
    /// How deep blocks may nest: LLVM's own writers reach four.
    pub const MAX_DEPTH: usize = 32;

    /// A cursor at the first item after the magic number of a stream.
    pub fn new(stream: &'a [u8], base: u64) -> Self {
        Self {
            data: stream,
            position: 32,
            end: stream.len().saturating_mul(8),
            base,
            overrun: false,
            width: 2,
            current: Vec::new(),
            scopes: Vec::new(),
            abbreviations: Abbreviations::default(),
        }
    }

    /// A cursor of the same stream at `position` (as [`Cursor::position`] gave it, just before a block's body),
    /// with the abbreviations that were known then.
    #[must_use]
    pub fn resume(stream: &'a [u8], base: u64, abbreviations: &Abbreviations, position: usize) -> Self {
        Self { position, abbreviations: abbreviations.clone(), ..Self::new(stream, base) }
    }

    /// All abbreviations known by now.
    pub fn abbreviations(&self) -> &Abbreviations {
        &self.abbreviations
    }

    /// The stream's bytes.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The next bit's position.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The file offset of the byte that holds the next bit.
    pub fn offset(&self) -> u64 {
        self.base.saturating_add((self.position >> 3) as u64)
    }

    /// The file offset of the byte that holds the first bit of the item that [`Cursor::advance_entry`] gave last.
    pub fn item_offset(&self) -> u64 {
        let start = self.position.saturating_sub(self.width as usize);
        self.base.saturating_add((start >> 3) as u64)
    }

    /// The file offset behind the byte that holds the last bit that was read.
    pub fn end_offset(&self) -> u64 {
        self.base.saturating_add(self.position.div_ceil(8) as u64)
    }

    /// How many bits are left.
    fn remaining(&self) -> u64 {
        self.end.saturating_sub(self.position) as u64
    }

    /// Whether fewer than 32 bits are left, which holds no further block.
    pub fn at_end(&self) -> bool {
        self.position.saturating_add(32) > self.end
    }

    /// Up to 64 bits from a bit position; at least 57 of them are real.
    #[inline(always)]
    fn peek(&self) -> u64 {
        let byte = self.position >> 3;
        let shift = self.position & 7;
        match self.data.get(byte..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(chunk) => u64::from_le_bytes(*chunk) >> shift,
            None => self.peek_at_end(byte) >> shift,
        }
    }

    #[cold]
    fn peek_at_end(&self, byte: usize) -> u64 {
        let rest = self.data.get(byte..).unwrap_or_default();
        rest.iter().take(8).rev().fold(0, |word, &next| (word << 8) | u64::from(next))
    }

    #[inline(always)]
    fn advance(&mut self, bits: u32) {
        self.position = self.position.wrapping_add(bits as usize);
        if self.position > self.end {
            self.set_overrun();
        }
    }

    #[cold]
    fn set_overrun(&mut self) {
        self.position = self.end;
        self.overrun = true;
    }

    /// A number of a fixed width, at most 64 bits.
    #[inline(always)]
    fn fixed(&mut self, width: u32) -> u64 {
        if width <= 56 {
            let value = self.peek() & (1u64 << width).wrapping_sub(1);
            self.advance(width);
            value
        } else {
            let low = self.fixed_small(32);
            low | (self.fixed_small(width.wrapping_sub(32)) << 32)
        }
    }

    #[inline(always)]
    fn fixed_small(&mut self, width: u32) -> u64 {
        let value = self.peek() & (1u64 << width).wrapping_sub(1);
        self.advance(width);
        value
    }

    /// A number in groups of `width` bits, the top bit of each saying that another follows.
    #[inline(always)]
    fn vbr(&mut self, width: u32) -> u64 {
        if width < 2 {
            // Width 0 is written for a literal zero; width 1 has no room for a value.
            self.advance(width);
            return 0;
        }
        let more = 1u64 << width.wrapping_sub(1);
        let word = self.peek();
        let first = word & more.wrapping_sub(1);
        if word & more == 0 {
            self.advance(width);
            return first;
        }
        self.vbr_long(width, more, first)
    }

    fn vbr_long(&mut self, width: u32, more: u64, first: u64) -> u64 {
        let payload = width.wrapping_sub(1);
        self.advance(width);
        let mut value = first;
        let mut shift = payload;
        loop {
            let group = self.fixed(width);
            if shift < 64 {
                value |= (group & more.wrapping_sub(1)) << shift;
            }
            if group & more == 0 || self.overrun {
                return value;
            }
            shift = shift.saturating_add(payload);
        }
    }

    fn align(&mut self) {
        let aligned = self.position.saturating_add(31) & !31;
        // The last block of a stream of odd size may end where the padding is cut off.
        self.position = aligned.min(self.end);
    }

    #[cold]
    fn fault(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind, self.offset(), message)
    }

    fn check(&self) -> Result<()> {
        if self.overrun { Err(self.fault(ErrorKind::Truncated, "bitstream ends inside of an item")) } else { Ok(()) }
    }

    /// The abbreviation number of the next item.
    #[inline(always)]
    fn item(&mut self) -> Result<u32> {
        if self.position >= self.end {
            return Err(self.fault(ErrorKind::Truncated, "bitstream ends inside of a block"));
        }
        // At most 32 bits wide, as `enter_block` saw to.
        Ok(u32::try_from(self.fixed_small(self.width)).unwrap_or(u32::MAX))
    }

    fn leave_block(&mut self) -> Result<()> {
        self.align();
        match self.scopes.pop() {
            Some(scope) => {
                self.width = scope.width;
                self.current = scope.abbreviations;
                Ok(())
            }
            None => Err(self.fault(ErrorKind::BadValue, "end of a block outside of any block")),
        }
    }

    /// What comes next. Abbreviation definitions are taken in silently.
    ///
    /// # Errors
    /// If the stream ends or an abbreviation is malformed.
    #[inline]
    pub fn advance_entry(&mut self) -> Result<Entry> {
        loop {
            match self.item()? {
                0 => {
                    self.leave_block()?;
                    return Ok(Entry::EndBlock);
                }
                1 => {
                    let block = self.vbr(8);
                    self.check()?;
                    return Ok(Entry::Block(u32::try_from(block).unwrap_or(u32::MAX)));
                }
                2 => {
                    let definition = self.define_abbreviation()?;
                    self.current.push(definition);
                }
                id => return Ok(Entry::Record(id)),
            }
        }
    }

    /// Goes into the block that [`Cursor::advance_entry`] announced.
    ///
    /// # Errors
    /// If the block's header is malformed, or blocks nest too deep.
    pub fn enter_block(&mut self, block: u32) -> Result<()> {
        self.enter_sized_block(block).map(|_| ())
    }

    /// Goes into a block, and tells its size in bits: what it claims, but no more than there is.
    ///
    /// # Errors
    /// As [`Cursor::enter_block`].
    pub fn enter_sized_block(&mut self, block: u32) -> Result<usize> {
        let (width, words) = self.block_header()?;
        if !(2..=32).contains(&width) {
            return Err(self.fault(ErrorKind::BadValue, "block with an impossible abbreviation width"));
        }
        if self.scopes.len() >= Self::MAX_DEPTH {
            return Err(self.fault(ErrorKind::Limit, "blocks nest too deep"));
        }
        let inherited = self.abbreviations.of_block(block).to_vec();
        let abbreviations = core::mem::replace(&mut self.current, inherited);
        self.scopes.push(Scope { width: self.width, abbreviations });
        self.width = width;
        Ok(words.saturating_mul(32).min(self.end.saturating_sub(self.position)))
    }

    /// Goes into the block that [`Cursor::advance_entry`] announced, calls `take` for each of its records, and passes
    /// over the blocks in it.
    ///
    /// # Errors
    /// If the stream is damaged, and the first that `take` returns.
    pub fn for_records(&mut self, block: u32, mut take: impl FnMut(&Self, &Record) -> Result<()>) -> Result<()> {
        self.enter_block(block)?;
        let mut record = Record::default();
        loop {
            match self.advance_entry()? {
                Entry::EndBlock => return Ok(()),
                Entry::Block(_) => self.skip_block()?,
                Entry::Record(id) => {
                    self.read_record(id, &mut record)?;
                    take(self, &record)?;
                }
            }
        }
    }

    /// Passes over the block that [`Cursor::advance_entry`] announced.
    ///
    /// # Errors
    /// If its length reaches past the end of the stream.
    pub fn skip_block(&mut self) -> Result<()> {
        let (_, words) = self.block_header()?;
        let target = self.position.saturating_add(words.saturating_mul(32));
        if target > self.end {
            return Err(self.fault(ErrorKind::Truncated, "block is longer than the stream"));
        }
        self.position = target;
        Ok(())
    }

    fn block_header(&mut self) -> Result<(u32, usize)> {
        let width = self.vbr(4);
        self.align();
        let words = self.fixed(32);
        self.check()?;
        Ok((u32::try_from(width).unwrap_or(u32::MAX), usize::try_from(words).unwrap_or(usize::MAX)))
    }

    /// Takes in a `BLOCKINFO` block that [`Cursor::advance_entry`] announced.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn read_block_info(&mut self) -> Result<()> {
        self.enter_block(BLOCKINFO)?;
        let mut record = Record::default();
        let mut target = None;
        loop {
            match self.item()? {
                0 => return self.leave_block(),
                1 => {
                    self.vbr(8);
                    self.skip_block()?;
                }
                // Definitions in here belong to the block named last, not to this one.
                2 => {
                    let definition = self.define_abbreviation()?;
                    let Some(block) = target else {
                        return Err(self.fault(ErrorKind::BadValue, "abbreviation in BLOCKINFO before a block id"));
                    };
                    self.abbreviations.add_to_block(block, definition);
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
        let count = self.vbr(5);
        if count > MAX_ABBREVIATION_OPERANDS || self.abbreviations.definitions.len() >= MAX_ABBREVIATIONS {
            return Err(self.fault(ErrorKind::Limit, "too many abbreviations"));
        }
        let start = self.abbreviations.operands.len();
        for _ in 0..count {
            let operand = if self.fixed(1) == 1 {
                Operand::Literal(self.vbr(8))
            } else {
                match self.fixed(3) {
                    1 => Operand::Fixed(self.width_of_operand(64)?),
                    2 => Operand::Vbr(self.width_of_operand(32)?),
                    3 => Operand::Array,
                    4 => Operand::Char6,
                    5 => Operand::Blob,
                    _ => return Err(self.fault(ErrorKind::BadValue, "unknown encoding in an abbreviation")),
                }
            };
            self.check()?;
            self.abbreviations.operands.push(operand);
        }
        let position = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let definition =
            Definition { start: position(start), count: position(self.abbreviations.operands.len().saturating_sub(start)) };
        self.abbreviations.definitions.push(definition);
        Ok(position(self.abbreviations.definitions.len().saturating_sub(1)))
    }

    fn width_of_operand(&mut self, most: u64) -> Result<u32> {
        let width = self.vbr(5);
        match u32::try_from(width) {
            Ok(width_u32) if width <= most => Ok(width_u32),
            _ => Err(self.fault(ErrorKind::BadValue, "operand of an abbreviation is too wide")),
        }
    }

    /// Reads the record that [`Cursor::advance_entry`] announced.
    ///
    /// # Errors
    /// If the abbreviation is unknown or the stream ends.
    #[inline]
    pub fn read_record(&mut self, id: u32, record: &mut Record) -> Result<()> {
        record.values.clear();
        record.blob = 0..0;
        record.offset = self.offset();
        if id == 3 { self.read_unabbreviated(record) } else { self.read_abbreviated(id, record) }
    }

    fn read_unabbreviated(&mut self, record: &mut Record) -> Result<()> {
        record.code = u32::try_from(self.vbr(6)).unwrap_or(u32::MAX);
        let count = self.vbr(6);
        if count > self.remaining() / 6 {
            return Err(self.fault(ErrorKind::Truncated, "record is longer than the stream"));
        }
        for _ in 0..count {
            let value = self.vbr(6);
            record.values.push(value);
        }
        self.check()
    }

    fn read_abbreviated(&mut self, id: u32, record: &mut Record) -> Result<()> {
        let index = usize::try_from(id).unwrap_or(usize::MAX).wrapping_sub(4);
        let definition = self
            .current
            .get(index)
            .and_then(|&at| self.abbreviations.definitions.get(at as usize))
            .copied()
            .ok_or_else(|| self.fault(ErrorKind::BadValue, "record with an unknown abbreviation"))?;
        let range = definition.start as usize..(definition.start as usize).saturating_add(definition.count as usize);
        let mut at = range.start;
        let mut first = true;
        while at < range.end {
            let Some(&operand) = self.abbreviations.operands.get(at) else { break };
            at = at.wrapping_add(1);
            match operand {
                Operand::Array => {
                    let element = self.abbreviations.operands.get(at).copied().filter(|_| at < range.end);
                    self.read_array(element, record)?;
                    break;
                }
                Operand::Blob => self.read_blob(record)?,
                scalar => {
                    let value = self.read_scalar(scalar);
                    if first {
                        record.code = u32::try_from(value).unwrap_or(u32::MAX);
                    } else {
                        record.values.push(value);
                    }
                }
            }
            first = false;
        }
        if first && range.is_empty() {
            return Err(self.fault(ErrorKind::BadValue, "abbreviation without a code"));
        }
        self.check()
    }

    #[inline(always)]
    fn read_scalar(&mut self, operand: Operand) -> u64 {
        match operand {
            Operand::Literal(value) => value,
            Operand::Fixed(width) => self.fixed(width),
            Operand::Vbr(width) => self.vbr(width),
            Operand::Char6 => u64::from(char6(self.fixed(6))),
            Operand::Array | Operand::Blob => 0,
        }
    }

    fn read_array(&mut self, element: Option<Operand>, record: &mut Record) -> Result<()> {
        let Some(element) = element else {
            return Err(self.fault(ErrorKind::BadValue, "array without an element in an abbreviation"));
        };
        let count = self.vbr(6);
        // Every element of one bit or more; elements of no bits are limited by the same figure.
        if count > self.remaining() {
            return Err(self.fault(ErrorKind::Truncated, "array is longer than the stream"));
        }
        match element {
            Operand::Fixed(width) if width <= 56 => {
                for _ in 0..count {
                    let value = self.fixed_small(width);
                    record.values.push(value);
                }
            }
            Operand::Char6 => {
                for _ in 0..count {
                    let value = self.fixed_small(6);
                    record.values.push(u64::from(char6(value)));
                }
            }
            Operand::Vbr(width) => {
                for _ in 0..count {
                    let value = self.vbr(width);
                    record.values.push(value);
                }
            }
            Operand::Array | Operand::Blob => {
                return Err(self.fault(ErrorKind::BadValue, "array of arrays in an abbreviation"));
            }
            scalar => {
                for _ in 0..count {
                    let value = self.read_scalar(scalar);
                    record.values.push(value);
                }
            }
        }
        self.check()
    }

    fn read_blob(&mut self, record: &mut Record) -> Result<()> {
        let size = usize::try_from(self.vbr(6)).unwrap_or(usize::MAX);
        self.align();
        let start = self.position >> 3;
        let end = start.saturating_add(size);
        if end > self.data.len() {
            return Err(self.fault(ErrorKind::Truncated, "blob is longer than the stream"));
        }
        record.blob = start..end;
        self.position = end.saturating_mul(8);
        self.align();
        self.check()
    }
}

/// The characters of a `char6`.
fn char6(value: u64) -> u8 {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    LETTERS.get((value & 63) as usize).copied().unwrap_or(b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes bits, to build streams for tests.
    #[derive(Default)]
    struct Bits(Vec<u8>, usize);

    impl Bits {
        fn fixed(&mut self, value: u64, width: usize) -> &mut Self {
            for bit in 0..width {
                if self.1.is_multiple_of(8) {
                    self.0.push(0);
                }
                *self.0.last_mut().unwrap() |= (((value >> bit) & 1) as u8) << (self.1 % 8);
                self.1 += 1;
            }
            self
        }

        fn vbr(&mut self, mut value: u64, width: usize) -> &mut Self {
            let more = 1 << (width - 1);
            while value >= more {
                self.fixed((value & (more - 1)) | more, width);
                value >>= width - 1;
            }
            self.fixed(value, width)
        }

        fn align(&mut self) -> &mut Self {
            while !self.1.is_multiple_of(32) {
                self.fixed(0, 1);
            }
            self
        }
    }

    fn stream() -> Bits {
        let mut bits = Bits::default();
        bits.fixed(u64::from(u32::from_le_bytes(MAGIC)), 32);
        bits
    }

    #[test]
    fn widths_of_no_bits_and_all_encodings() {
        let mut bits = stream();
        bits.fixed(1, 2).vbr(8, 8).vbr(3, 4).align().fixed(0, 32);
        // Literal 7, Fixed(0), VBR(0), VBR(6), Array of Char6.
        bits.fixed(2, 3).vbr(6, 5).fixed(1, 1).vbr(7, 8).fixed(0, 1).fixed(1, 3).vbr(0, 5);
        bits.fixed(0, 1).fixed(2, 3).vbr(0, 5).fixed(0, 1).fixed(2, 3).vbr(6, 5);
        bits.fixed(0, 1).fixed(3, 3).fixed(0, 1).fixed(4, 3);
        bits.fixed(4, 3).vbr(1 << 40, 6).vbr(2, 6).fixed(0, 6).fixed(63, 6);
        bits.fixed(3, 3).vbr(9, 6).vbr(2, 6).vbr(u64::MAX, 6).vbr(31, 6);
        bits.fixed(0, 3).align();

        let mut cursor = Cursor::new(&bits.0, 0);
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

    #[test]
    fn claims_past_the_end_are_refused() {
        let mut bits = stream();
        bits.fixed(1, 2).vbr(8, 8).vbr(2, 4).align().fixed(1 << 30, 32);
        bits.fixed(3, 2).vbr(1, 6).vbr(u64::from(u32::MAX), 6);
        let mut cursor = Cursor::new(&bits.0, 0x100);
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
