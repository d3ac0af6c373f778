//! Values that are another way to write simpler ones, and values that are there already.
//!
//! Each value is looked at with its inputs settled; `rewrite` says what it is instead. A pure value of the same operator
//! and inputs that dominates it takes its place.

use super::pairs::Pairs;
use crate::ir::dominators::Graph;
use crate::ir::fold::fold;
use crate::ir::hash::Table;
use crate::ir::{Function, Id, Intrinsic, NONE, Op};

/// A pure value: operator, width, inputs.
type Key = (Op, u8, [Id; 4]);

/// Goes over all values once; whether anything changed. Sums are put together anew only where that is said.
pub fn run(function: &mut Function, graph: &Graph, reassociate: bool) -> bool {
    function.settle();
    let used = super::used(function);
    let mut known: Table<Key, Id> = Table::default();
    known.reserve(function.values.len());
    let mut changed = false;
    let mut id = 0;
    while (id as usize) < function.values.len() {
        let at = id;
        id += 1;
        if function.is_replaced(at)
            || used.get(at as usize) == Some(&false)
            || graph.place.get(function.values[at as usize].block as usize).is_none_or(|place| *place == NONE)
        {
            continue;
        }
        if let Some(other) = rewrite(function, at, reassociate)
            && function.resolve(other) != at
        {
            function.replace(at, other);
            changed = true;
            continue;
        }
        changed |= number(function, graph, &mut known, at);
    }
    function.settle();
    changed
}

/// Value numbering: whether the value was replaced by one that is the same. Values with the same inputs are of the same
/// block here, so that the first of them will do.
fn number(function: &mut Function, graph: &Graph, known: &mut Table<Key, Id>, id: Id) -> bool {
    let value = function.values[id as usize];
    let count = function.inputs(id).len();
    if value.op.is_effect() || matches!(value.op, Op::Phi | Op::Undefined | Op::Result(_)) || count > 4 {
        return false;
    }
    let mut inputs = [NONE; 4];
    for (index, input) in inputs.iter_mut().enumerate().take(count) {
        *input = function.input(id, index);
    }
    if is_commutative(value.op) && inputs[0] > inputs[1] {
        inputs.swap(0, 1);
    }
    let other = *known.entry((value.op, value.width, inputs)).or_insert(id);
    if other == id || function.is_replaced(other) {
        return false;
    }
    let block = function.values[other as usize].block;
    let is_same = graph.is_reached(block) && graph.dominates(block, value.block);
    if is_same {
        function.replace(id, other);
    }
    is_same
}

fn is_commutative(op: Op) -> bool {
    matches!(
        op,
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

/// The comparison that holds where this one does not.
fn contrary(op: Op) -> Option<(Op, bool)> {
    Some(match op {
        Op::Equal => (Op::NotEqual, false),
        Op::NotEqual => (Op::Equal, false),
        Op::Less => (Op::LessEqual, true),
        Op::LessEqual => (Op::Less, true),
        Op::SignedLess => (Op::SignedLessEqual, true),
        Op::SignedLessEqual => (Op::SignedLess, true),
        _ => return None,
    })
}

struct Rewriter<'a> {
    function: &'a mut Function,
    id: Id,
}

/// What a value is instead.
fn rewrite(function: &mut Function, id: Id, reassociate: bool) -> Option<Id> {
    let value = function.values[id as usize];
    let count = function.inputs(id).len();
    if count == 0 {
        return None;
    }
    let (a, b, c) = (function.input(id, 0), function.input(id, 1), function.input(id, 2));
    let (x, y) = (function.number(a), if b == NONE { None } else { function.number(b) });
    if !value.op.is_effect()
        && count <= 2
        && let Some(x) = x
        && (count == 1 || y.is_some())
        && let Some(result) = fold(value.op, &[x, y.unwrap_or(0)], function.width(a), value.width)
    {
        return Some(function.constant(result, value.width));
    }
    let mut at = Rewriter { function, id };
    if is_commutative(value.op) && x.is_some() && y.is_none() {
        at.function.set_inputs(id, &[b, a]);
        return rewrite(at.function, id, reassociate);
    }
    match value.op {
        Op::Phi => at.phi(),
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
        | Op::Sar => at.integer(value.op, value.width, a, b, x, y, reassociate),
        Op::Equal
        | Op::NotEqual
        | Op::Less
        | Op::LessEqual
        | Op::SignedLess
        | Op::SignedLessEqual
        | Op::Carry
        | Op::SignedCarry
        | Op::SignedBorrow => at.comparison(value.op, a, b, y),
        Op::BoolAnd | Op::BoolOr | Op::BoolXor | Op::BoolNot => at.truth(value.op, a, b, y),
        Op::ZeroExtend | Op::SignExtend | Op::Low | Op::High | Op::Concat => {
            at.extension(value.op, value.width, a, b)
        }
        Op::Select => at.select(value.width, a, b, c),
        Op::SignedToFloat if at.op(a) == Op::SignExtend => {
            Some(at.make(Op::SignedToFloat, value.width, &[at.input(a, 0)]))
        }
        Op::SignedToFloat | Op::UnsignedToFloat if at.op(a) == Op::ZeroExtend => {
            let inner = at.input(a, 0);
            Some(at.make(Op::UnsignedToFloat, value.width, &[inner]))
        }
        Op::Call(call) if call.entry().name == "min.u" && at.is_below(a, y) => Some(a),
        op => at.floats(op),
    }
}

impl Rewriter<'_> {
    fn op(&self, id: Id) -> Op {
        self.function.op(id)
    }

    fn input(&self, id: Id, index: usize) -> Id {
        self.function.input(id, index)
    }

    fn width(&self, id: Id) -> u8 {
        self.function.width(id)
    }

    fn num(&self, id: Id) -> Option<u64> {
        if id == NONE { None } else { self.function.number(id) }
    }

    fn make(&mut self, op: Op, width: u8, inputs: &[Id]) -> Id {
        let like = self.function.values[self.id as usize];
        self.function.raw(op, width, like.block, like.address, inputs)
    }

    fn constant(&mut self, value: u64, width: u8) -> Id {
        self.function.constant(value, width)
    }

    fn call(&mut self, name: &str, width: u8, inputs: &[Id]) -> Option<Id> {
        Intrinsic::by_name(name).map(|intrinsic| self.make(Op::Call(intrinsic), width, inputs))
    }

    /// Whether a value is masked to no more than a number.
    fn is_below(&self, id: Id, most: Option<u64>) -> bool {
        let mask = if self.op(id) == Op::And { self.num(self.input(id, 1)) } else { None };
        mask.zip(most).is_some_and(|(mask, most)| mask <= most)
    }

    fn phi(&mut self) -> Option<Id> {
        let mut same = NONE;
        for index in 0..self.function.inputs(self.id).len() {
            let input = self.input(self.id, index);
            if input == self.id || input == same {
                continue;
            }
            // The same number may be there twice.
            if same != NONE && (self.num(input).is_none() || self.num(input) != self.num(same)) {
                return None;
            }
            same = input;
        }
        (same != NONE).then_some(same)
    }

    #[expect(clippy::too_many_arguments, reason = "an operator, its inputs, and what is known of them")]
    fn integer(
        &mut self,
        op: Op,
        width: u8,
        a: Id,
        b: Id,
        x: Option<u64>,
        y: Option<u64>,
        reassociate: bool,
    ) -> Option<Id> {
        let ones = crate::ir::fold::masked(u64::MAX, width);
        match (op, y) {
            (Op::Add | Op::Or | Op::Xor | Op::Sub | Op::Shl | Op::Shr | Op::Sar, Some(0)) => return Some(a),
            (Op::Mul | Op::And, Some(0)) => return Some(b),
            (Op::Mul, Some(1)) => return Some(a),
            (Op::And, Some(y)) if y == ones => return Some(a),
            (Op::Or, Some(y)) if y == ones => return Some(b),
            (Op::Xor, Some(y)) if y == ones => return Some(self.make(Op::Not, width, &[a])),
            (Op::Sub, Some(y)) if reassociate => {
                let negated = self.constant(y.wrapping_neg(), width);
                return Some(self.make(Op::Add, width, &[a, negated]));
            }
            (Op::Mul, Some(y)) if y == ones && reassociate => return Some(self.make(Op::Neg, width, &[a])),
            _ => {}
        }
        let is_double = |this: &Self, inner: Op| this.op(a) == inner && this.num(this.input(a, 1)).is_some();
        match op {
            Op::Sub if a == b => return Some(self.constant(0, width)),
            Op::Sub if x == Some(0) && reassociate => return Some(self.make(Op::Neg, width, &[b])),
            Op::And | Op::Or if a == b => return Some(a),
            Op::Xor if a == b => return Some(self.constant(0, width)),
            Op::Neg if self.op(a) == Op::Neg => return Some(self.input(a, 0)),
            Op::Not if self.op(a) == Op::Not => return Some(self.input(a, 0)),
            Op::Neg if self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 1 => {
                let condition = self.input(a, 0);
                let (yes, no) = (self.constant(ones, width), self.constant(0, width));
                return Some(self.make(Op::Select, width, &[condition, yes, no]));
            }
            Op::Mul if self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 1 && y.is_some() => {
                let condition = self.input(a, 0);
                let no = self.constant(0, width);
                return Some(self.make(Op::Select, width, &[condition, b, no]));
            }
            Op::Add if reassociate && width == 32 && y.is_none() && self.adds_quotient(a, b).is_some() => {
                return self.adds_quotient(a, b);
            }
            Op::Add if reassociate && is_double(self, Op::Add) && y.is_some() => {
                let inner = self.input(a, 0);
                let sum = self.num(self.input(a, 1))?.wrapping_add(y?);
                let sum = self.constant(sum, width);
                return Some(self.make(Op::Add, width, &[inner, sum]));
            }
            // Numbers go outwards, where others join them.
            Op::Add if reassociate && width == 64 && self.op(b) == Op::Add && y.is_none() => {
                let (inner, offset) = (self.input(b, 0), self.input(b, 1));
                if self.num(offset).is_some() {
                    let sum = self.make(Op::Add, width, &[a, inner]);
                    return Some(self.make(Op::Add, width, &[sum, offset]));
                }
            }
            Op::Add if reassociate && width == 64 && is_double(self, Op::Add) => {
                let (inner, offset) = (self.input(a, 0), self.input(a, 1));
                let sum = self.make(Op::Add, width, &[inner, b]);
                return Some(self.make(Op::Add, width, &[sum, offset]));
            }
            Op::Add if reassociate && self.op(b) == Op::Neg => {
                let inner = self.input(b, 0);
                return Some(self.make(Op::Sub, width, &[a, inner]));
            }
            Op::Add if reassociate && self.op(a) == Op::Neg && y.is_none() => {
                let inner = self.input(a, 0);
                return Some(self.make(Op::Sub, width, &[b, inner]));
            }
            Op::And | Op::Or | Op::Xor if is_double(self, op) && y.is_some() => {
                let inner = self.input(a, 0);
                let both = fold(op, &[self.num(self.input(a, 1))?, y?], width, width)?;
                let both = self.constant(both, width);
                return Some(self.make(op, width, &[inner, both]));
            }
            Op::Shl | Op::Shr => return self.shift(op, width, a, b, reassociate),
            _ => {}
        }
        None
    }

    fn adds_quotient(&mut self, a: Id, b: Id) -> Option<Id> {
        self.divided_signed(a, b)
            .or_else(|| self.divided_signed(b, a))
            .or_else(|| self.remainder(a, b))
            .or_else(|| self.remainder(b, a))
    }

    fn shift(&mut self, op: Op, width: u8, a: Id, b: Id, reassociate: bool) -> Option<Id> {
        // An amount that is clamped to the width: shifting by more gives nothing anyway.
        if self.op(b) == Op::Select {
            let (condition, most, amount) = (self.input(b, 0), self.input(b, 1), self.input(b, 2));
            if self.op(condition) == Op::Less
                && self.num(most).is_some_and(|most| most >= u64::from(width))
                && self.input(condition, 1) == amount
                && self.num(self.input(condition, 0)) == self.num(most)
            {
                return Some(self.make(op, width, &[a, amount]));
            }
        }
        if let Op::Call(call) = self.op(b)
            && call.entry().name == "min.u"
            && self.num(self.input(b, 1)).is_some_and(|most| most >= u64::from(width))
        {
            let amount = self.input(b, 0);
            return Some(self.make(op, width, &[a, amount]));
        }
        let amount = self.num(b)?;
        if op == Op::Shr
            && reassociate
            && let Some(found) = self.divided(a, amount)
        {
            return Some(found);
        }
        if op == Op::Shl && reassociate && width == 64 && amount < 64 {
            let factor = self.constant(1 << amount, 64);
            return Some(self.make(Op::Mul, 64, &[a, factor]));
        }
        if self.op(a) == op
            && let Some(first) = self.num(self.input(a, 1))
            && first + amount < u64::from(width)
        {
            let inner = self.input(a, 0);
            let sum = self.constant(first + amount, self.width(b));
            return Some(self.make(op, width, &[inner, sum]));
        }
        None
    }

    /// The upper half of a product with a magic number, shifted to the right, is a quotient. With `m` the number, `s` the
    /// shift and `d` the divisor, that holds for all numbers of 32 bits if `m * d - 2^(32 + s)` is at least 0 and at most
    /// `2^s` (Granlund and Montgomery, "Division by Invariant Integers using Multiplication").
    fn divided(&mut self, high: Id, shift: u64) -> Option<Id> {
        let product = self.input(high, 0);
        if self.op(high) != Op::High || self.op(product) != Op::Mul || self.width(high) != 32 || shift >= 32 {
            return None;
        }
        let (factor, magic) = (self.input(product, 0), self.num(self.input(product, 1))?);
        if self.op(factor) != Op::ZeroExtend || magic < 1 << 16 || magic >> 32 != 0 {
            return None;
        }
        let power = 1_u128 << (32 + shift);
        let divisor = power.div_ceil(u128::from(magic));
        let found = [divisor, divisor.saturating_sub(1)].into_iter().find(|divisor| {
            (u128::from(magic) * divisor).checked_sub(power).is_some_and(|rest| rest <= 1 << shift)
        })?;
        self.quotient(Op::Udiv, factor, found)
    }

    /// The same with a sign: `(mulhi(x, m) >> s) + (mulhi(x, m) >>> 31)`.
    fn divided_signed(&mut self, a: Id, b: Id) -> Option<Id> {
        let (high, shift) = match self.op(a) {
            Op::Sar => (self.input(a, 0), self.num(self.input(a, 1))?),
            _ => (a, 0),
        };
        let product = self.input(high, 0);
        if self.op(high) != Op::High || self.op(product) != Op::Mul || self.width(high) != 32 || shift >= 31 {
            return None;
        }
        let is_sign = |this: &Self| {
            let double = this.input(b, 0);
            this.op(b) == Op::Shr && double == high && this.num(this.input(b, 1)) == Some(31)
                || this.op(b) == Op::High
                    && this.op(double) == Op::Mul
                    && this.op(this.input(double, 0)) == Op::ZeroExtend
                    && this.input(this.input(double, 0), 0) == high
                    && this.num(this.input(double, 1)) == Some(2)
        };
        let (factor, magic) = (self.input(product, 0), self.num(self.input(product, 1))?);
        if !is_sign(self) || self.op(factor) != Op::SignExtend || !(1 << 16..1 << 31).contains(&magic) {
            return None;
        }
        let power = 1_u128 << (32 + shift);
        let divisor = power / u128::from(magic);
        let found = [divisor, divisor + 1].into_iter().find(|divisor| {
            (u128::from(magic) * divisor)
                .checked_sub(power)
                .is_some_and(|rest| rest >= 1 && rest <= 1 << (shift + 1))
        })?;
        self.quotient(Op::Sdiv, factor, found)
    }

    /// A number that was widened to be multiplied, divided by what the product stands for.
    fn quotient(&mut self, op: Op, widened: Id, divisor: u128) -> Option<Id> {
        let number = self.input(widened, 0);
        if !(3..1 << 31).contains(&divisor) || self.width(number) != 32 {
            return None;
        }
        let divisor = self.constant(u64::try_from(divisor).ok()?, 32);
        Some(self.make(op, 32, &[number, divisor]))
    }

    /// `x - x / d * d`, in the forms that it is given.
    fn remainder(&mut self, product: Id, number: Id) -> Option<Id> {
        if self.op(product) != Op::Mul {
            return None;
        }
        let (quotient, factor) = (self.input(product, 0), self.num(self.input(product, 1))?);
        let op = match self.op(quotient) {
            Op::Udiv => Op::Urem,
            Op::Sdiv => Op::Srem,
            _ => return None,
        };
        let divisor = self.num(self.input(quotient, 1))?;
        let is_negated = factor.wrapping_add(divisor) & 0xffff_ffff == 0;
        (is_negated && self.input(quotient, 0) == number && self.width(number) == 32).then(|| {
            let divisor = self.constant(divisor, 32);
            self.make(op, 32, &[number, divisor])
        })
    }

    fn comparison(&mut self, op: Op, a: Id, b: Id, y: Option<u64>) -> Option<Id> {
        // What the thread is told of its place is small: it is the same with a sign and without.
        let is_small = |this: &Self, id: Id| match this.op(id) {
            Op::Special(special) => special.is_small(),
            Op::Constant(number) => number < 1 << 31,
            _ => false,
        };
        if matches!(op, Op::SignedLess | Op::SignedLessEqual) && is_small(self, a) && is_small(self, b) {
            let op = if op == Op::SignedLess { Op::Less } else { Op::LessEqual };
            return Some(self.make(op, 1, &[a, b]));
        }
        if matches!(op, Op::SignedBorrow | Op::Carry | Op::SignedCarry) {
            return (y == Some(0)).then(|| self.constant(0, 1));
        }
        if a == b {
            let holds = matches!(op, Op::Equal | Op::LessEqual | Op::SignedLessEqual);
            return Some(self.constant(u64::from(holds), 1));
        }
        let is_equality = matches!(op, Op::Equal | Op::NotEqual);
        if is_equality && y == Some(0) && self.op(a) == Op::Sub {
            let (left, right) = (self.input(a, 0), self.input(a, 1));
            return Some(self.make(op, 1, &[left, right]));
        }
        if is_equality && y == Some(0) && self.op(a) == Op::Xor {
            let (left, right) = (self.input(a, 0), self.input(a, 1));
            return Some(self.make(op, 1, &[left, right]));
        }
        if is_equality && self.op(a) == Op::Select {
            let sides = (self.num(self.input(a, 1)), self.num(self.input(a, 2)));
            if let ((Some(yes), Some(no)), Some(y)) = (sides, y) {
                let condition = self.input(a, 0);
                let holds = [yes == y, no == y].map(|same| same == (op == Op::Equal));
                return Some(match holds {
                    [true, true] => self.constant(1, 1),
                    [false, false] => self.constant(0, 1),
                    [true, false] => condition,
                    [false, true] => self.make(Op::BoolNot, 1, &[condition]),
                });
            }
        }
        if is_equality && self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 1 {
            let condition = self.input(a, 0);
            let holds = match y? {
                0 => op == Op::NotEqual,
                1 => op == Op::Equal,
                _ => return None,
            };
            return Some(if holds { condition } else { self.make(Op::BoolNot, 1, &[condition]) });
        }
        // A number extended, compared with one that fits.
        if self.op(a) == Op::ZeroExtend
            && is_equality
            && let Some(y) = y
            && y <= crate::ir::fold::masked(u64::MAX, self.width(self.input(a, 0)))
        {
            let inner = self.input(a, 0);
            let number = self.constant(y, self.width(inner));
            return Some(self.make(op, 1, &[inner, number]));
        }
        match (op, y) {
            (Op::Less, Some(1)) => {
                let zero = self.constant(0, self.width(a));
                Some(self.make(Op::Equal, 1, &[a, zero]))
            }
            (Op::Less, Some(0)) => Some(self.constant(0, 1)),
            _ if self.num(a) == Some(0) && op == Op::Less => Some(self.make(Op::NotEqual, 1, &[b, a])),
            _ if self.num(a) == Some(0) && op == Op::LessEqual => Some(self.constant(1, 1)),
            _ => None,
        }
    }

    fn truth(&mut self, op: Op, a: Id, b: Id, y: Option<u64>) -> Option<Id> {
        match (op, y) {
            (Op::BoolAnd, Some(1)) | (Op::BoolOr | Op::BoolXor, Some(0)) => return Some(a),
            (Op::BoolAnd, Some(0)) | (Op::BoolOr, Some(1)) => return Some(b),
            (Op::BoolXor, Some(1)) => return Some(self.make(Op::BoolNot, 1, &[a])),
            _ => {}
        }
        if op == Op::BoolNot {
            if self.op(a) == Op::BoolNot {
                return Some(self.input(a, 0));
            }
            if let Some((other, swapped)) = contrary(self.op(a)) {
                let (left, right) = (self.input(a, 0), self.input(a, 1));
                let inputs = if swapped { [right, left] } else { [left, right] };
                return Some(self.make(other, 1, &inputs));
            }
            // Not of both: one or the other not, where these are comparisons that turn round.
            if matches!(self.op(a), Op::BoolAnd | Op::BoolOr) {
                let (left, right) = (self.input(a, 0), self.input(a, 1));
                let turns =
                    |this: &Self, id| contrary(this.op(id)).is_some() || matches!(this.op(id), Op::BoolNot);
                if turns(self, left) && turns(self, right) {
                    let left = self.make(Op::BoolNot, 1, &[left]);
                    let right = self.make(Op::BoolNot, 1, &[right]);
                    let other = if self.op(a) == Op::BoolAnd { Op::BoolOr } else { Op::BoolAnd };
                    return Some(self.make(other, 1, &[left, right]));
                }
            }
            return None;
        }
        if a == b {
            return Some(if op == Op::BoolXor { self.constant(0, 1) } else { a });
        }
        let is_contrary = self.op(a) == Op::BoolNot && self.input(a, 0) == b
            || self.op(b) == Op::BoolNot && self.input(b, 0) == a;
        if is_contrary {
            return Some(self.constant(u64::from(op != Op::BoolAnd), 1));
        }
        if let Some(found) = (Pairs { function: self.function }).comparison(self.id) {
            return Some(found);
        }
        // `a || !a && b` is `a || b`.
        for (one, other) in [(a, b), (b, a)] {
            let inner = if op == Op::BoolOr { Op::BoolAnd } else { Op::BoolOr };
            if op != Op::BoolXor && self.op(other) == inner {
                for (first, second) in [(0, 1), (1, 0)] {
                    let part = self.input(other, first);
                    if part == one {
                        return Some(one);
                    }
                    if self.op(part) == Op::BoolNot && self.input(part, 0) == one {
                        let rest = self.input(other, second);
                        return Some(self.make(op, 1, &[one, rest]));
                    }
                }
            }
        }
        if op == Op::BoolOr {
            return self.less_or_equal(a, b).or_else(|| self.less_or_equal(b, a));
        }
        None
    }

    /// `a < b || a == b`.
    fn less_or_equal(&mut self, less: Id, equal: Id) -> Option<Id> {
        let op = match self.op(less) {
            Op::Less => Op::LessEqual,
            Op::SignedLess => Op::SignedLessEqual,
            _ => return None,
        };
        if self.op(equal) != Op::Equal {
            return None;
        }
        let (a, b) = (self.input(less, 0), self.input(less, 1));
        let (x, y) = (self.input(equal, 0), self.input(equal, 1));
        (a == x && b == y || a == y && b == x).then(|| self.make(op, 1, &[a, b]))
    }

    fn extension(&mut self, op: Op, width: u8, a: Id, b: Id) -> Option<Id> {
        let inner_op = self.op(a);
        let inner = self.input(a, 0);
        match op {
            Op::Concat => return (Pairs { function: self.function }).concat(self.id),
            Op::ZeroExtend | Op::SignExtend | Op::Low if self.width(a) == width => return Some(a),
            Op::SignExtend if matches!(inner_op, Op::Special(special) if special.is_small()) => {
                return Some(self.make(Op::ZeroExtend, width, &[a]));
            }
            Op::ZeroExtend | Op::SignExtend if inner_op == Op::ZeroExtend => {
                return Some(self.make(Op::ZeroExtend, width, &[inner]));
            }
            Op::SignExtend if inner_op == Op::SignExtend => {
                return Some(self.make(Op::SignExtend, width, &[inner]));
            }
            Op::Low if matches!(inner_op, Op::ZeroExtend | Op::SignExtend) => {
                return Some(match self.width(inner).cmp(&width) {
                    std::cmp::Ordering::Equal => inner,
                    std::cmp::Ordering::Greater => self.make(Op::Low, width, &[inner]),
                    std::cmp::Ordering::Less => self.make(inner_op, width, &[inner]),
                });
            }
            Op::Low if inner_op == Op::Low => return Some(self.make(Op::Low, width, &[inner])),
            Op::Low if inner_op == Op::Concat => {
                let low = self.input(a, 1);
                return match self.width(low).cmp(&width) {
                    std::cmp::Ordering::Equal => Some(low),
                    std::cmp::Ordering::Greater => Some(self.make(Op::Low, width, &[low])),
                    std::cmp::Ordering::Less => None,
                };
            }
            Op::Low if width == 32 => return self.low_of_wide(a),
            Op::High if inner_op == Op::Concat && self.width(self.input(a, 1)) == width => {
                return Some(inner);
            }
            Op::High if inner_op == Op::ZeroExtend && self.width(inner) <= width => {
                return Some(self.constant(0, width));
            }
            Op::High if inner_op == Op::SignExtend && self.width(inner) == width && width == 32 => {
                let top = self.constant(31, 32);
                return Some(self.make(Op::Sar, width, &[inner, top]));
            }
            // A shift to the left of what has nothing below.
            Op::High
                if inner_op == Op::Shl
                    && width == 32
                    && self.op(inner) == Op::Concat
                    && self.num(self.input(inner, 1)) == Some(0) =>
            {
                let (upper, amount) = (self.input(inner, 0), self.input(a, 1));
                return Some(self.make(Op::Shl, 32, &[upper, amount]));
            }
            _ => {}
        }
        let _ = b;
        None
    }

    /// The lower half of a 64-bit result needs only the lower halves of what it is made of.
    fn low_of_wide(&mut self, wide: Id) -> Option<Id> {
        let op = self.op(wide);
        let (a, b) = (self.input(wide, 0), self.input(wide, 1));
        match op {
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor => {
                let is_narrow = |this: &Self, id| {
                    matches!(this.op(id), Op::ZeroExtend | Op::SignExtend | Op::Constant(_) | Op::Concat)
                };
                if !is_narrow(self, a) || !is_narrow(self, b) {
                    return None;
                }
                let low = self.make(Op::Low, 32, &[a]);
                let other = self.make(Op::Low, 32, &[b]);
                Some(self.make(op, 32, &[low, other]))
            }
            Op::Shr if self.op(a) == Op::ZeroExtend && self.width(self.input(a, 0)) == 32 => {
                let inner = self.input(a, 0);
                Some(self.make(Op::Shr, 32, &[inner, b]))
            }
            _ => None,
        }
    }

    fn select(&mut self, width: u8, condition: Id, yes: Id, no: Id) -> Option<Id> {
        if let Some(known) = self.num(condition) {
            return Some(if known != 0 { yes } else { no });
        }
        if yes == no || self.num(yes).is_some() && self.num(yes) == self.num(no) {
            return Some(yes);
        }
        if self.op(condition) == Op::BoolNot {
            let inner = self.input(condition, 0);
            return Some(self.make(Op::Select, width, &[inner, no, yes]));
        }
        if width == 1 {
            match (self.num(yes), self.num(no)) {
                (Some(1), _) => return Some(self.make(Op::BoolOr, 1, &[condition, no])),
                (_, Some(0)) => return Some(self.make(Op::BoolAnd, 1, &[condition, yes])),
                (Some(0), _) => {
                    let not = self.make(Op::BoolNot, 1, &[condition]);
                    return Some(self.make(Op::BoolAnd, 1, &[not, no]));
                }
                (_, Some(1)) => {
                    let not = self.make(Op::BoolNot, 1, &[condition]);
                    return Some(self.make(Op::BoolOr, 1, &[not, yes]));
                }
                _ => {}
            }
        }
        // A choice by the same condition inside of one side.
        if self.op(yes) == Op::Select && self.input(yes, 0) == condition {
            let inner = self.input(yes, 1);
            return Some(self.make(Op::Select, width, &[condition, inner, no]));
        }
        if self.op(no) == Op::Select && self.input(no, 0) == condition {
            let inner = self.input(no, 2);
            return Some(self.make(Op::Select, width, &[condition, yes, inner]));
        }
        self.smaller_or_larger(width, condition, yes, no)
    }

    /// `a < b ? a : b` and its like, and `a < 0 ? -a : a`.
    fn smaller_or_larger(&mut self, width: u8, condition: Id, yes: Id, no: Id) -> Option<Id> {
        let op = self.op(condition);
        let (a, b) = (self.input(condition, 0), self.input(condition, 1));
        if op == Op::SignedLess
            && self.num(b) == Some(0)
            && self.op(yes) == Op::Neg
            && self.input(yes, 0) == a
            && no == a
        {
            return self.call(if width == 64 { "llabs" } else { "abs" }, width, &[a]);
        }
        let is_signed = match op {
            Op::Less | Op::LessEqual => false,
            Op::SignedLess | Op::SignedLessEqual => true,
            _ => return None,
        };
        let same = |this: &Self, one: Id, other: Id| {
            one == other || this.num(one).is_some() && this.num(one) == this.num(other)
        };
        let is_smaller = if same(self, a, yes) && same(self, b, no) {
            true
        } else if same(self, a, no) && same(self, b, yes) {
            false
        } else {
            return None;
        };
        let name = match (is_smaller, is_signed, width) {
            (true, false, 32) => "min.u",
            (true, true, 32) => "min.i",
            (false, false, 32) => "max.u",
            (false, true, 32) => "max.i",
            (true, false, 64) => "min.ull",
            (true, true, 64) => "min.ll",
            (false, false, 64) => "max.ull",
            (false, true, 64) => "max.ll",
            _ => return None,
        };
        let (first, second) = if self.num(a).is_some() { (b, a) } else { (a, b) };
        self.call(name, width, &[first, second])
    }

    /// Inputs of floating-point operations whose sign is changed by operations on bits.
    fn floats(&mut self, op: Op) -> Option<Id> {
        for index in 0..self.function.inputs(self.id).len() {
            if !takes_float(op, index) {
                continue;
            }
            let input = self.input(self.id, index);
            if input == NONE || !matches!(self.op(input), Op::And | Op::Xor | Op::Or) {
                continue;
            }
            let width = self.width(input);
            let sign = 1_u64 << ((width - 1) & 63);
            let mask = self.num(self.input(input, 1));
            let inner = self.input(input, 0);
            let replacement = match self.op(input) {
                Op::And if mask == Some(sign - 1) => self.make(Op::FloatAbs, width, &[inner]),
                Op::Xor if mask == Some(sign) => self.make(Op::FloatNegate, width, &[inner]),
                _ => continue,
            };
            self.function.set_input(self.id, index, replacement);
        }
        let (a, b) = (self.input(self.id, 0), self.input(self.id, 1));
        let width = self.function.width(self.id);
        match op {
            Op::FloatEqual if a == b && self.num(a) == Some(0) => Some(self.constant(1, 1)),
            Op::FloatAdd if self.num(b) == Some(1_u64 << ((width.max(1) - 1) & 63)) => Some(a),
            Op::FloatNegate if self.op(a) == Op::FloatNegate => Some(self.input(a, 0)),
            Op::FloatAbs if matches!(self.op(a), Op::FloatNegate | Op::FloatAbs) => {
                let inner = self.input(a, 0);
                Some(self.make(Op::FloatAbs, width, &[inner]))
            }
            Op::FloatAdd if self.op(b) == Op::FloatNegate => {
                let inner = self.input(b, 0);
                Some(self.make(Op::FloatSub, width, &[a, inner]))
            }
            Op::FloatAdd if self.op(a) == Op::FloatNegate && self.op(b) != Op::FloatNegate => {
                let inner = self.input(a, 0);
                Some(self.make(Op::FloatSub, width, &[b, inner]))
            }
            _ => None,
        }
    }
}

/// Whether an input of an operator is a floating-point number.
pub fn takes_float(op: Op, index: usize) -> bool {
    match op {
        Op::FloatAdd
        | Op::FloatSub
        | Op::FloatMul
        | Op::FloatDiv
        | Op::FloatNegate
        | Op::FloatAbs
        | Op::FloatSqrt
        | Op::FloatEqual
        | Op::FloatNotEqual
        | Op::FloatLess
        | Op::FloatLessEqual
        | Op::FloatNan
        | Op::FloatConvert
        | Op::FloatToSigned => true,
        Op::Call(intrinsic) => matches!(intrinsic.input(index), b'f' | b'd'),
        _ => false,
    }
}

/// Whether what an operator gives is a floating-point number.
pub fn gives_float(op: Op) -> bool {
    match op {
        Op::FloatAdd
        | Op::FloatSub
        | Op::FloatMul
        | Op::FloatDiv
        | Op::FloatNegate
        | Op::FloatAbs
        | Op::FloatSqrt
        | Op::FloatConvert
        | Op::SignedToFloat
        | Op::UnsignedToFloat => true,
        Op::Call(intrinsic) => matches!(intrinsic.result(), b'f' | b'd'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{End, NONE, Space};

    /// What is stored when `make` has made a value of a parameter.
    fn stored(make: impl FnOnce(&mut Function, Id) -> Id) -> (Function, Id) {
        let mut function = Function::default();
        let block = function.block(0);
        let parameter = function.raw(Op::Parameter(0), 32, block, NONE, &[]);
        let value = make(&mut function, parameter);
        let address = function.raw(Op::Parameter(8), 64, block, NONE, &[]);
        let store = function.add(Op::Store(Space::Generic), 0, block, NONE, &[address, value]);
        function.blocks[0].end = End::Return;
        crate::pass::run(&mut function);
        let value = function.input(store, 1);
        (function, value)
    }

    #[test]
    fn products_with_magic_numbers_are_quotients() {
        for (magic, shift, divisor) in
            [(0xcccc_cccd_u64, 3, Some(10)), (0xaaaa_aaab, 1, Some(3)), (0x1234_5679, 3, None)]
        {
            let (function, value) = stored(|function, x| {
                let wide = function.raw(Op::ZeroExtend, 64, 0, NONE, &[x]);
                let magic = function.constant(magic, 64);
                let product = function.raw(Op::Mul, 64, 0, NONE, &[wide, magic]);
                let high = function.raw(Op::High, 32, 0, NONE, &[product]);
                let shift = function.constant(shift, 32);
                function.raw(Op::Shr, 32, 0, NONE, &[high, shift])
            });
            let found =
                (function.op(value) == Op::Udiv).then(|| function.number(function.input(value, 1)).unwrap());
            assert_eq!(found, divisor, "{magic:#x}");
        }
    }

    #[test]
    fn a_choice_of_a_choice_is_one() {
        let (function, value) = stored(|function, x| {
            let five = function.constant(5, 32);
            let less = function.raw(Op::Less, 1, 0, NONE, &[x, five]);
            let seven = function.constant(7, 32);
            let inner = function.raw(Op::Select, 32, 0, NONE, &[less, five, seven]);
            function.raw(Op::Select, 32, 0, NONE, &[less, x, inner])
        });
        assert_eq!(function.op(value), Op::Select);
        let sides = [1, 2].map(|index| function.op(function.input(value, index)));
        assert_eq!(sides, [Op::Parameter(0), Op::Constant(7)]);
    }
}
