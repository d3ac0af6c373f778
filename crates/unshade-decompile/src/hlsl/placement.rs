//! Where variables are declared: on the line that sets them first, or at the start of the function.

use super::function::Printer;
use crate::ir::hash::FastMap;
use crate::ir::{BlockId, ValueId};
use crate::structure::{Condition, LoopKind, Statement};

/// Where variables are declared: at the start of the function, unless they are set before all uses in one scope.
pub(super) struct Placement {
    pub(super) outer: Vec<(ValueId, usize)>,
}

impl Placement {
    /// Finds the variables that are declared at the start, and marks them as declared.
    pub(super) fn new(printer: &mut Printer<'_>, statements: &[Statement]) -> Self {
        let mut walk = Walk { scopes: vec![None], found: FastMap::default(), order: Vec::new() };
        walk.list(printer, statements, 0);
        let mut outer = Vec::new();
        for class in &walk.order {
            let seen = &walk.found[class];
            if !seen.is_local {
                outer.push((*class, 0));
                printer.declared[*class] = true;
            }
        }
        Self { outer }
    }
}

/// What is known of a variable.
struct Seen {
    /// The scope of the first assignment.
    scope: usize,
    /// Whether it is set first, and all else is in that scope.
    is_local: bool,
}

/// A walk through the statements, with the parents of scopes.
struct Walk {
    scopes: Vec<Option<usize>>,
    found: FastMap<ValueId, Seen>,
    order: Vec<ValueId>,
}

impl Walk {
    fn list(&mut self, printer: &Printer<'_>, list: &[Statement], scope: usize) {
        for statement in list {
            match statement {
                Statement::Block(block) => self.block(printer, *block, scope),
                Statement::If { condition, then, otherwise } => {
                    self.test(printer, condition.0, scope);
                    for body in [then, otherwise] {
                        let inner = self.inner(scope);
                        self.list(printer, body, inner);
                    }
                }
                Statement::Loop { kind, body } => {
                    let inner = self.inner(scope);
                    match kind {
                        LoopKind::While(condition, _) => self.test(printer, *condition, scope),
                        LoopKind::DoWhile(condition, _) => {
                            self.list(printer, body, inner);
                            // The condition is outside of the body's scope.
                            self.test(printer, *condition, scope);
                            continue;
                        }
                        _ => {}
                    }
                    self.list(printer, body, inner);
                }
                Statement::Switch { selector, cases } => {
                    self.read(printer, *selector, scope);
                    for case in cases {
                        // Cases share a scope, but a declaration in one would be skipped by the others.
                        let inner = self.inner(scope);
                        self.list(printer, &case.2, inner);
                        for seen in self.found.values_mut() {
                            seen.is_local &= seen.scope != inner;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn inner(&mut self, scope: usize) -> usize {
        self.scopes.push(Some(scope));
        self.scopes.len() - 1
    }

    fn test(&mut self, printer: &Printer<'_>, condition: Condition, scope: usize) {
        if let Condition::Value(id) = condition {
            self.read(printer, id, scope);
        }
    }

    fn block(&mut self, printer: &Printer<'_>, block: BlockId, scope: usize) {
        for &item in &printer.schedule.statements[block] {
            for index in 0..printer.function.inputs(item).len() {
                let input = printer.function.input(item, index);
                if input != ValueId::NONE {
                    self.read(printer, input, scope);
                }
            }
            if printer.function.width(item) > 0 && printer.schedule.uses[item] > 0 {
                self.occur(printer.variables.of(item), scope, true);
            }
        }
        for &(phi, input) in &printer.variables.copies[block] {
            self.read(printer, input, scope);
            // Phis are set on several edges.
            self.occur(printer.variables.of(phi), scope, false);
        }
    }

    fn read(&mut self, printer: &Printer<'_>, id: ValueId, scope: usize) {
        let mut all = Vec::new();
        printer.each_variable(id, &mut |variable| all.push(printer.variables.of(variable)));
        for class in all {
            self.occur(class, scope, false);
        }
    }

    fn occur(&mut self, class: ValueId, scope: usize, is_set: bool) {
        match self.found.get_mut(&class) {
            None => {
                self.order.push(class);
                self.found.insert(class, Seen { scope, is_local: is_set });
            }
            Some(seen) => {
                let mut at = Some(scope);
                while let Some(inner) = at
                    && inner != seen.scope
                {
                    at = self.scopes[inner];
                }
                seen.is_local &= at.is_some();
            }
        }
    }
}
