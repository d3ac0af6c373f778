//! Splits wide accesses of two independent 32-bit values, which nothing uses as one 64-bit value, and joins stores
//! whose halves turn out to be one value.

use crate::ir::hash::FastMap;
use crate::ir::{Function, IdVec, NO_ADDRESS, Op, Space, ValueId};

/// Splits wide accesses. Returns whether there were any. Before, their halves may turn out to be one value.
pub fn split(function: &mut Function) -> bool {
    let mut effects = function.blocks.iter().flat_map(|block| &block.effects);
    if !effects.any(|effect| is_wide(function, *effect)) {
        return false;
    }
    let used = function.used();
    // Whether a value is used other than by taking its halves.
    let mut whole = IdVec::filled(false, function.values.len());
    let mut halves: FastMap<ValueId, Vec<ValueId>> = FastMap::default();
    for &effect in function.blocks.iter().flat_map(|block| &block.effects) {
        if matches!(function.op(effect), Op::Load(_)) && is_wide(function, effect) {
            halves.insert(effect, Vec::new());
        }
    }
    for id in function.values.keys() {
        if !used[id] || function.is_replaced(id) {
            continue;
        }
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input == ValueId::NONE {
                continue;
            }
            if matches!(function.op(id), Op::Low | Op::High) && function.width(id) == 32 {
                if let Some(list) = halves.get_mut(&input) {
                    list.push(id);
                }
            } else {
                whole[input] = true;
            }
        }
    }
    for block in &function.blocks {
        if let Some(input) = block.end.input() {
            whole[function.resolve(input)] = true;
        }
    }
    let mut changed = false;
    for block in function.blocks.keys() {
        let effects = std::mem::take(&mut function.blocks[block].effects);
        let mut kept = Vec::with_capacity(effects.len());
        for effect in effects {
            if !used[effect] {
                continue;
            }
            match function.op(effect) {
                Op::Load(space) if function.width(effect) == 64 && !whole[effect] => {
                    changed = true;
                    let (low, high) = split_load(function, effect, space);
                    kept.extend([low, high]);
                    for &half in &halves[&effect] {
                        let to = if function.op(half) == Op::Low { low } else { high };
                        function.replace(half, to);
                    }
                }
                Op::Store(space) if is_pair(function, function.input(effect, 1)) => {
                    changed = true;
                    kept.extend(split_store(function, effect, space));
                }
                _ => kept.push(effect),
            }
        }
        function.blocks[block].effects = kept;
    }
    if changed {
        function.settle();
    }
    changed
}

/// Joins two stores of the halves of one value by the same instruction. This can only be decided once the halves have
/// been recognised.
pub fn join(function: &mut Function) {
    for block in function.blocks.keys() {
        let effects = std::mem::take(&mut function.blocks[block].effects);
        let mut kept: Vec<ValueId> = Vec::with_capacity(effects.len());
        for effect in effects {
            match kept.last().and_then(|&lower| whole(function, lower, effect).map(|whole| (lower, whole))) {
                Some((lower, whole)) => function.set_input(lower, 1, whole),
                None => kept.push(effect),
            }
        }
        function.blocks[block].effects = kept;
    }
}

/// Returns the value whose halves two adjacent stores of an instruction write.
fn whole(function: &Function, lower: ValueId, upper: ValueId) -> Option<ValueId> {
    let is_store = matches!(function.op(lower), Op::Store(_)) && function.op(lower) == function.op(upper);
    let address = |id: ValueId| function.values[id].address;
    if !is_store || address(lower) == NO_ADDRESS || address(lower) != address(upper) {
        return None;
    }
    let (low, high) = (function.input(lower, 1), function.input(upper, 1));
    let number = function.input(low, 0);
    let is_one = function.op(low) == Op::Low
        && function.op(high) == Op::High
        && function.width(low) == 32
        && function.width(high) == 32
        && function.width(number) == 64
        && number == function.input(high, 0);
    let (base, start) = offset(function, function.input(lower, 0));
    let next = offset(function, function.input(upper, 0));
    (is_one && next == (base, start.wrapping_add(4))).then_some(number)
}

/// Splits an address into a base and a constant offset.
fn offset(function: &Function, address: ValueId) -> (ValueId, u64) {
    let number = function.number(function.input(address, 1));
    match (function.op(address), number) {
        (Op::Add, Some(number)) => (function.input(address, 0), number),
        _ => (address, 0),
    }
}

/// Returns whether it is an access that can be split.
fn is_wide(function: &Function, effect: ValueId) -> bool {
    match function.op(effect) {
        Op::Load(_) => function.width(effect) == 64,
        Op::Store(_) => is_pair(function, function.input(effect, 1)),
        _ => false,
    }
}

/// Returns whether a value is a pair of two unrelated ones.
fn is_pair(function: &Function, id: ValueId) -> bool {
    function.op(id) == Op::Concat && function.width(id) == 64
}

fn next_address(function: &mut Function, address: ValueId, like: ValueId) -> ValueId {
    let value = function.values[like];
    let width = function.width(address);
    let four = function.constant(4, width);
    function.raw(Op::Add, width, value.block, value.address, &[address, four])
}

fn split_load(function: &mut Function, load: ValueId, space: Space) -> (ValueId, ValueId) {
    let value = function.values[load];
    let address = function.input(load, 0);
    let upper = next_address(function, address, load);
    let low = function.raw(Op::Load(space), 32, value.block, value.address, &[address]);
    let high = function.raw(Op::Load(space), 32, value.block, value.address, &[upper]);
    function.values[low].is_volatile = value.is_volatile;
    function.values[high].is_volatile = value.is_volatile;
    (low, high)
}

fn split_store(function: &mut Function, store: ValueId, space: Space) -> [ValueId; 2] {
    let value = function.values[store];
    let (address, pair) = (function.input(store, 0), function.input(store, 1));
    let (high, low) = (function.input(pair, 0), function.input(pair, 1));
    let upper = next_address(function, address, store);
    [(address, low), (upper, high)].map(|(address, half)| {
        let store = function.raw(Op::Store(space), 0, value.block, value.address, &[address, half]);
        function.values[store].is_volatile = value.is_volatile;
        store
    })
}
