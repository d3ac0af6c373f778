//! Programs of Shader Model 4 to 5.1: a version token, a length, instructions.
//!
//! | bits of the version token | meaning |
//! |---|---|
//! | 0 to 3, 4 to 7 | version: minor, major |
//! | 16 to 31 | kind: 0 pixel, 1 vertex, 2 geometry, 3 hull, 4 domain, 5 compute, `0xfff0` library |
//!
//! | bits of an opcode token | meaning |
//! |---|---|
//! | 0 to 10 | opcode |
//! | 11 to 23 | controls, by opcode |
//! | 24 to 30 | length in tokens, this one included |
//! | 31 | an extended token follows |
//!
//! | bits of an extended token | meaning |
//! |---|---|
//! | 0 to 5 | 1 offsets of texels, 2 dimension of the resource, 3 its return types |
//! | 9 to 12, 13 to 16, 17 to 20 | 1: offsets, signed |
//! | 6 to 10, 11 to 22 | 2: dimension, size of a structure |
//! | 6 to 9 and so on | 3: the types |
//! | 31 | another one follows |
//!
//! Custom data has its class in bits 11 to 31 and its length in the token after.
//!
//! Source: `d3d12TokenizedProgramFormat.hpp` of DirectX Shader Compiler.

use crate::names::{PROGRAM_KINDS, name_of};
use crate::opcode::Opcode;
use crate::operand::{Operand, bits};
use alloc::vec::Vec;

/// The version token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version(pub u32);

/// The kind of the functions of libraries.
pub(crate) const LIBRARY: u32 = 0xfff0;

impl Version {
    /// First and second number of the shader model.
    pub fn model(self) -> (u32, u32) {
        (bits(self.0, 4, 4), bits(self.0, 0, 4))
    }

    /// The kind of program.
    pub fn kind(self) -> u32 {
        bits(self.0, 16, 16)
    }

    /// What programs of the kind are named by: `ps`, `vs` and so on.
    pub fn kind_name(self) -> Option<&'static str> {
        if self.kind() == LIBRARY { Some("lib") } else { name_of(PROGRAM_KINDS, self.kind()) }
    }

    /// Whether bindings have spaces and ranges, as from Shader Model 5.1 on.
    pub fn has_spaces(self) -> bool {
        self.model() >= (5, 1)
    }
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The version token.
    pub version: Version,
    /// The length in tokens, as the second token gives it.
    pub length: u32,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The bytes after the last instruction.
    pub trailing: Vec<u8>,
}

/// An instruction, a declaration, or custom data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Where it stands in the program, in tokens.
    pub position: u32,
    /// The opcode token. Its length is renewed when the program is written.
    pub token: u32,
    /// The extended opcode tokens; of a long declaration, its length.
    pub extended: Vec<u32>,
    /// The operands.
    pub operands: Vec<Operand>,
    /// The numbers that are no operands, in the order of the opcode's letters; the contents of custom data.
    pub values: Vec<u32>,
    /// Tokens of the instruction that its opcode has no use for.
    pub rest: Vec<u32>,
}

/// What extended opcode tokens say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// Offsets of texels.
    pub offsets: Option<[i8; 3]>,
    /// Dimension of the resource, and the size of its structures.
    pub dimension: Option<(u32, u32)>,
    /// Return types of the resource.
    pub return_types: Option<[u32; 4]>,
}

/// The types of extended opcode tokens.
pub(crate) const SAMPLE_CONTROLS: u32 = 1;
pub(crate) const RESOURCE_DIMENSION: u32 = 2;
pub(crate) const RESOURCE_RETURN_TYPE: u32 = 3;

/// The four return types that a token has from a bit on.
pub(crate) fn return_types(token: u32, shift: u32) -> [u32; 4] {
    [0, 4, 8, 12].map(|step| bits(token, shift.saturating_add(step), 4))
}

/// A signed number of four bits.
fn nibble(token: u32, shift: u32) -> i8 {
    let value = crate::operand::byte(token, shift, 4);
    if value < 8 { value.cast_signed() } else { (value | 0xf0).cast_signed() }
}

impl Instruction {
    /// The opcode.
    pub fn opcode(&self) -> Opcode {
        Opcode::of(self.token)
    }

    /// Whether its opcode token is followed by an extended one.
    pub fn is_extended(&self) -> bool {
        bits(self.token, 31, 1) == 1 && self.opcode() != Opcode::CUSTOM_DATA
    }

    /// The class of custom data.
    pub fn custom_data_class(&self) -> u32 {
        bits(self.token, 11, 21)
    }

    /// Whether its length stands in a token of its own.
    pub fn is_long(&self) -> bool {
        self.is_extended() && self.opcode().may_be_long()
    }

    /// Whether its length stands in its second token: it is long, or custom data.
    pub(crate) fn has_own_length(&self) -> bool {
        self.opcode() == Opcode::CUSTOM_DATA || self.is_long()
    }

    /// The opcode token but for the length. One whose length stands elsewhere has other bits there, without a meaning.
    pub fn token_without_length(&self) -> u32 {
        if self.is_long() { self.token } else { self.token & !(0x7f << 24) }
    }

    /// Whether its result is saturated.
    pub fn is_saturated(&self) -> bool {
        bits(self.token, 13, 1) == 1
    }

    /// The components whose value must be computed as written, one bit each.
    pub fn precise(&self) -> u32 {
        bits(self.token, 19, 4)
    }

    /// Whether it tests for a value that is not zero.
    pub fn tests_not_zero(&self) -> bool {
        bits(self.token, 18, 1) == 1
    }

    /// What the extended tokens say.
    pub fn extension(&self) -> Extension {
        let mut extension = Extension::default();
        if self.is_long() {
            return extension;
        }
        for token in &self.extended {
            match bits(*token, 0, 6) {
                SAMPLE_CONTROLS => extension.offsets = Some([9, 13, 17].map(|shift| nibble(*token, shift))),
                RESOURCE_DIMENSION => extension.dimension = Some((bits(*token, 6, 5), bits(*token, 11, 12))),
                RESOURCE_RETURN_TYPE => extension.return_types = Some(return_types(*token, 6)),
                _ => {}
            }
        }
        extension
    }
}
