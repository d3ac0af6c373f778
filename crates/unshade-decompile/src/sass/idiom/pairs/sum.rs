//! 64-bit sums and differences.
//!
//! `a + b` below has a carry above, and `a - b` a "no borrow". So the lower half is split into terms as long as the
//! upper half has their carries. The other terms above are the upper halves of these, in whatever order the compiler
//! put them. Any assignment of them would be correct; the one that reads best is chosen.

use super::Pairs;
use crate::ir::{Op, Value, ValueId};

/// Maximum number of terms of an upper half.
const MAX_TERMS: usize = 16;

/// A 64-bit term, in halves.
struct Summand {
    /// The upper half; `None` until it is assigned.
    high: Option<ValueId>,
    low: ValueId,
    is_negative: bool,
}

impl Pairs<'_> {
    /// Returns the terms of an upper half.
    pub(super) fn terms(&self, id: ValueId) -> Vec<ValueId> {
        let mut terms = Vec::with_capacity(MAX_TERMS);
        self.any_term(id, |term| {
            terms.push(term);
            false
        });
        terms
    }

    /// Returns whether any term of an upper half has a property.
    fn any_term(&self, id: ValueId, mut is_wanted: impl FnMut(ValueId) -> bool) -> bool {
        let mut list = [id; MAX_TERMS + 2];
        let (mut waiting, mut taken) = (1, 0);
        while waiting > 0 {
            waiting -= 1;
            let id = list[waiting];
            if matches!(self.op(id), Op::Add) && taken + waiting < MAX_TERMS {
                list[waiting] = self.input(id, 1);
                list[waiting + 1] = self.input(id, 0);
                waiting += 2;
            } else if is_wanted(id) {
                return true;
            } else {
                taken += 1;
            }
        }
        false
    }

    /// Returns the condition that a term adds as 0 or 1.
    fn counted(&self, id: ValueId) -> Option<ValueId> {
        matches!(self.op(id), Op::ZeroExtend).then(|| self.input(id, 0))
    }

    fn has_inputs(&self, id: ValueId, a: ValueId, b: ValueId) -> bool {
        let (x, y) = (self.input(id, 0), self.input(id, 1));
        x == a && y == b || x == b && y == a
    }

    /// Returns whether a condition is the carry of a sum.
    pub(super) fn is_carry(&self, carry: ValueId, sum: ValueId) -> bool {
        matches!((self.op(carry), self.op(sum)), (Op::Carry, Op::Add))
            && self.has_inputs(sum, self.input(carry, 0), self.input(carry, 1))
    }

    /// Returns the inner sum of a sum of three, if a condition is the carry of either addition.
    pub(super) fn carry_of_three(&self, either: ValueId, sum: ValueId) -> Option<ValueId> {
        if self.op(either) != Op::BoolOr || self.op(sum) != Op::Add {
            return None;
        }
        let (one, other) = (self.input(either, 0), self.input(either, 1));
        [(one, other), (other, one)].into_iter().find_map(|(outer, inner)| {
            let summands = [self.input(sum, 0), self.input(sum, 1)];
            let part = summands.into_iter().find(|part| self.is_carry(inner, *part))?;
            self.is_carry(outer, sum).then_some(part)
        })
    }

    /// Returns whether an upper half contains the carry of this lower half.
    pub(super) fn is_sum_of(&self, high: ValueId, low: ValueId) -> bool {
        matches!(self.op(low), Op::Add)
            && high != ValueId::NONE
            && self.any_term(high, |term| {
                self.counted(term).is_some_and(|carry| {
                    self.is_carry(carry, low) || self.carry_of_three(carry, low).is_some()
                })
            })
    }

    /// Returns whether two values look like the halves of a value that is not recognised yet.
    fn fits(&self, high: ValueId, low: ValueId) -> bool {
        match (self.op(high), self.op(low)) {
            (Op::Add, Op::Add) | (Op::Phi, Op::Phi) | (Op::Load(_), Op::Load(_)) => {
                self.function.values[high].block == self.function.values[low].block
            }
            (Op::Select, Op::Select) => self.input(high, 0) == self.input(low, 0),
            (Op::Shr | Op::Sar, Op::Select) => true,
            _ => false,
        }
    }

    /// Recognises `a + b` below and `c + d + carry(a, b)` above, and nested sums and differences.
    pub(super) fn sum(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        match self.op(low) {
            // Neither a carry nor a sum that contains one.
            Op::Add if !matches!(self.op(high), Op::Add | Op::ZeroExtend) => None,
            Op::Add => self.sum_of_two(like, high, low).or_else(|| self.sum_of_many(like, high, low)),
            Op::Sub => {
                let (a, b) = (self.input(low, 0), self.input(low, 1));
                let mut above = vec![high];
                self.take_term(&mut above, &|this, term| {
                    this.counted(term).is_some_and(|kept| {
                        this.op(kept) == Op::LessEqual && this.input(kept, 0) == b && this.input(kept, 1) == a
                    })
                })?;
                let is_not = |this: &Self, term: ValueId| this.op(term) == Op::Not;
                let not = self
                    .take_term(&mut above, &|this, term| {
                        is_not(this, term) && this.belongs(this.input(term, 0), b) > 0
                    })
                    .or_else(|| self.take_term(&mut above, &is_not))?;
                let upper = self.added(like, &above);
                let left = self.pair(like, upper, a);
                let right = self.pair(like, self.input(not, 0), b);
                Some(self.make(like, Op::Sub, 64, &[left, right]))
            }
            _ => None,
        }
    }

    /// Returns the value of two halves; the upper one may be [`ValueId::NONE`].
    fn pair(&mut self, like: Value, high: ValueId, low: ValueId) -> ValueId {
        if high == ValueId::NONE {
            return match self.number(low) {
                Some(number) => self.function.constant(number, 64),
                None => self.make(like, Op::ZeroExtend, 64, &[low]),
            };
        }
        match self.join(like, high, low) {
            Some(joined) => joined,
            None => self.make(like, Op::Concat, 64, &[high, low]),
        }
    }

    /// Removes the nearest matching term from sums; the terms beside it on the path stay.
    fn take_term(
        &self,
        above: &mut Vec<ValueId>,
        is_wanted: &dyn Fn(&Self, ValueId) -> bool,
    ) -> Option<ValueId> {
        // Each value with the index of its sum in this list.
        let mut seen: Vec<(ValueId, usize)> = Vec::with_capacity(2 * MAX_TERMS + 2);
        seen.extend(above.iter().map(|id| (*id, usize::MAX)));
        let roots = seen.len();
        let mut at = 0;
        while let Some(&(id, _)) = seen.get(at) {
            if is_wanted(self, id) {
                break;
            }
            if matches!(self.op(id), Op::Add) && seen.len() < 2 * MAX_TERMS {
                seen.push((self.input(id, 0), at));
                seen.push((self.input(id, 1), at));
            }
            at += 1;
        }
        let found = seen.get(at)?.0;
        let mut beside = Vec::new();
        let mut from = at;
        while from >= roots {
            // Both inputs of a sum are adjacent.
            let other = if (from - roots).is_multiple_of(2) { from + 1 } else { from - 1 };
            beside.push(seen[other].0);
            from = seen[from].1;
        }
        above.remove(from);
        beside.reverse();
        above.splice(from..from, beside);
        Some(found)
    }

    /// Returns how well two halves fit together.
    fn belongs(&self, high: ValueId, low: ValueId) -> u32 {
        if high == ValueId::NONE {
            0
        } else if self.joins(high, low) {
            3
        } else if self.op(low) == Op::And && self.is_sum_of(high, self.input(low, 0))
            || self.is_sum_of(high, low)
            || self.is_difference_of(high, low)
            || self.is_mixed(high, low)
        {
            2
        } else {
            u32::from(self.fits(high, low))
        }
    }

    /// Returns whether an upper half contains the "no borrow" of a lower half.
    fn is_difference_of(&self, high: ValueId, low: ValueId) -> bool {
        self.op(low) == Op::Sub
            && self.any_term(high, |term| {
                self.counted(term).is_some_and(|kept| {
                    self.op(kept) == Op::LessEqual
                        && self.input(kept, 0) == self.input(low, 1)
                        && self.input(kept, 1) == self.input(low, 0)
                })
            })
    }

    /// Returns whether an upper half contains the carry of a product or shift below.
    fn is_mixed(&self, high: ValueId, low: ValueId) -> bool {
        let is_scaled = self.scaled(low).is_some();
        (is_scaled || self.op(low) == Op::Mul)
            && self.op(high) == Op::Add
            && self.any_term(high, |term| self.joins(term, low))
    }

    /// Recognises a sum whose upper half is composed of the upper halves of both operands only.
    fn sum_of_two(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let mut above = vec![high];
        self.take_term(&mut above, &|this, term| {
            this.counted(term).is_some_and(|carry| this.is_carry(carry, low))
        })?;
        let (a, b) = (self.input(low, 0), self.input(low, 1));
        let best = |this: &Self, x: ValueId, y: ValueId| {
            let straight = this.belongs(x, a) + this.belongs(y, b);
            let crossed = this.belongs(x, b) + this.belongs(y, a);
            if crossed > straight { (crossed, y, x) } else { (straight, x, y) }
        };
        let (_, x, y) = match above[..] {
            [] => (0, ValueId::NONE, ValueId::NONE),
            [only] => {
                let whole = best(self, only, ValueId::NONE);
                let parts = (self.op(only) == Op::Add)
                    .then(|| best(self, self.input(only, 0), self.input(only, 1)))
                    .filter(|parts| parts.0 > whole.0 || whole.0 == 0);
                parts.unwrap_or(whole)
            }
            [x, y] => best(self, x, y),
            _ => return None,
        };
        // The carry of one operand is with the other: the compiler reassociated these sums.
        let is_of = |high: ValueId, low: ValueId| {
            let has_half = || self.number(low).is_none() && self.any_term(high, |term| self.joins(term, low));
            high != ValueId::NONE && (self.is_sum_of(high, low) || has_half())
        };
        let is_apart = |high: ValueId, low: ValueId, other: ValueId| !is_of(high, low) && is_of(other, low);
        if is_apart(x, a, y) || is_apart(y, b, x) {
            return None;
        }
        let left = self.pair(like, x, a);
        let right = self.pair(like, y, b);
        Some(self.make(like, Op::Add, 64, &[left, right]))
    }

    /// Recognises reassociated sums.
    fn sum_of_many(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let mut above = self.terms(high);
        let mut summands = self.summands(low, &mut above);
        if summands.len() < 2 {
            return None;
        }
        self.assign(like, &mut summands, &mut above);
        // Terms left above have no lower half.
        if !above.is_empty() {
            let zero = self.function.constant(0, 32);
            let rest = self.added(like, &above);
            match summands.iter_mut().find(|summand| summand.high.is_none()) {
                Some(summand) => summand.high = Some(rest),
                None => summands.push(Summand { high: Some(rest), low: zero, is_negative: false }),
            }
        }
        summands.sort_by_key(|summand| summand.is_negative);
        let mut total = ValueId::NONE;
        for summand in summands {
            let value = self.pair(like, summand.high.unwrap_or(ValueId::NONE), summand.low);
            total = match (total, summand.is_negative) {
                (ValueId::NONE, false) => value,
                (ValueId::NONE, true) => self.make(like, Op::Neg, 64, &[value]),
                (total, false) => self.make(like, Op::Add, 64, &[total, value]),
                (total, true) => self.make(like, Op::Sub, 64, &[total, value]),
            };
        }
        Some(total)
    }

    /// Splits a lower half into terms as long as their carries are above, and removes the carries. A subtrahend
    /// already has its upper half.
    fn summands(&self, low: ValueId, above: &mut Vec<ValueId>) -> Vec<Summand> {
        let mut found = Vec::new();
        let mut list = vec![low];
        while let Some(low) = list.pop() {
            if found.len() + list.len() >= MAX_TERMS {
                found.push(Summand { high: None, low, is_negative: false });
                continue;
            }
            let carries = |this: &Self, term: ValueId| {
                let carry = this.counted(term)?;
                if this.is_carry(carry, low) {
                    return Some(vec![this.input(low, 1), this.input(low, 0)]);
                }
                let part = this.carry_of_three(carry, low)?;
                let rest = if this.input(low, 0) == part { this.input(low, 1) } else { this.input(low, 0) };
                Some(vec![rest, this.input(part, 1), this.input(part, 0)])
            };
            let sum = above.iter().enumerate().find_map(|(index, term)| Some((index, carries(self, *term)?)));
            if let Some((index, parts)) = sum {
                above.remove(index);
                list.extend(parts);
                continue;
            }
            if let Some((a, b, high)) = self.subtracted(low, above) {
                found.push(Summand { high: Some(high), low: b, is_negative: true });
                list.push(a);
                continue;
            }
            found.push(Summand { high: None, low, is_negative: false });
        }
        found
    }

    /// Splits a difference below: returns both sides and the upper half of the subtrahend, which is removed above
    /// together with the carry.
    fn subtracted(&self, low: ValueId, above: &mut Vec<ValueId>) -> Option<(ValueId, ValueId, ValueId)> {
        if self.op(low) != Op::Sub {
            return None;
        }
        let (a, b) = (self.input(low, 0), self.input(low, 1));
        let kept = above.iter().position(|term| {
            self.counted(*term).is_some_and(|condition| {
                self.op(condition) == Op::LessEqual
                    && self.input(condition, 0) == b
                    && self.input(condition, 1) == a
            })
        })?;
        let is_not = |id: ValueId| self.op(id) == Op::Not;
        let belongs = |id: &ValueId| is_not(*id) && self.joins(self.input(*id, 0), b);
        let not = above.iter().position(belongs).or_else(|| above.iter().position(|id| is_not(*id)))?;
        let high = self.input(above[not], 0);
        above.remove(not.max(kept));
        above.remove(not.min(kept));
        Some((a, b, high))
    }

    /// Assigns upper halves to lower ones: first where they are apparently halves of one value, then where they look
    /// like it.
    fn assign(&mut self, like: Value, summands: &mut [Summand], above: &mut Vec<ValueId>) {
        let free = |summand: &&mut Summand| summand.high.is_none();
        for summand in summands.iter_mut().filter(free) {
            let Some(index) = above.iter().position(|high| self.joins(*high, summand.low)) else { continue };
            let mut high = above.remove(index);
            // The other parts of a product or shift.
            while let Some(index) = above.iter().position(|part| self.is_part(*part, summand.low)) {
                let part = above.remove(index);
                high = self.make(like, Op::Add, 32, &[high, part]);
            }
            summand.high = Some(high);
        }
        for summand in summands.iter_mut().filter(free) {
            if let Some(index) = above.iter().position(|high| self.fits(*high, summand.low)) {
                summand.high = Some(above.remove(index));
            }
        }
    }

    /// Returns whether a term above is part of the product or shift below, besides its carry.
    fn is_part(&self, part: ValueId, low: ValueId) -> bool {
        match (self.op(low), self.op(part)) {
            (Op::Mul, Op::Mul) => {
                let (a, b) = (self.input(low, 0), self.input(low, 1));
                [0, 1].into_iter().any(|index| {
                    let factor = self.input(part, index);
                    (factor == a || factor == b) && self.number(factor).is_none()
                })
            }
            _ => self.scaled(low).zip(self.scaled(part)).is_some_and(|(low, part)| low.1 == part.1),
        }
    }

    fn added(&mut self, like: Value, terms: &[ValueId]) -> ValueId {
        let mut sum = terms.first().copied().unwrap_or(ValueId::NONE);
        for &term in terms.iter().skip(1) {
            sum = self.make(like, Op::Add, 32, &[sum, term]);
        }
        sum
    }

    /// Recognises `a - b` below and `c + ~d + (b <= a)` above.
    pub(super) fn difference(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        if !matches!(self.op(low), Op::Sub | Op::Neg | Op::Add) {
            return None;
        }
        let is_kept =
            |term: ValueId| self.counted(term).is_some_and(|kept| matches!(self.op(kept), Op::LessEqual));
        // Most values have none, so check that first.
        if !self.any_term(high, is_kept) {
            return None;
        }
        let mut terms = self.terms(high);
        let carry = terms.iter().position(|term| is_kept(*term))?;
        let carry = self.input(terms.swap_remove(carry), 0);
        let (b, a) = (self.input(carry, 0), self.input(carry, 1));
        let is_difference = match self.op(low) {
            Op::Sub => self.input(low, 0) == a && self.input(low, 1) == b,
            Op::Neg => self.number(a) == Some(0) && self.input(low, 0) == b,
            Op::Add => {
                self.input(low, 0) == a
                    && matches!((self.number(self.input(low, 1)), self.number(b)),
                (Some(sum), Some(b)) if sum.wrapping_add(b) & 0xffff_ffff == 0)
            }
            _ => false,
        };
        if !is_difference {
            return None;
        }
        let not = terms.iter().position(|term| match self.op(*term) {
            Op::Not => true,
            Op::Constant(_) => terms.len() <= 2 && !terms.iter().any(|other| self.op(*other) == Op::Not),
            _ => false,
        })?;
        let subtracted = terms.swap_remove(not);
        let upper = match self.op(subtracted) {
            Op::Constant(number) => self.function.constant(!number & 0xffff_ffff, 32),
            _ => self.input(subtracted, 0),
        };
        let (x, rest) = self.two_terms(like, terms);
        if self.number(rest) != Some(0) {
            return None;
        }
        let left = match self.join(like, x, a) {
            Some(left) => left,
            None => self.make(like, Op::Concat, 64, &[x, a]),
        };
        let right = match self.join(like, upper, b) {
            Some(right) => right,
            None => self.make(like, Op::Concat, 64, &[upper, b]),
        };
        if self.number(left) == Some(0) {
            return Some(self.make(like, Op::Neg, 64, &[right]));
        }
        Some(self.make(like, Op::Sub, 64, &[left, right]))
    }

    /// Returns the sum of `high << 32 | one` and `low` as that of one value and another if `high` and `low` are the halves
    /// of a scaled index.
    pub fn whole_term(&mut self, sum: ValueId) -> Option<ValueId> {
        let like = self.function.values[sum];
        let (a, b) = (self.input(sum, 0), self.input(sum, 1));
        self.whole_term_of(like, a, b).or_else(|| self.whole_term_of(like, b, a))
    }

    fn whole_term_of(&mut self, like: Value, pair: ValueId, wide: ValueId) -> Option<ValueId> {
        if self.op(pair) == Op::Add {
            let inputs = [self.input(pair, 0), self.input(pair, 1)];
            for (index, other) in [(0, 1), (1, 0)] {
                if self.op(inputs[index]) == Op::Concat
                    && let Some(sum) = self.whole_term_of(like, inputs[index], wide)
                {
                    return Some(self.make(like, Op::Add, 64, &[inputs[other], sum]));
                }
            }
        }
        if self.op(pair) != Op::Concat || self.op(wide) != Op::ZeroExtend {
            return None;
        }
        let (high, one, low) = (self.input(pair, 0), self.input(pair, 1), self.input(wide, 0));
        if self.width(one) != 32 || self.width(low) != 32 {
            return None;
        }
        let (extension, source, shift) = self.lost(high, low)?;
        let source = self.make(like, extension, 64, &[source]);
        let factor = self.function.constant(1 << shift, 64);
        let whole = self.make(like, Op::Mul, 64, &[source, factor]);
        let one = self.make(like, Op::ZeroExtend, 64, &[one]);
        Some(self.make(like, Op::Add, 64, &[one, whole]))
    }

    fn two_terms(&mut self, like: Value, terms: Vec<ValueId>) -> (ValueId, ValueId) {
        let zero = self.function.constant(0, 32);
        match terms[..] {
            [] => (zero, zero),
            [only] => (only, zero),
            [first, second] => (first, second),
            [first, ref rest @ ..] => {
                let mut sum = rest[0];
                for &term in &rest[1..] {
                    sum = self.make(like, Op::Add, 32, &[sum, term]);
                }
                (first, sum)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockId, End, Function, NO_ADDRESS, Space};

    #[test]
    fn halves_of_a_sum_of_three_match_in_any_order() {
        let mut function = Function::default();
        let block = function.block(0);
        let [a, b, c] =
            [0, 8, 16].map(|offset| function.raw(Op::Parameter(offset), 64, block, NO_ADDRESS, &[]));
        let mut half = |op: Op, id: ValueId| function.raw(op, 32, block, NO_ADDRESS, &[id]);
        let [al, bl, cl] = [a, b, c].map(|id| half(Op::Low, id));
        let [ah, bh, ch] = [a, b, c].map(|id| half(Op::High, id));
        let mut add = |a: ValueId, b: ValueId| function.raw(Op::Add, 32, block, NO_ADDRESS, &[a, b]);
        let first = add(al, bl);
        let low = add(first, cl);
        let uppers = add(ch, bh);
        let carries = [(al, bl), (first, cl)].map(|(a, b)| {
            let carry = function.raw(Op::Carry, 1, block, NO_ADDRESS, &[a, b]);
            function.raw(Op::ZeroExtend, 32, block, NO_ADDRESS, &[carry])
        });
        let mut add = |a: ValueId, b: ValueId| function.raw(Op::Add, 32, block, NO_ADDRESS, &[a, b]);
        let with_second = add(carries[1], ah);
        let both = add(uppers, with_second);
        let high = add(both, carries[0]);
        let whole = function.raw(Op::Concat, 64, block, NO_ADDRESS, &[high, low]);
        function.add(Op::Store(Space::Generic), 0, block, NO_ADDRESS, &[a, whole]);
        function.blocks[BlockId::ENTRY].end = End::Return;
        let function = crate::pass::after_all(function, &mut crate::sass::idioms());
        let sum = function.input(function.blocks[BlockId::ENTRY].effects[0], 1);
        let mut terms = Vec::new();
        let mut list = vec![sum];
        while let Some(id) = list.pop() {
            match function.op(id) {
                Op::Add => list.extend([function.input(id, 0), function.input(id, 1)]),
                op => terms.push(op),
            }
        }
        terms.sort_by_key(|op| format!("{op:?}"));
        assert_eq!(terms, [Op::Parameter(0), Op::Parameter(16), Op::Parameter(8)]);
    }
}
