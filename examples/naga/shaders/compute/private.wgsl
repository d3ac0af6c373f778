// groups 1 1 1
// buffer 0 0: zero 8
var<private> seed: u32 = 17u;
var<private> history: array<u32, 4>;
@group(0) @binding(0) var<storage, read_write> out: array<u32, 8>;

fn next() -> u32 {
    seed = seed * 1664525u + 1013904223u;
    history[seed >> 30u] += 1u;
    return seed >> 16u;
}

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    seed += i;
    var x = 0u;
    for (var k = 0u; k < 20u; k++) { x ^= next(); }
    out[i] = x + history[0] * 65536u + history[3] * 16777216u;
}
