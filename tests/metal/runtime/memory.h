// The memory of buffers: made up, compared, and written to files.
//
// A buffer is in the middle of a large region of zeros, so that accesses outside of it do the same on both sides; far
// away there is a fault. Regions have the same addresses on both sides.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

// Numbers of one type in an element of a buffer.
struct Field {
  std::string type;
  size_t offset, count;
};

struct Buffer {
  // The number of bytes, and those of an element, whose fields repeat.
  size_t size, stride;
  std::vector<Field> fields;
  // Whether it has a few numbers, such as sizes, that others depend on: these are small and above zero.
  bool is_parameter;
  unsigned char *memory = nullptr;
};

// How values are made up.
struct Filling {
  unsigned seed;
  // Whether 32-bit unsigned integers have all their bits.
  bool is_wide;
  // The largest parameter.
  unsigned largest;
  // Where pointers in buffers point to: each to the next ROOM bytes.
  unsigned char *pool;
};

constexpr size_t POINTERS = 64, ROOM = 32 << 10;

// The bytes of a region that are not those at its start, as pages with their numbers.
using Pages = std::vector<std::pair<size_t, std::vector<unsigned char>>>;

void reserve(Buffer &buffer);
void release(Buffer &buffer);
void fill(Buffer &buffer, const Filling &filling);
Pages pages_of(const Buffer &buffer);

// What comparing the pages of two runs finds.
struct Difference {
  size_t written = 0, differing = 0, largest = 0;
  std::string first;
};

// Compares what two runs leave of a buffer. Numbers of its fields are compared by their type, everything else by bytes.
void compare(const Buffer &buffer, const Pages &start, const Pages &left, const Pages &right, Difference &difference);
