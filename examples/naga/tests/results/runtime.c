// What a compute shader runs on here: the functions of AIR and DXIL that shaders call, threads as contexts that take
// turns at barriers, and a program that reads a job and prints the buffers.
#define _GNU_SOURCE
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

// DXIL. A handle is a row of the table of the job: class (0 read, 1 written, 2 constants), number in it, buffer.
typedef struct { uint32_t class, number, buffer, bytes; uint8_t *data; } Handle;
static Handle *handles;
static uint32_t handle_count;

Handle *dxil_handle(uint32_t op, uint8_t class, uint32_t number) NAMED("dx.op.createHandle");
Handle *dxil_handle(uint32_t op, uint8_t class, uint32_t number) {
    for (uint32_t h = 0; h < handle_count; h++)
        if (handles[h].class == class && handles[h].number == number) return &handles[h];
    exit(4);
}

// Returns the words from an offset on; what is outside of the buffer is 0.
uint32_t *dxil_words(Handle *h, uint32_t at) {
    static uint32_t words[8];
    memset(words, 0, sizeof words);
    if (at < h->bytes) memcpy(words, h->data + at, h->bytes - at < 16 ? h->bytes - at : 16);
    return words;
}
uint32_t dxil_size(Handle *h) { return h->bytes; }

static void store(Handle *h, uint32_t at, const void *values, uint8_t mask) {
    for (int i = 0; i < 4; i++)
        if (mask >> i & 1 && at + 4 * i + 4 <= h->bytes) memcpy(h->data + at + 4 * i, (const char *)values + 4 * i, 4);
}
#define STORE(type, name) \
    void dxil_store_##name(int op, Handle *h, uint32_t at, uint32_t o, type a, type b, type c, type d, uint8_t mask) \
        NAMED("dx.op.bufferStore." #name); \
    void dxil_store_##name(int op, Handle *h, uint32_t at, uint32_t o, type a, type b, type c, type d, uint8_t mask) \
    { type values[4] = {a, b, c, d}; store(h, at, values, mask); }
STORE(uint32_t, i32)
STORE(float, f32)

static uint32_t *atom(Handle *h, uint32_t at) {
    static uint32_t nothing;
    return at + 4 <= h->bytes ? (uint32_t *)(h->data + at) : &nothing;
}
uint32_t dxil_atomic(int op, Handle *h, uint32_t f, uint32_t at, uint32_t y, uint32_t z, uint32_t v)
    NAMED("dx.op.atomicBinOp.i32");
uint32_t dxil_atomic(int op, Handle *h, uint32_t f, uint32_t at, uint32_t y, uint32_t z, uint32_t v) {
    uint32_t *p = atom(h, at), o = *p;
    switch (f) {
    case 0: *p = o + v; break;
    case 1: *p = o & v; break;
    case 2: *p = o | v; break;
    case 3: *p = o ^ v; break;
    case 4: *p = (int32_t)o < (int32_t)v ? o : v; break;
    case 5: *p = (int32_t)o > (int32_t)v ? o : v; break;
    case 6: *p = o < v ? o : v; break;
    case 7: *p = o > v ? o : v; break;
    case 8: *p = v; break;
    default: exit(4);
    }
    return o;
}
uint32_t dxil_exchange(int op, Handle *h, uint32_t at, uint32_t y, uint32_t z, uint32_t e, uint32_t v)
    NAMED("dx.op.atomicCompareExchange.i32");
uint32_t dxil_exchange(int op, Handle *h, uint32_t at, uint32_t y, uint32_t z, uint32_t e, uint32_t v) {
    uint32_t *p = atom(h, at), o = *p;
    if (o == e) *p = v;
    return o;
}

#define ID(c_name, name, first) \
    uint32_t c_name(int op, uint32_t i) NAMED("dx.op." name ".i32"); \
    uint32_t c_name(int op, uint32_t i) { return ids[current * 16 + first + i]; }
ID(dxil_thread_id, "threadId", 0)
ID(dxil_local_id, "threadIdInGroup", 3)
ID(dxil_group_id, "groupId", 7)
uint32_t dxil_index(int op) NAMED("dx.op.flattenedThreadIdInGroup.i32");
uint32_t dxil_index(int op) { return current; }

void dxil_barrier(int op, uint32_t mode) NAMED("dx.op.barrier");
void dxil_barrier(int op, uint32_t mode) { if (mode & 1) wait_at_barrier(); }

float dxil_unary(uint32_t op, float x) NAMED("dx.op.unary.f32");
float dxil_unary(uint32_t op, float x) {
    switch (op) {
    case 6: return fabsf(x);
    case 7: return fminf(fmaxf(x, 0.0f), 1.0f);
    case 12: return cosf(x);
    case 13: return sinf(x);
    case 14: return tanf(x);
    case 15: return acosf(x);
    case 16: return asinf(x);
    case 17: return atanf(x);
    case 18: return coshf(x);
    case 19: return sinhf(x);
    case 20: return tanhf(x);
    case 21: return exp2f(x);
    case 23: return log2f(x);
    case 24: return sqrtf(x);
    case 25: return 1.0f / sqrtf(x);
    case 26: return rintf(x);
    case 27: return floorf(x);
    case 28: return ceilf(x);
    case 29: return truncf(x);
    default: exit(4);
    }
}
uint32_t dxil_reverse(int op, uint32_t x) NAMED("dx.op.unary.i32");
uint32_t dxil_reverse(int op, uint32_t x) { return reversed(x); }
uint32_t dxil_bits(uint32_t op, uint32_t x) NAMED("dx.op.unaryBits.i32");
uint32_t dxil_bits(uint32_t op, uint32_t x) {
    switch (op) {
    case 31: return __builtin_popcount(x);
    case 32: return x ? __builtin_ctz(x) : -1;
    case 33: return x ? __builtin_clz(x) : -1;
    default: exit(4);
    }
}
float dxil_binary(uint32_t op, float x, float y) NAMED("dx.op.binary.f32");
float dxil_binary(uint32_t op, float x, float y) { return op == 35 ? fmaxf(x, y) : fminf(x, y); }
uint32_t dxil_binary_i(uint32_t op, uint32_t x, uint32_t y) NAMED("dx.op.binary.i32");
uint32_t dxil_binary_i(uint32_t op, uint32_t x, uint32_t y) {
    switch (op) {
    case 37: return (int32_t)x > (int32_t)y ? x : y;
    case 38: return (int32_t)x < (int32_t)y ? x : y;
    case 39: return x > y ? x : y;
    case 40: return x < y ? x : y;
    default: exit(4);
    }
}
float dxil_tertiary(uint32_t op, float x, float y, float z) NAMED("dx.op.tertiary.f32");
float dxil_tertiary(uint32_t op, float x, float y, float z) { return x * y + z; }
uint32_t dxil_half(int op, float x) NAMED("dx.op.legacyF32ToF16");
uint32_t dxil_half(int op, float x) { return _cvtss_sh(x, 0); }
float dxil_float(int op, uint32_t x) NAMED("dx.op.legacyF16ToF32");
float dxil_float(int op, uint32_t x) { return _cvtsh_ss(x); }

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
    handle_count = word();
    handles = calloc(handle_count, sizeof *handles);
    for (uint32_t h = 0; h < handle_count; h++) {
        Handle *of = &handles[h];
        of->class = word();
        of->number = word();
        of->buffer = word();
        // After the buffers of the job come the numbers of groups.
        of->data = of->buffer < count ? (uint8_t *)(uintptr_t)buffers[of->buffer] : (uint8_t *)groups;
        of->bytes = of->buffer < count ? lengths[of->buffer] * 4 : sizeof groups;
    }
    for (group[2] = 0; group[2] < groups[2]; group[2]++)
        for (group[1] = 0; group[1] < groups[1]; group[1]++)
            for (group[0] = 0; group[0] < groups[0]; group[0]++) run_group(groups, size, group);
    for (uint32_t b = 0; b < count; b++) fwrite((void *)(uintptr_t)buffers[b], 4, lengths[b], stdout);
    return 0;
}
