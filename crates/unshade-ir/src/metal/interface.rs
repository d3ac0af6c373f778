//! Programs in Metal: functions with their arguments, and what they refer to.

use super::types::TypeTable;
use crate::Function;
use crate::id::TypeId;

/// The kind of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// A compute function.
    Kernel,
    /// A vertex function.
    Vertex,
    /// A fragment function.
    Fragment,
    /// A function that is called through a table.
    Visible,
    /// An intersection function.
    Intersection,
    /// A mesh function.
    Mesh,
    /// An object function.
    Object,
}

/// A program: a module.
#[derive(Clone, Debug, Default)]
pub struct MetalProgram {
    /// Its types.
    pub types: TypeTable,
    /// Its functions: those with code, and those that they call and that have none.
    pub functions: Vec<MetalFunction>,
    /// Its variables.
    pub globals: Vec<Global>,
    /// Whether floating-point arithmetic may be reordered.
    pub has_fast_math: bool,
    /// The version of the language, if it is known.
    pub language: Option<(u32, u32)>,
    /// What has no place in the program.
    pub missing: Vec<String>,
}

impl MetalProgram {
    /// Returns the index of the function with a name.
    pub fn function_index(&self, name: &str) -> Option<usize> {
        self.functions.iter().position(|function| function.name == name)
    }
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct MetalFunction {
    /// Its name as in the module.
    pub name: String,
    /// Its number in the module.
    pub number: u32,
    /// Its kind, if it is an entry point.
    pub kind: Option<FunctionKind>,
    /// Whether its code is elsewhere.
    pub is_declared: bool,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The type of its result; void for none.
    pub result: TypeId,
    /// What the members of its result are, or the result itself, if it is an entry point.
    pub outputs: Vec<Attributed>,
    /// What it writes, if it is a mesh function.
    pub mesh: Option<MeshOutput>,
    /// Attributes of the function, as in the text.
    pub attributes: Vec<String>,
    /// Its variables in memory of the thread: [`Op::Symbol`](crate::Op::Symbol) refers to them.
    pub locals: Vec<Local>,
    /// Its code.
    pub function: Function,
}

/// What a mesh function writes: the members of the structures of vertices and of primitives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshOutput {
    /// Of a vertex.
    pub vertex: Vec<Attributed>,
    /// Of a primitive.
    pub primitive: Vec<Attributed>,
}

/// A name with a type and an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributed {
    /// Its name; empty if unknown.
    pub name: String,
    /// The name of its type, if metadata has it.
    pub type_name: String,
    /// Its attribute without brackets; empty for none.
    pub attribute: String,
}

/// A parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Its type as in the text, where its layout does not say it: textures, samplers.
    pub type_name: String,
    /// Its attribute without brackets; empty for none.
    pub attribute: String,
    /// Whether it is a reference, so that the name is what is pointed to.
    pub is_reference: bool,
    /// Whether nothing is written through it.
    pub is_read_only: bool,
    /// Whether it is a member of the structure of stage inputs.
    pub is_stage_input: bool,
}

/// A variable of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
}

/// What a variable of a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlobalKind {
    /// Memory with an initial value.
    Constant(Initial),
    /// Memory of the threadgroup.
    Threadgroup,
    /// A constant that is set when a pipeline is made, by its index.
    FunctionConstant(u32),
    /// A sampler, by its bits.
    Sampler(Vec<u64>),
}

/// A variable of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name as in the module.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// What it is.
    pub kind: GlobalKind,
}

/// An initial value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initial {
    /// The bits of a number.
    Number(u64),
    /// Zeros.
    Zero,
    /// The parts of an array, a vector or a structure.
    List(Vec<Initial>),
    /// None, or one that has no form.
    Unknown,
}
