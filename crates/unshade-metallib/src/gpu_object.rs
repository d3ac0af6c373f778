//! GPU Mach-O files: the slices of a binary archive that contain machine code for an Apple GPU.
//!
//! A 64-bit little-endian Mach-O of file type 0xD. Its load commands are segments with sections (`__TEXT` with
//! `__reflection`, `__compute`, `__descriptor`, `__metallib`; `__compute` contains a nested Mach-O), *notes* (0x31: a
//! 16-byte name, a 64-bit offset and size; `AIR_METALLIB`, `AIR_MODULE`, …), the build version (0x32) and a UUID. The
//! range of a note contains `{u64 offset, u64 count}` of its records.
//!
//! Section `__metallib` is a Metal library padded with zeros; the size in the library's header is authoritative.
//!
//! Source: 10 real files; `<mach-o/loader.h>` for the common layout.

use crate::header::HEADER_SIZE;
use crate::library::Library;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use unshade_core::{Error, ErrorKind, Reader, Result, open_enum};

/// The first four bytes, little-endian.
pub const MAGIC: u32 = 0xfeed_facf;

/// The fields of the records of each note, by the note's owner: sizes in bytes, and names where they are known. The
/// string table is a single run of bytes.
pub const NOTE_RECORDS: [(&str, &[(&str, u64)]); 7] = [
    (
        "AIR_METALLIB",
        &[("UUID", 16), ("offset of the library", 8), ("size of the library", 8), ("reserved", 8)],
    ),
    ("AIR_MODULE", &[("SHA-256 of the module", 32), ("reserved", 8)]),
    (
        "AIR_DESCRIPTOR",
        &[("hash", 32), ("offset of the descriptor", 8), ("size of the descriptor", 8), ("undocumented", 8)],
    ),
    (
        "AIR_OBJECT",
        &[
            ("offset of the code", 4),
            ("size of the code", 4),
            ("offset of the reflection", 4),
            ("size of the reflection", 4),
            ("undocumented", 20),
        ],
    ),
    ("AIR_PIPELINE", &[("undocumented", 8)]),
    ("AIR_HASHES", &[("undocumented", 136)]),
    ("AIR_STRTABLE", &[("byte", 1)]),
];

/// The records that a note points to.
#[derive(Clone, Debug)]
pub struct NoteRecords<'a> {
    /// The note's owner, such as `AIR_MODULE`.
    pub owner: &'a [u8],
    /// The fields of one record.
    pub fields: &'static [(&'static str, u64)],
    /// The number of records.
    pub count: u64,
    /// The data of all records.
    pub data: Reader<'a>,
}

/// Maximum number of load commands to read; real files have a dozen.
const MAX_COMMANDS: u32 = 4_096;

open_enum! {
    /// The kind of a load command.
    pub struct CommandKind(u32) {
        SYMBOL_TABLE = 0x2 => "LC_SYMTAB",
        SEGMENT_64 = 0x19 => "LC_SEGMENT_64",
        UUID = 0x1b => "LC_UUID",
        NOTE = 0x31 => "LC_NOTE",
        BUILD_VERSION = 0x32 => "LC_BUILD_VERSION",
    }
}

/// A GPU Mach-O file.
#[derive(Clone)]
pub struct GpuObject<'a> {
    file: Reader<'a>,
    /// The CPU type; equals that of the slice.
    pub cpu_type: u32,
    /// The CPU subtype: the GPU generation.
    pub cpu_subtype: u32,
    /// The Mach-O file type.
    pub file_type: u32,
    command_count: u32,
    commands: Reader<'a>,
}

/// Prints the Mach-O header, not the data.
impl fmt::Debug for GpuObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuObject")
            .field("cpu_type", &format_args!("{:#x}", self.cpu_type))
            .field("cpu_subtype", &format_args!("{:#x}", self.cpu_subtype))
            .field("file_type", &format_args!("{:#x}", self.file_type))
            .field("command_count", &self.command_count)
            .field("range", &self.file.range())
            .finish_non_exhaustive()
    }
}

/// A load command.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// The kind.
    pub kind: CommandKind,
    /// The data after kind and size.
    pub content: Reader<'a>,
    /// The range in the file.
    pub range: Range<u64>,
}

/// A section or a note.
#[derive(Clone, Debug)]
pub struct NamedRange<'a> {
    /// The segment, for a section; empty for a note.
    pub segment: &'a [u8],
    /// The name.
    pub name: &'a [u8],
    /// The data, or why it is out of range.
    pub data: Result<Reader<'a>>,
}

impl<'a> GpuObject<'a> {
    /// Parses a GPU Mach-O file.
    ///
    /// # Errors
    /// [`ErrorKind::BadMagic`] or [`ErrorKind::Truncated`].
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        Self::parse_at(data, 0)
    }

    /// Parses a GPU Mach-O file at offset `base` of a larger file.
    ///
    /// # Errors
    /// As [`GpuObject::parse`].
    pub fn parse_at(data: &'a [u8], base: u64) -> Result<Self> {
        let file = Reader::at(data, base);
        let mut reader = file;
        let magic = reader.u32()?;
        if magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, file.offset(), "not a 64-bit Mach-O"));
        }
        let (cpu_type, cpu_subtype, file_type) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (command_count, commands_size) = (reader.u32()?, reader.u32()?);
        reader.skip(8)?;
        let commands =
            reader.split(u64::from(commands_size)).map_err(|error| error.within("load commands"))?;
        Ok(Self { file, cpu_type, cpu_subtype, file_type, command_count, commands })
    }

    /// Returns a reader of the whole file.
    pub fn file(&self) -> Reader<'a> {
        self.file
    }

    /// Iterates over the load commands; stops after an error.
    pub fn commands(&self) -> impl Iterator<Item = Result<Command<'a>>> + use<'a> {
        let mut reader = self.commands;
        let mut left = self.command_count.min(MAX_COMMANDS);
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let command = read_command(&mut reader);
            if command.is_err() {
                left = 0;
            }
            Some(command)
        })
    }

    /// Returns the sections of all segments.
    pub fn sections(&self) -> Vec<NamedRange<'a>> {
        let mut sections = Vec::new();
        for command in self.commands().map_while(Result::ok).filter(|c| c.kind == CommandKind::SEGMENT_64) {
            // A damaged segment still yields the sections before the damage.
            let _ = self.read_sections(command.content, &mut sections);
        }
        sections
    }

    fn read_sections(&self, mut reader: Reader<'a>, sections: &mut Vec<NamedRange<'a>>) -> Result<()> {
        reader.skip(16 + 4 * 8 + 2 * 4)?;
        let count = reader.u32()?;
        reader.skip(4)?;
        for _ in 0..count {
            let name = reader.bytes(16)?;
            let segment = reader.bytes(16)?;
            reader.skip(8)?;
            let size = reader.u64()?;
            let offset = reader.u32()?;
            reader.skip(7 * 4)?;
            let data = self.file.part(u64::from(offset), size);
            sections.push(NamedRange { segment: until_nul(segment), name: until_nul(name), data });
        }
        Ok(())
    }

    /// Returns the notes.
    pub fn notes(&self) -> Vec<NamedRange<'a>> {
        let commands = self.commands().map_while(Result::ok).filter(|c| c.kind == CommandKind::NOTE);
        let notes = commands.map(|command| {
            let mut reader = command.content;
            let name = reader.bytes(16)?;
            let (offset, size) = (reader.u64()?, reader.u64()?);
            Ok(NamedRange { segment: b"", name: until_nul(name), data: self.file.part(offset, size) })
        });
        notes.filter_map(|note: Result<_>| note.ok()).collect()
    }

    /// Returns the records of the notes. Skips notes of an unknown owner and records outside the file.
    pub fn note_records(&self) -> Vec<NoteRecords<'a>> {
        let records = self.notes().into_iter().filter_map(|note| {
            let mut range = note.data.ok()?;
            let (offset, count) = (range.u64().ok()?, range.u64().ok()?);
            let (_, fields) = NOTE_RECORDS.iter().find(|(owner, _)| owner.as_bytes() == note.name)?;
            let record_size: u64 = fields.iter().map(|(_, size)| size).sum();
            let data = self.file.part(offset, count.checked_mul(record_size)?).ok()?;
            Some(NoteRecords { owner: note.name, fields, count, data })
        });
        records.filter(|records| records.count > 0).collect()
    }

    /// Parses the Metal library in section `__metallib`, truncated to the size in its header.
    ///
    /// # Errors
    /// If the section is out of range, or the header of the library is malformed.
    pub fn library(&self) -> Result<Option<Library<'a>>> {
        let Some(section) = self.sections().into_iter().find(|section| section.name == b"__metallib") else {
            return Ok(None);
        };
        let data = section.data?;
        let mut size = Reader::at(data.data(), data.base());
        size.skip(16)?;
        let size = size.u64()?.clamp(HEADER_SIZE, (data.data().len() as u64).max(HEADER_SIZE));
        let data = data.part(0, size)?;
        Library::parse_at(data.data(), data.base()).map(Some)
    }
}

fn read_command<'a>(reader: &mut Reader<'a>) -> Result<Command<'a>> {
    let start = reader.offset();
    let kind = CommandKind(reader.u32()?);
    let size = reader.u32()?;
    let content = size.checked_sub(8).ok_or_else(|| {
        Error::new(ErrorKind::BadValue, start, "load command is smaller than its own header")
    })?;
    let content = reader.split(u64::from(content))?;
    Ok(Command { kind, content, range: start..reader.offset() })
}

/// Returns the bytes of a fixed-size name up to its first NUL.
fn until_nul(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == 0).next().unwrap_or_default()
}
