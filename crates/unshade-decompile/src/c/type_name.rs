//! The names of types in C.

use crate::ir::{IdVec, Module, Structure, StructureId};
use crate::types::{NumberKind, Type};
use std::borrow::Cow;

/// The names of a module's types.
#[derive(Clone, Copy)]
pub(super) struct TypeNames<'a> {
    structures: &'a IdVec<StructureId, Structure>,
    function: &'a str,
}

impl<'a> TypeNames<'a> {
    pub(super) fn new(module: &'a Module<'_>) -> Self {
        Self { structures: &module.structures, function: &module.name }
    }

    /// Returns the name of a structure: that of the source code, or one that begins with the name of the function.
    pub(super) fn structure(self, id: StructureId) -> Cow<'a, str> {
        match self.structures.get(id) {
            Some(structure) if !structure.name.is_empty() => Cow::Borrowed(&structure.name),
            _ => Cow::Owned(format!("{}_element_{}", self.function, id.number().saturating_add(1))),
        }
    }

    /// Returns the name of a type in C.
    pub(super) fn of(self, ty: Type) -> Cow<'static, str> {
        let (id, star) = match ty {
            Type::Structure(id) => (id, ""),
            Type::StructurePointer(id) => (id, " *"),
            ty => return Cow::Borrowed(type_name(ty)),
        };
        let is_builtin = self.structures.get(id).is_some_and(|structure| structure.is_builtin);
        let keyword = if is_builtin { "" } else { "struct " };
        Cow::Owned(format!("{keyword}{}{star}", self.structure(id)))
    }

    /// Returns a declaration: `float *name`, `int name`.
    pub(super) fn declaration(self, ty: Type, name: &str) -> String {
        let ty = self.of(ty);
        if ty.ends_with('*') { format!("{ty}{name}") } else { format!("{ty} {name}") }
    }
}

/// Returns the name of a type in C that isn't a structure.
pub(super) fn type_name(ty: Type) -> &'static str {
    match ty {
        // Structures are named by `TypeNames`.
        Type::Structure(_) => "struct",
        Type::StructurePointer(_) => "void *",
        Type::Void => "void",
        Type::Bool => "bool",
        Type::Integer(8, false) => "unsigned char",
        Type::Integer(8, true) => "signed char",
        Type::Integer(16, false) => "unsigned short",
        Type::Integer(16, true) => "short",
        Type::Integer(64, false) => "unsigned long long",
        Type::Integer(64, true) => "long long",
        Type::Integer(_, false) => "unsigned int",
        Type::Integer(_, true) => "int",
        Type::Float(64) => "double",
        Type::Float(_) => "float",
        Type::Vector(5, _) => "words5",
        Type::Vector(6, _) => "words6",
        Type::Vector(7, _) => "words7",
        Type::Vector(8, _) => "words8",
        Type::Vector(9, _) => "words9",
        Type::Vector(10, _) => "words10",
        Type::Vector(11, _) => "words11",
        Type::Vector(12, _) => "words12",
        Type::Vector(2, NumberKind::Unsigned) => "uint2",
        Type::Vector(2, NumberKind::Signed) => "int2",
        Type::Vector(2, NumberKind::Float) => "float2",
        Type::Vector(3, NumberKind::Unsigned) => "uint3",
        Type::Vector(3, NumberKind::Signed) => "int3",
        Type::Vector(3, NumberKind::Float) => "float3",
        Type::Vector(_, NumberKind::Unsigned) => "uint4",
        Type::Vector(_, NumberKind::Signed) => "int4",
        Type::Vector(_, NumberKind::Float) => "float4",
        Type::Pointer(8, NumberKind::Unsigned) => "unsigned char *",
        Type::Pointer(8, _) => "signed char *",
        Type::Pointer(16, NumberKind::Unsigned) => "unsigned short *",
        Type::Pointer(16, _) => "short *",
        Type::Pointer(64, NumberKind::Unsigned) => "unsigned long long *",
        Type::Pointer(64, NumberKind::Signed) => "long long *",
        Type::Pointer(64, NumberKind::Float) => "double *",
        Type::Pointer(_, NumberKind::Unsigned) => "unsigned int *",
        Type::Pointer(_, NumberKind::Signed) => "int *",
        Type::Pointer(_, NumberKind::Float) => "float *",
    }
}
