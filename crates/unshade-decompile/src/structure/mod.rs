//! Blocks to statements: `if`, loops, `switch`, and `goto` where nothing else says it.
//!
//! A block that several lead to is written behind the statement of the block that dominates it; one that a single block
//! leads to is written in the branch that leads there. (Ramsey, "Beyond Relooper", gives the tree of dominators this
//! role.) The way out of a loop that is left by `break` is chosen first; what else a loop leads to stands in it if one
//! place leads there, or behind it. A way that is none of falling through, `break`, `continue` or `return` is a `goto`;
//! short blocks are written twice instead. Where such a `goto` leads out of several statements, a flag stands for it.

mod flags;
mod statement;

pub use statement::{Kind, Statement, Test, continues};

use crate::ir::dominators::Graph;
use crate::ir::{BlockId, End, Function, Id, NONE, Op};
use statement::{Gotos, choice, choice_of, ends, into_breaks, leaves, shaped};

/// So deep statements nest; what would be deeper is written behind the rest, and reached by `goto`.
const MAX_NESTING: usize = 60;

/// Blocks of at most so many statements are written again instead of a `goto`.
const MAX_REPEATED: usize = 4;

/// What ways mean at a place.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// Where falling off the end leads.
    next: BlockId,
    /// Where `break` leads.
    leave: BlockId,
    /// Where `continue` leads.
    again: BlockId,
    depth: usize,
}

/// What stands for the end of the function.
const END: BlockId = NONE - 1;

/// Makes statements of a function's blocks.
pub struct Structurer<'a> {
    function: &'a Function,
    graph: &'a Graph,
    /// How many statements a block has.
    weight: Box<dyn Fn(BlockId) -> usize + 'a>,
    /// Whether a block does nothing but give numbers to variables that only the ways to the block behind it set.
    is_preset: Box<dyn Fn(BlockId) -> bool + 'a>,
    /// Blocks that are written behind the statement of each.
    behind: Vec<Vec<BlockId>>,
    /// For the headers of loops: where the loop is left to, the first by `break`.
    exits: Vec<Vec<BlockId>>,
    is_behind: Vec<bool>,
    done: Vec<bool>,
    in_loop: Vec<bool>,
    labels: Vec<bool>,
    /// How many `goto` lead to each block.
    waiting: Vec<usize>,
    later: Vec<BlockId>,
    /// How many `goto` there are.
    pub gotos: usize,
    /// How many numbers of [`Statement::Set`] there are.
    pub flags: u32,
    /// How many ways they stand for.
    ways: usize,
}

impl<'a> Structurer<'a> {
    /// Gets ready.
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
            behind: vec![Vec::new(); count],
            exits: vec![Vec::new(); count],
            is_behind: vec![false; count],
            done: vec![false; count],
            in_loop: vec![false; count],
            labels: vec![false; count],
            waiting: vec![0; count],
            later: Vec::new(),
            gotos: 0,
            flags: 0,
            ways: 0,
        };
        structurer.find_exits();
        structurer.find_behind();
        structurer
    }

    /// The statements of the function.
    pub fn run(&mut self) -> Vec<Statement> {
        let mut out = Vec::new();
        let context = Context { next: END, leave: NONE, again: NONE, depth: 0 };
        self.block(0, context, &mut out);
        while let Some(block) = self.later.pop() {
            if self.done[block as usize] {
                continue;
            }
            if !ends(&out) {
                out.push(Statement::Return);
            }
            let context = Context { next: END, leave: NONE, again: NONE, depth: 0 };
            self.block(block, context, &mut out);
        }
        self.drop_labels(&mut out);
        self.leave_by_break(&mut out);
        self.leave_by_flag(&mut out);
        // Statements that something goes to stay.
        if self.gotos == 0 {
            statement::merge_choices(&mut out, &self.weight);
        }
        out
    }

    /// Ways out of several choices at once, to what stands behind them: these are a loop that runs once, left by `break`.
    fn leave_by_break(&mut self, list: &mut Vec<Statement>) {
        let mut places = Gotos::Breaks.places(list);
        let mut at = 0;
        while at < list.len() {
            let Statement::Label(block) = list[at] else {
                at += 1;
                continue;
            };
            if self.preset(list, at, block) {
                places = Gotos::Breaks.places(list);
                at -= 1;
                continue;
            }
            let found = places.all_before(block, self.waiting[block as usize], at);
            let Some((start, inside)) = found.filter(|found| !list[found.0..at].iter().any(leaves)) else {
                at += 1;
                continue;
            };
            let mut body: Vec<Statement> = list.drain(start..=at).collect();
            body.pop();
            for statement in &mut body {
                into_breaks(statement, block);
            }
            if body.last() == Some(&Statement::Break) {
                body.pop();
            }
            self.gotos -= inside;
            self.waiting[block as usize] = 0;
            list.insert(start, Statement::Loop { kind: Kind::Once, body });
            places = Gotos::Breaks.places(list);
            at = start + 1;
        }
        for statement in list {
            statement.each_body(&mut |body| self.leave_by_break(body));
        }
    }

    /// A loop is left by `goto` to behind what is set where it ends: this is set before it, and the loop left by `break`.
    fn preset(&mut self, list: &mut Vec<Statement>, at: usize, block: BlockId) -> bool {
        let Some([Statement::Loop { body, .. }, Statement::Block(set)]) = list[..at].last_chunk_mut::<2>()
        else {
            return false;
        };
        if !(self.is_preset)(*set) {
            return false;
        }
        let inside = Gotos::Breaks.count(body, block);
        if inside == 0 || inside != self.waiting[block as usize] {
            return false;
        }
        for statement in body {
            into_breaks(statement, block);
        }
        self.gotos -= inside;
        self.waiting[block as usize] = 0;
        list.remove(at);
        list.swap(at - 2, at - 1);
        true
    }

    fn end(&self, block: BlockId) -> &End {
        &self.function.blocks[block as usize].end
    }

    /// Steps over blocks with nothing in them.
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
        self.graph.header[block as usize] == block
    }

    /// The blocks that a block leads to, without empty ones in between.
    fn successors(&self, block: BlockId) -> Vec<BlockId> {
        let mut all: Vec<BlockId> =
            self.end(block).successors().into_iter().map(|next| self.real(next)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Where each loop is left to: the first is where `break` leads.
    fn find_exits(&mut self) {
        let mut ways: Vec<Vec<(BlockId, BlockId)>> = vec![Vec::new(); self.function.blocks.len()];
        for &block in &self.graph.order {
            if self.real(block) != block {
                continue;
            }
            let mut header = self.graph.header[block as usize];
            let mut levels = 0;
            while header != NONE && levels < 64 {
                for next in self.successors(block) {
                    if !self.graph.is_in_loop(next, header) {
                        ways[header as usize].push((block, next));
                    }
                }
                header = self.graph.outer[header as usize];
                levels += 1;
            }
        }
        for (header, ways) in ways.into_iter().enumerate() {
            if ways.is_empty() {
                continue;
            }
            let mut targets: Vec<BlockId> = ways.iter().map(|way| way.1).collect();
            targets.sort_unstable();
            targets.dedup();
            let place = |block: BlockId| self.graph.place[block as usize];
            targets.sort_by_key(|target| {
                let count = ways.iter().filter(|way| way.1 == *target).count();
                let is_return = self.is_return(*target);
                let is_control = ways.iter().any(|way| {
                    way.1 == *target
                        && (way.0 as usize == header || self.successors(way.0).contains(&(header as BlockId)))
                });
                (
                    is_return,
                    std::cmp::Reverse(count.min(2) + usize::from(is_control)),
                    std::cmp::Reverse(place(*target)),
                )
            });
            // What the others lead to comes last of all.
            if let Some(last) =
                targets.iter().copied().filter(|target| !self.is_return(*target)).max_by_key(|t| place(*t))
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

    /// Whether a block leads to another in a few steps without a choice that leads elsewhere for good.
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
                    && self.graph.place[next as usize] <= self.graph.place[to as usize]
                {
                    seen.push(next);
                    list.push(next);
                }
            }
        }
        false
    }

    /// Where blocks that several lead to are written.
    fn find_behind(&mut self) {
        let mut before: Vec<Vec<BlockId>> = vec![Vec::new(); self.function.blocks.len()];
        for &block in &self.graph.order {
            // Empty blocks are stepped over.
            if self.real(block) != block {
                continue;
            }
            for next in self.successors(block) {
                if self.graph.place[next as usize] > self.graph.place[block as usize] {
                    before[next as usize].push(block);
                }
            }
        }
        for &block in &self.graph.order {
            let ways = &before[block as usize];
            if ways.is_empty() || block == 0 {
                continue;
            }
            let mut owner = ways[0];
            for &way in &ways[1..] {
                owner = self.graph.common(owner, way);
            }
            let loops_left = self.left_loop(owner, block);
            let is_exit =
                loops_left.is_some_and(|header| self.exits[header as usize].first() == Some(&block));
            if ways.len() < 2 && !is_exit {
                continue;
            }
            if let Some(header) = loops_left {
                owner = header;
            }
            self.is_behind[block as usize] = true;
            self.behind[owner as usize].push(block);
        }
    }

    /// The outermost loop that a block is in and another is not.
    fn left_loop(&self, inside: BlockId, outside: BlockId) -> Option<BlockId> {
        let mut header = self.graph.header[inside as usize];
        let mut found = None;
        while header != NONE && !self.graph.is_in_loop(outside, header) {
            found = Some(header);
            header = self.graph.outer[header as usize];
        }
        found
    }

    fn is_return(&self, block: BlockId) -> bool {
        matches!(self.end(block), End::Return | End::Open) && (self.weight)(block) == 0
    }

    /// Writes a block and what stands behind it.
    fn block(&mut self, block: BlockId, context: Context, out: &mut Vec<Statement>) {
        if context.depth > 2 * MAX_NESTING {
            self.gotos += 1;
            self.labels[block as usize] = true;
            self.waiting[block as usize] += 1;
            self.later.push(block);
            return out.push(Statement::Goto(block));
        }
        if self.is_header(block) && !self.in_loop[block as usize] {
            return self.round(block, context, out);
        }
        let inside =
            |this: &Self, other: BlockId| !this.is_header(block) || this.graph.is_in_loop(other, block);
        let mut behind: Vec<BlockId> =
            self.behind[block as usize].iter().copied().filter(|other| inside(self, *other)).collect();
        behind.retain(|other| !self.done[*other as usize] && *other != context.next);
        behind.sort_by_key(|other| self.graph.place[*other as usize]);
        self.sequence(block, &behind, context, out, true);
    }

    /// Writes the content of a block (or of its loop), then the blocks behind it, each falling through to the next.
    fn sequence(
        &mut self,
        block: BlockId,
        behind: &[BlockId],
        context: Context,
        out: &mut Vec<Statement>,
        is_content: bool,
    ) {
        let first = behind.first().copied().unwrap_or(context.next);
        let inner = Context { next: first, ..context };
        if is_content {
            self.done[block as usize] = true;
            out.push(Statement::Label(block));
            out.push(Statement::Block(block));
            self.ending(block, inner, out);
        } else {
            self.loop_of(block, inner, out);
        }
        for (index, &other) in behind.iter().enumerate() {
            if self.done[other as usize] {
                continue;
            }
            let next = behind.get(index + 1).copied().unwrap_or(context.next);
            self.block(other, Context { next, ..context }, out);
        }
    }

    /// Writes a loop and what it leads to.
    fn round(&mut self, header: BlockId, context: Context, out: &mut Vec<Statement>) {
        let mut behind: Vec<BlockId> = self.behind[header as usize]
            .iter()
            .copied()
            .filter(|other| !self.graph.is_in_loop(*other, header))
            .collect();
        behind.retain(|other| !self.done[*other as usize] && *other != context.next);
        behind.sort_by_key(|other| self.graph.place[*other as usize]);
        if let Some(&exit) = self.exits[header as usize].first()
            && let Some(place) = behind.iter().position(|other| *other == exit)
        {
            behind.remove(place);
            behind.insert(0, exit);
        }
        self.sequence(header, &behind, context, out, false);
    }

    fn loop_of(&mut self, header: BlockId, context: Context, out: &mut Vec<Statement>) {
        self.in_loop[header as usize] = true;
        let exit = self.exits[header as usize].first().copied().unwrap_or(NONE);
        let mut body = Vec::new();
        let inner = Context { next: header, leave: exit, again: header, depth: context.depth + 1 };
        out.push(Statement::Label(header));
        self.block(header, inner, &mut body);
        if let Some(Statement::Label(_)) = body.first() {
            body.remove(0);
        }
        self.in_loop[header as usize] = false;
        out.push(shaped(body, self.weight.as_ref()));
        // Where the loop is left to, if that does not follow.
        if exit != NONE && exit != context.next {
            self.way(exit, context, out);
        } else if exit == NONE && context.next != END {
            // It is never left: what follows is reached otherwise.
        }
    }

    /// Goes to a block.
    fn way(&mut self, to: BlockId, context: Context, out: &mut Vec<Statement>) {
        let to = self.real(to);
        if to == context.next {
            return;
        }
        if to == context.leave {
            out.push(Statement::Break);
        } else if to == context.again {
            out.push(Statement::Continue);
        } else if self.is_return(to) {
            if context.next != END {
                out.push(Statement::Return);
            }
        } else if !self.done[to as usize] && !self.is_behind[to as usize] && context.depth < MAX_NESTING {
            self.block(to, Context { depth: context.depth + 1, ..context }, out);
        } else if self.can_repeat(to, context) {
            out.push(Statement::Block(to));
            match *self.end(to) {
                End::Goto(next) => self.way(next, context, out),
                _ if context.next != END => out.push(Statement::Return),
                _ => {}
            }
        } else {
            self.gotos += 1;
            self.labels[to as usize] = true;
            self.waiting[to as usize] += 1;
            if !self.done[to as usize] {
                self.later.push(to);
            }
            out.push(Statement::Goto(to));
        }
    }

    /// Whether a block is short, and goes on where a statement leads.
    fn can_repeat(&self, block: BlockId, context: Context) -> bool {
        if (self.weight)(block) > MAX_REPEATED || self.is_header(block) {
            return false;
        }
        match self.end(block) {
            End::Return => true,
            End::Goto(next) => {
                let next = self.real(*next);
                next == context.next || next == context.leave || next == context.again || self.is_return(next)
            }
            _ => false,
        }
    }

    /// How a block ends.
    fn ending(&mut self, block: BlockId, context: Context, out: &mut Vec<Statement>) {
        match self.end(block).clone() {
            End::Open | End::Return => {
                if context.next != END {
                    out.push(Statement::Return);
                }
            }
            End::Goto(next) => self.way(next, context, out),
            End::Branch { condition, yes, no } => {
                let condition = self.function.resolve(condition);
                let mut then = Vec::new();
                let mut otherwise = Vec::new();
                let inner = Context { depth: context.depth + 1, ..context };
                self.way(yes, inner, &mut then);
                self.way(no, inner, &mut otherwise);
                if self.is_contrary(condition)
                    && !then.is_empty()
                    && !otherwise.is_empty()
                    && !ends(&then)
                    && !ends(&otherwise)
                {
                    return choice_of((Test::Value(condition), false), otherwise, then, out);
                }
                choice(Test::Value(condition), then, otherwise, out);
            }
            End::Switch { selector, cases, otherwise } => {
                self.switch(selector, &cases, otherwise, context, out);
            }
        }
    }

    /// Whether the contrary of a condition is what one would rather write.
    fn is_contrary(&self, condition: Id) -> bool {
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
        selector: Id,
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
        // Without a default, one that leads on is it: nothing else can be.
        let inner =
            Context { next: NONE, leave: context.next, again: context.again, depth: context.depth + 1 };
        let mut written = Vec::new();
        for (target, numbers, is_default) in groups {
            let mut body = Vec::new();
            if target == context.next {
                body.push(Statement::Break);
            } else {
                self.way(target, inner, &mut body);
            }
            if !ends(&body) {
                body.push(if context.next == END { Statement::Return } else { Statement::Break });
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

    /// Takes out labels that nothing goes to.
    fn drop_labels(&self, statements: &mut Vec<Statement>) {
        statements.retain(
            |statement| !matches!(statement, Statement::Label(block) if !self.labels[*block as usize]),
        );
        for statement in statements {
            statement.each_body(&mut |body| self.drop_labels(body));
        }
    }
}
