//! Types: the scalars that values consist of, and where these are in memory.
//!
//! A value is a list of scalars: those of a vector in order, those of a matrix by columns, those of arrays and structs
//! by elements and members. In the memory of buffers, scalars are where the rules of WGSL put them. In the memory of a
//! thread or workgroup, the scalars of each [`Kind`] form an array of their own, so that a dynamic index selects in an
//! array of numbers of one type.

use crate::error::{Error, Result, unsupported};
use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner};
use unshade_llvm::TypeId;
use unshade_llvm::build::ModuleBuilder;

/// The most scalars of a value.
const MAX_VALUE: u32 = 1 << 12;
/// The most scalars of a variable.
pub const MAX_VARIABLE: u32 = 1 << 16;

/// A type that values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A number or truth value.
    Scalar(Scalar),
    /// A vector of so many elements.
    Vector(Scalar, u8),
    /// A matrix of columns and rows.
    Matrix(Scalar, u8, u8),
    /// A number that is accessed by atomic operations.
    Atomic(Scalar),
    /// An array: element, count unless the buffer decides, bytes from one element to the next.
    Array(Handle<Type>, Option<u32>, u32),
    /// A struct.
    Struct(Handle<Type>),
}

/// How a scalar is held in the memory of a thread or workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Kind {
    /// `float`
    Float,
    /// `i32`, which truth values are too.
    Word,
    /// `half`
    Half,
    /// `i16`
    Short,
    /// `i64`
    Long,
}

/// The number of kinds.
pub const KINDS: usize = 5;

impl Kind {
    /// All kinds.
    pub const ALL: [Self; KINDS] = [Self::Float, Self::Word, Self::Half, Self::Short, Self::Long];

    /// Returns the kind of a scalar.
    ///
    /// # Errors
    /// If no target has the scalar.
    pub fn of(scalar: Scalar) -> Result<Self> {
        Ok(match (scalar.kind, scalar.width) {
            (ScalarKind::Float, 4) => Self::Float,
            (ScalarKind::Float, 2) => Self::Half,
            (ScalarKind::Sint | ScalarKind::Uint, 4) | (ScalarKind::Bool, _) => Self::Word,
            (ScalarKind::Sint | ScalarKind::Uint, 2) => Self::Short,
            (ScalarKind::Sint | ScalarKind::Uint, 8) => Self::Long,
            _ => return unsupported(scalar_name(scalar)),
        })
    }

    /// Returns the type in LLVM.
    pub fn llvm(self, module: &mut ModuleBuilder) -> Result<TypeId> {
        Ok(match self {
            Self::Float => module.float(),
            Self::Word => module.integer(32)?,
            Self::Half => module.half(),
            Self::Short => module.integer(16)?,
            Self::Long => module.integer(64)?,
        })
    }
}

/// Returns the name of a scalar in WGSL.
pub fn scalar_name(scalar: Scalar) -> String {
    let letter = match scalar.kind {
        ScalarKind::Sint => "i",
        ScalarKind::Uint => "u",
        ScalarKind::Float => "f",
        ScalarKind::Bool => return "bool".to_string(),
        ScalarKind::AbstractInt => return "abstract integer".to_string(),
        ScalarKind::AbstractFloat => return "abstract float".to_string(),
    };
    format!("{letter}{}", u32::from(scalar.width) * 8)
}

/// Returns the type of a scalar as a value.
pub fn scalar_type(module: &mut ModuleBuilder, scalar: Scalar) -> Result<TypeId> {
    match scalar.kind {
        ScalarKind::Bool => Ok(module.integer(1)?),
        _ => Kind::of(scalar)?.llvm(module),
    }
}

/// Returns the bytes from one column of a matrix to the next, or the alignment of such a vector.
pub fn column_stride(scalar: Scalar, rows: u8) -> u32 {
    u32::from(scalar.width) * if rows == 3 { 4 } else { u32::from(rows) }
}

/// A part of a type: what it is, how many scalars come before it, and how many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The type.
    pub shape: Shape,
    /// The number of scalars before it.
    pub scalars: u32,
    /// The number of bytes before it.
    pub bytes: u32,
}

/// Answers questions about the types of a module.
#[derive(Clone, Copy)]
pub struct Types<'a> {
    /// The module.
    pub module: &'a Module,
}

impl<'a> Types<'a> {
    /// Returns the shape of a type of the module.
    ///
    /// # Errors
    /// If its values are no data.
    pub fn shape(self, ty: Handle<Type>) -> Result<Shape> {
        match &self.module.types[ty].inner {
            TypeInner::Struct { .. } => Ok(Shape::Struct(ty)),
            inner => self.shape_of(inner),
        }
    }

    /// Returns the shape of a type that is no struct.
    ///
    /// # Errors
    /// If its values are no data.
    pub fn shape_of(self, inner: &TypeInner) -> Result<Shape> {
        Ok(match *inner {
            TypeInner::Scalar(scalar) => Shape::Scalar(scalar),
            TypeInner::Vector { size, scalar } => Shape::Vector(scalar, size as u8),
            TypeInner::Matrix { columns, rows, scalar } => Shape::Matrix(scalar, columns as u8, rows as u8),
            TypeInner::Atomic(scalar) => Shape::Atomic(scalar),
            TypeInner::Array { base, size, stride } => {
                let count = match size {
                    ArraySize::Constant(count) => Some(count.get()),
                    ArraySize::Dynamic => None,
                    ArraySize::Pending(_) => return unsupported("an array whose size is an override"),
                };
                Shape::Array(base, count, stride)
            }
            TypeInner::Image { .. } => return unsupported("a texture as a value"),
            TypeInner::Sampler { .. } => return unsupported("a sampler as a value"),
            TypeInner::BindingArray { .. } => return unsupported("binding arrays"),
            TypeInner::CooperativeMatrix { .. } => return unsupported("cooperative matrices"),
            TypeInner::AccelerationStructure { .. } | TypeInner::RayQuery { .. } => {
                return unsupported("ray queries");
            }
            TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } | TypeInner::Struct { .. } => {
                return unsupported("a pointer as a value");
            }
        })
    }

    /// Returns the shape that a pointer points to.
    ///
    /// # Errors
    /// If the type is no pointer to data.
    pub fn pointee(self, inner: &TypeInner) -> Result<Shape> {
        match *inner {
            TypeInner::Pointer { base, .. } => self.shape(base),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => Ok(Shape::Vector(scalar, size as u8)),
            TypeInner::ValuePointer { size: None, scalar, .. } => Ok(Shape::Scalar(scalar)),
            _ => unsupported("a pointer that is no pointer"),
        }
    }

    /// Returns the parts of a type: columns of a matrix, members of a struct; the first of an array or vector, whose
    /// others follow.
    ///
    /// # Errors
    /// If there is no such part.
    pub fn part(self, shape: Shape, index: u32) -> Result<Part> {
        let missing = || Error::new(format!("an element {index} that does not exist"));
        Ok(match shape {
            Shape::Vector(scalar, count) if index < u32::from(count) => {
                Part { shape: Shape::Scalar(scalar), scalars: index, bytes: index * u32::from(scalar.width) }
            }
            Shape::Matrix(scalar, columns, rows) if index < u32::from(columns) => Part {
                shape: Shape::Vector(scalar, rows),
                scalars: index * u32::from(rows),
                bytes: index * column_stride(scalar, rows),
            },
            Shape::Array(base, count, stride) if count.is_none_or(|count| index < count) => {
                let shape = self.shape(base)?;
                let in_runtime_array = || Error::new("an index beyond 4 GiB");
                Part {
                    shape,
                    scalars: if count.is_none() { 0 } else { index.saturating_mul(self.count(shape)?) },
                    bytes: index.checked_mul(stride).ok_or_else(in_runtime_array)?,
                }
            }
            Shape::Struct(ty) => {
                let TypeInner::Struct { members, .. } = &self.module.types[ty].inner else {
                    return Err(missing());
                };
                let member = members.get(index as usize).ok_or_else(missing)?;
                let mut scalars = 0u32;
                for before in &members[..index as usize] {
                    scalars = scalars.saturating_add(self.count(self.shape(before.ty)?)?);
                }
                Part { shape: self.shape(member.ty)?, scalars, bytes: member.offset }
            }
            _ => return Err(missing()),
        })
    }

    /// Returns the number of parts of a type.
    ///
    /// # Errors
    /// If the buffer decides it.
    pub fn parts(self, shape: Shape) -> Result<u32> {
        Ok(match shape {
            Shape::Scalar(_) | Shape::Atomic(_) => 0,
            Shape::Vector(_, count) | Shape::Matrix(_, count, _) => u32::from(count),
            Shape::Array(_, Some(count), _) => count,
            Shape::Array(_, None, _) => return unsupported("an array of unknown size as a value"),
            Shape::Struct(ty) => match &self.module.types[ty].inner {
                TypeInner::Struct { members, .. } => u32::try_from(members.len()).unwrap_or(u32::MAX),
                _ => 0,
            },
        })
    }

    /// Returns the number of scalars of a type.
    ///
    /// # Errors
    /// If the buffer decides it, or there are too many.
    pub fn count(self, shape: Shape) -> Result<u32> {
        let count = match shape {
            Shape::Scalar(_) | Shape::Atomic(_) => 1,
            Shape::Vector(_, count) => u32::from(count),
            Shape::Matrix(_, columns, rows) => u32::from(columns) * u32::from(rows),
            Shape::Array(base, Some(count), _) => self.count(self.shape(base)?)?.saturating_mul(count),
            shape @ Shape::Array(_, None, _) => return self.parts(shape),
            shape @ Shape::Struct(_) => {
                let mut sum = 0u32;
                for index in 0..self.parts(shape)? {
                    sum = sum.saturating_add(self.count(self.part(shape, index)?.shape)?);
                }
                sum
            }
        };
        match count {
            0..=MAX_VARIABLE => Ok(count),
            _ => unsupported(format!("a type of more than {MAX_VARIABLE} numbers")),
        }
    }

    /// Returns the scalars that values of a type consist of.
    ///
    /// # Errors
    /// If the buffer decides how many, or there are too many.
    pub fn scalars(self, shape: Shape) -> Result<Vec<Scalar>> {
        if self.count(shape)? > MAX_VALUE {
            return unsupported(format!("a value of more than {MAX_VALUE} numbers"));
        }
        self.all_scalars(shape)
    }

    /// Returns the scalars that variables of a type consist of.
    ///
    /// # Errors
    /// If the buffer decides how many, or there are too many.
    pub fn all_scalars(self, shape: Shape) -> Result<Vec<Scalar>> {
        let mut list = Vec::with_capacity(self.count(shape)? as usize);
        self.push_scalars(shape, &mut list)?;
        Ok(list)
    }

    fn push_scalars(self, shape: Shape, list: &mut Vec<Scalar>) -> Result<()> {
        match shape {
            Shape::Scalar(scalar) | Shape::Atomic(scalar) => list.push(scalar),
            Shape::Vector(scalar, _) | Shape::Matrix(scalar, ..) => {
                let count = self.count(shape)? as usize;
                list.extend(std::iter::repeat_n(scalar, count));
            }
            Shape::Array(..) | Shape::Struct(_) => {
                for index in 0..self.parts(shape)? {
                    self.push_scalars(self.part(shape, index)?.shape, list)?;
                }
            }
        }
        Ok(())
    }

    /// Returns how many scalars of each kind a type has.
    ///
    /// # Errors
    /// If the buffer decides how many, or there are too many.
    pub fn kind_counts(self, shape: Shape) -> Result<[u32; KINDS]> {
        let mut counts = [0; KINDS];
        for scalar in self.all_scalars(shape)? {
            counts[Kind::of(scalar)? as usize] += 1;
        }
        Ok(counts)
    }

    /// Returns the type of a struct member or array element as WGSL names it, for messages and names.
    pub fn name(self, ty: Handle<Type>) -> &'a str {
        self.module.types[ty].name.as_deref().unwrap_or("")
    }
}
