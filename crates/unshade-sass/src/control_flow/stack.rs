//! Stacks of addresses, which share what they have in common.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Cause, Target};

/// The stack that nothing is on.
pub(super) const EMPTY: u32 = u32::MAX;

/// The kinds of addresses, each with a place in [`Entry::nearest`].
const KINDS: [Cause; 5] = [Cause::Join, Cause::Break, Cause::Continue, Cause::Return, Cause::LongJump];

fn place(kind: Cause) -> Option<usize> {
    KINDS.iter().position(|other| *other == kind)
}

/// What is on top of a stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// What is below.
    pub(super) below: u32,
    pub(super) kind: Cause,
    pub(super) target: Target,
    /// The stack whose top is the nearest of each kind, this one included.
    nearest: [u32; KINDS.len()],
}

/// All stacks, by the number of their top. The same entries make the same number.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    entries: Vec<Entry>,
    known: BTreeMap<(u32, Cause, Target), u32>,
}

impl Stacks {
    /// A stack with one address more.
    pub(super) fn push(&mut self, below: u32, kind: Cause, target: Target) -> u32 {
        let Ok(number) = u32::try_from(self.entries.len()) else { return below };
        if let Some(known) = self.known.get(&(below, kind, target)) {
            return *known;
        }
        let mut nearest = self.top(below).map_or([EMPTY; KINDS.len()], |entry| entry.nearest);
        if let Some(own) = place(kind).and_then(|place| nearest.get_mut(place)) {
            *own = number;
        }
        self.entries.push(Entry { below, kind, target, nearest });
        self.known.insert((below, kind, target), number);
        number
    }

    /// What is on top.
    pub(super) fn top(&self, stack: u32) -> Option<Entry> {
        self.entries.get(stack as usize).copied()
    }

    /// The nearest entry of a kind.
    pub(super) fn nearest(&self, stack: u32, kind: Cause) -> Option<Entry> {
        self.top(*self.top(stack)?.nearest.get(place(kind)?)?)
    }
}
