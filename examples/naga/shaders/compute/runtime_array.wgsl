// groups 3 1 1
// buffer 0 0: f32 ramp 11 1 1
// buffer 0 1: zero 12
struct List { count: f32, step: f32, items: array<f32> }
@group(0) @binding(0) var<storage> list: List;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(4)
fn compute(@builtin(global_invocation_id) id: vec3u) {
    let n = arrayLength(&list.items);
    let i = min(id.x, n - 1u);
    out[id.x] = list.items[i] * 100.0 + f32(n) + list.step + f32(arrayLength(&out)) * 0.125;
}
