//! Where variables are declared: on the line that sets them first, or at the start of the function.

use crate::ir::hash::FastMap;
use crate::ir::{BlockId, Function, ValueId};
use crate::schedule::Schedule;
use crate::structure::{Condition, LoopKind, Statement};
use crate::variables::Variables;

/// What the variables of a function are, and which ones texts have.
pub trait Scopes {
    /// Returns the function.
    fn function(&self) -> &Function;
    /// Returns its statements.
    fn schedule(&self) -> &Schedule;
    /// Returns its variables.
    fn variables(&self) -> &Variables;
    /// Visits the values with variables in the text of a value.
    fn each_variable(&self, root: ValueId, visit: &mut dyn FnMut(ValueId));
}

/// Returns the variables that are declared at the start of the function: those that are not set before all uses in one
/// scope.
pub fn outer(scopes: &impl Scopes, statements: &[Statement]) -> Vec<ValueId> {
    let mut walk = Walk { scopes: vec![None], found: FastMap::default(), order: Vec::new() };
    walk.list(scopes, statements, 0);
    walk.order.into_iter().filter(|class| !walk.found[class].is_local).collect()
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
    fn list(&mut self, printer: &impl Scopes, list: &[Statement], scope: usize) {
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

    fn test(&mut self, printer: &impl Scopes, condition: Condition, scope: usize) {
        if let Condition::Value(id) = condition {
            self.read(printer, id, scope);
        }
    }

    fn block(&mut self, printer: &impl Scopes, block: BlockId, scope: usize) {
        for &item in &printer.schedule().statements[block] {
            for index in 0..printer.function().inputs(item).len() {
                let input = printer.function().input(item, index);
                if input != ValueId::NONE {
                    self.read(printer, input, scope);
                }
            }
            if printer.function().width(item) > 0 && printer.schedule().uses[item] > 0 {
                self.occur(printer.variables().of(item), scope, true);
            }
        }
        for &(phi, input) in &printer.variables().copies[block] {
            self.read(printer, input, scope);
            // Phis are set on several edges.
            self.occur(printer.variables().of(phi), scope, false);
        }
    }

    fn read(&mut self, printer: &impl Scopes, id: ValueId, scope: usize) {
        let mut all = Vec::new();
        printer.each_variable(id, &mut |variable| all.push(printer.variables().of(variable)));
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
