// Runs a kernel's threads: fibers, barriers, simdgroups of 32.
//
// One threadgroup runs after another, and a thread until it waits: for its threadgroup, for its simdgroup, or for the
// values of the other lanes. When no thread can run, those that wait for the same thing go on. The order is always the
// same, so that runs can be compared.
#pragma once

#include <string>

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  unsigned count() const { return x * y * z; }
};

// Where the running thread is.
struct Place {
  Extent group, in_group;
  unsigned index = 0;
};

using Entry = void (*)(void **);

struct Grid {
  Extent threads, groups;
};

// Runs the threads of a grid. `before` fills in the slots of a thread. Returns the fault that ended the run, or nothing.
std::string run_grid(const Grid &grid, Entry entry, void **slots, void (*before)(const Grid &, const Place &));
