//! Types as a shading language has them.

use crate::{IdVec, StructId};

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarKind {
    /// A boolean.
    Bool,
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scalar {
    /// Its kind.
    pub kind: ScalarKind,
    /// Its size in bits.
    pub bits: u8,
    /// Whether the machine may compute with more bits.
    pub is_minimum: bool,
}

impl Scalar {
    /// A 32-bit floating-point number.
    pub const FLOAT: Self = Self::new(ScalarKind::Float, 32);
    /// A signed 32-bit integer.
    pub const INT: Self = Self::new(ScalarKind::Signed, 32);
    /// An unsigned 32-bit integer.
    pub const UINT: Self = Self::new(ScalarKind::Unsigned, 32);
    /// A boolean, in memory a 32-bit integer.
    pub const BOOL: Self = Self::new(ScalarKind::Bool, 32);

    /// Creates the type of a number with exactly this many bits.
    pub const fn new(kind: ScalarKind, bits: u8) -> Self {
        Self { kind, bits, is_minimum: false }
    }

    /// Returns the number of bytes in memory: at least four where the machine may compute with more bits.
    pub fn bytes(self) -> u32 {
        if self.is_minimum { 4 } else { u32::from(self.bits) / 8 }
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// A number.
    Scalar(Scalar),
    /// A vector: its lanes, and their number.
    Vector(Scalar, u16),
    /// A matrix.
    Matrix {
        /// The type of its entries.
        scalar: Scalar,
        /// Number of rows.
        rows: u8,
        /// Number of columns.
        columns: u8,
        /// Whether rows are contiguous in memory; columns otherwise.
        is_row_major: bool,
    },
    /// An array: the type of its elements, and their number.
    Array(Box<DataType>, u32),
    /// A structure.
    Struct(StructId),
    /// A type that the language defines, by its name, such as `RayDesc` or `RaytracingAccelerationStructure`.
    Named(String),
}

impl DataType {
    /// Returns the scalar or vector type with this many lanes.
    pub fn vector(scalar: Scalar, lanes: u16) -> Self {
        if lanes == 1 { Self::Scalar(scalar) } else { Self::Vector(scalar, lanes) }
    }

    /// Returns whether it is a number, a vector, or a matrix that is one: these need not start a row of a constant
    /// buffer.
    pub fn is_one_row(&self) -> bool {
        match self {
            Self::Scalar(_) | Self::Vector(..) => true,
            Self::Matrix { rows, columns, is_row_major, .. } => {
                (if *is_row_major { *rows } else { *columns }) == 1
            }
            _ => false,
        }
    }

    /// Returns the scalar of a number, vector or matrix.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) | Self::Vector(scalar, _) | Self::Matrix { scalar, .. } => Some(*scalar),
            _ => None,
        }
    }

    /// Returns the type of an array's elements, of those of its elements and so on.
    pub fn innermost(&self) -> &Self {
        let mut ty = self;
        while let Self::Array(element, _) = ty {
            ty = element;
        }
        ty
    }

    /// Returns the counts of an array's dimensions, the outermost first.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = Vec::new();
        let mut ty = self;
        while let Self::Array(element, count) = ty {
            counts.push(*count);
            ty = element;
        }
        counts
    }
}

/// A member of a structure or constant buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructField {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its offset in bytes, by the rules of the memory that the structure is used for.
    pub offset: u32,
    /// Its type.
    pub ty: DataType,
    /// Its semantic, for members of signatures.
    pub semantic: Option<String>,
    /// Who reads and writes it, for members of payloads; `None` if nothing says so.
    pub access: Option<PayloadAccess>,
}

/// The stages that access a member of a ray's payload. Bits: 1 the caller, 2 closest hit, 4 miss, 8 any hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PayloadAccess {
    /// Those that read it.
    pub readers: u8,
    /// Those that write it.
    pub writers: u8,
}

/// A structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StructType {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its members, in the order of their declaration.
    pub fields: Vec<StructField>,
    /// Its size in bytes.
    pub size: u32,
}

impl StructType {
    /// Returns the number of the member that an offset is in: of those that start no later, the last one. Members may
    /// be in any order, as `packoffset` allows.
    pub fn field_at(&self, offset: u32) -> Option<usize> {
        let starts = self.fields.iter().enumerate().filter(|(_, field)| field.offset <= offset);
        starts.max_by_key(|(index, field)| (field.offset, *index)).map(|(index, _)| index)
    }
}

/// The structures of a program.
pub type StructTypes = IdVec<StructId, StructType>;

/// The rules that place the members of structures in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Constant buffers: rows of 16 bytes that no vector crosses; elements of arrays, and structures, start a row.
    Constant,
    /// Structured buffers and variables: each number at a multiple of its size.
    Structured,
}

impl Packing {
    /// Returns the size of a type in bytes. In constant buffers, that of an array ends with its last element.
    pub fn size(self, ty: &DataType, structs: &StructTypes) -> u32 {
        match ty {
            DataType::Scalar(scalar) => scalar.bytes(),
            DataType::Vector(scalar, lanes) => scalar.bytes() * u32::from(*lanes),
            DataType::Matrix { scalar, rows, columns, is_row_major } => {
                let (major, minor) = if *is_row_major { (*rows, *columns) } else { (*columns, *rows) };
                let line = scalar.bytes() * u32::from(minor);
                let lines = u32::from(major);
                match self {
                    Self::Constant => lines.saturating_sub(1) * line.next_multiple_of(16) + line,
                    Self::Structured => lines * line,
                }
            }
            DataType::Array(element, count) => {
                count.saturating_sub(1).saturating_mul(self.stride(element, structs))
                    + if *count == 0 { 0 } else { self.size(element, structs) }
            }
            DataType::Struct(id) => structs.get(*id).map_or(0, |structure| structure.size),
            // The description of a ray: the other named types have no place in memory.
            DataType::Named(name) if name == "RayDesc" => 32,
            DataType::Named(_) => 0,
        }
    }

    /// Returns the distance of an array's elements in bytes.
    pub fn stride(self, element: &DataType, structs: &StructTypes) -> u32 {
        let size = self.size(element, structs);
        match self {
            Self::Constant => size.next_multiple_of(16),
            Self::Structured => size,
        }
    }
}

/// A part of a path from a type to a number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A member of a structure.
    Field(usize),
    /// An element of an array.
    Element(u32),
    /// An entry of a matrix: row, column.
    Entry(u8, u8),
    /// A lane of a vector.
    Lane(u16),
}

/// A matrix in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixAt {
    /// Where it starts, in bytes.
    pub offset: u32,
    /// The type of its numbers.
    pub scalar: Scalar,
    /// The number of rows.
    pub rows: u8,
    /// The number of columns.
    pub columns: u8,
    /// Whether it is stored row by row.
    pub is_row_major: bool,
}

impl MatrixAt {
    /// Returns the number of entries.
    pub fn entries(&self) -> u16 {
        u16::from(self.rows) * u16::from(self.columns)
    }
}

/// Returns the matrix that the number at an offset is an entry of; `None` if it is none.
pub fn matrix_at(ty: &DataType, offset: u32, packing: Packing, structs: &StructTypes) -> Option<MatrixAt> {
    let (path, _) = path_at(ty, offset, packing, structs)?;
    let (last, outer) = path.split_last()?;
    let PathStep::Entry(row, column) = *last else { return None };
    let mut ty = ty;
    for step in outer {
        ty = match (step, ty) {
            (PathStep::Field(index), DataType::Struct(id)) => &structs.get(*id)?.fields.get(*index)?.ty,
            (PathStep::Element(_), DataType::Array(element, _)) => element,
            _ => return None,
        };
    }
    let DataType::Matrix { scalar, rows, columns, is_row_major } = *ty else { return None };
    let (line, within, minor) = if is_row_major { (row, column, columns) } else { (column, row, rows) };
    let stride = match packing {
        Packing::Constant => (scalar.bytes() * u32::from(minor)).next_multiple_of(16),
        Packing::Structured => scalar.bytes() * u32::from(minor),
    };
    let offset = offset - u32::from(line) * stride - u32::from(within) * scalar.bytes();
    Some(MatrixAt { offset, scalar, rows, columns, is_row_major })
}

/// Returns the path to the number at an offset, and its type; `None` if there is none.
pub fn path_at(
    ty: &DataType,
    offset: u32,
    packing: Packing,
    structs: &StructTypes,
) -> Option<(Vec<PathStep>, Scalar)> {
    let mut path = Vec::new();
    let (mut ty, mut offset) = (ty, offset);
    loop {
        match ty {
            DataType::Scalar(scalar) => return (offset == 0).then_some((path, *scalar)),
            DataType::Vector(scalar, lanes) => {
                let lane = u16::try_from(offset / scalar.bytes().max(1)).ok()?;
                if lane >= *lanes || !offset.is_multiple_of(scalar.bytes().max(1)) {
                    return None;
                }
                path.push(PathStep::Lane(lane));
                return Some((path, *scalar));
            }
            DataType::Matrix { scalar, rows, columns, is_row_major } => {
                let (major, minor) = if *is_row_major { (*rows, *columns) } else { (*columns, *rows) };
                let line = match packing {
                    Packing::Constant => (scalar.bytes() * u32::from(minor)).next_multiple_of(16),
                    Packing::Structured => scalar.bytes() * u32::from(minor),
                };
                let (at, rest) = (offset / line.max(1), offset % line.max(1));
                let within = rest / scalar.bytes().max(1);
                if at >= u32::from(major) || within >= u32::from(minor) || rest % scalar.bytes().max(1) != 0 {
                    return None;
                }
                let (at, within) = (at as u8, within as u8);
                path.push(if *is_row_major {
                    PathStep::Entry(at, within)
                } else {
                    PathStep::Entry(within, at)
                });
                return Some((path, *scalar));
            }
            DataType::Array(element, count) => {
                let stride = packing.stride(element, structs).max(1);
                let index = offset / stride;
                if index >= *count {
                    return None;
                }
                path.push(PathStep::Element(index));
                offset %= stride;
                ty = element;
            }
            DataType::Struct(id) => {
                let structure = structs.get(*id)?;
                let index = structure.field_at(offset)?;
                path.push(PathStep::Field(index));
                offset -= structure.fields[index].offset;
                ty = &structure.fields[index].ty;
            }
            DataType::Named(_) => return None,
        }
        if path.len() > 64 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> (DataType, StructTypes) {
        let mut structs = StructTypes::new();
        let matrix = DataType::Matrix { scalar: Scalar::FLOAT, rows: 3, columns: 4, is_row_major: false };
        let field = |name: &str, offset, ty| StructField {
            name: name.into(),
            offset,
            ty,
            semantic: None,
            access: None,
        };
        let id = structs.push(StructType {
            name: "Camera".into(),
            fields: vec![
                field("place", 0, DataType::Vector(Scalar::FLOAT, 3)),
                field("near", 12, DataType::Scalar(Scalar::FLOAT)),
                field("view", 16, matrix),
                field("weights", 80, DataType::Array(Box::new(DataType::Scalar(Scalar::FLOAT)), 3)),
            ],
            size: 116,
        });
        (DataType::Struct(id), structs)
    }

    #[test]
    fn offsets_lead_to_members() {
        let (ty, structs) = camera();
        let path = |offset| path_at(&ty, offset, Packing::Constant, &structs).map(|found| found.0);
        assert_eq!(path(8), Some(vec![PathStep::Field(0), PathStep::Lane(2)]));
        assert_eq!(path(12), Some(vec![PathStep::Field(1)]));
        // Column 1, row 2.
        assert_eq!(path(40), Some(vec![PathStep::Field(2), PathStep::Entry(2, 1)]));
        // A column has three rows.
        assert_eq!(path(44), None);
        assert_eq!(path(112), Some(vec![PathStep::Field(3), PathStep::Element(2)]));
        assert_eq!(path(116), None);
    }

    #[test]
    fn arrays_end_with_their_last_element() {
        let (ty, structs) = camera();
        assert_eq!(Packing::Constant.size(&ty, &structs), 116);
        let floats = DataType::Array(Box::new(DataType::Scalar(Scalar::FLOAT)), 3);
        assert_eq!(Packing::Constant.size(&floats, &structs), 36);
        assert_eq!(Packing::Structured.size(&floats, &structs), 12);
    }
}
