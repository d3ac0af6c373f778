//! Libraries.

use super::{Built, shader};
use unshade_core::Result;
use unshade_dxil::ComponentType;
use unshade_dxil::body::ArrayIndex;
use unshade_dxil::library::Export;
use unshade_dxil::resources::{Binding, Resource, TextureShape};
use unshade_dxil::shader::Shader;
use unshade_dxil::target::Target;
use unshade_llvm::build::FloatPredicate;

/// The functions of ray tracing, with resources.
fn ray_tracing(target: Target) -> Result<Shader> {
    let mut library = Shader::library(target)?;
    let scene = library.resource(Resource::acceleration_structure(Binding::at(0)).named("scene"))?;
    let image = Resource::rw_texture(Binding::at(0), TextureShape::D2, ComponentType::F32, 4).named("image");
    let image = library.resource(image)?;
    let constants = library.resource(Resource::constant_buffer(Binding::at(0), 16).named("Tint"))?;
    let data = library.resource(Resource::structured_buffer(Binding::at(1).array(3), 16).named("data"))?;
    let float = library.float();
    let four = library.vector(4, float)?;
    let two = library.vector(2, float)?;
    let payload = library.named_struct("struct.Payload");
    library.define_struct(payload, &[four], false)?;
    let attributes = library.named_struct("struct.Attributes");
    library.define_struct(attributes, &[two], false)?;

    let function = library.export("generate", Export::RayGeneration)?;
    let mut body = library.body_of(function)?;
    let byte = body.integer(8)?;
    let (zero, one, all) = (body.i32(0)?, body.i32(1)?, body.i32(255)?);
    let (near, far) = (body.f32(0.0)?, body.f32(100.0)?);
    let (first, second) = (body.const_int(byte, 0)?, body.const_int(byte, 1)?);
    let x = body.operation("DispatchRaysIndex", &[first])?;
    let y = body.operation("DispatchRaysIndex", &[second])?;
    let carried = body.alloca(payload)?;
    let ty = body.type_of(carried)?;
    let scene = body.handle(scene)?.value();
    let ray = [scene, zero, all, zero, one, zero, near, near, near, near, near, near, far, far, carried];
    body.operation_of("TraceRay", ty, &ray)?;
    let color = body.field_ptr(payload, carried, 0)?;
    let color = body.load(four, color)?;
    let constants = body.handle(constants)?;
    let tint = body.load_constants(constants, zero, float)?;
    let data = body.handle_at(data, ArrayIndex { index: x, non_uniform: true })?;
    let offset = body.load_buffer(data, zero, Some(zero), float, 4)?;
    let mut result = Vec::new();
    for at in 0..4 {
        let index = body.i32(i128::from(at))?;
        let value = body.extract_element(color, index)?;
        let at = usize::from(at as u8);
        result.push(body.operation("FMad", &[value, tint[at], offset[at]])?);
    }
    let image = body.handle(image)?;
    body.store_texture(image, &[x, y], &result)?;
    body.ret_void()?;
    body.finish()?;

    let function = library.export("sky", Export::Miss { payload })?;
    let mut body = library.body_of(function)?;
    let color = body.parameter(0)?;
    let color = body.field_ptr(payload, color, 0)?;
    let white = body.f32(1.0)?;
    let white = body.const_splat(4, white)?;
    body.store(white, color)?;
    body.ret_void()?;
    body.finish()?;

    let function = library.export("nearest", Export::ClosestHit { payload, attributes })?;
    let mut body = library.body_of(function)?;
    let color = body.parameter(0)?;
    let color = body.field_ptr(payload, color, 0)?;
    let distance = body.operation("RayTCurrent", &[])?;
    let black = body.f32(0.0)?;
    let black = body.const_splat(4, black)?;
    let zero = body.i32(0)?;
    let shade = body.insert_element(black, distance, zero)?;
    body.store(shade, color)?;
    body.ret_void()?;
    body.finish()?;

    let function = library.export("any", Export::AnyHit { payload, attributes })?;
    let mut body = library.body_of(function)?;
    let place = body.parameter(1)?;
    let place = body.field_ptr(attributes, place, 0)?;
    let place = body.load(two, place)?;
    let zero = body.i32(0)?;
    let place = body.extract_element(place, zero)?;
    let half = body.f32(0.5)?;
    let (ignored, end) = (body.block(""), body.block(""));
    let is_near = body.fcmp(FloatPredicate::Olt, place, half)?;
    body.cond_br(is_near, ignored, end)?;
    body.select_block(ignored)?;
    body.operation("IgnoreHit", &[])?;
    body.unreachable()?;
    body.select_block(end)?;
    body.ret_void()?;
    body.finish()?;

    let function = library.export("intersect", Export::Intersection)?;
    let mut body = library.body_of(function)?;
    let found = body.alloca(attributes)?;
    let place = body.field_ptr(attributes, found, 0)?;
    let none = body.f32(0.0)?;
    let none = body.const_splat(2, none)?;
    body.store(none, place)?;
    let (distance, kind) = (body.f32(1.0)?, body.i32(0)?);
    body.operation("ReportHit", &[distance, kind, found])?;
    body.ret_void()?;
    body.finish()?;

    let function = library.export("call", Export::Callable { parameter: payload })?;
    let mut body = library.body_of(function)?;
    body.ret_void()?;
    body.finish()?;
    assert!(library.export("call", Export::RayGeneration).is_err());
    assert!(library.export("other", Export::Miss { payload: float }).is_err());
    assert!(library.body().is_err());
    Ok(library)
}

/// A function for other libraries.
fn function(target: Target) -> Result<Shader> {
    let mut library = Shader::library(target)?;
    let float = library.float();
    let ty = library.function_type(float, &[float])?;
    let twice = library.add_function("twice", ty)?;
    let mut body = library.body_of(twice)?;
    let x = body.parameter(0)?;
    let root = body.operation("Sqrt", &[x])?;
    let sum = body.fadd(x, root)?;
    body.ret(sum)?;
    body.finish()?;
    Ok(library)
}

/// All libraries, for several shader models.
pub(crate) fn all() -> Vec<Built> {
    let mut built = Vec::new();
    for target in super::targets().filter(|target| target.model >= 3) {
        built.push(shader("ray_tracing", target, ray_tracing));
        built.push(shader("function", target, function));
    }
    built
}
