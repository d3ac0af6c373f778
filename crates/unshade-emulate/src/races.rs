//! The data-race detector: finds results of a block that depend on the order in which its threads run.
//!
//! Between two barriers threads may run in any order. A fault is reported when a thread reads what another has written
//! since the last barrier, or writes what another has read or written, unless the byte keeps its value; when an atomic
//! operation returns a result or does not commute; and when lanes exchange values while their warp is diverged. Races
//! between blocks are not detected, because blocks run one after the other.

use std::collections::HashMap;

use crate::fault::{Memory, Reason};

/// No thread.
const NO_THREAD: u32 = u32::MAX;

/// More than one thread.
const SEVERAL_THREADS: u32 = u32::MAX - 1;

/// The threads that accessed a byte last, each with its phase.
#[derive(Clone, Copy)]
struct Accesses {
    writer: (u32, u32),
    reader: (u32, u32),
}

/// The accesses of a block's threads since their last barrier.
#[derive(Default)]
pub(crate) struct RaceDetector {
    bytes: HashMap<(bool, u64), Accesses>,
    /// By warp: the number of barriers passed.
    phases: Vec<u32>,
}

impl RaceDetector {
    /// Starts a new block.
    pub(crate) fn start(&mut self, warps: usize) {
        self.bytes.clear();
        self.phases.clear();
        self.phases.resize(warps, 0);
    }

    /// Notes that a warp has passed a barrier.
    pub(crate) fn passed(&mut self, warp: usize) {
        if let Some(phase) = self.phases.get_mut(warp) {
            *phase += 1;
        }
    }

    fn accesses(&mut self, memory: Memory, address: u64, thread: u32) -> (&mut Accesses, u32) {
        let phase = self.phases.get(thread as usize / 32).copied().unwrap_or(0);
        let nothing = Accesses { writer: (NO_THREAD, 0), reader: (NO_THREAD, 0) };
        (self.bytes.entry((memory == Memory::Shared, address)).or_insert(nothing), phase)
    }

    /// Checks a read.
    pub(crate) fn read(
        &mut self,
        memory: Memory,
        address: u64,
        size: usize,
        thread: u32,
    ) -> Result<(), Reason> {
        for address in (address..).take(size) {
            let (accesses, phase) = self.accesses(memory, address, thread);
            let (writer, when) = accesses.writer;
            if writer != NO_THREAD && writer != thread && when == phase {
                return Err(race(memory, address, "reads", thread, "written", writer));
            }
            accesses.reader = match accesses.reader {
                (reader, when) if when == phase && reader != NO_THREAD && reader != thread => {
                    (SEVERAL_THREADS, phase)
                }
                _ => (thread, phase),
            };
        }
        Ok(())
    }

    /// Checks a write that replaces bytes.
    pub(crate) fn write(
        &mut self,
        memory: Memory,
        address: u64,
        before: &[u8],
        after: &[u8],
        thread: u32,
    ) -> Result<(), Reason> {
        for (address, (before, after)) in (address..).zip(before.iter().zip(after)) {
            if before == after {
                continue;
            }
            let (accesses, phase) = self.accesses(memory, address, thread);
            for ((other, when), what) in [(accesses.writer, "written"), (accesses.reader, "read")] {
                if other != NO_THREAD && other != thread && when == phase {
                    return Err(race(memory, address, "writes", thread, what, other));
                }
            }
            accesses.writer = (thread, phase);
        }
        Ok(())
    }
}

fn race(memory: Memory, address: u64, does: &str, thread: u32, done: &str, other: u32) -> Reason {
    let other =
        if other == SEVERAL_THREADS { String::from("others have") } else { format!("thread {other} has") };
    Reason::Order(format!(
        "thread {thread} of the block {does} {address:#x} in {memory}, which {other} {done} since the last barrier"
    ))
}
