//! Multiples of 64-bit values in sums, where the compiler has distributed their halves.
//!
//! A compiler multiplies `q` by a constant `c` as halves: `zext(low(q)) * c`, and `high(q) * c` among what is added to the
//! upper half of the sum. If `c` has an upper half, `low(q)` times it is there, too. So a sum has a term `concat(h, 0)`,
//! where `h` is a sum itself, of parts of several values. For each term `zext(low(q)) * c` whose other parts are in
//! `h`, all of them together are `q * c`.

use super::Pairs;
use crate::ir::{Op, Value, ValueId};

/// Maximum number of terms of a sum.
const MAX_TERMS: usize = 12;

/// The terms of a sum, each with its factor.
type Terms = Vec<(ValueId, u64)>;

impl Pairs<'_> {
    /// Returns a 64-bit sum with whole values in place of their halves.
    pub fn whole_multiple(&mut self, sum: ValueId) -> Option<ValueId> {
        let like = self.function.values[sum];
        let is_shifted = |(id, factor): (ValueId, u64)| {
            self.op(id) == Op::Concat && self.number(self.input(id, 1)) == Some(0) && factor == 1
        };
        // Few sums have such a term.
        let mut has_shifted = false;
        self.each_term(sum, 1, |term| has_shifted |= is_shifted(term))?;
        if !has_shifted {
            return None;
        }
        let mut terms = Terms::new();
        self.linear_terms(sum, 1, &mut terms)?;
        let shifted = terms.iter().position(|term| is_shifted(*term))?;
        let high = self.input(terms.remove(shifted).0, 0);
        let mut upper = Terms::new();
        self.linear_terms(high, 1, &mut upper)?;
        let mut has_found = false;
        for term in &mut terms {
            if let Some(whole) = self.take_halves(*term, &mut upper) {
                *term = whole;
                has_found = true;
            }
        }
        if !has_found {
            return None;
        }
        while self.take_remainder(like, &mut terms) {}
        if !upper.is_empty() {
            let zero = self.function.constant(0, 32);
            let rest = self.sum_of_terms(like, 32, &upper);
            terms.push((self.make(like, Op::Concat, 64, &[rest, zero]), 1));
        }
        Some(self.sum_of_terms(like, 64, &terms))
    }

    /// Appends the terms of a sum of products with constants; `None` if there are too many.
    fn linear_terms(&self, id: ValueId, factor: u64, terms: &mut Terms) -> Option<()> {
        self.each_term(id, factor, |(id, factor)| match terms.iter_mut().find(|term| term.0 == id) {
            Some(term) => term.1 = term.1.wrapping_add(factor),
            None => terms.push((id, factor)),
        })
    }

    /// Calls `visit` for each term of a sum of products with constants; `None` if there are too many.
    fn each_term(&self, id: ValueId, factor: u64, mut visit: impl FnMut((ValueId, u64))) -> Option<()> {
        let mut list = [(id, factor); MAX_TERMS + 2];
        let (mut waiting, mut count) = (1, 0);
        while waiting > 0 {
            waiting -= 1;
            if count + waiting > MAX_TERMS {
                return None;
            }
            let (id, factor) = list[waiting];
            let (a, b) = (self.input(id, 0), self.input(id, 1));
            let parts = match (self.op(id), self.number(b)) {
                (Op::Add, None) => [Some((b, factor)), Some((a, factor))],
                (Op::Sub, None) => [Some((b, factor.wrapping_neg())), Some((a, factor))],
                (Op::Neg, _) => [Some((a, factor.wrapping_neg())), None],
                (Op::Mul, Some(number)) => [Some((a, factor.wrapping_mul(number))), None],
                (Op::Shl, Some(number)) if number < u64::from(self.width(id)) => {
                    [Some((a, factor.wrapping_shl(number as u32))), None]
                }
                _ => {
                    visit((id, factor));
                    count += 1;
                    [None; 2]
                }
            };
            for part in parts.into_iter().flatten() {
                list[waiting] = part;
                waiting += 1;
            }
        }
        Some(())
    }

    /// Returns the whole multiple of which a term has the lower half, and removes its other parts from those of the upper
    /// half.
    fn take_halves(&self, term: (ValueId, u64), upper: &mut Terms) -> Option<(ValueId, u64)> {
        let (extended, factor) = term;
        let low = self.input(extended, 0);
        let whole = self.input(low, 0);
        if self.op(extended) != Op::ZeroExtend || self.op(low) != Op::Low || self.width(whole) != 64 {
            return None;
        }
        let is_high = |id: ValueId| self.op(id) == Op::High && self.input(id, 0) == whole;
        let high = upper.iter().position(|term| is_high(term.0))?;
        if upper[high].1 as u32 != factor as u32 {
            return None;
        }
        upper.remove(high);
        let mut all = factor;
        if let Some(index) = upper.iter().position(|term| term.0 == low) {
            all = all.wrapping_add(upper.remove(index).1 << 32);
        }
        Some((whole, all))
    }

    /// Replaces a number and a multiple of its quotient by a remainder: `x - x / c * c`. Returns whether there was one.
    fn take_remainder(&mut self, like: Value, terms: &mut Terms) -> bool {
        for (index, &(quotient, factor)) in terms.iter().enumerate() {
            let op = match self.op(quotient) {
                Op::Udiv => Op::Urem,
                Op::Sdiv => Op::Srem,
                _ => continue,
            };
            let (number, divisor) = (self.input(quotient, 0), self.input(quotient, 1));
            let Some(constant) = self.number(divisor) else { continue };
            let is_rest = |term: &(ValueId, u64)| {
                term.0 == number && term.1.wrapping_mul(constant).wrapping_neg() == factor
            };
            let Some(place) = terms.iter().position(is_rest) else { continue };
            terms[place].0 = self.make(like, op, 64, &[number, divisor]);
            terms.remove(index);
            return true;
        }
        false
    }

    /// Returns the sum of terms.
    fn sum_of_terms(&mut self, like: Value, width: u8, terms: &[(ValueId, u64)]) -> ValueId {
        let mut sum = None;
        for &(id, factor) in terms {
            let factor = if width == 64 { factor } else { factor & 0xffff_ffff };
            let term = if factor == 1 {
                id
            } else {
                let constant = self.function.constant(factor, width);
                self.make(like, Op::Mul, width, &[id, constant])
            };
            sum = Some(match sum {
                Some(sum) => self.make(like, Op::Add, width, &[sum, term]),
                None => term,
            });
        }
        sum.unwrap_or_else(|| self.function.constant(0, width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockId, Function, NO_ADDRESS};

    #[test]
    fn halves_of_a_multiple_in_a_sum_are_joined() {
        let mut function = Function::default();
        let block = function.block(0);
        let raw = |function: &mut Function, op, width, inputs: &[ValueId]| {
            function.raw(op, width, block, NO_ADDRESS, inputs)
        };
        let x = raw(&mut function, Op::Parameter(0), 64, &[]);
        let seven = function.constant(7, 64);
        let q = raw(&mut function, Op::Udiv, 64, &[x, seven]);
        // x + q * -7: the factor's upper half is -1.
        let (low, high) = (raw(&mut function, Op::Low, 32, &[q]), raw(&mut function, Op::High, 32, &[q]));
        let wide = raw(&mut function, Op::ZeroExtend, 64, &[low]);
        let factor = function.constant(0xffff_fff9, 64);
        let product = raw(&mut function, Op::Mul, 64, &[wide, factor]);
        let factor = function.constant(0xffff_fff9, 32);
        let upper = raw(&mut function, Op::Mul, 32, &[high, factor]);
        let upper = raw(&mut function, Op::Sub, 32, &[upper, low]);
        let zero = function.constant(0, 32);
        let upper = raw(&mut function, Op::Concat, 64, &[upper, zero]);
        let sum = raw(&mut function, Op::Add, 64, &[product, x]);
        let sum = raw(&mut function, Op::Add, 64, &[sum, upper]);
        let found = (Pairs { function: &mut function }).whole_multiple(sum).unwrap();
        assert_eq!(function.op(found), Op::Urem);
        assert_eq!(function.inputs(found), [x, seven]);
        assert_eq!(function.values[found].block, BlockId::ENTRY);
    }
}
