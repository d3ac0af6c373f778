//! Exits of several nested loops to the statements after them, or to the next iteration of an outer one: a flag records
//! that one was taken. Enclosing loops are left by `break` after testing the flag, and the statements in between are
//! skipped.

use super::Structurer;
use super::statement::{Condition, Gotos, LoopKind, Statement};
use crate::ir::BlockId;

/// Maximum number of exits with flags per function: each one nests the skipped statements once more.
const MAX_FLAGGED_EXITS: usize = 256;

impl Structurer<'_> {
    /// Replaces every `goto` to a label by a flag, if all of them are before it in the statements of the same list.
    pub(super) fn leave_by_flag(&mut self, list: &mut Vec<Statement>) {
        let mut targets = Gotos::All.targets(list);
        let mut at = 0;
        while at < list.len() {
            if let Statement::Label(block) = list[at] {
                if self.continue_by_flag(list, at, block) {
                    targets = Gotos::All.targets(list);
                    continue;
                }
                let found = targets.all_before(block, self.goto_counts[block], at);
                if let Some((start, count)) =
                    found.filter(|found| self.flagged_exits + found.1 <= MAX_FLAGGED_EXITS)
                {
                    let mut part: Vec<Statement> = list.drain(start..at).collect();
                    pass_over(&mut part, block, self.flags, false);
                    clear_at_labels(&mut part, self.flags);
                    let length = part.len();
                    // The label is removed.
                    list[start] = Statement::Set(self.flags, false);
                    list.splice(start + 1..start + 1, part);
                    self.flags += 1;
                    self.flagged_exits += count;
                    self.gotos -= count;
                    self.goto_counts[block] = 0;
                    at = start + 1 + length;
                    targets = Gotos::All.targets(list);
                    continue;
                }
            }
            at += 1;
        }
        for statement in list {
            statement.each_body(&mut |body| self.leave_by_flag(body));
        }
    }

    /// Replaces every `goto` to the start of a loop by a flag, if all of them are inside of the loop: the label at `at` is
    /// that of the loop after it. Returns whether it did.
    fn continue_by_flag(&mut self, list: &mut Vec<Statement>, at: usize, block: BlockId) -> bool {
        let is_at_top = |kind: &LoopKind| matches!(kind, LoopKind::Endless | LoopKind::While(..));
        let Some(Statement::Loop { kind, body }) = list.get_mut(at + 1) else { return false };
        let count = Gotos::All.count(body, block);
        let is_only = count > 0 && count == self.goto_counts[block];
        if !is_only || !is_at_top(kind) || self.flagged_exits + count > MAX_FLAGGED_EXITS {
            return false;
        }
        pass_over(body, block, self.flags, false);
        clear_at_labels(body, self.flags);
        body.insert(0, Statement::Set(self.flags, false));
        list.remove(at);
        self.flags += 1;
        self.flagged_exits += count;
        self.gotos -= count;
        self.goto_counts[block] = 0;
        true
    }
}

/// Clears the flag at labels: a jump to the middle of the statements has skipped none of them.
fn clear_at_labels(list: &mut Vec<Statement>, flag: u32) {
    let mut at = 0;
    while at < list.len() {
        if matches!(list[at], Statement::Label(_)) {
            at += 1;
            list.insert(at, Statement::Set(flag, false));
        }
        list[at].each_body(&mut |body| clear_at_labels(body, flag));
        at += 1;
    }
}

/// Replaces each `goto` by setting the flag. The statements after it are skipped: by `break` inside a loop or
/// `switch`, otherwise by testing the flag.
fn pass_over(list: &mut Vec<Statement>, block: BlockId, flag: u32, is_inside: bool) {
    let mut at = 0;
    while at < list.len() {
        if Gotos::All.count(&list[at..=at], block) == 0 {
            at += 1;
            continue;
        }
        let is_left = match &mut list[at] {
            Statement::If { then, otherwise, .. } => {
                pass_over(then, block, flag, is_inside);
                pass_over(otherwise, block, flag, is_inside);
                false
            }
            Statement::Loop { body, .. } => {
                pass_over(body, block, flag, true);
                true
            }
            Statement::Switch { cases, .. } => {
                cases.iter_mut().for_each(|case| pass_over(&mut case.2, block, flag, true));
                true
            }
            _ => {
                list[at] = Statement::Set(flag, true);
                list.splice(at + 1..at + 1, is_inside.then_some(Statement::Break));
                at += usize::from(is_inside);
                false
            }
        };
        at += 1;
        if is_inside {
            if is_left {
                let condition = (Condition::Flag(flag), true);
                list.insert(
                    at,
                    Statement::If { condition, then: vec![Statement::Break], otherwise: Vec::new() },
                );
                at += 1;
            }
            continue;
        }
        let mut rest: Vec<Statement> = list.drain(at..).collect();
        pass_over(&mut rest, block, flag, false);
        if !rest.is_empty() {
            list.push(Statement::If {
                condition: (Condition::Flag(flag), false),
                then: rest,
                otherwise: Vec::new(),
            });
        }
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ValueId;

    fn choice(number: u32, then: Vec<Statement>) -> Statement {
        Statement::If {
            condition: (Condition::Value(ValueId::new(number)), true),
            then,
            otherwise: Vec::new(),
        }
    }

    fn endless(body: Vec<Statement>) -> Statement {
        Statement::Loop { kind: LoopKind::Endless, body }
    }

    #[test]
    fn an_inner_loop_continues_the_outer_one() {
        let again = choice(1, vec![Statement::Goto(BlockId::new(1))]);
        let mut body = vec![endless(vec![again]), Statement::Break];
        pass_over(&mut body, BlockId::new(1), 0, false);
        let inner = endless(vec![choice(1, vec![Statement::Set(0, true), Statement::Break])]);
        let left = Statement::If {
            condition: (Condition::Flag(0), false),
            then: vec![Statement::Break],
            otherwise: Vec::new(),
        };
        assert_eq!(body, [inner, left]);
    }

    #[test]
    fn an_exit_of_two_loops_breaks_twice_and_skips_the_rest() {
        let exit = choice(1, vec![Statement::Goto(BlockId::new(9))]);
        let mut list = vec![
            endless(vec![endless(vec![exit]), Statement::Block(BlockId::new(2))]),
            Statement::Block(BlockId::new(3)),
        ];
        assert_eq!(Gotos::All.count(&list[..1], BlockId::new(9)), 1);
        assert_eq!(Gotos::Breaks.count(&list, BlockId::new(9)), 0);
        pass_over(&mut list, BlockId::new(9), 0, false);
        let ask = |holds, then| Statement::If {
            condition: (Condition::Flag(0), holds),
            then,
            otherwise: Vec::new(),
        };
        let inner = endless(vec![choice(1, vec![Statement::Set(0, true), Statement::Break])]);
        let outer =
            endless(vec![inner, ask(true, vec![Statement::Break]), Statement::Block(BlockId::new(2))]);
        assert_eq!(list, [outer, ask(false, vec![Statement::Block(BlockId::new(3))])]);
    }
}
