//! SSA construction while blocks are filled, after Braun et al., "Simple and Efficient Construction of Static Single
//! Assignment Form".
//!
//! A front end writes and reads numbered variables (registers, flags). A block is sealed when all of its predecessors
//! are known. Reads walk up the graph with a work list instead of recursion. Trivial phis are removed at the end.

use super::id_lists::IdLists;
use super::{BlockId, BlockMap, End, Function, IdVec, Key, NO_ADDRESS, Op, ValueId, ValueMap};

/// A function whose blocks are being filled.
#[derive(Debug)]
pub struct Builder {
    /// The function.
    pub function: Function,
    /// The width of each variable.
    widths: Vec<u8>,
    /// The current value, by block and variable.
    values: Vec<ValueId>,
    sealed: BlockMap<bool>,
    /// Phis whose block is not sealed yet.
    waiting: BlockMap<Vec<(ValueId, u32)>>,
    /// The values of variables at the entry.
    entry: Vec<ValueId>,
    /// The blocks that a search visited, kept to reuse the memory.
    visited: Vec<BlockId>,
}

impl Builder {
    /// Creates a function with one unsealed block.
    pub fn new(widths: Vec<u8>) -> Self {
        let entry = vec![ValueId::NONE; widths.len()];
        let mut builder = Self {
            function: Function::default(),
            widths,
            values: Vec::new(),
            sealed: BlockMap::new(),
            waiting: BlockMap::new(),
            entry,
            visited: Vec::new(),
        };
        builder.block(0);
        builder
    }

    /// Reserves memory for blocks and values.
    pub fn reserve(&mut self, blocks: usize, values: usize) {
        self.values.reserve(blocks * self.widths.len());
        self.function.reserve(values);
    }

    /// Adds a block.
    pub fn block(&mut self, address: u32) -> BlockId {
        let block = self.function.block(address);
        self.values.resize(self.values.len() + self.widths.len(), ValueId::NONE);
        self.sealed.push(false);
        self.waiting.push(Vec::new());
        block
    }

    fn slot(&self, block: BlockId, variable: u32) -> usize {
        block.index() * self.widths.len() + variable as usize
    }

    /// Writes a variable.
    pub fn write(&mut self, block: BlockId, variable: u32, value: ValueId) {
        let slot = self.slot(block, variable);
        self.values[slot] = value;
    }

    /// Sets the value of a variable at the entry, before anything reads it.
    pub fn set_entry(&mut self, variable: u32, value: ValueId) {
        self.entry[variable as usize] = value;
    }

    /// Reads a variable.
    pub fn read(&mut self, block: BlockId, variable: u32) -> ValueId {
        let mut unfilled = Vec::new();
        let value = self.find(block, variable, &mut unfilled);
        self.fill(unfilled);
        value
    }

    /// Returns the value of a variable in a block; new phis without inputs are appended to `unfilled`.
    fn find(&mut self, block: BlockId, variable: u32, unfilled: &mut Vec<(ValueId, u32)>) -> ValueId {
        let mut at = block;
        let mut visited = std::mem::take(&mut self.visited);
        let value = loop {
            let slot = self.slot(at, variable);
            let known = self.values[slot];
            if known != ValueId::NONE {
                break self.function.resolve(known);
            }
            visited.push(at);
            // A search longer than the number of blocks is in a cycle: an unreachable loop.
            let is_cycle = visited.len() > self.function.blocks.len();
            let predecessors = &self.function.blocks[at].predecessors;
            if self.sealed[at] && predecessors.len() == 1 && !is_cycle {
                at = predecessors[0];
                continue;
            }
            let width = self.widths[variable as usize];
            if self.sealed[at] && (predecessors.is_empty() || is_cycle) {
                if self.entry[variable as usize] == ValueId::NONE {
                    self.entry[variable as usize] =
                        self.function.raw(Op::Undefined, width, BlockId::ENTRY, NO_ADDRESS, &[]);
                }
                break self.entry[variable as usize];
            }
            let address = self.function.blocks[at].address;
            let phi = self.function.raw(Op::Phi, width, at, address, &[]);
            self.function.blocks[at].phis.push(phi);
            if self.sealed[at] {
                unfilled.push((phi, variable));
            } else {
                self.waiting[at].push((phi, variable));
            }
            break phi;
        };
        for block in visited.drain(..) {
            self.write(block, variable, value);
        }
        self.visited = visited;
        value
    }

    fn fill(&mut self, mut unfilled: Vec<(ValueId, u32)>) {
        let mut inputs = Vec::new();
        while let Some((phi, variable)) = unfilled.pop() {
            let block = self.function.values[phi].block;
            inputs.clear();
            for index in 0..self.function.blocks[block].predecessors.len() {
                let predecessors = self.function.blocks[block].predecessors[index];
                inputs.push(self.find(predecessors, variable, &mut unfilled));
            }
            self.function.set_inputs(phi, &inputs);
        }
    }

    /// Ends a block.
    pub fn end(&mut self, block: BlockId, end: End) {
        let end = match end {
            End::Branch { yes, no, .. } if yes == no => End::Goto(yes),
            end => end,
        };
        end.each_successor(&mut |next| self.function.blocks[next].predecessors.push(block));
        self.function.blocks[block].end = end;
    }

    /// Declares that all predecessors of a block are known.
    pub fn seal(&mut self, block: BlockId) {
        if std::mem::replace(&mut self.sealed[block], true) {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting[block]);
        self.fill(waiting);
    }

    /// Returns the function when all blocks are filled.
    pub fn finish(mut self) -> Function {
        for block in self.function.blocks.keys() {
            self.seal(block);
        }
        remove_trivial_phis(&mut self.function);
        self.function
    }
}

/// Replaces phis with only one input besides themselves by that input, until there are none.
pub fn remove_trivial_phis(function: &mut Function) {
    let mut phis: Vec<ValueId> =
        function.blocks.iter().flat_map(|block| block.phis.iter().copied()).collect();
    let count = phis.len();
    phis.retain(|phi| !function.is_replaced(*phi) && remove_trivial(function, *phi).is_none());
    if phis.len() < count {
        remove_by_users(function, phis);
    }
    function.settle();
}

/// Removes trivial phis; the phis that use a removed one are examined again.
fn remove_by_users(function: &mut Function, phis: Vec<ValueId>) {
    let users = phis_of_phis(function, &phis);
    // The users of phis that were replaced by another.
    let mut taken: ValueMap<Vec<ValueId>> = IdVec::filled(Vec::new(), function.values.len());
    let mut is_waiting = IdVec::filled(false, function.values.len());
    for &phi in &phis {
        is_waiting[phi] = true;
    }
    let mut list = phis;
    while let Some(phi) = list.pop() {
        is_waiting[phi] = false;
        if function.is_replaced(phi) {
            continue;
        }
        let Some(same) = remove_trivial(function, phi) else { continue };
        let mut again = std::mem::take(&mut taken[phi]);
        again.extend_from_slice(users.of(phi));
        again.retain(|user| !function.is_replaced(*user));
        list.extend(again.iter().filter(|user| !std::mem::replace(&mut is_waiting[**user], true)));
        if matches!(function.op(same), Op::Phi) {
            taken[same].append(&mut again);
        }
    }
}

/// Replaces a phi by its only input besides itself, and returns that; `None` if it has several.
fn remove_trivial(function: &mut Function, phi: ValueId) -> Option<ValueId> {
    function.settle_inputs(phi);
    let mut same = only_input(function, phi)?;
    if same == ValueId::NONE {
        same = function.raw(Op::Undefined, function.width(phi), BlockId::ENTRY, NO_ADDRESS, &[]);
    }
    function.replace(phi, same);
    Some(same)
}

/// Returns, for each phi, the phis that use it.
fn phis_of_phis(function: &Function, phis: &[ValueId]) -> IdLists<ValueId> {
    let mut pairs = Vec::new();
    for &phi in phis {
        for index in 0..function.inputs(phi).len() {
            let input = function.input(phi, index);
            if matches!(function.op(input), Op::Phi) {
                pairs.push((input, phi));
            }
        }
    }
    IdLists::new(function.values.len(), &pairs)
}

/// Returns the only input of a phi besides itself, or [`ValueId::NONE`]; `None` if it has several. Inputs must be
/// settled.
fn only_input(function: &Function, phi: ValueId) -> Option<ValueId> {
    let mut same = ValueId::NONE;
    for &input in function.inputs(phi) {
        if input == phi || input == same {
            continue;
        }
        if same != ValueId::NONE {
            return None;
        }
        same = input;
    }
    Some(same)
}
