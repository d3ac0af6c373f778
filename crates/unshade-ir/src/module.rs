//! A function with what surrounds it: its name, its parameters, and the memory that it refers to.

use super::ty::{NumberKind, Type};
use super::{Function, IdVec, Space, StructureId};
use std::borrow::Cow;

/// A function and its surroundings: what a front end produces.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    /// The name of the function.
    pub name: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Its parameters; empty if unknown.
    pub parameters: Vec<Parameter>,
    /// The structures that types refer to.
    pub structures: IdVec<StructureId, Structure>,
    /// Bytes of shared memory that it declares statically.
    pub shared_size: u64,
    /// Bytes of local memory per thread.
    pub local_size: u32,
    /// The most threads of a block that it may be launched with, if it says so.
    pub max_threads: Option<u32>,
    /// Whether operations on 32-bit floats treat subnormal inputs and results as zeros of the same sign. Those that only
    /// move a float or change its sign don't.
    pub flushes: bool,
    /// The variables that it may refer to.
    pub objects: Cow<'a, [MemoryObject<'a>]>,
    /// Known contents of constant banks.
    pub constants: Vec<(u8, Cow<'a, [u8]>)>,
    /// The type of its result, if it is known; [`Type::Void`] for none.
    pub result: Option<Type>,
    /// The device functions whose addresses are in variables or in code.
    pub pointed: Vec<Callee>,
    /// The variables of its source code, if known.
    pub variables: Vec<SourceVariable>,
    /// Its values and blocks.
    pub function: Function,
}

impl Module<'_> {
    /// Returns whether it is part of a program whose functions call each other.
    pub fn has_calls(&self) -> bool {
        !self.is_kernel || !self.function.callees.is_empty()
    }
}

/// A device function as its callers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callee {
    /// Its name, a C identifier.
    pub name: String,
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
    /// Number of 32-bit words of its result.
    pub words: u8,
    /// The type of its result, if it is known.
    pub result: Option<Type>,
}

impl Callee {
    /// Returns whether it is any of several functions: the first input of a call is its address.
    pub fn is_pointer(&self) -> bool {
        self.name.is_empty()
    }

    /// Returns the type of its result; [`Type::Void`] for none.
    pub fn result_type(&self) -> Type {
        self.result.unwrap_or(match self.words {
            0 => Type::Void,
            1 => Type::Integer(32, false),
            2 => Type::Integer(64, false),
            words => Type::Vector(words, NumberKind::Unsigned),
        })
    }
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its offset in the parameter area, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Its type, if known from metadata.
    pub ty: Option<Type>,
    /// Its name in the source code, if known: a C identifier.
    pub name: Option<String>,
}

/// A structure type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// Its name, a C identifier; empty if unknown.
    pub name: String,
    /// Its size in bytes; 0 if unknown.
    pub size: u32,
    /// Whether the language defines it, such as `float4`.
    pub is_builtin: bool,
    /// Its members, by offset; those of a union overlap. Empty if unknown.
    pub members: Vec<Member>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, a C identifier.
    pub name: String,
    /// Its offset in bytes.
    pub offset: u32,
    /// Its type, or that of its elements.
    pub ty: Type,
    /// The count of each dimension, if it is an array.
    pub counts: Vec<u32>,
}

/// A variable of the source code. [`Function::named`] has the values of one in registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceVariable {
    /// Its name, a C identifier.
    pub name: String,
    /// Its type, or that of its elements, if it is one of the intermediate representation.
    pub ty: Option<Type>,
    /// The count of each dimension, if it is an array.
    pub counts: Vec<u32>,
    /// Where it is, if it is in memory.
    pub place: Option<VariablePlace>,
    /// Whether a symbol of the program describes it, and not debugging information.
    pub is_symbol: bool,
}

/// The place of a variable in local or shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariablePlace {
    /// Its memory.
    pub space: Space,
    /// Its offset in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// The name of the parameter that is the address of a method's object.
pub const THIS: &str = "this";

impl Parameter {
    /// Returns the n-th 32-bit word, of any type.
    pub fn word(number: u32) -> Self {
        Self { offset: 4 * number, size: 4, ty: None, name: None }
    }
}

/// A variable with a place in memory, or a texture or surface.
#[derive(Clone, PartialEq, Eq)]
pub struct MemoryObject<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its memory.
    pub space: ObjectSpace,
    /// Its offset in that memory.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its initial value; empty if unknown.
    pub bytes: Cow<'a, [u8]>,
    /// The addresses in its initial value; a loader writes them.
    pub pointers: Vec<InitialPointer>,
}

/// The address of a variable or function in the initial value of a variable, 8 bytes long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialPointer {
    /// Its offset in the variable.
    pub offset: u64,
    /// The name of the variable or function.
    pub symbol: String,
    /// What is added to the address.
    pub addend: i64,
}

/// The memory of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectSpace {
    /// A constant bank.
    Constant(u8),
    /// Global memory.
    Global,
    /// Shared memory.
    Shared,
    /// None: a texture. The offset is that of its handle.
    Texture,
    /// None: a surface. The offset is that of its descriptor.
    Surface,
}

impl std::fmt::Debug for MemoryObject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryObject")
            .field("name", &self.name)
            .field("space", &self.space)
            .field("offset", &self.offset)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl MemoryObject<'_> {
    /// Returns its contents if they are text.
    pub fn text(&self) -> Option<&str> {
        let (last, text) = self.bytes.split_last()?;
        let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
        (*last == 0 && text.iter().all(is_text)).then(|| std::str::from_utf8(text).ok())?
    }

    /// Returns whether it is a string literal: compilers name these so.
    pub fn is_literal(&self) -> bool {
        self.text().is_some()
            && ["$str", "__unnamed", ".str"].iter().any(|start| self.name.starts_with(start))
    }
}
