// CUDA's names for a host compiler: kernels as ordinary functions, one fiber a thread, one block after the other.
//
// A source of kernels is included behind this header. `__syncthreads`, shuffles and votes let the other threads of the
// block or warp run until all are there; whatever is between runs thread by thread, in the order of the threads. So a
// kernel whose threads race gives what one order gives.
//
// Products and sums are contracted as the host compiler sees fit: with `-ffp-contract=fast` and an FMA unit that is what
// CUDA's compiler does by default. `__fmul_rn`, `__fadd_rn` and the like are never contracted.
#pragma once
#include <cfenv>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <sys/mman.h>
#include <ucontext.h>

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
#define CUDA_HOST_VECTOR(T, N, A)                                                                       \
    struct __attribute__((aligned(A))) N##2 { T x, y; };                                                \
    struct N##3 { T x, y, z; };                                                                         \
    struct __attribute__((aligned(A * 2 > 16 ? 16 : A * 2))) N##4 { T x, y, z, w; };                    \
    struct N##1 { T x; };                                                                               \
    static inline N##1 make_##N##1(T x) { return {x}; }                                                 \
    static inline N##2 make_##N##2(T x, T y) { return {x, y}; }                                         \
    static inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                                 \
    static inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDA_HOST_VECTOR(signed char, char, 2)
CUDA_HOST_VECTOR(unsigned char, uchar, 2)
CUDA_HOST_VECTOR(short, short, 4)
CUDA_HOST_VECTOR(unsigned short, ushort, 4)
CUDA_HOST_VECTOR(int, int, 8)
CUDA_HOST_VECTOR(unsigned int, uint, 8)
CUDA_HOST_VECTOR(float, float, 8)
CUDA_HOST_VECTOR(double, double, 16)
CUDA_HOST_VECTOR(long long, longlong, 16)
CUDA_HOST_VECTOR(unsigned long long, ulonglong, 16)

// Dynamic shared memory, as `unshade decompile` names it.
static constexpr unsigned MOST_SHARED = 48 << 10;
__align__(16) thread_local unsigned char dynamic_shared[MOST_SHARED];

namespace cuda_host {

// Whether the kernel that runs is one for -ftz=true: subnormal floats are zero. The host's arithmetic is told so, too; to it
// this is true of doubles as well.
static bool flushes = false;

class Flushing {
#if defined __SSE__
    unsigned before = __builtin_ia32_stmxcsr();

public:
    Flushing() {
        flushes = true;
        __builtin_ia32_ldmxcsr(before | 0x8040);
    }
    ~Flushing() {
        flushes = false;
        __builtin_ia32_ldmxcsr(before);
    }
#elif defined __aarch64__
    unsigned long long before;

public:
    Flushing() {
        flushes = true;
        asm volatile("mrs %0, fpcr" : "=r"(before));
        asm volatile("msr fpcr, %0" : : "r"(before | 1ull << 24));
    }
    ~Flushing() {
        flushes = false;
        asm volatile("msr fpcr, %0" : : "r"(before));
    }
#endif
};

// What a function of the host's gives that only moves its floats.
static inline float flushed(float f) {
    return flushes && std::fabs(f) < 1.17549435e-38f ? std::copysign(0.0f, f) : f;
}

} // namespace cuda_host

// Of zeros the one with the sign is less; the host's functions may give either.
#define fminf cuda_host_fminf
#define fmaxf cuda_host_fmaxf
#define fmin cuda_host_fmin
#define fmax cuda_host_fmax
template <class T> static inline T cuda_host_least(T a, T b, bool most) {
    if (a != a) return b;
    if (b != b) return a;
    bool first = a == b ? std::signbit(a) : a < b;
    return first == most ? b : a;
}
static inline float fminf(float a, float b) { return cuda_host::flushed(cuda_host_least(a, b, false)); }
static inline float fmaxf(float a, float b) { return cuda_host::flushed(cuda_host_least(a, b, true)); }
static inline double fmin(double a, double b) { return cuda_host_least(a, b, false); }
static inline double fmax(double a, double b) { return cuda_host_least(a, b, true); }

using std::isnan;
using std::isinf;
using std::isfinite;
using std::signbit;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;

// Threads of a block as fibers.
namespace cuda_host {

enum { STACK = 256 << 10, MOST_THREADS = 1024 };

struct Fiber {
    ucontext_t context;
    uint3 index;
    bool ended;
    // How many rendezvous of the block and of the warp it has been to.
    unsigned block_round, warp_round;
    // What it brought to the last.
    unsigned long long value;
    int predicate;
};

static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static unsigned current;
static char *stacks;
static std::string printed;
static void (*body)(void *);
static void *body_argument;

static inline void yield() {
    unsigned self = current;
    swapcontext(&fibers[self].context, &scheduler);
    threadIdx = fibers[self].index;
}

static void entry() {
    threadIdx = fibers[current].index;
    body(body_argument);
    fibers[current].ended = true;
    swapcontext(&fibers[current].context, &scheduler);
}

// Runs all threads of a block.
static void run_block(void (*function)(void *), void *argument) {
    unsigned count = blockDim.x * blockDim.y * blockDim.z;
    if (!stacks)
        stacks = (char *)mmap(nullptr, (size_t)STACK * MOST_THREADS, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    body = function;
    body_argument = argument;
    fibers.assign(count, Fiber());
    for (unsigned i = 0; i < count; i++) {
        Fiber &fiber = fibers[i];
        fiber.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stacks + (size_t)STACK * i;
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, entry, 0);
    }
    for (bool live = true; live;) {
        live = false;
        for (current = 0; current < count; current++) {
            if (fibers[current].ended) continue;
            live = true;
            swapcontext(&scheduler, &fibers[current].context);
        }
    }
}

// Waits until every live thread of the block has come as often.
static void meet_block() {
    unsigned round = ++fibers[current].block_round;
    for (;;) {
        bool all = true;
        for (Fiber &fiber : fibers) all = all && (fiber.ended || fiber.block_round >= round);
        if (all) return;
        yield();
    }
}

// Waits until the live lanes of a mask have come as often; then all have brought their values. A second meeting keeps
// a lane from bringing its next value before all have read this one.
static void meet_warp(unsigned mask) {
    unsigned self = current, first = self & ~31u;
    unsigned round = ++fibers[self].warp_round;
    for (;;) {
        bool all = true;
        for (unsigned lane = 0; lane < 32 && first + lane < fibers.size(); lane++)
            if (mask >> lane & 1)
                all = all && (fibers[first + lane].ended || fibers[first + lane].warp_round >= round);
        if (all) return;
        yield();
    }
}

static inline unsigned lane() { return current & 31; }

static inline Fiber *of_lane(unsigned lane) {
    unsigned index = (current & ~31u) + lane;
    return index < fibers.size() && !fibers[index].ended ? &fibers[index] : nullptr;
}

template <class T> static T exchange(unsigned mask, T value, unsigned from) {
    static_assert(sizeof(T) <= 8, "a shuffle has at most 64 bits");
    Fiber &own = fibers[current];
    own.value = 0;
    memcpy(&own.value, &value, sizeof value);
    meet_warp(mask);
    T result = value;
    if (Fiber *other = of_lane(from)) memcpy(&result, &other->value, sizeof result);
    meet_warp(mask);
    return result;
}

static unsigned gather(unsigned mask, int predicate) {
    fibers[current].predicate = predicate != 0;
    meet_warp(mask);
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (mask >> lane & 1)
            if (Fiber *other = of_lane(lane)) bits |= (unsigned)other->predicate << lane;
    meet_warp(mask);
    return bits;
}

static unsigned live_lanes() {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (of_lane(lane)) bits |= 1u << lane;
    return bits;
}

static int count_block(int predicate, int &threads) {
    fibers[current].predicate = predicate != 0;
    meet_block();
    int count = 0;
    threads = 0;
    for (Fiber &fiber : fibers)
        if (!fiber.ended) {
            count += fiber.predicate;
            threads++;
        }
    meet_block();
    return count;
}

// Rounding modes: the host's, for a moment.
// What is computed may not leave its place between the changes of the mode.
template <class T> static inline T opaque(T value) {
    volatile T kept = value;
    return kept;
}

template <class F> static auto rounded(int mode, F f) -> decltype(f()) {
    fesetround(mode);
    auto result = opaque(f());
    fesetround(FE_TONEAREST);
    return result;
}

} // namespace cuda_host

static inline void __syncthreads() { cuda_host::meet_block(); }
static inline int __syncthreads_count(int p) { int n; return cuda_host::count_block(p, n); }
static inline int __syncthreads_and(int p) { int n; int c = cuda_host::count_block(p, n); return c == n; }
static inline int __syncthreads_or(int p) { int n; return cuda_host::count_block(p, n) != 0; }
static inline void __syncwarp(unsigned mask = ~0u) { cuda_host::meet_warp(mask); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline long long clock64() { return 0; }
static inline int clock_cuda() { return 0; }
#define clock clock_cuda
static inline void __trap() { abort(); }

// Shuffles and votes.
template <class T> static T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
    unsigned lane = cuda_host::lane();
    return cuda_host::exchange(mask, v, (lane & ~(width - 1)) | (from & (width - 1)));
}
template <class T> static T __shfl_up_sync(unsigned mask, T v, unsigned n, int width = 32) {
    unsigned lane = cuda_host::lane();
    return cuda_host::exchange(mask, v, (lane & (width - 1)) >= n ? lane - n : lane);
}
template <class T> static T __shfl_down_sync(unsigned mask, T v, unsigned n, int width = 32) {
    unsigned lane = cuda_host::lane();
    return cuda_host::exchange(mask, v, (lane & (width - 1)) + n < (unsigned)width ? lane + n : lane);
}
template <class T> static T __shfl_xor_sync(unsigned mask, T v, int n, int width = 32) {
    unsigned lane = cuda_host::lane();
    unsigned from = lane ^ n;
    return cuda_host::exchange(mask, v, from < (lane & ~(width - 1)) + width ? from : lane);
}
template <class T> static T __shfl(T v, int from, int w = 32) { return __shfl_sync(~0u, v, from, w); }
template <class T> static T __shfl_up(T v, unsigned n, int w = 32) { return __shfl_up_sync(~0u, v, n, w); }
template <class T> static T __shfl_down(T v, unsigned n, int w = 32) { return __shfl_down_sync(~0u, v, n, w); }
template <class T> static T __shfl_xor(T v, int n, int w = 32) { return __shfl_xor_sync(~0u, v, n, w); }
static inline unsigned __ballot_sync(unsigned mask, int p) { return cuda_host::gather(mask, p); }
static inline int __any_sync(unsigned mask, int p) { return cuda_host::gather(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) {
    unsigned live = cuda_host::live_lanes() & mask;
    return cuda_host::gather(mask, p) == live;
}
static inline unsigned __ballot(int p) { return __ballot_sync(~0u, p); }
static inline int __any(int p) { return __any_sync(~0u, p); }
static inline int __all(int p) { return __all_sync(~0u, p); }
static inline unsigned __activemask() { return cuda_host::live_lanes(); }

// Atomics: nothing else runs meanwhile.
template <class T, class F> static T cuda_host_atomic(T *p, F f) { T old = *p; *p = f(old); return old; }
#define CUDA_HOST_ATOMIC(T)                                                                             \
    static inline T atomicAdd(T *p, T v) { return cuda_host_atomic(p, [=](T o) { return (T)(o + v); }); }      \
    static inline T atomicSub(T *p, T v) { return cuda_host_atomic(p, [=](T o) { return (T)(o - v); }); }      \
    static inline T atomicExch(T *p, T v) { return cuda_host_atomic(p, [=](T) { return v; }); }         \
    static inline T atomicMin(T *p, T v) { return cuda_host_atomic(p, [=](T o) { return o < v ? o : v; }); }   \
    static inline T atomicMax(T *p, T v) { return cuda_host_atomic(p, [=](T o) { return o < v ? v : o; }); }   \
    static inline T atomicAnd(T *p, T v) { return cuda_host_atomic(p, [=](T o) { return (T)(o & v); }); }      \
    static inline T atomicOr(T *p, T v) { return cuda_host_atomic(p, [=](T o) { return (T)(o | v); }); }       \
    static inline T atomicXor(T *p, T v) { return cuda_host_atomic(p, [=](T o) { return (T)(o ^ v); }); }      \
    static inline T atomicCAS(T *p, T c, T v) { return cuda_host_atomic(p, [=](T o) { return o == c ? v : o; }); }
CUDA_HOST_ATOMIC(int)
CUDA_HOST_ATOMIC(unsigned)
CUDA_HOST_ATOMIC(unsigned long long)
CUDA_HOST_ATOMIC(long long)
static inline unsigned long long atomicAdd(unsigned long *p, unsigned long long v) { return atomicAdd((unsigned long long *)p, v); }
static inline float atomicAdd(float *p, float v) { return cuda_host_atomic(p, [=](float o) { return o + v; }); }
static inline float atomicExch(float *p, float v) { return cuda_host_atomic(p, [=](float) { return v; }); }
static inline double atomicAdd(double *p, double v) { return cuda_host_atomic(p, [=](double o) { return o + v; }); }
static inline unsigned atomicInc(unsigned *p, unsigned v) { return cuda_host_atomic(p, [=](unsigned o) { return o >= v ? 0 : o + 1; }); }
static inline unsigned atomicDec(unsigned *p, unsigned v) { return cuda_host_atomic(p, [=](unsigned o) { return o == 0 || o > v ? v : o - 1; }); }

// Integers.
#define CUDA_HOST_MINMAX(A, B, R)                                                                       \
    static inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }                                 \
    static inline R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
CUDA_HOST_MINMAX(int, int, int)
CUDA_HOST_MINMAX(unsigned, unsigned, unsigned)
CUDA_HOST_MINMAX(int, unsigned, unsigned)
CUDA_HOST_MINMAX(unsigned, int, unsigned)
CUDA_HOST_MINMAX(long long, long long, long long)
CUDA_HOST_MINMAX(unsigned long long, unsigned long long, unsigned long long)
CUDA_HOST_MINMAX(long, long, long)
CUDA_HOST_MINMAX(unsigned long, unsigned long, unsigned long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __brev(unsigned v) { unsigned r = 0; for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i); return r; }
static inline unsigned long long __brevll(unsigned long long v) { return (unsigned long long)__brev((unsigned)v) << 32 | __brev((unsigned)(v >> 32)); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
static inline int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline unsigned __sad(int a, int b, unsigned c) { return (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + c; }
static inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
static inline int __hadd_int(int a, int b) { return (int)(((long long)a + b) >> 1); }
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = s >> (4 * i) & 15, byte = both >> (8 * (pick & 7)) & 255;
        if (pick & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << (8 * i);
    }
    return r;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32); }
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31)); }
static inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? lo : __funnelshift_l(lo, hi, n); }
static inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned n) { return n >= 32 ? hi : __funnelshift_r(lo, hi, n); }
template <class F> static inline unsigned cuda_host_bytes(unsigned a, unsigned b, F f) {
    unsigned r = 0;
    for (int i = 0; i < 32; i += 8) r |= (unsigned)(f((int)(a >> i & 255), (int)(b >> i & 255)) & 255) << i;
    return r;
}
static inline unsigned __vadd4(unsigned a, unsigned b) { return cuda_host_bytes(a, b, [](int x, int y) { return x + y; }); }
static inline unsigned __vsub4(unsigned a, unsigned b) { return cuda_host_bytes(a, b, [](int x, int y) { return x - y; }); }
static inline unsigned __vabsdiffu4(unsigned a, unsigned b) { return cuda_host_bytes(a, b, [](int x, int y) { return x < y ? y - x : x - y; }); }
static inline unsigned __vminu4(unsigned a, unsigned b) { return cuda_host_bytes(a, b, [](int x, int y) { return x < y ? x : y; }); }
static inline unsigned __vmaxu4(unsigned a, unsigned b) { return cuda_host_bytes(a, b, [](int x, int y) { return x < y ? y : x; }); }
static inline unsigned __vsadu4(unsigned a, unsigned b) { unsigned d = __vabsdiffu4(a, b); return (d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24); }

// Bits of numbers.
template <class A, class B> static inline A cuda_host_bits(B b) { static_assert(sizeof(A) == sizeof(B), ""); A a; memcpy(&a, &b, sizeof a); return a; }
static inline int __float_as_int(float f) { return cuda_host_bits<int>(f); }
static inline unsigned __float_as_uint(float f) { return cuda_host_bits<unsigned>(f); }
static inline float __int_as_float(int i) { return cuda_host_bits<float>(i); }
static inline float __uint_as_float(unsigned i) { return cuda_host_bits<float>(i); }
static inline long long __double_as_longlong(double d) { return cuda_host_bits<long long>(d); }
static inline double __longlong_as_double(long long l) { return cuda_host_bits<double>(l); }
static inline int __double2hiint(double d) { return (int)(__double_as_longlong(d) >> 32); }
static inline int __double2loint(double d) { return (int)__double_as_longlong(d); }
static inline double __hiloint2double(int hi, int lo) { return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo)); }

// Arithmetic that is not contracted, with the rounding of the name.
#define CUDA_HOST_ROUNDED(T, P, F, N, M)                                                                \
    static inline T __##P##add_##N(T a, T b) { return cuda_host::rounded(M, [=] { return cuda_host::opaque(cuda_host::opaque(a) + cuda_host::opaque(b)); }); } \
    static inline T __##P##sub_##N(T a, T b) { return cuda_host::rounded(M, [=] { return cuda_host::opaque(cuda_host::opaque(a) - cuda_host::opaque(b)); }); } \
    static inline T __##P##mul_##N(T a, T b) { return cuda_host::rounded(M, [=] { return cuda_host::opaque(cuda_host::opaque(a) * cuda_host::opaque(b)); }); } \
    static inline T __##P##div_##N(T a, T b) { return cuda_host::rounded(M, [=] { return cuda_host::opaque(cuda_host::opaque(a) / cuda_host::opaque(b)); }); } \
    static inline T __##P##rcp_##N(T a) { return __##P##div_##N((T)1, a); }                             \
    static inline T __##P##sqrt_##N(T a) { return cuda_host::rounded(M, [=] { return cuda_host::opaque((T)sqrt##F(cuda_host::opaque(a))); }); } \
    static inline T __fma##F##_##N(T a, T b, T c) { return cuda_host::rounded(M, [=] { return cuda_host::opaque((T)fma##F(cuda_host::opaque(a), cuda_host::opaque(b), cuda_host::opaque(c))); }); }
#define CUDA_HOST_ROUNDINGS(T, P, F)                                                                    \
    CUDA_HOST_ROUNDED(T, P, F, rn, FE_TONEAREST) CUDA_HOST_ROUNDED(T, P, F, rz, FE_TOWARDZERO)          \
    CUDA_HOST_ROUNDED(T, P, F, ru, FE_UPWARD) CUDA_HOST_ROUNDED(T, P, F, rd, FE_DOWNWARD)
CUDA_HOST_ROUNDINGS(float, f, f)
CUDA_HOST_ROUNDINGS(double, d, )
// To integers: what is too large or too small becomes the last number there is; what is no number becomes 0, or the
// highest bit alone if a type of 64 bits takes part.
template <class T, class F> static T cuda_host_integer(F f) {
    bool wide = sizeof(T) == 8 || sizeof(F) == 8;
    if (f != f) return wide ? (T)(1ull << (sizeof(T) * 8 - 1)) : 0;
    const F end = (F)(std::is_signed<T>::value ? 0x1p63 : 0x1p64) / (sizeof(T) == 4 ? (F)0x1p32 : (F)1);
    if (f >= end) return std::is_signed<T>::value ? (T)((1ull << (sizeof(T) * 8 - 1)) - 1) : (T)-1;
    if (std::is_signed<T>::value ? f < -end : f < 0) return std::is_signed<T>::value ? (T)(1ull << (sizeof(T) * 8 - 1)) : 0;
    return (T)f;
}
#define CUDA_HOST_CONVERT(N, M)                                                                         \
    static inline int __float2int_##N(float f) { return cuda_host_integer<int>(cuda_host::rounded(M, [=] { return nearbyintf(cuda_host::opaque(f)); })); } \
    static inline unsigned __float2uint_##N(float f) { return cuda_host_integer<unsigned>(cuda_host::rounded(M, [=] { return nearbyintf(cuda_host::opaque(f)); })); } \
    static inline long long __float2ll_##N(float f) { return cuda_host_integer<long long>(cuda_host::rounded(M, [=] { return nearbyintf(cuda_host::opaque(f)); })); } \
    static inline unsigned long long __float2ull_##N(float f) { return cuda_host_integer<unsigned long long>(cuda_host::rounded(M, [=] { return nearbyintf(cuda_host::opaque(f)); })); } \
    static inline int __double2int_##N(double f) { return cuda_host_integer<int>(cuda_host::rounded(M, [=] { return nearbyint(cuda_host::opaque(f)); })); } \
    static inline unsigned __double2uint_##N(double f) { return cuda_host_integer<unsigned>(cuda_host::rounded(M, [=] { return nearbyint(cuda_host::opaque(f)); })); } \
    static inline long long __double2ll_##N(double f) { return cuda_host_integer<long long>(cuda_host::rounded(M, [=] { return nearbyint(cuda_host::opaque(f)); })); } \
    static inline unsigned long long __double2ull_##N(double f) { return cuda_host_integer<unsigned long long>(cuda_host::rounded(M, [=] { return nearbyint(cuda_host::opaque(f)); })); } \
    static inline float __int2float_##N(int i) { return cuda_host::rounded(M, [=] { return (float)cuda_host::opaque(i); }); }        \
    static inline float __uint2float_##N(unsigned i) { return cuda_host::rounded(M, [=] { return (float)cuda_host::opaque(i); }); }  \
    static inline float __ll2float_##N(long long i) { return cuda_host::rounded(M, [=] { return (float)cuda_host::opaque(i); }); }   \
    static inline double __ll2double_##N(long long i) { return cuda_host::rounded(M, [=] { return (double)cuda_host::opaque(i); }); } \
    static inline float __ull2float_##N(unsigned long long i) { return cuda_host::rounded(M, [=] { return (float)cuda_host::opaque(i); }); } \
    static inline double __ull2double_##N(unsigned long long i) { return cuda_host::rounded(M, [=] { return (double)cuda_host::opaque(i); }); } \
    static inline float __double2float_##N(double d) { return cuda_host::rounded(M, [=] { return (float)cuda_host::opaque(d); }); }
CUDA_HOST_CONVERT(rn, FE_TONEAREST)
CUDA_HOST_CONVERT(rz, FE_TOWARDZERO)
CUDA_HOST_CONVERT(ru, FE_UPWARD)
CUDA_HOST_CONVERT(rd, FE_DOWNWARD)
static inline double __int2double_rn(int i) { return i; }
static inline double __uint2double_rn(unsigned i) { return i; }
static inline float __saturatef(float f) { return f > 0 ? (f < 1 ? f : 1) : 0; }
static inline float rsqrtf(float f) { return (float)(1.0 / sqrt((double)f)); }
static inline double rsqrt(double f) { return 1.0 / sqrt(f); }
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

// Textures and surfaces: elements of 32-bit words, read by point; what is outside of a texture is its border, outside of a
// surface is nothing.
namespace cuda_host {

struct Image {
    unsigned size[3], words;
    std::vector<unsigned char> bytes;
    static long long inside(long long at, unsigned size) { return at < 0 ? 0 : at >= size ? size - 1 : at; }
    static long long floor_of(float x) { return x != x ? 0 : (long long)floor((double)(x < -1e9f ? -1e9f : x > 1e9f ? 1e9f : x)); }
    template <class T> T texel(long long x, long long y, long long z) const {
        unsigned words_of[4] = {0, 0, 0, 0};
        if (x >= 0 && y >= 0 && z >= 0 && x < size[0] && y < size[1] && z < size[2])
            memcpy(words_of, &bytes[((z * size[1] + y) * size[0] + x) * words * 4], words * 4);
        T value;
        memcpy((void *)&value, words_of, sizeof value);
        return value;
    }
    template <class T> T sample(float x, float y, float z) const {
        return texel<T>(inside(floor_of(x), size[0]), inside(floor_of(y), size[1]), inside(floor_of(z), size[2]));
    }
    unsigned char *element(int x, int y, size_t width) {
        size_t line = (size_t)size[0] * words * 4;
        if (x < 0 || y < 0 || x + width > line || y >= (int)size[1]) {
            fprintf(stderr, "outside of a surface: %d %d\n", x, y);
            exit(4);
        }
        return &bytes[y * line + x];
    }
};

} // namespace cuda_host

enum { cudaReadModeElementType, cudaTextureType1D = 1, cudaTextureType2D = 2, cudaTextureType3D = 3, cudaSurfaceType2D = 2 };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
template <class T, int dimensions, int mode = cudaReadModeElementType> struct texture { cuda_host::Image *image; };
template <class T, int dimensions> struct surface { cuda_host::Image *image; };

template <class T, int M> static inline T tex1D(texture<T, 1, M> t, float x) { return t.image->template sample<T>(x, 0, 0); }
template <class T, int M> static inline T tex2D(texture<T, 2, M> t, float x, float y) { return t.image->template sample<T>(x, y, 0); }
template <class T, int M> static inline T tex3D(texture<T, 3, M> t, float x, float y, float z) { return t.image->template sample<T>(x, y, z); }
template <class T, int M> static inline T tex1Dfetch(texture<T, 1, M> t, int x) { return t.image->template texel<T>(x, 0, 0); }
#define CUDA_HOST_OBJECT(o) ((const cuda_host::Image *)(uintptr_t)(o))
template <class T> static inline T tex1D(cudaTextureObject_t o, float x) { return CUDA_HOST_OBJECT(o)->sample<T>(x, 0, 0); }
template <class T> static inline T tex2D(cudaTextureObject_t o, float x, float y) { return CUDA_HOST_OBJECT(o)->sample<T>(x, y, 0); }
template <class T> static inline T tex3D(cudaTextureObject_t o, float x, float y, float z) { return CUDA_HOST_OBJECT(o)->sample<T>(x, y, z); }
template <class T> static inline T tex1DLod(cudaTextureObject_t o, float x, float) { return CUDA_HOST_OBJECT(o)->sample<T>(x, 0, 0); }
template <class T> static inline T tex2DLod(cudaTextureObject_t o, float x, float y, float) { return CUDA_HOST_OBJECT(o)->sample<T>(x, y, 0); }
template <class T> static inline T tex2DLayered(cudaTextureObject_t o, float x, float y, int layer) { return CUDA_HOST_OBJECT(o)->sample<T>(x, y, (float)layer); }
template <class T> static inline T tex1Dfetch(cudaTextureObject_t o, int x) { return CUDA_HOST_OBJECT(o)->texel<T>(x, 0, 0); }
template <class T> static inline void surf2Dwrite(T value, surface<void, 2> s, int x, int y, cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) { memcpy(s.image->element(x, y, sizeof value), &value, sizeof value); }
template <class T> static inline void surf2Dread(T *value, surface<void, 2> s, int x, int y, cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) { memcpy((void *)value, s.image->element(x, y, sizeof *value), sizeof *value); }
template <class T> static inline T surf2Dread(surface<void, 2> s, int x, int y, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {
    T value;
    surf2Dread(&value, s, x, y, mode);
    return value;
}

// What kernels print goes to a text of its own.
static int cuda_host_printf(const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    cuda_host::printed += text;
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

struct Argument {
    bool is_buffer, is_image;
    std::vector<unsigned char> bytes;
    Image image;
};

template <class T> static T read_argument(Argument &argument) {
    T value;
    memset((void *)&value, 0, sizeof value);
    if (argument.is_buffer || argument.is_image) {
        void *pointer = argument.is_image ? (void *)&argument.image : argument.bytes.data();
        memcpy((void *)&value, &pointer, sizeof value < sizeof pointer ? sizeof value : sizeof pointer);
    } else {
        memcpy((void *)&value, argument.bytes.data(), sizeof value < argument.bytes.size() ? sizeof value : argument.bytes.size());
    }
    return value;
}

template <class... A, size_t... I>
static void launch_with(void (*kernel)(A...), std::vector<Argument> &arguments, std::index_sequence<I...>) {
    struct Call {
        void (*kernel)(A...);
        std::tuple<typename std::remove_cv<A>::type...> values;
    } call = {kernel, std::tuple<typename std::remove_cv<A>::type...>(read_argument<typename std::remove_cv<A>::type>(arguments[I])...)};
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
                memset(dynamic_shared, 0, sizeof dynamic_shared);
                run_block([](void *p) { Call &c = *(Call *)p; c.kernel(std::get<I>(c.values)...); }, &call);
            }
}

template <class... A> static void launch(void (*kernel)(A...), std::vector<Argument> &arguments) {
    if (arguments.size() != sizeof...(A)) {
        fprintf(stderr, "a kernel with %zu parameters was given %zu arguments\n", sizeof...(A), arguments.size());
        exit(2);
    }
    launch_with(kernel, arguments, std::index_sequence_for<A...>());
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
    for (unsigned &size : image.size) size = take_number(file);
    image.words = take_number(file);
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
        gridDim = dim3(sizes[0], sizes[1], sizes[2]);
        blockDim = dim3(sizes[3], sizes[4], sizes[5]);
        std::vector<std::pair<const Variable *, Image *>> used;
        std::list<Image> images;
        for (unsigned n = take_number(in); n > 0; n--) {
            std::string wanted = take_name(in);
            images.push_back(take_image(in));
            auto &bytes = images.back().bytes;
            for (const Variable &variable : variables)
                if (variable.name && wanted == variable.name) {
                    Image *image = &images.back();
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
        printed.clear();
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
        give(out, printed.data(), printed.size());
    }
    fclose(out);
    return 0;
}

} // namespace cuda_host
