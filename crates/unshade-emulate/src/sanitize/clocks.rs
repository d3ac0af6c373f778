//! What is known to have happened before: clocks of warps and blocks.
//!
//! Time is the number of instructions executed so far. A warp's clock says for each warp of its block up to which step its
//! accesses precede those of this warp; a block's clock says so for each other block. Barriers join the clocks of warps. What
//! a thread does before a memory fence and then a strong access (atomic or volatile) precedes what a thread does after it
//! has read that location with a strong access.

use std::collections::HashMap;

/// Maximum number of warps in a block.
pub(crate) const WARPS: usize = 32;

/// By warp: the last step that is known.
pub(crate) type WarpClock = [u64; WARPS];

/// Maximum number of blocks in a clock; more are joined to one time for all blocks, so that fewer races are found.
const MAX_BLOCKS: usize = 256;

/// Sets each element to the later one.
pub(crate) fn join(clock: &mut WarpClock, other: &WarpClock) {
    for (own, other) in clock.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}

/// By block: the last step that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockClock {
    /// The last step that is known of every block.
    all: u64,
    blocks: HashMap<u32, u64>,
}

impl BlockClock {
    pub(crate) fn is_empty(&self) -> bool {
        self.all == 0 && self.blocks.is_empty()
    }

    /// Returns the last step of a block that is known.
    pub(crate) fn of(&self, block: u32) -> u64 {
        self.blocks.get(&block).copied().unwrap_or(0).max(self.all)
    }

    /// Notes that a block is known up to a step.
    pub(crate) fn advance(&mut self, block: u32, step: u64) {
        let known = self.blocks.entry(block).or_insert(0);
        *known = (*known).max(step);
        if self.blocks.len() > MAX_BLOCKS {
            self.all = self.blocks.values().copied().fold(self.all, u64::max);
            self.blocks.clear();
        }
    }

    /// Adds what another clock knows.
    pub(crate) fn join(&mut self, other: &Self) {
        self.all = self.all.max(other.all);
        for (block, step) in &other.blocks {
            self.advance(*block, *step);
        }
    }
}

/// What a location hands over from those who write it to those who read it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handover {
    /// What blocks have done before they wrote.
    blocks: BlockClock,
    /// The same for the warps of a block, by block.
    warps: HashMap<u32, WarpClock>,
    /// The number of writes, and the last strong read: its block, its warp, its step, and the number of writes before it.
    writes: u64,
    read: (u32, usize, u64, u64),
}

impl Handover {
    /// Returns the step of the last strong read if a block did it, else 0.
    pub(crate) fn last_read_by(&self, block: u32) -> u64 {
        if self.read.0 == block { self.read.2 } else { 0 }
    }
}

/// A memory fence's scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Block,
    Device,
}

/// The last fence of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Fences {
    /// The steps of the last fence for the block, and for the device.
    block: u64,
    device: u64,
    /// Whether the warp has done no weak store since.
    is_latest: bool,
}

/// The clocks of a block.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// The block's number in the grid.
    pub(crate) block: u32,
    warps: Vec<WarpClock>,
    fences: Vec<Fences>,
    /// By warp: the step of its arrival at the barrier that it passed last.
    passed: Vec<u64>,
    /// What the block knows of others.
    others: BlockClock,
    /// By barrier: what the warps that arrived have done.
    barriers: [WarpClock; 16],
}

impl Clocks {
    pub(crate) fn new(block: u32, warps: usize) -> Self {
        Self {
            block,
            warps: vec![[0; WARPS]; warps],
            fences: vec![Fences::default(); warps],
            passed: vec![0; warps],
            others: BlockClock::default(),
            barriers: [[0; WARPS]; 16],
        }
    }

    /// Returns whether what a warp of this block did at a step precedes what another one does now.
    pub(crate) fn knows_warp(&self, warp: usize, other: usize, step: u64) -> bool {
        self.warps.get(warp).and_then(|clock| clock.get(other)).is_some_and(|known| step <= *known)
    }

    /// Returns whether what another block did at a step precedes what this block does now.
    pub(crate) fn knows_block(&self, block: u32, step: u64) -> bool {
        step <= self.others.of(block)
    }

    /// Notes a fence of a warp.
    pub(crate) fn fence(&mut self, warp: usize, scope: Scope, step: u64) {
        let Some(fences) = self.fences.get_mut(warp) else { return };
        fences.block = step;
        if scope == Scope::Device {
            fences.device = step;
        }
        fences.is_latest = true;
    }

    /// Notes a weak store of a warp; returns whether nothing was stored since its last fence.
    pub(crate) fn weak_store(&mut self, warp: usize) -> bool {
        self.fences.get_mut(warp).is_some_and(|fences| std::mem::take(&mut fences.is_latest))
    }

    /// Hands over what a warp has done before its last fence. Returns whether there is anything to hand over.
    pub(crate) fn release(&mut self, warp: usize, step: u64, to: &mut Handover) -> bool {
        let (Some(fences), Some(clock)) = (self.fences.get(warp), self.warps.get(warp)) else { return false };
        if fences.block == 0 && self.others.is_empty() {
            return false;
        }
        let until = |fence: u64| if fence > 0 && fences.is_latest { step } else { fence };
        if fences.device > 0 {
            to.blocks.advance(self.block, until(fences.device));
        }
        to.blocks.join(&self.others);
        if fences.block > 0 {
            if to.warps.len() > MAX_BLOCKS {
                to.warps.clear();
            }
            let known = to.warps.entry(self.block).or_insert([0; WARPS]);
            join(known, clock);
            if let Some(own) = known.get_mut(warp) {
                *own = (*own).max(until(fences.block));
            }
        }
        to.writes += 1;
        true
    }

    /// Takes over what those who wrote a location have done, at a read of it.
    pub(crate) fn acquire(&mut self, warp: usize, step: u64, is_strong: bool, from: &mut Handover) {
        let (block, reader, _, writes) = from.read;
        if is_strong {
            from.read = (self.block, warp, step, from.writes);
        }
        if block == self.block && reader == warp && writes == from.writes {
            return;
        }
        self.others.join(&from.blocks);
        if let (Some(clock), Some(known)) = (self.warps.get_mut(warp), from.warps.get(&self.block)) {
            join(clock, known);
        }
    }

    /// Notes that a warp arrives at a barrier.
    pub(crate) fn arrive(&mut self, warp: usize, barrier: usize, step: u64) {
        let (Some(clock), Some(arrived)) = (self.warps.get(warp), self.barriers.get_mut(barrier)) else {
            return;
        };
        join(arrived, clock);
        if let Some(own) = arrived.get_mut(warp) {
            *own = step;
        }
    }

    /// Notes that a warp passes a barrier.
    pub(crate) fn pass(&mut self, warp: usize, barrier: usize) {
        let (Some(clock), Some(arrived)) = (self.warps.get_mut(warp), self.barriers.get(barrier)) else {
            return;
        };
        join(clock, arrived);
        if let (Some(passed), Some(step)) = (self.passed.get_mut(warp), arrived.get(warp)) {
            *passed = *step;
        }
    }

    /// Returns the step of a warp's arrival at the barrier that it passed last.
    pub(crate) fn last_barrier(&self, warp: usize) -> u64 {
        self.passed.get(warp).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_join_warps() {
        let mut clocks = Clocks::new(0, 2);
        assert!(!clocks.knows_warp(0, 1, 5));
        clocks.arrive(1, 0, 6);
        clocks.arrive(0, 0, 7);
        clocks.pass(0, 0);
        assert!(clocks.knows_warp(0, 1, 5));
        assert!(!clocks.knows_warp(0, 1, 7));
        // The other warp has not passed yet.
        assert!(!clocks.knows_warp(1, 0, 5));
    }

    #[test]
    fn a_flag_hands_over_what_precedes_the_fence() {
        let (mut writer, mut reader) = (Clocks::new(0, 1), Clocks::new(1, 1));
        let mut flag = Handover::default();
        assert!(!writer.release(0, 9, &mut flag));
        writer.fence(0, Scope::Device, 10);
        // Stored after the fence: not handed over.
        writer.weak_store(0);
        assert!(writer.release(0, 12, &mut flag));
        reader.acquire(0, 13, true, &mut flag);
        assert!(reader.knows_block(0, 10));
        assert!(!reader.knows_block(0, 11));
    }

    #[test]
    fn a_clock_of_many_blocks_is_bounded() {
        let mut clock = BlockClock::default();
        for block in 0..1000 {
            clock.advance(block, u64::from(block) + 1);
        }
        assert!(clock.blocks.len() <= MAX_BLOCKS);
        assert_eq!(clock.of(999), 1000);
        assert!(clock.of(3) >= 4);
    }
}
