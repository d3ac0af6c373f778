//! P-code to values.
//!
//! Registers and flags are the places of [`Builder`]; names of an instruction's own are kept in a list. A branch inside of
//! an instruction whose operations are all pure becomes a choice between values.
//!
//! Guarded instructions are gathered: as long as instructions follow that have the same guard, its contrary, or none and
//! nothing that would have to come after, they belong to one [`Region`], which becomes one `if`, or choices between
//! values if there is nothing in it but values.

use super::calls::{Given, memory};
use super::flow::{self, Flow, Node};
use super::{Code, Part, banks};
use crate::Fault;
use crate::ir::build::Builder;
use crate::ir::fold::{fold, masked};
use crate::ir::hash::Table;
use crate::ir::{BlockId, End, Function, Id, NONE, Op, Space};
use unshade_sass::Instruction;
use unshade_sass::listing::Word;
use unshade_sass::semantics::table::{Code as Pcode, FLAGS};
use unshade_sass::semantics::{Lifted, Op as Step, Space as SassSpace, Varnode, functions};
use unshade_sass::table::Kind;

/// The place of the first flag, behind 256 registers.
const FIRST_FLAG: u32 = 256;

/// The place of what a barrier combined.
const BARRIER: u32 = FIRST_FLAG + FLAGS.len() as u32;

/// Which side of a region an instruction belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    /// None.
    Plain,
    /// Where the guard holds.
    Then,
    /// Where it does not.
    Else,
}

/// Instructions under a guard.
#[derive(Debug)]
struct Region {
    guard: Id,
    then: BlockId,
    otherwise: BlockId,
    /// What places hold at the end of either side, where that is not what they hold outside.
    overlay: Vec<(u32, Id, Id)>,
    has_effects: bool,
    has_writes: bool,
}

pub(super) struct Lifting<'a> {
    code: &'a Code<'a>,
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
        budget: budget.saturating_mul(24),
    };
    for node in &flow.nodes {
        for &to in edges(node).iter() {
            lifting.missing[to as usize] += 1;
        }
    }
    lifting.builder.seal(0);
    let first = lifting.node_block(0);
    lifting.builder.end(0, End::Goto(first));
    lifting.arrived(0);
    for node in order(flow) {
        lifting.node(node)?;
    }
    Ok(lifting.builder.finish())
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

    fn leaf(&mut self, op: Op, width: u8) -> Id {
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

    /// What can't be lifted: a statement that says so.
    pub(super) fn unlifted(&mut self, width: u8) -> Id {
        if self.note == NONE {
            let text = self.instruction.map_or(String::new(), |found| found.text(u64::from(self.address)));
            self.note_text(text);
        }
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

    // Places.

    fn read_place(&mut self, place: u32) -> Id {
        if let Some(found) = self.pending.iter().rev().find(|entry| entry.0 == place) {
            return found.1;
        }
        if let Some(region) = &self.region {
            let found = region.overlay.iter().find(|entry| entry.0 == place);
            let value = found.map_or(NONE, |entry| match self.side {
                Side::Plain => entry.1.min(entry.2),
                Side::Then => entry.1,
                Side::Else => entry.2,
            });
            if value != NONE {
                if self.side == Side::Plain {
                    self.close();
                } else {
                    return self.builder.function.resolve(value);
                }
            }
        }
        let block = self.block;
        self.builder.read(block, place)
    }

    fn write_place(&mut self, place: u32, value: Id) {
        let block = self.block;
        match (&mut self.region, self.side) {
            (Some(region), Side::Plain) => region.overlay.retain(|entry| entry.0 != place),
            (Some(region), side) => {
                let index = match region.overlay.iter().position(|entry| entry.0 == place) {
                    Some(index) => index,
                    None => {
                        region.overlay.push((place, NONE, NONE));
                        region.overlay.len() - 1
                    }
                };
                let entry = &mut region.overlay[index];
                if side == Side::Then {
                    entry.1 = value;
                } else {
                    entry.2 = value;
                }
                return;
            }
            _ => {}
        }
        self.builder.write(block, place, value);
    }

    // Regions.

    /// An effect comes: outside of the region it must not come before what the region does.
    fn effect(&mut self, is_write: bool) {
        let Some(region) = &mut self.region else { return };
        if self.side == Side::Plain {
            if region.has_writes || is_write && region.has_effects {
                self.close();
            }
        } else {
            region.has_effects = true;
            region.has_writes |= is_write;
        }
    }

    /// Ends the region: as choices between values, or as blocks.
    fn close(&mut self) {
        let Some(region) = self.region.take() else { return };
        let side = std::mem::replace(&mut self.side, Side::Plain);
        let block = self.block;
        if !region.has_effects {
            for (place, then, otherwise) in region.overlay {
                let old =
                    if then == NONE || otherwise == NONE { self.builder.read(block, place) } else { NONE };
                let then = if then == NONE { old } else { then };
                let otherwise = if otherwise == NONE { old } else { otherwise };
                let value = self.select(region.guard, then, otherwise);
                self.builder.write(block, place, value);
            }
            self.side = side;
            return;
        }
        let after = self.builder.block(self.address);
        let (then, otherwise) = self.branch(&region, after);
        for (inner, used) in [(region.then, then), (region.otherwise, otherwise)] {
            if used == inner {
                self.builder.end(inner, End::Goto(after));
            }
        }
        self.builder.seal(after);
        self.block = after;
        self.side = side;
    }

    /// Ends the block with the guard of a region; a side with nothing in it is `after`.
    fn branch(&mut self, region: &Region, after: BlockId) -> (BlockId, BlockId) {
        let function = &self.builder.function;
        let is_used = |block: BlockId, value: fn(&(u32, Id, Id)) -> Id| {
            !function.blocks[block as usize].effects.is_empty()
                || region.overlay.iter().any(|entry| value(entry) != NONE)
        };
        let yes = if is_used(region.then, |entry| entry.1) { region.then } else { after };
        let mut no = if is_used(region.otherwise, |entry| entry.2) { region.otherwise } else { after };
        if yes == no {
            no = region.otherwise;
        }
        self.builder.end(self.block, End::Branch { condition: region.guard, yes, no });
        for block in [region.then, region.otherwise] {
            self.builder.seal(block);
        }
        for &(place, then, otherwise) in &region.overlay {
            if then != NONE {
                self.builder.write(region.then, place, then);
            }
            if otherwise != NONE {
                self.builder.write(region.otherwise, place, otherwise);
            }
        }
        (yes, no)
    }

    fn select(&mut self, condition: Id, then: Id, otherwise: Id) -> Id {
        let (then, otherwise) =
            (self.builder.function.resolve(then), self.builder.function.resolve(otherwise));
        if then == otherwise {
            return then;
        }
        match self.builder.function.number(condition) {
            Some(0) => otherwise,
            Some(_) => then,
            None => {
                let width = self.builder.function.width(then);
                self.make(Op::Select, width, &[condition, then, otherwise])
            }
        }
    }

    // Instructions.

    fn instruction(&mut self, instruction: &Instruction, node: &Node, is_last: bool) {
        let mut lifted = std::mem::take(&mut self.lifted);
        lifted.lift(instruction, u64::from(self.address));
        self.temporaries.clear();
        self.temporaries.resize(lifted.temporaries() + lifted.ops().len() + 4, NONE);
        self.pending.clear();
        self.relocation = self.relocated(instruction);
        let ops = lifted.ops();
        let body = guarded_from(ops);
        let is_pure = ops[body..].iter().all(|op| self.is_pure(op));
        let is_branching = ops[body..].iter().any(|op| op.code == Pcode::BranchUnless);
        let call = is_last
            && node.taken == flow::NONE
            && ops.iter().any(|op| op.code == Pcode::Call)
            && node.next != flow::NONE;
        if call {
            self.close();
            self.unlifted(0);
        } else if !is_pure && is_branching {
            self.close();
            self.with_blocks(&lifted, node);
        } else if let Some((side, is_chosen)) = self.enter(instruction, body, is_pure) {
            self.side = side;
            if is_chosen {
                self.chosen(&lifted, body);
            } else if is_branching {
                self.straight_branching(&lifted, body);
                let writes = std::mem::take(&mut self.pending);
                for (place, value) in writes {
                    self.write_place(place, value);
                }
            } else {
                self.straight(&lifted, body, node);
            }
            self.side = Side::Plain;
        }
        self.lifted = lifted;
    }

    /// Which side of which region an instruction is of, and whether its guard has to choose what it writes; none if the
    /// guard never holds.
    fn enter(&mut self, instruction: &Instruction, body: usize, is_pure: bool) -> Option<(Side, bool)> {
        if body == 0 {
            return Some((Side::Plain, false));
        }
        let guard = instruction.operands().find(|operand| operand.kind == Kind::Guard)?;
        let place = FIRST_FLAG + 4 + u32::try_from(instruction.number(guard.value)).unwrap_or(0);
        let mut holds = !instruction.flag(guard.not);
        let mut value = self.read_place(place);
        while self.builder.function.op(value) == Op::BoolNot {
            value = self.builder.function.input(value, 0);
            holds = !holds;
        }
        if let Some(number) = self.builder.function.number(value) {
            return ((number != 0) == holds).then_some((Side::Plain, false));
        }
        let side = if holds { Side::Then } else { Side::Else };
        if let Some(region) = &self.region {
            if region.guard == value {
                return Some((side, false));
            }
            if is_pure && region.has_effects {
                return Some((Side::Plain, true));
            }
            self.close();
        }
        let then = self.builder.block(self.address);
        let otherwise = self.builder.block(self.address);
        self.region = Some(Region {
            guard: value,
            then,
            otherwise,
            overlay: Vec::new(),
            has_effects: false,
            has_writes: false,
        });
        Some((side, false))
    }

    /// A pure instruction under another guard than the region's: what it writes is chosen.
    fn chosen(&mut self, lifted: &Lifted, body: usize) {
        let guard = self.guard_value(lifted, body);
        self.straight_branching(lifted, body);
        let mut writes = std::mem::take(&mut self.pending);
        // The last of several writes counts.
        writes.reverse();
        let mut seen = Vec::new();
        for (place, value) in writes {
            if !seen.contains(&place) {
                seen.push(place);
                let old = self.read_place(place);
                let value = self.select(guard, value, old);
                self.write_place(place, value);
            }
        }
    }

    fn guard_value(&mut self, lifted: &Lifted, body: usize) -> Id {
        let ops = lifted.ops();
        if body == 2 {
            let value = self.input(&lifted.inputs(&ops[0])[0]);
            return self.make(Op::BoolNot, 1, &[value]);
        }
        self.input(&lifted.inputs(&ops[0])[0])
    }

    fn is_pure(&self, op: &Step) -> bool {
        match op.code {
            Pcode::Load(space) => matches!(space, SassSpace::Constant | SassSpace::Special),
            Pcode::Store(_) | Pcode::Goto | Pcode::Call | Pcode::Return | Pcode::Exit => false,
            Pcode::Function(index) => {
                functions().get(usize::from(index)).is_some_and(|function| function.pure)
            }
            _ => true,
        }
    }

    /// Operations one after the other.
    fn straight(&mut self, lifted: &Lifted, body: usize, node: &Node) {
        for op in &lifted.ops()[body..] {
            if self.leaves_block(op, lifted, node) {
                return;
            }
            self.step(op, lifted);
        }
    }

    /// Whether the operation ended the block: control goes elsewhere.
    fn leaves_block(&mut self, op: &Step, lifted: &Lifted, node: &Node) -> bool {
        let is_join = matches!(op.code, Pcode::Function(index)
            if functions().get(usize::from(index)).is_some_and(|function| function.name == "reconverge"));
        if is_join && node.taken == flow::NONE {
            return false;
        }
        if !is_join && !matches!(op.code, Pcode::Goto | Pcode::Return | Pcode::Exit | Pcode::Call) {
            return false;
        }
        if op.code == Pcode::Goto && !node.table.is_empty() {
            let side = self.side;
            let block = self.open_side(side);
            self.switch(op, lifted, node, block);
            return true;
        }
        let side = self.side;
        let block = self.open_side(side);
        let end = match op.code {
            Pcode::Exit => End::Return,
            _ if node.taken != flow::NONE => End::Goto(self.node_block(node.taken)),
            Pcode::Return => End::Return,
            _ => {
                let saved = std::mem::replace(&mut self.block, block);
                let end = self.way(node, flow::NONE);
                self.block = saved;
                end
            }
        };
        self.builder.end(block, end);
        if block == self.block {
            self.block = NONE;
        }
        true
    }

    /// Closes the region, but for the side, which is left open for its end; the current block goes on after it.
    fn open_side(&mut self, side: Side) -> BlockId {
        let Some(region) = self.region.take() else { return self.block };
        if side == Side::Plain {
            self.region = Some(region);
            self.side = Side::Plain;
            self.close();
            return self.block;
        }
        self.side = Side::Plain;
        let after = self.builder.block(self.address);
        let condition = region.guard;
        let (mine, other) = if side == Side::Then {
            (region.then, region.otherwise)
        } else {
            (region.otherwise, region.then)
        };
        let other_overlay = region.overlay.iter().any(|entry| {
            let value = if side == Side::Then { entry.2 } else { entry.1 };
            value != NONE
        });
        let is_other_used = other_overlay || !self.builder.function.blocks[other as usize].effects.is_empty();
        let target = if is_other_used { other } else { after };
        let (yes, no) = if side == Side::Then { (mine, target) } else { (target, mine) };
        self.builder.end(self.block, End::Branch { condition, yes, no });
        self.builder.seal(mine);
        self.builder.seal(other);
        for &(place, then, otherwise) in &region.overlay {
            if then != NONE {
                self.builder.write(region.then, place, then);
            }
            if otherwise != NONE {
                self.builder.write(region.otherwise, place, otherwise);
            }
        }
        if is_other_used {
            self.builder.end(other, End::Goto(after));
        }
        self.builder.seal(after);
        self.block = after;
        mine
    }

    fn switch(&mut self, op: &Step, lifted: &Lifted, node: &Node, block: BlockId) {
        // The address is a sum with the register; the numbers of the table are what the register holds.
        let saved = std::mem::replace(&mut self.block, block);
        let target = self.input(&lifted.inputs(op)[0]);
        let selector = self.table_index(target);
        let cases = node.table.iter().map(|(number, to)| (*number, self.node_block(*to))).collect();
        self.builder.end(block, End::Switch { selector, cases, otherwise: None });
        self.block = if saved == block { NONE } else { saved };
    }

    /// The 32-bit number that the target of an indirect branch is made of.
    fn table_index(&mut self, target: Id) -> Id {
        let mut at = target;
        for _ in 0..8 {
            let function = &self.builder.function;
            if function.width(at) == 32 {
                break;
            }
            at = match function.op(at) {
                Op::Add if function.number(function.input(at, 0)).is_some() => function.input(at, 1),
                Op::Add | Op::SignExtend | Op::ZeroExtend => function.input(at, 0),
                _ => break,
            };
        }
        at
    }

    /// An instruction with effects and branches inside: each stretch becomes a block.
    fn with_blocks(&mut self, lifted: &Lifted, node: &Node) {
        let mut labels: Vec<(usize, BlockId)> = Vec::new();
        for (index, op) in lifted.ops().iter().enumerate() {
            self.arrive(index, &mut labels);
            if self.block == NONE {
                continue;
            }
            match op.code {
                Pcode::Branch => {
                    let to = self.label(usize::from(op.to), &mut labels);
                    self.builder.end(self.block, End::Goto(to));
                    self.block = NONE;
                }
                Pcode::BranchUnless => {
                    let condition = self.input(&lifted.inputs(op)[0]);
                    match self.builder.function.number(condition) {
                        Some(0) => {
                            let to = self.label(usize::from(op.to), &mut labels);
                            self.builder.end(self.block, End::Goto(to));
                            self.block = NONE;
                        }
                        Some(_) => {}
                        None => {
                            let no = self.label(usize::from(op.to), &mut labels);
                            let yes = self.builder.block(self.address);
                            self.builder.end(self.block, End::Branch { condition, yes, no });
                            self.builder.seal(yes);
                            self.block = yes;
                        }
                    }
                }
                _ => {
                    if !self.leaves_block(op, lifted, node) {
                        self.step(op, lifted);
                    }
                }
            }
        }
        self.arrive(lifted.ops().len(), &mut labels);
    }

    fn label(&mut self, index: usize, labels: &mut Vec<(usize, BlockId)>) -> BlockId {
        if let Some(found) = labels.iter().find(|label| label.0 == index) {
            return found.1;
        }
        let block = self.builder.block(self.address);
        labels.push((index, block));
        block
    }

    fn arrive(&mut self, index: usize, labels: &mut Vec<(usize, BlockId)>) {
        let Some(place) = labels.iter().position(|label| label.0 == index) else { return };
        let (_, block) = labels.swap_remove(place);
        if self.block != NONE {
            self.builder.end(self.block, End::Goto(block));
        }
        self.builder.seal(block);
        self.block = block;
    }

    /// A pure instruction with branches inside: both ways are computed, and what differs is chosen. Writes are pending.
    fn straight_branching(&mut self, lifted: &Lifted, body: usize) {
        /// A way that goes on later: where, when, and with which names and writes.
        type Way = (usize, Id, Vec<Id>, Vec<(u32, Id)>);
        let mut ways: Vec<Way> = Vec::new();
        let mut path = self.number(1, 1);
        let mut is_live = true;
        let ops = lifted.ops();
        for index in body..=ops.len() {
            while let Some(place) = ways.iter().position(|way| way.0 == index) {
                let (_, condition, temporaries, writes) = ways.swap_remove(place);
                if is_live {
                    self.merge(condition, &temporaries, writes);
                    path = self.make(Op::BoolOr, 1, &[path, condition]);
                } else {
                    self.temporaries = temporaries;
                    self.pending = writes;
                    path = condition;
                    is_live = true;
                }
            }
            let Some(op) = ops.get(index) else { break };
            if !is_live {
                continue;
            }
            match op.code {
                Pcode::Branch => {
                    ways.push((usize::from(op.to), path, self.temporaries.clone(), self.pending.clone()));
                    is_live = false;
                }
                Pcode::BranchUnless => {
                    let condition = self.input(&lifted.inputs(op)[0]);
                    let contrary = self.make(Op::BoolNot, 1, &[condition]);
                    let away = self.make(Op::BoolAnd, 1, &[path, contrary]);
                    match self.builder.function.number(condition) {
                        Some(1..) => {}
                        Some(0) => {
                            let (names, writes) = (self.temporaries.clone(), self.pending.clone());
                            ways.push((usize::from(op.to), path, names, writes));
                            is_live = false;
                        }
                        None => {
                            let (names, writes) = (self.temporaries.clone(), self.pending.clone());
                            ways.push((usize::from(op.to), away, names, writes));
                            path = self.make(Op::BoolAnd, 1, &[path, condition]);
                        }
                    }
                }
                _ => self.pending_step(op, lifted),
            }
        }
    }

    fn merge(&mut self, condition: Id, temporaries: &[Id], writes: Vec<(u32, Id)>) {
        for (index, &other) in temporaries.iter().enumerate() {
            let mine = self.temporaries[index];
            if mine != other && other != NONE {
                self.temporaries[index] =
                    if mine == NONE { other } else { self.select(condition, other, mine) };
            }
        }
        let mut places: Vec<u32> = writes.iter().chain(&self.pending).map(|entry| entry.0).collect();
        places.sort_unstable();
        places.dedup();
        let mut merged = Vec::new();
        for place in places {
            let of =
                |list: &[(u32, Id)]| list.iter().rev().find(|entry| entry.0 == place).map(|entry| entry.1);
            let (other, mine) = (of(&writes), of(&self.pending));
            let value = match (other, mine) {
                (Some(other), Some(mine)) => self.select(condition, other, mine),
                (Some(other), None) => {
                    let old = self.read_place(place);
                    self.select(condition, other, old)
                }
                (None, Some(mine)) => {
                    let pending = std::mem::take(&mut self.pending);
                    let old = self.read_place(place);
                    self.pending = pending;
                    self.select(condition, old, mine)
                }
                (None, None) => continue,
            };
            merged.push((place, value));
        }
        self.pending = merged;
    }

    /// An operation whose writes to places wait.
    fn pending_step(&mut self, op: &Step, lifted: &Lifted) {
        let value = self.value_of(op, lifted);
        let Some(output) = op.output else { return };
        let writes = self.places(&output, value);
        self.pending.extend(writes);
    }

    fn step(&mut self, op: &Step, lifted: &Lifted) {
        let value = self.value_of(op, lifted);
        let Some(output) = op.output else { return };
        for (place, value) in self.places(&output, value) {
            self.write_place(place, value);
        }
    }

    /// The places that an output is, and what each gets; names of the instruction's own are written at once.
    fn places(&mut self, output: &Varnode, value: Id) -> Vec<(u32, Id)> {
        let value = if value == NONE { self.unlifted(output.width) } else { value };
        let number = u32::try_from(output.offset).unwrap_or(0);
        match output.space {
            SassSpace::Temporary => {
                if let Some(slot) = self.temporaries.get_mut(number as usize) {
                    *slot = value;
                }
                Vec::new()
            }
            SassSpace::Flag => vec![(FIRST_FLAG + number, value)],
            SassSpace::Register if output.width > 32 => {
                let low = self.make(Op::Low, 32, &[value]);
                let high = self.make(Op::High, 32, &[value]);
                vec![(number & 255, low), ((number + 1) & 255, high)]
            }
            SassSpace::Register => {
                let wide = self.make(Op::ZeroExtend, 32, &[value]);
                vec![(number & 255, wide)]
            }
            _ => Vec::new(),
        }
    }

    fn input(&mut self, varnode: &Varnode) -> Id {
        let number = u32::try_from(varnode.offset).unwrap_or(0);
        match varnode.space {
            SassSpace::Number => match self.relocation {
                Some(part) if varnode.width == 32 => part,
                _ => self.number(varnode.offset, varnode.width),
            },
            SassSpace::Register => {
                let low = self.read_place(number & 255);
                match varnode.width {
                    32 => low,
                    ..32 => self.make(Op::Low, varnode.width, &[low]),
                    _ => {
                        let high = self.read_place((number + 1) & 255);
                        self.make(Op::Concat, 64, &[high, low])
                    }
                }
            }
            SassSpace::Flag => self.read_place(FIRST_FLAG + number),
            SassSpace::Temporary => match self.temporaries.get(number as usize).copied() {
                Some(value) if value != NONE => self.builder.function.resolve(value),
                _ => self.leaf(Op::Undefined, varnode.width),
            },
            SassSpace::Constant => self.constant(varnode.offset, varnode.width),
            _ => self.unlifted(varnode.width),
        }
    }

    /// A constant of a bank: the bank stands above 16 bits of offset.
    fn constant(&mut self, place: u64, width: u8) -> Id {
        let (bank, offset) = ((place >> 16) as u8, place & 0xffff);
        if bank == 0 {
            if offset >= banks::PARAMETERS {
                return self.leaf(Op::Parameter((offset - banks::PARAMETERS) as u32), width);
            }
            if let (Some(special), 32) = (banks::of_bank_0(offset), width) {
                return self.leaf(Op::Special(special), width);
            }
        }
        let bytes = self.code.constants.iter().find(|entry| entry.0 == bank).map_or(&[][..], |entry| entry.1);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let size = usize::from(width / 8);
        if let Some(found) = start.checked_add(size).and_then(|end| bytes.get(start..end)) {
            let value = found.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            return self.number(value, width);
        }
        let address = self.number(offset, 32);
        self.make(Op::Load(Space::Constant(bank)), width, &[address])
    }

    fn value_of(&mut self, op: &Step, lifted: &Lifted) -> Id {
        let mut inputs = [NONE; 16];
        let varnodes = lifted.inputs(op);
        for (input, varnode) in inputs.iter_mut().zip(varnodes) {
            *input = self.input(varnode);
        }
        let inputs = &inputs[..varnodes.len().min(16)];
        let width = op.output.map_or(0, |output| output.width);
        match op.code {
            Pcode::Copy => inputs.first().copied().unwrap_or(NONE),
            Pcode::Load(SassSpace::Special) => self.special(inputs[0]),
            Pcode::Load(SassSpace::Constant) => self.constant_load(inputs[0], width),
            Pcode::Load(space) => match memory(space) {
                Some(space) => self.make(Op::Load(space), width, inputs),
                None => self.unlifted(width),
            },
            Pcode::Store(space) => match memory(space) {
                Some(space) => self.make(Op::Store(space), 0, inputs),
                None => self.unlifted(0),
            },
            Pcode::Function(index) => {
                let Some(function) = functions().get(usize::from(index)) else { return NONE };
                let width = if width == 0 { function.output } else { width };
                let given = if function.pure {
                    self.pure_function(function.name, inputs, width)
                } else {
                    self.other_function(function.name, inputs, width)
                };
                match given {
                    Given::Value(value) => value,
                    Given::Nothing => self.unlifted(width),
                }
            }
            code => match operator(code) {
                Some(op) => self.make(op, width, inputs),
                None => NONE,
            },
        }
    }

    fn special(&mut self, address: Id) -> Id {
        let number = self.builder.function.number(address).unwrap_or(u64::MAX) / 4;
        if let Some(special) = banks::of_register(number) {
            return self.leaf(Op::Special(special), 32);
        }
        match banks::clock(number).and_then(crate::ir::Intrinsic::by_name) {
            Some(function) => self.make(Op::Call(function), 32, &[]),
            None => self.unlifted(32),
        }
    }

    fn constant_load(&mut self, address: Id, width: u8) -> Id {
        let function = &self.builder.function;
        if let Some(place) = function.number(address) {
            return self.constant(place, width);
        }
        let offset = function.number(function.input(address, 1));
        if let (Op::Add, Some(place)) = (function.op(address), offset) {
            let (bank, offset) = ((place >> 16) as u8, place & 0xffff);
            let base = function.input(address, 0);
            let offset = self.number(offset, 32);
            let address = self.make(Op::Add, 32, &[base, offset]);
            return self.make(Op::Load(Space::Constant(bank)), width, &[address]);
        }
        self.make(Op::Load(Space::Constant(0)), width, &[address])
    }

    /// The part of a symbol's address that is put into the instruction when the code is loaded.
    fn relocated(&mut self, instruction: &Instruction) -> Option<Id> {
        let address = u64::from(self.address);
        let found = self.code.relocations.iter().find(|entry| entry.address == address).copied()?;
        // An instruction that moves an immediate has no other number.
        if relocation_is_call(found.part) || !instruction.operation().name.starts_with("MOV") {
            return None;
        }
        let symbol = self.symbol(found.symbol);
        let whole = self.leaf(Op::Symbol(symbol), 64);
        let addend = self.number(found.addend, 64);
        let whole = if found.addend == 0 { whole } else { self.make(Op::Add, 64, &[whole, addend]) };
        let op = if found.part == Part::Low { Op::Low } else { Op::High };
        Some(self.make(op, 32, &[whole]))
    }

    fn symbol(&mut self, name: &str) -> u32 {
        let symbols = &mut self.builder.function.symbols;
        let index = symbols.iter().position(|symbol| symbol == name).unwrap_or(symbols.len());
        if index == symbols.len() {
            symbols.push(String::from(name));
        }
        index as u32
    }
}

/// Where the operations begin that a guard is not of.
fn guarded_from(ops: &[Step]) -> usize {
    let ends = |op: &Step| op.code == Pcode::BranchUnless && usize::from(op.to) == ops.len();
    match ops {
        [first, ..] if ends(first) => 1,
        [first, second, ..] if first.code == Pcode::BoolNot && ends(second) => 2,
        _ => 0,
    }
}

fn operator(code: Pcode) -> Option<Op> {
    Some(match code {
        Pcode::Add => Op::Add,
        Pcode::Sub => Op::Sub,
        Pcode::Mul => Op::Mul,
        Pcode::And => Op::And,
        Pcode::Or => Op::Or,
        Pcode::Xor => Op::Xor,
        Pcode::ShiftLeft => Op::Shl,
        Pcode::ShiftRight => Op::Shr,
        Pcode::ShiftRightSigned => Op::Sar,
        Pcode::Negate => Op::Neg,
        Pcode::Not => Op::Not,
        Pcode::Equal => Op::Equal,
        Pcode::NotEqual => Op::NotEqual,
        Pcode::Less => Op::Less,
        Pcode::LessEqual => Op::LessEqual,
        Pcode::SignedLess => Op::SignedLess,
        Pcode::SignedLessEqual => Op::SignedLessEqual,
        Pcode::Carry => Op::Carry,
        Pcode::SignedCarry => Op::SignedCarry,
        Pcode::SignedBorrow => Op::SignedBorrow,
        Pcode::BoolAnd => Op::BoolAnd,
        Pcode::BoolOr => Op::BoolOr,
        Pcode::BoolXor => Op::BoolXor,
        Pcode::BoolNot => Op::BoolNot,
        Pcode::ZeroExtend => Op::ZeroExtend,
        Pcode::SignExtend => Op::SignExtend,
        Pcode::Low => Op::Low,
        Pcode::High => Op::High,
        Pcode::Concat => Op::Concat,
        Pcode::PopCount => Op::PopCount,
        Pcode::LeadingZeros => Op::LeadingZeros,
        Pcode::FloatAdd => Op::FloatAdd,
        Pcode::FloatSub => Op::FloatSub,
        Pcode::FloatMul => Op::FloatMul,
        Pcode::FloatDiv => Op::FloatDiv,
        Pcode::FloatNegate => Op::FloatNegate,
        Pcode::FloatSqrt => Op::FloatSqrt,
        Pcode::FloatEqual => Op::FloatEqual,
        Pcode::FloatNotEqual => Op::FloatNotEqual,
        Pcode::FloatLess => Op::FloatLess,
        Pcode::FloatLessEqual => Op::FloatLessEqual,
        Pcode::FloatNan => Op::FloatNan,
        Pcode::FloatToFloat => Op::FloatConvert,
        Pcode::IntegerToFloat => Op::SignedToFloat,
        Pcode::FloatTruncate => Op::FloatToSigned,
        _ => return None,
    })
}

fn relocation_is_call(part: Part) -> bool {
    part == Part::Target
}
