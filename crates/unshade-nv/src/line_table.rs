//! `.debug_line`: which line of which source an instruction is of.
//!
//! The section is DWARF (version 2 or 3 in all files seen), which gimli reads. Addresses are 0 in the file; a relocation
//! for each sequence of rows says which function it is of, so that a row here has a code section and an offset in it.
//! `.nv_debug_line_sass` has the same form and counts lines of `.nv_debug_ptx_txt`, the PTX that was compiled.
//!
//! Source: the DWARF standard, chapter "Line Number Information"; files that ptxas 11.2 to 13.5 make with `-lineinfo`.

use crate::cubin::{Cubin, INDEX_MASK};
use crate::elf::Section;
use crate::relocation::Relocations;
use alloc::format;
use alloc::vec::Vec;
use core::cell::Cell;
use gimli::{AttributeValue, ColumnType, DebugLine, DebugLineOffset, EndianSlice, LittleEndian, Relocate};
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The most rows that are read of a cubin.
pub const MAX_ROWS: usize = 1 << 22;

/// A larger list of files and folders is refused: the reader takes memory for as many entries as there are bytes.
const MAX_HEADER: u64 = 1 << 20;

/// A line table: what stands for the whole cubin.
#[derive(Clone, Debug, Default)]
pub struct LineTable<'a> {
    /// The files that rows refer to.
    pub files: Vec<SourceFile<'a>>,
    /// The rows, by section and offset.
    pub rows: Vec<LineRow>,
}

/// A file that code was compiled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile<'a> {
    /// Its folder; empty if it is not told.
    pub folder: &'a [u8],
    /// Its name, or its path.
    pub name: &'a [u8],
}

/// The code from an offset up to that of the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineRow {
    /// The index of the code section; 0 if no relocation tells.
    pub section: u32,
    /// The offset in it.
    pub offset: u64,
    /// The file, as an index of [`LineTable::files`]; nothing if there is none.
    pub file: Option<u32>,
    /// The line, from 1; 0 for code of no line.
    pub line: u32,
    /// The column, from 1; 0 if it is not told.
    pub column: u32,
    /// Whether the code ends here: the row is of no instruction.
    pub is_end: bool,
}

impl<'a> LineTable<'a> {
    /// The table of the sources.
    ///
    /// # Errors
    /// If the section is not inside of the file, or is no line table.
    pub fn of(cubin: &Cubin<'a>) -> Result<Option<Self>> {
        Self::of_section(cubin, b".debug_line")
    }

    /// The table of the PTX.
    ///
    /// # Errors
    /// As [`LineTable::of`].
    pub fn of_ptx(cubin: &Cubin<'a>) -> Result<Option<Self>> {
        Self::of_section(cubin, b".nv_debug_line_sass")
    }

    fn of_section(cubin: &Cubin<'a>, name: &'static [u8]) -> Result<Option<Self>> {
        let Some(section) = cubin.elf().section_named(name) else { return Ok(None) };
        let within = |error: Error| error.within(alloc::string::String::from_utf8_lossy(name).into_owned());
        let data = cubin.elf().bytes(&section).map_err(within)?;
        let places = Places::of(cubin, &section);
        let mut table = Self::default();
        table.read(cubin, data, &places).map_err(within)?;
        table.rows.sort_by_key(|row| (row.section, row.offset, !row.is_end));
        Ok(Some(table))
    }

    /// The rows of a code section.
    pub fn rows_of(&self, section: u32) -> &[LineRow] {
        let start = self.rows.partition_point(|row| row.section < section);
        let end = self.rows.partition_point(|row| row.section <= section);
        self.rows.get(start..end).unwrap_or_default()
    }

    /// The row that an instruction is of.
    pub fn at(&self, section: u32, offset: u64) -> Option<&LineRow> {
        let rows = self.rows_of(section);
        let next = rows.partition_point(|row| row.offset <= offset);
        rows.get(next.checked_sub(1)?).filter(|row| !row.is_end)
    }

    fn read(&mut self, cubin: &Cubin<'_>, data: Reader<'a>, places: &Places) -> Result<()> {
        let bytes = EndianSlice::new(data.data(), LittleEndian);
        let lines = DebugLine::from(gimli::RelocateReader::new(bytes, places));
        let address_size = if cubin.elf().class().word() == 8 { 8 } else { 4 };
        let mut at = 0_u64;
        while at < data.data().len() as u64 {
            let size = unit_size(data, at)?;
            let offset = DebugLineOffset(usize::try_from(at).unwrap_or(usize::MAX));
            let fault = |error: gimli::Error| {
                let place = data.base().saturating_add(at);
                Error::new(ErrorKind::BadValue, place, format!("can't read the line table: {error}"))
            };
            let program = lines.program(offset, address_size, None, None).map_err(fault)?;
            places.section.set(0);
            self.read_unit(program, places).map_err(fault)?;
            if self.rows.len() >= MAX_ROWS {
                return Err(Error::new(ErrorKind::Limit, data.base(), "the line table has too many rows")
                    .expected(format!("at most {MAX_ROWS}")));
            }
            at = at.saturating_add(size);
        }
        Ok(())
    }

    fn read_unit(
        &mut self,
        program: gimli::IncompleteLineProgram<Relocated<'a, '_>>,
        places: &Places,
    ) -> gimli::Result<()> {
        let first_file = self.files.len();
        let header = program.header();
        // Files count from 1 up to DWARF 4.
        let first_number = u64::from(header.version() < 5);
        for file in header.file_names() {
            let folder = file.directory(header).map_or(&b""[..], |folder| text(&folder));
            self.files.push(SourceFile { folder, name: text(&file.path_name()) });
        }
        let file_count = header.file_names().len();
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            if self.rows.len() >= MAX_ROWS {
                break;
            }
            let file = row.file_index().checked_sub(first_number).and_then(|file| usize::try_from(file).ok());
            let file = file.filter(|file| *file < file_count).and_then(|file| file.checked_add(first_file));
            self.rows.push(LineRow {
                section: places.section.get(),
                offset: row.address(),
                file: file.and_then(|file| u32::try_from(file).ok()),
                line: row.line().and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0),
                column: match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
                },
                is_end: row.end_sequence(),
            });
        }
        Ok(())
    }
}

type Relocated<'a, 'p> = gimli::RelocateReader<EndianSlice<'a, LittleEndian>, &'p Places>;

/// The bytes of a name that stands in the table itself; names in other sections are left empty.
fn text<'a>(value: &AttributeValue<Relocated<'a, '_>>) -> &'a [u8] {
    match value {
        AttributeValue::String(name) => name.inner().slice(),
        _ => b"",
    }
}

/// The size of the unit at an offset: u32, or 0xffffffff and u64, then u16 version, and the size of the lists.
fn unit_size(data: Reader<'_>, at: u64) -> Result<u64> {
    let mut unit = data.part(at, (data.data().len() as u64).saturating_sub(at))?;
    let short = unit.u32()?;
    let is_wide = short == u32::MAX;
    let size = if is_wide { unit.u64()? } else { u64::from(short) };
    let end = size.saturating_add(unit.position() as u64);
    if unit.u16()? >= 5 {
        unit.skip(2)?;
    }
    let lists = if is_wide { unit.u64()? } else { u64::from(unit.u32()?) };
    if lists > MAX_HEADER {
        return Err(Error::new(ErrorKind::Limit, unit.offset(), "the line table lists too many files")
            .expected(format!("at most {MAX_HEADER} bytes of names"))
            .found(format!("{lists}")));
    }
    Ok(end)
}

/// Which function each sequence is of.
#[derive(Debug, Default)]
struct Places {
    /// Offset in the line table, code section, and offset in that; by the first.
    list: Vec<(u64, u32, u64)>,
    /// The section of the sequence that is being read.
    section: Cell<u32>,
}

impl Places {
    fn of(cubin: &Cubin<'_>, lines: &Section<'_>) -> Self {
        let mut places = Self::default();
        let (elf, symbols) = (cubin.elf(), cubin.elf().symbols());
        for section in elf.headers().filter(Section::is_relocations) {
            if section.info & INDEX_MASK != lines.index {
                continue;
            }
            let Ok(Some(relocations)) = Relocations::of(elf, &section) else { continue };
            for relocation in relocations.iter() {
                let Some(symbol) = symbols.and_then(|symbols| symbols.get(relocation.symbol)) else {
                    continue;
                };
                let offset = symbol.value.wrapping_add(relocation.addend.cast_unsigned());
                places.list.push((relocation.offset, u32::from(symbol.section), offset));
            }
        }
        places.list.sort_unstable();
        places
    }
}

impl Relocate for &Places {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        let found = self.list.binary_search_by_key(&(offset as u64), |(place, ..)| *place);
        let Some((_, section, address)) = found.ok().and_then(|place| self.list.get(place)) else {
            self.section.set(0);
            return Ok(value);
        };
        self.section.set(*section);
        Ok(address.wrapping_add(value))
    }

    fn relocate_offset(&self, _: usize, value: usize) -> gimli::Result<usize> {
        Ok(value)
    }
}
