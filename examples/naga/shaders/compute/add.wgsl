// groups 4 1 1
// buffer 0 0: f32 ramp 64 0.5 0.25
// buffer 0 1: f32 ramp 64 10 -0.5
// buffer 0 2: zero 64
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> sum: array<f32>;

@compute @workgroup_size(16)
fn compute(@builtin(global_invocation_id) id: vec3u) {
    sum[id.x] = a[id.x] + b[id.x];
}
