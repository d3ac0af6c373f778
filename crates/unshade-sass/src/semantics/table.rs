//! What the generated tables of semantics are made of.

use super::Space;

/// Flags of the condition code, then predicates.
pub const FLAGS: [&str; 11] = ["carry", "zero", "sign", "overflow", "P0", "P1", "P2", "P3", "P4", "P5", "P6"];

/// The number of `P0` in [`FLAGS`].
pub const FIRST_PREDICATE: u64 = 4;

/// What an operation does.
#[derive(Debug)]
pub struct Program {
    /// The widths of its own names, in bits.
    pub temporaries: &'static [u8],
    /// Its steps. Those that choose say how many after them to leave out.
    pub steps: &'static [Step],
}

/// A step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An operation of p-code: its output and inputs.
    Do(Code, Option<Value>, &'static [Value]),
    /// Leaves out so many steps if the slot has none of these values; decided when an instruction is lifted.
    When(u16, &'static [&'static str], u16),
    /// Leaves out so many steps if the value is zero; decided when it runs.
    Unless(Value, u16),
    /// The end of what a [`Step::When`] chose: leaves out so many steps, which are the other side.
    Otherwise(u16),
    /// The end of what is done unless the value of a [`Step::Unless`] is zero: jumps over so many steps when it runs.
    Jump(u16),
}

/// A value or place of an operation. Slots are into [`Isa::texts`](crate::table::Isa::texts), of any instruction set.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A name of the program's own.
    Temporary(u16),
    /// A number and its width.
    Number(u64, u8),
    /// An operand: slot, width, how many registers further, how its signs are read.
    Operand(u16, u8, u8, Class),
    /// Into [`FLAGS`].
    Flag(u8),
    /// The address of the next instruction.
    Next,
    /// The number of a modifier's value.
    Choice(u16),
    /// The number in the bits that choose a part of an operand.
    Select(u16),
    /// Whether an operand is negated.
    Negated(u16),
}

/// How the signs of an operand are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Not at all.
    Raw,
    /// As of integers.
    Integer,
    /// As of floating-point numbers.
    Float,
}

/// An operation of p-code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "p-code's operators, by their names")]
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
    /// A named function: into [`functions`](super::functions()).
    Function(u16),
    Load(Space),
    Store(Space),
    Goto,
    Call,
    Return,
    Exit,
    /// Inside of the instruction, to [`Op::to`](super::Op::to).
    Branch,
    /// Inside of the instruction, if the input is zero.
    BranchUnless,
}

/// A named function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Whether it makes a number of numbers; [`functions`](super::functions::call) computes these.
    pub pure: bool,
    /// The widths of its inputs, in bits.
    pub inputs: &'static [u8],
    /// The width of its result; 0 for none.
    pub output: u8,
    /// One line on what it does.
    pub meaning: &'static str,
}
