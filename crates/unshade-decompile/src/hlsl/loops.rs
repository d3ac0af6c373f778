//! Loops: counted ones become `for`. Those of shader models 1 to 3 stay as they are: they have attributes.

use super::function::Printer;
use super::legacy;
use crate::counted::{count, is_first_test_true, is_line};
use crate::structure::{Condition, Statement, continues};

impl Printer<'_> {
    /// Prints a loop with its condition at the top.
    pub(super) fn while_loop(&mut self, condition: (Condition, bool), body: &[Statement]) {
        let text = self.condition(condition);
        let attribute = legacy::loop_attribute(self.program);
        let before = self.lines.len();
        self.braced(&format!("{attribute}while ({text})"), body);
        if !legacy::is_legacy(self.program)
            && !continues(body)
            && is_line(&self.lines, before, self.indent, "while (")
        {
            self.count(before, &text, self.lines.len() - 1);
        }
    }

    /// Prints a loop with its condition at the end.
    pub(super) fn do_loop(&mut self, condition: (Condition, bool), body: &[Statement]) {
        let before = self.lines.len();
        self.line("do");
        self.line("{");
        self.scope(body);
        let end = self.lines.len();
        let text = self.condition(condition);
        self.line(&format!("}} while ({text});"));
        let is_plain = !legacy::is_legacy(self.program)
            && end + 1 == self.lines.len()
            && is_line(&self.lines, before, self.indent, "do");
        if is_plain && !continues(body) && is_first_test_true(&self.lines, self.indent, before, &text) {
            let indent = "    ".repeat(self.indent);
            if self.count(before, &text, end)
                && let Some(last) = self.lines.last_mut()
            {
                last.text = format!("{indent}}}");
            }
        }
    }

    /// Makes the line `head` that of a `for` loop whose body ends before the line `end`. Returns whether it could.
    fn count(&mut self, head: usize, condition: &str, end: usize) -> bool {
        match count(&mut self.lines, self.indent, head, condition, end) {
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
