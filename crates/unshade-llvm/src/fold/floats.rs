//! Floating-point arithmetic in software: exact, then rounded to the nearest number, ties to even.
//!
//! A number is its sign, an exponent, and a significand of up to 256 bits whose lowest one also stands for what was cut
//! off below it. What is not a number keeps the payload of the first operand that is none, and becomes quiet.

use super::integers::Integer;
use crate::instruction::Opcode;
use crate::types::Type;
use core::cmp::Ordering;

/// A binary format of IEEE 754, or that of the x87.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    exponent_bits: u32,
    /// The bits of the significand, with the leading one.
    precision: u32,
    /// Whether the leading one is stored.
    explicit: bool,
}

/// A number apart.
#[derive(Clone, Copy, Debug)]
struct Unpacked {
    negative: bool,
    class: Class,
}

#[derive(Clone, Copy, Debug)]
enum Class {
    Zero,
    /// `significand` × 2^`exponent`, the significand not zero.
    Number {
        exponent: i32,
        significand: u128,
    },
    Infinity,
    /// The bits below the leading one, of which the highest means quiet.
    NotANumber(u128),
}

/// An unsigned number of 256 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wide {
    high: u128,
    low: u128,
}

impl Wide {
    fn length(self) -> u32 {
        match self.high {
            0 => 128 - self.low.leading_zeros(),
            high => 256 - high.leading_zeros(),
        }
    }

    fn shifted_left(self, by: u32) -> Self {
        match by {
            0 => self,
            1..128 => Self { high: self.high << by | self.low >> (128 - by), low: self.low << by },
            _ => Self { high: self.low.checked_shl(by - 128).unwrap_or(0), low: 0 },
        }
    }

    /// Shifts right; the lowest bit also stands for what was cut off.
    fn shifted_right(self, by: u32) -> Self {
        let cut = |word: u128, by: u32| by > 0 && word << (128 - by.min(128)) != 0;
        let (shifted, sticky) = match by {
            0 => (self, false),
            1..128 => {
                let low = self.low >> by | self.high << (128 - by);
                (Self { high: self.high >> by, low }, cut(self.low, by))
            }
            128 => (Self { high: 0, low: self.high }, self.low != 0),
            129..256 => {
                let low = self.high >> (by - 128);
                (Self { high: 0, low }, self.low != 0 || cut(self.high, by - 128))
            }
            _ => (Self { high: 0, low: 0 }, self.high != 0 || self.low != 0),
        };
        Self { low: shifted.low | u128::from(sticky), ..shifted }
    }

    fn plus(self, other: Self) -> Self {
        let (low, carry) = self.low.overflowing_add(other.low);
        Self { high: self.high.wrapping_add(other.high).wrapping_add(u128::from(carry)), low }
    }

    fn minus(self, other: Self) -> Self {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Self { high: self.high.wrapping_sub(other.high).wrapping_sub(u128::from(borrow)), low }
    }

    fn product(left: u128, right: u128) -> Self {
        let split = |word: u128| (word >> 64, word & u128::from(u64::MAX));
        let ((a, b), (c, d)) = (split(left), split(right));
        let at = |word: u128, by| Self { high: 0, low: word }.shifted_left(by);
        at(b * d, 0).plus(at(a * d, 64)).plus(at(b * c, 64)).plus(at(a * c, 128))
    }
}

impl Format {
    /// Returns the format of a type; none for a pair of doubles, which is no such format.
    pub(super) fn of(ty: Type) -> Option<Self> {
        let (exponent_bits, precision) = match ty {
            Type::Half => (5, 11),
            Type::BFloat => (8, 8),
            Type::Float => (8, 24),
            Type::Double => (11, 53),
            Type::X86Fp80 => (15, 64),
            Type::Fp128 => (15, 113),
            _ => return None,
        };
        Some(Self { exponent_bits, precision, explicit: ty == Type::X86Fp80 })
    }

    /// Returns the bits of the format, all set.
    pub(super) fn mask(self) -> u128 {
        u128::MAX >> (128 - self.sign_bit() - 1)
    }

    fn stored(self) -> u32 {
        self.precision - u32::from(!self.explicit)
    }

    fn sign_bit(self) -> u32 {
        self.stored() + self.exponent_bits
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Returns one.
    pub(super) fn one(self) -> u128 {
        self.packed(false, Wide { high: 0, low: 1 }, 0)
    }

    /// Returns the negative zero.
    pub(super) fn negative_zero(self) -> u128 {
        1 << self.sign_bit()
    }

    /// Returns what is not a number, quiet and without payload.
    pub(super) fn not_a_number(self) -> u128 {
        self.infinity(false) | 1 << (self.precision - 2)
    }

    fn infinity(self, negative: bool) -> u128 {
        let exponent = (1u128 << self.exponent_bits) - 1;
        let leading = if self.explicit { 1 << 63 } else { 0 };
        u128::from(negative) << self.sign_bit() | exponent << self.stored() | leading
    }

    fn unpacked(self, bits: u128) -> Unpacked {
        let negative = bits >> self.sign_bit() & 1 != 0;
        let exponent = (bits >> self.stored()) as i32 & ((1 << self.exponent_bits) - 1);
        let stored = bits & ((1 << self.stored()) - 1);
        let fraction = stored & ((1 << (self.precision - 1)) - 1);
        let is_special = exponent == (1 << self.exponent_bits) - 1;
        // A number of the x87 without its leading one is none, unless it is subnormal.
        let is_invalid = self.explicit && exponent != 0 && stored >> 63 == 0;
        let class = match (exponent, fraction) {
            _ if is_special && fraction == 0 && !is_invalid => Class::Infinity,
            _ if is_special || is_invalid => Class::NotANumber(fraction),
            (0, _) if stored == 0 => Class::Zero,
            _ => {
                let leading = if exponent == 0 { 0 } else { 1 << (self.precision - 1) };
                let lowest = exponent.max(1) - self.bias() - (self.precision as i32 - 1);
                Class::Number { exponent: lowest, significand: stored | leading }
            }
        };
        Unpacked { negative, class }
    }

    /// Returns the bits of `significand` × 2^`exponent`, rounded.
    fn packed(self, negative: bool, significand: Wide, exponent: i32) -> u128 {
        let sign = u128::from(negative) << self.sign_bit();
        let length = significand.length();
        if length == 0 {
            return sign;
        }
        // The exponent of the lowest bit that is kept, which subnormal numbers bound.
        let smallest = 1 - self.bias() - (self.precision as i32 - 1);
        let lowest = exponent.saturating_add(length as i32 - self.precision as i32).max(smallest);
        let dropped = lowest.saturating_sub(exponent);
        let kept = if dropped <= 0 {
            significand.shifted_left(dropped.unsigned_abs()).low
        } else {
            // Two more bits, of which the second also stands for the rest.
            let with_rest = match dropped {
                1 => significand.shifted_left(1),
                _ => significand.shifted_right(dropped.unsigned_abs() - 2),
            };
            let (kept, rest) = (with_rest.shifted_right_plain(2), with_rest.low & 3);
            kept + u128::from(rest > 2 || rest == 2 && kept & 1 != 0)
        };
        let (kept, lowest) = match kept >> self.precision {
            0 => (kept, lowest),
            _ => (kept >> 1, lowest + 1),
        };
        let is_subnormal = kept >> (self.precision - 1) == 0;
        let biased = if is_subnormal { 0 } else { lowest + (self.precision as i32 - 1) + self.bias() };
        if biased >= (1 << self.exponent_bits) - 1 {
            return self.infinity(negative);
        }
        let stored = if self.explicit { kept } else { kept & ((1 << (self.precision - 1)) - 1) };
        sign | u128::from(biased.unsigned_abs()) << self.stored() | stored
    }

    /// Returns the bits of what is not a number.
    fn packed_payload(self, negative: bool, payload: u128) -> u128 {
        let quiet = 1 << (self.precision - 2);
        self.infinity(negative) | payload & (quiet - 1) | quiet
    }

    fn packed_zero(self, negative: bool) -> u128 {
        u128::from(negative) << self.sign_bit()
    }

    /// Returns the number with the other sign.
    pub(super) fn negated(self, bits: u128) -> u128 {
        bits ^ self.negative_zero()
    }

    /// Returns the number in another format.
    pub(super) fn converted(self, bits: u128, to: Self) -> u128 {
        let number = self.unpacked(bits);
        match number.class {
            Class::Zero => to.packed_zero(number.negative),
            Class::Infinity => to.infinity(number.negative),
            Class::Number { exponent, significand } => {
                to.packed(number.negative, Wide { high: 0, low: significand }, exponent)
            }
            Class::NotANumber(payload) => {
                let payload = match to.precision.checked_sub(self.precision) {
                    Some(more) => payload << more,
                    None => payload >> (self.precision - to.precision),
                };
                to.packed_payload(number.negative, payload)
            }
        }
    }

    /// Returns an integer as a number, rounded.
    pub(super) fn of_integer(self, integer: &Integer, signed: bool) -> u128 {
        let negative = signed && integer.is_negative();
        let magnitude = if negative { integer.negated() } else { integer.clone() };
        let dropped = magnitude.bit_length().saturating_sub(128);
        let top = magnitude.shifted_right(dropped);
        let word = |at: usize| u128::from(top.words.get(at).copied().unwrap_or(0));
        let rest = top.shifted_left(dropped) != magnitude;
        let significand = Wide { high: 0, low: word(1) << 64 | word(0) };
        let significand = significand.shifted_left(1);
        let significand = Wide { low: significand.low | u128::from(rest), ..significand };
        self.packed(negative, significand, i32::try_from(dropped).unwrap_or(i32::MAX) - 1)
    }

    /// Returns the number as an integer, cut towards zero; none if it does not fit.
    pub(super) fn to_integer(self, bits: u128, width: u32, signed: bool) -> Option<Integer> {
        let number = self.unpacked(bits);
        let (exponent, significand) = match number.class {
            Class::Zero => return Some(Integer::new(0, width)),
            Class::Number { exponent, significand } => (exponent, significand),
            _ => return None,
        };
        let cut = significand.checked_shr(exponent.min(0).unsigned_abs()).unwrap_or(0);
        let by = exponent.max(0).unsigned_abs();
        let length = 128 - cut.leading_zeros() + if cut == 0 { 0 } else { by };
        if length > width + 1 {
            return None;
        }
        // One more bit, so that the magnitude of the lowest number fits.
        let magnitude =
            Integer::from_words(&[cut as u64, (cut >> 64) as u64], width + 1).shifted_left(by.min(width));
        let fits = match (signed, number.negative) {
            (false, false) => length <= width,
            (false, true) => magnitude.is_zero(),
            (true, false) => length < width,
            (true, true) => length < width || magnitude == Integer::new(1, width + 1).shifted_left(width - 1),
        };
        let value = if number.negative { magnitude.negated() } else { magnitude };
        fits.then(|| value.resized(width))
    }

    /// Applies an operation.
    pub(super) fn apply(self, opcode: Opcode, left: u128, right: u128) -> u128 {
        let (one, other) = (self.unpacked(left), self.unpacked(right));
        for operand in [one, other] {
            if let Class::NotANumber(payload) = operand.class {
                return self.packed_payload(operand.negative, payload);
            }
        }
        match opcode {
            Opcode::FAdd => self.sum(one, other),
            Opcode::FSub => self.sum(one, Unpacked { negative: !other.negative, ..other }),
            Opcode::FMul => self.product(one, other),
            Opcode::FDiv => self.quotient(one, other),
            _ => self.remainder(left, one, other),
        }
    }

    fn sum(self, left: Unpacked, right: Unpacked) -> u128 {
        let (first, second) = match (left.class, right.class) {
            (Class::Infinity, Class::Infinity) if left.negative != right.negative => {
                return self.not_a_number();
            }
            (Class::Infinity, _) => return self.infinity(left.negative),
            (_, Class::Infinity) => return self.infinity(right.negative),
            (Class::Zero, Class::Zero) => return self.packed_zero(left.negative && right.negative),
            (Class::Zero, Class::Number { exponent, significand }) => {
                return self.packed(right.negative, Wide { high: 0, low: significand }, exponent);
            }
            (Class::Number { exponent, significand }, Class::Zero) => {
                return self.packed(left.negative, Wide { high: 0, low: significand }, exponent);
            }
            (
                Class::Number { exponent, significand },
                Class::Number { exponent: other, significand: with },
            ) => ((left.negative, exponent, significand), (right.negative, other, with)),
            _ => return self.not_a_number(),
        };
        let top = |number: (bool, i32, u128)| number.1 - number.2.leading_zeros() as i32;
        let (large, small) = if top(first) >= top(second) { (first, second) } else { (second, first) };
        // The larger one with its leading one in a place of which there is one more above.
        let shift = large.2.leading_zeros() + 126;
        let base = large.1 - shift as i32;
        let one = Wide { high: 0, low: large.2 }.shifted_left(shift);
        let apart = small.1 - base;
        let other = Wide { high: 0, low: small.2 };
        let other = match apart {
            0.. => other.shifted_left(apart.unsigned_abs()),
            _ => other.shifted_right(apart.unsigned_abs()),
        };
        if large.0 == small.0 {
            return self.packed(large.0, one.plus(other), base);
        }
        match one.cmp(&other) {
            Ordering::Equal => self.packed_zero(false),
            Ordering::Greater => self.packed(large.0, one.minus(other), base),
            Ordering::Less => self.packed(small.0, other.minus(one), base),
        }
    }

    fn product(self, left: Unpacked, right: Unpacked) -> u128 {
        let negative = left.negative != right.negative;
        match (left.class, right.class) {
            (Class::Infinity, Class::Zero) | (Class::Zero, Class::Infinity) => self.not_a_number(),
            (Class::Infinity, _) | (_, Class::Infinity) => self.infinity(negative),
            (
                Class::Number { exponent, significand },
                Class::Number { exponent: other, significand: with },
            ) => self.packed(negative, Wide::product(significand, with), exponent + other),
            _ => self.packed_zero(negative),
        }
    }

    fn quotient(self, left: Unpacked, right: Unpacked) -> u128 {
        let negative = left.negative != right.negative;
        match (left.class, right.class) {
            (Class::Infinity, Class::Infinity) | (Class::Zero, Class::Zero) => self.not_a_number(),
            (Class::Infinity, _) | (_, Class::Zero) => self.infinity(negative),
            (
                Class::Number { exponent, significand },
                Class::Number { exponent: other, significand: with },
            ) => {
                // Both with their leading one at the top, so that the quotient has enough bits.
                let (up, down) = (significand.leading_zeros(), with.leading_zeros());
                let (mut rest, divisor) = (significand << up >> 1, with << down >> 1);
                let mut quotient = Wide { high: 0, low: 0 };
                for _ in 0..124 {
                    quotient = quotient.shifted_left(1);
                    if rest >= divisor {
                        rest -= divisor;
                        quotient.low |= 1;
                    }
                    rest <<= 1;
                }
                quotient.low |= u128::from(rest != 0);
                let exponent = (exponent - up as i32) - (other - down as i32) - 123;
                self.packed(negative, quotient, exponent)
            }
            _ => self.packed_zero(negative),
        }
    }

    /// Returns the remainder of a division whose quotient is cut towards zero.
    fn remainder(self, bits: u128, left: Unpacked, right: Unpacked) -> u128 {
        let (exponent, significand, other, with) = match (left.class, right.class) {
            (Class::Infinity, _) | (_, Class::Zero) => return self.not_a_number(),
            (_, Class::Infinity) | (Class::Zero, _) => return bits,
            (
                Class::Number { exponent, significand },
                Class::Number { exponent: other, significand: with },
            ) => (exponent, significand, other, with),
            _ => return self.not_a_number(),
        };
        if exponent < other {
            // The divisor in the place of the dividend; it is larger if it does not fit.
            let up = (other - exponent).unsigned_abs();
            if up >= with.leading_zeros() {
                return bits;
            }
            return self.packed(left.negative, Wide { high: 0, low: significand % (with << up) }, exponent);
        }
        let mut rest = significand % with;
        for _ in other..exponent {
            rest = (rest << 1) % with;
        }
        self.packed(left.negative, Wide { high: 0, low: rest }, other)
    }

    /// Compares two numbers; none if one of them is not a number.
    pub(super) fn order(self, left: u128, right: u128) -> Option<Ordering> {
        let (one, other) = (self.unpacked(left), self.unpacked(right));
        if [one.class, other.class].iter().any(|class| matches!(class, Class::NotANumber(_))) {
            return None;
        }
        let magnitude = |bits: u128| bits & !self.negative_zero();
        if magnitude(left) == 0 && magnitude(right) == 0 {
            return Some(Ordering::Equal);
        }
        Some(match (one.negative, other.negative) {
            (false, false) => magnitude(left).cmp(&magnitude(right)),
            (true, true) => magnitude(right).cmp(&magnitude(left)),
            (negative, _) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        })
    }
}

impl Wide {
    /// Shifts right by less than 128, and returns the lower half.
    fn shifted_right_plain(self, by: u32) -> u128 {
        self.low >> by | self.high << (128 - by)
    }
}

/// Returns whether a comparison of floating-point numbers with this predicate is true.
pub(super) fn compare(predicate: u32, order: Option<Ordering>) -> bool {
    // The predicates are sets: equal 1, greater 2, less 4, unordered 8.
    let bit = match order {
        Some(Ordering::Equal) => 1,
        Some(Ordering::Greater) => 2,
        Some(Ordering::Less) => 4,
        None => 8,
    };
    predicate & bit != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: [f64; 22] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        3.0,
        -7.25,
        0.1,
        1e300,
        -1e300,
        1e-300,
        5e-324,
        -2.2e-308,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        123_456_789.125,
        1e16,
        1e-16,
        4_503_599_627_370_497.5,
        2.5,
    ];

    #[test]
    fn operations_of_doubles_are_those_of_the_machine() {
        let format = Format::of(Type::Double).unwrap();
        let bits = |number: f64| u128::from(number.to_bits());
        for left in SAMPLES {
            for right in SAMPLES {
                let cases = [
                    (Opcode::FAdd, left + right),
                    (Opcode::FSub, left - right),
                    (Opcode::FMul, left * right),
                    (Opcode::FDiv, left / right),
                    (Opcode::FRem, left % right),
                ];
                for (opcode, wanted) in cases {
                    let found = format.apply(opcode, bits(left), bits(right));
                    let wanted = if wanted.is_nan() { format.not_a_number() } else { bits(wanted) };
                    assert_eq!(found, wanted, "{opcode:?} {left} {right}");
                }
                assert_eq!(format.order(bits(left), bits(right)), left.partial_cmp(&right));
            }
        }
    }

    #[test]
    fn conversions_are_those_of_the_machine() {
        let (double, single) = (Format::of(Type::Double).unwrap(), Format::of(Type::Float).unwrap());
        for number in SAMPLES {
            let bits = u128::from(number.to_bits());
            assert_eq!(double.converted(bits, single), u128::from((number as f32).to_bits()), "{number}");
            let there = double.converted(bits, Format::of(Type::Fp128).unwrap());
            assert_eq!(Format::of(Type::Fp128).unwrap().converted(there, double), bits, "{number}");
            let integer = double.to_integer(bits, 64, true);
            let fits = number > -9.3e18 && number < 9.2e18;
            let wanted = fits.then_some(number as i64);
            assert_eq!(integer.and_then(|integer| integer.as_i64()), wanted, "{number}");
        }
        for number in [0, 1, -1, i64::MAX, i64::MIN, (1 << 53) + 1, 0x7FFF_FFFF_FFFF_FC00] {
            let integer = Integer::new(number as u64, 64);
            assert_eq!(double.of_integer(&integer, true), u128::from((number as f64).to_bits()));
            assert_eq!(double.of_integer(&integer, false), u128::from((number as u64 as f64).to_bits()));
        }
        assert_eq!(double.one(), u128::from(1f64.to_bits()));
    }
}
