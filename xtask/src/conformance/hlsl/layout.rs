//! What a shader has outside of its code, as lines of text, so that those of two shaders can be compared: bindings, variables
//! of constant buffers, sizes of thread groups.
//!
//! | encoding | bindings and constant buffers | stage |
//! |---|---|---|
//! | DXIL | STAT, or the program itself if there is none | properties of the entry points |
//! | DXBC | RDEF | `dcl_` instructions about the stage |
//! | Direct3D 9 | the constant table | |
//!
//! Root signatures are there byte by byte; of libraries also state objects, and who accesses the members of payloads.
//!
//! Names of types, IDs and the order of declarations are left out.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use unshade::core::Diagnostics;
use unshade::dxbc::d3d9::{self, ConstantTable};
use unshade::dxbc::opcode::Class;
use unshade::dxcontainer::dxil::{DxilModule, Resource, ResourceClass};
use unshade::dxcontainer::rdat::{FieldKind, RdatKind, field_kind};
use unshade::dxcontainer::rdef::{DataType, ResourceDefinitions, Variable};
use unshade::dxcontainer::{Container, PartData, program};
use unshade::llvm::types::Type;
use unshade::llvm::{Module, TypeId};

use super::canonical::plain_name;
use super::input::{Encoding, definitions};

/// The nesting depth up to which types are described.
const DEPTH: usize = 8;

/// Returns the lines of a shader.
pub(super) fn lines(encoding: Encoding, data: &[u8]) -> Result<BTreeSet<String>> {
    match encoding {
        Encoding::Dxil => of_dxil(data),
        Encoding::Dxbc => of_dxbc(data),
        Encoding::Direct3d9 => of_direct3d9(data),
    }
}

fn of_dxil(data: &[u8]) -> Result<BTreeSet<String>> {
    let container = Container::parse(data)?;
    let part = container.find(b"DXIL").context("no DXIL")?;
    let (_, bitcode) = program::bitcode(part.data)?;
    let module = Module::parse(bitcode.data(), 0)?;
    let read = DxilModule::read(&module, 0);
    let mut lines: BTreeSet<String> = read.entries.iter().map(entry).collect();
    let reflection = container.find(b"STAT").and_then(|part| program::bitcode(part.data).ok());
    match reflection {
        Some((_, bitcode)) => {
            let module = Module::parse(bitcode.data(), 0)?;
            resources(&module, &DxilModule::read(&module, 0), &mut lines);
        }
        None => resources(&module, &read, &mut lines),
    }
    root_signature(&container, &mut lines);
    state_objects(&container, &mut lines)?;
    lines.extend(read.payloads.values().map(|access| format!("payload {access:?}")));
    Ok(lines)
}

fn root_signature(container: &Container<'_>, lines: &mut BTreeSet<String>) {
    if let Some(part) = container.find(b"RTS0") {
        lines.insert(format!("root signature {:02x?}", part.data.data()));
    }
}

/// Adds the state objects of a library, with what they refer to.
fn state_objects(container: &Container<'_>, lines: &mut BTreeSet<String>) -> Result<()> {
    let Some(part) = container.find(b"RDAT") else { return Ok(()) };
    let PartData::Rdat(rdat) = PartData::read(part.name, part.data)? else { return Ok(()) };
    let kind = RdatKind::SUBOBJECT_TABLE;
    for row in rdat.table(kind).map_or(&[][..], |table| &table.rows) {
        let values = row.values.iter().enumerate().map(|(index, &value)| {
            let size = row.values.get(index + 1).copied().unwrap_or_default();
            match field_kind(kind, index, row.values.first().copied().unwrap_or_default()) {
                FieldKind::Text => format!("{:?}", rdat.text(value).map(String::from_utf8_lossy)),
                FieldKind::TextArray => {
                    let texts = rdat.list(value).unwrap_or_default().iter();
                    format!(
                        "{:?}",
                        texts.map(|at| rdat.text(*at).map(String::from_utf8_lossy)).collect::<Vec<_>>()
                    )
                }
                FieldKind::BytesOffset => format!("{:02x?}", rdat.raw_bytes(value, size)),
                _ => value.to_string(),
            }
        });
        lines.insert(format!("state object {}", values.collect::<Vec<_>>().join(" ")));
    }
    Ok(())
}

/// Returns the properties of an entry point.
fn entry(entry: &unshade::dxcontainer::dxil::EntryPoint) -> String {
    let properties = &entry.properties;
    format!(
        "entry {}: kind {:?}, threads {:?}, lanes {:?}, {:?}, payload {:?}, attributes {:?}, node {:?}",
        plain_name(&entry.name.to_string()),
        properties.kind,
        properties.threads,
        properties.wave_lanes,
        properties.stage,
        properties.payload_size,
        properties.attribute_size,
        properties.node
    )
}

fn resources(module: &Module<'_>, read: &DxilModule, lines: &mut BTreeSet<String>) {
    for resource in &read.resources {
        let Resource { name, space, kind, element, stride, samples, size, sampler, feedback, access, .. } =
            resource;
        let range = resource.register_range();
        lines.insert(format!(
            "binding {range} space {space} {name}: {kind}, element {element:?}, stride {stride:?}, samples {samples}, \
             size {size:?}, sampler {sampler:?}, feedback {feedback:?}, {access:?}"
        ));
        if resource.class == ResourceClass::CBUFFER {
            fields(module, read, resource.ty, &format!("{range} space {space}"), lines);
        }
    }
}

/// Adds the fields of a constant buffer, or of a struct in one.
fn fields(module: &Module<'_>, read: &DxilModule, ty: TypeId, path: &str, lines: &mut BTreeSet<String>) {
    let Some(id) = module.types.named_struct(ty) else { return };
    let (Type::Struct(structure), Some(annotation)) = (module.types.get(id), read.annotations.get(&id))
    else {
        return;
    };
    if path.matches('.').count() > DEPTH {
        return;
    }
    for (&ty, field) in module.types.elements(structure.fields).iter().zip(&annotation.fields) {
        let path = format!("{path}.{}", field.name);
        let (mut lengths, mut inner) = (Vec::new(), ty);
        while let Type::Array { count, element } = module.types.get(inner) {
            lengths.push(count);
            inner = element;
        }
        if let Type::Vector { count, .. } = module.types.get(inner) {
            lengths.push(u64::from(count));
        }
        lines.insert(format!(
            "{path} at {}: {:?} {:?} {lengths:?}{}",
            field.cbuffer_offset,
            field.component_type,
            field.matrix,
            if field.used { ", used" } else { "" }
        ));
        fields(module, read, inner, &path, lines);
    }
}

fn of_dxbc(data: &[u8]) -> Result<BTreeSet<String>> {
    let container = Container::parse(data)?;
    let mut lines = BTreeSet::new();
    root_signature(&container, &mut lines);
    if let Some(definitions) = definitions(&container)? {
        of_definitions(&definitions, &mut lines);
    }
    let part = container.find(b"SHEX").or_else(|| container.find(b"SHDR")).context("no program")?;
    let program = unshade::dxbc::decode(part.data, &mut Diagnostics::default())?;
    for instruction in &program.instructions {
        let Some(row) = instruction.opcode().row().filter(|row| row.class == Class::Declaration) else {
            continue;
        };
        // Declarations without operands are about the stage, and about temporary registers.
        if instruction.operands.is_empty() && !row.mnemonic.contains("emp") && !row.body.is_empty() {
            let token = instruction.token_without_length();
            lines.insert(format!("{} {token:#x} {:?}", row.mnemonic, instruction.values));
        }
    }
    Ok(lines)
}

fn of_definitions(definitions: &ResourceDefinitions, lines: &mut BTreeSet<String>) {
    for binding in &definitions.bindings {
        let fields = &binding.fields;
        let space = binding.space.as_ref().map_or(0, |space| space.space);
        lines.insert(format!(
            "binding {} register {} count {} space {space} {}: return {}, dimension {}, samples {}, flags {:#x}",
            fields.input_type,
            fields.register,
            fields.count,
            binding.name,
            fields.return_type,
            fields.dimension,
            fields.samples,
            fields.flags.0
        ));
    }
    for buffer in &definitions.buffers {
        let fields = &buffer.fields;
        let (size, kind, flags) = (fields.size, fields.buffer_type, fields.flags.0);
        lines.insert(format!("buffer {}: {size} bytes, type {kind}, flags {flags:#x}", buffer.name));
        for variable in &buffer.variables {
            let path = format!("{}.{}", buffer.name, variable.name);
            variable_lines(definitions, variable, &path, lines);
        }
    }
}

fn variable_lines(
    definitions: &ResourceDefinitions,
    variable: &Variable,
    path: &str,
    lines: &mut BTreeSet<String>,
) {
    let fields = &variable.fields;
    let default = unhex(&variable.default.0);
    let (start, size, flags) = (fields.start, fields.size, fields.flags.0);
    lines.insert(format!("{path} at {start}: {size} bytes, flags {flags:#x}, default {default}"));
    if let Some(data_type) = definitions.data_type(fields.type_offset.0) {
        type_lines(definitions, data_type, path, lines);
    }
}

fn unhex(bytes: &[u8]) -> String {
    if bytes.iter().all(|byte| *byte == 0) { "0".into() } else { crate::sh::hex(bytes) }
}

fn type_lines(
    definitions: &ResourceDefinitions,
    data_type: &DataType,
    path: &str,
    lines: &mut BTreeSet<String>,
) {
    let fields = &data_type.fields;
    lines.insert(format!(
        "{path}: class {} base {} {}x{} [{}]",
        fields.class, fields.base, fields.rows, fields.columns, fields.elements
    ));
    if path.matches('.').count() > DEPTH {
        return;
    }
    for member in &data_type.members {
        let path = format!("{path}.{}", member.name);
        lines.insert(format!("{path} at {}", member.fields.start));
        if let Some(inner) = definitions.data_type(member.fields.type_offset.0) {
            type_lines(definitions, inner, &path, lines);
        }
    }
}

fn of_direct3d9(data: &[u8]) -> Result<BTreeSet<String>> {
    let program = d3d9::Program::parse(data)?;
    let mut lines = BTreeSet::new();
    let Some(table) = ConstantTable::of(&program).transpose()? else { return Ok(lines) };
    for constant in &table.constants {
        let (name, letter) = (String::from_utf8_lossy(&constant.name), constant.set.letter());
        let path = format!("{name} {letter}{} count {}", constant.register, constant.count);
        constant_lines(&table, constant.data_type, &path, &mut lines);
    }
    Ok(lines)
}

fn constant_lines(
    table: &ConstantTable,
    data_type: d3d9::constants::DataType,
    path: &str,
    lines: &mut BTreeSet<String>,
) {
    let d3d9::constants::DataType { class, base, rows, columns, elements, .. } = data_type;
    lines.insert(format!("{path}: class {class} base {base} {rows}x{columns} [{elements}]"));
    if path.matches('.').count() > DEPTH {
        return;
    }
    for (name, inner) in table.members(&data_type) {
        constant_lines(table, inner, &format!("{path}.{}", String::from_utf8_lossy(&name)), lines);
    }
}
