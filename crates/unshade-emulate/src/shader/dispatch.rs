//! Runs of a whole program: groups, quads, patches.
//!
//! | stage | runs |
//! |---|---|
//! | vertex, domain | one wave of [`Inputs::count`] lanes |
//! | pixel | the same: quads of four lanes |
//! | geometry | the same, for each instance |
//! | hull | a lane for each control point, then one lane for the patch constants |
//! | compute, mesh, amplification | groups one after the other; the waves of a group from barrier to barrier |

use super::fault::{Budget, Fault, Limits, Reason};
use super::inputs::{Inputs, index, semantic};
use super::machine::{LANES, Machine, Stop, Wave};
use super::outputs::{Mesh, Number, Outputs, Semantic, StreamEvent};
use super::resource::{Memory, is_written};
use super::stage::{Event, Slot};
use crate::trace::{Recorder, Recording, Trace};
use std::collections::BTreeMap;
use unshade_ir::shader::data_type::{Packing, Scalar};
use unshade_ir::shader::interface::{Element, ShaderProgram, Stage};

/// The largest group.
const MAX_THREADS: u32 = 1024;

/// The largest payload.
const MAX_PAYLOAD: u32 = 1 << 14;

/// Runs a program.
///
/// # Errors
/// Fails where an operation is not supported, or a limit is reached: see [`Reason`].
pub fn run(program: &ShaderProgram, inputs: &Inputs, limits: Limits) -> Result<Outputs, Fault> {
    run_with(program, inputs, limits, &mut None)
}

/// Runs a program as [`run`] does, and records one of its threads. Threads of groups are counted in their group, vertices,
/// pixels and control points from 0. Samples of textures are no accesses.
pub fn run_recorded(
    program: &ShaderProgram,
    inputs: &Inputs,
    limits: Limits,
    recording: Recording,
) -> (Result<Outputs, Fault>, Trace) {
    let mut recorder = Some(Recorder::new(recording));
    let result = run_with(program, inputs, limits, &mut recorder);
    (result, recorder.map_or_else(Trace::default, |recorder| recorder.into_trace()))
}

fn run_with(
    program: &ShaderProgram,
    inputs: &Inputs,
    limits: Limits,
    recorder: &mut Option<Box<Recorder>>,
) -> Result<Outputs, Fault> {
    let mut machine = Machine::new(program, inputs, Budget::new(limits))?;
    machine.recorder = recorder.take();
    let result = stages(program, inputs, &mut machine);
    *recorder = machine.recorder.take();
    let mut outputs = result?;
    memory(machine, &mut outputs);
    Ok(outputs)
}

/// Runs the stages of a program.
fn stages(program: &ShaderProgram, inputs: &Inputs, machine: &mut Machine<'_>) -> Result<Outputs, Fault> {
    let Some(entry) = program.functions.first() else { return Err(Reason::Function("main".into()).into()) };
    let mut outputs = Outputs::default();
    let count = inputs.count.clamp(1, LANES as u32) as usize;
    match program.stage {
        Stage::Vertex | Stage::Pixel | Stage::Domain => {
            let count = if program.stage == Stage::Pixel { count.next_multiple_of(4) } else { count };
            let wave = finish(machine, 0, count)?;
            outputs.lanes = lanes(&wave, &entry.outputs);
        }
        Stage::Geometry => {
            for instance in 0..entry.attributes.instances.unwrap_or(1).clamp(1, 32) {
                let mut wave = machine.wave(0, 0, count)?;
                wave.instance = instance;
                until_end(machine, &mut wave)?;
                outputs.streams.extend(wave.lanes.iter().map(|lane| stream(&lane.events, &entry.outputs)));
                machine.release(&wave);
            }
        }
        Stage::Hull => hull(machine, &mut outputs)?,
        Stage::Compute | Stage::Mesh | Stage::Amplification => groups(machine, &mut outputs)?,
        stage => {
            return Err(
                Reason::Stage(if stage == Stage::Library { "library" } else { stage.attribute() }).into()
            );
        }
    }
    Ok(outputs)
}

/// Runs a function in one wave.
fn finish(machine: &mut Machine<'_>, function: usize, count: usize) -> Result<Wave, Fault> {
    let mut wave = machine.wave(function, 0, count)?;
    until_end(machine, &mut wave)?;
    machine.release(&wave);
    Ok(wave)
}

fn until_end(machine: &mut Machine<'_>, wave: &mut Wave) -> Result<(), Fault> {
    while machine.run(wave)? == Stop::Barrier {}
    Ok(())
}

fn hull(machine: &mut Machine<'_>, outputs: &mut Outputs) -> Result<(), Fault> {
    let Some(entry) = machine.program.functions.first() else { return Ok(()) };
    let attributes = &entry.attributes;
    let count = attributes.output_control_points.or(attributes.input_control_points).unwrap_or(1);
    if count > 0 {
        let wave = finish(machine, 0, count.min(LANES as u32) as usize)?;
        outputs.lanes = lanes(&wave, &entry.outputs);
        machine.control_points = wave.lanes;
    }
    if let Some(function) = attributes.patch_function {
        let wave = finish(machine, function, 1)?;
        let patch = machine.program.functions.get(function).map_or(&entry.patch, |function| &function.patch);
        let patch = if patch.is_empty() { &entry.patch } else { patch };
        outputs.patch = wave.lanes.first().map(|lane| named(&lane.patch, patch)).unwrap_or_default();
    }
    Ok(())
}

fn groups(machine: &mut Machine<'_>, outputs: &mut Outputs) -> Result<(), Fault> {
    let Some(entry) = machine.program.functions.first() else { return Ok(()) };
    let [x, y, z] = entry.attributes.threads.unwrap_or([1; 3]);
    let threads = x.saturating_mul(y).saturating_mul(z).clamp(1, MAX_THREADS);
    if let Some(payload) = &entry.attributes.payload {
        let size = Packing::Structured.size(payload, &machine.program.structs).min(MAX_PAYLOAD);
        machine.payload = machine.inputs.payload(size);
    }
    let [columns, rows, layers] = machine.inputs.groups.map(|count| count.clamp(1, 1 << 10));
    for number in 0..columns * rows * layers.min(64) {
        let group = [number % columns, number / columns % rows, number / columns / rows];
        machine.group.fill(0);
        machine.mesh_counts = None;
        let mut waves = Vec::new();
        for first in (0..threads).step_by(LANES) {
            let mut wave = machine.wave(0, first, (threads - first).min(LANES as u32) as usize)?;
            wave.group = group;
            waves.push((wave, false));
        }
        // Each wave runs until the next barrier.
        while waves.iter().any(|(_, is_done)| !is_done) {
            for (wave, is_done) in waves.iter_mut().filter(|(_, is_done)| !is_done) {
                *is_done = machine.run(wave)? == Stop::End;
            }
        }
        if machine.program.stage == Stage::Mesh {
            outputs.meshes.push(mesh(
                &waves,
                machine.mesh_counts.unwrap_or_default(),
                &entry.outputs,
                &entry.patch,
            ));
        }
        for (wave, _) in &waves {
            machine.release(wave);
        }
    }
    outputs.dispatches = std::mem::take(&mut machine.dispatches);
    Ok(())
}

/// Returns the type and name of a component of an element. What is written outside of it is dropped.
fn name(slot: &Slot, elements: &[Element]) -> Option<(Semantic, Scalar)> {
    let element = elements.get(slot.0 as usize)?;
    let is_inside = (slot.1 as usize) < element.rows() && slot.2 < element.columns;
    is_inside.then(|| ((semantic(element), index(element, slot.1 as usize), slot.2), element.scalar))
}

/// Returns components by semantic.
fn named(written: &BTreeMap<Slot, u64>, elements: &[Element]) -> BTreeMap<Semantic, Number> {
    let number = |(slot, bits): (&Slot, &u64)| {
        let (name, scalar) = name(slot, elements)?;
        Some((name, Number { bits: *bits, scalar }))
    };
    written.iter().filter_map(number).collect()
}

fn lanes(wave: &Wave, elements: &[Element]) -> Vec<Option<BTreeMap<Semantic, Number>>> {
    let is_dropped = |lane: usize| wave.helpers >> lane & 1 != 0;
    let outputs = |(number, lane): (usize, &super::stage::Lane)| {
        (!is_dropped(number)).then(|| named(&lane.outputs, elements))
    };
    wave.lanes.iter().enumerate().map(outputs).collect()
}

fn stream(events: &[Event], elements: &[Element]) -> Vec<StreamEvent> {
    let event = |event: &Event| match event {
        Event::Vertex(stream, vertex) => StreamEvent::Vertex(*stream, named(vertex, elements)),
        Event::Cut(stream) => StreamEvent::Cut(*stream),
    };
    events.iter().map(event).collect()
}

fn mesh(waves: &[(Wave, bool)], counts: [u32; 2], outputs: &[Element], primitives: &[Element]) -> Mesh {
    let mut mesh = Mesh { counts, ..Mesh::default() };
    for lane in waves.iter().flat_map(|(wave, _)| &wave.lanes) {
        let number = |(key, bits): (&(u32, Slot), &u64), elements: &[Element]| {
            let (name, scalar) = name(&key.1, elements)?;
            Some(((key.0, name), Number { bits: *bits, scalar }))
        };
        mesh.vertices.extend(lane.vertices.iter().filter_map(|entry| number(entry, outputs)));
        mesh.primitives.extend(lane.primitives.iter().filter_map(|entry| number(entry, primitives)));
        mesh.indices.extend(lane.indices.iter().map(|(primitive, indices)| (*primitive, *indices)));
    }
    mesh
}

/// Moves the memory that was written to the outputs.
fn memory(machine: Machine<'_>, outputs: &mut Outputs) {
    for (register, memory) in machine.resources.memory {
        if !is_written(register) {
            continue;
        }
        match memory {
            Memory::Bytes { bytes, is_written: true } => {
                outputs.buffers.insert(register, bytes);
            }
            Memory::Texels { scalar, written } if !written.is_empty() => {
                let numbers = |texel: [u64; 4]| texel.map(|bits| Number { bits, scalar });
                let texels = written.into_iter().map(|(place, texel)| (place, numbers(texel))).collect();
                outputs.texels.insert(register, texels);
            }
            _ => {}
        }
    }
    outputs.counters = machine.resources.counters;
}
