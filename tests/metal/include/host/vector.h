// Vectors: `vec<T, N>` and its names, `float4` and so on.
//
// A vector holds its components in `e`, which x, y, z, w and r, g, b, a name one by one; swizzles are properties, which are
// values as in Metal. Three components take the room of four. Operators are those of the components. They are friends that are no
// templates, so that a scalar beside a vector is converted to one. Comparisons return vectors of bool.
#pragma once

#include "base.h"
#include "swizzle.h"

// What braces make, as the compiler expects it.
namespace std {
template <class T>
class initializer_list {
  const T *first;
  size_t count;

 public:
  constexpr const T *begin() const { return first; }
  constexpr size_t size() const { return count; }
};
}  // namespace std

namespace metal {
template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;

template <class T>
constexpr int host_size = 1;
template <class T, int N>
constexpr int host_size<vec<T, N>> = N;
template <class T, int N>
constexpr int host_size<packed_vec<T, N>> = N;

template <class T>
constexpr bool host_is_vector = false;
template <class T, int N>
constexpr bool host_is_vector<vec<T, N>> = true;
template <class T, int N>
constexpr bool host_is_vector<packed_vec<T, N>> = true;

template <class T>
struct host_element_of {
  using type = T;
};
template <class T, int N>
struct host_element_of<vec<T, N>> {
  using type = T;
};
template <class T, int N>
struct host_element_of<packed_vec<T, N>> {
  using type = T;
};
// The type of the components, and the type itself of a scalar.
template <class T>
using host_element = typename host_element_of<remove_cv_t<remove_reference_t<T>>>::type;

// Whether a value of the type can be a component. Conversions between vectors of different components are explicit.
template <class T>
constexpr bool host_is_scalar = is_arithmetic_v<T> || __is_enum(T);

#define HOST_VECTOR_OPERATOR(op)                                            \
  friend constexpr vec operator op(vec a, vec b) {                          \
    vec result = T(0);                                                           \
    for (int i = 0; i < N; i++) result.e[i] = T(a.e[i] op b.e[i]);          \
    return result;                                                          \
  }                                                                         \
  friend constexpr vec &operator op##=(vec & a, vec b) { return a = a op b; }
#define HOST_VECTOR_COMPARISON(op)                                          \
  friend constexpr vec<bool, N> operator op(vec a, vec b) {                 \
    vec<bool, N> result = false;                                                  \
    for (int i = 0; i < N; i++) result.e[i] = a.e[i] op b.e[i];             \
    return result;                                                          \
  }

#define HOST_VECTOR_BODY(N)                                                                      \
  using element_type = T;                                                                        \
  vec() = default;                                                                               \
  constexpr vec(T value) : e() {                                                                 \
    for (int i = 0; i < N; i++) e[i] = value;                                                    \
  }                                                                                              \
  template <class S>                                                                             \
    requires(host_is_scalar<S> && !is_same_v<S, T>)                                              \
  constexpr vec(S value) : vec(static_cast<T>(value)) {}                                         \
  template <class U>                                                                             \
    requires(!is_same_v<U, T>)                                                                   \
  explicit constexpr vec(const vec<U, N> &other) : e() {                                         \
    for (int i = 0; i < N; i++) e[i] = static_cast<T>(other.e[i]);                               \
  }                                                                                              \
  template <class... Parts>                                                                      \
    requires(sizeof...(Parts) > 1 && (host_size<Parts> + ...) == N)                              \
  constexpr vec(Parts... parts) : e() {                                                          \
    int at = 0;                                                                                  \
    (append(at, parts), ...);                                                                    \
  }                                                                                              \
  /* Braces may leave out the last components. */                                                \
  constexpr vec(std::initializer_list<T> list) : e() {                                           \
    for (int i = 0; i < N; i++)                                                                  \
      e[i] = list.size() == 1 ? *list.begin() : i < int(list.size()) ? list.begin()[i] : T(0);   \
  }                                                                                              \
  constexpr T &operator[](int index) { return e[index]; }                                        \
  constexpr const T &operator[](int index) const { return e[index]; }                            \
  HOST_VECTOR_OPERATOR(+)                                                                        \
  HOST_VECTOR_OPERATOR(-)                                                                        \
  HOST_VECTOR_OPERATOR(*)                                                                        \
  HOST_VECTOR_OPERATOR(/)                                                                        \
  HOST_VECTOR_OPERATOR(%)                                                                        \
  HOST_VECTOR_OPERATOR(&)                                                                        \
  HOST_VECTOR_OPERATOR(|)                                                                        \
  HOST_VECTOR_OPERATOR(^)                                                                        \
  HOST_VECTOR_OPERATOR(<<)                                                                       \
  HOST_VECTOR_OPERATOR(>>)                                                                       \
  HOST_VECTOR_COMPARISON(==)                                                                     \
  HOST_VECTOR_COMPARISON(!=)                                                                     \
  HOST_VECTOR_COMPARISON(<)                                                                      \
  HOST_VECTOR_COMPARISON(>)                                                                      \
  HOST_VECTOR_COMPARISON(<=)                                                                     \
  HOST_VECTOR_COMPARISON(>=)                                                                     \
  HOST_VECTOR_COMPARISON(&&)                                                                     \
  HOST_VECTOR_COMPARISON(||)                                                                     \
  friend constexpr vec operator-(vec a) {                                                        \
    vec result = T(0);                                                                                \
    for (int i = 0; i < N; i++) result.e[i] = T(-a.e[i]);                                        \
    return result;                                                                               \
  }                                                                                              \
  friend constexpr vec operator+(vec a) { return a; }                                            \
  friend constexpr vec operator~(vec a) {                                                        \
    vec result = T(0);                                                                                \
    for (int i = 0; i < N; i++) result.e[i] = T(~a.e[i]);                                        \
    return result;                                                                               \
  }                                                                                              \
  friend constexpr vec<bool, N> operator!(vec a) {                                               \
    vec<bool, N> result = false;                                                                       \
    for (int i = 0; i < N; i++) result.e[i] = !a.e[i];                                           \
    return result;                                                                               \
  }                                                                                              \
  constexpr vec &operator++() { return *this += vec(T(1)); }                                     \
  constexpr vec &operator--() { return *this -= vec(T(1)); }                                     \
  constexpr vec operator++(int) {                                                                \
    vec old = *this;                                                                             \
    ++*this;                                                                                     \
    return old;                                                                                  \
  }                                                                                              \
  constexpr vec operator--(int) {                                                                \
    vec old = *this;                                                                             \
    --*this;                                                                                     \
    return old;                                                                                  \
  }                                                                                              \
                                                                                                 \
 private:                                                                                        \
  template <class Part>                                                                          \
  constexpr void append(int &at, const Part &part) {                                             \
    if constexpr (host_is_vector<Part>)                                                          \
      for (int i = 0; i < host_size<Part>; i++) e[at++] = static_cast<T>(part.e[i]);             \
    else                                                                                         \
      e[at++] = static_cast<T>(part);                                                            \
  }                                                                                              \
  template <int A, int B>                                                                        \
  constexpr void put(vec<T, 2> v) {                                                              \
    static_assert(A != B, "a component is assigned twice");                                      \
    e[A] = v.e[0], e[B] = v.e[1];                                                                \
  }                                                                                              \
  template <int A, int B, int C>                                                                 \
  constexpr void put(vec<T, 3> v) {                                                              \
    static_assert(A != B && A != C && B != C, "a component is assigned twice");                  \
    e[A] = v.e[0], e[B] = v.e[1], e[C] = v.e[2];                                                 \
  }                                                                                              \
  template <int A, int B, int C, int D>                                                          \
  constexpr void put(vec<T, 4> v) {                                                              \
    static_assert(((1 << A) | (1 << B) | (1 << C) | (1 << D)) == 15, "a component is assigned twice"); \
    e[A] = v.e[0], e[B] = v.e[1], e[C] = v.e[2], e[D] = v.e[3];                                  \
  }                                                                                              \
                                                                                                 \
 public:

#define HOST_COMPONENTS_2 \
  union {                 \
    T e[2];               \
    struct {              \
      T x, y;             \
    };                    \
    struct {              \
      T r, g;             \
    };                    \
  };
#define HOST_COMPONENTS_3 \
  union {                 \
    T e[3];               \
    struct {              \
      T x, y, z;          \
    };                    \
    struct {              \
      T r, g, b;          \
    };                    \
  };
#define HOST_COMPONENTS_4 \
  union {                 \
    T e[4];               \
    struct {              \
      T x, y, z, w;       \
    };                    \
    struct {              \
      T r, g, b, a;       \
    };                    \
  };

// A vector with more lanes than those of the library, of a type that the host's compiler has no vectors of.
template <class T, int N>
struct alignas(N * sizeof(T)) wide_vector {
  T e[N];
  wide_vector() = default;
  wide_vector(T value) {
    for (T &lane : e) lane = value;
  }
  T &operator[](int index) { return e[index]; }
  T operator[](int index) const { return e[index]; }
};

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
  static constexpr int N = 2;
  HOST_COMPONENTS_2
  HOST_VECTOR_BODY(2)
  HOST_SWIZZLES_2
};
template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
  static constexpr int N = 3;
  HOST_COMPONENTS_3
  HOST_VECTOR_BODY(3)
  HOST_SWIZZLES_3
};
template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
  static constexpr int N = 4;
  HOST_COMPONENTS_4
  HOST_VECTOR_BODY(4)
  HOST_SWIZZLES_4
};

// Packed vectors are aligned as their components. Operators of two are those of vectors.

#define HOST_PACKED_BODY(N)                                                      \
  using element_type = T;                                                        \
  packed_vec() = default;                                                        \
  constexpr packed_vec(const vec<T, N> &v) : e() {                               \
    for (int i = 0; i < N; i++) e[i] = v.e[i];                                   \
  }                                                                              \
  constexpr packed_vec(T value) : packed_vec(vec<T, N>(value)) {}                \
  template <class U>                                                             \
    requires(!is_same_v<U, T>)                                                   \
  explicit constexpr packed_vec(const vec<U, N> &v) : packed_vec(vec<T, N>(v)) {} \
  template <class... Parts>                                                      \
    requires(sizeof...(Parts) > 1 && (host_size<Parts> + ...) == N)              \
  constexpr packed_vec(Parts... parts) : packed_vec(vec<T, N>(parts...)) {}      \
  constexpr operator vec<T, N>() const {                                         \
    vec<T, N> v = T(0);                                                          \
    for (int i = 0; i < N; i++) v.e[i] = e[i];                                   \
    return v;                                                                    \
  }                                                                              \
  template <class U>                                                             \
    requires(!is_same_v<U, T>)                                                   \
  explicit constexpr operator vec<U, N>() const {                                \
    return vec<U, N>(vec<T, N>(*this));                                          \
  }                                                                              \
  constexpr T &operator[](int index) { return e[index]; }                        \
  constexpr const T &operator[](int index) const { return e[index]; }            \
  template <int... Places>                                                       \
  constexpr void put(vec<T, int(sizeof...(Places))> v) {                         \
    int at = 0;                                                                  \
    ((e[Places] = v.e[at++]), ...);                                              \
  }

template <class T>
struct packed_vec<T, 2> {
  HOST_COMPONENTS_2
  HOST_PACKED_BODY(2)
  HOST_SWIZZLES_2
};
template <class T>
struct packed_vec<T, 3> {
  HOST_COMPONENTS_3
  HOST_PACKED_BODY(3)
  HOST_SWIZZLES_3
};
template <class T>
struct packed_vec<T, 4> {
  HOST_COMPONENTS_4
  HOST_PACKED_BODY(4)
  HOST_SWIZZLES_4
};

#define HOST_PACKED_OPERATOR(op)                                                          \
  template <class T, int N>                                                               \
  constexpr auto operator op(packed_vec<T, N> a, packed_vec<T, N> b) {                    \
    return vec<T, N>(a) op vec<T, N>(b);                                                  \
  }                                                                                       \
  template <class T, int N, class S>                                                      \
    requires host_is_scalar<S>                                                            \
  constexpr auto operator op(packed_vec<T, N> a, S b) {                                   \
    return vec<T, N>(a) op vec<T, N>(T(b));                                               \
  }                                                                                       \
  template <class T, int N, class S>                                                      \
    requires host_is_scalar<S>                                                            \
  constexpr auto operator op(S a, packed_vec<T, N> b) {                                   \
    return vec<T, N>(T(a)) op vec<T, N>(b);                                               \
  }
#define HOST_PACKED_ASSIGNMENT(op)                                                        \
  template <class T, int N, class U>                                                      \
  constexpr packed_vec<T, N> &operator op##=(packed_vec<T, N> & a, U b) {                 \
    return a = packed_vec<T, N>(vec<T, N>(a) op vec<T, N>(b));                            \
  }
#define HOST_PACKED_BOTH(op) HOST_PACKED_OPERATOR(op) HOST_PACKED_ASSIGNMENT(op)
HOST_PACKED_BOTH(+)
HOST_PACKED_BOTH(-)
HOST_PACKED_BOTH(*)
HOST_PACKED_BOTH(/)
HOST_PACKED_BOTH(%)
HOST_PACKED_BOTH(&)
HOST_PACKED_BOTH(|)
HOST_PACKED_BOTH(^)
HOST_PACKED_OPERATOR(==)
HOST_PACKED_OPERATOR(!=)
HOST_PACKED_OPERATOR(<)
HOST_PACKED_OPERATOR(>)
HOST_PACKED_OPERATOR(<=)
HOST_PACKED_OPERATOR(>=)
template <class T, int N>
constexpr vec<T, N> operator-(packed_vec<T, N> a) {
  return -vec<T, N>(a);
}

// Applies a function to each component of vectors, or to scalars.
template <class R, class F, class... A>
constexpr R host_map(F f, const A &...arguments) {
  if constexpr (host_is_vector<R>) {
    R result;
    for (int i = 0; i < host_size<R>; i++) result.e[i] = f(arguments.e[i]...);
    return result;
  } else {
    return f(arguments...);
  }
}

// The type in which a function of several arguments computes: the vector, if one is, and otherwise what scalars have
// in common, which small integers keep if they are the same.
template <class A, class B>
struct host_common_of {
  using type = remove_cv_t<decltype(A() + B())>;
};
template <class T>
struct host_common_of<T, T> {
  using type = T;
};
template <class T, int N, class B>
struct host_common_of<vec<T, N>, B> {
  using type = vec<T, N>;
};
template <class A, class T, int N>
struct host_common_of<A, vec<T, N>> {
  using type = vec<T, N>;
};
template <class T, int N>
struct host_common_of<vec<T, N>, vec<T, N>> {
  using type = vec<T, N>;
};
template <class T, int N, class U, int M>
struct host_common_of<vec<T, N>, vec<U, M>>;

template <class T>
struct host_plain_of {
  using type = T;
};
template <class T, int N>
struct host_plain_of<packed_vec<T, N>> {
  using type = vec<T, N>;
};
// The type without qualifiers, and without packing.
template <class T>
using host_plain = typename host_plain_of<remove_cv_t<remove_reference_t<T>>>::type;

template <class A, class... B>
struct host_join {
  using type = host_plain<A>;
};
template <class A, class B, class... C>
struct host_join<A, B, C...> {
  using type = typename host_join<typename host_common_of<host_plain<A>, host_plain<B>>::type, C...>::type;
};
template <class... A>
using host_common = typename host_join<A...>::type;

// The same for functions of floats: integers are floats.
template <class T>
using host_floating = conditional_t<is_integral_v<T>, float, T>;
template <class... A>
using host_float_common = host_floating<host_common<A...>>;
}  // namespace metal

#define HOST_VECTOR_NAMES(type)             \
  using type##2 = metal::vec<type, 2>;      \
  using type##3 = metal::vec<type, 3>;      \
  using type##4 = metal::vec<type, 4>;      \
  using packed_##type##2 = metal::packed_vec<type, 2>; \
  using packed_##type##3 = metal::packed_vec<type, 3>; \
  using packed_##type##4 = metal::packed_vec<type, 4>; \
  namespace metal {                         \
  using ::type##2;                          \
  using ::type##3;                          \
  using ::type##4;                          \
  using ::packed_##type##2;                 \
  using ::packed_##type##3;                 \
  using ::packed_##type##4;                 \
  }
HOST_VECTOR_NAMES(bool)
HOST_VECTOR_NAMES(char)
HOST_VECTOR_NAMES(uchar)
HOST_VECTOR_NAMES(short)
HOST_VECTOR_NAMES(ushort)
HOST_VECTOR_NAMES(int)
HOST_VECTOR_NAMES(uint)
HOST_VECTOR_NAMES(long)
HOST_VECTOR_NAMES(ulong)
HOST_VECTOR_NAMES(half)
HOST_VECTOR_NAMES(float)
HOST_VECTOR_NAMES(bfloat)
#undef HOST_VECTOR_NAMES
using metal::vec;
