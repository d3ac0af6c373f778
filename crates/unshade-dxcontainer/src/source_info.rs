//! SRCI: the sources that a program was compiled from, their names, and the compiler arguments.
//!
//! ```text
//! u32 size of the part, u16 flags, u16 number of sections
//! section:   u32 size with this header (a multiple of 4), u16 flags, u16 kind
//!   0 contents:  u32 0, u16 flags, u16 compression (1 zlib), u32 stored size, u32 size, u32 count; stored bytes
//!                entries, compressed as a whole: u32 size with this header, u32 flags, u32 length, text, NUL
//!   1 names:     u32 flags, u32 count, u16 size of the entries
//!                entries: u32 size with this header, u32 flags, u32 length of the name with its NUL, u32 length of
//!                the content, name, NUL
//!   2 arguments: u32 flags, u32 size, u32 count; name, NUL, value, NUL for each
//! ```
//!
//! DXC stores the sections in the order 1, 0, 2. Its zlib compresses differently from ours, so that the stored bytes
//! are kept unless the sources change.
//!
//! Sources: DXC's `DxilContainer.h`; 67 real parts.

use crate::bytes::{Bytes, Text, align4, len32, pad4};
use crate::cursor::{Cursor, read_part};
use crate::scalar::{Record, named, record};
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// Maximum size of decompressed sources.
pub const MAX_SOURCES: usize = 256 << 20;

/// Maximum expansion of deflate.
const MAX_INFLATION: usize = 1032;

named! {
    /// The kind of a section.
    pub struct SectionKind(u16) {
        CONTENTS = 0 => "SourceContents",
        NAMES = 1 => "SourceNames",
        ARGUMENTS = 2 => "Args",
    }
}

named! {
    /// The compression of the contents.
    pub struct Compression(u16) {
        NONE = 0 => "None",
        ZLIB = 1 => "Zlib",
    }
}

record! {
    /// The header of the part.
    pub struct Header {
        /// The size of the part.
        pub size: u32 => "AlignedSizeInBytes",
        /// 0.
        pub flags: u16 => "Flags",
        /// Number of sections.
        pub section_count: u16 => "SectionCount",
    }
}

record! {
    /// The header of a section.
    pub struct SectionHeader {
        /// The size of the section.
        pub size: u32 => "AlignedSizeInBytes",
        /// 0.
        pub flags: u16 => "Flags",
        /// The kind of the section.
        pub kind: SectionKind => "Type",
    }
}

record! {
    /// The header of the contents.
    pub struct ContentsHeader {
        /// 0.
        pub size: u32 => "AlignedSizeInBytes",
        /// 0.
        pub flags: u16 => "Flags",
        /// The compression.
        pub compression: Compression => "Type",
        /// The stored size in bytes.
        pub stored_size: u32 => "EntriesSizeInBytes",
        /// The uncompressed size in bytes.
        pub size_of_entries: u32 => "UncompressedEntriesSizeInBytes",
        /// Number of files.
        pub count: u32 => "Count",
    }
}

record! {
    /// The header of the names.
    pub struct NamesHeader {
        /// 0.
        pub flags: u32 => "Flags",
        /// Number of files.
        pub count: u32 => "Count",
        /// The size of the entries in bytes.
        pub size_of_entries: u16 => "EntriesSizeInBytes",
    }
}

record! {
    /// The header of the arguments.
    pub struct ArgumentsHeader {
        /// 0.
        pub flags: u32 => "Flags",
        /// The size of the strings in bytes.
        pub size: u32 => "SizeInBytes",
        /// Number of arguments.
        pub count: u32 => "Count",
    }
}

record! {
    /// The header of a file's content.
    pub struct ContentEntry {
        /// The size of the entry.
        pub size: u32 => "AlignedSizeInBytes",
        /// 0.
        pub flags: u32 => "Flags",
        /// The length of the content with its NUL.
        pub length: u32 => "ContentSizeInBytes",
    }
}

record! {
    /// The header of a file's name.
    pub struct NameEntry {
        /// The size of the entry.
        pub size: u32 => "AlignedSizeInBytes",
        /// 0.
        pub flags: u32 => "Flags",
        /// The length of the name with its NUL.
        pub name_length: u32 => "NameSizeInBytes",
        /// The length of the content with its NUL.
        pub content_length: u32 => "ContentSizeInBytes",
    }
}

/// The content of a file, and the padding after it.
#[derive(Clone, PartialEq)]
pub struct Content {
    /// Its header.
    pub entry: ContentEntry,
    /// The text, without its NUL.
    pub text: Text,
    /// NUL and padding.
    pub tail: Bytes,
}

/// The name of a file, and the padding after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// Its header.
    pub entry: NameEntry,
    /// The name, without its NUL.
    pub name: Text,
    /// NUL and padding.
    pub tail: Bytes,
}

/// The contents of all files.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Their header.
    pub header: ContentsHeader,
    /// The stored bytes.
    pub stored: Bytes,
}

/// The contents of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum SectionContent {
    /// Contents of files.
    Contents(Contents),
    /// Names of files.
    Names(NamesHeader, Vec<Name>),
    /// Arguments, as names and values.
    Arguments(ArgumentsHeader, Vec<(Text, Text)>),
    /// A section of an unknown kind.
    Unknown(Bytes),
}

/// A section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its header.
    pub header: SectionHeader,
    /// Its contents.
    pub content: SectionContent,
    /// Padding.
    pub tail: Bytes,
}

/// SRCI.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceInfo {
    /// The header.
    pub header: Header,
    /// The sections, in file order.
    pub sections: Vec<Section>,
    /// The bytes after them.
    pub extra: Bytes,
}

/// A source file.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name.
    pub name: Text,
    /// Its text.
    pub text: Text,
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFile")
            .field("name", &self.name)
            .field("size", &self.text.0.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl Contents {
    /// Decompresses and parses the contents of all files.
    ///
    /// # Errors
    /// Fails if they cannot be decompressed, or contradict the header.
    pub fn entries(&self) -> Result<Vec<Content>> {
        let bytes = self.inflate()?;
        read_part(Reader::new(&bytes), |cursor| {
            (0..self.header.count.min(len32(bytes.len()))).map(|_| read_content(cursor)).collect()
        })
    }

    fn inflate(&self) -> Result<Vec<u8>> {
        let fault =
            |kind, message: &'static str| Error::without_offset(kind, message).within("source contents");
        let size = self.header.size_of_entries as usize;
        match self.header.compression {
            Compression::NONE => Ok(self.stored.0.clone()),
            Compression::ZLIB => {
                if size > MAX_SOURCES {
                    return Err(
                        fault(ErrorKind::Limit, "sources are too large").found(format!("{size} bytes"))
                    );
                }
                let limit = size.min(self.stored.0.len().saturating_mul(MAX_INFLATION));
                let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&self.stored.0, limit)
                    .map_err(|error| {
                        fault(ErrorKind::BadValue, "zlib stream cannot be decompressed")
                            .found(format!("{error}"))
                    })?;
                if bytes.len() != size {
                    return Err(fault(
                        ErrorKind::BadValue,
                        "decompressed size differs from the size in the header",
                    )
                    .expected(format!("{size}"))
                    .found(format!("{}", bytes.len())));
                }
                Ok(bytes)
            }
            other => Err(fault(ErrorKind::Unsupported, "unknown compression").found(format!("{other}"))),
        }
    }

    /// Creates contents from entries, compressed as the header says.
    pub fn store(mut header: ContentsHeader, entries: &[Content]) -> Self {
        let mut bytes = Vec::new();
        for content in entries {
            content.entry.write(&mut bytes);
            bytes.extend_from_slice(&content.text.0);
            bytes.extend_from_slice(&content.tail.0);
        }
        header.size_of_entries = len32(bytes.len());
        header.count = len32(entries.len());
        let stored = match header.compression {
            Compression::ZLIB => miniz_oxide::deflate::compress_to_vec_zlib(&bytes, 9),
            _ => bytes,
        };
        header.stored_size = len32(stored.len());
        Self { header, stored: Bytes(stored) }
    }
}

fn read_content(cursor: &mut Cursor<'_, '_>) -> Result<Content> {
    let entry = ContentEntry::read(cursor)?;
    let rest = (entry.size as usize).saturating_sub(ContentEntry::SIZE);
    let (text, tail) = read_padded(cursor, entry.length, rest, "text")?;
    Ok(Content { entry, text, tail })
}

/// Reads NUL-terminated text and the rest of its entry.
fn read_padded(
    cursor: &mut Cursor<'_, '_>,
    length: u32,
    rest: usize,
    name: &'static str,
) -> Result<(Text, Bytes)> {
    let length = (length as usize).saturating_sub(1);
    let text = cursor.text_of(length, name)?;
    let tail = cursor.bytes(rest.saturating_sub(length), "NUL and padding")?;
    Ok((text, Bytes::from(tail)))
}

impl SourceInfo {
    /// Returns the files: names and contents.
    ///
    /// # Errors
    /// Fails if the contents cannot be parsed.
    pub fn files(&self) -> Result<Vec<SourceFile>> {
        let (mut names, mut contents) = (Vec::new(), Vec::new());
        for section in &self.sections {
            match &section.content {
                SectionContent::Names(_, found) => names.extend(found.iter().map(|name| name.name.clone())),
                SectionContent::Contents(found) => contents.extend(found.entries()?),
                _ => {}
            }
        }
        Ok(names
            .into_iter()
            .zip(contents)
            .map(|(name, content)| SourceFile { name, text: content.text })
            .collect())
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &(Text, Text)> {
        self.sections.iter().flat_map(|section| match &section.content {
            SectionContent::Arguments(_, arguments) => arguments.as_slice(),
            _ => &[],
        })
    }

    pub(crate) fn read(cursor: &mut Cursor<'_, '_>) -> Result<Self> {
        let header: Header = cursor.record("header")?;
        let mut sections = Vec::new();
        for index in 0..header.section_count {
            let section = cursor.group(|| format!("section {index}").into(), read_section);
            sections.push(section.map_err(|error| error.within(format!("section {index}")))?);
        }
        Ok(Self { header, sections, extra: Bytes::from(cursor.rest("unknown")?) })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.header.write(&mut out);
        for section in &self.sections {
            section.header.write(&mut out);
            section.content.write(&mut out);
            out.extend_from_slice(&section.tail.0);
        }
        out.extend_from_slice(&self.extra.0);
        out
    }

    /// Sets all sizes and counts, and pads as DXC does.
    pub fn lay_out(&mut self) {
        for section in &mut self.sections {
            section.content.lay_out();
            let mut content = Vec::new();
            section.content.write(&mut content);
            let padded = align4(content.len());
            section.tail = Bytes(alloc::vec![0; padded.saturating_sub(content.len())]);
            section.header.size = len32(padded.saturating_add(SectionHeader::SIZE));
        }
        self.header.section_count = u16::try_from(self.sections.len()).unwrap_or(u16::MAX);
        self.header.size = len32(self.write().len());
    }
}

fn read_section(cursor: &mut Cursor<'_, '_>) -> Result<Section> {
    let file_offset = cursor.offset();
    let header = SectionHeader::read(cursor)?;
    let size = (header.size as usize).checked_sub(SectionHeader::SIZE).ok_or_else(|| {
        Error::new(ErrorKind::BadValue, file_offset, "section is smaller than its header")
            .expected("at least 8 bytes")
            .found(format!("{}", header.size))
    })?;
    let mut inner = cursor.split(size as u64)?;
    let content = match header.kind {
        SectionKind::CONTENTS => {
            let header = ContentsHeader::read(&mut inner)?;
            let stored = Bytes::from(inner.bytes(header.stored_size as usize, "stored contents")?);
            SectionContent::Contents(Contents { header, stored })
        }
        SectionKind::NAMES => {
            let header = NamesHeader::read(&mut inner)?;
            inner.check_count(header.count, NameEntry::SIZE)?;
            let mut names = Vec::new();
            for _ in 0..header.count {
                let entry = NameEntry::read(&mut inner)?;
                let rest = (entry.size as usize).saturating_sub(NameEntry::SIZE);
                let (name, tail) = read_padded(&mut inner, entry.name_length, rest, "name")?;
                names.push(Name { entry, name, tail });
            }
            SectionContent::Names(header, names)
        }
        SectionKind::ARGUMENTS => {
            let header = ArgumentsHeader::read(&mut inner)?;
            inner.check_count(header.count, 2)?;
            let pair = |_| Ok((inner.text("argument")?, inner.text("value")?));
            let arguments = (0..header.count).map(pair).collect::<Result<_>>()?;
            SectionContent::Arguments(header, arguments)
        }
        _ => SectionContent::Unknown(Bytes::from(inner.rest("unknown")?)),
    };
    Ok(Section { header, content, tail: Bytes::from(inner.rest("padding")?) })
}

impl SectionContent {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Contents(contents) => {
                contents.header.write(out);
                out.extend_from_slice(&contents.stored.0);
            }
            Self::Names(header, names) => {
                header.write(out);
                for name in names {
                    name.entry.write(out);
                    out.extend_from_slice(&name.name.0);
                    out.extend_from_slice(&name.tail.0);
                }
            }
            Self::Arguments(header, arguments) => {
                header.write(out);
                for text in arguments.iter().flat_map(|(name, value)| [name, value]) {
                    out.extend_from_slice(&text.0);
                    out.push(0);
                }
            }
            Self::Unknown(bytes) => out.extend_from_slice(&bytes.0),
        }
    }

    fn lay_out(&mut self) {
        match self {
            Self::Contents(contents) => contents.header.stored_size = len32(contents.stored.0.len()),
            Self::Names(header, names) => {
                let mut size = 0usize;
                for name in names.iter_mut() {
                    name.entry.name_length = len32(name.name.0.len().saturating_add(1));
                    name.tail = Bytes(tail_of(name.name.0.len()));
                    let length = name.name.0.len().saturating_add(name.tail.0.len());
                    name.entry.size = len32(length.saturating_add(NameEntry::SIZE));
                    size = size.saturating_add(name.entry.size as usize);
                }
                header.count = len32(names.len());
                header.size_of_entries = u16::try_from(size).unwrap_or(u16::MAX);
            }
            Self::Arguments(header, arguments) => {
                let length = |text: &Text| text.0.len().saturating_add(1);
                let sizes = arguments.iter().map(|(name, value)| length(name).saturating_add(length(value)));
                header.size = len32(sizes.fold(0, usize::saturating_add));
                header.count = len32(arguments.len());
            }
            Self::Unknown(_) => {}
        }
    }
}

/// Returns the NUL and padding after a text of this length.
pub(crate) fn tail_of(length: usize) -> Vec<u8> {
    let mut tail = alloc::vec![0; length.saturating_add(1) % 4];
    let used = tail.len();
    pad4(&mut tail, 0);
    let padding = tail.len().saturating_sub(used);
    alloc::vec![0; padding.saturating_add(1)]
}
