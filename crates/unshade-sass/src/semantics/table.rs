//! The types of the generated tables of semantics.

use super::Space;

/// The condition-code flags, then the predicates.
pub const FLAGS: [&str; 11] = ["carry", "zero", "sign", "overflow", "P0", "P1", "P2", "P3", "P4", "P5", "P6"];

/// The index of `P0` in [`FLAGS`].
pub const FIRST_PREDICATE: u64 = 4;

/// The semantics of an operation.
#[derive(Debug)]
pub struct Program {
    /// The widths of its temporaries, in bits.
    pub temporaries: &'static [u8],
    /// Its steps. Conditional steps have the number of following steps to skip.
    pub steps: &'static [Step],
}

/// A step of the semantics.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A p-code operation: operator, output, inputs.
    Do(Code, Option<Value>, &'static [Value]),
    /// `When(slot, values, skip)`: skips steps unless the slot has one of these values; resolved when lifting.
    When(u16, &'static [&'static str], u16),
    /// `Unless(value, skip)`: skips steps if the value is zero; evaluated at run time.
    Unless(Value, u16),
    /// Ends the steps that a [`Step::When`] selected: skips the steps of its other branch.
    Otherwise(u16),
    /// Ends the steps under a [`Step::Unless`]: jumps over the steps of its other branch at run time.
    Jump(u16),
}

/// A value or storage location. Slots are indices into [`Isa::texts`](crate::table::Isa::texts), the same in every
/// instruction set.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A temporary of the program.
    Temporary(u16),
    /// A constant and its width.
    Number(u64, u8),
    /// An operand: slot, width, number of registers after the first, interpretation of its sign bits.
    Operand(u16, u8, u8, Class),
    /// An index into [`FLAGS`].
    Flag(u8),
    /// The address of the next instruction.
    Next,
    /// The index of a modifier's value.
    Choice(u16),
    /// The raw value of the field that selects a part of an operand.
    Select(u16),
    /// Whether an operand is negated.
    Negated(u16),
}

/// How the sign bits of an operand are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Ignored.
    Raw,
    /// Integer negation, absolute value and inversion.
    Integer,
    /// Floating-point negation and absolute value.
    Float,
}

/// A p-code operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "p-code operators, named as in Ghidra")]
pub enum Code {
    Copy,
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    Negate,
    Not,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    SignedLess,
    SignedLessEqual,
    Carry,
    SignedCarry,
    SignedBorrow,
    BoolAnd,
    BoolOr,
    BoolXor,
    BoolNot,
    ZeroExtend,
    SignExtend,
    Low,
    High,
    Concat,
    PopCount,
    LeadingZeros,
    FloatAdd,
    FloatSub,
    FloatMul,
    FloatDiv,
    FloatNegate,
    FloatSqrt,
    FloatEqual,
    FloatNotEqual,
    FloatLess,
    FloatLessEqual,
    FloatNan,
    FloatToFloat,
    IntegerToFloat,
    FloatTruncate,
    /// A named function: an index into [`functions`](super::functions()).
    Function(u16),
    Load(Space),
    Store(Space),
    Goto,
    Call,
    Return,
    Exit,
    /// A branch inside the instruction, to [`Op::to`](super::Op::to).
    Branch,
    /// A branch inside the instruction, taken if the input is zero.
    BranchUnless,
}

/// A named function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Whether its result depends on its inputs only; [`functions::call`](super::functions::call) computes these.
    pub pure: bool,
    /// The widths of its inputs, in bits.
    pub inputs: &'static [u8],
    /// The width of its result; 0 for none.
    pub output: u8,
    /// A one-line description.
    pub meaning: &'static str,
}
