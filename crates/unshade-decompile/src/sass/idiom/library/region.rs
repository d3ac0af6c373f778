//! A part of a function that computes one value from a few others, to be executed on numbers.
//!
//! The part is the blocks between a *head* and the block of the value: the head dominates them, and phis, branches and
//! loops among them are executed as they are. Its values may depend on nothing but the leaves, constants, and variables
//! with known contents; what else a phi or a select may choose, it must not choose in any run. It may use local memory, which is empty at its beginning but for what the end of the head stores. Pure values are computed in the block
//! that they belong to, which is the first one where their inputs are available (see [`super::super::hoist`]); those from before the head
//! depend on leaves only, and are computed first.

use super::slice::{MAX_UNKNOWN, is_outer};
use crate::ir::dominators::Graph;
use crate::ir::evaluate::operate;
use crate::ir::fold::masked;
use crate::ir::{
    BlockId, BlockMap, End, Function, IdVec, Intrinsic, MemoryObject, Op, Space, SymbolId, ValueId, ValueMap,
};

/// Maximum number of blocks.
const MAX_BLOCKS: usize = 48;

/// Maximum number of values.
const MAX_VALUES: usize = 640;

/// Maximum number of operations that a run executes.
const MAX_STEPS: usize = 4000;

/// Maximum number of words of local memory that a run writes.
const MAX_LOCAL: usize = 64;

/// Maximum number of times that the head moves up.
const MAX_HEADS: usize = 8;

/// Maximum number of inputs of an operation.
const MAX_INPUTS: usize = 6;

/// The bits of an address that are the offset in a variable; those above are its number, plus one.
const OFFSET_BITS: u32 = 32;

/// A part of a function. Equal ones give equal results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Region {
    blocks: Vec<RegionBlock>,
    operations: Vec<Operation>,
    inputs: Vec<u32>,
    /// Slots of phis, and those of what an edge sets them to.
    copies: Vec<(u32, u32)>,
    /// Slots with constants, and the width of these.
    constants: Vec<(u32, u64, u8)>,
    /// The contents of variables.
    variables: Vec<Vec<u8>>,
    slots: u32,
    result: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RegionBlock {
    first: u32,
    end: u32,
    exit: Exit,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Exit {
    /// The value is known.
    Done,
    /// Continues with one or another block.
    Branch {
        condition: u32,
        yes: Edge,
        no: Edge,
    },
    Goto(Edge),
    /// Leaves the region in another way.
    Leave,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edge {
    /// The index of the block, or `u32::MAX` outside of the region.
    to: u32,
    first: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Operation {
    op: Op,
    /// Widths of the first input and of the result.
    width: u8,
    out: u8,
    slot: u32,
    first: u32,
    end: u32,
}

/// Reused memory of runs.
#[derive(Debug, Default)]
pub(super) struct Memory {
    slots: Vec<Option<u64>>,
    copied: Vec<Option<u64>>,
    local: Vec<(u64, u32)>,
}

/// The blocks of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The block that all others come after. Its effects happen before, but for stores to local memory that are read after.
    pub head: BlockId,
    /// The block of the value.
    pub join: BlockId,
    /// Those between.
    pub inner: Vec<BlockId>,
}

impl Region {
    /// Creates the region that computes a value from leaves.
    pub(super) fn new(
        function: &Function,
        graph: &Graph,
        objects: &[MemoryObject<'_>],
        root: ValueId,
        leaves: &[ValueId],
        marks: &mut Marks,
    ) -> Option<(Self, Extent)> {
        let (needed, extent) = needed(function, graph, root, leaves, marks)?;
        let available = |leaf: &ValueId| graph.dominates(function.values[*leaf].block, extent.head);
        if !leaves.iter().all(available) {
            return None;
        }
        let mut builder = Builder {
            function,
            objects,
            extent: &extent,
            marks,
            region: Self::default(),
            symbols: Vec::new(),
        };
        for leaf in leaves {
            builder.slot(*leaf);
        }
        builder.run(root, needed)?;
        let region = builder.region;
        Some((region, extent))
    }

    /// Returns the constants of a width.
    pub(super) fn constants(&self, width: u8) -> impl Iterator<Item = u64> {
        self.constants.iter().filter(move |constant| constant.2 == width).map(|constant| constant.1)
    }

    /// Returns whether an operation flushes subnormal floats.
    pub(super) fn flushes(&self) -> bool {
        self.operations.iter().any(|operation| operation.op == Op::Call(Intrinsic::FlushToZero))
    }

    /// Returns whether it writes local memory.
    pub(super) fn writes_local(&self) -> bool {
        self.operations.iter().any(|operation| operation.op == Op::Store(Space::Local))
    }

    /// Returns the value for numbers of the leaves.
    pub(super) fn value(&self, leaves: &[u64], memory: &mut Memory) -> Option<u64> {
        memory.local.clear();
        memory.slots.clear();
        memory.slots.resize(self.slots as usize, None);
        for (slot, leaf) in memory.slots.iter_mut().zip(leaves) {
            *slot = Some(*leaf);
        }
        for (slot, number, _) in &self.constants {
            memory.slots[*slot as usize] = Some(*number);
        }
        let mut block = self.blocks.first()?;
        let mut steps = 0;
        loop {
            let operations = &self.operations[block.first as usize..block.end as usize];
            steps += operations.len() + 1;
            if steps > MAX_STEPS {
                return None;
            }
            for operation in operations {
                let value = self.step(operation, memory);
                if value.is_none() && operation.op.is_effect() {
                    return None;
                }
                memory.slots[operation.slot as usize] = value;
            }
            let edge = match &block.exit {
                Exit::Done => return memory.slots[self.result as usize],
                Exit::Leave => return None,
                Exit::Goto(edge) => edge,
                Exit::Branch { condition, yes, no } => match memory.slots[*condition as usize]? {
                    0 => no,
                    _ => yes,
                },
            };
            let copies = &self.copies[edge.first as usize..edge.end as usize];
            memory.copied.clear();
            memory.copied.extend(copies.iter().map(|(_, from)| memory.slots[*from as usize]));
            for ((to, _), value) in copies.iter().zip(&memory.copied) {
                memory.slots[*to as usize] = *value;
            }
            block = self.blocks.get(edge.to as usize)?;
        }
    }

    /// Executes an operation. The side of a select that is not taken need not have a value.
    fn step(&self, operation: &Operation, memory: &mut Memory) -> Option<u64> {
        let slots = &self.inputs[operation.first as usize..operation.end as usize];
        let at = |index: usize| memory.slots[*slots.get(index)? as usize];
        match operation.op {
            Op::Select => at(if at(0)? & 1 != 0 { 1 } else { 2 }),
            Op::Copy => at(0),
            Op::Load(Space::Local) => load_local(&memory.local, at(0)?, operation.out),
            Op::Load(_) => self.load(at(0)?, operation.out),
            Op::Store(_) => {
                let (address, value) = (at(0)?, at(1)?);
                for word in 0..u64::from(operation.out / 32) {
                    memory.local.retain(|entry| entry.0 != address + 4 * word);
                    memory.local.push((address + 4 * word, (value >> (32 * word)) as u32));
                }
                (memory.local.len() <= MAX_LOCAL && address % 4 == 0 && operation.out >= 32).then_some(0)
            }
            op => {
                let mut inputs = [0; MAX_INPUTS];
                for (index, input) in inputs.iter_mut().enumerate().take(slots.len()) {
                    *input = at(index)?;
                }
                let value = operate(op, &inputs[..slots.len()], operation.width, operation.out)?;
                Some(masked(value, operation.out))
            }
        }
    }

    /// Reads a variable.
    fn load(&self, address: u64, width: u8) -> Option<u64> {
        let index = usize::try_from(address >> OFFSET_BITS).ok()?.checked_sub(1)?;
        let offset = (address & (u64::MAX >> OFFSET_BITS)) as usize;
        let bytes = self.variables.get(index)?.get(offset..)?.get(..usize::from(width / 8))?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

fn load_local(local: &[(u64, u32)], address: u64, width: u8) -> Option<u64> {
    let word = |address: u64| local.iter().find(|entry| entry.0 == address).map(|entry| u64::from(entry.1));
    match width {
        32 => word(address),
        64 => Some(word(address + 4)? << 32 | word(address)?),
        _ => None,
    }
}

/// How a region gets a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Need {
    /// It is not needed.
    #[default]
    None,
    Computed,
    /// Not at all. It is what a phi or a select does not choose.
    Unknown,
}

/// What is known of the values and blocks of a function while a region is created. It is reused for the next one.
#[derive(Debug)]
pub(super) struct Marks {
    values: ValueMap<Mark>,
    /// The place of each block in the region, if the number is the current one.
    blocks: BlockMap<(u32, u32)>,
    /// What has another number is of another region.
    number: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    number: u32,
    need: Need,
    is_placed: bool,
    slot: Option<u32>,
}

impl Marks {
    /// Creates the marks for a function.
    pub(super) fn new(function: &Function) -> Self {
        Self {
            values: IdVec::filled(Mark::default(), function.values.len()),
            blocks: IdVec::filled((0, 0), function.blocks.len()),
            number: 0,
        }
    }

    fn value(&mut self, id: ValueId) -> &mut Mark {
        let mark = &mut self.values[id];
        if mark.number != self.number {
            *mark = Mark { number: self.number, ..Mark::default() };
        }
        mark
    }

    fn need(&self, id: ValueId) -> Need {
        let mark = &self.values[id];
        if mark.number == self.number { mark.need } else { Need::None }
    }

    fn place(&self, block: BlockId) -> Option<usize> {
        let (number, place) = *self.blocks.get(block)?;
        (number == self.number).then_some(place as usize)
    }
}

/// Returns the values that a root needs besides leaves, marked with how they are, and the blocks that compute them.
fn needed(
    function: &Function,
    graph: &Graph,
    root: ValueId,
    leaves: &[ValueId],
    marks: &mut Marks,
) -> Option<(Vec<ValueId>, Extent)> {
    let join = function.values[root].block;
    let mut extent = Extent { head: join, join, inner: Vec::new() };
    for _ in 0..MAX_HEADS {
        marks.number += 1;
        let mut needed: Vec<ValueId> = Vec::new();
        let mut unknown = 0;
        let mut list = vec![root];
        let between = extent.inner.iter().chain((extent.head != join).then_some(&extent.head));
        for &block in between {
            match &function.blocks[block].end {
                End::Switch { .. } => return None,
                end => list.extend(end.input().map(|input| function.resolve(input))),
            }
        }
        let stores = stores_before(function, &extent);
        list.extend(&stores);
        for effect in extent.inner.iter().flat_map(|block| &function.blocks[*block].effects) {
            match function.op(*effect) {
                Op::Store(Space::Local) => list.push(*effect),
                Op::Load(_) if !function.values[*effect].is_volatile => {}
                _ => return None,
            }
        }
        let mut head = extent.head;
        while let Some(id) = list.pop() {
            if leaves.contains(&id) || marks.need(id) != Need::None {
                continue;
            }
            let is_known = is_inner(function, id) && (id == root || !is_outer(function, graph, id, leaves));
            let need = if is_known { Need::Computed } else { Need::Unknown };
            marks.value(id).need = need;
            needed.push(id);
            unknown += usize::from(need == Need::Unknown);
            if needed.len() > MAX_VALUES || unknown > MAX_UNKNOWN {
                return None;
            }
            if need == Need::Unknown {
                continue;
            }
            let op = function.op(id);
            if op == Op::Phi || op.is_effect() && !stores.contains(&id) {
                let block = function.values[id].block;
                if block == BlockId::ENTRY || !graph.is_reached(block) || op.is_effect() && block == join {
                    return None;
                }
                head = graph.common(head, graph.dominator[block]);
            }
            for index in 0..function.inputs(id).len() {
                match function.input(id, index) {
                    ValueId::NONE => {}
                    input => list.push(input),
                }
            }
        }
        let inner = between_blocks(function, head, join)?;
        let found = Extent { head, join, inner };
        if found == extent {
            return Some((needed, extent));
        }
        extent = found;
    }
    None
}

/// Returns the stores to local memory at the end of a head that the blocks after it read, if their addresses are known.
fn stores_before(function: &Function, extent: &Extent) -> Vec<ValueId> {
    let address = |effect: &ValueId| function.number(function.input(*effect, 0));
    let inner = extent.inner.iter().flat_map(|block| &function.blocks[*block].effects);
    let loads = inner.filter(|effect| function.op(**effect) == Op::Load(Space::Local));
    let loaded: Vec<u64> = loads.filter_map(address).collect();
    let is_read = |effect: &&ValueId| address(effect).is_some_and(|address| loaded.contains(&address));
    let writes = |effect: &&ValueId| matches!(function.op(**effect), Op::Store(Space::Local) | Op::Invoke(_));
    let last = function.blocks[extent.head].effects.iter().rev().filter(writes);
    // Another one may write to the same address.
    last.take_while(is_read).filter(|effect| is_inner(function, **effect)).copied().collect()
}

/// Returns whether a value may be computed inside of a region.
pub(super) fn is_inner(function: &Function, id: ValueId) -> bool {
    match function.op(id) {
        Op::Parameter(_) | Op::Special(_) | Op::Result(_) => false,
        Op::Load(_) => !function.values[id].is_volatile,
        Op::Store(space) => space == Space::Local && !function.values[id].is_volatile,
        op => !op.is_effect() && function.inputs(id).len() <= MAX_INPUTS || op == Op::Phi,
    }
}

/// Returns the blocks on paths from a head, which dominates it, to a block.
pub(super) fn between_blocks(function: &Function, head: BlockId, join: BlockId) -> Option<Vec<BlockId>> {
    let mut inner: Vec<BlockId> = Vec::new();
    if head == join {
        return Some(inner);
    }
    let mut list = function.blocks[join].predecessors.clone();
    while let Some(block) = list.pop() {
        if block == head || inner.contains(&block) {
            continue;
        }
        // The block of the value is in a loop that begins after the head.
        if block == join || inner.len() >= MAX_BLOCKS || block == BlockId::ENTRY {
            return None;
        }
        inner.push(block);
        list.extend(&function.blocks[block].predecessors);
    }
    inner.sort_unstable();
    Some(inner)
}

struct Builder<'a> {
    function: &'a Function,
    objects: &'a [MemoryObject<'a>],
    extent: &'a Extent,
    marks: &'a mut Marks,
    region: Region,
    symbols: Vec<SymbolId>,
}

impl Builder<'_> {
    fn slot(&mut self, id: ValueId) -> u32 {
        let next = self.region.slots;
        let slot = *self.marks.value(id).slot.get_or_insert(next);
        self.region.slots += u32::from(slot == next);
        slot
    }

    /// Returns the place of the block where a value is computed.
    fn home(&self, id: ValueId) -> usize {
        self.marks.place(self.function.values[id].block).unwrap_or(0)
    }

    fn run(&mut self, root: ValueId, mut values: Vec<ValueId>) -> Option<()> {
        let function = self.function;
        let mut order = vec![self.extent.head];
        order.extend(&self.extent.inner);
        order.extend((self.extent.join != self.extent.head).then_some(self.extent.join));
        for (place, &block) in (0..).zip(&order) {
            self.marks.blocks[block] = (self.marks.number, place);
        }
        // The order must not depend on the leaves.
        values.sort_unstable();
        let mut homes: Vec<(usize, ValueId)> = Vec::with_capacity(values.len());
        for id in values {
            match function.op(id) {
                Op::Constant(number) => {
                    let slot = self.slot(id);
                    self.region.constants.push((slot, number, function.width(id)));
                }
                Op::Symbol(symbol) => self.symbol(id, symbol)?,
                Op::Undefined => {}
                _ if self.marks.need(id) == Need::Unknown => {}
                _ => homes.push((self.home(id), id)),
            }
        }
        homes.sort_unstable();
        let mut homes = homes.into_iter().peekable();
        for (place, &block) in order.iter().enumerate() {
            let first = self.region.operations.len() as u32;
            let is_inner = block != self.extent.head && block != self.extent.join;
            for &effect in &function.blocks[block].effects {
                let is_here = is_inner || matches!(function.op(effect), Op::Store(_));
                if is_here && self.marks.need(effect) != Need::None {
                    self.place(effect, place)?;
                }
            }
            while let Some((_, id)) = homes.next_if(|home| home.0 == place) {
                self.place(id, place)?;
            }
            let end = self.region.operations.len() as u32;
            let exit = self.exit(block);
            self.region.blocks.push(RegionBlock { first, end, exit });
        }
        self.region.result = self.slot(root);
        Some(())
    }

    /// Gives a variable an address, if its contents are known.
    fn symbol(&mut self, id: ValueId, symbol: SymbolId) -> Option<()> {
        let index = match self.symbols.iter().position(|known| *known == symbol) {
            Some(index) => index,
            None => {
                let name = &self.function.symbols[symbol];
                let object = self.objects.iter().find(|object| object.name == name.as_str())?;
                self.symbols.push(symbol);
                self.region.variables.push(object.bytes.to_vec());
                self.symbols.len() - 1
            }
        };
        let slot = self.slot(id);
        self.region.constants.push((slot, (index as u64 + 1) << OFFSET_BITS, 0));
        Some(())
    }

    /// Adds the operation of a value after those of its inputs in the same block.
    fn place(&mut self, id: ValueId, block: usize) -> Option<()> {
        let function = self.function;
        let mut stack = vec![(id, 0)];
        while let Some((id, next)) = stack.last_mut() {
            let (id, index) = (*id, *next);
            *next += 1;
            let op = function.op(id);
            if index == 0 {
                let is_elsewhere = self.marks.need(id) != Need::Computed || self.home(id) != block;
                // Effects are placed in their order: one that comes later has not happened.
                let is_later = op.is_effect() && stack.len() > 1;
                let is_set = matches!(op, Op::Phi | Op::Constant(_) | Op::Symbol(_) | Op::Undefined);
                if is_elsewhere || is_set || is_later || self.marks.value(id).is_placed {
                    stack.pop();
                    continue;
                }
            }
            if index < function.inputs(id).len() {
                match function.input(id, index) {
                    ValueId::NONE => return None,
                    input => stack.push((input, 0)),
                }
                continue;
            }
            stack.pop();
            self.marks.value(id).is_placed = true;
            self.operation(id);
        }
        Some(())
    }

    fn operation(&mut self, id: ValueId) {
        let function = self.function;
        let op = function.op(id);
        let first = self.region.inputs.len() as u32;
        for index in 0..function.inputs(id).len() {
            let slot = self.slot(function.input(id, index));
            self.region.inputs.push(slot);
        }
        let end = self.region.inputs.len() as u32;
        let width = function.inputs(id).first().map_or(0, |_| function.width(function.input(id, 0)));
        let out = match op {
            Op::Store(_) => function.width(function.input(id, 1)),
            _ => function.width(id),
        };
        let slot = self.slot(id);
        self.region.operations.push(Operation { op, width, out, slot, first, end });
    }

    fn exit(&mut self, block: BlockId) -> Exit {
        if block == self.extent.join {
            return Exit::Done;
        }
        let function = self.function;
        match function.blocks[block].end {
            End::Goto(to) => Exit::Goto(self.edge(block, to)),
            End::Branch { condition, yes, no } => {
                let condition = self.slot(function.resolve(condition));
                let (yes, no) = (self.edge(block, yes), self.edge(block, no));
                Exit::Branch { condition, yes, no }
            }
            _ => Exit::Leave,
        }
    }

    fn edge(&mut self, from: BlockId, to: BlockId) -> Edge {
        let function = self.function;
        let first = self.region.copies.len() as u32;
        let place = self.marks.place(to).filter(|place| *place > 0);
        let edge = function.blocks[to].predecessors.iter().position(|block| *block == from);
        if let (Some(_), Some(edge)) = (place, edge) {
            for &phi in &function.blocks[to].phis {
                let input = function.input(phi, edge);
                if self.marks.need(phi) != Need::None && input != ValueId::NONE {
                    let copy = (self.slot(phi), self.slot(input));
                    self.region.copies.push(copy);
                }
            }
        }
        let end = self.region.copies.len() as u32;
        Edge { to: place.map_or(u32::MAX, |place| place as u32), first, end }
    }
}
