//! A Metal library as a whole.
//!
//! Files of Apple's linker contain these parts without gaps: header, function list, header extension, public metadata,
//! private metadata, bitcode, sources, source link, dynamic header, exported variables, imported symbols, reflection
//! list, script list.

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
use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// Which of Apple's two tools wrote a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `air-lld`, which the `metal` driver runs.
    Linker,
    /// The older `metallib` tool, or a writer that imitates it.
    Legacy,
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Dialect::Linker => "linker",
            Dialect::Legacy => "legacy tool",
        })
    }
}

/// A Metal library. Borrows the file's bytes, and parses parts on demand.
#[derive(Clone)]
pub struct Library<'a> {
    file: Reader<'a>,
    header: Header,
    extension: Option<HeaderExtension<'a>>,
    extension_fault: Option<Error>,
}

/// Prints a summary, not the data.
impl fmt::Debug for Library<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("version", &format_args!("{}", self.header.version()))
            .field("target", &self.header.target())
            .field("functions", &self.functions().declared_count())
            .field("range", &self.file.range())
            .finish_non_exhaustive()
    }
}

impl<'a> Library<'a> {
    /// Parses a library that is a file of its own.
    ///
    /// # Errors
    /// Only if the header is incomplete. Other faults are reported when the part is read, or by [`crate::verify`].
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a library at offset `base` of a larger file. Errors and ranges are offsets in that file.
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

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns a reader of the whole library, header included.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// Returns the header extension, if there is one that is inside the file.
    pub fn extension(&self) -> Option<&HeaderExtension<'a>> {
        self.extension.as_ref()
    }

    /// Returns why the header extension could not be read.
    pub fn extension_fault(&self) -> Option<&Error> {
        self.extension_fault.as_ref()
    }

    /// Returns the UUID, if there is one.
    pub fn uuid(&self) -> Option<&'a [u8; 16]> {
        self.extension.as_ref()?.uuid()
    }

    /// Iterates over the functions.
    pub fn functions(&self) -> Functions<'a> {
        let range = self.header.function_list_range();
        let size = range.end.saturating_sub(range.start);
        let available = (self.file.data().len() as u64).saturating_sub(range.start);
        // A truncated list is read as far as possible.
        Functions::new(self.file.part(range.start, size.min(available)))
    }

    /// Returns the function at this index. Reads the function list up to that function.
    pub fn function(&self, index: u32) -> Option<Function<'a>> {
        self.functions().map_while(Result::ok).find(|function| function.index == index)
    }

    /// Returns the function at this index whose group has this range, without reading those before it. `None` if the
    /// group is another one, or one of several functions.
    pub fn function_in(&self, index: u32, group: &Range<u64>) -> Option<Function<'a>> {
        let start = group.start.checked_sub(self.file.base())?;
        let size = group.end.checked_sub(group.start)?;
        Functions::at(index, self.file.part(start, size).ok()?).filter(|one| one.range == *group)
    }

    /// Returns which tool wrote the library, judged by the sizes of the first function's metadata groups. `None` if
    /// there is no function, or if the sizes match neither tool.
    pub fn dialect(&self) -> Option<Dialect> {
        let first = self.functions().next()?.ok()?;
        match self.public_metadata(&first).ok()??.group.group_size() {
            GroupSize::Inclusive => Some(Dialect::Linker),
            GroupSize::Exclusive => Some(Dialect::Legacy),
            GroupSize::Wrong => None,
        }
    }

    /// Returns a function's public metadata; `None` if it has no `OFFT`.
    ///
    /// # Errors
    /// If an offset is out of range or a tag is malformed.
    pub fn public_metadata(&self, function: &Function<'_>) -> Result<Option<PublicMetadata<'a>>> {
        let Some(offsets) = function.offsets else { return Ok(None) };
        let group = self.metadata("public metadata", self.header.public_metadata, offsets.public_metadata);
        Ok(Some(PublicMetadata { group: group.map_err(|error| error.within(function.label()))? }))
    }

    /// Returns a function's private metadata; `None` if it has no `OFFT`.
    ///
    /// # Errors
    /// If an offset is out of range or a tag is malformed.
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

    /// Returns a function's bitcode module; `None` if it has no `OFFT`.
    ///
    /// # Errors
    /// If an offset or size is out of range, or the size is unknown.
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

    /// Returns a section that the header extension names.
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

    /// Returns the embedded sources.
    ///
    /// # Errors
    /// If the section is out of range or truncated.
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

    /// Returns the dynamic header.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`].
    pub fn dynamic_header(&self) -> Result<Option<DynamicHeader<'a>>> {
        Ok(self.section(b"HDYN")?.map(DynamicHeader::new))
    }

    /// Returns the groups of a list: `ILST`, `VLST`, `RLST` or `SLST`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] or [`ErrorKind::Truncated`].
    pub fn list(&self, code: &[u8; 4]) -> Result<Option<Groups<'a>>> {
        let Some(section) = self.section(code)? else { return Ok(None) };
        Groups::new(section)
            .map(Some)
            .map_err(|error| error.within(format!("section {}", code.escape_ascii())))
    }

    /// Returns the names of the symbols that must be resolved in other libraries (`ILST`).
    ///
    /// # Errors
    /// As [`Library::list`].
    pub fn imported_symbols(&self) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>> {
        Ok(self.list(b"ILST")?.into_iter().flatten().filter_map(|group| group.ok()?.name()))
    }

    /// Returns the names of the exported variables (`VLST`).
    ///
    /// # Errors
    /// As [`Library::list`].
    pub fn exported_variables(&self) -> Result<impl Iterator<Item = &'a [u8]> + use<'a>> {
        Ok(self.list(b"VLST")?.into_iter().flatten().filter_map(|group| group.ok()?.name()))
    }

    /// Returns the reflection of a function; `None` if the library has none for it. The functions of a dynamic library
    /// share one reflection.
    ///
    /// # Errors
    /// If an offset is out of range, or the buffer is compressed or malformed.
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

/// Returns the reflection in a group of the reflection list.
///
/// # Errors
/// If the group has no `RBUF`, or the buffer is compressed or malformed.
pub fn reflection_buffer<'a>(group: &Group<'a>) -> Result<Reflection<'a>> {
    let tag = group.find(&[b"RBUF", b"RBUZ"]).ok_or_else(|| {
        Error::new(ErrorKind::BadValue, group.range.start, "reflection without a buffer").expected("RBUF")
    })?;
    if tag.code.0 == *b"RBUZ" {
        return Err(Error::new(
            ErrorKind::Unsupported,
            tag.range.start,
            "compressed reflection buffer (RBUZ): the compression is unknown",
        )
        .hint("please send the file to the project: no such file has been seen yet"));
    }
    Reflection::parse_at(tag.content.data(), tag.content.base())
}
