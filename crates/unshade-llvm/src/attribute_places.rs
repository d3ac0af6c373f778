//! What each attribute may be on, and the types that it fits.
//!
//! Kinds are numbered as in bitcode ([`crate::attribute_name`] gives their names).
//!
//! Knowledge: the Language Reference on parameter and function attributes; declarations with each attribute in each
//! place, given to `llvm-as` 14, 19 and 22.

/// The function itself.
pub(crate) const FUNCTION: u8 = 1;
/// Parameters.
pub(crate) const PARAMETER: u8 = 2;
/// Results.
pub(crate) const RESULT: u8 = 4;

const F: u8 = FUNCTION;
const P: u8 = PARAMETER;
const R: u8 = RESULT;

/// The types that an attribute fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fits {
    /// All types.
    Any,
    /// All types but `void`.
    Value,
    /// Pointers.
    Pointer,
    /// Pointers and vectors of them.
    Pointers,
    /// Integers.
    Integer,
    /// Integers and vectors of them.
    Integers,
    /// Floating-point numbers, and vectors and arrays of them.
    Float,
}

/// By kind, from 1 on: where it may be, and the types that it fits.
#[rustfmt::skip]
const KINDS: [(u8, Fits); 105] = {
    use Fits::{Any, Float, Integer, Integers, Pointer, Pointers, Value};
    [
        (P | R, Pointers), (F, Any), (P, Pointer), (F, Any), (P | R, Any), (F, Any), (F, Any), (P, Pointer),
        (P | R, Pointer), (F, Any), (P, Pointer), (F, Any), (F, Any), (F, Any), (F, Any), (F, Any),
        (F, Any), (F, Any), (F, Any), (F | P, Pointer), (F | P, Pointer), (P, Any), (F, Any), (P | R, Integer),
        (F | P, Any), (F, Any), (F, Any), (F, Any), (P, Pointer), (F, Any), (F, Any), (F, Any),
        (F, Any), (P | R, Integer), (F, Any), (F, Any), (F, Any), (P, Pointer), (P | R, Pointer), (F, Any),
        (P | R, Pointer), (P | R, Pointer), (F, Any), (F, Any), (F, Any), (P, Any), (P, Pointer), (F, Any),
        (F, Any), (F, Any), (F, Any), (F | P, Any), (F, Any), (F, Any), (F, Any), (F, Any),
        (F, Any), (F, Any), (F, Any), (P, Any), (F, Any), (F | P, Any), (F, Any), (F, Any),
        (F | P, Pointer), (F, Any), (F, Any), (P | R, Value), (P, Pointer), (F, Any), (F, Any), (F, Any),
        (F, Any), (F, Any), (P, Any), (F, Any), (P, Pointer), (F, Any), (F, Any), (P, Integer),
        (P, Pointer), (F, Any), (F, Any), (F, Any), (F, Any), (F, Any), (P | R, Float), (F, Any),
        (P, Pointer), (F, Any), (P, Pointer), (P | R, Integers), (F, Any), (P, Pointer), (F, Any), (F, Any),
        (F, Any), (F, Any), (P | R, Integer), (F, Any), (F, Any), (P, Pointer), (P, Pointer), (F, Any), (F, Any),
    ]
};

/// Returns where an attribute may be, as bits, and the types that it fits; `None` for a kind that is not known.
pub(crate) fn of(kind: u32) -> Option<(u8, Fits)> {
    KINDS.get((kind as usize).checked_sub(1)?).copied()
}

/// Returns where an attribute may be, as bits; a kind that is not known is on functions.
pub(crate) fn places(kind: u32) -> u8 {
    of(kind).map_or(FUNCTION, |(places, _)| places)
}
