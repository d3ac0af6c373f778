//! Structures blocks into `if`, loops, `switch`, and `goto` where nothing else fits.
//!
//! A block with several predecessors is placed after the statement of its immediate dominator; a block with a single
//! predecessor is placed in the branch that leads to it (Ramsey, "Beyond Relooper", uses the dominator tree in this
//! way). The exit of a loop that `break` leads to is chosen first. Other successors of a loop are placed inside it if
//! they have one predecessor, and otherwise after it. An edge that is not a fall-through, `break`, `continue` or
//! `return` is a `goto`; short blocks are duplicated instead. If such a `goto` leaves several statements, a flag
//! replaces it.

mod flags;
mod statement;

pub use statement::{Condition, LoopKind, Statement, continues};

use crate::ir::dominators::Graph;
use crate::ir::hash::FastMap;
use crate::ir::{BlockId, BlockMap, End, Function, IdVec, Key, Op, ValueId};
use statement::{Gotos, choice, choice_of, ends, into_breaks, leaves, shaped};
use std::cmp::Reverse;

/// Maximum nesting depth of statements; deeper ones are placed after the rest and reached by `goto`. Blocks that only one
/// block leads to count as nested in it, although their statements follow its own.
const MAX_NESTING: usize = 150;

/// Maximum number of statements of a block that is duplicated instead of a `goto`.
const MAX_REPEATED: usize = 4;

/// The targets of control transfers at a position.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The fall-through target.
    fallthrough: BlockId,
    /// The target of `break`.
    break_target: BlockId,
    /// The target of `continue`.
    continue_target: BlockId,
    depth: usize,
}

/// The end of the function.
const END: BlockId = BlockId::new(u32::MAX - 1);

/// Structures the blocks of a function.
pub struct Structurer<'a> {
    function: &'a Function,
    graph: &'a Graph,
    /// Returns the number of statements of a block.
    weight: Box<dyn Fn(BlockId) -> usize + 'a>,
    /// Returns whether a block only sets variables to constants that are set by no other block than the predecessors
    /// of its successor.
    is_preset: Box<dyn Fn(BlockId) -> bool + 'a>,
    /// The blocks that are placed after the statement of each block.
    followers: BlockMap<Vec<BlockId>>,
    /// For loop headers: the exit targets, with that of `break` first.
    exits: BlockMap<Vec<BlockId>>,
    is_follower: BlockMap<bool>,
    done: BlockMap<bool>,
    in_loop: BlockMap<bool>,
    labels: BlockMap<bool>,
    /// Number of `goto` statements to each block.
    goto_counts: BlockMap<usize>,
    deferred: Vec<BlockId>,
    /// Number of `goto` statements.
    pub gotos: usize,
    /// Number of flags of [`Statement::Set`].
    pub flags: u32,
    /// Number of exits that flags replace.
    flagged_exits: usize,
}

impl<'a> Structurer<'a> {
    /// Creates the structurer.
    pub fn new(
        function: &'a Function,
        graph: &'a Graph,
        weight: impl Fn(BlockId) -> usize + 'a,
        is_preset: impl Fn(BlockId) -> bool + 'a,
    ) -> Self {
        let count = function.blocks.len();
        let mut structurer = Self {
            function,
            graph,
            weight: Box::new(weight),
            is_preset: Box::new(is_preset),
            followers: IdVec::filled(Vec::new(), count),
            exits: IdVec::filled(Vec::new(), count),
            is_follower: IdVec::filled(false, count),
            done: IdVec::filled(false, count),
            in_loop: IdVec::filled(false, count),
            labels: IdVec::filled(false, count),
            goto_counts: IdVec::filled(0, count),
            deferred: Vec::new(),
            gotos: 0,
            flags: 0,
            flagged_exits: 0,
        };
        structurer.find_exits();
        structurer.find_followers();
        structurer
    }

    /// Returns the statements of the function.
    pub fn run(&mut self) -> Vec<Statement> {
        let mut out = Vec::new();
        let context = Context {
            fallthrough: END,
            break_target: BlockId::NONE,
            continue_target: BlockId::NONE,
            depth: 0,
        };
        self.block(BlockId::ENTRY, context, &mut out);
        while let Some(block) = self.deferred.pop() {
            if self.done[block] {
                continue;
            }
            if !ends(&out) {
                out.push(Statement::Return);
            }
            let context = Context {
                fallthrough: END,
                break_target: BlockId::NONE,
                continue_target: BlockId::NONE,
                depth: 0,
            };
            self.block(block, context, &mut out);
        }
        self.drop_labels(&mut out);
        self.leave_by_break(&mut out);
        self.leave_by_flag(&mut out);
        // Statements that a `goto` leads to stay.
        if self.gotos == 0 {
            statement::merge_choices(&mut out, &self.weight);
        }
        out
    }

    /// Turns exits of several nested `if` to the statement after them into a loop that runs once, left by `break`.
    fn leave_by_break(&mut self, list: &mut Vec<Statement>) {
        let mut done = Vec::with_capacity(list.len());
        // The positions in `done` of the `goto` statements to each block, and of statements that leave an enclosing
        // loop; both ascending.
        let mut sources: FastMap<BlockId, Vec<usize>> = FastMap::default();
        let mut leaving: Vec<usize> = Vec::new();
        for statement in std::mem::take(list) {
            let Statement::Label(block) = statement else {
                Gotos::Breaks.each(&statement, &mut |to| sources.entry(to).or_default().push(done.len()));
                if leaves(&statement) {
                    leaving.push(done.len());
                }
                done.push(statement);
                continue;
            };
            if self.preset(&mut done, block) {
                continue;
            }
            let all = sources.get(&block).filter(|all| all.len() == self.goto_counts[block]);
            let start = all.and_then(|all| all.first().copied());
            let start = start.filter(|start| leaving.last().is_none_or(|last| last < start));
            let Some(start) = start else {
                done.push(statement);
                continue;
            };
            let mut body = done.split_off(start);
            for inner in &mut body {
                Gotos::Breaks.each(inner, &mut |to| {
                    if let Some(all) = sources.get_mut(&to) {
                        all.truncate(all.partition_point(|at| *at < start));
                    }
                });
                into_breaks(inner, block);
            }
            if body.last() == Some(&Statement::Break) {
                body.pop();
            }
            self.gotos -= std::mem::take(&mut self.goto_counts[block]);
            done.push(Statement::Loop { kind: LoopKind::Once, body });
        }
        *list = done;
        for statement in list {
            statement.each_body(&mut |body| self.leave_by_break(body));
        }
    }

    /// If a `goto` leaves the loop at the end of a list to skip the assignments after it, moves them before the loop,
    /// and leaves the loop by `break`. `block` follows the list.
    fn preset(&mut self, list: &mut [Statement], block: BlockId) -> bool {
        let Some([Statement::Loop { body, .. }, Statement::Block(set)]) = list.last_chunk_mut::<2>() else {
            return false;
        };
        if !(self.is_preset)(*set) {
            return false;
        }
        let inside = Gotos::Breaks.count(body, block);
        if inside == 0 || inside != self.goto_counts[block] {
            return false;
        }
        for statement in body {
            into_breaks(statement, block);
        }
        self.gotos -= inside;
        self.goto_counts[block] = 0;
        let last = list.len() - 1;
        list.swap(last - 1, last);
        true
    }

    fn end(&self, block: BlockId) -> &End {
        &self.function.blocks[block].end
    }

    /// Skips empty blocks.
    fn real(&self, block: BlockId) -> BlockId {
        let mut block = block;
        for _ in 0..16 {
            match self.end(block) {
                End::Goto(next) if (self.weight)(block) == 0 && *next != block && !self.is_header(block) => {
                    block = *next;
                }
                _ => break,
            }
        }
        block
    }

    fn is_header(&self, block: BlockId) -> bool {
        self.graph.header[block] == block
    }

    /// Returns the successors of a block, with empty blocks skipped.
    fn successors(&self, block: BlockId) -> Vec<BlockId> {
        let mut all: Vec<BlockId> =
            self.end(block).successors().into_iter().map(|next| self.real(next)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Finds the exits of each loop: the first is the target of `break`.
    fn find_exits(&mut self) {
        let mut exits: BlockMap<Vec<(BlockId, BlockId)>> =
            IdVec::filled(Vec::new(), self.function.blocks.len());
        for &block in &self.graph.order {
            if self.real(block) != block {
                continue;
            }
            let mut header = self.graph.header[block];
            let mut levels = 0;
            while header != BlockId::NONE && levels < 64 {
                for next in self.successors(block) {
                    if !self.graph.is_in_loop(next, header) {
                        exits[header].push((block, next));
                    }
                }
                header = self.graph.outer[header];
                levels += 1;
            }
        }
        for (header, exits) in exits.iter_mut().enumerate() {
            let header = BlockId::from_index(header);
            exits.sort_unstable_by_key(|exit| exit.1);
            let is_control =
                |exit: &(BlockId, BlockId)| exit.0 == header || self.successors(exit.0).contains(&header);
            let mut keyed: Vec<_> = exits
                .chunk_by(|one, other| one.1 == other.1)
                .map(|same| {
                    let target = same[0].1;
                    let weight = same.len().min(2) + usize::from(same.iter().any(is_control));
                    let position = self.graph.position[target];
                    (self.is_return(target), Reverse(weight), Reverse(position), target)
                })
                .collect();
            if keyed.is_empty() {
                continue;
            }
            keyed.sort_unstable();
            let mut targets: Vec<BlockId> = keyed.into_iter().map(|key| key.3).collect();
            let index = |block: BlockId| self.graph.position[block];
            // The block that the other exits lead to comes last.
            if let Some(last) =
                targets.iter().copied().filter(|target| !self.is_return(*target)).max_by_key(|t| index(*t))
                && let Some(first) = targets.first().copied()
                && first != last
                && self.leads_to(first, last)
            {
                targets.retain(|target| *target != last);
                targets.insert(0, last);
            }
            self.exits[header] = targets;
        }
    }

    /// Returns whether a block reaches another in a few steps without a branch to elsewhere.
    fn leads_to(&self, from: BlockId, to: BlockId) -> bool {
        let mut list = vec![from];
        let mut seen = vec![from];
        while let Some(block) = list.pop() {
            if block == to {
                return true;
            }
            for next in self.successors(block) {
                if seen.len() < 32
                    && !seen.contains(&next)
                    && self.graph.position[next] <= self.graph.position[to]
                {
                    seen.push(next);
                    list.push(next);
                }
            }
        }
        false
    }

    /// Finds where blocks with several predecessors are placed.
    fn find_followers(&mut self) {
        let mut predecessors: BlockMap<Vec<BlockId>> = IdVec::filled(Vec::new(), self.function.blocks.len());
        for &block in &self.graph.order {
            // Empty blocks are skipped.
            if self.real(block) != block {
                continue;
            }
            for next in self.successors(block) {
                if self.graph.position[next] > self.graph.position[block] {
                    predecessors[next].push(block);
                }
            }
        }
        for &block in &self.graph.order {
            let predecessors = &predecessors[block];
            if predecessors.is_empty() || block == BlockId::ENTRY {
                continue;
            }
            let mut owner = predecessors[0];
            for &other in &predecessors[1..] {
                owner = self.graph.common(owner, other);
            }
            let loops_left = self.left_loop(owner, block);
            let is_exit = loops_left.is_some_and(|header| self.exits[header].first() == Some(&block));
            if predecessors.len() < 2 && !is_exit {
                continue;
            }
            if let Some(header) = loops_left {
                owner = header;
            }
            self.is_follower[block] = true;
            self.followers[owner].push(block);
        }
    }

    /// Returns the outermost loop that contains one block but not the other.
    fn left_loop(&self, inside: BlockId, outside: BlockId) -> Option<BlockId> {
        let mut header = self.graph.header[inside];
        let mut found = None;
        while header != BlockId::NONE && !self.graph.is_in_loop(outside, header) {
            found = Some(header);
            header = self.graph.outer[header];
        }
        found
    }

    fn is_return(&self, block: BlockId) -> bool {
        matches!(self.end(block), End::Return | End::Open) && (self.weight)(block) == 0
    }

    /// Writes a block, and the blocks placed after it.
    fn block(&mut self, block: BlockId, context: Context, out: &mut Vec<Statement>) {
        if context.depth > 2 * MAX_NESTING {
            self.gotos += 1;
            self.labels[block] = true;
            self.goto_counts[block] += 1;
            self.deferred.push(block);
            return out.push(Statement::Goto(block));
        }
        // The blocks to write, last first, and what each falls through to.
        let mut waiting = vec![(block, context.fallthrough)];
        while let Some((block, fallthrough)) = waiting.pop() {
            if self.done[block] {
                continue;
            }
            let is_loop = self.is_header(block) && !self.in_loop[block];
            let followers = self.followers_of(block, fallthrough, is_loop);
            let first = followers.first().copied().unwrap_or(fallthrough);
            let inner = Context { fallthrough: first, ..context };
            if is_loop {
                self.loop_of(block, inner, out);
            } else {
                self.done[block] = true;
                out.push(Statement::Label(block));
                out.push(Statement::Block(block));
                self.ending(block, inner, out);
            }
            // Each falls through to the next.
            let mut next = fallthrough;
            for &other in followers.iter().rev() {
                waiting.push((other, next));
                next = other;
            }
        }
    }

    /// Returns the blocks to write after a block or its loop, in order.
    fn followers_of(&self, block: BlockId, fallthrough: BlockId, is_loop: bool) -> Vec<BlockId> {
        let is_header = self.is_header(block);
        let belongs = |other: BlockId| !is_header || self.graph.is_in_loop(other, block) != is_loop;
        let mut followers: Vec<BlockId> = self.followers[block]
            .iter()
            .copied()
            .filter(|other| belongs(*other) && !self.done[*other] && *other != fallthrough)
            .collect();
        followers.sort_by_key(|other| self.graph.position[*other]);
        if is_loop
            && let Some(&exit) = self.exits[block].first()
            && let Some(index) = followers.iter().position(|other| *other == exit)
        {
            followers.remove(index);
            followers.insert(0, exit);
        }
        followers
    }

    /// Writes a loop and its successors.
    fn loop_of(&mut self, header: BlockId, context: Context, out: &mut Vec<Statement>) {
        self.in_loop[header] = true;
        let exit = self.exits[header].first().copied().unwrap_or(BlockId::NONE);
        let mut body = Vec::new();
        let inner = Context {
            fallthrough: header,
            break_target: exit,
            continue_target: header,
            depth: context.depth + 1,
        };
        out.push(Statement::Label(header));
        self.block(header, inner, &mut body);
        if let Some(Statement::Label(_)) = body.first() {
            body.remove(0);
        }
        self.in_loop[header] = false;
        out.push(shaped(body, self.weight.as_ref()));
        // The exit of the loop, if that does not follow.
        if exit != BlockId::NONE && exit != context.fallthrough {
            self.transfer(exit, context, out);
        } else if exit == BlockId::NONE && context.fallthrough != END {
            // The loop is never left: the code after it is reached otherwise.
        }
    }

    /// Transfers control to a block.
    fn transfer(&mut self, to: BlockId, context: Context, out: &mut Vec<Statement>) {
        let to = self.real(to);
        if to == context.fallthrough {
            return;
        }
        if to == context.break_target {
            out.push(Statement::Break);
        } else if to == context.continue_target {
            out.push(Statement::Continue);
        } else if self.is_return(to) {
            if context.fallthrough != END {
                out.push(Statement::Return);
            }
        } else if !self.done[to] && !self.is_follower[to] && context.depth < MAX_NESTING {
            self.block(to, Context { depth: context.depth + 1, ..context }, out);
        } else if self.can_repeat(to, context) {
            out.push(Statement::Block(to));
            match *self.end(to) {
                End::Goto(next) => self.transfer(next, context, out),
                _ if context.fallthrough != END => out.push(Statement::Return),
                _ => {}
            }
        } else {
            self.gotos += 1;
            self.labels[to] = true;
            self.goto_counts[to] += 1;
            if !self.done[to] {
                self.deferred.push(to);
            }
            out.push(Statement::Goto(to));
        }
    }

    /// Returns whether a block is short, and continues where a simple statement leads.
    fn can_repeat(&self, block: BlockId, context: Context) -> bool {
        if (self.weight)(block) > MAX_REPEATED || self.is_header(block) {
            return false;
        }
        match self.end(block) {
            End::Return => true,
            End::Goto(next) => {
                let next = self.real(*next);
                next == context.fallthrough
                    || next == context.break_target
                    || next == context.continue_target
                    || self.is_return(next)
            }
            _ => false,
        }
    }

    /// Writes the end of a block.
    fn ending(&mut self, block: BlockId, context: Context, out: &mut Vec<Statement>) {
        match self.end(block).clone() {
            End::Open | End::Return => {
                if context.fallthrough != END {
                    out.push(Statement::Return);
                }
            }
            End::Goto(next) => self.transfer(next, context, out),
            End::Branch { condition, yes, no } => {
                let condition = self.function.resolve(condition);
                let mut then = Vec::new();
                let mut otherwise = Vec::new();
                let inner = Context { depth: context.depth + 1, ..context };
                self.transfer(yes, inner, &mut then);
                self.transfer(no, inner, &mut otherwise);
                if self.is_contrary(condition)
                    && !then.is_empty()
                    && !otherwise.is_empty()
                    && !ends(&then)
                    && !ends(&otherwise)
                {
                    return choice_of((Condition::Value(condition), false), otherwise, then, out);
                }
                choice(Condition::Value(condition), then, otherwise, out);
            }
            End::Switch { selector, cases, otherwise } => {
                self.switch(selector, &cases, otherwise, context, out);
            }
        }
    }

    /// Returns whether the negation of a condition reads better.
    fn is_contrary(&self, condition: ValueId) -> bool {
        match self.function.op(condition) {
            Op::NotEqual | Op::BoolNot => true,
            Op::LessEqual | Op::SignedLessEqual => {
                self.function.number(self.function.input(condition, 0)).is_some()
            }
            _ => false,
        }
    }

    fn switch(
        &mut self,
        selector: ValueId,
        cases: &[(u64, BlockId)],
        otherwise: Option<BlockId>,
        context: Context,
        out: &mut Vec<Statement>,
    ) {
        let mut groups: Vec<(BlockId, Vec<u64>, bool)> = Vec::new();
        let all = cases.iter().map(|case| (Some(case.0), case.1)).chain(otherwise.map(|block| (None, block)));
        for (number, target) in all {
            let target = self.real(target);
            let index = groups.iter().position(|group| group.0 == target).unwrap_or_else(|| {
                groups.push((target, Vec::new(), false));
                groups.len() - 1
            });
            match number {
                Some(number) => groups[index].1.push(number),
                None => groups[index].2 = true,
            }
        }
        // Without a default, a case that falls through to the next statement is the default: there is no other value.
        let inner = Context {
            fallthrough: BlockId::NONE,
            break_target: context.fallthrough,
            continue_target: context.continue_target,
            depth: context.depth + 1,
        };
        let mut written = Vec::new();
        for (target, numbers, is_default) in groups {
            let mut body = Vec::new();
            if target == context.fallthrough {
                body.push(Statement::Break);
            } else {
                self.transfer(target, inner, &mut body);
            }
            if !ends(&body) {
                body.push(if context.fallthrough == END { Statement::Return } else { Statement::Break });
            }
            written.push((numbers, is_default, body));
        }
        if otherwise.is_none()
            && let Some(last) = written.last_mut()
        {
            last.1 = true;
        }
        out.push(Statement::Switch { selector: self.function.resolve(selector), cases: written });
    }

    /// Removes unused labels.
    fn drop_labels(&self, statements: &mut Vec<Statement>) {
        statements.retain(|statement| !matches!(statement, Statement::Label(block) if !self.labels[*block]));
        for statement in statements {
            statement.each_body(&mut |body| self.drop_labels(body));
        }
    }
}
