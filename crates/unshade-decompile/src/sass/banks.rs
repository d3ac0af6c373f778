//! The layout of Kepler's constant bank 0 before the parameters, and the special registers.

use crate::ir::intrinsic::Timer;
use crate::ir::special::LaneRelation;
use crate::ir::{Axis, Special};

/// The offset of the parameters.
pub(super) const PARAMETERS: u64 = 0x140;

/// The offset of the stack pointer's initial value, which is the size of the thread's local memory.
pub(super) const STACK: u64 = 0x44;

/// The offset of the address of constant bank 3, through which code compiled with -G reads `__constant__` variables.
pub(super) const CONSTANTS: u64 = 0xf0;

/// The special register with the lowest address of the stack (`SR_LMEMHIOFF`). Code compiled with -G traps below it, as
/// the driver does without being asked.
pub(super) const STACK_LIMIT: u64 = 55;

/// Special values, by their offset in bank 0.
const BANK_0: [(u64, Special); 8] = [
    (0x20, Special::SharedWindow),
    (0x24, Special::LocalWindow),
    (0x28, Special::BlockSize(Axis::X)),
    (0x2c, Special::BlockSize(Axis::Y)),
    (0x30, Special::BlockSize(Axis::Z)),
    (0x34, Special::GridSize(Axis::X)),
    (0x38, Special::GridSize(Axis::Y)),
    (0x3c, Special::GridSize(Axis::Z)),
];

/// Special values, by the number of their special register.
const REGISTERS: [(u64, Special); 16] = [
    (0, Special::Lane),
    (2, Special::VirtualConfiguration),
    (3, Special::VirtualId),
    (33, Special::ThreadIndex(Axis::X)),
    (34, Special::ThreadIndex(Axis::Y)),
    (35, Special::ThreadIndex(Axis::Z)),
    (37, Special::BlockIndex(Axis::X)),
    (38, Special::BlockIndex(Axis::Y)),
    (39, Special::BlockIndex(Axis::Z)),
    (48, Special::SharedWindow),
    (52, Special::LocalWindow),
    (56, Special::LaneMask(LaneRelation::Equal)),
    (57, Special::LaneMask(LaneRelation::Less)),
    (58, Special::LaneMask(LaneRelation::LessEqual)),
    (59, Special::LaneMask(LaneRelation::Greater)),
    (60, Special::LaneMask(LaneRelation::GreaterEqual)),
];

/// Special registers that change over time.
const TIMERS: [(u64, Timer); 5] = [
    (1, Timer::Clock),
    (80, Timer::Clock),
    (81, Timer::ClockHigh),
    (82, Timer::Global),
    (83, Timer::GlobalHigh),
];

/// Returns the special value at an offset of bank 0 below the parameters.
pub(super) fn of_bank_0(offset: u64) -> Option<Special> {
    BANK_0.iter().find(|row| row.0 == offset).map(|row| row.1)
}

/// Returns the special value of a special register, except those that change over time.
pub(super) fn of_register(number: u64) -> Option<Special> {
    REGISTERS.iter().find(|row| row.0 == number).map(|row| row.1)
}

/// Returns the clock that a special register reads.
pub(super) fn timer(number: u64) -> Option<Timer> {
    TIMERS.iter().find(|row| row.0 == number).map(|row| row.1)
}
