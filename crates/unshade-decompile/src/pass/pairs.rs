//! 64-bit arithmetic out of its halves.
//!
//! A compiler for a machine with 32-bit registers makes a sum of 64 bits of `lo = a + b` with a carry, and
//! `hi = c + d + carry`. Both halves meet where the sum is used, in a [`Op::Concat`]. Here the halves of such a value are
//! looked at together; `Pairs::join` knows what makes two halves one value.

use crate::ir::{Function, Id, NONE, Op, Value};

/// So many summands of an upper half are looked at.
const MAX_TERMS: usize = 8;

/// Looks at halves of values in one function.
pub struct Pairs<'a> {
    /// The function.
    pub function: &'a mut Function,
}

impl Pairs<'_> {
    fn make(&mut self, like: Value, op: Op, width: u8, inputs: &[Id]) -> Id {
        self.function.raw(op, width, like.block, like.address, inputs)
    }

    fn op(&self, id: Id) -> Op {
        self.function.op(id)
    }

    fn input(&self, id: Id, index: usize) -> Id {
        self.function.input(id, index)
    }

    fn number(&self, id: Id) -> Option<u64> {
        self.function.number(id)
    }

    /// What a concatenation is, if it is something simpler.
    pub fn concat(&mut self, id: Id) -> Option<Id> {
        let like = self.function.values[id as usize];
        let (high, low) = (self.input(id, 0), self.input(id, 1));
        if like.width != 64 || self.function.width(low) != 32 {
            return None;
        }
        if let Some(joined) = self.join(like, high, low) {
            return Some(joined);
        }
        self.sum(like, high, low)
            .or_else(|| self.difference(like, high, low))
            .or_else(|| self.product(like, high, low))
            .or_else(|| self.shift(like, high, low))
            .or_else(|| self.bitwise(like, high, low))
    }

    /// The value whose halves these are, if that is plain to see.
    fn join(&mut self, like: Value, high: Id, low: Id) -> Option<Id> {
        let (h, l) = (self.op(high), self.op(low));
        if h == Op::High && l == Op::Low && self.input(high, 0) == self.input(low, 0) {
            return Some(self.input(high, 0));
        }
        match (h, l) {
            (Op::Constant(h), Op::Constant(l)) => return Some(self.function.constant(h << 32 | l, 64)),
            (Op::Parameter(h), Op::Parameter(l)) if h == l.wrapping_add(4) => {
                return Some(self.function.raw(Op::Parameter(l), 64, 0, like.address, &[]));
            }
            (Op::Constant(0), _) => return Some(self.make(like, Op::ZeroExtend, 64, &[low])),
            (Op::Undefined, Op::Undefined) => {
                return Some(self.function.raw(Op::Undefined, 64, 0, NONE, &[]));
            }
            _ => {}
        }
        if h == Op::Sar && self.input(high, 0) == low && self.number(self.input(high, 1)) == Some(31) {
            return Some(self.make(like, Op::SignExtend, 64, &[low]));
        }
        if h == Op::Select {
            let condition = self.input(high, 0);
            let is_sign = self.op(condition) == Op::SignedLess
                && self.input(condition, 0) == low
                && self.number(self.input(condition, 1)) == Some(0)
                && self.number(self.input(high, 1)) == Some(0xffff_ffff)
                && self.number(self.input(high, 2)) == Some(0);
            if is_sign {
                return Some(self.make(like, Op::SignExtend, 64, &[low]));
            }
        }
        if h == Op::High {
            let whole = self.input(high, 0);
            if self.is_low_of(whole, low) {
                return Some(whole);
            }
        }
        if h == Op::Phi && l == Op::Phi {
            return self.phis(high, low);
        }
        if h == Op::Select && l == Op::Select && self.input(high, 0) == self.input(low, 0) {
            let condition = self.input(high, 0);
            let sides = [1, 2].map(|side| {
                let pair = [self.input(high, side), self.input(low, side)];
                self.make(like, Op::Concat, 64, &pair)
            });
            return Some(self.make(like, Op::Select, 64, &[condition, sides[0], sides[1]]));
        }
        None
    }

    /// Whether a value is the lower half of a product or sum of 64 bits, computed apart.
    fn is_low_of(&self, whole: Id, low: Id) -> bool {
        let (op, width) = (self.op(whole), self.function.width(whole));
        if width != 64 {
            return false;
        }
        if op == Op::Neg {
            return self.op(low) == Op::Neg && self.is_low_of(self.input(whole, 0), self.input(low, 0));
        }
        if op != Op::Mul {
            return false;
        }
        let (Some(a), Some(b)) = (self.low_part(self.input(whole, 0)), self.low_part(self.input(whole, 1)))
        else {
            return false;
        };
        let (x, y) = (self.input(low, 0), self.input(low, 1));
        match self.op(low) {
            Op::Mul => self.same(a, x) && self.same(b, y) || self.same(a, y) && self.same(b, x),
            Op::Shl => {
                let power = self.number(y).filter(|shift| *shift < 32).map(|shift| 1_u64 << shift);
                let is_power = |part: Part| matches!(part, Part::Number(number) if Some(number) == power);
                self.same(a, x) && is_power(b) || self.same(b, x) && is_power(a)
            }
            Op::Constant(number) => matches!((a, b), (Part::Number(a), Part::Number(b))
                if a.wrapping_mul(b) as u32 == number as u32),
            _ => match (a, b) {
                (Part::Value(value), Part::Number(1)) | (Part::Number(1), Part::Value(value)) => value == low,
                _ => false,
            },
        }
    }

    fn same(&self, part: Part, id: Id) -> bool {
        match part {
            Part::Value(value) => value == id,
            Part::Number(number) => self.number(id) == Some(number),
        }
    }

    /// What was extended to 64 bits.
    fn low_part(&self, id: Id) -> Option<Part> {
        match self.op(id) {
            Op::ZeroExtend | Op::SignExtend if self.function.width(self.input(id, 0)) == 32 => {
                Some(Part::Value(self.input(id, 0)))
            }
            Op::Constant(number) => Some(Part::Number(number & 0xffff_ffff)),
            _ => None,
        }
    }

    /// Two phis of a block become one of pairs.
    fn phis(&mut self, high: Id, low: Id) -> Option<Id> {
        let block = self.function.values[high as usize].block;
        let like = self.function.values[low as usize];
        if like.block != block || self.function.inputs(high).len() != self.function.inputs(low).len() {
            return None;
        }
        let phi = self.function.raw(Op::Phi, 64, block, like.address, &[]);
        self.function.blocks[block as usize].phis.push(phi);
        let mut inputs = Vec::new();
        for index in 0..self.function.inputs(high).len() {
            let before = self.function.blocks[block as usize].before.get(index).copied()?;
            let pair = [self.input(high, index), self.input(low, index)];
            let address = self.function.values[pair[1] as usize].address;
            inputs.push(self.function.raw(Op::Concat, 64, before, address, &pair));
        }
        self.function.set_inputs(phi, &inputs);
        let upper = self.function.raw(Op::High, 32, block, like.address, &[phi]);
        let lower = self.function.raw(Op::Low, 32, block, like.address, &[phi]);
        self.function.replace(high, upper);
        self.function.replace(low, lower);
        Some(phi)
    }

    /// The summands of an upper half.
    fn terms(&self, id: Id) -> Vec<Id> {
        let mut terms = Vec::new();
        let mut list = vec![id];
        while let Some(id) = list.pop() {
            if self.op(id) == Op::Add && terms.len() + list.len() < MAX_TERMS {
                list.push(self.input(id, 0));
                list.push(self.input(id, 1));
            } else {
                terms.push(id);
            }
        }
        terms
    }

    /// Whether a value is the carry of a sum.
    fn is_carry_of(&self, id: Id, low: Id) -> bool {
        let carry = self.input_or_none(id);
        if self.op(id) != Op::ZeroExtend || carry == NONE || self.op(carry) != Op::Carry {
            return false;
        }
        let (a, b) = (self.input(carry, 0), self.input(carry, 1));
        match (self.op(low), self.number(a), self.number(b)) {
            (Op::Add, ..) => {
                let (x, y) = (self.input(low, 0), self.input(low, 1));
                x == a && y == b || x == b && y == a
            }
            (Op::Constant(low), Some(a), Some(b)) => (a + b) & 0xffff_ffff == low,
            _ => false,
        }
    }

    fn input_or_none(&self, id: Id) -> Id {
        if self.function.inputs(id).is_empty() { NONE } else { self.input(id, 0) }
    }

    /// Whether an upper half has the carry of this lower half in it.
    fn is_sum_of(&self, high: Id, low: Id) -> bool {
        self.op(low) == Op::Add && self.terms(high).iter().any(|term| self.is_carry_of(*term, low))
    }

    /// `a + b` below, `c + d + carry(a, b)` above.
    fn sum(&mut self, like: Value, high: Id, low: Id) -> Option<Id> {
        let (x, y, carry) = self.upper_terms(like, high, low)?;
        let (a, b) = (self.input(carry, 0), self.input(carry, 1));
        let left = self.join(like, x, a).zip(self.join(like, y, b));
        let pair = left.or_else(|| self.join(like, x, b).zip(self.join(like, y, a)));
        let (left, right) = match pair {
            Some(pair) => pair,
            None => {
                let is_straight = self.fits(x, a) || self.fits(y, b);
                let is_crossed = self.number(x) == Some(0) || self.fits(y, a) || self.fits(x, b);
                let (a, b) = if is_crossed && !is_straight { (b, a) } else { (a, b) };
                (self.make(like, Op::Concat, 64, &[x, a]), self.make(like, Op::Concat, 64, &[y, b]))
            }
        };
        Some(self.make(like, Op::Add, 64, &[left, right]))
    }

    /// The two summands of an upper half besides the carry of the lower one, and that carry.
    fn upper_terms(&mut self, like: Value, high: Id, low: Id) -> Option<(Id, Id, Id)> {
        let zero = self.function.constant(0, 32);
        if self.is_carry_of(high, low) {
            return Some((zero, zero, self.input(high, 0)));
        }
        if self.op(high) == Op::Add {
            for (one, other) in [(0, 1), (1, 0)] {
                let (term, rest) = (self.input(high, one), self.input(high, other));
                if !self.is_carry_of(term, low) {
                    continue;
                }
                let carry = self.input(term, 0);
                // The rest may be the upper half of one summand alone, the other having none.
                for mine in [0, 1] {
                    let summand = self.input(carry, mine);
                    if self.is_sum_of(rest, summand) || self.fits(rest, summand) {
                        return Some(if mine == 0 { (rest, zero, carry) } else { (zero, rest, carry) });
                    }
                }
                if self.op(rest) == Op::Add {
                    return Some((self.input(rest, 0), self.input(rest, 1), carry));
                }
                return Some((rest, zero, carry));
            }
        }
        let mut terms = self.terms(high);
        let place = terms.iter().position(|term| self.is_carry_of(*term, low))?;
        let carry = self.input(terms.swap_remove(place), 0);
        let (x, y) = self.two_terms(like, terms);
        Some((x, y, carry))
    }

    /// Whether two values look like halves of one that is not found yet.
    fn fits(&self, high: Id, low: Id) -> bool {
        match (self.op(high), self.op(low)) {
            (Op::Add, Op::Add) | (Op::Phi, Op::Phi) | (Op::Load(_), Op::Load(_)) => {
                self.function.values[high as usize].block == self.function.values[low as usize].block
            }
            _ => false,
        }
    }

    fn two_terms(&mut self, like: Value, terms: Vec<Id>) -> (Id, Id) {
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

    /// `a - b` below, `c + ~d + (b <= a)` above.
    fn difference(&mut self, like: Value, high: Id, low: Id) -> Option<Id> {
        let mut terms = self.terms(high);
        let carry = terms.iter().position(|term| {
            self.op(*term) == Op::ZeroExtend && self.op(self.input(*term, 0)) == Op::LessEqual
        })?;
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

    /// `a * b` below, `high(a * b) + a * d + c * b` above.
    fn product(&mut self, like: Value, high: Id, low: Id) -> Option<Id> {
        let (a, b) = match self.op(low) {
            Op::Mul => (self.input(low, 0), self.input(low, 1)),
            _ => return None,
        };
        let mut terms = self.terms(high);
        let whole = terms.iter().position(|term| {
            let whole = self.input(*term, 0);
            self.op(*term) == Op::High && self.op(whole) == Op::Mul && self.is_low_of(whole, low) && {
                let is_unsigned = |id| matches!(self.op(id), Op::ZeroExtend | Op::Constant(_));
                is_unsigned(self.input(whole, 0)) && is_unsigned(self.input(whole, 1))
            }
        })?;
        terms.swap_remove(whole);
        let (mut c, mut d) = (NONE, NONE);
        for term in terms {
            if self.op(term) != Op::Mul {
                return None;
            }
            let (x, y) = (self.input(term, 0), self.input(term, 1));
            if d == NONE && (x == a || y == a) {
                d = if x == a { y } else { x };
            } else if (x == b || y == b) && c == NONE {
                c = if x == b { y } else { x };
            } else {
                return None;
            }
        }
        // Of a product with itself, both are of the same.
        let zero = self.function.constant(0, 32);
        let (c, d) = (if c == NONE { zero } else { c }, if d == NONE { zero } else { d });
        let left = self.make(like, Op::Concat, 64, &[c, a]);
        let right = self.make(like, Op::Concat, 64, &[d, b]);
        Some(self.make(like, Op::Mul, 64, &[left, right]))
    }

    /// Both halves of a value that is shifted: to the left `high(x << n)` and `low(x) << n`; to the right `high(x) >> n`
    /// and `low(x >> n)`.
    fn shift(&mut self, like: Value, high: Id, low: Id) -> Option<Id> {
        if self.op(high) == Op::High && self.op(low) == Op::Shl {
            let whole = self.input(high, 0);
            if self.op(whole) == Op::Shl
                && self.amount(self.input(whole, 1)) == self.amount(self.input(low, 1))
            {
                let source = self.input(whole, 0);
                let is_low = self.low_is(source, self.input(low, 0));
                return is_low.then_some(whole);
            }
        }
        if self.op(low) == Op::Low && matches!(self.op(high), Op::Shr | Op::Sar) {
            let whole = self.input(low, 0);
            let is_same = matches!(self.op(whole), Op::Shr | Op::Sar)
                && self.amount(self.input(whole, 1)) == self.amount(self.input(high, 1))
                && self.high_is(self.input(whole, 0), self.input(high, 0));
            if is_same {
                let inputs = [self.input(whole, 0), self.input(whole, 1)];
                let op = self.op(high);
                return Some(self.make(like, op, 64, &inputs));
            }
        }
        None
    }

    fn amount(&self, id: Id) -> Part {
        self.number(id).map_or(Part::Value(id), Part::Number)
    }

    fn low_is(&self, whole: Id, low: Id) -> bool {
        match self.op(whole) {
            Op::Concat => self.input(whole, 1) == low,
            Op::ZeroExtend | Op::SignExtend => self.input(whole, 0) == low,
            _ => self.op(low) == Op::Low && self.input(low, 0) == whole,
        }
    }

    fn high_is(&self, whole: Id, high: Id) -> bool {
        match self.op(whole) {
            Op::Concat => self.input(whole, 0) == high,
            Op::ZeroExtend => self.number(high) == Some(0),
            _ => self.op(high) == Op::High && self.input(high, 0) == whole,
        }
    }

    /// The same operation on bits in both halves.
    fn bitwise(&mut self, like: Value, high: Id, low: Id) -> Option<Id> {
        let op = self.op(low);
        if !matches!(op, Op::And | Op::Or | Op::Xor | Op::Not) {
            return None;
        }
        let zero = self.function.constant(0, 32);
        let (mut x, mut y) = match self.op(high) {
            other if other == op => (self.input(high, 0), self.input(high, 1)),
            Op::Constant(0) if op == Op::And => (zero, zero),
            _ => return None,
        };
        let (a, b) = (self.input(low, 0), self.input(low, 1));
        if op != Op::Not && self.join(like, x, a).is_none() && self.join(like, y, a).is_some() {
            (x, y) = (y, x);
        }
        let left = match self.join(like, x, a) {
            Some(left) => left,
            None => self.make(like, Op::Concat, 64, &[x, a]),
        };
        if op == Op::Not {
            return Some(self.make(like, op, 64, &[left]));
        }
        let right = match self.join(like, y, b) {
            Some(right) => right,
            None => self.make(like, Op::Concat, 64, &[y, b]),
        };
        Some(self.make(like, op, 64, &[left, right]))
    }

    /// A comparison of upper halves that goes on from one of the lower halves.
    pub fn comparison(&mut self, id: Id) -> Option<Id> {
        let like = self.function.values[id as usize];
        let (a, b) = (self.input(id, 0), self.input(id, 1));
        match like.op {
            // Upper smaller, or the difference of the uppers smaller than what was borrowed.
            Op::BoolOr => {
                let (first, second) =
                    if self.op(a) == Op::Less && self.op(b) == Op::Less { (a, b) } else { return None };
                self.less(like, first, second).or_else(|| self.less(like, second, first))
            }
            // The sign of the difference, corrected by both overflows.
            Op::BoolXor => self.signed_less(like, a, b).or_else(|| self.signed_less(like, b, a)),
            Op::BoolAnd => self.equal(like, a, b).or_else(|| self.equal(like, b, a)),
            _ => None,
        }
    }

    /// The halves below of `!(b <= a)`: what was borrowed.
    fn borrow(&self, id: Id) -> Option<(Id, Id)> {
        let mut at = id;
        if self.op(at) == Op::ZeroExtend {
            at = self.input(at, 0);
        }
        match self.op(at) {
            Op::Less => Some((self.input(at, 0), self.input(at, 1))),
            Op::BoolNot if self.op(self.input(at, 0)) == Op::LessEqual => {
                let inner = self.input(at, 0);
                Some((self.input(inner, 1), self.input(inner, 0)))
            }
            _ => None,
        }
    }

    fn wide(&mut self, like: Value, op: Op, highs: (Id, Id), lows: (Id, Id)) -> Id {
        let left = self.make(like, Op::Concat, 64, &[highs.0, lows.0]);
        let right = self.make(like, Op::Concat, 64, &[highs.1, lows.1]);
        self.make(like, op, 1, &[left, right])
    }

    fn less(&mut self, like: Value, upper: Id, rest: Id) -> Option<Id> {
        let (x, y) = (self.input(upper, 0), self.input(upper, 1));
        let (difference, borrow) = (self.input(rest, 0), self.input(rest, 1));
        let lows = self.borrow(borrow)?;
        self.is_difference(difference, x, y).then(|| self.wide(like, Op::Less, (x, y), lows))
    }

    fn is_difference(&self, id: Id, x: Id, y: Id) -> bool {
        match self.op(id) {
            Op::Sub => self.input(id, 0) == x && self.input(id, 1) == y,
            Op::Add => {
                self.input(id, 0) == x
                    && matches!((self.number(self.input(id, 1)), self.number(y)),
                (Some(sum), Some(y)) if sum.wrapping_add(y) & 0xffff_ffff == 0)
            }
            Op::Neg => self.number(x) == Some(0) && self.input(id, 0) == y,
            _ => id == x && self.number(y) == Some(0),
        }
    }

    fn signed_less(&mut self, like: Value, sign: Id, overflow: Id) -> Option<Id> {
        if self.op(sign) != Op::SignedLess || self.number(self.input(sign, 1)) != Some(0) {
            return None;
        }
        let rest = self.input(sign, 0);
        if self.op(rest) != Op::Sub {
            return None;
        }
        let lows = self.borrow(self.input(rest, 1))?;
        let difference = self.input(rest, 0);
        let borrow = self.input(rest, 1);
        let is_second = |id| {
            self.op(id) == Op::SignedBorrow && self.input(id, 0) == difference && self.input(id, 1) == borrow
        };
        if is_second(overflow) {
            let zero = self.function.constant(0, 32);
            return Some(self.wide(like, Op::SignedLess, (difference, zero), lows));
        }
        if self.op(overflow) != Op::BoolXor {
            return None;
        }
        let (one, two) = (self.input(overflow, 0), self.input(overflow, 1));
        for (first, second) in [(one, two), (two, one)] {
            if self.op(first) == Op::SignedBorrow && is_second(second) {
                let (x, y) = (self.input(first, 0), self.input(first, 1));
                if self.is_difference(difference, x, y) {
                    return Some(self.wide(like, Op::SignedLess, (x, y), lows));
                }
            }
        }
        None
    }

    /// `x - y - borrow == 0` above and `a == b` below.
    fn equal(&mut self, like: Value, upper: Id, lower: Id) -> Option<Id> {
        if self.op(upper) != Op::Equal || self.op(lower) != Op::Equal {
            return None;
        }
        let (a, b) = (self.input(lower, 0), self.input(lower, 1));
        let (x, y) = (self.input(upper, 0), self.input(upper, 1));
        let (difference, borrow) = if self.number(y) == Some(0) && self.op(x) == Op::Sub {
            (self.input(x, 0), self.input(x, 1))
        } else {
            (x, y)
        };
        let lows = self.borrow(borrow)?;
        let is_same = lows == (a, b) || lows == (b, a);
        let is_difference = self.number(b) == Some(0) && self.is_difference(a, lows.0, lows.1);
        if !is_same && !is_difference {
            return None;
        }
        let zero = self.function.constant(0, 32);
        let highs = match self.op(difference) {
            Op::Sub => (self.input(difference, 0), self.input(difference, 1)),
            _ => (difference, zero),
        };
        Some(self.wide(like, Op::Equal, highs, lows))
    }
}

/// A half: a value or a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Value(Id),
    Number(u64),
}
