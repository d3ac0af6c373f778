//! Directed graphs: orders, dominators and natural loops, for the control flow of any instruction set.
//!
//! Nodes are numbers from 0. A graph stores its edges in two arrays, by source and by target, in the order given;
//! duplicate edges are kept.
//!
//! Dominators use the algorithm of Lengauer and Tarjan (*A Fast Algorithm for Finding Dominators in a Flowgraph*,
//! 1979) with path compression. The simpler algorithm of Cooper, Harvey and Kennedy is as fast on compiler output, but
//! is quadratic on hostile graphs, and so are dominator sets. Natural loops are found by walking backwards from the
//! latches of each header, inner loops first; a walk crosses an inner loop as if it were one node. Nothing recurses,
//! and everything runs in nearly linear time in the number of edges.

use alloc::vec;
use alloc::vec::Vec;

/// The absence of a node.
const NONE: u32 = u32::MAX;

fn at(list: &[u32], index: u32) -> u32 {
    list.get(index as usize).copied().unwrap_or(NONE)
}

fn put(list: &mut [u32], index: u32, value: u32) {
    if let Some(slot) = list.get_mut(index as usize) {
        *slot = value;
    }
}

/// Converts a list length to a node number; lists here have fewer than 2³² elements.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(NONE)
}

/// Lists of nodes, one for each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Lists {
    fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0u32; count.saturating_add(1)];
        for (of, _) in pairs.clone() {
            let next = of.saturating_add(1);
            let sum = at(&starts, next).saturating_add(1);
            put(&mut starts, next, sum);
        }
        let mut sum = 0u32;
        for start in &mut starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        let mut nodes = vec![NONE; sum as usize];
        let mut ends = starts.clone();
        for (of, node) in pairs {
            let end = at(&ends, of);
            put(&mut nodes, end, node);
            put(&mut ends, of, end.saturating_add(1));
        }
        Self { starts, nodes }
    }

    fn of(&self, node: u32) -> &[u32] {
        let (start, end) = (at(&self.starts, node), at(&self.starts, node.saturating_add(1)));
        self.nodes.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// A directed graph.
///
/// ```
/// use unshade_core::graph::Graph;
///
/// // 0 → 1 → 2 → 1, 2 → 3
/// let graph = Graph::new(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
/// assert_eq!(graph.successors(2), [1, 3]);
/// assert_eq!(graph.predecessors(1), [0, 2]);
///
/// let dominators = graph.dominators(0);
/// assert_eq!(dominators.immediate(3), Some(2));
/// let loops = graph.loops(&dominators);
/// assert_eq!(loops.all()[0].header, 1);
/// assert_eq!(loops.depth(2), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    successors: Lists,
    predecessors: Lists,
    count: u32,
}

impl Graph {
    /// Creates a graph of `count` nodes; edges from or to nodes that do not exist are dropped.
    pub fn new(count: usize, edges: &[(u32, u32)]) -> Self {
        let count = number(count);
        let sound = edges.iter().copied().filter(|&(from, to)| from < count && to < count);
        let backward = sound.clone().map(|(from, to)| (to, from));
        Self {
            successors: Lists::new(count as usize, sound),
            predecessors: Lists::new(count as usize, backward),
            count,
        }
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the successors of a node, in the order in which the edges were given.
    pub fn successors(&self, node: u32) -> &[u32] {
        self.successors.of(node)
    }

    /// Returns the predecessors of a node, in the order in which the edges were given.
    pub fn predecessors(&self, node: u32) -> &[u32] {
        self.predecessors.of(node)
    }

    /// Computes the dominators of every node reachable from `entry`.
    pub fn dominators(&self, entry: u32) -> Dominators {
        Dominators::new(self, entry)
    }

    /// Finds the natural loops, given this graph's dominators.
    pub fn loops(&self, dominators: &Dominators) -> Loops {
        Loops::new(self, dominators)
    }
}

/// A depth-first search. A node's *place* is its index in preorder.
struct DepthFirst {
    preorder: Vec<u32>,
    /// By node: its place, [`NONE`] if it is unreachable.
    place: Vec<u32>,
    /// By place: the place of the parent in the depth-first tree.
    parent: Vec<u32>,
    postorder: Vec<u32>,
}

impl DepthFirst {
    fn new(graph: &Graph, entry: u32) -> Self {
        let mut walk = Self {
            preorder: Vec::with_capacity(graph.len()),
            place: vec![NONE; graph.len()],
            parent: Vec::with_capacity(graph.len()),
            postorder: Vec::with_capacity(graph.len()),
        };
        if entry >= graph.count {
            return walk;
        }
        walk.visit(entry, NONE);
        // Each node with the index of the next successor to visit.
        let mut stack = vec![(entry, 0u32)];
        while let Some((node, next)) = stack.last_mut() {
            let node = *node;
            let successor = at(graph.successors(node), *next);
            *next = next.saturating_add(1);
            if successor == NONE {
                walk.postorder.push(node);
                stack.pop();
            } else if at(&walk.place, successor) == NONE {
                let parent = at(&walk.place, node);
                walk.visit(successor, parent);
                stack.push((successor, 0));
            }
        }
        walk
    }

    fn visit(&mut self, node: u32, parent: u32) {
        put(&mut self.place, node, number(self.preorder.len()));
        self.preorder.push(node);
        self.parent.push(parent);
    }
}

/// The dominator tree of the nodes that are reachable from an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dominators {
    /// By node: its immediate dominator, [`NONE`] for the entry and unreachable nodes.
    immediate: Vec<u32>,
    /// By node: an ancestor in the dominator tree, chosen so that a search for any ancestor takes O(log depth) steps.
    jumps: Vec<u32>,
    /// By node: the range of its subtree in a preorder of the dominator tree.
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The reachable nodes.
    reverse_postorder: Vec<u32>,
    /// The reachable nodes in the preorder of the depth-first search.
    preorder: Vec<u32>,
}

impl Dominators {
    fn new(graph: &Graph, entry: u32) -> Self {
        let mut walk = DepthFirst::new(graph, entry);
        let immediate_places = LengauerTarjan::run(graph, &walk);
        let mut immediate = vec![NONE; graph.len()];
        for (&node, &place) in walk.preorder.iter().zip(&immediate_places) {
            put(&mut immediate, node, at(&walk.preorder, place));
        }
        walk.postorder.reverse();
        let mut dominators = Self {
            immediate,
            jumps: vec![NONE; graph.len()],
            starts: vec![NONE; graph.len()],
            ends: vec![0; graph.len()],
            reverse_postorder: walk.postorder,
            preorder: walk.preorder,
        };
        dominators.number_tree();
        dominators.find_jumps();
        dominators
    }

    /// A node jumps over two jumps of the same length above it, or else to the node above (Myers, "An Applicative
    /// Random-Access Stack").
    fn find_jumps(&mut self) {
        let mut depth = vec![0u32; self.immediate.len()];
        for &node in &self.preorder {
            let above = at(&self.immediate, node);
            if above == NONE {
                continue;
            }
            let below = at(&depth, above).saturating_add(1);
            put(&mut depth, node, below);
            let first = at(&self.jumps, above);
            let second = if first == NONE { NONE } else { at(&self.jumps, first) };
            let length = |from: u32, to: u32| at(&depth, from).saturating_sub(at(&depth, to));
            let is_pair = second != NONE && length(above, first) == length(first, second);
            put(&mut self.jumps, node, if is_pair { second } else { above });
        }
    }

    /// Numbers the dominator tree in preorder, so that a node dominates exactly the nodes in its range. In the preorder
    /// of the search, a dominator comes before the nodes that it dominates.
    fn number_tree(&mut self) {
        // First the sizes of subtrees, stored in `ends`.
        for &node in self.preorder.iter().rev() {
            let size = at(&self.ends, node).saturating_add(1);
            put(&mut self.ends, node, size);
            let parent = at(&self.immediate, node);
            if parent != NONE {
                let sum = at(&self.ends, parent).saturating_add(size);
                put(&mut self.ends, parent, sum);
            }
        }
        let mut next = vec![0u32; self.immediate.len()];
        for &node in &self.preorder {
            let parent = at(&self.immediate, node);
            let start = if parent == NONE { 0 } else { at(&next, parent) };
            let size = at(&self.ends, node);
            let end = start.saturating_add(size);
            put(&mut next, parent, end);
            put(&mut next, node, start.saturating_add(1));
            put(&mut self.starts, node, start);
            put(&mut self.ends, node, end);
        }
    }

    /// Returns the immediate dominator of a node; none for the entry and unreachable nodes.
    pub fn immediate(&self, node: u32) -> Option<u32> {
        Some(at(&self.immediate, node)).filter(|&node| node != NONE)
    }

    /// Returns whether every path from the entry to `node` goes through `dominator`. A reachable node dominates itself.
    #[inline]
    pub fn dominates(&self, dominator: u32, node: u32) -> bool {
        let (start, end) =
            (at(&self.starts, dominator), self.ends.get(dominator as usize).copied().unwrap_or(0));
        let place = at(&self.starts, node);
        place != NONE && start <= place && place < end
    }

    /// Returns the nearest common dominator of two nodes; none if one of them is unreachable.
    ///
    /// ```
    /// use unshade_core::graph::Graph;
    ///
    /// // Two paths from 1 merge at 4.
    /// let dominators = Graph::new(5, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]).dominators(0);
    /// assert_eq!(dominators.nearest_common(2, 3), Some(1));
    /// assert_eq!(dominators.nearest_common(4, 4), Some(4));
    /// ```
    pub fn nearest_common(&self, a: u32, b: u32) -> Option<u32> {
        if !self.is_reached(a) {
            return None;
        }
        let mut above = b;
        while !self.dominates(above, a) {
            let jump = at(&self.jumps, above);
            above = if jump == NONE || self.dominates(jump, a) { self.immediate(above)? } else { jump };
        }
        Some(above).filter(|_| self.is_reached(b))
    }

    /// Returns whether a node is reachable from the entry.
    pub fn is_reached(&self, node: u32) -> bool {
        at(&self.starts, node) != NONE
    }

    /// Returns the nodes that are reached, each before what it leads to but for edges that go back.
    pub fn reverse_postorder(&self) -> &[u32] {
        &self.reverse_postorder
    }
}

/// The working state of the Lengauer–Tarjan algorithm. All numbers are places in the depth-first preorder.
struct LengauerTarjan {
    semi: Vec<u32>,
    label: Vec<u32>,
    ancestor: Vec<u32>,
    /// Nodes by semidominator, as linked lists.
    bucket: Vec<u32>,
    next: Vec<u32>,
    immediate: Vec<u32>,
    path: Vec<u32>,
}

impl LengauerTarjan {
    fn run(graph: &Graph, walk: &DepthFirst) -> Vec<u32> {
        let count = walk.preorder.len();
        let own: Vec<u32> = (0..number(count)).collect();
        let none = vec![NONE; count];
        let mut state = Self {
            semi: own.clone(),
            label: own,
            ancestor: none.clone(),
            bucket: none.clone(),
            next: none.clone(),
            immediate: none,
            path: Vec::new(),
        };
        for place in (1..number(count)).rev() {
            state.process(graph, walk, place);
        }
        for place in 1..number(count) {
            let immediate = at(&state.immediate, place);
            if immediate != at(&state.semi, place) {
                let above = at(&state.immediate, immediate);
                put(&mut state.immediate, place, above);
            }
        }
        state.immediate
    }

    fn process(&mut self, graph: &Graph, walk: &DepthFirst, place: u32) {
        let mut semi = at(&self.semi, place);
        for &predecessor in graph.predecessors(at(&walk.preorder, place)) {
            let from = at(&walk.place, predecessor);
            if from != NONE {
                let best = self.evaluate(from);
                semi = semi.min(at(&self.semi, best));
            }
        }
        put(&mut self.semi, place, semi);
        let first = at(&self.bucket, semi);
        put(&mut self.next, place, first);
        put(&mut self.bucket, semi, place);

        let parent = at(&walk.parent, place);
        put(&mut self.ancestor, place, parent);
        let mut pending = at(&self.bucket, parent);
        put(&mut self.bucket, parent, NONE);
        while pending != NONE {
            let best = self.evaluate(pending);
            let is_better = at(&self.semi, best) < at(&self.semi, pending);
            put(&mut self.immediate, pending, if is_better { best } else { parent });
            pending = at(&self.next, pending);
        }
    }

    /// Returns the node with the least semidominator on the path from `place` to the root of its tree in the forest of
    /// processed nodes.
    fn evaluate(&mut self, place: u32) -> u32 {
        if at(&self.ancestor, place) != NONE {
            self.compress(place);
        }
        at(&self.label, place)
    }

    fn compress(&mut self, place: u32) {
        let mut path = core::mem::take(&mut self.path);
        path.clear();
        let mut node = place;
        loop {
            let above = at(&self.ancestor, node);
            if at(&self.ancestor, above) == NONE {
                break;
            }
            path.push(node);
            node = above;
        }
        for &node in path.iter().rev() {
            let above = at(&self.ancestor, node);
            let label = at(&self.label, above);
            if at(&self.semi, label) < at(&self.semi, at(&self.label, node)) {
                put(&mut self.label, node, label);
            }
            let further = at(&self.ancestor, above);
            put(&mut self.ancestor, node, further);
        }
        self.path = path;
    }
}

/// A natural loop: a header that dominates its body, and the edges back to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The node through which the loop is entered.
    pub header: u32,
    /// The sources of the back edges, sorted.
    pub latches: Vec<u32>,
    /// The loop around this one, as an index into [`Loops::all`].
    pub parent: Option<u32>,
    /// The nesting depth; 1 for an outermost loop.
    pub depth: u32,
}

/// The natural loops of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loops {
    loops: Vec<Loop>,
    /// By node: the innermost loop.
    innermost: Vec<u32>,
    irreducible: Vec<(u32, u32)>,
}

impl Loops {
    fn new(graph: &Graph, dominators: &Dominators) -> Self {
        let mut search = LoopSearch {
            graph,
            dominators,
            loops: Vec::new(),
            innermost: vec![NONE; graph.len()],
            outer: Vec::new(),
        };
        // A header comes before the nodes it dominates in preorder, so this visits inner loops first.
        for &header in dominators.preorder.iter().rev() {
            search.add_loop(header);
        }
        let LoopSearch { mut loops, mut innermost, .. } = search;
        // Reverse the list: outer loops first.
        let last = number(loops.len()).wrapping_sub(1);
        loops.reverse();
        for index in innermost.iter_mut().filter(|index| **index != NONE) {
            *index = last.wrapping_sub(*index);
        }
        for index in 0..loops.len() {
            let parent = loops.get(index).and_then(|one| one.parent).map(|parent| last.wrapping_sub(parent));
            let above = parent.and_then(|parent| loops.get(parent as usize)).map_or(0, |parent| parent.depth);
            if let Some(one) = loops.get_mut(index) {
                (one.parent, one.depth) = (parent, above.saturating_add(1));
            }
        }
        Self { loops, innermost, irreducible: irreducible(graph, dominators) }
    }

    /// Returns all loops, outer loops before the loops inside them.
    pub fn all(&self) -> &[Loop] {
        &self.loops
    }

    /// Returns the innermost loop that contains a node, as an index into [`Loops::all`].
    pub fn innermost(&self, node: u32) -> Option<u32> {
        Some(at(&self.innermost, node)).filter(|&index| index != NONE)
    }

    /// Returns the number of loops that contain a node.
    pub fn depth(&self, node: u32) -> u32 {
        self.innermost(node).and_then(|index| self.loops.get(index as usize)).map_or(0, |one| one.depth)
    }

    /// Returns whether an edge goes from a latch back to the header of its loop.
    pub fn is_back_edge(&self, from: u32, to: u32) -> bool {
        // The innermost loop of a header is the loop it heads.
        let own = self.innermost(to).and_then(|index| self.loops.get(index as usize));
        own.is_some_and(|own| own.header == to && own.latches.binary_search(&from).is_ok())
    }

    /// Returns the retreating edges whose target does not dominate their source: parts of irreducible cycles, which
    /// are not natural loops.
    pub fn irreducible(&self) -> &[(u32, u32)] {
        &self.irreducible
    }
}

struct LoopSearch<'g> {
    graph: &'g Graph,
    dominators: &'g Dominators,
    loops: Vec<Loop>,
    innermost: Vec<u32>,
    /// By loop: an enclosing loop, not necessarily the next one out (path compression).
    outer: Vec<u32>,
}

impl LoopSearch<'_> {
    fn add_loop(&mut self, header: u32) {
        let mut latches: Vec<u32> = self.graph.predecessors(header).to_vec();
        latches.retain(|&latch| self.dominators.dominates(header, latch));
        latches.sort_unstable();
        latches.dedup();
        if latches.is_empty() {
            return;
        }
        let own = number(self.loops.len());
        let mut pending = latches.clone();
        self.loops.push(Loop { header, latches, parent: None, depth: 0 });
        self.outer.push(NONE);
        put(&mut self.innermost, header, own);
        while let Some(node) = pending.pop() {
            let within = at(&self.innermost, node);
            let reached_from = if within == NONE {
                put(&mut self.innermost, node, own);
                node
            } else {
                let outermost = self.outermost(within);
                if outermost == own {
                    continue;
                }
                put(&mut self.outer, outermost, own);
                let Some(inner) = self.loops.get_mut(outermost as usize) else { continue };
                inner.parent = Some(own);
                inner.header
            };
            let predecessors = self.graph.predecessors(reached_from).iter().copied();
            pending.extend(predecessors.filter(|&one| self.dominators.is_reached(one)));
        }
    }

    fn outermost(&mut self, index: u32) -> u32 {
        let mut top = index;
        while at(&self.outer, top) != NONE {
            top = at(&self.outer, top);
        }
        let mut node = index;
        while node != top {
            let next = at(&self.outer, node);
            put(&mut self.outer, node, top);
            node = next;
        }
        top
    }
}

/// Finds the edges against the reverse postorder whose target does not dominate their source.
fn irreducible(graph: &Graph, dominators: &Dominators) -> Vec<(u32, u32)> {
    let mut places = vec![NONE; graph.len()];
    for (place, &node) in (0u32..).zip(dominators.reverse_postorder()) {
        put(&mut places, node, place);
    }
    let mut edges = Vec::new();
    for &from in dominators.reverse_postorder() {
        for &to in graph.successors(from) {
            if at(&places, to) <= at(&places, from) && !dominators.dominates(to, from) {
                edges.push((from, to));
            }
        }
    }
    edges
}

#[cfg(test)]
mod tests;
