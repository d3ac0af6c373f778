//! Vertex and pixel shaders.

use super::{Built, shader};
use unshade_core::Result;
use unshade_dxil::operations::{Sampling, TexturePlace};
use unshade_dxil::resources::{Binding, Resource, TextureShape};
use unshade_dxil::shader::Shader;
use unshade_dxil::signature::Element;
use unshade_dxil::target::{Stage, Target};
use unshade_dxil::{ComponentType, Interpolation};
use unshade_llvm::ValueId;
use unshade_llvm::build::{FloatPredicate, IntPredicate};

const F32: ComponentType = ComponentType::F32;
const U32: ComponentType = ComponentType::U32;

/// Loads all components of an input.
fn load(body: &mut unshade_dxil::body::ShaderBody<'_>, element: u32, count: u8) -> Result<Vec<ValueId>> {
    (0..count).map(|column| body.load_input(element, column)).collect()
}

/// Stores all components of an output.
fn store(body: &mut unshade_dxil::body::ShaderBody<'_>, element: u32, values: &[ValueId]) -> Result<()> {
    (0..).zip(values).try_for_each(|(column, &value)| body.store_output(element, column, value))
}

/// A triangle from the number of the vertex.
fn triangle(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::Vertex, "main")?;
    let number = shader.input(Element::new("SV_VertexID", 0, U32, 1))?;
    let position = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let mut body = shader.body()?;
    let float = body.float();
    let id = body.load_input(number, 0)?;
    let (one, two) = (body.i32(1)?, body.i32(2)?);
    let (x, y) = (body.and(id, one)?, body.and(id, two)?);
    let (x, y) = (body.uitofp(x, float)?, body.uitofp(y, float)?);
    let (zero, whole) = (body.f32(0.0)?, body.f32(1.0)?);
    store(&mut body, position, &[x, y, zero, whole])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Transforms a position and passes the rest.
fn transform(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::Vertex, "main")?;
    let constants = shader.resource(Resource::constant_buffer(Binding::at(0), 64).named("Camera"))?;
    let position = shader.input(Element::new("POSITION", 0, F32, 3))?;
    let coordinates = shader.input(Element::new("TEXCOORD", 0, F32, 2))?;
    let color = shader.input(Element::new("COLOR", 0, F32, 4))?;
    let out_color = shader.output(Element::new("COLOR", 0, F32, 4))?;
    let out_coordinates = shader.output(Element::new("TEXCOORD", 0, F32, 2))?;
    let out_position = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let mut body = shader.body()?;
    let float = body.float();
    let mut input = load(&mut body, position, 3)?;
    input.push(body.f32(1.0)?);
    let camera = body.handle(constants)?;
    for at in 0..4 {
        let row = body.i32(at)?;
        let row = body.load_constants(camera, row, float)?;
        let dot = body.operation("Dot4", &[&input[..], &row].concat())?;
        body.store_output(out_position, at, dot)?;
    }
    let color = load(&mut body, color, 4)?;
    store(&mut body, out_color, &color)?;
    let coordinates = load(&mut body, coordinates, 2)?;
    store(&mut body, out_coordinates, &coordinates)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Instances from a structured buffer, with clip distances, an integer that is not interpolated, and a layer.
fn instances(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::Vertex, "main")?;
    let buffer = shader.resource(Resource::structured_buffer(Binding::at(0), 16))?;
    let position = shader.input(Element::new("POSITION", 0, F32, 4))?;
    let instance = shader.input(Element::new("SV_InstanceID", 0, U32, 1))?;
    let material = shader.output(Element::new("MATERIAL", 0, U32, 1))?;
    let out_position = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let distances = shader.output(Element::new("SV_ClipDistance", 0, F32, 2))?;
    let flat = Element::new("NORMAL", 0, F32, 3).interpolation(Interpolation::LINEAR_CENTROID);
    let normal = shader.output(flat)?;
    let mut body = shader.body()?;
    let float = body.float();
    let id = body.load_input(instance, 0)?;
    let zero = body.i32(0)?;
    let handle = body.handle(buffer)?;
    let place = body.load_buffer(handle, id, Some(zero), float, 4)?;
    let values = load(&mut body, position, 4)?;
    let mut moved = Vec::new();
    for (&value, &offset) in values.iter().zip(&place) {
        moved.push(body.fadd(value, offset)?);
    }
    store(&mut body, out_position, &moved)?;
    store(&mut body, distances, &moved[..2])?;
    store(&mut body, normal, &place[..3])?;
    body.store_output(material, 0, id)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Branches, with the output stored in each.
fn branches(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::Vertex, "main")?;
    let kind = shader.input(Element::new("KIND", 0, ComponentType::I32, 1))?;
    let position = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let mut body = shader.body()?;
    let value = body.load_input(kind, 0)?;
    let blocks: Vec<_> = ["one", "two", "other", "end"].map(|name| body.block(name)).into();
    let (one, two) = (body.i32(1)?, body.i32(2)?);
    body.switch(value, blocks[2], &[(one, blocks[0]), (two, blocks[1])])?;
    for (at, &block) in blocks[..3].iter().enumerate() {
        body.select_block(block)?;
        let number = body.f32(at as f32)?;
        store(&mut body, position, &[number; 4])?;
        body.br(blocks[3])?;
    }
    body.select_block(blocks[3])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Rows of an element that are only known at run time, and a displaced position from a texture.
fn rows(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::Vertex, "main")?;
    let heights = Resource::texture(Binding::at(0), TextureShape::D2, F32, 1).named("heights");
    let heights = shader.resource(heights)?;
    let sampler = shader.resource(Resource::sampler(Binding::at(0)))?;
    let weights = shader.input(Element::new("WEIGHT", 0, F32, 2).rows(4))?;
    let index = shader.input(Element::new("INDEX", 0, U32, 1))?;
    let position = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let mut body = shader.body()?;
    let index = body.load_input(index, 0)?;
    let x = body.load_input_row(weights, index, 0, None)?;
    let y = body.load_input_row(weights, index, 1, None)?;
    let (texture, filter) = (body.handle(heights)?, body.handle(sampler)?);
    let level = body.f32(0.0)?;
    let height = body.sample(texture, filter, Sampling::Level(level), &TexturePlace::at(&[x, y]))?[0];
    let one = body.f32(1.0)?;
    store(&mut body, position, &[x, height, y, one])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// One color.
fn solid(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::pixel(), "main")?;
    let color = shader.output(Element::new("SV_Target", 0, F32, 4))?;
    let mut body = shader.body()?;
    let one = body.f32(1.0)?;
    store(&mut body, color, &[one; 4])?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// A texture, with the color of the vertices; transparent pixels are discarded.
fn textured(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::pixel(), "main")?;
    let image = Resource::texture(Binding::at(0), TextureShape::D2, F32, 4).named("image");
    let image = shader.resource(image)?;
    let sampler = shader.resource(Resource::sampler(Binding::at(0)).named("smooth"))?;
    shader.input(Element::new("SV_Position", 0, F32, 4))?;
    let color = shader.input(Element::new("COLOR", 0, F32, 4))?;
    let coordinates = shader.input(Element::new("TEXCOORD", 0, F32, 2))?;
    let result = shader.output(Element::new("SV_Target", 0, F32, 4))?;
    let mut body = shader.body()?;
    let coordinates = load(&mut body, coordinates, 2)?;
    let (texture, filter) = (body.handle(image)?, body.handle(sampler)?);
    let texel = body.sample(texture, filter, Sampling::Implicit, &TexturePlace::at(&coordinates))?;
    let half = body.f32(0.5)?;
    let is_clear = body.fcmp(FloatPredicate::Olt, texel[3], half)?;
    body.discard_if(is_clear)?;
    let color = load(&mut body, color, 4)?;
    for (at, (&texel, &color)) in (0..).zip(texel.iter().zip(&color)) {
        let product = body.fmul(texel, color)?;
        body.store_output(result, at, product)?;
    }
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Several targets, depth, and an integer that is not interpolated.
fn targets(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::pixel(), "main")?;
    let material = shader.input(Element::new("MATERIAL", 0, U32, 1))?;
    let normal = Element::new("NORMAL", 0, F32, 3).interpolation(Interpolation::LINEAR_NOPERSPECTIVE);
    let normal = shader.input(normal)?;
    let front = shader.input(Element::new("SV_IsFrontFace", 0, U32, 1))?;
    let color = shader.output(Element::new("SV_Target", 0, F32, 3))?;
    let numbers = shader.output(Element::new("SV_Target", 2, U32, 1))?;
    let depth = shader.output(Element::new("SV_Depth", 0, F32, 1))?;
    let mut body = shader.body()?;
    let material = body.load_input(material, 0)?;
    let front = body.load_input(front, 0)?;
    let normal = load(&mut body, normal, 3)?;
    let zero = body.i32(0)?;
    let is_front = body.icmp(IntPredicate::Ne, front, zero)?;
    let scale = body.operation("Saturate", &[normal[2]])?;
    let mut result = Vec::new();
    for &value in &normal {
        let slope = body.operation("DerivCoarseX", &[value])?;
        let sum = body.fadd(value, slope)?;
        result.push(body.select(is_front, sum, scale)?);
    }
    store(&mut body, color, &result)?;
    body.store_output(numbers, 0, material)?;
    body.store_output(depth, 0, scale)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Shadows by comparison, with offsets, a gather, levels of detail and gradients.
fn shadows(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::pixel(), "main")?;
    let map = shader.resource(Resource::texture(Binding::at(0), TextureShape::D2Array, F32, 1))?;
    let cube = shader.resource(Resource::texture(Binding::at(1), TextureShape::Cube, F32, 4))?;
    let plane = shader.resource(Resource::texture(Binding::at(2), TextureShape::D2, F32, 4))?;
    let compare = shader.resource(Resource::comparison_sampler(Binding::at(0)))?;
    let smooth = shader.resource(Resource::sampler(Binding::at(1)))?;
    let place = shader.input(Element::new("PLACE", 0, F32, 4))?;
    let result = shader.output(Element::new("SV_Target", 0, F32, 4))?;
    let mut body = shader.body()?;
    let place = load(&mut body, place, 4)?;
    let coordinates = &place[..3];
    let offsets = [body.i32(1)?, body.i32(-8)?];
    let at = TexturePlace { offsets: &offsets, ..TexturePlace::at(coordinates) };
    let (map, compare) = (body.handle(map)?, body.handle(compare)?);
    let (cube, plane, smooth) = (body.handle(cube)?, body.handle(plane)?, body.handle(smooth)?);
    let lit = body.sample(map, compare, Sampling::CompareLevelZero(place[3]), &at)?[0];
    let also = body.sample(map, compare, Sampling::Compare(place[3]), &TexturePlace::at(coordinates))?[0];
    let four = body.gather(map, compare, 0, Some(place[3]), &at)?;
    let sky = body.sample(cube, smooth, Sampling::Bias(place[0]), &TexturePlace::at(coordinates))?;
    let (dx, dy) = ([place[0], place[1]], [place[2], place[3]]);
    let gradient = Sampling::Gradient { dx: &dx, dy: &dy };
    let flat = body.sample(plane, smooth, gradient, &TexturePlace::at(&place[..2]))?;
    let other = body.gather(plane, smooth, 2, None, &TexturePlace::at(&place[..2]))?;
    let level = body.level_of_detail(plane, smooth, &place[..2], true)?;
    let count = body.level_count(plane)?;
    let float = body.float();
    let count = body.uitofp(count, float)?;
    for column in 0..4 {
        let at = usize::from(column);
        let mut sum = body.fadd(lit, also)?;
        for value in [four[at], sky[at], flat[at], other[at], level, count] {
            sum = body.fadd(sum, value)?;
        }
        body.store_output(result, column, sum)?;
    }
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Values of the pixel: its sample, coverage, and inputs at other places; writes to a buffer before the depth test.
fn samples(target: Target) -> Result<Shader> {
    let mut shader = Shader::new(target, Stage::Pixel { early_depth_stencil: true }, "main")?;
    let image = Resource::texture(Binding::at(0), TextureShape::D2Multisampled, F32, 2);
    let image = shader.resource(image)?;
    let counts = shader.resource(Resource::rw_buffer(Binding::at(1), U32, 1))?;
    let input = Element::new("VALUE", 0, F32, 2).interpolation(Interpolation::LINEAR_SAMPLE);
    let input = shader.input(input)?;
    let sample = shader.input(Element::new("SV_SampleIndex", 0, U32, 1))?;
    let result = shader.output(Element::new("SV_Target", 0, F32, 2))?;
    let mut body = shader.body()?;
    assert!(body.load_input(sample, 0).is_err());
    let index = body.operation("SampleIndex", &[])?;
    let coverage = body.operation("Coverage", &[])?;
    let zero = body.i32(0)?;
    let texture = body.handle(image)?;
    let texel = body.load_texture(texture, Some(index), &TexturePlace::at(&[zero, zero]))?;
    let counter = body.handle(counts)?;
    body.atomic(counter, unshade_dxil::operations::AtomicOperation::Add, &[coverage], index)?;
    let ty = body.float();
    for column in 0..2u8 {
        let byte = body.integer(8)?;
        let (element, at) = (body.i32(input)?, body.const_int(byte, i128::from(column))?);
        let centre = body.operation_of("EvalCentroid", ty, &[element, zero, at])?;
        let sum = body.fadd(centre, texel[usize::from(column)])?;
        body.store_output(result, column, sum)?;
    }
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// All vertex and pixel shaders, for several shader models.
pub(crate) fn all() -> Vec<Built> {
    let mut built = Vec::new();
    for target in super::targets() {
        for (name, make) in [
            ("triangle", triangle as fn(Target) -> Result<Shader>),
            ("transform", transform),
            ("instances", instances),
            ("branches", branches),
            ("rows", rows),
            ("solid", solid),
            ("textured", textured),
            ("targets", targets),
            ("shadows", shadows),
            ("samples", samples),
        ] {
            built.push(shader(name, target, make));
        }
    }
    built
}
