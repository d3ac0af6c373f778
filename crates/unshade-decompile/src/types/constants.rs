//! Constants that look like floats.
//!
//! Machine code moves constants without a type: `1.0f` is 0x3f800000. Where only constants are stored in memory, or merged in
//! a variable, nothing else says that they are floats. People write floats with few decimal digits and of usual size, and
//! few integers are such floats, so a number that is one is taken for a float. Zeros say nothing.

use crate::ir::ty::Type;
use crate::ir::{Function, Op, ValueId};

/// The most significant digits that the shortest decimal form of a 32-bit float may have.
const MAX_DIGITS: usize = 5;

/// The usual size of a float, as a power of two: 10<sup>-6</sup> to 10<sup>6</sup>.
const MAX_EXPONENT: i32 = 20;

/// What a constant says about the type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Nothing: it is zero, or no constant.
    None,
    /// It looks like a float.
    Float,
    /// It looks like an integer.
    Integer,
}

impl Evidence {
    /// Returns what two say together: an integer can't be a float.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, all) | (all, Self::None) => all,
            (Self::Float, Self::Float) => Self::Float,
            _ => Self::Integer,
        }
    }
}

/// Returns what a value says, if it is a constant.
pub(crate) fn evidence(function: &Function, id: ValueId) -> Evidence {
    let Op::Constant(bits) = function.op(id) else { return Evidence::None };
    let looks = match function.width(id) {
        32 => is_float(bits as u32),
        64 => is_double(bits),
        _ => false,
    };
    match bits {
        0 => Evidence::None,
        _ if looks => Evidence::Float,
        _ => Evidence::Integer,
    }
}

/// Returns the type that a constant looks like, if it looks like a float; [`Type::Void`] for none.
pub(crate) fn hint(function: &Function, id: ValueId) -> Type {
    match evidence(function, id) {
        Evidence::Float => Type::Float(function.width(id)),
        _ => Type::Void,
    }
}

/// Returns whether 32 bits look like a float.
fn is_float(bits: u32) -> bool {
    is_usual((bits >> 23 & 0xff) as i32 - 127) && digits(&format!("{:e}", f32::from_bits(bits))) <= MAX_DIGITS
}

/// Returns whether 64 bits look like a double, rather than like two floats.
fn is_double(bits: u64) -> bool {
    let (high, low) = ((bits >> 32) as u32, bits as u32);
    let are_floats = is_float(high) && (low == 0 || is_float(low));
    let count = |half: u32| digits(&format!("{:e}", f32::from_bits(half)));
    is_usual((bits >> 52 & 0x7ff) as i32 - 1023)
        && !(are_floats && count(high) + count(low) < digits(&format!("{:e}", f64::from_bits(bits))))
}

fn is_usual(exponent: i32) -> bool {
    exponent.abs() <= MAX_EXPONENT
}

/// Returns the number of significant digits of a decimal number, such as `1.25e-1`.
fn digits(text: &str) -> usize {
    let digits = text.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit);
    if text.starts_with("0e") { 0 } else { digits.count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_short_floats() {
        for float in [1.0, -0.5, 0.1, 2.75, 255.0, 1e-5, 65536.0, 0.0625] {
            assert!(is_float(f32::to_bits(float)), "{float}");
        }
        // A mask, the largest integer, a hash, text, a color, 1,000,000,000, and what fills memory as an unreachable distance.
        for bits in [0xff, i32::MAX as u32, 0x9e37_79b9, 0x2020_2020, 0xff00_00ff, 1_000_000_000, 0x3f3f_3f3f]
        {
            assert!(!is_float(bits), "{bits:#x}");
        }
    }

    #[test]
    fn two_floats_are_no_double() {
        for double in [1.0, 1.0 / 3.0, -2.5, 1e-3, 111.111_111_111] {
            assert!(is_double(f64::to_bits(double)), "{double}");
        }
        let pair = |x: f32, y: f32| u64::from(y.to_bits()) << 32 | u64::from(x.to_bits());
        for bits in [pair(1.0, 1.0), pair(0.0, 1.0), pair(2.5, 0.1), 0xcbf2_9ce4_8422_2325, 7] {
            assert!(!is_double(bits), "{bits:#x}");
        }
    }
}
