//! Atomic operations. Lanes are processed one after the other, lowest first.
//!
//! Source: NVIDIA's documentation of PTX (`atom`, `red`). Floating-point addition flushes subnormal
//! numbers to zero, as `.FTZ` in the mnemonic says.

use unshade_sass::semantics::{Space, functions};

use crate::environment::Environment;
use crate::fault::Reason;
use crate::intrinsics::Atomic;

/// The index of `F32.FTZ.RN` in the modifier for types.
const FLOAT: u64 = 3;

/// Returns whether a type is signed: `S32`, `S64`.
fn is_signed(ty: u64) -> bool {
    matches!(ty, 1 | 5)
}

/// Implements `atomic_…(address, value, type)`; returns the old value.
pub(crate) fn run(
    env: &mut Environment<'_>,
    operation: Atomic,
    arguments: &[u64; 16],
    width: u8,
    thread: u32,
    has_result: bool,
) -> Result<u64, Reason> {
    let [address, value, ty, ..] = *arguments;
    let size = usize::from(width / 8);
    let old = env.load_unchecked(Space::Ram, address, size, thread)?;
    env.note_atomic(address, size, thread, true);
    let extended = |value: u64| {
        let unused = 64 - u32::from(width);
        (value << unused).cast_signed() >> unused
    };
    let less = if is_signed(ty) { extended(old) < extended(value) } else { old < value };
    let after = match operation {
        Atomic::Add if ty == FLOAT => add_floats(old, value),
        Atomic::Add => old.wrapping_add(value),
        Atomic::Min => {
            if less {
                old
            } else {
                value
            }
        }
        Atomic::Max => {
            if less {
                value
            } else {
                old
            }
        }
        Atomic::Inc => {
            if old >= value {
                0
            } else {
                old.wrapping_add(1)
            }
        }
        Atomic::Dec => {
            if old == 0 || old > value {
                value
            } else {
                old.wrapping_sub(1)
            }
        }
        Atomic::And => old & value,
        Atomic::Or => old | value,
        Atomic::Xor => old ^ value,
        Atomic::Exchange => value,
        Atomic::SafeAdd => return Err(Reason::Unsupported("ATOM.SAFEADD".into())),
    };
    // Integer operations without a used result commute, so their order does not matter.
    if has_result || operation == Atomic::Exchange || ty == FLOAT {
        env.load(Space::Ram, address, width, thread)?;
        env.store(Space::Ram, address, after, width, thread)?;
    } else {
        env.store_unchecked(Space::Ram, address, after, size, thread)?;
    }
    Ok(old)
}

fn add_floats(a: u64, b: u64) -> u64 {
    let flush = |bits| functions::call("flush", &[bits]).unwrap_or(bits);
    flush(functions::call("fadd_round", &[flush(a), flush(b), 0]).unwrap_or(0))
}

/// Implements `atomic_cas(address, compared, new)`; returns the old value.
pub(crate) fn compare_and_swap(
    env: &mut Environment<'_>,
    arguments: &[u64; 16],
    width: u8,
    thread: u32,
) -> Result<u64, Reason> {
    let [address, compared, new, ..] = *arguments;
    let old = env.load(Space::Ram, address, width, thread)?;
    env.note_atomic(address, usize::from(width / 8), thread, old == compared);
    if old == compared {
        env.store(Space::Ram, address, new, width, thread)?;
    }
    Ok(old)
}

impl Environment<'_> {
    /// Locks a word of shared memory for a thread; returns whether it was free.
    pub(crate) fn lock(&mut self, address: u64, thread: u32) -> bool {
        let word = address & !3;
        let free = self.block.locks.iter().all(|lock| lock.0 != word);
        if free {
            self.block.locks.push((word, thread));
        }
        free
    }

    /// Unlocks a word of shared memory; returns whether this thread had locked it.
    pub(crate) fn unlock(&mut self, address: u64, thread: u32) -> bool {
        let word = address & !3;
        let found = self.block.locks.iter().position(|lock| *lock == (word, thread));
        found.map(|index| self.block.locks.swap_remove(index)).is_some()
    }
}
