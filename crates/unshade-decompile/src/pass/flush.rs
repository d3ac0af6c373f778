//! Floats that are too small to be normal: where every operation of a function takes them for zero, none says so.
//!
//! A compiler that is told to (`-ftz=true`) makes each operation flush: subnormal inputs and results are zeros of the same
//! sign. The front end has a `flush_to_zero` around each of them. When all operations of a function do so, this is how the
//! function is compiled and not what its source says: the calls go, and the text names the option.
//!
//! An operation agrees with the option if no input of it can be subnormal, and its result goes nowhere but to
//! `flush_to_zero`, straight or through choices and signs. The chip's approximate functions flush by themselves. What only
//! moves bits agrees with everything, and doubles are not flushed.

use crate::ir::{Function, Id, Intrinsic, NONE, Op};

/// How an operation takes subnormal floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It has nothing to do with floats, or moves them.
    None,
    /// `flush_to_zero`.
    Flush,
    /// Under the option it flushes inputs and result.
    Flushing,
    /// It flushes its inputs; its result can't be subnormal, or is no float.
    Taking,
    /// It makes no difference to it, or is left open.
    Any,
    /// It changes a sign: what goes in comes out.
    Sign,
    /// It keeps what is subnormal, whatever the option says.
    Keeping,
}

/// Functions that take or give floats, by how they are compiled with the option.
static FUNCTIONS: &[(&str, Kind)] = &[
    ("__cosf", Kind::Any),
    ("__fadd_rd", Kind::Flushing),
    ("__fadd_ru", Kind::Flushing),
    ("__fadd_rz", Kind::Flushing),
    ("__float2int_rd", Kind::Taking),
    ("__float2int_rn", Kind::Any),
    ("__float2int_ru", Kind::Taking),
    ("__float2int_rz", Kind::Any),
    ("__float2ll_rd", Kind::Taking),
    ("__float2ll_rn", Kind::Any),
    ("__float2ll_ru", Kind::Taking),
    ("__float2ll_rz", Kind::Any),
    ("__float2uint_rd", Kind::Taking),
    ("__float2uint_rn", Kind::Any),
    ("__float2uint_ru", Kind::Taking),
    ("__float2uint_rz", Kind::Any),
    ("__float2ull_rd", Kind::Taking),
    ("__float2ull_rn", Kind::Any),
    ("__float2ull_ru", Kind::Taking),
    ("__float2ull_rz", Kind::Any),
    ("__fmaf_rd", Kind::Flushing),
    ("__fmaf_ru", Kind::Flushing),
    ("__fmaf_rz", Kind::Flushing),
    ("__fmul_rd", Kind::Flushing),
    ("__fmul_ru", Kind::Flushing),
    ("__fmul_rz", Kind::Flushing),
    ("__log2f", Kind::Any),
    ("__saturatef", Kind::Flushing),
    ("__sinf", Kind::Any),
    ("atomicAdd.f", Kind::Any),
    ("atomicExch.f", Kind::None),
    ("ceilf", Kind::Taking),
    ("exp2f", Kind::Any),
    ("float_to_half", Kind::Any),
    ("floorf", Kind::Taking),
    ("flush_to_zero", Kind::Flush),
    ("fmaf", Kind::Flushing),
    ("fmaxf", Kind::Taking),
    ("fminf", Kind::Taking),
    ("rintf", Kind::Taking),
    ("rsqrtf", Kind::Any),
    ("truncf", Kind::Taking),
];

/// Takes the calls out if all operations agree; whether they did.
pub fn run(function: &mut Function) -> bool {
    let flush = Intrinsic::by_name("flush_to_zero").map(Op::Call);
    if !function.values.iter().any(|value| Some(value.op) == flush) {
        return false;
    }
    let used = super::used(function);
    let values: Vec<Id> = (0..function.values.len() as Id).filter(|id| used[*id as usize]).collect();
    let kinds: Vec<Kind> = (0..function.values.len() as Id).map(|id| kind(function, id)).collect();
    if !values.iter().any(|id| kinds[*id as usize] == Kind::Flush) {
        return false;
    }
    let is_flushed = flushed(function, &values, &kinds);
    let agrees = |id: Id| {
        let inputs_are_clean =
            || (0..function.inputs(id).len()).all(|index| is_clean(function, &kinds, id, index));
        match kinds[id as usize] {
            Kind::Keeping => false,
            Kind::Flushing => is_flushed[id as usize] && inputs_are_clean(),
            Kind::Taking => inputs_are_clean(),
            Kind::Sign => is_flushed[id as usize] || inputs_are_clean(),
            Kind::None | Kind::Any | Kind::Flush => true,
        }
    };
    if !values.iter().all(|id| agrees(*id)) {
        return false;
    }
    for id in values {
        take_out(function, &kinds, id);
    }
    function.settle();
    true
}

/// Values that end in `flush_to_zero`, or in an operation that flushes what it takes, whichever way they go.
fn flushed(function: &Function, values: &[Id], kinds: &[Kind]) -> Vec<bool> {
    let mut flushed = vec![true; function.values.len()];
    for block in &function.blocks {
        if let Some(input) = block.end.input() {
            flushed[function.resolve(input) as usize] = false;
        }
    }
    // What is not flushed goes up, until nothing changes.
    let passes =
        |id: Id| matches!(function.op(id), Op::Phi | Op::Select) || matches!(kinds[id as usize], Kind::Sign);
    let mut changed = true;
    while changed {
        changed = false;
        for &id in values.iter().rev() {
            let is_end = kinds[id as usize] == Kind::Flush || passes(id) && flushed[id as usize];
            if is_end {
                continue;
            }
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                if input != NONE {
                    changed |= std::mem::replace(&mut flushed[input as usize], false);
                }
            }
        }
    }
    flushed
}

/// Whether an input can't be a subnormal float.
fn is_clean(function: &Function, kinds: &[Kind], id: Id, index: usize) -> bool {
    let mut input = function.input(id, index);
    if input == NONE || function.width(input) != 32 || !function.op(id).takes_float(index) {
        return true;
    }
    while kinds[input as usize] == Kind::Sign {
        input = function.input(input, 0);
    }
    match function.op(input) {
        Op::Constant(bits) => !f32::from_bits(bits as u32).is_subnormal(),
        _ => matches!(kinds[input as usize], Kind::Flush | Kind::Any | Kind::Taking),
    }
}

/// How an operation takes subnormal floats.
fn kind(function: &Function, id: Id) -> Kind {
    let op = function.op(id);
    let inputs = function.inputs(id).first().map_or(0, |_| function.width(function.input(id, 0)));
    match op {
        Op::Call(call) if hides_subnormals(function, id) && call.result() == b'f' => Kind::Any,
        // Rounded up or down, a subnormal float is the smallest half.
        Op::Call(call)
            if call.entry().name == "float_to_half"
                && !matches!(function.number(function.input(id, 1)), Some(0 | 3)) =>
        {
            Kind::Keeping
        }
        Op::Call(call) => called(call),
        Op::FloatConvert if inputs == 32 => Kind::Taking,
        Op::FloatConvert => Kind::Flushing,
        _ if inputs != 32 => Kind::None,
        _ if hides_subnormals(function, id) => Kind::Any,
        Op::FloatNegate | Op::FloatAbs => Kind::Sign,
        // Nothing but the chip's approximation gives a reciprocal of what may be subnormal.
        Op::FloatDiv if function.number(function.input(id, 0)) == Some(0x3f80_0000) => Kind::Any,
        Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv | Op::FloatSqrt => Kind::Flushing,
        Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => Kind::Taking,
        Op::FloatNan | Op::SignedToFloat | Op::UnsignedToFloat => Kind::Any,
        _ => Kind::None,
    }
}

fn called(call: Intrinsic) -> Kind {
    let entry = call.entry();
    if let Ok(at) = FUNCTIONS.binary_search_by_key(&entry.name, |function| function.0) {
        return FUNCTIONS[at].1;
    }
    match entry.types.strip_prefix('f') {
        // What is made of integers is a zero or normal.
        Some(inputs) if inputs.bytes().all(|letter| matches!(letter, b'u' | b'i' | b'U' | b'I')) => Kind::Any,
        _ if entry.types.contains('f') => Kind::Keeping,
        _ => Kind::None,
    }
}

/// Whether a number in it is so large that neither can a subnormal input be told from zero, nor the result be subnormal: in
/// a comparison any normal number; in a sum one of at least 2<sup>-60</sup>, for what is left of it has no bits below
/// 2<sup>-108</sup>; in a fused sum the product must have a small factor, too.
fn hides_subnormals(function: &Function, id: Id) -> bool {
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

/// Takes the calls out that the option makes needless: around what an operation takes, and around what one gives.
fn take_out(function: &mut Function, kinds: &[Kind], id: Id) {
    match kinds[id as usize] {
        Kind::Flushing | Kind::Taking | Kind::Any => {
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                if input != NONE && kinds.get(input as usize) == Some(&Kind::Flush) {
                    let inner = function.input(input, 0);
                    function.set_input(id, index, inner);
                }
            }
        }
        Kind::Flush => {
            let inner = function.input(id, 0);
            let mut source = inner;
            while kinds[source as usize] == Kind::Sign {
                source = function.input(source, 0);
            }
            if matches!(kinds[source as usize], Kind::Flushing | Kind::Taking) {
                function.replace(id, inner);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{End, Space};

    #[test]
    fn functions_are_sorted_and_known() {
        assert!(FUNCTIONS.is_sorted_by_key(|entry| entry.0));
        assert!(FUNCTIONS.iter().all(|entry| Intrinsic::by_name(entry.0).is_some()));
    }

    /// A sum of two loads; which of both inputs and the result are flushed.
    fn sum(flushes: [bool; 3]) -> (Function, Id) {
        let mut function = Function::default();
        let block = function.block(0);
        let flush = Op::Call(Intrinsic::by_name("flush_to_zero").unwrap());
        let address = function.raw(Op::Parameter(0), 64, block, NONE, &[]);
        let mut taken = [NONE; 2];
        for (input, flushes) in taken.iter_mut().zip(flushes) {
            *input = function.add(Op::Load(Space::Generic), 32, block, NONE, &[address]);
            if flushes {
                *input = function.raw(flush, 32, block, NONE, &[*input]);
            }
        }
        let mut sum = function.raw(Op::FloatAdd, 32, block, NONE, &taken);
        if flushes[2] {
            sum = function.raw(flush, 32, block, NONE, &[sum]);
        }
        let store = function.add(Op::Store(Space::Generic), 0, block, NONE, &[address, sum]);
        function.blocks[0].end = End::Return;
        (function, store)
    }

    #[test]
    fn a_sum_that_flushes_is_a_sum() {
        let (mut function, store) = sum([true; 3]);
        assert!(run(&mut function));
        let sum = function.input(store, 1);
        assert_eq!(function.op(sum), Op::FloatAdd);
        assert!((0..2).all(|index| matches!(function.op(function.input(sum, index)), Op::Load(_))));
    }

    #[test]
    fn one_that_keeps_what_is_small_keeps_all_calls() {
        for flushes in [[true, true, false], [true, false, true], [false; 3]] {
            let (mut function, store) = sum(flushes);
            let before = function.input(store, 1);
            assert!(!run(&mut function));
            assert_eq!(function.input(store, 1), before);
        }
    }
}
