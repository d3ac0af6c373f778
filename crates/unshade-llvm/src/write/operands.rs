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
    let take = &mut take;
    let operands = body.operands_of(instruction);
    match instruction.opcode {
        Opcode::Call | Opcode::Invoke | Opcode::CallBr => {
            let Some((callee, rest)) = operands.split_first() else { return };
            let (arguments, blocks) = rest.split_at(rest.len() - block_count(instruction).min(rest.len()));
            all(take, arguments);
            if let Some(call) = body.calls.get(instruction.detail as usize) {
                for bundle in call.bundles.of(&body.bundles) {
                    all(take, bundle.operands.of(&body.operands));
                }
            }
            all(take, blocks);
            take(*callee);
        }
        Opcode::Br => {
            if let [condition, then, otherwise] = operands {
                all(take, &[*condition, *otherwise, *then]);
            } else {
                all(take, operands);
            }
        }
        Opcode::Phi => operands.iter().step_by(2).for_each(|&value| take(value)),
        Opcode::ShuffleVector => all(take, operands.get(..2).unwrap_or(operands)),
        Opcode::CatchPad | Opcode::CleanupPad => {
            if let Some((parent, arguments)) = operands.split_first() {
                all(take, arguments);
                take(*parent);
            }
        }
        Opcode::CatchSwitch if instruction.detail != 0 => {
            if let ([parent, handlers @ ..], Some(unwind)) = (operands, operands.last()) {
                all(take, &[*parent, *unwind]);
                all(take, handlers.split_last().map_or(&[], |(_, handlers)| handlers));
            }
        }
        _ => all(take, operands),
    }
}

#[inline]
fn all(take: &mut impl FnMut(Operand), operands: &[Operand]) {
    operands.iter().for_each(|&operand| take(operand));
}

/// Returns the number of blocks that follow the arguments of a call.
pub(super) fn block_count(instruction: &Instruction) -> usize {
    match instruction.opcode {
        Opcode::Invoke => 2,
        Opcode::CallBr => (instruction.extra as usize).saturating_add(1),
        _ => 0,
    }
}
