//! Surfaces: two-dimensional arrays of bytes that kernels read and write by coordinates.
//!
//! Kepler computes element addresses with dedicated instructions (`SUCLAMP`, `IMADSP.SD`, `SUBFM`, `SUEAU`) from a
//! descriptor of eight words. Its layout follows from code that `ptxas` 11.2 generates for `suld` and `sust`; its fields
//! match the semantics of these instructions in `unshade_sass`:
//!
//! | word | contents |
//! |---|---|
//! | 0 | the address in units of 256 bytes |
//! | 1 | the format, unused for byte accesses |
//! | 2 | bits 0 to 19: the last byte of a line; bit 21: pitch-linear |
//! | 3 | bits 0 to 23: the pitch in bytes; above: the width of the factors, 24 bits each |
//! | 4 | bits 0 to 19: the last line; bit 21: pitch-linear |
//!
//! The descriptor of a surface reference is in constant bank 0; the handle of a surface object is the address of a
//! descriptor in memory.

use crate::device::{Device, DevicePointer};
use crate::environment::Environment;
use crate::fault::Reason;
use crate::texture::TextureRegisters;

/// The size of a descriptor in bytes.
pub(crate) const DESCRIPTOR: usize = 32;

/// Maximum width in bytes, and maximum number of lines: 20 bits each.
const MOST: u32 = 1 << 16;

/// A two-dimensional surface.
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
    /// The address of the descriptor, to be passed to kernels as a `cudaSurfaceObject_t`.
    pub handle: DevicePointer,
    data: DevicePointer,
    width: u32,
    pitch: u32,
    height: u32,
}

impl Surface {
    /// Allocates a surface of `width` bytes per line and `height` lines.
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

    /// Returns the address of a line.
    fn line(&self, line: u32) -> DevicePointer {
        DevicePointer(self.data.0.wrapping_add(u64::from(line).wrapping_mul(self.pitch.into())))
    }

    /// Writes the bytes of all lines, in order.
    ///
    /// # Errors
    /// If the surface was freed.
    pub fn write(&self, device: &mut Device, bytes: &[u8]) -> Result<(), Reason> {
        let width = self.width as usize;
        (0..self.height)
            .zip(bytes.chunks(width.max(1)))
            .try_for_each(|(line, bytes)| device.write(self.line(line), bytes))
    }

    /// Returns the bytes of all lines, in order.
    ///
    /// # Errors
    /// If the surface was freed.
    pub fn read(&self, device: &mut Device) -> Result<Vec<u8>, Reason> {
        let mut bytes = Vec::new();
        for line in 0..self.height {
            bytes.extend(device.read(self.line(line), self.width as usize)?);
        }
        Ok(bytes)
    }
}

/// The size of an element and whether it is signed, by index of the modifier `su_size`.
const SIZES: [(usize, bool); 7] =
    [(1, false), (1, true), (2, false), (2, true), (4, false), (8, false), (16, false)];

/// The handling of accesses outside the surface, by index of the modifiers `su_clamp` and `sust_clamp`.
const TRAP: u64 = 1;

/// Performs the access of a lane. Arguments: the address in two parts (index of a 256-byte block, byte in the block), the
/// format, whether it is outside the surface, the element size, and the handling of accesses outside.
pub(crate) fn access(
    registers: &mut TextureRegisters,
    env: &mut Environment<'_>,
    arguments: &[u64; 16],
    is_store: bool,
    lane: usize,
) -> Result<(), Reason> {
    let [address, _, outside, size, clamp, ..] = *arguments;
    let Some(&(bytes, has_sign)) = usize::try_from(size).ok().and_then(|size| SIZES.get(size)) else {
        return Err(Reason::Unsupported("surface elements of unknown size".into()));
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
        return env.device.write(DevicePointer(address), data);
    }
    let found = env.device.read(DevicePointer(address), bytes)?;
    registers.set_result(lane, words(&found, has_sign));
    Ok(())
}

/// Returns the words of an element; one of fewer than 32 bits may be signed.
pub(crate) fn words(bytes: &[u8], has_sign: bool) -> [u32; 4] {
    let mut words = [0_u32; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(4)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    if has_sign && bytes.len() < 4 {
        let unused = 32 - 8 * bytes.len();
        words[0] = ((words[0] << unused).cast_signed() >> unused).cast_unsigned();
    }
    words
}

/// The descriptor of a surface, decoded.
pub(crate) struct Descriptor {
    base: u64,
    width: u32,
    pitch: u32,
    height: u32,
}

impl Descriptor {
    /// Reads the descriptor at an address.
    pub(crate) fn read(device: &mut Device, handle: DevicePointer) -> Result<Self, Reason> {
        let bytes = device.read(handle, DESCRIPTOR)?;
        let word = |index: usize| {
            let bytes = bytes.get(4 * index..4 * index + 4).unwrap_or(&[]);
            bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
        };
        Ok(Self {
            base: u64::from(word(0)) << 8,
            width: (word(2) & 0xf_ffff) + 1,
            pitch: word(3) & 0xff_ffff,
            height: (word(4) & 0xf_ffff) + 1,
        })
    }

    /// Returns the address of an element of some bytes, from its byte in the line and its line; none outside of the
    /// surface.
    pub(crate) fn address(&self, x: u32, y: u32, bytes: usize) -> Option<DevicePointer> {
        let end = u64::from(x) + bytes as u64;
        let is_inside = end <= u64::from(self.width) && y < self.height;
        is_inside.then(|| DevicePointer(self.base + u64::from(y) * u64::from(self.pitch) + u64::from(x)))
    }

    /// Returns the nearest coordinates inside the surface.
    pub(crate) fn clamped(&self, x: u32, y: u32, bytes: usize) -> (u32, u32) {
        let last = self.width.saturating_sub(u32::try_from(bytes).unwrap_or(0)).cast_signed();
        let x = x.cast_signed().clamp(0, last).cast_unsigned();
        (x, y.cast_signed().clamp(0, self.height.cast_signed() - 1).cast_unsigned())
    }
}
