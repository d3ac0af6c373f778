//! Terms of the rules of algebra, and the notation of their table.
//!
//! A rule is `(operator inputs…) => result`, in prefix form. The root may be any of several operators in brackets, and so
//! may one operator inside; the result has them as `same` and `chosen`. A name stands for the same value, or equal
//! constants, wherever it occurs:
//!
//! | term | matches |
//! |---|---|
//! | `x`, `y`, `z`, `v` | any value |
//! | `c`, `d`, `e` | a constant |
//! | `s` | the start of a memory window, with 32 bits: a multiple of [`WINDOW`] |
//! | `0`, `ones`, `sign` | this constant; all bits, the highest bit of its width |
//!
//! Inputs of commutative operators match in both orders; constants are last. After the result, brackets have the [policy](Policy)
//! of the rule, and `if` conditions, joined by `and`. Conditions are computed as 64-bit numbers, where `w` is the width
//! of the root, `(Width x)` that of a value, `(Bits x)` the bits that may be set in it, and `(Ctz c)` the number of zeros
//! at the end of a number. Terms of constants in a result are computed, too, with the width that they have there.

use crate::ir::{Intrinsic, Number, Op};

/// The size of a memory window, in bytes. Windows are aligned to their size.
pub(super) const WINDOW: u64 = 1 << 24;

/// A term of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Term {
    /// Any value, by the number of its name.
    Any(u8),
    /// A constant, by the number of its name.
    Constant(u8),
    /// The start of a memory window.
    Window,
    /// This number.
    Number(u64),
    /// All bits.
    Ones,
    /// The highest bit.
    Sign,
    /// An operator with inputs.
    Op(Op, &'static [Term]),
    /// One of several operators.
    OneOf(&'static [Op], &'static [Term]),
    /// The operator of the root.
    Same(&'static [Term]),
    /// The operator that was found for [`Self::OneOf`].
    Chosen(&'static [Term]),
    /// The width of the root.
    RootWidth,
    /// The width of a value.
    Width(&'static Term),
    /// The bits that may be set in a value.
    Bits(&'static Term),
    /// The number of zeros at the end of a number.
    TrailingZeros(&'static Term),
    /// Whether a constant is the sign extension of its lowest bits, as many as a value has.
    SignedFits(&'static Term, &'static Term),
    /// Whether a value has a property.
    Is(Property, &'static Term),
}

/// A property of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    /// It is no constant.
    Unknown,
    /// It is an index or a size, or a constant, without the highest bit.
    Small,
    /// It is a condition that is negated without an operation.
    Negatable,
    /// Its lower half is a value already, or a constant.
    Halved,
    /// Its lower half is a value already, or a choice.
    Split,
    /// It is halved, or the negative of what is.
    PlainlyHalved,
}

/// When a rule applies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policy {
    /// `late`: only once the halves of sums have been joined.
    pub(super) is_late: bool,
    /// `bit`, `word`, `wide`: only to a root with 1, 32 or 64 bits.
    pub(super) width: Option<u8>,
}

impl Policy {
    pub(super) const fn late(self) -> Self {
        Self { is_late: true, ..self }
    }

    pub(super) const fn bit(self) -> Self {
        Self { width: Some(1), ..self }
    }

    pub(super) const fn word(self) -> Self {
        Self { width: Some(32), ..self }
    }

    pub(super) const fn wide(self) -> Self {
        Self { width: Some(64), ..self }
    }
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Its text, for messages of tests.
    #[cfg(test)]
    pub(super) text: &'static str,
    /// The operators of the root.
    pub(super) roots: &'static [Op],
    /// The inputs of the root.
    pub(super) inputs: &'static [Term],
    /// What it is replaced by.
    pub(super) result: Term,
    /// When it applies.
    pub(super) policy: Policy,
    /// The conditions.
    pub(super) conditions: &'static [Term],
}

pub(super) const ABS_I32: Op = Op::Call(Intrinsic::Abs(Number::I32));
pub(super) const ABS_I64: Op = Op::Call(Intrinsic::Abs(Number::I64));
pub(super) const MIN_I32: Op = Op::Call(Intrinsic::Min(Number::I32));
pub(super) const MIN_I64: Op = Op::Call(Intrinsic::Min(Number::I64));
pub(super) const MIN_U32: Op = Op::Call(Intrinsic::Min(Number::U32));
pub(super) const MIN_U64: Op = Op::Call(Intrinsic::Min(Number::U64));
pub(super) const MAX_I32: Op = Op::Call(Intrinsic::Max(Number::I32));
pub(super) const MAX_I64: Op = Op::Call(Intrinsic::Max(Number::I64));
pub(super) const MAX_U32: Op = Op::Call(Intrinsic::Max(Number::U32));
pub(super) const MAX_U64: Op = Op::Call(Intrinsic::Max(Number::U64));

/// Turns the notation of a term into a [`Term`].
macro_rules! term {
    (x) => { Term::Any(0) };
    (y) => { Term::Any(1) };
    (z) => { Term::Any(2) };
    (v) => { Term::Any(3) };
    (c) => { Term::Constant(0) };
    (d) => { Term::Constant(1) };
    (e) => { Term::Constant(2) };
    (s) => { Term::Window };
    (w) => { Term::RootWidth };
    (ones) => { Term::Ones };
    (sign) => { Term::Sign };
    ($number:literal) => { Term::Number($number) };
    (WINDOW) => { Term::Number(WINDOW) };
    ((Width $of:tt)) => { Term::Width(&term!($of)) };
    ((Bits $of:tt)) => { Term::Bits(&term!($of)) };
    ((Ctz $of:tt)) => { Term::TrailingZeros(&term!($of)) };
    ((SignedFits $constant:tt $value:tt)) => { Term::SignedFits(&term!($constant), &term!($value)) };
    ((Unknown $of:tt)) => { Term::Is(Property::Unknown, &term!($of)) };
    ((Small $of:tt)) => { Term::Is(Property::Small, &term!($of)) };
    ((Negatable $of:tt)) => { Term::Is(Property::Negatable, &term!($of)) };
    ((Halved $of:tt)) => { Term::Is(Property::Halved, &term!($of)) };
    ((Split $of:tt)) => { Term::Is(Property::Split, &term!($of)) };
    ((PlainlyHalved $of:tt)) => { Term::Is(Property::PlainlyHalved, &term!($of)) };
    ((same $($input:tt)+)) => { Term::Same(&[$(term!($input)),+]) };
    ((chosen $($input:tt)+)) => { Term::Chosen(&[$(term!($input)),+]) };
    (([$($op:ident)+] $($input:tt)+)) => { Term::OneOf(&[$($op),+], &[$(term!($input)),+]) };
    (($op:ident $($input:tt)+)) => { Term::Op($op, &[$(term!($input)),+]) };
}

/// Turns the notation of a table into rules.
macro_rules! rules {
    ($(([$($root:ident)+] $($input:tt)+) => $result:tt $([$($policy:ident)+])? $(if $($condition:tt)and+)?;)+) => {
        &[$(Rule {
            #[cfg(test)]
            text: stringify!(([$($root)+] $($input)+) => $result $([$($policy)+])? $(if $($condition)and+)?),
            roots: &[$($root),+],
            inputs: &[$(term!($input)),+],
            result: term!($result),
            policy: Policy { is_late: false, width: None }$($(.$policy())+)?,
            conditions: &[$($(term!($condition)),+)?],
        }),+]
    };
}

pub(super) use {rules, term};
