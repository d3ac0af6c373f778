//! The first tokens of instructions and operands that text implies.
//!
//! FXC's text does not show whether `.x` is a mask or a selected component, nor which encoding an index has. For what
//! the text leaves open, the assembler emits the tokens that compilers write, which these functions compute. Where a
//! program has other tokens, the printer, which compares with the same functions, adds them in angle brackets:
//! `r0.x<0x00100012>`.

use crate::names::{
    DIMENSIONS, DOMAINS, FIRST_PATCH, INTERPOLATIONS, Names, OUTPUT_PRIMITIVES, PARTITIONINGS, PATCHES,
    PRIMITIVES, SAMPLER_MODES, TOPOLOGIES, is_multisampled, name_of,
};
use crate::opcode::Controls;
use crate::operand::bits;
use crate::operand::{EXTENDED_MODIFIER, Index, IndexForm, Operand, OperandKind, index_shift};
use crate::program::{Extension, RESOURCE_DIMENSION, RESOURCE_RETURN_TYPE, SAMPLE_CONTROLS};
use alloc::vec::Vec;

/// The role of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// It is written.
    Destination,
    /// It is read.
    Source,
    /// It is declared.
    Declared {
        /// Whether bindings have ranges, as from Shader Model 5.1 on.
        ranges: bool,
    },
}

/// The component bits of the swizzle `xyzw`.
pub(crate) const IDENTITY: u32 = 0xe46;

/// Returns the component bits (0 to 11) that written components imply, or `None` for a spelling that no bits give.
pub(crate) fn components(kind: OperandKind, letters: Option<&str>, position: Position) -> Option<u32> {
    let Some(letters) = letters else {
        let bound = kind.capital_name().is_some();
        return Some(match position {
            Position::Declared { ranges } if bound && (ranges || kind == OperandKind::CONSTANT_BUFFER) => {
                IDENTITY
            }
            Position::Declared { .. } if kind.is_declared_without_components() => 0,
            _ => kind.bare_components(),
        });
    };
    let mut numbers = [0u32; 4];
    let count = letters.chars().count();
    for (index, letter) in letters.chars().enumerate() {
        let number = "xyzw".find(letter)?;
        *numbers.get_mut(index)? = u32::try_from(number).ok()?;
    }
    if position == Position::Source && count == 1 {
        return Some(2 | 2 << 2 | numbers[0] << 4);
    }
    if position == Position::Source && count == 4 {
        let [x, y, z, w] = numbers;
        return Some(2 | 1 << 2 | x << 4 | y << 6 | z << 8 | w << 10);
    }
    let used = numbers.get(..count)?;
    if !used.is_sorted_by(|first, second| first < second) {
        return None;
    }
    let mask = used.iter().fold(0, |mask, number| mask | 16u32 << number);
    Some(2 | mask)
}

/// Returns the encoding that an index implies as it is written.
pub(crate) fn index_form(index: &Index) -> IndexForm {
    match (&index.relative, index.number) {
        (None, number) if u32::try_from(number).is_err() => IndexForm::IMMEDIATE64,
        (None, _) => IndexForm::IMMEDIATE32,
        (Some(_), 0) => IndexForm::RELATIVE,
        (Some(_), number) if u32::try_from(number).is_err() => IndexForm::IMMEDIATE64_PLUS_RELATIVE,
        (Some(_), _) => IndexForm::IMMEDIATE32_PLUS_RELATIVE,
    }
}

/// Modifiers of an operand in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modifiers {
    pub(crate) negated: bool,
    pub(crate) absolute: bool,
    pub(crate) precision: u32,
    pub(crate) non_uniform: bool,
}

impl Modifiers {
    pub(crate) fn of(operand: &Operand) -> Self {
        Self {
            negated: operand.is_negated(),
            absolute: operand.is_absolute(),
            precision: operand.precision(),
            non_uniform: operand.is_non_uniform(),
        }
    }

    /// Returns the extended token that encodes them, if one is needed.
    pub(crate) fn token(self) -> Option<u32> {
        let modifier = u32::from(self.negated) | u32::from(self.absolute) << 1;
        let token = modifier << 6 | self.precision << 14 | u32::from(self.non_uniform) << 17;
        (token != 0).then_some(token | EXTENDED_MODIFIER)
    }
}

/// Returns the first token that an operand implies, given its component bits.
pub(crate) fn operand_token(kind: OperandKind, components: u32, indices: &[Index], extended: bool) -> u32 {
    let mut token = components | u32::from(kind.0) << 12 | u32::from(extended) << 31;
    for (dimension, index) in indices.iter().enumerate() {
        token |= u32::from(index_form(index).0) << index_shift(dimension);
    }
    token | u32::try_from(indices.len()).unwrap_or(0) << 20
}

/// Returns the extended tokens that an extension implies.
pub(crate) fn extension_tokens(extension: &Extension) -> Vec<u32> {
    let mut tokens = Vec::new();
    if let Some(offsets) = extension.offsets {
        let [u, v, w] = offsets.map(|offset| u32::from(offset.cast_unsigned()) & 15);
        tokens.push(SAMPLE_CONTROLS | u << 9 | v << 13 | w << 17);
    }
    if let Some((dimension, stride)) = extension.dimension {
        tokens.push(RESOURCE_DIMENSION | dimension << 6 | stride << 11);
    }
    if let Some([x, y, z, w]) = extension.return_types {
        tokens.push(RESOURCE_RETURN_TYPE | x << 6 | y << 10 | z << 14 | w << 18);
    }
    let last = tokens.len().saturating_sub(1);
    for token in tokens.get_mut(..last).unwrap_or_default() {
        *token |= 1 << 31;
    }
    tokens
}

/// Returns a mask of `width` bits at `shift`.
fn field(shift: u32, width: u32) -> u32 {
    bits(u32::MAX, 0, width) << shift
}

/// Returns the control bits of an opcode token that its text expresses.
pub(crate) fn written_controls(controls: Controls, token: u32) -> u32 {
    let named = |names: Names, width| name_of(names, bits(token, 11, width)).map_or(0, |_| field(11, width));
    let arithmetic = field(13, 1) | field(19, 4);
    let view = field(16, 2) | field(23, 1);
    let dimension = named(DIMENSIONS, 5);
    match controls {
        Controls::Plain | Controls::CustomData => 0,
        Controls::Arithmetic => arithmetic,
        Controls::Test => arithmetic | field(18, 1),
        Controls::Sync => arithmetic | field(11, 4),
        Controls::ResourceInfo if matches!(bits(token, 11, 2), 1 | 2) => arithmetic | field(11, 2),
        Controls::SampleInfo if bits(token, 11, 2) == 1 => arithmetic | field(11, 2),
        Controls::ResourceInfo | Controls::SampleInfo => arithmetic,
        Controls::GlobalFlags => field(11, 9),
        Controls::Resource if is_multisampled(bits(token, 11, 5)) => dimension | field(16, 7),
        Controls::Resource => dimension,
        Controls::TypedView => dimension | view,
        Controls::View => view,
        Controls::Sampler => named(SAMPLER_MODES, 4),
        Controls::ConstantBuffer | Controls::Interface => field(11, 1),
        Controls::Interpolation => named(INTERPOLATIONS, 4),
        Controls::Primitive
            if (FIRST_PATCH..FIRST_PATCH.wrapping_add(PATCHES)).contains(&bits(token, 11, 6)) =>
        {
            field(11, 6)
        }
        Controls::Primitive => named(PRIMITIVES, 6),
        Controls::Topology => named(TOPOLOGIES, 6),
        Controls::ControlPoints => field(11, 6),
        Controls::Domain => named(DOMAINS, 2),
        Controls::Partitioning => named(PARTITIONINGS, 3),
        Controls::OutputPrimitive => named(OUTPUT_PRIMITIVES, 3),
    }
}
