//! Removes the blocks of regions whose values nothing needs any more.

use super::region::Extent;
use crate::ir::id_lists::IdLists;
use crate::ir::{BlockId, End, Function, Key, Op, Space, Special, ValueId};

/// Where values are, and where they are used.
struct Uses {
    /// The values of each block.
    values: IdLists<ValueId>,
    /// The blocks where each value is used; for a phi, its own block.
    users: IdLists<BlockId>,
}

impl Uses {
    fn new(function: &Function) -> Self {
        let used = function.used();
        let (mut places, mut users) = (Vec::new(), Vec::new());
        for (id, value) in function.values.entries().filter(|(id, _)| used[*id] && !function.is_replaced(*id))
        {
            places.push((ValueId::new(value.block.number()), id));
            users.extend(function.inputs(id).iter().map(|input| (*input, value.block)));
        }
        users.retain(|user| user.0 != ValueId::NONE);
        let ends = function.blocks.entries().filter_map(|(block, one)| Some((one.end.input()?, block)));
        users.extend(ends.map(|(input, block)| (function.resolve(input), block)));
        users.extend(function.named.iter().map(|(_, value)| (function.resolve(*value), BlockId::NONE)));
        Self {
            values: IdLists::new(function.blocks.len(), &places),
            users: IdLists::new(function.values.len(), &users),
        }
    }

    /// Returns the values of a block.
    fn values(&self, block: BlockId) -> &[ValueId] {
        self.values.of(ValueId::from_index(block.index()))
    }
}

/// Lets the heads of regions continue at their ends, where nothing else needs what is between. Replacements must be settled.
pub(super) fn run(function: &mut Function, extents: &[&Extent]) {
    let mut uses = None;
    for extent in extents.iter().filter(|extent| extent.head != extent.join) {
        let uses = uses.get_or_insert_with(|| Uses::new(function));
        if is_unneeded(function, uses, extent) {
            skip(function, extent);
        }
    }
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

fn is_unneeded(function: &Function, uses: &Uses, extent: &Extent) -> bool {
    let Extent { head, join, inner } = extent;
    let is_inside = |block: &BlockId| inner.contains(block);
    let ends_inside = |block: &BlockId| {
        function.blocks[*block].end.successors().iter().all(|next| next == join || is_inside(next))
    };
    // Another region may have had the same blocks.
    let is_there = matches!(function.blocks[*head].end, End::Branch { .. });
    is_there
        && inner.iter().chain([head]).all(ends_inside)
        && function.blocks[*join].phis.iter().all(|phi| uses.users.of(*phi).is_empty())
        && inner
            .iter()
            .flat_map(|block| uses.values(*block))
            .all(|id| uses.users.of(*id).iter().all(is_inside))
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
