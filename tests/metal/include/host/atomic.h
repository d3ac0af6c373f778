// Atomic values. Threads run one at a time and only give way where they wait, so that plain operations are atomic.
#pragma once

#include "threads.h"

namespace metal {
template <class T>
struct _atomic {
  T value;
  _atomic() = default;
  constexpr _atomic(T value) : value(value) {}
};
template <class T>
using atomic = _atomic<T>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_long = atomic<long>;
using atomic_ulong = atomic<ulong>;

template <class T>
inline T atomic_load_explicit(const volatile atomic<T> *object, memory_order, thread_scope = thread_scope_device) {
  return object->value;
}
template <class T>
inline void atomic_store_explicit(volatile atomic<T> *object, type_identity_t<T> value, memory_order,
                                  thread_scope = thread_scope_device) {
  object->value = value;
}
template <class T>
inline T atomic_exchange_explicit(volatile atomic<T> *object, type_identity_t<T> value, memory_order,
                                  thread_scope = thread_scope_device) {
  const T old = object->value;
  object->value = value;
  return old;
}
// Never fails where the values are the same, to the bit.
template <class T>
inline bool atomic_compare_exchange_weak_explicit(volatile atomic<T> *object, T *expected, type_identity_t<T> desired,
                                                  memory_order, memory_order, thread_scope = thread_scope_device) {
  const T old = object->value;
  if (__builtin_memcmp(&old, expected, sizeof(T)) == 0) {
    object->value = desired;
    return true;
  }
  *expected = old;
  return false;
}
#define HOST_ATOMIC(name, operation)                                                                  \
  template <class T>                                                                                  \
  inline T atomic_fetch_##name##_explicit(volatile atomic<T> *object, type_identity_t<T> b, memory_order, \
                                          thread_scope = thread_scope_device) {                       \
    const T a = object->value;                                                                        \
    object->value = T(operation);                                                                     \
    return a;                                                                                         \
  }
HOST_ATOMIC(add, a + b)
HOST_ATOMIC(sub, a - b)
HOST_ATOMIC(and, a &b)
HOST_ATOMIC(or, a | b)
HOST_ATOMIC(xor, a ^ b)
HOST_ATOMIC(min, metal::min(a, b))
HOST_ATOMIC(max, metal::max(a, b))
#undef HOST_ATOMIC
// Those of 64 bits return nothing.
inline void atomic_min_explicit(volatile atomic<ulong> *object, ulong value, memory_order) {
  object->value = metal::min(ulong(object->value), value);
}
inline void atomic_max_explicit(volatile atomic<ulong> *object, ulong value, memory_order) {
  object->value = metal::max(ulong(object->value), value);
}
}  // namespace metal
using metal::atomic_bool;
using metal::atomic_float;
using metal::atomic_int;
using metal::atomic_uint;
using metal::atomic_ulong;
