//! Statements: conditions, loops, and what they contain.

use super::function::Printer;
use crate::counted::{self, is_first_test_true, is_line};
use crate::ir::ValueId;
use crate::ir::metal::types::ValueType;
use crate::structure::{Condition, LoopKind, Statement, continues};

impl Printer<'_> {
    pub(super) fn statements(&mut self, list: &[Statement]) {
        for statement in list {
            self.statement(statement);
        }
    }

    fn braced(&mut self, head: &str, body: &[Statement]) {
        self.line(head);
        self.line("{");
        self.scope(body);
        self.line("}");
    }

    fn scope(&mut self, body: &[Statement]) {
        self.indent += 1;
        self.statements(body);
        self.indent -= 1;
    }

    fn condition(&mut self, (test, holds): (Condition, bool)) -> String {
        match test {
            Condition::Flag(flag) => format!("{}{}", if holds { "" } else { "!" }, self.flag(flag)),
            Condition::Value(id) if holds => self.truth(id, 0),
            Condition::Value(id) => self.negated(id, 0),
        }
    }

    fn flag(&mut self, flag: u32) -> String {
        let name = format!("skip{}", flag + 1);
        if !self.flags.contains(&name) {
            self.flags.push(name.clone());
        }
        name
    }

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
                if self.program.types.get(self.info.result) == ValueType::Void {
                    self.line("return;");
                }
            }
            Statement::Goto(block) => {
                self.unknown.push("a jump".into());
                self.line(&format!("// goto block {}", block.number()));
            }
            Statement::Label(block) => self.line(&format!("// block {}", block.number())),
            Statement::Set(flag, is_set) => {
                let name = self.flag(*flag);
                self.line(&format!("{name} = {is_set};"));
            }
        }
    }

    fn switch(&mut self, selector: ValueId, cases: &[(Vec<u64>, bool, Vec<Statement>)]) {
        let kind = self.kind_of(selector);
        let text = self.value(selector, kind, 0);
        let ty = self.scalar_of(selector);
        self.line(&format!("switch ({text})"));
        self.line("{");
        for (numbers, is_default, body) in cases {
            for number in numbers {
                self.line(&format!("case {}:", super::spelling::literal(*number, ty, kind)));
            }
            if *is_default {
                self.line("default:");
            }
            self.indent += 1;
            self.line("{");
            self.scope(body);
            self.line("}");
            self.indent -= 1;
        }
        self.line("}");
    }

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

    fn while_loop(&mut self, condition: (Condition, bool), body: &[Statement]) {
        let text = self.condition(condition);
        let before = self.lines.len();
        self.braced(&format!("while ({text})"), body);
        if !continues(body) && is_line(&self.lines, before, self.indent, "while (") {
            self.count(before, &text, self.lines.len() - 1);
        }
    }

    fn do_loop(&mut self, condition: (Condition, bool), body: &[Statement]) {
        let before = self.lines.len();
        self.line("do");
        self.line("{");
        self.scope(body);
        let end = self.lines.len();
        let text = self.condition(condition);
        self.line(&format!("}} while ({text});"));
        let is_plain = end + 1 == self.lines.len() && is_line(&self.lines, before, self.indent, "do");
        if is_plain && !continues(body) && is_first_test_true(&self.lines, self.indent, before, &text) {
            let indent = "    ".repeat(self.indent);
            if self.count(before, &text, end)
                && let Some(last) = self.lines.last_mut()
            {
                last.text = format!("{indent}}}");
            }
        }
    }

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
