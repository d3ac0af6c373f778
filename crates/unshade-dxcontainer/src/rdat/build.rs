//! Rebuilding RDAT: from records that hold what they refer to, to the buffers with it.
//!
//! DXC adds strings, lists and bytes to their buffers when it first encounters them. The order of the buffers is
//! therefore the order in which it visits a library: the names of resources, the names of functions that are called
//! but not defined, then each function with everything it refers to, then the subobjects. Whatever a record refers to
//! comes before the list that refers to it. Each string, list and run of bytes is stored once; the empty string comes
//! first.
//!
//! The called functions are in the order of their declarations. RDAT shows that order only through the lists of the
//! functions that call them; where these allow several orders, the first caller decides.
//!
//! Sources: DXC's `DxilContainerAssembler.cpp` and `DxilRDATBuilder.cpp`.

use super::{
    FieldKind, NULL, Rdat, RdatContent, RdatKind, RdatPart, Row, Table, field_kind, fields, selector,
};
use crate::bytes::{Bytes, len32, pad4};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

/// Maximum size of all references when resolved, relative to RDAT ...
const EXPANSION_RATIO: usize = 16;

/// ... and in bytes, before they are kept as they are: a thousand records may all refer to the same long list.
const EXPANSION_FLOOR: usize = 1 << 16;

/// The order of the parts that DXC orders; the other tables follow by kind.
const ORDER: [RdatKind; 5] = [
    RdatKind::STRING_BUFFER,
    RdatKind::RESOURCE_TABLE,
    RdatKind::FUNCTION_TABLE,
    RdatKind::INDEX_ARRAYS,
    RdatKind::RAW_BYTES,
];

/// The fields of a node record in the order in which DXC fills them: inputs before outputs.
const NODE_SHADER_FIELDS: [usize; 5] = [0, 1, 2, 4, 3];

/// The value of a field, with references resolved.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ResolvedValue {
    /// A number, or a dangling reference.
    Number(u32),
    /// A string of the string buffer.
    Text(Vec<u8>),
    /// A list of strings.
    Texts(Vec<Vec<u8>>),
    /// A list of numbers.
    List(Vec<u32>),
    /// Bytes of the raw byte buffer; the next field has their size.
    Bytes(Vec<u8>),
}

impl ResolvedValue {
    fn number(&self) -> Option<u32> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Number(_) => 4,
            Self::Text(bytes) | Self::Bytes(bytes) => bytes.len(),
            Self::Texts(texts) => {
                texts.iter().fold(0, |sum, text| sum.saturating_add(text.len()).saturating_add(4))
            }
            Self::List(list) => list.len().saturating_mul(4),
        }
    }
}

/// A record with its references resolved.
#[derive(Clone, Debug, Default)]
pub(super) struct ResolvedRow {
    pub(super) values: Vec<ResolvedValue>,
    pub(super) extra: Bytes,
}

/// A part of RDAT with its references resolved.
#[derive(Clone, Debug)]
pub(super) enum ResolvedPart {
    /// A table.
    Table {
        /// The kind of its records.
        kind: RdatKind,
        /// The size of a record.
        stride: u32,
        /// The records.
        rows: Vec<ResolvedRow>,
        /// The bytes after the records.
        tail: Bytes,
    },
    /// A buffer to be filled from the records.
    Buffer(RdatKind),
    /// A part to be kept as it is. If it is a buffer, its contents are reused and extended.
    Kept(RdatKind, RdatContent),
}

impl ResolvedPart {
    fn kind(&self) -> RdatKind {
        match self {
            Self::Table { kind, .. } | Self::Buffer(kind) | Self::Kept(kind, _) => *kind,
        }
    }
}

pub(super) fn is_buffer(kind: RdatKind) -> bool {
    [RdatKind::STRING_BUFFER, RdatKind::INDEX_ARRAYS, RdatKind::RAW_BYTES].contains(&kind)
}

/// Returns the kind of a field in a record with these values.
pub(super) fn kind_of(table: RdatKind, index: usize, values: &[ResolvedValue]) -> FieldKind {
    let selected = values.get(selector(table)).and_then(ResolvedValue::number).unwrap_or_default();
    field_kind(table, index, selected)
}

impl Rdat {
    /// Rebuilds the buffers and offsets from the records, in DXC's order. Contents of the buffers that no record
    /// refers to are lost.
    ///
    /// ```
    /// use unshade_dxcontainer::rdat::{Rdat, RdatContent, RdatKind, RdatPart, Row, Table};
    /// # use unshade_dxcontainer::bytes::Bytes;
    /// // A resource whose name starts in the middle of a string that nothing else uses.
    /// let row = Row { values: vec![0, 11, 0, 0, 1, 1, 3, 0], extra: Bytes::default() };
    /// let table = Table { stride: 32, rows: vec![row], tail: Bytes::default() };
    /// let part = |kind, content| RdatPart { offset: 0, kind, content };
    /// let mut rdat = Rdat::new(vec![
    ///     part(RdatKind::STRING_BUFFER, RdatContent::Strings(Bytes(b"\0oldname\0\0\0\0".to_vec()))),
    ///     part(RdatKind::RESOURCE_TABLE, RdatContent::Table(table)),
    /// ]);
    /// rdat.rebuild();
    /// assert_eq!(rdat.strings(), b"\0dname\0\0");
    /// ```
    pub fn rebuild(&mut self) {
        if let Some(parts) = self.resolve() {
            self.parts = build(parts);
            self.lay_out();
        }
    }

    /// Resolves the references of all records; `None` if that would be too large.
    pub(super) fn resolve(&self) -> Option<Vec<ResolvedPart>> {
        let mut budget = self.expansion_budget();
        let mut parts = Vec::new();
        for part in &self.parts {
            parts.push(match &part.content {
                _ if is_buffer(part.kind) => ResolvedPart::Buffer(part.kind),
                RdatContent::Table(table) => {
                    let mut rows = Vec::with_capacity(table.rows.len());
                    for row in &table.rows {
                        let values = self.resolve_values(part.kind, row, &mut budget)?;
                        rows.push(ResolvedRow { values, extra: row.extra.clone() });
                    }
                    ResolvedPart::Table {
                        kind: part.kind,
                        stride: table.stride,
                        rows,
                        tail: table.tail.clone(),
                    }
                }
                content => ResolvedPart::Kept(part.kind, content.clone()),
            });
        }
        Some(parts)
    }

    fn expansion_budget(&self) -> usize {
        let size = |part: &RdatPart| match &part.content {
            RdatContent::Strings(bytes) | RdatContent::Raw(bytes) => bytes.0.len(),
            RdatContent::Indices(indices) => indices.len().saturating_mul(4),
            RdatContent::Table(table) => table.rows.len().saturating_mul(table.stride as usize),
        };
        let sum = self.parts.iter().map(size).fold(0usize, usize::saturating_add);
        sum.saturating_mul(EXPANSION_RATIO).saturating_add(EXPANSION_FLOOR)
    }

    fn resolve_values(&self, table: RdatKind, row: &Row, budget: &mut usize) -> Option<Vec<ResolvedValue>> {
        let mut values = Vec::with_capacity(row.values.len());
        for (index, value) in row.values.iter().enumerate() {
            let next = row.values.get(index.saturating_add(1)).copied().unwrap_or_default();
            let value = self.resolve_value(kind_of(table, index, &values), *value, next, *budget)?;
            *budget = budget.checked_sub(value.size())?;
            values.push(value);
        }
        Some(values)
    }

    fn resolve_value(&self, kind: FieldKind, value: u32, next: u32, budget: usize) -> Option<ResolvedValue> {
        let list = |position| self.list(position).filter(|list| list.len().saturating_mul(4) <= budget);
        let resolved = match kind {
            FieldKind::Text => self.text(value).map(|text| ResolvedValue::Text(text.to_vec())),
            FieldKind::NumberArray | FieldKind::RecordArray(_) => {
                if value != NULL && self.list(value).is_some() && list(value).is_none() {
                    return None;
                }
                list(value).map(|list| ResolvedValue::List(list.to_vec()))
            }
            FieldKind::TextArray => match list(value) {
                Some(list) => {
                    let mut left = budget;
                    let mut texts = Vec::with_capacity(list.len());
                    for offset in list {
                        let Some(text) = self.text(*offset) else {
                            return Some(ResolvedValue::Number(value));
                        };
                        left = left.checked_sub(text.len())?;
                        texts.push(text.to_vec());
                    }
                    Some(ResolvedValue::Texts(texts))
                }
                None => None,
            },
            FieldKind::BytesOffset if next > 0 => {
                self.raw_bytes(value, next).map(|bytes| ResolvedValue::Bytes(bytes.to_vec()))
            }
            _ => None,
        };
        Some(resolved.unwrap_or(ResolvedValue::Number(value)))
    }
}

/// Builds the parts; their offsets remain to be assigned.
pub(super) fn build(mut parts: Vec<ResolvedPart>) -> Vec<RdatPart> {
    let mut pool = BufferPool::default();
    for part in &mut parts {
        pool.seed(part);
    }
    if parts.iter().any(|part| matches!(part, ResolvedPart::Buffer(RdatKind::STRING_BUFFER))) {
        // The buffer starts with the empty string, even if nothing uses it.
        pool.text(&[]);
    }
    walk(&mut parts, &mut pool);
    let mut built: Vec<RdatPart> = parts
        .into_iter()
        .map(|part| {
            let kind = part.kind();
            let content = match part {
                ResolvedPart::Kept(_, content) => content,
                ResolvedPart::Buffer(_) => pool.take(kind),
                ResolvedPart::Table { stride, rows, tail, .. } => {
                    let row = |row: ResolvedRow| Row {
                        values: row.values.iter().map(|value| value.number().unwrap_or(NULL)).collect(),
                        extra: row.extra,
                    };
                    RdatContent::Table(Table { stride, rows: rows.into_iter().map(row).collect(), tail })
                }
            };
            RdatPart { offset: 0, kind, content }
        })
        .collect();
    for kind in [RdatKind::STRING_BUFFER, RdatKind::INDEX_ARRAYS, RdatKind::RAW_BYTES] {
        if pool.holds(kind) && !built.iter().any(|part| part.kind == kind) {
            let rank = |kind: RdatKind| ORDER.iter().position(|other| *other == kind).unwrap_or(ORDER.len());
            let at = built.iter().position(|part| rank(part.kind) > rank(kind)).unwrap_or(built.len());
            built.insert(at, RdatPart { offset: 0, kind, content: pool.take(kind) });
        }
    }
    built
}

/// Adds everything to the buffers in DXC's order.
fn walk(parts: &mut [ResolvedPart], pool: &mut BufferPool) {
    let mut walker = RecordWalker { parts, pool };
    walker.table(RdatKind::RESOURCE_TABLE);
    for name in walker.declarations() {
        walker.pool.text(&name);
    }
    walker.table(RdatKind::FUNCTION_TABLE);
    walker.table(RdatKind::SUBOBJECT_TABLE);
    // Then whatever nothing refers to.
    let kinds: Vec<RdatKind> = walker.parts.iter().map(ResolvedPart::kind).collect();
    kinds.into_iter().for_each(|kind| walker.table(kind));
}

struct RecordWalker<'p> {
    parts: &'p mut [ResolvedPart],
    pool: &'p mut BufferPool,
}

impl RecordWalker<'_> {
    fn rows(&mut self, table: RdatKind) -> Option<&mut Vec<ResolvedRow>> {
        self.parts.iter_mut().find_map(|part| match part {
            ResolvedPart::Table { kind, rows, .. } if *kind == table => Some(rows),
            _ => None,
        })
    }

    fn table(&mut self, table: RdatKind) {
        let count = self.rows(table).map_or(0, |rows| rows.len());
        for index in 0..count {
            self.row(table, len32(index));
        }
    }

    /// Adds a record and everything it refers to. This ends because tables only refer to other tables; a record that
    /// was already visited holds only numbers.
    fn row(&mut self, table: RdatKind, index: u32) {
        let Some(row) = self.rows(table).and_then(|rows| rows.get_mut(index as usize)) else { return };
        let mut values = core::mem::take(&mut row.values);
        let plain: Vec<usize> = (0..values.len()).collect();
        let order = match table {
            RdatKind::NODE_SHADER_INFO_TABLE => NODE_SHADER_FIELDS.as_slice(),
            _ => &plain,
        };
        let done = values.iter().all(|value| matches!(value, ResolvedValue::Number(_)));
        for index in order.iter().copied() {
            let kind = kind_of(table, index, &values);
            let Some(value) = values.get_mut(index) else { continue };
            match (kind, &*value) {
                (FieldKind::Record(to), ResolvedValue::Number(record)) if *record != NULL => {
                    self.row(to, *record);
                }
                (FieldKind::RecordArray(to), ResolvedValue::List(list)) if !done => {
                    list.iter().for_each(|record| self.row(to, *record));
                }
                _ => {}
            }
            *value = ResolvedValue::Number(self.pool.add(value));
        }
        if let Some(row) = self.rows(table).and_then(|rows| rows.get_mut(index as usize)) {
            row.values = values;
        }
    }

    /// Returns the names of the functions that are called but not defined, in declaration order.
    fn declarations(&mut self) -> Vec<Vec<u8>> {
        let position =
            fields(RdatKind::FUNCTION_TABLE).iter().position(|field| field.kind == FieldKind::TextArray);
        let rows = self.rows(RdatKind::FUNCTION_TABLE).map(|rows| rows.as_slice()).unwrap_or_default();
        let lists = rows.iter().filter_map(|row| match row.values.get(position?) {
            Some(ResolvedValue::Texts(texts)) => Some(texts.as_slice()),
            _ => None,
        });
        merge(lists)
    }
}

/// Returns one order that agrees with all lists. Where they allow several orders or contradict each other, the first
/// list decides.
fn merge<'v>(lists: impl Iterator<Item = &'v [Vec<u8>]>) -> Vec<Vec<u8>> {
    let mut numbers: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut names: Vec<&[u8]> = Vec::new();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for list in lists {
        let mut last = None;
        for name in list {
            let number = *numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len().saturating_sub(1)
            });
            if let Some(last) = last.filter(|last| *last != number) {
                pairs.insert((last, number));
            }
            last = Some(number);
        }
    }
    let mut before = vec![0usize; names.len()];
    for (_, after) in &pairs {
        if let Some(count) = before.get_mut(*after) {
            *count = count.saturating_add(1);
        }
    }
    let mut left: BTreeSet<usize> = (0..names.len()).collect();
    let mut ready: BTreeSet<usize> =
        left.iter().copied().filter(|number| before.get(*number) == Some(&0)).collect();
    let mut merged = Vec::with_capacity(names.len());
    // If lists contradict each other, nothing may be ready.
    while let Some(number) = ready.pop_first().or_else(|| left.first().copied()) {
        if !left.remove(&number) {
            continue;
        }
        merged.extend(names.get(number).map(|name| name.to_vec()));
        for (_, after) in pairs.range((number, 0)..(number.saturating_add(1), 0)) {
            if let Some(count) = before.get_mut(*after) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    ready.insert(*after);
                }
            }
        }
    }
    merged
}

/// The buffers while they are filled, and the offset of each thing in them.
#[derive(Default)]
pub(super) struct BufferPool {
    strings: Vec<u8>,
    indices: Vec<u32>,
    raw: Vec<u8>,
    texts: BTreeMap<Vec<u8>, u32>,
    lists: BTreeMap<Vec<u32>, u32>,
    runs: BTreeMap<Vec<u8>, u32>,
    /// Whether strings were added, so that the buffer must be padded again.
    strings_grew: bool,
    /// Whether raw bytes were added, so that the buffer must be padded again.
    raw_grew: bool,
}

impl BufferPool {
    /// Takes over the contents of a buffer that is kept.
    fn seed(&mut self, part: &mut ResolvedPart) {
        let ResolvedPart::Kept(kind, content) = part else { return };
        match content {
            RdatContent::Strings(bytes) if *kind == RdatKind::STRING_BUFFER => {
                self.strings = core::mem::take(&mut bytes.0);
                self.texts = text_offsets(&self.strings).map(|(text, at)| (text.to_vec(), at)).collect();
            }
            RdatContent::Indices(indices) if *kind == RdatKind::INDEX_ARRAYS => {
                self.indices = core::mem::take(indices);
                self.lists = list_positions(&self.indices).map(|(list, at)| (list.to_vec(), at)).collect();
            }
            RdatContent::Raw(bytes) if *kind == RdatKind::RAW_BYTES => {
                self.raw = core::mem::take(&mut bytes.0);
            }
            _ => return,
        }
        *part = ResolvedPart::Buffer(*kind);
    }

    fn add(&mut self, value: &ResolvedValue) -> u32 {
        match value {
            ResolvedValue::Number(number) => *number,
            ResolvedValue::Text(text) => self.text(text),
            ResolvedValue::Texts(texts) => {
                let offsets: Vec<u32> = texts.iter().map(|text| self.text(text)).collect();
                self.list(&offsets)
            }
            ResolvedValue::List(list) => self.list(list),
            ResolvedValue::Bytes(bytes) => self.bytes(bytes),
        }
    }

    pub(super) fn text(&mut self, text: &[u8]) -> u32 {
        if self.strings.is_empty() {
            self.strings.push(0);
            self.texts.insert(Vec::new(), 0);
            self.strings_grew = true;
        }
        if let Some(offset) = self.texts.get(text) {
            return *offset;
        }
        if !self.strings_grew {
            // The padding of a buffer that is kept is dropped, but not the NUL of its last string.
            let used =
                self.strings.iter().rposition(|byte| *byte != 0).map_or(1, |last| last.saturating_add(2));
            self.strings.resize(used, 0);
            self.strings_grew = true;
        }
        let offset = len32(self.strings.len());
        self.strings.extend_from_slice(text);
        self.strings.push(0);
        self.texts.insert(text.to_vec(), offset);
        offset
    }

    pub(super) fn list(&mut self, list: &[u32]) -> u32 {
        if let Some(position) = self.lists.get(list) {
            return *position;
        }
        let position = len32(self.indices.len());
        self.indices.push(len32(list.len()));
        self.indices.extend_from_slice(list);
        self.lists.insert(list.to_vec(), position);
        position
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> u32 {
        if let Some(position) = self.runs.get(bytes) {
            return *position;
        }
        let position = len32(self.raw.len());
        self.raw.extend_from_slice(bytes);
        self.runs.insert(bytes.to_vec(), position);
        self.raw_grew = true;
        position
    }

    pub(super) fn holds(&self, kind: RdatKind) -> bool {
        match kind {
            RdatKind::STRING_BUFFER => !self.strings.is_empty(),
            RdatKind::INDEX_ARRAYS => !self.indices.is_empty(),
            _ => !self.raw.is_empty(),
        }
    }

    pub(super) fn take(&mut self, kind: RdatKind) -> RdatContent {
        let (mut bytes, grew) = match kind {
            RdatKind::INDEX_ARRAYS => return RdatContent::Indices(core::mem::take(&mut self.indices)),
            RdatKind::STRING_BUFFER => (core::mem::take(&mut self.strings), self.strings_grew),
            _ => (core::mem::take(&mut self.raw), self.raw_grew),
        };
        if grew {
            pad4(&mut bytes, 0);
        }
        match kind {
            RdatKind::STRING_BUFFER => RdatContent::Strings(Bytes(bytes)),
            _ => RdatContent::Raw(Bytes(bytes)),
        }
    }
}

/// Returns the NUL-terminated strings of a string buffer with their offsets, in reverse, so that a map keeps the
/// first of equal strings.
pub(super) fn text_offsets(strings: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let mut found = Vec::new();
    let mut at = 0usize;
    for text in strings.split(|byte| *byte == 0) {
        let end = at.saturating_add(text.len());
        if end < strings.len() {
            found.push((text, len32(at)));
        }
        at = end.saturating_add(1);
    }
    found.into_iter().rev()
}

/// Returns the consecutive lists of the index arrays with their positions, in reverse.
pub(super) fn list_positions(indices: &[u32]) -> impl Iterator<Item = (&[u32], u32)> {
    let mut found = Vec::new();
    let mut at = 0usize;
    while let Some((count, rest)) = indices.get(at..).and_then(<[u32]>::split_first) {
        let Some(list) = rest.get(..*count as usize) else { break };
        found.push((list, len32(at)));
        at = at.saturating_add(list.len()).saturating_add(1);
    }
    found.into_iter().rev()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(lists: &[&[&str]]) -> Vec<Vec<u8>> {
        let lists: Vec<Vec<Vec<u8>>> =
            lists.iter().map(|list| list.iter().map(|name| name.as_bytes().to_vec()).collect()).collect();
        merge(lists.iter().map(Vec::as_slice))
    }

    #[test]
    fn declarations_are_in_an_order_that_fits_all_callers() {
        assert_eq!(names(&[&["b", "c"], &["a", "b"]]), [b"a", b"b", b"c"]);
        assert_eq!(names(&[&["c"], &["a"]]), [b"c", b"a"]);
        // Callers that contradict each other.
        assert_eq!(names(&[&["a", "b"], &["b", "a"]]), [b"a", b"b"]);
    }

    #[test]
    fn references_that_expand_too_much_are_kept() {
        // A thousand functions that all refer to the same list of ten thousand resources.
        let mut indices = vec![10_000];
        indices.extend(0..10_000);
        let row = Row { values: vec![0, 0, 0, NULL, 5], extra: Bytes::default() };
        let table = Table { stride: 20, rows: vec![row; 1000], tail: Bytes::default() };
        let part = |kind, content| RdatPart { offset: 0, kind, content };
        let rdat = Rdat::new(vec![
            part(RdatKind::FUNCTION_TABLE, RdatContent::Table(table)),
            part(RdatKind::INDEX_ARRAYS, RdatContent::Indices(indices)),
        ]);
        assert!(rdat.resolve().is_none());
        let mut rebuilt = rdat.clone();
        rebuilt.rebuild();
        assert_eq!(rebuilt, rdat);
    }
}
