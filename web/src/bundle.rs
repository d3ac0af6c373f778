//! Joins modules to one script.
//!
//! Each module becomes a function that returns its exports, after the modules that it imports. The modules use a few
//! forms of imports and exports only, each in a line of its own; any other form is an error.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Returns a module and all that it imports as one script. `read` returns the text of a module.
///
/// # Errors
/// A module is missing, modules import each other in a cycle, or one has an import or export of an unknown form. The error is
/// a sentence without a full stop.
pub fn bundle(first: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut bundle = Bundle { read, done: BTreeSet::new(), open: Vec::new(), script: String::new() };
    bundle.add(first)?;
    Ok(bundle.script)
}

struct Bundle<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    done: BTreeSet<String>,
    /// The modules that are being added, each imported by the one before.
    open: Vec<String>,
    script: String,
}

impl Bundle<'_> {
    /// Appends a module after those that it imports.
    fn add(&mut self, name: &str) -> Result<(), String> {
        if self.done.contains(name) {
            return Ok(());
        }
        if self.open.iter().any(|other| other == name) {
            return Err(format!("{name} imports itself, by way of {}", self.open.join(", ")));
        }
        let text = (self.read)(name).ok_or_else(|| format!("the page has no file {name}"))?;
        self.open.push(name.to_owned());
        let (mut body, mut exports) = (String::new(), Vec::new());
        for line in text.lines() {
            if let Some((names, from)) = import(line) {
                self.add(from)?;
                body += &format!("const {{{names}}} = {};\n", variable(from));
            } else if line.starts_with("import ") {
                return Err(format!("{name} has an import of an unknown form: {line}"));
            } else if let Some(rest) = line.strip_prefix("export ") {
                if let Some(names) = rest.strip_prefix("{ ").and_then(|rest| rest.strip_suffix(" };")) {
                    exports.extend(names.split(", ").map(property));
                } else {
                    let export = exported(rest)
                        .ok_or_else(|| format!("{name} has an export of an unknown form: {line}"))?;
                    exports.push(export.to_owned());
                    body += &format!("{rest}\n");
                }
            } else {
                body += &format!("{line}\n");
            }
        }
        self.script += &format!(
            "const {} = (() => {{\n{body}return {{ {} }};\n}})();\n",
            variable(name),
            exports.join(", ")
        );
        self.open.pop();
        self.done.insert(name.to_owned());
        Ok(())
    }
}

/// Returns the names as a pattern, and the file, of `import { names } from './file';` and `import name, { names } from …`.
fn import(line: &str) -> Option<(String, &str)> {
    let (what, from) = line.strip_prefix("import ")?.split_once(" from './")?;
    let from = from.strip_suffix("';")?;
    let (default, names) = what.split_once('{')?;
    let names = names.trim().trim_end_matches('}').trim().replace(" as ", ": ");
    let default = default.trim().trim_end_matches(',');
    Some((if default.is_empty() { names } else { format!("default: {default}, {names}") }, from))
}

/// Returns the property of an export `value as name`, or `name`.
fn property(export: &str) -> String {
    match export.split_once(" as ") {
        Some((value, name)) => format!("{name}: {value}"),
        None => export.to_owned(),
    }
}

/// Returns the exported name of a line that begins with `export`.
fn exported(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let name = ["function ", "class ", "const "].iter().find_map(|word| rest.strip_prefix(word))?;
    name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
}

/// Returns the variable that holds a module's exports.
fn variable(module: &str) -> String {
    format!("of_{}", module.trim_end_matches(".js"))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::bundle;
    use alloc::borrow::ToOwned as _;
    use alloc::string::String;

    fn text(name: &str) -> Option<String> {
        crate::file(name).map(|file| String::from_utf8_lossy(file.bytes).into_owned())
    }

    #[test]
    fn modules_are_joined_in_order() {
        let script = bundle("app.js", &text).unwrap();
        assert!(!script.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
        let place = |module: &str| script.find(&alloc::format!("const of_{module} = (")).unwrap();
        assert!(place("dom") < place("rows") && place("rows") < place("app"));
        assert!(script.contains("\nconst {rangesOf, textOf} = of_listing;\n"));
    }

    #[test]
    fn forms_of_imports_and_exports() {
        let read = |name: &str| match name {
            "a.js" => Some("import init, { one as two } from './b.js';\nexport const three = 3;".to_owned()),
            "b.js" => Some("const x = 1;\nexport { one, x as default };".to_owned()),
            "c.js" => Some("import * as all from './b.js';".to_owned()),
            "d.js" => Some("import { d } from './d.js';".to_owned()),
            _ => None,
        };
        let script = bundle("a.js", &read).unwrap();
        assert!(script.contains("const {default: init, one: two} = of_b;"), "{script}");
        assert!(script.contains("return { one, default: x };"), "{script}");
        assert!(bundle("c.js", &read).unwrap_err().contains("unknown form"));
        assert!(bundle("d.js", &read).unwrap_err().contains("imports itself"));
        assert!(bundle("e.js", &read).unwrap_err().contains("no file"));
    }
}
