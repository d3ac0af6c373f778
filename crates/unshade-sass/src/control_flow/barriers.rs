//! Convergence barriers of Volta and later chips.
//!
//! `BSSY` sets a barrier `B0` to `B15` and the address where its threads reconverge; `BSYNC` waits for them and continues at
//! that address. `BREAK` removes threads that leave by a branch, so it has no effect on where they go.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Target;
use super::stack::EMPTY;

/// Maximum number of states of one function.
const MAX_STATES: usize = 1 << 16;

/// Maximum number of barriers that are set at the same time.
const MAX_BARRIERS: usize = 16;

/// The barriers that are set, and the targets of their threads.
type State = Vec<(u8, Target)>;

/// All states, identified by their index; [`EMPTY`] is that without barriers. Equal states have equal indices.
#[derive(Debug, Default)]
pub(super) struct Barriers {
    states: Vec<State>,
    known: BTreeMap<State, u32>,
}

impl Barriers {
    /// Returns the state in which a barrier is set; `None` if there are too many states.
    pub(super) fn set(&mut self, state: u32, barrier: u8, target: Target) -> Option<u32> {
        let mut next = self.without(state, barrier);
        if next.len() >= MAX_BARRIERS {
            return None;
        }
        let place = next.partition_point(|entry| entry.0 < barrier);
        next.insert(place, (barrier, target));
        self.number(next)
    }

    /// Returns the target of a barrier and the state after waiting for it; `None` if it is not set.
    pub(super) fn wait(&mut self, state: u32, barrier: u8) -> Option<(Target, u32)> {
        let target = self.states.get(state as usize)?.iter().find(|entry| entry.0 == barrier)?.1;
        let next = self.without(state, barrier);
        Some((target, self.number(next)?))
    }

    fn without(&self, state: u32, barrier: u8) -> State {
        let entries = self.states.get(state as usize).into_iter().flatten();
        entries.filter(|entry| entry.0 != barrier).copied().collect()
    }

    fn number(&mut self, state: State) -> Option<u32> {
        if state.is_empty() {
            return Some(EMPTY);
        }
        if let Some(number) = self.known.get(&state) {
            return Some(*number);
        }
        let number = u32::try_from(self.states.len()).ok()?;
        if self.states.len() >= MAX_STATES {
            return None;
        }
        self.states.push(state.clone());
        self.known.insert(state, number);
        Some(number)
    }
}
