// groups 1 1 1
// buffer 0 0: u32 7 4294967295 0 100 31 2147483648 12345 1
// buffer 0 1: u32 2 2 5 0 7 3 67 33
// buffer 0 2: zero 64
@group(0) @binding(0) var<storage> a: array<u32, 8>;
@group(0) @binding(1) var<storage> b: array<u32, 8>;
@group(0) @binding(2) var<storage, read_write> out: array<array<u32, 8>, 8>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    let y = b[i];
    out[0][i] = x / y;
    out[1][i] = x % y;
    out[2][i] = x << (y & 31u);
    out[3][i] = x >> (y & 31u);
    out[4][i] = (x & y) | (x ^ y);
    out[5][i] = ~x;
    out[6][i] = clamp(x, 10u, 1000u);
    out[7][i] = u32(i32(x) >> 4u);
}
