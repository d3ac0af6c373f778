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
//! | 24 to 30 | length in tokens, including this one |
//! | 31 | an extended token follows |
//!
//! | bits of an extended token | meaning |
//! |---|---|
//! | 0 to 5 | 1 texel offsets, 2 resource dimension, 3 resource return types |
//! | 9 to 12, 13 to 16, 17 to 20 | 1: offsets, signed |
//! | 6 to 10, 11 to 22 | 2: dimension, size of a structure |
//! | 6 to 9 and so on | 3: the types |
//! | 31 | another one follows |
//!
//! Custom data has its class in bits 11 to 31 and its length in the next token.
//!
//! Source: `d3d12TokenizedProgramFormat.hpp` of DirectX Shader Compiler.

use crate::names::{PROGRAM_KINDS, name_of};
use crate::opcode::Opcode;
use crate::operand::{Operand, bits};
use alloc::vec::Vec;

/// The version token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version(pub u32);

/// The kind of library functions.
pub(crate) const LIBRARY: u32 = 0xfff0;

impl Version {
    /// Returns the major and minor shader model.
    pub fn model(self) -> (u32, u32) {
        (bits(self.0, 4, 4), bits(self.0, 0, 4))
    }

    /// Returns the kind of program.
    pub fn kind(self) -> u32 {
        bits(self.0, 16, 16)
    }

    /// Returns the prefix of the profile: `ps`, `vs` and so on.
    pub fn kind_name(self) -> Option<&'static str> {
        if self.kind() == LIBRARY { Some("lib") } else { name_of(PROGRAM_KINDS, self.kind()) }
    }

    /// Returns whether bindings have spaces and ranges, as from Shader Model 5.1 on.
    pub fn has_spaces(self) -> bool {
        self.model() >= (5, 1)
    }
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The version token.
    pub version: Version,
    /// The length in tokens that the second token declares.
    pub length: u32,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The bytes after the last instruction.
    pub trailing: Vec<u8>,
}

/// An instruction, a declaration, or custom data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// Its position in the program, in tokens.
    pub position: u32,
    /// The opcode token. Its length is updated when the program is written.
    pub token: u32,
    /// The extended opcode tokens; for a long declaration, its length.
    pub extended: Vec<u32>,
    /// The operands.
    pub operands: Vec<Operand>,
    /// The values that are not operands, in the order of the opcode's letters; the contents of custom data.
    pub values: Vec<u32>,
    /// Tokens that the opcode has no use for.
    pub rest: Vec<u32>,
}

/// The decoded extended opcode tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// Texel offsets.
    pub offsets: Option<[i8; 3]>,
    /// Dimension of the resource, and the stride of its structures.
    pub dimension: Option<(u32, u32)>,
    /// Return types of the resource.
    pub return_types: Option<[u32; 4]>,
}

/// The types of extended opcode tokens.
pub(crate) const SAMPLE_CONTROLS: u32 = 1;
pub(crate) const RESOURCE_DIMENSION: u32 = 2;
pub(crate) const RESOURCE_RETURN_TYPE: u32 = 3;

/// Returns the four return types that a token holds from bit `shift` on.
pub(crate) fn return_types(token: u32, shift: u32) -> [u32; 4] {
    [0, 4, 8, 12].map(|step| bits(token, shift.saturating_add(step), 4))
}

/// Returns a signed 4-bit number.
fn nibble(token: u32, shift: u32) -> i8 {
    let value = crate::operand::byte(token, shift, 4);
    if value < 8 { value.cast_signed() } else { (value | 0xf0).cast_signed() }
}

impl Instruction {
    /// Returns the opcode.
    pub fn opcode(&self) -> Opcode {
        Opcode::of(self.token)
    }

    /// Returns its size in tokens.
    pub fn size_in_tokens(&self) -> u64 {
        let mut tokens = Vec::new();
        // The error is that its length does not fit the opcode token; its tokens are all there.
        let _ = self.write(&mut tokens);
        tokens.len() as u64
    }

    /// Returns whether an extended token follows its opcode token.
    pub fn is_extended(&self) -> bool {
        bits(self.token, 31, 1) == 1 && self.opcode() != Opcode::CUSTOM_DATA
    }

    /// Returns the class of custom data.
    pub fn custom_data_class(&self) -> u32 {
        bits(self.token, 11, 21)
    }

    /// Returns whether its length is in a token of its own, as that of a long declaration.
    pub fn is_long(&self) -> bool {
        self.is_extended() && self.opcode().may_be_long()
    }

    /// Returns whether its length is in its second token: it is a long declaration or custom data.
    pub(crate) fn has_own_length(&self) -> bool {
        self.opcode() == Opcode::CUSTOM_DATA || self.is_long()
    }

    /// Returns the opcode token without its length. If the length is elsewhere, these bits have no meaning and are
    /// kept.
    pub fn token_without_length(&self) -> u32 {
        if self.is_long() { self.token } else { self.token & !(0x7f << 24) }
    }

    /// Returns whether its result is saturated.
    pub fn is_saturated(&self) -> bool {
        bits(self.token, 13, 1) == 1
    }

    /// Returns the precise components, one bit each.
    pub fn precise(&self) -> u32 {
        bits(self.token, 19, 4)
    }

    /// Returns whether it tests for a nonzero value.
    pub fn tests_not_zero(&self) -> bool {
        bits(self.token, 18, 1) == 1
    }

    /// Decodes the extended tokens.
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
