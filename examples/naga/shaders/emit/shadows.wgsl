@group(0) @binding(0) var shadows: texture_depth_2d_array;
@group(0) @binding(1) var compare: sampler_comparison;
@group(0) @binding(2) var depth: texture_depth_2d;
@group(0) @binding(3) var point_sampler: sampler;

struct Output { @location(0) color: vec4f, @builtin(frag_depth) depth: f32, @builtin(sample_mask) mask: u32 }

@fragment
fn fragment(@location(0) at: vec3f, @builtin(sample_index) sample: u32) -> Output {
    var lit = 0.0;
    for (var layer = 0; layer < 3; layer++) {
        lit += textureSampleCompareLevel(shadows, compare, at.xy, layer, at.z);
        lit += textureSampleCompareLevel(shadows, compare, at.xy, layer, at.z, vec2i(1, -1));
    }
    lit += textureSampleCompare(shadows, compare, at.xy, 0, at.z);
    let around = textureGatherCompare(shadows, compare, at.xy, 1, at.z);
    let depths = textureGather(depth, point_sampler, at.xy);
    let near = textureSampleLevel(depth, point_sampler, at.xy, 0);
    let size = textureDimensions(shadows) * textureNumLayers(shadows);
    return Output(vec4f(lit / 6.0) + around, near + depths.x * f32(size.x), 1u << sample);
}
