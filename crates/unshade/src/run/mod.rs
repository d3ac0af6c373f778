//! Runs kernels and shaders: their parameters as a form, launches with values as text, results and traces as data.
//!
//! The command line and the page launch through this module. A [`RunJob`] has all that a launch needs, so that it can go to
//! another thread, or to the page's module that has the emulator. Values are parsed by [`unshade_emulate::argument`].
//!
//! | module | runs |
//! |---|---|
//! | [`cubin`] | kernels of cubins, in the emulator |
//! | [`metal`] | kernels of Metal, in the interpreter |
//! | [`shader`] | DirectX shaders, in the interpreter |
//!
//! A launch ends after [`MAX_TIME_MS`], or when `is_gone` returns true. The sizes of buffers, memory and traces are limited.

pub mod cubin;
pub mod metal;
pub mod shader;

use crate::query::{
    Answer, ByteRange, Fault, Launch, ParametersAnswer, RunAccess, RunAnswer, RunBuffer, RunPlace, RunStep,
    RunTrace, RunValue,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use unshade_emulate::argument::{Reader, Scalar};
use unshade_emulate::interrupt;
use unshade_emulate::trace::{MAX_STEPS, Place, Recording, Trace};

/// The maximum size of a buffer.
pub const MAX_BUFFER: u64 = 16 << 20;

/// The maximum size of all memory of a launch.
const MAX_MEMORY: u64 = 256 << 20;

/// The maximum number of instructions of a launch.
const MAX_INSTRUCTIONS: u64 = 1 << 32;

/// The maximum time of a launch.
pub const MAX_TIME_MS: u32 = 60_000;

/// The time that a launch has if it does not say.
const USUAL_TIME_MS: u32 = 10_000;

/// The time in milliseconds after which a launch asks whether somebody waits for it.
const ASKING_MS: f64 = 50.0;

/// The maximum number of bytes of all buffers that an answer has.
const MAX_OUTPUT: usize = 4 << 20;

/// The maximum number of values at the start of a trace that an answer has.
const MAX_START: usize = 4096;

/// The maximum number of bytes around accesses that the trace of an answer has.
const MAX_AROUND: usize = 1 << 20;

/// The number of threads and of elements of a buffer that are suggested.
const SUGGESTED: u32 = 32;

/// What a launch needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunJob {
    /// The bytes of a cubin, a container or bitcode.
    pub program: Vec<u8>,
    /// The offset of the first byte in ranges; none if the bytes are not in the file as they are.
    pub base: Option<u64>,
    /// The number of the module in bitcode.
    pub module: u32,
    /// The name of the kernel in the program, escaped in Metal; empty for a shader, and for the first kernel of a module.
    pub kernel: String,
    /// How it is launched; without it, the answer has the parameters.
    pub launch: Option<Launch>,
    /// The open files that are values, by their numbers.
    pub files: BTreeMap<u32, Vec<u8>>,
}

/// What a job returns.
#[derive(Clone, Debug)]
pub enum RunResult {
    /// What a launch takes.
    Parameters(ParametersAnswer),
    /// What a launch did.
    Launched(RunAnswer),
}

impl RunJob {
    /// Returns the numbers of the open files that values refer to.
    pub fn wanted_files(&self) -> Vec<u32> {
        let values = self.launch.iter().flat_map(|launch| launch.values.values());
        values.filter_map(|value| value.rsplit_once("file:")?.1.parse().ok()).collect()
    }

    /// Runs the job. `clock` returns milliseconds; the launch ends early when `is_gone` returns true.
    ///
    /// # Errors
    /// The program has no such kernel, it can't be run, or a value is wrong: then the path has the name of the row.
    pub fn run(&self, clock: fn() -> f64, is_gone: impl Fn() -> bool + 'static) -> Answer<RunResult> {
        let Some(launch) = &self.launch else { return self.parameters().map(RunResult::Parameters) };
        let limit = launch.time_ms.unwrap_or(USUAL_TIME_MS).min(MAX_TIME_MS);
        let started = clock();
        // Whether the client is gone is more expensive to ask than the time.
        let asked = Cell::new(started);
        let is_over = move || {
            let now = clock();
            if now - asked.get() > ASKING_MS {
                asked.set(now);
                return is_gone() || now - started > f64::from(limit);
            }
            now - started > f64::from(limit)
        };
        let mut answer = interrupt::until(is_over, || self.launch(launch))?;
        if let Some(fault) = answer.fault.as_mut().filter(|fault| fault.message.contains(STOPPED)) {
            let text = format!("it did not end within {} seconds", f64::from(limit) / 1_000.0);
            fault.message = fault.message.replace(STOPPED, &text);
        }
        Ok(RunResult::Launched(answer))
    }

    /// Returns the launch as JSON, for [`Self::set_launch_json`] in another module.
    pub fn launch_json(&self) -> Option<String> {
        self.launch.as_ref().and_then(|launch| serde_json::to_string(launch).ok())
    }

    /// Sets the launch.
    ///
    /// # Errors
    /// The text is no launch.
    pub fn set_launch_json(&mut self, json: &str) -> Answer<()> {
        let launch = serde_json::from_str(json);
        self.launch = Some(launch.map_err(|error| Fault::new(format!("no launch: {error}")))?);
        Ok(())
    }

    fn parameters(&self) -> Answer<ParametersAnswer> {
        let limits = ParametersAnswer {
            most_bytes: MAX_BUFFER,
            most_threads: 1024,
            most_steps: MAX_STEPS as u32,
            most_ms: MAX_TIME_MS,
            ..ParametersAnswer::default()
        };
        match self.kind() {
            Kind::Shader => shader::parameters(self, limits),
            Kind::Metal => metal::parameters(self, limits),
            Kind::Cubin => cubin::parameters(self, limits),
        }
    }

    fn launch(&self, launch: &Launch) -> Answer<RunAnswer> {
        match self.kind() {
            Kind::Shader => shader::launch(self, launch),
            Kind::Metal => metal::launch(self, launch),
            Kind::Cubin => cubin::launch(self, launch),
        }
    }

    fn kind(&self) -> Kind {
        match self.program.get(..4) {
            Some(b"DXBC") => Kind::Shader,
            Some(b"\x7fELF") => Kind::Cubin,
            _ => Kind::Metal,
        }
    }

    /// Calls a function with a reader of values, which takes files from those of the job.
    fn with_reader<T>(&self, function: impl FnOnce(&Reader<'_>) -> T) -> T {
        let file = |name: &str| {
            let found = name.parse().ok().and_then(|number: u32| self.files.get(&number));
            found.cloned().ok_or_else(|| format!("no open file has the number {name}"))
        };
        function(&Reader { most_bytes: MAX_BUFFER, file: &file })
    }
}

/// What the machines say when they are interrupted.
const STOPPED: &str = "stopped before the end";

enum Kind {
    Cubin,
    Metal,
    Shader,
}

/// Returns the fault of a value.
fn at_row(id: &str, message: impl Into<String>) -> Fault {
    Fault { path: vec![id.to_owned()], ..Fault::new(message) }
}

fn recording(launch: &Launch) -> Option<Recording> {
    let window = launch.trace.as_ref()?;
    let count = (window.count as usize).min(MAX_STEPS);
    Some(Recording { block: window.block, thread: window.thread, from: window.from, count })
}

/// Checks sizes of a grid, so that a launch does not start what can't end.
fn check_grid(launch: &Launch, has_block: bool) -> Answer<()> {
    let count = |sizes: [u32; 3]| sizes.iter().fold(1_u64, |all, size| all.saturating_mul(u64::from(*size)));
    if count(launch.grid) == 0 {
        return Err(at_row("grid", "there is at least one block in each direction"));
    }
    if has_block && !(1..=1024).contains(&count(launch.block)) {
        return Err(at_row("block", format!("a block has 1 to 1024 threads, not {}", count(launch.block))));
    }
    Ok(())
}

/// Returns buffers for an answer. What is beyond the limit has only its size.
fn buffers(all: Vec<(String, String, Option<Scalar>, &[u8])>) -> Vec<RunBuffer> {
    let mut room = MAX_OUTPUT;
    let one = |(id, name, scalar, bytes): (String, String, Option<Scalar>, &[u8])| {
        let shown = bytes.get(..bytes.len().min(room)).unwrap_or_default();
        room -= shown.len();
        let ty = scalar.unwrap_or(Scalar::Unsigned(1)).name();
        RunBuffer { id, name, ty, size: bytes.len() as u64, bytes: crate::view::hex(shown) }
    };
    all.into_iter().map(one).collect()
}

/// Returns a trace as answers have it. `place_of` describes an instruction.
fn trace_view(
    trace: Trace,
    from: u64,
    mut place_of: impl FnMut(u32, u64) -> (Option<ByteRange>, String),
) -> RunTrace {
    let mut view = RunTrace { from, total: trace.total, ..RunTrace::default() };
    let mut numbers = BTreeMap::new();
    let mut number_of = |places: &mut Vec<RunPlace>, function: u32, address: u64| {
        *numbers.entry((function, address)).or_insert_with(|| {
            let (range, text) = place_of(function, address);
            places.push(RunPlace { range, text });
            places.len() as u32 - 1
        })
    };
    let mut value_of = |places: &mut Vec<RunPlace>, place: Place, value: String| {
        let name = match place {
            Place::Result(function, address, 0) => format!("@{}", number_of(places, function, address)),
            Place::Result(function, address, part) => {
                format!("@{}.{part}", number_of(places, function, address))
            }
            place => place.to_string(),
        };
        RunValue { name, value }
    };
    let start = trace.start.into_iter().take(MAX_START);
    view.start = start.map(|(place, value)| value_of(&mut view.places, place, value.to_string())).collect();
    let mut steps = Vec::new();
    let mut room = MAX_AROUND;
    for step in trace.steps {
        let written = step.written.into_iter();
        let written: Vec<RunValue> =
            written.map(|(place, value)| value_of(&mut view.places, place, value.to_string())).collect();
        let accesses = step.accesses.into_iter().map(|access| {
            let bytes = access.bytes.get(..access.bytes.len().min(room)).unwrap_or_default();
            room -= bytes.len();
            RunAccess {
                writes: access.is_write,
                memory: access.memory,
                offset: access.offset,
                size: access.size,
                start: access.start,
                bytes: crate::view::hex(bytes),
            }
        });
        steps.push((step.function, step.address, written, accesses.collect()));
    }
    for (function, address, written, accesses) in steps {
        let at = match numbers.get(&(function, address)) {
            Some(at) => *at,
            None => {
                let (range, text) = place_of(function, address);
                view.places.push(RunPlace { range, text });
                let at = view.places.len() as u32 - 1;
                numbers.insert((function, address), at);
                at
            }
        };
        view.steps.push(RunStep { at, written, accesses });
    }
    view
}
