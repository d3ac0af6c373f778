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

/// Flags stand behind the registers.
const FIRST_FLAG: usize = 256;

/// Names of an instruction's own stand behind the flags.
const FIRST_NAME: usize = FIRST_FLAG + FLAGS.len();

/// Where an input is, or a result goes.
#[derive(Clone, Copy)]
enum Operand {
    Number(u64),
    Slot(usize),
    /// Two registers, the lower half first.
    Pair(usize),
    /// In a constant bank.
    Constant(u64, u8),
    /// Nowhere.
    None,
}

/// An operation.
struct Step {
    code: Pcode,
    output: Operand,
    /// Bits of the first input and of the result.
    width: u8,
    out: u8,
    /// Where a branch inside of the instruction goes on, from its first operation.
    to: usize,
    inputs: std::ops::Range<usize>,
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
    inputs: Vec<Operand>,
    registers: Vec<(usize, bool)>,
    /// Registers, flags, names.
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
            values: vec![0; FIRST_NAME],
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
        for (index, op) in ops.iter().enumerate() {
            places[index] = self.steps.len() - start;
            if is_dead(op.code, op.output) {
                continue;
            }
            let first = self.inputs.len();
            let inputs = lifted.inputs(op);
            self.inputs.extend(inputs.iter().map(operand));
            self.steps.push(Step {
                code: op.code,
                output: op.output.as_ref().map_or(Operand::None, operand),
                width: inputs.first().map_or(32, |input| input.width),
                out: op.output.map_or(32, |output| output.width),
                to: usize::from(op.to),
                inputs: first..self.inputs.len(),
            });
        }
        places[ops.len()] = self.steps.len() - start;
        for step in &mut self.steps[start..] {
            step.to = places.get(step.to).copied().unwrap_or(usize::MAX);
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
        let names = FIRST_NAME + lifted.temporaries() + ops.len() + 1;
        if self.values.len() < names {
            self.values.resize(names, 0);
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

    /// Leaves out what is written to flags only to be written again before anything reads it, of the instructions that were
    /// met: a sum with a carry writes four flags for the one that is read.
    pub(super) fn prune(&mut self) {
        const ALL: u32 = u32::MAX;
        const { assert!(FLAGS.len() <= 32) };
        let flag = |slot: usize| 1 << (slot - FIRST_FLAG);
        let is_flag = |slot: usize| (FIRST_FLAG..FIRST_NAME).contains(&slot);
        let mut live = ALL;
        let mut names = vec![false; self.values.len()];
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
                if let (Operand::Slot(output), false) = (step.output, has_branches) {
                    let is_read = match output {
                        FIRST_NAME.. => std::mem::take(&mut names[output]),
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
                for input in &self.inputs[step.inputs.clone()] {
                    match *input {
                        Operand::Slot(slot) if is_flag(slot) => live |= flag(slot),
                        Operand::Slot(slot) if slot >= FIRST_NAME => names[slot] = true,
                        _ => {}
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
        let mut values = [0; MAX_INPUTS];
        let mut at = steps.start;
        while at < steps.end {
            let Step { code, output, width, out, to, ref inputs } = self.steps[at];
            let inputs = inputs.clone();
            at += 1;
            let count = inputs.len();
            for (value, input) in values.get_mut(..count)?.iter_mut().zip(&self.inputs[inputs]) {
                *value = match *input {
                    Operand::Number(number) => number,
                    Operand::Slot(slot) => *self.values.get(slot)?,
                    Operand::Pair(slot) => *self.values.get(slot + 1)? << 32 | self.values[slot],
                    Operand::Constant(place, width) => self.constant(place, width, reads.as_deref_mut())?,
                    Operand::None => return None,
                };
            }
            let inputs = &values[..count];
            let first = values[0];
            let result = match code {
                Pcode::Branch => {
                    at = steps.start.checked_add(to)?;
                    continue;
                }
                Pcode::BranchUnless => {
                    if first == 0 {
                        at = steps.start.checked_add(to)?;
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
                Pcode::Load(Space::Constant) => self.constant(first, out, reads.as_deref_mut())?,
                Pcode::Load(_) => return None,
                Pcode::Function(index) => {
                    let function = functions().get(usize::from(index))?;
                    match (function.name, inputs) {
                        ("push_reconvergence", [to]) => self.stack.push((Push::Join, *to)),
                        ("push_break", [to]) => self.stack.push((Push::Break, *to)),
                        ("reconverge", _) => match self.stack.pop() {
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
                code => operate(code, inputs, width, out)?,
            };
            let result = crate::ir::fold::masked(result, out);
            match output {
                Operand::Slot(slot) => *self.values.get_mut(slot)? = result,
                Operand::Pair(slot) => {
                    *self.values.get_mut(slot + 1)? = result >> 32;
                    self.values[slot] = result & 0xffff_ffff;
                }
                Operand::None => {}
                _ => return None,
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

fn operand(varnode: &Varnode) -> Operand {
    let Ok(index) = usize::try_from(varnode.offset) else { return Operand::Number(varnode.offset) };
    match varnode.space {
        Space::Number => Operand::Number(varnode.offset),
        Space::Register if index >= FIRST_FLAG => Operand::None,
        Space::Register if varnode.width > 32 => Operand::Pair(index),
        Space::Register => Operand::Slot(index),
        Space::Flag if index >= FLAGS.len() => Operand::None,
        Space::Flag => Operand::Slot(FIRST_FLAG + index),
        Space::Temporary => Operand::Slot(FIRST_NAME.saturating_add(index)),
        Space::Constant => Operand::Constant(varnode.offset, varnode.width),
        _ => Operand::None,
    }
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
