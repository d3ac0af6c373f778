//! The symbols and lines of a module, in CodeView format.
//!
//! Symbols: u32, then for each u16 size, u16 kind:
//!
//! | kind | contents |
//! |---|---|
//! | 0x1110 function | at 28 u32 offset of its code |
//! | 0x113e variable | u32 type, u16, name |
//! | 0x1150 location of the last variable | u16 kind of register, u16 whose bits 0 and 1 are the number of indices, u16 offset in the variable, u16 size, u32 start of the live range, u16, u16 its length; gaps (u16 offset from the start, u16 length); u32 register indices |
//! | 0x114d inlined call | at 8 u32 name of the function, then its binary annotations |
//! | 0x114e end of an inlined call | |
//!
//! Lines: u32 kind, u32 size, contents, padded to 4:
//!
//! | kind | contents |
//! |---|---|
//! | 0xf2 lines | u32 offset of the code, 8 bytes; for each file u32 offset in the file list, u32 number of lines, u32 size including these three; u32 offset, u32 whose bits 0 to 23 are the line and whose bit 31 marks the start of a statement |
//! | 0xf4 files | u32 name, u8 size of a digest, u8, the digest, padded to 4 |
//! | 0xf6 functions | u32 0; u32 name of the function, u32 offset in the file list, u32 first line |
//!
//! Binary annotations and their operands take one, two or four bytes. 1 sets the offset, 3 adds to it, 4 sets the
//! length, 6 adds to the line, 8 sets the kind of what follows (0 an expression, 1 a statement), 11 adds to both, 12
//! sets the length and adds to the offset. Expressions repeat the ranges of statements.
//!
//! Sources: Microsoft's `cvinfo.h`; LLVM's "CodeView"; FXC's text for such programs.

use super::types::Types;
use super::{CopyBudget, DebugInfo, Lines, Location, SourceFile, SourceLine};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use unshade_core::{Reader, Result};

const FUNCTION: u16 = 0x1110;
const VARIABLE: u16 = 0x113e;
const LOCATION: u16 = 0x1150;
const INLINED: u16 = 0x114d;
const INLINED_END: u16 = 0x114e;

const LINES: u32 = 0xf2;
const FILES: u32 = 0xf4;
const INLINED_LINES: u32 = 0xf6;

/// The kind of indexable temporaries, which hold arrays.
const INDEXABLE: u16 = 3;

/// Maximum nesting depth of inlined calls.
const MAX_DEPTH: usize = 64;
/// Maximum number of instructions that inlined calls may cover, per byte of the module: hostile calls could take
/// forever.
const WORK_PER_BYTE: usize = 16;

/// A module: its symbols, and the contents of its line sections.
pub(super) struct Module<'a> {
    symbols: Reader<'a>,
    /// Kind and contents of each section.
    lists: Vec<(u32, Reader<'a>)>,
    /// The names of files.
    names: &'a [u8],
    size: usize,
}

impl<'a> Module<'a> {
    /// Parses the stream of a module, given the sizes of symbols, old lines and lines.
    pub(super) fn new(stream: &'a [u8], sizes: [u32; 3], names: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(stream);
        let [symbols, old, lines] = sizes;
        let mut symbols = reader.split(symbols.into())?;
        symbols.skip(4)?;
        reader.skip(old.into())?;
        let mut rest = reader.split(lines.into())?;
        let mut lists = Vec::new();
        while !rest.is_empty() {
            let (kind, size) = (rest.u32()?, rest.u32()?);
            lists.push((kind, rest.split(size.into())?));
            skip_padding(&mut rest);
        }
        Ok(Self { symbols, lists, names, size: stream.len() })
    }

    fn list(&self, kind: u32) -> impl Iterator<Item = Reader<'a>> {
        self.lists.iter().filter(move |(one, _)| *one == kind).map(|(_, contents)| *contents)
    }

    /// Returns the source files, in the order of their list.
    pub(super) fn files(&self, budget: &mut CopyBudget) -> Vec<SourceFile> {
        let entries = self.file_entries();
        let names =
            entries.into_iter().map(|(_, name)| budget.copy(self.file_name(name)).unwrap_or_default());
        names.map(|name| SourceFile { name, text: None }).collect()
    }

    fn file_name(&self, offset: u32) -> &'a [u8] {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.names.get(offset..));
        rest.unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Returns offset and name of each entry of the file list.
    fn file_entries(&self) -> Vec<(u32, u32)> {
        let mut entries = Vec::new();
        for mut list in self.list(FILES) {
            while let (Ok(position), Ok(name)) = (u32::try_from(list.position()), list.u32()) {
                entries.push((position, name));
                let Ok(size) = list.u8() else { break };
                if list.skip(u64::from(size).saturating_add(1)).is_err() {
                    break;
                }
                skip_padding(&mut list);
            }
        }
        entries
    }

    /// Returns the lines in the line table.
    fn lines(&self, files: &BTreeMap<u32, usize>) -> BTreeMap<u32, SourceLine> {
        let mut lines = BTreeMap::new();
        for list in self.list(LINES) {
            read_lines(list, files, &mut lines);
        }
        lines
    }

    /// Returns file and first line of the inlined functions.
    fn inlined_lines(&self, files: &BTreeMap<u32, usize>) -> BTreeMap<u32, SourceLine> {
        let mut lines = BTreeMap::new();
        for mut list in self.list(INLINED_LINES) {
            let _ = list.u32();
            while let (Ok(function), Ok(file), Ok(line)) = (list.u32(), list.u32(), list.u32()) {
                let file = files.get(&file).copied().unwrap_or(usize::MAX);
                lines.insert(function, SourceLine { file, line });
            }
        }
        lines
    }
}

/// Skips padding to a multiple of 4.
fn skip_padding(reader: &mut Reader<'_>) {
    let filler = reader.position().wrapping_neg() % 4;
    let _ = reader.skip(filler as u64);
}

/// Reads a line section up to its first invalid entry.
fn read_lines(
    mut list: Reader<'_>,
    files: &BTreeMap<u32, usize>,
    lines: &mut BTreeMap<u32, SourceLine>,
) -> Option<()> {
    const LINE: u32 = 0xff_ffff;
    const STATEMENT: u32 = 1 << 31;
    const BLOCK_HEADER: u32 = 12;
    let start = list.u32().ok()?;
    list.skip(8).ok()?;
    while !list.is_empty() {
        let file = files.get(&list.u32().ok()?).copied().unwrap_or(usize::MAX);
        let count = list.u32().ok()?;
        // Columns may follow the lines.
        let size = list.u32().ok()?.checked_sub(BLOCK_HEADER)?;
        let mut block = list.split(size.into()).ok()?;
        for _ in 0..count {
            let (offset, bits) = (block.u32().ok()?, block.u32().ok()?);
            if bits & STATEMENT != 0 {
                lines.insert(start.saturating_add(offset), SourceLine { file, line: bits & LINE });
            }
        }
    }
    Some(())
}

/// Reads symbols and lines up to the first invalid one.
pub(super) fn read(module: &Module<'_>, types: &Types<'_>, info: &mut DebugInfo) {
    let entries = module.file_entries();
    let files = entries.iter().enumerate().map(|(number, (position, _))| (*position, number)).collect();
    let mut reader_state = SymbolReader {
        types,
        inlined: module.inlined_lines(&files),
        lines: module.lines(&files),
        work_left: module.size.saturating_mul(WORK_PER_BYTE),
        open: Vec::new(),
        function: 0,
        variable: None,
        info,
    };
    let mut symbols = module.symbols;
    while let Ok(size) = symbols.u16() {
        let Ok(symbol) = symbols.split(size.into()) else { break };
        if reader_state.symbol(symbol).is_none() {
            break;
        }
    }
    let lines = reader_state.lines;
    info.lines = Lines::ByOffset(lines);
}

/// The state while symbols are read.
struct SymbolReader<'r, 't> {
    types: &'r Types<'t>,
    inlined: BTreeMap<u32, SourceLine>,
    lines: BTreeMap<u32, SourceLine>,
    work_left: usize,
    /// The enclosing inlined calls.
    open: Vec<usize>,
    /// Offset of the function's code.
    function: u32,
    /// The type and name of the last variable.
    variable: Option<(u32, Vec<u8>)>,
    info: &'r mut DebugInfo,
}

impl SymbolReader<'_, '_> {
    fn symbol(&mut self, mut symbol: Reader<'_>) -> Option<()> {
        match symbol.u16().ok()? {
            FUNCTION => {
                symbol.skip(28).ok()?;
                self.function = symbol.u32().ok()?;
                self.info.entry.get_or_insert(self.function);
            }
            VARIABLE => {
                let number = symbol.u32().ok()?;
                symbol.skip(2).ok()?;
                self.variable = Some((number, symbol.c_string().ok()?.to_vec()));
            }
            LOCATION => self.location(symbol)?,
            INLINED => {
                symbol.skip(8).ok()?;
                self.inlined_call(symbol)?;
            }
            INLINED_END => drop(self.open.pop()),
            _ => {}
        }
        Some(())
    }

    fn location(&mut self, mut symbol: Reader<'_>) -> Option<()> {
        let (register_kind, bits) = (symbol.u16().ok()?, symbol.u16().ok()?);
        let (offset, size) = (symbol.u16().ok()?, symbol.u16().ok()?);
        let start = symbol.u32().ok()?;
        symbol.skip(2).ok()?;
        let end = start.saturating_add(symbol.u16().ok()?.into());
        let index_count = usize::from(bits & 3);
        let gaps = (symbol.remaining() / 4).saturating_sub(index_count);
        let mut starts = Vec::new();
        let mut position = start;
        for _ in 0..gaps {
            let (from, length) = (symbol.u16().ok()?, symbol.u16().ok()?);
            let from = start.saturating_add(from.into());
            if position < from {
                starts.push(position);
            }
            position = from.saturating_add(length.into());
        }
        if position < end {
            starts.push(position);
        }
        let indices = (0..index_count).map(|_| symbol.u32().ok()).collect::<Option<_>>()?;
        let (number, name) = self.variable.as_ref()?;
        // An array in indexable temporaries stands for the whole variable; in 5.1 its symbol has no size.
        let is_whole = register_kind == INDEXABLE && offset == 0;
        let size = if is_whole { self.types.size(*number)? } else { size.into() };
        let (name, fault) = self.types.name(name, *number, offset.into(), size)?;
        let scope = self.open.last().copied();
        self.info.locations.push(Location { starts, scope, register_kind, indices, name, fault });
        Some(())
    }

    /// Reads an inlined call, and assigns its lines to its code.
    fn inlined_call(&mut self, mut symbol: Reader<'_>) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            return None;
        }
        let function = symbol.u32().ok()?;
        let first = self.inlined.get(&function).copied();
        let code = inlined_code(symbol.rest(), self.function);
        for (range, line) in &code {
            let Some(first) = first else { break };
            let line = SourceLine { line: first.line.wrapping_add_signed(*line), ..first };
            for (_, known) in self.lines.range_mut(range.clone()) {
                self.work_left = self.work_left.checked_sub(1)?;
                *known = line;
            }
        }
        self.open.push(self.info.scopes.len());
        self.info.scopes.push(joined(code.into_iter().map(|(range, _)| range).collect()));
        Some(())
    }
}

/// Sorts ranges and merges those that touch.
fn joined(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u32>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the code ranges of a call, with their lines relative to the function's first line.
fn inlined_code(operations: &[u8], start: u32) -> Vec<(Range<u32>, i32)> {
    let mut pieces: Vec<InlinedRange> = Vec::new();
    let (mut offset, mut line, mut statement) = (start, 0i32, true);
    let mut reader = Reader::new(operations);
    while let Some(operation @ 1..) = compressed(&mut reader) {
        let Some(operand) = compressed(&mut reader) else { break };
        let (advance, length) = match operation {
            1 => {
                offset = operand;
                continue;
            }
            3 => (operand, None),
            4 => {
                if let Some(last) = pieces.last_mut() {
                    last.length = Some(operand);
                }
                continue;
            }
            6 => {
                line = line.saturating_add(signed(operand));
                continue;
            }
            8 => {
                statement = operand == 1;
                continue;
            }
            11 => {
                line = line.saturating_add(signed(operand >> 4));
                (operand & 15, None)
            }
            12 => match compressed(&mut reader) {
                Some(advance) => (advance, Some(operand)),
                None => break,
            },
            _ => continue,
        };
        offset = offset.saturating_add(advance);
        pieces.push(InlinedRange { offset, line, length, statement });
    }
    // A range without a length extends to the next one.
    let nexts = pieces.iter().skip(1).map(|next| next.offset).chain([u32::MAX]).collect::<Vec<_>>();
    let kept = pieces.iter().zip(nexts).filter(|(piece, _)| piece.statement);
    let range = |(piece, next): (&InlinedRange, u32)| {
        let end = piece.length.map_or(next, |length| piece.offset.saturating_add(length));
        (piece.offset..end.max(piece.offset), piece.line)
    };
    kept.map(range).collect()
}

/// A code range of an inlined call.
struct InlinedRange {
    offset: u32,
    line: i32,
    length: Option<u32>,
    statement: bool,
}

/// Reads a compressed number of one, two or four bytes.
fn compressed(reader: &mut Reader<'_>) -> Option<u32> {
    let first = reader.u8().ok()?;
    let mut rest =
        |count: u32| (0..count).try_fold(0u32, |number, _| Some(number << 8 | u32::from(reader.u8().ok()?)));
    match first {
        ..0x80 => Some(first.into()),
        0x80..0xc0 => Some(u32::from(first & 0x3f) << 8 | rest(1)?),
        0xc0..0xe0 => Some(u32::from(first & 0x1f) << 24 | rest(3)?),
        _ => None,
    }
}

/// Decodes a signed number, whose sign is its lowest bit.
fn signed(number: u32) -> i32 {
    let magnitude = (number >> 1).cast_signed();
    if number & 1 == 1 { magnitude.wrapping_neg() } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_a_call() {
        // Two lines further, 40 bytes at 0x134 from the start; then the same again as an expression.
        let operations = [6, 4, 12, 40, 0x81, 0x34, 8, 0, 1, 0x81, 0xb0, 12, 40, 0];
        assert_eq!(inlined_code(&operations, 0x7c), [(0x1b0..0x1d8, 2)]);
    }
}
