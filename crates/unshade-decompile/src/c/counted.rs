//! Loops with a variable that counts: `for`, of a `while` whose last statement sets a variable of its condition.

use super::{Printer, wrap};
use crate::ir::Id;
use crate::structure::{Statement, Test, continues as structure_continues};

impl Printer<'_> {
    /// A loop with its condition in front: `for` if its last statement sets a variable of the condition, `while` otherwise.
    pub(super) fn counted(&mut self, condition: (Test, bool), body: &[Statement]) {
        let place = self.lines.len();
        let end = self.loop_ends.get(self.loops_written - 1).copied();
        self.named.clear();
        let text = self.condition(condition);
        let tested = self.named.clone();
        let is_open = self.braced(&format!("while ({text})"), body);
        let step = if structure_continues(body) { None } else { self.take_step(place, &tested) };
        let Some((class, step)) = step else { return self.close(is_open) };
        let room =
            wrap::WIDTH.saturating_sub(4 * self.indent + "for (; ; ) {".len() + text.len() + step.len());
        let start = self.take_start(place, class, end, room).unwrap_or_default();
        let head = if start.0 { place - 1 } else { place };
        let head_line = &mut self.lines[head];
        let brace = if is_open { " {" } else { "" };
        head_line.text = format!("for ({}; {text}; {step}){brace}", start.1);
        head_line.addresses.extend(start.2);
        // What is left may need no braces.
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

    /// Takes the statement that a round ends with out of a body, if it sets a variable that is tested.
    fn take_step(&mut self, place: usize, tested: &[Id]) -> Option<(Id, String)> {
        let inner = self.indent + 1;
        let mut at = self.lines.len();
        while at > place + 1 {
            at -= 1;
            let line = &self.lines[at];
            let class = line.sets.filter(|_| line.indent == inner)?;
            if tested.contains(&class) {
                // Nothing behind it may read what it sets, or set what it reads.
                let is_free = self.lines[at + 1..].iter().all(|after| {
                    !after.names.contains(&class) && after.sets.is_some_and(|set| !line.names.contains(&set))
                });
                // What the body declares is not known in the head.
                let is_outer = self.lines[place + 1..]
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
                if let Some(head) = self.lines.get_mut(place) {
                    head.addresses.extend(line.addresses);
                }
                return Some((class, step));
            }
        }
        None
    }

    /// Takes the statement that a variable begins with out of the lines in front of its loop: whether there was one, its
    /// text, its addresses. One that declares a variable which is needed behind the loop stays, and one for which there is no
    /// room.
    fn take_start(
        &mut self,
        place: usize,
        class: Id,
        end: Option<u32>,
        room: usize,
    ) -> Option<(bool, String, Vec<u32>)> {
        let mut at = place;
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
            let is_free = self.lines[at + 1..place]
                .iter()
                .all(|after| after.sets.is_some_and(|set| !line.names.contains(&set)));
            let is_declared = line.declares.is_some();
            let is_over = end.is_some_and(|end| self.last.get(&class).is_some_and(|last| *last <= end));
            // `x += 1` is no beginning.
            let is_set = line.text.contains(" = ") && !line.text.contains(['[', '?']);
            if !is_free || !is_set || is_declared && !is_over || line.text.len() > room {
                return None;
            }
            let line = self.lines.remove(at);
            return Some((true, String::from(line.text.strip_suffix(';')?), line.addresses));
        }
        None
    }

    /// Whether a line can be what belongs to a head without braces.
    pub(super) fn stands_alone(&self, at: usize) -> bool {
        let text = self.lines[at].text.as_str();
        text.ends_with(';') && !text.ends_with(":;") && !text.starts_with("if ") && !self.is_declaration(text)
    }
}
