//! Executes the p-code of one instruction, one operation at a time for all active lanes.
//!
//! `unshade_sass::semantics` has the operators and pure functions ([`operate`], [`functions::call`]). This module applies
//! them to the registers and memories of a warp, and implements what involves several lanes. Branches inside an
//! instruction only lead forward: lanes that take one wait until execution reaches its warp.

use unshade_sass::semantics::table::Code;
use unshade_sass::semantics::{Lifted, Op, Space, Varnode, functions, operate};

use crate::barrier::{Arrival, BarrierResult};
use crate::environment::{Environment, LANES};
use crate::fault::Reason;
use crate::intrinsics::{self, Intrinsic};
use crate::lanes::{Bits, Registers, Values};
use crate::stack::Token;
use crate::{atomic, cross_lane, special, surface, texture};

/// The effects of an instruction on the warp's control flow.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Lanes that continue at the next instruction.
    pub(crate) following: u32,
    /// Lanes that branch, by warp.
    pub(crate) jumps: Vec<(u64, u32)>,
    /// Lanes that call, by warp.
    pub(crate) calls: Vec<(u64, u32)>,
    /// Lanes that start to wait for an entry of the reconvergence stack.
    pub(crate) pops: Vec<(Token, u32)>,
    /// Lanes that push an entry of the reconvergence stack: kind, address, lanes.
    pub(crate) pushes: Vec<(Token, u64, u32)>,
    /// Lanes that exit.
    pub(crate) exits: u32,
    /// The arrival at a barrier.
    pub(crate) arrival: Option<Arrival>,
}

impl Effects {
    fn clear(&mut self) {
        self.following = 0;
        self.jumps.clear();
        self.calls.clear();
        self.pops.clear();
        self.pushes.clear();
        self.exits = 0;
        self.arrival = None;
    }
}

/// Buffers for executing an instruction, reused for every instruction.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    temporaries: Vec<Values>,
    inputs: Vec<Values>,
    /// Lanes that wait for an operation, by its index.
    joins: Vec<(u16, u32)>,
    pub(crate) effects: Effects,
    pub(crate) texture: texture::TextureRegisters,
}

/// The number of the general register that holds the stack pointer.
const STACK_POINTER: usize = 1;

/// The kind of `BPT` that waits for outstanding memory operations (modifier `bpt`).
const DRAIN: u64 = 5;

/// The reason of a fault, and the lane that caused it.
pub(crate) type LaneFault = (u32, Reason);

/// The state of a warp that an instruction accesses.
pub(crate) struct WarpState<'a, 'w> {
    pub(crate) registers: &'a mut Registers,
    pub(crate) env: &'a mut Environment<'w>,
    /// The warp's index in its block.
    pub(crate) number: u32,
    /// The lanes that have not exited.
    pub(crate) live: u32,
    /// The value that `B2R.RESULT` reads.
    pub(crate) barrier_result: BarrierResult,
}

/// Executes an instruction for the active lanes.
pub(crate) fn run(
    lifted: &Lifted,
    active: u32,
    warp: &mut WarpState<'_, '_>,
    scratch: &mut Scratch,
) -> Result<(), LaneFault> {
    scratch.effects.clear();
    scratch.joins.clear();
    if scratch.temporaries.len() < lifted.temporaries() {
        scratch.temporaries.resize(lifted.temporaries(), [0; LANES]);
    }
    let ops = lifted.ops();
    let mut lanes = active;
    let mut at = 0_usize;
    loop {
        if !scratch.joins.is_empty() {
            scratch.joins.retain(|(to, waiting)| {
                let arrived = usize::from(*to) <= at;
                lanes |= if arrived { *waiting } else { 0 };
                !arrived
            });
        }
        let Some(op) = ops.get(at) else { break };
        if lanes == 0 {
            match scratch.joins.iter().map(|join| join.0).min() {
                Some(next) => at = usize::from(next).max(at),
                None => break,
            }
            continue;
        }
        at += 1;
        step(lifted, op, &mut lanes, warp, scratch)?;
    }
    scratch.effects.following = lanes;
    Ok(())
}

/// Executes one operation for the lanes, and removes those that leave the straight line.
fn step(
    lifted: &Lifted,
    op: &Op,
    lanes: &mut u32,
    warp: &mut WarpState<'_, '_>,
    scratch: &mut Scratch,
) -> Result<(), LaneFault> {
    let inputs = lifted.inputs(op);
    let mut values = std::mem::take(&mut scratch.inputs);
    if values.len() < inputs.len() {
        values.resize(inputs.len(), [0; LANES]);
    }
    for (input, value) in inputs.iter().zip(&mut values) {
        read(*input, *lanes, warp, &scratch.temporaries, value)?;
    }
    let result = compute(op, inputs, &mut values, lanes, warp, scratch);
    if let (Ok(Some(result)), Some(output)) = (&result, op.output) {
        write(output, *lanes, result, warp.registers, &mut scratch.temporaries);
    }
    scratch.inputs = values;
    result.map(|_| ())
}

/// Computes the result of an operation for each lane, if it has one.
fn compute(
    op: &Op,
    inputs: &[Varnode],
    values: &mut [Values],
    lanes: &mut u32,
    warp: &mut WarpState<'_, '_>,
    scratch: &mut Scratch,
) -> Result<Option<Values>, LaneFault> {
    const NONE: Values = [0; LANES];
    let width = inputs.first().map_or(32, |input| input.width);
    let out = op.output.map_or(32, |output| output.width);
    let first = values.first().unwrap_or(&NONE);
    let base = warp.number.wrapping_mul(32);
    let mut result = [0; LANES];
    match op.code {
        Code::Branch => {
            scratch.joins.push((op.to, *lanes));
            *lanes = 0;
            return Ok(None);
        }
        Code::BranchUnless => {
            let taken =
                Bits(*lanes).filter(|lane| first[*lane] == 0).fold(0, |taken, lane| taken | 1 << lane);
            if taken != 0 {
                scratch.joins.push((op.to, taken));
                *lanes &= !taken;
            }
            return Ok(None);
        }
        Code::Goto => {
            group(first, *lanes, &mut scratch.effects.jumps);
            *lanes = 0;
            return Ok(None);
        }
        Code::Call => {
            group(first, *lanes, &mut scratch.effects.calls);
            *lanes = 0;
            return Ok(None);
        }
        Code::Return => {
            scratch.effects.pops.push((Token::Return, *lanes));
            *lanes = 0;
            return Ok(None);
        }
        Code::Exit => {
            scratch.effects.exits |= *lanes;
            *lanes = 0;
            return Ok(None);
        }
        Code::Load(space) => {
            for lane in Bits(*lanes) {
                let loaded = match space {
                    Space::Constant => warp.env.constant(first[lane], out),
                    Space::Special => {
                        let stack = warp.registers.general(STACK_POINTER, lane);
                        special::read(warp.env, first[lane] >> 2, warp.number, lane as u32, stack)
                    }
                    space => warp.env.load(space, first[lane], out, base.wrapping_add(lane as u32)),
                };
                result[lane] = loaded.or_else(|reason| warp.env.leave_out(lane as u32, reason))?;
            }
        }
        Code::Store(space) => {
            let second = values.get(1).unwrap_or(&NONE);
            let width = inputs.get(1).map_or(32, |input| input.width);
            for lane in Bits(*lanes) {
                let thread = base.wrapping_add(lane as u32);
                let stored = warp.env.store(space, first[lane], second[lane], width, thread);
                if let Err(reason) = stored {
                    warp.env.leave_out(lane as u32, reason)?;
                }
            }
            return Ok(None);
        }
        Code::Function(index) => {
            let out = op.output.map_or(0, |output| output.width);
            return call(intrinsics::by_index(index), inputs, values, lanes, out, warp, scratch);
        }
        code => {
            let count = inputs.len();
            let second = values.get(1).unwrap_or(&NONE);
            let one = |lane: usize| {
                let both = [first[lane], second[lane]];
                operate(code, both.get(..count).unwrap_or(&both), width, out)
            };
            for lane in Bits(*lanes) {
                result[lane] = one(lane).ok_or((lane as u32, Reason::Undefined))?;
            }
        }
    }
    Ok(Some(result))
}

/// Calls a named function.
fn call(
    function: Intrinsic,
    inputs: &[Varnode],
    values: &mut [Values],
    lanes: &mut u32,
    out: u8,
    warp: &mut WarpState<'_, '_>,
    scratch: &mut Scratch,
) -> Result<Option<Values>, LaneFault> {
    let mut result = [0; LANES];
    let first_lane = lanes.trailing_zeros();
    let mut arguments = [0_u64; 16];
    let count = inputs.len().min(arguments.len());
    let mut arguments_of = |lane: usize| {
        for (argument, value) in arguments.iter_mut().zip(values.iter()) {
            *argument = value[lane];
        }
        arguments
    };
    let thread = warp.number.wrapping_mul(32);
    let fault = |lane: usize| move |reason| (lane as u32, reason);
    let exchanges_lanes =
        matches!(function, Intrinsic::Shuffle | Intrinsic::Ballot | Intrinsic::Vote | Intrinsic::SwizzleAdd);
    if exchanges_lanes && *lanes != warp.live && warp.env.block.races.is_some() {
        let reason = format!(
            "lanes {:#x} exchange values while the warp, with lanes {:#x}, is diverged",
            *lanes, warp.live
        );
        return Err((first_lane, Reason::Order(reason)));
    }
    match function {
        Intrinsic::Pure(name) => {
            for lane in Bits(*lanes) {
                let arguments = arguments_of(lane);
                let inputs = arguments.get(..count).unwrap_or(&arguments);
                result[lane] = functions::call(name, inputs).ok_or((lane as u32, Reason::Undefined))?;
            }
        }
        Intrinsic::LaneInQuad => {
            let quad = arguments_of(first_lane as usize & 31)[0];
            Bits(*lanes).for_each(|lane| result[lane] = quad >> (lane & 3) & 1);
        }
        Intrinsic::Push(token) => {
            for lane in Bits(*lanes) {
                let address = arguments_of(lane)[0];
                let pushes = &mut scratch.effects.pushes;
                match pushes.iter_mut().find(|push| push.0 == token && push.1 == address) {
                    Some(push) => push.2 |= 1 << lane,
                    None => pushes.push((token, address, 1 << lane)),
                }
            }
            return Ok(None);
        }
        Intrinsic::Pop(token) => {
            scratch.effects.pops.push((token, *lanes));
            *lanes = 0;
            return Ok(None);
        }
        Intrinsic::Shuffle => cross_lane::shuffle(values, *lanes, warp.env.absent, &mut result),
        Intrinsic::ShuffleInside => cross_lane::shuffle_inside(values, *lanes, &mut result),
        Intrinsic::Ballot => cross_lane::ballot(values, *lanes, &mut result),
        Intrinsic::Vote => cross_lane::vote(values, *lanes, &mut result),
        Intrinsic::SwizzleAdd => cross_lane::swizzle_add(values, *lanes, &mut result),
        Intrinsic::BarrierSync
        | Intrinsic::BarrierArrive
        | Intrinsic::BarrierReduce
        | Intrinsic::BarrierScan
        | Intrinsic::BarrierSyncAll => {
            scratch.effects.arrival = Some(Arrival::new(function, values, *lanes));
            return Ok(None);
        }
        Intrinsic::BarrierResult => result = warp.barrier_result.map(u64::from),
        Intrinsic::Lock => {
            for lane in Bits(*lanes) {
                result[lane] = warp.env.lock(arguments_of(lane)[0], thread.wrapping_add(lane as u32)).into();
            }
        }
        Intrinsic::Unlock => {
            for lane in Bits(*lanes) {
                result[lane] =
                    warp.env.unlock(arguments_of(lane)[0], thread.wrapping_add(lane as u32)).into();
            }
        }
        Intrinsic::ReleaseLocks => {
            warp.env.block.locks.clear();
            return Ok(None);
        }
        Intrinsic::LoadConstant => {
            for lane in Bits(*lanes) {
                let loaded = load_constant(warp.env, &arguments_of(lane));
                result[lane] = loaded.or_else(|reason| warp.env.leave_out(lane as u32, reason))?;
            }
        }
        Intrinsic::Atomic(operation) => {
            for lane in Bits(*lanes) {
                let width = inputs.get(1).map_or(32, |input| input.width);
                let own_thread = thread.wrapping_add(lane as u32);
                let ran = atomic::run(warp.env, operation, &arguments_of(lane), width, own_thread, out != 0);
                result[lane] = ran.or_else(|reason| warp.env.leave_out(lane as u32, reason))?;
            }
        }
        Intrinsic::CompareAndSwap => {
            for lane in Bits(*lanes) {
                let width = inputs.get(2).map_or(32, |input| input.width);
                let own_thread = thread.wrapping_add(lane as u32);
                let ran = atomic::compare_and_swap(warp.env, &arguments_of(lane), width, own_thread);
                result[lane] = ran.or_else(|reason| warp.env.leave_out(lane as u32, reason))?;
            }
        }
        Intrinsic::SurfaceLoad | Intrinsic::SurfaceStore => {
            let is_store = function == Intrinsic::SurfaceStore;
            for lane in Bits(*lanes) {
                let arguments = arguments_of(lane);
                let accessed = surface::access(&mut scratch.texture, warp.env, &arguments, is_store, lane);
                if let Err(reason) = accessed {
                    warp.env.leave_out(lane as u32, reason)?;
                }
            }
            return Ok(None);
        }
        Intrinsic::TextureCoordinates => {
            scratch.texture.set_coordinates(values, *lanes);
            return Ok(None);
        }
        Intrinsic::TextureArguments => {
            scratch.texture.set_arguments(values, *lanes);
            return Ok(None);
        }
        Intrinsic::TextureSample
        | Intrinsic::TextureFetch
        | Intrinsic::TextureGather
        | Intrinsic::TextureQuery => {
            for lane in Bits(*lanes) {
                let arguments = arguments_of(lane);
                scratch.texture.run(function, warp.env, &arguments, lane).map_err(fault(lane))?;
            }
            return Ok(None);
        }
        Intrinsic::TextureResult => {
            Bits(*lanes).for_each(|lane| result[lane] = scratch.texture.result(arguments_of(lane)[0], lane));
        }
        Intrinsic::Fence => {
            let scope = arguments_of(first_lane as usize & 31)[0];
            warp.env.note_fence(scope, warp.number);
            return Ok(None);
        }
        Intrinsic::NoEffect => return Ok(None),
        Intrinsic::Undefined => return Err((first_lane, Reason::Undefined)),
        // Memory operations are done at once, so there is nothing to wait for.
        Intrinsic::Debugger if arguments_of(first_lane as usize & 31)[0] == DRAIN => return Ok(None),
        Intrinsic::Debugger => {
            let stack = warp.registers.general(STACK_POINTER, first_lane as usize & 31);
            let is_overflow = warp.env.is_beyond_stack(stack);
            return Err((first_lane, if is_overflow { Reason::StackOverflow } else { Reason::Trap }));
        }
        Intrinsic::ShiftStep => return Err((first_lane, Reason::Unsupported("shift steps".into()))),
        Intrinsic::Unsupported(name) => {
            return Err((first_lane, Reason::Unsupported(name.replace('_', " "))));
        }
    }
    let mask = if out >= 64 { u64::MAX } else { (1 << out) - 1 };
    result.iter_mut().for_each(|value| *value &= mask);
    Ok(Some(result))
}

/// Implements `load_constant_mode(address, …, mode, size)`: `LDC` in its indexed modes. The address is the sum of the
/// register and `bank << 16 | offset`, so the register's upper half counts banks. How the modes differ beyond the end of a
/// bank is unknown.
fn load_constant(env: &Environment<'_>, arguments: &[u64; 16]) -> Result<u64, Reason> {
    let [at, _, _, size, ..] = *arguments;
    let (width, signed) = match size {
        0 => (8, false),
        1 => (8, true),
        2 => (16, false),
        3 => (16, true),
        5 => (64, false),
        _ => (32, false),
    };
    let value = env.constant(at, width)?;
    Ok(if signed { operate(Code::SignExtend, &[value], width, 32).unwrap_or(value) } else { value })
}

fn read(
    varnode: Varnode,
    lanes: u32,
    warp: &mut WarpState<'_, '_>,
    temporaries: &[Values],
    out: &mut Values,
) -> Result<(), LaneFault> {
    match varnode.space {
        Space::Number => *out = [varnode.offset; LANES],
        Space::Register => warp.registers.read(varnode.offset, varnode.width, out),
        Space::Flag => {
            let bits = warp.registers.flag(varnode.offset);
            out.iter_mut().zip(0..).for_each(|(out, lane)| *out = u64::from(bits >> lane & 1));
        }
        Space::Temporary => {
            let index = usize::try_from(varnode.offset).unwrap_or(usize::MAX);
            *out = temporaries.get(index).copied().unwrap_or([0; LANES]);
        }
        Space::Constant => {
            let value = warp.env.constant(varnode.offset, varnode.width);
            *out = [value.or_else(|reason| warp.env.leave_out(lanes.trailing_zeros(), reason))?; LANES];
        }
        space => {
            for lane in Bits(lanes) {
                let thread = warp.number.wrapping_mul(32).wrapping_add(lane as u32);
                let value = warp.env.load(space, varnode.offset, varnode.width, thread);
                out[lane] = value.or_else(|reason| warp.env.leave_out(lane as u32, reason))?;
            }
        }
    }
    Ok(())
}

fn write(
    output: Varnode,
    lanes: u32,
    values: &Values,
    registers: &mut Registers,
    temporaries: &mut [Values],
) {
    match output.space {
        Space::Register => registers.write(output.offset, output.width, lanes, values),
        Space::Flag => registers.set_flag(output.offset, lanes, values),
        Space::Temporary => {
            let index = usize::try_from(output.offset).unwrap_or(usize::MAX);
            let mask = if output.width >= 64 { u64::MAX } else { (1 << output.width) - 1 };
            if let Some(temporary) = temporaries.get_mut(index) {
                Bits(lanes).for_each(|lane| temporary[lane] = values[lane] & mask);
            }
        }
        _ => {}
    }
}

/// Groups lanes by warp.
fn group(targets: &Values, lanes: u32, groups: &mut Vec<(u64, u32)>) {
    for lane in Bits(lanes) {
        match groups.iter_mut().find(|group| group.0 == targets[lane]) {
            Some(group) => group.1 |= 1 << lane,
            None => groups.push((targets[lane], 1 << lane)),
        }
    }
}
