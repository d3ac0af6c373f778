//! `.debug_line`: maps instructions to source lines.
//!
//! The section is DWARF (version 2 or 3 in all known files), parsed by gimli. Addresses are 0 in the file; each sequence
//! of rows has a relocation that names its function, so a row here has a code section and an offset in it.
//! `.nv_debug_line_sass` has the same format and refers to lines of `.nv_debug_ptx_txt`, the PTX source.
//!
//! Code of inlined functions has an extended opcode of NVIDIA's, 0x90: the number of the row with the call, from 1, and the
//! offset of the function's name in `.debug_str`. Row 0 ends the inlined code.
//!
//! Source: the DWARF standard, chapter "Line Number Information"; the output of ptxas 11.2 to 13.5 with `-lineinfo`, and
//! that of nvdisasm for it.

use crate::cubin::{Cubin, INDEX_MASK};
use crate::elf::Section;
use crate::relocation::Relocations;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::cell::Cell;
use gimli::{
    AttributeValue, ColumnType, DebugLine, DebugLineOffset, EndianSlice, LineInstruction, LittleEndian,
    Reader as _, Relocate,
};
use unshade_core::{Error, ErrorKind, Reader, Result};

/// The maximum number of rows per cubin.
pub const MAX_ROWS: usize = 1 << 22;

/// The maximum number of calls that are inlined into each other.
const MAX_DEPTH: usize = 64;

/// The maximum size of the file and directory lists: gimli allocates memory in proportion to it.
const MAX_HEADER: u64 = 1 << 20;

/// The line table of a cubin.
#[derive(Clone, Debug, Default)]
pub struct LineTable<'a> {
    /// The files that rows refer to.
    pub files: Vec<SourceFile<'a>>,
    /// The rows, sorted by section and offset.
    pub rows: Vec<LineRow>,
    /// The calls in whose place inlined functions are.
    pub calls: Vec<CallSite>,
}

/// A call in whose place an inlined function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The file, as an index into [`LineTable::files`].
    pub file: Option<u32>,
    /// The line, from 1.
    pub line: u32,
    /// The call of the function in which this call is, if that is inlined too: an earlier index into [`LineTable::calls`].
    pub call: Option<u32>,
}

/// A source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile<'a> {
    /// Its directory; empty if unknown.
    pub folder: &'a [u8],
    /// Its name, or its path.
    pub name: &'a [u8],
}

/// The source line of the code from one offset up to that of the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineRow {
    /// The index of the code section; 0 if there is no relocation for it.
    pub section: u32,
    /// The offset in it.
    pub offset: u64,
    /// The file, as an index into [`LineTable::files`].
    pub file: Option<u32>,
    /// The line, from 1; 0 for code without a source line.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// Whether the sequence ends here; such a row describes no instruction.
    pub is_end: bool,
    /// The call in whose place the code is, as an index into [`LineTable::calls`].
    pub call: Option<u32>,
}

impl<'a> LineTable<'a> {
    /// Reads the table that refers to source files.
    ///
    /// # Errors
    /// If the section is outside the file, or is not a valid line table.
    pub fn of(cubin: &Cubin<'a>) -> Result<Option<Self>> {
        Self::of_section(cubin, b".debug_line")
    }

    /// Reads the table that refers to PTX.
    ///
    /// # Errors
    /// Same as [`LineTable::of`].
    pub fn of_ptx(cubin: &Cubin<'a>) -> Result<Option<Self>> {
        Self::of_section(cubin, b".nv_debug_line_sass")
    }

    fn of_section(cubin: &Cubin<'a>, name: &'static [u8]) -> Result<Option<Self>> {
        let Some(section) = cubin.elf().section_named(name) else { return Ok(None) };
        let within = |error: Error| error.within(alloc::string::String::from_utf8_lossy(name).into_owned());
        let data = cubin.elf().bytes(&section).map_err(within)?;
        let functions = SequenceFunctions::of(cubin, &section);
        let mut table = Self::default();
        table.read(cubin, data, &functions).map_err(within)?;
        table.rows.sort_by_key(|row| (row.section, row.offset, !row.is_end));
        Ok(Some(table))
    }

    /// Returns the rows of a code section.
    pub fn rows_of(&self, section: u32) -> &[LineRow] {
        let start = self.rows.partition_point(|row| row.section < section);
        let end = self.rows.partition_point(|row| row.section <= section);
        self.rows.get(start..end).unwrap_or_default()
    }

    /// Returns the row that describes the instruction at an offset.
    pub fn at(&self, section: u32, offset: u64) -> Option<&LineRow> {
        let rows = self.rows_of(section);
        let next = rows.partition_point(|row| row.offset <= offset);
        rows.get(next.checked_sub(1)?).filter(|row| !row.is_end)
    }

    fn read(&mut self, cubin: &Cubin<'_>, data: Reader<'a>, functions: &SequenceFunctions) -> Result<()> {
        let bytes = EndianSlice::new(data.data(), LittleEndian);
        let lines = DebugLine::from(gimli::RelocateReader::new(bytes, functions));
        let address_size = if cubin.elf().class().word() == 8 { 8 } else { 4 };
        let mut at = 0_u64;
        while at < data.data().len() as u64 {
            let size = unit_size(data, at)?;
            let offset = DebugLineOffset(usize::try_from(at).unwrap_or(usize::MAX));
            let with_offset = |error: gimli::Error| {
                let start = data.base().saturating_add(at);
                Error::new(ErrorKind::BadValue, start, format!("invalid line table: {error}"))
            };
            let program = lines.program(offset, address_size, None, None).map_err(with_offset)?;
            functions.section.set(0);
            self.read_unit(program, functions).map_err(with_offset)?;
            if self.rows.len() >= MAX_ROWS {
                return Err(Error::new(ErrorKind::Limit, data.base(), "line table has too many rows")
                    .expected(format!("at most {MAX_ROWS}")));
            }
            at = at.saturating_add(size);
        }
        Ok(())
    }

    fn read_unit(
        &mut self,
        mut program: gimli::IncompleteLineProgram<Relocated<'a, '_>>,
        functions: &SequenceFunctions,
    ) -> gimli::Result<()> {
        let first_file = self.files.len();
        let header = &program.header().clone();
        // Up to DWARF 4, file numbers start at 1.
        let first_number = u64::from(header.version() < 5);
        for file in header.file_names() {
            let folder = file.directory(header).map_or(&b""[..], |folder| text(&folder));
            self.files.push(SourceFile { folder, name: text(&file.path_name()) });
        }
        let file_count = header.file_names().len();
        let first_row = self.rows.len();
        // By row, its call site, if it has one.
        let mut sites: BTreeMap<usize, u32> = BTreeMap::new();
        let mut call = None;
        let mut instructions = header.instructions();
        let mut row = gimli::LineRow::new(header);
        while let Some(instruction) = instructions.next_instruction(header)? {
            if let LineInstruction::UnknownExtended(INLINED_CALL, mut operands) = instruction {
                let number = usize::try_from(operands.read_uleb128()?).ok();
                let caller = number.and_then(|number| first_row.checked_add(number.checked_sub(1)?));
                call = caller.and_then(|caller| self.call_site(caller, &mut sites));
                continue;
            }
            if !row.execute(instruction, &mut program)? {
                continue;
            }
            if self.rows.len() >= MAX_ROWS {
                break;
            }
            let file = row.file_index().checked_sub(first_number).and_then(|file| usize::try_from(file).ok());
            let file = file.filter(|file| *file < file_count).and_then(|file| file.checked_add(first_file));
            self.rows.push(LineRow {
                section: functions.section.get(),
                offset: row.address(),
                file: file.and_then(|file| u32::try_from(file).ok()),
                line: row.line().and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0),
                column: match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
                },
                is_end: row.end_sequence(),
                call,
            });
            if row.end_sequence() {
                call = None;
            }
            row.reset(header);
        }
        Ok(())
    }

    /// Returns the call site that a row is, and adds it if necessary; `None` if there is no such row yet.
    fn call_site(&mut self, row: usize, sites: &mut BTreeMap<usize, u32>) -> Option<u32> {
        if let Some(site) = sites.get(&row) {
            return Some(*site);
        }
        let LineRow { file, line, call, .. } = *self.rows.get(row)?;
        let site = u32::try_from(self.calls.len()).ok()?;
        self.calls.push(CallSite { file, line, call });
        sites.insert(row, site);
        Some(site)
    }

    /// Returns the calls in whose place a row's code is, innermost first.
    pub fn calls_of(&self, row: &LineRow) -> impl Iterator<Item = &CallSite> {
        let site = |call: Option<u32>| self.calls.get(call? as usize);
        core::iter::successors(site(row.call), move |inner| site(inner.call)).take(MAX_DEPTH)
    }
}

/// The extended opcode before the rows of an inlined function.
const INLINED_CALL: gimli::DwLne = gimli::DwLne(0x90);

type Relocated<'a, 'f> = gimli::RelocateReader<EndianSlice<'a, LittleEndian>, &'f SequenceFunctions>;

/// Returns the bytes of a name stored in the table itself; empty for names in other sections.
fn text<'a>(value: &AttributeValue<Relocated<'a, '_>>) -> &'a [u8] {
    match value {
        AttributeValue::String(name) => name.inner().slice(),
        _ => b"",
    }
}

/// Returns the size of the unit at an offset. A unit starts with its size (u32, or 0xffffffff and u64), u16 version, and
/// the size of the file and directory lists.
fn unit_size(data: Reader<'_>, at: u64) -> Result<u64> {
    let mut unit = data.part(at, (data.data().len() as u64).saturating_sub(at))?;
    let short = unit.u32()?;
    let is_dwarf64 = short == u32::MAX;
    let size = if is_dwarf64 { unit.u64()? } else { u64::from(short) };
    let end = size.saturating_add(unit.position() as u64);
    if unit.u16()? >= 5 {
        unit.skip(2)?;
    }
    let lists = if is_dwarf64 { unit.u64()? } else { u64::from(unit.u32()?) };
    if lists > MAX_HEADER {
        return Err(Error::new(ErrorKind::Limit, unit.offset(), "line table lists too many files")
            .expected(format!("at most {MAX_HEADER} bytes of names"))
            .found(format!("{lists}")));
    }
    Ok(end)
}

/// The functions that sequences belong to, from the section's relocations.
#[derive(Debug, Default)]
struct SequenceFunctions {
    /// (offset in the line table, code section, offset in that section), sorted.
    list: Vec<(u64, u32, u64)>,
    /// The code section of the current sequence; 0 if unknown.
    section: Cell<u32>,
}

impl SequenceFunctions {
    fn of(cubin: &Cubin<'_>, lines: &Section<'_>) -> Self {
        let mut functions = Self::default();
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
                functions.list.push((relocation.offset, u32::from(symbol.section), offset));
            }
        }
        functions.list.sort_unstable();
        functions
    }
}

impl Relocate for &SequenceFunctions {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        let found = self.list.binary_search_by_key(&(offset as u64), |(offset, ..)| *offset);
        let Some((_, section, address)) = found.ok().and_then(|index| self.list.get(index)) else {
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
