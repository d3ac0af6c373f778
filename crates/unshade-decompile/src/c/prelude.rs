//! Helpers that are written before a function that uses them: what instructions do and CUDA has no name for.

/// The C of a helper.
pub fn text(name: &str) -> Option<&'static str> {
    HELPERS.iter().find(|helper| helper.0 == name).map(|helper| helper.1)
}

/// Names and C.
static HELPERS: &[(&str, &str)] = &[
    (
        "shift_left",
        "template <class T> static __device__ __forceinline__ T shift_left(T x, unsigned int n)\n{\n    return n < sizeof(T) * 8 ? x << n : 0;\n}",
    ),
    (
        "shift_right",
        "template <class T> static __device__ __forceinline__ T shift_right(T x, unsigned int n)\n{\n    return n < sizeof(T) * 8 ? x >> n : 0;\n}",
    ),
    (
        "shift_right_signed",
        "template <class T> static __device__ __forceinline__ T shift_right_signed(T x, unsigned int n)\n{\n    return x >> (n < sizeof(T) * 8 ? n : sizeof(T) * 8 - 1);\n}",
    ),
    (
        "signed_carry",
        "template <class T> static __device__ __forceinline__ bool signed_carry(T a, T b)\n{\n    return b < 0 ? a < (T)1 << (sizeof(T) * 8 - 1) - b : false;\n}",
    ),
    (
        "laneid",
        "static __device__ __forceinline__ unsigned int laneid()\n{\n#ifdef __CUDA_ARCH__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(r));\n    return r;\n#else\n    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;\n#endif\n}",
    ),
];
