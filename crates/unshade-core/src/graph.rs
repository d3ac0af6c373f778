//! Directed graphs: orders, dominators and natural loops, for the control flow of any instruction set.
//!
//! Nodes are numbers from zero on. A graph keeps its edges as two arrays, by source and by target, in the order in
//! which they were given; a node that is reached twice from another stands twice.
//!
//! Dominators are found as Lengauer and Tarjan describe (*A Fast Algorithm for Finding Dominators in a Flowgraph*,
//! 1979) with path compression. The simpler way of Cooper, Harvey and Kennedy is as fast on what compilers write, but
//! takes time quadratic in the size of a graph that somebody chose; so do sets. Natural loops come out of one walk
//! against the edges from each loop's latches, inner loops first; walks pass over inner loops as one node. Nothing
//! recurses, and everything takes time of about the number of edges.

use alloc::vec;
use alloc::vec::Vec;

/// No node.
const NONE: u32 = u32::MAX;

fn at(list: &[u32], index: u32) -> u32 {
    list.get(index as usize).copied().unwrap_or(NONE)
}

fn put(list: &mut [u32], index: u32, value: u32) {
    if let Some(slot) = list.get_mut(index as usize) {
        *slot = value;
    }
}

/// The number of a thing in a list; lists here are no longer than what 32 bits count.
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
    /// A graph of `count` nodes; edges from or to nodes that are not there are left out.
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

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where edges from a node go, in the order in which they were given.
    pub fn successors(&self, node: u32) -> &[u32] {
        self.successors.of(node)
    }

    /// Where edges to a node come from, in the order in which they were given.
    pub fn predecessors(&self, node: u32) -> &[u32] {
        self.predecessors.of(node)
    }

    /// The dominators of every node that `entry` reaches.
    pub fn dominators(&self, entry: u32) -> Dominators {
        Dominators::new(self, entry)
    }

    /// The natural loops, given this graph's dominators.
    pub fn loops(&self, dominators: &Dominators) -> Loops {
        Loops::new(self, dominators)
    }
}

/// A walk in depth, each node after the one that led to it.
struct DepthFirst {
    /// The nodes in the order in which they were met.
    order: Vec<u32>,
    /// The place of each node in that order.
    place: Vec<u32>,
    /// By place: the place of the node that led here.
    parent: Vec<u32>,
    /// The nodes in the order in which they were left.
    postorder: Vec<u32>,
}

impl DepthFirst {
    fn new(graph: &Graph, entry: u32) -> Self {
        let mut walk = Self {
            order: Vec::with_capacity(graph.len()),
            place: vec![NONE; graph.len()],
            parent: Vec::with_capacity(graph.len()),
            postorder: Vec::with_capacity(graph.len()),
        };
        if entry >= graph.count {
            return walk;
        }
        walk.meet(entry, NONE);
        // Nodes with the successor that comes next.
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
                walk.meet(successor, parent);
                stack.push((successor, 0));
            }
        }
        walk
    }

    fn meet(&mut self, node: u32, parent: u32) {
        put(&mut self.place, node, number(self.order.len()));
        self.order.push(node);
        self.parent.push(parent);
    }
}

/// Which nodes stand on every way from the entry to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dominators {
    /// By node, [`NONE`] for the entry and what is not reached.
    immediate: Vec<u32>,
    /// By node: a node further up, so that any of them is reached in so many steps as the depth has digits.
    jumps: Vec<u32>,
    /// By node: where its part of the tree of dominators starts and ends, in that tree's own order.
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The nodes that are reached, each before what it leads to but for edges that go back.
    reverse_postorder: Vec<u32>,
    /// The same nodes in the order in which a walk in depth meets them.
    preorder: Vec<u32>,
}

impl Dominators {
    fn new(graph: &Graph, entry: u32) -> Self {
        let mut walk = DepthFirst::new(graph, entry);
        let immediate_places = LengauerTarjan::run(graph, &walk);
        let mut immediate = vec![NONE; graph.len()];
        for (&node, &place) in walk.order.iter().zip(&immediate_places) {
            put(&mut immediate, node, at(&walk.order, place));
        }
        walk.postorder.reverse();
        let mut dominators = Self {
            immediate,
            jumps: vec![NONE; graph.len()],
            starts: vec![NONE; graph.len()],
            ends: vec![0; graph.len()],
            reverse_postorder: walk.postorder,
            preorder: walk.order,
        };
        dominators.number_tree();
        dominators.find_jumps();
        dominators
    }

    /// A node jumps over two jumps of the same length above it, or else to the node above (Myers, "An Applicative Random-Access
    /// Stack").
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

    /// Gives every node a range in which those lie that it dominates. A dominator is met before what it dominates.
    fn number_tree(&mut self) {
        // Sizes of parts of the tree first, kept in `ends`.
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

    /// The last node before this one that stands on every way to it; none for the entry and what is not reached.
    pub fn immediate(&self, node: u32) -> Option<u32> {
        Some(at(&self.immediate, node)).filter(|&node| node != NONE)
    }

    /// Whether every way from the entry to `node` passes `dominator`; every node that is reached dominates itself.
    pub fn dominates(&self, dominator: u32, node: u32) -> bool {
        let (start, end) =
            (at(&self.starts, dominator), self.ends.get(dominator as usize).copied().unwrap_or(0));
        let place = at(&self.starts, node);
        place != NONE && start <= place && place < end
    }

    /// The last node that stands on every way to either of two; none if one of them is not reached.
    ///
    /// ```
    /// use unshade_core::graph::Graph;
    ///
    /// // Two ways from 1 meet in 4.
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

    /// Whether the entry leads to a node.
    pub fn is_reached(&self, node: u32) -> bool {
        at(&self.starts, node) != NONE
    }

    /// The nodes that are reached, each before what it leads to but for edges that go back.
    pub fn reverse_postorder(&self) -> &[u32] {
        &self.reverse_postorder
    }
}

/// The state of finding dominators. All numbers are places in the order of a walk in depth.
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
        let count = walk.order.len();
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
            state.take(graph, walk, place);
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

    fn take(&mut self, graph: &Graph, walk: &DepthFirst, place: u32) {
        let mut semi = at(&self.semi, place);
        for &predecessor in graph.predecessors(at(&walk.order, place)) {
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
        let mut waiting = at(&self.bucket, parent);
        put(&mut self.bucket, parent, NONE);
        while waiting != NONE {
            let best = self.evaluate(waiting);
            let is_better = at(&self.semi, best) < at(&self.semi, waiting);
            put(&mut self.immediate, waiting, if is_better { best } else { parent });
            waiting = at(&self.next, waiting);
        }
    }

    /// The node of the least semidominator on the way up from a node, in the forest of those that were taken.
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

/// A natural loop: its header, which dominates all of it, and what leads back to the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The node through which the loop is entered.
    pub header: u32,
    /// The sources of the edges back to the header, by number.
    pub latches: Vec<u32>,
    /// The loop around this one, as an index into [`Loops::all`].
    pub parent: Option<u32>,
    /// How many loops it is in, itself included.
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
        // A header is met before those that it dominates, so inner loops come first here.
        for &header in dominators.preorder.iter().rev() {
            search.take_header(header);
        }
        let LoopSearch { mut loops, mut innermost, .. } = search;
        // Outer loops first, as people count them.
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

    /// All loops, outer ones before those in them.
    pub fn all(&self) -> &[Loop] {
        &self.loops
    }

    /// The innermost loop that a node is in, as an index into [`Loops::all`].
    pub fn innermost(&self, node: u32) -> Option<u32> {
        Some(at(&self.innermost, node)).filter(|&index| index != NONE)
    }

    /// In how many loops a node is.
    pub fn depth(&self, node: u32) -> u32 {
        self.innermost(node).and_then(|index| self.loops.get(index as usize)).map_or(0, |one| one.depth)
    }

    /// Whether an edge goes from a latch back to the header of its loop.
    pub fn is_back_edge(&self, from: u32, to: u32) -> bool {
        // A header's innermost loop is its own.
        let own = self.innermost(to).and_then(|index| self.loops.get(index as usize));
        own.is_some_and(|own| own.header == to && own.latches.binary_search(&from).is_ok())
    }

    /// Edges that go back to a node that does not dominate their source: ways into a cycle from its side, which no
    /// natural loop describes.
    pub fn irreducible(&self) -> &[(u32, u32)] {
        &self.irreducible
    }
}

struct LoopSearch<'g> {
    graph: &'g Graph,
    dominators: &'g Dominators,
    loops: Vec<Loop>,
    innermost: Vec<u32>,
    /// By loop: a loop around it, not always the next; compressed as it is followed.
    outer: Vec<u32>,
}

impl LoopSearch<'_> {
    fn take_header(&mut self, header: u32) {
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

/// Edges against the reverse postorder whose target does not dominate the source.
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
