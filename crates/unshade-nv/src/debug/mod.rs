//! `.debug_info`: names, types and places of functions' parameters and variables (`-G`).
//!
//! The section is DWARF 2, parsed by gimli. `entries` reads its tree to the flat lists here, `place` reads locations,
//! and `register_map` tells which machine registers hold a register of PTX. Types refer to each other by index, and may
//! do so in cycles: a structure can contain a pointer to itself.
//!
//! Source: the DWARF standard; for NVIDIA's additions (registers of PTX by name, `DW_AT_address_class`, the sections
//! `.nv_debug_info_reg_sass` and `.nv_debug_info_reg_type`), the PTX ISA, chapter "Debugging Directives", cuda-gdb's
//! documentation of its symbol reader, and the output of nvcc 11.2.

mod entries;
mod place;
mod register_map;

use alloc::string::String;
use alloc::vec::Vec;
pub use place::{Location, Place};
pub use register_map::{RegisterMap, RegisterRange};

/// The maximum number of entries that are read of a cubin.
pub const MAX_ENTRIES: usize = 1 << 20;

/// The names and types of a cubin's source code.
#[derive(Clone, Debug, Default)]
pub struct DebugInfo {
    /// The functions, in the order of the file.
    pub functions: Vec<DebugFunction>,
    /// The variables outside of functions.
    pub variables: Vec<DebugVariable>,
    /// The types, to which everything else refers by [`TypeIndex`].
    pub types: Vec<DebugType>,
}

/// A type, as an index into [`DebugInfo::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeIndex(pub u32);

/// A function of the source code.
#[derive(Clone, Debug, Default)]
pub struct DebugFunction {
    /// The name of its symbol: mangled in C++.
    pub symbol: String,
    /// Its name in the source code.
    pub name: String,
    /// The type of its result; none for `void`.
    pub result: Option<TypeIndex>,
    /// Its parameters, in the order of the source code.
    pub parameters: Vec<DebugVariable>,
    /// Its other variables, including those of inlined functions.
    pub locals: Vec<DebugVariable>,
    /// The line of its declaration; 0 if unknown.
    pub line: u64,
}

/// A parameter or a variable.
#[derive(Clone, Debug, Default)]
pub struct DebugVariable {
    /// Its name in the source code.
    pub name: String,
    /// The name of its symbol, if it has one.
    pub symbol: Option<String>,
    /// Its type, if known.
    pub ty: Option<TypeIndex>,
    /// Where it is, in the order of addresses; empty if the compiler removed it.
    pub locations: Vec<Location>,
}

/// A type of the source code.
#[derive(Clone, Debug, Default)]
pub struct DebugType {
    /// Its name; empty for types without one.
    pub name: String,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// What it is.
    pub kind: TypeKind,
}

/// What a type is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TypeKind {
    /// A type that the section does not describe.
    #[default]
    Unknown,
    /// `void`.
    Void,
    /// A truth value.
    Bool,
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float,
    /// An enumeration.
    Enumeration,
    /// A pointer or reference to a type; `None` is `void`.
    Pointer(Option<TypeIndex>),
    /// An array: the type of its elements, and the count of each dimension, 0 if unknown.
    Array(Option<TypeIndex>, Vec<u64>),
    /// A structure or class.
    Structure(Vec<Member>),
    /// A union.
    Union(Vec<Member>),
    /// Another name of a type.
    Alias(Option<TypeIndex>),
    /// A type with `const`.
    Constant(Option<TypeIndex>),
    /// A type with `volatile`.
    Volatile(Option<TypeIndex>),
    /// A function.
    Function,
}

/// A member of a structure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type, if known.
    pub ty: Option<TypeIndex>,
    /// Its offset in bytes.
    pub offset: u64,
}

impl DebugInfo {
    /// Returns the function that a symbol names.
    pub fn function(&self, symbol: &str) -> Option<&DebugFunction> {
        self.functions.iter().find(|function| function.symbol == symbol)
    }

    /// Returns a type.
    pub fn ty(&self, index: TypeIndex) -> Option<&DebugType> {
        self.types.get(usize::try_from(index.0).ok()?)
    }

    /// Returns a type without its other names, `const` and `volatile`. Returns `None` for `void`, and where such names
    /// go in circles.
    pub fn resolve(&self, index: Option<TypeIndex>) -> Option<&DebugType> {
        self.ty(self.resolve_index(index)?)
    }

    /// Returns the index of the type that [`resolve`](Self::resolve) returns.
    pub fn resolve_index(&self, index: Option<TypeIndex>) -> Option<TypeIndex> {
        const MAX_NAMES: usize = 32;
        let mut index = index?;
        for _ in 0..MAX_NAMES {
            match self.ty(index)?.kind {
                TypeKind::Alias(next) | TypeKind::Constant(next) | TypeKind::Volatile(next) => index = next?,
                TypeKind::Void => return None,
                _ => return Some(index),
            }
        }
        None
    }
}
