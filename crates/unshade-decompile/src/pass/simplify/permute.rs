//! Permutations of bytes that are shifts: `PRMT R0, RZ, R2, 0x6540` is `R2 << 8`.
//!
//! They are computed, byte by byte, from the selector: as rules of algebra they would be one for each of its values.

use super::Rewriter;
use crate::ir::{Op, ValueId};

/// A byte of a result.
enum Byte {
    Number(u64),
    /// A byte of a value, by its place there.
    Of(ValueId, i32),
}

impl Rewriter<'_> {
    /// Returns a permutation by a constant as a number, or as a shift of one value whose other bytes are zero.
    pub(super) fn permuted(&mut self, a: ValueId, b: ValueId, selector: u64) -> Option<ValueId> {
        if let Some(whole) = self.rest_undefined(a, b, selector) {
            return Some(whole);
        }
        let bytes = [0, 1, 2, 3].map(|place| {
            let chosen = selector >> (4 * place) & 7;
            let (source, inner) = if chosen < 4 { (a, chosen) } else { (b, chosen - 4) };
            match self.num(source) {
                Some(number) => Byte::Number(number >> (8 * inner) & 0xff),
                None => Byte::Of(source, inner as i32),
            }
        });
        let mut found: Option<(ValueId, i32)> = None;
        let (mut kept, mut number) = (0, 0);
        for (place, byte) in bytes.into_iter().enumerate() {
            match byte {
                Byte::Number(byte) => number |= byte << (8 * place),
                Byte::Of(source, inner) => {
                    let here = (source, place as i32 - inner);
                    if *found.get_or_insert(here) != here {
                        return None;
                    }
                    kept |= 0xff << (8 * place);
                }
            }
        }
        let Some((source, distance)) = found else { return Some(self.constant(number, 32)) };
        if number != 0 {
            return None;
        }
        let amount = 8 * distance.unsigned_abs();
        let (op, all) = match distance {
            ..0 => (Op::Shr, 0xffff_ffff >> amount),
            _ => (Op::Shl, 0xffff_ffff << amount & 0xffff_ffff),
        };
        let amount = self.constant(amount.into(), 32);
        let shifted = self.make(op, 32, &[source, amount]);
        if kept == all {
            return Some(shifted);
        }
        let mask = self.constant(kept, 32);
        Some(self.make(Op::And, 32, &[shifted, mask]))
    }

    /// Returns the value whose bytes are where they were, next to bytes that were never set: code compiled with -G
    /// replaces the lower half of a register, whatever is in the upper one.
    fn rest_undefined(&self, a: ValueId, b: ValueId, selector: u64) -> Option<ValueId> {
        let (whole, first) = match (self.op(a), self.op(b)) {
            (Op::Undefined, Op::Undefined) => return None,
            (_, Op::Undefined) => (a, 0),
            (Op::Undefined, _) => (b, 4),
            _ => return None,
        };
        let fits = |place: u64| {
            let chosen = selector >> (4 * place) & 7;
            chosen == place + first || (chosen < 4) == (first == 4)
        };
        (0..4).all(fits).then_some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::stored;
    use crate::ir::{BlockId, Intrinsic, NO_ADDRESS, Op};

    /// Returns what a permutation of zero and a value becomes: the operator, its second input, and of an `And` the
    /// operator inside.
    fn permuted(selector: u64) -> (Op, Option<u64>, Op) {
        let (function, value) = stored(|function, x| {
            let zero = function.constant(0, 32);
            let selector = function.constant(selector, 32);
            let inputs = [zero, x, selector];
            function.raw(Op::Call(Intrinsic::PermuteBytes), 32, BlockId::ENTRY, NO_ADDRESS, &inputs)
        });
        let number = function.number(function.input_or_self(value, 1));
        (function.op(value), number, function.op(function.input_or_self(value, 0)))
    }

    #[test]
    fn bytes_that_were_never_set_may_be_any() {
        let beside_undefined = |selector: u64| {
            let (function, value) = stored(|function, x| {
                let undefined = function.raw(Op::Undefined, 32, BlockId::ENTRY, NO_ADDRESS, &[]);
                let selector = function.constant(selector, 32);
                let call = Op::Call(Intrinsic::PermuteBytes);
                function.raw(call, 32, BlockId::ENTRY, NO_ADDRESS, &[x, undefined, selector])
            });
            function.op(value)
        };
        assert_eq!(beside_undefined(0x7610), Op::Parameter(0));
        assert_eq!(beside_undefined(0x5410), Op::Parameter(0));
        assert_eq!(beside_undefined(0x7601), Op::Call(Intrinsic::PermuteBytes));
    }

    #[test]
    fn permutations_of_one_value_are_shifts() {
        assert_eq!(permuted(0x6540), (Op::Shl, Some(8), Op::Parameter(0)));
        assert_eq!(permuted(0x0076), (Op::Shr, Some(16), Op::Parameter(0)));
        assert_eq!(permuted(0x0005), (Op::And, Some(0xff), Op::Shr));
        assert_eq!(permuted(0x7654), (Op::Parameter(0), None, Op::Parameter(0)));
        assert_eq!(permuted(0x4567).0, Op::Call(Intrinsic::PermuteBytes));
    }
}
