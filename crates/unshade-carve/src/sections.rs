//! Reads the sections of object files.
//!
//! Carving needs two facts about a section: the range of its bytes and its name. A damaged file gives as many sections
//! as can be read. So the tables are read here, as far as they go; a library would refuse a file whose symbol table is
//! cut off.
//!
//! | kind | source |
//! |---|---|
//! | Mach-O | Apple's `mach-o/loader.h`: header of 28 or 32 bytes, load commands {u32 kind, u32 size}; `LC_SEGMENT` 1 and `LC_SEGMENT_64` 0x19 have a table of sections |
//! | ELF | the System V ABI: `e_shoff`, `e_shentsize`, `e_shnum`, `e_shstrndx` |
//! | PE, COFF | Microsoft's PE specification: sections of 40 bytes after the optional header; a name `/123` is an offset in the string table |

use crate::checks::object::{self, Elf, MachO};
use crate::fields::{Fields, offset};
use std::cell::OnceCell;
use std::ops::Range;

/// Maximum length of a section's name in paths. Names from C++ can be longer, but this length distinguishes them.
const NAME_LIMIT: usize = 1_024;

/// Where the name of a section is.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// A field of 16 bytes, followed by the segment's name, in Mach-O.
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

/// The sections of an object file that have bytes in it, in file order.
#[derive(Default)]
pub(crate) struct Sections {
    rows: Vec<Section>,
    /// The range of the compiler's options, once it was looked up.
    options: OnceCell<Option<Range<usize>>>,
}

impl Sections {
    /// Reads the section table, as far as it goes.
    pub(crate) fn read(data: &[u8]) -> Self {
        let mut sections = Self::default();
        // If a field is cut off, the sections before it remain.
        let _ = if let Some(mach) = object::mach(data) {
            sections.read_mach(&mach)
        } else if let Some(elf) = object::elf(data) {
            sections.read_elf(&elf)
        } else if let Some(pe) = object::pe(data) {
            sections.read_coff(pe.fields, pe.coff)
        } else if object::is_coff_object(data) {
            sections.read_coff(Fields::little(data), 0)
        } else {
            None
        };
        sections.rows.sort_by_key(|section| (section.start, section.end));
        sections
    }

    /// Returns the name of the section at an offset, and the offset in that section.
    pub(crate) fn at(&self, data: &[u8], place: usize) -> Option<(Vec<u8>, u64)> {
        let place = place as u64;
        let index = self.rows.partition_point(|section| section.start <= place).checked_sub(1)?;
        let section = self.rows.get(index).filter(|section| place < section.end)?;
        Some((section.name.read(data)?, place.checked_sub(section.start)?))
    }

    /// Returns the range and name of each section whose offset `is_wanted` accepts.
    pub(crate) fn select(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<(Range<usize>, Name)> {
        let rows = self.rows.iter().filter_map(|section| {
            let start = usize::try_from(section.start).ok().filter(|&start| is_wanted(start))?;
            Some((start..usize::try_from(section.end).unwrap_or(usize::MAX), section.name))
        });
        rows.collect()
    }

    /// Returns the compiler options of embedded bitcode, each followed by a NUL.
    pub(crate) fn compiler_options<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let is_wanted = |section: &&Section| {
            let name = section.name.read(data);
            matches!(name.as_deref(), Some(b".llvmcmd" | b"__LLVM,__cmdline"))
        };
        let find = || {
            let section = self.rows.iter().find(is_wanted)?;
            Some(usize::try_from(section.start).ok()?..usize::try_from(section.end).ok()?)
        };
        data.get(self.options.get_or_init(find).clone()?)
    }

    fn push(&mut self, start: u64, size: u64, name: Name) {
        if size > 0 {
            self.rows.push(Section { start, end: start.saturating_add(size), name });
        }
    }

    fn read_mach(&mut self, mach: &MachO<'_>) -> Option<()> {
        let (fields, is_64) = (mach.fields, mach.is_64);
        let count = fields.u32(16)?;
        let mut command = if is_64 { 32 } else { 28 };
        for _ in 0..count {
            let (kind, size) = (fields.u32(command)?, fields.u32(command.checked_add(4)?)?);
            // Each of LC_SEGMENT and LC_SEGMENT_64 belongs to one class of file.
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
            // The section types that are zeros in memory and have no bytes in the file.
            if !matches!(flags & 0xff, 1 | 0xc | 0x12) {
                self.push(u64::from(start), size, Name::Mach { at });
            }
            at = at.checked_add(entry)?;
        }
        Some(())
    }

    fn read_elf(&mut self, elf: &Elf<'_>) -> Option<()> {
        let (fields, is_64) = (elf.fields, elf.is_64);
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
        // Smaller entries would overlap, and take more memory than the file.
        if table == 0 || entry_size < if is_64 { 64 } else { 40 } {
            return None;
        }
        if count == 0 {
            // A count that exceeds 16 bits is in the size of the first entry.
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
            // Null entries, and sections without bytes in the file.
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
    pub(crate) fn read(self, data: &[u8]) -> Option<Vec<u8>> {
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
