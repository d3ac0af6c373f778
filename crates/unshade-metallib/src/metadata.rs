//! Public and private metadata: each function has a group of tags in each of the two sections.
//!
//! | tag | section | content |
//! |---|---|---|
//! | `VATT` | public | u16 count, then C string name and u16: bits 0–12 index, 13–14 use, 15 active |
//! | `VATY` | public | u16 count, then one [`DataType`] per attribute: the types of `VATT` |
//! | `CNST` | public | u16 count, then C string name, [`DataType`], u16 index, u8 active: function constants |
//! | `RETR`, `ARGR` | public | Core Image; undocumented |
//! | `DEBI` | private | u32 line, C string path of the source |
//! | `DEPF` | private | C string path of an `.air` file that was linked in |
//!
//! The size before a group includes itself if Apple's linker wrote the file, but not if the older `metallib` tool did:
//! the size of an empty group is 8 or 4 ([`GroupSize`]).

use crate::data_type::DataType;
use crate::tag::{Tag, Tags};
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result, open_enum};

/// Whether the size before a group includes its own four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupSize {
    /// It does: the file was written by Apple's linker (`air-lld`, the `metal` driver).
    Inclusive,
    /// It does not: the file was written by the older `metallib` tool or another tool.
    Exclusive,
    /// The size matches neither rule.
    Wrong,
}

/// A function's group of tags in one of the metadata sections.
#[derive(Clone, Debug)]
pub struct MetadataGroup<'a> {
    /// The range in the file, from the size to `ENDT`.
    pub range: Range<u64>,
    /// The size as written in the file.
    pub stated_size: u32,
    tags: Reader<'a>,
}

impl<'a> MetadataGroup<'a> {
    /// Reads a group at the reader's position: its size, then tags up to `ENDT`.
    ///
    /// # Errors
    /// If a tag is malformed or `ENDT` is missing.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let start = reader.offset();
        let stated_size = reader.u32()?;
        let tags = *reader;
        let mut walk = Tags::new(tags);
        for tag in &mut walk {
            tag?;
        }
        *reader = walk.reader();
        Ok(Self { range: start..reader.offset(), stated_size, tags })
    }

    /// Returns the tags, in file order.
    pub fn tags(&self) -> Tags<'a> {
        Tags::new(self.tags)
    }

    /// Returns the bytes of the tags, without the size and `ENDT`.
    pub(crate) fn content(&self) -> &'a [u8] {
        let size = self.range.end.saturating_sub(self.range.start).saturating_sub(8);
        self.tags.rest().get(..usize::try_from(size).unwrap_or_default()).unwrap_or_default()
    }

    /// Returns which rule the size of the group follows.
    pub fn group_size(&self) -> GroupSize {
        let real = self.range.end.saturating_sub(self.range.start);
        match real.checked_sub(u64::from(self.stated_size)) {
            Some(0) => GroupSize::Inclusive,
            Some(4) => GroupSize::Exclusive,
            _ => GroupSize::Wrong,
        }
    }

    fn find(&self, code: &[u8; 4]) -> Option<Tag<'a>> {
        self.tags().filter_map(Result::ok).find(|tag| tag.code.0 == *code)
    }
}

open_enum! {
    /// The step function of a vertex attribute (`VATT`, bits 13–14).
    pub struct AttributeUse(u8) {
        PER_VERTEX = 0 => "per vertex",
        PER_PATCH = 1 => "per patch",
        CONTROL_POINT = 2 => "control point",
    }
}

/// A vertex attribute (`VATT`) with its type (`VATY`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexAttribute<'a> {
    /// The name in the source.
    pub name: &'a [u8],
    /// The number in `[[attribute(n)]]`.
    pub index: u16,
    /// The step function.
    pub usage: AttributeUse,
    /// Whether the function uses it.
    pub active: bool,
    /// The type, if `VATY` has one for it.
    pub data_type: Option<DataType>,
}

/// A function constant (`CNST`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionConstant<'a> {
    /// The name in the source.
    pub name: &'a [u8],
    /// The type.
    pub data_type: DataType,
    /// The number in `[[function_constant(n)]]`.
    pub index: u16,
    /// Whether the function uses it (the last byte).
    pub active: bool,
}

/// Public metadata of a function.
#[derive(Clone, Debug)]
pub struct PublicMetadata<'a> {
    /// The group of tags.
    pub group: MetadataGroup<'a>,
}

impl<'a> PublicMetadata<'a> {
    /// Returns the vertex attributes, with their types.
    ///
    /// # Errors
    /// If `VATT` or `VATY` is too short or too long, or their counts differ.
    pub fn vertex_attributes(&self) -> Result<Vec<VertexAttribute<'a>>> {
        let types = match self.group.find(b"VATY") {
            Some(tag) => counted(&tag, |r| r.u8().map(DataType))?,
            None => Vec::new(),
        };
        let Some(tag) = self.group.find(b"VATT") else { return Ok(Vec::new()) };
        let mut attributes = counted(&tag, |r| {
            let name = r.c_string()?;
            let info = r.u16()?;
            Ok(VertexAttribute {
                name,
                index: info & 0x1fff,
                usage: AttributeUse((info >> 13 & 3) as u8),
                active: info & 0x8000 != 0,
                data_type: None,
            })
        })?;
        if !types.is_empty() && types.len() != attributes.len() {
            return Err(Error::new(ErrorKind::BadValue, tag.range.start, "counts of VATT and VATY differ")
                .expected(format!("{} types", attributes.len()))
                .found(format!("{}", types.len())));
        }
        for (attribute, data_type) in attributes.iter_mut().zip(types) {
            attribute.data_type = Some(data_type);
        }
        Ok(attributes)
    }

    /// Returns the function constants.
    ///
    /// # Errors
    /// If `CNST` is too short or too long.
    pub fn function_constants(&self) -> Result<Vec<FunctionConstant<'a>>> {
        let Some(tag) = self.group.find(b"CNST") else { return Ok(Vec::new()) };
        counted(&tag, |r| {
            Ok(FunctionConstant {
                name: r.c_string()?,
                data_type: DataType(r.u8()?),
                index: r.u16()?,
                active: flag(r)?,
            })
        })
    }
}

/// Private metadata of a function.
#[derive(Clone, Debug)]
pub struct PrivateMetadata<'a> {
    /// The group of tags.
    pub group: MetadataGroup<'a>,
}

/// The location of a function in its source (`DEBI`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLocation<'a> {
    /// The line, from 1.
    pub line: u32,
    /// The path as passed to the compiler; old tools write `folder//absolute/path`.
    pub path: &'a [u8],
}

impl<'a> PrivateMetadata<'a> {
    /// Returns the location of the function in its source.
    ///
    /// # Errors
    /// If `DEBI` is too short or too long.
    pub fn source_location(&self) -> Result<Option<SourceLocation<'a>>> {
        let Some(tag) = self.group.find(b"DEBI") else { return Ok(None) };
        tag.exactly(|r| Ok(Some(SourceLocation { line: r.u32()?, path: r.c_string()? })))
    }

    /// Returns the paths of the `.air` files that the function depends on.
    pub fn dependencies(&self) -> impl Iterator<Item = Result<&'a [u8]>> {
        self.group
            .tags()
            .filter_map(Result::ok)
            .filter(|tag| tag.code.0 == *b"DEPF")
            .map(|tag| tag.c_string())
    }
}

/// Parses a 16-bit count and that many entries, which must fill the tag.
/// Reads a byte that is 0 or 1.
fn flag(reader: &mut Reader<'_>) -> Result<bool> {
    let offset = reader.offset();
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::new(ErrorKind::BadValue, offset, "a flag that is neither 0 nor 1")
            .found(format!("{other}"))),
    }
}

fn counted<'a, T>(tag: &Tag<'a>, mut read: impl FnMut(&mut Reader<'a>) -> Result<T>) -> Result<Vec<T>> {
    tag.exactly(|reader| {
        let count = reader.u16()?;
        // Every entry takes at least one byte, so the size of the tag limits the list.
        (0..count).map(|_| read(reader)).collect()
    })
}
