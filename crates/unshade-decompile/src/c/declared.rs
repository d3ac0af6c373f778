//! Placement of declarations: where a variable is first set, if that scope contains all its uses.

use super::Printer;
use crate::ir::hash::FastMap;
use crate::ir::{BlockId, ValueId};
use crate::structure::{Condition, LoopKind, Statement};

/// The occurrences of a variable.
#[derive(Clone, Copy)]
struct Occurrence {
    scope: usize,
    /// The scope in which it is first set, if its first occurrence sets it.
    first: Option<usize>,
    /// The time of its last occurrence, by the [`Clock`].
    last: u32,
}

/// Numbers occurrences of variables in the order of the text.
#[derive(Default)]
struct Clock {
    now: u32,
    /// The time at which each loop ends.
    loop_ends: Vec<u32>,
}

impl Printer<'_, '_> {
    pub(super) fn find_occurrences(&mut self, statements: &[Statement], gotos: usize) {
        if gotos > 0 {
            return;
        }
        let mut scopes = vec![(0_usize, 0_usize)];
        let mut found: FastMap<ValueId, Occurrence> = FastMap::default();
        let mut clock = Clock::default();
        self.occurrences(statements, 0, &mut scopes, &mut found, &mut clock);
        self.loop_ends = clock.loop_ends;
        for (class, occurrence) in found {
            self.last.insert(class, occurrence.last);
            if occurrence.first == Some(occurrence.scope) {
                self.declared_later[class] = true;
            }
        }
    }

    fn occurrences(
        &self,
        statements: &[Statement],
        scope: usize,
        scopes: &mut Vec<(usize, usize)>,
        found: &mut FastMap<ValueId, Occurrence>,
        clock: &mut Clock,
    ) {
        for statement in statements {
            match statement {
                Statement::Block(block) => self.block_occurrences(*block, scope, scopes, found, clock),
                Statement::If { condition, then, otherwise } => {
                    self.read_test(condition.0, scope, scopes, found, clock);
                    self.inside(then, scope, scopes, found, clock);
                    self.inside(otherwise, scope, scopes, found, clock);
                }
                Statement::Loop { kind, body } => {
                    let index = clock.loop_ends.len();
                    clock.loop_ends.push(0);
                    if let LoopKind::While(condition, _) = kind {
                        self.read_test(*condition, scope, scopes, found, clock);
                    }
                    self.inside(body, scope, scopes, found, clock);
                    if let LoopKind::DoWhile(condition, _) = kind {
                        self.read_test(*condition, scope, scopes, found, clock);
                    }
                    clock.loop_ends[index] = clock.now;
                }
                Statement::Switch { selector, cases } => {
                    self.read_in(*selector, scope, scopes, found, clock);
                    // A `switch` would jump over a declaration between cases: variables set there are declared before
                    // it.
                    let depth = scopes[scope].1 + 1;
                    for (_, _, body) in cases {
                        scopes.push((scope, depth));
                        let outer = scopes.len() - 1;
                        self.occurrences(body, outer, scopes, found, clock);
                        for occurrence in found.values_mut() {
                            if occurrence.first == Some(outer) {
                                occurrence.first = None;
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn inside(
        &self,
        body: &[Statement],
        scope: usize,
        scopes: &mut Vec<(usize, usize)>,
        found: &mut FastMap<ValueId, Occurrence>,
        clock: &mut Clock,
    ) {
        let depth = scopes[scope].1 + 1;
        scopes.push((scope, depth));
        let inner = scopes.len() - 1;
        self.occurrences(body, inner, scopes, found, clock);
    }

    fn block_occurrences(
        &self,
        block: BlockId,
        scope: usize,
        scopes: &[(usize, usize)],
        found: &mut FastMap<ValueId, Occurrence>,
        clock: &mut Clock,
    ) {
        for &item in &self.schedule.statements[block] {
            for index in 0..self.function.inputs(item).len() {
                let input = self.function.input(item, index);
                if input != ValueId::NONE {
                    self.read_in(input, scope, scopes, found, clock);
                }
            }
            if self.function.width(item) != 0 && self.schedule.uses[item] > 0 {
                self.occur(self.variables.of(item), scope, scopes, found, clock, true);
            }
        }
        for &(phi, input) in &self.variables.copies[block] {
            self.read_in(input, scope, scopes, found, clock);
            self.occur(self.variables.of(phi), scope, scopes, found, clock, true);
        }
    }

    fn read_test(
        &self,
        test: Condition,
        scope: usize,
        scopes: &[(usize, usize)],
        found: &mut FastMap<ValueId, Occurrence>,
        clock: &mut Clock,
    ) {
        if let Condition::Value(id) = test {
            self.read_in(id, scope, scopes, found, clock);
        }
    }

    fn read_in(
        &self,
        id: ValueId,
        scope: usize,
        scopes: &[(usize, usize)],
        found: &mut FastMap<ValueId, Occurrence>,
        clock: &mut Clock,
    ) {
        self.each_variable(id, &mut |id| {
            self.occur(self.variables.of(id), scope, scopes, found, clock, false);
        });
    }

    fn occur(
        &self,
        class: ValueId,
        scope: usize,
        scopes: &[(usize, usize)],
        found: &mut FastMap<ValueId, Occurrence>,
        clock: &mut Clock,
        is_set: bool,
    ) {
        let entry = found.entry(class).or_insert(Occurrence {
            scope,
            first: if is_set { Some(scope) } else { None },
            last: 0,
        });
        clock.now += 1;
        entry.last = clock.now;
        let (mut a, mut b) = (entry.scope, scope);
        while a != b {
            if scopes[a].1 < scopes[b].1 {
                std::mem::swap(&mut a, &mut b);
            }
            a = scopes[a].0;
        }
        entry.scope = a;
    }
}
