//! Whether what a block leaves behind depends on the order in which its threads run.
//!
//! Between two barriers threads may run in any order. So it is told when a thread reads what another has written since the
//! last barrier, or writes what another has read or written, unless the byte keeps its value; when a change in one step has
//! a result or does not commute; and when lanes exchange values while others of their warp are elsewhere. Blocks run one
//! after the other, so what one leaves to the next is not asked.

use std::collections::HashMap;

use crate::fault::{Memory, Reason};

/// No thread yet.
const NOBODY: u32 = u32::MAX;

/// More than one thread.
const MANY: u32 = u32::MAX - 1;

/// Who touched a byte, and in which phase.
#[derive(Clone, Copy)]
struct Touched {
    writer: (u32, u32),
    reader: (u32, u32),
}

/// What threads of a block have done to memory since their last barrier.
#[derive(Default)]
pub(crate) struct Order {
    bytes: HashMap<(bool, u64), Touched>,
    /// How many barriers each warp has passed.
    phases: Vec<u32>,
}

impl Order {
    /// A block begins.
    pub(crate) fn start(&mut self, warps: usize) {
        self.bytes.clear();
        self.phases.clear();
        self.phases.resize(warps, 0);
    }

    /// A warp has passed a barrier.
    pub(crate) fn passed(&mut self, warp: usize) {
        if let Some(phase) = self.phases.get_mut(warp) {
            *phase += 1;
        }
    }

    fn touched(&mut self, memory: Memory, address: u64, thread: u32) -> (&mut Touched, u32) {
        let phase = self.phases.get(thread as usize / 32).copied().unwrap_or(0);
        let nothing = Touched { writer: (NOBODY, 0), reader: (NOBODY, 0) };
        (self.bytes.entry((memory == Memory::Shared, address)).or_insert(nothing), phase)
    }

    /// A thread reads bytes.
    pub(crate) fn read(
        &mut self,
        memory: Memory,
        address: u64,
        size: usize,
        thread: u32,
    ) -> Result<(), Reason> {
        for address in (address..).take(size) {
            let (touched, phase) = self.touched(memory, address, thread);
            let (writer, when) = touched.writer;
            if writer != NOBODY && writer != thread && when == phase {
                return Err(told(memory, address, "reads", thread, "written", writer));
            }
            touched.reader = match touched.reader {
                (reader, when) if when == phase && reader != NOBODY && reader != thread => (MANY, phase),
                _ => (thread, phase),
            };
        }
        Ok(())
    }

    /// A thread writes bytes in the place of others.
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
            let (touched, phase) = self.touched(memory, address, thread);
            for ((other, when), what) in [(touched.writer, "written"), (touched.reader, "read")] {
                if other != NOBODY && other != thread && when == phase {
                    return Err(told(memory, address, "writes", thread, what, other));
                }
            }
            touched.writer = (thread, phase);
        }
        Ok(())
    }
}

fn told(memory: Memory, address: u64, does: &str, thread: u32, done: &str, other: u32) -> Reason {
    let other = if other == MANY { String::from("others have") } else { format!("thread {other} has") };
    Reason::Order(format!(
        "thread {thread} of the block {does} {address:#x} in {memory}, which {other} {done} since the last barrier"
    ))
}
