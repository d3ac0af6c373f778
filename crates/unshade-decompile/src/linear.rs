//! The statements of a function's text as linear code.
//!
//! The printer turns statements into C; this module turns the same statements into steps that an interpreter executes.
//! Values with a variable have the variable's slot, the others are computed where the text has them. So a run of the code shows
//! faults of schedule, variables and structure as well as those of passes, but none of the printer itself.

use crate::ir::code::{Builder, Code, Label};
use crate::ir::{BlockId, Module, Op, ValueId};
use crate::schedule::{Schedule, is_leaf};
use crate::structure::{Condition, LoopKind, Statement};
use crate::variables::Variables;
use std::collections::HashMap;

/// Returns the code of some statements.
pub fn code(
    module: &Module<'_>,
    schedule: &Schedule,
    variables: &Variables,
    statements: &[Statement],
) -> Code {
    let mut builder = Builder::new(module);
    for id in module.function.values.keys() {
        builder.share(id, variables.of(id));
    }
    let mut linear = Linear {
        builder,
        schedule,
        variables,
        flags: HashMap::new(),
        labels: HashMap::new(),
        computed: Vec::new(),
    };
    linear.statements(statements, Targets::default());
    linear.builder.end();
    linear.builder.finish()
}

/// Where `break` and `continue` lead.
#[derive(Clone, Copy, Default)]
struct Targets {
    after: Option<Label>,
    next: Option<Label>,
}

struct Linear<'f> {
    builder: Builder<'f>,
    schedule: &'f Schedule,
    variables: &'f Variables,
    /// The slots of flags.
    flags: HashMap<u32, u32>,
    /// The labels that `goto` statements lead to.
    labels: HashMap<BlockId, Label>,
    /// The values without a variable that the current statement has computed.
    computed: Vec<ValueId>,
}

impl Linear<'_> {
    fn statements(&mut self, list: &[Statement], targets: Targets) {
        for statement in list {
            self.statement(statement, targets);
        }
    }

    fn statement(&mut self, statement: &Statement, targets: Targets) {
        match statement {
            Statement::Block(block) => self.block(*block),
            Statement::If { condition, then, otherwise } => {
                let (yes, no, after) = (self.builder.label(), self.builder.label(), self.builder.label());
                self.branch(condition.0, condition.1, yes, no);
                self.builder.place(yes);
                self.statements(then, targets);
                self.builder.goto(after);
                self.builder.place(no);
                self.statements(otherwise, targets);
                self.builder.place(after);
            }
            Statement::Loop { kind, body } => self.repeat(*kind, body),
            Statement::Switch { selector, cases } => self.switch(*selector, cases, targets),
            Statement::Break => self.leave(targets.after),
            Statement::Continue => self.leave(targets.next),
            Statement::Return => self.builder.end(),
            Statement::Goto(block) => {
                let label = self.label(*block);
                self.builder.goto(label);
            }
            Statement::Label(block) => {
                let label = self.label(*block);
                self.builder.place(label);
            }
            Statement::Set(flag, is_set) => {
                let slot = self.flag(*flag);
                self.builder.set(slot, u64::from(*is_set));
            }
        }
    }

    /// Continues at the target of a `break` or `continue`.
    fn leave(&mut self, target: Option<Label>) {
        match target {
            Some(label) => self.builder.goto(label),
            None => self.builder.end(),
        }
    }

    fn repeat(&mut self, kind: LoopKind, body: &[Statement]) {
        let (start, inside) = (self.builder.label(), self.builder.label());
        let (next, after) = (self.builder.label(), self.builder.label());
        self.builder.place(start);
        if let LoopKind::While(condition, holds) = kind {
            self.branch(condition, holds, inside, after);
        }
        self.builder.place(inside);
        self.statements(body, Targets { after: Some(after), next: Some(next) });
        self.builder.place(next);
        match kind {
            LoopKind::DoWhile(condition, holds) => self.branch(condition, holds, start, after),
            LoopKind::Once => {}
            LoopKind::Endless | LoopKind::While(..) => self.builder.goto(start),
        }
        self.builder.place(after);
    }

    fn switch(&mut self, selector: ValueId, cases: &[(Vec<u64>, bool, Vec<Statement>)], targets: Targets) {
        let after = self.builder.label();
        let labels: Vec<Label> = cases.iter().map(|_| self.builder.label()).collect();
        let slot = self.value_of_statement(selector);
        let numbers = cases.iter().zip(&labels);
        let numbers = numbers.flat_map(|(case, label)| case.0.iter().map(|number| (*number, *label)));
        let numbers: Vec<(u64, Label)> = numbers.collect();
        let default = cases.iter().position(|case| case.1).map(|index| labels[index]);
        self.builder.switch(slot, &numbers, Some(default.unwrap_or(after)));
        for ((_, _, body), label) in cases.iter().zip(&labels) {
            self.builder.place(*label);
            self.statements(body, Targets { after: Some(after), ..targets });
        }
        self.builder.place(after);
    }

    /// Continues at one of two labels: at the first one if a condition has a value.
    fn branch(&mut self, condition: Condition, holds: bool, yes: Label, no: Label) {
        let slot = match condition {
            Condition::Value(id) => self.value_of_statement(id),
            Condition::Flag(flag) => self.flag(flag),
        };
        let (yes, no) = if holds { (yes, no) } else { (no, yes) };
        self.builder.branch(slot, yes, no);
    }

    fn flag(&mut self, flag: u32) -> u32 {
        *self.flags.entry(flag).or_insert_with(|| self.builder.slot())
    }

    fn label(&mut self, block: BlockId) -> Label {
        *self.labels.entry(block).or_insert_with(|| self.builder.label())
    }

    fn block(&mut self, block: BlockId) {
        for &id in &self.schedule.statements[block] {
            self.computed.clear();
            self.inputs(id);
            self.builder.operate(id);
        }
        let copies = &self.variables.copies[block];
        self.computed.clear();
        for (_, input) in copies {
            self.value(*input);
        }
        self.builder.copy(copies);
    }

    /// Computes the value that a statement tests, and returns its slot.
    fn value_of_statement(&mut self, id: ValueId) -> u32 {
        let id = self.builder.function.resolve(id);
        self.computed.clear();
        self.value(id);
        self.builder.slot_of(id)
    }

    fn inputs(&mut self, id: ValueId) {
        for index in 0..self.builder.function.inputs(id).len() {
            self.value(self.builder.function.input(id, index));
        }
    }

    /// Computes a value, unless it has a variable.
    fn value(&mut self, id: ValueId) {
        let function = self.builder.function;
        let mut stack = vec![(id, 0)];
        while let Some((id, next)) = stack.last_mut() {
            let (id, index) = (*id, *next);
            *next += 1;
            let has_variable = id == ValueId::NONE
                || function.op(id) == Op::Phi
                || !self.schedule.inline[id] && !is_leaf(function, id);
            if has_variable || self.computed.contains(&id) {
                stack.pop();
            } else if index < function.inputs(id).len() {
                stack.push((function.input(id, index), 0));
            } else {
                stack.pop();
                self.computed.push(id);
                self.builder.operate(id);
            }
        }
    }
}
