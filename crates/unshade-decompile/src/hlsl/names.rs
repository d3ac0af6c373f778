//! Identifiers that are free: no keyword, no function of the language, nothing that is declared.

use std::collections::BTreeSet;

/// Words that can't be identifiers, or would hide a function or type that the text may use.
const RESERVED: &str = "AppendStructuredBuffer asm asm_fragment BlendState bool break Buffer ByteAddressBuffer case cbuffer \
    centroid class column_major compile compile_fragment CompileShader const continue ComputeShader \
    ConsumeStructuredBuffer default DepthStencilState DepthStencilView discard do double DomainShader dword else export \
    extern false float for fxgroup GeometryShader groupshared half Hullshader if in inline inout InputPatch int \
    interface line lineadj linear LineStream matrix min16float min10float min16int min12int min16uint namespace \
    nointerpolation noperspective NULL out OutputPatch packoffset pass pixelfragment PixelShader point PointStream \
    precise RasterizerState RenderTargetView return register row_major RWBuffer RWByteAddressBuffer \
    RWStructuredBuffer sample sampler SamplerState SamplerComparisonState shared snorm stateblock stateblock_state \
    static string struct switch StructuredBuffer tbuffer technique texture triangle triangleadj TriangleStream true \
    typedef uint uniform unorm unsigned vector vertexfragment VertexShader void volatile while template typename this \
    abs acos all any asdouble asfloat asin asint asuint atan atan2 ceil clamp clip cos cosh countbits cross ddx ddy \
    degrees determinant distance dot exp exp2 faceforward firstbithigh firstbitlow floor fma fmod frac frexp fwidth \
    isfinite isinf isnan ldexp length lerp lit log log10 log2 mad max min modf msad4 mul noise normalize pow radians rcp \
    reflect refract reversebits round rsqrt saturate sign sin sincos sinh smoothstep sqrt step tan tanh transpose \
    trunc main operator auto catch char const_cast delete dynamic_cast enum explicit friend goto long mutable new \
    private protected public reinterpret_cast short signed sizeof static_cast throw try union using virtual select and \
    or indices vertices primitives payload object lanes half2 int64_t uint64_t float16_t int16_t uint16_t globallycoherent";

/// The identifiers that are in use.
#[derive(Clone, Debug)]
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    pub(super) fn new() -> Self {
        let mut names = Self { taken: RESERVED.split_whitespace().map(str::to_owned).collect() };
        // FXC compares keywords of effects without regard to case.
        for word in ["Pass", "Technique", "Texture", "Sampler", "Texture2D", "PASS", "TECHNIQUE"] {
            names.taken.insert(word.into());
        }
        names
    }

    /// Takes an identifier that is free: the wanted one, or one with a number after it.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let base = identifier(wanted);
        let mut name = base.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        name
    }
}

/// Returns a text as an identifier.
pub(super) fn identifier(text: &str) -> String {
    let mut name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("n{name}")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free() {
        let mut names = Names::new();
        assert_eq!(names.take("texture"), "texture_2");
        assert_eq!(names.take("light"), "light");
        assert_eq!(names.take("light"), "light_2");
        assert_eq!(names.take("Texture2D<float4>"), "Texture2D_float4");
        assert_eq!(names.take("4x"), "n4x");
    }
}
