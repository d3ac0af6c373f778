//! The order and the numbers of blocks and values in the text.

use crate::{BlockId, BlockMap, End, Function, IdVec, Key, Op, ValueId, ValueMap};

/// No number: it is not in the text.
pub(super) const HIDDEN: u32 = u32::MAX;

/// The blocks and values of a function, as they are printed.
pub(super) struct Layout {
    /// The blocks, with the values of each.
    pub(super) blocks: Vec<(BlockId, Vec<ValueId>)>,
    /// The number of each block.
    pub(super) block_number: BlockMap<u32>,
    /// The number of each value that has a result.
    pub(super) value_number: ValueMap<u32>,
}

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing uses it.
    Unused,
    /// Something uses it.
    Used,
    /// In the text.
    Placed,
}

impl Layout {
    /// Lays out a function.
    pub(super) fn new(function: &Function) -> Self {
        let mut layout = Self {
            blocks: Vec::new(),
            block_number: IdVec::filled(HIDDEN, function.blocks.len()),
            value_number: IdVec::filled(HIDDEN, function.values.len()),
        };
        for block in function.blocks.keys() {
            if !is_removed(function, block) {
                layout.block_number[block] = layout.blocks.len() as u32;
                layout.blocks.push((block, Vec::new()));
            }
        }
        let mut states = used(function, &layout);
        let mut pure: Vec<Vec<ValueId>> = vec![Vec::new(); layout.blocks.len()];
        for id in function.values.keys() {
            if states[id] == State::Used && is_unordered(function, id) {
                pure[layout.home(function, id)].push(id);
            }
        }
        for (index, pure) in pure.into_iter().enumerate() {
            let block = &function.blocks[layout.blocks[index].0];
            let mut list = Vec::new();
            for &phi in &block.phis {
                if std::mem::replace(&mut states[phi], State::Placed) != State::Placed {
                    list.push(phi);
                }
            }
            for &id in block.effects.iter().chain(&pure) {
                layout.place(function, index, function.resolve(id), &mut states, &mut list);
            }
            layout.blocks[index].1 = list;
        }
        let listed = layout.blocks.iter().flat_map(|block| &block.1);
        let with_result = listed.filter(|id| function.width(**id) != 0);
        for (number, &id) in (0..).zip(with_result) {
            layout.value_number[id] = number;
        }
        layout
    }

    /// Returns the index of the block where a value without an order is printed.
    fn home(&self, function: &Function, id: ValueId) -> usize {
        match self.block_number.get(function.values[id].block) {
            Some(&HIDDEN) | None => 0,
            Some(&number) => number as usize,
        }
    }

    /// Appends a value to the list of a block, after the unordered values of the block that it uses.
    fn place(
        &self,
        function: &Function,
        block: usize,
        id: ValueId,
        states: &mut ValueMap<State>,
        list: &mut Vec<ValueId>,
    ) {
        if std::mem::replace(&mut states[id], State::Placed) == State::Placed {
            return;
        }
        let mut stack = vec![(id, 0)];
        while let Some((id, next)) = stack.last_mut() {
            let input = function.input(*id, *next);
            *next += 1;
            if *next > function.inputs(*id).len() {
                list.push(*id);
                stack.pop();
            } else if input != ValueId::NONE
                && states[input] == State::Used
                && is_unordered(function, input)
                && self.home(function, input) == block
            {
                states[input] = State::Placed;
                stack.push((input, 0));
            }
        }
    }
}

/// Returns whether a block is left over from one that was removed.
fn is_removed(function: &Function, block: BlockId) -> bool {
    let found = &function.blocks[block];
    block != BlockId::ENTRY
        && found.end == End::Open
        && found.predecessors.is_empty()
        && found.phis.is_empty()
        && found.effects.is_empty()
}

/// Returns whether a value is printed where it is needed: it has no effect, and is no constant, which is printed where
/// it is used.
fn is_unordered(function: &Function, id: ValueId) -> bool {
    let op = function.op(id);
    !op.is_effect() && !matches!(op, Op::Phi | Op::Constant(_))
}

/// Marks the values that effects, phis and the ends of blocks use, directly or indirectly.
fn used(function: &Function, layout: &Layout) -> ValueMap<State> {
    let mut states = IdVec::filled(State::Unused, function.values.len());
    let mut list = Vec::new();
    for (block, _) in &layout.blocks {
        let block = &function.blocks[*block];
        list.extend(block.phis.iter().chain(&block.effects).copied().chain(block.end.input()));
    }
    list.extend(function.named.iter().map(|named| named.1));
    while let Some(id) = list.pop() {
        if id.index() >= function.values.len() {
            continue;
        }
        let id = function.resolve(id);
        if std::mem::replace(&mut states[id], State::Used) == State::Unused {
            list.extend_from_slice(function.inputs(id));
        }
    }
    states
}
