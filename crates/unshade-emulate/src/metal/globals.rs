//! Variables of a program in memory.

use super::memory::{Allocation, Memory, Use};
use std::ops::Range;
use unshade_ir::TypeId;
use unshade_ir::metal::interface::{Global, GlobalKind, Initial, MetalProgram};
use unshade_ir::metal::types::{TypeTable, ValueType};

/// The most bytes of a variable.
const MAX_BYTES: u64 = 1 << 28;

/// The deepest nesting of initial values.
const MAX_DEPTH: u32 = 32;

/// The most bytes of memory of a threadgroup, far above what devices have.
const MAX_THREADGROUP: u64 = 1 << 20;

/// Puts the variables of a program into memory, as far as there is room. Returns their addresses; none for what is too large.
pub(super) fn place(program: &MetalProgram, memory: &mut Memory, mut room: u64) -> Vec<Option<u64>> {
    let place = |global: &Global| {
        let size = program.types.size(global.ty);
        room = room.checked_sub(size)?;
        place_one(&program.types, global, memory)
    };
    program.globals.iter().map(place).collect()
}

fn place_one(types: &TypeTable, global: &Global, memory: &mut Memory) -> Option<u64> {
    let size = types.size(global.ty);
    let most = if global.kind == GlobalKind::Threadgroup { MAX_THREADGROUP } else { MAX_BYTES };
    if size > most {
        return None;
    }
    let bytes = vec![0; size as usize];
    let allocation = match &global.kind {
        GlobalKind::Threadgroup => Allocation::new(&global.name, bytes, Use::ReadWrite),
        GlobalKind::FunctionConstant(_) => Allocation::new(&global.name, bytes, Use::Unset),
        GlobalKind::Sampler(words) => {
            let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            Allocation::new(&global.name, bytes, Use::Constant)
        }
        GlobalKind::Constant(value) => {
            let mut filler = Filler { types, bytes, unknown: Vec::new() };
            filler.fill(value, global.ty, 0, 0);
            let mut allocation = Allocation::new(&global.name, filler.bytes, Use::Constant);
            allocation.unknown = filler.unknown;
            allocation
        }
    };
    Some(memory.add(allocation))
}

/// Writes an initial value.
struct Filler<'t> {
    types: &'t TypeTable,
    bytes: Vec<u8>,
    unknown: Vec<Range<u64>>,
}

impl Filler<'_> {
    fn fill(&mut self, value: &Initial, ty: TypeId, offset: u64, depth: u32) {
        let size = self.types.size(ty);
        match value {
            Initial::Zero => {}
            Initial::Number(number) => {
                let size = (size as usize).min(8);
                let place = usize::try_from(offset)
                    .ok()
                    .and_then(|start| self.bytes.get_mut(start..start.checked_add(size)?));
                if let Some(place) = place {
                    place.copy_from_slice(&number.to_le_bytes()[..size]);
                }
            }
            Initial::List(parts) if depth < MAX_DEPTH => {
                for (index, part) in parts.iter().enumerate() {
                    let Some((ty, at)) = self.part(ty, index) else { break };
                    self.fill(part, ty, offset.saturating_add(at), depth + 1);
                }
            }
            _ => self.unknown.push(offset..offset.saturating_add(size)),
        }
    }

    /// Returns the type and the offset of a part.
    fn part(&self, ty: TypeId, index: usize) -> Option<(TypeId, u64)> {
        match self.types.get(ty) {
            ValueType::Array(element, _) | ValueType::Vector(element, _) => {
                Some((element, self.types.size(element).saturating_mul(index as u64)))
            }
            _ => Some((self.types.structure(ty)?.fields.get(index)?.ty, self.types.offset(ty, index))),
        }
    }
}
