//! The layout of Kepler's constant bank 0 before the parameters, and the special registers.

use crate::ir::Special;

/// The offset of the parameters.
pub(super) const PARAMETERS: u64 = 0x140;

/// The offset of the stack pointer's initial value, which is the size of the thread's local memory.
pub(super) const STACK: u64 = 0x44;

/// The offset of the address of constant bank 3, through which code compiled with -G reads `__constant__` variables.
pub(super) const CONSTANTS: u64 = 0xf0;

/// The address of constant bank 3.
pub(super) const CONSTANT_WINDOW: Special = Special(&"constant_window()");

/// The special register with the lowest address of the stack (`SR_LMEMHIOFF`). Code compiled with -G traps below it, as
/// the driver does without being asked.
pub(super) const STACK_LIMIT: u64 = 55;

/// Returns the special value at an offset of bank 0 below the parameters.
pub(super) fn of_bank_0(offset: u64) -> Option<Special> {
    Some(Special(match offset {
        0x28 => &"blockDim.x",
        0x2c => &"blockDim.y",
        0x30 => &"blockDim.z",
        0x34 => &"gridDim.x",
        0x38 => &"gridDim.y",
        0x3c => &"gridDim.z",
        0x20 => &"shared_window()",
        0x24 => &"local_window()",
        _ => return None,
    }))
}

/// Returns the special value of a special register, except those that change over time.
pub(super) fn of_register(number: u64) -> Option<Special> {
    Some(Special(match number {
        0 => &"laneid()",
        2 => &"virtual_configuration()",
        3 => &"virtual_id()",
        33 => &"threadIdx.x",
        34 => &"threadIdx.y",
        35 => &"threadIdx.z",
        37 => &"blockIdx.x",
        38 => &"blockIdx.y",
        39 => &"blockIdx.z",
        48 => &"shared_window()",
        52 => &"local_window()",
        56 => &"lanemask_eq()",
        57 => &"lanemask_lt()",
        58 => &"lanemask_le()",
        59 => &"lanemask_gt()",
        60 => &"lanemask_ge()",
        _ => return None,
    }))
}

/// Returns the function that reads a special register that changes over time.
pub(super) fn clock(number: u64) -> Option<&'static str> {
    Some(match number {
        1 | 80 => "clock",
        81 => "clock_high",
        82 => "globaltimer_low",
        83 => "globaltimer_high",
        _ => return None,
    })
}
