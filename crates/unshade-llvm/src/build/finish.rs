//! The end of a body: instructions come into the order of blocks, and what only shows at the end is checked:
//! terminators, the values of phis, and that every value dominates its uses.

use super::FunctionBuilder;
use crate::body::FunctionBody;
use crate::control_flow::ControlFlow;
use crate::ids::{BlockId, Slice, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::value::{Operand, OperandKind, ValueKind};
use alloc::string::String;
use alloc::vec::Vec;
use unshade_core::Result;

impl FunctionBuilder<'_> {
    /// Ends the body, which then belongs to the module.
    ///
    /// # Errors
    /// If a block has no terminator, a branch goes to a block without instructions or to the entry, the values of a
    /// phi are not those of the predecessors of its block, or a value does not dominate a use.
    pub fn finish(mut self) -> Result<()> {
        self.check_terminators()?;
        self.lay_out()?;
        let flow = ControlFlow::new(&self.body);
        self.check_entry(&flow)?;
        self.check_phis(&flow)?;
        self.check_landing_pads(&flow)?;
        self.check_dominance(&flow)?;
        let body = core::mem::take(&mut self.body);
        self.module.add_body(body)
    }

    fn check_terminators(&self) -> Result<()> {
        if self.order.is_empty() {
            return self.fail("the body has no blocks");
        }
        for &id in &self.order {
            let last = self.blocks.get(id.index()).and_then(|block| block.instructions.last());
            let last = last.and_then(|&last| self.instructions.get(last as usize));
            if !last.is_some_and(|last| last.instruction.opcode.is_terminator()) {
                let name = self.block_text(id);
                return self.fail(alloc::format!("block {name} has no terminator"));
            }
        }
        Ok(())
    }

    /// Returns how a block is called in messages, by its number before the end.
    fn block_text(&self, id: BlockId) -> String {
        let name = self.blocks.get(id.index()).map_or(&[][..], |block| block.name.of(&self.body.name_bytes));
        match name.is_empty() {
            true => alloc::format!("{}", id.0),
            false => alloc::format!("%{}", super::symbols::shown(name)),
        }
    }

    /// Brings instructions into the order of blocks.
    fn lay_out(&mut self) -> Result<()> {
        let mut positions = alloc::vec![None; self.blocks.len()];
        for (position, id) in (0u32..).zip(&self.order) {
            if let Some(slot) = positions.get_mut(id.index()) {
                *slot = Some(BlockId(position));
            }
        }
        let mut indices = alloc::vec![0; self.instructions.len()];
        let order = core::mem::take(&mut self.order);
        for &id in &order {
            let Some(block) = self.blocks.get(id.index()) else { continue };
            let start = narrow(self.body.instructions.len() as u64);
            for &at in &block.instructions {
                let Some(pending) = self.instructions.get(at as usize) else { continue };
                let index = narrow(self.body.instructions.len() as u64);
                if let Some(slot) = indices.get_mut(at as usize) {
                    *slot = index;
                }
                let first = self.body.operands.len();
                for operand in &pending.operands {
                    let operand = match operand.kind() {
                        OperandKind::Block(to) => match positions.get(to.index()).copied().flatten() {
                            Some(position) => Operand::block(position),
                            None => {
                                let name = self.block_text(to);
                                return self
                                    .fail(alloc::format!("block {name} is used but has no instructions"));
                            }
                        },
                        _ => *operand,
                    };
                    self.body.operands.push(operand);
                }
                let count = narrow((self.body.operands.len() - first) as u64);
                let operands = Slice { start: narrow(first as u64), count };
                self.body.instructions.push(Instruction { operands, ..pending.instruction });
                if !pending.attached.is_empty() {
                    let mut attached = pending.attached.clone();
                    attached.sort_by_key(|&(kind, _)| kind);
                    let slice = Slice::extend(&mut self.body.attached, attached);
                    self.body.attachments.push((index, slice));
                }
            }
            let count = narrow(self.body.instructions.len() as u64).saturating_sub(start);
            self.body.blocks.push(Slice { start, count });
            self.body.block_names.push(block.name);
        }
        for value in &mut self.body.values {
            if let ValueKind::Instruction(at) = value.kind {
                value.kind = ValueKind::Instruction(indices.get(at as usize).copied().unwrap_or(at));
            }
        }
        self.body.value_names.resize(self.body.values.len(), Slice::default());
        Ok(())
    }

    fn check_entry(&self, flow: &ControlFlow) -> Result<()> {
        match flow.graph().predecessors(0).is_empty() {
            true => Ok(()),
            false => self.fail("a branch goes to the entry"),
        }
    }

    /// Checks that each phi has one value for each edge to its block, and equal ones for edges of one block.
    fn check_phis(&self, flow: &ControlFlow) -> Result<()> {
        let mut predecessors = alloc::vec![Vec::new(); self.body.blocks.len()];
        for edge in flow.edges() {
            if let Some(list) = predecessors.get_mut(edge.to.index()) {
                list.push(edge.from.0);
            }
        }
        for (slice, mut edges) in self.body.blocks.iter().zip(predecessors) {
            edges.sort_unstable();
            for phi in slice.of(&self.body.instructions).iter().filter(|i| i.opcode == Opcode::Phi) {
                let mut incoming: Vec<(u32, ValueId)> = incoming(&self.body, phi).collect();
                incoming.sort_unstable();
                if !incoming.iter().map(|(block, _)| block).eq(&edges) {
                    return self.fail_in(Opcode::Phi, "its values are not those of the predecessors");
                }
                let is_ambiguous =
                    |pair: &[(u32, ValueId)]| matches!(pair, [a, b] if a.0 == b.0 && a.1 != b.1);
                if incoming.windows(2).any(is_ambiguous) {
                    return self.fail_in(Opcode::Phi, "it has two values for one predecessor");
                }
            }
        }
        Ok(())
    }

    /// Checks that a landing pad is where `invoke` unwinds to, and only there.
    fn check_landing_pads(&self, flow: &ControlFlow) -> Result<()> {
        let is_pad = |block: BlockId| {
            let first = self.body.block(block).iter().find(|i| i.opcode != Opcode::Phi);
            first.is_some_and(|first| first.opcode == Opcode::LandingPad)
        };
        for edge in flow.edges() {
            let unwinds = edge.kind == crate::control_flow::EdgeKind::Unwind;
            if unwinds != is_pad(edge.to) {
                return self
                    .fail_in(Opcode::Invoke, "it unwinds to a landing pad, and nothing else goes there");
            }
        }
        let is_reached = |block: u32| !flow.graph().predecessors(block).is_empty();
        let count = narrow(self.body.blocks.len() as u64);
        match (0..count).any(|block| is_pad(BlockId(block)) && !is_reached(block)) {
            true => self.fail_in(Opcode::LandingPad, "nothing unwinds to it"),
            false => Ok(()),
        }
    }

    fn check_dominance(&self, flow: &ControlFlow) -> Result<()> {
        let mut block_of = alloc::vec![0u32; self.body.instructions.len()];
        for (at, slice) in (0u32..).zip(&self.body.blocks) {
            let range = slice.start as usize..(slice.start as usize).saturating_add(slice.len());
            block_of.get_mut(range).unwrap_or_default().fill(at);
        }
        let uses = Dominance { body: &self.body, flow, block_of };
        for (at, instruction) in (0u32..).zip(&self.body.instructions) {
            if let Some(value) = uses.first_not_dominated(at, instruction) {
                let name = self.body.value_name(value);
                let shown = match name.is_empty() {
                    true => String::from("a value"),
                    false => alloc::format!("%{}", super::symbols::shown(name)),
                };
                return self
                    .fail_in(instruction.opcode, alloc::format!("{shown} does not dominate this use"));
            }
        }
        Ok(())
    }
}

/// Returns the blocks and values of a phi.
fn incoming<'b>(body: &'b FunctionBody, phi: &Instruction) -> impl Iterator<Item = (u32, ValueId)> + 'b {
    phi.operands.of(&body.operands).chunks_exact(2).filter_map(|pair| match *pair {
        [value, block] => Some((block.as_block()?.0, value.as_value()?)),
        _ => None,
    })
}

/// What decides whether a value dominates a use.
struct Dominance<'b> {
    body: &'b FunctionBody,
    flow: &'b ControlFlow,
    /// The block of each instruction.
    block_of: Vec<u32>,
}

impl Dominance<'_> {
    /// Returns the first operand of an instruction that does not dominate it. Code that is never reached may use
    /// anything.
    fn first_not_dominated(&self, at: u32, instruction: &Instruction) -> Option<ValueId> {
        let block = self.block_of.get(at as usize).copied()?;
        if !self.flow.dominators().is_reached(block) {
            return None;
        }
        if instruction.opcode == Opcode::Phi {
            let mut values = incoming(self.body, instruction);
            return values
                .find(|&(from, value)| !self.reaches_end(value, from, block))
                .map(|(_, value)| value);
        }
        let operands = self.body.operands_of(instruction).iter();
        let local = operands.filter_map(|operand| match operand.kind() {
            OperandKind::Value(value) => Some(value),
            OperandKind::Metadata(id) => match self.body.metadata.get(id) {
                Some(crate::metadata::Metadata::Value { value, .. }) => Some(value),
                _ => None,
            },
            OperandKind::Block(_) => None,
        });
        local.into_iter().find(|&value| !self.dominates(value, at, block))
    }

    /// Returns the instruction and block that define a value; parameters and constants have none.
    fn definition(&self, value: ValueId) -> Option<(u32, u32)> {
        match self.body.value(value)?.kind {
            ValueKind::Instruction(at) => Some((at, self.block_of.get(at as usize).copied()?)),
            _ => None,
        }
    }

    fn dominates(&self, value: ValueId, use_at: u32, use_block: u32) -> bool {
        let Some((at, block)) = self.definition(value) else { return true };
        if let Some(normal) = self.normal_edge(at) {
            // The result of an invoke exists on the edge to its normal block.
            return self.flow.graph().predecessors(normal).len() == 1
                && self.flow.dominators().dominates(normal, use_block);
        }
        if block == use_block { at < use_at } else { self.flow.dominators().dominates(block, use_block) }
    }

    /// Returns whether a value exists at the end of a block, on the edge to another.
    fn reaches_end(&self, value: ValueId, from: u32, to: u32) -> bool {
        if !self.flow.dominators().is_reached(from) {
            return true;
        }
        let Some((at, block)) = self.definition(value) else { return true };
        match self.normal_edge(at) {
            Some(normal) if from == block => normal == to,
            Some(_) => self.dominates(value, u32::MAX, from),
            None => self.flow.dominators().dominates(block, from),
        }
    }

    /// Returns the normal block of an `invoke`.
    fn normal_edge(&self, at: u32) -> Option<u32> {
        let instruction = self.body.instructions.get(at as usize)?;
        match (instruction.opcode, self.body.operands_of(instruction)) {
            (Opcode::Invoke, [.., normal, _]) => normal.as_block().map(|block| block.0),
            _ => None,
        }
    }
}
