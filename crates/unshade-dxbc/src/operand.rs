//! Operands of Shader Model 4 to 5.1.
//!
//! | bits of the first token | meaning |
//! |---|---|
//! | 0 to 1 | components: 0 none, 1 one, 2 four |
//! | 2 to 3 | of four components: 0 mask, 1 swizzle, 2 select |
//! | 4 to 11 | the mask (4 bits), the swizzle (2 bits each), the component (2 bits) |
//! | 12 to 19 | kind |
//! | 20 to 21 | number of indices |
//! | 22 to 24, 25 to 27, 28 to 30 | encoding of each index |
//! | 31 | an extended token follows |
//!
//! | bits of an extended token | meaning |
//! |---|---|
//! | 0 to 5 | 1 modifier |
//! | 6 to 13 | 1 negated, 2 absolute, 3 both |
//! | 14 to 16 | minimum precision |
//! | 17 | non-uniform |
//! | 31 | another one follows |
//!
//! Immediate values or indices follow. An index is a 32-bit or 64-bit number, an operand, or the sum of both.
//!
//! Source: `d3d12TokenizedProgramFormat.hpp` of DirectX Shader Compiler.

use alloc::boxed::Box;
use alloc::vec::Vec;

unshade_core::open_enum! {
    /// What an operand refers to.
    pub struct OperandKind(u8) {
        TEMP = 0 => "r",
        INPUT = 1 => "v",
        OUTPUT = 2 => "o",
        INDEXABLE_TEMP = 3 => "x",
        IMMEDIATE32 = 4 => "l",
        IMMEDIATE64 = 5 => "d",
        SAMPLER = 6 => "s",
        RESOURCE = 7 => "t",
        CONSTANT_BUFFER = 8 => "cb",
        IMMEDIATE_CONSTANT_BUFFER = 9 => "icb",
        LABEL = 10 => "label",
        INPUT_PRIMITIVE_ID = 11 => "vPrim",
        OUTPUT_DEPTH = 12 => "oDepth",
        NULL = 13 => "null",
        RASTERIZER = 14 => "rasterizer",
        OUTPUT_COVERAGE_MASK = 15 => "oMask",
        STREAM = 16 => "m",
        FUNCTION_BODY = 17 => "fb",
        FUNCTION_TABLE = 18 => "ft",
        INTERFACE = 19 => "fp",
        FUNCTION_INPUT = 20 => "iv",
        FUNCTION_OUTPUT = 21 => "ov",
        OUTPUT_CONTROL_POINT_ID = 22 => "vOutputControlPointID",
        FORK_INSTANCE_ID = 23 => "vForkInstanceID",
        JOIN_INSTANCE_ID = 24 => "vJoinInstanceID",
        INPUT_CONTROL_POINT = 25 => "vicp",
        OUTPUT_CONTROL_POINT = 26 => "vocp",
        PATCH_CONSTANT = 27 => "vpc",
        DOMAIN_POINT = 28 => "vDomain",
        THIS_POINTER = 29 => "this",
        UNORDERED_ACCESS_VIEW = 30 => "u",
        GROUP_SHARED_MEMORY = 31 => "g",
        THREAD_ID = 32 => "vThreadID",
        THREAD_GROUP_ID = 33 => "vThreadGroupID",
        THREAD_ID_IN_GROUP = 34 => "vThreadIDInGroup",
        INPUT_COVERAGE_MASK = 35 => "vCoverage",
        THREAD_ID_IN_GROUP_FLATTENED = 36 => "vThreadIDInGroupFlattened",
        GEOMETRY_INSTANCE_ID = 37 => "vGSInstanceID",
        OUTPUT_DEPTH_GREATER_EQUAL = 38 => "oDepthGE",
        OUTPUT_DEPTH_LESS_EQUAL = 39 => "oDepthLE",
        CYCLE_COUNTER = 40 => "vCycleCounter",
        OUTPUT_STENCIL_REFERENCE = 41 => "oStencilRef",
        INNER_COVERAGE = 42 => "vInnerCoverage",
    }
}

/// The notation of the indices of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brackets {
    /// All without brackets: `vpc3`.
    Never,
    /// The first without, the others in brackets: `cb1[2]`.
    AfterFirst,
    /// All in brackets, if there are several: `v3`, `v[1][2]`.
    IfSeveral,
    /// In brackets if there is one; of several, the first without: `this[1]`.
    IfSingle,
}

impl OperandKind {
    /// Returns the notation of its indices.
    pub fn brackets(self) -> Brackets {
        match self {
            Self::INPUT | Self::OUTPUT | Self::INPUT_CONTROL_POINT | Self::OUTPUT_CONTROL_POINT => {
                Brackets::IfSeveral
            }
            Self::INDEXABLE_TEMP
            | Self::SAMPLER
            | Self::RESOURCE
            | Self::CONSTANT_BUFFER
            | Self::INTERFACE
            | Self::FUNCTION_INPUT
            | Self::FUNCTION_OUTPUT
            | Self::UNORDERED_ACCESS_VIEW => Brackets::AfterFirst,
            Self::THIS_POINTER => Brackets::IfSingle,
            _ => Brackets::Never,
        }
    }

    /// Returns its capitalized name, which Shader Model 5.1 uses for bound resources.
    pub fn capital_name(self) -> Option<&'static str> {
        Some(match self {
            Self::SAMPLER => "S",
            Self::RESOURCE => "T",
            Self::CONSTANT_BUFFER => "CB",
            Self::UNORDERED_ACCESS_VIEW => "U",
            _ => return None,
        })
    }

    /// Returns whether a function number in brackets can follow it.
    pub(crate) fn brackets_function(self) -> bool {
        self == Self::INTERFACE
    }

    /// Returns whether the operand holds its value itself.
    pub fn is_immediate(self) -> bool {
        matches!(self, Self::IMMEDIATE32 | Self::IMMEDIATE64)
    }

    /// Returns whether compilers declare it without components.
    pub(crate) fn is_declared_without_components(self) -> bool {
        !matches!(self, Self::OUTPUT_DEPTH | Self::OUTPUT_DEPTH_GREATER_EQUAL | Self::OUTPUT_DEPTH_LESS_EQUAL)
    }

    /// Returns the component bits of an operand that is written without components.
    pub(crate) fn bare_components(self) -> u32 {
        let scalar = matches!(
            self,
            Self::INPUT_PRIMITIVE_ID
                | Self::OUTPUT_DEPTH
                | Self::OUTPUT_COVERAGE_MASK
                | Self::OUTPUT_CONTROL_POINT_ID
                | Self::FORK_INSTANCE_ID
                | Self::JOIN_INSTANCE_ID
                | Self::INPUT_COVERAGE_MASK
                | Self::THREAD_ID_IN_GROUP_FLATTENED
                | Self::GEOMETRY_INSTANCE_ID
                | Self::OUTPUT_DEPTH_GREATER_EQUAL
                | Self::OUTPUT_DEPTH_LESS_EQUAL
                | Self::OUTPUT_STENCIL_REFERENCE
                | Self::INNER_COVERAGE
        );
        u32::from(scalar)
    }
}

/// The component selection of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Components {
    /// No components.
    None,
    /// One component.
    One,
    /// A write mask, one bit per component.
    Mask(u8),
    /// Four components in any order.
    Swizzle([u8; 4]),
    /// One of four components.
    Select(u8),
    /// An encoding without a meaning.
    Unknown,
}

/// Extracts a bit field.
pub(crate) fn bits(token: u32, shift: u32, width: u32) -> u32 {
    let mask = 1u32.checked_shl(width).map_or(u32::MAX, |bit| bit.wrapping_sub(1));
    token.checked_shr(shift).unwrap_or(0) & mask
}

/// Extracts a bit field of at most eight bits.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn byte(token: u32, shift: u32, width: u32) -> u8 {
    bits(token, shift, width) as u8
}

unshade_core::open_enum! {
    /// The encoding of an index.
    pub struct IndexForm(u8) {
        IMMEDIATE32 = 0 => "number",
        IMMEDIATE64 = 1 => "64-bit number",
        RELATIVE = 2 => "operand",
        IMMEDIATE32_PLUS_RELATIVE = 3 => "number and operand",
        IMMEDIATE64_PLUS_RELATIVE = 4 => "64-bit number and operand",
    }
}

impl IndexForm {
    /// Returns the number of tokens of its number, and whether an operand follows; `None` for an unknown encoding.
    pub fn parts(self) -> Option<(u8, bool)> {
        Some(match self {
            Self::IMMEDIATE32 => (1, false),
            Self::IMMEDIATE64 => (2, false),
            Self::RELATIVE => (0, true),
            Self::IMMEDIATE32_PLUS_RELATIVE => (1, true),
            Self::IMMEDIATE64_PLUS_RELATIVE => (2, true),
            _ => return None,
        })
    }
}

/// An index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The number; zero if there is none.
    pub number: u64,
    /// The operand that is added, if there is one.
    pub relative: Option<Box<Operand>>,
}

/// An operand. Its tokens are kept as they are; the methods decode them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operand {
    /// The first token.
    pub token: u32,
    /// The extended tokens.
    pub extended: Vec<u32>,
    /// The indices; [`Operand::dimensions`] of them are used.
    pub indices: [Index; 3],
    /// The values of an immediate operand; [`Operand::immediate_count`] of them are used.
    pub immediate: [u32; 4],
}

impl Operand {
    /// Returns what it refers to.
    pub fn kind(&self) -> OperandKind {
        OperandKind(byte(self.token, 12, 8))
    }

    /// Returns its component selection.
    pub fn components(&self) -> Components {
        match (bits(self.token, 0, 2), bits(self.token, 2, 2)) {
            (0, _) => Components::None,
            (1, _) => Components::One,
            (2, 0) => Components::Mask(byte(self.token, 4, 4)),
            (2, 1) => Components::Swizzle([
                byte(self.token, 4, 2),
                byte(self.token, 6, 2),
                byte(self.token, 8, 2),
                byte(self.token, 10, 2),
            ]),
            (2, 2) => Components::Select(byte(self.token, 4, 2)),
            _ => Components::Unknown,
        }
    }

    /// Returns the number of indices.
    pub fn dimensions(&self) -> usize {
        if self.kind().is_immediate() { 0 } else { usize::from(byte(self.token, 20, 2)) }
    }

    /// Returns the indices in use.
    pub fn used_indices(&self) -> &[Index] {
        self.indices.get(..self.dimensions()).unwrap_or_default()
    }

    /// Returns the encoding of an index.
    pub fn index_form(&self, dimension: usize) -> IndexForm {
        IndexForm(byte(self.token, index_shift(dimension), 3))
    }

    /// Returns the number of immediate values.
    pub fn immediate_count(&self) -> usize {
        match (self.kind().is_immediate(), bits(self.token, 0, 2)) {
            (true, 1) => 1,
            (true, 2) => 4,
            _ => 0,
        }
    }

    /// Returns the immediate values.
    pub fn values(&self) -> &[u32] {
        self.immediate.get(..self.immediate_count()).unwrap_or_default()
    }

    /// Returns the first extended token with modifiers.
    fn modifier_token(&self) -> Option<u32> {
        self.extended.iter().copied().find(|token| bits(*token, 0, 6) == EXTENDED_MODIFIER)
    }

    /// Returns whether it is negated.
    pub fn is_negated(&self) -> bool {
        self.modifier_token().is_some_and(|token| matches!(bits(token, 6, 8), 1 | 3))
    }

    /// Returns whether its absolute value is taken.
    pub fn is_absolute(&self) -> bool {
        self.modifier_token().is_some_and(|token| matches!(bits(token, 6, 8), 2 | 3))
    }

    /// Returns its minimum precision, by number.
    pub fn precision(&self) -> u32 {
        self.modifier_token().map_or(0, |token| bits(token, 14, 3))
    }

    /// Returns whether its index may differ between threads.
    pub fn is_non_uniform(&self) -> bool {
        self.modifier_token().is_some_and(|token| bits(token, 17, 1) == 1)
    }
}

/// The type of an extended token with modifiers.
pub(crate) const EXTENDED_MODIFIER: u32 = 1;

/// Returns the position of the index encoding in the first token.
pub(crate) fn index_shift(dimension: usize) -> u32 {
    match dimension {
        0 => 22,
        1 => 25,
        _ => 28,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_first_token() {
        let operand = Operand { token: 0x0020_8e46, ..Operand::default() };
        assert_eq!(operand.kind(), OperandKind::CONSTANT_BUFFER);
        assert_eq!(operand.components(), Components::Swizzle([0, 1, 2, 3]));
        assert_eq!(operand.dimensions(), 2);
        assert_eq!(operand.index_form(1), IndexForm::IMMEDIATE32);
        let mask = Operand { token: 0x0010_0032, ..Operand::default() };
        assert_eq!(mask.components(), Components::Mask(3));
        let select = Operand { token: 0x0010_002a, ..Operand::default() };
        assert_eq!(select.components(), Components::Select(2));
    }
}
