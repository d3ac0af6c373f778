//! The graph of blocks: what can't be reached goes, what always follows one another becomes one, conditions in a row
//! become one condition.

use crate::ir::build::remove_trivial_phis;
use crate::ir::dominators::Graph;
use crate::ir::{BlockId, End, Function, Id, NONE, Op};

/// Cleans the graph up; whether anything changed.
pub fn clean(function: &mut Function) -> bool {
    let mut changed = fold_ends(function);
    changed |= remove_unreached(function);
    changed |= one_return(function);
    changed |= skip_empty(function);
    changed |= switch_defaults(function);
    changed |= join_conditions(function);
    changed |= remove_unreached(function);
    changed |= merge_chains(function);
    if changed {
        remove_trivial_phis(function);
    }
    changed
}

/// The condition that a phi of two ways goes by, and the place of the input that it has where that holds.
pub fn decided(function: &Function, graph: &Graph, phi: Id) -> Option<(Id, usize)> {
    let block = function.values[phi as usize].block;
    let before = &function.blocks[block as usize].before;
    let (&[a, b], 2) = (before.as_slice(), function.inputs(phi).len()) else { return None };
    if !graph.is_reached(block) {
        return None;
    }
    let branch = graph.dominator[block as usize];
    let End::Branch { condition, yes, no } = function.blocks[branch as usize].end else { return None };
    let leads = |side: BlockId, way: BlockId| {
        way == side && function.blocks[side as usize].before == [branch] || way == branch && side == block
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

/// Branches whose condition is known, or inverted.
fn fold_ends(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        match function.blocks[block].end.clone() {
            End::Branch { condition, yes, no } => {
                let condition = function.resolve(condition);
                if let Some(number) = function.number(condition) {
                    let (to, other) = if number != 0 { (yes, no) } else { (no, yes) };
                    function.remove_edge(block as BlockId, other);
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
                            function.remove_edge(block as BlockId, other);
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

/// A switch on what a table holds becomes one on the index into the table: the cases are in the table's order.
fn index_table(function: &mut Function, block: usize, selector: u32) -> bool {
    let Op::Load(crate::ir::Space::Constant(_)) = function.op(selector) else { return false };
    let mut at = function.input(selector, 0);
    if function.op(at) == Op::Add && function.number(function.input(at, 1)).is_some() {
        at = function.input(at, 0);
    }
    let (index, is_scaled) = match (function.op(at), function.number(function.input(at, 1))) {
        (Op::Shl, Some(2)) | (Op::Mul, Some(4)) => (function.input(at, 0), true),
        _ => (NONE, false),
    };
    if !is_scaled {
        return false;
    }
    let End::Switch { selector, cases, .. } = &mut function.blocks[block].end else { return false };
    *selector = index;
    for (number, case) in cases.iter_mut().enumerate() {
        case.0 = number as u64;
    }
    // An index that is clamped: what is above the last leads where the last does.
    if let Op::Call(intrinsic) = function.op(index)
        && intrinsic.entry().name == "min.u"
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

/// A comparison before a switch that leads past it is its default.
#[expect(clippy::needless_range_loop, reason = "blocks are changed by their number")]
fn switch_defaults(function: &mut Function) -> bool {
    let mut changed = false;
    let mut moved: Vec<BlockId> = (0..function.blocks.len() as BlockId).collect();
    for block in 0..function.blocks.len() {
        let End::Switch { selector, cases, otherwise: None } = function.blocks[block].end.clone() else {
            continue;
        };
        if !function.blocks[block].effects.is_empty() || !function.blocks[block].phis.is_empty() {
            continue;
        }
        let [before] = function.blocks[block].before[..] else { continue };
        let End::Branch { condition, yes, no } = function.blocks[before as usize].end.clone() else {
            continue;
        };
        let condition = function.resolve(condition);
        let (a, b) = (function.input(condition, 0), function.input(condition, 1));
        let selector = function.resolve(selector);
        let count = cases.len() as u64;
        // What holds when the index is outside.
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
        if inside != block as BlockId
            || cases.iter().any(|case| case.1 == outside && has_phis(function, outside))
        {
            continue;
        }
        for next in function.blocks[block].end.successors() {
            rename_before(function, next, block as BlockId, before);
        }
        if cases.iter().any(|case| case.1 == outside) {
            // Both blocks led there.
            let list = &mut function.blocks[outside as usize].before;
            if let Some(place) = list.iter().position(|entry| *entry == before) {
                list.remove(place);
            }
        }
        function.blocks[before as usize].end = End::Switch { selector, cases, otherwise: Some(outside) };
        function.blocks[block].before.clear();
        function.blocks[block].end = End::Open;
        moved[block] = before;
        changed = true;
    }
    if changed {
        move_values(function, &moved);
    }
    changed
}

fn has_phis(function: &Function, block: BlockId) -> bool {
    !function.blocks[block as usize].phis.is_empty()
}

fn rename_before(function: &mut Function, block: BlockId, from: BlockId, to: BlockId) {
    for before in &mut function.blocks[block as usize].before {
        if *before == from {
            *before = to;
        }
    }
}

/// Takes out the ways from blocks that can't be reached.
pub fn remove_unreached(function: &mut Function) -> bool {
    let mut reached = vec![false; function.blocks.len()];
    let mut list = vec![0];
    reached[0] = true;
    while let Some(block) = list.pop() {
        function.blocks[block as usize].end.each_successor(&mut |next| {
            if !std::mem::replace(&mut reached[next as usize], true) {
                list.push(next);
            }
        });
    }
    let mut changed = false;
    for block in 0..function.blocks.len() {
        if reached[block] || function.blocks[block].end == End::Open && function.blocks[block].phis.is_empty()
        {
            continue;
        }
        for next in function.blocks[block].end.successors() {
            if reached[next as usize] {
                function.remove_edge(block as BlockId, next);
                changed = true;
            }
        }
        let dead = &mut function.blocks[block];
        dead.end = End::Open;
        dead.phis.clear();
        dead.effects.clear();
        dead.before.clear();
    }
    changed
}

/// Ends of the thread with nothing before them are one.
fn one_return(function: &mut Function) -> bool {
    let is_return = |function: &Function, block: BlockId| {
        let found = &function.blocks[block as usize];
        found.end == End::Return && found.effects.is_empty() && found.phis.is_empty() && block != 0
    };
    let all: Vec<BlockId> =
        (0..function.blocks.len() as BlockId).filter(|block| is_return(function, *block)).collect();
    let Some((&first, others)) = all.split_first() else { return false };
    let mut changed = false;
    for &other in others {
        for before in std::mem::take(&mut function.blocks[other as usize].before) {
            function.blocks[before as usize].end.redirect(other, first);
            if !function.blocks[first as usize].before.contains(&before) {
                function.blocks[first as usize].before.push(before);
            }
            changed = true;
        }
        function.blocks[other as usize].end = End::Open;
    }
    changed
}

/// Blocks with nothing in them are stepped over, where no phi needs them to tell two ways apart.
fn skip_empty(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 1..function.blocks.len() {
        let End::Goto(to) = function.blocks[block].end else { continue };
        let found = &function.blocks[block];
        if !found.phis.is_empty() || !found.effects.is_empty() || to as usize == block {
            continue;
        }
        let block = block as BlockId;
        for before in function.blocks[block as usize].before.clone() {
            if has_phis(function, to) && function.blocks[to as usize].before.contains(&before) {
                continue;
            }
            if before == block {
                continue;
            }
            let place = function.blocks[to as usize].before.iter().position(|entry| *entry == block);
            let Some(place) = place else { break };
            let is_known = function.blocks[to as usize].before.contains(&before);
            if !is_known {
                function.blocks[to as usize].before.push(before);
                for index in 0..function.blocks[to as usize].phis.len() {
                    let phi = function.blocks[to as usize].phis[index];
                    let mut inputs = function.inputs(phi).to_vec();
                    inputs.push(inputs[place]);
                    function.set_inputs(phi, &inputs);
                }
            }
            function.blocks[before as usize].end.redirect(block, to);
            let list = &mut function.blocks[block as usize].before;
            list.retain(|entry| *entry != before);
            changed = true;
        }
    }
    changed
}

/// `if (a) goto x; if (b) goto x;` becomes `if (a || b) goto x;`.
fn join_conditions(function: &mut Function) -> bool {
    let mut changed = false;
    let mut moved: Vec<BlockId> = (0..function.blocks.len() as BlockId).collect();
    for block in 1..function.blocks.len() {
        let End::Branch { condition, yes, no } = function.blocks[block].end.clone() else { continue };
        let found = &function.blocks[block];
        let [before] = found.before[..] else { continue };
        if !found.phis.is_empty() || !found.effects.is_empty() || before as usize == block {
            continue;
        }
        let End::Branch { condition: first, yes: first_yes, no: first_no } =
            function.blocks[before as usize].end.clone()
        else {
            continue;
        };
        let block = block as BlockId;
        if yes == block || no == block {
            continue;
        }
        // What both lead to, and whether each does so where its condition holds.
        let (other, first_holds) = if first_yes == block { (first_no, false) } else { (first_yes, true) };
        let (shared, holds, rest) = if yes == other {
            (yes, true, no)
        } else if no == other {
            (no, false, yes)
        } else {
            continue;
        };
        if rest == shared || !agree(function, shared, before, block) || is_large(function, condition) {
            continue;
        }
        let a = conditional(function, first, first_holds, before);
        let b = conditional(function, condition, holds, before);
        let joined =
            function.raw(Op::BoolOr, 1, before, function.values[condition as usize].address, &[a, b]);
        function.remove_edge(block, shared);
        rename_before(function, rest, block, before);
        function.blocks[before as usize].end = End::Branch { condition: joined, yes: shared, no: rest };
        let dead = &mut function.blocks[block as usize];
        dead.before.clear();
        dead.end = End::Open;
        moved[block as usize] = before;
        changed = true;
    }
    if changed {
        move_values(function, &moved);
    }
    changed
}

/// Says that values of blocks that are gone belong to the blocks that these were put to.
fn move_values(function: &mut Function, moved: &[BlockId]) {
    for id in 0..function.values.len() as Id {
        let mut to = function.values[id as usize].block;
        while moved[to as usize] != to {
            to = moved[to as usize];
        }
        function.set_block(id, to);
    }
}

/// Whether a condition is already made of so many that no more should be put to it.
fn is_large(function: &Function, condition: u32) -> bool {
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

fn conditional(function: &mut Function, condition: u32, holds: bool, block: BlockId) -> u32 {
    if holds { condition } else { function.raw(Op::BoolNot, 1, block, NONE, &[condition]) }
}

/// Whether the phis of a block get the same from two blocks before it.
fn agree(function: &Function, block: BlockId, a: BlockId, b: BlockId) -> bool {
    let before = &function.blocks[block as usize].before;
    let place = |wanted| before.iter().position(|entry| *entry == wanted);
    let (Some(a), Some(b)) = (place(a), place(b)) else { return false };
    function.blocks[block as usize].phis.iter().all(|phi| function.input(*phi, a) == function.input(*phi, b))
}

/// A block with one before it that leads nowhere else is put to it.
fn merge_chains(function: &mut Function) -> bool {
    let mut changed = false;
    let mut moved: Vec<BlockId> = (0..function.blocks.len() as BlockId).collect();
    for block in 0..function.blocks.len() {
        while let End::Goto(next) = function.blocks[block].end {
            if next as usize == block || next == 0 || function.blocks[next as usize].before.len() != 1 {
                break;
            }
            for index in 0..function.blocks[next as usize].phis.len() {
                let phi = function.blocks[next as usize].phis[index];
                let input = function.input(phi, 0);
                if input != phi {
                    function.replace(phi, input);
                }
            }
            let taken = &mut function.blocks[next as usize];
            taken.phis.clear();
            taken.before.clear();
            let effects = std::mem::take(&mut taken.effects);
            let end = std::mem::replace(&mut taken.end, End::Open);
            for after in end.successors() {
                rename_before(function, after, next, block as BlockId);
            }
            function.blocks[block].effects.extend(effects);
            function.blocks[block].end = end;
            moved[next as usize] = block as BlockId;
            changed = true;
        }
    }
    if changed {
        move_values(function, &moved);
        function.settle();
    }
    changed
}
