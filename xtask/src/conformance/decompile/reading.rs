//! Measures of the decompiled text: comments in place of statements, dispatch loops.

use std::collections::BTreeMap;

use unshade::decompiler::Line;

/// Counts the causes of comments that stand for instructions.
pub(super) fn causes(lines: &[Line]) -> BTreeMap<String, usize> {
    let mut causes = BTreeMap::new();
    for line in lines {
        let Some((_, rest)) = line.text.split_once("/* ") else { continue };
        let Some((note, _)) = rest.split_once(" */") else { continue };
        *causes.entry(cause(note)).or_default() += 1;
    }
    causes
}

/// Returns the operation in an instruction's text, without guard, operands and modifiers; for calls including the
/// callee.
fn cause(note: &str) -> String {
    let mut words = note.split_whitespace();
    let Some(mut first) = words.next() else { return String::new() };
    if first.starts_with('@') {
        first = words.next().unwrap_or("");
    }
    if !first.starts_with(|c: char| c.is_ascii_uppercase()) || first.chars().any(|c| c.is_ascii_lowercase()) {
        return String::from(note);
    }
    let name = first.split('.').next().unwrap_or(first).trim_end_matches(';');
    if name.ends_with("CAL") || name == "S2R" { String::from(note) } else { String::from(name) }
}

/// Returns a compiler's message without the parts that differ between functions.
pub(super) fn shape(said: &str) -> String {
    let said = said.split_once("error: ").map_or(said, |parts| parts.1);
    let mut shape = String::new();
    let mut in_number = false;
    for c in said.chars() {
        if c.is_ascii_digit() {
            if !in_number {
                shape.push('N');
            }
            in_number = true;
        } else {
            in_number = false;
            shape.push(c);
        }
    }
    shape.chars().take(120).collect()
}

/// Counts endless loops that only dispatch on a variable which they set to constants: the fallback for control flow
/// that could not be structured.
pub(super) fn dispatch_loops(lines: &[Line]) -> usize {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let mut count = 0;
    for (at, line) in lines.iter().enumerate() {
        let head = line.text.trim_start();
        if !head.starts_with("for (;;) {") && !head.starts_with("while (") {
            continue;
        }
        let Some(inner) = lines.get(at + 1) else { continue };
        let Some(selector) = inner.text.trim().strip_prefix("switch (") else { continue };
        let selector = selector.trim_end_matches(") {");
        let depth = indent(&line.text);
        let body = lines[at + 2..].iter().take_while(|line| indent(&line.text) > depth);
        let set = |line: &Line| {
            let rest = line.text.trim().strip_prefix(selector)?.strip_prefix(" = ")?.strip_suffix(';')?;
            rest.parse::<u64>().ok()
        };
        count += usize::from(body.filter_map(set).count() > 1);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line> {
        text.lines().map(|line| Line { text: String::from(line), addresses: Vec::new() }).collect()
    }

    #[test]
    fn comments_are_counted_by_operation() {
        let text = "u1 = 0; /* @!P0 SULDGA.B.32 R0, [R2]; */\n/* SULDGA R1; */\n/* calls itself */\nx = 1;";
        let causes = causes(&lines(text));
        assert_eq!(causes.get("SULDGA"), Some(&2));
        assert_eq!(causes.get("calls itself"), Some(&1));
    }

    #[test]
    fn loops_that_dispatch() {
        let text = "for (;;) {\n    switch (s) {\n    case 0:\n        s = 1;\n        break;\n    case 1:\n        s = 2;\n    }\n}";
        assert_eq!(dispatch_loops(&lines(text)), 1);
        assert_eq!(dispatch_loops(&lines(&text.replace("s = 2", "f(s)"))), 0);
    }
}
