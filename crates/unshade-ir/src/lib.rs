//! An intermediate representation of GPU programs: values in SSA form, and blocks, independent of the machine.
//!
//! The front ends of the decompiler produce it, its passes change it, an interpreter runs it. A [`Value`] has an operator, a width in bits and inputs; its index in [`Function::values`] identifies it. Pure
//! values belong to a block only to limit where they may be used: they have no order. Values that read or change
//! state have one, and are in [`Block::effects`]. A value that was replaced forwards to its replacement.
//!
//! | module | contents |
//! |---|---|
//! | [`module`], [`ty`], [`intrinsic`], [`special`], [`image`] | a function's surroundings, types, operations by meaning |
//! | [`build`], [`dominators`] | SSA construction; block order, dominators, loops |
//! | [`fold`], [`evaluate`], [`math`] | results of operators, and of functions of CUDA's library |
//! | [`text`], [`verify`] | the textual form; what makes a function sound |
//! | [`shader`] | what a graphics or compute shader is besides its code: stage, signatures, resources; its operations |
//! | [`metal`] | functions in Metal: types with address spaces, operations, surroundings |
//! | [`code`] | functions as lists of steps, for interpreters |
//! | [`id`], [`id_lists`], [`hash`] | numbers of values and blocks, and maps of them |
//!
//! ```
//! let text = "kernel \"count\" shared 0 local 0\nparameter 0 size 8\nb0 @0x0:\n    v0:64 = parameter 0\n    \
//!             v1:32 = call atomic.add.u32 v0, 1:32\n    return\n";
//! let module = unshade_ir::text::parse(text)?;
//! assert!(unshade_ir::verify::verify(&module.function).is_empty());
//! # Ok::<(), unshade_ir::text::TextError>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod build;
pub mod code;
pub mod dominators;
pub mod evaluate;
pub mod fold;
pub mod hash;
pub mod id;
pub mod id_lists;
pub mod image;
pub mod intrinsic;
pub mod math;
pub mod metal;
pub mod module;
mod op;
pub mod shader;
pub mod special;
pub mod text;
pub mod ty;
mod used;
pub mod verify;
mod vocabulary;

pub use id::{
    BlockId, BlockMap, CalleeId, IdVec, ImageId, Key, NoteId, ResourceId, StructId, StructureId, SymbolId,
    TypeId, ValueId, ValueMap, VariableId,
};
pub use image::{Boundary, Image, ImageAccess, ImageShape};
pub use intrinsic::{Intrinsic, Number, Operand, Rounding};
pub use metal::MetalOp;
pub use module::{
    Callee, InitialPointer, Member, MemoryObject, Module, ObjectSpace, Parameter, SourceVariable, Structure,
    THIS, VariablePlace,
};
pub use op::{OPERATORS, Sign, Widths};
pub use shader::ShaderOp;
pub use special::{Axis, Special};

/// The address of a value that comes from no instruction.
pub const NO_ADDRESS: u32 = u32::MAX;

/// A selection of one to four lanes of a vector, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lanes {
    numbers: [u8; 4],
    count: u8,
}

impl Lanes {
    /// Selects one lane.
    pub const fn one(number: u8) -> Self {
        Self { numbers: [number, 0, 0, 0], count: 1 }
    }

    /// Selects lanes; `None` unless there are one to four.
    pub fn new(numbers: &[u8]) -> Option<Self> {
        if numbers.is_empty() {
            return None;
        }
        let mut lanes = Self { numbers: [0; 4], count: u8::try_from(numbers.len()).ok()? };
        lanes.numbers.get_mut(..numbers.len())?.copy_from_slice(numbers);
        Some(lanes)
    }

    /// Returns the numbers of the lanes.
    pub fn numbers(&self) -> &[u8] {
        &self.numbers[..usize::from(self.count)]
    }

    /// Returns the lanes that a selection of these selects; `None` if one of them does not exist.
    pub fn then(&self, outer: Self) -> Option<Self> {
        let numbers: Option<Vec<u8>> =
            outer.numbers().iter().map(|number| self.numbers().get(usize::from(*number)).copied()).collect();
        Self::new(&numbers?)
    }
}

/// A memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Generic memory, with 64-bit pointers.
    Generic,
    /// Shared memory of the thread block.
    Shared,
    /// Local memory of the thread.
    Local,
    /// A constant bank.
    Constant(u8),
}

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "operators, by their usual names")]
pub enum Op {
    Constant(u64),
    Undefined,
    /// Bytes of the parameters, from this offset on.
    Parameter(u32),
    Special(Special),
    /// The address of a variable or function.
    Symbol(SymbolId),
    Phi,
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Sar,
    Neg,
    Not,
    Udiv,
    Sdiv,
    Urem,
    Srem,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    SignedLess,
    SignedLessEqual,
    Carry,
    SignedCarry,
    SignedBorrow,
    BoolAnd,
    BoolOr,
    BoolXor,
    BoolNot,
    ZeroExtend,
    SignExtend,
    Low,
    High,
    Concat,
    PopCount,
    LeadingZeros,
    FloatAdd,
    FloatSub,
    FloatMul,
    FloatDiv,
    FloatNegate,
    FloatAbs,
    FloatSqrt,
    FloatEqual,
    FloatNotEqual,
    FloatLess,
    FloatLessEqual,
    FloatNan,
    FloatConvert,
    SignedToFloat,
    UnsignedToFloat,
    /// A copy: marks where a variable is set before the branch to its phi.
    Copy,
    /// The lanes of all inputs, one input after the other.
    Vector,
    /// Some lanes of a vector.
    Lanes(Lanes),
    /// The second input if the first one holds, otherwise the third.
    Select,
    /// The address is the first input.
    Load(Space),
    /// The address is the first input, the value the second.
    Store(Space),
    /// An operation with a meaning of its own.
    Call(Intrinsic),
    /// An operation of a shader.
    Shader(ShaderOp),
    /// An operation of Metal's library.
    Metal(MetalOp),
    /// The pointer that many elements after a pointer: pointer, signed index. The size of an element in bytes.
    Offset(u32),
    /// The pointer to an element of an array or vector: pointer to that, signed index. The size of an element in bytes.
    Element(u32),
    /// The pointer to a member of a structure, with its number and its offset in bytes.
    Member(u16, u32),
    /// The same bits as a value of another type, or the same address as another pointer.
    Reinterpret,
    /// The members of a structure or the elements of an array.
    Aggregate,
    /// The input with another member: aggregate, value.
    WithMember(u16),
    /// A lane of a vector at a computed index: vector, index.
    ExtractLane,
    /// The vector with another lane at a computed index: vector, index, lane.
    InsertLane,
    /// Reads a texture or surface.
    ImageRead(ImageId),
    /// Writes a surface.
    ImageWrite(ImageId),
    /// The n-th word of a read, or of the result of a function.
    Result(u8),
    /// Calls a device function.
    Invoke(CalleeId),
    /// Ends a device function with a result: a value, or several words.
    Return,
    /// An instruction that cannot be lifted. The inputs are those of the instruction.
    Unlifted(NoteId),
}

impl Op {
    /// Returns whether it has a position in the order of effects.
    #[inline]
    pub fn is_effect(self) -> bool {
        match self {
            Op::Load(space) => !matches!(space, Space::Constant(_)),
            Op::Store(_) | Op::Unlifted(_) | Op::ImageRead(_) | Op::ImageWrite(_) => true,
            Op::Invoke(_) | Op::Return => true,
            Op::Call(intrinsic) => !intrinsic.is_pure(),
            Op::Shader(op) => op.effect() != intrinsic::Effect::None,
            Op::Metal(op) => op.effect() != intrinsic::Effect::None,
            _ => false,
        }
    }

    /// Returns whether it must stay even if nothing uses it.
    #[inline]
    pub fn is_kept(self) -> bool {
        match self {
            Op::Store(_) | Op::Unlifted(_) | Op::ImageWrite(_) | Op::Invoke(_) | Op::Return => true,
            Op::Call(intrinsic) => intrinsic.changes(),
            Op::Shader(op) => op.effect() == intrinsic::Effect::Changes,
            Op::Metal(op) => op.effect() == intrinsic::Effect::Changes,
            _ => false,
        }
    }

    /// Returns whether loads must not move across its memory accesses.
    #[inline]
    pub fn is_barrier(self) -> bool {
        match self {
            Op::Store(_) | Op::Unlifted(_) | Op::ImageWrite(_) | Op::Invoke(_) | Op::Return => true,
            Op::Call(intrinsic) => intrinsic.changes(),
            Op::Shader(op) => op.effect() == intrinsic::Effect::Changes,
            Op::Metal(op) => op.effect() == intrinsic::Effect::Changes,
            _ => false,
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its operator.
    pub op: Op,
    /// The width of each lane in bits; 0 if it has no result.
    pub width: u8,
    /// Number of lanes: 1 for a scalar.
    pub lanes: u16,
    /// Its type in the table of the program; [`TypeId::NONE`] where the front end has no types.
    pub ty: TypeId,
    /// Its block.
    pub block: BlockId,
    /// The address of the instruction that it comes from, or [`NO_ADDRESS`].
    pub address: u32,
    start: u32,
    count: u32,
    /// The number of inputs for which the list has room.
    room: u32,
    /// Whether it, an input or its block changed since passes last visited it.
    pub is_changed: bool,
    /// Whether it is an access of memory that must happen as often and in the order that the code says.
    pub is_volatile: bool,
    /// Whether it is floating-point arithmetic that must be done as the code says.
    pub is_precise: bool,
}

impl Value {
    /// Returns the part of the list of inputs that has its own.
    #[inline]
    fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Not known yet.
    Open,
    /// Continues with a block.
    Goto(BlockId),
    /// Branches to one of two blocks.
    Branch {
        /// The condition.
        condition: ValueId,
        /// The successor if it holds.
        yes: BlockId,
        /// The successor if it does not hold.
        no: BlockId,
    },
    /// Branches to one of many blocks.
    Switch {
        /// The selector.
        selector: ValueId,
        /// The case values and their blocks.
        cases: Vec<(u64, BlockId)>,
        /// The default block, if there is one.
        otherwise: Option<BlockId>,
    },
    /// Ends the thread.
    Return,
}

impl End {
    /// Returns the successors, each once.
    pub fn successors(&self) -> Vec<BlockId> {
        let mut all = Vec::new();
        self.each_successor(&mut |block| all.push(block));
        all
    }

    /// Visits each successor once.
    pub fn each_successor(&self, take: &mut dyn FnMut(BlockId)) {
        match self {
            End::Open | End::Return => {}
            End::Goto(to) => take(*to),
            End::Branch { yes, no, .. } => {
                take(*yes);
                if no != yes {
                    take(*no);
                }
            }
            End::Switch { cases, otherwise, .. } => {
                let mut all: Vec<BlockId> = cases.iter().map(|case| case.1).chain(*otherwise).collect();
                all.sort_unstable();
                all.dedup();
                all.into_iter().for_each(take);
            }
        }
    }

    /// Replaces a successor.
    pub fn redirect(&mut self, from: BlockId, to: BlockId) {
        let change = |block: &mut BlockId| {
            if *block == from {
                *block = to;
            }
        };
        match self {
            End::Open | End::Return => {}
            End::Goto(block) => change(block),
            End::Branch { yes, no, .. } => {
                change(yes);
                change(no);
                if yes == no {
                    *self = End::Goto(*yes);
                }
            }
            End::Switch { cases, otherwise, .. } => {
                cases.iter_mut().for_each(|case| change(&mut case.1));
                otherwise.iter_mut().for_each(change);
            }
        }
    }

    /// Returns the condition or selector.
    #[inline]
    pub fn input(&self) -> Option<ValueId> {
        match self {
            End::Branch { condition, .. } => Some(*condition),
            End::Switch { selector, .. } => Some(*selector),
            _ => None,
        }
    }
}

/// A block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The phis; their inputs are in the order of `predecessors`.
    pub phis: Vec<ValueId>,
    /// Values that read or change state, in order.
    pub effects: Vec<ValueId>,
    /// The predecessors, each once.
    pub predecessors: Vec<BlockId>,
    /// Its end.
    pub end: End,
    /// The address of its first instruction.
    pub address: u32,
}

/// What the source code calls a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// The number of the name; the front end has a table of them.
    pub variable: u32,
    /// The component of the variable that the value is; `None` if it is the whole variable.
    pub lane: Option<u8>,
    /// The value.
    pub value: ValueId,
}

/// A function in the intermediate representation.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// All values, including unused ones.
    pub values: ValueMap<Value>,
    inputs: Vec<ValueId>,
    forward: ValueMap<ValueId>,
    /// Whether a value was replaced since the last settling.
    is_unsettled: bool,
    /// The number of values from which passes make no more; they set it when they begin.
    pub limit: Option<usize>,
    /// All blocks; the first is the entry. Unreachable ones have no predecessors.
    pub blocks: BlockMap<Block>,
    /// Comments for instructions that could not be lifted.
    pub notes: IdVec<NoteId, String>,
    /// Names of global variables, textures and surfaces.
    pub symbols: IdVec<SymbolId, String>,
    /// Accesses of textures and surfaces.
    pub images: IdVec<ImageId, Image>,
    /// The device functions that it calls.
    pub callees: IdVec<CalleeId, Callee>,
    /// Values of variables of the source code: the index in [`Module::variables`], and a value that it has somewhere.
    /// These values are used as long as they are listed here.
    pub named: Vec<(u32, ValueId)>,
    /// What the source code calls values. This does not make them used.
    pub labels: Vec<Label>,
    /// Values that were used as signed integers before passes changed them. This does not make them used.
    pub signed: Vec<ValueId>,
    /// The blocks that compute values in the code: there, what may fault does not. This does not make them used.
    pub computed_in: Vec<(ValueId, BlockId)>,
}

impl Function {
    /// Adds a block.
    pub fn block(&mut self, address: u32) -> BlockId {
        self.blocks.push(Block {
            phis: Vec::new(),
            effects: Vec::new(),
            predecessors: Vec::new(),
            end: End::Open,
            address,
        })
    }

    /// Reserves memory for values.
    pub fn reserve(&mut self, values: usize) {
        self.values.reserve(values);
        self.inputs.reserve(2 * values);
        self.forward.reserve(values);
    }

    /// Adds a value, without a position in the order of effects.
    pub fn raw(&mut self, op: Op, width: u8, block: BlockId, address: u32, inputs: &[ValueId]) -> ValueId {
        let start = self.inputs.len() as u32;
        self.inputs.extend_from_slice(inputs);
        let id = self.values.push(Value {
            op,
            width,
            lanes: 1,
            ty: TypeId::NONE,
            block,
            address,
            start,
            count: inputs.len() as u32,
            room: inputs.len() as u32,
            is_changed: true,
            is_volatile: false,
            is_precise: false,
        });
        self.forward.push(id);
        id
    }

    /// Adds a value; if it has effects, at the end of the block.
    pub fn add(&mut self, op: Op, width: u8, block: BlockId, address: u32, inputs: &[ValueId]) -> ValueId {
        let id = self.raw(op, width, block, address, inputs);
        if op.is_effect() {
            self.blocks[block].effects.push(id);
        }
        id
    }

    /// Sets the number of lanes of a value, and returns it.
    pub fn with_lanes(&mut self, id: ValueId, lanes: u16) -> ValueId {
        self.values[id].lanes = lanes;
        id
    }

    /// Sets the type of a value, and returns it.
    pub fn with_type(&mut self, id: ValueId, ty: TypeId) -> ValueId {
        self.values[id].ty = ty;
        id
    }

    /// Returns the number of lanes of a value.
    #[inline]
    pub fn lanes(&self, id: ValueId) -> u16 {
        self.values[id].lanes
    }

    /// Returns the symbol with a name, and adds it if there is none.
    pub fn symbol(&mut self, name: &str) -> SymbolId {
        let known = self.symbols.entries().find(|(_, symbol)| *symbol == name).map(|(id, _)| id);
        known.unwrap_or_else(|| self.symbols.push(String::from(name)))
    }

    /// Returns a callee, and adds it if it is new.
    pub fn callee(&mut self, callee: &Callee) -> CalleeId {
        let known = self.callees.entries().find(|(_, known)| **known == *callee).map(|(id, _)| id);
        known.unwrap_or_else(|| self.callees.push(callee.clone()))
    }

    /// Adds a constant, which belongs to the entry block.
    pub fn constant(&mut self, value: u64, width: u8) -> ValueId {
        self.raw(Op::Constant(fold::masked(value, width)), width, BlockId::ENTRY, NO_ADDRESS, &[])
    }

    /// Returns the current replacement of a value.
    #[inline]
    pub fn resolve(&self, id: ValueId) -> ValueId {
        let mut id = id;
        while self.forward[id] != id {
            id = self.forward[id];
        }
        id
    }

    /// Replaces a value everywhere.
    pub fn replace(&mut self, old: ValueId, new: ValueId) {
        let (old, new) = (self.resolve(old), self.resolve(new));
        if old != new {
            self.forward[old] = new;
            self.is_unsettled = true;
        }
    }

    /// Resolves the inputs of one value.
    #[inline]
    pub fn settle_inputs(&mut self, id: ValueId) {
        let value = &mut self.values[id];
        for input in &mut self.inputs[value.range()] {
            let mut target = *input;
            while self.forward[target] != target {
                // Halves the length of the chain for the next lookup.
                let next = self.forward[target];
                self.forward[target] = self.forward[next];
                target = self.forward[target];
            }
            value.is_changed |= target != *input;
            *input = target;
        }
    }

    /// Shortens all chains of replacements, and resolves all inputs.
    pub fn settle(&mut self) {
        if !std::mem::replace(&mut self.is_unsettled, false) {
            return;
        }
        self.settle_blocks();
        let forward = &self.forward;
        for value in &mut self.values {
            for input in &mut self.inputs[value.range()] {
                let target = forward[*input];
                value.is_changed |= target != *input;
                *input = target;
            }
        }
    }

    /// Shortens all chains of replacements, and resolves the values in blocks. Inputs are left to [`Self::compact`].
    pub fn settle_blocks(&mut self) {
        for id in self.forward.keys() {
            let target = self.resolve(id);
            let mut at = id;
            while self.forward[at] != target {
                let next = self.forward[at];
                self.forward[at] = target;
                at = next;
            }
        }
        let forward = &self.forward;
        for block in &mut self.blocks {
            match &mut block.end {
                End::Branch { condition, .. } => *condition = forward[*condition],
                End::Switch { selector, .. } => *selector = forward[*selector],
                _ => {}
            }
            block.phis.retain(|phi| forward[*phi] == *phi);
            block.effects.retain(|effect| forward[*effect] == *effect);
        }
    }

    /// Removes all values except those in `kept`, which must not use removed ones, and renumbers the rest in order.
    /// Replacements are resolved.
    pub fn compact(&mut self, kept: &ValueMap<bool>) {
        let mut number = ValueMap::filled(ValueId::NONE, self.values.len());
        let mut count = 0;
        for id in self.values.keys() {
            if kept.get(id) == Some(&true) {
                let new = ValueId::from_index(count);
                number[id] = new;
                self.values[new] = self.values[id];
                count += 1;
            }
        }
        self.values.truncate(count);
        let forward = std::mem::take(&mut self.forward);
        let resolve = |mut id: ValueId| {
            while forward[id] != id {
                id = forward[id];
            }
            id
        };
        let mut inputs = Vec::with_capacity(2 * self.values.len());
        for value in &mut self.values {
            let old = value.range();
            value.start = inputs.len() as u32;
            value.room = value.count;
            for &input in &self.inputs[old] {
                let target = resolve(input);
                value.is_changed |= target != input;
                inputs.push(number[target]);
            }
        }
        self.inputs = inputs;
        for (_, value) in &mut self.named {
            *value = number[resolve(*value)];
        }
        self.labels.retain_mut(|label| {
            label.value = number[resolve(label.value)];
            label.value != ValueId::NONE
        });
        self.computed_in.retain_mut(|(id, _)| {
            *id = number[resolve(*id)];
            *id != ValueId::NONE
        });
        self.signed.retain_mut(|id| {
            *id = number[resolve(*id)];
            *id != ValueId::NONE
        });
        for block in &mut self.blocks {
            for list in [&mut block.phis, &mut block.effects] {
                list.retain_mut(|id| {
                    *id = number[*id];
                    *id != ValueId::NONE
                });
            }
            match &mut block.end {
                End::Branch { condition, .. } => *condition = number[resolve(*condition)],
                End::Switch { selector, .. } => *selector = number[resolve(*selector)],
                _ => {}
            }
        }
        self.forward = forward;
        self.forward.clear();
        self.forward.extend(self.values.keys());
        self.is_unsettled = false;
    }

    /// Returns whether it was replaced.
    #[inline]
    pub fn is_replaced(&self, id: ValueId) -> bool {
        self.forward[id] != id
    }

    /// Returns the operator of a value.
    #[inline]
    pub fn op(&self, id: ValueId) -> Op {
        self.values[id].op
    }

    /// Returns its width in bits.
    #[inline]
    pub fn width(&self, id: ValueId) -> u8 {
        self.values[id].width
    }

    /// Returns its inputs, unresolved.
    #[inline]
    pub fn inputs(&self, id: ValueId) -> &[ValueId] {
        let value = &self.values[id];
        &self.inputs[value.range()]
    }

    /// Returns an input, resolved; [`ValueId::NONE`] if there are fewer inputs.
    #[inline]
    pub fn input(&self, id: ValueId, index: usize) -> ValueId {
        match self.inputs(id).get(index) {
            Some(&input) if input != ValueId::NONE => self.resolve(input),
            _ => ValueId::NONE,
        }
    }

    /// Returns an input, or the value itself if it has fewer inputs.
    pub fn input_or_self(&self, id: ValueId, index: usize) -> ValueId {
        if index < self.inputs(id).len() { self.input(id, index) } else { id }
    }

    /// Sets an input.
    pub fn set_input(&mut self, id: ValueId, index: usize, input: ValueId) {
        let value = self.values[id];
        if (index as u32) < value.count {
            self.inputs[value.start as usize + index] = input;
            self.values[id].is_changed = true;
        }
    }

    /// Sets all inputs of a value.
    pub fn set_inputs(&mut self, id: ValueId, inputs: &[ValueId]) {
        let value = &mut self.values[id];
        let count = inputs.len() as u32;
        if count <= value.room {
            let start = value.start as usize;
            self.inputs[start..start + inputs.len()].copy_from_slice(inputs);
        } else {
            value.start = self.inputs.len() as u32;
            value.room = count;
            self.inputs.extend_from_slice(inputs);
        }
        value.count = count;
        value.is_changed = true;
    }

    /// Appends an input to a value.
    pub fn push_input(&mut self, id: ValueId, input: ValueId) {
        let value = &mut self.values[id];
        if value.count == value.room {
            let old = value.range();
            value.start = self.inputs.len() as u32;
            value.room = 2 * value.count + 2;
            self.inputs.extend_from_within(old);
            self.inputs.resize((value.start + value.room) as usize, ValueId::NONE);
        }
        self.inputs[(value.start + value.count) as usize] = input;
        value.count += 1;
        value.is_changed = true;
    }

    /// Moves a value to a block.
    pub fn set_block(&mut self, id: ValueId, block: BlockId) {
        let value = &mut self.values[id];
        value.is_changed |= value.block != block;
        value.block = block;
    }

    /// Changes the operator of a value. Its position in the order of effects stays.
    pub fn set_op(&mut self, id: ValueId, op: Op, inputs: &[ValueId]) {
        self.set_inputs(id, inputs);
        self.values[id].op = op;
    }

    /// Returns whether it must stay even if nothing uses it.
    #[inline]
    pub fn is_kept(&self, id: ValueId) -> bool {
        self.values[id].is_volatile || self.op(id).is_kept()
    }

    /// Returns whether loads must not move across it. Volatile loads of shared memory may change places with each other:
    /// the threads of a warp do both at the same time.
    pub fn is_barrier(&self, id: ValueId) -> bool {
        let is_global = self.op(id) == Op::Load(Space::Generic) && self.width(self.input(id, 0)) == 64;
        self.values[id].is_volatile && is_global || self.op(id).is_barrier()
    }

    /// Returns its value if it is a constant.
    #[inline]
    pub fn number(&self, id: ValueId) -> Option<u64> {
        match self.values.get(id)?.op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Removes an edge, and its inputs of the phis of `to`.
    pub fn remove_edge(&mut self, from: BlockId, to: BlockId) {
        let Some(edge) = self.blocks[to].predecessors.iter().position(|block| *block == from) else {
            return;
        };
        self.blocks[to].predecessors.remove(edge);
        for index in 0..self.blocks[to].phis.len() {
            let phi = self.blocks[to].phis[index];
            let mut inputs = self.inputs(phi).to_vec();
            if edge < inputs.len() {
                inputs.remove(edge);
                self.set_inputs(phi, &inputs);
            }
        }
    }
}
