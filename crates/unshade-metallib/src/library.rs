//! A Metal library as a whole.
//!
//! In a file of Apple's linker the parts follow each other without gaps: header, function list, header extension,
//! public metadata, private metadata, bitcode, sources, source link, dynamic header, exported variables, imported
//! symbols, reflection list, script list.

use crate::dynamic_header::DynamicHeader;
use crate::function_list::{Function, Functions};
use crate::header::{Header, Section};
use crate::header_extension::HeaderExtension;
use crate::lists::{Group, Groups};
use crate::metadata::{GroupSize, MetadataGroup, PrivateMetadata, PublicMetadata};
use crate::module::Module;
use crate::reflection::Reflection;
use crate::sources::Sources;
use alloc::format;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// Which of Apple's two writers made a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `air-lld`, which the `metal` driver runs.
    Linker,
    /// The older `metallib` tool, or a writer that follows it.
    Legacy,
}

impl core::fmt::Display for Dialect {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Dialect::Linker => "linker",
            Dialect::Legacy => "legacy tool",
        })
    }
}

/// A Metal library. Borrowed from the file's bytes, and read as far as it is asked for.
#[derive(Clone, Debug)]
pub struct Library<'a> {
    file: Reader<'a>,
    header: Header,
    extension: Option<HeaderExtension<'a>>,
    extension_fault: Option<Error>,
}

impl<'a> Library<'a> {
    /// Opens a library that is a file of its own.
    ///
    /// # Errors
    /// Only if there is no whole header. Everything else is told by what reads the part, or by [`crate::verify`].
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Opens a library that stands at `base` of a larger file, so that errors and ranges are offsets of that file.
    ///
    /// # Errors
    /// As [`Library::parse`].
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        let file = Reader::at(data, base);
        let header = Header::read(&mut file.clone()).map_err(|error| error.within("header"))?;
        let (extension, extension_fault) = match HeaderExtension::find(&header, &file) {
            Ok(extension) => (extension, None),
            Err(error) => (None, Some(error)),
        };
        Ok(Self { file, header, extension, extension_fault })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All bytes of the library, from the header on.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// The header extension, where there is one that lies inside of the file.
    pub fn extension(&self) -> Option<&HeaderExtension<'a>> {
        self.extension.as_ref()
    }

    /// Why the header extension could not be read.
    pub fn extension_fault(&self) -> Option<&Error> {
        self.extension_fault.as_ref()
    }

    /// The UUID, where there is one.
    pub fn uuid(&self) -> Option<&'a [u8; 16]> {
        self.extension.as_ref()?.uuid()
    }

    /// Walks the functions.
    pub fn functions(&self) -> Functions<'a> {
        let range = self.header.function_list_range();
        let size = range.end.saturating_sub(range.start);
        let available = (self.file.data().len() as u64).saturating_sub(range.start);
        // A list that is cut off is read as far as it goes.
        Functions::new(self.file.part(range.start, size.min(available)))
    }

    /// The function of this index, walking no further than it.
    pub fn function(&self, index: u32) -> Option<Function<'a>> {
        self.functions().map_while(Result::ok).find(|function| function.index == index)
    }

    /// Which writer made the library, told by the sizes of its first function's metadata groups. `None` if there is
    /// no function, or if the sizes fit neither writer.
    pub fn dialect(&self) -> Option<Dialect> {
        let first = self.functions().next()?.ok()?;
        match self.public_metadata(&first).ok()??.group.group_size() {
            GroupSize::Inclusive => Some(Dialect::Linker),
            GroupSize::Exclusive => Some(Dialect::Legacy),
            GroupSize::Wrong => None,
        }
    }

    /// A function's public metadata; `None` if it has no `OFFT`.
    ///
    /// # Errors
    /// An offset out of range, a tag that can't be read.
    pub fn public_metadata(&self, function: &Function<'_>) -> Result<Option<PublicMetadata<'a>>> {
        let Some(offsets) = function.offsets else { return Ok(None) };
        let group = self.metadata("public metadata", self.header.public_metadata, offsets.public_metadata);
        Ok(Some(PublicMetadata { group: group.map_err(|error| error.within(function.label()))? }))
    }

    /// A function's private metadata; `None` if it has no `OFFT`.
    ///
    /// # Errors
    /// An offset out of range, a tag that can't be read.
    pub fn private_metadata(&self, function: &Function<'_>) -> Result<Option<PrivateMetadata<'a>>> {
        let Some(offsets) = function.offsets else { return Ok(None) };
        let group = self.metadata("private metadata", self.header.private_metadata, offsets.private_metadata);
        Ok(Some(PrivateMetadata { group: group.map_err(|error| error.within(function.label()))? }))
    }

    fn metadata(&self, name: &'static str, section: Section, offset: u64) -> Result<MetadataGroup<'a>> {
        let read = || {
            let mut section = self.file.part(section.offset, section.size)?;
            section.skip(offset)?;
            MetadataGroup::read(&mut section)
        };
        read().map_err(|error: Error| error.within(name))
    }

    /// A function's bitcode module; `None` if it has no `OFFT`.
    ///
    /// # Errors
    /// An offset or size out of range, or a size that cannot be found.
    pub fn module(&self, function: &Function<'_>) -> Result<Option<Module<'a>>> {
        let Some(offsets) = function.offsets else { return Ok(None) };
        let Section { offset, size } = self.header.bitcode;
        let read = || {
            let section = self.file.part(offset, size)?;
            match function.module_size {
                Some(size) => Module::sized(&section, offsets.bitcode, size),
                None => Module::measured(&section, offsets.bitcode),
            }
        };
        read().map(Some).map_err(|error: Error| error.within("module").within(function.label()))
    }

    /// A section that the header extension names.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`].
    pub fn section(&self, code: &[u8; 4]) -> Result<Option<Reader<'a>>> {
        let Some(section) = self.extension.as_ref().and_then(|extension| extension.section(code)) else {
            return Ok(None);
        };
        let part = self.file.part(section.offset, section.size);
        part.map(Some).map_err(|error| error.within(format!("section {}", code.escape_ascii())))
    }

    /// The embedded sources.
    ///
    /// # Errors
    /// A section that is out of range or ends early.
    pub fn sources(&self) -> Result<Option<Sources<'a>>> {
        for (code, has_directory) in [(b"HSRD", true), (b"HSRC", false)] {
            if let Some(section) = self.section(code)? {
                let sources =
                    Sources::read(section, has_directory).map_err(|error| error.within("sources"))?;
                return Ok(Some(sources));
            }
        }
        Ok(None)
    }

    /// The dynamic header.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`].
    pub fn dynamic_header(&self) -> Result<Option<DynamicHeader<'a>>> {
        Ok(self.section(b"HDYN")?.map(DynamicHeader::new))
    }

    /// The groups of a list: `ILST`, `VLST`, `RLST` or `SLST`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] or [`ErrorKind::Truncated`].
    pub fn list(&self, code: &[u8; 4]) -> Result<Option<Groups<'a>>> {
        let Some(section) = self.section(code)? else { return Ok(None) };
        Groups::new(section)
            .map(Some)
            .map_err(|error| error.within(format!("section {}", code.escape_ascii())))
    }

    /// The names of the symbols that a loader has to find elsewhere (`ILST`).
    ///
    /// # Errors
    /// As [`Library::list`].
    pub fn imported_symbols(&self) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>> {
        Ok(self.list(b"ILST")?.into_iter().flatten().filter_map(|group| group.ok()?.name()))
    }

    /// The names of the variables that others may use (`VLST`).
    ///
    /// # Errors
    /// As [`Library::list`].
    pub fn exported_variables(&self) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>> {
        Ok(self.list(b"VLST")?.into_iter().flatten().filter_map(|group| group.ok()?.name()))
    }

    /// The reflection of a function; `None` if the library has none for it. The functions of a dynamic library share
    /// one.
    ///
    /// # Errors
    /// An offset out of range, a compressed buffer, or a buffer that can't be read.
    pub fn reflection(&self, function: &Function<'_>) -> Result<Option<Reflection<'a>>> {
        let (Some(offset), Some(section)) = (function.reflection_offset, self.section(b"RLST")?) else {
            return Ok(None);
        };
        let read = || {
            let mut reader = section;
            reader.skip(offset)?;
            reflection_buffer(&Group::read(&mut reader)?)
        };
        read().map(Some).map_err(|error: Error| error.within("reflection").within(function.label()))
    }
}

/// The reflection that a group of the reflection list holds.
///
/// # Errors
/// No `RBUF` in the group, a compressed one, or one that can't be read.
pub fn reflection_buffer<'a>(group: &Group<'a>) -> Result<Reflection<'a>> {
    let tag = group.find(&[b"RBUF", b"RBUZ"]).ok_or_else(|| {
        Error::new(ErrorKind::BadValue, group.range.start, "reflection without a buffer").expected("RBUF")
    })?;
    if tag.code.0 == *b"RBUZ" {
        return Err(Error::new(
            ErrorKind::Unsupported,
            tag.range.start,
            "compressed reflection buffer (RBUZ): its compression is not known",
        )
        .hint("please send the file to the project: no real one has been seen"));
    }
    Reflection::parse(tag.content.data(), tag.content.base())
}
