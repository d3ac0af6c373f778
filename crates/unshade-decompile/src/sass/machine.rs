//! What one thread does from an address on, up to its return: for words that are run often.
//!
//! An instruction's p-code is taken apart when it is first met: its operands become slots of one array, and what nothing
//! reads is left out. Memory there is none, but for constants.

use super::Code;
use super::banks;
use unshade_sass::listing::{Word, instruction_target};
use unshade_sass::semantics::table::{Code as Pcode, FLAGS};
use unshade_sass::semantics::{Lifted, Space, Varnode, functions, operate};
use unshade_sass::table::Flow;

/// So many words may be run before it is given up.
const MAX_STEPS: usize = 4000;

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
const FIRST_NUMBER: usize = FIRST_NAME + 1024;

/// The slot of what is nowhere.
const NOWHERE: u32 = u32::MAX;

/// An operation.
#[derive(Clone, Copy)]
struct Step {
    code: Pcode,
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

/// An instruction.
struct Taken {
    steps: std::ops::Range<usize>,
    /// The address of the next, and where control goes that leaves it.
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

/// Words, and a thread.
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
    values: Vec<u64>,
    stack: Vec<(Push, u64)>,
    /// Where the join leads that the instruction is.
    popped: Option<u64>,
    /// Parameters of the kernel that are given, by their offsets in bank 0; others look random.
    pub parameters: Vec<(u16, u32)>,
}

/// What was read before it was written.
#[derive(Default)]
pub(super) struct Reads {
    pub registers: Vec<usize>,
    pub parameters: Vec<u16>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(code: &'a Code<'a>, words: &'a [Word]) -> Self {
        Self {
            code,
            words,
            lifted: Lifted::default(),
            known: vec![0; words.len()],
            taken: Vec::new(),
            steps: Vec::new(),
            inputs: Vec::new(),
            registers: Vec::new(),
            values: vec![0; FIRST_NUMBER],
            stack: Vec::new(),
            popped: None,
            parameters: Vec::new(),
        }
    }

    /// What registers hold.
    pub(super) fn registers(&mut self) -> &mut [u64] {
        &mut self.values[..REGISTERS]
    }

    /// Registers and flags that look random, with no parameter given.
    pub(super) fn begin(&mut self, mut random: Random) {
        for register in &mut self.values[..REGISTERS] {
            *register = random.next() & 0xffff_ffff;
        }
        for flag in &mut self.values[FIRST_FLAG..FIRST_NAME] {
            *flag = random.next() & 1;
        }
        self.stack.clear();
        self.popped = None;
        self.parameters.clear();
    }

    /// Runs from an address up to the return; none if that does not come, or something else does. Notes what is read
    /// where that is wanted.
    pub(super) fn run(&mut self, address: u64, mut reads: Option<&mut Reads>) -> Option<()> {
        let bytes = self.code.isa.word_bytes as u64;
        let mut written = [false; 256];
        let mut at = address;
        for _ in 0..MAX_STEPS {
            let slot = usize::try_from(at.checked_sub(self.code.base)? / bytes).ok()?;
            if *self.known.get(slot)? == 0 {
                let Word::Instruction(instruction) = &self.words[slot] else {
                    at += bytes;
                    continue;
                };
                self.take(instruction, slot, at);
            }
            let index = self.known[slot] as usize - 1;
            if let Some(reads) = &mut reads {
                for &(register, is_written) in &self.registers[self.taken[index].registers.clone()] {
                    if is_written {
                        written[register] = true;
                    } else if !written[register] {
                        reads.registers.push(register);
                    }
                }
            }
            at = match self.instruction(index, reads.as_deref_mut())? {
                Next::At(at) => self.popped.take().unwrap_or(at),
                Next::Returned => return Some(()),
            };
        }
        None
    }

    /// Takes an instruction apart.
    fn take(&mut self, instruction: &unshade_sass::Instruction, slot: usize, here: u64) {
        let mut lifted = std::mem::take(&mut self.lifted);
        lifted.lift(instruction, here);
        let ops = lifted.ops();
        let is_named = |varnode: &Varnode| varnode.space == Space::Temporary;
        let reads = |name: u64| {
            let mut inputs = ops.iter().flat_map(|op| lifted.inputs(op));
            inputs.any(|input| is_named(input) && input.offset == name)
        };
        // Operations whose result has a name that nothing reads.
        let is_dead = |code: Pcode, output: Option<Varnode>| {
            let is_pure = match code {
                Pcode::Function(index) => functions().get(usize::from(index)).is_some_and(|found| found.pure),
                Pcode::Load(_) => false,
                _ => true,
            };
            is_pure && output.is_some_and(|output| is_named(&output) && !reads(output.offset))
        };
        let start = self.steps.len();
        let mut places = vec![0; ops.len() + 1];
        let mut own = Own { next: FIRST_NAME + lifted.temporaries() };
        for (index, op) in ops.iter().enumerate() {
            places[index] = (self.steps.len() - start) as u32;
            if is_dead(op.code, op.output) {
                continue;
            }
            let varnodes = lifted.inputs(op);
            let mut slots = [NOWHERE; MAX_INPUTS];
            for (slot, varnode) in slots.iter_mut().zip(varnodes) {
                *slot = self.input(varnode, &mut own);
            }
            let width = varnodes.first().map_or(32, |input| input.width);
            let out = op.output.map_or(32, |output| output.width);
            let output = op.output.as_ref().map_or(NOWHERE, |output| match output.space {
                Space::Register if output.width > 32 => own.name(),
                _ => slot_of(output),
            });
            let count = varnodes.len().min(MAX_INPUTS);
            self.step(op.code, &slots[..count], width, output, out);
            if let Some(last) = self.steps.last_mut() {
                last.to = u32::from(op.to);
            }
            if let Some(pair) = op.output.filter(|pair| pair.space == Space::Register && pair.width > 32) {
                self.step(Pcode::Low, &[output], 64, slot_of(&pair), 32);
                self.step(Pcode::High, &[output], 64, slot_of(&pair).saturating_add(1), 32);
            }
        }
        places[ops.len()] = (self.steps.len() - start) as u32;
        for step in &mut self.steps[start..] {
            step.to = places.get(step.to as usize).copied().unwrap_or(u32::MAX);
        }
        let first = self.registers.len();
        for op in ops {
            for (varnode, is_written) in lifted
                .inputs(op)
                .iter()
                .map(|input| (input, false))
                .chain(op.output.iter().map(|out| (out, true)))
            {
                if varnode.space == Space::Register {
                    let register = usize::try_from(varnode.offset).unwrap_or(0);
                    let last = register + usize::from(varnode.width > 32);
                    let all = register..=last.min(REGISTERS - 1);
                    self.registers.extend(all.map(|register| (register, is_written)));
                }
            }
        }
        self.taken.push(Taken {
            steps: start..self.steps.len(),
            next: here + self.code.isa.word_bytes as u64,
            target: instruction_target(instruction, here),
            is_call: instruction.operation().flow == Flow::Call,
            registers: first..self.registers.len(),
        });
        self.known[slot] = self.taken.len() as u32;
        self.lifted = lifted;
    }

    fn step(&mut self, code: Pcode, inputs: &[u32], width: u8, output: u32, out: u8) {
        let (first, count) = (self.inputs.len() as u32, inputs.len() as u8);
        self.inputs.extend_from_slice(inputs);
        let pair = [0, 1].map(|index| inputs.get(index).copied().unwrap_or(ZERO));
        self.steps.push(Step { code, width, out, count, first, pair, output, to: 0 });
    }

    /// The slot of an input; two registers are put together, and constants are read, by steps before.
    fn input(&mut self, varnode: &Varnode, own: &mut Own) -> u32 {
        match varnode.space {
            Space::Number => self.number(varnode.offset),
            Space::Register if varnode.width > 32 => {
                let (low, name) = (slot_of(varnode), own.name());
                self.step(Pcode::Concat, &[low.saturating_add(1), low], 32, name, 64);
                name
            }
            Space::Constant => {
                let (place, name) = (self.number(varnode.offset), own.name());
                self.step(Pcode::Load(Space::Constant), &[place], 32, name, varnode.width);
                name
            }
            _ => slot_of(varnode),
        }
    }

    fn number(&mut self, number: u64) -> u32 {
        self.values.push(number);
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
        let mut names = vec![false; FIRST_NUMBER];
        for slot in (0..self.words.len()).rev() {
            if matches!(self.words[slot], Word::Schedule(_)) {
                continue;
            }
            let Some(index) = (self.known[slot] as usize).checked_sub(1) else {
                live = ALL;
                continue;
            };
            let steps = self.taken[index].steps.clone();
            if !self.steps[steps.clone()].iter().all(|step| is_inside(step.code)) {
                live = ALL;
                continue;
            }
            let is_branch = |step: &Step| matches!(step.code, Pcode::Branch | Pcode::BranchUnless);
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

    /// Runs an instruction.
    fn instruction(&mut self, index: usize, mut reads: Option<&mut Reads>) -> Option<Next> {
        let Taken { steps, next, target, is_call, .. } = &self.taken[index];
        let (steps, next, target, is_call) = (steps.clone(), *next, *target, *is_call);
        let mut at = steps.start;
        while at < steps.end {
            let step = self.steps[at];
            at += 1;
            let [first, second] = step.pair.map(|slot| self.values.get(slot as usize).copied());
            let (first, second) = (first?, second?);
            let result = match step.code {
                Pcode::Branch => {
                    at = steps.start.checked_add(step.to as usize)?;
                    continue;
                }
                Pcode::BranchUnless => {
                    if first == 0 {
                        at = steps.start.checked_add(step.to as usize)?;
                    }
                    continue;
                }
                Pcode::Goto => return Some(Next::At(first)),
                Pcode::Call => {
                    self.stack.push((Push::Return, next));
                    return Some(Next::At(if is_call { target? } else { first }));
                }
                Pcode::Return => return Some(self.pop(Push::Return).map_or(Next::Returned, Next::At)),
                Pcode::Exit | Pcode::Store(_) => return None,
                Pcode::Load(Space::Constant) => self.constant(first, step.out, reads.as_deref_mut())?,
                Pcode::Load(_) => return None,
                Pcode::Function(index) => {
                    let function = functions().get(usize::from(index))?;
                    let mut values = [0; MAX_INPUTS];
                    for (value, slot) in values.iter_mut().zip(&self.inputs[step.inputs()]) {
                        *value = *self.values.get(*slot as usize)?;
                    }
                    let inputs = &values[..usize::from(step.count)];
                    match function.name {
                        "push_reconvergence" => self.stack.push((Push::Join, first)),
                        "push_break" => self.stack.push((Push::Break, first)),
                        "reconverge" => match self.stack.pop() {
                            // What comes behind it in the instruction is done first.
                            Some((Push::Join, to)) => self.popped = Some(to),
                            _ => return None,
                        },
                        _ => {}
                    }
                    match function.name {
                        "push_reconvergence" | "push_break" | "reconverge" => 0,
                        "pop_break" => self.pop(Push::Break)?,
                        name if function.pure => functions::call(name, inputs)?,
                        _ => return None,
                    }
                }
                code => operate(code, &[first, second], step.width, step.out)?,
            };
            if step.output != NOWHERE {
                *self.values.get_mut(step.output as usize)? = crate::ir::fold::masked(result, step.out);
            }
        }
        Some(Next::At(next))
    }

    /// The topmost entry of a kind; it and what is above is taken off.
    fn pop(&mut self, kind: Push) -> Option<u64> {
        while let Some((pushed, to)) = self.stack.pop() {
            if pushed == kind {
                return Some(to);
            }
        }
        None
    }

    fn constant(&self, place: u64, width: u8, mut reads: Option<&mut Reads>) -> Option<u64> {
        let offset = u16::try_from(place).ok();
        let offset = offset.filter(|at| u64::from(*at) >= banks::PARAMETERS && at.is_multiple_of(4));
        let Some(offset) = offset else { return self.code.held(place, width) };
        let mut parameter = |offset: u16| {
            if let Some(reads) = &mut reads {
                reads.parameters.push(offset);
            }
            let given = self.parameters.iter().find(|entry| entry.0 == offset);
            given.map_or(Random(u64::from(offset) << 17 | 1).next() & 0xffff_ffff, |entry| u64::from(entry.1))
        };
        let low = parameter(offset);
        match width {
            32 => Some(low),
            64 => Some(parameter(offset.wrapping_add(4)) << 32 | low),
            _ => None,
        }
    }
}

/// Whether control stays inside of the instruction, and it does nothing besides what it writes.
fn is_inside(code: Pcode) -> bool {
    match code {
        Pcode::Goto | Pcode::Call | Pcode::Return | Pcode::Exit | Pcode::Store(_) => false,
        Pcode::Function(index) => functions().get(usize::from(index)).is_some_and(|found| found.pure),
        _ => true,
    }
}

/// Where control goes on.
enum Next {
    At(u64),
    Returned,
}

impl Step {
    fn inputs(&self) -> std::ops::Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.count)
    }
}

/// Names that are given out besides an instruction's own.
struct Own {
    next: usize,
}

impl Own {
    fn name(&mut self) -> u32 {
        self.next += 1;
        if self.next <= FIRST_NUMBER { self.next as u32 - 1 } else { NOWHERE }
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
