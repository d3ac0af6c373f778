//! RDEF: the resources of a program of shader model 4 or 5, and the constant buffers with their variables and types.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0, 4 | u32, u32 | number of constant buffers, their offset |
//! | 8, 12 | u32, u32 | number of bindings, their offset |
//! | 16, 17, 18 | u8, u8, u16 | shader model: minor, major; kind (`0xFFFF` pixel, `0xFFFE` vertex, otherwise two letters) |
//! | 20, 24 | u32, u32 | flags; offset of the name of the compiler |
//! | 28 | 8 × u32 | from model 5 on, and in libraries of model 4: `RD11` (5.0) or `13 13 44 25` (5.1), sizes of the structures, interface slots |
//!
//! | structure | size | fields |
//! |---|---|---|
//! | buffer | 24 | name, number of variables, their offset, size, flags, type |
//! | binding | 32, in 5.1 40 | name, type, return type, dimension, samples, register, count, flags (space, ID) |
//! | variable | 24, from 5.0 on 40 | name, start, size, flags, type, default value; from 5.0 on also start and count of textures and of samplers |
//! | type | 16, from 5.0 on 36 | class, type, rows, columns, elements, members, their offset; from 5.0 on also base types, interfaces, name |
//! | member | 12 | name, type, offset |
//!
//! Names, types and default values are shared. All offsets are from the start of the part.
//!
//! Sources: Wine's `d3dcompiler_43/reflection.c`, vkd3d's `tpf.c`; 172 real parts.

use crate::bytes::{Bytes, Text, len32};
use crate::cursor::Cursor;
use crate::image::{Image, Slack};
use crate::scalar::{Hex32, Record, Scalar, model, named, record};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec::Vec;
use unshade_core::{Error, ErrorKind, Result};

named! {
    /// The kind of program.
    pub struct TargetKind(u16) {
        PIXEL = 0xffff => "pixel",
        VERTEX = 0xfffe => "vertex",
        GEOMETRY = 0x4753 => "geometry",
        HULL = 0x4853 => "hull",
        DOMAIN = 0x4453 => "domain",
        COMPUTE = 0x4353 => "compute",
        LIBRARY = 0x4c46 => "library",
    }
}

record! {
    /// The first 28 bytes.
    pub struct Header {
        /// Number of constant buffers.
        pub buffer_count: u32 => "ConstantBufferCount",
        /// Their offset.
        pub buffers_offset: Hex32 => "ConstantBuffersOffset",
        /// Number of bindings.
        pub binding_count: u32 => "BindingCount",
        /// Their offset.
        pub bindings_offset: Hex32 => "BindingsOffset",
        /// The minor shader model.
        pub minor: u8 => "MinorVersion",
        /// The major shader model.
        pub major: u8 => "MajorVersion",
        /// The kind of program.
        pub kind: TargetKind => "ShaderKind",
        /// The compiler flags.
        pub flags: Hex32 => "Flags",
        /// Offset of the name of the compiler.
        pub creator_offset: Hex32 => "CreatorOffset",
    }
}

record! {
    /// The structure sizes, which follow from model 5 on.
    pub struct Sizes {
        /// `RD11`, or four other bytes in 5.1.
        pub tag: [u8; 4] => "Tag",
        /// Size of the header including these sizes.
        pub header: u32 => "HeaderSize",
        /// Size of a buffer.
        pub buffer: u32 => "BufferSize",
        /// Size of a binding.
        pub binding: u32 => "BindingSize",
        /// Size of a variable.
        pub variable: u32 => "VariableSize",
        /// Size of a type.
        pub data_type: u32 => "TypeSize",
        /// Size of a member.
        pub member: u32 => "MemberSize",
        /// Number of interface slots.
        pub interface_slots: u32 => "InterfaceSlots",
    }
}

named! {
    /// The kind of a bound resource.
    pub struct InputType(u32) {
        CBUFFER = 0 => "cbuffer",
        TBUFFER = 1 => "tbuffer",
        TEXTURE = 2 => "texture",
        SAMPLER = 3 => "sampler",
        UAV_RW_TYPED = 4 => "uav_rwtyped",
        STRUCTURED = 5 => "structured",
        UAV_RW_STRUCTURED = 6 => "uav_rwstructured",
        BYTE_ADDRESS = 7 => "byteaddress",
        UAV_RW_BYTE_ADDRESS = 8 => "uav_rwbyteaddress",
        UAV_APPEND_STRUCTURED = 9 => "uav_append_structured",
        UAV_CONSUME_STRUCTURED = 10 => "uav_consume_structured",
        UAV_RW_STRUCTURED_WITH_COUNTER = 11 => "uav_rwstructured_with_counter",
    }
}

record! {
    /// The fields of a binding in all versions.
    pub struct BindingFields {
        /// Offset of its name.
        pub name_offset: Hex32 => "NameOffset",
        /// The kind of the resource.
        pub input_type: InputType => "Type",
        /// The return type of reads.
        pub return_type: u32 => "ReturnType",
        /// The dimension.
        pub dimension: u32 => "Dimension",
        /// The sample count, or the stride of a structured buffer.
        pub samples: u32 => "Samples",
        /// The first register.
        pub register: u32 => "Register",
        /// Number of registers.
        pub count: u32 => "Count",
        /// Flags.
        pub flags: Hex32 => "Flags",
    }
}

record! {
    /// The fields that 5.1 adds to a binding.
    pub struct BindingSpace {
        /// The register space.
        pub space: u32 => "Space",
        /// The ID that the program uses for it.
        pub id: u32 => "ID",
    }
}

model! {
    /// A binding.
    pub struct Binding {
        /// Its name.
        pub name: Text => "Name",
        /// The fields of all versions.
        pub fields: BindingFields => "Fields",
        /// The fields of 5.1.
        pub space: Option<BindingSpace> => "Space",
    }
}

record! {
    /// The fields of a constant buffer.
    pub struct BufferFields {
        /// Offset of its name.
        pub name_offset: Hex32 => "NameOffset",
        /// Number of variables.
        pub variable_count: u32 => "VariableCount",
        /// Offset of the variables.
        pub variables_offset: Hex32 => "VariablesOffset",
        /// Its size.
        pub size: u32 => "Size",
        /// Flags.
        pub flags: Hex32 => "Flags",
        /// 0 buffer, 1 texture buffer, 2 interface pointers, 3 resource.
        pub buffer_type: u32 => "Type",
    }
}

model! {
    /// A constant buffer.
    pub struct Buffer {
        /// Its name.
        pub name: Text => "Name",
        /// Its fields.
        pub fields: BufferFields => "Fields",
        /// Its variables.
        pub variables: Vec<Variable> => "Variables",
    }
}

record! {
    /// The fields of a variable in all versions.
    pub struct VariableFields {
        /// Offset of its name.
        pub name_offset: Hex32 => "NameOffset",
        /// Offset in its buffer.
        pub start: u32 => "Start",
        /// Its size.
        pub size: u32 => "Size",
        /// 2 if it is used.
        pub flags: Hex32 => "Flags",
        /// Offset of its type.
        pub type_offset: Hex32 => "TypeOffset",
        /// Offset of its default value; 0 for none.
        pub default_offset: Hex32 => "DefaultOffset",
    }
}

record! {
    /// The fields that model 5 adds to a variable.
    pub struct VariableResources {
        /// The first texture, or `u32::MAX`.
        pub start_texture: u32 => "StartTexture",
        /// Number of textures.
        pub textures: u32 => "TextureCount",
        /// The first sampler, or `u32::MAX`.
        pub start_sampler: u32 => "StartSampler",
        /// Number of samplers.
        pub samplers: u32 => "SamplerCount",
    }
}

model! {
    /// A variable of a constant buffer.
    pub struct Variable {
        /// Its name.
        pub name: Text => "Name",
        /// The fields of all versions.
        pub fields: VariableFields => "Fields",
        /// The fields of model 5.
        pub resources: Option<VariableResources> => "Resources",
        /// Its default value.
        pub default: Bytes => "Default",
    }
}

record! {
    /// The fields of a type in all versions.
    pub struct TypeFields {
        /// 0 scalar, 1 vector, 2 row-major and 3 column-major matrix, 4 object, 5 structure, 6 class, 7 interface.
        pub class: u16 => "Class",
        /// The component type.
        pub base: u16 => "Base",
        /// Number of rows.
        pub rows: u16 => "Rows",
        /// Number of columns.
        pub columns: u16 => "Columns",
        /// Array length; 0 if it is not an array.
        pub elements: u16 => "Elements",
        /// Number of members.
        pub member_count: u16 => "MemberCount",
        /// Offset of the members.
        pub members_offset: Hex32 => "MembersOffset",
    }
}

record! {
    /// The fields that model 5 adds to a type.
    pub struct TypeBases {
        /// Offset of the element type of an array.
        pub sub_type_offset: Hex32 => "SubTypeOffset",
        /// Offset of its base class.
        pub base_class_offset: Hex32 => "BaseClassOffset",
        /// Number of interfaces.
        pub interface_count: u32 => "InterfaceCount",
        /// Offset of the offsets of its interfaces.
        pub interfaces_offset: Hex32 => "InterfacesOffset",
        /// Offset of its name.
        pub name_offset: Hex32 => "NameOffset",
    }
}

record! {
    /// The fields of a member.
    pub struct MemberFields {
        /// Offset of its name.
        pub name_offset: Hex32 => "NameOffset",
        /// Offset of its type.
        pub type_offset: Hex32 => "TypeOffset",
        /// Offset in its structure.
        pub start: u32 => "Start",
    }
}

model! {
    /// A member of a structure.
    pub struct Member {
        /// Its name.
        pub name: Text => "Name",
        /// Its fields.
        pub fields: MemberFields => "Fields",
    }
}

model! {
    /// A type.
    pub struct DataType {
        /// Its offset, which identifies it.
        pub offset: Hex32 => "Offset",
        /// Its name, from model 5 on.
        pub name: Option<Text> => "Name",
        /// The fields of all versions.
        pub fields: TypeFields => "Fields",
        /// The fields of model 5.
        pub bases: Option<TypeBases> => "Bases",
        /// Its members.
        pub members: Vec<Member> => "Members",
        /// Offsets of its interfaces.
        pub interfaces: Vec<u32> => "Interfaces",
    }
}

model! {
    /// RDEF.
    pub struct ResourceDefinitions {
        /// The first 28 bytes.
        pub header: Header => "Header",
        /// The structure sizes, from model 5 on.
        pub sizes: Option<Sizes> => "Sizes",
        /// The name of the compiler.
        pub creator: Text => "Creator",
        /// The bindings.
        pub bindings: Vec<Binding> => "Bindings",
        /// The constant buffers.
        pub buffers: Vec<Buffer> => "ConstantBuffers",
        /// The types, by offset.
        pub types: Vec<DataType> => "Types",
        /// The bytes between and after the pieces.
        pub slack: Slack => "Layout",
    }
}

/// The tag of the sizes.
const TAG: &[u8] = b"RD11";

/// The optional fields that a version has.
#[derive(Clone, Copy)]
struct OptionalFields {
    /// Model 5: longer variables and types.
    model5: bool,
    /// Model 5.1: bindings with a space.
    spaces: bool,
}

impl ResourceDefinitions {
    /// Returns the type at an offset.
    pub fn data_type(&self, offset: u32) -> Option<&DataType> {
        self.types.iter().find(|found| found.offset.0 == offset)
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let header: Header = cursor.record("header")?;
        let file_offset = cursor.offset();
        // Libraries of model 4 have the sizes of model 5.
        let tagged = cursor.peek().starts_with(TAG);
        let sizes: Option<Sizes> =
            (tagged || header.major >= 5).then(|| cursor.record("sizes")).transpose()?;
        let optional = optional_fields(sizes.as_ref(), file_offset)?;
        let creator = cursor.text_at(header.creator_offset.0, "compiler")?;
        let bindings = read_bindings(cursor, &header, optional)?;
        let mut queue = VecDeque::new();
        let buffers = read_buffers(cursor, &header, optional, &mut queue)?;
        let types = read_types(cursor, optional, queue)?;
        let slack = Slack::from_gaps(cursor.part_size(), &cursor.gaps());
        Ok(Self { header, sizes, creator, bindings, buffers, types, slack })
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut image = Image::default();
        let mut header = Vec::new();
        Header {
            buffer_count: len32(self.buffers.len()),
            binding_count: len32(self.bindings.len()),
            ..self.header.clone()
        }
        .write(&mut header);
        if let Some(sizes) = &self.sizes {
            sizes.write(&mut header);
        }
        image.put(0, header);
        image.put_text(self.header.creator_offset.0, &self.creator.0);
        let mut table = Vec::new();
        for binding in &self.bindings {
            binding.fields.write(&mut table);
            if let Some(space) = &binding.space {
                space.write(&mut table);
            }
            image.put_text(binding.fields.name_offset.0, &binding.name.0);
        }
        image.put(self.header.bindings_offset.0, table);
        let mut table = Vec::new();
        for buffer in &self.buffers {
            BufferFields { variable_count: len32(buffer.variables.len()), ..buffer.fields.clone() }
                .write(&mut table);
            image.put_text(buffer.fields.name_offset.0, &buffer.name.0);
            put_variables(buffer, &mut image);
        }
        image.put(self.header.buffers_offset.0, table);
        self.types.iter().for_each(|data_type| put_type(data_type, &mut image));
        image.finish(&self.slack)
    }
}

fn optional_fields(sizes: Option<&Sizes>, file_offset: u64) -> Result<OptionalFields> {
    let Some(sizes) = sizes else { return Ok(OptionalFields { model5: false, spaces: false }) };
    let found = [sizes.header, sizes.buffer, sizes.binding, sizes.variable, sizes.data_type, sizes.member];
    match found {
        [60, 24, 32, 40, 36, 12] => Ok(OptionalFields { model5: true, spaces: false }),
        [60, 24, 40, 40, 36, 12] => Ok(OptionalFields { model5: true, spaces: true }),
        _ => Err(Error::new(ErrorKind::Unsupported, file_offset, "unknown structure sizes")
            .expected("60, 24, 32 or 40, 40, 36, 12")
            .found(found.map(|size| format!("{size}")).join(", "))),
    }
}

fn read_bindings(
    cursor: &mut Cursor<'_, '_>,
    header: &Header,
    optional: OptionalFields,
) -> Result<Vec<Binding>> {
    let mut table = cursor.at(header.bindings_offset.0)?;
    table.check_count(header.binding_count, BindingFields::SIZE)?;
    let mut bindings = Vec::new();
    for index in 0..header.binding_count {
        bindings.push(table.group(
            || format!("binding {index}").into(),
            |table| {
                let fields = BindingFields::read(table)?;
                let space = optional.spaces.then(|| BindingSpace::read(table)).transpose()?;
                Ok(Binding { name: Text::default(), fields, space })
            },
        )?);
    }
    for binding in &mut bindings {
        binding.name = cursor.text_at(binding.fields.name_offset.0, "name")?;
    }
    Ok(bindings)
}

fn read_buffers(
    cursor: &mut Cursor<'_, '_>,
    header: &Header,
    optional: OptionalFields,
    queue: &mut VecDeque<u32>,
) -> Result<Vec<Buffer>> {
    let table: Vec<BufferFields> =
        cursor.at(header.buffers_offset.0)?.table(header.buffer_count, "constant buffer")?;
    let mut buffers = Vec::with_capacity(table.len());
    for (index, fields) in table.into_iter().enumerate() {
        let label = |error: Error| error.within(format!("constant buffer {index}"));
        let name = cursor.text_at(fields.name_offset.0, "name").map_err(label)?;
        let variables = read_variables(cursor, &fields, optional, queue).map_err(label)?;
        buffers.push(Buffer { name, fields, variables });
    }
    Ok(buffers)
}

fn read_variables(
    cursor: &mut Cursor<'_, '_>,
    buffer: &BufferFields,
    optional: OptionalFields,
    queue: &mut VecDeque<u32>,
) -> Result<Vec<Variable>> {
    let mut table = cursor.at(buffer.variables_offset.0)?;
    table.check_count(buffer.variable_count, VariableFields::SIZE)?;
    let mut variables = Vec::new();
    for index in 0..buffer.variable_count {
        variables.push(table.group(
            || format!("variable {index}").into(),
            |table| {
                let fields = VariableFields::read(table)?;
                let resources = optional.model5.then(|| VariableResources::read(table)).transpose()?;
                Ok(Variable { name: Text::default(), fields, resources, default: Bytes::default() })
            },
        )?);
    }
    for (index, variable) in variables.iter_mut().enumerate() {
        let label = |error: Error| error.within(format!("variable {index}"));
        variable.name = cursor.text_at(variable.fields.name_offset.0, "name").map_err(label)?;
        if variable.fields.default_offset.0 != 0 {
            let mut at = cursor.at(variable.fields.default_offset.0).map_err(label)?;
            let bytes = at.bytes(variable.fields.size as usize, "default value").map_err(label)?;
            variable.default = Bytes::from(bytes);
        }
        queue.push_back(variable.fields.type_offset.0);
    }
    Ok(variables)
}

/// Parses each type once, however often and however circularly it is referenced.
fn read_types(
    cursor: &mut Cursor<'_, '_>,
    optional: OptionalFields,
    mut queue: VecDeque<u32>,
) -> Result<Vec<DataType>> {
    let mut types = BTreeMap::new();
    while let Some(offset) = queue.pop_front() {
        if types.contains_key(&offset) {
            continue;
        }
        let found =
            read_type(cursor, offset, optional).map_err(|e| e.within(format!("type at {offset:#x}")))?;
        queue.extend(found.members.iter().map(|member| member.fields.type_offset.0));
        if let Some(bases) = &found.bases {
            let bases = [bases.sub_type_offset.0, bases.base_class_offset.0];
            queue.extend(bases.into_iter().filter(|offset| *offset != 0));
        }
        queue.extend(found.interfaces.iter().copied());
        types.insert(offset, found);
    }
    Ok(types.into_values().collect())
}

fn read_type(cursor: &mut Cursor<'_, '_>, offset: u32, optional: OptionalFields) -> Result<DataType> {
    let mut at = cursor.at(offset)?;
    let (fields, bases) = at.group(
        || "type".into(),
        |at| Ok((TypeFields::read(at)?, optional.model5.then(|| TypeBases::read(at)).transpose()?)),
    )?;
    let mut found = DataType {
        offset: Hex32(offset),
        name: None,
        fields,
        bases,
        members: Vec::new(),
        interfaces: Vec::new(),
    };
    if found.fields.member_count > 0 {
        let count = u32::from(found.fields.member_count);
        let members: Vec<MemberFields> = cursor.at(found.fields.members_offset.0)?.table(count, "member")?;
        for fields in members {
            found.members.push(Member { name: cursor.text_at(fields.name_offset.0, "name")?, fields });
        }
    }
    if let Some(bases) = &found.bases {
        if bases.name_offset.0 != 0 {
            found.name = Some(cursor.text_at(bases.name_offset.0, "name")?);
        }
        if bases.interface_count > 0 {
            let mut at = cursor.at(bases.interfaces_offset.0)?;
            found.interfaces = at.scalars(bases.interface_count, "interface")?;
        }
    }
    Ok(found)
}

fn put_variables(buffer: &Buffer, image: &mut Image) {
    let mut table = Vec::new();
    for variable in &buffer.variables {
        variable.fields.write(&mut table);
        if let Some(resources) = &variable.resources {
            resources.write(&mut table);
        }
        image.put_text(variable.fields.name_offset.0, &variable.name.0);
        if variable.fields.default_offset.0 != 0 {
            image.put(variable.fields.default_offset.0, variable.default.0.clone());
        }
    }
    image.put(buffer.fields.variables_offset.0, table);
}

fn put_type(data_type: &DataType, image: &mut Image) {
    let mut out = Vec::new();
    let member_count = u16::try_from(data_type.members.len()).unwrap_or(u16::MAX);
    TypeFields { member_count, ..data_type.fields.clone() }.write(&mut out);
    if let Some(bases) = &data_type.bases {
        bases.write(&mut out);
        if let Some(name) = &data_type.name {
            image.put_text(bases.name_offset.0, &name.0);
        }
        if !data_type.interfaces.is_empty() {
            let mut table = Vec::new();
            data_type.interfaces.iter().for_each(|interface| interface.put(&mut table));
            image.put(bases.interfaces_offset.0, table);
        }
    }
    image.put(data_type.offset.0, out);
    if !data_type.members.is_empty() {
        let mut table = Vec::new();
        for member in &data_type.members {
            member.fields.write(&mut table);
            image.put_text(member.fields.name_offset.0, &member.name.0);
        }
        image.put(data_type.fields.members_offset.0, table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn unknown_sizes_are_in_plain_words() {
        let sizes = Sizes {
            tag: *b"RD11",
            header: 60,
            buffer: 24,
            binding: 32,
            variable: 40,
            data_type: 36,
            member: 16,
            interface_slots: 0,
        };
        let error = optional_fields(Some(&sizes), 28).err().unwrap();
        assert!(error.to_string().contains("found 60, 24, 32, 40, 36, 16"), "{error}");
    }
}
