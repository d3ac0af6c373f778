//! Signatures of entry points: what a Metal programmer writes in the head of a kernel, vertex or fragment function.

use crate::textures::Texture;
use crate::types::MetalType;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The stage of an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// A compute kernel.
    Kernel,
    /// A vertex function.
    Vertex,
    /// A fragment function.
    Fragment,
}

impl Stage {
    /// Returns the name of the metadata that lists the entry points of the stage.
    pub fn metadata_name(self) -> &'static str {
        match self {
            Self::Kernel => "air.kernel",
            Self::Vertex => "air.vertex",
            Self::Fragment => "air.fragment",
        }
    }
}

/// How a resource is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is only read.
    Read,
    /// It is only written.
    Write,
    /// It is read and written.
    ReadWrite,
    /// A texture is sampled, and read without a sampler.
    Sample,
}

impl Access {
    /// Returns the keyword in the language.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read_write",
            Self::Sample => "sample",
        }
    }
}

/// An address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum AddressSpace {
    /// The memory of one thread.
    Thread = 0,
    /// `device`: buffers that can be written, and textures.
    Device = 1,
    /// `constant`: buffers that are only read, and samplers.
    Constant = 2,
    /// `threadgroup`: memory that the threads of a group share.
    Threadgroup = 3,
}

/// Defines the values that the hardware gives to a function: variant, keyword, and the stages that have it.
macro_rules! builtins {
    ($($variant:ident $keyword:literal [$($stage:ident)*])*) => {
        /// A value that the hardware gives to a function, by its attribute in the language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Builtin {
            $(
                #[doc = concat!("`[[", $keyword, "]]`")]
                $variant,
            )*
        }

        impl Builtin {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the attribute in the language.
            pub fn keyword(self) -> &'static str {
                match self {
                    $(Self::$variant => $keyword,)*
                }
            }

            /// Returns the stages whose functions can have it.
            pub fn stages(self) -> &'static [Stage] {
                match self {
                    $(Self::$variant => &[$(Stage::$stage,)*],)*
                }
            }
        }
    };
}

builtins! {
    ThreadPositionInGrid "thread_position_in_grid" [Kernel]
    ThreadsPerGrid "threads_per_grid" [Kernel]
    GridOrigin "grid_origin" [Kernel]
    GridSize "grid_size" [Kernel]
    ThreadPositionInThreadgroup "thread_position_in_threadgroup" [Kernel]
    ThreadIndexInThreadgroup "thread_index_in_threadgroup" [Kernel]
    ThreadsPerThreadgroup "threads_per_threadgroup" [Kernel]
    DispatchThreadsPerThreadgroup "dispatch_threads_per_threadgroup" [Kernel]
    ThreadgroupPositionInGrid "threadgroup_position_in_grid" [Kernel]
    ThreadgroupsPerGrid "threadgroups_per_grid" [Kernel]
    ThreadIndexInSimdgroup "thread_index_in_simdgroup" [Kernel Fragment]
    ThreadsPerSimdgroup "threads_per_simdgroup" [Kernel Fragment]
    ThreadExecutionWidth "thread_execution_width" [Kernel]
    SimdgroupIndexInThreadgroup "simdgroup_index_in_threadgroup" [Kernel]
    SimdgroupsPerThreadgroup "simdgroups_per_threadgroup" [Kernel]
    DispatchSimdgroupsPerThreadgroup "dispatch_simdgroups_per_threadgroup" [Kernel]
    ThreadIndexInQuadgroup "thread_index_in_quadgroup" [Kernel Fragment]
    QuadgroupIndexInThreadgroup "quadgroup_index_in_threadgroup" [Kernel]
    QuadgroupsPerThreadgroup "quadgroups_per_threadgroup" [Kernel]
    VertexId "vertex_id" [Vertex]
    InstanceId "instance_id" [Vertex]
    BaseVertex "base_vertex" [Vertex]
    BaseInstance "base_instance" [Vertex]
    AmplificationId "amplification_id" [Vertex Fragment]
    Position "position" [Fragment]
    FrontFacing "front_facing" [Fragment]
    PointCoord "point_coord" [Fragment]
    PrimitiveId "primitive_id" [Fragment]
    SampleId "sample_id" [Fragment]
    SampleMaskIn "sample_mask_in" [Fragment]
    RenderTargetArrayIndex "render_target_array_index" [Fragment]
    ViewportArrayIndex "viewport_array_index" [Fragment]
    BarycentricCoord "barycentric_coord" [Fragment]
}

/// Where in a pixel a fragment's input is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// `center_perspective`
    #[default]
    CenterPerspective,
    /// `center_no_perspective`
    CenterNoPerspective,
    /// `centroid_perspective`
    CentroidPerspective,
    /// `centroid_no_perspective`
    CentroidNoPerspective,
    /// `sample_perspective`
    SamplePerspective,
    /// `sample_no_perspective`
    SampleNoPerspective,
    /// `flat`: that of one vertex; for integers.
    Flat,
}

impl Interpolation {
    /// Returns the keywords of the metadata.
    pub fn keywords(self) -> &'static [&'static str] {
        match self {
            Self::CenterPerspective => &["air.center", "air.perspective"],
            Self::CenterNoPerspective => &["air.center", "air.no_perspective"],
            Self::CentroidPerspective => &["air.centroid", "air.perspective"],
            Self::CentroidNoPerspective => &["air.centroid", "air.no_perspective"],
            Self::SamplePerspective => &["air.sample", "air.perspective"],
            Self::SampleNoPerspective => &["air.sample", "air.no_perspective"],
            Self::Flat => &["air.flat"],
        }
    }
}

/// An argument of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A buffer, or threadgroup memory.
    Buffer {
        /// The slot: `[[buffer(n)]]` or `[[threadgroup(n)]]`.
        slot: u32,
        /// The type of the elements.
        ty: MetalType,
        /// How it is accessed.
        access: Access,
        /// Its address space.
        space: AddressSpace,
        /// Whether it is a reference (`constant T&`): one element that is always there.
        reference: bool,
    },
    /// A texture.
    Texture {
        /// The slot: `[[texture(n)]]`.
        slot: u32,
        /// Its type.
        texture: Texture,
    },
    /// A sampler.
    Sampler {
        /// The slot: `[[sampler(n)]]`.
        slot: u32,
    },
    /// A value that the hardware gives.
    Builtin {
        /// Which one.
        builtin: Builtin,
        /// Its type.
        ty: MetalType,
    },
    /// A vertex attribute that the pipeline fetches: a member of `[[stage_in]]` of a vertex function.
    VertexInput {
        /// The number: `[[attribute(n)]]`.
        attribute: u32,
        /// Its type.
        ty: MetalType,
    },
    /// An interpolated value: a member of `[[stage_in]]` of a fragment function. It has the name and type of an output
    /// of the vertex function.
    FragmentInput {
        /// Its type.
        ty: MetalType,
        /// How it is interpolated.
        interpolation: Interpolation,
    },
}

impl Argument {
    /// `device T*`, or `const device T*` if it is only read.
    pub fn device(slot: u32, ty: MetalType, access: Access) -> Self {
        Self::Buffer { slot, ty, access, space: AddressSpace::Device, reference: false }
    }

    /// `constant T*`
    pub fn constant(slot: u32, ty: MetalType) -> Self {
        Self::Buffer { slot, ty, access: Access::Read, space: AddressSpace::Constant, reference: false }
    }

    /// `constant T&`
    pub fn constant_reference(slot: u32, ty: MetalType) -> Self {
        Self::Buffer { slot, ty, access: Access::Read, space: AddressSpace::Constant, reference: true }
    }

    /// `threadgroup T*`
    pub fn threadgroup(slot: u32, ty: MetalType) -> Self {
        let access = Access::ReadWrite;
        Self::Buffer { slot, ty, access, space: AddressSpace::Threadgroup, reference: false }
    }

    /// A texture.
    pub fn texture(slot: u32, texture: Texture) -> Self {
        Self::Texture { slot, texture }
    }

    /// A sampler.
    pub fn sampler(slot: u32) -> Self {
        Self::Sampler { slot }
    }

    /// A value that the hardware gives.
    pub fn builtin(builtin: Builtin, ty: MetalType) -> Self {
        Self::Builtin { builtin, ty }
    }

    /// A vertex attribute.
    pub fn vertex_input(attribute: u32, ty: MetalType) -> Self {
        Self::VertexInput { attribute, ty }
    }

    /// An interpolated value: with perspective, at the centre of the pixel.
    pub fn fragment_input(ty: MetalType) -> Self {
        Self::FragmentInput { ty, interpolation: Interpolation::default() }
    }
}

/// Which depths a fragment function writes, compared with that of the primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DepthQualifier {
    /// `depth(any)`
    Any,
    /// `depth(greater)`
    Greater,
    /// `depth(less)`
    Less,
}

impl DepthQualifier {
    /// Returns the keyword of the metadata.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Any => "air.any",
            Self::Greater => "air.greater",
            Self::Less => "air.less",
        }
    }
}

/// What a vertex or fragment function returns: one member of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// `[[position]]` of a vertex: a `float4`.
    Position,
    /// A value that fragments interpolate.
    Varying(MetalType),
    /// `[[point_size]]`: a `float`.
    PointSize,
    /// `[[render_target_array_index]]`: a `uint`.
    RenderTargetArrayIndex,
    /// `[[viewport_array_index]]`: a `uint`.
    ViewportArrayIndex,
    /// `[[color(n)]]`
    Color(u32, MetalType),
    /// `[[depth(…)]]`: a `float`.
    Depth(DepthQualifier),
    /// `[[stencil]]`: a `uint`.
    Stencil,
    /// `[[sample_mask]]`: a `uint`.
    SampleMask,
}

impl Output {
    /// Returns the type.
    pub fn ty(&self) -> MetalType {
        match self {
            Self::Position => MetalType::FLOAT4,
            Self::Varying(ty) | Self::Color(_, ty) => ty.clone(),
            Self::PointSize | Self::Depth(_) => MetalType::FLOAT,
            Self::RenderTargetArrayIndex | Self::ViewportArrayIndex | Self::Stencil | Self::SampleMask => {
                MetalType::UINT
            }
        }
    }

    /// Returns the stage whose functions return it.
    pub fn stage(&self) -> Stage {
        match self {
            Self::Color(..) | Self::Depth(_) | Self::Stencil | Self::SampleMask => Stage::Fragment,
            _ => Stage::Vertex,
        }
    }
}

/// The signature of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The stage.
    pub stage: Stage,
    /// The arguments: name, and what it is.
    pub arguments: Vec<(String, Argument)>,
    /// The members of the result: name, and what it is.
    pub outputs: Vec<(String, Output)>,
    /// `[[max_total_threads_per_threadgroup(n)]]` of a kernel.
    pub max_threads: Option<u32>,
    /// Whether depth and stencil are tested before a fragment function runs.
    pub early_fragment_tests: bool,
    /// Whether floating-point operations may be reordered and approximated, which is Apple's default.
    pub fast_math: bool,
}

impl Signature {
    fn new(stage: Stage, name: &str) -> Self {
        Self {
            name: name.to_string(),
            stage,
            arguments: Vec::new(),
            outputs: Vec::new(),
            max_threads: None,
            early_fragment_tests: false,
            fast_math: true,
        }
    }

    /// Starts the signature of a kernel.
    pub fn kernel(name: &str) -> Self {
        Self::new(Stage::Kernel, name)
    }

    /// Starts the signature of a vertex function.
    pub fn vertex(name: &str) -> Self {
        Self::new(Stage::Vertex, name)
    }

    /// Starts the signature of a fragment function.
    pub fn fragment(name: &str) -> Self {
        Self::new(Stage::Fragment, name)
    }

    /// Appends an argument.
    #[must_use]
    pub fn argument(mut self, name: &str, argument: Argument) -> Self {
        self.arguments.push((name.to_string(), argument));
        self
    }

    /// Appends a member of the result.
    #[must_use]
    pub fn output(mut self, name: &str, output: Output) -> Self {
        self.outputs.push((name.to_string(), output));
        self
    }

    /// Sets the largest number of threads in a threadgroup.
    #[must_use]
    pub fn max_threads(mut self, threads: u32) -> Self {
        self.max_threads = Some(threads);
        self
    }

    /// Says that depth and stencil are tested before the function runs.
    #[must_use]
    pub fn early_fragment_tests(mut self) -> Self {
        self.early_fragment_tests = true;
        self
    }

    /// Says that floating-point operations are exact: not reordered, not approximated.
    #[must_use]
    pub fn precise_math(mut self) -> Self {
        self.fast_math = false;
        self
    }
}
