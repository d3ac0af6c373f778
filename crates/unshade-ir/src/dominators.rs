//! Block order, dominators and loops: the results of [`unshade_core::graph`], as lists by block.

use super::{BlockId, BlockMap, End, Function, IdVec};
use unshade_core::graph;

/// The position of a block that no path from the entry reaches.
pub const UNREACHED: u32 = u32::MAX;

/// An analysis of the graph. Unreachable blocks have [`UNREACHED`] or [`BlockId::NONE`].
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Blocks in reverse postorder.
    pub order: Vec<BlockId>,
    /// The position of each block in that order.
    pub position: BlockMap<u32>,
    /// The immediate dominator; the entry's own is itself.
    pub dominator: BlockMap<BlockId>,
    /// The depth in the dominator tree.
    pub depth: BlockMap<u32>,
    /// The header of the innermost loop that contains a block; a header's own is itself.
    pub header: BlockMap<BlockId>,
    /// The number of loops that contain a block.
    pub loops: BlockMap<u32>,
    /// The header of the loop around the loop of a header.
    pub outer: BlockMap<BlockId>,
    /// By header: the number of its loop and of the last loop inside it, in an order where inner loops follow.
    spans: BlockMap<(u32, u32)>,
    dominators: graph::Dominators,
}

impl Graph {
    /// Analyses the graph.
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let shape = graph::Graph::new(count, &edges(function));
        let dominators = shape.dominators(0);
        let loops = shape.loops(&dominators);
        let id = BlockId::new;
        let mut found = Self {
            order: dominators.reverse_postorder().iter().map(|block| id(*block)).collect(),
            position: IdVec::filled(UNREACHED, count),
            dominator: IdVec::filled(BlockId::NONE, count),
            depth: IdVec::filled(0, count),
            header: IdVec::filled(BlockId::NONE, count),
            loops: IdVec::filled(0, count),
            outer: IdVec::filled(BlockId::NONE, count),
            spans: IdVec::filled((0, 0), count),
            dominators,
        };
        for (position, &block) in found.order.iter().enumerate() {
            found.position[block] = position as u32;
            let above = found.dominators.immediate(block.number()).map(id);
            found.dominator[block] = above.unwrap_or(block);
            found.depth[block] = above.map_or(0, |above| found.depth[above] + 1);
            found.loops[block] = loops.depth(block.number());
            if let Some(index) = loops.innermost(block.number()) {
                found.header[block] = id(loops.all()[index as usize].header);
            }
        }
        for inner in loops.all() {
            if let Some(outer) = inner.parent {
                found.outer[id(inner.header)] = id(loops.all()[outer as usize].header);
            }
        }
        found.number_loops(loops.all());
        found
    }

    /// Numbers the loops so that those inside a loop have the numbers after it.
    fn number_loops(&mut self, loops: &[graph::Loop]) {
        // The number of loops in each, with itself.
        let mut sizes = vec![1_u32; loops.len()];
        for (index, inner) in loops.iter().enumerate().rev() {
            if let Some(outer) = inner.parent {
                sizes[outer as usize] += sizes[index];
            }
        }
        // The number of the next loop inside each, and outside of all.
        let mut next = vec![0; loops.len()];
        let mut outermost = 1;
        for (index, one) in loops.iter().enumerate() {
            let place = one.parent.map_or(&mut outermost, |outer| &mut next[outer as usize]);
            let first = *place;
            *place += sizes[index];
            next[index] = first + 1;
            self.spans[BlockId::new(one.header)] = (first, first + sizes[index] - 1);
        }
    }

    /// Returns whether a block is reachable.
    #[inline]
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.position[block] != UNREACHED
    }

    /// Returns whether `a` dominates `b`.
    #[inline]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.dominators.dominates(a.number(), b.number())
    }

    /// Returns whether the target of every back edge dominates its source.
    pub fn is_reducible(&self, function: &Function) -> bool {
        self.order.iter().all(|&block| {
            let predecessors = function.blocks[block].predecessors.iter();
            predecessors.filter(|predecessor| self.is_reached(**predecessor)).all(|&predecessor| {
                self.position[predecessor] < self.position[block] || self.dominates(block, predecessor)
            })
        })
    }

    /// Returns the nearest common dominator.
    pub fn common(&self, a: BlockId, b: BlockId) -> BlockId {
        self.dominators.nearest_common(a.number(), b.number()).map_or(BlockId::ENTRY, BlockId::new)
    }

    /// Returns whether a block is in the loop of a header.
    pub fn is_in_loop(&self, block: BlockId, header: BlockId) -> bool {
        let inner = self.header[block];
        let (first, last) = self.spans.get(header).copied().unwrap_or_default();
        first > 0 && inner != BlockId::NONE && (first..=last).contains(&self.spans[inner].0)
    }
}

/// Returns all edges. The taken edge comes later in the code and in the order, so it comes first here.
fn edges(function: &Function) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for (from, block) in function.blocks.entries() {
        let from = from.number();
        match block.end {
            End::Branch { yes, no, .. } => edges.extend([(from, no.number()), (from, yes.number())]),
            End::Goto(to) => edges.push((from, to.number())),
            _ => edges.extend(block.end.successors().into_iter().rev().map(|to| (from, to.number()))),
        }
    }
    edges
}
