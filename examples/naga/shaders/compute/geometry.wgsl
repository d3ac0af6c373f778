// groups 1 1 1
// tolerance 64
// buffer 0 0: f32 1 2 2 0 -1 0.5 3 0 0.25 0.25 -2 0 4 -3 1 0
// buffer 0 1: zero 64
@group(0) @binding(0) var<storage> a: array<vec3f, 4>;
@group(0) @binding(1) var<storage, read_write> out: array<array<vec4f, 4>, 4>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    let v = a[i];
    let n = normalize(v);
    out[0][i] = vec4f(n, 0.0);
    out[1][i] = vec4f(reflect(v, vec3f(0.0, 1.0, 0.0)), 0.0);
    out[2][i] = vec4f(refract(n, vec3f(0.0, 0.0, 1.0), 0.8), smoothstep(0.0, 4.0, v.x));
    out[3][i] = vec4f(faceForward(v, v, vec3f(1.0, 0.0, 0.0)), 0.0);
}
