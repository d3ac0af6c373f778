//! Operations of a warp: those that are more than a number for each lane.
//!
//! Each lane accesses memory in turn, lowest first, as in the emulator. Shared and local memory have addresses from 0 on;
//! generic ones go through the windows of [`environment`](crate::environment). The local memory of a call follows that of
//! its caller.

use unshade_ir::code::{Code, Input, NO_SLOT, Operation, WORDS};
use unshade_ir::intrinsic::{AtomicOp, Reduction, ShuffleMode, Timer, Vote};
use unshade_ir::special::LaneRelation;
use unshade_ir::{Axis, CalleeId, Intrinsic, Key, Number, Op, Space, Special, SymbolId};
use unshade_sass::semantics::Space as Memory;

use super::operate::compute;
use super::program::{self, Program};
use super::warp::Warp;
use crate::barrier::{Arrival, Kind};
use crate::environment::{Environment, LANES, LOCAL_WINDOW, SHARED_WINDOW};
use crate::execute::LaneFault;
use crate::fault::Reason;
use crate::intrinsics::Atomic;
use crate::lanes::{Bits, Values};
use crate::launch::PARAMETERS;
use crate::{atomic, cross_lane, host, special};

/// Maximum number of inputs of an operation that is executed for each lane: a format of `printf` and its arguments.
const MAX_INPUTS: usize = 40;

/// An operation with its surroundings.
struct Context<'a, 'e, 'd> {
    code: &'a Code,
    operation: &'a Operation,
    program: &'a Program<'a>,
    env: &'e mut Environment<'d>,
    /// The active lanes.
    lanes: u32,
}

impl Context<'_, '_, '_> {
    fn inputs(&self) -> &[Input] {
        self.code.inputs(self.operation)
    }

    fn first_lane(&self) -> u32 {
        self.lanes.trailing_zeros()
    }
}

impl Warp {
    /// Executes an operation for the active lanes; returns the arrival at a barrier.
    pub(super) fn operate(
        &mut self,
        code: &Code,
        operation: &Operation,
        program: &Program<'_>,
        env: &mut Environment<'_>,
    ) -> Result<Option<Arrival>, LaneFault> {
        let Some(lanes) = self.frames.last().map(|frame| frame.active) else { return Ok(None) };
        let mut context = Context { code, operation, program, env, lanes };
        let context = &mut context;
        match operation.op {
            Op::Constant(number) => self.set_all(operation, lanes, number),
            Op::Undefined => self.set_all(operation, lanes, 0),
            Op::Symbol(id) => {
                let address = self.symbol(id, context).map_err(|reason| (context.first_lane(), reason))?;
                self.set_all(operation, lanes, address);
            }
            Op::Phi => {}
            Op::Copy => self.copy(context),
            Op::Parameter(offset) => self.each(context, |warp, context, _, lane| {
                warp.parameter(offset, context.operation.width, lane, context.env)
            })?,
            Op::Special(special) => self.each(context, |warp, context, _, lane| {
                warp.special(special, context.program, context.env, lane)
            })?,
            Op::Load(space) => self.each(context, |warp, context, inputs, lane| {
                let width = context.operation.width;
                warp.load(space, inputs[0], context.inputs()[0].width, width, lane, context.env)
            })?,
            Op::Store(space) => self.each(context, |warp, context, inputs, lane| {
                let [address, value] = [context.inputs()[0].width, context.inputs()[1].width];
                let (memory, at) = warp.place(space, inputs[0], address);
                context.env.store(memory, at, inputs[1], value, warp.thread(lane)).map(|()| 0)
            })?,
            Op::Result(word) => self.word(word, context),
            Op::Return => self.keep_result(context),
            Op::Invoke(callee) => {
                self.invoke(callee, context).map_err(|reason| (context.first_lane(), reason))?;
            }
            Op::ImageRead(image) | Op::ImageWrite(image) => {
                let is_write = matches!(operation.op, Op::ImageWrite(_));
                for lane in Bits(lanes) {
                    let inputs = self.gather(context, lane);
                    let image = &code.images[image];
                    let words =
                        super::image::access(image, is_write, &inputs, context.code, program, context.env);
                    self.set_words(operation, lane, words.map_err(|reason| (lane as u32, reason))?);
                }
            }
            Op::Unlifted(_) => {
                let reason = Reason::Unsupported(String::from("an instruction that could not be lifted"));
                return Err((context.first_lane(), reason));
            }
            Op::Call(intrinsic) if !intrinsic.is_pure() => return self.call_intrinsic(intrinsic, context),
            op => {
                let width = context.inputs().first().map_or(32, |input| input.width);
                let flushes = code.flushes && has_floats(op, context);
                let divides = matches!(op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem);
                self.each(context, |_, context, inputs, _| {
                    let out = context.operation.width;
                    context.env.divisions_by_zero += u64::from(divides && inputs.get(1) == Some(&0));
                    let result =
                        if flushes { flushed(op, inputs, context) } else { compute(op, inputs, width, out) };
                    result.ok_or_else(|| Reason::Unsupported(format!("{op:?}")))
                })?;
            }
        }
        Ok(None)
    }

    /// Computes a result for each active lane from its inputs.
    fn each(
        &mut self,
        context: &mut Context<'_, '_, '_>,
        work: impl Fn(&Self, &mut Context<'_, '_, '_>, &[u64], usize) -> Result<u64, Reason>,
    ) -> Result<(), LaneFault> {
        let base = self.base();
        let count = context.inputs().len();
        if count > MAX_INPUTS {
            let reason = Reason::Unsupported(format!("an operation with {count} inputs"));
            return Err((context.first_lane(), reason));
        }
        let mut inputs = [0; MAX_INPUTS];
        let out = context.operation.out;
        for lane in Bits(context.lanes) {
            for (value, input) in inputs.iter_mut().zip(context.inputs()) {
                *value = self.values.get(base + input.slot as usize).map_or(0, |values| values[lane]);
            }
            let result =
                work(self, context, &inputs[..count], lane).map_err(|reason| (lane as u32, reason))?;
            if out != NO_SLOT {
                self.values[base + out as usize][lane] = result;
            }
        }
        Ok(())
    }

    /// Returns the inputs of a lane.
    fn gather(&self, context: &Context<'_, '_, '_>, lane: usize) -> Vec<u64> {
        let values = context.inputs().iter().map(|input| self.values.get(self.base() + input.slot as usize));
        values.map(|values| values.map_or(0, |values| values[lane])).collect()
    }

    /// Returns an input of all lanes.
    fn input(&self, index: usize, context: &Context<'_, '_, '_>) -> Values {
        let input = context.inputs().get(index);
        let values = input.and_then(|input| self.values.get(self.base() + input.slot as usize));
        values.copied().unwrap_or([0; LANES])
    }

    fn base(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.base)
    }

    fn thread(&self, lane: usize) -> u32 {
        32 * self.number + lane as u32
    }

    /// Sets the result in the active lanes.
    fn set(&mut self, operation: &Operation, lanes: u32, result: &Values) {
        let base = self.base();
        if operation.out != NO_SLOT {
            let out = &mut self.values[base + operation.out as usize];
            Bits(lanes).for_each(|lane| out[lane] = unshade_ir::fold::masked(result[lane], operation.width));
        }
    }

    fn set_all(&mut self, operation: &Operation, lanes: u32, number: u64) {
        self.set(operation, lanes, &[number; LANES]);
    }

    /// Sets the words of a result in a lane.
    fn set_words(&mut self, operation: &Operation, lane: usize, words: [u32; 4]) {
        if operation.out == NO_SLOT {
            return;
        }
        let first = self.base() + operation.out as usize;
        for (slot, word) in self.values.iter_mut().skip(first).zip(words) {
            slot[lane] = word.into();
        }
    }

    /// Copies a value of one or several words.
    fn copy(&mut self, context: &Context<'_, '_, '_>) {
        let base = self.base();
        let words = if context.operation.width > 64 { WORDS as usize } else { 1 };
        let (from, to) = (base + context.inputs()[0].slot as usize, base + context.operation.out as usize);
        for word in 0..words {
            let value = self.values[from + word];
            let out = &mut self.values[to + word];
            Bits(context.lanes).for_each(|lane| out[lane] = value[lane]);
        }
    }

    /// Sets the result to one word of an input.
    fn word(&mut self, word: u8, context: &Context<'_, '_, '_>) {
        let slot = self.base() + context.inputs()[0].slot as usize + usize::from(word);
        let value = self.values.get(slot).copied().unwrap_or([0; LANES]);
        self.set(context.operation, context.lanes, &value);
    }

    fn symbol(&self, id: SymbolId, context: &Context<'_, '_, '_>) -> Result<u64, Reason> {
        let function = self.frames.last().and_then(|frame| context.program.functions.get(frame.function));
        let address = function.and_then(|function| function.symbols.get(id.index()).copied().flatten());
        address.ok_or_else(|| {
            let name = &context.code.symbols[id].name;
            Reason::Launch(format!("{} is not in memory", unshade_core::Escaped(name.as_bytes())))
        })
    }

    /// Reads bytes of the parameters.
    fn parameter(&self, offset: u32, width: u8, lane: usize, env: &Environment<'_>) -> Result<u64, Reason> {
        let Some(frame) = self.frames.last().filter(|_| self.frames.len() > 1) else {
            return env.constant(PARAMETERS + u64::from(offset), width);
        };
        let word = |index: u32| frame.arguments.get(index as usize).map_or(0, |words| u64::from(words[lane]));
        let both = word(offset / 4) | word(offset / 4 + 1) << 32;
        Ok(unshade_ir::fold::masked(both >> (8 * (offset % 4)), width))
    }

    fn special(
        &self,
        special: Special,
        program: &Program<'_>,
        env: &Environment<'_>,
        lane: usize,
    ) -> Result<u64, Reason> {
        let axis = |axis: Axis| match axis {
            Axis::X => 0,
            Axis::Y => 1,
            Axis::Z => 2,
        };
        let position = &env.block.position;
        let number = match special {
            Special::ThreadIndex(of) => return Ok(position.thread(self.thread(lane))[axis(of)].into()),
            Special::BlockIndex(of) => return Ok(position.block[axis(of)].into()),
            Special::BlockSize(of) => return Ok(position.threads[axis(of)].into()),
            Special::GridSize(of) => return Ok(env.blocks[axis(of)].into()),
            Special::SharedWindow => return Ok(SHARED_WINDOW),
            Special::LocalWindow => return Ok(LOCAL_WINDOW + self.local()),
            Special::ConstantWindow => return Ok(program::constant_window(program.module, 3)),
            Special::Lane => 0,
            Special::VirtualConfiguration => 2,
            Special::VirtualId => 3,
            Special::LaneMask(relation) => match relation {
                LaneRelation::Equal => 56,
                LaneRelation::Less => 57,
                LaneRelation::LessEqual => 58,
                LaneRelation::Greater => 59,
                LaneRelation::GreaterEqual => 60,
            },
        };
        special::read(env, number, self.number, lane as u32, 0)
    }

    /// Returns where the local memory of the current call starts.
    fn local(&self) -> u64 {
        self.frames.last().map_or(0, |frame| frame.local.into())
    }

    /// Returns the memory and the address of an access; `width` is that of the address.
    fn place(&self, space: Space, address: u64, width: u8) -> (Memory, u64) {
        match space {
            Space::Shared if width == 32 => (Memory::Shared, address),
            Space::Local if width == 32 => {
                (Memory::Local, u64::from(low_half(address)).wrapping_add(self.local()) & 0xffff_ffff)
            }
            _ => (Memory::Ram, address),
        }
    }

    fn load(
        &self,
        space: Space,
        address: u64,
        address_width: u8,
        width: u8,
        lane: usize,
        env: &mut Environment<'_>,
    ) -> Result<u64, Reason> {
        let in_bank = match space {
            Space::Constant(bank) if address_width == 32 => {
                Some(u64::from(bank) << 16 | u64::from(low_half(address)))
            }
            _ => program::in_constant_window(address),
        };
        if let Some(at) = in_bank {
            return env.constant(at, width);
        }
        let (memory, at) = self.place(space, address, address_width);
        env.load(memory, at, width, self.thread(lane))
    }

    /// Keeps the result of the function for when all its lanes have ended.
    fn keep_result(&mut self, context: &Context<'_, '_, '_>) {
        for index in 0..context.inputs().len() {
            let value = self.input(index, context);
            if let Some(result) = self.frames.last_mut().and_then(|frame| frame.results.get_mut(index)) {
                Bits(context.lanes).for_each(|lane| result[lane] = value[lane]);
            }
        }
    }

    /// Calls a device function, or those that pointers lead to: lanes with the same one together.
    fn invoke(&mut self, id: CalleeId, context: &Context<'_, '_, '_>) -> Result<(), Reason> {
        let callee = &context.code.callees[id];
        let out = (context.operation.out != NO_SLOT).then(|| {
            let words = if context.operation.width > 64 { WORDS } else { 1 };
            (self.base() + context.operation.out as usize, words)
        });
        let mut groups: Vec<(usize, u32)> = Vec::new();
        let first = usize::from(callee.is_pointer());
        if callee.is_pointer() {
            let addresses = self.input(0, context);
            for lane in Bits(context.lanes) {
                let function = context.program.function_at(addresses[lane])?;
                match groups.iter_mut().find(|group| group.0 == function) {
                    Some(group) => group.1 |= 1 << lane,
                    None => groups.push((function, 1 << lane)),
                }
            }
        } else {
            let caller = self.frames.last().and_then(|frame| context.program.functions.get(frame.function));
            let function = caller.and_then(|caller| caller.callees.get(id.index()).copied().flatten());
            let missing = || Reason::Launch(format!("there is no code for {}", callee.name));
            groups.push((function.ok_or_else(missing)?, context.lanes));
        }
        let mut arguments: Vec<[u32; LANES]> = Vec::new();
        for (index, parameter) in callee.parameters.iter().enumerate() {
            let value = self.input(first + index, context);
            let word = (parameter.offset / 4) as usize;
            arguments.resize(arguments.len().max(word + 2), [0; LANES]);
            arguments[word] = value.map(low_half);
            if parameter.size > 4 {
                arguments[word + 1] = value.map(|value| low_half(value >> 32));
            }
        }
        // The frame of the last group runs first.
        let base = self.frames.len();
        for (function, lanes) in groups {
            self.call(function, lanes, arguments.clone(), out, context.program, context.env)?;
        }
        debug_assert!(self.frames.len() > base);
        Ok(())
    }

    /// Executes an intrinsic that is more than a number for each lane.
    fn call_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        context: &mut Context<'_, '_, '_>,
    ) -> Result<Option<Arrival>, LaneFault> {
        let lanes = context.lanes;
        let first_lane = context.first_lane();
        if intrinsic.exchanges_lanes() && lanes != self.live && context.env.block.races.is_some() {
            let reason = format!(
                "lanes {lanes:#x} exchange values while the warp, with lanes {:#x}, is diverged",
                self.live
            );
            return Err((first_lane, Reason::Order(reason)));
        }
        let mut result = [0; LANES];
        match intrinsic {
            Intrinsic::Shuffle(mode) => {
                let segment = self.input(2, context);
                let clamp = if mode == ShuffleMode::Up { 0 } else { 0x1f };
                let mask = segment.map(|segment| (32_u64.wrapping_sub(segment) & 0x1f) << 8 | clamp);
                let mode = match mode {
                    ShuffleMode::Index => 0,
                    ShuffleMode::Up => 1,
                    ShuffleMode::Down => 2,
                    ShuffleMode::Xor => 3,
                };
                let values = [self.input(0, context), self.input(1, context), mask, [mode; LANES]];
                cross_lane::shuffle(&values, lanes, context.env.absent, &mut result);
            }
            Intrinsic::ShuffleMasked => {
                let values: Vec<Values> = (0..4).map(|index| self.input(index, context)).collect();
                cross_lane::shuffle(&values, lanes, context.env.absent, &mut result);
            }
            Intrinsic::ShuffleInside => {
                let values: Vec<Values> = (0..3).map(|index| self.input(index, context)).collect();
                cross_lane::shuffle_inside(&values, lanes, &mut result);
            }
            Intrinsic::Vote(_) | Intrinsic::VoteEqual => {
                let mode = match intrinsic {
                    Intrinsic::Vote(Vote::All) => 0,
                    Intrinsic::Vote(Vote::Any) => 1,
                    _ => 2,
                };
                cross_lane::vote(&[self.input(0, context), [mode; LANES]], lanes, &mut result);
            }
            Intrinsic::Ballot => cross_lane::ballot(&[self.input(0, context)], lanes, &mut result),
            _ if intrinsic.is_barrier() => return Ok(Some(self.arrive(intrinsic, context))),
            // The emulator keeps memory in order.
            Intrinsic::Fence(_) => return Ok(None),
            Intrinsic::Time(timer) => {
                let time = context.env.clock();
                let is_high = matches!(timer, Timer::ClockHigh | Timer::GlobalHigh);
                result = [if is_high { time >> 32 } else { time }; LANES];
            }
            Intrinsic::Trap => return Err((first_lane, Reason::Trap)),
            _ => {
                self.each(context, |warp, context, inputs, lane| {
                    warp.memory_intrinsic(intrinsic, inputs, lane, context)
                })?;
                return Ok(None);
            }
        }
        self.set(context.operation, lanes, &result);
        Ok(None)
    }

    /// Executes an intrinsic that accesses memory, or calls the host, for one lane.
    fn memory_intrinsic(
        &self,
        intrinsic: Intrinsic,
        inputs: &[u64],
        lane: usize,
        context: &mut Context<'_, '_, '_>,
    ) -> Result<u64, Reason> {
        let thread = self.thread(lane);
        let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
        let has_result = context.operation.out != NO_SLOT;
        // Addresses of 32 bits are those of shared memory, unless all are that narrow.
        let is_shared = context.inputs().first().is_some_and(|input| input.width == 32)
            && context.program.module.has_64_bit_addresses();
        let address = if is_shared { SHARED_WINDOW.wrapping_add(at(0)) } else { at(0) };
        let width = context.inputs().get(1).map_or(32, |input| input.width);
        match intrinsic {
            Intrinsic::Atomic(op, ty) => {
                let mut arguments = [0; 16];
                arguments[..3].copy_from_slice(&[address, at(1), type_number(ty)]);
                atomic::run(context.env, atomic_of(op), &arguments, width, thread, has_result)
            }
            Intrinsic::AtomicCompareExchange(_) => {
                let mut arguments = [0; 16];
                arguments[..3].copy_from_slice(&[address, at(1), at(2)]);
                atomic::compare_and_swap(context.env, &arguments, width, thread)
            }
            Intrinsic::Malloc => Ok(host::allocate(context.env, at(0), thread)),
            Intrinsic::Free => host::free(context.env, at(0), thread).map(|()| 0),
            Intrinsic::AssertFail => {
                let reason = host::assertion(context.env, [at(0), at(1), at(2), at(3)], thread);
                Err(reason.unwrap_or_else(|reason| reason))
            }
            Intrinsic::Printf => {
                let mut rest = inputs.iter().skip(1);
                let mut next = |_: &mut Environment<'_>, _| Ok(rest.next().copied().unwrap_or(0));
                host::print_with(context.env, at(0), &mut next, thread)
            }
            other => Err(Reason::Unsupported(other.to_string())),
        }
    }

    /// Arrives at a barrier.
    fn arrive(&mut self, intrinsic: Intrinsic, context: &Context<'_, '_, '_>) -> Arrival {
        let lane = context.first_lane() as usize & 31;
        let number = |warp: &Self, index: usize| low_half(warp.input(index, context)[lane]);
        let holds = self.input(0, context);
        let predicates = Bits(context.lanes).filter(|lane| holds[*lane] != 0);
        let predicates = predicates.fold(0, |mask, lane| mask | 1 << lane);
        let (barrier, threads, kind) = match intrinsic {
            Intrinsic::BarrierSync => (number(self, 0) & 15, number(self, 1) & 0xfff, Kind::Sync),
            Intrinsic::BarrierArrive => (number(self, 0) & 15, number(self, 1) & 0xfff, Kind::Arrive),
            Intrinsic::BarrierReduce(op) => {
                let mode = match op {
                    Reduction::Count => 0,
                    Reduction::And => 1,
                    Reduction::Or => 2,
                };
                if context.operation.out != NO_SLOT {
                    let slot = self.base() + context.operation.out as usize;
                    self.barrier_result = Some((slot, context.lanes));
                }
                (0, 0, Kind::Reduce(mode))
            }
            _ => (0, 0, Kind::Sync),
        };
        Arrival { barrier: barrier as usize, threads, kind, lanes: context.lanes, predicates }
    }
}

/// Returns whether an operation has 32-bit floats that it computes with.
fn has_floats(op: Op, context: &Context<'_, '_, '_>) -> bool {
    let takes = (0..).zip(context.inputs()).any(|(index, input)| input.width == 32 && op.takes_float(index));
    !op.moves_float() && (takes || op.gives_float() && context.operation.width == 32)
}

/// Computes as [`compute`] does, with subnormal floats as zeros.
fn flushed(op: Op, inputs: &[u64], context: &Context<'_, '_, '_>) -> Option<u64> {
    const FLUSH: Op = Op::Call(Intrinsic::FlushToZero);
    let mut taken = [0; MAX_INPUTS];
    let taken = taken.get_mut(..inputs.len())?;
    for (index, (to, (from, input))) in taken.iter_mut().zip(inputs.iter().zip(context.inputs())).enumerate()
    {
        let is_float = input.width == 32 && op.takes_float(index);
        *to = if is_float { compute(FLUSH, &[*from], 32, 32)? } else { *from };
    }
    let width = context.inputs().first().map_or(32, |input| input.width);
    let out = context.operation.width;
    let result = compute(op, taken, width, out)?;
    if out == 32 && op.gives_float() { compute(FLUSH, &[result], 32, 32) } else { Some(result) }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half of a value")]
fn low_half(value: u64) -> u32 {
    value as u32
}

/// Returns the number of a type in p-code.
fn type_number(ty: Number) -> u64 {
    match ty {
        Number::U32 => 0,
        Number::I32 => 1,
        Number::U64 => 2,
        Number::F32 => 3,
        Number::F64 => 4,
        Number::I64 => 5,
    }
}

fn atomic_of(op: AtomicOp) -> Atomic {
    match op {
        AtomicOp::Add => Atomic::Add,
        AtomicOp::Min => Atomic::Min,
        AtomicOp::Max => Atomic::Max,
        AtomicOp::Inc => Atomic::Inc,
        AtomicOp::Dec => Atomic::Dec,
        AtomicOp::And => Atomic::And,
        AtomicOp::Or => Atomic::Or,
        AtomicOp::Xor => Atomic::Xor,
        AtomicOp::Exchange => Atomic::Exchange,
    }
}
