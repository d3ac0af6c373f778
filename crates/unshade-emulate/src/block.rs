//! A block: its warps take turns until all have ended.

use std::time::{Duration, Instant};

use unshade_core::Escaped;

use crate::barrier::Barriers;
use crate::execute::Scratch;
use crate::fault::{Fault, Place, Reason};
use crate::launch::{Limits, Step};
use crate::program::Program;
use crate::warp::{State, Warp};
use crate::world::World;

/// A warp runs so many instructions before it is another's turn: threads may wait for what others write.
const TURN: u64 = 512;

/// What is watched and limited while a launch runs.
pub(crate) struct Context<'a> {
    pub(crate) trace: Option<&'a mut dyn FnMut(&Step<'_>)>,
    pub(crate) stack_limit: usize,
    pub(crate) limits: Limits,
    pub(crate) started: Instant,
    pub(crate) kernel: String,
}

/// The warps of a block and its barriers; kept from block to block, for their memory.
#[derive(Default)]
pub(crate) struct Block {
    warps: Vec<Warp>,
    barriers: Barriers,
    scratch: Scratch,
}

impl Block {
    /// Runs a block from an address on.
    pub(crate) fn run(
        &mut self,
        start: u64,
        program: &Program<'_>,
        world: &mut World<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let threads = world.position.thread_count();
        let count = threads.div_ceil(32);
        self.warps.resize_with(count as usize, Warp::new);
        for (number, warp) in (0..).zip(&mut self.warps) {
            let rest = threads.saturating_sub(32 * number);
            warp.start(number, if rest >= 32 { u32::MAX } else { (1 << rest) - 1 }, start);
        }
        self.barriers = Barriers::default();
        if let Some(order) = &mut world.order {
            order.start(self.warps.len());
        }
        let mut live = self.warps.len();
        while live > 0 {
            let mut ran = false;
            for index in 0..self.warps.len() {
                let Some(warp) = self.warps.get_mut(index) else { break };
                if warp.state != State::Running {
                    continue;
                }
                ran = true;
                for _ in 0..TURN {
                    warp.step(program, world, &mut self.scratch, context)
                        .map_err(|(lane, reason)| fault(warp, lane, reason, program, world, context))?;
                    world.steps += 1;
                    if let Some(arrival) = self.scratch.effects.arrival.take()
                        && self.barriers.arrive(index, &arrival)
                    {
                        warp.state = State::Waiting;
                    }
                    if warp.state != State::Running {
                        break;
                    }
                }
                watch(world, context)?;
            }
            live = self.warps.iter().filter(|warp| warp.state != State::Ended).count();
            let (warps, mut passed) = (&mut self.warps, false);
            self.barriers.passed(live, |index, result| {
                passed = true;
                if let Some(order) = &mut world.order {
                    order.passed(index);
                }
                if let Some(warp) = warps.get_mut(index) {
                    warp.state = State::Running;
                    warp.barrier_result = result;
                }
            });
            if !ran && !passed && live > 0 {
                return Err(self.deadlock(live, program, world, context));
            }
        }
        Ok(())
    }

    fn deadlock(
        &self,
        live: usize,
        program: &Program<'_>,
        world: &World<'_>,
        context: &Context<'_>,
    ) -> Fault {
        let reason = Reason::Deadlock(self.barriers.describe(live));
        match self.warps.iter().find(|warp| warp.state == State::Waiting) {
            Some(warp) => fault(warp, warp.active.trailing_zeros(), reason, program, world, context),
            None => reason.into(),
        }
    }
}

fn watch(world: &World<'_>, context: &Context<'_>) -> Result<(), Fault> {
    if world.steps > context.limits.steps {
        return Err(Reason::Steps(context.limits.steps).into());
    }
    if context.limits.time < Duration::MAX && context.started.elapsed() > context.limits.time {
        return Err(Reason::Time(context.limits.time).into());
    }
    Ok(())
}

/// Tells where something happened.
fn fault(
    warp: &Warp,
    lane: u32,
    reason: Reason,
    program: &Program<'_>,
    world: &World<'_>,
    context: &Context<'_>,
) -> Fault {
    let instruction = program.fetch(warp.last).ok().and_then(|fetched| fetched.instruction);
    let lane = lane & 31;
    Fault {
        reason,
        place: Some(Box::new(Place {
            kernel: Escaped(context.kernel.as_bytes()).to_string(),
            address: warp.last,
            text: instruction.map_or_else(|| "?".into(), |instruction| instruction.text(warp.last)),
            block: world.position.block,
            thread: world.position.thread(warp.number.wrapping_mul(32).wrapping_add(lane)),
            lane: (warp.number, lane),
        })),
    }
}
