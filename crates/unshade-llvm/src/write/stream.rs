//! Blocks and records of a stream that is being written.

use crate::bitstream::{BitWriter, MAGIC, Scalar, Tail};
use crate::blocks;
use crate::tree::UNABBREVIATED;
use crate::tree::write as bits;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// `SETBID` of `BLOCKINFO`: the block that the definitions after it are for.
const SETBID: u32 = 1;
/// The id of the first abbreviation of a block.
const FIRST_ABBREVIATION: u32 = 4;
/// The width of abbreviation ids outside of all blocks.
const TOP_WIDTH: u32 = 2;

/// A stream that is being written.
pub(super) struct Stream {
    bits: BitWriter,
    /// The width of abbreviation ids in the innermost block.
    width: u32,
    /// The id of the next abbreviation that the innermost block defines.
    next: u32,
    open: Vec<Open>,
}

/// An open block: where its size is, and the state of the block around it.
struct Open {
    size_at: usize,
    width: u32,
    next: u32,
}

/// An abbreviation, with its id in the blocks that know it.
pub(super) struct Layout {
    id: u32,
    abbreviation: bits::Abbreviation,
}

/// An abbreviation that is to be defined.
pub(super) struct Shape<'s>(pub(super) &'s [Scalar], pub(super) Tail);

impl Shape<'_> {
    fn layout(&self, id: u32) -> Layout {
        Layout { id, abbreviation: bits::Abbreviation { scalars: self.0.to_vec(), tail: self.1, free: 0 } }
    }
}

impl Layout {
    /// Returns whether the operands before an array fit in their fields.
    #[inline]
    fn fits(&self, operands: &[u64]) -> bool {
        let scalars = self.abbreviation.scalars.get(1..).unwrap_or_default();
        let holds = |(scalar, &operand): (&Scalar, &u64)| match *scalar {
            Scalar::Fixed(width) => width >= 64 || operand >> width == 0,
            Scalar::Literal(literal) => operand == literal,
            _ => true,
        };
        operands.len() >= scalars.len() && scalars.iter().zip(operands).all(holds)
    }
}

impl Stream {
    /// Begins a stream with its magic number.
    pub(super) fn new() -> Self {
        let mut bits = BitWriter::new();
        bits.bytes(&MAGIC);
        Self { bits, width: TOP_WIDTH, next: FIRST_ABBREVIATION, open: Vec::new() }
    }

    /// Returns the number of bits.
    pub(super) fn position(&self) -> usize {
        self.bits.position()
    }

    /// Returns the bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        self.bits.finish()
    }

    /// Enters a block, whose abbreviation ids have `width` bits and of which `BLOCKINFO` knows `known`.
    pub(super) fn enter(&mut self, block: u32, width: u32, known: usize) {
        bits::header(&mut self.bits, self.width, block, width);
        let size_at = self.bits.position();
        self.bits.fixed(0, 32);
        self.open.push(Open { size_at, width: self.width, next: self.next });
        self.width = width;
        self.next = FIRST_ABBREVIATION.saturating_add(u32::try_from(known).unwrap_or(u32::MAX));
    }

    /// Leaves the innermost block, and sets its size.
    pub(super) fn leave(&mut self) -> Result<()> {
        bits::end(&mut self.bits, self.width);
        let Some(Open { size_at, width, next }) = self.open.pop() else { return Ok(()) };
        let size = self.bits.position().saturating_sub(size_at.saturating_add(32)) / 32;
        self.patch(size_at, size)?;
        (self.width, self.next) = (width, next);
        Ok(())
    }

    /// Sets a field of 32 bits that was written as zero.
    pub(super) fn patch(&mut self, position: usize, value: usize) -> Result<()> {
        let word = u32::try_from(value)
            .map_err(|_| Error::without_offset(ErrorKind::Limit, "module is too large for bitcode"))?;
        self.bits.patch(position, word);
        Ok(())
    }

    /// Defines an abbreviation for the innermost block.
    pub(super) fn define(&mut self, shape: &Shape<'_>) -> Layout {
        bits::shape(&mut self.bits, self.width, shape.0, shape.1);
        let id = self.next;
        self.next = id.saturating_add(1);
        shape.layout(id)
    }

    /// Defines the abbreviations of a block in `BLOCKINFO`.
    pub(super) fn define_for(&mut self, block: u32, shapes: &[Shape<'_>]) -> Vec<Layout> {
        self.record(SETBID, &[block.into()]);
        let define = |(id, shape): (u32, &Shape<'_>)| {
            bits::shape(&mut self.bits, self.width, shape.0, shape.1);
            shape.layout(id)
        };
        (FIRST_ABBREVIATION..).zip(shapes).map(define).collect()
    }

    /// Writes a record without an abbreviation.
    pub(super) fn record(&mut self, code: u32, operands: &[u64]) {
        self.bits
            .fixed(UNABBREVIATED.into(), self.width)
            .variable(code.into(), 6)
            .variable(operands.len() as u64, 6);
        for operand in operands {
            self.bits.variable(*operand, 6);
        }
    }

    /// Writes a record with an abbreviation if its operands fit, or else without.
    pub(super) fn record_as(&mut self, layout: Option<&Layout>, code: u32, operands: &[u64]) {
        match layout.filter(|layout| layout.fits(operands)) {
            Some(layout) => self.abbreviated(layout, code, operands, None),
            None => self.record(code, operands),
        }
    }

    /// Writes a record with an abbreviation that ends with a blob.
    pub(super) fn record_with_blob(&mut self, layout: &Layout, code: u32, operands: &[u64], blob: &[u8]) {
        self.abbreviated(layout, code, operands, Some(blob));
    }

    fn abbreviated(&mut self, layout: &Layout, code: u32, operands: &[u64], blob: Option<&[u8]>) {
        let Layout { id, abbreviation } = layout;
        // The abbreviations of this writer have a code, and a blob where there is one, so nothing can fail.
        let _ = bits::record(&mut self.bits, self.width, *id, Some(abbreviation), code, operands, blob);
    }

    /// Writes a record of bytes without an abbreviation, each of which is sign-extended as LLVM's `char` is.
    pub(super) fn signed_text(&mut self, code: u32, text: &[u8]) {
        let characters: Vec<u64> = text.iter().map(|&byte| u64::from(sign_extended_32(byte))).collect();
        self.record(code, &characters);
    }
}

/// Returns a byte as LLVM stores it where it converts a `char` to an `unsigned`.
pub(super) fn sign_extended_32(byte: u8) -> u32 {
    i32::from(byte as i8) as u32
}

/// Returns a byte as LLVM stores it where it converts a `char` to an `uint64_t`.
pub(super) fn sign_extended_64(byte: u8) -> u64 {
    i64::from(byte as i8) as u64
}

/// A block that is one blob.
pub(super) fn blob_block(stream: &mut Stream, block: u32, blob: &[u8]) -> Result<()> {
    stream.enter(block, 3, 0);
    let layout = stream.define(&Shape(&[Scalar::Literal(1)], Tail::Blob));
    stream.record_with_blob(&layout, 1, &[], blob);
    stream.leave()
}

/// Writes the block that says what wrote the module.
pub(super) fn identification(stream: &mut Stream, producer: &[u8], epoch: u64) -> Result<()> {
    stream.enter(blocks::IDENTIFICATION, 5, 0);
    let characters: Vec<u64> = producer.iter().map(|&byte| u64::from(sign_extended_32(byte))).collect();
    let text = stream.define(&Shape(&[Scalar::Literal(1)], Tail::Array(Scalar::Char6)));
    let is_char6 = producer.iter().all(|&byte| is_char6(byte));
    stream.record_as(is_char6.then_some(&text), 1, &characters);
    let number = stream.define(&Shape(&[Scalar::Literal(2), Scalar::Variable(6)], Tail::None));
    stream.record_as(Some(&number), 2, &[epoch]);
    stream.leave()
}

/// Returns whether a character has a six-bit form.
pub(super) fn is_char6(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')
}

/// Returns the narrowest form of an element in which all characters of a text fit.
pub(super) fn element_for(text: &[u8]) -> Scalar {
    if text.iter().all(|&byte| is_char6(byte)) {
        Scalar::Char6
    } else if text.is_ascii() {
        Scalar::Fixed(7)
    } else {
        Scalar::Fixed(8)
    }
}

/// Returns the number of bits that the numbers below `count` take.
pub(super) fn bits_for(count: usize) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}
