// groups 1 1 1
// buffer 0 0: f32 1.5 2.5 -1.5 -2.25 0.75 -0.75 1234.5 0.49999
// buffer 0 1: zero 80
@group(0) @binding(0) var<storage> a: array<f32, 8>;
@group(0) @binding(1) var<storage, read_write> out: array<array<f32, 8>, 10>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    out[0][i] = floor(x);
    out[1][i] = ceil(x);
    out[2][i] = round(x);
    out[3][i] = trunc(x);
    out[4][i] = fract(x);
    out[5][i] = saturate(x);
    out[6][i] = sign(x);
    out[7][i] = step(0.5, x);
    out[8][i] = x % 0.7;
    out[9][i] = abs(x) - max(x, 0.0) + min(x, 0.0) + clamp(x, -1.0, 1.0);
}
