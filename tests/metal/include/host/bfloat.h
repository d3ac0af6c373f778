// `bfloat`: the upper half of a float.
//
// A class, since clang's __bf16 does not convert to and from half. Every operation is one of floats that is rounded to
// the nearest, ties to even, which is how clang lowers operations of LLVM's bfloat on the host.
#pragma once

struct bfloat {
  unsigned short bits;

  bfloat() = default;
  constexpr bfloat(float value) : bits(rounded(value)) {}

  constexpr operator float() const { return __builtin_bit_cast(float, unsigned(bits) << 16); }

  constexpr bfloat operator-() const { return from_bits(static_cast<unsigned short>(bits ^ 0x8000)); }
  constexpr bfloat operator+() const { return *this; }
  constexpr bfloat &operator++() { return *this = bfloat(float(*this) + 1.0f); }
  constexpr bfloat &operator--() { return *this = bfloat(float(*this) - 1.0f); }
  constexpr bfloat operator++(int) {
    bfloat old = *this;
    ++*this;
    return old;
  }
  constexpr bfloat operator--(int) {
    bfloat old = *this;
    --*this;
    return old;
  }

  static constexpr bfloat from_bits(unsigned short bits) {
    bfloat result(0.0f);
    result.bits = bits;
    return result;
  }

 private:
  static constexpr unsigned short rounded(float value) {
    unsigned word = __builtin_bit_cast(unsigned, value);
    if (value != value) return static_cast<unsigned short>((word >> 16) | 0x40);
    return static_cast<unsigned short>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
};

// Operators: of two, and of one and an integer, the result is one; with a wider float it is a float.
#define HOST_BFLOAT_OPERATOR(op)                                                                       \
  constexpr bfloat operator op(bfloat a, bfloat b) { return bfloat(float(a) op float(b)); }            \
  constexpr float operator op(bfloat a, float b) { return float(a) op b; }                             \
  constexpr float operator op(float a, bfloat b) { return a op float(b); }                             \
  constexpr float operator op(bfloat a, half b) { return float(a) op float(b); }                       \
  constexpr float operator op(half a, bfloat b) { return float(a) op float(b); }                       \
  template <class T>                                                                                   \
    requires(__is_integral(T))                                                                         \
  constexpr bfloat operator op(bfloat a, T b) {                                                        \
    return bfloat(float(a) op float(bfloat(float(b))));                                                \
  }                                                                                                    \
  template <class T>                                                                                   \
    requires(__is_integral(T))                                                                         \
  constexpr bfloat operator op(T a, bfloat b) {                                                        \
    return bfloat(float(bfloat(float(a))) op float(b));                                                \
  }                                                                                                    \
  template <class T>                                                                                   \
  constexpr bfloat &operator op##=(bfloat &a, T b) {                                                   \
    return a = bfloat(float(a op b));                                                                  \
  }
HOST_BFLOAT_OPERATOR(+)
HOST_BFLOAT_OPERATOR(-)
HOST_BFLOAT_OPERATOR(*)
HOST_BFLOAT_OPERATOR(/)
#undef HOST_BFLOAT_OPERATOR

#define HOST_BFLOAT_COMPARISON(op)                                                            \
  constexpr bool operator op(bfloat a, bfloat b) { return float(a) op float(b); }             \
  constexpr bool operator op(bfloat a, float b) { return float(a) op b; }                     \
  constexpr bool operator op(float a, bfloat b) { return a op float(b); }                     \
  template <class T>                                                                          \
    requires(__is_integral(T))                                                                \
  constexpr bool operator op(bfloat a, T b) {                                                 \
    return float(a) op float(b);                                                              \
  }                                                                                           \
  template <class T>                                                                          \
    requires(__is_integral(T))                                                                \
  constexpr bool operator op(T a, bfloat b) {                                                 \
    return float(a) op float(b);                                                              \
  }
HOST_BFLOAT_COMPARISON(==)
HOST_BFLOAT_COMPARISON(!=)
HOST_BFLOAT_COMPARISON(<)
HOST_BFLOAT_COMPARISON(>)
HOST_BFLOAT_COMPARISON(<=)
HOST_BFLOAT_COMPARISON(>=)
#undef HOST_BFLOAT_COMPARISON
