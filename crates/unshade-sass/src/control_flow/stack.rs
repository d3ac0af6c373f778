//! Persistent stacks of addresses with shared tails.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Cause, Target};

/// The empty stack.
pub(super) const EMPTY: u32 = u32::MAX;

/// The kinds of addresses; each has an index in [`Entry::nearest`].
const KINDS: [Cause; 5] = [Cause::Join, Cause::Break, Cause::Continue, Cause::Return, Cause::LongJump];

fn kind_index(kind: Cause) -> Option<usize> {
    KINDS.iter().position(|other| *other == kind)
}

/// The top entry of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The rest of the stack.
    pub(super) below: u32,
    pub(super) kind: Cause,
    pub(super) target: Target,
    /// For each kind, the topmost stack whose top entry has that kind, including this one.
    nearest: [u32; KINDS.len()],
}

/// All stacks, identified by the index of their top entry. Equal stacks have equal indices.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    entries: Vec<Entry>,
    known: BTreeMap<(u32, Cause, Target), u32>,
}

impl Stacks {
    /// Returns a stack with one more address.
    pub(super) fn push(&mut self, below: u32, kind: Cause, target: Target) -> u32 {
        let Ok(number) = u32::try_from(self.entries.len()) else { return below };
        if let Some(known) = self.known.get(&(below, kind, target)) {
            return *known;
        }
        let mut nearest = self.top(below).map_or([EMPTY; KINDS.len()], |entry| entry.nearest);
        if let Some(own) = kind_index(kind).and_then(|index| nearest.get_mut(index)) {
            *own = number;
        }
        self.entries.push(Entry { below, kind, target, nearest });
        self.known.insert((below, kind, target), number);
        number
    }

    /// Returns the top entry.
    pub(super) fn top(&self, stack: u32) -> Option<Entry> {
        self.entries.get(stack as usize).copied()
    }

    /// Returns the topmost entry of a kind.
    pub(super) fn nearest(&self, stack: u32, kind: Cause) -> Option<Entry> {
        self.top(*self.top(stack)?.nearest.get(kind_index(kind)?)?)
    }
}
