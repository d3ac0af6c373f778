//! Undoes loop rotation: puts the condition at the top of loops.
//!
//! A compiler tests the condition once before a loop, and then at the end of each iteration, which saves a jump. If
//! the test before the loop is the test at the end with the initial values of the loop variables, or is known to
//! hold, both become one in a new block before the loop.
//!
//! ```text
//! if (a < n) do { …; a' = a + 1 } while (a' < n)        while (a < n) { …; a' = a + 1 }
//! ```

use crate::ir::dominators::Graph;
use crate::ir::fold::fold;
use crate::ir::{BlockId, End, Function, Op, ValueId};

/// Maximum depth to which the expressions of conditions are compared.
const MAX_DEPTH: u32 = 6;

/// Transforms all rotated loops. Returns whether there were any.
pub fn run(function: &mut Function, graph: &Graph) -> bool {
    let mut changed = false;
    for &header in &graph.order {
        if graph.header[header] == header
            && let Some(found) = Rotated::find(function, graph, header)
        {
            changed |= found.unrotate(function, graph);
        }
    }
    if changed {
        function.settle();
    }
    changed
}

/// A loop with its condition at the end.
struct Rotated {
    /// The first block.
    header: BlockId,
    /// The block before the loop.
    entry: BlockId,
    /// The last block.
    latch: BlockId,
    /// The block after the loop.
    exit: BlockId,
    /// The condition at the end, and whether the loop continues if it holds.
    condition: (ValueId, bool),
    /// The condition before the loop, if there is one.
    first: Option<(ValueId, bool)>,
}

/// The comparison of the two conditions, which may differ only in loop variables.
struct Merged<'a> {
    function: &'a Function,
    phis: Vec<(ValueId, ValueId, ValueId)>,
}

impl Rotated {
    fn find(function: &Function, graph: &Graph, header: BlockId) -> Option<Self> {
        let is_known = |block: BlockId| graph.position.contains_key(block) && graph.is_reached(block);
        let (a, b) = match function.blocks[header].predecessors[..] {
            [a, b] if is_known(a) && is_known(b) => (a, b),
            _ => return None,
        };
        let (entry, latch) = match (graph.dominates(header, a), graph.dominates(header, b)) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => return None,
        };
        let End::Branch { condition, yes, no } = function.blocks[latch].end else { return None };
        let (exit, holds) = if yes == header { (no, true) } else { (yes, false) };
        if exit == header || is_inside(graph, exit, header) {
            return None;
        }
        let condition = (function.resolve(condition), holds);
        let first = match function.blocks[entry].end {
            End::Goto(_) => None,
            End::Branch { condition, yes, no } if yes == header && no == exit => {
                Some((function.resolve(condition), true))
            }
            End::Branch { condition, yes, no } if no == header && yes == exit => {
                Some((function.resolve(condition), false))
            }
            _ => return None,
        };
        Some(Self { header, entry, latch, exit, condition, first })
    }

    /// Returns the loop variables: phi, initial value, next value.
    fn phis(&self, function: &Function) -> Vec<(ValueId, ValueId, ValueId)> {
        let block = &function.blocks[self.header];
        let index_of = |wanted| block.predecessors.iter().position(|predecessor| *predecessor == wanted);
        let (Some(entry), Some(latch)) = (index_of(self.entry), index_of(self.latch)) else {
            return Vec::new();
        };
        block
            .phis
            .iter()
            .map(|phi| (*phi, function.input(*phi, entry), function.input(*phi, latch)))
            .collect()
    }

    fn unrotate(&self, function: &mut Function, graph: &Graph) -> bool {
        let phis = self.phis(function);
        let merged = Merged { function, phis: phis.clone() };
        let plan = match self.first {
            Some((first, holds)) => {
                merged.plan(self.condition.0, Some(first), holds != self.condition.1, MAX_DEPTH)
            }
            None => merged
                .plan(self.condition.0, None, false, MAX_DEPTH)
                .filter(|_| merged.begins(self.condition.0, MAX_DEPTH) == Some(u64::from(self.condition.1)))
                .filter(|_| self.is_only_exit(function, graph) && self.can_leave(function, graph, &phis)),
        };
        let Some(plan) = plan else { return false };
        let front = function.block(function.blocks[self.header].address);
        let condition = plan.build(function, front);
        // Uses after the loop become uses of the loop variables.
        if self.first.is_none() {
            self.use_variables(function, graph, &phis);
        }
        for &(phi, entry, latch) in &phis {
            function.set_inputs(phi, &[entry, latch]);
            function.set_block(phi, front);
        }
        let moved = std::mem::take(&mut function.blocks[self.header].phis);
        function.blocks[front].phis = moved;
        function.blocks[front].predecessors = vec![self.entry, self.latch];
        self.lead_to_exit(function, front, &phis);
        let (yes, no) = if self.condition.1 { (self.header, self.exit) } else { (self.exit, self.header) };
        function.blocks[front].end = End::Branch { condition, yes, no };
        function.blocks[self.header].predecessors = vec![front];
        function.blocks[self.entry].end = End::Goto(front);
        function.blocks[self.latch].end = End::Goto(front);
        true
    }

    /// Replaces the predecessors of the exit by the new block.
    fn lead_to_exit(&self, function: &mut Function, front: BlockId, phis: &[(ValueId, ValueId, ValueId)]) {
        let predecessors = function.blocks[self.exit].predecessors.clone();
        let index_of = |wanted: BlockId| predecessors.iter().position(|predecessor| *predecessor == wanted);
        let (entry, latch) = (index_of(self.entry), index_of(self.latch));
        for phi in function.blocks[self.exit].phis.clone() {
            let input = |at: Option<usize>| at.map_or(ValueId::NONE, |at| function.input(phi, at));
            let (first, last) = (input(entry), input(latch));
            let both =
                phis.iter().find(|(_, from, to)| *to == last && (first == ValueId::NONE || *from == first));
            let value = match both {
                _ if first == last => last,
                Some((variable, ..)) => *variable,
                None if first == ValueId::NONE => last,
                None => {
                    let like = function.values[phi];
                    let variable = function.raw(Op::Phi, like.width, front, like.address, &[first, last]);
                    function.blocks[front].phis.push(variable);
                    variable
                }
            };
            let mut inputs = Vec::new();
            for (index, from) in predecessors.iter().enumerate() {
                if *from != self.entry && *from != self.latch {
                    inputs.push(function.input(phi, index));
                }
            }
            inputs.push(value);
            function.set_inputs(phi, &inputs);
        }
        let list = &mut function.blocks[self.exit].predecessors;
        list.retain(|predecessor| *predecessor != self.entry && *predecessor != self.latch);
        list.push(front);
    }

    /// Returns whether the loop has no exit except the one at its end.
    fn is_only_exit(&self, function: &Function, graph: &Graph) -> bool {
        function.blocks[self.exit].predecessors == [self.latch]
            && graph.order.iter().all(|block| {
                *block == self.latch
                    || !is_inside(graph, *block, self.header)
                    || function.blocks[*block]
                        .end
                        .successors()
                        .into_iter()
                        .all(|next| is_inside(graph, next, self.header))
            })
    }

    /// Returns the uses after the loop of values computed in it: block, user ([`ValueId::NONE`] for the end of a
    /// block), input, value.
    fn used_behind(&self, function: &Function, graph: &Graph) -> Vec<(BlockId, ValueId, usize, ValueId)> {
        let used = function.used();
        let is_inside = |block: BlockId| is_inside(graph, block, self.header);
        let is_of_loop = |id: ValueId| id != ValueId::NONE && is_inside(function.values[id].block);
        let mut found = Vec::new();
        for id in function.values.keys() {
            let block = function.values[id].block;
            if !used[id] || function.is_replaced(id) || is_inside(block) {
                continue;
            }
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                let is_entry = function.op(id) == Op::Phi && block == self.header;
                if is_of_loop(input) && !is_entry {
                    found.push((block, id, index, input));
                }
            }
        }
        for &block in &graph.order {
            if let Some(input) = function.blocks[block].end.input().map(|id| function.resolve(id))
                && !is_inside(block)
                && is_of_loop(input)
            {
                found.push((block, ValueId::NONE, 0, input));
            }
        }
        found
    }

    /// Returns whether all uses after the loop are next values of loop variables.
    fn can_leave(&self, function: &Function, graph: &Graph, phis: &[(ValueId, ValueId, ValueId)]) -> bool {
        self.used_behind(function, graph).iter().all(|user| phis.iter().any(|phi| phi.2 == user.3))
    }

    fn use_variables(&self, function: &mut Function, graph: &Graph, phis: &[(ValueId, ValueId, ValueId)]) {
        for (block, user, index, value) in self.used_behind(function, graph) {
            let Some(&(variable, ..)) = phis.iter().find(|phi| phi.2 == value) else { continue };
            if user != ValueId::NONE {
                function.set_input(user, index, variable);
                continue;
            }
            match &mut function.blocks[block].end {
                End::Branch { condition, .. } => *condition = variable,
                End::Switch { selector, .. } => *selector = variable,
                _ => {}
            }
        }
    }
}

/// Returns whether a block is in a loop. Blocks that were added since the graph was analysed are not.
fn is_inside(graph: &Graph, block: BlockId, header: BlockId) -> bool {
    graph.position.contains_key(block) && graph.is_reached(block) && graph.is_in_loop(block, header)
}

/// How to express a condition with loop variables.
enum Plan {
    /// An existing value.
    Value(ValueId),
    /// A new value with the operator of an existing one.
    Like(ValueId, Vec<Plan>),
}

impl Plan {
    fn build(&self, function: &mut Function, block: BlockId) -> ValueId {
        match self {
            Self::Value(id) => *id,
            Self::Like(like, inputs) => {
                let inputs: Vec<ValueId> = inputs.iter().map(|input| input.build(function, block)).collect();
                let value = function.values[*like];
                function.raw(value.op, value.width, block, value.address, &inputs)
            }
        }
    }
}

impl Merged<'_> {
    /// Rewrites the condition at the end in terms of loop variables. `None` if the condition before the loop is not
    /// the same with the initial values. If one negates the other, the operators must be negations.
    fn plan(&self, last: ValueId, first: Option<ValueId>, is_contrary: bool, depth: u32) -> Option<Plan> {
        let function = self.function;
        let variable = self.phis.iter().find(|(_, entry, latch)| {
            *latch == last && first.is_none_or(|first| self.is_same(*entry, first))
        });
        if let Some(&(phi, ..)) = variable
            && !is_contrary
        {
            return Some(Plan::Value(phi));
        }
        if first.is_some_and(|first| !is_contrary && self.is_same(last, first)) {
            return Some(Plan::Value(last));
        }
        let op = function.op(last);
        if first.is_none() && matches!(op, Op::Constant(_) | Op::Parameter(_) | Op::Special(_)) {
            return Some(Plan::Value(last));
        }
        let count = function.inputs(last).len();
        if depth == 0 || op == Op::Phi || op.is_effect() || count == 0 {
            return None;
        }
        let mut order: Vec<usize> = (0..count).collect();
        if let Some(first) = first {
            let wanted = if is_contrary { op.contrary()? } else { (op, false) };
            let is_like = function.op(first) == wanted.0
                && function.width(first) == function.width(last)
                && function.inputs(first).len() == count;
            if !is_like {
                return None;
            }
            if wanted.1 {
                order.reverse();
            }
        }
        let inputs = order.iter().enumerate().map(|(index, other)| {
            let first = first.map(|first| function.input(first, *other));
            self.plan(function.input(last, index), first, false, depth - 1)
        });
        Some(Plan::Like(last, inputs.collect::<Option<_>>()?))
    }

    fn is_same(&self, a: ValueId, b: ValueId) -> bool {
        a == b || self.function.number(a).is_some() && self.function.number(a) == self.function.number(b)
    }

    /// Evaluates a value of the condition at the end with the initial values, if they are known.
    fn begins(&self, last: ValueId, depth: u32) -> Option<u64> {
        let function = self.function;
        if let Some(phi) = self.phis.iter().find(|phi| phi.2 == last) {
            return function.number(phi.1);
        }
        if let Some(number) = function.number(last) {
            return Some(number);
        }
        let count = function.inputs(last).len();
        if depth == 0 || !(1..=2).contains(&count) || function.op(last).is_effect() {
            return None;
        }
        let mut numbers = Vec::new();
        for index in 0..count {
            numbers.push(self.begins(function.input(last, index), depth - 1)?);
        }
        fold(function.op(last), &numbers, function.width(function.input(last, 0)), function.width(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Axis, NO_ADDRESS, Space, Special};

    /// Builds `i = first; if (test) do { store i; i += 1 } while (i < n)`, with a test on `first`.
    fn counting(first: Option<u64>) -> (Function, BlockId) {
        let mut function = Function::default();
        let [entry, body, exit] = [(); 3].map(|()| function.block(0));
        let start = match first {
            Some(number) => function.constant(number, 32),
            None => function.raw(Op::Special(Special::ThreadIndex(Axis::X)), 32, entry, NO_ADDRESS, &[]),
        };
        let count = match first {
            Some(_) => function.constant(10, 32),
            None => function.raw(Op::Parameter(8), 32, entry, NO_ADDRESS, &[]),
        };
        let phi = function.raw(Op::Phi, 32, body, NO_ADDRESS, &[]);
        function.blocks[body].phis.push(phi);
        let address = function.raw(Op::Parameter(0), 64, entry, NO_ADDRESS, &[]);
        function.add(Op::Store(Space::Generic), 0, body, NO_ADDRESS, &[address, phi]);
        let one = function.constant(1, 32);
        let next = function.raw(Op::Add, 32, body, NO_ADDRESS, &[phi, one]);
        function.set_inputs(phi, &[start, next]);
        function.blocks[body].predecessors = vec![entry, body];
        let again = function.raw(Op::Less, 1, body, NO_ADDRESS, &[next, count]);
        function.blocks[body].end = End::Branch { condition: again, yes: body, no: exit };
        function.blocks[exit].predecessors = vec![body];
        function.blocks[exit].end = End::Return;
        function.blocks[entry].end = match first {
            Some(_) => End::Goto(body),
            None => {
                // The negated condition, as compilers emit it.
                let outside = function.raw(Op::LessEqual, 1, entry, NO_ADDRESS, &[count, start]);
                function.blocks[exit].predecessors.insert(0, entry);
                End::Branch { condition: outside, yes: exit, no: body }
            }
        };
        (function, body)
    }

    #[test]
    fn both_tests_of_a_loop_become_one() {
        for first in [None, Some(0)] {
            let (mut function, body) = counting(first);
            let graph = Graph::new(&function);
            assert!(run(&mut function, &graph), "{first:?}");
            let [front] = function.blocks[body].predecessors[..] else { panic!("one way in") };
            let End::Branch { condition, yes, .. } = function.blocks[front].end else { panic!("it tests") };
            assert_eq!((yes, function.op(condition)), (body, Op::Less));
            assert_eq!(function.op(function.input(condition, 0)), Op::Phi);
        }
    }

    #[test]
    fn a_loop_without_a_first_test_stays() {
        let (mut function, _) = counting(Some(12));
        let graph = Graph::new(&function);
        assert!(!run(&mut function, &graph));
    }
}
