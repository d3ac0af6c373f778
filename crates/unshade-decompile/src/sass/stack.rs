//! Parameters of device functions that are on the caller's stack: loads from above the function's own frame.
//!
//! The stack pointer of a function starts at the top of its frame, and arguments without a register follow there: see
//! `convention`. An address is only known once the whole function is lifted, because the stack pointer may pass through
//! branches and loops.

use super::convention::WORDS;
use crate::ir::fold::fold;
use crate::ir::{BlockId, Function, Op, Space, ValueId};
use crate::pass::graph::remove_unreached;

/// Maximum bytes of parameters on the stack.
const MAX_BYTES: u64 = 1 << 12;

/// Maximum number of operations between the stack pointer and an address.
const MAX_STEPS: u32 = 256;

/// Makes parameters of the loads above the frame, which is `top` bytes large.
pub(super) fn run(function: &mut Function, top: u32) {
    // Code compiled with -G compares the stack pointer with its limit, which the function is never below.
    remove_unreached(function);
    let inside = |function: &Function, effect: ValueId| {
        let mut steps = MAX_STEPS;
        let address = number(function, function.input(effect, 0), &mut steps)?;
        let offset = address.checked_sub(u64::from(top)).filter(|offset| *offset < MAX_BYTES)?;
        u32::try_from(offset).ok().map(|offset| offset + 4 * u32::from(WORDS))
    };
    let mut has_loads = false;
    for block in function.blocks.keys() {
        let mut effects = std::mem::take(&mut function.blocks[block].effects);
        effects.retain(|effect| match function.op(*effect) {
            Op::Load(Space::Local) => match inside(function, *effect) {
                Some(offset) => {
                    let parameter = parameter(function, *effect, offset);
                    function.replace(*effect, parameter);
                    has_loads = true;
                    false
                }
                None => true,
            },
            Op::Store(Space::Local) if inside(function, *effect).is_some() => {
                let note = function.notes.push(String::from("a store to a parameter on the stack"));
                function.set_op(*effect, Op::Unlifted(note), &[]);
                true
            }
            _ => true,
        });
        function.blocks[block].effects = effects;
    }
    if has_loads {
        function.settle();
    }
}

/// Returns the parameter at an offset, as wide as the load of it.
fn parameter(function: &mut Function, load: ValueId, offset: u32) -> ValueId {
    let value = function.values[load];
    let leaf = |function: &mut Function, offset: u32, width: u8| {
        function.raw(Op::Parameter(offset), width, BlockId::ENTRY, value.address, &[])
    };
    if value.width == 64 && offset.is_multiple_of(8) {
        return leaf(function, offset, 64);
    }
    let word = leaf(function, offset & !3, 32);
    match value.width {
        33.. => {
            let high = leaf(function, offset + 4, 32);
            function.raw(Op::Concat, 64, BlockId::ENTRY, value.address, &[high, word])
        }
        32 => word,
        width => {
            let count = function.constant(u64::from(8 * (offset & 3)), 32);
            let part = function.raw(Op::Shr, 32, BlockId::ENTRY, value.address, &[word, count]);
            function.raw(Op::Low, width, BlockId::ENTRY, value.address, &[part])
        }
    }
}

/// Returns the number that a value always is, if it can be followed in some steps.
fn number(function: &Function, id: ValueId, steps: &mut u32) -> Option<u64> {
    *steps = steps.checked_sub(1)?;
    if id == ValueId::NONE {
        return None;
    }
    match function.op(id) {
        Op::Constant(number) => Some(number),
        Op::Copy => number(function, function.input(id, 0), steps),
        Op::Phi => {
            let inputs = (0..function.inputs(id).len()).map(|index| function.input(id, index));
            let mut numbers = inputs.filter(|input| *input != id).map(|input| number(function, input, steps));
            let first = numbers.next()??;
            numbers.all(|other| other == Some(first)).then_some(first)
        }
        op @ (Op::Add | Op::Sub | Op::And | Op::Or) => {
            let width = function.width(id);
            let a = number(function, function.input(id, 0), steps)?;
            let b = number(function, function.input(id, 1), steps)?;
            fold(op, &[a, b], width, width)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    #[test]
    fn loads_above_the_frame_are_parameters() {
        let text = "function \"f\" shared 0 local 16\nb0 @0x0:\n    branch 1:1, b1, b2\nb1 @0x0 <- b0:\n    goto b2\nb2 \
                    @0x0 <- b0, b1:\n    v0:32 = phi 8:32, 8:32\n    v1:32 = add v0, 12:32\n    v2:64 = load.local \
                    v1\n    v3:32 = load.local v0\n    store.local 0:32, v2\n    store.local 4:32, v3\n    \
                    store.local v1, v3\n    return\n";
        let mut function = parse(text).expect("it is a module").function;
        run(&mut function, 16);
        let text = function.to_string();
        assert!(text.contains("v0:32 = parameter 52\n"), "{text}");
        assert!(text.contains("concat v1, v0"), "{text}");
        assert!(text.contains("= load.local v"), "{text}");
        assert!(text.contains("unlifted n0\n"), "{text}");
    }
}
