// groups 2 1 1
// buffer 0 0: f32 ramp 128 1 1
// buffer 0 1: zero 2
@group(0) @binding(0) var<storage> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
var<workgroup> partial: array<f32, 64>;

@compute @workgroup_size(64)
fn compute(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) i: u32,
    @builtin(workgroup_id) group: vec3u,
) {
    partial[i] = a[id.x];
    workgroupBarrier();
    for (var step = 32u; step > 0u; step >>= 1u) {
        if i < step { partial[i] += partial[i + step]; }
        workgroupBarrier();
    }
    if i == 0u { out[group.x] = partial[0]; }
}
