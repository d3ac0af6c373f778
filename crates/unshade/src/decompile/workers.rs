//! Work on a list on all cores, with the results in order.
//!
//! Each worker takes the next item when it is done with one. The largest ones come first, so that no worker ends long
//! after the others. The calling thread takes the results in the order of the items, and lets further items start only
//! then, so that memory for results is bounded.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

/// Maximum size of the items that are in work or whose results wait to be taken, unless that is one item per worker.
const MAX_STARTED: usize = 1 << 20;

/// Calls `work` for each item with the state of its worker, and `take` on this thread with each result in order. `size`
/// is about proportional to the time and memory that an item takes. A panic continues on this thread.
pub(super) fn in_order<T: Sync, S, R: Send>(
    items: &[T],
    size: impl Fn(&T) -> usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
    mut take: impl FnMut(&T, R),
) {
    let workers = workers().min(items.len());
    if workers < 2 {
        let mut state = state();
        return items.iter().for_each(|item| take(item, work(&mut state, item)));
    }
    let (start, starting) = channel();
    let (finish, finished) = channel();
    let starting = Mutex::new(starting);
    let (starting, state, work) = (&starting, &state, &work);
    thread::scope(|scope| {
        for _ in 0..workers {
            let finish = finish.clone();
            scope.spawn(move || {
                let mut state = state();
                // The lock is released before the work starts.
                let next = || starting.lock().ok()?.recv().ok();
                while let Some((index, item)) = next() {
                    let result = catch_unwind(AssertUnwindSafe(|| work(&mut state, item)));
                    let has_panicked = result.is_err();
                    if finish.send((index, result)).is_err() || has_panicked {
                        return;
                    }
                }
            });
        }
        drop(finish);
        let mut waiting = items.iter().enumerate();
        let mut done = BTreeMap::new();
        // The items that were started and not taken, and their sizes.
        let (mut count, mut started) = (0, 0);
        for (index, item) in items.iter().enumerate() {
            let mut next = Vec::new();
            while count < workers || started < MAX_STARTED {
                let Some(entry) = waiting.next() else { break };
                count += 1;
                started += size(entry.1);
                next.push(entry);
            }
            next.sort_by_key(|entry| Reverse(size(entry.1)));
            for entry in next {
                let _ = start.send(entry);
            }
            while !done.contains_key(&index)
                && let Ok((index, result)) = finished.recv()
            {
                done.insert(index, result);
            }
            match done.remove(&index) {
                Some(Ok(result)) => take(item, result),
                Some(Err(panic)) => {
                    // Without further items, the other workers end.
                    drop(start);
                    resume_unwind(panic);
                }
                None => return,
            }
            count -= 1;
            started -= size(item);
        }
        // No more items come.
        drop(start);
    });
}

/// Returns the number of workers; one in a browser, where a module has a single thread.
fn workers() -> usize {
    if cfg!(target_family = "wasm") { 1 } else { thread::available_parallelism().map_or(1, NonZero::get) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let items: Vec<usize> = (0..500).collect();
        for size in [1, MAX_STARTED / 3, 2 * MAX_STARTED] {
            let mut taken = Vec::new();
            let slow = |count: &mut usize, item: &usize| {
                *count += 1;
                (0..item * 7919 % 501).fold(*item, |value, _| std::hint::black_box(value))
            };
            in_order(&items, |item| item * size, || 0, slow, |item, result| taken.push((*item, result)));
            assert!(taken.iter().map(|pair| pair.0).eq(items.iter().copied()));
            assert!(taken.iter().all(|pair| pair.0 == pair.1));
        }
        in_order(&items[..0], |_| 1, || (), |(), _| (), |_, ()| unreachable!());
    }

    #[test]
    fn a_panic_continues() {
        let items: Vec<usize> = (0..100).collect();
        let mut taken = 0;
        let work = |(): &mut (), item: &usize| 1 / 50_usize.abs_diff(*item).min(1);
        let run = || in_order(&items, |_| 1, || (), work, |_, one| taken += one);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        assert_eq!(taken, 50);
    }
}
