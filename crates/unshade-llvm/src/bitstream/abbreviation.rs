//! Abbreviations: the layouts of records, defined in the stream itself.
//!
//! A definition is a count (vbr5) and as many operands. An operand is a literal (bit 1, value vbr8) or an encoding
//! (bit 0, three bits): 1 fixed and 2 variable with a width (vbr5), 3 array, whose element is the next operand,
//! 4 `char6`, 5 blob. The first operand is the code of the record.

use super::bit_reader::BitReader;
use alloc::vec::Vec;
use unshade_core::ErrorKind;

/// Maximum number of abbreviations that a file may define: real files have a few dozen.
pub(crate) const MAX_ABBREVIATIONS: usize = 1 << 16;
/// Maximum number of abbreviations that `BLOCKINFO` may assign: every block is searched for among them.
const MAX_BLOCK_INFO: usize = 1 << 12;
/// Maximum number of operands of one abbreviation.
const MAX_ABBREVIATION_OPERANDS: u64 = 1 << 12;

/// What is wrong with a definition.
type Fault = (ErrorKind, &'static str);

/// An operand of an abbreviation that is one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// The same number in all records, which takes no bits of them.
    Literal(u64),
    /// A number of as many bits, at most 64.
    Fixed(u32),
    /// A number in groups of as many bits, at most 32.
    Variable(u32),
    /// A letter, a digit, `.` or `_`, in six bits.
    Char6,
}

impl Scalar {
    /// Returns whether the operand takes no bits of the record.
    pub(crate) fn is_free(self) -> bool {
        matches!(self, Scalar::Literal(_) | Scalar::Fixed(0) | Scalar::Variable(0))
    }

    #[inline(always)]
    pub(crate) fn read(self, bits: &mut BitReader<'_>) -> u64 {
        match self {
            Scalar::Literal(value) => value,
            Scalar::Fixed(width) => bits.fixed(width),
            Scalar::Variable(width) => bits.variable(width),
            Scalar::Char6 => u64::from(char6(bits.fixed57(6))),
        }
    }
}

/// An operand of an abbreviation.
enum Operand {
    Scalar(Scalar),
    /// The operand after this one is the element.
    Array,
    Blob,
}

/// What may follow the scalars of an abbreviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    None,
    /// Any number of elements.
    Array(Scalar),
    /// Bytes, aligned to 32 bits.
    Blob,
}

/// One abbreviation: its scalars are a range of the table's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    start: u32,
    end: u32,
    pub(crate) tail: Tail,
}

/// All abbreviations that were met, and those that `BLOCKINFO` assigns to blocks.
#[derive(Clone, Debug, Default)]
pub struct Abbreviations {
    scalars: Vec<Scalar>,
    definitions: Vec<Definition>,
    /// Blocks, each with a definition.
    block_info: Vec<(u32, u32)>,
}

impl Abbreviations {
    /// Returns whether there are no definitions.
    pub(crate) fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Returns whether `BLOCKINFO` assigns any definition to a block.
    pub(crate) fn is_given_to(&self, block: u32) -> bool {
        self.of_block(block).next().is_some()
    }

    /// The definitions that `BLOCKINFO` assigns to a block.
    pub(super) fn of_block(&self, block: u32) -> impl Iterator<Item = u32> + '_ {
        self.block_info.iter().filter(move |(id, _)| *id == block).map(|&(_, definition)| definition)
    }

    /// Reserves what the definitions of most files take.
    pub(super) fn reserve(&mut self) {
        self.definitions.reserve(32);
        self.scalars.reserve(96);
        self.block_info.reserve(32);
    }

    /// Assigns a definition to a block; returns whether that is still possible.
    pub(super) fn add_to_block(&mut self, block: u32, definition: u32) -> bool {
        let is_possible = self.block_info.len() < MAX_BLOCK_INFO;
        if is_possible {
            self.block_info.push((block, definition));
        }
        is_possible
    }

    /// A definition by the number that [`Abbreviations::define`] gave it.
    #[inline(always)]
    pub(crate) fn definition(&self, number: u32) -> Option<Definition> {
        self.definitions.get(number as usize).copied()
    }

    /// The operands of a definition before its array or blob.
    #[inline(always)]
    pub(crate) fn scalars(&self, definition: Definition) -> &[Scalar] {
        self.scalars.get(definition.start as usize..definition.end as usize).unwrap_or_default()
    }

    /// Reads a definition, from its count of operands on, and returns its number.
    pub(crate) fn define(&mut self, bits: &mut BitReader<'_>) -> Result<u32, Fault> {
        if self.definitions.len() >= MAX_ABBREVIATIONS {
            return Err((ErrorKind::Limit, "too many abbreviations"));
        }
        let position = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let start = position(self.scalars.len());
        let tail = read_definition(bits, &mut self.scalars)?;
        let end = position(self.scalars.len());
        self.definitions.push(Definition { start, end, tail });
        Ok(position(self.definitions.len().saturating_sub(1)))
    }
}

/// Reads a definition from its count of operands on, and appends its scalars.
pub(crate) fn read_definition(bits: &mut BitReader<'_>, scalars: &mut Vec<Scalar>) -> Result<Tail, Fault> {
    let mut left = bits.variable(5);
    if left > MAX_ABBREVIATION_OPERANDS {
        return Err((ErrorKind::Limit, "abbreviation of too many operands"));
    }
    while left > 0 {
        left = left.wrapping_sub(1);
        match (operand(bits)?, left) {
            (Operand::Scalar(scalar), _) => scalars.push(scalar),
            (Operand::Array, 1) => {
                let Operand::Scalar(element) = operand(bits)? else {
                    return Err((ErrorKind::BadValue, "array of arrays in an abbreviation"));
                };
                return Ok(Tail::Array(element));
            }
            (Operand::Blob, 0) => return Ok(Tail::Blob),
            _ => return Err((ErrorKind::BadValue, "array or blob that does not end an abbreviation")),
        }
    }
    Ok(Tail::None)
}

/// One operand of an abbreviation that is being defined.
fn operand(bits: &mut BitReader<'_>) -> Result<Operand, Fault> {
    let operand = if bits.fixed(1) == 1 {
        Operand::Scalar(Scalar::Literal(bits.variable(8)))
    } else {
        match bits.fixed(3) {
            1 => Operand::Scalar(Scalar::Fixed(width_of_operand(bits, 64)?)),
            2 => Operand::Scalar(Scalar::Variable(width_of_operand(bits, 32)?)),
            3 => Operand::Array,
            4 => Operand::Scalar(Scalar::Char6),
            5 => Operand::Blob,
            _ => return Err((ErrorKind::BadValue, "unknown encoding in an abbreviation")),
        }
    };
    if bits.overrun() { Err((ErrorKind::Truncated, "bitstream ends inside of an item")) } else { Ok(operand) }
}

fn width_of_operand(bits: &mut BitReader<'_>, most: u64) -> Result<u32, Fault> {
    let width = bits.variable(5);
    match u32::try_from(width) {
        Ok(width_u32) if width <= most => Ok(width_u32),
        _ => Err((ErrorKind::BadValue, "operand of an abbreviation is too wide")),
    }
}

/// The characters of a `char6`.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

/// Returns the character of a `char6`.
pub(super) fn char6(value: u64) -> u8 {
    LETTERS.get((value & 63) as usize).copied().unwrap_or(b'_')
}

/// Returns the `char6` of a character, if it has one.
#[inline]
pub(crate) fn char6_value(character: u64) -> Option<u64> {
    let byte = u8::try_from(character).ok()?;
    let (first, value) = match byte {
        b'a'..=b'z' => (b'a', 0u64),
        b'A'..=b'Z' => (b'A', 26),
        b'0'..=b'9' => (b'0', 52),
        b'.' => (b'.', 62),
        b'_' => (b'_', 63),
        _ => return None,
    };
    Some(value.wrapping_add(u64::from(byte.wrapping_sub(first))))
}
