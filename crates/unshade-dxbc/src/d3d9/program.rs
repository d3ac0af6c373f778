//! The structure of programs of Shader Model 1 to 3.
//!
//! | token | bits | meaning |
//! |---|---|---|
//! | version | 0 to 7, 8 to 15, 16 to 31 | minor, major; `0xffff` pixel shader, `0xfffe` vertex shader, `0x4c50` and `0x4c56` functions of a library for these |
//! | opcode | 0 to 15, 16 to 23, 24 to 27, 28, 30 | opcode, controls, number of tokens that follow (from version 2 on), predicated, co-issued |
//! | comment | 0 to 15, 16 to 30 | `0xfffe`, number of tokens that follow |
//! | end | 0 to 15 | `0xffff` |
//!
//! Source: Microsoft's reference of the Direct3D shader codes.

use super::opcode::{Opcode, OpcodeRow};
use super::operand::Operand;
use crate::operand::bits;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Program kinds, by the upper half of the version token.
pub(super) const KINDS: [(u32, &str); 4] =
    [(0xffff, "ps"), (0xfffe, "vs"), (0x4c50, "lib_4_0_ps"), (0x4c56, "lib_4_0_vs")];

/// A version token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version(pub u32);

impl Version {
    /// Returns whether a token is the version token of a pixel or vertex shader of version 1 to 3.
    pub fn is_valid(self) -> bool {
        KINDS.iter().any(|(kind, _)| *kind == self.0 >> 16) && (1..=3).contains(&self.major())
    }

    /// Returns whether it is a released version of a pixel or vertex shader.
    pub fn is_released(self) -> bool {
        match self.0 >> 16 {
            0xffff => matches!(self.number(), 0x101..=0x104 | 0x200 | 0x201 | 0x300),
            0xfffe => matches!(self.number(), 0x101 | 0x200 | 0x201 | 0x300),
            _ => false,
        }
    }

    /// Returns whether it is a pixel shader; otherwise it is a vertex shader.
    pub fn is_pixel(self) -> bool {
        matches!(self.0 >> 16, 0xffff | 0x4c50)
    }

    /// Returns whether it is a library function, which has no file of its own.
    pub fn is_library(self) -> bool {
        matches!(self.0 >> 16, 0x4c50 | 0x4c56)
    }

    /// Returns the major version.
    pub fn major(self) -> u32 {
        bits(self.0, 8, 8)
    }

    /// Returns the minor version: 1 for 2.x, 255 for software versions.
    pub fn minor(self) -> u32 {
        bits(self.0, 0, 8)
    }

    /// Returns major and minor version in one byte each.
    #[allow(clippy::cast_possible_truncation)]
    pub fn number(self) -> u16 {
        self.0 as u16
    }

    /// Returns whether opcode tokens hold the number of tokens that follow; otherwise the highest bit marks operands.
    pub fn has_lengths(self) -> bool {
        self.major() >= 2
    }
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let kind = KINDS.iter().find(|(kind, _)| *kind == self.0 >> 16).map_or("", |(_, name)| name);
        match (self.major(), self.minor()) {
            (2, 1) => write!(f, "{kind}_2_x"),
            (major @ (2 | 3), 255) => write!(f, "{kind}_{major}_sw"),
            (major, minor) => write!(f, "{kind}_{major}_{minor}"),
        }
    }
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The version token.
    pub version: Version,
    /// The instructions and comments.
    pub instructions: Vec<Instruction>,
    /// The token that ends it; `None` if the bytes end before one.
    pub end: Option<u32>,
    /// The bytes after the end token, or after the last instruction that could be decoded.
    pub trailing: Vec<u8>,
}

/// An instruction, a declaration or a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its position in the program, in tokens.
    pub position: u32,
    /// The opcode token. Its length is updated when the program is written.
    pub token: u32,
    /// The operands in token order; a predicate follows the destination.
    pub operands: Vec<Operand>,
    /// Usage and texture kind of a declaration, the values of a definition, the contents of a comment.
    pub values: Vec<u32>,
    /// Tokens that the opcode has no use for.
    pub rest: Vec<u32>,
}

impl Instruction {
    /// Returns the opcode.
    #[allow(clippy::cast_possible_truncation)]
    pub fn opcode(&self) -> Opcode {
        Opcode(self.token as u16)
    }

    /// Returns the controls: a comparison, or the sampling variant.
    pub fn controls(&self) -> u32 {
        bits(self.token, 16, 8)
    }

    /// Returns whether it is predicated.
    pub fn is_predicated(&self) -> bool {
        bits(self.token, 28, 1) == 1
    }

    /// Returns whether it is co-issued with the instruction before.
    pub fn is_co_issued(&self) -> bool {
        bits(self.token, 30, 1) == 1
    }

    /// Returns whether the first operand is a destination. FXC assumes so for unknown opcodes.
    pub fn has_destination(&self, version: Version) -> bool {
        self.opcode().row(version).is_none_or(OpcodeRow::has_destination)
    }

    /// Returns the index of the predicate among the operands, if it has one.
    pub fn predicate_index(&self, version: Version) -> Option<usize> {
        self.is_predicated().then(|| usize::from(self.has_destination(version)))
    }

    /// Returns its size in tokens.
    pub fn size_in_tokens(&self) -> u64 {
        let relative = self.operands.iter().filter(|operand| operand.relative.is_some()).count();
        let counts = [self.operands.len(), relative, self.values.len(), self.rest.len()];
        counts.iter().fold(1, |sum: u64, count| sum.saturating_add(*count as u64))
    }

    /// Appends its tokens.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if it is too long for the length field of its opcode token.
    pub fn write(&self, version: Version, out: &mut Vec<u32>) -> Result<()> {
        let start = out.len();
        out.push(self.token);
        let values_first = self.opcode() == Opcode::DECLARE;
        if values_first {
            out.extend_from_slice(&self.values);
        }
        for operand in &self.operands {
            out.push(operand.token);
            out.extend(operand.relative);
        }
        if !values_first {
            out.extend_from_slice(&self.values);
        }
        out.extend_from_slice(&self.rest);
        let is_comment = self.opcode() == Opcode::COMMENT;
        if !is_comment && !version.has_lengths() {
            return Ok(());
        }
        let (shift, width) = if is_comment { (16, 15) } else { (24, 4) };
        let most = (1u32 << width).wrapping_sub(1);
        let length = out.len().saturating_sub(start).saturating_sub(1);
        match (out.get_mut(start), u32::try_from(length).ok().filter(|length| *length <= most)) {
            (Some(token), Some(length)) => *token = *token & !(most << shift) | length << shift,
            _ => {
                return Err(Error::without_offset(ErrorKind::OutOfRange, "an instruction is too long")
                    .expected(format!("at most {most} tokens"))
                    .found(format!("{length}")));
            }
        }
        Ok(())
    }
}

impl Program {
    /// Encodes the program.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if an instruction is too long for the length field of its opcode token.
    pub fn write(&self) -> Result<Vec<u8>> {
        let mut tokens = Vec::from([self.version.0]);
        for (number, instruction) in self.instructions.iter().enumerate() {
            let written = instruction.write(self.version, &mut tokens);
            written.map_err(|error| error.within(format!("instruction {number}")))?;
        }
        tokens.extend(self.end);
        let mut bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        bytes.extend_from_slice(&self.trailing);
        Ok(bytes)
    }

    /// Returns the first comment with a tag.
    pub fn comment(&self, tag: &[u8; 4]) -> Option<&Instruction> {
        let tag = u32::from_le_bytes(*tag);
        let comments = self.instructions.iter().filter(|one| one.opcode() == Opcode::COMMENT);
        comments.into_iter().find(|comment| comment.values.first() == Some(&tag))
    }
}
