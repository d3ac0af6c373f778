//! The barrier check: all threads of a block have to arrive at the same barrier.
//!
//! Kepler counts warps, not threads, so many wrong barriers are passed there but not on later chips. What is reported:
//!
//! - A warp arrives at a barrier without some of its lanes, which have not exited.
//! - Warps wait at the same barrier for the whole block with different instructions.
//! - A barrier for the whole block is passed although threads have exited.
//! - Nobody can pass a barrier.

use super::races::Stamp;
use super::{Pending, Tool};
use crate::barrier::{Arrival, Kind};
use crate::environment::Environment;
use crate::fault::Reason;
use crate::program::Program;
use crate::warp::Warp;

/// The first arrival at a barrier since it was last passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generation {
    address: u64,
    first: Stamp,
}

impl Environment<'_> {
    /// Checks the arrival of a warp at a barrier.
    pub(crate) fn note_arrival(&mut self, warp: &Warp, arrival: &Arrival, program: &Program<'_>) {
        let step = self.steps;
        let Some(block) = &mut self.block.checks else { return };
        block.clocks.arrive(warp.number as usize, arrival.barrier, step);
        let lane = arrival.lanes.trailing_zeros() & 31;
        let missing = (warp.live & !arrival.lanes).count_ones();
        let mut faults = Vec::new();
        if missing > 0 {
            let what = format!(
                "{} of {} threads of the warp arrive",
                arrival.lanes.count_ones(),
                warp.live.count_ones()
            );
            faults.push(Pending { lane, reason: Reason::DivergentBarrier(what), other: None, look: None });
        }
        if arrival.threads == 0
            && arrival.kind != Kind::Arrive
            && let Some(generation) = block.barriers.get_mut(arrival.barrier)
        {
            let first = Stamp::new(step, warp.last, block.clocks.block, 32 * warp.number + lane);
            let generation = generation.get_or_insert(Generation { address: warp.last, first });
            if generation.address != warp.last {
                let what = "threads of the block wait at different barriers".into();
                let other = Some(("first arrival:", generation.first));
                faults.push(Pending { lane, reason: Reason::DivergentBarrier(what), other, look: None });
            }
        }
        for fault in faults {
            self.report(warp, fault, program);
        }
    }

    /// Checks a barrier that a warp passes, in a block of which some threads may have exited.
    pub(crate) fn note_passing(
        &mut self,
        warp: &Warp,
        barrier: usize,
        for_all: bool,
        exited: u32,
        program: &Program<'_>,
    ) {
        let Some(block) = &mut self.block.checks else { return };
        block.clocks.pass(warp.number as usize, barrier);
        if let Some(generation) = block.barriers.get_mut(barrier) {
            *generation = None;
        }
        let has_tool = self.checks.as_ref().is_some_and(|checks| checks.has(Tool::Sync));
        if for_all && exited > 0 && has_tool {
            let what = format!("{exited} threads of the block have exited and never arrive");
            let lane = warp.active.trailing_zeros() & 31;
            self.report_at(
                warp,
                Pending { lane, reason: Reason::DivergentBarrier(what), other: None, look: None },
                program,
            );
        }
    }

    /// Adds a fault at the last instruction of a warp to the findings.
    pub(crate) fn report_deadlock(&mut self, warp: &Warp, lane: u32, reason: Reason, program: &Program<'_>) {
        self.report_at(warp, Pending { lane, reason, other: None, look: None }, program);
    }

    fn report_at(&mut self, warp: &Warp, pending: Pending, program: &Program<'_>) {
        if let Some(checks) = &mut self.checks {
            checks.current.address = warp.last;
        }
        self.report(warp, pending, program);
    }
}
