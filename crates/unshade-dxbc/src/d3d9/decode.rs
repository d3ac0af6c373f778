//! Decodes tokens into programs of Shader Model 1 to 3.
//!
//! From version 2 on an opcode token holds the number of tokens that follow. Before that, an instruction continues as
//! long as tokens have the highest bit set, and declarations and definitions have a fixed length. Every instruction
//! is kept, whatever it holds, so that writing a decoded program gives the same bytes again.

use super::opcode::{Opcode, OpcodeRow};
use super::operand::{IS_OPERAND, Operand, RegisterKind};
use super::program::{Instruction, Program, Version};
use crate::operand::bits;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Diagnostics, Error, ErrorKind, Reader, Result};

/// Decodes a program: a whole file, or the code of an Aon9 part. Invalid data is reported and kept as it is.
///
/// ```
/// use unshade_core::{Diagnostics, Reader};
///
/// let tokens = [0xffff_0200u32, 0x0200_0001, 0x800f_0800, 0xa0e4_0000, 0xffff];
/// let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
/// let program = unshade_dxbc::d3d9::decode(Reader::new(&bytes), &mut Diagnostics::default())?;
/// assert_eq!(program.version.to_string(), "ps_2_0");
/// assert_eq!(program.write()?, bytes);
/// # Ok::<(), unshade_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Truncated`] if there is no token, [`ErrorKind::BadMagic`] if the first is not a version token of
/// Shader Model 1 to 3.
pub fn decode(mut data: Reader<'_>, diagnostics: &mut Diagnostics) -> Result<Program> {
    let start = data.offset();
    let version = Version(data.u32().map_err(|error| error.within("version"))?);
    if !version.is_valid() {
        return Err(Error::new(ErrorKind::BadMagic, start, "not a version token of Shader Model 1 to 3")
            .expected("0xfffe or 0xffff, and a version from 1 to 3")
            .found(format!("{:#010x}", version.0)));
    }
    let mut program = Program { version, ..Program::default() };
    let mut tokens = Tokens { bytes: data.rest(), position: 0 };
    let mut unread = loop {
        let before = tokens.position;
        match instruction(version, &mut tokens) {
            Some(instruction) if instruction.opcode() == Opcode::END => {
                program.end = Some(instruction.token);
                break tokens.position;
            }
            Some(instruction) => program.instructions.push(instruction),
            None => break before,
        }
    };
    unread = unread.saturating_mul(4);
    if program.end.is_none() {
        let offset = data.offset().saturating_add(unread as u64);
        let fault = Error::new(ErrorKind::Truncated, offset, "the program does not end with an end token");
        diagnostics
            .error("dxbc-legacy-tokens", fault.expected("0x0000ffff").hint("the rest is kept as bytes"));
    }
    program.trailing = data.rest().get(unread..).unwrap_or_default().to_vec();
    for instruction in &program.instructions {
        check(version, instruction, start, diagnostics);
    }
    Ok(program)
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

/// Returns the size of the program that starts here: a version token and instructions up to an end token.
pub fn measure(bytes: &[u8]) -> Option<usize> {
    let version = Version(bytes.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))?);
    let has_minor = matches!(version.minor(), 0..=4 | 255);
    if !version.is_valid() || version.is_library() || !has_minor {
        return None;
    }
    let mut tokens = Tokens { bytes: bytes.get(4..)?, position: 0 };
    loop {
        let (token, length) = tokens.extent(version)?;
        tokens.position = tokens.position.checked_add(length)?;
        if Opcode(low_half(token)) == Opcode::END {
            return tokens.position.checked_mul(4)?.checked_add(4);
        }
    }
}

/// Maximum number of tokens to look at for an embedded program: more than Shader Model 3 allows an effect.
const MAX_EMBEDDED: usize = 1 << 16;

/// Returns the size of a program inside other data, where anything may look like a version token. Unlike [`measure`]
/// it requires a released version, known instructions with the right number of operands, and at least one that writes
/// a result. Also returns the number of tokens that were looked at.
///
/// ```
/// use unshade_dxbc::d3d9::measure_embedded;
///
/// let tokens = [0xffff_0200u32, 0x0200_0001, 0x800f_0800, 0xa0e4_0000, 0xffff, 0xffff];
/// let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
/// assert_eq!(measure_embedded(&bytes), (Some(20), 4));
/// assert_eq!(measure_embedded(&bytes[..12]).0, None);
/// ```
pub fn measure_embedded(bytes: &[u8]) -> (Option<usize>, usize) {
    let version = Version(bytes.first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk)));
    let mut tokens = Tokens { bytes: bytes.get(4..).unwrap_or_default(), position: 0 };
    if !version.is_released() {
        return (None, 0);
    }
    let mut writes = false;
    while tokens.position < MAX_EMBEDDED {
        let Some(instruction) = instruction(version, &mut tokens) else { break };
        match instruction.opcode() {
            Opcode::COMMENT => {}
            Opcode::END if instruction.token != END_TOKEN => break,
            Opcode::END => {
                let size = tokens.position.saturating_add(1).saturating_mul(4);
                return (Some(size).filter(|_| writes), tokens.position);
            }
            opcode => match opcode.row_of(version).filter(|row| has_operands_of(&instruction, row)) {
                Some(row) => writes |= row.body.starts_with('d') && row.values() == 0,
                None => break,
            },
        }
    }
    (None, tokens.position)
}

/// The token that ends every program.
const END_TOKEN: u32 = 0xffff;

/// Returns whether an instruction has as many operands as its row says, of known kinds, and no other tokens.
fn has_operands_of(instruction: &Instruction, row: &OpcodeRow) -> bool {
    let expected = row.operands().saturating_add(usize::from(instruction.is_predicated()));
    let known = instruction.operands.iter().all(|operand| operand.kind().0 <= RegisterKind::PREDICATE.0);
    known && instruction.operands.len() == expected && instruction.rest.is_empty()
}

#[allow(clippy::cast_possible_truncation)]
fn low_half(token: u32) -> u16 {
    token as u16
}

/// Reports instructions that no assembler writes.
fn check(version: Version, instruction: &Instruction, start: u64, diagnostics: &mut Diagnostics) {
    if instruction.opcode() == Opcode::COMMENT {
        return;
    }
    let offset = start.saturating_add(u64::from(instruction.position).saturating_mul(4));
    let Some(row) = instruction.opcode().row(version) else {
        let fault = Error::new(ErrorKind::Unsupported, offset, "unknown opcode");
        diagnostics.warning("dxbc-legacy-opcode", fault.found(format!("{}", instruction.opcode().0)));
        return;
    };
    let expected = row.operands().saturating_add(usize::from(instruction.is_predicated()));
    if instruction.operands.len() != expected || !instruction.rest.is_empty() {
        let found = format!("{} and {} other tokens", instruction.operands.len(), instruction.rest.len());
        let fault = Error::new(
            ErrorKind::BadValue,
            offset,
            format!("`{}` has the wrong number of operands", row.mnemonic),
        );
        diagnostics
            .warning("dxbc-legacy-operands", fault.expected(format!("{expected} operands")).found(found));
    }
}

/// A cursor over tokens.
struct Tokens<'a> {
    bytes: &'a [u8],
    /// Number of tokens already read.
    position: usize,
}

impl Tokens<'_> {
    fn peek(&self, ahead: usize) -> Option<u32> {
        let start = self.position.checked_add(ahead)?.checked_mul(4)?;
        self.bytes.get(start..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
    }

    fn next(&mut self) -> Option<u32> {
        let token = self.peek(0)?;
        self.position = self.position.saturating_add(1);
        Some(token)
    }

    /// Returns the next token, which starts an instruction, and the number of tokens of that instruction; `None` if
    /// it is truncated.
    fn extent(&self, version: Version) -> Option<(u32, usize)> {
        let token = self.peek(0)?;
        let opcode = Opcode(low_half(token));
        let follow = match opcode {
            Opcode::END => 0,
            Opcode::COMMENT => usize::try_from(bits(token, 16, 15)).ok()?,
            _ if version.has_lengths() => usize::try_from(bits(token, 24, 4)).ok()?,
            _ => self.count_operands(opcode.row(version)),
        };
        self.peek(follow)?;
        Some((token, follow.checked_add(1)?))
    }

    /// Returns the number of tokens that follow an opcode token without a length.
    fn count_operands(&self, row: Option<&OpcodeRow>) -> usize {
        match row {
            Some(row) if row.body.starts_with('u') => 2,
            Some(row) if row.values() > 0 => row.values().saturating_add(1),
            _ => {
                let mut count = 0usize;
                while self.peek(count.saturating_add(1)).is_some_and(|token| token & IS_OPERAND != 0) {
                    count = count.saturating_add(1);
                }
                count
            }
        }
    }
}

/// Decodes one instruction; `None` if it is truncated.
fn instruction(version: Version, tokens: &mut Tokens<'_>) -> Option<Instruction> {
    let position = u32::try_from(tokens.position).unwrap_or(u32::MAX).saturating_add(1);
    let (token, length) = tokens.extent(version)?;
    let end = tokens.position.saturating_add(length);
    let mut body = Tokens { bytes: tokens.bytes.get(..end.checked_mul(4)?)?, position: tokens.position };
    tokens.position = end;
    body.next();
    let mut instruction = Instruction { position, token, ..Instruction::default() };
    let opcode = instruction.opcode();
    let row = opcode.row(version);
    if opcode == Opcode::COMMENT {
        instruction.values = core::iter::from_fn(|| body.next()).collect();
        return Some(instruction);
    }
    if opcode == Opcode::DECLARE {
        instruction.values.extend(body.next());
    }
    let values = row.map_or(0, OpcodeRow::values);
    // A definition has one operand, and a predicate if it is predicated; its other tokens are values.
    let most =
        if values > 0 { 1usize.saturating_add(usize::from(instruction.is_predicated())) } else { length };
    while instruction.operands.len() < most && body.peek(0).is_some_and(|token| token & IS_OPERAND != 0) {
        let mut operand = Operand { token: body.next()?, relative: None };
        let has_address = version.has_lengths() && operand.is_relative();
        if has_address && body.peek(0).is_some_and(|token| token & IS_OPERAND != 0) {
            operand.relative = body.next();
        }
        instruction.operands.push(operand);
    }
    let rest: Vec<u32> = core::iter::from_fn(|| body.next()).collect();
    match rest.split_at_checked(values) {
        Some((found, rest)) if values > 0 => {
            instruction.values = found.to_vec();
            instruction.rest = rest.to_vec();
        }
        _ => instruction.rest = rest,
    }
    Some(instruction)
}
