//! How much memory something takes: an allocator that counts, for the test programs that name it as theirs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting what each thread holds.
pub(crate) struct Counting;

thread_local! {
    /// The bytes that the thread has now; negative if it has freed what another thread allocated.
    static LIVE: Cell<i64> = const { Cell::new(0) };
    /// The most that it had.
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(change: i64) {
    // During the end of a thread there is nothing left to count in.
    let _ = LIVE.try_with(|live| {
        let now = live.get() + change;
        live.set(now);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now)));
    });
}

// The peak of live memory can be seen only from inside of the allocator, which is an unsafe trait.
#[allow(unsafe_code)]
// SAFETY: every call is passed on to the system's allocator as it is; counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Does some work and returns the most memory that was held at once by this thread, in bytes. Without [`Counting`] as
/// the program's allocator that is nothing.
pub(crate) fn peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    (result, u64::try_from(PEAK.get() - before).unwrap_or_default())
}
