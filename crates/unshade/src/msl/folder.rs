//! The texts of many modules as one folder: what several of them define alike is in a header, once.
//!
//! A module's text is a sequence of definitions: structures, variables, functions. One moves to the header if several modules
//! define it in the same words, no module defines its name otherwise, and all that it names moves as well. Functions that
//! pipelines find stay where they are. Those of the header are `static inline`, so that the modules can be linked.

use super::Metal;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// The text before the definitions of a header.
const HEADER: &str = "#pragma once\n\n#include <metal_stdlib>\n\nusing namespace metal;\n";

/// What a line begins with that is no definition but the same for all that follow.
const SETTINGS: [&str; 4] = ["#include ", "#pragma ", "using ", "typedef "];

/// What the first line of a function begins with that pipelines find.
const ENTRIES: [&str; 4] = ["[[", "kernel ", "vertex ", "fragment "];

/// Modules as they are in a folder.
#[derive(Clone, Debug, Default)]
pub struct MetalFolder {
    /// The text of the header; [`None`] if nothing is shared.
    pub header: Option<String>,
    /// The texts of the modules. Those that need the header include it.
    pub modules: Vec<String>,
}

/// A definition.
struct Definition<'m> {
    name: &'m str,
    lines: Range<usize>,
    text: String,
    /// The words in it: names of what it needs, among others.
    words: HashSet<&'m str>,
    is_function: bool,
    may_move: bool,
}

/// A module as definitions.
struct Parts<'m> {
    definitions: Vec<Definition<'m>>,
    /// The lines that say how the others are read.
    settings: Vec<&'m str>,
    /// That about the mode of arithmetic.
    mode: Option<&'m str>,
}

/// Writes modules as a folder, whose header has this name.
pub fn folder(modules: &[&Metal], header: &str) -> MetalFolder {
    let parts: Vec<Parts<'_>> = modules.iter().map(|module| Parts::new(module)).collect();
    let shared = shared(&parts);
    if shared.is_empty() {
        return MetalFolder { header: None, modules: modules.iter().map(|module| module.text()).collect() };
    }
    let texts = modules.iter().zip(&parts).map(|(module, parts)| rest(module, parts, &shared, header));
    MetalFolder { modules: texts.collect(), header: Some(header_text(&parts, &shared)) }
}

/// Returns the names of the definitions that move: those of modules with the mode of arithmetic that most have.
fn shared<'m>(parts: &[Parts<'m>]) -> HashSet<&'m str> {
    let fast = parts.iter().filter(|module| module.mode.is_some()).count();
    let mode = if 2 * fast > parts.len() { parts.iter().find_map(|module| module.mode) } else { None };
    // Each name with its definition, and the number of modules that have it; 0 if some have another.
    let mut known: HashMap<&'m str, (&str, usize)> = HashMap::new();
    for module in parts {
        let mut own: HashMap<&str, usize> = HashMap::new();
        for definition in &module.definitions {
            *own.entry(definition.name).or_default() += 1;
        }
        for Definition { name, text, may_move, .. } in &module.definitions {
            let (first, count) = known.entry(name).or_insert((text, usize::MAX));
            let is_same = *may_move && own.get(name) == Some(&1) && first == text && module.mode == mode;
            *count = match *count {
                usize::MAX if is_same => 1,
                0 | usize::MAX => 0,
                count => {
                    if is_same {
                        count + 1
                    } else {
                        0
                    }
                }
            };
        }
    }
    let mut shared: HashSet<&str> = known.iter().filter(|row| row.1.1 > 1).map(|row| *row.0).collect();
    // What needs something that stays stays as well.
    loop {
        let before = shared.len();
        for module in parts {
            let names: HashSet<&str> = module.definitions.iter().map(|definition| definition.name).collect();
            for definition in &module.definitions {
                let stays = |word: &&str| names.contains(word) && !shared.contains(word);
                if shared.contains(definition.name) && definition.words.iter().any(stays) {
                    shared.remove(definition.name);
                }
            }
        }
        if shared.len() == before {
            return shared;
        }
    }
}

/// Returns the header: each definition after those that it needs, as it is in the module where it is first.
fn header_text(parts: &[Parts<'_>], shared: &HashSet<&str>) -> String {
    let mut text = HEADER.to_owned();
    let mut settings = BTreeSet::new();
    let mut done = HashSet::new();
    let mut body = String::new();
    for module in parts {
        for definition in &module.definitions {
            if shared.contains(definition.name) && done.insert(definition.name) {
                settings.extend(module.settings.iter().filter(|line| !HEADER.contains(**line)));
                body.push('\n');
                body.push_str(if definition.is_function { "static inline " } else { "" });
                body.push_str(&definition.text);
            }
        }
    }
    if !settings.is_empty() {
        text.push('\n');
    }
    for line in settings {
        text.push_str(line);
        text.push('\n');
    }
    text + &body
}

/// Returns a module without the definitions that moved.
fn rest(module: &Metal, parts: &Parts<'_>, shared: &HashSet<&str>, header: &str) -> String {
    let moved: Vec<&Definition<'_>> =
        parts.definitions.iter().filter(|definition| shared.contains(definition.name)).collect();
    if moved.is_empty() {
        return module.text();
    }
    let mut is_left = vec![false; module.lines.len()];
    for definition in moved {
        is_left.get_mut(definition.lines.clone()).into_iter().flatten().for_each(|is_left| *is_left = true);
    }
    // The header is read with the settings of the module.
    let last = module.lines.iter().rposition(|line| is_setting(&line.text));
    let mut text = String::new();
    for (index, line) in module.lines.iter().enumerate() {
        let is_second_empty = line.text.is_empty() && text.ends_with("\n\n");
        if !is_left.get(index).is_some_and(|is_left| *is_left) && !is_second_empty {
            text.push_str(&line.text);
            text.push('\n');
        }
        if last == Some(index) {
            text.push_str(&format!("\n#include \"{header}\"\n"));
        }
    }
    text
}

fn is_setting(line: &str) -> bool {
    SETTINGS.iter().any(|start| line.starts_with(start))
}

impl<'m> Parts<'m> {
    fn new(module: &'m Metal) -> Self {
        let mut parts = Self { definitions: Vec::new(), settings: Vec::new(), mode: None };
        let mut functions = module.functions.iter().peekable();
        let mut index = 0;
        while let Some(line) = module.lines.get(index) {
            let text = line.text.as_str();
            let end = match functions.peek() {
                Some(function) if function.lines.start == index => {
                    let end = function.lines.end;
                    functions.next();
                    parts.define(module, index..end, !is_entry(text), true);
                    end
                }
                _ if text.starts_with("struct ") => {
                    let lines = module.lines.iter().skip(index);
                    let length = lines.take_while(|line| !line.text.starts_with('}')).count() + 1;
                    parts.define(module, index..index + length, true, false);
                    index + length
                }
                _ if is_setting(text) => {
                    parts.settings.push(text);
                    parts.mode = parts.mode.or(text.starts_with("#pragma").then_some(text));
                    index + 1
                }
                _ if text.ends_with(';') => {
                    parts.define(module, index..index + 1, true, false);
                    index + 1
                }
                _ => index + 1,
            };
            index = end.max(index + 1);
        }
        parts
    }

    fn define(&mut self, module: &'m Metal, lines: Range<usize>, may_move: bool, is_function: bool) {
        let Some(found) = module.lines.get(lines.clone()) else { return };
        let text: String = found.iter().map(|line| format!("{}\n", line.text)).collect();
        let words: HashSet<&str> = found.iter().flat_map(|line| words(&line.text)).collect();
        let Some(name) = found.first().and_then(|line| defined(&line.text)) else { return };
        self.definitions.push(Definition { name, lines, text, words, is_function, may_move });
    }
}

/// Returns whether a function is one that pipelines find, by its first line: its structure of inputs, attributes, or kind.
fn is_entry(line: &str) -> bool {
    line.starts_with("struct ") || ENTRIES.iter().any(|start| line.starts_with(start))
}

/// Returns the name that the first line of a definition defines: what `(`, `[`, `=`, `{` or `;` follows, or the end.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start_matches("struct ");
    let end = line.find(['(', '[', '=', '{', ';']).unwrap_or(line.len());
    words(line.get(..end)?).last()
}

/// Returns the words of a text.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_decompile::Line;
    use unshade_decompile::metal::PrintedFunction;

    /// Returns a module of this text, whose functions begin where a line that begins with a letter has a `(`.
    fn module(text: &str) -> Metal {
        let text = format!("#include <metal_stdlib>\n\nusing namespace metal;\n\n{text}");
        let lines: Vec<Line> =
            text.lines().map(|text| Line { text: text.to_owned(), addresses: Vec::new() }).collect();
        let is_start = |line: &Line| line.text.contains('(') && !line.text.ends_with(';');
        let starts = (0..).zip(&lines).filter(|(_, line)| is_start(line)).map(|(index, _)| index);
        let functions = starts.map(|start: usize| PrintedFunction {
            number: 0,
            name: String::new(),
            lines: start..start + lines[start..].iter().position(|line| line.text == "}").unwrap() + 1,
            unknown: 0,
        });
        Metal { functions: functions.collect(), lines, ..Metal::default() }
    }

    const HELPERS: &str = "struct Pair\n{\n    float a;\n};\n\nconstant float table[2] = { 1, 2 };\n\n\
                           float twice(Pair p)\n{\n    return table[0] * p.a;\n}\n\n";

    #[test]
    fn what_is_the_same_moves_to_the_header() {
        let one = module(&format!("{HELPERS}kernel void one()\n{{\n    twice(Pair{{1}});\n}}\n"));
        let two = module(&format!("{HELPERS}kernel void two()\n{{\n    twice(Pair{{2}});\n}}\n"));
        let MetalFolder { header, modules } = folder(&[&one, &two], "shared.h");
        assert_eq!(
            header.unwrap(),
            "#pragma once\n\n#include <metal_stdlib>\n\nusing namespace metal;\n\n\
             struct Pair\n{\n    float a;\n};\n\nconstant float table[2] = { 1, 2 };\n\n\
             static inline float twice(Pair p)\n{\n    return table[0] * p.a;\n}\n"
        );
        assert_eq!(
            modules[0],
            "#include <metal_stdlib>\n\nusing namespace metal;\n\n#include \"shared.h\"\n\n\
             kernel void one()\n{\n    twice(Pair{1});\n}\n"
        );
    }

    #[test]
    fn what_differs_stays_with_all_that_needs_it() {
        let other = HELPERS.replace("float a", "half a");
        let one = module(&format!("{HELPERS}kernel void one()\n{{\n}}\n"));
        let two = module(&format!("{other}kernel void two()\n{{\n}}\n"));
        let MetalFolder { header, modules } = folder(&[&one, &two], "shared.h");
        let header = header.unwrap();
        assert!(
            header.contains("table") && !header.contains("Pair") && !header.contains("twice"),
            "{header}"
        );
        assert!(modules.iter().all(|text| text.contains("struct Pair") && text.contains("float twice")));

        let fast = module(&format!("#pragma METAL fp math_mode(fast)\n\n{HELPERS}"));
        let texts = folder(&[&one, &fast], "shared.h");
        assert_eq!((texts.header, &texts.modules[0]), (None, &one.text()));
    }

    #[test]
    fn entry_points_and_names_of_two_things_stay() {
        let text = "kernel void one()\n{\n}\n\nfloat f(int a)\n{\n}\n\nfloat f(float a)\n{\n}\n";
        let (one, two) = (module(text), module(text));
        assert_eq!(folder(&[&one, &two], "shared.h").header, None);
    }
}
