//! A quick look at a whole text: whether any of its lines may match.
//!
//! A text that is searched for, or a part that every match of a regular expression has, is looked up in the whole text at
//! once, by its rarest byte. Only where it is found are lines looked at one by one. Lower and upper case of other letters
//! than those of ASCII may differ in length, so texts with such letters are always looked at by lines.

use crate::query::rows::Pattern;
use memchr::{memchr_iter, memchr2_iter};

/// What every match has.
pub(super) struct Screen {
    /// In lower case, unless case matters. Empty if nothing is known.
    needle: Vec<u8>,
    is_exact: bool,
    /// The place of the rarest byte.
    rare: usize,
}

impl Screen {
    /// Returns what matches of a pattern have, which was created from this text.
    pub(super) fn new(text: &str, is_expression: bool, is_exact: bool) -> Self {
        let needle = if is_expression { required(text) } else { text.to_owned() };
        // Case is ignored by bytes, which fits letters of ASCII only.
        let is_known = is_exact || needle.is_ascii();
        let needle = match is_known {
            true if is_exact => needle.into_bytes(),
            true => needle.to_ascii_lowercase().into_bytes(),
            false => Vec::new(),
        };
        let rare = (0..needle.len()).min_by_key(|at| needle.get(*at).map(|byte| frequency(*byte)));
        Self { needle, is_exact, rare: rare.unwrap_or_default() }
    }

    /// Returns whether a line of the text may match.
    pub(super) fn may_match(&self, text: &str, pattern: &Pattern) -> bool {
        let is_decided = self.is_exact || matches!(pattern, Pattern::Expression(_)) || text.is_ascii();
        if is_decided && !self.needle.is_empty() && !self.is_in(text.as_bytes()) {
            return false;
        }
        text.split('\n').any(|line| pattern.finds(line))
    }

    fn is_in(&self, text: &[u8]) -> bool {
        let Some(rare) = self.needle.get(self.rare).copied() else { return true };
        let is_at = |at: usize| {
            let start = at.checked_sub(self.rare);
            let window = start.and_then(|start| text.get(start..start.checked_add(self.needle.len())?));
            window.is_some_and(|window| {
                if self.is_exact { window == self.needle } else { window.eq_ignore_ascii_case(&self.needle) }
            })
        };
        if self.is_exact || !rare.is_ascii_alphabetic() {
            memchr_iter(rare, text).any(is_at)
        } else {
            memchr2_iter(rare, rare.to_ascii_uppercase(), text).any(is_at)
        }
    }
}

/// The bytes of listings, the most frequent first.
const FREQUENT: &[u8] = b" ,%ie0ta1nlrf2o4sd3m.pbu5c68!79h()=@_:g*\n[]xy-\"{}#w;kv<>";

/// Returns a number that is larger for more frequent bytes.
fn frequency(byte: u8) -> usize {
    FREQUENT.iter().position(|frequent| *frequent == byte).map_or(0, |at| FREQUENT.len() - at)
}

/// Returns the longest text that every match of a regular expression has, as far as that is easily seen: an expression
/// is read up to its first group or class, and not at all if it has alternatives.
fn required(expression: &str) -> String {
    if expression.contains('|') {
        return String::new();
    }
    let (mut longest, mut run) = (String::new(), String::new());
    let mut keep = |run: &mut String| {
        if run.len() > longest.len() {
            longest.clone_from(run);
        }
        run.clear();
    };
    let mut characters = expression.chars();
    while let Some(character) = characters.next() {
        match character {
            '(' | '[' | ')' | ']' | '}' => break,
            '.' | '^' | '$' | '+' => keep(&mut run),
            '?' | '*' | '{' => {
                // The character before may be missing.
                run.pop();
                keep(&mut run);
                if character == '{' {
                    break;
                }
            }
            '\\' => match characters.next() {
                Some(escaped) if escaped.is_ascii_punctuation() => run.push(escaped),
                _ => break,
            },
            _ => run.push(character),
        }
    }
    keep(&mut run);
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_match_has() {
        let cases = [
            ("air\\.atomic.*i32", "air.atomic"),
            ("^define.*@k$", "define"),
            ("colou?r", "colo"),
            ("a+bcd*", "bc"),
            ("ab{2}c", "a"),
            ("one|two", ""),
            ("(?i)abc", ""),
            ("x[0-9]|y", ""),
            ("load \\w+", "load "),
            ("\\x41bc", ""),
        ];
        for (expression, needed) in cases {
            assert_eq!(required(expression), needed, "{expression}");
        }
    }

    #[test]
    fn a_screen_never_hides_a_match() {
        let texts = ["%Foo = LOAD i32\nret void\n", "caf\u{e9} \u{212a}elvin\n", "", "a\nb", "I\u{307} x"];
        let patterns =
            ["load", "LOAD", "d\nr", "kelvin", "CAF\u{c9}", "^ret", "l.a", "K", "i\u{307}", "b$", "o{2}"];
        for (text, pattern) in texts.iter().flat_map(|text| patterns.iter().map(move |one| (*text, *one))) {
            for (is_expression, is_exact) in [(false, false), (false, true), (true, false), (true, true)] {
                let screen = Screen::new(pattern, is_expression, is_exact);
                let matcher = Pattern::new(pattern, is_expression, is_exact).unwrap();
                let by_lines = text.split('\n').any(|line| matcher.finds(line));
                assert_eq!(screen.may_match(text, &matcher), by_lines, "{text:?} {pattern:?} {is_exact}");
            }
        }
    }
}
