//! Value numbering: pure values by operator, width and inputs.
//!
//! An open-addressing table of values, with a part of their hash to avoid most comparisons. Inputs are compared as
//! stored in the function: those of values in the table do not change until everything is settled.

use crate::ir::hash::WordHasher;
use crate::ir::{Function, ValueId};
use std::hash::{Hash, Hasher};

/// Maximum number of inputs of a value that is numbered.
const MAX_INPUTS: usize = 4;

/// The first of each set of equal values.
pub(super) struct ValueTable {
    /// Hash and value, or [`ValueId::NONE`]; the length is a power of two, at least twice the number of values.
    slots: Vec<(u32, ValueId)>,
    count: usize,
}

impl ValueTable {
    /// Creates a table with a capacity; it grows.
    pub(super) fn new(count: usize) -> Self {
        Self { slots: vec![(0, ValueId::NONE); (2 * count + 2).next_power_of_two()], count: 0 }
    }

    /// Returns the first equal value, or the value itself if it is new. `None` if it has too many inputs.
    pub(super) fn first(&mut self, function: &Function, id: ValueId) -> Option<ValueId> {
        if function.inputs(id).len() > MAX_INPUTS {
            return None;
        }
        if 2 * self.count >= self.slots.len() {
            self.grow();
        }
        let hash = hash(function, id);
        let mut at = self.first_slot(hash);
        loop {
            let (found, other) = self.slots[at];
            if other == ValueId::NONE {
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

    fn first_slot(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let larger = vec![(0, ValueId::NONE); 2 * self.slots.len()];
        for (hash, id) in std::mem::replace(&mut self.slots, larger) {
            if id == ValueId::NONE {
                continue;
            }
            let mut at = self.first_slot(hash);
            while self.slots[at].1 != ValueId::NONE {
                at = self.next(at);
            }
            self.slots[at] = (hash, id);
        }
    }
}

fn hash(function: &Function, id: ValueId) -> u32 {
    let value = &function.values[id];
    let mut hasher = WordHasher::default();
    value.op.hash(&mut hasher);
    hasher.write_u8(value.width);
    match *function.inputs(id) {
        [a, b] if value.op.is_commutative() => {
            hasher.write_u64(u64::from(a.min(b).number()) << 32 | u64::from(a.max(b).number()));
        }
        ref inputs => inputs.iter().for_each(|input| hasher.write_u32(input.number())),
    }
    hasher.finish() as u32
}

fn is_same(function: &Function, one: ValueId, other: ValueId) -> bool {
    let (a, b) = (&function.values[one], &function.values[other]);
    if a.width != b.width || a.op != b.op {
        return false;
    }
    let (left, right) = (function.inputs(one), function.inputs(other));
    left == right
        || matches!((left, right), (&[a, b], &[c, d]) if a == d && b == c && function.op(one).is_commutative())
}
