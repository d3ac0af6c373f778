//! Conversions. Source: *PTX ISA*, `cvt`.

use super::super::exact::{DOUBLE, Exact, Format, HALF, SINGLE, convert, to_integer};
use super::float::{rounding, saturated};
use super::{Call, Type};

/// Returns the result of `cvt`; `None` for other instructions.
pub(super) fn call(call: &Call<'_>) -> Option<u64> {
    let (&[to, from], "cvt") = (call.types().as_slice(), call.name) else { return None };
    let source = call.at(0) & from.mask();
    Some(match (from.kind == 'f', to.kind == 'f') {
        (false, false) => between_integers(call, to, from, source),
        (false, true) => {
            let value = from.value(source);
            let format = format(to);
            let exact = Exact::new(value < 0, value.unsigned_abs(), 0);
            if value == 0 { 0 } else { finished(call, format, exact.rounded(format, rounding(call))) }
        }
        (true, false) => to_int(call, to, format(from), flushed(call, format(from), source)),
        (true, true) => between_floats(call, format(to), format(from), source),
    })
}

fn format(ty: Type) -> Format {
    match ty.width {
        16 => HALF,
        32 => SINGLE,
        _ => DOUBLE,
    }
}

/// `.ftz` flushes singles, whether argument or result.
fn flushed(call: &Call<'_>, format: Format, bits: u64) -> u64 {
    if call.has("ftz") && format == SINGLE { format.flushed(bits) } else { bits }
}

fn finished(call: &Call<'_>, format: Format, bits: u64) -> u64 {
    let bits = flushed(call, format, bits);
    if call.has("sat") { saturated(format, bits) } else { bits }
}

fn between_integers(call: &Call<'_>, to: Type, from: Type, source: u64) -> u64 {
    let value = from.value(source);
    let (low, high) = to.range();
    let value = if call.has("sat") { value.clamp(low, high) } else { value };
    // Narrow results are extended to the register by their own type.
    to.value(value as u64) as u64
}

fn to_int(call: &Call<'_>, to: Type, from: Format, source: u64) -> u64 {
    let (low, high) = to.range();
    let is_wide = from == DOUBLE || to.width == 64;
    let value = if from.is_nan(source) {
        // 0, or only the highest bit.
        if is_wide { if to.is_signed() { low } else { 1 << (to.width - 1) } } else { 0 }
    } else if from.is_infinite(source) {
        if from.is_negative(source) { low } else { high }
    } else {
        to_integer(from, source, rounding(call)).clamped(low, high)
    };
    value as u64
}

fn between_floats(call: &Call<'_>, to: Format, from: Format, source: u64) -> u64 {
    let source = flushed(call, from, source);
    let is_integral = call.words.iter().any(|word| ["rni", "rzi", "rmi", "rpi"].contains(word));
    if is_integral && !from.is_nan(source) && !from.is_infinite(source) {
        let integer = to_integer(from, source, rounding(call));
        let sign = source & from.sign();
        let bits = if integer.is_zero() { sign } else { integer.rounded(from, rounding(call)) };
        return finished(call, to, bits);
    }
    finished(call, to, convert(from, to, source, rounding(call)))
}
