//! Why a run of a shader ended early, and the limits of a run.

use crate::interrupt;
use std::fmt::{Display, Formatter, Result};
use unshade_ir::NO_ADDRESS;

/// The reason of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// An operation that the interpreter does not have.
    Unsupported(String),
    /// An instruction that the front end could not lift.
    Unlifted(String),
    /// A stage that the interpreter does not run.
    Stage(&'static str),
    /// A function that is called, and that the program does not have.
    Function(String),
    /// The run was ended from outside.
    Interrupted,
    /// More steps than the limit.
    Steps,
    /// More memory than the limit.
    Memory,
    /// More calls or branches inside each other than the limit.
    Depth,
    /// The code is unsound: a value is used where it is not available.
    Unsound,
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Unsupported(operation) => write!(f, "the operation {operation} is not supported"),
            Self::Unlifted(note) => write!(f, "an instruction was not lifted: {note}"),
            Self::Stage(stage) => write!(f, "{stage} shaders are not run"),
            Self::Function(name) => write!(f, "the function {name} is not in the program"),
            Self::Interrupted => f.write_str("stopped before the end"),
            Self::Steps => f.write_str("more steps than the limit"),
            Self::Memory => f.write_str("more memory than the limit"),
            Self::Depth => f.write_str("calls or branches nest too deeply"),
            Self::Unsound => f.write_str("a value is used where it is not available"),
        }
    }
}

/// The end of a run that failed: what happened where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub reason: Reason,
    /// The address of the instruction, if there is one: an offset of tokens, the number of an instruction of DXIL.
    pub address: Option<u32>,
    /// The lane of the wave: the first one that was active.
    pub lane: Option<u32>,
}

impl Fault {
    /// Creates a fault of no instruction.
    pub(super) fn new(reason: Reason) -> Self {
        Self { reason, address: None, lane: None }
    }

    /// Adds the instruction and the lane, unless they are known.
    pub(super) fn at(mut self, address: u32, lane: u32) -> Self {
        if self.lane.is_none() {
            self.address = Some(address).filter(|address| *address != NO_ADDRESS);
            self.lane = Some(lane);
        }
        self
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.reason.fmt(f)?;
        if let Some(address) = self.address {
            write!(f, ", at {address:#x}")?;
        }
        match self.lane {
            Some(lane) => write!(f, ", lane {lane}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self::new(reason)
    }
}

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of operations, each for all lanes of a wave.
    pub steps: u64,
    /// Maximum number of bytes of registers, variables and resources.
    pub memory: usize,
    /// Maximum number of calls, and of branches of a call, that are inside each other.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 20_000_000, memory: 512 << 20, depth: 1024 }
    }
}

/// The number of steps after which a run asks whether it is to end.
const INTERRUPTIBLE: u64 = 4096;

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    steps: u64,
    memory: usize,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, steps: 0, memory: 0 }
    }

    /// Returns the number of steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Counts a step.
    pub(crate) fn step(&mut self) -> std::result::Result<(), Reason> {
        self.steps += 1;
        if self.steps > self.limits.steps {
            return Err(Reason::Steps);
        }
        if self.steps.is_multiple_of(INTERRUPTIBLE) && interrupt::is_requested() {
            return Err(Reason::Interrupted);
        }
        Ok(())
    }

    /// Counts bytes that are about to be allocated.
    pub(crate) fn allocate(&mut self, bytes: usize) -> std::result::Result<(), Reason> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory { Err(Reason::Memory) } else { Ok(()) }
    }

    /// Counts bytes that were freed.
    pub(crate) fn free(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_sub(bytes);
    }
}
