//! Source lines of instructions, from the cubin's line table.

use crate::paint;
use unshade::core::Escaped;
use unshade::nv::Cubin;
use unshade::nv::line_table::LineTable;
use unshade_emulate::Frame;

/// The line table of a cubin, if it has one that can be read.
pub(super) struct SourceLines<'a>(Option<LineTable<'a>>);

impl<'a> SourceLines<'a> {
    /// Reads the line table, if there is anything to look up.
    pub(super) fn new(cubin: &'a [u8], is_needed: bool) -> Self {
        let cubin = Cubin::parse(cubin).ok().filter(|_| is_needed);
        match cubin.map(|cubin| LineTable::of(&cubin)) {
            Some(Ok(table)) => Self(table),
            Some(Err(error)) => {
                anstream::eprintln!("{}: no source lines: {error}", paint::error("unshade"));
                Self(None)
            }
            None => Self(None),
        }
    }

    /// Returns the path and the line of an instruction.
    pub(super) fn of(&self, frame: &Frame) -> Option<(String, u32)> {
        let table = self.0.as_ref()?;
        let row = table.at(frame.section, frame.offset).filter(|row| row.line > 0)?;
        let file = table.files.get(usize::try_from(row.file?).ok()?)?;
        let name = Escaped(file.name).to_string();
        let is_path = file.folder.is_empty() || name.starts_with('/') || name.contains(":\\");
        let path = if is_path { name } else { format!("{}/{name}", Escaped(file.folder)) };
        Some((path, row.line))
    }
}
