// Arrays, and what takes part in a kernel's arguments.
#pragma once

#include "matrix.h"
#include "sampler.h"

namespace metal {
template <class T, size_t N>
struct array {
  T __elems[N];
  constexpr T &operator[](size_t index) { return __elems[index]; }
  constexpr const T &operator[](size_t index) const { return __elems[index]; }
  static constexpr size_t size() { return N; }
  constexpr T *data() { return __elems; }
  constexpr const T *data() const { return __elems; }
  constexpr T *begin() { return __elems; }
  constexpr T *end() { return __elems + N; }
  constexpr const T *begin() const { return __elems; }
  constexpr const T *end() const { return __elems + N; }
};
template <class T>
struct array_ref {
  T *elements;
  size_t count;
  T &operator[](size_t index) const { return elements[index]; }
  size_t size() const { return count; }
};
}  // namespace metal

namespace host {
// Makes an argument of a kernel out of its slot: a pointer to or a reference of the memory, or a value in it. Positions
// have three words of 32 bits, whatever their type.
template <class A>
struct argument {
  static A of(void *slot) {
    const unsigned *words = static_cast<const unsigned *>(slot);
    if constexpr (metal::host_is_vector<A>) {
      A value;
      for (int i = 0; i < metal::host_size<A>; i++) value.e[i] = metal::host_element<A>(words[i]);
      return value;
    } else if constexpr (__is_integral(A)) {
      return A(words[0]);
    } else {
      return A(slot);
    }
  }
};
template <class T>
struct argument<T *> {
  static T *of(void *slot) { return static_cast<T *>(slot); }
};
template <class T>
struct argument<T &> {
  static T &of(void *slot) { return *static_cast<T *>(slot); }
};
template <class A>
struct argument<const A> : argument<A> {};
template <>
struct argument<metal::sampler> {
  static metal::sampler of(void *slot) { return *static_cast<metal::sampler *>(slot); }
};

template <class... A, metal::size_t... Places>
inline void call(void (*function)(A...), void **slots, metal::index_sequence<Places...>) {
  function(argument<A>::of(slots[Places])...);
}
template <class... A>
inline void call(void (*function)(A...), void **slots) {
  call(function, slots, metal::make_index_sequence<sizeof...(A)>());
}
}  // namespace host

// Makes a kernel the one that the library runs.
#define HOST_ENTRY(...) \
  extern "C" void host_entry(void **slots) { host::call(__VA_ARGS__, slots); }
