//! Operations of Metal's library that are none of numbers: whole vectors, memory, atomic operations, barriers.
//!
//! Threads run one at a time, until they wait: so atomic operations need no more than a load and a store. The first two
//! lanes of a matrix of a simdgroup are those of the thread.

use super::code::{Code, Operand, Shape, Step};
use super::fault::Reason;
use super::kind::Kind;
use super::library::{self, Formula, MAX_INPUTS};
use super::machine::{World, count, integer, load, store};
use super::matrix;
use super::memory::Use;
use super::pack;
use super::thread::{Frame, State, Thread};
use unshade_ir::Op;
use unshade_ir::metal::{Class, MetalOp};

/// The most bytes that one step copies or sets.
const MAX_BYTES: u64 = 1 << 26;

/// Number of lanes of a simdgroup.
pub(super) const LANES: usize = 32;

/// Operations for which lanes of a simdgroup wait for each other.
const JOINT: [&str; 2] = ["simd_", "quad_"];

/// Operations of AIR that nothing here does, by the start of their name, with what they are of.
const UNMODELLED: [(&str, &str); 7] = [
    ("dfd", "derivatives"),
    ("fwidth", "derivatives"),
    ("discard_fragment", "fragments"),
    ("sample", "textures"),
    ("gather", "textures"),
    ("read_", "textures"),
    ("write_", "textures"),
];

/// Runs an operation. Returns what the thread does next.
pub(super) fn operate(
    code: &Code,
    world: &mut World,
    thread: &mut Thread,
    step: &Step,
    op: MetalOp,
) -> Result<State, Reason> {
    let stem = op.row().stem;
    match stem {
        "wg.barrier" => return Ok(State::AtBarrier),
        "simdgroup.barrier" | "simdgroup_matrix_8x8_multiply_accumulate" => return Ok(State::WithLanes),
        "atomic.fence" => return Ok(State::Ready),
        _ if JOINT.iter().any(|start| stem.starts_with(start)) => return Ok(State::WithLanes),
        _ => {}
    }
    let index = thread.index;
    let Some(frame) = thread.frames.last_mut() else { return Err(Reason::Unsound) };
    let (out, first) = (step.out, code.input(step, 0));
    match stem {
        "get_simdgroup_size" => frame.write(out, 0, LANES as u64),
        "get_thread_index_in_simdgroup" => frame.write(out, 0, u64::from(index) % LANES as u64),
        "get_thread_index_in_quadgroup" => frame.write(out, 0, u64::from(index) % 4),
        "dot" => {
            let sum = dot(frame, first, code.input(step, 1), out)?;
            frame.write(out, 0, sum);
        }
        "any" | "all" => {
            let mut lanes = (0..first.shape.lanes()).map(|lane| frame.read(first, lane) & 1 != 0);
            let holds = if stem == "any" { lanes.any(|lane| lane) } else { lanes.all(|lane| lane) };
            frame.write(out, 0, u64::from(holds));
        }
        "sincos" | "frexp" | "modf" => parts(code, world, thread, step, stem)?,
        "copy_memory" | "set_memory" => fill(code, world, thread, step, stem)?,
        "is_function_constant_defined" => {
            let found = world.memory.allocation(frame.read(first, 0));
            let is_set = found.is_some_and(|found| found.usage != Use::Unset);
            frame.write(out, 0, u64::from(is_set));
        }
        _ if stem.starts_with("atomic.") => atomic(code, world, thread, step, op)?,
        _ if stem.starts_with("simdgroup_matrix_8x8_") => matrix::operate(code, world, thread, step, stem)?,
        _ if pack::operate(frame, stem, first, out) => {}
        _ => {
            let of = UNMODELLED.iter().find(|row| stem.starts_with(row.0));
            let of = of.map_or(String::new(), |row| format!(", of {}", row.1));
            return Err(Reason::Unmodelled(format!("the function air.{op}{of}")));
        }
    }
    Ok(State::Ready)
}

/// Returns the product of two vectors, from the first lane on, each step rounded.
fn dot(frame: &Frame, a: Operand, b: Operand, out: Operand) -> Result<u64, Reason> {
    let kind = out.shape.kind();
    let product = |lane| combined("product", Class::Plain, kind, frame.read(a, lane), frame.read(b, lane));
    (1..a.shape.lanes())
        .try_fold(product(0)?, |sum, lane| combined("sum", Class::Plain, kind, sum, product(lane)?))
}

/// Runs a function that returns one part of its result and writes the other one to memory.
fn parts(code: &Code, world: &mut World, thread: &mut Thread, step: &Step, stem: &str) -> Result<(), Reason> {
    let (input, to) = (code.input(step, 0), code.input(step, 1));
    let Shape::Lanes(kind, lanes) = input.shape else { return Err(Reason::Unsound) };
    if kind == Kind::Double || !kind.is_float() {
        return Err(Reason::Unmodelled(format!("{stem} of such numbers")));
    }
    let Some(frame) = thread.frames.last_mut() else { return Err(Reason::Unsound) };
    let second = if stem == "frexp" { Kind::Integer(32) } else { kind };
    let size = second.bytes();
    let mut bytes = Vec::new();
    for lane in 0..usize::from(lanes) {
        let x = kind.decode_single(frame.read(input, lane));
        let (result, other) = match stem {
            "sincos" => (x.sin(), kind.encode_single(x.cos())),
            "modf" => {
                let whole = x.trunc();
                let rest = if x.is_infinite() { 0.0 } else { x - whole };
                (rest.copysign(x), kind.encode_single(whole))
            }
            _ => {
                let (fraction, power) = library::split(x);
                (fraction, power.cast_unsigned())
            }
        };
        bytes.extend_from_slice(&other.to_le_bytes()[..size]);
        frame.write(step.out, lane, kind.encode_single(result));
    }
    let address = frame.read(to, 0);
    world.memory.write(&mut thread.locals, address, &bytes)?;
    count(world)
}

/// Copies bytes, or sets them.
fn fill(code: &Code, world: &mut World, thread: &mut Thread, step: &Step, stem: &str) -> Result<(), Reason> {
    let Some(frame) = thread.frames.last() else { return Err(Reason::Unsound) };
    let [to, with, size] = [0, 1, 2].map(|index| frame.read(code.input(step, index), 0));
    if size > MAX_BYTES {
        return Err(Reason::Memory);
    }
    if size == 0 {
        return Ok(());
    }
    let mut bytes = vec![with as u8; size as usize];
    if stem == "copy_memory" {
        world.memory.read(&thread.locals, with, &mut bytes)?;
    }
    world.memory.write(&mut thread.locals, to, &bytes)?;
    count(world)
}

/// Runs an atomic operation: its value is what memory had before.
fn atomic(
    code: &Code,
    world: &mut World,
    thread: &mut Thread,
    step: &Step,
    op: MetalOp,
) -> Result<(), Reason> {
    let stem = &op.row().stem["atomic.".len()..];
    let Thread { frames, locals, .. } = thread;
    let Some(frame) = frames.last_mut() else { return Err(Reason::Unsound) };
    let (pointer, value) = (code.input(step, 0), code.input(step, 1));
    if stem == "load" {
        return load(world, locals, frame, pointer, step.out);
    }
    if stem == "store" {
        return store(world, locals, frame, pointer, value);
    }
    if stem == "cmpxchg.weak" {
        return exchange_if_same(code, world, thread, step);
    }
    let kind = value.shape.kind();
    let size = kind.bytes();
    let address = frame.read(pointer, 0);
    let mut bytes = [0; 8];
    world.memory.read(locals, address, &mut bytes[..size])?;
    let old = u64::from_le_bytes(bytes);
    let new = match stem {
        "xchg" => frame.read(value, 0),
        _ => combined(stem, op.class, kind, old, frame.read(value, 0))?,
    };
    world.memory.write(locals, address, &new.to_le_bytes()[..size])?;
    if step.out.shape.lanes() > 0 {
        frame.write(step.out, 0, old);
    }
    count(world)
}

/// Sets memory to the third input if it has what the second one points to, bit by bit; that becomes what memory had.
fn exchange_if_same(code: &Code, world: &mut World, thread: &mut Thread, step: &Step) -> Result<(), Reason> {
    let Some(frame) = thread.frames.last_mut() else { return Err(Reason::Unsound) };
    let [pointer, expected, desired] = [0, 1, 2].map(|index| code.input(step, index));
    let size = desired.shape.kind().bytes();
    let (address, place) = (frame.read(pointer, 0), frame.read(expected, 0));
    let (mut old, mut wanted) = ([0; 8], [0; 8]);
    world.memory.read(&thread.locals, address, &mut old[..size])?;
    world.memory.read(&thread.locals, place, &mut wanted[..size])?;
    if old == wanted {
        let new = frame.read(desired, 0).to_le_bytes();
        world.memory.write(&mut thread.locals, address, &new[..size])?;
    }
    world.memory.write(&mut thread.locals, place, &old[..size])?;
    if step.out.shape.lanes() > 0 {
        frame.write(step.out, 0, u64::from_le_bytes(old));
    }
    count(world)
}

/// Returns what an operation of two numbers makes: the last word of names of atomic operations and of reductions.
pub(super) fn combined(word: &str, class: Class, kind: Kind, a: u64, b: u64) -> Result<u64, Reason> {
    let mut undefined = super::number::Undefined::default();
    let operator = match (word, kind.is_float()) {
        ("add" | "sum", true) => Op::FloatAdd,
        ("sub", true) => Op::FloatSub,
        ("product", true) => Op::FloatMul,
        ("add" | "sum", false) => Op::Add,
        ("sub", false) => Op::Sub,
        ("product", false) => Op::Mul,
        ("and", _) => Op::And,
        ("or", _) => Op::Or,
        ("xor", _) => Op::Xor,
        ("min" | "max", _) => {
            let formula = MetalOp::by_stem(word, class).and_then(|op| library::formula(op, kind));
            let mut inputs = [0; MAX_INPUTS];
            (inputs[0], inputs[1]) = (a, b);
            return formula
                .and_then(|formula: Formula| {
                    library::operate(formula, class, inputs, [kind; 2], kind, &mut undefined)
                })
                .ok_or_else(|| Reason::Unmodelled(format!("{word} of such numbers")));
        }
        _ => return Err(Reason::Unmodelled(format!("the operation {word}"))),
    };
    let result = super::number::operate(operator, [a, b], kind, kind, &mut undefined)?;
    result.ok_or_else(|| Reason::Unmodelled(format!("the operation {word}")))
}

/// Returns an integer input of a step.
pub(super) fn number(code: &Code, frame: &Frame, step: &Step, index: usize) -> i64 {
    integer(frame, code.input(step, index))
}
