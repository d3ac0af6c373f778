//! Structured control flow to blocks.
//!
//! Constructs that are open are on a stack. A block is sealed when its predecessors are known: that of a loop at its end,
//! those of the cases of a switch at the end of the switch. Instructions that no code reaches are skipped. Subroutines
//! have neither parameters nor registers of their own: their code is lifted again at each call.

use super::LiftError;
use super::lifter::Lifter;
use super::sources::{Numbers, used_components};
use std::collections::HashMap;
use std::ops::Range;
use unshade_dxbc::opcode::{Class, Opcode};
use unshade_dxbc::{Instruction, Program};
use unshade_ir::{BlockId, End, ShaderOp, ValueId};

/// Maximum nesting of calls; those of hostile programs may never end.
const MAX_CALLS: usize = 16;

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
    },
    Switch {
        /// The block that ends with the switch and the selector; `None` where no code reaches.
        head: Option<(BlockId, ValueId)>,
        cases: Vec<(u64, BlockId)>,
        otherwise: Option<BlockId>,
        exit: BlockId,
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
            let Some(row) = instruction.opcode().row() else {
                self.unlifted(instruction, "unknown opcode");
                continue;
            };
            match row.class {
                Class::Declaration => {}
                Class::Flow => self.flow(row.mnemonic, instruction)?,
                _ if self.block.is_none() => {}
                _ => {
                    self.stream = self.streams.get(number).copied().flatten();
                    if self.operation(row.mnemonic, instruction).is_none() {
                        self.unlifted(instruction, "");
                    }
                }
            }
            if !matches!(instruction.opcode(), Opcode::CASE | Opcode::DEFAULT) {
                self.fresh_case = None;
            }
            if row.class != Class::Declaration {
                let next = program.instructions.get(number + 1).map_or(program.length, |next| next.position);
                self.name_registers(self.address, next.saturating_mul(4));
            }
        }
        Ok(())
    }

    /// Lifts an instruction that is neither a declaration nor control flow.
    fn operation(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        self.compute(mnemonic, instruction)
            .or_else(|| self.compute_doubles(mnemonic, instruction))
            .or_else(|| self.texture(mnemonic, instruction))
            .or_else(|| self.memory(mnemonic, instruction))
            .or_else(|| self.atomic(mnemonic, instruction))
            .or_else(|| self.emission(mnemonic, instruction))
            .or_else(|| self.evaluation(mnemonic, instruction))
    }

    fn emission(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let stream = instruction.operands.first().map_or(0, |operand| operand.indices[0].number as u32);
        let (emits, cuts) = match mnemonic {
            "emit" | "emit_stream" => (true, false),
            "cut" | "cut_stream" => (false, true),
            "emit_then_cut" | "emit_then_cut_stream" => (true, true),
            _ => return None,
        };
        let stream = self.number(stream);
        if emits {
            self.effect(ShaderOp::EmitVertex, &[stream]);
        }
        if cuts {
            self.effect(ShaderOp::CutStrip, &[stream]);
        }
        Some(())
    }

    /// Lifts the evaluation of an input elsewhere in the pixel.
    fn evaluation(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        let [target, input, rest @ ..] = &instruction.operands[..] else { return None };
        let (op, argument) = match (mnemonic, rest) {
            ("eval_centroid", []) => (ShaderOp::EvaluateCentroid, None),
            ("eval_sample_index", [sample]) => {
                (ShaderOp::EvaluateAtSample, Some(self.read_one(sample, Numbers::Integer)))
            }
            ("eval_snapped", [offset]) => {
                (ShaderOp::EvaluateSnapped, Some(self.read_vector(offset, 2, Numbers::Integer)))
            }
            _ => return None,
        };
        let interface = self.interface;
        let mut scalars = Vec::new();
        for position in used_components(target) {
            let component = super::texture::swizzled(input, position);
            let (place, row) = self.place(&interface.inputs, input.used_indices().last()?, component)?;
            let element = self.number(place.element as u32);
            let column = self.number(u32::from(place.column));
            let mut inputs = vec![element, row, column];
            inputs.extend(argument);
            scalars.push(self.shader(op, 1, &inputs));
        }
        let value = self.gather(&scalars);
        let value = self.modified(input, value, Numbers::Float);
        self.write_result(instruction, target, value);
        Some(())
    }

    fn flow(&mut self, mnemonic: &str, instruction: &Instruction) -> Result<(), LiftError> {
        let lifted = match mnemonic {
            "if" => self.start_if(instruction),
            "else" => self.start_else(),
            "endif" => self.end_if(),
            "loop" => self.start_loop(),
            "endloop" => self.end_loop(),
            "switch" => self.start_switch(instruction),
            "case" | "default" => self.start_case(instruction),
            "endswitch" => self.end_switch(),
            "break" | "breakc" | "continue" | "continuec" | "ret" | "retc" => self.jump(instruction),
            "discard" => self.discard(instruction),
            "call" | "callc" => return self.call(instruction),
            "nop" | "label" => Some(()),
            _ => None,
        };
        if lifted.is_none() {
            self.unlifted(instruction, "");
        }
        Ok(())
    }

    pub(super) fn new_block(&mut self) -> BlockId {
        self.builder.block(self.address)
    }

    /// Ends the current block, if code reaches it. No code reaches what follows.
    pub(super) fn end_block(&mut self, end: End) {
        if let Some(block) = self.block.take() {
            self.builder.end(block, end);
        }
    }

    /// Continues with a block whose predecessors are known.
    pub(super) fn enter(&mut self, block: BlockId) {
        self.builder.seal(block);
        self.function().blocks[block].address = self.address;
        let is_reached = !self.function().blocks[block].predecessors.is_empty();
        self.block = is_reached.then_some(block);
    }

    /// Ends the current block with a branch on the operand that an instruction tests.
    fn branch(&mut self, instruction: &Instruction, yes: BlockId, no: BlockId) -> Option<()> {
        if self.block.is_some() {
            let condition = self.tested(instruction, instruction.operands.last()?);
            self.end_block(End::Branch { condition, yes, no });
        }
        Some(())
    }

    fn start_if(&mut self, instruction: &Instruction) -> Option<()> {
        instruction.operands.first()?;
        let [yes, no] = [self.new_block(), self.new_block()];
        self.branch(instruction, yes, no)?;
        self.open.push(Construct::If { no, end: no });
        self.enter(yes);
        Some(())
    }

    fn start_else(&mut self) -> Option<()> {
        let (no, end) = match self.open.last() {
            Some(Construct::If { no, end }) if no == end => (*no, self.new_block()),
            _ => return None,
        };
        self.open.pop();
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

    fn start_loop(&mut self) -> Option<()> {
        let [header, exit] = [self.new_block(), self.new_block()];
        self.open.push(Construct::Loop { header, exit });
        if self.block.is_some() {
            self.end_block(End::Goto(header));
            self.block = Some(header);
        }
        Some(())
    }

    fn end_loop(&mut self) -> Option<()> {
        let Some(Construct::Loop { header, exit }) = self.open.last() else { return None };
        let (header, exit) = (*header, *exit);
        self.open.pop();
        self.end_block(End::Goto(header));
        self.builder.seal(header);
        self.enter(exit);
        Some(())
    }

    fn start_switch(&mut self, instruction: &Instruction) -> Option<()> {
        let operand = instruction.operands.first()?;
        let head = self.block.map(|block| (block, self.read_one(operand, Numbers::Integer)));
        let exit = self.new_block();
        self.open.push(Construct::Switch { head, cases: Vec::new(), otherwise: None, exit });
        self.block = None;
        Some(())
    }

    fn start_case(&mut self, instruction: &Instruction) -> Option<()> {
        let value = match instruction.opcode() {
            Opcode::CASE => Some(u64::from(*instruction.operands.first()?.values().first()?)),
            _ => None,
        };
        let Some(Construct::Switch { head, otherwise, .. }) = self.open.last() else { return None };
        if value.is_none() && otherwise.is_some() {
            return None;
        }
        if head.is_none() {
            return Some(());
        }
        let block = match self.fresh_case {
            Some(block) => block,
            None => {
                let block = self.new_block();
                self.end_block(End::Goto(block));
                block
            }
        };
        if let Some(Construct::Switch { cases, otherwise, .. }) = self.open.last_mut() {
            match value {
                Some(value) => cases.push((value, block)),
                None => *otherwise = Some(block),
            }
        }
        self.block = Some(block);
        self.fresh_case = Some(block);
        Some(())
    }

    fn end_switch(&mut self) -> Option<()> {
        if !matches!(self.open.last(), Some(Construct::Switch { .. })) {
            return None;
        }
        let Some(Construct::Switch { head, cases, otherwise, exit }) = self.open.pop() else { return None };
        self.end_block(End::Goto(exit));
        let blocks: Vec<BlockId> = cases.iter().map(|case| case.1).chain(otherwise).collect();
        if let Some((head, selector)) = head {
            let otherwise = otherwise.unwrap_or(exit);
            let end = if cases.is_empty() {
                End::Goto(otherwise)
            } else {
                End::Switch { selector, cases, otherwise: Some(otherwise) }
            };
            self.builder.end(head, end);
        }
        for block in blocks {
            self.builder.seal(block);
        }
        self.enter(exit);
        Some(())
    }

    /// Lifts an instruction that leaves a construct or the function, perhaps on a condition.
    fn jump(&mut self, instruction: &Instruction) -> Option<()> {
        let target = match instruction.opcode() {
            Opcode::BREAK | Opcode::BREAKC => self.open.iter().rev().find_map(|construct| match construct {
                Construct::Loop { exit, .. } | Construct::Switch { exit, .. } => Some(*exit),
                Construct::If { .. } => None,
            }),
            Opcode::CONTINUE | Opcode::CONTINUEC => {
                self.open.iter().rev().find_map(|construct| match construct {
                    Construct::Loop { header, .. } => Some(*header),
                    _ => None,
                })
            }
            Opcode::RET if self.returns.is_empty() => {
                self.end_block(End::Return);
                return Some(());
            }
            _ => match self.returns.last() {
                Some(block) => Some(*block),
                None => {
                    let block = self.new_block();
                    self.builder.end(block, End::Return);
                    Some(block)
                }
            },
        }?;
        if matches!(instruction.opcode(), Opcode::BREAKC | Opcode::CONTINUEC | Opcode::RETC) {
            let next = self.new_block();
            self.branch(instruction, target, next)?;
            self.enter(next);
        } else {
            self.end_block(End::Goto(target));
        }
        Some(())
    }

    fn discard(&mut self, instruction: &Instruction) -> Option<()> {
        if self.block.is_some() {
            let condition = self.tested(instruction, instruction.operands.first()?);
            self.effect(ShaderOp::Discard, &[condition]);
        }
        Some(())
    }

    /// Lifts the code of a subroutine in the place of a call.
    fn call(&mut self, instruction: &Instruction) -> Result<(), LiftError> {
        let label = instruction.operands.last().map(|operand| operand.indices[0].number);
        let body = label.and_then(|label| self.subroutines.get(&label).cloned());
        let Some(body) = body else {
            self.unlifted(instruction, "there is no such label");
            return Ok(());
        };
        if self.block.is_none() {
            return Ok(());
        }
        if self.returns.len() >= MAX_CALLS {
            return Err(LiftError::TooLarge);
        }
        let after = self.new_block();
        if instruction.opcode() == Opcode::CALLC {
            let start = self.new_block();
            let condition = instruction.operands.first().map(|operand| self.tested(instruction, operand));
            if let Some(condition) = condition {
                self.end_block(End::Branch { condition, yes: start, no: after });
            }
            self.enter(start);
        }
        self.inlined(body, after)
    }

    /// Lifts instructions that return to a block, and continues there.
    pub(super) fn inlined(&mut self, body: Range<usize>, after: BlockId) -> Result<(), LiftError> {
        self.returns.push(after);
        let open = std::mem::take(&mut self.open);
        self.run(body)?;
        self.open = open;
        self.returns.pop();
        self.end_block(End::Goto(after));
        self.enter(after);
        Ok(())
    }
}

/// Returns, for each instruction, the stream of the next one that emits a vertex.
pub(super) fn streams(program: &Program) -> Vec<Option<u32>> {
    let mut next = None;
    let mut streams: Vec<Option<u32>> = Vec::with_capacity(program.instructions.len());
    for instruction in program.instructions.iter().rev() {
        let row = instruction.opcode().row();
        if row.is_some_and(|row| row.mnemonic.starts_with("emit")) {
            next = Some(instruction.operands.first().map_or(0, |operand| operand.indices[0].number as u32));
        }
        streams.push(next);
    }
    streams.reverse();
    streams
}

/// Returns the instructions of each subroutine, by its label.
pub(super) fn subroutines(program: &Program) -> HashMap<u64, Range<usize>> {
    let mut subroutines = HashMap::new();
    let mut end = program.instructions.len();
    for (number, instruction) in program.instructions.iter().enumerate().rev() {
        if instruction.opcode() == Opcode::LABEL {
            if let Some(operand) = instruction.operands.first() {
                subroutines.insert(operand.indices[0].number, number + 1..end);
            }
            end = number;
        }
    }
    subroutines
}
