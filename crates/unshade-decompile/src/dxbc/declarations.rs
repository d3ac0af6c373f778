//! What a program declares besides resources: signatures, attributes of the entry point, variables.

use super::LiftError;
use super::debug::SourceVariables;
use super::resources::{self, Bindings};
use super::signature::{Elements, Range};
use std::collections::{HashMap, HashSet};
use unshade_dxbc::operand::{Components, OperandKind};
use unshade_dxbc::{Instruction, Program, opcode::Opcode};
use unshade_dxcontainer::Container;
use unshade_ir::shader::data_type::{DataType, Scalar, ScalarKind, StructField, StructType};
use unshade_ir::shader::interface::{
    Attributes, ShaderProgram, Stage, Variable, VariableSpace, patch_points,
};
use unshade_ir::shader::{OperandKind as Kind, ShaderOp};
use unshade_ir::{Function, Key, Op, Space, ValueId, VariableId};

/// The largest array of registers or shared memory, in words: what the hardware has.
const MAX_WORDS: u32 = 1 << 20;

/// What a program declares.
#[derive(Debug, Default)]
pub(super) struct Interface {
    pub(super) inputs: Elements,
    pub(super) outputs: Elements,
    pub(super) patch: Elements,
    pub(super) bindings: Bindings,
    pub(super) attributes: Attributes,
    /// The variables of indexable registers by number, and the number of components.
    pub(super) arrays: HashMap<u32, (VariableId, u8)>,
    /// The variable of the immediate constants.
    pub(super) constants: Option<VariableId>,
    pub(super) shared: HashMap<u32, Shared>,
    /// The variables of the source code in registers.
    pub(super) source: SourceVariables,
}

/// A variable in shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) variable: VariableId,
    pub(super) form: SharedForm,
}

/// What the elements of a variable in shared memory are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SharedForm {
    /// Words that are addressed by bytes.
    Raw,
    /// A number or vector with so many words.
    Vector(u16),
    /// A structure with so many members of a word each.
    Members(u32),
    /// An array of words, because the program indexes inside of an element.
    Words(u32),
}

impl Interface {
    /// Reads the names of variables from debug information.
    pub(super) fn name_sources(&mut self, container: &Container<'_>, shader: &mut ShaderProgram) {
        self.source = SourceVariables::read(container);
        shader.source_files = self.source.files();
        for (number, (id, _)) in &self.arrays {
            if let (Some(name), Some(variable)) =
                (self.source.arrays.get(number), shader.variables.get_mut(*id))
                && variable.name.is_empty()
            {
                variable.name.clone_from(name);
            }
        }
    }

    /// Reads the parts and declarations of a program.
    pub(super) fn read(
        container: &Container<'_>,
        program: &Program,
        shader: &mut ShaderProgram,
    ) -> Result<Self, LiftError> {
        let (inputs, outputs, patch) = ranges(program);
        let mut interface = Self {
            inputs: Elements::read(container, &[*b"ISG1", *b"ISGN"], false, &inputs)?,
            outputs: Elements::read(container, &[*b"OSG1", *b"OSG5", *b"OSGN"], true, &outputs)?,
            patch: Elements::read(container, &[*b"PSG1", *b"PCSG"], shader.stage == Stage::Hull, &patch)?,
            bindings: resources::read(container, program, shader)?,
            ..Self::default()
        };
        // Inputs without a register are operands of other kinds, and operations of their own here.
        interface.inputs.list.retain(|element| element.register.is_some());
        // Shader Model 4 has no flag that allows refactoring.
        shader.is_strict = shader.model.0 >= 5;
        let mut stream = 0;
        for instruction in &program.instructions {
            interface.declaration(program, instruction, &mut stream, shader);
        }
        Ok(interface)
    }

    fn declaration(
        &mut self,
        program: &Program,
        instruction: &Instruction,
        stream: &mut u32,
        shader: &mut ShaderProgram,
    ) {
        let Some(row) = instruction.opcode().row() else { return };
        let control = |width: u32| instruction.token >> 11 & ((1 << width) - 1);
        let value = instruction.values.first().copied();
        let attributes = &mut self.attributes;
        match row.mnemonic {
            "dcl_globalFlags" => {
                shader.is_strict = shader.model.0 >= 5 && control(1) == 0;
                attributes.has_early_depth = instruction.token >> 13 & 1 == 1;
            }
            "dcl_thread_group" => {
                if let [x, y, z] = instruction.values[..] {
                    attributes.threads = Some([x, y, z]);
                }
            }
            "dcl_input_control_point_count" => attributes.input_control_points = Some(control(6)),
            "dcl_output_control_point_count" => attributes.output_control_points = Some(control(6)),
            "dcl_tessellator_domain" => attributes.domain = name(&["", "isoline", "tri", "quad"], control(2)),
            "dcl_tessellator_partitioning" => {
                let names = ["", "integer", "pow2", "fractional_odd", "fractional_even"];
                attributes.partitioning = name(&names, control(3));
            }
            "dcl_tessellator_output_primitive" => {
                let names = ["", "point", "line", "triangle_cw", "triangle_ccw"];
                attributes.output_topology = name(&names, control(3));
            }
            "dcl_hs_max_tessfactor" => attributes.max_tessellation_factor = value,
            "dcl_inputprimitive" => {
                let names = ["", "point", "line", "triangle", "", "", "lineadj", "triangleadj"];
                attributes.input_primitive = name(&names, control(6));
                attributes.input_control_points = patch_points(control(6));
            }
            "dcl_outputtopology" => {
                let names = ["", "PointStream", "", "LineStream", "", "TriangleStream"];
                if let Some(name) = name(&names, control(6)) {
                    attributes.streams.push((*stream, name));
                }
            }
            "dcl_stream" => {
                *stream = instruction.operands.first().map_or(0, |operand| operand.indices[0].number as u32);
            }
            "dcl_maxout" => attributes.max_vertices = value,
            "dcl_gsinstances" => attributes.instances = value,
            "dcl_input_ps" | "dcl_input_ps_sgv" | "dcl_input_ps_siv" => self.interpolation(instruction),
            "dcl_indexableTemp" => self.indexable(instruction, shader),
            "dcl_tgsm_raw" | "dcl_tgsm_structured" => self.shared(program, instruction, shader),
            "customdata" if instruction.custom_data_class() == IMMEDIATE_CONSTANTS => {
                let values: Vec<u64> = instruction.values.iter().map(|value| u64::from(*value)).collect();
                let kind = if values.iter().all(|bits| looks_like_float(*bits)) {
                    Scalar::FLOAT
                } else {
                    Scalar::INT
                };
                let rows = (values.len() / 4) as u32;
                let ty = DataType::Array(Box::new(DataType::Vector(kind, 4)), rows);
                let variable = Variable { name: String::new(), space: VariableSpace::Constant, ty, values };
                self.constants = Some(shader.variables.push(variable));
            }
            _ => {}
        }
    }

    /// Sets the modifier of an input of a pixel shader.
    fn interpolation(&mut self, instruction: &Instruction) {
        const MODIFIERS: [&str; 8] = [
            "",
            "nointerpolation",
            "",
            "centroid",
            "noperspective",
            "noperspective centroid",
            "sample",
            "noperspective sample",
        ];
        let mode = instruction.token >> 11 & 15;
        let Some(operand) = instruction.operands.first() else { return };
        let Components::Mask(mask) = operand.components() else { return };
        let Some(register) = operand.used_indices().last().map(|index| index.number as u32) else { return };
        let value = instruction.values.first().copied();
        // The position is never corrected for perspective, and system values that are constant are so anyway.
        let modifier = match (value, mode) {
            (Some(1), 4) | (Some(_), 1) => "",
            _ => MODIFIERS.get(mode as usize).copied().unwrap_or_default(),
        };
        for component in (0..4).filter(|component| mask >> component & 1 == 1) {
            if let Some(place) = self.inputs.find(register, component, None) {
                self.inputs.list[place.element].interpolation = modifier;
            }
        }
    }

    fn indexable(&mut self, instruction: &Instruction, shader: &mut ShaderProgram) {
        let [number, count, components] = instruction.values[..] else { return };
        let components = components.clamp(1, 4) as u8;
        let element = DataType::vector(Scalar::FLOAT, u16::from(components));
        let ty = DataType::Array(Box::new(element), count.min(MAX_WORDS));
        let variable = Variable { name: String::new(), space: VariableSpace::Thread, ty, values: Vec::new() };
        // Phases of hull shaders each have their own: the largest one serves all.
        if let Some((known, lanes)) = self.arrays.get_mut(&number) {
            *lanes = components.max(*lanes);
            let element = DataType::vector(Scalar::FLOAT, u16::from(*lanes));
            let old = shader.variables[*known].ty.counts().first().copied().unwrap_or(0);
            shader.variables[*known].ty = DataType::Array(Box::new(element), old.max(count.min(MAX_WORDS)));
            return;
        }
        self.arrays.insert(number, (shader.variables.push(variable), components));
    }

    fn shared(&mut self, program: &Program, instruction: &Instruction, shader: &mut ShaderProgram) {
        let Some(operand) = instruction.operands.first() else { return };
        let number = operand.indices[0].number as u32;
        let (form, count) = match instruction.values[..] {
            [bytes] => (SharedForm::Raw, bytes / 4),
            [stride, count] => (form(program, number, stride), count),
            _ => return,
        };
        let word = || DataType::Scalar(Scalar::UINT);
        let element = match form {
            SharedForm::Raw => word(),
            SharedForm::Vector(lanes) => DataType::vector(Scalar::UINT, lanes),
            SharedForm::Words(words) => DataType::Array(Box::new(word()), words.min(MAX_WORDS)),
            SharedForm::Members(words) => {
                let field = |number: u32| StructField {
                    name: String::new(),
                    offset: 4 * number,
                    ty: word(),
                    semantic: None,
                    access: None,
                };
                let fields = (0..words).map(field).collect();
                DataType::Struct(shader.structs.push(StructType {
                    name: String::new(),
                    fields,
                    size: 4 * words,
                }))
            }
        };
        let ty = DataType::Array(Box::new(element), count.min(MAX_WORDS));
        let variable = Variable { name: String::new(), space: VariableSpace::Group, ty, values: Vec::new() };
        self.shared.insert(number, Shared { variable: shader.variables.push(variable), form });
    }
}

/// The class of custom data that holds the immediate constants.
const IMMEDIATE_CONSTANTS: u32 = 3;

fn name(names: &[&'static str], number: u32) -> Option<&'static str> {
    names.get(number as usize).copied().filter(|name| !name.is_empty())
}

/// Returns what the elements of structured shared memory are, by how the program accesses them.
fn form(program: &Program, number: u32, stride: u32) -> SharedForm {
    let words = stride / 4;
    let offsets = program.instructions.iter().filter_map(|instruction| offset(instruction, number));
    let is_indexed = offsets.clone().any(|offset| offset.is_none());
    let is_aligned = offsets.flatten().all(|offset| offset % 4 == 0);
    match words {
        _ if !is_aligned || is_indexed => SharedForm::Words(words),
        1..=4 => SharedForm::Vector(words as u16),
        5..=64 => SharedForm::Members(words),
        _ => SharedForm::Words(words),
    }
}

/// Returns the offset in an element of shared memory that an instruction accesses, if it does: a number if it is
/// constant.
fn offset(instruction: &Instruction, number: u32) -> Option<Option<u32>> {
    let is_shared = |index: usize| {
        instruction.operands.get(index).is_some_and(|operand| {
            operand.kind() == OperandKind::GROUP_SHARED_MEMORY
                && operand.indices[0].number == u64::from(number)
        })
    };
    let row = instruction.opcode().row()?;
    let constant = |index: usize, lane: usize| {
        let operand = instruction.operands.get(index)?;
        operand.values().get(lane).or(operand.values().first()).copied()
    };
    Some(match row.mnemonic {
        "ld_structured" if is_shared(3) => constant(2, 0),
        "store_structured" if is_shared(0) => constant(2, 0),
        // An address of an atomic operation is one operand: index, offset.
        name if name.starts_with("atomic_") && is_shared(0) => constant(1, 1),
        name if name.starts_with("imm_atomic_") && is_shared(1) => constant(2, 1),
        _ => return None,
    })
}

/// Returns the ranges of inputs, outputs and patch constants that a program indexes.
fn ranges(program: &Program) -> (Vec<Range>, Vec<Range>, Vec<Range>) {
    let (mut inputs, mut outputs, mut patch) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_patch = false;
    for instruction in &program.instructions {
        match instruction.opcode() {
            Opcode::HS_FORK_PHASE | Opcode::HS_JOIN_PHASE => is_patch = true,
            Opcode::DCL_INDEX_RANGE => {
                let Some(operand) = instruction.operands.first() else { continue };
                let Components::Mask(mask) = operand.components() else { continue };
                let Some(index) = operand.used_indices().last() else { continue };
                let Some(&count) = instruction.values.first() else { continue };
                let list = match operand.kind() {
                    OperandKind::OUTPUT if is_patch => &mut patch,
                    OperandKind::OUTPUT | OperandKind::OUTPUT_CONTROL_POINT => &mut outputs,
                    OperandKind::PATCH_CONSTANT => &mut patch,
                    _ => &mut inputs,
                };
                list.push((index.number as u32, count, mask));
            }
            _ => {}
        }
    }
    (inputs, outputs, patch)
}

/// Sets the types of variables by what the program stores there.
pub(super) fn type_variables(shader: &mut ShaderProgram) {
    let mut votes: HashMap<VariableId, [u32; 3]> = HashMap::new();
    let mut atomic = HashSet::new();
    for function in shader.functions.iter().map(|function| &function.function) {
        for id in function.values.keys() {
            let (place, value) = match function.op(id) {
                Op::Store(Space::Local | Space::Shared) => (function.input(id, 0), function.input(id, 1)),
                Op::Shader(ShaderOp::AtomicVariable(_) | ShaderOp::CompareExchangeVariable) => {
                    atomic.extend(variable_of(function, function.input(id, 0)));
                    continue;
                }
                _ => continue,
            };
            let Some(variable) = variable_of(function, place) else { continue };
            if let Some(kind) = kind_of(function, value, 0) {
                let votes = votes.entry(variable).or_default();
                votes[match kind {
                    ScalarKind::Float => 0,
                    ScalarKind::Signed => 1,
                    _ => 2,
                }] += 1;
            }
        }
    }
    for (id, [float, signed, unsigned]) in votes {
        let scalar = match () {
            () if atomic.contains(&id) => Scalar::UINT,
            () if float >= signed + unsigned => Scalar::FLOAT,
            () if signed > unsigned => Scalar::INT,
            () => Scalar::UINT,
        };
        set_scalar(&mut shader.variables[id].ty, scalar);
    }
}

/// Sets the scalar of an array of numbers or vectors; structures stay as they are.
fn set_scalar(ty: &mut DataType, scalar: Scalar) {
    let mut ty = ty;
    loop {
        match ty {
            DataType::Array(element, _) => ty = element,
            DataType::Scalar(old) | DataType::Vector(old, _) => {
                *old = scalar;
                return;
            }
            _ => return,
        }
    }
}

/// Returns the variable that a place is in.
fn variable_of(function: &Function, place: ValueId) -> Option<VariableId> {
    let mut place = place;
    loop {
        match function.op(place) {
            Op::Shader(ShaderOp::Variable) => {
                let number = function.number(function.input(place, 0))?;
                return Some(VariableId::from_index(usize::try_from(number).ok()?));
            }
            Op::Shader(ShaderOp::Element | ShaderOp::Field) => place = function.input(place, 0),
            _ => return None,
        }
    }
}

/// Returns the kind of number that a value is, if its operator says so.
fn kind_of(function: &Function, value: ValueId, depth: usize) -> Option<ScalarKind> {
    let op = function.op(value);
    let input = |index: usize| kind_of(function, function.input(value, index), depth + 1);
    match op {
        _ if depth > 8 => None,
        Op::Constant(0) => None,
        Op::Constant(bits) if looks_like_float(bits) => Some(ScalarKind::Float),
        Op::Constant(_) => Some(ScalarKind::Signed),
        Op::Lanes(_) => input(0),
        Op::Vector => (0..function.inputs(value).len()).find_map(input),
        Op::Select => input(1).or_else(|| input(2)),
        Op::Shader(op) => match op.result() {
            Kind::Float => Some(ScalarKind::Float),
            Kind::Signed => Some(ScalarKind::Signed),
            Kind::Unsigned => Some(ScalarKind::Unsigned),
            _ => None,
        },
        op if op.gives_float() => Some(ScalarKind::Float),
        Op::Udiv | Op::Urem | Op::Shr | Op::ZeroExtend => Some(ScalarKind::Unsigned),
        Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Shl | Op::Sar => Some(ScalarKind::Signed),
        _ => None,
    }
}

/// Returns whether bits are likely those of a float: zero, or of a common magnitude.
fn looks_like_float(bits: u64) -> bool {
    let exponent = bits >> 23 & 0xff;
    bits == 0 || bits == 0x8000_0000 || (64..192).contains(&exponent)
}
