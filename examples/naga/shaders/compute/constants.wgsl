// groups 1 1 1
// buffer 0 0: zero 16
const SCALE = 3;
const TABLE = array<i32, 4>(10, 20, 30, 40);
const OFFSETS = vec4i(1, -1, 2, -2) * SCALE;
override bias: i32 = 5;
@group(0) @binding(0) var<storage, read_write> out: array<i32, 16>;

@compute @workgroup_size(16)
fn compute(@builtin(local_invocation_index) i: u32) {
    out[i] = TABLE[i % 4u] * SCALE + OFFSETS[i / 4u] + bias;
}
