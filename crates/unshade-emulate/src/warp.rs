//! Warps: 32 lanes that execute one instruction at a time.

use crate::barrier::BarrierResult;
use crate::context::{Context, Step};
use crate::environment::{Environment, LANES};
use crate::execute::{self, Scratch, WarpState};
use crate::fault::Reason;
use crate::host;
use crate::lanes::Registers;
use crate::program::Program;
use crate::record;
use crate::stack::{Entry, Stack, Token};

/// The state of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// Waits at a barrier.
    Waiting,
    /// All lanes have exited.
    Exited,
}

pub(crate) struct Warp {
    /// Its index in the block.
    pub(crate) number: u32,
    /// The lanes that execute the next instruction.
    pub(crate) active: u32,
    /// The lanes that have not exited.
    pub(crate) live: u32,
    pub(crate) address: u64,
    pub(crate) stack: Stack,
    pub(crate) registers: Registers,
    pub(crate) state: State,
    pub(crate) barrier_result: BarrierResult,
    /// The address of the current or last instruction.
    pub(crate) last: u64,
}

impl Warp {
    pub(crate) fn new() -> Self {
        Self {
            number: 0,
            active: 0,
            live: 0,
            address: 0,
            stack: Stack::default(),
            registers: Registers::new(),
            state: State::Exited,
            barrier_result: [0; LANES],
            last: 0,
        }
    }

    /// Resets the warp to run these lanes from an address on.
    pub(crate) fn start(&mut self, number: u32, lanes: u32, address: u64) {
        self.number = number;
        self.active = lanes;
        self.live = lanes;
        self.address = address;
        self.stack = Stack::default();
        self.registers.clear();
        self.state = if lanes == 0 { State::Exited } else { State::Running };
        self.barrier_result = [0; LANES];
    }

    /// Executes one instruction.
    pub(crate) fn step(
        &mut self,
        program: &Program<'_>,
        env: &mut Environment<'_>,
        scratch: &mut Scratch,
        context: &mut Context<'_>,
    ) -> Result<(), (u32, Reason)> {
        let first = self.active.trailing_zeros();
        self.last = self.address;
        let with_lane = |reason| (first, reason);
        if let Some(function) = host::by_address(self.address) {
            if let Some(checks) = &mut env.checks {
                checks.begin_call(self, program);
            }
            host::call(function, &mut self.registers, self.active, self.number, env)?;
            env.report_pending(self, program);
            self.stack.wait(Token::Return, self.active).map_err(with_lane)?;
            self.active = 0;
            self.resume();
            return Ok(());
        }
        let fetched = program.fetch(self.address).map_err(with_lane)?;
        let (address, active) = (self.address, self.active);
        if let Some(recorder) = &mut env.recorder {
            recorder.set_block(env.block.position.block);
        }
        if let Some(checks) = &mut env.checks {
            checks.begin(address, &fetched);
        }
        let mut state = WarpState {
            registers: &mut self.registers,
            env,
            number: self.number,
            live: self.live,
            barrier_result: self.barrier_result,
        };
        execute::run(fetched.lifted, active, &mut state, scratch)?;
        env.report_pending(self, program);
        if env.recorder.is_some() {
            record::instruction(self, address, active, &fetched, program, env);
        }
        if let (Some(trace), Some(instruction)) = (&mut context.trace, fetched.instruction) {
            trace(&Step {
                block: env.block.position.block,
                warp: self.number,
                address,
                instruction,
                active,
                registers: &self.registers,
                depth: self.stack.entries().len(),
                lifted: fetched.lifted,
            });
        }
        self.apply(program.following(address), scratch, context).map_err(with_lane)
    }

    /// Applies an instruction's effects on control flow.
    fn apply(&mut self, next: u64, scratch: &mut Scratch, context: &Context<'_>) -> Result<(), Reason> {
        let effects = &mut scratch.effects;
        for (token, address, lanes) in effects.pushes.drain(..) {
            self.stack.push(Entry { token, lanes, address }, context.stack_limit)?;
        }
        // The common case: all lanes continue at the next instruction.
        if effects.following == self.active {
            self.address = next;
            return Ok(());
        }
        if effects.exits != 0 {
            self.exit(effects.exits);
        }
        for (token, lanes) in effects.pops.drain(..) {
            // Returning from the kernel itself exits.
            let held = if token == Token::Return { self.stack.has(token, lanes) } else { lanes };
            self.exit(lanes & !held);
            if held != 0 {
                self.stack.wait(token, held)?;
            }
        }
        let following = effects.following;
        self.active = 0;
        // Branching lanes wait for those that fall through, and those wait for lanes that call.
        for (address, lanes) in effects.jumps.drain(..) {
            self.activate(lanes, address, context)?;
        }
        self.activate(following, next, context)?;
        for (address, lanes) in effects.calls.drain(..) {
            self.activate(lanes, address, context)?;
            self.stack.push(Entry { token: Token::Return, lanes, address: next }, context.stack_limit)?;
        }
        self.resume();
        Ok(())
    }

    /// Makes lanes active at an address, and pushes those that were active before.
    fn activate(&mut self, lanes: u32, address: u64, context: &Context<'_>) -> Result<(), Reason> {
        if lanes == 0 {
            return Ok(());
        }
        if self.active != 0 {
            let entry = Entry { token: Token::Divergence, lanes: self.active, address: self.address };
            self.stack.push(entry, context.stack_limit)?;
        }
        (self.active, self.address) = (lanes, address);
        Ok(())
    }

    fn exit(&mut self, lanes: u32) {
        if lanes != 0 {
            self.live &= !lanes;
            self.stack.remove(lanes);
        }
    }

    /// If no lane is active, continues with the topmost entry of the stack.
    fn resume(&mut self) {
        if self.active != 0 {
            return;
        }
        match self.stack.pop() {
            Some(entry) => (self.active, self.address) = (entry.lanes, entry.address),
            None => self.state = State::Exited,
        }
    }
}
