//! Bounds of counted loops, as people write them.
//!
//! Compilers test a counter for equality with its last value. Where it starts below and goes up by one, it is less than that
//! value until then:
//!
//! | before | after |
//! |---|---|
//! | `i = 0; do { … } while (++i != 4)` | `i = 0; do { … } while (++i < 4)` |
//! | `if (n > 0) { i = 0; do { … } while (++i != n) }` | the same with `++i < n`, which is the test before the loop |

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, End, Function, Op, ValueId};

/// A loop whose counter is compared with its bound at the end.
struct Counted {
    latch: BlockId,
    /// Whether the loop goes on if the condition holds.
    goes_on: bool,
    next: ValueId,
    bound: ValueId,
    initial: ValueId,
    entry: BlockId,
    header: BlockId,
}

/// Rewrites the conditions of all such loops.
pub(super) fn run(function: &mut Function, graph: &Graph) {
    for &header in &graph.order {
        if graph.header[header] == header
            && let Some(found) = Counted::find(function, graph, header)
        {
            found.rewrite(function);
        }
    }
}

impl Counted {
    fn find(function: &Function, graph: &Graph, header: BlockId) -> Option<Self> {
        let [a, b] = function.blocks[header].predecessors[..] else { return None };
        let (entry, latch) = match (graph.dominates(header, a), graph.dominates(header, b)) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => return None,
        };
        let End::Branch { condition, yes, no } = function.blocks[latch].end else { return None };
        let condition = function.resolve(condition);
        let goes_on = match (function.op(condition), yes == header, no == header) {
            (Op::Equal, false, true) => false,
            (Op::NotEqual, true, false) => true,
            _ => return None,
        };
        let (next, bound) = (function.input(condition, 0), function.input(condition, 1));
        if function.op(next) != Op::Add || function.number(function.input(next, 1)) != Some(1) {
            return None;
        }
        let phi = function.input(next, 0);
        if function.op(phi) != Op::Phi || function.values[phi].block != header {
            return None;
        }
        let index = function.blocks[header].predecessors.iter().position(|block| *block == entry)?;
        let latch_index = 1 - index;
        if function.input(phi, latch_index) != next {
            return None;
        }
        Some(Self { latch, goes_on, next, bound, initial: function.input(phi, index), entry, header })
    }

    fn rewrite(self, function: &mut Function) {
        let Some(op) = self.comparison(function) else { return };
        let condition = compare(function, op, self.next, self.bound, self.latch);
        let End::Branch { condition: old, yes, no } = &mut function.blocks[self.latch].end else { return };
        *old = condition;
        if !self.goes_on {
            std::mem::swap(yes, no);
        }
    }

    /// Returns the comparison that holds until the counter has its last value. A test of zero before the loop becomes the same.
    fn comparison(&self, function: &mut Function) -> Option<Op> {
        if let (Some(initial), Some(bound)) = (function.number(self.initial), function.number(self.bound)) {
            let is_small = initial < bound && bound < 1 << (function.width(self.next).min(32) - 1);
            return is_small.then_some(Op::Less);
        }
        let End::Branch { condition, yes, no } = function.blocks[self.entry].end else { return None };
        let condition = function.resolve(condition);
        let (op, a, b) = (function.op(condition), function.input(condition, 0), function.input(condition, 1));
        let enters_if = yes == self.header;
        if yes == no || !enters_if && no != self.header {
            return None;
        }
        let is_bound = |id: ValueId| id == self.bound;
        let is_initial = |id: ValueId| {
            id == self.initial
                || function.number(id).is_some() && function.number(id) == function.number(self.initial)
        };
        match op {
            Op::SignedLess | Op::Less if enters_if && is_initial(a) && is_bound(b) => Some(op),
            // A bound that is not zero is above it.
            Op::Equal | Op::NotEqual
                if (op == Op::NotEqual) == enters_if
                    && function.number(self.initial) == Some(0)
                    && is_bound(a)
                    && function.number(b) == Some(0) =>
            {
                let test = compare(function, Op::Less, self.initial, self.bound, self.entry);
                let End::Branch { condition, yes, no } = &mut function.blocks[self.entry].end else {
                    return None;
                };
                *condition = test;
                if !enters_if {
                    std::mem::swap(yes, no);
                }
                Some(Op::Less)
            }
            _ => None,
        }
    }
}

fn compare(function: &mut Function, op: Op, a: ValueId, b: ValueId, block: BlockId) -> ValueId {
    function.raw(op, 1, block, crate::ir::NO_ADDRESS, &[a, b])
}
