//! The passes between front end and printer, one per module.

pub mod atomic;
pub mod constants;
pub mod demand;
pub mod entries;
pub mod graph;
pub mod halves;
pub mod idiom;
pub mod induction;
pub mod loops;
pub mod memory;
pub mod simplify;
pub mod unneeded;
pub mod volatile;
pub mod windows;

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, Function, IdVec, Module, Op, ValueId, ValueMap};
use idiom::Idioms;

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

/// Maximum number of times that each search of a front end runs.
const MAX_SEARCHES: usize = 4;

/// The last pass before the searches of a front end.
const BEFORE_SEARCHES: &str = "windows";

/// The passes of all front ends in the order in which they first run: name, and what the pass does. The front end comes
/// first; `flush`, `edges` and `hoist` prepare for printing.
#[rustfmt::skip]
const PASSES: &[(&str, &str)] = &[
    ("lift", "what the front end produced"),
    ("clean", "blocks without a purpose are removed"),
    ("simplify", "algebra, joined halves, forwarded loads and stores, until nothing changes"),
    ("constants", "loads from constant banks read variables"),
    ("unneeded", "permutations of bytes lose those that nothing needs"),
    ("windows", "addresses in windows of generic memory become those of shared and local memory"),
    ("split", "wide accesses of independent halves become two"),
    ("atomic", "loops of locked loads and stores become atomic operations"),
    ("halves", "uses of the lower half of a pointer become uses of all of it"),
    ("induction", "running addresses become indices"),
    ("loops", "conditions move to where C has them"),
    ("join", "stores of the halves of one value become one"),
    ("volatile", "accesses that must stay are marked"),
    ("sweep", "unused values are removed"),
    ("flush", "flushes of subnormal floats become an option of the compiler"),
    ("entries", "loops with several entries get one"),
    ("edges", "edges that need copies get blocks"),
    ("hoist", "values move to the first block where they can be computed"),
];

/// Returns the passes in the order in which they first run, with the searches of a front end: name, and what the pass
/// does.
pub fn passes(idioms: &Idioms) -> Vec<(&'static str, &'static str)> {
    let mut all = PASSES.to_vec();
    let start = 1 + all.iter().position(|pass| pass.0 == BEFORE_SEARCHES).unwrap_or(0);
    all.splice(start..start, idioms.searches.iter().map(|search| (search.name, search.about)));
    all
}

/// Called after each pass, with its name in [`passes`].
pub type Observer<'o> = dyn FnMut(&str, &Module<'_>) + 'o;

/// Runs all passes up to a fixed point, and removes unused values. With `explicit_math`, functions of a mathematical
/// library stay what they consist of.
pub fn run(module: &mut Module<'_>, idioms: &mut Idioms, explicit_math: bool, observe: &mut Observer<'_>) {
    graph::clean(&mut module.function);
    observe("clean", module);
    let mut found = rounds(module, 0, idioms.rewrite, observe);
    let has_objects = constants::run(&mut module.function, &module.objects);
    observe("constants", module);
    let has_unneeded = unneeded::run(&mut module.function);
    observe("unneeded", module);
    let has_windows = windows::run(&mut module.function);
    observe("windows", module);
    if has_windows || has_objects || has_unneeded {
        found = rounds(module, 2, idioms.rewrite, observe);
    }
    // What is found simplifies its surroundings, where there may be more: the remainder next to a quotient.
    for search in idioms.searches.iter_mut().filter(|search| !(explicit_math && search.finds_library)) {
        for _ in 0..MAX_SEARCHES {
            if !(search.run)(module, &found) {
                break;
            }
            observe(search.name, module);
            found = rounds(module, 2, idioms.rewrite, observe);
        }
    }
    if memory::split(&mut module.function) {
        observe("split", module);
        found = rounds(module, 2, idioms.rewrite, observe);
    }
    if atomic::run(&mut module.function) {
        observe("atomic", module);
        found = rounds(module, 2, idioms.rewrite, observe);
    }
    if halves::run(module) {
        observe("halves", module);
        found = rounds(module, 2, idioms.rewrite, observe);
    }
    if induction::run(&mut module.function, &found) {
        observe("induction", module);
        found = rounds(module, 2, idioms.rewrite, observe);
    }
    // All values are final now, so the conditions of loops can be compared.
    for _ in 0..MAX_NESTED {
        if !loops::run(&mut module.function, &found) {
            break;
        }
        observe("loops", module);
        found = rounds(module, 2, idioms.rewrite, observe);
    }
    memory::join(&mut module.function);
    observe("join", module);
    volatile::run(&mut module.function);
    observe("volatile", module);
    sweep(&mut module.function);
    observe("sweep", module);
}

/// Runs rounds of all passes until one changes nothing. Returns the graph.
///
/// Each round visits only values that changed since their last visit: rewriting a value depends only on the values
/// that it is computed from.
fn rounds(
    module: &mut Module<'_>,
    first: usize,
    rewrite: simplify::Idiom,
    observe: &mut Observer<'_>,
) -> Graph {
    let function = &mut module.function;
    let mut reassociate = first >= REASSOCIATED;
    let mut was_reassociated = reassociate;
    let mut graph = None;
    // Whether blocks are unchanged since nothing could be done to them.
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
        let mut changed = simplify::run(function, &found, &order, &is_due, rewrite, reassociate);
        if changed || !is_clean {
            is_clean = !graph::clean(function);
            if is_clean {
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
    let graph = graph.unwrap_or_else(|| Graph::new(function));
    observe("simplify", module);
    graph
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

/// Removes unused values; the others are renumbered.
pub fn sweep(function: &mut Function) {
    let used = function.used();
    function.compact(&used);
}

/// Runs all passes on a function without surroundings.
#[cfg(test)]
pub(crate) fn after_all(function: Function, idioms: &mut Idioms) -> Function {
    let mut module = Module { function, ..Module::default() };
    run(&mut module, idioms, false, &mut |_, _| {});
    module.function
}
