//! `unshade extract`: modules as `.air`, sources as the files that they were, programs out of what holds them.
//!
//! `-o DIR` gets `modules/NAME.air` and `sources/ARCHIVE/…`, and of fat binaries `modules/N.sm_35.cubin` and
//! `sources/N.compute_35.ptx`, N being the entry; if the file holds several programs, all of that in a
//! folder for each. Nothing is written outside of DIR, and every name that had to be changed is told.

use crate::Outcome;
use crate::args::{ExtractArgs, Extracted, GlobalArgs};
use crate::input::Input;
use crate::output::{Folder, Stdout};
use crate::paint::{self, bytes, counted};
use anyhow::Result;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use unshade::carve::Find;
use unshade::core::{Diagnostics, Escaped};
use unshade::dxcontainer::program::bitcode;
use unshade::dxcontainer::{Container, PartData};
use unshade::metallib::{Function, Library};
use unshade::nv::Fatbin;
use unshade::nv::fatbin::{Entry, EntryKind};
use unshade::program::{NamedLibrary, Program};
use unshade::safe_path::{SafePath, SafePaths};
use unshade::select::Selection;
use unshade::source_files::visit_files;
use unshade::view::{FindingView, SCHEMA};

/// What was written, for `--json`.
#[derive(Serialize)]
struct Written {
    path: String,
    size: u64,
    /// What it is: `module`, `source` or `program`.
    kind: &'static str,
    /// The name in the file, if the path had to differ from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<String>,
}

#[derive(Serialize)]
struct ExtractJson<'a> {
    schema: u32,
    file: &'a str,
    written: Vec<Written>,
    findings: Vec<FindingView>,
}

pub(crate) fn run(args: &ExtractArgs, global: &GlobalArgs) -> Result<Outcome> {
    let selection = args.selection()?;
    let input = Input::open(&args.file)?;
    let mut programs = 0u64;
    // Whether there is a folder for each program has to be known before the first is written.
    input.each_program(&global.limits(), |_| {
        programs += 1;
        Ok(())
    })?;
    let folder = Folder::create(&args.output.output, args.output.force)?;
    let mut extraction = Extraction {
        args,
        selection,
        folder,
        paths: SafePaths::default(),
        written: Vec::new(),
        diagnostics: Diagnostics::new(),
    };
    let mut result = Ok(());
    input.programs(&global.limits(), &mut |find| {
        result = extraction.program(&find, programs > 1);
        if result.is_ok() { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
    });
    result?;
    extraction.report(&input, global)
}

struct Extraction<'a> {
    args: &'a ExtractArgs,
    selection: Selection,
    folder: Folder,
    paths: SafePaths,
    written: Vec<Written>,
    diagnostics: Diagnostics,
}

impl Extraction<'_> {
    fn program(&mut self, find: &Find<'_>, several: bool) -> Result<()> {
        let prefix = if several { format!("{}/", inner_name(find)) } else { String::new() };
        if self.args.wants(Extracted::Programs) {
            let stem = if several { inner_name(find) } else { file_stem(find) };
            let name = format!("{stem}.{}", find.format.extension());
            let path = self.paths.flat(name.as_bytes(), "");
            self.write(path, "program", name.as_bytes(), find.data)?;
        }
        let mut diagnostics = Diagnostics::new();
        if let Some(program) = diagnostics.take("program", Program::open(find)) {
            if let Program::DxContainer(container) = &program {
                self.container(&prefix, container)?;
            }
            if let Program::Fatbin(fatbin) = &program {
                self.fatbin(&prefix, fatbin, &mut diagnostics)?;
            }
            for named in program.libraries(&mut diagnostics) {
                self.library(&prefix, &named)?;
            }
        }
        self.diagnostics.append(diagnostics);
        Ok(())
    }

    fn library(&mut self, prefix: &str, named: &NamedLibrary<'_>) -> Result<()> {
        let slice = if named.slice.is_empty() { String::new() } else { format!("{}/", named.slice) };
        let prefix = format!("{prefix}{slice}");
        let functions: Vec<_> = named
            .library
            .functions()
            .map_while(Result::ok)
            .filter(|function| self.selection.matches(function))
            .collect();
        if self.args.wants(Extracted::Modules) {
            for function in &functions {
                self.module(&prefix, &named.library, function)?;
            }
        }
        if self.args.wants(Extracted::Sources) {
            self.sources(&prefix, &named.library, &functions)?;
        }
        Ok(())
    }

    /// The cubins and PTX of a fat binary; those with the functions that were named, if some were.
    fn fatbin(&mut self, prefix: &str, fatbin: &Fatbin<'_>, diagnostics: &mut Diagnostics) -> Result<()> {
        for entry in fatbin.entries() {
            let Some(entry) = diagnostics.take("nv-entry-header", entry) else { continue };
            let (folder, extension) = match entry.kind {
                EntryKind::ELF if self.args.wants(Extracted::Modules) => ("modules", "cubin"),
                EntryKind::PTX if self.args.wants(Extracted::Sources) => ("sources", "ptx"),
                EntryKind::ELF | EntryKind::PTX => continue,
                _ if self.args.wants(Extracted::Modules) => ("modules", "bin"),
                _ => continue,
            };
            let Some(data) = diagnostics.take("nv-entry-data", entry.data()) else { continue };
            if !self.selection.is_everything() && !self.has_function(&entry, &data) {
                continue;
            }
            let wanted = format!("{prefix}{folder}/{}.{}.{extension}", entry.index, entry.target());
            let path = self.paths.file(wanted.as_bytes());
            let kind = if entry.kind == EntryKind::PTX { "source" } else { "module" };
            self.write(path, kind, wanted.as_bytes(), &data)?;
        }
        Ok(())
    }

    /// Whether a unit has one of the functions that were named. Functions count from 0 in each.
    fn has_function(&self, entry: &Entry<'_>, data: &[u8]) -> bool {
        match entry.kind {
            EntryKind::ELF => entry.cubin(data).is_ok_and(|cubin| {
                cubin.functions().any(|one| self.selection.matches_name(one.index, one.name()))
            }),
            EntryKind::PTX => {
                let functions = entry.ptx(data);
                (0..)
                    .zip(functions.functions())
                    .any(|(index, one)| self.selection.matches_name(index, one.name))
            }
            _ => false,
        }
    }

    /// Bitcode and sources of a DXContainer.
    fn container(&mut self, prefix: &str, container: &Container<'_>) -> Result<()> {
        for part in container.found_parts() {
            let code = bitcode(part.data);
            match (&part.name.0, code) {
                (b"DXIL" | b"ILDB" | b"STAT", Ok((_, code))) if self.args.wants(Extracted::Modules) => {
                    let wanted = format!("{prefix}modules/{}.bc", part.name);
                    let path = self.paths.file(wanted.as_bytes());
                    self.write(path, "module", wanted.as_bytes(), code.data())?;
                }
                (b"SRCI", _) if self.args.wants(Extracted::Sources) => {
                    let Some(PartData::Sources(info)) =
                        self.diagnostics.take("sources", PartData::read(part.name, part.data))
                    else {
                        continue;
                    };
                    for file in self.diagnostics.take("sources", info.files()).unwrap_or_default() {
                        let name = file.name.to_string_lossy().replace('\\', "/");
                        let name = name.split_once(":/").map_or(name.as_str(), |(_, rest)| rest);
                        let wanted = format!("{prefix}sources/{}", name.trim_start_matches('/'));
                        let path = self.paths.file(wanted.as_bytes());
                        self.write(path, "source", wanted.as_bytes(), &file.text.0)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn module(&mut self, prefix: &str, library: &Library<'_>, function: &Function<'_>) -> Result<()> {
        let Some(module) = self.diagnostics.take("module-range", library.module(function)).flatten() else {
            return Ok(());
        };
        let name = match function.name {
            Some(name) => String::from_utf8_lossy(name).replace(['/', '\\'], "_"),
            None => format!("function-{}", function.index),
        };
        let wanted = format!("{prefix}modules/{name}.air");
        let path = self.paths.file(wanted.as_bytes());
        self.write(path, "module", wanted.as_bytes(), module.bytes())
    }

    fn sources(&mut self, prefix: &str, library: &Library<'_>, functions: &[Function<'_>]) -> Result<()> {
        let Some(sources) = self.diagnostics.take("sources", library.sources()).flatten() else {
            return Ok(());
        };
        let start = sources.offset();
        for archive in sources.archives() {
            let Some(archive) = self.diagnostics.take("sources", archive) else { continue };
            let offset = archive.code_offset.saturating_sub(start);
            let wanted = functions.iter().any(|function| function.source_offset == Some(offset));
            if !self.selection.is_everything() && !wanted {
                continue;
            }
            let id = String::from_utf8_lossy(archive.id).replace(['/', '\\'], "_");
            let mut result = Ok(());
            let unpacked = visit_files(&archive, |file| {
                if result.is_ok() {
                    let inner = String::from_utf8_lossy(&file.path);
                    let wanted = format!("{prefix}sources/{id}/{}", inner.trim_start_matches('/'));
                    let path = self.paths.file(wanted.as_bytes());
                    result = self.write(path, "source", wanted.as_bytes(), &file.data);
                }
            });
            result?;
            self.diagnostics.take("sources", unpacked);
        }
        Ok(())
    }

    fn write(&mut self, path: SafePath, kind: &'static str, wanted: &[u8], data: &[u8]) -> Result<()> {
        self.folder.write(&path.path, data)?;
        let shown: PathBuf = self.args.output.output.join(&path.path);
        self.written.push(Written {
            path: shown.display().to_string(),
            size: data.len() as u64,
            kind,
            renamed_from: path.renamed.then(|| Escaped(wanted).to_string()),
        });
        Ok(())
    }

    fn report(self, input: &Input, global: &GlobalArgs) -> Result<Outcome> {
        let outcome = match (self.written.is_empty(), self.diagnostics.has_errors()) {
            (false, false) => Outcome::Done,
            _ => Outcome::Finding,
        };
        let mut stdout = Stdout::new(false);
        if global.json {
            let findings = self.diagnostics.iter().map(FindingView::from).collect();
            let json = ExtractJson { schema: SCHEMA, file: &input.name, written: self.written, findings };
            stdout.json(&json, false)?;
            stdout.finish()?;
            return Ok(outcome);
        }
        self.print(input, &mut stdout)?;
        stdout.finish()?;
        Ok(outcome)
    }

    fn print(&self, input: &Input, stdout: &mut Stdout) -> Result<()> {
        for diagnostic in &self.diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&input.name, diagnostic));
        }
        for written in &self.written {
            if let Some(from) = &written.renamed_from {
                anstream::eprintln!("{}: renamed {from} to {}", input.name, written.path);
            }
        }
        for (kind, noun) in [("program", "program"), ("module", "module"), ("source", "source file")] {
            let files: Vec<_> = self.written.iter().filter(|written| written.kind == kind).collect();
            if !files.is_empty() {
                let size = bytes(files.iter().map(|written| written.size).sum());
                let folder = self.args.output.output.display();
                writeln!(stdout, "{}, {size}, in {folder}", counted(files.len() as u64, noun))?;
            }
        }
        if self.written.is_empty() {
            anstream::eprintln!("{}: nothing to extract", paint::error("unshade"));
        }
        Ok(())
    }
}

/// What a program's folder is called if there are several: the way to it inside of the file, on one level.
fn inner_name(find: &Find<'_>) -> String {
    let selector = find.path.selector();
    let name = selector.trim_start_matches('!').replace(['/', '\\', '!'], "_");
    if name.is_empty() { file_stem(find) } else { name }
}

/// The file's name without its folder and extension.
fn file_stem(find: &Find<'_>) -> String {
    let file = String::from_utf8_lossy(find.path.file()).into_owned();
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".metallib").unwrap_or(name).to_owned()
}
