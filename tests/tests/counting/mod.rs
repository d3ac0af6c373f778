//! A counting allocator for measuring memory; test programs select it as their global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system allocator, counting the bytes that each thread holds.
pub(crate) struct Counting;

thread_local! {
    /// The bytes that the thread currently holds; negative if it freed what another thread allocated.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    /// The peak of [`LIVE`].
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(change: i64) {
    // While a thread is being destroyed, there is no counter.
    let _ = LIVE.try_with(|live| {
        let now = live.get() + change;
        live.set(now);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now)));
    });
}

// Peak memory can only be measured in the allocator, which is an unsafe trait.
#[allow(unsafe_code)]
// SAFETY: every call is forwarded to the system allocator unchanged; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller upholds the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` and returns the peak memory that this thread held, in bytes; 0 unless [`Counting`] is the global
/// allocator.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    (result, u64::try_from(PEAK.get() - before).unwrap_or_default())
}
