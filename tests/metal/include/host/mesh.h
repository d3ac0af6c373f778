// Mesh functions and tables of functions: enough for sources to compile.
//
// Nothing on the host collects a mesh, so that its functions end the thread.
#pragma once

#include "texture.h"

namespace metal {
enum class topology { point, line, triangle };

template <class Vertex, class Primitive, uint MaxVertices, uint MaxPrimitives, topology Topology>
struct mesh {
  mesh() = default;
  explicit mesh(void *) {}
  void set_primitive_count(uint) const { host_fault("a mesh"); }
  template <class Value>
  void set_vertex(uint, Value) const {
    host_fault("a mesh");
  }
  template <class Value>
  void set_primitive(uint, Value) const {
    host_fault("a mesh");
  }
  template <class Index>
  void set_index(uint, Index) const {
    host_fault("a mesh");
  }
  template <class Indices>
  void set_indices(uint, Indices) const {
    host_fault("a mesh");
  }
};

struct mesh_grid_properties {
  mesh_grid_properties() = default;
  explicit mesh_grid_properties(void *) {}
  void set_threadgroups_per_grid(uint3) const { host_fault("a mesh"); }
};

// A table of functions of one type.
template <class Function>
struct visible_function_table {
  Function *const *functions = nullptr;
  visible_function_table() = default;
  explicit visible_function_table(void *slot) : functions(static_cast<Function *const *>(slot)) {}
  Function *operator[](uint index) const { return functions[index]; }
};
}  // namespace metal
