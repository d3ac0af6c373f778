// groups 1 1 1
// buffer 0 0: f32 1.5 -1.5 3000000000 -3000000000 0 1e20 255.99 -0.5
// buffer 0 1: zero 64
@group(0) @binding(0) var<storage> a: array<f32, 8>;
@group(0) @binding(1) var<storage, read_write> out: array<array<u32, 8>, 8>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    out[0][i] = u32(x);
    out[1][i] = u32(i32(x));
    out[2][i] = bitcast<u32>(x);
    out[3][i] = bitcast<u32>(f32(bitcast<u32>(x)));
    out[4][i] = bitcast<u32>(f32(bitcast<i32>(x)));
    out[5][i] = u32(bool(x)) + u32(x > 1.0) * 2u;
    out[6][i] = bitcast<u32>(f32(x != 0.0));
    out[7][i] = bitcast<u32>(bitcast<f32>(i * 8388608u + 1065353216u));
}
