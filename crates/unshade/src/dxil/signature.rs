//! Elements of the signatures of an entry point.
//!
//! | place | meaning |
//! |---|---|
//! | 0 | number |
//! | 1 | name |
//! | 2 | type of components |
//! | 3 | what it means, as [`SemanticKind`] |
//! | 4 | tuple of semantic indices, one a row |
//! | 5 | how it is interpolated |
//! | 6, 7 | rows, columns |
//! | 8, 9 | first row and column in the registers; -1 without a place |
//! | 10 | tags: 0 stream, 2 components that are indexed dynamically, 3 components that are used |

use super::ComponentType;
use super::nodes::Nodes;
use unshade_dxcontainer::bytes::Text;
use unshade_dxcontainer::psv0::{Interpolation, SemanticKind};
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
    /// The type of its components.
    pub component_type: ComponentType,
    /// What it means.
    pub kind: SemanticKind,
    /// Its semantic indices, one a row.
    pub indices: Vec<u32>,
    /// How it is interpolated.
    pub interpolation: Interpolation,
    /// How many rows it has.
    pub rows: u32,
    /// How many columns it has.
    pub columns: u8,
    /// Its first row, if it has a place.
    pub start_row: Option<u32>,
    /// Its first column, if it has a place.
    pub start_column: Option<u8>,
    /// The stream of a geometry shader.
    pub stream: u32,
    /// The components that are indexed dynamically.
    pub dynamic_mask: u8,
    /// The components that are used; nothing was said before validator version 1.5.
    pub used_mask: u8,
}

fn byte(number: u32) -> u8 {
    number.to_le_bytes()[0]
}

/// The elements of the tuple that an operand is; none for null.
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
