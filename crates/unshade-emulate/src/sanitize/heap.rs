//! The heap of the device: what `malloc` returned and `free` took back.

use std::collections::{BTreeMap, VecDeque};

use crate::fault::Reason;

/// Maximum number of freed allocations that are remembered.
const MAX_FREED: usize = 1 << 16;

/// A call to `malloc` or `free`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The block's number in the grid, and the thread's index in the block.
    pub(crate) block: u32,
    pub(crate) thread: u16,
    /// The addresses of the call stack, innermost first.
    pub(crate) stack: Vec<u64>,
}

/// An allocation.
#[derive(Clone, Debug)]
pub(crate) struct HeapBlock {
    pub(crate) bytes: u64,
    pub(crate) allocated: Call,
    pub(crate) freed: Option<Call>,
}

/// The allocations by address.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    blocks: BTreeMap<u64, HeapBlock>,
    /// The addresses of freed blocks, oldest first.
    freed: VecDeque<u64>,
}

impl Heap {
    pub(crate) fn allocate(&mut self, address: u64, bytes: u64, allocated: Call) {
        self.blocks.insert(address, HeapBlock { bytes, allocated, freed: None });
    }

    /// Notes that an allocation is freed.
    ///
    /// # Errors
    /// If there is none at this address, or it was freed before.
    pub(crate) fn free(&mut self, address: u64, call: Call) -> Result<(), Reason> {
        let Some(block) = self.blocks.get_mut(&address) else { return Err(Reason::InvalidFree(address)) };
        if block.freed.is_some() {
            return Err(Reason::DoubleFree { address, bytes: block.bytes });
        }
        block.freed = Some(call);
        self.freed.push_back(address);
        if self.freed.len() > MAX_FREED
            && let Some(oldest) = self.freed.pop_front()
        {
            self.blocks.remove(&oldest);
        }
        Ok(())
    }

    /// Returns the allocation that contains an address, and its start.
    pub(crate) fn find(&self, address: u64) -> Option<(u64, &HeapBlock)> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        (address.wrapping_sub(*start) < block.bytes.max(1)).then_some((*start, block))
    }

    /// Returns the allocations that were not freed, in order of their addresses.
    pub(crate) fn leaked(&self) -> impl Iterator<Item = &HeapBlock> {
        self.blocks.values().filter(|block| block.freed.is_none())
    }
}
