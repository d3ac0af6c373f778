//! Writes a tree, and keeps track of the abbreviations that are known in each block.

use super::{Bits, Block, Definition, Item, Part, NO_CODE, RecordItem, Stream, Tree, UNABBREVIATED, Wrapper};
use crate::bitstream::{
    BitWriter, MAGIC, MAX_ABBREVIATIONS, Scalar, Tail, WRAPPER_MAGIC, WRAPPER_SIZE, char6_value,
};
use crate::blocks;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// `SETBID` of `BLOCKINFO`: the block that the definitions after it are for.
const SETBID: u32 = 1;

impl Tree {
    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// [`ErrorKind::BadValue`] if a record has an abbreviation that isn't known in its block, or doesn't fit in it and can't be
    /// written without one; or a block is too large for the format.
    pub fn write(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.parts.iter().try_for_each(|part| write_part(part, &mut bytes))?;
        Ok(bytes)
    }
}

fn write_part(part: &Part, to: &mut Vec<u8>) -> Result<()> {
    match part {
        Part::Wrapper(wrapper) => write_wrapper(wrapper, to)?,
        Part::Stream(stream) => to.extend(write_stream(stream, &mut None)?),
        Part::Bytes(bytes) => to.extend(bytes),
    }
    Ok(())
}

fn write_wrapper(wrapper: &Wrapper, to: &mut Vec<u8>) -> Result<()> {
    let mut content = Vec::new();
    wrapper.content.iter().try_for_each(|part| write_part(part, &mut content))?;
    let end = content.len().saturating_add(WRAPPER_SIZE);
    let size = end.saturating_sub(wrapper.offset as usize);
    let size = u32::try_from(size).map_err(|_| too_large("content of a wrapper"))?;
    // A size that was too large may have become too small.
    let size = wrapper.size.map_or(size, |stated| stated.max(size));
    to.extend(WRAPPER_MAGIC);
    for word in [wrapper.version, wrapper.offset, size, wrapper.cpu_type] {
        to.extend(word.to_le_bytes());
    }
    to.extend(content);
    Ok(())
}

/// Returns the bytes of a stream. `positions` takes the bit at which each block and item starts, and each block ends, in the order
/// in which they are written.
pub(super) fn write_stream(stream: &Stream, positions: &mut Option<Vec<usize>>) -> Result<Vec<u8>> {
    let mut writing = Writing { bits: BitWriter::new(), scopes: Scopes::default(), positions };
    writing.bits.bytes(&MAGIC);
    stream.blocks.iter().try_for_each(|block| writing.block(block))?;
    Ok(writing.bits.finish())
}

#[cold]
fn too_large(what: &str) -> Error {
    Error::without_offset(ErrorKind::Limit, format!("{what} is too large for the format"))
}

/// A stream that is being written.
struct Writing<'p> {
    bits: BitWriter,
    scopes: Scopes,
    positions: &'p mut Option<Vec<usize>>,
}

impl Writing<'_> {
    fn note_position(&mut self) {
        if let Some(positions) = self.positions {
            positions.push(self.bits.position());
        }
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        if !(2..=32).contains(&block.width) {
            let message = format!("block {}: abbreviation ids of {} bits", block.id, block.width);
            return Err(Error::without_offset(ErrorKind::BadValue, message).expected("2 to 32 bits"));
        }
        self.note_position();
        let outer_width = self.scopes.width();
        spell(&mut self.bits, block.header.as_deref(), outer_width, |to| header(to, outer_width, block.id, block.width));
        let place = self.bits.position();
        self.bits.fixed(0, 32);
        let body = self.bits.position();
        self.scopes.enter(block.id, block.width);
        for (index, item) in block.items.iter().enumerate() {
            self.item(block, item).map_err(|error| error.within(format!("item {index} of block {}", block.id)))?;
        }
        self.note_position();
        spell(&mut self.bits, block.end.as_deref(), block.width, |to| end(to, block.width));
        self.scopes.leave();
        let words = self.bits.position().saturating_sub(body).div_ceil(32);
        let words = block.words.or(u32::try_from(words).ok()).ok_or_else(|| too_large("block"))?;
        self.bits.set_word(place, words);
        Ok(())
    }

    fn item(&mut self, block: &Block, item: &Item) -> Result<()> {
        let fault = |(kind, message): (ErrorKind, &'static str)| Error::without_offset(kind, message);
        match item {
            Item::Block(inner) => self.block(inner)?,
            Item::Definition(one) => {
                self.note_position();
                spell(&mut self.bits, one.spelling.as_deref(), block.width, |to| definition(to, block.width, one));
                self.scopes.define(one).map_err(fault)?;
            }
            Item::Record(item) => {
                self.note_position();
                self.record(block, item).map_err(fault)?;
                let record = block.record_of(item);
                self.scopes.see_record(record.code, record.operands);
            }
        }
        Ok(())
    }

    fn record(&mut self, block: &Block, item: &RecordItem) -> Result<(), (ErrorKind, &'static str)> {
        let one = block.record_of(item);
        let abbreviation = self.scopes.abbreviation(one.abbreviation)?;
        if let Some(spelling) = item.spelling.as_deref() {
            let known = abbreviation.as_deref().map(|one| (&one.scalars, &one.tail));
            let is_same = spelling.abbreviation.as_ref().map(|(scalars, tail)| (scalars, tail)) == known;
            if is_same && spelling.bits.write(&mut self.bits, block.width) {
                return Ok(());
            }
        }
        let id = if fits(abbreviation.as_deref(), one.code, one.operands, one.blob) { one.abbreviation } else { UNABBREVIATED };
        let abbreviation = abbreviation.as_deref().filter(|_| id != UNABBREVIATED);
        record(&mut self.bits, block.width, id, abbreviation, one.code, one.operands, one.blob)
    }
}

/// Writes bits as the file had them, if it had others than `write` writes. They begin with an id of `width` bits.
fn spell(to: &mut BitWriter, spelling: Option<&Bits>, width: u32, write: impl FnOnce(&mut BitWriter)) {
    if !spelling.is_some_and(|spelling| spelling.write(to, width)) {
        write(to);
    }
}

/// Writes the header of a block up to its size, in a block with ids of `outer_width` bits.
pub(crate) fn header(to: &mut BitWriter, outer_width: u32, id: u32, width: u32) {
    to.fixed(1, outer_width).variable(id.into(), 8).variable(width.into(), 4).align();
}

/// Writes the end of a block.
pub(crate) fn end(to: &mut BitWriter, width: u32) {
    to.fixed(0, width).align();
}

/// Writes a definition.
pub(super) fn definition(to: &mut BitWriter, width: u32, definition: &Definition) {
    shape(to, width, &definition.scalars, definition.tail);
}

/// Writes the definition of an abbreviation with these operands.
pub(crate) fn shape(to: &mut BitWriter, width: u32, scalars: &[Scalar], tail: Tail) {
    to.fixed(2, width);
    let of_tail = match tail {
        Tail::None => 0,
        Tail::Array(_) => 2,
        Tail::Blob => 1,
    };
    to.variable((scalars.len() as u64).saturating_add(of_tail), 5);
    scalars.iter().for_each(|one| scalar(to, *one));
    match tail {
        Tail::None => {}
        Tail::Array(element) => scalar(to.fixed(3 << 1, 4), element),
        Tail::Blob => {
            to.fixed(5 << 1, 4);
        }
    }
}

/// Writes an operand of a definition: bit 0 is set for a literal, else bits 1 to 3 are the encoding.
fn scalar(to: &mut BitWriter, scalar: Scalar) {
    match scalar {
        Scalar::Literal(value) => to.fixed(1, 1).variable(value, 8),
        Scalar::Fixed(width) => to.fixed(1 << 1, 4).variable(width.into(), 5),
        Scalar::Variable(width) => to.fixed(2 << 1, 4).variable(width.into(), 5),
        Scalar::Char6 => to.fixed(4 << 1, 4),
    };
}

/// Returns whether a record can be written with an abbreviation.
fn fits(abbreviation: Option<&Abbreviation>, code: u32, operands: &[u64], blob: Option<&[u8]>) -> bool {
    let Some(abbreviation) = abbreviation else { return blob.is_none() };
    let mut scalars = abbreviation.scalars.iter();
    let has_code = scalars.next().map_or(code == NO_CODE, |scalar| holds(*scalar, code.into()));
    let scalars = scalars.as_slice();
    let (fixed, rest) = operands.split_at_checked(scalars.len()).unwrap_or_default();
    let has_scalars = operands.len() >= scalars.len()
        && scalars.iter().zip(fixed).all(|(scalar, operand)| holds(*scalar, *operand));
    let has_tail = match abbreviation.tail {
        Tail::None => rest.is_empty() && blob.is_none(),
        Tail::Array(element) => blob.is_none() && rest.iter().all(|operand| holds(element, *operand)),
        Tail::Blob => rest.is_empty() && blob.is_some(),
    };
    has_code && has_scalars && has_tail
}

/// Returns whether an operand of an abbreviation can have a value.
fn holds(scalar: Scalar, value: u64) -> bool {
    match scalar {
        Scalar::Literal(literal) => value == literal,
        Scalar::Fixed(width) => width >= 64 || value >> width == 0,
        Scalar::Variable(width) => width >= 2 || value == 0,
        Scalar::Char6 => char6_value(value).is_some(),
    }
}

/// Writes a record: without an abbreviation if it is `None`. The operands fit.
pub(crate) fn record(
    to: &mut BitWriter,
    width: u32,
    id: u32,
    abbreviation: Option<&Abbreviation>,
    code: u32,
    operands: &[u64],
    blob: Option<&[u8]>,
) -> Result<(), (ErrorKind, &'static str)> {
    to.fixed(id.into(), width);
    let Some(abbreviation) = abbreviation else {
        if code == NO_CODE {
            return Err((ErrorKind::BadValue, "record without a code that does not fit in its abbreviation"));
        }
        if blob.is_some() {
            return Err((ErrorKind::BadValue, "record with a blob that its abbreviation does not have"));
        }
        to.variable(code.into(), 6).variable(operands.len() as u64, 6);
        for operand in operands {
            to.variable(*operand, 6);
        }
        return Ok(());
    };
    let mut scalars = abbreviation.scalars.iter();
    if let Some(scalar) = scalars.next() {
        number(to, *scalar, code.into());
    }
    let (fixed, rest) = operands.split_at_checked(scalars.len()).unwrap_or((operands, &[]));
    scalars.zip(fixed).for_each(|(scalar, operand)| number(to, *scalar, *operand));
    match abbreviation.tail {
        Tail::None => {}
        Tail::Array(element) => {
            to.variable(rest.len() as u64, 6);
            rest.iter().for_each(|operand| number(to, element, *operand));
        }
        Tail::Blob => {
            let blob = blob.unwrap_or_default();
            to.variable(blob.len() as u64, 6).align();
            to.bytes(blob);
            to.align();
        }
    }
    Ok(())
}

/// Writes a number as an operand of an abbreviation.
fn number(to: &mut BitWriter, scalar: Scalar, value: u64) {
    match scalar {
        Scalar::Literal(_) => to,
        Scalar::Fixed(width) => to.fixed(value, width),
        Scalar::Variable(width) => to.variable(value, width),
        Scalar::Char6 => to.fixed(char6_value(value).unwrap_or(0), 6),
    };
}

/// An abbreviation that is known in a block.
#[derive(Debug)]
pub(crate) struct Abbreviation {
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) tail: Tail,
    /// The number of scalars that take no bits.
    pub(crate) free: usize,
}

/// A block that is open.
struct Scope {
    block: u32,
    width: u32,
    /// The abbreviations of its ids from 4 on: those that `BLOCKINFO` assigned to it, then its own.
    assigned: Rc<Vec<Rc<Abbreviation>>>,
    own: Vec<Rc<Abbreviation>>,
    /// In `BLOCKINFO`: the block that definitions are for.
    target: Option<u32>,
}

/// The blocks that are open, and the abbreviations that `BLOCKINFO` assigned to blocks.
#[derive(Default)]
pub(super) struct Scopes {
    open: Vec<Scope>,
    of_blocks: BTreeMap<u32, Rc<Vec<Rc<Abbreviation>>>>,
}

impl Scopes {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the id of the innermost block.
    pub(super) fn block(&self) -> Option<u32> {
        self.open.last().map(|scope| scope.block)
    }

    /// Returns the number of bits of the abbreviation ids in the innermost block.
    pub(super) fn width(&self) -> u32 {
        self.open.last().map_or(2, |scope| scope.width)
    }

    /// Enters a block. Each `BLOCKINFO` replaces what an earlier one said, as every module of a stream has its own.
    pub(super) fn enter(&mut self, block: u32, width: u32) {
        if block == blocks::BLOCKINFO {
            self.of_blocks.clear();
        }
        let assigned = self.of_blocks.get(&block).cloned().unwrap_or_default();
        self.open.push(Scope { block, width, assigned, own: Vec::new(), target: None });
    }

    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    /// Takes a definition in the innermost block.
    pub(super) fn define(&mut self, definition: &Definition) -> Result<(), (ErrorKind, &'static str)> {
        let free = definition.scalars.iter().filter(|scalar| scalar.is_free()).count();
        let abbreviation =
            Rc::new(Abbreviation { scalars: definition.scalars.clone(), tail: definition.tail, free });
        let Some(scope) = self.open.last_mut() else { return Ok(()) };
        let known = match (scope.block, scope.target) {
            (blocks::BLOCKINFO, Some(target)) => Rc::make_mut(self.of_blocks.entry(target).or_default()),
            (blocks::BLOCKINFO, None) => {
                return Err((ErrorKind::BadValue, "abbreviation in BLOCKINFO before SETBID"));
            }
            _ => &mut scope.own,
        };
        if known.len() >= MAX_ABBREVIATIONS {
            return Err((ErrorKind::Limit, "too many abbreviations"));
        }
        known.push(abbreviation);
        Ok(())
    }

    /// Takes a record of the innermost block, which in `BLOCKINFO` may say what block definitions are for.
    pub(super) fn see_record(&mut self, code: u32, operands: &[u64]) {
        if let Some(scope) = self.open.last_mut().filter(|scope| scope.block == blocks::BLOCKINFO)
            && code == SETBID
        {
            scope.target = operands.first().and_then(|block| u32::try_from(*block).ok());
        }
    }

    /// Returns the abbreviation of an id in the innermost block; none for [`UNABBREVIATED`].
    pub(super) fn abbreviation(&self, id: u32) -> Result<Option<Rc<Abbreviation>>, (ErrorKind, &'static str)> {
        if id == UNABBREVIATED {
            return Ok(None);
        }
        let index = (id as usize).wrapping_sub(4);
        let found = self.open.last().and_then(|scope| match index.checked_sub(scope.assigned.len()) {
            Some(own) => scope.own.get(own),
            None => scope.assigned.get(index),
        });
        match found {
            Some(found) if found.scalars.is_empty() && found.tail == Tail::None => {
                Err((ErrorKind::BadValue, "abbreviation without operands"))
            }
            Some(found) => Ok(Some(Rc::clone(found))),
            None => Err((ErrorKind::BadValue, "record with an unknown abbreviation")),
        }
    }
}
