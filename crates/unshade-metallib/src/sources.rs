//! Embedded sources (`HSRC` up to 1.2.5, `HSRD` since 1.2.6).
//!
//! A 32-bit count of archives; the command line of the link as a C string; in `HSRD` only, the working directory as a
//! C string; then a group per archive `{u32 size, not including itself; SARC; ENDT}`. `SARC` consists of a C string,
//! the archive's ID, and a bzip2-compressed POSIX tar archive, optionally followed by zeros (up to a multiple of 16
//! KiB from linkers before 2025, of 10 KiB from the older tool).
//!
//! The `SOFF` of a function is the offset of the code of its `SARC` from the start of the section.

use crate::tag::Tags;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The section with embedded sources.
#[derive(Clone, Debug)]
pub struct Sources<'a> {
    /// The command line of the linker.
    pub link_command: &'a [u8],
    /// The working directory of the linker, in `HSRD`.
    pub working_directory: Option<&'a [u8]>,
    /// The number of archives that the section declares. Untrusted.
    pub declared_count: u32,
    section: Reader<'a>,
    archives: Reader<'a>,
}

impl<'a> Sources<'a> {
    pub(crate) fn read(section: Reader<'a>, has_directory: bool) -> Result<Self> {
        let mut reader = section;
        let declared_count = reader.u32()?;
        let link_command = reader.c_string()?;
        let working_directory = has_directory.then(|| reader.c_string()).transpose()?;
        Ok(Self { link_command, working_directory, declared_count, section, archives: reader })
    }

    /// Returns the file offset of the section; the `SOFF` of functions is relative to it.
    pub fn offset(&self) -> u64 {
        self.section.base()
    }

    /// Returns the archives, in file order.
    pub fn archives(&self) -> SourceArchives<'a> {
        SourceArchives { reader: self.archives, left: self.declared_count }
    }

    /// Returns the archive at a function's `SOFF`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if there is no archive at that offset.
    pub fn archive_at(&self, offset: u64) -> Result<SourceArchive<'a>> {
        let at = self.section.base().saturating_add(offset);
        let missing = || Error::new(ErrorKind::OutOfRange, at, "SOFF does not point to a source archive");
        // The code follows the group's size.
        let start = offset.checked_sub(4).ok_or_else(missing)?;
        let mut reader = self.section;
        reader.skip(start).map_err(|_| missing())?;
        let archive = SourceArchives { reader, left: 1 }.next().ok_or_else(missing)??;
        if archive.code_offset == at { Ok(archive) } else { Err(missing()) }
    }
}

/// An archive of sources.
#[derive(Clone, Debug)]
pub struct SourceArchive<'a> {
    /// The ID: a decimal number from the linker, the base name of a file from the older tool.
    pub id: &'a [u8],
    /// The bzip2 stream, including trailing zeros.
    pub compressed: Reader<'a>,
    /// The size that the group states, without the size itself.
    pub stated_size: u32,
    /// The range in the file, from the group's size to `ENDT`.
    pub range: Range<u64>,
    /// The file offset of the code `SARC`, which `SOFF` points to.
    pub code_offset: u64,
}

/// Iterates over the archives; stops after an error.
#[derive(Clone, Debug)]
pub struct SourceArchives<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl<'a> SourceArchives<'a> {
    /// Returns a reader of the data after the archives read so far.
    pub fn reader(&self) -> Reader<'a> {
        self.reader
    }

    fn read(&mut self) -> Result<SourceArchive<'a>> {
        let start = self.reader.offset();
        let mut reader = self.reader;
        let stated_size = reader.u32()?;
        let mut tags = Tags::new(reader);
        let mut archive = None;
        for tag in &mut tags {
            let tag = tag?;
            if tag.code.0 == *b"SARC" && archive.is_none() {
                let mut compressed = tag.content;
                let id = compressed.c_string()?;
                archive = Some((id, compressed, tag.range.start));
            }
        }
        self.reader = tags.reader();
        let (id, compressed, code_offset) =
            archive.ok_or_else(|| Error::new(ErrorKind::BadValue, start, "source archive without SARC"))?;
        Ok(SourceArchive { id, compressed, stated_size, range: start..self.reader.offset(), code_offset })
    }
}

impl<'a> Iterator for SourceArchives<'a> {
    type Item = Result<SourceArchive<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let archive = self.read().map_err(|error| error.within("sources"));
        if archive.is_err() {
            self.left = 0;
        }
        Some(archive)
    }
}
