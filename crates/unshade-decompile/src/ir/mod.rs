//! The representation that everything after a front end works on: values in SSA form, blocks, and nothing of a machine.
//!
//! A [`Value`] is an operator, a width in bits and its inputs; it is named by its place in [`Function::values`]. Pure
//! values belong to a block only so that it is known where they may be used: they have no order. What reads or changes
//! the world has one, and stands in [`Block::effects`]. A value that was replaced by another forwards to it.

pub mod build;
pub mod dominators;
pub mod evaluate;
pub mod fold;
pub mod hash;
pub mod image;
pub mod intrinsic;
mod op;
pub mod rows;

pub use image::Image;
pub use intrinsic::Intrinsic;
pub use op::Sign;

/// A value: into [`Function::values`].
pub type Id = u32;

/// A block: into [`Function::blocks`].
pub type BlockId = u32;

/// No value, no block, no address.
pub const NONE: u32 = u32::MAX;

/// Memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// What pointers of 64 bits go to.
    Generic,
    /// Memory of the block.
    Shared,
    /// Memory of the thread.
    Local,
    /// A bank of constants.
    Constant(u8),
}

/// What the thread is told of itself and its grid: its name, behind a reference so that operators are small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Special(pub &'static &'static str);

impl Special {
    /// Whether it is a number that needs no sign: indices and sizes of blocks and grids.
    pub fn is_small(self) -> bool {
        ["threadIdx", "blockIdx", "blockDim", "gridDim"].iter().any(|name| self.0.starts_with(name))
    }

    /// The array whose address the start of a window is.
    pub fn memory(self) -> Option<&'static &'static str> {
        match *self.0 {
            "local_window()" => Some(&"local"),
            "shared_window()" => Some(&"shared"),
            _ => None,
        }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "operators, by their usual names")]
pub enum Op {
    Constant(u64),
    Undefined,
    /// Bytes of the parameters, from this offset on.
    Parameter(u32),
    Special(Special),
    /// The address of a variable or function: into [`Function::symbols`].
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
    /// The same: where a variable gets a number before the branch that leads to its phi.
    Copy,
    /// The second input if the first holds, or else the third.
    Select,
    /// The address is the first input.
    Load(Space),
    /// The address is the first input, the value the second.
    Store(Space),
    /// A function of CUDA's, or one that is written out.
    Call(Intrinsic),
    /// Reads a texture or surface: into [`Function::images`].
    ImageRead(u32),
    /// Writes to a surface: into [`Function::images`].
    ImageWrite(u32),
    /// The n-th word of what was read.
    Result(u8),
    /// What can't be lifted: into [`Function::notes`]. The inputs are what it reads.
    Unlifted(u32),
}

impl Op {
    /// Whether it has a place in the order of effects.
    pub fn is_effect(self) -> bool {
        match self {
            Op::Load(space) => !matches!(space, Space::Constant(_)),
            Op::Store(_) | Op::Unlifted(_) | Op::ImageRead(_) | Op::ImageWrite(_) => true,
            Op::Call(intrinsic) => !intrinsic.is_pure(),
            _ => false,
        }
    }

    /// Whether it must stay although nothing uses it.
    pub fn is_kept(self) -> bool {
        match self {
            Op::Store(_) | Op::Unlifted(_) | Op::ImageWrite(_) => true,
            Op::Call(intrinsic) => intrinsic.is_kept(),
            _ => false,
        }
    }

    /// Whether it may read or write memory in a way that loads can't be moved across.
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
    /// What it is.
    pub op: Op,
    /// How many bits; 0 for what gives nothing.
    pub width: u8,
    /// The block that it is of.
    pub block: BlockId,
    /// The instruction that it comes from, or [`NONE`].
    pub address: u32,
    start: u32,
    count: u32,
    /// Whether it, one of its inputs or its block is another than when passes last looked at it.
    pub is_changed: bool,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Not yet known.
    Open,
    /// With another.
    Goto(BlockId),
    /// With one of two.
    Branch {
        /// What decides.
        condition: Id,
        /// Where it holds.
        yes: BlockId,
        /// Where it does not.
        no: BlockId,
    },
    /// With one of many.
    Switch {
        /// What decides.
        selector: Id,
        /// The values and their blocks.
        cases: Vec<(u64, BlockId)>,
        /// Where none of them fits, if that can be.
        otherwise: Option<BlockId>,
    },
    /// The thread ends.
    Return,
}

impl End {
    /// Where it goes on, each block once.
    pub fn successors(&self) -> Vec<BlockId> {
        let mut all = Vec::new();
        self.each_successor(&mut |block| all.push(block));
        all
    }

    /// Each block where it goes on, once.
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

    /// Puts another block in the place of one.
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

    /// What decides where it goes on.
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
    /// Values that are chosen by where control comes from; their inputs are in the order of `before`.
    pub phis: Vec<Id>,
    /// What reads or changes the world, in order.
    pub effects: Vec<Id>,
    /// The blocks before it, each once.
    pub before: Vec<BlockId>,
    /// How it ends.
    pub end: End,
    /// The instruction that it begins with.
    pub address: u32,
}

/// A function that is being decompiled.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// All values; those that nothing uses as well.
    pub values: Vec<Value>,
    inputs: Vec<Id>,
    forward: Vec<Id>,
    /// Whether a value was replaced since all were settled.
    is_unsettled: bool,
    /// All blocks; the first is entered first. Those that can't be reached have no way in.
    pub blocks: Vec<Block>,
    /// What stands in comments for what could not be lifted.
    pub notes: Vec<String>,
    /// Names of variables, textures and surfaces outside of the function.
    pub symbols: Vec<String>,
    /// What is read and written of textures and surfaces.
    pub images: Vec<Image>,
}

impl Function {
    /// A new block.
    pub fn block(&mut self, address: u32) -> BlockId {
        self.blocks.push(Block {
            phis: Vec::new(),
            effects: Vec::new(),
            before: Vec::new(),
            end: End::Open,
            address,
        });
        (self.blocks.len() - 1) as BlockId
    }

    /// Makes room for so many values.
    pub fn reserve(&mut self, values: usize) {
        self.values.reserve(values);
        self.inputs.reserve(2 * values);
        self.forward.reserve(values);
    }

    /// A new value, which is not yet placed in an order.
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
        });
        self.forward.push(id);
        id
    }

    /// A new value; with its place at the end of the block if it has effects.
    pub fn add(&mut self, op: Op, width: u8, block: BlockId, address: u32, inputs: &[Id]) -> Id {
        let id = self.raw(op, width, block, address, inputs);
        if op.is_effect() {
            self.blocks[block as usize].effects.push(id);
        }
        id
    }

    /// A number. It belongs to the entry.
    pub fn constant(&mut self, value: u64, width: u8) -> Id {
        self.raw(Op::Constant(fold::masked(value, width)), width, 0, NONE, &[])
    }

    /// What stands for a value now.
    #[inline]
    pub fn resolve(&self, id: Id) -> Id {
        let mut id = id;
        while self.forward[id as usize] != id {
            id = self.forward[id as usize];
        }
        id
    }

    /// Puts a value in the place of another everywhere.
    pub fn replace(&mut self, old: Id, new: Id) {
        let (old, new) = (self.resolve(old), self.resolve(new));
        if old != new {
            self.forward[old as usize] = new;
            self.is_unsettled = true;
        }
    }

    /// Follows what was replaced in the inputs of one value.
    #[inline]
    pub fn settle_inputs(&mut self, id: Id) {
        let value = &mut self.values[id as usize];
        for input in &mut self.inputs[value.start as usize..(value.start + value.count) as usize] {
            let mut target = *input;
            while self.forward[target as usize] != target {
                // Chains become half as long, for the next that comes this way.
                let next = self.forward[target as usize];
                self.forward[target as usize] = self.forward[next as usize];
                target = self.forward[target as usize];
            }
            value.is_changed |= target != *input;
            *input = target;
        }
    }

    /// Shortens all chains of forwarding, and follows them in all inputs.
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

    /// Shortens all chains of forwarding, and follows them in what blocks name. Inputs are left for [`Self::compact`].
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

    /// Forgets all values but these, which use no others; those that stay are numbered anew in their order. What was
    /// replaced is followed.
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

    /// Whether it was replaced by another.
    pub fn is_replaced(&self, id: Id) -> bool {
        self.forward[id as usize] != id
    }

    /// What a value is.
    #[inline]
    pub fn op(&self, id: Id) -> Op {
        self.values[id as usize].op
    }

    /// How many bits it has.
    #[inline]
    pub fn width(&self, id: Id) -> u8 {
        self.values[id as usize].width
    }

    /// Its inputs, as they were given.
    #[inline]
    pub fn inputs(&self, id: Id) -> &[Id] {
        let value = &self.values[id as usize];
        &self.inputs[value.start as usize..(value.start + value.count) as usize]
    }

    /// An input, as it stands now; [`NONE`] if there are not so many.
    #[inline]
    pub fn input(&self, id: Id, index: usize) -> Id {
        match self.inputs(id).get(index) {
            Some(&input) if input != NONE => self.resolve(input),
            _ => NONE,
        }
    }

    /// Changes an input.
    pub fn set_input(&mut self, id: Id, index: usize, input: Id) {
        let value = self.values[id as usize];
        if (index as u32) < value.count {
            self.inputs[value.start as usize + index] = input;
            self.values[id as usize].is_changed = true;
        }
    }

    /// Gives a value other inputs.
    pub fn set_inputs(&mut self, id: Id, inputs: &[Id]) {
        let start = self.inputs.len() as u32;
        self.inputs.extend_from_slice(inputs);
        let value = &mut self.values[id as usize];
        value.start = start;
        value.count = inputs.len() as u32;
        value.is_changed = true;
    }

    /// Puts a value into a block.
    pub fn set_block(&mut self, id: Id, block: BlockId) {
        let value = &mut self.values[id as usize];
        value.is_changed |= value.block != block;
        value.block = block;
    }

    /// Makes another operation of a value. Its place in the order of effects stays.
    pub fn set_op(&mut self, id: Id, op: Op, inputs: &[Id]) {
        self.set_inputs(id, inputs);
        self.values[id as usize].op = op;
    }

    /// The number that it is.
    #[inline]
    pub fn number(&self, id: Id) -> Option<u64> {
        match self.values.get(id as usize)?.op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Takes a way from one block to another out of the phis of the latter.
    pub fn remove_edge(&mut self, from: BlockId, to: BlockId) {
        let Some(place) = self.blocks[to as usize].before.iter().position(|before| *before == from) else {
            return;
        };
        self.blocks[to as usize].before.remove(place);
        for index in 0..self.blocks[to as usize].phis.len() {
            let phi = self.blocks[to as usize].phis[index];
            let mut inputs = self.inputs(phi).to_vec();
            if place < inputs.len() {
                inputs.remove(place);
                self.set_inputs(phi, &inputs);
            }
        }
    }
}
