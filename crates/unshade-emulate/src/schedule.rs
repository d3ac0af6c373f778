//! The order of blocks: one after the other, and in turns if a block waits for another one.
//!
//! A block runs until it ends. If it seems to wait, it is suspended and others start, so that barriers for a whole grid, made
//! of atomic operations, are passed. As on the chip, a limited number of blocks is resident: if all of them wait for a block
//! that can't start, the launch reaches a limit.

use std::collections::VecDeque;

use crate::device::Device;
use crate::environment::Environment;
use crate::fault::Fault;
use crate::launch::{Grid, MAX_SHARED};

/// The number of multiprocessors of the largest Kepler chips (GK110B), and the limits of each.
const MULTIPROCESSORS: u64 = 15;
const MAX_BLOCKS: u64 = 16;
const MAX_THREADS: u64 = 2048;

/// The registers of a warp, in bytes.
const WARP_BYTES: u64 = 32 << 10;

/// Returns the maximum number of resident blocks, which also have to fit in the limit of memory.
pub(crate) fn resident_blocks(threads: u64, shared: usize, local: usize, device: &Device) -> usize {
    let threads = threads.next_multiple_of(32).max(32);
    let by_shared = MAX_SHARED.checked_div(shared as u64).unwrap_or(MAX_BLOCKS);
    let on_chip = MULTIPROCESSORS * MAX_BLOCKS.min(MAX_THREADS / threads).min(by_shared);
    let bytes = (threads * local as u64).saturating_add(threads / 32 * WARP_BYTES).max(1);
    let in_memory = device.memory_limit() / bytes;
    usize::try_from(on_chip.min(in_memory)).unwrap_or(1).max(1)
}

/// The number of rounds without an effect after which a block seems to wait for another one. An effect is a change of
/// shared or global memory, a passed barrier, or the exit of a warp.
const IDLE_ROUNDS: u32 = 8;

/// The number of instructions after which a block is suspended even if it has effects: it may wait for another block with
/// an atomic operation that changes memory.
const STEPS_PER_TURN: u64 = 1 << 22;

/// Why a block stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Ended,
    /// It may wait for another block.
    Suspended,
}

/// Tells when a block has to be suspended.
pub(crate) struct Patience {
    last_step: u64,
    idle_rounds: u32,
    changes: u64,
}

impl Patience {
    /// Starts a block's turn.
    pub(crate) fn new(env: &Environment<'_>) -> Self {
        Self { last_step: env.steps.saturating_add(STEPS_PER_TURN), idle_rounds: 0, changes: env.changes }
    }

    /// Returns whether the block seems to wait for another one, after a round of all its warps. `has_passed` says whether
    /// a warp has passed a barrier or exited.
    pub(crate) fn is_over(&mut self, env: &Environment<'_>, has_passed: bool) -> bool {
        let is_idle = self.changes == env.changes && !has_passed;
        self.idle_rounds = if is_idle { self.idle_rounds + 1 } else { 0 };
        self.changes = env.changes;
        self.idle_rounds >= IDLE_ROUNDS || env.steps > self.last_step
    }
}

/// The blocks of a grid.
pub(crate) struct Schedule<B> {
    grid: Grid,
    /// The number of blocks started so far, and of those that have ended.
    started: u64,
    ended: u64,
    /// The maximum number of resident blocks.
    resident: usize,
    /// Suspended blocks, oldest first.
    suspended: VecDeque<B>,
    /// Ended blocks, for reuse.
    spare: Vec<B>,
}

impl<B> Schedule<B> {
    pub(crate) fn new(grid: Grid, resident: usize) -> Self {
        Self { grid, started: 0, ended: 0, resident, suspended: VecDeque::new(), spare: Vec::new() }
    }

    /// Returns the number of blocks that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended
    }

    /// Runs all blocks. `start` prepares a block at a position, perhaps one that has ended; its last argument is the
    /// block's number. `run` gives a block its turn.
    pub(crate) fn run(
        &mut self,
        mut start: impl FnMut(Option<B>, [u32; 3], u64) -> B,
        mut run: impl FnMut(&mut B) -> Result<Turn, Fault>,
    ) -> Result<(), Fault> {
        while let Some(mut block) = self.next(&mut start) {
            match run(&mut block)? {
                Turn::Suspended => self.suspended.push_back(block),
                Turn::Ended => {
                    self.ended += 1;
                    self.spare.push(block);
                }
            }
        }
        Ok(())
    }

    /// Returns the block to run next: one that starts, or the one suspended longest.
    fn next(&mut self, start: &mut impl FnMut(Option<B>, [u32; 3], u64) -> B) -> Option<B> {
        let number = self.started;
        if self.suspended.len() < self.resident
            && let Some(position) = self.next_position()
        {
            return Some(start(self.spare.pop(), position, number));
        }
        self.suspended.pop_front()
    }

    /// Returns the position of the next block to start: x counts fastest.
    fn next_position(&mut self) -> Option<[u32; 3]> {
        let [x, y, z] = self.grid.blocks.map(u64::from);
        let index = self.started;
        // The product fits: there are less than 2^31, 2^16 and 2^16 blocks.
        if index >= x * y * z {
            return None;
        }
        self.started += 1;
        Some([index % x, index / x % y, index / x / y].map(|position| u32::try_from(position).unwrap_or(0)))
    }
}
