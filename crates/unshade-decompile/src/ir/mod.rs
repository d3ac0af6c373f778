//! The intermediate representation that follows a front end: values in SSA form, and blocks, independent of the
//! machine.
//!
//! A [`Value`] has an operator, a width in bits and inputs; its index in [`Function::values`] identifies it. Pure
//! values belong to a block only to limit where they may be used: they have no order. Values that read or change
//! state have one, and are in [`Block::effects`]. A value that was replaced forwards to its replacement.

pub mod build;
pub mod dominators;
pub mod evaluate;
pub mod fold;
pub mod hash;
pub mod id_lists;
pub mod image;
pub mod intrinsic;
mod op;

pub use image::Image;
pub use intrinsic::Intrinsic;
pub use op::Sign;

/// A value: an index into [`Function::values`].
pub type Id = u32;

/// A block: an index into [`Function::blocks`].
pub type BlockId = u32;

/// No value, no block, no address.
pub const NONE: u32 = u32::MAX;

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

/// A special value such as the thread index: its name, behind a reference to keep operators small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Special(pub &'static &'static str);

impl Special {
    /// Returns whether it is small enough that its sign does not matter: indices and sizes of blocks and grids.
    pub fn is_small(self) -> bool {
        ["threadIdx", "blockIdx", "blockDim", "gridDim"].iter().any(|name| self.0.starts_with(name))
    }

    /// Returns the array at the start of a memory window.
    pub fn memory(self) -> Option<&'static &'static str> {
        match *self.0 {
            "local_window()" => Some(&"local"),
            "shared_window()" => Some(&"shared"),
            _ => None,
        }
    }
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
    /// The address of a variable or function: an index into [`Function::symbols`].
    Symbol(u32),
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
    /// The second input if the first one holds, otherwise the third.
    Select,
    /// The address is the first input.
    Load(Space),
    /// The address is the first input, the value the second.
    Store(Space),
    /// A CUDA function or a helper.
    Call(Intrinsic),
    /// Reads a texture or surface: an index into [`Function::images`].
    ImageRead(u32),
    /// Writes a surface: an index into [`Function::images`].
    ImageWrite(u32),
    /// The n-th word of a read.
    Result(u8),
    /// An instruction that cannot be lifted: an index into [`Function::notes`]. The inputs are those of the
    /// instruction.
    Unlifted(u32),
}

impl Op {
    /// Returns whether it has a position in the order of effects.
    pub fn is_effect(self) -> bool {
        match self {
            Op::Load(space) => !matches!(space, Space::Constant(_)),
            Op::Store(_) | Op::Unlifted(_) | Op::ImageRead(_) | Op::ImageWrite(_) => true,
            Op::Call(intrinsic) => !intrinsic.is_pure(),
            _ => false,
        }
    }

    /// Returns whether it must stay even if nothing uses it.
    pub fn is_kept(self) -> bool {
        match self {
            Op::Store(_) | Op::Unlifted(_) | Op::ImageWrite(_) => true,
            Op::Call(intrinsic) => intrinsic.is_kept(),
            _ => false,
        }
    }

    /// Returns whether loads must not move across its memory accesses.
    pub fn is_barrier(self) -> bool {
        match self {
            Op::Store(_) | Op::Unlifted(_) | Op::ImageWrite(_) => true,
            Op::Call(intrinsic) => intrinsic.is_barrier(),
            _ => false,
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// Its operator.
    pub op: Op,
    /// Its width in bits; 0 if it has no result.
    pub width: u8,
    /// Its block.
    pub block: BlockId,
    /// The instruction that it comes from, or [`NONE`].
    pub address: u32,
    start: u32,
    count: u32,
    /// Whether it, an input or its block changed since passes last visited it.
    pub is_changed: bool,
    /// Whether it is an access of memory that must happen as often and in the order that the code says.
    pub is_volatile: bool,
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
        condition: Id,
        /// The successor if it holds.
        yes: BlockId,
        /// The successor if it does not hold.
        no: BlockId,
    },
    /// Branches to one of many blocks.
    Switch {
        /// The selector.
        selector: Id,
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
    pub fn input(&self) -> Option<Id> {
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
    pub phis: Vec<Id>,
    /// Values that read or change state, in order.
    pub effects: Vec<Id>,
    /// The predecessors, each once.
    pub predecessors: Vec<BlockId>,
    /// Its end.
    pub end: End,
    /// The address of its first instruction.
    pub address: u32,
}

/// A function in the intermediate representation.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// All values, including unused ones.
    pub values: Vec<Value>,
    inputs: Vec<Id>,
    forward: Vec<Id>,
    /// Whether a value was replaced since the last settling.
    is_unsettled: bool,
    /// All blocks; the first is the entry. Unreachable ones have no predecessors.
    pub blocks: Vec<Block>,
    /// Comments for instructions that could not be lifted.
    pub notes: Vec<String>,
    /// Names of global variables, textures and surfaces.
    pub symbols: Vec<String>,
    /// Accesses of textures and surfaces.
    pub images: Vec<Image>,
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
        });
        (self.blocks.len() - 1) as BlockId
    }

    /// Returns the number of a variable or function with this name.
    pub fn symbol(&mut self, name: &str) -> u32 {
        let index = self.symbols.iter().position(|symbol| symbol == name).unwrap_or(self.symbols.len());
        if index == self.symbols.len() {
            self.symbols.push(name.to_owned());
        }
        index as u32
    }

    /// Reserves memory for values.
    pub fn reserve(&mut self, values: usize) {
        self.values.reserve(values);
        self.inputs.reserve(2 * values);
        self.forward.reserve(values);
    }

    /// Adds a value, without a position in the order of effects.
    pub fn raw(&mut self, op: Op, width: u8, block: BlockId, address: u32, inputs: &[Id]) -> Id {
        let id = self.values.len() as Id;
        let start = self.inputs.len() as u32;
        self.inputs.extend_from_slice(inputs);
        self.values.push(Value {
            op,
            width,
            block,
            address,
            start,
            count: inputs.len() as u32,
            is_changed: true,
            is_volatile: false,
        });
        self.forward.push(id);
        id
    }

    /// Adds a value; if it has effects, at the end of the block.
    pub fn add(&mut self, op: Op, width: u8, block: BlockId, address: u32, inputs: &[Id]) -> Id {
        let id = self.raw(op, width, block, address, inputs);
        if op.is_effect() {
            self.blocks[block as usize].effects.push(id);
        }
        id
    }

    /// Adds a constant, which belongs to the entry block.
    pub fn constant(&mut self, value: u64, width: u8) -> Id {
        self.raw(Op::Constant(fold::masked(value, width)), width, 0, NONE, &[])
    }

    /// Returns the current replacement of a value.
    #[inline]
    pub fn resolve(&self, id: Id) -> Id {
        let mut id = id;
        while self.forward[id as usize] != id {
            id = self.forward[id as usize];
        }
        id
    }

    /// Replaces a value everywhere.
    pub fn replace(&mut self, old: Id, new: Id) {
        let (old, new) = (self.resolve(old), self.resolve(new));
        if old != new {
            self.forward[old as usize] = new;
            self.is_unsettled = true;
        }
    }

    /// Resolves the inputs of one value.
    #[inline]
    pub fn settle_inputs(&mut self, id: Id) {
        let value = &mut self.values[id as usize];
        for input in &mut self.inputs[value.start as usize..(value.start + value.count) as usize] {
            let mut target = *input;
            while self.forward[target as usize] != target {
                // Halves the length of the chain for the next lookup.
                let next = self.forward[target as usize];
                self.forward[target as usize] = self.forward[next as usize];
                target = self.forward[target as usize];
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
            for input in &mut self.inputs[value.start as usize..(value.start + value.count) as usize] {
                let target = forward[*input as usize];
                value.is_changed |= target != *input;
                *input = target;
            }
        }
    }

    /// Shortens all chains of replacements, and resolves the values in blocks. Inputs are left to [`Self::compact`].
    pub fn settle_blocks(&mut self) {
        for id in 0..self.forward.len() as Id {
            let target = self.resolve(id);
            let mut at = id;
            while self.forward[at as usize] != target {
                let next = self.forward[at as usize];
                self.forward[at as usize] = target;
                at = next;
            }
        }
        let forward = &self.forward;
        for block in &mut self.blocks {
            match &mut block.end {
                End::Branch { condition, .. } => *condition = forward[*condition as usize],
                End::Switch { selector, .. } => *selector = forward[*selector as usize],
                _ => {}
            }
            block.phis.retain(|phi| forward[*phi as usize] == *phi);
            block.effects.retain(|effect| forward[*effect as usize] == *effect);
        }
    }

    /// Removes all values except those in `kept`, which must not use removed ones, and renumbers the rest in order.
    /// Replacements are resolved.
    pub fn compact(&mut self, kept: &[bool]) {
        let is_kept = |id: Id| kept.get(id as usize) == Some(&true);
        let mut number = vec![NONE; self.values.len()];
        let mut next = 0;
        for (id, number) in number.iter_mut().enumerate() {
            if is_kept(id as Id) {
                *number = next;
                self.values[next as usize] = self.values[id];
                next += 1;
            }
        }
        self.values.truncate(next as usize);
        let forward = std::mem::take(&mut self.forward);
        let resolve = |mut id: Id| {
            while forward[id as usize] != id {
                id = forward[id as usize];
            }
            id
        };
        let mut inputs = Vec::with_capacity(2 * self.values.len());
        for value in &mut self.values {
            let old = value.start as usize..(value.start + value.count) as usize;
            value.start = inputs.len() as u32;
            for &input in &self.inputs[old] {
                let target = resolve(input);
                value.is_changed |= target != input;
                inputs.push(number[target as usize]);
            }
        }
        self.inputs = inputs;
        for block in &mut self.blocks {
            for list in [&mut block.phis, &mut block.effects] {
                list.retain_mut(|id| {
                    *id = number[*id as usize];
                    *id != NONE
                });
            }
            match &mut block.end {
                End::Branch { condition, .. } => *condition = number[resolve(*condition) as usize],
                End::Switch { selector, .. } => *selector = number[resolve(*selector) as usize],
                _ => {}
            }
        }
        self.forward = forward;
        self.forward.clear();
        self.forward.extend(0..next);
        self.is_unsettled = false;
    }

    /// Returns whether it was replaced.
    pub fn is_replaced(&self, id: Id) -> bool {
        self.forward[id as usize] != id
    }

    /// Returns the operator of a value.
    #[inline]
    pub fn op(&self, id: Id) -> Op {
        self.values[id as usize].op
    }

    /// Returns its width in bits.
    #[inline]
    pub fn width(&self, id: Id) -> u8 {
        self.values[id as usize].width
    }

    /// Returns its inputs, unresolved.
    #[inline]
    pub fn inputs(&self, id: Id) -> &[Id] {
        let value = &self.values[id as usize];
        &self.inputs[value.start as usize..(value.start + value.count) as usize]
    }

    /// Returns an input, resolved; [`NONE`] if there are fewer inputs.
    #[inline]
    pub fn input(&self, id: Id, index: usize) -> Id {
        match self.inputs(id).get(index) {
            Some(&input) if input != NONE => self.resolve(input),
            _ => NONE,
        }
    }

    /// Sets an input.
    pub fn set_input(&mut self, id: Id, index: usize, input: Id) {
        let value = self.values[id as usize];
        if (index as u32) < value.count {
            self.inputs[value.start as usize + index] = input;
            self.values[id as usize].is_changed = true;
        }
    }

    /// Sets all inputs of a value.
    pub fn set_inputs(&mut self, id: Id, inputs: &[Id]) {
        let start = self.inputs.len() as u32;
        self.inputs.extend_from_slice(inputs);
        let value = &mut self.values[id as usize];
        value.start = start;
        value.count = inputs.len() as u32;
        value.is_changed = true;
    }

    /// Moves a value to a block.
    pub fn set_block(&mut self, id: Id, block: BlockId) {
        let value = &mut self.values[id as usize];
        value.is_changed |= value.block != block;
        value.block = block;
    }

    /// Changes the operator of a value. Its position in the order of effects stays.
    pub fn set_op(&mut self, id: Id, op: Op, inputs: &[Id]) {
        self.set_inputs(id, inputs);
        self.values[id as usize].op = op;
    }

    /// Returns whether it must stay even if nothing uses it.
    pub fn is_kept(&self, id: Id) -> bool {
        self.values[id as usize].is_volatile || self.op(id).is_kept()
    }

    /// Returns whether loads must not move across it. Volatile loads of shared memory may change places with each other:
    /// the threads of a warp do both at the same time.
    pub fn is_barrier(&self, id: Id) -> bool {
        let is_global = self.op(id) == Op::Load(Space::Generic) && self.width(self.input(id, 0)) == 64;
        self.values[id as usize].is_volatile && is_global || self.op(id).is_barrier()
    }

    /// Returns its value if it is a constant.
    #[inline]
    pub fn number(&self, id: Id) -> Option<u64> {
        match self.values.get(id as usize)?.op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Removes an edge, and its inputs of the phis of `to`.
    pub fn remove_edge(&mut self, from: BlockId, to: BlockId) {
        let Some(edge) = self.blocks[to as usize].predecessors.iter().position(|block| *block == from) else {
            return;
        };
        self.blocks[to as usize].predecessors.remove(edge);
        for index in 0..self.blocks[to as usize].phis.len() {
            let phi = self.blocks[to as usize].phis[index];
            let mut inputs = self.inputs(phi).to_vec();
            if edge < inputs.len() {
                inputs.remove(edge);
                self.set_inputs(phi, &inputs);
            }
        }
    }
}
