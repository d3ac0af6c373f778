//! The resources of a program: names and types from RDEF, and what the declarations of the program say.
//!
//! RDEF may be missing, and then resources have no names and constant buffers no members. Declarations are always
//! there, but Shader Model 5.0 declares each register of an array on its own: those that RDEF has in one binding are one
//! resource.
//!
//! | | Shader Model 5.0 | 5.1 |
//! |---|---|---|
//! | operand | `t3`, `cb1[4]` | `T0[3]`, `CB0[1][4]`: number of the declaration, register |
//! | declaration | one register | registers from, to (`0xffffffff`: no bound), space |

use super::types::{MAX_SIZE, PushField, Types};
use super::{LiftError, part};
use std::collections::HashMap;
use unshade_dxbc::opcode::OpcodeRow;
use unshade_dxbc::operand::OperandKind;
use unshade_dxbc::{Instruction, Program};
use unshade_dxcontainer::rdef::{self, InputType, ResourceDefinitions};
use unshade_dxcontainer::{Container, PartData};
use unshade_ir::shader::Signedness;
use unshade_ir::shader::data_type::{DataType, Packing, Scalar, ScalarKind, StructType, StructTypes};
use unshade_ir::shader::interface::{Binding, Resource, ResourceClass, Sequence, ShaderProgram, Shape};
use unshade_ir::{IdVec, ResourceId};

/// The resource that an operand refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) id: ResourceId,
    /// The first register of the resource.
    pub(super) first: u32,
}

/// Resources by class and number: the register up to Shader Model 5.0, later the number of the declaration.
pub(super) type Bindings = HashMap<(ResourceClass, u32), Bound>;

/// A declaration of a resource.
struct Declared {
    class: ResourceClass,
    shape: Shape,
    /// The number that operands have.
    number: u32,
    binding: Binding,
    element: Option<DataType>,
    size: u32,
    samples: u32,
    /// Bits 16, 17 and 23 of the opcode token: coherent, ordered, with a counter.
    flags: u32,
}

/// Reads the resources of a program.
pub(super) fn read(
    container: &Container<'_>,
    program: &Program,
    shader: &mut ShaderProgram,
) -> Result<Bindings, LiftError> {
    if let Some(PartData::Resources(definitions)) = part(container, &[*b"RDEF"])? {
        let mut types = Types::new(&definitions.types);
        for binding in &definitions.bindings {
            if let Some(resource) = defined(&definitions, &mut types, binding, &mut shader.structs) {
                join(resource, &mut shader.resources);
            }
        }
        for resource in &mut shader.resources {
            resource.name = identifier(&resource.name);
        }
    }
    let mut bindings = Bindings::new();
    for instruction in &program.instructions {
        let Some(declared) = declared(program, instruction) else { continue };
        let id = resource_of(&declared, shader);
        let first = shader.resources[id].binding.map_or(0, |binding| binding.register);
        bindings.insert((declared.class, declared.number), Bound { id, first });
    }
    for instruction in &program.instructions {
        let mnemonic = instruction.opcode().row().map_or("", |row| row.mnemonic);
        let Some(view) = instruction.operands.get(1) else { continue };
        let number = view.indices[0].number as u32;
        if matches!(mnemonic, "imm_atomic_alloc" | "imm_atomic_consume")
            && let Some(bound) = bindings.get(&(ResourceClass::UnorderedAccess, number))
        {
            shader.resources[bound.id].has_counter = true;
        }
    }
    Ok(bindings)
}

/// Maximum number of an element of an array of resources.
const MAX_INDEX: u32 = 1 << 12;

/// Adds a resource. Up to Shader Model 5.0, the elements of an array that the program uses are bindings of their own,
/// `name[2]` and so on: they are one resource again.
fn join(mut resource: Resource, resources: &mut IdVec<ResourceId, Resource>) {
    // Those of structures are found again by their paths.
    let is_path = resource.name.contains('.');
    let element = resource.name.strip_suffix(']').and_then(|name| name.split_once('['));
    let element = element
        .filter(|_| !is_path)
        .and_then(|(base, index)| Some((base.to_owned(), index.parse::<u32>().ok()?)));
    let (Some((base, index)), Some(binding)) = (element, resource.binding) else {
        resources.push(resource);
        return;
    };
    let Some(register) = binding.register.checked_sub(index).filter(|_| index < MAX_INDEX) else {
        resources.push(resource);
        return;
    };
    let count = index + binding.count.unwrap_or(1).min(MAX_INDEX);
    resource.name = base;
    resource.is_array = true;
    resource.binding = Some(Binding { register, count: Some(count), ..binding });
    let known = resources.iter_mut().find(|known| {
        let is_same =
            known.binding.is_some_and(|known| (known.register, known.space) == (register, binding.space));
        is_same
            && (known.class, known.shape) == (resource.class, resource.shape)
            && known.name == resource.name
            && known.element == resource.element
    });
    match known.and_then(|known| known.binding.as_mut()) {
        Some(known) => known.count = known.count.max(Some(count)),
        None => {
            resources.push(resource);
        }
    }
}

/// Returns a name of the language: those of resources in structures have dots and brackets, those in namespaces have
/// colons. The names that the compiler gives, such as `$Globals`, stay.
fn identifier(name: &str) -> String {
    // The path of a resource in a structure: that of `lights[0].map` is `lights.0.map`.
    if name.contains('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'))
    {
        return name.replace('[', ".").replace(']', "");
    }
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    if name.split("::").all(|part| !part.is_empty() && part.chars().all(is_letter)) {
        return name.to_owned();
    }
    let text: String = name.chars().map(|letter| if is_letter(letter) { letter } else { '_' }).collect();
    text.trim_end_matches(|letter| letter == '_' && !name.ends_with('_')).to_owned()
}

/// Returns the resource that a declaration is about, and adds to it what the declaration says.
fn resource_of(declared: &Declared, shader: &mut ShaderProgram) -> ResourceId {
    let binding = declared.binding;
    let known = shader.resources.entries().find(|(_, resource)| {
        let is_inside = resource.binding.is_some_and(|found| {
            found.space == binding.space
                && binding.register >= found.register
                && found.count.is_none_or(|count| binding.register - found.register < count)
        });
        resource.class == declared.class && is_inside
    });
    let id = known.map(|(id, _)| id);
    let id = id.unwrap_or_else(|| shader.resources.push(without_name(declared, &mut shader.structs)));
    let resource = &mut shader.resources[id];
    let has_shape = matches!(resource.shape, Shape::TextureBuffer);
    if !has_shape {
        resource.shape = declared.shape;
    }
    if resource.element.is_none() {
        resource.element = declared.element.clone();
    }
    resource.size = resource.size.max(declared.size);
    resource.samples = resource.samples.max(declared.samples);
    resource.is_coherent |= declared.flags & 1 << 16 != 0;
    resource.is_ordered |= declared.flags & 1 << 17 != 0;
    resource.has_counter |= declared.flags & 1 << 23 != 0;
    id
}

/// Returns a resource that RDEF does not have.
fn without_name(declared: &Declared, structs: &mut StructTypes) -> Resource {
    let element = match declared.class {
        ResourceClass::ConstantBuffer => {
            let rows = DataType::Array(Box::new(DataType::Vector(Scalar::FLOAT, 4)), declared.size / 16);
            let mut whole = StructType::default();
            whole.push(String::new(), 0, rows, Packing::Constant, structs);
            Some(DataType::Struct(structs.push(whole)))
        }
        _ => declared.element.clone(),
    };
    Resource {
        binding: Some(declared.binding),
        element,
        size: declared.size,
        // Only objects are in arrays.
        is_object: declared.class == ResourceClass::ConstantBuffer && declared.binding.count != Some(1),
        ..Resource::new(declared.class, declared.shape)
    }
}

/// Reads a declaration of a resource; `None` if an instruction is none.
fn declared(program: &Program, instruction: &Instruction) -> Option<Declared> {
    let row = instruction.opcode().row()?;
    let operand = instruction.operands.first()?;
    let class = match operand.kind() {
        OperandKind::RESOURCE => ResourceClass::ShaderResource,
        OperandKind::UNORDERED_ACCESS_VIEW => ResourceClass::UnorderedAccess,
        OperandKind::CONSTANT_BUFFER => ResourceClass::ConstantBuffer,
        OperandKind::SAMPLER => ResourceClass::Sampler,
        _ => return None,
    };
    if !row.mnemonic.starts_with("dcl_") {
        return None;
    }
    let index = |dimension: usize| Some(operand.used_indices().get(dimension)?.number as u32);
    let number = index(0)?;
    let has_spaces = program.version.has_spaces();
    let binding = if has_spaces {
        let (first, last) = (index(1)?, index(2)?);
        let count = (last != u32::MAX).then(|| last.saturating_sub(first).saturating_add(1));
        Binding { register: first, space: *instruction.values.last()?, count }
    } else {
        Binding { register: number, space: 0, count: Some(1) }
    };
    let size = match row.mnemonic {
        "dcl_constantbuffer" if has_spaces => instruction.values.first()?.saturating_mul(16),
        "dcl_constantbuffer" => index(1)?.saturating_mul(16),
        "dcl_uav_structured" | "dcl_resource_structured" => *instruction.values.first()?,
        _ => 0,
    };
    let is_typed = row.body.contains('y');
    let types = if is_typed { *instruction.values.first()? } else { 0 };
    Some(Declared {
        class,
        shape: shape(row, instruction)?,
        number,
        binding,
        element: element(row, types, size),
        size,
        samples: if row.mnemonic == "dcl_resource" { instruction.token >> 16 & 0x7f } else { 0 },
        flags: if class == ResourceClass::UnorderedAccess { instruction.token } else { 0 },
    })
}

fn shape(row: &OpcodeRow, instruction: &Instruction) -> Option<Shape> {
    Some(match row.mnemonic {
        "dcl_resource" | "dcl_uav_typed" => dimension(instruction.token >> 11 & 31)?,
        "dcl_resource_raw" | "dcl_uav_raw" => Shape::ByteAddressBuffer,
        "dcl_resource_structured" | "dcl_uav_structured" => Shape::StructuredBuffer,
        "dcl_constantbuffer" => Shape::ConstantBuffer,
        "dcl_sampler" if instruction.token >> 11 & 15 == 1 => Shape::ComparisonSampler,
        "dcl_sampler" => Shape::Sampler,
        _ => return None,
    })
}

/// Returns the shape of a dimension of a declaration.
pub(super) fn dimension(number: u32) -> Option<Shape> {
    const SHAPES: [Shape; 12] = [
        Shape::Buffer,
        Shape::Texture1D,
        Shape::Texture2D,
        Shape::Texture2DMS,
        Shape::Texture3D,
        Shape::TextureCube,
        Shape::Texture1DArray,
        Shape::Texture2DArray,
        Shape::Texture2DMSArray,
        Shape::TextureCubeArray,
        Shape::ByteAddressBuffer,
        Shape::StructuredBuffer,
    ];
    SHAPES.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
}

/// Returns the type of an element as a declaration says it.
fn element(row: &OpcodeRow, types: u32, size: u32) -> Option<DataType> {
    match row.mnemonic {
        "dcl_resource" | "dcl_uav_typed" => Some(DataType::Vector(returned(types & 15), 4)),
        "dcl_uav_structured" | "dcl_resource_structured" => {
            let words = size / 4;
            Some(match words {
                1..=4 => DataType::vector(Scalar::UINT, words as u16),
                _ => DataType::Array(Box::new(DataType::Scalar(Scalar::UINT)), words),
            })
        }
        _ => None,
    }
}

/// Returns the number of a return type.
fn returned(number: u32) -> Scalar {
    match number {
        3 => Scalar::INT,
        4 => Scalar::UINT,
        7 => Scalar::new(ScalarKind::Float, 64),
        _ => Scalar::FLOAT,
    }
}

/// Returns whether a resource returns numbers from 0 or from -1 to 1.
fn normalized(number: u32) -> Option<Signedness> {
    match number {
        1 => Some(Signedness::Unsigned),
        2 => Some(Signedness::Signed),
        _ => None,
    }
}

/// Returns the resource of a binding; `None` if it is no resource of the language.
fn defined(
    definitions: &ResourceDefinitions,
    types: &mut Types<'_>,
    binding: &rdef::Binding,
    structs: &mut StructTypes,
) -> Option<Resource> {
    let fields = &binding.fields;
    let (class, shape) = class_and_shape(fields)?;
    let mut resource = Resource {
        name: binding.name.to_string_lossy(),
        binding: Some(Binding {
            register: fields.register,
            space: binding.space.as_ref().map_or(0, |space| space.space),
            count: (fields.count != 0 && fields.count != u32::MAX).then_some(fields.count),
        }),
        samples: if shape.is_multisampled() && fields.samples != u32::MAX { fields.samples } else { 0 },
        has_counter: matches!(
            fields.input_type,
            InputType::UAV_APPEND_STRUCTURED
                | InputType::UAV_CONSUME_STRUCTURED
                | InputType::UAV_RW_STRUCTURED_WITH_COUNTER
        ),
        sequence: match fields.input_type {
            InputType::UAV_APPEND_STRUCTURED => Some(Sequence::Append),
            InputType::UAV_CONSUME_STRUCTURED => Some(Sequence::Consume),
            _ => None,
        },
        has_register: fields.flags.0 & USER_PACKED != 0,
        ..Resource::new(class, shape)
    };
    match shape {
        Shape::ConstantBuffer | Shape::TextureBuffer => {
            if let Some(buffer) = buffer(definitions, &binding.name, &[0, 1]) {
                members(buffer, types, structs, &mut resource);
            }
        }
        Shape::StructuredBuffer => {
            resource.size = fields.samples;
            let variable = buffer(definitions, &binding.name, &[3]).and_then(|found| found.variables.first());
            let ty = variable.map(|variable| variable.fields.type_offset.0);
            resource.element = ty.and_then(|ty| types.convert(ty, Packing::Structured, structs));
        }
        Shape::Sampler | Shape::ComparisonSampler | Shape::ByteAddressBuffer => {}
        _ => {
            let columns = (fields.flags.0 >> 2 & 3) as u16 + 1;
            resource.element = Some(DataType::vector(returned(fields.return_type), columns));
            resource.is_normalized = normalized(fields.return_type);
        }
    }
    Some(resource)
}

/// The flag of bindings whose register the source code says.
const USER_PACKED: u32 = 1;

fn class_and_shape(fields: &rdef::BindingFields) -> Option<(ResourceClass, Shape)> {
    /// Whether a sampler compares.
    const COMPARISON: u32 = 2;
    Some(match fields.input_type {
        InputType::CBUFFER => (ResourceClass::ConstantBuffer, Shape::ConstantBuffer),
        InputType::TBUFFER => (ResourceClass::ShaderResource, Shape::TextureBuffer),
        InputType::SAMPLER if fields.flags.0 & COMPARISON != 0 => {
            (ResourceClass::Sampler, Shape::ComparisonSampler)
        }
        InputType::SAMPLER => (ResourceClass::Sampler, Shape::Sampler),
        InputType::TEXTURE => (ResourceClass::ShaderResource, view_dimension(fields.dimension)?),
        InputType::UAV_RW_TYPED => (ResourceClass::UnorderedAccess, view_dimension(fields.dimension)?),
        InputType::STRUCTURED => (ResourceClass::ShaderResource, Shape::StructuredBuffer),
        InputType::BYTE_ADDRESS => (ResourceClass::ShaderResource, Shape::ByteAddressBuffer),
        InputType::UAV_RW_BYTE_ADDRESS => (ResourceClass::UnorderedAccess, Shape::ByteAddressBuffer),
        InputType::UAV_RW_STRUCTURED
        | InputType::UAV_APPEND_STRUCTURED
        | InputType::UAV_CONSUME_STRUCTURED
        | InputType::UAV_RW_STRUCTURED_WITH_COUNTER => {
            (ResourceClass::UnorderedAccess, Shape::StructuredBuffer)
        }
        _ => return None,
    })
}

/// Returns the shape of a dimension of RDEF.
fn view_dimension(number: u32) -> Option<Shape> {
    const SHAPES: [Shape; 11] = [
        Shape::Buffer,
        Shape::Texture1D,
        Shape::Texture1DArray,
        Shape::Texture2D,
        Shape::Texture2DArray,
        Shape::Texture2DMS,
        Shape::Texture2DMSArray,
        Shape::Texture3D,
        Shape::TextureCube,
        Shape::TextureCubeArray,
        Shape::Buffer,
    ];
    SHAPES.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
}

/// What precedes the names of texture buffers that are objects.
const OBJECT: &[u8] = b"$$";

fn buffer<'d>(
    definitions: &'d ResourceDefinitions,
    name: &unshade_dxcontainer::bytes::Text,
    kinds: &[u32],
) -> Option<&'d rdef::Buffer> {
    // Elements of an array of buffers share the description of the first one.
    let base = name.0.split(|byte| *byte == b'[').next().unwrap_or_default();
    let mut buffers = definitions.buffers.iter();
    buffers.find(|buffer| {
        // A texture buffer that is an object has a buffer with a prefix.
        let own = buffer.name.0.strip_prefix(OBJECT).unwrap_or(&buffer.name.0);
        kinds.contains(&buffer.fields.buffer_type) && (own == name.0 || own == base)
    })
}

/// Sets the type of a constant buffer.
fn members(buffer: &rdef::Buffer, types: &mut Types<'_>, structs: &mut StructTypes, resource: &mut Resource) {
    resource.size = buffer.fields.size;
    if let [only] = &buffer.variables[..]
        && only.name.0 == buffer.name.0.strip_prefix(OBJECT).unwrap_or(&buffer.name.0)
        && let Some(declared) = types.convert(only.fields.type_offset.0, Packing::Constant, structs)
        && let is_array = matches!(declared, DataType::Array(..))
        && let Some(ty) = object(declared, resource.binding)
    {
        resource.is_array = is_array;
        resource.is_object = true;
        resource.element = Some(ty);
        return;
    }
    let mut whole = StructType { name: buffer.name.to_string_lossy(), ..StructType::default() };
    for variable in &buffer.variables {
        let ty = types.convert(variable.fields.type_offset.0, Packing::Constant, structs);
        let Some(ty) = ty.filter(|_| variable.fields.start <= MAX_SIZE) else { continue };
        let name = variable.name.to_string_lossy();
        let mut values = Vec::new();
        initial_values(&ty, &variable.default.0, 0, structs, &mut values);
        if !values.is_empty() {
            resource.initial_values.insert(variable.fields.start, values);
        }
        whole.push(name, variable.fields.start, ty, Packing::Constant, structs);
    }
    whole.fields.sort_by_key(|field| field.offset);
    whole.size = whole.size.max(resource.size);
    resource.element = Some(DataType::Struct(structs.push(whole)));
}

/// Appends the numbers of a member of a constant buffer in the order of an initializer. There are none if the member
/// has no initial value.
fn initial_values(ty: &DataType, bytes: &[u8], offset: u32, structs: &StructTypes, values: &mut Vec<u64>) {
    let mut number = |scalar: Scalar, offset: u32| {
        let (start, size) = (offset as usize, scalar.bytes() as usize);
        if let Some(found) = bytes.get(start..start.saturating_add(size)).filter(|found| found.len() <= 8) {
            values.push(found.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)));
        }
    };
    match ty {
        DataType::Scalar(scalar) => number(*scalar, offset),
        DataType::Vector(scalar, lanes) => {
            (0..u32::from(*lanes)).for_each(|lane| number(*scalar, offset + lane * scalar.bytes()));
        }
        // FXC takes the numbers of a matrix column by column, whatever its order is.
        DataType::Matrix { scalar, rows, columns, is_row_major } => {
            let (rows, columns) = (u32::from(*rows), u32::from(*columns));
            for (column, row) in (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row))) {
                let (line, within) = if *is_row_major { (row, column) } else { (column, row) };
                number(*scalar, offset + 16 * line + within * scalar.bytes());
            }
        }
        DataType::Array(element, count) => {
            let stride = Packing::Constant.stride(element, structs);
            for index in (0..*count).take_while(|index| (index * stride) < bytes.len() as u32) {
                initial_values(element, bytes, offset.saturating_add(index * stride), structs, values);
            }
        }
        DataType::Struct(id) => {
            for field in structs.get(*id).map_or(&[][..], |structure| &structure.fields) {
                initial_values(&field.ty, bytes, offset.saturating_add(field.offset), structs, values);
            }
        }
        DataType::Named(_) => {}
    }
}

/// Returns the structure of a buffer, or of each in an array of buffers, that is declared as `ConstantBuffer`.
fn object(ty: DataType, binding: Option<Binding>) -> Option<DataType> {
    match ty {
        DataType::Struct(_) => Some(ty),
        // RDEF describes one of an array of buffers, as an array of one structure.
        DataType::Array(element, length) if matches!(*element, DataType::Struct(_)) => {
            let is_array = binding.is_some_and(|binding| binding.count != Some(1));
            (is_array || length == 1).then_some(*element)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(name: &str, register: u32) -> Resource {
        Resource {
            name: name.into(),
            binding: Some(Binding { register, space: 0, count: Some(1) }),
            ..Resource::new(ResourceClass::ShaderResource, Shape::Texture2D)
        }
    }

    #[test]
    fn elements_of_arrays_are_joined() {
        let mut resources = IdVec::new();
        for (name, register) in [("maps[1]", 4), ("other", 9), ("maps[3]", 6), ("maps[7]", 2)] {
            join(texture(name, register), &mut resources);
        }
        let found: Vec<_> = resources
            .iter()
            .map(|resource| {
                let binding = resource.binding.unwrap();
                (resource.name.as_str(), binding.register, binding.count)
            })
            .collect();
        assert_eq!(found, [("maps", 3, Some(4)), ("other", 9, Some(1)), ("maps[7]", 2, Some(1))]);
    }

    #[test]
    fn names_are_identifiers() {
        assert_eq!(identifier("var.res.maps[1]"), "var.res.maps.1");
        assert_eq!(identifier("$Globals"), "$Globals");
        assert_eq!(identifier("plain_"), "plain_");
    }
}
