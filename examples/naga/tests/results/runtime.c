// What a compute shader runs on here: the functions of AIR that shaders call, threads as contexts that take turns at
// barriers, and a program that reads a job and prints the buffers.
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

void run_thread(uint64_t *buffers, uint32_t *ids);

#define NAMED(name) __asm__(name)
#define FLOAT1(air, expression) \
    float air_##air(float x) NAMED("air." #air ".f32"); \
    float air_##air(float x) { return expression; }
#define FLOAT2(air, expression) \
    float air_##air(float x, float y) NAMED("air." #air ".f32"); \
    float air_##air(float x, float y) { return expression; }

FLOAT1(fabs, fabsf(x))
FLOAT1(acos, acosf(x))
FLOAT1(acosh, acoshf(x))
FLOAT1(asin, asinf(x))
FLOAT1(asinh, asinhf(x))
FLOAT1(atan, atanf(x))
FLOAT1(atanh, atanhf(x))
FLOAT1(ceil, ceilf(x))
FLOAT1(cos, cosf(x))
FLOAT1(cosh, coshf(x))
FLOAT1(exp, expf(x))
FLOAT1(exp2, exp2f(x))
FLOAT1(floor, floorf(x))
FLOAT1(log, logf(x))
FLOAT1(log2, log2f(x))
FLOAT1(rint, rintf(x))
FLOAT1(rsqrt, 1.0f / sqrtf(x))
FLOAT1(saturate, fminf(fmaxf(x, 0.0f), 1.0f))
FLOAT1(sin, sinf(x))
FLOAT1(sinh, sinhf(x))
FLOAT1(sqrt, sqrtf(x))
FLOAT1(tan, tanf(x))
FLOAT1(tanh, tanhf(x))
FLOAT1(trunc, truncf(x))
FLOAT2(atan2, atan2f(x, y))
FLOAT2(fmax, fmaxf(x, y))
FLOAT2(fmin, fminf(x, y))
FLOAT2(pow, powf(x, y))

float air_fma(float x, float y, float z) NAMED("air.fma.f32");
float air_fma(float x, float y, float z) { return fmaf(x, y, z); }

#define INTEGER(type, c_name, name, arguments, expression) \
    type c_name arguments NAMED(name); \
    type c_name arguments { return expression; }

INTEGER(int32_t, air_abs, "air.abs.s.i32", (int32_t x), x < 0 ? (int32_t)(0u - (uint32_t)x) : x)
INTEGER(int32_t, air_max_s, "air.max.s.i32", (int32_t x, int32_t y), x > y ? x : y)
INTEGER(int32_t, air_min_s, "air.min.s.i32", (int32_t x, int32_t y), x < y ? x : y)
INTEGER(uint32_t, air_max_u, "air.max.u.i32", (uint32_t x, uint32_t y), x > y ? x : y)
INTEGER(uint32_t, air_min_u, "air.min.u.i32", (uint32_t x, uint32_t y), x < y ? x : y)
INTEGER(uint32_t, air_clz, "air.clz.i32", (uint32_t x), x ? __builtin_clz(x) : 32)
INTEGER(uint32_t, air_ctz, "air.ctz.i32", (uint32_t x), x ? __builtin_ctz(x) : 32)
INTEGER(uint32_t, air_popcount, "air.popcount.i32", (uint32_t x), __builtin_popcount(x))
INTEGER(float, air_float_s, "air.convert.f.f32.s.i32", (int32_t x), (float)x)
INTEGER(float, air_float_u, "air.convert.f.f32.u.i32", (uint32_t x), (float)x)
INTEGER(int32_t, air_int, "air.convert.s.i32.f.f32", (float x), (int32_t)x)
INTEGER(uint32_t, air_uint, "air.convert.u.i32.f.f32", (float x), (uint32_t)x)

static uint32_t reversed(uint32_t x) {
    uint32_t y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
    return y;
}
INTEGER(uint32_t, air_reverse, "air.reverse_bits.i32", (uint32_t x), reversed(x))

// Threads take turns, so that an atomic operation is an ordinary one.
#define ATOMIC(id, name, type, expression) \
    type id(type *p, type v) NAMED("air.atomic." name); \
    type id(type *p, type v) { type o = *p; *p = expression; return o; }
#define ATOMICS(id, space) \
    ATOMIC(id##_add_u, space ".add.u.i32", uint32_t, o + v) \
    ATOMIC(id##_add_s, space ".add.s.i32", uint32_t, o + v) \
    ATOMIC(id##_sub_u, space ".sub.u.i32", uint32_t, o - v) \
    ATOMIC(id##_sub_s, space ".sub.s.i32", uint32_t, o - v) \
    ATOMIC(id##_and_u, space ".and.u.i32", uint32_t, o & v) \
    ATOMIC(id##_and_s, space ".and.s.i32", uint32_t, o & v) \
    ATOMIC(id##_or_u, space ".or.u.i32", uint32_t, o | v) \
    ATOMIC(id##_or_s, space ".or.s.i32", uint32_t, o | v) \
    ATOMIC(id##_xor_u, space ".xor.u.i32", uint32_t, o ^ v) \
    ATOMIC(id##_xor_s, space ".xor.s.i32", uint32_t, o ^ v) \
    ATOMIC(id##_min_u, space ".min.u.i32", uint32_t, o < v ? o : v) \
    ATOMIC(id##_min_s, space ".min.s.i32", int32_t, o < v ? o : v) \
    ATOMIC(id##_max_u, space ".max.u.i32", uint32_t, o > v ? o : v) \
    ATOMIC(id##_max_s, space ".max.s.i32", int32_t, o > v ? o : v) \
    ATOMIC(id##_xchg, space ".xchg.i32", uint32_t, v) \
    uint32_t id##_load(uint32_t *p) NAMED("air.atomic." space ".load.i32"); \
    uint32_t id##_load(uint32_t *p) { return *p; } \
    void id##_store(uint32_t *p, uint32_t v) NAMED("air.atomic." space ".store.i32"); \
    void id##_store(uint32_t *p, uint32_t v) { *p = v; } \
    uint32_t id##_cas(uint32_t *p, uint32_t *e, uint32_t v) NAMED("air.atomic." space ".cmpxchg.weak.i32"); \
    uint32_t id##_cas(uint32_t *p, uint32_t *e, uint32_t v) \
    { uint32_t o = *p; if (o == *e) *p = v; *e = o; return o; }
ATOMICS(air_global, "global")
ATOMICS(air_local, "local")

enum { STACK = 1 << 17 };
static ucontext_t scheduler, *threads;
static uint32_t current, *ids;
static char *done;
static uint64_t *buffers;

void wait_at_barrier(void) NAMED("air.wg.barrier");
void wait_at_barrier(void) { swapcontext(&threads[current], &scheduler); }

static void thread(void) {
    run_thread(buffers, ids + current * 16);
    done[current] = 1;
    swapcontext(&threads[current], &scheduler);
}

static void run_group(const uint32_t *groups, const uint32_t *size, const uint32_t *group) {
    static char *stacks;
    uint32_t count = size[0] * size[1] * size[2];
    if (!stacks) {
        stacks = malloc((size_t)count * STACK);
        threads = calloc(count, sizeof *threads);
        ids = calloc(count, 16 * sizeof *ids);
        done = malloc(count);
    }
    for (uint32_t t = 0; t < count; t++) {
        uint32_t local[3] = {t % size[0], t / size[0] % size[1], t / size[0] / size[1]};
        for (int i = 0; i < 3; i++) {
            uint32_t *of = ids + t * 16 + i;
            of[0] = group[i] * size[i] + local[i];
            of[3] = local[i];
            of[7] = group[i];
            of[10] = groups[i];
        }
        ids[t * 16 + 6] = t;
        done[t] = 0;
        getcontext(&threads[t]);
        threads[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
        threads[t].uc_stack.ss_size = STACK;
        makecontext(&threads[t], thread, 0);
    }
    for (uint32_t left = count; left;) {
        for (current = 0; current < count; current++) {
            if (done[current]) continue;
            swapcontext(&scheduler, &threads[current]);
            left -= done[current];
        }
    }
}

static uint32_t word(void) {
    uint32_t word;
    if (fread(&word, 4, 1, stdin) != 1) exit(3);
    return word;
}

int main(void) {
    uint32_t groups[3], size[3], group[3];
    for (int i = 0; i < 3; i++) groups[i] = word();
    for (int i = 0; i < 3; i++) size[i] = word();
    uint32_t count = word(), *lengths = calloc(count, 4);
    buffers = calloc(count, sizeof *buffers);
    for (uint32_t b = 0; b < count; b++) {
        lengths[b] = word();
        uint32_t *data = aligned_alloc(64, (lengths[b] * 4 + 127) / 64 * 64);
        for (uint32_t i = 0; i < lengths[b]; i++) data[i] = word();
        buffers[b] = (uint64_t)(uintptr_t)data;
    }
    for (group[2] = 0; group[2] < groups[2]; group[2]++)
        for (group[1] = 0; group[1] < groups[1]; group[1]++)
            for (group[0] = 0; group[0] < groups[0]; group[0]++) run_group(groups, size, group);
    for (uint32_t b = 0; b < count; b++) fwrite((void *)(uintptr_t)buffers[b], 4, lengths[b], stdout);
    return 0;
}
