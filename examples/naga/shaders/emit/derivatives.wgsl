@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var linear_sampler: sampler;

@fragment
fn fragment(@location(0) uv: vec2f) -> @location(0) vec4f {
    let dx = dpdx(uv);
    let dy = dpdyFine(uv);
    let width = fwidth(uv) + fwidthCoarse(uv.yx);
    let color = textureSampleGrad(image, linear_sampler, uv, dx, dy, vec2i(1, 2));
    let edge = textureSampleBaseClampToEdge(image, linear_sampler, uv);
    let gathered = textureGather(1, image, linear_sampler, uv, vec2i(-1, 0));
    return color + edge * width.x + gathered * dpdx(color.g);
}
