//! Recognises the compiler's own routines as operators.
//!
//! Kepler has no divide instruction. For 64-bit integers and for the hard cases of floats, the compiler appends a
//! routine to the kernel, calls it, and gives it a symbol such as `$kernel$__cuda_sm20_div_s64`. The name says what
//! it computes; its registers differ from kernel to kernel. Both are verified: the routine is run on many kinds of
//! numbers, with the numbers in each order in the registers that it reads. It is only taken for the operator if it
//! returns the operator's result every time. Otherwise it is ordinary code.

use super::Code;
use super::machine::{LANES, Lanes, Machine, REGISTERS, Random, Reads};
use crate::ir::Op;
use unshade_sass::listing::{Function, Word};

/// Maximum number of registers that are tried in every order.
const MAX_INPUTS: usize = 6;

/// Number of runs that test all orders at once.
const SIFTED: usize = 6;

/// Number of random trials, besides the special numbers.
const TRIALS: usize = 40;

/// The location of a half of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HalfLocation {
    Register(u8),
    /// A kernel parameter, at an offset of constant bank 0: the compiler saw that all calls pass the same one.
    Parameter(u16),
    /// None: the half is zero for all calls.
    Zero,
}

/// An operator on one or two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub op: Op,
    /// Width of the numbers.
    pub width: u8,
    /// Whether the first number is 1.
    pub is_reciprocal: bool,
    /// Number of significant bits.
    pub narrow: u8,
    /// Whether subnormal inputs and results are flushed to zero.
    pub flushes: bool,
    /// Whether it is only called for hard cases: very small and very large numbers, infinities and NaNs.
    pub is_slow: bool,
}

const fn meaning(op: Op, width: u8) -> Meaning {
    Meaning { op, width, is_reciprocal: false, narrow: width, flushes: false, is_slow: false }
}

/// The meaning of routine names, by suffix.
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
    /// Returns the number of operands.
    pub(super) fn count(self) -> usize {
        if self.is_reciprocal || self.op == Op::FloatSqrt { 1 } else { 2 }
    }

    /// Returns the halves of its operands and its result.
    fn halves(self) -> &'static [Half] {
        if self.width == 64 { &[Half::Low, Half::High] } else { &[Half::Low] }
    }

    /// Returns the result; `None` where C leaves it undefined.
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

    /// Returns whether a word may be a half of the expected result; all NaNs are equal.
    fn is_half(self, expected: u64, half: Half, found: u32) -> bool {
        let is_float = matches!(self.op, Op::FloatDiv | Op::FloatSqrt);
        let wide = self.width == 64;
        let is_nan = match self.width {
            64 => f64::from_bits(expected).is_nan(),
            _ => f32::from_bits(expected as u32).is_nan(),
        };
        if is_float && is_nan {
            return match half {
                Half::Low if wide => true,
                Half::High => found & 0x7ff0_0000 == 0x7ff0_0000,
                Half::Low => f32::from_bits(found).is_nan(),
            };
        }
        found == half.of(expected)
    }

    /// Returns the numbers to try: pairs of special numbers, and random ones.
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
            // Numbers of every length first, so that a wrong order of registers fails early.
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

    /// Turns a number into a hard case: its exponent becomes one of the lowest or the highest.
    fn hard(self, number: u64) -> u64 {
        let (shift, lowest, highest) = if self.width == 64 { (52, 2, 0x7ff) } else { (23, 26, 0xff) };
        let exponent = number >> shift & highest;
        let wanted = if exponent * 2 < highest { exponent % lowest } else { highest };
        number & !(highest << shift) | wanted << shift
    }
}

/// A half of a 64-bit number; a 32-bit number has only the lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Low,
    High,
}

impl Half {
    fn of(self, number: u64) -> u32 {
        match self {
            Self::Low => number as u32,
            Self::High => (number >> 32) as u32,
        }
    }
}

/// A recognised routine.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub meaning: Meaning,
    /// The locations of the operands: lower half, upper half, of the first and of the second.
    pub inputs: Vec<HalfLocation>,
    /// The registers with a half of the result; several may hold the same half.
    pub results: Vec<(u8, Half)>,
    /// Registers that are overwritten.
    pub changed: Vec<u8>,
}

/// Returns the routine at an address, if its name is known and it computes what the name says.
pub(super) fn find(code: &Code<'_>, words: &[Word], address: u64) -> Option<Routine> {
    let function = code.functions.iter().find(|function| function.address == address)?;
    let name = function.name.rsplit('$').next()?;
    let meaning = NAMES.iter().find(|entry| entry.0 == name)?.1;
    let mut machine = Machine::new(code, words);
    let trials = meaning.trials();
    let read = read(&mut machine, address, &trials)?;
    machine.prune();
    let count = meaning.count() * if meaning.width == 64 { 2 } else { 1 };
    let mut orders = orders(&read, count);
    sift(&mut machine, address, meaning, &read, &mut orders);
    orders.iter().find_map(|inputs| fits(&mut machine, address, meaning, inputs, &trials))
}

/// Removes orders that cannot be right: whatever the locations hold are the operands in each order, so that one run
/// tests all orders.
fn sift(
    machine: &mut Machine<'_>,
    address: u64,
    meaning: Meaning,
    read: &[HalfLocation],
    orders: &mut Vec<Vec<HalfLocation>>,
) {
    // These are only called with certain kinds of numbers.
    if meaning.is_slow || meaning.is_reciprocal {
        return;
    }
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    machine.begin(&[(); SIFTED].map(|()| random.next()));
    let words: Vec<Lanes> =
        read.iter().map(|_| [(); LANES].map(|()| random.next() >> 32 >> (random.next() % 32))).collect();
    for (half, words) in read.iter().zip(&words) {
        set_location(machine, *half, *words);
    }
    let returned = machine.run(address, None);
    let word = |half: &HalfLocation, lane: usize| {
        read.iter().position(|other| other == half).map_or(0, |index| words[index][lane])
    };
    orders.retain(|inputs| {
        (0..SIFTED).filter(|lane| returned[*lane]).all(|lane| {
            let mut numbers = [0; 2];
            for (number, halves) in numbers.iter_mut().zip(inputs.chunks(usize::from(meaning.width / 32))) {
                *number = halves.iter().rev().fold(0, |number, half| number << 32 | word(half, lane));
            }
            let is_there = |expected: u64, half: Half| {
                machine.touched().any(|(_, _, after)| meaning.is_half(expected, half, after[lane] as u32))
            };
            let expected = meaning.result(numbers);
            expected.is_none_or(|expected| meaning.halves().iter().all(|half| is_there(expected, *half)))
        })
    });
}

/// Sets a location to a half of each lane's number.
fn set_location(machine: &mut Machine<'_>, half: HalfLocation, words: Lanes) {
    match half {
        HalfLocation::Register(register) => machine.set_register(usize::from(register), words),
        HalfLocation::Parameter(offset) => machine.parameters.push((offset, words)),
        HalfLocation::Zero => {}
    }
}

/// Returns all ways to choose `count` locations; the registers of the calling convention come first.
fn orders(read: &[HalfLocation], count: usize) -> Vec<Vec<HalfLocation>> {
    let usual: Vec<HalfLocation> = (4..).take(count).map(HalfLocation::Register).collect();
    let mut all = vec![usual.clone()];
    // Upper halves may be zero.
    let mut read = read.to_vec();
    read.extend((read.len()..count).take(count / 2).map(|_| HalfLocation::Zero));
    if read.len() < count || read.len() > MAX_INPUTS {
        return all;
    }
    let mut partial: Vec<Vec<HalfLocation>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = partial.iter().flat_map(|found| {
            let free = read.iter().filter(|half| **half == HalfLocation::Zero || !found.contains(half));
            free.map(|half| [found.as_slice(), &[*half]].concat()).collect::<Vec<_>>()
        });
        partial = longer.collect();
    }
    all.extend(partial.into_iter().filter(|order| *order != usual));
    all
}

/// Returns what is read before it is written, for some of the numbers.
fn read(machine: &mut Machine<'_>, address: u64, trials: &[[u64; 2]]) -> Option<Vec<HalfLocation>> {
    let mut reads = Reads::default();
    let seeds: Vec<u64> = trials.iter().take(12).map(|pair| pair[0] ^ pair[1]).collect();
    machine.begin(&seeds);
    if machine.run(address, Some(&mut reads)).contains(&false) {
        return None;
    }
    let mut read: Vec<HalfLocation> = reads.registers.into_iter().map(register).collect();
    read.extend(reads.parameters.into_iter().map(HalfLocation::Parameter));
    read.sort_unstable();
    read.dedup();
    Some(read)
}

/// Tests a routine with its operands in given locations.
fn fits(
    machine: &mut Machine<'_>,
    address: u64,
    meaning: Meaning,
    inputs: &[HalfLocation],
    trials: &[[u64; 2]],
) -> Option<Routine> {
    if inputs.iter().step_by(2).any(|half| *half == HalfLocation::Zero) {
        return None;
    }
    let halves = meaning.halves();
    let mut results: Option<Vec<(u8, Half)>> = None;
    let mut is_changed = [false; REGISTERS];
    let trials: Vec<([u64; 2], u64)> = trials
        .iter()
        .filter_map(|pair| {
            let pair = known(*pair, inputs);
            Some((pair, meaning.result(pair)?))
        })
        .collect();
    for batch in trials.chunks(LANES) {
        start_batch(machine, meaning, inputs, batch);
        if machine.run(address, None).contains(&false) {
            return None;
        }
        let results = results.get_or_insert_with(|| {
            let mut all: Vec<u8> = machine.touched().map(|(register, ..)| register as u8).collect();
            all.sort_unstable();
            halves.iter().flat_map(|half| all.iter().map(|register| (*register, *half))).collect()
        });
        results.retain(|(register, half)| {
            let mut found = machine.touched().filter(|(number, ..)| *number == usize::from(*register));
            found.any(|(_, _, after)| {
                let mut all = batch.iter().zip(after);
                all.all(|((_, expected), found)| meaning.is_half(*expected, *half, *found as u32))
            })
        });
        if !halves.iter().all(|half| results.iter().any(|result| result.1 == *half)) {
            return None;
        }
        for (register, before, after) in machine.touched() {
            is_changed[register] |= before != after;
        }
    }
    let results = results?;
    let mut changed: Vec<u8> =
        (0..=254).zip(is_changed).filter(|entry| entry.1).map(|entry| entry.0).collect();
    changed.retain(|register| results.iter().all(|result| result.0 != *register));
    Some(Routine { meaning, inputs: inputs.to_vec(), results, changed })
}

/// Returns operands without the upper halves that are always zero.
fn known(mut pair: [u64; 2], inputs: &[HalfLocation]) -> [u64; 2] {
    for (number, half) in pair.iter_mut().zip(inputs.iter().skip(1).step_by(2)) {
        if *half == HalfLocation::Zero {
            *number &= 0xffff_ffff;
        }
    }
    pair
}

/// Sets the operands of a batch of trials, one per lane.
fn start_batch(
    machine: &mut Machine<'_>,
    meaning: Meaning,
    inputs: &[HalfLocation],
    batch: &[([u64; 2], u64)],
) {
    let seeds: Vec<u64> = batch.iter().map(|(pair, _)| pair[0].rotate_left(17) ^ pair[1]).collect();
    machine.begin(&seeds);
    let words = |word: &dyn Fn([u64; 2]) -> u64| {
        let mut words = [0; LANES];
        for (target, (pair, _)) in words.iter_mut().zip(batch) {
            *target = word(*pair) & 0xffff_ffff;
        }
        words
    };
    // Some routines have another argument: the upper half of the reciprocal's operand without its sign, one binade
    // lower.
    if meaning.is_reciprocal && meaning.width == 64 {
        machine.set_all_registers(words(&|pair| (pair[0] >> 32 & 0x7fff_ffff).wrapping_sub(0x10_0000)));
    }
    let per_number = usize::from(meaning.width / 32);
    for (index, half) in inputs.iter().enumerate() {
        set_location(machine, *half, words(&|pair| pair[index / per_number] >> (index % per_number * 32)));
    }
}

fn register(number: usize) -> HalfLocation {
    HalfLocation::Register(u8::try_from(number).unwrap_or(u8::MAX))
}

/// Decodes the words of code.
pub(super) fn words(code: &Code<'_>) -> Vec<Word> {
    let function =
        Function { name: "", isa: code.isa, bytes: code.bytes, address: code.base, file_offset: 0 };
    function.words().map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::super::FunctionSymbol;
    use super::*;
    use unshade_sass::{assemble, isa};

    /// 64-bit long division: operands in R4 and R5, R6 and R7, quotient in R4 and R5, remainder in R0 and R1.
    const LONG_DIVISION: [&str; 20] = [
        "MOV32I R0, 0x0",
        "MOV32I R1, 0x0",
        "MOV32I R2, 0x40",
        "IADD R4.CC, R4, R4",
        "IADD.X R5.CC, R5, R5",
        "IADD.X R0.CC, R0, R0",
        "IADD.X R1.CC, R1, R1",
        "IADD.X R8, RZ, RZ",
        "ISUB R9.CC, R0, R6",
        "ISUB.X R10.CC, R1, R7",
        "IADD.X R11, RZ, RZ",
        "LOP.OR R11, R11, R8",
        "ISETP.NE.AND P0, PT, R11, RZ, PT",
        "@P0 MOV R0, R9",
        "@P0 MOV R1, R10",
        "@P0 LOP32I.OR R4, R4, 0x1",
        "IADD32I R2, R2, -0x1",
        "ISETP.NE.AND P1, PT, R2, RZ, PT",
        "@P1 BRA 0x18",
        "RET",
    ];

    /// 16-bit quotient through floats; operands in R7 and R3.
    const SHORT_DIVISION: [&str; 9] = [
        "LOP32I.AND R0, R7, 0xffff",
        "LOP32I.AND R1, R3, 0xffff",
        "I2F.F32.U32 R0, R0",
        "I2F.F32.U32 R1, R1",
        "FADD32I R0, R0, 0.5",
        "MUFU.RCP R1, R1",
        "FMUL R0, R0, R1",
        "F2I.U32.F32.TRUNC R9, R0",
        "RET",
    ];

    /// Recognises a routine in assembly text with renamed registers.
    fn found(text: &[&str], renamed: &[(&str, &str)], name: &str) -> Option<Routine> {
        let isa = isa::by_architecture(35).unwrap();
        let word = |(index, line): (u64, &&str)| {
            let parts = line.split_inclusive([' ', ',', '.']).map(|part| {
                let end = part.trim_end_matches([' ', ',', '.']).len();
                let (word, rest) = part.split_at(end);
                let new = renamed.iter().find(|entry| entry.0 == word).map_or(word, |entry| entry.1);
                format!("{new}{rest}")
            });
            let line: String = parts.collect();
            let word = assemble::instruction(isa, &line, 8 * index, 0);
            u64::try_from(word.unwrap_or_else(|error| panic!("{line}: {error}"))).unwrap().to_le_bytes()
        };
        let bytes: Vec<u8> = (0..).zip(text).flat_map(word).collect();
        let name = format!("$kernel${name}");
        let mut code = Code::new(isa, &bytes);
        code.functions.push(FunctionSymbol { address: 0, name: &name, name_in_c: "" });
        find(&code, &words(&code), 0)
    }

    fn registers(all: &[u8]) -> Vec<HalfLocation> {
        all.iter().map(|register| HalfLocation::Register(*register)).collect()
    }

    #[test]
    fn a_routine_matches_its_name_and_behavior() {
        let quotient = found(&LONG_DIVISION, &[], "__cuda_sm20_div_u64").unwrap();
        assert_eq!(quotient.meaning.op, Op::Udiv);
        assert_eq!(quotient.inputs, registers(&[4, 5, 6, 7]));
        assert_eq!(quotient.results, [(4, Half::Low), (5, Half::High)]);
        assert_eq!(quotient.changed, [0, 1, 2, 8, 9, 10, 11]);
        let rest = found(&LONG_DIVISION, &[], "__cuda_sm20_rem_u64").unwrap();
        assert_eq!(rest.results, [(0, Half::Low), (1, Half::High)]);
        // It is unsigned, and other names are unknown.
        for name in ["__cuda_sm20_div_s64", "__cuda_sm20_rem_s64", "__cuda_sm20_div_u128"] {
            assert!(found(&LONG_DIVISION, &[], name).is_none(), "{name}");
        }
    }

    #[test]
    fn numbers_may_be_in_any_registers_in_any_order() {
        let renamed = [("R4", "R21"), ("R5", "R3"), ("R6", "R17"), ("R7", "R2"), ("R2", "R30")];
        let quotient = found(&LONG_DIVISION, &renamed, "__cuda_sm20_div_u64").unwrap();
        assert_eq!(quotient.inputs, registers(&[21, 3, 17, 2]));
        assert_eq!(quotient.results, [(21, Half::Low), (3, Half::High)]);
    }

    #[test]
    fn an_operand_may_be_a_parameter_and_an_upper_half_zero() {
        let renamed = [("R6", "c[0x0][0x148]"), ("R7", "RZ")];
        let quotient = found(&LONG_DIVISION, &renamed, "__cuda_sm20_div_u64").unwrap();
        let inputs = [
            HalfLocation::Register(4),
            HalfLocation::Register(5),
            HalfLocation::Parameter(0x148),
            HalfLocation::Zero,
        ];
        assert_eq!(quotient.inputs, inputs);
    }

    #[test]
    fn numbers_of_16_bits() {
        let quotient = found(&SHORT_DIVISION, &[], "__cuda_sm20_div_u16").unwrap();
        assert_eq!(quotient.inputs, registers(&[7, 3]));
        assert_eq!(quotient.results, [(9, Half::Low)]);
        assert_eq!((quotient.meaning.width, quotient.meaning.narrow), (32, 16));
        // Without the half, exact quotients are sometimes one too small.
        let mut wrong = SHORT_DIVISION;
        wrong[4] = "FADD32I R0, R0, -0.5";
        assert!(found(&wrong, &[], "__cuda_sm20_div_u16").is_none());
    }

    #[test]
    fn lanes_may_diverge() {
        // Guarded instructions become branches, and both paths join through the stack.
        let mut text = LONG_DIVISION[..13].to_vec();
        text.extend(["SSY 0xa8", "@P0 BRA 0x88", "NOP.S", "NOP"]);
        text.extend(["MOV R0, R9", "MOV R1, R10", "LOP32I.OR R4, R4, 0x1", "NOP.S"]);
        text.extend(&LONG_DIVISION[16..]);
        let quotient = found(&text, &[], "__cuda_sm20_div_u64").unwrap();
        assert_eq!(quotient.inputs, registers(&[4, 5, 6, 7]));
        // One path does not join.
        text[15] = "NOP";
        text[16] = "RET";
        assert!(found(&text, &[], "__cuda_sm20_div_u64").is_none());
    }

    #[test]
    fn code_that_does_not_return_or_accesses_memory_is_no_routine() {
        let mut endless = LONG_DIVISION;
        endless[16] = "IADD32I R2, R2, 0x0";
        assert!(found(&endless, &[], "__cuda_sm20_div_u64").is_none());
        let mut storing = LONG_DIVISION;
        storing[2] = "ST [R4], R2";
        assert!(found(&storing, &[], "__cuda_sm20_div_u64").is_none());
        assert!(found(&["EXIT"], &[], "__cuda_sm20_div_u64").is_none());
    }
}
