// What `air.*` functions of a module call on the host (xtask/src/conformance/metal/native/intrinsics.rs).
//
// Functions of several threads and of packed values are those of the header. Operands and results are in memory.
#include "../include/metal_stdlib"

#define HOST_AIR_FLOAT1(name) \
  extern "C" float host_air_##name(float x) { return host::name(x); }
HOST_AIR_FLOAT1(rsqrt)
HOST_AIR_FLOAT1(exp10)
HOST_AIR_FLOAT1(sinpi)
HOST_AIR_FLOAT1(cospi)
HOST_AIR_FLOAT1(tanpi)
HOST_AIR_FLOAT1(fract)
HOST_AIR_FLOAT1(saturate)
HOST_AIR_FLOAT1(sign)
HOST_AIR_FLOAT1(rcp)
extern "C" float host_air_divide(float x, float y) { return x / y; }
#define HOST_AIR_FLOAT3(name) \
  extern "C" float host_air_##name(float x, float y, float z) { return host::name(x, y, z); }
HOST_AIR_FLOAT3(clamp)
HOST_AIR_FLOAT3(fmin3)
HOST_AIR_FLOAT3(fmax3)
HOST_AIR_FLOAT3(fmedian3)
extern "C" float host_air_mix(float x, float y, float a) { return metal::mix(x, y, a); }

namespace {
template <class T>
const T &at(const void *memory) {
  return *static_cast<const T *>(memory);
}
template <class T>
T &at(void *memory) {
  return *static_cast<T *>(memory);
}
}  // namespace

#define HOST_AIR_TYPES(M)                                                                       \
  M(f32, float) M(f16, half) M(bf16, bfloat) M(s8, int8_t) M(u8, uint8_t) M(s16, short)         \
  M(u16, ushort) M(s32, int) M(u32, uint) M(s64, long) M(u64, ulong) M(u1, bool)
#define HOST_AIR_INTEGERS(M)                                                                    \
  M(s8, int8_t) M(u8, uint8_t) M(s16, short) M(u16, ushort) M(s32, int) M(u32, uint)            \
  M(s64, long) M(u64, ulong)
#define HOST_AIR_NUMBERS(M) M(f32, float) M(f16, half) M(bf16, bfloat) HOST_AIR_INTEGERS(M)

#define HOST_AIR_ONE(name, suffix, type) \
  extern "C" void host_air_##name##_##suffix(void *to, const void *a) { at<type>(to) = metal::name(at<type>(a)); }
#define HOST_AIR_NUMBERED(name, suffix, type)                                             \
  extern "C" void host_air_##name##_##suffix(void *to, const void *a, const void *number) { \
    at<type>(to) = metal::name(at<type>(a), at<ushort>(number));                          \
  }
#define HOST_AIR_SHIFT(name, suffix, type)                                                                  \
  extern "C" void host_air_##name##_##suffix(void *to, const void *a, const void *b, const void *delta,     \
                                             const void *modulo) {                                          \
    at<type>(to) = metal::name(at<type>(a), at<type>(b), at<ushort>(delta), at<ushort>(modulo));            \
  }
#define HOST_AIR_REDUCTIONS(suffix, type)                    \
  HOST_AIR_ONE(simd_sum, suffix, type)                       \
  HOST_AIR_ONE(simd_product, suffix, type)                   \
  HOST_AIR_ONE(simd_min, suffix, type)                       \
  HOST_AIR_ONE(simd_max, suffix, type)                       \
  HOST_AIR_ONE(quad_sum, suffix, type)                       \
  HOST_AIR_ONE(quad_product, suffix, type)                   \
  HOST_AIR_ONE(quad_min, suffix, type)                       \
  HOST_AIR_ONE(quad_max, suffix, type)                       \
  HOST_AIR_ONE(simd_prefix_inclusive_sum, suffix, type)      \
  HOST_AIR_ONE(simd_prefix_exclusive_sum, suffix, type)      \
  HOST_AIR_ONE(simd_prefix_inclusive_product, suffix, type)  \
  HOST_AIR_ONE(simd_prefix_exclusive_product, suffix, type)
HOST_AIR_NUMBERS(HOST_AIR_REDUCTIONS)
#define HOST_AIR_BITS(suffix, type)      \
  HOST_AIR_ONE(simd_and, suffix, type)   \
  HOST_AIR_ONE(simd_or, suffix, type)    \
  HOST_AIR_ONE(simd_xor, suffix, type)   \
  HOST_AIR_ONE(quad_and, suffix, type)   \
  HOST_AIR_ONE(quad_or, suffix, type)    \
  HOST_AIR_ONE(quad_xor, suffix, type)
HOST_AIR_INTEGERS(HOST_AIR_BITS)
#define HOST_AIR_SHUFFLES(suffix, type)                      \
  HOST_AIR_ONE(simd_broadcast_first, suffix, type)           \
  HOST_AIR_ONE(quad_broadcast_first, suffix, type)           \
  HOST_AIR_NUMBERED(simd_broadcast, suffix, type)            \
  HOST_AIR_NUMBERED(simd_shuffle, suffix, type)              \
  HOST_AIR_NUMBERED(simd_shuffle_xor, suffix, type)          \
  HOST_AIR_NUMBERED(simd_shuffle_up, suffix, type)           \
  HOST_AIR_NUMBERED(simd_shuffle_down, suffix, type)         \
  HOST_AIR_NUMBERED(simd_shuffle_rotate_up, suffix, type)    \
  HOST_AIR_NUMBERED(simd_shuffle_rotate_down, suffix, type)  \
  HOST_AIR_NUMBERED(quad_broadcast, suffix, type)            \
  HOST_AIR_NUMBERED(quad_shuffle, suffix, type)              \
  HOST_AIR_NUMBERED(quad_shuffle_xor, suffix, type)          \
  HOST_AIR_NUMBERED(quad_shuffle_up, suffix, type)           \
  HOST_AIR_NUMBERED(quad_shuffle_down, suffix, type)         \
  HOST_AIR_SHIFT(simd_shuffle_and_fill_up, suffix, type)     \
  HOST_AIR_SHIFT(simd_shuffle_and_fill_down, suffix, type)
HOST_AIR_TYPES(HOST_AIR_SHUFFLES)

#define HOST_AIR_NEXT(suffix, type)                                                       \
  extern "C" void host_air_nextafter_##suffix(void *to, const void *a, const void *b) {   \
    at<type>(to) = host::next(at<type>(a), at<type>(b));                                  \
  }
HOST_AIR_NEXT(f32, float)
HOST_AIR_NEXT(f16, half)
HOST_AIR_NEXT(bf16, bfloat)

#define HOST_AIR_VOTE(name, expression)                                     \
  extern "C" void host_air_##name(void *to, const void *from) {             \
    const ulong a [[maybe_unused]] = at<ulong>(from);                       \
    at<ulong>(to) = ulong(expression);                                      \
  }
HOST_AIR_VOTE(simd_ballot, metal::simd_ballot(a != 0))
HOST_AIR_VOTE(simd_vote_all, metal::simd_vote(a).all())
HOST_AIR_VOTE(simd_vote_any, metal::simd_vote(a).any())
HOST_AIR_VOTE(simd_all, metal::simd_all(a != 0))
HOST_AIR_VOTE(simd_any, metal::simd_any(a != 0))
HOST_AIR_VOTE(simd_active_threads_mask, metal::simd_active_threads_mask())
HOST_AIR_VOTE(simd_is_first, metal::simd_is_first())
HOST_AIR_VOTE(quad_ballot, metal::quad_ballot(a != 0))
HOST_AIR_VOTE(quad_all, metal::quad_all(a != 0))
HOST_AIR_VOTE(quad_any, metal::quad_any(a != 0))

#define HOST_AIR_MATRIX(bytes, type)                                                                       \
  extern "C" void host_air_matrix_diagonal_##bytes(void *to, const void *from) {                           \
    for (uint i = 0; i < 2; i++)                                                                           \
      (&at<type>(to))[i] = host::matrix_row(host_lane()) == host::matrix_column(host_lane()) + i           \
                               ? at<type>(from)                                                            \
                               : type(0);                                                                  \
  }                                                                                                        \
  extern "C" void host_air_matrix_load_##bytes(void *to, const void *from, const void *per_row,            \
                                               const void *origin, const void *transpose) {                \
    const type *source = at<const type *>(from);                                                           \
    const long *place = &at<long>(origin);                                                                 \
    for (uint i = 0; i < 2; i++)                                                                           \
      (&at<type>(to))[i] =                                                                                 \
          source[host::matrix_place(i, at<long>(per_row), place[0], place[1], at<int>(transpose) != 0)];   \
  }                                                                                                        \
  extern "C" void host_air_matrix_store_##bytes(void *, const void *value, const void *to, const void *per_row, \
                                                const void *origin, const void *transpose) {               \
    type *target = at<type *>(const_cast<void *>(to));                                                     \
    const long *place = &at<long>(origin);                                                                 \
    for (uint i = 0; i < 2; i++)                                                                           \
      target[host::matrix_place(i, at<long>(per_row), place[0], place[1], at<int>(transpose) != 0)] =      \
          (&at<type>(value))[i];                                                                           \
  }
HOST_AIR_MATRIX(2, ushort)
HOST_AIR_MATRIX(4, uint)
extern "C" void host_air_matrix_multiply(void *to, const void *a, const void *b, const void *c) {
  host::matrix_multiply(&at<float>(to), &at<float>(a), &at<float>(b), &at<float>(c));
}

#define HOST_AIR_PACK(name, type, function) \
  extern "C" void host_air_##name(void *to, const void *from) { at<uint>(to) = metal::function(at<type>(from)); }
#define HOST_AIR_UNPACK(name, type, function) \
  extern "C" void host_air_##name(void *to, const void *from) { at<type>(to) = metal::function(at<uint>(from)); }
HOST_AIR_PACK(pack_unorm4x8_v4f32, float4, pack_float_to_unorm4x8)
HOST_AIR_PACK(pack_snorm4x8_v4f32, float4, pack_float_to_snorm4x8)
HOST_AIR_PACK(pack_unorm4x8_srgb_v4f32, float4, pack_float_to_srgb_unorm4x8)
HOST_AIR_UNPACK(unpack_unorm4x8_v4f32, float4, unpack_unorm4x8_to_float)
HOST_AIR_UNPACK(unpack_snorm4x8_v4f32, float4, unpack_snorm4x8_to_float)
HOST_AIR_UNPACK(unpack_unorm4x8_srgb_v4f32, float4, unpack_unorm4x8_srgb_to_float)

// Rounds to bfloat, which LLVM calls for modules that have them.
extern "C" __bf16 __truncsfbf2(float value) { return __builtin_bit_cast(__bf16, bfloat(value).bits); }
extern "C" __bf16 __truncdfbf2(double value) { return __truncsfbf2(float(value)); }
