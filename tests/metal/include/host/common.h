// Common, geometric, relational and integer functions, and conversions of packed values.
#pragma once

#include "math.h"

namespace metal {
// Common functions, inlined by Apple's header, in the order in which it computes.

template <class A, class B, class C>
inline auto mix(A x, B y, C a) {
  using R = host_float_common<A, B, C>;
  return R(x) + (R(y) - R(x)) * R(a);
}
template <class A>
inline auto sign(A x) {
  using R = host_float_common<A>;
  using E = host_element<R>;
  return host_map<R>([](E v) { return E(host::sign(float(v))); }, R(x));
}
template <class A, class B>
inline auto step(A edge, B x) {
  using R = host_float_common<A, B>;
  using E = host_element<R>;
  return host_map<R>([](E e, E v) { return v < e ? E(0.0f) : E(1.0f); }, R(edge), R(x));
}
template <class A, class B, class C>
inline auto smoothstep(A low, B high, C x) {
  using R = host_float_common<A, B, C>;
  R t = saturate((R(x) - R(low)) / (R(high) - R(low)));
  return t * t * (R(host_element<R>(3.0f)) - R(host_element<R>(2.0f)) * t);
}

// Geometric functions.

template <class A, class B>
inline auto dot(A a, B b) {
  using R = host_common<A, B>;
  R x = R(a), y = R(b);
  host_element<R> sum = x.e[0] * y.e[0];
  for (int i = 1; i < host_size<R>; i++) sum = sum + x.e[i] * y.e[i];
  return sum;
}
template <class A>
inline auto length_squared(A x) {
  return dot(x, x);
}
template <class A>
inline auto length(A x) {
  return sqrt(dot(x, x));
}
template <class A, class B>
inline auto distance(A x, B y) {
  return length(x - y);
}
template <class A, class B>
inline auto distance_squared(A x, B y) {
  return length_squared(x - y);
}
template <class A>
inline auto normalize(A x) {
  using R = host_plain<A>;
  return R(x) * R(rsqrt(dot(x, x)));
}
template <class T>
inline vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return a.yzx * b.zxy - a.zxy * b.yzx;
}
template <class T>
inline vec<T, 3> cross(packed_vec<T, 3> a, packed_vec<T, 3> b) {
  return cross(vec<T, 3>(a), vec<T, 3>(b));
}
template <class A, class B>
inline auto reflect(A i, B n) {
  using R = host_common<A, B>;
  return R(i) - R(host_element<R>(2.0f) * dot(n, i)) * R(n);
}
template <class A, class B, class C>
inline auto refract(A i, B n, C eta) {
  using R = host_common<A, B>;
  using E = host_element<R>;
  E cosine = dot(n, i), e = E(eta), k = E(1.0f) - e * e * (E(1.0f) - cosine * cosine);
  return k < E(0.0f) ? R(E(0.0f)) : R(e) * R(i) - R(e * cosine + sqrt(k)) * R(n);
}
template <class A, class B, class C>
inline auto faceforward(A n, B i, C reference) {
  using R = host_common<A, B, C>;
  return dot(reference, i) < host_element<R>(0.0f) ? R(n) : -R(n);
}

#define HOST_GEOMETRIC         \
  using metal::cross;          \
  using metal::distance;       \
  using metal::dot;            \
  using metal::length;         \
  using metal::length_squared; \
  using metal::mix;            \
  using metal::normalize;      \
  using metal::reflect;        \
  using metal::refract;        \
  using metal::sign;           \
  using metal::smoothstep;     \
  using metal::step;
namespace fast {
HOST_GEOMETRIC
}
namespace precise {
HOST_GEOMETRIC
}
#undef HOST_GEOMETRIC

// Relational functions: of a vector, a vector of truths.

#define HOST_TEST(name, expression)                                                               \
  template <class A>                                                                              \
  inline auto name(A x) {                                                                         \
    if constexpr (host_is_vector<A>)                                                              \
      return host_map<vec<bool, host_size<A>>>([](auto v) { return bool(expression); }, x);       \
    else                                                                                          \
      return [](auto v) { return bool(expression); }(x);                                          \
  }
HOST_TEST(isnan, __builtin_isnan(float(v)))
HOST_TEST(isinf, __builtin_isinf(float(v)))
HOST_TEST(isfinite, __builtin_isfinite(float(v)))
HOST_TEST(signbit, __builtin_signbit(float(v)))
// A normal number of the type itself.
template <class A>
inline auto isnormal(A x) {
  using E = host_element<A>;
  auto one = [](E v) { return isfinite(v) && !(fabs(v) < numeric_limits<E>::min()); };
  if constexpr (host_is_vector<A>) return host_map<vec<bool, host_size<A>>>(one, x);
  else return one(x);
}
template <class A, class B>
inline auto isunordered(A x, B y) {
  return isnan(x) || isnan(y);
}
template <class A, class B>
inline auto isordered(A x, B y) {
  return !isunordered(x, y);
}
template <class A, class B>
inline auto isequal(A x, B y) {
  return x == y;
}
template <class A, class B>
inline auto isnotequal(A x, B y) {
  return x != y;
}
template <class A, class B>
inline auto isless(A x, B y) {
  return x < y;
}
template <class A, class B>
inline auto islessequal(A x, B y) {
  return x <= y;
}
template <class A, class B>
inline auto isgreater(A x, B y) {
  return x > y;
}
template <class A, class B>
inline auto isgreaterequal(A x, B y) {
  return x >= y;
}
template <int N>
inline bool all(vec<bool, N> x) {
  bool result = true;
  for (int i = 0; i < N; i++) result &= x.e[i];
  return result;
}
template <int N>
inline bool any(vec<bool, N> x) {
  bool result = false;
  for (int i = 0; i < N; i++) result |= x.e[i];
  return result;
}
inline bool all(bool x) { return x; }
inline bool any(bool x) { return x; }
template <class A, class B, class C>
inline auto select(A otherwise, B chosen, C condition) {
  using R = host_common<A, B>;
  if constexpr (host_is_vector<C>)
    return host_map<R>([](auto a, auto b, auto c) { return c ? b : a; }, R(otherwise), R(chosen), condition);
  else
    return condition ? R(chosen) : R(otherwise);
}

// Integer functions.

#define HOST_INTEGER1(name, expression)                                                            \
  template <class A>                                                                               \
  inline auto name(A x) {                                                                          \
    using R = host_plain<A>;                                                                       \
    using E = host_element<R>;                                                                     \
    using U [[maybe_unused]] = make_unsigned_t<E>;                                                 \
    constexpr int bits [[maybe_unused]] = int(sizeof(E)) * 8;                                      \
    return host_map<R>([](E v) { return E(expression); }, R(x));                                   \
  }
#define HOST_INTEGER2(name, expression)                                                            \
  template <class A, class B>                                                                      \
  inline auto name(A x, B y) {                                                                     \
    using R = host_common<A, B>;                                                                   \
    using E = host_element<R>;                                                                     \
    using U [[maybe_unused]] = make_unsigned_t<E>;                                                 \
    constexpr int bits [[maybe_unused]] = int(sizeof(E)) * 8;                                      \
    return host_map<R>([](E v, E w) { return E(expression); }, R(x), R(y));                        \
  }
HOST_INTEGER1(popcount, __builtin_popcountl(ulong(U(v))))
HOST_INTEGER1(clz, U(v) == 0 ? bits : __builtin_clzl(ulong(U(v))) - (64 - bits))
HOST_INTEGER1(ctz, U(v) == 0 ? bits : __builtin_ctzl(ulong(U(v))))
HOST_INTEGER1(reverse_bits, __builtin_bitreverse64(ulong(U(v))) >> (64 - bits))
HOST_INTEGER2(rotate, (w & (bits - 1)) == 0 ? v : E((U(v) << (w & (bits - 1))) | (U(v) >> (bits - (w & (bits - 1))))))
HOST_INTEGER2(absdiff, v < w ? U(w) - U(v) : U(v) - U(w))
HOST_INTEGER2(hadd, ((__int128)v + w) >> 1)
HOST_INTEGER2(rhadd, ((__int128)v + w + 1) >> 1)
HOST_INTEGER2(mulhi, ((__int128)v * w) >> bits)
HOST_INTEGER2(mul24, (v << 8 >> 8) * (w << 8 >> 8))
template <class E>
constexpr E host_saturated(__int128 value) {
  const __int128 low = numeric_limits<E>::min(), high = numeric_limits<E>::max();
  return E(value < low ? low : value > high ? high : value);
}
HOST_INTEGER2(addsat, host_saturated<E>((__int128)v + w))
HOST_INTEGER2(subsat, host_saturated<E>((__int128)v - w))
template <class A, class B, class C>
inline auto madhi(A a, B b, C c) {
  return mulhi(a, b) + c;
}
template <class A, class B, class C>
inline auto mad24(A a, B b, C c) {
  return mul24(a, b) + c;
}
template <class A, class B, class C>
inline auto madsat(A a, B b, C c) {
  using R = host_common<A, B, C>;
  using E = host_element<R>;
  return host_map<R>([](E u, E v, E w) { return host_saturated<E>((__int128)u * v + w); }, R(a), R(b), R(c));
}
template <class A>
inline auto extract_bits(A x, uint offset, uint bits) {
  using R = host_plain<A>;
  using E = host_element<R>;
  constexpr uint size = sizeof(E) * 8;
  return host_map<R>([=](E v) {
    if (bits == 0) return E(0);
    return E(E(E(v) << (size - bits - offset)) >> (size - bits));
  }, R(x));
}
template <class A, class B>
inline auto insert_bits(A base, B insert, uint offset, uint bits) {
  using R = host_common<A, B>;
  using E = host_element<R>;
  const ulong mask = (bits >= 64 ? ~0ul : (1ul << bits) - 1) << offset;
  return host_map<R>([=](E v, E w) { return E((ulong(v) & ~mask) | ((ulong(w) << offset) & mask)); }, R(base), R(insert));
}

// Packed colours and numbers. The module's side calls the same functions.

inline uint host_to_norm(float x, float scale, float low) {
  return uint(int(__builtin_rintf(host::clamp(x, low, 1.0f) * scale)));
}
#define HOST_PACK(suffix, type, count, bits, scale, low)                                          \
  inline type pack_float_to_##suffix(vec<float, count> v) {                                       \
    uint word = 0;                                                                                \
    for (int i = 0; i < count; i++)                                                               \
      word |= (host_to_norm(v.e[i], scale, low) & ((1u << bits) - 1)) << (i * bits);              \
    return type(word);                                                                            \
  }                                                                                               \
  inline type pack_half_to_##suffix(vec<half, count> v) {                                         \
    return pack_float_to_##suffix(vec<float, count>(v));                                          \
  }
HOST_PACK(unorm4x8, uint, 4, 8, 255.0f, 0.0f)
HOST_PACK(snorm4x8, uint, 4, 8, 127.0f, -1.0f)
HOST_PACK(unorm2x16, uint, 2, 16, 65535.0f, 0.0f)
HOST_PACK(snorm2x16, uint, 2, 16, 32767.0f, -1.0f)
#define HOST_UNPACK(prefix, count, bits, integer, scale)                                          \
  inline vec<float, count> unpack_##prefix##_to_float(uint word) {                                \
    vec<float, count> v;                                                                          \
    for (int i = 0; i < count; i++)                                                               \
      v.e[i] = __builtin_fmaxf(float(integer(word >> (i * bits))) / scale, -1.0f);                \
    return v;                                                                                     \
  }                                                                                               \
  inline vec<half, count> unpack_##prefix##_to_half(uint word) {                                  \
    return vec<half, count>(unpack_##prefix##_to_float(word));                                    \
  }
HOST_UNPACK(unorm4x8, 4, 8, uchar, 255.0f)
HOST_UNPACK(snorm4x8, 4, 8, int8_t, 127.0f)
HOST_UNPACK(unorm2x16, 2, 16, ushort, 65535.0f)
HOST_UNPACK(snorm2x16, 2, 16, short, 32767.0f)
inline float host_srgb_to_linear(float c) {
  return c <= 0.04045f ? c / 12.92f : __builtin_powf((c + 0.055f) / 1.055f, 2.4f);
}
inline float host_linear_to_srgb(float c) {
  return c < 0.0031308f ? 12.92f * c : 1.055f * __builtin_powf(c, 1.0f / 2.4f) - 0.055f;
}
inline float4 unpack_unorm4x8_srgb_to_float(uint word) {
  float4 v = unpack_unorm4x8_to_float(word);
  for (int i = 0; i < 3; i++) v.e[i] = host_srgb_to_linear(v.e[i]);
  return v;
}
inline uint pack_float_to_srgb_unorm4x8(float4 v) {
  for (int i = 0; i < 3; i++) v.e[i] = host_linear_to_srgb(host::saturate(v.e[i]));
  return pack_float_to_unorm4x8(v);
}
inline float4 unpack_unorm10a2_to_float(uint word) {
  return float4(float(word & 1023) / 1023.0f, float((word >> 10) & 1023) / 1023.0f,
                float((word >> 20) & 1023) / 1023.0f, float(word >> 30) / 3.0f);
}
}  // namespace metal
