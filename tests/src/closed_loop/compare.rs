//! The comparison of results: integers and bytes must be equal, floats must be equal or within the number of units in
//! the last place that the case allows. All NaNs are equal.

use super::cases::{Case, Parameter, Results, Scalar};

/// Describes the first difference.
pub fn difference(case: &Case, expected: &Results, found: &Results) -> Option<String> {
    let buffers = case.parameters.iter().enumerate().filter(|(_, parameter)| parameter.count.is_some());
    for ((index, parameter), (expected, found)) in buffers.zip(expected.buffers.iter().zip(&found.buffers)) {
        if let Some(text) = buffer_difference(parameter, expected, found) {
            return Some(format!("parameter {index}{text}"));
        }
    }
    for ((name, variable), (expected, found)) in
        case.variables.iter().zip(expected.variables.iter().zip(&found.variables))
    {
        if let Some(text) = buffer_difference(variable, expected, found) {
            return Some(format!("variable {name}{text}"));
        }
    }
    (expected.printed != found.printed).then(|| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("printed {:?}, expected {:?}", text(&found.printed), text(&expected.printed))
    })
}

fn buffer_difference(parameter: &Parameter, expected: &[u8], found: &[u8]) -> Option<String> {
    let mut at = 0;
    for (index, member) in (0..).zip(parameter.members.iter().cycle()) {
        let size = member.size();
        let (Some(left), Some(right)) = (expected.get(at..at + size), found.get(at..at + size)) else {
            break;
        };
        at += size;
        let units = allowed(parameter, index / parameter.members.len());
        if left != right && !is_near(*member, left, right, units) {
            return Some(format!("[{index}]: {}, expected {}", text(*member, right), text(*member, left)));
        }
    }
    (expected.len() != found.len()).then(|| format!(": {} bytes, expected {}", found.len(), expected.len()))
}

/// The tolerance of unpredictable values, such as a clock.
pub const ANY: u64 = u64::MAX;

fn allowed(parameter: &Parameter, element: usize) -> u64 {
    let applies = parameter.tolerances.iter().filter(|tolerance| {
        tolerance.elements.is_none_or(|(remainder, modulus)| element % modulus.max(1) == remainder)
    });
    applies.map(|tolerance| tolerance.units).max().unwrap_or(0)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn is_near(scalar: Scalar, left: &[u8], right: &[u8], units: u64) -> bool {
    let (left, right) = (number(left), number(right));
    match scalar {
        _ if units == ANY => true,
        Scalar::Integer(..) => false,
        Scalar::Single => {
            let (a, b) = (f32::from_bits(left as u32), f32::from_bits(right as u32));
            a.is_nan() && b.is_nan()
                || units > 0 && ordered(left << 32).abs_diff(ordered(right << 32)) >> 32 <= units
        }
        Scalar::Double => {
            let (a, b) = (f64::from_bits(left), f64::from_bits(right));
            a.is_nan() && b.is_nan() || units > 0 && ordered(left).abs_diff(ordered(right)) <= units
        }
    }
}

/// Maps the bits of a float to an integer with the same order.
fn ordered(bits: u64) -> i64 {
    let signed = bits.cast_signed();
    if signed < 0 { i64::MIN.wrapping_sub(signed) } else { signed }
}

fn text(scalar: Scalar, bytes: &[u8]) -> String {
    let value = number(bytes);
    match scalar {
        Scalar::Integer(..) => format!("{value:#x}"),
        Scalar::Single => format!("{:e} ({value:#010x})", f32::from_bits(value as u32)),
        Scalar::Double => format!("{:e} ({value:#018x})", f64::from_bits(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_the_last_place() {
        let near = |a: f32, b: f32, units| is_near(Scalar::Single, &a.to_le_bytes(), &b.to_le_bytes(), units);
        assert!(near(1.0, 1.0 + f32::EPSILON, 1));
        assert!(!near(1.0, 1.0 + 2.0 * f32::EPSILON, 1));
        assert!(near(f32::NAN, -f32::NAN, 0));
        assert!(near(0.0, -0.0, 1));
        assert!(!near(1.0, -1.0, 1 << 20));
    }
}
