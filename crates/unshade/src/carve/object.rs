//! Object files: the names of their sections, and the architectures of universal ones.
//!
//! Only three things of an object file matter here: where each section's bytes are in the file, what the section is
//! called, and what to do when the rest is damaged – which is nothing. So the tables are read here, as far as they
//! go, rather than with a library that refuses a file whose symbol table is cut off. They are read only if a program
//! was found, so that an object file without one costs no more than the search.
//!
//! | kind | source |
//! |---|---|
//! | Mach-O | Apple's `mach-o/loader.h`: header of 28 or 32 bytes, load commands {u32 kind, u32 size}; `LC_SEGMENT` 1 and `LC_SEGMENT_64` 0x19 have a table of sections |
//! | universal | Apple's `mach-o/fat.h`, big-endian: u32 magic, u32 count, entries {u32 processor, u32 its kind, offset, size, u32 alignment}, the offset and size 64 bits wide in the 64-bit form, which has 4 more bytes |
//! | ELF | the System V ABI: `e_shoff`, `e_shentsize`, `e_shnum`, `e_shstrndx` |
//! | PE, COFF | Microsoft's PE specification: sections of 40 bytes behind the optional header; a name `/123` is an offset in the string table |

use super::fields::{Fields, offset};
use super::{Carver, Entry, Flow, Occurrences, Run};
use crate::format::{Container, mach_cpu_name};
use std::ops::ControlFlow::Continue;
use unshade_core::{Error, ErrorKind};

/// The longest name of a section that is shown. Names of C++ can be long, but no name needs to be longer than this
/// to be told from others.
const NAME_LIMIT: usize = 1_024;

/// The most architectures that a universal file is believed to have. A Java class begins with the same four bytes,
/// with its version, at least 45, in the place of the count.
const MAX_ARCHITECTURES: u32 = 44;

/// The kind of object file that the bytes begin like.
pub(super) fn detect(data: &[u8]) -> Option<Container> {
    let magic = Fields::big(data).u32(0)?;
    match magic {
        0x7f45_4c46 => {
            let fields = elf_fields(data)?;
            Some(Container::Elf { is_64: fields.u8(4)? == 2, machine: fields.u16(18)? })
        }
        0xfeed_face | 0xfeed_facf | 0xcefa_edfe | 0xcffa_edfe => {
            let (fields, is_64) = mach_fields(data)?;
            Some(Container::MachO { is_64, cpu: fields.u32(4)? })
        }
        0xcafe_babe | 0xcafe_babf => {
            let count = Fields::big(data).u32(4)?;
            (1..=MAX_ARCHITECTURES).contains(&count).then_some(Container::MachOUniversal)
        }
        _ if data.starts_with(b"MZ") => {
            let (fields, header) = pe_header(data)?;
            // The optional header's magic number tells PE32 from PE32+.
            let is_64 = fields.u16(header.checked_add(20)?) == Some(0x20b);
            Some(Container::Pe { is_64, machine: fields.u16(header)? })
        }
        _ => None,
    }
}

fn elf_fields(data: &[u8]) -> Option<Fields<'_>> {
    match data.get(5)? {
        2 => Some(Fields::big(data)),
        _ => Some(Fields::little(data)),
    }
}

fn mach_fields(data: &[u8]) -> Option<(Fields<'_>, bool)> {
    match data.first_chunk::<4>()? {
        [0xfe, 0xed, 0xfa, 0xce] => Some((Fields::big(data), false)),
        [0xfe, 0xed, 0xfa, 0xcf] => Some((Fields::big(data), true)),
        [0xce, 0xfa, 0xed, 0xfe] => Some((Fields::little(data), false)),
        [0xcf, 0xfa, 0xed, 0xfe] => Some((Fields::little(data), true)),
        _ => None,
    }
}

/// The place of the COFF header of a PE file.
fn pe_header(data: &[u8]) -> Option<(Fields<'_>, usize)> {
    let fields = Fields::little(data);
    let header = usize::try_from(fields.u32(0x3c)?).ok()?;
    (fields.bytes(header as u64, 4)? == b"PE\0\0").then_some(())?;
    Some((fields, header.checked_add(4)?))
}

/// Where the name of a section is.
#[derive(Clone, Copy)]
enum Name {
    /// A field of 16 bytes with the segment's name behind it, as Mach-O has it.
    Mach { at: usize },
    /// Text up to a NUL.
    Text { at: u64 },
    /// A field of 8 bytes, or a reference to the string table.
    Coff { at: usize, strings: u64 },
}

struct Section {
    start: u64,
    end: u64,
    name: Name,
}

/// The sections of an object file that have bytes in it, in their order.
#[derive(Default)]
pub(super) struct Sections(Vec<Section>);

impl Sections {
    /// Reads the table of sections, as far as it goes.
    pub(super) fn read(data: &[u8]) -> Self {
        let mut sections = Self::default();
        // Where a field is cut off, what was read before it stays.
        let _ = match detect(data) {
            Some(Container::MachO { .. }) => sections.read_mach(data),
            Some(Container::Elf { is_64, .. }) => sections.read_elf(data, is_64),
            Some(Container::Pe { .. }) => {
                pe_header(data).and_then(|(fields, header)| sections.read_coff(fields, header))
            }
            None if is_coff_object(data) => sections.read_coff(Fields::little(data), 0),
            _ => None,
        };
        sections.0.sort_by_key(|section| (section.start, section.end));
        sections
    }

    /// The name of the section that a place is in, and the offset in that section.
    pub(super) fn at(&self, data: &[u8], place: usize) -> Option<(Vec<u8>, u64)> {
        let place = place as u64;
        let index = self.0.partition_point(|section| section.start <= place).checked_sub(1)?;
        let section = self.0.get(index).filter(|section| place < section.end)?;
        Some((section.name.read(data)?, place.checked_sub(section.start)?))
    }

    fn push(&mut self, start: u64, size: u64, name: Name) {
        if size > 0 {
            self.0.push(Section { start, end: start.saturating_add(size), name });
        }
    }

    fn read_mach(&mut self, data: &[u8]) -> Option<()> {
        let (fields, is_64) = mach_fields(data)?;
        let count = fields.u32(16)?;
        let mut command = if is_64 { 32 } else { 28 };
        for _ in 0..count {
            let (kind, size) = (fields.u32(command)?, fields.u32(command.checked_add(4)?)?);
            // LC_SEGMENT and LC_SEGMENT_64 each belong to one kind of file.
            if kind == if is_64 { 0x19 } else { 1 } {
                self.read_mach_segment(fields, command, is_64)?;
            }
            command = command.checked_add(usize::try_from(size.max(8)).ok()?)?;
        }
        Some(())
    }

    fn read_mach_segment(&mut self, fields: Fields<'_>, command: usize, is_64: bool) -> Option<()> {
        let (header, entry) = if is_64 { (72, 80) } else { (56, 68) };
        let count = fields.u32(command.checked_add(if is_64 { 64 } else { 48 })?)?;
        let mut at = command.checked_add(header)?;
        for _ in 0..count {
            let field = |distance: usize| at.checked_add(distance);
            let (size, start, flags) = if is_64 {
                (fields.u64(field(40)?)?, fields.u32(field(48)?)?, fields.u32(field(64)?)?)
            } else {
                (u64::from(fields.u32(field(36)?)?), fields.u32(field(40)?)?, fields.u32(field(56)?)?)
            };
            // The kinds that are zeros in memory and nothing in the file.
            if !matches!(flags & 0xff, 1 | 0xc | 0x12) {
                self.push(u64::from(start), size, Name::Mach { at });
            }
            at = at.checked_add(entry)?;
        }
        Some(())
    }

    fn read_elf(&mut self, data: &[u8], is_64: bool) -> Option<()> {
        let fields = elf_fields(data)?;
        let table = fields.word(if is_64 { 40 } else { 32 }, is_64)?;
        let sizes = if is_64 { 58 } else { 46 };
        let entry_size = fields.u16(sizes)?;
        let table = usize::try_from(table).ok()?;
        let entry = |index: u64| offset(table, index.saturating_mul(u64::from(entry_size)));
        // The fields of an entry: name, kind, offset, size, link.
        let word = |at: usize, wide: usize, narrow: usize| {
            fields.word(at.checked_add(if is_64 { wide } else { narrow })?, is_64)
        };
        let mut count = u64::from(fields.u16(sizes.checked_add(2)?)?);
        if table == 0 || entry_size == 0 {
            return None;
        }
        if count == 0 {
            // More than 16 bits can count: the number is in the size of the first entry.
            count = word(entry(0), 32, 20)?;
        }
        let mut names = u64::from(fields.u16(sizes.checked_add(4)?)?);
        if names == 0xffff {
            names = u64::from(fields.u32(entry(0).checked_add(if is_64 { 40 } else { 24 })?)?);
        }
        let names = word(entry(names), 24, 16)?;
        for index in 0..count {
            let at = entry(index);
            let (name, kind) = (fields.u32(at)?, fields.u32(at.checked_add(4)?)?);
            // Null entries and sections that are nothing in the file.
            if !matches!(kind, 0 | 8) {
                let name = Name::Text { at: names.saturating_add(u64::from(name)) };
                self.push(word(at, 24, 16)?, word(at, 32, 20)?, name);
            }
        }
        Some(())
    }

    fn read_coff(&mut self, fields: Fields<'_>, header: usize) -> Option<()> {
        let field = |distance: usize| header.checked_add(distance);
        let count = fields.u16(field(2)?)?;
        let symbols = u64::from(fields.u32(field(8)?)?);
        let strings = symbols.saturating_add(u64::from(fields.u32(field(12)?)?).saturating_mul(18));
        let mut at = field(20)?.checked_add(usize::from(fields.u16(field(16)?)?))?;
        for _ in 0..count {
            let (size, start) = (fields.u32(at.checked_add(16)?)?, fields.u32(at.checked_add(20)?)?);
            if start > 0 {
                self.push(u64::from(start), u64::from(size), Name::Coff { at, strings });
            }
            at = at.checked_add(40)?;
        }
        Some(())
    }
}

impl Name {
    fn read(self, data: &[u8]) -> Option<Vec<u8>> {
        let fields = Fields::little(data);
        match self {
            Self::Mach { at } => {
                let section = fields.c_string(at as u64, 16)?;
                let segment = fields.c_string(at.checked_add(16)? as u64, 16)?;
                Some([segment, b",", section].concat())
            }
            Self::Text { at } => Some(fields.c_string(at, NAME_LIMIT)?.to_vec()),
            Self::Coff { at, strings } => {
                let short = fields.c_string(at as u64, 8)?;
                let digits = short.strip_prefix(b"/").and_then(|digits| std::str::from_utf8(digits).ok());
                let long = digits
                    .and_then(|digits| digits.parse::<u64>().ok())
                    .and_then(|place| fields.c_string(strings.checked_add(place)?, NAME_LIMIT));
                Some(long.unwrap_or(short).to_vec())
            }
        }
    }
}

/// Whether the bytes are likely to be a COFF object, which has no magic number but its processor.
fn is_coff_object(data: &[u8]) -> bool {
    let fields = Fields::little(data);
    let known = matches!(fields.u16(0), Some(0x014c | 0x8664 | 0x01c4 | 0xaa64 | 0xa641));
    // Objects have no optional header, and their symbol table is in the file.
    known && fields.u16(16) == Some(0) && fields.u32(8).is_some_and(|symbols| (symbols as usize) < data.len())
}

/// Visits the architectures of a universal file.
pub(super) fn carve_universal(carver: &mut Carver<'_>, run: &mut Run<'_>) -> Flow {
    let data = run.data;
    let fields = Fields::big(data);
    let is_64 = fields.u32(0) == Some(0xcafe_babf);
    let entry_size = if is_64 { 32 } else { 20 };
    let count = fields.u32(4).unwrap_or_default().min(MAX_ARCHITECTURES);
    let mut slices: Vec<(u64, u64, u32, u32)> = Vec::new();
    let mut at = 8_usize;
    for _ in 0..count {
        let place = at.saturating_add(8);
        let size_place = place.saturating_add(if is_64 { 8 } else { 4 });
        let slice = (
            fields.word(place, is_64),
            fields.word(size_place, is_64),
            fields.u32(at),
            fields.u32(at.saturating_add(4)),
        );
        let (Some(start), Some(size), Some(cpu), Some(subtype)) = slice else { break };
        slices.push((start, size, cpu, subtype));
        at = at.saturating_add(entry_size);
    }
    slices.sort_unstable();
    // Slices stand behind the table and one behind the other. Anything else is nonsense that would be searched many
    // times over, or contain itself.
    let mut free = at;
    let mut occurrences = Occurrences::default();
    for (start, size, cpu, subtype) in slices {
        let name = architecture_name(cpu, subtype);
        let (from, end) = (offset(0, start), offset(0, start.saturating_add(size)));
        let content = data.get(from..end).or_else(|| data.get(from..));
        let Some(content) = content.filter(|content| from >= free && !content.is_empty()) else {
            let message = "the architecture lies outside of the file, or over another one";
            let error =
                Error::new(ErrorKind::OutOfRange, start, message).within(carver.place_of(name.as_bytes()));
            carver.error("mach-o-architecture", error);
            continue;
        };
        if end > data.len() {
            let error = Error::new(ErrorKind::Truncated, start, "the architecture is cut off")
                .expected(format!("{size} bytes"))
                .found(content.len().to_string())
                .within(carver.place_of(name.as_bytes()));
            carver.error("mach-o-architecture", error);
        }
        free = end;
        carver.cover(run, from)?;
        match carver.enter(name.as_bytes(), &mut occurrences) {
            Entry::Entered => {
                let flow = carver.run(content, run.file_offset(from));
                carver.leave();
                flow?;
                run.skip_to(end);
            }
            Entry::Unwanted => run.skip_to(end),
            Entry::Refused => {}
        }
    }
    Continue(())
}

/// What Apple's tools call an architecture.
fn architecture_name(cpu: u32, subtype: u32) -> String {
    match (cpu, subtype & 0x00ff_ffff) {
        (0x0100_000c, 2) => "arm64e".into(),
        (0x0100_0007, 8) => "x86_64h".into(),
        (12, 9) => "armv7".into(),
        (12, 11) => "armv7s".into(),
        (12, 12) => "armv7k".into(),
        _ => mach_cpu_name(cpu).map_or_else(|| format!("cpu_{cpu:#x}"), String::from),
    }
}
