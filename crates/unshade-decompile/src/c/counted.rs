//! Counted loops: a `while` loop whose last statement sets a variable of its condition becomes `for`.

use super::{Printer, wrap};
use crate::ir::ValueId;
use crate::structure::{Condition, Statement, continues as structure_continues};

impl Printer<'_, '_> {
    /// Prints a loop with its condition at the top: `for` if its last statement sets a variable of the condition,
    /// else `while`.
    pub(super) fn counted(&mut self, condition: (Condition, bool), body: &[Statement]) {
        let head_index = self.lines.len();
        let end = self.loop_ends.get(self.loops_written - 1).copied();
        self.named.clear();
        let text = self.condition(condition);
        let tested = self.named.clone();
        let is_open = self.braced(&format!("while ({text})"), body);
        let step = if structure_continues(body) { None } else { self.take_step(head_index, &tested) };
        let Some((class, step)) = step else { return self.close(is_open) };
        let room =
            wrap::WIDTH.saturating_sub(4 * self.indent + "for (; ; ) {".len() + text.len() + step.len());
        let start = self.take_start(head_index, class, end, room).unwrap_or_default();
        let head = if start.0 { head_index - 1 } else { head_index };
        let head_line = &mut self.lines[head];
        let brace = if is_open { " {" } else { "" };
        head_line.text = format!("for ({}; {text}; {step}){brace}", start.1);
        head_line.addresses.extend(start.2);
        // The remaining body may need no braces.
        if is_open && self.lines.len() == head + 2 && self.stands_alone(head + 1) {
            let trimmed = self.lines[head].text.len() - 2;
            self.lines[head].text.truncate(trimmed);
            return;
        }
        if self.lines.len() == head + 1 {
            let trimmed = self.lines[head].text.trim_end_matches(" {").len();
            self.lines[head].text.truncate(trimmed);
            self.lines[head].text.push(';');
            return;
        }
        self.close(is_open);
    }

    /// Removes the last statement of the body, if it sets a variable of the condition.
    fn take_step(&mut self, head_index: usize, tested: &[ValueId]) -> Option<(ValueId, String)> {
        let inner = self.indent + 1;
        let mut at = self.lines.len();
        while at > head_index + 1 {
            at -= 1;
            let line = &self.lines[at];
            let class = line.sets.filter(|_| line.indent == inner)?;
            if tested.contains(&class) {
                // No statement after it may read what it sets, or set what it reads.
                let is_free = self.lines[at + 1..].iter().all(|after| {
                    !after.names.contains(&class) && after.sets.is_some_and(|set| !line.names.contains(&set))
                });
                // Variables declared in the body are not visible in the head.
                let is_outer = self.lines[head_index + 1..]
                    .iter()
                    .all(|other| other.declares.is_none_or(|declared| !line.names.contains(&declared)));
                if !is_free || !is_outer || line.text.contains(['[', '?']) {
                    return None;
                }
                let line = self.lines.remove(at);
                let text = line.text.strip_suffix(';')?;
                let step = match text.split_once(' ') {
                    Some((name, "+= 1")) => format!("{name}++"),
                    Some((name, "-= 1")) => format!("{name}--"),
                    _ => String::from(text),
                };
                if let Some(head) = self.lines.get_mut(head_index) {
                    head.addresses.extend(line.addresses);
                }
                return Some((class, step));
            }
        }
        None
    }

    /// Removes the statement before the loop that initializes a variable. Returns whether there was one, its text,
    /// and its addresses. A statement stays if it declares a variable that is used after the loop, or if the line
    /// would be too long.
    fn take_start(
        &mut self,
        head_index: usize,
        class: ValueId,
        end: Option<u32>,
        room: usize,
    ) -> Option<(bool, String, Vec<u32>)> {
        let mut at = head_index;
        while at > 0 {
            at -= 1;
            let line = &self.lines[at];
            let set = line.sets.filter(|_| line.indent == self.indent)?;
            if set != class {
                if line.names.contains(&class) {
                    return None;
                }
                continue;
            }
            let is_free = self.lines[at + 1..head_index]
                .iter()
                .all(|after| after.sets.is_some_and(|set| !line.names.contains(&set)));
            let is_declared = line.declares.is_some();
            let is_over = end.is_some_and(|end| self.last.get(&class).is_some_and(|last| *last <= end));
            // `x += 1` is not an initialization.
            let is_set = line.text.contains(" = ") && !line.text.contains(['[', '?']);
            if !is_free || !is_set || is_declared && !is_over || line.text.len() > room {
                return None;
            }
            let line = self.lines.remove(at);
            return Some((true, String::from(line.text.strip_suffix(';')?), line.addresses));
        }
        None
    }

    /// Returns whether a line can be a body without braces.
    pub(super) fn stands_alone(&self, at: usize) -> bool {
        let text = self.lines[at].text.as_str();
        text.ends_with(';') && !text.ends_with(":;") && !text.starts_with("if ") && !self.is_declaration(text)
    }
}
