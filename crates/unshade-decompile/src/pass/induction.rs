//! Expresses the variables of a loop by its counter.
//!
//! A compiler keeps `i * 4` in a variable of its own, which grows by 4 where `i` grows by 1. Both have the same number of
//! steps at any time, so one is a multiple of the other plus a constant, whatever wraps around.
//!
//! ```text
//! i = 0; p = 288;                                       i = 0;
//! do { sum += load(p); p += 4; i += 1 } while (i < n)   do { sum += load(288 + i * 4); i += 1 } while (i < n)
//! ```
//!
//! Variables that are compared stay, so that conditions remain as simple as they are.

use crate::ir::dominators::Graph;
use crate::ir::fold::signed;
use crate::ir::{BlockId, Function, IdVec, Op, ValueId, ValueMap};

/// A variable of a loop that grows by a constant.
#[derive(Clone, Copy)]
struct Induction {
    phi: ValueId,
    start: u64,
    step: i64,
}

/// Replaces variables by multiples of the counter in all loops. Returns whether there were any.
pub fn run(function: &mut Function, graph: &Graph) -> bool {
    let mut changed = false;
    let mut compared = None;
    for &header in &graph.order {
        if graph.header[header] != header || function.blocks[header].predecessors.len() != 2 {
            continue;
        }
        let all = inductions(function, graph, header);
        // The variable with the smallest step; of those with the same one, that starts first.
        let Some(counter) = all.iter().min_by_key(|one| (one.step.unsigned_abs(), one.start)).copied() else {
            continue;
        };
        for one in &all {
            let compared = compared.get_or_insert_with(|| compared_values(function));
            if one.phi == counter.phi || one.step % counter.step != 0 || compared[one.phi] {
                continue;
            }
            express(function, header, *one, counter);
            changed = true;
        }
    }
    if changed {
        function.settle();
    }
    changed
}

/// Returns the variables of a loop that start with a constant and grow by one.
fn inductions(function: &Function, graph: &Graph, header: BlockId) -> Vec<Induction> {
    let block = &function.blocks[header];
    let is_latch = |index: usize| {
        let predecessor = block.predecessors.get(index).copied();
        predecessor.is_some_and(|predecessor| graph.is_in_loop(predecessor, header))
    };
    let (entry, latch) = match (is_latch(0), is_latch(1)) {
        (false, true) => (0, 1),
        (true, false) => (1, 0),
        _ => return Vec::new(),
    };
    let induction = |phi: &ValueId| {
        let next = function.input(*phi, latch);
        let is_sum = function.width(*phi) == 32 && function.op(next) == Op::Add;
        let step = function.number(function.input_or_self(next, 1))?;
        let start = function.number(function.input(*phi, entry))?;
        (is_sum && function.input(next, 0) == *phi && step != 0).then_some(Induction {
            phi: *phi,
            start,
            step: signed(step, 32),
        })
    };
    block.phis.iter().filter_map(induction).collect()
}

/// Returns which values are compared, also after a constant is added.
fn compared_values(function: &Function) -> ValueMap<bool> {
    let mut compared = IdVec::filled(false, function.values.len());
    for id in function.values.keys() {
        if !function.op(id).is_comparison() {
            continue;
        }
        for &input in function.inputs(id) {
            compared[input] = true;
            if function.op(input) == Op::Add {
                compared[function.input(input, 0)] = true;
            }
        }
    }
    compared
}

/// Replaces a variable by a multiple of another one plus a constant.
fn express(function: &mut Function, header: BlockId, one: Induction, counter: Induction) {
    let address = function.values[one.phi].address;
    let factor = (one.step / counter.step).cast_unsigned();
    let offset = one.start.wrapping_sub(counter.start.wrapping_mul(factor));
    let (factor, offset) = (function.constant(factor, 32), function.constant(offset, 32));
    let product = function.raw(Op::Mul, 32, header, address, &[counter.phi, factor]);
    let sum = function.raw(Op::Add, 32, header, address, &[product, offset]);
    function.replace(one.phi, sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{End, NO_ADDRESS, Space};

    /// A loop that stores a variable from `start` that grows by `step`, while a counter grows from 0 to 10.
    fn stored(start: u64, step: u64) -> (Function, ValueId) {
        let mut function = Function::default();
        let [entry, body, exit] = [0, 8, 16].map(|address| function.block(address));
        function.blocks[entry].end = End::Goto(body);
        let pointer = function.raw(Op::Parameter(0), 64, entry, NO_ADDRESS, &[]);
        let mut variable = |start: u64, step: u64| {
            let phi = function.raw(Op::Phi, 32, body, NO_ADDRESS, &[]);
            let (start, step) = (function.constant(start, 32), function.constant(step, 32));
            let next = function.raw(Op::Add, 32, body, NO_ADDRESS, &[phi, step]);
            function.set_inputs(phi, &[start, next]);
            function.blocks[body].phis.push(phi);
            (phi, next)
        };
        let (counter, next) = variable(0, 1);
        let (phi, _) = variable(start, step);
        function.add(Op::Store(Space::Generic), 0, body, NO_ADDRESS, &[pointer, phi]);
        let end = function.constant(10, 32);
        let condition = function.raw(Op::NotEqual, 1, body, NO_ADDRESS, &[next, end]);
        function.blocks[body].end = End::Branch { condition, yes: body, no: exit };
        function.blocks[body].predecessors = vec![entry, body];
        function.blocks[exit].predecessors = vec![body];
        function.blocks[exit].end = End::Return;
        let graph = Graph::new(&function);
        run(&mut function, &graph);
        let stored = function.input(function.blocks[body].effects[0], 1);
        assert_eq!(function.op(counter), Op::Phi);
        (function, stored)
    }

    #[test]
    fn a_variable_is_a_multiple_of_the_counter() {
        let (function, value) = stored(288, 4);
        assert_eq!((function.op(value), function.number(function.input(value, 1))), (Op::Add, Some(288)));
        let product = function.input(value, 0);
        assert_eq!((function.op(product), function.number(function.input(product, 1))), (Op::Mul, Some(4)));
    }

    #[test]
    fn a_variable_may_decrease() {
        let (function, value) = stored(40, 0xffff_fffc);
        let product = function.input(value, 0);
        assert_eq!(function.number(function.input(product, 1)), Some(0xffff_fffc));
    }
}
