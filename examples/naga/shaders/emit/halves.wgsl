enable f16;
struct Data { scale: f16, offset: vec3<f16>, matrix: mat2x4<f16>, list: array<vec4<f16>, 3> }
@group(0) @binding(0) var<storage> u: Data;
@group(0) @binding(1) var<storage, read_write> data: Data;
var<workgroup> shared_sum: array<vec4<f16>, 4>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    var local = array<f16, 4>(1.0h, 2.0h, 3.0h, 4.0h);
    local[i] += u.scale;
    let v = u.matrix * u.list[i % 3u].zw + vec4<f16>(data.offset, local[3u - i]);
    shared_sum[i] = sqrt(abs(v)) * f16(i) + max(v, vec4<f16>(0.5h));
    workgroupBarrier();
    data.offset = normalize(shared_sum[3u - i].xyz) + vec3<f16>(vec3f(f32(data.scale)));
    data.list[i % 3u] = shared_sum[i] % 2.0h;
    data.scale = dot(v, v) + f16(i32(v.x));
}

@fragment
fn fragment(@location(0) a: vec2<f16>) -> @location(0) vec4<f16> {
    return vec4<f16>(a.xy * 2.0h, a.yx);
}
