// Matrices of floats and halves: columns that are vectors.
#pragma once

#include "common.h"

namespace metal {
template <class T, int Columns, int Rows>
struct matrix {
  vec<T, Rows> columns[Columns];

  matrix() = default;
  // A diagonal.
  constexpr explicit matrix(T value) {
    for (int c = 0; c < Columns; c++)
      for (int r = 0; r < Rows; r++) columns[c].e[r] = c == r ? value : T(0.0f);
  }
  template <class... Parts>
    requires(sizeof...(Parts) == Columns && Columns > 1 && ((host_size<host_plain<Parts>> == Rows) && ...))
  constexpr matrix(Parts... parts) : columns{vec<T, Rows>(parts)...} {}
  template <class... Parts>
    requires(sizeof...(Parts) == Columns * Rows && ((host_size<host_plain<Parts>> == 1) && ...))
  constexpr matrix(Parts... parts) {
    const T all[] = {T(parts)...};
    for (int c = 0; c < Columns; c++)
      for (int r = 0; r < Rows; r++) columns[c].e[r] = all[c * Rows + r];
  }
  template <class U>
  constexpr explicit matrix(const matrix<U, Columns, Rows> &other) {
    for (int c = 0; c < Columns; c++) columns[c] = vec<T, Rows>(other.columns[c]);
  }
  constexpr vec<T, Rows> &operator[](int column) { return columns[column]; }
  constexpr const vec<T, Rows> &operator[](int column) const { return columns[column]; }
};

#define HOST_MATRIX_SUM(op)                                                                        \
  template <class T, int C, int R>                                                                 \
  constexpr matrix<T, C, R> operator op(matrix<T, C, R> a, const matrix<T, C, R> &b) {             \
    for (int c = 0; c < C; c++) a.columns[c] = a.columns[c] op b.columns[c];                       \
    return a;                                                                                      \
  }                                                                                                \
  template <class T, int C, int R>                                                                 \
  constexpr matrix<T, C, R> &operator op##=(matrix<T, C, R> & a, const matrix<T, C, R> &b) {       \
    return a = a op b;                                                                             \
  }
HOST_MATRIX_SUM(+)
HOST_MATRIX_SUM(-)
#undef HOST_MATRIX_SUM
template <class T, int C, int R>
constexpr matrix<T, C, R> operator-(matrix<T, C, R> a) {
  for (int c = 0; c < C; c++) a.columns[c] = -a.columns[c];
  return a;
}
template <class T, int C, int R>
constexpr matrix<T, C, R> operator*(matrix<T, C, R> a, type_identity_t<T> b) {
  for (int c = 0; c < C; c++) a.columns[c] = a.columns[c] * vec<T, R>(b);
  return a;
}
template <class T, int C, int R>
constexpr matrix<T, C, R> operator*(type_identity_t<T> a, matrix<T, C, R> b) {
  return b * a;
}
template <class T, int C, int R>
constexpr vec<T, R> operator*(const matrix<T, C, R> &a, vec<T, C> b) {
  vec<T, R> sum = a.columns[0] * vec<T, R>(b.e[0]);
  for (int c = 1; c < C; c++) sum = sum + a.columns[c] * vec<T, R>(b.e[c]);
  return sum;
}
template <class T, int C, int R>
constexpr vec<T, R> operator*(const matrix<T, C, R> &a, packed_vec<T, C> b) {
  return a * vec<T, C>(b);
}
template <class T, int C, int R>
inline vec<T, C> operator*(vec<T, R> a, const matrix<T, C, R> &b) {
  vec<T, C> result;
  for (int c = 0; c < C; c++) result.e[c] = dot(a, b.columns[c]);
  return result;
}
template <class T, int C, int R, int K>
constexpr matrix<T, C, R> operator*(const matrix<T, K, R> &a, const matrix<T, C, K> &b) {
  matrix<T, C, R> result;
  for (int c = 0; c < C; c++) result.columns[c] = a * b.columns[c];
  return result;
}
template <class T, int C, int R, class U>
constexpr matrix<T, C, R> &operator*=(matrix<T, C, R> &a, const U &b) {
  return a = a * b;
}
template <class T, int C, int R>
constexpr bool operator==(const matrix<T, C, R> &a, const matrix<T, C, R> &b) {
  bool result = true;
  for (int c = 0; c < C; c++)
    for (int r = 0; r < R; r++) result &= a.columns[c].e[r] == b.columns[c].e[r];
  return result;
}
template <class T, int C, int R>
constexpr matrix<T, R, C> transpose(const matrix<T, C, R> &a) {
  matrix<T, R, C> result;
  for (int c = 0; c < C; c++)
    for (int r = 0; r < R; r++) result.columns[r].e[c] = a.columns[c].e[r];
  return result;
}
template <class T>
constexpr T determinant(const matrix<T, 2, 2> &a) {
  return a[0][0] * a[1][1] - a[1][0] * a[0][1];
}
template <class T>
inline T determinant(const matrix<T, 3, 3> &a) {
  return dot(a[0], cross(a[1], a[2]));
}
template <class T>
inline T determinant(const matrix<T, 4, 4> &a) {
  T sum = T(0.0f);
  for (int c = 0; c < 4; c++) {
    matrix<T, 3, 3> minor;
    for (int k = 0, at = 0; k < 4; k++)
      if (k != c) minor.columns[at++] = vec<T, 3>(a[k][1], a[k][2], a[k][3]);
    sum += (c % 2 ? -a[c][0] : a[c][0]) * determinant(minor);
  }
  return sum;
}
}  // namespace metal

#define HOST_MATRIX_NAMES(type)                    \
  using type##2x2 = metal::matrix<type, 2, 2>;     \
  using type##2x3 = metal::matrix<type, 2, 3>;     \
  using type##2x4 = metal::matrix<type, 2, 4>;     \
  using type##3x2 = metal::matrix<type, 3, 2>;     \
  using type##3x3 = metal::matrix<type, 3, 3>;     \
  using type##3x4 = metal::matrix<type, 3, 4>;     \
  using type##4x2 = metal::matrix<type, 4, 2>;     \
  using type##4x3 = metal::matrix<type, 4, 3>;     \
  using type##4x4 = metal::matrix<type, 4, 4>;     \
  namespace metal {                                \
  using ::type##2x2;                               \
  using ::type##2x3;                               \
  using ::type##2x4;                               \
  using ::type##3x2;                               \
  using ::type##3x3;                               \
  using ::type##3x4;                               \
  using ::type##4x2;                               \
  using ::type##4x3;                               \
  using ::type##4x4;                               \
  }
HOST_MATRIX_NAMES(float)
HOST_MATRIX_NAMES(half)
#undef HOST_MATRIX_NAMES
