//! Tokens to programs.
//!
//! Every instruction is kept whatever it holds: what its opcode has no use for stands in [`Instruction::rest`], what
//! follows an instruction without a sensible length in [`Program::trailing`]. Writing what was read gives the same
//! bytes again.

use crate::opcode::Opcode;
use crate::operand::{Index, Operand, bits};
use crate::program::{Instruction, Program, Version};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result};

/// How deep operands may stand in the indices of operands.
pub const MAX_OPERAND_DEPTH: usize = 8;

/// Takes a program apart: the contents of a SHDR or SHEX part. What is not sound is told of and kept as it is.
///
/// ```
/// use unshade_core::{Diagnostics, Reader};
///
/// let bytes: Vec<u8> = [0x50u32, 3, 0x0100_003e].iter().flat_map(|token| token.to_le_bytes()).collect();
/// let program = unshade_dxbc::decode(Reader::new(&bytes), &mut Diagnostics::default())?;
/// assert_eq!(program.instructions.len(), 1);
/// assert_eq!(program.write()?, bytes);
/// # Ok::<(), unshade_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Truncated`] if there are fewer than two tokens.
pub fn decode(mut data: Reader<'_>, diagnostics: &mut Diagnostics) -> Result<Program> {
    let base = data.offset();
    let version = Version(data.u32().map_err(|error| error.within("version"))?);
    let length = data.u32().map_err(|error| error.within("length"))?;
    let available = data.rest().len() / 4;
    let counted = usize::try_from(length).unwrap_or(usize::MAX).saturating_sub(2);
    if counted > available {
        diagnostics.error(
            "dxbc-tokens",
            Error::new(ErrorKind::OutOfRange, base.saturating_add(4), "the program is longer than its part")
                .expected(format!("at most {} tokens", available.saturating_add(2)))
                .found(format!("{length}")),
        );
    }
    let size = counted.min(available).saturating_mul(4);
    let (code, after) = data.rest().split_at_checked(size).unwrap_or((data.rest(), &[]));
    let mut tokens = Tokens { bytes: code, position: 0 };
    let mut instructions = Vec::new();
    let mut unread: &[u8] = &[];
    while !tokens.is_empty() {
        let start = tokens.position;
        match instruction(version, &mut tokens) {
            Ok(instruction) => instructions.push(instruction),
            Err(fault) => {
                let offset = base.saturating_add(8).saturating_add(byte_offset(start));
                diagnostics.error("dxbc-tokens", fault.at(offset));
                unread = code.get(start.saturating_mul(4)..).unwrap_or_default();
                break;
            }
        }
    }
    let trailing = [unread, after].concat();
    Ok(Program { version, length, instructions, trailing })
}

fn byte_offset(tokens: usize) -> u64 {
    (tokens as u64).saturating_mul(4)
}

/// Why an instruction has no end.
struct Fault {
    length: u32,
    available: usize,
}

impl Fault {
    fn at(&self, offset: u64) -> Error {
        Error::new(ErrorKind::BadValue, offset, "an instruction has no sensible length")
            .expected(format!("1 to {} tokens", self.available))
            .found(format!("{}", self.length))
            .hint("what follows it is kept as bytes")
    }
}

/// Tokens, of which some were read.
struct Tokens<'a> {
    bytes: &'a [u8],
    /// In tokens.
    position: usize,
}

impl<'a> Tokens<'a> {
    fn is_empty(&self) -> bool {
        self.rest().len() < 4
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position.saturating_mul(4)..).unwrap_or_default()
    }

    fn peek(&self, ahead: usize) -> Option<u32> {
        let start = self.position.checked_add(ahead)?.checked_mul(4)?;
        self.bytes.get(start..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
    }

    fn next(&mut self) -> Option<u32> {
        let token = self.peek(0)?;
        self.position = self.position.saturating_add(1);
        Some(token)
    }

    /// The next tokens as a run of their own.
    fn split(&mut self, count: usize) -> Option<Tokens<'a>> {
        let size = count.checked_mul(4)?;
        let bytes = self.rest().get(..size)?;
        self.position = self.position.saturating_add(count);
        Some(Tokens { bytes, position: 0 })
    }

    fn collect(&mut self) -> Vec<u32> {
        let words = self.rest().chunks_exact(4);
        let list =
            words.filter_map(|word| word.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))).collect();
        self.position = self.bytes.len() / 4;
        list
    }
}

fn instruction(version: Version, tokens: &mut Tokens<'_>) -> core::result::Result<Instruction, Fault> {
    let position = u32::try_from(tokens.position).unwrap_or(u32::MAX).saturating_add(2);
    let token = tokens.peek(0).unwrap_or(0);
    let mut instruction = Instruction { position, token, ..Instruction::default() };
    let own_length = instruction.opcode() == Opcode::CUSTOM_DATA || instruction.is_long();
    let length = if own_length { tokens.peek(1).unwrap_or(0) } else { bits(token, 24, 7) };
    let least = if own_length { 2 } else { 1 };
    let available = tokens.rest().len() / 4;
    let count = usize::try_from(length).unwrap_or(usize::MAX);
    let mut body =
        if count < least { None } else { tokens.split(count) }.ok_or(Fault { length, available })?;
    body.next();
    if instruction.opcode() == Opcode::CUSTOM_DATA {
        body.next();
        instruction.values = body.collect();
        return Ok(instruction);
    }
    let start = body.position;
    if extended_tokens(&mut instruction, &mut body)
        .and_then(|()| fields(version, &mut instruction, &mut body))
        .is_none()
    {
        instruction.extended.clear();
        instruction.operands.clear();
        instruction.values.clear();
        body.position = start;
    }
    instruction.rest = body.collect();
    Ok(instruction)
}

fn extended_tokens(instruction: &mut Instruction, body: &mut Tokens<'_>) -> Option<()> {
    let mut more = instruction.is_extended();
    while more {
        let token = body.next()?;
        instruction.extended.push(token);
        more = bits(token, 31, 1) == 1 && !instruction.is_long();
    }
    Some(())
}

/// What the letters of the opcode stand for.
fn fields(version: Version, instruction: &mut Instruction, body: &mut Tokens<'_>) -> Option<()> {
    let Some(row) = instruction.opcode().row() else { return Some(()) };
    instruction.operands.reserve_exact(row.operand_letters().count());
    for letter in row.body.bytes() {
        match letter {
            b'd' | b'f' | b'i' | b'm' | b'o' => instruction.operands.push(operand(body, 0)?),
            b'n' | b'g' | b'v' | b'y' | b'b' => instruction.values.push(body.next()?),
            b'p' | b'q' if version.has_spaces() => instruction.values.push(body.next()?),
            b'c' => {
                instruction.values.push(body.next()?);
                instruction.operands.push(operand(body, 0)?);
            }
            b'x' => {
                for _ in 0..3 {
                    instruction.values.push(body.next()?);
                }
            }
            b't' | b'j' => list(letter, instruction, body)?,
            _ => {}
        }
    }
    Some(())
}

/// A table of functions, or of tables.
fn list(letter: u8, instruction: &mut Instruction, body: &mut Tokens<'_>) -> Option<()> {
    instruction.values.push(body.next()?);
    if letter == b'j' {
        instruction.values.push(body.next()?);
    }
    let count = body.next()?;
    instruction.values.push(count);
    let count = if letter == b'j' { bits(count, 0, 16) } else { count };
    for _ in 0..count {
        instruction.values.push(body.next()?);
    }
    Some(())
}

/// An operand, in so many others.
fn operand(tokens: &mut Tokens<'_>, depth: usize) -> Option<Operand> {
    if depth > MAX_OPERAND_DEPTH {
        return None;
    }
    let mut operand = Operand { token: tokens.next()?, ..Operand::default() };
    let mut more = bits(operand.token, 31, 1) == 1;
    while more {
        let token = tokens.next()?;
        operand.extended.push(token);
        more = bits(token, 31, 1) == 1;
    }
    for place in 0..operand.immediate_count() {
        *operand.immediate.get_mut(place)? = tokens.next()?;
    }
    for dimension in 0..operand.dimensions() {
        let (words, relative) = operand.index_form(dimension).parts()?;
        let number = match words {
            0 => 0,
            1 => u64::from(tokens.next()?),
            _ => {
                let high = tokens.next()?;
                u64::from(high) << 32 | u64::from(tokens.next()?)
            }
        };
        let relative = match relative {
            true => Some(Box::new(self::operand(tokens, depth.saturating_add(1))?)),
            false => None,
        };
        *operand.indices.get_mut(dimension)? = Index { number, relative };
    }
    Some(operand)
}

/// The operands of a shader message, from its tokens.
pub(crate) fn operands_of(words: &[u32], count: u32) -> Option<Vec<Operand>> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut tokens = Tokens { bytes: &bytes, position: 0 };
    let mut operands = Vec::new();
    for _ in 0..count {
        operands.push(operand(&mut tokens, 0)?);
    }
    tokens.is_empty().then_some(operands)
}
