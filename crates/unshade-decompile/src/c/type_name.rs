//! The names of types in C.

use crate::types::{NumberKind, Type};

impl Type {
    /// Returns its name in C.
    pub fn name(self) -> &'static str {
        match self {
            Self::Void => "void",
            Self::Bool => "bool",
            Self::Integer(8, false) => "unsigned char",
            Self::Integer(8, true) => "signed char",
            Self::Integer(16, false) => "unsigned short",
            Self::Integer(16, true) => "short",
            Self::Integer(64, false) => "unsigned long long",
            Self::Integer(64, true) => "long long",
            Self::Integer(_, false) => "unsigned int",
            Self::Integer(_, true) => "int",
            Self::Float(64) => "double",
            Self::Float(_) => "float",
            Self::Vector(5, _) => "words5",
            Self::Vector(6, _) => "words6",
            Self::Vector(7, _) => "words7",
            Self::Vector(8, _) => "words8",
            Self::Vector(9, _) => "words9",
            Self::Vector(10, _) => "words10",
            Self::Vector(11, _) => "words11",
            Self::Vector(12, _) => "words12",
            Self::Vector(2, NumberKind::Unsigned) => "uint2",
            Self::Vector(2, NumberKind::Signed) => "int2",
            Self::Vector(2, NumberKind::Float) => "float2",
            Self::Vector(3, NumberKind::Unsigned) => "uint3",
            Self::Vector(3, NumberKind::Signed) => "int3",
            Self::Vector(3, NumberKind::Float) => "float3",
            Self::Vector(_, NumberKind::Unsigned) => "uint4",
            Self::Vector(_, NumberKind::Signed) => "int4",
            Self::Vector(_, NumberKind::Float) => "float4",
            Self::Pointer(8, NumberKind::Unsigned) => "unsigned char *",
            Self::Pointer(8, _) => "signed char *",
            Self::Pointer(16, NumberKind::Unsigned) => "unsigned short *",
            Self::Pointer(16, _) => "short *",
            Self::Pointer(64, NumberKind::Unsigned) => "unsigned long long *",
            Self::Pointer(64, NumberKind::Signed) => "long long *",
            Self::Pointer(64, NumberKind::Float) => "double *",
            Self::Pointer(_, NumberKind::Unsigned) => "unsigned int *",
            Self::Pointer(_, NumberKind::Signed) => "int *",
            Self::Pointer(_, NumberKind::Float) => "float *",
        }
    }
}
