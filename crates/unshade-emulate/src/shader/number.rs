//! Operators on numbers: bits of a width in, bits of a width out.
//!
//! Floats are computed as doubles and rounded to their width; for sums, products, quotients and roots of 16 and 32 bits
//! that gives the same bits as the operation in that width. Transcendental functions have one function of the host each,
//! so that equal inputs give equal bits, and those that compilers expand (`pow`, `exp`, `log`) are computed as the
//! expansion. NaNs have one pattern.
//!
//! | case | result |
//! |---|---|
//! | saturation of NaN | 0 |
//! | minimum and maximum with NaN | the other number |
//! | shift | by the count modulo the width |
//! | unsigned division by 0 | all ones, remainder too |
//! | signed division by 0, or that overflows | all ones, remainder 0; the dividend, remainder 0 |
//! | float to integer | the nearest integer of the range towards zero; 0 for NaN |

use unshade_core::half::half_to_double;
use unshade_ir::Op;
use unshade_ir::fold::{fold, masked, signed};
use unshade_ir::shader::{ShaderOp, Signedness};

/// Returns the bits of the nearest half, of two the even one.
pub(crate) fn float_to_half(number: f64) -> u16 {
    if number.is_nan() {
        return 0x7e00;
    }
    let sign = u16::from(number.is_sign_negative()) << 15;
    let magnitude = number.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // Units of the last place: powers of two from -24 on.
    let exponent =
        if magnitude < 2f64.powi(-14) { -14 } else { magnitude.log2().floor().clamp(-14.0, 15.0) as i32 };
    let units = (magnitude / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    let base = ((exponent + 14) as u16) << 10;
    // Normal numbers have the unit 1024 as the lowest bit of the exponent.
    sign | (base + units)
}

/// Returns the number with these bits.
pub(super) fn decode(bits: u64, width: u8) -> f64 {
    match width {
        16 => half_to_double(bits as u16),
        64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

/// Returns the bits of the nearest number of a width.
pub(super) fn encode(number: f64, width: u8) -> u64 {
    match width {
        16 => u64::from(float_to_half(number)),
        64 if number.is_nan() => 0x7ff8_0000_0000_0000,
        64 => number.to_bits(),
        _ if number.is_nan() => 0x7fc0_0000,
        _ => u64::from((number as f32).to_bits()),
    }
}

/// Returns the result of an operator that works lane by lane, for the width of the first input and of the result; `None`
/// if it is none.
pub(super) fn operate(op: Op, inputs: &[u64], width: u8, out: u8) -> Option<u64> {
    let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
    let (a, b) = (at(0), at(1));
    let count = b & u64::from(width.max(1) - 1);
    Some(match op {
        Op::Copy => a,
        Op::Shl => masked(a << count, out),
        Op::Shr => a >> count,
        Op::Sar => masked((signed(a, width) >> count).cast_unsigned(), out),
        Op::Udiv => a.checked_div(b).unwrap_or(masked(u64::MAX, out)),
        Op::Urem => a.checked_rem(b).unwrap_or(masked(u64::MAX, out)),
        Op::Sdiv | Op::Srem => divide(op, signed(a, width), signed(b, width), out),
        Op::FloatAbs => a & !(1 << (width.max(1) - 1)),
        Op::FloatNegate => a ^ 1 << (width.max(1) - 1),
        Op::UnsignedToFloat => integer_to_float(a as f64, a as f32, out),
        Op::SignedToFloat => integer_to_float(signed(a, width) as f64, signed(a, width) as f32, out),
        Op::FloatConvert => encode(decode(a, width), out),
        Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv | Op::FloatSqrt => {
            let (a, b) = (decode(a, width), decode(b, width));
            encode(
                match op {
                    Op::FloatAdd => a + b,
                    Op::FloatSub => a - b,
                    Op::FloatMul => a * b,
                    Op::FloatDiv => a / b,
                    _ => a.sqrt(),
                },
                out,
            )
        }
        Op::FloatEqual => u64::from(decode(a, width) == decode(b, width)),
        Op::FloatNotEqual => u64::from(decode(a, width) != decode(b, width)),
        Op::FloatLess => u64::from(decode(a, width) < decode(b, width)),
        Op::FloatLessEqual => u64::from(decode(a, width) <= decode(b, width)),
        Op::FloatNan => u64::from(decode(a, width).is_nan()),
        Op::Shader(op) => return shader(op, inputs, width, out),
        op => return fold(op, inputs, width, out),
    })
}

fn divide(op: Op, a: i64, b: i64, out: u8) -> u64 {
    let (quotient, remainder) = match b {
        0 => (-1, 0),
        _ => (a.wrapping_div(b), a.wrapping_rem(b)),
    };
    masked((if op == Op::Sdiv { quotient } else { remainder }).cast_unsigned(), out)
}

fn integer_to_float(wide: f64, narrow: f32, out: u8) -> u64 {
    match out {
        32 => u64::from(narrow.to_bits()),
        _ => encode(wide, out),
    }
}

/// Returns the result of an operation of floats with one input.
fn unary(op: ShaderOp, x: f64, width: u8) -> Option<f64> {
    let rounded = |number: f64| decode(encode(number, width), width);
    let scaled = |factor: f32| rounded(rounded(x.log2()) * f64::from(factor));
    Some(match op {
        ShaderOp::Saturate if x > 0.0 => x.min(1.0),
        ShaderOp::Saturate => 0.0,
        ShaderOp::Sine => x.sin(),
        ShaderOp::Cosine => x.cos(),
        ShaderOp::Tangent => x.tan(),
        ShaderOp::ArcSine => x.asin(),
        ShaderOp::ArcCosine => x.acos(),
        ShaderOp::ArcTangent => x.atan(),
        ShaderOp::HyperbolicSine => x.sinh(),
        ShaderOp::HyperbolicCosine => x.cosh(),
        ShaderOp::HyperbolicTangent => x.tanh(),
        ShaderOp::Exp2 => x.exp2(),
        ShaderOp::Log2 => x.log2(),
        ShaderOp::Exp => rounded(x * f64::from(std::f32::consts::LOG2_E)).exp2(),
        ShaderOp::Log => scaled(std::f32::consts::LN_2),
        ShaderOp::Log10 => scaled(std::f32::consts::LOG10_2),
        ShaderOp::Fraction => x - x.floor(),
        ShaderOp::ReciprocalSqrt => 1.0 / x.sqrt(),
        ShaderOp::Reciprocal => 1.0 / x,
        ShaderOp::RoundEven => x.round_ties_even(),
        ShaderOp::Floor => x.floor(),
        ShaderOp::Ceiling => x.ceil(),
        ShaderOp::Truncate => x.trunc(),
        _ => return None,
    })
}

/// Returns the smaller or larger number; of zeros, the negative or positive one.
fn extreme(a: f64, b: f64, is_larger: bool) -> f64 {
    match () {
        () if a.is_nan() => b,
        () if b.is_nan() => a,
        () if a == b => {
            if a.is_sign_negative() == is_larger {
                b
            } else {
                a
            }
        }
        () => {
            if (a < b) == is_larger {
                b
            } else {
                a
            }
        }
    }
}

/// Returns the result of an operation of floats with two or three inputs.
fn several(op: ShaderOp, numbers: &[f64], width: u8) -> Option<f64> {
    let at = |index: usize| numbers.get(index).copied().unwrap_or(0.0);
    let (a, b, c) = (at(0), at(1), at(2));
    let rounded = |number: f64| decode(encode(number, width), width);
    Some(match op {
        ShaderOp::FloatMin => extreme(a, b, false),
        ShaderOp::FloatMax => extreme(a, b, true),
        ShaderOp::FloatRemainder => a % b,
        ShaderOp::Power => rounded(b * rounded(a.log2())).exp2(),
        ShaderOp::MultiplyAdd => rounded(a * b) + c,
        ShaderOp::Fma if width == 32 => f64::from((a as f32).mul_add(b as f32, c as f32)),
        ShaderOp::Fma => a.mul_add(b, c),
        ShaderOp::Lerp => a + rounded(c * rounded(b - a)),
        _ => return None,
    })
}

fn shader(op: ShaderOp, inputs: &[u64], width: u8, out: u8) -> Option<u64> {
    let numbers: Vec<f64> = inputs.iter().map(|bits| decode(*bits, width)).collect();
    let x = numbers.first().copied().unwrap_or(0.0);
    if let Some(number) = unary(op, x, width).or_else(|| several(op, &numbers, width)) {
        return Some(encode(number, out));
    }
    let smallest = match width {
        16 => 2f64.powi(-14),
        64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    Some(match op {
        ShaderOp::IsNan => u64::from(x.is_nan()),
        ShaderOp::IsInfinite => u64::from(x.is_infinite()),
        ShaderOp::IsFinite => u64::from(x.is_finite()),
        ShaderOp::IsNormal => u64::from(x.is_finite() && x.abs() >= smallest),
        ShaderOp::Sign => masked(if x > 0.0 { 1 } else { u64::MAX * u64::from(x < 0.0) }, out),
        ShaderOp::FloatToSigned => {
            let largest = if out >= 64 { i64::MAX } else { (1 << (out.max(1) - 1)) - 1 };
            masked((x as i64).clamp(-largest - 1, largest).cast_unsigned(), out)
        }
        ShaderOp::FloatToUnsigned => (x as u64).min(masked(u64::MAX, out)),
        ShaderOp::HalfToFloat => encode(half_to_double(inputs.first().copied().unwrap_or(0) as u16), out),
        ShaderOp::FloatToHalf => u64::from(float_to_half(x)),
        _ => return integers(op, inputs, width, out),
    })
}

/// Returns the result of an operation of integers.
fn integers(op: ShaderOp, inputs: &[u64], width: u8, out: u8) -> Option<u64> {
    let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
    let (a, b, c) = (at(0), at(1), at(2));
    let (x, y) = (signed(a, width), signed(b, width));
    let top = u64::from(width) - 1;
    let or_none = |found: Option<u64>| found.unwrap_or(masked(u64::MAX, out));
    let zeros =
        |number: u64| (number != 0).then(|| u64::from(number.leading_zeros()) + u64::from(width) - 64);
    let signs =
        |number: i64| zeros(masked((if number < 0 { !number } else { number }).cast_unsigned(), width));
    let value = match op {
        ShaderOp::SignedMin => x.min(y).cast_unsigned(),
        ShaderOp::SignedMax => x.max(y).cast_unsigned(),
        ShaderOp::UnsignedMin => a.min(b),
        ShaderOp::UnsignedMax => a.max(b),
        ShaderOp::SignedAbs => x.unsigned_abs(),
        ShaderOp::IntegerMultiplyAdd(_) => a.wrapping_mul(b).wrapping_add(c),
        ShaderOp::MultiplyHigh(Signedness::Signed) => ((i128::from(x) * i128::from(y)) >> width) as u64,
        ShaderOp::MultiplyHigh(Signedness::Unsigned) => ((u128::from(a) * u128::from(b)) >> width) as u64,
        ShaderOp::ReverseBits => a.reverse_bits() >> (63 - top),
        ShaderOp::CountBits => u64::from(a.count_ones()),
        ShaderOp::FirstBitLow => or_none((a != 0).then(|| u64::from(a.trailing_zeros()))),
        ShaderOp::LeadingZeros => or_none(zeros(a)),
        ShaderOp::LeadingSigns => or_none(signs(x)),
        ShaderOp::FirstBitHighUnsigned => or_none(zeros(a).map(|zeros| top - zeros)),
        ShaderOp::FirstBitHighSigned => or_none(signs(x).map(|zeros| top - zeros)),
        ShaderOp::ExtractBits(signedness) => extract(a as u32, b as u32, c as u32, signedness),
        ShaderOp::InsertBits => insert(a as u32, b as u32, c as u32, at(3) as u32),
        ShaderOp::MaskedSumOfDifferences => u64::from(differences(a as u32, b as u32).wrapping_add(c as u32)),
        ShaderOp::Dot4Add(signedness) => {
            u64::from(dot4(b as u32, c as u32, signedness).wrapping_add(a as u32))
        }
        ShaderOp::NonUniform => a,
        ShaderOp::IsResident => u64::from(a != 0),
        _ => return None,
    };
    Some(masked(value, out))
}

fn extract(width: u32, offset: u32, number: u32, signedness: Signedness) -> u64 {
    let (width, offset) = (width & 31, offset & 31);
    if width == 0 {
        return 0;
    }
    // A field that reaches beyond the word ends there.
    let above = 32_u32.saturating_sub(width + offset);
    let shifted = number << above;
    let count = above + offset;
    match signedness {
        Signedness::Signed => u64::from((shifted.cast_signed() >> count).cast_unsigned()),
        Signedness::Unsigned => u64::from(shifted >> count),
    }
}

fn insert(width: u32, offset: u32, bits: u32, number: u32) -> u64 {
    let (width, offset) = (width & 31, offset & 31);
    let mask = ((1_u32 << width) - 1) << offset;
    u64::from(bits << offset & mask | number & !mask)
}

/// Returns the sum of differences of bytes whose reference is not zero.
fn differences(reference: u32, source: u32) -> u32 {
    let pairs = reference.to_le_bytes().into_iter().zip(source.to_le_bytes());
    pairs
        .filter(|(reference, _)| *reference != 0)
        .map(|(reference, source)| u32::from(reference.abs_diff(source)))
        .sum()
}

fn dot4(a: u32, b: u32, signedness: Signedness) -> u32 {
    let wide = |byte: u8| match signedness {
        Signedness::Signed => i32::from(byte.cast_signed()),
        Signedness::Unsigned => i32::from(byte),
    };
    let products =
        a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(a, b)| wide(a).wrapping_mul(wide(b)));
    products.fold(0_i32, i32::wrapping_add).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(op: ShaderOp, inputs: &[f32]) -> f32 {
        let bits: Vec<u64> = inputs.iter().map(|number| u64::from(number.to_bits())).collect();
        f32::from_bits(operate(Op::Shader(op), &bits, 32, 32).unwrap() as u32)
    }

    #[test]
    fn halves_survive() {
        for bits in 0..=u16::MAX {
            let number = half_to_double(bits);
            if !number.is_nan() {
                assert_eq!(float_to_half(number), bits);
            }
        }
        assert_eq!(float_to_half(65519.0), 0x7bff);
        assert_eq!(float_to_half(2f64.powi(-25)), 0);
        assert_eq!(float_to_half(1.0 + 3.0 / 2048.0), 0x3c02);
    }

    #[test]
    fn nan_loses() {
        assert_eq!(float(ShaderOp::Saturate, &[f32::NAN]), 0.0);
        assert_eq!(float(ShaderOp::FloatMin, &[f32::NAN, 2.0]), 2.0);
        assert_eq!(float(ShaderOp::FloatMax, &[2.0, f32::NAN]), 2.0);
        assert!(float(ShaderOp::FloatMin, &[0.0, -0.0]).is_sign_negative());
        assert!(float(ShaderOp::FloatMax, &[-0.0, 0.0]).is_sign_positive());
    }

    #[test]
    fn conversions_clamp() {
        let to = |op, number: f32, out| operate(Op::Shader(op), &[u64::from(number.to_bits())], 32, out);
        assert_eq!(to(ShaderOp::FloatToSigned, -3e9, 32), Some(0x8000_0000));
        assert_eq!(to(ShaderOp::FloatToSigned, f32::NAN, 32), Some(0));
        assert_eq!(to(ShaderOp::FloatToUnsigned, 5e9, 32), Some(0xffff_ffff));
        assert_eq!(to(ShaderOp::FloatToUnsigned, -1.5, 32), Some(0));
    }

    #[test]
    fn divisions_by_zero_have_results() {
        assert_eq!(operate(Op::Udiv, &[7, 0], 32, 32), Some(0xffff_ffff));
        assert_eq!(operate(Op::Urem, &[7, 0], 32, 32), Some(0xffff_ffff));
        assert_eq!(operate(Op::Sdiv, &[0x8000_0000, 0xffff_ffff], 32, 32), Some(0x8000_0000));
        assert_eq!(operate(Op::Shl, &[1, 33], 32, 32), Some(2));
        assert_eq!(operate(Op::Sar, &[0x8000_0000, 63], 32, 32), Some(0xffff_ffff));
    }

    #[test]
    fn bits_are_counted_from_their_ends() {
        let of = |op, number| operate(Op::Shader(op), &[number], 32, 32).unwrap();
        assert_eq!(of(ShaderOp::LeadingZeros, 1), 31);
        assert_eq!(of(ShaderOp::FirstBitHighUnsigned, 0x10), 4);
        assert_eq!(of(ShaderOp::FirstBitHighSigned, 0xffff_ffef), 4);
        assert_eq!(of(ShaderOp::FirstBitHighSigned, 0xffff_ffff), 0xffff_ffff);
        assert_eq!(of(ShaderOp::ReverseBits, 1), 0x8000_0000);
        let fields = [8, 28, 0xa000_0000];
        assert_eq!(
            operate(Op::Shader(ShaderOp::ExtractBits(Signedness::Unsigned)), &fields, 32, 32),
            Some(10)
        );
        let fields = [4, 4, 0xff, 0x1203];
        assert_eq!(operate(Op::Shader(ShaderOp::InsertBits), &fields, 32, 32), Some(0x12f3));
    }

    #[test]
    fn powers_are_their_expansion() {
        let log = float(ShaderOp::Log2, &[1.7]);
        assert_eq!(float(ShaderOp::Power, &[1.7, 2.3]), float(ShaderOp::Exp2, &[2.3 * log]));
        assert_eq!(float(ShaderOp::MultiplyAdd, &[0.1, 0.3, 0.7]), 0.1 * 0.3 + 0.7);
    }
}
