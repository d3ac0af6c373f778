// groups 1 1 1
// buffer 0 0: u32 5 0 0 7
// buffer 0 1: zero 16
@group(0) @binding(0) var<storage, read_write> a: array<atomic<u32>, 4>;
@group(0) @binding(1) var<storage, read_write> out: array<u32, 16>;

@compute @workgroup_size(1)
fn compute() {
    out[0] = atomicExchange(&a[0], 9u);
    out[1] = atomicLoad(&a[0]);
    let first = atomicCompareExchangeWeak(&a[3], 7u, 11u);
    out[2] = first.old_value;
    out[3] = u32(first.exchanged);
    let second = atomicCompareExchangeWeak(&a[3], 7u, 12u);
    out[4] = second.old_value;
    out[5] = u32(second.exchanged);
    out[6] = atomicLoad(&a[3]);
    for (var i = 0u; i < 5u; i++) { out[7u + i] = atomicAdd(&a[1], i * i); }
}
