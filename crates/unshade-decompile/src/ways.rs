//! Ways into blocks with phis: what sets the phis' variables gets a place, once for all ways that set the same.

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, End, Function, Id, NONE};

/// Leads ways into a block that bring the same for all of its phis through one new block, if all of them go round the same
/// loop, leave the same one, or go into one: what they set is written once.
pub fn join_ways(function: &mut Function, graph: &Graph) {
    for block in 0..function.blocks.len() as BlockId {
        if !graph.is_reached(block) || function.blocks[block as usize].phis.is_empty() {
            continue;
        }
        let before = function.blocks[block as usize].before.clone();
        let mut groups: Vec<(Option<Turn>, Vec<Id>, Vec<BlockId>)> = Vec::new();
        for (place, &from) in before.iter().enumerate() {
            let phis = &function.blocks[block as usize].phis;
            let brought: Vec<Id> = phis.iter().map(|phi| function.input(*phi, place)).collect();
            let turn = turn(graph, from, block);
            match groups.iter_mut().find(|group| turn.is_some() && group.0 == turn && group.1 == brought) {
                Some(group) => group.2.push(from),
                None => groups.push((turn, brought, vec![from])),
            }
        }
        if groups.len() < 2 || groups.len() == before.len() {
            continue;
        }
        let mut after = Vec::with_capacity(groups.len());
        for (_, _, ways) in &groups {
            after.push(if let [way] = ways.as_slice() { *way } else { join(function, block, ways) });
        }
        function.blocks[block as usize].before = after;
        for index in 0..function.blocks[block as usize].phis.len() {
            let phi = function.blocks[block as usize].phis[index];
            let inputs: Vec<Id> = groups.iter().map(|group| group.1[index]).collect();
            function.set_inputs(phi, &inputs);
        }
    }
}

/// What a way does to a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It goes round the one of this header.
    Round(BlockId),
    /// It leaves the one of this header.
    Out(BlockId),
    /// It goes into one.
    Into,
}

fn turn(graph: &Graph, from: BlockId, to: BlockId) -> Option<Turn> {
    let header = graph.header[from as usize];
    if graph.is_in_loop(from, to) {
        Some(Turn::Round(to))
    } else if header != NONE && !graph.is_in_loop(to, header) {
        Some(Turn::Out(header))
    } else if graph.header[to as usize] == to {
        Some(Turn::Into)
    } else {
        None
    }
}

/// A block that some of the ways into another lead through.
fn join(function: &mut Function, to: BlockId, ways: &[BlockId]) -> BlockId {
    let address = function.blocks[ways[0] as usize].address;
    let joint = function.block(address);
    function.blocks[joint as usize].before = ways.to_vec();
    function.blocks[joint as usize].end = End::Goto(to);
    for &way in ways {
        function.blocks[way as usize].end.redirect(to, joint);
    }
    joint
}

/// Empty blocks on ways between a block with several ways out and one with several ways in that has phis, so that there
/// is a place for what such a way sets.
pub fn split_edges(function: &mut Function) {
    for block in 0..function.blocks.len() {
        if !matches!(function.blocks[block].end, End::Branch { .. } | End::Switch { .. }) {
            continue;
        }
        let successors = function.blocks[block].end.successors();
        if successors.len() < 2 {
            continue;
        }
        for next in successors {
            let after = &function.blocks[next as usize];
            if after.before.len() < 2 || after.phis.is_empty() {
                continue;
            }
            let address = function.blocks[block].address;
            let between = function.block(address);
            function.blocks[between as usize].before.push(block as BlockId);
            function.blocks[between as usize].end = End::Goto(next);
            function.blocks[block].end.redirect(next, between);
            for before in &mut function.blocks[next as usize].before {
                if *before == block as BlockId {
                    *before = between;
                }
            }
        }
    }
}
