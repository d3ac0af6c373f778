//! SSA as blocks are filled, after Braun and others, "Simple and Efficient Construction of Static Single Assignment Form".
//!
//! A front end writes and reads numbered places (registers, flags); a block is sealed when all blocks before it are
//! known. Reading walks up with a list instead of recursion. Phis that choose between a value and themselves are taken
//! out at the end.

use super::rows::Rows;
use super::{BlockId, End, Function, Id, NONE, Op};

/// A function whose blocks are being filled.
#[derive(Debug)]
pub struct Builder {
    /// The function.
    pub function: Function,
    /// How many places there are, and how wide each is.
    widths: Vec<u8>,
    /// By block and place.
    values: Vec<Id>,
    sealed: Vec<bool>,
    /// Phis that wait for their block to be sealed.
    waiting: Vec<Vec<(Id, u32)>>,
    /// What places hold at the entry.
    entry: Vec<Id>,
    /// The blocks that a search went through: memory that is used again.
    passed: Vec<BlockId>,
}

impl Builder {
    /// A function with one block, which is not sealed.
    pub fn new(widths: Vec<u8>) -> Self {
        let entry = vec![NONE; widths.len()];
        let mut builder = Self {
            function: Function::default(),
            widths,
            values: Vec::new(),
            sealed: Vec::new(),
            waiting: Vec::new(),
            entry,
            passed: Vec::new(),
        };
        builder.block(0);
        builder
    }

    /// Makes room for so many blocks and values.
    pub fn reserve(&mut self, blocks: usize, values: usize) {
        self.values.reserve(blocks * self.widths.len());
        self.function.reserve(values);
    }

    /// A new block.
    pub fn block(&mut self, address: u32) -> BlockId {
        let block = self.function.block(address);
        self.values.resize(self.values.len() + self.widths.len(), NONE);
        self.sealed.push(false);
        self.waiting.push(Vec::new());
        block
    }

    fn slot(&self, block: BlockId, place: u32) -> usize {
        block as usize * self.widths.len() + place as usize
    }

    /// Writes a place.
    pub fn write(&mut self, block: BlockId, place: u32, value: Id) {
        let slot = self.slot(block, place);
        self.values[slot] = value;
    }

    /// Reads a place.
    pub fn read(&mut self, block: BlockId, place: u32) -> Id {
        let mut unfilled = Vec::new();
        let value = self.find(block, place, &mut unfilled);
        self.fill(unfilled);
        value
    }

    /// What a place holds in a block; phis that this makes are put in the list.
    fn find(&mut self, block: BlockId, place: u32, unfilled: &mut Vec<(Id, u32)>) -> Id {
        let mut at = block;
        let mut passed = std::mem::take(&mut self.passed);
        let value = loop {
            let slot = self.slot(at, place);
            let known = self.values[slot];
            if known != NONE {
                break self.function.resolve(known);
            }
            passed.push(at);
            // More than there are blocks are a circle: a loop that nothing leads into.
            let is_circle = passed.len() > self.function.blocks.len();
            let before = &self.function.blocks[at as usize].before;
            if self.sealed[at as usize] && before.len() == 1 && !is_circle {
                at = before[0];
                continue;
            }
            let width = self.widths[place as usize];
            if self.sealed[at as usize] && (before.is_empty() || is_circle) {
                if self.entry[place as usize] == NONE {
                    self.entry[place as usize] = self.function.raw(Op::Undefined, width, 0, NONE, &[]);
                }
                break self.entry[place as usize];
            }
            let address = self.function.blocks[at as usize].address;
            let phi = self.function.raw(Op::Phi, width, at, address, &[]);
            self.function.blocks[at as usize].phis.push(phi);
            if self.sealed[at as usize] {
                unfilled.push((phi, place));
            } else {
                self.waiting[at as usize].push((phi, place));
            }
            break phi;
        };
        for block in passed.drain(..) {
            self.write(block, place, value);
        }
        self.passed = passed;
        value
    }

    fn fill(&mut self, mut unfilled: Vec<(Id, u32)>) {
        let mut inputs = Vec::new();
        while let Some((phi, place)) = unfilled.pop() {
            let block = self.function.values[phi as usize].block as usize;
            inputs.clear();
            for index in 0..self.function.blocks[block].before.len() {
                let before = self.function.blocks[block].before[index];
                inputs.push(self.find(before, place, &mut unfilled));
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
        end.each_successor(&mut |next| self.function.blocks[next as usize].before.push(block));
        self.function.blocks[block as usize].end = end;
    }

    /// Says that all blocks before this one are known.
    pub fn seal(&mut self, block: BlockId) {
        if std::mem::replace(&mut self.sealed[block as usize], true) {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting[block as usize]);
        self.fill(waiting);
    }

    /// The function, when all blocks are filled.
    pub fn finish(mut self) -> Function {
        for block in 0..self.function.blocks.len() as BlockId {
            self.seal(block);
        }
        remove_trivial_phis(&mut self.function);
        self.function
    }
}

/// Puts the one other input in the place of phis that have no more, until there are none.
pub fn remove_trivial_phis(function: &mut Function) {
    let mut phis: Vec<Id> = function.blocks.iter().flat_map(|block| block.phis.iter().copied()).collect();
    let count = phis.len();
    phis.retain(|phi| !function.is_replaced(*phi) && remove_trivial(function, *phi).is_none());
    if phis.len() < count {
        remove_by_users(function, phis);
    }
    function.settle();
}

/// The same, where what chooses from a phi that goes is looked at again.
fn remove_by_users(function: &mut Function, phis: Vec<Id>) {
    let users = phis_of_phis(function, &phis);
    // The users of phis whose place another has taken.
    let mut taken: Vec<Vec<Id>> = vec![Vec::new(); function.values.len()];
    let mut list = phis;
    while let Some(phi) = list.pop() {
        if function.is_replaced(phi) {
            continue;
        }
        let Some(same) = remove_trivial(function, phi) else { continue };
        let mut again = std::mem::take(&mut taken[phi as usize]);
        again.extend_from_slice(users.of(phi));
        again.retain(|user| !function.is_replaced(*user));
        list.extend_from_slice(&again);
        if matches!(function.op(same), Op::Phi) {
            taken[same as usize].append(&mut again);
        }
    }
}

/// Replaces a phi by the only input that it has besides itself, if it is so: by which.
fn remove_trivial(function: &mut Function, phi: Id) -> Option<Id> {
    function.settle_inputs(phi);
    let mut same = only_input(function, phi)?;
    if same == NONE {
        same = function.raw(Op::Undefined, function.width(phi), 0, NONE, &[]);
    }
    function.replace(phi, same);
    Some(same)
}

/// For each phi, those that choose from it.
fn phis_of_phis(function: &Function, phis: &[Id]) -> Rows<Id> {
    let mut pairs = Vec::new();
    for &phi in phis {
        for index in 0..function.inputs(phi).len() {
            let input = function.input(phi, index);
            if matches!(function.op(input), Op::Phi) {
                pairs.push((input, phi));
            }
        }
    }
    Rows::new(function.values.len(), &pairs)
}

/// The only input of a settled phi besides itself, or [`NONE`]; nothing if there are several.
fn only_input(function: &Function, phi: Id) -> Option<Id> {
    let mut same = NONE;
    for &input in function.inputs(phi) {
        if input == phi || input == same {
            continue;
        }
        if same != NONE {
            return None;
        }
        same = input;
    }
    Some(same)
}
