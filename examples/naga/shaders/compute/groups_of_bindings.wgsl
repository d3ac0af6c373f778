// groups 1 1 1
// buffer 0 2: u32 iota 4
// buffer 1 0: u32 iota 4
// buffer 3 1: zero 4
@group(1) @binding(0) var<uniform> scale: vec4u;
@group(0) @binding(2) var<storage> a: array<u32, 4>;
@group(3) @binding(1) var<storage, read_write> out: array<u32, 4>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    out[i] = a[i] * 100u + scale.w + scale[i];
}
