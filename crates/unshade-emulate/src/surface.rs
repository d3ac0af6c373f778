//! Surfaces: lines of bytes that kernels read and write by coordinates.
//!
//! Kepler computes the address of an element with instructions of its own (`SUCLAMP`, `IMADSP.SD`, `SUBFM`, `SUEAU`), from a
//! descriptor of eight words. Its layout was read off what `ptxas` 11.2 makes of PTX's `suld` and `sust`, its fields are those
//! that `unshade_sass` gives these instructions:
//!
//! | word | holds |
//! |---|---|
//! | 0 | the address in units of 256 bytes |
//! | 1 | the format, which accesses by bytes do not need |
//! | 2 | bits 0 to 19: the last byte of a line; bit 21: lines follow one another |
//! | 3 | bits 0 to 23: bytes from a line to the next; how wide the factors are: 24 bits each |
//! | 4 | bits 0 to 19: the last line; bit 21: lines follow one another |
//!
//! The descriptor of a reference stands in constant bank 0; the handle of an object is the address of one in memory.

use crate::device::{Device, DevicePointer};
use crate::fault::Reason;
use crate::texture::Registers;
use crate::world::World;

/// Bytes of a descriptor.
pub(crate) const DESCRIPTOR: usize = 32;

/// The most bytes of a line, and the most lines: what 20 bits hold.
const MOST: u32 = 1 << 16;

/// A surface of two dimensions.
///
/// ```
/// use unshade_emulate::Device;
///
/// let mut device = Device::new();
/// let surface = device.add_surface(8, 2)?;
/// surface.write(&mut device, &[1; 16])?;
/// assert_eq!(surface.read(&mut device)?, [1; 16]);
/// # Ok::<(), unshade_emulate::Fault>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// The address of the descriptor: what a kernel takes for a `cudaSurfaceObject_t`.
    pub handle: DevicePointer,
    data: DevicePointer,
    width: u32,
    pitch: u32,
    height: u32,
}

impl Surface {
    /// Takes memory for a surface of so many bytes a line and so many lines.
    pub(crate) fn new(device: &mut Device, width: u32, height: u32) -> Result<Self, Reason> {
        if !(1..=MOST).contains(&width) || !(1..=MOST).contains(&height) {
            return Err(Reason::Unsupported(format!("a surface of {width} bytes by {height} lines")));
        }
        let pitch = width.next_multiple_of(64);
        let data = device.allocate(u64::from(pitch).saturating_mul(height.into()), "surface")?;
        let handle = device.allocate(DESCRIPTOR as u64, "descriptor of a surface")?;
        let base = u32::try_from(data.0 >> 8).unwrap_or(0);
        let words = [
            base,
            0,
            width.wrapping_sub(1) | 1 << 21,
            pitch | 1 << 26 | 1 << 28 | 1 << 30,
            height.wrapping_sub(1) | 1 << 21,
        ];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        device.write(handle, &bytes)?;
        Ok(Self { handle, data, width, pitch, height })
    }

    /// Where a line begins.
    fn line(&self, line: u32) -> DevicePointer {
        DevicePointer(self.data.0.wrapping_add(u64::from(line).wrapping_mul(self.pitch.into())))
    }

    /// Writes the bytes of all lines, one line after the other.
    ///
    /// # Errors
    /// If the surface is no more in the device's memory.
    pub fn write(&self, device: &mut Device, bytes: &[u8]) -> Result<(), Reason> {
        let width = self.width as usize;
        (0..self.height)
            .zip(bytes.chunks(width.max(1)))
            .try_for_each(|(line, bytes)| device.write(self.line(line), bytes))
    }

    /// The bytes of all lines, one line after the other.
    ///
    /// # Errors
    /// If the surface is no more in the device's memory.
    pub fn read(&self, device: &mut Device) -> Result<Vec<u8>, Reason> {
        let mut bytes = Vec::new();
        for line in 0..self.height {
            bytes.extend(device.read(self.line(line), self.width as usize)?);
        }
        Ok(bytes)
    }
}

/// Bytes of an element, and whether it has a sign; by the numbers of the modifier `su_size`.
const SIZES: [(usize, bool); 7] =
    [(1, false), (1, true), (2, false), (2, true), (4, false), (8, false), (16, false)];

/// What becomes of accesses outside; by the numbers of the modifiers `su_clamp` and `sust_clamp`.
const TRAP: u64 = 1;

/// An access of a lane: its address in two halves (blocks of 256 bytes above, the byte in one below), the format, whether it
/// is outside, its size, and what is then to be done.
pub(crate) fn access(
    registers: &mut Registers,
    world: &mut World<'_>,
    arguments: &[u64; 16],
    is_store: bool,
    lane: usize,
) -> Result<(), Reason> {
    let [address, _, outside, size, clamp, ..] = *arguments;
    let Some(&(bytes, has_sign)) = usize::try_from(size).ok().and_then(|size| SIZES.get(size)) else {
        return Err(Reason::Unsupported("a surface's elements of an unknown size".into()));
    };
    if outside != 0 {
        if clamp == TRAP {
            return Err(Reason::OutOfSurface);
        }
        registers.set_result(lane, [0; 4]);
        return Ok(());
    }
    let address = (address >> 32 << 8) | (address & 0xff);
    if is_store {
        let data: Vec<u8> = registers.data(lane).iter().flat_map(|word| word.to_le_bytes()).collect();
        let data = data.get(..bytes).unwrap_or(&data);
        return world.device.write(DevicePointer(address), data);
    }
    let found = world.device.read(DevicePointer(address), bytes)?;
    let mut words = [0_u32; 4];
    for (word, bytes) in words.iter_mut().zip(found.chunks(4)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    if has_sign {
        let unused = if bytes == 1 { 24 } else { 16 };
        words[0] = ((words[0] << unused).cast_signed() >> unused).cast_unsigned();
    }
    registers.set_result(lane, words);
    Ok(())
}
