//! Places of variables and their loads and stores; accesses of buffers and texels, atomic operations.

use super::code::{Code, element, field};
use super::fault::Reason;
use super::lanewise::each;
use super::machine::{Frame, Machine, Wave, lanes_of};
use super::number::{decode, encode};
use super::resource::{self, Bound, Place, bound};
use super::variable;
use unshade_ir::ValueId;
use unshade_ir::shader::ShaderOp;
use unshade_ir::shader::interface::{ResourceClass, Shape};

/// What an access of a resource does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Bytes of a constant buffer or byte address buffer: the number of bytes that one step of the address is.
    Bytes(u64),
    Structured,
    Texels,
}

impl Form {
    /// Returns the form of a load or store of a resource.
    pub(super) fn of(op: ShaderOp) -> Option<Self> {
        match op {
            ShaderOp::LoadConstant => Some(Self::Bytes(16)),
            ShaderOp::LoadConstantAt | ShaderOp::LoadRaw | ShaderOp::StoreRaw => Some(Self::Bytes(1)),
            ShaderOp::LoadStructured | ShaderOp::StoreStructured => Some(Self::Structured),
            ShaderOp::LoadBuffer | ShaderOp::StoreBuffer | ShaderOp::LoadTexture | ShaderOp::StoreTexture => {
                Some(Self::Texels)
            }
            _ => None,
        }
    }

    /// Returns the number of the input that is stored.
    pub(super) fn stored(self) -> usize {
        if self == Self::Structured { 3 } else { 2 }
    }
}

/// Returns whether an access of a resource is a store.
pub(super) fn is_store(op: ShaderOp) -> bool {
    matches!(
        op,
        ShaderOp::StoreRaw | ShaderOp::StoreStructured | ShaderOp::StoreBuffer | ShaderOp::StoreTexture
    )
}

impl<'p> Machine<'p> {
    /// Runs an operation that computes a place or a handle, or an atomic one. Returns whether it is one.
    pub(super) fn place(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> bool {
        let function = code.function;
        let [base, second] = [0, 1].map(|index| function.input(id, index));
        let constant = |id: ValueId| function.number(id).unwrap_or(0);
        let structs = &self.program.structs;
        match op {
            ShaderOp::Variable | ShaderOp::Handle => {
                let Some(frame) = wave.frame() else { return true };
                each(code, frame, id, mask, |frame, _, thread| match op {
                    ShaderOp::Variable => variable::place(constant(base) as u32, 0),
                    _ => resource::handle(constant(base), frame.read(code, second, 0, thread)),
                });
            }
            ShaderOp::Element => {
                let stride = code.places.get(&base).map_or(4, |ty| element(ty, structs).0);
                let Some(frame) = wave.frame() else { return true };
                each(code, frame, id, mask, |frame, _, thread| {
                    let index = frame.read(code, second, 0, thread) as u32;
                    let place = frame.read(code, base, 0, thread);
                    let offset = u64::from(place as u32) + u64::from(index) * u64::from(stride);
                    // What is too far away is outside.
                    variable::place((place >> 32) as u32, u32::try_from(offset).unwrap_or(u32::MAX))
                });
            }
            ShaderOp::Field => {
                let number = constant(second) as usize;
                let offset = code.places.get(&base).map_or(0, |ty| field(ty, number, structs).0);
                let Some(frame) = wave.frame() else { return true };
                each(code, frame, id, mask, |frame, _, thread| {
                    let place = frame.read(code, base, 0, thread);
                    variable::place((place >> 32) as u32, (place as u32).saturating_add(offset))
                });
            }
            ShaderOp::AtomicVariable(_) | ShaderOp::CompareExchangeVariable => {
                self.atomic_variable(code, wave, id, op, mask);
            }
            _ => return false,
        }
        true
    }

    pub(super) fn load(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) {
        let place = code.function.input(id, 0);
        let (width, lanes) = (code.function.width(id), code.function.lanes(id));
        let bytes = variable::number_bytes(code.places.get(&place), width);
        self.with_memories(wave, mask, |memories, frame, thread| {
            let place = frame.read(code, place, 0, thread);
            for lane in 0..usize::from(lanes) {
                let number = memories.read(place + lane as u64 * u64::from(bytes), bytes);
                let number = if width == 1 { u64::from(number != 0) } else { number };
                frame.write(code, id, lane, thread, number);
            }
        });
    }

    pub(super) fn store(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) {
        let [place, value] = [0, 1].map(|index| code.function.input(id, index));
        if value == ValueId::NONE {
            return;
        }
        let bytes = variable::number_bytes(code.places.get(&place), code.function.width(value));
        self.with_memories(wave, mask, |memories, frame, thread| {
            let place = frame.read(code, place, 0, thread);
            for lane in 0..usize::from(code.function.lanes(value)) {
                let number = frame.read(code, value, lane, thread);
                memories.write(place + lane as u64 * u64::from(bytes), bytes, number);
            }
        });
    }

    fn atomic_variable(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, op: ShaderOp, mask: u32) {
        let [place, first, second] = [0, 1, 2].map(|index| code.function.input(id, index));
        let width = if first == ValueId::NONE { 32 } else { code.function.width(first) };
        self.with_memories(wave, mask, |memories, frame, thread| {
            let place = frame.read(code, place, 0, thread);
            let bytes = u32::from(width / 8).max(1);
            let old = memories.read(place, bytes);
            let [first, second] = [first, second].map(|input| frame.read(code, input, 0, thread));
            let new = changed(op, old, first, second, width);
            memories.write(place, bytes, new);
            frame.write(code, id, 0, thread, old);
        });
    }

    /// Runs an access of a resource. Returns whether it is one.
    pub(super) fn access(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> Result<bool, Reason> {
        match op {
            ShaderOp::AtomicResource(_) | ShaderOp::CompareExchangeResource => {
                return self.atomic_resource(code, wave, id, op, mask).map(|()| true);
            }
            ShaderOp::CombineRows | ShaderOp::DotRows => {
                return self.rows(code, wave, id, op, mask).map(|()| true);
            }
            ShaderOp::UpdateCounter => return self.counter(code, wave, id, mask).map(|()| true),
            ShaderOp::Dimensions => return self.dimensions(code, wave, id, mask).map(|()| true),
            _ => {}
        }
        let Some(form) = Form::of(op) else { return Ok(false) };
        let is_store = is_store(op);
        let mask = if is_store { mask & !wave.helpers } else { mask };
        for thread in lanes_of(mask) {
            let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
            let bound = bound(self.program, frame.read(code, code.function.input(id, 0), 0, thread))?;
            match (form, is_store) {
                (Form::Texels, _) => self.texel(code, frame, id, op, thread, bound)?,
                (_, false) => self.load_bytes(code, frame, id, form, thread, bound)?,
                (_, true) => self.store_bytes(code, frame, id, form, thread, bound)?,
            }
        }
        Ok(true)
    }

    fn load_bytes(
        &mut self,
        code: &Code<'p>,
        frame: &mut Frame,
        id: ValueId,
        form: Form,
        thread: usize,
        bound: Bound<'p>,
    ) -> Result<(), Reason> {
        let (width, lanes) = (code.function.width(id), usize::from(code.function.lanes(id)));
        let address = address(code, frame, id, form, thread, bound);
        let bytes = u64::from(self.program.bytes(width));
        let memory = self.resources.of(bound, self.inputs, &mut self.budget)?;
        for lane in 0..lanes {
            let at = address.map(|address| address + lane as u64 * bytes);
            let number = at.map_or(0, |at| memory.read(at, width));
            frame.write(code, id, lane, thread, number);
        }
        Ok(())
    }

    fn store_bytes(
        &mut self,
        code: &Code<'p>,
        frame: &mut Frame,
        id: ValueId,
        form: Form,
        thread: usize,
        bound: Bound<'p>,
    ) -> Result<(), Reason> {
        let value = code.function.input(id, form.stored());
        let Some(address) = address(code, frame, id, form, thread, bound).filter(|_| value != ValueId::NONE)
        else {
            return Ok(());
        };
        let width = code.function.width(value);
        let bytes = u64::from(self.program.bytes(width));
        let memory = self.resources.of(bound, self.inputs, &mut self.budget)?;
        for lane in 0..usize::from(code.function.lanes(value)) {
            let number = frame.read(code, value, lane, thread);
            memory.write(address + lane as u64 * bytes, width, number);
        }
        Ok(())
    }

    fn texel(
        &mut self,
        code: &Code<'p>,
        frame: &mut Frame,
        id: ValueId,
        op: ShaderOp,
        thread: usize,
        bound: Bound<'p>,
    ) -> Result<(), Reason> {
        let function = code.function;
        let place = texel_place(code, frame, id, op, thread, bound);
        let seed = self.inputs.seed;
        let memory = self.resources.of(bound, self.inputs, &mut self.budget)?;
        if matches!(op, ShaderOp::LoadBuffer | ShaderOp::LoadTexture) {
            for lane in 0..usize::from(function.lanes(id)) {
                frame.write(code, id, lane, thread, memory.texel(bound, place, lane, seed));
            }
            return Ok(());
        }
        let value = function.input(id, Form::Texels.stored());
        let lanes = components(bound);
        let texel: Vec<u64> = (0..lanes).map(|lane| frame.read(code, value, lane, thread)).collect();
        memory.set_texel(bound, place, &texel, seed, &mut self.budget)
    }

    fn atomic_resource(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> Result<(), Reason> {
        let function = code.function;
        let [handle, at, first, second] = [0, 1, 2, 3].map(|index| function.input(id, index));
        let width = if first == ValueId::NONE { 32 } else { function.width(first) };
        let mask = mask & !wave.helpers;
        let seed = self.inputs.seed;
        for thread in lanes_of(mask) {
            let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
            let bound = bound(self.program, frame.read(code, handle, 0, thread))?;
            let [value, new] = [first, second].map(|input| frame.read(code, input, 0, thread));
            let address = atomic_address(code, frame, at, thread, bound);
            let place = coordinates(code, frame, at, thread, bound);
            let memory = self.resources.of(bound, self.inputs, &mut self.budget)?;
            let old = match address {
                Some(address) => memory.read(address, width),
                None => memory.texel(bound, place, 0, seed),
            };
            let changed = changed(op, old, value, new, width);
            match address {
                Some(address) => memory.write(address, width, changed),
                None => memory.set_texel(bound, place, &[changed], seed, &mut self.budget)?,
            }
            frame.write(code, id, 0, thread, old);
        }
        Ok(())
    }

    /// Multiplies rows of a constant buffer with a vector. Each product and sum is rounded.
    fn rows(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> Result<(), Reason> {
        let function = code.function;
        let [handle, first, vector] = [0, 1, 2].map(|index| function.input(id, index));
        let (lanes, count) = (usize::from(function.lanes(id)), usize::from(function.lanes(vector)));
        let rounded = |number: f64| decode(encode(number, 32), 32);
        for thread in lanes_of(mask) {
            let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
            let bound = bound(self.program, frame.read(code, handle, 0, thread))?;
            let first = frame.read(code, first, 0, thread) & 0xffff_ffff;
            let memory = self.resources.of(bound, self.inputs, &mut self.budget)?;
            for lane in 0..lanes {
                let product = |index: usize| {
                    let (row, column) =
                        if op == ShaderOp::CombineRows { (index, lane) } else { (lane, index) };
                    let number = decode(memory.read(16 * (first + row as u64) + 4 * column as u64, 32), 32);
                    rounded(number * decode(frame.read(code, vector, index, thread), 32))
                };
                let sum = (1..count).fold(product(0), |sum, index| rounded(sum + product(index)));
                frame.write(code, id, lane, thread, encode(sum, 32));
            }
        }
        Ok(())
    }

    fn counter(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) -> Result<(), Reason> {
        let [handle, step] = [0, 1].map(|index| code.function.input(id, index));
        let is_decrement = code.function.number(step).unwrap_or(1) & 0x80 != 0;
        let mask = mask & !wave.helpers;
        for thread in lanes_of(mask) {
            let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
            let bound = bound(self.program, frame.read(code, handle, 0, thread))?;
            let number = self.resources.count(bound.register, is_decrement);
            frame.write(code, id, 0, thread, u64::from(number));
        }
        Ok(())
    }

    fn dimensions(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) -> Result<(), Reason> {
        let [handle, level] = [0, 1].map(|index| code.function.input(id, index));
        for thread in lanes_of(mask) {
            let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
            let bound = bound(self.program, frame.read(code, handle, 0, thread))?;
            let level = frame.read(code, level, 0, thread) as u32;
            let has_levels = bound.resource.class == ResourceClass::ShaderResource
                && !bound.resource.shape.is_multisampled();
            let length = self.resources.of(bound, self.inputs, &mut self.budget)?.len();
            let sizes = resource::dimensions(bound, length, if has_levels { level } else { 0 });
            for (lane, size) in sizes.into_iter().enumerate() {
                frame.write(code, id, lane, thread, u64::from(size));
            }
        }
        Ok(())
    }
}

/// Returns the address of an access of bytes; `None` outside of the element or buffer.
pub(super) fn address(
    code: &Code<'_>,
    frame: &Frame,
    id: ValueId,
    form: Form,
    thread: usize,
    bound: Bound<'_>,
) -> Option<u64> {
    let [first, second] =
        [1, 2].map(|index| frame.read(code, code.function.input(id, index), 0, thread) as u32);
    match form {
        Form::Structured => {
            let stride = bound.resource.size.max(4);
            // Beyond an element is outside.
            (second < stride).then(|| u64::from(first) * u64::from(stride) + u64::from(second))
        }
        Form::Bytes(step) => Some(u64::from(first) * step),
        Form::Texels => None,
    }
}

/// Returns the address of an atomic operation on a buffer of bytes; `None` for other resources.
pub(super) fn atomic_address(
    code: &Code<'_>,
    frame: &Frame,
    at: ValueId,
    thread: usize,
    bound: Bound<'_>,
) -> Option<u64> {
    let part = |lane: usize| frame.read(code, at, lane, thread) as u32;
    match bound.resource.shape {
        Shape::ByteAddressBuffer => Some(u64::from(part(0))),
        Shape::StructuredBuffer => {
            Some(u64::from(part(0)) * u64::from(bound.resource.size.max(4)) + u64::from(part(1)))
        }
        _ => None,
    }
}

/// Returns the place of the texel that a load or store accesses.
pub(super) fn texel_place(
    code: &Code<'_>,
    frame: &Frame,
    id: ValueId,
    op: ShaderOp,
    thread: usize,
    bound: Bound<'_>,
) -> Place {
    let inputs = [1, 2, 3].map(|index| code.function.input(id, index));
    let mut place = coordinates(code, frame, inputs[0], thread, bound);
    let level = match op {
        ShaderOp::LoadTexture => inputs[1],
        ShaderOp::StoreTexture => inputs[2],
        _ => ValueId::NONE,
    };
    // Views of unordered access have one level.
    let has_level =
        bound.resource.class == ResourceClass::ShaderResource || bound.resource.shape.is_multisampled();
    if level != ValueId::NONE && has_level {
        place[4] = frame.read(code, level, 0, thread) as u32;
    }
    if op == ShaderOp::LoadTexture && inputs[2] != ValueId::NONE {
        let dimensions = bound.resource.shape.dimensions();
        for (lane, coordinate) in place.iter_mut().enumerate().take(dimensions) {
            *coordinate = coordinate.wrapping_add(frame.read(code, inputs[2], lane, thread) as u32);
        }
    }
    place
}

/// Returns the place of a texel: as many coordinates as the resource has.
pub(super) fn coordinates(
    code: &Code<'_>,
    frame: &Frame,
    id: ValueId,
    thread: usize,
    bound: Bound<'_>,
) -> Place {
    let mut place = [0; 5];
    for (lane, coordinate) in
        place.iter_mut().enumerate().take(bound.resource.shape.coordinates().clamp(1, 4))
    {
        *coordinate = frame.read(code, id, lane, thread) as u32;
    }
    place
}

/// Returns the number of components of a texel.
fn components(bound: Bound<'_>) -> usize {
    match &bound.resource.element {
        Some(unshade_ir::shader::data_type::DataType::Scalar(_)) => 1,
        Some(unshade_ir::shader::data_type::DataType::Vector(_, lanes)) => usize::from(*lanes).min(4),
        _ => 4,
    }
}

/// Returns what an atomic operation makes of a number.
fn changed(op: ShaderOp, old: u64, first: u64, second: u64, width: u8) -> u64 {
    match op {
        ShaderOp::AtomicVariable(op) | ShaderOp::AtomicResource(op) => {
            resource::atomic(op, old, first, width)
        }
        _ if old == first => second,
        _ => old,
    }
}
