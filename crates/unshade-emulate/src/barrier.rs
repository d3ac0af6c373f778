//! The barriers of a block: 16, counted in warps.
//!
//! A warp arrives as a whole, also if some of its lanes are elsewhere, as on the chip. A barrier for all is passed when
//! every warp that has not ended has arrived; one for so many threads when so many warps of 32 have.
//!
//! Source: NVIDIA's documentation of PTX (`bar`), which says the same.

use crate::lanes::{Bits, Values};
use crate::outside::Outside;
use crate::world::LANES;

/// How a warp arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It waits.
    Sync,
    /// It goes on.
    Arrive,
    /// It waits, and predicates are combined: 0 counts, 1 and, 2 or.
    Reduce(u64),
    /// It waits, and the predicates of the threads before each are counted.
    Scan,
}

/// What each lane of a warp is given at a barrier.
pub(crate) type Given = [u32; LANES];

/// The arrival of a warp at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) barrier: usize,
    /// For how many threads the barrier is; 0 for all.
    pub(crate) threads: u32,
    pub(crate) kind: Kind,
    /// The lanes that arrive, and those whose predicate holds.
    lanes: u32,
    predicates: u32,
}

impl Arrival {
    /// Of `barrier_…(barrier, threads, predicate, mode)`.
    pub(crate) fn new(function: Outside, values: &[Values], lanes: u32) -> Self {
        let lane = lanes.trailing_zeros() as usize & 31;
        let argument = |index: usize| values.get(index).map_or(0, |value| value[lane]);
        let holds = |lane: &usize| values.get(2).is_some_and(|value| value[*lane] & 1 != 0);
        let kind = match function {
            Outside::BarrierArrive => Kind::Arrive,
            Outside::BarrierReduce => Kind::Reduce(argument(3)),
            Outside::BarrierScan => Kind::Scan,
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
    /// Warps that arrived, and those of them that wait.
    arrived: usize,
    waiting: Vec<usize>,
    threads: u32,
    mode: u64,
    count: u32,
    all: bool,
    any: bool,
    /// Warps whose threads are counted, with their predicates.
    scanned: Vec<(usize, u32)>,
}

impl Barrier {
    fn needed(&self, live: usize) -> usize {
        if self.threads == 0 { live } else { self.threads.div_ceil(32) as usize }
    }

    /// What a warp is given; threads are counted in the order of their numbers.
    fn result(&self, warp: usize) -> Given {
        let Some(own) = self.scanned.iter().find(|entry| entry.0 == warp) else {
            return [match self.mode {
                0 => self.count,
                1 => self.all.into(),
                _ => self.any.into(),
            }; LANES];
        };
        let before = self.scanned.iter().filter(|entry| entry.0 < warp);
        let before: u32 = before.map(|entry| entry.1.count_ones()).sum();
        core::array::from_fn(|lane| before + (own.1 & ((1 << lane) - 1)).count_ones())
    }
}

/// The barriers of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barriers([Barrier; 16]);

impl Barriers {
    /// A warp arrives; whether it has to wait.
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

    /// The warps that may go on now, with what predicates were combined to, if so many warps have not ended.
    pub(crate) fn passed(&mut self, live: usize, mut one: impl FnMut(usize, Given)) {
        for barrier in &mut self.0 {
            if barrier.arrived > 0 && barrier.arrived >= barrier.needed(live) {
                for warp in std::mem::take(&mut barrier.waiting) {
                    one(warp, barrier.result(warp));
                }
                barrier.arrived = 0;
            }
        }
    }

    /// Who waits for what, in words.
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
    fn a_scan_counts_the_threads_before() {
        let mut barriers = Barriers::default();
        // Of 48 threads every third has its predicate set; the second warp comes first.
        let set = |thread: u64| u64::from(thread.is_multiple_of(3));
        for warp in [1, 0] {
            let lanes = if warp == 0 { u32::MAX } else { 0xffff };
            let predicates: Values = core::array::from_fn(|lane| set(32 * warp + lane as u64));
            let values = [[2; LANES], [0; LANES], predicates];
            let arrival = Arrival::new(Outside::BarrierScan, &values, lanes);
            assert!(barriers.arrive(warp as usize, &arrival));
        }
        let mut found = [[0; LANES]; 2];
        barriers.passed(2, |warp, given| found[warp] = given);
        for thread in 0..48 {
            let expected: u64 = (0..thread).map(set).sum();
            assert_eq!(u64::from(found[thread as usize / 32][thread as usize % 32]), expected, "{thread}");
        }
    }
}
