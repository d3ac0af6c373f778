struct Data { a: i64, b: vec3<u64>, c: array<i64> }
@group(0) @binding(0) var<uniform> u: vec3<i64>;
@group(0) @binding(1) var<storage, read_write> data: Data;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    var local = vec4<i64>(u, 7li);
    local[i] /= u.y;
    let x = data.c[i] * local[i] + i64(i) << 3u;
    data.a = max(x, -data.a) % 10li;
    data.b = data.b >> vec3u(i) | vec3<u64>(countOneBits(data.b.x), reverseBits(data.b.y), u64(abs(x)));
    data.c[i] = select(x, i64(f32(x) * 0.5), x > 4000000000li);
}
