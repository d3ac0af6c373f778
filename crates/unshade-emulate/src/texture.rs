//! Textures: read by point or with linear filtering, with the ways to address what is outside.
//!
//! A texture instruction names the word of constant bank 0 that holds the handle, or none, and the handle is its first
//! source. The others are, one register each: the layer of a layered texture, the coordinates, and the level of detail where one is given.
//!
//! Filtering is NVIDIA's ("Texture Fetching" in the *CUDA C++ Programming Guide*): linear weights have 8 bits of
//! fraction. Textures have one level of detail here. Depth comparison, cube maps and offsets are not emulated.

use crate::fault::Reason;
use crate::lanes::{Bits, Values};
use crate::outside::Outside;
use crate::world::{LANES, World};

/// How texels are made into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The texel that the coordinates are in (`cudaFilterModePoint`).
    Point,
    /// Between the texels around (`cudaFilterModeLinear`); for textures of floats.
    Linear,
}

/// What is outside of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outer {
    /// The outermost texel (`cudaAddressModeClamp`).
    Clamp,
    /// Zero (`cudaAddressModeBorder`).
    Border,
    /// The texture again (`cudaAddressModeWrap`, for normalized coordinates).
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
    outer: Outer,
    normalized: bool,
}

impl Texture {
    /// A texture of floats, `channels` of them for each texel, rows one after the other. Layers are the third size.
    pub fn floats(size: [u32; 3], channels: usize, values: &[f32]) -> Self {
        Self::new(size, channels, values.iter().map(|value| value.to_bits()))
    }

    /// A texture of integers.
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
            if let Some(place) =
                texels.last_mut().and_then(|texel: &mut [u32; 4]| texel.get_mut(index % channels))
            {
                *place = value;
            }
        }
        Self {
            size: size.map(|size| size.max(1)),
            texels,
            filter: Filter::Point,
            outer: Outer::Clamp,
            normalized: false,
        }
    }

    /// With another filter.
    #[must_use]
    pub fn filter(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// With something else outside.
    #[must_use]
    pub fn outer(self, outer: Outer) -> Self {
        Self { outer, ..self }
    }

    /// With coordinates from 0 to 1.
    #[must_use]
    pub fn normalized(self) -> Self {
        Self { normalized: true, ..self }
    }

    /// A texel; zero outside.
    fn texel(&self, at: [i64; 3]) -> [u32; 4] {
        let [width, height, depth] = self.size.map(i64::from);
        let [x, y, z] = at;
        if x < 0 || y < 0 || z < 0 || x >= width || y >= height || z >= depth {
            return [0; 4];
        }
        let index = (z * height + y) * width + x;
        usize::try_from(index).ok().and_then(|index| self.texels.get(index)).copied().unwrap_or([0; 4])
    }

    /// The number of a texel along a dimension that stands for one that may be outside.
    fn inside(&self, at: i64, size: u32) -> i64 {
        let size = i64::from(size);
        match self.outer {
            Outer::Clamp => at.clamp(0, size - 1),
            Outer::Border => at,
            Outer::Wrap => at.rem_euclid(size),
            Outer::Mirror => {
                let round = at.rem_euclid(2 * size);
                if round < size { round } else { 2 * size - 1 - round }
            }
        }
    }

    /// The value at coordinates, of which so many count; the rest is a layer that is not filtered.
    fn sample(&self, coordinates: [f32; 3], dimensions: usize, layer: i64) -> [u32; 4] {
        let mut low = [0_i64; 3];
        let mut weight = [0_u32; 3];
        for (dimension, ((low, weight), size)) in low.iter_mut().zip(&mut weight).zip(self.size).enumerate() {
            if dimension >= dimensions {
                continue;
            }
            let coordinate = coordinates.get(dimension).copied().unwrap_or(0.0);
            let scaled = if self.normalized { coordinate * size as f32 } else { coordinate };
            // A coordinate beyond all textures, or none at all, is as far outside as any.
            let scaled = f64::from(if scaled.is_nan() { 0.0 } else { scaled.clamp(-1e9, 1e9) });
            match self.filter {
                Filter::Point => *low = scaled.floor() as i64,
                Filter::Linear => {
                    // 8 bits of fraction.
                    let fixed = ((scaled - 0.5) * 256.0).round() as i64;
                    *low = fixed >> 8;
                    *weight = u32::try_from(fixed & 0xff).unwrap_or(0);
                }
            }
        }
        if dimensions < 3 {
            low[2] = layer.clamp(0, i64::from(self.size[2]) - 1);
        }
        let at = |corner: usize| {
            let mut place = [0; 3];
            for (dimension, place) in place.iter_mut().enumerate() {
                let further = if corner >> dimension & 1 == 1 { 1 } else { 0 };
                let at = low.get(dimension).copied().unwrap_or(0) + further;
                let size = self.size.get(dimension).copied().unwrap_or(1);
                *place = if dimension < dimensions { self.inside(at, size) } else { at };
            }
            self.texel(place)
        };
        if self.filter == Filter::Point {
            return at(0);
        }
        let mut sum = [0.0_f32; 4];
        for corner in 0..1_usize << dimensions {
            let mut factor = 1.0_f32;
            for (dimension, weight) in weight.iter().enumerate().take(dimensions) {
                let part = *weight as f32 / 256.0;
                factor *= if corner >> dimension & 1 == 1 { part } else { 1.0 - part };
            }
            for (sum, channel) in sum.iter_mut().zip(at(corner)) {
                *sum += factor * f32::from_bits(channel);
            }
        }
        sum.map(f32::to_bits)
    }
}

/// What a texture instruction has of each lane: its sources, and what it gave.
#[derive(Debug)]
pub(crate) struct Registers {
    sources: Vec<[u32; 8]>,
    results: Vec<[u32; 4]>,
}

impl Default for Registers {
    fn default() -> Self {
        Self { sources: vec![[0; 8]; LANES], results: vec![[0; 4]; LANES] }
    }
}

/// A shape: how many coordinates, and whether there are layers. By the number of the modifier `tex_target`.
const SHAPES: [(usize, bool); 6] = [(1, false), (1, true), (2, false), (2, true), (3, false), (3, true)];

impl Registers {
    pub(crate) fn set_coordinates(&mut self, values: &[Values], lanes: u32) {
        self.set(values, lanes, 0);
    }

    pub(crate) fn set_arguments(&mut self, values: &[Values], lanes: u32) {
        self.set(values, lanes, 4);
    }

    #[expect(clippy::cast_possible_truncation, reason = "registers of 32 bits")]
    fn set(&mut self, values: &[Values], lanes: u32, first: usize) {
        for lane in Bits(lanes) {
            if let Some(sources) = self.sources.get_mut(lane) {
                let places = sources.iter_mut().skip(first).take(4);
                places.zip(values).for_each(|(place, value)| *place = value[lane] as u32);
            }
        }
    }

    /// What is to be written, word by word.
    pub(crate) fn data(&self, lane: usize) -> [u32; 4] {
        let [a, b, c, d, ..] = self.sources.get(lane).copied().unwrap_or_default();
        [a, b, c, d]
    }

    /// Sets the words of a result.
    pub(crate) fn set_result(&mut self, lane: usize, words: [u32; 4]) {
        self.put(lane, words, 0xf);
    }

    /// The n-th register of the result.
    pub(crate) fn result(&self, index: u64, lane: usize) -> u64 {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.results.get(lane).and_then(|result| result.get(index)).copied().unwrap_or(0).into()
    }

    /// A texture instruction of a lane.
    pub(crate) fn run(
        &mut self,
        function: Outside,
        world: &World<'_>,
        arguments: &[u64; 16],
        lane: usize,
    ) -> Result<(), Reason> {
        let [slot, shape, detail, offset, compare, ..] = *arguments;
        let sources = self.sources.get(lane).copied().unwrap_or_default();
        let unsupported = |what: &str| Err(Reason::Unsupported(what.to_owned()));
        let mut rest = sources.into_iter();
        // The first register holds the handle where no constant does.
        let handle = match slot {
            0 => rest.next().unwrap_or(0).into(),
            slot => world.constant(slot << 2, 32)?,
        };
        let Some(texture) = world.device.texture(handle) else {
            return Err(Reason::HostCall(match slot {
                0 => format!("{handle:#x} in a register is the handle of no texture"),
                slot => format!("no texture is bound to c[0x0][{:#x}]", slot << 2),
            }));
        };
        if function == Outside::TextureQuery {
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
        coordinates.iter_mut().take(dimensions).for_each(|place| *place = rest.next().unwrap_or(0));
        let values = match function {
            Outside::TextureFetch => {
                if offset != 0 || compare != 0 {
                    return unsupported("texel offsets and samples");
                }
                let mut at = coordinates.map(|coordinate| i64::from(coordinate.cast_signed()));
                if layered {
                    at[2] = layer;
                }
                texture.texel(at)
            }
            Outside::TextureSample => {
                if offset != 0 || compare != 0 {
                    return unsupported("texel offsets and depth comparison");
                }
                texture.sample(coordinates.map(f32::from_bits), dimensions, layer)
            }
            _ => {
                if offset != 0 || compare != 0 || dimensions != 2 {
                    return unsupported("gathering with offsets or depth comparison");
                }
                gather(texture, coordinates.map(f32::from_bits), layer, detail)
            }
        };
        // The mask is the last argument: of a fetch, a sample and a gather the seventh.
        self.put(lane, values, arguments[6]);
        Ok(())
    }

    /// The channels of a mask, one after the other.
    fn put(&mut self, lane: usize, values: [u32; 4], mask: u64) {
        let Some(result) = self.results.get_mut(lane) else { return };
        let wanted = (0..).zip(values).filter(|(channel, _)| mask >> channel & 1 != 0);
        result.iter_mut().zip(wanted).for_each(|(place, (_, value))| *place = value);
    }
}

/// A channel of the four texels that filtering would take, counterclockwise from the lower left.
fn gather(texture: &Texture, coordinates: [f32; 3], layer: i64, channel: u64) -> [u32; 4] {
    let [x, y, _] = coordinates;
    let [width, height, _] = texture.size;
    let scale = |value: f32, size: u32| if texture.normalized { value * size as f32 } else { value };
    let low = |value: f32, size: u32| (scale(value, size).clamp(-1e9, 1e9) - 0.5).floor() as i64;
    let (x, y) = (low(x, width), low(y, height));
    let channel = usize::try_from(channel & 3).unwrap_or(0);
    [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(right, down)| {
        let at = [texture.inside(x + right, width), texture.inside(y + down, height), layer];
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
    fn points_and_lines() {
        let texture = ramp();
        assert_eq!(at(&texture, 2.9, 1.0), 12.0);
        assert_eq!(at(&texture, -5.0, 0.0), 0.0);
        assert_eq!(at(&texture, 99.0, 9.0), 13.0);
        let texture = ramp().filter(Filter::Linear);
        assert_eq!(at(&texture, 1.0, 0.5), 0.5);
        assert_eq!(at(&texture, 1.0, 1.0), 5.5);
        assert_eq!(at(&ramp().outer(Outer::Border), -1.0, 0.0), 0.0);
        let wrapped = ramp().normalized().outer(Outer::Wrap);
        assert_eq!(at(&wrapped, 1.3, 0.0), 1.0);
        let mirrored = ramp().normalized().outer(Outer::Mirror);
        assert_eq!(at(&mirrored, 1.1, 0.0), 3.0);
    }
}
