//! What the front ends for LLVM modules share: operators of instructions, predicates, the order of blocks.

use crate::ir::{BlockId, End, Function, Op, ShaderOp};
use unshade_llvm::body::FunctionBody;
use unshade_llvm::instruction::Opcode;

/// Operators of two inputs of the same shape.
const BINARY: [(Opcode, Op); 16] = [
    (Opcode::Add, Op::Add),
    (Opcode::FAdd, Op::FloatAdd),
    (Opcode::Sub, Op::Sub),
    (Opcode::FSub, Op::FloatSub),
    (Opcode::Mul, Op::Mul),
    (Opcode::FMul, Op::FloatMul),
    (Opcode::UDiv, Op::Udiv),
    (Opcode::SDiv, Op::Sdiv),
    (Opcode::FDiv, Op::FloatDiv),
    (Opcode::URem, Op::Urem),
    (Opcode::SRem, Op::Srem),
    (Opcode::FRem, Op::Shader(ShaderOp::FloatRemainder)),
    (Opcode::Shl, Op::Shl),
    (Opcode::LShr, Op::Shr),
    (Opcode::AShr, Op::Sar),
    (Opcode::Xor, Op::Xor),
];

/// Returns the operator of an instruction with two inputs of the same shape.
pub(crate) fn binary_operator(opcode: Opcode) -> Option<Op> {
    BINARY.iter().find(|row| row.0 == opcode).map(|row| row.1)
}

/// Comparisons of integers, by predicate from 32 on: the operator, and whether its inputs are exchanged.
const INTEGER_COMPARISONS: [(Op, bool); 10] = [
    (Op::Equal, false),
    (Op::NotEqual, false),
    (Op::Less, true),
    (Op::LessEqual, true),
    (Op::Less, false),
    (Op::LessEqual, false),
    (Op::SignedLess, true),
    (Op::SignedLessEqual, true),
    (Op::SignedLess, false),
    (Op::SignedLessEqual, false),
];

/// Returns the operator of a comparison of integers, by its predicate, and whether its inputs are exchanged.
pub(crate) fn integer_comparison(predicate: u32) -> Option<(Op, bool)> {
    INTEGER_COMPARISONS.get(predicate.checked_sub(32)? as usize).copied()
}

/// What a comparison of floats asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatTest {
    /// Nothing: the result is known.
    Known(bool),
    /// An operator, whether its inputs are exchanged, and whether its result is negated.
    Operator(Op, bool, bool),
    /// Whether the inputs are ordered and differ; or, negated, equal or unordered.
    Differ(bool),
    /// Whether an input is not a number; or, negated, both are.
    Unordered(bool),
}

/// Returns what a comparison of floats asks, by its predicate. Bits: 1 equal, 2 greater, 4 less, 8 unordered. An unordered
/// one is the opposite of an ordered one.
pub(crate) fn float_comparison(predicate: u32) -> FloatTest {
    let test = FloatTest::Operator;
    match predicate {
        0 | 15 => FloatTest::Known(predicate == 15),
        1 => test(Op::FloatEqual, false, false),
        2 => test(Op::FloatLess, true, false),
        3 => test(Op::FloatLessEqual, true, false),
        4 => test(Op::FloatLess, false, false),
        5 => test(Op::FloatLessEqual, false, false),
        10 => test(Op::FloatLessEqual, false, true),
        11 => test(Op::FloatLess, false, true),
        12 => test(Op::FloatLessEqual, true, true),
        13 => test(Op::FloatLess, true, true),
        14 => test(Op::FloatNotEqual, false, false),
        6 | 9 => FloatTest::Differ(predicate == 9),
        _ => FloatTest::Unordered(predicate != 8),
    }
}

/// Ends a block of a function with this many blocks. A branch to one that does not exist returns.
pub(crate) fn end_block(function: &mut Function, block: BlockId, count: usize, end: End) {
    let exists = end.successors().iter().all(|to| (to.number() as usize) < count);
    let end = match end {
        End::Branch { yes, no, .. } if yes == no => End::Goto(yes),
        _ if !exists => End::Return,
        end => end,
    };
    end.each_successor(&mut |to| function.blocks[to].predecessors.push(block));
    function.blocks[block].end = end;
}

/// Returns the reachable blocks of a body, each after those that dominate it.
pub(crate) fn reverse_postorder(body: &FunctionBody) -> Vec<u32> {
    let mut seen = vec![false; body.blocks.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0_u32, 0_usize)];
    if let Some(first) = seen.first_mut() {
        *first = true;
    } else {
        return order;
    }
    while let Some((block, next)) = stack.last_mut() {
        let successors: Vec<u32> =
            body.successors(unshade_llvm::BlockId(*block)).map(|block| block.0).collect();
        match successors.get(*next) {
            Some(&to) => {
                *next += 1;
                if seen.get(to as usize) == Some(&false) {
                    seen[to as usize] = true;
                    stack.push((to, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
