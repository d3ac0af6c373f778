//! Statements of languages with the syntax of C: conditions, loops, switches.
//!
//! Loops that count become `for` ([`counted`]).

use crate::Line;
use crate::counted::{self, is_first_test_true, is_line};
use crate::ir::{BlockId, ValueId};
use crate::structure::{Condition, LoopKind, Statement, continues};

/// The cases of a switch: numbers, whether it is the default, statements.
type Cases = [(Vec<u64>, bool, Vec<Statement>)];

/// The text of a function.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) lines: Vec<Line>,
    pub(crate) indent: usize,
    /// The addresses of what the next line does.
    pub(crate) addresses: Vec<u32>,
    /// Variables that say which way a loop was left.
    pub(crate) flags: Vec<String>,
    /// Variables that loops set at their start and count.
    pub(crate) counters: Vec<String>,
}

impl Output {
    /// Returns one for the body of a function.
    pub(crate) fn body() -> Self {
        Self { indent: 1, ..Self::default() }
    }

    /// Adds a line with the addresses so far.
    pub(crate) fn line(&mut self, text: &str) {
        let mut addresses = std::mem::take(&mut self.addresses);
        addresses.sort_unstable();
        addresses.dedup();
        self.lines.push(Line { text: format!("{}{text}", "    ".repeat(self.indent)), addresses });
    }

    /// Returns the name of a flag, which is declared.
    fn flag(&mut self, flag: u32) -> String {
        let name = format!("skip{}", flag + 1);
        if !self.flags.contains(&name) {
            self.flags.push(name.clone());
        }
        name
    }

    /// Makes the line `head` that of a `for` loop whose body ends before the line `end`. Returns whether it could.
    fn count(&mut self, head: usize, condition: &str, end: usize) -> bool {
        match counted::count(&mut self.lines, self.indent, head, condition, end) {
            Some((name, has_start)) => {
                if has_start {
                    self.counters.push(name);
                }
                true
            }
            None => false,
        }
    }
}

/// Prints the statements of a function.
pub(crate) trait StatementPrinter {
    /// Whether the cases of a switch have braces, as C++ needs around declarations.
    const HAS_BRACED_CASES: bool;

    /// Returns the text so far.
    fn output(&mut self) -> &mut Output;
    /// Adds a line.
    fn line(&mut self, text: &str);
    /// Prints the values of a block.
    fn block(&mut self, block: BlockId);
    /// Returns a truth.
    fn truth(&mut self, id: ValueId) -> String;
    /// Returns the opposite of a truth.
    fn opposite_truth(&mut self, id: ValueId) -> String;
    /// Returns what a switch selects by, and its cases.
    fn selector(&mut self, id: ValueId) -> String;
    /// Returns the number of a case.
    fn case(&self, selector: ValueId, number: u64) -> String;
    /// Returns the statement that leaves the function; none if a value did.
    fn leave(&mut self) -> Option<String>;
    /// Counts a jump, which has no form.
    fn count_jump(&mut self);

    /// Returns the attribute of a loop.
    fn loop_attribute(&self) -> &'static str {
        ""
    }

    /// Returns whether loops that count become `for`.
    fn counts_loops(&self) -> bool {
        true
    }

    /// Prints statements in a scope of their own: names that are declared there end with it.
    fn scope(&mut self, body: &[Statement]) {
        self.output().indent += 1;
        self.statements(body);
        self.output().indent -= 1;
    }

    /// Prints statements.
    fn statements(&mut self, list: &[Statement]) {
        for statement in list {
            self.statement(statement);
        }
    }

    /// Prints a line, and statements in braces after it.
    fn braced(&mut self, head: &str, body: &[Statement]) {
        self.line(head);
        self.line("{");
        self.scope(body);
        self.line("}");
    }

    /// Returns a condition.
    fn condition(&mut self, (test, holds): (Condition, bool)) -> String {
        match test {
            Condition::Flag(flag) => format!("{}{}", if holds { "" } else { "!" }, self.output().flag(flag)),
            Condition::Value(id) if holds => self.truth(id),
            Condition::Value(id) => self.opposite_truth(id),
        }
    }

    /// Prints a statement.
    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Block(block) => self.block(*block),
            Statement::If { condition, then, otherwise } => self.choice(*condition, then, otherwise),
            Statement::Loop { kind: LoopKind::Endless, body } => self.braced("while (true)", body),
            Statement::Loop { kind: LoopKind::Once, body } => {
                self.line("do");
                self.line("{");
                self.scope(body);
                self.line("} while (false);");
            }
            Statement::Loop { kind: LoopKind::While(condition, holds), body } => {
                self.while_loop((*condition, *holds), body);
            }
            Statement::Loop { kind: LoopKind::DoWhile(condition, holds), body } => {
                self.do_loop((*condition, *holds), body);
            }
            Statement::Switch { selector, cases } => self.switch(*selector, cases),
            Statement::Break => self.line("break;"),
            Statement::Continue => self.line("continue;"),
            Statement::Return => {
                if let Some(text) = self.leave() {
                    self.line(&text);
                }
            }
            Statement::Goto(block) => {
                self.count_jump();
                self.line(&format!("// goto block {}", block.number()));
            }
            Statement::Label(block) => self.line(&format!("// block {}", block.number())),
            Statement::Set(flag, is_set) => {
                let name = self.output().flag(*flag);
                self.line(&format!("{name} = {is_set};"));
            }
        }
    }

    /// Prints a switch.
    fn switch(&mut self, selector: ValueId, cases: &Cases) {
        let text = self.selector(selector);
        self.line(&format!("switch ({text})"));
        self.line("{");
        for (numbers, is_default, body) in cases {
            for number in numbers {
                let number = self.case(selector, *number);
                self.line(&format!("case {number}:"));
            }
            if *is_default {
                self.line("default:");
            }
            if Self::HAS_BRACED_CASES {
                self.output().indent += 1;
                self.line("{");
                self.scope(body);
                self.line("}");
                self.output().indent -= 1;
            } else {
                self.scope(body);
            }
        }
        self.line("}");
    }

    /// Prints `if` with all `else if` after it.
    fn choice(&mut self, condition: (Condition, bool), then: &[Statement], otherwise: &[Statement]) {
        let text = self.condition(condition);
        self.braced(&format!("if ({text})"), then);
        let mut rest = otherwise;
        while !rest.is_empty() {
            match rest {
                [Statement::If { condition, then, otherwise }] => {
                    let text = self.condition(*condition);
                    self.braced(&format!("else if ({text})"), then);
                    rest = otherwise;
                }
                others => {
                    self.braced("else", others);
                    rest = &[];
                }
            }
        }
    }

    /// Prints a loop with its condition at the top.
    fn while_loop(&mut self, condition: (Condition, bool), body: &[Statement]) {
        let text = self.condition(condition);
        let attribute = self.loop_attribute();
        let before = self.output().lines.len();
        self.braced(&format!("{attribute}while ({text})"), body);
        let counts = self.counts_loops() && !continues(body);
        let output = self.output();
        if counts && is_line(&output.lines, before, output.indent, "while (") {
            output.count(before, &text, output.lines.len() - 1);
        }
    }

    /// Prints a loop with its condition at the end.
    fn do_loop(&mut self, condition: (Condition, bool), body: &[Statement]) {
        let before = self.output().lines.len();
        self.line("do");
        self.line("{");
        self.scope(body);
        let end = self.output().lines.len();
        let text = self.condition(condition);
        self.line(&format!("}} while ({text});"));
        let counts = self.counts_loops() && !continues(body);
        let output = self.output();
        let is_plain =
            counts && end + 1 == output.lines.len() && is_line(&output.lines, before, output.indent, "do");
        if is_plain && is_first_test_true(&output.lines, output.indent, before, &text) {
            let indent = "    ".repeat(output.indent);
            if output.count(before, &text, end)
                && let Some(last) = output.lines.last_mut()
            {
                last.text = format!("{indent}}}");
            }
        }
    }
}
