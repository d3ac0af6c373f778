// CUDA's names for a host compiler, as names of unshade_host.h, which runs the threads and has the functions.
//
// A source of kernels is included behind this header. A kernel is an ordinary function; the thread that executes it is the
// one that runs.
//
// Products and sums are contracted as the host compiler sees fit: with `-ffp-contract=fast` and an FMA unit that is what
// CUDA's compiler does by default. `__fmul_rn`, `__fadd_rn` and the like are never contracted.
#pragma once
#include "unshade_host.h"
#include <cstdarg>
#include <list>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <sys/mman.h>

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
// One block runs at a time, on one thread. `extern thread_local` declares dynamic shared memory, as in CUDA.
#define __shared__ thread_local
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define CUDA_HOST_ASM(...)
#define __CUDA_ARCH__ 350
#define __CUDACC_VER_MAJOR__ 11

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;

// Vectors.
using unshade::char1; using unshade::char2; using unshade::char3; using unshade::char4;
using unshade::make_char1; using unshade::make_char2; using unshade::make_char3; using unshade::make_char4;
using unshade::uchar1; using unshade::uchar2; using unshade::uchar3; using unshade::uchar4;
using unshade::make_uchar1; using unshade::make_uchar2; using unshade::make_uchar3; using unshade::make_uchar4;
using unshade::short1; using unshade::short2; using unshade::short3; using unshade::short4;
using unshade::make_short1; using unshade::make_short2; using unshade::make_short3; using unshade::make_short4;
using unshade::ushort1; using unshade::ushort2; using unshade::ushort3; using unshade::ushort4;
using unshade::make_ushort1; using unshade::make_ushort2; using unshade::make_ushort3; using unshade::make_ushort4;
using unshade::int1; using unshade::int2; using unshade::int3; using unshade::int4;
using unshade::make_int1; using unshade::make_int2; using unshade::make_int3; using unshade::make_int4;
using unshade::uint1; using unshade::uint2; using unshade::uint3; using unshade::uint4;
using unshade::make_uint1; using unshade::make_uint2; using unshade::make_uint3; using unshade::make_uint4;
using unshade::float1; using unshade::float2; using unshade::float3; using unshade::float4;
using unshade::make_float1; using unshade::make_float2; using unshade::make_float3; using unshade::make_float4;
using unshade::double1; using unshade::double2; using unshade::double3; using unshade::double4;
using unshade::make_double1; using unshade::make_double2; using unshade::make_double3; using unshade::make_double4;
using unshade::longlong1; using unshade::longlong2; using unshade::longlong3; using unshade::longlong4;
using unshade::make_longlong1; using unshade::make_longlong2; using unshade::make_longlong3; using unshade::make_longlong4;
using unshade::ulonglong1; using unshade::ulonglong2; using unshade::ulonglong3; using unshade::ulonglong4;
using unshade::make_ulonglong1; using unshade::make_ulonglong2; using unshade::make_ulonglong3; using unshade::make_ulonglong4;

// Dynamic shared memory, as `unshade decompile` names it.
static constexpr unsigned MOST_SHARED = 48 << 10;
__align__(16) thread_local unsigned char dynamic_shared[MOST_SHARED];

using std::isnan;
using std::isinf;
using std::isfinite;
using std::signbit;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Threads.
#define CUDA_HOST_THREAD (*unshade::Block::running())
#define threadIdx (CUDA_HOST_THREAD.index)
#define blockIdx (CUDA_HOST_THREAD.block)
#define blockDim (CUDA_HOST_THREAD.block_size)
#define gridDim (CUDA_HOST_THREAD.grid_size)
static const int warpSize = 32;

static inline void __syncthreads() { CUDA_HOST_THREAD.barrier(); }
static inline int __syncthreads_count(int p) { return CUDA_HOST_THREAD.barrier_count(p); }
static inline int __syncthreads_and(int p) { return CUDA_HOST_THREAD.barrier_and(p); }
static inline int __syncthreads_or(int p) { return CUDA_HOST_THREAD.barrier_or(p); }
static inline void __syncwarp(unsigned mask = ~0u) { CUDA_HOST_THREAD.meet_warp(mask); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline long long clock64() { return 0; }
static inline int clock_cuda() { return 0; }
#define clock clock_cuda
static inline void __trap() { abort(); }

// Shuffles and votes. `CUDA_HOST_LINE` is that of the call.
#define CUDA_HOST_LINE unsigned line = __builtin_LINE()
template <class T> static T __shfl(T v, int from, int w = 32, CUDA_HOST_LINE) {
    return CUDA_HOST_THREAD.shuffle(v, from, w, line);
}
template <class T> static T __shfl_up(T v, unsigned n, int w = 32, CUDA_HOST_LINE) {
    return CUDA_HOST_THREAD.shuffle_up(v, n, w, line);
}
template <class T> static T __shfl_down(T v, unsigned n, int w = 32, CUDA_HOST_LINE) {
    return CUDA_HOST_THREAD.shuffle_down(v, n, w, line);
}
template <class T> static T __shfl_xor(T v, int n, int w = 32, CUDA_HOST_LINE) {
    return CUDA_HOST_THREAD.shuffle_xor(v, n, w, line);
}
template <class T> static T __shfl_sync(unsigned, T v, int from, int w = 32, CUDA_HOST_LINE) {
    return __shfl(v, from, w, line);
}
template <class T> static T __shfl_up_sync(unsigned, T v, unsigned n, int w = 32, CUDA_HOST_LINE) {
    return __shfl_up(v, n, w, line);
}
template <class T> static T __shfl_down_sync(unsigned, T v, unsigned n, int w = 32, CUDA_HOST_LINE) {
    return __shfl_down(v, n, w, line);
}
template <class T> static T __shfl_xor_sync(unsigned, T v, int n, int w = 32, CUDA_HOST_LINE) {
    return __shfl_xor(v, n, w, line);
}
static inline unsigned __ballot_sync(unsigned mask, int p, CUDA_HOST_LINE) {
    return CUDA_HOST_THREAD.gather(p, mask, line);
}
static inline int __any_sync(unsigned mask, int p, CUDA_HOST_LINE) { return __ballot_sync(mask, p, line) != 0; }
static inline int __all_sync(unsigned mask, int p, CUDA_HOST_LINE) { return __ballot_sync(mask, !p, line) == 0; }
static inline unsigned __ballot(int p, CUDA_HOST_LINE) { return __ballot_sync(~0u, p, line); }
static inline int __any(int p, CUDA_HOST_LINE) { return __any_sync(~0u, p, line); }
static inline int __all(int p, CUDA_HOST_LINE) { return __all_sync(~0u, p, line); }
static inline unsigned __activemask() { return CUDA_HOST_THREAD.live_lanes(); }

// Functions.
#define __float_as_int ::unshade::int_bits
#define __float_as_uint ::unshade::uint_bits
#define __int_as_float ::unshade::float_of_bits
#define __double_as_longlong ::unshade::long_bits
#define __longlong_as_double ::unshade::double_of_bits
#define __double2hiint ::unshade::high_word
#define __double2loint ::unshade::low_word
#define __hiloint2double ::unshade::double_of_words
#define __popc ::unshade::count_ones
#define __popcll ::unshade::count_ones_long
#define __clz ::unshade::leading_zeros
#define __clzll ::unshade::leading_zeros_long
#define __brev ::unshade::reverse_bits
#define __mulhi ::unshade::multiply_high_signed
#define __umulhi ::unshade::multiply_high
#define __umul64hi ::unshade::multiply_high_long
#define __byte_perm ::unshade::permute_bytes
#define __vadd4 ::unshade::add_bytes
#define __vabsdiffu4 ::unshade::byte_differences
#define __vminu4 ::unshade::min_bytes
#define __vsadu4 ::unshade::sum_of_byte_differences
#define __saturatef ::unshade::saturate
#define rsqrtf ::unshade::reciprocal_sqrt
#define fminf ::unshade::min
#define fmaxf ::unshade::max
#define fmin ::unshade::min
#define fmax ::unshade::max
#define atomicAdd ::unshade::atomic_add
#define atomicExch ::unshade::atomic_exchange
#define atomicMin ::unshade::atomic_min
#define atomicMax ::unshade::atomic_max
#define atomicAnd ::unshade::atomic_and
#define atomicOr ::unshade::atomic_or
#define atomicXor ::unshade::atomic_xor
#define atomicInc ::unshade::atomic_inc
#define atomicDec ::unshade::atomic_dec
#define atomicCAS ::unshade::atomic_compare_exchange
#define tex1D ::unshade::sample_1d
#define tex2D ::unshade::sample_2d
#define tex3D ::unshade::sample_3d
#define tex1DLod ::unshade::sample_level_1d
#define tex2DLod ::unshade::sample_level_2d
#define tex2DLayered ::unshade::sample_2d_array
#define tex1Dfetch ::unshade::fetch_1d
#define surf2Dwrite ::unshade::write_2d
#define cudaBoundaryModeZero ::unshade::ZERO
#define cudaBoundaryModeClamp ::unshade::CLAMP
#define cudaBoundaryModeTrap ::unshade::TRAP
#define __fadd_rn ::unshade::add_rn
#define __fsub_rn ::unshade::subtract_rn
#define __fmul_rn ::unshade::multiply_rn
#define __fdiv_rn ::unshade::divide_rn
#define __fsqrt_rn ::unshade::sqrt_rn
#define __dadd_rn ::unshade::add_rn
#define __dsub_rn ::unshade::subtract_rn
#define __dmul_rn ::unshade::multiply_rn
#define __ddiv_rn ::unshade::divide_rn
#define __dsqrt_rn ::unshade::sqrt_rn
#define __fmaf_rn ::unshade::fma_rn
#define __fma_rn ::unshade::fma_rn
#define __float2int_rn ::unshade::to_int_rn
#define __float2uint_rn ::unshade::to_uint_rn
#define __float2ll_rn ::unshade::to_long_rn
#define __float2ull_rn ::unshade::to_ulong_rn
#define __double2int_rn ::unshade::to_int_rn
#define __double2uint_rn ::unshade::to_uint_rn
#define __double2ll_rn ::unshade::to_long_rn
#define __double2ull_rn ::unshade::to_ulong_rn
#define __int2float_rn ::unshade::int_to_float_rn
#define __int2double_rn ::unshade::int_to_double_rn
#define __uint2float_rn ::unshade::uint_to_float_rn
#define __uint2double_rn ::unshade::uint_to_double_rn
#define __ll2float_rn ::unshade::long_to_float_rn
#define __ll2double_rn ::unshade::long_to_double_rn
#define __ull2float_rn ::unshade::ulong_to_float_rn
#define __ull2double_rn ::unshade::ulong_to_double_rn
#define __double2float_rn ::unshade::to_float_rn
#define __fadd_rz ::unshade::add_rz
#define __fsub_rz ::unshade::subtract_rz
#define __fmul_rz ::unshade::multiply_rz
#define __fdiv_rz ::unshade::divide_rz
#define __fsqrt_rz ::unshade::sqrt_rz
#define __dadd_rz ::unshade::add_rz
#define __dsub_rz ::unshade::subtract_rz
#define __dmul_rz ::unshade::multiply_rz
#define __ddiv_rz ::unshade::divide_rz
#define __dsqrt_rz ::unshade::sqrt_rz
#define __fmaf_rz ::unshade::fma_rz
#define __fma_rz ::unshade::fma_rz
#define __float2int_rz ::unshade::to_int_rz
#define __float2uint_rz ::unshade::to_uint_rz
#define __float2ll_rz ::unshade::to_long_rz
#define __float2ull_rz ::unshade::to_ulong_rz
#define __double2int_rz ::unshade::to_int_rz
#define __double2uint_rz ::unshade::to_uint_rz
#define __double2ll_rz ::unshade::to_long_rz
#define __double2ull_rz ::unshade::to_ulong_rz
#define __int2float_rz ::unshade::int_to_float_rz
#define __int2double_rz ::unshade::int_to_double_rz
#define __uint2float_rz ::unshade::uint_to_float_rz
#define __uint2double_rz ::unshade::uint_to_double_rz
#define __ll2float_rz ::unshade::long_to_float_rz
#define __ll2double_rz ::unshade::long_to_double_rz
#define __ull2float_rz ::unshade::ulong_to_float_rz
#define __ull2double_rz ::unshade::ulong_to_double_rz
#define __double2float_rz ::unshade::to_float_rz
#define __fadd_ru ::unshade::add_ru
#define __fsub_ru ::unshade::subtract_ru
#define __fmul_ru ::unshade::multiply_ru
#define __fdiv_ru ::unshade::divide_ru
#define __fsqrt_ru ::unshade::sqrt_ru
#define __dadd_ru ::unshade::add_ru
#define __dsub_ru ::unshade::subtract_ru
#define __dmul_ru ::unshade::multiply_ru
#define __ddiv_ru ::unshade::divide_ru
#define __dsqrt_ru ::unshade::sqrt_ru
#define __fmaf_ru ::unshade::fma_ru
#define __fma_ru ::unshade::fma_ru
#define __float2int_ru ::unshade::to_int_ru
#define __float2uint_ru ::unshade::to_uint_ru
#define __float2ll_ru ::unshade::to_long_ru
#define __float2ull_ru ::unshade::to_ulong_ru
#define __double2int_ru ::unshade::to_int_ru
#define __double2uint_ru ::unshade::to_uint_ru
#define __double2ll_ru ::unshade::to_long_ru
#define __double2ull_ru ::unshade::to_ulong_ru
#define __int2float_ru ::unshade::int_to_float_ru
#define __int2double_ru ::unshade::int_to_double_ru
#define __uint2float_ru ::unshade::uint_to_float_ru
#define __uint2double_ru ::unshade::uint_to_double_ru
#define __ll2float_ru ::unshade::long_to_float_ru
#define __ll2double_ru ::unshade::long_to_double_ru
#define __ull2float_ru ::unshade::ulong_to_float_ru
#define __ull2double_ru ::unshade::ulong_to_double_ru
#define __double2float_ru ::unshade::to_float_ru
#define __fadd_rd ::unshade::add_rd
#define __fsub_rd ::unshade::subtract_rd
#define __fmul_rd ::unshade::multiply_rd
#define __fdiv_rd ::unshade::divide_rd
#define __fsqrt_rd ::unshade::sqrt_rd
#define __dadd_rd ::unshade::add_rd
#define __dsub_rd ::unshade::subtract_rd
#define __dmul_rd ::unshade::multiply_rd
#define __ddiv_rd ::unshade::divide_rd
#define __dsqrt_rd ::unshade::sqrt_rd
#define __fmaf_rd ::unshade::fma_rd
#define __fma_rd ::unshade::fma_rd
#define __float2int_rd ::unshade::to_int_rd
#define __float2uint_rd ::unshade::to_uint_rd
#define __float2ll_rd ::unshade::to_long_rd
#define __float2ull_rd ::unshade::to_ulong_rd
#define __double2int_rd ::unshade::to_int_rd
#define __double2uint_rd ::unshade::to_uint_rd
#define __double2ll_rd ::unshade::to_long_rd
#define __double2ull_rd ::unshade::to_ulong_rd
#define __int2float_rd ::unshade::int_to_float_rd
#define __int2double_rd ::unshade::int_to_double_rd
#define __uint2float_rd ::unshade::uint_to_float_rd
#define __uint2double_rd ::unshade::uint_to_double_rd
#define __ll2float_rd ::unshade::long_to_float_rd
#define __ll2double_rd ::unshade::long_to_double_rd
#define __ull2float_rd ::unshade::ulong_to_float_rd
#define __ull2double_rd ::unshade::ulong_to_double_rd
#define __double2float_rd ::unshade::to_float_rd
template <class T> static inline T atomicSub(T *p, typename unshade::Same<T>::type v) { return atomicAdd(p, (T)(0 - v)); }
static inline float __uint_as_float(unsigned i) { return __int_as_float((int)i); }
static inline float __frcp_rn(float a) { return __fdiv_rn(1.0f, a); }
static inline double __drcp_rn(double a) { return __ddiv_rn(1.0, a); }
static inline double rsqrt(double f) { return 1.0 / sqrt(f); }
static inline unsigned __vsub4(unsigned a, unsigned b) { return unshade::each_byte(a, b, [](int x, int y) { return x - y; }); }
static inline unsigned __vmaxu4(unsigned a, unsigned b) { return unshade::each_byte(a, b, [](int x, int y) { return x < y ? y : x; }); }
using unshade::min;
using unshade::max;
#define CUDA_HOST_MINMAX(A, B, R)                                                                       \
    static inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                                 \
    static inline R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
CUDA_HOST_MINMAX(int, unsigned, unsigned)
CUDA_HOST_MINMAX(unsigned, int, unsigned)
CUDA_HOST_MINMAX(long, long, long)
CUDA_HOST_MINMAX(unsigned long, unsigned long, unsigned long)
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned long long __brevll(unsigned long long v) { return (unsigned long long)__brev((unsigned)v) << 32 | __brev((unsigned)(v >> 32)); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline unsigned __sad(int a, int b, unsigned c) { return (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + c; }
static inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
static inline int __hadd_int(int a, int b) { return (int)(((long long)a + b) >> 1); }
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32); }
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31)); }
static inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? lo : __funnelshift_l(lo, hi, n); }
static inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? hi : __funnelshift_r(lo, hi, n); }
// glibc has these names for itself.
#define __sinf cuda_host_sinf
#define __cosf cuda_host_cosf
#define __tanf cuda_host_tanf
#define __expf cuda_host_expf
#define __exp2f cuda_host_exp2f
#define __logf cuda_host_logf
#define __log2f cuda_host_log2f
#define __log10f cuda_host_log10f
#define __powf cuda_host_powf
static inline float __sinf(float f) { return (float)sin((double)f); }
static inline float __cosf(float f) { return (float)cos((double)f); }
static inline float __tanf(float f) { return (float)tan((double)f); }
static inline float __expf(float f) { return (float)exp((double)f); }
static inline float __exp2f(float f) { return (float)exp2((double)f); }
static inline float __logf(float f) { return (float)log((double)f); }
static inline float __log2f(float f) { return (float)log2((double)f); }
static inline float __log10f(float f) { return (float)log10((double)f); }
static inline float __powf(float a, float b) { return (float)pow((double)a, (double)b); }
static inline float __fdividef(float a, float b) { return a / b; }
template <class T> static inline T __ldg(const T *p) { return *p; }

// Half precision.
struct __half {
    unsigned short bits;
};
typedef __half half;
static inline float __half2float(__half h) {
    unsigned s = (h.bits & 0x8000u) << 16, e = h.bits >> 10 & 31, m = h.bits & 1023;
    if (e == 31) return __uint_as_float(s | 0x7f800000 | m << 13);
    if (e == 0) return (s ? -1 : 1) * ldexpf((float)m, -24);
    return __uint_as_float(s | (e + 112) << 23 | m << 13);
}
static inline __half __float2half(float f) {
    unsigned u = __float_as_uint(f), s = u >> 16 & 0x8000;
    float a = fabsf(f);
    __half h;
    if (a != a) { h.bits = 0x7fff; return h; }
    if (a >= 65520.0f) { h.bits = (unsigned short)(s | 0x7c00); return h; }
    if (a < 6.103515625e-05f) { h.bits = (unsigned short)(s | (unsigned)nearbyintf(ldexpf(a, 24))); return h; }
    unsigned v = (u & 0x7fffffff) - (112u << 23);
    unsigned r = v >> 13, rest = v & 0x1fff;
    if (rest > 0x1000 || (rest == 0x1000 && (r & 1))) r++;
    h.bits = (unsigned short)(s | r);
    return h;
}
static inline __half __float2half_rn(float f) { return __float2half(f); }
static inline __half __ushort_as_half(unsigned short u) { __half h; h.bits = u; return h; }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }

// Textures and surfaces.
enum { cudaReadModeElementType, cudaTextureType1D = 1, cudaTextureType2D = 2, cudaTextureType3D = 3, cudaSurfaceType2D = 2 };
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
template <class T, int dimensions, int mode = cudaReadModeElementType> struct texture : unshade::Texture<T> {};
template <class T, int dimensions> struct surface : unshade::Surface {};
template <class T> static inline T surf2Dread(const unshade::Surface &s, int x, int y, unshade::Outside o = unshade::TRAP) { return unshade::read_2d<T>(s, x, y, o); }
template <class T> static inline T surf2Dread(unsigned long long s, int x, int y, unshade::Outside o = unshade::TRAP) { return unshade::read_2d<T>(s, x, y, o); }
template <class T> static inline void surf2Dread(T *value, const unshade::Surface &s, int x, int y) { *value = unshade::read_2d<T>(s, x, y); }

// What kernels print goes to a text of its own.
namespace cuda_host {
static inline std::string &printed() {
    static std::string text;
    return text;
}
} // namespace cuda_host
static int cuda_host_printf(const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cuda_host::printed() += text;
    return n;
}
#define printf cuda_host_printf
static inline void __assertfail(const void *, const void *, unsigned, const void *, size_t) { abort(); }
#undef assert
#define assert(e) ((e) ? (void)0 : abort())

// Launches of kernels whose arguments are bytes.
namespace cuda_host {

// Special registers, by their names in PTX.
static inline unsigned rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
static inline unsigned laneid() { return rank() & 31; }
static inline unsigned warpid() { return rank() >> 5; }
static inline unsigned smid() { return 0; }
static inline unsigned lanemask_lt() { return (1u << laneid()) - 1; }

// The size of the next launch.
static unshade::Size grid_size, block_size;

// An image with its elements.
struct Image : unshade::Image {
    std::vector<unsigned char> bytes;
};

struct Argument {
    bool is_buffer, is_image;
    std::vector<unsigned char> bytes;
    Image image;
};

template <class T> static T read_argument(Argument &argument) {
    T value;
    memset((void *)&value, 0, sizeof value);
    if (argument.is_buffer || argument.is_image) {
        argument.image.data = argument.image.bytes.data();
        unshade::Image *image = &argument.image;
        void *pointer = argument.is_image ? (void *)image : argument.bytes.data();
        memcpy((void *)&value, &pointer, sizeof value < sizeof pointer ? sizeof value : sizeof pointer);
    } else {
        memcpy((void *)&value, argument.bytes.data(), sizeof value < argument.bytes.size() ? sizeof value : argument.bytes.size());
    }
    return value;
}

// Runs all blocks, each with empty dynamic shared memory.
static void run_blocks(const std::function<void(unshade::Thread &)> &body) {
    static unshade::Block block;
    uint3 place;
    for (place.z = 0; place.z < grid_size.z; place.z++)
        for (place.y = 0; place.y < grid_size.y; place.y++)
            for (place.x = 0; place.x < grid_size.x; place.x++) {
                memset(dynamic_shared, 0, sizeof dynamic_shared);
                block.run(grid_size, block_size, place, body);
            }
}

static void check_count(size_t parameters, size_t arguments) {
    if (arguments == parameters) return;
    fprintf(stderr, "a kernel with %zu parameters was given %zu arguments\n", parameters, arguments);
    exit(2);
}

template <class... A, size_t... I, class F>
static void launch_with(F call, std::vector<Argument> &arguments, std::index_sequence<I...>) {
    std::tuple<typename std::remove_cv<A>::type...> values(read_argument<typename std::remove_cv<A>::type>(arguments[I])...);
    run_blocks([&](unshade::Thread &thread) { call(thread, std::get<I>(values)...); });
}

// A kernel of CUDA C, or of C++ with its thread.
template <class... A> static void launch(void (*kernel)(A...), std::vector<Argument> &arguments, bool flushes = false) {
    check_count(sizeof...(A), arguments.size());
    auto call = [=](unshade::Thread &, A... values) {
        if (!flushes) return kernel(values...);
        unshade::FlushSubnormals flush;
        kernel(values...);
    };
    launch_with<A...>(call, arguments, std::index_sequence_for<A...>());
}
template <class... A>
static void launch(void (*kernel)(unshade::Thread &, A...), std::vector<Argument> &arguments, bool = false) {
    check_count(sizeof...(A), arguments.size());
    launch_with<A...>(kernel, arguments, std::index_sequence_for<A...>());
}

struct Kernel {
    const char *name;
    void (*run)(std::vector<Argument> &);
};

struct Variable {
    const char *name;
    void *address;
    size_t size;
    bool is_image;
};

static std::vector<unsigned char> take(FILE *file, size_t size) {
    std::vector<unsigned char> bytes(size);
    if (size && fread(bytes.data(), 1, size, file) != size) exit(3);
    return bytes;
}

static unsigned take_number(FILE *file) {
    unsigned value;
    if (fread(&value, 4, 1, file) != 1) exit(3);
    return value;
}

static Image take_image(FILE *file) {
    Image image;
    image.width = take_number(file);
    image.height = take_number(file);
    image.depth = take_number(file);
    image.element_size = take_number(file) * 4;
    image.bytes = take(file, take_number(file));
    return image;
}

static std::string take_name(FILE *file) {
    auto bytes = take(file, take_number(file));
    return std::string(bytes.begin(), bytes.end());
}

static void give(FILE *file, const void *bytes, size_t size) {
    unsigned count = (unsigned)size;
    fwrite(&count, 4, 1, file);
    fwrite(bytes, 1, size, file);
}

// Runs the cases of a file, and writes what is in their buffers and variables afterwards, and what they printed.
//
// A case is: name of the kernel, six sizes of grid and block, variables (name, shape, bytes), arguments (0, 1 for a buffer,
// 2 for a texture; shape; bytes). A shape is three sizes and how many words an element has, which only count for textures
// and surfaces. Numbers have 32 bits; bytes have their count before them.
template <size_t K, size_t V> static int run_cases(const Kernel (&kernels)[K], const Variable (&variables)[V], int count, char **words) {
    if (count != 3) return 1;
    FILE *in = fopen(words[1], "rb"), *out = fopen(words[2], "wb");
    if (!in || !out) return 1;
    for (unsigned cases = take_number(in); cases > 0; cases--) {
        std::string name = take_name(in);
        unsigned sizes[6];
        for (unsigned &size : sizes) size = take_number(in);
        grid_size = unshade::Size(sizes[0], sizes[1], sizes[2]);
        block_size = unshade::Size(sizes[3], sizes[4], sizes[5]);
        std::vector<std::pair<const Variable *, Image *>> used;
        std::list<Image> images;
        for (unsigned n = take_number(in); n > 0; n--) {
            std::string wanted = take_name(in);
            images.push_back(take_image(in));
            auto &bytes = images.back().bytes;
            for (const Variable &variable : variables)
                if (variable.name && wanted == variable.name) {
                    Image *image = &images.back();
                    image->data = bytes.data();
                    if (variable.is_image) memcpy(variable.address, &image, sizeof image);
                    else memcpy(variable.address, bytes.data(), bytes.size() < variable.size ? bytes.size() : variable.size);
                    used.push_back({&variable, image});
                }
        }
        std::vector<Argument> arguments(take_number(in));
        for (Argument &argument : arguments) {
            unsigned kind = take_number(in);
            argument.is_buffer = kind == 1;
            argument.is_image = kind == 2;
            argument.image = take_image(in);
            argument.bytes = argument.image.bytes;
        }
        printed().clear();
        bool found = false;
        for (const Kernel &kernel : kernels)
            if (kernel.name && name == kernel.name) {
                kernel.run(arguments);
                found = true;
                break;
            }
        if (!found) {
            fprintf(stderr, "no kernel %s\n", name.c_str());
            return 1;
        }
        for (Argument &argument : arguments)
            if (argument.is_buffer) give(out, argument.bytes.data(), argument.bytes.size());
        for (auto &pair : used) {
            if (pair.first->is_image) give(out, pair.second->bytes.data(), pair.second->bytes.size());
            else give(out, pair.first->address, pair.first->size);
        }
        give(out, printed().data(), printed().size());
    }
    fclose(out);
    return 0;
}

} // namespace cuda_host
