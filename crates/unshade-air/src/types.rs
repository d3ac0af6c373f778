//! The types of the Metal language: their names in metadata, their sizes, and how LLVM holds them.
//!
//! A type has two forms: as a value, and in memory, where a `bool` is a byte. Vectors of three are as large as those of
//! four; packed vectors are not.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use unshade_core::Result;
use unshade_llvm::TypeId;
use unshade_llvm::build::ModuleBuilder;

use crate::refused;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool,
    Char,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    Half,
    BFloat,
    Float,
}

/// What kind of number a scalar is, which intrinsics name by a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A floating-point number: `f`.
    Float,
    /// A signed integer: `s`.
    Signed,
    /// An unsigned integer or a truth value: `u`.
    Unsigned,
}

impl Class {
    /// Returns the letter in names of intrinsics.
    pub fn letter(self) -> char {
        match self {
            Self::Float => 'f',
            Self::Signed => 's',
            Self::Unsigned => 'u',
        }
    }
}

/// Each scalar: its name, its size in bytes, how names of C++ encode it, and what number it is.
const SCALARS: [(Scalar, &str, u32, &str, Class); 12] = [
    (Scalar::Bool, "bool", 1, "b", Class::Unsigned),
    (Scalar::Char, "char", 1, "c", Class::Signed),
    (Scalar::UChar, "uchar", 1, "h", Class::Unsigned),
    (Scalar::Short, "short", 2, "s", Class::Signed),
    (Scalar::UShort, "ushort", 2, "t", Class::Unsigned),
    (Scalar::Int, "int", 4, "i", Class::Signed),
    (Scalar::UInt, "uint", 4, "j", Class::Unsigned),
    (Scalar::Long, "long", 8, "l", Class::Signed),
    (Scalar::ULong, "ulong", 8, "m", Class::Unsigned),
    (Scalar::Half, "half", 2, "Dh", Class::Float),
    (Scalar::BFloat, "bfloat", 2, "DF16b", Class::Float),
    (Scalar::Float, "float", 4, "f", Class::Float),
];

impl Scalar {
    fn row(self) -> &'static (Self, &'static str, u32, &'static str, Class) {
        SCALARS.iter().find(|row| row.0 == self).unwrap_or(const { &SCALARS[11] })
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the size in bytes.
    pub fn size(self) -> u32 {
        self.row().2
    }

    /// Returns what kind of number it is.
    pub fn class(self) -> Class {
        self.row().4
    }

    /// Returns the type of values: a `bool` is an `i1`.
    pub fn llvm(self, module: &mut ModuleBuilder) -> Result<TypeId> {
        match self {
            Self::Bool => module.integer(1),
            scalar => scalar.llvm_in_memory(module),
        }
    }

    fn llvm_in_memory(self, module: &mut ModuleBuilder) -> Result<TypeId> {
        Ok(match self {
            Self::Half => module.half(),
            Self::BFloat => module.bfloat(),
            Self::Float => module.float(),
            integer => module.integer(integer.size() * 8)?,
        })
    }
}

/// A type of the Metal language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetalType {
    /// A scalar, such as `uint`.
    Scalar(Scalar),
    /// A vector of 2 to 4 elements, such as `float4`.
    Vector(Scalar, u8),
    /// A vector without padding, such as `packed_float3`.
    Packed(Scalar, u8),
    /// A matrix of columns and rows, such as `float4x4`.
    Matrix(Scalar, u8, u8),
    /// An atomic, such as `atomic_uint`.
    Atomic(Scalar),
    /// An array, in a struct or in threadgroup memory.
    Array(Box<MetalType>, u32),
    /// A struct.
    Struct(Arc<StructType>),
}

/// A struct of the Metal language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructType {
    /// The name.
    pub name: String,
    /// The members: name and type.
    pub members: Vec<(String, MetalType)>,
}

impl MetalType {
    /// `float`
    pub const FLOAT: Self = Self::Scalar(Scalar::Float);
    /// `float2`
    pub const FLOAT2: Self = Self::Vector(Scalar::Float, 2);
    /// `float3`
    pub const FLOAT3: Self = Self::Vector(Scalar::Float, 3);
    /// `float4`
    pub const FLOAT4: Self = Self::Vector(Scalar::Float, 4);
    /// `int`
    pub const INT: Self = Self::Scalar(Scalar::Int);
    /// `uint`
    pub const UINT: Self = Self::Scalar(Scalar::UInt);
    /// `uint2`
    pub const UINT2: Self = Self::Vector(Scalar::UInt, 2);
    /// `uint3`
    pub const UINT3: Self = Self::Vector(Scalar::UInt, 3);
    /// `ushort`
    pub const USHORT: Self = Self::Scalar(Scalar::UShort);
    /// `bool`
    pub const BOOL: Self = Self::Scalar(Scalar::Bool);

    /// Returns a struct.
    pub fn structure(name: &str, members: &[(&str, MetalType)]) -> Self {
        let members = members.iter().map(|(name, ty)| (name.to_string(), ty.clone())).collect();
        Self::Struct(Arc::new(StructType { name: name.to_string(), members }))
    }

    /// Returns an array.
    pub fn array(element: MetalType, count: u32) -> Self {
        Self::Array(Box::new(element), count)
    }

    /// Returns the name in metadata; that of an array is the name of its elements.
    pub fn name(&self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.name().to_string(),
            Self::Vector(scalar, count) => format!("{}{count}", scalar.name()),
            Self::Packed(scalar, count) => format!("packed_{}{count}", scalar.name()),
            Self::Matrix(scalar, columns, rows) => format!("{}{columns}x{rows}", scalar.name()),
            Self::Atomic(_) => "metal::_atomic".to_string(),
            Self::Array(element, _) => element.name(),
            Self::Struct(structure) => structure.name.clone(),
        }
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u32 {
        match self {
            Self::Scalar(scalar) | Self::Atomic(scalar) => scalar.size(),
            Self::Vector(scalar, count) => scalar.size().saturating_mul(lanes(*count)),
            Self::Packed(scalar, count) => scalar.size().saturating_mul(u32::from(*count)),
            Self::Matrix(scalar, columns, rows) => {
                u32::from(*columns).saturating_mul(Self::Vector(*scalar, *rows).size())
            }
            Self::Array(element, count) => element.size().saturating_mul(*count),
            Self::Struct(structure) => {
                let end = structure.layout().last().map_or(0, |&(offset, size)| offset.saturating_add(size));
                // An empty struct of C++ has a byte.
                round_up(end.max(1), self.alignment())
            }
        }
    }

    /// Returns the alignment in bytes.
    pub fn alignment(&self) -> u32 {
        match self {
            Self::Scalar(scalar) | Self::Atomic(scalar) | Self::Packed(scalar, _) => scalar.size(),
            Self::Vector(scalar, count) => scalar.size().saturating_mul(lanes(*count)),
            Self::Matrix(scalar, _, rows) => Self::Vector(*scalar, *rows).alignment(),
            Self::Array(element, _) => element.alignment(),
            Self::Struct(structure) => {
                structure.members.iter().map(|(_, ty)| ty.alignment()).max().unwrap_or(1)
            }
        }
    }

    /// Returns the type as names of C++ encode it.
    pub fn mangled(&self) -> String {
        match self {
            Self::Scalar(scalar) => scalar.row().3.to_string(),
            Self::Vector(scalar, count) => format!("Dv{count}_{}", scalar.row().3),
            other => {
                let name = other.name();
                format!("{}{name}", name.len())
            }
        }
    }

    /// Returns the scalar that the type consists of, if it is a scalar, vector, matrix or atomic.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar)
            | Self::Vector(scalar, _)
            | Self::Packed(scalar, _)
            | Self::Matrix(scalar, ..)
            | Self::Atomic(scalar) => Some(*scalar),
            Self::Array(..) | Self::Struct(_) => None,
        }
    }

    /// Returns the type of values.
    ///
    /// # Errors
    /// If a vector or matrix has no such size.
    pub fn llvm(&self, module: &mut ModuleBuilder) -> Result<TypeId> {
        match self {
            Self::Scalar(scalar) => scalar.llvm(module),
            Self::Vector(scalar, count) => {
                check_lanes(*count)?;
                let element = scalar.llvm(module)?;
                module.vector(u32::from(*count), element)
            }
            other => other.llvm_in_memory(module),
        }
    }

    /// Returns the type in memory, which pointers point to.
    ///
    /// # Errors
    /// If a vector or matrix has no such size.
    pub fn llvm_in_memory(&self, module: &mut ModuleBuilder) -> Result<TypeId> {
        match self {
            Self::Scalar(scalar) => scalar.llvm_in_memory(module),
            Self::Vector(scalar, count) => {
                check_lanes(*count)?;
                let element = scalar.llvm_in_memory(module)?;
                module.vector(u32::from(*count), element)
            }
            Self::Packed(scalar, count) => {
                check_lanes(*count)?;
                let element = scalar.llvm_in_memory(module)?;
                module.array(u64::from(*count), element)
            }
            Self::Matrix(scalar, columns, rows) => {
                check_lanes(*columns)?;
                let column = Self::Vector(*scalar, *rows).llvm_in_memory(module)?;
                let columns = module.array(u64::from(*columns), column)?;
                named(module, &format!("struct.metal::matrix.{}", self.name()), &[columns])
            }
            Self::Atomic(scalar) => {
                let value = scalar.llvm_in_memory(module)?;
                let suffix = if *scalar == Scalar::UInt { "" } else { scalar.name() };
                let name = format!("struct.metal::_atomic.{suffix}");
                named(module, name.trim_end_matches('.'), &[value])
            }
            Self::Array(element, count) => {
                let element = element.llvm_in_memory(module)?;
                module.array(u64::from(*count), element)
            }
            Self::Struct(structure) => {
                let mut fields = Vec::with_capacity(structure.members.len());
                for (_, member) in &structure.members {
                    fields.push(member.llvm_in_memory(module)?);
                }
                named(module, &format!("struct.{}", structure.name), &fields)
            }
        }
    }
}

impl StructType {
    /// Returns offset and size of each member.
    pub fn layout(&self) -> Vec<(u32, u32)> {
        let mut end = 0u32;
        let place = |(_, ty): &(String, MetalType)| {
            let offset = round_up(end, ty.alignment());
            end = offset.saturating_add(ty.size());
            (offset, ty.size())
        };
        self.members.iter().map(place).collect()
    }
}

/// Returns a named struct, which is defined if it is new.
fn named(module: &mut ModuleBuilder, name: &str, fields: &[TypeId]) -> Result<TypeId> {
    let ty = module.named_struct(name);
    let types = &module.module().types;
    match types.get(ty) {
        unshade_llvm::types::Type::Struct(structure) if structure.opaque => {
            module.define_struct(ty, fields, false)?;
            Ok(ty)
        }
        unshade_llvm::types::Type::Struct(structure) if types.elements(structure.fields) == fields => Ok(ty),
        _ => refused(format!("two types are called {name}")),
    }
}

fn lanes(count: u8) -> u32 {
    if count == 3 { 4 } else { u32::from(count) }
}

fn check_lanes(count: u8) -> Result<()> {
    match count {
        2..=4 => Ok(()),
        _ => refused("vectors and matrices have 2 to 4 elements"),
    }
}

fn round_up(size: u32, alignment: u32) -> u32 {
    size.checked_next_multiple_of(alignment.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes that Apple's compiler gives to its own example of a vertex: a position and a colour, packed.
    #[test]
    fn sizes_and_names() {
        let vertex = MetalType::structure(
            "vertex_t",
            &[
                ("position", MetalType::Packed(Scalar::Float, 2)),
                ("color", MetalType::Packed(Scalar::Float, 3)),
            ],
        );
        assert_eq!((vertex.size(), vertex.alignment(), vertex.name().as_str()), (20, 4, "vertex_t"));
        let uniforms = MetalType::structure(
            "Uniforms",
            &[
                ("scale", MetalType::FLOAT),
                ("offset", MetalType::FLOAT3),
                ("matrix", MetalType::Matrix(Scalar::Float, 4, 4)),
                ("flags", MetalType::array(MetalType::BOOL, 3)),
            ],
        );
        let MetalType::Struct(structure) = &uniforms else { panic!("a struct") };
        assert_eq!(structure.layout(), [(0, 4), (16, 16), (32, 64), (96, 3)]);
        assert_eq!((uniforms.size(), uniforms.alignment()), (112, 16));
        assert_eq!(MetalType::FLOAT4.mangled(), "Dv4_f");
        assert_eq!(MetalType::Vector(Scalar::Half, 2).name(), "half2");
    }
}
