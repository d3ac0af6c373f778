//! Special registers, which `S2R` reads.
//!
//! Source: the numbers are those of the table in `isa/nvidia/operations.isa` (`modifier sreg`); their
//! contents are documented for PTX under the same names.

use crate::environment::{Environment, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use crate::fault::Reason;

/// Returns the value of a special register for a lane, whose stack pointer is `stack`.
pub(crate) fn read(
    env: &Environment<'_>,
    number: u64,
    warp: u32,
    lane: u32,
    stack: u32,
) -> Result<u64, Reason> {
    let position = &env.block.position;
    let thread = position.thread(warp.wrapping_mul(32).wrapping_add(lane));
    let one = 1_u32 << (lane & 31);
    let lower = one.wrapping_sub(1);
    let [tx, ty, tz] = thread;
    let [bx, by, bz] = position.block;
    let [nx, ny, nz] = position.threads;
    Ok(match number {
        // SR_LANEID, SR_CLOCK
        0 => lane.into(),
        1 => env.clock() & 0xffff_ffff,
        // SR_TID: 16, 10 and 6 bits; SR_TID.X and so on
        32 => (tx & 0xffff | (ty & 0x3ff) << 16 | tz << 26).into(),
        33 => tx.into(),
        34 => ty.into(),
        35 => tz.into(),
        // SR_CTAID.X and so on, SR_NTID
        37 => bx.into(),
        38 => by.into(),
        39 => bz.into(),
        40 => (nx & 0xffff | (ny & 0x3ff) << 16 | nz << 26).into(),
        // SR_VIRTID: the warp at bit 8, the multiprocessor at bit 20 (always the first here)
        3 => u64::from(warp) << 8,
        // SR_VIRTCFG: the numbers of warps and multiprocessors
        2 => 1 << 20 | 64 << 8,
        // SR_PM0 to SR_PM7: nothing counts
        4..=11 => 0,
        // SR_SWINLO, SR_SWINSZ, SR_SMEMSZ, SR_SMEMBANKS
        48 => SHARED_WINDOW,
        49 | 53 => WINDOW_SIZE,
        50 => env.block.shared.len() as u64,
        51 => 32,
        // SR_LWINLO, SR_LWINSZ (above), SR_LMEMLOSZ
        52 => LOCAL_WINDOW,
        54 => env.local_size as u64,
        // SR_LMEMHIOFF: the end of the stack. Functions compiled for a debugger trap if the stack pointer is below. Local
        // memory starts at 0 here, so a pointer below has wrapped around.
        55 if env.is_beyond_stack(stack) => u32::MAX.into(),
        55 => env.stack_end.into(),
        // SR_EQMASK, SR_LTMASK, SR_LEMASK, SR_GTMASK, SR_GEMASK
        56 => one.into(),
        57 => lower.into(),
        58 => (lower | one).into(),
        59 => (!(lower | one)).into(),
        60 => (!lower).into(),
        // SR_CLOCKLO, SR_CLOCKHI; SR_GLOBALTIMERLO and HI have the same value
        80 | 82 => env.clock() & 0xffff_ffff,
        81 | 83 => env.clock() >> 32,
        // SR_GLOBALERRORSTATUS, SR_WARPERRORSTATUS and its clearing: no errors
        64 | 66 | 67 => 0,
        _ => return Err(Reason::Unsupported(format!("special register {number}"))),
    })
}
