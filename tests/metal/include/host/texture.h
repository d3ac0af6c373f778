// Textures: classes over memory of the host.
//
// An image has texels of four words, floats or integers as the texture's type has them. Level 0 comes first, then the
// others; a level has its layers one after another, and a cube has its faces as layers. Sampling has the level that the
// call names, or the first one, as there are no neighbours to derive one from.
#pragma once

#include "array.h"
#include "sampler.h"

struct host_image {
  unsigned width, height, depth, layers, levels, samples;
  unsigned *texels;
};

namespace metal {
// How many coordinates a texture has, whether it is an array, a cube, multisampled, and one of depths.
struct host_shape {
  int coordinates;
  bool is_array, is_cube, is_multisampled, is_depth;
};

// The integer or float vector of coordinates; a scalar for one.
template <class T, int N>
struct host_coordinates {
  using type = vec<T, N>;
};
template <class T>
struct host_coordinates<T, 1> {
  using type = T;
};

template <class T, host_shape shape>
struct host_texture {
  static constexpr int dimensions = shape.is_cube ? 2 : shape.coordinates;
  using place = typename host_coordinates<uint, dimensions>::type;
  using small_place = typename host_coordinates<ushort, dimensions>::type;
  using position = typename host_coordinates<float, shape.coordinates>::type;
  using offset = typename host_coordinates<int, dimensions>::type;
  using value_type = conditional_t<shape.is_depth, T, vec<T, 4>>;

  const host_image *image = nullptr;

  host_texture() = default;
  explicit host_texture(void *slot) : image(static_cast<const host_image *>(slot)) {}

  uint get_width(uint lod = 0) const { return size(image->width, lod); }
  uint get_height(uint lod = 0) const { return size(image->height, lod); }
  uint get_depth(uint lod = 0) const { return size(image->depth, lod); }
  uint get_array_size() const { return shape.is_cube ? image->layers / 6 : image->layers; }
  uint get_num_mip_levels() const { return image->levels; }
  uint get_num_samples() const { return image->samples; }
  void fence() const {}

  // Reads: place, then the face of a cube, the layer of an array, the sample, and the level.
  template <class P, class... Rest>
  value_type read(P at, Rest... rest) const {
    uint layer = 0, sample = 0, lod = 0;
    indices(layer, sample, lod, uint(rest)...);
    return texel(whole(at), layer, sample, lod);
  }
  template <class P, class... Rest>
  void write(value_type value, P at, Rest... rest) const {
    uint layer = 0, sample = 0, lod = 0;
    indices(layer, sample, lod, uint(rest)...);
    const uint3 place = whole(at);
    if (!has(place, layer, lod)) return;
    for (int i = 0; i < host_size<value_type>; i++) word(place, layer, sample, lod)[i] = raw(value, i);
  }

  template <class... Rest>
  value_type sample(sampler s, position at, Rest... rest) const {
    request r;
    (r.set(rest), ...);
    return sampled(s, at, r);
  }
  template <class... Rest>
  T sample_compare(sampler s, position at, Rest... rest) const {
    request r;
    (r.set(rest), ...);
    // The reference is the last number: an array's layer comes before it.
    const T depth = sampled(s, at, r);
    return compares(s, r.reference, float(depth)) ? T(1) : T(0);
  }
  template <class... Rest>
  vec<T, 4> gather(sampler s, position at, Rest... rest) const {
    request r;
    (r.set(rest), ...);
    const float3 middle = texels_of(s, at, r, 0) - float3(0.5f);
    vec<T, 4> result;
    const int steps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    for (int i = 0; i < 4; i++) {
      const int x = int(__builtin_floorf(middle.x)) + steps[i][0], y = int(__builtin_floorf(middle.y)) + steps[i][1];
      result.e[i] = component_of(addressed(s, int3(x, y, 0), layer_of(at, r), 0), r.channel);
    }
    return result;
  }
  template <class... Rest>
  vec<T, 4> gather_compare(sampler s, position at, Rest... rest) const {
    request r;
    (r.set(rest), ...);
    vec<T, 4> depths = gather(s, at, rest...);
    for (int i = 0; i < 4; i++) depths.e[i] = compares(s, r.reference, float(depths.e[i])) ? T(1) : T(0);
    return depths;
  }
  float calculate_clamped_lod(sampler, position) const { return 0.0f; }
  float calculate_unclamped_lod(sampler, position) const { return 0.0f; }

#define HOST_TEXTURE_ATOMIC(name, operation)                         \
  template <class P>                                                 \
  vec<T, 4> name(P at, vec<T, 4> value) const {                      \
    return change(at, 0, [value](T a, int i) {                       \
      const T b = value.e[i];                                        \
      return T(operation);                                           \
    });                                                              \
  }                                                                  \
  template <class P>                                                 \
  vec<T, 4> name(P at, uint layer, vec<T, 4> value) const {          \
    return change(at, layer, [value](T a, int i) {                   \
      const T b = value.e[i];                                        \
      return T(operation);                                           \
    });                                                              \
  }
  HOST_TEXTURE_ATOMIC(atomic_fetch_add, a + b)
  HOST_TEXTURE_ATOMIC(atomic_fetch_sub, a - b)
  HOST_TEXTURE_ATOMIC(atomic_fetch_and, a &b)
  HOST_TEXTURE_ATOMIC(atomic_fetch_or, a | b)
  HOST_TEXTURE_ATOMIC(atomic_fetch_xor, a ^ b)
  HOST_TEXTURE_ATOMIC(atomic_fetch_min, a < b ? a : b)
  HOST_TEXTURE_ATOMIC(atomic_fetch_max, a > b ? a : b)
  HOST_TEXTURE_ATOMIC(atomic_exchange, b)
#undef HOST_TEXTURE_ATOMIC
  template <class P>
  vec<T, 4> atomic_load(P at) const {
    return texel(whole(at), 0, 0, 0);
  }
  template <class P>
  void atomic_store(vec<T, 4> value, P at) const {
    write(value, at);
  }

 private:
  // What a call of sample asks for besides the position.
  struct request {
    uint layer = 0;
    float level = 0.0f, reference = 0.0f;
    int3 offset = 0;
    component channel = component::x;
    void set(uint number) { layer = number; }
    void set(int number) { layer = uint(number); }
    void set(ushort number) { layer = number; }
    void set(float number) { reference = number; }
    void set(metal::level l) { level = l.value; }
    void set(bias) {}
    void set(min_lod_clamp clamp) { level = level < clamp.value ? clamp.value : level; }
    void set(gradient2d) {}
    void set(gradient3d) {}
    void set(gradientcube) {}
    void set(int2 by) { offset = int3(by, 0); }
    void set(int3 by) { offset = by; }
    void set(component c) { channel = c; }
  };

  static uint size(uint whole, uint lod) {
    const uint part = whole >> lod;
    return part == 0 ? 1 : part;
  }
  template <class P>
  static uint3 whole(P at) {
    if constexpr (host_size<P> == 1) return uint3(uint(at), 0, 0);
    else if constexpr (host_size<P> == 2) return uint3(at.x, at.y, 0);
    else return uint3(at);
  }
  template <class... Rest>
  static void indices(uint &layer, uint &sample, uint &lod, Rest... rest) {
    const uint numbers[] = {rest..., 0};
    const int count = int(sizeof...(rest));
    int at = 0;
    if (shape.is_cube && at < count) layer = numbers[at++];
    if (shape.is_array && at < count) layer = shape.is_cube ? layer + 6 * numbers[at++] : numbers[at++];
    if (shape.is_multisampled && at < count) sample = numbers[at++];
    else if (at < count) lod = numbers[at++];
  }
  bool has(uint3 at, uint layer, uint lod) const {
    return at.x < get_width(lod) && at.y < get_height(lod) && at.z < get_depth(lod) && layer < image->layers &&
           lod < image->levels;
  }
  uint *word(uint3 at, uint layer, uint sample, uint lod) const {
    ulong first = 0;
    for (uint k = 0; k < lod; k++) first += ulong(get_width(k)) * get_height(k) * get_depth(k) * image->layers;
    const ulong row = (ulong(layer) * get_depth(lod) + at.z) * get_height(lod) + at.y;
    return image->texels + ((first + row * get_width(lod) + at.x) * image->samples + sample) * 4;
  }
  static uint raw(value_type value, int i) {
    T one;
    if constexpr (shape.is_depth) one = value;
    else one = value.e[i];
    if constexpr (is_floating_point_v<T>) return as_type<uint>(float(one));
    else return uint(one);
  }
  static T number(uint word) {
    if constexpr (is_floating_point_v<T>) return T(as_type<float>(word));
    else return T(word);
  }
  value_type texel(uint3 at, uint layer, uint sample, uint lod) const {
    value_type value = T(0);
    if (!has(at, layer, lod)) return value;
    const uint *words = word(at, layer, sample, lod);
    if constexpr (shape.is_depth) value = number(words[0]);
    else
      for (int i = 0; i < 4; i++) value.e[i] = number(words[i]);
    return value;
  }
  static T component_of(value_type value, component channel) {
    if constexpr (shape.is_depth) return value;
    else return value.e[int(channel)];
  }
  template <class P, class F>
  vec<T, 4> change(P at, uint layer, F f) const {
    vec<T, 4> old = texel(whole(at), layer, 0, 0), value;
    for (int i = 0; i < 4; i++) value.e[i] = f(old.e[i], i);
    if (has(whole(at), layer, 0))
      for (int i = 0; i < 4; i++) word(whole(at), layer, 0, 0)[i] = raw(value, i);
    return old;
  }

  // The face of a cube that a direction meets, and where.
  static float2 face_of(float3 d, uint &face) {
    const float3 m = fabs(d);
    if (m.x >= m.y && m.x >= m.z) {
      face = d.x < 0.0f ? 1 : 0;
      return (float2(d.x < 0.0f ? d.z : -d.z, -d.y) / m.x + 1.0f) * 0.5f;
    }
    if (m.y >= m.z) {
      face = d.y < 0.0f ? 3 : 2;
      return (float2(d.x, d.y < 0.0f ? -d.z : d.z) / m.y + 1.0f) * 0.5f;
    }
    face = d.z < 0.0f ? 5 : 4;
    return (float2(d.z < 0.0f ? -d.x : d.x, -d.y) / m.z + 1.0f) * 0.5f;
  }
  uint layer_of(position at, const request &r) const {
    if constexpr (shape.is_cube) {
      uint face;
      face_of(at, face);
      return r.layer * 6 + face;
    }
    return shape.is_array ? min(r.layer, image->layers - 1) : 0;
  }
  // The position in texels.
  float3 texels_of(sampler s, position at, const request &r, uint lod) const {
    float3 p = 0.0f;
    if constexpr (shape.is_cube) {
      uint face;
      p = float3(face_of(at, face), 0.0f);
    } else if constexpr (dimensions == 1) {
      p.x = at;
    } else if constexpr (dimensions == 2) {
      p = float3(at, 0.0f);
    } else {
      p = at;
    }
    if (s.get(15, 1) == 0) p = p * float3(float(get_width(lod)), float(get_height(lod)), float(get_depth(lod)));
    return p + float3(r.offset);
  }
  // Applies an address mode. Returns whether there is a texel.
  static bool apply(uint mode, int &at, int size) {
    if (mode == 1) at = at < 0 ? 0 : at >= size ? size - 1 : at;
    else if (mode == 2) at = ((at % size) + size) % size;
    else if (mode == 3) {
      at = ((at % (2 * size)) + 2 * size) % (2 * size);
      if (at >= size) at = 2 * size - 1 - at;
    }
    return at >= 0 && at < size;
  }
  value_type addressed(sampler s, int3 at, uint layer, uint lod) const {
    bool is_there = apply(s.get(0, 3), at.x, int(get_width(lod)));
    if (dimensions > 1) is_there &= apply(s.get(3, 3), at.y, int(get_height(lod)));
    if (dimensions > 2) is_there &= apply(s.get(6, 3), at.z, int(get_depth(lod)));
    return is_there ? texel(uint3(at), layer, 0, lod) : value_type(T(0));
  }
  value_type sampled(sampler s, position at, const request &r) const {
    const uint layer = layer_of(at, r);
    const int last = int(image->levels) - 1;
    int lod = s.get(13, 2) == 0 ? 0 : int(__builtin_floorf(r.level + 0.5f));
    lod = lod < 0 ? 0 : lod > last ? last : lod;
    float3 p = texels_of(s, at, r, uint(lod));
    const bool is_linear = s.get(r.level > 0.0f ? 11 : 9, 2) != 0 && is_floating_point_v<T>;
    if (!is_linear) return addressed(s, int3(floor(p)), layer, uint(lod));
    p = p - float3(0.5f);
    const int3 low = int3(floor(p));
    const float3 part = p - floor(p);
    vec<float, 4> sum = 0.0f;
    for (int corner = 0; corner < (1 << dimensions); corner++) {
      const int3 step = int3(corner & 1, corner >> 1 & 1, corner >> 2 & 1);
      float weight = 1.0f;
      for (int i = 0; i < dimensions; i++) weight *= step.e[i] ? part.e[i] : 1.0f - part.e[i];
      sum += vec<float, 4>(addressed(s, low + step, layer, uint(lod))) * weight;
    }
    if constexpr (shape.is_depth) return T(sum.x);
    else return value_type(sum);
  }
  static bool compares(sampler s, float reference, float depth) {
    switch (s.get(16, 4)) {
      case 1: return reference < depth;
      case 2: return reference <= depth;
      case 3: return reference > depth;
      case 4: return reference >= depth;
      case 5: return reference == depth;
      case 6: return reference != depth;
      case 7: return true;
      default: return false;
    }
  }
};

#define HOST_TEXTURE(name, first, coordinates, is_array, is_cube, is_multisampled, is_depth)               \
  template <class T, access = access::first>                                                               \
  struct name : host_texture<T, host_shape{coordinates, is_array, is_cube, is_multisampled, is_depth}> {   \
    using host_texture<T, host_shape{coordinates, is_array, is_cube, is_multisampled, is_depth}>::host_texture; \
  };
HOST_TEXTURE(texture1d, sample, 1, false, false, false, false)
HOST_TEXTURE(texture1d_array, sample, 1, true, false, false, false)
HOST_TEXTURE(texture2d, sample, 2, false, false, false, false)
HOST_TEXTURE(texture2d_array, sample, 2, true, false, false, false)
HOST_TEXTURE(texture2d_ms, read, 2, false, false, true, false)
HOST_TEXTURE(texture2d_ms_array, read, 2, true, false, true, false)
HOST_TEXTURE(texture3d, sample, 3, false, false, false, false)
HOST_TEXTURE(texturecube, sample, 3, false, true, false, false)
HOST_TEXTURE(texturecube_array, sample, 3, true, true, false, false)
HOST_TEXTURE(texture_buffer, read, 1, false, false, false, false)
HOST_TEXTURE(depth2d, sample, 2, false, false, false, true)
HOST_TEXTURE(depth2d_array, sample, 2, true, false, false, true)
HOST_TEXTURE(depth2d_ms, read, 2, false, false, true, true)
HOST_TEXTURE(depth2d_ms_array, read, 2, true, false, true, true)
HOST_TEXTURE(depthcube, sample, 3, false, true, false, true)
HOST_TEXTURE(depthcube_array, sample, 3, true, true, false, true)
#undef HOST_TEXTURE
}  // namespace metal
