//! A function that is being lifted: its values, what is known of them, and its current block.

use super::LiftError;
use super::declarations::Interface;
use super::flow::Construct;
use super::signature::Elements;
use std::collections::HashMap;
use std::ops::Range;
use unshade_dxbc::operand::{Operand, OperandKind};
use unshade_dxbc::print::{Dialect, Options, print_instruction};
use unshade_dxbc::{Instruction, Program};
use unshade_ir::build::Builder;
use unshade_ir::fold::fold;
use unshade_ir::shader::interface::{Resource, Stage};
use unshade_ir::shader::vector;
use unshade_ir::{BlockId, End, Function, IdVec, NO_ADDRESS, Op, ResourceId, ShaderOp, ValueId};

/// Maximum number of variables in all blocks: the memory that a function may need.
const MAX_SLOTS: usize = 1 << 25;

/// Maximum number of instructions, those of subroutines and of instances of phases each time that they run.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// What part of a program is being lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A program without phases, or the phase of a hull shader for control points.
    Main,
    /// A phase for the patch, and the number of its instance.
    Patch(u32),
}

/// A value that is the same wherever it is computed, in a block or in the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Cached {
    Constant(u64, u8),
    Undefined(u8),
    /// An operation of constants.
    Shader(ShaderOp, [u64; 4], usize),
    /// A handle of a resource with a constant index.
    Handle(ResourceId, Option<u64>),
    /// Rows of a constant buffer.
    Row(ValueId, u64),
    /// A lane, in a block.
    Lane(BlockId, ValueId, u8),
    /// An operation of values, in a block.
    InBlock(BlockId, ShaderOp, [ValueId; 4]),
    /// A vector of scalars, in a block.
    Vector(BlockId, [ValueId; 4]),
}

/// A function being lifted.
pub(super) struct Lifter<'p> {
    pub(super) program: &'p Program,
    pub(super) interface: &'p Interface,
    pub(super) resources: &'p IdVec<ResourceId, Resource>,
    pub(super) stage: Stage,
    pub(super) builder: Builder,
    /// The current block; `None` where no code reaches.
    pub(super) block: Option<BlockId>,
    /// The offset of the current instruction in bytes.
    pub(super) address: u32,
    pub(super) phase: Phase,
    /// The constructs that are open.
    pub(super) open: Vec<Construct>,
    /// Where subroutines and phases return to.
    pub(super) returns: Vec<BlockId>,
    /// The stream of the next vertex that is emitted: outputs are written for that.
    pub(super) stream: Option<u32>,
    /// That of each instruction, for geometry shaders.
    pub(super) streams: Vec<Option<u32>>,
    /// The instructions of subroutines, by label.
    pub(super) subroutines: HashMap<u64, Range<usize>>,
    /// The block of the case that the last instruction started.
    pub(super) fresh_case: Option<BlockId>,
    /// The variable of each component of a temporary register that is used.
    registers: HashMap<u64, u32>,
    cache: HashMap<Cached, ValueId>,
    instructions: usize,
}

/// Returns a function of token programs whose instructions have been lifted. What a register holds at a join is known only
/// now, so operators are folded again.
pub(crate) fn finish(mut builder: Builder) -> Function {
    for block in builder.function.blocks.keys() {
        builder.seal(block);
    }
    let mut function = builder.finish();
    // Constructs of hostile programs may never end.
    for block in function.blocks.iter_mut().filter(|block| block.end == End::Open) {
        block.end = End::Return;
    }
    vector::refold(&mut function);
    super::boolean::refold(&mut function);
    vector::refold(&mut function);
    function
}

impl<'p> Lifter<'p> {
    /// Starts a function that uses the registers of these instructions.
    pub(super) fn new(
        program: &'p Program,
        instructions: &[Instruction],
        interface: &'p Interface,
        resources: &'p IdVec<ResourceId, Resource>,
        stage: Stage,
    ) -> Self {
        let mut registers = HashMap::new();
        for operand in instructions.iter().flat_map(|instruction| &instruction.operands) {
            collect_registers(operand, &mut registers);
        }
        let mut builder = Builder::new(vec![32; registers.len()]);
        builder.seal(BlockId::ENTRY);
        Self {
            program,
            interface,
            resources,
            stage,
            builder,
            block: Some(BlockId::ENTRY),
            address: 0,
            phase: Phase::Main,
            open: Vec::new(),
            returns: Vec::new(),
            stream: None,
            streams: if stage == Stage::Geometry { super::flow::streams(program) } else { Vec::new() },
            subroutines: super::flow::subroutines(program),
            fresh_case: None,
            registers,
            cache: HashMap::new(),
            instructions: 0,
        }
    }

    /// Returns the function.
    pub(super) fn finish(self) -> Function {
        finish(self.builder)
    }

    /// Counts an instruction, and fails if there are too many, or too much memory is needed.
    pub(super) fn count(&mut self) -> Result<(), LiftError> {
        self.instructions += 1;
        let slots = self.builder.function.blocks.len().saturating_mul(self.registers.len());
        let fits = self.instructions <= MAX_INSTRUCTIONS && slots <= MAX_SLOTS;
        if fits { Ok(()) } else { Err(LiftError::TooLarge) }
    }

    pub(super) fn function(&mut self) -> &mut Function {
        &mut self.builder.function
    }

    /// Returns the current block, or the entry where no code reaches: nothing that is added there is used.
    pub(super) fn at(&self) -> BlockId {
        self.block.unwrap_or(BlockId::ENTRY)
    }

    /// Returns the elements that inputs are read from.
    pub(super) fn outputs(&self) -> &'p Elements {
        match self.phase {
            Phase::Main => &self.interface.outputs,
            Phase::Patch(_) => &self.interface.patch,
        }
    }

    /// Returns the variable of a component of a temporary register.
    pub(super) fn register(&self, register: u64, component: u8) -> Option<u32> {
        self.registers.get(&(register << 2 | u64::from(component))).copied()
    }

    /// Adds a value of so many bits and lanes. Inputs, handles and places are made once for a block.
    pub(super) fn add(&mut self, op: Op, width: u8, lanes: u16, inputs: &[ValueId]) -> ValueId {
        let (block, address) = (self.at(), self.address);
        let make = |function: &mut Function| {
            let value = function.add(op, width, block, address, inputs);
            function.with_lanes(value, lanes)
        };
        match op {
            Op::Shader(
                shader @ (ShaderOp::LoadInput
                | ShaderOp::LoadConstant
                | ShaderOp::Handle
                | ShaderOp::NonUniform
                | ShaderOp::Element
                | ShaderOp::Field),
            ) if inputs.len() <= 4 => {
                let mut key = [ValueId::NONE; 4];
                key[..inputs.len()].copy_from_slice(inputs);
                self.cached(Cached::InBlock(block, shader, key), make)
            }
            _ => make(&mut self.builder.function),
        }
    }

    /// Adds a value that works lane by lane: it has as many lanes as the input with the most.
    pub(super) fn lanewise(&mut self, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        if let Some(number) = self.folded_constant(op, width, inputs) {
            return self.constant(number, width);
        }
        let lanes = inputs.iter().map(|input| self.builder.function.lanes(*input)).max().unwrap_or(1);
        self.add(op, width, lanes, inputs)
    }

    /// Returns the result of an operator of constant integers: instances of phases compute with their numbers.
    fn folded_constant(&self, op: Op, width: u8, inputs: &[ValueId]) -> Option<u64> {
        let function = &self.builder.function;
        let numbers: Option<Vec<u64>> = inputs.iter().map(|input| function.number(*input)).collect();
        let numbers = numbers?;
        // The machine shifts by the lowest five bits.
        let is_shift = matches!(op, Op::Shl | Op::Shr | Op::Sar);
        if is_shift && numbers.get(1).is_none_or(|count| *count > 31) {
            return None;
        }
        fold(op, &numbers, function.width(*inputs.first()?), width)
    }

    /// Adds an operation with a result of 32 bits.
    pub(super) fn shader(&mut self, op: ShaderOp, lanes: u16, inputs: &[ValueId]) -> ValueId {
        self.add(Op::Shader(op), 32, lanes, inputs)
    }

    /// Adds an operation without a result.
    pub(super) fn effect(&mut self, op: ShaderOp, inputs: &[ValueId]) {
        if self.block.is_some() {
            self.add(Op::Shader(op), 0, 1, inputs);
        }
    }

    pub(super) fn constant(&mut self, value: u64, width: u8) -> ValueId {
        self.cached(Cached::Constant(value, width), |function| function.constant(value, width))
    }

    /// Returns a constant of 32 bits.
    pub(super) fn number(&mut self, value: u32) -> ValueId {
        self.constant(u64::from(value), 32)
    }

    /// Returns the value of an input that is not given.
    pub(super) fn undefined(&mut self) -> ValueId {
        self.cached(Cached::Undefined(32), |function| {
            function.raw(Op::Undefined, 32, BlockId::ENTRY, NO_ADDRESS, &[])
        })
    }

    /// Returns a scalar operation of constants that has no effect, once for the function.
    pub(super) fn once(&mut self, op: ShaderOp, inputs: &[u32]) -> ValueId {
        let mut key = [0; 4];
        for (slot, input) in key.iter_mut().zip(inputs) {
            *slot = u64::from(*input);
        }
        let constants: Vec<ValueId> = inputs.iter().map(|input| self.number(*input)).collect();
        let missing = op.input_count().saturating_sub(constants.len());
        let none = self.undefined();
        let all: Vec<ValueId> = constants.into_iter().chain(std::iter::repeat_n(none, missing)).collect();
        let address = self.address;
        self.cached(Cached::Shader(op, key, inputs.len()), |function| {
            function.raw(Op::Shader(op), 32, BlockId::ENTRY, address, &all)
        })
    }

    /// Returns the handle of a resource; `index` is its place in an array of resources.
    pub(super) fn handle(&mut self, resource: ResourceId, index: Option<ValueId>) -> ValueId {
        let number = self.number(resource.number());
        let constant = match index {
            None => Some(None),
            Some(index) => self.builder.function.number(index).map(Some),
        };
        let index = index.unwrap_or_else(|| self.undefined());
        let inputs = [number, index];
        match constant {
            Some(constant) => {
                let address = self.address;
                self.cached(Cached::Handle(resource, constant), |function| {
                    function.raw(Op::Shader(ShaderOp::Handle), 32, BlockId::ENTRY, address, &inputs)
                })
            }
            None => self.shader(ShaderOp::Handle, 1, &inputs),
        }
    }

    /// Returns a row of a constant buffer.
    pub(super) fn row(&mut self, handle: ValueId, row: ValueId) -> ValueId {
        let inputs = [handle, row];
        let is_entry = self.builder.function.values[handle].block == BlockId::ENTRY;
        let Some(number) = self.builder.function.number(row).filter(|_| is_entry) else {
            return self.shader(ShaderOp::LoadConstant, 4, &inputs);
        };
        let address = self.address;
        self.cached(Cached::Row(handle, number), |function| {
            let op = Op::Shader(ShaderOp::LoadConstant);
            let value = function.raw(op, 32, BlockId::ENTRY, address, &inputs);
            function.with_lanes(value, 4)
        })
    }

    fn cached(&mut self, key: Cached, make: impl FnOnce(&mut Function) -> ValueId) -> ValueId {
        if let Some(value) = self.cache.get(&key) {
            return *value;
        }
        let value = make(&mut self.builder.function);
        self.cache.insert(key, value);
        value
    }

    /// Returns a lane of a value.
    pub(super) fn lane(&mut self, value: ValueId, index: u8) -> ValueId {
        let (block, address) = (self.at(), self.address);
        let key = Cached::Lane(block, value, index);
        self.cached(key, |function| vector::lane(function, block, address, value, index))
    }

    /// Returns the lanes of a value, so many of them.
    pub(super) fn lanes(&mut self, value: ValueId, count: usize) -> Vec<ValueId> {
        (0..count).map(|index| self.lane(value, index as u8)).collect()
    }

    pub(super) fn gather(&mut self, scalars: &[ValueId]) -> ValueId {
        let (block, address) = (self.at(), self.address);
        if scalars.is_empty() {
            return self.undefined();
        }
        let mut key = [ValueId::NONE; 4];
        if scalars.len() < 2 || scalars.len() > key.len() {
            return vector::gather(&mut self.builder.function, block, address, scalars);
        }
        key[..scalars.len()].copy_from_slice(scalars);
        self.cached(Cached::Vector(block, key), |function| vector::gather(function, block, address, scalars))
    }

    /// Returns a vector with the lanes of scalars, also if they are all the same.
    pub(super) fn gather_all(&mut self, scalars: &[ValueId]) -> ValueId {
        let value = self.gather(scalars);
        self.broadcast(value, scalars.len())
    }

    pub(super) fn broadcast(&mut self, value: ValueId, lanes: usize) -> ValueId {
        let (block, address) = (self.at(), self.address);
        vector::broadcast(&mut self.builder.function, block, address, value, lanes as u16)
    }

    /// Reports an instruction that has no meaning here; what it writes is the result of the report.
    pub(super) fn unlifted(&mut self, instruction: &Instruction, reason: &str) {
        if self.block.is_none() {
            return;
        }
        let mut text = String::new();
        let options = Options { dialect: Dialect::Fxc, ..Options::default() };
        print_instruction(self.program.version, instruction, options, &mut text);
        let text = text.trim();
        let note = if reason.is_empty() { text.to_owned() } else { format!("{text}: {reason}") };
        let note = self.function().notes.push(note);
        let value = self.add(Op::Unlifted(note), 32, 1, &[]);
        let letters = instruction.opcode().row().into_iter().flat_map(|row| row.operand_letters());
        for (operand, _) in instruction.operands.iter().zip(letters).filter(|(_, letter)| *letter == b'd') {
            if operand.kind() == OperandKind::TEMP {
                self.write(operand, value);
            }
        }
    }
}

/// Numbers the components of the temporary registers that an operand uses, those in its indices too.
fn collect_registers(operand: &Operand, registers: &mut HashMap<u64, u32>) {
    if operand.kind() == OperandKind::TEMP {
        let register = operand.indices[0].number;
        for component in super::sources::used_components(operand) {
            let next = registers.len() as u32;
            registers.entry(register << 2 | u64::from(component)).or_insert(next);
        }
    }
    for relative in operand.indices.iter().filter_map(|index| index.relative.as_deref()) {
        collect_registers(relative, registers);
    }
}
