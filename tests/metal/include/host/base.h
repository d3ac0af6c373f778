// Scalars, qualifiers, constants and traits of Metal, for clang on the host.
//
// Qualifiers are macros. A program on the host has one address space, so `device`, `thread` and `threadgroup` vanish and
// `constant` is `const`; what depends on them is done before the text is compiled (xtask/src/conformance/metal/native/lower.rs):
// variables of threadgroups become static, overloads that differ in the address space only are left out, and attributes
// that start with a qualifier's name go. Everything else compiles as it is. Attributes of Metal are unknown to clang,
// which ignores them.
//
// Source: the Metal Shading Language specification, sections 2 (types), 4 (address spaces) and 6 (the library).
#pragma once

#pragma clang diagnostic ignored "-Wuser-defined-literals"
#pragma clang diagnostic ignored "-Wunknown-attributes"
#pragma clang diagnostic ignored "-Wreserved-user-defined-literal"

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
using size_t = unsigned long;
using ptrdiff_t = long;
using uintptr_t = unsigned long;
using intptr_t = long;
using half = _Float16;

#include "bfloat.h"
#include "macros.h"
#include "qualifiers.h"

constexpr half operator""h(long double value) { return half(value); }
constexpr half operator""h(unsigned long long value) { return half(value); }
constexpr half operator""H(long double value) { return half(value); }
constexpr bfloat operator""bf(long double value) { return bfloat(float(value)); }
constexpr bfloat operator""BF(long double value) { return bfloat(float(value)); }

namespace metal {
using ::bfloat;
using ::half;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::ulong;
using ::ushort;

// Traits.

template <class T, T Value>
struct integral_constant {
  static constexpr T value = Value;
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const { return Value; }
  constexpr T operator()() const { return Value; }
};
template <bool Value>
using bool_constant = integral_constant<bool, Value>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool Condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool Condition, class T = void>
using enable_if_t = typename enable_if<Condition, T>::type;

template <bool Condition, class Then, class Else>
struct conditional {
  using type = Then;
};
template <class Then, class Else>
struct conditional<false, Then, Else> {
  using type = Else;
};
template <bool Condition, class Then, class Else>
using conditional_t = typename conditional<Condition, Then, Else>::type;

template <class T>
struct type_identity {
  using type = T;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;

template <class T>
using remove_cv_t = __remove_cv(T);
template <class T>
using remove_const_t = __remove_const(T);
template <class T>
using remove_volatile_t = __remove_volatile(T);
template <class T>
using remove_reference_t = __remove_reference_t(T);
template <class T>
using remove_pointer_t = __remove_pointer(T);
template <class T>
using remove_extent_t = __remove_extent(T);
template <class T>
using decay_t = __decay(T);
template <class T>
using remove_addrspace_t = T;
template <class T>
using make_signed_t = __make_signed(T);
template <class T>
using make_unsigned_t = __make_unsigned(T);
template <class T>
using underlying_type_t = __underlying_type(T);

#define HOST_TYPE_TRAIT(name) \
  template <class T>          \
  struct name : type_identity<name##_t<T>> {};
HOST_TYPE_TRAIT(remove_cv)
HOST_TYPE_TRAIT(remove_const)
HOST_TYPE_TRAIT(remove_volatile)
HOST_TYPE_TRAIT(remove_reference)
HOST_TYPE_TRAIT(remove_pointer)
HOST_TYPE_TRAIT(remove_extent)
HOST_TYPE_TRAIT(decay)
HOST_TYPE_TRAIT(remove_addrspace)
HOST_TYPE_TRAIT(make_signed)
HOST_TYPE_TRAIT(make_unsigned)
HOST_TYPE_TRAIT(underlying_type)
#undef HOST_TYPE_TRAIT


template <class A, class B>
constexpr bool is_same_v = __is_same(A, B);
template <class From, class To>
constexpr bool is_convertible_v = __is_convertible(From, To);
template <class Base, class Derived>
constexpr bool is_base_of_v = __is_base_of(Base, Derived);
template <class T, class... Args>
constexpr bool is_constructible_v = __is_constructible(T, Args...);
template <class T>
constexpr bool is_floating_point_v = __is_floating_point(T) || is_same_v<remove_cv_t<T>, bfloat>;
template <class T>
constexpr bool is_integral_v = __is_integral(T);
template <class T>
constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T>
constexpr bool is_scalar_v = __is_scalar(T) || is_floating_point_v<T>;
template <class T>
constexpr bool is_signed_v = is_floating_point_v<T> || (__is_integral(T) && !__is_unsigned(T));
template <class T>
constexpr bool is_unsigned_v = __is_unsigned(T);
template <class T>
constexpr bool is_void_v = __is_void(T);
template <class T>
constexpr bool is_enum_v = __is_enum(T);
template <class T>
constexpr bool is_class_v = __is_class(T);
template <class T>
constexpr bool is_array_v = __is_array(T);
template <class T>
constexpr bool is_pointer_v = __is_pointer(T);
template <class T>
constexpr bool is_reference_v = __is_reference(T);
template <class T>
constexpr bool is_const_v = __is_const(T);
template <class T>
constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);

#define HOST_BOOL_TRAIT(name) \
  template <class T>          \
  struct name : bool_constant<name##_v<T>> {};
HOST_BOOL_TRAIT(is_floating_point)
HOST_BOOL_TRAIT(is_integral)
HOST_BOOL_TRAIT(is_arithmetic)
HOST_BOOL_TRAIT(is_scalar)
HOST_BOOL_TRAIT(is_signed)
HOST_BOOL_TRAIT(is_unsigned)
HOST_BOOL_TRAIT(is_void)
HOST_BOOL_TRAIT(is_enum)
HOST_BOOL_TRAIT(is_class)
HOST_BOOL_TRAIT(is_array)
HOST_BOOL_TRAIT(is_pointer)
HOST_BOOL_TRAIT(is_reference)
HOST_BOOL_TRAIT(is_const)
HOST_BOOL_TRAIT(is_trivially_copyable)
#undef HOST_BOOL_TRAIT
template <class A, class B>
struct is_same : bool_constant<is_same_v<A, B>> {};
template <class From, class To>
struct is_convertible : bool_constant<is_convertible_v<From, To>> {};
template <class Base, class Derived>
struct is_base_of : bool_constant<is_base_of_v<Base, Derived>> {};
template <class T, class... Args>
struct is_constructible : bool_constant<is_constructible_v<T, Args...>> {};
template <class... Traits>
struct conjunction : bool_constant<(bool(Traits::value) && ...)> {};
template <class... Traits>
struct disjunction : bool_constant<(bool(Traits::value) || ...)> {};
template <class Trait>
struct negation : bool_constant<!bool(Trait::value)> {};
template <class... Traits>
constexpr bool conjunction_v = conjunction<Traits...>::value;
template <class... Traits>
constexpr bool disjunction_v = disjunction<Traits...>::value;
template <class Trait>
constexpr bool negation_v = negation<Trait>::value;
// Names that sources for Metal use for what the standard calls otherwise.
template <class... Traits>
using _disjunction = disjunction<Traits...>;
template <class... Traits>
using _conjunction = conjunction<Traits...>;

template <class T, T... Values>
struct integer_sequence {
  static constexpr size_t size() { return sizeof...(Values); }
};
template <size_t... Values>
using index_sequence = integer_sequence<size_t, Values...>;
template <class T, T Size>
using make_integer_sequence = __make_integer_seq<integer_sequence, T, Size>;
template <size_t Size>
using make_index_sequence = make_integer_sequence<size_t, Size>;

// Limits.

template <class T>
struct numeric_limits;

template <class T>
struct host_integer_limits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_integer = true;
  static constexpr bool is_exact = true;
  static constexpr bool is_signed = T(-1) < T(0);
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = false;
  static constexpr int digits = int(sizeof(T)) * 8 - int(is_signed);
  static constexpr int digits10 = digits * 30103 / 100000;
  static constexpr int radix = 2;
  static constexpr T max() { return T(ulong(-1) >> (64 - digits)); }
  static constexpr T min() { return is_signed ? T(-max() - 1) : T(0); }
  static constexpr T lowest() { return min(); }
};
template <>
struct numeric_limits<bool> : host_integer_limits<bool> {
  static constexpr int digits = 1;
  static constexpr bool max() { return true; }
  static constexpr bool min() { return false; }
  static constexpr bool lowest() { return false; }
};
#define HOST_LIMITS(type) \
  template <>             \
  struct numeric_limits<type> : host_integer_limits<type> {};
HOST_LIMITS(char)
HOST_LIMITS(signed char)
HOST_LIMITS(uchar)
HOST_LIMITS(short)
HOST_LIMITS(ushort)
HOST_LIMITS(int)
HOST_LIMITS(uint)
HOST_LIMITS(long)
HOST_LIMITS(ulong)
HOST_LIMITS(long long)
HOST_LIMITS(unsigned long long)
#undef HOST_LIMITS

#define HOST_FLOAT_LIMITS(type, bits, exponent, least, largest, step)                 \
  template <>                                                                         \
  struct numeric_limits<type> {                                                       \
    static constexpr bool is_specialized = true;                                      \
    static constexpr bool is_integer = false;                                         \
    static constexpr bool is_exact = false;                                           \
    static constexpr bool is_signed = true;                                           \
    static constexpr bool has_infinity = true;                                        \
    static constexpr bool has_quiet_NaN = true;                                       \
    static constexpr int digits = bits;                                               \
    static constexpr int max_exponent = exponent;                                     \
    static constexpr int min_exponent = 3 - exponent;                                 \
    static constexpr int radix = 2;                                                   \
    static constexpr type max() { return type(largest); }                             \
    static constexpr type min() { return type(least); }                               \
    static constexpr type lowest() { return type(-largest); }                         \
    static constexpr type epsilon() { return type(step); }                            \
    static constexpr type infinity() { return type(__builtin_inff()); }               \
    static constexpr type quiet_NaN() { return type(__builtin_nanf("")); }            \
    static constexpr type signaling_NaN() { return type(__builtin_nansf("")); }       \
  };
HOST_FLOAT_LIMITS(float, 24, 128, 0x1p-126f, 0x1.fffffep127f, 0x1p-23f)
HOST_FLOAT_LIMITS(half, 11, 16, 0x1p-14f, 65504.0f, 0x1p-10f)
HOST_FLOAT_LIMITS(bfloat, 8, 128, 0x1p-126f, 0x1.fep127f, 0x1p-7f)
#undef HOST_FLOAT_LIMITS
}  // namespace metal

template <class To, class From>
constexpr To as_type(From value) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  return __builtin_bit_cast(To, value);
}

// A function constant has a value that its index decides: a power of two, since kernels take many for sizes, and
// smaller than the last one, since they divide. The module's side uses the same values.
struct host_function_constant {
  int index;
  template <class T>
  constexpr operator T() const {
    if constexpr (__is_same(T, bool)) return index % 2 == 0;
    else if constexpr (metal::is_floating_point_v<T>) return T(0.5f);
    else return T(8 >> index % 3);
  }
};
#define is_function_constant_defined(name) true
