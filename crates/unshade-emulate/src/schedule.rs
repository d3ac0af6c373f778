//! The order of blocks: one after the other, and in turns if a block waits for another one.
//!
//! A block runs until it ends. If it seems to wait, it is suspended and others start, so that barriers for a whole grid, made
//! of atomic operations, are passed. As on the chip, a limited number of blocks is resident: if all of them wait for a block
//! that can't start, the launch reaches a limit.

use std::collections::VecDeque;

use crate::block::{Block, Turn};
use crate::context::Context;
use crate::device::Device;
use crate::environment::{BlockState, Environment};
use crate::fault::Fault;
use crate::launch::{Grid, MAX_SHARED};
use crate::program::Program;

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

/// The blocks of a grid.
pub(crate) struct Schedule {
    grid: Grid,
    /// The number of blocks started so far, and of those that have ended.
    started: u64,
    ended: u64,
    /// The maximum number of resident blocks.
    resident: usize,
    /// Suspended blocks, oldest first.
    suspended: VecDeque<Block>,
    /// Ended blocks, for reuse.
    spare: Vec<Block>,
}

impl Schedule {
    pub(crate) fn new(grid: Grid, resident: usize) -> Self {
        Self { grid, started: 0, ended: 0, resident, suspended: VecDeque::new(), spare: Vec::new() }
    }

    /// Returns the number of blocks that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended
    }

    /// Runs all blocks of a kernel that starts at an address.
    pub(crate) fn run(
        &mut self,
        start: u64,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &mut Context<'_>,
        new_state: impl Fn() -> BlockState,
    ) -> Result<(), Fault> {
        while let Some(mut block) = self.next(start, env.checks.is_some(), &new_state) {
            let turn = block.run(program, env, context)?;
            self.put_back(block, turn);
        }
        Ok(())
    }

    /// Returns the block to run next: one that starts at an address, or the one suspended longest.
    fn next(
        &mut self,
        start: u64,
        is_checked: bool,
        new_state: impl FnOnce() -> BlockState,
    ) -> Option<Block> {
        let number = self.started;
        if self.suspended.len() < self.resident
            && let Some(position) = self.next_position()
        {
            let mut block = self.spare.pop().unwrap_or_else(|| Block::new(new_state()));
            block.start(position, number, start, is_checked);
            return Some(block);
        }
        self.suspended.pop_front()
    }

    /// Takes a block back after its turn.
    fn put_back(&mut self, block: Block, turn: Turn) {
        match turn {
            Turn::Suspended => self.suspended.push_back(block),
            Turn::Ended => {
                self.ended += 1;
                self.spare.push(block);
            }
        }
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
