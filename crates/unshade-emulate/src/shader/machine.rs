//! The machine: a wave of lanes that run the same code, with masks where they diverge.
//!
//! Each call has a stack of entries: a block, the block where it ends, and a mask of lanes. The top entry runs. Where its
//! lanes branch to different blocks, the entry continues at the block where the branches meet again, and one entry for
//! each target is put on top of it. An entry whose block is its end is popped.

use super::code::{Code, target};
use super::fault::{Budget, Fault, Reason};
use super::inputs::Inputs;
use super::resource::Resources;
use super::stage::Lane;
use super::variable::{Layout, Memories};
use crate::trace::Recorder;
use unshade_ir::shader::interface::ShaderProgram;
use unshade_ir::{BlockId, End, Op, ShaderOp, ValueId};

/// Number of lanes of a wave.
pub(super) const LANES: usize = 32;

/// What all waves share.
pub(super) struct Machine<'p> {
    pub(super) program: &'p ShaderProgram,
    pub(super) codes: Vec<Option<Code<'p>>>,
    pub(super) inputs: &'p Inputs,
    pub(super) budget: Budget,
    /// The recorder of a thread, if there is one.
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) layout: Layout,
    pub(super) resources: Resources,
    /// The memory of the group.
    pub(super) group: Vec<u8>,
    pub(super) payload: Vec<u8>,
    /// What the control points of a patch are, after the first phase of a hull shader.
    pub(super) control_points: Vec<Lane>,
    /// Number of vertices and primitives of a mesh, per group.
    pub(super) mesh_counts: Option<[u32; 2]>,
    /// The groups that an amplification shader starts, with the payload.
    pub(super) dispatches: Vec<([u32; 3], Vec<u8>)>,
}

/// Lanes that run together.
pub(super) struct Wave {
    frames: Vec<Frame>,
    /// The number of the first thread, in its group or among all.
    pub(super) first: u32,
    /// The group.
    pub(super) group: [u32; 3],
    /// The instance of a geometry shader.
    pub(super) instance: u32,
    /// Lanes that only help with derivatives.
    pub(super) helpers: u32,
    /// The variables of all lanes.
    pub(super) variables: Vec<u8>,
    /// What lanes have written.
    pub(super) lanes: Vec<Lane>,
}

/// A call.
pub(super) struct Frame {
    /// The number of the function.
    pub(super) function: usize,
    /// Numbers by slot, then by lane.
    registers: Vec<u64>,
    stack: Vec<Entry>,
    /// Arguments by number, then by lane of the vector and of the wave.
    arguments: Vec<Vec<u64>>,
    /// The value of the caller that takes the result, and its lanes so far.
    caller: ValueId,
    result: Vec<u64>,
    result_lanes: usize,
}

/// Lanes at a place.
#[derive(Clone, Copy)]
struct Entry {
    block: BlockId,
    step: usize,
    end: Option<BlockId>,
    mask: u32,
}

/// Why a wave stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Barrier,
    End,
}

/// What follows a step.
pub(super) enum Next {
    Step,
    Call(usize),
    Barrier,
}

/// Returns the lanes of a mask.
pub(super) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

impl Frame {
    /// Returns a lane of a value in a lane of the wave. A scalar counts for all lanes.
    #[inline]
    pub(super) fn read(&self, code: &Code<'_>, id: ValueId, lane: usize, thread: usize) -> u64 {
        if id == ValueId::NONE || !code.has_slot(id) {
            return 0;
        }
        let lanes = usize::from(code.function.lanes(id));
        let lane = if lanes == 1 { 0 } else { lane };
        if lane >= lanes {
            return 0;
        }
        self.registers.get((code.slot(id) + lane) * LANES + thread).copied().unwrap_or(0)
    }

    /// Sets a lane of a value.
    #[inline]
    pub(super) fn write(&mut self, code: &Code<'_>, id: ValueId, lane: usize, thread: usize, number: u64) {
        if code.has_slot(id)
            && lane < usize::from(code.function.lanes(id))
            && let Some(slot) = self.registers.get_mut((code.slot(id) + lane) * LANES + thread)
        {
            *slot = number;
        }
    }

    pub(super) fn argument(&self, number: usize, lane: usize, thread: usize) -> u64 {
        let Some(argument) = self.arguments.get(number) else { return 0 };
        let last = (argument.len() / LANES).saturating_sub(1);
        argument.get(lane.min(last) * LANES + thread).copied().unwrap_or(0)
    }

    /// Returns the active lanes.
    pub(super) fn mask(&self) -> u32 {
        self.stack.last().map_or(0, |entry| entry.mask)
    }
}

impl Wave {
    /// Returns the call that runs.
    pub(super) fn frame(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut()
    }

    /// Returns the call that runs, if it is one of this function.
    pub(super) fn frame_of(&self, function: usize) -> Option<&Frame> {
        self.frames.last().filter(|frame| frame.function == function)
    }
}

impl<'p> Machine<'p> {
    pub(super) fn new(
        program: &'p ShaderProgram,
        inputs: &'p Inputs,
        mut budget: Budget,
    ) -> Result<Self, Fault> {
        let layout = Layout::new(program)?;
        budget.allocate(layout.group as usize)?;
        let mut codes = Vec::new();
        for info in &program.functions {
            codes.push(if info.is_declared { None } else { Some(Code::new(program, info)?) });
        }
        Ok(Self {
            program,
            codes,
            inputs,
            budget,
            recorder: None,
            group: vec![0; layout.group as usize],
            layout,
            resources: Resources::default(),
            payload: Vec::new(),
            control_points: Vec::new(),
            mesh_counts: None,
            dispatches: Vec::new(),
        })
    }

    /// Creates a wave that is about to run a function.
    pub(super) fn wave(&mut self, function: usize, first: u32, count: usize) -> Result<Wave, Fault> {
        let bytes = self.layout.thread as usize * LANES;
        self.budget.allocate(bytes)?;
        let mut wave = Wave {
            frames: Vec::new(),
            first,
            group: [0; 3],
            instance: 0,
            helpers: 0,
            variables: self.layout.threads(LANES),
            lanes: (0..count).map(|_| Lane::default()).collect(),
        };
        let mask = if count >= LANES { u32::MAX } else { (1 << count) - 1 };
        self.enter(&mut wave, function, mask, Vec::new(), ValueId::NONE, 0)?;
        Ok(wave)
    }

    /// Counts the memory of a wave as free.
    pub(super) fn release(&mut self, wave: &Wave) {
        self.budget.free(wave.variables.len());
    }

    fn enter(
        &mut self,
        wave: &mut Wave,
        function: usize,
        mask: u32,
        arguments: Vec<Vec<u64>>,
        caller: ValueId,
        result_lanes: usize,
    ) -> Result<(), Reason> {
        let code = self.codes.get(function).and_then(Option::as_ref).ok_or_else(|| {
            Reason::Function(
                self.program.functions.get(function).map_or_else(String::new, |info| info.name.clone()),
            )
        })?;
        let count = code.count as usize * LANES;
        self.budget.allocate(count * 8)?;
        let mut registers = vec![0; count];
        for (slot, number) in &code.constants {
            registers[*slot as usize * LANES..(*slot as usize + 1) * LANES].fill(*number);
        }
        let stack = match code.function.blocks.is_empty() {
            true => Vec::new(),
            false => vec![Entry { block: BlockId::ENTRY, step: 0, end: None, mask }],
        };
        let result = vec![0; result_lanes * LANES];
        wave.frames.push(Frame { function, registers, stack, arguments, caller, result, result_lanes });
        Ok(())
    }

    /// Runs a wave until it meets a barrier or ends.
    pub(super) fn run(&mut self, wave: &mut Wave) -> Result<Stop, Fault> {
        loop {
            let Some(frame) = wave.frames.last_mut() else { return Ok(Stop::End) };
            let Some(entry) = frame.stack.last_mut() else {
                self.leave(wave);
                continue;
            };
            if entry.end == Some(entry.block) && entry.step == 0 || entry.mask == 0 {
                frame.stack.pop();
                continue;
            }
            let (block, mask) = (entry.block, entry.mask);
            let Some(code) = self.codes[frame.function].as_ref() else { return Ok(Stop::End) };
            let Some(&id) = code.steps[block].get(entry.step) else {
                self.budget.step()?;
                self.branch(wave, block, mask)?;
                if let Some(recorder) = &mut self.recorder {
                    recorder.end_step();
                }
                continue;
            };
            entry.step += 1;
            let address = code.function.values[id].address;
            let lane = mask.trailing_zeros();
            let located = |reason: Reason| Fault::new(reason).at(address, lane);
            self.budget.step().map_err(located)?;
            let function = frame.function;
            let next = self.step(wave, id, mask).map_err(located)?;
            if self.recorder.is_some() {
                self.record(wave, function, id, mask);
            }
            match next {
                Next::Step => {}
                Next::Call(function) => self.call(wave, id, function, mask).map_err(located)?,
                Next::Barrier => return Ok(Stop::Barrier),
            }
        }
    }

    /// Runs a step.
    fn step(&mut self, wave: &mut Wave, id: ValueId, mask: u32) -> Result<Next, Reason> {
        let frame_index = wave.frames.len() - 1;
        let function_index = wave.frames[frame_index].function;
        // The code is taken out while its step runs, since that may change everything else of the machine.
        let Some(code) = self.codes[function_index].take() else { return Err(Reason::Unsound) };
        let result = self.operate(&code, wave, id, mask);
        self.codes[function_index] = Some(code);
        result
    }

    fn operate(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) -> Result<Next, Reason> {
        let function = code.function;
        match function.op(id) {
            Op::Unlifted(note) => {
                return Err(Reason::Unlifted(function.notes.get(note).cloned().unwrap_or_default()));
            }
            Op::Invoke(callee) => {
                let name = &function.callees[callee].name;
                let found = self.program.functions.iter().position(|info| info.name == *name);
                return found.map(Next::Call).ok_or_else(|| Reason::Function(name.clone()));
            }
            Op::Return => self.set_result(code, wave, id, mask),
            Op::Load(_) => self.load(code, wave, id, mask),
            Op::Store(_) => self.store(code, wave, id, mask),
            Op::Shader(op) => return self.shader(code, wave, id, op, mask),
            _ => {
                let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
                super::lanewise::operate(code, frame, id, mask)?;
            }
        }
        Ok(Next::Step)
    }

    fn shader(
        &mut self,
        code: &Code<'p>,
        wave: &mut Wave,
        id: ValueId,
        op: ShaderOp,
        mask: u32,
    ) -> Result<Next, Reason> {
        if super::stage::is_barrier(code.function, id, op) {
            return Ok(Next::Barrier);
        }
        let is_done = self.stage(code, wave, id, op, mask)?
            || self.place(code, wave, id, op, mask)
            || self.access(code, wave, id, op, mask)?
            || self.texture(code, wave, id, op, mask)?;
        if is_done {
            return Ok(Next::Step);
        }
        let Some(frame) = wave.frame() else { return Err(Reason::Unsound) };
        if !super::exchange::operate(code, frame, id, op, mask) {
            super::lanewise::operate(code, frame, id, mask)?;
        }
        Ok(Next::Step)
    }

    /// Ends a block: its lanes continue at the next one, or part.
    fn branch(&mut self, wave: &mut Wave, block: BlockId, mask: u32) -> Result<(), Reason> {
        let Some(frame) = wave.frames.last_mut() else { return Ok(()) };
        let Some(code) = self.codes[frame.function].as_ref() else { return Ok(()) };
        let end = &code.function.blocks[block].end;
        let selector = end.input().map_or(ValueId::NONE, |input| code.function.resolve(input));
        let mut targets: Vec<(BlockId, u32)> = Vec::new();
        let mut ended = 0;
        for thread in lanes_of(mask) {
            let to = if matches!(end, End::Open | End::Return) {
                None
            } else {
                target(end, frame.read(code, selector, 0, thread))
            };
            match to {
                None => ended |= 1 << thread,
                Some(to) => match targets.iter_mut().find(|known| known.0 == to) {
                    Some(known) => known.1 |= 1 << thread,
                    None => targets.push((to, 1 << thread)),
                },
            }
        }
        for &(to, lanes) in &targets {
            move_phis(code, frame, block, to, lanes);
        }
        for entry in &mut frame.stack {
            entry.mask &= !ended;
        }
        let meeting = code.meeting[block];
        let Some(entry) = frame.stack.last_mut() else { return Ok(()) };
        if let [(to, _)] = targets[..] {
            (entry.block, entry.step) = (to, 0);
            return Ok(());
        }
        let end = match meeting {
            Some(meeting) if entry.end != Some(meeting) => {
                (entry.block, entry.step) = (meeting, 0);
                Some(meeting)
            }
            // They meet where the entry ends, or nowhere.
            _ => {
                let end = entry.end;
                frame.stack.pop();
                end
            }
        };
        // In reverse: the first target runs first.
        for &(to, lanes) in targets.iter().rev() {
            if Some(to) != end {
                frame.stack.push(Entry { block: to, step: 0, end, mask: lanes });
            }
        }
        if frame.stack.len() > self.budget.limits.depth { Err(Reason::Depth) } else { Ok(()) }
    }

    fn call(&mut self, wave: &mut Wave, id: ValueId, function: usize, mask: u32) -> Result<(), Reason> {
        if wave.frames.len() > 64 {
            return Err(Reason::Depth);
        }
        let Some(frame) = wave.frames.last_mut() else { return Ok(()) };
        let Some(code) = self.codes[frame.function].as_ref() else { return Ok(()) };
        let mut arguments = Vec::new();
        for index in 0..code.function.inputs(id).len() {
            let input = code.function.input(id, index);
            let lanes = if input == ValueId::NONE { 1 } else { usize::from(code.function.lanes(input)) };
            let mut argument = vec![0; lanes * LANES];
            for lane in 0..lanes {
                for thread in lanes_of(mask) {
                    argument[lane * LANES + thread] = frame.read(code, input, lane, thread);
                }
            }
            arguments.push(argument);
        }
        let lanes = if code.function.width(id) == 0 { 0 } else { usize::from(code.function.lanes(id)) };
        self.enter(wave, function, mask, arguments, id, lanes)
    }

    /// Ends a call: its result becomes the value of the caller.
    fn leave(&mut self, wave: &mut Wave) {
        let Some(frame) = wave.frames.pop() else { return };
        self.budget.free(frame.registers.len() * 8);
        let Some(caller) = wave.frames.last_mut() else { return };
        let Some(code) = self.codes[caller.function].as_ref() else { return };
        for lane in 0..frame.result_lanes {
            for thread in lanes_of(caller.mask()) {
                caller.write(code, frame.caller, lane, thread, frame.result[lane * LANES + thread]);
            }
        }
    }

    fn set_result(&mut self, code: &Code<'p>, wave: &mut Wave, id: ValueId, mask: u32) {
        let Some(frame) = wave.frame() else { return };
        let value = code.function.input(id, 0);
        for lane in 0..frame.result_lanes {
            for thread in lanes_of(mask) {
                frame.result[lane * LANES + thread] = frame.read(code, value, lane, thread);
            }
        }
    }

    /// Calls a function with the memories of each active lane; helpers do not write shared memory.
    pub(super) fn with_memories(
        &mut self,
        wave: &mut Wave,
        mask: u32,
        mut body: impl FnMut(&mut Memories<'_>, &mut Frame, usize),
    ) {
        let Some(frame) = wave.frames.last_mut() else { return };
        for lane in lanes_of(mask) {
            let mut memories = Memories {
                layout: &self.layout,
                thread: &mut wave.variables,
                lane,
                group: &mut self.group,
                payload: &self.payload,
            };
            body(&mut memories, frame, lane);
        }
    }
}

/// Sets the phis of a block for lanes that come from another one, all at the same time.
fn move_phis(code: &Code<'_>, frame: &mut Frame, from: BlockId, to: BlockId, lanes: u32) {
    let block = &code.function.blocks[to];
    let Some(edge) = block.predecessors.iter().position(|block| *block == from) else { return };
    let mut moved = Vec::new();
    for &phi in block.phis.iter().filter(|phi| code.has_slot(**phi)) {
        let input = code.function.input(phi, edge);
        for lane in 0..usize::from(code.function.lanes(phi)) {
            for thread in lanes_of(lanes) {
                moved.push((phi, lane, thread, frame.read(code, input, lane, thread)));
            }
        }
    }
    for (phi, lane, thread, number) in moved {
        frame.write(code, phi, lane, thread, number);
    }
}
