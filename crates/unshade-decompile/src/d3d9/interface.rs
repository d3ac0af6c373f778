//! What a program declares: inputs and outputs with their semantics, constants, textures with their samplers.
//!
//! Before version 3, and for the outputs of pixel shaders, registers have fixed semantics and no declaration: those that
//! the program uses are its elements.

use super::first;
use crate::dxbc::{LiftError, MAX_SIZE};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use unshade_dxbc::d3d9::constants::{ConstantTable, DataType as TableType};
use unshade_dxbc::d3d9::opcode::Opcode;
use unshade_dxbc::d3d9::operand::{Operand, RegisterKind, USAGES};
use unshade_dxbc::d3d9::{Instruction, Program};
use unshade_dxbc::opcode::Class;
use unshade_ir::shader::data_type::{DataType, Packing, Scalar, StructField, StructType, StructTypes};
use unshade_ir::shader::interface::{
    Binding, Element, Resource, ResourceClass, ShaderProgram, Shape, Variable, VariableSpace,
};
use unshade_ir::{ResourceId, VariableId};

/// Maximum nesting of structures of the constant table.
const MAX_DEPTH: usize = 8;

/// Numbers of base types in the table.
const BASE_BOOL: u16 = 1;
const BASE_INT: u16 = 2;
const BASE_FLOAT: u16 = 3;
const BASE_SAMPLER_2D: u16 = 12;
const BASE_SAMPLER_3D: u16 = 13;
const BASE_SAMPLER_CUBE: u16 = 14;

/// The number of the register that says which side of a triangle is seen.
const FACE: u32 = 1;

/// Maximum number of structures: those of hostile tables may share members many times over.
const MAX_STRUCTURES: usize = 1 << 12;

/// Maximum number of constant registers.
const MAX_CONSTANTS: u32 = 1 << 13;

/// A set of constants.
#[derive(Debug)]
struct Set {
    /// What a table calls it.
    number: u16,
    kind: RegisterKind,
    /// The type of its components.
    scalar: Scalar,
    letter: char,
}

/// The sets of constants.
const SETS: [Set; 3] = [
    Set { number: 2, kind: RegisterKind::CONSTANT, scalar: Scalar::FLOAT, letter: 'c' },
    Set { number: 1, kind: RegisterKind::INTEGER, scalar: Scalar::INT, letter: 'i' },
    Set { number: 0, kind: RegisterKind::BOOL, scalar: Scalar::BOOL, letter: 'b' },
];

/// Products with matrices: the number of registers that their second operand is.
const ROWS: [(&str, u32); 5] = [("m4x4", 4), ("m4x3", 3), ("m3x4", 4), ("m3x3", 3), ("m3x2", 2)];

/// What a program declares.
#[derive(Debug, Default)]
pub(super) struct Interface {
    pub(super) inputs: Vec<Element>,
    pub(super) outputs: Vec<Element>,
    /// The elements of registers with the components that they have there, by kind and number; several where the
    /// components of one differ.
    places: HashMap<(RegisterKind, u32), Vec<(usize, u8)>>,
    /// The components of registers that the program writes.
    written: HashMap<(RegisterKind, u32), u8>,
    /// Registers of integers that are one number of the table, and those that are a vector.
    pub(super) counts: BTreeSet<u32>,
    pub(super) vectors: BTreeSet<u32>,
    /// Values of constants that the program defines.
    pub(super) defined: HashMap<(RegisterKind, u32), [u32; 4]>,
    /// Arrays of constants that the program defines, by their first register.
    pub(super) arrays: BTreeMap<u32, VariableId>,
    /// The buffers of constants, by kind of register.
    pub(super) buffers: HashMap<RegisterKind, ResourceId>,
    /// Texture, sampler and shape by register.
    pub(super) samplers: HashMap<u32, (ResourceId, ResourceId, Shape)>,
}

impl Interface {
    pub(super) fn read(program: &Program, shader: &mut ShaderProgram) -> Result<Self, LiftError> {
        let table = ConstantTable::of(program).transpose()?.unwrap_or_default();
        let mut interface = Self { written: written(program), ..Self::default() };
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
            if first::writes_depth(program) {
                interface.add(RegisterKind::DEPTH, 0, ("DEPTH", 0), 1, true);
            }
        }
        interface.constants(program, &table, shader);
        interface.tables(program, shader);
        Ok(interface)
    }

    /// Finds the element of a component of a register: its number, and the column.
    pub(super) fn place(&self, kind: RegisterKind, number: u32, component: u8) -> Option<(usize, u8)> {
        let list = if is_output(kind) { &self.outputs } else { &self.inputs };
        self.places.get(&(kind, number))?.iter().find_map(|(element, mask)| {
            let is_here = mask >> (component & 3) & 1 == 1 && component < list[*element].columns;
            is_here.then_some((*element, component))
        })
    }

    /// Returns the components of an output register that the program writes.
    pub(super) fn written_mask(&self, kind: RegisterKind, number: u32) -> u8 {
        self.written.get(&(kind, number)).copied().unwrap_or(0)
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
                let mask = match (kind, number) {
                    (RegisterKind::MISCELLANEOUS, FACE) => 1,
                    // The size of a point is one number, but it is declared and written as four.
                    (RegisterKind::OUTPUT, _) if semantic.0 == "PSIZE" => 1,
                    _ if program.version.is_pixel() || is_output(kind) => operand.mask() as u8,
                    _ => 15,
                };
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
                RegisterKind::MISCELLANEOUS if number == FACE => 1,
                RegisterKind::RASTERIZER | RegisterKind::ATTRIBUTE | RegisterKind::OUTPUT => {
                    self.written.get(&(kind, number)).copied().unwrap_or(15)
                }
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
        if !program.version.is_pixel() || program.version.major() > 1 {
            return;
        }
        let mnemonic = instruction.opcode().row(program.version).map_or("", |row| row.mnemonic);
        let Some((_, shape)) = first::SAMPLERS.iter().find(|row| row.0 == mnemonic) else { return };
        let named = table
            .constants
            .iter()
            .find(|constant| constant.set.0 == 3 && u32::from(constant.register) == target.number());
        let shape = match named.map(|constant| constant.data_type.base) {
            Some(BASE_SAMPLER_2D) => Shape::Texture2D,
            Some(BASE_SAMPLER_3D) => Shape::Texture3D,
            Some(BASE_SAMPLER_CUBE) => Shape::TextureCube,
            _ => *shape,
        };
        self.sampler(target.number(), shape, table, shader);
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
        // Components are those of the semantic: an element that is read from its second one on has a first one.
        let mask = if mask & 15 == 0 { 1 } else { mask & 15 };
        let columns = 8 - mask.leading_zeros() as u8;
        list.push(Element {
            semantic: semantic.to_owned(),
            indices: vec![index],
            columns,
            scalar: Scalar::FLOAT,
            interpolation: "",
            stream: 0,
            register: Some(number),
            column: 0,
            used: mask,
        });
        let place = list.len() - 1;
        self.places.entry((kind, number)).or_default().push((place, mask));
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
        let Some(constant) = constant else {
            let texel = DataType::Vector(Scalar::FLOAT, 4);
            self.pair([String::new(), String::new()], number, (shape, 0), texel, shader);
            return;
        };
        let name = String::from_utf8_lossy(&constant.name).into_owned();
        let count = u32::from(constant.data_type.elements.max(constant.count));
        let element = match count {
            0 | 1 => String::new(),
            _ => format!("[{}]", number - u32::from(constant.register)),
        };
        // A texture and a sampler that are two variables.
        let names = match name.split_once('+') {
            Some((sampler, texture)) => [format!("{texture}{element}"), sampler.into()],
            None => [format!("{name}{element}"), String::new()],
        };
        // Lanes of a number are all that number, so that samples of it may be read as vectors.
        let texel = match (constant.data_type.columns, &names[1][..]) {
            (_, "") | (2.., _) => DataType::Vector(Scalar::FLOAT, 4),
            _ => DataType::Scalar(Scalar::FLOAT),
        };
        self.pair(names, number, (shape, if count > 1 { count } else { 0 }), texel, shader);
    }

    /// Adds a texture and its sampler, with their names. An element of an array has its number in brackets in its name,
    /// and the number of elements as its size.
    fn pair(
        &mut self,
        [texture, sampler]: [String; 2],
        number: u32,
        (shape, count): (Shape, u32),
        texel: DataType,
        shader: &mut ShaderProgram,
    ) {
        let mut resource = resource(texture, ResourceClass::ShaderResource, shape, number);
        resource.size = count;
        resource.element = Some(texel);
        let texture = shader.resources.push(resource);
        let class = ResourceClass::Sampler;
        let sampler = shader.resources.push(self::resource(sampler, class, Shape::Sampler, number));
        self.samplers.insert(number, (texture, sampler, shape));
    }

    /// Adds the buffers of constants that the program reads.
    fn constants(&mut self, program: &Program, table: &ConstantTable, shader: &mut ShaderProgram) {
        for (number, set) in (0..).zip(&SETS) {
            let mut read = registers_read(program, set.kind);
            read.retain(|register, _| !self.defined.contains_key(&(set.kind, *register)));
            let mut whole = StructType::default();
            for constant in table.constants.iter().filter(|constant| constant.set.0 == set.number) {
                let ty = data_type(table, &constant.data_type, set.scalar, &mut shader.structs, 0);
                let Some(ty) = ty else { continue };
                if set.kind == RegisterKind::INTEGER {
                    let is_count = matches!(ty.innermost(), DataType::Scalar(_));
                    let registers =
                        (0..u32::from(constant.count)).map(|at| u32::from(constant.register) + at);
                    if is_count { &mut self.counts } else { &mut self.vectors }.extend(registers);
                }
                let offset = 16 * u32::from(constant.register);
                let name = String::from_utf8_lossy(&constant.name).into_owned();
                push(&mut whole, name, offset, ty, &shader.structs);
                let registers = u32::from(constant.register)..;
                let count = u32::from(constant.count.max(1));
                read.retain(|register, _| {
                    !registers.clone().take(count as usize).any(|one| one == *register)
                });
            }
            self.unnamed(&read, constant_registers(program), set, &mut whole, shader);
            for (register, name) in first::states(program) {
                if set.kind == RegisterKind::CONSTANT {
                    push(&mut whole, name, 16 * register, DataType::Vector(set.scalar, 4), &shader.structs);
                }
            }
            if whole.fields.is_empty() {
                continue;
            }
            whole.fields.sort_by_key(|field| field.offset);
            let size = whole.size.next_multiple_of(16);
            let id = shader.structs.push(whole);
            let mut resource =
                resource(String::new(), ResourceClass::ConstantBuffer, Shape::ConstantBuffer, number);
            resource.element = Some(DataType::Struct(id));
            resource.size = size;
            self.buffers.insert(set.kind, shader.resources.push(resource));
        }
    }

    /// Makes arrays of the constants that the program defines and adds an address to: of all registers in a row.
    fn tables(&mut self, program: &Program, shader: &mut ShaderProgram) {
        for (base, is_relative) in registers_read(program, RegisterKind::CONSTANT) {
            let row = |number: u32| self.defined.get(&(RegisterKind::CONSTANT, number));
            if !is_relative || row(base).is_none() {
                continue;
            }
            let first = (0..base).rev().take_while(|number| row(*number).is_some()).last().unwrap_or(base);
            if self.arrays.contains_key(&first) {
                continue;
            }
            let rows = (first..).map_while(row);
            let values: Vec<u64> = rows.flatten().map(|value| u64::from(*value)).collect();
            let row = Box::new(DataType::Vector(Scalar::FLOAT, 4));
            let ty = DataType::Array(row, values.len() as u32 / 4);
            let variable = Variable { name: String::new(), space: VariableSpace::Constant, ty, values };
            self.arrays.insert(first, shader.variables.push(variable));
        }
    }

    /// Declares registers that the table does not name: each for itself, or an array up to the next one where an
    /// address is added.
    fn unnamed(
        &self,
        read: &BTreeMap<u32, bool>,
        limit: u32,
        set: &Set,
        whole: &mut StructType,
        shader: &mut ShaderProgram,
    ) {
        let named: Vec<u32> = whole.fields.iter().map(|field| field.offset / 16).collect();
        let mut end = 0;
        for (register, is_relative) in read {
            if *register < end || *register >= MAX_CONSTANTS {
                continue;
            }
            let row = match set.kind {
                RegisterKind::CONSTANT => DataType::Vector(set.scalar, 4),
                _ => DataType::Scalar(set.scalar),
            };
            let next = named.iter().copied().filter(|other| other > register).min();
            let next = next.unwrap_or(limit).max(register + 1);
            end = if *is_relative { next } else { register + 1 };
            let ty = match end - register {
                1 => row,
                count => DataType::Array(Box::new(row), count),
            };
            let name = format!("{}{register}", set.letter);
            push(whole, name, 16 * register, ty, &shader.structs);
        }
    }
}

/// Returns the number of constant registers that a version has: without a table, an array may end only there.
fn constant_registers(program: &Program) -> u32 {
    match (program.version.major(), program.version.minor()) {
        (1, _) => 96,
        (_, 255) => MAX_CONSTANTS,
        _ => 256,
    }
}

/// Returns the registers of a kind that a program reads, and whether it adds an address to them.
fn registers_read(program: &Program, kind: RegisterKind) -> BTreeMap<u32, bool> {
    let mut found = BTreeMap::new();
    for instruction in &program.instructions {
        let row = instruction.opcode().row(program.version);
        if row.is_none_or(|row| row.class == Class::Declaration) {
            continue;
        }
        let rows =
            row.and_then(|row| ROWS.iter().find(|known| known.0 == row.mnemonic)).map_or(1, |row| row.1);
        for (index, operand) in instruction.operands.iter().enumerate() {
            let number = match kind {
                RegisterKind::CONSTANT => operand.constant(),
                kind => (operand.kind() == kind).then(|| operand.number()),
            };
            let Some(number) = number else { continue };
            let is_relative = operand.address(program.version).is_some();
            for row in 0..if index == 2 { rows } else { 1 } {
                *found.entry(number.saturating_add(row)).or_insert(false) |= is_relative;
            }
        }
    }
    found
}

/// Returns the components of output registers that a program writes.
fn written(program: &Program) -> HashMap<(RegisterKind, u32), u8> {
    let mut found = HashMap::new();
    for instruction in &program.instructions {
        let is_code = instruction.opcode() != Opcode::DECLARE && instruction.has_destination(program.version);
        if let (true, Some(target)) = (is_code, instruction.operands.first()) {
            *found.entry((target.kind(), target.number())).or_insert(0) |= target.mask() as u8;
        }
    }
    found
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
        binding: Some(Binding { register, space: 0, count: Some(1) }),
        ..Resource::new(class, shape)
    }
}

/// Converts a type of the table. Every member starts a register. Integers and truth values in registers of floats keep
/// their declared types, though the program reads floats.
fn data_type(
    table: &ConstantTable,
    found: &TableType,
    scalar: Scalar,
    structs: &mut StructTypes,
    depth: usize,
) -> Option<DataType> {
    let scalar = match found.base {
        BASE_BOOL => Scalar::BOOL,
        BASE_INT => Scalar::INT,
        BASE_FLOAT => Scalar::FLOAT,
        _ => scalar,
    };
    let element = match found.class {
        0 => DataType::Scalar(scalar),
        1 => DataType::Vector(scalar, found.columns.clamp(1, 4)),
        2 | 3 => DataType::Matrix {
            scalar,
            rows: u8::try_from(found.rows).ok()?,
            columns: u8::try_from(found.columns).ok()?,
            is_row_major: found.class == 2,
        },
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
    structure.fields.push(StructField { name, offset, ty, semantic: None, access: None });
}
