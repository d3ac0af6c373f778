//! Bytes to take away: programs, modules, listings, sources, YAML, and all modules in a zip archive.

use super::listing::{source, with_unit};
use super::rows::{Row, Table};
use super::session::{Content, Parsed, Session};
use super::*;
use crate::format::Format;
use crate::opened::Opened;
use crate::safe_path::SafePaths;
use unshade_dxcontainer::DxFile;
use unshade_metallib::LibraryFile;

/// What is taken away has at most so many bytes.
const MAX_BYTES: usize = 1 << 30;

/// What the names of modules of an archive may have in all.
const MAX_NAMES: usize = 64 << 20;

/// Bytes to take away.
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

/// What can be taken away of a program as a whole.
pub(super) fn of_program(parsed: &Parsed<'_>) -> Vec<&'static str> {
    let mut kinds = vec![Extracted::Program];
    match &parsed.content {
        Content::Bitcode(_) => kinds.push(Extracted::Listing),
        Content::Program(Opened::Library(_)) => kinds.extend([Extracted::Yaml, Extracted::Zip]),
        Content::Program(Opened::DxContainer(_)) => {
            kinds.extend([Extracted::Listing, Extracted::Yaml, Extracted::Zip]);
        }
        Content::Program(Opened::Cubin(_) | Opened::Ptx(_)) => kinds.push(Extracted::Listing),
        Content::Program(_) => kinds.push(Extracted::Zip),
    }
    kinds.into_iter().map(Extracted::name).collect()
}

/// What can be taken away of an item.
pub(super) fn of_item(parsed: &Parsed<'_>, row: &Row) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    let has_bytes = row.range.is_some() || parsed.format == Some(Format::Fatbin);
    kinds.extend(has_bytes.then_some(Extracted::Module));
    kinds.push(Extracted::Listing);
    kinds.extend(row.has_source.then_some(Extracted::Source));
    kinds.into_iter().map(Extracted::name).collect()
}

impl Session {
    /// Bytes to take away, with a safe file name.
    ///
    /// # Errors
    /// There is no such thing, or it can't be read.
    pub fn extract(&mut self, request: &Extract) -> Answer<Taken> {
        let (program, item) = (request.at.program, request.at.item);
        match request.what {
            Extracted::Program | Extracted::Yaml | Extracted::Zip => self.ensure_all()?,
            _ => {}
        }
        let table = self.table(program)?;
        let row = item.map(|item| table.row(item)).transpose()?;
        if let Some(item) = item {
            self.ensure_item(program, item)?;
        }
        if request.what == Extracted::Listing {
            let printed = self.printed(&request.at)?;
            let parsed = self.parsed(program)?;
            let name = row.map_or(parsed.short_name(), |row| row.mangled.as_deref().unwrap_or(&row.name));
            let extension = listing_extension(&parsed, row, &request.at.pane);
            return Ok(Taken::new(name, extension, printed.lines.text().into_bytes()));
        }
        let parsed = self.parsed(program)?;
        let taken = match (request.what, row) {
            (Extracted::Program, _) => {
                let extension = parsed.format.map_or("bc", Format::extension);
                let name = parsed.short_name();
                let extension = format!(".{extension}");
                let stem = name.strip_suffix(&extension).unwrap_or(name);
                limit(parsed.data.len())?;
                Taken::new(stem, &extension, parsed.data.to_vec())
            }
            (Extracted::Module, Some(row)) => module(&parsed, row)?,
            (Extracted::Source, row) => {
                let name = request.name.as_deref().ok_or_else(|| Fault::new("which source?"))?;
                let file = source(&parsed, row, name)?;
                let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
                Taken::new(last, "", file.data)
            }
            (Extracted::Yaml, _) => yaml(&parsed)?,
            (Extracted::Zip, _) => zip(&parsed, &table)?,
            (Extracted::Module | Extracted::Listing, _) => return Err(Fault::new("which item?")),
        };
        limit(taken.bytes.len())?;
        Ok(taken)
    }
}

fn limit(size: usize) -> Answer<()> {
    if size <= MAX_BYTES {
        return Ok(());
    }
    Err(Fault::new(format!("{size} bytes are too many to take away at once"))
        .expected(format!("at most {MAX_BYTES}"))
        .hint("`unshade extract` writes files of any size"))
}

/// What the names of listings end with.
fn listing_extension(parsed: &Parsed<'_>, row: Option<&Row>, pane: &str) -> &'static str {
    match (pane, &parsed.content) {
        ("ptx", _) => ".ptx",
        ("c", _) => ".c",
        ("assembly" | "raw", Content::Program(Opened::Fatbin(_) | Opened::Cubin(_))) => ".sass",
        ("assembly" | "raw", Content::Program(Opened::DxContainer(container))) => {
            let part = row.and_then(|row| container.found_parts().nth(row.index as usize));
            let has_module = match part {
                Some(part) => unshade_dxcontainer::program::bitcode(part.data).is_ok(),
                None => crate::dxil::main_part(container).is_some(),
            };
            if has_module { ".ll" } else { ".asm" }
        }
        ("assembly" | "raw", _) => ".ll",
        _ => ".txt",
    }
}

/// The bytes of an item.
fn module(parsed: &Parsed<'_>, row: &Row) -> Answer<Taken> {
    let name = row.mangled.as_deref().unwrap_or(&row.name);
    match &parsed.content {
        Content::Bitcode(bytes) => Ok(Taken::new(name, ".bc", bytes.to_vec())),
        Content::Program(Opened::Library(_) | Opened::Universal(_)) => {
            parsed.with_function(row, |library, function| {
                let module =
                    library.module(function)?.ok_or_else(|| Fault::new("the function has no module"))?;
                Ok(Taken::new(name, ".air", module.bytes().to_vec()))
            })
        }
        Content::Program(Opened::DxContainer(container)) => {
            let part = container.found_parts().nth(row.index as usize);
            let part = part.ok_or_else(|| Fault::new("the part can't be read"))?;
            Ok(match unshade_dxcontainer::program::bitcode(part.data) {
                Ok((_, code)) => Taken::new(name, ".bc", code.data().to_vec()),
                Err(_) => Taken::new(name, ".bin", part.data.data().to_vec()),
            })
        }
        Content::Program(_) => with_unit(parsed, row, |unit, _| match unit {
            Opened::Cubin(cubin) => Ok(Taken::new(name, ".cubin", cubin.file().data().to_vec())),
            Opened::Ptx(ptx) => Ok(Taken::new(name, ".ptx", ptx.text().to_vec())),
            _ => Err(Fault::new("the entry can't be read")),
        }),
    }
}

fn yaml(parsed: &Parsed<'_>) -> Answer<Taken> {
    let text = match &parsed.content {
        Content::Program(Opened::Library(_)) => {
            unshade_metallib::document::to_yaml(&LibraryFile::parse(parsed.data)?)?
        }
        Content::Program(Opened::DxContainer(_)) => {
            unshade_dxcontainer::document::to_yaml(&DxFile::parse(parsed.data)?)?
        }
        _ => return Err(Fault::new("this has no YAML")),
    };
    Ok(Taken::new(parsed.short_name(), ".yaml", text.into_bytes()))
}

/// All modules of a program, each under a name of its own.
fn zip(parsed: &Parsed<'_>, table: &Table) -> Answer<Taken> {
    let mut archive = Archive::default();
    let mut paths = SafePaths::default();
    let mut add = |name: &str, extension: &str, bytes: &[u8]| {
        let path = paths.flat(name.as_bytes(), extension).path.to_string_lossy().into_owned();
        archive.add(&path, bytes)
    };
    match &parsed.content {
        Content::Program(program @ (Opened::Library(_) | Opened::Universal(_))) => {
            for named in program.libraries(&mut unshade_core::Diagnostics::new()) {
                for function in named.library.functions().map_while(Result::ok) {
                    let Ok(Some(module)) = named.library.module(&function) else { continue };
                    let name = String::from_utf8_lossy(function.name.unwrap_or(b"function")).into_owned();
                    add(&name, ".air", module.bytes())?;
                }
            }
        }
        Content::Program(Opened::Fatbin(fatbin)) => {
            for entry in fatbin.entries().filter_map(Result::ok) {
                let Ok(data) = entry.data() else { continue };
                let extension = match entry.kind {
                    unshade_nv::fatbin::EntryKind::ELF => ".cubin",
                    unshade_nv::fatbin::EntryKind::PTX => ".ptx",
                    _ => ".bin",
                };
                add(&format!("{}.{}", entry.index, entry.target()), extension, &data)?;
            }
        }
        Content::Program(Opened::DxContainer(_)) => {
            for row in &table.rows {
                let taken = module(parsed, row)?;
                let (stem, extension) = taken.name.rsplit_once('.').unwrap_or((&taken.name, "bin"));
                add(stem, &format!(".{extension}"), &taken.bytes)?;
            }
        }
        _ => return Err(Fault::new("this is one module")),
    }
    Ok(Taken::new(parsed.short_name(), ".zip", archive.finish()))
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
        // Version 2.0, UTF-8 names, stored, the first day that zip can tell.
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
            std::ops::ControlFlow::Continue(())
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
