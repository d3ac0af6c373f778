// groups 2 3 2
// buffer 0 0: zero 96
@group(0) @binding(0) var<storage, read_write> out: array<u32, 96>;

@compute @workgroup_size(2, 2, 2)
fn compute(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_id) local: vec3u,
    @builtin(local_invocation_index) index: u32,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let size = groups * vec3u(2u);
    let at = id.x + size.x * (id.y + size.y * id.z);
    out[at] = at + 1000u * index + 10000u * (group.x + 2u * group.y + 6u * group.z) + 1000000u * local.z;
}
