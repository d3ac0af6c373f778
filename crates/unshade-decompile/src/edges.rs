//! Blocks on edges into blocks with phis, which hold the copies to the phis' variables.

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, End, Function, ValueId};

/// Redirects edges that bring the same values to all phis of a block through one new block, so that the copies are
/// printed once. The edges must all be back edges of the same loop, all leave the same loop, or all enter one.
pub fn merge_edges(function: &mut Function, graph: &Graph) {
    for block in function.blocks.keys() {
        if !graph.is_reached(block) || function.blocks[block].phis.is_empty() {
            continue;
        }
        let predecessors = function.blocks[block].predecessors.clone();
        let mut groups: Vec<(Option<LoopRelation>, Vec<ValueId>, Vec<BlockId>)> = Vec::new();
        for (index, &from) in predecessors.iter().enumerate() {
            let phis = &function.blocks[block].phis;
            let values: Vec<ValueId> = phis.iter().map(|phi| function.input(*phi, index)).collect();
            let loop_relation = loop_relation(graph, from, block);
            match groups
                .iter_mut()
                .find(|group| loop_relation.is_some() && group.0 == loop_relation && group.1 == values)
            {
                Some(group) => group.2.push(from),
                None => groups.push((loop_relation, values, vec![from])),
            }
        }
        if groups.len() < 2 || groups.len() == predecessors.len() {
            continue;
        }
        let mut after = Vec::with_capacity(groups.len());
        for (_, _, sources) in &groups {
            after.push(if let [source] = sources.as_slice() {
                *source
            } else {
                insert_block(function, block, sources)
            });
        }
        function.blocks[block].predecessors = after;
        for index in 0..function.blocks[block].phis.len() {
            let phi = function.blocks[block].phis[index];
            let inputs: Vec<ValueId> = groups.iter().map(|group| group.1[index]).collect();
            function.set_inputs(phi, &inputs);
        }
    }
}

/// The relation of an edge to a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopRelation {
    /// A back edge to this header.
    Back(BlockId),
    /// An edge out of the loop with this header.
    Exit(BlockId),
    /// An edge into a loop.
    Entry,
}

fn loop_relation(graph: &Graph, from: BlockId, to: BlockId) -> Option<LoopRelation> {
    let header = graph.header[from];
    if graph.is_in_loop(from, to) {
        Some(LoopRelation::Back(to))
    } else if header != BlockId::NONE && !graph.is_in_loop(to, header) {
        Some(LoopRelation::Exit(header))
    } else if graph.header[to] == to {
        Some(LoopRelation::Entry)
    } else {
        None
    }
}

/// Creates a block between `sources` and `to`.
fn insert_block(function: &mut Function, to: BlockId, sources: &[BlockId]) -> BlockId {
    let address = function.blocks[sources[0]].address;
    let inserted = function.block(address);
    function.blocks[inserted].predecessors = sources.to_vec();
    function.blocks[inserted].end = End::Goto(to);
    for &source in sources {
        function.blocks[source].end.redirect(to, inserted);
    }
    inserted
}

/// Inserts an empty block on every critical edge into a block with phis, to hold the copies for that edge.
pub fn split_critical_edges(function: &mut Function) {
    for block in function.blocks.keys() {
        if !matches!(function.blocks[block].end, End::Branch { .. } | End::Switch { .. }) {
            continue;
        }
        let successors = function.blocks[block].end.successors();
        if successors.len() < 2 {
            continue;
        }
        for next in successors {
            let after = &function.blocks[next];
            if after.predecessors.len() < 2 || after.phis.is_empty() {
                continue;
            }
            let address = function.blocks[block].address;
            let between = function.block(address);
            function.blocks[between].predecessors.push(block);
            function.blocks[between].end = End::Goto(next);
            function.blocks[block].end.redirect(next, between);
            for predecessors in &mut function.blocks[next].predecessors {
                if *predecessors == block {
                    *predecessors = between;
                }
            }
        }
    }
}
