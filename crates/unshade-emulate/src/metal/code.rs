//! Functions prepared for running: steps in order, with the slots and kinds of what they read and write.
//!
//! | value | slots |
//! |---|---|
//! | number, pointer | one |
//! | vector | one for each lane |
//! | structure, array | its bytes in memory, eight in each |
//!
//! The order of steps is that of `order`. Blocks have positions, loops before what follows them: lanes that
//! wait for each other at different steps go on in this order.

use super::fault::Reason;
use super::kind::Kind;
use super::library::{self, Formula};
use crate::order;
use unshade_ir::dominators::Graph;
use unshade_ir::fold::masked;
use unshade_ir::metal::interface::{MetalFunction, MetalProgram};
use unshade_ir::metal::types::{TypeTable, ValueType};
use unshade_ir::metal::{Class, MetalOp};
use unshade_ir::{BlockId, End, Function, IdVec, Lanes, NO_ADDRESS, Op, ShaderOp, TypeId, ValueId, ValueMap};

/// The slot of a value that nothing reads.
const NO_SLOT: u32 = u32::MAX;

/// The most bytes of a structure or array as a value.
const MAX_AGGREGATE: u64 = 1 << 20;

/// The shape of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A number or a vector.
    Lanes(Kind, u16),
    /// Bytes of a structure or array.
    Bytes(u32),
}

impl Shape {
    fn slots(self) -> u32 {
        match self {
            Self::Lanes(_, lanes) => u32::from(lanes),
            Self::Bytes(size) => size.div_ceil(8),
        }
    }

    /// Returns the kind of its lanes; that of bytes for structures and arrays.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Lanes(kind, _) => kind,
            Self::Bytes(_) => Kind::Integer(8),
        }
    }

    pub(super) fn lanes(self) -> usize {
        match self {
            Self::Lanes(_, lanes) => usize::from(lanes),
            Self::Bytes(_) => 1,
        }
    }
}

/// A value that a step reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    /// Its first slot.
    pub(super) slot: u32,
    pub(super) shape: Shape,
}

impl Operand {
    /// Returns the slot of a lane. A scalar counts for all lanes.
    #[inline]
    pub(super) fn lane(&self, lane: usize) -> usize {
        match self.shape {
            Shape::Lanes(_, lanes) => self.slot as usize + lane.min(usize::from(lanes).saturating_sub(1)),
            Shape::Bytes(_) => self.slot as usize,
        }
    }

    /// Returns its slots.
    pub(super) fn slots(&self) -> std::ops::Range<usize> {
        self.slot as usize..(self.slot + self.shape.slots()) as usize
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// An operator on the numbers of each lane.
    Operate(Op),
    /// A function on the numbers of each lane.
    Apply(Formula, Class),
    /// An operation of the library that is none of numbers.
    Library(MetalOp),
    Argument(usize),
    /// The address of a variable of the function.
    Local(usize),
    Join,
    Pick(Lanes),
    Select,
    ExtractLane,
    InsertLane,
    /// A pointer and so many bytes of it for each unit of a signed index.
    Move(u64),
    /// A pointer and a number of bytes.
    Advance(u64),
    Reinterpret,
    /// A structure or array of parts at these offsets.
    Aggregate(Vec<u32>),
    /// The first input with the second at this offset.
    Replace(u32),
    /// A part at this offset.
    Part(u32),
    Load,
    Store,
    /// Calls a function of the program.
    Call(usize),
    Return,
    /// A step that ends in a fault.
    Fail(Reason),
}

/// A step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) action: Action,
    /// Its result; none has the slot `NO_SLOT`.
    pub(super) out: Operand,
    inputs: (u32, u32),
    /// The number of the instruction.
    pub(super) address: u32,
}

/// The end of a block.
#[derive(Clone, Debug)]
pub(super) enum Exit {
    Goto(u32),
    Branch {
        condition: Operand,
        yes: u32,
        no: u32,
    },
    Switch {
        selector: Operand,
        cases: Vec<(u64, u32)>,
        otherwise: Option<u32>,
    },
    Return,
    /// The end of no known block: an instruction that is never reached.
    Unreachable,
}

/// A block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) steps: Vec<Step>,
    pub(super) exit: Exit,
    /// Phis with their inputs, by predecessor.
    pub(super) edges: Vec<(u32, Vec<(Operand, Operand)>)>,
    /// Its place in the order of blocks.
    pub(super) position: u32,
}

/// A function prepared for running.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) name: String,
    pub(super) blocks: Vec<Block>,
    operands: Vec<Operand>,
    /// The values of slots at the start.
    pub(super) template: Vec<u64>,
    /// The bytes of each variable.
    pub(super) locals: Vec<u32>,
    /// The shape of the result; none for no result.
    pub(super) result: Option<Shape>,
    pub(super) parameters: Vec<Option<Shape>>,
}

impl Code {
    /// Prepares a function with at most so many slots. `address` returns the address of a variable of the program.
    pub(super) fn new(
        program: &MetalProgram,
        info: &MetalFunction,
        address: &dyn Fn(usize) -> Option<u64>,
        room: usize,
    ) -> Result<Self, Reason> {
        let function = &info.function;
        let types = &program.types;
        let mut builder = Builder {
            program,
            function,
            types,
            slots: IdVec::filled(NO_SLOT, function.values.len()),
            shapes: IdVec::filled(Shape::Lanes(Kind::Bool, 0), function.values.len()),
            operands: Vec::new(),
            template: Vec::new(),
            room,
        };
        let used = function.used();
        builder.place(&used, address)?;
        let order = order::steps(function, &used).ok_or(Reason::Unsound)?;
        let graph = Graph::new(function);
        let mut blocks = Vec::new();
        for (id, steps) in order.entries() {
            blocks.push(builder.block(id, steps, &used, graph.position[id]));
        }
        let mut locals = Vec::new();
        for local in &info.locals {
            locals.push(u32::try_from(types.size(local.ty)).map_err(|_| Reason::Memory)?);
        }
        Ok(Self {
            name: info.name.clone(),
            blocks,
            operands: builder.operands,
            template: builder.template,
            locals,
            result: shape(types, info.result).ok().flatten(),
            parameters: info
                .parameters
                .iter()
                .map(|parameter| shape(types, parameter.ty).ok().flatten())
                .collect(),
        })
    }

    /// Returns the code of a function that is a fault when it is called.
    pub(super) fn failing(info: &MetalFunction, reason: Reason) -> Self {
        let out = Operand { slot: NO_SLOT, shape: Shape::Lanes(Kind::Bool, 0) };
        let step = Step { action: Action::Fail(reason), out, inputs: (0, 0), address: NO_ADDRESS };
        let block = Block { steps: vec![step], exit: Exit::Unreachable, edges: Vec::new(), position: 0 };
        Self {
            name: info.name.clone(),
            blocks: vec![block],
            operands: Vec::new(),
            template: Vec::new(),
            locals: Vec::new(),
            result: None,
            parameters: Vec::new(),
        }
    }

    /// Returns the inputs of a step.
    #[inline]
    pub(super) fn inputs(&self, step: &Step) -> &[Operand] {
        let (start, count) = step.inputs;
        self.operands.get(start as usize..(start + count) as usize).unwrap_or_default()
    }

    /// Returns an input of a step; one of no lanes if there is none.
    #[inline]
    pub(super) fn input(&self, step: &Step, index: usize) -> Operand {
        self.inputs(step)
            .get(index)
            .copied()
            .unwrap_or(Operand { slot: 0, shape: Shape::Lanes(Kind::Bool, 1) })
    }
}

/// Returns the shape of values of a type; `None` for no value.
pub(super) fn shape(types: &TypeTable, ty: TypeId) -> Result<Option<Shape>, Reason> {
    Ok(Some(match types.get(ty) {
        ValueType::Void => return Ok(None),
        ValueType::Vector(element, lanes) => match Kind::of(types, element) {
            Some(kind) => Shape::Lanes(kind, lanes),
            None => return Err(Reason::Unmodelled("a vector of such elements".into())),
        },
        ValueType::Array(..) | ValueType::Struct(_) => {
            let size = types.size(ty);
            if size > MAX_AGGREGATE {
                return Err(Reason::Unmodelled(format!("a value of {size} bytes")));
            }
            Shape::Bytes(size as u32)
        }
        _ => match Kind::of(types, ty) {
            Some(kind) => Shape::Lanes(kind, 1),
            None => return Err(Reason::Unmodelled("a value of an unknown type".into())),
        },
    }))
}

struct Builder<'p> {
    program: &'p MetalProgram,
    function: &'p Function,
    types: &'p TypeTable,
    slots: ValueMap<u32>,
    shapes: ValueMap<Shape>,
    operands: Vec<Operand>,
    template: Vec<u64>,
    /// The most slots.
    room: usize,
}

impl Builder<'_> {
    /// Gives slots to values.
    fn place(&mut self, used: &ValueMap<bool>, address: &dyn Fn(usize) -> Option<u64>) -> Result<(), Reason> {
        for (id, value) in self.function.values.entries() {
            if !used[id] || value.width == 0 || self.function.is_replaced(id) {
                continue;
            }
            let shape = self.shape_of(id)?;
            let slot = self.template.len();
            if slot + shape.slots() as usize > self.room {
                return Err(Reason::Memory);
            }
            self.template.resize(slot + shape.slots() as usize, 0);
            self.slots[id] = slot as u32;
            self.shapes[id] = shape;
            let known = match value.op {
                Op::Constant(number) => Some(masked(number, shape.kind().width())),
                Op::Symbol(symbol) => self.variable('g', symbol).and_then(address),
                _ => None,
            };
            if let Some(number) = known {
                self.template[slot..].fill(number);
            }
        }
        Ok(())
    }

    /// Returns the number of a variable of the program or of the function.
    fn variable(&self, letter: char, symbol: unshade_ir::SymbolId) -> Option<usize> {
        self.function.symbols.get(symbol)?.strip_prefix(letter)?.parse().ok()
    }

    fn shape_of(&self, id: ValueId) -> Result<Shape, Reason> {
        let value = &self.function.values[id];
        match self.types.get(value.ty) {
            ValueType::Vector(element, _) => match Kind::of(self.types, element) {
                Some(kind) => Ok(Shape::Lanes(kind, value.lanes)),
                None => Err(Reason::Unmodelled("a vector of such elements".into())),
            },
            ValueType::Array(..) | ValueType::Struct(_) => {
                Ok(shape(self.types, value.ty)?.unwrap_or(Shape::Bytes(0)))
            }
            _ => {
                let kind = Kind::of(self.types, value.ty).unwrap_or_else(|| Kind::of_width(value.width));
                Ok(Shape::Lanes(kind, value.lanes))
            }
        }
    }

    fn operand(&self, id: ValueId) -> Option<Operand> {
        let id = self.function.resolve(id);
        let slot = self.slots.get(id).copied().filter(|slot| *slot != NO_SLOT)?;
        Some(Operand { slot, shape: self.shapes[id] })
    }

    fn block(&mut self, id: BlockId, steps: &[ValueId], used: &ValueMap<bool>, position: u32) -> Block {
        let function = self.function;
        let steps = steps.iter().filter(|step| used[**step]).filter_map(|step| self.step(*step)).collect();
        let block = &function.blocks[id];
        let condition = block.end.input().and_then(|input| self.operand(input));
        let exit = match (&block.end, condition) {
            (End::Goto(to), _) => Exit::Goto(to.number()),
            (End::Branch { yes, no, .. }, Some(condition)) => {
                Exit::Branch { condition, yes: yes.number(), no: no.number() }
            }
            (End::Switch { cases, otherwise, .. }, Some(selector)) => Exit::Switch {
                selector,
                cases: cases.iter().map(|(number, to)| (*number, to.number())).collect(),
                otherwise: otherwise.map(BlockId::number),
            },
            (End::Return, _) => Exit::Return,
            _ => Exit::Unreachable,
        };
        let mut edges = Vec::new();
        for (index, from) in block.predecessors.iter().enumerate() {
            let phis = block.phis.iter().filter_map(|phi| {
                Some((self.operand(*phi)?, self.operand(function.input_or_self(*phi, index))?))
            });
            edges.push((from.number(), phis.collect()));
        }
        Block { steps, exit, edges, position }
    }

    /// Returns the step of a value; `None` if it has none.
    fn step(&mut self, id: ValueId) -> Option<Step> {
        let function = self.function;
        let value = &function.values[id];
        let nothing = Operand { slot: NO_SLOT, shape: Shape::Lanes(Kind::Bool, 0) };
        let out = self.operand(id).unwrap_or(nothing);
        let start = self.operands.len() as u32;
        let mut is_whole = true;
        for index in 0..function.inputs(id).len() {
            let operand = self.operand(function.input(id, index));
            is_whole &= operand.is_some();
            self.operands.push(operand.unwrap_or(nothing));
        }
        let inputs: Vec<Operand> = self.operands[start as usize..].to_vec();
        let action = if is_whole { self.action(id, &inputs, out)? } else { Action::Fail(Reason::Unsound) };
        Some(Step { action, out, inputs: (start, inputs.len() as u32), address: value.address })
    }

    /// Returns what a value does; `None` if its slot is set from the start.
    fn action(&self, id: ValueId, inputs: &[Operand], out: Operand) -> Option<Action> {
        let function = self.function;
        let first = inputs.first().copied();
        Some(match function.op(id) {
            Op::Symbol(symbol) if self.variable('l', symbol).is_some() => {
                Action::Local(self.variable('l', symbol)?)
            }
            Op::Symbol(_) | Op::Constant(_) | Op::Undefined | Op::Phi => return None,
            Op::Shader(ShaderOp::Argument) => {
                Action::Argument(function.number(function.input(id, 0)).unwrap_or(0) as usize)
            }
            Op::Unlifted(note) => {
                Action::Fail(Reason::Unlifted(function.notes.get(note).cloned().unwrap_or_default()))
            }
            Op::Vector => Action::Join,
            Op::Lanes(lanes) => Action::Pick(lanes),
            Op::Select => Action::Select,
            Op::ExtractLane => Action::ExtractLane,
            Op::InsertLane => Action::InsertLane,
            Op::Offset(size) | Op::Element(size) => Action::Move(u64::from(size)),
            Op::Member(_, offset) => Action::Advance(u64::from(offset)),
            Op::Reinterpret => Action::Reinterpret,
            Op::Copy if matches!(out.shape, Shape::Bytes(_)) => Action::Part(0),
            Op::Aggregate => self.aggregate(function.values[id].ty, inputs.len()),
            Op::WithMember(number) => {
                Action::Replace(self.offset(function.values[id].ty, usize::from(number)))
            }
            Op::Result(number) => {
                let from = function.values[function.input(id, 0)].ty;
                match first.map(|first| first.shape) {
                    Some(Shape::Bytes(_)) => Action::Part(self.offset(from, usize::from(number))),
                    _ => Action::Fail(Reason::Unmodelled("a part of a number".into())),
                }
            }
            Op::Load(_) => self.access(out).unwrap_or(Action::Load),
            Op::Store(_) => inputs.get(1).and_then(|value| self.access(*value)).unwrap_or(Action::Store),
            Op::Invoke(callee) => self.call(&function.callees[callee].name),
            Op::Return => Action::Return,
            Op::Metal(op) => self.library(op, inputs),
            op => self.operator(op, first, out),
        })
    }

    /// Returns why a value is not one that memory has.
    fn access(&self, value: Operand) -> Option<Action> {
        let reason = match value.shape {
            Shape::Lanes(Kind::Bool, 2..) => "a vector of truths in memory",
            _ => return None,
        };
        Some(Action::Fail(Reason::Unmodelled(reason.into())))
    }

    fn operator(&self, op: Op, first: Option<Operand>, out: Operand) -> Action {
        let takes_float = match op {
            Op::Shader(ShaderOp::FloatToSigned | ShaderOp::FloatToUnsigned | ShaderOp::FloatRemainder) => {
                true
            }
            op => op.takes_float(0),
        };
        let kind = first.map_or(Kind::Bool, |first| first.shape.kind());
        let gives_float = op.gives_float() || op == Op::Shader(ShaderOp::FloatRemainder);
        if takes_float && !kind.is_float() || gives_float && !out.shape.kind().is_float() {
            return Action::Fail(Reason::Unmodelled(format!("{op:?} of a number without a known type")));
        }
        if first.is_some_and(|first| matches!(first.shape, Shape::Bytes(_))) {
            return Action::Fail(Reason::Unmodelled(format!("{op:?} of a structure")));
        }
        Action::Operate(op)
    }

    fn library(&self, op: MetalOp, inputs: &[Operand]) -> Action {
        let kind = inputs.first().map_or(Kind::Bool, |first| first.shape.kind());
        // Of several threads, whatever the numbers are.
        let is_joint = ["simd_", "quad_"].iter().any(|start| op.row().stem.starts_with(start))
            && !op.row().stem.starts_with("simd_vote");
        match library::formula(op, kind).filter(|_| !is_joint) {
            Some(formula) => Action::Apply(formula, op.class),
            None => Action::Library(op),
        }
    }

    fn call(&self, name: &str) -> Action {
        let found = self.program.function_index(name);
        match found.filter(|index| !self.program.functions[*index].is_declared) {
            Some(index) => Action::Call(index),
            None if name == "llvm.trap" => Action::Fail(Reason::Trap),
            None if name.starts_with("air.") => {
                Action::Fail(Reason::Unmodelled(format!("the function {name}")))
            }
            None => Action::Fail(Reason::Function(name.to_owned())),
        }
    }

    fn aggregate(&self, ty: TypeId, count: usize) -> Action {
        Action::Aggregate((0..count).map(|index| self.offset(ty, index)).collect())
    }

    /// Returns the offset of a member of a structure or an element of an array.
    fn offset(&self, ty: TypeId, index: usize) -> u32 {
        let offset = match self.types.get(ty) {
            ValueType::Array(element, _) => self.types.size(element).saturating_mul(index as u64),
            _ => self.types.offset(ty, index),
        };
        u32::try_from(offset).unwrap_or(u32::MAX)
    }
}
