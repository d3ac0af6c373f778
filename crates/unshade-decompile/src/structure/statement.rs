//! Statements, and transformations of statement lists to `if` and loops that read well.

use crate::ir::{BlockId, ValueId};

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A value.
    Value(ValueId),
    /// The flag of a [`Statement::Set`].
    Flag(u32),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// The statements of a block, and the copies at its end.
    Block(BlockId),
    /// An `if`.
    If {
        /// The condition, and the value that it must have.
        condition: (Condition, bool),
        /// The statements if it has that value.
        then: Vec<Statement>,
        /// The statements otherwise.
        otherwise: Vec<Statement>,
    },
    /// A loop.
    Loop {
        /// The kind of the loop.
        kind: LoopKind,
        /// The body.
        body: Vec<Statement>,
    },
    /// A `switch`.
    Switch {
        /// The selector.
        selector: ValueId,
        /// The numbers of each case, whether it is the default, and its statements.
        cases: Vec<(Vec<u64>, bool, Vec<Statement>)>,
    },
    /// Leaves the enclosing loop or switch.
    Break,
    /// Continues with the next iteration.
    Continue,
    /// Ends the thread.
    Return,
    /// Jumps to a label.
    Goto(BlockId),
    /// A label.
    Label(BlockId),
    /// Sets or clears a flag.
    Set(u32, bool),
}

impl Statement {
    /// Visits each statement list inside this statement.
    pub(super) fn each_body(&mut self, work: &mut dyn FnMut(&mut Vec<Statement>)) {
        match self {
            Self::If { then, otherwise, .. } => {
                work(then);
                work(otherwise);
            }
            Self::Loop { body, .. } => work(body),
            Self::Switch { cases, .. } => cases.iter_mut().for_each(|case| work(&mut case.2)),
            _ => {}
        }
    }
}

/// The kind of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// Without a condition; left by a statement in its body.
    Endless,
    /// With a condition at the top: continues while it has this value.
    While(Condition, bool),
    /// With a condition at the bottom: continues while it has this value.
    DoWhile(Condition, bool),
    /// Runs once, so that `break` can leave it.
    Once,
}

/// Which `goto` statements count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gotos {
    /// All of them.
    All,
    /// Those that a `break` can replace: not those inside a loop or `switch`.
    Breaks,
}

impl Gotos {
    /// Visits the target of each one in a statement.
    pub(super) fn each(self, statement: &Statement, take: &mut dyn FnMut(BlockId)) {
        let all = |list: &[Statement], take: &mut dyn FnMut(BlockId)| {
            list.iter().for_each(|inner| self.each(inner, take));
        };
        match statement {
            Statement::Goto(to) => take(*to),
            Statement::If { then, otherwise, .. } => {
                all(then, take);
                all(otherwise, take);
            }
            Statement::Loop { body, .. } if self == Self::All => all(body, take),
            Statement::Switch { cases, .. } if self == Self::All => {
                cases.iter().for_each(|case| all(&case.2, take));
            }
            _ => {}
        }
    }

    /// Counts those in some statements that lead to a block.
    pub(super) fn count(self, list: &[Statement], block: BlockId) -> usize {
        let mut count = 0;
        list.iter().for_each(|inner| self.each(inner, &mut |to| count += usize::from(to == block)));
        count
    }

    /// Returns their targets and the index of the statement that contains each, sorted.
    pub(super) fn targets(self, list: &[Statement]) -> GotoTargets {
        let mut all = Vec::new();
        for (index, statement) in (0..).zip(list) {
            self.each(statement, &mut |to| all.push((to, index)));
        }
        all.sort_unstable();
        GotoTargets(all)
    }
}

/// The targets and positions of the `goto` statements of a list.
pub(super) struct GotoTargets(Vec<(BlockId, u32)>);

impl GotoTargets {
    /// Returns the first index and the number of those that lead to a block, if all `goto` statements to it are in
    /// this list and before `index`.
    pub(super) fn all_before(&self, block: BlockId, waiting: usize, index: usize) -> Option<(usize, usize)> {
        let start = self.0.partition_point(|entry| entry.0 < block);
        let mine = self.0[start..].iter().take_while(|entry| entry.0 == block);
        let (count, last) = mine.fold((0, 0), |(count, _), entry| (count + 1, entry.1 as usize));
        (count > 0 && count == waiting && last < index).then(|| (self.0[start].1 as usize, count))
    }
}

/// Returns whether a statement contains a `break` or `continue` of an enclosing statement.
pub(super) fn leaves(statement: &Statement) -> bool {
    match statement {
        Statement::Break | Statement::Continue => true,
        Statement::If { then, otherwise, .. } => then.iter().any(leaves) || otherwise.iter().any(leaves),
        Statement::Switch { cases, .. } => cases.iter().any(|case| continues(&case.2)),
        _ => false,
    }
}

pub(super) fn into_breaks(statement: &mut Statement, block: BlockId) {
    match statement {
        Statement::Goto(to) if *to == block => *statement = Statement::Break,
        Statement::If { then, otherwise, .. } => {
            then.iter_mut().chain(otherwise).for_each(|inner| into_breaks(inner, block));
        }
        _ => {}
    }
}

/// Returns whether control never reaches the end of a list.
pub(super) fn ends(statements: &[Statement]) -> bool {
    match statements.last() {
        Some(Statement::Break | Statement::Continue | Statement::Return | Statement::Goto(_)) => true,
        Some(Statement::If { then, otherwise, .. }) => ends(then) && ends(otherwise),
        _ => false,
    }
}

/// Writes an `if` with as little nesting as possible.
pub(super) fn choice(
    condition: Condition,
    then: Vec<Statement>,
    otherwise: Vec<Statement>,
    out: &mut Vec<Statement>,
) {
    if then.is_empty() && otherwise.is_empty() {
        return;
    }
    if then == otherwise {
        out.extend(then);
        return;
    }
    if then.is_empty() {
        return choice_of((condition, false), otherwise, then, out);
    }
    // The side that leaves comes first; of two, the shorter one.
    if ends(&otherwise) && (!ends(&then) || otherwise.len() < then.len()) {
        return choice_of((condition, false), otherwise, then, out);
    }
    choice_of((condition, true), then, otherwise, out);
}

pub(super) fn choice_of(
    condition: (Condition, bool),
    then: Vec<Statement>,
    otherwise: Vec<Statement>,
    out: &mut Vec<Statement>,
) {
    if ends(&then) && !otherwise.is_empty() {
        out.push(Statement::If { condition, then, otherwise: Vec::new() });
        out.extend(otherwise);
    } else {
        out.push(Statement::If { condition, then, otherwise });
    }
}

/// Returns a loop in its best form: with its condition at the top or at the bottom.
pub(super) fn shaped(mut body: Vec<Statement>, weight: &dyn Fn(BlockId) -> usize) -> Statement {
    let is_break = |statement: &Statement| {
        matches!(statement, Statement::If { then, otherwise, .. }
            if then.as_slice() == [Statement::Break] && otherwise.is_empty())
    };
    // Statements without text before the condition do not matter.
    let first = body.iter().position(|statement| {
        !matches!(statement, Statement::Block(block) if weight(*block) == 0)
            && !matches!(statement, Statement::Label(_))
    });
    if let Some(first) = first
        && is_break(&body[first])
        && body.len() > first + 1
        && let Statement::If { condition, .. } = body.remove(first)
    {
        return Statement::Loop { kind: LoopKind::While(condition.0, !condition.1), body };
    }
    if body.last().is_some_and(is_break)
        && !continues(&body)
        && let Some(Statement::If { condition, .. }) = body.pop()
    {
        return Statement::Loop { kind: LoopKind::DoWhile(condition.0, !condition.1), body };
    }
    // A `continue` at the end is redundant.
    if body.last() == Some(&Statement::Continue) {
        body.pop();
    }
    Statement::Loop { kind: LoopKind::Endless, body }
}

/// Returns whether the statements contain a `continue` of this loop.
pub fn continues(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Continue => true,
        Statement::If { then, otherwise, .. } => continues(then) || continues(otherwise),
        Statement::Switch { cases, .. } => cases.iter().any(|case| continues(&case.2)),
        _ => false,
    })
}

/// Replaces tests of a known condition by the side that is taken.
fn take_side(list: &mut Vec<Statement>, known: (Condition, bool)) {
    if !matches!(known.0, Condition::Value(_)) {
        return;
    }
    let mut at = 0;
    while at < list.len() {
        match &mut list[at] {
            Statement::If { condition, then, otherwise } if condition.0 == known.0 => {
                let side = std::mem::take(if condition.1 == known.1 { then } else { otherwise });
                // Statements after a side that leaves are unreachable.
                let end = if ends(&side) { list.len() } else { at + 1 };
                list.splice(at..end, side);
                continue;
            }
            Statement::If { then, otherwise, .. } => {
                take_side(then, known);
                take_side(otherwise, known);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Merges consecutive `if` statements with the same condition: only empty blocks may be between them.
pub(super) fn merge_choices(list: &mut Vec<Statement>, weight: &dyn Fn(BlockId) -> usize) {
    list.retain(|statement| !matches!(statement, Statement::Block(block) if weight(*block) == 0));
    let mut merged: Vec<Statement> = Vec::with_capacity(list.len());
    for statement in std::mem::take(list) {
        match (merged.last_mut(), statement) {
            (
                Some(Statement::If { condition: (Condition::Value(a), first), then, otherwise }),
                Statement::If { condition: (Condition::Value(b), second), then: yes, otherwise: no },
            ) if *a == b => {
                let (yes, no) = if *first == second { (yes, no) } else { (no, yes) };
                for (side, more) in [(then, yes), (otherwise, no)] {
                    if !ends(side) {
                        side.extend(more);
                    }
                }
            }
            (_, statement) => merged.push(statement),
        }
    }
    *list = merged;
    for statement in list {
        if let Statement::If { condition, then, otherwise } = statement {
            take_side(then, *condition);
            take_side(otherwise, (condition.0, !condition.1));
        }
        statement.each_body(&mut |body| merge_choices(body, weight));
    }
}
