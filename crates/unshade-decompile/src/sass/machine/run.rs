//! Many threads at once: each step is chosen once and done for all lanes.
//!
//! Every lane has an address, and always those at the lowest one go on together, so that lanes that parted meet again
//! behind the longer way. Inside of an instruction, those that a branch took wait where it leads.

use super::super::banks;
use super::*;
use crate::ir::fold::masked;
use unshade_sass::semantics::functions::call;
use unshade_sass::semantics::operate;

/// So many words may be run before it is given up.
const MAX_STEPS: usize = 4000;

/// The address of a lane that has returned, or has failed.
const ENDED: u64 = u64::MAX;

/// A set of lanes, a bit for each.
type Set = u64;

/// Where threads are.
pub(super) struct Threads {
    randoms: [Random; LANES],
    /// How many were begun.
    count: usize,
    /// Where those are that wait for the active ones.
    at: Lanes,
    returned: Set,
    /// Those for which a step is done, as a set and as all bits of each lane's number.
    active: Set,
    mask: Lanes,
    /// Those that wait for a step of the instruction.
    waiting: Vec<(usize, Set)>,
    stacks: [Vec<(Push, u64)>; LANES],
}

impl Machine<'_> {
    /// A thread for each seed, with registers and flags that look random, and with no parameter given.
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

    /// Puts something into a register before the run.
    pub(in super::super) fn give(&mut self, register: usize, words: Lanes) {
        self.touch(register);
        self.values[register] = words;
        for touched in self.touched.iter_mut().filter(|touched| touched.0 == register) {
            touched.1 = words;
        }
    }

    /// Puts the same into all registers.
    pub(in super::super) fn give_all(&mut self, words: Lanes) {
        self.touched = (0..REGISTERS).map(|register| (register, words)).collect();
        self.values[..REGISTERS].fill(words);
    }

    /// A register that comes into play holds what looks random.
    pub(super) fn touch(&mut self, register: usize) {
        if self.touched.iter().all(|touched| touched.0 != register) {
            self.values[register] = self.threads.random(0xffff_ffff);
            self.touched.push((register, self.values[register]));
        }
    }

    /// The registers that have to do with the run, what they held before it, and what they hold now.
    pub(in super::super) fn touched(&self) -> impl Iterator<Item = (usize, &[u64], &[u64])> {
        let count = self.threads.count;
        let touched = self.touched.iter();
        touched.map(move |(register, before)| (*register, &before[..count], &self.values[*register][..count]))
    }

    /// Runs from an address up to the return; gives for each thread whether that came. Notes what is read where that is
    /// wanted.
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
                    self.taken[index].next
                }
                None => at.saturating_add(self.code.isa.word_bytes as u64),
            };
            // As long as all stay together, there is nothing to seek.
            if self.threads.active != running {
                (at, running) = self.threads.lowest(at);
                if running == 0 {
                    break;
                }
            }
        }
        (0..count).map(|lane| self.threads.returned >> lane & 1 != 0).collect()
    }

    /// The place in `taken` of the instruction at an address; none for other words. Where there are no words, lanes end.
    fn instruction_at(&mut self, at: u64) -> Option<usize> {
        let offset = at.checked_sub(self.code.base).unwrap_or(ENDED);
        let slot = usize::try_from(offset / self.code.isa.word_bytes as u64).unwrap_or(usize::MAX);
        match (self.known.get(slot), self.words.get(slot)) {
            (Some(0), Some(Word::Instruction(instruction))) => self.take(instruction, slot, at),
            (Some(0), Some(_)) => return None,
            (None, _) => self.threads.leave(&|_| ENDED),
            _ => {}
        }
        (*self.known.get(slot)? as usize).checked_sub(1)
    }

    /// Notes which registers an instruction reads that were not written by all lanes.
    fn note(&self, index: usize, written: &mut [Set; REGISTERS], reads: &mut Reads) {
        let active = self.threads.active;
        for &(register, is_written) in &self.registers[self.taken[index].registers.clone()] {
            if is_written {
                written[register] |= active;
            } else if active & !written[register] != 0 {
                reads.registers.push(register);
            }
        }
    }

    /// Runs an instruction; those lanes stay active that go on behind it.
    fn instruction(&mut self, index: usize, mut reads: Option<&mut Reads>) {
        let steps = self.taken[index].steps.clone();
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

    /// Does a step that decides where lanes go on; false if it is none.
    fn leads(&mut self, step: &Step, start: usize, index: usize) -> bool {
        let Does::Lead(code) = step.does else { return false };
        let threads = &mut self.threads;
        let first = self.values.get(step.pair[0] as usize).unwrap_or(&[ENDED; LANES]);
        let to = start.saturating_add(step.to as usize);
        let Taken { next, target, is_call, .. } = self.taken[index];
        match code {
            Pcode::Branch => threads.wait(to, Set::MAX),
            Pcode::BranchUnless => threads.wait(to, which(first, 0)),
            Pcode::Goto => threads.leave(&|lane| first[lane]),
            Pcode::Call => {
                threads.push(Push::Return, &[next; LANES]);
                threads.leave(&|lane| if is_call { target.unwrap_or(ENDED) } else { first[lane] });
            }
            _ => threads.leave_by_return(),
        }
        true
    }

    /// What a step makes; none if it fails.
    fn result(&mut self, step: &Step, mut reads: Option<&mut Reads>) -> Option<()> {
        let [first, second] = step.pair.map(|slot| self.values.get(slot as usize));
        let (first, second) = (first?, second?);
        let active = self.threads.active;
        match step.does {
            Does::Operator(Pcode::Load(_)) => {
                let places = *first;
                for lane in lanes(active) {
                    self.result[lane] = self.constant(lane, places[lane], step.out, reads.as_deref_mut())?;
                }
            }
            Does::Operator(code) => return all_lanes(code, [first, second], step, active, &mut self.result),
            Does::Pure(name) => {
                let inputs = &self.inputs[step.inputs()];
                for lane in lanes(active) {
                    let mut values = [0; MAX_INPUTS];
                    for (value, slot) in values.iter_mut().zip(inputs) {
                        *value = self.values.get(*slot as usize)?[lane];
                    }
                    self.result[lane] = call(name, &values[..inputs.len()])?;
                }
            }
            Does::Push(push) => self.threads.push(push, first),
            Does::Join => {
                for lane in lanes(active) {
                    let popped = self.threads.stacks[lane].pop();
                    let joined = popped.filter(|popped| popped.0 == Push::Join);
                    self.threads.at[lane] = joined.map_or(ENDED, |joined| joined.1);
                }
                // It is the last that an instruction does.
                self.threads.select(0);
            }
            Does::Break => {
                for lane in lanes(active) {
                    self.result[lane] = self.threads.pop(lane, Push::Break).unwrap_or(ENDED);
                }
            }
            Does::Lead(_) | Does::Other => return None,
        }
        Some(())
    }

    /// Writes what a step made for the lanes for which it was done.
    fn write(&mut self, step: &Step) {
        if let Some(output) = self.values.get_mut(step.output as usize) {
            blend(output, &self.result, masked(u64::MAX, step.out), &self.threads.mask);
        }
    }

    fn constant(&self, lane: usize, place: u64, width: u8, mut reads: Option<&mut Reads>) -> Option<u64> {
        let offset = u16::try_from(place).ok();
        let offset = offset.filter(|at| u64::from(*at) >= banks::PARAMETERS && at.is_multiple_of(4));
        let Some(offset) = offset else { return self.code.held(place, width) };
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
    /// A number of each lane that looks random.
    fn random(&mut self, cut: u64) -> Lanes {
        self.randoms.each_mut().map(|random| random.next() & cut)
    }

    fn select(&mut self, active: Set) {
        if active != self.active {
            self.active = active;
            for (lane, mask) in self.mask.iter_mut().enumerate() {
                *mask = (active >> lane & 1).wrapping_neg();
            }
        }
    }

    /// Active lanes are at an address; those at the lowest one become active. Gives that, and which have not ended.
    fn lowest(&mut self, to: u64) -> (u64, Set) {
        blend(&mut self.at, &[to; LANES], u64::MAX, &self.mask);
        let lowest = self.at.iter().fold(ENDED, |lowest, at| lowest.min(*at));
        self.select(which(&self.at, lowest));
        (lowest, !which(&self.at, ENDED) & Set::MAX >> (64 - LANES))
    }

    /// Active lanes leave the instruction.
    fn leave(&mut self, to: &dyn Fn(usize) -> u64) {
        for lane in lanes(self.active) {
            self.at[lane] = to(lane);
        }
        self.select(0);
    }

    /// Some of the active lanes wait for a step further on.
    fn wait(&mut self, step: usize, set: Set) {
        let set = self.active & set;
        if set != 0 {
            self.waiting.push((step, set));
            self.select(self.active & !set);
        }
    }

    /// Those that wait for a step take part again.
    fn wake(&mut self, step: usize) {
        let mut active = self.active;
        self.waiting.retain(|(to, set)| {
            active |= if *to <= step { *set } else { 0 };
            *to > step
        });
        self.select(active);
    }

    fn push(&mut self, push: Push, to: &Lanes) {
        for lane in lanes(self.active) {
            self.stacks[lane].push((push, to[lane]));
        }
    }

    /// The topmost entry of a kind; it and what is above is taken off.
    fn pop(&mut self, lane: usize, kind: Push) -> Option<u64> {
        while let Some((pushed, to)) = self.stacks[lane].pop() {
            if pushed == kind {
                return Some(to);
            }
        }
        None
    }

    fn leave_by_return(&mut self) {
        for lane in lanes(self.active) {
            let to = self.pop(lane, Push::Return);
            self.returned |= Set::from(to.is_none()) << lane;
            self.at[lane] = to.unwrap_or(ENDED);
        }
        self.select(0);
    }
}

/// The lanes of a set.
fn lanes(set: Set) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| set >> lane & 1 != 0)
}

/// The lanes that have a number.
fn which(all: &Lanes, number: u64) -> Set {
    all.iter().rev().fold(0, |set, found| set << 1 | Set::from(*found == number))
}

/// An operator, for all lanes. Those that are common are chosen once; others are done for the lanes of a set.
// A function of its own, so that it works on places in memory: then the compiler makes vectors of them.
#[inline(never)]
fn all_lanes(
    code: Pcode,
    [first, second]: [&Lanes; 2],
    step: &Step,
    set: Set,
    result: &mut Lanes,
) -> Option<()> {
    // The code is a constant here, so that nothing is left of the choice between operators.
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
// A function of its own, as above.
#[inline(never)]
fn blend(places: &mut Lanes, numbers: &Lanes, cut: u64, mask: &Lanes) {
    for ((place, number), mask) in places.iter_mut().zip(numbers).zip(mask) {
        *place ^= (*place ^ number & cut) & mask;
    }
}
