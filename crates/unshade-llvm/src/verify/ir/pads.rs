//! Exception handling: where pads are, what may unwind to them, and how funclets nest.
//!
//! Pads form a forest by their parents. Unwinding from a pad leaves it and all its ancestors below the parent of the pad
//! that is entered; every edge that leaves a pad must enter the same one. A destination is stored with each pad that an
//! edge leaves, and the walk up the forest ends at a pad that has the same destination already, so the walks take linear
//! time together. Whether one pad is inside another is answered by preorder numbers of the forest.
//!
//! Knowledge: the Language Reference on exception handling; what LLVM 14 and 19 refuse.

use super::body::BodyCheck;
use super::findings::Place;
use crate::constants::Constant;
use crate::ids::{BlockId, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use alloc::vec;
use alloc::vec::Vec;

const RULE: &str = "ir-exception";

/// No pad: the caller, or the token `none`.
const NONE: u32 = u32::MAX;

/// A pad of a function with funclets.
#[derive(Clone, Copy, Debug)]
struct Pad {
    /// The index of its instruction.
    instruction: u32,
    /// The instruction of its parent, or none.
    parent: u32,
    /// The preorder interval in the forest; empty if its ancestors are a cycle.
    start: u32,
    end: u32,
    /// Where edges that leave it lead: the instruction of a pad, or none for the caller.
    leads_to: Option<u32>,
}

/// All pads of a body, sorted by instruction.
#[derive(Debug, Default)]
struct Pads {
    list: Vec<Pad>,
}

impl Pads {
    fn at(&self, instruction: u32) -> Option<&Pad> {
        let at = self.list.binary_search_by_key(&instruction, |pad| pad.instruction).ok()?;
        self.list.get(at)
    }

    fn at_mut(&mut self, instruction: u32) -> Option<&mut Pad> {
        let at = self.list.binary_search_by_key(&instruction, |pad| pad.instruction).ok()?;
        self.list.get_mut(at)
    }

    fn parent(&self, instruction: u32) -> u32 {
        self.at(instruction).map_or(NONE, |pad| pad.parent)
    }

    /// Returns whether a pad is another one or inside of it. Every pad is inside of none.
    fn is_within(&self, inner: u32, outer: u32) -> bool {
        if outer == NONE || inner == outer {
            return true;
        }
        match (self.at(inner), self.at(outer)) {
            (Some(inner), Some(outer)) => outer.start <= inner.start && inner.start < outer.end,
            _ => false,
        }
    }

    /// Numbers the forest in preorder. Pads whose ancestors form a cycle keep empty intervals.
    fn number(&mut self) {
        let mut children: Vec<(u32, u32)> = self.list.iter().map(|pad| (pad.parent, pad.instruction)).collect();
        children.sort_unstable();
        let of = |parent: u32| {
            let start = children.partition_point(|(of, _)| *of < parent);
            let end = children.partition_point(|(of, _)| *of <= parent);
            children.get(start..end).unwrap_or_default().iter().map(|&(_, child)| child).collect::<Vec<u32>>()
        };
        let mut next = 0u32;
        // Each pad twice: to be entered, then to be left.
        let mut stack: Vec<(u32, bool)> = of(NONE).into_iter().map(|root| (root, false)).collect();
        while let Some((instruction, leaves)) = stack.pop() {
            let Some(pad) = self.at_mut(instruction) else { continue };
            if leaves {
                pad.end = next;
                continue;
            }
            pad.start = next;
            next = next.saturating_add(1);
            stack.push((instruction, true));
            stack.extend(of(instruction).into_iter().map(|child| (child, false)));
        }
    }
}

/// Returns whether an instruction is a pad with a parent.
fn is_funclet(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::CatchPad | Opcode::CleanupPad | Opcode::CatchSwitch)
}

fn is_pad(opcode: Opcode) -> bool {
    opcode == Opcode::LandingPad || is_funclet(opcode)
}

impl<'c> BodyCheck<'c, '_, '_> {
    /// Checks all that has to do with exceptions.
    pub(super) fn pads(&mut self) {
        let relevant = |of: &Instruction| {
            is_pad(of.opcode)
                || matches!(
                    of.opcode,
                    Opcode::Invoke | Opcode::Resume | Opcode::CleanupRet | Opcode::CatchRet
                )
        };
        if !self.body.instructions.iter().any(relevant) {
            return;
        }
        self.find_firsts();
        let mut pads = self.collect_pads();
        let mut landing_type = None;
        for index in 0..self.instruction_count() {
            let Some(of) = self.body.instructions.get(index as usize).filter(|of| relevant(of)) else { continue };
            self.enter(index);
            self.exception_instruction(of, &mut landing_type);
            if is_pad(of.opcode) {
                self.predecessors_of_pad(of, &pads);
            }
        }
        self.unwinding(&mut pads);
        self.siblings(&pads);
    }

    fn collect_pads(&mut self) -> Pads {
        let mut pads = Pads::default();
        for (instruction, of) in (0u32..).zip(&self.body.instructions) {
            if is_funclet(of.opcode) {
                let parent = self.value_at(of, 0).and_then(|id| self.definition(id)).map_or(NONE, |(index, _)| index);
                let parent_is_pad =
                    self.body.instructions.get(parent as usize).is_some_and(|of| is_funclet(of.opcode));
                let parent = if parent_is_pad { parent } else { NONE };
                pads.list.push(Pad { instruction, parent, start: 0, end: 0, leads_to: None });
            }
        }
        pads.number();
        for pad in pads.list.iter().filter(|pad| pad.end == 0) {
            self.findings.add_at(Place::Instruction(pad.instruction), RULE, "a pad is nested within itself");
        }
        pads
    }

    /// Returns the first instruction of a block that is no phi, with its index.
    fn first_of(&self, block: BlockId) -> Option<(u32, &'c Instruction)> {
        let index = *self.firsts.get(block.index())?;
        Some((index, self.body.instructions.get(index as usize)?))
    }

    /// Finds the first instruction of each block that is no phi.
    fn find_firsts(&mut self) {
        let body = self.body;
        let first = |range: &crate::Slice| {
            let phis = range.of(&body.instructions).iter().take_while(|of| of.opcode == Opcode::Phi).count();
            if phis == range.len() { u32::MAX } else { range.start.saturating_add(narrow(phis as u64)) }
        };
        self.firsts = body.blocks.iter().map(first).collect();
    }

    /// Returns the instruction of a funclet pad that a token is.
    fn pad_of(&self, of: &Instruction, at: usize, opcodes: &[Opcode]) -> bool {
        let definition = self.value_at(of, at).and_then(|id| self.definition(id));
        definition.is_some_and(|(_, of)| opcodes.contains(&of.opcode))
    }

    fn is_none_token(&self, id: ValueId) -> bool {
        let constant = self.context.constant(Some(self.body), id);
        matches!(constant, Some((Constant::Null, _)))
    }

    fn exception_instruction(&mut self, of: &Instruction, landing_type: &mut Option<TypeId>) {
        match of.opcode {
            Opcode::LandingPad => {
                self.landing_pad(of);
                self.landing_type(of.ty, landing_type);
            }
            Opcode::Resume => {
                self.personality("resume is in a function with a personality");
                let ty = self.type_at(of, 0);
                self.landing_type(ty, landing_type);
            }
            Opcode::CatchPad => {
                let in_switch = self.pad_of(of, 0, &[Opcode::CatchSwitch]);
                self.require(in_switch, RULE, "a catchpad is directly in a catchswitch");
            }
            Opcode::CleanupPad | Opcode::CatchSwitch => {
                let in_pad = self.pad_of(of, 0, &[Opcode::CatchPad, Opcode::CleanupPad])
                    || self.value_at(of, 0).is_some_and(|id| self.is_none_token(id));
                self.require(in_pad, RULE, "the parent of a pad is a catchpad, a cleanuppad or none");
                if of.opcode == Opcode::CatchSwitch {
                    self.catch_switch(of);
                }
            }
            Opcode::CatchRet => {
                let of_pad = self.pad_of(of, 0, &[Opcode::CatchPad]);
                self.require(of_pad, RULE, "catchret leaves a catchpad");
            }
            Opcode::CleanupRet => {
                let of_pad = self.pad_of(of, 0, &[Opcode::CleanupPad]);
                self.require(of_pad, RULE, "cleanupret leaves a cleanuppad");
                if let Some(to) = self.operand(of, 1).and_then(|operand| operand.as_block()) {
                    self.funclet_target(to, "cleanupret unwinds to a pad that is no landingpad");
                }
            }
            Opcode::Invoke => {
                let unwind = self.body.operands_of(of).last().and_then(|operand| operand.as_block());
                let to_pad = unwind.and_then(|block| self.first_of(block)).is_some_and(|(_, of)| is_pad(of.opcode));
                self.require(to_pad, RULE, "an invoke unwinds to a block that starts with a pad");
            }
            _ => {}
        }
        if is_pad(of.opcode) {
            self.personality("a pad is in a function with a personality");
            let is_first = self.first_of(self.block).is_some_and(|(index, _)| index == self.index);
            self.require(is_first, RULE, "a pad is not the first instruction of its block");
        }
    }

    fn personality(&mut self, message: &'static str) {
        let function = self.context.module.functions.get(self.body.function as usize);
        let has = self.body.personality.is_some() || function.is_some_and(|function| function.personality.is_some());
        self.require(has, RULE, message);
    }

    /// Checks that all landing pads and resumes have one type.
    fn landing_type(&mut self, ty: TypeId, first: &mut Option<TypeId>) {
        let first = *first.get_or_insert(ty);
        self.require(self.context.same(first, ty), RULE, "the landingpads of a function have different types");
    }

    fn landing_pad(&mut self, of: &Instruction) {
        let context = self.context;
        let clauses = self.body.operands_of(of);
        let catches = !clauses.is_empty() || of.extra != 0;
        self.require(catches, RULE, "a landingpad has a clause or is a cleanup");
        for (at, operand) in clauses.iter().enumerate() {
            let is_filter = self.body.indices.get((of.detail as usize).saturating_add(at)) == Some(&1);
            let ty = context.operand_type(self.body, *operand);
            if is_filter {
                let is_array = matches!(context.get(ty), Type::Array { .. } | Type::Unknown);
                self.require(is_array, RULE, "a filter of a landingpad is an array of constants");
            } else {
                self.require(context.is_pointer(ty), RULE, "a landingpad catches a pointer");
            }
        }
    }

    fn catch_switch(&mut self, of: &Instruction) {
        let blocks = self.body.operands_of(of).get(1..).unwrap_or_default();
        let handlers = blocks.len().saturating_sub(of.detail as usize);
        self.require(handlers > 0, RULE, "a catchswitch has a handler");
        for (at, block) in blocks.iter().enumerate() {
            let Some(block) = block.as_block() else { continue };
            if at < handlers {
                let is_catch = self.first_of(block).is_some_and(|(_, of)| of.opcode == Opcode::CatchPad);
                self.require(is_catch, RULE, "the handlers of a catchswitch start with catchpads");
            } else {
                self.funclet_target(block, "a catchswitch unwinds to a pad that is no landingpad");
            }
        }
    }

    fn funclet_target(&mut self, block: BlockId, message: &'static str) {
        let is_target = self.first_of(block).is_some_and(|(_, of)| is_funclet(of.opcode));
        self.require(is_target, RULE, message);
    }

    /// Checks the edges that lead to the current pad.
    fn predecessors_of_pad(&mut self, of: &Instruction, pads: &Pads) {
        let block = self.block;
        self.require(block.0 != 0, RULE, "the entry block is no pad");
        if of.opcode == Opcode::CatchPad {
            self.predecessors_of_catch(of);
            return;
        }
        for at in 0..self.flow.predecessors(block).len() {
            let Some(&from) = self.flow.predecessors(block).get(at) else { continue };
            let Some(last) = self.body.block(BlockId(from)).last() else { continue };
            let operands = self.body.operands_of(last);
            let unwinds = match last.opcode {
                Opcode::Invoke => {
                    let to = |back: usize| {
                        operands.len().checked_sub(back).and_then(|at| operands.get(at)?.as_block())
                    };
                    to(1) == Some(block) && to(2) != Some(block)
                }
                Opcode::CleanupRet => of.opcode != Opcode::LandingPad,
                Opcode::CatchSwitch => {
                    of.opcode != Opcode::LandingPad
                        && last.detail != 0
                        && operands.last().and_then(|operand| operand.as_block()) == Some(block)
                }
                _ => false,
            };
            if self.require(unwinds, RULE, "a pad is entered by an edge that does not unwind") {
                self.edge_to_pad(BlockId(from), last, pads);
            }
        }
    }

    fn predecessors_of_catch(&mut self, of: &Instruction) {
        let Some((switch, parent)) = self.value_at(of, 0).and_then(|id| self.definition(id)) else { return };
        let from = self.flow.block_of(switch);
        let only = self.flow.predecessors(self.block).iter().all(|&before| before == from.0);
        self.require(only, RULE, "a catchpad is entered only from its catchswitch");
        let unwind = self.body.operands_of(parent).last().filter(|_| parent.detail != 0);
        let unwinds_here = unwind.and_then(|operand| operand.as_block()) == Some(self.block);
        self.require(!unwinds_here, RULE, "a catchswitch unwinds to one of its own catchpads");
    }

    /// Returns the pad that a terminator unwinds from: that of its funclet bundle, or its own operand.
    fn source_pad(&self, block: BlockId, last: &Instruction) -> u32 {
        let pad = |id: Option<ValueId>| id.and_then(|id| self.definition(id)).map_or(NONE, |(index, _)| index);
        match last.opcode {
            Opcode::CleanupRet => pad(self.value_at(last, 0)),
            Opcode::CatchSwitch => self.body.blocks.get(block.index()).map_or(NONE, |range| {
                range.start.saturating_add(range.count).saturating_sub(1)
            }),
            _ => pad(self.funclet_of(last)),
        }
    }

    /// Checks that an edge to the current pad enters no other pad on its way and leaves the ones that it must.
    fn edge_to_pad(&mut self, from: BlockId, last: &Instruction, pads: &Pads) {
        if pads.list.is_empty() {
            return;
        }
        // An intrinsic that does not throw takes no part.
        let quiet = last.opcode == Opcode::Invoke
            && self.call_parts(last).is_some_and(|parts| {
                parts.function.is_some_and(|function| self.context.is_intrinsic(function))
            });
        if quiet {
            return;
        }
        let source = self.source_pad(from, last);
        let target = self.index;
        let outer = pads.parent(target);
        if last.opcode == Opcode::CleanupRet {
            self.require(source != outer, RULE, "a cleanupret does not leave its cleanuppad");
        }
        if pads.at(target).is_some() {
            let inside = source != NONE && pads.is_within(source, target);
            self.require(!inside, RULE, "a pad handles exceptions that are thrown inside of it");
        }
        let direct = pads.is_within(source, outer);
        self.require(direct, RULE, "an unwind edge enters more than one pad");
    }

    /// Checks that all edges that leave a pad lead to the same one.
    fn unwinding(&mut self, pads: &mut Pads) {
        if pads.list.is_empty() {
            return;
        }
        for at in 0..self.body.blocks.len() {
            let block = BlockId(narrow(at as u64));
            let Some(last) = self.body.block(block).last() else { continue };
            let target = match last.opcode {
                Opcode::Invoke => self.body.operands_of(last).last().and_then(|operand| operand.as_block()),
                Opcode::CleanupRet => self.operand(last, 1).and_then(|operand| operand.as_block()),
                Opcode::CatchSwitch if last.detail != 0 => {
                    self.body.operands_of(last).last().and_then(|operand| operand.as_block())
                }
                _ => continue,
            };
            let entered = match target {
                None => NONE,
                Some(block) => match self.first_of(block) {
                    Some((index, first)) if is_funclet(first.opcode) => index,
                    _ => continue,
                },
            };
            let source = self.source_pad(block, last);
            let range = self.body.blocks.get(at).copied().unwrap_or_default();
            self.enter(range.start.saturating_add(range.count).saturating_sub(1));
            if last.opcode == Opcode::CatchSwitch {
                self.leave(pads.parent(source), entered, pads);
            } else {
                self.leave(source, entered, pads);
            }
        }
    }

    /// Stores that an edge leaves a pad and its ancestors for another.
    fn leave(&mut self, source: u32, entered: u32, pads: &mut Pads) {
        let outer = if entered == NONE { NONE } else { pads.parent(entered) };
        let mut pad = source;
        // A chain that is a cycle has been reported.
        for _ in 0..=pads.list.len() {
            if pad == NONE || pad == outer {
                return;
            }
            let Some(slot) = pads.at_mut(pad) else { return };
            let parent = slot.parent;
            let opcode = self.body.instructions.get(pad as usize).map(|of| of.opcode);
            match slot.leads_to {
                Some(known) => {
                    self.require(known == entered, RULE, "edges that leave a pad enter different ones");
                    return;
                }
                None => slot.leads_to = Some(entered),
            }
            if opcode == Some(Opcode::CatchPad) {
                let expected = self.switch_target(parent);
                let same = expected.is_none_or(|expected| expected == entered);
                self.require(same, RULE, "a catchpad unwinds to another pad than its catchswitch");
                return;
            }
            pad = parent;
        }
    }

    /// Returns the pad that a catchswitch unwinds to.
    fn switch_target(&self, switch: u32) -> Option<u32> {
        let of = self.body.instructions.get(switch as usize).filter(|of| of.opcode == Opcode::CatchSwitch)?;
        if of.detail == 0 {
            return Some(NONE);
        }
        let block = self.body.operands_of(of).last()?.as_block()?;
        self.first_of(block).map(|(index, _)| index)
    }

    /// Checks that pads with the same parent don't handle each other's exceptions in a circle.
    fn siblings(&mut self, pads: &Pads) {
        let next: Vec<Option<usize>> = pads
            .list
            .iter()
            .map(|pad| {
                let opcode = self.body.instructions.get(pad.instruction as usize).map(|of| of.opcode);
                let target = match opcode {
                    Some(Opcode::CatchSwitch) => self.switch_target(pad.instruction)?,
                    Some(Opcode::CleanupPad) => pad.leads_to?,
                    _ => return None,
                };
                (target != NONE && pads.parent(target) == pad.parent).then_some(())?;
                pads.list.binary_search_by_key(&target, |pad| pad.instruction).ok()
            })
            .collect();
        // The walk that reached a pad first, plus one.
        let mut reached = vec![0usize; next.len()];
        for start in 0..next.len() {
            let walk = start.saturating_add(1);
            let mut at = start;
            while let Some(slot) = reached.get_mut(at) {
                if *slot == walk {
                    let instruction = pads.list.get(at).map_or(0, |pad| pad.instruction);
                    self.enter(instruction);
                    self.require(false, RULE, "pads handle each other's exceptions");
                    break;
                }
                if *slot != 0 {
                    break;
                }
                *slot = walk;
                match next.get(at).copied().flatten() {
                    Some(following) => at = following,
                    None => break,
                }
            }
        }
    }
}
