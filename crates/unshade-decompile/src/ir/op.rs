//! Properties of operators: commutativity, and which inputs and results are integers or floating-point numbers.

use super::Op;

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
            Op::Call(call) => matches!(call.result(), b'i' | b'I' | b'U'),
            op => op.is_arithmetic(),
        }
    }

    /// Returns the sign that it implies for its result.
    pub fn result_sign(self) -> Sign {
        match self {
            Op::Sar | Op::SignExtend | Op::Sdiv | Op::Srem => Sign::Signed,
            Op::Shr | Op::ZeroExtend | Op::Udiv | Op::Urem | Op::High => Sign::Unsigned,
            Op::Call(call) if matches!(call.result(), b'i' | b'I') => Sign::Signed,
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
                b'i' | b'I' => Some(Sign::Signed),
                b'u' if !call.name().starts_with("__shfl") && call.name() != "atomicExch" => Some(Sign::Any),
                _ => None,
            },
            op => op.is_arithmetic().then_some(Sign::Any),
        }
    }

    /// Returns whether an input is a floating-point number.
    pub fn takes_float(self, index: usize) -> bool {
        match self {
            Op::FloatEqual | Op::FloatNotEqual | Op::FloatLess | Op::FloatLessEqual => true,
            Op::FloatNan => true,
            Op::SignedToFloat | Op::UnsignedToFloat => false,
            Op::Call(intrinsic) => matches!(intrinsic.input(index), b'f' | b'd'),
            op => op.gives_float(),
        }
    }

    /// Returns whether its result is a floating-point number.
    pub fn gives_float(self) -> bool {
        match self {
            Op::FloatAdd | Op::FloatSub | Op::FloatMul | Op::FloatDiv => true,
            Op::FloatNegate | Op::FloatAbs | Op::FloatSqrt | Op::FloatConvert => true,
            Op::SignedToFloat | Op::UnsignedToFloat => true,
            Op::Call(intrinsic) => matches!(intrinsic.result(), b'f' | b'd'),
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
