//! What a shader declares: its stage and entry attributes, signatures, resources, variables, and its functions.
//!
//! A front end fills it from the metadata of a container; operations of the code refer to its parts by number.

use super::data_type::{DataType, Scalar, StructTypes};
use super::node::Node;
use super::operation::{ShaderOp, Signedness};
use crate::{Function, IdVec, Op, ResourceId, ValueId, VariableId};
use std::collections::BTreeMap;

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "stages, by their usual names")]
pub enum Stage {
    Vertex,
    Pixel,
    Geometry,
    Hull,
    Domain,
    Compute,
    Amplification,
    Mesh,
    Library,
    RayGeneration,
    Intersection,
    AnyHit,
    ClosestHit,
    Miss,
    Callable,
    Node,
}

impl Stage {
    /// Returns the start of the names of its profiles, such as `ps`.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Vertex => "vs",
            Self::Pixel => "ps",
            Self::Geometry => "gs",
            Self::Hull => "hs",
            Self::Domain => "ds",
            Self::Compute => "cs",
            Self::Amplification => "as",
            Self::Mesh => "ms",
            _ => "lib",
        }
    }

    /// Returns the name of the `[shader("…")]` attribute.
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Pixel => "pixel",
            Self::Geometry => "geometry",
            Self::Hull => "hull",
            Self::Domain => "domain",
            Self::Compute => "compute",
            Self::Amplification => "amplification",
            Self::Mesh => "mesh",
            Self::Library => "",
            Self::RayGeneration => "raygeneration",
            Self::Intersection => "intersection",
            Self::AnyHit => "anyhit",
            Self::ClosestHit => "closesthit",
            Self::Miss => "miss",
            Self::Callable => "callable",
            Self::Node => "node",
        }
    }
}

/// An element of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The name of its semantic, without an index.
    pub semantic: String,
    /// The index of the semantic of each row.
    pub indices: Vec<u32>,
    /// Number of columns.
    pub columns: u8,
    /// The type of its components.
    pub scalar: Scalar,
    /// The modifier of its interpolation, such as `nointerpolation`; empty for the default.
    pub interpolation: &'static str,
    /// The geometry stream.
    pub stream: u32,
    /// The first register.
    pub register: Option<u32>,
    /// The first component in the register.
    pub column: u8,
    /// The components that the shader uses, as bits from the element's first one on.
    pub used: u8,
}

impl Element {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.indices.len().max(1)
    }

    /// Returns the type of one row.
    pub fn row_type(&self) -> DataType {
        DataType::vector(self.scalar, u16::from(self.columns))
    }

    /// Returns the semantic with its index as it is written after a colon.
    pub fn semantic_text(&self) -> String {
        match self.indices.first() {
            Some(index) if *index > 0 || !self.semantic.to_ascii_uppercase().starts_with("SV_") => {
                format!("{}{index}", self.semantic)
            }
            _ => self.semantic.clone(),
        }
    }
}

/// The class of a resource, which decides the letter of its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceClass {
    /// Something that is read: `t`.
    ShaderResource,
    /// Something that is read and written: `u`.
    UnorderedAccess,
    /// A constant buffer: `b`.
    ConstantBuffer,
    /// A sampler: `s`.
    Sampler,
}

impl ResourceClass {
    /// Returns the letter of its registers.
    pub fn letter(self) -> char {
        match self {
            Self::ShaderResource => 't',
            Self::UnorderedAccess => 'u',
            Self::ConstantBuffer => 'b',
            Self::Sampler => 's',
        }
    }
}

/// The shape of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "shapes, by their usual names")]
pub enum Shape {
    Buffer,
    ByteAddressBuffer,
    StructuredBuffer,
    Texture1D,
    Texture1DArray,
    Texture2D,
    Texture2DArray,
    Texture2DMS,
    Texture2DMSArray,
    Texture3D,
    TextureCube,
    TextureCubeArray,
    FeedbackTexture2D,
    FeedbackTexture2DArray,
    AccelerationStructure,
    /// A constant buffer or texture buffer whose members are global names.
    ConstantBuffer,
    TextureBuffer,
    Sampler,
    ComparisonSampler,
}

impl Shape {
    /// Returns the number of coordinates to sample with, including the index in an array.
    pub fn coordinates(self) -> usize {
        match self {
            Self::Buffer | Self::ByteAddressBuffer | Self::StructuredBuffer | Self::Texture1D => 1,
            Self::Texture1DArray | Self::Texture2D | Self::Texture2DMS | Self::FeedbackTexture2D => 2,
            Self::Texture2DArray
            | Self::Texture2DMSArray
            | Self::Texture3D
            | Self::TextureCube
            | Self::FeedbackTexture2DArray => 3,
            Self::TextureCubeArray => 4,
            _ => 0,
        }
    }

    /// Returns the number of coordinates of an offset or derivative.
    pub fn dimensions(self) -> usize {
        match self {
            Self::Buffer | Self::ByteAddressBuffer | Self::StructuredBuffer => 1,
            Self::Texture1D | Self::Texture1DArray => 1,
            Self::Texture2D | Self::Texture2DArray | Self::Texture2DMS | Self::Texture2DMSArray => 2,
            Self::FeedbackTexture2D | Self::FeedbackTexture2DArray => 2,
            Self::Texture3D | Self::TextureCube | Self::TextureCubeArray => 3,
            _ => 0,
        }
    }

    /// Returns whether it has several samples per texel.
    pub fn is_multisampled(self) -> bool {
        matches!(self, Self::Texture2DMS | Self::Texture2DMSArray)
    }
}

/// Where a resource is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The first register.
    pub register: u32,
    /// The register space.
    pub space: u32,
    /// The number of registers; `None` if there is no bound.
    pub count: Option<u32>,
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its class.
    pub class: ResourceClass,
    /// Its shape.
    pub shape: Shape,
    /// Where it is bound; `None` if it comes from the descriptor heap.
    pub binding: Option<Binding>,
    /// The type of its elements, or of the whole of a constant buffer.
    pub element: Option<DataType>,
    /// The number of samples, if it is known.
    pub samples: u32,
    /// The size of a constant buffer or of an element of a structured buffer, in bytes.
    pub size: u32,
    /// Whether writes are visible to other groups at once.
    pub is_coherent: bool,
    /// Whether writes are visible after threads are reordered.
    pub is_reorder_coherent: bool,
    /// Whether pixels that overlap access it in order.
    pub is_ordered: bool,
    /// Whether its numbers are from 0 (unsigned) or from -1 (signed) to 1; `None` if they may be any.
    pub is_normalized: Option<Signedness>,
    /// Of a feedback texture, whether it tells which regions were used, instead of the least detail.
    pub tracks_used_regions: bool,
    /// Whether it has a counter.
    pub has_counter: bool,
    /// How the source code accesses it, if only by its counter.
    pub sequence: Option<Sequence>,
    /// Whether the source code says its register; if not, the compiler counted.
    pub has_register: bool,
    /// Whether it is declared as `ConstantBuffer<T>`, with its members after a dot. Otherwise their names are global.
    pub is_object: bool,
    /// Whether it is declared as an array although it is one resource.
    pub is_array: bool,
    /// Of a constant buffer, the initial values of members, by offset: the numbers in the order of an initializer.
    pub initial_values: BTreeMap<u32, Vec<u64>>,
}

impl Resource {
    /// Returns a resource without a name, a binding and properties, whose register the source code says.
    #[must_use]
    pub fn new(class: ResourceClass, shape: Shape) -> Self {
        Self {
            name: String::new(),
            class,
            shape,
            binding: None,
            element: None,
            samples: 0,
            size: 0,
            is_coherent: false,
            is_reorder_coherent: false,
            is_ordered: false,
            is_normalized: None,
            tracks_used_regions: false,
            has_counter: false,
            sequence: None,
            has_register: true,
            is_object: false,
            is_array: false,
            initial_values: BTreeMap::new(),
        }
    }
}

/// The accesses to a buffer whose elements have no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// Elements are appended.
    Append,
    /// Elements are consumed.
    Consume,
}

/// The memory of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableSpace {
    /// Of the thread, while it runs one function.
    Thread,
    /// Of the thread, for all functions; it may have an initial value.
    Static,
    /// Of the group.
    Group,
    /// Constant.
    Constant,
    /// A node record of a work graph.
    Record,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its memory.
    pub space: VariableSpace,
    /// Its type.
    pub ty: DataType,
    /// Its initial value, as the numbers in it in order, for constants and static variables; empty if it has none.
    pub values: Vec<u64>,
}

/// Returns the resource that a handle names; `None` if which one is chosen while the shader runs.
pub fn resource_of(function: &Function, handle: ValueId) -> Option<ResourceId> {
    let is_handle = function.values.get(handle)?.op == Op::Shader(ShaderOp::Handle);
    let number = function.number(function.input(handle, 0)).filter(|_| is_handle)?;
    Some(ResourceId::new(u32::try_from(number).ok()?))
}

/// Returns the number of control points of an input primitive that is a patch; `None` if it is none.
///
/// In DXIL and token programs, the patch of one control point is the primitive 8, and those of up to 32 follow.
pub fn patch_points(primitive: u32) -> Option<u32> {
    let points = primitive.checked_sub(7)?;
    (1..=32).contains(&points).then_some(points)
}

/// The attributes of an entry point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Threads of a group.
    pub threads: Option<[u32; 3]>,
    /// The sizes of waves that it runs with: the only one or the smallest, the largest, the preferred one.
    pub wave_size: Option<[u32; 3]>,
    /// The patch: `tri`, `quad` or `isoline`.
    pub domain: Option<&'static str>,
    /// How edges are divided: `integer`, `pow2`, `fractional_odd` or `fractional_even`.
    pub partitioning: Option<&'static str>,
    /// What the tessellator or mesh shader makes: `triangle_cw`, `line` and so on.
    pub output_topology: Option<&'static str>,
    /// The number of control points that come in.
    pub input_control_points: Option<u32>,
    /// The number of control points that go out.
    pub output_control_points: Option<u32>,
    /// The largest tessellation factor, as the bits of a float.
    pub max_tessellation_factor: Option<u32>,
    /// The number of the function that computes patch constants.
    pub patch_function: Option<usize>,
    /// The input primitive: `point`, `line`, `triangle`, `lineadj` or `triangleadj`.
    pub input_primitive: Option<&'static str>,
    /// The streams of a geometry shader: number, and `PointStream`, `LineStream` or `TriangleStream`.
    pub streams: Vec<(u32, &'static str)>,
    /// The most vertices that a geometry or mesh shader makes.
    pub max_vertices: Option<u32>,
    /// The most primitives that a mesh shader makes.
    pub max_primitives: Option<u32>,
    /// The number of instances of a geometry shader.
    pub instances: Option<u32>,
    /// Whether operations of waves include lanes of pixels outside of primitives.
    pub includes_helper_lanes: bool,
    /// Whether depth is tested before the shader.
    pub has_early_depth: bool,
    /// The clauses of the root signature, as text.
    pub root_signature: Option<Vec<String>>,
    /// The type of the payload: that of rays, or of meshes.
    pub payload: Option<DataType>,
    /// The most bytes of memory that a group shares.
    pub group_shared_limit: Option<u32>,
    /// The attributes of a node of a work graph.
    pub node: Option<Node>,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passing {
    /// As a value of the function's own.
    #[default]
    Value,
    /// As the caller's variable.
    Reference,
    /// As the variable that takes the result: it is no parameter in a language.
    Result,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaderParameter {
    /// Its name; empty if unknown.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Whether the code refers to it as a place.
    pub is_place: bool,
    /// How it is passed.
    pub passing: Passing,
}

/// A function of a shader.
#[derive(Clone, Debug, Default)]
pub struct ShaderFunction {
    /// Its name.
    pub name: String,
    /// Its number among the functions of the module; 0 in token programs, whose code is one stream.
    pub number: u32,
    /// Whether its code is elsewhere: another library has it.
    pub is_declared: bool,
    /// Whether other libraries may call it.
    pub is_exported: bool,
    /// Whether it runs before all others: it computes the initial values of static variables.
    pub is_constructor: bool,
    /// The stage if it is an entry point.
    pub stage: Option<Stage>,
    /// Its attributes, if it is an entry point.
    pub attributes: Attributes,
    /// Its parameters, besides inputs and outputs of signatures.
    pub parameters: Vec<ShaderParameter>,
    /// The type of its result, besides outputs.
    pub result: Option<DataType>,
    /// The signatures: inputs, outputs, patch constants or outputs of primitives.
    pub inputs: Vec<Element>,
    /// See [`Self::inputs`].
    pub outputs: Vec<Element>,
    /// See [`Self::inputs`].
    pub patch: Vec<Element>,
    /// Names of the source code, which labels of the code refer to.
    pub names: Vec<LocalName>,
    /// Its code.
    pub function: Function,
}

/// A value of a state object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateValue {
    /// A number.
    Number(u32),
    /// Flags, by their names.
    Flags(Vec<String>),
    /// A name, or several.
    Names(Vec<String>),
    /// The clauses of a root signature.
    RootSignature(Vec<String>),
}

/// A state object of a library: what pipelines of its functions are made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateObject {
    /// Its type, such as `TriangleHitGroup`.
    pub ty: &'static str,
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<StateValue>,
}

/// The name of a variable in the source code, or of a member of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalName {
    /// The name.
    pub name: String,
    /// How many inlined calls it is in.
    pub depth: u32,
}

/// A shader, or a library of them.
#[derive(Clone, Debug)]
pub struct ShaderProgram {
    /// The stage; [`Stage::Library`] if it has several entry points.
    pub stage: Stage,
    /// The shader model.
    pub model: (u8, u8),
    /// Whether numbers of 16 bits have just these; otherwise at least these.
    pub has_native_16_bit: bool,
    /// Whether the compiler must keep the order of floating-point operations everywhere.
    pub is_strict: bool,
    /// The structures.
    pub structs: StructTypes,
    /// The resources.
    pub resources: IdVec<ResourceId, Resource>,
    /// The variables.
    pub variables: IdVec<VariableId, Variable>,
    /// The functions. The first one is the entry point, unless it is a library.
    pub functions: Vec<ShaderFunction>,
    /// The state objects of a library.
    pub state_objects: Vec<StateObject>,
    /// Options of the compiler that change what the code means, and that no code says.
    pub options: Vec<String>,
    /// The names of the source files, if debug information has them.
    pub source_files: Vec<String>,
    /// What the container says of the program and this description has no place for.
    pub missing: Vec<String>,
}

impl ShaderProgram {
    /// Creates a program without contents.
    pub fn new(stage: Stage, model: (u8, u8)) -> Self {
        Self {
            stage,
            model,
            has_native_16_bit: false,
            is_strict: false,
            structs: StructTypes::new(),
            resources: IdVec::new(),
            variables: IdVec::new(),
            functions: Vec::new(),
            state_objects: Vec::new(),
            options: Vec::new(),
            source_files: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Returns the bytes in memory of a number with a width in bits.
    pub fn bytes(&self, width: u8) -> u32 {
        if width == 16 && !self.has_native_16_bit { 4 } else { u32::from(width) / 8 }
    }

    /// Returns the profile to compile it with, such as `ps_5_0`.
    pub fn profile(&self) -> String {
        format!("{}_{}_{}", self.stage.prefix(), self.model.0, self.model.1)
    }
}
