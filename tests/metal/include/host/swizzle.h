// Swizzles: `v.xy`, `v.zyx`, `v.rgba` are properties of vec (vector.h), which clang turns into calls of the functions here.
//
// HOST_SWIZZLES_N declares all that name the first N components. They can be read, and, where no component is named
// twice, assigned.

enum { host_index_x, host_index_y, host_index_z, host_index_w };
enum { host_index_r, host_index_g, host_index_b, host_index_a };

#define HOST_SWIZZLE2(a, b)                                                                              \
  constexpr vec<T, 2> get_##a##b() const { return vec<T, 2>(e[host_index_##a], e[host_index_##b]); }     \
  constexpr void put_##a##b(vec<T, 2> v) { put<host_index_##a, host_index_##b>(v); }                     \
  __declspec(property(get = get_##a##b, put = put_##a##b)) vec<T, 2> a##b;
#define HOST_SWIZZLE3(a, b, c)                                                                           \
  constexpr vec<T, 3> get_##a##b##c() const {                                                            \
    return vec<T, 3>(e[host_index_##a], e[host_index_##b], e[host_index_##c]);                           \
  }                                                                                                      \
  constexpr void put_##a##b##c(vec<T, 3> v) { put<host_index_##a, host_index_##b, host_index_##c>(v); }  \
  __declspec(property(get = get_##a##b##c, put = put_##a##b##c)) vec<T, 3> a##b##c;
#define HOST_SWIZZLE4(a, b, c, d)                                                                        \
  constexpr vec<T, 4> get_##a##b##c##d() const {                                                         \
    return vec<T, 4>(e[host_index_##a], e[host_index_##b], e[host_index_##c], e[host_index_##d]);        \
  }                                                                                                      \
  constexpr void put_##a##b##c##d(vec<T, 4> v) {                                                         \
    put<host_index_##a, host_index_##b, host_index_##c, host_index_##d>(v);                              \
  }                                                                                                      \
  __declspec(property(get = get_##a##b##c##d, put = put_##a##b##c##d)) vec<T, 4> a##b##c##d;

// All words of two, three and four letters out of `x y`, `x y z` and `x y z w`.
#define HOST_LAST2(M, x, y, ...) M(__VA_ARGS__, x) M(__VA_ARGS__, y)
#define HOST_LAST3(M, x, y, z, ...) M(__VA_ARGS__, x) M(__VA_ARGS__, y) M(__VA_ARGS__, z)
#define HOST_LAST4(M, x, y, z, w, ...) M(__VA_ARGS__, x) M(__VA_ARGS__, y) M(__VA_ARGS__, z) M(__VA_ARGS__, w)

#define HOST_PAIRS2(x, y) HOST_LAST2(HOST_SWIZZLE2, x, y, x) HOST_LAST2(HOST_SWIZZLE2, x, y, y)
#define HOST_PAIRS3(x, y, z)                                                                             \
  HOST_LAST3(HOST_SWIZZLE2, x, y, z, x) HOST_LAST3(HOST_SWIZZLE2, x, y, z, y)                            \
  HOST_LAST3(HOST_SWIZZLE2, x, y, z, z)
#define HOST_PAIRS4(x, y, z, w)                                                                          \
  HOST_LAST4(HOST_SWIZZLE2, x, y, z, w, x) HOST_LAST4(HOST_SWIZZLE2, x, y, z, w, y)                      \
  HOST_LAST4(HOST_SWIZZLE2, x, y, z, w, z) HOST_LAST4(HOST_SWIZZLE2, x, y, z, w, w)

#define HOST_TRIPLES2_OF(x, y, p)                                                                        \
  HOST_LAST2(HOST_SWIZZLE3, x, y, p, x) HOST_LAST2(HOST_SWIZZLE3, x, y, p, y)
#define HOST_TRIPLES3_OF(x, y, z, p)                                                                     \
  HOST_LAST3(HOST_SWIZZLE3, x, y, z, p, x) HOST_LAST3(HOST_SWIZZLE3, x, y, z, p, y)                      \
  HOST_LAST3(HOST_SWIZZLE3, x, y, z, p, z)
#define HOST_TRIPLES4_OF(x, y, z, w, p)                                                                  \
  HOST_LAST4(HOST_SWIZZLE3, x, y, z, w, p, x) HOST_LAST4(HOST_SWIZZLE3, x, y, z, w, p, y)                \
  HOST_LAST4(HOST_SWIZZLE3, x, y, z, w, p, z) HOST_LAST4(HOST_SWIZZLE3, x, y, z, w, p, w)
#define HOST_TRIPLES2(x, y) HOST_TRIPLES2_OF(x, y, x) HOST_TRIPLES2_OF(x, y, y)
#define HOST_TRIPLES3(x, y, z)                                                                           \
  HOST_TRIPLES3_OF(x, y, z, x) HOST_TRIPLES3_OF(x, y, z, y) HOST_TRIPLES3_OF(x, y, z, z)
#define HOST_TRIPLES4(x, y, z, w)                                                                        \
  HOST_TRIPLES4_OF(x, y, z, w, x) HOST_TRIPLES4_OF(x, y, z, w, y) HOST_TRIPLES4_OF(x, y, z, w, z)        \
  HOST_TRIPLES4_OF(x, y, z, w, w)

#define HOST_FOURS2_OF2(x, y, p, q)                                                                      \
  HOST_LAST2(HOST_SWIZZLE4, x, y, p, q, x) HOST_LAST2(HOST_SWIZZLE4, x, y, p, q, y)
#define HOST_FOURS3_OF2(x, y, z, p, q)                                                                   \
  HOST_LAST3(HOST_SWIZZLE4, x, y, z, p, q, x) HOST_LAST3(HOST_SWIZZLE4, x, y, z, p, q, y)                \
  HOST_LAST3(HOST_SWIZZLE4, x, y, z, p, q, z)
#define HOST_FOURS4_OF2(x, y, z, w, p, q)                                                                \
  HOST_LAST4(HOST_SWIZZLE4, x, y, z, w, p, q, x) HOST_LAST4(HOST_SWIZZLE4, x, y, z, w, p, q, y)          \
  HOST_LAST4(HOST_SWIZZLE4, x, y, z, w, p, q, z) HOST_LAST4(HOST_SWIZZLE4, x, y, z, w, p, q, w)
#define HOST_FOURS2_OF(x, y, p) HOST_FOURS2_OF2(x, y, p, x) HOST_FOURS2_OF2(x, y, p, y)
#define HOST_FOURS3_OF(x, y, z, p)                                                                       \
  HOST_FOURS3_OF2(x, y, z, p, x) HOST_FOURS3_OF2(x, y, z, p, y) HOST_FOURS3_OF2(x, y, z, p, z)
#define HOST_FOURS4_OF(x, y, z, w, p)                                                                    \
  HOST_FOURS4_OF2(x, y, z, w, p, x) HOST_FOURS4_OF2(x, y, z, w, p, y)                                    \
  HOST_FOURS4_OF2(x, y, z, w, p, z) HOST_FOURS4_OF2(x, y, z, w, p, w)
#define HOST_FOURS2(x, y) HOST_FOURS2_OF(x, y, x) HOST_FOURS2_OF(x, y, y)
#define HOST_FOURS3(x, y, z)                                                                             \
  HOST_FOURS3_OF(x, y, z, x) HOST_FOURS3_OF(x, y, z, y) HOST_FOURS3_OF(x, y, z, z)
#define HOST_FOURS4(x, y, z, w)                                                                          \
  HOST_FOURS4_OF(x, y, z, w, x) HOST_FOURS4_OF(x, y, z, w, y) HOST_FOURS4_OF(x, y, z, w, z)              \
  HOST_FOURS4_OF(x, y, z, w, w)

#define HOST_SWIZZLES_2                                                                                  \
  HOST_PAIRS2(x, y) HOST_TRIPLES2(x, y) HOST_FOURS2(x, y)                                                \
  HOST_PAIRS2(r, g) HOST_TRIPLES2(r, g) HOST_FOURS2(r, g)
#define HOST_SWIZZLES_3                                                                                  \
  HOST_PAIRS3(x, y, z) HOST_TRIPLES3(x, y, z) HOST_FOURS3(x, y, z)                                       \
  HOST_PAIRS3(r, g, b) HOST_TRIPLES3(r, g, b) HOST_FOURS3(r, g, b)
#define HOST_SWIZZLES_4                                                                                  \
  HOST_PAIRS4(x, y, z, w) HOST_TRIPLES4(x, y, z, w) HOST_FOURS4(x, y, z, w)                              \
  HOST_PAIRS4(r, g, b, a) HOST_TRIPLES4(r, g, b, a) HOST_FOURS4(r, g, b, a)
