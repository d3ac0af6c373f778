//! What a shader has outside of its code, as lines of text, so that those of two shaders can be compared: bindings, variables
//! of constant buffers, sizes of thread groups.
//!
//! | encoding | bindings and constant buffers | stage |
//! |---|---|---|
//! | DXIL | STAT, or the program itself | properties of the entry points |
//! | DXBC | RDEF, or `dcl_` instructions about resources | `dcl_` instructions about the stage |
//! | Direct3D 9 | the constant table | |
//!
//! Root signatures are there byte by byte; of libraries also state objects, and who accesses the members of payloads.
//!
//! A stripped program has no STAT or RDEF. Then both programs are described without. Names of types, IDs and the order of
//! declarations are left out.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use unshade_core::{Diagnostics, Error, ErrorKind, Result};
use unshade_dxbc::d3d9::{self, ConstantTable};
use unshade_dxbc::opcode::Class;
use unshade_dxcontainer::dxil::{DxilModule, EntryPoint, Resource, ResourceClass};
use unshade_dxcontainer::rdat::{FieldKind, RdatKind, field_kind};
use unshade_dxcontainer::rdef::{DataType, ResourceDefinitions, Variable};
use unshade_dxcontainer::{Container, PartData, program};
use unshade_llvm::types::Type;
use unshade_llvm::{Module, TypeId};

use super::bounded::Bounded;
use super::canonical::plain_name;
use super::compare::no_program;
use super::target::{Encoding, definitions, token_part};

/// The nesting depth up to which types are described.
const DEPTH: usize = 8;

/// The number of dimensions of an array that are described.
const DIMENSIONS: usize = 32;

/// Maximum number of bytes of the lines of a shader: types of a hostile file may refer to others many times over.
const BUDGET: usize = 64 << 20;

/// The lines of a shader.
pub(super) struct Layout {
    pub(super) bindings: BTreeSet<String>,
    /// Members of constant buffers.
    pub(super) buffers: BTreeSet<String>,
    pub(super) stage: BTreeSet<String>,
    /// The number of bytes that are left for members.
    left: usize,
}

/// Returns whether a shader describes its resources outside of the program.
pub(super) fn has_reflection(encoding: Encoding, data: &[u8]) -> Result<bool> {
    Ok(match encoding {
        Encoding::Dxil => Container::parse(data)?.find(b"STAT").is_some(),
        Encoding::Dxbc => Container::parse(data)?.find(b"RDEF").is_some(),
        Encoding::Direct3d9 => ConstantTable::of(&d3d9::Program::parse(data)?).is_some(),
    })
}

impl Layout {
    /// Describes a shader, by its reflection data if these are asked for.
    pub(super) fn new(encoding: Encoding, data: &[u8], with_reflection: bool) -> Result<Self> {
        let mut layout = Self {
            bindings: BTreeSet::new(),
            buffers: BTreeSet::new(),
            stage: BTreeSet::new(),
            left: BUDGET,
        };
        match encoding {
            Encoding::Dxil => layout.dxil(data, with_reflection)?,
            Encoding::Dxbc => layout.dxbc(data, with_reflection)?,
            Encoding::Direct3d9 if with_reflection => layout.direct3d9(data)?,
            Encoding::Direct3d9 => {}
        }
        Ok(layout)
    }

    /// Adds a line about a member of a constant buffer.
    fn member(&mut self, line: String) -> Result<()> {
        let left = self.left.checked_sub(line.len() + 1);
        self.left = left.ok_or_else(|| {
            Error::without_offset(ErrorKind::Limit, "its constant buffers have too many members to compare")
        })?;
        self.buffers.insert(line);
        Ok(())
    }

    fn dxil(&mut self, data: &[u8], with_reflection: bool) -> Result<()> {
        let container = Container::parse(data)?;
        let part = container.find(b"DXIL").ok_or_else(no_program)?;
        let (_, bitcode) = program::bitcode(part.data)?;
        let module = Module::parse(bitcode.data(), 0)?;
        let read = DxilModule::read(&module, 0);
        self.stage = read.entries.iter().map(entry).collect();
        self.stage.extend(read.payloads.values().map(|access| format!("payload {access:?}")));
        self.root_signature(&container);
        self.state_objects(&container)?;
        let statistics = container.find(b"STAT").filter(|_| with_reflection);
        match statistics.and_then(|part| program::bitcode(part.data).ok()) {
            Some((_, bitcode)) => {
                let module = Module::parse(bitcode.data(), 0)?;
                self.resources(&module, &DxilModule::read(&module, 0))
            }
            None => self.resources(&module, &read),
        }
    }

    fn root_signature(&mut self, container: &Container<'_>) {
        let Some(part) = container.find(b"RTS0") else { return };
        let mut line = Bounded::default();
        line.put("root signature");
        for byte in part.data.data() {
            let _ = write!(line, " {byte:02x}");
        }
        self.bindings.insert(line.finish().to_string());
    }

    /// Adds the state objects of a library, with what they refer to.
    fn state_objects(&mut self, container: &Container<'_>) -> Result<()> {
        let Some(part) = container.find(b"RDAT") else { return Ok(()) };
        let PartData::Rdat(rdat) = PartData::read(part.name, part.data)? else { return Ok(()) };
        let kind = RdatKind::SUBOBJECT_TABLE;
        let text = |at: u32| rdat.text(at).map(String::from_utf8_lossy).unwrap_or_default();
        for row in rdat.table(kind).map_or(&[][..], |table| &table.rows) {
            let mut line = Bounded::default();
            line.put("state object");
            for (index, &value) in row.values.iter().enumerate() {
                line.put(" ");
                let size = row.values.get(index + 1).copied().unwrap_or_default();
                match field_kind(kind, index, row.values.first().copied().unwrap_or_default()) {
                    FieldKind::Text => line.put(&text(value)),
                    FieldKind::TextArray => {
                        line.list(rdat.list(value).unwrap_or_default().iter().map(|at| text(*at)));
                    }
                    FieldKind::BytesOffset => {
                        let _ = write!(line, "{:02x?}", rdat.raw_bytes(value, size));
                    }
                    _ => line.put(&value.to_string()),
                }
            }
            self.stage.insert(line.finish().to_string());
        }
        Ok(())
    }

    fn resources(&mut self, module: &Module<'_>, read: &DxilModule) -> Result<()> {
        for resource in &read.resources {
            let Resource {
                name, space, kind, element, stride, samples, size, sampler, feedback, access, ..
            } = resource;
            let range = resource.register_range();
            let mut line = format!("{range} space {space}: {name} {kind}");
            described(&mut line, "element type", *element);
            described(&mut line, "stride", *stride);
            described(&mut line, "samples", Some(*samples).filter(|samples| *samples > 0));
            described(&mut line, "bytes", *size);
            described(&mut line, "sampler kind", *sampler);
            described(&mut line, "feedback", *feedback);
            let flags = [
                (access.globally_coherent, "globally coherent"),
                (access.counter, "counter"),
                (access.rasterizer_ordered, "rasterizer ordered"),
                (access.atomic_64, "64-bit atomics"),
                (access.reorder_coherent, "reorder coherent"),
            ];
            for (_, name) in flags.into_iter().filter(|(is_set, _)| *is_set) {
                line.push_str(", ");
                line.push_str(name);
            }
            self.bindings.insert(line);
            if resource.class == ResourceClass::CBUFFER {
                self.fields(module, read, resource.ty, &format!("{range} space {space}"), DEPTH)?;
            }
        }
        Ok(())
    }

    /// Adds the fields of a constant buffer, or of a struct in one.
    fn fields(
        &mut self,
        module: &Module<'_>,
        read: &DxilModule,
        ty: TypeId,
        path: &str,
        depth: usize,
    ) -> Result<()> {
        let Some(id) = module.types.named_struct(ty) else { return Ok(()) };
        let (Type::Struct(structure), Some(annotation)) = (module.types.get(id), read.annotations.get(&id))
        else {
            return Ok(());
        };
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        for (&ty, field) in module.types.elements(structure.fields).iter().zip(&annotation.fields) {
            let path = format!("{path}.{}", field.name);
            let (mut lengths, mut inner) = (Vec::new(), ty);
            while let Type::Array { count, element } = module.types.get(inner)
                && lengths.len() < DIMENSIONS
            {
                lengths.push(count);
                inner = element;
            }
            if let Type::Vector { count, .. } = module.types.get(inner) {
                lengths.push(u64::from(count));
            }
            self.member(format!(
                "{path}: at {}, type {}, {:?}, {lengths:?}{}",
                field.cbuffer_offset,
                field.component_type.map_or_else(|| "none".into(), |component| component.to_string()),
                field.matrix,
                if field.used { ", used" } else { "" }
            ))?;
            self.fields(module, read, inner, &path, depth)?;
        }
        Ok(())
    }

    fn dxbc(&mut self, data: &[u8], with_reflection: bool) -> Result<()> {
        let container = Container::parse(data)?;
        self.root_signature(&container);
        if with_reflection && let Some(definitions) = definitions(&container)? {
            self.definitions(&definitions)?;
        }
        let part = token_part(&container).ok_or_else(no_program)?;
        let program = unshade_dxbc::decode(part.data, &mut Diagnostics::default())?;
        for instruction in &program.instructions {
            let Some(row) = instruction.opcode().row().filter(|row| row.class == Class::Declaration) else {
                continue;
            };
            let (token, values) = (instruction.token_without_length(), &instruction.values);
            if !instruction.operands.is_empty() {
                if !with_reflection && RESOURCES.iter().any(|start| row.mnemonic.starts_with(start)) {
                    let operands = &instruction.operands;
                    self.bindings.insert(format!("{} {operands:?}: {token:#x} {values:?}", row.mnemonic));
                }
            // Declarations without operands are about the stage, and about temporary registers.
            } else if !row.mnemonic.contains("emp") && !row.body.is_empty() {
                self.stage.insert(format!("{}: {token:#x} {values:?}", row.mnemonic));
            }
        }
        Ok(())
    }

    fn definitions(&mut self, definitions: &ResourceDefinitions) -> Result<()> {
        for binding in &definitions.bindings {
            let fields = &binding.fields;
            let space = binding.space.as_ref().map_or(0, |space| space.space);
            self.bindings.insert(format!(
                "{} register {} space {space}: {}, count {}, return {}, dimension {}, samples {}, flags {:#x}",
                fields.input_type,
                fields.register,
                binding.name,
                fields.count,
                fields.return_type,
                fields.dimension,
                fields.samples,
                fields.flags.0
            ));
        }
        for buffer in &definitions.buffers {
            let fields = &buffer.fields;
            let (size, kind, flags) = (fields.size, fields.buffer_type, fields.flags.0);
            self.member(format!("{}: {size} bytes, type {kind}, flags {flags:#x}", buffer.name))?;
            for variable in &buffer.variables {
                let path = format!("{}.{}", buffer.name, variable.name);
                self.variable(definitions, variable, &path)?;
            }
        }
        Ok(())
    }

    fn variable(&mut self, definitions: &ResourceDefinitions, variable: &Variable, path: &str) -> Result<()> {
        let fields = &variable.fields;
        let default = unhex(&variable.default.0);
        let (start, size, flags) = (fields.start, fields.size, fields.flags.0);
        self.member(format!("{path}: at {start}, {size} bytes, flags {flags:#x}, default {default}"))?;
        match definitions.data_type(fields.type_offset.0) {
            Some(data_type) => self.data_type(definitions, data_type, path, DEPTH),
            None => Ok(()),
        }
    }

    fn data_type(
        &mut self,
        definitions: &ResourceDefinitions,
        data_type: &DataType,
        path: &str,
        depth: usize,
    ) -> Result<()> {
        let fields = &data_type.fields;
        self.member(format!(
            "type of {path}: class {} base {} {}x{} [{}]",
            fields.class, fields.base, fields.rows, fields.columns, fields.elements
        ))?;
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        for member in &data_type.members {
            let path = format!("{path}.{}", member.name);
            self.member(format!("{path}: at {}", member.fields.start))?;
            if let Some(inner) = definitions.data_type(member.fields.type_offset.0) {
                self.data_type(definitions, inner, &path, depth)?;
            }
        }
        Ok(())
    }

    fn direct3d9(&mut self, data: &[u8]) -> Result<()> {
        let program = d3d9::Program::parse(data)?;
        let Some(table) = ConstantTable::of(&program).transpose()? else { return Ok(()) };
        for constant in &table.constants {
            let (name, letter) = (String::from_utf8_lossy(&constant.name), constant.set.letter());
            self.bindings.insert(format!("{letter}{}: {name}, count {}", constant.register, constant.count));
            self.constant(&table, constant.data_type, &name, DEPTH)?;
        }
        Ok(())
    }

    fn constant(
        &mut self,
        table: &ConstantTable,
        data_type: d3d9::constants::DataType,
        path: &str,
        depth: usize,
    ) -> Result<()> {
        let d3d9::constants::DataType { class, base, rows, columns, elements, .. } = data_type;
        self.member(format!("{path}: class {class} base {base} {rows}x{columns} [{elements}]"))?;
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        for (name, inner) in table.members(&data_type) {
            self.constant(table, inner, &format!("{path}.{}", String::from_utf8_lossy(&name)), depth)?;
        }
        Ok(())
    }
}

/// What the names of declarations of resources start with.
const RESOURCES: [&str; 4] = ["dcl_constantbuffer", "dcl_sampler", "dcl_resource", "dcl_uav"];

/// Returns the properties of an entry point.
fn entry(entry: &EntryPoint) -> String {
    let properties = &entry.properties;
    let mut line = format!("{}: entry point", plain_name(&entry.name.to_string()));
    let sizes = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join(" × ");
    described(&mut line, "kind", properties.kind);
    described(&mut line, "threads", properties.threads.map(sizes));
    described(&mut line, "lanes", properties.wave_lanes.map(sizes));
    for &(name, value) in &properties.stage {
        described(&mut line, name, Some(value));
    }
    described(&mut line, "payload", properties.payload_size);
    described(&mut line, "attributes", properties.attribute_size);
    if let Some(node) = &properties.node {
        let _ = write!(line, ", {node:?}");
    }
    line
}

/// Adds a property that is there to a line.
fn described(line: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        let _ = write!(line, ", {name} {value}");
    }
}

fn unhex(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == 0) {
        return "0".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
