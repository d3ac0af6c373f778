//! Selects: those that equal a condition, one of their inputs, a minimum or a maximum.

use super::Rewriter;
use crate::ir::dominators::Graph;
use crate::ir::{Function, Intrinsic, Number, Op, ValueId};
use crate::pass::graph::decided;

/// Simplifies a select between a value and a phi that depends on the same condition: one input of the phi is never
/// selected, and the value replaces it.
pub(super) fn select_of_phi(function: &mut Function, graph: &Graph, id: ValueId) -> Option<ValueId> {
    let condition = function.input(id, 0);
    let sides = [function.input(id, 1), function.input(id, 2)];
    let index = sides.iter().position(|side| function.op(*side) == Op::Phi)?;
    let (phi, other) = (sides[index], sides[1 - index]);
    let (decided, yes) = decided(function, graph, phi)?;
    let block = function.values[phi].block;
    // If the condition holds, the select takes its first side.
    let (kept, given) = if index == 0 { (yes, 1 - yes) } else { (1 - yes, yes) };
    let source = function.blocks[block].predecessors[given];
    let from = function.values[other].block;
    if decided != condition || !graph.is_reached(from) || !graph.dominates(from, source) {
        return None;
    }
    let mut inputs = [other; 2];
    inputs[kept] = function.input(phi, kept);
    let value = function.values[phi];
    let new = function.raw(Op::Phi, value.width, block, value.address, &inputs);
    function.blocks[block].phis.push(new);
    Some(new)
}

impl Rewriter<'_> {
    pub(super) fn select(
        &mut self,
        width: u8,
        condition: ValueId,
        yes: ValueId,
        no: ValueId,
    ) -> Option<ValueId> {
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
        match (self.num(yes), self.num(no)) {
            (Some(1), Some(0)) => return Some(self.make(Op::ZeroExtend, width, &[condition])),
            (Some(0), Some(1)) => {
                let not = self.make(Op::BoolNot, 1, &[condition]);
                return Some(self.make(Op::ZeroExtend, width, &[not]));
            }
            _ => {}
        }
        // A select by the same condition inside one side.
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

    /// Recognises `a < b ? a : b` and similar, and `a < 0 ? -a : a`.
    fn smaller_or_larger(
        &mut self,
        width: u8,
        condition: ValueId,
        yes: ValueId,
        no: ValueId,
    ) -> Option<ValueId> {
        let op = self.op(condition);
        let (a, b) = (self.input(condition, 0), self.input(condition, 1));
        if op == Op::SignedLess
            && self.num(b) == Some(0)
            && self.op(yes) == Op::Neg
            && self.input(yes, 0) == a
            && no == a
        {
            return Some(self.make(Op::Call(Intrinsic::Abs(Number::integer(width, true))), width, &[a]));
        }
        if op == Op::SignedLessEqual
            && self.num(a) == Some(0)
            && yes == b
            && self.op(no) == Op::Neg
            && self.input(no, 0) == b
        {
            return Some(self.make(Op::Call(Intrinsic::Abs(Number::integer(width, true))), width, &[b]));
        }
        let is_signed = match op {
            Op::Less | Op::LessEqual => false,
            Op::SignedLess | Op::SignedLessEqual => true,
            _ => return None,
        };
        let same = |this: &Self, one: ValueId, other: ValueId| {
            one == other || this.num(one).is_some() && this.num(one) == this.num(other)
        };
        let is_smaller = if same(self, a, yes) && same(self, b, no) {
            true
        } else if same(self, a, no) && same(self, b, yes) {
            false
        } else {
            return None;
        };
        if !matches!(width, 32 | 64) {
            return None;
        }
        let number = Number::integer(width, is_signed);
        let call = if is_smaller { Intrinsic::Min(number) } else { Intrinsic::Max(number) };
        let (first, second) = if self.num(a).is_some() { (b, a) } else { (a, b) };
        Some(self.make(Op::Call(call), width, &[first, second]))
    }
}
