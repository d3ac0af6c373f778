//! `unshade FILE…`: what files are.
//!
//! A file that is a program, or holds one, gets the facts that people look for first; one that holds several gets a
//! row for each.

use super::{FileJson, ProgramJson, check, each_file, findings};
use crate::Outcome;
use crate::args::{FilesArgs, GlobalArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::paint::{bytes, faint, good, grouped, name};
use anyhow::Result;
use serde::Serialize;
use std::io::Write;
use unshade::carve::Find;
use unshade::core::{Diagnostics, Escaped};
use unshade::metallib::Library;
use unshade::metallib::gpu_object::NamedRange;
use unshade::metallib::universal::{Slice, SliceContent};
use unshade::program::Program;
use unshade::source_files::visit_files;
use unshade::view::Direct3d9View;
use unshade::view::nvidia::NvidiaView;
use unshade::view::{ContainerView, FindingView, HashesView, LibraryView};

/// How long a line may be where there is no terminal to tell.
const LINE_WIDTH: usize = 100;

/// How many programs of a file are told in a row each; the others are counted.
const MAX_ROWS: usize = 20;

#[derive(Serialize)]
struct InfoJson {
    #[serde(flatten)]
    head: ProgramJson,
    libraries: Vec<LibraryJson>,
    /// The slices of a universal file.
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<Vec<SliceJson>>,
    /// What a DXContainer has.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<ContainerView>,
    /// What a fat binary, a cubin or PTX has.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    nvidia: Option<NvidiaView>,
    /// What a program of Shader Model 1 to 3 has.
    #[serde(skip_serializing_if = "Option::is_none")]
    direct3d9: Option<Direct3d9View>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

/// An architecture of a universal file.
#[derive(Serialize)]
struct SliceJson {
    name: String,
    offset: u64,
    size: u64,
    /// The sections and notes of a GPU Mach-O.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionJson>,
}

#[derive(Serialize)]
struct SectionJson {
    name: String,
    offset: u64,
    size: u64,
}

#[derive(Serialize)]
struct LibraryJson {
    #[serde(skip_serializing_if = "String::is_empty")]
    slice: String,
    #[serde(flatten)]
    view: LibraryView,
    /// How many files the source archives hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    source_files: Option<u64>,
}

pub(crate) fn run(args: &FilesArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut stdout = Stdout::new(false);
    let mut first = true;
    let outcome = each_file(&args.files, |input| {
        let mut programs = Vec::new();
        let carving = input.each_program(&global.limits(), |find| {
            programs.push(read(find));
            Ok(())
        })?;
        if global.json {
            stdout.json(&FileJson::new(input, programs, &carving), false)?;
            return Ok(Outcome::Done);
        }
        if !std::mem::take(&mut first) {
            writeln!(stdout)?;
        }
        print(input, &programs, &mut stdout)?;
        Ok(Outcome::Done)
    })?;
    stdout.finish()?;
    Ok(outcome)
}

fn read(find: &Find<'_>) -> InfoJson {
    let mut diagnostics = Diagnostics::new();
    let mut libraries = Vec::new();
    let (mut slices, mut container, mut nvidia) = (None, None, None);
    if let Some(program) = diagnostics.take("program", Program::open(find)) {
        if let Program::Universal(universal) = &program {
            slices =
                Some(universal.slices().filter_map(Result::ok).map(|slice| read_slice(&slice)).collect());
        }
        if let Program::DxContainer(found) = &program {
            container = Some(ContainerView::new(found));
        }
        nvidia = super::nvidia::view(&program, &mut diagnostics);
        for named in program.libraries(&mut diagnostics) {
            libraries.push(read_library(named.slice, &named.library));
        }
    }
    InfoJson {
        head: ProgramJson::new(find),
        libraries,
        slices,
        container,
        nvidia,
        direct3d9: super::direct3d9::view(find, &mut diagnostics),
        findings: findings(&diagnostics),
    }
}

fn read_slice(slice: &Slice<'_>) -> SliceJson {
    let named = |part: NamedRange<'_>| {
        let data = part.data.ok()?;
        let name = match part.segment {
            b"" => format!("note {}", Escaped(part.name)),
            segment => format!("{},{}", Escaped(segment), Escaped(part.name)),
        };
        Some(SectionJson { name, offset: data.base(), size: data.data().len() as u64 })
    };
    let sections = match slice.content() {
        Ok(SliceContent::GpuObject(object)) => {
            object.sections().into_iter().chain(object.notes()).filter_map(named).collect()
        }
        _ => Vec::new(),
    };
    let (offset, size) = slice.data.as_ref().map_or((0, 0), |data| (data.base(), data.data().len() as u64));
    SliceJson { name: slice.name(), offset, size, sections }
}

fn read_library(slice: String, library: &Library<'_>) -> LibraryJson {
    let functions: Vec<_> = library.functions().map_while(Result::ok).collect();
    let mut view = LibraryView::new(library, &functions);
    let matching = check(library).matching_hashes;
    view.hashes = Some(HashesView { matching, total: u64::from(view.function_count) });
    LibraryJson { slice, view, source_files: count_source_files(library) }
}

fn count_source_files(library: &Library<'_>) -> Option<u64> {
    let sources = library.sources().ok().flatten()?;
    let mut files = 0;
    for archive in sources.archives().filter_map(Result::ok) {
        // A damaged archive counts as far as it can be read.
        let _ = visit_files(&archive, |_| files += 1);
    }
    Some(files)
}

fn print(input: &Input, programs: &[InfoJson], stdout: &mut Stdout) -> Result<()> {
    let [program] = programs else {
        return print_rows(input, programs, stdout);
    };
    if program.head.path != input.name {
        print_file(input, stdout)?;
    }
    if let Some(slices) = &program.slices {
        print_slices(program, slices, stdout)?;
    }
    for library in &program.libraries {
        print_library(program, library, stdout)?;
    }
    if program.libraries.is_empty() {
        heading(stdout, &program.head.path, &summary(program))?;
    }
    if let Some(container) = &program.container {
        super::dxcontainer::print_facts(container, false, stdout)?;
        fact(stdout, "more", &faint(format!("unshade show {}", quoted(&program.head.path))).to_string())?;
    }
    if let Some(view) = &program.nvidia {
        super::nvidia::print_facts(view, stdout)?;
        fact(stdout, "more", &faint(format!("unshade list {}", quoted(&program.head.path))).to_string())?;
    }
    if let Some(view) = &program.direct3d9 {
        super::direct3d9::print_facts(view, stdout)?;
        fact(stdout, "more", &faint(format!("unshade dis {}", quoted(&program.head.path))).to_string())?;
    }
    for finding in &program.findings {
        writeln!(stdout, "  {}: {}", finding.severity, finding.message)?;
    }
    Ok(())
}

/// The file that programs are in.
fn print_file(input: &Input, stdout: &mut Stdout) -> Result<()> {
    let size = bytes(input.bytes().len() as u64);
    heading(stdout, &input.name, &format!("{}, {size}", unshade::format::detect(input.bytes())))
}

/// What a universal file is made of.
fn print_slices(program: &InfoJson, slices: &[SliceJson], stdout: &mut Stdout) -> Result<()> {
    let count = crate::paint::counted(slices.len() as u64, "slice");
    heading(
        stdout,
        &program.head.path,
        &format!("{}, {count} · {}", program.head.format, bytes(program.head.size)),
    )?;
    for slice in slices {
        writeln!(stdout, "  {:<18} {:>8}  at {:#x}", slice.name, bytes(slice.size), slice.offset)?;
        for section in &slice.sections {
            writeln!(
                stdout,
                "    {:<22} {:>8}  at {:#x}",
                section.name,
                bytes(section.size),
                section.offset
            )?;
        }
    }
    writeln!(stdout)?;
    Ok(())
}

/// The name and what it is: on one line if that has room.
fn heading(stdout: &mut Stdout, path: &str, text: &str) -> Result<()> {
    let width = path.chars().count() + text.chars().count() + 3;
    let room = crate::paint::terminal_width().unwrap_or(LINE_WIDTH);
    let separator = if width > room { "\n  " } else { "   " };
    Ok(writeln!(stdout, "{}{separator}{text}", name(path))?)
}

/// Many programs: what the file is, then a row for each.
fn print_rows(input: &Input, programs: &[InfoJson], stdout: &mut Stdout) -> Result<()> {
    print_file(input, stdout)?;
    let inner = |program: &InfoJson| {
        let path = program.head.path.strip_prefix(input.name.as_str()).unwrap_or(&program.head.path);
        path.trim_start_matches('!').to_owned()
    };
    let rows: Vec<_> =
        programs.iter().take(MAX_ROWS).map(|p| (inner(p), summary(p), bytes(p.head.size))).collect();
    let widths = (
        rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0),
        rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0),
    );
    for (path, summary, size) in &rows {
        writeln!(stdout, "  {path:<0$}  {summary:<1$}  {size:>7}", widths.0, widths.1)?;
    }
    if programs.len() > MAX_ROWS {
        let more = grouped((programs.len() - MAX_ROWS) as u64);
        writeln!(stdout, "  … {more} more   {}", faint(format!("unshade list {}", quoted(&input.name))))?;
    }
    Ok(())
}

/// A program in a few words.
fn summary(program: &InfoJson) -> String {
    let mut text = program.head.format.clone();
    if let Some(container) = &program.container {
        text.push_str(&format!(", {}", super::dxcontainer::summary(container)));
    }
    if let Some(view) = &program.nvidia {
        text.push_str(&format!(", {}", super::nvidia::summary(view)));
    }
    if let Some(view) = &program.direct3d9 {
        text.push_str(&format!(", {}", super::direct3d9::summary(view)));
    }
    if let Some(library) = program.libraries.first() {
        let functions = program.libraries.iter().map(|library| u64::from(library.view.function_count)).sum();
        text.push_str(&format!(
            ", {}, {}",
            library.view.target,
            crate::paint::counted(functions, "function")
        ));
    }
    if program.head.truncated {
        text.push_str(", cut off");
    }
    text
}

/// A library's facts, the one that matters most first.
fn print_library(program: &InfoJson, library: &LibraryJson, stdout: &mut Stdout) -> Result<()> {
    let view = &library.view;
    let slice = if library.slice.is_empty() { String::new() } else { format!(" · slice {}", library.slice) };
    let text = format!(
        "Metal library{slice}, {}{}, {} · {}{} · {}{}",
        view.library_type,
        if view.stub { ", stub" } else { "" },
        view.container_version,
        view.target,
        view.architecture.as_ref().map(|architecture| format!(" ({architecture})")).unwrap_or_default(),
        view.writer.as_ref().map(|writer| format!("{writer} · ")).unwrap_or_default(),
        bytes(view.size),
    );
    heading(stdout, &program.head.path, &text)?;
    let types: Vec<_> =
        view.function_types.iter().map(|row| format!("{} {}", grouped(row.count), row.kind)).collect();
    let count = grouped(view.function_count.into());
    let functions = if types.is_empty() { count } else { format!("{count:<7}{}", types.join(" · ")) };
    fact(stdout, "functions", &functions)?;
    let versions: Vec<_> = view
        .versions
        .iter()
        .map(|row| {
            let count = if view.versions.len() > 1 {
                format!(" ({} functions)", grouped(row.count))
            } else {
                String::new()
            };
            format!("Metal {}, AIR {}{count}", row.metal, row.air)
        })
        .collect();
    if !versions.is_empty() {
        fact(stdout, "language", &versions.join(" · "))?;
    }
    if let (Some(sources), Some(files)) = (&view.sources, library.source_files) {
        let archives = crate::paint::counted(sources.archives.len() as u64, "archive");
        let files = crate::paint::counted(files, "file");
        let command = faint(format!("unshade extract {} -o src --only sources", quoted(&program.head.path)));
        fact(stdout, "sources", &format!("{archives}, {files}       {command}"))?;
    }
    if let Some(install_name) = &view.link.install_name {
        fact(stdout, "name", install_name)?;
    }
    for library in &view.link.linked_libraries {
        fact(stdout, "linked", library)?;
    }
    if !view.link.imported_symbols.is_empty() {
        fact(stdout, "imports", &crate::paint::counted(view.link.imported_symbols.len() as u64, "symbol"))?;
    }
    if !view.link.exported_variables.is_empty() {
        fact(
            stdout,
            "exports",
            &crate::paint::counted(view.link.exported_variables.len() as u64, "variable"),
        )?;
    }
    if view.function_count > 0 {
        let hashes = view.hashes.map_or(String::new(), |hashes| {
            if hashes.matching == hashes.total {
                good(format!("{} of {} match", grouped(hashes.matching), grouped(hashes.total))).to_string()
            } else {
                let command = format!("unshade verify {}", quoted(&program.head.path));
                let matching = format!("{} of {} match", grouped(hashes.matching), grouped(hashes.total));
                format!("{}       {}", crate::paint::bad(matching), faint(command))
            }
        });
        fact(stdout, "hashes", &hashes)?;
    }
    if let Some(uuid) = &view.uuid {
        fact(stdout, "uuid", uuid)?;
    }
    if view.stated_size != view.size {
        let stated =
            format!("the header says {} bytes, there are {}", grouped(view.stated_size), grouped(view.size));
        fact(stdout, "size", &crate::paint::bad(stated).to_string())?;
    }
    if view.function_count > 0 {
        fact(stdout, "more", &faint(format!("unshade list {}", quoted(&program.head.path))).to_string())?;
    }
    Ok(())
}

fn fact(stdout: &mut Stdout, label: &str, text: &str) -> Result<()> {
    Ok(writeln!(stdout, "  {} {text}", faint(format!("{label:<11}")))?)
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%~".contains(c);
    if argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}
