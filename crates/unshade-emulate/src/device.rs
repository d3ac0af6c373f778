//! The device: memory that outlives launches, textures, and what kernels printed.
//!
//! Memory is a list of allocations with gaps between them, so that an address that belongs to none is told.

use crate::fault::{Memory, Reason};
use crate::surface::Surface;
use crate::texture::Texture;

/// Where allocations begin: beyond 32 bits, as on a real chip, so that carries of addresses matter.
const FIRST_ADDRESS: u64 = 0x7_0000_0000;

/// Where allocations begin for programs whose addresses have 32 bits.
const FIRST_ADDRESS_32: u64 = 0x4000_0000;

/// Allocations are aligned to this, as those of `cudaMalloc`.
const ALIGNMENT: u64 = 256;

/// At least so many bytes between allocations belong to nobody.
const GAP: u64 = 4096;

/// An address in the memory of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePointer(pub u64);

#[derive(Clone, Debug)]
struct Allocation {
    address: u64,
    bytes: Vec<u8>,
    name: String,
}

/// A device without any other hardware: its memory, textures and printed text.
///
/// ```
/// use unshade_emulate::Device;
///
/// let mut device = Device::new();
/// let buffer = device.allocate(16, "numbers")?;
/// device.write(buffer, &[1, 2, 3, 4])?;
/// assert_eq!(device.read(buffer, 4)?, [1, 2, 3, 4]);
/// assert!(device.read(buffer, 17).is_err());
/// # Ok::<(), unshade_emulate::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    /// By address, ascending.
    allocations: Vec<Allocation>,
    next: u64,
    used: u64,
    most: u64,
    /// The allocation that was used last: most accesses go where the one before went.
    last: usize,
    pub(crate) textures: Vec<Texture>,
    /// What kernels printed.
    pub(crate) printed: Vec<u8>,
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

impl Device {
    /// A device with at most 1 GiB of memory.
    pub fn new() -> Self {
        Self {
            allocations: Vec::new(),
            next: FIRST_ADDRESS,
            used: 0,
            most: 1 << 30,
            last: 0,
            textures: Vec::new(),
            printed: Vec::new(),
        }
    }

    /// The same with addresses of 32 bits, for cubins that were compiled so.
    pub fn with_32_bit_addresses() -> Self {
        Self { next: FIRST_ADDRESS_32, ..Self::new() }
    }

    /// How many bytes may be allocated at most.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.most = bytes;
    }

    /// Takes memory of zeros. Its name is told where an access fails.
    ///
    /// # Errors
    /// If there is less memory left.
    pub fn allocate(&mut self, bytes: u64, name: &str) -> Result<DevicePointer, Reason> {
        let used = self.used.checked_add(bytes).filter(|used| *used <= self.most);
        let (Some(used), Ok(size)) = (used, usize::try_from(bytes)) else {
            return Err(Reason::Memory(self.most));
        };
        let address = self.next;
        let end = address.checked_add(bytes).and_then(|end| end.checked_add(GAP));
        let next = end.and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        self.next = next.ok_or(Reason::Memory(self.most))?;
        self.used = used;
        self.allocations.push(Allocation { address, bytes: vec![0; size], name: name.to_owned() });
        Ok(DevicePointer(address))
    }

    /// Gives memory back. Whether there was an allocation at this very address.
    pub fn free(&mut self, pointer: DevicePointer) -> bool {
        let Ok(index) = self.allocations.binary_search_by_key(&pointer.0, |allocation| allocation.address)
        else {
            return false;
        };
        let allocation = self.allocations.remove(index);
        self.used = self.used.saturating_sub(allocation.bytes.len() as u64);
        true
    }

    /// Copies bytes into memory.
    ///
    /// # Errors
    /// If they are not inside of one allocation.
    pub fn write(&mut self, pointer: DevicePointer, bytes: &[u8]) -> Result<(), Reason> {
        self.slice(pointer.0, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// So many bytes of memory.
    ///
    /// # Errors
    /// If they are not inside of one allocation.
    pub fn read(&mut self, pointer: DevicePointer, bytes: usize) -> Result<Vec<u8>, Reason> {
        self.slice(pointer.0, bytes).map(|bytes| bytes.to_vec())
    }

    /// All memory that is taken: where it begins, and what is in it.
    pub fn memory(&self) -> impl Iterator<Item = (DevicePointer, &[u8])> {
        self.allocations
            .iter()
            .map(|allocation| (DevicePointer(allocation.address), allocation.bytes.as_slice()))
    }

    /// Adds a texture; the result is the handle that a kernel takes for a `cudaTextureObject_t`.
    pub fn add_texture(&mut self, texture: Texture) -> u64 {
        self.textures.push(texture);
        self.textures.len() as u64
    }

    /// Adds a surface of so many bytes a line and so many lines, with zeros in it.
    ///
    /// # Errors
    /// If there is less memory left, or the surface is larger than a chip has them.
    pub fn add_surface(&mut self, width: u32, height: u32) -> Result<Surface, Reason> {
        Surface::new(self, width, height)
    }

    pub(crate) fn texture(&self, handle: u64) -> Option<&Texture> {
        self.textures.get(usize::try_from(handle).ok()?.checked_sub(1)?)
    }

    /// What kernels printed since it was taken last.
    pub fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    pub(crate) fn memory_limit(&self) -> u64 {
        self.most
    }

    /// The bytes at an address.
    #[inline]
    pub(crate) fn slice(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], Reason> {
        let inside = |allocation: &Allocation| {
            let start = usize::try_from(address.checked_sub(allocation.address)?).ok()?;
            let end = start.checked_add(bytes)?;
            (end <= allocation.bytes.len()).then_some((start, end))
        };
        let mut found = self.allocations.get(self.last).and_then(inside);
        if found.is_none() {
            let after = self.allocations.partition_point(|allocation| allocation.address <= address);
            if let Some(index) = after.checked_sub(1) {
                found = self.allocations.get(index).and_then(inside);
                if found.is_some() {
                    self.last = index;
                }
            }
        }
        let Some((start, end)) = found else {
            return Err(Reason::OutOfBounds {
                memory: Memory::Global,
                address,
                bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
                nearby: self.nearby(address),
            });
        };
        match self.allocations.get_mut(self.last).and_then(|allocation| allocation.bytes.get_mut(start..end))
        {
            Some(slice) => Ok(slice),
            None => Ok(&mut []),
        }
    }

    /// The allocation that an address is closest to, in words.
    fn nearby(&self, address: u64) -> String {
        let after = self.allocations.partition_point(|allocation| allocation.address <= address);
        let before = after.checked_sub(1).and_then(|index| self.allocations.get(index));
        let tell = |allocation: &Allocation, place: String| {
            let size = allocation.bytes.len();
            format!("{place} {}, which has {size} bytes at {:#x}", allocation.name, allocation.address)
        };
        let within = |allocation: &&Allocation| {
            let end = allocation.address.saturating_add(allocation.bytes.len() as u64);
            address < end.saturating_add(1 << 20)
        };
        if let Some(allocation) = before.filter(within) {
            let end = allocation.address.saturating_add(allocation.bytes.len() as u64);
            return match address.checked_sub(end) {
                Some(beyond) => tell(allocation, format!("{beyond} bytes behind the end of")),
                None => tell(allocation, "it reaches over the end of".into()),
            };
        }
        match self.allocations.get(after) {
            Some(allocation) if allocation.address.wrapping_sub(address) < 1 << 20 => {
                let gap = allocation.address.wrapping_sub(address);
                tell(allocation, format!("{gap} bytes before"))
            }
            _ => String::new(),
        }
    }
}
