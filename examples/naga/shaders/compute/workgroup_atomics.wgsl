// groups 2 1 1
// buffer 0 0: zero 16
var<workgroup> bins: array<atomic<u32>, 8>;
@group(0) @binding(0) var<storage, read_write> out: array<u32, 16>;

@compute @workgroup_size(32)
fn compute(
    @builtin(local_invocation_index) i: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let x = (i * 7u + group.x * 3u) % 8u;
    atomicAdd(&bins[x], i);
    atomicMax(&bins[(x + 1u) % 8u], group.x + groups.x);
    workgroupBarrier();
    if i < 8u { out[group.x * 8u + i] = select(0u, 1u, atomicLoad(&bins[i]) > 20u); }
}
