//! Value numbering: pure values by operator, width and inputs.
//!
//! An open table of numbers of values, with a part of their hash beside each so that few of them are looked at. What is
//! compared are the inputs as they stand in the function: those of a value that is in the table stay what they are until all
//! is settled.

use crate::ir::hash::Words;
use crate::ir::{Function, Id, NONE};
use std::hash::{Hash, Hasher};

/// Values with more inputs are not compared.
const MAX_INPUTS: usize = 4;

/// Values, of those that are the same the first.
pub(super) struct Known {
    /// Hash and value, or [`NONE`]; a power of two of them, at least twice as many as values.
    slots: Vec<(u32, Id)>,
    count: usize,
}

impl Known {
    /// A table for so many values; it grows.
    pub(super) fn new(count: usize) -> Self {
        Self { slots: vec![(0, NONE); (2 * count + 2).next_power_of_two()], count: 0 }
    }

    /// The first value that is the same: the value itself if there is none before. None if it has too many inputs.
    pub(super) fn first(&mut self, function: &Function, id: Id) -> Option<Id> {
        if function.inputs(id).len() > MAX_INPUTS {
            return None;
        }
        if 2 * self.count >= self.slots.len() {
            self.grow();
        }
        let hash = hash(function, id);
        let mut at = self.place(hash);
        loop {
            let (found, other) = self.slots[at];
            if other == NONE {
                self.slots[at] = (hash, id);
                self.count += 1;
                return Some(id);
            }
            if found == hash && is_same(function, other, id) {
                return Some(other);
            }
            at = self.next(at);
        }
    }

    fn place(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let larger = vec![(0, NONE); 2 * self.slots.len()];
        for (hash, id) in std::mem::replace(&mut self.slots, larger) {
            if id == NONE {
                continue;
            }
            let mut at = self.place(hash);
            while self.slots[at].1 != NONE {
                at = self.next(at);
            }
            self.slots[at] = (hash, id);
        }
    }
}

fn hash(function: &Function, id: Id) -> u32 {
    let value = &function.values[id as usize];
    let mut hasher = Words::default();
    value.op.hash(&mut hasher);
    hasher.write_u8(value.width);
    match *function.inputs(id) {
        [a, b] if value.op.is_commutative() => {
            hasher.write_u64(u64::from(a.min(b)) << 32 | u64::from(a.max(b)));
        }
        ref inputs => inputs.iter().for_each(|input| hasher.write_u32(*input)),
    }
    hasher.finish() as u32
}

fn is_same(function: &Function, one: Id, other: Id) -> bool {
    let (a, b) = (&function.values[one as usize], &function.values[other as usize]);
    if a.width != b.width || a.op != b.op {
        return false;
    }
    let (left, right) = (function.inputs(one), function.inputs(other));
    left == right
        || matches!((left, right), (&[a, b], &[c, d]) if a == d && b == c && function.op(one).is_commutative())
}
