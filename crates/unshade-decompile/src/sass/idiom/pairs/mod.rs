//! Recognises 64-bit arithmetic from its halves.
//!
//! On a machine with 32-bit registers, a 64-bit sum is `lo = a + b` with a carry, and `hi = c + d + carry`. Both
//! halves meet in a [`Op::Concat`] where the sum is used. The passes here examine the halves of such values together:
//! `Pairs::join` knows when two halves form one value, and each module handles some operators.

mod compare;
mod linear;
mod product;
mod shift;
mod sum;

use crate::ir::{BlockId, Function, NO_ADDRESS, Op, Value, ValueId};

/// Maximum number of constant factors of a product.
const MAX_FACTORS: usize = 4;

/// Maximum depth of operations that halves are compared to.
const MAX_DEPTH: u32 = 4;

/// The state of recognising pairs in a function.
pub struct Pairs<'a> {
    /// The function.
    pub function: &'a mut Function,
}

impl Pairs<'_> {
    fn make(&mut self, like: Value, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        self.function.raw(op, width, like.block, like.address, inputs)
    }

    fn op(&self, id: ValueId) -> Op {
        if id == ValueId::NONE { Op::Undefined } else { self.function.op(id) }
    }

    fn input(&self, id: ValueId, index: usize) -> ValueId {
        if id == ValueId::NONE { ValueId::NONE } else { self.function.input(id, index) }
    }

    fn width(&self, id: ValueId) -> u8 {
        if id == ValueId::NONE { 0 } else { self.function.width(id) }
    }

    fn number(&self, id: ValueId) -> Option<u64> {
        self.function.number(id)
    }

    /// Returns a simpler form of a concatenation.
    pub fn concat(&mut self, id: ValueId) -> Option<ValueId> {
        let like = self.function.values[id];
        let (high, low) = (self.input(id, 0), self.input(id, 1));
        if like.width != 64 || self.function.width(low) != 32 {
            return None;
        }
        if let Some(joined) = self.join(like, high, low) {
            return Some(joined);
        }
        self.high_product(like, high, low)
            .or_else(|| self.sum(like, high, low))
            .or_else(|| self.difference(like, high, low))
            .or_else(|| self.product(like, high, low))
            .or_else(|| self.shift_left(like, high, low))
            .or_else(|| self.shift_right(like, high, low))
            .or_else(|| self.shift_by_value(like, high, low))
            .or_else(|| self.shift(like, high, low))
            .or_else(|| self.bitwise(like, high, low))
    }

    /// Returns the value of two halves, if it is apparent.
    fn join(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let (h, l) = (self.op(high), self.op(low));
        if h == Op::High && l == Op::Low && self.input(high, 0) == self.input(low, 0) {
            return Some(self.input(high, 0));
        }
        match (h, l) {
            (Op::Constant(h), Op::Constant(l)) => return Some(self.function.constant(h << 32 | l, 64)),
            (Op::Parameter(h), Op::Parameter(l)) if h == l.wrapping_add(4) => {
                return Some(self.function.raw(Op::Parameter(l), 64, BlockId::ENTRY, like.address, &[]));
            }
            (Op::Constant(0), _) => return Some(self.make(like, Op::ZeroExtend, 64, &[low])),
            (Op::Undefined, Op::Undefined) => {
                return Some(self.function.raw(Op::Undefined, 64, BlockId::ENTRY, NO_ADDRESS, &[]));
            }
            _ => {}
        }
        if self.is_sign(high, low) {
            return Some(self.make(like, Op::SignExtend, 64, &[low]));
        }
        if let Some((extension, source, shift)) = self.lost(high, low) {
            let wide = self.make(like, extension, 64, &[source]);
            let factor = self.function.constant(1 << shift, 64);
            return Some(self.make(like, Op::Mul, 64, &[wide, factor]));
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

    /// Returns whether two halves are apparently those of one value: `join` would join them without examining another
    /// pair.
    fn joins(&self, high: ValueId, low: ValueId) -> bool {
        let source = self.input(high, 0);
        match (self.op(high), self.op(low)) {
            (Op::High, Op::Low) if source == self.input(low, 0) => true,
            (Op::Parameter(h), Op::Parameter(l)) => h == l.wrapping_add(4),
            (Op::Constant(_), Op::Constant(_)) => true,
            (Op::High, _) if self.is_low_of(source, low) => true,
            _ => self.is_sign(high, low) || self.lost(high, low).is_some(),
        }
    }

    /// Returns whether a value is all ones if another is negative, and otherwise 0.
    fn is_sign(&self, id: ValueId, of: ValueId) -> bool {
        let condition = self.input(id, 0);
        match self.op(id) {
            Op::Sar => condition == of && self.number(self.input(id, 1)) == Some(31),
            Op::Select => {
                self.op(condition) == Op::SignedLess
                    && self.input(condition, 0) == of
                    && self.number(self.input(condition, 1)) == Some(0)
                    && self.number(self.input(id, 1)) == Some(0xffff_ffff)
                    && self.number(self.input(id, 2)) == Some(0)
            }
            _ => false,
        }
    }

    /// Returns whether a value is the lower half of a 64-bit product, sum or difference, computed separately.
    fn is_low_of(&self, whole: ValueId, low: ValueId) -> bool {
        matches!(self.op(whole), Op::Mul | Op::Neg | Op::Add | Op::Sub)
            && self.width(whole) == 64
            && self.is_low_half(whole, low, MAX_DEPTH)
    }

    /// Returns whether a value is the lower half of a 64-bit value, as far as operations of a depth show it.
    fn is_low_half(&self, whole: ValueId, low: ValueId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let (a, b) = (self.input(whole, 0), self.input(whole, 1));
        let (x, y) = (self.input(low, 0), self.input(low, 1));
        let are_halves =
            |x: ValueId, y: ValueId| self.is_low_half(a, x, depth) && self.is_low_half(b, y, depth);
        let is_same = self.op(low) == self.op(whole);
        if self.op(low) == Op::Low && x == whole {
            return true;
        }
        match self.op(whole) {
            Op::ZeroExtend | Op::SignExtend => a == low && self.width(a) == 32,
            Op::Constant(number) => self.number(low) == Some(number & 0xffff_ffff),
            Op::Concat => b == low,
            Op::Neg => is_same && self.is_low_half(a, x, depth),
            Op::Sub => is_same && are_halves(x, y),
            Op::Add => is_same && (are_halves(x, y) || are_halves(y, x)),
            Op::Mul => match self.number(b) {
                Some(factor) => self.is_multiple(a, factor as u32, low, depth),
                None => is_same && (are_halves(x, y) || are_halves(y, x)),
            },
            _ => false,
        }
    }

    /// Returns whether a value is the lower half of a 64-bit value times a number, perhaps in steps: `v * 10 << 3` is 80
    /// times `v`.
    fn is_multiple(&self, whole: ValueId, factor: u32, low: ValueId, depth: u32) -> bool {
        if let Some(number) = self.number(low) {
            return matches!(self.op(whole), Op::Constant(other) if factor.wrapping_mul(other as u32) == number as u32);
        }
        let (mut id, mut given) = (low, 1_u32);
        for _ in 0..=MAX_FACTORS {
            if given == factor && self.is_low_half(whole, id, depth) {
                return true;
            }
            let Some(number) = self.number(self.input(id, 1)) else { return false };
            given = match self.op(id) {
                Op::Mul => given.wrapping_mul(number as u32),
                Op::Shl if number < 32 => given.wrapping_shl(number as u32),
                _ => return false,
            };
            id = self.input(id, 0);
        }
        false
    }

    /// Joins two phis of a block into a 64-bit phi.
    fn phis(&mut self, high: ValueId, low: ValueId) -> Option<ValueId> {
        let block = self.function.values[high].block;
        let like = self.function.values[low];
        if like.block != block || self.function.inputs(high).len() != self.function.inputs(low).len() {
            return None;
        }
        let phi = self.function.raw(Op::Phi, 64, block, like.address, &[]);
        self.function.blocks[block].phis.push(phi);
        let mut inputs = Vec::new();
        for index in 0..self.function.inputs(high).len() {
            let predecessor = self.function.blocks[block].predecessors.get(index).copied()?;
            let pair = [self.input(high, index), self.input(low, index)];
            let address = self.function.values[pair[1]].address;
            inputs.push(self.function.raw(Op::Concat, 64, predecessor, address, &pair));
        }
        self.function.set_inputs(phi, &inputs);
        let upper = self.function.raw(Op::High, 32, block, like.address, &[phi]);
        let lower = self.function.raw(Op::Low, 32, block, like.address, &[phi]);
        self.function.replace(high, upper);
        self.function.replace(low, lower);
        Some(phi)
    }

    /// Recognises the same bitwise operation in both halves.
    fn bitwise(&mut self, like: Value, high: ValueId, low: ValueId) -> Option<ValueId> {
        let op = self.op(low);
        if !matches!(op, Op::And | Op::Or | Op::Xor | Op::Not) {
            return None;
        }
        let zero = self.function.constant(0, 32);
        let (mut x, mut y) = match self.op(high) {
            other if other == op => (self.input(high, 0), self.input(high, 1)),
            Op::Constant(0) if op == Op::And => (zero, zero),
            // For a masked sum, all upper bits are kept.
            _ if op == Op::And && self.is_sum_of(high, self.input(low, 0)) => {
                let ones = self.function.constant(0xffff_ffff, 32);
                (high, ones)
            }
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
}

/// A half: a value or a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LowPart {
    Value(ValueId),
    Number(u64),
}
