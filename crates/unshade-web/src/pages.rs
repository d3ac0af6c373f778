//! The module's allocator: memory for a file costs what is touched of it.
//!
//! A file that is read by ranges has a buffer of its size, zeroed. The allocator of the standard library fills such memory
//! with zeros though it has just come from the system, which gives nothing else: of a library of 147 MB every page would be
//! touched to read 7 MB. Here large blocks are whole pages. New ones come straight from the system and are zeros; those of
//! a block that was let go are kept for the next that they fit, and only then filled. All that is small is the standard
//! allocator's.

use core::arch::wasm32::memory_grow;
use core::cell::Cell;
use std::alloc::{GlobalAlloc, Layout, System};

/// Blocks from this size on are pages of their own.
const LARGE: usize = 8 << 20;

/// What the system gives memory in.
const PAGE: usize = 64 << 10;

/// So many blocks that were let go are kept; there are few large ones at a time.
const KEPT: usize = 32;

#[global_allocator]
static PAGES: Pages = Pages { free: [const { Cell::new(Block::NONE) }; KEPT] };

struct Pages {
    free: [Cell<Block>; KEPT],
}

/// Pages that nobody has.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    size: usize,
}

impl Block {
    const NONE: Self = Self { start: 0, size: 0 };
}

#[expect(unsafe_code, reason = "a static has to say that threads may share it")]
// SAFETY: the module has no threads: it is built for a target and with features that have none.
unsafe impl Sync for Pages {}

impl Pages {
    /// Pages for so many bytes, and whether they are known to be zeros; none if there is no memory.
    fn take(&self, size: usize) -> Option<(usize, bool)> {
        let size = size.checked_next_multiple_of(PAGE)?;
        // Not what is much too large: it would be missing for a block that needs it.
        let fits = |block: &Block| block.size >= size && block.size / 2 <= size;
        if let Some(slot) = self.free.iter().find(|slot| fits(&slot.get())) {
            let block = slot.get();
            let rest = Block { start: block.start + size, size: block.size - size };
            slot.set(if rest.size > 0 { rest } else { Block::NONE });
            return Some((block.start, false));
        }
        let before = memory_grow(0, size / PAGE);
        (before != usize::MAX).then(|| (before * PAGE, true))
    }

    /// Keeps the pages of a block that is let go, with those of a neighbour if there is one. If too many are kept, they are lost.
    fn give(&self, start: usize, size: usize) {
        let size = size.next_multiple_of(PAGE);
        for slot in &self.free {
            let block = slot.get();
            if block.size > 0 && block.start + block.size == start {
                return slot.set(Block { start: block.start, size: block.size + size });
            }
            if block.size > 0 && start + size == block.start {
                return slot.set(Block { start, size: block.size + size });
            }
        }
        if let Some(slot) = self.free.iter().find(|slot| slot.get().size == 0) {
            slot.set(Block { start, size });
        }
    }
}

#[expect(unsafe_code, reason = "an allocator can only be written so")]
// SAFETY: a block is the standard allocator's or pages by its size alone, which every call says again. Pages that the
// system gave are the block's until they are given back, and then another's; they are aligned to 64 KiB.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE || layout.align() > PAGE {
            // SAFETY: what was asked of this allocator is asked of that one.
            return unsafe { System.alloc(layout) };
        }
        self.take(layout.size()).map_or(core::ptr::null_mut(), |(start, _)| start as *mut u8)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE || layout.align() > PAGE {
            // SAFETY: as above.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let Some((start, is_new)) = self.take(layout.size()) else { return core::ptr::null_mut() };
        let block = start as *mut u8;
        if !is_new {
            // SAFETY: the pages are this block's now, and as many as its bytes need.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() < LARGE || layout.align() > PAGE {
            // SAFETY: the size says that the block is that allocator's.
            return unsafe { System.dealloc(block, layout) };
        }
        self.give(block as usize, layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < LARGE || layout.align() > PAGE {
            // SAFETY: both sizes are that allocator's.
            return unsafe { System.realloc(block, layout, size) };
        }
        if layout.size() >= LARGE && size >= LARGE && size <= layout.size().next_multiple_of(PAGE) {
            // What is no longer needed goes with whole pages.
            let (had, needs) = (layout.size().next_multiple_of(PAGE), size.next_multiple_of(PAGE));
            if needs < had {
                self.give(block as usize + needs, had - needs);
            }
            return block;
        }
        // SAFETY: the caller's promise about size and alignment is this function's.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is not zero, as the caller promises.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both blocks have so many bytes, and they are different ones.
            unsafe { core::ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
            // SAFETY: the block is the caller's, who gives it up.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}
