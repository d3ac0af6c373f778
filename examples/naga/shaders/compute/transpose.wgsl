// groups 2 2 1
// buffer 0 0: u32 iota 64
// buffer 0 1: zero 64
@group(0) @binding(0) var<storage> a: array<u32, 64>;
@group(0) @binding(1) var<storage, read_write> out: array<u32, 64>;
var<workgroup> tile: array<array<u32, 4>, 4>;

@compute @workgroup_size(4, 4)
fn compute(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) at: vec3u) {
    let source = group.xy * 4u + at.xy;
    tile[at.y][at.x] = a[source.y * 8u + source.x];
    workgroupBarrier();
    let to = group.yx * 4u + at.xy;
    out[to.y * 8u + to.x] = tile[at.x][at.y];
}
