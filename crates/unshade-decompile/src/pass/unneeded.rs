//! Bits that nothing needs.
//!
//! Code compiled with -G replaces the lower half of a register and leaves the upper one as it was, or the other way around:
//! `PRMT R0, R0, 0x5410, R1` makes a word of which only the upper half is used later, and reads R0 whatever is in it, even
//! nothing. The [bits that are needed](super::demand) of each value are found backwards from the effects. Where nothing
//! needs what a permutation adds to a value, it is the value or a shift of it, and undefined values of which nothing needs
//! a bit are zero.

use super::demand;
use crate::ir::{Function, Intrinsic, Op, ValueId, ValueMap};

/// Removes what nothing needs. Returns whether there was anything.
pub fn run(function: &mut Function) -> bool {
    let used = function.used();
    let undefined = undefined(function, &used);
    let is_permuted = |id: &ValueId| {
        used[*id] && !function.is_replaced(*id) && function.op(*id) == Op::Call(Intrinsic::PermuteBytes)
    };
    let permuted: Vec<ValueId> = function.values.keys().filter(is_permuted).collect();
    if undefined.is_empty() && permuted.is_empty() {
        return false;
    }
    let needed = demand::needed(function, &|_, _| true);
    let mut changed = false;
    for id in undefined.into_iter().filter(|id| needed[*id] == 0) {
        function.set_op(id, Op::Constant(0), &[]);
        changed = true;
    }
    for id in permuted {
        if let Some((source, distance)) = only_source(function, id, needed[id]) {
            let moved = moved(function, id, source, distance);
            function.replace(id, moved);
            changed = true;
        }
    }
    changed
}

/// Returns the input of a permutation that has all bytes of some bits, and by how many places they are further up in the
/// result.
fn only_source(function: &Function, id: ValueId, needed: u64) -> Option<(ValueId, i64)> {
    let selector = function.number(function.input(id, 2))?;
    let mut found = None;
    for place in (0..4).filter(|place| needed >> (8 * place) & 0xff != 0) {
        // Above 7, a byte is the sign of another one.
        let chosen = (selector >> (4 * place) & 0xf).cast_signed();
        let (index, inside) = if chosen < 4 { (0, chosen) } else { (1, chosen - 4) };
        let here = (function.input(id, index), place - inside);
        if chosen > 7 || *found.get_or_insert(here) != here {
            return None;
        }
    }
    found
}

/// Returns a source with its bytes moved up, or down.
fn moved(function: &mut Function, id: ValueId, source: ValueId, distance: i64) -> ValueId {
    if distance == 0 {
        return source;
    }
    let value = function.values[id];
    let op = if distance < 0 { Op::Shr } else { Op::Shl };
    let amount = function.constant(8 * distance.unsigned_abs(), 32);
    function.raw(op, value.width, value.block, value.address, &[source, amount])
}

/// Returns the undefined values that operations read, once for each read. What merges values may also merge one that no
/// path uses.
pub fn undefined(function: &Function, used: &ValueMap<bool>) -> Vec<ValueId> {
    let reads = |id: &ValueId| {
        let merges = matches!(function.op(*id), Op::Phi | Op::Copy | Op::Select | Op::Return);
        used[*id] && !merges && !function.is_replaced(*id)
    };
    let inputs = function.values.keys().filter(reads).flat_map(|id| function.inputs(id));
    let inputs = inputs.filter(|input| **input != ValueId::NONE).map(|input| function.resolve(*input));
    inputs.filter(|input| function.op(*input) == Op::Undefined).collect()
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

    #[test]
    fn a_permutation_of_which_one_half_is_needed_is_its_source() {
        let op = |first: &str, second: &str| {
            let text = format!(
                "kernel \"k\" shared 0 local 0\nb0 @0x0:\n    v1:32 = parameter 0\n    v4:32 = parameter 4\n    \
                 v5:32 = call permute_bytes {first}, 0x7610:32\n    v9:32 = {second}\n    store.shared 0:32, v9\n    \
                 return\n"
            );
            let mut function = parse(&text).unwrap().function;
            run(&mut function);
            let store = function.blocks.iter().flat_map(|block| &block.effects).next().unwrap();
            function.op(function.input(function.input(*store, 1), 0))
        };
        assert_eq!(op("v1, v4", "and v5, 0xffff:32"), Op::Parameter(0));
        assert_eq!(op("v1, v4", "shr v5, 16:32"), Op::Parameter(4));
        assert_eq!(op("v1, v4", "shr v5, 8:32"), Op::Call(Intrinsic::PermuteBytes));
        // Both of its halves are the upper half of one value.
        assert_eq!(op("v4, v4", "shl v5, 24:32"), Op::Parameter(4));
    }
}
