//! RDAT as YAML. Strings, lists and bytes are written in position of references to them, so that a name is changed in
//! one position. Buffers are omitted if [`Rdat::rebuild`] would produce them; otherwise they are written too, and
//! references that would not lead back to the same offset are numbers.

use super::build::{self, ResolvedPart, ResolvedRow, ResolvedValue, kind_of, list_positions, text_offsets};
use super::{FieldKind, Rdat, RdatContent, RdatKind, RdatPart, Row, VERSION, field_kind, fields, selector};
use crate::bytes::{Bytes, Text, align4, len32};
use crate::image::Slack;
use crate::yaml::{Kind, MapReader, MapWriter, Node, Yaml};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use unshade_core::Result;

impl Yaml for Rdat {
    fn node(&self) -> Node<'_> {
        let mut map = MapWriter::default();
        if self.version != VERSION {
            map.node("Version", Node::hex(self.version.into()));
        }
        let writer = Writer::new(self);
        let parts = self.parts.iter().map(|part| writer.part(part)).collect();
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
        let parts = parts.iter().map(read_part).collect::<Result<Vec<_>>>()?;
        let mut rdat = Self { version, parts: build::build(parts), slack: Slack::new(0, 0) };
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

/// Returns a node that borrows nothing.
fn owned(node: Node<'_>) -> Node<'static> {
    match node.kind {
        Kind::Plain(text) => Node::plain(text.into_owned()),
        Kind::Quoted(text) => Node::string(text.into_owned()),
        _ => Kind::Null.into(),
    }
}

/// The notation of references.
enum References<'a> {
    /// All by contents: rebuilding produces the same buffers.
    Meaning,
    /// By contents if a lookup in these maps finds the same offset.
    Found { texts: BTreeMap<&'a [u8], u32>, lists: BTreeMap<&'a [u32], u32> },
    /// All by number: their contents would be too large.
    Numbers,
}

/// Writes RDAT.
struct Writer<'a> {
    rdat: &'a Rdat,
    references: References<'a>,
}

impl<'a> Writer<'a> {
    fn new(rdat: &'a Rdat) -> Self {
        let indices = match rdat.part(RdatKind::INDEX_ARRAYS).map(|part| &part.content) {
            Some(RdatContent::Indices(indices)) => indices.as_slice(),
            _ => &[],
        };
        let contents = |parts: &[RdatPart]| parts.iter().map(|part| part.content.clone()).collect::<Vec<_>>();
        let references = match rdat.resolve().map(build::build) {
            None => References::Numbers,
            Some(built) if contents(&built) == contents(&rdat.parts) => References::Meaning,
            Some(_) => References::Found {
                texts: text_offsets(rdat.strings()).collect(),
                lists: list_positions(indices).collect(),
            },
        };
        Self { rdat, references }
    }

    fn part(&self, part: &'a RdatPart) -> Node<'a> {
        let mut map = MapWriter::default();
        map.field("Kind", &part.kind);
        match &part.content {
            RdatContent::Table(table) => {
                map.field("Stride", &table.stride);
                let rows = table.rows.iter().map(|row| self.row(part.kind, row)).collect();
                map.node("Records", Node::list(rows));
                map.field("Tail", &table.tail);
            }
            _ if build::is_buffer(part.kind) && matches!(self.references, References::Meaning) => {}
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
        }
        map.finish()
    }

    fn row(&self, table: RdatKind, row: &'a Row) -> Node<'a> {
        let mut map = MapWriter::default();
        let selected = row.values.get(selector(table)).copied().unwrap_or_default();
        let mut size_is_known = false;
        for (index, (field, value)) in fields(table).iter().zip(&row.values).enumerate() {
            if core::mem::take(&mut size_is_known) {
                continue;
            }
            let kind = field_kind(table, index, selected);
            let next = row.values.get(index.saturating_add(1)).copied().unwrap_or_default();
            let node = match kind {
                FieldKind::BytesOffset => self.bytes(*value, next),
                _ => self.value(kind, *value),
            };
            size_is_known = node.is_some() && kind == FieldKind::BytesOffset;
            let number = || if kind == FieldKind::Hex { Node::hex } else { Node::number }((*value).into());
            map.node(field.name, node.unwrap_or_else(number));
        }
        map.field("Extra", &row.extra);
        map.finish()
    }

    /// Returns the contents that a field refers to, or `None` for a plain number.
    fn value(&self, kind: FieldKind, value: u32) -> Option<Node<'a>> {
        match kind {
            FieldKind::Name(names) => names.get(value as usize).map(|name| Node::plain(*name)),
            FieldKind::Text => self.text(value).map(text_node),
            FieldKind::NumberArray | FieldKind::RecordArray(_) => self
                .list(value)
                .map(|list| Node::flow(list.iter().map(|number| Node::number(u64::from(*number))).collect())),
            FieldKind::TextArray => {
                let texts: Option<Vec<_>> =
                    self.list(value)?.iter().map(|offset| self.text(*offset).map(text_node)).collect();
                texts.map(Node::list)
            }
            FieldKind::Number | FieldKind::Hex | FieldKind::Record(_) | FieldKind::BytesOffset => None,
        }
    }

    fn text(&self, offset: u32) -> Option<&'a [u8]> {
        let text = self.rdat.text(offset)?;
        match &self.references {
            References::Meaning => Some(text),
            References::Found { texts, .. } => (texts.get(text) == Some(&offset)).then_some(text),
            References::Numbers => None,
        }
    }

    fn list(&self, position: u32) -> Option<&'a [u32]> {
        let list = self.rdat.list(position)?;
        match &self.references {
            References::Meaning => Some(list),
            References::Found { lists, .. } => (lists.get(list) == Some(&position)).then_some(list),
            References::Numbers => None,
        }
    }

    /// Returns bytes, which include their size. They cannot be looked up in a buffer that is kept.
    fn bytes(&self, offset: u32, size: u32) -> Option<Node<'a>> {
        let plain = size > 0 && matches!(self.references, References::Meaning);
        let bytes = self.rdat.raw_bytes(offset, size).filter(|_| plain)?;
        Some(Kind::Bytes(Cow::Borrowed(bytes)).into())
    }
}

fn text_node(text: &[u8]) -> Node<'_> {
    match core::str::from_utf8(text) {
        // A number would be read as an offset.
        Ok(text) => Node::string(text),
        Err(_) => Kind::Bytes(Cow::Borrowed(text)).into(),
    }
}

/// Splits a string buffer into its strings without the padding, and its size.
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

fn read_part(node: &Node<'_>) -> Result<ResolvedPart> {
    let mut map = MapReader::new(node)?;
    let kind: RdatKind = map.field("Kind")?;
    let bytes: Option<Bytes> = map.field("Bytes")?;
    let part = match (kind, bytes) {
        (RdatKind::STRING_BUFFER, Some(bytes)) => ResolvedPart::Kept(kind, RdatContent::Strings(bytes)),
        (_, Some(bytes)) => ResolvedPart::Kept(kind, RdatContent::Raw(bytes)),
        (RdatKind::STRING_BUFFER, None) => {
            let texts: Option<Vec<Text>> = map.field("Strings")?;
            let size: Option<u32> = map.field("Size")?;
            match texts {
                Some(texts) => {
                    let texts: Vec<&[u8]> = texts.iter().map(|text| text.0.as_slice()).collect();
                    let size = size.unwrap_or_else(|| len32(align4(joined(&texts, 0).len())));
                    ResolvedPart::Kept(kind, RdatContent::Strings(Bytes(joined(&texts, size))))
                }
                None => ResolvedPart::Buffer(kind),
            }
        }
        (RdatKind::INDEX_ARRAYS, None) => match map.field::<Option<Vec<u32>>>("Indices")? {
            Some(indices) => ResolvedPart::Kept(kind, RdatContent::Indices(indices)),
            None => ResolvedPart::Buffer(kind),
        },
        (RdatKind::RAW_BYTES, None) => ResolvedPart::Buffer(kind),
        _ if !fields(kind).is_empty() => {
            let stride = map.field("Stride")?;
            let records = map.take("Records").map(Node::items).transpose()?.unwrap_or_default();
            let rows = records.iter().map(|record| read_row(record, kind)).collect::<Result<_>>()?;
            ResolvedPart::Table { kind, stride, rows, tail: map.field("Tail")? }
        }
        _ => ResolvedPart::Kept(kind, RdatContent::Raw(Bytes::default())),
    };
    map.finish()?;
    Ok(part)
}

fn read_row(node: &Node<'_>, table: RdatKind) -> Result<ResolvedRow> {
    let mut map = MapReader::new(node)?;
    let mut values: Vec<ResolvedValue> = Vec::new();
    for field in fields(table) {
        let size = match values.last() {
            Some(ResolvedValue::Bytes(bytes)) => Some(len32(bytes.len())),
            _ => None,
        };
        let value = match (map.take(field.name), size) {
            (Some(node), _) => read_value(node, kind_of(table, values.len(), &values))
                .map_err(|error| error.within(field.name))?,
            // Bytes include their size.
            (None, Some(size)) => ResolvedValue::Number(size),
            // Records of older versions end early.
            (None, None) => break,
        };
        values.push(value);
    }
    let row = ResolvedRow { values, extra: map.field("Extra")? };
    map.finish()?;
    Ok(row)
}

fn read_value(node: &Node<'_>, kind: FieldKind) -> Result<ResolvedValue> {
    if let (FieldKind::Name(names), Some(text)) = (kind, node.text())
        && let Some(position) = names.iter().position(|name| *name == text)
    {
        return Ok(ResolvedValue::Number(len32(position)));
    }
    let is_list = matches!(node.kind, Kind::List { .. } | Kind::Bytes(_));
    match kind {
        FieldKind::Text if !matches!(node.kind, Kind::Plain(_)) || u32::from_node(node).is_err() => {
            Text::from_node(node).map(|text| ResolvedValue::Text(text.0))
        }
        FieldKind::TextArray if is_list => Vec::<Text>::from_node(node)
            .map(|texts| ResolvedValue::Texts(texts.into_iter().map(|text| text.0).collect())),
        FieldKind::NumberArray | FieldKind::RecordArray(_) if is_list => {
            Vec::<u32>::from_node(node).map(ResolvedValue::List)
        }
        FieldKind::BytesOffset if is_list => {
            Bytes::from_node(node).map(|bytes| ResolvedValue::Bytes(bytes.0))
        }
        FieldKind::Name(names) => u32::from_node(node)
            .map(ResolvedValue::Number)
            .map_err(|_| node.unknown_name(names.iter().copied())),
        _ => u32::from_node(node).map(ResolvedValue::Number),
    }
}
