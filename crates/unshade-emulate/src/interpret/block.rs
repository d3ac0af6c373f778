//! Blocks of interpreted warps, which take turns as those of the emulator do.

use super::program::Program;
use super::warp::{State, Warp};
use crate::barrier::Barriers;
use crate::block::INSTRUCTIONS_PER_TURN;
use crate::context::Context;
use crate::environment::{BlockState, Environment};
use crate::fault::{Fault, Location, Reason};
use crate::schedule::{Patience, Turn};

/// A block: its warps, barriers and memories. It is reused for the next block to save allocations.
pub(super) struct Block {
    state: BlockState,
    warps: Vec<Warp>,
    barriers: Barriers,
}

impl Block {
    pub(super) fn new(state: BlockState) -> Self {
        Self { state, warps: Vec::new(), barriers: Barriers::default() }
    }

    /// Prepares the block at a position to run.
    pub(super) fn start(&mut self, block: [u32; 3], program: &Program<'_>) {
        self.state.start(block);
        let threads = self.state.position.thread_count();
        self.warps.resize_with(threads.div_ceil(32) as usize, Warp::default);
        for (number, warp) in (0..).zip(&mut self.warps) {
            let rest = threads.saturating_sub(32 * number);
            warp.start(number, if rest >= 32 { u32::MAX } else { (1 << rest) - 1 }, program);
        }
        self.barriers = Barriers::default();
    }

    /// Runs the block until it ends, or until it seems to wait for another block.
    pub(super) fn run(
        &mut self,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &Context<'_>,
    ) -> Result<Turn, Fault> {
        std::mem::swap(&mut self.state, &mut env.block);
        let turn = self.take_turns(program, env, context);
        std::mem::swap(&mut self.state, &mut env.block);
        turn
    }

    fn take_turns(
        &mut self,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &Context<'_>,
    ) -> Result<Turn, Fault> {
        let mut patience = Patience::new(env);
        let mut live = self.live();
        while live > 0 {
            let mut progressed = false;
            for index in 0..self.warps.len() {
                progressed |= self.run_warp(index, program, env, context)?;
            }
            let live_before = std::mem::replace(&mut live, self.live());
            let passed = self.pass_barriers(live, env);
            if !progressed && !passed && live > 0 {
                return Err(Reason::Deadlock(self.barriers.describe(live)).into());
            }
            if patience.is_over(env, passed || live != live_before) && live > 0 {
                return Ok(Turn::Suspended);
            }
        }
        Ok(Turn::Ended)
    }

    fn live(&self) -> usize {
        self.warps.iter().filter(|warp| warp.state != State::Exited).count()
    }

    /// Gives a warp its turn; returns whether it executed anything.
    fn run_warp(
        &mut self,
        index: usize,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &Context<'_>,
    ) -> Result<bool, Fault> {
        let Some(warp) = self.warps.get_mut(index).filter(|warp| warp.state == State::Running) else {
            return Ok(false);
        };
        for _ in 0..INSTRUCTIONS_PER_TURN {
            let arrival = match warp.step(program, env) {
                Ok(arrival) => arrival,
                Err((lane, reason)) => return Err(located(warp, lane, reason, program, env)),
            };
            env.steps += 1;
            if let Some(arrival) = arrival
                && self.barriers.arrive(index, &arrival)
            {
                warp.state = State::Waiting;
            }
            if warp.state != State::Running {
                break;
            }
        }
        context.check_limits(env.steps)?;
        Ok(true)
    }

    /// Resumes the warps whose barrier is complete; returns whether there were any.
    fn pass_barriers(&mut self, live: usize, env: &mut Environment<'_>) -> bool {
        let (warps, mut has_passed) = (&mut self.warps, false);
        self.barriers.passed(live, |index, passed| {
            has_passed = true;
            if let Some(races) = &mut env.block.races {
                races.passed(index);
            }
            if let Some(warp) = warps.get_mut(index) {
                warp.resume(&passed.result);
            }
        });
        has_passed
    }
}

/// Adds the location of a lane to a reason.
fn located(warp: &Warp, lane: u32, reason: Reason, program: &Program<'_>, env: &Environment<'_>) -> Fault {
    let thread = 32 * warp.number + (lane & 31);
    let (function, address, text) = warp.position(program);
    Fault {
        reason,
        location: Some(Box::new(Location {
            kernel: function,
            address: address.into(),
            text,
            block: env.block.position.block,
            thread: env.block.position.thread(thread),
            lane: (warp.number, lane & 31),
            stack: Vec::new(),
        })),
    }
}
