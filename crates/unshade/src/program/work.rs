//! Work that callers can spread over threads.
//!
//! The library starts no threads, because a page has none. A caller with threads passes a [`Runner`].

use std::sync::{Mutex, PoisonError};

/// Runs jobs in any order, on any threads.
pub trait Runner: Sync {
    /// Runs `job` for each number below `count`, and returns when all are done. `what` is a word for a progress bar.
    fn run(&self, what: &'static str, count: usize, job: &(dyn Fn(usize) + Sync));
}

/// Runs jobs one after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct InOrder;

impl Runner for InOrder {
    fn run(&self, _what: &'static str, count: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(job);
    }
}

/// Calls `make` for each number below `count`, and returns the results in order.
///
/// ```
/// use unshade::program::{InOrder, map};
///
/// assert_eq!(map(&InOrder, "squaring", 3, |number| number * number), [0, 1, 4]);
/// ```
pub fn map<T: Send>(
    runner: &dyn Runner,
    what: &'static str,
    count: usize,
    make: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let made: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    runner.run(what, count, &|number| {
        if let Some(slot) = made.get(number) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(make(number));
        }
    });
    made.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}
