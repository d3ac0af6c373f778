//! Video instructions, which operate on signed or unsigned parts of registers.
//!
//! Source: PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions". The encoding has one more feature: minimum
//! and maximum as the second operation work on result and third source lane by lane (`.SIMD_MIN`) or on the whole number
//! (`.MIN`), as the scalar instructions do.

use super::execute::operate;
use super::lift::masked;
use super::table::Code;

/// Extracts a part, by index of the modifier: four bytes, two halves, the whole word; unsigned, then signed.
pub(super) fn part(value: u32, ty: u64) -> i64 {
    let (shift, width) = match ty & 7 {
        byte @ 0..=3 => (u32::try_from(byte).unwrap_or(0).wrapping_mul(8), 8),
        4 => (0, 16),
        5 => (16, 16),
        _ => (0, 32),
    };
    extended(value.wrapping_shr(shift), width, ty & 8 != 0)
}

/// Clamps to the range of 32-bit integers.
pub(super) fn clamped(value: u64, has_sign: bool) -> u64 {
    masked(limited(value.cast_signed(), 32, has_sign).cast_unsigned(), 32)
}

fn extended(value: u32, width: u8, has_sign: bool) -> i64 {
    let low = masked(u64::from(value), width);
    if has_sign {
        operate(Code::SignExtend, &[low], width, 64).unwrap_or(0).cast_signed()
    } else {
        low.cast_signed()
    }
}

fn limited(value: i64, width: u8, has_sign: bool) -> i64 {
    let end = 1_i64.wrapping_shl(u32::from(width));
    let half = end.wrapping_shr(1);
    if has_sign {
        value.clamp(half.wrapping_neg(), half.wrapping_sub(1))
    } else {
        value.clamp(0, end.wrapping_sub(1))
    }
}

/// The selection for a source that is an immediate.
const IMMEDIATE: u64 = 255;

/// The bytes selected for the first source, highest lane first, by index of its modifier.
const FIRST_BYTES: [u16; 14] = [
    0x0000, 0x1111, 0x2222, 0x3333, 0x3210, 0x4321, 0x5432, 0x6543, 0x3201, 0x3012, 0x0213, 0x3120, 0x1230,
    0x2310,
];

/// The bytes selected for the second source.
const SECOND_BYTES: [u16; 11] =
    [0x4444, 0x5555, 0x6666, 0x7777, 0x7654, 0x6543, 0x5432, 0x4321, 0x4567, 0x6745, 0x5476];

/// The inputs of a SIMD instruction, as documented for `video_simd` in the tables.
struct Simd<'a> {
    inputs: &'a [u64],
    width: u8,
}

/// Evaluates a SIMD instruction on halves or bytes of two sources, with a third source.
pub(super) fn simd(inputs: &[u64]) -> u64 {
    let bytes = inputs.first().copied().unwrap_or(0) & 8 != 0;
    Simd { inputs, width: if bytes { 8 } else { 16 } }.result()
}

impl Simd<'_> {
    fn at(&self, index: usize) -> u64 {
        self.inputs.get(index).copied().unwrap_or(0)
    }

    #[expect(clippy::cast_possible_truncation, reason = "32-bit values in a u64")]
    fn word(&self, index: usize) -> u32 {
        self.at(index) as u32
    }

    /// Returns the index of a source's lane among the lanes of both sources.
    fn lane(&self, second: bool, lane: u32) -> u32 {
        let (selected, other) = (self.at(if second { 7 } else { 6 }), self.at(if second { 6 } else { 7 }));
        let by_digit = |digits: u16| u32::from(digits.wrapping_shr(lane.wrapping_mul(4)) & 15);
        let index = usize::try_from(selected).unwrap_or(usize::MAX);
        let selection = u32::try_from(selected).unwrap_or(0);
        let lanes = 32_u32.wrapping_div(u32::from(self.width).max(1));
        match (self.width, second) {
            // An immediate is one 32-bit number for all lanes: ptxas encodes 7 as an immediate, and 0x07070707 in a
            // register.
            (_, true) if selected == IMMEDIATE => lanes.wrapping_add(lane),
            (8, false) => by_digit(FIRST_BYTES.get(index).copied().unwrap_or(0x3210)),
            (8, true) => by_digit(SECOND_BYTES.get(index).copied().unwrap_or(0x7654)),
            // With an immediate, the first source has one selection bit per half.
            (_, false) if other == IMMEDIATE => selection.wrapping_shr(lane) & 1,
            _ => selection.wrapping_shr(lane.wrapping_mul(2)) & 3,
        }
    }

    fn value(&self, second: bool, lane: u32) -> i64 {
        let from = self.lane(second, lane);
        let lanes = 32_u32.wrapping_div(u32::from(self.width).max(1));
        let (a, b) = (self.word(3), self.word(4));
        let word = if from >= lanes { b } else { a };
        let shift = (from & lanes.wrapping_sub(1)).wrapping_mul(u32::from(self.width));
        let has_sign = self.at(1).wrapping_shr(u32::from(second)) & 1 != 0;
        let value = extended(word.wrapping_shr(shift), self.width, has_sign);
        if self.at(if second { 9 } else { 8 }) != 0 { value.wrapping_neg() } else { value }
    }

    fn operation(&self, lane: u32) -> i64 {
        let (a, b, variant) = (self.value(false, lane), self.value(true, lane), self.at(2));
        let distance = || {
            let max = i64::from(self.width);
            let distance = if variant != 0 { b & max.wrapping_sub(1) } else { b.clamp(0, max) };
            u32::try_from(distance).unwrap_or(0)
        };
        match self.at(0) & 7 {
            0 => a.wrapping_add(b),
            1 => {
                let sum = a.wrapping_add(b);
                sum.wrapping_add(i64::from(sum >= 0)).wrapping_shr(1)
            }
            2 => a.wrapping_sub(b).wrapping_abs(),
            3 if variant != 0 => a.max(b),
            3 => a.min(b),
            4 => i64::from(match variant {
                0 => false,
                1 => a < b,
                2 => a == b,
                3 => a <= b,
                4 => a > b,
                5 => a != b,
                6 => a >= b,
                _ => true,
            }),
            5 if self.at(5) & 1 != 0 => a,
            5 => b,
            6 => a.wrapping_shr(distance()),
            _ => a.wrapping_shl(distance()),
        }
    }

    fn result(&self) -> u64 {
        let (third, mask, combined) = (self.word(5), self.at(10), self.at(11));
        let (has_sign, saturates) = (self.at(13) != 0, self.at(14) != 0);
        // VSEL has a predicate for the third source: unwritten lanes are zero.
        let (third, adds_up) =
            (if self.at(0) & 7 == 5 { 0 } else { third }, combined == 4 || self.at(12) == 1);
        let lanes = 32_u32.wrapping_div(u32::from(self.width).max(1));
        let (mut word, mut sum) = (0_u32, 0_i64);
        for lane in 0..lanes {
            let shift = lane.wrapping_mul(u32::from(self.width));
            let old = extended(third.wrapping_shr(shift), self.width, has_sign);
            let mut value = old;
            if mask.wrapping_shr(lane) & 1 != 0 {
                value = self.operation(lane);
                if saturates {
                    value = limited(value, self.width, has_sign);
                }
                sum = sum.wrapping_add(value);
                match combined {
                    1 => value = value.min(old),
                    2 => value = value.max(old),
                    _ => {}
                }
            }
            let cut = u32::try_from(masked(value.cast_unsigned(), self.width)).unwrap_or(0);
            word |= cut.wrapping_shl(shift);
        }
        if adds_up {
            return masked(i64::from(third).wrapping_add(sum).cast_unsigned(), 32);
        }
        let as_number = |bits: u32| extended(bits, 32, has_sign);
        let result = match combined {
            5 => as_number(word).min(as_number(third)),
            6 => as_number(word).max(as_number(third)),
            _ => i64::from(word),
        };
        masked(result.cast_unsigned(), 32)
    }
}

#[cfg(test)]
mod tests {
    use super::simd;

    /// Evaluates with signed halves, default selection and all lanes.
    fn halves(code: u64, variant: u64, a: u64, b: u64, combined: u64, saturates: u64) -> u64 {
        simd(&[code, 3, variant, a, b, 0x10, 4, 14, 0, 0, 3, combined, 0, 1, saturates])
    }

    #[test]
    fn halves_are_independent() {
        assert_eq!(halves(0, 0, 0x7fff_0001, 0x0001_ffff, 0, 0), 0x8000_0000);
        assert_eq!(halves(0, 0, 0x7fff_0001, 0x0001_ffff, 0, 1), 0x7fff_0000);
        assert_eq!(halves(1, 0, 0x0003_fffd, 0x0004_0000, 0, 0), 0x0004_fffe);
        assert_eq!(halves(2, 0, 0x0003_fffd, 0x0004_0000, 0, 0), 0x0001_0003);
        assert_eq!(halves(4, 1, 0x0003_0005, 0x0004_0000, 0, 0), 0x0001_0000);
        assert_eq!(halves(0, 0, 0x0001_0002, 0x0003_0004, 4, 0), 0x10 + 4 + 6);
    }

    #[test]
    fn bytes_are_selected() {
        let bytes =
            |first, second| simd(&[8, 0, 0, 0x0403_0201, 0x40, 0, first, second, 0, 0, 15, 0, 0, 0, 0]);
        assert_eq!(bytes(4, 4), 0x0403_0241);
        assert_eq!(bytes(0, 0), 0x4141_4141);
        assert_eq!(bytes(4, 255), 0x0403_0241);
    }
}
