//! The passes between front end and printer, one per module.

pub mod atomic;
pub mod constants;
pub mod flush;
pub mod graph;
pub mod induction;
pub mod loops;
pub mod memory;
pub mod pairs;
pub mod quotient;
pub mod saves;
pub mod simplify;
pub mod volatile;
pub mod windows;

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, Function, IdVec, MemoryObject, Op, ValueId, ValueMap};

/// Maximum number of rounds.
const MAX_ROUNDS: usize = 32;

/// The round from which sums are reassociated.
const REASSOCIATED: usize = 2;

/// The round from which values are visited after their inputs, so that the effects of a simplification at the start
/// of a chain reach its end. Before, halves must be recognised in their original form, which is in the order of their
/// numbers.
const ORDERED: usize = 4;

/// Maximum number of passes over loops: a loop that contained another one is transformed in the next pass.
const MAX_NESTED: usize = 4;

/// Maximum number of searches for quotients.
const MAX_QUOTIENTS: usize = 4;

/// Runs all passes up to a fixed point, and removes unused values. `objects` are the variables that it may refer to.
pub fn run(function: &mut Function, objects: &[MemoryObject<'_>], cache: &mut quotient::Cache) {
    graph::clean(function);
    let mut found = rounds(function, 0);
    let has_objects = constants::run(function, objects);
    if windows::run(function) || has_objects {
        found = rounds(function, 2);
    }
    // Quotients simplify their surroundings: remainders, and selects with a quotient on one side.
    for _ in 0..MAX_QUOTIENTS {
        if !quotient::run(function, &found, cache) {
            break;
        }
        found = rounds(function, 2);
    }
    if atomic::run(function) {
        found = rounds(function, 2);
    }
    if induction::run(function, &found) {
        found = rounds(function, 2);
    }
    // All values are final now, so the conditions of loops can be compared.
    for _ in 0..MAX_NESTED {
        if !loops::run(function, &found) {
            break;
        }
        found = rounds(function, 2);
    }
    memory::join(function);
    volatile::run(function);
    sweep(function);
}

/// Runs rounds of all passes until one changes nothing. Returns the graph.
///
/// Each round visits only values that changed since their last visit: rewriting a value depends only on the values
/// that it is computed from.
fn rounds(function: &mut Function, first: usize) -> Graph {
    let mut reassociate = first >= REASSOCIATED;
    let mut was_reassociated = reassociate;
    let mut graph = None;
    // Whether memory accesses and blocks are unchanged since nothing could be done to them.
    let mut is_clean = false;
    let mut is_swept = false;
    for round in first..MAX_ROUNDS {
        reassociate |= round >= REASSOCIATED;
        sweep(function);
        let found = graph.take().unwrap_or_else(|| Graph::new(function));
        let Hoisted { mut order, mut is_due } = hoist(function, &found);
        // Sums are only reassociated after the halves of 64-bit sums have been recognised; then all values are
        // visited again.
        if reassociate != std::mem::replace(&mut was_reassociated, reassociate) {
            is_due.fill(true);
        }
        if round < ORDERED {
            order.clear();
            order.extend(function.values.keys());
        }
        let mut changed = simplify::run(function, &found, &order, &is_due, reassociate);
        if changed || !is_clean {
            is_clean = !memory::run(function);
            if graph::clean(function) {
                is_clean = false;
            } else {
                graph = Some(found);
            }
            changed |= !is_clean;
        } else {
            graph = Some(found);
        }
        is_swept = !changed && function.values.len() == is_due.len();
        if !changed && std::mem::replace(&mut reassociate, true) {
            break;
        }
    }
    if !is_swept {
        sweep(function);
    }
    graph.unwrap_or_else(|| Graph::new(function))
}

/// The result of [`hoist`].
pub struct Hoisted {
    /// All values in topological order, inputs first, not counting the inputs of phis.
    pub order: Vec<ValueId>,
    /// Whether a value, or a value that it is computed from up to the next phis, changed since its last visit.
    pub is_due: ValueMap<bool>,
}

/// The state of a value in [`hoist`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// Not visited.
    No,
    /// In its block, and unchanged.
    Same,
    /// In its block, and due for a visit.
    Due,
}

/// Moves each pure value to the first block where all of its inputs are available, so that equal values are in the
/// same block. Where it is finally computed is decided at the end.
///
/// All values must be used: see [`sweep`].
pub fn hoist(function: &mut Function, graph: &Graph) -> Hoisted {
    let count = function.values.len();
    let mut seen = IdVec::filled(Visit::No, count);
    let mut order = Vec::with_capacity(count);
    // Values that wait for their inputs. Most values come after their inputs, and never wait.
    let mut waiting: Vec<ValueId> = Vec::new();
    for id in function.values.keys() {
        if seen[id] != Visit::No {
            continue;
        }
        let mut at = Some(id);
        while let Some(id) = at {
            match hoist_value(function, graph, &seen, id) {
                Ok(found) => {
                    seen[id] = found;
                    order.push(id);
                    at = waiting.pop();
                }
                Err(input) => {
                    waiting.push(id);
                    at = Some(input);
                }
            }
        }
    }
    let is_due = seen.into_iter().map(|found| found == Visit::Due).collect();
    Hoisted { order, is_due }
}

/// Moves a pure value to the first block where all of its inputs are available, and returns whether it is due; or
/// returns an input that must be visited first.
fn hoist_value(
    function: &mut Function,
    graph: &Graph,
    seen: &ValueMap<Visit>,
    id: ValueId,
) -> Result<Visit, ValueId> {
    let op = function.op(id);
    let mut is_due = false;
    if !matches!(op, Op::Phi) {
        let (mut block, mut depth) = (BlockId::ENTRY, 0);
        for &input in function.inputs(id) {
            match seen[input] {
                Visit::No => return Err(input),
                found => is_due |= found == Visit::Due,
            }
            // Unreachable blocks have no depth.
            let other = function.values[input].block;
            if graph.depth[other] > depth {
                (block, depth) = (other, graph.depth[other]);
            }
        }
        if !op.is_effect() {
            function.set_block(id, block);
        }
    }
    is_due |= function.values[id].is_changed;
    Ok(if is_due { Visit::Due } else { Visit::Same })
}

/// Returns the values that are used, directly or indirectly, by values that must stay.
pub fn used(function: &Function) -> ValueMap<bool> {
    let mut used = IdVec::filled(false, function.values.len());
    for block in &function.blocks {
        for &effect in &block.effects {
            used[effect] |= function.is_kept(effect) && !function.is_replaced(effect);
        }
        if let Some(input) = block.end.input() {
            used[function.resolve(input)] = true;
        }
    }
    // Most inputs precede their users, so a descending pass reaches them later. The others go through a list.
    let mut list: Vec<ValueId> = Vec::new();
    for id in used.keys().rev() {
        if !used[id] {
            continue;
        }
        let mut at = Some(id);
        while let Some(user) = at {
            for &input in function.inputs(user) {
                let input = function.resolve(input);
                if !std::mem::replace(&mut used[input], true) && input > id {
                    list.push(input);
                }
            }
            at = list.pop();
        }
    }
    used
}

/// Removes unused values; the others are renumbered.
pub fn sweep(function: &mut Function) {
    let used = used(function);
    function.compact(&used);
}
