//! What is done to a function between its front end and its text: one pass a module.

pub mod graph;
pub mod memory;
pub mod pairs;
pub mod simplify;

use crate::ir::dominators::Graph;
use crate::ir::{Function, Id, NONE};

/// Rounds after which a function that still changes is left as it is.
const MAX_ROUNDS: usize = 12;

/// All passes, until nothing changes.
pub fn run(function: &mut Function) {
    graph::clean(function);
    for round in 0..MAX_ROUNDS {
        let found = Graph::new(function);
        // Sums are put together anew only when the halves of 64-bit sums have found each other.
        let mut changed = simplify::run(function, &found, round >= 2);
        changed |= memory::run(function);
        changed |= graph::clean(function);
        if !changed && round >= 3 {
            break;
        }
    }
    sweep(function);
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

/// Takes out what nothing uses.
pub fn sweep(function: &mut Function) {
    function.settle();
    let used = used(function);
    for block in &mut function.blocks {
        block.phis.retain(|phi| used[*phi as usize]);
        block.effects.retain(|effect| used[*effect as usize]);
    }
}
