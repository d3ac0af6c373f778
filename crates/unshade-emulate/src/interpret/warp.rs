//! Interpreted warps: 32 lanes that execute the steps of a function together.
//!
//! A frame has the slots of a call. Its lanes are in groups, each at a step; the group at the lowest step runs, and groups
//! at the same step are one. A call makes a frame for the lanes that call; the others wait until it returns.

use unshade_ir::code::{Operation, Step, WORDS};

use super::program::Program;
use crate::barrier::{Arrival, BarrierResult};
use crate::environment::{Environment, LANES};
use crate::execute::LaneFault;
use crate::fault::Reason;
use crate::lanes::{Bits, Values};

/// The state of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// Waits at a barrier.
    Waiting,
    /// All lanes have exited.
    #[default]
    Exited,
}

/// Maximum number of calls inside each other.
const MAX_FRAMES: usize = 4096;

/// The slots and the lanes of a call.
pub(super) struct Frame {
    /// The number of the function.
    pub(super) function: usize,
    /// The position of its first slot.
    pub(super) base: usize,
    /// Where its local memory starts.
    pub(super) local: u32,
    /// The words of its arguments, by lane.
    pub(super) arguments: Vec<[u32; LANES]>,
    /// The words of its result so far, by lane; a single value is in the first one.
    pub(super) results: [Values; WORDS as usize],
    /// The caller's slot for the result, if it wants one, and its number of words.
    pub(super) out: Option<(usize, u32)>,
    /// The step of the lanes that run.
    step: u32,
    /// The lanes that run.
    pub(super) active: u32,
    /// The other groups: step and lanes.
    groups: Vec<(u32, u32)>,
    /// The lanes that called.
    lanes: u32,
}

/// A warp.
#[derive(Default)]
pub(super) struct Warp {
    /// Its index in the block.
    pub(super) number: u32,
    /// The lanes that have not exited.
    pub(super) live: u32,
    pub(super) state: State,
    pub(super) frames: Vec<Frame>,
    pub(super) values: Vec<Values>,
    /// The slot and lanes that get the result of the barrier at which the warp waits.
    pub(super) barrier_result: Option<(usize, u32)>,
    /// The last operation.
    last: Option<(usize, Operation)>,
}

impl Warp {
    /// Resets the warp to run the kernel in these lanes.
    pub(super) fn start(&mut self, number: u32, lanes: u32, program: &Program<'_>) {
        self.number = number;
        self.live = lanes;
        self.frames.clear();
        self.values.clear();
        self.barrier_result = None;
        self.last = None;
        self.state = if lanes == 0 { State::Exited } else { State::Running };
        let slots = program.functions[program.entry].code.slots as usize;
        self.values.resize(slots, [0; LANES]);
        self.frames.push(Frame::new(program.entry, lanes));
    }

    /// Continues after a barrier.
    pub(super) fn resume(&mut self, result: &BarrierResult) {
        self.state = State::Running;
        if let Some((slot, lanes)) = self.barrier_result.take()
            && let Some(out) = self.values.get_mut(slot)
        {
            Bits(lanes).for_each(|lane| out[lane] = result[lane].into());
        }
    }

    /// Returns the function, the address and the text of the last operation.
    pub(super) fn position(&self, program: &Program<'_>) -> (String, u32, String) {
        let Some((function, operation)) = &self.last else { return Default::default() };
        let name = program.functions[*function].code.name.clone();
        (name, operation.address, format!("{:?}", operation.op))
    }

    /// Executes one step; returns the arrival at a barrier.
    pub(super) fn step(
        &mut self,
        program: &Program<'_>,
        env: &mut Environment<'_>,
    ) -> Result<Option<Arrival>, LaneFault> {
        let Some(frame) = self.frames.last_mut() else {
            self.state = State::Exited;
            return Ok(None);
        };
        if frame.active == 0 {
            self.leave();
            return Ok(None);
        }
        let code = program.functions[frame.function].code;
        let step = frame.step;
        frame.step += 1;
        match &code.steps[step as usize] {
            Step::Operate(operation) => {
                self.last = Some((frame.function, *operation));
                return self.operate(code, operation, program, env);
            }
            Step::Join => frame.meet(),
            Step::Goto(to) => {
                frame.step = *to;
                frame.meet();
            }
            Step::Branch { condition, yes, no } => {
                let holds = &self.values[frame.base + *condition as usize];
                let taken = Bits(frame.active).filter(|lane| holds[*lane] & 1 != 0);
                let taken = taken.fold(0, |taken, lane| taken | 1 << lane);
                let other = frame.active & !taken;
                frame.part([(*yes, taken), (*no, other)]);
            }
            Step::Switch { selector, cases, otherwise } => {
                let selected = &self.values[frame.base + *selector as usize];
                let mut groups: Vec<(u32, u32)> = Vec::new();
                for lane in Bits(frame.active) {
                    let case = cases.iter().find(|case| case.0 == selected[lane]);
                    let Some(to) = case.map(|case| case.1).or(*otherwise) else {
                        let reason = Reason::Unsupported(format!("a switch without case {}", selected[lane]));
                        return Err((lane as u32, reason));
                    };
                    groups.push((to, 1 << lane));
                }
                frame.part(groups);
            }
            Step::End => {
                if self.frames.len() == 1 {
                    self.live &= !self.frames[0].active;
                }
                if let Some(frame) = self.frames.last_mut() {
                    frame.active = 0;
                    frame.next();
                }
            }
        }
        Ok(None)
    }

    /// Calls a function for the active lanes. `local` is the size of the caller's local memory.
    pub(super) fn call(
        &mut self,
        function: usize,
        lanes: u32,
        arguments: Vec<[u32; LANES]>,
        out: Option<(usize, u32)>,
        program: &Program<'_>,
        env: &Environment<'_>,
    ) -> Result<(), Reason> {
        let (Some(caller), Some(callee)) = (self.frames.last(), program.functions.get(function)) else {
            return Err(Reason::Undefined);
        };
        let local_size = program.functions[caller.function].code.local_size;
        let local = caller.local.saturating_add(local_size).next_multiple_of(16);
        let is_full = local as usize + callee.code.local_size as usize > env.local_size;
        if is_full || self.frames.len() >= MAX_FRAMES {
            return Err(Reason::StackOverflow);
        }
        let base = self.values.len();
        let size = base + callee.code.slots as usize;
        if (size * size_of::<Values>()) as u64 > env.device.memory_limit() {
            return Err(Reason::Memory(env.device.memory_limit()));
        }
        self.values.resize(size, [0; LANES]);
        self.frames.push(Frame { base, local, arguments, out, ..Frame::new(function, lanes) });
        Ok(())
    }

    /// Returns from a function whose lanes have all ended.
    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        if self.frames.is_empty() {
            self.state = State::Exited;
            return;
        }
        self.values.truncate(frame.base);
        if let Some((slot, words)) = frame.out {
            for (result, out) in
                frame.results.iter().zip(self.values.iter_mut().skip(slot)).take(words as usize)
            {
                Bits(frame.lanes).for_each(|lane| out[lane] = result[lane]);
            }
        }
    }
}

impl Frame {
    fn new(function: usize, lanes: u32) -> Self {
        Self {
            function,
            base: 0,
            local: 0,
            arguments: Vec::new(),
            results: [[0; LANES]; WORDS as usize],
            out: None,
            step: 0,
            active: lanes,
            groups: Vec::new(),
            lanes,
        }
    }

    /// Lets the active lanes continue at several steps.
    fn part(&mut self, groups: impl IntoIterator<Item = (u32, u32)>) {
        self.active = 0;
        for (step, lanes) in groups {
            self.add(step, lanes);
        }
        self.next();
    }

    /// Adds lanes to the group at a step.
    fn add(&mut self, step: u32, lanes: u32) {
        match self.groups.iter_mut().find(|group| group.0 == step) {
            Some(group) => group.1 |= lanes,
            None if lanes != 0 => self.groups.push((step, lanes)),
            None => {}
        }
    }

    /// Changes to the group at the lowest step, if there are several.
    fn meet(&mut self) {
        if !self.groups.is_empty() {
            self.add(self.step, self.active);
            self.next();
        }
    }

    /// Changes to the group at the lowest step.
    fn next(&mut self) {
        let lowest = (0..self.groups.len()).min_by_key(|index| self.groups[*index].0);
        (self.step, self.active) = lowest.map_or((0, 0), |index| self.groups.swap_remove(index));
    }
}
