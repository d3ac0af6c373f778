//! The order in which the values of a function are computed, for interpreters of values.
//!
//! Pure values have no order. Each is computed in its block, before its first user there: an effect, another pure value,
//! the end of the block, or a phi of the next one. Values that have no user in their block are computed at its end. Since
//! a value's block dominates its users, and phis only change on the edges into their block, that is always in time.

use unshade_ir::{BlockId, BlockMap, Function, IdVec, Op, ValueId, ValueMap};

/// Returns whether a value has no step: it is there from the start, or is set on an edge.
fn is_leaf(op: Op) -> bool {
    matches!(op, Op::Constant(_) | Op::Phi | Op::Undefined)
}

/// Returns the values that each block computes, in order; `None` if a value is used where it is not available.
pub(crate) fn steps(function: &Function, used: &ValueMap<bool>) -> Option<BlockMap<Vec<ValueId>>> {
    let mut pure: BlockMap<Vec<ValueId>> = IdVec::filled(Vec::new(), function.blocks.len());
    for (id, value) in function.values.entries() {
        if used[id] && !function.is_replaced(id) && !value.op.is_effect() && !is_leaf(value.op) {
            pure.get_mut(value.block)?.push(id);
        }
    }
    let mut order = Order {
        function,
        steps: IdVec::filled(Vec::new(), function.blocks.len()),
        is_done: IdVec::filled(false, function.values.len()),
    };
    for (block, contents) in function.blocks.entries() {
        let effects = contents.effects.iter().filter(|effect| !function.is_replaced(**effect));
        for &root in effects.chain(&pure[block]) {
            order.compute(block, root)?;
        }
    }
    Some(order.steps)
}

struct Order<'f> {
    function: &'f Function,
    steps: BlockMap<Vec<ValueId>>,
    is_done: ValueMap<bool>,
}

impl Order<'_> {
    /// Adds a value to the steps of a block, after the pure values of the block that it needs.
    fn compute(&mut self, block: BlockId, root: ValueId) -> Option<()> {
        let function = self.function;
        let mut stack = vec![(root, 0)];
        while let Some((id, next)) = stack.last_mut() {
            let id = *id;
            if self.is_done[id] {
                stack.pop();
                continue;
            }
            let Some(&input) = function.inputs(id).get(*next) else {
                self.is_done[id] = true;
                self.steps[block].push(id);
                stack.pop();
                continue;
            };
            *next += 1;
            if input == ValueId::NONE {
                continue;
            }
            let input = function.resolve(input);
            let value = &function.values[input];
            if !self.is_done[input] && !is_leaf(value.op) && value.block == block {
                // An effect that comes later, or a circle.
                if value.op.is_effect() || stack.len() > function.values.len() {
                    return None;
                }
                stack.push((input, 0));
            }
        }
        Some(())
    }
}
