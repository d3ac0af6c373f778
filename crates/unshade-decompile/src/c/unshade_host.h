// What C++ from `unshade decompile --language c++` needs: C++11, one file, no library.
//
// Compile with -fwrapv -fno-strict-aliasing: integers of a GPU wrap around, and its memory has no types.
//
// A kernel is a function whose first parameter is the thread that executes it:
//
//     #include "kernels.cpp"
//     float x[64], y[64];
//     unshade::launch(2, 32, axpy, 2.0f, y, x);         // 2 blocks of 32 threads; {8, 8} for two dimensions
//
// `launch` runs one block after the other, and the threads of a block in the order of their numbers, each until it ends or
// waits for others: at a barrier for those of its block, at a shuffle or vote for those of its warp (32 threads) that execute
// the same line. So threads that race give the result of one order, and a thread that waits for another one by
// reading memory again and again never ends, unless the reads are volatile: before each of those, all others have a turn.
// Nothing is shared by two calls of `launch` but the memory that kernels access, so a program may run several at once; atomic
// operations are atomic only within one. Local memory is zero at first.
//
// Where there is no ucontext.h, or with UNSHADE_OS_THREADS, threads of a block are threads of the operating system, of
// which one runs at a time.
//
// The names below that are not of kernels or images: `_rn` rounds to the nearest number, `_rz` towards zero, `_ru` up, `_rd`
// down.
#ifndef UNSHADE_HOST_H
#define UNSHADE_HOST_H

#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>
#if defined _WIN32 && !defined UNSHADE_OS_THREADS
#define UNSHADE_OS_THREADS
#endif
#ifdef UNSHADE_OS_THREADS
#include <condition_variable>
#include <mutex>
#include <thread>
#else
#include <ucontext.h>
#endif
#if defined __SSE__ || defined _M_X64
#include <xmmintrin.h>
#endif

namespace unshade {

// Vectors.

#define UNSHADE_VECTOR(T, N, A)                                                   \
    struct alignas(A) N##2 { T x, y; };                                           \
    struct N##3 { T x, y, z; };                                                   \
    struct alignas(A * 2 > 16 ? 16 : A * 2) N##4 { T x, y, z, w; };               \
    struct N##1 { T x; };                                                         \
    inline N##1 make_##N##1(T x) { return {x}; }                                  \
    inline N##2 make_##N##2(T x, T y) { return {x, y}; }                          \
    inline N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                  \
    inline N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
UNSHADE_VECTOR(signed char, char, 2)
UNSHADE_VECTOR(unsigned char, uchar, 2)
UNSHADE_VECTOR(short, short, 4)
UNSHADE_VECTOR(unsigned short, ushort, 4)
UNSHADE_VECTOR(int, int, 8)
UNSHADE_VECTOR(unsigned int, uint, 8)
UNSHADE_VECTOR(float, float, 8)
UNSHADE_VECTOR(double, double, 16)
UNSHADE_VECTOR(long long, longlong, 16)
UNSHADE_VECTOR(unsigned long long, ulonglong, 16)
#undef UNSHADE_VECTOR

// The number of blocks or threads in each dimension.
struct Size {
    unsigned x, y, z;
    Size(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Threads.

// Something that runs until it pauses.
class Fiber {
public:
    std::function<void()> work;
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;

#ifdef UNSHADE_OS_THREADS
    Fiber() : inside(false), over(false), thread([this] { enter(); }) {}
    ~Fiber() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            over = inside = true;
        }
        changed.notify_all();
        thread.join();
    }
    void resume() { hand_over(true); }
    void pause() { hand_over(false); }

private:
    std::mutex mutex;
    std::condition_variable changed;
    bool inside, over;
    std::thread thread;

    void hand_over(bool to_inside) {
        std::unique_lock<std::mutex> lock(mutex);
        inside = to_inside;
        changed.notify_all();
        changed.wait(lock, [&] { return inside != to_inside; });
    }
    void enter() {
        {
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return inside; });
        }
        while (!over) {
            work();
            pause();
        }
    }
#else
    Fiber() : stack(new char[STACK]) {
        getcontext(&inside);
        inside.uc_stack.ss_sp = stack.get();
        inside.uc_stack.ss_size = STACK;
        inside.uc_link = nullptr;
        makecontext(&inside, &Fiber::enter, 0);
    }
    void resume() {
        starting() = this;
        swapcontext(&outside, &inside);
    }
    void pause() { swapcontext(&inside, &outside); }

private:
    enum { STACK = 256 << 10 };
    ucontext_t inside, outside;
    std::unique_ptr<char[]> stack;

    static Fiber *&starting() {
        static thread_local Fiber *fiber;
        return fiber;
    }
    static void enter() {
        Fiber *fiber = starting();
        for (;;) {
            fiber->work();
            fiber->pause();
        }
    }
#endif
};

class Block;

// The thread that executes a kernel: its place in the grid, and what it does together with other threads.
class Thread {
public:
    uint3 index, block, block_size, grid_size;

    // The shared memory of the block, which is zero at first. It has 48 kB, however many elements a kernel needs.
    template <class T> T *shared(size_t = 0);

    // Waits for all threads of the block; `barrier_sync` for some, at one of 16 barriers.
    void barrier() { barrier_sync(0, 0); }
    void barrier_sync(unsigned number, unsigned threads);
    void barrier_arrive(unsigned number, unsigned threads);
    int barrier_count(int p);
    int barrier_and(int p);
    int barrier_or(int p) { return barrier_count(p) != 0; }

    // The number of the thread in its warp, and sets of lanes.
    unsigned lane() const { return number & 31; }
    unsigned lane_mask_equal() const { return 1u << lane(); }
    unsigned lane_mask_less() const { return lane_mask_equal() - 1; }
    unsigned lane_mask_less_equal() const { return lane_mask_equal() | lane_mask_less(); }
    unsigned lane_mask_greater() const { return ~lane_mask_less_equal(); }
    unsigned lane_mask_greater_equal() const { return ~lane_mask_less(); }

    // The value of another lane, in segments of a width; its own where there is no such lane. Here and below, `line` is that
    // of the call: lanes that execute different ones don't meet.
    template <class T> T shuffle(T x, int from, int width = 32, unsigned line = __builtin_LINE()) {
        return exchange(x, (lane() & ~(width - 1)) | (from & (width - 1)), ~0u, line);
    }
    template <class T> T shuffle_up(T x, unsigned n, int width = 32, unsigned line = __builtin_LINE()) {
        return exchange(x, (lane() & (width - 1)) >= n ? lane() - n : lane(), ~0u, line);
    }
    template <class T> T shuffle_down(T x, unsigned n, int width = 32, unsigned line = __builtin_LINE()) {
        return exchange(x, (lane() & (width - 1)) + n < (unsigned)width ? lane() + n : lane(), ~0u, line);
    }
    template <class T> T shuffle_xor(T x, int n, int width = 32, unsigned line = __builtin_LINE()) {
        unsigned from = lane() ^ n;
        return exchange(x, from < (lane() & ~(width - 1)) + width ? from : lane(), ~0u, line);
    }
    // The same as an instruction has it: a mask of segments, and the mode by number.
    unsigned shuffle_masked(unsigned x, unsigned from, unsigned mask, int mode, unsigned line = __builtin_LINE()) {
        int width = 32 - (mask >> 8 & 31);
        return mode == 0   ? shuffle(x, from, width, line)
               : mode == 1 ? shuffle_up(x, from, width, line)
               : mode == 2 ? shuffle_down(x, from, width, line)
                           : shuffle_xor(x, from, width, line);
    }
    bool shuffle_inside(unsigned from, unsigned mask, int mode) const {
        unsigned me = lane(), segment = mask >> 8 & 31, last = (me & segment) | (mask & 31 & ~segment);
        int to = mode == 0   ? (from & 31 & ~segment) | (me & segment)
                 : mode == 1 ? me - from
                 : mode == 2 ? me + from
                             : me ^ from;
        return mode == 1 ? to >= (int)last : to <= (int)last;
    }

    // Votes of the lanes.
    unsigned ballot(int p, unsigned line = __builtin_LINE()) { return gather(p, ~0u, line); }
    int any(int p, unsigned line = __builtin_LINE()) { return ballot(p, line) != 0; }
    int all(int p, unsigned line = __builtin_LINE()) { return ballot(!p, line) == 0; }
    bool all_equal(bool p, unsigned line = __builtin_LINE()) {
        unsigned yes = ballot(p, line), no = ballot(!p, line);
        return yes == 0 || no == 0;
    }

    // Nanoseconds in place of the clocks of a GPU.
    unsigned clock_low() const { return (unsigned)nanoseconds(); }
    unsigned clock_high() const { return (unsigned)(nanoseconds() >> 32); }
    unsigned global_timer() const { return clock_low(); }
    unsigned global_timer_high() const { return clock_high(); }

    // The number of the multiprocessor, which is 0, with those of warp and lane; and the sizes of its parts.
    unsigned virtual_id() const { return number >> 5 << 8 | lane(); }
    unsigned virtual_configuration() const { return 1u << 20; }

    // Gives all other threads of the block a turn before an access of memory that they change: threads of a warp that take
    // turns at each such access do so in step. Returns the address.
    template <class T> T *turn(T *p);

    // Whether an address is one of the shared memory.
    bool is_shared(const void *p) const;

    // For sources that name the lanes which take part.
    template <class T> T exchange(T value, unsigned from, unsigned mask = ~0u, unsigned line = __builtin_LINE());
    unsigned gather(int p, unsigned mask, unsigned line = __builtin_LINE());
    unsigned live_lanes() const;
    void meet_warp(unsigned mask, unsigned line = __builtin_LINE()) { meet(0, EVERY, mask, line); }

private:
    friend class Block;
    Block *owner;
    Fiber *fiber;
    unsigned number;
    bool ended;
    // The barrier at which it waits.
    const void *waits_at;
    // The line at which it waits for other lanes, with a value, and the lane whose value it wants, or a bit of each.
    enum { EVERY = 32 };
    unsigned meets_at;
    unsigned long long brings;
    unsigned wants;
    // What it got.
    unsigned long long got;

    static unsigned long long nanoseconds() {
        return (unsigned long long)std::chrono::steady_clock::now().time_since_epoch().count();
    }
    // Returns the thread of a lane, if it has not ended.
    Thread *of_lane(unsigned lane) const;
    unsigned long long meet(unsigned long long value, unsigned from, unsigned mask, unsigned line);
    void let_meet(unsigned mask) const;
    void wait();
};

// A block that runs.
class Block {
public:
    // Runs all threads of a block.
    void run(Size grid, Size size, uint3 place, const std::function<void(Thread &)> &body) {
        unsigned count = size.x * size.y * size.z;
        threads.assign(count, Thread());
        memset(barriers, 0, sizeof barriers);
        memset(memory, 0, sizeof memory);
        live = count;
        for (unsigned i = 0; i < count; i++) {
            Thread &thread = threads[i];
            thread.index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
            thread.block = place;
            thread.block_size = {size.x, size.y, size.z};
            thread.grid_size = {grid.x, grid.y, grid.z};
            thread.owner = this;
            thread.number = i;
        }
        while (live > 0) {
            moved = false;
            for (Thread &thread : threads)
                if (!thread.ended) step(thread, body);
            if (!moved) {
                fprintf(stderr, "the threads of a block wait for each other\n");
                abort();
            }
        }
    }

    // The thread that runs.
    static Thread *&running() {
        static thread_local Thread *thread;
        return thread;
    }

private:
    friend class Thread;
    struct Barrier {
        unsigned arrived, wanted;
    };
    std::vector<Thread> threads;
    std::vector<std::unique_ptr<Fiber>> all_fibers;
    std::vector<Fiber *> free_fibers;
    Barrier barriers[16];
    unsigned live;
    bool moved;
    int count;
    alignas(16) unsigned char memory[48 << 10];

    void step(Thread &thread, const std::function<void(Thread &)> &body) {
        if (!thread.fiber) {
            if (free_fibers.empty()) {
                all_fibers.emplace_back(new Fiber());
                free_fibers.push_back(all_fibers.back().get());
            }
            thread.fiber = free_fibers.back();
            free_fibers.pop_back();
            Thread *self = &thread;
            thread.fiber->work = [this, self, &body] {
                running() = self;
                body(*self);
                end(*self);
            };
            moved = true;
        }
        Fiber *fiber = thread.fiber;
        running() = &thread;
        fiber->resume();
        if (thread.ended) free_fibers.push_back(fiber);
    }

    void end(Thread &thread) {
        thread.ended = moved = true;
        live--;
        for (Barrier &barrier : barriers)
            if (barrier.arrived > 0 && barrier.wanted == 0 && barrier.arrived >= live) release(barrier);
    }

    void arrive(Barrier &barrier, unsigned wanted) {
        moved = true;
        barrier.wanted = wanted;
        if (++barrier.arrived >= (wanted ? wanted : live)) release(barrier);
    }

    void release(Barrier &barrier) {
        barrier.arrived = 0;
        moved = true;
        for (Thread &thread : threads) {
            if (thread.waits_at == &barrier) thread.waits_at = nullptr;
        }
    }
};

inline void Thread::wait() {
    fiber->pause();
    Block::running() = this;
}

template <class T> T *Thread::shared(size_t) { return (T *)owner->memory; }

template <class T> T *Thread::turn(T *p) {
    owner->moved = true;
    wait();
    return p;
}

inline bool Thread::is_shared(const void *p) const {
    return (uintptr_t)p - (uintptr_t)owner->memory < sizeof owner->memory;
}

inline void Thread::barrier_sync(unsigned barrier_number, unsigned count) {
    Block::Barrier &barrier = owner->barriers[barrier_number & 15];
    waits_at = &barrier;
    owner->arrive(barrier, count);
    while (waits_at) wait();
}

inline void Thread::barrier_arrive(unsigned barrier_number, unsigned count) {
    owner->arrive(owner->barriers[barrier_number & 15], count);
}

inline int Thread::barrier_count(int p) {
    barrier();
    owner->count = 0;
    barrier();
    owner->count += p != 0;
    barrier();
    return owner->count;
}

inline int Thread::barrier_and(int p) { return barrier_count(!p) == 0; }

inline Thread *Thread::of_lane(unsigned lane) const {
    unsigned other = (number & ~31u) + lane;
    return other < owner->threads.size() && !owner->threads[other].ended ? &owner->threads[other] : nullptr;
}

inline unsigned Thread::live_lanes() const {
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (of_lane(lane)) lanes |= 1u << lane;
    return lanes;
}

// Waits for the lanes of a mask. Those that execute the same line exchange their values.
inline unsigned long long Thread::meet(unsigned long long value, unsigned from, unsigned mask, unsigned line) {
    brings = value;
    wants = from;
    meets_at = line;
    owner->moved = true;
    for (;;) {
        let_meet(mask);
        if (!meets_at) break;
        wait();
    }
    owner->moved = true;
    return got;
}

// Once all lanes of a mask wait or have ended, lets those meet that wait at the first line: as on a GPU, what some lanes skip
// is executed before they go on together.
inline void Thread::let_meet(unsigned mask) const {
    unsigned first = ~0u, lanes = 0, bits = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        Thread *other = mask >> lane & 1 ? of_lane(lane) : nullptr;
        if (!other || other->waits_at) continue;
        if (!other->meets_at) return;
        if (other->meets_at < first) first = other->meets_at;
    }
    for (unsigned lane = 0; lane < 32; lane++) {
        Thread *other = mask >> lane & 1 ? of_lane(lane) : nullptr;
        if (!other || other->waits_at || other->meets_at != first) continue;
        lanes |= 1u << lane;
        bits |= (unsigned)(other->brings & 1) << lane;
    }
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1)) continue;
        Thread *other = of_lane(lane);
        unsigned from = other->wants;
        other->got = from == EVERY ? bits : of_lane(lanes >> from & 1 ? from : lane)->brings;
        other->meets_at = 0;
    }
}

template <class T> T Thread::exchange(T value, unsigned from, unsigned mask, unsigned line) {
    static_assert(sizeof(T) <= 8, "a shuffle has at most 64 bits");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = meet(bits, from & 31, mask, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline unsigned Thread::gather(int p, unsigned mask, unsigned line) {
    return (unsigned)meet(p != 0, EVERY, mask, line) & mask;
}

// Addresses of functions. Code that calls one of several functions need not know their types: it passes words, as registers
// hold them, and each function takes those of its arguments.

// The words of arguments, or of a result.
class Words {
    enum { MOST = 256 };
    alignas(16) unsigned char bytes[4 * MOST];
    unsigned used;

    template <class T> unsigned char *next() {
        unsigned start = (used + alignof(T) - 1) / alignof(T) * alignof(T);
        used = start + (sizeof(T) + 3) / 4 * 4;
        if (used > sizeof bytes) abort();
        return bytes + start;
    }

public:
    Words() : used(0) {}
    void restart() { used = 0; }
    // What is narrower than a word fills one.
    template <class T> void put(const T &x) {
        unsigned char *place = next<T>();
        if (sizeof(T) < 4) memset(place, 0, 4);
        memcpy(place, &x, sizeof x);
    }
    template <class T> T take() {
        T x;
        memcpy(&x, next<T>(), sizeof x);
        return x;
    }
};
template <> inline void Words::take<void>() {}

// How a function takes its arguments from words, and leaves its result.
template <class R, class... A> struct Taking {
    typedef R (*Function)(Thread &, A...);
    template <class... Taken>
    static typename std::enable_if<(sizeof...(Taken) < sizeof...(A))>::type run(Function f, Thread &thread, Words &words,
                                                                              Taken... taken) {
        typedef typename std::tuple_element<sizeof...(Taken), std::tuple<A...>>::type Next;
        run(f, thread, words, taken..., words.take<Next>());
    }
    template <class... Taken>
    static typename std::enable_if<sizeof...(Taken) == sizeof...(A)>::type run(Function f, Thread &thread, Words &words,
                                                                             Taken... taken) {
        keep(std::is_void<R>(), f, thread, words, taken...);
    }

private:
    static void keep(std::true_type, Function f, Thread &thread, Words &, A... arguments) { f(thread, arguments...); }
    static void keep(std::false_type, Function f, Thread &thread, Words &words, A... arguments) {
        R result = f(thread, arguments...);
        words.restart();
        words.put(result);
    }
};
template <class F, F f> struct Entry;
template <class R, class... A, R (*f)(Thread &, A...)> struct Entry<R (*)(Thread &, A...), f> {
    static void enter(Thread &thread, Words &words) { Taking<R, A...>::run(f, thread, words); }
};
#define UNSHADE_ADDRESS(f) ((unsigned long long)(uintptr_t)&unshade::Entry<decltype(&f), &f>::enter)

// Calls the function at an address.
template <class R, class... A> R call_at(Thread &thread, unsigned long long address, A... arguments) {
    Words words;
    int order[] = {0, (words.put(arguments), 0)...};
    (void)order;
    words.restart();
    ((void (*)(Thread &, Words &))(uintptr_t)address)(thread, words);
    words.restart();
    return words.take<R>();
}

// Runs a kernel: the numbers of blocks and of threads in a block, the kernel, and its arguments.
template <class... P, class... A>
void launch(Size grid, Size block, void (*kernel)(Thread &, P...), A... arguments) {
    std::unique_ptr<Block> running(new Block());
    uint3 place;
    for (place.z = 0; place.z < grid.z; place.z++)
        for (place.y = 0; place.y < grid.y; place.y++)
            for (place.x = 0; place.x < grid.x; place.x++)
                running->run(grid, block, place, [&](Thread &thread) { kernel(thread, arguments...); });
}

// Subnormal floats.

#if defined __SSE__ || defined _M_X64 || defined __aarch64__
#if defined __aarch64__
typedef unsigned long long FloatMode;
inline FloatMode float_mode() {
    FloatMode mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
inline void set_float_mode(FloatMode mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
static const FloatMode FLUSHING = 1ull << 24;
#else
typedef unsigned FloatMode;
inline FloatMode float_mode() { return _mm_getcsr(); }
inline void set_float_mode(FloatMode mode) { _mm_setcsr(mode); }
static const FloatMode FLUSHING = 0x8040;
#endif

// Makes the processor treat subnormal numbers as zeros, doubles among them, as long as it exists.
class FlushSubnormals {
    FloatMode before;

public:
    FlushSubnormals() : before(float_mode()) { set_float_mode(before | FLUSHING); }
    ~FlushSubnormals() { set_float_mode(before); }
};

inline bool flushes() { return (float_mode() & FLUSHING) != 0; }
#else
inline bool flushes() { return false; }
#endif

// What only moves a float doesn't flush it by itself.
inline float flushed(float x) {
    return std::fabs(x) < 1.17549435e-38f && flushes() ? std::copysign(0.0f, x) : x;
}

// Bits of numbers.

template <class A, class B> inline A bits_of(B b) {
    static_assert(sizeof(A) == sizeof(B), "of one size");
    A a;
    memcpy(&a, &b, sizeof a);
    return a;
}
inline int int_bits(float x) { return bits_of<int>(x); }
inline unsigned uint_bits(float x) { return bits_of<unsigned>(x); }
inline float float_of_bits(int x) { return bits_of<float>(x); }
inline long long long_bits(double x) { return bits_of<long long>(x); }
inline double double_of_bits(long long x) { return bits_of<double>(x); }
inline int high_word(double x) { return (int)(long_bits(x) >> 32); }
inline int low_word(double x) { return (int)long_bits(x); }
inline double double_of_words(int high, int low) {
    return double_of_bits((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

// Floating-point numbers. Nothing is computed at another time than between the changes of the rounding mode.

template <class T> inline T opaque(T value) {
    volatile T kept = value;
    return kept;
}
template <class F> inline auto rounded(int mode, F f) -> decltype(f()) {
    fesetround(mode);
    auto result = opaque(f());
    fesetround(FE_TONEAREST);
    return result;
}

// What is too large or too small for an integer becomes the last one; NaN becomes 0, or the highest bit alone if a number has
// 64 bits.
template <class T, class F> inline T to_integer(int mode, F f) {
    if (f != f) return sizeof(T) == 8 || sizeof(F) == 8 ? (T)(1ull << (sizeof(T) * 8 - 1)) : 0;
    f = rounded(mode, [=] { return std::nearbyint(opaque(f)); });
    const bool has_sign = std::is_signed<T>::value;
    const F end = std::ldexp((F)1, sizeof(T) * 8 - has_sign);
    const T most = has_sign ? (T)((1ull << (sizeof(T) * 8 - 1)) - 1) : (T)~0ull;
    if (f >= end) return most;
    if (has_sign ? f < -end : f < 0) return has_sign ? (T)(1ull << (sizeof(T) * 8 - 1)) : 0;
    return (T)f;
}

#define UNSHADE_FLOAT(T, N, M)                                                                                  \
    inline T add_##N(T a, T b) { return rounded(M, [=] { return opaque(a) + opaque(b); }); }                    \
    inline T subtract_##N(T a, T b) { return rounded(M, [=] { return opaque(a) - opaque(b); }); }               \
    inline T multiply_##N(T a, T b) { return rounded(M, [=] { return opaque(a) * opaque(b); }); }               \
    inline T divide_##N(T a, T b) { return rounded(M, [=] { return opaque(a) / opaque(b); }); }                 \
    inline T sqrt_##N(T a) { return rounded(M, [=] { return std::sqrt(opaque(a)); }); }                         \
    inline T fma_##N(T a, T b, T c) { return rounded(M, [=] { return std::fma(opaque(a), opaque(b), opaque(c)); }); }\
    inline int to_int_##N(T x) { return to_integer<int>(M, x); }                                                \
    inline unsigned to_uint_##N(T x) { return to_integer<unsigned>(M, x); }                                     \
    inline long long to_long_##N(T x) { return to_integer<long long>(M, x); }                                   \
    inline unsigned long long to_ulong_##N(T x) { return to_integer<unsigned long long>(M, x); }
// Conversions of integers name their type: an expression may have the other sign.
#define UNSHADE_CONVERT(F, FROM, N, M)                                                                          \
    inline float FROM##_float_##N(F x) { return rounded(M, [=] { return (float)opaque(x); }); }                 \
    inline double FROM##_double_##N(F x) { return rounded(M, [=] { return (double)opaque(x); }); }
#define UNSHADE_ROUNDING(N, M)                                                                                  \
    UNSHADE_FLOAT(float, N, M) UNSHADE_FLOAT(double, N, M)                                                      \
    UNSHADE_CONVERT(int, int_to, N, M) UNSHADE_CONVERT(unsigned, uint_to, N, M)                                 \
    UNSHADE_CONVERT(long long, long_to, N, M) UNSHADE_CONVERT(unsigned long long, ulong_to, N, M)               \
    UNSHADE_CONVERT(double, to, N, M)
UNSHADE_ROUNDING(rn, FE_TONEAREST)
UNSHADE_ROUNDING(rz, FE_TOWARDZERO)
UNSHADE_ROUNDING(ru, FE_UPWARD)
UNSHADE_ROUNDING(rd, FE_DOWNWARD)
#undef UNSHADE_FLOAT
#undef UNSHADE_CONVERT
#undef UNSHADE_ROUNDING

// Of a number and NaN the number; of two zeros the one with the sign is less.
template <class T> inline T least_or_most(T a, T b, bool most) {
    if (a != a) return b;
    if (b != b) return a;
    bool first = a == b ? std::signbit(a) : a < b;
    return first == most ? b : a;
}
inline float min(float a, float b) { return flushed(least_or_most(a, b, false)); }
inline float max(float a, float b) { return flushed(least_or_most(a, b, true)); }
inline double min(double a, double b) { return least_or_most(a, b, false); }
inline double max(double a, double b) { return least_or_most(a, b, true); }
inline float saturate(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline float sin_rn(float x) { return (float)std::sin((double)x); }
inline float cos_rn(float x) { return (float)std::cos((double)x); }
inline float log2_rn(float x) { return (float)std::log2((double)x); }
inline float reciprocal_sqrt(float x) { return (float)(1.0 / std::sqrt((double)x)); }
inline double reciprocal_sqrt(double x) { return 1.0 / std::sqrt(x); }
inline float power_of_ten(float x) { return (float)std::pow(10.0, (double)x); }
inline double power_of_ten(double x) { return std::pow(10.0, x); }
inline double sin_pi(double x) { return std::sin(3.14159265358979323846 * std::fmod(x, 2.0)); }
inline float sin_pi(float x) { return (float)sin_pi((double)x); }
inline double cos_pi(double x) { return std::cos(3.14159265358979323846 * std::fmod(x, 2.0)); }
inline float cos_pi(float x) { return (float)cos_pi((double)x); }
inline double normal_distribution(double x) { return 0.5 * std::erfc(-0.70710678118654752440 * x); }
inline float normal_distribution(float x) { return (float)normal_distribution((double)x); }

// Integers.

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long max(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
// Those of two types are of the type that their sum has.
template <class A, class B> struct Mixed {
    typedef typename std::enable_if<std::is_integral<A>::value && std::is_integral<B>::value &&
                                        !std::is_same<A, B>::value,
                                    typename std::common_type<A, B>::type>::type type;
};
template <class A, class B> inline typename Mixed<A, B>::type min(A a, B b) {
    typedef typename Mixed<A, B>::type T;
    return min((T)a, (T)b);
}
template <class A, class B> inline typename Mixed<A, B>::type max(A a, B b) {
    typedef typename Mixed<A, B>::type T;
    return max((T)a, (T)b);
}
inline int count_ones(unsigned x) {
    int count = 0;
    for (; x; x &= x - 1) count++;
    return count;
}
inline int count_ones_long(unsigned long long x) { return count_ones((unsigned)x) + count_ones((unsigned)(x >> 32)); }
inline int leading_zeros_long(unsigned long long x) {
    int count = 64;
    for (; x; x >>= 1) count--;
    return count;
}
inline int leading_zeros(unsigned x) { return leading_zeros_long(x) - 32; }
inline unsigned reverse_bits(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++) reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}
inline int multiply_high_signed(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned multiply_high(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline unsigned long long multiply_high_long(unsigned long long a, unsigned long long b) {
    unsigned long long low = (a & 0xffffffff) * (b & 0xffffffff);
    unsigned long long middle = (a >> 32) * (b & 0xffffffff) + (low >> 32);
    unsigned long long other = (a & 0xffffffff) * (b >> 32) + (middle & 0xffffffff);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}
inline unsigned permute_bytes(unsigned a, unsigned b, unsigned selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = selector >> (4 * i) & 15, byte = both >> (8 * (pick & 7)) & 255;
        if (pick & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}
template <class F> inline unsigned each_byte(unsigned a, unsigned b, F f) {
    unsigned result = 0;
    for (int i = 0; i < 32; i += 8) result |= (unsigned)(f((int)(a >> i & 255), (int)(b >> i & 255)) & 255) << i;
    return result;
}
inline unsigned add_bytes(unsigned a, unsigned b) { return each_byte(a, b, [](int x, int y) { return x + y; }); }
inline unsigned min_bytes(unsigned a, unsigned b) { return each_byte(a, b, [](int x, int y) { return x < y ? x : y; }); }
inline unsigned byte_differences(unsigned a, unsigned b) {
    return each_byte(a, b, [](int x, int y) { return x < y ? y - x : x - y; });
}
inline unsigned sum_of_byte_differences(unsigned a, unsigned b) {
    unsigned d = byte_differences(a, b);
    return (d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24);
}

// Memory: no other thread of the launch runs meanwhile.

template <class T> struct Same {
    typedef T type;
};
template <class T> inline T atomic_exchange(T *p, typename Same<T>::type x) {
    T old = *p;
    *p = x;
    return old;
}
template <class T> inline T atomic_add(T *p, typename Same<T>::type x) { return atomic_exchange(p, (T)(*p + x)); }
template <class T> inline T atomic_min(T *p, typename Same<T>::type x) { return atomic_exchange(p, *p < x ? *p : x); }
template <class T> inline T atomic_max(T *p, typename Same<T>::type x) { return atomic_exchange(p, *p < x ? x : *p); }
template <class T> inline T atomic_and(T *p, typename Same<T>::type x) { return atomic_exchange(p, (T)(*p & x)); }
template <class T> inline T atomic_or(T *p, typename Same<T>::type x) { return atomic_exchange(p, (T)(*p | x)); }
template <class T> inline T atomic_xor(T *p, typename Same<T>::type x) { return atomic_exchange(p, (T)(*p ^ x)); }
inline unsigned atomic_inc(unsigned *p, unsigned most) { return atomic_exchange(p, *p >= most ? 0 : *p + 1); }
inline unsigned atomic_dec(unsigned *p, unsigned most) {
    return atomic_exchange(p, *p == 0 || *p > most ? most : *p - 1);
}
template <class T>
inline T atomic_compare_exchange(T *p, typename Same<T>::type expected, typename Same<T>::type x) {
    return atomic_exchange(p, *p == expected ? x : *p);
}
inline unsigned atomic_safe_add(unsigned *p, unsigned x) { return atomic_add(p, x); }
inline void memory_fence() {}
inline void trap() { abort(); }
inline void assert_failed(const void *condition, const void *file, unsigned line, const void *function, unsigned long long) {
    fprintf(stderr, "%s:%u: %s: %s does not hold\n", (const char *)file, line, (const char *)function,
                 (const char *)condition);
    abort();
}

// Images: what textures and surfaces access. Elements have up to four words of 32 bits. Samples take the nearest element,
// those outside the one at the edge; there is one level. `handle` makes the 64-bit number that a kernel takes for a texture or
// surface object; a texture or surface that is a variable has a pointer to its image.

struct Image {
    unsigned width, height, depth;
    unsigned element_size;
    void *data;

    unsigned char *element(long long x, long long y, long long z) const {
        return (unsigned char *)data + ((z * height + y) * width + x) * element_size;
    }
    // Zero outside.
    template <class T> T fetch(long long x, long long y, long long z) const {
        unsigned words[4] = {0, 0, 0, 0};
        if (x >= 0 && y >= 0 && z >= 0 && x < width && y < height && z < depth)
            memcpy(words, element(x, y, z), element_size < sizeof words ? element_size : sizeof words);
        T value;
        memcpy((void *)&value, words, sizeof value);
        return value;
    }
    template <class T> T sample(float x, float y, float z) const {
        return fetch<T>(nearest(x, width), nearest(y, height), nearest(z, depth));
    }
    static long long nearest(float x, unsigned size) {
        return x >= (float)size ? size - 1ll : x >= 0 ? (long long)x : 0;
    }
};

inline unsigned long long handle(const Image &image) { return (unsigned long long)(uintptr_t)&image; }

template <class T> struct Texture {
    const Image *image;
};
struct Surface {
    const Image *image;
};

// What an access outside of a surface does: it ends the program, goes to the nearest element, or reads zero and writes
// nothing.
enum Outside { TRAP, CLAMP, ZERO };

// Returns the place of an element whose x coordinate is in bytes.
inline unsigned char *in_surface(const Image &image, size_t size, int x, int y, int z, Outside outside) {
    long long row = (long long)image.width * image.element_size;
    bool inside = x >= 0 && y >= 0 && z >= 0 && x + (long long)size <= row && y < (long long)image.height &&
                  z < (long long)image.depth;
    if (!inside && outside == TRAP) {
        fprintf(stderr, "outside of a surface: %d %d %d\n", x, y, z);
        abort();
    }
    if (!inside && outside == ZERO) return nullptr;
    long long at[3] = {x, y, z}, last[3] = {row - (long long)size, image.height - 1ll, image.depth - 1ll};
    for (int i = 0; i < 3; i++) at[i] = at[i] < 0 ? 0 : at[i] > last[i] ? last[i] : at[i];
    return image.element(0, at[1], at[2]) + at[0];
}
template <class T> inline T read_surface(const Image &image, int x, int y, int z, Outside outside) {
    T value;
    memset((void *)&value, 0, sizeof value);
    if (unsigned char *place = in_surface(image, sizeof value, x, y, z, outside))
        memcpy((void *)&value, place, sizeof value);
    return value;
}
template <class T> inline void write_surface(T value, const Image &image, int x, int y, int z, Outside outside) {
    if (unsigned char *place = in_surface(image, sizeof value, x, y, z, outside))
        memcpy((void *)place, &value, sizeof value);
}

// `sample_2d(picture, x, y)` of a texture, `sample_2d<float4>(object, x, y)` of a texture object. The last coordinate of an
// array is the layer. The level of `sample_level_2d` and the like is ignored: there is one.
#define UNSHADE_TEXTURE(NAME, CALL, ...)                                                                     \
    template <class T> inline T NAME(const Texture<T> &texture, __VA_ARGS__) { return texture.image->CALL; } \
    template <class T> inline T NAME(unsigned long long object, __VA_ARGS__) {                               \
        return ((const Image *)(uintptr_t)object)->CALL;                                                     \
    }
UNSHADE_TEXTURE(sample_1d, template sample<T>(x, 0, 0), float x)
UNSHADE_TEXTURE(sample_1d_array, template sample<T>(x, (float)layer, 0), float x, int layer)
UNSHADE_TEXTURE(sample_2d, template sample<T>(x, y, 0), float x, float y)
UNSHADE_TEXTURE(sample_2d_array, template sample<T>(x, y, (float)layer), float x, float y, int layer)
UNSHADE_TEXTURE(sample_3d, template sample<T>(x, y, z), float x, float y, float z)
UNSHADE_TEXTURE(sample_level_1d, template sample<T>(x, 0, 0), float x, float)
UNSHADE_TEXTURE(sample_level_1d_array, template sample<T>(x, (float)layer, 0), float x, int layer, float)
UNSHADE_TEXTURE(sample_level_2d, template sample<T>(x, y, 0), float x, float y, float)
UNSHADE_TEXTURE(sample_level_2d_array, template sample<T>(x, y, (float)layer), float x, float y, int layer, float)
UNSHADE_TEXTURE(sample_level_3d, template sample<T>(x, y, z), float x, float y, float z, float)
UNSHADE_TEXTURE(fetch_1d, template fetch<T>(x, 0, 0), int x)
#undef UNSHADE_TEXTURE

// `read_2d<float>(surface, x, y)` and `write_2d<float>(value, surface, x, y)`, with a surface or a surface object.
#define UNSHADE_SURFACE(SHAPE, X, Y, Z, ...)                                                                 \
    template <class T> inline T read_##SHAPE(const Surface &surface, __VA_ARGS__, Outside outside = TRAP) {  \
        return read_surface<T>(*surface.image, X, Y, Z, outside);                                            \
    }                                                                                                        \
    template <class T> inline T read_##SHAPE(unsigned long long object, __VA_ARGS__, Outside outside = TRAP) { \
        return read_surface<T>(*(const Image *)(uintptr_t)object, X, Y, Z, outside);                         \
    }                                                                                                        \
    template <class T>                                                                                       \
    inline void write_##SHAPE(T value, const Surface &surface, __VA_ARGS__, Outside outside = TRAP) {        \
        write_surface(value, *surface.image, X, Y, Z, outside);                                              \
    }                                                                                                        \
    template <class T>                                                                                       \
    inline void write_##SHAPE(T value, unsigned long long object, __VA_ARGS__, Outside outside = TRAP) {     \
        write_surface(value, *(const Image *)(uintptr_t)object, X, Y, Z, outside);                           \
    }
UNSHADE_SURFACE(1d, x, 0, 0, int x)
UNSHADE_SURFACE(1d_array, x, layer, 0, int x, int layer)
UNSHADE_SURFACE(2d, x, y, 0, int x, int y)
UNSHADE_SURFACE(2d_array, x, y, layer, int x, int y, int layer)
UNSHADE_SURFACE(3d, x, y, z, int x, int y, int z)
#undef UNSHADE_SURFACE

} // namespace unshade

#endif
