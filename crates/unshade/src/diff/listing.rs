//! Compares two listings of LLVM assembly or machine code, ignoring numbers that only shifted.
//!
//! Unnamed values, blocks, metadata and attribute groups are numbered consecutively, so one new instruction renumbers
//! everything after it. Lines are therefore aligned by keys without such numbers. Aligned lines map the numbers that
//! they define from one listing to the other. If two aligned lines refer to numbers that do not correspond, they count
//! as changed.

use super::lines::{AlignedLine, Change, LineDiff, align};
use std::collections::{HashMap, HashSet};
use unshade_core::token::{Link, Token, TokenSink};
use unshade_llvm::Module;
use unshade_llvm::print::{Dialect, PrintOptions, module};

/// A listing to be compared.
#[derive(Debug, Default)]
pub(super) struct Listing {
    text: String,
    /// End of each token in the text, and its link.
    tokens: Vec<(usize, Option<Link>)>,
}

/// The lines of a listing. The key and links of a line end where those of the next one start.
#[derive(Default)]
struct Lines<'t> {
    lines: Vec<Line<'t>>,
    /// Keys of all lines: their texts without numbers that may shift.
    keys: String,
    /// Links that the keys omit, and whether the line defines them.
    links: Vec<(u64, bool)>,
}

/// A line of a listing.
struct Line<'t> {
    text: &'t str,
    /// End of its key, and end of its links.
    ends: (usize, usize),
}

impl Listing {
    /// Prints a module.
    pub(super) fn new(bitcode: &Module<'_>, dialect: Dialect) -> Self {
        let mut listing = Self::default();
        let options = PrintOptions { dialect, module_id: None };
        // `dis` reports what can't be read.
        let mut sink: &mut dyn TokenSink = &mut listing;
        let _ = module(bitcode, &options, &mut sink);
        listing
    }

    /// Returns the number of bytes of its text.
    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    fn lines(&self) -> Lines<'_> {
        let mut lines = Lines::default();
        lines.keys.reserve(self.text.len());
        let (mut start, mut line_start) = (0, 0);
        for &(end, link) in &self.tokens {
            let token = self.text.get(start..end).unwrap_or_default();
            let mut at = start;
            for (index, part) in token.split('\n').enumerate() {
                if index > 0 {
                    // `at` is after the end of the line.
                    lines.end(self.text.get(line_start..at - 1).unwrap_or_default());
                    line_start = at;
                }
                lines.add(part, link);
                at += part.len() + 1;
            }
            start = end;
        }
        lines.end(self.text.get(line_start..).unwrap_or_default());
        lines
    }

    /// Compares two listings.
    pub(super) fn diff(&self, other: &Self, context: usize) -> LineDiff {
        let (before, after) = (self.lines(), other.lines());
        let Some(mut steps) = align(before.keys(), after.keys()) else {
            return LineDiff { cut: self.text != other.text, ..LineDiff::default() };
        };
        separate(std::iter::once(&mut steps), &before, &after);
        LineDiff::new(&steps, |at| before.text(at), |at| after.text(at), context)
    }

    /// Compares two modules, functions by name. What is around functions comes first, without a name, then the functions
    /// in the order of the first module, and those that only the second has.
    pub(super) fn diff_functions(&self, other: &Self, context: usize) -> Vec<(String, Change, LineDiff)> {
        let (before, after) = (self.lines(), other.lines());
        let (keys, other_keys): (Vec<&str>, Vec<&str>) = (before.keys().collect(), after.keys().collect());
        let (old, new) = (before.functions(), after.functions());
        let by_name: HashMap<&str, &Vec<usize>> =
            new.iter().map(|(name, lines)| (name.as_str(), lines)).collect();
        let aligned = |(name, lines): &(String, Vec<usize>)| {
            let others = by_name.get(name.as_str())?;
            let one: Vec<&str> = lines.iter().filter_map(|at| keys.get(*at).copied()).collect();
            let two: Vec<&str> = others.iter().filter_map(|at| other_keys.get(*at).copied()).collect();
            let steps = align(one.into_iter(), two.into_iter())?;
            Some(steps.iter().filter_map(|step| step.of_lines(lines, others)).collect())
        };
        let mut steps: Vec<Option<Vec<AlignedLine>>> = old.iter().map(aligned).collect();
        separate(steps.iter_mut().flatten(), &before, &after);
        let mut found = Vec::new();
        for ((name, lines), steps) in old.iter().zip(steps) {
            let (change, code) = match (by_name.get(name.as_str()), steps) {
                (None, _) => (Change::Removed, LineDiff::default()),
                (Some(_), None) => (Change::Same, LineDiff { cut: true, ..LineDiff::default() }),
                (Some(others), Some(steps)) => {
                    let mut diff = LineDiff::new(&steps, |at| before.text(at), |at| after.text(at), context);
                    for hunk in &mut diff.hunks {
                        hunk.before = number_of(lines, hunk.before);
                        hunk.after = number_of(others, hunk.after);
                    }
                    (Change::Same, diff)
                }
            };
            found.push((name.clone(), change, code));
        }
        let old: HashSet<&str> = old.iter().map(|(name, _)| name.as_str()).collect();
        let added = new.iter().filter(|(name, _)| !old.contains(name.as_str()));
        found.extend(added.map(|(name, _)| (name.clone(), Change::Added, LineDiff::default())));
        found
    }
}

/// Returns the number of a line of the module, from its number among some of the lines.
fn number_of(lines: &[usize], number: usize) -> usize {
    let line = lines.get(number.saturating_sub(1)).map(|line| line + 1);
    line.unwrap_or_else(|| lines.last().map_or(number, |last| last + 2))
}

/// Returns the mangled name of the function that a line of LLVM assembly defines or declares.
fn function_name(line: &str) -> String {
    let rest = line.split_once('@').map_or("", |(_, rest)| rest);
    let name = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split('(').next(),
    };
    name.unwrap_or_default().to_owned()
}

impl<'t> Lines<'t> {
    /// Returns the start of a line's key and links.
    fn start(&self, at: usize) -> (usize, usize) {
        at.checked_sub(1).and_then(|last| self.lines.get(last)).map_or((0, 0), |line| line.ends)
    }

    fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        let key =
            |(at, line): (usize, &Line<'_>)| self.keys.get(self.start(at).0..line.ends.0).unwrap_or_default();
        self.lines.iter().enumerate().map(key)
    }

    /// Returns the lines around the functions of a module, and those of each function with its name.
    fn functions(&self) -> Vec<(String, Vec<usize>)> {
        let (mut around, mut functions) = (Vec::new(), Vec::<(String, Vec<usize>)>::new());
        // Comments belong to what follows them, empty lines to what precedes them.
        let (mut comments, mut is_around, mut is_in_body) = (Vec::new(), true, false);
        for (at, line) in self.lines.iter().enumerate() {
            if is_in_body {
                is_in_body = line.text != "}";
            } else if line.text.starts_with("define ") || line.text.starts_with("declare ") {
                functions.push((function_name(line.text), Vec::new()));
                (is_around, is_in_body) = (false, line.text.ends_with('{'));
            } else if line.text.starts_with(';') {
                comments.push(at);
                continue;
            } else if !line.text.is_empty() {
                is_around = true;
            }
            let function = functions.last_mut().filter(|_| !is_around).map(|(_, lines)| lines);
            let lines = function.unwrap_or(&mut around);
            lines.append(&mut comments);
            lines.push(at);
        }
        around.append(&mut comments);
        functions.insert(0, (String::new(), around));
        functions
    }

    fn text(&self, at: usize) -> Option<&'t str> {
        self.lines.get(at).map(|line| line.text)
    }

    fn links(&self, at: usize) -> &[(u64, bool)] {
        let end = self.lines.get(at).map_or(0, |line| line.ends.1);
        self.links.get(self.start(at).1..end).unwrap_or_default()
    }

    /// Ends a line.
    fn end(&mut self, text: &'t str) {
        self.lines.push(Line { text, ends: (self.keys.len(), self.links.len()) });
    }

    fn add(&mut self, text: &str, link: Option<Link>) {
        const SIGILS: [char; 4] = ['%', '@', '!', '#'];
        if let Some(Link::Definition(entity) | Link::Reference(entity)) = link {
            let is_definition = matches!(link, Some(Link::Definition(_)));
            let name = text.trim_start_matches(SIGILS).trim_end_matches(':');
            // Addresses of machine code are hexadecimal.
            let digits = name.strip_prefix("0x").unwrap_or(name);
            let is_number = !digits.is_empty()
                && if digits.len() < name.len() {
                    digits.bytes().all(|byte| byte.is_ascii_hexdigit())
                } else {
                    digits.bytes().all(|byte| byte.is_ascii_digit())
                };
            if is_number || is_definition && text.is_empty() {
                self.links.push((entity, is_definition));
                let sigil = text.len() - text.trim_start_matches(SIGILS).len();
                return self.add_text(text.get(..sigil).unwrap_or_default());
            }
        }
        self.add_text(text);
    }

    /// Adds text to the key, with runs of spaces collapsed.
    fn add_text(&mut self, text: &str) {
        let start = self.start(self.lines.len()).0;
        let after_space = self.keys.len() > start && self.keys.ends_with(' ');
        if !(text.contains("  ") || after_space && text.starts_with(' ')) {
            return self.keys.push_str(text);
        }
        for c in text.chars() {
            if c != ' ' || self.keys.len() == start || !self.keys.ends_with(' ') {
                self.keys.push(c);
            }
        }
    }
}

/// Separates aligned lines whose links do not correspond into removed and added lines.
fn separate<'s>(
    parts: impl Iterator<Item = &'s mut Vec<AlignedLine>>,
    before: &Lines<'_>,
    after: &Lines<'_>,
) {
    let parts: Vec<&mut Vec<AlignedLine>> = parts.collect();
    let mut pairs = Pairs::default();
    for step in parts.iter().flat_map(|steps| steps.iter()) {
        if let AlignedLine::Same(at, other) = *step {
            for (one, two) in before.links(at).iter().zip(after.links(other)) {
                if one.1 && two.1 {
                    pairs.define(one.0, two.0);
                }
            }
        }
    }
    let means_the_same = |pairs: &mut Pairs, at: usize, other: usize| {
        let (one, two) = (before.links(at), after.links(other));
        one.len() == two.len() && one.iter().zip(two).all(|(one, two)| pairs.agree(one.0, two.0))
    };
    for steps in parts {
        let mut separated = Vec::with_capacity(steps.len());
        // Within a run of changes, removed lines come before added ones.
        let mut added = Vec::new();
        for step in steps.drain(..) {
            match step {
                AlignedLine::Same(at, other) if means_the_same(&mut pairs, at, other) => {
                    separated.append(&mut added);
                    separated.push(step);
                }
                AlignedLine::Same(at, other) => {
                    separated.push(AlignedLine::Removed(at));
                    added.push(AlignedLine::Added(other));
                }
                AlignedLine::Removed(_) => separated.push(step),
                AlignedLine::Added(_) => added.push(step),
            }
        }
        separated.append(&mut added);
        *steps = separated;
    }
}

/// Maps entities of one listing to those of the other.
#[derive(Default)]
struct Pairs {
    there: HashMap<u64, u64>,
    back: HashMap<u64, u64>,
}

impl Pairs {
    fn define(&mut self, one: u64, two: u64) {
        if !self.there.contains_key(&one) && !self.back.contains_key(&two) {
            self.there.insert(one, two);
            self.back.insert(two, one);
        }
    }

    /// Returns whether two entities correspond. Entities that no aligned line defines are paired on first use.
    fn agree(&mut self, one: u64, two: u64) -> bool {
        self.define(one, two);
        self.there.get(&one) == Some(&two)
    }
}

impl TokenSink for Listing {
    fn token(&mut self, token: Token<'_>) {
        self.text.push_str(token.text);
        self.tokens.push((self.text.len(), token.link));
    }

    fn mark(&self) -> usize {
        self.tokens.len()
    }

    fn truncate(&mut self, mark: usize) {
        self.tokens.truncate(mark);
        self.text.truncate(self.tokens.last().map_or(0, |(end, _)| *end));
    }

    fn insert(&mut self, mark: usize, write: &mut dyn FnMut(&mut dyn TokenSink)) {
        let mut part = Self::default();
        write(&mut part);
        let at = mark.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |(end, _)| *end);
        self.text.insert_str(at, &part.text);
        for (end, _) in self.tokens.iter_mut().skip(mark) {
            *end += part.text.len();
        }
        let moved = part.tokens.into_iter().map(|(end, link)| (end + at, link));
        self.tokens.splice(mark..mark, moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unshade_core::TokenKind;

    /// A listing of lines in which `%1` is a reference, and a `%1` that begins a line a definition.
    fn listing(lines: &[&str]) -> Listing {
        let mut listing = Listing::default();
        for line in lines {
            for (index, word) in line.split_inclusive(' ').enumerate() {
                let (name, space) = word.split_at(word.trim_end().len());
                let number = name.trim_start_matches('%').parse().ok().filter(|_| name.starts_with('%'));
                let link = number.map(|n| if index == 0 { Link::Definition(n) } else { Link::Reference(n) });
                listing.token(Token { kind: TokenKind::Register, text: name, link });
                listing.put(TokenKind::Space, space);
            }
            listing.put(TokenKind::Space, "\n");
        }
        listing
    }

    fn changed(before: &[&str], after: &[&str]) -> Vec<String> {
        let diff = listing(before).diff(&listing(after), 0);
        let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines
            .map(|line| match line.change {
                Change::Same => format!(" {}", line.text),
                Change::Removed => format!("-{}", line.text),
                Change::Added => format!("+{}", line.text),
            })
            .collect()
    }

    #[test]
    fn an_instruction_more_shifts_numbers_only() {
        let before = ["%1 = load", "%2 = add %1 %1", "store %2"];
        let after = ["%1 = load", "%2 = neg %1", "%3 = add %1 %1", "store %3"];
        assert_eq!(changed(&before, &after), ["+%2 = neg %1"]);
        assert_eq!(changed(&after, &before), ["-%2 = neg %1"]);
    }

    #[test]
    fn another_operand_is_a_change() {
        let before = ["%1 = load a", "%2 = load b", "%3 = add %1 %2", "store %3"];
        let after = ["%1 = load a", "%2 = load b", "%3 = add %2 %1", "store %3"];
        assert_eq!(changed(&before, &after), ["-%3 = add %1 %2", "+%3 = add %2 %1"]);
        // Shifted, and another one beside that.
        let after = ["%1 = new", "%2 = load a", "%3 = load b", "%4 = add %3 %3", "store %4"];
        assert_eq!(changed(&before, &after), ["+%1 = new", "-%3 = add %1 %2", "+%4 = add %3 %3"]);
    }

    #[test]
    fn functions_are_matched_by_name() {
        let before = ["g", "define @a(", "define @f() {", "  %1 = x", "}", "", "; c", "declare @h()", "m"];
        let after = ["g", "; c", "declare @h()", "", "define @f() {", "  %2 = y", "}", "define @b()", "m"];
        let diff = listing(&before).diff_functions(&listing(&after), 0);
        let told: Vec<_> =
            diff.iter().map(|(name, change, code)| (name.as_str(), *change, code.added)).collect();
        let expected = [
            ("", Change::Same, 0),
            ("a", Change::Removed, 0),
            ("f", Change::Same, 1),
            ("h", Change::Same, 1),
            ("b", Change::Added, 0),
        ];
        // The empty line after a function belongs to it.
        assert_eq!(told, expected);
        let (_, _, code) = &diff[2];
        assert_eq!((code.hunks[0].before, code.hunks[0].after), (4, 6));
    }

    #[test]
    fn users_of_what_was_replaced_are_the_same() {
        let before = ["%1 = fadd", "store %1", "use %1"];
        let after = ["%1 = fsub", "store %1", "use %1"];
        assert_eq!(changed(&before, &after), ["-%1 = fadd", "+%1 = fsub"]);
    }

    #[test]
    fn tokens_can_be_inserted() {
        let mut listing = listing(&["%1 = a"]);
        let mark = listing.mark();
        listing.put(TokenKind::Text, "c\n");
        listing.insert(mark, &mut |sink| sink.put(TokenKind::Text, "b\n"));
        assert_eq!(listing.text, "%1 = a\nb\nc\n");
        let lines = listing.lines();
        let texts: Vec<&str> = lines.lines.iter().map(|line| line.text).collect();
        assert_eq!(texts, ["%1 = a", "b", "c", ""]);
        listing.truncate(mark);
        assert_eq!(listing.text, "%1 = a\n");
    }

    #[test]
    fn a_real_module_is_equal_to_itself() {
        let bytes = include_bytes!("../../../unshade-llvm/tests/fixtures/instructions.bc");
        let bitcode = Module::parse(bytes, 0).unwrap();
        for dialect in [Dialect::Llvm14, Dialect::Dxc, Dialect::Llvm19, Dialect::Llvm22] {
            let listing = Listing::new(&bitcode, dialect);
            let mut text = String::new();
            let _ = module(&bitcode, &PrintOptions { dialect, module_id: None }, &mut text);
            assert_eq!(listing.text, text);
            assert!(listing.diff(&Listing::new(&bitcode, dialect), 3).is_empty());
        }
    }
}
