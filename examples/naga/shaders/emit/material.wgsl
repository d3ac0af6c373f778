@group(0) @binding(0) var base: texture_2d<f32>;
@group(0) @binding(1) var normals: texture_2d<f32>;
@group(0) @binding(2) var smooth_sampler: sampler;
@group(1) @binding(0) var environment: texture_cube<f32>;
@group(1) @binding(1) var<uniform> light: vec4f;

@fragment
fn fragment(
    @location(0) world: vec3f,
    @location(1) @interpolate(perspective, centroid) normal: vec3f,
    @location(2) uv: vec2f,
    @location(3) @interpolate(linear) tint: vec4f,
    @builtin(front_facing) front: bool,
    @builtin(position) position: vec4f,
) -> @location(0) vec4f {
    let albedo = textureSample(base, smooth_sampler, uv) * tint;
    if albedo.a < 0.1 { discard; }
    let bump = textureSampleBias(normals, smooth_sampler, uv, -0.5).xyz * 2.0 - 1.0;
    let n = normalize(select(-normal, normal, front) + bump * 0.25);
    let towards = normalize(light.xyz - world);
    let diffuse = max(dot(n, towards), 0.0) * light.w;
    let mirrored = textureSampleLevel(environment, smooth_sampler, reflect(-towards, n), 2.0);
    let fog = saturate(position.z * position.w);
    return vec4f(mix(albedo.rgb * diffuse + mirrored.rgb * 0.2, vec3f(0.5), fog), albedo.a);
}
