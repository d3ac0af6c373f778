//! The constant table of a program of Shader Model 1 to 3: a comment whose tag is `CTAB`.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u32 | size of this header, 28 |
//! | 4, 24 | u32 | offsets of the names of the compiler and of the target |
//! | 8, 20 | u32 | version token, compiler flags |
//! | 12, 16 | u32 | number of constants, their offset |
//! | constant | u32, 4 × u16, 2 × u32 | name; register set, first register, register count, 0; type, default value |
//! | type | 6 × u16, u32 | class, base, rows, columns, elements, number of members, their offset |
//! | member | 2 × u32 | name, type |
//!
//! Offsets are from the header, which follows the tag.
//!
//! Sources: `D3DXSHADER_CONSTANTTABLE` in Microsoft's documentation of D3DX; FXC's text for tables with each class
//! and base.

use super::operand::{Operand, RegisterKind};
use super::program::{Instruction, Program};
use crate::names::{Names, name_of};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};
use unshade_core::{Error, ErrorKind, Escaped, Result};

/// The tag of the comment.
pub const TAG: [u8; 4] = *b"CTAB";
/// Maximum number of constants or members read from a table.
const MAX_ENTRIES: u32 = 1 << 14;
/// Maximum nesting depth of structures.
const MAX_DEPTH: usize = 8;
/// Maximum size of the text for the types of a table: the types of hostile tables may share members many times over.
const MAX_TEXT: usize = 1 << 20;

/// A constant table.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ConstantTable {
    /// The name of the compiler.
    pub creator: Vec<u8>,
    /// The profile.
    pub target: Vec<u8>,
    /// The version token of the program.
    pub version: u32,
    /// The compiler flags.
    pub flags: u32,
    /// The constants.
    pub constants: Vec<Constant>,
    data: Vec<u8>,
}

/// A constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constant {
    /// Its name.
    pub name: Vec<u8>,
    /// The set of its registers.
    pub set: RegisterSet,
    /// The first register.
    pub register: u16,
    /// The number of registers.
    pub count: u16,
    /// Its type.
    pub data_type: DataType,
    /// The offset of its default value; 0 for none.
    pub default: u32,
}

/// A register set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterSet(pub u16);

impl RegisterSet {
    /// Returns the letter of its registers.
    pub fn letter(self) -> char {
        match self.0 {
            0 => 'b',
            1 => 'i',
            2 => 'c',
            3 => 's',
            _ => 'x',
        }
    }
}

/// A type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataType {
    /// Class: scalar, vector, row-major or column-major matrix, object, structure.
    pub class: u16,
    /// Element type.
    pub base: u16,
    /// Rows of a matrix.
    pub rows: u16,
    /// Columns of a matrix or vector.
    pub columns: u16,
    /// Array length; 1 if it is not an array.
    pub elements: u16,
    /// Number of structure members.
    pub members: u16,
    /// The offset of the members.
    pub members_offset: u32,
}

const VECTOR: u16 = 1;
const ROW_MAJOR: u16 = 2;
const COLUMN_MAJOR: u16 = 3;
const OBJECT: u16 = 4;
const STRUCTURE: u16 = 5;

/// Element types, by number.
const BASES: Names = &[
    "void",
    "bool",
    "int",
    "float",
    "string",
    "Texture",
    "Texture1D",
    "Texture2D",
    "Texture3D",
    "TextureCube",
    "sampler",
    "sampler1D",
    "sampler2D",
    "sampler3D",
    "samplerCUBE",
    "PixelShader",
    "VertexShader",
    "pixelfragment",
    "vertexfragment",
    "uint",
    "byte",
    "GeometryShader",
];

impl DataType {
    /// Returns its HLSL name; that of a structure is `struct`.
    pub fn name(&self) -> String {
        let base = name_of(BASES, self.base.into()).unwrap_or("UNKNOWN");
        match self.class {
            0 | OBJECT => base.to_string(),
            VECTOR => format!("{base}{}", self.columns),
            ROW_MAJOR => format!("row_major {base}{}x{}", self.rows, self.columns),
            COLUMN_MAJOR => format!("{base}{}x{}", self.rows, self.columns),
            STRUCTURE => String::from("struct"),
            _ => String::new(),
        }
    }

    /// Returns the array suffix of a declaration, if it is an array.
    fn array(&self) -> String {
        if self.elements > 1 { format!("[{}]", self.elements) } else { String::new() }
    }
}

impl fmt::Debug for ConstantTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConstantTable")
            .field("version", &self.version)
            .field("constants", &self.constants.len())
            .finish_non_exhaustive()
    }
}

impl ConstantTable {
    /// Returns the constant table of a program, if it has one.
    pub fn of(program: &Program) -> Option<Result<Self>> {
        program.comment(&TAG).map(Self::read)
    }

    /// Parses the comment that holds a table.
    ///
    /// # Errors
    /// If the table is truncated or an offset is out of range.
    pub fn read(comment: &Instruction) -> Result<Self> {
        let words = comment.values.get(1..).unwrap_or_default();
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let table = Self { data, ..Self::default() };
        let offset = u64::from(comment.position).saturating_mul(4).saturating_add(8);
        table.filled().ok_or_else(|| {
            Error::new(ErrorKind::BadValue, offset, "the constant table is invalid").within("CTAB")
        })
    }

    fn filled(mut self) -> Option<Self> {
        let field = |table: &Self, offset| table.u32(offset);
        self.creator = self.text(field(&self, 4)?)?;
        self.version = field(&self, 8)?;
        let count = field(&self, 12)?;
        let start = field(&self, 16)?;
        self.flags = field(&self, 20)?;
        self.target = self.text(field(&self, 24)?)?;
        if count > MAX_ENTRIES {
            return None;
        }
        for number in 0..count {
            let at = start.checked_add(number.checked_mul(20)?)?;
            let half = |offset: u32| self.u16(at.checked_add(offset)?);
            let constant = Constant {
                name: self.text(self.u32(at)?)?,
                set: RegisterSet(half(4)?),
                register: half(6)?,
                count: half(8)?,
                data_type: self.data_type(self.u32(at.checked_add(12)?)?)?,
                default: self.u32(at.checked_add(16)?)?,
            };
            self.constants.push(constant);
        }
        Some(self)
    }

    fn u32(&self, offset: u32) -> Option<u32> {
        let at = usize::try_from(offset).ok()?;
        self.data.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
    }

    fn u16(&self, offset: u32) -> Option<u16> {
        let at = usize::try_from(offset).ok()?;
        self.data.get(at..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
    }

    fn text(&self, offset: u32) -> Option<Vec<u8>> {
        let bytes = self.data.get(usize::try_from(offset).ok()?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        bytes.get(..end).map(<[u8]>::to_vec)
    }

    fn data_type(&self, offset: u32) -> Option<DataType> {
        let half = |field: u32| self.u16(offset.checked_add(field)?);
        Some(DataType {
            class: half(0)?,
            base: half(2)?,
            rows: half(4)?,
            columns: half(6)?,
            elements: half(8)?,
            members: half(10)?,
            members_offset: self.u32(offset.checked_add(12)?)?,
        })
    }

    /// Returns the members of a structure: names and types.
    pub fn members(&self, data_type: &DataType) -> Vec<(Vec<u8>, DataType)> {
        let member = |number: u16| {
            let at = data_type.members_offset.checked_add(u32::from(number).checked_mul(8)?)?;
            Some((self.text(self.u32(at)?)?, self.data_type(self.u32(at.checked_add(4)?)?)?))
        };
        (0..data_type.members).map_while(member).collect()
    }

    /// Returns the name of the constant or sampler that an operand reads, with an index if it has several registers.
    pub fn name_of(&self, operand: &Operand) -> Option<String> {
        let (set, register) = match operand.kind() {
            RegisterKind::BOOL => (0, operand.number()),
            RegisterKind::INTEGER => (1, operand.number()),
            RegisterKind::SAMPLER => (3, operand.number()),
            _ => (2, operand.constant()?),
        };
        let constant = self.constants.iter().find(|constant| {
            let first = u32::from(constant.register);
            constant.set.0 == set && (first..first.wrapping_add(constant.count.into())).contains(&register)
        })?;
        let mut name = Escaped(&constant.name).to_string().replace("*/", "* /");
        if operand.is_relative() {
            name.push_str("[…]");
        } else if constant.count > 1 {
            let _ = write!(name, "[{}]", register.wrapping_sub(constant.register.into()));
        }
        Some(name)
    }

    /// Writes the tables that FXC prints before a program, as comments.
    pub fn write_tables(&self, out: &mut String) {
        if self.constants.is_empty() {
            return;
        }
        out.push_str("//\n// Parameters:\n//\n");
        let members: Vec<(&[u8], DataType)> =
            self.constants.iter().map(|constant| (&constant.name[..], constant.data_type)).collect();
        let limit = out.len().saturating_add(MAX_TEXT);
        self.write_members(out, &members, 0, limit);
        out.push_str("//\n//\n// Registers:\n//\n");
        let names: Vec<String> =
            self.constants.iter().map(|constant| Escaped(&constant.name).to_string()).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(NAME_WIDTH);
        // Writing to a string can't fail.
        let _ = writeln!(out, "//   {:width$} Reg   Size\n//   {:-<width$} ----- ----", "Name", "");
        let mut rows: Vec<(&Constant, &String)> = self.constants.iter().zip(&names).collect();
        rows.sort_by_key(|(constant, _)| (constant.set, constant.register));
        for (constant, name) in rows {
            let register = format!("{}{}", constant.set.letter(), constant.register);
            let _ = writeln!(out, "//   {name:width$} {register:5} {:4}", constant.count);
        }
        out.push_str("//\n\n");
    }

    /// Writes variables or members, with empty lines around structures.
    fn write_members(&self, out: &mut String, members: &[(&[u8], DataType)], depth: usize, limit: usize) {
        let indent = 3usize.saturating_add(depth.saturating_mul(4));
        let is_structure = |data_type: &DataType| data_type.class == STRUCTURE;
        let mut before: Option<&DataType> = None;
        for (name, data_type) in members {
            if out.len() > limit {
                return;
            }
            if before.is_some_and(|before| is_structure(before) || is_structure(data_type)) {
                let _ = writeln!(out, "//{:indent$}", "");
            }
            before = Some(data_type);
            let (name, array) = (Escaped(name), data_type.array());
            if !is_structure(data_type) {
                let _ = writeln!(out, "//{:indent$}{} {name}{array};", "", data_type.name());
                continue;
            }
            let _ = writeln!(out, "//{:indent$}struct\n//{:indent$}{{", "", "");
            if depth < MAX_DEPTH {
                let inner = self.members(data_type);
                let inner: Vec<(&[u8], DataType)> =
                    inner.iter().map(|(name, data_type)| (&name[..], *data_type)).collect();
                self.write_members(out, &inner, depth.saturating_add(1), limit);
            }
            let _ = writeln!(out, "//\n//{:indent$}}} {name}{array};", "");
        }
    }
}

/// Minimum width of the name column.
const NAME_WIDTH: usize = 12;
