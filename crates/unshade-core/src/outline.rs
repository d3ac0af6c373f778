//! The outline of a file: the meaning of every byte range.
//!
//! A format crate *emits* its outline to an [`OutlineSink`] as a walk over a tree, parents before children, in file
//! order, so that the dump of a file with a million fields needs constant memory. [`TreeBuilder`] collects the walk
//! into a tree of [`Node`]s, and [`Coverage`] checks that every byte was attributed to a field.

use crate::FourCc;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// The value of a field, before it is formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The field has no value of its own (a group, padding).
    None,
    /// A number shown in decimal: a count, a version.
    Number(u64),
    /// A number shown in hex: an offset, a size, flags.
    Hex(u64),
    /// A four-character code.
    FourCc(FourCc),
    /// Text from the file; escaped when shown.
    Text(&'a [u8]),
    /// Raw bytes; only the first [`Value::SHOWN_BYTES`] are shown.
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// Maximum number of bytes that [`Value::Bytes`] shows.
    pub const SHOWN_BYTES: usize = 16;

    /// Formats the value; empty for [`Value::None`].
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

/// One field: a name, a value, the meaning of the value, and a byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name in the format's documentation.
    pub name: Cow<'a, str>,
    /// The value.
    pub value: Value<'a>,
    /// What the value means; may be empty. Already escaped.
    pub meaning: Cow<'a, str>,
    /// The bytes of the file. Where [`Field::bits`] is set, those that hold its bits: neighbours may share a byte.
    pub range: Range<u64>,
    /// The bits of the file, where the field is not made of whole bytes: bit 0 is the least significant one of byte 0.
    pub bits: Option<Range<u64>>,
}

impl<'a> Field<'a> {
    /// Creates a field without a meaning.
    pub fn new(name: impl Into<Cow<'a, str>>, value: Value<'a>, range: Range<u64>) -> Self {
        Self { name: name.into(), value, meaning: Cow::Borrowed(""), range, bits: None }
    }

    /// A field without a meaning in words that is made of bits. Its range is that of the bytes that hold them; the range
    /// of a field of no bits is empty.
    ///
    /// ```
    /// use unshade_core::{Field, Value};
    ///
    /// assert_eq!(Field::of_bits("width", Value::Number(3), 30..34).range, 3..5);
    /// assert_eq!(Field::of_bits("literal", Value::Number(1), 34..34).range, 4..4);
    /// ```
    pub fn of_bits(name: impl Into<Cow<'a, str>>, value: Value<'a>, bits: Range<u64>) -> Self {
        let start = bits.start >> 3;
        let end = if bits.is_empty() { start } else { bits.end.div_ceil(8) };
        Self { bits: Some(bits), ..Self::new(name, value, start..end) }
    }

    /// The bits of the field: [`Field::bits`], or those of its bytes.
    pub fn bit_range(&self) -> Range<u64> {
        let whole = || self.range.start.saturating_mul(8)..self.range.end.saturating_mul(8);
        self.bits.clone().unwrap_or_else(whole)
    }

    /// Creates a group: a field that only has children.
    pub fn group(name: impl Into<Cow<'a, str>>, range: Range<u64>) -> Self {
        Self::new(name, Value::None, range)
    }

    /// Sets what the value means.
    #[must_use]
    pub fn meaning(mut self, meaning: impl Into<Cow<'a, str>>) -> Self {
        self.meaning = meaning.into();
        self
    }
}

/// Returns the name of a field without its number: `function` for `function 12`.
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

/// Returns whether a field without children only describes the layout of the file (offsets, sizes). Such a field
/// changes when something before it grows, and has no meaning of its own. Decides by the names that the format crates
/// of this project use.
pub fn is_layout(name: &str) -> bool {
    match name {
        "code" | "size" | "offset" | "file size" | "padding" | "number of parts" | "ENDT" => true,
        // The section offsets in the header of a Metal library.
        "function list" | "public metadata" | "private metadata" | "bitcode" => true,
        name => name.starts_with("offset of ") || name.ends_with(" offset") || name.ends_with("Offset"),
    }
}

/// Receives the walk over an outline. The ranges of children are inside their parent's range and do not overlap; bytes
/// of a parent that no child covers belong to the parent itself.
pub trait OutlineSink {
    /// Opens a field that has children: everything up to the matching [`OutlineSink::close`] is inside it.
    fn open(&mut self, field: Field<'_>);

    /// Closes the innermost open field.
    fn close(&mut self);

    /// Returns whether the fields inside the innermost open field are wanted. If not, a walk may skip them: most
    /// callers want only some fields of a large file.
    fn wants_inside(&self) -> bool {
        true
    }

    /// Emits a field without children.
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
    /// [`Field::value`], formatted.
    pub value: String,
    /// See [`Field::meaning`].
    pub meaning: String,
    /// See [`Field::range`].
    pub range: Range<u64>,
    /// The fields inside this one.
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
    /// Returns the roots. Fields that are still open are closed first.
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

/// Counts which bits an outline attributes, without keeping the outline.
///
/// It holds the *top-level* promise that a dump makes: the roots follow each other without a gap or an overlap, and
/// children lie inside of their parents in order. [`Coverage::own_bits`] counts what of a parent no child covers, for
/// formats of which nothing may be left over.
#[derive(Debug, Default)]
pub struct Coverage {
    levels: Vec<Level>,
    /// The bit at which the next root has to start.
    next: u64,
    /// Bits in fields whose name is [`UNKNOWN`].
    unknown: u64,
    /// Bits of parents outside of their children.
    own: u64,
    faults: Vec<String>,
}

/// An open field. All positions are in bits.
#[derive(Debug)]
struct Level {
    /// The end of the last child; the start of the field if it has none.
    previous: u64,
    end: u64,
    /// Bits between children.
    gaps: u64,
    has_children: bool,
}

/// The name of a field that nobody has described.
pub const UNKNOWN: &str = "unknown";

/// A position in bits as a byte and, where it is inside of one, the bit.
fn place(bit: u64) -> String {
    match bit & 7 {
        0 => format!("{:#x}", bit >> 3),
        inside => format!("{:#x} bit {inside}", bit >> 3),
    }
}

impl Coverage {
    /// Creates a check of an outline that must start at `offset`.
    pub fn starting_at(offset: u64) -> Self {
        Self { next: offset.saturating_mul(8), ..Self::default() }
    }

    /// Number of bytes in fields named [`UNKNOWN`]; parts of a byte count as one in all.
    pub fn unknown_bytes(&self) -> u64 {
        self.unknown.div_ceil(8)
    }

    /// Number of bits that belong to a field with children and to none of the children.
    pub fn own_bits(&self) -> u64 {
        self.own
    }

    /// Returns messages for gaps, overlaps and fields outside their parent in a file that ends at `end`; empty if the
    /// outline is correct.
    pub fn finish(mut self, end: u64) -> Vec<String> {
        if self.next != end.saturating_mul(8) {
            self.fault(format!("outline ends at {}, the file at {end:#x}", place(self.next)));
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
        let Range { start, end } = field.bit_range();
        if field.name == UNKNOWN {
            self.unknown = self.unknown.saturating_add(end.saturating_sub(start));
        }
        match self.levels.last_mut() {
            None => {
                if start != self.next {
                    let next = place(self.next);
                    let start = place(start);
                    self.fault(format!(
                        "{}: starts at {start}, the one before it ended at {next}",
                        field.name
                    ));
                }
                self.next = end;
            }
            Some(parent) => {
                let (at, limit) = (parent.previous, parent.end);
                parent.gaps = parent.gaps.saturating_add(start.saturating_sub(at));
                parent.has_children = true;
                parent.previous = end;
                if start < at || end > limit || start > end {
                    let [start, end, at, limit] = [start, end, at, limit].map(place);
                    self.fault(format!("{}: {start}..{end} is not inside of {at}..{limit}", field.name));
                }
            }
        }
        self.levels.push(Level { previous: start, end, gaps: 0, has_children: false });
    }

    fn close(&mut self) {
        if let Some(level) = self.levels.pop().filter(|level| level.has_children) {
            let rest = level.end.saturating_sub(level.previous);
            self.own = self.own.saturating_add(level.gaps).saturating_add(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_reports_gaps_overlaps_and_fields_outside_their_parent() {
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
    fn coverage_counts_bits() {
        let walk = |children: &[(u64, u64)]| {
            let mut coverage = Coverage::starting_at(1);
            coverage.open(Field::group("root", 1..3));
            for &(start, end) in children {
                coverage.leaf(Field::of_bits("child", Value::None, start..end));
            }
            coverage.close();
            (coverage.own_bits(), coverage.finish(3).len())
        };
        assert_eq!(walk(&[]), (0, 0));
        assert_eq!(walk(&[(8, 11), (11, 11), (11, 24)]), (0, 0));
        assert_eq!(walk(&[(8, 11), (12, 23)]), (2, 0));
        assert_eq!(walk(&[(8, 12), (11, 24)]), (0, 1));
        assert_eq!(walk(&[(8, 25)]), (0, 1));
    }

    #[test]
    fn long_bytes_are_cut() {
        assert_eq!(Value::Bytes(&[0xab; 17]).to_text(), "abababababababababababababababab…");
    }
}
