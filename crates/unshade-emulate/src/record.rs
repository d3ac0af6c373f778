//! Records the instructions of one thread of a launch of machine code.

use unshade_sass::semantics::Space;
use unshade_sass::semantics::table::FIRST_PREDICATE;

use crate::context::{Limits, outputs};
use crate::device::Device;
use crate::environment::{Environment, LOCAL_WINDOW, SHARED_WINDOW, resolve};
use crate::fault::{Fault, Memory};
use crate::launch::{Argument, Grid, Observers, Summary};
use crate::module::Module;
use crate::program::{Fetched, Program};
use crate::trace::{
    Place, Reading, Recorder, Recording, Trace, TraceStep, TracedAccess, Value, lines_around,
};
use crate::warp::Warp;

impl Module {
    /// Runs a kernel as [`launch`](Self::launch) does, and records one of its threads.
    pub fn launch_recorded(
        &self,
        device: &mut Device,
        kernel: &str,
        grid: Grid,
        arguments: &[Argument],
        limits: Limits,
        recording: Recording,
    ) -> (Result<Summary, Fault>, Trace) {
        let mut observers = Observers { recorder: Some(Recorder::new(recording)), checks: None };
        let result = self.launch_with(device, kernel, grid, arguments, limits, None, &mut observers);
        let trace = observers.recorder.map_or_else(Trace::default, |recorder| recorder.into_trace());
        (result, trace)
    }
}

impl Environment<'_> {
    /// Notes an access of a thread, if that is recorded.
    pub(crate) fn record_access(
        &mut self,
        is_write: bool,
        space: Space,
        address: u64,
        size: usize,
        thread: u32,
    ) {
        let Some(recorder) = self.recorder.as_mut().filter(|recorder| recorder.is_of(thread)) else { return };
        if !recorder.is_inside() {
            return;
        }
        // Generic addresses say which memory they are in.
        let (memory, address) = resolve(space, address);
        let window = match memory {
            Memory::Shared => SHARED_WINDOW,
            Memory::Local => LOCAL_WINDOW,
            _ => 0,
        };
        recorder.access(is_write, window.wrapping_add(address), u32::try_from(size).unwrap_or(u32::MAX));
    }

    /// Describes an access, with the bytes around it as they are now.
    fn traced(&mut self, is_write: bool, address: u64, size: u32, thread: u32) -> TracedAccess {
        let (memory, address) = resolve(Space::Ram, address);
        let name = memory.to_string();
        let around = |bytes: &[u8]| {
            let range = lines_around(address, size, bytes.len() as u64);
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            (range.start, bytes.get(place(range.start)..place(range.end)).unwrap_or_default().to_vec())
        };
        let (memory, offset, (start, bytes)) = match memory {
            Memory::Shared => (name, address, around(&self.block.shared)),
            Memory::Local => {
                let local = self.block.local.get(thread as usize).map_or(&[][..], Vec::as_slice);
                (name, address, around(local))
            }
            _ => match self.device.around(address, size) {
                Some((name, offset, start, bytes)) => (name, offset, (start, bytes)),
                None => (name, address, (address, Vec::new())),
            },
        };
        TracedAccess { is_write, memory, offset, size, start, bytes }
    }
}

/// Records an instruction that a warp has executed.
pub(crate) fn instruction(
    warp: &Warp,
    address: u64,
    active: u32,
    fetched: &Fetched<'_>,
    program: &Program<'_>,
    env: &mut Environment<'_>,
) {
    let Some(mut recorder) = env.recorder.take() else { return };
    let mut lanes = (0..32).filter(|lane| active >> lane & 1 != 0);
    let found = lanes.find(|lane| recorder.is_of(warp.number.wrapping_mul(32).wrapping_add(*lane)));
    if let (Some(lane), Some(_)) = (found, fetched.instruction) {
        let thread = warp.number.wrapping_mul(32).wrapping_add(lane);
        let mut step = TraceStep { address, ..TraceStep::default() };
        let is_inside = recorder.is_inside();
        if is_inside {
            let frame = program.module.frame(program.kernel, address);
            (step.function, step.address) = (frame.section, frame.offset);
        }
        let accesses = std::mem::take(&mut recorder.accesses);
        step.accesses = accesses
            .into_iter()
            .map(|(is_write, address, size)| env.traced(is_write, address, size, thread))
            .collect();
        let lane = lane as usize;
        for register in outputs(fetched.lifted, Space::Register, 0) {
            let bits = warp.registers.general(usize::from(register), lane).into();
            let value = Value { reading: Reading::Bits(32), lanes: vec![bits] };
            step.written.push((Place::Register(register), value));
        }
        for predicate in outputs(fetched.lifted, Space::Flag, FIRST_PREDICATE) {
            let bits = u64::from(warp.registers.predicate(usize::from(predicate)) >> lane & 1);
            let value = Value { reading: Reading::Truth, lanes: vec![bits] };
            step.written.push((Place::Predicate(predicate), value));
        }
        recorder.step(step);
    }
    recorder.accesses.clear();
    env.recorder = Some(recorder);
}
