//! Counted loops: a loop whose last statement steps a variable of its condition becomes `for`.
//!
//! | before | after |
//! |---|---|
//! | `i = 0; while (i < n) { … i = i + 1; }` | `for (i = 0; i < n; i++) { … }` |
//! | `i = 0; do { … i = i + 1; } while (i < 4);` | the same, as the first test is known to hold |
//! | `uint i;` at the top, and no use outside | `for (uint i = 0; …)` |
//!
//! This works on lines, after the body is printed: names are unique in a function. A `continue` in the body would skip
//! the step if it were a statement, but not that of `for`; such loops stay as they are.

use crate::Line;

/// A statement that steps a variable by a number.
struct Step<'t> {
    name: &'t str,
    is_up: bool,
    number: &'t str,
}

/// Makes the line `head` that of a `for` loop whose body ends before the line `end`. Returns the variable, and whether the
/// line sets it first; `None` if it counts nothing.
pub fn count(
    lines: &mut Vec<Line>,
    indent: usize,
    head: usize,
    condition: &str,
    end: usize,
) -> Option<(String, bool)> {
    let (at, name, step) = find_step(&lines[..end], head + 2, indent + 1, condition)?;
    let stepped = lines.remove(at);
    let mut addresses = stepped.addresses;
    let mut start = String::new();
    let mut head = head;
    if let Some(at) = find_start(&lines[..head], indent, &name) {
        let line = lines.remove(at);
        start = line.text.trim().trim_end_matches(';').to_owned();
        addresses.extend(line.addresses);
        head -= 1;
    }
    let spaces = "    ".repeat(indent);
    let line = &mut lines[head];
    line.text = format!("{spaces}for ({start}; {condition}; {step})");
    line.addresses.extend(addresses);
    line.addresses.sort_unstable();
    line.addresses.dedup();
    Some((name, !start.is_empty()))
}

/// Returns whether a condition `i < 4` holds for the number that `i` is set to before the line `head`.
pub fn is_first_test_true(lines: &[Line], indent: usize, head: usize, condition: &str) -> bool {
    let mut words = condition.split(' ');
    let (Some(left), Some(operator), Some(right), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return false;
    };
    let initial = |name: &str| {
        let at = find_start(&lines[..head], indent, name)?;
        lines[at].text.trim().strip_suffix(';')?.split_once(" = ")?.1.parse::<i64>().ok()
    };
    let number = |text: &str| text.parse::<i64>().ok().or_else(|| initial(text));
    // Where signs differ, numbers below 2^31 compare alike. Negative ones have a sign.
    let (Some(left), Some(right)) = (number(left), number(right)) else { return false };
    if left.max(right) > i64::from(i32::MAX) {
        return false;
    }
    match operator {
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        ">=" => left >= right,
        "!=" => left != right,
        _ => false,
    }
}

/// Moves declarations of counters into the heads of their loops, where nothing else uses them.
pub fn declare_counters(lines: &mut Vec<Line>, counters: &[String]) {
    for name in counters {
        let uses: Vec<usize> = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| has_word(&line.text, name))
            .map(|(at, _)| at)
            .collect();
        let &[declaration, head, .., last] = uses.as_slice() else { continue };
        let Some(ty) = lines[declaration].text.strip_prefix("    ").and_then(|rest| {
            let ty = rest.strip_suffix(';')?.strip_suffix(name.as_str())?.strip_suffix(' ')?;
            is_word(ty).then(|| ty.to_owned())
        }) else {
            continue;
        };
        let text = &lines[head].text;
        let indent = text.len() - text.trim_start().len();
        let Some(rest) = text.trim_start().strip_prefix("for (") else { continue };
        let closing = format!("{}}}", " ".repeat(indent));
        let end = lines[head..].iter().position(|line| line.text == closing).map(|count| head + count);
        if !rest.starts_with(&format!("{name} = ")) || end.is_none_or(|end| last > end) {
            continue;
        }
        lines[head].text = format!("{}for ({ty} {rest}", " ".repeat(indent));
        lines.remove(declaration);
    }
}

/// Returns whether the line at an index begins with a text at an indent.
pub fn is_line(lines: &[Line], at: usize, indent: usize, start: &str) -> bool {
    lines.get(at).is_some_and(|line| statement_at(line, indent).is_some_and(|text| text.starts_with(start)))
}

/// Returns the statement of a line with this indent.
fn statement_at(line: &Line, indent: usize) -> Option<&str> {
    let text = line.text.strip_prefix("    ".repeat(indent).as_str())?;
    (!text.starts_with(' ')).then_some(text)
}

/// Returns the step at the end of a body whose lines begin at `first`: the line, the variable and the text.
fn find_step(
    lines: &[Line],
    first: usize,
    indent: usize,
    condition: &str,
) -> Option<(usize, String, String)> {
    let mut passed: Vec<&str> = Vec::new();
    for at in (first..lines.len()).rev() {
        let text = statement_at(&lines[at], indent)?;
        if let Some(Step { name, is_up, number }) = step(text).filter(|step| has_word(condition, step.name)) {
            if passed.iter().any(|text| has_word(text, name)) {
                return None;
            }
            let step = match (number, is_up) {
                ("1", true) => format!("{name}++"),
                ("1", false) => format!("{name}--"),
                (_, true) => format!("{name} += {number}"),
                (_, false) => format!("{name} -= {number}"),
            };
            return Some((at, name.to_owned(), step));
        }
        if !is_statement(text) {
            return None;
        }
        passed.push(text);
    }
    None
}

/// Returns whether a line is a whole statement after which the next one follows.
fn is_statement(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next();
    text.ends_with(';')
        && !text.starts_with('}')
        && !matches!(first, Some("break" | "continue" | "return" | "discard" | ""))
}

/// Returns the line that sets a variable before a loop, if only assignments without the variable are between.
fn find_start(lines: &[Line], indent: usize, name: &str) -> Option<usize> {
    let mut passed: Vec<&str> = Vec::new();
    for at in (0..lines.len()).rev() {
        let text = statement_at(&lines[at], indent)?;
        let (target, value) = assignment(text)?;
        if target == name {
            let is_moved = passed.iter().any(|text| {
                has_word(text, name) || assignment(text).is_some_and(|(target, _)| has_word(value, target))
            });
            return (!is_moved && !has_word(value, name)).then_some(at);
        }
        passed.push(text);
    }
    None
}

/// Returns the variable and the value of `x = y;`, unless other things are set as well.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let (target, value) = text.strip_suffix(';')?.split_once(" = ")?;
    let is_plain = !value.contains(['(', '[']) || is_cast_number(value);
    (is_word(target) && is_plain).then_some((target, value))
}

/// Returns whether a text is a vector of one number, `(float4)0.0`.
fn is_cast_number(text: &str) -> bool {
    let cast = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    cast.is_some_and(|(ty, number)| is_word(ty) && number.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Returns the step of `x = x + 1;`.
fn step(text: &str) -> Option<Step<'_>> {
    let (name, value) = assignment(text)?;
    let rest = value.strip_prefix(name)?;
    let (is_up, number) = match (rest.strip_prefix(" + "), rest.strip_prefix(" - ")) {
        (Some(number), _) => (true, number),
        (_, Some(number)) => (false, number),
        _ => return None,
    };
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(Step { name, is_up, number })
}

/// Returns whether a text is one name or number.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether a text has a name in it.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|other| other == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line> {
        text.lines().map(|text| Line { text: text.into(), addresses: Vec::new() }).collect()
    }

    #[test]
    fn steps_are_the_last_statements_of_bodies() {
        let step = |text: &str| find_step(&lines(text), 0, 1, "i < n").map(|(at, _, step)| (at, step));
        assert_eq!(step("    i = i + 1;"), Some((0, "i++".into())));
        assert_eq!(step("    i = i + 1;\n    v[0] = f();"), Some((0, "i++".into())));
        assert_eq!(step("    f();\n    i = i - 4;\n    x = y;"), Some((1, "i -= 4".into())));
        for other in [
            "    i = i + x;",
            "    j = j + 1;",
            "    i = i + 1;\n    x = i;",
            "    i = i + 1;\n    break;",
            "    i = i + 1;\n    f(i);",
            "    if (x)\n    {\n        i = i + 1;\n    }",
        ] {
            assert_eq!(step(other), None, "{other}");
        }
    }

    #[test]
    fn starts_are_right_before_loops() {
        let start = |text: &str| find_start(&lines(text), 1, "i");
        assert_eq!(start("    i = 0;"), Some(0));
        assert_eq!(start("    i = 0;\n    v = (float4)0.0;"), Some(0));
        assert_eq!(start("    i = 0;\n    v = f(i);"), None);
        assert_eq!(start("    i = y;\n    x = 0.0;"), Some(0));
        for other in
            ["    i = x;\n    x = 0.0;", "    i = 0;\n    x = i;", "    i = i + 1;", "    uint i = 0;"]
        {
            assert_eq!(start(other), None, "{other}");
        }
    }

    #[test]
    fn counters_are_declared_where_they_are_used() {
        let declared = |text: &str| {
            let mut lines = lines(text);
            declare_counters(&mut lines, &["i".into()]);
            lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
        };
        let text = "    uint i;\n    for (i = 0; i < n; i++)\n    {\n        x = i;\n    }";
        let expected = "    for (uint i = 0; i < n; i++)\n    {\n        x = i;\n    }";
        assert_eq!(declared(text), expected);
        let outside = format!("{text}\n    y = i;");
        assert_eq!(declared(&outside), outside);
        let precise = text.replace("uint", "precise uint");
        assert_eq!(declared(&precise), precise);
    }
}
