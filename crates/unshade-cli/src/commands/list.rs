//! `unshade list`: functions, a row each.

use super::{ContainerJson, FileJson, FunctionsJson, LibraryFunctionsJson, ProgramJson, findings};
use crate::Outcome;
use crate::args::{GlobalArgs, ListArgs};
use crate::input::Input;
use crate::output::Stdout;
use crate::paint::{self, bytes, faint, function_type, name};
use anyhow::Result;
use serde::Serialize;
use std::io::Write;
use unshade::core::Diagnostics;
use unshade::metallib::FunctionType;
use unshade::program::Program;
use unshade::view::Direct3d9View;
use unshade::view::FunctionRow;
use unshade::view::nvidia::KernelRow;

/// The name's column is never cut to less than this.
const MIN_NAME: usize = 24;

pub(crate) fn run(args: &ListArgs, global: &GlobalArgs) -> Result<Outcome> {
    let selection = args.selection()?;
    let input = Input::open(&args.file)?;
    let mut stdout = Stdout::new(!global.no_pager && !global.json);
    let mut programs = Vec::new();
    let mut containers = Vec::new();
    let mut direct3d9 = Vec::new();
    let mut kernels = Vec::new();
    let mut listed = 0u64;
    let mut headings = Headings { file: &input.name, printed: 0 };
    let carving = input.each_program(&global.limits(), |find| {
        if find.format.is_nvidia() {
            let rows = super::nvidia::rows(find, &selection, global.json || !args.mangled);
            listed += rows.count();
            if global.json {
                kernels.push(rows);
            } else if selection.is_everything() || rows.count() > 0 {
                headings.print(rows.head(), "", &mut stdout)?;
                rows.print(args.mangled, &mut stdout)?;
            }
            return Ok(());
        }
        let mut diagnostics = Diagnostics::new();
        let mut libraries = Vec::new();
        if let Some(program) = diagnostics.take("program", Program::open(find)) {
            for named in program.libraries(&mut diagnostics) {
                let mut functions = Vec::new();
                for function in named.library.functions() {
                    let Some(function) = diagnostics.take("function-list", function) else { continue };
                    if selection.matches(&function) {
                        functions.push(FunctionRow::new(&named.library, &function));
                    }
                }
                listed += functions.len() as u64;
                libraries.push(LibraryFunctionsJson { slice: named.slice, functions });
            }
        }
        if let Some(container) = super::dxcontainer::view(find) {
            if global.json {
                containers.push(Box::new(ContainerJson { head: ProgramJson::new(find), container }));
            } else {
                headings.print(&ProgramJson::new(find), "", &mut stdout)?;
                super::dxcontainer::print_list(&container, &mut stdout)?;
            }
            return Ok(());
        }
        if let Some(view) = super::direct3d9::view(find, &mut diagnostics) {
            if global.json {
                direct3d9.push(Direct3d9Json { head: ProgramJson::new(find), direct3d9: view });
            } else {
                headings.print(&ProgramJson::new(find), "", &mut stdout)?;
                super::direct3d9::print_list(&view, &mut stdout)?;
            }
            return Ok(());
        }
        let findings = findings(&diagnostics);
        let program = FunctionsJson { head: ProgramJson::new(find), libraries, findings };
        if global.json {
            programs.push(program);
            return Ok(());
        }
        for diagnostic in &diagnostics {
            anstream::eprintln!("{}", paint::diagnostic(&program.head.path, diagnostic));
        }
        for library in &program.libraries {
            if selection.is_everything() || !library.functions.is_empty() {
                headings.print(&program.head, &library.slice, &mut stdout)?;
                print_rows(&library.functions, args.mangled, &mut stdout)?;
            }
        }
        Ok(())
    })?;
    if global.json {
        let programs: Vec<Listed> = programs
            .into_iter()
            .map(Listed::Functions)
            .chain(containers.into_iter().map(Listed::Container))
            .chain(kernels.into_iter().map(Listed::Kernels))
            .chain(direct3d9.into_iter().map(Listed::Direct3d9))
            .collect();
        stdout.json(&FileJson::new(&input, programs, &carving), false)?;
    }
    stdout.finish()?;
    if listed == 0 && !selection.is_everything() {
        anstream::eprintln!("{}: no function matches", paint::error("unshade"));
        return Ok(Outcome::Finding);
    }
    Ok(Outcome::Done)
}

/// The entry of `programs`, by what the program is.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed {
    Functions(FunctionsJson<FunctionRow>),
    Container(Box<ContainerJson>),
    Kernels(super::nvidia::KernelsJson<KernelRow>),
    Direct3d9(Direct3d9Json),
}

/// A program of Shader Model 1 to 3.
#[derive(Serialize)]
struct Direct3d9Json {
    #[serde(flatten)]
    head: ProgramJson,
    direct3d9: Direct3d9View,
}

/// The line before a program's rows; none if the file is the program.
struct Headings<'a> {
    file: &'a str,
    printed: usize,
}

impl Headings<'_> {
    fn print(&mut self, head: &ProgramJson, slice: &str, stdout: &mut Stdout) -> Result<()> {
        if head.path == self.file && slice.is_empty() {
            return Ok(());
        }
        if self.printed > 0 {
            writeln!(stdout)?;
        }
        self.printed += 1;
        let slice = if slice.is_empty() { String::new() } else { format!(" · slice {slice}") };
        writeln!(stdout, "{}{slice}   {}, {}", name(&head.path), head.format, bytes(head.size))?;
        Ok(())
    }
}

/// Rows in columns. On a terminal long names are cut; elsewhere the name comes last and whole.
fn print_rows(rows: &[FunctionRow], mangled: bool, stdout: &mut Stdout) -> Result<()> {
    let index_width = rows.last().map_or(1, |row| row.index.to_string().len());
    let type_width =
        rows.iter().filter_map(|row| row.kind.as_ref()).map(String::len).max().unwrap_or(0).max(4);
    // Few libraries have sources, so the column is there only if it says something.
    let source_width = if rows.iter().any(|row| row.has_source) { "source  ".len() } else { 0 };
    let fixed = index_width + type_width + source_width + 39;
    let room = paint::terminal_width().map_or(usize::MAX, |width| width.saturating_sub(fixed).max(MIN_NAME));
    let source = |text: &'static str| if source_width == 0 { "" } else { text };
    let heading = format!(
        "{:>index_width$}  {:<type_width$}  {:>5}  {:>4}  {:>8}  {:>10}  {:<source_width$}name",
        "#",
        "type",
        "Metal",
        "AIR",
        "size",
        "offset",
        source("source")
    );
    writeln!(stdout, "{}", faint(heading))?;
    for row in rows {
        let kind = row.kind.as_deref().unwrap_or("–");
        let shown = if mangled { &row.name } else { row.readable_name() };
        writeln!(
            stdout,
            "{:>index_width$}  {:<type_width$}  {:>5}  {:>4}  {:>8}  {:>10}  {:<source_width$}{}",
            row.index,
            function_type(kind, row.kind.as_deref().and_then(FunctionType::from_name)),
            row.metal.as_deref().unwrap_or("–"),
            row.air.as_deref().unwrap_or("–"),
            row.size.map_or("–".into(), bytes),
            paint::offset(row.offset.map_or("–".into(), |offset| format!("{offset:#x}"))),
            source(if row.has_source { "yes" } else { "" }),
            paint::cut(shown, room),
        )?;
    }
    Ok(())
}
