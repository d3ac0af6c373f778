//! Spreads work of the library over all processors.

use crate::progress::Progress;
use rayon::prelude::*;
use unshade::program::Runner;

/// Number of jobs between updates of the progress bar.
const BATCH: usize = 1024;

/// Runs jobs on all processors, with a progress bar.
pub(crate) struct AllProcessors;

impl Runner for AllProcessors {
    fn run(&self, what: &'static str, count: usize, job: &(dyn Fn(usize) + Sync)) {
        // A single job needs no threads, nor the time to start them.
        if count <= 1 {
            return (0..count).for_each(job);
        }
        let progress = Progress::new(what, count as u64);
        for start in (0..count).step_by(BATCH) {
            let batch = start..count.min(start + BATCH);
            progress.advance(batch.len() as u64);
            // Group short jobs, which would take less time than handing them out.
            let group = batch.len() / (64 * rayon::current_num_threads());
            batch.into_par_iter().with_min_len(group.max(1)).for_each(job);
        }
    }
}

/// Calls `make` for each index on all processors, and returns the results in order. A single one needs no threads, nor the time
/// to start them.
pub(crate) fn in_parallel<T: Send>(count: usize, make: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    match count {
        1 => vec![make(0)],
        _ => (0..count).into_par_iter().map(make).collect(),
    }
}
