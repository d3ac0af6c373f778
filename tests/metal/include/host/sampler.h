// Samplers, and the options of calls that sample.
//
// A sampler is the word that Apple's compiler makes of a constant one: address modes in three bits per coordinate, filters,
// pixel coordinates, comparison, anisotropy, and the clamps of the level as halves.
#pragma once

#include "threads.h"

namespace metal {
enum class access { sample, read, write, read_write };
enum class component { x, y, z, w };
enum class coord { normalized, pixel };
enum class filter { nearest, linear, bicubic };
enum class mag_filter { nearest, linear, bicubic };
enum class min_filter { nearest, linear, bicubic };
enum class mip_filter { none, nearest, linear };
enum class address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class s_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class t_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class r_address { clamp_to_zero, clamp_to_edge, repeat, mirrored_repeat, clamp_to_border };
enum class compare_func { none, less, less_equal, greater, greater_equal, equal, not_equal, always, never };
enum class border_color { transparent_black, opaque_black, opaque_white };
enum class reduction { weighted_average, minimum, maximum };
struct max_anisotropy {
  uint value;
  constexpr explicit max_anisotropy(uint value) : value(value) {}
};
struct lod_clamp {
  half low, high;
  constexpr lod_clamp(float low, float high) : low(half(low)), high(half(high)) {}
};

struct sampler {
  // All defaults: edges clamp, nearest filters, no mipmaps, normalized coordinates, no comparison.
  ulong bits = 0x807bff0000080049;

  sampler() = default;
  template <class... Options>
    requires(sizeof...(Options) > 0)
  constexpr explicit sampler(Options... options) {
    (set(options), ...);
  }
  constexpr uint get(uint shift, uint count) const { return uint(bits >> shift) & ((1u << count) - 1); }

 private:
  constexpr void put(uint shift, uint count, ulong value) {
    const ulong mask = ((1ul << count) - 1) << shift;
    bits = (bits & ~mask) | (value << shift);
  }
  constexpr void set(s_address a) { put(0, 3, ulong(a)); }
  constexpr void set(t_address a) { put(3, 3, ulong(a)); }
  constexpr void set(r_address a) { put(6, 3, ulong(a)); }
  constexpr void set(address a) { put(0, 9, ulong(a) * 0111); }
  constexpr void set(mag_filter f) { put(9, 2, ulong(f)); }
  constexpr void set(min_filter f) { put(11, 2, ulong(f)); }
  constexpr void set(filter f) { put(9, 4, ulong(f) * 5); }
  constexpr void set(mip_filter f) { put(13, 2, ulong(f)); }
  constexpr void set(coord c) { put(15, 1, ulong(c)); }
  constexpr void set(compare_func c) { put(16, 4, ulong(c)); }
  constexpr void set(max_anisotropy m) { put(20, 4, m.value - 1); }
  constexpr void set(lod_clamp c) {
    put(24, 16, __builtin_bit_cast(ushort, c.low));
    put(40, 16, __builtin_bit_cast(ushort, c.high));
  }
  constexpr void set(border_color c) { put(56, 2, ulong(c)); }
  constexpr void set(reduction) {}
};

struct level {
  float value;
  constexpr explicit level(float value) : value(value) {}
};
struct bias {
  float value;
  constexpr explicit bias(float value) : value(value) {}
};
struct min_lod_clamp {
  float value;
  constexpr explicit min_lod_clamp(float value) : value(value) {}
};
struct gradient2d {
  float2 dx, dy;
  constexpr gradient2d(float2 dx, float2 dy) : dx(dx), dy(dy) {}
};
struct gradient3d {
  float3 dx, dy;
  constexpr gradient3d(float3 dx, float3 dy) : dx(dx), dy(dy) {}
};
struct gradientcube {
  float3 dx, dy;
  constexpr gradientcube(float3 dx, float3 dy) : dx(dx), dy(dy) {}
};
}  // namespace metal
