//! What threads do from an address on, up to their return: for words that are run often.
//!
//! An instruction's p-code is taken apart when it is first met: its operands become slots of one array, and what nothing
//! reads is left out. Memory there is none, but for constants. `run` runs what was taken apart, for many threads at once.

mod run;

use super::Code;
use unshade_sass::listing::{Word, instruction_target};
use unshade_sass::semantics::table::{Code as Pcode, FLAGS};
use unshade_sass::semantics::{Lifted, Op, Space, Varnode, functions};
use unshade_sass::table::Flow;

/// So many threads run at once, each in a lane of its own: a routine's 200 trials are five runs.
pub(super) const LANES: usize = 40;

/// A number of each lane.
pub(super) type Lanes = [u64; LANES];

/// So many inputs an operation may have.
const MAX_INPUTS: usize = 16;

/// Registers stand first; the last is always zero.
pub(super) const REGISTERS: usize = 255;

/// The slot of the register that is always zero.
const ZERO: u32 = REGISTERS as u32;

/// Flags stand behind the registers.
const FIRST_FLAG: usize = 256;

/// Names of an instruction's own stand behind the flags.
const FIRST_NAME: usize = FIRST_FLAG + FLAGS.len();

/// Numbers stand behind the names.
const FIRST_NUMBER: usize = FIRST_NAME + 192;

/// The slot of what is nowhere.
const NOWHERE: u32 = u32::MAX;

/// An operation.
#[derive(Clone, Copy)]
struct Step {
    does: Does,
    /// Bits of the first input and of the result.
    width: u8,
    out: u8,
    /// How many inputs there are, and the first.
    count: u8,
    first: u32,
    /// The slots of the first two, which is all that most have.
    pair: [u32; 2],
    /// The slot of the result.
    output: u32,
    /// Where a branch inside of the instruction goes on, from its first operation.
    to: u32,
}

/// What an operation does.
#[derive(Clone, Copy)]
enum Does {
    Operator(Pcode),
    /// An operator that decides where control goes on.
    Lead(Pcode),
    /// A function that makes a number of numbers.
    Pure(&'static str),
    Push(Push),
    /// Goes on where the topmost entry says, which must be of a join.
    Join,
    /// Gives where the topmost entry of a break says.
    Break,
    /// What no routine does.
    Other,
}

/// An instruction.
struct Taken {
    steps: std::ops::Range<usize>,
    /// The address of the next, behind a word for the scheduler, and where control goes that leaves it.
    next: u64,
    target: Option<u64>,
    /// Whether it is a call by its encoding.
    is_call: bool,
    /// The registers that it reads, or writes: which, and whether it is written.
    registers: std::ops::Range<usize>,
}

/// What an entry of the stack was pushed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Push {
    Join,
    Break,
    Return,
}

/// Words, and threads.
pub(super) struct Machine<'a> {
    code: &'a Code<'a>,
    words: &'a [Word],
    lifted: Lifted,
    /// By slot: the place in `taken`, which is 0 for those that were not yet met.
    known: Vec<u32>,
    taken: Vec<Taken>,
    steps: Vec<Step>,
    /// Slots.
    inputs: Vec<u32>,
    registers: Vec<(usize, bool)>,
    /// Registers, flags, names, numbers.
    values: Vec<Lanes>,
    /// What a step made.
    result: Lanes,
    /// The registers that an instruction that was met names, or that were given, and what they held before the run:
    /// nothing stands in others.
    touched: Vec<(usize, Lanes)>,
    threads: run::Threads,
    /// Parameters of the kernel that are given, by their offsets in bank 0; others look random.
    pub parameters: Vec<(u16, Lanes)>,
}

/// What was read before it was written.
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
            taken: Vec::new(),
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

    /// Takes an instruction apart.
    fn take(&mut self, instruction: &unshade_sass::Instruction, slot: usize, here: u64) {
        let mut lifted = std::mem::take(&mut self.lifted);
        lifted.lift(instruction, here);
        let ops = lifted.ops();
        let start = self.steps.len();
        let mut places = vec![0; ops.len() + 1];
        let mut own = Own::new(&lifted);
        for (index, op) in ops.iter().enumerate() {
            places[index] = (self.steps.len() - start) as u32;
            let does = does(op.code);
            if !own.is_dead(does, op.output) {
                self.operation(does, op, lifted.inputs(op), &mut own);
            }
        }
        places[ops.len()] = (self.steps.len() - start) as u32;
        for step in &mut self.steps[start..] {
            step.to = places.get(step.to as usize).copied().unwrap_or(u32::MAX);
        }
        let first = self.registers.len();
        for op in ops {
            lifted.inputs(op).iter().for_each(|input| self.note_registers(input, false));
            op.output.iter().for_each(|output| self.note_registers(output, true));
        }
        let next = if matches!(self.words.get(slot + 1), Some(Word::Schedule(_))) { 2 } else { 1 };
        self.taken.push(Taken {
            steps: start..self.steps.len(),
            next: (self.code.isa.word_bytes as u64).saturating_mul(next).saturating_add(here),
            target: instruction_target(instruction, here),
            is_call: instruction.operation().flow == Flow::Call,
            registers: first..self.registers.len(),
        });
        self.known[slot] = self.taken.len() as u32;
        self.lifted = lifted;
    }

    /// Notes the registers that an operand is.
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

    /// Makes steps of an operation.
    fn operation(&mut self, does: Does, op: &Op, varnodes: &[Varnode], own: &mut Own) {
        let mut slots = [NOWHERE; MAX_INPUTS];
        for (slot, varnode) in slots.iter_mut().zip(varnodes) {
            *slot = self.input(varnode, own);
        }
        let width = varnodes.first().map_or(32, |input| input.width);
        let out = op.output.map_or(32, |output| output.width);
        let output = op.output.as_ref().map_or(NOWHERE, |output| match output.space {
            Space::Register if output.width > 32 => own.name(),
            _ => slot_of(output),
        });
        self.step(does, &slots[..varnodes.len().min(MAX_INPUTS)], width, output, out);
        if let Some(last) = self.steps.last_mut() {
            last.to = u32::from(op.to);
        }
        if let Some(pair) = op.output.filter(|pair| pair.space == Space::Register && pair.width > 32) {
            self.operator(Pcode::Low, &[output], 64, slot_of(&pair), 32);
            self.operator(Pcode::High, &[output], 64, slot_of(&pair).saturating_add(1), 32);
        }
    }

    fn operator(&mut self, code: Pcode, inputs: &[u32], width: u8, output: u32, out: u8) {
        self.step(Does::Operator(code), inputs, width, output, out);
    }

    fn step(&mut self, does: Does, inputs: &[u32], width: u8, output: u32, out: u8) {
        let (first, count) = (self.inputs.len() as u32, inputs.len() as u8);
        self.inputs.extend_from_slice(inputs);
        let does = if inputs.contains(&NOWHERE) { Does::Other } else { does };
        let pair = [0, 1].map(|index| inputs.get(index).copied().unwrap_or(ZERO));
        self.steps.push(Step { does, width, out, count, first, pair, output, to: 0 });
    }

    /// The slot of an input; two registers are put together, and constants are read, by steps before.
    fn input(&mut self, varnode: &Varnode, own: &mut Own) -> u32 {
        match varnode.space {
            Space::Number => self.number(varnode.offset),
            Space::Register if varnode.width > 32 => {
                let (low, name) = (slot_of(varnode), own.name());
                self.operator(Pcode::Concat, &[low.saturating_add(1), low], 32, name, 64);
                name
            }
            Space::Constant => {
                let (place, name) = (self.number(varnode.offset), own.name());
                self.operator(Pcode::Load(Space::Constant), &[place], 32, name, varnode.width);
                name
            }
            _ => slot_of(varnode),
        }
    }

    fn number(&mut self, number: u64) -> u32 {
        self.values.push([number; LANES]);
        self.values.len() as u32 - 1
    }

    /// Leaves out what is written to flags only to be written again before anything reads it, of the instructions that were
    /// met: a sum with a carry writes four flags for the one that is read.
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
            let steps = self.taken[index].steps.clone();
            if !self.steps[steps.clone()].iter().all(|step| is_inside(step.does)) {
                live = ALL;
                continue;
            }
            let is_branch = |step: &Step| matches!(step.does, Does::Lead(code) if is_branch(code));
            let has_branches = self.steps[steps.clone()].iter().any(is_branch);
            // What stays is put to the end of the instruction.
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
            self.taken[index].steps = kept..steps.end;
            names.fill(false);
        }
    }
}

/// Whether control stays inside of the instruction, and it does nothing besides what it writes.
fn is_inside(does: Does) -> bool {
    match does {
        Does::Lead(code) => is_branch(code),
        does => matches!(does, Does::Operator(_) | Does::Pure(_)),
    }
}

fn is_branch(code: Pcode) -> bool {
    matches!(code, Pcode::Branch | Pcode::BranchUnless)
}

fn does(code: Pcode) -> Does {
    match code {
        Pcode::Function(index) => match functions().get(usize::from(index)) {
            Some(function) if function.pure => Does::Pure(function.name),
            Some(function) => match function.name {
                "push_reconvergence" => Does::Push(Push::Join),
                "push_break" => Does::Push(Push::Break),
                "reconverge" => Does::Join,
                "pop_break" => Does::Break,
                _ => Does::Other,
            },
            None => Does::Other,
        },
        Pcode::Load(space) if space != Space::Constant => Does::Other,
        Pcode::Exit | Pcode::Store(_) => Does::Other,
        Pcode::Goto | Pcode::Call | Pcode::Return | Pcode::Branch | Pcode::BranchUnless => Does::Lead(code),
        code => Does::Operator(code),
    }
}

impl Step {
    fn inputs(&self) -> std::ops::Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.count)
    }
}

/// What is known of an instruction's own names as it is taken apart.
struct Own {
    /// The next that is given out.
    next: usize,
    /// Whether anything reads a name.
    is_read: [bool; FIRST_NUMBER - FIRST_NAME],
}

impl Own {
    fn new(lifted: &Lifted) -> Self {
        let mut own =
            Self { next: FIRST_NAME + lifted.temporaries(), is_read: [false; FIRST_NUMBER - FIRST_NAME] };
        let inputs = lifted.ops().iter().flat_map(|op| lifted.inputs(op));
        for input in inputs.filter(|input| input.space == Space::Temporary) {
            if let Some(is_read) = own.is_read.get_mut(input.offset as usize) {
                *is_read = true;
            }
        }
        own
    }

    fn name(&mut self) -> u32 {
        self.next += 1;
        if self.next <= FIRST_NUMBER { self.next as u32 - 1 } else { NOWHERE }
    }

    /// Whether an operation only gives a name to what nothing reads.
    fn is_dead(&self, does: Does, output: Option<Varnode>) -> bool {
        let is_pure = match does {
            Does::Operator(code) => !matches!(code, Pcode::Load(_)),
            does => matches!(does, Does::Pure(_)),
        };
        let name = output.filter(|output| is_pure && output.space == Space::Temporary);
        name.is_some_and(|name| self.is_read.get(name.offset as usize) == Some(&false))
    }
}

/// The slot of a place; of two registers, the first.
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

/// Numbers that look random (xorshift), the same every time.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
