//! Source lines of machine code, as comments in its listing.

use std::fmt::Write as _;
use unshade_core::{Diagnostics, Escaped};
use unshade_nv::Cubin;
use unshade_nv::line_table::{LineRow, LineTable};

/// Which lines a listing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineInfo {
    /// Lines of source files.
    Source,
    /// The same, and the calls in whose place inlined functions are.
    Inlined,
    /// Lines of the PTX that the code was compiled from.
    Ptx,
}

/// The section with the PTX, if the cubin has it.
const PTX: &[u8] = b".nv_debug_ptx_txt";

/// The lines of a cubin.
pub(crate) struct SourceLines<'a> {
    info: LineInfo,
    table: LineTable<'a>,
    /// The lines of the PTX.
    ptx: Vec<&'a [u8]>,
}

impl<'a> SourceLines<'a> {
    /// Reads the lines of a cubin.
    pub(crate) fn new(cubin: &Cubin<'a>, info: LineInfo, diagnostics: &mut Diagnostics) -> Self {
        let table = match info {
            LineInfo::Source | LineInfo::Inlined => LineTable::of(cubin),
            LineInfo::Ptx => LineTable::of_ptx(cubin),
        };
        let table = diagnostics.take("nv-line-table", table).flatten().unwrap_or_default();
        let section = (info == LineInfo::Ptx).then(|| cubin.elf().section_named(PTX)).flatten();
        let text = section.and_then(|section| cubin.elf().bytes(&section).ok());
        // ptxas stores each line as a string of its own.
        let ptx =
            text.map_or_else(Vec::new, |text| text.data().split(|byte| matches!(byte, 0 | b'\n')).collect());
        Self { info, table, ptx }
    }

    /// Returns the comments before the instructions of a section, by address: as nvdisasm prints them, or `// file:line`.
    pub(crate) fn comments(&self, section: u32, is_raw: bool) -> Vec<(u64, String)> {
        let mut comments = Vec::new();
        let rows: Vec<&LineRow> = self.table.rows_of(section).iter().filter(|row| !row.is_end).collect();
        // Of several rows with one address, the last describes the instruction.
        let last = rows.chunk_by(|row, next| row.offset == next.offset).filter_map(|same| same.last());
        let mut printed = Vec::new();
        for row in last {
            let lines = if is_raw { self.raw(row) } else { vec![self.short(row)] };
            // A row may differ in its column only.
            if lines != printed {
                comments.extend(lines.iter().map(|line| (row.offset, line.clone())));
                printed = lines;
            }
        }
        comments
    }

    /// Returns the lines that nvdisasm prints for a row.
    fn raw(&self, row: &LineRow) -> Vec<String> {
        let place = |file, line| format!("File \"{}\", line {line}", self.path(file));
        let mut places = vec![place(row.file, row.line)];
        if self.info == LineInfo::Inlined {
            places.extend(self.table.calls_of(row).map(|call| place(call.file, call.line)));
        }
        let of_place = |(number, inner): (usize, &String)| match places.get(number + 1) {
            Some(outer) => format!("\t//## {inner} inlined at {}", outer.trim_start_matches("File ")),
            None => format!("\t//## {inner}"),
        };
        places.iter().enumerate().map(of_place).collect()
    }

    /// Returns one comment for a row.
    fn short(&self, row: &LineRow) -> String {
        if self.info == LineInfo::Ptx {
            let text = (row.line as usize).checked_sub(1).and_then(|line| self.ptx.get(line));
            let words = text.into_iter().flat_map(|text| text.split(u8::is_ascii_whitespace));
            let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
            let text = format!("// PTX {}: {}", row.line, Escaped(&words.join(&b' ')));
            return text.trim_end_matches([':', ' ']).to_owned();
        }
        let mut text = format!("// {}:{}", self.path(row.file), row.line);
        if self.info == LineInfo::Inlined {
            for call in self.table.calls_of(row) {
                let _ = write!(text, ", inlined at {}:{}", self.path(call.file), call.line);
            }
        }
        text
    }

    /// Returns the path of a file.
    fn path(&self, file: Option<u32>) -> String {
        // The table of PTX has no files.
        let unnamed = if self.info == LineInfo::Ptx {
            String::from_utf8_lossy(PTX).into_owned()
        } else {
            String::new()
        };
        let file = file.and_then(|file| self.table.files.get(file as usize));
        file.map_or(unnamed, |file| {
            let separator = if file.folder.is_empty() { "" } else { "/" };
            format!("{}{separator}{}", Escaped(file.folder), Escaped(file.name))
        })
    }
}
