//! DirectX shaders made by calls that bytes select: most calls are wrong, and none may panic; what finishes is sound.

use unshade::directx::ComponentType;
use unshade::directx::Interpolation;
use unshade::directx::body::{ArrayIndex, Handle, ShaderBody};
use unshade::directx::library::Export;
use unshade::directx::operations::{AtomicOperation, Barrier, Component, Sampling, TexturePlace};
use unshade::directx::resources::{Binding, Resource, ResourceId, TextureShape};
use unshade::directx::shader::Shader;
use unshade::directx::signature::Element;
use unshade::directx::target::{
    InputPrimitive, MeshTopology, OutputTopology, Partitioning, Stage, Target, TessellatorDomain,
    TessellatorOutput,
};
use unshade::llvm::build::IntPredicate;
use unshade::llvm::dxil_operations;
use unshade::llvm::{TypeId, ValueId};
use unshade_core::Result;
use unshade_dxcontainer::{Container, verify};

const SHAPES: [TextureShape; 9] = [
    TextureShape::D1,
    TextureShape::D2,
    TextureShape::D2Multisampled,
    TextureShape::D3,
    TextureShape::Cube,
    TextureShape::D1Array,
    TextureShape::D2Array,
    TextureShape::D2MultisampledArray,
    TextureShape::CubeArray,
];
const SEMANTICS: [&str; 12] = [
    "A",
    "B",
    "SV_Position",
    "SV_VertexID",
    "SV_Target",
    "SV_Depth",
    "SV_ClipDistance",
    "SV_PrimitiveID",
    "SV_TessFactor",
    "SV_InsideTessFactor",
    "SV_SampleIndex",
    "SV_Nothing",
];
const ATOMICS: [AtomicOperation; 3] =
    [AtomicOperation::Add, AtomicOperation::UMax, AtomicOperation::Exchange];

/// Bytes that select what is called, and what was made so far.
struct Calls<'d> {
    data: &'d [u8],
    types: Vec<TypeId>,
    values: Vec<ValueId>,
    resources: Vec<ResourceId>,
    handles: Vec<Handle>,
    elements: u32,
}

impl Calls<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.data.split_first() else { return 0 };
        self.data = rest;
        first
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::from(self.byte()) % list.len()]
    }

    fn value(&mut self) -> ValueId {
        let byte = self.byte();
        match self.values.get(usize::from(byte) % self.values.len().max(1)) {
            Some(&value) if byte != 255 => value,
            _ => ValueId(u32::from(byte) << 21),
        }
    }

    fn values(&mut self, count: usize) -> Vec<ValueId> {
        (0..count).map(|_| self.value()).collect()
    }

    fn handle(&mut self) -> Option<Handle> {
        let byte = usize::from(self.byte());
        self.handles.get(byte % self.handles.len().max(1)).copied()
    }

    fn component(&mut self) -> Component {
        let (element, column, row) = (self.byte() % 8, self.byte() % 5, self.byte());
        let at = Component::new(element.into(), column);
        if row & 1 == 0 { at } else { Component::in_row(element.into(), self.value(), column) }
    }
}

/// Builds a shader of calls that bytes select. What finishes is sound.
///
/// # Errors
/// If a call that everything needs is refused.
pub fn exercise(data: &[u8]) -> Result<()> {
    let mut calls = Calls {
        data,
        types: Vec::new(),
        values: Vec::new(),
        resources: Vec::new(),
        handles: Vec::new(),
        elements: 0,
    };
    let target = target(&mut calls);
    let mut shader = shader(&mut calls, target)?;
    calls.types = vec![
        shader.integer(32)?,
        shader.float(),
        shader.half(),
        shader.integer(64)?,
        shader.double(),
        shader.integer(1)?,
        shader.integer(8)?,
        shader.integer(16)?,
    ];
    for _ in 0..calls.byte() % 16 {
        let _ = outside(&mut shader, &mut calls);
    }
    let payload = shader.named_struct("struct.Payload");
    shader.define_struct(payload, &calls.types[..2], false)?;
    let function = match shader.function() {
        Some(function) => function,
        None => shader.export("f", Export::Miss { payload })?,
    };
    let mut body = shader.body_of(function)?;
    for (at, ty) in calls.types.clone().into_iter().enumerate() {
        let value =
            if at == 1 || at == 2 || at == 4 { body.const_float(ty, 1.0)? } else { body.const_int(ty, 0)? };
        calls.values.push(value);
        calls.values.push(body.const_undef(ty)?);
    }
    for _ in 0..calls.byte() {
        if let Ok(values) = inside(&mut body, &mut calls) {
            calls.values.extend(values);
        }
    }
    body.ret_void()?;
    body.finish()?;
    if matches!(shader.stage(), Stage::Hull { .. }) {
        shader.set_patch_constant_function(function)?;
    }
    let container = shader.container()?;
    let findings = verify::container(&Container::parse(&container)?);
    assert!(findings.is_empty(), "{findings:?}");
    Ok(())
}

fn target(calls: &mut Calls<'_>) -> Target {
    let (model, form) = (calls.byte() % 9, calls.byte());
    let mut target = Target::model(model.into());
    if form & 1 == 1 {
        target = target.native_16_bit();
    }
    if form & 6 == 2 { target.validator(1, u32::from(form >> 4)) } else { target }
}

fn shader(calls: &mut Calls<'_>, target: Target) -> Result<Shader> {
    let number = u32::from(calls.byte());
    let stage = match calls.byte() % 9 {
        0 => Stage::Vertex,
        1 => Stage::Pixel { early_depth_stencil: number & 1 == 1 },
        2 => Stage::Geometry {
            input: InputPrimitive::Triangle,
            output: OutputTopology::PointList,
            max_vertices: number,
            instances: 1,
        },
        3 => Stage::Hull {
            domain: TessellatorDomain::Quad,
            partitioning: Partitioning::Integer,
            output: TessellatorOutput::Line,
            input_points: number,
            output_points: 4,
            max_factor: 1.0,
        },
        4 => Stage::Domain { domain: TessellatorDomain::Isoline, points: number },
        5 => Stage::Amplification { threads: [number, 1, 1], payload_bytes: number },
        6 => Stage::Mesh {
            threads: [1, number, 1],
            max_vertices: number,
            max_primitives: 1,
            topology: MeshTopology::Line,
            payload_bytes: 0,
        },
        7 => return Shader::library(target),
        _ => Stage::compute([number, 1, 1]),
    };
    Shader::new(target, stage, "main")
}

/// Adds a resource, an element or a variable.
fn outside(shader: &mut Shader, calls: &mut Calls<'_>) -> Result<()> {
    let (kind, form, number) = (calls.byte(), calls.byte(), u32::from(calls.byte()));
    let component = ComponentType(u32::from(form % 20));
    let binding = Binding::at(number << (form & 8)).space(u32::from(form >> 6));
    let binding = match form & 3 {
        0 => binding.array(number),
        1 => binding.unbounded(),
        _ => binding,
    };
    let resource = match kind % 16 {
        0 => Resource::constant_buffer(binding, number * 300),
        1 => Resource::byte_address_buffer(binding),
        2 => Resource::rw_byte_address_buffer(binding).globally_coherent(),
        3 => Resource::structured_buffer(binding, number),
        4 => Resource::rw_structured_buffer(binding, number).with_counter(),
        5 => Resource::buffer(binding, component, number % 6),
        6 => Resource::rw_buffer(binding, component, number % 6).rasterizer_ordered(),
        7 => Resource::texture(binding, calls.pick(&SHAPES), component, number % 6),
        8 => Resource::rw_texture(binding, calls.pick(&SHAPES), component, number % 6),
        9 => Resource::sampler(binding),
        10 => Resource::comparison_sampler(binding).in_heap(),
        11 => Resource::acceleration_structure(binding),
        12 => {
            let ty = calls.pick(&calls.types.clone());
            let ty = shader.array(u64::from(form), ty)?;
            let shared = shader.group_shared("shared", ty)?;
            calls.values.push(shared);
            return Ok(());
        }
        13 => return shader.set_wave_lanes(number, u32::from(form), 0),
        _ => {
            let semantic = calls.pick(&SEMANTICS);
            let mut element = Element::new(semantic, u32::from(form >> 4), component, calls.byte() % 6);
            element.rows = number % 40;
            element.stream = u32::from(form & 1);
            if form & 2 == 2 {
                element = element.interpolation(Interpolation(form >> 4));
            }
            let added = match kind >> 5 & 3 {
                0 => shader.input(element),
                1 => shader.patch_element(element),
                _ => shader.output(element),
            };
            calls.elements += u32::from(added.is_ok());
            return added.map(drop);
        }
    };
    calls.resources.push(shader.resource(resource)?);
    Ok(())
}

/// Adds to a body.
fn inside(body: &mut ShaderBody<'_>, calls: &mut Calls<'_>) -> Result<Vec<ValueId>> {
    let (kind, form) = (calls.byte(), calls.byte());
    let one = |value: ValueId| vec![value];
    let none = |(): ()| Vec::new();
    Ok(match kind % 24 {
        0 => {
            let resource = usize::from(form) % calls.resources.len().max(1);
            let Some(&resource) = calls.resources.get(resource) else { return Ok(Vec::new()) };
            let handle = match form & 1 {
                0 => body.handle(resource)?,
                _ => {
                    body.handle_at(resource, ArrayIndex { index: calls.value(), non_uniform: form & 2 == 2 })?
                }
            };
            calls.handles.push(handle);
            one(handle.value())
        }
        1 => {
            let name = calls.byte() as usize | usize::from(form & 1) << 8;
            let operation = &dxil_operations::CORE[name % dxil_operations::CORE.len()];
            let arguments = calls.values(operation.operands() - 1);
            if form & 2 == 0 {
                one(body.operation(operation.name, &arguments)?)
            } else {
                let ty = calls.pick(&calls.types.clone());
                one(body.operation_of(operation.name, ty, &arguments)?)
            }
        }
        2..=9 => return access(body, calls, kind % 24, form),
        10 => one(body.load_input(u32::from(form), calls.byte() % 5)?),
        11 => {
            let (row, vertex) = (calls.value(), calls.value());
            one(body.load_input_row(u32::from(form & 7), row, form >> 6, Some(vertex))?)
        }
        12 => none(body.store_output(u32::from(form & 7), form >> 5, calls.value())?),
        13 => none(body.store_patch_constant(calls.component(), calls.value())?),
        14 => one(body.load_patch_constant(calls.component())?),
        15 => one(body.load_output_point(calls.component(), calls.value())?),
        16 => none(body.store_vertex_output(calls.component(), calls.value(), calls.value())?),
        17 => none(body.store_primitive_output(calls.component(), calls.value(), calls.value())?),
        18 => none(body.emit_vertex(form & 7)?),
        19 => none(body.barrier(match form & 3 {
            0 => Barrier::THREADS | Barrier::GROUP_SHARED,
            1 => Barrier::UAV,
            2 => Barrier::UAV | Barrier::UAV_OF_GROUP,
            _ => Barrier::THREADS,
        })?),
        20 => one(body.thread_id(u32::from(form & 3))?),
        21 => one(body.add(calls.value(), calls.value())?),
        22 => one(body.fmul(calls.value(), calls.value())?),
        _ => one(body.icmp(IntPredicate::Ult, calls.value(), calls.value())?),
    })
}

/// Accesses a resource.
fn access(body: &mut ShaderBody<'_>, calls: &mut Calls<'_>, kind: u8, form: u8) -> Result<Vec<ValueId>> {
    let Some(handle) = calls.handle() else { return Ok(Vec::new()) };
    let at = calls.value();
    let offset = (form & 1 == 1).then(|| calls.value());
    let count = usize::from(form >> 1 & 7);
    let coordinates = calls.values(count);
    let place = TexturePlace::at(&coordinates);
    let ty = calls.pick(&calls.types.clone());
    match kind {
        2 => body.load_buffer(handle, at, offset, ty, count),
        3 => body.store_buffer(handle, at, offset, &coordinates).map(|()| Vec::new()),
        4 => body.load_typed_buffer(handle, at),
        5 => body.load_constants(handle, at, ty),
        6 => body.load_texture(handle, offset, &place),
        7 => body.store_texture(handle, &coordinates, &[at]).map(|()| Vec::new()),
        8 => {
            let Some(sampler) = calls.handle() else { return Ok(Vec::new()) };
            let how = match form >> 5 {
                0 => Sampling::Implicit,
                1 => Sampling::Level(at),
                2 => Sampling::CompareLevelZero(at),
                3 => Sampling::Gradient { dx: &coordinates, dy: &coordinates },
                _ => return body.gather(handle, sampler, u32::from(form >> 5), offset, &place),
            };
            body.sample(handle, sampler, how, &place)
        }
        _ => body.atomic(handle, calls.pick(&ATOMICS), &coordinates, at).map(|value| vec![value]),
    }
}
