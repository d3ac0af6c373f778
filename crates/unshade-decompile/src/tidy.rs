//! Shortens the text of a function as people would.
//!
//! | before | after |
//! |---|---|
//! | `uint v0 = i * 3;`, and nothing reads it | nothing |
//! | `float4 v0 = a + b;`, `return v0;` | `return a + b;` |
//! | `float v0 = a + b;`, `return (float4)v0;` | `return (float4)(a + b);` |
//! | `uint v0 = a + b;`, `T element = buffer[v0];` | `T element = buffer[a + b];` |
//! | `float4 v0 = a + b;`, `output.position = v0;` | `output.position = a + b;` |
//! | `i = i + 1;`, `x = x * y;` | `i++;`, `x *= y;` |
//!
//! Names are unique in a function. Values that nothing reads were computed for indices, which members of arrays took apart.

use crate::Line;
use crate::counted::is_word;
use crate::ir::hash::FastMap;
use std::collections::BTreeSet;

/// How often each name is in the text of a function.
struct Words(FastMap<String, usize>);

impl Words {
    fn of(lines: &[Line]) -> Self {
        let mut words = Self(FastMap::default());
        for word in lines.iter().flat_map(|line| words_of(&line.text)) {
            *words.0.entry(word.to_owned()).or_default() += 1;
        }
        words
    }

    fn count(&self, word: &str) -> usize {
        self.0.get(word).copied().unwrap_or(0)
    }

    fn remove(&mut self, text: &str) {
        for word in words_of(text) {
            if let Some(count) = self.0.get_mut(word) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// Shortens the text of a function. Values that have no effects are those of the variables `pure`.
pub(crate) fn run(lines: &mut Vec<Line>, pure: &BTreeSet<String>) {
    let mut words = Words::of(lines);
    remove_unread(lines, pure, &mut words);
    inline_last_names(lines, &words);
    shorten_steps(lines);
}

/// Removes the declarations of variables that nothing reads.
fn remove_unread(lines: &mut Vec<Line>, pure: &BTreeSet<String>, words: &mut Words) {
    let mut kept = Vec::with_capacity(lines.len());
    // What only they read was declared before them.
    for line in lines.drain(..).rev() {
        let name = declaration(line.text.trim_start()).map(|(_, name, _)| name);
        if name.is_some_and(|name| pure.contains(name) && words.count(name) == 1) {
            words.remove(&line.text);
        } else {
            kept.push(line);
        }
    }
    kept.reverse();
    *lines = kept;
}

/// Writes values at once that have a name only for the statement after them, which is the name and nothing else.
fn inline_last_names(lines: &mut Vec<Line>, words: &Words) {
    let mut result: Vec<Line> = Vec::with_capacity(lines.len());
    for mut line in lines.drain(..) {
        if let Some(text) = result.last().and_then(|declared| joined(&declared.text, &line.text, words))
            && let Some(declared) = result.pop()
        {
            line.text = text;
            line.addresses.extend(declared.addresses);
            line.addresses.sort_unstable();
            line.addresses.dedup();
        }
        result.push(line);
    }
    *lines = result;
}

/// Returns a statement with the value that the line before it declares.
fn joined(declared: &str, next: &str, words: &Words) -> Option<String> {
    let (_, name, value) = declaration(declared.trim_start())?;
    if words.count(name) != 2 {
        return None;
    }
    // The index of an element that is copied whole.
    if let Some(object) = next.strip_suffix(&format!("[{name}];"))
        && object.trim_start().split_once(" = ").is_some_and(|(copy, _)| copy.split(' ').all(is_word))
    {
        return Some(format!("{object}[{value}];"));
    }
    let target = next.strip_suffix(';')?.strip_suffix(name)?;
    // A number in all lanes, which counts as several uses.
    let (target, cast) = match target.rfind('(') {
        Some(at) if target.ends_with(')') && is_word(&target[at + 1..target.len() - 1]) => {
            target.split_at(at)
        }
        _ => (target, ""),
    };
    let is_whole = target.trim_start() == "return "
        || target.strip_suffix(" = ").is_some_and(|target| target.trim_start().starts_with("output."));
    let is_bare = cast.is_empty() || is_operand(value);
    let value = if is_bare { value.to_owned() } else { format!("({value})") };
    is_whole.then(|| format!("{target}{cast}{value};"))
}

/// Writes `x = x + y` as `x += y`, where `y` is one operand.
pub(crate) fn shorten_steps(lines: &mut [Line]) {
    for line in lines {
        let statement = line.text.trim_start();
        if let Some(text) = step(statement) {
            let indent = line.text.len() - statement.len();
            line.text.truncate(indent);
            line.text.push_str(&text);
        }
    }
}

fn step(statement: &str) -> Option<String> {
    let (target, value) = statement.strip_suffix(';')?.split_once(" = ")?;
    let rest = value.strip_prefix(target)?.strip_prefix(' ')?;
    let (operator, operand) = rest.split_once(' ')?;
    let is_place = target.split('.').all(is_word);
    if !is_place || !matches!(operator, "+" | "-" | "*" | "/" | "&" | "|" | "^") || !is_operand(operand) {
        return None;
    }
    Some(match (operator, operand) {
        ("+", "1") => format!("{target}++;"),
        ("-", "1") => format!("{target}--;"),
        _ => format!("{target} {operator}= {operand};"),
    })
}

/// Returns whether a text has no operator outside of brackets.
fn is_operand(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().all(|letter| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => return false,
            _ => {}
        }
        true
    })
}

/// Returns the type, name and value of `float4 v0 = a + b;`.
fn declaration(statement: &str) -> Option<(&str, &str, &str)> {
    let (declared, value) = statement.strip_suffix(';')?.split_once(" = ")?;
    let (ty, name) = declared.split_once(' ')?;
    (is_word(ty) && is_word(name)).then_some((ty, name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line> {
        text.lines().map(|text| Line { text: text.into(), addresses: Vec::new() }).collect()
    }

    fn text(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn names_that_nothing_reads_are_gone() {
        let mut all =
            lines("uint a = i * 3;\nuint b = a + 1;\nuint c = buffer.IncrementCounter();\nreturn d;");
        let mut words = Words::of(&all);
        remove_unread(&mut all, &["a", "b"].map(str::to_owned).into(), &mut words);
        assert_eq!(text(&all), ["uint c = buffer.IncrementCounter();", "return d;"]);
    }

    #[test]
    fn names_for_one_statement_are_gone() {
        let mut all = lines("    float4 v = a + b;\n    output.p = v;\n    float4 w = c;\n    return w;");
        let words = Words::of(&all);
        inline_last_names(&mut all, &words);
        assert_eq!(text(&all), ["    output.p = a + b;", "    return c;"]);
        let mut all = lines("    uint v = a + b;\n    E element = buffer[v];");
        let words = Words::of(&all);
        inline_last_names(&mut all, &words);
        assert_eq!(text(&all), ["    E element = buffer[a + b];"]);
        let mut all = lines("    float v = a + b;\n    return (float4)v;");
        let words = Words::of(&all);
        inline_last_names(&mut all, &words);
        assert_eq!(text(&all), ["    return (float4)(a + b);"]);
        for kept in [
            "float4 v = a;\noutput.p = v.x;",
            "float4 v = a;\noutput.p = v;\noutput.q = v;",
            "precise float4 v = a;\nreturn v;",
            "float4 v = a;\nbuffer[0] = v;",
        ] {
            let mut all = lines(kept);
            let words = Words::of(&all);
            inline_last_names(&mut all, &words);
            assert_eq!(all, lines(kept));
        }
    }

    #[test]
    fn steps_are_short() {
        for (before, after) in [
            ("  i = i + 1;", "  i++;"),
            ("n = n - 1;", "n--;"),
            ("v.x = v.x * f(a + b);", "v.x *= f(a + b);"),
            ("x = x + a - b;", "x = x + a - b;"),
            ("x = x - a * b;", "x = x - a * b;"),
            ("x[i = 1] = x[i] + 1;", "x[i = 1] = x[i] + 1;"),
            ("x = x2 + 1;", "x = x2 + 1;"),
            ("x = x << 1;", "x = x << 1;"),
        ] {
            let mut all = lines(before);
            shorten_steps(&mut all);
            assert_eq!(text(&all), [after]);
        }
    }
}
