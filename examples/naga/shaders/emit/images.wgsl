@group(0) @binding(0) var source: texture_2d<f32>;
@group(0) @binding(1) var target_image: texture_storage_2d<rgba8unorm, write>;
@group(0) @binding(2) var layers: texture_storage_2d_array<r32uint, write>;
@group(0) @binding(3) var accumulated: texture_storage_2d<r32float, read_write>;

@compute @workgroup_size(8, 8)
fn compute(@builtin(global_invocation_id) id: vec3u) {
    let size = textureDimensions(source, 1);
    if any(id.xy >= size) { return; }
    let color = textureLoad(source, id.xy, 1);
    textureStore(target_image, id.xy, color.bgra);
    textureStore(layers, vec2i(id.xy), id.z, vec4u(u32(color.r * 255.0)));
    let before = textureLoad(accumulated, id.xy);
    textureStore(accumulated, id.xy, before + vec4f(color.a));
}
