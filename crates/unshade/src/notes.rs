//! A reader's notes on a file: names for what the decompiler has named, and comments on instructions.
//!
//! The page exports them as JSON:
//!
//! ```json
//! {"schema": 1, "name": "axpy.cubin", "size": 2048, "sha256": "…",
//!  "functions": {"axpy": {"names": {"v3": "sum"}, "comments": {"0x640": "a loop over tiles"}}}}
//! ```
//!
//! Functions have the names of the file; that of a program without functions is empty. A comment belongs to the line that
//! comes from the instruction at the offset. All names of a function are different, so that a new one takes the place of the
//! old one everywhere; one that the text already has is refused, for it could mean something else.
//!
//! ```
//! use unshade::notes::Notes;
//!
//! let text = r#"{"schema": 1, "sha256": "", "functions": {"f": {"names": {"v1": "sum"}, "comments": {}}}}"#;
//! let notes = Notes::parse(text)?;
//! let mut lines = ["int v1 = v10;".to_owned(), "return v1;".to_owned()];
//! let refused = notes.function("f").unwrap().rename(lines.iter_mut());
//! assert!(refused.is_empty());
//! assert_eq!(lines, ["int sum = v10;", "return sum;"]);
//! # Ok::<(), unshade::core::Error>(())
//! ```

use crate::query::lexeme::{Lexeme, is_name_start, next};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use unshade_core::{Error, ErrorKind, Escaped, Result};

/// The maximum size of a file of notes.
const MAX_FILE: usize = 16 << 20;

/// The maximum length of a comment.
const MAX_COMMENT: usize = 4096;

/// The version that is read.
const SCHEMA: u32 = 1;

/// Notes on a file.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    functions: BTreeMap<String, FunctionNotes>,
    /// What is wrong in the file: sentences without a full stop.
    pub faults: Vec<String>,
}

/// Notes on a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionNotes {
    /// New names by old ones.
    names: BTreeMap<String, String>,
    /// Comments by the offsets of instructions.
    comments: BTreeMap<u64, String>,
}

/// The file as it is written.
#[derive(Deserialize)]
struct Document {
    schema: u32,
    #[serde(default)]
    functions: BTreeMap<String, FunctionDocument>,
}

#[derive(Deserialize)]
struct FunctionDocument {
    #[serde(default)]
    names: BTreeMap<String, String>,
    #[serde(default)]
    comments: BTreeMap<String, String>,
}

impl Notes {
    /// Returns whether a text is meant to be notes rather than a header of C.
    pub fn is_notes(text: &str) -> bool {
        text.trim_start().starts_with('{')
    }

    /// Reads notes. Names and offsets that are none are left out and become faults.
    ///
    /// # Errors
    /// The text is too long, no JSON of this shape, or of another version.
    pub fn parse(text: &str) -> Result<Self> {
        let error = |message: String| Error::without_offset(ErrorKind::BadValue, message);
        if text.len() > MAX_FILE {
            return Err(error(format!("notes have at most {MAX_FILE} bytes")));
        }
        let document: Document =
            serde_json::from_str(text).map_err(|fault| error(format!("no notes: {fault}")))?;
        if document.schema != SCHEMA {
            return Err(error(format!("notes of version {}", document.schema)).expected(format!("{SCHEMA}")));
        }
        let mut notes = Self::default();
        for (name, FunctionDocument { names, comments }) in document.functions {
            let mut function = FunctionNotes::default();
            for (old, new) in names {
                if is_name(&old) && is_name(&new) {
                    function.names.insert(old, new);
                } else {
                    let (old, new) = (Escaped(old.as_bytes()), Escaped(new.as_bytes()));
                    notes.faults.push(format!("{} can't be named {}", old.quoted(), new.quoted()));
                }
            }
            for (offset, comment) in comments {
                match offset.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
                    Some(offset) if comment.len() <= MAX_COMMENT => {
                        function.comments.insert(offset, Escaped(comment.as_bytes()).to_string());
                    }
                    _ => notes.faults.push(format!("no comment at {}", Escaped(offset.as_bytes()).quoted())),
                }
            }
            notes.functions.insert(name, function);
        }
        Ok(notes)
    }

    /// Returns the notes on a function of this name in the file; that of a program without functions is empty.
    pub fn function(&self, name: &str) -> Option<&FunctionNotes> {
        self.functions.get(name)
    }
}

impl FunctionNotes {
    /// Gives the names in lines their new ones, but not members after `.` and `->`. Returns why names are refused.
    pub fn rename<'l>(&self, lines: impl Iterator<Item = &'l mut String>) -> Vec<String> {
        let mut lines: Vec<&mut String> = lines.collect();
        let mut words = HashSet::new();
        let mut is_in_comment = false;
        for line in &lines {
            each_word(line, &mut is_in_comment, |word, _| {
                words.insert(word.to_owned());
            });
        }
        let mut refused = Vec::new();
        let mut given = HashSet::new();
        let mut names = BTreeMap::new();
        for (old, new) in self.names.iter().filter(|(old, _)| words.contains(*old)) {
            if words.contains(new) || !given.insert(new) {
                refused.push(format!("{old} can't be named {new}, which the text already has"));
            } else {
                names.insert(old.as_str(), new.as_str());
            }
        }
        is_in_comment = false;
        for line in lines.iter_mut().filter(|_| !names.is_empty()) {
            let mut edits = Vec::new();
            each_word(line, &mut is_in_comment, |word, at| {
                if let Some(new) = names.get(word) {
                    edits.push((at..at + word.len(), *new));
                }
            });
            for (range, new) in edits.into_iter().rev() {
                line.replace_range(range, new);
            }
        }
        refused
    }

    /// Moves the names that a text has into notes of their own, and returns these.
    #[must_use]
    pub fn take_names_in(&mut self, text: &[String]) -> Self {
        let mut words = HashSet::new();
        let mut is_in_comment = false;
        for text in text {
            each_word(text, &mut is_in_comment, |word, _| {
                words.insert(word.to_owned());
            });
        }
        let (inside, outside) =
            std::mem::take(&mut self.names).into_iter().partition(|(old, _)| words.contains(old));
        self.names = outside;
        Self { names: inside, comments: BTreeMap::new() }
    }

    /// Adds the names of others. Returns why names are refused: two functions name the same thing differently.
    pub fn add_names(&mut self, others: Self) -> Vec<String> {
        let mut refused = Vec::new();
        for (old, new) in others.names {
            match self.names.get(&old) {
                Some(known) if *known != new => refused.push(format!("{old} is named {known} and {new}")),
                _ => {
                    self.names.insert(old, new);
                }
            }
        }
        refused
    }

    /// Returns the comment on a line that comes from these bytes.
    pub fn comment(&self, ranges: &[Range<u64>]) -> Option<String> {
        let found = ranges.iter().flat_map(|range| self.comments.range(range.clone()));
        let texts: Vec<&str> = found.map(|(_, text)| text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join(" · "))
    }

    /// Appends comments to lines, with the bytes that each comes from.
    pub fn comment_lines<'l>(&self, lines: impl Iterator<Item = (&'l mut String, Vec<Range<u64>>)>) {
        for (line, ranges) in lines {
            if let Some(comment) = self.comment(&ranges) {
                line.push_str("  // ");
                line.push_str(&comment);
            }
        }
    }
}

/// Passes each name of a text that is not a member to `visit`, with its position.
fn each_word(text: &str, is_in_comment: &mut bool, mut visit: impl FnMut(&str, usize)) {
    let (mut at, mut is_member) = (0, false);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        while let Some((kind, length)) = next(text.get(at..end).unwrap_or_default(), *is_in_comment) {
            let piece = text.get(at..at + length).unwrap_or_default();
            match kind {
                Lexeme::Comment => *is_in_comment = !piece.starts_with("//") && !piece.ends_with("*/"),
                Lexeme::Word if !is_member => visit(piece, at),
                _ => {}
            }
            if kind != Lexeme::Space {
                is_member = matches!(piece, "." | "->");
            }
            at += length;
        }
    }
}

/// Returns whether a text is a name of C.
fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start)
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(functions: &str) -> Notes {
        Notes::parse(&format!("{{\"schema\":1,\"functions\":{functions}}}")).unwrap()
    }

    #[test]
    fn names_are_changed_outside_of_comments_literals_and_members() {
        let notes = notes(r#"{"f":{"names":{"v1":"sum","v2":"x","v9":"unused"},"comments":{}}}"#);
        let mut lines = ["v1 = p.v1 + q->v1; // v1\nv1;", "/* v1", "v1 */ s(\"v1\", v11, v1);", "v2 = x;"]
            .map(str::to_owned);
        let refused = notes.function("f").unwrap().rename(lines.iter_mut());
        assert_eq!(refused, ["v2 can't be named x, which the text already has"]);
        assert_eq!(
            lines,
            ["sum = p.v1 + q->v1; // v1\nsum;", "/* v1", "v1 */ s(\"v1\", v11, sum);", "v2 = x;"]
        );
    }

    /// Two names can't become one.
    #[test]
    fn names_stay_different() {
        let notes = notes(r#"{"f":{"names":{"a":"c","b":"c"}}}"#);
        let mut lines = ["a = b;".to_owned()];
        assert_eq!(notes.function("f").unwrap().rename(lines.iter_mut()).len(), 1);
        assert_eq!(lines, ["c = b;"]);
    }

    /// Names of a prelude are those of all functions.
    #[test]
    fn names_of_a_prelude_are_separate() {
        let notes = notes(r#"{"f":{"names":{"table":"t","v1":"x"}},"g":{"names":{"table":"u"}}}"#);
        let prelude = ["int table[4]; // v1".to_owned()];
        let mut f = notes.function("f").unwrap().clone();
        let mut shared = f.take_names_in(&prelude);
        assert_eq!((shared.names.len(), f.names.len()), (1, 1));
        let refused = shared.add_names(notes.function("g").unwrap().clone().take_names_in(&prelude));
        assert_eq!(refused, ["table is named t and u"]);
    }

    #[test]
    fn comments_follow_the_lines_of_their_instruction() {
        let notes = notes(r#"{"":{"comments":{"0x10":"one\nline","0x18":"two"}}}"#);
        let function = notes.function("").unwrap();
        let mut lines = ["a;".to_owned(), "b;".to_owned(), "c;".to_owned()];
        let (first, second) = (0x8..0x10, 0x10..0x18);
        let ranges = [Vec::from([first]), Vec::from([second]), vec![0x0..0x1, 0x18..0x20]];
        function.comment_lines(lines.iter_mut().zip(ranges));
        assert_eq!(lines, ["a;", "b;  // one\\nline", "c;  // two"]);
    }

    #[test]
    fn what_is_wrong_is_left_out_and_named() {
        let notes = notes(r#"{"f":{"names":{"v1":"a b","2":"x"},"comments":{"12":"x","0xzz":"y"}}}"#);
        assert_eq!(notes.faults.len(), 4);
        for text in ["", "[]", "{}", r#"{"schema":2,"functions":{}}"#, r#"{"schema":1,"functions":[1]}"#] {
            assert!(Notes::parse(text).is_err(), "{text}");
        }
        assert!(Notes::is_notes(" {\"schema\"") && !Notes::is_notes("struct s { int a; };"));
    }
}
