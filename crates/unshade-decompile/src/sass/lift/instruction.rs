//! Lifter of one instruction: its operations, and where control continues at its end.

use super::super::flow::{self, Node};
use super::super::lifter::{Lifter, Side};
use super::super::routine::{Half, HalfLocation, Meaning, Routine};
use crate::ir::{BlockId, End, Intrinsic, Op, ValueId};
use unshade_sass::Instruction;
use unshade_sass::semantics::table::Code as Pcode;
use unshade_sass::semantics::{Lifted, Op as Step, Space as SassSpace, functions};

impl Lifter<'_> {
    pub(super) fn instruction(&mut self, instruction: &Instruction, node: &Node, is_last: bool) {
        let mut lifted = std::mem::take(&mut self.lifted);
        lifted.lift(instruction, u64::from(self.address));
        self.temporaries.clear();
        self.temporaries.resize(lifted.temporaries() + lifted.ops().len() + 4, ValueId::NONE);
        self.pending.clear();
        self.relocation = self.relocated(instruction);
        self.is_stored = false;
        let ops = lifted.ops();
        let body = guarded_from(ops);
        let is_pure = ops[body..].iter().all(|op| self.is_pure(op));
        let is_branching = ops[body..].iter().any(|op| op.code == Pcode::BranchUnless);
        // If an instruction only computes values and joins at its end, the values are selected.
        let join = ops.last().filter(|op| is_join(op));
        let joins_after_numbers =
            join.is_some() && ops[body..ops.len() - 1].iter().all(|op| self.is_pure(op));
        let flow = self.flow;
        if let Some(routine) = flow.routine(instruction, u64::from(self.address)) {
            if let Some((side, is_chosen)) = self.enter(instruction, body, true) {
                self.side = side;
                let guard = is_chosen.then(|| self.guard_value(&lifted, body));
                self.routine(routine, guard);
                self.side = Side::Plain;
            }
            self.lifted = lifted;
            return;
        }
        let call = is_last
            && node.taken == flow::NONE
            && ops.iter().any(|op| op.code == Pcode::Call)
            && node.next != flow::NONE;
        if call {
            if let Some((side, _)) = self.enter(instruction, body, false) {
                self.side = side;
                let is_lifted = match self.callee_name(instruction) {
                    Some(name) => self.call_function(name) || self.call_runtime(name),
                    None => false,
                };
                if !is_lifted {
                    self.unlifted(0);
                }
                self.side = Side::Plain;
            }
        } else if !is_pure && is_branching && !joins_after_numbers {
            self.close();
            self.with_blocks(&lifted, node);
        } else if let Some((side, is_chosen)) = self.enter(instruction, body, is_pure) {
            self.side = side;
            if is_chosen {
                self.chosen(&lifted, body);
            } else if is_branching {
                self.straight_branching(&lifted, body);
                let writes = std::mem::take(&mut self.pending);
                for (variable, value) in writes {
                    self.write_variable(variable, value);
                }
                if let Some(join) = join {
                    self.leaves_block(join, &lifted, node);
                }
            } else {
                self.straight(&lifted, body, node);
            }
            self.side = Side::Plain;
        }
        self.lifted = lifted;
    }

    /// Lifts a call of one of the compiler's routines as an operator. The registers that it used internally are dead
    /// afterwards.
    fn routine(&mut self, routine: &Routine, guard: Option<ValueId>) {
        let Meaning { width, flushes, narrow, .. } = routine.meaning;
        let mut halves: Vec<ValueId> = Vec::new();
        for half in &routine.inputs {
            halves.push(match half {
                HalfLocation::Register(register) => self.read_variable(u32::from(*register)),
                HalfLocation::Zero => self.number(0, 32),
                HalfLocation::Parameter(offset) => self.constant(u64::from(*offset), 32),
            });
        }
        let mut numbers: Vec<ValueId> = match width {
            64 => halves.chunks(2).map(|pair| self.make(Op::Concat, 64, &[pair[1], pair[0]])).collect(),
            _ => halves,
        };
        for number in &mut numbers {
            if flushes {
                *number = self.call(Intrinsic::FlushToZero, width, &[*number]);
            }
            if narrow < width {
                let mask = self.number(u64::MAX >> (64 - u32::from(narrow)), width);
                *number = self.make(Op::And, width, &[*number, mask]);
            }
        }
        if routine.meaning.is_reciprocal {
            let one = if width == 64 { 1.0_f64.to_bits() } else { u64::from(1.0_f32.to_bits()) };
            numbers.insert(0, self.number(one, width));
        }
        let mut value = self.make(routine.meaning.op, width, &numbers);
        if flushes {
            value = self.call(Intrinsic::FlushToZero, width, &[value]);
        }
        let mut writes = Vec::new();
        if guard.is_none() {
            for &register in &routine.changed {
                writes.push((register, self.leaf(Op::Undefined, 32)));
            }
        }
        for &(register, half) in &routine.results {
            let part = match (width, half) {
                (64, Half::Low) => self.make(Op::Low, 32, &[value]),
                (64, Half::High) => self.make(Op::High, 32, &[value]),
                _ => value,
            };
            writes.push((register, part));
        }
        for (register, mut value) in writes {
            let variable = u32::from(register);
            if let Some(guard) = guard {
                let old = self.read_variable(variable);
                value = self.select(guard, value, old);
            }
            self.write_variable(variable, value);
        }
    }

    /// Lifts a pure instruction with another guard than the region's: its results are selected.
    pub(super) fn chosen(&mut self, lifted: &Lifted, body: usize) {
        let guard = self.guard_value(lifted, body);
        self.straight_branching(lifted, body);
        let mut writes = std::mem::take(&mut self.pending);
        // The last of several writes counts.
        writes.reverse();
        let mut seen = Vec::new();
        for (variable, value) in writes {
            if !seen.contains(&variable) {
                seen.push(variable);
                let old = self.read_variable(variable);
                let value = self.select(guard, value, old);
                self.write_variable(variable, value);
            }
        }
    }

    pub(super) fn guard_value(&mut self, lifted: &Lifted, body: usize) -> ValueId {
        let ops = lifted.ops();
        if body == 2 {
            let value = self.input(&lifted.inputs(&ops[0])[0]);
            return self.make(Op::BoolNot, 1, &[value]);
        }
        self.input(&lifted.inputs(&ops[0])[0])
    }

    pub(super) fn is_pure(&self, op: &Step) -> bool {
        match op.code {
            Pcode::Load(space) => matches!(space, SassSpace::Constant | SassSpace::Special),
            Pcode::Store(_) | Pcode::Goto | Pcode::Call | Pcode::Return | Pcode::Exit => false,
            Pcode::Function(index) => {
                functions().get(usize::from(index)).is_some_and(|function| function.pure)
            }
            _ => true,
        }
    }

    /// Lifts consecutive operations.
    pub(super) fn straight(&mut self, lifted: &Lifted, body: usize, node: &Node) {
        for op in &lifted.ops()[body..] {
            if self.leaves_block(op, lifted, node) {
                return;
            }
            self.step(op, lifted);
        }
    }

    /// Lifts an operation that may leave the instruction. Returns whether it ended the block.
    pub(super) fn leaves_block(&mut self, op: &Step, lifted: &Lifted, node: &Node) -> bool {
        let is_join = is_join(op);
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
        if op.code == Pcode::Goto && node.calls_pointer {
            let saved = std::mem::replace(&mut self.block, block);
            let pointer = self.input(&lifted.inputs(op)[0]);
            if !self.call_pointer(pointer) {
                self.unlifted(0);
            }
            let end = self.end_at(node, node.next);
            self.builder.end(block, end);
            self.block = if saved == block { BlockId::NONE } else { saved };
            return true;
        }
        let saved = std::mem::replace(&mut self.block, block);
        let end = match op.code {
            Pcode::Exit => {
                if !self.is_kernel {
                    // It ends the thread, not only the function.
                    self.unlifted(0);
                    self.leave_function();
                }
                End::Return
            }
            _ if node.taken != flow::NONE => End::Goto(self.node_block(node.taken)),
            Pcode::Return => {
                self.leave_function();
                End::Return
            }
            _ => self.end_at(node, flow::NONE),
        };
        self.block = saved;
        self.builder.end(block, end);
        if block == self.block {
            self.block = BlockId::NONE;
        }
        true
    }

    pub(super) fn switch(&mut self, op: &Step, lifted: &Lifted, node: &Node, block: BlockId) {
        // The address is a sum with the register; the numbers of the table are what the register holds.
        let saved = std::mem::replace(&mut self.block, block);
        let target = self.input(&lifted.inputs(op)[0]);
        let selector = self.table_index(target);
        let cases = node.table.iter().map(|(number, to)| (*number, self.node_block(*to))).collect();
        self.builder.end(block, End::Switch { selector, cases, otherwise: None });
        self.block = if saved == block { BlockId::NONE } else { saved };
    }

    /// Returns the 32-bit number that the target of an indirect branch is computed from.
    pub(super) fn table_index(&mut self, target: ValueId) -> ValueId {
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

    /// Lifts an instruction with effects and internal branches: each stretch becomes a block.
    pub(super) fn with_blocks(&mut self, lifted: &Lifted, node: &Node) {
        let mut labels: Vec<(usize, BlockId)> = Vec::new();
        for (index, op) in lifted.ops().iter().enumerate() {
            self.arrive(index, &mut labels);
            if self.block == BlockId::NONE {
                continue;
            }
            match op.code {
                Pcode::Branch => {
                    let to = self.label(usize::from(op.to), &mut labels);
                    self.builder.end(self.block, End::Goto(to));
                    self.block = BlockId::NONE;
                }
                Pcode::BranchUnless => {
                    let condition = self.input(&lifted.inputs(op)[0]);
                    match self.builder.function.number(condition) {
                        Some(0) => {
                            let to = self.label(usize::from(op.to), &mut labels);
                            self.builder.end(self.block, End::Goto(to));
                            self.block = BlockId::NONE;
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

    pub(super) fn label(&mut self, index: usize, labels: &mut Vec<(usize, BlockId)>) -> BlockId {
        if let Some(found) = labels.iter().find(|label| label.0 == index) {
            return found.1;
        }
        let block = self.builder.block(self.address);
        labels.push((index, block));
        block
    }

    pub(super) fn arrive(&mut self, index: usize, labels: &mut Vec<(usize, BlockId)>) {
        let Some(variable) = labels.iter().position(|label| label.0 == index) else { return };
        let (_, block) = labels.swap_remove(variable);
        if self.block != BlockId::NONE {
            self.builder.end(self.block, End::Goto(block));
        }
        self.builder.seal(block);
        self.block = block;
    }
}

/// Returns whether an operation is that of `.S`.
fn is_join(op: &Step) -> bool {
    matches!(op.code, Pcode::Function(index)
        if functions().get(usize::from(index)).is_some_and(|function| function.name == "reconverge"))
}

/// Returns the index of the first operation that the guard does not belong to.
fn guarded_from(ops: &[Step]) -> usize {
    let ends = |op: &Step| op.code == Pcode::BranchUnless && usize::from(op.to) == ops.len();
    match ops {
        [first, ..] if ends(first) => 1,
        [first, second, ..] if first.code == Pcode::BoolNot && ends(second) => 2,
        _ => 0,
    }
}
