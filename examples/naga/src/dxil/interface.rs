//! Inputs and outputs as elements of signatures, and resources with their registers.
//!
//! What goes from stage to stage has the semantic `LOC`, with the location as index, so that it links by location.
//! Elements come by location, then values of the hardware: the order decides about registers.

use super::textures::{component_scalar, components};
use crate::error::{Error, Result, unsupported};
use crate::images::image_type;
use crate::target::{Port, Role};
use crate::{GROUPS_SPACE, Options};
use naga::valid::FunctionInfo;
use naga::{
    AddressSpace, BuiltIn, ConservativeDepth, EarlyDepthTest, EntryPoint, GlobalVariable, Handle, ImageClass,
    ImageDimension, Interpolation, Module, Sampling, Scalar, ScalarKind, ShaderStage, StorageAccess,
    TypeInner,
};
use std::collections::HashMap;
use unshade_dxil::body::ShaderBody;
use unshade_dxil::resources::{Binding, Resource, ResourceId, TextureShape};
use unshade_dxil::shader::Shader;
use unshade_dxil::signature::Element;
use unshade_dxil::target::{Stage, Target};
use unshade_dxil::{ComponentType, Interpolation as DxilInterpolation};
use unshade_llvm::ValueId;
use unshade_llvm::build::IntPredicate;

/// The shader model with native types of 16 bits, and that with loads of 64 bits.
const NATIVE_16_BIT_MODEL: u32 = 2;
const LOADS_64_BIT_MODEL: u32 = 3;
/// The shader model that knows the number of the view.
const VIEW_MODEL: u32 = 1;

/// Returns the stage of an entry point.
pub(super) fn stage(point: &EntryPoint) -> Result<Stage> {
    Ok(match point.stage {
        ShaderStage::Compute => Stage::compute(point.workgroup_size),
        ShaderStage::Vertex => Stage::Vertex,
        ShaderStage::Fragment => Stage::Pixel {
            early_depth_stencil: matches!(point.early_depth_test, Some(EarlyDepthTest::Force)),
        },
        other => return unsupported(format!("{other:?} shaders")),
    })
}

/// Returns the target: the shader model that is asked for, or the first that has what the module needs.
pub(super) fn target(module: &Module, info: &FunctionInfo, point: &EntryPoint, options: &Options) -> Target {
    let has_width = |width: u8| {
        let is_of = |inner: &TypeInner| matches!(inner.scalar_width(), Some(found) if found == width);
        let mut expressions = point.function.expressions.iter();
        module.types.iter().any(|(_, ty)| is_of(&ty.inner))
            || expressions.any(|(handle, _)| is_of(info[handle].ty.inner_with(&module.types)))
    };
    let is_view =
        |binding: Option<&naga::Binding>| matches!(binding, Some(naga::Binding::BuiltIn(BuiltIn::ViewIndex)));
    let mut arguments = point.function.arguments.iter();
    let has_view = arguments.any(|argument| match &module.types[argument.ty].inner {
        TypeInner::Struct { members, .. } => members.iter().any(|member| is_view(member.binding.as_ref())),
        _ => is_view(argument.binding.as_ref()),
    });
    let mut model = options.shader_model;
    for (is_needed, needed) in
        [(has_view, VIEW_MODEL), (has_width(2), NATIVE_16_BIT_MODEL), (has_width(8), LOADS_64_BIT_MODEL)]
    {
        model = if is_needed { model.max(needed) } else { model };
    }
    let target = Target::model(model);
    if has_width(2) { target.native_16_bit() } else { target }
}

/// Adds the resources that the entry point uses.
pub(super) fn resources(
    shader: &mut Shader,
    module: &Module,
    info: &FunctionInfo,
) -> Result<HashMap<Handle<GlobalVariable>, ResourceId>> {
    let mut used: Vec<_> = module
        .global_variables
        .iter()
        .filter(|(handle, global)| !info[*handle].is_empty() && global.binding.is_some())
        .collect();
    used.sort_by_key(|(_, global)| global.binding);
    let mut list = HashMap::new();
    for (handle, global) in used {
        let span = module.global_variables.get_span(handle);
        let resource = resource(module, handle, global).map_err(|e| e.at(span))?;
        let name = global.name.as_deref().unwrap_or("");
        list.insert(handle, shader.resource(resource.named(name))?);
    }
    Ok(list)
}

fn resource(module: &Module, handle: Handle<GlobalVariable>, global: &GlobalVariable) -> Result<Resource> {
    let place = global.binding.ok_or_else(|| Error::new("a resource without a binding"))?;
    let binding = Binding::at(place.binding).space(place.group);
    Ok(match (global.space, &module.types[global.ty].inner) {
        (AddressSpace::Uniform, inner) => match inner.try_size(module.to_ctx()) {
            Some(size) => Resource::constant_buffer(binding, size.next_multiple_of(4)),
            None => return unsupported("a uniform buffer of unknown size"),
        },
        (AddressSpace::Storage { access }, _) if access.contains(StorageAccess::STORE) => {
            Resource::rw_byte_address_buffer(binding)
        }
        (AddressSpace::Storage { .. }, _) => Resource::byte_address_buffer(binding),
        (AddressSpace::Handle, TypeInner::Sampler { comparison: true }) => {
            Resource::comparison_sampler(binding)
        }
        (AddressSpace::Handle, TypeInner::Sampler { .. }) => Resource::sampler(binding),
        (AddressSpace::Handle, _) => {
            let (dimension, arrayed, class) = image_type(module, handle)?;
            let shape = shape(dimension, arrayed, class)?;
            let (component, count) = (component(component_scalar(class)?)?, components(class));
            match class {
                ImageClass::Storage { .. } => Resource::rw_texture(binding, shape, component, count),
                _ => Resource::texture(binding, shape, component, count),
            }
        }
        (other, _) => return unsupported(format!("variables in {other:?}")),
    })
}

fn shape(dimension: ImageDimension, arrayed: bool, class: ImageClass) -> Result<TextureShape> {
    let multi = matches!(class, ImageClass::Sampled { multi: true, .. } | ImageClass::Depth { multi: true });
    Ok(match (dimension, arrayed, multi) {
        (ImageDimension::D1, false, false) => TextureShape::D1,
        (ImageDimension::D1, true, false) => TextureShape::D1Array,
        (ImageDimension::D2, false, false) => TextureShape::D2,
        (ImageDimension::D2, true, false) => TextureShape::D2Array,
        (ImageDimension::D2, false, true) => TextureShape::D2Multisampled,
        (ImageDimension::D2, true, true) => TextureShape::D2MultisampledArray,
        (ImageDimension::D3, false, false) => TextureShape::D3,
        (ImageDimension::Cube, false, false) => TextureShape::Cube,
        (ImageDimension::Cube, true, false) => TextureShape::CubeArray,
        _ => return unsupported(format!("{dimension:?} textures of this kind")),
    })
}

fn component(scalar: Scalar) -> Result<ComponentType> {
    Ok(match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 4) => ComponentType::F32,
        (ScalarKind::Float, 2) => ComponentType::F16,
        (ScalarKind::Sint, 4) => ComponentType::I32,
        (ScalarKind::Uint, 4) | (ScalarKind::Bool, _) => ComponentType::U32,
        (ScalarKind::Sint, 2) => ComponentType::I16,
        (ScalarKind::Uint, 2) => ComponentType::U16,
        _ => return unsupported(format!("{} between stages", crate::types::scalar_name(scalar))),
    })
}

/// Where an input comes from.
#[derive(Clone, Copy)]
enum Source {
    /// An element of the signature.
    Element(u32),
    /// An operation that takes the number of the component.
    Position(&'static str),
    /// An operation without operands.
    Value(&'static str),
    /// The constant buffer with the numbers of workgroups.
    Groups(ResourceId),
}

/// The inputs of an entry point.
pub(super) struct Inputs(HashMap<usize, Source>);

/// The outputs of an entry point: their elements.
pub(super) struct Outputs(HashMap<usize, u32>);

/// Values of the hardware that operations return.
const OPERATIONS: [(ShaderStage, BuiltIn, Source); 7] = [
    (ShaderStage::Compute, BuiltIn::GlobalInvocationId, Source::Position("ThreadId")),
    (ShaderStage::Compute, BuiltIn::LocalInvocationId, Source::Position("ThreadIdInGroup")),
    (ShaderStage::Compute, BuiltIn::WorkGroupId, Source::Position("GroupId")),
    (ShaderStage::Compute, BuiltIn::LocalInvocationIndex, Source::Value("FlattenedThreadIdInGroup")),
    (ShaderStage::Fragment, BuiltIn::SampleIndex, Source::Value("SampleIndex")),
    (ShaderStage::Fragment, BuiltIn::SampleMask, Source::Value("Coverage")),
    (ShaderStage::Fragment, BuiltIn::ViewIndex, Source::Value("ViewID")),
];

/// Values of the hardware that are elements of the input signature.
const INPUTS: [(ShaderStage, BuiltIn, &str); 4] = [
    (ShaderStage::Vertex, BuiltIn::VertexIndex, "SV_VertexID"),
    (ShaderStage::Vertex, BuiltIn::InstanceIndex, "SV_InstanceID"),
    (ShaderStage::Fragment, BuiltIn::FrontFacing, "SV_IsFrontFace"),
    (ShaderStage::Fragment, BuiltIn::PrimitiveIndex, "SV_PrimitiveID"),
];

/// Returns ports by location, then values of the hardware.
fn sorted<'p>(ports: impl Iterator<Item = &'p Port>) -> Vec<&'p Port> {
    let mut list: Vec<&Port> = ports.collect();
    list.sort_by_key(|port| match port.role {
        Role::Location { location, blend_source, .. } => (0, location, blend_source.unwrap_or(0)),
        Role::BuiltIn(_) => (1, 0, 0),
    });
    list
}

/// Adds the inputs.
pub(super) fn inputs(
    shader: &mut Shader,
    point: &EntryPoint,
    interface: &crate::interface::Interface,
) -> Result<Inputs> {
    let mut sources = HashMap::new();
    for port in sorted(interface.all_inputs()) {
        let element = match port.role {
            Role::Location { location, interpolation: kind, sampling, .. } => {
                let element = Element::new("LOC", location, component(port.scalar)?, port.count);
                match point.stage {
                    ShaderStage::Fragment => element.interpolation(interpolation(port, kind, sampling)?),
                    _ => element,
                }
            }
            Role::BuiltIn(BuiltIn::Position { .. }) => {
                Element::new("SV_Position", 0, ComponentType::F32, port.count)
            }
            Role::BuiltIn(BuiltIn::NumWorkGroups) => {
                let binding = Binding::at(0).space(GROUPS_SPACE);
                let buffer = Resource::constant_buffer(binding, 12).named("num_workgroups");
                sources.insert(port.index, Source::Groups(shader.resource(buffer)?));
                continue;
            }
            Role::BuiltIn(builtin) => {
                if let Some(row) = OPERATIONS.iter().find(|row| (row.0, row.1) == (point.stage, builtin)) {
                    sources.insert(port.index, row.2);
                    continue;
                }
                match INPUTS.iter().find(|row| (row.0, row.1) == (point.stage, builtin)) {
                    Some(row) => Element::new(row.2, 0, component(port.scalar)?, port.count),
                    None => return unsupported(format!("{}: the input {builtin:?}", port.name)),
                }
            }
        };
        sources.insert(port.index, Source::Element(shader.input(element)?));
    }
    Ok(Inputs(sources))
}

impl Inputs {
    /// Loads an input.
    pub(super) fn load(&self, b: &mut ShaderBody<'_>, port: &Port) -> Result<Vec<ValueId>> {
        let source = self.0.get(&port.index).ok_or_else(|| Error::new("an input that does not exist"))?;
        let mut values = Vec::new();
        if let Source::Groups(buffer) = *source {
            let (handle, row, int) = (b.handle(buffer)?, b.i32(0)?, b.integer(32)?);
            values = b.load_constants(handle, row, int)?;
            values.truncate(usize::from(port.count));
            return Ok(values);
        }
        for column in 0..port.count {
            values.push(match *source {
                Source::Groups(_) => continue,
                Source::Element(element) => b.load_input(element, column)?,
                Source::Position(operation) => {
                    let component = b.i32(column)?;
                    b.operation(operation, &[component])?
                }
                Source::Value(operation) => b.operation(operation, &[])?,
            });
        }
        if let (Role::BuiltIn(BuiltIn::Position { .. }), Some(w)) = (port.role, values.get_mut(3)) {
            // WGSL has the reciprocal.
            let one = b.f32(1.0)?;
            *w = b.fdiv(one, *w)?;
        }
        if port.scalar.kind == ScalarKind::Bool {
            let zero = b.i32(0)?;
            for value in &mut values {
                *value = b.icmp(IntPredicate::Ne, *value, zero)?;
            }
        }
        Ok(values)
    }
}

/// How an input is interpolated: kind, where, in DXIL.
const INTERPOLATIONS: [(Interpolation, Sampling, DxilInterpolation); 6] = [
    (Interpolation::Perspective, Sampling::Center, DxilInterpolation::LINEAR),
    (Interpolation::Perspective, Sampling::Centroid, DxilInterpolation::LINEAR_CENTROID),
    (Interpolation::Perspective, Sampling::Sample, DxilInterpolation::LINEAR_SAMPLE),
    (Interpolation::Linear, Sampling::Center, DxilInterpolation::LINEAR_NOPERSPECTIVE),
    (Interpolation::Linear, Sampling::Centroid, DxilInterpolation::LINEAR_NOPERSPECTIVE_CENTROID),
    (Interpolation::Linear, Sampling::Sample, DxilInterpolation::LINEAR_NOPERSPECTIVE_SAMPLE),
];

fn interpolation(
    port: &Port,
    kind: Option<Interpolation>,
    sampling: Option<Sampling>,
) -> Result<DxilInterpolation> {
    if port.scalar.kind != ScalarKind::Float || kind == Some(Interpolation::Flat) {
        return Ok(DxilInterpolation::CONSTANT);
    }
    let wanted = (kind.unwrap_or(Interpolation::Perspective), sampling.unwrap_or(Sampling::Center));
    match INTERPOLATIONS.iter().find(|row| (row.0, row.1) == wanted) {
        Some(row) => Ok(row.2),
        None => unsupported(format!("{}: values per vertex", port.name)),
    }
}

/// Adds the outputs.
pub(super) fn outputs(
    shader: &mut Shader,
    point: &EntryPoint,
    interface: &crate::interface::Interface,
) -> Result<Outputs> {
    let is_vertex = point.stage == ShaderStage::Vertex;
    let mut elements = HashMap::new();
    for port in sorted(interface.outputs.iter()) {
        let of = component(port.scalar)?;
        let element = match port.role {
            Role::Location { location, interpolation: kind, sampling, .. } if is_vertex => {
                let interpolation = interpolation(port, kind, sampling)?;
                Element::new("LOC", location, of, port.count).interpolation(interpolation)
            }
            Role::Location { location, blend_source, .. } => {
                Element::new("SV_Target", location + blend_source.unwrap_or(0), of, port.count)
            }
            Role::BuiltIn(BuiltIn::Position { .. }) => Element::new("SV_Position", 0, of, port.count),
            Role::BuiltIn(BuiltIn::FragDepth) => Element::new(depth(point), 0, of, 1),
            Role::BuiltIn(BuiltIn::SampleMask) => Element::new("SV_Coverage", 0, of, 1),
            Role::BuiltIn(builtin) => return unsupported(format!("{}: the output {builtin:?}", port.name)),
        };
        elements.insert(port.index, shader.output(element)?);
    }
    Ok(Outputs(elements))
}

fn depth(point: &EntryPoint) -> &'static str {
    match point.early_depth_test {
        Some(EarlyDepthTest::Allow { conservative: ConservativeDepth::GreaterEqual }) => {
            "SV_DepthGreaterEqual"
        }
        Some(EarlyDepthTest::Allow { conservative: ConservativeDepth::LessEqual }) => "SV_DepthLessEqual",
        _ => "SV_Depth",
    }
}

impl Outputs {
    /// Stores an output.
    pub(super) fn store(&self, b: &mut ShaderBody<'_>, port: &Port, values: &[ValueId]) -> Result<()> {
        let element = self.0.get(&port.index).ok_or_else(|| Error::new("an output that does not exist"))?;
        for (column, &value) in (0u8..).zip(values) {
            b.store_output(*element, column, value)?;
        }
        Ok(())
    }
}
