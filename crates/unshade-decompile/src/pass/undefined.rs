//! Registers that were never set, and of which no bit matters, are zero.
//!
//! Code compiled with -G replaces the lower half of a register and leaves the upper one as it was, or the other way around:
//! `PRMT R0, R0, 0x5410, R1` makes a word of which only the upper half is used later, and reads R0 before anything is
//! in it. The [bits that are needed](super::demand) of each value are found backwards from the effects.

use super::demand;
use crate::ir::{Function, IdVec, Op, ValueId, ValueMap};

/// Replaces undefined values of which nothing needs a bit. Returns whether there were any.
pub fn run(function: &mut Function) -> bool {
    let undefined = read(function);
    if undefined.is_empty() {
        return false;
    }
    let needed = needed(function);
    let free: Vec<ValueId> = undefined.into_iter().filter(|id| needed[*id] == 0).collect();
    for id in &free {
        function.set_op(*id, Op::Constant(0), &[]);
    }
    !free.is_empty()
}

/// Returns the undefined values that operations read. What merges values may also merge one that no path uses.
fn read(function: &Function) -> Vec<ValueId> {
    let used = function.used();
    let reads = |id: &ValueId| {
        let merges = matches!(function.op(*id), Op::Phi | Op::Copy | Op::Select | Op::Return);
        used[*id] && !merges && !function.is_replaced(*id)
    };
    let inputs = function
        .values
        .keys()
        .filter(reads)
        .flat_map(|id| (0..function.inputs(id).len()).map(move |index| function.input(id, index)));
    let mut found: Vec<ValueId> =
        inputs.filter(|input| *input != ValueId::NONE && function.op(*input) == Op::Undefined).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the bits that effects and branches need of each value.
fn needed(function: &Function) -> ValueMap<u64> {
    let mut needed = IdVec::filled(0, function.values.len());
    let mut list: Vec<(ValueId, u64)> = Vec::new();
    for block in &function.blocks {
        let effects = block.effects.iter().copied().filter(|effect| function.is_kept(*effect));
        let end = block.end.input().map(|input| function.resolve(input));
        list.extend(effects.chain(end).map(|id| (id, u64::MAX)));
    }
    while let Some((id, bits)) = list.pop() {
        if bits & !needed[id] == 0 {
            continue;
        }
        needed[id] |= bits;
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input != ValueId::NONE {
                list.push((input, demand::of_input(function, id, index, needed[id])));
            }
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    /// Returns whether `v4` is zero after the pass, where `v9` is stored.
    fn is_zero(values: &str) -> bool {
        let text = format!(
            "kernel \"k\" shared 0 local 0\nb0 @0x0:\n    v1:32 = parameter 0\n    v4:32 = undefined\n{values}    \
             store.shared 0:32, v9\n    return\n"
        );
        let mut function = parse(&text).unwrap().function;
        let undefined = function.values.keys().find(|id| function.op(*id) == Op::Undefined).unwrap();
        run(&mut function);
        function.op(undefined) == Op::Constant(0)
    }

    #[test]
    fn a_half_that_is_never_read_is_zero() {
        let packed = "    v5:32 = call permute_bytes v4, v1, 0x5410:32\n";
        assert!(is_zero(&format!("{packed}    v9:32 = shr v5, 16:32\n")));
        assert!(is_zero(&format!("{packed}    v9:32 = call permute_bytes v1, v5, 0x7610:32\n")));
        assert!(!is_zero(&format!("{packed}    v9:32 = shr v5, 8:32\n")));
        assert!(!is_zero("    v9:32 = add v4, v1\n"));
    }
}
