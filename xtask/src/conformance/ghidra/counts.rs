//! Counts how much of a decompiled text is left to its reader.
//!
//! | column | counted |
//! |---|---|
//! | lines | lines with anything but blanks, at most 120 columns wide |
//! | casts | types in parentheses before an operand |
//! | gotos | `goto` |
//! | unknowns of Ghidra | types `undefined…`; calls of p-code operators, such as `CONCAT44`; calls of the module's functions, such as `shuffle`; comments that begin with WARNING |
//! | unknowns of ours | calls of functions that the text has to define; comments in place of instructions |

use unshade::decompiler::Decompiled;
use unshade::sass::semantics::table::Function;

/// P-code operators in Ghidra's C; a number of bytes follows some.
const OPERATORS: [&str; 9] =
    ["CONCAT", "SUB", "ZEXT", "SEXT", "CARRY", "SCARRY", "SBORROW", "POPCOUNT", "LZCOUNT"];

/// Words of types in casts, apart from `undefined…`.
const TYPES: [&str; 18] = [
    "void", "bool", "char", "short", "int", "long", "unsigned", "signed", "float", "double", "uchar",
    "ushort", "uint", "ulong", "code", "const", "volatile", "struct",
];

/// The heading of the table.
pub(super) const HEADING: &str = "\
| kernel | lines: Ghidra | ours | casts: Ghidra | ours | gotos: Ghidra | ours | unknowns: Ghidra | ours |
|---|--:|--:|--:|--:|--:|--:|--:|--:|";

/// The counts of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) lines: usize,
    casts: usize,
    gotos: usize,
    unknowns: usize,
}

impl Counts {
    /// Counts Ghidra's text, with the functions of the module.
    pub(super) fn of_ghidra(text: &str, functions: &[Function]) -> Self {
        let is_unknown = |word: &Word<'_>| {
            let operator = word.text.trim_end_matches(|c: char| c.is_ascii_digit());
            let is_called = word.next == Some('(');
            word.text.starts_with("undefined")
                || word.text == "WARNING"
                || is_called && OPERATORS.contains(&operator)
                || is_called && functions.iter().any(|function| function.name == word.text)
        };
        Self::of(text, is_unknown, 0)
    }

    /// Counts our text.
    pub(super) fn of_ours(found: &Decompiled) -> Self {
        let text: String = found.lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
        let defined: Vec<&str> = found.prelude.iter().filter_map(|helper| function_name(helper)).collect();
        let is_unknown = |word: &Word<'_>| word.next == Some('(') && defined.contains(&word.text);
        Self::of(&text, is_unknown, found.unlifted)
    }

    fn of(text: &str, is_unknown: impl Fn(&Word<'_>) -> bool, more_unknowns: usize) -> Self {
        let words = words(text);
        Self {
            lines: text.lines().filter(|line| !line.trim().is_empty()).count(),
            casts: casts(text),
            gotos: words.iter().filter(|word| word.text == "goto").count(),
            unknowns: words.iter().filter(|word| is_unknown(word)).count() + more_unknowns,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.casts += other.casts;
        self.gotos += other.gotos;
        self.unknowns += other.unknowns;
    }
}

/// Returns a row of the table: Ghidra's counts, and ours.
pub(super) fn row(name: &str, (theirs, ours): &(Counts, Counts)) -> String {
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
        theirs.lines,
        ours.lines,
        theirs.casts,
        ours.casts,
        theirs.gotos,
        ours.gotos,
        theirs.unknowns,
        ours.unknowns
    )
}

/// A word and the character after it.
struct Word<'a> {
    text: &'a str,
    next: Option<char>,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        found.push(Word { text: word, next: after.chars().next() });
        rest = after;
    }
    found
}

/// Returns the name of the function that a definition defines; `None` for variables.
fn function_name(definition: &str) -> Option<&str> {
    let head = definition.split(['{', '=', ';']).next()?;
    words(head).into_iter().find(|word| word.next == Some('(')).map(|word| word.text)
}

/// Counts types in parentheses before an operand.
fn casts(text: &str) -> usize {
    text.match_indices('(')
        .filter(|(at, _)| {
            let before = text[..*at].chars().next_back();
            let Some((inside, after)) = text[at + 1..].split_once(')') else { return false };
            let operand = after.trim_start().chars().next();
            !before.is_some_and(is_word)
                && operand.is_some_and(|c| is_word(c) || "(*&-~!.\"".contains(c))
                && is_type(inside)
        })
        .count()
}

fn is_type(text: &str) -> bool {
    let spaced = text.replace('*', " ");
    let mut words = spaced.split_whitespace().peekable();
    let is_known = |word: &str| {
        let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
        plain == "undefined" || TYPES.contains(&plain)
    };
    words.peek().is_some() && words.all(is_known)
}

#[cfg(test)]
mod tests {
    use unshade::sass::semantics;

    use super::{Counts, casts, function_name};

    #[test]
    fn casts_are_types_before_operands() {
        assert_eq!(casts("x = (float)y + (unsigned int)-z + (a) * 2 + *(int4 *)(p + 1);"), 3);
        assert_eq!(casts("void f(void) { g(int_x); if (u1) -x; }"), 0);
    }

    #[test]
    fn unknowns_of_ghidra() {
        let text = "/* WARNING: x */\n\nundefined4 f(void)\n{\n  a = CONCAT44(shuffle(1,2),b) + SUBTRACT(1);\n  goto LAB_1;\n}\n";
        let counts = Counts::of_ghidra(text, semantics::functions());
        assert_eq!(counts, Counts { lines: 6, casts: 0, gotos: 1, unknowns: 4 });
    }

    #[test]
    fn names_of_definitions() {
        assert_eq!(function_name("__device__ int shift_left(int a, int b)\n{\n}"), Some("shift_left"));
        assert_eq!(function_name("__device__ int table[4] = { f(1) };"), None);
    }
}
