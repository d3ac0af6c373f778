//! An owned library that can be changed and written.
//!
//! [`LibraryFile::parse`] parses a whole file, [`LibraryFile::write`] writes it; if nothing was changed, the result is
//! identical. Counts, sizes, offsets, the padding of reflection buffers and all references between parts are computed
//! on writing, and so are the hashes of new modules. The bytes of modules, compressed sources and reflection buffers
//! are borrowed from the input and passed through to the output, so that a library of 150 MB takes a few megabytes of
//! memory.
//!
//! A file whose layout would not survive a round trip (overlapping or misplaced sections, duplicate tags) is rejected,
//! with the offset of the first difference.
//!
//! The order of the output, as written by Apple's linker: header, function list, header extension, public metadata,
//! private metadata, modules, then the sections in the order of the extension.

mod encode;
mod function;
mod read;
mod section;
mod write;

pub use function::{
    FunctionConstant, OwnedFunction, PrivateTags, PublicTags, SourceLocation, VertexAttribute,
};
pub use section::{
    ExtensionTag, OwnedArchive, OwnedDynamicHeader, OwnedReflection, OwnedSources, SectionData,
};
pub use write::Written;

use crate::header::{Header, Section};
use crate::header_extension::SECTION_NAMES;
use crate::library::Dialect;
use crate::module;
use crate::target::FIRST_WITH_EXTENSION;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{FourCc, Result};

/// Text or bytes of a library: borrowed from the input, or owned.
pub type Text<'a> = Cow<'a, [u8]>;

/// A tag that is unknown, or whose content is not as expected.
#[derive(Clone, PartialEq, Eq)]
pub struct RawTag<'a> {
    /// The code.
    pub code: FourCc,
    /// The content, without code and length.
    pub content: Text<'a>,
}

impl fmt::Debug for RawTag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawTag({}, {} bytes)", self.code, self.content.len())
    }
}

/// A module with its wrapper and padding.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnedModule<'a> {
    /// All bytes covered by its hash.
    pub bytes: Text<'a>,
    /// Bytes between this module and the next that belong to neither; a few old files have a zero there.
    pub stray: Text<'a>,
}

impl fmt::Debug for OwnedModule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedModule")
            .field("size", &self.bytes.len())
            .field("stray", &self.stray.len())
            .finish_non_exhaustive()
    }
}
impl<'a> OwnedModule<'a> {
    /// Creates a module from bare bitcode, adding wrapper and padding.
    ///
    /// # Errors
    /// As [`module::wrap`].
    pub fn of_bitcode(bitcode: impl AsRef<[u8]>) -> Result<Self> {
        module::wrap(bitcode.as_ref()).map(Self::of_bytes)
    }

    /// Creates a module from bytes that already include wrapper and padding.
    pub fn of_bytes(bytes: impl Into<Text<'a>>) -> Self {
        Self { bytes: bytes.into(), stray: Cow::Borrowed(&[]) }
    }
}

/// An owned library.
#[derive(Clone, PartialEq)]
pub struct LibraryFile<'a> {
    /// The header. Its file size and sections are ignored; they are computed on writing.
    pub header: Header,
    /// Which tool's conventions to follow for the order of tags and the sizes of groups.
    pub dialect: Dialect,
    /// Whether the function list has a single size for all functions, as dxmt writes it.
    pub shared_group: bool,
    /// The functions.
    pub functions: Vec<OwnedFunction<'a>>,
    /// The tags of the header extension, in order; `None` if there is not even an `ENDT`, as in 1.2.2.
    pub extension: Option<Vec<ExtensionTag<'a>>>,
    /// The modules, in order.
    pub modules: Vec<OwnedModule<'a>>,
    original: Original<'a>,
}

/// The input that a library was parsed from. It only makes writing faster, so all values compare equal.
#[derive(Clone, Copy)]
struct Original<'a>(&'a [u8]);

impl PartialEq for Original<'_> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Prints a summary, not the data.
impl fmt::Debug for LibraryFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryFile")
            .field("version", &format_args!("{}", self.header.version()))
            .field("target", &self.header.target())
            .field("dialect", &self.dialect)
            .field("functions", &self.functions.len())
            .field("modules", &self.modules.len())
            .finish_non_exhaustive()
    }
}

impl<'a> LibraryFile<'a> {
    /// Creates a library without functions.
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
            extension: (header.patch >= FIRST_WITH_EXTENSION).then(Vec::new),
            modules: Vec::new(),
            original: Original(&[]),
        }
    }

    /// Computes the SHA-256 of each module.
    pub fn module_hashes(&self) -> Vec<[u8; 32]> {
        let messages: Vec<&[u8]> = self.modules.iter().map(|module| module.bytes.as_ref()).collect();
        unshade_sha256::digests(&messages)
    }

    /// Returns the first section with one of these codes.
    pub fn section(&self, codes: &[[u8; 4]]) -> Option<&SectionData<'a>> {
        self.extension.as_ref()?.iter().find_map(|tag| match tag {
            ExtensionTag::Section { code, data } if codes.contains(&code.0) => Some(data),
            _ => None,
        })
    }

    /// Returns the first section with one of these codes, mutably.
    pub fn section_mut(&mut self, codes: &[[u8; 4]]) -> Option<&mut SectionData<'a>> {
        self.extension.as_mut()?.iter_mut().find_map(|tag| match tag {
            ExtensionTag::Section { code, data } if codes.contains(&code.0) => Some(data),
            _ => None,
        })
    }

    /// Inserts a section at the position that the linker uses. Replaces an existing section with the same code.
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

    /// Removes the sections with these codes. Returns whether there were any.
    pub fn remove_section(&mut self, codes: &[[u8; 4]]) -> bool {
        let Some(tags) = &mut self.extension else { return false };
        let old_count = tags.len();
        tags.retain(|tag| !matches!(tag, ExtensionTag::Section { code, .. } if codes.contains(&code.0)));
        tags.len() < old_count
    }

    /// Returns the embedded sources.
    pub fn sources(&self) -> Option<&OwnedSources<'a>> {
        match self.section(&SOURCES)? {
            SectionData::Sources(sources) => Some(sources),
            _ => None,
        }
    }

    /// Returns the reflection buffers.
    pub fn reflections(&self) -> &[OwnedReflection<'a>] {
        match self.section(&[*b"RLST"]) {
            Some(SectionData::Reflections(reflections)) => reflections,
            _ => &[],
        }
    }

    /// Returns the dynamic header.
    pub fn dynamic_header(&self) -> Option<&OwnedDynamicHeader<'a>> {
        match self.section(&[*b"HDYN"])? {
            SectionData::Dynamic(dynamic) => Some(dynamic),
            _ => None,
        }
    }

    /// Returns the UUID.
    pub fn uuid(&self) -> Option<&[u8; 16]> {
        self.extension.as_ref()?.iter().find_map(|tag| match tag {
            ExtensionTag::Uuid(uuid) => Some(uuid),
            _ => None,
        })
    }

    /// Sets or removes the UUID.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function_list::FunctionType;
    use crate::library::Library;
    use crate::target::Target;
    use crate::{LibraryType, Platform};
    use alloc::format;
    use alloc::string::String;

    /// Debug output must stay readable in assertions and logs, whatever the size of the library.
    #[test]
    fn debug_output_is_a_summary() {
        let target = Target { platform: Platform::MACOS, os: (14, 0, 0) };
        let mut file = LibraryFile::new(target.header(LibraryType::EXECUTABLE));
        file.modules.push(OwnedModule::of_bitcode([0xab; 5_000]).unwrap());
        file.functions.push(OwnedFunction::new(&b"scale"[..], FunctionType::KERNEL, 0));
        let bytes = file.write().unwrap().to_vec();
        let library = Library::parse(&bytes).unwrap();
        let function = library.function(0).unwrap();
        assert_eq!(
            format!("{library:?}"),
            "Library { version: 1.2.7, target: \"macOS 14.0\", functions: 1, range: 0..5245, .. }"
        );
        assert_eq!(
            format!("{file:?}"),
            "LibraryFile { version: 1.2.7, target: \"macOS 14.0\", dialect: Linker, functions: 1, modules: 1, .. }"
        );
        let texts: [String; 5] = [
            format!("{function:?}"),
            format!("{:?}", file.modules),
            format!("{:?}", file.functions),
            format!("{:?}", library.module(&function).unwrap()),
            format!("{:?}", crate::verify::Check::new(&library)),
        ];
        for text in texts {
            assert!(text.len() < 200 && !text.contains("171"), "{text}");
        }
    }
}
