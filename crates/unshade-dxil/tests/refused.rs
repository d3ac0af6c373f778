//! What makes no sense is refused where it is built.

use unshade_core::Result;
use unshade_dxil::body::{ArrayIndex, ShaderBody};
use unshade_dxil::operations::{AtomicOperation, Barrier, Sampling, TexturePlace};
use unshade_dxil::resources::{Binding, Resource, TextureShape};
use unshade_dxil::shader::Shader;
use unshade_dxil::signature::Element;
use unshade_dxil::target::{MeshTopology, Stage, Target};
use unshade_dxil::{ComponentType, Interpolation};

const F32: ComponentType = ComponentType::F32;
const GROUP: Stage = Stage::compute([64, 1, 1]);

/// Checks that a result is an error that says so.
#[track_caller]
fn refused<T>(result: Result<T>, because: &str) {
    match result {
        Ok(_) => panic!("{because}: accepted"),
        Err(error) => assert!(error.to_string().contains(because), "{error}"),
    }
}

fn shader(stage: Stage) -> Shader {
    Shader::new(Target::model(0), stage, "main").expect("a shader")
}

#[test]
fn targets_and_stages() {
    refused(Shader::new(Target::model(9), GROUP, "main"), "6.0 to 6.8");
    refused(Shader::new(Target::model(0).native_16_bit(), GROUP, "main"), "6.2");
    refused(Shader::new(Target::model(6).validator(1, 5), GROUP, "main"), "validator");
    refused(Shader::new(Target::model(6).validator(1, 11), GROUP, "main"), "1.10");
    refused(Shader::new(Target::model(0), GROUP, ""), "name");
    for threads in [[0, 1, 1], [1025, 1, 1], [32, 32, 2], [1, 1, 65]] {
        refused(Shader::new(Target::model(0), Stage::compute(threads), "main"), "threads");
    }
    let mesh = Stage::Mesh {
        threads: [128, 1, 1],
        max_vertices: 257,
        max_primitives: 1,
        topology: MeshTopology::Line,
        payload_bytes: 0,
    };
    refused(Shader::new(Target::model(4), mesh, "main"), "does not have the stage");
    refused(Shader::new(Target::model(5), mesh, "main"), "out of range");
    refused(shader(GROUP).bitcode(), "no body");
    refused(Shader::new(Target::model(3), Stage::Library, "main"), "exports");
    refused(Shader::library(Target::model(2)), "does not have the stage");
    let mut vertex = shader(Stage::Vertex);
    refused(vertex.set_wave_lanes(32, 32, 0), "lanes");
    let int = vertex.integer(32).expect("a type");
    refused(vertex.group_shared("x", int), "groups");
}

#[test]
fn resources() -> Result<()> {
    let mut shader = shader(GROUP);
    shader.resource(Resource::byte_address_buffer(Binding::at(0).array(4)).named("data"))?;
    refused(shader.resource(Resource::byte_address_buffer(Binding::at(3))), "data (t0) has its registers");
    shader.resource(Resource::byte_address_buffer(Binding::at(3).space(1)))?;
    shader.resource(Resource::rw_byte_address_buffer(Binding::at(0)))?;
    for (resource, because) in [
        (Resource::byte_address_buffer(Binding::at(9).array(0)), "no registers"),
        (Resource::byte_address_buffer(Binding::at(u32::MAX).array(2)), "more than there are"),
        (Resource::structured_buffer(Binding::at(9), 6), "multiple of 4"),
        (Resource::structured_buffer(Binding::at(9), 2052), "2048"),
        (Resource::constant_buffer(Binding::at(9), 65537), "65536"),
        (Resource::buffer(Binding::at(9), F32, 5), "from 1 to 4"),
        (Resource::buffer(Binding::at(9), ComponentType::F64, 3), "16 bytes"),
        (Resource::buffer(Binding::at(9), ComponentType::I1, 1), "no such components"),
        (Resource::rw_texture(Binding::at(9), TextureShape::Cube, F32, 4), "cubes"),
        (Resource::byte_address_buffer(Binding::at(9)).globally_coherent(), "order"),
        (Resource::rw_byte_address_buffer(Binding::at(9)).with_counter(), "counter"),
        (Resource::rw_byte_address_buffer(Binding::at(9)).rasterizer_ordered(), "only pixel shaders"),
        (Resource::texture(Binding::at(9), TextureShape::D2, F32, 4).samples(4), "multisampled"),
        (Resource::byte_address_buffer(Binding::at(9)).in_heap(), "6.6"),
        (Resource::rw_texture(Binding::at(9), TextureShape::D2Multisampled, F32, 4), "6.7"),
    ] {
        refused(shader.resource(resource), because);
    }
    Ok(())
}

#[test]
fn signatures() -> Result<()> {
    let element = |name| Element::new(name, 0, F32, 4);
    refused(shader(GROUP).input(element("A")), "no such signature");
    let mut vertex = shader(Stage::Vertex);
    refused(vertex.patch_element(element("A")), "no such signature");
    refused(vertex.input(element("SV_Target")), "can't have this semantic");
    refused(vertex.input(element("SV_Something")), "no system value");
    refused(vertex.input(element("A").interpolation(Interpolation::LINEAR)), "not interpolated");
    refused(vertex.output(element("A").stream(1)), "streams");
    refused(vertex.output(element("A").rows(0)), "rows");
    let integer = Element::new("A", 0, ComponentType::I32, 1).interpolation(Interpolation::LINEAR);
    refused(vertex.output(integer), "integers");
    vertex.output(element("A").rows(32))?;
    refused(vertex.output(element("B")), "do not fit");
    refused(vertex.output(Element::new("a", 4, F32, 1)), "there twice");
    let mut pixel = shader(Stage::pixel());
    pixel.output(Element::new("SV_Target", 1, F32, 4).rows(2))?;
    refused(pixel.output(Element::new("SV_Target", 8, F32, 4)), "render target");
    Ok(())
}

/// Builds a compute shader of model 6.0 with some resources and tries things in it.
fn in_body(
    try_it: impl FnOnce(&mut ShaderBody<'_>, &[unshade_dxil::resources::ResourceId]) -> Result<()>,
) -> Result<()> {
    let mut shader = shader(GROUP);
    let shape = TextureShape::D2;
    let resources = [
        Resource::rw_byte_address_buffer(Binding::at(0)),
        Resource::structured_buffer(Binding::at(0), 16),
        Resource::texture(Binding::at(1), shape, F32, 4),
        Resource::sampler(Binding::at(0)),
        Resource::comparison_sampler(Binding::at(1)),
        Resource::constant_buffer(Binding::at(0), 16),
        Resource::rw_texture(Binding::at(1), shape, F32, 1),
        Resource::buffer(Binding::at(2).array(3), F32, 2),
    ];
    let resources: Vec<_> = resources.into_iter().map(|one| shader.resource(one)).collect::<Result<_>>()?;
    let mut body = shader.body()?;
    try_it(&mut body, &resources)
}

#[test]
fn operations() -> Result<()> {
    in_body(|body, _| {
        let (int, one) = (body.integer(32)?, body.f32(1.0)?);
        let number = body.i32(1)?;
        refused(body.operation("Nothing", &[]), "no operation");
        refused(body.operation("Reserved0", &[]), "no operation");
        refused(body.operation("Sin", &[number]), "does not exist for i32");
        refused(body.operation("Sin", &[]), "does not follow");
        refused(body.operation("Sin", &[one, one]), "arguments, not");
        refused(body.operation("FMax", &[one, number]), "another type");
        refused(body.operation("Discard", &[one]), "does not exist in cs shaders");
        refused(body.operation("RawBufferLoad", &[one]), "does not follow");
        refused(body.operation_of("RawBufferLoad", int, &[one]), "6.2");
        refused(body.operation("DerivCoarseX", &[one]), "6.6 in cs shaders");
        refused(body.operation("EmitStream", &[number]), "does not exist in cs");
        refused(body.operation("ThreadId", &[]), "arguments, not");
        refused(body.emit_vertex(0), "streams");
        refused(body.thread_id(3), "three components");
        refused(body.barrier(Barrier::THREADS), "some kind of memory");
        refused(body.barrier(Barrier::UAV | Barrier::UAV_OF_GROUP), "the group or to all");
        refused(body.load_input(0, 0), "no such element");
        Ok(())
    })
}

#[test]
fn accesses() -> Result<()> {
    in_body(|body, resources| {
        let &[bytes, structs, image, smooth, compare, constants, target, array] = resources else {
            panic!("eight resources")
        };
        let (int, long, half) = (body.integer(32)?, body.integer(64)?, body.half());
        let (zero, one) = (body.i32(0)?, body.f32(1.0)?);
        let unknown = body.const_undef(int)?;
        let (bytes, structs, image) = (body.handle(bytes)?, body.handle(structs)?, body.handle(image)?);
        let (smooth, compare) = (body.handle(smooth)?, body.handle(compare)?);
        let (constants, target) = (body.handle(constants)?, body.handle(target)?);
        refused(body.handle(array), "index");
        body.handle_at(array, ArrayIndex { index: zero, non_uniform: false })?;
        refused(body.load_buffer(bytes, zero, Some(zero), int, 1), "one offset");
        refused(body.load_buffer(structs, zero, None, int, 1), "an index and an offset");
        refused(body.load_buffer(image, zero, None, int, 1), "no buffer");
        refused(body.load_buffer(bytes, zero, None, int, 5), "one to four");
        refused(body.load_buffer(bytes, zero, None, long, 1), "6.3");
        refused(body.load_buffer(bytes, one, None, int, 1), "another type");
        refused(body.store_buffer(structs, zero, Some(zero), &[zero]), "only read");
        refused(body.store_buffer(bytes, zero, None, &[]), "one to four");
        refused(body.store_buffer(bytes, zero, None, &[unknown]), "undefined");
        refused(body.store_buffer(bytes, zero, None, &[zero, one]), "another type");
        refused(body.load_typed_buffer(bytes, zero), "no typed buffer");
        refused(body.update_counter(bytes, true), "no counter");
        let behind = body.i32(1)?;
        refused(body.load_constants(constants, behind, int), "behind its end");
        refused(body.load_constants(bytes, zero, half), "no constant buffer");
        refused(body.load_texture(image, None, &TexturePlace::at(&[zero, zero])), "level");
        refused(body.load_texture(target, Some(zero), &TexturePlace::at(&[zero, zero])), "level");
        refused(body.load_texture(image, Some(zero), &TexturePlace::at(&[zero])), "2 coordinates");
        refused(body.store_texture(image, &[zero, zero], &[one; 4]), "only read");
        refused(body.store_texture(target, &[zero, zero], &[one; 4]), "1 components");
        let coordinates = [one, one];
        let place = TexturePlace::at(&coordinates);
        refused(body.sample(image, smooth, Sampling::Implicit, &place), "6.6 in cs shaders");
        refused(body.sample(image, compare, Sampling::Level(one), &place), "compare");
        refused(body.sample(image, smooth, Sampling::CompareLevelZero(one), &place), "compare");
        refused(body.sample(image, image, Sampling::Level(one), &place), "no sampler");
        refused(body.sample(target, smooth, Sampling::Level(one), &place), "can't be sampled");
        let clamped = TexturePlace { clamp: Some(one), ..place };
        refused(body.sample(image, smooth, Sampling::Level(one), &clamped), "can't be clamped");
        let gradient = Sampling::Gradient { dx: &[one], dy: &[one] };
        refused(body.sample(image, smooth, gradient, &place), "2 components");
        refused(body.gather(image, smooth, 4, None, &place), "from 0 to 3");
        refused(body.dimensions(constants, None), "no dimensions");
        refused(body.dimensions(bytes, Some(zero)), "no levels");
        refused(body.level_count(target), "no levels");
        refused(body.atomic(structs, AtomicOperation::Add, &[zero, zero], zero), "only read");
        refused(body.atomic(bytes, AtomicOperation::Add, &[zero, zero], zero), "1 numbers");
        refused(body.atomic(bytes, AtomicOperation::Add, &[zero], one), "does not exist for float");
        let wide = body.const_int(long, 1)?;
        refused(body.atomic(bytes, AtomicOperation::Add, &[zero], wide), "6.6");
        Ok(())
    })
}
