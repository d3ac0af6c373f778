//! The pure named functions of p-code.
//!
//! Arithmetic follows IEEE 754, with the rounding mode of the instruction (0 nearest even, 1 down, 2 up, 3 toward zero).
//! NaN results of singles and halves have all bits of the fraction set, as in the CUDA programming guide. NaN results of
//! doubles are the first NaN operand, made quiet, or `CUDART_NAN`, 0xfff8000000000000, if no operand is a NaN. Results of
//! MUFU are rounded from the exact value; a chip's last bits may differ. MUFU treats subnormal inputs as zero, as PTX
//! specifies for `.approx.ftz`.

use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::{surface, video};

/// Returns the result of a pure function; `None` for other functions.
pub fn call(name: &str, inputs: &[u64]) -> Option<u64> {
    arithmetic(name, inputs).or_else(|| transcendental(name, inputs))
}

/// Returns the result of a sine, cosine, power or logarithm; `None` for other functions.
fn transcendental(name: &str, inputs: &[u64]) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, reason = "32-bit values in a u64")]
    let word = inputs.first().copied().unwrap_or(0) as u32;
    Some(match name {
        "cosine" => approximate(word, libm::cos),
        "sine" => approximate(word, libm::sin),
        "exp2" => approximate(word, libm::exp2),
        "log2" => approximate(word, libm::log2),
        _ => return None,
    })
}

/// Returns the result of a pure function that is not transcendental; `None` for other functions.
pub fn arithmetic(name: &str, inputs: &[u64]) -> Option<u64> {
    let at = |index: usize| inputs.get(index).copied().unwrap_or(0);
    #[expect(clippy::cast_possible_truncation, reason = "32-bit values in a u64")]
    let float = |index: usize| f32::from_bits(at(index) as u32);
    let wide = |index: usize| f64::from_bits(at(index));
    #[expect(clippy::cast_possible_truncation, reason = "32-bit values in a u64")]
    let word = |index: usize| at(index) as u32;
    let s = |index: usize| Single::from_bits(u128::from(at(index)));
    let d = |index: usize| Double::from_bits(u128::from(at(index)));
    Some(match name {
        "flush" => u64::from(flushed(word(0))),
        "saturate" => single(if float(0) > 0.0 { float(0).min(1.0) } else { 0.0 }),
        "saturate_double" if wide(0) > 0.0 => double(wide(0).min(1.0)),
        "saturate_double" => 0,
        "fadd_round" => soft(s(0).add_r(s(1), round(at(2))).value),
        "fmul_round" => soft(s(0).mul_r(s(1), round(at(2))).value),
        "fmul_scaled" => soft(scaled(at(0), at(1), at(2), at(3))),
        "fmul_fmz" if float(0) == 0.0 || float(1) == 0.0 => 0,
        "fmul_fmz" => soft(scaled(at(0), at(1), at(2), at(3))),
        "fma" => soft(s(0).mul_add(s(1), s(2)).value),
        "fma_round" => soft(s(0).mul_add_r(s(1), s(2), round(at(3))).value),
        "fma_fmz" if float(0) == 0.0 || float(1) == 0.0 => soft(Single::ZERO.add_r(s(2), round(at(3))).value),
        "fma_fmz" => soft(s(0).mul_add_r(s(1), s(2), round(at(3))).value),
        "fmin" => single(smaller(float(0).into(), float(1).into(), false)),
        "fmax" => single(smaller(float(0).into(), float(1).into(), true)),
        "dadd_round" => soft_double(d(0).add_r(d(1), round(at(2))).value, inputs),
        "dmul_round" => soft_double(d(0).mul_r(d(1), round(at(2))).value, inputs),
        "dfma" => soft_double(d(0).mul_add(d(1), d(2)).value, inputs),
        "dfma_round" => soft_double(d(0).mul_add_r(d(1), d(2), round(at(3))).value, inputs),
        "dmin" => double(smaller(wide(0), wide(1), false)),
        "dmax" => double(smaller(wide(0), wide(1), true)),
        "fdivide_is_hard" => u64::from(is_hard(exponent(at(0), 23, 8), exponent(at(1), 23, 8), 254)),
        "ddivide_is_hard" => u64::from(is_hard(exponent(at(0), 52, 11), exponent(at(1), 52, 11), 2046)),
        "reciprocal" => approximate(word(0), |x| 1.0 / x),
        "reciprocal_sqrt" => approximate(word(0), |x| 1.0 / libm::sqrt(x)),
        "reciprocal64_high" => approximate_high(word(0), |x| 1.0 / x),
        "reciprocal_sqrt64_high" => approximate_high(word(0), |x| 1.0 / libm::sqrt(x)),
        "reduce_range" => at(0),
        "half_to_float" => {
            let result: Single = Half::from_bits(u128::from(at(0))).convert(&mut false).value;
            soft(result)
        }
        "float_to_half" => half(s(0).convert_r(round(at(1)), &mut false).value),
        "double_to_half" => half(d(0).convert_r(round(at(1)), &mut false).value),
        "double_to_float" => soft(d(0).convert_r(round(at(1)), &mut false).value),
        "round_float" => single(rounded(f64::from(float(0)), at(1))),
        "round_double" => double(rounded(wide(0), at(1))),
        "double_to_integer" => integer(wide(0), at(1), at(2), at(3)),
        "integer_to_float" => soft(from_integer(at(0), at(1) != 0, round(at(2)))),
        "integer_to_double" => soft_double(from_integer(at(0), at(1) != 0, round(at(2))), &[]),
        "clamp_integer" => clamped(at(0), at(1) != 0, at(2)),
        "bit_reverse" => u64::from(word(0).reverse_bits()),
        "byte_perm" => u64::from(picked(word(0), word(1), word(2))),
        "byte_perm_mode" => u64::from(picked(word(0), word(1), selector(word(2), at(3)))),
        "video_part" => video::part(word(0), at(1)).cast_unsigned(),
        "video_clamp" => video::clamped(at(0), at(1) != 0),
        "video_simd" => video::simd(inputs),
        "multiply_add_by_descriptor" => u64::from(surface::multiply_add(word(0), word(1), word(2))),
        "surface_clamp" => u64::from(clamp(inputs).result().0),
        "surface_clamp_outside" => u64::from(clamp(inputs).result().1),
        "surface_bitfield" => u64::from(surface::merged(word(0), word(1), word(2), at(3) != 0)),
        "surface_bitfield_outside" => u64::from(surface::outside(word(0), word(1), word(2), at(3) != 0)),
        "surface_address" => u64::from(surface::address(word(0), word(1), word(2))),
        _ => return None,
    })
}

/// Returns the arguments of SUCLAMP.
#[expect(clippy::cast_possible_truncation, reason = "32-bit values in a u64")]
fn clamp(inputs: &[u64]) -> surface::Clamp {
    let word = |index: usize| inputs.get(index).copied().unwrap_or(0) as u32;
    surface::Clamp {
        coordinate: word(0),
        descriptor: word(1),
        added: word(2),
        has_sign: word(3) != 0,
        geometry: word(4),
        two_dimensions: word(5) != 0,
    }
}

/// Evaluates a function of MUFU.
#[expect(clippy::cast_possible_truncation, reason = "rounds to single precision")]
fn approximate(bits: u32, function: fn(f64) -> f64) -> u64 {
    let result = function(f64::from(f32::from_bits(flushed(bits)))) as f32;
    if result.is_nan() { 0x7fff_ffff } else { u64::from(flushed(result.to_bits())) }
}

/// Evaluates a function of MUFU on the upper half of a double, whose lower half is zero.
fn approximate_high(bits: u32, function: fn(f64) -> f64) -> u64 {
    let flushed = |bits: u64| if bits & 0x7ff0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits };
    let value = function(f64::from_bits(flushed(u64::from(bits).wrapping_shl(32))));
    flushed(double(value)).wrapping_shr(32)
}

fn round(number: u64) -> Round {
    match number {
        1 => Round::TowardNegative,
        2 => Round::TowardPositive,
        3 => Round::TowardZero,
        _ => Round::NearestTiesToEven,
    }
}

/// Converts a single or double to a double.
#[expect(clippy::cast_possible_truncation, reason = "32-bit values in a u64")]
pub(super) fn wide(bits: u64, width: u8) -> f64 {
    if width == 32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Converts a double to a single or double.
pub(super) fn narrow(value: f64, width: u8) -> u64 {
    if width == 32 { single(value) } else { double(value) }
}

/// Rounds to single precision; returns the bits.
#[expect(clippy::cast_possible_truncation, reason = "rounds to single precision")]
pub(super) fn single(value: impl Into<f64>) -> u64 {
    let value = value.into() as f32;
    if value.is_nan() { 0x7fff_ffff } else { u64::from(value.to_bits()) }
}

/// The NaN result of double operations whose operands are not NaNs.
const NO_DOUBLE: u64 = 0xfff8_0000_0000_0000;

/// Returns the bits of a double, with NaNs made quiet.
pub(super) fn double(value: f64) -> u64 {
    if value.is_nan() { value.to_bits() | 1 << 51 } else { value.to_bits() }
}

/// Returns the bits of the result of an operation on doubles; a NaN follows the rules above.
pub(super) fn double_of(value: f64, operands: &[u64]) -> u64 {
    if !value.is_nan() {
        return value.to_bits();
    }
    let none = operands.iter().find(|bits| f64::from_bits(**bits).is_nan());
    none.map_or(NO_DOUBLE, |bits| bits | 1 << 51)
}

fn soft(value: Single) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { u64::try_from(value.to_bits()).unwrap_or(0) }
}

fn soft_double(value: Double, operands: &[u64]) -> u64 {
    double_of(f64::from_bits(u64::try_from(value.to_bits()).unwrap_or(0)), operands)
}

fn half(value: Half) -> u64 {
    if value.is_nan() { 0x7fff } else { u64::try_from(value.to_bits()).unwrap_or(0) }
}

fn flushed(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Returns the minimum or maximum. Numbers win over NaNs; minus zero is less than zero.
fn smaller(a: f64, b: f64, larger: bool) -> f64 {
    if a.is_nan() {
        return b;
    }
    if b.is_nan() {
        return a;
    }
    let first = if a == b { a.is_sign_negative() } else { a < b };
    if first == larger { b } else { a }
}

/// Multiplies and scales by a power of two (D2, D4, D8, M8, M4, M2 divide and multiply), rounding once.
fn scaled(a: u64, b: u64, rounding: u64, scale: u64) -> Single {
    let power = match scale {
        1 => -1,
        2 => -2,
        3 => -3,
        4 => 3,
        5 => 2,
        6 => 1,
        _ => 0,
    };
    // A double holds the product of two singles exactly, and scaling it is exact too.
    let widened = |bits: u64| -> Double { Single::from_bits(u128::from(bits)).convert(&mut false).value };
    let product = widened(a).mul_r(widened(b), Round::NearestTiesToEven).value;
    product.scalbn_r(power, Round::NearestTiesToEven).convert_r(round(rounding), &mut false).value
}

fn exponent(bits: u64, fraction: u32, count: u32) -> i64 {
    (bits.wrapping_shr(fraction) & 1_u64.wrapping_shl(count).wrapping_sub(1)).cast_signed()
}

/// Returns whether a division needs the slow path: Newton's steps need normal operands and a normal quotient.
fn is_hard(a: i64, b: i64, largest: i64) -> bool {
    let bias = largest.wrapping_shr(1);
    // Neither the remainder nor the reciprocal may be subnormal.
    let fraction = if largest > 254 { 53 } else { 24 };
    let quotient = a.wrapping_sub(b).wrapping_add(bias);
    let easy = a > fraction && a <= largest && b > 0 && b < largest.wrapping_sub(2);
    !easy || quotient <= fraction || quotient >= largest.wrapping_sub(1)
}

/// Rounds to an integer, by index of the modifier: 4 to nearest, 5 down, 6 up, 7 toward zero.
fn rounded(value: f64, mode: u64) -> f64 {
    match mode & 3 {
        1 => libm::floor(value),
        2 => libm::ceil(value),
        3 => libm::trunc(value),
        _ => libm::rint(value),
    }
}

/// Returns the range of an integer type: U8, U16, U32, U64, S8, S16, S32, S64.
fn range(ty: u64) -> (i128, i128) {
    let bits = 8_u32.wrapping_shl(u32::try_from(ty & 3).unwrap_or(0));
    let end = 1_i128.wrapping_shl(bits);
    if ty < 4 {
        (0, end.wrapping_sub(1))
    } else {
        (end.wrapping_shr(1).wrapping_neg(), end.wrapping_shr(1).wrapping_sub(1))
    }
}

/// Converts to an integer. NaNs become 0, or just the highest bit if either type has 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the conversion saturates, and the result is clamped")]
fn integer(value: f64, mode: u64, ty: u64, from: u64) -> u64 {
    const F64: u64 = 3;
    if value.is_nan() {
        let bits = 8_u32.wrapping_shl(u32::try_from(ty & 3).unwrap_or(0));
        let highest = 1_u64.wrapping_shl(bits.wrapping_sub(1));
        return match (bits == 64 || from == F64, ty > 3) {
            (false, _) => 0,
            (true, false) => highest,
            // The minimum of the type.
            (true, true) => highest.wrapping_neg(),
        };
    }
    let (low, high) = range(ty);
    let exact = rounded(value, mode) as i128;
    exact.clamp(low, high) as u64
}

#[expect(clippy::cast_possible_truncation, reason = "a 64-bit value")]
fn clamped(value: u64, has_sign: bool, ty: u64) -> u64 {
    let (low, high) = range(ty);
    let exact = if has_sign { i128::from(value.cast_signed()) } else { i128::from(value) };
    exact.clamp(low, high) as u64
}

fn from_integer<F: Float>(value: u64, has_sign: bool, rounding: Round) -> F {
    if has_sign {
        F::from_i128_r(i128::from(value.cast_signed()), rounding).value
    } else {
        F::from_u128_r(u128::from(value), rounding).value
    }
}

/// Selects four bytes of eight; bit 3 of a nibble replicates the byte's sign.
fn picked(a: u32, b: u32, selector: u32) -> u32 {
    let both = u64::from(b).wrapping_shl(32) | u64::from(a);
    let byte = |index: u32| {
        let nibble = selector.wrapping_shr(index.wrapping_mul(4));
        let value = both.wrapping_shr((nibble & 7).wrapping_mul(8)).to_le_bytes()[0];
        let copied = if value & 0x80 != 0 { 0xff } else { 0 };
        if nibble & 8 != 0 { copied } else { value }
    };
    u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
}

/// Returns the selector of a PRMT mode: four bytes forward or backward, one byte or half replicated, clamped edges.
fn selector(value: u32, mode: u64) -> u32 {
    let by = value & 3;
    let table: [u32; 4] = match mode {
        1 => [0x3210, 0x4321, 0x5432, 0x6543],
        2 => [0x5670, 0x6701, 0x7012, 0x0123],
        3 => [0x0000, 0x1111, 0x2222, 0x3333],
        4 => [0x3210, 0x3211, 0x3222, 0x3333],
        5 => [0x0000, 0x1110, 0x2210, 0x3210],
        6 => [0x1010, 0x3232, 0x1010, 0x3232],
        _ => return value & 0x7777,
    };
    table.get(usize::try_from(by).unwrap_or(0)).copied().unwrap_or(0)
}
