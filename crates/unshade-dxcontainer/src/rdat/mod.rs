//! RDAT, runtime data: the information that the runtime needs about a library, and, in PDBI, that debuggers need.
//!
//! ```text
//! u32 version (0x10), u32 count, u32 offset[count] from the start of RDAT
//! each part: u32 kind, u32 size (a multiple of 4), bytes
//! a table:   u32 count, u32 size of a record, records
//! ```
//!
//! Records refer to strings by offset in the string buffer, to lists by position in the index arrays (a count
//! followed by as many numbers), and to bytes by offset and size in the raw byte buffer; `u32::MAX` is a null
//! reference. Strings and lists are stored once.
//!
//! Sources: DXC's `DxilRuntimeReflection.h`; 94 real parts.

mod build;
mod builder;
mod tables;
mod yaml;

pub(crate) use builder::RdatBuilder;
pub use tables::{FieldKind, RdatKind, TableField, field_kind, fields, selector};

use crate::bytes::{Bytes, len32};
use crate::cursor::Cursor;
use crate::image::{Image, Layout, Slack};
use crate::scalar::Scalar;
use alloc::format;
use alloc::vec::Vec;
use unshade_core::Result;

/// The version in all known files.
pub const VERSION: u32 = 0x10;

/// The null reference.
pub const NULL: u32 = u32::MAX;

/// RDAT.
#[derive(Clone, Debug, PartialEq)]
pub struct Rdat {
    /// 0x10.
    pub version: u32,
    /// The parts.
    pub parts: Vec<RdatPart>,
    /// The bytes between and after the parts.
    pub slack: Slack,
}

/// A part of RDAT.
#[derive(Clone, Debug, PartialEq)]
pub struct RdatPart {
    /// Its offset.
    pub offset: u32,
    /// Its kind.
    pub kind: RdatKind,
    /// Its contents.
    pub content: RdatContent,
}

/// The contents of a part of RDAT.
#[derive(Clone, Debug, PartialEq)]
pub enum RdatContent {
    /// NUL-terminated strings, and padding.
    Strings(Bytes),
    /// Lists: a count followed by as many numbers.
    Indices(Vec<u32>),
    /// The raw byte buffer, or a part of an unknown kind.
    Raw(Bytes),
    /// Records.
    Table(Table),
}

/// A table of records.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The size of a record.
    pub stride: u32,
    /// The records.
    pub rows: Vec<Row>,
    /// The bytes after the records; empty in all known files.
    pub tail: Bytes,
}

/// A record: the values of as many fields as its size allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The values, in the order of [`fields`].
    pub values: Vec<u32>,
    /// Bytes of unknown fields.
    pub extra: Bytes,
}

impl Rdat {
    /// Creates RDAT from consecutive parts.
    pub fn new(parts: Vec<RdatPart>) -> Self {
        let mut rdat = Self { version: VERSION, parts, slack: Slack::new(0, 0) };
        rdat.lay_out();
        rdat
    }

    /// Returns the part of a kind.
    pub fn part(&self, kind: RdatKind) -> Option<&RdatPart> {
        self.parts.iter().find(|part| part.kind == kind)
    }

    /// Returns the table of a kind.
    pub fn table(&self, kind: RdatKind) -> Option<&Table> {
        match &self.part(kind)?.content {
            RdatContent::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the string buffer.
    pub fn strings(&self) -> &[u8] {
        match self.part(RdatKind::STRING_BUFFER).map(|part| &part.content) {
            Some(RdatContent::Strings(bytes)) => &bytes.0,
            _ => &[],
        }
    }

    /// Returns the string at an offset of the string buffer.
    pub fn text(&self, offset: u32) -> Option<&[u8]> {
        let rest = self.strings().get(offset as usize..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        rest.get(..length)
    }

    /// Returns the list at a position of the index arrays.
    pub fn list(&self, position: u32) -> Option<&[u32]> {
        let Some(RdatContent::Indices(indices)) = self.part(RdatKind::INDEX_ARRAYS).map(|part| &part.content)
        else {
            return None;
        };
        let (count, rest) = indices.get(position as usize..)?.split_first()?;
        rest.get(..*count as usize)
    }

    /// Returns a range of the raw byte buffer.
    pub fn raw_bytes(&self, offset: u32, size: u32) -> Option<&[u8]> {
        match &self.part(RdatKind::RAW_BYTES)?.content {
            RdatContent::Raw(bytes) => bytes.0.get(offset as usize..)?.get(..size as usize),
            _ => None,
        }
    }

    /// Returns the value of a field of a record.
    pub fn value(&self, kind: RdatKind, row: &Row, name: &str) -> Option<u32> {
        let index = fields(kind).iter().position(|field| field.name == name)?;
        row.values.get(index).copied()
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let version = cursor.scalar("version")?;
        let count: u32 = cursor.scalar("number of parts")?;
        let offsets: Vec<u32> = cursor.scalars(count, "offset of a part")?;
        let mut parts = Vec::with_capacity(offsets.len());
        for (index, offset) in offsets.into_iter().enumerate() {
            let mut at = cursor.at(offset).map_err(|error| error.within(format!("part {index}")))?;
            let part = at.group(|| format!("part {index}").into(), |at| read_part(at, offset));
            parts.push(part.map_err(|error| error.within(format!("part {index}")))?);
        }
        let slack = Slack::from_gaps(cursor.part_size(), &cursor.gaps());
        Ok(Self { version, parts, slack })
    }

    /// Returns the number of bytes that are kept raw: root signatures and other bytes that records refer to, and
    /// tables of unknown kinds.
    pub(crate) fn unread_bytes(&self) -> usize {
        let of_part = |part: &RdatPart| match &part.content {
            RdatContent::Raw(bytes) => bytes.0.len(),
            RdatContent::Table(table) => {
                table.rows.iter().fold(table.tail.0.len(), |sum, row| sum.saturating_add(row.extra.0.len()))
            }
            RdatContent::Strings(_) | RdatContent::Indices(_) => 0,
        };
        let parts = self.parts.iter().map(of_part).fold(0, usize::saturating_add);
        parts.saturating_add(self.slack.extra_bytes())
    }

    /// Assigns new offsets: one part after the other.
    pub fn lay_out(&mut self) {
        let mut layout = Layout::starting_at(8);
        layout.take(self.parts.len().saturating_mul(4));
        for part in &mut self.parts {
            part.offset = layout.take(part.content.write(part.kind).len().saturating_add(8));
        }
        self.slack = Slack::new(layout.end(), 0);
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut image = Image::default();
        let mut header = Vec::new();
        self.version.put(&mut header);
        len32(self.parts.len()).put(&mut header);
        for part in &self.parts {
            part.offset.put(&mut header);
            let content = part.content.write(part.kind);
            let mut bytes = Vec::with_capacity(content.len().saturating_add(8));
            part.kind.put(&mut bytes);
            len32(content.len()).put(&mut bytes);
            bytes.extend(content);
            image.put(part.offset, bytes);
        }
        image.put(0, header);
        image.finish(&self.slack)
    }
}

fn read_part(cursor: &mut Cursor<'_, '_>, offset: u32) -> Result<RdatPart> {
    let kind: RdatKind = cursor.scalar("kind")?;
    let size: u32 = cursor.scalar("size")?;
    let mut inner = cursor.split(u64::from(size))?;
    let content = match kind {
        RdatKind::STRING_BUFFER => {
            let mut bytes = Vec::new();
            while inner.remaining() > 0 {
                // Bytes without a NUL are the last of the buffer.
                match inner.text("text") {
                    Ok(text) => {
                        bytes.extend(text.0);
                        bytes.push(0);
                    }
                    Err(_) => bytes.extend_from_slice(inner.rest("text without NUL")?),
                }
            }
            RdatContent::Strings(Bytes(bytes))
        }
        RdatKind::INDEX_ARRAYS if size.is_multiple_of(4) => {
            RdatContent::Indices(inner.scalars(size / 4, "index")?)
        }
        _ if !fields(kind).is_empty() => RdatContent::Table(read_table(&mut inner, kind)?),
        RdatKind::RAW_BYTES => RdatContent::Raw(Bytes::from(inner.rest("bytes")?)),
        _ => RdatContent::Raw(Bytes::from(inner.rest("unknown")?)),
    };
    Ok(RdatPart { offset, kind, content })
}

fn read_table(cursor: &mut Cursor<'_, '_>, kind: RdatKind) -> Result<Table> {
    let count: u32 = cursor.scalar("number of records")?;
    let stride: u32 = cursor.scalar("size of a record")?;
    // Records of size zero would allow any count in no bytes.
    cursor.check_count(count, (stride as usize).max(1))?;
    let name = kind.name().unwrap_or_default();
    let read = |index: u32| {
        cursor.group(
            || format!("{name} {index}").into(),
            |cursor| {
                let mut cursor = cursor.split(u64::from(stride))?;
                let mut values = Vec::new();
                for field in fields(kind) {
                    if cursor.remaining() < field.size {
                        break;
                    }
                    values.push(match field.size {
                        1 => u32::from(cursor.scalar::<u8>(field.name)?),
                        2 => u32::from(cursor.scalar::<u16>(field.name)?),
                        _ => cursor.scalar(field.name)?,
                    });
                }
                Ok(Row { values, extra: Bytes::from(cursor.rest("unknown")?) })
            },
        )
    };
    let rows = (0..count).map(read).collect::<Result<_>>()?;
    Ok(Table { stride, rows, tail: Bytes::from(cursor.rest("unknown")?) })
}

impl RdatContent {
    fn write(&self, kind: RdatKind) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Strings(bytes) | Self::Raw(bytes) => out.extend_from_slice(&bytes.0),
            Self::Indices(indices) => indices.iter().for_each(|index| index.put(&mut out)),
            Self::Table(table) => {
                len32(table.rows.len()).put(&mut out);
                table.stride.put(&mut out);
                for row in &table.rows {
                    for (field, value) in fields(kind).iter().zip(&row.values) {
                        out.extend(value.to_le_bytes().into_iter().take(field.size));
                    }
                    out.extend_from_slice(&row.extra.0);
                }
                out.extend_from_slice(&table.tail.0);
            }
        }
        out
    }
}
