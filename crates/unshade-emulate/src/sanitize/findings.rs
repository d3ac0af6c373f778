//! The faults of a launch: one finding for all faults of a kind at an instruction.

use std::collections::{HashMap, HashSet};

use super::kinds::Kind;
use crate::fault::Fault;
use crate::symbols::Frame;

/// Maximum number of different faults that are told apart beyond the limit of findings.
const MAX_OMITTED: usize = 1 << 16;

/// All faults of a kind at an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The first fault.
    pub fault: Fault,
    /// The number of faults.
    pub count: u64,
    /// The other sides of the first fault: the conflicting access, or where the memory was allocated and freed.
    pub related: Vec<Related>,
}

impl Finding {
    /// Returns the kind of the faults.
    pub fn kind(&self) -> &'static Kind {
        Kind::of(&self.fault.reason)
    }
}

/// Another instruction that a fault involves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What it did: `written by`.
    pub what: &'static str,
    /// The block, in x, y and z.
    pub block: [u32; 3],
    /// The thread's position in the block, in x, y and z.
    pub thread: [u32; 3],
    /// The call stack, innermost first; for an access, only the access itself.
    pub stack: Vec<Frame>,
}

/// What makes faults the same: the name of the kind, and the addresses of the instructions involved.
pub(super) type Key = (&'static str, u64, u64);

/// The findings of a launch.
#[derive(Debug)]
pub(super) struct Findings {
    /// By key: the index in `list`, if it is not beyond the limit.
    keys: HashMap<Key, Option<usize>>,
    /// With the load that one of the two accesses is, if the other is an atomic operation.
    list: Vec<(Finding, Option<u32>)>,
    limit: usize,
    omitted: u64,
}

impl Findings {
    pub(super) fn new(limit: usize) -> Self {
        Self { keys: HashMap::new(), list: Vec::new(), limit, omitted: 0 }
    }

    /// Counts a fault if it is not the first of its kind at the instruction, and returns whether that is so.
    pub(super) fn repeat(&mut self, key: Key) -> bool {
        let Some(known) = self.keys.get(&key) else { return false };
        if let Some((finding, _)) = known.and_then(|index| self.list.get_mut(index)) {
            finding.count += 1;
        }
        true
    }

    /// Counts a fault; `describe` is called if it is the first of its kind at the instruction.
    pub(super) fn add(&mut self, key: Key, look: Option<u32>, describe: impl FnOnce() -> Finding) {
        if self.repeat(key) {
            return;
        }
        if self.list.len() < self.limit {
            self.keys.insert(key, Some(self.list.len()));
            self.list.push((describe(), look));
            return;
        }
        self.omitted += 1;
        if self.keys.len() < self.limit.saturating_add(MAX_OMITTED) {
            self.keys.insert(key, None);
        }
    }

    /// Returns the findings in the order in which they were found, and how many are beyond the limit. Races of `looks` with
    /// atomic operations are harmless.
    pub(super) fn finish(self, looks: &HashSet<u32>) -> (Vec<Finding>, u64) {
        let is_harmful = |look: Option<u32>| look.is_none_or(|look| !looks.contains(&look));
        let list = self.list.into_iter().filter(|(_, look)| is_harmful(*look));
        (list.map(|(finding, _)| finding).collect(), self.omitted)
    }
}
