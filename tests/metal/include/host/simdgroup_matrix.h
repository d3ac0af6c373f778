// Matrices of 8 by 8 that a simdgroup holds together: two components per lane.
//
// Lane `l` holds the components of one row and two columns: row `(l / 4 & 4) + l / 2 % 4`, columns from
// `(l / 4 & 2) * 2 + l % 2 * 2`. Apple documents no layout; this one is what MLX's kernels rely on.
#pragma once

#include "threads.h"

namespace host {
inline unsigned matrix_row(unsigned lane) { return (lane / 4 & 4) + lane / 2 % 4; }
inline unsigned matrix_column(unsigned lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }

// The two components of the product of `a` and `b`, added to `c`, for this lane.
template <class D, class A, class B, class C>
inline void matrix_multiply(D *d, const A *a, const B *b, const C *c) {
  struct Parts {
    A a[2];
    B b[2];
  };
  const Parts own = {{a[0], a[1]}, {b[0], b[1]}};
  const exchange<Parts> all(own, host_kind_matrix);
  float left[8][8], right[8][8];
  for (unsigned lane = 0; lane < 32; lane++) {
    const Parts parts = all[lane];
    for (unsigned i = 0; i < 2; i++) {
      left[matrix_row(lane)][matrix_column(lane) + i] = float(parts.a[i]);
      right[matrix_row(lane)][matrix_column(lane) + i] = float(parts.b[i]);
    }
  }
  const unsigned row = matrix_row(host_lane()), column = matrix_column(host_lane());
  for (unsigned i = 0; i < 2; i++) {
    float sum = float(c[i]);
    for (unsigned k = 0; k < 8; k++) sum = sum + left[row][k] * right[k][column + i];
    d[i] = D(sum);
  }
}

// The place of component `i` of this lane in memory.
inline long matrix_place(unsigned i, long per_row, long x, long y, bool transpose) {
  const long row = matrix_row(host_lane()), column = matrix_column(host_lane()) + i;
  return transpose ? (y + column) * per_row + x + row : (y + row) * per_row + x + column;
}
}  // namespace host

namespace metal {
template <class T, int Columns, int Rows>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "matrices of simdgroups are 8 by 8");
  vec<T, 2> own;

  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    for (unsigned i = 0; i < 2; i++)
      own.e[i] = host::matrix_row(host_lane()) == host::matrix_column(host_lane()) + i ? diagonal : T(0.0f);
  }
  vec<T, 2> &thread_elements() { return own; }
  const vec<T, 2> &thread_elements() const { return own; }
};
template <class T, int C, int R>
inline simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, C, R> m;
  m.own = vec<T, 2>(value);
  return m;
}
template <class T, int C, int R>
inline void simdgroup_load(simdgroup_matrix<T, C, R> &m, const T *source, ulong per_row = 8, ulong2 origin = 0ul,
                           bool transpose = false) {
  for (unsigned i = 0; i < 2; i++)
    m.own.e[i] = source[host::matrix_place(i, long(per_row), long(origin.e[0]), long(origin.e[1]), transpose)];
}
template <class T, int C, int R>
inline void simdgroup_store(const simdgroup_matrix<T, C, R> &m, T *target, ulong per_row = 8, ulong2 origin = 0ul,
                            bool transpose = false) {
  for (unsigned i = 0; i < 2; i++)
    target[host::matrix_place(i, long(per_row), long(origin.e[0]), long(origin.e[1]), transpose)] = m.own.e[i];
}
template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, simdgroup_matrix<A, 8, 8> a,
                                          simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c) {
  host::matrix_multiply(d.own.e, a.own.e, b.own.e, c.own.e);
}
template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(D(0.0f)));
}
template <class A, class B>
inline simdgroup_matrix<A, 8, 8> operator*(simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) {
  simdgroup_matrix<A, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}
}  // namespace metal
using simdgroup_float8x8 = metal::simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = metal::simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = metal::simdgroup_matrix<bfloat, 8, 8>;
namespace metal {
using ::simdgroup_bfloat8x8;
using ::simdgroup_float8x8;
using ::simdgroup_half8x8;
}
