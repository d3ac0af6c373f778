//! Operands of Shader Model 1 to 3.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 to 10 | register number |
//! | 28 to 30, 11 to 12 | lower and upper bits of the register kind |
//! | 13 | relative addressing; the address token follows from version 2 on |
//! | 14 to 15 | minimum precision |
//! | 16 to 19, 20 to 23, 24 to 27 | destination: write mask; saturate, partial precision, centroid; shift |
//! | 16 to 23, 24 to 27 | source: swizzle; modifier |
//! | 31 | set in every operand |
//!
//! Sources: Microsoft's reference of the Direct3D shader codes; FXC's text for every kind of register for the names.

use super::program::Version;
use crate::operand::bits;
use alloc::string::String;
use core::fmt::Write;

/// The bit that every operand has set.
pub(super) const IS_OPERAND: u32 = 1 << 31;
/// The bit of relative addressing.
pub(super) const IS_RELATIVE: u32 = 1 << 13;

/// A register kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterKind(pub u32);

impl RegisterKind {
    /// `r`: temporaries.
    pub const TEMPORARY: Self = Self(0);
    /// `v`: inputs.
    pub const INPUT: Self = Self(1);
    /// `c`: float constants.
    pub const CONSTANT: Self = Self(2);
    /// `a` of vertex shaders: addresses; `t` of pixel shaders: texture coordinates.
    pub const ADDRESS: Self = Self(3);
    /// Position, fog and point size of vertex shaders before version 3.
    pub const RASTERIZER: Self = Self(4);
    /// `oD`: colors of vertex shaders before version 3.
    pub const ATTRIBUTE: Self = Self(5);
    /// `oT`: texture coordinates of vertex shaders before version 3; `o` from then on.
    pub const OUTPUT: Self = Self(6);
    /// `i`: integer constants.
    pub const INTEGER: Self = Self(7);
    /// `oC`: output colors of pixel shaders.
    pub const COLOR: Self = Self(8);
    /// `oDepth`.
    pub const DEPTH: Self = Self(9);
    /// `s`: samplers.
    pub const SAMPLER: Self = Self(10);
    /// The first of three kinds for float constants beyond 2047.
    pub const CONSTANT_2: Self = Self(11);
    /// The last of them.
    pub const CONSTANT_4: Self = Self(13);
    /// `b`: boolean constants.
    pub const BOOL: Self = Self(14);
    /// `aL`: the loop counter.
    pub const LOOP: Self = Self(15);
    /// `x`: half-precision floats.
    pub const HALF: Self = Self(16);
    /// Position and face of a pixel.
    pub const MISCELLANEOUS: Self = Self(17);
    /// `l`: subroutines.
    pub const LABEL: Self = Self(18);
    /// `p`: predicates.
    pub const PREDICATE: Self = Self(19);

    /// Returns the prefix of its names in a version, and whether a number follows.
    pub fn prefix(self, version: Version) -> (&'static str, bool) {
        match self {
            Self::TEMPORARY => ("r", true),
            Self::INPUT => ("v", true),
            Self::CONSTANT | Self::CONSTANT_2 | Self(12) | Self::CONSTANT_4 => ("c", true),
            Self::ADDRESS if version.is_pixel() => ("t", true),
            Self::ADDRESS => ("a", true),
            Self::RASTERIZER => ("oX", true),
            Self::ATTRIBUTE => ("oD", true),
            Self::OUTPUT if version.major() >= 3 => ("o", true),
            Self::OUTPUT => ("oT", true),
            Self::INTEGER => ("i", true),
            Self::COLOR => ("oC", true),
            Self::DEPTH => ("oDepth", false),
            Self::SAMPLER => ("s", true),
            Self::BOOL => ("b", true),
            Self::LOOP => ("aL", false),
            Self::MISCELLANEOUS => ("m", true),
            Self::LABEL => ("l", true),
            Self::PREDICATE => ("p", true),
            _ => ("x", true),
        }
    }

    /// Number of kinds that a token can encode.
    pub const COUNT: u32 = 32;
}

/// Registers with special names.
const NAMED: [(RegisterKind, u32, &str); 5] = [
    (RegisterKind::RASTERIZER, 0, "oPos"),
    (RegisterKind::RASTERIZER, 1, "oFog"),
    (RegisterKind::RASTERIZER, 2, "oPts"),
    (RegisterKind::MISCELLANEOUS, 0, "vPos"),
    (RegisterKind::MISCELLANEOUS, 1, "vFace"),
];

/// Number of constants per constant register kind.
const CONSTANTS: u32 = 2048;

/// An operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operand {
    /// Its token.
    pub token: u32,
    /// The token of its address register, from version 2 on.
    pub relative: Option<u32>,
}

impl Operand {
    /// Returns the register kind.
    pub fn kind(&self) -> RegisterKind {
        RegisterKind(bits(self.token, 28, 3) | bits(self.token, 11, 2) << 3)
    }

    /// Returns the register number.
    pub fn number(&self) -> u32 {
        bits(self.token, 0, 11)
    }

    /// Returns whether it is relatively addressed.
    pub fn is_relative(&self) -> bool {
        self.token & IS_RELATIVE != 0
    }

    /// Returns its address register in a version: in version 1 always `a0.x`.
    pub fn address(&self, version: Version) -> Option<Self> {
        let first = if version.has_lengths() { None } else { Some(FIRST_ADDRESS) };
        let token = self.relative.or(first.filter(|_| self.is_relative()))?;
        Some(Self { token, relative: None })
    }

    /// Returns the number of the float constant, if it is one.
    pub fn constant(&self) -> Option<u32> {
        let kind = self.kind();
        match kind {
            RegisterKind::CONSTANT => Some(self.number()),
            RegisterKind(11..=13) => {
                Some(self.number().wrapping_add(kind.0.wrapping_sub(10).wrapping_mul(CONSTANTS)))
            }
            _ => None,
        }
    }

    /// Returns the minimum precision: 1 for 16 bits, 2 for 10 bits, 0 for that of the register.
    pub fn precision(&self) -> u32 {
        bits(self.token, 14, 2)
    }

    /// Returns the write mask of a destination.
    pub fn mask(&self) -> u32 {
        bits(self.token, 16, 4)
    }

    /// Returns the modifiers of a destination, one bit each: saturate, partial precision, centroid.
    pub fn result_modifiers(&self) -> u32 {
        bits(self.token, 20, 4)
    }

    /// Returns the shift of a destination: a signed 4-bit power of two.
    pub fn shift(&self) -> u32 {
        bits(self.token, 24, 4)
    }

    /// Returns the swizzle of a source.
    pub fn swizzle(&self) -> [u8; 4] {
        [16, 18, 20, 22].map(|shift| u8::try_from(bits(self.token, shift, 2)).unwrap_or(0))
    }

    /// Returns the modifier of a source.
    pub fn source_modifier(&self) -> u32 {
        bits(self.token, 24, 4)
    }

    /// Appends the name of the register.
    pub fn write_register(&self, version: Version, out: &mut String) {
        let (kind, number) = (self.kind(), self.number());
        if let Some((_, _, name)) = NAMED.iter().find(|named| (named.0, named.1) == (kind, number)) {
            out.push_str(name);
            return;
        }
        let (prefix, is_numbered) = kind.prefix(version);
        out.push_str(prefix);
        if is_numbered {
            // Writing to a string can't fail.
            let _ = write!(out, "{}", self.constant().unwrap_or(number));
        }
    }

    /// Returns the kind and number bits of the register with a name.
    pub fn parse_register(name: &str, version: Version) -> Option<u32> {
        if let Some((kind, number, _)) = NAMED.iter().find(|(_, _, known)| *known == name) {
            return Some(register_bits(*kind, *number));
        }
        let digits = name.find(|character: char| character.is_ascii_digit()).unwrap_or(name.len());
        let (letters, digits) = name.split_at_checked(digits)?;
        let mut kinds = (0..=RegisterKind::PREDICATE.0).map(RegisterKind);
        let kind = kinds.find(|kind| kind.prefix(version) == (letters, !digits.is_empty()))?;
        let number: u32 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        if kind != RegisterKind::CONSTANT {
            return (number < CONSTANTS).then(|| register_bits(kind, number));
        }
        let page = number.checked_div(CONSTANTS)?;
        let kind = match page {
            0 => RegisterKind::CONSTANT,
            1..=3 => RegisterKind(page.wrapping_add(10)),
            _ => return None,
        };
        Some(register_bits(kind, number % CONSTANTS))
    }
}

/// The token of `a0.x`.
const FIRST_ADDRESS: u32 = IS_OPERAND | 3 << 28;

/// Returns the kind and number bits of a register, without the bit that every operand has.
pub fn register_bits(kind: RegisterKind, number: u32) -> u32 {
    bits(kind.0, 0, 3) << 28 | bits(kind.0, 3, 2) << 11 | bits(number, 0, 11)
}

/// The swizzle `xyzw`.
pub(super) const IDENTITY: [u8; 4] = [0, 1, 2, 3];

/// Source modifiers, by number: the text before and after the register.
pub(super) const SOURCE_MODIFIERS: [(&str, &str); 14] = [
    ("", ""),
    ("-", ""),
    ("", "_bias"),
    ("-", "_bias"),
    ("", "_bx2"),
    ("-", "_bx2"),
    ("1-", ""),
    ("", "_x2"),
    ("-", "_x2"),
    ("", "_dz"),
    ("", "_dw"),
    ("", "_abs"),
    ("-", "_abs"),
    ("!", ""),
];

/// Destination modifiers: the bit and the suffix of the mnemonic, in the order of the text.
pub(super) const RESULT_MODIFIERS: [(u32, &str); 3] = [(1, "sat"), (2, "pp"), (4, "centroid")];

/// Destination shifts: the number and the suffix of the mnemonic.
pub(super) const SHIFTS: [(u32, &str); 6] =
    [(1, "x2"), (2, "x4"), (3, "x8"), (13, "d8"), (14, "d4"), (15, "d2")];

/// Minimum precisions, by number.
pub(super) const PRECISIONS: crate::names::Names = &["", "min16f", "min2_8f"];

/// Usages of declared registers, by number.
pub const USAGES: crate::names::Names = &[
    "position",
    "blendweight",
    "blendindices",
    "normal",
    "psize",
    "texcoord",
    "tangent",
    "binormal",
    "tessfactor",
    "positiont",
    "color",
    "fog",
    "depth",
    "sample",
];

/// Texture kinds, by number.
pub const TEXTURES: crate::names::Names = &["", "", "2d", "cube", "volume"];
