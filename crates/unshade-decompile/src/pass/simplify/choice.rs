//! Selects between a value and a phi.
//!
//! This is no rule of algebra: what a phi gives depends on the branch that leads to it, so the law needs the graph.

use crate::ir::dominators::Graph;
use crate::ir::{Function, Op, ValueId};
use crate::pass::graph::decided;

/// Simplifies a select between a value and a phi that depends on the same condition: one input of the phi is never
/// selected, and the value replaces it.
pub(super) fn select_of_phi(function: &mut Function, graph: &Graph, id: ValueId) -> Option<ValueId> {
    let condition = function.input(id, 0);
    let sides = [function.input(id, 1), function.input(id, 2)];
    let index = sides.iter().position(|side| function.op(*side) == Op::Phi)?;
    let (phi, other) = (sides[index], sides[1 - index]);
    let (decided, yes) = decided(function, graph, phi)?;
    let block = function.values[phi].block;
    // If the condition holds, the select takes its first side.
    let (kept, given) = if index == 0 { (yes, 1 - yes) } else { (1 - yes, yes) };
    let source = function.blocks[block].predecessors[given];
    let from = function.values[other].block;
    if decided != condition || !graph.is_reached(from) || !graph.dominates(from, source) {
        return None;
    }
    let mut inputs = [other; 2];
    inputs[kept] = function.input(phi, kept);
    let value = function.values[phi];
    let new = function.raw(Op::Phi, value.width, block, value.address, &inputs);
    function.with_lanes(new, value.lanes);
    function.with_type(new, value.ty);
    function.blocks[block].phis.push(new);
    Some(new)
}
