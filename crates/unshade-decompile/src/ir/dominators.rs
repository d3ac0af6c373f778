//! Order, dominators and loops of the blocks.
//!
//! Dominators by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"; loops are the natural loops of back
//! edges, in the manner of Havlak's nesting: each block knows its innermost header.

use super::{BlockId, Function, NONE};

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
    /// When the walk over the tree of dominators comes in and goes out.
    walk: Vec<(u32, u32)>,
    /// The header of the innermost loop that a block is in; of a header itself.
    pub header: Vec<BlockId>,
    /// How many loops a block is in.
    pub loops: Vec<u32>,
    /// The header of the loop around the one of this header.
    pub outer: Vec<BlockId>,
}

impl Graph {
    /// Walks the graph.
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut graph = Self { place: vec![NONE; count], ..Self::default() };
        graph.walk_blocks(function);
        graph.find_dominators(function);
        graph.find_loops(function);
        graph
    }

    /// Whether a block can be reached.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.place[block as usize] != NONE
    }

    /// Whether every way to `b` leads through `a`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (a, b) = (self.walk[a as usize], self.walk[b as usize]);
        a.0 <= b.0 && b.1 <= a.1
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
        let (mut a, mut b) = (a, b);
        while a != b {
            if self.depth[a as usize] < self.depth[b as usize] {
                std::mem::swap(&mut a, &mut b);
            }
            a = self.dominator[a as usize];
        }
        a
    }

    fn walk_blocks(&mut self, function: &Function) {
        let mut state = vec![false; function.blocks.len()];
        let mut stack = vec![(0, function.blocks[0].end.successors())];
        state[0] = true;
        while let Some((block, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if !state[next as usize] => {
                    state[next as usize] = true;
                    let mut successors = function.blocks[next as usize].end.successors();
                    // The branch that is taken comes later in the code and in the order.
                    if let super::End::Branch { yes, no, .. } = &function.blocks[next as usize].end {
                        successors = vec![*yes, *no];
                    }
                    stack.push((next, successors));
                }
                Some(_) => {}
                None => {
                    self.order.push(*block);
                    stack.pop();
                }
            }
        }
        self.order.reverse();
        for (place, block) in self.order.iter().enumerate() {
            self.place[*block as usize] = place as u32;
        }
    }

    fn find_dominators(&mut self, function: &Function) {
        let count = function.blocks.len();
        self.dominator = vec![NONE; count];
        self.dominator[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in self.order.iter().skip(1) {
                let mut found = NONE;
                for &before in &function.blocks[block as usize].before {
                    if !self.is_reached(before) || self.dominator[before as usize] == NONE {
                        continue;
                    }
                    found = if found == NONE { before } else { self.meet(found, before) };
                }
                if self.dominator[block as usize] != found {
                    self.dominator[block as usize] = found;
                    changed = true;
                }
            }
        }
        self.depth = vec![0; count];
        let mut children: Vec<Vec<BlockId>> = vec![Vec::new(); count];
        for &block in self.order.iter().skip(1) {
            let dominator = self.dominator[block as usize];
            self.depth[block as usize] = self.depth[dominator as usize] + 1;
            children[dominator as usize].push(block);
        }
        self.walk = vec![(0, 0); count];
        let mut clock = 0;
        let mut stack = vec![(0, 0)];
        while let Some((block, next)) = stack.last_mut() {
            if *next == 0 {
                self.walk[*block as usize].0 = clock;
                clock += 1;
            }
            match children[*block as usize].get(*next) {
                Some(&child) => {
                    *next += 1;
                    stack.push((child, 0));
                }
                None => {
                    self.walk[*block as usize].1 = clock;
                    clock += 1;
                    stack.pop();
                }
            }
        }
    }

    fn meet(&self, a: BlockId, b: BlockId) -> BlockId {
        let (mut a, mut b) = (a, b);
        while a != b {
            while self.place[a as usize] > self.place[b as usize] {
                a = self.dominator[a as usize];
            }
            while self.place[b as usize] > self.place[a as usize] {
                b = self.dominator[b as usize];
            }
        }
        a
    }

    /// Inner loops first: a block that has a header already stands for its outermost loop so far.
    fn find_loops(&mut self, function: &Function) {
        let count = function.blocks.len();
        self.header = vec![NONE; count];
        self.outer = vec![NONE; count];
        self.loops = vec![0; count];
        let order = std::mem::take(&mut self.order);
        let mut list = Vec::new();
        for &header in order.iter().rev() {
            list.clear();
            for &before in &function.blocks[header as usize].before {
                if self.is_reached(before) && self.dominates(header, before) {
                    list.push(before);
                }
            }
            if list.is_empty() {
                continue;
            }
            while let Some(block) = list.pop() {
                let top = self.outermost(block);
                if top == header {
                    continue;
                }
                if top == NONE {
                    self.header[block as usize] = header;
                    if block == header {
                        continue;
                    }
                } else {
                    self.outer[top as usize] = header;
                }
                let entry = if top == NONE { block } else { top };
                for &before in &function.blocks[entry as usize].before {
                    if self.is_reached(before) && self.dominates(header, before) {
                        list.push(before);
                    }
                }
            }
            if self.header[header as usize] != header {
                // Of an irreducible graph, or the header of a loop found before: it is the innermost of itself.
                let inner = self.header[header as usize];
                if inner != NONE && inner != header && self.outer[header as usize] == NONE {
                    self.outer[header as usize] = inner;
                }
                self.header[header as usize] = header;
            }
        }
        for &block in &order {
            let mut at = self.header[block as usize];
            while at != NONE && self.loops[block as usize] < 1000 {
                self.loops[block as usize] += 1;
                at = self.outer[at as usize];
            }
        }
        self.order = order;
    }

    /// The outermost loop so far that a block is in.
    fn outermost(&self, block: BlockId) -> BlockId {
        let mut at = self.header[block as usize];
        while at != NONE && self.outer[at as usize] != NONE {
            at = self.outer[at as usize];
        }
        at
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
