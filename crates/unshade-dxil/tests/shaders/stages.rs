//! Geometry, hull, domain, mesh and amplification shaders.

use super::{Built, shader};
use unshade_core::Result;
use unshade_dxil::ComponentType;
use unshade_dxil::operations::{Barrier, Component};
use unshade_dxil::resources::{Binding, Resource};
use unshade_dxil::shader::Shader;
use unshade_dxil::signature::Element;
use unshade_dxil::target::{
    InputPrimitive, MeshTopology, OutputTopology, Partitioning, Stage, Target, TessellatorDomain,
    TessellatorOutput,
};
use unshade_llvm::build::IntPredicate;

const F32: ComponentType = ComponentType::F32;
const U32: ComponentType = ComponentType::U32;

/// A quad from a point, in two streams.
fn quad(target: Target) -> Result<Shader> {
    let stage = Stage::Geometry {
        input: InputPrimitive::Point,
        output: OutputTopology::PointList,
        max_vertices: 4,
        instances: 2,
    };
    let mut shader = Shader::new(target, stage, "main")?;
    let place = shader.input(Element::new("PLACE", 0, F32, 4))?;
    let position = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let layer = shader.output(Element::new("SV_RenderTargetArrayIndex", 0, U32, 1))?;
    let other = shader.output(Element::new("PLACE", 0, F32, 2).stream(1))?;
    let mut body = shader.body()?;
    let zero = body.i32(0)?;
    assert!(body.load_input(place, 0).is_err());
    let instance = body.operation("GSInstanceID", &[])?;
    let mut values = Vec::new();
    for column in 0..4 {
        values.push(body.load_input_row(place, zero, column, Some(zero))?);
    }
    for at in 0..4u8 {
        let offset = body.f32(f32::from(at) - 1.5)?;
        let moved = body.fadd(values[0], offset)?;
        body.store_output(position, 0, moved)?;
        for column in 1..4 {
            body.store_output(position, column, values[usize::from(column)])?;
        }
        body.store_output(layer, 0, instance)?;
        body.emit_vertex(0)?;
    }
    body.end_strip(0)?;
    body.store_output(other, 0, values[0])?;
    body.store_output(other, 1, values[1])?;
    body.emit_vertex(1)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Passes triangles, turned.
fn turned(target: Target) -> Result<Shader> {
    let stage = Stage::Geometry {
        input: InputPrimitive::Triangle,
        output: OutputTopology::TriangleStrip,
        max_vertices: 3,
        instances: 1,
    };
    let mut shader = Shader::new(target, stage, "main")?;
    let from = shader.input(Element::new("SV_Position", 0, F32, 4))?;
    let to = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let number = shader.output(Element::new("SV_PrimitiveID", 0, U32, 1))?;
    let mut body = shader.body()?;
    let zero = body.i32(0)?;
    let primitive = body.operation("PrimitiveID", &[])?;
    for vertex in [2, 1, 0] {
        let vertex = body.i32(vertex)?;
        for column in 0..4 {
            let value = body.load_input_row(from, zero, column, Some(vertex))?;
            body.store_output(to, column, value)?;
        }
        body.store_output(number, 0, primitive)?;
        body.emit_vertex(0)?;
    }
    body.end_strip(0)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Passes control points; the edges of a triangle are divided by their length.
fn hull(target: Target) -> Result<Shader> {
    let stage = Stage::Hull {
        domain: TessellatorDomain::Triangle,
        partitioning: Partitioning::FractionalOdd,
        output: TessellatorOutput::TriangleClockwise,
        input_points: 3,
        output_points: 3,
        max_factor: 16.0,
    };
    let mut shader = Shader::new(target, stage, "main")?;
    let from = shader.input(Element::new("POSITION", 0, F32, 3))?;
    let to = shader.output(Element::new("POSITION", 0, F32, 3))?;
    let edges = shader.patch_element(Element::new("SV_TessFactor", 0, F32, 1).rows(3))?;
    let inside = shader.patch_element(Element::new("SV_InsideTessFactor", 0, F32, 1))?;
    let center = shader.patch_element(Element::new("CENTER", 0, F32, 3))?;
    let void = shader.void();
    let ty = shader.function_type(void, &[])?;
    let constants = shader.add_function("constants", ty)?;
    assert!(shader.clone().bitcode().is_err());
    shader.set_patch_constant_function(constants)?;

    let mut body = shader.body()?;
    let zero = body.i32(0)?;
    let point = body.operation("OutputControlPointID", &[])?;
    for column in 0..3 {
        let value = body.load_input_row(from, zero, column, Some(point))?;
        body.store_output(to, column, value)?;
    }
    body.ret_void()?;
    body.finish()?;

    let mut body = shader.body_of(constants)?;
    let zero = body.i32(0)?;
    let mut sum = body.f32(1.0)?;
    for at in 0..3u8 {
        let point = body.i32(i128::from(at))?;
        let x = body.load_input_row(from, zero, 0, Some(point))?;
        let y = body.load_output_point(Component::new(to, 1), point)?;
        let factor = body.operation("FMax", &[x, y])?;
        body.store_patch_constant(Component::in_row(edges, point, 0), factor)?;
        body.store_patch_constant(Component::new(center, at), y)?;
        sum = body.fadd(sum, factor)?;
    }
    body.store_patch_constant(Component::new(inside, 0), sum)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// A point of a patch.
fn domain(target: Target) -> Result<Shader> {
    let stage = Stage::Domain { domain: TessellatorDomain::Triangle, points: 3 };
    let mut shader = Shader::new(target, stage, "main")?;
    let from = shader.input(Element::new("POSITION", 0, F32, 3))?;
    let edges = shader.patch_element(Element::new("SV_TessFactor", 0, F32, 1).rows(3))?;
    shader.patch_element(Element::new("SV_InsideTessFactor", 0, F32, 1))?;
    let center = shader.patch_element(Element::new("CENTER", 0, F32, 3))?;
    let to = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let mut body = shader.body()?;
    let zero = body.i32(0)?;
    for column in 0..3 {
        let mut sum = body.load_patch_constant(Component::new(center, column))?;
        for at in 0..3u8 {
            let point = body.i32(i128::from(at))?;
            let weight = body.domain_location(at)?;
            let value = body.load_input_row(from, zero, column, Some(point))?;
            sum = body.operation("FMad", &[weight, value, sum])?;
        }
        body.store_output(to, column, sum)?;
    }
    let factor = body.load_patch_constant(Component::new(edges, 0))?;
    body.store_output(to, 3, factor)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// Chooses groups of mesh shaders.
fn amplify(target: Target) -> Result<Shader> {
    let stage = Stage::Amplification { threads: [32, 1, 1], payload_bytes: 128 };
    let mut shader = Shader::new(target, stage, "main")?;
    let int = shader.integer(32)?;
    let array = shader.array(32, int)?;
    let payload = shader.named_struct("struct.Payload");
    shader.define_struct(payload, &[array], false)?;
    let shared = shader.group_shared("payload", payload)?;
    let mut body = shader.body()?;
    let (zero, one, count) = (body.i32(0)?, body.i32(1)?, body.i32(32)?);
    let index = body.thread_index_in_group()?;
    let id = body.thread_id(0)?;
    let slot = body.element_ptr(payload, shared, &[zero, zero, index])?;
    body.store(id, slot)?;
    body.barrier(Barrier::THREADS | Barrier::GROUP_SHARED)?;
    body.dispatch_mesh([count, one, one], shared)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// A triangle for each group.
fn mesh(target: Target) -> Result<Shader> {
    let stage = Stage::Mesh {
        threads: [32, 1, 1],
        max_vertices: 3,
        max_primitives: 1,
        topology: MeshTopology::Triangle,
        payload_bytes: 128,
    };
    let mut shader = Shader::new(target, stage, "main")?;
    let data = shader.resource(Resource::structured_buffer(Binding::at(0), 16))?;
    let position = shader.output(Element::new("SV_Position", 0, F32, 4))?;
    let culled = shader.patch_element(Element::new("SV_CullPrimitive", 0, ComponentType::I1, 1))?;
    let number = shader.patch_element(Element::new("NUMBER", 0, U32, 1))?;
    let int = shader.integer(32)?;
    let array = shader.array(32, int)?;
    let payload = shader.named_struct("struct.Payload");
    shader.define_struct(payload, &[array], false)?;
    let mut body = shader.body()?;
    let (zero, one, two, three) = (body.i32(0)?, body.i32(1)?, body.i32(2)?, body.i32(3)?);
    let float = body.float();
    body.set_mesh_outputs(three, one)?;
    let index = body.thread_index_in_group()?;
    let group = body.group_id(0)?;
    let given = body.mesh_payload(payload)?;
    let slot = body.element_ptr(payload, given, &[zero, zero, group])?;
    let chosen = body.load(int, slot)?;
    let (vertex, first, end) = (body.block("vertex"), body.block("first"), body.block("end"));
    let after = body.block("after");
    let is_vertex = body.icmp(IntPredicate::Ult, index, three)?;
    body.cond_br(is_vertex, vertex, after)?;

    body.select_block(vertex)?;
    let buffer = body.handle(data)?;
    let at = body.add(chosen, index)?;
    let place = body.load_buffer(buffer, at, Some(zero), float, 4)?;
    for (column, &value) in (0..).zip(&place) {
        body.store_vertex_output(Component::new(position, column), value, index)?;
    }
    body.br(after)?;

    body.select_block(after)?;
    let is_first = body.icmp(IntPredicate::Eq, index, zero)?;
    body.cond_br(is_first, first, end)?;
    body.select_block(first)?;
    body.set_primitive(zero, &[zero, one, two])?;
    body.store_primitive_output(Component::new(culled, 0), zero, zero)?;
    body.store_primitive_output(Component::new(number, 0), group, zero)?;
    body.br(end)?;
    body.select_block(end)?;
    body.ret_void()?;
    body.finish()?;
    Ok(shader)
}

/// All of them, for several shader models.
pub(crate) fn all() -> Vec<Built> {
    let mut built = Vec::new();
    for target in super::targets() {
        let model = target.model;
        for (name, make, first) in [
            ("quad", quad as fn(Target) -> Result<Shader>, 0),
            ("turned", turned, 0),
            ("hull", hull, 0),
            ("domain", domain, 0),
            ("amplify", amplify, 5),
            ("mesh", mesh, 5),
        ] {
            if model >= first {
                built.push(shader(name, target, make));
            }
        }
    }
    built
}
