struct Output { @location(0) color: vec4f, @location(1) ids: vec2u, @location(2) signed: i32 }
@group(0) @binding(0) var counts: texture_2d<u32>;
@group(0) @binding(1) var samples: texture_multisampled_2d<f32>;
@group(0) @binding(2) var volume: texture_3d<i32>;

@fragment
fn fragment(@builtin(position) position: vec4f, @location(5) @interpolate(flat) which: vec2i) -> Output {
    let at = vec2u(position.xy);
    let count = textureLoad(counts, at, 0);
    var color = vec4f();
    for (var i = 0u; i < textureNumSamples(samples); i++) {
        color += textureLoad(samples, at, i);
    }
    let cell = textureLoad(volume, vec3i(which, 1), 0);
    return Output(color, count.xy + textureNumLevels(counts), cell.x - which.y);
}
