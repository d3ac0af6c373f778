//! Root signatures, and the state objects of libraries.

use super::names::Names;
use crate::ir::shader::interface::{ShaderProgram, StateObject, StateValue};

/// Maximum number of characters of a root signature on one line.
const ONE_LINE: usize = 80;

/// Returns the lines of a root signature: text before it, its clauses as strings, text after it.
pub(super) fn root_signature(before: &str, clauses: &[String], after: &str) -> Vec<String> {
    let one = clauses.join(", ");
    if one.len() <= ONE_LINE {
        return vec![format!("{before}\"{one}\"{after}")];
    }
    let mut lines = vec![before.to_owned()];
    for (index, clause) in clauses.iter().enumerate() {
        let end = if index + 1 == clauses.len() { format!("\"{after}") } else { ", \"".into() };
        lines.push(format!("    \"{clause}{end}"));
    }
    lines
}

/// Declares the state objects of a library. A name that can't be kept is added to `unknown`: others refer to it.
pub(super) fn declare(program: &ShaderProgram, names: &mut Names, unknown: &mut Vec<String>) -> Vec<String> {
    let mut lines = Vec::new();
    for object in &program.state_objects {
        let name = names.take(&object.name);
        if name != object.name {
            unknown.push(format!("the name of the state object {}", object.name.escape_debug()));
        }
        lines.extend(declared(object, &name));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn declared(object: &StateObject, name: &str) -> Vec<String> {
    let start = format!("{} {name} = {{ ", object.ty);
    if let [StateValue::RootSignature(clauses)] = &object.values[..] {
        return root_signature(&start, clauses, " };")
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect();
    }
    let values: Vec<String> = object.values.iter().map(value).collect();
    vec![format!("{start}{} }};", values.join(", "))]
}

fn value(value: &StateValue) -> String {
    match value {
        StateValue::Number(number) => number.to_string(),
        StateValue::Flags(flags) if flags.is_empty() => "0".into(),
        StateValue::Flags(flags) => flags.join(" | "),
        StateValue::Names(names) => quoted(&names.join(";")),
        StateValue::RootSignature(clauses) => quoted(&clauses.join(", ")),
    }
}

/// Returns a string literal. Names come from a file, and may hold anything.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push('?'),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_root_signatures_have_a_line_per_clause() {
        let clauses: Vec<String> = (0..9).map(|number| format!("CBV(b{number}, space = 1)")).collect();
        let lines = root_signature("[RootSignature(", &clauses, ")]");
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[1], "    \"CBV(b0, space = 1), \"");
        assert_eq!(lines[9], "    \"CBV(b8, space = 1)\")]");
        assert_eq!(root_signature("[RootSignature(", &[], ")]"), ["[RootSignature(\"\")]"]);
    }

    #[test]
    fn names_are_literals() {
        assert_eq!(quoted("a\"b\\\n"), "\"a\\\"b\\\\?\"");
    }
}
