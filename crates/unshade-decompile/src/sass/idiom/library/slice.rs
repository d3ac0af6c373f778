//! What a value is computed from, and the few values among these that all of it depends on.

use std::collections::VecDeque;
use std::ops::Range;

use super::region::{between_blocks, is_inner};
use crate::ir::dominators::Graph;
use crate::ir::hash::FastMap;
use crate::ir::id_lists::IdLists;
use crate::ir::{BlockId, End, Function, IdVec, Op, ValueId, ValueMap};

/// Maximum number of values.
const MAX_VALUES: usize = 480;

/// Maximum number of leaves to try alone, and of those to try in pairs.
const MAX_LEAVES: usize = 24;
const MAX_PAIRED: usize = 16;

/// Maximum number of leaves and pairs that a root is tried with. All of 1,500 calls in real code were found with one of
/// the first seven.
const MAX_FOUND: usize = 10;

/// Maximum number of loads, and of values that can't be anything but leaves, that are tried first. The others follow, the
/// most used ones first.
const MAX_FIRST: usize = 6;

/// Maximum number of values that a root may depend on besides the leaves. A run that needs one of them fails.
pub(super) const MAX_UNKNOWN: usize = 6;

/// Maximum number of values that are computed from constants only.
const MAX_FIXED: usize = 12;

/// Maximum number of paths that are remembered because they ruled out leaves.
const MAX_PATHS: usize = 4;

/// No index in a slice.
const NONE: u16 = u16::MAX;

/// The conditions that decide which input the phis of a block have; `None` if they are unknown.
type Controls = FastMap<BlockId, Option<Vec<ValueId>>>;

/// What each value of a function is computed from.
pub(super) struct AllParts {
    parts: Vec<ValueId>,
    /// The indices of the parts of each value; `None` if it needs something else.
    ranges: ValueMap<Option<Range<usize>>>,
    /// The index of each value in the slice that is made.
    indices: ValueMap<u16>,
}

impl AllParts {
    pub(super) fn new(function: &Function, graph: &Graph) -> Self {
        let mut controls = Controls::default();
        let mut parts = Vec::new();
        let ranges = function.values.keys().map(|id| {
            let first = parts.len();
            let is_all = parts_of(function, graph, id, &mut controls, &mut parts);
            if !is_all {
                parts.truncate(first);
            }
            is_all.then_some(first..parts.len())
        });
        let ranges = ranges.collect();
        Self { parts, ranges, indices: IdVec::filled(NONE, function.values.len()) }
    }

    /// Returns the values that each value is part of.
    pub(super) fn users(&self) -> IdLists<ValueId> {
        let pairs = self.ranges.entries().flat_map(|(id, range)| {
            let parts = range.iter().flat_map(|range| &self.parts[range.clone()]);
            parts.map(move |part| (*part, id))
        });
        IdLists::new(self.ranges.len(), &pairs.collect::<Vec<(ValueId, ValueId)>>())
    }
}

/// The values that a root is computed from, nearest first.
pub(super) struct Slice {
    values: Vec<ValueId>,
    /// The indices of what each is computed from, and whether it needs something else: it can only be a leaf.
    parts: Vec<(Range<usize>, bool)>,
    indices: Vec<u16>,
}

/// A function and its graph.
#[derive(Clone, Copy)]
struct FunctionGraph<'a> {
    function: &'a Function,
    graph: &'a Graph,
}

/// A value that may be an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub value: ValueId,
    /// How it is converted to a number, if it is a 32-bit integer.
    pub conversion: Option<Conversion>,
}

/// A conversion of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Conversion {
    /// The operator.
    pub op: Op,
    /// The bits of the integer that may be set.
    pub mask: u64,
}

impl Slice {
    pub(super) fn new(function: &Function, all: &mut AllParts, root: ValueId) -> Self {
        let mut slice = Self { values: vec![root], parts: Vec::new(), indices: Vec::new() };
        all.indices[root] = 0;
        while let Some(&id) = slice.values.get(slice.parts.len()) {
            let parts = all.ranges[id].as_ref().map(|range| &all.parts[range.clone()]);
            let parts = parts.filter(|parts| slice.values.len() + parts.len() <= MAX_VALUES);
            let first = slice.indices.len();
            for &part in parts.into_iter().flatten().filter(|part| function.number(**part).is_none()) {
                let index = &mut all.indices[part];
                if *index == NONE {
                    *index = slice.values.len() as u16;
                    slice.values.push(part);
                }
                slice.indices.push(*index);
            }
            slice.parts.push((first..slice.indices.len(), parts.is_none()));
        }
        for id in &slice.values {
            all.indices[*id] = NONE;
        }
        slice
    }

    /// Returns the values of a width that the root depends on without any other, and pairs of those. Integers that are
    /// converted to numbers of the width are among them: a comparison with zero may be one of the integer. A value that
    /// each of `is_user` marks is between the root and the leaves.
    pub(super) fn leaves(
        &self,
        function: &Function,
        graph: &Graph,
        width: u8,
        is_pair: bool,
        is_user: &[ValueMap<bool>; 2],
    ) -> Vec<Vec<Leaf>> {
        let Some(users) = self.users(is_user) else { return Vec::new() };
        let code = FunctionGraph { function, graph };
        let is_cut =
            |leaves: &[usize], scratch: &mut Scratch| self.is_cut_between(code, leaves, &users, scratch);
        let mut uses = vec![0_u32; self.values.len()];
        for index in &self.indices {
            uses[usize::from(*index)] += 1;
        }
        let fits = |index: &usize| {
            let id = self.values[*index];
            function.width(id) == width && function.op(id) != Op::Undefined
        };
        let mut chosen: Vec<usize> = (1..self.values.len()).filter(fits).collect();
        let is_first =
            |index: &usize| self.parts[*index].1 || matches!(function.op(self.values[*index]), Op::Load(_));
        let first: Vec<usize> = chosen.iter().copied().filter(is_first).take(MAX_FIRST).collect();
        chosen.sort_by_key(|index| (!first.contains(index), std::cmp::Reverse(uses[*index])));
        let chosen = chosen.into_iter().flat_map(|index| self.with_converted(function, index));
        let chosen: Vec<(usize, Leaf)> = chosen.take(MAX_LEAVES).collect();
        let mut scratch = Scratch::new(self.values.len());
        let mut found = Vec::new();
        for (position, &(one, leaf)) in chosen.iter().enumerate() {
            if found.len() < MAX_FOUND && is_cut(&[one], &mut scratch) {
                found.push(vec![leaf]);
            }
            let others = chosen.iter().take(MAX_PAIRED).skip(position + 1).filter(|_| is_pair);
            for &(other, second) in others {
                // The root depends on both.
                if found.len() < MAX_FOUND
                    && is_cut(&[one, other], &mut scratch)
                    && scratch.seen[one]
                    && scratch.seen[other]
                {
                    found.push(vec![leaf, second]);
                }
            }
        }
        found
    }

    /// Returns whether [`Self::leaves`] may return these leaves.
    pub(super) fn are_leaves(
        &self,
        function: &Function,
        graph: &Graph,
        leaves: &[Leaf],
        is_user: &[ValueMap<bool>; 2],
    ) -> bool {
        let index = |leaf: &Leaf| self.values.iter().position(|value| *value == leaf.value);
        let Some(leaves) = leaves.iter().map(index).collect::<Option<Vec<usize>>>() else { return false };
        let Some(users) = self.users(is_user) else { return false };
        let mut scratch = Scratch::new(self.values.len());
        let code = FunctionGraph { function, graph };
        self.is_cut_between(code, &leaves, &users, &mut scratch)
            && leaves.iter().all(|leaf| scratch.seen[*leaf])
    }

    /// Returns the indices of the values that each of two marks; `None` if one marks none.
    fn users(&self, is_user: &[ValueMap<bool>; 2]) -> Option<[Vec<usize>; 2]> {
        let users = is_user.each_ref().map(|is_user| -> Vec<usize> {
            (0..self.values.len()).filter(|index| is_user[self.values[*index]]).collect()
        });
        users.iter().all(|users| !users.is_empty()).then_some(users)
    }

    /// Returns whether the root depends on some values only, and one of each list of users is between.
    fn is_cut_between(
        &self,
        code: FunctionGraph<'_>,
        leaves: &[usize],
        users: &[Vec<usize>; 2],
        scratch: &mut Scratch,
    ) -> bool {
        let is_between = |scratch: &Scratch, user: &usize| scratch.seen[*user] && !leaves.contains(user);
        self.is_cut(code, leaves, scratch)
            && users.iter().all(|users| users.iter().any(|user| is_between(scratch, user)))
    }

    /// Returns a value as a leaf, and the integer that it is converted from as another.
    fn with_converted(&self, function: &Function, index: usize) -> Vec<(usize, Leaf)> {
        let mut leaves = vec![(index, Leaf { value: self.values[index], conversion: None })];
        let op = function.op(self.values[index]);
        if matches!(op, Op::SignedToFloat | Op::UnsignedToFloat) {
            let integers = self.indices[self.parts[index].0.clone()].iter().map(|part| usize::from(*part));
            let words = integers.filter(|part| function.width(self.values[*part]) == 32);
            leaves.extend(words.map(|part| {
                let value = self.values[part];
                let conversion = Some(Conversion { op, mask: possible_bits(function, value) });
                (part, Leaf { value, conversion })
            }));
        }
        leaves
    }

    /// Returns whether the root depends on some values and constants only, but for few others that phis or selects may
    /// choose.
    fn is_cut(&self, code: FunctionGraph<'_>, leaves: &[usize], scratch: &mut Scratch) -> bool {
        let Scratch { seen, users, list, fixed, paths } = scratch;
        if paths.iter().any(|path| self.is_refuted(code, leaves, path, fixed)) {
            return false;
        }
        let mut unknown = 0;
        seen.fill(false);
        seen[0] = true;
        list.clear();
        list.push(0);
        while let Some(index) = list.pop() {
            if leaves.contains(&index) {
                continue;
            }
            let (parts, _) = &self.parts[index];
            for part in self.indices[parts.clone()].iter().map(|part| usize::from(*part)) {
                if std::mem::replace(&mut seen[part], true) {
                    continue;
                }
                users[part] = index;
                if leaves.contains(&part) || !self.is_unknown(code, part, leaves, fixed) {
                    list.push(part);
                } else if !self.is_choice(code, index) {
                    scratch.add_path(part);
                    return false;
                } else if unknown < MAX_UNKNOWN {
                    unknown += 1;
                } else {
                    return false;
                }
            }
        }
        true
    }

    /// Returns whether there is still an unknown value at the end of a path, and neither a leaf nor a choice on it.
    fn is_refuted(
        &self,
        code: FunctionGraph<'_>,
        leaves: &[usize],
        path: &[usize],
        fixed: &mut [Option<bool>],
    ) -> bool {
        let is_end = path.first().is_some_and(|end| self.is_unknown(code, *end, leaves, fixed));
        if !is_end || leaves.iter().any(|leaf| path.contains(leaf)) {
            return false;
        }
        // Each was seen from the next one.
        (1..path.len()).all(|place| {
            let is_choice = self.is_choice(code, path.get(place + 1).copied().unwrap_or(0));
            !(is_choice && self.is_unknown(code, path[place], leaves, fixed))
        })
    }

    /// Returns whether a value is not known where the leaves are.
    fn is_unknown(
        &self,
        code: FunctionGraph<'_>,
        index: usize,
        leaves: &[usize],
        fixed: &mut [Option<bool>],
    ) -> bool {
        let id = self.values[index];
        self.parts[index].1
            || is_before(code, id, leaves.iter().map(|leaf| self.values[*leaf]))
                && !*fixed[index].get_or_insert_with(|| is_fixed(code.function, id))
    }

    fn is_choice(&self, code: FunctionGraph<'_>, index: usize) -> bool {
        matches!(code.function.op(self.values[index]), Op::Phi | Op::Select)
    }
}

/// Reused memory of the search for leaves.
struct Scratch {
    /// Whether each value is the root, a leaf or between.
    seen: Vec<bool>,
    /// The value that each of these was first seen from.
    users: Vec<usize>,
    list: Vec<usize>,
    /// Whether each value is computed from constants only, where that is known.
    fixed: Vec<Option<bool>>,
    /// The last paths from unknown values to the root.
    paths: VecDeque<Vec<usize>>,
}

impl Scratch {
    fn new(values: usize) -> Self {
        Self {
            seen: vec![false; values],
            users: vec![0; values],
            list: Vec::new(),
            fixed: vec![None; values],
            paths: VecDeque::new(),
        }
    }

    /// Adds the path from a value to the root, which is left out.
    fn add_path(&mut self, from: usize) {
        let mut path =
            if self.paths.len() == MAX_PATHS { self.paths.pop_back() } else { None }.unwrap_or_default();
        path.clear();
        let mut at = from;
        while at != 0 {
            path.push(at);
            at = self.users[at];
        }
        self.paths.push_front(path);
    }
}

/// Returns whether a value is from before the leaves, and not known. Code that follows other code in a loop or in a
/// sequence seems to need what that left in a register.
pub(super) fn is_outer(function: &Function, graph: &Graph, id: ValueId, leaves: &[ValueId]) -> bool {
    is_before(FunctionGraph { function, graph }, id, leaves.iter().copied()) && !is_fixed(function, id)
}

fn is_before(code: FunctionGraph<'_>, id: ValueId, mut leaves: impl Iterator<Item = ValueId>) -> bool {
    let FunctionGraph { function, graph } = code;
    let block = function.values[id].block;
    let is_phi = function.op(id) == Op::Phi;
    leaves.all(|leaf| {
        let other = function.values[leaf].block;
        (is_phi || block != other) && graph.dominates(block, other)
    })
}

/// Returns the bits of a word that may be set.
fn possible_bits(function: &Function, id: ValueId) -> u64 {
    let all = u64::from(u32::MAX);
    match (function.op(id), function.inputs(id)) {
        (Op::And, [a, b]) => function.number(*a).or(function.number(*b)).unwrap_or(all),
        (Op::Shr, [_, count]) => all >> function.number(*count).unwrap_or(0).min(31),
        _ => all,
    }
}

/// Returns whether a value is computed from constants only.
fn is_fixed(function: &Function, id: ValueId) -> bool {
    let mut list = vec![id];
    let mut at = 0;
    while let Some(&id) = list.get(at) {
        if id == ValueId::NONE || function.op(id) == Op::Phi || !is_inner(function, id) || at > MAX_FIXED {
            return false;
        }
        list.extend((0..function.inputs(id).len()).map(|index| function.input(id, index)));
        at += 1;
    }
    true
}

/// Appends what a value is computed from to a list. Returns whether that is all.
fn parts_of(
    function: &Function,
    graph: &Graph,
    id: ValueId,
    controls: &mut Controls,
    parts: &mut Vec<ValueId>,
) -> bool {
    if !is_inner(function, id) {
        return false;
    }
    if function.op(id) == Op::Phi {
        let block = function.values[id].block;
        match controls.entry(block).or_insert_with(|| conditions(function, graph, block)) {
            Some(conditions) => parts.extend(conditions.iter()),
            None => return false,
        }
    }
    let start = parts.len();
    parts.extend((0..function.inputs(id).len()).map(|index| function.input(id, index)));
    !parts[start..].contains(&ValueId::NONE)
}

/// Returns the conditions of the branches between a block and its dominator.
fn conditions(function: &Function, graph: &Graph, block: BlockId) -> Option<Vec<ValueId>> {
    if block == BlockId::ENTRY || !graph.is_reached(block) {
        return None;
    }
    let head = graph.dominator[block];
    // A loop is between its header and itself.
    let is_loop = |from: &BlockId| graph.dominates(block, *from);
    let mut blocks = vec![head];
    if function.blocks[block].predecessors.iter().any(is_loop) {
        blocks.push(block);
        for &latch in function.blocks[block].predecessors.iter().filter(|from| is_loop(from)) {
            if latch != block {
                blocks.extend(between_blocks(function, block, latch)?);
                blocks.push(latch);
            }
        }
    } else {
        blocks.extend(between_blocks(function, head, block)?);
    }
    let ends = blocks.iter().map(|block| &function.blocks[*block].end);
    let mut found: Vec<ValueId> = Vec::new();
    for end in ends {
        match end {
            End::Switch { .. } => return None,
            end => found.extend(end.input().map(|input| function.resolve(input))),
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}
