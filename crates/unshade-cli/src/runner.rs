//! Spreads work of the library over all processors.
//!
//! A job may itself have work to spread, such as a program of a library and its entries. A thread that waits for others begins
//! another job meanwhile, on top of the one on its stack. So that the stack stays small, jobs within jobs spread their work, but
//! jobs within those do not.

use crate::progress::Progress;
use rayon::prelude::*;
use std::cell::Cell;
use unshade::program::Runner;

/// Number of jobs between updates of the progress bar.
const BATCH: usize = 1024;

/// A number of pieces of memory that take longer to free than it takes to start a thread.
const MANY: usize = 4096;

/// The number of jobs on the stack of a thread from which it does not spread work.
const MAX_DEPTH: usize = 2;

thread_local! {
    /// The number of jobs on the stack of this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs jobs on all processors, with a progress bar.
pub(crate) struct AllProcessors;

impl Runner for AllProcessors {
    fn run(&self, what: &'static str, count: usize, job: &(dyn Fn(usize) + Sync)) {
        if !needs_threads(count) {
            return (0..count).for_each(job);
        }
        // The work that a job is part of may have one already.
        let progress = (DEPTH.get() == 0).then(|| Progress::new(what, count as u64));
        for start in (0..count).step_by(BATCH) {
            let batch = start..count.min(start + BATCH);
            if let Some(progress) = &progress {
                progress.advance(batch.len() as u64);
            }
            // Group short jobs, which would take less time than handing them out.
            let group = batch.len() / (64 * rayon::current_num_threads());
            batch.into_par_iter().with_min_len(group.max(1)).for_each(|at| as_job(|| job(at)));
        }
    }
}

/// Runs jobs on all processors, for clients that show the progress themselves.
pub(crate) struct WithoutProgress;

impl Runner for WithoutProgress {
    fn run(&self, _what: &'static str, count: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..count).into_par_iter().for_each(|at| as_job(|| job(at)));
    }
}

/// Calls `make` for each index on all processors, and returns the results in order.
pub(crate) fn in_parallel<T: Send>(count: usize, make: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    if needs_threads(count) {
        (0..count).into_par_iter().map(|at| as_job(|| make(at))).collect()
    } else {
        (0..count).map(make).collect()
    }
}

/// Frees many small pieces of memory on another thread, if there are so many that it pays to start one.
pub(crate) fn free<T: Send + 'static>(pieces: Vec<T>, count: usize) {
    if count > MANY {
        rayon::spawn(move || drop(pieces));
    }
}

/// Returns whether work is spread over threads. A single job needs no threads, nor the time to start them.
fn needs_threads(count: usize) -> bool {
    count > 1 && DEPTH.get() < MAX_DEPTH
}

/// Counts a job while it is on the stack.
fn as_job<T>(job: impl FnOnce() -> T) -> T {
    DEPTH.set(DEPTH.get() + 1);
    let made = job();
    DEPTH.set(DEPTH.get() - 1);
    made
}
