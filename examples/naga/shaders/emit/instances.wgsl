struct Instance { model: mat4x4f, tint: vec4f }
struct Camera { view_projection: mat4x4f, eye: vec3f }
@group(0) @binding(0) var<uniform> camera: Camera;
@group(0) @binding(1) var<storage> instances: array<Instance>;

struct Input {
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) uv: vec2f,
}
struct Output {
    @location(0) world: vec3f,
    @location(1) @interpolate(perspective, centroid) normal: vec3f,
    @location(2) uv: vec2f,
    @location(3) @interpolate(linear) tint: vec4f,
    @builtin(position) @invariant position: vec4f,
}

@vertex
fn vertex(in: Input, @builtin(instance_index) index: u32) -> Output {
    let instance = instances[index];
    let world = instance.model * vec4f(in.position, 1.0);
    var out: Output;
    out.world = world.xyz / world.w;
    out.normal = normalize((instance.model * vec4f(in.normal, 0.0)).xyz);
    out.uv = in.uv * 2.0 - 1.0;
    out.tint = instance.tint;
    out.position = camera.view_projection * world;
    return out;
}
