//! Removes stores that only save registers for the caller.
//!
//! A device function stores the registers that it must preserve on its stack, and loads them at its end. To the function
//! their values are undefined, and nothing in C depends on them.

use crate::ir::{Function, Op, Space, ValueId};

/// Removes the stores.
pub(super) fn run(function: &mut Function) {
    for block in function.blocks.keys() {
        let mut effects = std::mem::take(&mut function.blocks[block].effects);
        effects.retain(|effect| {
            let is_local = function.op(*effect) == Op::Store(Space::Local);
            !(is_local && is_undefined(function, function.input(*effect, 1)))
        });
        function.blocks[block].effects = effects;
    }
}

fn is_undefined(function: &Function, id: ValueId) -> bool {
    match function.op(id) {
        Op::Undefined => true,
        Op::Concat => (0..2).all(|index| is_undefined(function, function.input(id, index))),
        _ => false,
    }
}
