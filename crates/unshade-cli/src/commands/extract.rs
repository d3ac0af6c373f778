//! `unshade extract`: writes modules as `.air`, sources as their original files, and programs out of their containers.
//!
//! `-o DIR` gets `modules/NAME.air` and `sources/ARCHIVE/…`. Entry N of a fat binary becomes `modules/N.sm_35.cubin` or
//! `sources/N.compute_35.ptx`, and a slice of a universal file `slices/ARCHITECTURE.metallib`. If there are several programs, each has a folder of its own. Nothing is written outside
//! DIR, and every changed name is reported. `-o -` takes one file.

use super::programs::{
    Visited, each_input, each_program, each_program_quietly, open_all, print_diagnostics, require_selected,
};
use crate::Outcome;
use crate::args::{ExtractArgs, Extracted as What, GlobalArgs};
use crate::input::Input;
use crate::output::{Folder, Stdout, is_stdout, write_file};
use crate::paint::{self, bytes, counted};
use anyhow::{Result, bail};
use serde::Serialize;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use unshade::carve::{Find, Limits};
use unshade::core::{Diagnostics, Escaped};
use unshade::program::Verb;
use unshade::safe_path::{SafePath, SafePaths};
use unshade::select::Selection;
use unshade::view::{FindingView, SCHEMA};

/// Maximum number of names in a message.
const MAX_NAMED: usize = 4;

/// The written files, for `--json`.
#[derive(Serialize)]
struct Written {
    path: String,
    size: u64,
    /// Its kind: `module`, `source`, `slice` or `program`.
    kind: &'static str,
    /// The original name, if the path had to differ from it.
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
    let (files, selection) = args.targets.split()?;
    let limits = global.limits();
    let (inputs, opened) = open_all(&files);
    require_selected(&inputs, &selection, Verb::Extract, &limits)?;
    // Whether each program gets a folder must be known before the first file is written.
    let mut programs = 0u64;
    for input in &inputs {
        each_program_quietly(input, args.verb(), &limits, &mut Diagnostics::new(), |_| {
            programs += 1;
            Ok(())
        })?;
    }
    if is_stdout(&args.output.output) {
        return to_stdout(&inputs, &selection, args, &limits);
    }
    let folder = Folder::create(&args.output.output, args.output.force)?;
    let mut extraction = Extraction {
        args,
        selection,
        folder,
        paths: SafePaths::default(),
        written: Vec::new(),
        diagnostics: Diagnostics::new(),
    };
    let mut stdout = Stdout::new(false);
    let outcome = each_input(&inputs, |input| {
        each_program(input, args.verb(), &limits, |visited| extraction.program(&visited, programs > 1))?;
        extraction.report(input, global, &mut stdout)
    })?;
    stdout.finish()?;
    Ok(opened.and(outcome))
}

/// Writes the only extracted file to standard output.
fn to_stdout(
    inputs: &[Input],
    selection: &Selection,
    args: &ExtractArgs,
    limits: &Limits,
) -> Result<Outcome> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for input in inputs {
        each_program(input, args.verb(), limits, |mut visited| {
            if args.wants(What::Programs) {
                found.push((visited.find.path.to_string(), visited.find.data.to_vec()));
            }
            let kinds = args.kinds();
            if let Some(program) = visited.program.filter(|_| !kinds.is_empty()) {
                let _ = program.extract(selection, &kinds, &mut visited.diagnostics, &mut |one| {
                    found.push((one.path.to_owned(), one.data.to_vec()));
                    if found.len() > MAX_NAMED { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            }
            print_diagnostics(&visited.find.path.to_string(), &visited.diagnostics);
            Ok(())
        })?;
    }
    match &found[..] {
        [] => {
            anstream::eprintln!("{}: nothing to extract", paint::error("unshade"));
            Ok(Outcome::Finding)
        }
        [(_, data)] => {
            write_file(&args.output.output, true, data)?;
            Ok(Outcome::Done)
        }
        several => {
            let names: Vec<&str> = several.iter().take(MAX_NAMED).map(|(name, _)| name.as_str()).collect();
            let more = if several.len() > MAX_NAMED { " …" } else { "" };
            bail!("standard output takes one file; these are several: {}{more}", names.join(" "))
        }
    }
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
    fn program(&mut self, visited: &Visited<'_, '_>, several: bool) -> Result<()> {
        let find = visited.find;
        let prefix = if several { format!("{}/", inner_name(find)) } else { String::new() };
        if self.args.wants(What::Programs) {
            let stem = if several { inner_name(find) } else { file_stem(find) };
            let name = format!("{stem}.{}", find.format.extension());
            let path = self.paths.flat(name.as_bytes(), "");
            self.write(path, "program", name.as_bytes(), find.data)?;
        }
        let kinds = self.args.kinds();
        let Some(program) = visited.program.filter(|_| !kinds.is_empty()) else {
            self.diagnostics.append(visited.diagnostics.clone());
            return Ok(());
        };
        let mut diagnostics = visited.diagnostics.clone();
        let mut result = Ok(());
        let selection = self.selection.clone();
        let _ = program.extract(&selection, &kinds, &mut diagnostics, &mut |one| {
            let wanted = format!("{prefix}{}", one.path);
            let path = self.paths.file(wanted.as_bytes());
            result = self.write(path, one.kind.name(), wanted.as_bytes(), one.data);
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.diagnostics.append(diagnostics);
        result
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

    /// Reports the files written for an input.
    fn report(&mut self, input: &Input, global: &GlobalArgs, stdout: &mut Stdout) -> Result<Outcome> {
        let written = std::mem::take(&mut self.written);
        let diagnostics = std::mem::take(&mut self.diagnostics);
        let outcome = match (written.is_empty(), diagnostics.has_errors()) {
            (false, false) => Outcome::Done,
            _ => Outcome::Finding,
        };
        if global.json {
            let findings = diagnostics.iter().map(FindingView::from).collect();
            stdout.json(&ExtractJson { schema: SCHEMA, file: &input.name, written, findings }, false)?;
            return Ok(outcome);
        }
        print_diagnostics(&input.name, &diagnostics);
        for one in &written {
            if let Some(from) = &one.renamed_from {
                anstream::eprintln!("{}: renamed {from} to {}", input.name, one.path);
            }
        }
        let kinds =
            [("program", "program"), ("slice", "slice"), ("module", "module"), ("source", "source file")];
        for (kind, noun) in kinds {
            let files: Vec<_> = written.iter().filter(|written| written.kind == kind).collect();
            if !files.is_empty() {
                let size = bytes(files.iter().map(|written| written.size).sum());
                let folder = self.args.output.output.display();
                writeln!(stdout, "{}, {size}, in {folder}", counted(files.len() as u64, noun))?;
            }
        }
        if written.is_empty() {
            anstream::eprintln!("{}: {}: nothing to extract", paint::error("unshade"), input.name);
        }
        Ok(outcome)
    }
}

/// Returns the name of a program's folder if there are several programs: its path inside the file, as one name.
fn inner_name(find: &Find<'_>) -> String {
    let selector = find.path.selector();
    let name = selector.trim_start_matches('!').replace(['/', '\\', '!'], "_");
    if name.is_empty() { file_stem(find) } else { name }
}

/// Returns the file's name without its folder and extension.
fn file_stem(find: &Find<'_>) -> String {
    let file = String::from_utf8_lossy(find.path.file()).into_owned();
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".metallib").unwrap_or(name).to_owned()
}
