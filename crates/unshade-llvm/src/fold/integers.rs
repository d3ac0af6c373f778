//! Integers of any width, in two's complement: words least significant first, of which unused bits are zero.

use crate::instruction::Opcode;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// The widest integer that is multiplied, and that is divided: work grows with the square of the width.
const MAX_PRODUCT: u32 = 1 << 13;
const MAX_QUOTIENT: u32 = 1 << 10;

/// An integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    pub(super) words: Vec<u64>,
    pub(super) width: u32,
}

impl Integer {
    /// Creates an integer from its lowest bits; the others repeat the sign of a word that is negative.
    pub(super) fn new(number: u64, width: u32) -> Self {
        Self::from_words(&[number], width)
    }

    /// Creates an integer from words; those that are missing are zero.
    pub(super) fn from_words(words: &[u64], width: u32) -> Self {
        let mut words = words.to_vec();
        words.resize(width.div_ceil(64).max(1) as usize, 0);
        let mut integer = Self { words, width };
        integer.clear_unused();
        integer
    }

    /// Creates the integer whose bits are all set.
    pub(super) fn ones(width: u32) -> Self {
        let mut integer = Self { words: vec![u64::MAX; width.div_ceil(64).max(1) as usize], width };
        integer.clear_unused();
        integer
    }

    fn clear_unused(&mut self) {
        if let (Some(last), used @ 1..) = (self.words.last_mut(), self.width % 64) {
            *last &= (1 << used) - 1;
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(super) fn is_one(&self) -> bool {
        self.as_u64() == Some(1)
    }

    pub(super) fn is_ones(&self) -> bool {
        *self == Self::ones(self.width)
    }

    pub(super) fn is_negative(&self) -> bool {
        self.bit(self.width.saturating_sub(1))
    }

    fn is_lowest(&self) -> bool {
        self.is_negative() && self.bit_length() == self.width && self.negated().bit_length() == self.width
    }

    pub(super) fn bit(&self, at: u32) -> bool {
        self.words.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// Returns the number if it fits into 64 bits.
    pub(super) fn as_u64(&self) -> Option<u64> {
        let (&first, rest) = self.words.split_first()?;
        rest.iter().all(|&word| word == 0).then_some(first)
    }

    /// Returns the number with its sign, if that fits into 64 bits.
    pub(super) fn as_i64(&self) -> Option<i64> {
        if self.is_negative() {
            let magnitude = self.negated().as_u64()?;
            return (magnitude <= 1 << 63).then(|| (magnitude as i64).wrapping_neg());
        }
        i64::try_from(self.as_u64()?).ok()
    }

    /// Returns the number of bits up to the highest one that is set.
    pub(super) fn bit_length(&self) -> u32 {
        let Some(at) = self.words.iter().rposition(|&word| word != 0) else { return 0 };
        let word = self.words.get(at).copied().unwrap_or(0);
        at as u32 * 64 + 64 - word.leading_zeros()
    }

    /// Returns the number in another width: cut, or extended with zeros.
    pub(super) fn resized(&self, width: u32) -> Self {
        let mut words = self.words.clone();
        words.resize(width.div_ceil(64).max(1) as usize, 0);
        let mut integer = Self { words, width };
        integer.clear_unused();
        integer
    }

    /// Returns the number in a larger width, with its sign.
    pub(super) fn sign_extended(&self, width: u32) -> Self {
        if !self.is_negative() {
            return self.resized(width);
        }
        self.negated().resized(width).negated()
    }

    pub(super) fn negated(&self) -> Self {
        let inverted = Self { words: self.words.iter().map(|word| !word).collect(), width: self.width };
        inverted.plus(&Self::new(1, self.width))
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut carry = false;
        let sum = |(&left, &right): (&u64, &u64)| {
            let (sum, first) = left.overflowing_add(right);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            sum
        };
        let words = self.words.iter().zip(&other.words).map(sum).collect();
        let mut integer = Self { words, width: self.width };
        integer.clear_unused();
        integer
    }

    fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    fn times(&self, other: &Self) -> Self {
        let mut words = vec![0u64; self.words.len()];
        for (at, &left) in self.words.iter().enumerate() {
            let mut carry = 0u128;
            for (word, &right) in words.iter_mut().skip(at).zip(&other.words) {
                let sum = u128::from(left) * u128::from(right) + u128::from(*word) + carry;
                (*word, carry) = (sum as u64, sum >> 64);
            }
        }
        let mut integer = Self { words, width: self.width };
        integer.clear_unused();
        integer
    }

    /// Returns quotient and remainder without signs; the divisor is not zero.
    fn divided(&self, divisor: &Self) -> (Self, Self) {
        let (mut quotient, mut rest) = (Self::new(0, self.width), Self::new(0, self.width));
        for at in (0..self.bit_length()).rev() {
            // The bit that is shifted out counts too.
            let is_larger = rest.is_negative();
            rest = rest.shifted_left(1);
            if let Some(first) = rest.words.first_mut() {
                *first |= u64::from(self.bit(at));
            }
            if is_larger || rest.order(divisor) != Ordering::Less {
                rest = rest.minus(divisor);
                if let Some(word) = quotient.words.get_mut(at as usize / 64) {
                    *word |= 1 << (at % 64);
                }
            }
        }
        (quotient, rest)
    }

    fn divided_signed(&self, divisor: &Self) -> (Self, Self) {
        let magnitude =
            |integer: &Self| if integer.is_negative() { integer.negated() } else { integer.clone() };
        let (quotient, rest) = magnitude(self).divided(&magnitude(divisor));
        let negate = |integer: Self, negative| if negative { integer.negated() } else { integer };
        let quotient = negate(quotient, self.is_negative() != divisor.is_negative());
        (quotient, negate(rest, self.is_negative()))
    }

    pub(super) fn shifted_left(&self, by: u32) -> Self {
        let (words, bits) = (by as usize / 64, by % 64);
        let word = |at: Option<usize>| at.and_then(|at| self.words.get(at)).copied().unwrap_or(0);
        let shifted = |at: usize| {
            let low = word(at.checked_sub(words + 1)).checked_shr(64 - bits).unwrap_or(0);
            word(at.checked_sub(words)) << bits | low
        };
        let mut integer = Self { words: (0..self.words.len()).map(shifted).collect(), width: self.width };
        integer.clear_unused();
        integer
    }

    pub(super) fn shifted_right(&self, by: u32) -> Self {
        let (words, bits) = (by as usize / 64, by % 64);
        let word = |at: usize| self.words.get(at).copied().unwrap_or(0);
        let shifted = |at: usize| {
            let high = word(at + words + 1).checked_shl(64 - bits).unwrap_or(0);
            word(at + words) >> bits | high
        };
        Self { words: (0..self.words.len()).map(shifted).collect(), width: self.width }
    }

    fn shifted_right_signed(&self, by: u32) -> Self {
        if !self.is_negative() {
            return self.shifted_right(by);
        }
        let inverted = |integer: &Self| {
            let mut inverted =
                Self { words: integer.words.iter().map(|word| !word).collect(), width: integer.width };
            inverted.clear_unused();
            inverted
        };
        inverted(&inverted(self).shifted_right(by))
    }

    /// Combines the bits of two numbers.
    pub(super) fn bitwise(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(&left, &right)| combine(left, right)).collect();
        Self { words, width: self.width }
    }

    /// Compares two numbers without signs.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.words.iter().rev().cmp(other.words.iter().rev())
    }

    /// Compares two numbers with their signs.
    pub(super) fn signed_order(&self, other: &Self) -> Ordering {
        other.is_negative().cmp(&self.is_negative()).then_with(|| self.order(other))
    }
}

/// What an operation on integers results in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Number(Integer),
    Poison,
    /// Too wide to be computed.
    TooWide,
}

/// Applies an operation to two integers of the same width.
pub(super) fn apply(opcode: Opcode, left: &Integer, right: &Integer) -> Outcome {
    let is_division = matches!(opcode, Opcode::UDiv | Opcode::SDiv | Opcode::URem | Opcode::SRem);
    let is_shift = matches!(opcode, Opcode::Shl | Opcode::LShr | Opcode::AShr);
    let limit = if is_division { MAX_QUOTIENT } else { MAX_PRODUCT };
    if left.width > limit {
        return Outcome::TooWide;
    }
    let is_signed = matches!(opcode, Opcode::SDiv | Opcode::SRem);
    if is_division && (right.is_zero() || is_signed && right.is_ones() && left.is_lowest()) {
        return Outcome::Poison;
    }
    let by = right.as_u64().and_then(|by| u32::try_from(by).ok()).filter(|&by| by < left.width);
    let Some(by) = by.or((!is_shift).then_some(0)) else { return Outcome::Poison };
    Outcome::Number(match opcode {
        Opcode::Add => left.plus(right),
        Opcode::Sub => left.minus(right),
        Opcode::Mul => left.times(right),
        Opcode::UDiv => left.divided(right).0,
        Opcode::URem => left.divided(right).1,
        Opcode::SDiv => left.divided_signed(right).0,
        Opcode::SRem => left.divided_signed(right).1,
        Opcode::Shl => left.shifted_left(by),
        Opcode::LShr => left.shifted_right(by),
        Opcode::AShr => left.shifted_right_signed(by),
        Opcode::And => left.bitwise(right, |left, right| left & right),
        Opcode::Or => left.bitwise(right, |left, right| left | right),
        _ => left.bitwise(right, |left, right| left ^ right),
    })
}

/// Returns whether a comparison of integers with this predicate is true.
pub(super) fn compare(predicate: u32, left: &Integer, right: &Integer) -> bool {
    let (order, signed) = (left.order(right), left.signed_order(right));
    match predicate {
        32 => order == Ordering::Equal,
        33 => order != Ordering::Equal,
        34 => order == Ordering::Greater,
        35 => order != Ordering::Less,
        36 => order == Ordering::Less,
        37 => order != Ordering::Greater,
        38 => signed == Ordering::Greater,
        39 => signed != Ordering::Less,
        40 => signed == Ordering::Less,
        _ => signed != Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(number: i128, width: u32) -> Integer {
        Integer::from_words(&[number as u64, (number >> 64) as u64], width)
    }

    #[test]
    fn operations_of_bytes_are_those_of_rust() {
        for left in -128..=127i8 {
            for right in [-128, -127, -7, -1, 0, 1, 2, 3, 7, 8, 100, 127i8] {
                let of = |number: i8| signed(i128::from(number), 8);
                let number = |number: i8| Outcome::Number(of(number));
                let or_poison = |found: Option<i8>| found.map_or(Outcome::Poison, number);
                let unsigned = |found: Option<u8>| or_poison(found.map(|found| found as i8));
                let by = u32::from(right as u8);
                let cases = [
                    (Opcode::Add, number(left.wrapping_add(right))),
                    (Opcode::Sub, number(left.wrapping_sub(right))),
                    (Opcode::Mul, number(left.wrapping_mul(right))),
                    (Opcode::SDiv, or_poison(left.checked_div(right))),
                    (Opcode::SRem, or_poison(left.checked_rem(right))),
                    (Opcode::UDiv, unsigned((left as u8).checked_div(right as u8))),
                    (Opcode::URem, unsigned((left as u8).checked_rem(right as u8))),
                    (Opcode::Shl, or_poison(left.checked_shl(by))),
                    (Opcode::LShr, unsigned((left as u8).checked_shr(by))),
                    (Opcode::AShr, or_poison(left.checked_shr(by))),
                ];
                for (opcode, wanted) in cases {
                    assert_eq!(apply(opcode, &of(left), &of(right)), wanted, "{opcode:?} {left} {right}");
                }
                assert_eq!(compare(40, &of(left), &of(right)), left < right);
                assert_eq!(compare(34, &of(left), &of(right)), left as u8 > right as u8);
            }
        }
    }

    #[test]
    fn wide_integers() {
        let (left, right) = (signed(-7_000_000_000_000_000_000_003, 100), signed(1_000_000_007, 100));
        let quotient = signed(-7_000_000_000_000_000_000_003 / 1_000_000_007, 100);
        assert_eq!(apply(Opcode::SDiv, &left, &right), Outcome::Number(quotient));
        assert_eq!(left.sign_extended(128), signed(-7_000_000_000_000_000_000_003, 128));
        assert_eq!(left.resized(128).as_i64(), None);
        assert_eq!(signed(-1, 128).shifted_left(65).shifted_right(64).as_u64(), Some(u64::MAX - 1));
        assert_eq!(signed(-5, 128).as_i64(), Some(-5));
    }
}
