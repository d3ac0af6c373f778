//! Embedded sources (`HSRC` up to 1.2.5, `HSRD` from 1.2.6 on).
//!
//! A 32-bit count of archives; the command line of the link as a C string; in `HSRD` only, the working directory as a
//! C string; then for each archive a group `{u32 size, not counting itself; SARC; ENDT}`. `SARC` holds a C string,
//! the archive's id, and a bzip2 stream of a POSIX tar archive, which zeros may follow (up to a multiple of 16 KiB
//! from the linker before 2025, of 10 KiB from the older tool).
//!
//! A function's `SOFF` counts from the start of the section to the code of its `SARC`.

use crate::tag::Tags;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The section of embedded sources.
#[derive(Clone, Debug)]
pub struct Sources<'a> {
    /// The command line of the link.
    pub link_command: &'a [u8],
    /// The directory in which the link ran, in `HSRD`.
    pub working_directory: Option<&'a [u8]>,
    /// How many archives the section says that it has. Nothing bounds it.
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

    /// Where the section starts in the file: functions' `SOFF` count from here.
    pub fn offset(&self) -> u64 {
        self.section.base()
    }

    /// The archives, in file order.
    pub fn archives(&self) -> SourceArchives<'a> {
        SourceArchives { reader: self.archives, left: self.declared_count }
    }

    /// The archive that a function's `SOFF` points at.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfRange`] if there is none at that offset.
    pub fn archive_at(&self, offset: u64) -> Result<SourceArchive<'a>> {
        let at = self.section.base().saturating_add(offset);
        let missing = || Error::new(ErrorKind::OutOfRange, at, "SOFF points at no source archive");
        // The code follows the size of the group.
        let start = offset.checked_sub(4).ok_or_else(missing)?;
        let mut reader = self.section;
        reader.skip(start).map_err(|_| missing())?;
        let archive = SourceArchives { reader, left: 1 }.next().ok_or_else(missing)??;
        if archive.code_offset == at { Ok(archive) } else { Err(missing()) }
    }
}

/// One archive of sources.
#[derive(Clone, Debug)]
pub struct SourceArchive<'a> {
    /// Its id: a decimal number from the linker, a file's base name from the older tool.
    pub id: &'a [u8],
    /// The bzip2 stream, with the zeros that may follow it.
    pub compressed: Reader<'a>,
    /// The bytes of the file from the group's size to `ENDT`.
    pub range: Range<u64>,
    /// The file offset of the code `SARC`, which `SOFF` points at.
    pub code_offset: u64,
}

/// Walks the archives; ends after an error.
#[derive(Clone, Debug)]
pub struct SourceArchives<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl<'a> SourceArchives<'a> {
    /// What follows the archives walked so far.
    pub fn reader(&self) -> Reader<'a> {
        self.reader
    }

    fn read(&mut self) -> Result<SourceArchive<'a>> {
        let start = self.reader.offset();
        let mut reader = self.reader;
        reader.u32()?;
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
        Ok(SourceArchive { id, compressed, range: start..self.reader.offset(), code_offset })
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
