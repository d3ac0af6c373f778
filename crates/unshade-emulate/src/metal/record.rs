//! Records the steps of one thread.

use super::code::{Code, Operand, Shape, Step};
use super::dispatch::{Argument, Grid, Machine, Summary};
use super::fault::{Fault, instruction};
use super::kind::Kind;
use super::machine::World;
use super::thread::{Frame, Thread};
use crate::trace::{Place, Reading, Recorder, Recording, Trace, TraceStep, Value};

/// The maximum number of lanes, or of words of a structure, that are kept of a value.
const MAX_LANES: usize = 16;

impl Machine<'_> {
    /// Runs a kernel, and records one of its threads. Functions of the trace are indices of the program's functions,
    /// addresses the numbers of instructions in them.
    pub fn run_recorded(
        &mut self,
        name: &str,
        grid: Grid,
        arguments: &[Argument],
        recording: Recording,
    ) -> (Result<Summary, Fault>, Trace) {
        self.set_recorder(Some(Recorder::new(recording)));
        let result = self.run(name, grid, arguments);
        let recorder = self.set_recorder(None);
        (result, recorder.map_or_else(Trace::default, |recorder| recorder.into_trace()))
    }
}

/// Records a step that was executed in a function.
pub(super) fn step(function: usize, world: &mut World, thread: &Thread, step: &Step) {
    let Some(log) = &world.memory.log else { return };
    let accesses = std::mem::take(&mut *log.borrow_mut());
    let Some(address) = instruction(step.address) else { return };
    let Some(mut recorder) = world.recorder.take() else { return };
    let function = function as u32;
    let mut traced = TraceStep { function, address: address.into(), ..TraceStep::default() };
    for (is_write, address, size) in accesses {
        let access = world.memory.describe(&thread.locals, address, size);
        traced.accesses.push(crate::trace::TracedAccess { is_write, ..access });
    }
    // A call or a return has changed the frame: the result is in none yet.
    let frame = thread.frames.last().filter(|frame| frame.function == function as usize);
    if let Some(value) = frame.and_then(|frame| value(frame, step.out)) {
        traced.written.push((Place::Result(function, address.into(), 0), value));
    }
    recorder.part(traced);
    world.recorder = Some(recorder);
}

/// Records the result of an operation of several lanes that the thread waited for.
pub(super) fn resume(codes: &[Code], world: &mut World, thread: &Thread) {
    let Some(frame) = thread.frames.last() else { return };
    let block = codes.get(frame.function).and_then(|code| code.blocks.get(frame.block as usize));
    let last = block.and_then(|block| block.steps.get(frame.step.checked_sub(1)?));
    if let Some(waited) = last.filter(|step| step.out.shape.lanes() > 0 && step.out.slots().end > 0) {
        step(frame.function, world, thread, waited);
    }
}

/// Returns the value of an operand; `None` if it has none.
fn value(frame: &Frame, operand: Operand) -> Option<Value> {
    let slots = frame.slots.get(operand.slots()).filter(|slots| !slots.is_empty())?;
    let reading = match operand.shape {
        Shape::Bytes(_) => Reading::Bits(64),
        Shape::Lanes(Kind::Bool, _) => Reading::Truth,
        Shape::Lanes(Kind::Half, _) => Reading::Float(16),
        Shape::Lanes(Kind::BFloat, _) => Reading::BFloat,
        Shape::Lanes(Kind::Float, _) => Reading::Float(32),
        Shape::Lanes(Kind::Double, _) => Reading::Float(64),
        Shape::Lanes(kind, _) => Reading::Bits(kind.width()),
    };
    Some(Value { reading, lanes: slots.iter().take(MAX_LANES).copied().collect() })
}
