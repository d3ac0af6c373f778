// groups 1 1 1
// tolerance 64
// buffer 0 0: f32 0.25 0.5 1 1.5 2 3.75 8 10
// buffer 0 1: zero 64
@group(0) @binding(0) var<storage> a: array<f32, 8>;
@group(0) @binding(1) var<storage, read_write> out: array<array<f32, 8>, 8>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    out[0][i] = exp(x);
    out[1][i] = exp2(x);
    out[2][i] = log(x + 1.0);
    out[3][i] = log2(x);
    out[4][i] = pow(x, 1.25);
    out[5][i] = sqrt(x);
    out[6][i] = inverseSqrt(x);
    out[7][i] = fma(x, 2.0, 1.0);
}
