//! Operations that compute with the numbers of one lane of the wave.

use super::code::Code;
use super::fault::Reason;
use super::machine::{Frame, lanes_of};
use super::number::{self, decode, encode};
use unshade_core::half::half_to_double;
use unshade_ir::fold::{masked, signed};
use unshade_ir::shader::{ShaderOp, Signedness};
use unshade_ir::{Op, ValueId};

/// Maximum number of inputs of an operator that works lane by lane.
const MAX_INPUTS: usize = 4;

/// Runs an operation for the active lanes.
pub(super) fn operate(code: &Code<'_>, frame: &mut Frame, id: ValueId, mask: u32) -> Result<(), Reason> {
    match code.function.op(id) {
        Op::Vector => join(code, frame, id, mask),
        Op::Lanes(selected) => {
            let input = code.function.input(id, 0);
            each(code, frame, id, mask, |frame, lane, thread| {
                let from = selected.numbers().get(lane).copied().unwrap_or(0);
                frame.read(code, input, usize::from(from), thread)
            });
        }
        Op::Select => {
            let [condition, yes, no] = [0, 1, 2].map(|index| code.function.input(id, index));
            each(code, frame, id, mask, |frame, lane, thread| {
                let chosen = if frame.read(code, condition, lane, thread) & 1 != 0 { yes } else { no };
                frame.read(code, chosen, lane, thread)
            });
        }
        // The second result of an access: all of it is resident.
        Op::Result(_) => each(code, frame, id, mask, |_, _, _| 1),
        Op::Undefined => {}
        Op::Shader(op) if whole(code, frame, id, op, mask) => {}
        op => return by_lane(code, frame, id, op, mask),
    }
    Ok(())
}

/// Sets each lane of a value in each active lane of the wave.
pub(super) fn each(
    code: &Code<'_>,
    frame: &mut Frame,
    id: ValueId,
    mask: u32,
    compute: impl Fn(&Frame, usize, usize) -> u64,
) {
    let width = code.function.width(id);
    for lane in 0..usize::from(code.function.lanes(id)) {
        for thread in lanes_of(mask) {
            let number = compute(frame, lane, thread);
            // Handles and places have more bits than their width says.
            let number = if width == 32 { number } else { masked(number, width) };
            frame.write(code, id, lane, thread, number);
        }
    }
}

fn join(code: &Code<'_>, frame: &mut Frame, id: ValueId, mask: u32) {
    let mut lane = 0;
    for index in 0..code.function.inputs(id).len() {
        let input = code.function.input(id, index);
        let lanes = if input == ValueId::NONE { 1 } else { usize::from(code.function.lanes(input)) };
        for from in 0..lanes {
            for thread in lanes_of(mask) {
                let number = frame.read(code, input, from, thread);
                frame.write(code, id, lane, thread, number);
            }
            lane += 1;
        }
    }
}

fn by_lane(code: &Code<'_>, frame: &mut Frame, id: ValueId, op: Op, mask: u32) -> Result<(), Reason> {
    let function = code.function;
    let count = function.inputs(id).len().min(MAX_INPUTS);
    let mut inputs = [ValueId::NONE; MAX_INPUTS];
    for (index, input) in inputs.iter_mut().enumerate().take(count) {
        *input = function.input(id, index);
    }
    let width = match inputs[0] {
        ValueId::NONE => 32,
        // Of these, the number is not the first input.
        _ if matches!(op, Op::Shader(ShaderOp::ExtractBits(_) | ShaderOp::InsertBits)) => 32,
        input => function.width(input),
    };
    let out = function.width(id);
    for lane in 0..usize::from(function.lanes(id)) {
        for thread in lanes_of(mask) {
            let mut numbers = [0; MAX_INPUTS];
            for (number, input) in numbers.iter_mut().zip(inputs).take(count) {
                *number = frame.read(code, input, lane, thread);
            }
            let Some(number) = number::operate(op, &numbers[..count], width, out) else {
                return Err(Reason::Unsupported(name(op)));
            };
            frame.write(code, id, lane, thread, number);
        }
    }
    Ok(())
}

/// Returns the name of an operator in messages.
pub(super) fn name(op: Op) -> String {
    match op {
        Op::Shader(op) => op.to_string(),
        op => format!("{op:?}"),
    }
}

/// Runs an operation on whole vectors. Returns whether it is one.
fn whole(code: &Code<'_>, frame: &mut Frame, id: ValueId, op: ShaderOp, mask: u32) -> bool {
    let function = code.function;
    let [a, b, c] = [0, 1, 2].map(|index| function.input(id, index));
    let width = if a == ValueId::NONE { 32 } else { function.width(a) };
    let lanes = |id: ValueId| if id == ValueId::NONE { 1 } else { usize::from(function.lanes(id)) };
    let floats = |frame: &Frame, id: ValueId, thread: usize, count: usize| -> Vec<f64> {
        (0..count).map(|lane| decode(frame.read(code, id, lane, thread), width)).collect()
    };
    let unary = |op: ShaderOp, number: f64| {
        number::operate(Op::Shader(op), &[encode(number, width)], width, width)
            .map_or(0.0, |bits| decode(bits, width))
    };
    match op {
        ShaderOp::Dot => each(code, frame, id, mask, |frame, _, thread| {
            let count = lanes(a).max(lanes(b));
            encode(dot(&floats(frame, a, thread, count), &floats(frame, b, thread, count), width), width)
        }),
        ShaderOp::Length => each(code, frame, id, mask, |frame, _, thread| {
            let vector = floats(frame, a, thread, lanes(a));
            encode(dot(&vector, &vector, width).sqrt(), width)
        }),
        ShaderOp::Normalize => each(code, frame, id, mask, |frame, lane, thread| {
            let vector = floats(frame, a, thread, lanes(a));
            let scale = unary(ShaderOp::ReciprocalSqrt, dot(&vector, &vector, width));
            encode(vector.get(lane).copied().unwrap_or(0.0) * scale, width)
        }),
        ShaderOp::Cross => each(code, frame, id, mask, |frame, lane, thread| {
            let (x, y) = (floats(frame, a, thread, 3), floats(frame, b, thread, 3));
            let (i, j) = ((lane + 1) % 3, (lane + 2) % 3);
            let rounded = |number: f64| decode(encode(number, width), width);
            encode(rounded(x[i] * y[j]) - rounded(x[j] * y[i]), width)
        }),
        ShaderOp::MakeDouble => each(code, frame, id, mask, |frame, lane, thread| {
            frame.read(code, b, lane, thread) << 32 | frame.read(code, a, lane, thread) & 0xffff_ffff
        }),
        ShaderOp::SplitDouble => each(code, frame, id, mask, |frame, lane, thread| {
            let bits = frame.read(code, a, 0, thread);
            if lane == 0 { bits & 0xffff_ffff } else { bits >> 32 }
        }),
        ShaderOp::Dot2Add => each(code, frame, id, mask, |frame, _, thread| {
            let half =
                |id: ValueId| [0, 1].map(|lane| half_to_double(frame.read(code, id, lane, thread) as u16));
            let (x, y) = (half(b), half(c));
            let sum = decode(frame.read(code, a, 0, thread), 32);
            encode(sum + (x[0] * y[0] + x[1] * y[1]), 32)
        }),
        ShaderOp::Unpack(signedness) => each(code, frame, id, mask, |frame, lane, thread| {
            let byte = frame.read(code, a, 0, thread) >> (8 * lane.min(3)) & 0xff;
            match signedness {
                Signedness::Signed => masked(signed(byte, 8).cast_unsigned(), function.width(id)),
                Signedness::Unsigned => byte,
            }
        }),
        ShaderOp::PackTruncate | ShaderOp::PackClamp(_) => each(code, frame, id, mask, |frame, _, thread| {
            (0..4).fold(0, |word, lane| {
                let number = signed(frame.read(code, a, lane, thread), width);
                let byte = match op {
                    ShaderOp::PackClamp(Signedness::Signed) => number.clamp(-128, 127),
                    ShaderOp::PackClamp(Signedness::Unsigned) => number.clamp(0, 255),
                    _ => number,
                };
                word | (byte.cast_unsigned() & 0xff) << (8 * lane)
            })
        }),
        _ => return false,
    }
    true
}

/// Returns the dot product, each product and sum rounded.
fn dot(a: &[f64], b: &[f64], width: u8) -> f64 {
    let rounded = |number: f64| decode(encode(number, width), width);
    let mut products = a.iter().zip(b).map(|(a, b)| rounded(a * b));
    let first = products.next().unwrap_or(0.0);
    products.fold(first, |sum, product| rounded(sum + product))
}
