//! Operations of stages: inputs and outputs, indices of threads, streams, meshes.

use super::code::Code;
use super::fault::Reason;
use super::inputs::Reading;
use super::lanewise::each;
use super::machine::{Machine, Wave, lanes_of};
use super::number::{decode, encode};
use super::resource;
use super::variable::{self, PAYLOAD};
use std::collections::BTreeMap;
use unshade_ir::shader::ShaderOp;
use unshade_ir::shader::data_type::ScalarKind;
use unshade_ir::shader::interface::{Element, Stage};
use unshade_ir::shader::operation::barrier;
use unshade_ir::{Function, ValueId};

/// A component of an element: element, row, column.
pub(super) type Slot = (u32, u32, u8);

/// What a lane has written.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    pub(super) outputs: BTreeMap<Slot, u64>,
    pub(super) patch: BTreeMap<Slot, u64>,
    /// Outputs of vertices and primitives of a mesh.
    pub(super) vertices: BTreeMap<(u32, Slot), u64>,
    pub(super) primitives: BTreeMap<(u32, Slot), u64>,
    pub(super) indices: BTreeMap<u32, [u64; 3]>,
    pub(super) events: Vec<Event>,
}

/// What a geometry shader did to a stream.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Vertex(u32, BTreeMap<Slot, u64>),
    Cut(u32),
}

/// The bit of the meaning of a barrier that says that threads wait.
const MEANING_SYNC: u64 = 1;

/// Returns whether threads wait for each other at an operation.
pub(super) fn is_barrier(function: &Function, id: ValueId, op: ShaderOp) -> bool {
    let number = |index: usize| function.number(function.input(id, index)).unwrap_or(0);
    match op {
        ShaderOp::Barrier => number(0) & barrier::GROUP_SYNC != 0,
        ShaderOp::BarrierByMemoryType | ShaderOp::BarrierByHandle => number(1) & MEANING_SYNC != 0,
        _ => false,
    }
}

impl<'p> Machine<'p> {
    /// Runs an operation of a stage. Returns whether it is one.
    pub(super) fn stage(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> Result<bool, Reason> {
        match op {
            ShaderOp::LoadInput
            | ShaderOp::AttributeAtVertex
            | ShaderOp::EvaluateAtSample
            | ShaderOp::EvaluateCentroid
            | ShaderOp::EvaluateSnapped => self.load_input(code, wave, id, op, mask),
            ShaderOp::LoadPatchConstant => self.load_patch(code, wave, id, mask),
            ShaderOp::LoadOutputControlPoint => self.load_control_point(code, wave, id, mask),
            ShaderOp::StoreOutput
            | ShaderOp::StorePatchConstant
            | ShaderOp::StoreVertexOutput
            | ShaderOp::StorePrimitiveOutput => store(code, wave, id, op, mask),
            ShaderOp::EmitIndices => emit_indices(code, wave, id, mask),
            ShaderOp::SetMeshOutputCounts => {
                let [vertices, primitives] = [0, 1].map(|index| code.function.input(id, index));
                let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
                let thread = mask.trailing_zeros() as usize;
                let counts = [vertices, primitives].map(|input| frame.read(code, input, 0, thread) as u32);
                self.mesh_counts = Some(counts);
            }
            ShaderOp::MeshPayload => {
                let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
                each(code, frame, id, mask, |_, _, _| variable::place(PAYLOAD, 0));
            }
            ShaderOp::DispatchMesh => self.dispatch_mesh(code, wave, id, mask),
            ShaderOp::Discard => {
                let condition = code.function.input(id, 0);
                let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
                let holds = |thread: &usize| frame.read(code, condition, 0, *thread) & 1 != 0;
                let dropped = lanes_of(mask).filter(holds).fold(0, |set, lane| set | 1 << lane);
                wave.helpers |= dropped;
            }
            ShaderOp::EmitVertex | ShaderOp::CutStrip => emit(code, wave, id, op, mask),
            // Memory is the same for all at once.
            ShaderOp::Barrier | ShaderOp::BarrierByMemoryType | ShaderOp::BarrierByHandle => {}
            _ => return self.index(code, wave, id, op, mask),
        }
        Ok(true)
    }

    /// Runs an operation that returns an index or another number that lanes have from the start.
    fn index(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> Result<bool, Reason> {
        let component = code.function.number(code.function.input(id, 0)).unwrap_or(0) as usize;
        let threads =
            self.program.functions.first().and_then(|entry| entry.attributes.threads).unwrap_or([1; 3]);
        let stage = self.program.stage;
        let (first, group, helpers, instance) = (wave.first, wave.group, wave.helpers, wave.instance);
        let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
        let in_group = |thread: usize, component: usize| {
            let number = first + thread as u32;
            let [x, y, _] = threads.map(|size| size.max(1));
            [number % x, number / x % y, number / x.wrapping_mul(y).max(1)][component.min(2)]
        };
        each(code, frame, id, mask, |frame, lane, thread| {
            let component = (component + lane).min(2);
            let number = first + thread as u32;
            match op {
                ShaderOp::GroupId => u64::from(group[component]),
                ShaderOp::GroupThreadId => u64::from(in_group(thread, component)),
                ShaderOp::DispatchThreadId => u64::from(
                    group[component]
                        .wrapping_mul(threads[component])
                        .wrapping_add(in_group(thread, component)),
                ),
                ShaderOp::DomainLocation => {
                    let (u, v) = (f64::from(number % 4) / 8.0 + 0.0625, f64::from(number / 4) / 8.0 + 0.0625);
                    encode([u, v, 1.0 - u - v][component], 32)
                }
                ShaderOp::PrimitiveId if stage == Stage::Geometry => u64::from(number),
                ShaderOp::PrimitiveId => 3,
                ShaderOp::GroupIndex | ShaderOp::OutputControlPointId => u64::from(number),
                ShaderOp::GeometryInstanceId => u64::from(instance),
                ShaderOp::SampleIndex | ShaderOp::ViewId | ShaderOp::StartInstance => 1,
                ShaderOp::Coverage => 15,
                ShaderOp::StartVertex => 2,
                ShaderOp::RenderTargetSampleCount => u64::from(resource::SIZE[4]),
                ShaderOp::RenderTargetSamplePosition => encode(0.125 * (lane as f64 + 1.0), 32),
                ShaderOp::IsHelperLane => u64::from(helpers >> thread & 1),
                ShaderOp::Argument | ShaderOp::ArgumentPlace => {
                    let argument = code.function.number(code.function.input(id, 0)).unwrap_or(0);
                    frame.argument(argument as usize, lane, thread)
                }
                _ => 0,
            }
        });
        Ok(matches!(
            op,
            ShaderOp::GroupId
                | ShaderOp::GroupThreadId
                | ShaderOp::DispatchThreadId
                | ShaderOp::DomainLocation
                | ShaderOp::PrimitiveId
                | ShaderOp::GroupIndex
                | ShaderOp::OutputControlPointId
                | ShaderOp::GeometryInstanceId
                | ShaderOp::SampleIndex
                | ShaderOp::ViewId
                | ShaderOp::StartInstance
                | ShaderOp::Coverage
                | ShaderOp::InnerCoverage
                | ShaderOp::StartVertex
                | ShaderOp::RenderTargetSampleCount
                | ShaderOp::RenderTargetSamplePosition
                | ShaderOp::IsHelperLane
                | ShaderOp::Argument
                | ShaderOp::ArgumentPlace
        ))
    }

    fn load_input(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, op: ShaderOp, mask: u32) {
        let function = code.function;
        let column = function.number(function.input(id, 2)).unwrap_or(0) as usize;
        let (row, at) = (function.input(id, 1), function.input(id, 3));
        let Some(element) = element_of(function, &code.info.inputs, id) else { return };
        let (stage, inputs, first) = (self.program.stage, self.inputs, wave.first);
        let Some(frame) = wave.frame() else { return };
        let is_vertex = op == ShaderOp::AttributeAtVertex || op == ShaderOp::LoadInput;
        each(code, frame, id, mask, |frame, lane, thread| {
            let row = frame.read(code, row, 0, thread) as usize;
            if row >= element.rows() || column + lane >= usize::from(element.columns) {
                return 0;
            }
            let reading = Reading { stage, element, is_patch: false, row, column: column + lane };
            let vertex = if is_vertex { frame.read(code, at, 0, thread) & 0xffff_ffff } else { 0 };
            // Vertex 0 of an attribute is not the value in between.
            let vertex = vertex + u64::from(op == ShaderOp::AttributeAtVertex);
            let number = inputs.input(&reading, first + thread as u32, vertex);
            if is_vertex || element.scalar.kind != ScalarKind::Float {
                return number;
            }
            // Elsewhere in the pixel, values are a little different.
            let distance = match op {
                ShaderOp::EvaluateCentroid => 0.25,
                _ => {
                    let part = |lane: usize| frame.read(code, at, lane, thread) as u32;
                    let second = if op == ShaderOp::EvaluateSnapped { part(1) } else { 0 };
                    f64::from(part(0) & 15) + 0.5 * f64::from(second & 15)
                }
            };
            let width = element.scalar.bits;
            encode(decode(number, width) + distance / 64.0, width)
        });
    }

    fn load_patch(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) {
        let function = code.function;
        let column = function.number(function.input(id, 2)).unwrap_or(0) as usize;
        let number = function.number(function.input(id, 0)).unwrap_or(u64::MAX) as u32;
        let row = function.input(id, 1);
        let Some(element) = element_of(function, &code.info.patch, id) else { return };
        let (stage, inputs, first) = (self.program.stage, self.inputs, wave.first);
        let written = wave.lanes.first().map(|lane| lane.patch.clone()).filter(|_| stage == Stage::Hull);
        let Some(frame) = wave.frame() else { return };
        each(code, frame, id, mask, |frame, lane, thread| {
            let row = frame.read(code, row, 0, thread) as usize;
            if row >= element.rows() || column + lane >= usize::from(element.columns) {
                return 0;
            }
            if let Some(written) = &written {
                return written.get(&(number, row as u32, (column + lane) as u8)).copied().unwrap_or(0);
            }
            let reading = Reading { stage, element, is_patch: true, row, column: column + lane };
            inputs.input(&reading, first + thread as u32, 0)
        });
    }

    fn load_control_point(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) {
        let function = code.function;
        let [element, row, column, point] = [0, 1, 2, 3].map(|index| function.input(id, index));
        let element = function.number(element).unwrap_or(u64::MAX) as u32;
        let column = function.number(column).unwrap_or(0) as usize;
        let points = &self.control_points;
        let Some(frame) = wave.frame() else { return };
        each(code, frame, id, mask, |frame, lane, thread| {
            let point = points.get(frame.read(code, point, 0, thread) as usize);
            let row = frame.read(code, row, 0, thread) as u32;
            let slot = (element, row, (column + lane) as u8);
            point.and_then(|point| point.outputs.get(&slot)).copied().unwrap_or(0)
        });
    }

    fn dispatch_mesh(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) {
        let thread = mask.trailing_zeros() as usize;
        let inputs = [0, 1, 2, 3].map(|index| code.function.input(id, index));
        let size = code.places.get(&inputs[3]).map_or(0, |ty| {
            unshade_ir::shader::data_type::Packing::Structured.size(ty, &self.program.structs)
        });
        let mut found = ([0; 3], Vec::new());
        self.with_memories(wave, 1 << thread, |memories, frame, thread| {
            found.0 = [0, 1, 2].map(|index| frame.read(code, inputs[index], 0, thread) as u32);
            let place = frame.read(code, inputs[3], 0, thread);
            found.1 =
                (0..size.min(1 << 14)).map(|at| memories.read(place + u64::from(at), 1) as u8).collect();
        });
        self.dispatches.push(found);
    }
}

/// Returns the element that an operation names.
fn element_of<'e>(function: &Function, elements: &'e [Element], id: ValueId) -> Option<&'e Element> {
    let number = function.number(function.input(id, 0))?;
    elements.get(usize::try_from(number).ok()?)
}

fn store(code: &Code<'_>, wave: &mut Wave, id: ValueId, op: ShaderOp, mask: u32) {
    let function = code.function;
    let [element, row, column, value, vertex] = [0, 1, 2, 3, 4].map(|index| function.input(id, index));
    let element = function.number(element).unwrap_or(u64::MAX) as u32;
    let column = function.number(column).unwrap_or(0) as u8;
    let lanes = if value == ValueId::NONE { 0 } else { usize::from(function.lanes(value)) };
    let mut stored = Vec::new();
    let Some(frame) = wave.frame() else { return };
    for thread in lanes_of(mask) {
        let row = frame.read(code, row, 0, thread) as u32;
        let vertex = frame.read(code, vertex, 0, thread) as u32;
        for lane in 0..lanes {
            let slot = (element, row, column.wrapping_add(lane as u8));
            stored.push((thread, vertex, slot, frame.read(code, value, lane, thread)));
        }
    }
    for (thread, vertex, slot, number) in stored {
        let Some(lane) = wave.lanes.get_mut(thread) else { continue };
        match op {
            ShaderOp::StorePatchConstant => lane.patch.insert(slot, number),
            ShaderOp::StoreVertexOutput => lane.vertices.insert((vertex, slot), number),
            ShaderOp::StorePrimitiveOutput => lane.primitives.insert((vertex, slot), number),
            _ => lane.outputs.insert(slot, number),
        };
    }
}

fn emit_indices(code: &Code<'_>, wave: &mut Wave, id: ValueId, mask: u32) {
    let [primitive, vertices] = [0, 1].map(|index| code.function.input(id, index));
    let Some(frame) = wave.frame() else { return };
    let read = |thread: usize| {
        let indices = [0, 1, 2].map(|lane| frame.read(code, vertices, lane, thread));
        (thread, frame.read(code, primitive, 0, thread) as u32, indices)
    };
    let all: Vec<_> = lanes_of(mask).map(read).collect();
    for (thread, primitive, indices) in all {
        if let Some(lane) = wave.lanes.get_mut(thread) {
            lane.indices.insert(primitive, indices);
        }
    }
}

fn emit(code: &Code<'_>, wave: &mut Wave, id: ValueId, op: ShaderOp, mask: u32) {
    let stream = code.function.number(code.function.input(id, 0)).unwrap_or(0) as u32;
    let elements = &code.info.outputs;
    for thread in lanes_of(mask) {
        let Some(lane) = wave.lanes.get_mut(thread) else { continue };
        if op == ShaderOp::CutStrip {
            lane.events.push(Event::Cut(stream));
            continue;
        }
        let is_of_stream =
            |slot: &Slot| elements.get(slot.0 as usize).is_some_and(|element| element.stream == stream);
        let written = lane.outputs.iter().filter(|(slot, _)| is_of_stream(slot));
        let vertex = written.map(|(slot, number)| (*slot, *number)).collect();
        lane.events.push(Event::Vertex(stream, vertex));
    }
}
