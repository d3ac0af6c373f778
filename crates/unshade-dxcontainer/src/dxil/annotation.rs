//! Reads annotations of structs and their fields: `dx.typeAnnotations`.
//!
//! The node with tag 0 is a list of pairs: an undefined value, whose type is the annotated struct, and an annotation.
//! (The node with tag 1 annotates functions, whose parameters are also in the signatures.) An annotation is a tuple:
//! size
//! in a constant buffer, the tags of each field, and from validator version 1.5 on tags of the struct. Tags of a field:
//!
//! | tag | value |
//! |---|---|
//! | 2 | tuple of rows, columns, 1 for row-major or 2 for column-major |
//! | 3 | offset in a constant buffer |
//! | 4, 5 | semantic, interpolation |
//! | 6 | name |
//! | 7 | type of components |
//! | 8, 9 | precise; used |
//! | 10 | properties of a resource |
//! | 11, 12 | tuple of bit fields; width of one |
//! | 13 | components of a vector |
//!
//! `dx.dxrPayloadAnnotations` has pairs of the same form for the payloads of rays. Each member has a tag 0, with four
//! bits per stage that accesses it, from the lowest on the caller, closest hit, miss and any hit: 1 reads, 2 writes.

use super::nodes::Nodes;
use super::{ComponentType, Faults};
use crate::bytes::Text;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::open_enum;
use unshade_llvm::types::Type;
use unshade_llvm::{MetadataId, TypeId};

/// Tag of the node with annotations of structs.
const STRUCTS: u32 = 0;

mod tag {
    pub(super) const MATRIX: u32 = 2;
    pub(super) const CBUFFER_OFFSET: u32 = 3;
    pub(super) const NAME: u32 = 6;
    pub(super) const COMPONENT_TYPE: u32 = 7;
    pub(super) const USED: u32 = 9;
    pub(super) const BIT_FIELDS: u32 = 11;
    pub(super) const BIT_FIELD_WIDTH: u32 = 12;
    pub(super) const VECTOR_SIZE: u32 = 13;
}

/// Tag of the bits of a payload's member.
const PAYLOAD_ACCESS: u32 = 0;

/// The annotation of a struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructAnnotation {
    /// Size in a constant buffer, in bytes.
    pub cbuffer_size: u32,
    /// Its fields.
    pub fields: Vec<FieldAnnotation>,
}

/// The annotation of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldAnnotation {
    /// Its name.
    pub name: Text,
    /// Component type, if it has components.
    pub component_type: Option<ComponentType>,
    /// Dimensions and orientation, if it is a matrix.
    pub matrix: Option<Matrix>,
    /// Offset in a constant buffer, in bytes.
    pub cbuffer_offset: u32,
    /// Number of components of a vector; 0 if unknown.
    pub vector_size: u32,
    /// Whether the program uses it.
    pub used: bool,
    /// Bit fields inside of it.
    pub bit_fields: Vec<BitField>,
}

/// A bit field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitField {
    /// Its name.
    pub name: Text,
    /// Width in bits.
    pub width: u32,
}

open_enum! {
    /// The memory layout of a matrix.
    pub struct Orientation(u32) {
        UNDEFINED = 0 => "undefined",
        ROW_MAJOR = 1 => "row_major",
        COLUMN_MAJOR = 2 => "column_major",
    }
}

/// A matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Number of rows.
    pub rows: u32,
    /// Number of columns.
    pub columns: u32,
    /// Memory layout.
    pub orientation: Orientation,
}

/// Reads the annotations of all structs. Returns none if any can't be read, as DXC does.
pub(super) fn read_all(nodes: &Nodes<'_, '_>, faults: &mut Faults) -> BTreeMap<TypeId, StructAnnotation> {
    let mut structs = BTreeMap::new();
    for &id in nodes.module().named(b"dx.typeAnnotations") {
        if faults.take(read_list(nodes, id, &mut structs), || "type annotations".into()).is_none() {
            return BTreeMap::new();
        }
    }
    structs
}

/// Reads who accesses the members of payloads: bits of each member.
pub(super) fn read_payloads(nodes: &Nodes<'_, '_>, faults: &mut Faults) -> BTreeMap<TypeId, Vec<u32>> {
    let mut structs = BTreeMap::new();
    for &id in nodes.module().named(b"dx.dxrPayloadAnnotations") {
        faults.take(read_payload_list(nodes, id, &mut structs), || "annotations of payloads".into());
    }
    structs
}

fn read_payload_list(
    nodes: &Nodes<'_, '_>,
    id: MetadataId,
    structs: &mut BTreeMap<TypeId, Vec<u32>>,
) -> Option<()> {
    let operands = nodes.operands(id)?;
    let (_, pairs) = operands.split_first()?;
    for &[structure, members] in pairs.as_chunks().0 {
        let access = nodes.operands(members?)?.into_iter().map(|member| {
            let tags = nodes.tagged(member)?;
            let bits = tags.iter().find(|(tag, _)| *tag == PAYLOAD_ACCESS);
            bits.map_or(Some(0), |(_, bits)| nodes.number(*bits))
        });
        structs.insert(nodes.value(structure)?.0, access.collect::<Option<_>>()?);
    }
    Some(())
}

fn read_list(
    nodes: &Nodes<'_, '_>,
    id: MetadataId,
    structs: &mut BTreeMap<TypeId, StructAnnotation>,
) -> Option<()> {
    let operands = nodes.operands(id)?;
    let (&tag, pairs) = operands.split_first()?;
    if nodes.number(tag)? != STRUCTS {
        return Some(());
    }
    for &[structure, annotation] in pairs.as_chunks().0 {
        let ty = nodes.value(structure)?.0;
        let Type::Struct(structure) = nodes.module().types.get(ty) else { return None };
        structs.insert(ty, read_struct(nodes, annotation?, structure.fields.len())?);
    }
    Some(())
}

fn read_struct(nodes: &Nodes<'_, '_>, id: MetadataId, count: usize) -> Option<StructAnnotation> {
    let operands = nodes.operands(id)?;
    let (&size, rest) = operands.split_first()?;
    // An additional operand holds the struct's own tags.
    if rest.len() != count && rest.len() != count.checked_add(1)? {
        return None;
    }
    let fields = rest.iter().take(count).map(|&field| read_field(nodes, field?));
    Some(StructAnnotation { cbuffer_size: nodes.number(size)?, fields: fields.collect::<Option<_>>()? })
}

fn read_field(nodes: &Nodes<'_, '_>, id: MetadataId) -> Option<FieldAnnotation> {
    let mut field = FieldAnnotation::default();
    for (tag, value) in nodes.tagged(Some(id))? {
        match tag {
            tag::MATRIX => {
                let &[rows, columns, orientation] = nodes.numbers(value)?.as_slice() else { return None };
                field.matrix = Some(Matrix { rows, columns, orientation: Orientation(orientation) });
            }
            tag::CBUFFER_OFFSET => field.cbuffer_offset = nodes.number(value)?,
            tag::NAME => field.name = nodes.text(value)?,
            tag::COMPONENT_TYPE => field.component_type = Some(ComponentType(nodes.number(value)?)),
            tag::USED => field.used = nodes.integer(value)? != 0,
            tag::BIT_FIELDS => {
                let bit_fields = nodes.operands(value?)?.into_iter().map(|one| read_bit_field(nodes, one?));
                field.bit_fields = bit_fields.collect::<Option<_>>()?;
            }
            tag::VECTOR_SIZE => field.vector_size = nodes.number(value)?,
            _ => {}
        }
    }
    Some(field)
}

fn read_bit_field(nodes: &Nodes<'_, '_>, id: MetadataId) -> Option<BitField> {
    let mut field = BitField::default();
    for (tag, value) in nodes.tagged(Some(id))? {
        match tag {
            tag::NAME => field.name = nodes.text(value)?,
            tag::BIT_FIELD_WIDTH => field.width = nodes.number(value)?,
            _ => {}
        }
    }
    Some(field)
}
