//! Block order, dominators and loops: the results of [`unshade_core::graph`], as lists by block.

use super::{BlockId, End, Function, NONE};
use unshade_core::graph;

/// An analysis of the graph. Lists are by block; unreachable blocks have [`NONE`].
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Blocks in reverse postorder.
    pub order: Vec<BlockId>,
    /// The position of each block in that order.
    pub position: Vec<u32>,
    /// The immediate dominator; the entry's own is itself.
    pub dominator: Vec<BlockId>,
    /// The depth in the dominator tree.
    pub depth: Vec<u32>,
    /// The header of the innermost loop that contains a block; a header's own is itself.
    pub header: Vec<BlockId>,
    /// The number of loops that contain a block.
    pub loops: Vec<u32>,
    /// The header of the loop around the loop of a header.
    pub outer: Vec<BlockId>,
    dominators: graph::Dominators,
}

impl Graph {
    /// Analyses the graph.
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let shape = graph::Graph::new(count, &edges(function));
        let dominators = shape.dominators(0);
        let loops = shape.loops(&dominators);
        let mut found = Self {
            order: dominators.reverse_postorder().to_vec(),
            position: vec![NONE; count],
            dominator: vec![NONE; count],
            depth: vec![0; count],
            header: vec![NONE; count],
            loops: vec![0; count],
            outer: vec![NONE; count],
            dominators,
        };
        for (position, &block) in found.order.iter().enumerate() {
            let at = block as usize;
            found.position[at] = position as u32;
            let above = found.dominators.immediate(block);
            found.dominator[at] = above.unwrap_or(block);
            found.depth[at] = above.map_or(0, |above| found.depth[above as usize] + 1);
            found.loops[at] = loops.depth(block);
            if let Some(index) = loops.innermost(block) {
                found.header[at] = loops.all()[index as usize].header;
            }
        }
        for inner in loops.all() {
            if let Some(outer) = inner.parent {
                found.outer[inner.header as usize] = loops.all()[outer as usize].header;
            }
        }
        found
    }

    /// Returns whether a block is reachable.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.position[block as usize] != NONE
    }

    /// Returns whether `a` dominates `b`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.dominators.dominates(a, b)
    }

    /// Returns whether the target of every back edge dominates its source.
    pub fn is_reducible(&self, function: &Function) -> bool {
        self.order.iter().all(|&block| {
            let predecessors = function.blocks[block as usize].predecessors.iter();
            predecessors.filter(|predecessor| self.is_reached(**predecessor)).all(|&predecessor| {
                self.position[predecessor as usize] < self.position[block as usize]
                    || self.dominates(block, predecessor)
            })
        })
    }

    /// Returns the nearest common dominator.
    pub fn common(&self, a: BlockId, b: BlockId) -> BlockId {
        self.dominators.nearest_common(a, b).unwrap_or(0)
    }

    /// Returns whether a block is in the loop of a header.
    pub fn is_in_loop(&self, block: BlockId, header: BlockId) -> bool {
        let mut at = self.header[block as usize];
        while at != NONE {
            if at == header {
                return true;
            }
            at = self.outer[at as usize];
        }
        false
    }
}

/// Returns all edges. The taken edge comes later in the code and in the order, so it comes first here.
fn edges(function: &Function) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for (from, block) in function.blocks.iter().enumerate() {
        let from = from as u32;
        match block.end {
            End::Branch { yes, no, .. } => edges.extend([(from, no), (from, yes)]),
            End::Goto(to) => edges.push((from, to)),
            _ => edges.extend(block.end.successors().into_iter().rev().map(|to| (from, to))),
        }
    }
    edges
}
