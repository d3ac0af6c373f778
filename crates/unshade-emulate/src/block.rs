//! Blocks: warps take turns until all have exited, or until the block seems to wait for another one.

use crate::barrier::Barriers;
use crate::context::Context;
use crate::environment::{BlockState, Environment};
use crate::execute::Scratch;
use crate::fault::{Fault, Reason};
use crate::locate;
use crate::program::Program;
use crate::schedule::{Patience, Turn};
use crate::warp::{State, Warp};

/// The number of instructions that a warp runs per turn. Turns make progress certain if threads spin on memory that
/// others write.
pub(crate) const INSTRUCTIONS_PER_TURN: u64 = 512;

/// A block: its warps, barriers and memories. It is reused for the next block to save allocations.
pub(crate) struct Block {
    state: BlockState,
    warps: Vec<Warp>,
    barriers: Barriers,
    scratch: Scratch,
}

impl Block {
    pub(crate) fn new(state: BlockState) -> Self {
        Self { state, warps: Vec::new(), barriers: Barriers::default(), scratch: Scratch::default() }
    }

    /// Prepares the `number`th block of the grid to run from an address on.
    pub(crate) fn start(&mut self, block: [u32; 3], number: u64, address: u64, is_checked: bool) {
        self.state.start(block);
        if is_checked {
            self.state.start_checks(number);
        }
        let threads = self.state.position.thread_count();
        self.warps.resize_with(threads.div_ceil(32) as usize, Warp::new);
        for (number, warp) in (0..).zip(&mut self.warps) {
            let rest = threads.saturating_sub(32 * number);
            warp.start(number, if rest >= 32 { u32::MAX } else { (1 << rest) - 1 }, address);
        }
        self.barriers = Barriers::default();
    }

    /// Runs the block until it ends, or until it seems to wait for another block.
    pub(crate) fn run(
        &mut self,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &mut Context<'_>,
    ) -> Result<Turn, Fault> {
        std::mem::swap(&mut self.state, &mut env.block);
        let turn = self.take_turns(program, env, context);
        if turn == Ok(Turn::Ended) {
            env.end_checks();
        }
        std::mem::swap(&mut self.state, &mut env.block);
        turn
    }

    fn take_turns(
        &mut self,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &mut Context<'_>,
    ) -> Result<Turn, Fault> {
        let mut patience = Patience::new(env);
        let mut live = self.live();
        while live > 0 {
            let mut progressed = false;
            for index in 0..self.warps.len() {
                progressed |= self.run_warp(index, program, env, context)?;
            }
            let live_before = std::mem::replace(&mut live, self.live());
            let passed = self.pass_barriers(live, program, env);
            if !progressed && !passed && live > 0 {
                return self.deadlock(live, program, env);
            }
            if patience.is_over(env, passed || live != live_before) && live > 0 {
                return Ok(Turn::Suspended);
            }
        }
        Ok(Turn::Ended)
    }

    /// Returns the number of warps that have not exited.
    fn live(&self) -> usize {
        self.warps.iter().filter(|warp| warp.state != State::Exited).count()
    }

    /// Gives a warp its turn; returns whether it executed anything.
    fn run_warp(
        &mut self,
        index: usize,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        context: &mut Context<'_>,
    ) -> Result<bool, Fault> {
        let Some(warp) = self.warps.get_mut(index).filter(|warp| warp.state == State::Running) else {
            return Ok(false);
        };
        for _ in 0..INSTRUCTIONS_PER_TURN {
            warp.step(program, env, &mut self.scratch, context)
                .map_err(|(lane, reason)| locate::fault(warp, lane, reason, program, env.block.position))?;
            env.steps += 1;
            if let Some(arrival) = self.scratch.effects.arrival.take() {
                env.note_arrival(warp, &arrival, program);
                if self.barriers.arrive(index, &arrival) {
                    warp.state = State::Waiting;
                }
            }
            if warp.state != State::Running {
                break;
            }
        }
        if let Err(reason) = context.check_limits(env.steps) {
            let position = env.block.position;
            let lane = warp.active.trailing_zeros();
            let is_located = env.checks.is_some() || reason == Reason::Interrupted;
            let located = || locate::fault(warp, lane, reason.clone(), program, position);
            return Err(if is_located { located() } else { reason.into() });
        }
        Ok(true)
    }

    /// Resumes the warps whose barrier is complete; returns whether there were any.
    fn pass_barriers(&mut self, live: usize, program: &Program<'_>, env: &mut Environment<'_>) -> bool {
        let lanes: u32 = self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        let exited = env.block.position.thread_count().saturating_sub(lanes);
        let (warps, mut has_passed) = (&mut self.warps, false);
        self.barriers.passed(live, |index, passed| {
            has_passed = true;
            if let Some(races) = &mut env.block.races {
                races.passed(index);
            }
            if let Some(warp) = warps.get_mut(index) {
                env.note_passing(warp, passed.barrier, passed.for_all, exited, program);
                warp.state = State::Running;
                warp.barrier_result = passed.result;
            }
        });
        has_passed
    }

    /// Reports that nobody can pass a barrier. If the launch is checked, only the block ends.
    fn deadlock(&self, live: usize, program: &Program<'_>, env: &mut Environment<'_>) -> Result<Turn, Fault> {
        let reason = Reason::Deadlock(self.barriers.describe(live));
        let Some(warp) = self.warps.iter().find(|warp| warp.state == State::Waiting) else {
            return Err(reason.into());
        };
        let lane = warp.active.trailing_zeros();
        if env.checks.is_some() {
            env.report_deadlock(warp, lane, reason, program);
            return Ok(Turn::Ended);
        }
        Err(locate::fault(warp, lane, reason, program, env.block.position))
    }
}
