// Functions that Apple's header calls, for sources that call them, too: `__metal_exp(x, mode)`.
//
// The last argument chooses fast or precise math, which are the same here.
#pragma once

#include "atomic.h"
#include "simdgroup_matrix.h"

struct host_math_mode {};
#define __METAL_FAST_MATH__ (host_math_mode())
#define __METAL_PRECISE_MATH__ (host_math_mode())
#define __METAL_MAYBE_FAST_MATH__ (host_math_mode())

#define HOST_BUILTIN1(name)                                 \
  template <class A>                                        \
  inline auto __metal_##name(A a, host_math_mode = {}) {    \
    return metal::name(a);                                  \
  }
#define HOST_BUILTIN2(name)                                      \
  template <class A, class B>                                    \
  inline auto __metal_##name(A a, B b, host_math_mode = {}) {    \
    return metal::name(a, b);                                    \
  }
#define HOST_BUILTIN3(name)                                           \
  template <class A, class B, class C>                                \
  inline auto __metal_##name(A a, B b, C c, host_math_mode = {}) {    \
    return metal::name(a, b, c);                                      \
  }
HOST_BUILTIN1(acos)
HOST_BUILTIN1(acosh)
HOST_BUILTIN1(asin)
HOST_BUILTIN1(asinh)
HOST_BUILTIN1(atan)
HOST_BUILTIN1(atanh)
HOST_BUILTIN1(ceil)
HOST_BUILTIN1(cos)
HOST_BUILTIN1(cosh)
HOST_BUILTIN1(cospi)
HOST_BUILTIN1(exp)
HOST_BUILTIN1(exp2)
HOST_BUILTIN1(exp10)
HOST_BUILTIN1(fabs)
HOST_BUILTIN1(floor)
HOST_BUILTIN1(fract)
HOST_BUILTIN1(log)
HOST_BUILTIN1(log2)
HOST_BUILTIN1(log10)
HOST_BUILTIN1(rint)
HOST_BUILTIN1(round)
HOST_BUILTIN1(rsqrt)
HOST_BUILTIN1(sin)
HOST_BUILTIN1(sinh)
HOST_BUILTIN1(sinpi)
HOST_BUILTIN1(sqrt)
HOST_BUILTIN1(tan)
HOST_BUILTIN1(tanh)
HOST_BUILTIN1(tanpi)
HOST_BUILTIN1(trunc)
HOST_BUILTIN1(saturate)
HOST_BUILTIN1(isnan)
HOST_BUILTIN1(isinf)
HOST_BUILTIN1(isfinite)
HOST_BUILTIN1(isnormal)
HOST_BUILTIN1(signbit)
HOST_BUILTIN1(ilogb)
HOST_BUILTIN1(simd_sum)
HOST_BUILTIN1(simd_product)
HOST_BUILTIN1(simd_min)
HOST_BUILTIN1(simd_max)
HOST_BUILTIN1(simd_and)
HOST_BUILTIN1(simd_or)
HOST_BUILTIN1(simd_prefix_inclusive_sum)
HOST_BUILTIN1(simd_prefix_exclusive_sum)
HOST_BUILTIN1(simd_prefix_inclusive_product)
HOST_BUILTIN1(simd_prefix_exclusive_product)
HOST_BUILTIN1(simd_broadcast_first)
HOST_BUILTIN2(atan2)
HOST_BUILTIN2(divide)
HOST_BUILTIN2(fmax)
HOST_BUILTIN2(fmin)
HOST_BUILTIN2(fmod)
HOST_BUILTIN2(pow)
HOST_BUILTIN2(powr)
HOST_BUILTIN2(ldexp)
HOST_BUILTIN2(fdim)
HOST_BUILTIN2(copysign)
HOST_BUILTIN2(simd_broadcast)
HOST_BUILTIN2(simd_shuffle)
HOST_BUILTIN2(simd_shuffle_xor)
HOST_BUILTIN2(simd_shuffle_up)
HOST_BUILTIN2(simd_shuffle_down)
HOST_BUILTIN2(simd_shuffle_rotate_up)
HOST_BUILTIN2(simd_shuffle_rotate_down)
HOST_BUILTIN3(fma)
HOST_BUILTIN3(fmax3)
HOST_BUILTIN3(fmin3)
HOST_BUILTIN3(fmedian3)
#undef HOST_BUILTIN1
#undef HOST_BUILTIN2
#undef HOST_BUILTIN3

template <class A>
inline A __metal_nextafter(A a, A b) {
  return metal::nextafter(a, b);
}
template <class A>
inline A __metal_frexp(A a, int *exponent) {
  return metal::frexp(a, *exponent);
}
template <class A>
inline A __metal_modf(A a, A *whole, host_math_mode = {}) {
  return metal::modf(a, *whole);
}
template <class A>
inline A __metal_sincos(A a, A *cosine, host_math_mode = {}) {
  return metal::sincos(a, *cosine);
}
// Exists for floats, where it has no meaning.
template <class A>
inline A __metal_simd_xor(A a) {
  if constexpr (metal::is_integral_v<A>) return metal::simd_xor(a);
  else host_fault("simd_xor of floats");
}
template <class A>
inline A __metal_simd_shuffle_and_fill_up(A a, A filling, ushort delta, ushort modulo) {
  return metal::simd_shuffle_and_fill_up(a, filling, delta, modulo);
}
template <class A>
inline A __metal_simd_shuffle_and_fill_down(A a, A filling, ushort delta, ushort modulo) {
  return metal::simd_shuffle_and_fill_down(a, filling, delta, modulo);
}
inline ushort __metal_get_simdgroup_size(ushort) { return 32; }
inline ushort __metal_get_thread_index_in_simdgroup(ushort) { return ushort(host_lane()); }
