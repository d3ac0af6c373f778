//! Reads the elements of an entry point's signatures.
//!
//! | operand | meaning |
//! |---|---|
//! | 0 | number |
//! | 1 | name |
//! | 2 | component type |
//! | 3 | kind of semantic, as [`SemanticKind`] |
//! | 4 | tuple of semantic indices, one per row |
//! | 5 | interpolation mode |
//! | 6, 7 | rows, columns |
//! | 8, 9 | first row and column in the registers; -1 if not allocated |
//! | 10 | tags: 0 stream, 2 mask of dynamically indexed components, 3 mask of used components |

use super::ComponentType;
use super::nodes::Nodes;
use crate::bytes::Text;
use crate::psv0::{Interpolation, SemanticKind};
use alloc::vec::Vec;
use unshade_llvm::MetadataId;

mod tag {
    pub(super) const STREAM: u32 = 0;
    pub(super) const DYNAMIC_MASK: u32 = 2;
    pub(super) const USED_MASK: u32 = 3;
}

/// An element of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureElement {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: Text,
    /// Component type.
    pub component_type: ComponentType,
    /// Kind of semantic.
    pub kind: SemanticKind,
    /// Semantic indices, one per row.
    pub indices: Vec<u32>,
    /// Interpolation mode.
    pub interpolation: Interpolation,
    /// Number of rows.
    pub rows: u32,
    /// Number of columns.
    pub columns: u8,
    /// First row, if allocated.
    pub start_row: Option<u32>,
    /// First column, if allocated.
    pub start_column: Option<u8>,
    /// Stream, for geometry shaders.
    pub stream: u32,
    /// Mask of dynamically indexed components.
    pub dynamic_mask: u8,
    /// Mask of used components; unknown before validator version 1.5.
    pub used_mask: u8,
}

impl SignatureElement {
    /// The mask of its components in its registers.
    pub fn register_mask(&self) -> u8 {
        self.in_register(!(0xffu8.checked_shl(self.columns.into()).unwrap_or(0)))
    }

    /// The mask of used components in its registers.
    pub fn used_register_mask(&self) -> u8 {
        self.in_register(self.used_mask)
    }

    fn in_register(&self, mask: u8) -> u8 {
        let first = self.start_row.and(self.start_column).unwrap_or_default();
        mask.checked_shl(first.into()).unwrap_or(0)
    }
}

fn byte(number: u32) -> u8 {
    number.to_le_bytes()[0]
}

/// Reads the elements of an operand that is a tuple; empty for null.
pub(super) fn read_all(nodes: &Nodes<'_, '_>, operand: Option<MetadataId>) -> Option<Vec<SignatureElement>> {
    let Some(id) = operand else { return Some(Vec::new()) };
    nodes.operands(id)?.into_iter().map(|element| read(nodes, element?)).collect()
}

fn read(nodes: &Nodes<'_, '_>, id: MetadataId) -> Option<SignatureElement> {
    let operands = nodes.operands(id)?;
    let &[id, name, component, kind, indices, interpolation, rows, columns, start_row, start_column, extra] =
        operands.as_slice()
    else {
        return None;
    };
    let kind = SemanticKind(byte(nodes.number(kind)?));
    let mut indices = nodes.numbers(indices)?;
    if indices.is_empty() && kind != SemanticKind::ARBITRARY {
        indices.push(0);
    }
    let start_row = nodes.number(start_row)?;
    let start_column = byte(nodes.number(start_column)?);
    let mut element = SignatureElement {
        id: nodes.number(id)?,
        name: nodes.text(name)?,
        component_type: ComponentType(nodes.number(component)?),
        kind,
        indices,
        interpolation: Interpolation(byte(nodes.number(interpolation)?)),
        rows: nodes.number(rows)?,
        columns: byte(nodes.number(columns)?),
        start_row: (start_row != u32::MAX).then_some(start_row),
        start_column: (start_column != u8::MAX).then_some(start_column),
        stream: 0,
        dynamic_mask: 0,
        used_mask: 0,
    };
    for (tag, value) in nodes.tagged(extra)? {
        let value = || nodes.number(value);
        match tag {
            tag::STREAM => element.stream = value()?,
            tag::DYNAMIC_MASK => element.dynamic_mask = byte(value()?),
            tag::USED_MASK => element.used_mask = byte(value()?),
            _ => {}
        }
    }
    Some(element)
}
