// groups 1 1 1
// buffer 0 0: u32 0 1 4294967295 2147483648 305419896 65536 255 61440
// buffer 0 1: zero 96
@group(0) @binding(0) var<storage> a: array<u32, 8>;
@group(0) @binding(1) var<storage, read_write> out: array<array<u32, 8>, 12>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    let x = a[i];
    out[0][i] = countOneBits(x);
    out[1][i] = countLeadingZeros(x);
    out[2][i] = countTrailingZeros(x);
    out[3][i] = reverseBits(x);
    out[4][i] = firstLeadingBit(x);
    out[5][i] = firstTrailingBit(x);
    out[6][i] = extractBits(x, 4u, 9u);
    out[7][i] = u32(extractBits(i32(x), i, 11u));
    out[8][i] = insertBits(x, 0xabcu, 7u, 12u);
    out[9][i] = u32(firstLeadingBit(i32(x)));
    out[10][i] = extractBits(x, 28u, 9u);
    out[11][i] = insertBits(x, x, i * 5u, 0u);
}
