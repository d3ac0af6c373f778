//! Operations that exchange numbers between the lanes of a wave or of a quad.
//!
//! Reads of inactive lanes are 0, and so are derivatives with an inactive neighbour. Reductions go by the number of the
//! lane.

use super::code::Code;
use super::lanewise::each;
use super::machine::{Frame, LANES, lanes_of};
use super::number::{self, decode, encode};
use unshade_ir::fold::masked;
use unshade_ir::shader::data_type::ScalarKind;
use unshade_ir::shader::{NumberKind, QuadDirection, ShaderOp, WaveOp};
use unshade_ir::{Op, ValueId};

/// Runs an operation. Returns whether it is one of these.
pub(super) fn operate(code: &Code<'_>, frame: &mut Frame, id: ValueId, op: ShaderOp, mask: u32) -> bool {
    let function = code.function;
    let [value, second] = [0, 1].map(|index| function.input(id, index));
    let width = if value == ValueId::NONE { 32 } else { function.width(value) };
    let read = |frame: &Frame, lane: usize, thread: usize| match mask >> (thread & 31) & 1 {
        1 if thread < LANES => frame.read(code, value, lane, thread),
        _ => 0,
    };
    let holds = |frame: &Frame| {
        lanes_of(mask)
            .filter(|thread| read(frame, 0, *thread) & 1 != 0)
            .fold(0_u32, |set, lane| set | 1 << lane)
    };
    let below = |thread: usize| (1_u32 << thread) - 1;
    let first = mask.trailing_zeros() as usize;
    match op {
        ShaderOp::WaveIsFirstLane => each(code, frame, id, mask, |_, _, thread| u64::from(thread == first)),
        ShaderOp::WaveLaneIndex => each(code, frame, id, mask, |_, _, thread| thread as u64),
        ShaderOp::WaveLaneCount => each(code, frame, id, mask, |_, _, _| LANES as u64),
        ShaderOp::WaveAnyTrue => each(code, frame, id, mask, |frame, _, _| u64::from(holds(frame) != 0)),
        ShaderOp::WaveAllTrue => each(code, frame, id, mask, |frame, _, _| u64::from(holds(frame) == mask)),
        ShaderOp::WaveBallot => {
            each(code, frame, id, mask, |frame, lane, _| if lane == 0 { u64::from(holds(frame)) } else { 0 });
        }
        ShaderOp::WaveCountBits => {
            each(code, frame, id, mask, |frame, _, _| u64::from(holds(frame).count_ones()));
        }
        ShaderOp::WavePrefixCountBits => each(code, frame, id, mask, |frame, _, thread| {
            u64::from((holds(frame) & below(thread)).count_ones())
        }),
        ShaderOp::WaveMultiPrefixCountBits => each(code, frame, id, mask, |frame, _, thread| {
            let chosen = frame.read(code, second, 0, thread) as u32;
            u64::from((holds(frame) & chosen & below(thread)).count_ones())
        }),
        ShaderOp::WaveAllEqual(kind) => each(code, frame, id, mask, |frame, lane, _| {
            let is_equal = |thread| equal(kind, width, read(frame, lane, thread), read(frame, lane, first));
            u64::from(lanes_of(mask).all(is_equal))
        }),
        ShaderOp::WaveMatch(kind) => each(code, frame, id, mask, |frame, lane, thread| {
            let lanes = usize::from(function.lanes(value));
            let is_same = |other: &usize| {
                (0..lanes)
                    .all(|lane| equal(kind, width, read(frame, lane, *other), read(frame, lane, thread)))
            };
            let set = lanes_of(mask).filter(is_same).fold(0_u64, |set, lane| set | 1 << lane);
            if lane == 0 { set } else { 0 }
        }),
        ShaderOp::WaveReadLaneFirst => each(code, frame, id, mask, |frame, lane, _| read(frame, lane, first)),
        ShaderOp::WaveReadLaneAt => each(code, frame, id, mask, |frame, lane, thread| {
            let from = frame.read(code, second, 0, thread) as usize;
            if from < LANES { read(frame, lane, from) } else { 0 }
        }),
        ShaderOp::QuadReadLaneAt => each(code, frame, id, mask, |frame, lane, thread| {
            let from = frame.read(code, second, 0, thread) as usize & 3;
            read(frame, lane, thread & !3 | from)
        }),
        ShaderOp::QuadRead(direction) => each(code, frame, id, mask, |frame, lane, thread| {
            let other = match direction {
                QuadDirection::X => 1,
                QuadDirection::Y => 2,
                QuadDirection::Diagonal => 3,
            };
            read(frame, lane, thread ^ other)
        }),
        ShaderOp::QuadAny | ShaderOp::QuadAll => each(code, frame, id, mask, |frame, _, thread| {
            let mut quad = (0..4).map(|lane| thread & !3 | lane).filter(|thread| mask >> thread & 1 != 0);
            let is_true = |thread: usize| read(frame, 0, thread) & 1 != 0;
            u64::from(if op == ShaderOp::QuadAny { quad.any(is_true) } else { quad.all(is_true) })
        }),
        ShaderOp::WaveReduce(reduction, kind) => {
            let kind = scalar_kind(kind);
            reduce(
                code,
                frame,
                id,
                mask,
                |_| mask,
                |frame, lane, thread| read(frame, lane, thread),
                reduction,
                kind,
            );
        }
        ShaderOp::WavePrefix(reduction, kind) => {
            let kind = scalar_kind(kind);
            reduce(
                code,
                frame,
                id,
                mask,
                |thread| mask & below(thread),
                |frame, lane, thread| read(frame, lane, thread),
                reduction,
                kind,
            );
        }
        ShaderOp::WaveMultiPrefix(reduction, kind) => {
            let kind = scalar_kind(kind);
            let chosen: Vec<u32> =
                (0..LANES).map(|thread| frame.read(code, second, 0, thread) as u32).collect();
            let set = |thread: usize| mask & below(thread) & chosen[thread];
            reduce(
                code,
                frame,
                id,
                mask,
                set,
                |frame, lane, thread| read(frame, lane, thread),
                reduction,
                kind,
            );
        }
        ShaderOp::DerivativeXCoarse
        | ShaderOp::DerivativeYCoarse
        | ShaderOp::DerivativeXFine
        | ShaderOp::DerivativeYFine => {
            each(code, frame, id, mask, |frame, lane, thread| {
                let is_x = matches!(op, ShaderOp::DerivativeXCoarse | ShaderOp::DerivativeXFine);
                let is_fine = matches!(op, ShaderOp::DerivativeXFine | ShaderOp::DerivativeYFine);
                encode(derivative(code, frame, value, (lane, thread), (is_x, is_fine), mask), width)
            });
        }
        _ => return false,
    }
    true
}

/// Returns the difference to a neighbour in the quad: along x or y, the same for the quad or for this row or column.
pub(super) fn derivative(
    code: &Code<'_>,
    frame: &Frame,
    value: ValueId,
    (lane, thread): (usize, usize),
    (is_x, is_fine): (bool, bool),
    mask: u32,
) -> f64 {
    let step = if is_x { 1 } else { 2 };
    let low = if is_fine { thread & !step } else { thread & !3 };
    let high = low | step;
    if mask >> low & 1 == 0 || mask >> high & 1 == 0 {
        return 0.0;
    }
    let width = code.function.width(value);
    let [low, high] = [low, high].map(|thread| decode(frame.read(code, value, lane, thread), width));
    decode(encode(high - low, width), width)
}

/// Returns whether two numbers are equal: floats as such.
fn equal(kind: NumberKind, width: u8, a: u64, b: u64) -> bool {
    match kind {
        NumberKind::Float => decode(a, width) == decode(b, width),
        NumberKind::Signed | NumberKind::Unsigned => a == b,
    }
}

fn scalar_kind(kind: NumberKind) -> ScalarKind {
    match kind {
        NumberKind::Signed => ScalarKind::Signed,
        NumberKind::Unsigned => ScalarKind::Unsigned,
        NumberKind::Float => ScalarKind::Float,
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of a reduction")]
fn reduce(
    code: &Code<'_>,
    frame: &mut Frame,
    id: ValueId,
    mask: u32,
    set: impl Fn(usize) -> u32,
    read: impl Fn(&Frame, usize, usize) -> u64,
    op: WaveOp,
    kind: ScalarKind,
) {
    let width = code.function.width(id);
    each(code, frame, id, mask, |frame, lane, thread| {
        let mut numbers = lanes_of(set(thread)).map(|thread| read(frame, lane, thread));
        let first = match (op, numbers.next()) {
            (_, Some(first)) => first,
            (op, None) => return neutral(op, kind, width),
        };
        numbers.fold(first, |a, b| combined(op, kind, width, a, b))
    });
}

/// Returns the number that changes nothing.
fn neutral(op: WaveOp, kind: ScalarKind, width: u8) -> u64 {
    let top = 1_u64 << (width.max(1) - 1);
    match (op, kind) {
        (WaveOp::Sum | WaveOp::Or | WaveOp::Xor, _) => 0,
        (WaveOp::And, _) => masked(u64::MAX, width),
        (WaveOp::Product, ScalarKind::Float) => encode(1.0, width),
        (WaveOp::Product, _) => 1,
        (WaveOp::Min, ScalarKind::Float) => encode(f64::INFINITY, width),
        (WaveOp::Max, ScalarKind::Float) => encode(f64::NEG_INFINITY, width),
        (WaveOp::Min, ScalarKind::Signed) => top - 1,
        (WaveOp::Max, ScalarKind::Signed) => top,
        (WaveOp::Min, _) => masked(u64::MAX, width),
        (WaveOp::Max, _) => 0,
    }
}

fn combined(op: WaveOp, kind: ScalarKind, width: u8, a: u64, b: u64) -> u64 {
    let is_float = kind == ScalarKind::Float;
    let is_signed = kind == ScalarKind::Signed;
    let operator = match op {
        WaveOp::Sum => {
            if is_float {
                Op::FloatAdd
            } else {
                Op::Add
            }
        }
        WaveOp::Product => {
            if is_float {
                Op::FloatMul
            } else {
                Op::Mul
            }
        }
        WaveOp::And => Op::And,
        WaveOp::Or => Op::Or,
        WaveOp::Xor => Op::Xor,
        WaveOp::Min if is_float => Op::Shader(ShaderOp::FloatMin),
        WaveOp::Max if is_float => Op::Shader(ShaderOp::FloatMax),
        WaveOp::Min if is_signed => Op::Shader(ShaderOp::SignedMin),
        WaveOp::Max if is_signed => Op::Shader(ShaderOp::SignedMax),
        WaveOp::Min => Op::Shader(ShaderOp::UnsignedMin),
        WaveOp::Max => Op::Shader(ShaderOp::UnsignedMax),
    };
    number::operate(operator, &[a, b], width, width).unwrap_or(0)
}
