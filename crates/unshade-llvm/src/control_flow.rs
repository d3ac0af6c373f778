//! The control-flow graph of a function: edges with their conditions, dominators and loops.
//!
//! Blocks are nodes, numbered as in the body; block 0 is the entry. The edges of a block are in the order of its
//! terminator's operands. A block whose terminator could not be read has no edges.
//!
//! [`unshade_core::graph`] computes orders, dominators and loops.

use crate::body::FunctionBody;
use crate::ids::{BlockId, ValueId, narrow};
use crate::instruction::{Instruction, Opcode};
use crate::value::{Operand, OperandKind};
use alloc::vec::Vec;
use unshade_core::graph::{Dominators, Graph, Loops};

/// The condition under which an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EdgeKind {
    /// The branch is unconditional.
    Always,
    /// The condition of a `br` holds.
    True,
    /// The condition of a `br` does not hold.
    False,
    /// The condition of a `switch` equals this constant.
    Case(ValueId),
    /// The condition of a `switch` equals none of the constants.
    Default,
    /// The address of an `indirectbr`, or the assembly of a `callbr`, selects the block.
    Indirect,
    /// The call returns.
    Normal,
    /// The call throws.
    Unwind,
    /// A `catchswitch` enters this handler.
    Handler,
}

impl EdgeKind {
    /// Returns the kind as one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::True => "true",
            Self::False => "false",
            Self::Case(_) => "case",
            Self::Default => "default",
            Self::Indirect => "indirect",
            Self::Normal => "normal",
            Self::Unwind => "unwind",
            Self::Handler => "handler",
        }
    }
}

/// An edge from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The source block.
    pub from: BlockId,
    /// The target block.
    pub to: BlockId,
    /// When it is taken.
    pub kind: EdgeKind,
}

/// The control-flow graph of one function.
#[derive(Clone, Debug, Default)]
pub struct ControlFlow {
    edges: Vec<Edge>,
    /// By block: the index of its first edge; then the number of edges.
    starts: Vec<u32>,
    graph: Graph,
    dominators: Dominators,
    loops: Loops,
}

impl ControlFlow {
    /// Computes the edges, dominators and loops of a body.
    pub fn new(body: &FunctionBody) -> Self {
        let mut edges = Vec::new();
        let mut starts = Vec::with_capacity(body.blocks.len().saturating_add(1));
        for (at, block) in (0u32..).zip(&body.blocks) {
            starts.push(narrow(edges.len() as u64));
            if let Some(last) = block.of(&body.instructions).last() {
                add_edges(body, BlockId(at), last, &mut edges);
            }
        }
        starts.push(narrow(edges.len() as u64));
        let pairs: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.from.0, edge.to.0)).collect();
        let graph = Graph::new(body.blocks.len(), &pairs);
        let dominators = graph.dominators(0);
        let loops = graph.loops(&dominators);
        Self { edges, starts, graph, dominators, loops }
    }

    /// Returns all edges, sorted by source block.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the outgoing edges of a block.
    pub fn edges_from(&self, block: BlockId) -> &[Edge] {
        let start = self.starts.get(block.index()).copied().unwrap_or(0);
        let end = self.starts.get(block.index().saturating_add(1)).copied().unwrap_or(0);
        self.edges.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns the graph of blocks: successors and predecessors.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the dominator tree, with the blocks in reverse postorder.
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// Returns the natural loops.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Returns whether an edge is a back edge: one to the header of a loop that it is in.
    pub fn is_back_edge(&self, edge: &Edge) -> bool {
        self.loops.is_back_edge(edge.from.0, edge.to.0)
    }
}

/// Adds the edges of a block whose terminator is `last`.
fn add_edges(body: &FunctionBody, from: BlockId, last: &Instruction, edges: &mut Vec<Edge>) {
    let operands = body.operands_of(last);
    let mut add = |operand: Operand, kind: EdgeKind| {
        if let Some(to) = operand.as_block() {
            edges.push(Edge { from, to, kind });
        }
    };
    match (last.opcode, operands) {
        (Opcode::Br, &[to]) => add(to, EdgeKind::Always),
        (Opcode::Br, &[_, then, otherwise]) => {
            add(then, EdgeKind::True);
            add(otherwise, EdgeKind::False);
        }
        (Opcode::Switch, [_, default, cases @ ..]) => {
            add(*default, EdgeKind::Default);
            for case in cases.chunks_exact(2) {
                if let &[value, block] = case
                    && let OperandKind::Value(value) = value.kind()
                {
                    add(block, EdgeKind::Case(value));
                }
            }
        }
        (Opcode::IndirectBr, [_, blocks @ ..]) => blocks.iter().for_each(|&to| add(to, EdgeKind::Indirect)),
        (Opcode::Invoke, [.., normal, unwind]) => {
            add(*normal, EdgeKind::Normal);
            add(*unwind, EdgeKind::Unwind);
        }
        (Opcode::CallBr, operands) => {
            let targets = (last.extra as usize).saturating_add(1);
            let targets = operands.get(operands.len().saturating_sub(targets)..).unwrap_or_default();
            for (at, &to) in targets.iter().enumerate() {
                add(to, if at == 0 { EdgeKind::Normal } else { EdgeKind::Indirect });
            }
        }
        (Opcode::CatchRet, [_, to]) => add(*to, EdgeKind::Always),
        (Opcode::CleanupRet, [_, to]) => add(*to, EdgeKind::Unwind),
        (Opcode::CatchSwitch, [_, blocks @ ..]) => {
            let handlers = blocks.len().saturating_sub(last.detail as usize);
            for (at, &to) in blocks.iter().enumerate() {
                add(to, if at < handlers { EdgeKind::Handler } else { EdgeKind::Unwind });
            }
        }
        _ => {}
    }
}
