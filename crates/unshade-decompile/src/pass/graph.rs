//! Cleanup of the control-flow graph: unreachable blocks are removed, chains of blocks are merged, consecutive
//! conditions are joined into one.

use crate::ir::build::remove_trivial_phis;
use crate::ir::dominators::Graph;
use crate::ir::{BlockId, BlockMap, End, Function, IdVec, Intrinsic, NO_ADDRESS, Number, Op, ValueId};

/// Cleans the graph up. Returns whether anything changed.
pub fn clean(function: &mut Function) -> bool {
    let mut changed = fold_ends(function);
    changed |= remove_unreached(function);
    changed |= one_return(function);
    changed |= skip_empty(function, |_| true);
    changed |= switch_defaults(function);
    changed |= join_conditions(function);
    changed |= remove_unreached(function);
    changed |= merge_chains(function);
    if changed {
        remove_trivial_phis(function);
    }
    changed
}

/// Removes blocks that compute nothing: those that only jump, and those that only collect values for the phis of the next
/// block. Chains of blocks are merged.
pub fn skip_jumps(function: &mut Function) {
    let mut is_bare: BlockMap<bool> = IdVec::filled(true, function.blocks.len());
    let used = function.used();
    for (id, value) in function.values.entries() {
        if used[id] && !function.is_replaced(id) && value.op != Op::Phi && !function.inputs(id).is_empty() {
            is_bare[value.block] = false;
        }
    }
    skip_empty(function, |block| is_bare[block]);
    remove_unreached(function);
    join_phis(function, &is_bare);
    remove_unreached(function);
    merge_chains(function);
    remove_trivial_phis(function);
}

/// Merges blocks that only have phis, whose only uses are those of the next block, with that block.
fn join_phis(function: &mut Function, is_bare: &BlockMap<bool>) {
    let mut uses: IdVec<ValueId, u32> = IdVec::filled(0, function.values.len());
    for id in function.values.keys().filter(|id| !function.is_replaced(*id)) {
        for &input in function.inputs(id).iter().filter(|input| **input != ValueId::NONE) {
            uses[function.resolve(input)] += 1;
        }
    }
    for block in function.blocks.keys() {
        if let Some(input) = function.blocks[block].end.input() {
            uses[function.resolve(input)] += 1;
        }
    }
    for block in function.blocks.keys().skip(1) {
        let End::Goto(to) = function.blocks[block].end else { continue };
        let found = &function.blocks[block];
        let after = &function.blocks[to].predecessors;
        let (Some(edge), Some(true)) = (after.iter().position(|from| *from == block), is_bare.get(block))
        else {
            continue;
        };
        let is_shared =
            found.predecessors.iter().any(|from| *from == to || *from == block || after.contains(from));
        let into = |phi: ValueId| {
            let inputs = function.blocks[to].phis.iter().map(|after| function.input(*after, edge));
            inputs.filter(|input| *input == phi).count()
        };
        if found.phis.is_empty()
            || !found.effects.is_empty()
            || is_shared
            || found.phis.iter().any(|phi| uses[*phi] as usize != into(*phi))
        {
            continue;
        }
        let from = found.predecessors.clone();
        for index in 0..function.blocks[to].phis.len() {
            let phi = function.blocks[to].phis[index];
            let value = function.input(phi, edge);
            let is_joined = function.op(value) == Op::Phi && function.values[value].block == block;
            for number in 0..from.len() {
                let input = if is_joined { function.input(value, number) } else { value };
                function.push_input(phi, input);
            }
        }
        for &predecessor in &from {
            function.blocks[predecessor].end.redirect(block, to);
            function.blocks[to].predecessors.push(predecessor);
        }
        function.remove_edge(block, to);
        let gone = &mut function.blocks[block];
        gone.predecessors.clear();
        gone.phis.clear();
        gone.end = End::Open;
    }
}

/// Returns the condition that selects between the two inputs of a phi, and the index of the input for which it holds.
pub fn decided(function: &Function, graph: &Graph, phi: ValueId) -> Option<(ValueId, usize)> {
    let block = function.values[phi].block;
    let predecessors = &function.blocks[block].predecessors;
    let (&[a, b], 2) = (predecessors.as_slice(), function.inputs(phi).len()) else { return None };
    if !graph.is_reached(block) {
        return None;
    }
    let branch = graph.dominator[block];
    let End::Branch { condition, yes, no } = function.blocks[branch].end else { return None };
    let leads = |side: BlockId, way: BlockId| {
        way == side && function.blocks[side].predecessors == [branch] || way == branch && side == block
    };
    let condition = function.resolve(condition);
    if leads(yes, a) && leads(no, b) {
        Some((condition, 0))
    } else if leads(yes, b) && leads(no, a) {
        Some((condition, 1))
    } else {
        None
    }
}

/// Folds branches with a known or inverted condition.
fn fold_ends(function: &mut Function) -> bool {
    let mut changed = false;
    for block in function.blocks.keys() {
        match function.blocks[block].end.clone() {
            End::Branch { condition, yes, no } => {
                let condition = function.resolve(condition);
                if let Some(number) = function.number(condition) {
                    let (to, other) = if number != 0 { (yes, no) } else { (no, yes) };
                    function.remove_edge(block, other);
                    function.blocks[block].end = End::Goto(to);
                    changed = true;
                } else if function.op(condition) == Op::BoolNot {
                    let condition = function.input(condition, 0);
                    function.blocks[block].end = End::Branch { condition, yes: no, no: yes };
                    changed = true;
                }
            }
            End::Switch { selector, cases, otherwise } => {
                let selector = function.resolve(selector);
                let mut targets: Vec<BlockId> = cases.iter().map(|case| case.1).chain(otherwise).collect();
                targets.dedup();
                let known = function.number(selector);
                let chosen = known.and_then(|number| {
                    cases.iter().find(|case| case.0 == number).map(|case| case.1).or(otherwise)
                });
                let only = if targets.len() == 1 { targets.first().copied() } else { chosen };
                if let Some(to) = only {
                    for other in function.blocks[block].end.successors() {
                        if other != to {
                            function.remove_edge(block, other);
                        }
                    }
                    function.blocks[block].end = End::Goto(to);
                    changed = true;
                } else {
                    changed |= index_table(function, block, selector);
                }
            }
            _ => {}
        }
    }
    changed
}

/// Replaces a switch on a value from a table by one on the index into the table: the cases are in the order of the
/// table.
fn index_table(function: &mut Function, block: BlockId, selector: ValueId) -> bool {
    let Op::Load(crate::ir::Space::Constant(_)) = function.op(selector) else { return false };
    let mut at = function.input(selector, 0);
    if function.op(at) == Op::Add && function.number(function.input(at, 1)).is_some() {
        at = function.input(at, 0);
    }
    let (index, is_scaled) = match (function.op(at), function.number(function.input(at, 1))) {
        (Op::Shl, Some(2)) | (Op::Mul, Some(4)) => (function.input(at, 0), true),
        _ => (ValueId::NONE, false),
    };
    if !is_scaled {
        return false;
    }
    let End::Switch { selector, cases, .. } = &mut function.blocks[block].end else { return false };
    *selector = index;
    for (number, case) in cases.iter_mut().enumerate() {
        case.0 = number as u64;
    }
    // A clamped index: values above the last one go where the last one goes.
    if function.op(index) == Op::Call(Intrinsic::Min(Number::U32))
        && let Some(most) = function.number(function.input(index, 1))
    {
        let inner = function.input(index, 0);
        let End::Switch { selector, cases, otherwise } = &mut function.blocks[block].end else { return true };
        if otherwise.is_none() && cases.len() as u64 == most + 1 {
            *otherwise = cases.pop().map(|case| case.1);
            *selector = inner;
        }
    }
    true
}

/// Turns a range check before a switch into its default case.
fn switch_defaults(function: &mut Function) -> bool {
    let mut changed = false;
    let mut moved: BlockMap<BlockId> = function.blocks.keys().collect();
    for block in function.blocks.keys() {
        let End::Switch { selector, cases, otherwise: None } = function.blocks[block].end.clone() else {
            continue;
        };
        if !function.blocks[block].effects.is_empty() || !function.blocks[block].phis.is_empty() {
            continue;
        }
        let [predecessor] = function.blocks[block].predecessors[..] else { continue };
        let End::Branch { condition, yes, no } = function.blocks[predecessor].end.clone() else {
            continue;
        };
        let condition = function.resolve(condition);
        let (a, b) = (function.input(condition, 0), function.input(condition, 1));
        let selector = function.resolve(selector);
        let count = cases.len() as u64;
        // The condition that holds if the index is out of range.
        let is_outside = match function.op(condition) {
            Op::Less if b == selector => {
                function.number(a).is_some_and(|most| most + 1 >= count).then_some(true)
            }
            Op::LessEqual if b == selector => {
                function.number(a).is_some_and(|most| most >= count).then_some(true)
            }
            Op::Less if a == selector => {
                function.number(b).is_some_and(|most| most >= count).then_some(false)
            }
            Op::LessEqual if a == selector => {
                function.number(b).is_some_and(|most| most + 1 >= count).then_some(false)
            }
            _ => None,
        };
        let Some(is_outside) = is_outside else { continue };
        let (outside, inside) = if is_outside { (yes, no) } else { (no, yes) };
        if inside != block || cases.iter().any(|case| case.1 == outside && has_phis(function, outside)) {
            continue;
        }
        for next in function.blocks[block].end.successors() {
            rename_predecessor(function, next, block, predecessor);
        }
        if cases.iter().any(|case| case.1 == outside) {
            // Both blocks had an edge there.
            let list = &mut function.blocks[outside].predecessors;
            if let Some(index) = list.iter().position(|entry| *entry == predecessor) {
                list.remove(index);
            }
        }
        function.blocks[predecessor].end = End::Switch { selector, cases, otherwise: Some(outside) };
        function.blocks[block].predecessors.clear();
        function.blocks[block].end = End::Open;
        moved[block] = predecessor;
        changed = true;
    }
    if changed {
        move_values(function, &moved);
    }
    changed
}

fn has_phis(function: &Function, block: BlockId) -> bool {
    !function.blocks[block].phis.is_empty()
}

fn rename_predecessor(function: &mut Function, block: BlockId, from: BlockId, to: BlockId) {
    for predecessor in &mut function.blocks[block].predecessors {
        if *predecessor == from {
            *predecessor = to;
        }
    }
}

/// Removes the edges from unreachable blocks.
pub fn remove_unreached(function: &mut Function) -> bool {
    let mut reached = IdVec::filled(false, function.blocks.len());
    let mut list = vec![BlockId::ENTRY];
    reached[BlockId::ENTRY] = true;
    while let Some(block) = list.pop() {
        function.blocks[block].end.each_successor(&mut |next| {
            if !std::mem::replace(&mut reached[next], true) {
                list.push(next);
            }
        });
    }
    let mut changed = false;
    for block in function.blocks.keys() {
        if reached[block] || function.blocks[block].end == End::Open && function.blocks[block].phis.is_empty()
        {
            continue;
        }
        for next in function.blocks[block].end.successors() {
            if reached[next] {
                function.remove_edge(block, next);
                changed = true;
            }
        }
        let dead = &mut function.blocks[block];
        dead.end = End::Open;
        dead.phis.clear();
        dead.effects.clear();
        dead.predecessors.clear();
    }
    changed
}

/// Merges empty blocks that end the thread.
fn one_return(function: &mut Function) -> bool {
    let is_return = |function: &Function, block: BlockId| {
        let found = &function.blocks[block];
        found.end == End::Return
            && found.effects.is_empty()
            && found.phis.is_empty()
            && block != BlockId::ENTRY
    };
    let all: Vec<BlockId> = function.blocks.keys().filter(|block| is_return(function, *block)).collect();
    let Some((&first, others)) = all.split_first() else { return false };
    let mut changed = false;
    for &other in others {
        for predecessor in std::mem::take(&mut function.blocks[other].predecessors) {
            function.blocks[predecessor].end.redirect(other, first);
            if !function.blocks[first].predecessors.contains(&predecessor) {
                function.blocks[first].predecessors.push(predecessor);
            }
            changed = true;
        }
        function.blocks[other].end = End::Open;
    }
    changed
}

/// Bypasses empty blocks, unless a phi needs them to distinguish two edges.
fn skip_empty(function: &mut Function, may_skip: impl Fn(BlockId) -> bool) -> bool {
    let mut changed = false;
    for block in function.blocks.keys().skip(1) {
        let End::Goto(to) = function.blocks[block].end else { continue };
        let found = &function.blocks[block];
        if !found.phis.is_empty() || !found.effects.is_empty() || to == block || !may_skip(block) {
            continue;
        }
        for predecessor in function.blocks[block].predecessors.clone() {
            if has_phis(function, to) && function.blocks[to].predecessors.contains(&predecessor) {
                continue;
            }
            if predecessor == block {
                continue;
            }
            let edge = function.blocks[to].predecessors.iter().position(|entry| *entry == block);
            let Some(edge) = edge else { break };
            let is_known = function.blocks[to].predecessors.contains(&predecessor);
            if !is_known {
                function.blocks[to].predecessors.push(predecessor);
                for index in 0..function.blocks[to].phis.len() {
                    let phi = function.blocks[to].phis[index];
                    function.push_input(phi, function.inputs(phi)[edge]);
                }
            }
            function.blocks[predecessor].end.redirect(block, to);
            let list = &mut function.blocks[block].predecessors;
            list.retain(|entry| *entry != predecessor);
            changed = true;
        }
    }
    changed
}

/// Turns `if (a) goto x; if (b) goto x;` into `if (a || b) goto x;`.
fn join_conditions(function: &mut Function) -> bool {
    let mut changed = false;
    let mut moved: BlockMap<BlockId> = function.blocks.keys().collect();
    for block in function.blocks.keys().skip(1) {
        let End::Branch { condition, yes, no } = function.blocks[block].end.clone() else { continue };
        let found = &function.blocks[block];
        let [predecessor] = found.predecessors[..] else { continue };
        if !found.phis.is_empty() || !found.effects.is_empty() || predecessor == block {
            continue;
        }
        let End::Branch { condition: first, yes: first_yes, no: first_no } =
            function.blocks[predecessor].end.clone()
        else {
            continue;
        };
        if yes == block || no == block {
            continue;
        }
        // The shared successor, and whether each block goes there if its condition holds.
        let (other, first_holds) = if first_yes == block { (first_no, false) } else { (first_yes, true) };
        if let Some((relay, holds)) = relay(function, block, predecessor, other)
            && !is_large(function, condition)
        {
            let joined = either(function, predecessor, (first, first_holds), (condition, holds));
            function.remove_edge(relay, other);
            function.blocks[relay].predecessors.clear();
            function.blocks[relay].end = End::Open;
            function.blocks[block].end = End::Goto(other);
            function.blocks[predecessor].end = End::Branch { condition: joined, yes: other, no: block };
            moved[block] = predecessor;
            moved[relay] = predecessor;
            changed = true;
            continue;
        }
        let (shared, holds, rest) = if yes == other {
            (yes, true, no)
        } else if no == other {
            (no, false, yes)
        } else {
            continue;
        };
        if rest == shared || !agree(function, shared, predecessor, block) || is_large(function, condition) {
            continue;
        }
        let joined = either(function, predecessor, (first, first_holds), (condition, holds));
        function.remove_edge(block, shared);
        rename_predecessor(function, rest, block, predecessor);
        function.blocks[predecessor].end = End::Branch { condition: joined, yes: shared, no: rest };
        let dead = &mut function.blocks[block];
        dead.predecessors.clear();
        dead.end = End::Open;
        moved[block] = predecessor;
        changed = true;
    }
    if changed {
        move_values(function, &moved);
    }
    changed
}

/// Returns an empty block between `block` and its other successor `shared`, which tells one edge from the other, if the
/// phis get the same values from it as from `predecessor`; and whether the condition holds on the way to it.
fn relay(
    function: &Function,
    block: BlockId,
    predecessor: BlockId,
    shared: BlockId,
) -> Option<(BlockId, bool)> {
    let End::Branch { yes, no, .. } = function.blocks[block].end else { return None };
    let (relay, holds) = if no == shared { (yes, true) } else { (no, false) };
    let found = &function.blocks[relay];
    let is_empty = found.phis.is_empty() && found.effects.is_empty() && found.predecessors == [block];
    let is_between = (yes == shared || no == shared) && relay != shared && found.end == End::Goto(shared);
    (is_empty && is_between && agree(function, shared, predecessor, relay)).then_some((relay, holds))
}

/// Moves the values of removed blocks to the blocks that these were merged into.
fn move_values(function: &mut Function, moved: &BlockMap<BlockId>) {
    for id in function.values.keys() {
        let mut to = function.values[id].block;
        while moved[to] != to {
            to = moved[to];
        }
        function.set_block(id, to);
    }
}

/// Returns whether a condition has so many operands that no more should be added.
fn is_large(function: &Function, condition: ValueId) -> bool {
    let mut list = vec![function.resolve(condition)];
    let mut count = 0;
    while let Some(id) = list.pop() {
        count += 1;
        if count > 16 {
            return true;
        }
        if matches!(function.op(id), Op::BoolAnd | Op::BoolOr | Op::BoolNot | Op::BoolXor) {
            list.extend((0..function.inputs(id).len()).map(|index| function.input(id, index)));
        }
    }
    false
}

/// Returns whether one of two conditions is as it is stated to be.
fn either(
    function: &mut Function,
    block: BlockId,
    (first, first_holds): (ValueId, bool),
    (condition, holds): (ValueId, bool),
) -> ValueId {
    let a = conditional(function, first, first_holds, block);
    let b = conditional(function, condition, holds, block);
    function.raw(Op::BoolOr, 1, block, function.values[condition].address, &[a, b])
}

fn conditional(function: &mut Function, condition: ValueId, holds: bool, block: BlockId) -> ValueId {
    if holds { condition } else { function.raw(Op::BoolNot, 1, block, NO_ADDRESS, &[condition]) }
}

/// Returns whether the phis of a block get the same values from two predecessors.
fn agree(function: &Function, block: BlockId, a: BlockId, b: BlockId) -> bool {
    let predecessors = &function.blocks[block].predecessors;
    let index = |wanted| predecessors.iter().position(|entry| *entry == wanted);
    let (Some(a), Some(b)) = (index(a), index(b)) else { return false };
    function.blocks[block].phis.iter().all(|phi| function.input(*phi, a) == function.input(*phi, b))
}

/// Merges a block into its only predecessor, if that has no other successor.
fn merge_chains(function: &mut Function) -> bool {
    let mut changed = false;
    let mut moved: BlockMap<BlockId> = function.blocks.keys().collect();
    for block in function.blocks.keys() {
        while let End::Goto(next) = function.blocks[block].end {
            if next == block || next == BlockId::ENTRY || function.blocks[next].predecessors.len() != 1 {
                break;
            }
            for index in 0..function.blocks[next].phis.len() {
                let phi = function.blocks[next].phis[index];
                let input = function.input(phi, 0);
                if input != phi {
                    function.replace(phi, input);
                }
            }
            let taken = &mut function.blocks[next];
            taken.phis.clear();
            taken.predecessors.clear();
            let effects = std::mem::take(&mut taken.effects);
            let end = std::mem::replace(&mut taken.end, End::Open);
            for after in end.successors() {
                rename_predecessor(function, after, next, block);
            }
            function.blocks[block].effects.extend(effects);
            function.blocks[block].end = end;
            moved[next] = block;
            changed = true;
        }
    }
    if changed {
        move_values(function, &moved);
        function.settle();
    }
    changed
}
