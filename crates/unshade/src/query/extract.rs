//! Bytes to save: programs, modules, listings, sources, YAML, and all files of `unshade extract` in a zip archive.

use super::listing::source;
use super::rows::Table;
use super::session::{Parsed, Session};
use super::*;
use crate::program::{Code, ExtractKind, Piece, Verb, refusal};
use crate::safe_path::SafePaths;
use crate::select::Selection;
use std::ops::ControlFlow;
use unshade_core::Diagnostics;

/// The maximum size of what is extracted.
const MAX_BYTES: usize = 1 << 30;

/// The maximum size of the directory of an archive.
const MAX_NAMES: usize = 64 << 20;

/// Bytes to save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// A safe file name.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Taken {
    fn new(name: &str, extension: &str, bytes: Vec<u8>) -> Self {
        Self { name: safe_name(name, extension), bytes }
    }
}

fn safe_name(name: &str, extension: &str) -> String {
    SafePaths::default().flat(name.as_bytes(), extension).path.to_string_lossy().into_owned()
}

/// Returns what can be extracted from a program as a whole.
pub(super) fn of_program(parsed: &Parsed<'_>, table: &Table) -> Vec<&'static str> {
    let is_offered = |verb| refusal(parsed.format, verb).is_none();
    let mut kinds = vec![Extracted::Program];
    kinds.extend((!table.panes().is_empty()).then_some(Extracted::Listing));
    kinds.extend(is_offered(Verb::ToYaml).then_some(Extracted::Yaml));
    kinds.extend(is_offered(Verb::Extract).then_some(Extracted::Zip));
    kinds.into_iter().map(Extracted::name).collect()
}

/// Returns what can be extracted from an item.
pub(super) fn of_item(item: &Piece) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    kinds.extend(item.has_bytes.then_some(Extracted::Module));
    kinds.push(Extracted::Listing);
    kinds.extend(item.row.has_source.then_some(Extracted::Source));
    kinds.into_iter().map(Extracted::name).collect()
}

impl Session {
    /// Returns bytes to save, with a safe file name.
    ///
    /// # Errors
    /// There is no such thing, or it can't be read.
    pub fn extract(&mut self, request: &Extract) -> Answer<Taken> {
        let (program, item) = (request.at.program, request.at.item);
        match request.what {
            Extracted::Program | Extracted::Yaml | Extracted::Zip | Extracted::File => self.ensure_all()?,
            _ => {}
        }
        if request.what == Extracted::File {
            return self.whole_file();
        }
        let table = self.table(program)?;
        let piece = item.map(|item| table.item(item)).transpose()?;
        if let Some(item) = item {
            self.ensure_item(program, item)?;
        }
        if request.what == Extracted::Listing {
            let printed = self.printed(&request.at)?;
            let parsed = self.parsed(program)?;
            let name = piece.map_or(parsed.short_name(), |piece| &piece.row.name);
            let extension = listing_extension(&parsed, piece, &request.at.pane);
            return Ok(Taken::new(name, extension, printed.lines.text().into_bytes()));
        }
        let parsed = self.parsed(program)?;
        let taken = match (request.what, piece) {
            (Extracted::Program, _) => {
                let name = parsed.short_name();
                let extension = format!(".{}", parsed.format.format.extension());
                let stem = name.strip_suffix(&extension).unwrap_or(name);
                limit(parsed.data.len())?;
                Taken::new(stem, &extension, parsed.data.to_vec())
            }
            (Extracted::Module, Some(piece)) => {
                let found = parsed.program.bytes_of(piece)?;
                limit(found.data.len())?;
                Taken::new(&piece.row.name, found.extension, found.data.into_owned())
            }
            (Extracted::Source, piece) => {
                let name = request.name.as_deref().ok_or_else(|| Fault::new("which source?"))?;
                let file = source(&parsed, piece, name)?;
                let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
                Taken::new(last, "", file.data)
            }
            (Extracted::Yaml, _) => yaml(&parsed, self.editor())?,
            (Extracted::Zip, _) => zip(&parsed)?,
            (Extracted::Module | Extracted::Listing | Extracted::File, _) => {
                return Err(Fault::new("which item?"));
            }
        };
        limit(taken.bytes.len())?;
        Ok(taken)
    }
}

impl Session {
    fn whole_file(&self) -> Answer<Taken> {
        if self.is_capture() {
            return Err(Fault::new("a capture is a folder, not a file"));
        }
        let bytes = self.bytes();
        limit(bytes.len())?;
        let name = self.shown_name();
        let name = name.rsplit(['/', '\\']).next().unwrap_or(&name);
        Ok(Taken::new(name, "", bytes.to_vec()))
    }
}

fn limit(size: usize) -> Answer<()> {
    if size <= MAX_BYTES {
        return Ok(());
    }
    Err(Fault::new(format!("{size} bytes are too many to extract at once"))
        .expected(format!("at most {MAX_BYTES}"))
        .hint("`unshade extract` writes files of any size"))
}

/// Returns what the names of listings end with.
fn listing_extension(parsed: &Parsed<'_>, item: Option<&Piece>, pane: &str) -> &'static str {
    match pane {
        "ptx" => ".ptx",
        "c" => ".c",
        "hlsl" => ".hlsl",
        "metal" => ".metal",
        "assembly" | "raw" => match parsed.code(item, &mut Diagnostics::new()) {
            Ok(Code::Modules(_)) => ".ll",
            Ok(Code::Machine(_)) => ".sass",
            _ => ".asm",
        },
        _ => ".txt",
    }
}

fn yaml(parsed: &Parsed<'_>, editor: Editor) -> Answer<Taken> {
    if let Some(reason) = refusal(parsed.format, Verb::ToYaml) {
        return Err(Fault::new(reason));
    }
    let output = editor(&EditorInput { program: parsed.data, base: parsed.base, edit: "null" })?;
    Ok(Taken::new(parsed.short_name(), ".yaml", output.bytes))
}

/// Returns everything that `unshade extract` writes of a program, each file under a name of its own.
fn zip(parsed: &Parsed<'_>) -> Answer<Taken> {
    if let Some(reason) = refusal(parsed.format, Verb::Extract) {
        return Err(Fault::new(reason));
    }
    let mut archive = Archive::default();
    let mut paths = SafePaths::default();
    let mut fault = None;
    let kinds = [ExtractKind::Module, ExtractKind::Source];
    let _ = parsed.program.extract(&Selection::default(), &kinds, &mut Diagnostics::new(), &mut |found| {
        let path = paths.file(found.path.as_bytes()).path;
        // Members have slashes between folders, whatever the system has.
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        match archive.add(&parts.join("/"), found.data) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                fault = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    match fault {
        Some(fault) => Err(fault),
        None => Ok(Taken::new(parsed.short_name(), ".zip", archive.finish())),
    }
}

/// A zip archive whose members are stored as they are: local headers and bytes, then the directory, then its end
/// (PKWARE's APPNOTE, 4.3).
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl Archive {
    fn add(&mut self, name: &str, data: &[u8]) -> Answer<()> {
        let room = MAX_BYTES.saturating_sub(self.bytes.len());
        if data.len() > room || self.directory.len() > MAX_NAMES || self.count == u16::MAX {
            return Err(Fault::new("the modules are too many, or too large, for one archive")
                .hint("`unshade extract` writes them into a folder"));
        }
        let mut checksum = crate::carve::crc32::Crc::new();
        checksum.update(data);
        let offset = self.bytes.len() as u32;
        // Version 2.0, UTF-8 names, stored, the first day that zip can express.
        let mut common: Vec<u8> = Vec::new();
        for number in [20u16, 1 << 11, 0, 0, 0x21] {
            common.extend(number.to_le_bytes());
        }
        for number in [checksum.sum(), data.len() as u32, data.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0u16.to_le_bytes());
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&common);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(data);
        self.directory.extend(b"PK\x01\x02\x14\x00");
        self.directory.extend(&common);
        self.directory.extend([0; 10]);
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Vec<u8> {
        let offset = self.bytes.len() as u32;
        let size = self.directory.len() as u32;
        self.bytes.append(&mut self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(offset.to_le_bytes());
        self.bytes.extend(0u16.to_le_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carve::{Limits, carve};

    #[test]
    fn archives_are_read_by_our_own_reader() {
        let mut archive = Archive::default();
        let library = include_bytes!("../../../../tests/fixtures/metallib/empty_92.metallib");
        archive.add("a.txt", b"text").unwrap();
        archive.add("b.metallib", library).unwrap();
        let mut found = Vec::new();
        let diagnostics = carve(&archive.finish(), b"x.zip", &Limits::default(), &mut |find| {
            found.push((find.path.to_string(), find.data == library));
            ControlFlow::Continue(())
        });
        assert_eq!(found, [("x.zip!b.metallib".to_owned(), true)]);
        assert!(diagnostics.is_empty());
    }

    #[test]
    fn names_are_safe() {
        assert_eq!(safe_name("../../etc/passwd", ".air"), ".._.._etc_passwd.air");
        assert!(!safe_name("a\u{202e}b\n", "").contains(['\u{202e}', '\n']));
    }
}
