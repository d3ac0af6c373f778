//! Compares the results with naive searches and sets, on graphs of many shapes.

use super::*;
use alloc::collections::BTreeSet;

/// A pseudo-random number generator (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn reached(graph: &Graph, entry: u32, without: Option<u32>) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![entry];
    while let Some(node) = pending.pop() {
        if Some(node) != without && seen.insert(node) {
            pending.extend(graph.successors(node));
        }
    }
    seen
}

/// Returns, for each node, the nodes without which it is unreachable.
fn naive_dominators(graph: &Graph, entry: u32) -> Vec<BTreeSet<u32>> {
    let all = reached(graph, entry, None);
    let mut dominators = vec![BTreeSet::new(); graph.len()];
    for &dominator in &all {
        let left = reached(graph, entry, Some(dominator));
        for &node in all.difference(&left) {
            dominators[node as usize].insert(dominator);
        }
    }
    dominators
}

/// Returns the nodes of a header's loop: those that reach one of its latches without passing the header.
fn naive_loop(graph: &Graph, reached: &BTreeSet<u32>, header: u32, latches: &[u32]) -> BTreeSet<u32> {
    let mut body = BTreeSet::from([header]);
    let mut pending = latches.to_vec();
    while let Some(node) = pending.pop() {
        if reached.contains(&node) && body.insert(node) {
            pending.extend(graph.predecessors(node));
        }
    }
    body
}

fn check(graph: &Graph) {
    let entry = 0;
    let dominators = graph.dominators(entry);
    let sets = naive_dominators(graph, entry);
    let all = reached(graph, entry, None);
    for node in 0..graph.len() as u32 {
        let set = &sets[node as usize];
        assert_eq!(dominators.is_reached(node), all.contains(&node), "{graph:?}");
        for other in 0..graph.len() as u32 {
            assert_eq!(
                dominators.dominates(other, node),
                set.contains(&other),
                "{other} over {node}: {graph:?}"
            );
            let common = set.intersection(&sets[other as usize]);
            let nearest = common.copied().max_by_key(|&one| sets[one as usize].len());
            assert_eq!(dominators.nearest_common(node, other), nearest, "{node} and {other}: {graph:?}");
        }
        // The closest strict dominator is the one that all others dominate.
        let immediate =
            set.iter().copied().filter(|&one| one != node).max_by_key(|&one| sets[one as usize].len());
        assert_eq!(dominators.immediate(node), immediate, "{node}: {graph:?}");
    }
    check_order(graph, &dominators, &all);
    check_loops(graph, &dominators, &all, &sets);
}

fn check_order(graph: &Graph, dominators: &Dominators, all: &BTreeSet<u32>) {
    let order = dominators.reverse_postorder();
    assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), *all);
    assert_eq!(order.len(), all.len());
    let place = |node: u32| order.iter().position(|&one| one == node).unwrap();
    for &node in order {
        if let Some(immediate) = dominators.immediate(node) {
            assert!(place(immediate) < place(node), "{graph:?}");
        }
    }
}

fn check_loops(graph: &Graph, dominators: &Dominators, all: &BTreeSet<u32>, sets: &[BTreeSet<u32>]) {
    let loops = graph.loops(dominators);
    let mut expected = Vec::new();
    for &header in all {
        let latches: BTreeSet<u32> = graph.predecessors(header).iter().copied().collect();
        let latches: Vec<u32> =
            latches.into_iter().filter(|&latch| sets[latch as usize].contains(&header)).collect();
        if !latches.is_empty() {
            let body = naive_loop(graph, all, header, &latches);
            expected.push((header, latches, body));
        }
    }
    assert_eq!(loops.all().len(), expected.len(), "{graph:?}");
    for (header, latches, body) in &expected {
        let own = loops.all().iter().find(|one| one.header == *header).expect("a loop of this header");
        assert_eq!(own.latches, *latches);
        for node in 0..graph.len() as u32 {
            assert_eq!(loops.is_back_edge(node, *header), latches.contains(&node));
            let around = core::iter::successors(loops.innermost(node), |&at| loops.all()[at as usize].parent);
            let within = around.into_iter().any(|at| loops.all()[at as usize].header == *header);
            assert_eq!(within, body.contains(&node), "{node} in the loop of {header}: {graph:?}");
        }
    }
    for node in 0..graph.len() as u32 {
        let depth = expected.iter().filter(|(.., body)| body.contains(&node)).count();
        assert_eq!(loops.depth(node) as usize, depth, "{node}: {graph:?}");
    }
    for (index, one) in loops.all().iter().enumerate() {
        assert!(one.parent.is_none_or(|parent| (parent as usize) < index));
    }
    for &(from, to) in loops.irreducible() {
        assert!(!sets[from as usize].contains(&to));
    }
}

#[test]
fn generated_graphs() {
    let mut numbers = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..3_000 {
        let count = 1 + numbers.below(14);
        let density = 1 + numbers.below(4);
        let mut edges = Vec::new();
        for _ in 0..count * density {
            let from = numbers.below(count);
            // Edges to nearby nodes make loops, edges to any node make irreducible graphs.
            let to = if round % 2 == 0 {
                numbers.below(count)
            } else {
                (from + numbers.below(4)).saturating_sub(1)
            };
            edges.push((from as u32, to as u32));
        }
        check(&Graph::new(count, &edges));
    }
}

#[test]
fn shapes_that_compilers_produce() {
    // A loop with two latches that contains another loop, and an unreachable node.
    check(&Graph::new(7, &[(0, 1), (1, 2), (2, 3), (3, 2), (3, 1), (2, 4), (4, 1), (4, 5), (6, 5)]));
    // A loop of one node, and a cycle with two entries.
    check(&Graph::new(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (1, 3), (3, 3)]));
    let tangled = Graph::new(3, &[(0, 1), (0, 2), (1, 2), (2, 1)]);
    assert_eq!(tangled.loops(&tangled.dominators(0)).irreducible().len(), 1);
    check(&Graph::new(1, &[]));
}

#[test]
fn nodes_that_do_not_exist() {
    let empty = Graph::new(0, &[(0, 0), (3, 4)]);
    let dominators = empty.dominators(0);
    assert!(empty.is_empty() && dominators.reverse_postorder().is_empty());
    assert!(empty.loops(&dominators).all().is_empty());
    assert_eq!(empty.successors(7), [0u32; 0]);
    assert!(!dominators.dominates(0, 0) && !dominators.dominates(u32::MAX, u32::MAX));
}

/// Shapes that make simpler algorithms quadratic: a chain whose end has edges to every node of a second chain (if each
/// path is walked again), and a hundred thousand nested loops (if each loop lists its nodes).
#[test]
fn hostile_shapes_take_linear_time() {
    const COUNT: u32 = 200_000;
    let mut edges: Vec<(u32, u32)> = (1..COUNT).map(|node| (node - 1, node)).collect();
    edges.extend((0..COUNT / 2).map(|node| (COUNT - 1 - node, node)));
    let nested = Graph::new(COUNT as usize, &edges);
    let dominators = nested.dominators(0);
    assert_eq!(nested.loops(&dominators).all().len(), COUNT as usize / 2);

    let half = COUNT / 2;
    let mut edges: Vec<(u32, u32)> = (1..half).map(|node| (node - 1, node)).collect();
    for node in half..COUNT {
        edges.extend([(half - 1, node), (0, node)]);
    }
    let ladder = Graph::new(COUNT as usize, &edges);
    assert_eq!(ladder.dominators(0).immediate(COUNT - 1), Some(0));
}
