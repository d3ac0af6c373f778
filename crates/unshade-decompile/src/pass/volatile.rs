//! Finds shared memory through which the threads of a warp communicate without barriers.
//!
//! On Kepler the threads of a warp run in lockstep. Programs used that, for example in the last steps of a reduction:
//!
//! ```c
//! volatile int *v = shared;
//! v[t] += v[t + 16];
//! v[t] += v[t + 8];     // reads what another thread has just stored
//! ```
//!
//! `volatile` leaves no trace in loads and stores of shared memory. Without it, a compiler may keep `v[t]` in a register,
//! or reorder a load and a store of other addresses. So all accesses of shared memory become volatile if
//!
//! - a load may follow a store without a barrier in between, or
//! - a load is repeated with the same address without a barrier in between: a thread waits for another one.
//!
//! Threads that keep their own data in shared memory look the same; `volatile` does no harm there.

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, BlockMap, Function, IdVec, Op, Space, ValueId};

/// What the accesses since the last barrier may have been.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    has_stored: bool,
    /// The loads, sorted.
    loads: Vec<ValueId>,
}

/// Maximum number of loads in a state; there are no more in a loop that waits.
const MAX_LOADS: usize = 8;

/// Marks accesses of shared memory as volatile, if it has to be.
pub fn run(function: &mut Function) {
    let accesses: Vec<ValueId> = function.blocks.iter().flat_map(|block| &block.effects).copied().collect();
    let shared: Vec<ValueId> = accesses.into_iter().filter(|id| is_shared(function, *id)).collect();
    if !shared.is_empty() && is_in_lockstep(function, &Graph::new(function)) {
        for access in shared {
            function.values[access].is_volatile = true;
        }
    }
}

/// Returns whether it loads or stores shared memory.
fn is_shared(function: &Function, id: ValueId) -> bool {
    match function.op(id) {
        Op::Load(Space::Shared) | Op::Store(Space::Shared) => true,
        Op::Load(Space::Generic) | Op::Store(Space::Generic) => function.width(function.input(id, 0)) == 32,
        _ => false,
    }
}

fn is_in_lockstep(function: &Function, graph: &Graph) -> bool {
    let mut states: BlockMap<Option<State>> = IdVec::filled(None, function.blocks.len());
    let mut list = graph.order.clone();
    list.reverse();
    let mut is_listed = BlockMap::filled(true, function.blocks.len());
    if let Some(first) = graph.order.first() {
        states[*first] = Some(State::default());
    }
    while let Some(block) = list.pop() {
        is_listed[block] = false;
        let Some(mut state) = states[block].clone() else { continue };
        // A new round of a loop has new values in it.
        state.loads.retain(|load| {
            let address = function.input(*load, 0);
            !is_within(graph, function.values[address].block, block)
        });
        for &effect in &function.blocks[block].effects {
            if step(function, effect, &mut state) {
                return true;
            }
        }
        for next in function.blocks[block].end.successors() {
            let place = &mut states[next];
            let merged = place.as_ref().map_or_else(|| state.clone(), |known| known.with(&state));
            if place.as_ref() != Some(&merged) {
                *place = Some(merged);
                if !std::mem::replace(&mut is_listed[next], true) {
                    list.push(next);
                }
            }
        }
    }
    false
}

/// Adds an effect to a state. Returns whether it shows that threads run in lockstep.
fn step(function: &Function, effect: ValueId, state: &mut State) -> bool {
    match function.op(effect) {
        Op::Call(call) if call.is_block_barrier() => *state = State::default(),
        Op::Store(_) if is_shared(function, effect) => state.has_stored = true,
        Op::Load(_) if is_shared(function, effect) => {
            if state.has_stored || state.loads.contains(&effect) {
                return true;
            }
            if let (Err(at), true) = (state.loads.binary_search(&effect), state.loads.len() < MAX_LOADS) {
                state.loads.insert(at, effect);
            }
        }
        _ => {}
    }
    false
}

impl State {
    fn with(&self, other: &Self) -> Self {
        let mut loads = self.loads.clone();
        loads.extend(&other.loads);
        loads.sort_unstable();
        loads.dedup();
        loads.truncate(MAX_LOADS);
        Self { has_stored: self.has_stored || other.has_stored, loads }
    }
}

/// Returns whether a block is dominated by another one, which may be itself.
fn is_within(graph: &Graph, block: BlockId, by: BlockId) -> bool {
    graph.common(block, by) == by
}
