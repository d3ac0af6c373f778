//! Execution of many threads at once: each step is dispatched once and executed for all lanes.
//!
//! Every lane has an address. Those at the lowest address run together, so that diverged lanes meet again after the
//! longer path. Inside an instruction, lanes that took a branch wait at its target.

use super::super::banks;
use super::*;
use crate::ir::fold::masked;
use unshade_sass::semantics::functions::arithmetic;
use unshade_sass::semantics::operate;

/// Maximum number of words to run.
const MAX_STEPS: usize = 4000;

/// The address of a lane that has returned or failed.
const ENDED: u64 = u64::MAX;

/// A set of lanes, one bit each.
type LaneSet = u64;

/// The state of the threads.
pub(super) struct Threads {
    randoms: [Random; LANES],
    /// Number of started threads.
    count: usize,
    /// The addresses of lanes that wait for the active ones.
    at: Lanes,
    returned: LaneSet,
    /// The active lanes, as a set and as all-ones masks.
    active: LaneSet,
    mask: Lanes,
    /// Lanes that wait for a step of the instruction.
    waiting: Vec<(usize, LaneSet)>,
    stacks: [Vec<(PushKind, u64)>; LANES],
}

impl Machine<'_> {
    /// Starts a thread for each seed, with random registers and flags, and without parameters.
    pub(in super::super) fn begin(&mut self, seeds: &[u64]) {
        self.threads.count = seeds.len().min(LANES);
        for (random, seed) in self.threads.randoms.iter_mut().zip(seeds) {
            // The first numbers of seeds with few bits would be small.
            *random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        }
        for (register, before) in &mut self.touched {
            *before = self.threads.random(0xffff_ffff);
            self.values[*register] = *before;
        }
        for flag in FIRST_FLAG..FIRST_NAME {
            self.values[flag] = self.threads.random(1);
        }
        self.threads.stacks.iter_mut().for_each(Vec::clear);
        self.parameters.clear();
    }

    /// Sets a register before the run.
    pub(in super::super) fn set_register(&mut self, register: usize, words: Lanes) {
        self.touch(register);
        self.values[register] = words;
        for touched in self.touched.iter_mut().filter(|touched| touched.0 == register) {
            touched.1 = words;
        }
    }

    /// Sets all registers to the same numbers.
    pub(in super::super) fn set_all_registers(&mut self, words: Lanes) {
        self.touched = (0..REGISTERS).map(|register| (register, words)).collect();
        self.values[..REGISTERS].fill(words);
    }

    /// Gives a register a random value when it is first used.
    pub(super) fn touch(&mut self, register: usize) {
        if self.touched.iter().all(|touched| touched.0 != register) {
            self.values[register] = self.threads.random(0xffff_ffff);
            self.touched.push((register, self.values[register]));
        }
    }

    /// Returns the registers of the run, with their values before and after it.
    pub(in super::super) fn touched(&self) -> impl Iterator<Item = (usize, &[u64], &[u64])> {
        let count = self.threads.count;
        let touched = self.touched.iter();
        touched.map(move |(register, before)| (*register, &before[..count], &self.values[*register][..count]))
    }

    /// Runs from an address to the return. Returns for each thread whether it returned, and records reads if
    /// requested.
    pub(in super::super) fn run(&mut self, address: u64, mut reads: Option<&mut Reads>) -> Vec<bool> {
        let mut written = [0; REGISTERS];
        let count = self.threads.count;
        let mut running = (1 << count) - 1;
        let mut at = address;
        self.threads.returned = 0;
        self.threads.at = [ENDED; LANES];
        self.threads.select(running);
        for _ in 0..MAX_STEPS {
            at = match self.instruction_at(at) {
                Some(index) => {
                    if let Some(reads) = &mut reads {
                        self.note(index, &mut written, reads);
                    }
                    self.instruction(index, reads.as_deref_mut());
                    self.decoded[index].next
                }
                None => at.saturating_add(self.code.isa.word_bytes as u64),
            };
            // While all lanes are together, there is nothing to search.
            if self.threads.active != running {
                (at, running) = self.threads.activate_lowest(at);
                if running == 0 {
                    break;
                }
            }
        }
        (0..count).map(|lane| self.threads.returned >> lane & 1 != 0).collect()
    }

    /// Returns the index in `decoded` of the instruction at an address, or `None` for other words. Lanes end outside of
    /// the code.
    fn instruction_at(&mut self, at: u64) -> Option<usize> {
        let offset = at.checked_sub(self.code.base).unwrap_or(ENDED);
        let slot = usize::try_from(offset / self.code.isa.word_bytes as u64).unwrap_or(usize::MAX);
        match (self.known.get(slot), self.words.get(slot)) {
            (Some(0), Some(Word::Instruction(instruction))) => self.decode(instruction, slot, at),
            (Some(0), Some(_)) => return None,
            (None, _) => self.threads.leave(&|_| ENDED),
            _ => {}
        }
        (*self.known.get(slot)? as usize).checked_sub(1)
    }

    /// Records the registers that an instruction reads before all lanes have written them.
    fn note(&self, index: usize, written: &mut [LaneSet; REGISTERS], reads: &mut Reads) {
        let active = self.threads.active;
        for &(register, is_written) in &self.registers[self.decoded[index].registers.clone()] {
            if is_written {
                written[register] |= active;
            } else if active & !written[register] != 0 {
                reads.registers.push(register);
            }
        }
    }

    /// Runs an instruction; lanes that continue after it stay active.
    fn instruction(&mut self, index: usize, mut reads: Option<&mut Reads>) {
        let steps = self.decoded[index].steps.clone();
        for at in steps.clone() {
            self.threads.wake(at);
            if self.threads.active != 0 {
                let step = self.steps[at];
                if self.leads(&step, steps.start, index) {
                    continue;
                }
                match self.result(&step, reads.as_deref_mut()) {
                    Some(()) => self.write(&step),
                    None => self.threads.leave(&|_| ENDED),
                }
            }
        }
        self.threads.wake(usize::MAX);
    }

    /// Executes a step that determines where lanes continue. Returns false for other steps.
    fn leads(&mut self, step: &Step, start: usize, index: usize) -> bool {
        let StepKind::Jump(code) = step.kind else { return false };
        let threads = &mut self.threads;
        let first = self.values.get(step.pair[0] as usize).unwrap_or(&[ENDED; LANES]);
        let to = start.saturating_add(step.to as usize);
        let DecodedInstruction { next, target, is_call, .. } = self.decoded[index];
        match code {
            Pcode::Branch => threads.wait(to, LaneSet::MAX),
            Pcode::BranchUnless => threads.wait(to, lanes_with(first, 0)),
            Pcode::Goto => threads.leave(&|lane| first[lane]),
            Pcode::Call => {
                threads.push(PushKind::Return, &[next; LANES]);
                threads.leave(&|lane| if is_call { target.unwrap_or(ENDED) } else { first[lane] });
            }
            _ => threads.leave_by_return(),
        }
        true
    }

    /// Computes the result of a step; `None` if it fails.
    fn result(&mut self, step: &Step, mut reads: Option<&mut Reads>) -> Option<()> {
        let [first, second] = step.pair.map(|slot| self.values.get(slot as usize));
        let (first, second) = (first?, second?);
        let active = self.threads.active;
        match step.kind {
            StepKind::Operator(Pcode::Load(_)) => {
                let addresses = *first;
                for lane in lanes(active) {
                    self.result[lane] =
                        self.constant(lane, addresses[lane], step.out, reads.as_deref_mut())?;
                }
            }
            StepKind::Operator(code) => {
                return all_lanes(code, [first, second], step, active, &mut self.result);
            }
            StepKind::Pure(name) => {
                let inputs = &self.inputs[step.inputs()];
                for lane in lanes(active) {
                    let mut values = [0; MAX_INPUTS];
                    for (value, slot) in values.iter_mut().zip(inputs) {
                        *value = self.values.get(*slot as usize)?[lane];
                    }
                    self.result[lane] = arithmetic(name, &values[..inputs.len()])?;
                }
            }
            StepKind::Push(push) => self.threads.push(push, first),
            StepKind::Join => {
                for lane in lanes(active) {
                    let popped = self.threads.stacks[lane].pop();
                    let joined = popped.filter(|popped| popped.0 == PushKind::Join);
                    self.threads.at[lane] = joined.map_or(ENDED, |joined| joined.1);
                }
                // It is the last step of an instruction.
                self.threads.select(0);
            }
            StepKind::Break => {
                for lane in lanes(active) {
                    self.result[lane] = self.threads.pop(lane, PushKind::Break).unwrap_or(ENDED);
                }
            }
            StepKind::Jump(_) | StepKind::Other => return None,
        }
        Some(())
    }

    /// Writes the result of a step for the active lanes.
    fn write(&mut self, step: &Step) {
        if let Some(output) = self.values.get_mut(step.output as usize) {
            blend(output, &self.result, masked(u64::MAX, step.out), &self.threads.mask);
        }
    }

    fn constant(
        &self,
        lane: usize,
        bank_and_offset: u64,
        width: u8,
        mut reads: Option<&mut Reads>,
    ) -> Option<u64> {
        let offset = u16::try_from(bank_and_offset).ok();
        let offset = offset.filter(|at| u64::from(*at) >= banks::PARAMETERS && at.is_multiple_of(4));
        let Some(offset) = offset else { return self.code.known_constant(bank_and_offset, width) };
        let mut parameter = |offset: u16| {
            if let Some(reads) = &mut reads {
                reads.parameters.push(offset);
            }
            let given = self.parameters.iter().find(|entry| entry.0 == offset);
            given.map_or(Random(u64::from(offset) << 17 | 1).next() & 0xffff_ffff, |entry| entry.1[lane])
        };
        let low = parameter(offset);
        match width {
            32 => Some(low),
            64 => Some(parameter(offset.wrapping_add(4)) << 32 | low),
            _ => None,
        }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            randoms: [(); LANES].map(|()| Random(1)),
            count: 0,
            at: [ENDED; LANES],
            returned: 0,
            active: 0,
            mask: [0; LANES],
            waiting: Vec::new(),
            stacks: [(); LANES].map(|()| Vec::new()),
        }
    }
}

impl Threads {
    /// Returns a random number for each lane.
    fn random(&mut self, cut: u64) -> Lanes {
        self.randoms.each_mut().map(|random| random.next() & cut)
    }

    fn select(&mut self, active: LaneSet) {
        if active != self.active {
            self.active = active;
            for (lane, mask) in self.mask.iter_mut().enumerate() {
                *mask = (active >> lane & 1).wrapping_neg();
            }
        }
    }

    /// Parks the active lanes at an address and activates those at the lowest one. Returns that address, and the
    /// lanes that have not ended.
    fn activate_lowest(&mut self, to: u64) -> (u64, LaneSet) {
        blend(&mut self.at, &[to; LANES], u64::MAX, &self.mask);
        let lowest = self.at.iter().fold(ENDED, |lowest, at| lowest.min(*at));
        self.select(lanes_with(&self.at, lowest));
        (lowest, !lanes_with(&self.at, ENDED) & LaneSet::MAX >> (64 - LANES))
    }

    /// Makes the active lanes leave the instruction.
    fn leave(&mut self, to: &dyn Fn(usize) -> u64) {
        for lane in lanes(self.active) {
            self.at[lane] = to(lane);
        }
        self.select(0);
    }

    /// Makes some of the active lanes wait for a later step.
    fn wait(&mut self, step: usize, set: LaneSet) {
        let set = self.active & set;
        if set != 0 {
            self.waiting.push((step, set));
            self.select(self.active & !set);
        }
    }

    /// Activates the lanes that wait for a step.
    fn wake(&mut self, step: usize) {
        let mut active = self.active;
        self.waiting.retain(|(to, set)| {
            active |= if *to <= step { *set } else { 0 };
            *to > step
        });
        self.select(active);
    }

    fn push(&mut self, push: PushKind, to: &Lanes) {
        for lane in lanes(self.active) {
            self.stacks[lane].push((push, to[lane]));
        }
    }

    /// Pops the stack up to the topmost entry of a kind.
    fn pop(&mut self, lane: usize, kind: PushKind) -> Option<u64> {
        while let Some((pushed, to)) = self.stacks[lane].pop() {
            if pushed == kind {
                return Some(to);
            }
        }
        None
    }

    fn leave_by_return(&mut self) {
        for lane in lanes(self.active) {
            let to = self.pop(lane, PushKind::Return);
            self.returned |= LaneSet::from(to.is_none()) << lane;
            self.at[lane] = to.unwrap_or(ENDED);
        }
        self.select(0);
    }
}

/// Returns the lanes of a set.
fn lanes(set: LaneSet) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| set >> lane & 1 != 0)
}

/// Returns the lanes with a number.
fn lanes_with(all: &Lanes, number: u64) -> LaneSet {
    all.iter().rev().fold(0, |set, found| set << 1 | LaneSet::from(*found == number))
}

/// Executes an operator for all lanes. Common operators are dispatched once; others run per lane of the set.
// A separate function, so that it works on memory and the compiler vectorizes it.
#[inline(never)]
fn all_lanes(
    code: Pcode,
    [first, second]: [&Lanes; 2],
    step: &Step,
    set: LaneSet,
    result: &mut Lanes,
) -> Option<()> {
    // The code is a constant here, so that no dispatch remains.
    macro_rules! common {
        ($($common:ident)*) => {
            match code {
                Pcode::Copy | Pcode::ZeroExtend | Pcode::Low => *result = *first,
                $(Pcode::$common => for lane in 0..LANES {
                    result[lane] = operate(Pcode::$common, &[first[lane], second[lane]], step.width, step.out)?;
                })*
                _ => for lane in lanes(set) {
                    result[lane] = operate(code, &[first[lane], second[lane]], step.width, step.out)?;
                },
            }
        };
    }
    common!(Add Sub Mul Not Carry High Concat BoolNot BoolAnd BoolOr Equal Less LessEqual SignedLess);
    Some(())
}

/// Replaces the bits of a mask.
// A separate function, as above.
#[inline(never)]
fn blend(targets: &mut Lanes, numbers: &Lanes, cut: u64, mask: &Lanes) {
    for ((target, number), mask) in targets.iter_mut().zip(numbers).zip(mask) {
        *target ^= (*target ^ number & cut) & mask;
    }
}
