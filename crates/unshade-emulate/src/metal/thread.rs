//! A thread: the functions that it is in, with their values and variables.

use super::code::{Code, Operand, Shape};
use super::fault::{Place, instruction};
use super::memory::Locals;

/// A call.
#[derive(Debug)]
pub(super) struct Frame {
    /// The number of the function.
    pub(super) function: usize,
    pub(super) slots: Vec<u64>,
    pub(super) block: u32,
    /// The number of the next step of the block.
    pub(super) step: usize,
    /// The slots of the caller that take the result.
    pub(super) result: Option<Operand>,
    /// The number of the first of its variables.
    pub(super) first_local: usize,
    pub(super) arguments: Vec<Vec<u64>>,
}

/// Where a thread is: the function, the position of the block and the number of the step of each call.
pub(super) type Order = Vec<(usize, u32, usize)>;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// Waits for its threadgroup.
    AtBarrier,
    /// Waits for other lanes of its simdgroup.
    WithLanes,
    Done,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) state: State,
    pub(super) frames: Vec<Frame>,
    pub(super) locals: Locals,
    /// Its position in the threadgroup.
    pub(super) position: [u32; 3],
    /// Its number in the threadgroup.
    pub(super) index: u32,
    /// The result of the function that it began with.
    pub(super) returned: Vec<u64>,
}

impl Frame {
    /// Returns a lane of a value.
    #[inline]
    pub(super) fn read(&self, operand: Operand, lane: usize) -> u64 {
        self.slots.get(operand.lane(lane)).copied().unwrap_or(0)
    }

    /// Sets a lane of a value.
    #[inline]
    pub(super) fn write(&mut self, operand: Operand, lane: usize, number: u64) {
        if let Some(slot) = self.slots.get_mut(operand.slots()).and_then(|slots| slots.get_mut(lane)) {
            *slot = number;
        }
    }

    /// Returns the bytes of a value as they are in memory.
    pub(super) fn bytes(&self, operand: Operand) -> Vec<u8> {
        let slots = self.slots.get(operand.slots()).unwrap_or_default();
        match operand.shape {
            Shape::Bytes(size) => {
                let mut bytes: Vec<u8> = slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
                bytes.truncate(size as usize);
                bytes
            }
            Shape::Lanes(kind, _) => {
                slots.iter().flat_map(|slot| slot.to_le_bytes().into_iter().take(kind.bytes())).collect()
            }
        }
    }

    /// Sets a value from its bytes in memory.
    pub(super) fn set_bytes(&mut self, operand: Operand, bytes: &[u8]) {
        let size = match operand.shape {
            Shape::Bytes(_) => 8,
            Shape::Lanes(kind, _) => kind.bytes(),
        };
        let Some(slots) = self.slots.get_mut(operand.slots()) else { return };
        for (slot, bytes) in slots.iter_mut().zip(bytes.chunks(size.max(1))) {
            *slot = number(bytes);
        }
    }
}

/// Returns the number with these bytes, the lowest first.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Thread {
    /// Returns where it is, for its order among lanes: functions, blocks and steps.
    pub(super) fn order(&self, codes: &[Code]) -> Order {
        let position = |frame: &Frame| {
            let block = codes.get(frame.function).and_then(|code| code.blocks.get(frame.block as usize));
            (frame.function, block.map_or(0, |block| block.position), frame.step)
        };
        self.frames.iter().map(position).collect()
    }

    /// Returns where it is, for a fault.
    pub(super) fn place(&self, codes: &[Code], group: [u32; 3]) -> Place {
        let call = |frame: &Frame| {
            let Some(code) = codes.get(frame.function) else { return (String::new(), None) };
            // The step that runs was counted already.
            let step = code.blocks.get(frame.block as usize).and_then(|block| {
                block.steps.get(frame.step.saturating_sub(1)).or_else(|| block.steps.last())
            });
            (code.name.clone(), step.and_then(|step| instruction(step.address)))
        };
        Place { group, thread: self.position, calls: self.frames.iter().map(call).collect() }
    }
}
