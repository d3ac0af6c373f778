//! Walks over the body of a function: every operand is defined before its use, and every instruction is checked by the
//! module that knows it.
//!
//! Uses are checked by numbering: an instruction of the same block must have a lower index, and for another block the
//! preorder interval of the dominator tree is compared, so each use costs a few comparisons.

use super::attachments::AttachmentCheck;
use super::context::Context;
use super::debug_uses::DebugState;
use super::findings::{Findings, Place};
use super::flow::Flow;
use super::operations::{self, Operation};
use crate::body::FunctionBody;
use crate::ids::{BlockId, MetadataId, TypeId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::{Operand, OperandKind, ValueKind};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

const DOMINANCE: &str = "ir-dominance";
const TOKEN: &str = "ir-token";

/// Checks one body.
pub(super) struct BodyCheck<'c, 'm, 'a> {
    pub(super) context: &'c Context<'m, 'a>,
    pub(super) body: &'c FunctionBody,
    pub(super) findings: &'c mut Findings,
    pub(super) flow: Flow,
    /// The block of the instruction being checked.
    pub(super) block: BlockId,
    /// The index of the instruction being checked.
    pub(super) index: u32,
    pub(super) debug: DebugState,
    /// Nodes that were checked as attachments: kind, node, opcode, type.
    pub(super) attached: BTreeSet<(u32, MetadataId, u8, TypeId)>,
    /// By block: its first instruction that is no phi, once exceptions are checked.
    pub(super) firsts: Vec<u32>,
    /// Calls without a location: caller, instruction, callee.
    pub(super) unlocated: &'c mut Vec<(u32, u32, u32)>,
}

impl<'c, 'm, 'a> BodyCheck<'c, 'm, 'a> {
    pub(super) fn new(
        context: &'c Context<'m, 'a>,
        body: &'c FunctionBody,
        findings: &'c mut Findings,
        unlocated: &'c mut Vec<(u32, u32, u32)>,
    ) -> Self {
        let (flow, debug) = (Flow::new(body), DebugState::default());
        Self { context, body, findings, flow, block: BlockId(0), index: 0, debug, attached: BTreeSet::new(), firsts: Vec::new(), unlocated }
    }

    /// Checks the body.
    pub(super) fn run(&mut self, attachments: &[Option<AttachmentCheck>]) {
        self.local_constants();
        self.function_metadata();
        self.blocks();
        self.attachments(attachments);
        self.pads();
        self.debug_records();
        self.calls_of_function();
        if self.context.is_dxil {
            self.dxil_flow();
        }
    }

    /// Returns the subprogram of the function.
    pub(super) fn subprogram(&self) -> Option<MetadataId> {
        self.debug.subprogram
    }

    /// Adds a finding about the current instruction unless the condition holds, and returns the condition.
    #[inline]
    pub(super) fn require(&mut self, holds: bool, rule: &'static str, message: &'static str) -> bool {
        self.findings.require(holds, rule, message)
    }

    pub(super) fn operand(&self, of: &Instruction, at: usize) -> Option<Operand> {
        self.body.operands_of(of).get(at).copied()
    }

    /// Returns the value that an operand is.
    pub(super) fn value_at(&self, of: &Instruction, at: usize) -> Option<ValueId> {
        self.operand(of, at)?.as_value()
    }

    /// Returns the type of an operand; the id that means "none" if there is no such operand.
    #[inline]
    pub(super) fn type_at(&self, of: &Instruction, at: usize) -> TypeId {
        self.operand(of, at).map_or(TypeId::NONE, |operand| self.context.operand_type(self.body, operand))
    }

    #[inline]
    pub(super) fn type_of(&self, id: ValueId) -> TypeId {
        self.context.type_of(Some(self.body), id)
    }

    /// Returns the instruction that defines a value, with its index.
    pub(super) fn definition(&self, id: ValueId) -> Option<(u32, &'c Instruction)> {
        match self.body.value(id)?.kind {
            ValueKind::Instruction(index) => Some((index, self.body.instructions.get(index as usize)?)),
            _ => None,
        }
    }

    /// Makes the instruction with this index the current one.
    pub(super) fn enter(&mut self, index: u32) {
        self.index = index;
        self.block = self.flow.block_of(index);
        self.findings.enter(Place::Instruction(index));
    }

    fn blocks(&mut self) {
        let body = self.body;
        for (number, block) in (0u32..).zip(&body.blocks) {
            self.block = BlockId(number);
            self.check_block(*block);
            let instructions = block.of(&body.instructions);
            for (index, of) in (block.start..).zip(instructions) {
                self.index = index;
                self.findings.enter(Place::Instruction(index));
                self.operands(of, block.start);
                self.instruction(of);
            }
        }
    }

    /// Checks that every operand is defined where it is used.
    #[inline]
    fn operands(&mut self, of: &Instruction, block_start: u32) {
        if of.opcode == Opcode::Phi {
            return;
        }
        for operand in self.body.operands_of(of) {
            if let OperandKind::Value(id) = operand.kind() {
                self.check_use(id, block_start);
            }
        }
    }

    /// Checks that a value may be used by the current instruction.
    #[inline]
    pub(super) fn check_use(&mut self, id: ValueId, block_start: u32) {
        match self.body.values.get(id.0.wrapping_sub(self.body.value_base) as usize) {
            Some(value) => match value.kind {
                ValueKind::Instruction(definition)
                    if definition < self.index && definition >= block_start => {}
                ValueKind::Instruction(definition) => self.check_dominance(definition, self.block),
                _ => {}
            },
            None => self.check_outer_use(id),
        }
    }

    /// Checks the use of a value that has no number in the body.
    fn check_outer_use(&mut self, id: ValueId) {
        match self.context.value(Some(self.body), id).map(|value| value.kind) {
            Some(ValueKind::Instruction(definition)) => self.check_dominance(definition, self.block),
            Some(ValueKind::Unresolved) | None => {
                self.require(false, DOMINANCE, "the operand is a value that does not exist");
            }
            Some(_) => {}
        }
    }

    /// Checks that an instruction is executed before the end of a block, or before the current instruction if that is
    /// in the block.
    #[cold]
    fn check_dominance(&mut self, definition: u32, block: BlockId) {
        if !self.flow.is_reached(block) {
            return;
        }
        if definition == self.index {
            self.require(false, DOMINANCE, "only a phi uses its own value");
            return;
        }
        let dominates = self.dominates(definition, self.index, block);
        self.require(dominates, DOMINANCE, "the operand is not defined on every path to its use");
    }

    /// Returns whether the result of an instruction is available to one in a block. A phi is in the block that it takes
    /// the value from.
    fn dominates(&mut self, definition: u32, user: u32, block: BlockId) -> bool {
        let from = self.flow.block_of(definition);
        let normal = match self.body.instructions.get(definition as usize) {
            Some(of) if of.opcode == Opcode::Invoke => {
                let operands = self.body.operands_of(of);
                operands.len().checked_sub(2).and_then(|at| operands.get(at)?.as_block())
            }
            // Before LLVM 16 the result of callbr was only defined if it fell through.
            Some(of) if of.opcode == Opcode::CallBr && self.context.generation < 16 => {
                let operands = self.body.operands_of(of);
                let back = (of.extra as usize).saturating_add(1);
                operands.len().checked_sub(back).and_then(|at| operands.get(at)?.as_block())
            }
            Some(_) => None,
            None => return false,
        };
        match normal {
            // The result of an invoke is only defined if it returns.
            Some(normal) => self.flow.edge_dominates(from, normal, block),
            None if from == block => definition < user,
            None => self.flow.dominates(from, block),
        }
    }

    /// Checks a value that a phi takes from a block.
    pub(super) fn check_phi_use(&mut self, id: ValueId, from: BlockId) {
        match self.context.value(Some(self.body), id).map(|value| value.kind) {
            Some(ValueKind::Instruction(definition)) => {
                if !self.flow.is_reached(from) || !self.flow.is_reached(self.block) {
                    return;
                }
                let defined_in = self.flow.block_of(definition);
                let is_invoke = self.body.instructions.get(definition as usize).map(|of| of.opcode)
                    == Some(Opcode::Invoke);
                // The edge from an invoke to the block of the phi is where its result is defined.
                let dominates = if is_invoke && defined_in == from {
                    self.invoke_reaches(definition)
                } else {
                    self.dominates(definition, u32::MAX, from)
                };
                self.require(dominates, DOMINANCE, "the operand is not defined on every path to its use");
            }
            Some(ValueKind::Unresolved) | None => {
                self.require(false, DOMINANCE, "the operand is a value that does not exist");
            }
            Some(_) => {}
        }
    }

    /// Returns whether the current block is where an invoke returns to.
    fn invoke_reaches(&self, definition: u32) -> bool {
        let Some(of) = self.body.instructions.get(definition as usize) else { return false };
        let operands = self.body.operands_of(of);
        let block = |back: usize| operands.len().checked_sub(back).and_then(|at| operands.get(at)?.as_block());
        block(2) == Some(self.block) && block(1) != Some(self.block)
    }

    fn instruction(&mut self, of: &Instruction) {
        self.operand_kinds(of);
        match of.opcode {
            Opcode::Call | Opcode::Invoke | Opcode::CallBr => self.call(of),
            Opcode::Phi => self.phi(of),
            Opcode::Alloca
            | Opcode::Load
            | Opcode::Store
            | Opcode::Fence
            | Opcode::CmpXchg
            | Opcode::AtomicRmw
            | Opcode::GetElementPtr => self.memory_instruction(of),
            Opcode::ExtractValue | Opcode::InsertValue => self.aggregate(of),
            Opcode::VaArg => {
                let list = self.type_at(of, 0);
                self.require(self.context.is_pointer(list), operations::RULE, "va_arg takes a pointer");
            }
            _ => self.operation(of),
        }
        if of.opcode.is_terminator() {
            self.terminator(of);
        }
        if self.context.is_dxil {
            self.dxil_instruction(of);
        }
        self.locations(of);
    }

    /// Checks an instruction that only computes.
    #[inline]
    fn operation(&mut self, of: &Instruction) {
        let operands = self.body.operands_of(of);
        let mut values = [ValueId::NONE; 3];
        for (slot, operand) in values.iter_mut().zip(operands) {
            *slot = operand.as_value().unwrap_or(ValueId::NONE);
        }
        let values = values.get(..operands.len().min(3)).unwrap_or_default();
        let operation = Operation { opcode: of.opcode, result: of.ty, operands: values, predicate: of.detail };
        if let Some(fault) = self.context.operation_fault(Some(self.body), &operation) {
            self.require(false, operations::RULE, fault);
        }
    }

    /// Checks `extractvalue` and `insertvalue`; the reader has followed their indices.
    fn aggregate(&mut self, of: &Instruction) {
        let context = self.context;
        let aggregate = self.type_at(of, 0);
        let start = of.detail as usize;
        let indices = self.body.indices.get(start..start.saturating_add(of.extra as usize)).unwrap_or_default();
        let has_indices = !indices.is_empty();
        self.require(has_indices, operations::RULE, "an operation on an aggregate has at least one index");
        let mut ty = Some(aggregate);
        for &index in indices {
            ty = ty.and_then(|ty| context.table().child(ty, u64::from(index)));
        }
        let Some(ty) = ty else {
            self.require(context.is_unknown(aggregate), operations::RULE, "the index is outside of the aggregate");
            return;
        };
        if of.opcode == Opcode::InsertValue {
            let value = self.type_at(of, 1);
            self.require(context.same(ty, value), operations::RULE, "the inserted value has another type than the field");
        } else {
            self.require(context.same(ty, of.ty), operations::RULE, "the result has another type than the field");
        }
    }

    /// Checks which kinds of values and types an instruction may use at all.
    fn operand_kinds(&mut self, of: &Instruction) {
        let is_call = matches!(of.opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr);
        let operands = self.body.operands_of(of);
        let callee = if is_call { 0 } else { usize::MAX };
        for (at, operand) in operands.iter().enumerate() {
            let OperandKind::Value(id) = operand.kind() else { continue };
            let Some(value) = self.context.value(Some(self.body), id) else { continue };
            if let ValueKind::Function(function) = value.kind
                && at != callee
            {
                self.function_operand(of, function as usize);
            }
            if at == callee {
                continue;
            }
            match self.context.get(value.ty) {
                Type::Token if of.opcode == Opcode::Phi => {
                    self.require(false, TOKEN, "a phi does not take tokens");
                }
                Type::Void | Type::Function { .. } => {
                    self.require(false, operations::RULE, "the operand is no value that instructions can use");
                }
                _ => {}
            }
        }
        if of.opcode != Opcode::Call
            && !is_call
            && matches!(self.context.get(of.ty), Type::Metadata)
        {
            self.require(false, operations::RULE, "an instruction does not make metadata");
        }
    }

    /// Checks the use of a function as a value.
    #[cold]
    fn function_operand(&mut self, of: &Instruction, function: usize) {
        if !self.context.is_intrinsic(function) {
            return;
        }
        let passes = self.passes_intrinsics(of);
        self.require(passes, "ir-intrinsic", "the address of an intrinsic is taken");
    }

    /// Returns the number of instructions of the body.
    pub(super) fn instruction_count(&self) -> u32 {
        narrow(self.body.instructions.len() as u64)
    }
}
