//! The barriers of a block: 16, counted in warps.
//!
//! A warp arrives as a whole, even if some of its lanes are inactive, as on the chip. A barrier for all threads is passed
//! when every live warp has arrived; a barrier for a number of threads, when that number divided by 32 has arrived.
//!
//! Source: NVIDIA's documentation of PTX (`bar`).

use crate::environment::LANES;
use crate::intrinsics::Intrinsic;
use crate::lanes::{Bits, Values};

/// The kind of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Waits.
    Sync,
    /// Does not wait.
    Arrive,
    /// Waits and reduces predicates: mode 0 counts, 1 is and, 2 is or.
    Reduce(u64),
    /// Waits and counts, for each thread, the predicates of lower threads.
    Scan,
}

/// The result of a barrier for each lane of a warp.
pub(crate) type BarrierResult = [u32; LANES];

/// The arrival of a warp at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) barrier: usize,
    /// The number of threads to wait for; 0 for all.
    pub(crate) threads: u32,
    pub(crate) kind: Kind,
    /// The arriving lanes, and those whose predicate holds.
    pub(crate) lanes: u32,
    pub(crate) predicates: u32,
}

impl Arrival {
    /// Decodes the arguments of `barrier_…(barrier, threads, predicate, mode)`.
    pub(crate) fn new(function: Intrinsic, values: &[Values], lanes: u32) -> Self {
        let lane = lanes.trailing_zeros() as usize & 31;
        let argument = |index: usize| values.get(index).map_or(0, |value| value[lane]);
        let holds = |lane: &usize| values.get(2).is_some_and(|value| value[*lane] & 1 != 0);
        let kind = match function {
            Intrinsic::BarrierArrive => Kind::Arrive,
            Intrinsic::BarrierReduce => Kind::Reduce(argument(3)),
            Intrinsic::BarrierScan => Kind::Scan,
            _ => Kind::Sync,
        };
        Self {
            barrier: usize::try_from(argument(0) & 15).unwrap_or(0),
            threads: u32::try_from(argument(1) & 0xfff).unwrap_or(0),
            kind,
            lanes,
            predicates: Bits(lanes).filter(holds).fold(0, |mask, lane| mask | 1 << lane),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Barrier {
    /// The number of warps that arrived, and those of them that wait.
    arrived: usize,
    waiting: Vec<usize>,
    threads: u32,
    mode: u64,
    count: u32,
    all: bool,
    any: bool,
    /// The warps that take part in a scan, with their predicates.
    scanned: Vec<(usize, u32)>,
}

impl Barrier {
    fn needed(&self, live: usize) -> usize {
        if self.threads == 0 { live } else { self.threads.div_ceil(32) as usize }
    }

    /// Returns the result for a warp.
    fn result(&self, warp: usize) -> BarrierResult {
        let Some(own) = self.scanned.iter().find(|entry| entry.0 == warp) else {
            return [match self.mode {
                0 => self.count,
                1 => self.all.into(),
                _ => self.any.into(),
            }; LANES];
        };
        let lower = self.scanned.iter().filter(|entry| entry.0 < warp);
        let lower: u32 = lower.map(|entry| entry.1.count_ones()).sum();
        core::array::from_fn(|lane| lower + (own.1 & ((1 << lane) - 1)).count_ones())
    }
}

/// A barrier that a warp passes.
pub(crate) struct Passed {
    pub(crate) barrier: usize,
    /// Whether it waits for all threads.
    pub(crate) for_all: bool,
    pub(crate) result: BarrierResult,
}

/// The barriers of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barriers([Barrier; 16]);

impl Barriers {
    /// Records the arrival of a warp; returns whether it has to wait.
    pub(crate) fn arrive(&mut self, warp: usize, arrival: &Arrival) -> bool {
        let barrier = &mut self.0[arrival.barrier & 15];
        if barrier.arrived == 0 {
            *barrier = Barrier { all: true, ..Barrier::default() };
        }
        barrier.arrived += 1;
        barrier.threads = arrival.threads;
        if let Kind::Reduce(mode) = arrival.kind {
            barrier.mode = mode;
            barrier.count += arrival.predicates.count_ones();
            barrier.all &= arrival.predicates == arrival.lanes;
            barrier.any |= arrival.predicates != 0;
        }
        if arrival.kind == Kind::Scan {
            barrier.scanned.push((warp, arrival.predicates));
        }
        let waits = arrival.kind != Kind::Arrive;
        if waits {
            barrier.waiting.push(warp);
        }
        waits
    }

    /// Calls `resume` for each warp that can continue now, with what it passes. `live` warps have not exited.
    pub(crate) fn passed(&mut self, live: usize, mut resume: impl FnMut(usize, Passed)) {
        for (number, barrier) in self.0.iter_mut().enumerate() {
            if barrier.arrived > 0 && barrier.arrived >= barrier.needed(live) {
                for warp in std::mem::take(&mut barrier.waiting) {
                    let for_all = barrier.threads == 0;
                    resume(warp, Passed { barrier: number, for_all, result: barrier.result(warp) });
                }
                barrier.arrived = 0;
            }
        }
    }

    /// Describes the waiting warps.
    pub(crate) fn describe(&self, live: usize) -> String {
        let mut text = String::new();
        for (number, barrier) in self.0.iter().enumerate().filter(|(_, barrier)| !barrier.waiting.is_empty())
        {
            let warps: Vec<String> = barrier.waiting.iter().map(usize::to_string).collect();
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&format!(
                "warp {} at barrier {number}, where {} of {} warps arrived",
                warps.join(", "),
                barrier.arrived,
                barrier.needed(live),
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_counts_lower_threads() {
        let mut barriers = Barriers::default();
        // Every third of 48 threads has its predicate set; the second warp arrives first.
        let set = |thread: u64| u64::from(thread.is_multiple_of(3));
        for warp in [1, 0] {
            let lanes = if warp == 0 { u32::MAX } else { 0xffff };
            let predicates: Values = core::array::from_fn(|lane| set(32 * warp + lane as u64));
            let values = [[2; LANES], [0; LANES], predicates];
            let arrival = Arrival::new(Intrinsic::BarrierScan, &values, lanes);
            assert!(barriers.arrive(warp as usize, &arrival));
        }
        let mut found = [[0; LANES]; 2];
        barriers.passed(2, |warp, passed| found[warp] = passed.result);
        for thread in 0..48 {
            let expected: u64 = (0..thread).map(set).sum();
            assert_eq!(u64::from(found[thread as usize / 32][thread as usize % 32]), expected, "{thread}");
        }
    }
}
