//! Floating-point arithmetic. Source: *PTX ISA*, "Floating Point Instructions", which names IEEE 754 for all that is not
//! approximate, and gives the errors of what is.

use super::super::exact::{DOUBLE, Format, Rounding, SINGLE, convert};
use super::{Call, Tolerance};

/// Returns the rounding mode among the modifiers; to nearest if there is none.
pub(super) fn rounding(call: &Call<'_>) -> Rounding {
    let found = call.words.iter().find_map(|word| match *word {
        "rz" | "rzi" => Some(Rounding::Zero),
        "rm" | "rmi" => Some(Rounding::Down),
        "rp" | "rpi" => Some(Rounding::Up),
        _ => None,
    });
    found.unwrap_or(Rounding::Nearest)
}

/// Clamps to 0..1; a NaN becomes +0.
pub(super) fn saturated(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) || format.is_negative(bits) { 0 } else { bits.min(format.one()) }
}

/// Returns the result of an instruction on floating-point numbers; `None` if it is not one of them.
pub(super) fn call(call: &Call<'_>, tolerance: &mut Tolerance) -> Option<u64> {
    let format = match call.ty()? {
        ty if ty.kind != 'f' => return None,
        ty if ty.width == 32 => SINGLE,
        _ => DOUBLE,
    };
    let flush = |bits: u64| if call.has("ftz") && format == SINGLE { format.flushed(bits) } else { bits };
    let (a, b, c) = (flush(call.at(0)), flush(call.at(1)), flush(call.at(2)));
    let mode = rounding(call);
    if call.has("approx") {
        return approximate(call, format, a, b, tolerance).map(flush);
    }
    let result = match call.name {
        "add" => format.add(a, b, mode),
        "sub" => format.add(a, b ^ format.sign(), mode),
        "mul" => format.multiply(a, b, mode),
        "fma" | "mad" => format.multiply_add(a, b, c, mode),
        "min" => least(format, a, b, false),
        "max" => least(format, a, b, true),
        "neg" => a ^ format.sign(),
        "abs" => a & !format.sign(),
        _ => return None,
    };
    let result = flush(result);
    Some(if call.has("sat") { saturated(format, result) } else { result })
}

/// The minimum or maximum: a number wins over a NaN, and +0 is greater than -0.
fn least(format: Format, a: u64, b: u64, greatest: bool) -> u64 {
    match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => return format.nan(),
        (true, false) => return b,
        (false, true) => return a,
        (false, false) => {}
    }
    // Negative numbers in reverse.
    let key = |bits: u64| if format.is_negative(bits) { !bits } else { bits | format.sign() } & (format.sign() << 1).wrapping_sub(1);
    if (key(a) < key(b)) != greatest { a } else { b }
}

/// Functions that the chip approximates, with the errors that the document gives.
fn approximate(call: &Call<'_>, format: Format, a: u64, b: u64, tolerance: &mut Tolerance) -> Option<u64> {
    if format == DOUBLE {
        // Only the upper words of argument and result count; 2^-20 is the resolution of an upper word.
        let x = f64::from_bits(a & !0xffff_ffff);
        let x = if DOUBLE.flushed(x.to_bits()) == x.to_bits() {
            x
        } else {
            f64::from_bits(DOUBLE.flushed(x.to_bits()))
        };
        let value = match call.name {
            "rcp" => 1.0 / x,
            "rsqrt" => 1.0 / x.sqrt(),
            _ => return None,
        };
        *tolerance = Tolerance::Double((-19.0_f64).exp2());
        return Some(DOUBLE.flushed(value.to_bits()));
    }
    // Subnormal arguments count as zeros only with .ftz; without, they are scaled.
    let x = SINGLE.to_f64(a);
    let relative = |bits: f64| Tolerance::Single { relative: (-bits).exp2(), absolute: (-149.0_f64).exp2() };
    let (value, allowed) = match call.name {
        "rcp" => (1.0 / x, relative(23.0)),
        "sqrt" => (x.sqrt(), relative(22.0)),
        "rsqrt" => (1.0 / x.sqrt(), relative(22.4)),
        "ex2" => (x.exp2(), relative(21.0)),
        "lg2" => (x.log2(), Tolerance::Single { relative: (-22.0_f64).exp2(), absolute: (-22.0_f64).exp2() }),
        // Outside of a few periods there is no bound.
        "sin" | "cos" if x.is_finite() && x.abs() > 32.0 => (0.0, Tolerance::Any),
        "sin" => (x.sin(), Tolerance::Single { relative: 0.0, absolute: (-20.5_f64).exp2() }),
        "cos" => (x.cos(), Tolerance::Single { relative: 0.0, absolute: (-20.9_f64).exp2() }),
        "div" => return quotient(a, b, tolerance),
        _ => return None,
    };
    *tolerance = allowed;
    Some(convert(DOUBLE, SINGLE, value.to_bits(), Rounding::Nearest))
}

/// `div.approx` is a product with the approximate reciprocal; for divisors from 2^126 on the result is 0 or a NaN.
fn quotient(a: u64, b: u64, tolerance: &mut Tolerance) -> Option<u64> {
    let (x, y) = (SINGLE.to_f64(a), SINGLE.to_f64(b));
    *tolerance = Tolerance::Single { relative: (-22.0_f64).exp2(), absolute: (-126.0_f64).exp2() };
    if y.abs() >= 126.0_f64.exp2() && y.is_finite() {
        *tolerance = Tolerance::Any;
    }
    Some(convert(DOUBLE, SINGLE, (x / y).to_bits(), Rounding::Nearest))
}
