//! Recognises atomic operations: loops that load a word, compute a new one, and store it with `atomicCAS` until nobody
//! else has changed the word in between. NVIDIA's compiler writes atomic operations on shared memory as such loops, and
//! programmers those that CUDA lacks, which stay loops.
//!
//! ```c
//! do {
//!     old = *p;
//! } while (atomicCAS(p, old, old + x) != old);    // atomicAdd(p, x); its result is old
//! ```
//!
//! The block of the loop must have no other effects, and what is added must not depend on the loop.

use crate::ir::build::remove_trivial_phis;
use crate::ir::{BlockId, End, Function, Id, Intrinsic, NONE, Op};

/// An operation on the loaded word, and the function that does it atomically, on 32 and on 64 bits.
const OPERATIONS: [(Operation, &str, &str); 9] = [
    (Operation::Op(Op::Add), "atomicAdd.u", "atomicAdd.ull"),
    (Operation::Op(Op::And), "atomicAnd.u", "atomicAnd.ull"),
    (Operation::Op(Op::Or), "atomicOr.u", "atomicOr.ull"),
    (Operation::Op(Op::Xor), "atomicXor.u", "atomicXor.ull"),
    (Operation::Op(Op::FloatAdd), "atomicAdd.f", ""),
    (Operation::Call("min.u", "min.ull"), "atomicMin.u", "atomicMin.ull"),
    (Operation::Call("max.u", "max.ull"), "atomicMax.u", "atomicMax.ull"),
    (Operation::Call("min.i", "min.ll"), "atomicMin.i", "atomicMin.ll"),
    (Operation::Call("max.i", "max.ll"), "atomicMax.i", "atomicMax.ll"),
];

/// An operation with two inputs that can be exchanged.
#[derive(Clone, Copy)]
enum Operation {
    Op(Op),
    Call(&'static str, &'static str),
}

/// An atomic operation in place of a loop.
struct Atomic {
    /// The load, which becomes the operation.
    load: Id,
    /// The comparison and swap.
    swap: Id,
    function: Intrinsic,
    inputs: Vec<Id>,
    /// Where the loop continues at its end.
    exit: BlockId,
}

/// Replaces loops by atomic operations. Returns whether there were any.
pub fn run(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() as BlockId {
        let Some(found) = atomic(function, block) else { continue };
        function.set_op(found.load, Op::Call(found.function), &found.inputs);
        function.replace(found.swap, found.load);
        function.remove_edge(block, block);
        function.blocks[block as usize].end = End::Goto(found.exit);
        changed = true;
    }
    if changed {
        remove_trivial_phis(function);
    }
    changed
}

/// Returns the operation that a block does in a loop.
fn atomic(function: &Function, block: BlockId) -> Option<Atomic> {
    let End::Branch { condition, yes, no } = function.blocks[block as usize].end else { return None };
    let &[load, swap] = function.blocks[block as usize].effects.as_slice() else { return None };
    let condition = function.resolve(condition);
    let exit = match function.op(condition) {
        Op::Equal if no == block => yes,
        Op::NotEqual if yes == block => no,
        _ => return None,
    };
    let (address, is_load) = (function.input(load, 0), matches!(function.op(load), Op::Load(_)));
    let compared = [function.input(condition, 0), function.input(condition, 1)];
    let is_swap = matches!(function.op(swap), Op::Call(call) if call.entry().name.starts_with("atomicCAS"))
        && function.input(swap, 0) == address
        && function.input(swap, 1) == load
        && (compared == [swap, load] || compared == [load, swap]);
    if !is_load || !is_swap || exit == block {
        return None;
    }
    let of_loop = Loop { function, block, old: load, is_wide: function.width(load) == 64 };
    let (name, operands) = of_loop.operation(function.input(swap, 2))?;
    let mut inputs = vec![address];
    inputs.extend(operands);
    let function = Intrinsic::by_name(name)?;
    of_loop.are_invariant(&inputs).then_some(Atomic { load, swap, function, inputs, exit })
}

/// A loop of one block.
struct Loop<'f> {
    function: &'f Function,
    block: BlockId,
    /// The loaded word.
    old: Id,
    is_wide: bool,
}

impl Loop<'_> {
    /// Returns whether values are computed before the loop: pure values are in the block of their last input.
    fn are_invariant(&self, ids: &[Id]) -> bool {
        ids.iter().all(|id| *id != NONE && self.function.values[*id as usize].block != self.block)
    }

    fn named(&self, narrow: &'static str, wide: &'static str) -> &'static str {
        if self.is_wide { wide } else { narrow }
    }

    /// Returns the function that computes a new word from the old one, and its operands without the address.
    fn operation(&self, new: Id) -> Option<(&'static str, Vec<Id>)> {
        let function = self.function;
        if self.are_invariant(&[new]) {
            return Some((self.named("atomicExch.u", "atomicExch.ull"), vec![new]));
        }
        let inputs = [function.input(new, 0), function.input(new, 1)];
        let other = match inputs {
            [old, other] | [other, old] if old == self.old => other,
            _ => NONE,
        };
        if let Op::Select = function.op(new) {
            return self.choice(new);
        }
        let is_operation = |operation: Operation| match (operation, function.op(new)) {
            (Operation::Op(op), found) => op == found,
            (Operation::Call(narrow, wide), Op::Call(call)) => call.entry().name == self.named(narrow, wide),
            _ => false,
        };
        let found = OPERATIONS.iter().find(|row| is_operation(row.0))?;
        let name = self.named(found.1, found.2);
        (other != NONE && !name.is_empty()).then(|| (name, vec![other]))
    }

    /// Returns the operation that selects the new word: a comparison and swap, or an increment up to a limit.
    fn choice(&self, new: Id) -> Option<(&'static str, Vec<Id>)> {
        let function = self.function;
        let [condition, yes, no] = [0, 1, 2].map(|index| function.input(new, index));
        let [left, right] = [0, 1].map(|index| function.input(condition, index));
        let is_next = |id: Id| {
            function.op(id) == Op::Add
                && function.input(id, 0) == self.old
                && function.number(function.input(id, 1)) == Some(1)
        };
        let is_zero = |id: Id| function.number(id) == Some(0);
        match function.op(condition) {
            Op::Equal if no == self.old && (left == self.old || right == self.old) => {
                let expected = if left == self.old { right } else { left };
                Some((self.named("atomicCAS.u", "atomicCAS.ull"), vec![expected, yes]))
            }
            Op::NotEqual if yes == self.old && (left == self.old || right == self.old) => {
                let expected = if left == self.old { right } else { left };
                Some((self.named("atomicCAS.u", "atomicCAS.ull"), vec![expected, no]))
            }
            Op::Less if !self.is_wide && left == self.old && is_next(yes) && is_zero(no) => {
                Some(("atomicInc.u", vec![right]))
            }
            Op::LessEqual if !self.is_wide && right == self.old && is_zero(yes) && is_next(no) => {
                Some(("atomicInc.u", vec![left]))
            }
            _ => None,
        }
    }
}
