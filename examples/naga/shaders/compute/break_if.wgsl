// groups 1 1 1
// buffer 0 0: zero 8
@group(0) @binding(0) var<storage, read_write> out: array<u32, 8>;

@compute @workgroup_size(8)
fn compute(@builtin(local_invocation_index) i: u32) {
    var a = 1u;
    var count = 0u;
    loop {
        if a == 13u { continue; }
        count += 1u;
        continuing {
            a = a * 2u + i;
            break if a > 200u;
        }
    }
    out[i] = count * 1000u + a;
}
