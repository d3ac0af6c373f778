//! Decides which values become variables, and orders the statements of each block.
//!
//! A value with a single use is printed inline, as part of an expression, unless it would have to move across
//! something that may change it. Other pure values get a variable, which is set as late as all uses allow, but
//! outside of loops that did not contain it. Loads stay where they are unless nothing between them and their use
//! writes to memory.

use crate::address::Address;
use crate::ir::dominators::Graph;
use crate::ir::id_lists::IdLists;
use crate::ir::{BlockId, BlockMap, End, Function, IdVec, Op, Space, TypeId, ValueId, ValueMap};

/// Maximum number of operators in an expression.
const MAX_SIZE: u32 = 24;

/// Maximum number of operators in the text of an expression, which repeats operands of carries.
const MAX_PRINTED: u32 = 4 * MAX_SIZE;

/// The statements of a function.
#[derive(Debug, Default)]
pub struct Schedule {
    /// Whether a value is printed inline at its use.
    pub inline: ValueMap<bool>,
    /// The statements of each block: values that have effects or set a variable.
    pub statements: BlockMap<Vec<ValueId>>,
    /// Number of uses of each value.
    pub uses: ValueMap<u32>,
    /// Which loops test at their start.
    top_tested: TopTested,
    /// The block that computes each value.
    block_of: ValueMap<BlockId>,
    size: ValueMap<u32>,
}

/// Which loops test at their start: what they compute for the next round is then after the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopTested {
    /// What is computed decides.
    #[default]
    Unknown,
    /// Those whose test reads no value of the next round.
    Found,
    /// All of them.
    All,
}

/// A user of a value.
#[derive(Clone, Copy)]
enum User {
    /// A value.
    Value(ValueId),
    /// The end of a block.
    End(BlockId),
    /// A phi, at the end of this predecessor.
    Phi(BlockId),
}

impl Schedule {
    /// Creates the schedule.
    pub fn new(function: &Function, graph: &Graph, used: &ValueMap<bool>) -> Self {
        Self::of_loops(function, graph, used, TopTested::Unknown)
    }

    /// Creates the schedule of a function where it is known which loops test at their start.
    pub fn of_loops(
        function: &Function,
        graph: &Graph,
        used: &ValueMap<bool>,
        top_tested: TopTested,
    ) -> Self {
        let count = function.values.len();
        let mut schedule = Self {
            inline: IdVec::filled(false, count),
            statements: IdVec::filled(Vec::new(), function.blocks.len()),
            uses: IdVec::filled(0, count),
            top_tested,
            block_of: function.values.iter().map(|value| value.block).collect(),
            size: IdVec::filled(1, count),
        };
        let users = users(function, graph, used);
        for id in function.values.keys() {
            schedule.uses[id] = users.of(id).len() as u32;
        }
        let order = topological(function, used);
        schedule.measure(function, &order);
        let address_parts = address_parts(function, &users, &order);
        schedule.place_pure_values(function, graph, &users, &order, &address_parts);
        schedule.order_blocks(function, graph, used, &users, &order);
        schedule.inline_effects(function, &users);
        schedule
    }

    /// Counts the operators of each value, assuming that every value with a single use is inlined.
    fn measure(&mut self, function: &Function, order: &[ValueId]) {
        // The number of operators in the text: that of a carry, `a + b < a`, has its first operand twice.
        let mut printed = IdVec::filled(1_u32, function.values.len());
        for &id in order {
            let op = function.op(id);
            if op == Op::Phi || is_leaf(function, id) {
                continue;
            }
            let (mut size, mut text) = (1_u32, 1_u32);
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                if input != ValueId::NONE && (self.uses[input] == 1 || is_cheap(function, input)) {
                    size = size.saturating_add(self.size[input]);
                    let copies = if op == Op::Carry && index == 0 { 2 } else { 1 };
                    text = text.saturating_add(copies * printed[input]);
                }
            }
            // An expression that grows too large gets a variable, and counts as one operand from there on.
            self.size[id] = size.min(MAX_SIZE + 1);
            printed[id] = text.min(MAX_PRINTED + 1);
            if (size > MAX_SIZE || text > MAX_PRINTED) && !op.is_effect() {
                self.size[id] = 1;
                printed[id] = 1;
                self.uses[id] = self.uses[id].max(2) | 1 << 31;
            }
        }
    }

    /// Decides, users first, where each pure value is computed and whether it has a variable.
    fn place_pure_values(
        &mut self,
        function: &Function,
        graph: &Graph,
        users: &IdLists<User>,
        order: &[ValueId],
        address_parts: &ValueMap<bool>,
    ) {
        let may_fault = faulting(function, order);
        let mut computed_in = IdVec::filled(BlockId::NONE, function.values.len());
        for (id, block) in &function.computed_in {
            computed_in[function.resolve(*id)] = *block;
        }
        // What may fault stays where the code computes it, or after that.
        let may_move = |id: ValueId, to: BlockId| {
            let block = computed_in[id];
            !may_fault[id] || block != BlockId::NONE && graph.is_reached(block) && graph.dominates(block, to)
        };
        for &id in order.iter().rev() {
            let op = function.op(id);
            if op == Op::Phi || op.is_effect() {
                continue;
            }
            if is_leaf(function, id) {
                self.inline[id] = true;
                continue;
            }
            let mut home = BlockId::NONE;
            let mut has_phi = false;
            for &user in users.of(id) {
                let at = match user {
                    User::Value(user) => self.block_of[user],
                    User::End(block) => block,
                    User::Phi(block) => {
                        has_phi = true;
                        // A block on an edge stays empty, unless the edge leaves a loop.
                        let predecessor = function.blocks[block].predecessors.first().copied();
                        if predecessor
                            .is_some_and(|predecessor| graph.loops[predecessor] <= graph.loops[block])
                            && !may_fault[id]
                            && function.blocks[block].effects.is_empty()
                            && function.blocks[block].predecessors.len() == 1
                            && is_between(function, block)
                            && !self.is_round(function, block)
                        {
                            function.blocks[block].predecessors[0]
                        } else {
                            block
                        }
                    }
                };
                home = if home == BlockId::NONE { at } else { graph.common(home, at) };
            }
            if home == BlockId::NONE {
                home = function.values[id].block;
            }
            let is_single = self.uses[id] == 1;
            let is_forced = self.uses[id] >> 31 != 0;
            let is_short = is_cheap(function, id) || address_parts[id];
            if !has_phi && !is_forced && (is_single || is_short) && !matches!(op, Op::Copy | Op::InsertLane) {
                self.inline[id] = true;
                self.block_of[id] = home;
                continue;
            }
            let first = function.values[id].block;
            let mut best = home;
            let mut at = home;
            while at != first && graph.depth[at] > 0 && may_move(id, graph.dominator[at]) {
                at = graph.dominator[at];
                if graph.loops[at] < graph.loops[best] {
                    best = at;
                }
            }
            self.block_of[id] = best;
        }
        for use_count in &mut self.uses {
            *use_count &= !(1 << 31);
        }
    }

    /// Returns whether a block is all that a loop does after a test at its start.
    fn is_round(&self, function: &Function, block: BlockId) -> bool {
        match self.top_tested {
            TopTested::Unknown => false,
            TopTested::Found => is_whole_round(function, block) && tests_variables(function, block),
            TopTested::All => is_whole_round(function, block),
        }
    }

    /// Inserts pure values with variables between the effects of their blocks, before the first user.
    fn order_blocks(
        &mut self,
        function: &Function,
        graph: &Graph,
        used: &ValueMap<bool>,
        users: &IdLists<User>,
        order: &[ValueId],
    ) {
        let mut pure: BlockMap<Vec<ValueId>> = IdVec::filled(Vec::new(), function.blocks.len());
        for &id in order {
            let op = function.op(id);
            if op != Op::Phi && !op.is_effect() && !self.inline[id] && !is_leaf(function, id) {
                pure[self.block_of[id]].push(id);
            }
        }
        let mut done = IdVec::filled(false, function.values.len());
        for &block in &graph.order {
            let mut items = Vec::new();
            for &effect in &function.blocks[block].effects {
                if used[effect] {
                    self.append_with_inputs(function, effect, block, &mut done, &mut items);
                }
            }
            let is_for_phi = |id: ValueId| users.of(id).iter().any(|user| matches!(user, User::Phi(_)));
            let rest = &pure[block];
            for &id in rest.iter().filter(|id| !is_for_phi(**id)) {
                self.append_with_inputs(function, id, block, &mut done, &mut items);
            }
            let updates = rest.iter().copied().filter(|id| is_for_phi(*id)).collect();
            for id in self.in_turn(function, block, updates) {
                self.append_with_inputs(function, id, block, &mut done, &mut items);
            }
            self.statements[block] = items;
        }
    }

    /// Orders the next values of loop variables: a value comes after those that read its old value.
    fn in_turn(&self, function: &Function, block: BlockId, updates: Vec<ValueId>) -> Vec<ValueId> {
        if updates.len() < 2 || updates.len() > 64 {
            return updates;
        }
        let mut target = vec![ValueId::NONE; updates.len()];
        let mut after = function.blocks[block].end.successors();
        for index in 0..after.len() {
            after.extend(function.blocks[after[index]].end.successors());
        }
        for next in after {
            for &phi in &function.blocks[next].phis {
                for index in 0..function.inputs(phi).len() {
                    let input = function.input(phi, index);
                    if let Some(update) = updates.iter().position(|update| *update == input) {
                        target[update] = phi;
                    }
                }
            }
        }
        let reads: Vec<Vec<ValueId>> = updates.iter().map(|update| self.reads(function, *update)).collect();
        let mut left: Vec<usize> = (0..updates.len()).collect();
        let mut order = Vec::new();
        while !left.is_empty() {
            let free = left.iter().position(|mine| {
                left.iter().all(|other| other == mine || !reads[*other].contains(&target[*mine]))
            });
            order.push(updates[left.remove(free.unwrap_or(0))]);
        }
        order
    }

    /// Returns the phis that an expression reads, also through loads that will be inlined.
    fn reads(&self, function: &Function, id: ValueId) -> Vec<ValueId> {
        let mut found = Vec::new();
        let mut list = vec![id];
        while let Some(at) = list.pop() {
            for index in 0..function.inputs(at).len() {
                let input = function.input(at, index);
                if input == ValueId::NONE || found.len() > 64 {
                    continue;
                }
                if function.op(input) == Op::Phi {
                    found.push(input);
                } else if self.inline[input] || function.op(input).is_effect() && self.uses[input] == 1 {
                    list.push(input);
                }
            }
        }
        found
    }

    /// Appends a value after all values of the block that it needs.
    fn append_with_inputs(
        &self,
        function: &Function,
        id: ValueId,
        block: BlockId,
        done: &mut ValueMap<bool>,
        items: &mut Vec<ValueId>,
    ) {
        let mut stack = Vec::with_capacity(8);
        stack.push((id, 0_usize));
        while let Some((at, next)) = stack.last_mut() {
            let (id, index) = (*at, *next);
            *next += 1;
            if index < function.inputs(id).len() {
                let input = function.input(id, index);
                if input == ValueId::NONE || done[input] || matches!(function.op(input), Op::Phi) {
                    continue;
                }
                let is_here = self.block_of[input] == block || self.inline[input];
                if is_here && !function.op(input).is_effect() && !is_leaf(function, input) {
                    stack.push((input, 0));
                }
                continue;
            }
            stack.pop();
            if done[id] {
                continue;
            }
            if !self.inline[id] {
                done[id] = true;
                items.push(id);
            }
        }
    }

    /// Inlines loads and calls with a single use in a statement of the same block, if nothing in between interferes.
    fn inline_effects(&mut self, function: &Function, users: &IdLists<User>) {
        let mut position = IdVec::filled((BlockId::NONE, 0_u32), function.values.len());
        for block in self.statements.keys() {
            for (index, &id) in self.statements[block].iter().enumerate() {
                position[id] = (block, index as u32);
            }
        }
        for block in self.statements.keys() {
            // For each statement, the last one before it that loads must not move across.
            let items = self.statements[block].clone();
            let mut barriers = Vec::with_capacity(items.len() + 1);
            let mut last = 0;
            for (index, &id) in items.iter().enumerate() {
                barriers.push(last);
                if function.is_barrier(id) {
                    last = index as u32 + 1;
                }
            }
            barriers.push(last);
            for (index, &id) in items.iter().enumerate().rev() {
                let op = function.op(id);
                if !op.is_effect() || matches!(op, Op::Store(_) | Op::Unlifted(_)) || function.width(id) == 0
                {
                    continue;
                }
                let [user] = users.of(id) else { continue };
                // Its result, or a second one, is set by a statement.
                let is_second =
                    matches!(user, User::Value(user) if matches!(function.op(*user), Op::Result(_)));
                let is_shader = matches!(op, Op::Shader(_));
                let sets_variables = match op {
                    Op::Shader(shader) => shader.sets_variables(),
                    Op::Metal(metal) => metal.sets_variables(),
                    _ => false,
                };
                if sets_variables || is_shader && is_second {
                    continue;
                }
                let Some(root) = self.root(
                    function,
                    users,
                    *user,
                    block,
                    matches!(op, Op::Call(_) | Op::Shader(_) | Op::Metal(_)),
                ) else {
                    continue;
                };
                let at = match root {
                    InlineSite::End => items.len() as u32,
                    InlineSite::Statement(item) => {
                        let (home, at) = position[item];
                        if home != block || self.inline[item] && function.op(item).is_effect() {
                            continue;
                        }
                        at
                    }
                };
                let limit = barriers[at as usize];
                let is_call = !matches!(op, Op::Load(_));
                let nothing_between = !is_call
                    || at == index as u32 + 1
                    || op_is_quiet(function, &items[index + 1..at as usize]);
                let is_small = match root {
                    InlineSite::Statement(item) => self.size[item] <= MAX_SIZE,
                    InlineSite::End => true,
                };
                // A volatile load is a barrier to others, not to itself.
                let is_last = limit == index as u32 + 1 && function.values[id].is_volatile;
                if (limit <= index as u32 || is_last) && nothing_between && !op.is_kept() && is_small {
                    self.inline[id] = true;
                } else if op.is_kept()
                    && at == index as u32 + 1
                    && is_small
                    && matches!(root, InlineSite::Statement(_))
                {
                    // The result of a call with side effects, used by the very next statement.
                    self.inline[id] = false;
                }
            }
        }
        for block in self.statements.keys() {
            let inline = &self.inline;
            self.statements[block].retain(|id| !inline[*id]);
        }
    }

    /// Returns the statement that contains an expression, if it is in this block.
    fn root(
        &self,
        function: &Function,
        users: &IdLists<User>,
        user: User,
        block: BlockId,
        is_call: bool,
    ) -> Option<InlineSite> {
        let mut user = user;
        for _ in 0..64 {
            match user {
                User::End(at) => return (at == block).then_some(InlineSite::End),
                User::Phi(_) => return None,
                User::Value(id) => {
                    // Operations that all lanes execute together must not become conditional.
                    if is_call && matches!(function.op(id), Op::Select | Op::BoolAnd | Op::BoolOr) {
                        return None;
                    }
                    if !self.inline[id] {
                        return Some(InlineSite::Statement(id));
                    }
                    // An inlined value with several uses would be computed several times.
                    let [next] = users.of(id) else { return None };
                    user = *next;
                }
            }
        }
        None
    }
}

enum InlineSite {
    Statement(ValueId),
    End,
}

/// Returns whether none of these statements has ordered effects.
fn op_is_quiet(function: &Function, items: &[ValueId]) -> bool {
    items.iter().all(|id| !function.op(*id).is_effect())
}

/// Returns whether a block is all that a loop does after its test.
fn is_whole_round(function: &Function, block: BlockId) -> bool {
    let block = &function.blocks[block];
    block.end.successors() == block.predecessors
}

/// Returns whether the test before a round reads no value that the round computes for the next one.
fn tests_variables(function: &Function, round: BlockId) -> bool {
    let &[header] = function.blocks[round].predecessors.as_slice() else { return false };
    let found = &function.blocks[header];
    let (End::Branch { condition, .. }, true) = (&found.end, found.effects.is_empty()) else { return false };
    let mut next: Vec<ValueId> = Vec::new();
    for &phi in &found.phis {
        let at = found.predecessors.iter().position(|from| *from == round);
        next.extend(at.map(|at| function.input(phi, at)).filter(|value| function.op(*value) != Op::Phi));
    }
    let mut stack = vec![function.resolve(*condition)];
    for _ in 0..64 {
        let Some(id) = stack.pop() else { return true };
        if next.contains(&id) {
            return false;
        }
        if function.op(id) != Op::Phi {
            let inputs = (0..function.inputs(id).len()).map(|index| function.input(id, index));
            stack.extend(inputs.filter(|input| *input != ValueId::NONE));
        }
    }
    false
}

/// Returns whether a block is an empty block on an edge.
fn is_between(function: &Function, block: BlockId) -> bool {
    let found = &function.blocks[block];
    found.phis.is_empty()
        && matches!(found.end, End::Goto(_))
        && function.blocks[found.predecessors[0]].end.successors().len() > 1
}

/// Returns whether a value needs no variable: constants, parameters, special values.
pub fn is_leaf(function: &Function, id: ValueId) -> bool {
    let op = function.op(id);
    match op {
        Op::Constant(_) | Op::Undefined | Op::Parameter(_) | Op::Special(_) | Op::Symbol(_) => true,
        // A name: of an input, a variable, a resource.
        Op::Shader(shader) => {
            let is_name = |input: &ValueId| {
                matches!(function.op(function.resolve(*input)), Op::Constant(_) | Op::Undefined)
            };
            !op.is_effect() && shader.is_name() && function.inputs(id).iter().all(is_name)
        }
        Op::Vector => {
            function.inputs(id).iter().all(|input| function.number(function.resolve(*input)).is_some())
        }
        _ => false,
    }
}

/// Returns whether a value is cheap enough to repeat at each use: extensions, halves, addresses.
fn is_cheap(function: &Function, id: ValueId) -> bool {
    let input_is_leaf = |index| {
        let input = function.input(id, index);
        input == ValueId::NONE
            || is_leaf(function, input)
            || function.op(input) == Op::Phi
            || function.op(input).is_effect()
    };
    match function.op(id) {
        Op::Result(_) => true,
        // What has no variable in a shading language, and what is one name with an index or a member.
        Op::Shader(op) => op.is_name(),
        Op::Lanes(_) => true,
        // Places have names: what is computed of them is in their indices.
        Op::Member(..) | Op::Element(_) => true,
        Op::Offset(_) => {
            let index = function.input(id, 1);
            let is_widened = matches!(function.op(index), Op::ZeroExtend | Op::SignExtend);
            let index = if is_widened { function.input(index, 0) } else { index };
            let is_plain = is_leaf(function, index)
                || matches!(function.op(index), Op::Phi | Op::Lanes(_))
                || function.op(index).is_effect();
            is_plain && input_is_leaf(0)
        }
        Op::ZeroExtend | Op::SignExtend | Op::Low | Op::High | Op::BoolNot => {
            function.width(function.input(id, 0)) == 1 && function.op(id) == Op::ZeroExtend
                || input_is_leaf(0)
                || function.width(id) == 64
        }
        Op::Add if function.width(id) == 64 => {
            let address = Address::new(function, id);
            address.base.is_some_and(|base| is_leaf(function, base) || function.op(base) == Op::Phi)
                && address.terms.len() <= 2
        }
        Op::Mul if function.width(id) == 64 => {
            function.number(function.input(id, 1)).is_some_and(|number| number < 1 << 20)
        }
        Op::SignedToFloat | Op::UnsignedToFloat => {
            input_is_leaf(0) || function.op(function.input(id, 0)) == Op::Add
        }
        Op::Add => {
            let number = function.number(function.input(id, 1));
            number.is_some() && input_is_leaf(0) && function.op(function.input(id, 0)) != Op::Phi
        }
        Op::Shl => {
            function.number(function.input(id, 1)).is_some_and(|number| number <= 4) && input_is_leaf(0)
        }
        _ => false,
    }
}

/// Returns the values that depend on a division, or on a load from constant memory at a computed address. They must not be
/// computed earlier than in the code, where the divisor might be zero, or the address outside of its variable.
fn faulting(function: &Function, order: &[ValueId]) -> ValueMap<bool> {
    let mut found = IdVec::filled(false, function.values.len());
    for &id in order {
        let op = function.op(id);
        let may_fault = match op {
            Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem => function.number(function.input(id, 1)).is_none(),
            Op::Load(Space::Constant(_)) => {
                if is_typed(function, function.input(id, 0)) {
                    is_indexed(function, function.input(id, 0))
                } else {
                    let address = Address::new(function, function.input(id, 0));
                    let is_symbol = |base: ValueId| matches!(function.op(base), Op::Symbol(_));
                    !address.terms.is_empty() || address.base.is_some_and(|base| !is_symbol(base))
                }
            }
            _ => false,
        };
        let is_fixed = op == Op::Phi || op.is_effect();
        found[id] = may_fault
            || !is_fixed
                && (0..function.inputs(id).len()).any(|index| {
                    let input = function.input(id, index);
                    input != ValueId::NONE && found[input]
                });
    }
    found
}

/// Returns whether a value is a typed pointer.
fn is_typed(function: &Function, pointer: ValueId) -> bool {
    function.values[pointer].ty != TypeId::NONE
}

/// Returns whether a typed pointer is computed from more than names and constants.
fn is_indexed(function: &Function, pointer: ValueId) -> bool {
    let mut at = pointer;
    loop {
        match function.op(at) {
            Op::Member(..) | Op::Reinterpret => {}
            Op::Offset(_) | Op::Element(_) if function.number(function.input(at, 1)).is_some() => {}
            Op::Shader(_) | Op::Symbol(_) => return false,
            _ => return true,
        }
        at = function.input(at, 0);
    }
}

/// Returns the short values that are only used as addresses, or parts of addresses: they are printed as indices.
fn address_parts(function: &Function, users: &IdLists<User>, order: &[ValueId]) -> ValueMap<bool> {
    let mut found = IdVec::filled(false, function.values.len());
    for &id in order.iter().rev() {
        let is_scaled =
            matches!(function.op(id), Op::Shl | Op::Mul) && function.number(function.input(id, 1)).is_some();
        if function.op(id) != Op::Add && !is_scaled {
            continue;
        }
        let is_address = users.of(id).iter().all(|user| match user {
            User::Value(user) => match function.op(*user) {
                Op::Load(_) => true,
                Op::Store(_) => function.input(*user, 1) != id,
                Op::Add | Op::Shl | Op::Mul => found[*user],
                _ => false,
            },
            _ => false,
        });
        if !is_address {
            continue;
        }
        let address = Address::new(function, id);
        let is_based = function.width(id) == 64 && address.base.is_none_or(|base| !is_stable(function, base));
        let is_byte = function.width(id) < 64 && address.terms.iter().any(|term| term.1 < 2);
        found[id] = address.terms.len() <= 2 && !is_based && !is_byte;
    }
    found
}

/// Returns whether the base of an address prints as a single word: it is a leaf or has a variable.
fn is_stable(function: &Function, base: ValueId) -> bool {
    is_leaf(function, base) || function.op(base) == Op::Phi || function.op(base).is_effect()
}

/// Returns the used values in topological order, inputs first; phis break the cycles.
fn topological(function: &Function, used: &ValueMap<bool>) -> Vec<ValueId> {
    let mut order = Vec::new();
    let mut state = IdVec::filled(false, function.values.len());
    let mut stack = Vec::new();
    for id in function.values.keys() {
        if !used[id] || state[id] || function.is_replaced(id) {
            continue;
        }
        state[id] = true;
        stack.push((id, 0_usize));
        while let Some((at, next)) = stack.last_mut() {
            let (id, index) = (*at, *next);
            *next += 1;
            if index < function.inputs(id).len() && function.op(id) != Op::Phi {
                let input = function.input(id, index);
                if input != ValueId::NONE && !std::mem::replace(&mut state[input], true) {
                    stack.push((input, 0));
                }
                continue;
            }
            order.push(id);
            stack.pop();
        }
    }
    order
}

/// Returns the users of each value.
fn users(function: &Function, graph: &Graph, used: &ValueMap<bool>) -> IdLists<User> {
    let mut pairs: Vec<(ValueId, User)> = Vec::with_capacity(2 * function.values.len());
    for id in function.values.keys() {
        let block = function.values[id].block;
        if !used[id]
            || function.is_replaced(id)
            || matches!(function.op(id), Op::Phi)
            || !graph.is_reached(block)
        {
            continue;
        }
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input != ValueId::NONE {
                pairs.push((input, User::Value(id)));
            }
        }
    }
    for &block in &graph.order {
        let found = &function.blocks[block];
        if let Some(input) = found.end.input() {
            pairs.push((function.resolve(input), User::End(block)));
        }
        for &phi in &found.phis {
            for (index, &predecessor) in found.predecessors.iter().enumerate() {
                let input = function.input(phi, index);
                if input != ValueId::NONE && input != phi {
                    pairs.push((input, User::Phi(predecessor)));
                }
            }
        }
    }
    IdLists::new(function.values.len(), &pairs)
}
