//! Programs of Shader Model 1 to 3, as they stand in a file.
//!
//! | token | bits | meaning |
//! |---|---|---|
//! | version | 0 to 7, 8 to 15, 16 to 31 | minor, major; `0xffff` pixel shader, `0xfffe` vertex shader, `0x4c50` and `0x4c56` functions of a library for these |
//! | opcode | 0 to 15, 16 to 23, 24 to 27, 28, 30 | opcode, controls, how many tokens follow (from version 2 on), predicated, at the same time as the one before |
//! | comment | 0 to 15, 16 to 30 | `0xfffe`, how many tokens follow |
//! | end | 0 to 15 | `0xffff` |
//!
//! Source: Microsoft's reference of the Direct3D shader codes.

use super::opcode::{Opcode, Row};
use super::operand::Operand;
use crate::operand::bits;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

/// Kinds of programs, by the upper half of the version token.
pub(super) const KINDS: [(u32, &str); 4] =
    [(0xffff, "ps"), (0xfffe, "vs"), (0x4c50, "lib_4_0_ps"), (0x4c56, "lib_4_0_vs")];

/// A version token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version(pub u32);

impl Version {
    /// Whether a token is the version token of a pixel or vertex shader of version 1 to 3.
    pub fn is_one(self) -> bool {
        KINDS.iter().any(|(kind, _)| *kind == self.0 >> 16) && (1..=3).contains(&self.major())
    }

    /// Whether it is of a pixel or vertex shader, in a version that hardware had.
    pub fn is_released(self) -> bool {
        match self.0 >> 16 {
            0xffff => matches!(self.number(), 0x101..=0x104 | 0x200 | 0x201 | 0x300),
            0xfffe => matches!(self.number(), 0x101 | 0x200 | 0x201 | 0x300),
            _ => false,
        }
    }

    /// Whether it is of a pixel shader; if not, it is of a vertex shader.
    pub fn is_pixel(self) -> bool {
        matches!(self.0 >> 16, 0xffff | 0x4c50)
    }

    /// Whether it is of a function in a library, which has no file of its own.
    pub fn is_library(self) -> bool {
        matches!(self.0 >> 16, 0x4c50 | 0x4c56)
    }

    /// The major version.
    pub fn major(self) -> u32 {
        bits(self.0, 8, 8)
    }

    /// The minor version: 1 for 2.x, 255 for what only software runs.
    pub fn minor(self) -> u32 {
        bits(self.0, 0, 8)
    }

    /// Major and minor version in a byte each.
    #[allow(clippy::cast_possible_truncation)]
    pub fn number(self) -> u16 {
        self.0 as u16
    }

    /// Whether opcode tokens tell how many tokens follow; else the operands are told by their highest bit.
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
    /// The token that ends it; none if the bytes end before.
    pub end: Option<u32>,
    /// The bytes after that, or after the last instruction that could be read.
    pub trailing: Vec<u8>,
}

/// An instruction, a declaration or a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Where it stands in the program, in tokens.
    pub position: u32,
    /// The opcode token. The length is renewed when the program is written.
    pub token: u32,
    /// The operands in the order of the tokens; a predicate stands after what is written.
    pub operands: Vec<Operand>,
    /// Usage and texture kind of a declaration, the values of a definition, the contents of a comment.
    pub values: Vec<u32>,
    /// Tokens of the instruction that its opcode has no use for.
    pub rest: Vec<u32>,
}

impl Instruction {
    /// The opcode.
    #[allow(clippy::cast_possible_truncation)]
    pub fn opcode(&self) -> Opcode {
        Opcode(self.token as u16)
    }

    /// The controls: a comparison, how a texture is sampled.
    pub fn controls(&self) -> u32 {
        bits(self.token, 16, 8)
    }

    /// Whether a predicate decides.
    pub fn is_predicated(&self) -> bool {
        bits(self.token, 28, 1) == 1
    }

    /// Whether it is done at the same time as the one before.
    pub fn is_co_issued(&self) -> bool {
        bits(self.token, 30, 1) == 1
    }

    /// Whether the first operand is written; so FXC takes it for opcodes that it does not know.
    pub fn has_destination(&self, version: Version) -> bool {
        self.opcode().row(version).is_none_or(Row::has_destination)
    }

    /// The place of the predicate among the operands, if there is one.
    pub fn predicate_place(&self, version: Version) -> Option<usize> {
        self.is_predicated().then(|| usize::from(self.has_destination(version)))
    }

    /// How many tokens it has.
    pub fn size_in_tokens(&self) -> u64 {
        let relative = self.operands.iter().filter(|operand| operand.relative.is_some()).count();
        let counts = [self.operands.len(), relative, self.values.len(), self.rest.len()];
        counts.iter().fold(1, |sum: u64, count| sum.saturating_add(*count as u64))
    }

    /// Appends its tokens.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if it is longer than an opcode token can say.
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
    /// The bytes of the program.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if an instruction is longer than an opcode token can say.
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

    /// The contents of the first comment that starts with a tag, the tag left out.
    pub fn comment(&self, tag: &[u8; 4]) -> Option<&Instruction> {
        let tag = u32::from_le_bytes(*tag);
        let comments = self.instructions.iter().filter(|one| one.opcode() == Opcode::COMMENT);
        comments.into_iter().find(|comment| comment.values.first() == Some(&tag))
    }
}
