//! A warp: 32 lanes, one instruction at a time.

use crate::barrier::Given;
use crate::block::Context;
use crate::execute::{self, Scratch, Target};
use crate::fault::Reason;
use crate::host;
use crate::lanes::Registers;
use crate::program::Program;
use crate::stack::{Entry, Stack, Token};
use crate::world::{LANES, World};

/// What a warp is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// It waits at a barrier.
    Waiting,
    /// All of its lanes have ended.
    Ended,
}

pub(crate) struct Warp {
    /// Its number in the block.
    pub(crate) number: u32,
    /// The lanes that run the next instruction.
    pub(crate) active: u32,
    /// The lanes that have not ended.
    live: u32,
    pub(crate) address: u64,
    pub(crate) stack: Stack,
    pub(crate) registers: Registers,
    pub(crate) state: State,
    pub(crate) barrier_result: Given,
    /// The instruction that was run last, or is being run.
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
            state: State::Ended,
            barrier_result: [0; LANES],
            last: 0,
        }
    }

    /// Makes it ready to run these lanes from an address on.
    pub(crate) fn start(&mut self, number: u32, lanes: u32, address: u64) {
        self.number = number;
        self.active = lanes;
        self.live = lanes;
        self.address = address;
        self.stack = Stack::default();
        self.registers.clear();
        self.state = if lanes == 0 { State::Ended } else { State::Running };
        self.barrier_result = [0; LANES];
    }

    /// Runs one instruction.
    pub(crate) fn step(
        &mut self,
        program: &Program<'_>,
        world: &mut World<'_>,
        scratch: &mut Scratch,
        context: &mut Context<'_>,
    ) -> Result<(), (u32, Reason)> {
        let first = self.active.trailing_zeros();
        self.last = self.address;
        let whole = |reason| (first, reason);
        if let Some(function) = host::by_address(self.address) {
            host::call(function, self, world)?;
            self.stack.wait(Token::Return, self.active).map_err(whole)?;
            self.active = 0;
            self.next();
            return Ok(());
        }
        let fetched = program.fetch(self.address).map_err(whole)?;
        let (address, active) = (self.address, self.active);
        let mut target = Target {
            registers: &mut self.registers,
            world,
            warp: self.number,
            live: self.live,
            barrier_result: self.barrier_result,
        };
        execute::run(fetched.lifted, active, &mut target, scratch)?;
        if let (Some(trace), Some(instruction)) = (&mut context.trace, fetched.instruction) {
            trace(&crate::launch::Step {
                block: world.position.block,
                warp: self.number,
                address,
                instruction,
                active,
                registers: &self.registers,
                depth: self.stack.entries().len(),
                lifted: fetched.lifted,
            });
        }
        self.go_on(program.following(address), scratch, context).map_err(whole)
    }

    /// Sends lanes where the instruction said.
    fn go_on(&mut self, next: u64, scratch: &mut Scratch, context: &Context<'_>) -> Result<(), Reason> {
        let effects = &mut scratch.effects;
        for (token, address, lanes) in effects.pushes.drain(..) {
            self.stack.push(Entry { token, lanes, address }, context.stack_limit)?;
        }
        // Nearly always all lanes go on with the next instruction.
        if effects.following == self.active {
            self.address = next;
            return Ok(());
        }
        if effects.exits != 0 {
            self.end(effects.exits);
        }
        for (token, lanes) in effects.pops.drain(..) {
            // A kernel that returns ends.
            let held = if token == Token::Return { self.stack.has(token, lanes) } else { lanes };
            self.end(lanes & !held);
            if held != 0 {
                self.stack.wait(token, held)?;
            }
        }
        let following = effects.following;
        self.active = 0;
        // The lanes that jump wait for those that don't, and those for the ones that call.
        for (address, lanes) in effects.jumps.drain(..) {
            self.turn(lanes, address, context)?;
        }
        self.turn(following, next, context)?;
        for (address, lanes) in effects.calls.drain(..) {
            self.turn(lanes, address, context)?;
            self.stack.push(Entry { token: Token::Return, lanes, address: next }, context.stack_limit)?;
        }
        self.next();
        Ok(())
    }

    /// Lanes go on at an address; those that were active until now wait for them.
    fn turn(&mut self, lanes: u32, address: u64, context: &Context<'_>) -> Result<(), Reason> {
        if lanes == 0 {
            return Ok(());
        }
        if self.active != 0 {
            let entry = Entry { token: Token::Way, lanes: self.active, address: self.address };
            self.stack.push(entry, context.stack_limit)?;
        }
        (self.active, self.address) = (lanes, address);
        Ok(())
    }

    fn end(&mut self, lanes: u32) {
        if lanes != 0 {
            self.live &= !lanes;
            self.stack.remove(lanes);
        }
    }

    /// If no lane is active, the topmost entry of the stack goes on.
    fn next(&mut self) {
        if self.active != 0 {
            return;
        }
        match self.stack.pop() {
            Some(entry) => (self.active, self.address) = (entry.lanes, entry.address),
            None => self.state = State::Ended,
        }
    }
}
