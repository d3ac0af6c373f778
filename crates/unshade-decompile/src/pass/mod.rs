//! What is done to a function between its front end and its text: one pass a module.

pub mod flush;
pub mod graph;
pub mod loops;
pub mod memory;
pub mod pairs;
pub mod quotient;
pub mod simplify;

use crate::ir::dominators::Graph;
use crate::ir::{Function, Id, NONE, Op};
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
fn rounds(function: &mut Function, first: usize) -> Graph {
    let mut reassociate = first >= REASSOCIATED;
    let mut graph = None;
    for round in first..MAX_ROUNDS {
        reassociate |= round >= REASSOCIATED;
        sweep(function);
        let found = graph.take().unwrap_or_else(|| Graph::new(function));
        let mut order = hoist(function, &found);
        if round < ORDERED {
            order.clear();
            order.extend(0..function.values.len() as Id);
        }
        // Sums are put together anew only when the halves of 64-bit sums have found each other.
        let mut changed = simplify::run(function, &found, &order, reassociate);
        changed |= memory::run(function);
        if graph::clean(function) {
            changed = true;
        } else {
            graph = Some(found);
        }
        if !changed && std::mem::replace(&mut reassociate, true) {
            break;
        }
    }
    sweep(function);
    graph.unwrap_or_else(|| Graph::new(function))
}

/// Puts each pure value into the first block in which all of its inputs are there, so that what is the same is in the same
/// place. Where it is computed in the text is decided at the end. Gives all values in an order in which inputs come before
/// what they are for, but for those of phis.
///
/// All values have to be used: see [`sweep`].
pub fn hoist(function: &mut Function, graph: &Graph) -> Vec<Id> {
    let count = function.values.len();
    let mut done = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let mut stack: Vec<(Id, usize)> = Vec::new();
    for id in 0..count as Id {
        if done[id as usize] {
            continue;
        }
        stack.push((id, 0));
        while let Some((at, next)) = stack.last_mut() {
            let (id, index) = (*at, *next);
            *next += 1;
            let op = function.op(id);
            if op != Op::Phi
                && let Some(&input) = function.inputs(id).get(index)
            {
                if input != NONE && !done[input as usize] {
                    stack.push((input, 0));
                }
                continue;
            }
            stack.pop();
            if std::mem::replace(&mut done[id as usize], true) {
                continue;
            }
            order.push(id);
            if op != Op::Phi && !op.is_effect() {
                place(function, graph, id);
            }
        }
    }
    order
}

/// Puts a pure value into the first block in which all of its inputs are there.
fn place(function: &mut Function, graph: &Graph, id: Id) {
    let mut best = 0;
    for index in 0..function.inputs(id).len() {
        let input = function.input(id, index);
        if input == NONE {
            continue;
        }
        let block = function.values[input as usize].block;
        if graph.is_reached(block) && graph.depth[block as usize] > graph.depth[best as usize] {
            best = block;
        }
    }
    function.values[id as usize].block = best;
}

/// Which values are used, directly or not, by what has to stay.
pub fn used(function: &Function) -> Vec<bool> {
    let mut used = vec![false; function.values.len()];
    let mut list: Vec<Id> = Vec::new();
    for block in &function.blocks {
        list.extend(block.effects.iter().filter(|effect| function.op(**effect).is_kept()));
        list.extend(block.end.input().map(|input| function.resolve(input)));
    }
    while let Some(id) = list.pop() {
        if std::mem::replace(&mut used[id as usize], true) {
            continue;
        }
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input != NONE && !used[input as usize] {
                list.push(input);
            }
        }
    }
    used
}

/// Takes out what nothing uses; all other values are numbered anew.
pub fn sweep(function: &mut Function) {
    function.settle();
    let used = used(function);
    function.compact(&used);
}
