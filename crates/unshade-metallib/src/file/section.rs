//! The header extension and the sections that it names.

use super::{RawTag, Text};
use crate::reflection::tables::OwnedTable;
use alloc::vec::Vec;
use unshade_core::{FourCc, Result};

/// A tag of the header extension; the sections stand in the file in the order of their tags.
#[derive(Clone, Debug, PartialEq)]
pub enum ExtensionTag<'a> {
    /// A section.
    Section {
        /// Its code.
        code: FourCc,
        /// What it holds.
        data: SectionData<'a>,
    },
    /// The UUID.
    Uuid([u8; 16]),
    /// Another tag.
    Other(RawTag<'a>),
}

/// What a section holds.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionData<'a> {
    /// `HSRD` or `HSRC`.
    Sources(OwnedSources<'a>),
    /// `HSRP`: bare tags.
    SourceLink(Vec<RawTag<'a>>),
    /// `HDYN`.
    Dynamic(OwnedDynamicHeader<'a>),
    /// `VLST` or `ILST`: names.
    Symbols(Vec<Text<'a>>),
    /// `RLST`.
    Reflections(Vec<OwnedReflection<'a>>),
    /// `SLST`: the content of each `SBUF`.
    Scripts(Vec<Text<'a>>),
    /// A section that is not as described.
    Raw(Text<'a>),
}

/// Embedded sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedSources<'a> {
    /// The command line of the link.
    pub link_command: Text<'a>,
    /// The directory in which the link ran: in `HSRD`, not in `HSRC`.
    pub working_directory: Option<Text<'a>>,
    /// The archives.
    pub archives: Vec<OwnedArchive<'a>>,
}

/// An archive of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedArchive<'a> {
    /// Its id: a decimal number from the linker, a file's base name from the older tool.
    pub id: Text<'a>,
    /// The bzip2 stream of a tar archive, with the zeros that may follow it.
    pub compressed: Text<'a>,
}

/// The names by which libraries find each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedDynamicHeader<'a> {
    /// The install name (`NAME`).
    pub install_name: Option<Text<'a>>,
    /// The libraries that this one is linked against (`DYNL`, one each).
    pub linked: Vec<Text<'a>>,
    /// Other tags, which stand after those.
    pub other: Vec<RawTag<'a>>,
}

/// A reflection buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedReflection<'a> {
    /// `RBUF`, or `RBUZ` for a compressed one.
    pub code: FourCc,
    /// The flatbuffer, without the zeros before it.
    pub content: Text<'a>,
    /// Whether zeros stand before it, so that it starts at a multiple of 16 of the file: in every real file.
    pub padded: bool,
}

impl OwnedReflection<'_> {
    /// A buffer of these tables.
    ///
    /// # Errors
    /// As [`OwnedTable::write`].
    pub fn of_tables(root: &OwnedTable<'_>) -> Result<Self> {
        Ok(Self { code: FourCc(*b"RBUF"), content: root.write()?.into(), padded: true })
    }

    /// The buffer's tables, if it is one that [`OwnedTable::write`] makes of them; others are carried along as they are.
    pub fn tables(&self) -> Option<OwnedTable<'_>> {
        if self.code.0 != *b"RBUF" {
            return None;
        }
        let root = OwnedTable::read(&self.content).ok()?;
        let written = root.write().ok()?;
        (*written == *self.content).then_some(root)
    }
}
