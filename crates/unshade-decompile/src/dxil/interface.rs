//! The interface of a program: stage, entry attributes, signatures and resources, from DXIL's metadata.

use super::types::{TypeReader, scalar_of};
use crate::ir::shader::Signedness;
use crate::ir::shader::data_type::{
    DataType, Packing, Scalar, ScalarKind, StructField, StructType, StructTypes,
};
use crate::ir::shader::interface::{
    Attributes, Binding, Element, Resource, ResourceClass, ShaderProgram, Shape, Stage, patch_points,
};
use unshade_dxcontainer::dxil::entry::EntryPoint;
use unshade_dxcontainer::dxil::resource::{self, SamplerKind};
use unshade_dxcontainer::dxil::{ComponentType, DxilModule, SignatureElement};
use unshade_dxcontainer::program::ShaderKind;
use unshade_dxcontainer::psv0::{Interpolation, ResourceKind};
use unshade_llvm::TypeId;
use unshade_llvm::types::Type;

/// Returns the stage of a kind of shader.
pub(super) fn stage(kind: ShaderKind) -> Stage {
    match kind {
        ShaderKind::PIXEL => Stage::Pixel,
        ShaderKind::VERTEX => Stage::Vertex,
        ShaderKind::GEOMETRY => Stage::Geometry,
        ShaderKind::HULL => Stage::Hull,
        ShaderKind::DOMAIN => Stage::Domain,
        ShaderKind::COMPUTE => Stage::Compute,
        ShaderKind::RAY_GENERATION => Stage::RayGeneration,
        ShaderKind::INTERSECTION => Stage::Intersection,
        ShaderKind::ANY_HIT => Stage::AnyHit,
        ShaderKind::CLOSEST_HIT => Stage::ClosestHit,
        ShaderKind::MISS => Stage::Miss,
        ShaderKind::CALLABLE => Stage::Callable,
        ShaderKind::MESH => Stage::Mesh,
        ShaderKind::AMPLIFICATION => Stage::Amplification,
        ShaderKind::NODE => Stage::Node,
        _ => Stage::Library,
    }
}

/// Creates the program with what the whole module says.
pub(super) fn program(dxil: &DxilModule) -> ShaderProgram {
    let model = dxil.model.as_ref();
    let kind = model.and_then(|model| model.kind()).unwrap_or(ShaderKind::LIBRARY);
    let version = model.map_or([6, 0], |model| model.version);
    let version = version.map(|number| u8::try_from(number).unwrap_or(u8::MAX));
    let mut program = ShaderProgram::new(stage(kind), (version[0], version[1]));
    program.has_native_16_bit = !dxil.has_min_precision();
    program
}

/// Translates the elements of a signature.
pub(super) fn elements(signature: &[SignatureElement], dxil: &DxilModule) -> Vec<Element> {
    let convert = |element: &SignatureElement| Element {
        semantic: String::from_utf8_lossy(&element.name.0).into_owned(),
        indices: element.indices.clone(),
        columns: element.columns,
        scalar: scalar_of(element.component_type, dxil.has_min_precision()),
        interpolation: interpolation(element.interpolation),
        stream: element.stream,
        register: element.start_row,
        column: element.start_column.unwrap_or(0),
        used: element.used_mask,
    };
    signature.iter().map(convert).collect()
}

/// Returns the modifiers of an interpolation mode; empty where it is the default.
fn interpolation(mode: Interpolation) -> &'static str {
    match mode {
        Interpolation::CONSTANT => "nointerpolation",
        Interpolation::LINEAR_CENTROID => "centroid",
        Interpolation::LINEAR_NOPERSPECTIVE => "noperspective",
        Interpolation::LINEAR_NOPERSPECTIVE_CENTROID => "noperspective centroid",
        Interpolation::LINEAR_SAMPLE => "sample",
        Interpolation::LINEAR_NOPERSPECTIVE_SAMPLE => "noperspective sample",
        _ => "",
    }
}

/// Names of numbered properties; the number 0 is undefined.
const DOMAINS: [&str; 4] = ["", "isoline", "tri", "quad"];
const PARTITIONINGS: [&str; 5] = ["", "integer", "pow2", "fractional_odd", "fractional_even"];
const TESSELLATOR_OUTPUTS: [&str; 5] = ["", "point", "line", "triangle_cw", "triangle_ccw"];
const PRIMITIVES: [&str; 8] = ["", "point", "line", "triangle", "", "", "lineadj", "triangleadj"];
const STREAMS: [(u32, &str); 3] = [(1, "PointStream"), (3, "LineStream"), (5, "TriangleStream")];
const MESH_OUTPUTS: [&str; 3] = ["", "line", "triangle"];

/// The flag of programs whose depth is tested before the shader runs.
const EARLY_DEPTH: u32 = 3;

/// Translates the properties of an entry point.
pub(super) fn attributes(entry: &EntryPoint, dxil: &DxilModule) -> Attributes {
    let value = |name: &str| entry.stage_value(name);
    let named = |name: &str, names: &[&'static str]| {
        let found = names.get(usize::try_from(value(name)?).ok()?).copied()?;
        Some(found).filter(|name| !name.is_empty())
    };
    let mut attributes = Attributes {
        threads: entry.properties.threads,
        wave_size: entry.properties.wave_lanes,
        domain: named("TessellatorDomain", &DOMAINS),
        partitioning: named("TessellatorPartitioning", &PARTITIONINGS),
        output_topology: named("TessellatorOutputPrimitive", &TESSELLATOR_OUTPUTS)
            .or_else(|| named("MeshOutputTopology", &MESH_OUTPUTS)),
        output_control_points: value("OutputControlPointCount"),
        max_tessellation_factor: value("MaxTessellationFactor"),
        input_primitive: named("InputPrimitive", &PRIMITIVES),
        input_control_points: value("InputControlPointCount")
            .or_else(|| patch_points(value("InputPrimitive")?)),
        max_vertices: value("MaxVertexCount").or_else(|| value("MaxOutputVertices")),
        max_primitives: value("MaxOutputPrimitives"),
        instances: value("InstanceCount"),
        group_shared_limit: entry.properties.group_shared_limit,
        has_early_depth: dxil.has_flag(EARLY_DEPTH) || entry.properties.flags >> EARLY_DEPTH & 1 != 0,
        ..Attributes::default()
    };
    if let (Some(mask), Some(topology)) = (value("OutputStreamMask"), value("OutputTopology")) {
        let name = STREAMS.iter().find(|row| row.0 == topology).map_or("PointStream", |row| row.1);
        attributes.streams =
            (0..4).filter(|stream| mask >> stream & 1 != 0).map(|stream| (stream, name)).collect();
    }
    attributes
}

/// Returns the shape of a resource.
pub(super) fn shape(kind: ResourceKind, sampler: Option<SamplerKind>) -> Option<Shape> {
    Some(match kind {
        ResourceKind::TEXTURE1D => Shape::Texture1D,
        ResourceKind::TEXTURE2D => Shape::Texture2D,
        ResourceKind::TEXTURE2DMS => Shape::Texture2DMS,
        ResourceKind::TEXTURE3D => Shape::Texture3D,
        ResourceKind::TEXTURE_CUBE => Shape::TextureCube,
        ResourceKind::TEXTURE1D_ARRAY => Shape::Texture1DArray,
        ResourceKind::TEXTURE2D_ARRAY => Shape::Texture2DArray,
        ResourceKind::TEXTURE2DMS_ARRAY => Shape::Texture2DMSArray,
        ResourceKind::TEXTURE_CUBE_ARRAY => Shape::TextureCubeArray,
        ResourceKind::TYPED_BUFFER => Shape::Buffer,
        ResourceKind::RAW_BUFFER => Shape::ByteAddressBuffer,
        ResourceKind::STRUCTURED_BUFFER => Shape::StructuredBuffer,
        ResourceKind::CBUFFER => Shape::ConstantBuffer,
        ResourceKind::TBUFFER => Shape::TextureBuffer,
        ResourceKind::SAMPLER if sampler == Some(SamplerKind::COMPARISON) => Shape::ComparisonSampler,
        ResourceKind::SAMPLER => Shape::Sampler,
        ResourceKind::RT_ACCELERATION_STRUCTURE => Shape::AccelerationStructure,
        ResourceKind::FEEDBACK_TEXTURE2D => Shape::FeedbackTexture2D,
        ResourceKind::FEEDBACK_TEXTURE2D_ARRAY => Shape::FeedbackTexture2DArray,
        _ => return None,
    })
}

/// Returns the class of a resource.
pub(super) fn class(class: resource::ResourceClass) -> ResourceClass {
    match class {
        resource::ResourceClass::SRV => ResourceClass::ShaderResource,
        resource::ResourceClass::UAV => ResourceClass::UnorderedAccess,
        resource::ResourceClass::CBUFFER => ResourceClass::ConstantBuffer,
        _ => ResourceClass::Sampler,
    }
}

/// The kind of sampler feedback that tells which regions were used.
pub(super) const MIP_REGION_USED: u32 = 1;

/// Returns whether the numbers of a component type are from 0 or from -1 to 1; `None` if they may be any.
pub(super) fn normalized(component: ComponentType) -> Option<Signedness> {
    match component {
        ComponentType::SNORM_F16 | ComponentType::SNORM_F32 | ComponentType::SNORM_F64 => {
            Some(Signedness::Signed)
        }
        ComponentType::UNORM_F16 | ComponentType::UNORM_F32 | ComponentType::UNORM_F64 => {
            Some(Signedness::Unsigned)
        }
        _ => None,
    }
}

/// Translates a resource, of the module that the types are of.
pub(super) fn resource(
    found: &resource::Resource,
    types: &mut TypeReader<'_, '_>,
    structs: &mut StructTypes,
) -> Resource {
    let kind = match found.class {
        resource::ResourceClass::CBUFFER => ResourceKind::CBUFFER,
        resource::ResourceClass::SAMPLER => ResourceKind::SAMPLER,
        _ => found.kind,
    };
    let shape = shape(kind, found.sampler).unwrap_or(Shape::ByteAddressBuffer);
    let ty = object_type(types, found.ty);
    let name = types.struct_name(ty).unwrap_or_default();
    let element = match shape {
        Shape::ConstantBuffer | Shape::TextureBuffer => {
            Some(types.data_type(ty, None, Packing::Constant, structs))
        }
        Shape::StructuredBuffer => structured_element(types, ty, structs),
        _ => found.element.map(|component| {
            let (lanes, wide) = texel(types, ty);
            DataType::vector(wide.unwrap_or_else(|| types.component(component)), lanes)
        }),
    };
    let member = match shape {
        Shape::ConstantBuffer => only_member(element.as_ref(), &found.name.0, structs),
        _ => None,
    };
    let is_object = member.is_some();
    let element = member.or(element);
    let size = found.size.or(found.stride).unwrap_or(0);
    let binding = Binding { register: found.lower_bound, space: found.space, count: found.count };
    Resource {
        name: String::from_utf8_lossy(&found.name.0).into_owned(),
        class: class(found.class),
        shape,
        binding: Some(binding),
        element,
        samples: found.samples,
        size,
        is_coherent: found.access.globally_coherent,
        is_ordered: found.access.rasterizer_ordered,
        is_reorder_coherent: found.access.reorder_coherent,
        is_normalized: found.element.and_then(normalized),
        tracks_used_regions: found.feedback == Some(MIP_REGION_USED),
        has_counter: found.access.counter,
        sequence: None,
        has_register: true,
        is_object: name.starts_with("ConstantBuffer<")
            || name.starts_with("TextureBuffer<")
            || found.count != Some(1)
            || is_object,
        is_array: false,
        initial_values: std::collections::BTreeMap::new(),
    }
}

/// Returns the type of the only member of a constant buffer that has the buffer's name: it was declared as
/// `ConstantBuffer<T>`, of which DXC makes a structure with one member.
fn only_member(element: Option<&DataType>, name: &[u8], structs: &StructTypes) -> Option<DataType> {
    let Some(DataType::Struct(id)) = element else { return None };
    match structs[*id].fields.as_slice() {
        [field] if field.name.as_bytes() == name && matches!(field.ty, DataType::Struct(_)) => {
            Some(field.ty.clone())
        }
        _ => None,
    }
}

/// Returns the type of the object that a resource's type is an array of or a pointer to.
fn object_type(types: &TypeReader<'_, '_>, ty: TypeId) -> TypeId {
    let mut ty = types.module.types.pointee(ty).unwrap_or(ty);
    for _ in 0..8 {
        match types.module.types.get(ty) {
            Type::Array { element, .. } => ty = element,
            _ => break,
        }
    }
    ty
}

/// Returns the element type of a structured buffer: the buffer is a structure whose only field has it.
fn structured_element(
    types: &mut TypeReader<'_, '_>,
    ty: TypeId,
    structs: &mut StructTypes,
) -> Option<DataType> {
    let Type::Struct(buffer) = types.module.types.get(ty) else { return None };
    let field = *types.module.types.elements(buffer.fields).first()?;
    let annotation = types.annotation(ty).and_then(|known| known.fields.first().cloned());
    let ty = types.data_type(field, annotation.as_ref(), Packing::Structured, structs);
    if !matches!(ty, DataType::Matrix { is_row_major: true, .. }) {
        return Some(ty);
    }
    // DXC forgets the order of a matrix that is the element itself, not that of a member.
    let size = Packing::Structured.size(&ty, structs);
    let member = StructField { name: "value".into(), offset: 0, ty, semantic: None, access: None };
    let element = StructType { name: "Element".into(), fields: vec![member], size };
    Some(DataType::Struct(structs.push(element)))
}

/// Returns the number of lanes of the elements of a typed resource, and their type if they have 64 bits: the metadata says
/// that these are words. The resource's type is a structure whose first field has their type.
fn texel(types: &TypeReader<'_, '_>, ty: TypeId) -> (u16, Option<Scalar>) {
    let all = &types.module.types;
    let Type::Struct(object) = all.get(ty) else { return (4, None) };
    let Some(&first) = all.elements(object.fields).first() else { return (4, None) };
    let (lanes, number) = match all.get(first) {
        Type::Vector { count, element, .. } => (u16::try_from(count).unwrap_or(4), element),
        _ => (1, first),
    };
    let is_unsigned = types.struct_name(ty).is_some_and(|name| name.contains("unsigned"));
    let wide = match all.get(number) {
        Type::Double => Some(ScalarKind::Float),
        Type::Integer(64) if is_unsigned => Some(ScalarKind::Unsigned),
        Type::Integer(64) => Some(ScalarKind::Signed),
        _ => None,
    };
    (lanes, wide.map(|kind| Scalar::new(kind, 64)))
}
