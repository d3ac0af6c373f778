//! Identifiers that are free: no keyword, no name of Metal's library, nothing that is declared.

use crate::hlsl::names::identifier;
use std::collections::BTreeSet;

/// Keywords of C++ and Metal.
const KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const \
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false \
    float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private \
    protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch \
    template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile \
    wchar_t while xor xor_eq device constant threadgroup thread threadgroup_imageblock ray_data object_data kernel vertex \
    fragment intersection visible mesh object half bfloat uchar ushort uint ulong size_t metal main \
    NAN INFINITY MAXFLOAT __func__ __FUNCTION__ __PRETTY_FUNCTION__ __FILE__ __LINE__ __METAL_VERSION__";

/// Names of Metal's library that `using namespace metal` brings, and that texts use.
const LIBRARY: &str = "_atomic abs absdiff access acos acosh address addsat all any array as_type asin asinh atan atan2 atanh \
    atomic atomic_int atomic_uint atomic_float atomic_bool bias bool2 bool3 bool4 ceil clamp clz constexpr coord copysign \
    cos cosh cospi cross ctz depth2d dfdx dfdy discard_fragment distance dot exp exp10 exp2 extract_bits fabs faceforward \
    fast fdim filter float2 float3 float4 floor fma fmax fmin fmod fract frexp fwidth gather gradient2d half2 half3 half4 \
    hadd ilogb insert_bits int2 int3 int4 isfinite isinf isnan isnormal ldexp length level log log10 log2 mad24 madhi \
    madsat matrix max max3 median3 mem_flags memory_order_relaxed min min3 mix modf mul24 mulhi nextafter normalize pow powr \
    popcount precise quad_all quad_any quad_ballot quad_broadcast rint reflect refract reverse_bits rhadd rotate round \
    rsqrt sampler saturate select sign signbit simd_all simd_any simd_ballot simd_broadcast simd_max simd_min simd_or \
    simd_product simd_shuffle simd_sum simd_vote simd_xor simdgroup_barrier simdgroup_load simdgroup_store \
    simdgroup_matrix sin sincos sinh sinpi smoothstep sqrt step subsat tan tanh tanpi texture2d threadgroup_barrier \
    trunc uint2 uint3 uint4 vec \
    add_const add_cv add_pointer add_volatile alignment_of bool_constant common_type conditional conditional_t decay \
    declval enable_if enable_if_t extent false_type forward index_sequence integer_sequence integral_constant \
    invoke_result is_array is_base_of is_class is_const is_convertible is_empty is_enum is_floating_point is_function \
    is_integral is_member_pointer is_pointer is_reference is_same is_same_v is_scalar is_signed is_union is_unsigned \
    is_void make_index_sequence make_integer_sequence make_signed make_unsigned numeric_limits rank remove_const \
    remove_cv remove_extent remove_pointer remove_reference remove_volatile swap true_type underlying_type void_t";

/// The names of the library, one by one.
static LIBRARY_WORDS: std::sync::LazyLock<BTreeSet<&'static str>> =
    std::sync::LazyLock::new(|| LIBRARY.split_whitespace().collect());

/// The identifiers that are in use.
#[derive(Clone, Debug)]
pub(super) struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    /// Returns the names of a program.
    pub(super) fn global() -> Self {
        let words = KEYWORDS.split_whitespace().chain(LIBRARY.split_whitespace());
        Self { taken: words.map(str::to_owned).collect() }
    }

    /// Returns the names of the members of a structure.
    pub(super) fn members() -> Self {
        Self { taken: KEYWORDS.split_whitespace().map(str::to_owned).collect() }
    }

    /// Returns the names of a function that uses only some of the library: its variables may have the names of others.
    pub(super) fn of_function(&self, uses: &dyn Fn(&str) -> bool) -> Self {
        let mut names = self.clone();
        names.taken.retain(|name| !LIBRARY_WORDS.contains(name.as_str()) || uses(name));
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
