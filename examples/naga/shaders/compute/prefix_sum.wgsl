// groups 1 1 1
// buffer 0 0: u32 iota 32
// buffer 0 1: zero 32
@group(0) @binding(0) var<storage> a: array<u32, 32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32, 32>;
var<workgroup> source: array<u32, 32>;
var<workgroup> to: array<u32, 32>;

@compute @workgroup_size(32)
fn compute(@builtin(local_invocation_index) i: u32) {
    source[i] = a[i] * a[i];
    workgroupBarrier();
    for (var step = 1u; step < 32u; step *= 2u) {
        var x = source[i];
        if i >= step { x += source[i - step]; }
        to[i] = x;
        workgroupBarrier();
        source[i] = to[i];
        workgroupBarrier();
    }
    out[i] = source[i];
}
