struct Varyings {
    @builtin(position) position: vec4f,
    @location(0) color: vec3f,
    @location(1) @interpolate(flat) id: u32,
}

@vertex
fn vertex(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Varyings {
    let x = f32(i32(index) - 1);
    let y = f32(i32(index & 1u) * 2 - 1);
    return Varyings(vec4f(x, y, 0.0, 1.0), vec3f(x, y, 1.0), instance);
}

@fragment
fn fragment(in: Varyings) -> @location(0) vec4f {
    let shade = select(1.0, 0.5, in.id % 2u == 1u);
    return vec4f(in.color * shade, 1.0);
}
