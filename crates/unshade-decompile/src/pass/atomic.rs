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
use crate::ir::intrinsic::AtomicOp;
use crate::ir::{BlockId, End, Function, Intrinsic, Number, Op, ValueId};

/// An atomic operation in place of a loop.
struct Atomic {
    /// The load, which becomes the operation.
    load: ValueId,
    /// The comparison and swap.
    swap: ValueId,
    intrinsic: Intrinsic,
    inputs: Vec<ValueId>,
    /// Where the loop continues at its end.
    exit: BlockId,
}

/// Replaces loops by atomic operations. Returns whether there were any.
pub fn run(function: &mut Function) -> bool {
    let mut changed = false;
    for block in function.blocks.keys() {
        let Some(found) = atomic(function, block) else { continue };
        function.set_op(found.load, Op::Call(found.intrinsic), &found.inputs);
        function.replace(found.swap, found.load);
        function.remove_edge(block, block);
        function.blocks[block].end = End::Goto(found.exit);
        changed = true;
    }
    if changed {
        remove_trivial_phis(function);
    }
    changed
}

/// Returns the operation that a block does in a loop.
fn atomic(function: &Function, block: BlockId) -> Option<Atomic> {
    let End::Branch { condition, yes, no } = function.blocks[block].end else { return None };
    let &[load, swap] = function.blocks[block].effects.as_slice() else { return None };
    let condition = function.resolve(condition);
    let exit = match function.op(condition) {
        Op::Equal if no == block => yes,
        Op::NotEqual if yes == block => no,
        _ => return None,
    };
    let (address, is_load) = (function.input(load, 0), matches!(function.op(load), Op::Load(_)));
    let compared = [function.input(condition, 0), function.input(condition, 1)];
    let is_swap = matches!(function.op(swap), Op::Call(Intrinsic::AtomicCompareExchange(_)))
        && function.input(swap, 0) == address
        && function.input(swap, 1) == load
        && (compared == [swap, load] || compared == [load, swap]);
    if !is_load || !is_swap || exit == block {
        return None;
    }
    let of_loop = Loop { function, block, old: load, is_wide: function.width(load) == 64 };
    let (intrinsic, operands) = of_loop.operation(function.input(swap, 2))?;
    let mut inputs = vec![address];
    inputs.extend(operands);
    of_loop.are_invariant(&inputs).then_some(Atomic { load, swap, intrinsic, inputs, exit })
}

/// A loop of one block.
struct Loop<'f> {
    function: &'f Function,
    block: BlockId,
    /// The loaded word.
    old: ValueId,
    is_wide: bool,
}

impl Loop<'_> {
    /// Returns whether values are computed before the loop: pure values are in the block of their last input.
    fn are_invariant(&self, ids: &[ValueId]) -> bool {
        ids.iter().all(|id| *id != ValueId::NONE && self.function.values[*id].block != self.block)
    }

    /// Returns the type of the word as a number.
    fn number(&self, is_signed: bool) -> Number {
        Number::integer(if self.is_wide { 64 } else { 32 }, is_signed)
    }

    fn atomic(&self, op: AtomicOp) -> Intrinsic {
        Intrinsic::Atomic(op, self.number(false))
    }

    /// Returns the operation that computes a new word from the old one, and its operands without the address.
    fn operation(&self, new: ValueId) -> Option<(Intrinsic, Vec<ValueId>)> {
        let function = self.function;
        if self.are_invariant(&[new]) {
            return Some((self.atomic(AtomicOp::Exchange), vec![new]));
        }
        let is_word = |ty: Number| ty == self.number(false) || ty == self.number(true);
        let operation = match function.op(new) {
            Op::Select => return self.choice(new),
            Op::Add => self.atomic(AtomicOp::Add),
            Op::And => self.atomic(AtomicOp::And),
            Op::Or => self.atomic(AtomicOp::Or),
            Op::Xor => self.atomic(AtomicOp::Xor),
            Op::FloatAdd if !self.is_wide => Intrinsic::Atomic(AtomicOp::Add, Number::F32),
            Op::Call(Intrinsic::Min(ty)) if is_word(ty) => Intrinsic::Atomic(AtomicOp::Min, ty),
            Op::Call(Intrinsic::Max(ty)) if is_word(ty) => Intrinsic::Atomic(AtomicOp::Max, ty),
            _ => return None,
        };
        match [function.input(new, 0), function.input(new, 1)] {
            [old, other] | [other, old] if old == self.old && other != ValueId::NONE => {
                Some((operation, vec![other]))
            }
            _ => None,
        }
    }

    /// Returns the operation that selects the new word: a comparison and swap, or an increment up to a limit.
    fn choice(&self, new: ValueId) -> Option<(Intrinsic, Vec<ValueId>)> {
        let function = self.function;
        let [condition, yes, no] = [0, 1, 2].map(|index| function.input(new, index));
        let [left, right] = [0, 1].map(|index| function.input(condition, index));
        let is_next = |id: ValueId| {
            function.op(id) == Op::Add
                && function.input(id, 0) == self.old
                && function.number(function.input(id, 1)) == Some(1)
        };
        let is_zero = |id: ValueId| function.number(id) == Some(0);
        match function.op(condition) {
            Op::Equal if no == self.old && (left == self.old || right == self.old) => {
                let expected = if left == self.old { right } else { left };
                Some((Intrinsic::AtomicCompareExchange(self.number(false)), vec![expected, yes]))
            }
            Op::NotEqual if yes == self.old && (left == self.old || right == self.old) => {
                let expected = if left == self.old { right } else { left };
                Some((Intrinsic::AtomicCompareExchange(self.number(false)), vec![expected, no]))
            }
            Op::Less if !self.is_wide && left == self.old && is_next(yes) && is_zero(no) => {
                Some((self.atomic(AtomicOp::Inc), vec![right]))
            }
            Op::LessEqual if !self.is_wide && right == self.old && is_zero(yes) && is_next(no) => {
                Some((self.atomic(AtomicOp::Inc), vec![left]))
            }
            _ => None,
        }
    }
}
