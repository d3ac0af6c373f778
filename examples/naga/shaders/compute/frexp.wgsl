// groups 1 1 1
// buffer 0 0: f32 8 -0.75 0 1e-40 1.5e30 3 -100.25 0.001
// buffer 0 1: zero 40
@group(0) @binding(0) var<storage> a: array<f32, 8>;
@group(0) @binding(1) var<storage, read_write> out: array<array<f32, 8>, 5>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    let parts = modf(x);
    out[0][i] = parts.fract;
    out[1][i] = parts.whole;
    if i != 3u {
        let split = frexp(x);
        out[2][i] = split.fract;
        out[3][i] = f32(split.exp);
    }
    out[4][i] = ldexp(x, i32(i) - 3);
}
