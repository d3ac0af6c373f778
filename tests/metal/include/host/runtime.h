// What the runtime offers to kernels, and the entry point of a kernel.
//
// Kernels come as shared libraries of one function, `host_entry`, which takes one slot per argument: the memory of a
// buffer, three words of a position, or the description of a texture. The runtime (../runtime) runs it once per thread.
#pragma once

extern "C" {
// Waits for the other threads: 1 is the threadgroup, 4 the simdgroup.
void host_barrier(int scope);
// Gives a value of at most 64 bytes to the other lanes of the simdgroup, and returns those of all lanes that take part, as
// a mask. `values` has the values of the lanes, one after another, 64 bytes each. Lanes that return, or wait for the
// threadgroup, take no part; what the others ask for has to be of the same kind. The values stay until the lane asks for
// the values after the next.
unsigned host_exchange(const void *value, unsigned size, unsigned kind, const unsigned char **values);
unsigned host_lane();
unsigned host_lanes();
// Ends the thread as a fault, for this reason.
[[noreturn]] void host_fault(const char *reason);
void host_entry(void **slots);
}

enum { host_stride = 64 };
enum host_kind : unsigned {
  host_kind_reduce = 1,
  host_kind_scan,
  host_kind_shuffle,
  host_kind_vote,
  host_kind_matrix,
};

namespace host {
// What the lanes of a simdgroup give each other.
template <class T>
struct exchange {
  unsigned mask;

  exchange(const T &value, host_kind kind) {
    static_assert(sizeof(T) <= host_stride);
    mask = host_exchange(&value, sizeof(T), kind, &values);
  }
  bool has(unsigned lane) const { return lane < 32 && (mask >> lane & 1); }
  T operator[](unsigned lane) const {
    T value;
    __builtin_memcpy(&value, values + host_stride * lane, sizeof(T));
    return value;
  }

 private:
  const unsigned char *values;
};
}  // namespace host
