//! Control flow: blocks and their terminators, phis, and which block dominates which.
//!
//! Knowledge: the Language Reference on well-formed functions; what LLVM 14 and 19 refuse.

use super::body::BodyCheck;
use super::findings::Place;
use crate::body::FunctionBody;
use crate::constants::Constant;
use crate::ids::{BlockId, Slice, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::types::Type;
use crate::value::{Operand, OperandKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::graph::{Dominators, Graph};

const RULE: &str = "ir-flow";
const PHI: &str = "ir-phi";

/// The edges between the blocks of a body, and its dominator tree.
#[derive(Debug)]
pub(super) struct Flow {
    /// The index of the first instruction of each block.
    starts: Vec<u32>,
    graph: Graph,
    /// None for a body of one block, which needs no tree.
    dominators: Option<Dominators>,
    /// A mark per block, for comparing sets of blocks in linear time, and the current value.
    marks: Vec<u32>,
    mark: u32,
    /// Whether an edge is the only one into its target, but for edges from blocks that the target dominates.
    entries: BTreeMap<(BlockId, BlockId), bool>,
}

impl Flow {
    pub(super) fn new(body: &FunctionBody) -> Self {
        let count = body.blocks.len();
        let starts = body.blocks.iter().map(|block| block.start).collect();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for from in 0..narrow(count as u64) {
            edges.extend(body.successors(BlockId(from)).map(|to| (from, to.0)));
        }
        let graph = Graph::new(count, &edges);
        let dominators = (count > 1).then(|| graph.dominators(0));
        Self { starts, graph, dominators, marks: alloc::vec![0; count], mark: 0, entries: BTreeMap::new() }
    }

    /// Returns the block that an instruction is in.
    pub(super) fn block_of(&self, instruction: u32) -> BlockId {
        let after = self.starts.partition_point(|&start| start <= instruction);
        BlockId(narrow(after.saturating_sub(1) as u64))
    }

    pub(super) fn is_reached(&self, block: BlockId) -> bool {
        match &self.dominators {
            Some(dominators) => dominators.is_reached(block.0),
            None => true,
        }
    }

    pub(super) fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        match &self.dominators {
            Some(dominators) => dominators.dominates(dominator.0, block.0),
            None => dominator == block,
        }
    }

    /// Returns whether every path to a block takes the edge from one block to another.
    pub(super) fn edge_dominates(&mut self, from: BlockId, to: BlockId, block: BlockId) -> bool {
        if !self.dominates(to, block) {
            return false;
        }
        if let Some(&known) = self.entries.get(&(from, to)) {
            return known;
        }
        let is_entry = self.is_entry(from, to);
        self.entries.insert((from, to), is_entry);
        is_entry
    }

    /// Returns whether a block is entered by one edge only, but for edges from blocks that it dominates.
    fn is_entry(&self, from: BlockId, to: BlockId) -> bool {
        let mut edges = 0u32;
        let others_pass = self.graph.predecessors(to.0).iter().all(|&before| {
            if before == from.0 {
                edges = edges.saturating_add(1);
                return edges == 1;
            }
            !self.is_reached(BlockId(before)) || self.dominates(to, BlockId(before))
        });
        edges == 1 && others_pass
    }

    pub(super) fn predecessors(&self, block: BlockId) -> &[u32] {
        self.graph.predecessors(block.0)
    }

    /// Returns a block that closes a loop without being its only entry: the target of an edge back to a block that does
    /// not dominate the source.
    pub(super) fn entry_of_irreducible_loop(&self, blocks: usize) -> Option<u32> {
        let dominators = self.dominators.as_ref()?;
        let mut order = alloc::vec![u32::MAX; blocks];
        for (at, &block) in (0u32..).zip(dominators.reverse_postorder()) {
            if let Some(slot) = order.get_mut(block as usize) {
                *slot = at;
            }
        }
        let place = |block: u32| order.get(block as usize).copied().unwrap_or(u32::MAX);
        let edges = dominators.reverse_postorder().iter().flat_map(|&from| {
            self.graph.successors(from).iter().map(move |&to| (from, to))
        });
        let mut back = edges.filter(|&(from, to)| place(to) <= place(from));
        back.find(|&(from, to)| !dominators.dominates(to, from)).map(|(_, to)| to)
    }

    /// Returns a new mark, which no block has.
    fn new_mark(&mut self) -> u32 {
        self.mark = self.mark.saturating_add(1);
        self.mark
    }
}

fn mark(marks: &mut [u32], block: u32, mark: u32) {
    if let Some(slot) = marks.get_mut(block as usize) {
        *slot = mark;
    }
}

impl BodyCheck<'_, '_, '_> {
    /// Checks a block as a whole.
    pub(super) fn check_block(&mut self, block: Slice) {
        let instructions = block.of(&self.body.instructions);
        self.findings.enter(Place::Block(self.block));
        let ends = instructions.last().is_some_and(|last| last.opcode.is_terminator());
        self.require(ends, RULE, "the block does not end with a terminator");
        if self.block.0 == 0 {
            let is_entry = self.flow.predecessors(self.block).is_empty();
            self.require(is_entry, RULE, "the entry block has predecessors");
        }
    }

    pub(super) fn phi(&mut self, of: &Instruction) {
        let context = self.context;
        let is_value = context.is_first_class(of.ty) && !matches!(context.get(of.ty), Type::Label | Type::Metadata);
        self.require(is_value, PHI, "a phi has a type that no value has");
        let start = self.body.blocks.get(self.block.index()).map_or(0, |block| block.start);
        let before = self.index.checked_sub(1).filter(|&before| before >= start);
        let follows_phi = before
            .is_none_or(|before| self.body.instructions.get(before as usize).map(|of| of.opcode) == Some(Opcode::Phi));
        self.require(follows_phi, PHI, "a phi is after other instructions of its block");
        let operands = self.body.operands_of(of);
        for pair in operands.chunks_exact(2) {
            let &[value, from] = pair else { continue };
            let ty = context.operand_type(self.body, value);
            self.require(context.same(ty, of.ty), PHI, "a phi takes a value of another type");
            if let (Some(value), Some(from)) = (value.as_value(), from.as_block()) {
                self.check_phi_use(value, from);
            }
        }
        self.phi_blocks(operands);
    }

    /// Checks that a phi has one entry per predecessor, with equal values for equal predecessors.
    fn phi_blocks(&mut self, operands: &[Operand]) {
        let count = operands.len() / 2;
        let predecessors = self.flow.predecessors(self.block).len();
        if !self.require(count == predecessors, PHI, "a phi has one entry per predecessor of its block") {
            return;
        }
        let (expected, seen) = (self.flow.new_mark(), self.flow.new_mark());
        let (mut all, mut distinct) = (true, true);
        for &from in self.flow.graph.predecessors(self.block.0) {
            mark(&mut self.flow.marks, from, expected);
        }
        for from in operands.iter().filter_map(|operand| operand.as_block()) {
            match self.flow.marks.get(from.index()) {
                Some(&found) if found == expected => mark(&mut self.flow.marks, from.0, seen),
                Some(&found) if found == seen => distinct = false,
                _ => all = false,
            }
        }
        self.require(all, PHI, "a phi has an entry for a block that is no predecessor");
        if !distinct {
            let pairs = operands.chunks_exact(2).filter_map(|pair| match *pair {
                [value, from] => Some((from.as_block()?.0, value.as_value()?.0)),
                _ => None,
            });
            self.repeated_entries(pairs.collect());
        }
    }

    fn repeated_entries(&mut self, mut entries: Vec<(u32, u32)>) {
        entries.sort_unstable();
        let differs = entries.windows(2).any(|pair| {
            let &[(one, first), (other, second)] = pair else { return false };
            one == other && first != second && !self.same_constant(ValueId(first), ValueId(second))
        });
        // LLVM 15 and later take the first value.
        let rule = if self.context.generation < 15 { PHI } else { "ir-dropped" };
        self.require(!differs, rule, "a phi has different values for one predecessor");
        let mut predecessors = self.flow.predecessors(self.block).to_vec();
        predecessors.sort_unstable();
        let same = entries.iter().map(|(from, _)| *from).eq(predecessors.iter().copied());
        self.require(same, PHI, "a phi has as many entries for a block as there are edges from it");
    }

    /// Returns whether two numbers stand for the same constant, which a file may list twice.
    fn same_constant(&self, one: ValueId, other: ValueId) -> bool {
        let context = self.context;
        let body = Some(self.body);
        let (Some((first, _)), Some((second, _))) = (context.constant(body, one), context.constant(body, other)) else {
            return false;
        };
        let simple = matches!(
            first,
            Constant::Null | Constant::Undef | Constant::Poison | Constant::Integer(_) | Constant::Float(_)
        );
        let zero = |id| context.integer(body, id) == Some(0);
        (simple && first == second) || (zero(one) && zero(other))
    }

    pub(super) fn terminator(&mut self, of: &Instruction) {
        match of.opcode {
            Opcode::Ret => self.return_value(of),
            Opcode::Br if self.body.operands_of(of).len() == 3 => {
                let is_bit = self.context.is_integer_of(self.type_at(of, 0), 1);
                self.require(is_bit, RULE, "the condition of a branch is an i1");
            }
            Opcode::Switch => self.switch(of),
            Opcode::IndirectBr => {
                let is_pointer = self.context.is_pointer(self.type_at(of, 0));
                self.require(is_pointer, RULE, "indirectbr takes a pointer");
            }
            _ => {}
        }
    }

    fn return_value(&mut self, of: &Instruction) {
        let context = self.context;
        let function = context.module.functions.get(self.body.function as usize);
        let Some(function) = function else { return };
        let Type::Function { result, .. } = context.get(function.symbol.ty) else { return };
        match self.operand(of, 0) {
            None => {
                let is_void = matches!(context.get(result), Type::Void);
                self.require(is_void, RULE, "the function returns a value, but not here");
            }
            Some(_) => {
                let same = context.same(self.type_at(of, 0), result) && !matches!(context.get(result), Type::Void);
                self.require(same, RULE, "the function returns a value of another type");
            }
        }
    }

    fn switch(&mut self, of: &Instruction) {
        let context = self.context;
        let ty = self.type_at(of, 0);
        self.require(context.is_integer(ty), RULE, "switch takes an integer");
        let cases = self.body.operands_of(of).get(2..).unwrap_or_default();
        let mut values: Vec<u64> = Vec::with_capacity(cases.len() / 2);
        let mut wide: Vec<&[u64]> = Vec::new();
        let mut sound = true;
        for case in cases.chunks_exact(2) {
            let Some(OperandKind::Value(id)) = case.first().map(|value| value.kind()) else { continue };
            sound &= context.same(self.type_of(id), ty);
            match context.constant(Some(self.body), id) {
                Some((Constant::Integer(value), _)) => values.push(value),
                Some((Constant::Null, _)) => values.push(0),
                Some((Constant::WideInteger(words), constants)) => wide.push(constants.words(words)),
                _ => sound = false,
            }
        }
        self.require(sound, RULE, "the cases of a switch are integers of the type of its condition");
        values.sort_unstable();
        wide.sort_unstable();
        let repeats = values.windows(2).any(|pair| pair.first() == pair.last())
            || wide.windows(2).any(|pair| pair.first() == pair.last());
        self.require(!repeats, RULE, "a switch has a case twice");
    }
}
