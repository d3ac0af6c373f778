// groups 1 1 1
// tolerance 16
// buffer 0 0: f32 ramp 64 -3 0.5
// buffer 0 1: zero 64
struct Input { m: mat4x4f, n: mat3x3f, p: mat2x2f, q: mat2x3f }
@group(0) @binding(0) var<storage> in: Input;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f, 16>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    let v = vec4f(f32(i), 1.0, 2.0, -1.0);
    out[i] = in.m * v;
    out[4u + i] = v * in.m;
    let mm = in.n * transpose(in.n);
    out[8u + i] = vec4f(mm[i % 3u], determinant(in.p));
    let r = in.q * vec2f(f32(i), 1.0) + in.n * vec3f(1.0, 2.0, 3.0);
    out[12u + i] = vec4f(r, in.p[i & 1u].y * 2.0) + (in.m * 2.0)[i];
}
