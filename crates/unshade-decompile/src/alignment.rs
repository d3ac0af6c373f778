//! Which power of two each value is a multiple of.
//!
//! An index in bytes that grows by 4 from 0 is a multiple of 4, so it can be printed as an index of words. The greatest
//! solution is computed: all values start as multiples of anything, and lose powers until nothing changes.

use crate::ir::{Function, IdVec, Op, ValueId, ValueMap};

/// Maximum number of rounds. Values mostly follow what they are computed from, so two or three are enough.
const MAX_ROUNDS: usize = 16;

/// The exponent of zero, which is a multiple of all powers of two.
const ANY: u8 = 64;

/// The exponents of the powers of two.
#[derive(Debug)]
pub struct Alignment {
    of: ValueMap<u8>,
}

impl Alignment {
    /// Computes the powers for all values of a function; nothing is a multiple if that takes too many rounds.
    pub fn new(function: &Function) -> Self {
        let mut found = Self { of: IdVec::filled(ANY, function.values.len()) };
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for id in function.values.keys() {
                let exponent = found.exponent(function, id);
                changed |= exponent < found.of[id];
                found.of[id] = exponent.min(found.of[id]);
            }
            if !changed {
                return found;
            }
        }
        Self { of: IdVec::filled(0, function.values.len()) }
    }

    /// Returns whether a value is a multiple of a power of two.
    pub fn is_multiple(&self, id: ValueId, power: u64) -> bool {
        power.is_power_of_two() && u32::from(self.of[id]) >= power.trailing_zeros()
    }

    fn exponent(&self, function: &Function, id: ValueId) -> u8 {
        let inputs = function.inputs(id);
        let at = |index: usize| inputs.get(index).and_then(|input| self.of.get(*input)).copied().unwrap_or(0);
        let least = |first: usize| (first..inputs.len()).map(at).min().unwrap_or(0);
        match function.op(id) {
            Op::Constant(0) => ANY,
            Op::Constant(number) => number.trailing_zeros() as u8,
            Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Phi => least(0),
            Op::Select => least(1),
            Op::And => at(0).max(at(1)),
            Op::Mul => at(0).saturating_add(at(1)).min(ANY),
            Op::Shl => match inputs.get(1).and_then(|amount| function.number(*amount)) {
                Some(amount) => at(0).saturating_add(u8::try_from(amount).unwrap_or(ANY)).min(ANY),
                None => at(0),
            },
            Op::Neg | Op::Copy | Op::ZeroExtend | Op::SignExtend | Op::Low => at(0),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockId, NO_ADDRESS};

    #[test]
    fn a_variable_that_grows_by_twelve_is_a_multiple_of_four() {
        let mut function = Function::default();
        let block = function.block(0);
        let (start, step) = (function.constant(8, 32), function.constant(12, 32));
        let phi = function.raw(Op::Phi, 32, block, NO_ADDRESS, &[]);
        let next = function.raw(Op::Add, 32, block, NO_ADDRESS, &[phi, step]);
        function.set_inputs(phi, &[start, next]);
        let odd = function.raw(Op::Parameter(0), 32, BlockId::ENTRY, NO_ADDRESS, &[]);
        let sum = function.raw(Op::Add, 32, block, NO_ADDRESS, &[phi, odd]);
        let alignment = Alignment::new(&function);
        assert!(alignment.is_multiple(phi, 4) && !alignment.is_multiple(phi, 8));
        assert!(!alignment.is_multiple(sum, 2));
    }
}
