//! P-code to values.
//!
//! Registers and flags are the places of [`Builder`]; names of an instruction's own are kept in a list. A branch inside of
//! an instruction whose operations are all pure becomes a choice between values.
//!
//! Guarded instructions are gathered: as long as instructions follow that have the same guard, its contrary, or none and
//! nothing that would have to come after, they belong to one [`Region`], which becomes one `if`, or choices between
//! values if there is nothing in it but values.

mod choice;
mod instruction;
mod operand;
mod region;

use super::Code;
use super::flow::{self, Flow, Node};
use super::image;
use crate::Fault;
use crate::ir::build::Builder;
use crate::ir::fold::{fold, masked};
use crate::ir::hash::Table;
use crate::ir::{BlockId, End, Function, Id, NONE, Op};
use region::{Region, Side};
use unshade_sass::Instruction;
use unshade_sass::listing::Word;
use unshade_sass::semantics::Lifted;
use unshade_sass::semantics::table::FLAGS;

/// The place of the first flag, behind 256 registers.
const FIRST_FLAG: u32 = 256;

/// The place of what a barrier combined.
const BARRIER: u32 = FIRST_FLAG + FLAGS.len() as u32;

/// So many values an instruction becomes in the mean.
const VALUES: usize = 4;

pub(super) struct Lifting<'a> {
    pub(super) code: &'a Code<'a>,
    flow: &'a Flow,
    pub(super) builder: Builder,
    /// The first block of each node.
    blocks: Vec<BlockId>,
    /// How many ways into a node's block are still missing.
    missing: Vec<u32>,
    lifted: Lifted,
    temporaries: Vec<Id>,
    region: Option<Region>,
    block: BlockId,
    side: Side,
    address: u32,
    instruction: Option<Instruction>,
    constants: Table<(u64, u8), Id>,
    /// Values that begin the function, each once.
    leaves: Table<(Op, u8), Id>,
    note: u32,
    pending: Vec<(u32, Id)>,
    relocation: Option<Id>,
    pub(super) image: image::Pending,
    budget: usize,
}

/// Makes the function.
pub(super) fn lift(code: &Code<'_>, flow: &Flow, budget: usize) -> Result<Function, Fault> {
    let mut widths = vec![32; 256];
    widths.extend(FLAGS.iter().map(|_| 1));
    widths.push(32);
    let mut lifting = Lifting {
        code,
        flow,
        builder: Builder::new(widths),
        blocks: vec![NONE; flow.nodes.len()],
        missing: vec![0; flow.nodes.len()],
        lifted: Lifted::default(),
        temporaries: Vec::new(),
        region: None,
        block: 0,
        side: Side::Plain,
        address: 0,
        instruction: None,
        constants: Table::default(),
        leaves: Table::default(),
        note: NONE,
        pending: Vec::new(),
        relocation: None,
        image: image::Pending::default(),
        budget: budget.saturating_mul(24),
    };
    let mut instructions = 0;
    for node in &flow.nodes {
        instructions += node.end - node.start;
        for &to in edges(node).iter() {
            lifting.missing[to as usize] += 1;
        }
    }
    lifting.builder.reserve(4 * flow.nodes.len(), VALUES * instructions);
    lifting.builder.seal(0);
    let first = lifting.node_block(0);
    lifting.builder.end(0, End::Goto(first));
    lifting.arrived(0);
    for node in order(flow) {
        lifting.node(node)?;
    }
    let mut function = lifting.builder.finish();
    Lifting::settle_images(&mut function, &lifting.image, &code.variables);
    Ok(function)
}

/// Where a node leads, each way once.
fn edges(node: &Node) -> Vec<u32> {
    let mut edges: Vec<u32> = node.table.iter().map(|entry| entry.1).collect();
    edges.extend([node.taken, node.next].into_iter().filter(|edge| *edge != flow::NONE));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Nodes in reverse postorder.
fn order(flow: &Flow) -> Vec<u32> {
    let mut seen = vec![false; flow.nodes.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0_u32, edges(&flow.nodes[0]))];
    seen[0] = true;
    while let Some((node, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if !seen[next as usize] => {
                seen[next as usize] = true;
                stack.push((next, edges(&flow.nodes[next as usize])));
            }
            Some(_) => {}
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

impl Lifting<'_> {
    fn node_block(&mut self, node: u32) -> BlockId {
        if self.blocks[node as usize] == NONE {
            let address = self.address_of(self.flow.nodes[node as usize].start);
            self.blocks[node as usize] = self.builder.block(address);
        }
        self.blocks[node as usize]
    }

    fn address_of(&self, slot: usize) -> u32 {
        (self.code.base + (slot * self.code.isa.word_bytes) as u64) as u32
    }

    /// One way into a node is there; after the last its block is sealed. The entry has one more.
    fn arrived(&mut self, node: u32) {
        let missing = &mut self.missing[node as usize];
        if node == 0 && *missing > 0 {
            return;
        }
        *missing = missing.saturating_sub(1);
        if *missing == 0 {
            let block = self.node_block(node);
            self.builder.seal(block);
        }
    }

    fn node(&mut self, index: u32) -> Result<(), Fault> {
        self.block = self.node_block(index);
        let flow = self.flow;
        let node = &flow.nodes[index as usize];
        for slot in node.start..node.end {
            self.address = self.address_of(slot);
            if self.builder.function.values.len() > self.budget {
                return Err(Fault::Budget { limit: self.budget / 24 });
            }
            match flow.words[slot] {
                Word::Schedule(_) => {}
                Word::Unknown(word) => {
                    self.close();
                    self.note_text(format!(".word {word:#x}"));
                    self.unlifted(0);
                }
                Word::Instruction(instruction) => {
                    self.instruction = Some(instruction);
                    self.note = NONE;
                    self.instruction(&instruction, node, slot + 1 == node.end);
                }
            }
            if self.block == NONE {
                break;
            }
        }
        if self.block != NONE {
            self.close();
            self.address = self.address_of(node.end.saturating_sub(1));
            let end = self.way(node, node.next);
            self.builder.end(self.block, end);
        }
        for edge in edges(node) {
            self.arrived(edge);
        }
        Ok(())
    }

    /// The end of a block that goes on at a node.
    fn way(&mut self, node: &Node, to: u32) -> End {
        if to != flow::NONE {
            return End::Goto(self.node_block(to));
        }
        if let Some(fault) = node.fault {
            self.note_text(String::from(fault));
            self.unlifted(0);
        }
        End::Return
    }

    // Values.

    /// A number, once.
    pub(super) fn number(&mut self, value: u64, width: u8) -> Id {
        let value = masked(value, width);
        if let Some(&id) = self.constants.get(&(value, width)) {
            return id;
        }
        let id = self.builder.function.constant(value, width);
        self.constants.insert((value, width), id);
        id
    }

    pub(super) fn leaf(&mut self, op: Op, width: u8) -> Id {
        if let Some(&id) = self.leaves.get(&(op, width)) {
            return id;
        }
        let id = self.builder.function.raw(op, width, 0, self.address, &[]);
        self.leaves.insert((op, width), id);
        id
    }

    /// A value of the current block, folded where that is easy.
    pub(super) fn make(&mut self, op: Op, width: u8, inputs: &[Id]) -> Id {
        if inputs.contains(&NONE) {
            return self.unlifted(width);
        }
        let function = &self.builder.function;
        let first = inputs.first().copied().unwrap_or(NONE);
        if inputs.len() <= 2 && !inputs.is_empty() {
            let a = function.number(first);
            let b = inputs.get(1).map_or(Some(0), |input| function.number(*input));
            if let (Some(a), Some(b)) = (a, b)
                && let Some(value) = fold(op, &[a, b], function.width(first), width)
            {
                return self.number(value, width);
            }
            match (op, a, inputs.get(1).and_then(|input| function.number(*input))) {
                (Op::BoolAnd, _, Some(1)) | (Op::BoolOr | Op::BoolXor, _, Some(0)) => return first,
                (Op::BoolAnd, _, Some(0)) | (Op::BoolOr, _, Some(1)) => return inputs[1],
                (Op::BoolAnd, Some(1), _) | (Op::BoolOr | Op::BoolXor, Some(0), _) => return inputs[1],
                (Op::BoolAnd, Some(0), _) | (Op::BoolOr, Some(1), _) => return first,
                (Op::BoolXor, _, Some(1)) => return self.make(Op::BoolNot, 1, &[first]),
                (Op::BoolXor, Some(1), _) => return self.make(Op::BoolNot, 1, &[inputs[1]]),
                _ => {}
            }
        }
        match op {
            Op::BoolNot if function.op(first) == Op::BoolNot => return function.input(first, 0),
            Op::Low
                if function.op(first) == Op::Concat && function.width(function.input(first, 1)) == width =>
            {
                return function.input(first, 1);
            }
            Op::High
                if function.op(first) == Op::Concat && function.width(function.input(first, 0)) == width =>
            {
                return function.input(first, 0);
            }
            Op::Concat => {
                let low = function.resolve(inputs[1]);
                let high = function.resolve(first);
                if function.op(low) == Op::Low
                    && function.op(high) == Op::High
                    && function.input(low, 0) == function.input(high, 0)
                    && function.width(function.input(low, 0)) == width
                {
                    return function.input(low, 0);
                }
            }
            Op::ZeroExtend | Op::SignExtend | Op::Low if function.width(first) == width => return first,
            _ => {}
        }
        if op.is_effect() {
            self.effect(op.is_barrier());
        }
        let block = match (&self.region, self.side, op.is_effect()) {
            (Some(region), Side::Then, true) => region.then,
            (Some(region), Side::Else, true) => region.otherwise,
            _ => self.block,
        };
        self.builder.function.add(op, width, block, self.address, inputs)
    }

    /// What a comment says of the instruction.
    pub(super) fn instruction_note(&mut self) -> u32 {
        if self.note == NONE {
            let text = self.instruction.map_or(String::new(), |found| found.text(u64::from(self.address)));
            self.note_text(text);
        }
        self.note
    }

    /// What can't be lifted: a statement that says so.
    pub(super) fn unlifted(&mut self, width: u8) -> Id {
        self.instruction_note();
        self.effect(true);
        let block = match (&self.region, self.side) {
            (Some(region), Side::Then) => region.then,
            (Some(region), Side::Else) => region.otherwise,
            _ => self.block,
        };
        self.builder.function.add(Op::Unlifted(self.note), width, block, self.address, &[])
    }

    fn note_text(&mut self, text: String) {
        self.note = self.builder.function.notes.len() as u32;
        self.builder.function.notes.push(text);
    }

    pub(super) fn set_barrier_result(&mut self, value: Id) {
        self.write_place(BARRIER, value);
    }

    pub(super) fn barrier_result(&mut self) -> Id {
        self.read_place(BARRIER)
    }
}
