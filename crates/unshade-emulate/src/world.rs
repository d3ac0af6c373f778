//! What a thread sees besides its registers: memories, constant banks, where it is in the grid.
//!
//! Generic addresses have two windows: 16 MiB each for local and for shared memory; all else is global. Instructions add
//! or combine the window's base, which stands in constant bank 0, to addresses in these memories.

use crate::device::Device;
use crate::fault::{Memory, Reason};
use crate::order::Order;
use unshade_sass::semantics::Space;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// The window of local memory in generic addresses: `c[0x0][0x24]` has this.
pub(crate) const LOCAL_WINDOW: u64 = 0x0100_0000;

/// The window of shared memory in generic addresses: `c[0x0][0x20]` has this.
pub(crate) const SHARED_WINDOW: u64 = 0x0200_0000;

/// The size of a window.
const WINDOW: u64 = 0x0100_0000;

/// Constant banks by number.
pub(crate) type Banks = [Vec<u8>; 32];

/// Where a block is in its grid, and what both are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) threads: [u32; 3],
    pub(crate) block: [u32; 3],
}

impl Position {
    /// How many threads a block has.
    pub(crate) fn thread_count(&self) -> u32 {
        self.threads.iter().fold(1, |product: u32, size| product.saturating_mul(*size))
    }

    /// The place of a thread in its block.
    pub(crate) fn thread(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.threads.map(|size| size.max(1));
        [index % x, index / x % y, index / x / y]
    }
}

/// What threads of a block see.
pub(crate) struct World<'a> {
    pub(crate) device: &'a mut Device,
    pub(crate) banks: &'a Banks,
    pub(crate) position: Position,
    pub(crate) shared: Vec<u8>,
    /// Of each thread; empty until it is used.
    pub(crate) local: Vec<Vec<u8>>,
    pub(crate) local_size: usize,
    /// Locked addresses of shared memory, each with the thread that locked it.
    pub(crate) locks: Vec<(u64, u32)>,
    /// Instructions that were run so far.
    pub(crate) steps: u64,
    /// Watches whether the order of threads matters.
    pub(crate) order: Option<Order>,
    /// What a shuffle gives of a lane that takes no part.
    pub(crate) absent: u64,
}

impl World<'_> {
    /// A number in a memory of a thread; its width is in bits.
    #[inline]
    pub(crate) fn load(&mut self, space: Space, address: u64, width: u8, thread: u32) -> Result<u64, Reason> {
        let size = usize::from(width / 8);
        if self.order.is_some() {
            self.watch_read(space, address, size, thread)?;
        }
        self.number(space, address, size, thread)
    }

    /// The same, where it is not asked who else touches it.
    #[inline]
    pub(crate) fn number(
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

    /// Writes a number to a memory of a thread.
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
        if self.order.is_some() {
            self.watch_write(space, address, &value.to_le_bytes()[..size.min(8)], thread)?;
        }
        self.set_number(space, address, value, size, thread)
    }

    /// The same, where it is not asked who else touches it.
    #[inline]
    pub(crate) fn set_number(
        &mut self,
        space: Space,
        address: u64,
        value: u64,
        size: usize,
        thread: u32,
    ) -> Result<(), Reason> {
        let place = self.bytes(space, address, size, thread)?;
        for (byte, new) in place.iter_mut().zip(value.to_le_bytes()) {
            *byte = new;
        }
        Ok(())
    }

    fn watch_read(&mut self, space: Space, address: u64, size: usize, thread: u32) -> Result<(), Reason> {
        let (memory, address) = place(space, address);
        match &mut self.order {
            Some(order) if memory != Memory::Local => order.read(memory, address, size, thread),
            _ => Ok(()),
        }
    }

    fn watch_write(&mut self, space: Space, address: u64, after: &[u8], thread: u32) -> Result<(), Reason> {
        let (memory, at) = place(space, address);
        if memory == Memory::Local {
            return Ok(());
        }
        let before = self.bytes(space, address, after.len(), thread)?.to_vec();
        match &mut self.order {
            Some(order) => order.write(memory, at, &before, after, thread),
            None => Ok(()),
        }
    }

    /// The bytes that an instruction reads or writes.
    #[inline]
    pub(crate) fn bytes(
        &mut self,
        space: Space,
        address: u64,
        size: usize,
        thread: u32,
    ) -> Result<&mut [u8], Reason> {
        let (memory, address) = place(space, address);
        if size > 1 && !address.is_multiple_of(size as u64) {
            let bytes = u32::try_from(size).unwrap_or(u32::MAX);
            return Err(Reason::Misaligned { memory, address, bytes });
        }
        let bytes = match memory {
            Memory::Shared => &mut self.shared,
            Memory::Local => {
                let of_thread = self.local.get_mut(thread as usize).ok_or(Reason::Undefined)?;
                if of_thread.is_empty() {
                    of_thread.resize(self.local_size, 0);
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

    /// A number in a constant bank; the bank stands above 16 bits of offset.
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

    /// Text of the program: bytes up to a zero, at most so many.
    pub(crate) fn text(&mut self, address: u64, thread: u32) -> Result<String, Reason> {
        const LONGEST: u64 = 1 << 16;
        let mut text = Vec::new();
        for offset in 0..LONGEST {
            let byte = self.load(Space::Ram, address.wrapping_add(offset), 8, thread)?.to_le_bytes()[0];
            if byte == 0 {
                break;
            }
            text.push(byte);
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// The memory that is meant, and the address in it.
fn place(space: Space, address: u64) -> (Memory, u64) {
    match space {
        Space::Shared => (Memory::Shared, address),
        Space::Local => (Memory::Local, address),
        _ => generic(address),
    }
}

/// What a generic address means.
fn generic(address: u64) -> (Memory, u64) {
    if (LOCAL_WINDOW..LOCAL_WINDOW + WINDOW).contains(&address) {
        (Memory::Local, address - LOCAL_WINDOW)
    } else if (SHARED_WINDOW..SHARED_WINDOW + WINDOW).contains(&address) {
        (Memory::Shared, address - SHARED_WINDOW)
    } else {
        (Memory::Global, address)
    }
}
