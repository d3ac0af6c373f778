// groups 1 1 1
// buffer 0 0: zero 16
@group(0) @binding(0) var<storage, read_write> out: array<vec4u, 4>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    let v = vec4u(i, i + 1u, 2u, 3u);
    let less = v < vec4u(2u);
    let same = v == vec4u(2u, 2u, i, 3u);
    var any_less = any(less) && !all(same);
    if i == 2u || any_less { any_less = !any_less; }
    out[i] = vec4u(
        u32(any_less),
        dot(select(vec4u(1u), vec4u(10u), less), vec4u(1u, 2u, 3u, 4u)),
        u32(all(less | same)),
        u32(any(less & same)) + u32(i < 2u) * 4u,
    );
}
