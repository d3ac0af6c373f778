//! Statements, and what is made of lists of them: choices and loops in the form that reads best.

use crate::ir::{BlockId, Id};

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// A value.
    Value(Id),
    /// Whether a [`Statement::Set`] of this number was passed.
    Flag(u32),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// The statements of a block, and what is set at its end.
    Block(BlockId),
    /// A choice.
    If {
        /// What decides, and whether it must hold.
        condition: (Test, bool),
        /// Where it does.
        then: Vec<Statement>,
        /// Where it does not.
        otherwise: Vec<Statement>,
    },
    /// A loop.
    Loop {
        /// When it is left.
        kind: Kind,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// A choice of many.
    Switch {
        /// What decides.
        selector: Id,
        /// The numbers of each case, none for the default, and its statements.
        cases: Vec<(Vec<u64>, bool, Vec<Statement>)>,
    },
    /// Leaves the loop or switch around it.
    Break,
    /// Goes on with the next round.
    Continue,
    /// The thread ends.
    Return,
    /// Goes on elsewhere.
    Goto(BlockId),
    /// A place to go to.
    Label(BlockId),
    /// Remembers that some of what follows is to be passed over, or that it is not.
    Set(u32, bool),
}

impl Statement {
    /// Does something with each list of statements that is in this one.
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

/// When a loop is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By a statement in it.
    Endless,
    /// Before a round, when this does not hold (or holds).
    While(Test, bool),
    /// After a round, when this does not hold (or holds).
    DoWhile(Test, bool),
    /// After the first round: what is in it can be left by `break`.
    Once,
}

/// Which of the `goto` in a statement count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gotos {
    /// All of them.
    All,
    /// Those that a `break` can stand for: one inside of a loop or `switch` would be theirs.
    Breaks,
}

impl Gotos {
    /// Takes where each of them leads.
    fn each(self, statement: &Statement, take: &mut dyn FnMut(BlockId)) {
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

    /// How many in some statements lead to a block.
    pub(super) fn count(self, list: &[Statement], block: BlockId) -> usize {
        let mut count = 0;
        list.iter().for_each(|inner| self.each(inner, &mut |to| count += usize::from(to == block)));
        count
    }

    /// Where they lead, and the statement of the list that each is in; in order.
    pub(super) fn places(self, list: &[Statement]) -> Places {
        let mut all = Vec::new();
        for (place, statement) in (0..).zip(list) {
            self.each(statement, &mut |to| all.push((to, place)));
        }
        all.sort_unstable();
        Places(all)
    }
}

/// Where the `goto` of a list of statements lead, and where they are.
pub(super) struct Places(Vec<(BlockId, u32)>);

impl Places {
    /// Where the first is that leads to a block, and how many there are, if all that wait for it are of this list and before
    /// a place.
    pub(super) fn all_before(&self, block: BlockId, waiting: usize, place: usize) -> Option<(usize, usize)> {
        let start = self.0.partition_point(|entry| entry.0 < block);
        let mine = self.0[start..].iter().take_while(|entry| entry.0 == block);
        let (count, last) = mine.fold((0, 0), |(count, _), entry| (count + 1, entry.1 as usize));
        (count > 0 && count == waiting && last < place).then(|| (self.0[start].1 as usize, count))
    }
}

/// Whether a statement has a `break` or `continue` of what is around it.
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

/// Whether control never falls off the end.
pub(super) fn ends(statements: &[Statement]) -> bool {
    match statements.last() {
        Some(Statement::Break | Statement::Continue | Statement::Return | Statement::Goto(_)) => true,
        Some(Statement::If { then, otherwise, .. }) => ends(then) && ends(otherwise),
        _ => false,
    }
}

/// An `if` with as little nesting as may be.
pub(super) fn choice(
    condition: Test,
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
    // The side that leaves goes first, the shorter of two.
    if ends(&otherwise) && (!ends(&then) || otherwise.len() < then.len()) {
        return choice_of((condition, false), otherwise, then, out);
    }
    choice_of((condition, true), then, otherwise, out);
}

pub(super) fn choice_of(
    condition: (Test, bool),
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

/// A loop in the form that fits: with its condition before or after.
pub(super) fn shaped(mut body: Vec<Statement>, weight: &dyn Fn(BlockId) -> usize) -> Statement {
    let is_break = |statement: &Statement| {
        matches!(statement, Statement::If { then, otherwise, .. }
            if then.as_slice() == [Statement::Break] && otherwise.is_empty())
    };
    // What says nothing before the condition is not in its way.
    let first = body.iter().position(|statement| {
        !matches!(statement, Statement::Block(block) if weight(*block) == 0)
            && !matches!(statement, Statement::Label(_))
    });
    if let Some(first) = first
        && is_break(&body[first])
        && body.len() > first + 1
        && let Statement::If { condition, .. } = body.remove(first)
    {
        return Statement::Loop { kind: Kind::While(condition.0, !condition.1), body };
    }
    if body.last().is_some_and(is_break)
        && !continues(&body)
        && let Some(Statement::If { condition, .. }) = body.pop()
    {
        return Statement::Loop { kind: Kind::DoWhile(condition.0, !condition.1), body };
    }
    // The last statement need not say that the loop goes on.
    if body.last() == Some(&Statement::Continue) {
        body.pop();
    }
    Statement::Loop { kind: Kind::Endless, body }
}

/// Whether a `continue` of this loop is among the statements.
pub fn continues(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Continue => true,
        Statement::If { then, otherwise, .. } => continues(then) || continues(otherwise),
        Statement::Switch { cases, .. } => cases.iter().any(|case| continues(&case.2)),
        _ => false,
    })
}

/// Leaves of choices that rest on what is known already the side that is taken.
fn take_side(list: &mut Vec<Statement>, known: (Test, bool)) {
    if !matches!(known.0, Test::Value(_)) {
        return;
    }
    let mut at = 0;
    while at < list.len() {
        match &mut list[at] {
            Statement::If { condition, then, otherwise } if condition.0 == known.0 => {
                let side = std::mem::take(if condition.1 == known.1 { then } else { otherwise });
                // What comes behind a side that leaves is not reached.
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

/// Makes one choice of two in a row that rest on the same: nothing but empty blocks stands between them.
pub(super) fn merge_choices(list: &mut Vec<Statement>, weight: &dyn Fn(BlockId) -> usize) {
    list.retain(|statement| !matches!(statement, Statement::Block(block) if weight(*block) == 0));
    let mut at = 0;
    while at + 1 < list.len() {
        let is_same = matches!((&list[at], &list[at + 1]),
            (
                Statement::If { condition: (Test::Value(a), _), .. },
                Statement::If { condition: (Test::Value(b), _), .. },
            ) if a == b);
        if !is_same {
            at += 1;
            continue;
        }
        if let Statement::If { condition: (_, second), then: yes, otherwise: no } = list.remove(at + 1)
            && let Statement::If { condition: (_, first), then, otherwise } = &mut list[at]
        {
            let (yes, no) = if *first == second { (yes, no) } else { (no, yes) };
            for (side, more) in [(then, yes), (otherwise, no)] {
                if !ends(side) {
                    side.extend(more);
                }
            }
        }
    }
    for statement in list {
        if let Statement::If { condition, then, otherwise } = statement {
            take_side(then, *condition);
            take_side(otherwise, (condition.0, !condition.1));
        }
        statement.each_body(&mut |body| merge_choices(body, weight));
    }
}
