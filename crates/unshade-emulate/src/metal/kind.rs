//! Kinds of numbers, and their bits as numbers of the host.
//!
//! Floats are computed as floats of the host with at least the precision that makes rounding twice harmless, and rounded
//! to the nearest number of their kind, ties to even. A NaN that an operation is given is its result, made quiet; NaNs that come
//! from numbers have one pattern. Nothing is flushed to zero.

use crate::shader::number::float_to_half;
use unshade_core::half::half_to_double;
use unshade_ir::TypeId;
use unshade_ir::fold::masked;
use unshade_ir::metal::types::{TypeTable, ValueType};

/// The kind of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    /// An integer with this many bits.
    Integer(u8),
    Half,
    BFloat,
    Float,
    Double,
    Pointer,
}

impl Kind {
    /// Returns the kind of a type that is a number or a pointer.
    pub(super) fn of(types: &TypeTable, ty: TypeId) -> Option<Self> {
        Some(match types.get(ty) {
            ValueType::Bool => Self::Bool,
            ValueType::Integer(bits, _) => Self::Integer(bits),
            ValueType::Float(16) => Self::Half,
            ValueType::Float(32) => Self::Float,
            ValueType::Float(64) => Self::Double,
            ValueType::BFloat => Self::BFloat,
            ValueType::Pointer(..) | ValueType::Named(_) => Self::Pointer,
            _ => return None,
        })
    }

    /// Returns the kind of a number without a type.
    pub(super) fn of_width(width: u8) -> Self {
        if width == 1 { Self::Bool } else { Self::Integer(width) }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::Half | Self::BFloat | Self::Float | Self::Double)
    }

    /// Returns the number of bits.
    pub(super) fn width(self) -> u8 {
        match self {
            Self::Bool => 1,
            Self::Integer(bits) => bits,
            Self::Half | Self::BFloat => 16,
            Self::Float => 32,
            Self::Double | Self::Pointer => 64,
        }
    }

    /// Returns the number of bytes in memory.
    pub(super) fn bytes(self) -> usize {
        usize::from(self.width().div_ceil(8)).next_power_of_two()
    }

    /// Returns the number with these bits.
    pub(super) fn decode(self, bits: u64) -> f64 {
        match self {
            Self::Half => half_to_double(bits as u16),
            Self::BFloat => f64::from(f32::from_bits((bits as u32) << 16)),
            Self::Float => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    /// Returns the bits of the nearest number.
    pub(super) fn encode(self, number: f64) -> u64 {
        match self {
            Self::Half => u64::from(float_to_half(number)),
            Self::BFloat => u64::from(float_to_bfloat(number as f32)),
            Self::Float => self.encode_single(number as f32),
            _ if number.is_nan() => 0x7ff8_0000_0000_0000,
            _ => number.to_bits(),
        }
    }

    /// Returns the number of bits of the fraction.
    fn fraction(self) -> u8 {
        match self {
            Self::Half => 10,
            Self::BFloat => 7,
            Self::Float => 23,
            _ => 52,
        }
    }

    /// Returns the result of an operation that is no number: the first NaN of its inputs, which are of `kind`.
    pub(super) fn nan(self, kind: Self, inputs: &[u64]) -> u64 {
        let Some(bits) = inputs.iter().find(|bits| kind.decode(**bits).is_nan()) else {
            return self.encode(f64::NAN);
        };
        let (from, to) = (kind.fraction(), self.fraction());
        let fraction = masked(*bits, from) << (52 - from) >> (52 - to) | 1 << (to - 1);
        let exponent = masked(u64::MAX, self.width() - 1 - to) << to;
        (bits >> (kind.width() - 1) & 1) << (self.width() - 1) | exponent | fraction
    }

    /// Returns a number that is at most as wide as a float.
    pub(super) fn decode_single(self, bits: u64) -> f32 {
        match self {
            Self::Float => f32::from_bits(bits as u32),
            Self::BFloat => f32::from_bits((bits as u32) << 16),
            _ => self.decode(bits) as f32,
        }
    }

    /// Returns the bits of the number that is nearest to a float.
    pub(super) fn encode_single(self, number: f32) -> u64 {
        match self {
            Self::Float if number.is_nan() => 0x7fc0_0000,
            Self::Float => u64::from(number.to_bits()),
            Self::BFloat => u64::from(float_to_bfloat(number)),
            _ => self.encode(f64::from(number)),
        }
    }
}

/// Returns the upper half of a float, rounded to the nearest, of two the even one.
fn float_to_bfloat(number: f32) -> u16 {
    if number.is_nan() {
        return 0x7fc0;
    }
    let bits = number.to_bits();
    // The greatest finite floats become infinity, which is the next number.
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        for bits in 0..=u64::from(u16::MAX) {
            for kind in [Kind::Half, Kind::BFloat] {
                if !kind.decode(bits).is_nan() {
                    assert_eq!(kind.encode(kind.decode(bits)), bits);
                    assert_eq!(kind.encode_single(kind.decode_single(bits)), bits);
                }
            }
        }
    }

    #[test]
    fn nans_are_kept() {
        assert_eq!(Kind::Float.nan(Kind::Float, &[0x3f80_0000, 0xff80_0001, 0x7fc0_0002]), 0xffc0_0001);
        assert_eq!(Kind::Float.nan(Kind::Half, &[0x7f34]), 0x7fe6_8000);
        assert_eq!(Kind::Half.nan(Kind::Float, &[0x7fe6_8000]), 0x7f34);
        assert_eq!(Kind::BFloat.nan(Kind::Float, &[0]), 0x7fc0);
    }

    #[test]
    fn ties_go_to_even() {
        let bfloat = |bits: u32| float_to_bfloat(f32::from_bits(bits));
        assert_eq!([bfloat(0x3f80_8000), bfloat(0x3f81_8000), bfloat(0x3f80_8001)], [0x3f80, 0x3f82, 0x3f81]);
        assert_eq!(bfloat(0x7f7f_ffff), 0x7f80);
    }
}
