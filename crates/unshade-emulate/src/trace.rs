//! Traces of one thread: what each instruction wrote and which memory it accessed, so that a reader can step through a
//! launch in both directions.
//!
//! A `Recorder` counts the instructions of the thread and keeps those of a window. Values written before the window are
//! its start; the state at a step is that and everything the steps up to it wrote. Launches are deterministic, so another
//! window comes from another launch. Memory, of which other threads write, too, is kept as it was around each access.

use std::collections::BTreeMap;
use std::fmt;

use unshade_core::half::half_to_double;

/// The bytes around an access that are kept: the line of this size that it is in, and its neighbours.
pub(crate) const LINE: u64 = 32;

/// The maximum number of steps of a trace.
pub const MAX_STEPS: usize = 4096;

/// The maximum number of accesses of a step that are kept.
const MAX_ACCESSES: usize = 16;

/// The maximum number of values that are known at the start of a window.
const MAX_VALUES: usize = 1 << 16;

/// Selects what is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The position of the block or threadgroup in the grid.
    pub block: [u32; 3],
    /// The number of the thread in its block.
    pub thread: u32,
    /// The first step that is kept.
    pub from: u64,
    /// The number of steps that are kept, at most [`MAX_STEPS`].
    pub count: usize,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A general register.
    Register(u8),
    /// A predicate.
    Predicate(u8),
    /// The result of an instruction: its function and address, and its number among the results of the instruction.
    Result(u32, u64, u8),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(number) => write!(f, "R{number}"),
            Self::Predicate(number) => write!(f, "P{number}"),
            Self::Result(_, address, 0) => write!(f, "@{address:#x}"),
            Self::Result(_, address, number) => write!(f, "@{address:#x}.{number}"),
        }
    }
}

/// How the bits of a number are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// As bits; the number of bits.
    Bits(u8),
    /// As true or false.
    #[default]
    Truth,
    /// As a float of 16, 32 or 64 bits.
    Float(u8),
    /// As the upper half of a float of 32 bits.
    BFloat,
}

impl Reading {
    /// Formats a number.
    pub fn show(self, bits: u64) -> String {
        match self {
            Self::Truth => (bits & 1 != 0).to_string(),
            Self::Bits(width) => format!("{bits:#0width$x}", width = usize::from(width.div_ceil(4)) + 2),
            Self::Float(16) => format!("{:?}", half_to_double(bits as u16)),
            Self::Float(64) => format!("{:?}", f64::from_bits(bits)),
            Self::Float(_) => format!("{:?}", f32::from_bits(bits as u32)),
            Self::BFloat => format!("{:?}", f32::from_bits((bits as u32) << 16)),
        }
    }
}

/// A value: the bits of its lanes, of which a number has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// How the bits are read.
    pub reading: Reading,
    /// The bits.
    pub lanes: Vec<u64>,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, lane) in self.lanes.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { " " }, self.reading.show(*lane))?;
        }
        Ok(())
    }
}

/// An access of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedAccess {
    /// Whether it writes.
    pub is_write: bool,
    /// The memory, or the name of the allocation.
    pub memory: String,
    /// The offset in it.
    pub offset: u64,
    /// The number of bytes.
    pub size: u32,
    /// The offset of the first byte of `bytes`.
    pub start: u64,
    /// The bytes around the access, after the instruction.
    pub bytes: Vec<u8>,
}

/// An executed instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceStep {
    /// The function: the section of a cubin's code, or the index of the function in a program.
    pub function: u32,
    /// The address of the instruction in it.
    pub address: u64,
    /// What it wrote.
    pub written: Vec<(Place, Value)>,
    /// The memory that it accessed.
    pub accesses: Vec<TracedAccess>,
}

/// The steps of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The number of steps of the thread, kept or not.
    pub total: u64,
    /// The values at the start of the window.
    pub start: Vec<(Place, Value)>,
    /// The steps of the window.
    pub steps: Vec<TraceStep>,
}

/// Records a trace while a launch runs.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    recording: Recording,
    /// The block that runs.
    block: [u32; 3],
    total: u64,
    state: BTreeMap<Place, Value>,
    steps: Vec<TraceStep>,
    /// The function and the address of the last step, if what follows there is part of it.
    last: Option<(u32, u64)>,
    /// Accesses of the instruction that runs: whether it writes, and what the machine calls the place.
    pub(crate) accesses: Vec<(bool, u64, u32)>,
}

impl Recorder {
    pub(crate) fn new(recording: Recording) -> Box<Self> {
        let recording = Recording { count: recording.count.min(MAX_STEPS), ..recording };
        Box::new(Self { recording, ..Self::default() })
    }

    /// Notes the block that runs next.
    pub(crate) fn set_block(&mut self, block: [u32; 3]) {
        self.block = block;
    }

    /// Returns whether the thread with this number in the block that runs is the recorded one.
    pub(crate) fn is_of(&self, thread: u32) -> bool {
        self.recording.thread == thread && self.recording.block == self.block
    }

    /// Returns whether the next new step is in the window, so that its accesses are kept.
    pub(crate) fn is_inside(&self) -> bool {
        self.is_in_window(self.total)
    }

    /// Returns whether the step of an instruction is kept, be it a new one or part of the last.
    pub(crate) fn keeps(&self, function: u32, address: u64) -> bool {
        let is_part = self.last == Some((function, address));
        self.is_in_window(self.total.saturating_sub(u64::from(is_part)))
    }

    fn is_in_window(&self, step: u64) -> bool {
        let from = self.recording.from;
        (from..from.saturating_add(self.recording.count as u64)).contains(&step)
    }

    /// Notes an access of the instruction that runs. Parts of a vector become one access.
    pub(crate) fn access(&mut self, is_write: bool, address: u64, size: u32) {
        if let Some((known, start, length)) = self.accesses.last_mut()
            && *known == is_write
            && start.wrapping_add(u64::from(*length)) == address
        {
            *length = length.saturating_add(size);
        } else if self.accesses.len() < MAX_ACCESSES {
            self.accesses.push((is_write, address, size));
        }
    }

    /// Adds a step.
    pub(crate) fn step(&mut self, step: TraceStep) {
        self.last = Some((step.function, step.address));
        if self.total < self.recording.from {
            self.keep(step.written);
        } else if self.steps.len() < self.recording.count {
            self.steps.push(step);
        }
        self.total += 1;
    }

    /// Adds what the intermediate representation computes for an instruction: its own step, or part of the last one if
    /// that is of the same instruction.
    pub(crate) fn part(&mut self, mut step: TraceStep) {
        if self.last != Some((step.function, step.address)) {
            return self.step(step);
        }
        let is_last_kept = self.recording.from + self.steps.len() as u64 == self.total;
        let Some(last) = self.steps.last_mut().filter(|_| is_last_kept) else {
            if self.total <= self.recording.from {
                self.keep(step.written);
            }
            return;
        };
        for (place, value) in step.written {
            let number = last.written.iter().filter(|(known, _)| is_same_instruction(*known, place)).count();
            last.written.push((numbered(place, number), value));
        }
        last.accesses.append(&mut step.accesses);
        last.accesses.truncate(MAX_ACCESSES);
    }

    /// Ends the last step: what follows at the same address is another one.
    pub(crate) fn end_step(&mut self) {
        self.last = None;
    }

    fn keep(&mut self, written: Vec<(Place, Value)>) {
        for (place, value) in written {
            if self.state.len() < MAX_VALUES || self.state.contains_key(&place) {
                self.state.insert(place, value);
            }
        }
    }

    pub(crate) fn into_trace(self) -> Trace {
        Trace { total: self.total, start: self.state.into_iter().collect(), steps: self.steps }
    }
}

fn is_same_instruction(known: Place, place: Place) -> bool {
    matches!((known, place), (Place::Result(a, b, _), Place::Result(c, d, _)) if (a, b) == (c, d))
}

fn numbered(place: Place, number: usize) -> Place {
    match place {
        Place::Result(function, address, _) => {
            Place::Result(function, address, u8::try_from(number).unwrap_or(u8::MAX))
        }
        place => place,
    }
}

/// Returns the offsets of the lines around an access of a memory with this many bytes.
pub(crate) fn lines_around(offset: u64, size: u32, length: u64) -> std::ops::Range<u64> {
    let start = (offset / LINE).saturating_sub(1) * LINE;
    let last = offset.saturating_add(u64::from(size.clamp(1, 512)).div_ceil(LINE) * LINE) / LINE * LINE;
    let end = last.saturating_add(LINE);
    start.min(length)..end.min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(address: u64, value: u64) -> TraceStep {
        let written = vec![(Place::Register(1), Value { reading: Reading::Bits(32), lanes: vec![value] })];
        TraceStep { address, written, ..TraceStep::default() }
    }

    #[test]
    fn a_window_starts_with_what_was_written_before() {
        let mut recorder = Recorder::new(Recording { from: 2, count: 2, ..Recording::default() });
        for number in 0..6 {
            recorder.step(step(8 * number, number));
        }
        let trace = recorder.into_trace();
        assert_eq!(trace.total, 6);
        assert_eq!(trace.start[0].1.lanes, [1]);
        assert_eq!(trace.steps.iter().map(|step| step.address).collect::<Vec<_>>(), [16, 24]);
    }

    #[test]
    fn results_of_one_instruction_are_one_step() {
        let part = |address, value| {
            let written =
                vec![(Place::Result(0, address, 0), Value { lanes: vec![value], ..Value::default() })];
            TraceStep { address, written, ..TraceStep::default() }
        };
        let mut recorder = Recorder::new(Recording { count: 10, ..Recording::default() });
        recorder.part(part(1, 5));
        recorder.part(part(1, 6));
        recorder.end_step();
        recorder.part(part(1, 7));
        let trace = recorder.into_trace();
        assert_eq!(trace.total, 2);
        assert_eq!(trace.steps[0].written[1].0, Place::Result(0, 1, 1));
        assert_eq!(trace.steps[1].written.len(), 1);
    }

    #[test]
    fn lines_stay_in_their_memory() {
        assert_eq!(lines_around(0, 4, 100), 0..64);
        assert_eq!(lines_around(70, 4, 100), 32..100);
        assert_eq!(lines_around(u64::MAX, 4, 100), 100..100);
    }

    #[test]
    fn numbers_are_read_by_their_kind() {
        assert_eq!(Reading::Bits(32).show(0x3f80), "0x00003f80");
        assert_eq!(Reading::Float(32).show(0x3f80_0000), "1.0");
        assert_eq!(Reading::BFloat.show(0x3f80), "1.0");
        assert_eq!(Reading::Truth.show(1), "true");
    }
}
