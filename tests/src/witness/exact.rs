//! Exact arithmetic with floating-point numbers, and rounding as IEEE 754 defines it.
//!
//! A finite number is a fixed-point number that is wide enough for every double and every product of two doubles, so sums
//! and products are exact, and each result is rounded once.

/// The number of 64-bit words of a fixed-point number.
const WORDS: usize = 70;

/// The number of bits after the point: the smallest product of two doubles is 2^-2148.
const FRACTION: usize = 2200;

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The number of bits.
    pub width: u32,
    /// The number of bits of the fraction.
    fraction: u32,
}

/// Half precision.
pub const HALF: Format = Format { width: 16, fraction: 10 };
/// Single precision.
pub const SINGLE: Format = Format { width: 32, fraction: 23 };
/// Double precision.
pub const DOUBLE: Format = Format { width: 64, fraction: 52 };

/// A rounding mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Toward negative infinity.
    Down,
    /// Toward positive infinity.
    Up,
    /// Toward zero.
    Zero,
}

impl Rounding {
    /// Returns whether a magnitude is incremented when bits are dropped. `half` compares them with one half.
    fn increments(self, negative: bool, is_odd: bool, half: std::cmp::Ordering, is_exact: bool) -> bool {
        match self {
            Self::Nearest => half.is_gt() || half.is_eq() && is_odd,
            Self::Down => negative && !is_exact,
            Self::Up => !negative && !is_exact,
            Self::Zero => false,
        }
    }
}

impl Format {
    fn exponent_bits(self) -> u32 {
        self.width - self.fraction - 1
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits() - 1)) - 1
    }

    /// Returns the bit of the sign.
    pub fn sign(self) -> u64 {
        1 << (self.width - 1)
    }

    /// Returns positive infinity.
    pub fn infinity(self) -> u64 {
        ((1 << self.exponent_bits()) - 1) << self.fraction
    }

    /// Returns the NaN with all bits of the fraction set, the canonical one of PTX.
    pub fn nan(self) -> u64 {
        self.sign() - 1
    }

    /// Returns 1.0.
    pub fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction
    }

    /// Returns whether a number is a NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        bits & !self.sign() > self.infinity()
    }

    /// Returns whether a number is an infinity.
    pub fn is_infinite(self, bits: u64) -> bool {
        bits & !self.sign() == self.infinity()
    }

    /// Returns whether a number is a zero.
    pub fn is_zero(self, bits: u64) -> bool {
        bits & !self.sign() == 0
    }

    /// Returns whether the sign is set.
    pub fn is_negative(self, bits: u64) -> bool {
        bits & self.sign() != 0
    }

    /// Replaces a subnormal number by the zero of its sign.
    pub fn flushed(self, bits: u64) -> u64 {
        if bits & self.infinity() == 0 { bits & self.sign() } else { bits }
    }

    /// Splits a finite number: sign, integer and exponent of two.
    fn split(self, bits: u64) -> (bool, u64, i32) {
        let fraction = bits & ((1 << self.fraction) - 1);
        let exponent = (bits >> self.fraction) & ((1 << self.exponent_bits()) - 1);
        let lowest = 1 - self.bias() - self.fraction as i32;
        match exponent {
            0 => (self.is_negative(bits), fraction, lowest),
            _ => (self.is_negative(bits), fraction | 1 << self.fraction, lowest + exponent as i32 - 1),
        }
    }

    /// Returns a finite number exactly.
    pub fn exact(self, bits: u64) -> Exact {
        let (negative, integer, exponent) = self.split(bits);
        Exact::new(negative, integer.into(), exponent)
    }

    /// Returns the product of two finite numbers exactly.
    pub fn product(self, a: u64, b: u64) -> Exact {
        let ((a_negative, a, a_exponent), (b_negative, b, b_exponent)) = (self.split(a), self.split(b));
        Exact::new(a_negative != b_negative, u128::from(a) * u128::from(b), a_exponent + b_exponent)
    }

    /// Returns the sum of two numbers, rounded once. The second one may be a product of finite numbers.
    fn sum(self, a: &Exact, b: &Exact, both_negative: bool, rounding: Rounding) -> u64 {
        let sum = a.plus(b);
        if sum.is_zero() {
            // Opposite numbers sum to +0, or to -0 when rounding down; two zeros of a sign keep it.
            let negative = both_negative || rounding == Rounding::Down && !(a.is_zero() && b.is_zero());
            return if negative { self.sign() } else { 0 };
        }
        sum.rounded(self, rounding)
    }

    /// Returns a + b.
    pub fn add(self, a: u64, b: u64, rounding: Rounding) -> u64 {
        if self.is_nan(a) || self.is_nan(b) || self.is_infinite(a) && self.is_infinite(b) && a != b {
            return self.nan();
        }
        if self.is_infinite(a) || self.is_infinite(b) {
            return if self.is_infinite(a) { a } else { b };
        }
        let (left, right) = (self.is_negative(a), self.is_negative(b));
        if self.is_zero(a) && self.is_zero(b) && left != right {
            return if rounding == Rounding::Down { self.sign() } else { 0 };
        }
        self.sum(&self.exact(a), &self.exact(b), left && right, rounding)
    }

    /// Returns a × b.
    pub fn multiply(self, a: u64, b: u64, rounding: Rounding) -> u64 {
        let sign = (a ^ b) & self.sign();
        if self.is_nan(a) || self.is_nan(b) {
            return self.nan();
        }
        if self.is_infinite(a) || self.is_infinite(b) {
            let invalid = self.is_zero(a) || self.is_zero(b);
            return if invalid { self.nan() } else { sign | self.infinity() };
        }
        let product = self.product(a, b);
        if product.is_zero() { sign } else { product.rounded(self, rounding) }
    }

    /// Returns a × b + c, rounded once.
    pub fn multiply_add(self, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
        if self.is_infinite(a) || self.is_infinite(b) || [a, b, c].iter().any(|bits| self.is_nan(*bits)) {
            return self.add(self.multiply(a, b, rounding), c, rounding);
        }
        if self.is_infinite(c) {
            return c;
        }
        let negative = self.is_negative(a) != self.is_negative(b);
        let product = self.product(a, b);
        if product.is_zero() {
            return self.add(if negative { self.sign() } else { 0 }, c, rounding);
        }
        self.sum(&product, &self.exact(c), false, rounding)
    }

    /// Returns a number as a double, exactly.
    pub fn to_f64(self, bits: u64) -> f64 {
        f64::from_bits(convert(self, DOUBLE, bits, Rounding::Nearest))
    }
}

/// Converts a number to another format.
pub fn convert(from: Format, to: Format, bits: u64, rounding: Rounding) -> u64 {
    let sign = if from.is_negative(bits) { to.sign() } else { 0 };
    if from.is_nan(bits) {
        to.nan()
    } else if from.is_infinite(bits) {
        sign | to.infinity()
    } else if from.is_zero(bits) {
        sign
    } else {
        from.exact(bits).rounded(to, rounding)
    }
}

/// Rounds a finite number to an integer.
pub fn to_integer(from: Format, bits: u64, rounding: Rounding) -> Exact {
    let number = from.exact(bits);
    let (negative, magnitude) = number.magnitude();
    Exact::signed(negative, magnitude.rounded_at(FRACTION, negative, rounding))
}

/// A fixed-point number in two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact([u64; WORDS]);

impl Exact {
    /// Returns an integer times a power of two.
    pub fn new(negative: bool, integer: u128, exponent: i32) -> Self {
        let shift = usize::try_from(exponent + FRACTION as i32).expect("an exponent in range");
        let mut words = [0; WORDS];
        let (word, bit) = (shift / 64, shift % 64);
        let parts = [integer as u64, (integer >> 64) as u64];
        for (index, part) in parts.into_iter().enumerate() {
            let wide = u128::from(part) << bit;
            words[word + index] |= wide as u64;
            words[word + index + 1] |= (wide >> 64) as u64;
        }
        Self::signed(negative, Self(words))
    }

    fn signed(negative: bool, magnitude: Self) -> Self {
        if negative { magnitude.negated() } else { magnitude }
    }

    /// Returns the sum.
    pub fn plus(&self, other: &Self) -> Self {
        let mut words = [0; WORDS];
        let mut carry = false;
        for (index, word) in words.iter_mut().enumerate() {
            let (sum, first) = self.0[index].overflowing_add(other.0[index]);
            let (sum, second) = sum.overflowing_add(carry.into());
            (*word, carry) = (sum, first || second);
        }
        Self(words)
    }

    fn negated(&self) -> Self {
        let mut one = [0; WORDS];
        one[0] = 1;
        Self(self.0.map(|word| !word)).plus(&Self(one))
    }

    /// Returns whether the number is zero.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns sign and absolute value.
    fn magnitude(&self) -> (bool, Self) {
        let negative = self.0[WORDS - 1] >> 63 != 0;
        (negative, if negative { self.negated() } else { *self })
    }

    fn bit(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 != 0
    }

    fn any_below(&self, index: usize) -> bool {
        let word = index / 64;
        self.0[..word].iter().any(|word| *word != 0) || self.0[word] & ((1 << (index % 64)) - 1) != 0
    }

    /// Rounds a magnitude to a multiple of the bit at an index.
    fn rounded_at(&self, index: usize, negative: bool, rounding: Rounding) -> Self {
        let is_exact = !self.any_below(index);
        let half = match (index > 0 && self.bit(index - 1), index > 0 && self.any_below(index - 1)) {
            (true, false) => std::cmp::Ordering::Equal,
            (true, true) => std::cmp::Ordering::Greater,
            (false, _) => std::cmp::Ordering::Less,
        };
        let mut kept = *self;
        kept.0[..index / 64].fill(0);
        kept.0[index / 64] &= !((1 << (index % 64)) - 1);
        if !rounding.increments(negative, self.bit(index), half, is_exact) {
            return kept;
        }
        let mut step = [0; WORDS];
        step[index / 64] = 1 << (index % 64);
        kept.plus(&Self(step))
    }

    fn highest(&self) -> Option<usize> {
        let word = self.0.iter().rposition(|word| *word != 0)?;
        Some(word * 64 + 63 - self.0[word].leading_zeros() as usize)
    }

    /// Returns the 64 bits from an index on.
    fn bits_at(&self, index: usize) -> u64 {
        let (word, bit) = (index / 64, index % 64);
        let wide = u128::from(self.0[word]) | u128::from(self.0.get(word + 1).copied().unwrap_or(0)) << 64;
        (wide >> bit) as u64
    }

    /// Rounds a number other than zero to a format; overflow gives infinity or the largest number, as the mode demands.
    pub fn rounded(&self, to: Format, rounding: Rounding) -> u64 {
        let (negative, magnitude) = self.magnitude();
        let sign = if negative { to.sign() } else { 0 };
        let lowest = usize::try_from(1 - to.bias() - to.fraction as i32 + FRACTION as i32).unwrap_or(0);
        let place = |number: &Self| {
            number.highest().map_or(lowest, |top| top.saturating_sub(to.fraction as usize).max(lowest))
        };
        let rounded = magnitude.rounded_at(place(&magnitude), negative, rounding);
        // A carry may have moved the highest bit; the number is a multiple of the new place, too.
        let place = place(&rounded);
        let integer = rounded.bits_at(place);
        let exponent = (place - lowest) as u64 + (integer >> to.fraction);
        if integer >> to.fraction == 0 {
            return sign | integer;
        }
        let bits = exponent << to.fraction | integer & ((1 << to.fraction) - 1);
        if bits < to.infinity() {
            return sign | bits;
        }
        let grows = rounding.increments(negative, true, std::cmp::Ordering::Greater, false);
        sign | if grows { to.infinity() } else { to.infinity() - 1 }
    }

    /// Returns an integer, clamped to a range.
    pub fn clamped(&self, low: i128, high: i128) -> i128 {
        let (negative, magnitude) = self.magnitude();
        let value = match magnitude.highest() {
            Some(top) if top >= FRACTION + 100 => i128::MAX,
            _ => i128::from(magnitude.bits_at(FRACTION)) | i128::from(magnitude.bits_at(FRACTION + 64)) << 64,
        };
        (if negative { -value } else { value }).clamp(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_are_those_of_the_host() {
        let values = [0.0, -0.0, 1.0, 1.5, -2.5, 1e-320, 1e308, -1e308, f64::INFINITY, 0.1, 3e-308];
        let mut checked = 0;
        for a in values {
            for b in values {
                let (x, y) = (a.to_bits(), b.to_bits());
                let same = |found: u64, expected: f64| {
                    DOUBLE.is_nan(found) && expected.is_nan() || found == expected.to_bits()
                };
                assert!(same(DOUBLE.add(x, y, Rounding::Nearest), a + b), "{a} + {b}");
                assert!(same(DOUBLE.multiply(x, y, Rounding::Nearest), a * b), "{a} * {b}");
                assert!(same(DOUBLE.multiply_add(x, y, x, Rounding::Nearest), a.mul_add(b, a)), "{a} {b}");
                let single = convert(DOUBLE, SINGLE, x, Rounding::Nearest);
                assert_eq!(single, u64::from((a as f32).to_bits()), "{a}");
                checked += 1;
            }
        }
        assert_eq!(checked, 121);
    }

    #[test]
    fn directions() {
        let third = |rounding| SINGLE.multiply(0x3eaa_aaab, 0x3eaa_aaab, rounding);
        assert_eq!(third(Rounding::Up), third(Rounding::Down) + 1);
        assert_eq!(SINGLE.add(0x7f7f_ffff, 0x7f7f_ffff, Rounding::Zero), 0x7f7f_ffff);
        assert_eq!(SINGLE.add(0x7f7f_ffff, 0x7f7f_ffff, Rounding::Up), 0x7f80_0000);
        assert_eq!(SINGLE.add(0x3f80_0000, 0xbf80_0000, Rounding::Down), 0x8000_0000);
        assert_eq!(to_integer(SINGLE, 0x4020_0000, Rounding::Nearest).clamped(-9, 9), 2);
        assert_eq!(to_integer(SINGLE, 0xc020_0000, Rounding::Down).clamped(-9, 9), -3);
    }
}
