//! The memory of variables: of each thread, of the group, and constants.
//!
//! A place is the number of a variable and an offset in bytes. Reads outside of a variable are 0, and writes are dropped.

use super::fault::Reason;
use super::fill;
use std::ops::Range;
use unshade_ir::Key;
use unshade_ir::VariableId;
use unshade_ir::shader::data_type::{DataType, Packing};
use unshade_ir::shader::interface::{ShaderProgram, Variable, VariableSpace};

/// The number of the variable that the payload of a mesh is.
pub(super) const PAYLOAD: u32 = u32::MAX;

/// Bytes of a variable whose type has no size here.
const UNKNOWN_SIZE: u32 = 256;

/// The largest variable.
const MAX_SIZE: u32 = 1 << 22;

/// Where the variables of a program are.
pub(super) struct Layout {
    /// By variable: the memory, the offset in it, and the size.
    places: Vec<(VariableSpace, u32, u32)>,
    /// Bytes for each thread.
    pub(super) thread: u32,
    /// Bytes for the group.
    pub(super) group: u32,
    pub(super) constants: Vec<u8>,
    /// The start of the memory of a thread: the initial values of static variables.
    initial: Vec<u8>,
}

/// Writes the initial value of a variable to its memory.
fn set(memory: &mut [u8], variable: &Variable, program: &ShaderProgram) {
    let leaves = fill::leaves(&variable.ty, Packing::Structured, &program.structs);
    for (leaf, number) in leaves.iter().zip(&variable.values) {
        let at = leaf.offset as usize;
        let count = leaf.scalar.bytes().min(8) as usize;
        if let Some(slot) = memory.get_mut(at..at.saturating_add(count)) {
            slot.copy_from_slice(&number.to_le_bytes()[..count]);
        }
    }
}

/// Returns the value of a place.
pub(super) fn place(variable: u32, offset: u32) -> u64 {
    u64::from(variable) << 32 | u64::from(offset)
}

impl Layout {
    pub(super) fn new(program: &ShaderProgram) -> Result<Self, Reason> {
        let mut layout =
            Self { places: Vec::new(), thread: 0, group: 0, constants: Vec::new(), initial: Vec::new() };
        for variable in program.variables.iter() {
            let size = match Packing::Structured.size(&variable.ty, &program.structs) {
                0 => UNKNOWN_SIZE,
                size => size,
            };
            if size > MAX_SIZE {
                return Err(Reason::Memory);
            }
            let used = match variable.space {
                VariableSpace::Group => &mut layout.group,
                VariableSpace::Constant => {
                    let offset = layout.constants.len() as u32;
                    layout.places.push((variable.space, offset, size));
                    layout.constants.resize(offset as usize + size as usize, 0);
                    set(&mut layout.constants[offset as usize..], variable, program);
                    continue;
                }
                _ => &mut layout.thread,
            };
            let first = *used;
            layout.places.push((variable.space, first, size));
            *used = used.checked_add(size.next_multiple_of(16)).ok_or(Reason::Memory)?;
            if variable.space == VariableSpace::Static && !variable.values.is_empty() {
                layout.initial.resize(first as usize + size as usize, 0);
                set(&mut layout.initial[first as usize..], variable, program);
            }
        }
        Ok(layout)
    }

    /// Returns the memory of so many threads, with the initial values of static variables.
    pub(super) fn threads(&self, count: usize) -> Vec<u8> {
        let bytes = self.thread as usize;
        let mut memory = vec![0; bytes * count];
        if bytes > 0 && !self.initial.is_empty() {
            for thread in memory.chunks_exact_mut(bytes) {
                thread[..self.initial.len()].copy_from_slice(&self.initial);
            }
        }
        memory
    }

    /// Returns the memory of a variable, and its range there.
    pub(super) fn range(&self, variable: u32) -> Option<(VariableSpace, Range<usize>)> {
        let (space, first, size) = *self.places.get(VariableId::new(variable).index())?;
        Some((space, first as usize..first as usize + size as usize))
    }

    /// Returns the memory and the offset of a place, if a number with so many bytes is there.
    fn find(&self, place: u64, bytes: u32) -> Option<(VariableSpace, usize)> {
        let (space, range) = self.range((place >> 32) as u32)?;
        let offset = place as u32;
        let is_inside = offset.checked_add(bytes)? as usize <= range.len();
        is_inside.then_some((space, range.start + offset as usize))
    }
}

/// The memories that a thread sees.
pub(super) struct Memories<'m> {
    pub(super) layout: &'m Layout,
    /// The memory of all threads of the wave, and the lane of this one.
    pub(super) thread: &'m mut [u8],
    pub(super) lane: usize,
    pub(super) group: &'m mut [u8],
    pub(super) payload: &'m [u8],
}

impl Memories<'_> {
    fn slice(&mut self, place: u64, bytes: u32) -> Option<&mut [u8]> {
        let (space, at) = self.layout.find(place, bytes)?;
        let memory = match space {
            VariableSpace::Group => &mut *self.group,
            VariableSpace::Constant => return None,
            _ => {
                let first = self.lane * self.layout.thread as usize;
                return self.thread.get_mut(first + at..first + at + bytes as usize);
            }
        };
        memory.get_mut(at..at + bytes as usize)
    }

    /// Reads a number with so many bytes.
    pub(super) fn read(&mut self, place: u64, bytes: u32) -> u64 {
        let count = bytes.min(8);
        let of = |slice: &[u8]| slice.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        if (place >> 32) as u32 == PAYLOAD {
            let at = place as u32 as usize;
            return self.payload.get(at..at + count as usize).map_or(0, of);
        }
        if let Some((VariableSpace::Constant, at)) = self.layout.find(place, count) {
            return self.layout.constants.get(at..at + count as usize).map_or(0, of);
        }
        self.slice(place, count).map_or(0, |slice| of(slice))
    }

    /// Writes a number with so many bytes.
    pub(super) fn write(&mut self, place: u64, bytes: u32, number: u64) {
        let count = bytes.min(8);
        if let Some(slice) = self.slice(place, count) {
            slice.copy_from_slice(&number.to_le_bytes()[..count as usize]);
        }
    }
}

/// Returns the bytes of a number in memory, and whether it is a boolean.
pub(super) fn number_bytes(ty: Option<&DataType>, width: u8) -> u32 {
    let scalar = ty.and_then(DataType::scalar);
    match scalar {
        // Booleans are words.
        _ if width == 1 => 4,
        Some(scalar) if scalar.bits == width => scalar.bytes(),
        _ => u32::from(width.div_ceil(8)),
    }
}
