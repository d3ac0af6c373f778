//! Checks the simplifications that are code, as [`laws`](super::laws) checks those of the table: for many values that they
//! may apply to, both sides are evaluated.

use super::laws::{Choice, Computed, Random};
use super::rewrite;
use crate::ir::fold::masked;
use crate::ir::{BlockId, Function, Intrinsic, NO_ADDRESS, Op, ValueId};

/// How many values are made.
const VALUES: usize = 600;

/// How many numbers each is evaluated for, where there are too many for all.
const NUMBERS: usize = 60;

/// A function under construction.
struct Maker {
    function: Function,
    random: Random,
}

impl Maker {
    fn op(&mut self, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        self.function.raw(op, width, BlockId::ENTRY, NO_ADDRESS, inputs)
    }

    fn constant(&mut self, number: u64, width: u8) -> ValueId {
        self.function.constant(number, width)
    }

    fn any<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.next() as usize % from.len()]
    }
}

/// Rewrites the values that `make` returns, given leaves of a width, and checks that the results are equal for numbers of
/// `special` and others. Returns how many values were rewritten.
fn rewritten<const N: usize>(
    width: u8,
    special: impl Fn(&mut Random) -> Option<u64>,
    make: impl Fn(&mut Maker, [ValueId; N]) -> ValueId,
) -> usize {
    let mut random = Random::new();
    let mut buffer = Vec::new();
    let mut count = 0;
    for _ in 0..VALUES {
        let mut maker = Maker { function: Function::default(), random };
        maker.function.block(0);
        let leaves: [ValueId; N] =
            std::array::from_fn(|index| maker.op(Op::Parameter(8 * index as u32), width, &[]));
        let id = make(&mut maker, leaves);
        let before = Computed::new(&maker.function, id, &leaves);
        let old = maker.function.inputs(id).to_vec();
        let result = rewrite(&mut maker.function, id, |_, _| None, true);
        random = maker.random;
        if result.is_none() && old == maker.function.inputs(id) {
            continue;
        }
        count += 1;
        let after = Computed::new(&maker.function, result.unwrap_or(id), &leaves);
        let is_small = usize::from(width) * N <= 16;
        for trial in 0..if is_small { 1 << (usize::from(width) * N) } else { NUMBERS } {
            let numbers: [u64; N] = std::array::from_fn(|index| match is_small {
                true => masked(trial as u64 >> (usize::from(width) * index), width),
                false => special(&mut random).unwrap_or_else(|| random.number(Choice::new(width))),
            });
            let Some(wanted) = before.value(&numbers, &mut buffer) else { continue };
            let found = after.value(&numbers, &mut buffer);
            assert_eq!(found, Some(wanted), "{numbers:x?} in {:?}", maker.function.values);
        }
    }
    count
}

fn any(_: &mut Random) -> Option<u64> {
    None
}

#[test]
fn exclusive_ors_cancel() {
    let count = rewritten(8, any, |maker, leaves: [ValueId; 2]| {
        let mut operands = leaves.to_vec();
        let number = maker.random.next();
        operands.push(maker.constant(number, 8));
        for _ in 0..maker.any(&[1, 2, 3, 4, 5, 6]) {
            let pair = [maker.any(&operands), maker.any(&operands)];
            operands.push(maker.op(Op::Xor, 8, &pair));
        }
        operands[operands.len() - 1]
    });
    assert!(count > VALUES / 4, "{count}");
}

#[test]
fn permutations_are_shifts() {
    let count = rewritten(32, any, |maker, [a, b]: [ValueId; 2]| {
        let number = maker.any(&[0, 0, 0xffff_ffff, 0x12_0034]);
        let constant = maker.constant(number, 32);
        let sources = maker.any(&[[a, constant], [constant, a], [a, b], [a, a]]);
        let nibble = if sources[0] == a { 0x4444 } else { 0 };
        let chosen = [0x3210, 0x6543, 0x7654, 0x5432, 0x4321, 0x0000, 0x1000, 0x4765, nibble];
        let selector = maker.any(&chosen) ^ maker.any(&[0, 0, 0x4444, nibble, 0x4000]);
        let selector = maker.constant(selector, 32);
        maker.op(Op::Call(Intrinsic::PermuteBytes), 32, &[sources[0], sources[1], selector])
    });
    assert!(count > 20, "{count}");
}

#[test]
fn signs_change_and_flushes_vanish() {
    let count = rewritten(32, any, |maker, [a, b]: [ValueId; 2]| {
        let (sign, rest) = (maker.constant(1 << 31, 32), maker.constant((1 << 31) - 1, 32));
        let turned = maker.op(Op::Xor, 32, &[a, sign]);
        let absolute = maker.op(Op::And, 32, &[b, rest]);
        let op = maker.any(&[Op::FloatMul, Op::FloatDiv, Op::FloatLess]);
        maker.op(op, if op == Op::FloatLess { 1 } else { 32 }, &[turned, absolute])
    });
    assert_eq!(count, VALUES);
    let flush = Op::Call(Intrinsic::FlushToZero);
    let count = rewritten(32, any, |maker, [a]: [ValueId; 1]| {
        let number = maker.random.next() >> maker.any(&[32, 42]);
        let constant = maker.constant(number, 32);
        let op = maker.any(&[flush, Op::SignedToFloat, Op::UnsignedToFloat, Op::FloatNegate]);
        let mut value = if maker.any(&[true, false]) { constant } else { maker.op(op, 32, &[a]) };
        for _ in 0..maker.any(&[0, 1, 2]) {
            let op = maker.any(&[Op::FloatNegate, Op::FloatAbs]);
            value = maker.op(op, 32, &[value]);
        }
        maker.op(flush, 32, &[value])
    });
    assert!(count > VALUES / 2, "{count}");
}

/// Returns numbers near multiples of small divisors, where the error of a reciprocal shows.
fn near_multiples(random: &mut Random) -> Option<u64> {
    let (divisor, number) = (random.next() % 1000 + 3, random.next() & 0xffff_ffff);
    let multiple = number / divisor * divisor;
    (random.next() & 1 == 0).then(|| masked(multiple.wrapping_sub(random.next() % 2), 32))
}

#[test]
fn reciprocals_are_quotients() {
    for is_signed in [false, true] {
        let count = rewritten(32, near_multiples, |maker, [x]: [ValueId; 1]| {
            let (divisor, shift) = (maker.random.next() % 100 + 3, maker.random.next() % 8);
            let magic = (1_u64 << (32 + shift)) / divisor + maker.any(&[0, 1, 1, 2]);
            let (magic, amount) = (maker.constant(magic, 64), maker.constant(shift, 32));
            let extension = if is_signed { Op::SignExtend } else { Op::ZeroExtend };
            let wide = maker.op(extension, 64, &[x]);
            let product = maker.op(Op::Mul, 64, &[wide, magic]);
            let high = maker.op(Op::High, 32, &[product]);
            if !is_signed {
                return maker.op(Op::Shr, 32, &[high, amount]);
            }
            let top = maker.constant(31, 32);
            let parts = [maker.op(Op::Sar, 32, &[high, amount]), maker.op(Op::Shr, 32, &[high, top])];
            maker.op(Op::Add, 32, &parts)
        });
        assert!(count > 20, "{count}");
    }
}

#[test]
fn rounded_shifts_are_quotients() {
    let count = rewritten(32, near_multiples, |maker, [x]: [ValueId; 1]| {
        let shift = maker.random.next() % 33;
        let other = maker.any(&[shift, shift, shift, 3]);
        let top = maker.constant(31, 32);
        let (amount, bias) = (maker.constant(shift, 32), maker.constant(32_u64.wrapping_sub(other), 32));
        let sign = maker.op(Op::Sar, 32, &[x, top]);
        let bias = maker.op(Op::Shr, 32, &[sign, bias]);
        let sum = maker.op(Op::Add, 32, &[x, bias]);
        if maker.any(&[true, false]) {
            return maker.op(Op::Sar, 32, &[sum, amount]);
        }
        let mask = maker.constant(u64::MAX.checked_shl(shift as u32).unwrap_or(0), 32);
        maker.op(Op::And, 32, &[sum, mask])
    });
    assert!(count > VALUES / 4, "{count}");
    let count = rewritten(32, near_multiples, |maker, [x]: [ValueId; 1]| {
        let divisor = maker.random.next() % 50;
        let factor = maker.any(&[divisor, divisor, 7]).wrapping_neg();
        let (divisor, factor) = (maker.constant(divisor, 32), maker.constant(factor, 32));
        let op = maker.any(&[Op::Udiv, Op::Sdiv]);
        let quotient = maker.op(op, 32, &[x, divisor]);
        let product = maker.op(Op::Mul, 32, &[quotient, factor]);
        maker.op(Op::Add, 32, &[x, product])
    });
    assert!(count > VALUES / 4, "{count}");
}
