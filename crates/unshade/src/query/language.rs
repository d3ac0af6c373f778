//! The words of the languages that the decompiler writes: keywords and types.

use crate::format::Format;

/// Words of C and of CUDA that are neither names nor types.
const KEYWORDS: [&str; 30] = [
    "__constant__",
    "__device__",
    "__forceinline__",
    "__global__",
    "__launch_bounds__",
    "__noinline__",
    "__restrict__",
    "__shared__",
    "asm",
    "break",
    "case",
    "const",
    "continue",
    "default",
    "do",
    "else",
    "enum",
    "extern",
    "for",
    "goto",
    "if",
    "inline",
    "return",
    "sizeof",
    "static",
    "struct",
    "switch",
    "union",
    "volatile",
    "while",
];

/// Types that have names of their own; those that end in `_t`, and vectors such as `float4`, are known by their form.
const TYPES: [&str; 14] = [
    "bool", "char", "double", "float", "half", "int", "long", "short", "signed", "size_t", "typedef",
    "unsigned", "void", "wchar_t",
];

/// Words of HLSL.
const HLSL_KEYWORDS: [&str; 41] = [
    "break",
    "case",
    "cbuffer",
    "centroid",
    "const",
    "continue",
    "default",
    "discard",
    "do",
    "else",
    "export",
    "extern",
    "false",
    "for",
    "globallycoherent",
    "groupshared",
    "if",
    "in",
    "inline",
    "inout",
    "line",
    "lineadj",
    "linear",
    "nointerpolation",
    "noperspective",
    "out",
    "packoffset",
    "point",
    "precise",
    "register",
    "return",
    "row_major",
    "sample",
    "static",
    "struct",
    "switch",
    "triangle",
    "triangleadj",
    "true",
    "uniform",
    "while",
];

/// Types of HLSL; others are known by their form: those that end in `_t`, vectors and matrices, and names of objects.
const HLSL_TYPES: [&str; 13] = [
    "bool",
    "double",
    "dword",
    "float",
    "half",
    "int",
    "matrix",
    "min10float",
    "min16float",
    "min16int",
    "min16uint",
    "uint",
    "vector",
];

/// What names of objects of HLSL begin or end with.
const HLSL_OBJECTS: [&str; 10] = [
    "AccelerationStructure",
    "Buffer",
    "InputPatch",
    "OutputPatch",
    "RayDesc",
    "RayQuery",
    "SamplerComparisonState",
    "SamplerState",
    "Stream",
    "Texture",
];

/// Words of Metal.
const METAL_KEYWORDS: [&str; 42] = [
    "auto",
    "break",
    "case",
    "const",
    "const_cast",
    "constant",
    "constexpr",
    "continue",
    "default",
    "device",
    "do",
    "else",
    "extern",
    "false",
    "for",
    "fragment",
    "goto",
    "if",
    "inline",
    "kernel",
    "namespace",
    "nullptr",
    "object_data",
    "ray_data",
    "reinterpret_cast",
    "return",
    "sizeof",
    "static",
    "static_cast",
    "struct",
    "switch",
    "template",
    "thread",
    "threadgroup",
    "threadgroup_imageblock",
    "true",
    "typedef",
    "union",
    "using",
    "vertex",
    "volatile",
    "while",
];

/// Types of Metal; others are known by their form: those that end in `_t`, vectors and matrices, and names of objects.
const METAL_TYPES: [&str; 20] = [
    "array",
    "bfloat",
    "bool",
    "char",
    "double",
    "float",
    "half",
    "int",
    "long",
    "mesh",
    "ptrdiff_t",
    "sampler",
    "short",
    "uchar",
    "uint",
    "ulong",
    "unsigned",
    "ushort",
    "vec",
    "void",
];

/// What names of objects of Metal begin with.
const METAL_OBJECTS: [&str; 8] = [
    "acceleration_structure",
    "atomic_",
    "depth",
    "intersection_function_table",
    "packed_",
    "simdgroup_",
    "texture",
    "visible_function_table",
];

/// The language of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    C,
    Hlsl,
    Metal,
}

/// What the names of embedded files end with that are no code.
const TEXTS: [&[u8]; 6] = [b".json", b".txt", b".md", b".yaml", b".rsp", b".xml"];

impl Language {
    /// Returns the language of a source in a program of this format; none if the file is no code.
    pub(super) fn of_source(format: Format, path: &[u8]) -> Option<Self> {
        if TEXTS.iter().any(|end| path.to_ascii_lowercase().ends_with(end)) {
            return None;
        }
        match format {
            Format::MetalLibrary | Format::MetalUniversal | Format::Bitcode => Some(Self::Metal),
            Format::DxContainer | Format::Direct3d9 => Some(Self::Hlsl),
            _ => None,
        }
    }

    /// Returns whether a word is neither a name nor a type.
    pub(super) fn is_keyword(self, word: &str) -> bool {
        match self {
            Self::C => KEYWORDS.contains(&word),
            Self::Hlsl => HLSL_KEYWORDS.contains(&word),
            Self::Metal => METAL_KEYWORDS.contains(&word),
        }
    }

    /// Returns whether a word is a type of the language.
    pub(super) fn is_type(self, word: &str) -> bool {
        match self {
            Self::C => is_c_type(word),
            Self::Hlsl => is_hlsl_type(word),
            Self::Metal => is_metal_type(word),
        }
    }
}

fn is_hlsl_type(word: &str) -> bool {
    // Vectors and matrices: `float4`, `float4x3`.
    let rows = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let base = match rows.strip_suffix('x') {
        Some(columns) if rows.len() < word.len() => columns.trim_end_matches(|c: char| c.is_ascii_digit()),
        _ => rows,
    };
    let is_object = HLSL_OBJECTS.iter().any(|name| word.starts_with(name) || word.ends_with(name));
    HLSL_TYPES.contains(&word)
        || HLSL_TYPES.contains(&base)
        || base.len() > 2 && base.ends_with("_t")
        || is_object
        || word.starts_with("sampler")
        || word.starts_with("RWTexture")
        || word.starts_with("RasterizerOrdered")
}

fn is_metal_type(word: &str) -> bool {
    // Vectors and matrices: `float4`, `float4x3`, `packed_float3`, `_` after which are functions such as `atomic_load`.
    let rows = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let base = match rows.strip_suffix('x') {
        Some(columns) if rows.len() < word.len() => columns.trim_end_matches(|c: char| c.is_ascii_digit()),
        _ => rows,
    };
    let is_object = |start: &str| {
        word.strip_prefix(start).is_some_and(|rest| match start {
            "atomic_" | "packed_" => {
                METAL_TYPES.contains(&rest.trim_end_matches(|c: char| c.is_ascii_digit()))
            }
            "simdgroup_" => {
                matches!(rest, "event")
                    || rest.starts_with("float")
                    || rest.starts_with("half")
                    || rest.starts_with("bfloat")
            }
            "depth" | "texture" => rest.starts_with(|c: char| c.is_ascii_digit() || c == '_'),
            _ => true,
        })
    };
    METAL_TYPES.contains(&word)
        || METAL_TYPES.contains(&base)
        || word.len() > 2 && word.ends_with("_t")
        || METAL_OBJECTS.into_iter().any(is_object)
}

fn is_c_type(word: &str) -> bool {
    let base = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_vector = base.len() + 1 == word.len()
        && matches!(
            base,
            "char"
                | "uchar"
                | "short"
                | "ushort"
                | "int"
                | "uint"
                | "long"
                | "ulong"
                | "float"
                | "double"
                | "half"
        );
    TYPES.contains(&word) || is_vector || word.len() > 2 && word.ends_with("_t")
}
