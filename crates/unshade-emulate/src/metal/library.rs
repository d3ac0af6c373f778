//! Functions of Metal's library that work lane by lane.
//!
//! Those of floats are computed as functions of floats of the host and rounded to their kind. Functions that Metal's
//! specification leaves a margin for have the host's precision. `a * b + c` that may be fused is not.

use super::kind::Kind;
use super::number::Undefined;
use unshade_ir::fold::{masked, signed};
use unshade_ir::metal::{Class, MetalOp};

/// The most inputs of a function.
pub(super) const MAX_INPUTS: usize = 4;

/// How a function is computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Formula {
    /// Of one float.
    One(Single),
    /// Of two floats.
    Two(Double),
    /// Of three floats.
    Three(Triple),
    /// Of integers.
    Integers(Whole),
    /// Of floats, in the type itself.
    Own(Own),
    /// Of a float and an integer.
    Scaled,
    /// From a float to an integer.
    Exponent,
}

/// Integers of one type.
pub(super) struct Integers {
    width: u8,
    is_signed: bool,
    inputs: [u64; MAX_INPUTS],
}

impl Integers {
    /// Returns an input as a number.
    fn wide(&self, index: usize) -> i128 {
        let bits = self.inputs[index];
        if self.is_signed { i128::from(signed(bits, self.width)) } else { i128::from(bits) }
    }

    /// Returns the nearest number of the type.
    fn saturated(&self, number: i128) -> u64 {
        let width = u32::from(self.width);
        let (low, high) = match self.is_signed {
            true => (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1),
            false => (0, (1_i128 << width) - 1),
        };
        number.clamp(low, high) as u64
    }

    fn bits(&self) -> u32 {
        u32::from(self.width)
    }

    /// Returns a count modulo the width.
    fn count(&self, index: usize) -> u32 {
        (self.inputs[index] % u64::from(self.width.max(1))) as u32
    }
}

/// Rows of functions with the stems of their names.
type Table<F, const N: usize> = [(&'static str, F); N];

type Single = fn(f32) -> f32;
type Double = fn(f32, f32) -> f32;
type Triple = fn(f32, f32, f32) -> f32;
type Own = fn(Kind, [u64; MAX_INPUTS]) -> u64;
type Whole = fn(&Integers) -> u64;

/// Functions of one float.
#[rustfmt::skip]
const ONE: Table<Single, 33> = [
    ("acos", f32::acos), ("acosh", |x| f64::from(x).acosh() as f32),
    ("asin", f32::asin), ("asinh", |x| f64::from(x).asinh() as f32),
    ("atan", f32::atan), ("atanh", |x| f64::from(x).atanh() as f32),
    ("ceil", f32::ceil), ("cos", f32::cos), ("cosh", f32::cosh),
    ("cospi", |x| (f64::from(x % 2.0) * std::f64::consts::PI).cos() as f32),
    ("exp", f32::exp), ("exp10", |x| 10_f64.powf(f64::from(x)) as f32), ("exp2", f32::exp2),
    ("floor", f32::floor), ("fract", fraction),
    ("log", f32::ln), ("log10", f32::log10), ("log2", f32::log2),
    ("rint", f32::round_ties_even), ("round", f32::round), ("rsqrt", |x| 1.0 / x.sqrt()),
    ("saturate", |x| least(largest(x, 0.0), 1.0)), ("sign", sign),
    ("sin", f32::sin), ("sinh", f32::sinh),
    ("sinpi", |x| (f64::from(x % 2.0) * std::f64::consts::PI).sin() as f32),
    ("sqrt", f32::sqrt), ("tan", f32::tan), ("tanh", f32::tanh),
    ("tanpi", |x| (f64::from(x % 1.0) * std::f64::consts::PI).tan() as f32),
    ("trunc", f32::trunc),
    ("expm1", f32::exp_m1), ("log1p", f32::ln_1p),
];

/// Functions of two floats.
#[rustfmt::skip]
const TWO: Table<Double, 10> = [
    ("atan2", f32::atan2),
    ("fdim", |x, y| if x.is_nan() || y.is_nan() { f32::NAN } else if x > y { x - y } else { 0.0 }),
    ("fmax", largest), ("fmin", least), ("fmod", |x, y| x % y),
    ("max", largest), ("min", least),
    ("pow", f32::powf), ("powr", f32::powf), ("step", |edge, x| if x < edge { 0.0 } else { 1.0 }),
];

/// Functions of three floats.
#[rustfmt::skip]
const THREE: Table<Triple, 6> = [
    ("clamp", |x, low, high| least(largest(x, low), high)),
    ("fma", f32::mul_add),
    ("fmax3", |a, b, c| largest(largest(a, b), c)),
    ("fmedian3", |a, b, c| largest(least(a, b), least(largest(a, b), c))),
    ("fmin3", |a, b, c| least(least(a, b), c)),
    ("median3", |a, b, c| largest(least(a, b), least(largest(a, b), c))),
];

/// Functions of floats of which each step is rounded, or that change bits.
#[rustfmt::skip]
const OWN: Table<Own, 7> = [
    // With a class, this is of integers.
    ("abs", |kind, [a, ..]| a & !sign_bit(kind)),
    ("copysign", |kind, [a, b, ..]| a & !sign_bit(kind) | b & sign_bit(kind)),
    ("fabs", |kind, [a, ..]| a & !sign_bit(kind)),
    ("fmuladd", |kind, [a, b, c, _]| sum(kind, product(kind, a, b), c)),
    ("mix", |kind, [a, b, t, _]| sum(kind, a, product(kind, difference(kind, b, a), t))),
    ("nextafter", |kind, [a, b, ..]| next_after(kind, a, b)),
    ("smoothstep", smooth_step),
];

/// Functions of integers.
#[rustfmt::skip]
const INTEGERS: Table<Whole, 32> = [
    ("abs", |i| i.wide(0).unsigned_abs() as u64),
    ("abs_diff", |i| i.wide(0).abs_diff(i.wide(1)) as u64),
    ("add_sat", |i| i.saturated(i.wide(0) + i.wide(1))),
    ("sub_sat", |i| i.saturated(i.wide(0) - i.wide(1))),
    ("clamp", |i| i.wide(0).max(i.wide(1)).min(i.wide(2)) as u64),
    ("clz", |i| u64::from(i.inputs[0].leading_zeros() + i.bits() - 64)),
    ("ctz", |i| u64::from(i.inputs[0].trailing_zeros().min(i.bits()))),
    ("hadd", |i| ((i.wide(0) + i.wide(1)) >> 1) as u64),
    ("rhadd", |i| ((i.wide(0) + i.wide(1) + 1) >> 1) as u64),
    ("mad_hi", |i| high(i).wrapping_add(i.inputs[2])),
    ("mad_sat", |i| i.saturated(i.wide(0).saturating_mul(i.wide(1)).saturating_add(i.wide(2)))),
    ("mad24", |i| low_product(i).wrapping_add(i.inputs[2])),
    ("mul24", low_product),
    ("mul_hi", high),
    ("max", |i| i.wide(0).max(i.wide(1)) as u64),
    ("max3", |i| i.wide(0).max(i.wide(1)).max(i.wide(2)) as u64),
    ("median3", |i| i.wide(0).min(i.wide(1)).max(i.wide(0).max(i.wide(1)).min(i.wide(2))) as u64),
    ("min", |i| i.wide(0).min(i.wide(1)) as u64),
    ("min3", |i| i.wide(0).min(i.wide(1)).min(i.wide(2)) as u64),
    ("popcount", |i| u64::from(i.inputs[0].count_ones())),
    ("reverse_bits", |i| i.inputs[0].reverse_bits() >> (64 - i.bits())),
    ("rotate", |i| funnel(i.inputs[0], i.inputs[0], i.count(1), i.bits())),
    ("extract_bits", extract),
    ("insert_bits", insert),
    ("funnel_left", |i| funnel(i.inputs[0], i.inputs[1], i.count(2), i.bits())),
    ("funnel_right", |i| match i.count(2) {
        0 => i.inputs[1],
        count => funnel(i.inputs[0], i.inputs[1], i.bits() - count, i.bits()),
    }),
    // Of votes of a simdgroup.
    ("simd_vote_all", |i| u64::from(i.inputs[0] & 0xffff_ffff == 0xffff_ffff)),
    ("simd_vote_any", |i| u64::from(i.inputs[0] != 0)),
    // Conjunctions and disjunctions that reductions are made of.
    ("simd_and", |i| i.inputs[0] & i.inputs[1]),
    ("simd_or", |i| i.inputs[0] | i.inputs[1]),
    ("simd_xor", |i| i.inputs[0] ^ i.inputs[1]),
    ("normalize_function_constant_predicate", |i| u64::from(i.inputs[0] != 0)),
];

/// Returns how a function is computed from inputs of a kind; `None` if it does not work lane by lane.
pub(super) fn formula(op: MetalOp, kind: Kind) -> Option<Formula> {
    let stem = op.row().stem;
    if !kind.is_float() {
        return INTEGERS.iter().find(|row| row.0 == stem).map(|row| Formula::Integers(row.1));
    }
    let one = ONE.iter().find(|row| row.0 == stem).map(|row| Formula::One(row.1));
    let two = TWO.iter().find(|row| row.0 == stem).map(|row| Formula::Two(row.1));
    let three = THREE.iter().find(|row| row.0 == stem).map(|row| Formula::Three(row.1));
    let own = OWN.iter().find(|row| row.0 == stem).map(|row| Formula::Own(row.1));
    one.or(two).or(three).or(own).or(match stem {
        "ldexp" => Some(Formula::Scaled),
        "ilogb" => Some(Formula::Exponent),
        _ => None,
    })
}

/// Returns the result of a function for one lane; `None` for numbers that it has no precision for.
pub(super) fn operate(
    formula: Formula,
    class: Class,
    inputs: [u64; MAX_INPUTS],
    kinds: [Kind; 2],
    out: Kind,
    undefined: &mut Undefined,
) -> Option<u64> {
    let [kind, second] = kinds;
    if kind == Kind::Double {
        return None;
    }
    let [x, y, z] = [0, 1, 2].map(|index| kind.decode_single(inputs[index]));
    let number = match formula {
        Formula::One(function) => function(x),
        Formula::Two(function) => function(x, y),
        Formula::Three(function) => function(x, y, z),
        Formula::Scaled => scaled(x, signed(inputs[1], second.width())),
        _ => 0.0,
    };
    let used = match formula {
        Formula::Two(_) => 2,
        Formula::Three(_) | Formula::Own(_) => 3,
        _ => 1,
    };
    if matches!(formula, Formula::Two(_) | Formula::Three(_) | Formula::Own(_)) {
        undefined.count_nans(kind, &inputs[..used]);
    }
    Some(match formula {
        Formula::Own(function) => function(kind, inputs),
        Formula::Integers(function) => {
            let integers = Integers { width: kind.width(), is_signed: class == Class::Signed, inputs };
            masked(function(&integers), out.width())
        }
        Formula::Exponent => masked(exponent(x).cast_unsigned(), out.width()),
        _ if number.is_nan() => out.nan(kind, &inputs[..used]),
        _ => out.encode_single(number),
    })
}

/// Returns the smaller number; the other one if one is none. Of zeros, the negative one is smaller.
pub(super) fn least(a: f32, b: f32) -> f32 {
    let takes_first = b.is_nan() || a < b || a == b && a.is_sign_negative();
    if takes_first && !a.is_nan() { a } else { b }
}

/// Returns the larger number; the other one if one is none.
pub(super) fn largest(a: f32, b: f32) -> f32 {
    -least(-a, -b)
}

fn fraction(x: f32) -> f32 {
    // The largest number below 1.
    least(x - x.floor(), 1.0 - f32::EPSILON / 2.0)
}

fn sign(x: f32) -> f32 {
    match () {
        () if x > 0.0 => 1.0,
        () if x < 0.0 => -1.0,
        () if x == 0.0 => x,
        () => 0.0,
    }
}

fn sign_bit(kind: Kind) -> u64 {
    1 << (kind.width() - 1)
}

/// Returns the rounded result of an operator.
fn rounded(kind: Kind, inputs: [u64; 2], operator: fn(f32, f32) -> f32) -> u64 {
    let [a, b] = inputs.map(|bits| kind.decode_single(bits));
    let result = operator(a, b);
    if result.is_nan() { kind.nan(kind, &inputs) } else { kind.encode_single(result) }
}

pub(super) fn sum(kind: Kind, a: u64, b: u64) -> u64 {
    rounded(kind, [a, b], |a, b| a + b)
}

fn difference(kind: Kind, a: u64, b: u64) -> u64 {
    rounded(kind, [a, b], |a, b| a - b)
}

pub(super) fn product(kind: Kind, a: u64, b: u64) -> u64 {
    rounded(kind, [a, b], |a, b| a * b)
}

fn smooth_step(kind: Kind, [low, high, x, _]: [u64; MAX_INPUTS]) -> u64 {
    let quotient =
        kind.decode_single(difference(kind, x, low)) / kind.decode_single(difference(kind, high, low));
    let t = kind.encode_single(least(largest(kind.decode_single(kind.encode_single(quotient)), 0.0), 1.0));
    let number = |number: f32| kind.encode_single(number);
    let factor = difference(kind, number(3.0), product(kind, number(2.0), t));
    product(kind, product(kind, t, t), factor)
}

/// Returns the number after one on the way to another.
fn next_after(kind: Kind, from: u64, to: u64) -> u64 {
    let (x, y) = (kind.decode(from), kind.decode(to));
    match () {
        () if x.is_nan() || y.is_nan() => kind.encode(f64::NAN),
        () if x == y => to,
        () if x == 0.0 => to & sign_bit(kind) | 1,
        () if (x < y) == (x > 0.0) => from + 1,
        () => from - 1,
    }
}

/// Returns the product with a power of two, rounded once.
pub(super) fn scaled(x: f32, power: i64) -> f32 {
    // Beyond that, every float is zero or infinite.
    let power = power.clamp(-400, 400) as i32;
    (f64::from(x) * 2_f64.powi(power)) as f32
}

/// Returns the exponent of a number.
fn exponent(x: f32) -> i64 {
    match () {
        () if x == 0.0 => i64::from(i32::MIN),
        () if x.is_nan() => i64::from(i32::MIN),
        () if x.is_infinite() => i64::from(i32::MAX),
        // Each float is a normal number as a double.
        () => (f64::from(x).to_bits() >> 52 & 0x7ff) as i64 - 1023,
    }
}

/// Splits a number into one from 0.5 to 1 and a power of two.
pub(super) fn split(x: f32) -> (f32, i64) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let power = exponent(x) + 1;
    (scaled_wide(x, -power), power)
}

/// Returns the product with a power of two that is exact.
fn scaled_wide(x: f32, power: i64) -> f32 {
    (f64::from(x) * 2_f64.powi(power as i32)) as f32
}

/// Returns the upper half of a product.
fn high(i: &Integers) -> u64 {
    match i.is_signed {
        true => ((i.wide(0) * i.wide(1)) >> i.bits()) as u64,
        false => ((u128::from(i.inputs[0]) * u128::from(i.inputs[1])) >> i.bits()) as u64,
    }
}

fn low_product(i: &Integers) -> u64 {
    let low = |index: usize| match i.is_signed {
        true => signed(masked(i.inputs[index], 24), 24).cast_unsigned(),
        false => masked(i.inputs[index], 24),
    };
    low(0).wrapping_mul(low(1))
}

/// Returns the upper word of two that are shifted to the left.
fn funnel(upper: u64, lower: u64, count: u32, bits: u32) -> u64 {
    if count == 0 { upper } else { upper << count | lower >> (bits - count) }
}

fn extract(i: &Integers) -> u64 {
    let (offset, count) = (i.inputs[1].min(64) as u32, i.inputs[2].min(64) as u8);
    let field = masked(i.inputs[0].checked_shr(offset).unwrap_or(0), count);
    if count == 0 || !i.is_signed { field } else { signed(field, count).cast_unsigned() }
}

fn insert(i: &Integers) -> u64 {
    let (offset, count) = (i.inputs[2].min(64) as u32, i.inputs[3].min(64) as u8);
    let mask = masked(u64::MAX, count).checked_shl(offset).unwrap_or(0);
    let field = i.inputs[1].checked_shl(offset).unwrap_or(0);
    i.inputs[0] & !mask | field & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, inputs: &[u64], kind: Kind) -> Option<u64> {
        let op = MetalOp::by_name(name)?;
        let mut all = [0; MAX_INPUTS];
        all[..inputs.len()].copy_from_slice(inputs);
        let mut undefined = Undefined::default();
        operate(formula(op, kind)?, op.class, all, [kind, Kind::Integer(32)], kind, &mut undefined)
    }

    fn float(name: &str, inputs: &[f32]) -> f32 {
        let bits: Vec<u64> = inputs.iter().map(|number| u64::from(number.to_bits())).collect();
        f32::from_bits(run(name, &bits, Kind::Float).unwrap() as u32)
    }

    #[test]
    fn every_function_of_numbers_has_a_row() {
        let stems = unshade_ir::metal::operation::ROWS.iter().map(|row| row.stem);
        for (stem, ..) in ONE.iter().map(|row| (row.0, ())).chain(TWO.iter().map(|row| (row.0, ()))) {
            let is_known = stems.clone().any(|known| known == stem);
            assert!(is_known || ["expm1", "log1p"].contains(&stem), "{stem}");
        }
    }

    #[test]
    fn extremes_are_numbers() {
        assert_eq!(float("fmin.f32", &[f32::NAN, 2.0]), 2.0);
        assert_eq!(float("fmax.f32", &[2.0, f32::NAN]), 2.0);
        assert_eq!(float("fast_clamp.f32", &[3.0, 0.0, 1.0]), 1.0);
        assert_eq!(float("fmedian3.f32", &[3.0, 1.0, 2.0]), 2.0);
        assert!(float("fract.f32", &[-1e-10]) < 1.0);
    }

    #[test]
    fn parts_of_numbers() {
        assert_eq!(split(-3.0), (-0.75, 2));
        assert_eq!(split(f32::from_bits(1)), (0.5, -148));
        assert_eq!(scaled(1.5, 3), 12.0);
        assert_eq!(scaled(1.0, -149), f32::from_bits(1));
        assert_eq!(exponent(f32::from_bits(1)), -149);
        assert_eq!(run("nextafter.f16", &[0x3c00, 0], Kind::Half), Some(0x3bff));
        assert_eq!(run("nextafter.f16", &[0, 0x8001], Kind::Half), Some(0x8001));
    }

    #[test]
    fn integers_have_signs_by_class() {
        let word = Kind::Integer(32);
        let byte = Kind::Integer(8);
        assert_eq!(run("min.s.i8", &[0x80, 1], byte), Some(0x80));
        assert_eq!(run("min.u.i8", &[0x80, 1], byte), Some(1));
        assert_eq!(run("mul_hi.s.i32", &[0xffff_ffff, 2], word), Some(0xffff_ffff));
        assert_eq!(run("mul_hi.u.i32", &[0xffff_ffff, 2], word), Some(1));
        assert_eq!(run("add_sat.s.i8", &[0x7f, 1], byte), Some(0x7f));
        let most = [u64::MAX; 3];
        assert_eq!(run("mad_sat.u.i64", &most, Kind::Integer(64)), Some(u64::MAX));
        assert_eq!(run("mad_sat.s.i64", &most, Kind::Integer(64)), Some(0));
        assert_eq!(run("clz.i8", &[1], byte), Some(7));
        assert_eq!(run("ctz.i8", &[0], byte), Some(8));
        assert_eq!(run("rotate.i8", &[0x81, 1], byte), Some(3));
        assert_eq!(run("reverse_bits.i8", &[1], byte), Some(0x80));
        assert_eq!(run("extract_bits.s.i32", &[0xf0, 4, 4], word), Some(0xffff_ffff));
        assert_eq!(run("insert_bits.u.i32", &[0xff, 0, 4, 4], word), Some(0x0f));
        assert_eq!(run("mul24.s.i32", &[0xff_ffff, 3], word), Some(0xffff_fffd));
        assert_eq!(run("funnel_right.u.i8", &[1, 0, 1], byte), Some(0x80));
    }

    #[test]
    fn halves_round_once() {
        let half = |number: f64| Kind::Half.encode(number);
        assert_eq!(run("fma.f16", &[half(1.0), half(2048.0), half(1.0)], Kind::Half), Some(half(2048.0)));
        assert_eq!(run("sqrt.f16", &[half(4.0)], Kind::Half), Some(half(2.0)));
        assert_eq!(run("exp.f64", &[0], Kind::Double), None);
    }
}
