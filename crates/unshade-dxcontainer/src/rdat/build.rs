//! RDAT built anew: records that say what they mean, and the buffers that come of them.
//!
//! DXC puts texts, lists and bytes into their buffers when it first meets them, so that the order of the buffers is the
//! order in which it walks a library: the names of resources, the names of functions that are called but not defined,
//! then each function with all that it leads to, then the subobjects. What a record leads to goes before the list that
//! leads there. Each text, list and run of bytes stands once; the empty text stands first.
//!
//! The order of the called functions is that of their declarations, of which RDAT shows no more than the lists of the
//! functions that call them: where these leave a choice, the caller that comes first decides.
//!
//! Source: DXC's `DxilContainerAssembler.cpp` and `DxilRDATBuilder.cpp`.

use super::{
    FieldKind, NULL, Rdat, RdatContent, RdatKind, RdatPart, Row, Table, field_kind, fields, selector,
};
use crate::bytes::{Bytes, len32, pad4};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

/// What references lead to may be this many times as large as RDAT, ...
const EXPANSION_RATIO: usize = 16;

/// ... or have so many bytes, before it is left where it stands: a thousand records may all name the same long list.
const EXPANSION_FLOOR: usize = 1 << 16;

/// The order of the parts as far as DXC has one; the other tables follow in the order of their numbers.
const ORDER: [RdatKind; 5] = [
    RdatKind::STRING_BUFFER,
    RdatKind::RESOURCE_TABLE,
    RdatKind::FUNCTION_TABLE,
    RdatKind::INDEX_ARRAYS,
    RdatKind::RAW_BYTES,
];

/// The fields of a node's record in the order in which DXC fills them: inputs before outputs.
const NODE_SHADER_FIELDS: [usize; 5] = [0, 1, 2, 4, 3];

/// The value of a field, with what it refers to in its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A number, or a reference that leads nowhere.
    Number(u32),
    /// Text of the string buffer.
    Text(Vec<u8>),
    /// A list of texts.
    Texts(Vec<Vec<u8>>),
    /// A list of numbers.
    List(Vec<u32>),
    /// Bytes of the raw bytes; the next field has their size.
    Bytes(Vec<u8>),
}

impl Value {
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

/// A record of such values.
#[derive(Clone, Debug, Default)]
pub(super) struct LooseRow {
    pub(super) values: Vec<Value>,
    pub(super) extra: Bytes,
}

/// A part of RDAT of such records.
#[derive(Clone, Debug)]
pub(super) enum LoosePart {
    /// A table.
    Table {
        /// Of what.
        kind: RdatKind,
        /// The size of a record.
        stride: u32,
        /// The records.
        rows: Vec<LooseRow>,
        /// What follows the records.
        tail: Bytes,
    },
    /// A buffer that is filled from the records.
    Buffer(RdatKind),
    /// A part as it is. Buffers are added to, and what they have is found in them.
    Kept(RdatKind, RdatContent),
}

impl LoosePart {
    fn kind(&self) -> RdatKind {
        match self {
            Self::Table { kind, .. } | Self::Buffer(kind) | Self::Kept(kind, _) => *kind,
        }
    }
}

pub(super) fn is_buffer(kind: RdatKind) -> bool {
    [RdatKind::STRING_BUFFER, RdatKind::INDEX_ARRAYS, RdatKind::RAW_BYTES].contains(&kind)
}

/// What a field says, in a record of these values.
pub(super) fn kind_of(table: RdatKind, index: usize, values: &[Value]) -> FieldKind {
    let selected = values.get(selector(table)).and_then(Value::number).unwrap_or_default();
    field_kind(table, index, selected)
}

impl Rdat {
    /// Builds the buffers and offsets anew from what the records say, in DXC's order; what is in the buffers and no
    /// record refers to is gone.
    ///
    /// ```
    /// use unshade_dxcontainer::rdat::{Rdat, RdatContent, RdatKind, RdatPart, Row, Table};
    /// # use unshade_dxcontainer::bytes::Bytes;
    /// // A resource whose name starts in the middle of a text that nothing else uses.
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
        if let Some(parts) = self.loosen() {
            self.parts = build(parts);
            self.lay_out();
        }
    }

    /// Records with what they refer to in its place; none if that is too large.
    pub(super) fn loosen(&self) -> Option<Vec<LoosePart>> {
        let mut budget = self.expansion_budget();
        let mut parts = Vec::new();
        for part in &self.parts {
            parts.push(match &part.content {
                _ if is_buffer(part.kind) => LoosePart::Buffer(part.kind),
                RdatContent::Table(table) => {
                    let mut rows = Vec::with_capacity(table.rows.len());
                    for row in &table.rows {
                        let values = self.loose_values(part.kind, row, &mut budget)?;
                        rows.push(LooseRow { values, extra: row.extra.clone() });
                    }
                    LoosePart::Table { kind: part.kind, stride: table.stride, rows, tail: table.tail.clone() }
                }
                content => LoosePart::Kept(part.kind, content.clone()),
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

    fn loose_values(&self, table: RdatKind, row: &Row, budget: &mut usize) -> Option<Vec<Value>> {
        let mut values = Vec::with_capacity(row.values.len());
        for (index, value) in row.values.iter().enumerate() {
            let next = row.values.get(index.saturating_add(1)).copied().unwrap_or_default();
            let value = self.loose_value(kind_of(table, index, &values), *value, next, *budget)?;
            *budget = budget.checked_sub(value.size())?;
            values.push(value);
        }
        Some(values)
    }

    fn loose_value(&self, kind: FieldKind, value: u32, next: u32, budget: usize) -> Option<Value> {
        let list = |place| self.list(place).filter(|list| list.len().saturating_mul(4) <= budget);
        let loose = match kind {
            FieldKind::Text => self.text(value).map(|text| Value::Text(text.to_vec())),
            FieldKind::NumberArray | FieldKind::RecordArray(_) => {
                if value != NULL && self.list(value).is_some() && list(value).is_none() {
                    return None;
                }
                list(value).map(|list| Value::List(list.to_vec()))
            }
            FieldKind::TextArray => match list(value) {
                Some(list) => {
                    let mut left = budget;
                    let mut texts = Vec::with_capacity(list.len());
                    for offset in list {
                        let Some(text) = self.text(*offset) else { return Some(Value::Number(value)) };
                        left = left.checked_sub(text.len())?;
                        texts.push(text.to_vec());
                    }
                    Some(Value::Texts(texts))
                }
                None => None,
            },
            FieldKind::BytesOffset if next > 0 => {
                self.raw_bytes(value, next).map(|bytes| Value::Bytes(bytes.to_vec()))
            }
            _ => None,
        };
        Some(loose.unwrap_or(Value::Number(value)))
    }
}

/// Puts RDAT together: the offsets of its parts are still to be chosen.
pub(super) fn build(mut parts: Vec<LoosePart>) -> Vec<RdatPart> {
    let mut pool = Pool::default();
    for part in &mut parts {
        pool.seed(part);
    }
    if parts.iter().any(|part| matches!(part, LoosePart::Buffer(RdatKind::STRING_BUFFER))) {
        // It starts with the empty text, though nothing may need it.
        pool.text(&[]);
    }
    walk(&mut parts, &mut pool);
    let mut built: Vec<RdatPart> = parts
        .into_iter()
        .map(|part| {
            let kind = part.kind();
            let content = match part {
                LoosePart::Kept(_, content) => content,
                LoosePart::Buffer(_) => pool.take(kind),
                LoosePart::Table { stride, rows, tail, .. } => {
                    let row = |row: LooseRow| Row {
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

/// Puts everything into the buffers in DXC's order.
fn walk(parts: &mut [LoosePart], pool: &mut Pool) {
    let mut walker = Walker { parts, pool };
    walker.table(RdatKind::RESOURCE_TABLE);
    for name in walker.declarations() {
        walker.pool.text(&name);
    }
    walker.table(RdatKind::FUNCTION_TABLE);
    walker.table(RdatKind::SUBOBJECT_TABLE);
    // What nothing leads to.
    let kinds: Vec<RdatKind> = walker.parts.iter().map(LoosePart::kind).collect();
    kinds.into_iter().for_each(|kind| walker.table(kind));
}

struct Walker<'p> {
    parts: &'p mut [LoosePart],
    pool: &'p mut Pool,
}

impl Walker<'_> {
    fn rows(&mut self, table: RdatKind) -> Option<&mut Vec<LooseRow>> {
        self.parts.iter_mut().find_map(|part| match part {
            LoosePart::Table { kind, rows, .. } if *kind == table => Some(rows),
            _ => None,
        })
    }

    fn table(&mut self, table: RdatKind) {
        let count = self.rows(table).map_or(0, |rows| rows.len());
        for index in 0..count {
            self.row(table, len32(index));
        }
    }

    /// A record and all that it leads to. Tables lead to other tables only, so that this ends; a record that was there
    /// before holds numbers alone.
    fn row(&mut self, table: RdatKind, index: u32) {
        let Some(row) = self.rows(table).and_then(|rows| rows.get_mut(index as usize)) else { return };
        let mut values = core::mem::take(&mut row.values);
        let plain: Vec<usize> = (0..values.len()).collect();
        let order = match table {
            RdatKind::NODE_SHADER_INFO_TABLE => NODE_SHADER_FIELDS.as_slice(),
            _ => &plain,
        };
        let done = values.iter().all(|value| matches!(value, Value::Number(_)));
        for index in order.iter().copied() {
            let kind = kind_of(table, index, &values);
            let Some(value) = values.get_mut(index) else { continue };
            match (kind, &*value) {
                (FieldKind::Record(to), Value::Number(record)) if *record != NULL => self.row(to, *record),
                (FieldKind::RecordArray(to), Value::List(list)) if !done => {
                    list.iter().for_each(|record| self.row(to, *record));
                }
                _ => {}
            }
            *value = Value::Number(self.pool.place(value));
        }
        if let Some(row) = self.rows(table).and_then(|rows| rows.get_mut(index as usize)) {
            row.values = values;
        }
    }

    /// The names of the functions that are called and not defined, as they were declared.
    fn declarations(&mut self) -> Vec<Vec<u8>> {
        let place =
            fields(RdatKind::FUNCTION_TABLE).iter().position(|field| field.kind == FieldKind::TextArray);
        let rows = self.rows(RdatKind::FUNCTION_TABLE).map(|rows| rows.as_slice()).unwrap_or_default();
        let lists = rows.iter().filter_map(|row| match row.values.get(place?) {
            Some(Value::Texts(texts)) => Some(texts.as_slice()),
            _ => None,
        });
        merge(lists)
    }
}

/// One order that agrees with that of all the lists; where they leave a choice or disagree, the list that comes first
/// decides.
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
    // Lists that disagree leave nothing ready.
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

/// The buffers while they are filled, and where in them each thing stands.
#[derive(Default)]
struct Pool {
    strings: Vec<u8>,
    indices: Vec<u32>,
    raw: Vec<u8>,
    texts: BTreeMap<Vec<u8>, u32>,
    lists: BTreeMap<Vec<u32>, u32>,
    runs: BTreeMap<Vec<u8>, u32>,
    /// Whether something was added to the strings, which then are padded anew.
    strings_grew: bool,
    /// Whether something was added to the raw bytes, which then are padded anew.
    raw_grew: bool,
}

impl Pool {
    /// Takes over a buffer that is kept.
    fn seed(&mut self, part: &mut LoosePart) {
        let LoosePart::Kept(kind, content) = part else { return };
        match content {
            RdatContent::Strings(bytes) if *kind == RdatKind::STRING_BUFFER => {
                self.strings = core::mem::take(&mut bytes.0);
                self.texts = text_places(&self.strings).map(|(text, at)| (text.to_vec(), at)).collect();
            }
            RdatContent::Indices(indices) if *kind == RdatKind::INDEX_ARRAYS => {
                self.indices = core::mem::take(indices);
                self.lists = list_places(&self.indices).map(|(list, at)| (list.to_vec(), at)).collect();
            }
            RdatContent::Raw(bytes) if *kind == RdatKind::RAW_BYTES => {
                self.raw = core::mem::take(&mut bytes.0);
            }
            _ => return,
        }
        *part = LoosePart::Buffer(*kind);
    }

    fn place(&mut self, value: &Value) -> u32 {
        match value {
            Value::Number(number) => *number,
            Value::Text(text) => self.text(text),
            Value::Texts(texts) => {
                let offsets: Vec<u32> = texts.iter().map(|text| self.text(text)).collect();
                self.list(&offsets)
            }
            Value::List(list) => self.list(list),
            Value::Bytes(bytes) => self.bytes(bytes),
        }
    }

    fn text(&mut self, text: &[u8]) -> u32 {
        if self.strings.is_empty() {
            self.strings.push(0);
            self.texts.insert(Vec::new(), 0);
            self.strings_grew = true;
        }
        if let Some(offset) = self.texts.get(text) {
            return *offset;
        }
        if !self.strings_grew {
            // The padding of a buffer that is kept goes, but not the NUL of its last text.
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

    fn list(&mut self, list: &[u32]) -> u32 {
        if let Some(place) = self.lists.get(list) {
            return *place;
        }
        let place = len32(self.indices.len());
        self.indices.push(len32(list.len()));
        self.indices.extend_from_slice(list);
        self.lists.insert(list.to_vec(), place);
        place
    }

    fn bytes(&mut self, bytes: &[u8]) -> u32 {
        if let Some(place) = self.runs.get(bytes) {
            return *place;
        }
        let place = len32(self.raw.len());
        self.raw.extend_from_slice(bytes);
        self.runs.insert(bytes.to_vec(), place);
        self.raw_grew = true;
        place
    }

    fn holds(&self, kind: RdatKind) -> bool {
        match kind {
            RdatKind::STRING_BUFFER => !self.strings.is_empty(),
            RdatKind::INDEX_ARRAYS => !self.indices.is_empty(),
            _ => !self.raw.is_empty(),
        }
    }

    fn take(&mut self, kind: RdatKind) -> RdatContent {
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

/// The texts of a string buffer that end in a NUL, the later before the earlier, so that in a map the first of the same
/// remains.
pub(super) fn text_places(strings: &[u8]) -> impl Iterator<Item = (&[u8], u32)> {
    let mut places = Vec::new();
    let mut at = 0usize;
    for text in strings.split(|byte| *byte == 0) {
        let end = at.saturating_add(text.len());
        if end < strings.len() {
            places.push((text, len32(at)));
        }
        at = end.saturating_add(1);
    }
    places.into_iter().rev()
}

/// The lists of the index arrays, going from list to list, the later before the earlier.
pub(super) fn list_places(indices: &[u32]) -> impl Iterator<Item = (&[u32], u32)> {
    let mut places = Vec::new();
    let mut at = 0usize;
    while let Some((count, rest)) = indices.get(at..).and_then(<[u32]>::split_first) {
        let Some(list) = rest.get(..*count as usize) else { break };
        places.push((list, len32(at)));
        at = at.saturating_add(list.len()).saturating_add(1);
    }
    places.into_iter().rev()
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
    fn declarations_are_in_an_order_that_all_callers_agree_with() {
        assert_eq!(names(&[&["b", "c"], &["a", "b"]]), [b"a", b"b", b"c"]);
        assert_eq!(names(&[&["c"], &["a"]]), [b"c", b"a"]);
        // Callers that contradict each other.
        assert_eq!(names(&[&["a", "b"], &["b", "a"]]), [b"a", b"b"]);
    }

    #[test]
    fn what_expands_without_end_is_left_as_it_is() {
        // A thousand functions that all have the same list of ten thousand resources.
        let mut indices = vec![10_000];
        indices.extend(0..10_000);
        let row = Row { values: vec![0, 0, 0, NULL, 5], extra: Bytes::default() };
        let table = Table { stride: 20, rows: vec![row; 1000], tail: Bytes::default() };
        let part = |kind, content| RdatPart { offset: 0, kind, content };
        let rdat = Rdat::new(vec![
            part(RdatKind::FUNCTION_TABLE, RdatContent::Table(table)),
            part(RdatKind::INDEX_ARRAYS, RdatContent::Indices(indices)),
        ]);
        assert!(rdat.loosen().is_none());
        let mut rebuilt = rdat.clone();
        rebuilt.rebuild();
        assert_eq!(rebuilt, rdat);
    }
}
