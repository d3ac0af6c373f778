//! Formats numbers as FXC does in effects.

use super::data::{Component, Type};
use std::fmt::Write;

/// Maximum magnitude of integers that are written in decimal.
const DECIMAL: u32 = 10_000;

/// Formats the value of a variable or annotation.
pub(super) fn initializer(data_type: &Type<'_>, words: &[u32]) -> String {
    let component = data_type.component();
    // Equal numbers are written as one.
    let shown = match words {
        [first, rest @ ..] if rest.iter().all(|word| word == first) => words.get(..1).unwrap_or_default(),
        _ => words,
    };
    let list: Vec<String> = shown.iter().map(|word| number(component, *word)).collect();
    if words.len() == 1 { list.concat() } else { format!("{{ {} }}", list.join(", ")) }
}

/// Formats a number.
pub(super) fn number(component: Component, word: u32) -> String {
    match component {
        Component::Float => float(f32::from_bits(word)),
        Component::Signed if word.cast_signed().unsigned_abs() <= DECIMAL => word.cast_signed().to_string(),
        Component::Unsigned if word <= DECIMAL => word.to_string(),
        Component::Bool => String::from(if word == 0 { "false" } else { "true" }),
        Component::Signed | Component::Unsigned | Component::Word => format!("{word:#010x}"),
    }
}

/// Formats as `%.9g` in FXC's C library, whose exponents have three digits.
fn float(value: f32) -> String {
    const DIGITS: i32 = 9;
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_infinite() { "1.#INF" } else { "1.#QNAN" });
    }
    if value == 0.0 {
        return String::from(if value.is_sign_negative() { "-0" } else { "0" });
    }
    let scientific = format!("{:.8e}", f64::from(value));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..DIGITS).contains(&exponent) {
        let places = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return trimmed(&format!("{:.places$}", f64::from(value)));
    }
    let mut text = trimmed(mantissa);
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(text, "e{sign}{:03}", exponent.unsigned_abs());
    text
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_have_nine_digits() {
        for (value, text) in [
            (1.5, "1.5"),
            (-2.0, "-2"),
            (3e10, "3.0000001e+010"),
            (1e-7, "1.00000001e-007"),
            (0.25, "0.25"),
            (100_000.0, "100000"),
            (0.0, "0"),
        ] {
            assert_eq!(float(value), text);
        }
    }
}
