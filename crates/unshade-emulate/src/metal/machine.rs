//! The machine: runs the steps of a thread until it ends or waits for others.

use super::code::{Action, Code, Exit, Operand, Shape, Step};
use super::fault::Reason;
use super::kind::Kind;
use super::library::{self, MAX_INPUTS};
use super::memory::{Locals, Memory};
use super::number::{self, Undefined};
use super::record;
use super::thread::{Frame, State, Thread};
use crate::shader::fault::Budget;
use crate::trace::Recorder;
use std::cell::RefCell;
use unshade_ir::fold::{masked, signed};

/// The most bytes of a vector in memory: those of a matrix of a simdgroup.
const MAX_VECTOR: usize = 512;

/// What all threads share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) memory: Memory,
    pub(super) budget: Budget,
    pub(super) undefined: Undefined,
    /// The recorder of a thread, if there is one.
    pub(super) recorder: Option<Box<Recorder>>,
    /// Bytes around buffers that count already.
    pub(super) counted: u64,
}

/// What follows a step.
enum Next {
    Step,
    Call(usize),
    Wait(State),
}

/// Runs a thread until it ends or waits, and records it if that is asked for.
pub(super) fn run(codes: &[Code], world: &mut World, thread: &mut Thread) -> Result<(), Reason> {
    let is_recorded = world.recorder.as_ref().is_some_and(|recorder| recorder.is_of(thread.index));
    if !is_recorded {
        return run_steps(codes, world, thread, false);
    }
    world.memory.log = Some(RefCell::default());
    record::resume(codes, world, thread);
    let result = run_steps(codes, world, thread, true);
    world.memory.log = None;
    result
}

fn run_steps(
    codes: &[Code],
    world: &mut World,
    thread: &mut Thread,
    is_recorded: bool,
) -> Result<(), Reason> {
    loop {
        let Some(frame) = thread.frames.last_mut() else {
            thread.state = State::Done;
            return Ok(());
        };
        let Some(code) = codes.get(frame.function) else { return Err(Reason::Unsound) };
        let Some(block) = code.blocks.get(frame.block as usize) else { return Err(Reason::Unsound) };
        world.budget.step()?;
        let Some(step) = block.steps.get(frame.step) else {
            if leave_block(code, frame, &block.exit)? {
                leave(world, thread);
            }
            if let Some(recorder) = world.recorder.as_mut().filter(|_| is_recorded) {
                recorder.end_step();
            }
            continue;
        };
        frame.step += 1;
        let function = frame.function;
        let next = operate(code, world, thread, step)?;
        if is_recorded {
            record::step(function, world, thread, step);
        }
        match next {
            Next::Step => {}
            Next::Call(function) => call(codes, world, thread, code, step, function)?,
            Next::Wait(state) => {
                thread.state = state;
                return Ok(());
            }
        }
    }
}

/// Ends a block. Returns whether the function ends.
fn leave_block(code: &Code, frame: &mut Frame, exit: &Exit) -> Result<bool, Reason> {
    let to = match exit {
        Exit::Goto(to) => *to,
        Exit::Branch { condition, yes, no } => {
            if frame.read(*condition, 0) & 1 != 0 {
                *yes
            } else {
                *no
            }
        }
        Exit::Switch { selector, cases, otherwise } => {
            let number = frame.read(*selector, 0);
            let case = cases.iter().find(|case| case.0 == number).map(|case| case.1);
            case.or(*otherwise).ok_or(Reason::Unsound)?
        }
        Exit::Return => return Ok(true),
        Exit::Unreachable => return Err(Reason::Unsound),
    };
    let from = std::mem::replace(&mut frame.block, to);
    frame.step = 0;
    let Some(block) = code.blocks.get(to as usize) else { return Err(Reason::Unsound) };
    let Some((_, moves)) = block.edges.iter().find(|edge| edge.0 == from) else { return Ok(false) };
    // All at the same time, as a phi may be the input of another one.
    match &moves[..] {
        [] => {}
        [(phi, input)] => copy(frame, *phi, *input),
        moves => {
            let values: Vec<u64> = moves
                .iter()
                .flat_map(|(phi, input)| (0..phi.slots().len()).map(|lane| (*input, lane)))
                .map(|(input, lane)| read_slot(frame, input, lane))
                .collect();
            let mut values = values.into_iter();
            for (phi, _) in moves {
                for (slot, value) in phi.slots().zip(&mut values) {
                    frame.slots[slot] = value;
                }
            }
        }
    }
    Ok(false)
}

/// Returns a slot of a value, of which a scalar has one for all.
fn read_slot(frame: &Frame, operand: Operand, index: usize) -> u64 {
    match operand.shape {
        Shape::Lanes(..) => frame.read(operand, index),
        Shape::Bytes(_) => {
            operand.slots().nth(index).and_then(|slot| frame.slots.get(slot)).copied().unwrap_or(0)
        }
    }
}

fn copy(frame: &mut Frame, to: Operand, from: Operand) {
    for index in 0..to.slots().len() {
        let value = read_slot(frame, from, index);
        frame.write(to, index, value);
    }
}

/// Enters a function with the inputs of a step as arguments.
fn call(
    codes: &[Code],
    world: &mut World,
    thread: &mut Thread,
    code: &Code,
    step: &Step,
    function: usize,
) -> Result<(), Reason> {
    let Some(frame) = thread.frames.last() else { return Err(Reason::Unsound) };
    let values =
        |input: &Operand| (0..input.slots().len()).map(|index| read_slot(frame, *input, index)).collect();
    let arguments = code.inputs(step).iter().map(values).collect();
    if thread.frames.iter().any(|frame| frame.function == function) {
        return Err(Reason::Recursion(
            codes.get(function).map_or_else(String::new, |code| code.name.clone()),
        ));
    }
    enter(codes, world, thread, function, arguments, Some(step.out))
}

/// Enters a function.
pub(super) fn enter(
    codes: &[Code],
    world: &mut World,
    thread: &mut Thread,
    function: usize,
    arguments: Vec<Vec<u64>>,
    result: Option<Operand>,
) -> Result<(), Reason> {
    let Some(code) = codes.get(function) else { return Err(Reason::Unsound) };
    if thread.frames.len() >= world.budget.limits.depth {
        return Err(Reason::Depth);
    }
    if code.blocks.is_empty() {
        return Err(Reason::Function(code.name.clone()));
    }
    let locals: u64 = code.locals.iter().map(|size| u64::from(*size)).sum();
    let size = usize::try_from(locals).unwrap_or(usize::MAX).saturating_add(8 * code.template.len());
    world.budget.allocate(size)?;
    let first_local = thread.locals.count();
    for size in &code.locals {
        thread.locals.push(*size).ok_or(Reason::Memory)?;
    }
    thread.frames.push(Frame {
        function,
        slots: code.template.clone(),
        block: 0,
        step: 0,
        result,
        first_local,
        arguments,
    });
    Ok(())
}

/// Ends a function without a result, or after that was set.
fn leave(world: &mut World, thread: &mut Thread) {
    let Some(frame) = thread.frames.pop() else { return };
    let before = thread.locals.size();
    thread.locals.truncate(frame.first_local);
    world.budget.free(before - thread.locals.size() + 8 * frame.slots.len());
}

fn operate(code: &Code, world: &mut World, thread: &mut Thread, step: &Step) -> Result<Next, Reason> {
    let Some(frame) = thread.frames.last_mut() else { return Err(Reason::Unsound) };
    let out = step.out;
    match &step.action {
        Action::Operate(op) => {
            let (a, b) = (code.input(step, 0), code.input(step, 1));
            let (kind, to) = (a.shape.kind(), out.shape.kind());
            for lane in 0..out.shape.lanes() {
                let inputs = [frame.read(a, lane), frame.read(b, lane)];
                let Some(number) = number::operate(*op, inputs, kind, to, &mut world.undefined)? else {
                    return Err(Reason::Unmodelled(format!("{op:?}")));
                };
                frame.write(out, lane, number);
            }
        }
        Action::Apply(formula, class) => {
            let inputs = code.inputs(step);
            let kinds = [0, 1].map(|index| code.input(step, index).shape.kind());
            for lane in 0..out.shape.lanes() {
                let mut numbers = [0; MAX_INPUTS];
                for (number, input) in numbers.iter_mut().zip(inputs) {
                    *number = frame.read(*input, lane);
                }
                let Some(number) = library::operate(
                    *formula,
                    *class,
                    numbers,
                    kinds,
                    out.shape.kind(),
                    &mut world.undefined,
                ) else {
                    return Err(Reason::Unmodelled("a function of doubles".into()));
                };
                frame.write(out, lane, number);
            }
        }
        Action::Load => load(world, &thread.locals, frame, code.input(step, 0), out)?,
        Action::Store => {
            let (to, value) = (code.input(step, 0), code.input(step, 1));
            store(world, &mut thread.locals, frame, to, value)?;
        }
        Action::Move(size) => {
            let (base, index) = (code.input(step, 0), code.input(step, 1));
            let count = signed(frame.read(index, 0), index.shape.kind().width());
            let by = count.cast_unsigned().wrapping_mul(*size);
            frame.write(out, 0, frame.read(base, 0).wrapping_add(by));
        }
        Action::Advance(by) => frame.write(out, 0, frame.read(code.input(step, 0), 0).wrapping_add(*by)),
        Action::Call(function) => return Ok(Next::Call(*function)),
        Action::Return => {
            let from = code.input(step, 0);
            let values: Vec<u64> =
                (0..from.slots().len()).map(|index| read_slot(frame, from, index)).collect();
            let result = frame.result;
            if let [.., caller, _] = &mut thread.frames[..]
                && let Some(result) = result
            {
                for (index, value) in values.iter().enumerate().take(result.slots().len()) {
                    caller.write(result, index, *value);
                }
            } else {
                thread.returned = values;
            }
        }
        Action::Fail(reason) => return Err(reason.clone()),
        Action::Library(op) => return super::effects::operate(code, world, thread, step, *op).map(next),
        _ => arrange(code, world, frame, step)?,
    }
    Ok(Next::Step)
}

fn next(state: State) -> Next {
    if state == State::Ready { Next::Step } else { Next::Wait(state) }
}

/// Runs a step that moves values.
fn arrange(code: &Code, world: &mut World, frame: &mut Frame, step: &Step) -> Result<(), Reason> {
    let out = step.out;
    let [a, b, c] = [0, 1, 2].map(|index| code.input(step, index));
    match &step.action {
        Action::Argument(number) => {
            let argument = frame.arguments.get(*number).cloned().unwrap_or_default();
            for (index, value) in argument.into_iter().enumerate().take(out.slots().len()) {
                frame.write(out, index, value);
            }
        }
        Action::Local(number) => frame.write(out, 0, Locals::address(frame.first_local + number)),
        Action::Join => {
            let mut to = 0;
            for input in code.inputs(step) {
                for lane in 0..input.shape.lanes() {
                    frame.write(out, to, frame.read(*input, lane));
                    to += 1;
                }
            }
        }
        Action::Pick(lanes) => {
            for (to, from) in lanes.numbers().iter().enumerate() {
                frame.write(out, to, frame.read(a, usize::from(*from)));
            }
        }
        Action::Select => match out.shape {
            Shape::Lanes(_, lanes) => {
                for lane in 0..usize::from(lanes) {
                    let chosen = if frame.read(a, lane) & 1 != 0 { b } else { c };
                    frame.write(out, lane, frame.read(chosen, lane));
                }
            }
            Shape::Bytes(_) => copy(frame, out, if frame.read(a, 0) & 1 != 0 { b } else { c }),
        },
        Action::ExtractLane => {
            let index = frame.read(b, 0);
            let is_there = index < a.shape.lanes() as u64;
            world.undefined.indices += u64::from(!is_there);
            let number = if is_there { frame.read(a, index as usize) } else { 0 };
            frame.write(out, 0, number);
        }
        Action::InsertLane => {
            copy(frame, out, a);
            let index = frame.read(b, 0);
            if index < out.shape.lanes() as u64 {
                frame.write(out, index as usize, frame.read(c, 0));
            } else {
                world.undefined.indices += 1;
            }
        }
        Action::Reinterpret => reinterpret(frame, out, a),
        Action::Aggregate(offsets) => {
            let mut bytes = vec![0; out.slots().len() * 8];
            for (input, offset) in code.inputs(step).iter().zip(offsets) {
                put(&mut bytes, *offset, &frame.bytes(*input));
            }
            frame.set_bytes(out, &bytes);
        }
        Action::Replace(offset) => {
            let mut bytes = frame.bytes(a);
            put(&mut bytes, *offset, &frame.bytes(b));
            frame.set_bytes(out, &bytes);
        }
        Action::Part(offset) => {
            let bytes = frame.bytes(a);
            frame.set_bytes(out, bytes.get(*offset as usize..).unwrap_or_default());
        }
        _ => return Err(Reason::Unsound),
    }
    Ok(())
}

fn put(bytes: &mut [u8], offset: u32, part: &[u8]) {
    let start = offset as usize;
    if let Some(place) = start.checked_add(part.len()).and_then(|end| bytes.get_mut(start..end)) {
        place.copy_from_slice(part);
    }
}

/// Takes the bits of one value as another.
fn reinterpret(frame: &mut Frame, out: Operand, from: Operand) {
    let (wide, narrow) = (u32::from(out.shape.kind().width()), u32::from(from.shape.kind().width()));
    if wide == narrow || out.shape.lanes() == from.shape.lanes() {
        return copy_masked(frame, out, from);
    }
    let (mut bits, mut count, mut to) = (0_u128, 0, 0);
    for lane in 0..from.shape.lanes() {
        bits |= u128::from(frame.read(from, lane)) << count;
        count += narrow;
        while count >= wide {
            frame.write(out, to, masked(bits as u64, wide as u8));
            (bits, count, to) = (bits >> wide, count - wide, to + 1);
        }
    }
}

fn copy_masked(frame: &mut Frame, out: Operand, from: Operand) {
    for lane in 0..out.shape.lanes() {
        let number = masked(frame.read(from, lane), out.shape.kind().width());
        frame.write(out, lane, number);
    }
}

pub(super) fn load(
    world: &mut World,
    locals: &Locals,
    frame: &mut Frame,
    from: Operand,
    out: Operand,
) -> Result<(), Reason> {
    let address = frame.read(from, 0);
    match out.shape {
        Shape::Lanes(kind, lanes) => {
            let size = kind.bytes();
            let mut bytes = [0; MAX_VECTOR];
            // Memory of a vector is accessed as a whole.
            let Some(all) = bytes.get_mut(..size * usize::from(lanes)) else {
                return Err(Reason::Unmodelled("a long vector in memory".into()));
            };
            world.memory.read(locals, address, all)?;
            for lane in 0..usize::from(lanes) {
                let number = super::thread::number(&all[lane * size..(lane + 1) * size]);
                frame.write(out, lane, masked(number, kind.width()));
            }
        }
        Shape::Bytes(size) => {
            let mut bytes = vec![0; size as usize];
            world.memory.read(locals, address, &mut bytes)?;
            frame.set_bytes(out, &bytes);
        }
    }
    Ok(())
}

pub(super) fn store(
    world: &mut World,
    locals: &mut Locals,
    frame: &Frame,
    to: Operand,
    value: Operand,
) -> Result<(), Reason> {
    let address = frame.read(to, 0);
    match value.shape {
        Shape::Lanes(kind, lanes) => {
            let size = kind.bytes();
            let mut bytes = [0; MAX_VECTOR];
            let Some(all) = bytes.get_mut(..size * usize::from(lanes)) else {
                return Err(Reason::Unmodelled("a long vector in memory".into()));
            };
            for lane in 0..usize::from(lanes) {
                let number = frame.read(value, lane).to_le_bytes();
                all[lane * size..(lane + 1) * size].copy_from_slice(&number[..size]);
            }
            world.memory.write(locals, address, all)?;
        }
        Shape::Bytes(_) => world.memory.write(locals, address, &frame.bytes(value))?,
    }
    count(world)
}

/// Counts memory that a write added.
pub(super) fn count(world: &mut World) -> Result<(), Reason> {
    let added = world.memory.around - world.counted;
    if added > 0 {
        world.counted = world.memory.around;
        world.budget.allocate(usize::try_from(added).unwrap_or(usize::MAX))?;
    }
    Ok(())
}

/// Returns the width of an integer operand as a signed number of its value.
pub(super) fn integer(frame: &Frame, operand: Operand) -> i64 {
    let width = match operand.shape.kind() {
        Kind::Integer(bits) => bits,
        kind => kind.width(),
    };
    signed(frame.read(operand, 0), width)
}
