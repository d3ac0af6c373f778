//! The compiler's own routines, as the operators that they stand for.
//!
//! Kepler has no instruction that divides. For 64-bit integers and for the hard cases of floats the compiler puts a
//! routine behind the kernel, calls it, and gives it a symbol such as `$kernel$__cuda_sm20_div_s64`. The name says what
//! it is meant to do; which registers it is given is settled for each kernel anew. Both are tried out: the routine's
//! words are run on numbers of many kinds, with the numbers in each order in the registers that it reads, and only if it
//! gave the operator's result every time is it taken for the operator. A routine that fails is code like any other.

use super::Code;
use crate::ir::Op;
use crate::ir::hash::Table;
use unshade_sass::listing::{Function, Word, instruction_target};
use unshade_sass::semantics::{Fault, Host, Next, State, execute};
use unshade_sass::semantics::{Lifted, Space};
use unshade_sass::table::Flow as Kind;

/// So many instructions a routine may run before it is given up.
const MAX_STEPS: usize = 4000;

/// So many registers that are read may be tried in every order.
const MAX_INPUTS: usize = 6;

/// On so many random numbers, besides those that are special, a routine is tried.
const TRIALS: usize = 40;

/// Where a half of a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Half {
    Register(u8),
    /// At an offset of constant bank 0: the compiler saw that all calls give the same parameter of the kernel.
    Parameter(u16),
    /// Nowhere: it is zero for all calls.
    Zero,
}

/// An operator on one or two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub op: Op,
    /// Bits of the numbers.
    pub width: u8,
    /// Whether the first number is 1.
    pub is_reciprocal: bool,
    /// Bits of the numbers that count.
    pub narrow: u8,
    /// Whether subnormal numbers are zero, before and after.
    pub flushes: bool,
    /// Whether it is called for what is hard alone: very small and very large numbers, and what is none.
    pub is_slow: bool,
}

const fn meaning(op: Op, width: u8) -> Meaning {
    Meaning { op, width, is_reciprocal: false, narrow: width, flushes: false, is_slow: false }
}

/// What names mean, at their end.
const NAMES: [(&str, Meaning); 16] = [
    ("__cuda_sm20_div_s64", meaning(Op::Sdiv, 64)),
    ("__cuda_sm20_rem_s64", meaning(Op::Srem, 64)),
    ("__cuda_sm20_div_u64", meaning(Op::Udiv, 64)),
    ("__cuda_sm20_rem_u64", meaning(Op::Urem, 64)),
    ("__cuda_sm20_div_u16", Meaning { narrow: 16, ..meaning(Op::Udiv, 32) }),
    ("__cuda_sm20_rem_u16", Meaning { narrow: 16, ..meaning(Op::Urem, 32) }),
    ("__cuda_sm20_div_f64_slowpath_v2", meaning(Op::FloatDiv, 64)),
    (
        "__cuda_sm20_dblrcp_rn_slowpath_v3",
        Meaning { is_reciprocal: true, is_slow: true, ..meaning(Op::FloatDiv, 64) },
    ),
    ("__cuda_sm3x_div_rn_noftz_f32", meaning(Op::FloatDiv, 32)),
    ("__cuda_sm3x_div_rn_noftz_f32_slowpath", meaning(Op::FloatDiv, 32)),
    ("__cuda_sm3x_div_rn_ftz_f32", Meaning { flushes: true, ..meaning(Op::FloatDiv, 32) }),
    ("__cuda_sm20_div_rn_ftz_f32", Meaning { flushes: true, ..meaning(Op::FloatDiv, 32) }),
    ("__cuda_sm20_rcp_rn_f32_slowpath", Meaning { is_reciprocal: true, ..meaning(Op::FloatDiv, 32) }),
    (
        "__cuda_sm20_rcp_rn_ftz_f32_slowpath",
        Meaning { is_reciprocal: true, flushes: true, ..meaning(Op::FloatDiv, 32) },
    ),
    ("__cuda_sm20_sqrt_rn_f32_slowpath", Meaning { is_slow: true, ..meaning(Op::FloatSqrt, 32) }),
    (
        "__cuda_sm20_sqrt_rn_ftz_f32_slowpath",
        Meaning { flushes: true, is_slow: true, ..meaning(Op::FloatSqrt, 32) },
    ),
];

impl Meaning {
    /// How many numbers it is given.
    pub(super) fn count(self) -> usize {
        if self.is_reciprocal || self.op == Op::FloatSqrt { 1 } else { 2 }
    }

    /// The result; none where C leaves it open.
    fn result(self, numbers: [u64; 2]) -> Option<u64> {
        let cut = |value: u64| value & (u64::MAX >> (64 - u32::from(self.narrow)));
        let [a, b] = numbers.map(cut);
        let (x, y) = (a.cast_signed(), b.cast_signed());
        Some(match (self.op, self.width) {
            (Op::Udiv, _) => a.checked_div(b)?,
            (Op::Urem, _) => a.checked_rem(b)?,
            (Op::Sdiv, _) => x.checked_div(y)?.cast_unsigned(),
            (Op::Srem, _) => x.checked_rem(y)?.cast_unsigned(),
            (Op::FloatDiv, 64) => {
                let (a, b) = (f64::from_bits(a), f64::from_bits(b));
                (if self.is_reciprocal { 1.0 / a } else { a / b }).to_bits()
            }
            (Op::FloatDiv, _) => {
                let (a, b) = (self.single(a), self.single(b));
                self.bits(if self.is_reciprocal { 1.0 / a } else { a / b })
            }
            (Op::FloatSqrt, 32) => self.bits(self.single(a).sqrt()),
            _ => return None,
        })
    }

    fn single(self, bits: u64) -> f32 {
        self.flushed(f32::from_bits(bits as u32))
    }

    fn bits(self, value: f32) -> u64 {
        u64::from(self.flushed(value).to_bits())
    }

    fn flushed(self, value: f32) -> f32 {
        if self.flushes && value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
    }

    /// Whether a word can be a half of a result, the lower or the upper one; what is not a number is one.
    fn is_half(self, expected: u64, half: Half32, found: u32) -> bool {
        let is_float = matches!(self.op, Op::FloatDiv | Op::FloatSqrt);
        let wide = self.width == 64;
        let is_nan = match self.width {
            64 => f64::from_bits(expected).is_nan(),
            _ => f32::from_bits(expected as u32).is_nan(),
        };
        if is_float && is_nan {
            return match half {
                Half32::Low if wide => true,
                Half32::High => found & 0x7ff0_0000 == 0x7ff0_0000,
                Half32::Low => f32::from_bits(found).is_nan(),
            };
        }
        found == half.of(expected)
    }

    /// Numbers to try: special ones in pairs, and random ones.
    fn trials(self) -> Vec<[u64; 2]> {
        const INTEGERS: [u64; 8] = [1, 2, 3, 10, 0xffff, 1 << 31, u64::MAX, (1 << 63) - 1];
        const SINGLES: [u64; 8] =
            [0, 0x8000_0000, 1, 0x7f_ffff, 0x80_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000];
        const DOUBLES: [u64; 8] = [
            0,
            1 << 63,
            1,
            (1 << 52) - 1,
            1 << 52,
            0x3ff0_0000_0000_0000,
            0x7fef_ffff_ffff_ffff,
            0x7ff0_0000_0000_0000,
        ];
        let special = match (self.op, self.width) {
            (Op::FloatDiv | Op::FloatSqrt, 32) => SINGLES,
            (Op::FloatDiv | Op::FloatSqrt, _) => DOUBLES,
            _ => INTEGERS,
        };
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut trials = Vec::new();
        for index in 0..TRIALS {
            // Numbers of every length first, so that a wrong order of the registers shows at once.
            let mut next = || random.next() >> (random.next() % u64::from(self.narrow));
            let pair = [next(), next()];
            trials.push(pair);
            let spread = [random.next() & 7, random.next() & 7].map(|index| special[index as usize]);
            trials.push([spread[0], random.next()]);
            trials.push([random.next(), spread[1]]);
            trials.push([special[index % 8], special[index / 8 % 8]]);
            trials.push([random.next(), random.next()]);
        }
        let cut = u64::MAX >> (64 - u32::from(self.width));
        let cut = trials.into_iter().map(|pair| pair.map(|number| number & cut));
        cut.map(|pair| if self.is_slow { [self.hard(pair[0]), pair[1]] } else { pair }).collect()
    }

    /// A number that is hard, of any number: its exponent is one of the lowest or of the highest.
    fn hard(self, number: u64) -> u64 {
        let (place, lowest, highest) = if self.width == 64 { (52, 2, 0x7ff) } else { (23, 26, 0xff) };
        let exponent = number >> place & highest;
        let wanted = if exponent * 2 < highest { exponent % lowest } else { highest };
        number & !(highest << place) | wanted << place
    }
}

/// A half of a number; one of 32 bits has the lower one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half32 {
    Low,
    High,
}

impl Half32 {
    fn of(self, number: u64) -> u32 {
        match self {
            Self::Low => number as u32,
            Self::High => (number >> 32) as u32,
        }
    }
}

/// A routine that was tried.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub meaning: Meaning,
    /// Where the numbers are: lower half, upper half, of the first and of the second.
    pub inputs: Vec<Half>,
    /// The registers in which a half of the result stands; the same half may be in several.
    pub results: Vec<(u8, Half32)>,
    /// Registers that hold something else afterwards.
    pub changed: Vec<u8>,
}

/// What the routine at an address is, if its name is known and it does what that says.
pub(super) fn find(code: &Code<'_>, words: &[Word], address: u64) -> Option<Routine> {
    let function = code.functions.iter().find(|function| function.address == address)?;
    let name = function.name.rsplit('$').next()?;
    let meaning = NAMES.iter().find(|entry| entry.0 == name)?.1;
    let mut trial = Trial { code, words, lifted: Table::default() };
    let read = trial.read(address, meaning)?;
    let count = meaning.count() * if meaning.width == 64 { 2 } else { 1 };
    let trials = meaning.trials();
    orders(&read, count).into_iter().find_map(|inputs| trial.fits(address, meaning, &inputs, &trials))
}

/// All ways to take so many of some halves; the registers of the calling convention first.
fn orders(read: &[Half], count: usize) -> Vec<Vec<Half>> {
    let usual: Vec<Half> = (4..).take(count).map(Half::Register).collect();
    let mut all = vec![usual.clone()];
    // Upper halves may be zero.
    let mut read = read.to_vec();
    read.extend((read.len()..count).take(count / 2).map(|_| Half::Zero));
    if read.len() < count || read.len() > MAX_INPUTS {
        return all;
    }
    let mut partial: Vec<Vec<Half>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = partial.iter().flat_map(|found| {
            let free = read.iter().filter(|half| **half == Half::Zero || !found.contains(half));
            free.map(|half| [found.as_slice(), &[*half]].concat()).collect::<Vec<_>>()
        });
        partial = longer.collect();
    }
    all.extend(partial.into_iter().filter(|order| *order != usual));
    all
}

struct Trial<'a> {
    code: &'a Code<'a>,
    words: &'a [Word],
    /// What was run before, by its slot: each trial runs the same instructions.
    lifted: Table<usize, Lifted>,
}

/// What a run left.
struct Run {
    before: State,
    after: State,
    /// Registers that were read before they were written, and parameters.
    read: Vec<Half>,
}

impl Trial<'_> {
    /// What is read before it is written, on some of the numbers.
    fn read(&mut self, address: u64, meaning: Meaning) -> Option<Vec<Half>> {
        let mut read = Vec::new();
        for pair in meaning.trials().iter().take(12) {
            let mut random = Random(pair[0] ^ pair[1] | 1);
            read.extend(self.run(address, random.state(), &[])?.read);
        }
        read.sort_unstable();
        read.dedup();
        Some(read)
    }

    /// Tries a routine with its numbers in some registers.
    fn fits(
        &mut self,
        address: u64,
        meaning: Meaning,
        inputs: &[Half],
        trials: &[[u64; 2]],
    ) -> Option<Routine> {
        let halves = if meaning.width == 64 { vec![Half32::Low, Half32::High] } else { vec![Half32::Low] };
        let mut results: Vec<(u8, Half32)> =
            halves.iter().flat_map(|half| (0..255).map(move |register| (register, *half))).collect();
        let mut changed = Vec::new();
        if inputs.iter().step_by(2).any(|half| *half == Half::Zero) {
            return None;
        }
        for pair in trials {
            let mut pair = *pair;
            for (number, half) in pair.iter_mut().zip(inputs.iter().skip(1).step_by(2)) {
                if *half == Half::Zero {
                    *number &= 0xffff_ffff;
                }
            }
            let Some(expected) = meaning.result(pair) else { continue };
            let mut state = Random(pair[0].rotate_left(17) ^ pair[1] | 1).state();
            let parts = match meaning.width {
                64 => vec![pair[0], pair[0] >> 32, pair[1], pair[1] >> 32],
                _ => pair.to_vec(),
            };
            let mut parameters = Vec::new();
            for (half, part) in inputs.iter().zip(parts) {
                match half {
                    Half::Register(register) => state.registers[usize::from(*register)] = part as u32,
                    Half::Parameter(offset) => parameters.push((*offset, part as u32)),
                    Half::Zero => {}
                }
            }
            derived(meaning, inputs, pair[0], &mut state);
            let run = self.run(address, state, &parameters)?;
            results.retain(|(register, half)| {
                meaning.is_half(expected, *half, run.after.registers[usize::from(*register)])
            });
            if !halves.iter().all(|half| results.iter().any(|result| result.1 == *half)) {
                return None;
            }
            let is_new = |register: &u8| {
                let index = usize::from(*register);
                run.before.registers[index] != run.after.registers[index]
            };
            changed.extend((0..255).filter(is_new));
            changed.sort_unstable();
            changed.dedup();
        }
        changed.retain(|register| results.iter().all(|result| result.0 != *register));
        Some(Routine { meaning, inputs: inputs.to_vec(), results, changed })
    }

    /// Runs a routine up to its return.
    fn run(&mut self, address: u64, state: State, parameters: &[(u16, u32)]) -> Option<Run> {
        let mut run = Run { before: state.clone(), after: state, read: Vec::new() };
        let mut written = [false; 256];
        let mut outside = Outside {
            code: self.code,
            stack: Vec::new(),
            popped: None,
            parameters: parameters.to_vec(),
            read: Vec::new(),
        };
        let bytes = self.code.isa.word_bytes as u64;
        let mut at = address;
        for _ in 0..MAX_STEPS {
            let slot = usize::try_from(at.checked_sub(self.code.base)? / bytes).ok()?;
            let here = at;
            at += bytes;
            let Word::Instruction(instruction) = self.words.get(slot)? else {
                continue;
            };
            let lifted = self.lifted.entry(slot).or_insert_with(|| {
                let mut lifted = Lifted::default();
                lifted.lift(instruction, here);
                lifted
            });
            for op in lifted.ops() {
                for input in lifted.inputs(op).iter().filter(|input| input.space == Space::Register) {
                    let first = usize::try_from(input.offset).ok()?;
                    let last = first + usize::from(input.width > 32);
                    run.read.extend((first..=last.min(254)).filter(|at| !written[*at]).map(register));
                }
                if let Some(output) = op.output.filter(|output| output.space == Space::Register) {
                    let first = usize::try_from(output.offset).ok()?.min(254);
                    written[first] = true;
                    written[first + usize::from(output.width > 32)] = true;
                }
            }
            let is_call = instruction.operation().flow == Kind::Call;
            match execute(lifted, &mut run.after, &mut outside).ok()? {
                Next::Following => {}
                Next::Goto(to) => at = to,
                Next::Call(to) => {
                    outside.stack.push((Push::Return, at));
                    at = if is_call { instruction_target(instruction, here)? } else { to };
                }
                Next::Return => match outside.pop(Push::Return) {
                    Some(to) => at = to,
                    None => {
                        run.read.append(&mut outside.read);
                        return Some(run);
                    }
                },
                Next::Exit => return None,
            }
            if let Some(to) = outside.popped.take() {
                at = to;
            }
        }
        None
    }
}

fn register(number: usize) -> Half {
    Half::Register(u8::try_from(number).unwrap_or(u8::MAX))
}

/// What some routines are given besides: the upper half of a reciprocal's number without its sign, one binade lower.
fn derived(meaning: Meaning, inputs: &[Half], number: u64, state: &mut State) {
    if meaning.is_reciprocal && meaning.width == 64 {
        let value = ((number >> 32) as u32 & 0x7fff_ffff).wrapping_sub(0x10_0000);
        for (index, slot) in state.registers.iter_mut().enumerate().take(255) {
            if !inputs.contains(&register(index)) {
                *slot = value;
            }
        }
    }
}

/// What an entry of the stack was pushed for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Push {
    Join,
    Break,
    Return,
}

/// Constants, and the stack of joins and calls of one thread.
struct Outside<'a> {
    code: &'a Code<'a>,
    stack: Vec<(Push, u64)>,
    popped: Option<u64>,
    /// Parameters of the kernel that are given, by their offsets in bank 0; others look random.
    parameters: Vec<(u16, u32)>,
    read: Vec<Half>,
}

impl Outside<'_> {
    /// The topmost entry of a kind; it and what is above is taken off.
    fn pop(&mut self, kind: Push) -> Option<u64> {
        while let Some((pushed, to)) = self.stack.pop() {
            if pushed == kind {
                return Some(to);
            }
        }
        None
    }

    fn parameter(&mut self, offset: u16) -> u64 {
        self.read.push(Half::Parameter(offset));
        let given = self.parameters.iter().find(|entry| entry.0 == offset);
        given.map_or(Random(u64::from(offset) << 17 | 1).next() & 0xffff_ffff, |entry| u64::from(entry.1))
    }
}

impl Host for Outside<'_> {
    fn load(&mut self, space: Space, address: u64, width: u8) -> Result<u64, Fault> {
        let fault = Fault::Address(space, address);
        if space != Space::Constant {
            return Err(fault);
        }
        if let Ok(offset) = u16::try_from(address)
            && u64::from(offset) >= super::banks::PARAMETERS
            && offset.is_multiple_of(4)
        {
            let low = self.parameter(offset);
            return match width {
                32 => Ok(low),
                64 => Ok(self.parameter(offset.wrapping_add(4)) << 32 | low),
                _ => Err(fault),
            };
        }
        let bank = self.code.constants.iter().find(|entry| u64::from(entry.0) == address >> 16);
        let start = usize::try_from(address & 0xffff).unwrap_or(usize::MAX);
        let bytes = bank.and_then(|bank| bank.1.get(start..)?.get(..usize::from(width / 8)));
        Ok(bytes.ok_or(fault)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn store(&mut self, space: Space, address: u64, _: u64, _: u8) -> Result<(), Fault> {
        Err(Fault::Address(space, address))
    }

    fn call(&mut self, name: &'static str, inputs: &[u64]) -> Result<u64, Fault> {
        match (name, inputs) {
            ("push_reconvergence", [to]) => self.stack.push((Push::Join, *to)),
            ("push_break", [to]) => self.stack.push((Push::Break, *to)),
            ("pop_break", _) => return self.pop(Push::Break).ok_or(Fault::Function(name)),
            ("reconverge", _) => match self.stack.pop() {
                Some((Push::Join, to)) => self.popped = Some(to),
                _ => return Err(Fault::Function(name)),
            },
            _ => return Err(Fault::Function(name)),
        }
        Ok(0)
    }
}

/// Numbers that look random (xorshift), the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn state(&mut self) -> State {
        let mut state = State::default();
        for register in state.registers.iter_mut().take(255) {
            *register = self.next() as u32;
        }
        for flag in &mut state.flags {
            *flag = self.next() & 1 != 0;
        }
        state
    }
}

/// The words of some code.
pub(super) fn words(code: &Code<'_>) -> Vec<Word> {
    let function =
        Function { name: "", isa: code.isa, bytes: code.bytes, address: code.base, file_offset: 0 };
    function.words().map(|(_, word)| word).collect()
}
