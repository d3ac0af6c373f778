//! Turns uses of the lower half of a pointer into uses of all of it, where the upper half is known.
//!
//! A GPU needs only the lower half in some places, as the upper one is 0. But in C the address of a variable or a function
//! is where its compiler puts it:
//!
//! - An address is one of shared memory if its upper half is 0, and the upper byte of its lower half is that of the start of
//!   shared memory. This becomes a test by an intrinsic.
//! - Where this is so, shared memory is accessed at the other bits of the lower half. Such an access goes through the pointer.
//! - The addresses of functions, textures and surfaces have 64 bits in memory, and 32 bits where they are used.

use super::windows::{INSIDE, masked};
use crate::ir::dominators::Graph;
use crate::ir::{BlockId, End, Function, Intrinsic, Module, Op, Parameter, Space, Special, ValueId};

/// Maximum number of tests whose pointers are followed. Code has one for each atomic operation through a pointer.
const MAX_TESTS: usize = 256;

/// Rewrites all such uses. Returns whether there were any.
pub fn run(module: &mut Module<'_>) -> bool {
    let (function, parameters) = (&mut module.function, &module.parameters);
    let mut changed = false;
    for id in function.values.keys() {
        if function.is_replaced(id) {
            continue;
        }
        changed |= match function.op(id) {
            Op::BoolAnd | Op::BoolOr => rewrite_test(function, parameters, id),
            Op::Invoke(callee) if function.callees[callee].is_pointer() => {
                widen_address(function, parameters, id)
            }
            Op::ImageRead(_) | Op::ImageWrite(_) => widen_image(function, parameters, id),
            _ => false,
        };
    }
    let tested = tested(function);
    if !tested.is_empty() {
        let graph = Graph::new(function);
        for id in function.values.keys() {
            changed |= !function.is_replaced(id) && rewrite_access(function, &graph, &tested, id);
        }
    }
    changed
}

/// Replaces a test of the halves of an address: `high == 0 && (low & 0xff000000) == shared`, or its opposite. Returns
/// whether it was one.
fn rewrite_test(function: &mut Function, parameters: &[Parameter], id: ValueId) -> bool {
    let comparison = if function.op(id) == Op::BoolAnd { Op::Equal } else { Op::NotEqual };
    let (first, second) = (function.input(id, 0), function.input(id, 1));
    if function.op(first) != comparison || function.op(second) != comparison {
        return false;
    }
    let found = low_in_test(function, second).map(|low| (first, low));
    let Some((upper, low)) = found.or_else(|| Some((second, low_in_test(function, first)?))) else {
        return false;
    };
    let high = function.input(upper, 0);
    if function.number(function.input(upper, 1)) != Some(0) || !are_halves(function, high, low) {
        return false;
    }
    let Some(pointer) = whole(function, parameters, low) else { return false };
    let like = function.values[id];
    let test = function.raw(Op::Call(Intrinsic::IsShared), 1, like.block, like.address, &[pointer]);
    match comparison {
        Op::Equal => function.replace(id, test),
        _ => function.set_op(id, Op::BoolNot, &[test]),
    }
    true
}

/// Returns the lower half of an address that a comparison compares with the start of shared memory.
fn low_in_test(function: &Function, comparison: ValueId) -> Option<ValueId> {
    let [a, b] = [0, 1].map(|index| function.input(comparison, index));
    let is_start = |id: &ValueId| function.op(*id) == Op::Special(Special::SharedWindow);
    let masked = [(a, b), (b, a)].into_iter().find(|(_, start)| is_start(start))?.0;
    let mask = function.number(function.input(masked, 1))?;
    (function.op(masked) == Op::And && mask == !INSIDE & 0xffff_ffff).then(|| function.input(masked, 0))
}

/// Returns whether two values are the halves of one.
fn are_halves(function: &Function, high: ValueId, low: ValueId) -> bool {
    match (function.op(high), function.op(low)) {
        (Op::High, Op::Low) => function.input(high, 0) == function.input(low, 0),
        (Op::Parameter(high), Op::Parameter(low)) => high == low + 4,
        _ => false,
    }
}

/// Returns the 64-bit value of which a value is the lower half.
fn whole(function: &mut Function, parameters: &[Parameter], low: ValueId) -> Option<ValueId> {
    if function.width(low) != 32 {
        return None;
    }
    let like = function.values[low];
    match like.op {
        Op::Low => Some(function.input(low, 0)).filter(|input| function.width(*input) == 64),
        Op::Parameter(offset) => {
            let is_wide = |parameter: &Parameter| (parameter.offset, parameter.size) == (offset, 8);
            parameters.iter().any(is_wide).then(|| function.raw(like.op, 64, like.block, like.address, &[]))
        }
        _ => None,
    }
}

/// Makes a call through a pointer use all of its bits. Returns whether it used half of them.
fn widen_address(function: &mut Function, parameters: &[Parameter], call: ValueId) -> bool {
    let address = function.input(call, 0);
    let low = function.input(address, 0);
    if function.op(address) != Op::ZeroExtend {
        return false;
    }
    let Some(pointer) = whole(function, parameters, low).or_else(|| widen_load(function, low)) else {
        return false;
    };
    function.set_input(call, 0, pointer);
    true
}

/// Adds a load of 64 bits before one of the lower 32 of them, if a value is that.
fn widen_load(function: &mut Function, low: ValueId) -> Option<ValueId> {
    let like = function.values[low];
    let effects = &function.blocks[like.block].effects;
    let place = effects.iter().position(|effect| *effect == low)?;
    if !matches!(like.op, Op::Load(_)) || like.is_volatile || function.width(low) != 32 {
        return None;
    }
    let address = function.input(low, 0);
    let load = function.raw(like.op, 64, like.block, like.address, &[address]);
    function.blocks[like.block].effects.insert(place, load);
    Some(load)
}

/// Makes an access of a texture or surface use all bits of the number of its object. Returns whether it used half of them.
fn widen_image(function: &mut Function, parameters: &[Parameter], access: ValueId) -> bool {
    let (Op::ImageRead(image) | Op::ImageWrite(image)) = function.op(access) else { return false };
    if function.images[image].reference.is_some() {
        return false;
    }
    let number = function.input(access, 0);
    let low = if function.op(number) == Op::ZeroExtend { function.input(number, 0) } else { number };
    let Some(object) = whole(function, parameters, low) else { return false };
    function.set_input(access, 0, object);
    true
}

/// Returns the pointers that are those of shared memory, each with the block from which on it is one.
fn tested(function: &Function) -> Vec<(ValueId, BlockId)> {
    let mut tested = Vec::new();
    for block in &function.blocks {
        let End::Branch { condition, yes, no } = block.end else { continue };
        let condition = function.resolve(condition);
        let (test, target) = match function.op(condition) {
            Op::BoolNot => (function.input(condition, 0), no),
            _ => (condition, yes),
        };
        let is_test = function.op(test) == Op::Call(Intrinsic::IsShared);
        if is_test && function.blocks[target].predecessors.len() == 1 && tested.len() < MAX_TESTS {
            tested.push((function.input(test, 0), target));
        }
    }
    tested
}

/// Makes an access of shared memory at the lower bits of a pointer go through the pointer. Returns whether it was one.
fn rewrite_access(
    function: &mut Function,
    graph: &Graph,
    tested: &[(ValueId, BlockId)],
    id: ValueId,
) -> bool {
    let like = function.values[id];
    let op = match like.op {
        Op::Load(Space::Shared) => Op::Load(Space::Generic),
        Op::Store(Space::Shared) => Op::Store(Space::Generic),
        Op::Call(Intrinsic::Atomic(..) | Intrinsic::AtomicCompareExchange(_) | Intrinsic::AtomicSafeAdd) => {
            like.op
        }
        _ => return false,
    };
    let Some((low, added)) = masked(function, function.input(id, 0)) else { return false };
    let is_pointer = |pointer: ValueId| match (function.op(pointer), function.op(low)) {
        (_, Op::Low) if function.input(low, 0) == pointer => true,
        (Op::Parameter(whole), Op::Parameter(low)) => whole == low,
        _ => false,
    };
    let is_known = |of: &&(ValueId, BlockId)| is_pointer(of.0) && graph.dominates(of.1, like.block);
    let Some(&(mut pointer, _)) = tested.iter().find(is_known) else { return false };
    if let Some(added) = added {
        let added = function.constant(added, 64);
        pointer = function.raw(Op::Add, 64, like.block, like.address, &[pointer, added]);
    }
    let mut inputs = function.inputs(id).to_vec();
    inputs[0] = pointer;
    function.set_op(id, op, &inputs);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use crate::ir::verify::verify;

    /// Runs the pass, checks the function, and returns its text.
    fn rewritten(head: &str, body: &str) -> (bool, String) {
        let text = format!("function \"f\" shared 0 local 0\nparameter 0 size 8\n{head}b0 @0x0:\n{body}");
        let mut module = parse(&text).expect("it is a module");
        let changed = run(&mut module);
        crate::pass::sweep(&mut module.function);
        assert_eq!(verify(&module.function), [""; 0]);
        (changed, module.function.to_string())
    }

    /// A function that adds to shared memory if `test` says that its parameter leads there.
    fn add(test: &str) -> (bool, String) {
        let body = format!(
            "    v0:32 = parameter 0\n    v1:32 = parameter 4\n    v2:32 = special shared_window\n    v3:32 = and v0, \
             0xff000000:32\n    v4:1 = not_equal v3, v2\n    v5:1 = not_equal v1, 0:32\n    v6:1 = {test}\n    v7:32 = \
             and v0, 0xffffff:32\n    v8:32 = add v7, 4:32\n    branch v6, b1, b2\nb1 @0x8 <- b0:\n    \
             return\nb2 @0x10 <- b0:\n    v9:32 = call atomic.add.u32 v8, 7:32\n    store.shared v7, 1:32\n    return\n"
        );
        rewritten("", &body)
    }

    #[test]
    fn accesses_go_through_a_pointer_that_was_tested() {
        let (changed, text) = add("bool_or v5, v4");
        assert!(changed && text.contains("= call is_shared v"), "{text}");
        assert!(text.contains("store.generic v") && !text.contains("0xffffff"), "{text}");
        assert!(text.contains("= add v0, 4:64") || text.contains(", 4:64"), "{text}");
        // Whether the upper half is zero says nothing.
        let (changed, text) = add("bool_or v5, v5");
        assert!(!changed && text.contains("store.shared v"), "{text}");
    }

    #[test]
    fn functions_are_called_at_addresses_of_64_bits() {
        let body = "    v0:64 = parameter 0\n    v1:32 = load.generic v0\n    v2:64 = zero_extend v1\n    invoke c0 \
                    v2, v1\n    return\n";
        let (changed, text) = rewritten("callee c0 \"\" words 0 void (0 size 4)\n", body);
        assert!(changed && text.contains(":64 = load.generic"), "{text}");
        assert!(text.contains(":32 = load.generic"), "{text}");
    }

    #[test]
    fn images_are_accessed_by_numbers_of_64_bits() {
        let body = "    v0:32 = parameter 0\n    v1:128 = image_read i0 v0, 0:32, 0:32\n    v2:32 = result.0 v1\n    \
                    v3:64 = parameter 0\n    store.generic v3, v2\n    return\n";
        let (changed, text) = rewritten("image i0 sample 2d 4x32 trap\n", body);
        assert!(changed && !text.contains(":32 = parameter 0"), "{text}");
    }
}
