//! Where members of constant buffers lie: without words about it, and what to write where they lie elsewhere.
//!
//! A row has 16 bytes. A vector lies in one row; arrays, matrices and structures start a row, and so does a number whose
//! precision is a minimum after one that has exactly its bits, or the other way round, unless that is in an array. In structures, only
//! FXC does that.
//!
//! Source: the offsets that DXC and FXC give.

use crate::ir::shader::data_type::{DataType, Packing, Scalar, StructField, StructTypes};

/// Returns where members lie that have no `packoffset`.
fn natural_offsets<'t>(types: impl Iterator<Item = &'t DataType>, structs: &StructTypes) -> Vec<u32> {
    natural_offsets_from(0, None, types, structs)
}

/// Returns where members lie that follow an offset and another member.
fn natural_offsets_from<'t>(
    mut end: u32,
    mut before: Option<&'t DataType>,
    types: impl Iterator<Item = &'t DataType>,
    structs: &StructTypes,
) -> Vec<u32> {
    let differs = |before: &DataType, ty: &DataType| match (before.scalar(), ty.scalar()) {
        (Some(before), Some(after)) => before.is_minimum != after.is_minimum,
        _ => false,
    };
    let mut offsets = Vec::new();
    for ty in types {
        let size = Packing::Constant.size(ty, structs);
        let mut offset = end.next_multiple_of(ty.scalar().map_or(4, Scalar::bytes).max(1));
        let is_compact = ty.is_one_row() && before.is_none_or(|before| !differs(before, ty));
        before = Some(ty);
        if !is_compact || offset / 16 != (offset + size.max(1) - 1) / 16 {
            offset = offset.next_multiple_of(16);
        }
        offsets.push(offset);
        end = offset.saturating_add(size);
    }
    offsets
}

/// Returns whether a member lies at its offset if the members before it, the last of which has a type, end at another one.
pub(super) fn follows(
    end: u32,
    before: Option<&DataType>,
    field: &StructField,
    structs: &StructTypes,
) -> bool {
    // After numbers of 16 bits, DXC places some of 64 bits at the next word.
    let is_wide = field.ty.scalar().is_some_and(|scalar| scalar.bits == 64);
    let natural = natural_offsets_from(end, before, std::iter::once(&field.ty), structs);
    natural == [field.offset] || is_wide && field.offset == end.next_multiple_of(4)
}

/// Returns whether members lie where they do without `packoffset`.
pub(super) fn is_natural(fields: &[StructField], structs: &StructTypes) -> bool {
    let offsets = natural_offsets(fields.iter().map(|field| &field.ty), structs);
    offsets.iter().zip(fields).all(|(natural, field)| *natural == field.offset)
}

/// Returns the offset from which on global variables need no register, if those before it start rows: variables without
/// registers follow those that have one, in order. `None` if there is no such offset.
pub(super) fn registers(fields: &[StructField], structs: &StructTypes) -> Option<u32> {
    let mut sorted: Vec<&StructField> =
        fields.iter().filter(|field| Packing::Constant.size(&field.ty, structs) > 0).collect();
    sorted.sort_by_key(|field| field.offset);
    let aligned = sorted.iter().take_while(|field| field.offset.is_multiple_of(16)).count();
    (0..=aligned).rev().find_map(|count| {
        let (bound, free) = sorted.split_at(count);
        let end = bound.last().map_or(0, |field| field.offset + Packing::Constant.size(&field.ty, structs));
        let before = bound.last().map(|field| &field.ty);
        let natural = natural_offsets_from(end, before, free.iter().map(|field| &field.ty), structs);
        let is_same = natural.iter().zip(free).all(|(natural, field)| *natural == field.offset);
        let is_in_order = free.is_sorted_by_key(|field| fields.iter().position(|known| known == *field));
        (is_same && is_in_order).then(|| free.first().map_or(u32::MAX, |field| field.offset))
    })
}

/// Returns the `packoffset` of a member.
pub(super) fn packed_at(offset: u32) -> String {
    let component = ["", ".y", ".z", ".w"][(offset / 4 % 4) as usize];
    format!(" : packoffset(c{}{component})", offset / 16)
}
