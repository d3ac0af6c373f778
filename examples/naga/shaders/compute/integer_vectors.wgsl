// groups 1 1 1
// buffer 0 0: i32 1 -2 3 -4 5 -6 7 -8 9 10 -11 12 -13 14 15 -16
// buffer 0 1: zero 64
@group(0) @binding(0) var<storage> a: array<vec4i, 4>;
@group(0) @binding(1) var<storage, read_write> out: array<array<vec4i, 4>, 4>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    let v = a[i];
    let w = a[(i + 1u) & 3u];
    out[0][i] = v * w + vec4i(dot(v, w));
    out[1][i] = (v / w.wzyx) % vec4i(3);
    out[2][i] = max(abs(v), w) << vec4u(1u, 2u, 3u, 4u);
    out[3][i] = vec4i(v.xy >> vec2u(1u), min(v.zw, w.xy));
}
