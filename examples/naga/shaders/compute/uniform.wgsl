// groups 1 1 1
// buffer 0 0: f32 ramp 64 1 1
// buffer 0 1: zero 32
struct Inner { scale: vec2f, offset: f32 }
struct Uniforms {
    matrix: mat4x4f,
    color: vec3f,
    count: f32,
    list: array<vec4f, 4>,
    pair: mat2x2f,
    inner: Inner,
}
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read_write> out: array<vec4f, 8>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    out[i] = u.matrix[i] + u.list[3u - i];
    out[4u + i] = vec4f(u.color[min(i, 2u)], u.count, u.pair[i & 1u].y, u.inner.scale.y + u.inner.offset);
}
