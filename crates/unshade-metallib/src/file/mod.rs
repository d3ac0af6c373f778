//! A library as it is owned, changed and written.
//!
//! [`LibraryFile::parse`] takes a whole file apart, [`LibraryFile::write`] puts it together again: the same bytes, as
//! long as nothing was changed. Counts, sizes, offsets, the padding of reflection buffers and everything by which one
//! part refers to another are computed when the file is written; so are the hashes of modules that are new. The bytes
//! of modules, compressed sources and reflection buffers are borrowed from the file that was read and handed on to
//! whoever writes, so that a library of 150 MB takes few megabytes of memory.
//!
//! A file that is laid out in a way that would not be written back as it is (sections that overlap or lie elsewhere,
//! tags that stand twice) is refused, with the first place where it differs: what is read is written, or not read.
//!
//! The order of writing, from the names in Apple's linker: header, function list, header extension, public metadata,
//! private metadata, modules, then the sections in the order of the extension.

mod encode;
mod function;
mod read;
mod section;
mod write;

pub use function::{FunctionConstant, OwnedFunction, PrivateTags, PublicTags, SourcePlace, VertexAttribute};
pub use section::{
    ExtensionTag, OwnedArchive, OwnedDynamicHeader, OwnedReflection, OwnedSources, SectionData,
};
pub use write::Written;

use crate::header::{Header, Section};
use crate::header_extension::SECTION_NAMES;
use crate::library::Dialect;
use crate::module;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use unshade_core::{FourCc, Result};

/// Text or bytes of a library: borrowed from the file that was read, or new.
pub type Text<'a> = Cow<'a, [u8]>;

/// A tag that nobody has described, or whose content is not as described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTag<'a> {
    /// Its code.
    pub code: FourCc,
    /// Its bytes, without code and length.
    pub content: Text<'a>,
}

/// A module with its wrapper and padding, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedModule<'a> {
    /// All bytes that its hash covers.
    pub bytes: Text<'a>,
    /// Bytes between it and the next module that belong to nothing; a few old files have a zero there.
    pub stray: Text<'a>,
}

impl<'a> OwnedModule<'a> {
    /// A module of bare bitcode, which gets its wrapper and padding.
    ///
    /// # Errors
    /// As [`module::wrap`].
    pub fn of_bitcode(bitcode: impl AsRef<[u8]>) -> Result<Self> {
        module::wrap(bitcode.as_ref()).map(Self::of_bytes)
    }

    /// A module of bytes that have their wrapper and padding.
    pub fn of_bytes(bytes: impl Into<Text<'a>>) -> Self {
        Self { bytes: bytes.into(), stray: Cow::Borrowed(&[]) }
    }
}

/// A library that is owned.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryFile<'a> {
    /// The header; its file size and sections are not used, as they are computed.
    pub header: Header,
    /// Whose order of tags and whose sizes of groups are written.
    pub dialect: Dialect,
    /// Whether the function list has one size for all functions, as dxmt writes it.
    pub shared_group: bool,
    /// The functions.
    pub functions: Vec<OwnedFunction<'a>>,
    /// The tags of the header extension in their order; `None` if there is not even their end, as in 1.2.2.
    pub extension: Option<Vec<ExtensionTag<'a>>>,
    /// The modules, in their order.
    pub modules: Vec<OwnedModule<'a>>,
    original: Original<'a>,
}

/// The bytes that a library was read from. They only help to write it faster, and so all are equal.
#[derive(Clone, Copy, Debug)]
struct Original<'a>(&'a [u8]);

impl PartialEq for Original<'_> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<'a> LibraryFile<'a> {
    /// A library without functions.
    pub fn new(header: Header) -> Self {
        let none = Section::default();
        Self {
            header: Header {
                file_size: 0,
                function_list: none,
                public_metadata: none,
                private_metadata: none,
                bitcode: none,
                ..header
            },
            dialect: Dialect::Linker,
            shared_group: false,
            functions: Vec::new(),
            extension: (header.patch > 2).then(Vec::new),
            modules: Vec::new(),
            original: Original(&[]),
        }
    }

    /// SHA-256 of each module.
    pub fn module_hashes(&self) -> Vec<[u8; 32]> {
        let messages: Vec<&[u8]> = self.modules.iter().map(|module| module.bytes.as_ref()).collect();
        unshade_sha256::digests(&messages)
    }

    /// The section of the first of these codes.
    pub fn section(&self, codes: &[[u8; 4]]) -> Option<&SectionData<'a>> {
        self.extension.as_ref()?.iter().find_map(|tag| match tag {
            ExtensionTag::Section { code, data } if codes.contains(&code.0) => Some(data),
            _ => None,
        })
    }

    /// The section of the first of these codes, to be changed.
    pub fn section_mut(&mut self, codes: &[[u8; 4]]) -> Option<&mut SectionData<'a>> {
        self.extension.as_mut()?.iter_mut().find_map(|tag| match tag {
            ExtensionTag::Section { code, data } if codes.contains(&code.0) => Some(data),
            _ => None,
        })
    }

    /// Puts a section where the linker puts it, in place of the one of its code.
    pub fn set_section(&mut self, code: [u8; 4], data: SectionData<'a>) {
        self.remove_section(&[code]);
        let rank = |code: FourCc| SECTION_NAMES.iter().position(|(name, _)| *name == code);
        let own = rank(FourCc(code));
        let tags = self.extension.get_or_insert_default();
        let place = tags.iter().position(|tag| match tag {
            ExtensionTag::Section { code, .. } => rank(*code) > own,
            ExtensionTag::Uuid(_) => true,
            ExtensionTag::Other(_) => false,
        });
        let tag = ExtensionTag::Section { code: FourCc(code), data };
        tags.insert(place.unwrap_or(tags.len()), tag);
    }

    /// Takes sections out; returns whether there was one.
    pub fn remove_section(&mut self, codes: &[[u8; 4]]) -> bool {
        let Some(tags) = &mut self.extension else { return false };
        let before = tags.len();
        tags.retain(|tag| !matches!(tag, ExtensionTag::Section { code, .. } if codes.contains(&code.0)));
        tags.len() < before
    }

    /// The embedded sources.
    pub fn sources(&self) -> Option<&OwnedSources<'a>> {
        match self.section(&SOURCES)? {
            SectionData::Sources(sources) => Some(sources),
            _ => None,
        }
    }

    /// The reflection buffers.
    pub fn reflections(&self) -> &[OwnedReflection<'a>] {
        match self.section(&[*b"RLST"]) {
            Some(SectionData::Reflections(reflections)) => reflections,
            _ => &[],
        }
    }

    /// The dynamic header.
    pub fn dynamic_header(&self) -> Option<&OwnedDynamicHeader<'a>> {
        match self.section(&[*b"HDYN"])? {
            SectionData::Dynamic(dynamic) => Some(dynamic),
            _ => None,
        }
    }

    /// The UUID.
    pub fn uuid(&self) -> Option<&[u8; 16]> {
        self.extension.as_ref()?.iter().find_map(|tag| match tag {
            ExtensionTag::Uuid(uuid) => Some(uuid),
            _ => None,
        })
    }

    /// Sets the UUID, or takes it out.
    pub fn set_uuid(&mut self, uuid: Option<[u8; 16]>) {
        if let Some(tags) = &mut self.extension {
            tags.retain(|tag| !matches!(tag, ExtensionTag::Uuid(_)));
        }
        if let Some(uuid) = uuid {
            self.extension.get_or_insert_default().push(ExtensionTag::Uuid(uuid));
        }
    }
}

/// The codes of the section of embedded sources.
pub(crate) const SOURCES: [[u8; 4]; 2] = [*b"HSRD", *b"HSRC"];
