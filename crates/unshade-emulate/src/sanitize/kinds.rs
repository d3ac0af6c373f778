//! The kinds of faults: their names, the tools that find them, and what to do about them.

use super::Tool;
use crate::fault::{RaceScope, Reason};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name, for programs and people.
    pub name: &'static str,
    /// The tool that finds it.
    pub tool: Tool,
    /// What to do about it.
    pub advice: &'static str,
}

const fn kind(name: &'static str, tool: Tool, advice: &'static str) -> Kind {
    Kind { name, tool, advice }
}

const OUT_OF_BOUNDS: Kind =
    kind("out-of-bounds", Tool::Memory, "compare the index with the size, or make the memory larger");
const MISALIGNED: Kind = kind(
    "misaligned",
    Tool::Memory,
    "make the address a multiple of the size: look for a cast or an odd offset",
);
const USE_AFTER_FREE: Kind = kind("use-after-free", Tool::Memory, "free the memory after its last use");
const DOUBLE_FREE: Kind = kind("double-free", Tool::Memory, "free the memory once, by one thread");
const INVALID_FREE: Kind = kind("invalid-free", Tool::Memory, "free only what malloc or new returned");
const LEAK: Kind = kind("leak", Tool::Memory, "free the memory before the kernel ends");
const STACK_OVERFLOW: Kind =
    kind("stack-overflow", Tool::Memory, "recurse less deeply, or set a larger stack with --local");
const UNINITIALIZED: Kind =
    kind("uninitialized-read", Tool::Init, "write the memory before it is read, by every thread that has to");
const RACE_IN_WARP: Kind =
    kind("race-in-warp", Tool::Races, "let one lane write, or use an atomic operation");
const RACE_IN_BLOCK: Kind =
    kind("race-in-block", Tool::Races, "put __syncthreads() between the two, or use an atomic operation");
const RACE_BETWEEN_BLOCKS: Kind = kind(
    "race-between-blocks",
    Tool::Races,
    "use an atomic operation, or __threadfence() before the flag or lock that hands the data over",
);
const DIVERGENT_BARRIER: Kind =
    kind("divergent-barrier", Tool::Sync, "let all threads of the block reach the same __syncthreads()");
const STUCK_BARRIER: Kind =
    kind("stuck-barrier", Tool::Sync, "let as many threads arrive as the barrier waits for");
const TRAP: Kind =
    kind("trap", Tool::Memory, "the program stopped itself: look for __trap() or a failed check");
const ASSERTION: Kind = kind("assertion", Tool::Memory, "look at the condition of the assertion");
const BAD_CODE: Kind = kind("bad-code", Tool::Memory, "look for a function pointer that was never set");
const LIMIT: Kind = kind("limit", Tool::Memory, "raise the limit, or look for a loop that does not end");
const NOT_EMULATED: Kind = kind("not-emulated", Tool::Memory, "what follows in the kernel was not checked");

impl Kind {
    /// Returns the kind of a fault.
    pub fn of(reason: &Reason) -> &'static Self {
        match reason {
            Reason::OutOfBounds { .. } | Reason::OutOfSurface => &OUT_OF_BOUNDS,
            Reason::Misaligned { .. } => &MISALIGNED,
            Reason::UseAfterFree { .. } => &USE_AFTER_FREE,
            Reason::DoubleFree { .. } => &DOUBLE_FREE,
            Reason::InvalidFree(_) => &INVALID_FREE,
            Reason::Leak { .. } => &LEAK,
            Reason::StackOverflow => &STACK_OVERFLOW,
            Reason::Uninitialized { .. } => &UNINITIALIZED,
            Reason::Race { scope: RaceScope::Warp, .. } => &RACE_IN_WARP,
            Reason::Race { scope: RaceScope::Block, .. } | Reason::Order(_) => &RACE_IN_BLOCK,
            Reason::Race { scope: RaceScope::Grid, .. } => &RACE_BETWEEN_BLOCKS,
            Reason::DivergentBarrier(_) => &DIVERGENT_BARRIER,
            Reason::Deadlock(_) => &STUCK_BARRIER,
            Reason::Trap => &TRAP,
            Reason::Assertion(_) => &ASSERTION,
            Reason::Undecoded(_) | Reason::NoCode(_) | Reason::StackEmpty(_) | Reason::Undefined => &BAD_CODE,
            Reason::Steps(_)
            | Reason::Time(_)
            | Reason::Interrupted
            | Reason::Memory(_)
            | Reason::StackTooDeep(_) => &LIMIT,
            Reason::Unsupported(_) | Reason::HostCall(_) | Reason::Launch(_) => &NOT_EMULATED,
        }
    }
}

/// Returns whether a kernel goes on after the fault: its access is left out, or was harmless.
pub(super) fn goes_on(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::OutOfBounds { .. }
            | Reason::OutOfSurface
            | Reason::Misaligned { .. }
            | Reason::UseAfterFree { .. }
            | Reason::DoubleFree { .. }
            | Reason::InvalidFree(_)
    )
}
