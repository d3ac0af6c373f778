//! What a shader is built for: its stage, its shader model, and the version of the validator.
//!
//! Knowledge: DirectXShaderCompiler's `docs/DXIL.rst`; the modules that DXC 1.6 to 1.10 write.

use crate::refused;
use alloc::string::String;
use unshade_core::Result;

/// What a shader may use, and who is to accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The minor version of shader model 6.
    pub model: u32,
    /// The version of the validator that the module is written for [default: 1.8]. Older validators refuse it.
    pub validator: (u32, u32),
    /// Whether types of 16 bits have exactly 16 bits, from shader model 6.2 on, instead of at least 16.
    pub native_16_bit: bool,
}

/// The newest shader model that is supported.
const NEWEST: u32 = 8;
/// The minor version of the newest validator.
const NEWEST_VALIDATOR: u32 = 10;
/// The first shader model with native types of 16 bits.
const NATIVE_16_BIT: u32 = 2;

/// The data layout, and that with native types of 16 bits.
const DATA_LAYOUT: &str = "e-m:e-p:32:32-i1:32-i8:32-i16:32-i32:32-i64:64-f16:32-f32:32-f64:64-n8:16:32:64";
const NATIVE_DATA_LAYOUT: &str =
    "e-m:e-p:32:32-i1:32-i8:8-i16:16-i32:32-i64:64-f16:16-f32:32-f64:64-n8:16:32:64";

impl Target {
    /// Returns the target of shader model 6.`minor`.
    pub const fn model(minor: u32) -> Self {
        Self { model: minor, validator: (1, 8), native_16_bit: false }
    }

    /// Makes types of 16 bits native.
    #[must_use]
    pub const fn native_16_bit(mut self) -> Self {
        self.native_16_bit = true;
        self
    }

    /// Sets the version of the validator.
    #[must_use]
    pub const fn validator(mut self, major: u32, minor: u32) -> Self {
        self.validator = (major, minor);
        self
    }

    pub(crate) fn data_layout(self) -> &'static str {
        if self.native_16_bit { NATIVE_DATA_LAYOUT } else { DATA_LAYOUT }
    }

    pub(crate) fn check(self) -> Result<()> {
        if self.model > NEWEST {
            return refused("shader models from 6.0 to 6.8 are supported");
        }
        if self.native_16_bit && self.model < NATIVE_16_BIT {
            return refused("native types of 16 bits need shader model 6.2");
        }
        match self.validator {
            (1, minor) if minor > NEWEST_VALIDATOR => refused("validators from 1.0 to 1.10 are supported"),
            (1, minor) if minor >= self.model => Ok(()),
            _ => refused("the validator does not know the shader model"),
        }
    }
}

/// What a geometry shader takes or emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum InputPrimitive {
    Point = 1,
    Line = 2,
    Triangle = 3,
    LineAdjacency = 6,
    TriangleAdjacency = 7,
}

/// The primitives that a geometry shader emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum OutputTopology {
    PointList = 1,
    LineStrip = 3,
    TriangleStrip = 5,
}

/// The primitives that a mesh shader emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum MeshTopology {
    Line = 1,
    Triangle = 2,
}

/// What a patch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum TessellatorDomain {
    Isoline = 1,
    Triangle = 2,
    Quad = 3,
}

/// How a patch is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum Partitioning {
    Integer = 1,
    PowerOfTwo = 2,
    FractionalOdd = 3,
    FractionalEven = 4,
}

/// The primitives that a tessellator makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum TessellatorOutput {
    Point = 1,
    Line = 2,
    TriangleClockwise = 3,
    TriangleCounterClockwise = 4,
}

/// The stage of a shader, and what is fixed for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// A vertex shader.
    Vertex,
    /// A pixel shader.
    Pixel {
        /// Whether depth and stencil are tested before it runs.
        early_depth_stencil: bool,
    },
    /// A geometry shader.
    Geometry {
        /// What it takes.
        input: InputPrimitive,
        /// What it emits.
        output: OutputTopology,
        /// Maximum number of vertices that it emits.
        max_vertices: u32,
        /// How often it runs for a primitive.
        instances: u32,
    },
    /// A hull shader; [`Shader::set_patch_constant_function`](crate::shader::Shader::set_patch_constant_function) names
    /// its second function.
    Hull {
        /// What a patch is.
        domain: TessellatorDomain,
        /// How it is divided.
        partitioning: Partitioning,
        /// What the tessellator makes of it.
        output: TessellatorOutput,
        /// Number of control points of a patch that it takes.
        input_points: u32,
        /// Number of control points that it makes.
        output_points: u32,
        /// The largest tessellation factor.
        max_factor: f32,
    },
    /// A domain shader.
    Domain {
        /// What a patch is.
        domain: TessellatorDomain,
        /// Number of control points of a patch.
        points: u32,
    },
    /// A compute shader.
    Compute {
        /// Number of threads of a group in each dimension.
        threads: [u32; 3],
    },
    /// An amplification shader.
    Amplification {
        /// Number of threads of a group in each dimension.
        threads: [u32; 3],
        /// Number of bytes that it gives to mesh shaders.
        payload_bytes: u32,
    },
    /// A mesh shader.
    Mesh {
        /// Number of threads of a group in each dimension.
        threads: [u32; 3],
        /// Maximum number of vertices that it emits.
        max_vertices: u32,
        /// Maximum number of primitives that it emits.
        max_primitives: u32,
        /// What it emits.
        topology: MeshTopology,
        /// Number of bytes that it gets from an amplification shader.
        payload_bytes: u32,
    },
    /// A library, which [`Shader::library`](crate::shader::Shader::library) makes.
    Library,
}

/// The limits of groups of threads: all of a group, and each dimension.
const MAX_THREADS: [u32; 3] = [1024, 1024, 64];
const MAX_GROUP: u32 = 1024;
/// The same for mesh and amplification shaders.
const MAX_MESH_GROUP: u32 = 128;

impl Stage {
    /// A compute shader with these numbers of threads.
    pub const fn compute(threads: [u32; 3]) -> Self {
        Self::Compute { threads }
    }

    /// A pixel shader whose depth and stencil tests come when they may.
    pub const fn pixel() -> Self {
        Self::Pixel { early_depth_stencil: false }
    }

    /// Returns the prefix of its profiles: `cs` in `cs_6_0`.
    pub fn prefix(&self) -> &'static str {
        self.facts().0
    }

    /// Returns its bit in the table of operations.
    pub(crate) fn bit(&self) -> u16 {
        self.facts().1
    }

    /// Returns the first shader model that has it.
    fn first_model(&self) -> u32 {
        self.facts().2
    }

    fn facts(&self) -> (&'static str, u16, u32) {
        match self {
            Self::Vertex => ("vs", 1, 0),
            Self::Pixel { .. } => ("ps", 2, 0),
            Self::Geometry { .. } => ("gs", 4, 0),
            Self::Hull { .. } => ("hs", 8, 0),
            Self::Domain { .. } => ("ds", 16, 0),
            Self::Compute { .. } => ("cs", 32, 0),
            Self::Library => ("lib", 64, 3),
            Self::Amplification { .. } => ("as", 128, 5),
            Self::Mesh { .. } => ("ms", 256, 5),
        }
    }

    /// Returns the numbers of threads of a group.
    pub fn threads(&self) -> Option<[u32; 3]> {
        match *self {
            Self::Compute { threads } | Self::Amplification { threads, .. } | Self::Mesh { threads, .. } => {
                Some(threads)
            }
            _ => None,
        }
    }

    pub(crate) fn check(&self, target: Target) -> Result<()> {
        if target.model < self.first_model() {
            return refused("the shader model does not have the stage");
        }
        if let Some(threads) = self.threads() {
            let most = if matches!(self, Self::Compute { .. }) { MAX_GROUP } else { MAX_MESH_GROUP };
            let each = threads.iter().zip(MAX_THREADS).all(|(&count, most)| (1..=most).contains(&count));
            let all = threads.iter().fold(1u32, |all, &count| all.saturating_mul(count));
            if !each || all > most {
                return refused("a group has too many threads, or none");
            }
        }
        let fits = match *self {
            Self::Geometry { max_vertices, instances, .. } => {
                (1..=1024).contains(&max_vertices) && (1..=32).contains(&instances)
            }
            Self::Hull { domain, output, input_points, output_points, max_factor, .. } => {
                let has_area = domain != TessellatorDomain::Isoline;
                let fits = match output {
                    TessellatorOutput::Point => true,
                    TessellatorOutput::Line => !has_area,
                    _ => has_area,
                };
                fits && input_points <= 32
                    && (1..=32).contains(&output_points)
                    && (1.0..=64.0).contains(&max_factor)
            }
            Self::Domain { points, .. } => points <= 32,
            Self::Mesh { max_vertices, max_primitives, payload_bytes, .. } => {
                max_vertices <= 256 && max_primitives <= 256 && payload_bytes <= MAX_PAYLOAD
            }
            Self::Amplification { payload_bytes, .. } => payload_bytes <= MAX_PAYLOAD,
            _ => true,
        };
        match fits {
            true => Ok(()),
            false => refused(alloc::format!("a property of the {} shader is out of range", self.prefix())),
        }
    }

    /// Returns the profile of HLSL, such as `cs_6_0`.
    pub fn profile(&self, target: Target) -> String {
        alloc::format!("{}_6_{}", self.prefix(), target.model)
    }
}

/// The largest payload of a mesh shader, in bytes.
const MAX_PAYLOAD: u32 = 16384;
