//! Locations of faults: instruction, thread, call stack.

use unshade_core::Escaped;

use crate::environment::Position;
use crate::fault::{Fault, Location, Reason};
use crate::program::Program;
use crate::symbols::{self, Frame};
use crate::warp::Warp;

/// Adds the location of a lane to a reason.
pub(crate) fn fault(
    warp: &Warp,
    lane: u32,
    reason: Reason,
    program: &Program<'_>,
    position: Position,
) -> Fault {
    let lane = lane & 31;
    let stack = symbols::call_stack(warp, lane, program);
    let thread = warp.number.wrapping_mul(32).wrapping_add(lane);
    Fault { reason, location: Some(Box::new(location(&stack, warp.last, thread, program, position))) }
}

/// Returns the location of a thread. `last` is its address if the call stack is empty.
pub(crate) fn location(
    stack: &[u64],
    last: u64,
    thread: u32,
    program: &Program<'_>,
    position: Position,
) -> Location {
    let address = stack.first().copied().unwrap_or(last);
    let instruction = program.fetch(address).ok().and_then(|fetched| fetched.instruction);
    Location {
        kernel: Escaped(program.kernel.name.as_bytes()).to_string(),
        address,
        text: instruction.map_or_else(|| "?".into(), |instruction| instruction.text(address)),
        block: position.block,
        thread: position.thread(thread),
        lane: (thread / 32, thread % 32),
        stack: frames(stack, program),
    }
}

/// Returns the frames of a call stack.
pub(crate) fn frames(stack: &[u64], program: &Program<'_>) -> Vec<Frame> {
    stack.iter().map(|address| program.module.frame(program.kernel, *address)).collect()
}
