// See memory.h.
#include "memory.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <sys/mman.h>

namespace {
constexpr size_t REGION = 128 << 20, PAGE = 4096;

unsigned char *start_of(const Buffer &buffer) { return buffer.memory - REGION / 2; }

uint32_t next(uint32_t &state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

size_t size_of(const std::string &type) {
  const std::string digits = type.substr(type.find_first_of("0123456789"));
  return std::max<size_t>(std::stoul(digits) / 8, 1);
}

float wide_half(uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, 2);
  return float(value);
}

uint16_t narrow(const std::string &type, float value) {
  if (type == "bf16") {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return uint16_t(bits >> 16);
  }
  const _Float16 narrow(value);
  uint16_t bits;
  std::memcpy(&bits, &narrow, 2);
  return bits;
}

// What the numbers of a buffer follow from.
struct State {
  uint32_t random;
  size_t pointers = 0;
};

// Makes up a number.
void make(const std::string &type, bool is_parameter, const Filling &filling, State &state, unsigned char *to) {
  const uint32_t random = next(state.random);
  const size_t size = size_of(type);
  if (type[0] == 'f' || type[0] == 'b') {
    const float value = float(int(random >> 8 & 0xffff) - 0x8000) / 8192.0f;
    if (size == 4) std::memcpy(to, &value, 4);
    else {
      const uint16_t bits = narrow(type, value);
      std::memcpy(to, &bits, 2);
    }
    return;
  }
  uint64_t value = random >> 8;
  if (type == "p64") value = reinterpret_cast<uint64_t>(filling.pool + state.pointers++ % POINTERS * ROOM);
  else if (type == "i1") value %= 2;
  else if (is_parameter) value = value % filling.largest + 1;
  else if (size == 1) value &= 255;
  else if (type == "u32" && filling.is_wide) value = random;
  else value = type[0] == 's' ? uint64_t(int64_t(value % 40) - 8) : value % 32;
  std::memcpy(to, &value, size);
}

// A float as an integer that counts floats from zero.
int64_t order(const std::string &type, const unsigned char *at, bool &is_nan) {
  if (type == "f32") {
    int32_t bits;
    std::memcpy(&bits, at, 4);
    float value;
    std::memcpy(&value, at, 4);
    is_nan = std::isnan(value);
    return bits < 0 ? int64_t(INT32_MIN) - bits : bits;
  }
  int16_t bits;
  std::memcpy(&bits, at, 2);
  is_nan = type == "bf16" ? (bits & 0x7fff) > 0x7f80 : std::isnan(wide_half(uint16_t(bits)));
  return bits < 0 ? int64_t(INT16_MIN) - bits : bits;
}

const unsigned char *page(const std::map<size_t, const unsigned char *> &pages, size_t number) {
  static const unsigned char zeros[PAGE] = {};
  const auto found = pages.find(number);
  return found == pages.end() ? zeros : found->second;
}

std::string hex(const unsigned char *at, size_t size) {
  std::string text = "0x";
  char digits[3];
  while (size--) {
    std::snprintf(digits, sizeof digits, "%02x", at[size]);
    text += digits;
  }
  return text;
}
}  // namespace

void reserve(Buffer &buffer) {
  void *region =
      mmap(nullptr, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  buffer.memory = static_cast<unsigned char *>(region) + REGION / 2;
}

void release(Buffer &buffer) { munmap(start_of(buffer), REGION); }

void fill(Buffer &buffer, const Filling &filling) {
  madvise(start_of(buffer), REGION, MADV_DONTNEED);
  State state{filling.seed * 2654435761u + 12345u};
  for (size_t at = 0; at + buffer.stride <= buffer.size; at += buffer.stride)
    for (const Field &field : buffer.fields) {
      const size_t size = size_of(field.type);
      for (size_t i = 0; i < field.count; i++)
        make(field.type, buffer.is_parameter, filling, state, buffer.memory + at + field.offset + i * size);
    }
}

Pages pages_of(const Buffer &buffer) {
  static std::vector<unsigned char> is_resident(REGION / PAGE);
  mincore(start_of(buffer), REGION, is_resident.data());
  Pages pages;
  for (size_t number = 0; number < is_resident.size(); number++) {
    if (!(is_resident[number] & 1)) continue;
    const unsigned char *at = start_of(buffer) + number * PAGE;
    pages.emplace_back(number, std::vector<unsigned char>(at, at + PAGE));
  }
  return pages;
}

void compare(const Buffer &buffer, const Pages &start, const Pages &left, const Pages &right, Difference &difference) {
  std::map<size_t, const unsigned char *> maps[3];
  const Pages *all[3] = {&start, &left, &right};
  for (int i = 0; i < 3; i++)
    for (const auto &[number, bytes] : *all[i]) maps[i][number] = bytes.data();
  // The type of the numbers, if all are of one.
  const std::string type = buffer.fields.size() == 1 ? buffer.fields[0].type : "u8";
  const size_t size = size_of(type);
  const bool is_float = type[0] == 'f' || type[0] == 'b';
  std::map<size_t, bool> numbers;
  for (int i = 1; i < 3; i++)
    for (const auto &entry : maps[i]) numbers[entry.first] = true;
  for (const auto &entry : numbers) {
    const unsigned char *before = page(maps[0], entry.first), *a = page(maps[1], entry.first),
                        *b = page(maps[2], entry.first);
    for (size_t at = 0; at < PAGE; at += size) {
      difference.written += std::memcmp(before + at, a + at, size) != 0;
      if (std::memcmp(a + at, b + at, size) == 0) continue;
      if (is_float) {
        bool is_nan_a, is_nan_b;
        const int64_t x = order(type, a + at, is_nan_a), y = order(type, b + at, is_nan_b);
        if (is_nan_a && is_nan_b) continue;
        const size_t distance = size_t(x > y ? x - y : y - x);
        if (is_nan_a == is_nan_b && distance <= 2) {
          difference.largest = std::max(difference.largest, distance);
          continue;
        }
      }
      if (difference.differing++ == 0) {
        const long place = long(entry.first * PAGE + at) - long(REGION / 2);
        difference.first = "byte " + std::to_string(place) + ": " + hex(a + at, size) + " and " + hex(b + at, size);
      }
    }
  }
}
