// groups 1 1 1
// tolerance 4096
// buffer 0 0: f32 -0.9 -0.5 -0.25 0.1 0.3 0.5 0.7 0.95
// buffer 0 1: zero 112
@group(0) @binding(0) var<storage> a: array<f32, 8>;
@group(0) @binding(1) var<storage, read_write> out: array<array<f32, 8>, 14>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    out[0][i] = sin(x);
    out[1][i] = cos(x);
    out[2][i] = tan(x);
    out[3][i] = asin(x);
    out[4][i] = acos(x);
    out[5][i] = atan(x);
    out[6][i] = atan2(x, 0.4) + atan2(x, -0.4);
    out[7][i] = sinh(x);
    out[8][i] = cosh(x);
    out[9][i] = tanh(x);
    out[10][i] = asinh(x);
    out[11][i] = acosh(x + 2.0);
    out[12][i] = atanh(x);
    out[13][i] = radians(x) + degrees(x);
}
