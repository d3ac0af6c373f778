//! The memory of resources: bytes of buffers, texels of textures and typed buffers.
//!
//! Reads outside of a buffer are 0, writes are dropped. Texels that were not written are hashes of their place. Sizes of
//! textures are the same for all: see [`SIZE`].

use super::fault::{Budget, Reason};
use super::fill;
use super::hash::hash;
use super::inputs::{Contents, HEAP, Inputs, Register};
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use unshade_ir::fold::masked;
use unshade_ir::hash::FastMap;
use unshade_ir::shader::AtomicOp;
use unshade_ir::shader::data_type::{DataType, Scalar};
use unshade_ir::shader::interface::{Resource, ResourceClass, ShaderProgram, Shape};
use unshade_ir::{ResourceId, fold};

/// The sizes of all textures: width, height, depth or layers, levels, samples.
pub(super) const SIZE: [u32; 5] = [16, 16, 8, 5, 4];

/// Number of elements of a typed buffer.
pub(super) const BUFFER_ELEMENTS: u32 = 64;

/// The value of a counter at first.
const COUNTER: u32 = 8;

/// The place of a texel: coordinates, and the level or sample.
pub(super) type Place = [u32; 5];

/// The memory of a register.
pub(super) enum Memory {
    Bytes { bytes: Vec<u8>, is_written: bool },
    Texels { scalar: Scalar, written: BTreeMap<Place, [u64; 4]> },
}

/// The memory of all resources that were accessed.
#[derive(Default)]
pub(super) struct Resources {
    pub(super) memory: FastMap<Register, Memory>,
    pub(super) counters: BTreeMap<Register, u32>,
}

/// A resource that a handle refers to.
#[derive(Clone, Copy)]
pub(super) struct Bound<'p> {
    pub(super) resource: &'p Resource,
    pub(super) register: Register,
}

/// Returns the value of a handle.
pub(super) fn handle(resource: u64, index: u64) -> u64 {
    resource << 32 | index & 0xffff_ffff
}

/// Returns what a handle refers to.
pub(super) fn bound(program: &ShaderProgram, handle: u64) -> Result<Bound<'_>, Reason> {
    let id = ResourceId::new((handle >> 32) as u32);
    let resource = program
        .resources
        .get(id)
        .ok_or_else(|| Reason::Unsupported("access of an unknown resource".into()))?;
    let first = resource.binding.map_or(0, |binding| binding.register);
    let register = Register {
        class: resource.class,
        number: first.wrapping_add(handle as u32),
        space: resource.binding.map_or(HEAP, |binding| binding.space),
    };
    Ok(Bound { resource, register })
}

impl Resources {
    /// Returns the memory of a register.
    pub(super) fn of(
        &mut self,
        bound: Bound<'_>,
        inputs: &Inputs,
        budget: &mut Budget,
    ) -> Result<&mut Memory, Reason> {
        if let Entry::Vacant(entry) = self.memory.entry(bound.register) {
            let memory = match inputs.contents(bound.register, bound.resource) {
                Contents::Bytes(bytes) => {
                    budget.allocate(bytes.len())?;
                    Memory::Bytes { bytes, is_written: false }
                }
                Contents::Texels(scalar) => Memory::Texels { scalar, written: BTreeMap::new() },
            };
            entry.insert(memory);
        }
        self.memory.get_mut(&bound.register).ok_or(Reason::Memory)
    }

    /// Changes a counter, and returns the number of the element that it is for.
    pub(super) fn count(&mut self, register: Register, is_decrement: bool) -> u32 {
        let counter = self.counters.entry(register).or_insert(COUNTER);
        if is_decrement {
            *counter = counter.wrapping_sub(1);
            return *counter;
        }
        *counter = counter.wrapping_add(1);
        counter.wrapping_sub(1)
    }
}

impl Memory {
    /// Returns the number of bytes; of texels, that of the elements of a buffer.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Bytes { bytes, .. } => bytes.len() as u32,
            Self::Texels { .. } => BUFFER_ELEMENTS,
        }
    }

    /// Reads a number; 0 where there is none.
    pub(super) fn read(&self, at: u64, width: u8) -> u64 {
        let Self::Bytes { bytes, .. } = self else { return 0 };
        let Ok(at) = usize::try_from(at) else { return 0 };
        let count = usize::from(width.div_ceil(8)).min(8);
        let Some(slice) = bytes.get(at..at.saturating_add(count)) else { return 0 };
        masked(slice.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)), width)
    }

    /// Writes a number, if there is memory for it.
    pub(super) fn write(&mut self, at: u64, width: u8, number: u64) {
        let Self::Bytes { bytes, is_written } = self else { return };
        let Ok(at) = usize::try_from(at) else { return };
        let count = usize::from(width.div_ceil(8)).min(8);
        if let Some(slice) = bytes.get_mut(at..at.saturating_add(count)) {
            slice.copy_from_slice(&number.to_le_bytes()[..count]);
            *is_written = true;
        }
    }

    /// Reads a component of a texel.
    pub(super) fn texel(&self, bound: Bound<'_>, place: Place, component: usize, seed: u64) -> u64 {
        let Self::Texels { scalar, written } = self else {
            return self.element(bound, linear(bound.resource.shape, place), component);
        };
        if !is_inside(bound.resource.shape, place) {
            return 0;
        }
        if let Some(texel) = written.get(&place) {
            return texel[component & 3];
        }
        fill::number(*scalar, seed, place_hash(bound.register, place, component, seed))
    }

    /// Writes a component of a texel.
    pub(super) fn set_texel(
        &mut self,
        bound: Bound<'_>,
        place: Place,
        texel: &[u64],
        seed: u64,
        budget: &mut Budget,
    ) -> Result<(), Reason> {
        if !is_inside(bound.resource.shape, place) {
            return Ok(());
        }
        if let Self::Bytes { .. } = self {
            let (width, count) = format(bound.resource);
            for (component, number) in (0..count).zip(texel) {
                let index = linear(bound.resource.shape, place);
                let at = (index * u64::from(count) + u64::from(component)) * u64::from(width / 8);
                self.write(at, width, *number);
            }
            return Ok(());
        }
        // Components that are not given keep what they have.
        let mut all = [0; 4];
        for (component, slot) in all.iter_mut().enumerate() {
            *slot = match texel.get(component) {
                Some(number) => *number,
                None => self.texel(bound, place, component, seed),
            };
        }
        let Self::Texels { written, .. } = self else { return Ok(()) };
        if written.insert(place, all).is_none() {
            budget.allocate(64)?;
        }
        Ok(())
    }

    /// Reads a component of an element of a typed buffer that is given as bytes.
    fn element(&self, bound: Bound<'_>, index: u64, component: usize) -> u64 {
        let (width, count) = format(bound.resource);
        if component as u32 >= count {
            return 0;
        }
        let at = index * u64::from(count) + component as u64;
        self.read(at * u64::from(width / 8), width)
    }
}

/// Returns the number of a texel of a resource that is given as bytes: rows after rows.
pub(super) fn linear(shape: Shape, place: Place) -> u64 {
    let [x, y, z, ..] = place.map(u64::from);
    let [width, height, ..] = SIZE.map(u64::from);
    if shape == Shape::Buffer { x } else { x + width * (y + height * z) }
}

/// Returns the bits of a component, and the number of components of a texel.
pub(super) fn format(resource: &Resource) -> (u8, u32) {
    match &resource.element {
        Some(DataType::Scalar(scalar)) => (scalar.bits, 1),
        Some(DataType::Vector(scalar, lanes)) => (scalar.bits, u32::from(*lanes)),
        _ => (32, 4),
    }
}

fn place_hash(register: Register, place: Place, component: usize, seed: u64) -> u64 {
    let mut numbers = [0; 10];
    numbers[0] = seed;
    numbers[1] = register.class as u64;
    numbers[2] = u64::from(register.number);
    numbers[3] = u64::from(register.space);
    numbers[4] = component as u64;
    for (slot, coordinate) in numbers[5..].iter_mut().zip(place) {
        *slot = u64::from(coordinate);
    }
    hash(&numbers)
}

/// Returns whether there is a texel at a place.
fn is_inside(shape: Shape, place: Place) -> bool {
    let limits = match shape {
        Shape::Buffer => return place[0] < BUFFER_ELEMENTS,
        Shape::Texture1DArray => [SIZE[0], SIZE[2], 1, 1],
        shape => {
            let count = shape.coordinates();
            let limit = |index: usize| if index < count { SIZE[index.min(2)] } else { 1 };
            [limit(0), limit(1), limit(2), limit(3)]
        }
    };
    let last = if shape.is_multisampled() { SIZE[4] } else { SIZE[3] };
    place.iter().zip(limits).all(|(coordinate, limit)| *coordinate < limit) && place[4] < last
}

/// Returns the sizes of a resource, as the operation of the language returns them.
pub(super) fn dimensions(bound: Bound<'_>, length: u32, level: u32) -> [u32; 4] {
    let size = |index: usize| (SIZE[index] >> level.min(31)).max(1);
    let is_level = level < SIZE[3];
    let (levels, layers, samples) = (SIZE[3], SIZE[2], SIZE[4]);
    let sizes = match bound.resource.shape {
        Shape::Buffer | Shape::ByteAddressBuffer => return [length, 0, 0, 0],
        Shape::StructuredBuffer => {
            let stride = bound.resource.size;
            return [length / stride.max(1), stride, 0, 0];
        }
        Shape::Texture1D => [size(0), 0, 0, levels],
        Shape::Texture1DArray => [size(0), layers, 0, levels],
        Shape::Texture2DMS => [size(0), size(1), 0, samples],
        Shape::Texture2DMSArray => [size(0), size(1), layers, samples],
        Shape::Texture2DArray | Shape::TextureCubeArray | Shape::FeedbackTexture2DArray => {
            [size(0), size(1), layers, levels]
        }
        Shape::Texture3D => [size(0), size(1), size(2), levels],
        _ => [size(0), size(1), 0, levels],
    };
    // Of a level that does not exist, only the number of levels is known.
    if is_level { sizes } else { [0, 0, 0, sizes[3]] }
}

/// Returns what an atomic operation makes of a number.
pub(super) fn atomic(op: AtomicOp, old: u64, value: u64, width: u8) -> u64 {
    let (x, y) = (fold::signed(old, width), fold::signed(value, width));
    let new = match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::SignedMin => x.min(y).cast_unsigned(),
        AtomicOp::SignedMax => x.max(y).cast_unsigned(),
        AtomicOp::UnsignedMin => old.min(value),
        AtomicOp::UnsignedMax => old.max(value),
        AtomicOp::Exchange => value,
    };
    masked(new, width)
}

/// Returns whether writes to a resource are kept.
pub(super) fn is_written(register: Register) -> bool {
    register.class == ResourceClass::UnorderedAccess
}
