// Functions of floats: scalars and vectors of float, half and bfloat.
//
// Halves and bfloats compute as floats and round once. `fast` and `precise` are the same functions. Values that the
// specification leaves a margin for are those of the C library, on both sides of a comparison.
#pragma once

#include "vector.h"

// Functions of float that the C library has under another name, or not at all. The module's side calls them, too.
namespace host {
constexpr float pi = 3.14159265358979323846f;
inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
inline float exp10(float x) { return float(__builtin_pow(10.0l, x)); }
inline float sinpi(float x) { return float(__builtin_sin(double(__builtin_fmodf(x, 2.0f)) * 3.141592653589793l)); }
inline float cospi(float x) { return float(__builtin_cos(double(__builtin_fmodf(x, 2.0f)) * 3.141592653589793l)); }
inline float tanpi(float x) { return float(__builtin_tan(double(__builtin_fmodf(x, 1.0f)) * 3.141592653589793l)); }
inline float fract(float x) { return __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f); }
inline float saturate(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
inline float powr(float x, float y) { return __builtin_powf(x, y); }
inline float clamp(float x, float low, float high) { return __builtin_fminf(__builtin_fmaxf(x, low), high); }
inline float fmin3(float a, float b, float c) { return __builtin_fminf(__builtin_fminf(a, b), c); }
inline float fmax3(float a, float b, float c) { return __builtin_fmaxf(__builtin_fmaxf(a, b), c); }
inline float fmedian3(float a, float b, float c) {
  return __builtin_fmaxf(__builtin_fminf(a, b), __builtin_fminf(__builtin_fmaxf(a, b), c));
}
// The number after `x` on the way to `y`, in the type itself.
template <class T>
inline T next(T x, T y) {
  if constexpr (__is_same(T, float)) {
    return __builtin_nextafterf(x, y);
  } else {
    const float from = float(x), to = float(y);
    if (from != from || to != to) return T(from + to);
    if (from == to) return y;
    unsigned short bits = __builtin_bit_cast(unsigned short, x);
    if (from == 0.0f) bits = (__builtin_bit_cast(unsigned short, y) & 0x8000) | 1;
    else bits = static_cast<unsigned short>((from < to) == (from > 0.0f) ? bits + 1 : bits - 1);
    return __builtin_bit_cast(T, bits);
  }
}
inline float rcp(float x) { return 1.0f / x; }
inline float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f; }
}  // namespace host

namespace metal {
#define HOST_MATH1(name, call)                                                                            \
  template <class A>                                                                                      \
    requires(is_arithmetic_v<host_element<A>>)                                                            \
  inline auto name(A x) {                                                                                 \
    using R = host_float_common<A>;                                                                       \
    using E = host_element<R>;                                                                            \
    return host_map<R>([](E v) { return E(call(float(v))); }, R(x));                                      \
  }
#define HOST_MATH2(name, call)                                                                            \
  template <class A, class B>                                                                             \
  inline auto name(A x, B y) {                                                                            \
    using R = host_float_common<A, B>;                                                                    \
    using E = host_element<R>;                                                                            \
    return host_map<R>([](E v, E w) { return E(call(float(v), float(w))); }, R(x), R(y));                 \
  }
#define HOST_MATH3(name, call)                                                                            \
  template <class A, class B, class C>                                                                    \
  inline auto name(A x, B y, C z) {                                                                       \
    using R = host_float_common<A, B, C>;                                                                 \
    using E = host_element<R>;                                                                            \
    return host_map<R>([](E u, E v, E w) { return E(call(float(u), float(v), float(w))); }, R(x), R(y), R(z)); \
  }
// Each function is in metal, metal::fast and metal::precise.
#define HOST_MATH_FUNCTIONS                 \
  HOST_MATH1(acos, __builtin_acosf)         \
  HOST_MATH1(acosh, __builtin_acoshf)       \
  HOST_MATH1(asin, __builtin_asinf)         \
  HOST_MATH1(asinh, __builtin_asinhf)       \
  HOST_MATH1(atan, __builtin_atanf)         \
  HOST_MATH1(atanh, __builtin_atanhf)       \
  HOST_MATH1(ceil, __builtin_ceilf)         \
  HOST_MATH1(cos, __builtin_cosf)           \
  HOST_MATH1(cosh, __builtin_coshf)         \
  HOST_MATH1(cospi, host::cospi)            \
  HOST_MATH1(exp, __builtin_expf)           \
  HOST_MATH1(exp2, __builtin_exp2f)         \
  HOST_MATH1(exp10, host::exp10)            \
  HOST_MATH1(expm1, __builtin_expm1f)       \
  HOST_MATH1(fabs, __builtin_fabsf)         \
  HOST_MATH1(floor, __builtin_floorf)       \
  HOST_MATH1(fract, host::fract)            \
  HOST_MATH1(log, __builtin_logf)           \
  HOST_MATH1(log2, __builtin_log2f)         \
  HOST_MATH1(log10, __builtin_log10f)       \
  HOST_MATH1(log1p, __builtin_log1pf)       \
  HOST_MATH1(rint, __builtin_rintf)         \
  HOST_MATH1(round, __builtin_roundf)       \
  HOST_MATH1(rsqrt, host::rsqrt)            \
  HOST_MATH1(sin, __builtin_sinf)           \
  HOST_MATH1(sinh, __builtin_sinhf)         \
  HOST_MATH1(sinpi, host::sinpi)            \
  HOST_MATH1(sqrt, __builtin_sqrtf)         \
  HOST_MATH1(tan, __builtin_tanf)           \
  HOST_MATH1(tanh, __builtin_tanhf)         \
  HOST_MATH1(tanpi, host::tanpi)            \
  HOST_MATH1(trunc, __builtin_truncf)       \
  HOST_MATH1(saturate, host::saturate)      \
  HOST_MATH2(atan2, __builtin_atan2f)       \
  HOST_MATH2(copysign, __builtin_copysignf) \
  HOST_MATH2(fdim, __builtin_fdimf)         \
  HOST_MATH2(fmax, __builtin_fmaxf)         \
  HOST_MATH2(fmin, __builtin_fminf)         \
  HOST_MATH2(fmod, __builtin_fmodf)         \
  HOST_MATH2(pow, __builtin_powf)           \
  HOST_MATH2(powr, host::powr)              \
  HOST_MATH3(fma, __builtin_fmaf)           \
  HOST_MATH3(fmin3, host::fmin3)            \
  HOST_MATH3(fmax3, host::fmax3)            \
  HOST_MATH3(fmedian3, host::fmedian3)      \
  HOST_MATH_EXTREMES

#define HOST_MATH_EXTREMES                                                                     \
  template <class A, class B>                                                                  \
  inline auto max(A a, B b) {                                                                  \
    using R = host_common<A, B>;                                                               \
    if constexpr (is_floating_point_v<host_element<R>>) return fmax(R(a), R(b));               \
    else return host_map<R>([](host_element<R> v, host_element<R> w) { return v < w ? w : v; }, R(a), R(b)); \
  }                                                                                            \
  template <class A, class B>                                                                  \
  inline auto min(A a, B b) {                                                                  \
    using R = host_common<A, B>;                                                               \
    if constexpr (is_floating_point_v<host_element<R>>) return fmin(R(a), R(b));               \
    else return host_map<R>([](host_element<R> v, host_element<R> w) { return w < v ? w : v; }, R(a), R(b)); \
  }                                                                                            \
  template <class A, class B, class C>                                                         \
  inline auto clamp(A x, B low, C high) {                                                      \
    using R = host_common<A, B, C>;                                                            \
    return min(max(R(x), R(low)), R(high));                                                    \
  }                                                                                            \
  template <class A, class B, class C>                                                         \
  inline auto max3(A a, B b, C c) { return max(max(a, b), c); }                                \
  template <class A, class B, class C>                                                         \
  inline auto min3(A a, B b, C c) { return min(min(a, b), c); }                                \
  template <class A, class B, class C>                                                         \
  inline auto median3(A a, B b, C c) { return max(min(a, b), min(max(a, b), c)); }             \
  template <class A>                                                                           \
  inline auto abs(A x) {                                                                       \
    using R = host_plain<A>;                                                                   \
    if constexpr (is_floating_point_v<host_element<R>>) return fabs(x);                        \
    else if constexpr (is_unsigned_v<host_element<R>>) return R(x);                            \
    else return host_map<R>([](host_element<R> v) {                                            \
      using U = make_unsigned_t<host_element<R>>;                                              \
      return host_element<R>(v < 0 ? U(-U(v)) : U(v)); }, R(x));                               \
  }                                                                                            \
  template <class A>                                                                           \
  inline auto sincos(A x, host_float_common<A> &c) {                                           \
    c = cos(x);                                                                                \
    return sin(x);                                                                             \
  }                                                                                            \
  template <class A>                                                                           \
  inline auto modf(A x, host_float_common<A> &whole) {                                         \
    whole = trunc(x);                                                                          \
    return copysign(x - whole, x);                                                             \
  }                                                                                            \
  template <class A, class B>                                                                  \
  inline auto ldexp(A x, B k) {                                                                \
    using R = host_float_common<A>;                                                            \
    using E = host_element<R>;                                                                 \
    if constexpr (host_is_vector<B>)                                                           \
      return host_map<R>([](E v, int n) { return E(__builtin_ldexpf(float(v), n)); }, R(x), k); \
    else                                                                                       \
      return host_map<R>([k](E v) { return E(__builtin_ldexpf(float(v), int(k))); }, R(x));    \
  }                                                                                            \
  template <class A, class K>                                                                  \
  inline auto frexp(A x, K &exponent) {                                                        \
    using R = host_float_common<A>;                                                            \
    R result;                                                                                  \
    if constexpr (host_is_vector<R>) {                                                         \
      for (int i = 0; i < host_size<R>; i++)                                                   \
        result.e[i] = host_element<R>(__builtin_frexpf(float(x.e[i]), &exponent.e[i]));        \
    } else {                                                                                   \
      result = R(__builtin_frexpf(float(x), &exponent));                                       \
    }                                                                                          \
    return result;                                                                             \
  }                                                                                            \
  template <class A>                                                                           \
  inline auto ilogb(A x) {                                                                     \
    if constexpr (host_is_vector<A>)                                                           \
      return host_map<vec<int, host_size<A>>>([](auto v) { return __builtin_ilogbf(float(v)); }, x); \
    else                                                                                       \
      return __builtin_ilogbf(float(x));                                                       \
  }                                                                                            \
  template <class A>                                                                           \
  inline auto nextafter(A x, type_identity_t<A> y) {                                           \
    using E = host_element<A>;                                                                 \
    return host_map<A>([](E v, E w) { return host::next(v, w); }, x, y);                       \
  }                                                                                            \
  template <class A>                                                                           \
  inline auto divide(A x, A y) { return x / y; }

HOST_MATH_FUNCTIONS
namespace fast {
HOST_MATH_FUNCTIONS
}
namespace precise {
HOST_MATH_FUNCTIONS
}
}  // namespace metal
