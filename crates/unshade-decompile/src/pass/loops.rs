//! Undoes loop rotation: puts the condition at the top of loops.
//!
//! A compiler tests the condition once before a loop, and then at the end of each iteration, which saves a jump. If
//! the test before the loop is the test at the end with the initial values of the loop variables, or is known to
//! hold, both become one in a new block before the loop.
//!
//! ```text
//! if (a < n) do { …; a' = a + 1 } while (a' < n)        while (a < n) { …; a' = a + 1 }
//! ```
//!
//! Where the test before the loop also guards other code, it stays, and the loop gets its own condition at the top. LLVM
//! tests whether a counter is its limit; the test before the loop says on which side of it the counter starts:
//!
//! | before the loop | at its end | at the top |
//! |---|---|---|
//! | `a < n` | `a + 1 != n` | `a < n` |
//! | `n != 0`, where `a` is 0 | `a' < n`, `a + 1 != n` | `a < n`, without signs |

use crate::ir::dominators::Graph;
use crate::ir::fold::fold;
use crate::ir::shader::ShaderOp;
use crate::ir::{BlockId, End, Function, Op, ValueId};

/// Maximum depth to which the expressions of conditions are compared.
const MAX_DEPTH: u32 = 6;

/// Transforms all rotated loops. Returns whether there were any.
pub fn run(function: &mut Function, graph: &Graph) -> bool {
    run_with(function, graph, false)
}

/// Transforms all rotated loops of LLVM, also those with other tests before the loop. Returns whether there were any.
pub fn run_on_llvm(function: &mut Function, graph: &Graph) -> bool {
    run_with(function, graph, true)
}

fn run_with(function: &mut Function, graph: &Graph, is_llvm: bool) -> bool {
    let mut changed = false;
    for &header in &graph.order {
        if graph.header[header] == header
            && let Some(found) = Rotated::find(function, graph, header, is_llvm)
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
    /// The condition that guards the loop and other code, if there is one, and whether it holds where the loop is.
    guard: Option<(ValueId, bool)>,
    /// Whether counters may be compared in the ways of LLVM.
    is_llvm: bool,
}

/// The comparison of the two conditions, which may differ only in loop variables.
struct Merged<'a> {
    function: &'a Function,
    /// Whether loads of constant buffers are equal where they read the same.
    is_llvm: bool,
    phis: Vec<(ValueId, ValueId, ValueId)>,
}

impl Rotated {
    fn find(function: &Function, graph: &Graph, header: BlockId, is_llvm: bool) -> Option<Self> {
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
            End::Branch { yes, no, .. } if is_llvm && yes != no => None,
            _ => return None,
        };
        let guard = if is_llvm && first.is_none() { guard(function, entry, header) } else { None };
        Some(Self { header, entry, latch, exit, condition, first, guard, is_llvm })
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
        let merged = Merged { function, is_llvm: self.is_llvm, phis: phis.clone() };
        let plan = match self.first {
            Some(first) => merged.both(self.condition, first, self.is_llvm),
            None => merged
                .plan(self.condition.0, None, false, MAX_DEPTH)
                .filter(|_| merged.begins(self.condition.0, MAX_DEPTH) == Some(u64::from(self.condition.1)))
                .map(|plan| (plan, self.condition.1))
                .or_else(|| merged.both(self.condition, self.guard?, true))
                .filter(|_| self.is_only_exit(function, graph) && self.can_leave(function, graph, &phis)),
        };
        let Some((plan, holds)) = plan else { return false };
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
        let (yes, no) = if holds { (self.header, self.exit) } else { (self.exit, self.header) };
        function.blocks[front].end = End::Branch { condition, yes, no };
        function.blocks[self.header].predecessors = vec![front];
        match self.first {
            Some(_) => function.blocks[self.entry].end = End::Goto(front),
            None => function.blocks[self.entry].end.redirect(self.header, front),
        }
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
                    function.with_lanes(variable, like.lanes);
                    function.with_type(variable, like.ty);
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

/// Returns the condition that decides whether a loop is reached, and whether it holds there.
fn guard(function: &Function, entry: BlockId, header: BlockId) -> Option<(ValueId, bool)> {
    let (from, to) = match (&function.blocks[entry].end, function.blocks[entry].predecessors.as_slice()) {
        (End::Branch { .. }, _) => (entry, header),
        (_, &[from]) => (from, entry),
        _ => return None,
    };
    match function.blocks[from].end {
        End::Branch { condition, yes, no } if yes != no => Some((function.resolve(condition), yes == to)),
        _ => None,
    }
}

/// How to express a condition with loop variables.
enum Plan {
    /// Whether a loop variable is below a limit.
    Below(Op, ValueId, ValueId),
    /// An existing value.
    Value(ValueId),
    /// A new value with the operator of an existing one.
    Like(ValueId, Vec<Plan>),
}

impl Plan {
    fn build(&self, function: &mut Function, block: BlockId) -> ValueId {
        match self {
            Self::Value(id) => *id,
            Self::Below(op, variable, limit) => {
                function.raw(*op, 1, block, crate::ir::NO_ADDRESS, &[*variable, *limit])
            }
            Self::Like(like, inputs) => {
                let inputs: Vec<ValueId> = inputs.iter().map(|input| input.build(function, block)).collect();
                let value = function.values[*like];
                function.raw(value.op, value.width, block, value.address, &inputs)
            }
        }
    }
}

impl Merged<'_> {
    /// Expresses the condition at the end with loop variables, and says whether the loop continues if that holds. `None` if
    /// the loop may run where the condition before it does not hold, or the other way around.
    fn both(&self, last: (ValueId, bool), first: (ValueId, bool), is_llvm: bool) -> Option<(Plan, bool)> {
        if let Some(plan) = self.plan(last.0, Some(first.0), first.1 != last.1, MAX_DEPTH) {
            return Some((plan, last.1));
        }
        let counting = if is_llvm { self.counting(last, first) } else { None };
        counting.map(|plan| (plan, true))
    }

    /// Recognises a counter that is compared with its limit in another way at the end than before the loop.
    fn counting(&self, last: (ValueId, bool), first: (ValueId, bool)) -> Option<Plan> {
        let function = self.function;
        let (op, left, right) = self.comparison(last)?;
        let (first_op, from, to) = self.comparison(first)?;
        // The counter, its start, its next value, and the limit.
        let find = |next: ValueId, limit: ValueId| {
            let phi = self.phis.iter().find(|phi| phi.2 == next)?;
            (function.width(next) > 1).then_some((phi.0, phi.1, next, limit))
        };
        let (variable, start, next, limit) = match op {
            Op::NotEqual => find(left, right).or_else(|| find(right, left))?,
            Op::Less => find(left, right)?,
            _ => return None,
        };
        let is_step = function.op(next) == Op::Add
            && (0..2).any(|index| {
                function.input(next, index) == variable
                    && function.number(function.input(next, 1 - index)) == Some(1)
            });
        let is_zero = |id: ValueId| function.number(id) == Some(0);
        let is_below = match first_op {
            // The counter comes from below, and meets its limit.
            Op::Less | Op::SignedLess if op == Op::NotEqual => {
                (is_step && self.is_same(from, start) && self.is_same(to, limit)).then_some(first_op)
            }
            Op::NotEqual if is_zero(start) && (is_step || op == Op::Less) => {
                let is_test =
                    self.is_same(from, limit) && is_zero(to) || self.is_same(to, limit) && is_zero(from);
                is_test.then_some(Op::Less)
            }
            _ => None,
        }?;
        // The limit before the loop is available in front of it.
        let limit = if self.is_same(from, limit) { from } else { to };
        Some(Plan::Below(is_below, variable, limit))
    }

    /// Returns the comparison that holds where a condition leads on.
    fn comparison(&self, (condition, holds): (ValueId, bool)) -> Option<(Op, ValueId, ValueId)> {
        let function = self.function;
        let op = function.op(condition);
        let contrary = op.contrary()?;
        let (left, right) = (function.input(condition, 0), function.input(condition, 1));
        Some(match (holds, contrary) {
            (true, _) => (op, left, right),
            (false, (op, false)) => (op, left, right),
            (false, (op, true)) => (op, right, left),
        })
    }

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
        if let Some(first) = first.filter(|first| !is_contrary && self.is_same(last, *first)) {
            // What is computed before the loop is available in front of it.
            return Some(Plan::Value(first));
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
        a == b
            || self.function.number(a).is_some() && self.function.number(a) == self.function.number(b)
            || self.is_llvm && self.is_same_constant(a, b, MAX_DEPTH)
    }

    /// Returns whether two values are the same part of a constant buffer.
    fn is_same_constant(&self, a: ValueId, b: ValueId, depth: u32) -> bool {
        let function = self.function;
        let op = function.op(a);
        if a == b || function.number(a).is_some() && function.number(a) == function.number(b) {
            return true;
        }
        let count = function.inputs(a).len();
        let is_part = matches!(op, Op::Lanes(_))
            || matches!(op, Op::Shader(op) if matches!(op, ShaderOp::LoadConstant | ShaderOp::Handle));
        is_part
            && depth > 0
            && op == function.op(b)
            && function.width(a) == function.width(b)
            && function.lanes(a) == function.lanes(b)
            && count == function.inputs(b).len()
            && (0..count).all(|index| {
                self.is_same_constant(function.input(a, index), function.input(b, index), depth - 1)
            })
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
    fn counters_that_meet_their_limit_are_below_it() {
        // `if (n != 0) do { …; i += 1 } while (i != n)`, where i starts at 0.
        let (mut function, body) = counting(None);
        let phi = function.blocks[body].phis[0];
        let (zero, next) = (function.constant(0, 32), function.input(phi, 1));
        function.set_inputs(phi, &[zero, next]);
        let End::Branch { condition: last, .. } = function.blocks[body].end else { panic!("it loops") };
        let End::Branch { condition: first, .. } = function.blocks[BlockId::ENTRY].end else {
            panic!("it tests")
        };
        let count = function.input(last, 1);
        function.set_op(last, Op::NotEqual, &[next, count]);
        function.set_op(first, Op::Equal, &[count, zero]);
        let graph = Graph::new(&function);
        assert!(!run(&mut function.clone(), &graph));
        assert!(run_on_llvm(&mut function, &graph));
        let [front] = function.blocks[body].predecessors[..] else { panic!("one way in") };
        let End::Branch { condition, yes, .. } = function.blocks[front].end else { panic!("it tests") };
        assert_eq!((yes, function.op(condition)), (body, Op::Less));
        assert_eq!([0, 1].map(|index| function.input(condition, index)), [phi, count]);
    }

    #[test]
    fn a_loop_without_a_first_test_stays() {
        let (mut function, _) = counting(Some(12));
        let graph = Graph::new(&function);
        assert!(!run(&mut function, &graph));
    }
}
