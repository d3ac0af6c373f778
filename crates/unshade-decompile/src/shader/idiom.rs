//! Functions of the language that compilers expand.
//!
//! | code | meaning |
//! |---|---|
//! | `exp2(y * log2(x))` | `pow(x, y)` |
//! | `log2(x) * ln(2)`, `log2(x) * log10(2)` | `log(x)`, `log10(x)` |
//! | `exp2(x * log2(e))` | `exp(x)` |
//! | `zeros == -1 ? -1 : 31 - zeros` of leading zeros | `firstbithigh(x)` |
//! | `v * rsqrt(dot(v, v))` | `normalize(v)` |
//! | `sqrt(dot(v, v))` | `length(v)` |
//!
//! Source: what FXC and DXC 1.6 to 1.10 write for these functions.

use crate::ir::shader::ShaderOp;
use crate::ir::{Function, Op, ValueId};

/// Natural logarithm of two, base-ten logarithm of two, and base-two logarithm of e, as bits of floats.
const LN_2: u64 = 0x3f31_7218;
const LOG10_2: u64 = 0x3e9a_209b;
const LOG2_E: u64 = 0x3fb8_aa3b;

/// Runs the pass on scalars.
pub fn run(function: &mut Function) {
    for id in function.values.keys().collect::<Vec<_>>() {
        if function.is_replaced(id) {
            continue;
        }
        match function.op(id) {
            Op::FloatMul => scaled_log(function, id),
            Op::Shader(ShaderOp::Exp2) => exponential(function, id),
            Op::Select => first_bit(function, id),
            _ => {}
        }
    }
    function.settle();
}

fn is_shader(function: &Function, id: ValueId, op: ShaderOp) -> bool {
    function.op(id) == Op::Shader(op)
}

/// Returns whether a value is a float constant with these bits, give or take the last one.
fn is_float(function: &Function, id: ValueId, bits: u64) -> bool {
    function.width(id) == 32 && function.number(id).is_some_and(|number| number.abs_diff(bits) <= 1)
}

/// Splits a product so that a test holds for the first factor.
fn factors(
    function: &Function,
    product: ValueId,
    is_first: impl Fn(ValueId) -> bool,
) -> Option<(ValueId, ValueId)> {
    if function.op(product) != Op::FloatMul {
        return None;
    }
    let (a, b) = (function.input(product, 0), function.input(product, 1));
    if is_first(a) {
        Some((a, b))
    } else if is_first(b) {
        Some((b, a))
    } else {
        None
    }
}

fn scaled_log(function: &mut Function, id: ValueId) {
    let Some((log, scale)) = factors(function, id, |factor| is_shader(function, factor, ShaderOp::Log2))
    else {
        return;
    };
    let op = if is_float(function, scale, LN_2) {
        ShaderOp::Log
    } else if is_float(function, scale, LOG10_2) {
        ShaderOp::Log10
    } else {
        return;
    };
    let input = function.input(log, 0);
    function.set_op(id, Op::Shader(op), &[input]);
}

fn exponential(function: &mut Function, id: ValueId) {
    let product = function.input(id, 0);
    if let Some((_, exponent)) = factors(function, product, |factor| is_float(function, factor, LOG2_E)) {
        return function.set_op(id, Op::Shader(ShaderOp::Exp), &[exponent]);
    }
    let found = factors(function, product, |factor| is_shader(function, factor, ShaderOp::Log2));
    if let Some((log, exponent)) = found {
        let base = function.input(log, 0);
        function.set_op(id, Op::Shader(ShaderOp::Power), &[base, exponent]);
    }
}

/// Recognises a number of a bit from the bottom in a selection between -1 and 31 minus leading zeros.
fn first_bit(function: &mut Function, id: ValueId) {
    let [condition, yes, no] = [0, 1, 2].map(|index| function.input(id, index));
    let is_minus_one =
        |id: ValueId| function.number(id) == Some(crate::ir::fold::masked(u64::MAX, function.width(id)));
    let (test, difference) = match function.op(condition) {
        Op::Equal if is_minus_one(yes) => (condition, no),
        Op::NotEqual if is_minus_one(no) => (condition, yes),
        _ => return,
    };
    if function.op(difference) != Op::Sub {
        return;
    }
    let zeros = function.input(difference, 1);
    let counted = function.inputs(zeros).first().map_or(32, |input| function.width(function.resolve(*input)));
    if function.number(function.input(difference, 0)) != Some(u64::from(counted) - 1) {
        return;
    }
    let compared = [function.input(test, 0), function.input(test, 1)];
    let is_same = compared.contains(&zeros) && compared.iter().any(|id| is_minus_one(*id));
    // Zero has no bits: the comparison may be of the number itself.
    let is_zero =
        function.inputs(zeros).first().is_some_and(|input| compared.contains(&function.resolve(*input)))
            && compared.iter().any(|id| function.number(*id) == Some(0));
    if !is_same && !is_zero {
        return;
    }
    let op = match function.op(zeros) {
        Op::Shader(ShaderOp::LeadingZeros) => ShaderOp::FirstBitHighUnsigned,
        Op::Shader(ShaderOp::LeadingSigns) => ShaderOp::FirstBitHighSigned,
        _ => return,
    };
    let input = function.input(zeros, 0);
    function.set_op(id, Op::Shader(op), &[input]);
}

/// Runs the part of the pass that concerns vectors.
pub fn run_on_vectors(function: &mut Function) {
    for id in function.values.keys().collect::<Vec<_>>() {
        if function.is_replaced(id) {
            continue;
        }
        match function.op(id) {
            Op::FloatMul => normalized(function, id),
            Op::FloatSqrt => {
                if let Some(vector) = squared(function, function.input(id, 0)) {
                    function.set_op(id, Op::Shader(ShaderOp::Length), &[vector]);
                }
            }
            _ => {}
        }
    }
    function.settle();
}

/// Returns the vector whose dot product with itself a value is.
fn squared(function: &Function, id: ValueId) -> Option<ValueId> {
    let (a, b) = (function.input_or_self(id, 0), function.input_or_self(id, 1));
    let is_dot = is_shader(function, id, ShaderOp::Dot) && (a == b || is_equal_lanes(function, a, b));
    (is_dot && function.lanes(a) > 1).then_some(a)
}

/// Returns whether two values select the same lanes of the same vector.
fn is_equal_lanes(function: &Function, a: ValueId, b: ValueId) -> bool {
    matches!(function.op(a), Op::Lanes(_))
        && function.op(a) == function.op(b)
        && function.input(a, 0) == function.input(b, 0)
}

fn normalized(function: &mut Function, id: ValueId) {
    let root = |id: ValueId| match function.op(id) {
        Op::Shader(ShaderOp::ReciprocalSqrt) => squared(function, function.input(id, 0)),
        _ => None,
    };
    let (a, b) = (function.input(id, 0), function.input(id, 1));
    let found = match (root(a), root(b)) {
        (Some(vector), _) if vector == b || is_equal_lanes(function, vector, b) => vector,
        (_, Some(vector)) if vector == a || is_equal_lanes(function, vector, a) => vector,
        _ => return,
    };
    if function.lanes(found) == function.lanes(id) {
        function.set_op(id, Op::Shader(ShaderOp::Normalize), &[found]);
    }
}
