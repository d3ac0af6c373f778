//! Rewrites values to simpler ones, and numbers values.
//!
//! Each value is visited with settled inputs; `rewrite` returns its replacement. A pure value is also replaced by an
//! equal one that dominates it.
//!
//! Most simplifications are lines of a table, `rules`, in the notation of `term`; `matcher` applies them. Code does what
//! needs a search or the graph: each of the other modules says why it is no rule.

mod bits;
mod cancel;
mod choice;
mod divide;
mod float;
#[cfg(test)]
mod laws;
mod matcher;
mod permute;
mod rules;
#[cfg(test)]
mod searches;
mod term;
mod value_table;

use crate::ir::dominators::{Graph, UNREACHED};
use crate::ir::fold::fold;
use crate::ir::hash::FastMap;
use crate::ir::{Function, Intrinsic, Key, Op, ValueId, ValueMap};
use value_table::ValueTable;

/// Number of new values per old one from which halves that were joined once are not joined again.
///
/// Joining halves makes pairs of the halves that they are computed from. Where these share subexpressions, the same
/// pairs are made again and again, as often as there are paths to them. Copies are merged in the next round, so most
/// functions do not need this.
const MAX_COPIES: usize = 4;

/// Number of values per value of the original function from which nothing is simplified any more: a bound for time and
/// memory. Functions of compilers need less than half of it.
const MAX_GROWTH: usize = 16;

/// The part of this limit that does not depend on the function.
const MIN_LIMIT: usize = 1 << 14;

/// Returns the replacement of a value that is the end of an idiom.
pub type Idiom = fn(&mut Function, ValueId) -> Option<ValueId>;

/// Visits all values in an order, and then the new ones. Returns whether anything changed. Values that are not due
/// are only numbered. `idiom` is [`Idioms::rewrite`](super::idiom::Idioms). Sums are reassociated only if `reassociate` is
/// set. All values must be used: see [`super::sweep`].
pub fn run(
    function: &mut Function,
    graph: &Graph,
    order: &[ValueId],
    is_due: &ValueMap<bool>,
    idiom: Idiom,
    reassociate: bool,
) -> bool {
    if !is_due.iter().any(|is_due| *is_due) {
        return false;
    }
    let old = function.values.len();
    let limit = *function.limit.get_or_insert(MAX_GROWTH * old + MIN_LIMIT);
    let copied = (1 + MAX_COPIES) * old;
    let mut joined: FastMap<[ValueId; 2], ValueId> = FastMap::default();
    let mut known = ValueTable::new(old);
    let mut changed = false;
    let mut order = order.iter().copied();
    let mut seen = old;
    while let Some(at) = order.next().or_else(|| {
        seen += 1;
        (seen <= function.values.len()).then(|| ValueId::from_index(seen - 1))
    }) {
        let block = function.values[at].block;
        if function.is_replaced(at) || graph.position.get(block).is_none_or(|position| *position == UNREACHED)
        {
            continue;
        }
        if is_due.get(at) != Some(&false) && function.values.len() < limit {
            // Replaced inputs mark a value as changed again: its users may have been visited before.
            function.values[at].is_changed = false;
            let halves = match function.op(at) {
                Op::Concat if at.index() >= copied => Some([function.input(at, 0), function.input(at, 1)]),
                _ => None,
            };
            let replacement = match function.op(at) {
                Op::Select => choice::select_of_phi(function, graph, at),
                _ => halves.and_then(|halves| joined.get(&halves).copied()),
            };
            if let Some(other) = replacement.or_else(|| rewrite(function, at, idiom, reassociate))
                && function.resolve(other) != at
            {
                function.replace(at, other);
                if let Some(halves) = halves {
                    joined.insert(halves, other);
                }
                changed = true;
                continue;
            }
        }
        // A new value changed something where it was inserted; one that was only tried is unused.
        changed |= number(function, graph, &mut known, at) && at.index() < old;
    }
    function.settle_blocks();
    changed
}

/// Numbers a value. Returns whether it was replaced by an equal one. Values with equal inputs are in the same block
/// here, so the first one will do.
fn number(function: &mut Function, graph: &Graph, known: &mut ValueTable, id: ValueId) -> bool {
    let value = function.values[id];
    if value.op.is_effect() || matches!(value.op, Op::Undefined | Op::Result(_)) {
        return false;
    }
    function.settle_inputs(id);
    let Some(other) = known.first(function, id) else { return false };
    if other == id || function.is_replaced(other) {
        return false;
    }
    let block = function.values[other].block;
    let is_same = match value.op {
        Op::Phi => block == value.block,
        _ => graph.is_reached(block) && graph.dominates(block, value.block),
    };
    if is_same {
        function.replace(id, other);
    }
    is_same
}

/// A value to rewrite, in its function.
pub(crate) struct Rewriter<'a> {
    /// The function.
    pub(crate) function: &'a mut Function,
    /// The value.
    pub(crate) id: ValueId,
}

/// Returns the replacement of a value.
fn rewrite(function: &mut Function, id: ValueId, idiom: Idiom, reassociate: bool) -> Option<ValueId> {
    let value = function.values[id];
    let count = function.inputs(id).len();
    if count == 0 {
        return None;
    }
    let (a, b, c) = (function.input(id, 0), function.input(id, 1), function.input(id, 2));
    let (x, y) = (function.number(a), if b == ValueId::NONE { None } else { function.number(b) });
    if !value.op.is_effect()
        && count <= 2
        && let Some(x) = x
        && (count == 1 || y.is_some())
        && let Some(result) = fold(value.op, &[x, y.unwrap_or(0)], function.width(a), value.width)
    {
        return Some(function.constant(result, value.width));
    }
    let mut at = Rewriter { function, id };
    if value.op.is_commutative() && x.is_some() && y.is_none() {
        at.function.set_inputs(id, &[b, a]);
        return rewrite(at.function, id, idiom, reassociate);
    }
    if let Some(found) = idiom(at.function, id) {
        return Some(found);
    }
    let searched = match value.op {
        Op::Phi => return at.phi(),
        Op::Call(Intrinsic::PermuteBytes) => return at.permuted(a, b, at.num(c)?),
        Op::Xor if y.is_none() && (at.op(a) == Op::Xor || at.op(b) == Op::Xor) => {
            return at.without_pairs(value.width, a, b);
        }
        Op::Add if reassociate && value.width == 32 && y.is_none() => at.adds_quotient(a, b),
        Op::ZeroExtend => at.wide_window(value.width, a),
        Op::Call(Intrinsic::FlushToZero) => at.flushed(a),
        _ => None,
    };
    if searched.is_some() {
        return searched;
    }
    at.change_signs(value.op);
    at.apply_rules(reassociate).or_else(|| match (value.op, y?) {
        (Op::And, mask) => at.masked_quotient(value.width, a, mask),
        (Op::Sar, amount) => at.shifted_quotient(value.width, a, amount),
        (Op::Shr, amount) if reassociate => at.divided(a, amount),
        _ => None,
    })
}

impl Rewriter<'_> {
    pub(crate) fn op(&self, id: ValueId) -> Op {
        if id == ValueId::NONE { Op::Undefined } else { self.function.op(id) }
    }

    pub(crate) fn input(&self, id: ValueId, index: usize) -> ValueId {
        if id == ValueId::NONE { ValueId::NONE } else { self.function.input(id, index) }
    }

    pub(crate) fn width(&self, id: ValueId) -> u8 {
        if id == ValueId::NONE { 0 } else { self.function.width(id) }
    }

    pub(crate) fn num(&self, id: ValueId) -> Option<u64> {
        if id == ValueId::NONE { None } else { self.function.number(id) }
    }

    pub(crate) fn make(&mut self, op: Op, width: u8, inputs: &[ValueId]) -> ValueId {
        let like = self.function.values[self.id];
        self.function.raw(op, width, like.block, like.address, inputs)
    }

    pub(crate) fn constant(&mut self, value: u64, width: u8) -> ValueId {
        self.function.constant(value, width)
    }

    /// Returns the start of the local or shared window in the generic address space as a pointer.
    fn wide_window(&mut self, width: u8, narrow: ValueId) -> Option<ValueId> {
        let op = self.op(narrow);
        let is_window = matches!(op, Op::Special(special) if special.window().is_some());
        (width == 64 && is_window).then(|| self.make(op, 64, &[]))
    }

    fn phi(&mut self) -> Option<ValueId> {
        let mut same = ValueId::NONE;
        for index in 0..self.function.inputs(self.id).len() {
            let input = self.input(self.id, index);
            if input == self.id || input == same {
                continue;
            }
            // The same constant may occur as two values.
            if same != ValueId::NONE && (self.num(input).is_none() || self.num(input) != self.num(same)) {
                return None;
            }
            same = input;
        }
        (same != ValueId::NONE).then_some(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BlockId, End, NO_ADDRESS, Space};
    use crate::pass::idiom::Idioms;

    /// Returns what is stored after `make` derives a value from a parameter.
    pub(super) fn stored(make: impl FnOnce(&mut Function, ValueId) -> ValueId) -> (Function, ValueId) {
        let mut function = Function::default();
        let block = function.block(0);
        let parameter = function.raw(Op::Parameter(0), 32, block, NO_ADDRESS, &[]);
        let value = make(&mut function, parameter);
        let address = function.raw(Op::Parameter(8), 64, block, NO_ADDRESS, &[]);
        function.add(Op::Store(Space::Generic), 0, block, NO_ADDRESS, &[address, value]);
        function.blocks[BlockId::ENTRY].end = End::Return;
        let function = crate::pass::after_all(function, &mut Idioms::default());
        let value = function.input(function.blocks[BlockId::ENTRY].effects[0], 1);
        (function, value)
    }

    #[test]
    fn products_with_magic_numbers_are_quotients() {
        for (magic, shift, divisor) in
            [(0xcccc_cccd_u64, 3, Some(10)), (0xaaaa_aaab, 1, Some(3)), (0x1234_5679, 3, None)]
        {
            let (function, value) = stored(|function, x| {
                let wide = function.raw(Op::ZeroExtend, 64, BlockId::ENTRY, NO_ADDRESS, &[x]);
                let magic = function.constant(magic, 64);
                let product = function.raw(Op::Mul, 64, BlockId::ENTRY, NO_ADDRESS, &[wide, magic]);
                let high = function.raw(Op::High, 32, BlockId::ENTRY, NO_ADDRESS, &[product]);
                let shift = function.constant(shift, 32);
                function.raw(Op::Shr, 32, BlockId::ENTRY, NO_ADDRESS, &[high, shift])
            });
            let found =
                (function.op(value) == Op::Udiv).then(|| function.number(function.input(value, 1)).unwrap());
            assert_eq!(found, divisor, "{magic:#x}");
        }
    }

    #[test]
    fn nested_selects_are_merged() {
        let (function, value) = stored(|function, x| {
            let five = function.constant(5, 32);
            let less = function.raw(Op::Less, 1, BlockId::ENTRY, NO_ADDRESS, &[x, five]);
            let seven = function.constant(7, 32);
            let inner = function.raw(Op::Select, 32, BlockId::ENTRY, NO_ADDRESS, &[less, five, seven]);
            function.raw(Op::Select, 32, BlockId::ENTRY, NO_ADDRESS, &[less, x, inner])
        });
        assert_eq!(function.op(value), Op::Select);
        let sides = [1, 2].map(|index| function.op(function.input(value, index)));
        assert_eq!(sides, [Op::Parameter(0), Op::Constant(7)]);
    }

    #[test]
    fn an_address_minus_its_window_is_the_offset() {
        let (function, value) = stored(|function, x| {
            let window = function.raw(
                Op::Special(crate::ir::Special::LocalWindow),
                32,
                BlockId::ENTRY,
                NO_ADDRESS,
                &[],
            );
            let sum = function.raw(Op::Add, 32, BlockId::ENTRY, NO_ADDRESS, &[window, x]);
            let mask = function.constant(0xff_ffff, 32);
            function.raw(Op::And, 32, BlockId::ENTRY, NO_ADDRESS, &[sum, mask])
        });
        assert_eq!(function.op(value), Op::And);
        assert_eq!(function.op(function.input(value, 0)), Op::Parameter(0));
    }

    #[test]
    fn a_round_trip_through_double_is_removed() {
        let (function, value) = stored(|function, x| {
            let wide = function.raw(Op::FloatConvert, 64, BlockId::ENTRY, NO_ADDRESS, &[x]);
            let absolute = function.raw(Op::FloatAbs, 64, BlockId::ENTRY, NO_ADDRESS, &[wide]);
            function.raw(Op::FloatConvert, 32, BlockId::ENTRY, NO_ADDRESS, &[absolute])
        });
        assert_eq!(function.op(value), Op::FloatAbs);
        assert_eq!(function.op(function.input(value, 0)), Op::Parameter(0));
    }
}
