//! Identifiers that are free: no keyword, no function of the language, nothing that is declared.

use std::collections::BTreeSet;

/// Words that can't be identifiers.
const KEYWORDS: &str = "AppendStructuredBuffer asm asm_fragment BlendState bool break Buffer ByteAddressBuffer case cbuffer \
    centroid class column_major compile compile_fragment CompileShader const continue ComputeShader \
    ConsumeStructuredBuffer default DepthStencilState DepthStencilView discard do double DomainShader dword else export \
    extern false float for fxgroup GeometryShader groupshared half Hullshader if in inline inout InputPatch int \
    interface line lineadj linear LineStream matrix min16float min10float min16int min12int min16uint namespace \
    nointerpolation noperspective NULL out OutputPatch packoffset pass pixelfragment PixelShader point PointStream \
    precise RasterizerState RenderTargetView return register row_major RWBuffer RWByteAddressBuffer \
    RWStructuredBuffer sample sampler SamplerState SamplerComparisonState shared snorm stateblock stateblock_state \
    static string struct switch StructuredBuffer tbuffer technique texture triangle triangleadj TriangleStream true \
    typedef uint uniform unorm unsigned vector vertexfragment VertexShader void volatile while template typename this \
    operator auto catch char const_cast delete dynamic_cast enum explicit friend goto long mutable new private \
    protected public reinterpret_cast short signed sizeof static_cast throw try union using virtual select and or \
    indices vertices primitives payload object lanes half2 int64_t uint64_t float16_t int16_t uint16_t globallycoherent";

/// Keywords of effects, which FXC compares without regard to case.
const EFFECT_KEYWORDS: [&str; 6] = ["Pass", "Technique", "Texture", "Texture2D", "PASS", "TECHNIQUE"];

/// Keywords that compilers take as the names of global variables; at the start of a statement they are keywords.
const CONTEXTUAL: [&str; 3] = ["indices", "precise", "sample"];

/// A keyword that only FXC has: the type of textures of old shader models.
const TEXTURE: &str = "texture";

/// Functions that a global name hides, which the text may use.
const FUNCTIONS: &str = "abs acos all any asdouble asfloat asin asint asuint atan atan2 ceil clamp clip cos cosh countbits \
    cross ddx ddy degrees determinant distance dot exp exp2 faceforward firstbithigh firstbitlow floor fma fmod frac frexp \
    fwidth isfinite isinf isnan ldexp length lerp lit log log10 log2 mad max min modf msad4 mul noise normalize pow \
    radians rcp reflect refract reversebits round rsqrt saturate sign sin sincos sinh smoothstep sqrt step tan tanh \
    transpose trunc main";

/// The identifiers that are in use.
#[derive(Clone, Debug)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Names {
    /// Returns the names of a program for DXC, or for FXC. It uses no function of those that are `free`.
    pub(super) fn global(is_fxc: bool, free: &BTreeSet<String>) -> Self {
        let mut names = Self::members();
        names.taken.extend(FUNCTIONS.split_whitespace().map(str::to_owned));
        names.taken.retain(|name| !free.contains(name));
        names.taken.insert("globallycoherent".into());
        if is_fxc {
            names.taken.extend(EFFECT_KEYWORDS.map(str::to_owned));
        } else {
            names.taken.remove(TEXTURE);
        }
        names
    }

    /// Returns the names of the members of a structure.
    pub(super) fn members() -> Self {
        let is_taken = |name: &&str| !CONTEXTUAL.contains(name) && *name != "globallycoherent";
        let taken = KEYWORDS.split_whitespace().filter(is_taken).map(str::to_owned).collect();
        Self { taken, namespaces: BTreeSet::new() }
    }

    /// Returns the names of a function: those that only global variables may have are taken.
    pub(super) fn of_function(&self) -> Self {
        let mut names = self.clone();
        names.taken.extend(CONTEXTUAL.iter().chain([&TEXTURE]).map(|name| (*name).to_owned()));
        names
    }

    /// Takes an identifier just as it is. Returns whether it was free.
    pub(super) fn take_exactly(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes a name in namespaces, such as `A::B::name`, or an identifier if it is none or can't be taken.
    pub(super) fn take_path(&mut self, wanted: &str) -> String {
        let mut parts = wanted.split("::");
        let is_free = |part: &str| identifier(part) == part && Self::members().take_exactly(part);
        let Some(first) = parts.next().filter(|first| wanted.len() > first.len()) else {
            return self.take(wanted);
        };
        let is_known = self.namespaces.contains(first);
        let can_be = is_free(first) && parts.all(is_free) && (is_known || !self.taken.contains(first));
        if !can_be || !self.taken.insert(wanted.to_owned()) {
            return self.take(wanted);
        }
        self.taken.insert(first.to_owned());
        self.namespaces.insert(first.to_owned());
        wanted.to_owned()
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

/// Returns whether a name is that of a function of the language.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.split_whitespace().any(|function| function == name)
}

/// Returns a text as an identifier.
pub(crate) fn identifier(text: &str) -> String {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.chars().all(is_in_name)
        && text.contains(is_letter)
        && !text.starts_with(|c: char| c.is_ascii_digit())
    {
        return text.to_owned();
    }
    let mut name: String = text.chars().map(|c| if is_in_name(c) { c } else { '_' }).collect();
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

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_free() {
        let mut names = Names::global(true, &BTreeSet::from(["ddx".to_owned()]));
        assert_eq!(names.take("texture"), "texture_2");
        assert_eq!(names.take("Texture"), "Texture_2");
        assert_eq!(names.take("ddx"), "ddx");
        assert_eq!(names.take("ddy"), "ddy_2");
        assert_eq!(names.take("__packed"), "__packed");
        assert_eq!(names.take("light"), "light");
        assert_eq!(names.take("light"), "light_2");
        assert_eq!(names.take("Texture2D<float4>"), "Texture2D_float4");
        assert_eq!(names.take("4x"), "n4x");
        assert_eq!(names.take_path("light::map"), "light_map");
        assert_eq!(names.take_path("A::B::map"), "A::B::map");
        assert_eq!(names.take_path("A::B::map"), "A_B_map");
        assert_eq!(names.take_path("A::map"), "A::map");
        assert_eq!(names.take("A"), "A_2");
        let mut of_dxc = Names::global(false, &BTreeSet::new());
        assert_eq!(of_dxc.of_function().take("sample"), "sample_2");
        assert_eq!(of_dxc.take("sample"), "sample");
        assert_eq!(Names::global(false, &BTreeSet::new()).take("Texture"), "Texture");
        assert_eq!(Names::members().take("length"), "length");
    }
}
