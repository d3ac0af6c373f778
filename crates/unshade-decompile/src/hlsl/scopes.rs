//! Declares variables where they are set first.
//!
//! | before | after |
//! |---|---|
//! | `float v0;` at the top, `v0 = 0.0;` before a loop | `float v0 = 0.0;` before the loop |
//! | `float4 target;`, `target = v2; return target;` in several places | `return v2;` |
//!
//! This works on lines, after the body is printed: names are unique in a function, and the indent of a line says in which
//! scope it is. The first use of a variable must be an assignment, and all others must be after it in the same scope.

use crate::Line;
use crate::counted::{has_word, is_word};
use crate::ir::hash::FastMap;
use std::collections::BTreeSet;

/// Moves the declarations of variables to the top where their uses are not all in the scope of `Type name = value;`.
pub(super) fn declare_outside(lines: &mut Vec<Line>, names: &BTreeSet<String>) {
    let Some(start) = lines.iter().position(|line| line.text == "{") else { return };
    for name in names {
        let uses: Vec<usize> = (0..lines.len()).filter(|at| has_word(&lines[*at].text, name)).collect();
        let (Some(&first), Some(&last)) = (uses.first(), uses.last()) else { continue };
        if is_one_scope(&lines[first..=last]) && !is_in_case(lines, first) {
            continue;
        }
        let (blank, text) = lines[first].text.split_at(indent(&lines[first]));
        let Some((ty, set)) = text.split_once(' ') else { continue };
        if set.starts_with(&format!("{name} = ")) {
            let declaration = format!("    {ty} {name};");
            lines[first].text = format!("{blank}{set}");
            lines.insert(start + 1, Line { text: declaration, addresses: Vec::new() });
        }
    }
}

/// Moves declarations at the top of a function to the lines that set the variables first.
pub(super) fn declare_where_set(lines: &mut Vec<Line>) {
    let Some(start) = lines.iter().position(|line| line.text == "{") else { return };
    let declared: Vec<(usize, String)> = lines[start + 1..]
        .iter()
        .take_while(|line| !line.text.contains(['=', '(', '{']))
        .enumerate()
        .filter_map(|(at, line)| Some((start + 1 + at, declaration(&line.text)?.1.to_owned())))
        .collect();
    if declared.is_empty() {
        return;
    }
    let uses = uses(lines, &declared);
    let mut gone = Vec::new();
    for (at, name) in &declared {
        let Some(&[first, .., last] | &[first @ last]) = uses.get(name.as_str()).map(Vec::as_slice) else {
            continue;
        };
        if !is_first_set(&lines[first].text, name)
            || !is_one_scope(&lines[first..=last])
            || is_in_case(lines, first)
        {
            continue;
        }
        let Some((ty, _)) = declaration(&lines[*at].text) else { continue };
        let (blank, text) = lines[first].text.split_at(indent(&lines[first]));
        lines[first].text = format!("{blank}{ty} {text}");
        gone.push(*at);
    }
    for at in gone.into_iter().rev() {
        lines.remove(at);
    }
}

/// Returns the lines after the declarations that have each of the names.
fn uses<'n>(lines: &[Line], declared: &'n [(usize, String)]) -> FastMap<&'n str, Vec<usize>> {
    let mut found: FastMap<&str, Vec<usize>> =
        declared.iter().map(|(_, name)| (name.as_str(), Vec::new())).collect();
    let after = declared.last().map_or(0, |last| last.0 + 1);
    for (at, line) in lines.iter().enumerate().skip(after) {
        for word in line.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if let Some(list) = found.get_mut(word)
                && list.last() != Some(&at)
            {
                list.push(at);
            }
        }
    }
    found
}

/// Returns the type, with `precise`, and the name of `    precise float4 v0;`.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let (ty, name) = line.strip_prefix("    ")?.strip_suffix(';')?.rsplit_once(' ')?;
    let plain = ty.strip_prefix("precise ").unwrap_or(ty);
    (is_word(plain) && is_word(name) && plain != "return").then_some((ty, name))
}

/// Returns whether a line sets all of a variable, and does not read it.
fn is_first_set(line: &str, name: &str) -> bool {
    let value = line.trim_start().strip_prefix(name).and_then(|rest| rest.strip_prefix(" = "));
    value.is_some_and(|value| value.ends_with(';') && !has_word(value, name))
}

fn indent(line: &Line) -> usize {
    line.text.len() - line.text.trim_start().len()
}

/// Returns whether a line is directly in a case. Cases share a scope, and the others would jump across a declaration.
fn is_in_case(lines: &[Line], at: usize) -> bool {
    let inner = indent(&lines[at]);
    let head = lines[..at].iter().rev().find(|line| indent(line) < inner && !line.text.is_empty());
    head.is_some_and(|line| line.text.ends_with(':'))
}

/// Returns whether lines are in the scope of the first one, or in scopes inside of it.
fn is_one_scope(lines: &[Line]) -> bool {
    let Some(outer) = lines.first().map(indent) else { return false };
    // What follows `if` without braces would be a scope of its own; the printer always writes braces.
    lines.iter().all(|line| indent(line) >= outer)
}

/// Returns results at once that are only set on lines before returns.
pub(super) fn return_at_once(lines: &mut Vec<Line>) {
    let result = lines.iter().rev().find_map(|line| returned(&line.text)).map(str::to_owned);
    let Some(name) = result else { return };
    let uses: Vec<usize> = (0..lines.len()).filter(|at| has_word(&lines[*at].text, &name)).collect();
    let [at, pairs @ ..] = uses.as_slice() else { return };
    if declaration(&lines[*at].text).is_none_or(|(_, declared)| declared != name) || pairs.is_empty() {
        return;
    }
    let is_pair = |pair: &[usize]| {
        let &[set, back] = pair else { return false };
        back == set + 1
            && indent(&lines[set]) == indent(&lines[back])
            && is_first_set(&lines[set].text, &name)
            && returned(&lines[back].text) == Some(&name)
    };
    if !pairs.chunks(2).all(is_pair) {
        return;
    }
    let mut gone = vec![*at];
    for pair in pairs.chunks(2) {
        let &[set, back] = pair else { continue };
        lines[set].text = lines[set].text.replacen(&format!("{name} = "), "return ", 1);
        gone.push(back);
    }
    gone.sort_unstable();
    for at in gone.into_iter().rev() {
        lines.remove(at);
    }
}

/// Returns the name that a line returns.
fn returned(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("return ")?.strip_suffix(';').filter(|name| is_word(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, change: fn(&mut Vec<Line>)) -> String {
        let mut lines: Vec<Line> =
            text.lines().map(|text| Line { text: text.into(), addresses: Vec::new() }).collect();
        change(&mut lines);
        lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn variables_are_declared_where_they_are_set() {
        let text = "{\n    float a;\n    precise float b;\n    a = 0.0;\n    while (x)\n    {\n        b = a;\n        a = b;\n    }\n}";
        let expected = "{\n    float a = 0.0;\n    while (x)\n    {\n        precise float b = a;\n        a = b;\n    }\n}";
        assert_eq!(changed(text, declare_where_set), expected);
    }

    #[test]
    fn variables_that_are_used_outside_are_declared_outside() {
        let outside = |lines: &mut Vec<Line>| declare_outside(lines, &["e".to_owned()].into());
        let text = "{\n    if (x)\n    {\n        E e = b[0];\n    }\n    a = e.x;\n}";
        let expected = "{\n    E e;\n    if (x)\n    {\n        e = b[0];\n    }\n    a = e.x;\n}";
        assert_eq!(changed(text, outside), expected);
        let inside = "{\n    E e = b[0];\n    if (x)\n    {\n        a = e.x;\n    }\n}";
        assert_eq!(changed(inside, outside), inside);
    }

    #[test]
    fn variables_of_several_scopes_stay() {
        for kept in [
            "{\n    float a;\n    if (x)\n    {\n        a = 0.0;\n    }\n    b = a;\n}",
            "{\n    float a;\n    if (x)\n    {\n        a = 0.0;\n    }\n    else\n    {\n        a = 1.0;\n    }\n}",
            "{\n    float a;\n    switch (x)\n    {\n    case 0:\n        a = 0.0;\n    case 1:\n        b = a;\n    }\n}",
            "{\n    float a;\n    switch (x)\n    {\n    case 0:\n        a = 0.0;\n        b = a;\n    }\n}",
            "{\n    float4 a;\n    a.x = 0.0;\n    a = b;\n}",
            "{\n    float4 a;\n    a = a * 2.0;\n}",
            "{\n    float a;\n    do\n    {\n        a = b;\n    } while (a < 1.0);\n}",
            "{\n    float a[4];\n    a[0] = b;\n}",
        ] {
            assert_eq!(changed(kept, declare_where_set), kept);
        }
    }

    #[test]
    fn results_are_returned_at_once() {
        let text = "{\n    float a;\n    if (x)\n    {\n        a = 1.0;\n        return a;\n    }\n    a = b;\n    return a;\n}";
        let expected = "{\n    if (x)\n    {\n        return 1.0;\n    }\n    return b;\n}";
        assert_eq!(changed(text, return_at_once), expected);
        for kept in [
            "{\n    float a;\n    a = 1.0;\n    f(a);\n    return a;\n}",
            "{\n    float a;\n    if (x)\n    {\n        a = 1.0;\n    }\n    return a;\n}",
            "{\n    float a = 1.0;\n    return a;\n}",
        ] {
            assert_eq!(changed(kept, return_at_once), kept);
        }
    }
}
