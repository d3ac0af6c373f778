// groups 1 1 1
// tolerance 8
// buffer 0 0: f32 ramp 32 1 0.75
// buffer 0 1: zero 64
struct Pair { a: vec3f, s: f32, b: vec3f, t: f32 }
@group(0) @binding(0) var<storage> pairs: array<Pair, 4>;
@group(0) @binding(1) var<storage, read_write> out: array<array<vec4f, 4>, 4>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    let p = pairs[i];
    out[0][i] = vec4f(cross(p.a, p.b), dot(p.a, p.b));
    out[1][i] = vec4f(p.a.zyx * p.b - p.s, length(p.b));
    out[2][i] = vec4f(mix(p.a, p.b, 0.25).xy, distance(p.a, p.b), p.t);
    var v = vec4f(1.0);
    v.y = p.s;
    v[i] += p.t;
    out[3][i] = -v.wzyx + vec4f(p.a.xx, p.b.yy);
}
