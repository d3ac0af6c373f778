//! An interpreter for the threads of a routine, for code that is run many times.
//!
//! The p-code of an instruction is decoded when it is first executed: its operands become slots of one array, and
//! dead operations are removed. There is no memory except constants. `run` executes the decoded steps for many
//! threads at once.

mod run;

use super::Code;
use unshade_sass::listing::{Word, instruction_target};
use unshade_sass::semantics::table::{Code as Pcode, FLAGS};
use unshade_sass::semantics::{Lifted, Op, Space, Varnode, functions};
use unshade_sass::table::Flow;

/// Number of threads that run at once, each in a lane of its temporaries: the 200 trials of a routine take five runs.
pub(super) const LANES: usize = 40;

/// A number for each lane.
pub(super) type Lanes = [u64; LANES];

/// Maximum number of inputs of an operation.
const MAX_INPUTS: usize = 16;

/// Registers come first; the last is always zero.
pub(super) const REGISTERS: usize = 255;

/// The slot of the zero register.
const ZERO: u32 = REGISTERS as u32;

/// Flags follow the registers.
const FIRST_FLAG: usize = 256;

/// An instruction's temporaries follow the flags.
const FIRST_NAME: usize = FIRST_FLAG + FLAGS.len();

/// Constants follow the temporaries.
const FIRST_NUMBER: usize = FIRST_NAME + 192;

/// The slot of operands without storage.
const NOWHERE: u32 = u32::MAX;

/// A decoded operation.
#[derive(Clone, Copy)]
struct Step {
    kind: StepKind,
    /// Bits of the first input, and of the result.
    width: u8,
    out: u8,
    /// Number of inputs, and the first one.
    count: u8,
    first: u32,
    /// The slots of the first two inputs, which suffice for most operations.
    pair: [u32; 2],
    /// The slot of the result.
    output: u32,
    /// The target of a branch inside the instruction, relative to its first step.
    to: u32,
}

/// The kind of a step.
#[derive(Clone, Copy)]
enum StepKind {
    Operator(Pcode),
    /// An operator that determines where control continues.
    Jump(Pcode),
    /// A function whose result depends only on its inputs.
    Pure(&'static str),
    Push(PushKind),
    /// Continues at the address of the topmost entry, which must be a join.
    Join,
    /// Returns the address of the topmost entry for a break.
    Break,
    /// An operation that no routine uses.
    Other,
}

/// A decoded instruction.
struct DecodedInstruction {
    steps: std::ops::Range<usize>,
    /// The address of the next instruction, after a scheduling word, and the branch target.
    next: u64,
    target: Option<u64>,
    /// Whether its encoding is a call.
    is_call: bool,
    /// The registers that it accesses, and whether it writes them.
    registers: std::ops::Range<usize>,
}

/// The kind of a stack entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PushKind {
    Join,
    Break,
    Return,
}

/// The interpreter: code and threads.
pub(super) struct Machine<'a> {
    code: &'a Code<'a>,
    words: &'a [Word],
    lifted: Lifted,
    /// By slot: the index in `decoded` plus one, or 0 if the instruction was not decoded yet.
    known: Vec<u32>,
    decoded: Vec<DecodedInstruction>,
    steps: Vec<Step>,
    /// Slots of inputs.
    inputs: Vec<u32>,
    registers: Vec<(usize, bool)>,
    /// Registers, flags, temporaries, constants.
    values: Vec<Lanes>,
    /// The result of the current step.
    result: Lanes,
    /// The registers that a decoded instruction names or that were set, with their values before the run: all others
    /// are unused.
    touched: Vec<(usize, Lanes)>,
    threads: run::Threads,
    /// Kernel parameters that are set, by their offsets in bank 0; others have random values.
    pub parameters: Vec<(u16, Lanes)>,
}

/// Registers and parameters that were read before they were written.
#[derive(Default)]
pub(super) struct Reads {
    pub registers: Vec<usize>,
    pub parameters: Vec<u16>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(code: &'a Code<'a>, words: &'a [Word]) -> Self {
        // Most routines have fewer numbers.
        let mut values = Vec::with_capacity(FIRST_NUMBER + 256);
        values.resize(FIRST_NUMBER, [0; LANES]);
        Self {
            code,
            words,
            lifted: Lifted::default(),
            known: vec![0; words.len()],
            decoded: Vec::new(),
            steps: Vec::new(),
            inputs: Vec::new(),
            registers: Vec::new(),
            values,
            result: [0; LANES],
            touched: Vec::new(),
            threads: run::Threads::default(),
            parameters: Vec::new(),
        }
    }

    /// Decodes an instruction.
    fn decode(&mut self, instruction: &unshade_sass::Instruction, slot: usize, here: u64) {
        let mut lifted = std::mem::take(&mut self.lifted);
        lifted.lift(instruction, here);
        let ops = lifted.ops();
        let start = self.steps.len();
        let mut offsets = vec![0; ops.len() + 1];
        let mut temporaries = Temporaries::new(&lifted);
        for (index, op) in ops.iter().enumerate() {
            offsets[index] = (self.steps.len() - start) as u32;
            let kind = step_kind(op.code);
            if !temporaries.is_dead(kind, op.output) {
                self.operation(kind, op, lifted.inputs(op), &mut temporaries);
            }
        }
        offsets[ops.len()] = (self.steps.len() - start) as u32;
        for step in &mut self.steps[start..] {
            step.to = offsets.get(step.to as usize).copied().unwrap_or(u32::MAX);
        }
        let first = self.registers.len();
        for op in ops {
            lifted.inputs(op).iter().for_each(|input| self.note_registers(input, false));
            op.output.iter().for_each(|output| self.note_registers(output, true));
        }
        let next = if matches!(self.words.get(slot + 1), Some(Word::Schedule(_))) { 2 } else { 1 };
        self.decoded.push(DecodedInstruction {
            steps: start..self.steps.len(),
            next: (self.code.isa.word_bytes as u64).saturating_mul(next).saturating_add(here),
            target: instruction_target(instruction, here),
            is_call: instruction.operation().flow == Flow::Call,
            registers: first..self.registers.len(),
        });
        self.known[slot] = self.decoded.len() as u32;
        self.lifted = lifted;
    }

    /// Records the registers of an operand.
    fn note_registers(&mut self, varnode: &Varnode, is_written: bool) {
        if varnode.space == Space::Register {
            let register = usize::try_from(varnode.offset).unwrap_or(0);
            let last = register + usize::from(varnode.width > 32);
            for register in register..=last.min(REGISTERS - 1) {
                self.registers.push((register, is_written));
                self.touch(register);
            }
        }
    }

    /// Creates the steps of an operation.
    fn operation(&mut self, kind: StepKind, op: &Op, varnodes: &[Varnode], temporaries: &mut Temporaries) {
        let mut slots = [NOWHERE; MAX_INPUTS];
        for (slot, varnode) in slots.iter_mut().zip(varnodes) {
            *slot = self.input(varnode, temporaries);
        }
        let width = varnodes.first().map_or(32, |input| input.width);
        let out = op.output.map_or(32, |output| output.width);
        let output = op.output.as_ref().map_or(NOWHERE, |output| match output.space {
            Space::Register if output.width > 32 => temporaries.name(),
            _ => slot_of(output),
        });
        self.step(kind, &slots[..varnodes.len().min(MAX_INPUTS)], width, output, out);
        if let Some(last) = self.steps.last_mut() {
            last.to = u32::from(op.to);
        }
        if let Some(pair) = op.output.filter(|pair| pair.space == Space::Register && pair.width > 32) {
            self.operator(Pcode::Low, &[output], 64, slot_of(&pair), 32);
            self.operator(Pcode::High, &[output], 64, slot_of(&pair).saturating_add(1), 32);
        }
    }

    fn operator(&mut self, code: Pcode, inputs: &[u32], width: u8, output: u32, out: u8) {
        self.step(StepKind::Operator(code), inputs, width, output, out);
    }

    fn step(&mut self, kind: StepKind, inputs: &[u32], width: u8, output: u32, out: u8) {
        let (first, count) = (self.inputs.len() as u32, inputs.len() as u8);
        self.inputs.extend_from_slice(inputs);
        let kind = if inputs.contains(&NOWHERE) { StepKind::Other } else { kind };
        let pair = [0, 1].map(|index| inputs.get(index).copied().unwrap_or(ZERO));
        self.steps.push(Step { kind, width, out, count, first, pair, output, to: 0 });
    }

    /// Returns the slot of an input; preceding steps join register pairs and read constants.
    fn input(&mut self, varnode: &Varnode, temporaries: &mut Temporaries) -> u32 {
        match varnode.space {
            Space::Number => self.number(varnode.offset),
            Space::Register if varnode.width > 32 => {
                let (low, name) = (slot_of(varnode), temporaries.name());
                self.operator(Pcode::Concat, &[low.saturating_add(1), low], 32, name, 64);
                name
            }
            Space::Constant => {
                let (address, name) = (self.number(varnode.offset), temporaries.name());
                self.operator(Pcode::Load(Space::Constant), &[address], 32, name, varnode.width);
                name
            }
            _ => slot_of(varnode),
        }
    }

    fn number(&mut self, number: u64) -> u32 {
        self.values.push([number; LANES]);
        self.values.len() as u32 - 1
    }

    /// Removes writes to flags that are overwritten before they are read, from the decoded instructions: a sum with
    /// carry writes four flags and usually one is read.
    pub(super) fn prune(&mut self) {
        const ALL: u32 = u32::MAX;
        const { assert!(FLAGS.len() <= 32) };
        let flag = |slot: usize| 1 << (slot - FIRST_FLAG);
        let is_flag = |slot: usize| (FIRST_FLAG..FIRST_NAME).contains(&slot);
        let mut live = ALL;
        let mut names = [false; FIRST_NUMBER];
        for slot in (0..self.words.len()).rev() {
            if matches!(self.words[slot], Word::Schedule(_)) {
                continue;
            }
            let Some(index) = (self.known[slot] as usize).checked_sub(1) else {
                live = ALL;
                continue;
            };
            let steps = self.decoded[index].steps.clone();
            if !self.steps[steps.clone()].iter().all(|step| is_inside(step.kind)) {
                live = ALL;
                continue;
            }
            let is_branch = |step: &Step| matches!(step.kind, StepKind::Jump(code) if is_branch(code));
            let has_branches = self.steps[steps.clone()].iter().any(is_branch);
            // The remaining steps move to the end of the instruction.
            let mut kept = steps.end;
            for at in steps.clone().rev() {
                let step = &self.steps[at];
                let output = step.output as usize;
                if step.output != NOWHERE && !has_branches {
                    let is_read = match output {
                        FIRST_NAME.. => names.get_mut(output).is_some_and(std::mem::take),
                        _ if is_flag(output) => live & flag(output) != 0,
                        _ => true,
                    };
                    if !is_read {
                        continue;
                    }
                    if is_flag(output) {
                        live &= !flag(output);
                    }
                }
                for &slot in &self.inputs[step.inputs()] {
                    let slot = slot as usize;
                    if is_flag(slot) {
                        live |= flag(slot);
                    } else if let Some(name) = names.get_mut(slot) {
                        *name = true;
                    }
                }
                kept -= 1;
                self.steps.swap(at, kept);
            }
            self.decoded[index].steps = kept..steps.end;
            names.fill(false);
        }
    }
}

/// Returns whether control stays inside the instruction, and the step has no effect besides its result.
fn is_inside(kind: StepKind) -> bool {
    match kind {
        StepKind::Jump(code) => is_branch(code),
        kind => matches!(kind, StepKind::Operator(_) | StepKind::Pure(_)),
    }
}

fn is_branch(code: Pcode) -> bool {
    matches!(code, Pcode::Branch | Pcode::BranchUnless)
}

fn step_kind(code: Pcode) -> StepKind {
    match code {
        Pcode::Function(index) => match functions().get(usize::from(index)) {
            Some(function) if function.pure => StepKind::Pure(function.name),
            Some(function) => match function.name {
                "push_reconvergence" => StepKind::Push(PushKind::Join),
                "push_break" => StepKind::Push(PushKind::Break),
                "reconverge" => StepKind::Join,
                "pop_break" => StepKind::Break,
                _ => StepKind::Other,
            },
            None => StepKind::Other,
        },
        Pcode::Load(space) if space != Space::Constant => StepKind::Other,
        Pcode::Exit | Pcode::Store(_) => StepKind::Other,
        Pcode::Goto | Pcode::Call | Pcode::Return | Pcode::Branch | Pcode::BranchUnless => {
            StepKind::Jump(code)
        }
        code => StepKind::Operator(code),
    }
}

impl Step {
    fn inputs(&self) -> std::ops::Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.count)
    }
}

/// The temporaries of an instruction while it is decoded.
struct Temporaries {
    /// The next free temporary.
    next: usize,
    /// Whether a temporary is read.
    is_read: [bool; FIRST_NUMBER - FIRST_NAME],
}

impl Temporaries {
    fn new(lifted: &Lifted) -> Self {
        let mut temporaries =
            Self { next: FIRST_NAME + lifted.temporaries(), is_read: [false; FIRST_NUMBER - FIRST_NAME] };
        let inputs = lifted.ops().iter().flat_map(|op| lifted.inputs(op));
        for input in inputs.filter(|input| input.space == Space::Temporary) {
            if let Some(is_read) = temporaries.is_read.get_mut(input.offset as usize) {
                *is_read = true;
            }
        }
        temporaries
    }

    fn name(&mut self) -> u32 {
        self.next += 1;
        if self.next <= FIRST_NUMBER { self.next as u32 - 1 } else { NOWHERE }
    }

    /// Returns whether an operation only writes a temporary that nothing reads.
    fn is_dead(&self, kind: StepKind, output: Option<Varnode>) -> bool {
        let is_pure = match kind {
            StepKind::Operator(code) => !matches!(code, Pcode::Load(_)),
            kind => matches!(kind, StepKind::Pure(_)),
        };
        let name = output.filter(|output| is_pure && output.space == Space::Temporary);
        name.is_some_and(|name| self.is_read.get(name.offset as usize) == Some(&false))
    }
}

/// Returns the slot of a varnode; for register pairs, the first one.
fn slot_of(varnode: &Varnode) -> u32 {
    let Ok(index) = usize::try_from(varnode.offset) else { return NOWHERE };
    let (first, count) = match varnode.space {
        Space::Register => (0, REGISTERS),
        Space::Flag => (FIRST_FLAG, FLAGS.len()),
        Space::Temporary => (FIRST_NAME, FIRST_NUMBER - FIRST_NAME),
        _ => (0, 0),
    };
    if index < count { (first + index) as u32 } else { NOWHERE }
}

/// Pseudorandom numbers (xorshift), the same every time.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
