//! Assigns variables: values that a phi merges share a variable if their live ranges do not overlap.
//!
//! Live ranges are intervals of positions in the blocks, laid out in reverse postorder. A phi and its inputs form one
//! class as long as their ranges are disjoint. For an input outside of the class, the edge it comes from copies it to
//! the phi's variable.

use crate::ir::dominators::Graph;
use crate::ir::id_lists::IdLists;
use crate::ir::{BlockId, BlockMap, Function, IdVec, Op, ValueId, ValueMap};
use crate::schedule::{Schedule, is_leaf};
use crate::types::Type;

/// Half-open ranges of positions, ascending.
type Ranges = Vec<(u32, u32)>;

/// A variable, with the block and position of a use.
type VariableUse = (ValueId, (BlockId, u32));

/// The variable of each value.
#[derive(Debug, Default)]
pub struct Variables {
    class: ValueMap<ValueId>,
    /// Whether other values share the variable of this representative.
    is_shared: ValueMap<bool>,
    /// The copies at the end of each block: phi and input.
    pub copies: BlockMap<Vec<(ValueId, ValueId)>>,
}

impl Variables {
    /// Assigns the variables. `can_share` returns whether two values have types that one variable can have.
    pub fn new(
        function: &Function,
        graph: &Graph,
        schedule: &Schedule,
        can_share: &dyn Fn(ValueId, ValueId) -> bool,
    ) -> Self {
        let mut finder = Finder::new(function, graph, schedule);
        finder.find_ranges();
        let mut variables = Self {
            class: function.values.keys().collect(),
            is_shared: IdVec::filled(false, function.values.len()),
            copies: IdVec::filled(Vec::new(), function.blocks.len()),
        };
        for &block in &graph.order {
            for &phi in &function.blocks[block].phis {
                for index in 0..function.inputs(phi).len() {
                    let input = function.input(phi, index);
                    if input != ValueId::NONE && finder.has_variable(input) && can_share(phi, input) {
                        variables.unite(phi, input, &mut finder.live);
                    }
                }
            }
        }
        for id in function.values.keys() {
            variables.class[id] = variables.find(id);
        }
        for &block in &graph.order {
            for &phi in &function.blocks[block].phis {
                for (index, &predecessor) in function.blocks[block].predecessors.iter().enumerate() {
                    let input = function.input(phi, index);
                    let is_same = input == ValueId::NONE
                        || function.op(input) == Op::Undefined
                        || finder.has_variable(input) && variables.of(input) == variables.of(phi);
                    if !is_same {
                        variables.copies[predecessor].push((phi, input));
                    }
                }
            }
        }
        variables
    }

    /// Returns the representative of the values that share a variable.
    pub fn of(&self, id: ValueId) -> ValueId {
        self.class[id]
    }

    /// Returns the representative while classes are united, and shortens the path to it.
    fn find(&mut self, id: ValueId) -> ValueId {
        let mut at = id;
        while self.class[at] != at {
            self.class[at] = self.class[self.class[at]];
            at = self.class[at];
        }
        at
    }

    /// Returns whether a block ends in nothing but copies of constants to phis that share their variables with no
    /// other value.
    pub fn is_preset(&self, function: &Function, block: BlockId) -> bool {
        self.copies[block].iter().all(|(phi, input)| {
            function.number(*input).is_some() && self.class[*phi] == *phi && !self.is_shared[*phi]
        })
    }

    fn unite(&mut self, a: ValueId, b: ValueId, live: &mut ValueMap<Ranges>) {
        let (a, b) = (self.find(a), self.find(b));
        if a == b || meet(&live[a], &live[b]) {
            return;
        }
        let (one, other) = (std::mem::take(&mut live[a]), std::mem::take(&mut live[b]));
        live[a] = joined(one, other);
        self.class[b] = a;
        self.is_shared[a] = true;
    }
}

/// Returns whether values of two types can share a variable: C converts between integers of one width as the machine
/// does.
pub fn can_share(a: Type, b: Type) -> bool {
    a == b || matches!((a, b), (Type::Integer(a, _), Type::Integer(b, _)) if a == b)
}

/// Merges two lists of ranges that do not overlap: those of the shorter list are inserted into the longer one. Ranges
/// that touch become one.
fn joined(a: Ranges, b: Ranges) -> Ranges {
    let (mut all, few) = if a.len() < b.len() { (b, a) } else { (a, b) };
    for (start, end) in few {
        let at = all.partition_point(|range| range.1 < start);
        let is_before = all.get(at).is_some_and(|range| range.1 == start);
        let after = at + usize::from(is_before);
        let is_after = all.get(after).is_some_and(|range| range.0 == end);
        match (is_before, is_after) {
            (true, true) => all[at].1 = all.remove(after).1,
            (true, false) => all[at].1 = end,
            (false, true) => all[after].0 = start,
            (false, false) => all.insert(at, (start, end)),
        }
    }
    all
}

/// Returns whether two lists of ranges overlap: searches for those of the shorter list in the longer one.
fn meet(a: &Ranges, b: &Ranges) -> bool {
    let (all, few) = if a.len() < b.len() { (b, a) } else { (a, b) };
    few.iter().any(|range| {
        let at = all.partition_point(|other| other.1 <= range.0);
        all.get(at).is_some_and(|other| other.0 < range.1)
    })
}

struct Finder<'a> {
    function: &'a Function,
    graph: &'a Graph,
    schedule: &'a Schedule,
    live: ValueMap<Ranges>,
    /// The first and last position of each block.
    bounds: BlockMap<(u32, u32)>,
    /// Block and position of each definition.
    defined: ValueMap<(BlockId, u32)>,
    /// The value for which a block was last found to be live throughout.
    seen: BlockMap<ValueId>,
    /// Work list and ranges of the current value, kept to reuse their memory.
    list: Vec<BlockId>,
    ranges: Ranges,
}

impl<'a> Finder<'a> {
    fn new(function: &'a Function, graph: &'a Graph, schedule: &'a Schedule) -> Self {
        let mut finder = Self {
            function,
            graph,
            schedule,
            live: IdVec::filled(Vec::new(), function.values.len()),
            bounds: IdVec::filled((0, 0), function.blocks.len()),
            defined: IdVec::filled((BlockId::NONE, 0), function.values.len()),
            seen: BlockMap::new(),
            list: Vec::new(),
            ranges: Ranges::new(),
        };
        let mut position = 0;
        for &block in &graph.order {
            let start = position;
            for &phi in &function.blocks[block].phis {
                finder.defined[phi] = (block, start);
            }
            position += 2;
            for &item in &schedule.statements[block] {
                finder.defined[item] = (block, position);
                position += 2;
            }
            finder.bounds[block] = (start, position + 2);
            position += 2;
        }
        finder
    }

    fn has_variable(&self, id: ValueId) -> bool {
        !self.schedule.inline[id]
            && !is_leaf(self.function, id)
            && self.function.width(id) != 0
            && self.defined[id].0 != BlockId::NONE
    }

    /// Appends the inputs of a value to a list.
    fn inputs(&self, id: ValueId, list: &mut Vec<ValueId>) {
        let inputs = (0..self.function.inputs(id).len()).map(|index| self.function.input(id, index));
        list.extend(inputs.filter(|input| *input != ValueId::NONE));
    }

    /// Records the variables that the expressions in a list use at a position.
    fn leaves(&self, list: &mut Vec<ValueId>, position: (BlockId, u32), uses: &mut Vec<VariableUse>) {
        while let Some(id) = list.pop() {
            if self.has_variable(id) {
                uses.push((id, position));
            } else if !is_leaf(self.function, id) {
                self.inputs(id, list);
            }
        }
    }

    /// Returns all uses of variables; those in one block are in order of position.
    fn uses(&self) -> IdLists<(BlockId, u32)> {
        let mut uses = Vec::with_capacity(2 * self.function.values.len());
        let mut list = Vec::new();
        for &block in &self.graph.order {
            let (_, end) = self.bounds[block];
            for &item in &self.schedule.statements[block] {
                self.inputs(item, &mut list);
                self.leaves(&mut list, (block, self.defined[item].1), &mut uses);
            }
            if let Some(input) = self.function.blocks[block].end.input() {
                list.push(self.function.resolve(input));
                self.leaves(&mut list, (block, end), &mut uses);
            }
        }
        for &block in &self.graph.order {
            let after = &self.function.blocks[block];
            for &phi in &after.phis {
                for (index, &predecessor) in after.predecessors.iter().enumerate() {
                    let input = self.function.input(phi, index);
                    if input == ValueId::NONE || !self.graph.is_reached(predecessor) {
                        continue;
                    }
                    list.push(input);
                    self.leaves(&mut list, (predecessor, self.bounds[predecessor].1), &mut uses);
                }
            }
        }
        IdLists::new(self.function.values.len(), &uses)
    }

    /// Computes the live range of each variable.
    fn find_ranges(&mut self) {
        let uses = self.uses();
        self.seen = IdVec::filled(ValueId::NONE, self.function.blocks.len());
        for id in self.function.values.keys() {
            if self.has_variable(id) {
                self.range(id, uses.of(id));
            }
        }
    }

    fn range(&mut self, id: ValueId, uses: &[(BlockId, u32)]) {
        let (home, start) = self.defined[id];
        let (mut ranges, mut list) = (std::mem::take(&mut self.ranges), std::mem::take(&mut self.list));
        ranges.push((start, start + 1));
        let is_phi = matches!(self.function.op(id), Op::Phi);
        let mut uses = uses.iter().peekable();
        while let Some(&(block, at)) = uses.next() {
            let is_here = block == home && (start < at || is_phi);
            // Of several uses in a block on the same side of the definition, the last covers the others.
            if uses.peek().is_some_and(|next| next.0 == block && at <= next.1 && (block != home || is_here)) {
                continue;
            }
            if is_here {
                ranges.push((start, at));
                continue;
            }
            ranges.push((self.bounds[block].0, at));
            list.extend(self.function.blocks[block].predecessors.iter().copied());
        }
        while let Some(block) = list.pop() {
            if !self.graph.is_reached(block) || std::mem::replace(&mut self.seen[block], id) == id {
                continue;
            }
            let (first, end) = self.bounds[block];
            if block == home {
                ranges.push((start, end));
                continue;
            }
            ranges.push((first, end));
            list.extend(self.function.blocks[block].predecessors.iter().copied());
        }
        ranges.sort_unstable();
        let mut count = 0;
        for index in 0..ranges.len() {
            let (start, end) = ranges[index];
            match ranges[..count].last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => {
                    ranges[count] = (start, end);
                    count += 1;
                }
            }
        }
        self.live[id] = ranges[..count].to_vec();
        ranges.clear();
        (self.ranges, self.list) = (ranges, list);
    }
}
