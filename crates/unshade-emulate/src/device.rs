//! The device: global memory, textures, and printed text, which persist between launches.
//!
//! Memory is a list of allocations with gaps between them, so that stray addresses are detected.

use crate::fault::{Memory, Reason};
use crate::sanitize::unset::UnsetBytes;
use crate::surface::Surface;
use crate::texture::Texture;
use crate::trace::lines_around;

/// The address of the first allocation: beyond 32 bits as on real chips, so that the upper halves of addresses matter.
const FIRST_ADDRESS: u64 = 0x7_0000_0000;

/// The address of the first allocation for programs with 32-bit addresses.
const FIRST_ADDRESS_32: u64 = 0x4000_0000;

/// The alignment of allocations, as in `cudaMalloc`.
const ALIGNMENT: u64 = 256;

/// Minimum number of unused bytes between allocations.
const GAP: u64 = 4096;

/// An address in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePointer(pub u64);

#[derive(Clone, Debug)]
struct Allocation {
    address: u64,
    bytes: Vec<u8>,
    name: String,
    /// The bytes that were never written, if that is to be known.
    unset: Option<UnsetBytes>,
    /// The variables in it: offset, size and name, sorted.
    variables: Vec<(u64, u64, String)>,
}

impl Allocation {
    /// Returns start, size and name of the variable at an offset or before it; of the allocation, if it has no variables.
    fn part(&self, offset: u64) -> (u64, u64, &str) {
        let after = self.variables.partition_point(|variable| variable.0 <= offset);
        match after.checked_sub(1).and_then(|index| self.variables.get(index)) {
            Some((start, size, name)) => (*start, *size, name),
            None => (0, self.bytes.len() as u64, &self.name),
        }
    }
}

/// An emulated device: global memory, textures and printed text.
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
    /// Sorted by address.
    allocations: Vec<Allocation>,
    next: u64,
    used: u64,
    limit: u64,
    /// The index of the allocation accessed last; most accesses go to the same one again.
    last: usize,
    pub(crate) textures: Vec<Texture>,
    /// Text printed by kernels.
    pub(crate) printed: Vec<u8>,
}

impl Default for Device {
    fn default() -> Self {
        Self::new()
    }
}

impl Device {
    /// Creates a device with at most 1 GiB of memory.
    pub fn new() -> Self {
        Self {
            allocations: Vec::new(),
            next: FIRST_ADDRESS,
            used: 0,
            limit: 1 << 30,
            last: 0,
            textures: Vec::new(),
            printed: Vec::new(),
        }
    }

    /// Creates a device with 32-bit addresses, for cubins compiled for them.
    pub fn with_32_bit_addresses() -> Self {
        Self { next: FIRST_ADDRESS_32, ..Self::new() }
    }

    /// Sets the maximum number of allocated bytes.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Allocates zeroed memory. The name appears in messages about failed accesses nearby.
    ///
    /// # Errors
    /// If there is not enough memory left.
    pub fn allocate(&mut self, bytes: u64, name: &str) -> Result<DevicePointer, Reason> {
        let used = self.used.checked_add(bytes).filter(|used| *used <= self.limit);
        let (Some(used), Ok(size)) = (used, usize::try_from(bytes)) else {
            return Err(Reason::Memory(self.limit));
        };
        let address = self.next;
        let end = address.checked_add(bytes).and_then(|end| end.checked_add(GAP));
        let next = end.and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        self.next = next.ok_or(Reason::Memory(self.limit))?;
        self.used = used;
        let name = name.to_owned();
        let allocation =
            Allocation { address, bytes: vec![0; size], name, unset: None, variables: Vec::new() };
        self.allocations.push(allocation);
        Ok(DevicePointer(address))
    }

    /// Notes that the bytes of an allocation were never written, so that `Module::sanitize` reports reads of them.
    pub fn mark_unset(&mut self, pointer: DevicePointer) {
        if let Some(allocation) = self.allocation_mut(pointer) {
            allocation.unset = Some(UnsetBytes::new(allocation.bytes.len()));
        }
    }

    /// Names the variables in an allocation, for messages: offset, size and name of each.
    pub(crate) fn name_variables(&mut self, pointer: DevicePointer, mut variables: Vec<(u64, u64, String)>) {
        variables.sort_unstable();
        if let Some(allocation) = self.allocation_mut(pointer) {
            allocation.variables = variables;
        }
    }

    fn allocation_mut(&mut self, pointer: DevicePointer) -> Option<&mut Allocation> {
        let index =
            self.allocations.binary_search_by_key(&pointer.0, |allocation| allocation.address).ok()?;
        self.allocations.get_mut(index)
    }

    /// Returns whether none of the bytes of an access was ever written, and they are not padding.
    pub(crate) fn are_unset(&self, address: u64, bytes: usize) -> bool {
        let start = |allocation: &Allocation| usize::try_from(address.wrapping_sub(allocation.address)).ok();
        self.containing(address).is_some_and(|allocation| match (&allocation.unset, start(allocation)) {
            (Some(unset), Some(start)) => unset.are_unset_data(start, bytes),
            _ => false,
        })
    }

    /// Notes that bytes are written.
    pub(crate) fn note_written(&mut self, address: u64, bytes: usize) {
        let after = self.allocations.partition_point(|allocation| allocation.address <= address);
        let allocation = after.checked_sub(1).and_then(|index| self.allocations.get_mut(index));
        if let Some(allocation) = allocation
            && let Some(unset) = &mut allocation.unset
            && let Ok(start) = usize::try_from(address.wrapping_sub(allocation.address))
        {
            unset.set(start, bytes);
        }
    }

    /// Returns the allocation that contains an address.
    fn containing(&self, address: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|allocation| allocation.address <= address);
        let allocation = self.allocations.get(after.checked_sub(1)?)?;
        (address.wrapping_sub(allocation.address) < allocation.bytes.len() as u64).then_some(allocation)
    }

    /// Returns the allocation of an address: its name, the offset of the address, and the bytes around an access with
    /// their offset.
    pub(crate) fn around(&self, address: u64, size: u32) -> Option<(String, u64, u64, Vec<u8>)> {
        let allocation = self.containing(address)?;
        let offset = address.wrapping_sub(allocation.address);
        let range = lines_around(offset, size, allocation.bytes.len() as u64);
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = allocation.bytes.get(place(range.start)..place(range.end)).unwrap_or_default();
        Some((allocation.name.clone(), offset, range.start, bytes.to_vec()))
    }

    /// Describes where an address is in an allocation.
    pub(crate) fn describe(&self, address: u64) -> String {
        let Some(allocation) = self.containing(address) else { return String::new() };
        let offset = address.wrapping_sub(allocation.address);
        let (start, size, name) = allocation.part(offset);
        format!("byte {} of {name}, which has {size} bytes", offset.wrapping_sub(start))
    }

    /// Frees an allocation; returns whether there was one at exactly this address.
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
    /// If they are not inside one allocation.
    pub fn write(&mut self, pointer: DevicePointer, bytes: &[u8]) -> Result<(), Reason> {
        self.slice(pointer.0, bytes.len())?.copy_from_slice(bytes);
        self.note_written(pointer.0, bytes.len());
        Ok(())
    }

    /// Reads bytes of memory.
    ///
    /// # Errors
    /// If they are not inside one allocation.
    pub fn read(&mut self, pointer: DevicePointer, bytes: usize) -> Result<Vec<u8>, Reason> {
        self.slice(pointer.0, bytes).map(|bytes| bytes.to_vec())
    }

    /// Returns all allocations: address and contents.
    pub fn memory(&self) -> impl Iterator<Item = (DevicePointer, &[u8])> {
        self.allocations
            .iter()
            .map(|allocation| (DevicePointer(allocation.address), allocation.bytes.as_slice()))
    }

    /// Adds a texture; returns its handle, to be passed to kernels as a `cudaTextureObject_t`.
    pub fn add_texture(&mut self, texture: Texture) -> u64 {
        self.textures.push(texture);
        self.textures.len() as u64
    }

    /// Adds a zeroed surface of `width` bytes per line and `height` lines.
    ///
    /// # Errors
    /// If there is not enough memory left, or the surface is larger than chips support.
    pub fn add_surface(&mut self, width: u32, height: u32) -> Result<Surface, Reason> {
        Surface::new(self, width, height)
    }

    pub(crate) fn texture(&self, handle: u64) -> Option<&Texture> {
        self.textures.get(usize::try_from(handle).ok()?.checked_sub(1)?)
    }

    /// Returns the text printed since the last call.
    pub fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    pub(crate) fn memory_limit(&self) -> u64 {
        self.limit
    }

    /// Returns the bytes at an address.
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

    /// Describes the allocation closest to an address.
    fn nearby(&self, address: u64) -> String {
        let after = self.allocations.partition_point(|allocation| allocation.address <= address);
        let before = after.checked_sub(1).and_then(|index| self.allocations.get(index));
        let is_close = |allocation: &&Allocation| {
            let end = allocation.address.saturating_add(allocation.bytes.len() as u64);
            address < end.saturating_add(1 << 20)
        };
        if let Some(allocation) = before.filter(is_close) {
            let (start, size, name) = allocation.part(address.wrapping_sub(allocation.address));
            let start = allocation.address.wrapping_add(start);
            let place = match address.checked_sub(start.saturating_add(size)) {
                Some(beyond) => format!("{beyond} bytes after the end of"),
                None => "beyond the end of".into(),
            };
            return format!("{place} {name}, which has {size} bytes at {start:#x}");
        }
        match self.allocations.get(after) {
            Some(allocation) if allocation.address.wrapping_sub(address) < 1 << 20 => {
                let start = allocation.address;
                let (_, size, name) = allocation.part(0);
                format!(
                    "{} bytes before {name}, which has {size} bytes at {start:#x}",
                    start.wrapping_sub(address)
                )
            }
            _ => String::new(),
        }
    }
}
