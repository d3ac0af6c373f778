//! Structured control flow to blocks. A loop counts up to the number of its repetitions, as FXC's loops do; `loop` also
//! counts in `aL`.

use super::lifter::{Lifter, MAX_LOOPS};
use crate::dxbc::LiftError;
use std::ops::Range;
use unshade_dxbc::d3d9::Instruction;
use unshade_dxbc::d3d9::opcode::Opcode;
use unshade_dxbc::d3d9::operand::{Operand, RegisterKind};
use unshade_dxbc::opcode::Class;
use unshade_ir::{BlockId, End, Op, ValueId};

/// Maximum nesting of calls; those of hostile programs may never end.
const MAX_CALLS: usize = 8;

/// A construct that is open.
#[derive(Debug)]
pub(super) enum Construct {
    If {
        /// Where the condition does not hold: the end, if there is no `else`.
        no: BlockId,
        end: BlockId,
    },
    Loop {
        header: BlockId,
        exit: BlockId,
        /// What `aL` was before, if the loop counts in it, and its step, unless it is the counter of the rounds.
        outer: Option<(ValueId, Option<ValueId>)>,
    },
}

impl Lifter<'_> {
    /// Lifts the instructions with these numbers.
    pub(super) fn run(&mut self, range: Range<usize>) -> Result<(), LiftError> {
        let program = self.program;
        for number in range {
            let Some(instruction) = program.instructions.get(number) else { break };
            self.count()?;
            self.address = instruction.position.saturating_mul(4);
            if instruction.opcode() == Opcode::COMMENT {
                continue;
            }
            let Some(row) = instruction.opcode().row(program.version) else {
                self.unlifted(instruction);
                continue;
            };
            let lifted = match row.class {
                Class::Declaration => Some(()),
                Class::Flow if row.mnemonic != "texkill" => self.flow(instruction)?,
                _ if self.block.is_none() => Some(()),
                _ => self.operation(row.mnemonic, instruction),
            };
            if lifted.is_none() {
                self.unlifted(instruction);
            }
        }
        Ok(())
    }

    fn flow(&mut self, instruction: &Instruction) -> Result<Option<()>, LiftError> {
        let operands: Vec<&Operand> = instruction.operands.iter().collect();
        Ok(match instruction.opcode() {
            // `nop`, `label`, and `phase`.
            Opcode(0 | 30 | 0xfffd) => Some(()),
            Opcode::IF => {
                let condition = operands.first().and_then(|operand| self.truth(operand));
                self.start_if(condition)
            }
            Opcode::IF_COMPARE => {
                let condition = self.compared(instruction, &operands);
                self.start_if(condition)
            }
            Opcode::ELSE => self.start_else(),
            Opcode::END_IF => self.end_if(),
            Opcode::LOOP => operands.get(1).and_then(|count| self.start_loop(count, true)),
            Opcode::REPEAT => operands.first().and_then(|count| self.start_loop(count, false)),
            Opcode::END_LOOP | Opcode::END_REPEAT => self.end_loop(),
            Opcode::BREAK => self.leave(None),
            Opcode::BREAK_COMPARE => match self.compared(instruction, &operands) {
                // FXC writes `break_ne 1, -1`.
                Some(condition) if self.known(condition) == Some(1) => self.leave(None),
                Some(condition) => self.leave(Some(condition)),
                None => None,
            },
            Opcode::BREAK_PREDICATE => match operands.first().and_then(|operand| self.truth(operand)) {
                Some(condition) => self.leave(Some(condition)),
                None => None,
            },
            Opcode::RETURN => {
                if self.returns.is_empty() {
                    self.store_late();
                }
                let end = self.returns.last().map_or(End::Return, |block| End::Goto(*block));
                self.end_block(end);
                Some(())
            }
            Opcode::CALL | Opcode::CALL_IF => self.call(&operands)?,
            _ => None,
        })
    }

    /// Returns the condition that an operand is: a constant or a predicate.
    fn truth(&mut self, operand: &Operand) -> Option<ValueId> {
        if self.block.is_none() {
            return Some(self.undefined());
        }
        Some(self.predicate(operand, &[0]))
    }

    fn compared(&mut self, instruction: &Instruction, operands: &[&Operand]) -> Option<ValueId> {
        if self.block.is_none() {
            return Some(self.undefined());
        }
        self.comparison(instruction, operands, &[0])
    }

    fn new_block(&mut self) -> BlockId {
        self.builder.block(self.address)
    }

    /// Ends the current block, if code reaches it. No code reaches what follows.
    pub(super) fn end_block(&mut self, end: End) {
        if let Some(block) = self.block.take() {
            self.builder.end(block, end);
        }
    }

    /// Continues with a block whose predecessors are known.
    fn enter(&mut self, block: BlockId) {
        self.builder.seal(block);
        self.builder.function.blocks[block].address = self.address;
        let is_reached = !self.builder.function.blocks[block].predecessors.is_empty();
        self.block = is_reached.then_some(block);
    }

    fn start_if(&mut self, condition: Option<ValueId>) -> Option<()> {
        let condition = condition?;
        let [yes, no] = [self.new_block(), self.new_block()];
        self.end_block(End::Branch { condition, yes, no });
        self.open.push(Construct::If { no, end: no });
        self.enter(yes);
        Some(())
    }

    fn start_else(&mut self) -> Option<()> {
        let no = match self.open.last() {
            Some(Construct::If { no, end }) if no == end => *no,
            _ => return None,
        };
        self.open.pop();
        let end = self.new_block();
        self.open.push(Construct::If { no, end });
        self.end_block(End::Goto(end));
        self.enter(no);
        Some(())
    }

    fn end_if(&mut self) -> Option<()> {
        let Some(Construct::If { end, .. }) = self.open.last() else { return None };
        let end = *end;
        self.open.pop();
        self.end_block(End::Goto(end));
        self.enter(end);
        Some(())
    }

    /// Returns the number of loops that are open, subroutines aside.
    fn depth(&self) -> u32 {
        let loops = self.open.iter().filter(|construct| matches!(construct, Construct::Loop { .. }));
        (loops.count() + self.returns.len()) as u32
    }

    fn start_loop(&mut self, count: &Operand, counts_in_register: bool) -> Option<()> {
        let depth = self.depth();
        if depth >= MAX_LOOPS {
            return None;
        }
        let [header, body, exit] = [self.new_block(), self.new_block(), self.new_block()];
        let mut outer = None;
        if self.block.is_some() {
            let number = self.read(count, &[0]);
            let zero = self.number(0);
            self.set_counter(depth, zero);
            if counts_in_register {
                let [start, step] = self.start_and_step(count);
                let is_counter = self.known(start) == Some(0) && self.known(step) == Some(1);
                outer = Some((self.get(RegisterKind::LOOP, 0, 0), (!is_counter).then_some(step)));
                self.set(RegisterKind::LOOP, 0, 0, start);
            }
            self.end_block(End::Goto(header));
            self.block = Some(header);
            let done = self.counter(depth);
            if let Some((_, None)) = outer {
                self.set(RegisterKind::LOOP, 0, 0, done);
            }
            let condition = self.add(Op::SignedLess, 1, 1, &[done, number]);
            self.end_block(End::Branch { condition, yes: body, no: exit });
        }
        self.enter(body);
        self.open.push(Construct::Loop { header, exit, outer });
        Some(())
    }

    /// Returns where `aL` starts, and its step. A constant that is one number in the table counts from zero in steps of
    /// one: these are what the other components of its register are then set to. Of a register that no table names,
    /// that is a guess.
    fn start_and_step(&mut self, count: &Operand) -> [ValueId; 2] {
        let is_defined = self.interface.defined.contains_key(&(count.kind(), count.number()));
        if is_defined || self.interface.vectors.contains(&count.number()) {
            return [1, 2].map(|position| self.read(count, &[position]));
        }
        if !self.interface.counts.contains(&count.number()) {
            let note = format!("where aL starts, and its step, are in i{}: taken as 0 and 1", count.number());
            let note = self.builder.function.notes.push(note);
            self.add(Op::Unlifted(note), 32, 1, &[]);
        }
        [0, 1].map(|number| self.number(number))
    }

    fn end_loop(&mut self) -> Option<()> {
        let Some(Construct::Loop { header, exit, outer }) = self.open.last() else { return None };
        let (header, exit, outer) = (*header, *exit, *outer);
        self.open.pop();
        let depth = self.depth();
        if self.block.is_some() {
            let done = self.counter(depth);
            let one = self.number(1);
            let done = self.add(Op::Add, 32, 1, &[done, one]);
            self.set_counter(depth, done);
            if let Some((_, Some(step))) = outer {
                let counter = self.get(RegisterKind::LOOP, 0, 0);
                let counter = self.add(Op::Add, 32, 1, &[counter, step]);
                self.set(RegisterKind::LOOP, 0, 0, counter);
            }
        }
        self.end_block(End::Goto(header));
        self.builder.seal(header);
        self.enter(exit);
        if let Some((before, _)) = outer {
            self.set(RegisterKind::LOOP, 0, 0, before);
        }
        Some(())
    }

    /// Leaves the innermost loop, perhaps on a condition.
    fn leave(&mut self, condition: Option<ValueId>) -> Option<()> {
        let exit = self.open.iter().rev().find_map(|construct| match construct {
            Construct::Loop { exit, .. } => Some(*exit),
            Construct::If { .. } => None,
        })?;
        match condition {
            Some(condition) => {
                let next = self.new_block();
                self.end_block(End::Branch { condition, yes: exit, no: next });
                self.enter(next);
            }
            None => self.end_block(End::Goto(exit)),
        }
        Some(())
    }

    /// Lifts the code of a subroutine in the place of a call.
    fn call(&mut self, operands: &[&Operand]) -> Result<Option<()>, LiftError> {
        let instructions = &self.program.instructions;
        let is_label = |instruction: &Instruction| instruction.opcode() == Opcode::LABEL;
        let number = operands.first().map(|operand| operand.number());
        let start = instructions.iter().position(|instruction| {
            is_label(instruction) && instruction.operands.first().map(Operand::number) == number
        });
        let Some(start) = start else { return Ok(None) };
        if self.block.is_none() {
            return Ok(Some(()));
        }
        if self.returns.len() >= MAX_CALLS {
            return Err(LiftError::TooLarge);
        }
        let length = instructions[start + 1..].iter().position(is_label);
        let end = length.map_or(instructions.len(), |length| start + 1 + length);
        let after = self.new_block();
        if let Some(operand) = operands.get(1) {
            let condition = self.predicate(operand, &[0]);
            let body = self.new_block();
            self.end_block(End::Branch { condition, yes: body, no: after });
            self.enter(body);
        }
        self.returns.push(after);
        let open = std::mem::take(&mut self.open);
        self.run(start + 1..end)?;
        self.open = open;
        self.returns.pop();
        self.end_block(End::Goto(after));
        self.enter(after);
        Ok(Some(()))
    }
}
