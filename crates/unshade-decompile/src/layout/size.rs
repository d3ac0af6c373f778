//! The sizes and alignments that C gives types.

use crate::ir::{IdVec, Structure, StructureId};
use crate::types::Type;

/// Maximum depth of structures in structures.
const MAX_DEPTH: usize = 8;

/// Returns the size of a type in bytes.
pub(crate) fn size_of(structures: &IdVec<StructureId, Structure>, ty: Type) -> u32 {
    match ty {
        Type::Structure(id) => structures.get(id).map_or(0, |structure| structure.size),
        ty => u32::from(ty.bits()).max(8) / 8,
    }
}

/// Returns the alignment of a type in bytes.
pub(crate) fn align_of(structures: &IdVec<StructureId, Structure>, ty: Type) -> u32 {
    align_within(structures, ty, 0)
}

fn align_within(structures: &IdVec<StructureId, Structure>, ty: Type, level: usize) -> u32 {
    match ty {
        Type::Structure(id) => match structures.get(id) {
            Some(structure) if structure.is_builtin => match structure.size {
                12 => 4,
                size => size.clamp(1, 16),
            },
            Some(structure) if level < MAX_DEPTH => {
                let members = structure.members.iter();
                members.map(|member| align_within(structures, member.ty, level + 1)).max().unwrap_or(1)
            }
            _ => 1,
        },
        ty => size_of(structures, ty),
    }
}
