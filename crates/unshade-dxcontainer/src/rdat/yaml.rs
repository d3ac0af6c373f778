//! RDAT as YAML: texts and lists are written out where they are meant, so that a name can be changed in one place;
//! a reference that does not lead back to itself that way is written as its number.

use super::{FieldKind, Rdat, RdatContent, RdatKind, RdatPart, Row, Table, VERSION, field_kind, fields};
use crate::bytes::{Bytes, Text, len32, pad4};
use crate::image::Slack;
use crate::yaml::{Kind, MapReader, MapWriter, Node, Yaml};
use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;
use unshade_core::Result;

impl Yaml for Rdat {
    fn node(&self) -> Node<'_> {
        let mut map = MapWriter::default();
        if self.version != VERSION {
            map.node("Version", Node::hex(self.version.into()));
        }
        let parts = self.parts.iter().map(|part| self.part_node(part)).collect();
        map.node("Parts", Node::list(parts));
        let mut plain = self.clone();
        plain.lay_out();
        if plain != *self {
            map.node(
                "Offsets",
                Node::flow(self.parts.iter().map(|part| part.offset.node()).map(owned).collect()),
            );
            map.field("Layout", &self.slack);
        }
        map.finish()
    }

    fn from_node(node: &Node<'_>) -> Result<Self> {
        let mut map = MapReader::new(node)?;
        let version = map.field_or("Version", VERSION)?;
        let parts = map.take("Parts").map(Node::items).transpose()?.unwrap_or_default();
        let offsets: Vec<u32> = map.field("Offsets")?;
        let slack: Option<Slack> = map.field("Layout")?;
        map.finish()?;
        let mut pool = Pool::default();
        // Buffers first: what they have is found in them, what they lack is added to them.
        for part in &parts {
            pool.read(part)?;
        }
        let mut read = Vec::new();
        for part in &parts {
            read.push(read_part(part, &mut pool)?);
        }
        pool.fill(&mut read);
        let mut rdat = Self { version, parts: read, slack: Slack::new(0, 0) };
        rdat.lay_out();
        if let Some(slack) = slack {
            for (part, offset) in rdat.parts.iter_mut().zip(offsets) {
                part.offset = offset;
            }
            rdat.slack = slack;
        }
        Ok(rdat)
    }
}

/// A node that borrows nothing.
fn owned(node: Node<'_>) -> Node<'static> {
    match node.kind {
        Kind::Plain(text) => Node::plain(text.into_owned()),
        Kind::Quoted(text) => Node::string(text.into_owned()),
        _ => Kind::Null.into(),
    }
}

impl Rdat {
    fn part_node<'a>(&'a self, part: &'a RdatPart) -> Node<'a> {
        let mut map = MapWriter::default();
        map.field("Kind", &part.kind);
        match &part.content {
            RdatContent::Strings(bytes) => {
                let (texts, size) = split_texts(&bytes.0);
                if joined(&texts, size) == bytes.0 {
                    map.node("Strings", Node::list(texts.into_iter().map(text_node).collect()));
                    map.node("Size", Node::number(u64::from(size)));
                } else {
                    map.field("Bytes", bytes);
                }
            }
            RdatContent::Indices(indices) => map.field("Indices", indices),
            RdatContent::Raw(bytes) => map.field("Bytes", bytes),
            RdatContent::Table(table) => {
                map.field("Stride", &table.stride);
                let rows = table.rows.iter().map(|row| self.row_node(part.kind, row)).collect();
                map.node("Records", Node::list(rows));
                map.field("Tail", &table.tail);
            }
        }
        map.finish()
    }

    fn row_node<'a>(&'a self, kind: RdatKind, row: &'a Row) -> Node<'a> {
        let mut map = MapWriter::default();
        let first = row.values.first().copied().unwrap_or_default();
        for (index, (field, value)) in fields(kind).iter().zip(&row.values).enumerate() {
            map.node(field.name, self.value_node(field_kind(kind, index, first), *value));
        }
        map.field("Extra", &row.extra);
        map.finish()
    }

    fn value_node(&self, kind: FieldKind, value: u32) -> Node<'_> {
        let number = || Node::number(value.into());
        match kind {
            FieldKind::Hex => Node::hex(value.into()),
            FieldKind::Name(names) => {
                names.get(value as usize).map_or_else(number, |name| Node::plain(*name))
            }
            FieldKind::Text => match self.text(value) {
                Some(text) if find_text(self.strings(), text) == Some(value) => text_node(text),
                _ => number(),
            },
            FieldKind::NumberArray | FieldKind::RecordArray(_) => match self.found_list(value) {
                Some(list) => Node::flow(list.iter().map(|index| Node::number(u64::from(*index))).collect()),
                None => number(),
            },
            FieldKind::TextArray => {
                let texts = |list: &[u32]| -> Option<Vec<_>> {
                    let same = |offset: &u32| {
                        self.text(*offset).filter(|t| find_text(self.strings(), t) == Some(*offset))
                    };
                    list.iter().map(|offset| same(offset).map(text_node)).collect()
                };
                self.found_list(value).and_then(texts).map_or_else(number, Node::list)
            }
            FieldKind::Number | FieldKind::Record(_) | FieldKind::BytesOffset => number(),
        }
    }

    /// The list at a place, if looking for such a list leads to that place.
    fn found_list(&self, place: u32) -> Option<&[u32]> {
        let Some(RdatContent::Indices(indices)) = self.part(RdatKind::INDEX_ARRAYS).map(|part| &part.content)
        else {
            return None;
        };
        let list = self.list(place)?;
        (find_list(indices, list) == Some(place)).then_some(list)
    }
}

fn text_node(text: &[u8]) -> Node<'_> {
    match core::str::from_utf8(text) {
        // A number would be taken for an offset.
        Ok(text) => Node::string(text),
        Err(_) => Kind::Bytes(Cow::Borrowed(text)).into(),
    }
}

/// The texts of a string buffer without those that are padding, and the buffer's size.
fn split_texts(bytes: &[u8]) -> (Vec<&[u8]>, u32) {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
    let mut texts: Vec<&[u8]> = bytes.get(..used).unwrap_or_default().split(|byte| *byte == 0).collect();
    if used == 0 {
        texts.clear();
    }
    (texts, len32(bytes.len()))
}

fn joined(texts: &[&[u8]], size: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        out.extend_from_slice(text);
        out.push(0);
    }
    if out.len() <= size as usize && size as usize <= out.len().saturating_add(64) {
        out.resize(size as usize, 0);
    }
    out
}

/// Where a text starts that stands whole in a string buffer.
fn find_text(strings: &[u8], text: &[u8]) -> Option<u32> {
    let mut at = 0usize;
    for found in strings.split(|byte| *byte == 0) {
        if found == text && at.saturating_add(found.len()) < strings.len() {
            return u32::try_from(at).ok();
        }
        at = at.saturating_add(found.len()).saturating_add(1);
    }
    None
}

/// Where a list stands in the index arrays, going from list to list.
fn find_list(indices: &[u32], list: &[u32]) -> Option<u32> {
    let mut at = 0usize;
    while let Some((count, rest)) = indices.get(at..).and_then(<[u32]>::split_first) {
        if rest.get(..*count as usize) == Some(list) {
            return u32::try_from(at).ok();
        }
        at = at.saturating_add(*count as usize).saturating_add(1);
    }
    None
}

/// The buffers that records refer to while they are read.
#[derive(Default)]
struct Pool {
    strings: Vec<u8>,
    indices: Vec<u32>,
    /// Whether something was added.
    grown: bool,
}

impl Pool {
    fn read(&mut self, part: &Node<'_>) -> Result<()> {
        let kind: RdatKind = part.get("Kind").map(Yaml::from_node).transpose()?.unwrap_or(RdatKind::INVALID);
        match kind {
            RdatKind::STRING_BUFFER => {
                if let Some(texts) = part.get("Strings") {
                    let texts = Vec::<Text>::from_node(texts)?;
                    let texts: Vec<&[u8]> = texts.iter().map(|text| text.0.as_slice()).collect();
                    let size = part.get("Size").map(u32::from_node).transpose()?;
                    let least = joined(&texts, 0).len();
                    self.strings = joined(&texts, size.unwrap_or(len32(crate::bytes::align4(least))));
                } else {
                    self.strings = part.get("Bytes").map(Bytes::from_node).transpose()?.unwrap_or_default().0;
                }
            }
            RdatKind::INDEX_ARRAYS => {
                self.indices = part.get("Indices").map(Yaml::from_node).transpose()?.unwrap_or_default();
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> u32 {
        // The first text of every buffer is the empty one.
        if self.strings.is_empty() {
            self.strings.push(0);
            self.grown = true;
        }
        if let Some(offset) = find_text(&self.strings, text) {
            return offset;
        }
        self.grown = true;
        let used = self.strings.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(2));
        self.strings.resize(used.max(1), 0);
        let offset = len32(self.strings.len());
        self.strings.extend_from_slice(text);
        self.strings.push(0);
        pad4(&mut self.strings, 0);
        offset
    }

    fn list(&mut self, list: &[u32]) -> u32 {
        if let Some(place) = find_list(&self.indices, list) {
            return place;
        }
        let place = len32(self.indices.len());
        self.indices.push(len32(list.len()));
        self.indices.extend_from_slice(list);
        self.grown = true;
        place
    }

    /// Puts the buffers into the parts, with a new part for one that there was no need of before.
    fn fill(self, parts: &mut Vec<RdatPart>) {
        let contents = [
            (RdatKind::STRING_BUFFER, RdatContent::Strings(Bytes(self.strings))),
            (RdatKind::INDEX_ARRAYS, RdatContent::Indices(self.indices)),
        ];
        for (kind, content) in contents {
            match parts.iter_mut().find(|part| part.kind == kind) {
                Some(part) => part.content = content,
                None if self.grown => parts.push(RdatPart { offset: 0, kind, content }),
                None => {}
            }
        }
    }
}

fn read_part(node: &Node<'_>, pool: &mut Pool) -> Result<RdatPart> {
    let mut map = MapReader::new(node)?;
    let kind: RdatKind = map.field("Kind")?;
    let content = match kind {
        RdatKind::STRING_BUFFER => {
            map.take("Strings");
            map.take("Size");
            map.take("Bytes");
            RdatContent::Strings(Bytes::default())
        }
        RdatKind::INDEX_ARRAYS => {
            map.take("Indices");
            match map.take("Bytes") {
                Some(bytes) => RdatContent::Raw(Bytes::from_node(bytes)?),
                None => RdatContent::Indices(Vec::new()),
            }
        }
        _ if !fields(kind).is_empty() => {
            let stride = map.field("Stride")?;
            let records = map.take("Records").map(Node::items).transpose()?.unwrap_or_default();
            let rows = records.iter().map(|record| read_row(record, kind, pool)).collect::<Result<_>>()?;
            RdatContent::Table(Table { stride, rows, tail: map.field("Tail")? })
        }
        _ => RdatContent::Raw(map.field("Bytes")?),
    };
    map.finish()?;
    Ok(RdatPart { offset: 0, kind, content })
}

fn read_row(node: &Node<'_>, kind: RdatKind, pool: &mut Pool) -> Result<Row> {
    let mut map = MapReader::new(node)?;
    let mut values = vec![];
    // DXC writes the names of what a function calls before its own.
    if kind == RdatKind::FUNCTION_TABLE
        && let Some(called) = node.get("FunctionDependencies").filter(|called| called.text().is_none())
    {
        for name in Vec::<Text>::from_node(called).map_err(|error| error.within("FunctionDependencies"))? {
            pool.text(&name.0);
        }
    }
    for field in fields(kind) {
        // Records of older versions end early.
        let Some(value) = map.take(field.name) else { break };
        let first = values.first().copied().unwrap_or_default();
        let kind = field_kind(kind, values.len(), first);
        values.push(read_value(value, kind, pool).map_err(|error| error.within(field.name))?);
    }
    let row = Row { values, extra: map.field("Extra")? };
    map.finish()?;
    Ok(row)
}

fn read_value(node: &Node<'_>, kind: FieldKind, pool: &mut Pool) -> Result<u32> {
    if let (FieldKind::Name(names), Some(text)) = (kind, node.text())
        && let Some(place) = names.iter().position(|name| *name == text)
    {
        return Ok(len32(place));
    }
    let is_list = matches!(node.kind, Kind::List { .. } | Kind::Bytes(_));
    match kind {
        FieldKind::Text if !matches!(node.kind, Kind::Plain(_)) || u32::from_node(node).is_err() => {
            Text::from_node(node).map(|text| pool.text(&text.0))
        }
        FieldKind::TextArray if is_list => {
            let texts = Vec::<Text>::from_node(node)?;
            let offsets: Vec<u32> = texts.iter().map(|text| pool.text(&text.0)).collect();
            Ok(pool.list(&offsets))
        }
        FieldKind::NumberArray | FieldKind::RecordArray(_) if is_list => {
            Vec::<u32>::from_node(node).map(|list| pool.list(&list))
        }
        FieldKind::Name(names) => u32::from_node(node).map_err(|_| node.unknown_name(names.iter().copied())),
        _ => u32::from_node(node),
    }
}
