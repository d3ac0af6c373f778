//! What types can be parts of others, and which have a size.
//!
//! Knowledge: LLVM's language reference, *Type System*; what `llvm-as` 14 and 19 refuse.

use super::has_zero;
use crate::ids::TypeId;
use crate::types::{Type, TypeTable};
use crate::write::Version;

/// Maximum number of types that are looked at to find out whether one has a size; larger ones count as having one.
const MAX_PARTS: u32 = 1 << 14;

/// Returns whether arrays can have elements of a type.
pub(crate) fn is_array_element(types: &TypeTable, version: Version, ty: TypeId) -> bool {
    match types.get(ty) {
        Type::X86Amx => false,
        Type::Vector { scalable, .. } => !scalable || version == Version::Llvm19,
        _ => is_field(types, ty),
    }
}

/// Returns whether vectors can have elements of a type.
pub(crate) fn is_vector_element(types: &TypeTable, ty: TypeId) -> bool {
    match types.get(ty) {
        Type::Integer(_) | Type::Pointer { .. } | Type::OpaquePointer { .. } | Type::Unknown => true,
        Type::Vector { .. } => false,
        _ => types.is_float(ty),
    }
}

/// Returns whether structs can have fields of a type.
pub(crate) fn is_field(types: &TypeTable, ty: TypeId) -> bool {
    !matches!(types.get(ty), Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Function { .. })
}

/// Returns whether there are pointers to a type.
pub(crate) fn is_pointee(types: &TypeTable, ty: TypeId) -> bool {
    !matches!(types.get(ty), Type::Void | Type::Label | Type::Metadata | Type::Token | Type::X86Amx)
}

/// Returns whether values of a type have a size, so that they can be in memory.
pub(crate) fn has_size(types: &TypeTable, version: Version, ty: TypeId) -> bool {
    sized(types, version, ty, &mut { MAX_PARTS }, 0)
}

fn sized(types: &TypeTable, version: Version, ty: TypeId, parts: &mut u32, depth: u32) -> bool {
    const MAX_DEPTH: u32 = 64;
    *parts = parts.saturating_sub(1);
    if *parts == 0 || depth > MAX_DEPTH {
        return true;
    }
    match types.get(ty) {
        Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Function { .. } => false,
        Type::Array { element, .. } => sized(types, version, element, parts, depth + 1),
        // LLVM knows the layout of those that have zeros, and of one more.
        Type::Target { .. } => has_zero(types, ty) || super::can_be_global(types, ty),
        Type::Struct(structure) if structure.opaque => false,
        Type::Struct(structure) => {
            let fields = types.elements(structure.fields);
            let is_scalable =
                |&field: &TypeId| matches!(types.get(field), Type::Vector { scalable: true, .. });
            if fields.iter().any(is_scalable) {
                return version == Version::Llvm19
                    && fields.iter().all(|field| Some(field) == fields.first());
            }
            fields.iter().all(|&field| sized(types, version, field, parts, depth + 1))
        }
        _ => true,
    }
}
