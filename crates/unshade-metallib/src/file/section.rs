//! The header extension and the sections that it refers to.

use super::{RawTag, Text};
use crate::reflection::tables::OwnedTable;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Escaped, FourCc, Result};

/// A tag of the header extension. The sections are in the file in the order of their tags.
#[derive(Clone, Debug, PartialEq)]
pub enum ExtensionTag<'a> {
    /// A section.
    Section {
        /// The code.
        code: FourCc,
        /// The content.
        data: SectionData<'a>,
    },
    /// The UUID.
    Uuid([u8; 16]),
    /// Another tag.
    Other(RawTag<'a>),
}

/// The content of a section.
#[derive(Clone, PartialEq)]
pub enum SectionData<'a> {
    /// `HSRD` or `HSRC`.
    Sources(OwnedSources<'a>),
    /// `HSRP`: tags.
    SourceLink(Vec<RawTag<'a>>),
    /// `HDYN`.
    Dynamic(OwnedDynamicHeader<'a>),
    /// `VLST` or `ILST`: names.
    Symbols(Vec<Text<'a>>),
    /// `RLST`.
    Reflections(Vec<OwnedReflection<'a>>),
    /// `SLST`: the content of each `SBUF`.
    Scripts(Vec<Text<'a>>),
    /// A section of unknown kind or layout.
    Raw(Text<'a>),
}

impl fmt::Debug for SectionData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectionData::Sources(sources) => sources.fmt(f),
            SectionData::SourceLink(tags) => f.debug_tuple("SourceLink").field(tags).finish(),
            SectionData::Dynamic(dynamic) => dynamic.fmt(f),
            SectionData::Symbols(names) => write!(f, "Symbols({})", names.len()),
            SectionData::Reflections(list) => write!(f, "Reflections({})", list.len()),
            SectionData::Scripts(scripts) => write!(f, "Scripts({})", scripts.len()),
            SectionData::Raw(bytes) => write!(f, "Raw({} bytes)", bytes.len()),
        }
    }
}

/// Embedded sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedSources<'a> {
    /// The command line of the linker.
    pub link_command: Text<'a>,
    /// The working directory of the linker: in `HSRD`, not in `HSRC`.
    pub working_directory: Option<Text<'a>>,
    /// The archives.
    pub archives: Vec<OwnedArchive<'a>>,
}

/// An archive of sources.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedArchive<'a> {
    /// The ID: a decimal number from the linker, the base name of a file from the older tool.
    pub id: Text<'a>,
    /// A bzip2-compressed tar archive, including trailing zeros.
    pub compressed: Text<'a>,
}

impl fmt::Debug for OwnedArchive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnedArchive({:?}, {} bytes)", Escaped(&self.id), self.compressed.len())
    }
}

/// The names by which libraries are linked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedDynamicHeader<'a> {
    /// The install name (`NAME`).
    pub install_name: Option<Text<'a>>,
    /// The libraries that this one is linked against (`DYNL`, one each).
    pub linked: Vec<Text<'a>>,
    /// Other tags, which come last.
    pub other: Vec<RawTag<'a>>,
}

/// A reflection buffer.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedReflection<'a> {
    /// `RBUF`, or `RBUZ` for a compressed one.
    pub code: FourCc,
    /// The flatbuffer, without its padding.
    pub content: Text<'a>,
    /// Whether the flatbuffer is padded to start at a multiple of 16 in the file, as in every real file.
    pub padded: bool,
}

impl fmt::Debug for OwnedReflection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnedReflection({}, {} bytes)", self.code, self.content.len())
    }
}

impl OwnedReflection<'_> {
    /// Creates a buffer from tables.
    ///
    /// # Errors
    /// As [`OwnedTable::write`].
    pub fn of_tables(root: &OwnedTable<'_>) -> Result<Self> {
        Ok(Self { code: FourCc(*b"RBUF"), content: root.write()?.into(), padded: true })
    }

    /// Returns the tables of the buffer, if [`OwnedTable::write`] reproduces it exactly. Other buffers are kept as
    /// bytes.
    pub fn tables(&self) -> Option<OwnedTable<'_>> {
        if self.code.0 != *b"RBUF" {
            return None;
        }
        let root = OwnedTable::read(&self.content).ok()?;
        let written = root.write().ok()?;
        (*written == *self.content).then_some(root)
    }
}
