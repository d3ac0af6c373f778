//! The operands of instructions in the order in which LLVM keeps them.
//!
//! The order decides in which order types, constants and metadata are numbered. It differs from that of the text
//! for conditional branches (condition, else, then), calls (arguments, bundles, then blocks and callee),
//! `catchswitch` (parent, unwind block, handlers) and pads (arguments, then parent). The blocks of a `phi` are no
//! operands, nor is the mask of `shufflevector`.
//!
//! Knowledge: the constructors in LLVM's `Instructions.cpp` (14 and 19).

use crate::body::FunctionBody;
use crate::instruction::{Instruction, Opcode};
use crate::value::Operand;

/// Calls `take` for each operand.
#[inline]
pub(super) fn for_each(body: &FunctionBody, instruction: &Instruction, mut take: impl FnMut(Operand)) {
    for_each_index(body, instruction, |index| {
        if let Some(&operand) = body.operands.get(index) {
            take(operand);
        }
    });
}

/// Calls `take` for the index of each operand in [`FunctionBody::operands`].
#[inline]
pub(super) fn for_each_index(body: &FunctionBody, instruction: &Instruction, mut take: impl FnMut(usize)) {
    let all = instruction.operands;
    let (start, count) = (all.start as usize, all.len());
    let mut range = |from: usize, to: usize| (start + from..start + to).for_each(&mut take);
    match instruction.opcode {
        Opcode::Call | Opcode::Invoke | Opcode::CallBr if count > 0 => {
            let blocks = count.saturating_sub(block_count(instruction)).max(1);
            range(1, blocks);
            if let Some(call) = body.calls.get(instruction.detail as usize) {
                for bundle in call.bundles.of(&body.bundles) {
                    let from = bundle.operands.start as usize;
                    (from..from + bundle.operands.len()).for_each(&mut take);
                }
            }
            (start + blocks..start + count).chain([start]).for_each(&mut take);
        }
        Opcode::Br if count == 3 => [start, start + 2, start + 1].into_iter().for_each(&mut take),
        Opcode::Phi => (start..start + count).step_by(2).for_each(&mut take),
        Opcode::ShuffleVector => range(0, count.min(2)),
        Opcode::CatchPad | Opcode::CleanupPad if count > 0 => {
            (start + 1..start + count).chain([start]).for_each(&mut take);
        }
        Opcode::CatchSwitch if instruction.detail != 0 && count > 1 => {
            let handlers = start + 1..start + count - 1;
            [start, start + count - 1].into_iter().chain(handlers).for_each(&mut take);
        }
        _ => range(0, count),
    }
}

/// Returns whether an instruction can have metadata as operands.
#[inline]
pub(super) fn may_be_metadata(instruction: &Instruction) -> bool {
    let opcode = instruction.opcode;
    matches!(opcode, Opcode::Call | Opcode::Invoke | Opcode::CallBr | Opcode::CatchPad | Opcode::CleanupPad)
}

/// Returns the number of blocks that follow the arguments of a call.
pub(super) fn block_count(instruction: &Instruction) -> usize {
    match instruction.opcode {
        Opcode::Invoke => 2,
        Opcode::CallBr => (instruction.extra as usize).saturating_add(1),
        _ => 0,
    }
}
