//! Which values become variables, and where each statement stands.
//!
//! A value that is used once is written where it is used, as part of an expression, unless it would move across
//! something that it must not. Other pure values get a variable, which is set as late as all its uses allow, outside of
//! loops that it was not in. Loads keep their place unless nothing between them and their use writes.

use crate::address::Address;
use crate::ir::dominators::Graph;
use crate::ir::rows::Rows;
use crate::ir::{BlockId, End, Function, Id, NONE, Op};

/// So many operators are in one expression at most.
const MAX_SIZE: u32 = 24;

/// The plan of a function's statements.
#[derive(Debug, Default)]
pub struct Schedule {
    /// Whether a value is written where it is used.
    pub inline: Vec<bool>,
    /// The statements of each block: values that are effects or set a variable.
    pub items: Vec<Vec<Id>>,
    /// How often each value is used.
    pub uses: Vec<u32>,
    /// The block in which a value is computed.
    place: Vec<BlockId>,
    size: Vec<u32>,
}

/// A use of a value.
#[derive(Clone, Copy)]
enum User {
    /// By a value.
    Value(Id),
    /// By the end of a block, or by a phi after it.
    End(BlockId),
    /// By a phi, at the end of this block.
    Phi(BlockId),
}

impl Schedule {
    /// Makes the plan.
    pub fn new(function: &Function, graph: &Graph, used: &[bool]) -> Self {
        let count = function.values.len();
        let mut schedule = Self {
            inline: vec![false; count],
            items: vec![Vec::new(); function.blocks.len()],
            uses: vec![0; count],
            place: function.values.iter().map(|value| value.block).collect(),
            size: vec![1; count],
        };
        let users = users(function, graph, used);
        for id in 0..count {
            schedule.uses[id] = users.of(id as Id).len() as u32;
        }
        let order = topological(function, used);
        schedule.measure(function, &order);
        let of_addresses = of_addresses(function, &users, &order);
        schedule.settle_pure(function, graph, &users, &order, &of_addresses);
        schedule.order_blocks(function, graph, used, &users, &order);
        schedule.inline_effects(function, &users);
        schedule
    }

    /// How many operators each value would be if all that is used once stood in it.
    fn measure(&mut self, function: &Function, order: &[Id]) {
        for &id in order {
            let op = function.op(id);
            if op == Op::Phi || is_leaf(function, id) {
                continue;
            }
            let mut size = 1_u32;
            for index in 0..function.inputs(id).len() {
                let input = function.input(id, index);
                if input != NONE && (self.uses[input as usize] == 1 || is_cheap(function, input)) {
                    size = size.saturating_add(self.size[input as usize]);
                }
            }
            // An expression that grows too large gets a variable, and counts as one from there on.
            self.size[id as usize] = size.min(MAX_SIZE + 1);
            if size > MAX_SIZE && !op.is_effect() {
                self.size[id as usize] = 1;
                self.uses[id as usize] = self.uses[id as usize].max(2) | 1 << 31;
            }
        }
    }

    /// Users before what they use: where each pure value stands, and whether it has a variable.
    fn settle_pure(
        &mut self,
        function: &Function,
        graph: &Graph,
        users: &Rows<User>,
        order: &[Id],
        of_addresses: &[bool],
    ) {
        let divides = dividing(function, order);
        for &id in order.iter().rev() {
            let op = function.op(id);
            if op == Op::Phi || op.is_effect() {
                continue;
            }
            if is_leaf(function, id) {
                self.inline[id as usize] = true;
                continue;
            }
            let mut place = NONE;
            let mut has_phi = false;
            for &user in users.of(id) {
                let at = match user {
                    User::Value(user) => self.place[user as usize],
                    User::End(block) => block,
                    User::Phi(block) => {
                        has_phi = true;
                        // A block that stands on a way is left empty, but for a way out of a loop.
                        let before = function.blocks[block as usize].before.first().copied();
                        if before
                            .is_some_and(|before| graph.loops[before as usize] <= graph.loops[block as usize])
                            && !divides[id as usize]
                            && function.blocks[block as usize].effects.is_empty()
                            && function.blocks[block as usize].before.len() == 1
                            && is_between(function, block)
                        {
                            function.blocks[block as usize].before[0]
                        } else {
                            block
                        }
                    }
                };
                place = if place == NONE { at } else { graph.common(place, at) };
            }
            if place == NONE {
                place = function.values[id as usize].block;
            }
            let is_single = self.uses[id as usize] == 1;
            let is_forced = self.uses[id as usize] >> 31 != 0;
            let is_short = is_cheap(function, id) || of_addresses[id as usize];
            if !has_phi && !is_forced && (is_single || is_short) && op != Op::Copy {
                self.inline[id as usize] = true;
                self.place[id as usize] = place;
                continue;
            }
            let first = function.values[id as usize].block;
            let mut best = place;
            let mut at = place;
            while at != first && graph.depth[at as usize] > 0 && !divides[id as usize] {
                at = graph.dominator[at as usize];
                if graph.loops[at as usize] < graph.loops[best as usize] {
                    best = at;
                }
            }
            self.place[id as usize] = best;
        }
        for use_count in &mut self.uses {
            *use_count &= !(1 << 31);
        }
    }

    /// Puts pure values with variables among the effects of their blocks: before the first that needs them.
    fn order_blocks(
        &mut self,
        function: &Function,
        graph: &Graph,
        used: &[bool],
        users: &Rows<User>,
        order: &[Id],
    ) {
        let mut pure: Vec<Vec<Id>> = vec![Vec::new(); function.blocks.len()];
        for &id in order {
            let op = function.op(id);
            if op != Op::Phi && !op.is_effect() && !self.inline[id as usize] && !is_leaf(function, id) {
                pure[self.place[id as usize] as usize].push(id);
            }
        }
        let mut done = vec![false; function.values.len()];
        for &block in &graph.order {
            let mut items = Vec::new();
            for &effect in &function.blocks[block as usize].effects {
                if used[effect as usize] {
                    self.need(function, effect, block, &mut done, &mut items);
                }
            }
            let is_for_phi = |id: Id| users.of(id).iter().any(|user| matches!(user, User::Phi(_)));
            let rest = &pure[block as usize];
            for &id in rest.iter().filter(|id| !is_for_phi(**id)) {
                self.need(function, id, block, &mut done, &mut items);
            }
            let updates = rest.iter().copied().filter(|id| is_for_phi(*id)).collect();
            for id in self.in_turn(function, block, updates) {
                self.need(function, id, block, &mut done, &mut items);
            }
            self.items[block as usize] = items;
        }
    }

    /// The next values of variables of a loop: one that others read the old value of comes after these.
    fn in_turn(&self, function: &Function, block: BlockId, updates: Vec<Id>) -> Vec<Id> {
        if updates.len() < 2 || updates.len() > 64 {
            return updates;
        }
        let mut target = vec![NONE; updates.len()];
        let mut after = function.blocks[block as usize].end.successors();
        for index in 0..after.len() {
            after.extend(function.blocks[after[index] as usize].end.successors());
        }
        for next in after {
            for &phi in &function.blocks[next as usize].phis {
                for index in 0..function.inputs(phi).len() {
                    if let Some(place) =
                        updates.iter().position(|update| *update == function.input(phi, index))
                    {
                        target[place] = phi;
                    }
                }
            }
        }
        let reads: Vec<Vec<Id>> = updates.iter().map(|update| self.reads(function, *update)).collect();
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

    /// The phis that an expression reads, through loads that will stand in it as well.
    fn reads(&self, function: &Function, id: Id) -> Vec<Id> {
        let mut found = Vec::new();
        let mut list = vec![id];
        while let Some(at) = list.pop() {
            for index in 0..function.inputs(at).len() {
                let input = function.input(at, index);
                if input == NONE || found.len() > 64 {
                    continue;
                }
                if function.op(input) == Op::Phi {
                    found.push(input);
                } else if self.inline[input as usize]
                    || function.op(input).is_effect() && self.uses[input as usize] == 1
                {
                    list.push(input);
                }
            }
        }
        found
    }

    /// Puts a value down after all values of the block that it needs.
    fn need(&self, function: &Function, id: Id, block: BlockId, done: &mut [bool], items: &mut Vec<Id>) {
        let mut stack = Vec::with_capacity(8);
        stack.push((id, 0_usize));
        while let Some((at, next)) = stack.last_mut() {
            let (id, index) = (*at, *next);
            *next += 1;
            if index < function.inputs(id).len() {
                let input = function.input(id, index);
                if input == NONE || done[input as usize] || matches!(function.op(input), Op::Phi) {
                    continue;
                }
                let is_here = self.place[input as usize] == block || self.inline[input as usize];
                if is_here && !function.op(input).is_effect() && !is_leaf(function, input) {
                    stack.push((input, 0));
                }
                continue;
            }
            stack.pop();
            if done[id as usize] {
                continue;
            }
            if !self.inline[id as usize] {
                done[id as usize] = true;
                items.push(id);
            }
        }
    }

    /// Loads and calls that are used once, by a statement of the same block that nothing stands between.
    fn inline_effects(&mut self, function: &Function, users: &Rows<User>) {
        let mut position = vec![(NONE, 0_u32); function.values.len()];
        for block in 0..self.items.len() {
            for (place, &id) in self.items[block].iter().enumerate() {
                position[id as usize] = (block as BlockId, place as u32);
            }
        }
        for block in 0..self.items.len() {
            // Of each statement, the last before it that loads can't be moved across.
            let items = self.items[block].clone();
            let mut barriers = Vec::with_capacity(items.len() + 1);
            let mut last = 0;
            for (place, &id) in items.iter().enumerate() {
                barriers.push(last);
                if function.op(id).is_barrier() {
                    last = place as u32 + 1;
                }
            }
            barriers.push(last);
            for (place, &id) in items.iter().enumerate().rev() {
                let op = function.op(id);
                if !op.is_effect() || matches!(op, Op::Store(_) | Op::Unlifted(_)) || function.width(id) == 0
                {
                    continue;
                }
                let [user] = users.of(id) else { continue };
                let Some(root) =
                    self.root(function, users, *user, block as BlockId, matches!(op, Op::Call(_)))
                else {
                    continue;
                };
                let at = match root {
                    Root::End => items.len() as u32,
                    Root::Item(item) => {
                        let (home, at) = position[item as usize];
                        if home != block as BlockId
                            || self.inline[item as usize] && function.op(item).is_effect()
                        {
                            continue;
                        }
                        at
                    }
                };
                let limit = barriers[at as usize];
                let is_call = !matches!(op, Op::Load(_));
                let nothing_between = !is_call
                    || at == place as u32 + 1
                    || op_is_quiet(function, &items[place + 1..at as usize]);
                let is_small = match root {
                    Root::Item(item) => self.size[item as usize] <= MAX_SIZE,
                    Root::End => true,
                };
                if limit <= place as u32 && nothing_between && !op.is_kept() && is_small {
                    self.inline[id as usize] = true;
                } else if op.is_kept() && at == place as u32 + 1 && is_small && matches!(root, Root::Item(_))
                {
                    // The result of a call that changes something, where the very next statement uses it.
                    self.inline[id as usize] = false;
                }
            }
        }
        for block in 0..self.items.len() {
            let inline = &self.inline;
            self.items[block].retain(|id| !inline[*id as usize]);
        }
    }

    /// The statement that an expression ends up in, if it is in this block.
    fn root(
        &self,
        function: &Function,
        users: &Rows<User>,
        user: User,
        block: BlockId,
        is_call: bool,
    ) -> Option<Root> {
        let mut user = user;
        for _ in 0..64 {
            match user {
                User::End(at) => return (at == block).then_some(Root::End),
                User::Phi(_) => return None,
                User::Value(id) => {
                    // What all lanes take part in is not left to a choice.
                    if is_call && matches!(function.op(id), Op::Select | Op::BoolAnd | Op::BoolOr) {
                        return None;
                    }
                    if !self.inline[id as usize] {
                        return Some(Root::Item(id));
                    }
                    // What is inline and used more than once would be computed more than once.
                    let [next] = users.of(id) else { return None };
                    user = *next;
                }
            }
        }
        None
    }
}

enum Root {
    Item(Id),
    End,
}

/// Whether nothing in these statements has a place in the order.
fn op_is_quiet(function: &Function, items: &[Id]) -> bool {
    items.iter().all(|id| !function.op(*id).is_effect())
}

/// Whether a block was put on a way and nothing else.
fn is_between(function: &Function, block: BlockId) -> bool {
    let found = &function.blocks[block as usize];
    found.phis.is_empty()
        && matches!(found.end, End::Goto(_))
        && function.blocks[found.before[0] as usize].end.successors().len() > 1
}

/// Values that need no variable: numbers, parameters, what the thread is told.
pub fn is_leaf(function: &Function, id: Id) -> bool {
    matches!(
        function.op(id),
        Op::Constant(_) | Op::Undefined | Op::Parameter(_) | Op::Special(_) | Op::Symbol(_)
    )
}

/// Values that are so short that they are written again where they are used again: widenings, halves, addresses.
fn is_cheap(function: &Function, id: Id) -> bool {
    let input_is_leaf = |index| {
        let input = function.input(id, index);
        input == NONE
            || is_leaf(function, input)
            || function.op(input) == Op::Phi
            || function.op(input).is_effect()
    };
    match function.op(id) {
        Op::Result(_) => true,
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

/// Values that rest on a division, which must not be made where the divisor may be zero: earlier than the code asks for.
fn dividing(function: &Function, order: &[Id]) -> Vec<bool> {
    let mut found = vec![false; function.values.len()];
    for &id in order {
        let op = function.op(id);
        let is_division = matches!(op, Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem)
            && function.number(function.input(id, 1)).is_none();
        let is_fixed = op == Op::Phi || op.is_effect();
        found[id as usize] = is_division
            || !is_fixed
                && (0..function.inputs(id).len()).any(|index| {
                    let input = function.input(id, index);
                    input != NONE && found[input as usize]
                });
    }
    found
}

/// Values that are nothing but addresses of memory, or parts of these, and short: they are written as indices.
fn of_addresses(function: &Function, users: &Rows<User>, order: &[Id]) -> Vec<bool> {
    let mut found = vec![false; function.values.len()];
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
                Op::Add | Op::Shl | Op::Mul => found[*user as usize],
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
        found[id as usize] = address.terms.len() <= 2 && !is_based && !is_byte;
    }
    found
}

/// Whether a base of addresses is written as one word: it is a leaf, or has a variable.
fn is_stable(function: &Function, base: Id) -> bool {
    is_leaf(function, base) || function.op(base) == Op::Phi || function.op(base).is_effect()
}

/// Used values so that inputs come before what uses them; phis break the circles.
fn topological(function: &Function, used: &[bool]) -> Vec<Id> {
    let mut order = Vec::new();
    let mut state = vec![false; function.values.len()];
    let mut stack = Vec::new();
    for id in 0..function.values.len() as Id {
        if !used[id as usize] || state[id as usize] || function.is_replaced(id) {
            continue;
        }
        state[id as usize] = true;
        stack.push((id, 0_usize));
        while let Some((at, next)) = stack.last_mut() {
            let (id, index) = (*at, *next);
            *next += 1;
            if index < function.inputs(id).len() && function.op(id) != Op::Phi {
                let input = function.input(id, index);
                if input != NONE && !std::mem::replace(&mut state[input as usize], true) {
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

/// Who uses what.
fn users(function: &Function, graph: &Graph, used: &[bool]) -> Rows<User> {
    let mut pairs: Vec<(Id, User)> = Vec::with_capacity(2 * function.values.len());
    for id in 0..function.values.len() as Id {
        let block = function.values[id as usize].block;
        if !used[id as usize]
            || function.is_replaced(id)
            || matches!(function.op(id), Op::Phi)
            || !graph.is_reached(block)
        {
            continue;
        }
        for index in 0..function.inputs(id).len() {
            let input = function.input(id, index);
            if input != NONE {
                pairs.push((input, User::Value(id)));
            }
        }
    }
    for &block in &graph.order {
        let found = &function.blocks[block as usize];
        if let Some(input) = found.end.input() {
            pairs.push((function.resolve(input), User::End(block)));
        }
        for &phi in &found.phis {
            for (index, &before) in found.before.iter().enumerate() {
                let input = function.input(phi, index);
                if input != NONE && input != phi {
                    pairs.push((input, User::Phi(before)));
                }
            }
        }
    }
    Rows::new(function.values.len(), &pairs)
}
