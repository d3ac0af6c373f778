//! Which bits of a value may be set.

use super::Rewriter;
use crate::ir::fold::masked;
use crate::ir::{Op, ValueId};

/// Maximum depth of the search for possible bits.
pub(super) const DEPTH: u32 = 8;

impl Rewriter<'_> {
    /// Returns the bits that may be set in a value.
    pub(super) fn possible(&self, id: ValueId, depth: u32) -> u64 {
        let all = masked(u64::MAX, self.width(id));
        if depth == 0 {
            return all;
        }
        let (a, b) = (self.input(id, 0), self.input(id, 1));
        let inner = |id| self.possible(id, depth - 1);
        match (self.op(id), self.num(b)) {
            (Op::Constant(number), _) => number,
            (Op::Special(special), _) => special.most().unwrap_or(all),
            (Op::ZeroExtend, _) => inner(a),
            (Op::And, _) => inner(a) & inner(b),
            (Op::Or | Op::Xor, _) => inner(a) | inner(b),
            (Op::Shl, Some(shift)) if shift < 64 => inner(a) << shift & all,
            (Op::Shr, Some(shift)) if shift < 64 => inner(a) >> shift,
            // Multiples have the lowest bits of the factor, and no bits above the product of the largest numbers.
            (Op::Mul, Some(factor)) if factor > 0 => match inner(a).checked_mul(factor) {
                Some(most) if most <= all => filled(most) & u64::MAX << factor.trailing_zeros(),
                _ => all & u64::MAX << factor.trailing_zeros(),
            },
            (Op::Low, _) => inner(a) & all,
            _ => all,
        }
    }
}

/// Returns a number with all bits below the highest one of another number.
fn filled(number: u64) -> u64 {
    u64::MAX.checked_shr(number.leading_zeros()).unwrap_or(0)
}
