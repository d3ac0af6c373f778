//! The arguments of an entry point: buffers, textures and samplers in the order of their bindings, then inputs.

use super::is_local_index;
use super::textures::texture_type;
use crate::error::{Result, unsupported};
use crate::interface::Interface;
use crate::target::{Port, Role};
use crate::types::{Shape, Types, column_stride, scalar_name};
use crate::{Bindings, Options, SIZES_SLOT};
use naga::valid::{FunctionInfo, GlobalUse};
use naga::{
    AddressSpace, BuiltIn, EarlyDepthTest, EntryPoint, GlobalVariable, Handle, Interpolation, Module,
    Sampling, Scalar, ScalarKind, ShaderStage, StorageAccess, TypeInner,
};
use std::collections::HashMap;
use unshade_air::entry::{self, Access, Argument, Builtin, DepthQualifier, Output, Signature};
use unshade_air::types::{MetalType, Scalar as MetalScalar};

/// The arguments before inputs, and where they are.
pub(super) struct Arguments {
    /// Name and kind of each.
    list: Vec<(String, Argument)>,
    /// The number of the argument of each resource.
    pub resources: HashMap<Handle<GlobalVariable>, u32>,
    /// The argument with the sizes of buffers.
    pub sizes: Option<u32>,
    /// Where the size of a buffer is among them.
    pub size_indices: HashMap<Handle<GlobalVariable>, u32>,
    /// The first input.
    pub first_input: u32,
    /// The index in the workgroup.
    pub local_index: Option<u32>,
}

/// The scalars of Metal.
const SCALARS: [(Scalar, MetalScalar); 9] = [
    (Scalar::F32, MetalScalar::Float),
    (Scalar::I32, MetalScalar::Int),
    (Scalar::U32, MetalScalar::UInt),
    (Scalar::BOOL, MetalScalar::Bool),
    (Scalar { kind: ScalarKind::Float, width: 2 }, MetalScalar::Half),
    (Scalar { kind: ScalarKind::Sint, width: 2 }, MetalScalar::Short),
    (Scalar { kind: ScalarKind::Uint, width: 2 }, MetalScalar::UShort),
    (Scalar { kind: ScalarKind::Sint, width: 8 }, MetalScalar::Long),
    (Scalar { kind: ScalarKind::Uint, width: 8 }, MetalScalar::ULong),
];

fn metal_scalar(scalar: Scalar) -> Result<MetalScalar> {
    match SCALARS.iter().find(|row| row.0 == scalar) {
        Some(row) => Ok(row.1),
        None => unsupported(scalar_name(scalar)),
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Collects the arguments of an entry point.
pub(super) fn arguments(
    module: &Module,
    info: &FunctionInfo,
    point: &EntryPoint,
    interface: &Interface,
    bindings: &Bindings,
) -> Result<Arguments> {
    let mut used: Vec<_> = module
        .global_variables
        .iter()
        .filter(|(handle, global)| !info[*handle].is_empty() && global.binding.is_some())
        .collect();
    used.sort_by_key(|(_, global)| global.binding);
    let mut list = Vec::new();
    let (mut resources, mut size_indices) = (HashMap::new(), HashMap::new());
    for (handle, global) in used {
        let span = module.global_variables.get_span(handle);
        let Some(binding) = global.binding else { continue };
        let name = global.name.clone().unwrap_or_else(|| format!("g{}_b{}", binding.group, binding.binding));
        let slot = bindings.slot(binding)?;
        resources.insert(handle, number(list.len()));
        list.push((name, resource(module, handle, global, slot, info[handle]).map_err(|e| e.at(span))?));
        if let Some(index) = bindings.size_index(binding) {
            size_indices.insert(handle, index);
        }
    }
    let sizes = (!size_indices.is_empty()).then(|| {
        list.push(("buffer_sizes".to_string(), Argument::constant(SIZES_SLOT, MetalType::UINT)));
        number(list.len()) - 1
    });
    let first_input = number(list.len());
    let port = interface.all_inputs().find(|port| is_local_index(port));
    let has_workgroup = module
        .global_variables
        .iter()
        .any(|(handle, global)| global.space == AddressSpace::WorkGroup && !info[handle].is_empty());
    let local_index = match port {
        Some(port) => Some(first_input + number(port.index)),
        None if has_workgroup && point.stage == ShaderStage::Compute => {
            Some(first_input + number(interface.all_inputs().count()))
        }
        None => None,
    };
    Ok(Arguments { list, resources, sizes, size_indices, first_input, local_index })
}

/// Returns the argument of a buffer, texture or sampler.
fn resource(
    module: &Module,
    handle: Handle<GlobalVariable>,
    global: &GlobalVariable,
    slot: u32,
    usage: GlobalUse,
) -> Result<Argument> {
    match (global.space, &module.types[global.ty].inner) {
        (AddressSpace::Handle, TypeInner::Sampler { .. }) => Ok(Argument::sampler(slot)),
        (AddressSpace::Handle, _) => Ok(Argument::texture(slot, texture_type(module, handle)?)),
        (AddressSpace::Uniform, _) => {
            let shape = Types { module }.shape(global.ty)?;
            Ok(match buffer_type(Types { module }, shape)? {
                MetalType::Array(element, _) => Argument::constant(slot, *element),
                ty => Argument::constant_reference(slot, ty),
            })
        }
        (AddressSpace::Storage { access }, _) => {
            let shape = Types { module }.shape(global.ty)?;
            let ty = match buffer_type(Types { module }, shape)? {
                MetalType::Array(element, _) => *element,
                ty => ty,
            };
            let is_written = access.contains(StorageAccess::STORE)
                && usage.intersects(GlobalUse::WRITE | GlobalUse::ATOMIC);
            Ok(Argument::device(slot, ty, if is_written { Access::ReadWrite } else { Access::Read }))
        }
        (other, _) => unsupported(format!("variables in {other:?}")),
    }
}

/// Returns the type of a buffer in Metal. Where Metal has no type with WGSL's layout, it is given as integers: the type
/// serves reflection only.
fn buffer_type(types: Types<'_>, shape: Shape) -> Result<MetalType> {
    Ok(metal_type(types, shape)?.unwrap_or(MetalType::UINT))
}

/// Returns the type in Metal with the layout of a type of WGSL.
fn metal_type(types: Types<'_>, shape: Shape) -> Result<Option<MetalType>> {
    Ok(Some(match shape {
        Shape::Scalar(scalar) => MetalType::Scalar(metal_scalar(scalar)?),
        Shape::Vector(scalar, count) => MetalType::Vector(metal_scalar(scalar)?, count),
        Shape::Matrix(scalar, columns, rows) => MetalType::Matrix(metal_scalar(scalar)?, columns, rows),
        Shape::Atomic(scalar) => MetalType::Atomic(metal_scalar(scalar)?),
        Shape::Array(base, count, stride) => {
            let Some(element) = metal_type(types, types.shape(base)?)? else { return Ok(None) };
            if element.size() != stride || matches!(element, MetalType::Array(..)) {
                return Ok(None);
            }
            MetalType::array(element, count.unwrap_or(1))
        }
        Shape::Struct(ty) => return metal_struct(types, ty),
    }))
}

fn metal_struct(types: Types<'_>, ty: Handle<naga::Type>) -> Result<Option<MetalType>> {
    let TypeInner::Struct { members, span } = &types.module.types[ty].inner else { return Ok(None) };
    let mut list: Vec<(String, MetalType)> = Vec::new();
    let mut end = 0;
    for (at, member) in members.iter().enumerate() {
        let shape = types.shape(member.ty)?;
        let room = members.get(at + 1).map_or(*span, |next| next.offset).saturating_sub(member.offset);
        let Some(mut of) = metal_type(types, shape)? else { return Ok(None) };
        // A vector of three is as large as one of four unless it is packed.
        if let (Shape::Vector(scalar, 3), true) = (shape, room < of.size()) {
            of = MetalType::Packed(metal_scalar(scalar)?, 3);
        }
        if let Shape::Matrix(scalar, columns, rows) = shape
            && of.size() != u32::from(columns) * column_stride(scalar, rows)
        {
            return Ok(None);
        }
        if member.offset > end {
            pad(&mut list, member.offset - end);
        }
        end = member.offset.saturating_add(of.size());
        let name = member.name.clone().unwrap_or_else(|| format!("member{at}"));
        list.push((name, of));
    }
    if *span > end {
        pad(&mut list, span - end);
    }
    let name = match types.name(ty) {
        "" => format!("type{}", ty.index()),
        name => name.to_string(),
    };
    let borrowed: Vec<(&str, MetalType)> =
        list.iter().map(|(name, ty)| (name.as_str(), ty.clone())).collect();
    let structure = MetalType::structure(&name, &borrowed);
    // The rules of Metal must give the same offsets.
    let MetalType::Struct(of) = &structure else { return Ok(None) };
    let mut offsets = list.iter().zip(of.layout()).filter(|((name, _), _)| !name.starts_with(PADDING));
    let is_same =
        members.iter().all(|member| offsets.next().is_some_and(|(_, place)| place.0 == member.offset));
    Ok(is_same.then_some(structure))
}

/// The name of what fills a gap; WGSL has no names that start with two underscores.
const PADDING: &str = "__padding";

fn pad(list: &mut Vec<(String, MetalType)>, bytes: u32) {
    let name = format!("{PADDING}{}", list.len());
    list.push((name, MetalType::array(MetalType::Scalar(MetalScalar::Char), bytes)));
}

/// Returns the name of an entry point in Metal, which has no function `main`: naga calls it `main_` too.
pub(super) fn function_name(name: &str) -> String {
    if name == "main" { "main_".to_string() } else { name.to_string() }
}

/// Returns the signature of an entry point.
pub(super) fn signature(
    point: &EntryPoint,
    interface: &Interface,
    arguments: &Arguments,
    options: &Options,
) -> Result<Signature> {
    let name = function_name(&point.name);
    let mut signature = match point.stage {
        ShaderStage::Compute => Signature::kernel(&name),
        ShaderStage::Vertex => Signature::vertex(&name),
        ShaderStage::Fragment => Signature::fragment(&name),
        other => return unsupported(format!("{other:?} shaders")),
    };
    if point.stage == ShaderStage::Compute {
        signature.max_threads = Some(point.workgroup_size.iter().product());
    }
    signature.early_fragment_tests = matches!(point.early_depth_test, Some(EarlyDepthTest::Force));
    signature.fast_math = options.fast_math;
    signature.arguments.clone_from(&arguments.list);
    for port in interface.all_inputs() {
        signature.arguments.push((port_name(port), input(point.stage, port)?));
    }
    let inputs = number(signature.arguments.len());
    if arguments.local_index.is_some_and(|index| index >= inputs) {
        let index = Argument::builtin(Builtin::ThreadIndexInThreadgroup, MetalType::UINT);
        signature.arguments.push(("local_index".to_string(), index));
    }
    for port in &interface.outputs {
        signature.outputs.push((port_name(port), output(point, port)?));
    }
    Ok(signature)
}

/// Returns the name of an input or output: of what goes from stage to stage by its location, which is what links it.
fn port_name(port: &Port) -> String {
    match port.role {
        Role::Location { location, .. } => format!("loc{location}"),
        Role::BuiltIn(_) => port.name.clone(),
    }
}

fn port_type(port: &Port) -> Result<MetalType> {
    let scalar = metal_scalar(port.scalar)?;
    Ok(if port.count == 1 { MetalType::Scalar(scalar) } else { MetalType::Vector(scalar, port.count) })
}

/// Values of the hardware: stage, in WGSL, in Metal.
const INPUTS: [(ShaderStage, BuiltIn, Builtin); 17] = [
    (ShaderStage::Compute, BuiltIn::GlobalInvocationId, Builtin::ThreadPositionInGrid),
    (ShaderStage::Compute, BuiltIn::LocalInvocationId, Builtin::ThreadPositionInThreadgroup),
    (ShaderStage::Compute, BuiltIn::LocalInvocationIndex, Builtin::ThreadIndexInThreadgroup),
    (ShaderStage::Compute, BuiltIn::WorkGroupId, Builtin::ThreadgroupPositionInGrid),
    (ShaderStage::Compute, BuiltIn::NumWorkGroups, Builtin::ThreadgroupsPerGrid),
    (ShaderStage::Compute, BuiltIn::SubgroupSize, Builtin::ThreadsPerSimdgroup),
    (ShaderStage::Compute, BuiltIn::SubgroupInvocationId, Builtin::ThreadIndexInSimdgroup),
    (ShaderStage::Compute, BuiltIn::SubgroupId, Builtin::SimdgroupIndexInThreadgroup),
    (ShaderStage::Compute, BuiltIn::NumSubgroups, Builtin::SimdgroupsPerThreadgroup),
    (ShaderStage::Vertex, BuiltIn::VertexIndex, Builtin::VertexId),
    (ShaderStage::Vertex, BuiltIn::InstanceIndex, Builtin::InstanceId),
    (ShaderStage::Fragment, BuiltIn::FrontFacing, Builtin::FrontFacing),
    (ShaderStage::Fragment, BuiltIn::SampleIndex, Builtin::SampleId),
    (ShaderStage::Fragment, BuiltIn::SampleMask, Builtin::SampleMaskIn),
    (ShaderStage::Fragment, BuiltIn::PrimitiveIndex, Builtin::PrimitiveId),
    (ShaderStage::Fragment, BuiltIn::PointCoord, Builtin::PointCoord),
    (ShaderStage::Fragment, BuiltIn::ViewIndex, Builtin::AmplificationId),
];

fn input(stage: ShaderStage, port: &Port) -> Result<Argument> {
    let ty = port_type(port)?;
    match port.role {
        Role::BuiltIn(BuiltIn::Position { .. }) => Ok(Argument::builtin(Builtin::Position, ty)),
        Role::BuiltIn(builtin) => match INPUTS.iter().find(|row| row.0 == stage && row.1 == builtin) {
            Some(row) => Ok(Argument::builtin(row.2, ty)),
            None => unsupported(format!("{}: the input {builtin:?}", port.name)),
        },
        Role::Location { location, .. } if stage == ShaderStage::Vertex => {
            Ok(Argument::vertex_input(location, ty))
        }
        Role::Location { interpolation: kind, sampling, .. } => {
            Ok(Argument::FragmentInput { ty, interpolation: interpolation(port, kind, sampling)? })
        }
    }
}

fn interpolation(
    port: &Port,
    kind: Option<Interpolation>,
    sampling: Option<Sampling>,
) -> Result<entry::Interpolation> {
    use entry::Interpolation as Metal;
    if port.scalar.kind != ScalarKind::Float {
        return Ok(Metal::Flat);
    }
    Ok(match (kind, sampling) {
        (Some(Interpolation::Flat), _) => Metal::Flat,
        (Some(Interpolation::PerVertex), _) => {
            return unsupported(format!("{}: values per vertex", port.name));
        }
        (Some(Interpolation::Linear), Some(Sampling::Centroid)) => Metal::CentroidNoPerspective,
        (Some(Interpolation::Linear), Some(Sampling::Sample)) => Metal::SampleNoPerspective,
        (Some(Interpolation::Linear), _) => Metal::CenterNoPerspective,
        (_, Some(Sampling::Centroid)) => Metal::CentroidPerspective,
        (_, Some(Sampling::Sample)) => Metal::SamplePerspective,
        _ => Metal::CenterPerspective,
    })
}

fn output(point: &EntryPoint, port: &Port) -> Result<Output> {
    let is_vertex = point.stage == ShaderStage::Vertex;
    match port.role {
        Role::BuiltIn(BuiltIn::Position { .. }) => Ok(Output::Position),
        Role::BuiltIn(BuiltIn::PointSize) => Ok(Output::PointSize),
        Role::BuiltIn(BuiltIn::FragDepth) => Ok(Output::Depth(DepthQualifier::Any)),
        Role::BuiltIn(BuiltIn::SampleMask) => Ok(Output::SampleMask),
        Role::BuiltIn(builtin) => unsupported(format!("{}: the output {builtin:?}", port.name)),
        Role::Location { blend_source: Some(_), .. } => {
            unsupported(format!("{}: blending with two sources", port.name))
        }
        Role::Location { .. } if is_vertex => Ok(Output::Varying(port_type(port)?)),
        Role::Location { location, .. } => Ok(Output::Color(location, port_type(port)?)),
    }
}
