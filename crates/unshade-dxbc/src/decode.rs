//! Decodes tokens into programs.
//!
//! Every instruction is kept, whatever it holds: tokens that its opcode has no use for go to [`Instruction::rest`],
//! and everything after an instruction with an invalid length goes to [`Program::trailing`]. Writing a decoded
//! program gives the same bytes again.

use crate::opcode::Opcode;
use crate::operand::{Operand, bits};
use crate::program::{Instruction, Program, Version};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result};

/// Maximum nesting depth of operands in the indices of operands.
pub const MAX_OPERAND_DEPTH: usize = 8;

/// Decodes a program: the contents of a SHDR or SHEX part. Invalid data is reported and kept as it is.
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
pub fn decode(data: Reader<'_>, diagnostics: &mut Diagnostics) -> Result<Program> {
    Instructions::read(data, diagnostics).map(|instructions| instructions.program())
}

impl Program {
    /// Decodes a program as [`decode`] does, without diagnostics.
    ///
    /// # Errors
    /// Fails as [`decode`] does.
    pub fn parse(data: &[u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Decodes a program at `base` of a larger file, so that errors are offsets of that file.
    ///
    /// # Errors
    /// Fails as [`decode`] does.
    pub fn parse_at(data: &[u8], base: u64) -> Result<Self> {
        decode(Reader::at(data, base), &mut Diagnostics::default())
    }
}

/// The instructions of a program, decoded one at a time: a listing needs no more than one.
///
/// ```
/// use unshade_core::{Diagnostics, Reader};
/// use unshade_dxbc::{Instruction, decode::Instructions};
///
/// let bytes: Vec<u8> = [0x50u32, 3, 0x0100_003e].iter().flat_map(|token| token.to_le_bytes()).collect();
/// let mut instructions = Instructions::read(Reader::new(&bytes), &mut Diagnostics::default())?;
/// let mut instruction = Instruction::default();
/// assert!(instructions.next_into(&mut instruction) && instruction.position == 2);
/// assert!(!instructions.next_into(&mut instruction));
/// # Ok::<(), unshade_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Instructions<'a> {
    version: Version,
    length: u32,
    /// The tokens up to the first instruction with an invalid length.
    tokens: Tokens<'a>,
    /// The number of instructions in `tokens`.
    count: usize,
    /// The tokens from the first invalid instruction on, and the bytes after the program.
    trailing: [&'a [u8]; 2],
}

impl fmt::Debug for Instructions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instructions")
            .field("version", &self.version)
            .field("count", &self.count)
            .field("position", &self.tokens.position)
            .finish_non_exhaustive()
    }
}

impl<'a> Instructions<'a> {
    /// Finds where each instruction ends, and reports invalid lengths.
    ///
    /// # Errors
    /// Fails as [`decode`] does.
    pub fn read(mut data: Reader<'a>, diagnostics: &mut Diagnostics) -> Result<Self> {
        let base = data.offset();
        let version = Version(data.u32().map_err(|error| error.within("version"))?);
        let length = data.u32().map_err(|error| error.within("length"))?;
        let available = data.rest().len() / 4;
        let counted = usize::try_from(length).unwrap_or(usize::MAX).saturating_sub(2);
        if counted > available {
            diagnostics.error(
                "dxbc-tokens",
                Error::new(
                    ErrorKind::OutOfRange,
                    base.saturating_add(4),
                    "the program is longer than its part",
                )
                .expected(format!("at most {} tokens", available.saturating_add(2)))
                .found(format!("{length}")),
            );
        }
        let size = counted.min(available).saturating_mul(4);
        let (code, after) = data.rest().split_at_checked(size).unwrap_or((data.rest(), &[]));
        let mut tokens = Tokens { bytes: code, position: 0 };
        let mut count = 0usize;
        while !tokens.is_empty() {
            if let Err(error) = tokens.split_instruction() {
                let offset = base.saturating_add(8).saturating_add(byte_offset(tokens.position));
                diagnostics.error("dxbc-tokens", error.at(offset));
                break;
            }
            count = count.saturating_add(1);
        }
        let sound = tokens.position.saturating_mul(4);
        let (code, unread) = code.split_at_checked(sound).unwrap_or((code, &[]));
        let tokens = Tokens { bytes: code, position: 0 };
        Ok(Self { version, length, tokens, count, trailing: [unread, after] })
    }

    /// Returns the version of the program.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the opcode tokens of the remaining instructions.
    pub fn opcode_tokens(&self) -> impl Iterator<Item = u32> + use<'a> {
        let mut tokens = self.tokens.clone();
        core::iter::from_fn(move || tokens.split_instruction().ok()?.peek(0))
    }

    /// Decodes the next instruction into an existing one, reusing its memory. Returns whether there was one.
    pub fn next_into(&mut self, instruction: &mut Instruction) -> bool {
        let position = self.tokens.position;
        let Ok(body) = self.tokens.split_instruction() else { return false };
        decode_instruction(self.version, position, body, instruction);
        true
    }

    /// Decodes the remaining instructions into a program.
    pub fn program(mut self) -> Program {
        let mut instructions = Vec::with_capacity(self.count);
        let mut instruction = Instruction::default();
        while self.next_into(&mut instruction) {
            instructions.push(core::mem::take(&mut instruction));
        }
        let Self { version, length, trailing, .. } = self;
        Program { version, length, instructions, trailing: trailing.concat() }
    }
}

fn byte_offset(tokens: usize) -> u64 {
    (tokens as u64).saturating_mul(4)
}

/// The reason why the end of an instruction is unknown.
struct LengthError {
    length: u32,
    available: usize,
}

impl LengthError {
    fn at(&self, offset: u64) -> Error {
        Error::new(ErrorKind::BadValue, offset, "the length of an instruction is invalid")
            .expected(format!("1 to {} tokens", self.available))
            .found(format!("{}", self.length))
            .hint("the rest of the program is kept as bytes")
    }
}

/// A cursor over tokens.
#[derive(Clone)]
struct Tokens<'a> {
    bytes: &'a [u8],
    /// Number of tokens already read.
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

    /// Splits off the next `count` tokens.
    fn split(&mut self, count: usize) -> Option<Tokens<'a>> {
        let size = count.checked_mul(4)?;
        let bytes = self.rest().get(..size)?;
        self.position = self.position.saturating_add(count);
        Some(Tokens { bytes, position: 0 })
    }

    /// Splits off the tokens of the next instruction.
    fn split_instruction(&mut self) -> core::result::Result<Tokens<'a>, LengthError> {
        let token = Instruction { token: self.peek(0).unwrap_or(0), ..Instruction::default() };
        let has_own_length = token.has_own_length();
        let length = if has_own_length { self.peek(1).unwrap_or(0) } else { bits(token.token, 24, 7) };
        let least = if has_own_length { 2 } else { 1 };
        let available = self.rest().len() / 4;
        let count = usize::try_from(length).unwrap_or(usize::MAX);
        let body = if count < least { None } else { self.split(count) };
        body.ok_or(LengthError { length, available })
    }

    /// Appends the remaining tokens.
    fn collect_into(&mut self, list: &mut Vec<u32>) {
        let words = self.rest().chunks_exact(4);
        list.extend(words.filter_map(|word| word.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))));
        self.position = self.bytes.len() / 4;
    }
}

/// Decodes the tokens of an instruction.
fn decode_instruction(
    version: Version,
    position: usize,
    mut body: Tokens<'_>,
    instruction: &mut Instruction,
) {
    instruction.position = u32::try_from(position).unwrap_or(u32::MAX).saturating_add(2);
    instruction.extended.clear();
    instruction.operands.clear();
    instruction.values.clear();
    instruction.rest.clear();
    instruction.token = body.next().unwrap_or(0);
    if instruction.opcode() == Opcode::CUSTOM_DATA {
        body.next();
        return body.collect_into(&mut instruction.values);
    }
    let start = body.position;
    if extended_tokens(instruction, &mut body)
        .and_then(|()| fields(version, instruction, &mut body))
        .is_none()
    {
        instruction.extended.clear();
        instruction.operands.clear();
        instruction.values.clear();
        body.position = start;
    }
    body.collect_into(&mut instruction.rest);
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

/// Reads the fields that the letters of the opcode stand for.
fn fields(version: Version, instruction: &mut Instruction, body: &mut Tokens<'_>) -> Option<()> {
    let Some(row) = instruction.opcode().row() else { return Some(()) };
    instruction.operands.reserve_exact(row.operand_letters().count());
    for letter in row.body.bytes() {
        match letter {
            b'd' | b'f' | b'i' | b'm' | b'o' => operand_onto(&mut instruction.operands, body)?,
            b'n' | b'g' | b'v' | b'y' | b'b' => instruction.values.push(body.next()?),
            b'p' | b'q' if version.has_spaces() => instruction.values.push(body.next()?),
            b'c' => {
                instruction.values.push(body.next()?);
                operand_onto(&mut instruction.operands, body)?;
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

/// Reads a table of functions (`t`) or an interface with its tables (`j`).
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

fn operand_onto(operands: &mut Vec<Operand>, tokens: &mut Tokens<'_>) -> Option<()> {
    operands.push(Operand::default());
    operand(operands.last_mut()?, tokens, 0)
}

/// Reads an operand that is nested `depth` levels deep.
fn operand(operand: &mut Operand, tokens: &mut Tokens<'_>, depth: usize) -> Option<()> {
    if depth > MAX_OPERAND_DEPTH {
        return None;
    }
    operand.token = tokens.next()?;
    let mut more = bits(operand.token, 31, 1) == 1;
    while more {
        let token = tokens.next()?;
        operand.extended.push(token);
        more = bits(token, 31, 1) == 1;
    }
    for position in 0..operand.immediate_count() {
        *operand.immediate.get_mut(position)? = tokens.next()?;
    }
    for dimension in 0..operand.dimensions() {
        let (words, is_relative) = operand.index_form(dimension).parts()?;
        let index = operand.indices.get_mut(dimension)?;
        index.number = match words {
            0 => 0,
            1 => u64::from(tokens.next()?),
            _ => {
                let high = tokens.next()?;
                u64::from(high) << 32 | u64::from(tokens.next()?)
            }
        };
        if is_relative {
            let mut relative = Box::<Operand>::default();
            self::operand(&mut relative, tokens, depth.saturating_add(1))?;
            index.relative = Some(relative);
        }
    }
    Some(())
}

/// Decodes the operands of a shader message.
pub(crate) fn operands_of(words: &[u32], count: u32) -> Option<Vec<Operand>> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut tokens = Tokens { bytes: &bytes, position: 0 };
    let mut operands = Vec::new();
    for _ in 0..count {
        operand_onto(&mut operands, &mut tokens)?;
    }
    tokens.is_empty().then_some(operands)
}
