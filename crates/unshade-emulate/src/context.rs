//! Limits, options and traces of a launch.

use std::time::{Duration, Instant};

use unshade_sass::Instruction;
use unshade_sass::semantics::table::FIRST_PREDICATE;
use unshade_sass::semantics::{Lifted, Space};

use crate::fault::Reason;
use crate::interrupt;
use crate::lanes::Registers;

/// The limits and options of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of instructions, counted per warp.
    pub steps: u64,
    /// Maximum time.
    pub time: Duration,
    /// Maximum number of entries of a warp's reconvergence stack.
    pub stack: usize,
    /// Bytes of local memory per thread, if the kernel does not need more.
    pub local: u32,
    /// Whether data races are faults: results of a block that depend on the order in which its threads run.
    pub ordered: bool,
    /// The value that a shuffle returns for an inactive lane. It is undefined: results that depend on it are meaningless.
    pub absent: u64,
    /// How far clocks advance with each instruction. Results that depend on it are those of a clock.
    pub ticks: u64,
    /// The bytes in local memory that were never written. Results that depend on them are meaningless.
    pub unwritten: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 1 << 32,
            time: Duration::MAX,
            stack: 4096,
            local: 16 << 10,
            ordered: false,
            absent: 0,
            ticks: 1,
            unwritten: 0,
        }
    }
}

/// An executed instruction of a warp, as reported to a trace.
pub struct Step<'a> {
    /// The block.
    pub block: [u32; 3],
    /// The warp's index in the block.
    pub warp: u32,
    /// The instruction's address.
    pub address: u64,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The active lanes, as a mask.
    pub active: u32,
    /// The registers after the instruction.
    pub registers: &'a Registers,
    /// The number of entries of the reconvergence stack before the instruction.
    pub depth: usize,
    pub(crate) lifted: &'a Lifted,
}

impl Step<'_> {
    /// Returns the general registers that the instruction may have written.
    pub fn written(&self) -> Vec<u8> {
        outputs(self.lifted, Space::Register, 0)
    }

    /// Returns the predicates that the instruction may have written.
    pub fn written_predicates(&self) -> Vec<u8> {
        outputs(self.lifted, Space::Flag, FIRST_PREDICATE)
    }
}

/// Returns the registers of a space that an instruction may write, counted from `first`.
pub(crate) fn outputs(lifted: &Lifted, space: Space, first: u64) -> Vec<u8> {
    let mut written = Vec::new();
    let outputs = lifted.ops().iter().filter_map(|op| op.output);
    for output in outputs.filter(|output| output.space == space) {
        let last = u64::from(output.width > 32);
        let number = output.offset.checked_sub(first);
        written.extend(number.into_iter().flat_map(|number| number..=number + last));
    }
    written.sort_unstable();
    written.dedup();
    written.into_iter().filter_map(|number| u8::try_from(number).ok()).collect()
}

/// The state of a launch that does not change from block to block: trace and limits.
pub(crate) struct Context<'a> {
    pub(crate) trace: Option<&'a mut dyn FnMut(&Step<'_>)>,
    pub(crate) stack_limit: usize,
    pub(crate) limits: Limits,
    /// When the launch began; not asked where there is no limit, since some systems have no clock.
    pub(crate) started: Option<Instant>,
}

impl<'a> Context<'a> {
    /// Starts the clock of a launch.
    pub(crate) fn new(limits: Limits, trace: Option<&'a mut dyn FnMut(&Step<'_>)>) -> Self {
        let started = (limits.time < Duration::MAX).then(Instant::now);
        Self { trace, stack_limit: limits.stack, limits, started }
    }

    /// Checks the limits of instructions and time.
    pub(crate) fn check_limits(&self, steps: u64) -> Result<(), Reason> {
        if steps > self.limits.steps {
            return Err(Reason::Steps(self.limits.steps));
        }
        if self.started.is_some_and(|started| started.elapsed() > self.limits.time) {
            return Err(Reason::Time(self.limits.time));
        }
        if interrupt::is_requested() {
            return Err(Reason::Interrupted);
        }
        Ok(())
    }
}
