// groups 2 2 1
// buffer 0 0: zero 256
@group(0) @binding(0) var<storage, read_write> out: array<u32, 256>;

@compute @workgroup_size(8, 8)
fn compute(@builtin(global_invocation_id) id: vec3u) {
    let c = vec2f(f32(id.x) / 8.0 - 1.5, f32(id.y) / 8.0 - 1.0);
    var z = vec2f();
    var n = 0u;
    for (; n < 50u && dot(z, z) < 4.0; n++) {
        z = vec2f(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
    }
    out[id.y * 16u + id.x] = n;
}
