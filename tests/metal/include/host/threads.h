// Threads together: barriers, and functions of simdgroups and quadgroups.
//
// Reductions and scans take the lanes in order; lanes that take no part are left out. A lane that reads one that takes
// no part, which is undefined, reads its own value.
#pragma once

#include "common.h"
#include "runtime.h"

namespace metal {
enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16,
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }

enum memory_order {
  memory_order_relaxed = 0,
  memory_order_acquire = 2,
  memory_order_release = 3,
  memory_order_acq_rel = 4,
  memory_order_seq_cst = 5,
};
enum thread_scope {
  thread_scope_thread = 0,
  thread_scope_threadgroup = 1,
  thread_scope_device = 2,
  thread_scope_simdgroup = 4,
#if __METAL_VERSION__ >= 320
  thread_scope_system = 3,
#endif
};

inline void threadgroup_barrier(mem_flags, memory_order = memory_order_seq_cst, thread_scope = thread_scope_threadgroup) {
  host_barrier(1);
}
inline void simdgroup_barrier(mem_flags, memory_order = memory_order_seq_cst, thread_scope = thread_scope_simdgroup) {
  host_barrier(4);
}
// Threads run one at a time, so that all they wrote is there.
inline void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device) {}

#define HOST_REDUCTION(name, operation)                                                     \
  template <class T>                                                                        \
  inline auto name##_of(T value, unsigned from, unsigned count) {                           \
    using R = host_plain<T>;                                                                \
    const host::exchange<R> all(value, host_kind_reduce);                                   \
    bool has = false;                                                                       \
    R a = value;                                                                            \
    for (unsigned lane = from; lane < from + count; lane++) {                               \
      if (!all.has(lane)) continue;                                                         \
      const R b = all[lane];                                                                \
      a = has ? R(operation) : b;                                                           \
      has = true;                                                                           \
    }                                                                                       \
    return a;                                                                               \
  }                                                                                         \
  template <class T>                                                                        \
  inline auto simd_##name(T value) {                                                        \
    return name##_of(value, 0, 32);                                                         \
  }                                                                                         \
  template <class T>                                                                        \
  inline auto quad_##name(T value) {                                                        \
    return name##_of(value, host_lane() & ~3u, 4);                                          \
  }
HOST_REDUCTION(sum, a + b)
HOST_REDUCTION(product, a *b)
HOST_REDUCTION(min, metal::min(a, b))
HOST_REDUCTION(max, metal::max(a, b))
HOST_REDUCTION(and, a &b)
HOST_REDUCTION(or, a | b)
HOST_REDUCTION(xor, a ^ b)
#undef HOST_REDUCTION

template <class T, class F>
inline T host_scan(T value, T start, bool inclusive, unsigned from, F f) {
  const host::exchange<T> all(value, host_kind_scan);
  T sum = start;
  for (unsigned lane = from; lane < host_lane() + (inclusive ? 1 : 0); lane++)
    if (all.has(lane)) sum = f(sum, all[lane]);
  return sum;
}
#define HOST_SCAN(name, start, operation)                                                        \
  template <class T>                                                                             \
  inline auto simd_prefix_inclusive_##name(T value) {                                            \
    using R = host_plain<T>;                                                                     \
    return host_scan<R>(value, R(host_element<R>(start)), true, 0, [](R a, R b) { return R(operation); });  \
  }                                                                                              \
  template <class T>                                                                             \
  inline auto simd_prefix_exclusive_##name(T value) {                                            \
    using R = host_plain<T>;                                                                     \
    return host_scan<R>(value, R(host_element<R>(start)), false, 0, [](R a, R b) { return R(operation); }); \
  }                                                                                              \
  template <class T>                                                                             \
  inline auto quad_prefix_inclusive_##name(T value) {                                            \
    using R = host_plain<T>;                                                                     \
    return host_scan<R>(value, R(host_element<R>(start)), true, host_lane() & ~3u, [](R a, R b) { return R(operation); });  \
  }                                                                                              \
  template <class T>                                                                             \
  inline auto quad_prefix_exclusive_##name(T value) {                                            \
    using R = host_plain<T>;                                                                     \
    return host_scan<R>(value, R(host_element<R>(start)), false, host_lane() & ~3u, [](R a, R b) { return R(operation); }); \
  }
HOST_SCAN(sum, 0.0f, a + b)
HOST_SCAN(product, 1.0f, a *b)
#undef HOST_SCAN

// Reads the value of a lane, or the own value, if the lane takes no part or is not among those from `from`.
template <class T>
inline T host_read(T value, int lane, unsigned from, unsigned count) {
  const host::exchange<T> all(value, host_kind_shuffle);
  const bool is_there = lane >= int(from) && lane < int(from + count) && all.has(unsigned(lane));
  return is_there ? all[unsigned(lane)] : value;
}
#define HOST_SHUFFLE(name, lane)                                                         \
  template <class T>                                                                     \
  inline auto simd_##name(T value, ushort number) {                                      \
    const int own [[maybe_unused]] = int(host_lane()), from [[maybe_unused]] = 0, size [[maybe_unused]] = 32; \
    return host_read<host_plain<T>>(value, lane, 0, 32);                                 \
  }                                                                                      \
  template <class T>                                                                     \
  inline auto quad_##name(T value, ushort number) {                                      \
    const int own [[maybe_unused]] = int(host_lane()), from = own & ~3, size [[maybe_unused]] = 4; \
    return host_read<host_plain<T>>(value, lane, unsigned(from), 4);                     \
  }
HOST_SHUFFLE(broadcast, from + number)
HOST_SHUFFLE(shuffle, from + number)
HOST_SHUFFLE(shuffle_xor, own ^ number)
HOST_SHUFFLE(shuffle_up, own - number)
HOST_SHUFFLE(shuffle_down, own + number)
HOST_SHUFFLE(shuffle_rotate_up, from + ((own - from - number) & (size - 1)))
HOST_SHUFFLE(shuffle_rotate_down, from + ((own - from + number) & (size - 1)))
#undef HOST_SHUFFLE

// Values that are shifted in come from `filling`, in groups of `modulo` lanes.
template <class T>
inline T host_shift(T value, T filling, int delta, int modulo) {
  struct Both {
    T value, filling;
  };
  const host::exchange<Both> all(Both{value, filling}, host_kind_shuffle);
  const int own = int(host_lane()), start = own / modulo * modulo;
  const int wanted = own - start + delta;
  const int within = ((wanted % modulo) + modulo) % modulo;
  const unsigned lane = unsigned(start + within);
  if (!all.has(lane)) return value;
  return wanted == within ? all[lane].value : all[lane].filling;
}
template <class T>
inline auto simd_shuffle_and_fill_up(T value, type_identity_t<host_plain<T>> filling, ushort delta, ushort modulo = 32) {
  return host_shift<host_plain<T>>(value, filling, -int(delta), modulo);
}
template <class T>
inline auto simd_shuffle_and_fill_down(T value, type_identity_t<host_plain<T>> filling, ushort delta, ushort modulo = 32) {
  return host_shift<host_plain<T>>(value, filling, int(delta), modulo);
}

// The first lane that takes part.
inline ulong host_votes(bool vote) {
  const host::exchange<uint> all(vote ? 1u : 0u, host_kind_vote);
  ulong votes = 0;
  for (unsigned lane = 0; lane < 32; lane++)
    if (all.has(lane) && all[lane]) votes |= 1ul << lane;
  return votes | (ulong(all.mask) << 32);
}
template <class T>
inline auto simd_broadcast_first(T value) {
  using R = host_plain<T>;
  const host::exchange<R> all(value, host_kind_shuffle);
  return all[unsigned(__builtin_ctz(all.mask))];
}
inline bool simd_is_first() { return unsigned(__builtin_ctz(unsigned(host_votes(true) >> 32))) == host_lane(); }
inline bool simd_all(bool vote) {
  const ulong votes = host_votes(vote);
  return uint(votes) == uint(votes >> 32);
}
inline bool simd_any(bool vote) { return uint(host_votes(vote)) != 0; }

struct simd_vote {
  using vote_t = ulong;
  vote_t votes;
  simd_vote() = default;
  constexpr explicit simd_vote(vote_t votes) : votes(votes) {}
  constexpr explicit operator vote_t() const { return votes; }
  bool all() const { return (votes & 0xffffffff) == 0xffffffff; }
  bool any() const { return votes != 0; }
};
inline simd_vote simd_ballot(bool vote) { return simd_vote(host_votes(vote) & 0xffffffff); }
inline simd_vote simd_active_threads_mask() { return simd_vote(host_votes(true) & 0xffffffff); }

template <class T>
inline auto quad_broadcast_first(T value) {
  return quad_broadcast(value, 0);
}
inline bool quad_all(bool vote) {
  const ulong votes = host_votes(vote);
  const unsigned from = host_lane() & ~3u;
  return ((votes >> from) & 15) == ((votes >> (from + 32)) & 15);
}
inline bool quad_any(bool vote) { return ((host_votes(vote) >> (host_lane() & ~3u)) & 15) != 0; }
using quad_vote = simd_vote;
inline quad_vote quad_ballot(bool vote) { return quad_vote((host_votes(vote) >> (host_lane() & ~3u)) & 15); }

template <class T>
inline bool is_uniform(T) {
  return true;
}
template <class T>
struct uniform {
  T value;
  uniform() = default;
  constexpr uniform(T value) : value(value) {}
  constexpr operator T() const { return value; }
};
template <class T>
constexpr uniform<T> make_uniform(T value) {
  return value;
}

// Derivatives have no neighbours here: the functions exist so that fragment functions compile.
template <class T>
inline T dfdx(T) {
  host_fault("dfdx");
}
template <class T>
inline T dfdy(T) {
  host_fault("dfdy");
}
template <class T>
inline T fwidth(T) {
  host_fault("fwidth");
}
inline void discard_fragment() { host_fault("discard_fragment"); }
inline uint get_num_samples() { return 1; }
}  // namespace metal
