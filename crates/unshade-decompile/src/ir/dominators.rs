//! Order, dominators and loops of the blocks: what [`unshade_core::graph`] finds, in lists by block.

use super::{BlockId, End, Function, NONE};
use unshade_core::graph;

/// What is known of the graph. Lists are by block; blocks that can't be reached have [`NONE`].
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Blocks in reverse postorder.
    pub order: Vec<BlockId>,
    /// The place of a block in that order.
    pub place: Vec<u32>,
    /// The block that dominates directly; of the entry itself.
    pub dominator: Vec<BlockId>,
    /// How deep in the tree of dominators.
    pub depth: Vec<u32>,
    /// The header of the innermost loop that a block is in; of a header itself.
    pub header: Vec<BlockId>,
    /// How many loops a block is in.
    pub loops: Vec<u32>,
    /// The header of the loop around the one of this header.
    pub outer: Vec<BlockId>,
    dominators: graph::Dominators,
}

impl Graph {
    /// Walks the graph.
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let shape = graph::Graph::new(count, &edges(function));
        let dominators = shape.dominators(0);
        let loops = shape.loops(&dominators);
        let mut found = Self {
            order: dominators.reverse_postorder().to_vec(),
            place: vec![NONE; count],
            dominator: vec![NONE; count],
            depth: vec![0; count],
            header: vec![NONE; count],
            loops: vec![0; count],
            outer: vec![NONE; count],
            dominators,
        };
        for (place, &block) in found.order.iter().enumerate() {
            let at = block as usize;
            found.place[at] = place as u32;
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

    /// Whether a block can be reached.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.place[block as usize] != NONE
    }

    /// Whether every way to `b` leads through `a`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.dominators.dominates(a, b)
    }

    /// Whether every way back leads to a block that dominates where it comes from.
    pub fn is_reducible(&self, function: &Function) -> bool {
        self.order.iter().all(|&block| {
            let before = function.blocks[block as usize].before.iter();
            before.filter(|before| self.is_reached(**before)).all(|&before| {
                self.place[before as usize] < self.place[block as usize] || self.dominates(block, before)
            })
        })
    }

    /// The nearest block that dominates both.
    pub fn common(&self, a: BlockId, b: BlockId) -> BlockId {
        self.dominators.nearest_common(a, b).unwrap_or(0)
    }

    /// Whether a block is in the loop of a header.
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

/// All ways between blocks. What is taken comes later in the code and in the order, so it is walked first.
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
