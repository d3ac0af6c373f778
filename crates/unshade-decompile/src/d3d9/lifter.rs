//! A function being lifted: its registers, and operands that are read and written.

use super::flow::Construct;
use super::interface::{Interface, is_output};
use crate::dxbc::LiftError;
use std::collections::{BTreeSet, HashMap};
use unshade_dxbc::d3d9::operand::{Operand, RegisterKind};
use unshade_dxbc::d3d9::print::{Options, print_instruction};
use unshade_dxbc::d3d9::{Instruction, Program};
use unshade_dxbc::print::Dialect;
use unshade_ir::build::Builder;
use unshade_ir::shader::vector;
use unshade_ir::{BlockId, End, Function, NO_ADDRESS, Op, ShaderOp, Space, ValueId};

/// Maximum number of instructions, those of subroutines each time that they are called.
const MAX_INSTRUCTIONS: usize = 1 << 18;
/// Maximum number of variables in all blocks.
const MAX_SLOTS: usize = 1 << 25;
/// Maximum number of loops in each other.
pub(super) const MAX_LOOPS: u32 = 16;
/// Maximum number of inputs.
const MAX_INPUTS: u32 = 16;
/// The kind that stands for the counters of loops, which no operand has.
const COUNTER: RegisterKind = RegisterKind(u32::MAX);

/// A function being lifted.
pub(super) struct Lifter<'p> {
    pub(super) program: &'p Program,
    pub(super) interface: &'p Interface,
    pub(super) builder: Builder,
    /// The current block; `None` where no code reaches.
    pub(super) block: Option<BlockId>,
    pub(super) address: u32,
    pub(super) open: Vec<Construct>,
    pub(super) returns: Vec<BlockId>,
    registers: HashMap<(RegisterKind, u32), u32>,
    /// Rows of a product with a matrix that wait for the last one, with the numbers of their registers.
    pub(super) rows: Vec<(u32, ValueId)>,
    /// Outputs that are written where a predicate holds: they are variables until the end.
    late: BTreeSet<(RegisterKind, u32)>,
    undefined: Option<ValueId>,
    numbers: HashMap<u32, ValueId>,
    known: HashMap<(BlockId, ShaderOp, [ValueId; 4]), ValueId>,
    instructions: usize,
}

impl<'p> Lifter<'p> {
    pub(super) fn new(program: &'p Program, interface: &'p Interface) -> Self {
        let mut registers = HashMap::new();
        let late = late_outputs(program);
        for operand in program.instructions.iter().flat_map(|instruction| &instruction.operands) {
            let address = operand.address(program.version);
            for operand in [Some(*operand), address].into_iter().flatten() {
                let is_late = late.contains(&(operand.kind(), operand.number()));
                if is_late || is_register(program, operand.kind()) {
                    let next = 4 * registers.len() as u32;
                    registers.entry((operand.kind(), operand.number())).or_insert(next);
                }
            }
        }
        for depth in 0..MAX_LOOPS {
            let next = 4 * registers.len() as u32;
            registers.insert((COUNTER, depth), next);
        }
        let mut builder = Builder::new(vec![32; 4 * registers.len()]);
        builder.seal(BlockId::ENTRY);
        Self {
            program,
            interface,
            builder,
            block: Some(BlockId::ENTRY),
            address: 0,
            open: Vec::new(),
            returns: Vec::new(),
            registers,
            rows: Vec::new(),
            late,
            undefined: None,
            numbers: HashMap::new(),
            known: HashMap::new(),
            instructions: 0,
        }
    }

    /// Sets the registers that start as inputs: texture coordinates of version 1.
    pub(super) fn begin(&mut self) {
        let keys: Vec<(RegisterKind, u32)> = self.registers.keys().copied().collect();
        for (kind, number) in keys {
            if kind == RegisterKind::ADDRESS && self.program.version.is_pixel() {
                for component in 0..4 {
                    if let Some(value) = self.input(kind, number, component) {
                        self.set(kind, number, component, value);
                    }
                }
            }
        }
    }

    /// Writes the output of a pixel shader of version 1: what its first register holds.
    pub(super) fn finish_outputs(&mut self) {
        let version = self.program.version;
        if version.is_pixel() && version.major() == 1 && self.block.is_some() {
            let scalars: Vec<ValueId> =
                (0..4).map(|component| self.get(RegisterKind::TEMPORARY, 0, component)).collect();
            self.store(RegisterKind::COLOR, 0, &[0, 1, 2, 3], &scalars);
        }
        self.store_late();
        self.end_block(End::Return);
    }

    pub(super) fn finish(self) -> Function {
        crate::dxbc::finish(self.builder)
    }

    pub(super) fn count(&mut self) -> Result<(), LiftError> {
        self.instructions += 1;
        let slots = self.builder.function.blocks.len().saturating_mul(4 * self.registers.len());
        let fits = self.instructions <= MAX_INSTRUCTIONS && slots <= MAX_SLOTS;
        if fits { Ok(()) } else { Err(LiftError::TooLarge) }
    }

    fn at(&self) -> BlockId {
        self.block.unwrap_or(BlockId::ENTRY)
    }

    /// Adds a value. Inputs, handles and constants are made once for a block.
    pub(super) fn add(&mut self, op: Op, width: u8, lanes: u16, inputs: &[ValueId]) -> ValueId {
        let (block, address) = (self.at(), self.address);
        let key = match op {
            Op::Shader(op @ (ShaderOp::LoadInput | ShaderOp::Handle | ShaderOp::LoadConstant)) => {
                let mut key = [ValueId::NONE; 4];
                key[..inputs.len()].copy_from_slice(inputs);
                Some((block, op, key))
            }
            _ => None,
        };
        if let Some(known) = key.and_then(|key| self.known.get(&key)) {
            return *known;
        }
        let value = self.builder.function.add(op, width, block, address, inputs);
        self.builder.function.with_lanes(value, lanes);
        if let Some(key) = key {
            self.known.insert(key, value);
        }
        value
    }

    /// Adds a value that works lane by lane.
    pub(super) fn lanewise(&mut self, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        let lanes = inputs.iter().map(|input| self.builder.function.lanes(*input)).max().unwrap_or(1);
        self.add(op, width, lanes, inputs)
    }

    /// Returns the number that a value is, if it is constant.
    pub(super) fn known(&self, value: ValueId) -> Option<u64> {
        self.builder.function.number(value)
    }

    pub(super) fn number(&mut self, value: u32) -> ValueId {
        let function = &mut self.builder.function;
        *self.numbers.entry(value).or_insert_with(|| function.constant(u64::from(value), 32))
    }

    pub(super) fn float(&mut self, value: f32) -> ValueId {
        self.number(value.to_bits())
    }

    pub(super) fn undefined(&mut self) -> ValueId {
        *self.undefined.get_or_insert_with(|| {
            self.builder.function.raw(Op::Undefined, 32, BlockId::ENTRY, NO_ADDRESS, &[])
        })
    }

    pub(super) fn lane(&mut self, value: ValueId, index: u8) -> ValueId {
        let (block, address) = (self.at(), self.address);
        vector::lane(&mut self.builder.function, block, address, value, index)
    }

    pub(super) fn gather(&mut self, scalars: &[ValueId]) -> ValueId {
        if scalars.is_empty() {
            return self.undefined();
        }
        let (block, address) = (self.at(), self.address);
        vector::gather(&mut self.builder.function, block, address, scalars)
    }

    pub(super) fn broadcast(&mut self, value: ValueId, lanes: usize) -> ValueId {
        let (block, address) = (self.at(), self.address);
        vector::broadcast(&mut self.builder.function, block, address, value, lanes as u16)
    }

    /// Reads a component of a register that is a variable.
    pub(super) fn get(&mut self, kind: RegisterKind, number: u32, component: u8) -> ValueId {
        match (self.registers.get(&(kind, number)), self.block) {
            (Some(variable), Some(block)) => self.builder.read(block, variable + u32::from(component & 3)),
            _ => self.undefined(),
        }
    }

    /// Writes a component of a register that is a variable.
    pub(super) fn set(&mut self, kind: RegisterKind, number: u32, component: u8, value: ValueId) {
        if let (Some(variable), Some(block)) = (self.registers.get(&(kind, number)), self.block) {
            self.builder.write(block, variable + u32::from(component & 3), value);
        }
    }

    pub(super) fn counter(&mut self, depth: u32) -> ValueId {
        self.get(COUNTER, depth, 0)
    }

    pub(super) fn set_counter(&mut self, depth: u32, value: ValueId) {
        self.set(COUNTER, depth, 0, value);
    }

    fn input(&mut self, kind: RegisterKind, number: u32, component: u8) -> Option<ValueId> {
        let (element, column) = self.interface.place(kind, number, component)?;
        let [element, row, column] = [element as u32, 0, u32::from(column)].map(|part| self.number(part));
        let vertex = self.undefined();
        Some(self.add(Op::Shader(ShaderOp::LoadInput), 32, 1, &[element, row, column, vertex]))
    }

    /// Reads a row of constants.
    fn constant_row(&mut self, operand: &Operand, offset: u32) -> Option<Vec<ValueId>> {
        let kind = if operand.constant().is_some() { RegisterKind::CONSTANT } else { operand.kind() };
        let number = operand.constant().unwrap_or(operand.number()).saturating_add(offset);
        let address = operand.address(self.program.version);
        if address.is_none()
            && let Some(values) = self.interface.defined.get(&(kind, number))
        {
            return Some(values.iter().map(|value| self.number(*value)).collect());
        }
        if let (Some(address), true) = (address, self.interface.defined.contains_key(&(kind, number))) {
            return self.defined_row(number, &address);
        }
        let resource = *self.interface.buffers.get(&kind)?;
        let (resource, none) = (self.number(resource.number()), self.undefined());
        let handle = self.add(Op::Shader(ShaderOp::Handle), 32, 1, &[resource, none]);
        let mut row = self.number(number);
        if let Some(address) = address {
            row = self.index(&address, number);
        }
        let vector = self.add(Op::Shader(ShaderOp::LoadConstant), 32, 4, &[handle, row]);
        Some((0..4).map(|component| self.lane(vector, component)).collect())
    }

    /// Reads a register of constants.
    pub(super) fn row(&mut self, kind: RegisterKind, number: u32) -> Option<ValueId> {
        let resource = *self.interface.buffers.get(&kind)?;
        let (resource, none) = (self.number(resource.number()), self.undefined());
        let handle = self.add(Op::Shader(ShaderOp::Handle), 32, 1, &[resource, none]);
        let row = self.number(number);
        Some(self.add(Op::Shader(ShaderOp::LoadConstant), 32, 4, &[handle, row]))
    }

    /// Returns an address plus a number.
    fn index(&mut self, address: &Operand, number: u32) -> ValueId {
        let base = self.get(address.kind(), address.number(), address.swizzle()[0]);
        let number = self.number(number);
        if self.builder.function.number(number) == Some(0) {
            return base;
        }
        self.add(Op::Add, 32, 1, &[base, number])
    }

    /// Reads a row of the constants that the program defines, by an address.
    fn defined_row(&mut self, number: u32, address: &Operand) -> Option<Vec<ValueId>> {
        let (first, variable) = self.interface.arrays.range(..=number).next_back()?;
        let (first, variable) = (*first, self.number(variable.number()));
        let array = self.add(Op::Shader(ShaderOp::Variable), 32, 1, &[variable]);
        let index = self.index(address, number - first);
        let place = self.add(Op::Shader(ShaderOp::Element), 32, 1, &[array, index]);
        let row = self.add(Op::Load(Space::Constant(0)), 32, 4, &[place]);
        Some((0..4).map(|component| self.lane(row, component)).collect())
    }

    /// Reads components at positions, with the modifier of the operand.
    pub(super) fn read(&mut self, operand: &Operand, positions: &[u8]) -> ValueId {
        self.read_at(operand, positions, 0)
    }

    /// Reads components of the register so many numbers after that of an operand: a row of a matrix.
    pub(super) fn read_at(&mut self, operand: &Operand, positions: &[u8], offset: u32) -> ValueId {
        let swizzle = operand.swizzle();
        let components: Vec<u8> =
            positions.iter().map(|position| swizzle[usize::from(*position & 3)]).collect();
        let scalars = self.scalars(operand, &components, offset);
        let value = self.gather(&scalars);
        self.modified(operand, value, offset)
    }

    fn scalars(&mut self, operand: &Operand, components: &[u8], offset: u32) -> Vec<ValueId> {
        let kind = operand.kind();
        let number = operand.number().saturating_add(offset);
        if operand.constant().is_some() || matches!(kind, RegisterKind::INTEGER | RegisterKind::BOOL) {
            if let Some(row) = self.constant_row(operand, offset) {
                return components.iter().map(|component| row[usize::from(component & 3)]).collect();
            }
        } else if self.registers.contains_key(&(kind, number)) {
            return components.iter().map(|component| self.get(kind, number, *component)).collect();
        } else if let Some(address) = operand.address(self.program.version) {
            if let Some(inputs) = self.inputs_by_address(kind, number, &address, components) {
                return inputs;
            }
        } else {
            let inputs: Option<Vec<ValueId>> =
                components.iter().map(|component| self.input(kind, number, *component)).collect();
            if let Some(inputs) = inputs {
                return inputs;
            }
        }
        let mut name = String::new();
        operand.write_register(self.program.version, &mut name);
        let note = format!("operand {name}: it is not declared, or cannot be read");
        let note = self.builder.function.notes.push(note);
        vec![self.add(Op::Unlifted(note), 32, 1, &[]); components.len()]
    }

    /// Reads components of the input that an address says: HLSL can choose between inputs only one by one.
    fn inputs_by_address(
        &mut self,
        kind: RegisterKind,
        number: u32,
        address: &Operand,
        components: &[u8],
    ) -> Option<Vec<ValueId>> {
        if kind != RegisterKind::INPUT {
            return None;
        }
        let index = self.index(address, number);
        let mut found: Option<Vec<ValueId>> = None;
        for number in 0..MAX_INPUTS {
            let mut values = Vec::new();
            for component in components {
                let value = self.input(kind, number, *component);
                values.push(value.unwrap_or_else(|| self.float(0.0)));
            }
            if self.interface.place(kind, number, 0).is_none() {
                continue;
            }
            found = Some(match found {
                None => values,
                Some(others) => {
                    let this = self.number(number);
                    let is_this = self.add(Op::Equal, 1, 1, &[index, this]);
                    let pairs = values.into_iter().zip(others);
                    pairs.map(|(one, other)| self.add(Op::Select, 32, 1, &[is_this, one, other])).collect()
                }
            });
        }
        found
    }

    /// Applies the modifier of an operand.
    fn modified(&mut self, operand: &Operand, value: ValueId, offset: u32) -> ValueId {
        let [half, one, two] = [0.5, 1.0, 2.0].map(|value| self.float(value));
        let modifier = operand.source_modifier();
        let mut value = match modifier {
            2 | 3 => self.lanewise(Op::FloatSub, 32, &[value, half]),
            4 | 5 => {
                let double = self.lanewise(Op::FloatMul, 32, &[value, two]);
                self.lanewise(Op::FloatSub, 32, &[double, one])
            }
            6 => self.lanewise(Op::FloatSub, 32, &[one, value]),
            7 | 8 => self.lanewise(Op::FloatMul, 32, &[value, two]),
            9 | 10 => {
                let divisor = self.scalars(operand, &[modifier as u8 - 7], offset)[0];
                self.lanewise(Op::FloatDiv, 32, &[value, divisor])
            }
            11 | 12 => self.lanewise(Op::FloatAbs, 32, &[value]),
            _ => value,
        };
        if matches!(modifier, 1 | 3 | 5 | 8 | 12) {
            value = self.lanewise(Op::FloatNegate, 32, &[value]);
        }
        value
    }

    /// Writes a result: shifted, saturated, and only where the predicate of the instruction holds.
    pub(super) fn write(&mut self, instruction: &Instruction, value: ValueId) -> Option<()> {
        let target = instruction.operands.first()?;
        let components = components(target);
        let mut value = value;
        if target.shift() != 0 {
            let shift = (target.shift() as i32) << 28 >> 28;
            let factor = self.float(2_f32.powi(shift));
            value = self.lanewise(Op::FloatMul, 32, &[value, factor]);
        }
        if target.result_modifiers() & 1 != 0 {
            value = self.lanewise(Op::Shader(ShaderOp::Saturate), 32, &[value]);
        }
        let (kind, number) = (target.kind(), target.number());
        if let Some(index) = instruction.predicate_index(self.program.version) {
            let condition = self.predicate(instruction.operands.get(index)?, &components);
            let old: Vec<ValueId> =
                components.iter().map(|component| self.get(kind, number, *component)).collect();
            let old = self.gather(&old);
            value = self.lanewise(Op::Select, 32, &[condition, value, old]);
        }
        let scalars: Vec<ValueId> = (0..components.len()).map(|lane| self.lane(value, lane as u8)).collect();
        if is_output(kind) && !self.late.contains(&(kind, number)) {
            return self.store(kind, number, &components, &scalars);
        }
        if !self.registers.contains_key(&(kind, number)) {
            return None;
        }
        for (component, scalar) in components.iter().zip(scalars) {
            self.set(kind, number, *component, scalar);
        }
        Some(())
    }

    /// Writes the outputs that were variables.
    pub(super) fn store_late(&mut self) {
        if self.block.is_none() {
            return;
        }
        for (kind, number) in self.late.clone() {
            let mask = self.interface.written_mask(kind, number);
            let components: Vec<u8> = (0..4).filter(|component| mask >> component & 1 == 1).collect();
            let scalars: Vec<ValueId> =
                components.iter().map(|component| self.get(kind, number, *component)).collect();
            self.store(kind, number, &components, &scalars);
        }
    }

    /// Writes components of an output.
    pub(super) fn store(
        &mut self,
        kind: RegisterKind,
        number: u32,
        components: &[u8],
        scalars: &[ValueId],
    ) -> Option<()> {
        let mut runs: Vec<(usize, u8, Vec<ValueId>)> = Vec::new();
        for (component, scalar) in components.iter().zip(scalars) {
            // Fixed registers with one component, such as the fog, may be written as if they had more.
            let Some((element, column)) = self.interface.place(kind, number, *component) else { continue };
            match runs.last_mut() {
                Some(run) if run.0 == element && run.1 + run.2.len() as u8 == column => run.2.push(*scalar),
                _ => runs.push((element, column, vec![*scalar])),
            }
        }
        if runs.is_empty() {
            return None;
        }
        for (element, column, values) in runs {
            let value = self.gather(&values);
            let value = self.broadcast(value, values.len());
            let [element, row, column] = [element as u32, 0, u32::from(column)].map(|part| self.number(part));
            self.add(Op::Shader(ShaderOp::StoreOutput), 0, 1, &[element, row, column, value]);
        }
        Some(())
    }

    /// Returns whether a predicate holds, for each component.
    pub(super) fn predicate(&mut self, operand: &Operand, positions: &[u8]) -> ValueId {
        let swizzle = operand.swizzle();
        let components: Vec<u8> =
            positions.iter().map(|position| swizzle[usize::from(*position & 3)]).collect();
        let scalars = self.scalars(operand, &components, 0);
        let value = self.gather(&scalars);
        let zero = self.number(0);
        let condition = self.lanewise(Op::NotEqual, 1, &[value, zero]);
        match operand.source_modifier() {
            13 => self.lanewise(Op::BoolNot, 1, &[condition]),
            _ => condition,
        }
    }

    /// Reports an instruction that has no meaning here.
    pub(super) fn unlifted(&mut self, instruction: &Instruction) {
        if self.block.is_none() {
            return;
        }
        let mut text = String::new();
        let options = Options { dialect: Dialect::Fxc, constants: None, debug: None, offset: 0 };
        print_instruction(self.program.version, instruction, options, &mut text);
        let note = self.builder.function.notes.push(text.trim().to_owned());
        let value = self.add(Op::Unlifted(note), 32, 1, &[]);
        if instruction.has_destination(self.program.version)
            && let Some(target) = instruction.operands.first()
        {
            for component in components(target) {
                self.set(target.kind(), target.number(), component, value);
            }
        }
    }
}

/// Returns the outputs that a program writes where a predicate holds.
fn late_outputs(program: &Program) -> BTreeSet<(RegisterKind, u32)> {
    let predicated = program.instructions.iter().filter(|instruction| instruction.is_predicated());
    predicated
        .filter(|instruction| instruction.has_destination(program.version))
        .filter_map(|instruction| instruction.operands.first())
        .filter(|target| is_output(target.kind()))
        .map(|target| (target.kind(), target.number()))
        .collect()
}

/// Returns whether registers of a kind are variables.
fn is_register(program: &Program, kind: RegisterKind) -> bool {
    match kind {
        RegisterKind::TEMPORARY | RegisterKind::LOOP | RegisterKind::PREDICATE => true,
        // Coordinates of version 1 are overwritten by what is sampled there.
        RegisterKind::ADDRESS => !program.version.is_pixel() || program.version.major() == 1,
        _ => false,
    }
}

/// Returns the components that a destination names.
pub(super) fn components(operand: &Operand) -> Vec<u8> {
    let mask = operand.mask();
    (0..4).filter(|component| mask >> component & 1 == 1).collect()
}
