//! Counts the fields, values and records of outlines.
//!
//! A *record* is a field with a number in its name or meaning, such as a function, together with its children; the
//! program itself is also one. The *signature* of a record is the combination of its values. Each distinct signature is
//! counted. Real files have few, and they are enough to find all dependencies between values, so memory is bounded for
//! any number of records.

use super::field_values::{OTHERS, Values};
use std::collections::HashMap;
use unshade_core::outline::{UNKNOWN, is_layout, unnumbered};
use unshade_core::{Field, OutlineSink, Value};

/// Maximum number of distinct fields; the others are only counted.
pub const MAX_FIELDS: usize = 1 << 14;
/// Maximum number of distinct signatures that are kept.
pub const MAX_SIGNATURES: usize = 1 << 14;
/// Maximum number of fields of a signature.
const MAX_FEATURES: usize = 256;
/// Maximum number of distinct values of a categorical field; of other fields only the presence counts.
pub(super) const MAX_CATEGORIES: usize = 16;
/// Maximum length of a name in bytes; longer names are truncated.
const MAX_NAME: usize = 64;
/// Maximum nesting depth of distinct fields.
const MAX_DEPTH: usize = 64;

/// Value in a signature: the field is present, with any value.
pub(super) const PRESENT: u32 = u32::MAX - 1;
/// Value in a signature: the field is present several times, with different values.
pub(super) const SEVERAL: u32 = u32::MAX - 2;

/// A field of a format, with counts over all files.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) parent: Option<u32>,
    pub(super) name: String,
    children: HashMap<String, u32>,
    pub(super) count: u64,
    pub(super) programs: u64,
    last_program: u64,
    pub(super) bytes: u64,
    /// Bytes that none of its children covers.
    pub(super) uncovered: u64,
    pub(super) is_group: bool,
    pub(super) is_layout: bool,
    pub(super) is_record: bool,
    pub(super) values: Values,
}

/// The fields of a record: pairs of field number and value number, sorted by field.
type Features = Vec<(u32, u32)>;

/// Number of records by kind and combination of values.
pub(super) type Signatures = HashMap<(u32, Features), u64>;

/// Counts over any number of files and programs.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    pub(super) files: u64,
    pub(super) programs: u64,
    pub(super) bytes: u64,
    pub(super) entries: Vec<Entry>,
    roots: HashMap<String, u32>,
    pub(super) signatures: Signatures,
    /// Whether merging signatures can't free enough room any more.
    is_full: bool,
    /// Number of records whose signature was not kept.
    pub(super) dropped: u64,
    /// Number of fields beyond the limits.
    pub(super) dropped_fields: u64,
}

impl Survey {
    /// Counts a program of a format. `walk` emits its outline.
    pub fn program(&mut self, format: &str, size: u64, walk: impl FnOnce(&mut dyn OutlineSink)) {
        self.programs += 1;
        self.bytes += size;
        let mut sink = SurveySink {
            survey: self,
            open: Vec::new(),
            records: Vec::new(),
            context: Vec::new(),
            skipped: 0,
        };
        sink.open(Field::group(format.to_owned(), 0..size));
        walk(&mut sink);
        while !sink.open.is_empty() {
            sink.close();
        }
    }

    /// Counts a file. Its programs are counted by themselves.
    pub fn file(&mut self) {
        self.files += 1;
    }

    /// Adds the counts of another survey. The order of merges matters only where limits are reached.
    pub fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.dropped += other.dropped;
        self.dropped_fields += other.dropped_fields;
        let mut numbers = Vec::with_capacity(other.entries.len());
        let mut values = Vec::with_capacity(other.entries.len());
        for entry in other.entries {
            let parent = entry.parent.map(|parent| numbers.get(parent as usize).copied().flatten());
            // Children of a field beyond the limit are beyond it as well.
            let own = match parent {
                Some(None) => None,
                Some(Some(parent)) => self.find(Some(parent), &entry.name),
                None => self.find(None, &entry.name),
            };
            numbers.push(own);
            let Some(own) = own.and_then(|own| self.entries.get_mut(own as usize)) else {
                self.dropped_fields += entry.count;
                values.push(Vec::new());
                continue;
            };
            own.count += entry.count;
            own.programs += entry.programs;
            own.bytes += entry.bytes;
            own.uncovered += entry.uncovered;
            own.is_group |= entry.is_group;
            own.is_layout |= entry.is_layout;
            own.is_record |= entry.is_record;
            // Program numbers of another survey mean nothing here.
            own.last_program = 0;
            values.push(own.values.merge(entry.values));
        }
        self.programs += other.programs;
        for ((kind, features), count) in other.signatures {
            let number = |field: u32| numbers.get(field as usize).copied().flatten();
            let moved = features.iter().filter_map(|&(field, value)| {
                let known = values.get(field as usize).and_then(|values| values.get(value as usize));
                Some((number(field)?, known.copied().unwrap_or(value)))
            });
            match number(kind) {
                Some(kind) => {
                    let mut moved: Features = moved.collect();
                    moved.sort_unstable();
                    self.count_signature(kind, moved, count);
                }
                None => self.dropped += count,
            }
        }
    }

    fn find(&mut self, parent: Option<u32>, name: &str) -> Option<u32> {
        let name = cut(name);
        let children = match parent {
            Some(parent) => &self.entries.get(parent as usize)?.children,
            None => &self.roots,
        };
        if let Some(&found) = children.get(name) {
            return Some(found);
        }
        if self.entries.len() >= MAX_FIELDS {
            return None;
        }
        let number = self.entries.len() as u32;
        self.entries.push(Entry { parent, name: name.to_owned(), ..Entry::default() });
        let children = match parent {
            Some(parent) => &mut self.entries.get_mut(parent as usize)?.children,
            None => &mut self.roots,
        };
        children.insert(name.to_owned(), number);
        Some(number)
    }

    fn count_signature(&mut self, kind: u32, features: Features, count: u64) {
        if let Some(known) = self.signatures.get_mut(&(kind, features.clone())) {
            *known += count;
            return;
        }
        if self.signatures.len() >= MAX_SIGNATURES && !self.is_full {
            // Drop the values of fields that turned out to have many, which merges signatures. If that frees too
            // little room, it is not tried again: it would visit all signatures for every record.
            self.signatures = self.categorical();
            self.is_full = self.signatures.len() > MAX_SIGNATURES / 2;
        }
        if self.signatures.len() >= MAX_SIGNATURES {
            self.dropped += count;
        } else {
            *self.signatures.entry((kind, features)).or_default() += count;
        }
    }

    /// Returns the signatures, with values only for categorical fields.
    pub(super) fn categorical(&self) -> Signatures {
        let mut merged = Signatures::new();
        for ((kind, features), count) in &self.signatures {
            let plain = features.iter().map(|&(field, value)| {
                let entry = self.entries.get(field as usize);
                let keeps = entry.is_some_and(Entry::is_categorical);
                (field, if keeps || value == SEVERAL { value } else { PRESENT })
            });
            *merged.entry((*kind, plain.collect())).or_default() += count;
        }
        merged
    }

    /// Returns whether a field is inside another one, at any depth.
    pub(super) fn is_inside(&self, field: u32, outer: u32) -> bool {
        let parent = |field: u32| self.entries.get(field as usize).and_then(|entry| entry.parent);
        std::iter::successors(parent(field), |&at| parent(at)).any(|at| at == outer)
    }

    /// Returns the path of a field: names from the outermost to its own.
    pub(super) fn path(&self, field: u32) -> String {
        self.path_below(field, None)
    }

    /// Returns the path of a field relative to an outer field, or the whole path if it is not inside that.
    pub(super) fn path_below(&self, field: u32, outer: Option<u32>) -> String {
        let mut names = Vec::new();
        let mut at = Some(field);
        while let Some(entry) =
            at.filter(|at| Some(*at) != outer).and_then(|at| self.entries.get(at as usize))
        {
            names.push(entry.name.as_str());
            at = entry.parent;
        }
        names.reverse();
        names.join("/")
    }
}

impl Entry {
    /// Returns whether it has few enough values to compare them individually.
    pub(super) fn is_categorical(&self) -> bool {
        !self.is_layout && !self.values.overflows() && (1..=MAX_CATEGORIES).contains(&self.values.len())
    }
}

/// Truncates a name to the maximum length.
fn cut(name: &str) -> &str {
    let end = (0..=MAX_NAME.min(name.len())).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    name.get(..end).unwrap_or_default()
}

/// A record that is not complete yet.
struct OpenRecord {
    kind: u32,
    features: Features,
}

/// A field that was opened and not closed yet.
struct OpenField {
    field: u32,
    is_record: bool,
    size: u64,
    covered: u64,
    has_children: bool,
}

/// Receives the outline of one program and adds it to a survey.
struct SurveySink<'s> {
    survey: &'s mut Survey,
    open: Vec<OpenField>,
    records: Vec<OpenRecord>,
    /// Values of the header, which count for every record of the program.
    context: Features,
    /// Number of open fields that are beyond the limits.
    skipped: usize,
}

impl SurveySink<'_> {
    /// Counts a child of the innermost open field and returns its number.
    fn count(&mut self, name: &str, field: &Field<'_>) -> Option<u32> {
        let size = field.range.end.saturating_sub(field.range.start);
        if let Some(open) = self.open.last_mut() {
            open.covered = open.covered.saturating_add(size);
            open.has_children = true;
        }
        let parent = self.open.last().map(|open| open.field);
        let number = if self.open.len() < MAX_DEPTH { self.survey.find(parent, name) } else { None };
        let programs = self.survey.programs;
        let Some(entry) = number.and_then(|number| self.survey.entries.get_mut(number as usize)) else {
            self.survey.dropped_fields += 1;
            return None;
        };
        entry.count += 1;
        entry.bytes += size;
        if entry.last_program != programs {
            entry.last_program = programs;
            entry.programs += 1;
        }
        number
    }

    fn feature(&mut self, field: u32, value: u32) {
        let in_header = self.open.get(1).and_then(|open| self.survey.entries.get(open.field as usize));
        let is_context = self.records.len() == 1 && in_header.is_some_and(|entry| entry.name == "header");
        let Some(record) = self.records.last_mut() else { return };
        if record.features.len() < MAX_FEATURES {
            record.features.push((field, value));
            if is_context {
                self.context.push((field, value));
            }
        }
    }

    fn end_record(&mut self) {
        let Some(OpenRecord { kind, mut features }) = self.records.pop() else { return };
        if !self.records.is_empty() {
            features.extend_from_slice(&self.context);
        }
        features.sort_unstable();
        features.dedup();
        // A field with several values gets the value `SEVERAL`.
        let mut plain: Features = Vec::with_capacity(features.len());
        for (field, value) in features {
            match plain.last_mut() {
                Some(last) if last.0 == field => last.1 = SEVERAL,
                _ => plain.push((field, value)),
            }
        }
        self.survey.count_signature(kind, plain, 1);
    }
}

/// Returns a name without numbers, which is the same for all fields of a kind.
fn kind_of(name: &str) -> &str {
    if name.starts_with('[') && name.ends_with(']') { "[]" } else { unnumbered(name) }
}

impl OutlineSink for SurveySink<'_> {
    fn open(&mut self, field: Field<'_>) {
        let name = kind_of(&field.name);
        let number = if self.skipped > 0 { None } else { self.count(name, &field) };
        let Some(number) = number else {
            self.skipped += 1;
            return;
        };
        let is_record = self.open.is_empty()
            || name.len() != field.name.len()
            || unnumbered(&field.meaning) != field.meaning;
        if !is_record {
            self.feature(number, PRESENT);
        }
        if let Some(entry) = self.survey.entries.get_mut(number as usize) {
            entry.is_group = true;
            entry.is_record |= is_record;
        }
        let size = field.range.end.saturating_sub(field.range.start);
        self.open.push(OpenField { field: number, is_record, size, covered: 0, has_children: false });
        if is_record {
            self.records.push(OpenRecord { kind: number, features: Vec::new() });
        }
    }

    fn close(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let Some(open) = self.open.pop() else { return };
        if open.is_record {
            self.end_record();
        }
        if let Some(entry) = self.survey.entries.get_mut(open.field as usize)
            && open.has_children
        {
            entry.uncovered += open.size.saturating_sub(open.covered);
        }
    }

    fn leaf(&mut self, field: Field<'_>) {
        if self.skipped > 0 {
            return;
        }
        // A leaf with a small number in its name keeps it: `slot 3` is not `slot 4`.
        let kind = kind_of(&field.name);
        let name = if field.name.len() <= kind.len() + 3 && kind != "[]" { &field.name } else { kind };
        let Some(number) = self.count(name, &field) else { return };
        let Some(entry) = self.survey.entries.get_mut(number as usize) else { return };
        entry.is_layout |=
            is_layout(&field.name) || field.meaning.starts_with("at 0x") || field.name == "padding";
        let value = entry.values.add(&field);
        if !entry.is_layout {
            let is_plain = field.name != UNKNOWN && value != OTHERS && has_value(&field);
            self.feature(number, if is_plain { value } else { PRESENT });
        }
    }
}

/// Returns whether a field has a value or a meaning.
fn has_value(field: &Field<'_>) -> bool {
    field.value != Value::None || !field.meaning.is_empty()
}
