//! Constant folding of operators.

use super::Op;

/// Returns the lowest bits of a number.
#[inline]
pub fn masked(value: u64, width: u8) -> u64 {
    if width >= 64 { value } else { value & ((1_u64 << width) - 1) }
}

/// Returns a number of a width as a signed number.
#[inline]
pub fn signed(value: u64, width: u8) -> i64 {
    let unused = 64_u32.saturating_sub(u32::from(width)) & 63;
    (value << unused).cast_signed() >> unused
}

/// Folds an operator, given the width of the first input and of the result. `None` if it is not folded: floating
/// point stays as it is, so that nothing depends on the host's rounding.
pub fn fold(op: Op, inputs: &[u64], width: u8, out: u8) -> Option<u64> {
    let a = inputs.first().copied().unwrap_or(0);
    let b = inputs.get(1).copied().unwrap_or(0);
    let (x, y) = (signed(a, width), signed(b, width));
    let top = u64::from(width);
    let truth = u64::from;
    let value = match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::And | Op::BoolAnd => a & b,
        Op::Or | Op::BoolOr => a | b,
        Op::Xor | Op::BoolXor => a ^ b,
        Op::Shl if b < top => a << b,
        Op::Shr if b < top => a >> b,
        Op::Shl | Op::Shr => 0,
        Op::Sar => (x >> b.min(top - 1)).cast_unsigned(),
        Op::Neg => a.wrapping_neg(),
        Op::Not => !a,
        Op::Udiv if b != 0 => a / b,
        Op::Urem if b != 0 => a % b,
        Op::Equal => truth(a == b),
        Op::NotEqual => truth(a != b),
        Op::Less => truth(a < b),
        Op::LessEqual => truth(a <= b),
        Op::SignedLess => truth(x < y),
        Op::SignedLessEqual => truth(x <= y),
        Op::Carry => truth(masked(a.wrapping_add(b), width) < a),
        Op::SignedCarry => truth(match width {
            64 => x.checked_add(y).is_none(),
            _ => signed(a.wrapping_add(b), width) != x.wrapping_add(y),
        }),
        Op::SignedBorrow => truth(match width {
            64 => x.checked_sub(y).is_none(),
            _ => signed(a.wrapping_sub(b), width) != x.wrapping_sub(y),
        }),
        Op::BoolNot => truth(a == 0),
        Op::ZeroExtend | Op::Low => a,
        Op::SignExtend => x.cast_unsigned(),
        Op::High => a >> (out & 63),
        Op::Concat => a << (out.saturating_sub(width) & 63) | b,
        Op::PopCount => u64::from(a.count_ones()),
        Op::LeadingZeros => u64::from(a.leading_zeros()) - (64 - top),
        _ => return None,
    };
    Some(masked(value, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_masked_to_their_width() {
        assert_eq!(fold(Op::Add, &[0xffff_ffff, 1], 32, 32), Some(0));
        assert_eq!(fold(Op::Carry, &[0xffff_ffff, 1], 32, 1), Some(1));
        assert_eq!(fold(Op::Concat, &[1, 2], 32, 64), Some(0x1_0000_0002));
        assert_eq!(fold(Op::Concat, &[1, 2], 8, 24), Some(0x1_0002));
        assert_eq!(fold(Op::High, &[0x1_0000_0002], 64, 32), Some(1));
        assert_eq!(fold(Op::Sar, &[0x8000_0000, 31], 32, 32), Some(0xffff_ffff));
        assert_eq!(fold(Op::SignedBorrow, &[0x8000_0000, 1], 32, 1), Some(1));
        assert_eq!(fold(Op::Shl, &[1, 40], 32, 32), Some(0));
        assert_eq!(fold(Op::Udiv, &[1, 0], 32, 32), None);
    }
}
