//! What the types of targets can be: most can be nothing but values.
//!
//! Knowledge: LLVM's language reference, *Target Extension Type*; what `llvm-as` 19 refuses.

use crate::ids::TypeId;
use crate::types::{Type, TypeTable};

/// What the names of SPIR-V's types start with.
const SPIRV: &[u8] = b"spirv.";

/// Returns whether a type has a constant of zeros.
pub(crate) fn has_zero(types: &TypeTable, ty: TypeId) -> bool {
    match types.get(ty) {
        Type::Target { name, .. } => match types.name(name) {
            b"spirv.Image" => false,
            name => name.starts_with(SPIRV) || name == b"aarch64.svcount",
        },
        _ => true,
    }
}

/// Returns whether a global variable can have a type.
pub(crate) fn can_be_global(types: &TypeTable, ty: TypeId) -> bool {
    match types.get(ty) {
        Type::Target { name, .. } => types.name(name).starts_with(SPIRV),
        _ => true,
    }
}
