//! Textures, with point or linear filtering and the usual address modes.
//!
//! The handle of a texture instruction is in a word of constant bank 0, or in the first source register. The following
//! sources, one register each, are the layer of a layered texture, the coordinates, and an optional level of detail.
//!
//! Filtering follows "Texture Fetching" in the *CUDA C++ Programming Guide*: linear weights have 8 fractional bits.
//! Textures have a single level of detail. Depth comparison, cube maps and offsets are not emulated.

use crate::environment::{Environment, LANES};
use crate::fault::Reason;
use crate::intrinsics::Intrinsic;
use crate::lanes::{Bits, Values};

/// The filter mode of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel (`cudaFilterModePoint`).
    Point,
    /// Linear interpolation (`cudaFilterModeLinear`), for floating-point textures.
    Linear,
}

/// The address mode of a texture: what is outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The nearest border texel (`cudaAddressModeClamp`).
    Clamp,
    /// Zero (`cudaAddressModeBorder`).
    Border,
    /// The texture repeated (`cudaAddressModeWrap`, for normalized coordinates).
    Wrap,
    /// The texture mirrored (`cudaAddressModeMirror`, for normalized coordinates).
    Mirror,
}

/// A texture: texels of one to four channels of 32 bits.
///
/// ```
/// use unshade_emulate::{Device, Texture, texture::Filter};
///
/// let mut device = Device::new();
/// let ramp: Vec<f32> = (0..16).map(|x| x as f32).collect();
/// let handle = device.add_texture(Texture::floats([16, 1, 1], 1, &ramp).filter(Filter::Linear));
/// assert_eq!(handle, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Texture {
    size: [u32; 3],
    texels: Vec<[u32; 4]>,
    filter: Filter,
    address_mode: AddressMode,
    normalized: bool,
}

impl Texture {
    /// Creates a floating-point texture with `channels` values per texel, in row-major order. The third size is the
    /// number of layers.
    pub fn floats(size: [u32; 3], channels: usize, values: &[f32]) -> Self {
        Self::new(size, channels, values.iter().map(|value| value.to_bits()))
    }

    /// Creates an integer texture.
    pub fn words(size: [u32; 3], channels: usize, values: &[u32]) -> Self {
        Self::new(size, channels, values.iter().copied())
    }

    fn new(size: [u32; 3], channels: usize, values: impl Iterator<Item = u32>) -> Self {
        let mut texels = Vec::new();
        let channels = channels.clamp(1, 4);
        for (index, value) in values.enumerate() {
            if index % channels == 0 {
                texels.push([0; 4]);
            }
            if let Some(target) =
                texels.last_mut().and_then(|texel: &mut [u32; 4]| texel.get_mut(index % channels))
            {
                *target = value;
            }
        }
        Self {
            size: size.map(|size| size.max(1)),
            texels,
            filter: Filter::Point,
            address_mode: AddressMode::Clamp,
            normalized: false,
        }
    }

    /// Sets the filter mode.
    #[must_use]
    pub fn filter(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// Sets the address mode.
    #[must_use]
    pub fn address_mode(self, address_mode: AddressMode) -> Self {
        Self { address_mode, ..self }
    }

    /// Makes coordinates range from 0 to 1.
    #[must_use]
    pub fn normalized(self) -> Self {
        Self { normalized: true, ..self }
    }

    /// Returns a texel; zero outside the texture.
    pub(crate) fn texel(&self, at: [i64; 3]) -> [u32; 4] {
        let [width, height, depth] = self.size.map(i64::from);
        let [x, y, z] = at;
        if x < 0 || y < 0 || z < 0 || x >= width || y >= height || z >= depth {
            return [0; 4];
        }
        let index = (z * height + y) * width + x;
        usize::try_from(index).ok().and_then(|index| self.texels.get(index)).copied().unwrap_or([0; 4])
    }

    /// Applies the address mode to a texel index along one dimension.
    fn wrap_index(&self, at: i64, size: u32) -> i64 {
        let size = i64::from(size);
        match self.address_mode {
            AddressMode::Clamp => at.clamp(0, size - 1),
            AddressMode::Border => at,
            AddressMode::Wrap => at.rem_euclid(size),
            AddressMode::Mirror => {
                let round = at.rem_euclid(2 * size);
                if round < size { round } else { 2 * size - 1 - round }
            }
        }
    }

    /// Samples at the first `dimensions` coordinates, in a layer, which is not filtered.
    pub(crate) fn sample(&self, coordinates: [f32; 3], dimensions: usize, layer: i64) -> [u32; 4] {
        let mut low = [0_i64; 3];
        let mut weight = [0_u32; 3];
        for (dimension, ((low, weight), size)) in low.iter_mut().zip(&mut weight).zip(self.size).enumerate() {
            if dimension >= dimensions {
                continue;
            }
            let coordinate = coordinates.get(dimension).copied().unwrap_or(0.0);
            let scaled = if self.normalized { coordinate * size as f32 } else { coordinate };
            // Huge coordinates are clamped to a point far outside; NaNs become 0.
            let scaled = f64::from(if scaled.is_nan() { 0.0 } else { scaled.clamp(-1e9, 1e9) });
            match self.filter {
                Filter::Point => *low = scaled.floor() as i64,
                Filter::Linear => {
                    // 8 fractional bits.
                    let fixed = ((scaled - 0.5) * 256.0).round() as i64;
                    *low = fixed >> 8;
                    *weight = u32::try_from(fixed & 0xff).unwrap_or(0);
                }
            }
        }
        if dimensions < 3 {
            low[2] = layer.clamp(0, i64::from(self.size[2]) - 1);
        }
        let texel_at = |corner: usize| {
            let mut texel = [0; 3];
            for (dimension, coordinate) in texel.iter_mut().enumerate() {
                let offset = if corner >> dimension & 1 == 1 { 1 } else { 0 };
                let at = low.get(dimension).copied().unwrap_or(0) + offset;
                let size = self.size.get(dimension).copied().unwrap_or(1);
                *coordinate = if dimension < dimensions { self.wrap_index(at, size) } else { at };
            }
            self.texel(texel)
        };
        if self.filter == Filter::Point {
            return texel_at(0);
        }
        let mut sum = [0.0_f32; 4];
        for corner in 0..1_usize << dimensions {
            let mut factor = 1.0_f32;
            for (dimension, weight) in weight.iter().enumerate().take(dimensions) {
                let part = *weight as f32 / 256.0;
                factor *= if corner >> dimension & 1 == 1 { part } else { 1.0 - part };
            }
            for (sum, channel) in sum.iter_mut().zip(texel_at(corner)) {
                *sum += factor * f32::from_bits(channel);
            }
        }
        sum.map(f32::to_bits)
    }
}

/// The sources and results of a texture or surface instruction, by lane.
#[derive(Debug)]
pub(crate) struct TextureRegisters {
    sources: Vec<[u32; 8]>,
    results: Vec<[u32; 4]>,
}

impl Default for TextureRegisters {
    fn default() -> Self {
        Self { sources: vec![[0; 8]; LANES], results: vec![[0; 4]; LANES] }
    }
}

/// The number of coordinates and whether there are layers, by index of the modifier `tex_target`.
const SHAPES: [(usize, bool); 6] = [(1, false), (1, true), (2, false), (2, true), (3, false), (3, true)];

impl TextureRegisters {
    pub(crate) fn set_coordinates(&mut self, values: &[Values], lanes: u32) {
        self.set(values, lanes, 0);
    }

    pub(crate) fn set_arguments(&mut self, values: &[Values], lanes: u32) {
        self.set(values, lanes, 4);
    }

    #[expect(clippy::cast_possible_truncation, reason = "registers have 32 bits")]
    fn set(&mut self, values: &[Values], lanes: u32, first: usize) {
        for lane in Bits(lanes) {
            if let Some(sources) = self.sources.get_mut(lane) {
                let targets = sources.iter_mut().skip(first).take(4);
                targets.zip(values).for_each(|(target, value)| *target = value[lane] as u32);
            }
        }
    }

    /// Returns the words to be stored.
    pub(crate) fn data(&self, lane: usize) -> [u32; 4] {
        let [a, b, c, d, ..] = self.sources.get(lane).copied().unwrap_or_default();
        [a, b, c, d]
    }

    /// Sets the words of a result.
    pub(crate) fn set_result(&mut self, lane: usize, words: [u32; 4]) {
        self.put(lane, words, 0xf);
    }

    /// Returns a word of the result.
    pub(crate) fn result(&self, index: u64, lane: usize) -> u64 {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.results.get(lane).and_then(|result| result.get(index)).copied().unwrap_or(0).into()
    }

    /// Executes a texture instruction for a lane.
    pub(crate) fn run(
        &mut self,
        function: Intrinsic,
        env: &Environment<'_>,
        arguments: &[u64; 16],
        lane: usize,
    ) -> Result<(), Reason> {
        let [slot, shape, detail, offset, compare, ..] = *arguments;
        let sources = self.sources.get(lane).copied().unwrap_or_default();
        let unsupported = |what: &str| Err(Reason::Unsupported(what.to_owned()));
        let mut rest = sources.into_iter();
        // Without a constant, the first register has the handle.
        let handle = match slot {
            0 => rest.next().unwrap_or(0).into(),
            slot => env.constant(slot << 2, 32)?,
        };
        let Some(texture) = env.device.texture(handle) else {
            return Err(Reason::HostCall(match slot {
                0 => format!("the register holds {handle:#x}, which is not the handle of a texture"),
                slot => format!("no texture is bound to c[0x0][{:#x}]", slot << 2),
            }));
        };
        if function == Intrinsic::TextureQuery {
            let [width, height, depth] = texture.size;
            self.put(lane, [width, height, depth, 1], arguments[2]);
            return Ok(());
        }
        let index = usize::try_from(shape).unwrap_or(usize::MAX);
        let Some((dimensions, layered)) = SHAPES.get(index).copied() else {
            return unsupported("cube maps");
        };
        let layer = if layered { i64::from(rest.next().unwrap_or(0) & 0xffff) } else { 0 };
        let mut coordinates = [0_u32; 3];
        coordinates.iter_mut().take(dimensions).for_each(|coordinate| *coordinate = rest.next().unwrap_or(0));
        let values = match function {
            Intrinsic::TextureFetch => {
                if offset != 0 || compare != 0 {
                    return unsupported("texel offsets and samples");
                }
                let mut at = coordinates.map(|coordinate| i64::from(coordinate.cast_signed()));
                if layered {
                    at[2] = layer;
                }
                texture.texel(at)
            }
            Intrinsic::TextureSample => {
                if offset != 0 || compare != 0 {
                    return unsupported("texel offsets and depth comparison");
                }
                texture.sample(coordinates.map(f32::from_bits), dimensions, layer)
            }
            _ => {
                if offset != 0 || compare != 0 || dimensions != 2 {
                    return unsupported("gathers with offsets or depth comparison");
                }
                gather(texture, coordinates.map(f32::from_bits), layer, detail)
            }
        };
        // The mask is the seventh argument of a fetch, sample or gather.
        self.put(lane, values, arguments[6]);
        Ok(())
    }

    /// Sets the result to the channels in a mask, packed.
    fn put(&mut self, lane: usize, values: [u32; 4], mask: u64) {
        let Some(result) = self.results.get_mut(lane) else { return };
        let wanted = (0..).zip(values).filter(|(channel, _)| mask >> channel & 1 != 0);
        result.iter_mut().zip(wanted).for_each(|(target, (_, value))| *target = value);
    }
}

/// Returns one channel of the four texels used for filtering, counterclockwise from the lower left.
pub(crate) fn gather(texture: &Texture, coordinates: [f32; 3], layer: i64, channel: u64) -> [u32; 4] {
    let [x, y, _] = coordinates;
    let [width, height, _] = texture.size;
    let scale = |value: f32, size: u32| if texture.normalized { value * size as f32 } else { value };
    let low = |value: f32, size: u32| (scale(value, size).clamp(-1e9, 1e9) - 0.5).floor() as i64;
    let (x, y) = (low(x, width), low(y, height));
    let channel = usize::try_from(channel & 3).unwrap_or(0);
    [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(right, down)| {
        let at = [texture.wrap_index(x + right, width), texture.wrap_index(y + down, height), layer];
        texture.texel(at).get(channel).copied().unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Texture {
        Texture::floats([4, 2, 1], 1, &[0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0])
    }

    fn at(texture: &Texture, x: f32, y: f32) -> f32 {
        f32::from_bits(texture.sample([x, y, 0.0], 2, 0)[0])
    }

    #[test]
    fn point_and_linear_filters() {
        let texture = ramp();
        assert_eq!(at(&texture, 2.9, 1.0), 12.0);
        assert_eq!(at(&texture, -5.0, 0.0), 0.0);
        assert_eq!(at(&texture, 99.0, 9.0), 13.0);
        let texture = ramp().filter(Filter::Linear);
        assert_eq!(at(&texture, 1.0, 0.5), 0.5);
        assert_eq!(at(&texture, 1.0, 1.0), 5.5);
        assert_eq!(at(&ramp().address_mode(AddressMode::Border), -1.0, 0.0), 0.0);
        let wrapped = ramp().normalized().address_mode(AddressMode::Wrap);
        assert_eq!(at(&wrapped, 1.3, 0.0), 1.0);
        let mirrored = ramp().normalized().address_mode(AddressMode::Mirror);
        assert_eq!(at(&mirrored, 1.1, 0.0), 3.0);
    }
}
