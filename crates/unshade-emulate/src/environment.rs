//! The environment of the threads of a block: memories, constant banks, position in the grid.
//!
//! Generic addresses have two windows of 16 MiB, for local and for shared memory; all other addresses are global. Code
//! adds the base of a window, from constant bank 0, to an address in that memory.

use crate::device::Device;
use crate::fault::{Memory, Reason};
use crate::races::RaceDetector;
use crate::sanitize::{BlockChecks, Checks};
use crate::trace::Recorder;
use unshade_sass::semantics::Space;

/// Number of lanes per warp.
pub(crate) const LANES: usize = 32;

/// The base of the local window, in `c[0x0][0x24]`.
pub(crate) const LOCAL_WINDOW: u64 = 0x0100_0000;

/// The base of the shared window, in `c[0x0][0x20]`.
pub(crate) const SHARED_WINDOW: u64 = 0x0200_0000;

/// The size of a window.
pub(crate) const WINDOW_SIZE: u64 = 0x0100_0000;

/// The constant banks.
pub(crate) type Banks = [Vec<u8>; 32];

/// The size of a block and its position in the grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) threads: [u32; 3],
    pub(crate) block: [u32; 3],
}

impl Position {
    /// Returns the number of threads per block.
    pub(crate) fn thread_count(&self) -> u32 {
        self.threads.iter().fold(1, |product: u32, size| product.saturating_mul(*size))
    }

    /// Returns the position of a thread in its block.
    pub(crate) fn thread(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.threads.map(|size| size.max(1));
        [index % x, index / x % y, index / x / y]
    }
}

/// The position and the memories of a block.
pub(crate) struct BlockState {
    pub(crate) position: Position,
    pub(crate) shared: Vec<u8>,
    /// Local memory by thread; empty until first used.
    pub(crate) local: Vec<Vec<u8>>,
    /// Locked addresses of shared memory, each with the thread that locked it.
    pub(crate) locks: Vec<(u64, u32)>,
    /// The race detector, if it is enabled.
    pub(crate) races: Option<RaceDetector>,
    /// The state of the checks, if the launch is checked.
    pub(crate) checks: Option<Box<BlockChecks>>,
}

impl BlockState {
    /// Creates the state of a block with zeroed memories.
    pub(crate) fn new(threads: [u32; 3], shared: usize, ordered: bool) -> Self {
        Self {
            position: Position { threads, block: [0; 3] },
            shared: vec![0; shared],
            local: Vec::new(),
            locks: Vec::new(),
            races: ordered.then(RaceDetector::default),
            checks: None,
        }
    }

    /// Clears the memories for another block.
    pub(crate) fn start(&mut self, block: [u32; 3]) {
        self.position.block = block;
        self.shared.fill(0);
        self.local.clear();
        self.local.resize(self.position.thread_count() as usize, Vec::new());
        self.locks.clear();
        if let Some(races) = &mut self.races {
            races.start(self.position.thread_count().div_ceil(32) as usize);
        }
    }
}

/// The environment of the threads of the block that runs.
pub(crate) struct Environment<'a> {
    pub(crate) device: &'a mut Device,
    pub(crate) banks: &'a Banks,
    /// Number of blocks of the grid in x, y and z.
    pub(crate) blocks: [u32; 3],
    pub(crate) block: BlockState,
    pub(crate) local_size: usize,
    /// The bytes in local memory that were never written.
    pub(crate) unwritten: u8,
    /// The lowest address in local memory that the stack may use; it starts at the end of local memory.
    pub(crate) stack_end: u32,
    /// Number of instructions executed so far.
    pub(crate) steps: u64,
    /// Number of stores that changed shared or global memory: what other threads may wait for.
    pub(crate) changes: u64,
    /// The value that a shuffle returns for an inactive lane.
    pub(crate) absent: u64,
    /// How far clocks advance with each instruction.
    pub(crate) ticks: u64,
    /// Number of integer divisions by zero that the interpreter executed.
    pub(crate) divisions_by_zero: u64,
    /// The checks of the launch, if there are any.
    pub(crate) checks: Option<Box<Checks>>,
    /// The recorder of a thread, if there is one.
    pub(crate) recorder: Option<Box<Recorder>>,
    /// Whether loads and stores are reported to checks, a race detector or a recorder.
    pub(crate) is_watched: bool,
}

impl Environment<'_> {
    /// Returns the time that all clocks show.
    pub(crate) fn clock(&self) -> u64 {
        self.steps.wrapping_mul(self.ticks)
    }

    /// Returns whether a stack pointer is outside local memory or in its fixed part.
    pub(crate) fn is_beyond_stack(&self, pointer: u32) -> bool {
        pointer < self.stack_end || pointer as usize > self.local_size
    }

    /// Loads `width` bits.
    #[inline]
    pub(crate) fn load(&mut self, space: Space, address: u64, width: u8, thread: u32) -> Result<u64, Reason> {
        let size = usize::from(width / 8);
        if self.is_watched {
            return self.load_watched(space, address, size, thread);
        }
        self.load_unchecked(space, address, size, thread)
    }

    /// Loads `size` bytes without checking for races.
    #[inline]
    pub(crate) fn load_unchecked(
        &mut self,
        space: Space,
        address: u64,
        size: usize,
        thread: u32,
    ) -> Result<u64, Reason> {
        match self.bytes(space, address, size, thread)? {
            &mut [a] => Ok(a.into()),
            &mut [a, b] => Ok(u16::from_le_bytes([a, b]).into()),
            &mut [a, b, c, d] => Ok(u32::from_le_bytes([a, b, c, d]).into()),
            bytes => Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))),
        }
    }

    /// Stores `width` bits.
    #[inline]
    pub(crate) fn store(
        &mut self,
        space: Space,
        address: u64,
        value: u64,
        width: u8,
        thread: u32,
    ) -> Result<(), Reason> {
        let size = usize::from(width / 8);
        if self.is_watched {
            return self.store_watched(space, address, value, size, thread);
        }
        self.store_unchecked(space, address, value, size, thread)
    }

    /// Stores `size` bytes without checking for races.
    #[inline]
    pub(crate) fn store_unchecked(
        &mut self,
        space: Space,
        address: u64,
        value: u64,
        size: usize,
        thread: u32,
    ) -> Result<(), Reason> {
        let bytes = self.bytes(space, address, size, thread)?;
        let mut changes = 0;
        for (byte, new) in bytes.iter_mut().zip(value.to_le_bytes()) {
            changes |= *byte ^ new;
            *byte = new;
        }
        let is_visible = resolve(space, address).0 != Memory::Local;
        self.changes += u64::from(changes != 0 && is_visible);
        Ok(())
    }

    pub(crate) fn check_read(
        &mut self,
        space: Space,
        address: u64,
        size: usize,
        thread: u32,
    ) -> Result<(), Reason> {
        let (memory, address) = resolve(space, address);
        match &mut self.block.races {
            Some(races) if memory != Memory::Local => races.read(memory, address, size, thread),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_write(
        &mut self,
        space: Space,
        address: u64,
        after: &[u8],
        thread: u32,
    ) -> Result<(), Reason> {
        let (memory, at) = resolve(space, address);
        if memory == Memory::Local {
            return Ok(());
        }
        let before = self.bytes(space, address, after.len(), thread)?.to_vec();
        match &mut self.block.races {
            Some(races) => races.write(memory, at, &before, after, thread),
            None => Ok(()),
        }
    }

    /// Returns the bytes that an instruction accesses, after checking alignment and bounds.
    #[inline]
    pub(crate) fn bytes(
        &mut self,
        space: Space,
        address: u64,
        size: usize,
        thread: u32,
    ) -> Result<&mut [u8], Reason> {
        let (memory, address) = resolve(space, address);
        if size > 1 && !address.is_multiple_of(size as u64) {
            let bytes = u32::try_from(size).unwrap_or(u32::MAX);
            return Err(Reason::Misaligned { memory, address, bytes });
        }
        let bytes = match memory {
            Memory::Shared => &mut self.block.shared,
            Memory::Local => {
                let of_thread = self.block.local.get_mut(thread as usize).ok_or(Reason::Undefined)?;
                if of_thread.is_empty() {
                    of_thread.resize(self.local_size, self.unwritten);
                }
                of_thread
            }
            _ => return self.device.slice(address, size),
        };
        let all = bytes.len();
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        match bytes.get_mut(start..start.saturating_add(size)) {
            Some(slice) => Ok(slice),
            None => Err(Reason::OutOfBounds {
                memory,
                address,
                bytes: u32::try_from(size).unwrap_or(u32::MAX),
                nearby: format!("{memory} has {all} bytes"),
            }),
        }
    }

    /// Loads from a constant bank. The address has 16 bits of offset, with the bank above them.
    pub(crate) fn constant(&self, address: u64, width: u8) -> Result<u64, Reason> {
        let bank = usize::try_from(address >> 16).unwrap_or(usize::MAX);
        let offset = address & 0xffff;
        let memory = Memory::Constant(u8::try_from(bank).unwrap_or(u8::MAX));
        let size = usize::from(width / 8);
        if size > 1 && !offset.is_multiple_of(size.min(4) as u64) {
            return Err(Reason::Misaligned { memory, address: offset, bytes: u32::from(width / 8) });
        }
        let bytes = self.banks.get(bank).map_or(&[][..], Vec::as_slice);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match bytes.get(start..start.saturating_add(size)) {
            Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d]).into()),
            Some(slice) => Ok(slice.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))),
            None => Err(Reason::OutOfBounds {
                memory,
                address: offset,
                bytes: u32::from(width / 8),
                nearby: format!("it has {} bytes", bytes.len()),
            }),
        }
    }

    /// Reads a NUL-terminated string of limited length.
    pub(crate) fn text(&mut self, address: u64, thread: u32) -> Result<String, Reason> {
        const MAX_LENGTH: u64 = 1 << 16;
        let mut text = Vec::new();
        for offset in 0..MAX_LENGTH {
            let byte = self.load(Space::Ram, address.wrapping_add(offset), 8, thread)?.to_le_bytes()[0];
            if byte == 0 {
                break;
            }
            text.push(byte);
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Returns the memory that an address refers to, and the address in it.
pub(crate) fn resolve(space: Space, address: u64) -> (Memory, u64) {
    match space {
        Space::Shared => (Memory::Shared, address),
        Space::Local => (Memory::Local, address),
        _ => generic(address),
    }
}

/// Resolves a generic address.
fn generic(address: u64) -> (Memory, u64) {
    if (LOCAL_WINDOW..LOCAL_WINDOW + WINDOW_SIZE).contains(&address) {
        (Memory::Local, address - LOCAL_WINDOW)
    } else if (SHARED_WINDOW..SHARED_WINDOW + WINDOW_SIZE).contains(&address) {
        (Memory::Shared, address - SHARED_WINDOW)
    } else {
        (Memory::Global, address)
    }
}
