//! Flushing of subnormal floats: if every operation of a function flushes, no operation is printed with a call.
//!
//! With `-ftz=true` a compiler makes each operation flush: subnormal inputs and results become zeros of the same
//! sign. The front end has a `flush_to_zero` around each of them. If all operations of a function flush, that is how
//! the function was compiled, not what its source says: the calls are removed, and the text names the option.
//!
//! An operation agrees with the option if none of its inputs can be subnormal, and its result only reaches
//! `flush_to_zero`, directly or through selects and sign changes. Operations that only move bits agree with everything, and doubles are not flushed.

use crate::ir::intrinsic::AtomicOp;
use crate::ir::math::{EXP2, RECIPROCAL_ROOT};
use crate::ir::{Function, IdVec, Intrinsic, Number, Op, Operand, Rounding, ValueId, ValueMap};

/// The type of numbers that the option is about.
const FLOAT: Operand = Operand::Number(Number::F32);

/// How an operation treats subnormal floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlushBehavior {
    /// It does not operate on floats, or only moves them.
    None,
    /// [`Intrinsic::FlushToZero`].
    Flush,
    /// With the option, it flushes its inputs and its result.
    Flushing,
    /// It flushes its inputs; its result cannot be subnormal, or is not a float.
    Taking,
    /// It flushes its result; subnormal inputs make no difference.
    Giving,
    /// It makes no difference, or is unspecified.
    Any,
    /// It only changes the sign.
    Sign,
    /// It preserves subnormal floats even with the option.
    Keeping,
}

/// Removes the calls if all operations agree. Returns whether they do.
pub fn run(function: &mut Function) -> bool {
    if !function.values.iter().any(|value| value.op == Op::Call(Intrinsic::FlushToZero)) {
        return false;
    }
    let used = function.used();
    let values: Vec<ValueId> = function.values.keys().filter(|id| used[*id]).collect();
    let behaviors: ValueMap<FlushBehavior> =
        function.values.keys().map(|id| behavior(function, id)).collect();
    if !values.iter().any(|id| behaviors[*id] == FlushBehavior::Flush) {
        return false;
    }
    let is_flushed = flushed(function, &values, &behaviors);
    let agrees = |id: ValueId| {
        let inputs_are_clean =
            || (0..function.inputs(id).len()).all(|index| is_clean(function, &behaviors, id, index));
        match behaviors[id] {
            FlushBehavior::Keeping => false,
            FlushBehavior::Flushing => is_flushed[id] && inputs_are_clean(),
            FlushBehavior::Taking => inputs_are_clean(),
            FlushBehavior::Giving => is_flushed[id],
            FlushBehavior::Sign => is_flushed[id] || inputs_are_clean(),
            FlushBehavior::None | FlushBehavior::Any | FlushBehavior::Flush => true,
        }
    };
    if !values.iter().all(|id| agrees(*id)) {
        return false;
    }
    for id in values {
        take_out(function, &behaviors, id);
    }
    function.settle();
    true
}

/// Returns whether the option would change what a function does whose operations don't flush. All values must be used:
/// see [`sweep`](crate::pass::sweep).
pub fn is_sensitive(function: &Function) -> bool {
    use FlushBehavior::{Any, None, Sign};
    let mut values = function.values.keys();
    values.any(|id| !matches!(behavior(function, id), None | Any | Sign))
}

/// Returns the values whose uses all end in `flush_to_zero`, or in an operation that flushes its inputs.
fn flushed(function: &Function, values: &[ValueId], behaviors: &ValueMap<FlushBehavior>) -> ValueMap<bool> {
    let mut flushed = IdVec::filled(true, function.values.len());
    for block in &function.blocks {
        if let Some(input) = block.end.input() {
            flushed[function.resolve(input)] = false;
        }
    }
    // Propagates values that are not flushed to their inputs, up to a fixed point.
    let passes = |id: ValueId| {
        matches!(function.op(id), Op::Phi | Op::Select) || matches!(behaviors[id], FlushBehavior::Sign)
    };
    let mut changed = true;
    while changed {
        changed = false;
        for &id in values.iter().rev() {
            let is_end = behaviors[id] == FlushBehavior::Flush || passes(id) && flushed[id];
            if is_end {
                continue;
            }
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                if input != ValueId::NONE {
                    changed |= std::mem::replace(&mut flushed[input], false);
                }
            }
        }
    }
    flushed
}

/// Returns whether an input cannot be a subnormal float.
fn is_clean(function: &Function, behaviors: &ValueMap<FlushBehavior>, id: ValueId, index: usize) -> bool {
    let mut input = function.input(id, index);
    if input == ValueId::NONE || function.width(input) != 32 || !function.op(id).takes_float(index) {
        return true;
    }
    while behaviors[input] == FlushBehavior::Sign {
        input = function.input(input, 0);
    }
    match function.op(input) {
        Op::Constant(bits) => !f32::from_bits(bits as u32).is_subnormal(),
        _ => matches!(behaviors[input], FlushBehavior::Flush | FlushBehavior::Any | FlushBehavior::Taking),
    }
}

/// Classifies an operation.
fn behavior(function: &Function, id: ValueId) -> FlushBehavior {
    let op = function.op(id);
    let inputs = function.inputs(id).first().map_or(0, |_| function.width(function.input(id, 0)));
    match op {
        Op::Call(call) if hides_subnormals(function, id) && call.result() == FLOAT => FlushBehavior::Any,
        // Directed rounding turns a subnormal float into the smallest half.
        Op::Call(Intrinsic::ToHalf(Number::F32))
            if !matches!(function.number(function.input(id, 1)), Some(0 | 3)) =>
        {
            FlushBehavior::Keeping
        }
        Op::Call(call) => called(call),
        Op::FloatConvert if inputs == 32 => FlushBehavior::Taking,
        Op::FloatConvert => FlushBehavior::Flushing,
        _ if inputs != 32 => FlushBehavior::None,
        _ if hides_subnormals(function, id) => FlushBehavior::Any,
        Op::FloatNegate | Op::FloatAbs => FlushBehavior::Sign,
        Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv | Op::FloatSqrt => FlushBehavior::Flushing,
        Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => FlushBehavior::Taking,
        Op::FloatNan | Op::SignedToFloat | Op::UnsignedToFloat => FlushBehavior::Any,
        _ => FlushBehavior::None,
    }
}

/// Returns how an intrinsic is compiled with the option.
fn called(call: Intrinsic) -> FlushBehavior {
    use Number::{F32, I32, I64, U32, U64};
    use Rounding::{Nearest, Zero};
    match call {
        Intrinsic::FlushToZero => FlushBehavior::Flush,
        Intrinsic::Add(F32, mode) | Intrinsic::Multiply(F32, mode) if mode != Nearest => {
            FlushBehavior::Flushing
        }
        Intrinsic::Fma(F32, _) | Intrinsic::Saturate => FlushBehavior::Flushing,
        EXP2 => FlushBehavior::Giving,
        RECIPROCAL_ROOT | Intrinsic::Log2 => FlushBehavior::Taking,
        Intrinsic::Math(_, F32) | Intrinsic::Math2(_, F32) => FlushBehavior::Flushing,
        // The integer nearest to a subnormal float, or towards zero from it, is zero.
        Intrinsic::Convert(F32, I32 | U32 | I64 | U64, Nearest | Zero) => FlushBehavior::Any,
        Intrinsic::Convert(F32, I32 | U32 | I64 | U64, _) => FlushBehavior::Taking,
        Intrinsic::Round(F32, _) | Intrinsic::Min(F32) | Intrinsic::Max(F32) => FlushBehavior::Taking,
        // The machine's sine flushes without the option, too.
        Intrinsic::Cosine | Intrinsic::Sine | Intrinsic::ToHalf(F32) => FlushBehavior::Any,
        Intrinsic::Atomic(AtomicOp::Add, F32) => FlushBehavior::Any,
        Intrinsic::Atomic(AtomicOp::Exchange, F32) => FlushBehavior::None,
        // A conversion from integers gives zero or a normal float.
        Intrinsic::Convert(I32 | U32 | I64 | U64, F32, _) | Intrinsic::HalfToFloat => FlushBehavior::Any,
        _ if call.signature().has(FLOAT) => FlushBehavior::Keeping,
        _ => FlushBehavior::None,
    }
}

/// Returns whether a constant operand is so large that a subnormal input cannot be distinguished from zero, and the
/// result cannot be subnormal: for a comparison any normal number; for a sum at least 2<sup>-60</sup>, because the
/// result then has no bits below 2<sup>-108</sup>; for a fused multiply-add the product must also have a small
/// factor.
fn hides_subnormals(function: &Function, id: ValueId) -> bool {
    let number = |index: usize| {
        let number = function.number(function.input(id, index));
        number.map(|bits| f32::from_bits(bits as u32).abs())
    };
    let is_large = |index: usize| number(index).is_some_and(|number| number >= 2.0_f32.powi(-60));
    let is_small = |index: usize| number(index).is_some_and(|number| number < 2.0_f32.powi(20));
    match function.op(id) {
        Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => {
            (0..2).any(|index| number(index).is_some_and(f32::is_normal))
        }
        Op::FloatAdd | Op::FloatSub => is_large(0) || is_large(1),
        Op::Call(Intrinsic::Fma(Number::F32, Rounding::Nearest)) => {
            is_large(2) && (is_small(0) || is_small(1))
        }
        _ => false,
    }
}

/// Removes the calls that the option makes unnecessary: around the inputs of an operation, and around its result.
fn take_out(function: &mut Function, behaviors: &ValueMap<FlushBehavior>, id: ValueId) {
    match behaviors[id] {
        FlushBehavior::Flushing | FlushBehavior::Taking | FlushBehavior::Giving | FlushBehavior::Any => {
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                if input != ValueId::NONE && behaviors.get(input) == Some(&FlushBehavior::Flush) {
                    let inner = function.input(input, 0);
                    function.set_input(id, index, inner);
                }
            }
        }
        FlushBehavior::Flush => {
            let inner = function.input(id, 0);
            let mut source = inner;
            while behaviors[source] == FlushBehavior::Sign {
                source = function.input(source, 0);
            }
            if matches!(
                behaviors[source],
                FlushBehavior::Flushing | FlushBehavior::Taking | FlushBehavior::Giving
            ) {
                function.replace(id, inner);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockId, End, NO_ADDRESS, Space};

    /// Builds a sum of two loads; `flushes` says which of both inputs and the result are flushed.
    fn sum(flushes: [bool; 3]) -> (Function, ValueId) {
        let mut function = Function::default();
        let block = function.block(0);
        let flush = Op::Call(Intrinsic::FlushToZero);
        let address = function.raw(Op::Parameter(0), 64, block, NO_ADDRESS, &[]);
        let mut taken = [ValueId::NONE; 2];
        for (input, flushes) in taken.iter_mut().zip(flushes) {
            *input = function.add(Op::Load(Space::Generic), 32, block, NO_ADDRESS, &[address]);
            if flushes {
                *input = function.raw(flush, 32, block, NO_ADDRESS, &[*input]);
            }
        }
        let mut sum = function.raw(Op::FloatAdd, 32, block, NO_ADDRESS, &taken);
        if flushes[2] {
            sum = function.raw(flush, 32, block, NO_ADDRESS, &[sum]);
        }
        let store = function.add(Op::Store(Space::Generic), 0, block, NO_ADDRESS, &[address, sum]);
        function.blocks[BlockId::ENTRY].end = End::Return;
        (function, store)
    }

    #[test]
    fn a_sum_that_flushes_needs_no_calls() {
        let (mut function, store) = sum([true; 3]);
        assert!(run(&mut function));
        let sum = function.input(store, 1);
        assert_eq!(function.op(sum), Op::FloatAdd);
        assert!((0..2).all(|index| matches!(function.op(function.input(sum, index)), Op::Load(_))));
    }

    #[test]
    fn one_sum_that_preserves_subnormals_keeps_all_calls() {
        for flushes in [[true, true, false], [true, false, true], [false; 3]] {
            let (mut function, store) = sum(flushes);
            let before = function.input(store, 1);
            assert!(!run(&mut function));
            assert_eq!(function.input(store, 1), before);
        }
    }
}
