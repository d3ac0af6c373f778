//! Records the steps of one thread: what each computed, and which memory it accessed.
//!
//! A step computes its address from values that it does not change, so that its accesses are found after it has run.

use super::access::{Form, address, atomic_address, coordinates, is_store, texel_place};
use super::code::Code;
use super::machine::{Frame, Machine, Wave, lanes_of};
use super::resource::{self, Bound, Memory, bound};
use super::variable::{self, PAYLOAD};
use crate::trace::{Place, Reading, TraceStep, TracedAccess, Value, lines_around};
use unshade_ir::shader::interface::VariableSpace;
use unshade_ir::{NO_ADDRESS, Op, ShaderOp, ValueId, VariableId};

/// The maximum number of lanes that are recorded of a vector.
const MAX_LANES: usize = 16;

/// A step of the recorded thread.
struct Step<'s, 'p> {
    code: &'s Code<'p>,
    wave: &'s Wave,
    frame: &'s Frame,
    id: ValueId,
    /// The lane of the thread in its wave.
    lane: usize,
}

impl Step<'_, '_> {
    /// Returns a lane of an input.
    fn input(&self, index: usize, lane: usize) -> u64 {
        self.frame.read(self.code, self.code.function.input(self.id, index), lane, self.lane)
    }

    /// Returns the number of lanes and the width in bits of an input.
    fn shape(&self, index: usize) -> (u64, u8) {
        self.shape_of(self.code.function.input(self.id, index))
    }

    fn shape_of(&self, value: ValueId) -> (u64, u8) {
        if value == ValueId::NONE {
            return (1, 32);
        }
        (self.code.function.lanes(value).into(), self.code.function.width(value))
    }

    fn written(&self, function: u32, address: u64) -> Option<(Place, Value)> {
        let Self { code, id, .. } = *self;
        if !code.has_slot(id) {
            return None;
        }
        let width = code.function.width(id);
        let reading = if width == 1 { Reading::Truth } else { Reading::Bits(width) };
        let lanes = 0..usize::from(code.function.lanes(id)).min(MAX_LANES);
        let lanes = lanes.map(|index| self.frame.read(code, id, index, self.lane)).collect();
        Some((Place::Result(function, address, 0), Value { reading, lanes }))
    }
}

impl Machine<'_> {
    /// Records a step that has run, if the recorded thread is one of its lanes.
    pub(super) fn record(&mut self, wave: &Wave, function: usize, id: ValueId, mask: u32) {
        let Some(code) = self.codes[function].as_ref() else { return };
        let Some(mut recorder) = self.recorder.take() else { return };
        recorder.set_block(wave.group);
        let lane = lanes_of(mask).find(|lane| recorder.is_of(wave.first + *lane as u32));
        let address = code.function.values[id].address;
        if let (Some(lane), true) = (lane, address != NO_ADDRESS) {
            let (number, address) = (function as u32, u64::from(address));
            let mut traced = TraceStep { function: number, address, ..TraceStep::default() };
            if let Some(frame) = wave.frame_of(function) {
                let step = Step { code, wave, frame, id, lane };
                traced.written.extend(step.written(number, address));
                if recorder.keeps(number, address) {
                    traced.accesses = self.accesses(&step);
                }
            }
            recorder.part(traced);
        }
        self.recorder = Some(recorder);
    }

    /// Returns what a step accessed: an atomic operation reads and writes.
    fn accesses(&self, step: &Step<'_, '_>) -> Vec<TracedAccess> {
        let function = step.code.function;
        let (accessed, reads, writes) = match function.op(step.id) {
            Op::Load(_) => (self.accessed_variable(step, step.shape_of(step.id)), true, false),
            Op::Store(_) if function.input(step.id, 1) == ValueId::NONE => return Vec::new(),
            Op::Store(_) => (self.accessed_variable(step, step.shape(1)), false, true),
            Op::Shader(ShaderOp::AtomicVariable(_) | ShaderOp::CompareExchangeVariable) => {
                (self.accessed_variable(step, step.shape(1)), true, true)
            }
            Op::Shader(op) => {
                let is_atomic = matches!(op, ShaderOp::AtomicResource(_) | ShaderOp::CompareExchangeResource);
                let writes = is_atomic || is_store(op);
                // Helpers write nothing.
                if writes && step.wave.helpers >> step.lane & 1 != 0 {
                    return Vec::new();
                }
                (self.accessed_resource(step, op, is_atomic), !is_store(op), writes)
            }
            _ => return Vec::new(),
        };
        let Some(access) = accessed else { return Vec::new() };
        let read = reads.then(|| access.clone());
        let written = writes.then_some(TracedAccess { is_write: true, ..access });
        read.into_iter().chain(written).collect()
    }

    /// Returns the access of the variable that the first input is a place of.
    fn accessed_variable(&self, step: &Step<'_, '_>, (lanes, width): (u64, u8)) -> Option<TracedAccess> {
        let place = step.input(0, 0);
        let ty = step.code.places.get(&step.code.function.input(step.id, 0));
        let size = lanes * u64::from(variable::number_bytes(ty, width));
        let (number, offset) = ((place >> 32) as u32, u64::from(place as u32));
        if number == PAYLOAD {
            return Some(around("the payload".into(), offset, size, &self.payload));
        }
        let (space, range) = self.layout.range(number)?;
        let memory = match space {
            VariableSpace::Group => &self.group[..],
            VariableSpace::Constant => &self.layout.constants[..],
            _ => step.wave.variables.get(step.lane * self.layout.thread as usize..)?,
        };
        let name = &self.program.variables.get(VariableId::new(number))?.name;
        let name = if name.is_empty() { format!("variable {number}") } else { name.clone() };
        Some(around(name, offset, size, memory.get(range)?))
    }

    /// Returns the access of the resource whose handle the first input is.
    fn accessed_resource(&self, step: &Step<'_, '_>, op: ShaderOp, is_atomic: bool) -> Option<TracedAccess> {
        let Step { code, frame, id, lane, .. } = *step;
        let form = Form::of(op);
        let is_rows = matches!(op, ShaderOp::CombineRows | ShaderOp::DotRows);
        if form.is_none() && !is_atomic && !is_rows {
            return None;
        }
        let bound = bound(self.program, step.input(0, 0)).ok()?;
        let at = code.function.input(id, 1);
        let number_size = |(lanes, width): (u64, u8)| lanes * u64::from(self.program.bytes(width));
        let (address, size) = match form {
            _ if is_rows => {
                let (lanes, count) = (step.shape_of(id).0, step.shape(2).0);
                let (rows, columns) =
                    if op == ShaderOp::CombineRows { (count, lanes) } else { (lanes, count) };
                let first = step.input(1, 0) & 0xffff_ffff;
                (Some(16 * first), 16 * rows.saturating_sub(1) + 4 * columns)
            }
            None => (atomic_address(code, frame, at, lane, bound), number_size(step.shape(2))),
            Some(Form::Texels) => (None, 0),
            Some(form) => {
                let shape = if is_store(op) { step.shape(form.stored()) } else { step.shape_of(id) };
                // What is outside of an element is not accessed.
                (Some(address(code, frame, id, form, lane, bound)?), number_size(shape))
            }
        };
        if let Some(address) = address {
            let Memory::Bytes { bytes, .. } = self.resources.memory.get(&bound.register)? else {
                return None;
            };
            return Some(around(bound.register.to_string(), address, size, bytes));
        }
        let place = match is_atomic {
            true => coordinates(code, frame, at, lane, bound),
            false => texel_place(code, frame, id, op, lane, bound),
        };
        self.accessed_texel(bound, place)
    }

    /// Returns the access of a texel: of a buffer its bytes, of a texture its components.
    fn accessed_texel(&self, bound: Bound<'_>, place: resource::Place) -> Option<TracedAccess> {
        let memory = self.resources.memory.get(&bound.register)?;
        let scalar = match memory {
            Memory::Bytes { bytes, .. } => {
                let (width, count) = resource::format(bound.resource);
                let size = u64::from(width / 8) * u64::from(count);
                let index = resource::linear(bound.resource.shape, place);
                return Some(around(bound.register.to_string(), index.saturating_mul(size), size, bytes));
            }
            Memory::Texels { scalar, .. } => scalar,
        };
        let count = bound.resource.shape.coordinates().clamp(1, 4);
        let coordinates: Vec<String> = place.iter().take(count).map(u32::to_string).collect();
        let number = |component| memory.texel(bound, place, component, self.inputs.seed).to_le_bytes();
        let width = usize::from(scalar.bits / 8).clamp(1, 8);
        let bytes: Vec<u8> = (0..4).flat_map(|component| number(component).into_iter().take(width)).collect();
        let name = format!("texel ({}) of {}", coordinates.join(", "), bound.register);
        Some(around(name, 0, bytes.len() as u64, &bytes))
    }
}

/// Describes an access of a memory, with the bytes around it.
fn around(memory: String, offset: u64, size: u64, bytes: &[u8]) -> TracedAccess {
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    let range = lines_around(offset, size, bytes.len() as u64);
    let kept = bytes.get(range.start as usize..range.end as usize).unwrap_or_default().to_vec();
    TracedAccess { is_write: false, memory, offset, size, start: range.start, bytes: kept }
}
