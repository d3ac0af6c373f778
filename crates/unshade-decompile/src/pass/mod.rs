//! What is done to a function between its front end and its text: one pass a module.

pub mod flush;
pub mod graph;
pub mod loops;
pub mod memory;
pub mod pairs;
pub mod quotient;
pub mod simplify;

use crate::ir::dominators::Graph;
use crate::ir::{Function, Id, Op};
pub use quotient::Tried;

/// Rounds after which a function that still changes is left as it is.
const MAX_ROUNDS: usize = 32;

/// From this round on sums are put together anew.
const REASSOCIATED: usize = 2;

/// From this round on values are looked at after their inputs, so that what was made the same at the start of a chain is seen to
/// its end. Before, halves have to be seen as they were written, which is the order of their numbers.
const ORDERED: usize = 4;

/// So often loops are looked at: one that another was in is left for the next time.
const MAX_NESTED: usize = 4;

/// So many times quotients are looked for.
const MAX_QUOTIENTS: usize = 4;

/// All passes, until nothing changes. What nothing uses is gone afterwards.
pub fn run(function: &mut Function, tried: &mut Tried) {
    graph::clean(function);
    let mut found = rounds(function, 0);
    // Quotients make others of what is around them: the remainder, the choice of which they are a side.
    for _ in 0..MAX_QUOTIENTS {
        if !quotient::run(function, &found, tried) {
            break;
        }
        found = rounds(function, 2);
    }
    // What is known of all values is known now: the conditions of loops can be compared.
    for _ in 0..MAX_NESTED {
        if !loops::run(function, &found) {
            break;
        }
        found = rounds(function, 2);
    }
    memory::join(function);
    sweep(function);
}

/// Rounds of all passes, up to one that changes nothing; the graph as it is then.
///
/// Each round looks only at values of which something changed since they were last looked at: what says that a value is
/// another sees nothing but the values that it is made of.
fn rounds(function: &mut Function, first: usize) -> Graph {
    let mut reassociate = first >= REASSOCIATED;
    let mut was_reassociated = reassociate;
    let mut graph = None;
    // Whether accesses and blocks are as they were when nothing could be done to them.
    let mut is_clean = false;
    let mut is_swept = false;
    for round in first..MAX_ROUNDS {
        reassociate |= round >= REASSOCIATED;
        sweep(function);
        let found = graph.take().unwrap_or_else(|| Graph::new(function));
        let Placed { mut order, mut is_due } = hoist(function, &found);
        // Sums are put together anew only when the halves of 64-bit sums have found each other: then all are looked at.
        if reassociate != std::mem::replace(&mut was_reassociated, reassociate) {
            is_due.fill(true);
        }
        if round < ORDERED {
            order.clear();
            order.extend(0..function.values.len() as Id);
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

/// Values as [`hoist`] has placed them.
pub struct Placed {
    /// All values in an order in which inputs come before what they are for, but for those of phis.
    pub order: Vec<Id>,
    /// Whether something of a value changed since it was last looked at, or of what it is made of up to the next phis.
    pub is_due: Vec<bool>,
}

/// What [`hoist`] knows of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It was not yet looked at.
    No,
    /// It is in its place, and nothing of it changed.
    Same,
    /// It is in its place, and due.
    Due,
}

/// Puts each pure value into the first block in which all of its inputs are there, so that what is the same is in the same
/// place. Where it is computed in the text is decided at the end.
///
/// All values have to be used: see [`sweep`].
pub fn hoist(function: &mut Function, graph: &Graph) -> Placed {
    let count = function.values.len();
    let mut seen = vec![Seen::No; count];
    let mut order = Vec::with_capacity(count);
    // Values that wait for their inputs. Most stand behind these, and wait for nothing.
    let mut waiting: Vec<Id> = Vec::new();
    for id in 0..count as Id {
        if seen[id as usize] != Seen::No {
            continue;
        }
        let mut at = Some(id);
        while let Some(id) = at {
            match place(function, graph, &seen, id) {
                Ok(found) => {
                    seen[id as usize] = found;
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
    let is_due = seen.into_iter().map(|found| found == Seen::Due).collect();
    Placed { order, is_due }
}

/// Puts a pure value into the first block in which all of its inputs are there, and says whether it is due; the input that
/// has to come before it if there is one.
fn place(function: &mut Function, graph: &Graph, seen: &[Seen], id: Id) -> Result<Seen, Id> {
    let op = function.op(id);
    let mut is_due = false;
    if !matches!(op, Op::Phi) {
        let (mut block, mut depth) = (0, 0);
        for &input in function.inputs(id) {
            match seen[input as usize] {
                Seen::No => return Err(input),
                found => is_due |= found == Seen::Due,
            }
            // Blocks that can't be reached are of no depth.
            let other = function.values[input as usize].block;
            if graph.depth[other as usize] > depth {
                (block, depth) = (other, graph.depth[other as usize]);
            }
        }
        if !op.is_effect() {
            function.set_block(id, block);
        }
    }
    is_due |= function.values[id as usize].is_changed;
    Ok(if is_due { Seen::Due } else { Seen::Same })
}

/// Which values are used, directly or not, by what has to stay.
pub fn used(function: &Function) -> Vec<bool> {
    let mut used = vec![false; function.values.len()];
    for block in &function.blocks {
        for &effect in &block.effects {
            used[effect as usize] |= function.op(effect).is_kept() && !function.is_replaced(effect);
        }
        if let Some(input) = block.end.input() {
            used[function.resolve(input) as usize] = true;
        }
    }
    // Most inputs stand before what they are for: going down, they are still to come. The others are in a list.
    let mut list: Vec<Id> = Vec::new();
    for id in (0..used.len() as Id).rev() {
        if !used[id as usize] {
            continue;
        }
        let mut at = Some(id);
        while let Some(user) = at {
            for &input in function.inputs(user) {
                let input = function.resolve(input);
                if !std::mem::replace(&mut used[input as usize], true) && input > id {
                    list.push(input);
                }
            }
            at = list.pop();
        }
    }
    used
}

/// Takes out what nothing uses; all other values are numbered anew.
pub fn sweep(function: &mut Function) {
    let used = used(function);
    function.compact(&used);
}
