//! Loops with several entries get one: C has no statement for the others but `goto`.
//!
//! Without edges to dominators, a graph has cycles only if a loop can be entered in several places. All edges to
//! these entries, from outside and from inside, then go to a new block. It branches to the entry that each was for, which
//! a phi remembers; the phis of the entries move there. The loop has one entry now, and loops inside it are next.

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, BlockMap, End, Function, IdVec, NO_ADDRESS, Op, ValueId};

/// Maximum number of nested loops.
const MAX_NESTED: usize = 16;

/// Maximum number of inputs of the phis of a new block.
const MAX_INPUTS: usize = 1 << 14;

/// Gives each loop one entry. Returns whether any had several.
pub fn run(function: &mut Function) -> bool {
    let mut has_changed = false;
    for _ in 0..MAX_NESTED {
        let graph = Graph::new(function);
        if graph.is_reducible(function) {
            break;
        }
        for entries in entries(function, &graph) {
            has_changed |= join(function, &entries);
        }
    }
    has_changed
}

/// Returns the entries of the outermost loops with several.
fn entries(function: &Function, graph: &Graph) -> Vec<Vec<BlockId>> {
    let component = components(function, graph);
    let mut found: BlockMap<Vec<BlockId>> = IdVec::filled(Vec::new(), function.blocks.len());
    for &block in &graph.order {
        // An edge to a dominator enters nothing. Its target would otherwise count as an entry of a loop that it dominates
        // in part, and values computed there would no longer be available in the rest.
        let enters = |from: &BlockId| {
            graph.is_reached(*from) && component[*from] != component[block] && !graph.dominates(block, *from)
        };
        if function.blocks[block].predecessors.iter().any(enters) {
            found[component[block]].push(block);
        }
    }
    found.into_iter().filter(|entries| entries.len() > 1).collect()
}

/// Returns the strongly connected component of each block in the graph without edges to dominators, as its first block
/// in postorder of the reversed edges (Kosaraju and Sharir).
fn components(function: &Function, graph: &Graph) -> BlockMap<BlockId> {
    let is_edge = |from: BlockId, to: BlockId| graph.is_reached(from) && !graph.dominates(to, from);
    let mut component = IdVec::filled(BlockId::NONE, function.blocks.len());
    // The order of the graph is a reverse postorder of all edges; without some, it has to be computed again.
    for root in reverse_postorder(function, graph) {
        if component[root] != BlockId::NONE {
            continue;
        }
        component[root] = root;
        let mut list = vec![root];
        while let Some(block) = list.pop() {
            for &from in &function.blocks[block].predecessors {
                if is_edge(from, block) && component[from] == BlockId::NONE {
                    component[from] = root;
                    list.push(from);
                }
            }
        }
    }
    component
}

/// Returns the blocks in reverse postorder of the edges that don't lead to dominators.
fn reverse_postorder(function: &Function, graph: &Graph) -> Vec<BlockId> {
    let mut is_seen = IdVec::filled(false, function.blocks.len());
    let mut done = Vec::with_capacity(graph.order.len());
    for &root in &graph.order {
        let mut path: Vec<(BlockId, Vec<BlockId>)> = Vec::new();
        let mut next = Some(root);
        loop {
            if let Some(block) = next.filter(|block| !std::mem::replace(&mut is_seen[*block], true)) {
                let mut successors = function.blocks[block].end.successors();
                successors.retain(|to| !graph.dominates(*to, block));
                path.push((block, successors));
            }
            let Some((block, successors)) = path.last_mut() else { break };
            next = successors.pop();
            if next.is_none() {
                done.push(*block);
                path.pop();
            }
        }
    }
    done.reverse();
    done
}

/// Lets all edges to some blocks go through a new one.
fn join(function: &mut Function, entries: &[BlockId]) -> bool {
    let edges: usize = entries.iter().map(|entry| function.blocks[*entry].predecessors.len()).sum();
    let phis: usize = entries.iter().map(|entry| function.blocks[*entry].phis.len()).sum();
    if edges.saturating_mul(phis + 1) > MAX_INPUTS {
        return false;
    }
    let header = function.block(function.blocks[entries[0]].address);
    // The sources of the edges, each with the number of its entry and its place among that block's predecessors.
    let mut sources: Vec<(BlockId, usize, usize)> = Vec::new();
    for (number, &entry) in entries.iter().enumerate() {
        for (place, from) in function.blocks[entry].predecessors.clone().into_iter().enumerate() {
            sources.push((redirect(function, from, entry, header), number, place));
        }
    }
    let width = if entries.len() == 2 { 1 } else { 32 };
    let numbers: Vec<ValueId> =
        sources.iter().map(|(_, number, _)| function.constant(*number as u64, width)).collect();
    let selector = function.raw(Op::Phi, width, header, NO_ADDRESS, &numbers);
    let mut phis = vec![selector];
    for (number, &entry) in entries.iter().enumerate() {
        for phi in std::mem::take(&mut function.blocks[entry].phis) {
            let undefined = function.raw(Op::Undefined, function.width(phi), BlockId::ENTRY, NO_ADDRESS, &[]);
            let input = |(_, other, place): &(BlockId, usize, usize)| {
                if *other == number { function.input(phi, *place) } else { undefined }
            };
            let inputs: Vec<ValueId> = sources.iter().map(input).collect();
            function.set_inputs(phi, &inputs);
            function.set_block(phi, header);
            phis.push(phi);
        }
        function.blocks[entry].predecessors = vec![header];
    }
    let block = &mut function.blocks[header];
    block.phis = phis;
    block.predecessors = sources.iter().map(|source| source.0).collect();
    block.end = match *entries {
        [no, yes] => End::Branch { condition: selector, yes, no },
        _ => {
            let cases = (0..).zip(entries.iter().copied().skip(1)).map(|(case, entry)| (case + 1, entry));
            End::Switch { selector, cases: cases.collect(), otherwise: Some(entries[0]) }
        }
    };
    true
}

/// Lets an edge lead to another block, and returns its source: a new block if others leave the old one.
fn redirect(function: &mut Function, from: BlockId, to: BlockId, header: BlockId) -> BlockId {
    if function.blocks[from].end == End::Goto(to) {
        function.blocks[from].end = End::Goto(header);
        return from;
    }
    let between = function.block(function.blocks[from].address);
    function.blocks[between].predecessors.push(from);
    function.blocks[between].end = End::Goto(header);
    function.blocks[from].end.redirect(to, between);
    between
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::verify;

    /// Builds a function from the successors of its blocks, each with a phi that merges the values of its predecessors.
    fn function(successors: &[&[u32]]) -> Function {
        let mut function = Function::default();
        let blocks: Vec<BlockId> =
            (0..).zip(successors).map(|(address, _)| function.block(address)).collect();
        let condition = function.raw(Op::Parameter(0), 1, BlockId::ENTRY, NO_ADDRESS, &[]);
        for (&block, next) in blocks.iter().zip(successors) {
            function.blocks[block].end = match next {
                [] => End::Return,
                [to] => End::Goto(BlockId::new(*to)),
                [yes, no, ..] => End::Branch { condition, yes: BlockId::new(*yes), no: BlockId::new(*no) },
            };
            for to in *next {
                function.blocks[BlockId::new(*to)].predecessors.push(block);
            }
        }
        for &block in blocks.iter().skip(1) {
            let count = function.blocks[block].predecessors.len();
            let inputs: Vec<ValueId> =
                (0..count).map(|number| function.constant(number as u64, 32)).collect();
            let phi = function.raw(Op::Phi, 32, block, NO_ADDRESS, &inputs);
            function.blocks[block].phis.push(phi);
        }
        function
    }

    #[test]
    fn loops_get_one_entry() {
        // Two entries; three; a loop with two entries in one with two.
        for successors in [
            &[&[1, 2][..], &[2], &[1, 3], &[]][..],
            &[&[1, 4], &[2, 5], &[3], &[1], &[2, 3], &[]],
            &[&[1, 2], &[3, 4], &[4, 3], &[4, 5], &[3, 2], &[1, 6], &[]],
        ] {
            let mut function = function(successors);
            assert!(!Graph::new(&function).is_reducible(&function));
            assert!(run(&mut function));
            assert!(Graph::new(&function).is_reducible(&function), "{successors:?}");
            let faults = verify::verify(&function);
            assert!(faults.is_empty(), "{faults:#?}");
        }
    }

    #[test]
    fn inner_loops_keep_their_entry() {
        // Blocks 1 and 2 are a loop with two entries; in it, 3 and 4 are a loop of their own.
        let mut function = function(&[&[1, 2], &[3], &[1, 5], &[4, 2], &[3], &[]]);
        assert!(run(&mut function));
        assert!(Graph::new(&function).is_reducible(&function));
        let inner = &function.blocks[BlockId::new(3)];
        assert_eq!(inner.predecessors, [BlockId::new(1), BlockId::new(4)]);
        assert_eq!(verify::verify(&function), [""; 0]);
    }

    #[test]
    fn loops_with_one_entry_stay() {
        let mut function = function(&[&[1], &[2, 3], &[1, 2], &[]]);
        assert!(!run(&mut function));
        assert_eq!(function.blocks.len(), 4);
    }
}
