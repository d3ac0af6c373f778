//! Removes the blocks of regions whose values nothing needs any more.
//!
//! In a loop, one region may leave something in a register that another one, or itself in the next iteration, only
//! seems to need. So all are supposed to be removed; those that have a value which is used then stay, until no more do.

use super::region::Extent;
use crate::ir::{BlockId, BlockMap, End, Function, IdVec, Op, Space, Special};

/// Lets the heads of regions continue at their ends, where nothing else needs what is between. Replacements must be settled.
pub(super) fn run(function: &mut Function, extents: &[&Extent]) {
    let mut removed = removable(function, extents);
    while !removed.is_empty() {
        let count = removed.len();
        let needed = needed_blocks(function, &removed);
        removed.retain(|extent| !extent.inner.iter().chain([&extent.join]).any(|block| needed[*block]));
        if removed.len() == count {
            break;
        }
    }
    // The largest ones are first, and contain others.
    for extent in removed {
        if matches!(function.blocks[extent.head].end, End::Branch { .. }) {
            skip(function, extent);
        }
    }
}

/// Returns extents that end at their joins, the largest ones first. Two have no block in common, or one contains the
/// other.
fn removable<'a>(function: &Function, extents: &[&'a Extent]) -> Vec<&'a Extent> {
    let mut sorted: Vec<&Extent> =
        extents.iter().copied().filter(|one| ends_at_join(function, one)).collect();
    sorted.sort_by_key(|extent| std::cmp::Reverse(extent.inner.len()));
    let mut found: Vec<&Extent> = Vec::new();
    for extent in sorted {
        let is_inside = |other: &&Extent| extent.inner.iter().all(|block| other.inner.contains(block));
        let is_apart = |other: &&Extent| {
            let mut blocks = extent.inner.iter().chain([&extent.head, &extent.join]);
            !blocks.any(|block| other.inner.contains(block)) && !extent.inner.contains(&other.join)
        };
        if found.iter().all(|other| is_inside(other) || is_apart(other)) {
            found.push(extent);
        }
    }
    found
}

fn ends_at_join(function: &Function, extent: &Extent) -> bool {
    let Extent { head, join, inner } = extent;
    let stays = |next: BlockId| next == *join || inner.contains(&next);
    let mut blocks = inner.iter().chain([head]);
    head != join
        && blocks.all(|block| function.blocks[*block].end.successors().iter().all(|next| stays(*next)))
}

/// Returns the blocks of which a value is used, or a phi in the case of a join, if the blocks of extents have no effects.
fn needed_blocks(function: &Function, removed: &[&Extent]) -> BlockMap<bool> {
    let (mut is_inner, mut is_head) =
        (IdVec::filled(false, function.blocks.len()), IdVec::filled(false, function.blocks.len()));
    let mut is_join: BlockMap<bool> = IdVec::filled(false, function.blocks.len());
    for extent in removed {
        extent.inner.iter().for_each(|block| is_inner[*block] = true);
        is_head[extent.head] = true;
        is_join[extent.join] = true;
    }
    let used = function.used_if(|block| !is_inner[block], |block| !is_inner[block] && !is_head[block]);
    let mut needed = IdVec::filled(false, function.blocks.len());
    for (id, value) in function.values.entries().filter(|(id, _)| used[*id] && !function.is_replaced(*id)) {
        let block = value.block;
        if function.blocks.contains_key(block) {
            needed[block] |= is_inner[block] || is_join[block] && function.op(id) == Op::Phi;
        }
    }
    needed
}

/// Removes all stores to local memory, if nothing reads any.
pub(super) fn remove_local_stores(function: &mut Function) {
    if reads_local(function) {
        return;
    }
    let Function { blocks, values, .. } = function;
    for block in blocks.iter_mut() {
        block.effects.retain(|effect| values[*effect].op != Op::Store(Space::Local));
    }
}

fn reads_local(function: &Function) -> bool {
    let used = function.used();
    let mut effects = function.blocks.iter().flat_map(|block| &block.effects);
    let mut values = function.values.entries().filter(|(id, _)| used[*id]);
    effects.any(|effect| matches!(function.op(*effect), Op::Load(Space::Local) | Op::Invoke(_)))
        || values.any(|(_, value)| value.op == Op::Special(Special::LocalWindow))
}

fn skip(function: &mut Function, extent: &Extent) {
    let Extent { head, join, inner } = extent;
    for block in inner {
        let removed = &mut function.blocks[*block];
        removed.end = End::Open;
        removed.phis.clear();
        removed.effects.clear();
        removed.predecessors.clear();
    }
    let joined = &mut function.blocks[*join];
    joined.predecessors.clear();
    joined.predecessors.push(*head);
    joined.phis.clear();
    function.blocks[*head].end = End::Goto(*join);
}
