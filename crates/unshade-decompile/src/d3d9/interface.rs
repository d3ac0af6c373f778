//! What a program declares: inputs and outputs with their semantics, constants, textures with their samplers.
//!
//! Before version 3, and for the outputs of pixel shaders, registers have fixed semantics and no declaration: those that
//! the program uses are its elements.

use crate::dxbc::{LiftError, MAX_SIZE};
use std::collections::HashMap;
use unshade_dxbc::d3d9::constants::{ConstantTable, DataType as TableType};
use unshade_dxbc::d3d9::opcode::Opcode;
use unshade_dxbc::d3d9::operand::{Operand, RegisterKind, USAGES};
use unshade_dxbc::d3d9::{Instruction, Program};
use unshade_ir::ResourceId;
use unshade_ir::shader::data_type::{DataType, Packing, Scalar, StructField, StructType, StructTypes};
use unshade_ir::shader::interface::{Binding, Element, Resource, ResourceClass, ShaderProgram, Shape};

/// Maximum nesting of structures of the constant table.
const MAX_DEPTH: usize = 8;

/// Maximum number of structures: those of hostile tables may share members many times over.
const MAX_STRUCTURES: usize = 1 << 12;

/// The sets of constants: what a table calls them, the kind of register, and the type of its components.
const SETS: [(u16, RegisterKind, Scalar); 3] = [
    (2, RegisterKind::CONSTANT, Scalar::FLOAT),
    (1, RegisterKind::INTEGER, Scalar::INT),
    (0, RegisterKind::BOOL, Scalar::BOOL),
];

/// What a program declares.
#[derive(Debug, Default)]
pub(super) struct Interface {
    pub(super) inputs: Vec<Element>,
    pub(super) outputs: Vec<Element>,
    /// The elements of registers, by kind and number; several where the components of one differ.
    places: HashMap<(RegisterKind, u32), Vec<usize>>,
    /// Values of constants that the program defines.
    pub(super) defined: HashMap<(RegisterKind, u32), [u32; 4]>,
    /// The buffers of constants, by kind of register.
    pub(super) buffers: HashMap<RegisterKind, ResourceId>,
    /// Texture, sampler and shape by register.
    pub(super) samplers: HashMap<u32, (ResourceId, ResourceId, Shape)>,
}

impl Interface {
    pub(super) fn read(program: &Program, shader: &mut ShaderProgram) -> Result<Self, LiftError> {
        let table = ConstantTable::of(program).transpose()?.unwrap_or_default();
        let mut interface = Self::default();
        for instruction in &program.instructions {
            interface.declaration(program, instruction, &table, shader);
        }
        for instruction in &program.instructions {
            if instruction.opcode() == Opcode::DECLARE || instruction.opcode() == Opcode::COMMENT {
                continue;
            }
            for operand in &instruction.operands {
                interface.implied(program, operand);
            }
            interface.implied_sampler(program, instruction, &table, shader);
        }
        if program.version.is_pixel() && program.version.major() == 1 {
            interface.add(RegisterKind::COLOR, 0, ("COLOR", 0), 15, true);
        }
        interface.constants(program, &table, shader);
        Ok(interface)
    }

    /// Finds the element of a component of a register: its number, and the column.
    pub(super) fn place(&self, kind: RegisterKind, number: u32, component: u8) -> Option<(usize, u8)> {
        let list = if is_output(kind) { &self.outputs } else { &self.inputs };
        self.places.get(&(kind, number))?.iter().find_map(|element| {
            let found = &list[*element];
            let column = component.checked_sub(found.column)?;
            (column < found.columns).then_some((*element, column))
        })
    }

    fn declaration(
        &mut self,
        program: &Program,
        instruction: &Instruction,
        table: &ConstantTable,
        shader: &mut ShaderProgram,
    ) {
        let Some(operand) = instruction.operands.first() else { return };
        let (kind, number) = (operand.kind(), operand.number());
        match instruction.opcode() {
            Opcode::DECLARE => {
                let token = instruction.values.first().copied().unwrap_or(0);
                if kind == RegisterKind::SAMPLER {
                    let shape = match token >> 27 & 15 {
                        3 => Shape::TextureCube,
                        4 => Shape::Texture3D,
                        _ => Shape::Texture2D,
                    };
                    self.sampler(number, shape, table, shader);
                    return;
                }
                let semantic = fixed_semantic(program, kind, number).unwrap_or_else(|| {
                    let usage = USAGES.get((token & 31) as usize).copied().unwrap_or("texcoord");
                    (usage.to_ascii_uppercase(), token >> 16 & 15)
                });
                let mask =
                    if program.version.is_pixel() || is_output(kind) { operand.mask() as u8 } else { 15 };
                let place = self.add(kind, number, (&semantic.0, semantic.1), mask, is_output(kind));
                if operand.result_modifiers() & 4 != 0 && !is_output(kind) {
                    self.inputs[place].interpolation = "centroid";
                }
            }
            Opcode::DEFINE | Opcode(47 | 48) => {
                let mut values = [0; 4];
                for (slot, value) in values.iter_mut().zip(&instruction.values) {
                    *slot = *value;
                }
                let number = operand.constant().unwrap_or(number);
                let kind = if operand.constant().is_some() { RegisterKind::CONSTANT } else { kind };
                self.defined.insert((kind, number), values);
            }
            _ => {}
        }
    }

    /// Adds the element of a register that needs no declaration.
    fn implied(&mut self, program: &Program, operand: &Operand) {
        let (kind, number) = (operand.kind(), operand.number());
        if self.places.contains_key(&(kind, number)) {
            return;
        }
        if let Some((semantic, index)) = fixed_semantic(program, kind, number) {
            let mask = match kind {
                RegisterKind::DEPTH => 1,
                RegisterKind::RASTERIZER if number > 0 => 1,
                _ => 15,
            };
            self.add(kind, number, (&semantic, index), mask, is_output(kind));
        }
    }

    /// Adds the sampler of an instruction that names none: that with the number of its destination.
    fn implied_sampler(
        &mut self,
        program: &Program,
        instruction: &Instruction,
        table: &ConstantTable,
        shader: &mut ShaderProgram,
    ) {
        let Some(target) = instruction.operands.first() else { return };
        if program.version.is_pixel()
            && program.version.major() == 1
            && instruction.opcode() == Opcode::SAMPLE
        {
            self.sampler(target.number(), Shape::Texture2D, table, shader);
        }
    }

    fn add(
        &mut self,
        kind: RegisterKind,
        number: u32,
        (semantic, index): (&str, u32),
        mask: u8,
        is_output: bool,
    ) -> usize {
        let list = if is_output { &mut self.outputs } else { &mut self.inputs };
        let column = if mask & 15 == 0 { 0 } else { mask.trailing_zeros() as u8 };
        let columns = (8 - (mask & 15).leading_zeros() as u8).saturating_sub(column).max(1);
        list.push(Element {
            semantic: semantic.to_owned(),
            indices: vec![index],
            columns,
            scalar: Scalar::FLOAT,
            interpolation: "",
            stream: 0,
            register: Some(number),
            column,
            used: (1 << columns) - 1,
        });
        let place = list.len() - 1;
        self.places.entry((kind, number)).or_default().push(place);
        place
    }

    fn sampler(&mut self, number: u32, shape: Shape, table: &ConstantTable, shader: &mut ShaderProgram) {
        if self.samplers.contains_key(&number) {
            return;
        }
        let constant = table.constants.iter().find(|constant| {
            let first = u32::from(constant.register);
            constant.set.0 == 3 && number >= first && number - first < u32::from(constant.count)
        });
        let name = constant.map(|constant| String::from_utf8_lossy(&constant.name).into_owned());
        let name = match (name, constant) {
            (Some(name), Some(constant)) if constant.count > 1 => {
                format!("{name}_{}", number - u32::from(constant.register))
            }
            (name, _) => name.unwrap_or_default(),
        };
        let sampler_name = if name.is_empty() { String::new() } else { format!("{name}_sampler") };
        let mut resource = resource(name, ResourceClass::ShaderResource, shape, number);
        resource.element = Some(DataType::Vector(Scalar::FLOAT, 4));
        let texture = shader.resources.push(resource);
        let class = ResourceClass::Sampler;
        let sampler = shader.resources.push(self::resource(sampler_name, class, Shape::Sampler, number));
        self.samplers.insert(number, (texture, sampler, shape));
    }

    /// Adds the buffers of constants that the program reads.
    fn constants(&mut self, program: &Program, table: &ConstantTable, shader: &mut ShaderProgram) {
        for (number, (set, kind, scalar)) in (0..).zip(SETS) {
            let operands = program.instructions.iter().flat_map(|instruction| &instruction.operands);
            let numbers = operands.filter_map(|operand| match kind {
                RegisterKind::CONSTANT => operand.constant(),
                kind => (operand.kind() == kind).then(|| operand.number()),
            });
            let Some(last) = numbers.max() else { continue };
            let mut whole = StructType::default();
            for constant in table.constants.iter().filter(|constant| constant.set.0 == set) {
                let ty = data_type(table, &constant.data_type, scalar, &mut shader.structs, 0);
                let Some(ty) = ty else { continue };
                let offset = 16 * u32::from(constant.register);
                let name = String::from_utf8_lossy(&constant.name).into_owned();
                push(&mut whole, name, offset, ty, &shader.structs);
            }
            if whole.fields.is_empty() {
                let row = Box::new(DataType::Vector(scalar, 4));
                push(&mut whole, String::new(), 0, DataType::Array(row, last + 1), &shader.structs);
            }
            whole.fields.sort_by_key(|field| field.offset);
            let size = whole.size.next_multiple_of(16);
            let id = shader.structs.push(whole);
            let mut resource =
                resource(String::new(), ResourceClass::ConstantBuffer, Shape::ConstantBuffer, number);
            resource.element = Some(DataType::Struct(id));
            resource.size = size;
            self.buffers.insert(kind, shader.resources.push(resource));
        }
    }
}

/// Returns whether registers of a kind are outputs.
pub(super) fn is_output(kind: RegisterKind) -> bool {
    matches!(
        kind,
        RegisterKind::RASTERIZER
            | RegisterKind::ATTRIBUTE
            | RegisterKind::OUTPUT
            | RegisterKind::COLOR
            | RegisterKind::DEPTH
    )
}

/// Returns the semantic of a register whose declaration, if there is one, says none.
fn fixed_semantic(program: &Program, kind: RegisterKind, number: u32) -> Option<(String, u32)> {
    let version = program.version;
    let (name, index) = match kind {
        RegisterKind::RASTERIZER => (*["POSITION", "FOG", "PSIZE"].get(number as usize)?, 0),
        RegisterKind::ATTRIBUTE => ("COLOR", number),
        RegisterKind::OUTPUT if version.major() < 3 => ("TEXCOORD", number),
        RegisterKind::COLOR => ("COLOR", number),
        RegisterKind::DEPTH => ("DEPTH", 0),
        RegisterKind::MISCELLANEOUS => (*["VPOS", "VFACE"].get(number as usize)?, 0),
        RegisterKind::INPUT if version.is_pixel() && version.major() < 3 => ("COLOR", number),
        RegisterKind::ADDRESS if version.is_pixel() => ("TEXCOORD", number),
        _ => return None,
    };
    Some((name.to_owned(), index))
}

fn resource(name: String, class: ResourceClass, shape: Shape, register: u32) -> Resource {
    Resource {
        name,
        class,
        shape,
        binding: Some(Binding { register, space: 0, count: Some(1) }),
        element: None,
        samples: 0,
        size: 0,
        is_coherent: false,
        is_ordered: false,
        has_counter: false,
        has_register: true,
        is_object: false,
    }
}

/// Converts a type of the table. Every member starts a register, and the numbers are those of the set: integers in
/// registers of floats are floats.
fn data_type(
    table: &ConstantTable,
    found: &TableType,
    scalar: Scalar,
    structs: &mut StructTypes,
    depth: usize,
) -> Option<DataType> {
    let (rows, columns) = (u8::try_from(found.rows).ok()?, u8::try_from(found.columns).ok()?);
    let element = match found.class {
        0 => DataType::Scalar(scalar),
        1 => DataType::vector(scalar, found.columns.clamp(1, 4)),
        2 | 3 => DataType::Matrix { scalar, rows, columns, is_row_major: found.class == 2 },
        5 if depth < MAX_DEPTH => {
            let mut structure = StructType::default();
            let mut offset = 0;
            for (name, member) in table.members(found) {
                let ty = data_type(table, &member, scalar, structs, depth + 1)?;
                push(&mut structure, String::from_utf8_lossy(&name).into_owned(), offset, ty, structs);
                offset = structure.size.next_multiple_of(16);
                if offset > MAX_SIZE || structs.len() > MAX_STRUCTURES {
                    return None;
                }
            }
            DataType::Struct(structs.push(structure))
        }
        _ => return None,
    };
    let count = u32::from(found.elements).max(1);
    let stride = Packing::Constant.stride(&element, structs);
    if stride.checked_mul(count).is_none_or(|size| size > MAX_SIZE) {
        return None;
    }
    Some(match count {
        1 => element,
        _ => DataType::Array(Box::new(element), count),
    })
}

fn push(structure: &mut StructType, name: String, offset: u32, ty: DataType, structs: &StructTypes) {
    structure.size = structure.size.max(offset.saturating_add(Packing::Constant.size(&ty, structs)));
    structure.fields.push(StructField { name, offset, ty, semantic: None });
}
