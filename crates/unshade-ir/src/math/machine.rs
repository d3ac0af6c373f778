//! The machine's approximations, and the bits of its NaNs.
//!
//! Results are rounded from the exact value; a chip's last bits may differ. Subnormal inputs and results are zeros, as
//! PTX specifies for `.approx.ftz`. NaN results of floats have all bits of the fraction set; those of doubles are the
//! first NaN operand, made quiet, or 0xfff8000000000000 if no operand is one.

/// The NaN result of operations on floats.
pub const NAN: u32 = 0x7fff_ffff;

/// The NaN result of operations on doubles whose operands are no NaNs.
pub const WIDE_NAN: u64 = 0xfff8_0000_0000_0000;

/// Returns the bits of a float that an operation computed.
pub fn bits(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Returns the bits of a double that an operation computed from others.
pub fn wide_bits(value: f64, operands: &[u64]) -> u64 {
    if !value.is_nan() {
        return value.to_bits();
    }
    let first = operands.iter().find(|operand| f64::from_bits(**operand).is_nan());
    first.map_or(WIDE_NAN, |operand| operand | 1 << 51)
}

/// Returns zero with the same sign for a subnormal float.
pub fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// Returns the power of two.
pub fn exp2(value: f32) -> f32 {
    approximated(value, libm::exp2)
}

/// Returns the logarithm to the base two.
pub fn log2(value: f32) -> f32 {
    approximated(value, libm::log2)
}

/// Returns the sine.
pub fn sine(value: f32) -> f32 {
    approximated(value, libm::sin)
}

/// Returns the cosine.
pub fn cosine(value: f32) -> f32 {
    approximated(value, libm::cos)
}

/// Returns the reciprocal of the square root.
pub fn reciprocal_sqrt(value: f32) -> f32 {
    approximated(value, |value| 1.0 / value.sqrt())
}

fn approximated(value: f32, function: fn(f64) -> f64) -> f32 {
    let result = function(f64::from(flushed(value))) as f32;
    f32::from_bits(bits(flushed(result)))
}

/// Returns the upper half of the reciprocal of a double, given its upper half.
pub fn reciprocal_high(half: u64) -> u64 {
    of_high(half, |value| 1.0 / value)
}

/// Returns the upper half of the reciprocal of the square root of a double, given its upper half.
pub fn reciprocal_sqrt_high(half: u64) -> u64 {
    of_high(half, |value| 1.0 / value.sqrt())
}

fn of_high(half: u64, function: fn(f64) -> f64) -> u64 {
    let flushed = |bits: u64| if f64::from_bits(bits).is_subnormal() { bits & 1 << 63 } else { bits };
    let result = function(f64::from_bits(flushed(half << 32)));
    let result = if result.is_nan() { result.to_bits() | 1 << 51 } else { flushed(result.to_bits()) };
    result >> 32
}
