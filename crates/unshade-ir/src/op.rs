//! Properties of operators: names, widths, commutativity, and which inputs and results are integers or floating-point
//! numbers.

use super::{Number, Op, Operand};

/// The widths of an operator's inputs and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// No inputs.
    Leaf,
    /// One input as wide as the result.
    Unary,
    /// One input of any width.
    Convert,
    /// One narrower input.
    Widen,
    /// One wider input.
    Narrow,
    /// Two inputs as wide as the result.
    Binary,
    /// The first input as wide as the result, the second of any width.
    Shift,
    /// Two inputs that are together as wide as the result.
    Concat,
    /// One input of any width, and a condition as the result.
    Test,
    /// Two inputs of equal width, and a condition as the result.
    Compare,
    /// A condition, and two inputs as wide as the result.
    Select,
    /// Any number of inputs as wide as the result.
    Phi,
}

/// Operators without a part: the name in the textual form, and the widths.
#[rustfmt::skip]
pub const OPERATORS: &[(Op, &str, Widths)] = &[
    (Op::Undefined, "undefined", Widths::Leaf),
    (Op::Phi, "phi", Widths::Phi),
    (Op::Add, "add", Widths::Binary),
    (Op::Sub, "sub", Widths::Binary),
    (Op::Mul, "mul", Widths::Binary),
    (Op::And, "and", Widths::Binary),
    (Op::Or, "or", Widths::Binary),
    (Op::Xor, "xor", Widths::Binary),
    (Op::Shl, "shl", Widths::Shift),
    (Op::Shr, "shr", Widths::Shift),
    (Op::Sar, "sar", Widths::Shift),
    (Op::Neg, "neg", Widths::Unary),
    (Op::Not, "not", Widths::Unary),
    (Op::Udiv, "udiv", Widths::Binary),
    (Op::Sdiv, "sdiv", Widths::Binary),
    (Op::Urem, "urem", Widths::Binary),
    (Op::Srem, "srem", Widths::Binary),
    (Op::Equal, "equal", Widths::Compare),
    (Op::NotEqual, "not_equal", Widths::Compare),
    (Op::Less, "less", Widths::Compare),
    (Op::LessEqual, "less_equal", Widths::Compare),
    (Op::SignedLess, "signed_less", Widths::Compare),
    (Op::SignedLessEqual, "signed_less_equal", Widths::Compare),
    (Op::Carry, "carry", Widths::Compare),
    (Op::SignedCarry, "signed_carry", Widths::Compare),
    (Op::SignedBorrow, "signed_borrow", Widths::Compare),
    (Op::BoolAnd, "bool_and", Widths::Binary),
    (Op::BoolOr, "bool_or", Widths::Binary),
    (Op::BoolXor, "bool_xor", Widths::Binary),
    (Op::BoolNot, "bool_not", Widths::Unary),
    (Op::ZeroExtend, "zero_extend", Widths::Widen),
    (Op::SignExtend, "sign_extend", Widths::Widen),
    (Op::Low, "low", Widths::Narrow),
    (Op::High, "high", Widths::Narrow),
    (Op::Concat, "concat", Widths::Concat),
    (Op::PopCount, "pop_count", Widths::Convert),
    (Op::LeadingZeros, "leading_zeros", Widths::Convert),
    (Op::FloatAdd, "float_add", Widths::Binary),
    (Op::FloatSub, "float_sub", Widths::Binary),
    (Op::FloatMul, "float_mul", Widths::Binary),
    (Op::FloatDiv, "float_div", Widths::Binary),
    (Op::FloatNegate, "float_negate", Widths::Unary),
    (Op::FloatAbs, "float_abs", Widths::Unary),
    (Op::FloatSqrt, "float_sqrt", Widths::Unary),
    (Op::FloatEqual, "float_equal", Widths::Compare),
    (Op::FloatNotEqual, "float_not_equal", Widths::Compare),
    (Op::FloatLess, "float_less", Widths::Compare),
    (Op::FloatLessEqual, "float_less_equal", Widths::Compare),
    (Op::FloatNan, "float_nan", Widths::Test),
    (Op::FloatConvert, "float_convert", Widths::Convert),
    (Op::SignedToFloat, "signed_to_float", Widths::Convert),
    (Op::UnsignedToFloat, "unsigned_to_float", Widths::Convert),
    (Op::Copy, "copy", Widths::Unary),
    (Op::Vector, "vector", Widths::Phi),
    (Op::Select, "select", Widths::Select),
    (Op::Reinterpret, "reinterpret", Widths::Convert),
];

/// What an operator implies for the sign of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Either.
    Any,
    /// Signed.
    Signed,
    /// Unsigned.
    Unsigned,
}

impl Op {
    /// Returns whether its two inputs are interchangeable.
    pub fn is_commutative(self) -> bool {
        matches!(
            self,
            Op::Add
                | Op::Mul
                | Op::And
                | Op::Or
                | Op::Xor
                | Op::Equal
                | Op::NotEqual
                | Op::BoolAnd
                | Op::BoolOr
                | Op::BoolXor
                | Op::Carry
                | Op::SignedCarry
                | Op::FloatAdd
                | Op::FloatMul
                | Op::FloatEqual
        )
    }

    /// Returns whether it computes bits from bits of the same width: sums, products, shifts, bitwise operations.
    pub fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Op::Add
                | Op::Sub
                | Op::Mul
                | Op::And
                | Op::Or
                | Op::Xor
                | Op::Neg
                | Op::Not
                | Op::Shl
                | Op::Shr
                | Op::Sar
        )
    }

    /// Returns whether it is an integer comparison.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Op::Equal
                | Op::NotEqual
                | Op::Less
                | Op::LessEqual
                | Op::SignedLess
                | Op::SignedLessEqual
                | Op::Carry
                | Op::SignedCarry
                | Op::SignedBorrow
        )
    }

    /// Returns whether its result is always an integer.
    pub fn is_integer(self) -> bool {
        match self {
            Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem | Op::ZeroExtend | Op::SignExtend => true,
            Op::Special(_) | Op::PopCount | Op::LeadingZeros => true,
            Op::Call(call) => {
                matches!(call.result(), Operand::Number(Number::I32 | Number::I64 | Number::U64))
            }
            op => op.is_arithmetic(),
        }
    }

    /// Returns the sign that it implies for its result.
    pub fn result_sign(self) -> Sign {
        match self {
            Op::Sar | Op::SignExtend | Op::Sdiv | Op::Srem => Sign::Signed,
            Op::Shr | Op::ZeroExtend | Op::Udiv | Op::Urem | Op::High => Sign::Unsigned,
            Op::Call(call) if call.result().is_signed() => Sign::Signed,
            _ => Sign::Any,
        }
    }

    /// Returns the sign that it implies for an input, or `None` if that need not be an integer.
    pub fn input_sign(self, index: usize) -> Option<Sign> {
        match self {
            Op::SignedLess | Op::SignedLessEqual | Op::SignExtend | Op::SignedToFloat => Some(Sign::Signed),
            Op::Sdiv | Op::Srem => Some(Sign::Signed),
            Op::Less | Op::LessEqual | Op::UnsignedToFloat | Op::ZeroExtend => Some(Sign::Unsigned),
            Op::Udiv | Op::Urem => Some(Sign::Unsigned),
            Op::Sar => (index == 0).then_some(Sign::Signed),
            Op::Shr => (index == 0).then_some(Sign::Unsigned),
            Op::Equal | Op::NotEqual => Some(Sign::Any),
            Op::Call(call) => match call.input(index) {
                operand if operand.is_signed() => Some(Sign::Signed),
                Operand::Number(Number::U32) if !call.moves_bits() => Some(Sign::Any),
                _ => None,
            },
            op => op.is_arithmetic().then_some(Sign::Any),
        }
    }

    /// Returns whether it only moves a floating-point number, or changes its sign.
    pub fn moves_float(self) -> bool {
        matches!(self, Op::FloatNegate | Op::FloatAbs)
    }

    /// Returns whether an input is a floating-point number.
    pub fn takes_float(self, index: usize) -> bool {
        match self {
            Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => true,
            Op::FloatNan => true,
            Op::SignedToFloat | Op::UnsignedToFloat => false,
            Op::Call(call) => call.input(index).is_float(),
            op => op.gives_float(),
        }
    }

    /// Returns whether its result is a floating-point number.
    pub fn gives_float(self) -> bool {
        match self {
            Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv => true,
            Op::FloatNegate | Op::FloatAbs | Op::FloatSqrt | Op::FloatConvert => true,
            Op::SignedToFloat | Op::UnsignedToFloat => true,
            Op::Call(call) => call.result().is_float(),
            _ => false,
        }
    }

    /// Returns the negated comparison, and whether its operands are exchanged.
    pub fn contrary(self) -> Option<(Self, bool)> {
        Some(match self {
            Op::Equal => (Op::NotEqual, false),
            Op::NotEqual => (Op::Equal, false),
            Op::Less => (Op::LessEqual, true),
            Op::LessEqual => (Op::Less, true),
            Op::SignedLess => (Op::SignedLessEqual, true),
            Op::SignedLessEqual => (Op::SignedLess, true),
            _ => return None,
        })
    }
}
