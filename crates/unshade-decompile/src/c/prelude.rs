//! Helpers that are printed before a function that uses them: instructions without a CUDA function.
//!
//! They are C++ that both a device compiler and a host compiler with CUDA's names accept.

use super::wrap::WIDTH;

/// The declaration of the device runtime's function that reports a failed assertion. nvcc knows it, but does not declare
/// it; headers for a host do.
const ASSERT_FAILED: &str = "\
#ifdef __CUDACC__
extern \"C\" __device__ void __assertfail(const void *, const void *, unsigned int, const void *, size_t);
#endif";

/// Returns the C text of a helper.
pub fn text(name: &str) -> Option<String> {
    if name == "__assertfail" {
        return Some(ASSERT_FAILED.to_owned());
    }
    let (name, signature, body) = HELPERS.iter().find(|helper| helper.0 == name)?;
    let (template, result) = match signature.strip_prefix("T ") {
        Some(_) if signature.contains("(T ") => ("template <class T> ", "T"),
        _ => ("", signature.split(" (").next().unwrap_or("unsigned int")),
    };
    let parameters = signature.find('(').map_or("()", |start| &signature[start..]);
    let head = format!("{template}static __device__ {result} {name}{parameters}");
    // A helper with one statement fits on one line, if it is short enough.
    let short = format!("{head} {{ {} }}", body.trim());
    Some(if body.contains('\n') || short.len() > WIDTH { format!("{head}\n{{\n{body}\n}}") } else { short })
}

/// Returns the names of all helpers.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    HELPERS.iter().map(|helper| helper.0)
}

/// Name; result and parameters; statements.
static HELPERS: &[(&str, &str, &str)] = &[
    ("shift_left", "T (T x, unsigned int n)", "    return n < sizeof(T) * 8 ? x << n : 0;"),
    ("shift_right", "T (T x, unsigned int n)", "    return n < sizeof(T) * 8 ? x >> n : 0;"),
    (
        "shift_right_signed",
        "T (T x, unsigned int n)",
        "    return x >> (n < sizeof(T) * 8 ? n : sizeof(T) * 8 - 1);",
    ),
    ("signed_carry", "bool (long long a, long long b)", "    return (int)(a + b) != a + b;"),
    ("signed_borrow", "bool (long long a, long long b)", "    return (int)(a - b) != a - b;"),
    (
        "laneid",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(r));\n    return r;\n    #else\n    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;\n    #endif",
    ),
    (
        "lanemask_eq",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_eq;\" : \"=r\"(r));\n    return r;\n    #else\n    return 1u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31);\n    #endif",
    ),
    (
        "lanemask_lt",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(r));\n    return r;\n    #else\n    return (1u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1;\n    #endif",
    ),
    (
        "lanemask_le",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_le;\" : \"=r\"(r));\n    return r;\n    #else\n    return (2u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1;\n    #endif",
    ),
    (
        "lanemask_gt",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_gt;\" : \"=r\"(r));\n    return r;\n    #else\n    return ~((2u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1);\n    #endif",
    ),
    (
        "lanemask_ge",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%lanemask_ge;\" : \"=r\"(r));\n    return r;\n    #else\n    return ~((1u << ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31)) - 1);\n    #endif",
    ),
    (
        "clock_high",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%clock_hi;\" : \"=r\"(r));\n    return r;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "globaltimer_low",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%globaltimer_lo;\" : \"=r\"(r));\n    return r;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "globaltimer_high",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    asm volatile(\"mov.u32 %0, %%globaltimer_hi;\" : \"=r\"(r));\n    return r;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "virtual_id",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int warp, multiprocessor;\n    asm volatile(\"mov.u32 %0, %%warpid; mov.u32 %1, %%smid;\" : \"=r\"(warp), \"=r\"(multiprocessor));\n    return multiprocessor << 20 | warp << 8;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "virtual_configuration",
        "unsigned int ()",
        "    #ifdef __CUDACC__\n    unsigned int multiprocessors;\n    asm(\"mov.u32 %0, %%nsmid;\" : \"=r\"(multiprocessors));\n    return multiprocessors << 20;\n    #else\n    return 0;\n    #endif",
    ),
    (
        "shared_memory",
        "char * ()",
        "    char *start;\n    asm(\"cvta.shared.u64 %0, %1;\" : \"=l\"(start) : \"l\"(0ull));\n    return start;",
    ),
    ("keep", "void (const void *p)", "    asm volatile(\"\" : : \"l\"(p));"),
    ("flush_to_zero", "float (float x)", "    return fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x;"),
    (
        "half_to_float",
        "float (unsigned int h)",
        "    unsigned int rest = h & 0x7fff, normal = rest < 0x7c00 ? (rest << 13) + 0x38000000 : 0x7f800000;\n    float size = rest < 0x400 ? (float)rest * 5.9604644775390625e-08f : __int_as_float(normal);\n    return rest > 0x7c00 ? __int_as_float(0x7fffffff) : (h & 0x8000) != 0 ? -size : size;",
    ),
    (
        "float_to_half",
        "unsigned int (float x, int rounding)",
        "    unsigned int bits = __float_as_int(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;\n    if (rest > 0x7f800000)\n        return 0x7fff;\n    bool away = rounding == 1 ? sign != 0 : rounding == 2 && sign == 0;\n    if (rest >= 0x47800000)\n        return rest == 0x7f800000 || rounding == 0 || away ? sign | 0x7c00 : sign | 0x7bff;\n    unsigned int shift = rest >= 0x38800000 ? 13 : 126 - (rest >> 23);\n    unsigned int value = rest >= 0x38800000 ? rest - 0x38000000 : rest & 0x7fffff | 0x800000;\n    if (shift > 31)\n        return sign | (away && rest != 0 ? 1 : 0);\n    unsigned int whole = value >> shift, part = value & (1u << shift) - 1, half = 1u << (shift - 1);\n    bool up = rounding == 0 ? part > half || part == half && (whole & 1) != 0 : away && part != 0;\n    return sign | (whole + up);",
    ),
    (
        "double_to_half",
        "unsigned int (double x, int rounding)",
        "    float f = (float)(fabs(x) < 1e6 || !(fabs(x) < 1e300 * 1e10) ? x : copysign(1e6, x));\n    unsigned int bits = __float_as_int(f);\n    if ((double)f != x && (bits & 0x7f800000) != 0x7f800000)\n        f = __int_as_float(fabs((double)f) > fabs(x) ? bits - 1 | 1 : bits | 1);\n    unsigned int sign = __float_as_int(f) >> 16 & 0x8000, rest = __float_as_int(f) & 0x7fffffff;\n    if (rest > 0x7f800000)\n        return 0x7fff;\n    bool away = rounding == 1 ? sign != 0 : rounding == 2 && sign == 0;\n    if (rest >= 0x47800000)\n        return rest == 0x7f800000 || rounding == 0 || away ? sign | 0x7c00 : sign | 0x7bff;\n    unsigned int shift = rest >= 0x38800000 ? 13 : 126 - (rest >> 23);\n    unsigned int value = rest >= 0x38800000 ? rest - 0x38000000 : rest & 0x7fffff | 0x800000;\n    if (shift > 31)\n        return sign | (away && rest != 0 ? 1 : 0);\n    unsigned int whole = value >> shift, part = value & (1u << shift) - 1, half = 1u << (shift - 1);\n    bool up = rounding == 0 ? part > half || part == half && (whole & 1) != 0 : away && part != 0;\n    return sign | (whole + up);",
    ),
    (
        "fmul_zero_wins",
        "float (float a, float b, int rounding, int scale)",
        "    const float scales[8] = {1.0f, 0.5f, 0.25f, 0.125f, 8.0f, 4.0f, 2.0f, 1.0f};\n    double x = (double)a * b * scales[scale & 7];\n    if (a == 0.0f || b == 0.0f)\n        return 0.0f;\n    return rounding == 0 ? (float)x : rounding == 1 ? __double2float_rd(x) : rounding == 2 ? __double2float_ru(x) : __double2float_rz(x);",
    ),
    (
        "fma_zero_wins",
        "float (float a, float b, float c, int rounding)",
        "    if (a == 0.0f || b == 0.0f)\n        a = b = 0.0f;\n    return rounding == 0 ? fmaf(a, b, c) : rounding == 1 ? __fmaf_rd(a, b, c) : rounding == 2 ? __fmaf_ru(a, b, c) : __fmaf_rz(a, b, c);",
    ),
    (
        "fmul_scaled",
        "float (float a, float b, int rounding, int scale)",
        "    const float scales[8] = {1.0f, 0.5f, 0.25f, 0.125f, 8.0f, 4.0f, 2.0f, 1.0f};\n    double x = (double)a * b * scales[scale & 7];\n    return rounding == 0 ? (float)x : rounding == 1 ? __double2float_rd(x) : rounding == 2 ? __double2float_ru(x) : __double2float_rz(x);",
    ),
    (
        "or_if_nan",
        "long long (long long x, double of, long long instead)",
        "    return of != of ? instead : x;",
    ),
    (
        "fdivide_is_hard",
        "bool (float a, float b)",
        "    int x = (int)(__float_as_int(a) >> 23 & 255), y = (int)(__float_as_int(b) >> 23 & 255), q = x - y + 127;\n    return x <= 24 || x > 254 || y == 0 || y >= 252 || q <= 24 || q >= 253;",
    ),
    (
        "ddivide_is_hard",
        "bool (double a, double b)",
        "    int x = (int)(__double_as_longlong(a) >> 52 & 2047), y = (int)(__double_as_longlong(b) >> 52 & 2047), q = x - y + 1023;\n    return x <= 53 || x > 2046 || y == 0 || y >= 2044 || q <= 53 || q >= 2045;",
    ),
    (
        "reciprocal64_high",
        "unsigned int (unsigned int high)",
        "    return (unsigned int)(__double_as_longlong(1.0 / __longlong_as_double((long long)high << 32)) >> 32);",
    ),
    (
        "reciprocal_sqrt64_high",
        "unsigned int (unsigned int high)",
        "    return (unsigned int)(__double_as_longlong(1.0 / sqrt(__longlong_as_double((long long)high << 32))) >> 32);",
    ),
    (
        "clamp_integer",
        "long long (long long x, bool has_sign, int type)",
        "    int bits = 8 << (type & 3);\n    long long low = type < 4 ? 0 : -(1ll << (bits - 1)), high = type < 4 ? bits < 64 ? (1ll << bits) - 1 : -1 : (long long)((1ull << (bits - 1)) - 1);\n    if (!has_sign && x < 0)\n        return type == 3 ? x : high;\n    return x < low ? low : high >= 0 && x > high ? high : x;",
    ),
    (
        "select_bytes",
        "unsigned int (unsigned int a, unsigned int b, unsigned int selector, int mode)",
        "    const unsigned int tables[7][4] = {{0, 0, 0, 0}, {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};\n    if (mode != 0)\n        selector = mode < 7 ? tables[mode][selector & 3] : selector & 0x7777;\n    unsigned long long both = (unsigned long long)b << 32 | a;\n    unsigned int result = 0;\n    for (int i = 0; i < 4; i++) {\n        unsigned int nibble = selector >> i * 4, byte = (unsigned int)(both >> (nibble & 7) * 8) & 255;\n        result |= (nibble & 8 ? byte & 128 ? 255u : 0u : byte) << i * 8;\n    }\n    return result;",
    ),
    (
        "surface_clamp",
        "unsigned int (unsigned int x, unsigned int descriptor, unsigned int added, int has_sign, int geometry, int two_dimensions)",
        "    long long at = (has_sign ? (long long)(int)x : (long long)x) + (int)added;\n    bool lines = geometry < 5 ? descriptor >> 21 & 1 : geometry < 10, plain = lines && !two_dimensions;\n    unsigned int bound = (plain ? descriptor : descriptor & 0xfffff) & ~((1u << geometry % 5) - 1);\n    bool outside = at < 0 || at > bound;\n    unsigned int inside = at < 0 ? 0 : at > bound ? bound : (unsigned int)at, size = descriptor >> 26 & 7;\n    if (plain)\n        return inside;\n    unsigned int packed = lines ? inside & 0xfffff | size << 27 | 1u << 30 : inside >> (descriptor >> 22 & 15) & 0xffff | (inside << size & 255) << 16 | (descriptor >> 29) << 27;\n    return packed | (unsigned int)outside << 31;",
    ),
    (
        "surface_clamp_outside",
        "bool (unsigned int x, unsigned int descriptor, unsigned int added, int has_sign, int geometry, int two_dimensions)",
        "    long long at = (has_sign ? (long long)(int)x : (long long)x) + (int)added;\n    bool lines = geometry < 5 ? descriptor >> 21 & 1 : geometry < 10, plain = lines && !two_dimensions;\n    unsigned int bound = (plain ? descriptor : descriptor & 0xfffff) & ~((1u << geometry % 5) - 1);\n    return at < 0 || at > bound;",
    ),
    (
        "surface_bitfield",
        "unsigned int (unsigned int x, unsigned int y, unsigned int z, int three_dimensions)",
        "    if ((x | y) >> 30 & 1) {\n        unsigned int size = x >> 27 & 7;\n        return (z & 255) << size & 255 | size << 12 | 1 << 11;\n    }\n    unsigned int inside = x >> 16 & 15 | (y >> 16 & 3) << 4 | (x >> 20 & 1) << 6 | (y >> 18 & 1) << 7 | (x >> 21 & 1) << 8;\n    unsigned int in_x = x >> 27 & 1, in_y = y >> 27 & 7, in_z = three_dimensions ? z >> 27 & 7 : 0;\n    unsigned int tile_x = x >> 22 & 3 & ((1u << in_x) - 1), tile_y = y >> 19 & 31 & ((1u << (in_y < 5 ? in_y : 5)) - 1), tile_z = z >> 16 & 255 & ((1u << (in_z < 5 ? in_z : 5)) - 1);\n    unsigned int tile = ((tile_z << in_y | tile_y) << in_x | tile_x) & (in_x ? 0x7ff : 0x3ff);\n    return inside | (in_x + in_y + in_z & 15) << 12 | tile << 16;",
    ),
    (
        "surface_bitfield_outside",
        "bool (unsigned int x, unsigned int y, unsigned int z, int three_dimensions)",
        "    return (x | y | (three_dimensions ? z : 0)) >> 31;",
    ),
    (
        "surface_address",
        "unsigned int (unsigned int block, unsigned int merged, unsigned int base)",
        "    unsigned int shift = merged >> 12 & 15;\n    if (merged >> 11 & 1)\n        return base + ((shift < 8 ? block >> (8 - shift) : block << (shift - 8)) & 0xffffff);\n    return base + ((block << (shift + 1) | (merged >> 16 & 0x7ff) << 1 | merged >> 8 & 1) & 0x7ffffff);",
    ),
    (
        "mad_descriptor",
        "unsigned int (unsigned int a, unsigned int b, unsigned int c)",
        "    unsigned int x = b >> 30 == 0 ? a : b >> 30 == 1 ? a & 0xffffff : b >> 30 == 2 ? a & 0xffff : a >> 16;\n    unsigned int z = (b >> 26 & 3) == 1 ? c & 0xffffff : (b >> 26 & 3) == 2 ? c & 0xffff : c;\n    return x * (b >> 28 & 1 ? b & 0xffffff : b & 0xffff) + z;",
    ),
    (
        "video_part",
        "long long (unsigned int x, int type)",
        "    int part = type & 7;\n    unsigned int value = part < 4 ? x >> part * 8 & 255 : part == 4 ? x & 65535 : part == 5 ? x >> 16 : x;\n    if (!(type & 8))\n        return value;\n    return part < 4 ? (long long)(signed char)value : part < 6 ? (long long)(short)value : (long long)(int)value;",
    ),
    (
        "video_clamp",
        "long long (long long x, bool has_sign)",
        "    long long low = has_sign ? -2147483648ll : 0, high = has_sign ? 2147483647ll : 4294967295ll;\n    return x < low ? low : x > high ? high : x;",
    ),
    (
        "video_simd",
        "unsigned int (int code, int types, int variant, unsigned int a, unsigned int b, unsigned int c, int first, int second, int negate_a, int negate_b, int mask, int combined, int sum, int has_sign, int clamp)",
        "    const unsigned short first_bytes[14] = {0x0000, 0x1111, 0x2222, 0x3333, 0x3210, 0x4321, 0x5432, 0x6543, 0x3201, 0x3012, 0x0213, 0x3120, 0x1230, 0x2310};\n    const unsigned short second_bytes[11] = {0x4444, 0x5555, 0x6666, 0x7777, 0x7654, 0x6543, 0x5432, 0x4321, 0x4567, 0x6745, 0x5476};\n    int width = code & 8 ? 8 : 16, lanes = 32 / width, op = code & 7;\n    unsigned int limit = (1u << width) - 1, third = op == 5 ? 0 : c, word = 0;\n    long long total = 0;\n    for (int lane = 0; lane < lanes; lane++) {\n        long long part[2], old = third >> lane * width & limit;\n        for (int i = 0; i < 2; i++) {\n            int select = (i ? second : first) & 255, other = (i ? first : second) & 255;\n            int from = i && select == 255 ? lanes + lane : width == 8 ? (i ? second_bytes[select < 11 ? select : 4] : first_bytes[select < 14 ? select : 4]) >> lane * 4 & 15 : !i && other == 255 ? select >> lane & 1 : select >> lane * 2 & 3;\n            part[i] = (from >= lanes ? b : a) >> (from & (lanes - 1)) * width & limit;\n            if (types >> i & 1 && part[i] >> (width - 1))\n                part[i] -= (long long)limit + 1;\n            if (i ? negate_b : negate_a)\n                part[i] = -part[i];\n        }\n        if (has_sign && old >> (width - 1))\n            old -= (long long)limit + 1;\n        long long x = part[0], y = part[1], value = old;\n        int distance = variant ? (int)(y & (width - 1)) : y < 0 ? 0 : y > width ? width : (int)y;\n        if (mask >> lane & 1) {\n            switch (op) {\n            case 0: value = x + y; break;\n            case 1: value = (x + y + (x + y >= 0)) >> 1; break;\n            case 2: value = x < y ? y - x : x - y; break;\n            case 3: value = (x < y) == !variant ? x : y; break;\n            case 4: value = variant >> 0 & 1 && x < y || variant >> 1 & 1 && x == y || variant >> 2 & 1 && x > y; break;\n            case 5: value = c & 1 ? x : y; break;\n            case 6: value = x >> distance; break;\n            default: value = (long long)((unsigned long long)x << distance);\n            }\n            long long low = has_sign ? -(long long)(limit >> 1) - 1 : 0, high = has_sign ? limit >> 1 : limit;\n            if (clamp)\n                value = value < low ? low : value > high ? high : value;\n            total += value;\n            if (combined == 1 && old < value || combined == 2 && old > value)\n                value = old;\n        }\n        word |= ((unsigned int)value & limit) << lane * width;\n    }\n    if (combined == 4 || sum == 1)\n        return third + (unsigned int)total;\n    if (combined == 5 || combined == 6) {\n        bool is_less = has_sign ? (int)word < (int)third : word < third;\n        return is_less == (combined == 5) ? word : third;\n    }\n    return word;",
    ),
    ("vote_equal", "bool (bool p)", "    return __all(p) || !__any(p);"),
    ("atomic_safe_add", "unsigned int (unsigned int *p, unsigned int x)", "    return atomicAdd(p, x);"),
    (
        "shuffle",
        "unsigned int (unsigned int x, unsigned int lane, unsigned int mask, int mode)",
        "    #ifdef __CUDACC__\n    unsigned int r;\n    if (mode == 0)\n        asm volatile(\"shfl.idx.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    else if (mode == 1)\n        asm volatile(\"shfl.up.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    else if (mode == 2)\n        asm volatile(\"shfl.down.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    else\n        asm volatile(\"shfl.bfly.b32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(x), \"r\"(lane), \"r\"(mask));\n    return r;\n    #else\n    int width = 32 - (mask >> 8 & 31);\n    return mode == 0 ? __shfl(x, lane, width) : mode == 1 ? __shfl_up(x, lane, width) : mode == 2 ? __shfl_down(x, lane, width) : __shfl_xor(x, lane, width);\n    #endif",
    ),
    (
        "shuffle_inside",
        "bool (unsigned int lane, unsigned int mask, int mode)",
        "    unsigned int me = laneid(), segment = mask >> 8 & 31, last = me & segment | mask & 31 & ~segment;\n    int to = mode == 0 ? lane & 31 & ~segment | me & segment : mode == 1 ? me - lane : mode == 2 ? me + lane : me ^ lane;\n    return mode == 1 ? to >= (int)last : to <= (int)last;",
    ),
    (
        "barrier_sync",
        "void (unsigned int barrier, unsigned int threads)",
        "    #ifdef __CUDACC__\n    if (threads == 0)\n        asm volatile(\"bar.sync %0;\" : : \"r\"(barrier) : \"memory\");\n    else\n        asm volatile(\"bar.sync %0, %1;\" : : \"r\"(barrier), \"r\"(threads) : \"memory\");\n    #else\n    __syncthreads();\n    #endif",
    ),
    (
        "barrier_arrive",
        "void (unsigned int barrier, unsigned int threads)",
        "    #ifdef __CUDACC__\n    asm volatile(\"bar.arrive %0, %1;\" : : \"r\"(barrier), \"r\"(threads) : \"memory\");\n    #else\n    __syncthreads();\n    #endif",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_define_the_function_they_name() {
        for (name, ..) in HELPERS {
            let text = text(name).expect("it is in the table");
            assert!(text.contains(&format!(" {name}(")), "{text}");
            assert!(text.ends_with('}'), "{text}");
        }
        assert!(text("shift_left").is_some_and(|text| text.starts_with("template <class T> ")));
        assert!(text("tex2D").is_none());
    }
}
