//! Turns accesses through generic addresses into accesses of local or shared memory.
//!
//! Both memories are windows in the generic address space. Code compiled with -G adds the start of a window to an offset
//! and loads from the sum; other code states the memory in the instruction. The sum without the start is the offset, and
//! as no window has 4 GiB, its lower half is all of it.

use crate::address::Address;
use crate::ir::{Function, Op, Space, Value, ValueId};

/// Maximum depth of the sum that is an address.
const MAX_DEPTH: u32 = 16;

/// Rewrites accesses. Returns whether there were any.
pub fn run(function: &mut Function) -> bool {
    let mut changed = false;
    for id in function.values.keys() {
        if !matches!(function.op(id), Op::Load(Space::Generic) | Op::Store(Space::Generic))
            || function.is_replaced(id)
        {
            continue;
        }
        let address = function.input(id, 0);
        if function.width(address) != 64 {
            continue;
        }
        let Some(window) = Address::new(function, address).base else { continue };
        let space = match function.op(window) {
            Op::Special(special) => special.window(),
            _ => None,
        };
        let Some(space) = space else { continue };
        let like = function.values[id];
        let offset = low_half(function, address, window, like, 0);
        let mut inputs = function.inputs(id).to_vec();
        inputs[0] = offset;
        let op = if matches!(like.op, Op::Load(_)) { Op::Load(space) } else { Op::Store(space) };
        function.set_op(id, op, &inputs);
        changed = true;
    }
    changed
}

/// Returns the lower half of a sum without the start of a window.
fn low_half(function: &mut Function, id: ValueId, window: ValueId, like: Value, depth: u32) -> ValueId {
    let half = |function: &mut Function, op: Op, inputs: &[ValueId]| {
        function.raw(op, 32, like.block, like.address, inputs)
    };
    if id == window {
        return function.constant(0, 32);
    }
    let (a, b) = (function.input(id, 0), function.input(id, 1));
    match function.op(id) {
        Op::Constant(number) => function.constant(number, 32),
        Op::Add if depth < MAX_DEPTH => {
            let inputs = [a, b].map(|input| low_half(function, input, window, like, depth + 1));
            half(function, Op::Add, &inputs)
        }
        Op::Mul | Op::Shl if function.number(b).is_some() && depth < MAX_DEPTH => {
            let inputs = [
                low_half(function, a, window, like, depth + 1),
                low_half(function, b, window, like, depth + 1),
            ];
            half(function, function.op(id), &inputs)
        }
        Op::ZeroExtend | Op::SignExtend if function.width(a) == 32 => a,
        Op::Concat if function.width(b) == 32 => b,
        _ => half(function, Op::Low, &[id]),
    }
}
