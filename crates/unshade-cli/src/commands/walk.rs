//! Walks of many files, and parallel work on them with results in order.
//!
//! Links are not followed, devices and pipes are skipped, and unreadable paths are reported on standard error.

use crate::input::shown;
use crate::paint;
use anyhow::Result;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use walkdir::WalkDir;

/// Returns the regular files and captures at and below the paths, in order, and the number of unreadable paths.
pub(super) fn list_files(paths: &[PathBuf]) -> (Vec<PathBuf>, u64) {
    let mut files = Vec::new();
    let mut unreadable = 0;
    for path in paths {
        if path.as_os_str() == "-" {
            unreadable += 1;
            let error = paint::error("unshade");
            anstream::eprintln!("{error}: -: files and folders are wanted here, not standard input");
            continue;
        }
        let mut walk = WalkDir::new(path).follow_root_links(true).sort_by_file_name().into_iter();
        while let Some(entry) = walk.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    unreadable += 1;
                    let path = error.path().map(shown).unwrap_or_default();
                    let reason = match error.io_error() {
                        Some(error) => error.to_string(),
                        None => "a link that leads back to its own folder".to_owned(),
                    };
                    anstream::eprintln!("{}: can't read {path}: {reason}", paint::error("unshade"));
                    continue;
                }
            };
            let is_capture =
                entry.file_type().is_dir() && entry.path().extension().is_some_and(|ext| ext == "gputrace");
            if is_capture {
                walk.skip_current_dir();
            }
            if is_capture || entry.file_type().is_file() || (entry.depth() == 0 && entry.path().is_file()) {
                files.push(entry.into_path());
            }
        }
    }
    (files, unreadable)
}

/// Returns the number of threads: for 0 one per processor, but never more than there is work.
pub(super) fn threads(wanted: usize, work: usize) -> usize {
    let threads = match wanted {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    threads.min(work.max(1))
}

/// Calls `work` for each item on this and other threads, and returns the results in item order.
pub(super) fn spread<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take_part = || {
        let mut done = Vec::new();
        while let (index, Some(item)) = take_next(&next, items) {
            done.push((index, work(item)));
        }
        done
    };
    // A new thread often shares its creator's processor for some milliseconds. When the two meet at a barrier, one
    // sleeps until the other wakes it, and the system then runs it on an idle processor.
    let meeting = Barrier::new(2);
    let mut done = std::thread::scope(|scope| {
        let make_another = |_| {
            let other = scope.spawn(|| {
                meeting.wait();
                take_part()
            });
            meeting.wait();
            other
        };
        let others: Vec<_> = (1..threads(0, items.len())).map(make_another).collect();
        let mut done = take_part();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Takes the next free item and returns its index.
fn take_next<'i, T>(next: &AtomicUsize, items: &'i [T]) -> (usize, Option<&'i T>) {
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index, items.get(index))
}

/// Calls `work` for each item on several threads and passes the results to `take` in item order.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::sync_channel(threads * 64);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                while let (index, Some(item)) = take_next(&next, items) {
                    if sender.send((index, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (index, result) in receiver {
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(&due) {
                take(result)?;
                due += 1;
            }
        }
        Ok(())
    })
}
