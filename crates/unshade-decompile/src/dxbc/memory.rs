//! Instructions that read and write buffers, views and shared memory.
//!
//! Words of raw and structured buffers are read from the first lane on that the swizzle wants: `ld_raw r0.xy, a, t0.zwzz`
//! reads two words at `a + 8`. Shared memory is a variable; [`SharedForm`] says how an address becomes a place in it.

use super::declarations::{Shared, SharedForm};
use super::lifter::Lifter;
use super::sources::{Numbers, used_components};
use super::texture::{Access, swizzled};
use unshade_dxbc::Instruction;
use unshade_dxbc::operand::{Operand, OperandKind};
use unshade_ir::shader::data_type::DataType;
use unshade_ir::shader::interface::Shape;
use unshade_ir::shader::operation::barrier;
use unshade_ir::{Op, ShaderOp, Space, ValueId};

/// The bits of the opcode token of `sync`, and those of the operation.
const SCOPES: [(u32, u64); 4] = [
    (11, barrier::GROUP_SYNC),
    (12, barrier::GROUP_MEMORY),
    (13, barrier::DEVICE_MEMORY_OF_GROUP),
    (14, barrier::DEVICE_MEMORY),
];

impl Lifter<'_> {
    /// Lifts an instruction that reads or writes memory, or waits for it. Returns `None` if it is none.
    pub(super) fn memory(&mut self, mnemonic: &str, instruction: &Instruction) -> Option<()> {
        match mnemonic.strip_suffix("_s").unwrap_or(mnemonic) {
            "ld_raw" => {
                let access = Access::new(instruction)?;
                let [offset, resource] = access.sources else { return None };
                self.load_words(&access, None, offset, resource)
            }
            "ld_structured" => {
                let access = Access::new(instruction)?;
                let [index, offset, resource] = access.sources else { return None };
                self.load_words(&access, Some(index), offset, resource)
            }
            "store_raw" => {
                let [target, offset, value] = &instruction.operands[..] else { return None };
                self.store_words(target, None, offset, value)
            }
            "store_structured" => {
                let [target, index, offset, value] = &instruction.operands[..] else { return None };
                self.store_words(target, Some(index), offset, value)
            }
            "store_uav_typed" => self.store_texel(instruction),
            "sync" => {
                let set = SCOPES.iter().filter(|(bit, _)| instruction.token >> bit & 1 == 1);
                let bits = set.fold(0, |bits, (_, scope)| bits | scope);
                let bits = self.constant(bits, 32);
                self.effect(ShaderOp::Barrier, &[bits]);
                Some(())
            }
            _ => None,
        }
    }

    fn load_words(
        &mut self,
        access: &Access<'_>,
        index: Option<&Operand>,
        offset: &Operand,
        resource: &Operand,
    ) -> Option<()> {
        let wanted: Vec<u8> = access.targets().iter().map(|at| swizzled(resource, *at)).collect();
        // Only the status may be wanted.
        let first = wanted.iter().min().copied().unwrap_or(0);
        let last = wanted.iter().max().copied().unwrap_or(0);
        let index = index.map(|index| self.read_one(index, Numbers::Integer));
        let offset = self.read_one(offset, Numbers::Integer);
        if resource.kind() == OperandKind::GROUP_SHARED_MEMORY {
            let shared = *self.interface.shared.get(&(resource.indices[0].number as u32))?;
            let scalars = self.load_shared(shared, index, offset, &wanted);
            self.write_scalars(access.target(), &access.targets(), &scalars);
            return Some(());
        }
        let (handle, _) = self.bound(resource)?;
        let offset = self.plus(offset, 4 * u32::from(first));
        let count = u16::from(last - first) + 1;
        let value = match index {
            Some(index) => self.shader(ShaderOp::LoadStructured, count, &[handle, index, offset]),
            None => self.shader(ShaderOp::LoadRaw, count, &[handle, offset]),
        };
        self.write_status(access, value);
        let scalars: Vec<ValueId> = wanted.iter().map(|lane| self.lane(value, lane - first)).collect();
        self.write_scalars(access.target(), &access.targets(), &scalars);
        Some(())
    }

    fn store_words(
        &mut self,
        target: &Operand,
        index: Option<&Operand>,
        offset: &Operand,
        value: &Operand,
    ) -> Option<()> {
        let positions = used_components(target);
        let (first, last) = (*positions.first()?, *positions.last()?);
        let index = index.map(|index| self.read_one(index, Numbers::Integer));
        let offset = self.read_one(offset, Numbers::Integer);
        let value = self.read(value, &positions, Numbers::Float);
        let value = self.broadcast(value, positions.len());
        if target.kind() == OperandKind::GROUP_SHARED_MEMORY {
            let shared = *self.interface.shared.get(&(target.indices[0].number as u32))?;
            let scalars = self.lanes(value, positions.len());
            self.store_shared(shared, index, offset, &positions, &scalars);
            return Some(());
        }
        // Masks have no holes.
        if usize::from(last - first) + 1 != positions.len() {
            return None;
        }
        let (handle, _) = self.bound(target)?;
        let offset = self.plus(offset, 4 * u32::from(first));
        match index {
            Some(index) => self.effect(ShaderOp::StoreStructured, &[handle, index, offset, value]),
            None => self.effect(ShaderOp::StoreRaw, &[handle, offset, value]),
        }
        Some(())
    }

    fn store_texel(&mut self, instruction: &Instruction) -> Option<()> {
        let [target, address, value] = &instruction.operands[..] else { return None };
        let (handle, id) = self.bound(target)?;
        let resource = &self.resources[id];
        let (shape, element) = (resource.shape, resource.element.as_ref());
        let columns = match element {
            Some(DataType::Scalar(_)) => 1,
            Some(DataType::Vector(_, lanes)) => usize::from(*lanes),
            _ => 4,
        };
        let value = self.read_vector(value, columns, Numbers::Float);
        if shape == Shape::Buffer {
            let index = self.read_one(address, Numbers::Integer);
            self.effect(ShaderOp::StoreBuffer, &[handle, index, value]);
        } else {
            let coordinates = self.read_vector(address, shape.coordinates(), Numbers::Integer);
            let none = self.undefined();
            self.effect(ShaderOp::StoreTexture, &[handle, coordinates, value, none]);
        }
        Some(())
    }

    /// Returns a sum with a constant.
    pub(super) fn plus(&mut self, value: ValueId, addend: u32) -> ValueId {
        if addend == 0 {
            return value;
        }
        let addend = self.number(addend);
        self.lanewise(Op::Add, 32, &[value, addend])
    }

    /// Returns the number of a word: an offset in bytes, divided by four.
    fn words(&mut self, offset: ValueId) -> ValueId {
        if let Some(number) = self.function().number(offset) {
            return self.number(number as u32 / 4);
        }
        // Most offsets are shifted to the left.
        let function = &self.builder.function;
        let offset = function.resolve(offset);
        if function.op(offset) == Op::Shl
            && function.number(function.input(offset, 1)) == Some(2)
            && function.lanes(offset) == 1
        {
            return function.input(offset, 0);
        }
        let two = self.number(2);
        self.add(Op::Shr, 32, 1, &[offset, two])
    }

    /// Reads words of shared memory, each from the offset on.
    fn load_shared(
        &mut self,
        shared: Shared,
        index: Option<ValueId>,
        offset: ValueId,
        wanted: &[u8],
    ) -> Vec<ValueId> {
        if let (SharedForm::Vector(lanes), Some(index)) = (shared.form, index)
            && wanted.len() > 1
            && let Some(first) = self.function().number(offset)
            && wanted.iter().all(|lane| first / 4 + u64::from(*lane) < u64::from(lanes))
        {
            let place = self.shared_element(shared, index);
            let vector = self.add(Op::Load(Space::Shared), 32, lanes, &[place]);
            return wanted.iter().map(|lane| self.lane(vector, (first / 4) as u8 + lane)).collect();
        }
        let mut loaded: Vec<(u8, ValueId)> = Vec::new();
        for lane in wanted {
            if loaded.iter().any(|known| known.0 == *lane) {
                continue;
            }
            let place = self.shared_place(shared, index, offset, u32::from(*lane));
            loaded.push((*lane, self.add(Op::Load(Space::Shared), 32, 1, &[place])));
        }
        let none = self.undefined();
        let value = |lane: &u8| loaded.iter().find(|known| known.0 == *lane).map_or(none, |known| known.1);
        wanted.iter().map(value).collect()
    }

    fn store_shared(
        &mut self,
        shared: Shared,
        index: Option<ValueId>,
        offset: ValueId,
        positions: &[u8],
        scalars: &[ValueId],
    ) {
        let is_start = self.function().number(offset) == Some(0);
        if let (SharedForm::Vector(lanes), Some(index)) = (shared.form, index)
            && is_start
            && positions.iter().map(|at| u16::from(*at)).eq(0..lanes)
        {
            let place = self.shared_element(shared, index);
            let value = self.gather_all(scalars);
            self.add(Op::Store(Space::Shared), 0, 1, &[place, value]);
            return;
        }
        for (position, scalar) in positions.iter().zip(scalars) {
            let place = self.shared_place(shared, index, offset, u32::from(*position));
            self.add(Op::Store(Space::Shared), 0, 1, &[place, *scalar]);
        }
    }

    /// Returns the place of an element of structured shared memory.
    fn shared_element(&mut self, shared: Shared, index: ValueId) -> ValueId {
        let base = self.once(ShaderOp::Variable, &[shared.variable.number()]);
        self.shader(ShaderOp::Element, 1, &[base, index])
    }

    /// Returns the place of a word of shared memory, so many words after an address.
    pub(super) fn shared_place(
        &mut self,
        shared: Shared,
        index: Option<ValueId>,
        offset: ValueId,
        lane: u32,
    ) -> ValueId {
        let word = self.words(offset);
        let word = self.plus(word, lane);
        let Some(index) = index.filter(|_| shared.form != SharedForm::Raw) else {
            return self.shared_element(shared, word);
        };
        let element = self.shared_element(shared, index);
        match shared.form {
            SharedForm::Raw | SharedForm::Vector(1) => element,
            SharedForm::Members(_) => self.shader(ShaderOp::Field, 1, &[element, word]),
            SharedForm::Vector(_) | SharedForm::Words(_) => {
                self.shader(ShaderOp::Element, 1, &[element, word])
            }
        }
    }
}
