//! Names of the numbers in tokens, as in FXC's text.
//!
//! Sources: `d3d12TokenizedProgramFormat.hpp` of DirectX Shader Compiler for the numbers; FXC's text for programs
//! that have each number for the names.

/// Names by number, from zero on; an empty string is a number without a name.
pub type Names = &'static [&'static str];

/// Returns the name of a number, if it has one.
pub fn name_of(names: Names, number: u32) -> Option<&'static str> {
    let name = names.get(usize::try_from(number).ok()?)?;
    (!name.is_empty()).then_some(*name)
}

/// Returns the number that has a name.
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

/// Returns whether a dimension is multisampled.
pub fn is_multisampled(dimension: u32) -> bool {
    matches!(dimension, 4 | 9)
}

/// FXC's text for a dimension without a name.
pub const UNKNOWN_DIMENSION: &str = "<unknown dimension>";

/// Return types of resources.
pub const RETURN_TYPES: Names =
    &["", "unorm", "snorm", "sint", "uint", "float", "mixed", "double", "<continued>", "<unused>"];

/// FXC's text for a return type without a name.
pub const UNKNOWN_RETURN_TYPE: &str = "<unknown resource return type>";

/// Interpolation modes.
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

/// Input primitives of geometry shaders; from 8 on `patch1` and so on.
pub const PRIMITIVES: Names = &["undefined", "point", "line", "triangle", "", "", "lineadj", "triangleadj"];

/// The number of the primitive `patch1`.
pub const FIRST_PATCH: u32 = 8;

/// Maximum number of control points of a patch.
pub const PATCHES: u32 = 32;

/// Output topologies of geometry shaders.
pub const TOPOLOGIES: Names = &["undefined", "pointlist", "", "linestrip", "", "trianglestrip"];

/// Tessellator domains.
pub const DOMAINS: Names = &["", "domain_isoline", "domain_tri", "domain_quad"];

/// Tessellator partitionings.
pub const PARTITIONINGS: Names = &[
    "",
    "partitioning_integer",
    "partitioning_pow2",
    "partitioning_fractional_odd",
    "partitioning_fractional_even",
];

/// Tessellator output primitives.
pub const OUTPUT_PRIMITIVES: Names =
    &["", "output_point", "output_line", "output_triangle_cw", "output_triangle_ccw"];

/// Sampler modes.
pub const SAMPLER_MODES: Names = &["mode_default", "mode_comparison", "mode_mono"];

/// Access patterns of constant buffers.
pub const ACCESS_PATTERNS: Names = &["immediateIndexed", "dynamicIndexed"];

/// Global flags: the bit of the opcode token and the name, in FXC's order.
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

/// Access flags of unordered access views: the bit of the opcode token and the suffix.
pub const VIEW_FLAGS: &[(u32, &str)] = &[(16, "_glc"), (23, "_opc"), (17, "_rov")];

/// Minimum precisions of operands.
pub const PRECISIONS: Names = &["def32", "min16f", "min2_8f", "", "min16i", "min16u"];

/// Program kinds, by the upper half of the version token.
pub const PROGRAM_KINDS: Names = &["ps", "vs", "gs", "hs", "ds", "cs"];

/// Component letters.
pub const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// Spellings of component masks.
pub const MASKS: [&str; 16] =
    ["", "x", "y", "xy", "z", "xz", "yz", "xyz", "w", "xw", "yw", "xyw", "zw", "xzw", "yzw", "xyzw"];
