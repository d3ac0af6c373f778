//! Signatures: their elements, and which element a component of a register belongs to.
//!
//! A container has an entry for each row. Rows are joined to one element where the program indexes them
//! (`dcl_indexrange`), where the language only has arrays (tessellation factors), and where only rows of an array or
//! matrix lie like this: FXC packs two separate elements of up to two columns into one register.

use super::{LiftError, part};
use unshade_dxcontainer::signature::{ComponentType, MinPrecision, Signature};
use unshade_dxcontainer::{Container, PartData, signature};
use unshade_ir::shader::data_type::{Scalar, ScalarKind};
use unshade_ir::shader::interface::Element;

/// The elements of a signature.
#[derive(Debug, Default)]
pub(super) struct Elements {
    pub(super) list: Vec<Element>,
}

/// A component of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// The number of the element.
    pub(super) element: usize,
    pub(super) row: u32,
    /// The column, from the first one of the element on.
    pub(super) column: u8,
}

/// Registers that the program indexes: the first one, their number, and the mask.
pub(super) type Range = (u32, u32, u8);

impl Elements {
    /// Reads the first part with one of these names.
    pub(super) fn read(
        container: &Container<'_>,
        names: &[[u8; 4]],
        is_output: bool,
        ranges: &[Range],
    ) -> Result<Self, LiftError> {
        let Some(PartData::Signature(signature)) = part(container, names)? else {
            return Ok(Self::default());
        };
        Ok(Self::of(&signature, is_output, ranges))
    }

    /// Converts a signature.
    fn of(signature: &Signature, is_output: bool, ranges: &[Range]) -> Self {
        let mut list: Vec<Element> = Vec::new();
        for entry in &signature.elements {
            let element = element(entry, is_output);
            let is_alone = |register: u32| {
                signature.elements.iter().filter(|other| other.core.register == register).count() == 1
            };
            let joined = list.iter_mut().find(|earlier| {
                continues(earlier, &element, ranges) || is_apart(earlier, &element, &is_alone)
            });
            match joined {
                Some(earlier) => {
                    earlier.indices.extend_from_slice(&element.indices);
                    earlier.used |= element.used;
                }
                None => list.push(element),
            }
        }
        Self { list }
    }

    /// Finds the element of a component of a register; of several streams, that of `stream` if it has one.
    pub(super) fn find(&self, register: u32, component: u8, stream: Option<u32>) -> Option<Place> {
        let in_stream = self.position(register, component, |element| Some(element.stream) == stream);
        in_stream.or_else(|| self.position(register, component, |_| true))
    }

    fn position(&self, register: u32, component: u8, is_wanted: impl Fn(&Element) -> bool) -> Option<Place> {
        self.list.iter().enumerate().find_map(|(number, element)| {
            let row = register.checked_sub(element.register?)?;
            let column = component.checked_sub(element.column)?;
            let is_inside = (row as usize) < element.rows() && column < element.columns;
            (is_inside && is_wanted(element)).then_some(Place { element: number, row, column })
        })
    }

    /// Finds the element without a register that has a semantic.
    pub(super) fn named(&self, semantic: &str) -> Option<Place> {
        let element = self.list.iter().position(|element| element.semantic.eq_ignore_ascii_case(semantic))?;
        Some(Place { element, row: 0, column: 0 })
    }
}

fn element(entry: &signature::Element, is_output: bool) -> Element {
    let core = &entry.core;
    let column = if core.mask & 15 == 0 { 0 } else { core.mask.trailing_zeros() as u8 };
    let columns = ((core.mask & 15) >> column).trailing_ones().max(1) as u8;
    // Of outputs, the mask has the components that are never written.
    let used = if is_output { core.mask & !core.exclusive_mask } else { core.exclusive_mask };
    Element {
        semantic: entry.name.to_string_lossy(),
        indices: vec![core.index],
        columns,
        scalar: scalar(core.component_type, entry.min_precision),
        interpolation: "",
        stream: entry.stream,
        register: (core.register != u32::MAX).then_some(core.register),
        column,
        used: (used & 15) >> column,
    }
}

fn scalar(ty: ComponentType, precision: MinPrecision) -> Scalar {
    let (kind, bits) = match ty {
        ComponentType::UINT32 => (ScalarKind::Unsigned, 32),
        ComponentType::SINT32 => (ScalarKind::Signed, 32),
        ComponentType::UINT16 => (ScalarKind::Unsigned, 16),
        ComponentType::SINT16 => (ScalarKind::Signed, 16),
        ComponentType::FLOAT16 => (ScalarKind::Float, 16),
        ComponentType::UINT64 => (ScalarKind::Unsigned, 64),
        ComponentType::SINT64 => (ScalarKind::Signed, 64),
        ComponentType::FLOAT64 => (ScalarKind::Float, 64),
        _ => (ScalarKind::Float, 32),
    };
    if precision == MinPrecision::DEFAULT {
        Scalar::new(kind, bits)
    } else {
        Scalar { kind, bits: 16, is_minimum: true }
    }
}

/// Returns whether an element is in a register of its own, although it would fit into that of the row before it.
fn is_apart(earlier: &Element, next: &Element, is_alone: &dyn Fn(u32) -> bool) -> bool {
    let last = earlier.register.and_then(|start| start.checked_add(earlier.rows() as u32 - 1));
    let (Some(last), Some(register)) = (last, next.register) else { return false };
    let fits = next.column == 0 && 2 * next.columns <= 4;
    fits && is_next_row(earlier, next) && is_alone(last) && is_alone(register)
}

/// Returns whether an element looks like the next row of another one.
fn is_next_row(earlier: &Element, next: &Element) -> bool {
    let rows = earlier.rows() as u32;
    let (Some(start), Some(register)) = (earlier.register, next.register) else { return false };
    start.checked_add(rows) == Some(register)
        && earlier.semantic.eq_ignore_ascii_case(&next.semantic)
        && earlier.indices.last().and_then(|index| index.checked_add(1)) == next.indices.first().copied()
        && (earlier.column, earlier.columns, earlier.scalar, earlier.stream)
            == (next.column, next.columns, next.scalar, next.stream)
}

/// Returns whether an element is the next row of another one, which is indexed.
fn continues(earlier: &Element, next: &Element, ranges: &[Range]) -> bool {
    let (Some(start), Some(register)) = (earlier.register, next.register) else { return false };
    let mask = ((1u8 << next.columns) - 1) << next.column;
    let is_indexed = ranges.iter().any(|(first, count, range)| {
        *first <= start && register < first.saturating_add(*count) && range & mask != 0
    });
    is_next_row(earlier, next) && (is_indexed || is_factor(&next.semantic))
}

/// Returns whether a semantic is that of tessellation factors.
fn is_factor(semantic: &str) -> bool {
    ["SV_TessFactor", "SV_InsideTessFactor"].iter().any(|name| semantic.eq_ignore_ascii_case(name))
}
