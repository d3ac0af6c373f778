// groups 1 1 1
// buffer 0 0: i32 -7 7 -7 7 0 -2147483648 2147483647 5
// buffer 0 1: i32 2 -2 0 3 0 -1 -1 -3
// buffer 0 2: zero 64
@group(0) @binding(0) var<storage> a: array<i32, 8>;
@group(0) @binding(1) var<storage> b: array<i32, 8>;
@group(0) @binding(2) var<storage, read_write> out: array<array<i32, 8>, 8>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    let y = b[i];
    out[0][i] = x + y;
    out[1][i] = x - y;
    out[2][i] = x * y;
    out[3][i] = x / y;
    out[4][i] = x % y;
    out[5][i] = select(-1, 1, x < y) + select(0, 10, x == y);
    out[6][i] = abs(x) ^ -y;
    out[7][i] = sign(x) * min(x, y) + max(x, y);
}
