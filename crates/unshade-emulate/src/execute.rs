//! Runs the p-code of one instruction, operation by operation, each for all active lanes.
//!
//! What operations do is said once, in `unshade_sass::semantics`: [`operate`] and [`functions::call`] compute. Here is what
//! they compute on (registers of a warp, memories) and what goes beyond a lane. Branches inside of an instruction only go
//! forward: lanes that take one wait for the operation that it names.

use unshade_sass::semantics::table::Code;
use unshade_sass::semantics::{Lifted, Op, Space, Varnode, functions, operate};

use crate::barrier::{Arrival, Given};
use crate::fault::Reason;
use crate::lanes::{Bits, Registers, Values};
use crate::outside::{self, Outside};
use crate::stack::Token;
use crate::world::{LANES, World};
use crate::{atomic, cross_lane, special, surface, texture};

/// What an instruction did to the flow of the warp.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Lanes that go on with the next instruction.
    pub(crate) following: u32,
    /// Lanes that go on elsewhere.
    pub(crate) jumps: Vec<(u64, u32)>,
    /// Lanes that call.
    pub(crate) calls: Vec<(u64, u32)>,
    /// Lanes that come to wait for an entry of the stack.
    pub(crate) pops: Vec<(Token, u32)>,
    /// Lanes that push an entry.
    pub(crate) pushes: Vec<(Token, u64, u32)>,
    /// Lanes that end.
    pub(crate) exits: u32,
    /// Arrival at a barrier.
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

/// What running an instruction needs besides registers; kept, for its memory.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    temporaries: Vec<Values>,
    inputs: Vec<Values>,
    /// Lanes that wait for an operation.
    joins: Vec<(u16, u32)>,
    pub(crate) effects: Effects,
    pub(crate) texture: texture::Registers,
}

/// A reason, and the lane that it happened to.
pub(crate) type LaneFault = (u32, Reason);

/// The warp that an instruction is run for.
pub(crate) struct Target<'a, 'w> {
    pub(crate) registers: &'a mut Registers,
    pub(crate) world: &'a mut World<'w>,
    /// The warp's number in its block.
    pub(crate) warp: u32,
    /// The lanes that have not ended.
    pub(crate) live: u32,
    /// What `B2R.RESULT` reads.
    pub(crate) barrier_result: Given,
}

/// Runs an instruction for the active lanes.
pub(crate) fn run(
    lifted: &Lifted,
    active: u32,
    target: &mut Target<'_, '_>,
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
        step(lifted, op, &mut lanes, target, scratch)?;
    }
    scratch.effects.following = lanes;
    Ok(())
}

/// One operation for the lanes; those that go on elsewhere are taken out.
fn step(
    lifted: &Lifted,
    op: &Op,
    lanes: &mut u32,
    target: &mut Target<'_, '_>,
    scratch: &mut Scratch,
) -> Result<(), LaneFault> {
    let inputs = lifted.inputs(op);
    let mut values = std::mem::take(&mut scratch.inputs);
    if values.len() < inputs.len() {
        values.resize(inputs.len(), [0; LANES]);
    }
    for (input, value) in inputs.iter().zip(&mut values) {
        read(*input, *lanes, target, &scratch.temporaries, value)?;
    }
    let result = compute(op, inputs, &mut values, lanes, target, scratch);
    if let (Ok(Some(result)), Some(place)) = (&result, op.output) {
        write(place, *lanes, result, target.registers, &mut scratch.temporaries);
    }
    scratch.inputs = values;
    result.map(|_| ())
}

/// The result for each lane, if there is one.
fn compute(
    op: &Op,
    inputs: &[Varnode],
    values: &mut [Values],
    lanes: &mut u32,
    target: &mut Target<'_, '_>,
    scratch: &mut Scratch,
) -> Result<Option<Values>, LaneFault> {
    const NONE: Values = [0; LANES];
    let width = inputs.first().map_or(32, |input| input.width);
    let out = op.output.map_or(32, |place| place.width);
    let first = values.first().unwrap_or(&NONE);
    let base = target.warp.wrapping_mul(32);
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
                let fault = |reason| (lane as u32, reason);
                result[lane] = match space {
                    Space::Constant => target.world.constant(first[lane], out),
                    Space::Special => special::read(target.world, first[lane] >> 2, target.warp, lane as u32),
                    space => target.world.load(space, first[lane], out, base.wrapping_add(lane as u32)),
                }
                .map_err(fault)?;
            }
        }
        Code::Store(space) => {
            let second = values.get(1).unwrap_or(&NONE);
            let width = inputs.get(1).map_or(32, |input| input.width);
            for lane in Bits(*lanes) {
                let thread = base.wrapping_add(lane as u32);
                let stored = target.world.store(space, first[lane], second[lane], width, thread);
                stored.map_err(|reason| (lane as u32, reason))?;
            }
            return Ok(None);
        }
        Code::Function(index) => {
            let out = op.output.map_or(0, |place| place.width);
            return call(outside::by_index(index), inputs, values, lanes, out, target, scratch);
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

/// A named function.
fn call(
    function: Outside,
    inputs: &[Varnode],
    values: &mut [Values],
    lanes: &mut u32,
    out: u8,
    target: &mut Target<'_, '_>,
    scratch: &mut Scratch,
) -> Result<Option<Values>, LaneFault> {
    let mut result = [0; LANES];
    let first_lane = lanes.trailing_zeros();
    let mut arguments = [0_u64; 16];
    let count = inputs.len().min(arguments.len());
    let mut of_lane = |lane: usize| {
        for (argument, value) in arguments.iter_mut().zip(values.iter()) {
            *argument = value[lane];
        }
        arguments
    };
    let thread = target.warp.wrapping_mul(32);
    let fault = |lane: usize| move |reason| (lane as u32, reason);
    let is_shared =
        matches!(function, Outside::Shuffle | Outside::Ballot | Outside::Vote | Outside::SwizzleAdd);
    if is_shared && *lanes != target.live && target.world.order.is_some() {
        let reason =
            format!("lanes {:#x} of {:#x} exchange values, the others are elsewhere", *lanes, target.live);
        return Err((first_lane, Reason::Order(reason)));
    }
    match function {
        Outside::Pure(name) => {
            for lane in Bits(*lanes) {
                let arguments = of_lane(lane);
                let inputs = arguments.get(..count).unwrap_or(&arguments);
                result[lane] = functions::call(name, inputs).ok_or((lane as u32, Reason::Undefined))?;
            }
        }
        Outside::LaneInQuad => {
            let quad = of_lane(first_lane as usize & 31)[0];
            Bits(*lanes).for_each(|lane| result[lane] = quad >> (lane & 3) & 1);
        }
        Outside::Push(token) => {
            for lane in Bits(*lanes) {
                let address = of_lane(lane)[0];
                let pushes = &mut scratch.effects.pushes;
                match pushes.iter_mut().find(|push| push.0 == token && push.1 == address) {
                    Some(push) => push.2 |= 1 << lane,
                    None => pushes.push((token, address, 1 << lane)),
                }
            }
            return Ok(None);
        }
        Outside::Pop(token) => {
            scratch.effects.pops.push((token, *lanes));
            *lanes = 0;
            return Ok(None);
        }
        Outside::Shuffle => cross_lane::shuffle(values, *lanes, target.world.absent, &mut result),
        Outside::ShuffleInside => cross_lane::shuffle_inside(values, *lanes, &mut result),
        Outside::Ballot => cross_lane::ballot(values, *lanes, &mut result),
        Outside::Vote => cross_lane::vote(values, *lanes, &mut result),
        Outside::SwizzleAdd => cross_lane::swizzle_add(values, *lanes, &mut result),
        Outside::BarrierSync
        | Outside::BarrierArrive
        | Outside::BarrierReduce
        | Outside::BarrierScan
        | Outside::BarrierSyncAll => {
            scratch.effects.arrival = Some(Arrival::new(function, values, *lanes));
            return Ok(None);
        }
        Outside::BarrierResult => result = target.barrier_result.map(u64::from),
        Outside::Lock => {
            for lane in Bits(*lanes) {
                result[lane] = target.world.lock(of_lane(lane)[0], thread.wrapping_add(lane as u32)).into();
            }
        }
        Outside::Unlock => {
            for lane in Bits(*lanes) {
                result[lane] = target.world.unlock(of_lane(lane)[0], thread.wrapping_add(lane as u32)).into();
            }
        }
        Outside::ReleaseLocks => {
            target.world.locks.clear();
            return Ok(None);
        }
        Outside::LoadConstant => {
            for lane in Bits(*lanes) {
                result[lane] = load_constant(target.world, &of_lane(lane)).map_err(fault(lane))?;
            }
        }
        Outside::Atomic(operation) => {
            for lane in Bits(*lanes) {
                let width = inputs.get(1).map_or(32, |input| input.width);
                let place = thread.wrapping_add(lane as u32);
                let ran = atomic::run(target.world, operation, &of_lane(lane), width, place, out != 0);
                result[lane] = ran.map_err(fault(lane))?;
            }
        }
        Outside::CompareAndSwap => {
            for lane in Bits(*lanes) {
                let width = inputs.get(2).map_or(32, |input| input.width);
                let place = thread.wrapping_add(lane as u32);
                result[lane] = atomic::compare_and_swap(target.world, &of_lane(lane), width, place)
                    .map_err(fault(lane))?;
            }
        }
        Outside::SurfaceLoad | Outside::SurfaceStore => {
            let is_store = function == Outside::SurfaceStore;
            for lane in Bits(*lanes) {
                let arguments = of_lane(lane);
                surface::access(&mut scratch.texture, target.world, &arguments, is_store, lane)
                    .map_err(fault(lane))?;
            }
            return Ok(None);
        }
        Outside::TextureCoordinates => {
            scratch.texture.set_coordinates(values, *lanes);
            return Ok(None);
        }
        Outside::TextureArguments => {
            scratch.texture.set_arguments(values, *lanes);
            return Ok(None);
        }
        Outside::TextureSample | Outside::TextureFetch | Outside::TextureGather | Outside::TextureQuery => {
            for lane in Bits(*lanes) {
                let arguments = of_lane(lane);
                scratch.texture.run(function, target.world, &arguments, lane).map_err(fault(lane))?;
            }
            return Ok(None);
        }
        Outside::TextureResult => {
            Bits(*lanes).for_each(|lane| result[lane] = scratch.texture.result(of_lane(lane)[0], lane));
        }
        Outside::Nothing => return Ok(None),
        Outside::Undefined => return Err((first_lane, Reason::Undefined)),
        Outside::Debugger => return Err((first_lane, Reason::Trap)),
        Outside::ShiftStep => return Err((first_lane, Reason::Unsupported("shifts in steps".into()))),
        Outside::Unsupported(name) => return Err((first_lane, Reason::Unsupported(name.replace('_', " ")))),
    }
    let mask = if out >= 64 { u64::MAX } else { (1 << out) - 1 };
    result.iter_mut().for_each(|value| *value &= mask);
    Ok(Some(result))
}

/// `load_constant_mode(address, …, mode, size)`: `LDC` in its indexed modes. The register's upper half counts banks, which is
/// what adding it to bank and offset together has done; how the modes differ beyond a bank's end is not known.
fn load_constant(world: &World<'_>, arguments: &[u64; 16]) -> Result<u64, Reason> {
    let [at, _, _, size, ..] = *arguments;
    let (width, signed) = match size {
        0 => (8, false),
        1 => (8, true),
        2 => (16, false),
        3 => (16, true),
        5 => (64, false),
        _ => (32, false),
    };
    let value = world.constant(at, width)?;
    Ok(if signed { operate(Code::SignExtend, &[value], width, 32).unwrap_or(value) } else { value })
}

fn read(
    varnode: Varnode,
    lanes: u32,
    target: &mut Target<'_, '_>,
    temporaries: &[Values],
    out: &mut Values,
) -> Result<(), LaneFault> {
    match varnode.space {
        Space::Number => *out = [varnode.offset; LANES],
        Space::Register => target.registers.read(varnode.offset, varnode.width, out),
        Space::Flag => {
            let bits = target.registers.flag(varnode.offset);
            out.iter_mut().zip(0..).for_each(|(out, lane)| *out = u64::from(bits >> lane & 1));
        }
        Space::Temporary => {
            let index = usize::try_from(varnode.offset).unwrap_or(usize::MAX);
            *out = temporaries.get(index).copied().unwrap_or([0; LANES]);
        }
        Space::Constant => {
            let value = target.world.constant(varnode.offset, varnode.width);
            *out = [value.map_err(|reason| (lanes.trailing_zeros(), reason))?; LANES];
        }
        space => {
            for lane in Bits(lanes) {
                let thread = target.warp.wrapping_mul(32).wrapping_add(lane as u32);
                let value = target.world.load(space, varnode.offset, varnode.width, thread);
                out[lane] = value.map_err(|reason| (lane as u32, reason))?;
            }
        }
    }
    Ok(())
}

fn write(place: Varnode, lanes: u32, values: &Values, registers: &mut Registers, temporaries: &mut [Values]) {
    match place.space {
        Space::Register => registers.write(place.offset, place.width, lanes, values),
        Space::Flag => registers.set_flag(place.offset, lanes, values),
        Space::Temporary => {
            let index = usize::try_from(place.offset).unwrap_or(usize::MAX);
            let mask = if place.width >= 64 { u64::MAX } else { (1 << place.width) - 1 };
            if let Some(temporary) = temporaries.get_mut(index) {
                Bits(lanes).for_each(|lane| temporary[lane] = values[lane] & mask);
            }
        }
        _ => {}
    }
}

/// Lanes by where they go.
fn group(targets: &Values, lanes: u32, groups: &mut Vec<(u64, u32)>) {
    for lane in Bits(lanes) {
        match groups.iter_mut().find(|group| group.0 == targets[lane]) {
            Some(group) => group.1 |= 1 << lane,
            None => groups.push((targets[lane], 1 << lane)),
        }
    }
}
