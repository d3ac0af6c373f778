//! Converts the fields of an outline to lines of text that can be compared: `VERS/AIR version = 2.6`.
//!
//! Layout fields are left out: an offset or size that changes because something before it grew is not a difference of
//! interest. The contents that it refers to are compared themselves.

use super::lines::{AlignedLine, align};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use unshade_core::outline::{self, unnumbered};
use unshade_core::{Field, OutlineSink, Reader, Value};
use unshade_metallib::Library;

/// A field and its value, as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FieldLine {
    path: String,
    value: String,
}

impl FieldLine {
    pub(super) fn new(path: &str, value: String) -> Self {
        Self { path: path.to_owned(), value }
    }
}

/// A field that was changed, added or removed. A moved field has the same value before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Path: names from the outermost field.
    pub field: String,
    /// Value before; absent if it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Value after; absent if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl FieldChange {
    /// Returns its outermost name, which is the tag for fields of functions.
    pub fn tag(&self) -> &str {
        self.field.split('/').next().unwrap_or_default()
    }
}

/// Tags that contain only offsets.
const OFFSET_TAGS: &[&str] = &["OFFT", "SOFF", "RFLT"];

/// Returns whether a leaf field is only an offset, a size or a count.
fn is_layout(parent: &str, name: &str) -> bool {
    match name {
        "count" => matches!(parent, "function list" | "RLST"),
        name => outline::is_layout(name),
    }
}

/// Summarizes bytes by their number and hash.
fn summary(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} bytes, {:016x}", bytes.len(), hasher.finish())
}

fn shown(field: &Field<'_>) -> String {
    match (&field.value, field.meaning.as_ref()) {
        (Value::Bytes(bytes), _) if bytes.len() > Value::SHOWN_BYTES => summary(bytes),
        (Value::None, meaning) => meaning.to_owned(),
        (value, "") => value.to_text(),
        (value, meaning) => format!("{} {meaning}", value.to_text()),
    }
}

/// The owner of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Whole,
    Function(u32),
    /// Compared elsewhere.
    Nobody,
}

/// Passes on the fields of a library with their owners.
struct LibrarySink<'a, 't> {
    file: Reader<'a>,
    /// Names of the open fields.
    names: Vec<String>,
    /// For each open field, the owner of its children, and the number of outer names that their paths omit.
    open: Vec<(Owner, usize)>,
    take: &'t mut dyn FnMut(Owner, FieldLine),
}

impl LibrarySink<'_, '_> {
    /// Returns the owner of a field's children, for fields of the two outermost levels.
    fn owner_of(&self, field: &Field<'_>) -> Owner {
        let number = |text: &str| text.rsplit(' ').next().and_then(|n| n.parse().ok()).map(Owner::Function);
        let function = match (self.open.as_slice(), self.names.first().map(String::as_str)) {
            ([], _) => (field.name == "bitcode").then_some(Owner::Nobody),
            ([_], Some("function list" | "public metadata" | "private metadata"))
                if field.name.starts_with("function ") =>
            {
                number(&field.name)
            }
            ([_], Some("RLST")) if field.meaning.starts_with("function ") => number(&field.meaning),
            _ => None,
        };
        function.unwrap_or_else(|| self.outer().0)
    }

    fn outer(&self) -> (Owner, usize) {
        self.open.last().copied().unwrap_or((Owner::Whole, 0))
    }

    fn put(&mut self, name: &str, value: String) {
        let (owner, hidden) = self.outer();
        let mut path = self.names.get(hidden..).unwrap_or_default().join("/");
        path.push_str(if path.is_empty() { "" } else { "/" });
        path.push_str(name);
        (self.take)(owner, FieldLine { path, value });
    }

    /// Summarizes a reflection buffer without the padding before it, which depends on its offset.
    fn buffer(&self, range: &Range<u64>) -> String {
        let start = range.start.saturating_sub(self.file.base());
        let part = self.file.part(start, range.end.saturating_sub(range.start));
        let bytes = part.map_or(&[][..], |part| part.data());
        let start = bytes.windows(4).position(|window| window == b"AIRR");
        summary(bytes.get(start.unwrap_or(0)..).unwrap_or_default())
    }
}

impl OutlineSink for LibrarySink<'_, '_> {
    fn open(&mut self, field: Field<'_>) {
        let (outer, hidden) = self.outer();
        let owner = self.owner_of(&field);
        let mut inner = (owner, if owner == outer { hidden } else { self.names.len() + 1 });
        if owner != Owner::Nobody {
            if field.name == "RBUF" {
                let value = self.buffer(&field.range);
                self.put("RBUF", value);
                inner.0 = Owner::Nobody;
            } else if OFFSET_TAGS.contains(&field.name.as_ref()) {
                inner.0 = Owner::Nobody;
            } else if self.names.last().is_some_and(|last| last == "header extension") {
                // Most tags in there contain only layout, so only their presence counts.
                self.put(&field.name, String::new());
            }
        }
        self.open.push(inner);
        self.names.push(unnumbered(&field.name).to_owned());
    }

    fn close(&mut self) {
        self.open.pop();
        self.names.pop();
    }

    fn leaf(&mut self, field: Field<'_>) {
        let parent = self.names.last().map_or("", String::as_str);
        if self.outer().0 != Owner::Nobody && !is_layout(parent, &field.name) {
            let value = shown(&field);
            self.put(unnumbered(&field.name), value);
        }
    }
}

fn walk_library(library: &Library<'_>, take: &mut dyn FnMut(Owner, FieldLine)) {
    let mut sink = LibrarySink { file: library.file(), names: Vec::new(), open: Vec::new(), take };
    unshade_metallib::outline::library(library, &mut sink);
}

/// Returns the fields of a library as a whole, and the hash of each function's fields.
pub(super) fn of_library(library: &Library<'_>) -> (Vec<FieldLine>, BTreeMap<u32, u64>) {
    let mut lines = Vec::new();
    let mut functions: BTreeMap<u32, DefaultHasher> = BTreeMap::new();
    walk_library(library, &mut |owner, line| match owner {
        Owner::Whole => lines.push(line),
        // Functions are matched by name, so it can't differ.
        Owner::Function(_) if line.path == "NAME/text" => {}
        Owner::Function(index) => line.hash(functions.entry(index).or_default()),
        Owner::Nobody => {}
    });
    (lines, functions.into_iter().map(|(index, hasher)| (index, hasher.finish())).collect())
}

/// Returns the fields of some functions of a library.
pub(super) fn of_functions(library: &Library<'_>, wanted: &BTreeSet<u32>) -> BTreeMap<u32, Vec<FieldLine>> {
    let mut functions: BTreeMap<u32, Vec<FieldLine>> = BTreeMap::new();
    if !wanted.is_empty() {
        walk_library(library, &mut |owner, line| {
            if let Owner::Function(index) = owner
                && wanted.contains(&index)
                && line.path != "NAME/text"
            {
                functions.entry(index).or_default().push(line);
            }
        });
    }
    functions
}

/// Collects the fields of each outermost field.
#[derive(Default)]
struct PartSink {
    names: Vec<String>,
    parts: Vec<(String, Vec<FieldLine>)>,
}

impl OutlineSink for PartSink {
    fn open(&mut self, field: Field<'_>) {
        if self.names.is_empty() {
            self.parts.push((field.name.to_string(), Vec::new()));
        }
        self.names.push(unnumbered(&field.name).to_owned());
    }

    fn close(&mut self) {
        self.names.pop();
    }

    fn leaf(&mut self, field: Field<'_>) {
        let parent = self.names.last().map_or("", String::as_str);
        let Some((_, lines)) = self.parts.last_mut().filter(|_| !is_layout(parent, &field.name)) else {
            return;
        };
        let mut path = self.names.get(1..).unwrap_or_default().join("/");
        path.push_str(if path.is_empty() { "" } else { "/" });
        path.push_str(unnumbered(&field.name));
        lines.push(FieldLine { path, value: shown(&field) });
    }
}

/// Returns the fields of each outermost field of an outline, in file order.
pub(super) fn of_parts(walk: impl FnOnce(&mut dyn OutlineSink)) -> Vec<(String, Vec<FieldLine>)> {
    let mut sink = PartSink::default();
    walk(&mut sink);
    sink.parts.retain(|(name, _)| name != "padding");
    sink.parts
}

/// Returns the changes between two lists of fields.
pub(super) fn changes(before: &[FieldLine], after: &[FieldLine]) -> Vec<FieldChange> {
    let text = |line: &FieldLine| format!("{} = {}", line.path, line.value);
    let (one, two): (Vec<String>, Vec<String>) =
        (before.iter().map(text).collect(), after.iter().map(text).collect());
    let Some(steps) = align(one.iter().map(String::as_str), two.iter().map(String::as_str)) else {
        let note = |lines: &[FieldLine]| Some(format!("{} fields, too many to compare", lines.len()));
        return vec![FieldChange { field: String::new(), before: note(before), after: note(after) }];
    };
    let mut changes: Vec<FieldChange> = Vec::new();
    // Changes from here on belong to one run, in which a removed and an added field may be one changed field.
    let mut run = 0;
    for step in steps {
        match step {
            AlignedLine::Same(..) => run = changes.len(),
            AlignedLine::Removed(at) => changes.extend(before.get(at).map(|line| FieldChange {
                field: line.path.clone(),
                before: Some(line.value.clone()),
                after: None,
            })),
            AlignedLine::Added(at) => {
                let Some(line) = after.get(at) else { continue };
                let open = changes.iter_mut().skip(run);
                match open.into_iter().find(|change| change.after.is_none() && change.field == line.path) {
                    Some(change) => change.after = Some(line.value.clone()),
                    None => changes.push(FieldChange {
                        field: line.path.clone(),
                        before: None,
                        after: Some(line.value.clone()),
                    }),
                }
            }
        }
    }
    merge_moved(changes)
}

/// Merges a removed and an equal added field into one change: the field has moved.
fn merge_moved(changes: Vec<FieldChange>) -> Vec<FieldChange> {
    let mut came: BTreeMap<(String, String), usize> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.before.is_none()) {
        *came.entry((change.field.clone(), change.after.clone().unwrap_or_default())).or_default() += 1;
    }
    let mut moved: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut merged: Vec<FieldChange> = Vec::with_capacity(changes.len());
    for mut change in changes.iter().filter(|change| change.before.is_some()).cloned() {
        let key = (change.field.clone(), change.before.clone().unwrap_or_default());
        if let Some(count) = came.get_mut(&key).filter(|count| change.after.is_none() && **count > 0) {
            *count -= 1;
            *moved.entry(key).or_default() += 1;
            change.after.clone_from(&change.before);
        }
        merged.push(change);
    }
    if moved.is_empty() {
        return changes;
    }
    for change in changes.into_iter().filter(|change| change.before.is_none()) {
        let key = (change.field.clone(), change.after.clone().unwrap_or_default());
        match moved.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => merged.push(change),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<FieldLine> {
        let line = |part: &str| part.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
        text.split_whitespace().filter_map(line).map(|(path, value)| FieldLine { path, value }).collect()
    }

    fn changed(before: &str, after: &str) -> Vec<String> {
        let show = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let changes = changes(&lines(before), &lines(after)).into_iter();
        changes
            .map(|change| format!("{}:{}>{}", change.field, show(change.before), show(change.after)))
            .collect()
    }

    #[test]
    fn values_change_and_elements_come_and_go() {
        assert_eq!(changed("a=1 b=2 c=3", "a=1 b=5 c=3"), ["b:2>5"]);
        assert_eq!(changed("a=1 b=2", "a=1 n=1 b=2"), ["n:->1"]);
        assert_eq!(changed("a=1 b=2 b=3", "b=3"), ["a:1>-", "b:2>-"]);
        assert_eq!(changed("x=1 x=2 x=3", "x=1 x=9 x=2 x=3"), ["x:->9"]);
        assert!(changed("a=1", "a=1").is_empty());
        assert_eq!(changed("m=1 a=1 b=2", "a=1 b=2 m=1"), ["m:1>1"]);
    }
}
