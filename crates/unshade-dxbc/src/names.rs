//! Names of what the tokens carry as numbers, as FXC's text has them.
//!
//! Source: `d3d12TokenizedProgramFormat.hpp` of DirectX Shader Compiler for the numbers; the words were seen in the text
//! of FXC for programs that have each number.

/// Numbers and their names, from zero on; an empty name is none.
pub type Names = &'static [&'static str];

/// The name of a number, if it has one.
pub fn name_of(names: Names, number: u32) -> Option<&'static str> {
    let name = names.get(usize::try_from(number).ok()?)?;
    (!name.is_empty()).then_some(*name)
}

/// The number that has a name.
pub fn number_of(names: Names, name: &str) -> Option<u32> {
    let found = names.iter().position(|known| *known == name && !name.is_empty())?;
    u32::try_from(found).ok()
}

/// System values.
pub const SYSTEM_VALUES: Names = &[
    "undefined",
    "position",
    "clip_distance",
    "cull_distance",
    "rendertarget_array_index",
    "viewport_array_index",
    "vertex_id",
    "primitive_id",
    "instance_id",
    "is_front_face",
    "sampleIndex",
    "finalQuadUeq0EdgeTessFactor",
    "finalQuadVeq0EdgeTessFactor",
    "finalQuadUeq1EdgeTessFactor",
    "finalQuadVeq1EdgeTessFactor",
    "finalQuadUInsideTessFactor",
    "finalQuadVInsideTessFactor",
    "finalTriUeq0EdgeTessFactor",
    "finalTriVeq0EdgeTessFactor",
    "finalTriWeq0EdgeTessFactor",
    "finalTriInsideTessFactor",
    "finalLineDetailTessFactor",
    "finalLineDensityTessFactor",
];

/// Dimensions of resources.
pub const DIMENSIONS: Names = &[
    "",
    "buffer",
    "texture1d",
    "texture2d",
    "texture2dms",
    "texture3d",
    "texturecube",
    "texture1darray",
    "texture2darray",
    "texture2dmsarray",
    "texturecubearray",
    "raw_buffer",
    "structured_buffer",
];

/// Whether a dimension has samples.
pub fn is_multisampled(dimension: u32) -> bool {
    matches!(dimension, 4 | 9)
}

/// What FXC writes for a dimension without a name.
pub const UNKNOWN_DIMENSION: &str = "<unknown dimension>";

/// Types of what reading a resource gives.
pub const RETURN_TYPES: Names =
    &["", "unorm", "snorm", "sint", "uint", "float", "mixed", "double", "<continued>", "<unused>"];

/// What FXC writes for a return type without a name.
pub const UNKNOWN_RETURN_TYPE: &str = "<unknown resource return type>";

/// Modes of interpolation.
pub const INTERPOLATIONS: Names = &[
    "undefined",
    "constant",
    "linear",
    "linear centroid",
    "linear noperspective",
    "linear noperspective centroid",
    "linear sample",
    "linear noperspective sample",
];

/// Primitives that a geometry shader is given; from 8 on `patch1` and so on.
pub const PRIMITIVES: Names = &["undefined", "point", "line", "triangle", "", "", "lineadj", "triangleadj"];

/// The first primitive that is a patch, of one control point.
pub const FIRST_PATCH: u32 = 8;

/// The most control points that a patch has.
pub const PATCHES: u32 = 32;

/// Topologies that a geometry shader emits.
pub const TOPOLOGIES: Names = &["undefined", "pointlist", "", "linestrip", "", "trianglestrip"];

/// Domains of a tessellator.
pub const DOMAINS: Names = &["", "domain_isoline", "domain_tri", "domain_quad"];

/// How a tessellator divides edges.
pub const PARTITIONINGS: Names = &[
    "",
    "partitioning_integer",
    "partitioning_pow2",
    "partitioning_fractional_odd",
    "partitioning_fractional_even",
];

/// What a tessellator puts out.
pub const OUTPUT_PRIMITIVES: Names =
    &["", "output_point", "output_line", "output_triangle_cw", "output_triangle_ccw"];

/// Modes of samplers.
pub const SAMPLER_MODES: Names = &["mode_default", "mode_comparison", "mode_mono"];

/// How a constant buffer is indexed.
pub const ACCESS_PATTERNS: Names = &["immediateIndexed", "dynamicIndexed"];

/// Flags of a program: the bit of the opcode token and the name, in the order in which FXC names them.
pub const GLOBAL_FLAGS: &[(u32, &str)] = &[
    (11, "refactoringAllowed"),
    (12, "enableDoublePrecisionFloatOps"),
    (14, "enableRawAndStructuredBuffers"),
    (13, "forceEarlyDepthStencil"),
    (15, "skipOptimization"),
    (16, "enableMinimumPrecision"),
    (17, "enable11_1DoubleExtensions"),
    (18, "enable11_1ShaderExtensions"),
    (19, "allResourcesBound"),
];

/// How a view is accessed: the bit of the opcode token and the suffix.
pub const VIEW_FLAGS: &[(u32, &str)] = &[(16, "_glc"), (23, "_opc"), (17, "_rov")];

/// Least precisions of operands.
pub const PRECISIONS: Names = &["def32", "min16f", "min2_8f", "", "min16i", "min16u"];

/// Kinds of programs, by the upper half of the version token.
pub const PROGRAM_KINDS: Names = &["ps", "vs", "gs", "hs", "ds", "cs"];

/// Components.
pub const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// What a mask of components is written as.
pub const MASKS: [&str; 16] =
    ["", "x", "y", "xy", "z", "xz", "yz", "xyz", "w", "xw", "yw", "xyw", "zw", "xzw", "yzw", "xyzw"];
