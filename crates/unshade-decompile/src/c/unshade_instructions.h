// Instructions that have no name in C++ or CUDA. The decompiler writes these functions into CUDA C.
//
// It follows unshade_host.h, in the same file where it is printed.
#ifndef UNSHADE_INSTRUCTIONS_H
#define UNSHADE_INSTRUCTIONS_H

namespace unshade {

template <class T> inline T shift_left(T x, unsigned int n) { return n < sizeof(T) * 8 ? x << n : 0; }
template <class T> inline T shift_right(T x, unsigned int n) { return n < sizeof(T) * 8 ? x >> n : 0; }
template <class T> inline T shift_right_signed(T x, unsigned int n)
{
    return x >> (n < sizeof(T) * 8 ? n : sizeof(T) * 8 - 1);
}
inline bool signed_carry(long long a, long long b) { return (int)(a + b) != a + b; }
inline bool signed_borrow(long long a, long long b) { return (int)(a - b) != a - b; }
inline float flush_to_zero(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x; }
inline float half_to_float(unsigned int h)
{
    unsigned int rest = h & 0x7fff, normal = rest < 0x7c00 ? (rest << 13) + 0x38000000 : 0x7f800000;
    float size = rest < 0x400 ? (float)rest * 5.9604644775390625e-08f : float_of_bits(normal);
    return rest > 0x7c00 ? float_of_bits(0x7fffffff) : (h & 0x8000) != 0 ? -size : size;
}
inline unsigned int float_to_half(float x, int rounding)
{
    unsigned int bits = int_bits(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return 0x7fff;
    bool away = rounding == 1 ? sign != 0 : rounding == 2 && sign == 0;
    if (rest >= 0x47800000)
        return rest == 0x7f800000 || rounding == 0 || away ? sign | 0x7c00 : sign | 0x7bff;
    unsigned int shift = rest >= 0x38800000 ? 13 : 126 - (rest >> 23);
    unsigned int value = rest >= 0x38800000 ? rest - 0x38000000 : rest & 0x7fffff | 0x800000;
    if (shift > 31)
        return sign | (away && rest != 0 ? 1 : 0);
    unsigned int whole = value >> shift, part = value & (1u << shift) - 1, half = 1u << (shift - 1);
    bool up = rounding == 0 ? part > half || part == half && (whole & 1) != 0 : away && part != 0;
    return sign | (whole + up);
}
inline unsigned int double_to_half(double x, int rounding)
{
    float f = (float)(fabs(x) < 1e6 || !(fabs(x) < 1e300 * 1e10) ? x : copysign(1e6, x));
    unsigned int bits = int_bits(f);
    if ((double)f != x && (bits & 0x7f800000) != 0x7f800000)
        f = float_of_bits(fabs((double)f) > fabs(x) ? bits - 1 | 1 : bits | 1);
    unsigned int sign = int_bits(f) >> 16 & 0x8000, rest = int_bits(f) & 0x7fffffff;
    if (rest > 0x7f800000)
        return 0x7fff;
    bool away = rounding == 1 ? sign != 0 : rounding == 2 && sign == 0;
    if (rest >= 0x47800000)
        return rest == 0x7f800000 || rounding == 0 || away ? sign | 0x7c00 : sign | 0x7bff;
    unsigned int shift = rest >= 0x38800000 ? 13 : 126 - (rest >> 23);
    unsigned int value = rest >= 0x38800000 ? rest - 0x38000000 : rest & 0x7fffff | 0x800000;
    if (shift > 31)
        return sign | (away && rest != 0 ? 1 : 0);
    unsigned int whole = value >> shift, part = value & (1u << shift) - 1, half = 1u << (shift - 1);
    bool up = rounding == 0 ? part > half || part == half && (whole & 1) != 0 : away && part != 0;
    return sign | (whole + up);
}
inline float fmul_zero_wins(float a, float b, int rounding, int scale)
{
    const float scales[8] = {1.0f, 0.5f, 0.25f, 0.125f, 8.0f, 4.0f, 2.0f, 1.0f};
    double x = (double)a * b * scales[scale & 7];
    if (a == 0.0f || b == 0.0f)
        return 0.0f;
    return rounding == 0 ? (float)x : rounding == 1 ? to_float_rd(x) : rounding == 2 ? to_float_ru(x) : to_float_rz(x);
}
inline float fma_zero_wins(float a, float b, float c, int rounding)
{
    if (a == 0.0f || b == 0.0f)
        a = b = 0.0f;
    return rounding == 0 ? fmaf(a, b, c) : rounding == 1 ? fma_rd(a, b, c) : rounding == 2 ? fma_ru(a, b, c) : fma_rz(a, b, c);
}
inline float fmul_scaled(float a, float b, int rounding, int scale)
{
    const float scales[8] = {1.0f, 0.5f, 0.25f, 0.125f, 8.0f, 4.0f, 2.0f, 1.0f};
    double x = (double)a * b * scales[scale & 7];
    return rounding == 0 ? (float)x : rounding == 1 ? to_float_rd(x) : rounding == 2 ? to_float_ru(x) : to_float_rz(x);
}
inline long long or_if_nan(long long x, double of, long long instead) { return of != of ? instead : x; }
inline bool fdivide_is_hard(float a, float b)
{
    int x = (int)(int_bits(a) >> 23 & 255), y = (int)(int_bits(b) >> 23 & 255), q = x - y + 127;
    return x <= 24 || x > 254 || y == 0 || y >= 252 || q <= 24 || q >= 253;
}
inline bool ddivide_is_hard(double a, double b)
{
    int x = (int)(long_bits(a) >> 52 & 2047), y = (int)(long_bits(b) >> 52 & 2047), q = x - y + 1023;
    return x <= 53 || x > 2046 || y == 0 || y >= 2044 || q <= 53 || q >= 2045;
}
inline unsigned int reciprocal64_high(unsigned int high)
{
    return (unsigned int)(long_bits(1.0 / double_of_bits((long long)high << 32)) >> 32);
}
inline unsigned int reciprocal_sqrt64_high(unsigned int high)
{
    return (unsigned int)(long_bits(1.0 / sqrt(double_of_bits((long long)high << 32))) >> 32);
}
inline long long clamp_integer(long long x, bool has_sign, int type)
{
    int bits = 8 << (type & 3);
    long long low = type < 4 ? 0 : -(1ll << (bits - 1)), high = type < 4 ? bits < 64 ? (1ll << bits) - 1 : -1 : (long long)((1ull << (bits - 1)) - 1);
    if (!has_sign && x < 0)
        return type == 3 ? x : high;
    return x < low ? low : high >= 0 && x > high ? high : x;
}
inline unsigned int select_bytes(unsigned int a, unsigned int b, unsigned int selector, int mode)
{
    const unsigned int tables[7][4] = {{0, 0, 0, 0}, {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
    if (mode != 0)
        selector = mode < 7 ? tables[mode][selector & 3] : selector & 0x7777;
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned int result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned int nibble = selector >> i * 4, byte = (unsigned int)(both >> (nibble & 7) * 8) & 255;
        result |= (nibble & 8 ? byte & 128 ? 255u : 0u : byte) << i * 8;
    }
    return result;
}
inline unsigned int surface_clamp(unsigned int x, unsigned int descriptor, unsigned int added, int has_sign, int geometry, int two_dimensions)
{
    long long at = (has_sign ? (long long)(int)x : (long long)x) + (int)added;
    bool lines = geometry < 5 ? descriptor >> 21 & 1 : geometry < 10, plain = lines && !two_dimensions;
    unsigned int bound = (plain ? descriptor : descriptor & 0xfffff) & ~((1u << geometry % 5) - 1);
    bool outside = at < 0 || at > bound;
    unsigned int inside = at < 0 ? 0 : at > bound ? bound : (unsigned int)at, size = descriptor >> 26 & 7;
    if (plain)
        return inside;
    unsigned int packed = lines ? inside & 0xfffff | size << 27 | 1u << 30 : inside >> (descriptor >> 22 & 15) & 0xffff | (inside << size & 255) << 16 | (descriptor >> 29) << 27;
    return packed | (unsigned int)outside << 31;
}
inline bool surface_clamp_outside(unsigned int x, unsigned int descriptor, unsigned int added, int has_sign, int geometry, int two_dimensions)
{
    long long at = (has_sign ? (long long)(int)x : (long long)x) + (int)added;
    bool lines = geometry < 5 ? descriptor >> 21 & 1 : geometry < 10, plain = lines && !two_dimensions;
    unsigned int bound = (plain ? descriptor : descriptor & 0xfffff) & ~((1u << geometry % 5) - 1);
    return at < 0 || at > bound;
}
inline unsigned int surface_bitfield(unsigned int x, unsigned int y, unsigned int z, int three_dimensions)
{
    if ((x | y) >> 30 & 1) {
        unsigned int size = x >> 27 & 7;
        return (z & 255) << size & 255 | size << 12 | 1 << 11;
    }
    unsigned int inside = x >> 16 & 15 | (y >> 16 & 3) << 4 | (x >> 20 & 1) << 6 | (y >> 18 & 1) << 7 | (x >> 21 & 1) << 8;
    unsigned int in_x = x >> 27 & 1, in_y = y >> 27 & 7, in_z = three_dimensions ? z >> 27 & 7 : 0;
    unsigned int tile_x = x >> 22 & 3 & ((1u << in_x) - 1), tile_y = y >> 19 & 31 & ((1u << (in_y < 5 ? in_y : 5)) - 1), tile_z = z >> 16 & 255 & ((1u << (in_z < 5 ? in_z : 5)) - 1);
    unsigned int tile = ((tile_z << in_y | tile_y) << in_x | tile_x) & (in_x ? 0x7ff : 0x3ff);
    return inside | (in_x + in_y + in_z & 15) << 12 | tile << 16;
}
inline bool surface_bitfield_outside(unsigned int x, unsigned int y, unsigned int z, int three_dimensions)
{
    return (x | y | (three_dimensions ? z : 0)) >> 31;
}
inline unsigned int surface_address(unsigned int block, unsigned int merged, unsigned int base)
{
    unsigned int shift = merged >> 12 & 15;
    if (merged >> 11 & 1)
        return base + ((shift < 8 ? block >> (8 - shift) : block << (shift - 8)) & 0xffffff);
    return base + ((block << (shift + 1) | (merged >> 16 & 0x7ff) << 1 | merged >> 8 & 1) & 0x7ffffff);
}
inline unsigned int mad_descriptor(unsigned int a, unsigned int b, unsigned int c)
{
    unsigned int x = b >> 30 == 0 ? a : b >> 30 == 1 ? a & 0xffffff : b >> 30 == 2 ? a & 0xffff : a >> 16;
    unsigned int z = (b >> 26 & 3) == 1 ? c & 0xffffff : (b >> 26 & 3) == 2 ? c & 0xffff : c;
    return x * (b >> 28 & 1 ? b & 0xffffff : b & 0xffff) + z;
}
inline long long video_part(unsigned int x, int type)
{
    int part = type & 7;
    unsigned int value = part < 4 ? x >> part * 8 & 255 : part == 4 ? x & 65535 : part == 5 ? x >> 16 : x;
    if (!(type & 8))
        return value;
    return part < 4 ? (long long)(signed char)value : part < 6 ? (long long)(short)value : (long long)(int)value;
}
inline long long video_clamp(long long x, bool has_sign)
{
    long long low = has_sign ? -2147483648ll : 0, high = has_sign ? 2147483647ll : 4294967295ll;
    return x < low ? low : x > high ? high : x;
}
inline unsigned int video_simd(int code, int types, int variant, unsigned int a, unsigned int b, unsigned int c, int first, int second, int negate_a, int negate_b, int mask, int combined, int sum, int has_sign, int clamp)
{
    const unsigned short first_bytes[14] = {0x0000, 0x1111, 0x2222, 0x3333, 0x3210, 0x4321, 0x5432, 0x6543, 0x3201, 0x3012, 0x0213, 0x3120, 0x1230, 0x2310};
    const unsigned short second_bytes[11] = {0x4444, 0x5555, 0x6666, 0x7777, 0x7654, 0x6543, 0x5432, 0x4321, 0x4567, 0x6745, 0x5476};
    int width = code & 8 ? 8 : 16, lanes = 32 / width, op = code & 7;
    unsigned int limit = (1u << width) - 1, third = op == 5 ? 0 : c, word = 0;
    long long total = 0;
    for (int lane = 0; lane < lanes; lane++) {
        long long part[2], old = third >> lane * width & limit;
        for (int i = 0; i < 2; i++) {
            int select = (i ? second : first) & 255, other = (i ? first : second) & 255;
            int from = i && select == 255 ? lanes + lane : width == 8 ? (i ? second_bytes[select < 11 ? select : 4] : first_bytes[select < 14 ? select : 4]) >> lane * 4 & 15 : !i && other == 255 ? select >> lane & 1 : select >> lane * 2 & 3;
            part[i] = (from >= lanes ? b : a) >> (from & (lanes - 1)) * width & limit;
            if (types >> i & 1 && part[i] >> (width - 1))
                part[i] -= (long long)limit + 1;
            if (i ? negate_b : negate_a)
                part[i] = -part[i];
        }
        if (has_sign && old >> (width - 1))
            old -= (long long)limit + 1;
        long long x = part[0], y = part[1], value = old;
        int distance = variant ? (int)(y & (width - 1)) : y < 0 ? 0 : y > width ? width : (int)y;
        if (mask >> lane & 1) {
            switch (op) {
            case 0: value = x + y; break;
            case 1: value = (x + y + (x + y >= 0)) >> 1; break;
            case 2: value = x < y ? y - x : x - y; break;
            case 3: value = (x < y) == !variant ? x : y; break;
            case 4: value = variant >> 0 & 1 && x < y || variant >> 1 & 1 && x == y || variant >> 2 & 1 && x > y; break;
            case 5: value = c & 1 ? x : y; break;
            case 6: value = x >> distance; break;
            default: value = (long long)((unsigned long long)x << distance);
            }
            long long low = has_sign ? -(long long)(limit >> 1) - 1 : 0, high = has_sign ? limit >> 1 : limit;
            if (clamp)
                value = value < low ? low : value > high ? high : value;
            total += value;
            if (combined == 1 && old < value || combined == 2 && old > value)
                value = old;
        }
        word |= ((unsigned int)value & limit) << lane * width;
    }
    if (combined == 4 || sum == 1)
        return third + (unsigned int)total;
    if (combined == 5 || combined == 6) {
        bool is_less = has_sign ? (int)word < (int)third : word < third;
        return is_less == (combined == 5) ? word : third;
    }
    return word;
}

} // namespace unshade

#endif
