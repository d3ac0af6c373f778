//! The subcommands, one file each.

mod assemble;
mod check;
mod decompile;
mod diff;
mod direct3d9;
mod disassemble;
mod dump;
mod dxcontainer;
mod explore;
mod extract;
mod ghidra;
mod html;
mod info;
mod isa;
mod list;
mod metallib;
mod nvidia;
mod run;
mod scan;
mod shell;
mod show;
mod survey;
mod types;
mod verify;
mod walk;
mod written;

use crate::Outcome;
use crate::args::{Args, Command, Deferred};
use crate::input::Input;
use crate::progress::Progress;
use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use unshade::carve::Find;
use unshade::core::Diagnostics;
use unshade::metallib::Library;
use unshade::metallib::verify::{Check, Verdict};
use unshade::view::{ContainerView, FindingView, SCHEMA};

/// The results of so many units of a check are held at a time.
const UNITS_AT_ONCE: usize = 4_096;

/// Runs what the command line says.
pub(crate) fn run(args: Args) -> Result<Outcome> {
    let global = args.global;
    match args.command.unwrap_or(Command::Info(Deferred(args.info))) {
        Command::Info(Deferred(args)) => info::run(&args, &global),
        Command::List(Deferred(args)) => list::run(&args, &global),
        Command::Show(Deferred(args)) => show::run(&args, &global),
        Command::Extract(Deferred(args)) => extract::run(&args, &global),
        Command::Explore(Deferred(args)) => explore::run(&args, &global),
        Command::Html(Deferred(args)) => html::run(&args),
        Command::Verify(Deferred(args)) => verify::run(&args, &global),
        Command::Check(Deferred(args)) => check::run(&args, &global),
        Command::Diff(Deferred(args)) => diff::run(&args, &global),
        Command::Disassemble(Deferred(args)) => disassemble::run(&args, &global),
        Command::Decompile(Deferred(args)) => decompile::run(&args, &global),
        Command::Run(Deferred(args)) => run::run(&args, &global),
        Command::Assemble(Deferred(args)) => assemble::run(&args, &global),
        Command::Ghidra(Deferred(args)) => ghidra::run(&args, &global),
        Command::Isa { mnemonic } => isa::run(mnemonic.as_deref(), &global),
        Command::Dump(Deferred(args)) => dump::run(&args, &global),
        Command::Scan(Deferred(args)) => scan::run(&args, &global),
        Command::Survey(Deferred(args)) => survey::run(&args, &global),
        Command::ToYaml(Deferred(args)) => written::to_yaml(&args, &global),
        Command::FromYaml(Deferred(args)) => written::from_yaml(&args),
        Command::Sign(Deferred(args)) => written::sign(&args, &global),
        Command::Edit(Deferred(args)) => written::edit(&args, &global),
        Command::Build(Deferred(args)) => written::build(&args),
        Command::Types(Deferred(args)) => types::run(&args, &global),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { output } => shell::manual(&output),
    }
}

/// Does `one` for each file; a file that can't be read is told, and the others go on.
fn each_file(files: &[String], mut one: impl FnMut(&Input) -> Result<Outcome>) -> Result<Outcome> {
    let mut outcome = Outcome::Done;
    for file in files {
        match Input::open(file).and_then(|input| one(&input)) {
            Ok(one) => outcome = outcome.and(one),
            Err(error) if crate::output::is_broken_pipe(&error) => return Err(error),
            Err(error) => outcome = outcome.and(Outcome::of_error(&error)),
        }
    }
    Ok(outcome)
}

/// The JSON of a file: what every command prints, with `programs` of its own.
#[derive(Serialize)]
struct FileJson<'a, P: Serialize> {
    schema: u32,
    file: &'a str,
    programs: Vec<P>,
    /// What could not be searched for programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

impl<'a, P: Serialize> FileJson<'a, P> {
    fn new(input: &'a Input, programs: Vec<P>, carving: &Diagnostics) -> Self {
        Self { schema: SCHEMA, file: &input.name, programs, findings: findings(carving) }
    }
}

fn findings(diagnostics: &Diagnostics) -> Vec<FindingView> {
    diagnostics.iter().map(FindingView::from).collect()
}

/// Where a program is and what: the head of each entry of `programs`.
#[derive(Clone, Serialize)]
struct ProgramJson {
    /// The way to it, that selects it on the command line.
    path: String,
    format: String,
    size: u64,
    /// Where it is in the file, if it did not have to be unpacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl ProgramJson {
    fn new(find: &Find<'_>) -> Self {
        Self {
            path: find.path.to_string(),
            format: find.format.to_string(),
            size: find.data.len() as u64,
            offset: find.file_offset,
            truncated: find.is_truncated(),
        }
    }

    /// Of a file that is bitcode and nothing else.
    fn of_bitcode(path: &str, size: u64) -> Self {
        let format = String::from("LLVM bitcode");
        Self { path: path.to_owned(), format, size, offset: Some(0), truncated: false }
    }
}

/// Functions of a program, by library: the entry of `programs` of `list` and `show`.
#[derive(Serialize)]
struct FunctionsJson<F: Serialize> {
    #[serde(flatten)]
    head: ProgramJson,
    libraries: Vec<LibraryFunctionsJson<F>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingView>,
}

/// A DXContainer: the entry of `programs` of `list` and `show`.
#[derive(Serialize)]
struct ContainerJson {
    #[serde(flatten)]
    head: ProgramJson,
    container: ContainerView,
}

#[derive(Serialize)]
struct LibraryFunctionsJson<F: Serialize> {
    #[serde(skip_serializing_if = "String::is_empty")]
    slice: String,
    functions: Vec<F>,
}

/// Checks a library, its units spread over all processors.
fn check(library: &Library<'_>) -> Verdict {
    let mut check = Check::new(library);
    let count = check.unit_count();
    let progress = Progress::new("checking", count as u64);
    for start in (0..count).step_by(UNITS_AT_ONCE) {
        let units = start..count.min(start + UNITS_AT_ONCE);
        progress.advance(units.len() as u64);
        let results: Vec<_> = units.into_par_iter().map(|unit| check.run(unit)).collect();
        results.into_iter().for_each(|result| check.absorb(result));
    }
    drop(progress);
    check.finish()
}
