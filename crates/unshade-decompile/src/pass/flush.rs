//! Flushing of subnormal floats: if every operation of a function flushes, no operation is printed with a call.
//!
//! With `-ftz=true` a compiler makes each operation flush: subnormal inputs and results become zeros of the same
//! sign. The front end has a `flush_to_zero` around each of them. If all operations of a function flush, that is how
//! the function was compiled, not what its source says: the calls are removed, and the text names the option.
//!
//! An operation agrees with the option if none of its inputs can be subnormal, and its result only reaches
//! `flush_to_zero`, directly or through selects and sign changes. The hardware's approximate functions flush by
//! themselves. Operations that only move bits agree with everything, and doubles are not flushed.

use crate::ir::{Function, IdVec, Intrinsic, Op, ValueId, ValueMap};

/// How an operation treats subnormal floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlushBehavior {
    /// It does not operate on floats, or only moves them.
    None,
    /// `flush_to_zero`.
    Flush,
    /// With the option, it flushes its inputs and its result.
    Flushing,
    /// It flushes its inputs; its result cannot be subnormal, or is not a float.
    Taking,
    /// It makes no difference, or is unspecified.
    Any,
    /// It only changes the sign.
    Sign,
    /// It preserves subnormal floats even with the option.
    Keeping,
}

/// Functions with float operands or results, by how they are compiled with the option.
static FUNCTIONS: &[(&str, FlushBehavior)] = &[
    ("__cosf", FlushBehavior::Any),
    ("__fadd_rd", FlushBehavior::Flushing),
    ("__fadd_ru", FlushBehavior::Flushing),
    ("__fadd_rz", FlushBehavior::Flushing),
    ("__float2int_rd", FlushBehavior::Taking),
    ("__float2int_rn", FlushBehavior::Any),
    ("__float2int_ru", FlushBehavior::Taking),
    ("__float2int_rz", FlushBehavior::Any),
    ("__float2ll_rd", FlushBehavior::Taking),
    ("__float2ll_rn", FlushBehavior::Any),
    ("__float2ll_ru", FlushBehavior::Taking),
    ("__float2ll_rz", FlushBehavior::Any),
    ("__float2uint_rd", FlushBehavior::Taking),
    ("__float2uint_rn", FlushBehavior::Any),
    ("__float2uint_ru", FlushBehavior::Taking),
    ("__float2uint_rz", FlushBehavior::Any),
    ("__float2ull_rd", FlushBehavior::Taking),
    ("__float2ull_rn", FlushBehavior::Any),
    ("__float2ull_ru", FlushBehavior::Taking),
    ("__float2ull_rz", FlushBehavior::Any),
    ("__fmaf_rd", FlushBehavior::Flushing),
    ("__fmaf_ru", FlushBehavior::Flushing),
    ("__fmaf_rz", FlushBehavior::Flushing),
    ("__fmul_rd", FlushBehavior::Flushing),
    ("__fmul_ru", FlushBehavior::Flushing),
    ("__fmul_rz", FlushBehavior::Flushing),
    ("__log2f", FlushBehavior::Any),
    ("__saturatef", FlushBehavior::Flushing),
    ("__sinf", FlushBehavior::Any),
    ("atomicAdd.f", FlushBehavior::Any),
    ("atomicExch.f", FlushBehavior::None),
    ("ceilf", FlushBehavior::Taking),
    ("exp2f", FlushBehavior::Any),
    ("float_to_half", FlushBehavior::Any),
    ("floorf", FlushBehavior::Taking),
    ("flush_to_zero", FlushBehavior::Flush),
    ("fmaf", FlushBehavior::Flushing),
    ("fmaxf", FlushBehavior::Taking),
    ("fminf", FlushBehavior::Taking),
    ("rintf", FlushBehavior::Taking),
    ("rsqrtf", FlushBehavior::Any),
    ("truncf", FlushBehavior::Taking),
];

/// Removes the calls if all operations agree. Returns whether they do.
pub fn run(function: &mut Function) -> bool {
    let flush = Intrinsic::by_name("flush_to_zero").map(Op::Call);
    if !function.values.iter().any(|value| Some(value.op) == flush) {
        return false;
    }
    let used = super::used(function);
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
        Op::Call(call) if hides_subnormals(function, id) && call.result() == b'f' => FlushBehavior::Any,
        // Directed rounding turns a subnormal float into the smallest half.
        Op::Call(call)
            if call.entry().name == "float_to_half"
                && !matches!(function.number(function.input(id, 1)), Some(0 | 3)) =>
        {
            FlushBehavior::Keeping
        }
        Op::Call(call) => called(call),
        Op::FloatConvert if inputs == 32 => FlushBehavior::Taking,
        Op::FloatConvert => FlushBehavior::Flushing,
        _ if inputs != 32 => FlushBehavior::None,
        _ if hides_subnormals(function, id) => FlushBehavior::Any,
        Op::FloatNegate | Op::FloatAbs => FlushBehavior::Sign,
        // Reciprocals of values that may be subnormal only come from the hardware's approximation.
        Op::FloatDiv if function.number(function.input(id, 0)) == Some(0x3f80_0000) => FlushBehavior::Any,
        Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv | Op::FloatSqrt => FlushBehavior::Flushing,
        Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => FlushBehavior::Taking,
        Op::FloatNan | Op::SignedToFloat | Op::UnsignedToFloat => FlushBehavior::Any,
        _ => FlushBehavior::None,
    }
}

fn called(call: Intrinsic) -> FlushBehavior {
    let entry = call.entry();
    if let Ok(at) = FUNCTIONS.binary_search_by_key(&entry.name, |function| function.0) {
        return FUNCTIONS[at].1;
    }
    match entry.types.strip_prefix('f') {
        // A conversion from integers gives zero or a normal float.
        Some(inputs) if inputs.bytes().all(|letter| matches!(letter, b'u' | b'i' | b'U' | b'I')) => {
            FlushBehavior::Any
        }
        _ if entry.types.contains('f') => FlushBehavior::Keeping,
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
        Op::Call(call) if call.entry().name == "fmaf" => is_large(2) && (is_small(0) || is_small(1)),
        _ => false,
    }
}

/// Removes the calls that the option makes unnecessary: around the inputs of an operation, and around its result.
fn take_out(function: &mut Function, behaviors: &ValueMap<FlushBehavior>, id: ValueId) {
    match behaviors[id] {
        FlushBehavior::Flushing | FlushBehavior::Taking | FlushBehavior::Any => {
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
            if matches!(behaviors[source], FlushBehavior::Flushing | FlushBehavior::Taking) {
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

    #[test]
    fn functions_are_sorted_and_known() {
        assert!(FUNCTIONS.is_sorted_by_key(|entry| entry.0));
        assert!(FUNCTIONS.iter().all(|entry| Intrinsic::by_name(entry.0).is_some()));
    }

    /// Builds a sum of two loads; `flushes` says which of both inputs and the result are flushed.
    fn sum(flushes: [bool; 3]) -> (Function, ValueId) {
        let mut function = Function::default();
        let block = function.block(0);
        let flush = Op::Call(Intrinsic::by_name("flush_to_zero").unwrap());
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
