// groups 1 1 1
// buffer 0 0: f32 0.5 -0.5 1.5 -2 0.123 0.999 -0.001 0.25 1 0 -1 0.75 0.3 0.6 0.9 -0.9
// buffer 0 1: zero 48
@group(0) @binding(0) var<storage> a: array<vec4f, 4>;
@group(0) @binding(1) var<storage, read_write> out: array<array<u32, 4>, 12>;

@compute @workgroup_size(4)
fn compute(@builtin(local_invocation_index) i: u32) {
    let v = a[i];
    out[0][i] = pack4x8snorm(v);
    out[1][i] = pack4x8unorm(v);
    out[2][i] = pack2x16snorm(v.xy);
    out[3][i] = pack2x16unorm(v.zw);
    out[4][i] = pack2x16float(v.xz * 100.0);
    out[5][i] = pack4xI8(vec4i(v * 100.0));
    out[6][i] = pack4xU8Clamp(vec4u(v * 400.0));
    out[7][i] = bitcast<u32>(dot(unpack4x8unorm(out[1][i]), vec4f(1.0, 0.0, 0.0, 0.0)));
    out[8][i] = bitcast<u32>(unpack2x16float(out[4][i]).y);
    out[9][i] = u32(dot(unpack4xI8(out[5][i]), vec4i(1, 2, 3, 4)));
    out[10][i] = u32(dot4I8Packed(out[0][i], out[5][i]));
    out[11][i] = dot4U8Packed(out[1][i], out[6][i]);
}
