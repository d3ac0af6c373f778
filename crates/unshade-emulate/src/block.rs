//! Blocks: warps take turns until all have exited.

use unshade_core::Escaped;

use crate::barrier::Barriers;
use crate::context::Context;
use crate::environment::Environment;
use crate::execute::Scratch;
use crate::fault::{Fault, Location, Reason};
use crate::program::Program;
use crate::warp::{State, Warp};

/// The number of instructions that a warp runs per turn. Turns make progress certain if threads spin on memory that
/// others write.
const INSTRUCTIONS_PER_TURN: u64 = 512;

/// The warps and barriers of a block. They are reused for the next block to save allocations.
#[derive(Default)]
pub(crate) struct Block {
    warps: Vec<Warp>,
    barriers: Barriers,
    scratch: Scratch,
}

impl Block {
    /// Runs a block, starting at an address.
    pub(crate) fn run(
        &mut self,
        start: u64,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let threads = env.position.thread_count();
        let count = threads.div_ceil(32);
        self.warps.resize_with(count as usize, Warp::new);
        for (number, warp) in (0..).zip(&mut self.warps) {
            let rest = threads.saturating_sub(32 * number);
            warp.start(number, if rest >= 32 { u32::MAX } else { (1 << rest) - 1 }, start);
        }
        self.barriers = Barriers::default();
        if let Some(races) = &mut env.races {
            races.start(self.warps.len());
        }
        let mut live = self.warps.len();
        while live > 0 {
            let mut progressed = false;
            for index in 0..self.warps.len() {
                let Some(warp) = self.warps.get_mut(index) else { break };
                if warp.state != State::Running {
                    continue;
                }
                progressed = true;
                for _ in 0..INSTRUCTIONS_PER_TURN {
                    warp.step(program, env, &mut self.scratch, context)
                        .map_err(|(lane, reason)| fault(warp, lane, reason, program, env, context))?;
                    env.steps += 1;
                    if let Some(arrival) = self.scratch.effects.arrival.take()
                        && self.barriers.arrive(index, &arrival)
                    {
                        warp.state = State::Waiting;
                    }
                    if warp.state != State::Running {
                        break;
                    }
                }
                context.check_limits(env.steps)?;
            }
            live = self.warps.iter().filter(|warp| warp.state != State::Exited).count();
            let (warps, mut passed) = (&mut self.warps, false);
            self.barriers.passed(live, |index, result| {
                passed = true;
                if let Some(races) = &mut env.races {
                    races.passed(index);
                }
                if let Some(warp) = warps.get_mut(index) {
                    warp.state = State::Running;
                    warp.barrier_result = result;
                }
            });
            if !progressed && !passed && live > 0 {
                return Err(self.deadlock(live, program, env, context));
            }
        }
        Ok(())
    }

    fn deadlock(
        &self,
        live: usize,
        program: &Program<'_>,
        env: &Environment<'_>,
        context: &Context<'_>,
    ) -> Fault {
        let reason = Reason::Deadlock(self.barriers.describe(live));
        match self.warps.iter().find(|warp| warp.state == State::Waiting) {
            Some(warp) => fault(warp, warp.active.trailing_zeros(), reason, program, env, context),
            None => reason.into(),
        }
    }
}

/// Adds the location of a lane to a reason.
fn fault(
    warp: &Warp,
    lane: u32,
    reason: Reason,
    program: &Program<'_>,
    env: &Environment<'_>,
    context: &Context<'_>,
) -> Fault {
    let instruction = program.fetch(warp.last).ok().and_then(|fetched| fetched.instruction);
    let lane = lane & 31;
    Fault {
        reason,
        location: Some(Box::new(Location {
            kernel: Escaped(context.kernel.as_bytes()).to_string(),
            address: warp.last,
            text: instruction.map_or_else(|| "?".into(), |instruction| instruction.text(warp.last)),
            block: env.position.block,
            thread: env.position.thread(warp.number.wrapping_mul(32).wrapping_add(lane)),
            lane: (warp.number, lane),
        })),
    }
}
