//! The outline of a file: what stands at which bytes.
//!
//! A format crate *emits* its outline to an [`OutlineSink`] as a walk over a tree, parents before children, in file
//! order. That way the dump of a file with a million fields needs no memory; [`Node`] collects the walk where a tree
//! is wanted, and [`Coverage`] proves that every byte was attributed.

use crate::FourCc;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// The value of a field, before it is put into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The field has no value of its own (a group, padding).
    None,
    /// A number that people read in decimal: a count, a version.
    Number(u64),
    /// A number that people read in hex: an offset, a size, flags.
    Hex(u64),
    /// A four-character code.
    FourCc(FourCc),
    /// Text from the file, to be escaped when shown.
    Text(&'a [u8]),
    /// Raw bytes; when shown, only the first few.
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// How many raw bytes [`Value::Bytes`] shows.
    pub const SHOWN_BYTES: usize = 16;

    /// The value in words; empty for [`Value::None`].
    pub fn to_text(&self) -> String {
        match self {
            Value::None => String::new(),
            Value::Number(number) => format!("{number}"),
            Value::Hex(number) => format!("{number:#x}"),
            Value::FourCc(code) => format!("{code}"),
            Value::Text(text) => crate::Escaped(text).quoted(),
            Value::Bytes(bytes) => {
                let mut out = String::new();
                for byte in bytes.iter().take(Self::SHOWN_BYTES) {
                    out.push_str(&format!("{byte:02x}"));
                }
                if bytes.len() > Self::SHOWN_BYTES {
                    out.push('…');
                }
                out
            }
        }
    }
}

/// One field: a name, a value, what the value means, and the bytes it stands at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name by which the format's documents know it.
    pub name: Cow<'a, str>,
    /// The value.
    pub value: Value<'a>,
    /// What the value means, in words; may be empty. Already safe to show.
    pub meaning: Cow<'a, str>,
    /// The bytes of the file.
    pub range: Range<u64>,
}

impl<'a> Field<'a> {
    /// A field without a meaning in words.
    pub fn new(name: impl Into<Cow<'a, str>>, value: Value<'a>, range: Range<u64>) -> Self {
        Self { name: name.into(), value, meaning: Cow::Borrowed(""), range }
    }

    /// A group, whose value is its children.
    pub fn group(name: impl Into<Cow<'a, str>>, range: Range<u64>) -> Self {
        Self::new(name, Value::None, range)
    }

    /// Says what the value means.
    #[must_use]
    pub fn meaning(mut self, meaning: impl Into<Cow<'a, str>>) -> Self {
        self.meaning = meaning.into();
        self
    }
}

/// The name of a field without the number that tells it from others of its kind: `function` of `function 12`.
///
/// ```
/// use unshade_core::outline::unnumbered;
///
/// assert_eq!((unnumbered("function 12"), unnumbered("ISG1")), ("function", "ISG1"));
/// ```
pub fn unnumbered(name: &str) -> &str {
    match name.rsplit_once(' ') {
        Some((kind, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            kind
        }
        _ => name,
    }
}

/// Whether a field without children only says where other things stand or how long they are: it changes when something
/// grows before it, and means nothing by itself. Goes by the names that the formats of this project give such fields.
pub fn is_layout(name: &str) -> bool {
    match name {
        "code" | "size" | "offset" | "file size" | "padding" | "number of parts" | "ENDT" => true,
        // The sections that the header of a Metal library names.
        "function list" | "public metadata" | "private metadata" | "bitcode" => true,
        name => name.starts_with("offset of ") || name.ends_with(" offset") || name.ends_with("Offset"),
    }
}

/// Takes the walk over an outline. Ranges of children lie inside of their parent's and do not overlap; bytes of a
/// parent that no child covers belong to the parent itself.
pub trait OutlineSink {
    /// A field that has children: everything up to the matching [`OutlineSink::close`] is inside of it.
    fn open(&mut self, field: Field<'_>);

    /// The end of the innermost open field.
    fn close(&mut self);

    /// Whether the fields inside of the innermost open one are wanted. Where they are not, a walk may go on behind it:
    /// what is asked for of a large file is mostly some fields of it.
    fn wants_inside(&self) -> bool {
        true
    }

    /// A field without children.
    fn leaf(&mut self, field: Field<'_>) {
        self.open(field);
        self.close();
    }
}

impl<S: OutlineSink + ?Sized> OutlineSink for &mut S {
    fn open(&mut self, field: Field<'_>) {
        (**self).open(field);
    }

    fn close(&mut self) {
        (**self).close();
    }

    fn wants_inside(&self) -> bool {
        (**self).wants_inside()
    }

    fn leaf(&mut self, field: Field<'_>) {
        (**self).leaf(field);
    }
}

/// A collected outline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// See [`Field::name`].
    pub name: String,
    /// [`Field::value`] in words.
    pub value: String,
    /// See [`Field::meaning`].
    pub meaning: String,
    /// See [`Field::range`].
    pub range: Range<u64>,
    /// The fields inside of this one.
    pub children: Vec<Node>,
}

/// Collects a walk into [`Node`]s.
///
/// ```
/// use unshade_core::outline::{Field, OutlineSink, TreeBuilder, Value};
///
/// let mut tree = TreeBuilder::default();
/// tree.open(Field::group("header", 0..8));
/// tree.leaf(Field::new("magic", Value::Text(b"MTLB"), 0..4));
/// tree.close();
/// let nodes = tree.finish();
/// assert_eq!(nodes[0].children[0].value, "\"MTLB\"");
/// ```
#[derive(Debug, Default)]
pub struct TreeBuilder {
    roots: Vec<Node>,
    open: Vec<Node>,
}

impl TreeBuilder {
    /// The roots; fields that were never closed are closed now.
    pub fn finish(mut self) -> Vec<Node> {
        while !self.open.is_empty() {
            self.close();
        }
        self.roots
    }
}

impl OutlineSink for TreeBuilder {
    fn open(&mut self, field: Field<'_>) {
        self.open.push(Node {
            name: field.name.into_owned(),
            value: field.value.to_text(),
            meaning: field.meaning.into_owned(),
            range: field.range,
            children: Vec::new(),
        });
    }

    fn close(&mut self) {
        if let Some(node) = self.open.pop() {
            match self.open.last_mut() {
                Some(parent) => parent.children.push(node),
                None => self.roots.push(node),
            }
        }
    }
}

/// Counts which bytes an outline attributes, without keeping the outline.
///
/// It holds the *top-level* promise that a dump makes: the roots follow each other without a gap or an overlap, and
/// children lie inside of their parents in order.
#[derive(Debug, Default)]
pub struct Coverage {
    /// End of the last sibling at each open level, and the end of the level's parent.
    levels: Vec<(u64, u64)>,
    /// Where the next root has to start.
    next: u64,
    /// Bytes in fields whose name is [`UNKNOWN`].
    unknown: u64,
    faults: Vec<String>,
}

/// The name of a field that nobody has described.
pub const UNKNOWN: &str = "unknown";

impl Coverage {
    /// Starts at the file offset where the outline has to begin.
    pub fn starting_at(offset: u64) -> Self {
        Self { next: offset, ..Self::default() }
    }

    /// How many bytes were attributed to fields named [`UNKNOWN`].
    pub fn unknown_bytes(&self) -> u64 {
        self.unknown
    }

    /// Gaps, overlaps and fields outside of their parent, in words, if `end` is where the file ends. Empty is right.
    pub fn finish(mut self, end: u64) -> Vec<String> {
        if self.next != end {
            self.fault(format!("outline ends at {:#x}, the file at {end:#x}", self.next));
        }
        self.faults
    }

    fn fault(&mut self, fault: String) {
        if self.faults.len() < 100 {
            self.faults.push(fault);
        }
    }
}

impl OutlineSink for Coverage {
    fn open(&mut self, field: Field<'_>) {
        let Range { start, end } = field.range;
        if field.name == UNKNOWN {
            self.unknown = self.unknown.saturating_add(end.saturating_sub(start));
        }
        match self.levels.last_mut() {
            None => {
                if start != self.next {
                    let next = self.next;
                    self.fault(format!(
                        "{}: starts at {start:#x}, the one before it ended at {next:#x}",
                        field.name
                    ));
                }
                self.next = end;
            }
            Some((previous, limit)) => {
                let (at, limit) = (*previous, *limit);
                *previous = end;
                if start < at || end > limit || start > end {
                    self.fault(format!(
                        "{}: {start:#x}..{end:#x} is not inside of {at:#x}..{limit:#x}",
                        field.name
                    ));
                }
            }
        }
        self.levels.push((start, end));
    }

    fn close(&mut self) {
        self.levels.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_sees_gaps_overlaps_and_strays() {
        let walk = |roots: &[(u64, u64)], child: (u64, u64)| {
            let mut coverage = Coverage::starting_at(0);
            for &(start, end) in roots {
                coverage.open(Field::group("root", start..end));
                coverage.leaf(Field::group("child", child.0..child.1));
                coverage.close();
            }
            coverage.finish(8).len()
        };
        assert_eq!(walk(&[(0, 8)], (2, 4)), 0);
        assert_eq!(walk(&[(0, 3), (4, 8)], (2, 2)), 2);
        assert_eq!(walk(&[(0, 8)], (6, 9)), 1);
        assert_eq!(walk(&[(0, 7)], (6, 6)), 1);
    }

    #[test]
    fn long_bytes_are_cut() {
        assert_eq!(Value::Bytes(&[0xab; 17]).to_text(), "abababababababababababababababab…");
    }
}
