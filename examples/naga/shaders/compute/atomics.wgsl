// groups 4 1 1
// buffer 0 0: u32 0 0 4294967295 0 0 4294967295 0 0
// buffer 0 1: i32 0 1000 -1000 0
@group(0) @binding(0) var<storage, read_write> a: array<atomic<u32>, 8>;
@group(0) @binding(1) var<storage, read_write> b: array<atomic<i32>, 4>;

@compute @workgroup_size(16)
fn compute(@builtin(global_invocation_id) id: vec3u) {
    let x = id.x;
    atomicAdd(&a[0], x);
    atomicMax(&a[1], x * 3u);
    atomicMin(&a[2], x + 5u);
    atomicOr(&a[3], 1u << (x & 31u));
    atomicXor(&a[4], x * x);
    atomicAnd(&a[5], ~(1u << (x % 20u)));
    atomicSub(&a[6], 2u);
    if atomicAdd(&a[7], 1u) == 63u { atomicStore(&b[3], i32(atomicLoad(&a[7]))); }
    atomicAdd(&b[0], -i32(x));
    atomicMin(&b[1], 10 - i32(x));
    atomicMax(&b[2], i32(x) - 100);
}
